"""
Validate values against foreign schemas: within a budget, without fetching anything.

Rule 1: an exception while a value is judged says nothing about the next value.
Rule 2: whatever is not decided within the budget is undecided; the caller of `BoundedValidator`
chooses what that means.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false
# Schemas and values are anybody's: what isinstance finds in them is a list or dict of anything.

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from toolfault._schema.evaluate import (
    Document,
    OutOfWork,
    Schema,
    Unsupported,
    Work,
    has_equal_items,
    spend,
)
from toolfault._schema.patterns import python_steps, searcher


#: Units of work for one verdict, for the errors of one value, and for the check of one schema. A
#: unit takes about 0.1 microseconds.
_FITS: Final = 300_000
_ERRORS: Final = 200_000
_SCHEMA: Final = 200_000

#: How many errors of one value are returned.
_MAX_ERRORS: Final = 100

#: What jsonschema costs for one keyword, in the same units.
_KEYWORD: Final = 100

#: How long a member's name may be to be searched for patterns by jsonschema.
_MAX_NAME: Final = 256
_MAX_STEPS: Final = 100_000

_work: ContextVar[tuple[Work, int]] = ContextVar("toolfault_schema_work")


class BoundedValidator:
    """
    A validator whose cost does not depend on who wrote the schema or the value.
    """

    __slots__ = ("_fallback", "_kind", "_schema", "flaw", "root")

    def __init__(self, schema: Any, *, is_checked: bool = True, is_lenient: bool = False) -> None:
        """
        Take a schema.

        Args:
            schema: The schema. `flaw` is what is wrong with it; None if nothing is.
            is_checked: Whether parts of the schema that no value meets have to be valid too.
            is_lenient: Whether a reference that leads nowhere or elsewhere constrains nothing;
                without this, what a value that meets one fits is undecided.
        """
        self.root = schema
        self.flaw: Exception | None = None
        self._fallback: Any = None
        self._schema: Schema | None = None
        try:
            self._kind = _kind_of(schema)
            self.flaw = _flaw_of(schema, self._kind) if is_checked else None
            if keywords := _draft_keywords(self._kind):
                document = Document(
                    schema, keywords[0], is_legacy=keywords[1], is_lenient=is_lenient
                )
                self._schema = Schema(schema, document)
        except Exception as exc:  # noqa: BLE001 -- whatever an invalid schema holds
            self.flaw = exc

    def fits(self, value: Any) -> bool | None:
        """
        Tell whether a value fits; None if that can't be decided.
        """
        if self.flaw is not None:
            return None
        try:
            if self._schema is not None:
                return self._schema.fits(value, [_FITS])
        except Unsupported:
            pass
        except Exception:  # noqa: BLE001 -- a foreign schema and a foreign value can do anything
            return None
        try:
            return next(self._errors_of_jsonschema(value, _FITS), None) is None
        except Exception:  # noqa: BLE001 -- as above
            return None

    def errors(self, value: Any) -> list[Any]:
        """
        Return the errors of a value that does not fit, as errors of jsonschema.

        An empty list means that nothing was found within the budget.
        """
        found: list[Any] = []
        try:
            try:
                self._collect(self._own_errors(value), found)
            except Unsupported:
                found.clear()
                self._collect(self._errors_of_jsonschema(value, _ERRORS), found)
        except Exception:  # noqa: BLE001 -- what was found before it counts
            return found
        return found

    @property
    def unresolved(self) -> frozenset[str]:
        """
        Return the references that constrained nothing so far.
        """
        return frozenset(() if self._schema is None else self._schema.document.unresolved)

    @staticmethod
    def _collect(errors: Iterator[Any], found: list[Any]) -> None:
        for error in errors:
            found.append(error)
            if len(found) >= _MAX_ERRORS:
                return

    def _own_errors(self, value: Any) -> Iterator[Any]:
        if self._schema is None:
            raise Unsupported
        return self._schema.errors(value, [_ERRORS])

    def _errors_of_jsonschema(self, value: Any, units: int) -> Iterator[Any]:
        """
        Return the errors that jsonschema finds.

        Raises:
            OutOfWork: They cost too much.
        """
        if self._fallback is None:
            from referencing.jsonschema import EMPTY_REGISTRY  # noqa: PLC0415 -- at first use

            # With a registry of its own it fetches nothing.
            self._fallback = _counting(self._kind)(
                _drop_costly_patterns(self.root), registry=EMPTY_REGISTRY
            )
        size = _size(value, [units])
        token = _work.set(([units], _KEYWORD + size // 8))
        try:
            found: list[Any] = []
            self._collect(self._fallback.iter_errors(value), found)
        finally:
            _work.reset(token)
        return iter(found)


def _kind_of(schema: Any) -> Any:
    """
    Return jsonschema's class for a schema's draft.
    """
    # At first use: the module costs more than all of ours, and mcp brings it.
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from jsonschema.validators import validator_for  # noqa: PLC0415

    return validator_for(schema, default=Draft202012Validator)


@lru_cache(maxsize=16)
def _draft_keywords(kind: Any) -> tuple[frozenset[str], bool] | None:
    """
    Return the keywords of a draft, and whether it is 7 or older. None: jsonschema evaluates it.
    """
    from jsonschema import (  # noqa: PLC0415 -- as above
        Draft6Validator,
        Draft7Validator,
        Draft202012Validator,
    )

    if kind is Draft202012Validator:
        return frozenset(kind.VALIDATORS), False
    if kind in {Draft6Validator, Draft7Validator}:
        return frozenset(kind.VALIDATORS), True
    return None


# ---- whether a schema is valid


def _flaw_of(schema: Any, kind: Any) -> Exception | None:
    """
    Return why a schema is invalid; what is not found within the budget does not count.
    """
    from jsonschema import SchemaError  # noqa: PLC0415 -- as above

    try:
        keywords = _draft_keywords(kind)
        if keywords is None:
            return _flaw_by_jsonschema(schema, kind)
        document = Document(_meta_schema(kind), keywords[0], is_legacy=keywords[1])
        meta = Schema(document.root, document)
        if meta.fits(schema, [_SCHEMA]):
            return None
        error = next(meta.errors(schema, [_ERRORS]))
        place = "/".join(map(str, error.absolute_path))[:200]
        return SchemaError(f"the schema is not valid at '/{place}' ({error.validator})")
    except OutOfWork:
        return None


def _flaw_by_jsonschema(schema: Any, kind: Any) -> Exception | None:
    token = _work.set(([_SCHEMA], _KEYWORD))
    try:
        error: Exception | None = next(_counting(kind)(kind.META_SCHEMA).iter_errors(schema), None)
    finally:
        _work.reset(token)
    return error


@lru_cache(maxsize=16)
def _meta_schema(kind: Any) -> Any:
    """
    Return the schema of schemas as one document that `evaluate` takes.
    """
    vocabularies = [part["$ref"] for part in kind.META_SCHEMA.get("allOf", [])]
    if not vocabularies:
        return kind.META_SCHEMA
    specifications = import_module("jsonschema_specifications").REGISTRY

    merged: dict[str, Any] = {"type": ["object", "boolean"], "properties": {}, "$defs": {}}
    base = kind.META_SCHEMA["$id"].rsplit("/", 1)[0]
    documents = [
        kind.META_SCHEMA,
        *(specifications.contents(f"{base}/{name}") for name in vocabularies),
    ]
    for document in documents:
        for section in ("properties", "$defs"):
            merged[section].update(document.get(section, {}))
    return _static(merged)


def _static(value: Any) -> Any:
    """
    Return a schema of schemas whose dynamic references mean its root.
    """
    return _rewrite(value, _name_root)


def _name_root(schema: dict[str, Any]) -> None:
    reference = schema.get("$dynamicRef", schema.get("$ref"))
    if isinstance(reference, str):
        is_dynamic = schema.pop("$dynamicRef", None) is not None
        schema["$ref"] = "#" if is_dynamic else f"#{reference.rpartition('#')[2]}"


def _rewrite(value: Any, change: Callable[[dict[str, Any]], None]) -> Any:
    """
    Return a copy of a schema in which a function has changed each object, the inner ones first.
    """
    if isinstance(value, list):
        return [_rewrite(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    copied = {name: _rewrite(member, change) for name, member in value.items()}
    change(copied)
    return copied


# ---- jsonschema, counted


@lru_cache(maxsize=16)
def _counting(kind: Any) -> Any:
    """
    Return a class of jsonschema that spends work on each keyword.
    """
    from jsonschema import ValidationError, validators  # noqa: PLC0415 -- as above

    extend: Any = validators.extend

    def count_work(function: Callable[..., Any]) -> Callable[..., Any]:
        def keyword(validator: Any, demand: Any, instance: Any, schema: Any) -> Any:
            work, units = _work.get()
            spend(work, units)
            return function(validator, demand, instance, schema)

        return keyword

    def pattern(_validator: Any, demand: str, instance: Any, _schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and not searcher(demand)(instance):
            yield ValidationError("does not match")

    def unique_items(_validator: Any, demand: Any, instance: Any, _schema: Any) -> Iterator[Any]:
        if demand and isinstance(instance, list):
            work, _ = _work.get()
            if has_equal_items(instance, work):
                yield ValidationError("has equal items")

    ours: dict[str, Callable[..., Any]] = {"pattern": pattern, "uniqueItems": unique_items}
    functions: dict[str, Any] = {**kind.VALIDATORS, **ours}
    names = kind.VALIDATORS.keys()
    return extend(kind, {name: count_work(functions[name]) for name in names})


def _drop_costly_patterns(schema: Any) -> Any:
    """
    Return a schema whose names of members Python's engine searches in bounded time.
    """
    return _rewrite(schema, _drop_if_costly)


def _drop_if_costly(schema: dict[str, Any]) -> None:
    patterns = schema.get("patternProperties")
    if not isinstance(patterns, dict):
        return
    if any(python_steps(str(pattern), _MAX_NAME) > _MAX_STEPS for pattern in patterns):
        # Whether a member is known is open then.
        for keyword in ("patternProperties", "additionalProperties", "unevaluatedProperties"):
            schema.pop(keyword, None)


def _size(value: Any, work: Work) -> int:
    """
    Return how many values stand in a value, and how many lines of text.

    Raises:
        OutOfWork: They are too many, or a name is too long.
    """
    spend(work, 1)
    if isinstance(value, str):
        return 1 + len(value) // 64
    if isinstance(value, list):
        return 1 + sum(_size(item, work) for item in value)
    if not isinstance(value, dict):
        return 1
    if any(len(name) > _MAX_NAME for name in value):
        raise OutOfWork
    return 1 + sum(_size(member, work) for member in value.values())
