"""
What pydantic and jsonschema say of values that do not fit a schema, in our words.

Rule 1: a refused value never becomes part of a text; the schema's own values do.
Rule 2: whose value it is, nobody knows here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from toolfault._names import qualified_name
from toolfault._schema.patterns import searcher
from toolfault._text import safe_str


#: How many violations are looked at, and how many an error's message names.
MAX_VIOLATIONS: Final = 100
MAX_NAMED: Final = 5

#: From how many violations on only the first are read: a list of all costs a microsecond each.
_MANY: Final = 1000

#: The longest path and text of one, in characters, and the most allowed values.
MAX_FIELD: Final = 100
_MAX_TEXT: Final = 300
_MAX_ALLOWED: Final = 100

PYDANTIC: Final = "pydantic_core._pydantic_core.ValidationError"
PYDANTIC_1: Final = "pydantic.v1.error_wrappers.ValidationError"
PYDANTIC_1_ALONE: Final = "pydantic.error_wrappers.ValidationError"
_JSONSCHEMA: Final = "jsonschema.exceptions.ValidationError"

#: Types whose own text holds a part of the value.
_WITHOUT_VALUE: Final[dict[str, str]] = {
    "complex_str_parsing": "must be a complex number",
    "complex_type": "must be a complex number",
    "get_attribute_error": "can't be read",
    "iteration_error": "can't be iterated over",
    "json_invalid": "must be valid JSON",
    "mapping_type": "must be a mapping",
    "timezone_offset": "has another time zone than the one required",
    "url_parsing": "must be a valid URL",
    "url_syntax_violation": "must be a valid URL",
    "uuid_parsing": "must be a valid UUID",
}

#: Types that read better in our words; the others' texts begin with "Input should", "String should"
#: and the like.
_BETTER: Final[dict[str, str]] = {
    "extra_forbidden": "is not known",
    "missing": "is missing",
    "missing_argument": "is missing",
    "missing_keyword_only_argument": "is missing",
    "missing_positional_only_argument": "is missing",
    "unexpected_keyword_argument": "is not known",
    "unexpected_positional_argument": "is not known",
    "value_error.missing": "is missing",
    "value_error.extra": "is not known",
}

_should = re.compile(r"^(?:(?:[A-Z]\w{0,32} )?[Ii]nput|[A-Z][\w-]{0,32}) should ").sub
_author = re.compile(r"^(?:Value error|Assertion failed), ").sub
_quoted = re.compile(
    r"'((?:[^'\\]|\\.){0,200})'|(?<![\w.'])(-?[0-9]{1,18}(?:\.[0-9]{1,18})?|True|False|None)(?![\w.'])"
).findall


# ---- the violations


def violations(exc: BaseException) -> list[dict[str, Any]]:
    """
    Return the violations that a validation error lists; [] for any other exception.

    Each has a ``field`` (its path, dotted; "" for the whole), a ``rule`` and a ``message`` without
    the value, and ``allowed`` where only some values are.
    """
    return _read_violations(exc, values=False)


def violations_with_values(exc: BaseException) -> list[dict[str, Any]]:
    """
    Return the violations, each with the ``value`` that was refused, which must not leave.
    """
    return _read_violations(exc, values=True)


def listing_of(items: Sequence[Mapping[str, Any]]) -> str:
    """
    Return the first violations as one text, with the number of those left out.
    """
    more = f"; and {len(items) - MAX_NAMED} more" if len(items) > MAX_NAMED else ""
    return "; ".join(_clause(item) for item in items[:MAX_NAMED]) + more


def is_our_phrase(message: str) -> bool:
    """
    Tell whether a violation's message is a phrase of ours, so that it holds no value.
    """
    return message.startswith(("must ", "is ", "has ", "can't ", "does "))


def _clause(item: Mapping[str, Any]) -> str:
    field, message = item.get("field") or "", str(item.get("message") or "is not valid").rstrip(".")
    if not field:
        return message
    return f"`{field}` {message}" if is_our_phrase(message) else f"`{field}`: {message}"


def _read_violations(exc: BaseException, *, values: bool) -> list[dict[str, Any]]:
    try:
        for judged in (exc, exc.__cause__):
            names = {qualified_name(cls) for cls in type(judged).__mro__}
            if names & {PYDANTIC, PYDANTIC_1, PYDANTIC_1_ALONE}:
                return list(islice(_read_pydantic(judged, values=values), MAX_VIOLATIONS))
            if _JSONSCHEMA in names:
                return list(islice(_read_jsonschema(judged, values=values), MAX_VIOLATIONS))
    except Exception:  # noqa: BLE001 -- a half-built error, or one with a context that can't be shown
        return []
    return []


# ---- pydantic


def _read_pydantic(exc: Any, *, values: bool) -> Iterator[dict[str, Any]]:
    for error in _errors_of(exc, values=values):
        kind = safe_str(error.get("type", ""))[:MAX_FIELD]
        context: dict[str, Any] = error.get("ctx") or {}
        item: dict[str, Any] = {
            "field": _path(error.get("loc", ())),
            "rule": kind,
            "message": _message(kind, safe_str(error.get("msg", "")), context),
        }
        allowed = _read_allowed(kind, context)
        if allowed:
            item["allowed"] = allowed
        if values:
            item["value"] = _read_value(kind, error, context)
        yield item


def _errors_of(exc: Any, *, values: bool) -> Iterable[dict[str, Any]]:
    if has_many(exc):
        try:
            return _first_errors(exc.json(**_BARE))
        except Exception:  # noqa: BLE001, S110 -- a location that is not UTF-8
            pass
    listed: list[dict[str, Any]]
    try:
        listed = exc.errors(include_url=False, include_context=True, include_input=values)
    except TypeError:
        listed = exc.errors()  # version 1 takes no options, and tells no input
    return listed


def has_many(exc: Any) -> bool:
    """
    Tell whether a validation error of pydantic lists so many violations that only some are read.
    """
    count = getattr(exc, "error_count", None)
    return count is not None and count() > _MANY


_BARE: Final = {"include_url": False, "include_context": False, "include_input": False}


def _first_errors(text: str) -> list[dict[str, Any]]:
    """
    Return the first errors out of a JSON array of them; the rest is not parsed.
    """
    decode = json.JSONDecoder().raw_decode
    errors: list[dict[str, Any]] = []
    end = 0
    while text[end] != "]" and len(errors) < MAX_VIOLATIONS:
        error, end = decode(text, end + 1)
        errors.append(error)
    return errors


def _message(kind: str, text: str, context: Mapping[str, Any]) -> str:
    if (ours := _BETTER.get(kind)) is not None:
        return ours
    if kind == "union_tag_invalid":
        # Its text quotes the tag that was given.
        tags = safe_str(context.get("expected_tags", "the expected tags"))
        return f"must be tagged as one of {tags}"[:_MAX_TEXT]
    if kind in {"value_error", "assertion_error"}:
        # The author's words; of an assert without any, pytest makes the comparison with its values.
        said = _author("", text)
        if kind == "assertion_error":
            said = said.partition("\n")[0]
        return said[:_MAX_TEXT] if said and not said.startswith("assert ") else "is not valid"
    return _WITHOUT_VALUE.get(kind) or _should("must ", text)[:_MAX_TEXT] or "is not valid"


#: Where the allowed values stand in the context of an error, by its type.
_ALLOWED_IN: Final = {
    "enum": "expected",
    "literal_error": "expected",
    "union_tag_invalid": "expected_tags",
}


def _read_allowed(kind: str, context: Mapping[str, Any]) -> list[Any]:
    text = context.get(_ALLOWED_IN.get(kind, ""))
    if not isinstance(text, str):
        return []
    return [_literal(quoted, other) for quoted, other in _quoted(text)[:_MAX_ALLOWED]]


def _literal(quoted: str, other: str) -> object:
    """
    Return a value that pydantic wrote in quotes or without.
    """
    if not other:
        return quoted.replace("\\'", "'")
    if other in _CONSTANTS:
        return _CONSTANTS[other]
    return float(other) if "." in other else int(other)


_CONSTANTS: Final = {"True": True, "False": False, "None": None}


def _read_value(kind: str, error: Mapping[str, Any], context: Mapping[str, Any]) -> object:
    return context.get("tag") if kind == "union_tag_invalid" else error.get("input")


def _path(parts: Iterable[object]) -> str:
    """
    Return a location as dotted text, positions in lists as ``[0]``.
    """
    path = ""
    for part in islice(parts, 32):
        if isinstance(part, int) and not isinstance(part, bool):
            path += f"[{part}]"
        else:
            name = safe_str(part)[:MAX_FIELD].replace("`", "'")
            path += f".{name}" if path else name
    return path if len(path) <= MAX_FIELD else f"{path[: MAX_FIELD - 1]}…"


# ---- jsonschema

#: Keyword of a schema to what it demands; ``{}`` stands for the keyword's value.
_DEMANDS: Final[dict[str, str]] = {
    "const": "must be {}",
    "exclusiveMaximum": "must be less than {}",
    "exclusiveMinimum": "must be greater than {}",
    "format": "must be a valid {}",
    "maxItems": "must have at most {} items",
    "maxLength": "must have at most {} characters",
    "maxProperties": "must have at most {} members",
    "maximum": "must be less than or equal to {}",
    "minItems": "must have at least {} items",
    "minLength": "must have at least {} characters",
    "minProperties": "must have at least {} members",
    "minimum": "must be greater than or equal to {}",
    "multipleOf": "must be a multiple of {}",
    "pattern": "must match the pattern {}",
    "type": "must be of type {}",
    "uniqueItems": "must not have two equal items",
}


def _read_jsonschema(exc: Any, *, values: bool) -> Iterator[dict[str, Any]]:
    """
    Yield the violations; an error without a keyword of its own stands for those in its context.
    """
    if isinstance(exc.validator, str):
        yield from _read_keyword(exc, values=values)
        return
    seen: set[tuple[str, str]] = set()
    for error in exc.context:
        for item in _read_keyword(error, values=values):
            # Each of several missing members comes in an error of its own, which does not say
            # which.
            if (where := (item["field"], item["rule"])) not in seen:
                seen.add(where)
                yield item


def _read_keyword(exc: Any, *, values: bool) -> Iterator[dict[str, Any]]:
    keyword, path = safe_str(exc.validator), list(exc.absolute_path)
    if keyword == "required":
        for name in (name for name in exc.validator_value if name not in exc.instance):
            yield {"field": _path([*path, name]), "rule": keyword, "message": "is missing"}
    elif keyword == "additionalProperties" and exc.validator_value is False:
        for name in _surplus(exc):
            yield {"field": _path([*path, name]), "rule": keyword, "message": "is not known"}
    elif keyword in {"anyOf", "oneOf"} and (branch := _choose_branch(exc)):
        for error in branch[:MAX_VIOLATIONS]:
            yield from _read_keyword(error, values=values)
    else:
        item = {"field": _path(path), "rule": keyword, **_describe_demand(exc, keyword)}
        yield {**item, "value": exc.instance} if values else item


def _surplus(exc: Any) -> list[Any]:
    """
    Return the names of the members that a schema does not allow.
    """
    known: dict[str, Any] = exc.schema.get("properties", {})
    # Patterns of a foreign schema are searched within a bound.
    searches = [searcher(pattern) for pattern in exc.schema.get("patternProperties", {})]
    return [
        name
        for name in exc.instance
        if name not in known and not any(search(name) for search in searches)
    ]


def _describe_demand(exc: Any, keyword: str) -> dict[str, Any]:
    demand = exc.validator_value
    if keyword in _DEMANDS:
        return {"message": _DEMANDS[keyword].format(_spell(demand))[:_MAX_TEXT]}
    if keyword == "enum":
        allowed = [
            value for value in demand[:_MAX_ALLOWED] if isinstance(value, str | int | float | None)
        ]
        return {
            "message": f"must be one of {', '.join(map(repr, allowed))}"[:_MAX_TEXT],
            "allowed": allowed,
        }
    if keyword in {"anyOf", "oneOf"} and (types := _types(exc)):
        return {"message": f"must be of type {' or '.join(types)}"[:_MAX_TEXT]}
    return {"message": "does not fit its schema"}


def _choose_branch(exc: Any) -> list[Any] | None:
    """
    Return the errors of the one alternative whose type the value has; None if it is not just one.
    """
    branches: dict[Any, list[Any]] = {}
    for error in exc.context:
        branches.setdefault(error.relative_schema_path[0], []).append(error)
    fitting = [
        errors
        for errors in branches.values()
        if not any(
            error.validator in {"type", "const"} and not error.relative_path for error in errors
        )
    ]
    return fitting[0] if len(fitting) == 1 else None


def _types(exc: Any) -> list[str]:
    """
    Return the types that the alternatives ask for, if that is all that they ask.
    """
    if any(error.validator != "type" or error.relative_path for error in exc.context):
        return []
    return list(dict.fromkeys(_spell(error.validator_value) for error in exc.context))


def _spell(demand: Any) -> str:
    if issubclass(type(demand), list):
        return " or ".join(map(safe_str, demand[:8]))
    return safe_str(demand)
