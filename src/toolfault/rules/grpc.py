"""
What a gRPC status means, by name, for every package that speaks gRPC; and the exceptions of grpc
itself.

The details of a status are written by the service, so they are looked at and never shown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._meanings.rows import (
    LATER,
    UPSTREAM,
    bug,
    never_again,
    outage,
    permanent,
    refused_values,
    timeout,
)
from toolfault._retry_after import MAX_DELAY_SECONDS
from toolfault._verdict import Rule, Verdict
from toolfault.rules._helpers import str_attr


_callers: Final = partial(refused_values, origin="upstream")
_service: Final = partial(permanent, family="http", origin="upstream")
_outage: Final = partial(outage, family="http", origin="upstream")


def _row(
    code: McpErrorCode,
    category: McpErrorCategory,
    sentence: str,
    advice: str,
    *,
    retryable: bool = False,
) -> Verdict:
    return Verdict(
        code=code,
        category=category,
        retryable=retryable,
        sentence=sentence,
        peer=UPSTREAM,
        advice=advice,
        family="http",
        origin="upstream",
    )


#: The canonical statuses in the order of their numbers, so that ``list(STATUS)[14]`` is
#: UNAVAILABLE.
STATUS: Final[dict[str, Verdict]] = {
    "OK": _service("{peer} reported success as a failure"),
    "CANCELLED": _service("The call to {peer} was cancelled"),
    "UNKNOWN": _service("{peer} failed"),
    "INVALID_ARGUMENT": _callers("{peer} refused the values of the call"),
    "DEADLINE_EXCEEDED": _row(
        McpErrorCode.TOOL_TIMEOUT,
        McpErrorCategory.TRANSIENT,
        "{peer} did not answer in time, and whether the call was carried out is unknown",
        LATER,
        retryable=True,
    ),
    "NOT_FOUND": _callers("{peer} found nothing, or does not show it"),
    "ALREADY_EXISTS": _callers("What was to be made exists at {peer} already"),
    "PERMISSION_DENIED": _row(
        McpErrorCode.PERMISSION_DENIED,
        McpErrorCategory.AUTH,
        "{peer} does not allow this",
        "Other rights are needed.",
    ),
    "RESOURCE_EXHAUSTED": _row(
        McpErrorCode.QUOTA_EXCEEDED,
        McpErrorCategory.TRANSIENT,
        "A limit of {peer} is reached",
        LATER,
        retryable=True,
    ),
    "FAILED_PRECONDITION": _callers(
        "{peer} refused the call in the present state",
        advice="Look at the present state, then call differently.",
    ),
    "ABORTED": _outage("{peer} gave the call up because of another one"),
    "OUT_OF_RANGE": _callers("A value of the call is out of range for {peer}"),
    "UNIMPLEMENTED": _service("{peer} can't do what was asked"),
    "INTERNAL": _service("{peer} failed"),
    "UNAVAILABLE": _outage("{peer} is unavailable"),
    "DATA_LOSS": _service("{peer} lost data"),
    "UNAUTHENTICATED": replace(
        _row(
            McpErrorCode.PERMISSION_DENIED,
            McpErrorCategory.AUTH,
            "{peer} did not accept the credentials",
            "They are missing, wrong or expired.",
        ),
        refuses_credentials=True,
    ),
}

_NAMES: Final = tuple(STATUS)

_USED_UP: Final = _row(
    McpErrorCode.QUOTA_EXCEEDED,
    McpErrorCategory.PERMANENT,
    "A quota of {peer} is used up",
    "More has to be bought or granted.",
)

# The library's own words where a message exceeds its limit; and those of quotas that no short wait
# refills.
_too_large = re.compile(
    r"(?:received|sent|trying to send) message larger than max", re.IGNORECASE
).search
_period = re.compile(r"\b(?:daily|monthly|billing)\b|per[_ ]?(?:day|month)", re.IGNORECASE).search
_moment = re.compile(r"per[_ ]?(?:\d{1,4}[_ ]?)?(?:second|minute|hour)", re.IGNORECASE).search

#: How much of a text is looked at.
_TEXT: Final = 2048


def verdict_for(
    status: str | int,
    *,
    text: str = "",
    delay: int | None = None,
    quota: str = "",
    again: bool = True,
    quote: str | None = None,
    peer: str = UPSTREAM,
) -> Verdict:
    """
    Return what a gRPC status means.

    Args:
        status: Its name or its number.
        text: The details that came with it; looked at, never shown.
        delay: Seconds that the upstream asks to wait (``RetryInfo``).
        quota: The quotas that it says are used up (``QuotaFailure``); looked at, never shown.
        again: False: it asks not to be called again.
        quote: What of its details may be quoted to callers, if a guard's ``upstream_text`` asks for
            it.
        peer: Who answered, as the subject of a sentence.
    """
    name = (
        _NAMES[status]
        if isinstance(status, int) and 0 <= status < len(_NAMES)
        else str(status).upper()
    )
    row = STATUS.get(name) or STATUS["UNKNOWN"]
    if name == "RESOURCE_EXHAUSTED":
        if _too_large(text[:_TEXT]):
            row = _callers(
                "A message is too large for {peer}", advice="Ask for less, or send less."
            )
        elif delay is None and (_period(text[:_TEXT]) or (quota and not _moment(quota[:_TEXT]))):
            row = _USED_UP
    if not again:
        row = never_again(row)
    return replace(
        row,
        retry_after_seconds=delay if row.retryable else None,
        peer=peer,
        note=name if name in STATUS else "an unknown status",
        quote=quote,
    )


# ---- what stands beside a status


class Told(NamedTuple):
    """
    What the trailing metadata of a call say of another try.

    Attributes:
        delay:
            Seconds to wait, rounded up.

        quota:
            The quotas that are used up.

        again:
            Whether to try again; a server may push back.
    """

    delay: int | None = None
    quota: str = ""
    again: bool = True


#: The entries of trailing metadata in which a wait, a RetryInfo, or a Status with details stands.
_PUSHBACK: Final = "grpc-retry-pushback-ms"
_RETRY_INFO: Final = "google.rpc.retryinfo-bin"
_DETAILS: Final = "grpc-status-details-bin"

#: How many entries and details are looked at, and how long one may be.
_MAX_ENTRIES: Final = 64
_MAX_BYTES: Final = 16384

_pushback = re.compile(r"[0-9]{1,9}").fullmatch


def told_by(call: object) -> Told:
    """
    Return what an ended call's trailing metadata say of another try; it is an error, or what came
    with one.
    """
    entries, metadata = dict[str, Any](), _answer(call, "trailing_metadata")
    try:
        entries.update(() if metadata is None else islice(metadata, _MAX_ENTRIES))
        details = _details(_bytes(entries.get(_DETAILS)))
        delay = _delay(_bytes(entries.get(_RETRY_INFO)))
    except Exception:  # noqa: BLE001 -- a peer's bytes, in whatever a peer's library made of them
        details, delay = Told(), None
    pushback = entries.get(_PUSHBACK)
    if pushback is not None:
        # "If the value for pushback is negative or unparseable, then it will be seen as the server
        # asking the client not to retry at all" -- gRFC A6.
        match = _pushback(pushback) if type(pushback) is str else None
        return Told(
            None if match is None else math.ceil(int(match[0]) / 1000),
            details.quota,
            again=match is not None,
        )
    return details if delay is None else details._replace(delay=delay)


def _bytes(value: object) -> bytes:
    return value if type(value) is bytes and len(value) <= _MAX_BYTES else b""


def _answer(call: object, method: str) -> Any:
    try:
        # Of a call that has not ended, grpc's methods wait until it has.
        return (
            None if method != "done" and _answer(call, "done") is False else getattr(call, method)()
        )
    except Exception:  # noqa: BLE001 -- the base class has none of the methods, a half-built call no state
        return None


def _details(status: bytes) -> Told:
    """
    Read a google.rpc.Status, whose third field holds the details, each an Any: a type's URL, a
    message.
    """
    told = Told()
    for detail in islice((value for number, value in _fields(status) if number == 3), _MAX_ENTRIES):
        packed = dict(_fields(detail))
        kind, value = bytes(packed.get(1, b"")), packed.get(2, b"")
        if kind.endswith(b"/google.rpc.RetryInfo"):
            told = told._replace(delay=_delay(value))
        elif kind.endswith(b"/google.rpc.QuotaFailure"):
            texts = [text for _, violation in _fields(value) for _, text in _fields(violation)]
            told = told._replace(
                quota=" ".join([told.quota, *(_shown(text) for text in texts)])[:_TEXT]
            )
    return told


def _shown(text: bytes | int) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else ""


def _delay(retry_info: bytes | int) -> int | None:
    """
    Read a google.rpc.RetryInfo, whose first field is a Duration: seconds, nanoseconds.
    """
    duration = dict(_fields(retry_info)).get(1)
    if not isinstance(duration, bytes):
        return None
    parts = dict(_fields(duration))
    return whole_seconds(parts.get(1, 0), parts.get(2, 0))


def whole_seconds(count: object, nanos: object) -> int | None:
    """
    Return a protobuf Duration in seconds, rounded up; None: it is no sound wait.
    """
    if type(count) is not int or type(nanos) is not int or not 0 <= nanos < 10**9:
        return None
    total = count + (nanos > 0)
    return total if 0 <= total <= MAX_DELAY_SECONDS else None


def _fields(message: bytes | int) -> Iterator[tuple[int, bytes | int]]:
    """
    Go through the fields of a protobuf message: numbers as int, what has a length as bytes, others
    left out.

    Raises:
        IndexError: The message ends in the middle of a field.
        ValueError: It is no message.
    """
    if isinstance(message, int):
        raise ValueError("a number is no message")
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind, number = key & 7, key >> 3
        if kind == 0:
            value, at = _varint(message, at)
            yield number, value
        elif kind == 2:
            length, at = _varint(message, at)
            if length > len(message) - at:
                raise IndexError("the field is cut off")
            yield number, message[at : at + length]
            at += length
        elif kind in {1, 5}:
            at += 8 if kind == 1 else 4
        else:
            raise ValueError("a kind of field that nobody writes")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(10):
        byte = message[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError("a number of more than 64 bits")


# ---- grpc


def status_name(code: object) -> str | None:
    """
    Return the name of a ``grpc.StatusCode``.
    """
    return str_attr(code, "name")


def _rpc(exc: BaseException) -> Verdict:
    """
    Judge by its gRPC status: the table above.
    """
    told, details = told_by(exc), _answer(exc, "details")
    text = details if type(details) is str else ""
    return verdict_for(
        status_name(_answer(exc, "code")) or "UNKNOWN",
        text=text,
        delay=told.delay,
        quota=told.quota,
        again=told.again,
        quote=text or None,
    )


_permanent: Final = partial(permanent, origin="upstream")


_MISUSED: Final = bug("The tool used a gRPC call in a state that does not allow it")

RULES: Final[dict[str, Rule]] = {
    # The base class; what is raised are private classes below it, which have a status.
    "grpc.RpcError": _rpc,
    "grpc.FutureCancelledError": _permanent("The call to {peer} was cancelled"),
    "grpc.FutureTimeoutError": timeout(
        "{peer} could not be reached, or did not answer, in time", origin="upstream"
    ),
    "grpc._cython.cygrpc.BaseError": _permanent("The call to {peer} failed"),
    "grpc._cython.cygrpc.UsageError": _MISUSED,
    "grpc.experimental.UsageError": _MISUSED,
}

IGNORED: Final = frozenset({"grpc.experimental.ExperimentalApiWarning"})
