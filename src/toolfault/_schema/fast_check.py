"""
A quick yes to arguments and results that plainly fit their schema: most do, and jsonschema takes as
long as a call.

Rule 1: yes means that jsonschema would say yes too. No means only that it has to be asked.
Rule 2: what is not understood here, a keyword or a dialect, is never a yes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final


Check = Callable[[Any], bool]
"""
Tells whether a value surely fits.
"""

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

#: By exact type: a float without a fraction is an integer too, which jsonschema may find out.
_TYPES: Final[dict[str, frozenset[type]]] = {
    "array": frozenset({list}),
    "boolean": frozenset({bool}),
    "integer": frozenset({int}),
    "null": frozenset({type(None)}),
    "number": frozenset({int, float}),
    "object": frozenset({dict}),
    "string": frozenset({str}),
}
_NUMBERS: Final = _TYPES["number"]

#: Keywords that refuse nothing.
_SAY_NOTHING: Final = frozenset(
    "title description default examples format deprecated readOnly writeOnly contentEncoding contentMediaType".split()
) | {"$comment", "$defs", "$schema", "definitions"}

#: Keywords of objects, which are looked at together.
_OF_OBJECTS: Final = frozenset({"additionalProperties", "properties", "required"})

_simple_reference = re.compile(r"#/(\$defs|definitions)/([\w.\- ]{1,200})").fullmatch


def quick(schema: dict[str, Any]) -> Check:
    """
    Return a check for a valid schema.
    """
    if schema.get("$schema", _DIALECT) != _DIALECT:
        return _unsure
    check = _Compiler(schema).check_for(schema)

    def safely(value: Any) -> bool:
        try:
            return check(value)
        except RecursionError:
            return False

    return safely


def _unsure(_value: Any) -> bool:
    return False


def _sure(_value: Any) -> bool:
    return True


class _Compiler:
    """
    Makes checks of one schema and its definitions.
    """

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._referred: dict[str, list[Check]] = {}

    def check_for(self, schema: Any) -> Check:
        if isinstance(schema, bool):
            return _sure if schema else _unsure
        checks: list[Check] = []
        for keyword, demand in schema.items():
            if keyword in _SAY_NOTHING or keyword in _OF_OBJECTS or keyword.startswith("x-"):
                continue
            make = _KEYWORDS.get(keyword)
            if make is None:
                return _unsure
            checks.append(make(self, demand))
        if _OF_OBJECTS & schema.keys():
            checks.append(self._members(schema))
        return _all(checks)

    def _members(self, schema: dict[str, Any]) -> Check:
        required: tuple[str, ...] = tuple(schema.get("required", ()))
        properties = {
            name: self.check_for(sub) for name, sub in schema.get("properties", {}).items()
        }
        others = self.check_for(schema.get("additionalProperties", True))

        def check(value: Any) -> bool:
            if type(value) is not dict:
                return True
            for name in required:
                if name not in value:
                    return False
            return all(properties.get(name, others)(member) for name, member in value.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType] -- anything

        return check

    def type(self, demand: str | list[str]) -> Check:
        names = [demand] if isinstance(demand, str) else demand
        types = frozenset[Any]().union(*(_TYPES[name] for name in names))
        return lambda value: type(value) in types

    def enum(self, demand: list[Any]) -> Check:
        # Texts only: elsewhere True is 1.
        allowed = {value for value in demand if isinstance(value, str)}
        return lambda value: type(value) is str and value in allowed

    def const(self, demand: Any) -> Check:
        return self.enum([demand])

    def pattern(self, demand: str) -> Check:
        found = re.compile(demand).search
        return lambda value: type(value) is not str or found(value) is not None

    def items(self, demand: Any) -> Check:
        each = self.check_for(demand)
        return lambda value: type(value) is not list or all(each(item) for item in value)  # pyright: ignore[reportUnknownVariableType] -- anything

    def any_of(self, demand: list[Any]) -> Check:
        checks = [self.check_for(sub) for sub in demand]
        return lambda value: any(check(value) for check in checks)

    def all_of(self, demand: list[Any]) -> Check:
        return _all([self.check_for(sub) for sub in demand])

    def ref(self, demand: str) -> Check:
        simple = _simple_reference(demand)
        target = None if simple is None else self._root.get(simple[1], {}).get(simple[2])
        if target is None or _is_elsewhere(self._root):
            return _unsure
        cell = self._referred.get(demand)
        if cell is None:
            # Before it is made, since it may refer to itself.
            cell = self._referred[demand] = [_unsure]
            cell[0] = self.check_for(target)
        return lambda value: cell[0](value)  # noqa: PLW0108 -- what is in the cell may come later


def _is_elsewhere(schema: dict[str, Any]) -> bool:
    """
    Tell whether a schema has a name of its own, to which references would relate.
    """
    return "$id" in schema


def _all(checks: list[Check]) -> Check:
    if not checks:
        return _sure
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:
        first, second = checks
        return lambda value: first(value) and second(value)
    return lambda value: all(check(value) for check in checks)


def _limit(fits: Callable[[Any, Any], bool]) -> Callable[[_Compiler, Any], Check]:
    return lambda _compiler, limit: lambda value: type(value) not in _NUMBERS or fits(value, limit)


def _length(
    kind: type[str | list[Any]], fits: Callable[[int, Any], bool]
) -> Callable[[_Compiler, Any], Check]:
    def make(_compiler: _Compiler, limit: Any) -> Check:
        return lambda value: type(value) is not kind or fits(len(value), limit)

    return make


_KEYWORDS: Final[dict[str, Callable[[_Compiler, Any], Check]]] = {
    "$ref": _Compiler.ref,
    "allOf": _Compiler.all_of,
    "anyOf": _Compiler.any_of,
    "const": _Compiler.const,
    "enum": _Compiler.enum,
    "exclusiveMaximum": _limit(lambda value, limit: value < limit),
    "exclusiveMinimum": _limit(lambda value, limit: value > limit),
    "items": _Compiler.items,
    "maxItems": _length(list, lambda length, limit: length <= limit),
    "maxLength": _length(str, lambda length, limit: length <= limit),
    "maximum": _limit(lambda value, limit: value <= limit),
    "minItems": _length(list, lambda length, limit: length >= limit),
    "minLength": _length(str, lambda length, limit: length >= limit),
    "minimum": _limit(lambda value, limit: value >= limit),
    "pattern": _Compiler.pattern,
    "type": _Compiler.type,
}
