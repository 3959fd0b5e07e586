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
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from toolfault._judge.case import Call, Judgement, Phase
from toolfault._judge.deliberate import raise_site
from toolfault._logging import log
from toolfault._names import class_name, qualified_name
from toolfault._redact import Redactor
from toolfault._text import one_line, text_of
from toolfault._tracebacks import is_cheap_to_format, redact_traceback


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

    def report(
        self, exc: BaseException, call: Call, judgement: Judgement, redactor: Redactor
    ) -> None:
        """
        Log one failure; never raises.
        """
        level = logging.ERROR if judgement.crash else logging.INFO
        if not log.is_enabled_for(level):
            return
        # The environment is read once for all texts of the record.
        scrub = partial(redactor.scrub, secrets=redactor.known_secrets())
        tool = one_line(scrub(call.tool, _MAX_NAME))
        try:
            original = _original(judgement.leaf, call, scrub)
            line = _line(judgement, original, scrub)
            extra = _extra(tool, original, judgement)
            if judgement.crash:
                self._report_crash(exc, judgement.leaf, (tool, line), extra, redactor)
            else:
                log.write(level, "Tool %r failed: %s", (tool, line), extra=extra)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 -- a hostile exception may raise anything from its own attributes
            failure_id = judgement.fault.facts.get("id")
            log.error("Tool %r failed, and so did the report of it: %s", tool, failure_id)

    def _report_crash(
        self,
        exc: BaseException,
        leaf: BaseException,
        args: tuple[str, str],
        extra: dict[str, Any],
        redactor: Redactor,
    ) -> None:
        template, text = "Tool %r crashed again: %s", _SHOWN_BEFORE
        if self._is_news((qualified_name(type(leaf)), raise_site(leaf))):
            template, text = "Tool %r crashed: %s", redact_traceback(exc, redactor)
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


def _original(exc: BaseException, call: Call, scrub: Callable[[str, int], str]) -> str:
    """
    Return the class and the redacted text of an exception on one line.

    The text is left out where it quotes arguments: a secret cut in the middle is not recognized.
    """
    text = text_of(exc)
    kind = qualified_name(type(exc))
    if not text or call.phase in _BEFORE_BODY or kind == _QUOTES_ARGUMENTS:
        text = class_name(exc)
    else:
        text = f"{class_name(exc)}: {text}"
    return one_line(scrub(text, _MAX_ORIGINAL))


def _line(judgement: Judgement, original: str, scrub: Callable[[str, int], str]) -> str:
    fault = judgement.fault
    # It names classes and places, which may be made at run time.
    reason = scrub(judgement.reason, _MAX_REASON)
    line = one_line(f"{fault.code} [{fault.facts.get('id')}] {fault.envelope.message} ({reason})")
    text = original.partition(": ")[2]
    if text in line:
        return line
    return f"{line} <- {original}"


def _extra(tool: str, original: str, judgement: Judgement) -> dict[str, Any]:
    fault = judgement.fault
    return {
        "tool": tool,
        "code": fault.code.value,
        "id": fault.facts.get("id"),
        "origin": fault.facts.get("origin"),
        "original": original,
    }
