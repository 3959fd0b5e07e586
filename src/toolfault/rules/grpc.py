"""
What a gRPC status means, by name; for the tables of the packages that speak gRPC.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._verdict import Verdict
from toolfault.rules._parts import LATER, NO_USE, seconds


class Row(NamedTuple):
    """
    What one status means; as `toolfault.rules.http.Row`.
    """

    code: McpErrorCode
    category: McpErrorCategory
    retryable: bool
    sentence: str
    advice: str = NO_USE
    forwarded: bool = False
    credentials: bool = False


def _callers(sentence: str, advice: str = "Check the arguments.") -> Row:
    return Row(McpErrorCode.INVALID_ARGUMENTS, McpErrorCategory.VALIDATION, False, sentence, advice, forwarded=True)


def _service(sentence: str) -> Row:
    return Row(McpErrorCode.INTERNAL, McpErrorCategory.PERMANENT, False, sentence)


def _outage(sentence: str) -> Row:
    return Row(McpErrorCode.INTERNAL, McpErrorCategory.TRANSIENT, True, sentence, LATER)


#: The canonical statuses in the order of their numbers, so that ``list(STATUS)[14]`` is UNAVAILABLE.
STATUS: Final[dict[str, Row]] = {
    "OK": _service("{peer} reported success as a failure ({grpc})"),
    "CANCELLED": _service("The call to {peer} was cancelled ({grpc})"),
    "UNKNOWN": _service("{peer} failed ({grpc})"),
    "INVALID_ARGUMENT": _callers("{peer} refused the values of the call ({grpc})"),
    "DEADLINE_EXCEEDED": Row(
        McpErrorCode.TOOL_TIMEOUT,
        McpErrorCategory.TRANSIENT,
        True,
        "{peer} did not answer in time, and whether the call was carried out is unknown ({grpc})",
        LATER,
    ),
    "NOT_FOUND": _callers("{peer} found nothing, or does not show it ({grpc})"),
    "ALREADY_EXISTS": _callers("What was to be made exists at {peer} already ({grpc})"),
    "PERMISSION_DENIED": Row(
        McpErrorCode.PERMISSION_DENIED,
        McpErrorCategory.AUTH,
        False,
        "{peer} does not allow this ({grpc})",
        "Other rights are needed.",
    ),
    "RESOURCE_EXHAUSTED": Row(
        McpErrorCode.QUOTA_EXCEEDED, McpErrorCategory.TRANSIENT, True, "A limit of {peer} is reached ({grpc})", LATER
    ),
    "FAILED_PRECONDITION": _callers(
        "{peer} refused the call in the present state ({grpc})", "Look at the present state, then call differently."
    ),
    "ABORTED": _outage("{peer} gave the call up because of another one ({grpc})"),
    "OUT_OF_RANGE": _callers("A value of the call is out of range for {peer} ({grpc})"),
    "UNIMPLEMENTED": _service("{peer} can't do what was asked ({grpc})"),
    "INTERNAL": _service("{peer} failed ({grpc})"),
    "UNAVAILABLE": _outage("{peer} is unavailable ({grpc})"),
    "DATA_LOSS": _service("{peer} lost data ({grpc})"),
    "UNAUTHENTICATED": Row(
        McpErrorCode.PERMISSION_DENIED,
        McpErrorCategory.AUTH,
        False,
        "{peer} did not accept the credentials ({grpc})",
        "They are missing, wrong or expired.",
        credentials=True,
    ),
}

_NAMES: Final = tuple(STATUS)

_USED_UP: Final = Row(
    McpErrorCode.QUOTA_EXCEEDED,
    McpErrorCategory.PERMANENT,
    False,
    "A quota of {peer} is used up ({grpc})",
    "More has to be bought or granted.",
)

# The library's own words where a message exceeds its limit; and those of quotas that no short wait refills.
_too_large = re.compile(r"(?:received|sent|trying to send) message larger than max", re.IGNORECASE).search
_period = re.compile(r"\b(?:daily|monthly|per[_ ]day|per[_ ]month|billing)\b", re.IGNORECASE).search

#: How much of a text is looked at.
_TEXT: Final = 2048


def verdict_for(
    status: str | int, *, text: str = "", delay: int | None = None, peer: str = "The upstream API"
) -> Verdict:
    """
    Return what a gRPC status means.

    Args:
        status: Its name or its number.
        text: The details that came with it; looked at, never shown.
        delay: Seconds that the upstream asks to wait (``RetryInfo``).
        peer: Who answered, as the subject of a sentence.
    """
    name = _NAMES[status] if isinstance(status, int) and 0 <= status < len(_NAMES) else str(status).upper()
    row = STATUS.get(name) or STATUS["UNKNOWN"]
    if name == "RESOURCE_EXHAUSTED":
        if _too_large(text[:_TEXT]):
            row = _callers("A message is too large for {peer} ({grpc})", "Ask for less, or send less.")
        elif delay is None and _period(text[:_TEXT]):
            row = _USED_UP
    wait = delay if row.retryable else None
    shown = peer if row.sentence.startswith("{peer}") or not peer.startswith("The ") else f"the {peer[4:]}"
    said = row.sentence.format(peer=shown, grpc=name if name in STATUS else "an unknown status")
    advice = row.advice if wait is None else f"Retry after {seconds(wait)}." if wait else "Retry now."
    return Verdict(
        code=row.code,
        category=row.category,
        retryable=row.retryable,
        retry_after_seconds=wait,
        message=f"{said}. {advice}",
        family="http",
        origin="upstream",
        credentials=row.credentials,
        forwarded=row.forwarded,
    )
