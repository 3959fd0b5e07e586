"""
The report's arithmetic: outcomes, levels and exit codes.
"""

import json

import pytest

from toolfault.check._model import (
    CHECKS,
    INFORMATION,
    LEVELS,
    CheckResult,
    ExitCode,
    Finding,
    Outcome,
    Report,
    merge,
    reached_level,
    to_json,
)


PASS, FAIL, WARN, NOT_PROVOKED = Outcome.PASS, Outcome.FAIL, Outcome.WARN, Outcome.NOT_PROVOKED
FINDING = Finding("missing-argument:n", "{}", "1", "The call succeeded.")


def results(**changed):
    """
    One result per check, all passed but those that are named.
    """
    outcomes = {check.id.replace("-", "_"): PASS for check in CHECKS} | changed
    return tuple(
        CheckResult(name.replace("_", "-"), None, outcome) for name, outcome in outcomes.items() if outcome is not None
    )


def report(*found, asked_level=1):
    return Report("python server.py", "server 1.0", "2025-11-25", (), found, asked_level=asked_level)


def test_ids_are_unique_and_each_level_has_checks():
    assert len({check.id for check in CHECKS}) == len(CHECKS)
    assert {check.level for check in CHECKS} == {INFORMATION, *LEVELS}


@pytest.mark.parametrize(
    ("changed", "level"),
    [
        ({}, 5),
        ({"declared": FAIL}, 4),
        ({"declared": NOT_PROVOKED}, 4),
        ({"declared": WARN}, 5),
        ({"answers": FAIL}, 0),
        ({"refused": NOT_PROVOKED}, 1),
        ({"honest_cause": NOT_PROVOKED, "structured": PASS}, 2),
        ({"http_status": None}, 0),
        ({"hints": FAIL}, 5),
    ],
)
def test_a_level_is_reached_on_provoked_checks_only(changed, level):
    assert reached_level(results(**changed)) == level


def test_a_check_that_does_not_apply_keeps_no_level_from_being_reached():
    assert reached_level(results(http_status=None), {"http-status"}) == 5


@pytest.mark.parametrize(
    ("changed", "asked", "code"),
    [
        ({}, 5, ExitCode.CLEAN),
        ({"declared": FAIL}, 5, ExitCode.FINDINGS),
        ({"declared": FAIL}, 4, ExitCode.CLEAN),
        ({"declared": NOT_PROVOKED}, 5, ExitCode.FINDINGS),
        ({check.id.replace("-", "_"): NOT_PROVOKED for check in CHECKS}, 1, ExitCode.NOTHING_PROVOKED),
    ],
)
def test_the_exit_code_follows_the_level_that_was_asked_for(changed, asked, code):
    assert report(*results(**changed), asked_level=asked).exit_code is code


def test_merging_keeps_the_worst_outcome_and_all_findings():
    parts = [
        CheckResult("flagged", "a", NOT_PROVOKED, reason="The tool has no schema."),
        CheckResult("flagged", "a", PASS, provoked=1),
        CheckResult("flagged", "a", FAIL, findings=(FINDING,), provoked=1),
        CheckResult("answers", "a", NOT_PROVOKED, reason="The tool may write."),
    ]

    assert merge(parts) == (
        CheckResult("answers", "a", NOT_PROVOKED, reason="The tool may write."),
        CheckResult("flagged", "a", FAIL, findings=(FINDING,), provoked=2),
    )


def test_the_json_holds_totals_and_the_texts_of_each_finding():
    value = to_json(report(CheckResult("flagged", "a", FAIL, findings=(FINDING,), provoked=1)))

    assert json.loads(json.dumps(value)) == value
    assert value["totals"] == {"pass": 0, "fail": 1, "warn": 0, "not_provoked": 0}
    assert value["results"][0]["findings"][0]["cure"]
    assert (value["reached_level"], value["exit_code"]) == (0, 1)
