"""
A report on a terminal, in a file or in a pipe, and the progress of a check.

Rule 1: there is one text; with rich it has colours, without it, or in a pipe, it has none.
Rule 2: whatever cannot be shown in the terminal's encoding is escaped, and nothing raises.
"""

from __future__ import annotations

import io
import os
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TextIO

from toolfault.check._model import LEVELS, Outcome, Report
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
    plain,
)


#: How many results are described; the other formats have more.
_MAX_TROUBLES: Final = 50

#: How wide lines are at most and at least, in characters.
_WIDEST: Final = 100
_NARROWEST: Final = 30

_MARKS: Final = {
    Outcome.PASS: "pass",
    Outcome.FAIL: "FAIL",
    Outcome.WARN: "warn",
    Outcome.NOT_PROVOKED: "-",
    None: "",
}

_STYLES: Final[Mapping[str, str]] = {
    Outcome.PASS: "green",
    Outcome.FAIL: "bold red",
    Outcome.WARN: "yellow",
    Outcome.NOT_PROVOKED: "dim",
    State.REACHED: "green",
    State.FAILED: "bold red",
}


@dataclass(frozen=True, slots=True)
class Line:
    """
    One paragraph of a report.

    Attributes:
        text: The text, not wrapped.
        style: The style that rich shows it in; "" for none.
        head: What stands before it on its first line; the others are indented by as much.
    """

    text: str = ""
    style: str = ""
    head: str = ""


def iter_lines(reports: Sequence[Report]) -> Iterator[Line]:
    """
    Yield the paragraphs of reports, from the headline to the totals.

    Args:
        reports: The reports; with several a table compares them at the end.
    """
    for report in reports:
        yield from _section(report)
    if len(reports) > 1:
        yield from _comparison(reports)


def _section(report: Report) -> Iterator[Line]:
    style = "bold green" if report.reached_level >= report.asked_level else "bold red"
    yield Line(f"{plain(report.server, 200)}: {headline_of(report)}", style)
    yield Line(f"{plain(report.target)} (MCP {plain(report.protocol, 100)})", "dim")
    yield Line()
    for level in levels_of(report):
        yield from _level(level)
    troubles = list(iter_troubles(report))
    for trouble in troubles[:_MAX_TROUBLES]:
        yield Line()
        yield from _trouble(trouble)
    if len(troubles) > _MAX_TROUBLES:
        yield Line()
        yield Line(f"... and {len(troubles) - _MAX_TROUBLES} more; --html or --json has all.")
    yield Line()
    for sentence in report.assumptions:
        yield Line(plain(sentence), head="assumed: ")
    yield Line(coverage_of(report))
    yield Line(f"{counts_of(report)}; {report.seconds:.1f} s")
    yield Line()


def _level(level: LevelView) -> Iterator[Line]:
    name = f"{level.number} {level.name}" if level.number in LEVELS else level.name
    state = level.state.value if level.number in LEVELS else ""
    yield Line(f"{name:<20} {state}".rstrip(), _STYLES.get(level.state, ""))
    for outcome in (Outcome.FAIL, Outcome.WARN, Outcome.NOT_PROVOKED):
        names = [view.check.id for view in level.checks if view.outcome is outcome]
        if names:
            yield Line(", ".join(names), _STYLES[outcome], f"  {_SAID[outcome]}: ")


_SAID: Final = {
    Outcome.FAIL: "failed",
    Outcome.WARN: "could be better",
    Outcome.NOT_PROVOKED: "not provoked",
}


def _trouble(trouble: Trouble) -> Iterator[Line]:
    check = trouble.check
    where = f" {trouble.tool}" if trouble.tool else ""
    yield Line(f"{_MARKS[trouble.outcome]} {check.id}{where}", _STYLES[trouble.outcome])
    for finding in trouble.findings:
        yield Line(f"{plain(finding.fault)} ({plain(finding.provocation, 100)})", head="  ")
        yield Line(plain(finding.sent, 300), "dim", "    sent: ")
        yield Line(plain(finding.received, 300) or "nothing", "dim", "    came: ")
    if trouble.left_out:
        yield Line(f"and {trouble.left_out} more like it", head="  ")
    yield Line(check.why, head="  why:  ")
    yield Line(check.cure, head="  mend: ")


def _comparison(reports: Sequence[Report]) -> Iterator[Line]:
    yield Line("Side by side", "bold")
    for place, report in enumerate(reports, 1):
        yield Line(plain(report.target), head=f"  {place}: ")
    for check, outcomes in compare(reports):
        cells = "  ".join(f"{_MARKS[outcome]:<5}" for outcome in outcomes)
        style = "green" if outcomes[0] is Outcome.FAIL and outcomes[-1] is Outcome.PASS else ""
        yield Line(f"  {check.id:<16} {cells}".rstrip(), style)
    levels = "  ".join(f"{report.reached_level:<5}" for report in reports)
    yield Line(f"  {'level':<16} {levels}".rstrip(), "bold")


# ---- writing


def write_report(
    reports: Sequence[Report], stream: TextIO, environment: Mapping[str, str] | None = None
) -> None:
    """
    Write reports as text, in colours where the stream is a terminal and rich is installed.

    Args:
        reports: The reports.
        stream: Where to.
        environment: The environment variables. None: those of this process.
    """
    known = os.environ if environment is None else environment
    _escape_unknown(stream)
    width = _width(known)
    painter = _painter(stream, known)
    for line in iter_lines(reports):
        for part in _wrap(line, width):
            painter.write(part, line.style)


def _escape_unknown(stream: object) -> None:
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


def _width(environment: Mapping[str, str]) -> int:
    given = environment.get("COLUMNS", "")
    columns = int(given) if given.isdecimal() and given.isascii() else 0
    columns = columns or shutil.get_terminal_size((_WIDEST, 24)).columns
    return min(max(columns, _NARROWEST), _WIDEST)


def _wrap(line: Line, width: int) -> list[str]:
    indent = " " * len(line.head)
    wrapped = textwrap.wrap(
        line.text,
        width,
        initial_indent=line.head,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    return wrapped or [""]


class _Plain:
    """
    Writes lines without styles.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, style: str) -> None:
        del style
        self._stream.write(f"{text}\n")


class _Rich:
    """
    Writes lines in the styles of rich.
    """

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console  # noqa: PLC0415 -- an extra

        self._console = Console(file=stream, highlight=False, markup=False, emoji=False)

    def write(self, text: str, style: str) -> None:
        self._console.print(text, style=style or None, soft_wrap=True)


def _painter(stream: TextIO, environment: Mapping[str, str]) -> _Plain | _Rich:
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb" or not is_terminal(stream):
        return _Plain(stream)
    try:
        return _Rich(stream)
    except ImportError:
        return _Plain(stream)


def is_terminal(stream: TextIO) -> bool:
    """
    Tell whether a stream is a terminal; one that is closed is not.

    Args:
        stream: The stream.
    """
    try:
        return stream.isatty()
    except (OSError, ValueError):
        return False


class ProgressLine:
    """
    One line that says what a check is doing; silent where nobody watches, as in CI.

    Args:
        stream: The terminal, such as standard error.
        environment: The environment variables.
    """

    def __init__(self, stream: TextIO, environment: Mapping[str, str]) -> None:
        """
        Decide whether anybody watches.
        """
        self._stream = stream
        self._width = _width(environment) - 1
        self._shows = is_terminal(stream) and not environment.get("CI")

    def __call__(self, what: str, done: int, total: int) -> None:
        """
        Show what is being done.

        Args:
            what: The provocation, or another step.
            done: How many provocations were sent.
            total: How many will be.
        """
        if not self._shows:
            return
        counted = f"[{done}/{total}] " if total else ""
        text = f"{counted}{plain(what, 200)}".encode("ascii", "replace").decode()
        self._stream.write(f"\r{text[: self._width]:<{self._width}}")
        self._stream.flush()

    def close(self) -> None:
        """
        Remove the line.
        """
        if self._shows:
            self._stream.write(f"\r{' ' * self._width}\r")
            self._stream.flush()
