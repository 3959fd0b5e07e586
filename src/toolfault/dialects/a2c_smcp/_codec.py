"""
A fault as A2C-SMCP carries it, and back.

Rule 1: what a tool did is said in a tool result, never in an acknowledgement, where 4001 to 4005
read as a success.
Rule 2: what its receiver would not take for a failure in an acknowledgement goes out as a tool
result too.
Rule 3: what came from A2C-SMCP goes back as it came. 4008 goes nowhere but into a handshake.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from toolfault._bridge_record import RECORD_KEY, Record, RecordStore, read_record
from toolfault._json import is_mapping
from toolfault.dialects._bridge import Outbound, inbound, outbound
from toolfault.dialects.a2c_smcp._agent import agent_view
from toolfault.dialects.a2c_smcp._codes import READ, WRITTEN, ErrorCode, Protocol, ack_codes
from toolfault.dialects.a2c_smcp._payload import (
    ErrorPayload,
    InvalidPayload,
    is_protocol_error_payload,
)
from toolfault.dialects.a2c_smcp._tool_result import (
    MARKERS,
    ToolFailure,
    meta_of,
    read_tool_result,
    respell,
    texts_of,
    write_tool_result,
)
from toolfault.errors import ToolFault


#: The two shapes, as the profile of a record names them.
_ACK: Final = "ack"
_TOOL_RESULT: Final = "tool_result"

#: What a tool result without a marker may stand for.
_UNMARKED: Final = frozenset(int(code) for code in ErrorCode) - MARKERS.keys()


def encode(
    fault: ToolFault,
    *,
    protocol: Protocol = WRITTEN,
    carrier: Literal["auto", "tool_result"] = "auto",
    store: RecordStore | None = None,
) -> dict[str, Any]:
    """
    Return the answer to a ``client:*`` request.

    What the codes alone lose travels in a record: in the ``details`` of a payload, or in the
    ``meta`` of a tool result.

    Args:
        fault: What went wrong.
        protocol: The version that the receiver speaks.
        carrier: ``auto``: an `ErrorPayload` where the receiver takes the code for a failure, else a
            tool result.
            ``tool_result``: that in any case, as ``client:tool_call`` is answered.
        store: Where the record stays; what travels is its handle. For a receiver that is not
            trusted.

    Returns:
        A new object of JSON values.

    Raises:
        ValueError: There is no such version.
    """
    sendable = ack_codes(protocol) if carrier == "auto" else frozenset[int]()
    out = outbound(fault, "a2c", store=store)
    if (original := _as_it_came(out, fault, protocol, sendable, store)) is not None:
        return original
    code = int(out.code)
    if code in sendable:
        payload = ErrorPayload.new(code, out.message)
        return (
            payload if out.record is None else payload.with_detail(RECORD_KEY, out.record)
        ).to_wire()
    record = {} if out.record is None else {RECORD_KEY: out.record}
    return write_tool_result(out.message, code, protocol=protocol, meta=record)


def decode(
    obj: object, *, protocol: Protocol = READ, store: RecordStore | None = None
) -> ToolFault | None:
    """
    Return the failure that an answer to a ``client:*`` request is. None: it is a success.

    Never raises on what a peer sent. Details stay in ``received``; no text of the fault shows them.

    Args:
        obj: A payload or a tool result as JSON, or an `ErrorPayload`, which is a failure whatever
            its code.
        protocol: The version that the sender speaks; the newest knows the codes of all others.
        store: Where records stay.

    Raises:
        ValueError: There is no such version.
    """
    if isinstance(obj, ErrorPayload):
        return _decode_payload(obj.to_wire(), protocol, store)
    if is_protocol_error_payload(obj, protocol) and is_mapping(obj):
        return _decode_payload(obj, protocol, store)
    if is_mapping(obj) and (failure := read_tool_result(obj)) is not None:
        return _decode_tool_result(obj, failure, protocol, store)
    return None


VALUES: Final = (ErrorPayload,)
"""
The classes whose instances are failures by themselves.
"""


def recognise(obj: object) -> ToolFault | None:
    """
    Return the fault of an object that may be A2C-SMCP's, or None; `toolfault.parse` asks it.
    """
    return decode(obj)


def nest_in_details(payload: ErrorPayload) -> ErrorPayload:
    """
    Return a payload that is kept whole in its details, since peers drop unknown members.

    One that is larger than a record may be is returned as it is.
    """
    record = Record(system="a2c", code=payload.code, profile=_ACK, body=payload.to_wire()).to_text()
    kept = read_record(record)
    return payload if kept is None or kept.body is None else payload.with_detail(RECORD_KEY, record)


def restore_from_details(payload: ErrorPayload) -> ErrorPayload:
    """
    Return the payload kept whole in the details if code and message are the same, else itself.
    """
    kept = read_record(agent_view(payload).details.get(RECORD_KEY))
    try:
        original = ErrorPayload.from_wire(None if kept is None else kept.body)
    except InvalidPayload:
        return payload
    same = (original.code, original.message) == (payload.code, payload.message)
    return original if same else payload


def _decode_payload(
    body: Mapping[Any, Any], protocol: Protocol, store: RecordStore | None
) -> ToolFault:
    view = agent_view(body)
    return inbound(
        "a2c",
        view.code,
        body.get("message"),
        record=view.details.get(RECORD_KEY),
        body=body,
        profile=_ACK,
        version=protocol,
        reason=view.reason,
        received=body,
        store=store,
    )


def _decode_tool_result(
    body: Mapping[Any, Any], failure: ToolFailure, protocol: Protocol, store: RecordStore | None
) -> ToolFault:
    record = meta_of(body).get(RECORD_KEY)
    marked = failure.code in MARKERS
    return inbound(
        "a2c",
        int(ErrorCode.TOOL_EXECUTION_FAILED if failure.code is None else failure.code),
        next(iter(texts_of(body)), ""),
        record=record,
        among=() if marked else _UNMARKED | _codes_without_marker(record),
        body=body,
        profile=_TOOL_RESULT,
        version=protocol,
        hint=failure.auth_hint.message if failure.auth_hint else None,
        found_in="meta" if marked or failure.code is None else "prose",
        received=body,
        store=store,
    )


def _codes_without_marker(record: object) -> set[int]:
    # A number that nobody knows has no marker either.
    kept = read_record(record)
    if kept is None or not isinstance(kept.code, int) or kept.code in MARKERS:
        return set()
    return {kept.code}


def _as_it_came(
    out: Outbound,
    fault: ToolFault,
    protocol: Protocol,
    sendable: frozenset[int],
    store: RecordStore | None,
) -> dict[str, Any] | None:
    """
    Return the original body, if the receiver reads it and the fault is still what it says.
    """
    if out.body is None:
        return None
    body = dict(out.body)
    # A record is a claim: what the body is decides how it may leave, not what the record calls it.
    if "code" in body:
        try:
            body = ErrorPayload.from_wire(body).for_protocol(protocol).to_wire()
        except InvalidPayload:
            return None
        if body["code"] != out.code or out.code not in sendable:
            return None
        if body.keys() & {"content", "isError"}:
            return None
    else:
        body = respell(body, protocol)
    again = decode(body, protocol=protocol, store=store)
    return body if again is not None and again.envelope == fault.envelope else None
