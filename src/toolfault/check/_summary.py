"""
What the writers of reports have in common: levels, tools and findings, with texts that are safe.

Rule 1: what a server or a caller wrote is untrusted: no control, no direction, no line break leaves
`plain`, and no text is longer than `SHOWN`.
Rule 2: each writer escapes what `plain` returns for its own format.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from toolfault._text import clean, one_line
from toolfault.check._model import (
    CHECKS,
    CHECKS_BY_ID,
    INFORMATION,
    LEVELS,
    Check,
    CheckResult,
    Finding,
    Outcome,
    Report,
)


#: How much of one text is shown, in characters.
SHOWN: Final = 600

#: How many findings of one result are shown.
MAX_FINDINGS: Final = 3

#: How many tools a table shows.
MAX_TOOLS: Final = 200

_DOCS: Final = "https://toolfault.github.io/checks"


class State(StrEnum):
    """
    What came of one level.
    """

    REACHED = "reached"
    """Each of its checks was provoked, none failed, and so it is with the levels below."""
    FAILED = "failed"
    """One of its checks failed."""
    NOT_PROVOKED = "not provoked"
    """None of its checks failed, and one was not provoked."""
    BELOW = "a level below is not reached"
    """Its own checks passed."""


@dataclass(frozen=True, slots=True)
class CheckView:
    """
    One check over all tools.

    Attributes:
        check: The check.
        outcome: The worst outcome; None: it does not apply.
        results: One result per tool.
        reason: Why it does not apply, or was not provoked; "" otherwise.
    """

    check: Check
    outcome: Outcome | None
    results: tuple[CheckResult, ...]
    reason: str = ""

    @property
    def provoked(self) -> int:
        """
        How many of its results were provoked.
        """
        return sum(result.outcome is not Outcome.NOT_PROVOKED for result in self.results)


@dataclass(frozen=True, slots=True)
class LevelView:
    """
    One level with its checks.

    Attributes:
        number: 1 to 5; `INFORMATION`: the checks that only inform.
        name: What a server of this level is.
        state: What came of it.
        checks: Its checks.
    """

    number: int
    name: str
    state: State
    checks: tuple[CheckView, ...]


def page_of(check: Check) -> str:
    """
    Return the URL of the page on a check.

    Args:
        check: The check.
    """
    return f"{_DOCS}/{check.id}.html"


def plain(text: object, limit: int = SHOWN) -> str:
    """
    Return a text on one line, without what hides, reorders or commands, cut to a length.

    Args:
        text: What a server or a caller wrote.
        limit: The most characters that are kept.
    """
    # Cleaning is linear, but a megabyte of it is nobody's to read.
    given = str(text)
    shown = one_line(clean(given[: 4 * limit])).encode("utf-8", "replace").decode()
    if len(shown) <= limit and len(given) <= 4 * limit:
        return shown
    return f"{shown[:limit]}…"


#: Worst first.
_WORST: Final = (Outcome.FAIL, Outcome.WARN, Outcome.PASS)


def levels_of(report: Report) -> tuple[LevelView, ...]:
    """
    Return the levels 1 to 5, then the checks that only inform.

    Args:
        report: The report.
    """
    reached = report.reached_level
    named = [*LEVELS.items(), (INFORMATION, "for information")]
    return tuple(_view_level(report, number, name, reached) for number, name in named)


def _view_level(report: Report, number: int, name: str, reached: int) -> LevelView:
    checks = tuple(_view_check(report, check) for check in CHECKS if check.level == number)
    return LevelView(number, name, _state(number, checks, reached), checks)


def _state(number: int, checks: tuple[CheckView, ...], reached: int) -> State:
    outcomes = {view.outcome for view in checks}
    if Outcome.FAIL in outcomes:
        return State.FAILED
    if Outcome.NOT_PROVOKED in outcomes:
        return State.NOT_PROVOKED
    return State.REACHED if number <= reached else State.BELOW


def _view_check(report: Report, check: Check) -> CheckView:
    if check.id in report.not_applicable:
        return CheckView(check, None, (), report.not_applicable[check.id])
    results = tuple(result for result in report.results if result.check == check.id)
    found = {result.outcome for result in results}
    for outcome in _WORST:
        if outcome in found:
            return CheckView(check, outcome, results)
    reason = results[0].reason if results else "Nothing was sent that could tell."
    return CheckView(check, Outcome.NOT_PROVOKED, results, reason)


@dataclass(frozen=True, slots=True)
class Trouble:
    """
    One result that failed, or could be better.

    Attributes:
        check: The check.
        tool: The name of the tool; "" if it concerns the server.
        outcome: The outcome.
        findings: What is wrong, the first few.
        left_out: How many more there are.
    """

    check: Check
    tool: str
    outcome: Outcome
    findings: tuple[Finding, ...]
    left_out: int


def iter_troubles(report: Report) -> Iterator[Trouble]:
    """
    Yield what failed, then what could be better, in the order of the levels.

    Args:
        report: The report.
    """
    for outcome in (Outcome.FAIL, Outcome.WARN):
        for result in report.results:
            if result.outcome is outcome:
                yield Trouble(
                    CHECKS_BY_ID[result.check],
                    plain(result.tool or "", 80),
                    outcome,
                    result.findings[:MAX_FINDINGS],
                    max(0, len(result.findings) - MAX_FINDINGS),
                )


def coverage_of(report: Report) -> str:
    """
    Return how many tools were provoked, and how many were not, in one sentence.

    Args:
        report: The report.
    """
    total = len(report.tools)
    running = sum(tool.may_run for tool in report.tools)
    if running == total:
        return f"{running} of {total} tools provoked."
    return f"{running} of {total} tools provoked; {total - running} not: they may write."


def counts_of(report: Report) -> str:
    """
    Return how many results have each outcome, in one line.

    Args:
        report: The report.
    """
    return ", ".join(f"{report.count(outcome)} {WORDS[outcome]}" for outcome in Outcome)


WORDS: Final = {
    Outcome.PASS: "passed",
    Outcome.FAIL: "failed",
    Outcome.WARN: "could be better",
    Outcome.NOT_PROVOKED: "not provoked",
}


def headline_of(report: Report) -> str:
    """
    Return the level that was reached, in words.

    Args:
        report: The report.
    """
    reached = report.reached_level
    return f"level {reached} of 5: {LEVELS[reached]}" if reached else "level 0 of 5"


def compare(reports: Sequence[Report]) -> Iterator[tuple[Check, tuple[Outcome | None, ...]]]:
    """
    Yield the outcome of each check in each of several reports about one server.

    Args:
        reports: The reports, such as one of the server alone and one behind the gateway.
    """
    for check in CHECKS:
        outcomes = tuple(_view_check(report, check).outcome for report in reports)
        if any(outcomes):
            yield check, outcomes
