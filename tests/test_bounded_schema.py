"""
Verdicts of the bounded validator, compared with those of jsonschema.
"""

import sys
from typing import Annotated, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator, Draft6Validator, Draft7Validator, Draft202012Validator, SchemaError
from pydantic import BaseModel, Field
from referencing.jsonschema import EMPTY_REGISTRY

from toolfault.hosting import BoundedValidator


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
            "if": inner,
            "then": inner,
            "else": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "additionalItems": inner | st.booleans(),
            "contains": inner,
            "minContains": st.integers(0, 2),
            "maxContains": st.integers(0, 2),
            "propertyNames": inner,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b", "(a|b)+c"]), inner, max_size=2),
            "unevaluatedProperties": inner | st.booleans(),
            "minProperties": st.integers(0, 2),
            "maxProperties": st.integers(0, 2),
            "dependentRequired": st.dictionaries(st.sampled_from(["a", "b"]), st.just(["c"]), max_size=1),
            "dependentSchemas": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=1),
            "dependencies": st.dictionaries(st.sampled_from(["a", "b"]), inner | st.just(["c"]), max_size=1),
        },
    )


schemas = st.recursive(st.fixed_dictionaries({}, optional={"type": keywords["type"]}), with_parts, max_leaves=4)


DRAFTS = {
    "https://json-schema.org/draft/2020-12/schema": Draft202012Validator,
    "http://json-schema.org/draft-07/schema#": Draft7Validator,
    "http://json-schema.org/draft-06/schema#": Draft6Validator,
    "http://json-schema.org/draft-04/schema#": Draft4Validator,
}


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sampled_from(sorted(DRAFTS)), schemas, values)
def test_a_verdict_is_that_of_jsonschema(draft, schema, value):
    schema = {**schema, "$defs": DEFS, "$schema": draft}
    kind = DRAFTS[draft]

    validator = BoundedValidator(schema)
    try:
        kind.check_schema(schema)
    except SchemaError:
        assert validator.flaw is not None
        return
    assert validator.flaw is None
    try:
        expected = kind(schema, registry=EMPTY_REGISTRY).is_valid(value)
    except RecursionError:
        return  # a reference to itself: there is nothing to compare with
    verdict = validator.fits(value)
    # A reference to itself that jsonschema does not follow to its end is undecided.
    assert verdict in {expected, None}
    if verdict is None:
        assert "#" in str(schema.get("$ref", schema))
    assert bool(validator.errors(value)) is (verdict is False) or verdict is None


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
    assert BoundedValidator(schema).fits(value)


def test_an_endless_reference_is_no_yes():
    assert BoundedValidator({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}).fits({}) is None


# ---- cost

DEEP = {f"l{level}": {"anyOf": [{"$ref": f"#/$defs/l{level + 1}"}] * 2} for level in range(30)}
HOSTILE = {
    "combinators": ({"$ref": "#/$defs/l0", "$defs": {**DEEP, "l30": {"type": "integer"}}}, "x"),
    "exclusive": (
        {"$ref": "#/$defs/l0", "$defs": {**{k: {"oneOf": v["anyOf"]} for k, v in DEEP.items()}, "l30": {}}},
        1,
    ),
    "nested repeats": ({"pattern": r"^(\w+\s?)*$"}, "a" * 35 + "!"),
    "many repeats": ({"pattern": "^" + ".*" * 30 + "X$"}, "The daily quota is used up."),
    "overlapping choices": ({"pattern": "^(a|a)*$"}, "a" * 40 + "!"),
    "a look-ahead": ({"pattern": r"^(?=(a+)+$)"}, "a" * 40 + "!"),
    "a back-reference": ({"pattern": r"^(a*)*\1b"}, "a" * 40),
    "names of members": ({"patternProperties": {r"^(\w+\s?)*$": {"type": "integer"}}}, {"a" * 35 + "!": 1}),
    "names": ({"propertyNames": {"pattern": r"^(\w+\s?)*$"}}, {"a" * 35 + "!": 1}),
    "names left over": (
        {"patternProperties": {r"^(\w+\s?)*$": {}}, "unevaluatedProperties": False},
        {"a" * 35 + "!": 1},
    ),
    "counted parts": ({"pattern": r"(\w{100}){100}"}, "a" * 10_000),
    "distinct objects": ({"uniqueItems": True}, [{"a": number} for number in range(20_000)]),
    "many properties": ({"properties": {f"p{number}": {"type": "integer"} for number in range(20_000)}}, {"p7": 1}),
    "missing members": ({"required": [f"p{number}" for number in range(20_000)]}, {}),
    "wrong items": ({"items": {"type": "integer"}}, ["x"] * 300_000),
    "long choices": ({"items": {"enum": [{"a": number} for number in range(2_000)]}}, [{"a": -1}] * 2_000),
    "jsonschema alone": ({"items": {"unevaluatedProperties": False}}, [{"a": 1}] * 20_000),
    "a loop": ({"$ref": "#"}, 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_work_for_a_verdict_is_bounded(name):
    schema, value = HOSTILE[name]

    with counted_calls() as count:
        validator = BoundedValidator(schema)
        validator.fits(value)
        validator.errors(value)

    assert count() < 1_500_000


class counted_calls:
    """
    Counts the calls of functions, Python's and C's; the clock is not asked.
    """

    def __enter__(self):
        self.calls = 0
        sys.setprofile(self.note)
        return lambda: self.calls

    def note(self, _frame, event, _argument):
        self.calls += event in {"call", "c_call"}

    def __exit__(self, *_):
        sys.setprofile(None)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"items": {"type": "integer"}}, lambda size: list(range(size))),
        ({"items": {"type": "integer"}}, lambda size: ["x"] * size),
        ({"uniqueItems": True}, lambda size: [{"a": number} for number in range(size)]),
        ({"additionalProperties": {"minLength": 1}}, lambda size: {f"p{number}": "a" for number in range(size)}),
        ({"items": {"enum": list(range(500))}}, lambda size: [7] * size),
        ({"items": {"pattern": "^a+b"}}, lambda size: ["aab"] * size),
        ({"items": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}}, lambda size: [[None] for _ in range(size)]),
    ],
)
def test_twice_the_value_is_twice_the_work(schema, value):
    def work(size):
        with counted_calls() as count:
            validator = BoundedValidator(schema)
            validator.fits(value(size))
            validator.errors(value(size))
        return count()

    work(10)
    assert work(2_000) < 2.3 * work(1_000)


# ---- exceptions


def test_an_exception_on_one_value_changes_nothing_for_the_next():
    validator = BoundedValidator(
        {"properties": {"price": {"type": "number", "multipleOf": 0.01}, "account": {"pattern": "^[a-z]{3,12}$"}}}
    )
    attack = {"price": -5, "account": "'; DROP"}

    assert validator.fits(attack) is False
    assert validator.fits({"price": 10**401, "account": "abc"}) is not True
    (error,) = validator.errors({"price": 10**401, "account": "abc"})
    assert (error.validator, list(error.path)) == ("multipleOf", ["price"])
    assert validator.fits(attack) is False
    assert validator.fits({"price": 1, "account": "abc"}) is True


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^(?=.*\d)(?=.*[a-z]).{8,}$", "abcdefg1", True),
        (r"^(?=.*\d)(?=.*[a-z]).{8,}$", "abcdefgh", False),
        (r"^[^@\s]+@[^@\s]+$", "a@b.c", True),
        (r"^(\w+\s?)*$", "a" * 35 + "!", False),
        (r"^(\w+\s?)*$", "some words", True),
        (r"^\d{3}\Z", "123", True),
        (r"^\S+@\S+\.\S+$", "a" * 5_000, False),
    ],
)
def test_patterns_are_searched_as_python_does(pattern, text, found):
    assert BoundedValidator({"pattern": pattern}).fits(text) is found


@pytest.mark.parametrize("reference", ["http://127.0.0.1:9/schema.json", "#/$defs/gone", "other.json"])
def test_a_reference_to_nowhere_or_elsewhere_is_not_followed(reference):
    schema = {"properties": {"a": {"$ref": reference}, "b": {"type": "integer"}}}

    strict = BoundedValidator(schema)
    assert strict.fits({}) is True
    assert strict.fits({"a": 1}) is None
    assert strict.errors({"a": 1}) == []
    lenient = BoundedValidator(schema, is_lenient=True)
    assert lenient.fits({"a": 1}) is True
    assert lenient.unresolved == {reference}
    assert lenient.fits({"a": 1, "b": "x"}) is False


def test_an_error_for_several_missing_members_is_one():
    (error,) = BoundedValidator({"required": ["a", "b"]}).errors({})

    assert (error.validator, error.validator_value, error.instance) == ("required", ["a", "b"], {})


def test_unknown_members_are_told_without_their_neighbours():
    schema = {"properties": {"a": {}}, "patternProperties": {"^x": {}}, "additionalProperties": False}
    (error,) = BoundedValidator(schema).errors({"a": 1, "xb": 2, "c": 3})

    assert (error.validator, error.instance) == ("additionalProperties", {"c": 3})


@pytest.mark.parametrize(
    "pair",
    [
        [1, 1.0],
        [1, True],
        [0, False],
        [0, -0.0],
        [10**16, 1e16],
        [{"a": 1}, {"a": 1.0}],
        [{"a": 1}, {"a": True}],
        [{"a": 0.0}, {"a": -0.0}],
        [{"a": 10**22}, {"a": 1e22}],
        [{"a": 10**15}, {"a": 1e15}],
        [{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}],
        [[1, "v1.0"], [1, "v1"]],
        [["1e+16"], ["2e+16"]],
        [["-0"], ["0"]],
        [[1], {"0": 1}],
        [["1"], [1]],
        [[], {}],
        [None, "null"],
        [{"é": 1}, {"\u00e9": 1}],
        [{"a": 0.5}, {"a": 0.25}],
        [{"a": 1e-7}, {"a": 1e-7}],
    ],
)
@pytest.mark.parametrize("beside", [[], ["x", [7], {"n": {"a": 3}}]])
def test_equal_items_are_those_of_jsonschema(pair, beside):
    schema = {"uniqueItems": True}
    values = [*beside, *pair]

    assert BoundedValidator(schema).fits(values) is Draft202012Validator(schema).is_valid(values)


#: A schema of each keyword, and the drafts that know it.
KEYWORDS = [
    ({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 0}}, None),
    ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, None),
    ({"if": True, "else": False}, None),
    ({"prefixItems": [{"type": "string"}, {"type": "integer"}]}, None),
    ({"prefixItems": [{"type": "string"}], "items": False}, None),
    ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, None),
    ({"items": {"type": "integer"}}, None),
    ({"items": [{"type": "string"}], "additionalItems": {"type": "integer"}}, Draft7Validator),
    ({"items": [{"type": "string"}], "additionalItems": False}, Draft7Validator),
    ({"items": {"type": "integer"}, "additionalItems": False}, Draft7Validator),
    ({"contains": {"type": "integer"}}, None),
    ({"contains": {"type": "integer"}, "minContains": 2, "maxContains": 3}, None),
    ({"contains": {"type": "integer"}, "minContains": 0}, None),
    ({"propertyNames": {"maxLength": 1}}, None),
    ({"dependentRequired": {"a": ["b"]}}, None),
    ({"dependentSchemas": {"a": {"required": ["b"]}}}, None),
    ({"dependencies": {"a": ["b"], "b": {"minProperties": 2}}}, Draft7Validator),
    ({"multipleOf": 0.5}, None),
    ({"multipleOf": 1e-300}, None),
    ({"multipleOf": 3}, None),
    ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, None),
    ({"not": {"type": "string"}}, None),
    ({"properties": {"a": {"$ref": "#/allOf/1"}}, "allOf": [{"minProperties": 0}, {"type": "object"}]}, None),
    ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string"}}}, None),
]

VALUES = [
    None, True, 0, 1, 2.0, 0.25, -1, 1e308, "", "a", "ab", [], ["a"], [1], ["a", 1], [1, "a"], ["a", "b"], [1, 2, 3, 4],
    ["a", 1, 2], {}, {"a": 1}, {"b": 1}, {"a": 1, "b": 2}, {"ab": 1}, {"a": 1, "c": {}},
]  # fmt: skip


@pytest.mark.parametrize(("schema", "draft"), KEYWORDS, ids=str)
def test_each_keyword_is_that_of_jsonschema(schema, draft):
    draft = draft or Draft202012Validator
    if draft is not Draft202012Validator:
        schema = {"$schema": draft.META_SCHEMA["$schema"], **schema}
    ours, theirs = BoundedValidator(schema), draft(schema, registry=EMPTY_REGISTRY)

    for value in VALUES:
        assert ours.fits(value) is theirs.is_valid(value), value
        assert bool(ours.errors(value)) is not theirs.is_valid(value), value
