"""
The one writer of results: every place on the wire where a failure stands.

Rule 1: ``content[0].text`` is the envelope's message, verbatim; what else the text says, `Guidance`
decides.
Rule 2: what is not JSON, or no UTF-8, never leaves.
Rule 3: if even the writing fails, `LAST_RESORT` leaves.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from toolfault._json import JsonCopier
from toolfault._meanings.sentences import advice_for, with_advice
from toolfault._names import META_KEY, META_VERSION, public
from toolfault._text import encodable, safe_str
from toolfault._tracebacks import log_exception
from toolfault.errors import ToolFault


@public
class Guidance(StrEnum):
    """
    What the text for the model says besides the message.
    """

    BLOCK = "block"
    """
    A second text block says whether and when to retry, and the hint, if there is something to do.
    """

    INLINE = "inline"
    """The same, appended to the first block; for hosts that show a model only that one."""

    NONE = "none"
    """
    The bare contract: nothing more in the text, and no ``_meta`` unless the envelope needs it.
    """


#: The envelope for when everything else has failed; made once, so that nothing can go wrong with
#: it.
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


def to_result(
    fault: ToolFault, *, guidance: Guidance = Guidance.BLOCK, structured: bool = True
) -> dict[str, Any]:
    """
    Return a fault as a ``CallToolResult`` in wire spelling.

    Args:
        fault: What went wrong.
        guidance: What the text says besides the message.
        structured: False puts the envelope into ``_meta`` instead of ``structuredContent``, for a
            tool whose
            ``outputSchema`` has no room for it.

    Returns:
        A new dict of JSON values; `LAST_RESORT` if this fault can't be written.
    """
    try:
        return _write(fault, guidance, structured=structured)
    except Exception:  # noqa: BLE001 -- a failure while reporting a failure ends in a constant
        log_exception("a fault could not be written; the constant envelope leaves instead")
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


def _write(fault: ToolFault, guidance: Guidance, *, structured: bool) -> dict[str, Any]:
    envelope = fault.envelope.to_wire()
    message = envelope["message"] = encodable(envelope["message"])
    if "hint" in envelope:
        envelope["hint"] = encodable(envelope["hint"])
    if "cause_chain" in envelope:
        envelope["cause_chain"] = list(map(encodable, envelope["cause_chain"]))
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": text} for text in _texts(fault, message, guidance)],
        "isError": True,
    }
    facts: dict[str, Any] = {"v": META_VERSION} if guidance is Guidance.NONE else _facts(fault)
    if structured:
        result["structuredContent"] = envelope
    else:
        facts["error"] = envelope
    if len(facts) > 1:
        result["_meta"] = {META_KEY: facts}
    return result


def _facts(fault: ToolFault) -> dict[str, Any]:
    facts: dict[str, Any] = {"v": META_VERSION}
    for key, value in fault.facts.items():
        if value is None or key in {"v", "error"}:
            continue
        is_plain = type(value) is str and value.isascii()
        facts[str(key)] = value if is_plain else json_safe(value)
    if fault.outcome is not None:
        facts["outcome"] = fault.outcome
    return facts


def _texts(fault: ToolFault, message: str, guidance: Guidance) -> list[str]:
    if guidance is Guidance.NONE:
        return [message]
    if guidance is Guidance.INLINE:
        return [encodable(with_advice(fault.envelope))]
    advice = advice_for(fault.envelope)
    return [message, encodable(advice)] if advice else [message]


def json_safe(value: Any, depth: int = 8) -> Any:
    """
    Return a value as JSON that every serializer takes; what lies deeper becomes text.

    Args:
        value: Any object.
        depth: How many levels of objects and arrays stay.
    """
    copier = JsonCopier(
        text=lambda text, _name: encodable(text), key=_text, other=_text, depth=depth
    )
    return copier.copy(value)


def _text(value: object) -> str:
    return encodable(safe_str(value))
