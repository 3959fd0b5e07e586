"""
Redaction of the error results that a tool returns by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from toolfault._json import JsonCopier, is_array, is_mapping
from toolfault._redact.values import redacting_copier
from toolfault._redact.words import REMOVED


#: Members of content blocks that are binary, or that the protocol fixes.
_KEPT: Final = frozenset({"type", "data", "blob", "mimeType", "annotations"})


def redact_result(
    result: dict[str, Any], show: Callable[[str], str], redact: Callable[[str], str]
) -> dict[str, Any]:
    """
    Return a copy of an error result whose every text is redacted; binary content stays.

    Args:
        result: A ``CallToolResult`` in wire spelling.
        show: Makes the text of a content block fit to be shown to a model.
        redact: Takes the secrets out of any other text.
    """
    values, shown = redacting_copier(redact), redacting_copier(show)
    redacted = dict(result)
    redacted["content"] = [
        _redact_block(block, shown if is_text(block) else values)
        for block in result.get("content") or ()
    ]
    for place in ("structuredContent", "_meta"):
        if result.get(place) is not None:
            redacted[place] = values.copy(result[place])
    return redacted


def is_text(block: Any) -> bool:
    """
    Tell whether a content block in wire spelling is a text block.
    """
    return is_mapping(block) and block.get("type") == "text"


def _redact_block(value: Any, values: JsonCopier) -> Any:
    if is_array(value):
        return [_redact_block(item, values) for item in value]
    if not is_mapping(value):
        return value
    block = {name: _redact_member(name, item, values) for name, item in value.items()}
    if block.get("text") == "" and value["text"].strip():
        block["text"] = REMOVED
    return block


def _redact_member(name: str, item: Any, values: JsonCopier) -> Any:
    if name in _KEPT:
        return item
    return _redact_block(item, values) if name == "resource" else values.copy(item)
