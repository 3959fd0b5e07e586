"""
The gateway's core: what becomes of each answer.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfault import McpExecuteError, Retry, parse
from toolfault.gateway._calls import Call, read_call
from toolfault.gateway._exchange import UNCHANGED, Exchange, Replace, to_jsonable
from toolfault.gateway._exchange import Retry as Again
from toolfault.gateway._options import Options


KEY = "io.github.toolfault/error"


def call(method="tools/call", request_id=7, modern=False, **params):
    params = params or {"name": "search", "arguments": {"q": "x"}}
    return Call(request_id, method, params, is_modern=modern)


def exchange(retry=None, **options):
    return Exchange(Options(**options), retry=retry, new_id=lambda: "f00")


def answer(**members):
    return {"jsonrpc": "2.0", "id": 7, **members}


def failed(words="disk full", **members):
    return answer(result={"content": [{"type": "text", "text": words}], "isError": True, **members})


FULL = {"code": "seat_taken", "message": "Seat taken", "category": "permanent", "retryable": False}


@pytest.mark.parametrize(
    "message",
    [
        answer(result={"content": []}),
        answer(result={"content": [{"type": "text", "text": "Error: no"}]}),
        answer(result={"content": [], "isError": False}),
        answer(result={"content": [], "isError": "maybe"}),
        answer(result={"resultType": "input_required", "requestState": "s"}),
        answer(result={"task": {"taskId": "t", "status": "working"}}),
        failed(structuredContent=FULL),
        failed(_meta={KEY: {"v": 1, "error": FULL}}),
        *(answer(error={"code": code, "message": "x", "data": {}}) for code in (-32042, -32020, -32021, -32022)),
    ],
)
def test_what_is_no_weak_failure_leaves_as_it_came(message):
    assert exchange().answer(call(), message) is UNCHANGED


@pytest.mark.parametrize("method", ["resources/read", "prompts/get", "initialize", "com.example/x", "ping"])
@pytest.mark.parametrize("message", [failed(), answer(error={"code": -32601, "message": "Method not found"})])
def test_answers_to_other_methods_leave_as_they_came(method, message):
    assert exchange().answer(call(method), message) is UNCHANGED


@pytest.mark.parametrize(
    ("message", "code", "text"),
    [
        (failed("HTTP 429 Too Many Requests"), "quota_exceeded", "HTTP 429 Too Many Requests"),
        (failed("it broke"), "internal", "it broke"),
        (failed("it broke", isError="true"), "internal", "it broke"),
        (answer(result={"isError": True}), "internal", "The tool failed without saying why."),
        (answer(result={"isError": True, "content": "bare text"}), "internal", "bare text"),
        (answer(result={"isError": True, "content": 5}), "internal", "The tool failed without saying why."),
        (answer(error={"code": -32602, "message": "Unknown tool: search"}), "tool_not_found", "Unknown tool: search"),
        (answer(error={"code": -32603, "message": "db refused"}), "internal", "db refused"),
        (answer(error={"code": -32601, "message": "Method not found"}), None, "Method not found"),
        (answer(error="boom"), "internal", "boom"),
        (answer(error={}), "internal", None),
        (answer(error=True), "internal", None),
        (answer(result=None), "internal", None),
        (answer(result="text"), "internal", None),
        (answer(), "internal", None),
    ],
)
def test_each_failure_becomes_a_result_with_an_envelope(message, code, text):
    replaced = exchange().answer(call(), message)

    assert isinstance(replaced, Replace)
    result = replaced.message["result"]
    envelope = McpExecuteError.from_wire(result["structuredContent"])
    assert replaced.message["id"] == 7
    assert result["isError"] is True
    assert result["content"][0]["text"] == envelope.message
    assert code in (None, envelope.code)
    assert text in (None, envelope.message)
    assert envelope.code != "unknown"
    assert result["_meta"][KEY]["id"] == "f00"


def test_unknown_members_stay_where_an_answer_is_replaced():
    message = failed(**{"x-result": 1, "_meta": {"com.example/a": 1}}) | {"x-top": 1}
    message["result"]["content"][0]["x-block"] = 1
    message["result"]["content"].append({"type": "x-unknown", "v": [1]})

    replaced = exchange(guidance="none").answer(call(), message).message

    # The SDK for TypeScript drops a message with an unknown member, and so waits for ever.
    assert replaced.keys() == {"jsonrpc", "id", "result"}
    assert replaced["result"]["x-result"] == 1
    assert replaced["result"]["_meta"]["com.example/a"] == 1
    assert replaced["result"]["content"] == message["result"]["content"]


def test_structured_content_of_the_tool_stays_and_the_envelope_goes_into_meta():
    weak = {"code": "seat_taken", "message": "Seat taken"}

    result = exchange().answer(call(), failed(structuredContent=weak)).message["result"]

    assert result["structuredContent"] == weak
    assert McpExecuteError.from_wire(result["_meta"][KEY]["error"])


@pytest.mark.parametrize(
    ("guidance", "texts"),
    [
        ("none", ["HTTP 503 Service Unavailable"]),
        ("block", ["HTTP 503 Service Unavailable", "The same call may succeed if it is retried later."]),
        ("inline", ["HTTP 503 Service Unavailable\nThe same call may succeed if it is retried later."]),
    ],
)
def test_guidance_decides_what_the_model_reads(guidance, texts):
    result = exchange(guidance=guidance).answer(call(), failed("HTTP 503 Service Unavailable")).message["result"]

    assert [block["text"] for block in result["content"]] == texts
    assert result["structuredContent"]["message"] == "HTTP 503 Service Unavailable"


SECRET = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize(
    "message",
    [
        failed(f"401 for {SECRET}"),
        failed("401", _meta={"request": SECRET}),
        failed("401", structuredContent={"request": SECRET}),
        answer(error={"code": -32603, "message": f"401 for {SECRET}", "data": {"token": SECRET}}),
    ],
)
@pytest.mark.parametrize("protocol_errors", ["lift", "keep"])
def test_no_secret_leaves_in_a_replaced_answer(message, protocol_errors):
    replaced = exchange(protocol_errors=protocol_errors).answer(call(), message)

    assert SECRET not in str(replaced.message)


@pytest.mark.parametrize(
    ("data", "is_changed"), [(None, True), ({"a": 1}, True), ([1], False), ("x", False), ({KEY: {}}, False)]
)
def test_kept_protocol_errors_carry_the_envelope_where_there_is_room(data, is_changed):
    error = {"code": -32603, "message": "db refused", "data": data, "x-more": 1}

    decision = exchange(protocol_errors="keep").answer(call(), answer(error=error))

    assert isinstance(decision, Replace) is is_changed
    if is_changed:
        changed = decision.message["error"]
        assert (changed["code"], changed["message"], changed["x-more"]) == (-32603, "db refused", 1)
        assert parse(decision.message).code == "internal"
        assert {**changed["data"], KEY: 0} == {**(data or {}), KEY: 0}


# ---- tasks


@pytest.mark.parametrize(
    ("method", "inside"),
    [("tasks/result", lambda result: result), ("tasks/get", lambda result: result["result"])],
)
def test_results_inside_tasks_get_an_envelope(method, inside):
    weak = {"content": [{"type": "text", "text": "disk full"}], "isError": True}
    result = weak if method == "tasks/result" else {"taskId": "t", "status": "completed", "result": weak}

    replaced = exchange().answer(call(method, taskId="t"), answer(result=result)).message["result"]

    assert McpExecuteError.from_wire(inside(replaced)["structuredContent"]).message == "disk full"


# ---- listings


def listing(*schemas):
    tools = [
        {"name": f"t{number}", "x-tool": 1} | ({} if schema is None else {"outputSchema": schema})
        for number, schema in enumerate(schemas)
    ]
    return answer(result={"tools": tools, "nextCursor": "n", "x-page": 1})


CLOSED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
NO_ROOM = {"type": "object", "properties": {"child": {"$ref": "#"}}, "anyOf": [{"required": ["n"]}]}


def test_a_page_is_widened_where_it_must_be():
    replaced = exchange().answer(call("tools/list"), listing(None, CLOSED)).message["result"]

    assert (replaced["nextCursor"], replaced["x-page"]) == ("n", 1)
    assert replaced["tools"][0] == {"name": "t0", "x-tool": 1}
    assert "anyOf" in replaced["tools"][1]["outputSchema"]


@pytest.mark.parametrize(
    "message", [listing(), listing(None), listing("x"), answer(result={"tools": 5}), answer(result=[]), answer()]
)
def test_a_page_without_schemas_leaves_as_it_came(message):
    assert exchange().answer(call("tools/list"), message) is UNCHANGED


@pytest.mark.parametrize(("schema", "has_room"), [(None, True), (CLOSED, True), (NO_ROOM, False)])
def test_the_envelope_stands_where_the_listed_schema_has_room(schema, has_room):
    core = exchange()
    core.answer(call("tools/list"), listing(schema))
    asked = call(name="t0")

    for decision in (core.answer(asked, failed()), core.answer_lost(asked, "It is gone.", is_sent=True)):
        assert ("structuredContent" in decision.message["result"]) is has_room
        assert parse(decision.message["result"]).found_in == ("structured_content" if has_room else "meta")


# ---- flags


@pytest.mark.parametrize(
    ("tool", "words", "is_failure"),
    [
        ("search", "Error: no page", True),
        ("search", "All errors: none", False),
        ("other", "Error: no page", False),
        ("other", "FATAL", True),
    ],
)
def test_a_flag_makes_a_failure_of_what_looks_like_a_success(tool, words, is_failure):
    flags = {"search": (re.compile("^Error:"),), "*": (re.compile("^FATAL"),)}
    message = answer(result={"content": [{"type": "text", "text": words}]})

    decision = exchange(flags=flags).answer(call(name=tool), message)

    assert isinstance(decision, Replace) is is_failure
    if is_failure:
        assert decision.message["result"]["isError"] is True
        assert decision.message["result"]["_meta"][KEY]["inferred"] is True


# ---- our own answers


@pytest.mark.parametrize("request_id", [1, "1", 1.5, "ü", 2**70])
@pytest.mark.parametrize("modern", [False, True])
@pytest.mark.parametrize(("is_sent", "outcome"), [(True, "unknown"), (False, "not_executed")])
def test_a_lost_call_is_answered_by_a_result(request_id, modern, is_sent, outcome):
    asked = call(request_id=request_id, modern=modern)

    message = exchange().answer_lost(asked, "The process is gone.", is_sent=is_sent).message

    assert (message["id"], type(message["id"])) == (request_id, type(request_id))
    assert ("resultType" in message["result"]) is modern
    assert message["result"]["structuredContent"]["code"] == "mcp_server_unreachable"
    facts = message["result"]["_meta"][KEY]
    assert (facts["origin"], facts["outcome"]) == ("gateway", outcome)


def test_other_lost_requests_are_answered_by_an_error():
    message = exchange().answer_lost(call("resources/read"), "The process is gone.", is_sent=True).message

    assert message["error"]["code"] == -32603
    assert message["error"]["message"] == "The process is gone."


def test_a_deadline_is_a_timeout():
    fault = exchange().deadline(call(), 55, "1 line was not readable.").fault

    assert (fault.code, fault.outcome) == ("tool_timeout", "unknown")
    assert str(fault) == "The MCP server did not answer within 55 seconds. 1 line was not readable."


# ---- retries


@pytest.mark.parametrize(
    ("hints", "idempotent", "words", "is_repeated"),
    [
        ({"readOnlyHint": True}, (), "HTTP 503 Service Unavailable", True),
        ({"idempotentHint": True}, (), "HTTP 503 Service Unavailable", True),
        ({}, ("t0",), "HTTP 503 Service Unavailable", True),
        ({}, (), "HTTP 503 Service Unavailable", False),
        ({"readOnlyHint": True}, (), "HTTP 404 Not Found", False),
    ],
)
def test_a_call_is_repeated_where_that_is_safe_and_may_help(hints, idempotent, words, is_repeated):
    rules = Retry(clock=lambda: 0.0, random=lambda: 0.0)
    core = exchange(rules, idempotent=frozenset(idempotent))
    page = listing(None)
    page["result"]["tools"][0]["annotations"] = hints
    core.answer(call("tools/list"), page)
    asked = call(name="t0")
    state = core.begin(asked)

    decisions = [core.answer(asked, failed(words), state) for _ in range(3)]

    kinds = [Again, Again, Replace] if is_repeated else [Replace] * 3
    assert [type(decision) for decision in decisions] == kinds


# ---- whatever comes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
NAMES = ["isError", "content", "structuredContent", "_meta", "code", "message", "data", "tools", "task", "result"]
LIKELY = st.dictionaries(st.sampled_from(NAMES), JSON | st.dictionaries(st.sampled_from(NAMES), JSON), max_size=5)


@given(
    st.sampled_from(["tools/call", "tools/list", "tasks/result", "tasks/get"]),
    st.fixed_dictionaries({}, optional={"result": LIKELY | JSON, "error": LIKELY | JSON}),
    st.sampled_from(["lift", "keep"]),
)
def test_nothing_raises_and_an_answer_keeps_its_id(method, members, protocol_errors):
    message = answer(**members)

    decision = exchange(protocol_errors=protocol_errors).answer(call(method), message)

    if isinstance(decision, Replace):
        assert decision.message["id"] == 7
        assert to_jsonable(decision.message)


@given(st.dictionaries(st.sampled_from(["id", "method", "params", "jsonrpc"]), JSON))
def test_whatever_a_message_is_it_is_a_request_or_not(message):
    asked = read_call(message)

    if asked is not None:
        assert message["id"] is not None
        assert asked.tool is None or asked.method == "tools/call"
