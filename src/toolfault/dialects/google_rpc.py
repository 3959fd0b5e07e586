"""
``google.rpc.Status``: a failure as gRPC services and Google's HTTP APIs send it.

Rule 1: the status comes from the bridge's tables; only an internal failure that may pass is
UNAVAILABLE instead of INTERNAL, which stock clients repeat.
Rule 2: an ErrorInfo stands first. Its metadata hold the envelope, and what it does not say as a
record; RetryInfo and BadRequest tell stock clients the wait and the refused fields.
Rule 3: a status that came from elsewhere goes back as it came, unless the fault says otherwise by
now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, Literal, TypeAlias

from toolfault._bridge_record import RECORD_KEY, RecordStore
from toolfault._json import as_mapping, is_array, is_int, is_mapping, is_text
from toolfault._meanings.grpc import STATUS
from toolfault._meanings.rows import UPSTREAM
from toolfault._options import one_of
from toolfault._retry_after import delay_from, wait_in_json
from toolfault._sanitize import sanitize
from toolfault._text import CAUSE_BYTES, encodable
from toolfault.dialects._bridge import inbound, outbound
from toolfault.errors import ToolFault


__all__ = ["DOMAIN", "decode", "encode", "recognise"]

Binding: TypeAlias = Literal["grpc", "http"]
"""
``grpc``: the message itself, in protobuf's JSON mapping. ``http``: an answer with it as ``error``.
"""

DOMAIN: Final = "toolfault.github.io"
"""
The domain of the ErrorInfo that `encode` writes; its reason is the code in capitals.
"""

_TYPE: Final = "type.googleapis.com/google.rpc."
_INTERNAL: Final = 13
_UNAVAILABLE: Final = 14

#: The statuses in the order of their numbers, and the HTTP status of each (google/rpc/code.proto).
_NAMES: Final = tuple(STATUS)
_HTTP: Final = (200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401)

#: How many details, and refused fields in them, are read.
_MAX_DETAILS: Final = 64
_MAX_FIELDS: Final = 32


def encode(
    fault: ToolFault, *, binding: Binding = "grpc", store: RecordStore | None = None
) -> dict[str, Any]:
    """
    Return a fault as a ``google.rpc.Status``.

    Args:
        fault: What went wrong.
        binding: ``grpc``: the message for ``json_format.ParseDict``. ``http``: an answer with
            ``status``, ``headers`` and ``body``.
        store: Where the record stays, so that only a handle crosses the hop. None: it travels.

    Raises:
        ValueError: There is no such binding.
    """
    one_of("binding", binding, ("grpc", "http"))
    out = outbound(fault, "grpc", store=store)
    status: dict[str, Any] = dict(out.body or {})
    if not status or not _says(fault, status):
        status = _write(fault, int(out.code), out.message, out.record)
    return status if binding == "grpc" else _to_http(status, fault.envelope.retry_after_seconds)


def _says(fault: ToolFault, status: Mapping[str, Any]) -> bool:
    read = decode(status)
    return read is not None and read.envelope == fault.envelope


def _write(fault: ToolFault, code: int, message: str, record: str | None) -> dict[str, Any]:
    envelope = fault.envelope
    if code == _INTERNAL and envelope.retryable:
        code = _UNAVAILABLE
    metadata = {"category": envelope.category.value, "retryable": str(envelope.retryable).lower()}
    if envelope.hint:
        metadata["hint"] = encodable(envelope.hint)
    if record is not None:
        metadata[RECORD_KEY] = record
    reason = envelope.code.value.upper()
    details: list[dict[str, Any]] = [
        {"@type": f"{_TYPE}ErrorInfo", "reason": reason, "domain": DOMAIN, "metadata": metadata}
    ]
    if envelope.retry_after_seconds is not None:
        delay = f"{envelope.retry_after_seconds}s"
        details.append({"@type": f"{_TYPE}RetryInfo", "retryDelay": delay})
    if fields := list(_fields_of(fault)):
        details.append({"@type": f"{_TYPE}BadRequest", "fieldViolations": fields})
    return {"code": code, "message": message, "details": details}


def _fields_of(fault: ToolFault) -> Iterator[dict[str, str]]:
    given: Any = fault.facts.get("violations")
    for item in given[:_MAX_FIELDS] if is_array(given) else ():
        violation = as_mapping(item)
        field, message = violation.get("field"), violation.get("message")
        if is_text(field) and is_text(message):
            yield {"field": encodable(field), "description": encodable(message)}


def _to_http(status: Mapping[str, Any], wait: int | None) -> dict[str, Any]:
    code = int(status["code"])
    name = _NAMES[code]
    body = {"error": {**status, "code": _HTTP[code], "status": name}}
    headers = {} if wait is None else {"Retry-After": str(wait)}
    return {"status": _HTTP[code], "headers": headers, "body": body}


# ---- reading


def decode(obj: object, *, store: RecordStore | None = None) -> ToolFault | None:
    """
    Return the fault of a ``google.rpc.Status``, or None. Never raises on a peer's values.

    Args:
        obj: The message in protobuf's JSON mapping, the body of an HTTP answer with ``error``, or
            such an answer with ``status``, ``headers`` and ``body``.
        store: Where the originals are that went out as handles.
    """
    answer = as_mapping(obj)
    body = as_mapping(answer.get("body")) or answer
    error = as_mapping(body.get("error")) or body
    code = _code_of(error)
    if code is None:
        return None
    details = [as_mapping(item) for item in _details(error)]
    metadata = _metadata(details)
    delay = delay_from(answer.get("headers")) if body is not answer else None
    message = error.get("message")
    fault = inbound(
        "grpc",
        code,
        message if is_text(message) and message.strip() else _sentence(code),
        record=metadata.get(RECORD_KEY),
        among=(_INTERNAL,) if code == _UNAVAILABLE else (),
        body=_status(error, code),
        hint=metadata.get("hint"),
        retry_after_seconds=delay if delay is not None else wait_in_json(details),
        received=obj,
        store=store,
    )
    if fields := list(islice(_violations(details), _MAX_FIELDS)):
        fault.facts.setdefault("violations", fields)
    return fault


def recognise(obj: object) -> ToolFault | None:
    """
    Return the fault of an object that can only be a ``google.rpc.Status``, or None.
    """
    answer = as_mapping(obj)
    body = as_mapping(answer.get("body")) or answer
    details = _details(as_mapping(body.get("error")) or body)
    kinds = [as_mapping(item).get("@type") for item in details]
    if not any(is_text(kind) and kind.startswith(_TYPE) for kind in kinds):
        return None
    return decode(obj)


def _details(error: Mapping[Any, Any]) -> list[Any]:
    details = error.get("details")
    return list(details[:_MAX_DETAILS]) if is_array(details) else []


def _is_kind(detail: Mapping[Any, Any], name: str) -> bool:
    kind = detail.get("@type")
    return is_text(kind) and kind == f"{_TYPE}{name}"


def _metadata(details: list[Mapping[Any, Any]]) -> Mapping[Any, Any]:
    for detail in details:
        if _is_kind(detail, "ErrorInfo"):
            return as_mapping(detail.get("metadata"))
    return {}


def _code_of(error: Mapping[Any, Any]) -> int | None:
    """
    Return the number of a status: by its name where an HTTP body has one, else the number itself.
    """
    name = error.get("status")
    if is_text(name) and name in _NAMES:
        return _NAMES.index(name) or None
    code = error.get("code")
    if not is_int(code) or not 0 < code < len(_NAMES):
        return None
    return code


def _sentence(code: int) -> str:
    return (list(STATUS.values())[code].sentence or "").format(peer=UPSTREAM)


def _status(error: Mapping[Any, Any], code: int) -> dict[str, Any]:
    """
    Return the status as gRPC has it, which is the form in which an original is kept.
    """
    return {**{str(name): value for name, value in error.items() if name != "status"}, "code": code}


def _violations(details: list[Mapping[Any, Any]]) -> Iterator[dict[str, str]]:
    for detail in details:
        violations = detail.get("fieldViolations")
        if not _is_kind(detail, "BadRequest") or not is_array(violations):
            continue
        for item in violations[:_MAX_FIELDS]:
            field, text = as_mapping(item).get("field"), as_mapping(item).get("description")
            if is_mapping(item) and is_text(field) and is_text(text):
                yield {
                    "field": sanitize(field, CAUSE_BYTES),
                    "message": sanitize(text, CAUSE_BYTES),
                }
