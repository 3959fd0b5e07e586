"""
What the checker sends: messages that reach no tool, and arguments that are proven to be wrong.
"""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing import Registry

from toolfault.check import _arguments
from toolfault.check._arguments import make_for_tool
from toolfault.check._model import Kind, ToolSeen
from toolfault.check._provocations import PLANTED, TWO_IDS, iter_always


def tool_of(schema, name="read", *, may_run=True):
    return ToolSeen(name, {"name": name, "inputSchema": schema}, may_run=may_run)


def made_for(schema):
    return {one.id: one for one in make_for_tool(tool_of(schema)).provocations}


def arguments_of(schema):
    return {name: one.params["arguments"] for name, one in made_for(schema).items()}


def shape(**properties):
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }


# ---- arguments


@pytest.mark.parametrize(
    ("part", "kinds"),
    [
        ({"type": "string"}, {"wrong-type"}),
        ({"type": "integer"}, {"wrong-type"}),
        ({"type": "object"}, {"wrong-type"}),
        ({"type": ["string", "null"]}, {"wrong-type"}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"wrong-type"}),
        ({}, set()),
        (True, set()),
        ({"enum": ["a", "b"]}, {"wrong-type", "outside-enum"}),
        ({"const": 7}, {"wrong-type", "outside-const"}),
        ({"type": "integer", "minimum": 1, "maximum": 9}, {"wrong-type", "outside-minimum", "outside-maximum"}),
        (
            {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            {"wrong-type", "outside-exclusiveMinimum", "outside-exclusiveMaximum"},
        ),
        ({"type": "integer", "multipleOf": 5}, {"wrong-type", "outside-multipleOf"}),
        ({"type": "number", "multipleOf": 0.5}, {"wrong-type", "outside-multipleOf"}),
        ({"type": "string", "pattern": "^[a-z]+$"}, {"wrong-type", "outside-pattern"}),
        ({"type": "string", "pattern": ".*"}, {"wrong-type"}),
        (
            {"type": "string", "minLength": 2, "maxLength": 5},
            {"wrong-type", "outside-minLength", "outside-maxLength"},
        ),
        ({"type": "string", "minLength": 0, "maxLength": 10**9}, {"wrong-type"}),
        ({"type": "string", "format": "email"}, {"wrong-type"}),
        (
            {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
            {"wrong-type", "wrong-item", "outside-minItems", "outside-maxItems"},
        ),
        (
            {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
            {"wrong-type", "missing-member"},
        ),
        ({"anyOf": [{"type": "null"}, {"type": "integer", "maximum": 9}]}, {"wrong-type", "outside-maximum"}),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, {"wrong-type", "outside-minimum"}),
        ({"oneOf": [{"enum": ["a"]}, {"enum": ["b"]}]}, {"wrong-type", "outside-enum"}),
        ({"type": "integer", "minimum": 10**400}, {"wrong-type"}),
        ({"type": "integer", "minimum": True}, {"wrong-type"}),
    ],
)
def test_each_keyword_that_limits_a_value_is_tried(part, kinds):
    found = arguments_of(shape(p=part))

    assert {name.partition(":")[0] for name in found if name.endswith(":p")} - {"missing-argument"} == kinds


def test_what_is_wrong_is_one_thing_where_samples_can_be_made():
    schema = shape(
        count={"type": "integer", "minimum": 3},
        day={"type": "string", "format": "date"},
        kind={"enum": ["x", "y"]},
        name={"type": "string", "minLength": 12, "maxLength": 20},
        place={"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
    )
    validator = Draft202012Validator(schema)

    for name, arguments in arguments_of(schema).items():
        faulty = {error.path[0] if error.path else error.validator for error in validator.iter_errors(arguments)}
        assert len(faulty) == 1, f"{name}: {faulty}"


def test_the_argument_at_fault_is_known():
    found = made_for(shape(a={"type": "integer"}, b={"type": "string"}))

    assert found["missing-argument:a"].expected.argument == "a"
    assert found["wrong-type:b"].expected.argument == "b"
    assert found["extra-argument"].expected.argument == "toolfault_extra"
    assert all(one.expected.codes == {"invalid_arguments"} for one in found.values())
    assert all(one.expected.is_transient is False for one in found.values())


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        (shape(n={"type": "integer"}), {"n": PLANTED}),
        (shape(q={"type": "string"}, n={"type": "integer"}), {"n": PLANTED, "q": "toolfault"}),
        (shape(q={"type": "string"}, r={"type": "string"}), {"q": PLANTED}),
        (shape(q={"type": "string"}), {"q": [PLANTED]}),
        (shape(q={"type": "string", "maxLength": 5}), {"q": PLANTED}),
        (shape(q={"type": "array"}), {"q": {"toolfault": PLANTED}}),
        (shape(q={"type": "object"}), {"q": [PLANTED]}),
        ({"type": "object", "additionalProperties": False}, {"toolfault_extra": PLANTED}),
    ],
)
def test_a_secret_is_planted_where_it_is_wrong(schema, where):
    found = made_for(schema)["planted-secret"]

    assert found.params["arguments"] == where
    assert found.expected.secret == PLANTED
    assert not Draft202012Validator(schema).is_valid(where)


def test_a_long_text_has_64_kilobytes():
    found = arguments_of(shape(n={"type": "integer"}))["long-text"]

    assert len(found["n"]) == 65_536


def test_the_first_call_is_repeated_and_cancelled():
    found = list(make_for_tool(tool_of(shape(n={"type": "integer"}))).provocations)

    again, cancelled = found[-2:]
    assert (again.id, again.params, again.kind) == (f"{found[0].id}:again", found[0].params, Kind.BAD_ARGUMENTS)
    assert (cancelled.id, cancelled.params, cancelled.kind) == ("cancelled", found[0].params, Kind.CANCELLED)


def test_optional_arguments_stand_in_the_way_of_nothing():
    schema = {"type": "object", "properties": {"q": {"type": "string"}, "limit": {"type": "integer"}}}

    found = arguments_of(schema)

    assert found["wrong-type:limit"] == {"limit": {"toolfault": "wrong type"}}
    assert "missing-argument:q" not in found


def test_a_required_argument_without_a_schema_is_left_out_and_filled_in():
    found = arguments_of({"type": "object", "required": ["q", "n"], "properties": {"n": {"type": "integer"}}})

    assert found["missing-argument:q"] == {"n": 1}
    assert found["wrong-type:n"] == {"q": "toolfault", "n": {"toolfault": "wrong type"}}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/args", "$defs": {"args": shape(n={"type": "integer"})}},
        {"allOf": [shape(n={"type": "integer"})]},
        {"anyOf": [shape(n={"type": "integer"}), shape(m={"type": "integer"})]},
        shape(n={"$ref": "#/definitions/number"}) | {"definitions": {"number": {"type": "integer"}}},
        shape(n={"$ref": "#/$defs/a~1b~0c"}) | {"$defs": {"a/b~c": {"type": "integer"}}},
    ],
)
def test_references_and_combinators_are_followed(schema):
    assert "missing-argument:n" in made_for(schema)


def test_properties_of_combined_schemas_are_all_tried():
    combined = {"allOf": [shape(n={"type": "integer"}), shape(m={"type": "integer"})], "additionalProperties": True}

    assert {"wrong-type:n", "wrong-type:m"} <= made_for({**combined, "additionalProperties": True}).keys()


def test_a_sample_is_as_short_as_the_schema_asks():
    found = arguments_of(shape(q={"type": "string", "maxLength": 3}, n={"type": "integer"}))

    assert found["wrong-type:n"]["q"] == "too"


@pytest.mark.parametrize("reference", ["elsewhere.json", "nowhere", "#nowhere"])
def test_a_reference_that_is_not_a_pointer_leads_nowhere(reference):
    schema = shape(n={"$ref": reference}) | {"nowhere": {"type": "integer"}, "lsewhere.json": {"type": "integer"}}

    assert "wrong-type:n" not in made_for(schema)


REMOTE = {"$ref": "https://schemas.acme.example/number.json"}


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        # What a reference to elsewhere says is not known; all else is.
        (shape(n=REMOTE, m={"type": "integer"}), {"missing-argument:m", "missing-argument:n", "wrong-type:m"}),
        # Here it may be that the value fits because the reference does not.
        ({"type": "object", "properties": {"n": {"not": REMOTE}}}, set()),
        ({"type": "object", "properties": {"n": {"if": REMOTE, "then": False}}}, set()),
        ({"type": "object", "properties": {"n": {"oneOf": [REMOTE, {"type": "string"}]}}}, set()),
        ({"not": REMOTE}, set()),
    ],
)
def test_a_reference_to_elsewhere_proves_nothing(schema, kinds):
    found = {name for name in made_for(schema) if name.endswith((":n", ":m")) or name == "cancelled"}

    assert found - {"cancelled"} == kinds
    assert ("cancelled" in found) is bool(kinds)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (None, "The tool lists no input schema."),
        (True, "The tool lists no input schema."),
        ([], "The tool lists no input schema."),
        ({}, "The tool's input schema forbids nothing that could be tried."),
        ({"type": "object"}, "The tool's input schema forbids nothing that could be tried."),
        ({"type": "object", "properties": {"q": {}}}, "The tool's input schema forbids nothing that could be tried."),
        (
            {"type": "object", "required": [{}, [], 7, None]},
            "The tool's input schema forbids nothing that could be tried.",
        ),
        ({"$ref": "#"}, "The tool's input schema forbids nothing that could be tried."),
        ({"$ref": "#/nowhere"}, "The tool's input schema forbids nothing that could be tried."),
    ],
)
def test_where_nothing_can_be_proven_nothing_is_made(schema, reason):
    made = make_for_tool(tool_of(schema))

    assert made.provocations == ()
    assert made.reason == reason


@pytest.mark.parametrize(
    ("schema", "skipped"),
    [
        (shape(n={"type": "integer"}), set()),
        ({"type": "object", "properties": {"n": {"type": "integer"}}}, {"missing-argument", "extra-argument"}),
        ({"type": "object", "additionalProperties": False}, {"missing-argument", "wrong-type"}),
    ],
)
def test_what_could_not_be_made_has_a_reason(schema, skipped):
    made = make_for_tool(tool_of(schema))

    assert set(made.skipped) == skipped
    assert all(made.skipped.values())


CYCLE = {
    "type": "object",
    "properties": {"node": {"$ref": "#/$defs/node"}},
    "required": ["node"],
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]}},
}
HUGE = shape(**{f"p{number}": {"type": "integer", "minimum": number} for number in range(5000)})


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("cycle", CYCLE),
        ("reference to itself", {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}),
        ("cycle of combinators", {"allOf": [{"$ref": "#"}], "properties": {"n": {"type": "integer"}}}),
        ("huge", HUGE),
        ("wide", {"type": "object", "properties": {"n": {"anyOf": [{"const": n} for n in range(20_000)]}}}),
        ("hostile pattern", shape(n={"type": "string", "pattern": "^(a+)+$"})),
        ("enormous limits", shape(n={"type": "string", "minLength": 10**12}, m={"type": "array", "maxItems": 10**12})),
        ("a long pointer", shape(n={"$ref": "#" + "/x" * 100_000})),
    ],
)
def test_hostile_schemas_cost_a_bounded_number_of_validations(name, schema, monkeypatch):
    validations = []
    forbids = _arguments.Proof.forbids
    monkeypatch.setattr(_arguments.Proof, "forbids", lambda self, value: validations.append(1) or forbids(self, value))

    made = make_for_tool(tool_of(schema))

    assert len(validations) < 300
    assert sum(len(json.dumps(one.params)) for one in made.provocations) < 5_000_000


def deep_schema(depth):
    schema = {"type": "integer"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"n": schema}, "required": ["n"]}
    return schema


def test_a_deep_schema_is_no_problem():
    assert "missing-argument:n" in made_for(deep_schema(3000))


PARTS = st.recursive(
    st.sampled_from(
        [
            True,
            False,
            {},
            {"type": "string"},
            {"type": "integer", "minimum": 3},
            {"type": ["number", "null"]},
            {"type": "nonsense"},
            {"enum": [1, "a", None]},
            {"enum": []},
            {"const": {"a": 1}},
            {"type": "string", "pattern": "^a"},
            {"pattern": "(("},
            {"minLength": 3, "maxLength": 2},
            {"maxItems": 1, "minItems": 1, "uniqueItems": True},
            {"multipleOf": 3},
            {"$ref": "#"},
            {"$ref": "#/$defs/a"},
            {"$ref": "https://schemas.acme.example/x"},
            {"format": "email", "type": "string"},
            {"required": ["a", 7]},
            7,
            None,
            "string",
        ]
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array", "string", 7]),
            "properties": st.dictionaries(st.sampled_from(["a", "b", "n"]), inner, max_size=3),
            "required": st.lists(st.sampled_from(["a", "b", "zz"]), max_size=2),
            "additionalProperties": inner,
            "items": inner,
            "anyOf": st.lists(inner, max_size=3),
            "oneOf": st.lists(inner, max_size=3),
            "allOf": st.lists(inner, max_size=3),
            "not": inner,
            "if": inner,
            "then": inner,
            "$defs": st.dictionaries(st.just("a"), inner, max_size=1),
            "default": inner,
            "examples": st.lists(inner, max_size=2),
        },
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(PARTS)
def test_whatever_the_schema_nothing_raises_and_all_that_is_made_is_wrong(schema):
    made = make_for_tool(tool_of(schema))

    assert bool(made.provocations) != bool(made.reason)
    assert len({one.id for one in made.provocations}) == len(made.provocations)
    for one in made.provocations:
        assert json.dumps(one.params, allow_nan=False)
        assert is_refused(schema, one.params["arguments"]), one.id


def is_refused(schema, arguments):
    """
    Ask the reference implementation, with all that is unknown allowed; True if it can't tell.
    """
    try:
        Draft202012Validator.check_schema(schema)
        return not Draft202012Validator(schema, registry=Registry()).is_valid(arguments)
    except (SchemaError, RecursionError):
        return True
    except Exception as exc:
        # Only a reference to elsewhere keeps it from an answer.
        assert "schemas.acme.example" in str(exc) or "PointerToNowhere" in repr(exc) or "Unresolvable" in repr(exc)
        return True


# ---- messages that reach no tool


def always(*names, is_modern=False, is_http=False, has_session=False):
    tools = tuple(tool_of({}, name) for name in names)
    return {one.id: one for one in iter_always(tools, is_modern=is_modern, is_http=is_http, has_session=has_session)}


EVERYWHERE = {
    "unknown-tool:plain",
    "unknown-tool:again",
    "unknown-tool:secret",
    "unknown-tool:control-characters",
    "unknown-tool:long",
    "unknown-method",
    "name-missing",
    "name-is-a-number",
    "arguments-are-a-text",
    "params-missing",
    "bad-cursor",
    "not-json",
    "not-a-message",
    "lone-surrogate",
    "cancel-of-nothing",
}


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({}, {"two-at-once"}),
        ({"is_modern": True}, {"two-at-once", "meta-empty", "version-unknown"}),
        ({"is_http": True}, {"bad-version-header"}),
        ({"is_http": True, "has_session": True}, {"bad-version-header", "dead-session"}),
        ({"is_http": True, "is_modern": True}, {"meta-empty", "version-unknown", "header-mismatch"}),
    ],
)
def test_each_transport_and_era_gets_its_messages(options, more):
    assert set(always(**options)) == EVERYWHERE | more


def test_no_tool_that_is_listed_is_called():
    names = ("read", "reads", "x" * 1024 * 1024)

    for one in always(*names).values():
        assert one.tool is None
        assert as_params(one).get("name") not in names


def as_params(provocation):
    if provocation.raw is None:
        return provocation.params or {}
    try:
        message = json.loads(provocation.raw)
    except ValueError:
        return {}
    return message.get("params", {})


@pytest.mark.parametrize(
    ("names", "near"),
    [((), None), (("read",), "reads"), (("read", "reads"), "readss"), (("b", "a"), "as")],
)
def test_a_name_is_missed_by_one_letter(names, near):
    found = always(*names).get("unknown-tool:near-miss")

    assert (found and found.params["name"]) == near


def test_the_name_of_a_tool_that_only_reads_is_missed_first():
    tools = (tool_of({}, "delete", may_run=False), tool_of({}, "read"))

    found = {one.id: one for one in iter_always(tools, is_modern=False)}

    assert found["unknown-tool:near-miss"].params["name"] == "reads"


def test_the_odd_names_are_what_they_are_called():
    found = always("read")

    assert PLANTED in found["unknown-tool:secret"].params["name"]
    assert found["unknown-tool:secret"].expected.secret == PLANTED
    assert len(found["unknown-tool:long"].params["name"]) == 1024 * 1024
    assert "\x1b" in found["unknown-tool:control-characters"].params["name"]
    assert b"\\ud800" in found["lone-surrogate"].raw


def test_two_calls_at_once_have_ids_of_their_own():
    lines = always()["two-at-once"].raw.split(b"\n")

    assert tuple(json.loads(line)["id"] for line in lines) == TWO_IDS


def test_provocations_of_a_group_stand_together():
    for options in ({}, {"is_modern": True}, {"is_http": True, "has_session": True}):
        groups = [one.group for one in always("read", **options).values()]
        changes = sum(one != other for one, other in zip(groups, groups[1:], strict=False))
        assert changes == len(set(groups)) - 1
