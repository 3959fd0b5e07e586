"""
Arguments that a tool's schema forbids, each wrong in one way.

Rule 1: no arguments are sent unless they are proven not to fit the schema.
Rule 2: the work is bounded, whatever the schema, and no reference leads out of it.
Rule 3: the same schema gives the same arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final, NamedTuple, TypeGuard

from toolfault._codes import McpErrorCode
from toolfault._schema.bounded import BoundedValidator
from toolfault.check._model import Expected, Kind, Provocation, ToolSeen
from toolfault.check._provocations import PLANTED
from toolfault.check._wire import as_array, as_object, is_array, is_object


#: How many properties of a tool are tried, and how many of its required ones are filled in.
_MAX_TRIED: Final = 6
_MAX_FILLED: Final = 200

#: How many references and combinators are followed to one schema.
_MAX_STEPS: Final = 8

#: The longest text and array that are made to be too long for a property.
_MAX_LENGTH: Final = 100_000
_MAX_ITEMS: Final = 1000

#: The largest number whose neighbours are sent.
_MAX_NUMBER: Final = 10**15

_LONG_TEXT: Final = "x" * 65_536

#: How many values of a schema are looked at for keywords.
_MAX_VALUES: Final = 20_000


@dataclass(frozen=True, slots=True)
class Made:
    """
    The provocations of one tool.

    Attributes:
        provocations: What can be sent.
        reason: Why nothing can be sent; "" if something can.
        skipped: The kinds of provocations that could not be made, and why.
    """

    provocations: tuple[Provocation, ...]
    reason: str = ""
    skipped: Mapping[str, str] = field(default_factory=dict[str, str])


class _Bad(NamedTuple):
    """
    Arguments that may be forbidden.

    Attributes:
        kind: In which way they are wrong.
        arguments: The arguments.
        name: The argument at fault.
        secret: A made-up secret in them.
    """

    kind: str
    arguments: dict[str, Any]
    name: str
    secret: str | None = None

    @property
    def id(self) -> str:
        """
        The provocation's name.
        """
        return self.kind if self.kind in _ONCE else f"{self.kind}:{self.name}"


#: Kinds of which a tool gets one.
_ONCE: Final = frozenset({"extra-argument", "planted-secret", "long-text"})


def make_for_tool(tool: ToolSeen) -> Made:
    """
    Return the provocations of a tool whose arguments its schema forbids.

    Args:
        tool: The tool.
    """
    schema = tool.listed.get("inputSchema")
    if not is_object(schema):
        return Made((), "The tool lists no input schema.")
    proof = Proof(schema)
    if proof.flaw is not None:
        return Made((), "The tool's input schema can't be read.")
    made: dict[str, Provocation] = {}
    for bad in _iter_bad(schema):
        if bad.id not in made and proof.forbids(bad.arguments):
            made[bad.id] = _make_provocation(tool, bad)
    if not made:
        return Made((), "The tool's input schema forbids nothing that could be tried.")
    first = next(iter(made.values()))
    again = replace(first, id=f"{first.id}:again")
    cancelled = replace(first, id="cancelled", kind=Kind.CANCELLED)
    return Made((*made.values(), again, cancelled), skipped=_describe_skipped(made))


def _make_provocation(tool: ToolSeen, bad: _Bad) -> Provocation:
    codes = frozenset({McpErrorCode.INVALID_ARGUMENTS})
    return Provocation(
        bad.id,
        f"arguments of {tool.name}",
        Kind.BAD_ARGUMENTS,
        params={"name": tool.name, "arguments": bad.arguments},
        tool=tool.name,
        expected=Expected(codes, bad.name, bad.secret, is_transient=False),
    )


#: Why a kind of provocation could not be made.
_REASONS: Final[Mapping[str, str]] = {
    "missing-argument": "The schema requires no argument.",
    "wrong-type": "No argument has a type that could be missed.",
    "extra-argument": "The schema allows arguments that it does not name.",
    "planted-secret": "No text could be sent in arguments that are wrong for sure.",
    "long-text": "No text could be sent in arguments that are wrong for sure.",
}


def _describe_skipped(made: Mapping[str, Provocation]) -> dict[str, str]:
    kinds = {name.partition(":")[0] for name in made}
    return {kind: reason for kind, reason in _REASONS.items() if kind not in kinds}


# ---- the proof


class Proof:
    """
    A validator that forbids only what every reader of the schema forbids.

    References out of the schema are not followed. Where nothing in the schema can turn a refusal
    into a permission, they can be taken to allow everything; elsewhere they leave it undecided.
    """

    def __init__(self, schema: object) -> None:
        """
        Take a schema.
        """
        self._validators = [BoundedValidator(schema, is_checked=False)]
        if not _holds_keyword(schema, _NOT_MONOTONE):
            self._validators.append(BoundedValidator(schema, is_checked=False, is_lenient=True))

    @property
    def flaw(self) -> Exception | None:
        """
        What is wrong with the schema.
        """
        return self._validators[0].flaw

    def forbids(self, arguments: object) -> bool:
        """
        Tell whether arguments are proven not to fit.

        Args:
            arguments: The arguments.
        """
        return any(validator.fits(arguments) is False for validator in self._validators)


#: Keywords with which a value fits because another schema refuses it.
_NOT_MONOTONE: Final = frozenset(
    {
        "not",
        "if",
        "oneOf",
        "contains",
        "maxContains",
        "unevaluatedItems",
        "unevaluatedProperties",
        "$dynamicRef",
        "$recursiveRef",
    }
)


def _holds_keyword(schema: object, keywords: frozenset[str]) -> bool:
    """
    Tell whether a schema has one of some members anywhere; True if it is too large to tell.
    """
    open_values = [schema]
    for _ in range(_MAX_VALUES):
        if not open_values:
            return False
        value = open_values.pop()
        if is_object(value):
            if keywords & value.keys():
                return True
            open_values += value.values()
        elif is_array(value):
            open_values += value
    return True


# ---- what to try


def _iter_bad(root: dict[str, Any]) -> Iterator[_Bad]:
    shape = _look(root, root)
    properties = as_object(shape.get("properties"))
    required = _required(shape)
    good = {
        name: _sample(root, _look(root, properties.get(name)))
        for name in islice(required, _MAX_FILLED)
    }
    for name in islice(required, _MAX_TRIED):
        yield _Bad("missing-argument", _without(good, name), name)
    tried = {name: _look(root, part) for name, part in islice(properties.items(), _MAX_TRIED)}
    for name, part in tried.items():
        for kind, value in _iter_values(root, part):
            yield _Bad(kind, {**good, name: value}, name)
    yield _Bad("extra-argument", {**good, _EXTRA: True}, _EXTRA)
    for kind, text, secret in (
        ("planted-secret", PLANTED, PLANTED),
        ("long-text", _LONG_TEXT, None),
    ):
        for name, arguments in _iter_with_text(text, good, tried):
            yield _Bad(kind, arguments, name, secret)


_EXTRA: Final = "toolfault_extra"


def _required(shape: Mapping[str, Any]) -> list[str]:
    names = as_array(shape.get("required"))
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def _without(arguments: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in arguments.items() if key != name}


def _iter_with_text(
    text: str, good: dict[str, Any], tried: Mapping[str, dict[str, Any]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """
    Yield arguments with a certain text in them, and the argument that is wrong.
    """
    kinds = {name: _first_type(part) for name, part in tried.items()}
    # Where the text itself is wrong, it is echoed most easily.
    for name, kind in kinds.items():
        if kind not in ("array", "object"):
            yield name, {**good, name: text}
    for name, kind in kinds.items():
        for other in good:
            if kind == "string" and other != name:
                yield other, {**_without(good, other), name: text}
    for name in kinds:
        yield name, {**good, name: [text]}
        yield name, {**good, name: {"toolfault": text}}
    yield _EXTRA, {**good, _EXTRA: text}


#: Values of all types: whatever a schema asks for, most are wrong.
_OF_ALL_TYPES: Final = (
    {"toolfault": "wrong type"},
    "toolfault wrong type",
    ["toolfault"],
    0.5,
    None,
)


def _iter_values(root: dict[str, Any], part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """
    Yield values that a property's schema may forbid, each behind the kind of its fault.
    """
    yield from (("wrong-type", value) for value in _OF_ALL_TYPES)
    yield from _iter_foreign(part)
    yield from _iter_beyond(part)
    if "items" in part:
        sample = _sample(root, _look(root, part["items"]))
        yield from (("wrong-item", [sample, value]) for value in _OF_ALL_TYPES)
    if "required" in part:
        yield "missing-member", {}


def _iter_foreign(part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for keyword, values in _FOREIGN.items():
        if keyword in part:
            yield from ((f"outside-{keyword}", value) for value in values)


def _iter_beyond(part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for keyword, go_beyond in _BEYOND.items():
        limit = part.get(keyword)
        if _is_plain_number(limit):
            value = go_beyond(limit)
            if value is not None:
                yield f"outside-{keyword}", value


def _is_plain_number(value: object) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < _MAX_NUMBER


#: A keyword that lists or describes values, and values that it hardly allows.
_FOREIGN: Final[Mapping[str, tuple[Any, ...]]] = {
    "enum": ("toolfault not in enum", -987_654_321),
    "const": ("toolfault not const", -987_654_321),
    "pattern": ("\u2603 toolfault \u2603", "", "\n"),
}


def _make_longer(limit: float) -> str | None:
    return "x" * (int(limit) + 1) if 0 <= limit < _MAX_LENGTH else None


def _make_shorter(limit: float) -> str | None:
    return "x" * (int(limit) - 1) if 1 <= limit < _MAX_LENGTH else None


def _add_items(limit: float) -> list[Any] | None:
    return [None] * (int(limit) + 1) if 0 <= limit < _MAX_ITEMS else None


def _drop_items(limit: float) -> list[Any] | None:
    return [] if limit >= 1 else None


def _miss_multiple(factor: float) -> float | None:
    if factor <= 0:
        return None
    return int(factor) + 1 if factor > 1 else factor / 2


#: A keyword that limits a value, and what makes a value outside it; None: nothing.
_BEYOND: Final[Mapping[str, Callable[[float], Any]]] = {
    "minimum": lambda limit: limit - 1,
    "exclusiveMinimum": lambda limit: limit,
    "maximum": lambda limit: limit + 1,
    "exclusiveMaximum": lambda limit: limit,
    "multipleOf": _miss_multiple,
    "maxLength": _make_longer,
    "minLength": _make_shorter,
    "maxItems": _add_items,
    "minItems": _drop_items,
}


# ---- values that look right


def _sample(root: dict[str, Any], part: Mapping[str, Any], depth: int = 0) -> Any:
    """
    Return a value that looks like a property's; the proof does not need it to fit.
    """
    for keyword in ("enum", "examples"):
        values = as_array(part.get(keyword))
        if values:
            return values[0]
    for keyword in ("const", "default"):
        if keyword in part:
            return part[keyword]
    kind = _first_type(part)
    if kind in ("integer", "number"):
        return _sample_number(part)
    if kind == "string":
        return _sample_text(part)
    if kind == "object" and depth < _MAX_STEPS:
        properties = as_object(part.get("properties"))
        return {
            name: _sample(root, _look(root, properties.get(name)), _MAX_STEPS)
            for name in islice(_required(part), _MAX_TRIED)
        }
    return _SAMPLES.get(kind, "toolfault")


_SAMPLES: Final[Mapping[str, Any]] = {"boolean": False, "array": [], "object": {}, "null": None}


def _first_type(part: Mapping[str, Any]) -> str:
    kind = part.get("type")
    kinds = [kind] if isinstance(kind, str) else as_array(kind)
    names = [name for name in kinds if isinstance(name, str) and name != "null"]
    return names[0] if names else ""


def _sample_number(part: Mapping[str, Any]) -> float:
    for keyword, step in (("minimum", 0), ("exclusiveMinimum", 1), ("maximum", 0)):
        limit = part.get(keyword)
        if _is_plain_number(limit):
            return limit + step
    return 1


def _sample_text(part: Mapping[str, Any]) -> str:
    sample = _FORMATS.get(str(part.get("format")), "toolfault")
    shortest, longest = part.get("minLength"), part.get("maxLength")
    if isinstance(shortest, int) and len(sample) < shortest < _MAX_LENGTH:
        sample = sample.ljust(shortest, "x")
    if isinstance(longest, int) and 0 <= longest < len(sample):
        sample = sample[:longest]
    return sample


_FORMATS: Final[Mapping[str, str]] = {
    "date": "2020-01-01",
    "date-time": "2020-01-01T00:00:00Z",
    "email": "nobody@example.com",
    "time": "00:00:00Z",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


# ---- schemas


def _look(root: dict[str, Any], part: object) -> dict[str, Any]:
    """
    Return what a schema says, behind references inside the document and combinators.

    Of alternatives the first counts that is not null; {} is for what can't be followed.
    """
    found: dict[str, Any] = {}
    open_parts = [part]
    for _ in range(_MAX_STEPS):
        if not open_parts:
            break
        schema = as_object(open_parts.pop())
        for keyword, value in schema.items():
            _add_keyword(found, keyword, value)
        reference = schema.get("$ref")
        if isinstance(reference, str):
            open_parts.append(_find(root, reference))
        open_parts += as_array(schema.get("allOf"))
        for keyword in ("anyOf", "oneOf"):
            open_parts += [one for one in as_array(schema.get(keyword)) if not _is_null(one)][:1]
    return found


def _add_keyword(found: dict[str, Any], keyword: str, value: Any) -> None:
    before = found.get(keyword)
    if keyword == "properties":
        found[keyword] = as_object(before) | as_object(value)
    elif keyword == "required":
        found[keyword] = as_array(before) + as_array(value)
    else:
        found.setdefault(keyword, value)


def _is_null(schema: object) -> bool:
    return as_object(schema).get("type") == "null"


def _find(root: Mapping[str, Any], reference: str) -> object:
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        return None
    found: object = root
    for step in reference[2:].split("/")[:_MAX_FILLED]:
        found = as_object(found).get(step.replace("~1", "/").replace("~0", "~"))
    return found
