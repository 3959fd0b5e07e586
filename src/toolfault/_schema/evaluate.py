"""
Evaluate values against JSON Schemas with a budget of work.

The verdicts are those of jsonschema, for the drafts 6, 7 and 2020-12, whatever the value is. A
keyword that this module does not evaluate raises `Unsupported`; `bounded` asks jsonschema then.

Rule 1: nothing grows faster than the value; whatever does not fit into the budget raises
`OutOfWork`.
Rule 2: an error quotes no value, since the text of a large value costs more than its check.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false
# Schemas and values are anybody's: what isinstance finds in them is a list or dict of anything.

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from numbers import Number
from typing import Any, Final, NamedTuple, cast
from urllib.parse import unquote

from toolfault._schema.patterns import searcher


Work = list[int]
"""
The units of work that are left, in its only item.
"""

Fits = Callable[[Any, Work], bool]
Errors = Callable[[Any, Work], Iterator[Any]]

#: What a reference, a combinator or a pattern costs beside one unit for each member or item.
_COST: Final = 8

#: What an error costs at each level that it passes.
_ERROR_COST: Final = 20


class OutOfWork(Exception):  # noqa: N818 -- says what happened; never leaves the package
    """
    The budget was spent before there was a verdict.
    """


class Unsupported(Exception):  # noqa: N818 -- as above
    """
    The schema has a keyword that only jsonschema evaluates.
    """


class Unresolved(Exception):  # noqa: N818 -- as above
    """
    A reference leads nowhere, or to another document.
    """


def spend(work: Work, units: int) -> None:
    """
    Take units from the budget.

    Raises:
        OutOfWork: There are not so many left.
    """
    work[0] -= units
    if work[0] < 0:
        raise OutOfWork


class Part(NamedTuple):
    """
    One keyword of a schema, or several that belong together.
    """

    fits: Fits
    errors: Errors


def _is_number(value: Any) -> bool:
    # By its exact type first: most numbers have one of these.
    if type(value) is int or type(value) is float:
        return True
    return not isinstance(value, bool) and isinstance(value, Number)


def _is_integer(value: Any) -> bool:
    if type(value) is int:
        return True
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


#: What has a type of JSON Schema, as jsonschema sees it.
_TYPES: Final[dict[str, Callable[[Any], bool]]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_integer,
    "null": lambda value: value is None,
    "number": _is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def identity(value: Any, work: Work) -> Any:
    """
    Return a key that two values share if jsonschema calls them equal.
    """
    spend(work, 1)
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ("array", *(identity(item, work) for item in value))
    if isinstance(value, dict):
        spend(work, _COST)
        return frozenset((name, identity(member, work)) for name, member in value.items())
    # True is not 1, and 1 is 1.0.
    return (value,) if isinstance(value, bool) else value


class Document:
    """
    A whole schema, and what its parts have in common.
    """

    def __init__(
        self,
        root: Any,
        keywords: Iterable[str],
        *,
        is_legacy: bool,
        is_lenient: bool = False,
    ) -> None:
        """
        Take a schema.

        Args:
            root: The schema.
            keywords: The keywords that mean something in its draft.
            is_legacy: Whether its draft is 7 or older.
            is_lenient: Whether a reference that leads nowhere constrains nothing.
        """
        self.root = root
        self.keywords = keywords
        self.is_legacy = is_legacy
        self.references: dict[str, Schema] = {}
        #: Whether a reference that leads nowhere constrains nothing, and which ones did.
        self.is_lenient = is_lenient
        self.unresolved: set[str] = set()


class Schema:
    """
    A part of a document that is compiled where a value first meets it.
    """

    def __init__(self, schema: Any, document: Document) -> None:
        """
        Take a schema, and the document that it belongs to.
        """
        self.schema = schema
        self.document = document
        self.is_legacy = document.is_legacy
        self._parts: list[Part] = []
        #: Tells whether a value fits; raises `OutOfWork`, `Unsupported` or `Unresolved`.
        self.fits: Fits = self._compile_and_fit
        self._is_compiled = False

    def part(self, schema: Any) -> Schema:
        """
        Return a part of this schema.

        Raises:
            TypeError: It is not a schema.
        """
        if not isinstance(schema, dict | bool):
            raise TypeError(f"a {type(schema).__name__} is not a schema")
        return Schema(schema, self.document)

    def errors(self, value: Any, work: Work) -> Iterator[Any]:
        """
        Yield what does not fit, as errors of jsonschema without texts.
        """
        if not self._is_compiled:
            self._compile()
        for part in self._parts:
            yield from part.errors(value, work)

    def descend(self, value: Any, work: Work, path: Any = None, place: Any = None) -> Iterator[Any]:
        """
        Yield what does not fit, with paths from the enclosing value or schema.
        """
        spend(work, 1)
        for error in self.errors(value, work):
            spend(work, _ERROR_COST)
            if path is not None:
                error.path.appendleft(path)
            if place is not None:
                error.schema_path.appendleft(place)
            yield error

    def _compile_and_fit(self, value: Any, work: Work) -> bool:
        self._compile()
        return self.fits(value, work)

    def _compile(self) -> None:
        schema = self.schema
        if isinstance(schema, bool):
            parts = [] if schema else [self.leaf(None, lambda _value, _work: False)]
        else:
            parts = self._compile_keywords(schema)
        self._parts = parts
        self.fits = _all([part.fits for part in parts])
        self._is_compiled = True

    def _compile_keywords(self, schema: dict[str, Any]) -> list[Part]:
        if schema is not self.document.root and "$id" in schema:
            raise Unsupported
        if self.is_legacy and "$ref" in schema:
            return [_reference(self, schema["$ref"])]
        parts: list[Part] = []
        if not _OF_OBJECTS.isdisjoint(schema):
            parts.append(_Members(self).part())
        for keyword, demand in schema.items():
            if keyword in self.document.keywords and keyword not in _ELSEWHERE:
                parts.append(self._keyword_part(keyword, demand))
        return parts

    def _keyword_part(self, keyword: str, demand: Any) -> Part:
        if keyword in _SIMPLE:
            return self.leaf(keyword, _SIMPLE[keyword](demand))
        make = _KEYWORDS.get(keyword)
        if make is None:
            raise Unsupported
        return make(self, demand)

    def leaf(self, keyword: str | None, fits: Fits) -> Part:
        """
        Return a part that has one error.
        """

        def errors(value: Any, work: Work) -> Iterator[Any]:
            try:
                if fits(value, work):
                    return
            except (ArithmeticError, TypeError, ValueError):
                # A value that can't be compared with the demand does not meet it.
                spend(work, _ERROR_COST)
            yield self.error(keyword, value)

        return Part(fits, errors)

    def error(self, keyword: str | None, value: Any, **fields: Any) -> Any:
        """
        Return an error of a keyword.
        """
        from jsonschema import ValidationError  # noqa: PLC0415 -- at first use: it is slow to load

        given: dict[str, Any] = {
            "validator": keyword,
            "validator_value": None if keyword is None else self.schema.get(keyword),
            "instance": value,
            "schema": self.schema,
            "schema_path": () if keyword is None else (keyword,),
        }
        return ValidationError("does not fit", **{**given, **fields})


def _all(checks: list[Fits]) -> Fits:
    if not checks:
        return lambda _value, _work: True
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:
        first, second = checks
        return lambda value, work: first(value, work) and second(value, work)

    def fits(value: Any, work: Work) -> bool:
        for check in checks:  # noqa: SIM110 -- a generator costs time and a frame
            if not check(value, work):
                return False
        return True

    return fits


# ---- keywords that look at one value alone


def _type(demand: Any) -> Fits:
    names = [demand] if isinstance(demand, str) else demand
    tests = [_TYPES[name] for name in names]
    if len(tests) == 1:
        test = tests[0]
        return lambda value, _work: test(value)
    return lambda value, _work: any(test(value) for test in tests)


def _enum(demand: list[Any]) -> Fits:
    allowed = {identity(value, [1_000_000]) for value in demand}
    return lambda value, work: identity(value, work) in allowed


def _const(demand: Any) -> Fits:
    return _enum([demand])


def _pattern(demand: str) -> Fits:
    search = searcher(demand)

    def fits(value: Any, work: Work) -> bool:
        if not isinstance(value, str):
            return True
        spend(work, _COST + len(value) // 16)
        return search(value)

    return fits


def _multiple_of(demand: Any) -> Fits:
    def fits(value: Any, work: Work) -> bool:
        if not _is_number(value):
            return True
        if not isinstance(demand, float):
            return not value % demand
        quotient = value / demand
        try:
            return bool(int(quotient) == quotient)
        except OverflowError:
            from fractions import Fraction  # noqa: PLC0415 -- hardly ever

            spend(work, 100)
            return (Fraction(value) / Fraction(demand)).denominator == 1

    return fits


def _unique_items(demand: Any) -> Fits:
    def fits(value: Any, work: Work) -> bool:
        if not demand or not isinstance(value, list):
            return True
        return not has_equal_items(value, work)

    return fits


#: Parts of a JSON text that differ between equal numbers: 1, 1.0 and -0.0, 1e+16 and its digits.
_NUMBER_SPELLINGS: Final = re.compile(r"[0-9]{16,}(?:\.0)?|[0-9.]+e\+[0-9]+|\.0(?![0-9])|-(?=0\b)")


def _new_encoder() -> Callable[[Any], str]:
    # One C encoder for all items: JSONEncoder.encode makes another one each time, which is slower.
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return json.JSONEncoder(sort_keys=True).encode
    encode = make(
        None, None, json.encoder.encode_basestring_ascii, None, ":", ",", True, False, True
    )
    return lambda value: "".join(encode(value, 0))


_encode: Final = _new_encoder()


def has_equal_items(values: list[Any], work: Work) -> bool:
    """
    Tell whether a list holds two values that jsonschema calls equal.

    Equal values share a text; the few that share one are compared in full, since keys for all
    would cost ten times as much.

    Raises:
        OutOfWork: The values are too many, or too large.
    """
    scalars: list[Any] = []
    containers: list[Any] = []
    for value in values:
        (containers if isinstance(value, dict | list) else scalars).append(value)
    return _has_equal(scalars, work) or _has_equal_containers(containers, work)


def _has_equal(values: list[Any], work: Work) -> bool:
    return len({identity(value, work) for value in values}) < len(values)


def _has_equal_containers(values: list[Any], work: Work) -> bool:
    texts = [_encode(value) for value in values]
    spend(work, sum(_COST // 2 + len(text) // 32 for text in texts))
    keys = [_NUMBER_SPELLINGS.sub("", text) for text in texts]
    if len(set(keys)) == len(keys):
        return False
    groups: dict[str, list[Any]] = {}
    for key, value in zip(keys, values, strict=True):
        groups.setdefault(key, []).append(value)
    return any(_has_equal(group, work) for group in groups.values() if len(group) > 1)


def _limit(fits: Callable[[Any, Any], bool]) -> Callable[[Any], Fits]:
    return lambda limit: lambda value, _work: not _is_number(value) or fits(value, limit)


def _length(kind: type[Any], fits: Callable[[int, Any], bool]) -> Callable[[Any], Fits]:
    return lambda limit: lambda value, _work: not isinstance(value, kind) or fits(len(value), limit)


_SIMPLE: Final[dict[str, Callable[[Any], Fits]]] = {
    "const": _const,
    "enum": _enum,
    "exclusiveMaximum": _limit(lambda value, limit: not value >= limit),
    "exclusiveMinimum": _limit(lambda value, limit: not value <= limit),
    "maxItems": _length(list, lambda length, limit: not length > limit),
    "maxLength": _length(str, lambda length, limit: not length > limit),
    "maxProperties": _length(dict, lambda length, limit: not length > limit),
    "maximum": _limit(lambda value, limit: not value > limit),
    "minItems": _length(list, lambda length, limit: not length < limit),
    "minLength": _length(str, lambda length, limit: not length < limit),
    "minProperties": _length(dict, lambda length, limit: not length < limit),
    "minimum": _limit(lambda value, limit: not value < limit),
    "multipleOf": _multiple_of,
    "pattern": _pattern,
    "type": _type,
    "uniqueItems": _unique_items,
}

# ---- members of objects

_OF_OBJECTS: Final = frozenset(
    {"additionalProperties", "patternProperties", "properties", "required"}
)

#: Keywords that have no part of their own: `_Members` reads them, or a checker that nobody gives.
_ELSEWHERE: Final = _OF_OBJECTS | {"format"}


class _Members:
    """
    The keywords of objects that depend on each other.
    """

    def __init__(self, schema: Schema) -> None:
        own: dict[str, Any] = schema.schema
        self._schema = schema
        self._required: list[str] = own.get("required", [])
        self._properties: Any = own.get("properties", {})
        if not isinstance(self._properties, dict):
            raise TypeError("properties is not an object")
        self._is_closed = own.get("additionalProperties") is False
        rest = own.get("additionalProperties", True)
        self._others = None if rest is True else schema.part(rest)
        self._patterns = [
            (pattern, searcher(pattern), schema.part(sub))
            for pattern, sub in own.get("patternProperties", {}).items()
        ]
        self._known: dict[str, Schema] = {}

    def part(self) -> Part:
        """
        Return the keywords as one part.
        """
        return Part(self._fits if self._patterns else self._fits_without_patterns, self._errors)

    def _has_required(self, value: dict[str, Any], work: Work) -> bool:
        spend(work, len(value) + len(self._required))
        for name in self._required:  # noqa: SIM110 -- as above
            if name not in value:
                return False
        return True

    def _property(self, name: Any) -> Schema | None:
        """
        Return the schema that ``properties`` has for a name, compiled when it is first met.
        """
        part = self._known.get(name)
        if part is None and name in self._properties:
            part = self._known[name] = self._schema.part(self._properties[name])
        return part

    def _fits_without_patterns(self, value: Any, work: Work) -> bool:
        if not isinstance(value, dict):
            return True
        if not self._has_required(value, work):
            return False
        known = self._known
        for name, inner in value.items():
            part = known.get(name) or self._property(name) or self._others
            if part is not None and not part.fits(inner, work):
                return False
        return True

    def _fits(self, value: Any, work: Work) -> bool:
        if not isinstance(value, dict):
            return True
        if not self._has_required(value, work):
            return False
        for name, inner in value.items():
            for part, _, _ in self._parts_of(name, work):
                if not part.fits(inner, work):
                    return False
        return True

    def _parts_of(self, name: Any, work: Work) -> Iterator[tuple[Schema, str, str | None]]:
        """
        Return each schema that a member has to fit, its keyword and its place below that.
        """
        is_known = False
        part = self._property(name)
        if part is not None:
            is_known = True
            yield part, "properties", name
        for pattern, search, part in self._patterns:
            spend(work, _COST + len(name) // 16)
            if search(name):
                is_known = True
                yield part, "patternProperties", pattern
        if not is_known and self._others is not None:
            yield self._others, "additionalProperties", None

    def _errors(self, value: Any, work: Work) -> Iterator[Any]:
        if not isinstance(value, dict):
            return
        if not self._has_required(value, work):
            yield self._schema.error("required", value)
        surplus: dict[str, Any] = {}
        for name, inner in value.items():
            for part, keyword, place in self._parts_of(name, work):
                if keyword == "additionalProperties" and self._is_closed:
                    surplus[name] = inner
                else:
                    yield from _prefix_keyword(keyword, part.descend(inner, work, name, place))
        if surplus:
            # Only what is unknown, so that nobody has to search for it again.
            yield self._schema.error("additionalProperties", surplus, schema={})


# ---- keywords with schemas in them


def _reference(schema: Schema, demand: str) -> Part:
    references = schema.document.references

    def target() -> Schema:
        found = references.get(demand)
        if found is None:
            found = references[demand] = schema.part(resolve())
        return found

    def resolve() -> Any:
        document = schema.document
        try:
            return _resolve(document.root, demand)
        except Unresolved:
            if not document.is_lenient:
                raise
            document.unresolved.add(demand)
            return True

    def fits(value: Any, work: Work) -> bool:
        spend(work, _COST)
        return (references.get(demand) or target()).fits(value, work)

    return Part(fits, lambda value, work: target().descend(value, work))


def _resolve(root: dict[str, Any], reference: str) -> Any:
    if reference == "#":
        return root
    if not reference.startswith("#"):
        # Another document is not fetched.
        raise Unresolved(reference)
    if not reference.startswith("#/"):
        # jsonschema looks up anchors.
        raise Unsupported
    found: Any = root
    for step in unquote(reference[2:]).split("/"):
        found = _member(found, step.replace("~1", "/").replace("~0", "~"))
        if isinstance(found, dict) and "$id" in found:
            raise Unsupported
    if not isinstance(found, dict | bool):
        raise Unresolved(reference)
    return found


def _member(container: Any, name: str) -> Any:
    """
    Return a member of an object or a list; None if there is none.
    """
    if isinstance(container, dict):
        return cast("dict[str, Any]", container).get(name)
    if not isinstance(container, list) or not (name.isascii() and name.isdigit()):
        return None
    index = int(name[:9])
    return container[index] if index < len(container) else None


def _all_of(schema: Schema, demand: list[Any]) -> Part:
    parts = [schema.part(sub) for sub in demand]

    def fits(value: Any, work: Work) -> bool:
        spend(work, _COST)
        return all(part.fits(value, work) for part in parts)

    def errors(value: Any, work: Work) -> Iterator[Any]:
        for index, part in enumerate(parts):
            yield from _prefix_keyword("allOf", part.descend(value, work, place=index))

    return Part(fits, errors)


def _prefix_keyword(keyword: str, errors: Iterable[Any]) -> Iterator[Any]:
    for error in errors:
        error.schema_path.appendleft(keyword)
        yield error


def _context(parts: list[Schema], value: Any, work: Work) -> list[Any]:
    return [
        error
        for index, part in enumerate(parts)
        for error in part.descend(value, work, place=index)
    ]


def _any_of(schema: Schema, demand: list[Any]) -> Part:
    parts = [schema.part(sub) for sub in demand]

    def fits(value: Any, work: Work) -> bool:
        spend(work, _COST)
        for part in parts:  # noqa: SIM110 -- as above
            if part.fits(value, work):
                return True
        return False

    def errors(value: Any, work: Work) -> Iterator[Any]:
        if not fits(value, work):
            yield schema.error("anyOf", value, context=_context(parts, value, work))

    return Part(fits, errors)


def _one_of(schema: Schema, demand: list[Any]) -> Part:
    parts = [schema.part(sub) for sub in demand]

    def matches(value: Any, work: Work) -> int:
        spend(work, _COST)
        return sum(part.fits(value, work) for part in parts)

    def errors(value: Any, work: Work) -> Iterator[Any]:
        found = matches(value, work)
        if found != 1:
            context = [] if found else _context(parts, value, work)
            yield schema.error("oneOf", value, context=context)

    return Part(lambda value, work: matches(value, work) == 1, errors)


def _not(schema: Schema, demand: Any) -> Part:
    part = schema.part(demand)

    def fits(value: Any, work: Work) -> bool:
        spend(work, _COST)
        return not part.fits(value, work)

    return schema.leaf("not", fits)


def _if(schema: Schema, demand: Any) -> Part:
    condition = schema.part(demand)
    branches = {name: schema.part(schema.schema.get(name, True)) for name in ("then", "else")}

    def branch(value: Any, work: Work) -> str:
        spend(work, _COST)
        return "then" if condition.fits(value, work) else "else"

    def errors(value: Any, work: Work) -> Iterator[Any]:
        name = branch(value, work)
        yield from _prefix_keyword("if", branches[name].descend(value, work, place=name))

    return Part(lambda value, work: branches[branch(value, work)].fits(value, work), errors)


def _items(schema: Schema, demand: Any) -> Part:
    if isinstance(demand, list):
        return _prefix_items(schema, demand, "items")
    if demand is False and not schema.is_legacy:
        length = len(schema.schema.get("prefixItems", []))
        return schema.leaf("items", _SIMPLE["maxItems"](length))
    part = schema.part(demand)
    first = 0 if schema.is_legacy else len(schema.schema.get("prefixItems", []))
    return _each_item(part, first, "items")


def _each_item(part: Schema, first: int, keyword: str) -> Part:
    def fits(value: Any, work: Work) -> bool:
        if not isinstance(value, list):
            return True
        spend(work, len(value))
        for item in value[first:] if first else value:  # noqa: SIM110 -- as above
            if not part.fits(item, work):
                return False
        return True

    def errors(value: Any, work: Work) -> Iterator[Any]:
        if isinstance(value, list):
            for index in range(first, len(value)):
                yield from _prefix_keyword(keyword, part.descend(value[index], work, index))

    return Part(fits, errors)


def _prefix_items(schema: Schema, demand: list[Any], keyword: str = "prefixItems") -> Part:
    parts = [schema.part(sub) for sub in demand]

    def fits(value: Any, work: Work) -> bool:
        if not isinstance(value, list):
            return True
        spend(work, _COST)
        return all(part.fits(item, work) for part, item in zip(parts, value, strict=False))

    def errors(value: Any, work: Work) -> Iterator[Any]:
        if isinstance(value, list):
            for index, (part, item) in enumerate(zip(parts, value, strict=False)):
                yield from _prefix_keyword(keyword, part.descend(item, work, index, index))

    return Part(fits, errors)


def _additional_items(schema: Schema, demand: Any) -> Part:
    before = schema.schema.get("items", {})
    if not isinstance(before, list):
        return Part(lambda _value, _work: True, lambda _value, _work: iter(()))
    return _each_item(schema.part(demand), len(before), "additionalItems")


def _contains(schema: Schema, demand: Any) -> Part:
    part = schema.part(demand)
    low, high = 1, None
    if not schema.is_legacy:
        low, high = schema.schema.get("minContains", 1), schema.schema.get("maxContains")

    def fits(value: Any, work: Work) -> bool:
        if not isinstance(value, list):
            return True
        spend(work, _COST + len(value))
        found = sum(part.fits(item, work) for item in value)
        return not found < low and (high is None or not found > high)

    return schema.leaf("contains", fits)


def _property_names(schema: Schema, demand: Any) -> Part:
    part = schema.part(demand)

    def fits(value: Any, work: Work) -> bool:
        if not isinstance(value, dict):
            return True
        spend(work, _COST + len(value))
        return all(part.fits(name, work) for name in value)

    return schema.leaf("propertyNames", fits)


def _dependencies(keyword: str) -> Callable[[Schema, dict[str, Any]], Part]:
    """
    Return what compiles members that need other members, or a schema for the object around them.
    """

    def make(schema: Schema, demand: dict[str, Any]) -> Part:
        needs: dict[str, Schema] = {}
        for name, need in demand.items():
            needs[name] = schema.part({"required": need} if isinstance(need, list) else need)

        def fits(value: Any, work: Work) -> bool:
            if not isinstance(value, dict):
                return True
            spend(work, _COST + len(needs))
            return all(part.fits(value, work) for name, part in needs.items() if name in value)

        def errors(value: Any, work: Work) -> Iterator[Any]:
            if isinstance(value, dict):
                spend(work, _COST + len(needs))
                for name, part in needs.items():
                    if name in value:
                        yield from _prefix_keyword(keyword, part.descend(value, work, place=name))

        return Part(fits, errors)

    return make


_KEYWORDS: Final[dict[str, Callable[[Schema, Any], Part]]] = {
    "$ref": _reference,
    "additionalItems": _additional_items,
    "allOf": _all_of,
    "anyOf": _any_of,
    "contains": _contains,
    "dependencies": _dependencies("dependencies"),
    "dependentRequired": _dependencies("dependentRequired"),
    "dependentSchemas": _dependencies("dependentSchemas"),
    "if": _if,
    "items": _items,
    "not": _not,
    "oneOf": _one_of,
    "prefixItems": _prefix_items,
    "propertyNames": _property_names,
}
