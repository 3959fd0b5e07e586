"""
RFC 9457, ``application/problem+json``: a failure as the body of an HTTP answer of a REST façade.

Rule 1: the status comes from the bridge's tables; only an internal failure that may pass is 503
instead of 500, which stock clients repeat.
Rule 2: the envelope stands in extension members, and what it does not say travels as a record.
Rule 3: a problem that came from elsewhere goes back as it came, unless the fault says otherwise by
now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from toolfault._bridge_record import RECORD_KEY, RecordStore
from toolfault._codes import MEANINGS
from toolfault._json import as_mapping, is_array, is_int, is_mapping, is_text
from toolfault._meanings.http import STATUS
from toolfault._retry_after import delay_from, wait_in_json
from toolfault._sanitize import sanitize
from toolfault._text import CAUSE_BYTES, encodable
from toolfault.dialects._bridge import inbound, outbound
from toolfault.errors import ToolFault


__all__ = ["MEDIA_TYPE", "TYPE", "decode", "encode", "recognise"]

MEDIA_TYPE: Final = "application/problem+json"
"""
The media type of the body.
"""

TYPE: Final = "https://toolfault.github.io/codes/"
"""
The beginning of the types that `encode` writes; the code follows.
"""

_INTERNAL: Final = 500
_UNAVAILABLE: Final = 503

#: How many refused fields of a problem are read.
_MAX_FIELDS: Final = 32


def encode(fault: ToolFault, *, store: RecordStore | None = None) -> dict[str, Any]:
    """
    Return a fault as an HTTP answer: ``status``, ``headers`` and ``body``.

    Args:
        fault: What went wrong.
        store: Where the record stays, so that only a handle crosses the hop. None: it travels.
    """
    out = outbound(fault, "problem", store=store)
    envelope = fault.envelope
    if out.body is not None and _says(fault, out.body):
        return _answer(dict(out.body), envelope.retry_after_seconds)
    status = int(out.code)
    if status == _INTERNAL and envelope.retryable:
        status = _UNAVAILABLE
    members = envelope.to_wire()
    members.pop("message")
    body: dict[str, Any] = {
        "type": f"{TYPE}{envelope.code.value}",
        "title": MEANINGS[envelope.code].capitalize(),
        "status": status,
        "detail": out.message,
        **members,
    }
    if errors := [_error(item) for item in _violations(fault)]:
        body["errors"] = errors
    if out.record is not None:
        body[RECORD_KEY] = out.record
    return _answer(body, envelope.retry_after_seconds)


def _answer(body: dict[str, Any], wait: int | None) -> dict[str, Any]:
    headers = {"Content-Type": MEDIA_TYPE}
    if wait is not None:
        headers["Retry-After"] = str(wait)
    return {"status": body["status"], "headers": headers, "body": body}


def _says(fault: ToolFault, body: Mapping[str, Any]) -> bool:
    read = decode(body)
    return read is not None and read.envelope == fault.envelope


def _violations(fault: ToolFault) -> list[Mapping[Any, Any]]:
    given: Any = fault.facts.get("violations")
    items = map(as_mapping, given[:_MAX_FIELDS]) if is_array(given) else ()
    return [item for item in items if is_text(item.get("field")) and is_text(item.get("message"))]


def _error(violation: Mapping[Any, Any]) -> dict[str, str]:
    pointer = "".join(f"/{step.replace('~', '~0')}" for step in violation["field"].split("."))
    return {"pointer": f"#{pointer}", "detail": encodable(violation["message"])}


# ---- reading


def decode(
    obj: object, *, status: int | None = None, store: RecordStore | None = None
) -> ToolFault | None:
    """
    Return the fault that a problem tells of, or None. Never raises on a peer's values.

    Args:
        obj: The body as JSON, or an answer with ``status``, ``headers`` and ``body``.
        status: The status of the answer, for a body without one.
        store: Where the originals are that went out as handles.
    """
    answer = as_mapping(obj)
    body = answer
    delay = None
    if is_mapping(answer.get("body")):
        body = as_mapping(answer["body"])
        delay = delay_from(answer.get("headers"))
        status = _status_in(answer) or status
    status = status or _status_in(body)
    if status is None or not 400 <= status <= 599 or not _has_text(body):
        return None
    fields = list(_fields(body))
    fault = inbound(
        "problem",
        # What is not assigned means what the first of its class does (RFC 9110, section 15).
        status if status in STATUS else status // 100 * 100,
        _message(body, fields),
        record=body.get(RECORD_KEY),
        among=(_INTERNAL,) if status == _UNAVAILABLE else (),
        body={**body, "status": status},
        hint=body.get("hint"),
        retry_after_seconds=delay if delay is not None else wait_in_json(body),
        received=obj,
        store=store,
    )
    if fields:
        fault.facts.setdefault("violations", fields)
    return fault


def recognise(obj: object) -> ToolFault | None:
    """
    Return the fault of an object that can only be a problem, or None.
    """
    answer = as_mapping(obj)
    body = as_mapping(answer.get("body")) or answer
    if not is_text(body.get("type")) or not is_text(body.get("title")):
        return None
    return decode(obj)


def _status_in(obj: Mapping[Any, Any]) -> int | None:
    status = obj.get("status")
    return status if is_int(status) else None


def _has_text(body: Mapping[Any, Any]) -> bool:
    return any(is_text(body.get(name)) for name in ("type", "title", "detail"))


def _message(body: Mapping[Any, Any], fields: list[dict[str, str]]) -> str:
    parts = [body.get(name) for name in ("detail", "title")]
    message = next((part for part in parts if is_text(part) and part.strip()), "")
    refused = "; ".join(f"{item['field']}: {item['message']}" for item in fields)
    if not refused or is_text(body.get("detail")):
        return message
    # Where the problem says no more than that fields were refused, they are the message.
    return f"{message.rstrip(' .')}: {refused}" if message else refused


def _fields(body: Mapping[Any, Any]) -> Iterator[dict[str, str]]:
    """
    Yield the refused fields: a list of RFC 9457's example, or ASP.NET's object of lists.
    """
    errors = body.get("errors")
    for field, message in islice(_pairs(errors), _MAX_FIELDS):
        if is_text(message):
            yield {"field": sanitize(field, CAUSE_BYTES), "message": sanitize(message, CAUSE_BYTES)}


def _pairs(errors: object) -> Iterator[tuple[str, object]]:
    if is_mapping(errors):
        for field, messages in errors.items():
            if is_text(field):
                yield field, messages[0] if is_array(messages) and messages else messages
    for item in errors if is_array(errors) else ():
        error = as_mapping(item)
        yield _field_of(error), error.get("detail", error.get("message"))


def _field_of(error: Mapping[Any, Any]) -> str:
    pointer = error.get("pointer")
    if is_text(pointer):
        steps = pointer.lstrip("#").strip("/").split("/")
        return ".".join(step.replace("~1", "/").replace("~0", "~") for step in steps)
    for name in ("field", "name", "parameter", "header"):
        if is_text(error.get(name)):
            return str(error[name])
    return ""
