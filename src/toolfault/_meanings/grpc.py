"""
The meanings of gRPC statuses: one table for exceptions, structured content and prose.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._meanings.rows import (
    LATER,
    outage,
    permanent,
    status_row,
    value_refusal,
)
from toolfault._verdict import Verdict, replace


_value_refusal: Final = partial(value_refusal, origin="upstream")
_service: Final = partial(permanent, family="http", origin="upstream")
_outage: Final = partial(outage, family="http", origin="upstream")


#: The canonical statuses in the order of their numbers, so that ``list(STATUS)[14]`` is
#: UNAVAILABLE.
STATUS: Final[dict[str, Verdict]] = {
    "OK": _service("{peer} reported success as a failure"),
    "CANCELLED": _service("The call to {peer} was cancelled"),
    "UNKNOWN": _service("{peer} failed"),
    "INVALID_ARGUMENT": _value_refusal("{peer} refused the values of the call"),
    "DEADLINE_EXCEEDED": status_row(
        McpErrorCode.TOOL_TIMEOUT,
        McpErrorCategory.TRANSIENT,
        "{peer} did not answer in time, and whether the call was carried out is unknown",
        LATER,
        retryable=True,
    ),
    "NOT_FOUND": _value_refusal("{peer} found nothing, or does not show it"),
    "ALREADY_EXISTS": _value_refusal("What was to be made exists at {peer} already"),
    "PERMISSION_DENIED": status_row(
        McpErrorCode.PERMISSION_DENIED,
        McpErrorCategory.AUTH,
        "{peer} does not allow this",
        "Other rights are needed.",
    ),
    "RESOURCE_EXHAUSTED": status_row(
        McpErrorCode.QUOTA_EXCEEDED,
        McpErrorCategory.TRANSIENT,
        "A limit of {peer} is reached",
        LATER,
        retryable=True,
    ),
    "FAILED_PRECONDITION": _value_refusal(
        "{peer} refused the call in the present state",
        advice="Look at the present state, then call differently.",
    ),
    "ABORTED": _outage("{peer} gave the call up because of another one"),
    "OUT_OF_RANGE": _value_refusal("A value of the call is out of range for {peer}"),
    "UNIMPLEMENTED": _service("{peer} can't do what was asked"),
    "INTERNAL": _service("{peer} failed"),
    "UNAVAILABLE": _outage("{peer} is unavailable"),
    "DATA_LOSS": _service("{peer} lost data"),
    "UNAUTHENTICATED": replace(
        status_row(
            McpErrorCode.PERMISSION_DENIED,
            McpErrorCategory.AUTH,
            "{peer} did not accept the credentials",
            "They are missing, wrong or expired.",
        ),
        refuses_credentials=True,
    ),
}

USED_UP: Final = status_row(
    McpErrorCode.QUOTA_EXCEEDED,
    McpErrorCategory.PERMANENT,
    "A quota of {peer} is used up",
    "More has to be bought or granted.",
)
TOO_LARGE: Final = _value_refusal(
    "A message is too large for {peer}", advice="Ask for less, or send less."
)

_NAMES: Final = tuple(STATUS)


def status_named(status: str | int) -> str:
    """
    Return the name of a status that is given by name, as ``StatusCode.NAME`` or by number.
    """
    if isinstance(status, int) and 0 <= status < len(_NAMES):
        return _NAMES[status]
    return str(status).upper().removeprefix("STATUSCODE.")


def row_for(status: str | int) -> Verdict:
    """
    Return the row of a status by itself; an unknown one is UNKNOWN.
    """
    return STATUS.get(status_named(status)) or STATUS["UNKNOWN"]


#: Statuses that only say that something failed; a text beside them may say more.
VAGUE: Final = frozenset({"OK", "UNKNOWN", "INTERNAL"})

_BY_LETTERS: Final = {name.replace("_", "").lower(): name for name in STATUS}


def read_status(name: str) -> Verdict:
    """
    Return the row of a status that a text or an object reports, without our sentence.

    The name may be spelled as Python, Go or Node do.
    """
    row = row_for(_BY_LETTERS.get(name.replace("_", "").lower(), name))
    return replace(row, sentence=None, peer=None, advice="")
