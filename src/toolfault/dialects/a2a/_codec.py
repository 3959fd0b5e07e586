"""
From a fault to an A2A error and back, in each binding and profile.

Rule 1: the number comes from the bridge's tables; what they lose travels as a record in the first
ErrorInfo.
Rule 2: an error that came from A2A goes back as it came, unless the fault says something else by
now.
Rule 3: over HTTP and gRPC the status tells what no number does: whose credentials, which limit,
whose outage.
Rule 4: over gRPC an error is trailers, and what exceeds their room replaces the error: so it leaves
with less.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, get_args
from urllib.parse import quote

from toolfault._bridge_record import RECORD_KEY, Record, RecordStore, read_record
from toolfault._codes import McpErrorCode
from toolfault._json import as_mapping, is_array, is_int, is_mapping
from toolfault._options import one_of
from toolfault._retry_after import delay_from
from toolfault._sanitize import sanitize
from toolfault._text import CAUSE_BYTES, cut
from toolfault.dialects._bridge import DROID, Outbound, fits, image, inbound, outbound
from toolfault.dialects._tables import A2A_INTERNAL, reason_in
from toolfault.dialects.a2a._official import (
    MAX_VIOLATIONS,
    A2AError,
    FieldViolation,
    is_a2a,
    is_problem,
    is_typed,
)
from toolfault.dialects.a2a._table import CURRENT, STATUS_MEANINGS, Version, canonical, error_type
from toolfault.dialects.a2a.protocol_droid import A2aError, Variant, variant_of
from toolfault.errors import ToolFault


Binding: TypeAlias = Literal["jsonrpc", "http", "grpc"]
"""
How an error travels.
"""

Profile: TypeAlias = Literal["official", "protocol-droid"]
"""
Whose table the numbers are of. They use the same ones for different errors.
"""

#: -32603 alone would hide these; the specification names the first two, and 503 for what passes.
_STATUS: Final = {
    McpErrorCode.PERMISSION_DENIED: 403,
    McpErrorCode.QUOTA_EXCEEDED: 503,
    McpErrorCode.MCP_SERVER_UNREACHABLE: 503,
}

_INVALID_PARAMS: Final = -32602

#: What peers of gRPC take of trailers is 8 KiB; this much of it is for the status, in its three
#: forms. And of that the message, which goes twice: once percent-encoded, once within the details.
_TRAILERS: Final = 7168
_SPELLED_MESSAGE: Final = 2560
_GRPC_MESSAGE: Final = 768
#: What gRPC sends of a message as it is.
_PLAIN: Final = "".join(chr(letter) for letter in range(32, 127) if letter != ord("%"))


def encode(
    fault: ToolFault,
    *,
    binding: Binding = "jsonrpc",
    profile: Profile = "official",
    version: Version = CURRENT,
    store: RecordStore | None = None,
) -> dict[str, Any]:
    """
    Return a fault as an A2A error.

    Prefer a failed, auth-required or input-required task where a *task* failed; this is for a
    request that must be answered with an error.

    Args:
        fault: What went wrong.
        binding: ``jsonrpc``, ``http`` or ``grpc``; protocol-droid has the first alone.
        profile: Whose table the peer has.
        version: Of the official specification.
        store: Where the original stays, so that only a handle crosses the hop. None: it travels.

    Returns:
        ``jsonrpc``: the response's ``error``. ``http``: ``status``, ``headers`` and ``body``.
        ``grpc``: a ``google.rpc.Status`` in protobuf's JSON mapping, which fits into a call's
        trailers.

    Raises:
        ValueError: No such binding, profile or version, or protocol-droid with a binding that it
            does not have.
    """
    one_of("binding", binding, _WRITERS)
    one_of("version", version, get_args(Version))
    if one_of("profile", profile, get_args(Profile)) == "official":
        return _official(fault, binding, version, outbound(fault, "a2a", store=store))
    if binding != "jsonrpc":
        raise ValueError(f"protocol-droid has the binding 'jsonrpc' alone, not {binding!r}")
    out = outbound(fault, DROID, store=store)
    came = A2AError.from_jsonrpc(out.body)
    if came is not None and came.code == out.code:
        original = _as_it_came(came)
        if _says(fault, original, profile=DROID):
            return original
    variant = variant_of(out.code) or Variant.INTERNAL_ERROR
    kept = {} if out.record is None else {RECORD_KEY: out.record}
    return A2aError(variant, out.message).to_jsonrpc(**kept)


def decode(
    obj: object,
    *,
    binding: Binding = "jsonrpc",
    profile: Profile = "official",
    store: RecordStore | None = None,
) -> ToolFault | None:
    """
    Return the fault that an A2A error is.

    Args:
        obj: What `encode` returns, or what a peer sent: over ``jsonrpc`` an error or the response
            with one, over
            ``http`` also the body alone.
        binding: How it came.
        profile: Whose table the peer has. What can only be an official error is read as one.
        store: Where the originals are that went out as handles.

    Returns:
        None: it is not an error. Never raises on what a peer sent.

    Raises:
        ValueError: No such binding or profile.
    """
    one_of("binding", binding, _READERS)
    one_of("profile", profile, get_args(Profile))
    if profile == DROID and binding == "jsonrpc" and profile_of(obj) != "official":
        return _from_droid(obj, store)
    error, delay = _READERS[binding](obj)
    if error is None:
        return None
    record = (error.metadata or as_mapping(error.data)).get(RECORD_KEY)
    kept = read_record(record)
    fault = inbound(
        "a2a",
        _number(error),
        error.message or _standard_message(error),
        record=record,
        among=_original_numbers(error, kept),
        body=_canonical(error),
        version="0.3" if error.status is None and is_mapping(error.data) else "",
        reason=error.status,
        retry_after_seconds=delay,
        received=obj,
        store=store,
    )
    if error.violations:
        fault.facts.setdefault("violations", [_violation_fact(each) for each in error.violations])
    return fault


def _violation_fact(violation: FieldViolation) -> dict[str, str]:
    return {
        "field": sanitize(violation.field, CAUSE_BYTES),
        "message": sanitize(violation.description, CAUSE_BYTES),
    }


def profile_of(obj: object) -> Profile | None:
    """
    Return the profile that a JSON-RPC error proves. None: it proves none, as most errors don't.

    Typed details prove the official one. An original that we sent along proves the table by which
    its code became the number that arrived.
    """
    error = A2AError.from_jsonrpc(obj)
    if error is None:
        return None
    if is_typed(error.data):
        return "official"
    kept = read_record(as_mapping(error.data).get(RECORD_KEY))
    if kept is None or error.code is None:
        return None
    official, droid = fits(kept, "a2a", (error.code,)), fits(kept, DROID, (error.code,))
    if official == droid:
        return None
    return "official" if official else DROID


def recognise(obj: object) -> ToolFault | None:
    """
    Return the fault of an object that can only be an A2A error in some binding, or None.
    """
    body = as_mapping(obj)
    if "status" in body and "body" in body:
        return decode(body, binding="http") if _is_http_body(as_mapping(body["body"])) else None
    if is_problem(body):
        return decode(body, binding="http")
    error = as_mapping(body.get("error")) or body
    if is_a2a(error.get("data")):
        return decode(error)
    if is_a2a(error.get("details")):
        return decode(error, binding="grpc") if error is body else decode(body, binding="http")
    if read_record(as_mapping(error.get("data")).get(RECORD_KEY)) is None:
        return None
    return decode(error, profile=profile_of(error) or "official")


def _is_http_body(body: Mapping[Any, Any]) -> bool:
    return is_problem(body) or is_a2a(as_mapping(body.get("error")).get("details"))


# ---- writing


def _official(
    fault: ToolFault, binding: Binding, version: Version, out: Outbound
) -> dict[str, Any]:
    """
    Return the original in a binding, if it still says what the fault does, else the fault.
    """
    code = out.code if isinstance(out.code, int) else A2A_INTERNAL
    original = _original(out, code)
    if original is not None:
        written = _write_original(original, binding, version, fault, was_v03=out.version == "0.3")
        if written is not None and _says(fault, written, binding):
            return written
    error = original or A2AError(code=code, message="", violations=_violations(fault, code))
    error = replace(error, code=code, message=out.message)
    record = out.record
    if binding == "grpc":
        error, record = _shorten(error, record, version, fault)
    kept = {} if record is None else {RECORD_KEY: record}
    return _WRITERS[binding](
        replace(error, metadata={**(error.metadata or {}), **kept}), version, fault
    )


def _original(out: Outbound, code: int) -> A2AError | None:
    """
    Return the A2A error that a fault came from; None if it is another than the record names.
    """
    came = A2AError.from_jsonrpc(out.body)
    if came is None or came.code != code:
        return None
    return replace(came, status=reason_in(out.body, "a2a"))


def _write_original(
    came: A2AError, binding: Binding, version: Version, fault: ToolFault, *, was_v03: bool
) -> dict[str, Any] | None:
    """
    Return an original in a binding; None where the binding can't hold all of it.
    """
    if binding == "jsonrpc" and was_v03 == (version == "0.3"):
        return _as_it_came(came)
    if came.data is not None and (version == "0.3" or not is_typed(came.data)):
        return None
    written = _WRITERS[binding](came, version, fault)
    if binding == "grpc" and _room(written) < 0:
        return None
    return written


def _to_jsonrpc(error: A2AError, version: Version, _fault: ToolFault) -> dict[str, Any]:
    return error.to_jsonrpc(version)


def _to_http(error: A2AError, version: Version, fault: ToolFault) -> dict[str, Any]:
    wait = fault.envelope.retry_after_seconds
    status, body = error.to_http(version, status=_status_for(fault, error))
    return {
        "status": status,
        "headers": {} if wait is None else {"Retry-After": str(wait)},
        "body": body,
    }


def _to_grpc(error: A2AError, version: Version, fault: ToolFault) -> dict[str, Any]:
    status = _status_for(fault, error)
    return error.to_grpc(version, status=None if status is None else canonical(status))


def _shorten(
    error: A2AError, record: str | None, version: Version, fault: ToolFault
) -> tuple[A2AError, str | None]:
    """
    Return as much of an error and its record as fits into trailers.
    """
    if len(quote(error.message, safe=_PLAIN)) > _SPELLED_MESSAGE:
        error = replace(error, message=cut(error.message, _GRPC_MESSAGE))
    kept = read_record(record)
    for written in (error, A2AError(code=error.code, message=error.message, status=error.status)):
        error, room = written, _room(_to_grpc(written, version, fault))
        text = None if kept is None else kept.to_text(room)
        if text is not None or (kept is None and room >= 0):
            return error, text
    return error, None


def _room(status: Mapping[str, Any]) -> int:
    """
    Return the bytes that a status leaves of the trailers, by its JSON: protobuf is no longer.
    """
    message: str = status["message"]
    left = (_TRAILERS - len(quote(message, safe=_PLAIN))) * 3 // 4 - len(message.encode())
    return left - len(json.dumps({**status, "message": ""}, ensure_ascii=False).encode())


_WRITERS: Final[Mapping[str, Callable[[A2AError, Version, ToolFault], dict[str, Any]]]] = {
    "jsonrpc": _to_jsonrpc,
    "http": _to_http,
    "grpc": _to_grpc,
}


def _status_for(fault: ToolFault, error: A2AError) -> int | None:
    if error.code != A2A_INTERNAL:
        return None
    told = STATUS_MEANINGS.get(error.status or "")
    return _STATUS.get(fault.envelope.code) if told is None else told.http


def _says(
    fault: ToolFault,
    written: Mapping[str, Any],
    binding: Binding = "jsonrpc",
    profile: Profile = "official",
) -> bool:
    # Without the store: to look is not to keep.
    read = decode(written, binding=binding, profile=profile)
    return read is not None and read.envelope == fault.envelope


def _violations(fault: ToolFault, code: int) -> tuple[FieldViolation, ...]:
    given: Any = fault.facts.get("violations")
    if code != _INVALID_PARAMS or not is_array(given):
        return ()
    violations: list[FieldViolation] = []
    for item in map(as_mapping, given[:MAX_VIOLATIONS]):
        field, message = item.get("field"), item.get("message")
        if isinstance(field, str) and isinstance(message, str):
            violations.append(FieldViolation(field, message))
    return tuple(violations)


# ---- reading


def _read_jsonrpc(obj: object) -> tuple[A2AError | None, int | None]:
    return A2AError.from_jsonrpc(obj), None


def _read_http(obj: object) -> tuple[A2AError | None, int | None]:
    answer = as_mapping(obj)
    if "body" in answer:
        status, body = answer.get("status"), answer["body"]
        delay = delay_from(answer.get("headers"))
    else:
        status = as_mapping(answer.get("error")).get("code", answer.get("status"))
        body, delay = obj, None
    if not is_int(status) or not 400 <= status <= 599:
        return None, None
    return A2AError.from_http(status, body), delay


def _read_grpc(obj: object) -> tuple[A2AError | None, int | None]:
    return A2AError.from_grpc(obj), None


_READERS: Final[Mapping[str, Callable[[object], tuple[A2AError | None, int | None]]]] = {
    "jsonrpc": _read_jsonrpc,
    "http": _read_http,
    "grpc": _read_grpc,
}


def _original_numbers(error: A2AError, kept: Record | None) -> tuple[int | str, ...]:
    """
    Return the original's number that -32603 stands for, where the binding has no other word.
    """
    if error.code != A2A_INTERNAL or kept is None:
        return ()
    number = image(kept, "a2a")
    row = error_type(number)
    return (number,) if row is None or row.v03 is None else ()


def _canonical(error: A2AError) -> dict[str, Any]:
    """
    Return the error as JSON-RPC has it, which is the form in which an original is kept.
    """
    if error.status is None:
        return _as_it_came(error)
    body = error.to_jsonrpc()
    if error.code == A2A_INTERNAL and error.status in STATUS_MEANINGS:
        # What the number does not tell; `reason_in` reads it.
        body["status"] = error.status
    return body


def _as_it_came(error: A2AError) -> dict[str, Any]:
    body: dict[str, Any] = {"code": _number(error), "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return body


def _number(error: A2AError) -> int | str:
    return A2A_INTERNAL if error.code is None else error.code


def _standard_message(error: A2AError) -> str:
    if error.code == A2A_INTERNAL and error.status in STATUS_MEANINGS:
        return STATUS_MEANINGS[error.status].message
    return "" if error.type is None else error.type.message


def _from_droid(obj: object, store: RecordStore | None) -> ToolFault | None:
    error = A2AError.from_jsonrpc(obj)
    if error is None:
        return None
    told = A2aError.from_jsonrpc(_canonical(error))
    return inbound(
        DROID,
        _number(error),
        # The fixed message says less than the reason that the data carry.
        (told.detail if told is not None else "") or error.message,
        record=as_mapping(error.data).get(RECORD_KEY),
        body=_canonical(error),
        received=obj,
        store=store,
    )
