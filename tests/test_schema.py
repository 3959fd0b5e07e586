"""
Room for the envelope in an outputSchema.
"""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, SchemaError
from pydantic import BaseModel, Field

from toolfault._schema import widen
from toolfault._schema.widen import widen_schema


class City(BaseModel):
    name: str
    inhabitants: int = Field(ge=0)


class Node(BaseModel):
    value: int
    children: "list[Node]" = []


class Closed(BaseModel, extra="forbid"):
    rows: list[City]


ENVELOPE = {"code": "internal", "message": "m", "category": "permanent", "retryable": False}

#: schema, values that it takes, values that it refuses, whether there is room for the envelope
SCHEMAS = [
    pytest.param(
        City.model_json_schema(),
        [{"name": "Oslo", "inhabitants": 3}],
        [{"name": "Oslo"}, {"name": 3, "inhabitants": 3}, []],
        True,
        id="model",
    ),
    pytest.param(Closed.model_json_schema(), [{"rows": []}], [{}, {"rows": 3}], True, id="closed-with-defs"),
    pytest.param(
        {"type": "object", "properties": {"value": {"type": "integer"}, "next": {"$ref": "#"}}, "required": ["value"]},
        [{"value": 1}, {"value": 1, "next": {"value": 2}}],
        [{}, {"value": "1"}],
        True,
        id="refers-to-its-root",
    ),
    pytest.param(
        {
            "type": "object",
            "properties": {"result": {"type": "array", "items": {"type": "string"}}},
            "required": ["result"],
        },
        [{"result": ["a"]}],
        [{"result": "a"}, {}],
        True,
        id="wrapped-list",
    ),
    pytest.param(
        {"type": "object", "properties": {"code": {"type": "integer"}}, "required": ["code"]},
        [{"code": 3}],
        [{"code": None}, {}],
        True,
        id="own-code",
    ),
    pytest.param(
        {"type": "object", "properties": {"message": {"enum": ["ok"]}}},
        [{"message": "ok"}, {}],
        [{"message": 3}],
        True,
        id="own-message-without-required",
    ),
    pytest.param({"type": "object"}, [{}, {"a": 1}, {"message": 1}], [[]], True, id="anything"),
    pytest.param(
        {"type": "object", "additionalProperties": {"type": "integer"}},
        [{"code": 1, "message": 2}],
        [],
        True,
        id="counts",
    ),
    pytest.param(
        {"type": "object", "additionalProperties": {"type": "number"}}, [{"a": 1}], [], True, id="map-of-numbers"
    ),
    pytest.param(
        {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        [{"a": 1}],
        [{"c": 1}],
        True,
        id="own-anyof",
    ),
    pytest.param(
        {"type": "object", "properties": {"code": {"type": "integer"}, "next": {"$ref": "#"}}, "required": ["code"]},
        [],
        [],
        False,
        id="own-code-and-root-ref",
    ),
    pytest.param({"type": "array"}, [], [], False, id="no-object"),
    pytest.param({"anyOf": [{"type": "object"}]}, [], [], False, id="no-root-type"),
    pytest.param(
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}, "required": ["a"]},
        [],
        [],
        True,
        id="dangling-ref",
    ),
]


@pytest.mark.parametrize(("schema", "takes", "refuses", "room"), SCHEMAS)
def test_a_widened_schema_takes_what_it_took_and_the_envelope(schema, takes, refuses, room):
    before = repr(schema)
    widened = widen_schema(schema)

    assert repr(schema) == before
    assert (widened is not None) is room
    if widened is None:
        return
    assert widened["type"] == "object"
    Draft202012Validator.check_schema(widened)
    validator = Draft202012Validator(widened)
    assert validator.is_valid(ENVELOPE)
    for value in takes:
        assert Draft202012Validator(schema).is_valid(value)
        assert validator.is_valid(value)
    for value in refuses:
        assert not validator.is_valid(value), value


def test_a_recursive_model_as_the_sdk_shows_it():
    from mcp.server.mcpserver.utilities.func_metadata import func_metadata

    def tool() -> Node: ...

    schema: Any = func_metadata(tool).output_schema
    widened = widen_schema(schema)

    assert Draft202012Validator(widened).is_valid({"value": 1, "children": [{"value": 2}]})
    assert not Draft202012Validator(widened).is_valid({"value": 1, "children": [{"value": "2"}]})
    assert Draft202012Validator(widened).is_valid(ENVELOPE)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "required", "anyOf", "code", "$ref"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


#: How fast examples are made depends on the machine.
unhurried = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


@unhurried
@given(st.dictionaries(st.sampled_from(["properties", "required", "anyOf", "$defs", "additionalProperties"]), JSON))
def test_nonsense_has_room_or_has_not(schema):
    widened = widen_schema({"type": "object", **schema})

    if widened is None:
        return
    try:
        Draft202012Validator.check_schema(widened)
    except SchemaError:
        return  # what a validator says of it depends on the order of keywords
    assert Draft202012Validator(widened).is_valid(ENVELOPE)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"type": "object", "properties": {"code": {"type": "integer"}}, "required": ["code"]},
        {"type": "object", "properties": {"a": {"type": "integer"}}},
    ],
)
def test_a_schema_that_a_server_behind_this_one_widened_stays(schema):
    widened = widen_schema(schema)

    assert widen_schema(widened) == widened


def test_a_reference_to_elsewhere_is_not_fetched():
    """
    The schema may be an upstream's; a warning would be an error here.
    """
    schema = {"type": "object", "properties": {"message": {"$ref": "http://127.0.0.1:9/schema.json"}}}

    assert widen_schema(schema) is None


@unhurried
@given(
    st.fixed_dictionaries(
        {"type": st.just("object")},
        optional={
            "properties": st.dictionaries(st.sampled_from(["x", "code", "hint", "$ref"]), JSON, max_size=3) | JSON,
            "required": st.lists(st.sampled_from(["x", "code", 7]), max_size=3) | JSON,
            "additionalProperties": st.booleans() | JSON,
            "$defs": JSON,
            "title": JSON,
            "not": JSON,
        },
    )
)
def test_what_is_plain_is_widened_as_if_it_had_been_tried(schema):
    """
    The quick yes for most schemas is the yes of the validator.
    """
    quick = widen_schema(schema)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(widen, "_is_plain", lambda _schema: False)
        tried = widen_schema(schema)

    assert quick == tried
