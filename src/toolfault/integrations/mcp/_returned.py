"""
What a tool gave back by itself: results, error results of its own, and protocol errors.

Rule 1: content blocks and an envelope that the tool made stay as they are.
Rule 2: a lone surrogate ends a stdio server, whoever wrote it; it is replaced on the way out.
"""

from __future__ import annotations

from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, TextContent

from toolfault import InvalidEnvelope, McpExecuteError
from toolfault.hosting import META_KEY, Call, Guard, encodable, json_safe
from toolfault.integrations.mcp._results import to_call_tool_result


#: How deep a result may be nested and still be copied value by value.
_MAX_DEPTH: Final = 200


def adopted(result: CallToolResult, guard: Guard, call: Call, *, structured: bool) -> CallToolResult:
    """
    Return an error result that a tool made, with an envelope if it had none.
    """
    result = made_safe(result)
    if _has_envelope(result):
        return result
    texts = [block.text for block in result.content if isinstance(block, TextContent) and block.text.strip()]
    made = to_call_tool_result(guard.to_result(guard.read_prose("\n".join(texts), call), structured=structured))
    # The mirror: block 0 is the message. A tool that wrote no text first gets ours in front of its own.
    message = texts[0] if texts and result.content[0] is _first_text(result) else None
    content = list(result.content) if message is not None else [made.content[0], *result.content]
    envelope: Any = made.structured_content
    if envelope is not None and message is not None:
        envelope = {**envelope, "message": message}
    meta = {**(made.meta or {}), **(result.meta or {})}
    if envelope is None and message is not None:
        facts = dict(meta[META_KEY])
        meta[META_KEY] = {**facts, "error": {**facts["error"], "message": message}}
    update = {"content": content, "meta": meta or None}
    if result.structured_content is None:
        update["structured_content"] = envelope
    return result.model_copy(update=update)


def _first_text(result: CallToolResult) -> TextContent | None:
    return next((block for block in result.content if isinstance(block, TextContent) and block.text.strip()), None)


def _has_envelope(result: CallToolResult) -> bool:
    facts: Any = (result.meta or {}).get(META_KEY)
    places: list[Any] = [result.structured_content, facts.get("error") if isinstance(facts, dict) else None]  # pyright: ignore[reportUnknownMemberType] -- a peer's
    for place in places:
        try:
            McpExecuteError.from_wire(place)
        except InvalidEnvelope:
            continue
        return True
    return False


def made_safe(result: CallToolResult) -> CallToolResult:
    """
    Return a result that every serializer takes, the same one if it was so already.
    """
    for block in result.content:
        # In this order, since a call that succeeds comes through here: pydantic's isinstance is slow.
        text = getattr(block, "text", "")
        if not text.isascii() and isinstance(block, TextContent) and encodable(text) is not text:
            values = json_safe(result.model_dump(by_alias=True), _MAX_DEPTH)
            return CallToolResult.model_validate(values)
    return result


def protocol_error_made_safe(exc: MCPError) -> MCPError:
    """
    Return a protocol error that every serializer takes, the same one if it was so already.
    """
    message, data = encodable(exc.message), json_safe(exc.data)
    if message is exc.message and data == exc.data:
        return exc
    return MCPError(exc.code, message, data).with_traceback(exc.__traceback__)
