"""
A report as SARIF 2.1.0.

A running server has no source file, so results have logical locations only: the tool by its name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from toolfault.check._model import CHECKS, CHECKS_BY_ID, Check, CheckResult, Outcome, Report
from toolfault.check._summary import page_of, plain


_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"

#: By outcome: the level and the kind of a result.
_LEVELS: Final = {
    Outcome.FAIL: ("error", "fail"),
    Outcome.WARN: ("warning", "fail"),
    Outcome.PASS: ("none", "pass"),
    Outcome.NOT_PROVOKED: ("none", "notApplicable"),
}

_PLACES: Final = {check.id: place for place, check in enumerate(CHECKS)}


def to_sarif(reports: Sequence[Report]) -> str:
    """
    Return reports as a SARIF log, one run each.

    Args:
        reports: The reports.
    """
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(report) for report in reports]}
    return json.dumps(log, indent=2) + "\n"


def _run(report: Report) -> dict[str, Any]:
    driver = {
        "name": "toolfault check",
        "version": report.toolfault,
        "informationUri": "https://toolfault.github.io/",
        "rules": [_rule(check) for check in CHECKS],
    }
    return {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"toolfault/{plain(report.server, 200)}/"},
        "invocations": [{"executionSuccessful": True, "exitCode": int(report.exit_code)}],
        "properties": {"target": plain(report.target), "reachedLevel": report.reached_level},
        "results": [one for result in report.results for one in _iter_results(report, result)],
    }


def _rule(check: Check) -> dict[str, Any]:
    return {
        "id": check.id,
        "shortDescription": {"text": check.title},
        "fullDescription": {"text": check.why},
        "help": {"text": check.cure},
        "helpUri": page_of(check),
        "properties": {"level": check.level, "basis": check.basis.value},
    }


def _iter_results(report: Report, result: CheckResult) -> Iterator[dict[str, Any]]:
    """
    Yield one SARIF result per finding; one for a result without findings.
    """
    check = CHECKS_BY_ID[result.check]
    if not result.findings:
        yield _result(report, result, result.reason or check.title, "")
    for finding in result.findings:
        text = (
            f"{plain(finding.fault)} Sent: {plain(finding.sent)} "
            f"Came: {plain(finding.received) or 'nothing'}"
        )
        yield _result(report, result, text, finding.provocation)


def _result(report: Report, result: CheckResult, text: str, provocation: str) -> dict[str, Any]:
    level, kind = _LEVELS[result.outcome]
    tool = plain(result.tool, 200) if result.tool else ""
    server = plain(report.server, 200)
    location = {
        "name": tool or server,
        "fullyQualifiedName": f"{server}/{tool}" if tool else server,
        "kind": "function" if tool else "module",
    }
    key = "\0".join((result.check, result.tool or "", provocation))
    return {
        "ruleId": result.check,
        "ruleIndex": _PLACES[result.check],
        "level": level,
        "kind": kind,
        "message": {"text": plain(text, 2000)},
        "locations": [{"logicalLocations": [location]}],
        "partialFingerprints": {
            "toolfault/v1": hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
        },
    }
