"""
JSON values: what kind one is, and the one walker that copies them within a budget.

Rule 1: a value is what its class is, not what the object says of itself.
Rule 2: a walk ends: its depth, and the room for what it copies, are bounded by whoever starts it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, TypeGuard, TypeVar


T = TypeVar("T")


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """
    Tell whether a value is an object of JSON, or of a class that behaves as one.
    """
    kind = type(value)
    # The abstract class is slow to ask, and most values are of JSON's own classes.
    return kind is dict or (kind not in _NO_MAPPINGS and issubclass(kind, Mapping))


_NO_MAPPINGS: Final = frozenset((type(None), str, int, float, bool, list, tuple))


def is_array(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """
    Tell whether a value is an array of JSON.
    """
    return issubclass(type(value), (list, tuple))


def is_text(value: object) -> TypeGuard[str]:
    """
    Tell whether a value is a text by its real class; an object may lie about it.
    """
    return issubclass(type(value), str)


def is_int(value: object) -> TypeGuard[int]:
    """
    Tell whether a value is an integer by its real class, and no boolean.
    """
    return issubclass(type(value), int) and type(value) is not bool


def is_number(value: object) -> TypeGuard[int | float]:
    """
    Tell whether a value is a number by its real class, and no boolean.
    """
    return issubclass(type(value), (int, float)) and type(value) is not bool


def as_mapping(value: object) -> Mapping[Any, Any]:
    """
    Return a value if it is a mapping, else an empty one.
    """
    return value if is_mapping(value) else {}


def as_array(value: object) -> list[Any] | tuple[Any, ...]:
    """
    Return a value if it is an array, else an empty one.
    """
    return value if is_array(value) else ()


def as_flag(value: object) -> bool | None:
    """
    Return a peer's boolean, also spelled as a text; None if it is neither.
    """
    if is_text(value):
        return _FLAGS.get(value[:8].strip().lower())
    return value if type(value) is bool else None


_FLAGS: Final = {"true": True, "false": False}


def as_text(value: object) -> str:
    """
    Return a value if it is a text, else "".
    """
    return value if is_text(value) else ""


def as_words(value: Any) -> str:
    """
    Return a text that is not blank, also as the first of an array; "" for anything else.
    """
    if is_array(value) and value:
        value = value[0]
    return value if isinstance(value, str) and not value.isspace() else ""


def first_text(
    obj: Mapping[Any, Any], names: Iterable[str], read: Callable[[Any], str] = as_words
) -> str:
    """
    Return what the first of some members is read as that is not empty, or "".
    """
    for name in names:
        text = read(obj.get(name))
        if text:
            return text
    return ""


def take_first(
    obj: Mapping[Any, Any], names: Iterable[str], read: Callable[[Any], T | None]
) -> T | None:
    """
    Return what the first of some members is read as that makes sense, or None.

    Args:
        obj: An object of JSON.
        names: The names of the members, in the order of asking.
        read: Returns what a value is read as; None for one that makes no sense.
    """
    for name in names:
        found = read(obj.get(name))
        if found is not None:
            return found
    return None


def first(values: Iterable[T | None]) -> T | None:
    """
    Return the first value that is not None, or None; the values after it are not made.
    """
    return next((value for value in values if value is not None), None)


#: The longest text that is tried as JSON, in characters.
MAX_JSON: Final = 65536


def try_json(text: str) -> Any:
    """
    Parse a text that is a JSON object or array; None if it is neither, or longer than `MAX_JSON`.
    """
    if len(text) > MAX_JSON:
        return None
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return None
    try:
        return json.loads(stripped)
    except (ValueError, RecursionError):
        return None


# ---- copying within a budget

#: The longest int, in bits, that is copied; Python refuses to read back some 14,000, and other
#: languages far less.
MAX_INT_BITS: Final = 4096

# Past anything that a subclass puts over them.
_ITEMS: Final[Any] = dict.__dict__["items"]
_TEXT: Final[Any] = str.__dict__["__str__"]
_GET: Final[Any] = dict.__dict__["get"]
_ITERATORS: Final[tuple[tuple[type, Any], ...]] = (
    (list, list.__dict__["__iter__"]),
    (tuple, tuple.__dict__["__iter__"]),
)

#: How much of a text counts as the name of the value that follows it, in characters.
_MAX_NAME: Final = 128

#: Where a value's name is the text of another member: that of the value, and those of the name.
_NAMED_BY_MEMBER: Final = (
    ("value", ("name", "key", "header", "field", "param", "parameter", "variable", "setting")),
    ("Value", ("Name", "Key", "ParameterKey", "ParameterName")),
    ("ParameterValue", ("ParameterKey", "ParameterName")),
)


class TooLarge(ValueError):  # noqa: N818 -- read as a sentence where it is caught
    """
    A value does not fit into the room of a strict copy.
    """


class JsonCopier:
    """
    Copies values as JSON that every serializer takes.

    Numbers, booleans and null stay, but NaN and the infinities, which no JSON has, become null.

    Args:
        text: Returns a text as it may leave; the second argument is its name, or "": that of its
            member, in ``{"name": "PIN", "value": "1234"}`` and ``[["PIN", "1234"]]`` the text
            beside it.
        key: Returns the name of a member as it may leave, whatever the key is.
        other: Returns what stands for a value that is no JSON, lies too deep, or is an integer that
            readers refuse.
        depth: How many levels of objects and arrays are copied.
        members: How many members of each are copied.
        room: How much is copied in all: each text counts its characters, each value *cost*.
        cost: What one value counts, so that *room* bounds their number.
        number: Returns a number as it may leave, given its name too. None: each stays as it is.
        strict: True raises `TooLarge` where the room or the depth ends; False leaves out the rest.
    """

    __slots__ = (
        "_cost",
        "_depth",
        "_key",
        "_members",
        "_number",
        "_other",
        "_room",
        "_strict",
        "_text",
    )

    def __init__(
        self,
        *,
        text: Callable[[str, str], str],
        key: Callable[[object], str],
        other: Callable[[object], Any],
        depth: int,
        members: int | None = None,
        room: float = math.inf,
        cost: int = 1,
        number: Callable[[float, str], Any] | None = None,
        strict: bool = False,
    ) -> None:
        self._text = text
        self._key = key
        self._number = number
        self._other = other
        self._depth = depth
        self._members = members
        self._room = room
        self._cost = cost
        self._strict = strict

    def copy(self, value: object) -> Any:
        """
        Return a copy of a value, made of new dicts and lists.

        Raises:
            TooLarge: The copy is strict, and the value too large or too deep.
        """
        return self._copy(value, "", self._depth)

    def _copy(self, value: object, name: str, depth: int) -> Any:
        self._spend(self._cost)
        kind = type(value)
        if issubclass(kind, str):
            return self._text(self._cut(_TEXT(value)), name)
        if value is None or kind is bool:
            return value
        if issubclass(kind, int):
            return self._convert_number(value, name) if _is_readable(value) else self._other(value)
        if issubclass(kind, float):
            return self._convert_number(value, name) if _is_finite(value) else None
        if not (is_mapping(value) or is_array(value)):
            return self._other(value)
        if depth == 0:
            return self._too_deep(value)
        if is_mapping(value):
            return dict(self._pairs(value, depth))
        return list(self._items(value, name, depth))

    def _convert_number(self, value: Any, name: str) -> Any:
        return value if self._number is None else self._number(value, name)

    def _pairs(self, value: Mapping[Any, Any], depth: int) -> Iterator[tuple[str, Any]]:
        member, given = _find_member_name(value)
        for key, item in islice(_pairs_of(value), self._members):
            if self._room <= 0:
                return
            name = self._cut(self._key(key))
            yield name, self._copy(item, given if name == member else name, depth - 1)

    def _items(self, value: object, name: str, depth: int) -> Iterator[Any]:
        for item in islice(_items_of(value), self._members):
            if self._room <= 0:
                return
            if depth > 1 and (pair := _as_pair(item)) is not None:
                yield self._copy_pair(*pair, depth - 2)
            else:
                yield self._copy(item, name, depth - 1)

    def _copy_pair(self, name: str, item: object, depth: int) -> list[Any]:
        self._spend(self._cost)
        return [self._copy(name, "", depth), self._copy(item, name[:_MAX_NAME], depth)]

    def _too_deep(self, value: object) -> Any:
        if self._strict:
            raise TooLarge("the value is too deep")
        return self._other(value)

    def _spend(self, amount: int) -> None:
        self._room -= amount
        if self._strict and self._room < 0:
            raise TooLarge("the value is too large")

    def _cut(self, text: str) -> str:
        if len(text) > self._room and not self._strict:
            text = text[: max(0, int(self._room))]
        self._spend(len(text))
        return text


def _find_member_name(value: Mapping[Any, Any]) -> tuple[str, str]:
    """
    Return the member of an object that another member names, and that name; "" and "" if none.
    """
    if issubclass(type(value), dict):
        for member, namers in _NAMED_BY_MEMBER:
            if _GET(value, member) is None:
                continue
            for namer in namers:
                if is_text(name := _GET(value, namer)):
                    return member, _TEXT(name)[:_MAX_NAME]
    return "", ""


def _as_pair(value: object) -> tuple[str, object] | None:
    """
    Return a name and its value if a value is an array of these two, else None.
    """
    if not is_array(value):
        return None
    items: list[object] = list(islice(_items_of(value), 3))
    return (_TEXT(items[0]), items[1]) if len(items) == 2 and is_text(items[0]) else None


def _is_readable(value: Any) -> bool:
    return int.bit_length(value) < MAX_INT_BITS


def _is_finite(value: Any) -> bool:
    return math.isfinite(value)


def _pairs_of(value: Mapping[Any, Any]) -> Any:
    if issubclass(type(value), dict):
        return _ITEMS(value)
    try:
        return iter(list(value.items()))
    except Exception:  # noqa: BLE001 -- a stranger's mapping may raise anything; it counts as empty
        return iter(())


def _items_of(value: object) -> Any:
    for kind, iterate in _ITERATORS:
        if issubclass(type(value), kind):
            return iterate(value)
    return iter(())
