"""
The core of the gateway: what becomes of the answer to a request, or of a request without one.

Rule 1: no I/O and no clock; a host hands in what it saw and sends what it gets.
Rule 2: an answer that is not replaced leaves as the bytes that came.
Rule 3: whatever comes in, nothing raises; an answer that can't be judged leaves unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import is_
from typing import Any, Final, TypeAlias

from toolfault._codes import McpErrorCode
from toolfault._envelope import InvalidEnvelope, McpExecuteError, build_trusted
from toolfault._guard import Guard
from toolfault._json import as_flag
from toolfault._meanings.jsonrpc import ASKS_CLIENT
from toolfault._meanings.sentences import advice_for
from toolfault._names import META_KEY
from toolfault._read.parse import parse
from toolfault._read.result import texts_of
from toolfault._retry.retry import Retry as RetryRules
from toolfault._retry.state import RetryState
from toolfault._schema.widen import widen_schema
from toolfault._text import WINDOW, encodable
from toolfault._tracebacks import log_exception
from toolfault._wire import json_safe
from toolfault.errors import ToolFault
from toolfault.gateway._calls import (
    CALL,
    LISTING,
    TASK,
    TASK_RESULT,
    Call,
    as_object,
    is_array,
    is_object,
)
from toolfault.gateway._options import Options


@dataclass(frozen=True, slots=True)
class Unchanged:
    """
    The decision to send an answer as it came.
    """


@dataclass(frozen=True, slots=True)
class Replace:
    """
    The decision to send another message.

    Attributes:
        message: The whole JSON-RPC message.
        fault: The failure that it tells; None for a listing.
    """

    message: dict[str, Any]
    fault: ToolFault | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """
    The decision to send the request again.

    Attributes:
        delay: Seconds to wait before.
    """

    delay: float


Decision: TypeAlias = Unchanged | Replace | Retry

UNCHANGED: Final = Unchanged()

#: How many tools and tasks are remembered.
_MAX_KNOWN: Final = 10_000

#: JSON-RPC's number for a failure inside the server.
_INTERNAL_ERROR: Final = -32603

#: How deep the JSON of a replaced answer may be nested.
_MAX_DEPTH: Final = 200


def _new_id() -> str:
    return os.urandom(6).hex()


@dataclass(frozen=True, slots=True)
class _Tool:
    """
    One tool as it was listed: its hints, and whether its schema takes the envelope.
    """

    annotations: Any = None
    has_room: bool = True


_UNLISTED: Final = _Tool()


class Exchange:
    """
    The judgement of one server's answers. Not safe for several threads at once.

    Args:
        options: The gateway's options.
        retry: The rules for repeated calls. None: calls are never repeated.
        new_id: Returns the id of a failure, for ``_meta`` and the log.
        secrets: Values that never leave.
    """

    def __init__(
        self,
        options: Options,
        *,
        retry: RetryRules | None = None,
        new_id: Callable[[], str] = _new_id,
        secrets: Iterable[str] = (),
    ) -> None:
        """
        Start without knowledge of any tool.
        """
        self._options = options
        self._retry = retry
        self._new_id = new_id
        self._guard = Guard(
            guidance=options.guidance, disclosure=options.disclosure, secrets=secrets
        )
        self._tools: dict[str, _Tool] = {}
        self._tasks: dict[str, str] = {}

    # ---- decisions

    def begin(self, call: Call) -> RetryState | None:
        """
        Return the retry state of a new call; None if it is never repeated.
        """
        if self._retry is None or call.tool is None:
            return None
        listed = call.tool in self._options.idempotent
        return self._retry.state(name=call.tool, idempotent=True if listed else None)

    def answer(
        self, call: Call, message: Mapping[str, Any], state: RetryState | None = None
    ) -> Decision:
        """
        Return what becomes of an answer. Never raises.

        Args:
            call: The request that it answers.
            message: The JSON-RPC message, parsed.
            state: The retry state of the call. None: it is not repeated.
        """
        try:
            return self.repeat(call, self._answer(call, message), state)
        except Exception:  # noqa: BLE001 -- a peer's message; whatever it is, it must leave
            log_exception("an answer could not be judged; it leaves as it came")
            return UNCHANGED

    def answer_lost(
        self, call: Call, reason: str, *, is_sent: bool, can_retry: bool = False, hint: str = ""
    ) -> Replace:
        """
        Return the answer to a request that the server will never answer.

        Args:
            call: The request.
            reason: What happened, as a sentence.
            is_sent: Whether the request may have reached the server.
            can_retry: Whether the server may answer if the request is sent again.
            hint: What the reader could do.
        """
        fault = ToolFault(
            McpErrorCode.MCP_SERVER_UNREACHABLE,
            self._guard.safe_text(reason),
            retryable=can_retry,
            category="transient" if can_retry else "permanent",
            hint=hint or None,
            outcome="unknown" if is_sent else "not_executed",
        )
        return self._own(call, fault)

    def deadline(self, call: Call, seconds: float, note: str = "") -> Replace:
        """
        Return the answer to a call that was not answered in time.

        Args:
            call: The call.
            seconds: How long the gateway waited.
            note: A further sentence, on what else was seen.
        """
        unit = "second" if seconds == 1 else "seconds"
        message = f"The MCP server did not answer within {seconds:g} {unit}."
        fault = ToolFault(
            McpErrorCode.TOOL_TIMEOUT, f"{message} {note}".rstrip(), outcome="unknown"
        )
        return self._own(call, fault)

    def read(self, call: Call, message: Mapping[str, Any]) -> ToolFault | None:
        """
        Return the failure that an answer tells; None for a success. Never raises.

        Args:
            call: The call of a tool.
            message: The answer, parsed.
        """
        error, result = message.get("error"), message.get("result")
        if error is not None:
            asks = as_object(error).get("code") in ASKS_CLIENT
            return None if asks else self._read_error(call, error, as_object(error).get("message"))
        return parse(result, tool=call.tool) if is_object(result) else None

    def refused(self, call: Call, reason: str) -> Replace:
        """
        Return the answer to a request that the server wants a login for.

        Args:
            call: The request.
            reason: Why there is none, as a sentence.
        """
        fault = ToolFault(
            McpErrorCode.PERMISSION_DENIED,
            self._guard.safe_text(reason),
            category="auth",
            outcome="not_executed",
        )
        return self._own(call, fault)

    def broken(self, call: Call, reason: str) -> Replace:
        """
        Return the answer to a request whose answer can't be used.

        Args:
            call: The request.
            reason: What is wrong with the answer, as a sentence.
        """
        return self._own(call, ToolFault(McpErrorCode.INTERNAL, reason, outcome="unknown"))

    def status(
        self, call: Call, status: int, headers: Mapping[str, str], body: bytes = b""
    ) -> Replace:
        """
        Return the answer to a request whose HTTP answer holds no message.

        Args:
            call: The request.
            status: The HTTP status.
            headers: The headers, in any case.
            body: The beginning of the body.
        """
        from toolfault.gateway._statuses import fault_for_status  # noqa: PLC0415 -- for HTTP only

        fault = fault_for_status(status, headers, body)
        fault.facts.update(id=self._new_id(), origin="upstream")
        return self._replace(call, fault)

    def repeat(self, call: Call, decision: Decision, state: RetryState | None) -> Decision:
        """
        Return a decision as it is, or the decision to repeat the call instead.
        """
        if state is None:
            return decision
        fault = decision.fault if isinstance(decision, Replace) else None
        tool = self._tools.get(call.tool or "", _UNLISTED)
        delay = state.next_wait(fault, {"annotations": tool.annotations})
        return decision if delay is None else Retry(delay)

    # ---- by method

    def _answer(self, call: Call, message: Mapping[str, Any]) -> Decision:
        if call.method == LISTING:
            return self._list(message)
        if call.method == CALL:
            return self._call(call, message)
        if call.method == TASK_RESULT:
            return self._task_result(call, message)
        if call.method == TASK:
            return self._task(message)
        return UNCHANGED

    def _call(self, call: Call, message: Mapping[str, Any]) -> Decision:
        error, result = message.get("error"), message.get("result")
        if error is not None:
            return self._error(call, message, error)
        if not is_object(result):
            return self.broken(call, "The MCP server's answer holds no result that can be read.")
        self._note_task(call, result)
        replaced = self._result(result, call.tool, call.arguments)
        if replaced is None:
            return UNCHANGED
        return Replace(_rewrite(message, "result", replaced[0]), replaced[1])

    def _task_result(self, call: Call, message: Mapping[str, Any]) -> Decision:
        result = as_object(message.get("result"))
        replaced = self._result(result, self._tasks.get(str(call.params.get("taskId"))), None)
        if replaced is None:
            return UNCHANGED
        return Replace(_rewrite(message, "result", replaced[0]), replaced[1])

    def _task(self, message: Mapping[str, Any]) -> Decision:
        task = as_object(message.get("result"))
        tool = self._tasks.get(str(task.get("taskId")))
        replaced = self._result(as_object(task.get("result")), tool, None)
        if replaced is None:
            return UNCHANGED
        return Replace(_rewrite(message, "result", {**task, "result": replaced[0]}), replaced[1])

    def _note_task(self, call: Call, result: Mapping[str, Any]) -> None:
        task_id = as_object(result.get("task", result)).get("taskId")
        if isinstance(task_id, str) and call.tool is not None and len(self._tasks) < _MAX_KNOWN:
            self._tasks[task_id] = call.tool

    # ---- results

    def _result(
        self, result: dict[str, Any], tool: str | None, arguments: Mapping[str, Any] | None
    ) -> tuple[dict[str, Any], ToolFault] | None:
        """
        Return an error result with an envelope, and its fault; None for what leaves as it came.
        """
        is_inferred = False
        if as_flag(result.get("isError", result.get("is_error"))) is not True:
            if not self._is_flagged(result, tool):
                return None
            is_inferred = True
            result = {**result, "isError": True}
        if _has_envelope(result):
            return None
        fault = parse({**result, "content": _blocks(result)}, tool=tool, arguments=arguments)
        if fault is None:
            return None
        fault = self._finish(fault)
        if is_inferred:
            fault.facts["inferred"] = True
        return self._upgrade(result, fault, tool), fault

    def _is_flagged(self, result: Mapping[str, Any], tool: str | None) -> bool:
        flags = self._options.flags
        if not flags or result.get("resultType", "complete") != "complete":
            return False
        patterns = (*flags.get(tool or "", ()), *flags.get("*", ()))
        texts = texts_of(result.get("content"))
        return any(one.search(text[:WINDOW]) for one in patterns for text in texts)

    def _upgrade(
        self, result: Mapping[str, Any], fault: ToolFault, tool: str | None
    ) -> dict[str, Any]:
        is_free = result.get("structuredContent") is None
        has_room = is_free and self._has_room(tool)
        safe = self._guard.safe_result({**result, "content": _blocks(result)})
        blocks: list[Any] = safe["content"]
        text = _leading_text(blocks)
        if text:
            fault = _with_message(fault, text)
        else:
            blocks.insert(0, {"type": "text", "text": fault.envelope.message})
        made = self._guard.to_result(fault, structured=has_room)
        upgraded = {**safe, "content": self._advise(blocks, fault), "isError": True}
        if has_room:
            upgraded["structuredContent"] = made["structuredContent"]
        meta = {**as_object(safe.get("_meta")), **made.get("_meta", {})}
        if meta:
            upgraded["_meta"] = meta
        return upgraded

    def _has_room(self, tool: str | None) -> bool:
        return self._tools.get(tool or "", _UNLISTED).has_room

    def _advise(self, blocks: list[Any], fault: ToolFault) -> list[Any]:
        advice = encodable(advice_for(fault.envelope))
        if not advice or self._options.guidance == "none":
            return blocks
        if self._options.guidance == "block":
            return [*blocks, {"type": "text", "text": advice}]
        return [{**blocks[0], "text": f"{blocks[0]['text']}\n{advice}"}, *blocks[1:]]

    # ---- errors

    def _error(self, call: Call, message: Mapping[str, Any], error: object) -> Decision:
        members = as_object(error)
        if members.get("code") in ASKS_CLIENT:
            return UNCHANGED
        fault = self._read_error(call, error, members.get("message", error))
        if fault is None:
            return UNCHANGED
        fault = self._finish(fault)
        if self._options.protocol_errors == "lift":
            return self._replace(call, fault)
        return self._keep(message, members, fault)

    def _read_error(self, call: Call, error: object, text: object) -> ToolFault | None:
        fault = parse({"jsonrpc": "2.0", "error": error}, tool=call.tool, arguments=call.arguments)
        if fault is not None and fault.found_in != "prose":
            return fault
        # An error without a number is read by its words.
        content = [{"type": "text", "text": text if isinstance(text, str) else ""}]
        return parse({"isError": True, "content": content}, tool=call.tool)

    def _keep(
        self, message: Mapping[str, Any], error: Mapping[str, Any], fault: ToolFault
    ) -> Decision:
        """
        Return the error with the envelope in its data; unchanged if there is no room.
        """
        data: Any = error.get("data")
        if data is None:
            data = dict[str, Any]()
        if not error or not is_object(data) or META_KEY in data:
            return UNCHANGED
        ours = self._guard.to_result(fault, structured=False).get("_meta", {})
        safe = self._guard.safe_result({"structuredContent": data})["structuredContent"]
        changed = {**error, "data": {**safe, **ours}}
        if isinstance(error.get("message"), str):
            changed["message"] = self._guard.safe_text(error["message"])
        return Replace(_rewrite(message, "error", changed), fault)

    # ---- our own answers

    def _finish(self, fault: ToolFault) -> ToolFault:
        """
        Return a fault that was read as one that may leave: redacted, with a known code and an id.
        """
        envelope, safe = fault.envelope, self._guard.safe_text
        unknown = envelope.code is McpErrorCode.UNKNOWN
        finished = build_trusted(
            code=McpErrorCode.INTERNAL if unknown else envelope.code,
            message=safe(envelope.message) or "The tool failed and did not say why.",
            category=envelope.category,
            retryable=envelope.retryable,
            retry_after_seconds=envelope.retry_after_seconds,
            hint=None if envelope.hint is None else safe(envelope.hint),
            cause_chain=tuple(map(safe, envelope.cause_chain)),
        )
        facts = {"id": self._new_id(), **fault.facts}
        return ToolFault.of(finished, outcome=fault.outcome, facts=facts, received=fault.received)

    def _own(self, call: Call, fault: ToolFault) -> Replace:
        fault.facts.update(id=self._new_id(), origin="gateway")
        return self._replace(call, fault)

    def _replace(self, call: Call, fault: ToolFault) -> Replace:
        """
        Return the answer that tells a fault: a result for calls of tools, else an error.

        Args:
            call: The request.
            fault: The failure.
        """
        base = {"id": call.id}
        if call.method != CALL:
            facts = self._guard.to_result(fault, structured=False).get("_meta", {})
            text = fault.envelope.message
            error = {"code": _INTERNAL_ERROR, "message": text, "data": facts}
            return Replace(_rewrite(base, "error", error), fault)
        result = self._guard.to_result(fault, structured=self._has_room(call.tool))
        if call.is_modern:
            result = {"resultType": "complete", **result}
        return Replace(_rewrite(base, "result", result), fault)

    # ---- listings

    def _list(self, message: Mapping[str, Any]) -> Decision:
        result = as_object(message.get("result"))
        listed = result.get("tools")
        if not is_array(listed):
            return UNCHANGED
        widened = [self._widen(tool) if is_object(tool) else tool for tool in listed]
        if all(map(is_, widened, listed)):
            return UNCHANGED
        return Replace(_rewrite(message, "result", {**result, "tools": widened}))

    def _widen(self, tool: dict[str, Any]) -> dict[str, Any]:
        """
        Return a tool with room for the envelope in its schema; the same one if nothing changes.
        """
        schema = tool.get("outputSchema")
        widened = widen_schema(as_object(schema))
        has_room = schema is None or widened is not None
        self._remember(tool.get("name"), _Tool(tool.get("annotations"), has_room))
        if widened is None or widened == schema:
            return tool
        return {**tool, "outputSchema": widened}

    def _remember(self, name: object, tool: _Tool) -> None:
        if isinstance(name, str) and (name in self._tools or len(self._tools) < _MAX_KNOWN):
            self._tools[name] = tool


def _rewrite(message: Mapping[str, Any], member: str, value: object) -> dict[str, Any]:
    """
    Return an answer with another result or error.

    Further members of the message go: clients that parse strictly drop a message with any.
    """
    return {"jsonrpc": "2.0", "id": message.get("id"), member: value}


def _has_envelope(result: Mapping[str, Any]) -> bool:
    """
    Tell whether a result carries a whole envelope.
    """
    ours = as_object(as_object(result.get("_meta")).get(META_KEY))
    return any(map(_is_envelope, (result.get("structuredContent"), ours.get("error"))))


def _is_envelope(value: object) -> bool:
    if not is_object(value):
        return False
    try:
        McpExecuteError.from_wire(value)
    except InvalidEnvelope:
        return False
    return True


def _blocks(result: Mapping[str, Any]) -> list[Any]:
    """
    Return the content of a result as a list of blocks, also where a server sends a bare text.
    """
    content = result.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content) if is_array(content) else []


def _leading_text(blocks: list[Any]) -> str:
    """
    Return the text of the first block; "" if it is not a text, or blank.
    """
    text = as_object(blocks[0]).get("text") if blocks else None
    return text if isinstance(text, str) and text.strip() else ""


def _with_message(fault: ToolFault, message: str) -> ToolFault:
    """
    Return a fault whose message is the text that a model reads first.
    """
    envelope = fault.envelope
    renamed = build_trusted(
        code=envelope.code,
        message=message,
        category=envelope.category,
        retryable=envelope.retryable,
        retry_after_seconds=envelope.retry_after_seconds,
        hint=envelope.hint,
        cause_chain=envelope.cause_chain,
    )
    return ToolFault.of(renamed, outcome=fault.outcome, facts=fault.facts, received=fault.received)


def make_exchange(options: Options, secrets: Iterable[str] = ()) -> Exchange:
    """
    Return the judgement for one server.

    Args:
        options: The options.
        secrets: Values that never leave.
    """
    retry = RetryRules().for_server() if options.retry else None
    return Exchange(options, retry=retry, secrets=secrets)


def to_jsonable(message: object) -> Any:
    """
    Return a message as JSON that every reader takes: finite numbers, and text without surrogates.
    """
    return json_safe(message, _MAX_DEPTH)


def log_entry(call: Call, fault: ToolFault) -> dict[str, Any]:
    """
    Return one line of the gateway's log.
    """
    entry = {
        "id": fault.facts.get("id"),
        "method": call.method,
        "tool": call.tool,
        "request_id": call.id,
        "code": fault.envelope.code.value,
        "retryable": fault.envelope.retryable,
        "origin": fault.facts.get("origin", "upstream"),
        "outcome": fault.outcome,
        "message": fault.envelope.message,
    }
    return {key: value for key, value in entry.items() if value is not None}
