"""
Whole checks of real processes: a good server, one with a flaw for each tool, and hostile ones.
"""

import json
import os
import socket
import sys
from functools import partial
from pathlib import Path

import pytest

import checked_http
import checked_server
from toolfault.check._client import NotStartedError, StdioClient
from toolfault.check._http import HttpClient
from toolfault.check._model import CHECKS_BY_ID, Kind, Outcome, Provocation
from toolfault.check._plan import OptionError, Options
from toolfault.check._run import Run


SERVER = Path(checked_server.__file__)

#: Short where a server hangs on purpose; a start gets all the time that it needs.
FAST = {"timeout": 1.0, "start": 30.0, "listen": 0.05}


def command(name):
    return (sys.executable, "-S", str(SERVER), name)


def run(name, env=None, **options):
    def open_client(more, *, is_modern):
        return StdioClient(command(name), {**(env or {}), **more}, is_modern=is_modern)

    return Run(name, open_client, Options(**{"timeout": 20.0, "start": 30.0, "listen": 0.05, **options}))


def failed(report, up_to=3):
    found = [one for one in report.results if one.outcome is Outcome.FAIL]
    return {(one.check, one.tool) for one in found if CHECKS_BY_ID[one.check].level <= up_to}


def called(log):
    return [json.loads(line)[:2] for line in log.read_text().splitlines()]


def test_a_good_server_reaches_level_4():
    report = run("good", has_upstream=False).check()

    assert failed(report, 4) == set()
    assert report.reached_level == 4
    assert report.exit_code == 0
    assert report.protocol == "2025-11-25"
    assert report.server == "good 1"


def test_a_level_is_not_reached_without_a_failure_from_outside():
    report = run("good", level=3).check()

    assert report.reached_level == 2
    assert report.exit_code == 1
    assert {one.outcome for one in report.results if one.check == "honest-cause"} == {Outcome.NOT_PROVOKED}


@pytest.mark.parametrize(("name", "protocol"), [("Modern", "2026-07-28"), ("BothEras", "2025-11-25 and 2026-07-28")])
def test_a_server_is_checked_in_each_era_that_it_speaks(name, protocol):
    report = run(name, has_upstream=False).check()

    assert failed(report, 4) == set()
    assert report.reached_level == 4
    assert report.protocol == protocol


# ---- one flaw for each tool

FLAWS = [
    ("says-something", None),
    ("flagged", "success_shaped"),
    ("no-secret", "leaks"),
    ("no-trace", "leaks"),
    ("no-path", "leaks"),
    ("no-echo", "leaks"),
    ("answers", "hangs"),
    ("code-band", "protocol_error"),
    ("right-channel", "protocol_error"),
    ("refused", "silent"),
    ("strict-client", "schema_clash"),
    ("survives", "dies"),
]


@pytest.fixture(scope="module")
def flawed(tmp_path_factory):
    log = tmp_path_factory.mktemp("flawed") / "calls.jsonl"
    return run("flawed", {"CHECKED_LOG": str(log)}, **FAST).check(), log


@pytest.mark.parametrize(("check", "tool"), FLAWS)
def test_each_flaw_is_found_under_its_check(flawed, check, tool):
    report, _ = flawed

    assert (check, tool) in failed(report, 4)


def test_the_tool_that_validates_is_blamed_for_nothing_but_the_minimum_that_it_ignores(flawed):
    report, _ = flawed

    assert {check for check, tool in failed(report) if tool == "validates"} == {"refused"}


def test_a_tool_without_a_hint_is_never_called(flawed):
    report, log = flawed

    assert "delete_everything" not in {name for name, _ in called(log)}
    assert "delete_everything" not in {tool for _, tool in failed(report, 5)}
    rows = [one for one in report.results if one.tool == "delete_everything" and one.check != "hints"]
    assert rows
    assert {one.outcome for one in rows} == {Outcome.NOT_PROVOKED}
    assert all("--tool delete_everything" in one.reason for one in rows)


def test_no_tool_is_called_with_arguments_that_fit(flawed):
    _, log = flawed
    listed = {one["name"] for one in checked_server.Flawed.tools}

    fitting = [
        (name, arguments)
        for name, arguments in called(log)
        if name in listed and arguments.keys() == {"n"} and type(arguments["n"]) is int and arguments["n"] >= 0
    ]

    assert fitting == []


def test_a_tool_that_is_named_is_called(tmp_path):
    log = tmp_path / "calls.jsonl"

    run("flawed", {"CHECKED_LOG": str(log)}, **FAST, tools=frozenset({"delete_everything"})).check()

    assert "delete_everything" in {name for name, _ in called(log)}


def test_a_plan_calls_nothing(tmp_path):
    log = tmp_path / "calls.jsonl"

    plan = run("flawed", {"CHECKED_LOG": str(log)}).plan()

    assert not log.exists()
    assert {one.tool for one in plan.provocations} >= {None, "validates", "dies"}


# ---- over HTTP


def run_http(*, is_flawed, **options):
    with checked_http.serving(is_flawed=is_flawed) as url:

        def open_client(_env, *, is_modern):
            return HttpClient(url, is_modern=is_modern)

        return Run(url, open_client, Options(**options), is_http=True).check()


def test_a_good_server_over_http_reaches_level_4():
    report = run_http(is_flawed=False, timeout=20.0, has_upstream=False)

    assert failed(report, 4) == set()
    assert report.reached_level == 4


def test_each_flaw_is_found_over_http(flawed):
    over_stdio, _ = flawed
    report = run_http(is_flawed=True, **FAST)

    expected = {(check, tool) for check, tool in failed(over_stdio, 4) if tool != "dies"}
    assert failed(report, 4) == {*expected, ("http-status", None)}
    (row,) = [one for one in report.results if (one.check, one.tool) == ("http-status", None)]
    assert {finding.provocation for finding in row.findings} == {"not-json", "bad-version-header", "dead-session"}


# ---- hostile servers

NOT_STARTED = {
    "HangsAtStart": "did not answer initialize within 1 seconds",
    "DiesAtStart": "ended with exit code 3 before it answered initialize. Its last line on stderr: CONFIG_FILE",
    "PrintsUsage": "ended with exit code 2",
    "Refuses": "refused initialize: 'no licence'",
}


@pytest.mark.parametrize("name", NOT_STARTED)
def test_a_server_that_does_not_start_is_said_to_be_one(name):
    start = 1.0 if name == "HangsAtStart" else 30.0

    with pytest.raises(NotStartedError) as caught:
        run(name, start=start).check()

    assert NOT_STARTED[name] in str(caught.value)


def test_a_program_that_does_not_exist_is_said_to_be_one():
    gone = Run("gone", partial(StdioClient, ("/nowhere/server",)))

    with pytest.raises(NotStartedError, match="'/nowhere/server' can't be started: No such file"):
        gone.check()


#: What must fail, and what must not, for servers that misbehave behind a handshake.
HOSTILE = {
    "HangsAtListing": ({("answers", None)}, set()),
    "HangsAtCalls": ({("answers", "validates"), ("answers", None)}, {("survives", "validates")}),
    "HangsForGood": ({("answers", None), ("survives", None)}, {("survives", "validates")}),
    "DiesAtCalls": ({("survives", "validates"), ("survives", None)}, set()),
    "Floods": ({("answers", None)}, {("answers", "validates")}),
    "FloodsOneLine": ({("answers", None)}, {("answers", "validates")}),
    "AnswersTwice": ({("one-answer", "validates"), ("one-answer", None)}, {("answers", "validates")}),
    "AnswersLate": ({("answers", "validates")}, set()),
    "ChangesIds": ({("one-answer", "validates")}, set()),
    "MakesNoise": ({("stdout-clean", None)}, {("answers", None)}),
    "WritesNaN": ({("stdout-clean", None)}, {("answers", None)}),
    "NestsDeeply": ({("stdout-clean", None)}, {("answers", None)}),
    "LiesAboutHints": ({("refused", "delete_everything")}, {("refused", "both")}),
    "LeavesAChild": ({("survives", None)}, {("survives", "validates")}),
    "ReadsNothing": ({("answers", None), ("survives", None)}, {("answers", "validates")}),
    "ClosesStdout": ({("answers", None), ("survives", None)}, {("survives", "validates")}),
    "WritesLatin1": ({("stdout-clean", None)}, {("answers", None)}),
    "FloodsStderr": (set(), {("answers", None), ("survives", None)}),
    "WritesWindowsLines": (set(), {("stdout-clean", None)}),
    "OddHandshake": (set(), {("answers", None)}),
    "Asks": (set(), {("answers", None), ("survives", None)}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_server_gets_a_verdict(name, monkeypatch):
    # One deadline that passes is enough here.
    monkeypatch.setattr("toolfault.check._run._MAX_BROKEN", 1)
    bad, good = HOSTILE[name]

    report = run(name, **FAST).check()

    assert failed(report) >= bad
    assert failed(report) & good == set()
    level_1 = {check for check, _ in bad if CHECKS_BY_ID[check].level == 1}
    assert (report.reached_level == 0) == bool(level_1)


LISTINGS = {
    "TenThousandTools": (10_000, "The listing of tools does not end; the first 10000 were read"),
    "EndlessCursor": (200, "The listing of tools does not end; the first 200 were read"),
    "SameCursor": (1, "The listing of tools does not end; the first 1 were read"),
    "OddListing": (4, ""),
    "HugeListing": (3, ""),
    "RefusesListing": (0, ""),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_any_listing_ends(name):
    count, note = LISTINGS[name]

    report = run(name).check()

    assert len(report.tools) == count
    assert failed(report, 2) == set()
    assert [one[: len(note)] for one in report.assumptions] == ([note] if note else [])


def test_schemas_are_not_fetched_and_always_read_to_an_end():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"

        report = run("OddSchemas", {"CHECKED_URL": url}, has_upstream=False).check()

        with pytest.raises(BlockingIOError):
            listening.accept()
    assert failed(report, 2) == set()
    provoked = {one.tool for one in report.results if one.check == "refused" and one.outcome is Outcome.PASS}
    assert provoked >= {"nested", "remote_meta", "remote_id", "pattern", "huge"}
    assert not provoked & {"itself", "cycle", "remote", "false", "list", "true"}


def test_a_check_ends_when_its_time_is_over():
    made = run("flawed", **FAST)

    def pass_time(_what, done, _total):
        if done == 3:
            made._began -= 1000

    made.progress = pass_time
    report = made.check()

    reasons = {one.reason for one in report.results if one.tool == "dies" and one.outcome is Outcome.NOT_PROVOKED}
    assert reasons == {"The check took longer than 300 seconds."}
    assert report.assumptions[0].startswith("The check took longer than 300 seconds; 3 of ")


def test_a_lone_surrogate_that_comes_back_to_us_is_a_warning():
    report = run("EchoesNames", has_upstream=False).check()

    assert [one.outcome for one in report.results if one.check == "stdout-clean" and one.tool is None] == [Outcome.WARN]
    warned = {one.check for one in report.results if one.outcome is Outcome.WARN and one.tool is None}
    assert failed(report) == set()
    assert warned >= {"no-echo", "no-markup"}


def test_no_process_is_left(monkeypatch):
    monkeypatch.setattr("toolfault.check._run._MAX_BROKEN", 1)
    seen = []

    class Seeing(StdioClient):
        def connect(self, timeout):
            hello = super().connect(timeout)
            seen.append(self._child._process)
            return hello

    Run("x", partial(Seeing, command("HangsForGood")), Options(**FAST)).check()

    assert len(seen) > 1
    assert [one for one in seen if one.poll() is None] == []
    for process in seen:
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)


def test_a_broken_tool_is_left_alone_after_three_calls(tmp_path):
    log = tmp_path / "calls.jsonl"

    report = run("flawed", {"CHECKED_LOG": str(log)}, **FAST).check()

    deadly = [arguments for name, arguments in called(log) if name == "dies" and type(arguments.get("n")) is not int]
    assert len(deadly) == 3
    assert ("survives", "dies") in failed(report)


# ---- options

WRONG = {
    "unknown tool": (
        {"tools": frozenset({"validate"})},
        "the server lists no tool 'validate'; did you mean 'validates'?",
    ),
    "unknown writing tool": ({"writing": frozenset({"x"})}, "the server lists no tool 'x'"),
    "a call without --break": (
        {"calls": (Provocation("call:1", "g", Kind.AUTHOR, tool="validates", upstream="503"),)},
        "wants its upstream to be broken (503); name the variable that points there with --break",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_options_that_do_not_fit_are_refused(name):
    options, message = WRONG[name]

    with pytest.raises(OptionError) as caught:
        run("good", **options).check()

    assert message in str(caught.value)


def test_progress_is_reported():
    steps = []
    made = run("good")
    made.progress = lambda what, done, total: steps.append((what, done, total))

    made.check()

    assert steps[0] == ("connecting", 0, 0)
    assert [done for _, done, _ in steps[1:]] == list(range(1, steps[-1][2] + 1))
