"""
Faults from whatever a peer, or its SDK, answered.

Rule 1: a flag makes a failure, words do not: without a flag it is a success, and `suspect` tells a
suspicion apart.
Rule 2: a full envelope in any place beats a weaker form in any place; prose comes last.
Rule 3: nothing that a peer sends raises, and what says error stays a failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeVar

from toolfault._codes import McpErrorCode
from toolfault._envelope import McpExecuteError
from toolfault._json import as_flag, as_mapping, first, is_text, try_json
from toolfault._names import public
from toolfault._prose.careful import looks_failed, peel
from toolfault._read.dialects import parse_dialect, parse_tool_failure
from toolfault._read.exceptions import is_exception, parse_exception
from toolfault._read.frameworks import convert_framework_answer
from toolfault._read.jsonrpc import is_rpc_error, parse_rpc_error
from toolfault._read.misuse import refuse_misuse
from toolfault._read.partial import (
    Reader,
    add_facts,
    iter_messages,
    iter_objects,
    parse_advice,
    parse_claim,
)
from toolfault._read.result import Reading, member, read
from toolfault._sanitize import (
    decode_envelope,
    envelope_for_verdict,
    http_status,
    sanitize,
)
from toolfault._text import MESSAGE_BYTES, WINDOW, pattern, safe_str
from toolfault._tracebacks import log_exception
from toolfault._verdict import Verdict
from toolfault.errors import FoundIn, ToolFault


T = TypeVar("T")

#: How deep results, tasks and JSON-RPC answers may be wrapped in one another.
_MAX_DEPTH: Final = 4

_UNREADABLE: Final = "The tool failed, and its answer could not be read."


@public
def parse(
    anything: object, *, tool: str | None = None, arguments: Mapping[str, Any] | None = None
) -> ToolFault | None:
    """
    Return the failure in an answer as an unraised `ToolFault`, or None for a success.

    Nothing that a peer sends raises.

    Args:
        anything: A result of any SDK version or as a dict, what an agent framework made of it, a
            JSON-RPC answer or error, a task, or an exception. A cancellation is no failure of the
            tool, and a text is one only if it is a flagged result or a whole envelope, or says by a
            framework's fixed words that it is an error.
        tool: The name that was called, for reading prose: a tool called ``get_quota`` has not run
            out of one.
        arguments: What it was called with, likewise.

    Raises:
        TypeError: It is no answer at all, but a coroutine, a client, a server, a function or a
            number; the message names the cure.
    """
    try:
        fault = _parse_held(anything, Reader(tool, arguments))
    except Exception:  # noqa: BLE001 -- whatever a peer sends; it is logged with its traceback
        log_exception("an answer could not be read; it counts as a failure if it says so itself")
        return _fallback(anything)
    if fault is None:
        refuse_misuse("parse", anything)
    return fault


@public
def suspect(
    result: object, *, tool: str | None = None, arguments: Mapping[str, Any] | None = None
) -> ToolFault | None:
    """
    Return the failure that an unflagged result looks like, or None if nothing says so.

    It is a suspicion, wrong for tools that read or echo text: never retry on it. Nothing that a
    peer sends raises.

    Args:
        result: As for `parse`; a text is taken as that of a result.
        tool: The name that was called.
        arguments: What it was called with.

    Raises:
        TypeError: As for `parse`.
    """
    try:
        reading = _read_unflagged(result)
        if reading is not None:
            return _suspect(reading, Reader(tool, arguments))
    except Exception:  # noqa: BLE001 -- as `parse`
        log_exception("a result could not be read; it stays a success")
        return None
    refuse_misuse("suspect", result)
    return None


@public
def raise_for_error(
    result: T, *, tool: str | None = None, arguments: Mapping[str, Any] | None = None
) -> T:
    """
    Return a result that is a success.

    Args:
        result: As for `parse`.
        tool: The name that was called.
        arguments: What it was called with.

    Raises:
        ToolFault: It is a failure.
        TypeError: As for `parse`.
    """
    fault = parse(result, tool=tool, arguments=arguments)
    if fault is None:
        return result
    if is_exception(result) and result is not fault:
        raise fault from result
    raise fault


# ---- from any form to the few that there are


def _parse_held(answer: object, reader: Reader) -> ToolFault | None:
    # Only what the caller holds is a framework's; what stands inside may be data.
    converted = None if is_exception(answer) else convert_framework_answer(answer)
    return _parse(answer if converted is None else converted, reader, _MAX_DEPTH)


#: What is no answer, but may stand in one.
_NO_ANSWERS: Final = (type(None), str, bytes, int, float, list, tuple)


def _parse(answer: object, reader: Reader, depth: int) -> ToolFault | None:
    if is_exception(answer):
        return parse_exception(answer, reader)
    if isinstance(answer, _NO_ANSWERS):
        return None
    reading = read(answer)
    if reading is not None:
        return _parse_result(reading, reader) if reading.is_error else None
    return _parse_message(answer, reader, depth) if depth else None


def _parse_message(answer: object, reader: Reader, depth: int) -> ToolFault | None:
    """
    Return the fault of what holds a result, or stands where one would; None if it is a success.
    """
    foreign = parse_dialect(answer)
    if foreign is not None:
        return foreign
    if is_rpc_error(answer):
        return None if _says_success(answer) else parse_rpc_error(answer, reader)
    for task in (answer, member(answer, "task")):
        if member(task, "taskId", "task_id") is not None:
            return _parse_task(task, reader, depth)
    return _parse_response(answer, reader, depth)


def _parse_response(answer: object, reader: Reader, depth: int) -> ToolFault | None:
    error = member(answer, "error")
    failed = _parse_error(error, reader)
    if failed is not None:
        return failed
    inner = member(answer, "result")
    if inner is not None:
        # A response with a result is a success; what has the members of an error in it is the
        # tool's data.
        return None if is_rpc_error(inner) else _parse(inner, reader, depth - 1)
    if error is not None and member(answer, "jsonrpc") is not None:
        return _parse_prose(_text_alone(error), reader, McpErrorCode.UNKNOWN, received=answer)
    return _parse_http(answer, reader) or _parse_envelope(answer)


def _parse_error(error: object, reader: Reader) -> ToolFault | None:
    """
    Return the fault of what a response has as its error, or None if it claims no failure.
    """
    if is_rpc_error(error):
        return parse_rpc_error(error, reader)
    return parse_claim(as_mapping(error), "jsonrpc_error", reader, received=error)


def _parse_envelope(answer: object) -> ToolFault | None:
    envelope = decode_envelope(answer)
    if envelope is None:
        return None
    return ToolFault.of(envelope, found_in="structured_content", received=answer)


def _text_alone(value: object) -> list[str]:
    return [value] if is_text(value) else []


def _parse_http(answer: object, reader: Reader) -> ToolFault | None:
    """
    Return the fault of an HTTP answer with a failed status and an error in its body, else None.
    """
    status = http_status(member(answer, "status"))
    body = as_mapping(member(answer, "body"))
    if status is None or member(body, "error") is None:
        return None
    return parse_claim({**body, "status": status}, "prose", reader, received=answer)


#: A whole message by which an answer says that it is not an error.
_SUCCESS: Final = r"(?i)\W{0,8}(?:ok|okay|success|successful|succeeded|done)\W{0,8}\Z"


def _says_success(error: object) -> bool:
    # ``{"code": 0, "message": "success"}``, as many HTTP APIs answer, has the members of an error.
    code: int = member(error, "code")
    if 200 <= code < 300:
        return True
    return code >= 0 and pattern(_SUCCESS).match(member(error, "message")) is not None


def _parse_task(task: object, reader: Reader, depth: int) -> ToolFault | None:
    # A completed task may hold a failed result; a failed one holds the error that ended it, in one
    # of two places.
    inner = member(task, "result")
    if inner is not None:
        return _parse(inner, reader, depth - 1)
    status = member(task, "status")
    if is_text(status) and status != "failed":
        return None
    error = member(task, "error")
    if is_rpc_error(error):
        return parse_rpc_error(error, reader)
    if not is_text(status):
        return _parse_response(task, reader, depth)
    message = member(task, "statusMessage", "status_message")
    return _parse_prose(_text_alone(message), reader, McpErrorCode.INTERNAL, received=task)


# ---- results


def _parse_result(reading: Reading, reader: Reader) -> ToolFault:
    fault = _parse_parts(reading, reader)
    return add_facts(fault, reading.ours) if reading.meta else fault


def _parse_parts(reading: Reading, reader: Reader) -> ToolFault:
    bodies: list[tuple[FoundIn, Any]] = []
    for place, body in chain(reading.bodies(), _bodies_behind_prefixes(reading)):
        fault = _parse_whole(place, body, reading)
        if fault is not None:
            return fault
        bodies.append((place, body))
    return (
        _parse_meta(reading)
        or first(_parse_weaker(place, body, reading, reader) for place, body in bodies)
        or _parse_texts(reading, reader)
    )


def _parse_whole(place: FoundIn, body: Any, reading: Reading) -> ToolFault | None:
    """
    Return the fault of a body that holds a whole failure, or None.
    """
    if place == "tool_failure":
        return parse_tool_failure(body, reading.texts, found_in=place, received=body)
    for candidate in iter_objects(body):
        envelope = decode_envelope(candidate, lambda: reading.texts)
        if envelope is not None:
            return ToolFault.of(envelope, found_in=place, received=candidate)
    return None


def _parse_weaker(place: FoundIn, body: Any, reading: Reading, reader: Reader) -> ToolFault | None:
    """
    Return the fault of a body in another vocabulary, or that claims a failure, or None.
    """
    if place == "tool_failure":
        return None
    foreign = parse_dialect(as_mapping(body))
    if foreign is not None:
        foreign.found_in = place
        return foreign
    return _parse_claims(place, body, reading.texts, reader)


def _parse_claims(
    place: FoundIn, body: Any, texts: Sequence[str], reader: Reader
) -> ToolFault | None:
    """
    Return the fault of the first among a body's objects that claims a failure, or None.
    """
    return first(
        parse_claim(candidate, place, reader, received=candidate, texts=texts)
        for candidate in iter_objects(body)
    )


def _parse_texts(reading: Reading, reader: Reader) -> ToolFault:
    """
    Return the fault that the texts of a result describe, or the messages in it if it has no text.
    """
    otherwise = McpErrorCode.UNKNOWN if reading.blank else McpErrorCode.INTERNAL
    others = (reading.structured, reading.ours.get("error"))
    texts = reading.texts or chain.from_iterable(map(iter_messages, others))
    return _parse_prose(texts, reader, otherwise)


def _parse_meta(reading: Reading) -> ToolFault | None:
    """
    Return the fault of another vocabulary that marks its results in ``_meta``, or None.
    """
    if not reading.meta:
        return None
    blocks = [{"type": "text", "text": text} for text in reading.texts]
    return parse_dialect({"isError": True, "content": blocks, "_meta": reading.meta})


def _bodies_behind_prefixes(reading: Reading) -> Iterator[tuple[FoundIn, Any]]:
    """
    Yield the JSON behind an SDK's words in texts, and behind others a whole envelope or an error.
    """
    for text in reading.texts:
        start = text[:WINDOW].find("{")
        body = _body_from(text, start) if start > 0 else None
        if body is not None:
            yield "text", body


def _body_from(text: str, start: int) -> Any:
    body = try_json(peel(text))
    if body is not None:
        return body
    body = try_json(text[start:])
    return body if any(map(_is_failure, iter_objects(body))) else None


def _is_failure(obj: Mapping[Any, Any]) -> bool:
    # A JSON-RPC error in a gateway's text says so by its version.
    return obj.get("jsonrpc") == "2.0" or decode_envelope(obj) is not None


# ---- suspicions


def _read_unflagged(result: object) -> Reading | None:
    converted = convert_framework_answer(result)
    # A framework may have nothing left but the text.
    if converted is None and is_text(result):
        converted = {"content": result}
    return read(converted or result)


def _suspect(reading: Reading, reader: Reader) -> ToolFault | None:
    if reading.is_error:
        return None
    written: Sequence[str] = reading.texts
    if not written and reading.structured is not None:
        # The SDKs write structured content into a text as well; this server did not.
        written = [safe_str(reading.structured)]
    texts = [text for text in written if looks_failed(text)]
    if not texts:
        return None
    claims = (_parse_claims("text", try_json(text), texts, reader) for text in texts)
    return first(claims) or _parse_prose(texts, reader, McpErrorCode.INTERNAL)


# ---- what could not be read


def _fallback(answer: object) -> ToolFault | None:
    """
    Return a failure for an answer that could not be read but says error; None if it does not.
    """
    if not _says_error(answer):
        return None
    envelope = McpExecuteError.new(McpErrorCode.UNKNOWN, _UNREADABLE)
    return ToolFault.of(envelope, found_in="exception")


def _says_error(answer: object) -> bool:
    """
    Tell whether an answer, or the result in it, says by a flag or a member that it is a failure.
    """
    try:
        answer = convert_framework_answer(answer) or answer
    except Exception:  # noqa: BLE001 -- a stranger's object; what it says itself still counts
        log_exception("the form of an answer could not be read")
    for _ in range(_MAX_DEPTH):
        # By its real class: the object may lie about it.
        if is_exception(answer):
            return issubclass(type(answer), Exception)
        if is_text(answer):
            answer = try_json(answer)
        if _has_error(answer):
            return True
        answer = member(answer, "result", "task")
    return False


def _has_error(answer: object) -> bool:
    """
    Tell whether an answer has a flag, an error, the members of an error or a failed status.
    """
    if as_flag(member(answer, "isError", "is_error")) is True:
        return True
    if member(answer, "error") is not None:
        return True
    if is_rpc_error(answer):
        return not _says_success(answer)
    statuses = (member(answer, name) for name in _STATUS_NAMES)
    return any(map(_is_failed_status, statuses))


_STATUS_NAMES: Final = ("status", "statusCode", "status_code")


def _is_failed_status(status: object) -> bool:
    # An object may lie about being a text, and raise where it is compared.
    return http_status(status) is not None or (is_text(status) and status in _FAILED)


#: The status of a task, or of a framework's message, that failed.
_FAILED: Final = ("failed", "error")


# ---- prose


def _parse_prose(
    texts: Iterable[str], reader: Reader, otherwise: McpErrorCode, *, received: Any = None
) -> ToolFault:
    """
    Return the fault that texts describe.

    Args:
        texts: The texts of one answer.
        reader: What the caller knows of its call.
        otherwise: The code if they describe nothing.
        received: The object to keep as received. None: the texts.
    """
    given = [text for text in texts if text[:WINDOW].strip()]
    # Each gets its share, or a long first block would push out the error in the last.
    share = max(1, len(given))
    text = "\n".join(text[: WINDOW // share] for text in given)
    if received is None:
        received = given[0] if len(given) == 1 else given
    advised = parse_advice(text, "prose", reader, received=received or text)
    if advised is not None:
        return advised
    verdict = reader.prose(text) or Verdict(code=otherwise)
    status = verdict.upstream_status
    return ToolFault.of(
        envelope_for_verdict(verdict, _join_sanitized(given, MESSAGE_BYTES // share)),
        found_in="prose",
        received=received,
        facts=None if status is None else {"upstream_status": status},
    )


def _join_sanitized(texts: list[str], limit: int) -> str:
    if len(texts) == 1:
        # The envelope sanitizes it.
        return texts[0]
    # One by one, before they are cut to size: a secret must not be cut in two.
    return "\n".join(sanitize(text, limit) for text in texts)
