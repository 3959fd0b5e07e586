"""
Known findings, so that CI fails on new ones only, and on entries that are no longer true.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from toolfault._json import is_array, is_mapping
from toolfault._version import __version__
from toolfault.check._model import (
    CHECKS_BY_ID,
    CheckResult,
    ExitCode,
    Finding,
    Outcome,
    Report,
)


_FIELDS: Final = ("check", "tool", "provocation")


class BaselineError(Exception):
    """
    A baseline that can't be used; the text names the cure.
    """


class Known(NamedTuple):
    """
    One known finding.

    Attributes:
        check: The check's id.
        tool: The tool; None: it concerns the server.
        provocation: The provocation's id.
    """

    check: str
    tool: str | None
    provocation: str

    def __str__(self) -> str:
        """
        Return the finding in words.
        """
        where = f" of {self.tool}" if self.tool else ""
        return f"{self.check}{where}, {self.provocation}"


@dataclass(frozen=True, slots=True)
class Compared:
    """
    A report, and what is new in it.

    Attributes:
        report: The whole report, with its true level.
        rest: The same for what passes or fails a build: a result whose failures are all known
            could be better.
        new: The failures that are not known.
        known: How many failures are.
        stale: The entries that are no longer true: the check was provoked, and did not fail so.
        exit_code: The exit code.
    """

    report: Report
    rest: Report
    new: tuple[Known, ...]
    known: int
    stale: tuple[Known, ...]
    exit_code: ExitCode


def read_baseline(file: str) -> frozenset[Known]:
    """
    Return the known findings of a file.

    Args:
        file: Its name.

    Raises:
        BaselineError: It can't be read, or is not a baseline.
    """
    try:
        value: Any = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as exc:
        raise BaselineError(
            f"can't read {file!r}: {exc.strerror}; --update-baseline writes it"
        ) from None
    except (ValueError, RecursionError) as exc:
        raise BaselineError(f"{file!r} is not valid JSON: {exc}") from None
    entries = value.get("known") if is_mapping(value) else None
    if not is_array(entries):
        raise BaselineError(f"{file!r} is not a baseline: it has no array 'known'")
    return frozenset(_read_entry(file, place, entry) for place, entry in enumerate(entries))


def _read_entry(file: str, place: int, entry: Any) -> Known:
    given = cast("dict[str, Any]", entry) if is_mapping(entry) else {}
    check, tool, provocation = (given.get(name) for name in _FIELDS)
    is_valid = isinstance(check, str) and isinstance(provocation, str)
    if not is_valid or not isinstance(tool, str | None) or set(given) - {*_FIELDS}:
        raise BaselineError(
            f"entry {place} of {file!r} must have the members check, tool and provocation alone"
        )
    if check not in CHECKS_BY_ID:
        raise BaselineError(f"entry {place} of {file!r}: there is no check {check!r}")
    return Known(str(check), tool, str(provocation))


def write_baseline(file: str, reports: Sequence[Report]) -> int:
    """
    Write all failures of reports into a file as known; return how many there are.

    Args:
        file: Its name.
        reports: The reports.

    Raises:
        BaselineError: It can't be written.
    """
    found = sorted(
        {known for report in reports for known, _ in _iter_failures(report)},
        key=lambda known: (known.check, known.tool or "", known.provocation),
    )
    entries = [dict(zip(_FIELDS, known, strict=True)) for known in found]
    text = json.dumps({"toolfault": __version__, "known": entries}, indent=2) + "\n"
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as exc:
        raise BaselineError(f"can't write {file!r}: {exc.strerror}") from None
    return len(found)


def _iter_failures(report: Report) -> Iterator[tuple[Known, Finding]]:
    for result in report.results:
        if result.outcome is Outcome.FAIL:
            for finding in result.findings:
                yield Known(result.check, result.tool, finding.provocation), finding


def compare_with(report: Report, baseline: frozenset[Known]) -> Compared:
    """
    Compare a report with known findings.

    Args:
        report: The report.
        baseline: The known findings.
    """
    found = {known for known, _ in _iter_failures(report)}
    results = tuple(_without_known(result, baseline) for result in report.results)
    rest = replace(report, results=results)
    provoked = {
        (result.check, result.tool)
        for result in report.results
        if result.outcome is not Outcome.NOT_PROVOKED
    }
    # What could not be provoked this time says nothing about its entries.
    gone = {known for known in baseline - found if (known.check, known.tool) in provoked}
    return Compared(
        report,
        rest,
        tuple(sorted(found - baseline, key=str)),
        len(found & baseline),
        tuple(sorted(gone, key=str)),
        _exit_code(rest, has_stale=bool(gone)),
    )


def _without_known(result: CheckResult, baseline: frozenset[Known]) -> CheckResult:
    """
    Return a result as one that could be better if all of its failures are known.
    """
    if result.outcome is not Outcome.FAIL or not result.findings:
        return result
    new = tuple(
        finding
        for finding in result.findings
        if Known(result.check, result.tool, finding.provocation) not in baseline
    )
    if new:
        return replace(result, findings=new)
    return replace(result, outcome=Outcome.WARN)


def _exit_code(report: Report, *, has_stale: bool) -> ExitCode:
    if has_stale and report.exit_code is ExitCode.CLEAN:
        return ExitCode.FINDINGS
    return report.exit_code
