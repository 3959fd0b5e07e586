"""
What the operator reads of a failure.

The host's own records vanish when the guard answers, so the guard logs each failure once, on the
logger ``toolfault``: an anticipated failure at INFO in one line, a crash at ERROR. Messages, and
the tracebacks that formatters print, are redacted, since logs travel far. ``exc_info`` holds the
exception, by which error trackers group; text formatters print a redacted traceback in its place,
once per class, place and minute.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

from toolfault._judge.case import Case, Disclosure, Finding, Phase
from toolfault._judge.deliberate import raise_site
from toolfault._logging import log
from toolfault._names import qualified_name
from toolfault._text import one_line, text_of
from toolfault._tracebacks import is_cheap_to_format, redact_traceback
from toolfault.errors import ToolFault


LogTracebacks: TypeAlias = Literal["full", "redacted"]
"""
What a crash's record holds: the exception as ``exc_info``, or only the redacted text of it.
"""

#: How long a traceback is not repeated, in seconds.
QUIET_SECONDS: Final = 60.0

#: How many places are remembered; the oldest is forgotten first, so that memory stays flat.
PLACES: Final = 512

#: How much is logged of a tool's name, of the reason for a verdict and of an exception's own text,
#: in bytes.
_MAX_NAME: Final = 128
_MAX_REASON: Final = 400
_MAX_ORIGINAL: Final = 2048

#: Phases in which an exception is about the arguments, and the class that quotes them in any phase.
_BEFORE_BODY: Final[frozenset[Phase]] = frozenset({"lookup", "arguments"})
_QUOTES_ARGUMENTS: Final = "pydantic_core._pydantic_core.ValidationError"

_SHOWN_BEFORE: Final = "  (its traceback was logged less than a minute ago)"


class Reporter:
    """
    Writes the records; remembers which tracebacks it has shown.

    Args:
        clock: Seconds on a clock that never goes back.
        tracebacks: What a crash's record holds.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, tracebacks: LogTracebacks = "full"
    ) -> None:
        """
        Create a reporter that has shown nothing yet.
        """
        self._clock = clock
        self._holds_exceptions = tracebacks == "full"
        self._shown: OrderedDict[tuple[str, object], float] = OrderedDict()
        self._lock = threading.Lock()

    def report(self, case: Case, exc: BaseException, finding: Finding, fault: ToolFault) -> None:
        """
        Log one failure; never raises.

        Args:
            case: The call that failed.
            exc: What was raised.
            finding: What it means.
            fault: What is answered.
        """
        level = logging.ERROR if finding.crash else logging.INFO
        if not log.is_enabled_for(level):
            return
        try:
            tool = one_line(_scrub(case, case.call.tool, _MAX_NAME))
            original = _original(case, finding.leaf, fault)
            line = _line(case, finding, fault, original)
            extra = {
                "tool": tool,
                "code": fault.code._value_,
                "id": fault.facts.get("id"),
                "origin": fault.facts.get("origin"),
                "original": original,
            }
            if finding.crash:
                self._report_crash(case, exc, finding.leaf, (tool, line), extra)
            else:
                log.write(level, "Tool %r failed: %s", (tool, line), extra=extra)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 -- a hostile exception may raise anything from its own attributes
            tool = one_line(_scrub(case, case.call.tool, _MAX_NAME))
            failure_id = fault.facts.get("id")
            log.error("Tool %r failed, and so did the report of it: %s", tool, failure_id)

    def _report_crash(
        self,
        case: Case,
        exc: BaseException,
        leaf: BaseException,
        args: tuple[str, str],
        extra: dict[str, Any],
    ) -> None:
        template, text = "Tool %r crashed again: %s", _SHOWN_BEFORE
        if self._is_news((qualified_name(type(leaf)), raise_site(leaf))):
            template = "Tool %r crashed: %s"
            text = redact_traceback(exc, case.policy.redactor)
        # Whoever formats exc_info reads attributes that a hostile class overrides, without a bound.
        held = exc if self._holds_exceptions and is_cheap_to_format(exc) else None
        log.write(logging.ERROR, template, args, exc=held, text=text, extra=extra)

    def _is_news(self, place: tuple[str, object]) -> bool:
        now = self._clock()
        with self._lock:
            last = self._shown.get(place)
            if last is not None and now - last < QUIET_SECONDS:
                return False
            self._shown[place] = now
            self._shown.move_to_end(place)
            if len(self._shown) > PLACES:
                self._shown.popitem(last=False)
            return True


def _scrub(case: Case, text: str, limit: int) -> str:
    return case.policy.redactor.scrub(text, limit, secrets=case.secrets)


def _original(case: Case, exc: BaseException, fault: ToolFault) -> str:
    """
    Return the class and the redacted text of an exception on one line.

    The text is left out where it quotes arguments: a secret cut in the middle is not recognized.
    """
    kind = qualified_name(type(exc))
    name = kind.rpartition(".")[2]
    if case.call.phase in _BEFORE_BODY or kind == _QUOTES_ARGUMENTS:
        return one_line(_scrub(case, name, _MAX_ORIGINAL))
    text = text_of(exc)
    if text == fault.envelope.message and case.policy.disclosure is not Disclosure.FULL:
        # It was redacted already, and had nothing to remove.
        return one_line(f"{_scrub(case, name, _MAX_NAME)}: {text}")
    return one_line(_scrub(case, f"{name}: {text}" if text else name, _MAX_ORIGINAL))


def _line(case: Case, finding: Finding, fault: ToolFault, original: str) -> str:
    # It names classes and places, which may be made at run time.
    reason = _scrub(case, finding.reason, _MAX_REASON)
    line = one_line(f"{fault.code} [{fault.facts.get('id')}] {fault.envelope.message} ({reason})")
    text = original.partition(": ")[2]
    if text in line:
        return line
    return f"{line} <- {original}"
