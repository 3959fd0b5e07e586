"""
A report as Markdown, for the step summary of GitHub Actions.

Rule 1: what a server wrote stands in ``<code>``, with each character that could mean anything as a
reference: no link, mention, image or table cell comes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from toolfault.check._model import LEVELS, Finding, Outcome, Report
from toolfault.check._summary import (
    LevelView,
    State,
    Trouble,
    compare,
    counts_of,
    coverage_of,
    headline_of,
    iter_troubles,
    levels_of,
    page_of,
    plain,
)


#: How many results are described; a step summary may have one megabyte.
_MAX_TROUBLES: Final = 100

_MEANS_SOMETHING: Final = re.compile(r"[^A-Za-z0-9 ,]")

_MARKS: Final = {
    Outcome.PASS: "✅",
    Outcome.FAIL: "❌",
    Outcome.WARN: "⚠️",
    Outcome.NOT_PROVOKED: "⚪",
    None: "",
}

_STATES: Final = {
    State.REACHED: "✅",
    State.FAILED: "❌",
    State.NOT_PROVOKED: "⚪",
    State.BELOW: "▫️",
}


def to_markdown(reports: Sequence[Report]) -> str:
    """
    Return reports as one Markdown text.

    Args:
        reports: The reports.
    """
    lines = list(_comparison(reports)) if len(reports) > 1 else []
    for report in reports:
        lines += _section(report)
    return "\n".join(lines) + "\n"


def _section(report: Report) -> Iterator[str]:
    yield f"## Failures of {_code(report.server, 200)}: {headline_of(report)}"
    yield ""
    yield f"{_code(report.target)}, MCP {_code(report.protocol, 100)}, toolfault {report.toolfault}"
    yield ""
    yield "| level | | checks |"
    yield "| --- | --- | --- |"
    for level in levels_of(report):
        yield f"| {_name(level)} | {_state(level)} | {_checks(level)} |"
    yield ""
    yield f"{counts_of(report).capitalize()}. {coverage_of(report)}"
    yield ""
    troubles = list(iter_troubles(report))
    for trouble in troubles[:_MAX_TROUBLES]:
        yield from _describe(trouble)
    if len(troubles) > _MAX_TROUBLES:
        yield f"… and {len(troubles) - _MAX_TROUBLES} more results."
        yield ""
    for sentence in report.assumptions:
        yield f"- Assumed: {_code(sentence)}"
    if report.assumptions:
        yield ""


def _name(level: LevelView) -> str:
    return f"{level.number} {level.name}" if level.number in LEVELS else level.name


def _state(level: LevelView) -> str:
    if level.number not in LEVELS:
        return ""
    return f"{_STATES[level.state]} {level.state.value}"


def _checks(level: LevelView) -> str:
    return ", ".join(
        f"[{view.check.id}]({page_of(view.check)}) {_MARKS[view.outcome]}".rstrip()
        for view in level.checks
        if view.outcome is not None
    )


def _describe(trouble: Trouble) -> Iterator[str]:
    check = trouble.check
    where = f" of {_code(trouble.tool)}" if trouble.tool else ""
    yield "<details>"
    yield f"<summary>{_MARKS[trouble.outcome]} {check.id}{where}: {check.title}</summary>"
    yield ""
    for finding in trouble.findings:
        yield from _lines_of(finding)
    if trouble.left_out:
        yield f"- and {trouble.left_out} more"
    yield ""
    yield f"**Why it matters:** {check.why}"
    yield ""
    yield f"**What to change:** {check.cure}"
    yield ""
    yield "</details>"
    yield ""


def _lines_of(finding: Finding) -> Iterator[str]:
    yield f"- {_code(finding.fault)} ({_code(finding.provocation, 200)})"
    yield f"  - sent {_code(finding.sent)}"
    yield f"  - came {_code(finding.received) if finding.received else 'nothing'}"


def _comparison(reports: Sequence[Report]) -> Iterator[str]:
    names = [_code(report.target, 60) for report in reports]
    yield "## Side by side"
    yield ""
    yield f"| check | {' | '.join(names)} |"
    yield f"| --- |{' --- |' * len(names)}"
    for check, outcomes in compare(reports):
        cells = " | ".join(_MARKS[outcome] for outcome in outcomes)
        yield f"| {check.id} | {cells} |"
    yield f"| **level** | {' | '.join(str(report.reached_level) for report in reports)} |"
    yield ""


def _code(text: object, limit: int = 300) -> str:
    shown = _MEANS_SOMETHING.sub(lambda match: f"&#{ord(match[0])};", plain(text, limit))
    return f"<code>{shown}</code>"
