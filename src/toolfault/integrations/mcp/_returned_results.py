"""
Results that a tool returned by itself.

Rule 1: a success stays as it is; only lone surrogates, which end a stdio server, are replaced.
Rule 2: an error result keeps its content blocks and its envelope, redacted; one without an envelope
gets one.
"""

from __future__ import annotations

import json
from typing import Any, Final, cast

from mcp.types import CallToolResult, ContentBlock, TextContent
from pydantic import TypeAdapter

from toolfault import InvalidEnvelope, McpErrorCode, McpExecuteError, ToolFault
from toolfault.hosting import META_KEY, Call, Guard, encodable, json_safe
from toolfault.integrations.mcp._compat import STRUCTURED
from toolfault.integrations.mcp._results import to_call_tool_result


#: How deep a result may be nested and still be copied value by value.
_MAX_DEPTH: Final = 200

#: The longest int, in bits, that Python's own parser of JSON reads.
_MAX_INT_BITS: Final = 14_000


class NoResult(ToolFault):
    """
    The protocol can't carry what a handler returned; the tool may have succeeded.
    """

    def __init__(self, what: str) -> None:
        super().__init__(
            McpErrorCode.INTERNAL,
            f"The tool returned {what}, so its result can't be sent. "
            "The server's author has to correct it.",
            outcome="executed",
        )


# Error results


def adopt_error_result(
    result: CallToolResult, guard: Guard, call: Call, *, structured: bool
) -> CallToolResult:
    """
    Return an error result that a tool returned, redacted, with an envelope if it had none.
    """
    wire = guard.safe_result(_dump(result))
    own = envelope_in(wire)
    if own is None:
        return _with_envelope(_load(wire), guard, call, structured=structured)
    fault = ToolFault.of(own)
    message = guard.safe_text(own.message) or "[redacted]"
    meta: dict[str, Any] = wire.get("_meta") or {}
    for place in (wire.get("structuredContent"), _member(meta.get(META_KEY), "error")):
        if isinstance(place, dict) and "message" in place:
            place["message"] = message
    failure_id = guard.note_returned(fault, call)
    if META_KEY not in meta:
        wire["_meta"] = {**meta, META_KEY: {"v": 1, "id": failure_id}}
    return _load(wire)


def _with_envelope(
    result: CallToolResult, guard: Guard, call: Call, *, structured: bool
) -> CallToolResult:
    message, others = _split_message(result.content)
    texts = [text for text in map(_text_of, others) if text.strip()]
    fault = guard.read_prose(message, call, more="\n".join(texts))
    # What the tool has in the place of an envelope stays; the envelope goes into `_meta` then.
    structured = structured and getattr(result, STRUCTURED) is None
    made = to_call_tool_result(guard.to_result(fault, structured=structured))
    mirror = TextContent(type="text", text=fault.envelope.message)
    update: dict[str, Any] = {
        "content": [mirror, *others],
        "meta": {**(made.meta or {}), **(result.meta or {})} or None,
    }
    if structured:
        update[STRUCTURED] = getattr(made, STRUCTURED)
    return result.model_copy(update=update)


def _split_message(content: list[Any]) -> tuple[str, list[Any]]:
    """
    Return the text of the first block and the other blocks; "" and all where it has no text.
    """
    message = _text_of(content[0]) if content else ""
    return (message, content[1:]) if message.strip() else ("", content)


def _text_of(block: Any) -> str:
    return block.text if isinstance(block, TextContent) else ""


def envelope_in(wire: dict[str, Any]) -> McpExecuteError | None:
    """
    Return the envelope that a result in wire spelling carries. None: it has none.
    """
    meta: Any = wire.get("_meta")
    for place in (wire.get("structuredContent"), _member(_member(meta, META_KEY), "error")):
        try:
            return McpExecuteError.from_wire(place)
        except InvalidEnvelope:
            continue
    return None


def _member(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None


def _dump(result: CallToolResult) -> dict[str, Any]:
    return result.model_dump(by_alias=True, exclude_none=True)


def _load(wire: dict[str, Any]) -> CallToolResult:
    """
    Return the model of a redacted result; a block that redaction made invalid becomes a text.
    """
    blocks: list[Any] = []
    for block in wire["content"]:
        try:
            blocks.append(_BLOCK.validate_python(block))
        except ValueError:
            blocks.append(TextContent(type="text", text=json.dumps(json_safe(block))))
    return CallToolResult.model_validate({**wire, "content": blocks})


_BLOCK: Final[TypeAdapter[Any]] = TypeAdapter(ContentBlock)


# Successes


def sendable(result: CallToolResult) -> CallToolResult:
    """
    Return a result that every serializer and parser takes, the same one if it was so already.

    Raises:
        NoResult: It holds values that are no JSON.
    """
    try:
        return sanitize_result(result)
    except (TypeError, ValueError) as exc:
        raise NoResult("structured content or _meta with values that are no JSON") from exc


def sanitize_result(result: CallToolResult) -> CallToolResult:
    """
    Return a result that every serializer takes, the same one if it was so already.

    Raises:
        TypeError: It holds a value that JSON can't express.
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
    if kind is int:
        return _is_readable(value)
    if kind is dict:
        return all(map(_is_fit, value)) and all(map(_is_fit, value.values()))
    return kind is list and all(map(_is_fit, value))


_SCALARS: Final = frozenset({bool, float, type(None)})


def _is_readable(number: int) -> bool:
    return number.bit_length() <= _MAX_INT_BITS


def serializable(result: CallToolResult) -> CallToolResult:
    """
    Return a result without lone surrogates, the same one if it has none.

    Raises:
        TypeError: It holds a value that JSON can't express.
        ValueError: As TypeError; or an int that is too long for parsers.
    """
    try:
        result.model_dump_json(by_alias=True)
    except ValueError:
        values = result.model_dump(by_alias=True)
        json.dumps(values)
        return CallToolResult.model_validate(json_safe(values, _MAX_DEPTH))
    _check_ints(result.meta)
    _check_ints(getattr(result, STRUCTURED))
    return result


def _check_ints(value: Any) -> None:
    if isinstance(value, dict):
        value = list(cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType] -- anything
            _check_ints(item)
    elif type(value) is int and not _is_readable(value):
        raise ValueError("an int has more digits than parsers read")
