"""
What the operator reads of a failure.

A host's own records vanish when the guard answers, so the guard logs: an anticipated failure at
INFO in one line, a crash at ERROR with its traceback once per class, place and minute, each repeat
in one line. Every record carries the id that stands in ``_meta``. Lines and tracebacks are
redacted, since logs travel further than one thinks.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from toolfault._judge.case import Call, Judgement
from toolfault._judge.deliberate import raised_at
from toolfault._names import qualified_name
from toolfault._redact import Redactor
from toolfault._text import one_line
from toolfault._tracebacks import shown_traceback


#: How long a traceback is not repeated, in seconds.
QUIET_SECONDS: Final = 60.0

#: How many places are remembered; the oldest is forgotten first, so that memory stays flat.
PLACES: Final = 512

#: How much of a tool's name, and of the reason for a verdict, is logged, in bytes.
_MAX_NAME: Final = 128
_MAX_REASON: Final = 400

_log = logging.getLogger("toolfault")


class Reporter:
    """
    Writes the records; remembers which tracebacks it has shown.

    Args:
        clock: Seconds on a clock that never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Make a reporter that has shown nothing yet.
        """
        self._clock = clock
        self._shown: OrderedDict[tuple[str, object], float] = OrderedDict()
        self._lock = threading.Lock()

    def report(
        self, exc: BaseException, call: Call, judgement: Judgement, redactor: Redactor
    ) -> None:
        """
        Log one failure; never raises.
        """
        if not _log.isEnabledFor(logging.ERROR if judgement.crash else logging.INFO):
            return
        tool = one_line(redactor.scrub(call.tool, _MAX_NAME))
        try:
            if judgement.crash:
                self._crash(exc, tool, judgement, redactor)
            else:
                _log.info("Tool %r failed: %s", tool, _line(judgement, redactor))
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 -- whatever a hostile exception does to its own attributes
            _log.error(
                "Tool %r failed, and the report of it too: %s",
                tool,
                judgement.fault.facts.get("id"),
            )

    def _crash(
        self, exc: BaseException, tool: str, judgement: Judgement, redactor: Redactor
    ) -> None:
        leaf, line = judgement.leaf, _line(judgement, redactor)
        if not self._is_news((qualified_name(type(leaf)), raised_at(leaf))):
            _log.error("Tool %r crashed again: %s", tool, line)
            return
        # In the text, since some handlers render ``exc_info`` themselves, with the secrets in it.
        _log.error("Tool %r crashed: %s\n%s", tool, line, shown_traceback(exc, redactor))

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


def _line(judgement: Judgement, redactor: Redactor) -> str:
    fault = judgement.fault
    # It names classes and places, and those may be made at run time.
    reason = redactor.scrub(judgement.reason, _MAX_REASON)
    return one_line(f"{fault.code} [{fault.facts.get('id')}] {fault.envelope.message} ({reason})")
