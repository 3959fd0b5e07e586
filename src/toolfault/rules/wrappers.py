"""
Exceptions that only say that others happened: what retry libraries raise when they give up.

stamina has none of its own; it raises the last attempt's.
"""

from __future__ import annotations

from typing import Any, Final

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._meanings.rows import LATER
from toolfault._verdict import Rule, Verdict
from toolfault.rules._helpers import attr


def _gave_up(exc: BaseException) -> Verdict:
    return Verdict(
        code=McpErrorCode.INTERNAL,
        category=McpErrorCategory.TRANSIENT,
        retryable=True,
        sentence="The tool tried several times and gave up",
        advice=LATER,
        judge_instead=_last_error(exc) or exc.__cause__,
    )


def _last_error(exc: BaseException) -> BaseException | None:
    last: Any = attr(exc, "last_attempt")
    try:
        # tenacity's is a future: without the timeout one that is not done would wait forever.
        found = last.exception(timeout=0)
    except Exception:  # noqa: BLE001 -- no future, not done, or cancelled
        # retrying's holds (kind, exception, traceback).
        value = attr(last, "value")
        found = value[1] if issubclass(type(value), tuple) and len(value) > 1 else None
    return found if isinstance(found, BaseException) and found is not exc else None


RULES: Final[dict[str, Rule]] = {
    "tenacity.RetryError": _gave_up,
    "retrying.RetryError": _gave_up,
}

#: tenacity's own control flow, which never leaves it.
IGNORED: Final = frozenset({"tenacity.TryAgain"})
