"""
Every place on the wire where a failure stands: one writer, one reader.

Rule 1: ``content[0].text`` is the envelope's message, verbatim; what else the text says, `Guidance` decides.
Rule 2: what is not JSON, or no UTF-8, never leaves.
Rule 3: if even the writing fails, `LAST_RESORT` leaves.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from toolfault._envelope import McpExecuteError
from toolfault._names import META_KEY, META_VERSION
from toolfault._text import encodable
from toolfault.errors import ToolFault


_log = logging.getLogger("toolfault")


class Guidance(StrEnum):
    """
    What the text for the model says besides the message.
    """

    BLOCK = "block"
    """A second text block says whether and when to retry, and the hint, when there is something to act on."""

    INLINE = "inline"
    """The same, appended to the first block; for hosts that show a model only that one."""

    NONE = "none"
    """The bare contract: nothing more in the text, and no ``_meta`` unless the envelope has no other place."""


#: The envelope for when everything else has failed; made once, so that nothing can go wrong with it.
LAST_RESORT: Final[dict[str, Any]] = {
    "content": [{"type": "text", "text": "The tool failed, and so did the report of its failure."}],
    "isError": True,
    "structuredContent": {
        "code": "internal",
        "message": "The tool failed, and so did the report of its failure.",
        "category": "permanent",
        "retryable": False,
    },
}


def to_result(fault: ToolFault, *, guidance: Guidance = Guidance.BLOCK, structured: bool = True) -> dict[str, Any]:
    """
    Return a fault as a ``CallToolResult`` in wire spelling.

    Args:
        fault: What went wrong.
        guidance: What the text says besides the message.
        structured: False puts the envelope into ``_meta`` instead of ``structuredContent``, for a tool whose
            ``outputSchema`` has no room for it.

    Returns:
        A new dict of JSON values; `LAST_RESORT` if this fault can't be written.
    """
    try:
        return _written(fault, guidance, structured=structured)
    except Exception:
        _log.exception("a fault could not be written; the constant envelope leaves instead")
        return last_resort(structured=structured)


def last_resort(*, structured: bool = True) -> dict[str, Any]:
    """
    Return a copy of the constant result.
    """
    result: dict[str, Any] = {**LAST_RESORT, "content": [dict(LAST_RESORT["content"][0])]}
    envelope = dict(result.pop("structuredContent"))
    if structured:
        result["structuredContent"] = envelope
    else:
        result["_meta"] = {META_KEY: {"v": META_VERSION, "error": envelope}}
    return result


def _written(fault: ToolFault, guidance: Guidance, *, structured: bool) -> dict[str, Any]:
    envelope = json_safe(fault.envelope.to_wire())
    message = envelope["message"]
    texts = [message]
    if guidance is not Guidance.NONE and (advice := advice_for(fault.envelope)):
        advice = encodable(advice)
        texts = [message, advice] if guidance is Guidance.BLOCK else [f"{message}\n{advice}"]
    result: dict[str, Any] = {"content": [{"type": "text", "text": text} for text in texts], "isError": True}
    facts: dict[str, Any] = {"v": META_VERSION}
    if guidance is not Guidance.NONE:
        facts |= {str(key): json_safe(value) for key, value in fault.facts.items() if value is not None}
        if fault.outcome is not None:
            facts["outcome"] = fault.outcome
    if structured:
        result["structuredContent"] = envelope
    else:
        facts["error"] = envelope
    if len(facts) > 1:
        result["_meta"] = {META_KEY: facts}
    return result


def advice_for(envelope: McpExecuteError) -> str:
    """
    Return what a model may do about a failure: whether and when to retry, and the hint. Empty: nothing.
    """
    parts: list[str] = []
    wait = envelope.retry_after_seconds
    if envelope.retryable:
        when = "" if wait is None else " now" if wait == 0 else f" after {wait} second{'s' * (wait != 1)}"
        parts.append(f"The same call may succeed if it is retried{when or ' later'}.")
    if envelope.hint:
        parts.append(f"Hint: {envelope.hint}")
    return "\n".join(parts)


def json_safe(value: Any, depth: int = 8) -> Any:
    """
    Return a value as JSON that every serializer takes: finite numbers, encodable text; what is deeper becomes text.
    """
    if isinstance(value, str):
        return encodable(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth and isinstance(value, Mapping):
        return {encodable(str(key)): json_safe(item, depth - 1) for key, item in value.items()}
    if depth and isinstance(value, list | tuple):
        return [json_safe(item, depth - 1) for item in value]
    return encodable(str(value))
