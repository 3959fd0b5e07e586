"""
The one reader of results: which part stands where, in every spelling.

Rule 1: nothing here is judged or safe to show.
Rule 2: reading a member of a stranger's object never raises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from toolfault._json import as_flag, as_mapping, is_array, is_mapping, is_text, try_json
from toolfault._names import META_KEY, TOOL_FAILURE_KEY
from toolfault.errors import FoundIn


#: How many content blocks are looked at.
_MAX_BLOCKS: Final = 64

_NO_META: Final[Mapping[Any, Any]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """
    The parts of a result, as they came.

    Attributes:
        is_error: The flag of the result. A result that asks for input is not a failure.
        structured: The structured content.
        meta: The result's ``_meta``; empty if there is none.
        content: The content.
    """

    is_error: bool
    structured: Any
    meta: Mapping[Any, Any]
    content: Any

    @property
    def texts(self) -> tuple[str, ...]:
        """
        The texts of the content blocks, whole; collected at each use, since most results need none.
        """
        return texts_of(self.content)

    @property
    def blank(self) -> bool:
        """
        Whether there is no content block at all.
        """
        return not self.content

    @property
    def ours(self) -> Mapping[Any, Any]:
        """
        The value under our key in ``_meta``; empty if there is none.
        """
        return as_mapping(self.meta.get(META_KEY, _NO_META))

    def bodies(self) -> Iterator[tuple[FoundIn, Any]]:
        """
        Yield each value that may hold an envelope, strongest first; JSON in a text is parsed late.
        """
        places: tuple[tuple[FoundIn, Any], ...] = (
            ("structured_content", self.structured),
            ("meta", self.ours.get("error")),
            ("tool_failure", self.meta.get(TOOL_FAILURE_KEY)),
        )
        for place, body in places:
            if body is not None:
                yield place, body
        for text in self.texts:
            body = try_json(text)
            if body is not None:
                yield "text", body


def read(result: Any) -> Reading | None:
    """
    Return the parts of a result of any SDK version or of a dict, or None if it is not a result.
    """
    flag = member(result, "isError", "is_error")
    content = member(result, "content")
    structured = member(result, "structuredContent", "structured_content")
    if flag is None and structured is None and not isinstance(content, list | tuple | str):
        return None
    if as_flag(flag) is not True:
        return Reading(is_error=False, structured=structured, meta=_NO_META, content=content)
    asks_for_input = member(result, "resultType", "result_type") == "input_required"
    meta = as_mapping(member(result, "_meta", "meta"))
    return Reading(is_error=not asks_for_input, structured=structured, meta=meta, content=content)


def texts_of(content: Any) -> tuple[str, ...]:
    """
    Return the texts of content blocks.
    """
    if is_text(content):
        return (content,)
    if not is_array(content):
        return ()
    texts = map(_text_of, content[:_MAX_BLOCKS])
    return tuple(text for text in texts if text is not None)


def _text_of(block: Any) -> str | None:
    text = block
    if not is_text(block):
        text = member(block, "text") or member(member(block, "resource"), "text")
    return text if is_text(text) else None


# ---- members of strangers' objects


def member(obj: Any, *names: str) -> Any:
    """
    Return the first of these members or attributes that has a value, or None; never raises.
    """
    # Most are plain dicts, and those can't do anything odd.
    if _is_dict(obj):
        return _first(obj, names)
    # A model with such a field is not a mapping, and asking that is slow.
    own = _own_fields(obj, names)
    if not own and is_mapping(obj):
        return _first(obj, names)
    for name in own or names:
        try:
            value: Any = getattr(obj, name, None)
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


def _first(obj: Mapping[Any, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        try:
            value = obj.get(name)
        except Exception:  # noqa: BLE001, S112 -- as `member`
            continue
        if value is not None:
            return value
    return None
