"""
The command line and the options file.
"""

import re
import subprocess
import sys

import pytest

import toolfault
from toolfault.cli import main
from toolfault.cli.gateway import UsageError, parse_arguments
from toolfault.gateway._options import Options
from toolfault.gateway._restarts import Restarts


def test_the_defaults_are_those_of_the_options():
    assert parse_arguments(["--", "server", "--flag"]) == (Options(), ["server", "--flag"])


def test_each_option_is_read():
    words = (
        "--timeout 5 --guidance=inline --disclosure full --protocol-errors keep --flag a:x --flag a:y --flag *:z"
        " --retry --idempotent a --idempotent b --restart 3 --max-line 2048 --log f.jsonl -- server"
    )
    options, command = parse_arguments(words.split())

    flags = options.flags
    assert {tool: [one.pattern for one in flags[tool]] for tool in flags} == {"a": ["x", "y"], "*": ["z"]}
    assert (options.timeout, options.guidance, options.disclosure) == (5.0, "inline", "full")
    assert (options.protocol_errors, options.retry, options.restarts) == ("keep", True, 3)
    assert (options.idempotent, options.max_line, options.log) == (frozenset("ab"), 2048, "f.jsonl")
    assert command == ["server"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["server"], "write -- before the server's command"),
        ([], "the server's command is missing"),
        (["--"], "the server's command is missing"),
        (["--timout", "5", "--", "x"], "unknown option --timout; did you mean --timeout?"),
        (["--protocol-error", "keep", "--", "x"], "did you mean --protocol-errors?"),
        (["--timeout", "--", "x"], "--timeout needs a value"),
        (["--timeout", "0", "--", "x"], "--timeout must be a positive number of seconds, or none, not '0'"),
        (["--timeout", "nan", "--", "x"], "--timeout must be a positive number"),
        (["--restart", "-1", "--", "x"], "--restart must be a whole number, at least 0, not '-1'"),
        (["--guidance", "loud", "--", "x"], "--guidance must be block, inline or none, not 'loud'"),
        (["--flag", "a", "--", "x"], "--flag must be TOOL:REGEX"),
        (["--flag", "a:(", "--", "x"], "--flag has a regular expression that is not valid"),
        (["--config", "/nowhere.toml", "--", "x"], "can't read '/nowhere.toml'"),
    ],
)
def test_mistakes_name_the_cure(words, complaint):
    with pytest.raises(UsageError, match=re.escape(complaint)):
        parse_arguments(words)


def test_options_come_from_a_file_and_the_command_line_wins(tmp_path):
    file = tmp_path / "gateway.toml"
    file.write_text('[gateway]\ntimeout = 5\nretry = true\nflag = ["a:x"]\nidempotent = ["a", "b"]\nrestart = 2\n')

    options, _ = parse_arguments(["--config", str(file), "--restart", "7", "--", "server"])

    assert (options.timeout, options.retry, options.restarts) == (5.0, True, 7)
    assert (list(options.flags), options.idempotent) == (["a"], frozenset("ab"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[gateway]\ntimout = 5\n", "unknown option timout; did you mean timeout?"),
        ("[gateway]\nretry = 'yes'\n", "retry must be true or false, not 'yes'"),
        ("[gateway]\ntimeout = [5]\n", "timeout must be a text or a number"),
        ("[gateway]\nconfig = 'x'\n", "config can't stand in an options file"),
        ("gateway = 5\n", "must be a table"),
        ("[gateway\n", "is not valid TOML"),
    ],
)
def test_mistakes_in_a_file_name_the_cure(tmp_path, text, complaint):
    file = tmp_path / "gateway.toml"
    file.write_text(text)

    with pytest.raises(UsageError, match=re.escape(complaint)):
        parse_arguments(["--config", str(file), "--", "server"])


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        (["--version"], 0, f"toolfault {toolfault.__version__}\n"),
        (["--help"], 0, "usage: toolfault COMMAND"),
        ([], 2, "usage: toolfault COMMAND"),
        (["gatway"], 2, "unknown command 'gatway'; did you mean 'gateway'?"),
        (["gateway", "--help"], 0, "usage: toolfault gateway"),
        (["gateway", "x"], 2, "write -- before"),
        (["gateway", "--", "/nowhere/server"], 127, "can't start or open '/nowhere/server'"),
    ],
)
def test_the_command_answers_in_one_screen(words, code, shown):
    run = subprocess.run([sys.executable, "-m", "toolfault", *words], capture_output=True, text=True, timeout=60)

    assert run.returncode == code
    assert shown in run.stdout + run.stderr
    assert (run.stdout + run.stderr).count("\n") <= 40
    assert "Traceback" not in run.stderr


def test_main_returns_the_exit_code(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("toolfault ")


def test_the_budget_for_restarts_refills():
    restarts = Restarts(2)

    assert [restarts.take(now) for now in (0.0, 1.0, 2.0, 61.0, 62.0)] == [True, True, False, True, False]
    assert [restarts.take(10_000.0) for _ in range(3)] == [True, True, False]


def test_no_restart_is_allowed_by_default():
    assert Restarts(0).take(1e9) is False


def test_the_stdio_path_loads_no_framework():
    script = (
        "import sys, toolfault.cli.gateway, toolfault.gateway._pump; "
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    heavy = {"pydantic", "pydantic_core", "anyio", "asyncio", "mcp", "httpx", "httpx2", "uvicorn", "email"}
    assert heavy & set(run.stdout.split()) == set()
