"""
Results: ours, and those that a tool, a mounted server or an upstream made.

Rule 1: a success stays as it is; only lone surrogates, which end a stdio server, are replaced.
Rule 2: an error result keeps its content blocks and its envelope, redacted; one without an envelope
gets one.
"""

from __future__ import annotations

import json
from typing import Any, Final, cast

from fastmcp.tools.base import ToolResult
from mcp.types import ContentBlock, TextContent
from pydantic import TypeAdapter

from toolfault import InvalidEnvelope, McpExecuteError, ToolFault
from toolfault.hosting import META_KEY, Call, Guard, encodable, json_safe


#: How deep a result may be nested and still be copied value by value.
_MAX_DEPTH: Final = 200


def to_tool_result(result: dict[str, Any]) -> ToolResult:
    return ToolResult(
        content=[TextContent(type="text", text=block["text"]) for block in result["content"]],
        structured_content=result.get("structuredContent"),
        meta=result.get("_meta"),
        is_error=True,
    )


def adopt_error_result(
    result: ToolResult, guard: Guard, call: Call, *, structured: bool
) -> ToolResult:
    """
    Return an error result that a tool returned, redacted, with an envelope if it had none.

    It is a plain `ToolResult`: for a legacy client, FastMCP would put the envelope of any other
    under ``result``.
    """
    wire = guard.safe_result(
        {
            "content": [
                block.model_dump(by_alias=True, exclude_none=True) for block in result.content
            ],
            "structuredContent": result.structured_content,
            "_meta": dict(result.meta or {}) or None,
        }
    )
    own = envelope_in(wire)
    meta: dict[str, Any] = wire["_meta"] or {}
    content: list[Any] = [_load_block(block) for block in wire["content"]]
    if own is None:
        return _with_envelope(content, wire, guard, call, structured=structured)
    message = guard.safe_text(own.message) or "[redacted]"
    for place in (wire["structuredContent"], _member(meta.get(META_KEY), "error")):
        if isinstance(place, dict) and "message" in place:
            place["message"] = message
    failure_id = guard.note_returned(ToolFault.of(own), call)
    if META_KEY not in meta:
        meta = {**meta, META_KEY: {"v": 1, "id": failure_id}}
    return ToolResult(content, wire["structuredContent"], meta, is_error=True)


def _with_envelope(
    content: list[Any], wire: dict[str, Any], guard: Guard, call: Call, *, structured: bool
) -> ToolResult:
    texts = [block.text for block in content if _says_something(block)]
    structured = structured and wire["structuredContent"] is None
    made = guard.to_result(guard.read_prose("\n".join(texts), call), structured=structured)
    meta: dict[str, Any] = made.get("_meta", {})
    envelope = made["structuredContent"] if structured else meta[META_KEY]["error"]
    # Block 0 is the message. A tool that wrote no text first gets ours in front of its own.
    if content and _says_something(content[0]):
        envelope["message"] = texts[0]
    else:
        content = [TextContent(type="text", text=envelope["message"]), *content]
    return ToolResult(
        content,
        envelope if structured else wire["structuredContent"],
        {**meta, **(wire["_meta"] or {})},
        is_error=True,
    )


def _says_something(block: Any) -> bool:
    return isinstance(block, TextContent) and bool(block.text.strip())


def _load_block(block: dict[str, Any]) -> Any:
    """
    Return the model of a redacted block; one that redaction made invalid becomes a text.
    """
    try:
        return _BLOCK.validate_python(block)
    except ValueError:
        return TextContent(type="text", text=json.dumps(json_safe(block)))


_BLOCK: Final[TypeAdapter[Any]] = TypeAdapter(ContentBlock)


def envelope_in(wire: dict[str, Any]) -> McpExecuteError | None:
    """
    Return the envelope that a result in wire spelling carries. None: it has none.
    """
    for place in (
        wire.get("structuredContent"),
        _member(_member(wire.get("_meta"), META_KEY), "error"),
    ):
        try:
            return McpExecuteError.from_wire(place)
        except InvalidEnvelope:
            continue
    return None


def _member(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None


def _encodable_block(block: Any) -> Any:
    if _is_encodable(block):
        return block
    return block.__class__.model_validate(json_safe(block.model_dump(by_alias=True), _MAX_DEPTH))


def sanitize_result(result: ToolResult) -> ToolResult:
    """
    Return a result that every serializer takes, the same one if it was so already.
    """
    if all(_is_encodable(block) for block in result.content):
        return result
    content = list(map(_encodable_block, result.content))
    # What the text says, the structured value often says too.
    structured: Any = json_safe(result.structured_content, _MAX_DEPTH)
    return result.model_copy(update={"content": content, "structured_content": structured})


def _is_encodable(block: object) -> bool:
    # In this order, since a call that succeeds comes through here.
    text: Any = getattr(block, "text", None)
    if text is None:
        text = getattr(getattr(block, "resource", None), "text", "")
    return text.isascii() or encodable(text) is text
