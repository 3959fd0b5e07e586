"""
Widen a tool's ``outputSchema`` so that it takes the envelope.

A strict client rejects an error result whose ``structuredContent`` does not match the schema that
the tool advertises. Each candidate is checked with a sample envelope, and the first that takes it
wins:

1. root-required: root ``type`` and ``properties`` stay, ``required`` moves into an ``anyOf``, and
   the members of the envelope are listed beside the tool's own;
2. nested: the root becomes ``anyOf`` the original and the envelope;
3. no candidate: the envelope goes into ``_meta``, and the schema stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._json import is_array, is_mapping
from toolfault._schema.bounded import BoundedValidator


#: The envelope as a sub-schema, written out so that it needs no ``$defs`` of its own.
ENVELOPE_PROPERTIES: Final[dict[str, Any]] = {
    "code": {"type": "string"},
    "message": {"type": "string"},
    "category": {"type": "string"},
    "retryable": {"type": "boolean"},
    "retry_after_seconds": {"type": "integer", "minimum": 0},
    "hint": {"type": "string"},
    "cause_chain": {"type": "array", "items": {"type": "string"}},
}

_ANYTHING: Final[dict[str, Any]] = {}

ENVELOPE_REQUIRED: Final = ["code", "message", "category", "retryable"]

#: One of every member, so that a schema that takes it takes them all.
_SAMPLES: Final[tuple[dict[str, Any], ...]] = (
    {
        "code": McpErrorCode.QUOTA_EXCEEDED.value,
        "message": "The daily quota is used up.",
        "category": McpErrorCategory.TRANSIENT.value,
        "retryable": True,
        "retry_after_seconds": 3600,
        "hint": "Try again tomorrow.",
        "cause_chain": ["HTTP 429"],
    },
    {
        "code": McpErrorCode.INTERNAL.value,
        "message": "x",
        "category": McpErrorCategory.PERMANENT.value,
        "retryable": False,
    },
)


def widen_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """
    Return an ``outputSchema`` that takes the tool's results as before, and the envelope.

    None means that no schema with ``type: object`` at its root does both. The envelope belongs
    into ``_meta`` then.
    """
    if schema.get("type") != "object":
        return None
    if _is_widened(schema) and _takes_envelopes(schema):
        return dict(schema)
    for widened in (_root_required, _nest):
        candidate = widened(schema)
        if candidate is not None and (_is_plain(schema) or _takes_envelopes(candidate)):
            return candidate
    return None


#: Keywords that can't exclude a member of the envelope, where `_is_plain` looks at their values.
_PLAIN: Final = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "title",
        "description",
        "$defs",
        "definitions",
    }
)


def _is_plain(schema: Mapping[str, Any]) -> bool:
    """
    Tell whether a schema takes the envelope without a check, as most schemas of tools do.

    A validator takes twenty times longer.
    """
    properties, required = schema.get("properties", {}), schema.get("required", [])
    return (
        schema.keys() <= _PLAIN
        and is_mapping(properties)
        and properties.keys().isdisjoint(ENVELOPE_PROPERTIES)
        and is_array(required)
        and all(isinstance(name, str) for name in required)
    )


def _is_widened(schema: Mapping[str, Any]) -> bool:
    """
    Tell whether a mounted server or an upstream has widened the schema already.
    """
    choices = schema.get("anyOf")
    return is_array(choices) and any(
        is_mapping(choice) and choice.get("required") == ENVELOPE_REQUIRED for choice in choices
    )


def _root_required(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping) or "anyOf" in schema:
        return None
    widened = {
        key: value
        for key, value in schema.items()
        if key not in {"required", "additionalProperties"}
    }
    # Listed without a type, since a tool may return members of these names that its schema does not
    # mention.
    widened["properties"] = {**dict.fromkeys(ENVELOPE_PROPERTIES, _ANYTHING), **properties}
    if required := schema.get("required"):
        widened["anyOf"] = [{"required": required}, {"required": ENVELOPE_REQUIRED}]
    return widened


def _nest(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    # "#" would come to mean the widened root.
    if _refers_to_root(schema):
        return None
    defs = {key: schema[key] for key in ("$schema", "$id", "$defs", "definitions") if key in schema}
    own = {key: value for key, value in schema.items() if key not in defs}
    envelope = {"type": "object", "properties": ENVELOPE_PROPERTIES, "required": ENVELOPE_REQUIRED}
    return {**defs, "type": "object", "anyOf": [own, envelope]}


def _refers_to_root(value: object, depth: int = 32) -> bool:
    inner: list[Any] = []
    if is_mapping(value):
        if value.get("$ref") == "#":
            return True
        inner = list(value.values())
    elif is_array(value):
        inner = list(value)
    return depth > 0 and any(_refers_to_root(item, depth - 1) for item in inner)


def _takes_envelopes(schema: Mapping[str, Any]) -> bool:
    validator = BoundedValidator(schema, is_checked=False)
    # What can't be decided, or refers to elsewhere, has no room for anything.
    return all(validator.fits(sample) is True for sample in _SAMPLES)
