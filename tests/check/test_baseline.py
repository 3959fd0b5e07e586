"""
Known findings, and the options of a project's files.
"""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from toolfault.check._baseline import BaselineError, Known, compare_with, read_baseline, write_baseline
from toolfault.check._model import CHECKS, CheckResult, ExitCode, Finding, Outcome, Report
from toolfault.cli import main
from toolfault.cli._check_config import read_check_config
from toolfault.cli._toml import TomlError, read_table


SERVER = Path(__file__).parents[1] / "support" / "checked_server.py"
PASS, FAIL, NOT_PROVOKED = Outcome.PASS, Outcome.FAIL, Outcome.NOT_PROVOKED


def failed(check, tool, *provocations):
    findings = tuple(Finding(name, "{}", "", "It is wrong.") for name in provocations)
    return CheckResult(check, tool, FAIL, findings=findings, provoked=len(findings))


def make_report(*results):
    """
    A report in which everything passed but what is given.
    """
    given = {(one.check, one.tool) for one in results}
    rest = [CheckResult(check.id, None, PASS, provoked=1) for check in CHECKS if (check.id, None) not in given]
    return Report("target", "server", "2025-11-25", (), (*results, *rest), {}, 2)


A, B = Known("refused", "reads", "a"), Known("refused", "reads", "b")


@pytest.mark.parametrize(
    ("results", "baseline", "new", "stale", "exit_code"),
    [
        ([], [], [], [], ExitCode.CLEAN),
        ([failed("refused", "reads", "a")], [], [A], [], ExitCode.FINDINGS),
        ([failed("refused", "reads", "a")], [A], [], [], ExitCode.CLEAN),
        ([failed("refused", "reads", "a", "b")], [A], [B], [], ExitCode.FINDINGS),
        ([failed("refused", "reads", "a")], [A, B], [], [B], ExitCode.FINDINGS),
        ([CheckResult("refused", "reads", PASS, provoked=1)], [A], [], [A], ExitCode.FINDINGS),
        ([CheckResult("refused", "reads", NOT_PROVOKED, "no hint")], [A], [], [], ExitCode.CLEAN),
        ([failed("structured", "reads", "a")], [], [Known("structured", "reads", "a")], [], ExitCode.CLEAN),
    ],
)
def test_new_findings_and_stale_entries_fail(results, baseline, new, stale, exit_code):
    compared = compare_with(make_report(*results), frozenset(baseline))

    assert (list(compared.new), list(compared.stale), compared.exit_code) == (new, stale, exit_code)


def test_a_known_failure_reaches_no_level():
    report = make_report(failed("answers", None, "a"))
    compared = compare_with(report, frozenset({Known("answers", None, "a")}))

    assert compared.exit_code is ExitCode.CLEAN
    assert compared.report is report
    assert compared.report.reached_level == 0


def test_nothing_provoked_stays_nothing_provoked():
    report = replace(make_report(), results=(CheckResult("answers", None, NOT_PROVOKED, "no"),))

    assert compare_with(report, frozenset({A})).exit_code is ExitCode.NOTHING_PROVOKED


def test_a_baseline_is_read_as_it_was_written(tmp_path):
    file = str(tmp_path / "known.json")
    report = make_report(failed("refused", "reads", "b", "a", "a"), failed("answers", None, "x"))

    assert write_baseline(file, [report]) == 3
    assert read_baseline(file) == {A, B, Known("answers", None, "x")}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "is not valid JSON"),
        ("[]", "has no array 'known'"),
        ('{"known": 1}', "has no array 'known'"),
        ('{"known": [1]}', "entry 0 of"),
        ('{"known": [{"check": "refused", "tool": null}]}', "entry 0 of"),
        ('{"known": [{"check": "x", "tool": null, "provocation": "a"}]}', "there is no check 'x'"),
        ('{"known": [{"check": "refused", "tool": 1, "provocation": "a"}]}', "entry 0 of"),
        ('{"known": [{"check": "refused", "tool": null, "provocation": "a", "why": 1}]}', "alone"),
    ],
)
def test_a_wrong_baseline_gets_a_cure(tmp_path, text, complaint):
    file = tmp_path / "known.json"
    file.write_text(text)

    with pytest.raises(BaselineError, match=complaint):
        read_baseline(str(file))


def test_a_missing_baseline_names_the_option_that_writes_one(tmp_path):
    with pytest.raises(BaselineError, match="--update-baseline writes it"):
        read_baseline(str(tmp_path / "none.json"))
    with pytest.raises(BaselineError, match="can't write"):
        write_baseline(str(tmp_path), [])


# ---- options of a project


OPTIONS = {"level": 1, "tool": [], "break": [], "no-upstream": False, "config": None, "dry-run": False, "junit": None}


def config_of(tmp_path, text, name="toolfault.toml", file=None):
    (tmp_path / name).write_text(text)
    return read_check_config(file, OPTIONS, tmp_path)


def test_options_become_words_of_a_command_line(tmp_path):
    found = config_of(
        tmp_path,
        '[check]\nlevel = 3\ntool = ["a", "--b"]\nbreak = "API_URL"\nno-upstream = true\ncommand = ["python", "x"]',
    )

    assert found.words == ("--level=3", "--tool=a", "--tool=--b", "--break=API_URL", "--no-upstream")
    assert found.target == ("python", "x")


def test_the_own_file_is_read_before_pyproject(tmp_path):
    project = "[tool.toolfault.check]\nlevel = 2\n"
    assert config_of(tmp_path, project, "pyproject.toml").words == ("--level=2",)
    assert config_of(tmp_path, "[gateway]\nretry = true\n").words == ("--level=2",)
    assert config_of(tmp_path, "[check]\nlevel = 4\n").words == ("--level=4",)
    assert read_check_config(str(tmp_path / "pyproject.toml"), OPTIONS, tmp_path).words == ("--level=2",)


def test_no_file_says_nothing(tmp_path):
    assert read_check_config(None, OPTIONS, tmp_path).words == ()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("check = 1", r"write \[check\]"),
        ("[check", "is not valid TOML"),
        ("[check]\nlevels = 3", "unknown key 'levels'; did you mean 'level'"),
        ("[check]\nno_upstream = true", "did you mean 'no-upstream'"),
        ("[check]\nqqqq = 1", "its keys are command, url, level"),
        ("[check]\ndry-run = true", "give --dry-run on the command line"),
        ("[check]\nno-upstream = 1", "must be true or false"),
        ("[check]\nlevel = [1]", "level must be a text or a number"),
        ("[check]\ntool = [true]", "tool must be a text or a number"),
        ("[check]\ncommand = 'python server.py'", "command must be an array"),
        ("[check]\nurl = 'example.com'", "must begin with http"),
        ("[check]\nurl = 'http://x'\ncommand = ['a']", "not both"),
    ],
)
def test_a_wrong_file_gets_a_cure(tmp_path, text, complaint):
    with pytest.raises(TomlError, match=complaint):
        config_of(tmp_path, text)


def test_a_file_that_is_named_must_have_the_table(tmp_path):
    with pytest.raises(TomlError, match=r"has no table \[check\]"):
        config_of(tmp_path, "", file=str(tmp_path / "toolfault.toml"))
    with pytest.raises(TomlError, match="can't read"):
        read_table(str(tmp_path / "none.toml"), "check")


# ---- the command


def run(tmp_path, *words):
    return subprocess.run(
        [sys.executable, "-m", "toolfault", "check", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_project_is_checked_with_its_own_options(tmp_path):
    command = json.dumps([sys.executable, "-S", str(SERVER), "flawed"])
    (tmp_path / "toolfault.toml").write_text(
        f'[check]\ncommand = {command}\nbaseline = "known.json"\ntimeout = 1\nhtml = "report.html"\n'
    )

    first = run(tmp_path)
    assert (first.returncode, "--update-baseline writes it" in first.stderr) == (2, True)
    second = run(tmp_path, "--update-baseline")
    assert second.returncode == 0
    third = run(tmp_path, "--junit", "report.xml")
    assert (third.returncode, "0 are new" in third.stderr) == (0, True)
    assert third.stdout.startswith("flawed 1: level 0 of 5")
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert 'failures="0"' in (tmp_path / "report.xml").read_text(encoding="utf-8")

    known = json.loads((tmp_path / "known.json").read_text())
    removed = known["known"].pop()
    known["known"].append({"check": "no-trace", "tool": removed["tool"], "provocation": "gone"})
    (tmp_path / "known.json").write_text(json.dumps(known))
    fourth = run(tmp_path, "--level", "5")
    assert fourth.returncode == 1
    assert "new: " in fourth.stderr


@pytest.mark.parametrize(
    ("text", "words", "complaint"),
    [
        ("[check]\nlevel = 9", ["--", "x"], "toolfault.toml: argument --level"),
        ("[check]\nlevle = 3", ["--", "x"], "did you mean 'level'?"),
        ("", ["--update-baseline", "--", "x"], "--update-baseline needs --baseline FILE"),
        ("", ["--html", "none/x.html", "--", "x"], "there is no folder 'none'"),
        ("", ["--config", "none.toml", "--", "x"], "can't read 'none.toml'"),
    ],
)
def test_mistakes_are_found_before_anything_starts(tmp_path, monkeypatch, capsys, text, words, complaint):
    (tmp_path / "toolfault.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(["check", *words])

    assert stopped.value.code == 2
    assert complaint in capsys.readouterr().err
