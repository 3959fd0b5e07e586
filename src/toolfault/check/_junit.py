"""
A report as JUnit XML: one test case per check and tool; what was not provoked is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from toolfault.check._model import CHECKS_BY_ID, CheckResult, Finding, Outcome, Report
from toolfault.check._summary import MAX_FINDINGS, plain


#: What XML 1.0 has no way to write.
_ILLEGAL: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(reports: Sequence[Report]) -> str:
    """
    Return reports as a JUnit document, one suite each.

    Args:
        reports: The reports.
    """
    root = Element("testsuites", name="toolfault check")
    for report in reports:
        _add_suite(root, report)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _add_suite(root: Element, report: Report) -> None:
    suite = SubElement(
        root,
        "testsuite",
        name=_legal(plain(report.server, 200)),
        tests=str(len(report.results)),
        failures=str(report.count(Outcome.FAIL)),
        errors="0",
        skipped=str(report.count(Outcome.NOT_PROVOKED)),
        time=f"{report.seconds:.3f}",
    )
    properties = SubElement(suite, "properties")
    known = {
        "target": report.target,
        "protocol": report.protocol,
        "toolfault": report.toolfault,
        "level": report.reached_level,
        "asked level": report.asked_level,
    }
    for name, value in known.items():
        SubElement(properties, "property", name=name, value=_legal(plain(value)))
    for result in report.results:
        _add_case(suite, result)


def _add_case(suite: Element, result: CheckResult) -> None:
    check = CHECKS_BY_ID[result.check]
    tool = f" [{plain(result.tool, 200)}]" if result.tool else ""
    case = SubElement(
        suite,
        "testcase",
        classname=f"toolfault.level{check.level}",
        name=_legal(f"{check.id}{tool}"),
        time="0",
    )
    if result.outcome is Outcome.NOT_PROVOKED:
        SubElement(case, "skipped", message=_legal(plain(result.reason)))
    elif result.outcome is Outcome.FAIL:
        first = result.findings[0].fault if result.findings else check.title
        failure = SubElement(case, "failure", message=_legal(plain(first)), type=check.id)
        failure.text = _legal(_describe(result))
    elif result.outcome is Outcome.WARN:
        SubElement(case, "system-out").text = _legal(_describe(result))


def _describe(result: CheckResult) -> str:
    check = CHECKS_BY_ID[result.check]
    lines = [line for finding in result.findings[:MAX_FINDINGS] for line in _lines_of(finding)]
    return "\n".join([*lines, f"Why it matters: {check.why}", f"What to change: {check.cure}"])


def _lines_of(finding: Finding) -> tuple[str, ...]:
    return (
        f"{plain(finding.fault)} ({plain(finding.provocation, 200)})",
        f"Sent: {plain(finding.sent)}",
        f"Came: {plain(finding.received) or 'nothing'}",
    )


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
