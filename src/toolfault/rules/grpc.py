"""
What a gRPC answer means by its status and its details, and the exceptions of grpc itself.

The meanings of the statuses alone stand in `toolfault._meanings.grpc`.

The details of a status are written by the service, so they are looked at and never shown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

from toolfault._meanings.grpc import STATUS, TOO_LARGE, USED_UP, row_for, status_named
from toolfault._meanings.limits import is_used_up, names_window
from toolfault._meanings.rows import UPSTREAM, bug, never_again, permanent, timeout
from toolfault._retry_after import duration_seconds
from toolfault._verdict import Rule, Verdict, replace
from toolfault.rules._helpers import str_attr


# The library's own words where a message exceeds its limit.
_too_large = re.compile(
    r"(?:received|sent|trying to send) message larger than max", re.IGNORECASE
).search
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
    Return the verdict on a gRPC status.

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
    name = status_named(status)
    row = row_for(name)
    if name == "RESOURCE_EXHAUSTED":
        row = _row_of_limit(row, text[:_TEXT], quota[:_TEXT], delay)
    if not again:
        row = never_again(row)
    return replace(
        row,
        retry_after_seconds=delay if row.retryable else None,
        peer=peer,
        note=name if name in STATUS else "an unknown status",
        quote=quote,
    )


def _row_of_limit(row: Verdict, text: str, quota: str, delay: int | None) -> Verdict:
    if _too_large(text):
        return TOO_LARGE
    if is_used_up(text.lower(), delay):
        return USED_UP
    # A quota that names no short window is one of a day or more.
    if quota and delay is None and not names_window(quota.lower()):
        return USED_UP
    return row


# ---- the details of a status


class RetryDetails(NamedTuple):
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


def read_trailers(call: object) -> RetryDetails:
    """
    Return what a call's trailing metadata say about a retry, as `RetryDetails`.
    """
    entries, metadata = dict[str, Any](), _answer(call, "trailing_metadata")
    try:
        entries.update(() if metadata is None else islice(metadata, _MAX_ENTRIES))
        details = _details(_bytes(entries.get(_DETAILS)))
        delay = _delay(_bytes(entries.get(_RETRY_INFO)))
    except Exception:  # noqa: BLE001 -- a peer's bytes, in whatever a peer's library made of them
        details, delay = RetryDetails(), None
    pushback = entries.get(_PUSHBACK)
    if pushback is not None:
        # "If the value for pushback is negative or unparseable, then it will be seen as the server
        # asking the client not to retry at all" -- gRFC A6.
        match = _pushback(pushback) if type(pushback) is str else None
        return RetryDetails(
            None if match is None else math.ceil(int(match[0]) / 1000),
            details.quota,
            again=match is not None,
        )
    return details if delay is None else details._replace(delay=delay)


def _bytes(value: object) -> bytes:
    return value if type(value) is bytes and len(value) <= _MAX_BYTES else b""


def _answer(call: object, method: str) -> Any:
    try:
        if method != "done" and _answer(call, "done") is False:
            # Until a call has ended, grpc's methods wait.
            return None
        return getattr(call, method)()
    except Exception:  # noqa: BLE001 -- the base class has none of the methods, a half-built call no state
        return None


def _details(status: bytes) -> RetryDetails:
    """
    Read the details in a google.rpc.Status: its third field, each a type's URL and a message.
    """
    told = RetryDetails()
    for detail in islice((value for number, value in _fields(status) if number == 3), _MAX_ENTRIES):
        packed = dict(_fields(detail))
        kind, value = bytes(packed.get(1, b"")), packed.get(2, b"")
        if kind.endswith(b"/google.rpc.RetryInfo"):
            told = told._replace(delay=_delay(value))
        elif kind.endswith(b"/google.rpc.QuotaFailure"):
            texts = [text for _, violation in _fields(value) for _, text in _fields(violation)]
            told = told._replace(
                quota=" ".join([told.quota, *(_decode(text) for text in texts)])[:_TEXT]
            )
    return told


def _decode(text: bytes | int) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else ""


def _delay(retry_info: bytes | int) -> int | None:
    """
    Read a google.rpc.RetryInfo, whose first field is a Duration: seconds, nanoseconds.
    """
    duration = dict(_fields(retry_info)).get(1)
    if not isinstance(duration, bytes):
        return None
    parts = dict(_fields(duration))
    return duration_seconds(parts.get(1, 0), parts.get(2, 0))


def _fields(message: bytes | int) -> Iterator[tuple[int, bytes | int]]:
    """
    Yield the numbers (int) and byte strings among the fields of a protobuf message.

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
    told, details = read_trailers(exc), _answer(exc, "details")
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
