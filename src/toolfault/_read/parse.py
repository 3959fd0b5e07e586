"""
Reading a failure out of whatever a peer, or its SDK, answered.

Rule 1: a flag makes a failure, words don't: what is not flagged is a success, and `suspect` tells a
suspicion apart.
Rule 2: a full envelope in any place beats a weaker form in any place; prose comes last.
Rule 3: nothing here raises, whatever a peer sends.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, TypeVar

from toolfault._codes import McpErrorCode
from toolfault._envelope import McpExecuteError
from toolfault._json import is_mapping, is_text
from toolfault._prose.careful import looks_failed, peel
from toolfault._read.frameworks import retold
from toolfault._read.jsonrpc import (
    is_exception,
    is_rpc_error,
    of_dialect,
    of_exception,
    of_payload,
    of_rpc,
)
from toolfault._read.partial import Reader, claim_in, claim_of, layers, said_in
from toolfault._text import MESSAGE_BYTES, WINDOW, pattern, safe_str
from toolfault._untrusted import facts_of, full_envelope, http_status, of_verdict, shown
from toolfault._verdict import Outcome, Verdict
from toolfault._wire import Reading, as_flag, as_mapping, json_in, member, read
from toolfault.dialects.tool_failure import failure_in
from toolfault.errors import FoundIn, ToolFault


_log = logging.getLogger("toolfault")

T = TypeVar("T")

#: How deep results, tasks and JSON-RPC answers may be wrapped in one another.
_MAX_DEPTH: Final = 4

_UNREADABLE: Final = "The tool failed, and its answer could not be read."


def parse(
    anything: object, *, tool: str | None = None, arguments: Mapping[str, Any] | None = None
) -> ToolFault | None:
    """
    Return the failure that an answer is, as an unraised `ToolFault`; None for a success. Never
    raises.

    Args:
        anything: A result of any SDK version or as a dict, what an agent framework made of it, a
            JSON-RPC answer or
            error, a task, or an exception. A cancellation is no failure of the tool, and a text is
            one only if it is a flagged result or a whole envelope, or says by a framework's fixed
            words that it is an error.
        tool: The name that was called, for reading prose: a tool called ``get_quota`` has not run
            out of one.
        arguments: What it was called with, likewise.
    """
    try:
        return _parsed(anything, Reader(tool, arguments), _MAX_DEPTH)
    except Exception:  # noqa: BLE001 -- whatever a peer sends; it is logged with its traceback
        _log.exception("an answer could not be read; it counts as a failure if it says so itself")
        return _fallback(anything)


def suspect(
    result: object, *, tool: str | None = None, arguments: Mapping[str, Any] | None = None
) -> ToolFault | None:
    """
    Return the failure that a result looks like although it is not flagged as one; None where
    nothing says so.

    It is a suspicion, wrong for tools that read or echo text: never retry on it. Never raises.

    Args:
        result: As for `parse`; a text is taken as that of a result.
        tool: The name that was called.
        arguments: What it was called with.
    """
    try:
        told = retold(result)
        # A framework may have nothing left but the text.
        reading = read(
            {"content": result} if told is None and isinstance(result, str) else told or result
        )
        if reading is None or reading.is_error:
            return None
        return _suspected(reading, Reader(tool, arguments))
    except Exception:  # noqa: BLE001 -- as `parse`
        _log.exception("a result could not be read; it stays a success")
        return None


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
    """
    fault = parse(result, tool=tool, arguments=arguments)
    if fault is None:
        return result
    if is_exception(result) and result is not fault:
        raise fault from result
    raise fault


# ---- from any form to the few that there are


def _parsed(anything: object, reader: Reader, depth: int) -> ToolFault | None:
    if is_exception(anything):
        return of_exception(anything, reader)
    # Only what the caller holds is a framework's; what stands inside may be data.
    if depth == _MAX_DEPTH and (told := retold(anything)) is not None:
        return _parsed(told, reader, depth - 1)
    if anything is None or isinstance(anything, str | bytes | int | float | list | tuple):
        return None
    reading = read(anything)
    if reading is not None:
        return _of_result(reading, reader) if reading.is_error else None
    return _of_message(anything, reader, depth) if depth else None


def _of_message(answer: object, reader: Reader, depth: int) -> ToolFault | None:
    """
    Return the fault of what holds a result, or stands where one would; None if it is a success.
    """
    foreign = of_payload(answer)
    if foreign is None and is_mapping(answer):
        foreign = of_dialect(answer)
    if foreign is not None:
        return foreign
    if is_rpc_error(answer):
        return None if _says_it_worked(answer) else of_rpc(answer, reader)
    for task in (answer, member(answer, "task")):
        if member(task, "taskId", "task_id") is not None:
            return _of_task(task, reader, depth)
    return _of_response(answer, reader, depth)


def _of_response(answer: object, reader: Reader, depth: int) -> ToolFault | None:
    error = member(answer, "error")
    if error is not None and is_rpc_error(error):
        return of_rpc(error, reader)
    if is_mapping(error) and (claim := claim_of(error)):
        return claim.fault("jsonrpc_error", reader, received=error)
    inner = member(answer, "result")
    if inner is not None:
        # A response with a result is a success; what has the members of an error in it is the
        # tool's data.
        return None if is_rpc_error(inner) else _parsed(inner, reader, depth - 1)
    if error is not None and member(answer, "jsonrpc") is not None:
        return _of_prose([], reader, McpErrorCode.UNKNOWN, received=answer)
    if (failed := _of_http(answer, reader)) is not None:
        return failed
    envelope = full_envelope(answer)
    if envelope is None:
        return None
    return ToolFault.of(envelope, found_in="structured_content", received=answer)


def _of_http(answer: object, reader: Reader) -> ToolFault | None:
    """
    Return the fault of an HTTP answer with a failed status and an error in its body, else None.
    """
    status = http_status(member(answer, "status"))
    body = as_mapping(member(answer, "body"))
    if status is None or member(body, "error") is None:
        return None
    claim = claim_of({**body, "status": status})
    return None if claim is None else claim.fault("prose", reader, received=answer)


def _says_it_worked(anything: object) -> bool:
    # ``{"code": 0, "message": "success"}``, as many HTTP APIs answer, has the members of an error.
    code: int = member(anything, "code")
    return 200 <= code < 300 or (
        code >= 0 and pattern(_WORKED).match(member(anything, "message")) is not None
    )


#: A whole message by which an answer says that it is no error.
_WORKED: Final = r"(?i)\W{0,8}(?:ok|okay|success|successful|succeeded|done)\W{0,8}\Z"


def _of_task(task: object, reader: Reader, depth: int) -> ToolFault | None:
    # A completed task may hold a failed result; a failed one holds the error that ended it, in one
    # of two places.
    inner = member(task, "result")
    if inner is not None:
        return _parsed(inner, reader, depth - 1)
    status = member(task, "status")
    if is_text(status) and status != "failed":
        return None
    error = member(task, "error")
    if error is not None and is_rpc_error(error):
        return of_rpc(error, reader)
    if not is_text(status):
        return _of_response(task, reader, depth)
    said = member(task, "statusMessage", "status_message")
    texts = [said] if is_text(said) else []
    return _of_prose(texts, reader, McpErrorCode.INTERNAL, received=task)


def _of_result(reading: Reading, reader: Reader) -> ToolFault:
    outcome, facts = facts_of(reading.ours)
    weaker: list[tuple[FoundIn, Any]] = []
    behind: Iterator[tuple[FoundIn, Any]] = (("text", body) for body in _behind_prefixes(reading))
    for place, body in chain(reading.bodies(), behind):
        if place == "tool_failure":
            if (failure := failure_in(body, reading.texts)) is not None:
                envelope, correlation = failure
                facts = {"id": correlation, **facts} if correlation else facts
                return ToolFault.of(
                    envelope, found_in=place, received=body, outcome=outcome, facts=facts
                )
            continue
        for candidate in layers(body):
            if (full := full_envelope(candidate, lambda: reading.texts)) is not None:
                return ToolFault.of(
                    full, found_in=place, received=candidate, outcome=outcome, facts=facts
                )
        weaker.append((place, body))
    if reading.meta and (foreign := of_dialect(_retold(reading))) is not None:
        return foreign
    for place, body in weaker:
        for candidate in layers(body):
            if (claim := claim_of(candidate)) is not None:
                return claim.fault(
                    place,
                    reader,
                    texts=reading.texts,
                    received=candidate,
                    outcome=outcome,
                    facts=facts,
                )
    silent = McpErrorCode.UNKNOWN if reading.blank else McpErrorCode.INTERNAL
    texts = reading.texts or [said for _, body in weaker for said in said_in(body)]
    return _of_prose(texts, reader, silent, outcome=outcome, facts=facts)


def _retold(reading: Reading) -> dict[str, Any]:
    blocks = [{"type": "text", "text": text} for text in reading.texts]
    return {"isError": True, "content": blocks, "_meta": reading.meta}


def _behind_prefixes(reading: Reading) -> Iterator[Any]:
    """
    Go through the JSON that stands in texts behind words: any that an SDK put there, a whole
    envelope behind others.
    """
    for text in reading.texts:
        start = text[:WINDOW].find("{")
        if start <= 0:
            continue
        if (body := json_in(peel(text))) is not None:
            yield body
            continue
        body = json_in(text[start:])
        if any(full_envelope(inner) is not None for inner in layers(body)):
            yield body


def _suspected(reading: Reading, reader: Reader) -> ToolFault | None:
    texts = [text for text in reading.texts if looks_failed(text)]
    if not texts and not reading.texts and reading.structured is not None:
        # The SDKs write structured content into a text as well; this server did not.
        texts = [text for text in (safe_str(reading.structured),) if looks_failed(text)]
    for text in texts:
        for candidate in layers(json_in(text)):
            if (claim := claim_of(candidate)) is not None:
                return claim.fault("text", reader, texts=texts, received=candidate)
    return _of_prose(texts, reader, McpErrorCode.INTERNAL) if texts else None


def _fallback(anything: object) -> ToolFault | None:
    """
    Return a failure for an answer that could not be read but says error; None if it does not.
    """
    if not _says_error(anything):
        return None
    return ToolFault.of(
        McpExecuteError.new(McpErrorCode.UNKNOWN, _UNREADABLE), found_in="exception"
    )


def _says_error(answer: object) -> bool:
    """
    Tell whether an answer, or the result in it, says by a flag or a member that it is a failure.
    """
    try:
        answer = retold(answer) or answer
    except Exception:  # noqa: BLE001 -- a stranger's object; what it says itself still counts
        _log.exception("the form of an answer could not be read")
    for _ in range(_MAX_DEPTH):
        # By its real class: the object may lie about it.
        if is_exception(answer):
            return issubclass(type(answer), Exception)
        if is_text(answer):
            answer = json_in(answer)
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
        return not _says_it_worked(answer)
    status = member(answer, "status")
    if is_text(status) and status in _FAILED:
        return True
    return any(http_status(member(answer, name)) is not None for name in _STATUS_NAMES)


_STATUS_NAMES: Final = ("status", "statusCode", "status_code")

#: The status of a task, or of a framework's message, that failed.
_FAILED: Final = ("failed", "error")


# ---- prose


def _of_prose(
    texts: Iterable[str],
    reader: Reader,
    otherwise: McpErrorCode,
    *,
    received: Any = None,
    outcome: Outcome | None = None,
    facts: Mapping[str, Any] | None = None,
) -> ToolFault:
    said = [text for text in texts if text and not text[:WINDOW].isspace()]
    # Each gets its share, or a long first block would push out the error in the last.
    share = max(1, len(said))
    text = "\n".join(text[: WINDOW // share] for text in said)
    if (claim := claim_in(text)) is not None:
        return claim.fault("prose", reader, received=received or text, outcome=outcome, facts=facts)
    verdict = (reader.prose(text) if text else None) or Verdict(code=otherwise)
    if verdict.upstream_status is not None:
        facts = {"upstream_status": verdict.upstream_status, **(facts or {})}
    # Redacted one by one before they are cut to size.
    message = (
        said[0]
        if len(said) == 1
        else "\n".join(shown(text, MESSAGE_BYTES // share) for text in said)
    )
    if received is None:
        received = said[0] if len(said) == 1 else said
    return ToolFault.of(
        of_verdict(verdict, message),
        found_in="prose",
        received=received,
        outcome=outcome,
        facts=facts,
    )
