"""
What a tool gave back by itself: results, error results of its own, and protocol errors.

Rule 1: content blocks and an envelope that the tool made stay as they are.
Rule 2: a lone surrogate ends a stdio server, whoever wrote it; it is replaced on the way out.
"""

from __future__ import annotations

import json
from typing import Any, Final, cast

from mcp.types import CallToolResult, TextContent

from toolfault import InvalidEnvelope, McpExecuteError, ToolFault
from toolfault.hosting import META_KEY, Call, Guard, encodable, json_safe
from toolfault.integrations.mcp._compat import STRUCTURED, protocol_error
from toolfault.integrations.mcp._results import to_call_tool_result


#: How deep a result may be nested and still be copied value by value.
_MAX_DEPTH: Final = 200


def adopted(
    result: CallToolResult, guard: Guard, call: Call, *, structured: bool
) -> CallToolResult:
    """
    Return an error result that a tool made, with an envelope if it had none.
    """
    result = made_safe(result)
    if (own := _envelope_of(result)) is not None:
        return _noted(result, guard.note_returned(ToolFault.of(own), call))
    texts = [
        block.text
        for block in result.content
        if isinstance(block, TextContent) and block.text.strip()
    ]
    first = result.content[0] if result.content else None
    # A tool that wrote no text first gets ours in front of its own.
    leads = isinstance(first, TextContent) and bool(first.text.strip())
    fault = guard.read_prose(
        texts[0] if leads else "", call, more="\n".join(texts[1:] if leads else texts)
    )
    # What the tool has in the place of an envelope stays; the envelope goes into `_meta` then.
    structured = structured and getattr(result, STRUCTURED) is None
    made = to_call_tool_result(guard.to_result(fault, structured=structured))
    mirror = TextContent(type="text", text=fault.envelope.message)
    content = [mirror, *(_shown(block, guard) for block in result.content[leads:])]
    update: dict[str, Any] = {
        "content": content,
        "meta": {**(made.meta or {}), **(result.meta or {})} or None,
    }
    if structured:
        update[STRUCTURED] = getattr(made, STRUCTURED)
    return result.model_copy(update=update)


def _shown(block: Any, guard: Guard) -> Any:
    return (
        block.model_copy(update={"text": guard.safe_text(block.text)})
        if isinstance(block, TextContent)
        else block
    )


def _noted(result: CallToolResult, failure_id: str) -> CallToolResult:
    """
    Return a result with the id that the log has, where the tool left room for it.
    """
    meta = result.meta or {}
    return (
        result
        if META_KEY in meta
        else result.model_copy(update={"meta": {**meta, META_KEY: {"v": 1, "id": failure_id}}})
    )


def _envelope_of(result: CallToolResult) -> McpExecuteError | None:
    facts: Any = (result.meta or {}).get(META_KEY)
    places: list[Any] = [
        getattr(result, STRUCTURED),
        cast("dict[str, Any]", facts).get("error") if isinstance(facts, dict) else None,
    ]
    for place in places:
        try:
            return McpExecuteError.from_wire(place)
        except InvalidEnvelope:
            continue
    return None


def made_safe(result: CallToolResult) -> CallToolResult:
    """
    Return a result that every serializer takes, the same one if it was so already.

    Raises:
        TypeError: It holds what is no JSON.
        ValueError: As TypeError.
    """
    # A call that succeeds comes through here, so nothing is copied before something was found.
    if (result.meta is None or _is_fit(result.meta)) and _is_fit(getattr(result, STRUCTURED)):
        for block in result.content:
            if not _is_plain(block):
                break
        else:
            return result
    return serializable(result)


def _is_plain(block: Any) -> bool:
    return type(block) is TextContent and block.meta is None and _is_fit(block.text)


def _is_fit(value: Any) -> bool:
    kind = type(value)  # pyright: ignore[reportUnknownVariableType] -- anything's
    if kind in _SCALARS:
        return True
    if kind is str:
        return value.isascii() or encodable(value) is value
    if kind is dict:
        return all(map(_is_fit, value)) and all(map(_is_fit, value.values()))
    return kind is list and all(map(_is_fit, value))


_SCALARS: Final = frozenset({bool, int, float, type(None)})


def serializable(result: CallToolResult) -> CallToolResult:
    """
    Return a result that serializes, with lone surrogates replaced wherever they were; the same one
    if it has none.

    Raises:
        TypeError: It holds what is no JSON.
        ValueError: As TypeError.
    """
    try:
        result.model_dump_json(by_alias=True)
    except ValueError:
        values = result.model_dump(by_alias=True)
        json.dumps(values)
        return CallToolResult.model_validate(json_safe(values, _MAX_DEPTH))
    return result


def protocol_error_made_safe(exc: BaseException) -> BaseException:
    """
    Return a protocol error that every serializer takes, the same one if it was so already.
    """
    error: Any = getattr(exc, "error")  # noqa: B009 -- both majors' classes have it, and no type knows both
    message, data = encodable(error.message), json_safe(error.data)
    if message is error.message and data == error.data:
        return exc
    return protocol_error(error.code, message, data).with_traceback(exc.__traceback__)
