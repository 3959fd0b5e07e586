"""
Values that do not fit a schema.
"""

import enum
import uuid
from datetime import date
from typing import Annotated, Any, Literal

import jsonschema
import pydantic
import pydantic_core
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, HttpUrl, Json, TypeAdapter, field_validator

from toolfault._judge.arguments import arguments_message, nearest_allowed
from toolfault._meanings.violations import MAX_VIOLATIONS, violations


INTERNAL = ("internal", "permanent", False)
PANICKED = ("tool_panicked", "permanent", False)


class Unit(enum.Enum):
    CELSIUS = "celsius"
    KELVIN = "kelvin"


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    city: str = Field(default="x", min_length=1, max_length=8, pattern="^[a-z]+$")
    days: int = Field(default=1, le=14, gt=0, multiple_of=1)
    unit: Unit = Unit.CELSIUS
    mode: Literal["fast", "slow", 3, 1.5, True, None] = "fast"  # noqa: PYI061 -- as one list of allowed values
    tags: list[str] = Field(default=[], max_length=2)
    id: uuid.UUID = uuid.UUID(int=0)
    url: HttpUrl = HttpUrl("http://x/")
    at: AwareDatetime | None = None
    day: date = date(2000, 1, 1)
    data: Json[Any] = None
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] = Cat(kind="cat")
    even: int = 0
    short: str = ""
    odd: int = 1

    @field_validator("even")
    @classmethod
    def is_even(cls, value):
        if value % 2:
            raise ValueError("an even number is needed")
        return value

    @field_validator("short")
    @classmethod
    def is_short(cls, value):
        assert len(value) < 3, "at most two letters"
        return value

    @field_validator("odd")
    @classmethod
    def is_odd(cls, value):
        assert value % 2
        return value


def refused(**arguments):
    try:
        Arguments.model_validate(arguments)
    except pydantic.ValidationError as exc:
        return exc
    raise AssertionError("taken")


@pytest.mark.parametrize(
    ("arguments", "field", "rule", "message"),
    [
        ({"days": 99}, "days", "less_than_equal", "must be less than or equal to 14"),
        ({"days": 0}, "days", "greater_than", "must be greater than 0"),
        ({"days": "NOTREAL"}, "days", "int_parsing", "must be a valid integer, unable to parse string as an integer"),
        ({"days": None}, "days", "int_type", "must be a valid integer"),
        ({"city": ""}, "city", "string_too_short", "must have at least 1 character"),
        ({"city": "NOTREALNOTREAL"}, "city", "string_too_long", "must have at most 8 characters"),
        ({"city": "NOTREAL"}, "city", "string_pattern_mismatch", "must match pattern '^[a-z]+$'"),
        ({"unit": "NOTREAL"}, "unit", "enum", "must be 'celsius' or 'kelvin'"),
        ({"mode": "NOTREAL"}, "mode", "literal_error", "must be 'fast', 'slow', 3, 1.5, True or None"),
        ({"tags": ["a", "b", "c"]}, "tags", "too_long", "must have at most 2 items after validation, not 3"),
        ({"tags": ["a", 5]}, "tags[1]", "string_type", "must be a valid string"),
        ({"id": "zNOTREAL"}, "id", "uuid_parsing", "must be a valid UUID"),
        ({"url": "NOTREAL"}, "url", "url_parsing", "must be a valid URL"),
        ({"url": "NOTREAL://x"}, "url", "url_scheme", "URL scheme should be 'http' or 'https'"),
        ({"at": "2000-01-01T00:00:00"}, "at", "timezone_aware", "must have timezone info"),
        (
            {"day": "NOTREAL"},
            "day",
            "date_from_datetime_parsing",
            "must be a valid date or datetime, input is too short",
        ),
        ({"data": "{NOTREAL"}, "data", "json_invalid", "must be valid JSON"),
        ({"pet": {"kind": "NOTREAL"}}, "pet", "union_tag_invalid", "must be tagged as one of 'cat', 'dog'"),
        ({"pet": {}}, "pet", "union_tag_not_found", None),
        ({"even": 3}, "even", "value_error", "an even number is needed"),
        ({"short": "abc"}, "short", "assertion_error", "at most two letters"),
        ({"odd": 4}, "odd", "assertion_error", "is not valid"),
        ({"unknown": "NOTREAL"}, "unknown", "extra_forbidden", "is not known"),
    ],
)
def test_what_pydantic_refuses(arguments, field, rule, message):
    """
    Field, rule and what is demanded; never the value.
    """
    [found] = violations(refused(**arguments))

    assert (field, rule) == (found["field"], found["rule"])
    assert message is None or message == found["message"]
    assert "NOTREAL" not in str(found)


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        ({"unit": "NOTREAL"}, ["celsius", "kelvin"]),
        ({"mode": "NOTREAL"}, ["fast", "slow", 3, 1.5, True, None]),
        ({"pet": {"kind": "NOTREAL"}}, ["cat", "dog"]),
        ({"days": 99}, None),
    ],
)
def test_allowed_values(arguments, allowed):
    """
    Where there are only some.
    """
    [found] = violations(refused(**arguments))

    assert allowed == found.get("allowed")


def test_values_with_quotes():
    """
    As Python writes them.
    """
    with pytest.raises(pydantic.ValidationError) as caught:
        TypeAdapter(Literal["it's", 'a "b"', ""]).validate_python("x")
    [found] = violations(caught.value)

    assert found["field"] == ""
    assert "it's" in found["message"]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"unit": "celsus"}, "Did you mean 'celsius' for `unit`?"),
        ({"unit": "Celsius"}, "Did you mean 'celsius' for `unit`?"),
        ({"unit": "CELSIUS"}, "Did you mean 'celsius' for `unit`?"),
        ({"unit": "miles"}, None),
        ({"unit": 5}, None),
        ({"unit": "celsius" * 1000}, None),
        ({"mode": "fas", "unit": "kelvim"}, "Did you mean 'kelvin' for `unit`? Did you mean 'fast' for `mode`?"),
        ({"pet": {"kind": "dgo"}}, "Did you mean 'dog' for `pet`?"),
        ({"days": 99}, None),
    ],
)
def test_nearest(arguments, hint):
    """
    The allowed value that resembles the one that was given.
    """
    assert hint == nearest_allowed(refused(**arguments))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"days": 99}, "1 argument of 'forecast' was refused: `days` must be less than or equal to 14."),
        (
            {"days": 99, "even": 3},
            (
                "2 arguments of 'forecast' were refused: `days` must be less than or equal to 14; "
                "`even`: an even number is needed."
            ),
        ),
        (
            {"tags": [1, 2]},
            "1 argument of 'forecast' was refused: `tags[0]` must be a valid string; `tags[1]` must be a valid string.",
        ),
        (
            {name: object() for name in ("city", "days", "unit", "tags", "id", "url", "day")},
            (
                "7 arguments of 'forecast' were refused: `city` must be a valid string; `days` must be a valid integer; "
                "`unit` must be 'celsius' or 'kelvin'; `tags` must be a valid list; "
                "`id` must be a string, bytes or UUID object; and 2 more."
            ),
        ),
    ],
)
def test_arguments_message(arguments, message):
    """
    At most five, then a count.
    """
    found = violations(refused(**arguments))

    assert message == arguments_message(found, "forecast")


def test_a_missing_argument():
    """
    The commonest of all.
    """
    with pytest.raises(pydantic.ValidationError) as caught:
        Cat.model_validate({})

    assert arguments_message(violations(caught.value), "pet") == "1 argument of 'pet' was refused: `kind` is missing."


def test_arguments_message_of_nothing():
    """
    A caller that has no violations still gets a sentence.
    """
    assert arguments_message([{}], "x") == "1 argument of 'x' was refused: is not valid."


def test_the_wrapped_error_is_found():
    """
    A host puts its own exception around pydantic's.
    """
    outer = RuntimeError("x")
    outer.__cause__ = refused(days=99)

    assert violations(outer) == violations(outer.__cause__)


def test_many_violations_are_cut():
    """
    A list of a million wrong values is one wrong list.
    """
    with pytest.raises(pydantic.ValidationError) as caught:
        TypeAdapter(list[int]).validate_python(["x"] * 5000)

    assert len(violations(caught.value)) == MAX_VIOLATIONS


def test_a_key_of_the_callers_is_cut():
    """
    Names of unknown fields are the caller's words.
    """
    [found] = violations(refused(**{"`" + "x" * 10000: 1}))

    assert len(found["field"]) <= 101
    assert "`" not in found["field"]


@pytest.mark.parametrize("exc", [ValueError("x"), KeyError(), pydantic.PydanticUserError("x", code=None)])
def test_what_is_no_validation_error(exc):
    """
    Nothing to say.
    """
    assert (violations(exc), nearest_allowed(exc)) == ([], None)


def test_errors_that_cannot_be_listed():
    """
    A half-built error has no violations, and raises nothing.
    """

    class Broken(Exception):
        def errors(self, **options):
            raise RuntimeError("no")

    Broken.__module__, Broken.__qualname__ = "pydantic.error_wrappers", "ValidationError"

    assert violations(Broken()) == []


# ---- in the body


def test_in_the_body_it_is_the_servers(facts, verdict_on):
    """
    An upstream's answer, or a bug; an author's words about a value are not for this caller.
    """
    exc = refused(days=99, even=3, city="NOTREAL")
    verdict = verdict_on(exc)

    assert facts(exc) == INTERNAL
    assert verdict.family == "data"
    assert verdict.message == (
        "Data that the tool received or made does not have the form that it expects (`city` must match pattern "
        "'^[a-z]+$'; `days` must be less than or equal to 14; `even` is not valid). "
        "Repeating the same call will not help."
    )


def bad_schema():
    pydantic_core.SchemaValidator({"type": "NOTREAL"})


def bad_model():
    class Bad(BaseModel):
        x = 5


def unserializable():
    TypeAdapter(Any).dump_json(object())


def undefined():
    class Lazy(BaseModel):
        x: "NOTREAL"  # noqa: F821

    Lazy.model_rebuild()


@pytest.mark.parametrize(
    ("fail", "name"),
    [
        (bad_schema, "SchemaError"),
        (bad_model, "PydanticUserError"),
        (unserializable, "PydanticSerializationError"),
        (undefined, "PydanticUndefinedAnnotation"),
        (lambda: TypeAdapter(type("Odd", (), {})), "PydanticSchemaGenerationError"),
        (lambda: pydantic.BaseSettings, "PydanticImportError"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_models_that_are_none(caught, facts, verdict_on, fail, name):
    """
    The tool's own mistakes.
    """
    exc = caught(fail)

    assert name in {"", type(exc).__name__}
    assert facts(exc) == PANICKED
    assert "NOTREAL" not in (verdict_on(exc).message or "")


# ---- jsonschema


@pytest.mark.parametrize(
    ("schema", "value", "field", "message"),
    [
        ({"type": "integer"}, "NOTREAL", "", "must be of type integer"),
        ({"type": ["integer", "null"]}, "NOTREAL", "", "must be of type integer or null"),
        ({"properties": {"a": {"items": {"maximum": 3}}}}, {"a": [1, 99]}, "a[1]", "must be less than or equal to 3"),
        ({"properties": {"a": {"minLength": 3}}}, {"a": "x"}, "a", "must have at least 3 characters"),
        ({"properties": {"a": {"pattern": "^b"}}}, {"a": "NOTREAL"}, "a", "must match the pattern ^b"),
        ({"properties": {"a": {"enum": ["b", 1]}}}, {"a": "NOTREAL"}, "a", "must be one of 'b', 1"),
        ({"required": ["a", "b"]}, {"a": "NOTREAL"}, "b", "is missing"),
        ({"properties": {"a": {"required": ["b"]}}}, {"a": {}}, "a.b", "is missing"),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"a": 1, "b": "NOTREAL"}, "b", "is not known"),
        ({"additionalProperties": {"type": "integer"}}, {"b": "NOTREAL"}, "b", "must be of type integer"),
        ({"uniqueItems": True}, ["NOTREAL", "NOTREAL"], "", "must not have two equal items"),
        ({"not": {}}, "NOTREAL", "", "does not fit its schema"),
        ({"const": 5}, "NOTREAL", "", "must be 5"),
    ],
)
def test_what_jsonschema_refuses(facts, verdict_on, schema, value, field, message):
    """
    Its texts hold the value; ours don't.
    """
    with pytest.raises(jsonschema.ValidationError) as caught:
        jsonschema.validate(value, schema)
    [found] = violations(caught.value)

    assert (field, message) == (found["field"], found["message"])
    assert "NOTREAL" not in str(found)
    assert facts(caught.value) == INTERNAL
    assert "NOTREAL" not in verdict_on(caught.value).message


ONE_OF_TWO = {"oneOf": [{"type": "string"}, {"type": "object", "required": ["from", "to"]}]}


@pytest.mark.parametrize(
    ("schema", "value", "found"),
    [
        ({"required": ["a", "b"]}, {}, {("a", "is missing"), ("b", "is missing")}),
        ({"additionalProperties": False}, {"a": 1, "b": 2}, {("a", "is not known"), ("b", "is not known")}),
        (
            {"patternProperties": {"^x-": {}}, "additionalProperties": False},
            {"x-a": 1, "b": 2},
            {("b", "is not known")},
        ),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x", {("", "must be of type integer or null")}),
        (ONE_OF_TWO, {"from": 1}, {("to", "is missing")}),
        (ONE_OF_TWO, 3, {("", "must be of type string or object")}),
        ({"anyOf": [{"maximum": 1}, {"multipleOf": 7}]}, 5, {("", "does not fit its schema")}),
        ({"oneOf": [{"type": "integer"}, {"maximum": 9}]}, 5, {("", "does not fit its schema")}),
        (
            {
                "properties": {
                    "a": {"type": "integer"},
                    "b": {"anyOf": [{"type": "array", "items": {"type": "string"}}]},
                }
            },
            {"a": "x", "b": ["y", 3]},
            {("a", "must be of type integer"), ("b[1]", "must be of type string")},
        ),
    ],
)
def test_everything_that_jsonschema_refuses_is_found_at_once(schema, value, found):
    """
    An error without a keyword of its own stands for those in its context.
    """
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(value))
    listed = violations(jsonschema.ValidationError("several", context=errors))

    assert found == {(item["field"], item["message"]) for item in listed}
    assert len(listed) == len(found)


def test_nearest_of_jsonschema():
    """
    As for pydantic.
    """
    with pytest.raises(jsonschema.ValidationError) as caught:
        jsonschema.validate({"u": "celsus"}, {"properties": {"u": {"enum": ["celsius", "kelvin", 5]}}})

    assert nearest_allowed(caught.value) == "Did you mean 'celsius' for `u`?"


def test_schemas_that_are_none(caught, facts):
    """
    The tool's own, or one that it was given.
    """
    assert facts(caught(lambda: jsonschema.validate(1, {"type": "nosuch"}))) == INTERNAL
    assert facts(caught(lambda: jsonschema.validate(1, {"$ref": "#/nowhere"}))) == INTERNAL


# ---- whatever comes

SHAPES = st.sampled_from(
    [int, str, date, uuid.UUID, HttpUrl, Json, Unit, Literal["a", "b"], list[int], dict[str, int], Cat]
)
SECRET = st.from_regex(r"\A[#%&@~]{12}\Z")


@given(SHAPES, SECRET)
def test_no_value_is_ever_told(shape, secret):
    """
    Whatever pydantic says of it.
    """
    for value in (secret, [secret], {"kind": secret}):
        try:
            TypeAdapter(shape).validate_python(value)
        except pydantic.ValidationError as exc:
            found = violations(exc)

            assert found
            assert secret not in str(found)
            assert secret not in (nearest_allowed(exc) or "")
