"""
Every place on the wire where a failure stands: one writer, one reader.

Rule 1: ``content[0].text`` is the envelope's message, verbatim; what else the text says, `Guidance`
decides.
Rule 2: what is not JSON, or no UTF-8, never leaves.
Rule 3: if even the writing fails, `LAST_RESORT` leaves.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeGuard

from toolfault._advice import advice_for, with_advice
from toolfault._json import JsonCopier, is_array, is_mapping, is_text
from toolfault._names import META_KEY, META_VERSION
from toolfault._text import encodable, safe_str
from toolfault.errors import FoundIn, ToolFault


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
        return _written(fault, guidance, structured=structured)
    except Exception:  # noqa: BLE001 -- a failure while reporting a failure ends in a constant
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
    facts: dict[str, Any] = {"v": META_VERSION}
    if guidance is not Guidance.NONE:
        for key, value in fault.facts.items():
            if value is not None and key not in {"v", "error"}:
                facts[str(key)] = (
                    value if type(value) is str and value.isascii() else json_safe(value)
                )
        if fault.outcome is not None:
            facts["outcome"] = fault.outcome
    if structured:
        result["structuredContent"] = envelope
    else:
        facts["error"] = envelope
    if len(facts) > 1:
        result["_meta"] = {META_KEY: facts}
    return result


def _texts(fault: ToolFault, message: str, guidance: Guidance) -> list[str]:
    if guidance is Guidance.NONE:
        return [message]
    if guidance is Guidance.INLINE:
        return [encodable(with_advice(fault.envelope))]
    advice = advice_for(fault.envelope)
    return [message, encodable(advice)] if advice else [message]


def json_safe(value: Any, depth: int = 8) -> Any:
    """
    Return a value as JSON that every serializer takes: finite numbers, encodable text; what is
    deeper becomes text.

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


# ---- the reader


#: Where SEP-3313, a draft, wants a failure to stand in a result's ``_meta``.
TOOL_FAILURE_KEY: Final = "io.modelcontextprotocol/toolFailure"

#: The longest text, in characters, that is tried as JSON; and how many content blocks are looked
#: at.
MAX_JSON: Final = 65536
_MAX_BLOCKS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """
    What stands where in a result. Nothing in it is judged yet, or safe to show.

    Attributes:
        is_error:
            The flag of the result. A result that asks for input is no failure.

        structured:
            The structured content, as it came.

        meta:
            The result's ``_meta``; empty if there is none.

        content:
            The content, as it came.
    """

    is_error: bool
    structured: Any
    meta: Mapping[Any, Any]
    content: Any

    @property
    def texts(self) -> tuple[str, ...]:
        """
        Return the texts of the content blocks, whole; collected anew each time, since most results
        need none.
        """
        return texts_of(self.content)

    @property
    def blank(self) -> bool:
        """
        Tell whether there is no content block at all.
        """
        return not self.content

    @property
    def ours(self) -> Mapping[Any, Any]:
        """
        Return what stands under our key in ``_meta``; empty if there is nothing.
        """
        return as_mapping(self.meta.get(META_KEY))

    def bodies(self) -> Iterator[tuple[FoundIn, Any]]:
        """
        Go through the places where an envelope may stand, strongest first; JSON in a text is read
        when it is its turn.
        """
        if self.structured is not None:
            yield "structured_content", self.structured
        if (ours := self.ours.get("error")) is not None:
            yield "meta", ours
        if (failure := self.meta.get(TOOL_FAILURE_KEY)) is not None:
            yield "tool_failure", failure
        for text in self.texts:
            if (body := json_in(text)) is not None:
                yield "text", body


_NO_META: Final[Mapping[Any, Any]] = {}


def read(result: Any) -> Reading | None:
    """
    Return what stands where in a result of any SDK version, or as a dict in either spelling. None:
    it is no result.
    """
    flag = member(result, "isError", "is_error")
    content = member(result, "content")
    structured = member(result, "structuredContent", "structured_content")
    if flag is None and structured is None and not isinstance(content, list | tuple | str):
        return None
    failed = (
        as_flag(flag) is True and member(result, "resultType", "result_type") != "input_required"
    )
    meta = as_mapping(member(result, "_meta", "meta")) if failed else _NO_META
    return Reading(is_error=failed, structured=structured, meta=meta, content=content)


def json_in(text: str) -> Any:
    """
    Return the JSON object or array that a text is. None: it is something else, or too long to be
    tried.
    """
    if len(text) > MAX_JSON or not (stripped := text.strip()).startswith(("{", "[")):
        return None
    try:
        return json.loads(stripped)
    except (ValueError, RecursionError):
        return None


def member(obj: Any, *names: str) -> Any:
    """
    Return the first of these members or attributes that an object has a value for. Never raises.
    """
    # Most are plain dicts, and those can't do anything odd.
    if _is_dict(obj):
        return _first(obj, names)
    own = _own_fields(obj, names)
    for name in own or names:
        try:
            # A model with such a field is no mapping, and asking that is slow.
            value: Any = getattr(obj, name, None) if own or not is_mapping(obj) else obj.get(name)
        except Exception:  # noqa: BLE001, S112 -- a property of a stranger's object may raise anything
            continue
        if value is not None:
            return value
    return None


def _own_fields(obj: object, names: tuple[str, ...]) -> list[str]:
    # FastMCP warns of the other major's spelling, which its shim gives the SDK's models beside
    # their own fields.
    try:
        fields: Any = getattr(type(obj), "__pydantic_fields__", ())
    except Exception:  # noqa: BLE001 -- and so may its class's
        return []
    return [name for name in names if name in fields] if isinstance(fields, dict) else []


def _is_dict(value: object) -> TypeGuard[dict[Any, Any]]:
    return type(value) is dict


def _first(obj: dict[Any, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if (value := obj.get(name)) is not None:
            return value
    return None


def as_mapping(value: Any) -> Mapping[Any, Any]:
    """
    Return a value if it is a mapping, else an empty one.
    """
    return value if is_mapping(value) else {}


def as_flag(value: Any) -> bool | None:
    """
    Return a peer's boolean, also where it is spelled as a text. None: it is neither.
    """
    if is_text(value):
        return {"true": True, "false": False}.get(value[:8].strip().lower())
    return value if type(value) is bool else None


def texts_of(content: Any) -> tuple[str, ...]:
    """
    Return the texts of content blocks.
    """
    if isinstance(content, str):
        return (content,)
    if not is_array(content):
        return ()
    found: list[str] = []
    for block in content[:_MAX_BLOCKS]:
        text = (
            block
            if isinstance(block, str)
            else member(block, "text") or member(member(block, "resource"), "text")
        )
        if isinstance(text, str):
            found.append(text)
    return tuple(found)
