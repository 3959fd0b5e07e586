"""
The quick yes to arguments and results, held against jsonschema.
"""

from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field
from referencing.jsonschema import EMPTY_REGISTRY

from toolfault.hosting import quick


scalars = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 0.5, float("nan"), "", "a", "ab", "1"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=8,
)

keywords = {
    "type": st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object", ["string", "null"]]),
    "enum": st.lists(scalars, min_size=1, max_size=3),
    "const": scalars,
    "maximum": st.integers(-3, 3),
    "exclusiveMinimum": st.integers(-3, 3),
    "minLength": st.integers(0, 2),
    "maxLength": st.integers(0, 2),
    "minItems": st.integers(0, 2),
    "maxItems": st.integers(0, 2),
    "pattern": st.sampled_from(["^a", "b$", "1"]),
    "multipleOf": st.integers(1, 3),
    "uniqueItems": st.booleans(),
    "required": st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True),
    "title": st.just("T"),
    "default": scalars,
    "format": st.just("uri"),
    "x-mcp-header": st.just("City"),
    "$ref": st.sampled_from(["#/$defs/tree", "#/$defs/word", "#"]),
    "$schema": st.sampled_from(
        ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"]
    ),
}
DEFS = {
    "word": {"type": "string", "minLength": 1},
    "tree": {"type": "object", "properties": {"a": {"$ref": "#/$defs/tree"}, "b": {"type": "integer"}}},
}


def with_parts(inner):
    return st.fixed_dictionaries(
        {},
        optional={
            **{word: strategy for word, strategy in keywords.items() if word != "$schema"},
            "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner | st.booleans(), max_size=2),
            "additionalProperties": inner | st.booleans(),
            "items": inner | st.booleans(),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
        },
    )


schemas = st.recursive(st.fixed_dictionaries({}, optional={"type": keywords["type"]}), with_parts, max_leaves=4)


@given(schemas, values)
def test_a_yes_is_jsonschema_s_yes(schema, value):
    schema = {**schema, "$defs": DEFS}

    if quick(schema)(value):
        assert Draft202012Validator(schema, registry=EMPTY_REGISTRY).is_valid(value)


class Leg(BaseModel):
    city: Annotated[str, Field(min_length=1, pattern="^[A-Z]")]
    legs: list["Leg"] = []


class Trip(BaseModel):
    days: Annotated[int, Field(ge=1, le=14)]
    unit: Literal["celsius", "kelvin"] = "celsius"
    limit: float | None = None
    leg: Leg
    names: dict[str, str] = {}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, {"a": 1}),
        ({"type": "object"}, {}),
        ({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"a": 1, "b": 2}),
        ({"type": "object", "properties": {"a": True}, "additionalProperties": False}, {"a": 1}),
        ({"properties": {"a": {"const": "x", "x-mcp-header": "A"}}}, {"a": "x"}),
        (Trip.model_json_schema(), {"days": 3, "leg": {"city": "Oslo", "legs": [{"city": "Bergen"}]}}),
        (
            Trip.model_json_schema(),
            {"days": 3, "unit": "kelvin", "limit": None, "leg": {"city": "Oslo"}, "names": {"a": "b"}},
        ),
    ],
)
def test_what_plainly_fits_gets_its_yes(schema, value):
    assert quick(schema)(value)


def test_an_endless_reference_is_no_yes():
    assert not quick({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}})({})
