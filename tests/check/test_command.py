"""
The command ``toolfault check`` as a process, before real servers.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import checked_server
import weather_server
from transports import http_server


CHECKED = (sys.executable, "-S", checked_server.__file__)
WEATHER = Path(weather_server.__file__)

CALLS = """
[[call]]
tool = "weather"
arguments = { city = "Oslo", days = 2 }
"""


def check(*arguments, env=None):
    return subprocess.run(
        [sys.executable, "-m", "toolfault", "check", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, **(env or {})},
    )


def reports(*arguments, **options):
    done = check("--json", *arguments, **options)
    assert done.stderr == ""
    return json.loads(done.stdout), done.returncode


def failed(report):
    return {(one["check"], one["tool"]) for one in report["results"] if one["outcome"] == "fail"}


# ---- with and without toolfault


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    file = tmp_path_factory.mktemp("calls") / "calls.toml"
    file.write_text(CALLS)
    return file


def broken(kind, calls):
    command = (sys.executable, WEATHER, kind, "stdio")
    return reports("--level", 5, "--break", "WEATHER_URL", "--call", calls, "--", *command)


def test_a_guarded_server_reaches_level_5_while_its_upstream_is_down(calls):
    report, code = broken("guarded", calls)

    assert failed(report) == set()
    assert (report["reached_level"], code) == (5, 0)
    assert report["totals"]["not_provoked"] == 0
    assert report["protocol"] == "2025-11-25 and 2026-07-28"
    assert report["assumptions"] == ["The variable WEATHER_URL points the server to its upstream (--break)."]


def test_the_same_server_without_a_guard_gets_what_it_deserves(calls):
    report, code = broken("plain", calls)

    assert (report["reached_level"], code) == (2, 1)
    assert failed(report) >= {
        ("says-something", "weather"),
        ("honest-cause", "weather"),
        ("structured", "weather"),
        ("retry-advice", "weather"),
        ("declared", "weather"),
    }


@pytest.mark.parametrize(("kind", "level"), [("guarded", 5), ("plain", 2)])
def test_an_upstream_over_https_is_broken_behind_a_proxy(kind, level, calls):
    command = (sys.executable, WEATHER, kind, "stdio")
    upstream = {"WEATHER_URL": "https://weather.acme.example"}

    report, _ = reports("--level", 5, "--break", "HTTPS_PROXY", "--call", calls, "--", *command, env=upstream)

    assert report["reached_level"] == level
    (row,) = [one for one in report["results"] if one["check"] == "honest-cause"]
    assert (row["outcome"], row["provoked"]) == ("pass" if level == 5 else "fail", 9)


@pytest.mark.parametrize("way", ["http", "http-json"])
@pytest.mark.parametrize(("kind", "level"), [("guarded", 5), ("plain", 2)])
def test_the_same_over_http(way, kind, level):
    with http_server(WEATHER, kind, way) as url:
        report, code = reports("--level", 5, "--no-upstream", url)

    assert report["reached_level"] == level
    assert code == (0 if level == 5 else 1)
    assert report["not_applicable"].keys() == {"stdout-clean", "honest-cause", "retry-advice"}
    assert "http-status" in {one["check"] for one in report["results"] if one["outcome"] == "pass"}


def test_the_gateway_is_compared_with_the_server_alone():
    (before, after), code = reports(
        "--through-gateway", "--no-upstream", "--level", 2, "--timeout", 5, "--", *CHECKED, "DiesAtCalls"
    )

    assert ("answers", "validates") in failed(before)
    assert ("answers", "validates") not in failed(after)
    assert before["reached_level"] == 0
    assert code == after["exit_code"]


def test_the_gateway_is_compared_with_a_server_at_a_url():
    with http_server(WEATHER, "plain", "http") as url:
        (before, after), _ = reports("--through-gateway", "--no-upstream", "--level", 4, url)

    assert before["reached_level"] == 2
    assert ("structured", "weather") in failed(before) - failed(after)


def test_a_server_that_does_not_use_the_variable_is_not_judged_by_it(tmp_path):
    calls = tmp_path / "calls.toml"
    calls.write_text('[[call]]\ntool = "validates"\narguments = { n = 1 }\nupstream = "503"\n')

    report, _ = reports("--break", "OTHER_URL", "--call", calls, "--", *CHECKED, "good")

    (row,) = [one for one in report["results"] if one["check"] == "honest-cause"]
    assert row["outcome"] == "not_provoked"
    assert row["reason"] == "The server sent no request to the address in OTHER_URL."


# ---- exit codes and messages


@pytest.mark.parametrize(
    ("name", "level", "code"), [("good", 2, 0), ("good", 5, 1), ("AnswersTwice", 1, 1), ("DiesAtStart", 1, 3)]
)
def test_the_exit_code_says_what_was_found(name, level, code):
    done = check("--level", level, "--no-upstream", "--", *CHECKED, name)

    assert done.returncode == code
    assert ("level" in done.stdout) == (code != 3)
    assert ("CONFIG_FILE is not set" in done.stderr) == (code == 3)


USAGE = {
    "nothing": ([], "usage: toolfault check"),
    "no command": (["--level", "2"], "the server's command is missing: toolfault check -- COMMAND"),
    "no --": (["python", "x"], "write -- before the server's command: toolfault check -- python"),
    "unknown option": (["--leve", "2", "--", "x"], "unknown option --leve; did you mean"),
    "level": (["--level", "6", "--", "x"], "invalid choice: 6"),
    "timeout": (["--timeout", "0", "--", "x"], "must be a number of seconds above 0, not '0'"),
    "timeout text": (["--timeout", "soon", "--", "x"], "must be a number of seconds above 0, not 'soon'"),
    "two targets": (["http://127.0.0.1:9", "--", "x"], "give one URL, or a command behind --"),
    "variable": (["--break", "A-B", "--", "x"], "must be the name of an environment variable, not 'A-B'"),
    "header": (["--header", "X", "http://127.0.0.1:9"], "must be NAME=VARIABLE"),
    "header unset": (["--header", "X=UNSET_X", "http://127.0.0.1:9"], "set the environment variable UNSET_X"),
    "header for a command": (["--header", "X=HOME", "--", "x"], "--header is for a URL"),
    "break for a URL": (["--break", "A", "http://127.0.0.1:9"], "it needs a command, not a URL"),
    "no file": (["--call", "/nowhere.toml", "--", "x"], "/nowhere.toml can't be read"),
    "unknown tool": (["--tool", "validate", "--", *CHECKED, "good"], "no tool 'validate'; did you mean 'validates'?"),
}


@pytest.mark.parametrize("name", USAGE)
def test_a_wrong_command_line_names_its_cure(name):
    arguments, message = USAGE[name]

    done = check(*arguments)

    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr


def test_a_command_that_does_not_exist_did_not_start():
    done = check("--", "/nowhere/server")

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "toolfault check: '/nowhere/server' can't be started: No such file or directory.\n"


def test_help_fits_a_screen():
    done = check("--help")

    assert done.returncode == 0
    assert len(done.stdout.splitlines()) <= 45
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_a_dry_run_shows_what_would_be_sent_and_calls_nothing(tmp_path):
    log = tmp_path / "calls.jsonl"

    done = check("--dry-run", "--", *CHECKED, "flawed", env={"CHECKED_LOG": str(log)})

    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert not log.exists()
    sent = [one for one in rows if "sends" in one]
    assert {one["tool"] for one in sent} == {None, *(one["name"] for one in checked_server.Flawed.tools)} - {
        "delete_everything"
    }
    left_out = [one for one in rows if "not_provoked" in one]
    assert [one["tool"] for one in left_out] == ["delete_everything"]


def test_a_dry_run_says_which_provocations_could_not_be_made(tmp_path):
    server = tmp_path / "server.py"
    server.write_text(SERVER_WITH_OPTIONS)

    done = check("--dry-run", "--", sys.executable, server)

    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one for one in rows if "skipped" in one] == [
        {"tool": "search", "skipped": {"missing-argument": "The schema requires no argument."}}
    ]


SERVER_WITH_OPTIONS = """
import json, sys
schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
results = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}},
    "tools/list": {"tools": [{"name": "search", "inputSchema": schema, "annotations": {"readOnlyHint": True}}]},
}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        answer = {"error": {"code": -32601, "message": "There is no such method."}}
        if message["method"] in results:
            answer = {"result": results[message["method"]]}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_too(tmp_path, number):
    log = tmp_path / "calls"
    os.mkfifo(log)
    command = [sys.executable, "-m", "toolfault", "check", "--timeout", "300", "--", *CHECKED, "HangsForGood"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "CHECKED_LOG": str(log)}
    ) as process:
        # The server waits here until it is read, and then for ever.
        *_, pid = json.loads(log.read_text())
        process.send_signal(number)
        out, err = process.communicate(timeout=60)

    assert (process.returncode, out, err) == (128 + number, b"", b"")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_command_of_a_server_may_hold_a_dash_of_its_own():
    gateway = (sys.executable, "-m", "toolfault", "gateway", "--", *CHECKED, "good")

    report, code = reports("--level", 4, "--no-upstream", "--", *gateway)

    assert (report["reached_level"], code) == (4, 0)


def test_no_http_client_is_loaded_for_a_command():
    script = (
        "import sys; from toolfault.cli import main; code = main(sys.argv[1:]);"
        "loaded = {'mcp', 'httpx', 'httpx2', 'uvicorn', 'rich'} & set(sys.modules);"
        "sys.exit(f'{code} {sorted(loaded)}')"
    )

    done = subprocess.run(
        [sys.executable, "-c", script, "check", "--no-upstream", "--", *CHECKED, "good"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.stderr == "0 []\n"
