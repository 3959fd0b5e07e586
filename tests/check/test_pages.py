"""
The pages on the checker and on ``toolfault explain`` say what the commands do.
"""

import re
import tomllib
from pathlib import Path

import pytest

from toolfault.check._calls import parse_calls
from toolfault.check._model import LEVELS, ExitCode
from toolfault.cli import main
from toolfault.cli._check_config import read_check_config
from toolfault.cli.check import _make_parser


DOCS = Path(__file__).parents[2] / "docs"
CHECKER, EXPLAIN = ((DOCS / name).read_text(encoding="utf-8") for name in ("checker.md", "explain.md"))


def options_in(text):
    """
    Return the options that a table's rows begin with, with the names of their values.
    """
    return {(name, value) for name, value in re.findall(r"^\| `(--[a-z-]+)(?: ([A-Z=:]+))?` \|", text, re.MULTILINE)}


@pytest.mark.parametrize(("page", "command"), [(CHECKER, "check"), (EXPLAIN, "explain")])
def test_the_page_has_each_option_that_the_help_has(capsys, page, command):
    main([command, "--help"])
    helped = capsys.readouterr().out.partition("options:")[2].partition("exit codes")[0]
    found = {
        (name, value) for name, value in re.findall(r"^  (--[a-z-]+)(?: ([A-Z=:]+))?(?= |$)", helped, re.MULTILINE)
    }

    assert options_in(page) - {("--help", "")} == found


def test_each_level_and_each_exit_code_is_there():
    rows = re.findall(r"^\| (\d) \| ([a-z -]+) \| [a-z]", CHECKER, re.MULTILINE)
    assert rows[: len(LEVELS)] == [(str(number), name) for number, name in LEVELS.items()]
    codes = CHECKER.partition("| exit code |")[2].partition("\n## ")[0]
    assert [int(code) for code in re.findall(r"^\| (\d) \|", codes, re.MULTILINE)] == [*map(int, ExitCode)]


def test_its_files_are_read(tmp_path):
    calls, config = re.findall(r"^```toml\n(.*?)^```", CHECKER, re.MULTILINE | re.DOTALL)
    (tmp_path / "toolfault.toml").write_text(config)
    names = {name.replace("_", "-"): value for name, value in vars(_make_parser().parse_args([])).items()}
    found = read_check_config(None, {**names, "break": []}, tmp_path)

    assert found.target == ("python", "server.py")
    assert len(found.words) == len(tomllib.loads(config)["check"]) - 1
    assert len(parse_calls(calls, "calls.toml")) >= 2


def test_its_commands_are_parsed():
    commands = re.findall(r"toolfault check ((?:--|https)[^\n`]*)", CHECKER)
    parser = _make_parser()

    assert len(commands) >= 4
    for command in commands:
        words = f" {command} ".replace('"', "").split(" -- ")[0].split()
        _, rest = parser.parse_known_args(words)
        assert [word for word in rest if not word.startswith("https://")] == []


def test_the_explanation_is_what_the_command_prints(capsys):
    shown = EXPLAIN.partition("```console\n$ toolfault explain ")[2].partition("```")[0]
    subject, _, text = shown.partition("\n")
    main(["explain", subject])

    assert capsys.readouterr().out == text
