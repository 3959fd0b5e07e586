"""
Results: ours, and those that a tool, a mounted server or an upstream made.

Rule 1: content blocks and an envelope that were made elsewhere stay as they are.
Rule 2: a lone surrogate ends a stdio server, whoever wrote it; it is replaced on the way out.
"""

from __future__ import annotations

from typing import Any, Final, cast

from fastmcp.tools.base import ToolResult
from mcp.types import TextContent

from toolfault import InvalidEnvelope, McpExecuteError
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


def has_envelope(result: ToolResult) -> bool:
    facts: Any = (result.meta or {}).get(META_KEY)
    places: list[Any] = [
        result.structured_content,
        cast("dict[str, Any]", facts).get("error") if isinstance(facts, dict) else None,
    ]
    for place in places:
        try:
            McpExecuteError.from_wire(place)
        except InvalidEnvelope:
            continue
        return True
    return False


def made_plain(result: ToolResult) -> ToolResult:
    """
    Return an error result that no legacy client gets wrapped: FastMCP would put the envelope under
    ``result``.
    """
    result = made_safe(result)
    if type(result) is ToolResult or not isinstance(result.structured_content, dict):
        return result
    return ToolResult(
        result.content, json_safe(result.structured_content, _MAX_DEPTH), result.meta, is_error=True
    )


def adopted(result: ToolResult, guard: Guard, call: Call, *, structured: bool) -> ToolResult:
    """
    Return an error result that a tool made, with an envelope beside its own content.
    """
    result = made_safe(result)
    content: list[Any] = list(result.content)
    texts = [
        block.text for block in content if isinstance(block, TextContent) and block.text.strip()
    ]
    structured = structured and result.structured_content is None
    made = guard.to_result(guard.read_prose("\n".join(texts), call), structured=structured)
    meta: dict[str, Any] = made.get("_meta", {})
    envelope = made["structuredContent"] if structured else meta[META_KEY]["error"]
    # The mirror: block 0 is the message. A tool that wrote no text first gets ours in front of its
    # own.
    if texts and isinstance(content[0], TextContent) and content[0].text == texts[0]:
        envelope["message"] = texts[0]
    else:
        content = [TextContent(type="text", text=envelope["message"]), *content]
    return ToolResult(
        content,
        envelope if structured else result.structured_content,
        {**meta, **(result.meta or {})},
        is_error=True,
    )


def made_safe(result: ToolResult) -> ToolResult:
    """
    Return a result that every serializer takes, the same one if it was so already.
    """
    if all(_is_encodable(block) for block in result.content):
        return result
    content = [
        block
        if _is_encodable(block)
        else type(block).model_validate(json_safe(block.model_dump(by_alias=True), _MAX_DEPTH))
        for block in result.content
    ]
    # What the text says, the structured value often says too.
    structured: Any = json_safe(result.structured_content, _MAX_DEPTH)
    return result.model_copy(update={"content": content, "structured_content": structured})


def _is_encodable(block: object) -> bool:
    # In this order, since a call that succeeds comes through here.
    text: Any = getattr(block, "text", None)
    if text is None:
        text = getattr(getattr(block, "resource", None), "text", "")
    return text.isascii() or encodable(text) is text
