"""
Reading failures: what stands where, what beats what, and that nothing a peer sends gets through unsafe.
"""

import asyncio
import concurrent.futures
import copy
import errno
import functools
import json
import pickle
import ssl
import traceback
from types import SimpleNamespace

import anyio
import httpx
import pytest
from mcp import MCPError
from mcp.types import CallToolResult, ErrorData, InputRequiredResult, TextContent

from toolfault import _redact
from toolfault._codes import McpErrorCode
from toolfault._envelope import MAX_RETRY_AFTER_SECONDS, McpExecuteError
from toolfault._names import META_KEY, TOOL_FAILURE_KEY
from toolfault._prose.careful import careful
from toolfault._read.parse import parse, raise_for_error, suspect
from toolfault._read.result import read
from toolfault._text import CAUSE_BYTES, HINT_BYTES, MESSAGE_BYTES, WINDOW
from toolfault.dialects import a2a, a2c_smcp
from toolfault.dialects.tool_failure import failure_in
from toolfault.errors import ToolFault


FULL = {
    "code": "quota_exceeded",
    "message": "No more maps today",
    "category": "transient",
    "retryable": True,
    "retry_after_seconds": 9,
    "hint": "Ask for a smaller map.",
    "cause_chain": ["the tile server counts", "tile 8 was refused"],
}
WEAK = {"code": "internal", "message": "weak"}
FAILURE = {
    "class": "reliability",
    "code": "rate_limited",
    "retryable": True,
    "correlationId": "f-77",
    "agentGuidance": "Draw it yourself.",
}


def result(*texts, **members):
    return {"content": [{"type": "text", "text": text} for text in texts], "isError": True, **members}


def raised(make):
    try:
        make()
    except BaseException as exc:
        return exc
    raise AssertionError("nothing was raised")


def wire(fault):
    return None if fault is None else fault.envelope.to_wire()


# What is a success.


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"content": []}, id="no flag"),
        pytest.param(
            {"content": [], "isError": False, "structuredContent": FULL}, id="an envelope is a tool's result too"
        ),
        pytest.param({"content": [{"type": "text", "text": json.dumps(FULL)}]}, id="also as a text"),
        pytest.param(
            {"content": [{"type": "text", "text": "Error: rate limit"}], "isError": False}, id="words make no failure"
        ),
        pytest.param({"content": [], "_meta": {META_KEY: {"error": FULL}}}, id="nor does metadata"),
        pytest.param({"content": [], "isError": "yes"}, id="an invalid flag"),
        pytest.param({"content": [], "isError": 1}, id="a number is no flag"),
        pytest.param({"content": [], "isError": True, "resultType": "input_required"}, id="a person is asked"),
        pytest.param(InputRequiredResult(input_requests={}, request_state="s"), id="a person is asked, as a model"),
        pytest.param(CallToolResult(content=[]), id="a model of mcp 2"),
        pytest.param(
            SimpleNamespace(isError=False, content=[], structuredContent=None, meta=None), id="a model of mcp 1"
        ),
        pytest.param({"jsonrpc": "2.0", "id": 1, "result": {"content": []}}, id="a JSON-RPC answer"),
        pytest.param({"taskId": "t", "status": "completed", "result": {"content": []}}, id="a task that worked"),
        pytest.param({"taskId": "t", "status": "working"}, id="a task that runs"),
        pytest.param({"taskId": "t", "status": "cancelled"}, id="a task that was cancelled"),
        pytest.param({"task": {"taskId": "t", "status": "working"}}, id="a task that was made"),
        pytest.param({}, id="an empty dict"),
        pytest.param({"error": None}, id="an empty error"),
        pytest.param({"result": {"error": "Too many requests"}}, id="data in a result"),
        pytest.param({"code": "US", "name": "United States"}, id="data with a code"),
        pytest.param({"code": 4014, "name": "Bergen"}, id="data with a number"),
        pytest.param({"details": [{"@type": "city"}], "data": [1]}, id="data with details"),
        pytest.param({"code": 0, "message": "success", "data": {"rows": 1}}, id="an HTTP API's success"),
        pytest.param({"code": 200, "message": "Found it", "data": {}}, id="with a status"),
        pytest.param({"code": 1, "message": " OK. "}, id="with a number and a word"),
        pytest.param({"result": {"result": {"result": {"result": {"result": FULL}}}}}, id="deeply wrapped"),
        pytest.param(None, id="nothing"),
        pytest.param("Error: rate limit", id="a text"),
        pytest.param([FULL], id="a list"),
        pytest.param(object(), id="an object"),
        pytest.param(asyncio.CancelledError(), id="a cancellation"),
        pytest.param(concurrent.futures.CancelledError(), id="a cancelled future"),
        pytest.param(KeyboardInterrupt(), id="a signal"),
        pytest.param(BaseExceptionGroup("both", [asyncio.CancelledError(), KeyboardInterrupt()]), id="a group of them"),
    ],
)
def test_a_success_is_no_failure(answer):
    assert parse(answer) is None
    assert raise_for_error(answer) is answer


# Where an envelope stands.


PLACES = [
    pytest.param(result("x", structuredContent=FULL), "structured_content", id="structured content"),
    pytest.param(result("x", structured_content=FULL), "structured_content", id="in snake case"),
    pytest.param(
        {"content": [], "is_error": True, "structured_content": FULL}, "structured_content", id="all in snake case"
    ),
    pytest.param(result("x", structuredContent={"error": FULL}), "structured_content", id="wrapped in error"),
    pytest.param(result("x", structuredContent={"result": FULL}), "structured_content", id="wrapped in result"),
    pytest.param(
        result("x", structuredContent={"result": json.dumps(FULL)}), "structured_content", id="wrapped as a text"
    ),
    pytest.param(result("x", _meta={META_KEY: {"v": 1, "error": FULL}}), "meta", id="metadata"),
    pytest.param(result("x", meta={META_KEY: {"error": FULL}}), "meta", id="metadata without the underscore"),
    pytest.param(result(json.dumps(FULL)), "text", id="JSON in a text"),
    pytest.param(result("Sorry.", json.dumps(FULL)), "text", id="JSON in the second text"),
    pytest.param(result(f"Error executing tool draw_map: {json.dumps(FULL)}"), "text", id="JSON behind an SDK's words"),
    pytest.param(result(json.dumps({"error": FULL})), "text", id="wrapped JSON in a text"),
    pytest.param(
        CallToolResult(content=[], is_error=True, structured_content=FULL), "structured_content", id="a model of mcp 2"
    ),
    pytest.param(
        CallToolResult(content=[], is_error=True, _meta={META_KEY: {"error": FULL}}), "meta", id="its metadata"
    ),
    pytest.param(
        CallToolResult(content=[TextContent(type="text", text=json.dumps(FULL))], is_error=True), "text", id="its text"
    ),
    pytest.param(
        SimpleNamespace(isError=True, content=[], structuredContent=FULL, meta=None),
        "structured_content",
        id="a model of mcp 1",
    ),
    pytest.param(
        SimpleNamespace(isError=True, content=[SimpleNamespace(type="text", text=json.dumps(FULL))]),
        "text",
        id="the text of one",
    ),
    pytest.param(
        {"jsonrpc": "2.0", "id": 1, "result": result(structuredContent=FULL)},
        "structured_content",
        id="JSON-RPC answer",
    ),
    pytest.param(
        {"taskId": "t", "status": "completed", "result": result(structuredContent=FULL)},
        "structured_content",
        id="a completed task",
    ),
    pytest.param(
        {"task_id": "t", "status": "failed", "result": result(structuredContent=FULL)},
        "structured_content",
        id="a failed task of the experimental kind",
    ),
    pytest.param(FULL, "structured_content", id="the envelope alone"),
    pytest.param({"code": -32603, "message": "x", "data": FULL}, "jsonrpc_error", id="a JSON-RPC error's data"),
    pytest.param(
        {"error": {"code": -32603, "message": "x", "data": {META_KEY: {"error": FULL}}}},
        "jsonrpc_error",
        id="our key in its data",
    ),
    pytest.param(MCPError(-32603, "x", FULL), "jsonrpc_error", id="the SDK's exception"),
    pytest.param(RuntimeError(json.dumps(FULL)), "exception", id="an exception's text"),
    pytest.param(RuntimeError(f"Error calling tool 'draw_map': {json.dumps(FULL)}"), "exception", id="behind words"),
]


@pytest.mark.parametrize(("answer", "found_in"), PLACES)
def test_a_full_envelope_is_found_wherever_it_stands(answer, found_in):
    fault = parse(answer)

    assert wire(fault) == FULL
    assert fault.found_in == found_in
    assert fault.received == FULL


@pytest.mark.parametrize(
    ("answer", "found_in"),
    [
        pytest.param(
            result(
                json.dumps(FULL | {"code": "internal"}),
                structuredContent=FULL,
                _meta={META_KEY: {"error": FULL | {"code": "internal"}}},
            ),
            "structured_content",
            id="structured content first",
        ),
        pytest.param(
            result(
                json.dumps(FULL | {"code": "internal"}), _meta={META_KEY: {"error": FULL}, TOOL_FAILURE_KEY: FAILURE}
            ),
            "meta",
            id="then our place in the metadata",
        ),
        pytest.param(
            result("Timed out", structuredContent=WEAK, _meta={META_KEY: {"error": FULL}}),
            "meta",
            id="full beats weak above",
        ),
        pytest.param(result(json.dumps(FULL), structuredContent=WEAK), "text", id="even from a text"),
        pytest.param(
            result("Timed out", json.dumps(FULL), _meta={TOOL_FAILURE_KEY: {"code": "half"}}),
            "text",
            id="half a draft is weak",
        ),
    ],
)
def test_a_full_envelope_beats_everything(answer, found_in):
    fault = parse(answer)

    assert wire(fault) == FULL
    assert fault.found_in == found_in


def test_a_weaker_form_beats_prose():
    fault = parse(result("The request timed out", structuredContent=WEAK))

    assert (fault.code, fault.found_in) == (McpErrorCode.INTERNAL, "structured_content")


# The draft of SEP-3313.


@pytest.mark.parametrize(
    ("members", "code", "category", "retryable"),
    [
        pytest.param({}, "quota_exceeded", "transient", True, id="reliability"),
        pytest.param({"retryable": "true"}, "quota_exceeded", "transient", True, id="spelled as a text"),
        pytest.param({"retryable": None}, "quota_exceeded", "transient", False, id="nothing said"),
        pytest.param(
            {"class": "capability", "code": "quantum"}, "unknown", "permanent", False, id="capability is final"
        ),
        pytest.param(
            {"class": "capability", "code": "bad_request"}, "invalid_arguments", "validation", False, id="arguments"
        ),
        pytest.param(
            {"class": "governance", "code": "policy_blocked"}, "network_blocked", "permanent", False, id="policy"
        ),
        pytest.param({"class": "governance", "code": "forbidden"}, "permission_denied", "auth", False, id="rights"),
        pytest.param({"code": "tool_overloaded"}, "unknown", "transient", True, id="an open code"),
    ],
)
def test_a_draft_failure(members, code, category, retryable):
    fault = parse(result("It did not work", _meta={TOOL_FAILURE_KEY: FAILURE | members}))

    assert fault.envelope.to_wire() == {
        "code": code,
        "message": "It did not work",
        "category": category,
        "retryable": retryable,
        "hint": "Draw it yourself.",
    }
    assert fault.found_in == "tool_failure"
    assert fault.received == FAILURE | members
    assert fault.facts == {"id": "f-77"}


def test_the_draft_in_an_error_keeps_the_facts_beside_it():
    """
    What stands under our key in the data of a JSON-RPC error belongs to the draft's object there, too.
    """
    failure = {"class": "reliability", "code": "quota_exceeded", "retryable": True}
    data = {TOOL_FAILURE_KEY: failure, META_KEY: {"v": 1, "id": "a1", "outcome": "not_executed"}}

    fault = parse({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "Later.", "data": data}})

    assert (fault.code, fault.outcome, fault.facts["id"]) == ("quota_exceeded", "not_executed", "a1")


@pytest.mark.parametrize(
    ("moment", "seconds"),
    [
        pytest.param(1_000_001, 1, id="a millisecond is no zero"),
        pytest.param(1_030_000, 30, id="half a minute"),
        pytest.param(999_000, 0, id="past"),
        pytest.param("1030000", None, id="a text is not unambiguous"),
        pytest.param(True, None, id="a bool"),
        pytest.param(float("nan"), None, id="no number"),
        pytest.param(float("inf"), None, id="never"),
        pytest.param(10**400, None, id="too far"),
    ],
)
def test_a_moment_becomes_a_delay(monkeypatch, moment, seconds):
    monkeypatch.setattr("toolfault._read.dialects.failure_in", functools.partial(failure_in, clock=lambda: 1000.0))

    fault = parse(result("x", _meta={TOOL_FAILURE_KEY: FAILURE | {"retryNotBefore": moment}}))

    assert fault.envelope.retry_after_seconds == seconds


# Weaker forms.


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            {"code": "tool_timeout", "message": "m"},
            ("tool_timeout", "m", "transient", True),
            id="defaults of the code",
        ),
        pytest.param(
            {"code": "internal", "message": "m", "retryable": True},
            ("internal", "m", "permanent", True),
            id="a default for one",
        ),
        pytest.param(
            {"code": "on_fire", "message": "m", "category": "transient", "retryable": "true"},
            ("unknown", "m", "transient", True),
            id="an unknown code folds, its flags stay",
        ),
        pytest.param(
            {"code": "internal", "message": "m", "category": "cosmic", "retryable": False},
            ("internal", "m", "unknown", False),
            id="an unknown category folds",
        ),
        pytest.param(
            {"code": "quota_exceeded", "message": "m", "category": [], "retryable": 7},
            ("quota_exceeded", "m", "transient", True),
            id="claims without sense are dropped",
        ),
        pytest.param({"code": "RATE_LIMITED"}, ("quota_exceeded", None, "transient", True), id="in capitals"),
        pytest.param(
            {"code": "RateLimitError", "message": "m"}, ("quota_exceeded", "m", "transient", True), id="a class name"
        ),
        pytest.param(
            {"error": {"code": "NOT_FOUND", "message": "m"}},
            ("invalid_arguments", "m", "validation", False),
            id="nested",
        ),
        pytest.param(
            {"error_code": "E_CONFLICT", "error": "m"}, ("invalid_arguments", "m", "validation", False), id="flat"
        ),
        pytest.param(
            {"error_code": "SQL_ERROR", "error": "m"}, ("unknown", "m", "permanent", False), id="a word not known"
        ),
        pytest.param(
            {"errorType": "PermissionError", "error": "m", "status": 418},
            ("permission_denied", "m", "auth", False),
            id="a type",
        ),
        pytest.param({"errorType": "Weird", "status": 429}, ("quota_exceeded", None, "transient", True), id="a status"),
        pytest.param({"status": "503", "message": "m"}, ("internal", "m", "transient", True), id="a status as digits"),
        pytest.param(
            {"code": 401, "message": "m"}, ("permission_denied", "m", "auth", False), id="a status as the code"
        ),
        pytest.param({"code": "unavailable", "detail": "m"}, ("internal", "m", "transient", True), id="an outage"),
        pytest.param(
            {"error": "connect ECONNREFUSED"},
            ("internal", "connect ECONNREFUSED", "transient", True),
            id="prose inside",
        ),
        pytest.param(
            {"error": "it is broken"}, ("internal", "it is broken", "permanent", False), id="prose without a clue"
        ),
        pytest.param(
            {"type": "unknown", "message": "m"}, ("internal", "m", "permanent", False), id="a type is no code"
        ),
    ],
)
@pytest.mark.parametrize("place", ["structured_content", "meta", "text"])
def test_a_weaker_form(body, expected, place):
    answer = {
        "structured_content": result(structuredContent=body),
        "meta": result(_meta={META_KEY: {"error": body}}),
        "text": result(json.dumps(body)),
    }[place]

    fault = parse(answer)

    code, message, category, retryable = expected
    envelope = fault.envelope
    assert (envelope.code, envelope.category, envelope.retryable) == (code, category, retryable)
    assert envelope.message == message if message else envelope.message
    assert fault.found_in == place


@pytest.mark.parametrize(
    ("claim", "seconds"),
    [
        pytest.param({"retry_after": 30}, 30, id="seconds"),
        pytest.param({"retry_after_seconds": "30"}, 30, id="as digits"),
        pytest.param({"retryAfter": 1.2}, 2, id="rounded up"),
        pytest.param({"retry_after_ms": 1}, 1, id="milliseconds"),
        pytest.param({"retryAfterMs": "1500"}, 2, id="milliseconds as digits"),
        pytest.param({"retry_after_seconds": -1}, None, id="negative"),
        pytest.param({"retry_after_seconds": True}, None, id="a bool"),
        pytest.param({"retry_after": "soon"}, None, id="a word"),
        pytest.param({"retry_after_seconds": -1, "retry_after": 4}, 4, id="the next that makes sense"),
        pytest.param({"error": {"code": "RATE_LIMIT"}, "retry_after": 5}, 5, id="beside the error"),
    ],
)
def test_a_claimed_delay(claim, seconds):
    fault = parse(result(structuredContent={"code": "quota_exceeded", "message": "m"} | claim))

    assert fault.envelope.retry_after_seconds == seconds


def test_a_foreign_code_without_a_text_is_named():
    fault = parse({"content": [], "isError": True, "structuredContent": {"code": "WARP_CORE", "retry_after": 30}})

    assert fault.envelope.message == "The tool failed with the code WARP_CORE."
    assert fault.received == {"code": "WARP_CORE", "retry_after": 30}


def test_a_status_is_a_fact():
    assert parse(result(structuredContent={"status": 429})).facts == {"upstream_status": 429}
    assert parse(result("Request failed with status code 429")).facts == {"upstream_status": 429}


def test_success_data_beside_an_error_text_is_no_claim():
    fault = parse(result("Rate limit reached", structuredContent={"title": "Bergen", "type": "city", "items": []}))

    assert (fault.code, fault.envelope.message) == (McpErrorCode.QUOTA_EXCEEDED, "Rate limit reached")


def test_the_body_is_kept_as_it_came():
    body = {"code": "on_fire", "message": "m", "category": "transient", "retryable": True, "extra": {"deep": [1]}}

    fault = parse(result(structuredContent=body))

    assert fault.received is body
    assert fault.code is McpErrorCode.UNKNOWN


# Prose.


@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [
        pytest.param(result(), "unknown", "The tool failed without saying why.", id="no content"),
        pytest.param({"isError": True}, "unknown", "The tool failed without saying why.", id="not even a list"),
        pytest.param(result(""), "internal", "The tool failed without saying why.", id="an empty text"),
        pytest.param(
            {"isError": True, "content": [{"type": "image", "data": "", "mimeType": "image/png"}]},
            "internal",
            "The tool failed without saying why.",
            id="only a picture",
        ),
        pytest.param(result("It went wrong"), "internal", "It went wrong", id="nothing that tells"),
        pytest.param(result("Rate limit reached"), "quota_exceeded", "Rate limit reached", id="a limit"),
        pytest.param(
            result("Step 1 done", "Too many requests"),
            "quota_exceeded",
            "Step 1 done\nToo many requests",
            id="two texts",
        ),
        pytest.param(
            {
                "isError": True,
                "content": [{"type": "resource", "resource": {"uri": "a:b", "text": "Too many requests"}}],
            },
            "quota_exceeded",
            "Too many requests",
            id="a resource's text",
        ),
        pytest.param(
            {"isError": True, "content": "Too many requests"}, "quota_exceeded", "Too many requests", id="bare text"
        ),
        pytest.param(
            {"isError": "true", "content": []}, "unknown", "The tool failed without saying why.", id="a flag as text"
        ),
    ],
)
def test_prose(answer, code, message):
    fault = parse(answer)

    assert (fault.code, fault.envelope.message, fault.found_in) == (code, message, "prose")


def test_a_long_first_text_does_not_push_out_the_error():
    fault = parse(result("log line\n" * 100_000, "Too many requests"))

    assert fault.code is McpErrorCode.QUOTA_EXCEEDED
    assert "Too many requests" in fault.envelope.message
    assert len(fault.envelope.message.encode()) <= MESSAGE_BYTES


def test_the_name_that_was_called_is_no_evidence():
    said = "Could not run get_quota_timeout"

    assert parse(result(said), tool="get_quota_timeout", arguments={"q": "rate limit"}).code is McpErrorCode.INTERNAL


@pytest.mark.parametrize("tool", [5, b"quota", [], "x" * 10_000_000], ids=["number", "bytes", "list", "long"])
def test_a_name_that_is_none_hides_nothing(tool):
    assert parse(result("429 Too many requests"), tool=tool).code is McpErrorCode.QUOTA_EXCEEDED


# JSON-RPC errors.


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        ("Session not found", "not_executed"),
        ("Not Found: Session has been terminated", "not_executed"),
        ("Unknown session", "not_executed"),
        ("Session expired", None),
        ("Session closed", None),
        ("The session of user 7 was not found", None),
    ],
)
@pytest.mark.parametrize("number", [-32600, -32001, -32000, 32600])
def test_a_call_in_a_session_that_the_server_does_not_know_was_not_executed(number, message, outcome):
    fault = parse({"code": number, "message": message})

    assert (fault.code, fault.retryable, fault.outcome) == ("mcp_server_unreachable", False, outcome)


@pytest.mark.parametrize(
    ("code", "message", "data", "expected"),
    [
        pytest.param(-32602, "Unknown tool: draw_mpa", None, ("tool_not_found", False), id="unknown tool"),
        pytest.param(-32602, "Tool draw_mpa not found", None, ("tool_not_found", False), id="in other words"),
        pytest.param(-32601, "Unknown tool draw_mpa", None, ("tool_not_found", False), id="under another number"),
        pytest.param(-32601, "Method not found", None, ("tool_not_found", False), id="no tools at all"),
        pytest.param(-32602, "scale: must be positive", None, ("invalid_arguments", False), id="arguments"),
        pytest.param(
            -32602, "No entry of that name was found", None, ("invalid_arguments", False), id="a thing, not a tool"
        ),
        pytest.param(-32001, "Request timed out", None, ("tool_timeout", True), id="the SDK's timeout"),
        pytest.param(408, "Timed out while waiting", None, ("tool_timeout", True), id="the old SDK's timeout"),
        pytest.param(-32001, "Session not found", None, ("mcp_server_unreachable", False), id="the session is gone"),
        pytest.param(-32000, "Connection closed", None, ("mcp_server_unreachable", True), id="the pipe broke"),
        pytest.param(
            32600, "Session terminated", None, ("mcp_server_unreachable", False), id="an old SDK's lost session"
        ),
        pytest.param(-32600, "Session terminated", None, ("mcp_server_unreachable", False), id="a lost session"),
        *(
            pytest.param(number, said, None, ("mcp_server_unreachable", False), id=f"{number} {said}")
            for number in (-32600, -32000, -32001, 32600, -32603)
            for said in ("Session not found", "Not Found: Session has been terminated")
        ),
        pytest.param(-32600, "Bad Request: Missing session ID", None, ("mcp_server_unreachable", False), id="no id"),
        pytest.param(-32602, "Session not found", None, ("invalid_arguments", False), id="an argument's session"),
        pytest.param(
            -32601,
            "Method not found: sampling/createMessage",
            None,
            ("permission_denied", False),
            id="a client's method",
        ),
        pytest.param(
            -32602,
            "Structured content does not match the tool's output schema: data must be object",
            None,
            ("internal", False),
            id="a broken output",
        ),
        pytest.param(-32601, "Not Found", None, ("mcp_server_unreachable", False), id="the SDK met an HTTP 404"),
        *(
            pytest.param(-32000, f"SSE stream {said}", None, ("mcp_server_unreachable", True), id=f"the stream {said}")
            for said in (
                "ended without a response",
                "ended and reconnection attempts were exhausted",
                "failed: peer closed connection",
            )
        ),
        *(
            pytest.param(-32600, said, None, ("mcp_server_unreachable", False), id=said)
            for said in (
                "Redirect to http://mcp.test/ not followed; use that URL as the endpoint if it is the intended server",
                "server answered a request with 202 Accepted",
            )
        ),
        *(
            pytest.param(
                -32700, f"Failed to parse {what}: Invalid JSON", None, ("internal", False), id=f"nonsense as {what}"
            )
            for what in ("SSE message", "JSON response")
        ),
        pytest.param(
            -32600,
            "Unexpected content type: text/html",
            None,
            ("mcp_server_unreachable", False),
            id="the SDK met another page",
        ),
        pytest.param(
            -32603, "Server returned an error response", None, ("unknown", False), id="the SDK met some other status"
        ),
        pytest.param(-32000, "It is a secret", None, ("unknown", False), id="a number without a meaning"),
        pytest.param(-32603, "It is a secret", None, ("internal", False), id="an internal error"),
        pytest.param(-32603, "Too many requests", None, ("quota_exceeded", True), id="the words decide"),
        pytest.param(-32023, "Slow down", {"retryAfterMs": 1500}, ("quota_exceeded", True), id="the draft's limiter"),
        pytest.param(429, "no", None, ("quota_exceeded", True), id="a status as the number"),
        pytest.param(1234, "", {"code": "FORBIDDEN"}, ("permission_denied", False), id="a foreign code in the data"),
        pytest.param(-32603, "no", {"code": "tool_timeout"}, ("tool_timeout", True), id="ours without the rest"),
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        pytest.param(lambda **error: error, id="object"),
        pytest.param(lambda **error: {"jsonrpc": "2.0", "id": 1, "error": error}, id="answer"),
        pytest.param(ErrorData, id="model"),
        pytest.param(MCPError, id="exception"),
        pytest.param(lambda **error: {"taskId": "t", "status": "failed", "error": error}, id="task"),
    ],
)
def test_a_jsonrpc_error(form, code, message, data, expected):
    fault = parse(form(code=code, message=message, data=data))

    assert (fault.code, fault.envelope.retryable) == expected
    assert fault.found_in == "jsonrpc_error"
    assert fault.received == {"code": code, "message": message} | ({} if data is None else {"data": data})
    assert fault.envelope.message


def test_the_drafts_limiter_proves_that_nothing_ran():
    fault = parse({"code": -32023, "message": "Slow down", "data": {"retryAfterMs": 1500}})

    assert (fault.outcome, fault.envelope.retry_after_seconds) == ("not_executed", 2)


def test_an_old_sdks_exception_is_known_by_its_error():
    class McpError(Exception):
        def __init__(self, error):
            super().__init__(error.message)
            self.error = error

    assert parse(McpError(ErrorData(code=408, message="Timed out while waiting"))).code is McpErrorCode.TOOL_TIMEOUT


def test_a_failed_task_without_an_error_speaks_for_itself():
    fault = parse({"taskId": "t", "status": "failed", "statusMessage": "Too many requests"})

    assert (fault.code, fault.found_in) == (McpErrorCode.QUOTA_EXCEEDED, "prose")


# Exceptions.


def test_a_fault_is_itself():
    fault = ToolFault("internal", "no")

    assert parse(fault) is fault


def chained(outer, cause):
    outer.__cause__ = cause
    return outer


@pytest.mark.parametrize(
    ("exc", "code", "retryable"),
    [
        pytest.param(TimeoutError(), "tool_timeout", True, id="a timeout"),
        pytest.param(httpx.ReadTimeout(""), "tool_timeout", True, id="a read timeout"),
        pytest.param(httpx.ConnectError("refused"), "mcp_server_unreachable", True, id="a failed connect"),
        pytest.param(ConnectionResetError(104, "reset"), "mcp_server_unreachable", True, id="a reset"),
        pytest.param(
            raised(lambda: httpx.Response(503, request=httpx.Request("POST", "http://mcp.test/")).raise_for_status()),
            "mcp_server_unreachable",
            True,
            id="a gateway's status",
        ),
        pytest.param(
            raised(lambda: httpx.Response(401, request=httpx.Request("POST", "http://mcp.test/")).raise_for_status()),
            "permission_denied",
            False,
            id="no rights",
        ),
        pytest.param(
            raised(lambda: httpx.Response(404, request=httpx.Request("POST", "http://mcp.test/")).raise_for_status()),
            "mcp_server_unreachable",
            False,
            id="no endpoint there",
        ),
        pytest.param(RuntimeError("Too many requests"), "quota_exceeded", True, id="a general class with words"),
        pytest.param(RuntimeError("odd"), "internal", False, id="without"),
        pytest.param(KeyError("Too many requests"), "internal", False, id="the client's own bug"),
        pytest.param(
            FileNotFoundError(2, "No such file or directory", "/bin/server"), "internal", False, id="no server program"
        ),
        pytest.param(
            ssl.SSLCertVerificationError(1, "certificate verify failed"),
            "mcp_server_unreachable",
            False,
            id="not trusted",
        ),
        pytest.param(anyio.ClosedResourceError(), "mcp_server_unreachable", True, id="a closed stream"),
        pytest.param(
            RuntimeError("Invalid structured content returned by tool a: 'b' is a required property"),
            "internal",
            False,
            id="a success that breaks its schema",
        ),
        pytest.param(chained(RuntimeError("odd"), TimeoutError()), "tool_timeout", True, id="its cause tells"),
        pytest.param(
            chained(RuntimeError("Client failed to connect: All connection attempts failed"), httpx.ConnectError("no")),
            "mcp_server_unreachable",
            True,
            id="its cause, before its words",
        ),
        pytest.param(chained(KeyError("odd"), TimeoutError()), "internal", False, id="but not of a bug"),
        pytest.param(
            ExceptionGroup("g", [RuntimeError("odd"), TimeoutError()]), "tool_timeout", True, id="a telling leaf"
        ),
        pytest.param(
            ExceptionGroup("g", [ExceptionGroup("h", [TimeoutError()])]), "tool_timeout", True, id="a nested group"
        ),
        pytest.param(
            BaseExceptionGroup("g", [asyncio.CancelledError(), TimeoutError()]),
            "tool_timeout",
            True,
            id="beside a cancellation",
        ),
        pytest.param(ExceptionGroup("g", [ToolFault("internal", "no")]), "internal", False, id="a fault in a group"),
    ],
)
def test_an_exception(exc, code, retryable):
    fault = parse(exc)

    assert (fault.code, fault.envelope.retryable) == (code, retryable)
    assert fault.envelope.message


def test_the_peer_of_a_session_is_the_server():
    limited = httpx.Response(429, headers={"Retry-After": "7"}, request=httpx.Request("POST", "http://mcp.test/"))

    fault = parse(ExceptionGroup("g", [raised(limited.raise_for_status)]))

    assert fault.envelope.message == "The MCP server's rate limit is reached (HTTP 429). Retry after 7 seconds."
    assert fault.envelope.retry_after_seconds == 7
    assert fault.facts == {"upstream_status": 429}
    assert parse(httpx.ReadTimeout("")).envelope.message.startswith("The MCP server did not answer in time")


@pytest.mark.parametrize(
    ("exc", "outcome"),
    [
        pytest.param(httpx.ConnectError("refused"), "not_executed", id="never connected"),
        pytest.param(httpx.ConnectTimeout("late"), "not_executed", id="nor in time"),
        pytest.param(ConnectionRefusedError(111, "refused"), "not_executed", id="refused"),
        pytest.param(httpx.ReadTimeout("late"), None, id="sent, and then silence"),
        pytest.param(ConnectionResetError(104, "reset"), None, id="sent, and then cut"),
        pytest.param(ExceptionGroup("g", [httpx.ConnectError("refused")]), "not_executed", id="in a transport's group"),
        pytest.param(
            ExceptionGroup("g", [httpx.ConnectError("refused"), httpx.ReadError("cut")]), None, id="one of several"
        ),
        pytest.param(
            chained(RuntimeError("odd"), httpx.ConnectError("refused")), None, id="what came before is not known"
        ),
    ],
)
def test_only_the_clients_own_failed_connect_proves_that_nothing_ran(exc, outcome):
    assert parse(exc).outcome == outcome


# Facts.


def test_facts_that_make_sense_are_kept():
    facts = {
        "v": 1,
        "id": "a1",
        "origin": "upstream",
        "outcome": "not_executed",
        "upstream_status": 429,
        "violations": [{"field": "scale", "rule": "positive"}],
    }

    fault = parse(result("x", structuredContent=FULL, _meta={META_KEY: facts, "other/key": 1}))

    assert fault.facts == {name: fact for name, fact in facts.items() if name != "v"}
    assert fault.outcome == "not_executed"


@pytest.mark.parametrize(
    "facts",
    [
        {"id": 7, "origin": "mars", "outcome": "perhaps", "upstream_status": 7, "violations": "many"},
        {"id": "", "origin": ["tool"], "outcome": {"a": 1}, "upstream_status": True, "violations": None},
        {"error": None},
        [],
        "not_executed",
        None,
    ],
)
def test_facts_that_make_none_are_dropped_alone(facts):
    fault = parse(result("x", structuredContent=FULL, _meta={META_KEY: facts}))

    assert wire(fault) == FULL
    assert (fault.facts, fault.outcome) == ({}, None)


def test_violations_are_bounded():
    deep = deeper = []
    for _ in range(50):
        deeper.append([])
        deeper = deeper[0]
    violations = [{"rule": "x" * 10_000, "deep": deep, "big": 10**400}] * 500

    fault = parse(result("x", structuredContent=FULL, _meta={META_KEY: {"violations": violations}}))

    assert len(json.dumps(fault.facts)) < 32 * 1024


# Safety.


def test_what_comes_from_the_wire_is_cleaned():
    fault = parse(
        result(
            structuredContent=FULL
            | {
                "message": "red \x1b[31malert\x1b[0m\u202e \ud800 with Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijklmnop",
                "hint": "\x07ring",
                "cause_chain": [f"cause {number}" for number in range(100)],
            }
        )
    )

    envelope = fault.envelope
    assert envelope.message.startswith("red alert")
    assert "eyJhbGci" not in envelope.message
    assert envelope.message.encode()
    assert envelope.hint == "ring"
    assert envelope.cause_chain == tuple(f"cause {number}" for number in range(92, 100))


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(result("x" * 10_000_000), id="a text"),
        pytest.param(result("{" * 10_000_000), id="braces"),
        pytest.param(result("[" * 60_000), id="deep JSON"),
        pytest.param(result('{"error":' * 7_000 + "1" + "}" * 7_000), id="deep objects"),
        pytest.param(result(" " * 10_000_000 + "{}"), id="white space"),
        pytest.param(result('{"code": ' + "9" * 60_000 + "}"), id="a long number"),
        pytest.param(
            result(structuredContent=FULL | {"message": "y" * 10_000_000, "hint": "z" * 10_000_000}), id="members"
        ),
        pytest.param(
            result(structuredContent=WEAK | {"message": "y" * 10_000_000, "code": "z" * 10_000_000}), id="weak"
        ),
        pytest.param(result(*["Error: no"] * 100_000), id="blocks"),
        pytest.param({"code": -32603, "message": "m" * 10_000_000}, id="a JSON-RPC error"),
        pytest.param(RuntimeError("m" * 10_000_000), id="an exception"),
        pytest.param(RuntimeError(["m"] * 1_000_000), id="an exception's data"),
    ],
)
def test_nonsense_is_capped(answer):
    assert within_caps(parse(answer))


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(result(*["{" + "x" * 60_000 + "}"] * 10_000), id="blocks that look like JSON"),
        pytest.param(result(*['Failed: {"a": ' + "9" * 60_000] * 10_000), id="behind words"),
        pytest.param(result('{"code": "' + "x" * 10_000_000 + '"}'), id="a long text that looks like JSON"),
        pytest.param(result(structuredContent={"errors": [{"message": "no"}] * 1_000_000}), id="a list of errors"),
        pytest.param(result(structuredContent={str(n): "no" for n in range(300_000)}), id="members"),
        pytest.param(result(_meta={str(n): "no" for n in range(300_000)}), id="metadata"),
        pytest.param("content=[" + "TextContent(text='x'), " * 400_000 + "] isError=True", id="what Python shows"),
        pytest.param("Error from MCP tool 'a': " + "text='x' " * 1_000_000, id="a framework's words"),
        pytest.param(RuntimeError("[" + '{"type": "text", "text": "no"},' * 300_000 + "]"), id="an exception's blocks"),
        pytest.param({"error": {"code": -32603, "message": "no", "data": [{"a": 1}] * 1_000_000}}, id="details"),
    ],
)
def test_the_work_is_bounded(answer, monkeypatch):
    """
    However much arrives, little of it is decoded, judged or cleaned.
    """
    done = {"decoded": 0, "judged": 0, "cleaned": 0}

    def counting(kind, function):
        def count(text, *args, **kwargs):
            done[kind] += len(text)
            return function(text, *args, **kwargs)

        return count

    monkeypatch.setattr("toolfault._json.json.loads", counting("decoded", json.loads))
    monkeypatch.setattr("toolfault._read.partial.careful", counting("judged", careful))
    monkeypatch.setattr("toolfault._redact.plain", counting("cleaned", _redact.plain))

    fault, doubt = parse(answer), suspect(answer)

    assert fault is None or within_caps(fault)
    assert doubt is None or within_caps(doubt)
    assert done["decoded"] <= 4 * 64 * 65_536
    assert done["judged"] <= 4 * WINDOW
    assert done["cleaned"] <= 64 * WINDOW


def test_what_contains_itself_ends(caplog):
    loop = {}
    loop["error"] = loop["result"] = loop
    exc = RuntimeError("round")
    exc.__cause__ = ValueError("and")
    exc.__cause__.__cause__ = exc

    assert parse(loop) is None
    assert within_caps(parse(result(structuredContent=loop)))
    assert within_caps(parse(exc))
    assert caplog.text == ""


class Hostile:
    def __getattribute__(self, name):
        raise RuntimeError(name)


class HostileDict(dict):
    def get(self, *_):
        raise RuntimeError("no")

    __getitem__ = __iter__ = items = get


class HostileError(Exception):
    @property
    def error(self):
        raise RuntimeError("no")

    def __str__(self):
        raise RuntimeError("no")


class HalfHostile:
    is_error = True

    def __getattr__(self, name):
        raise RuntimeError(name)


class Liar:
    def __init__(self, claimed):
        self.claimed = claimed

    @property
    def __class__(self):
        return self.claimed


class LyingError(Exception):
    __class__ = ToolFault


@pytest.mark.parametrize(
    ("answer", "failed"),
    [
        *(pytest.param(Liar(cls), False, id=f"no {cls.__name__}") for cls in (ToolFault, ValueError, dict, str, list)),
        pytest.param(LyingError("no"), True, id="an exception that is no fault"),
        pytest.param(ExceptionGroup("g", [LyingError("no")]), True, id="nor in a group"),
        pytest.param(Hostile(), False, id="an object"),
        pytest.param(HostileDict(isError=True), False, id="a dict"),
        pytest.param(HalfHostile(), True, id="a flag and nothing else"),
        pytest.param(HostileError(), True, id="an exception"),
        pytest.param(result(structuredContent=HostileDict(a=1)), True, id="structured content"),
        pytest.param(result(_meta={META_KEY: HostileDict(a=1)}), True, id="metadata"),
    ],
)
def test_hostile_objects_are_survived(answer, failed, caplog):
    fault = parse(answer)

    assert (type(fault) is ToolFault) is failed
    assert fault is None or within_caps(fault)
    assert suspect(answer) is None


def within_caps(fault):
    envelope = fault.envelope
    assert McpExecuteError.from_wire(envelope.to_wire()) == envelope
    assert 0 < len(envelope.message.encode()) <= MESSAGE_BYTES
    assert envelope.hint is None or len(envelope.hint.encode()) <= HINT_BYTES
    assert len(envelope.cause_chain) <= 8
    assert all(len(cause.encode()) <= CAUSE_BYTES for cause in envelope.cause_chain)
    assert envelope.retry_after_seconds is None or 0 <= envelope.retry_after_seconds <= MAX_RETRY_AFTER_SECONDS
    assert fault.outcome in {None, "not_executed", "unknown", "executed"}
    assert json.dumps(fault.facts).encode()
    return True


# Suspicion.


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param({"content": [{"type": "text", "text": "Error: Too many requests"}]}, "quota_exceeded", id="words"),
        pytest.param({"content": [{"type": "text", "text": "Error: odd"}], "isError": False}, "internal", id="no clue"),
        pytest.param(
            {"content": [{"type": "text", "text": '{"ok": false, "error": "forbidden"}'}]},
            "permission_denied",
            id="JSON",
        ),
        pytest.param(
            {"content": [{"type": "text", "text": '{"status": 429, "message": "no"}'}]}, "quota_exceeded", id="a status"
        ),
        pytest.param(
            {"content": [{"type": "text", "text": "Error: odd"}], "structuredContent": {"result": "Error: odd"}},
            "internal",
            id="wrapped by the SDK",
        ),
        pytest.param(
            {"content": [], "structuredContent": {"result": "Error: Too many requests"}}, "quota_exceeded", id="no text"
        ),
        pytest.param("Error: Too many requests", "quota_exceeded", id="a framework's bare text"),
        pytest.param(
            {"content": [{"type": "text", "text": '{"status": "FAIL", "value": null, "hint": "Ask again."}'}]},
            "internal",
            id="a status in capitals",
        ),
    ],
)
def test_a_suspicion(answer, code):
    assert parse(answer) is None
    assert suspect(answer).code == code


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"content": [{"type": "text", "text": "All is well"}]}, id="words"),
        pytest.param({"content": [], "structuredContent": {"result": []}}, id="an empty list"),
        pytest.param({"content": [], "structuredContent": {"result": "fine"}}, id="structured success"),
        pytest.param({"content": []}, id="nothing"),
        pytest.param(result("Error: no"), id="what is flagged is no suspicion"),
        pytest.param(None, id="no result"),
        pytest.param("All is well", id="a text"),
        pytest.param(TimeoutError(), id="an exception"),
    ],
)
def test_no_suspicion(answer):
    assert suspect(answer) is None


# Raising.


def test_a_failure_is_raised():
    exc = raised(lambda: raise_for_error(result(structuredContent=FULL)))

    assert isinstance(exc, ToolFault)
    assert wire(exc) == FULL


def test_an_exception_is_its_cause():
    given = TimeoutError()

    assert raised(lambda: raise_for_error(given)).__cause__ is given


def test_a_fault_is_raised_as_it_is():
    fault = ToolFault("internal", "no")

    assert raised(lambda: raise_for_error(fault)) is fault
    assert fault.__cause__ is None


def test_the_call_is_known_to_what_raises():
    said = result("Could not run get_quota_timeout")

    exc = raised(lambda: raise_for_error(said, tool="get_quota_timeout"))

    assert exc.code is McpErrorCode.INTERNAL


# A fault from the wire.


FROM_THE_WIRE = result(
    "Ask again",
    structuredContent=FULL
    | {"message": "red \x1b[31malert\x1b[0m\u202e Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.abcdefghijkl"},
    _meta={META_KEY: {"id": "a1", "outcome": "not_executed"}},
)


class OfMaps(ToolFault):
    code = McpErrorCode.QUOTA_EXCEEDED


def test_equal_answers_make_equal_faults():
    one, other = parse(FROM_THE_WIRE), parse(json.loads(json.dumps(FROM_THE_WIRE)))

    assert one == other
    assert hash(one) == hash(other)
    assert one == parse(CallToolResult.model_validate(FROM_THE_WIRE))
    assert len({one, other, parse(result("no"))}) == 2


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(ToolFault("quota_exceeded", "no", outcome="unknown"), id="an outcome"),
        pytest.param(ToolFault("quota_exceeded", "yes"), id="a message"),
        pytest.param(ToolFault("internal", "no"), id="a code"),
        pytest.param(ToolFault.of(ToolFault("quota_exceeded", "no").envelope, facts={"id": "a1"}), id="a fact"),
        pytest.param(OfMaps("no"), id="a class"),
        pytest.param(ValueError("no"), id="no fault"),
    ],
)
def test_faults_that_differ_are_not_equal(other):
    assert ToolFault("quota_exceeded", "no") != other
    assert other != ToolFault("quota_exceeded", "no")


@pytest.mark.parametrize(
    "copied",
    [
        pytest.param(lambda fault: pickle.loads(pickle.dumps(fault)), id="pickled"),
        pytest.param(copy.deepcopy, id="copied deeply"),
        pytest.param(copy.copy, id="copied"),
    ],
)
@pytest.mark.parametrize("fault", [parse(FROM_THE_WIRE), OfMaps("no", hint="Draw it yourself.", causes=["tile 8"])])
def test_a_copy_is_equal_and_keeps_everything(fault, copied):
    got = copied(fault)

    assert got == fault
    assert (type(got), got.args, str(got), repr(got)) == (type(fault), fault.args, str(fault), repr(fault))
    assert (got.code, got.received, got.found_in) == (fault.code, fault.received, fault.found_in)


def test_a_deep_copy_shares_nothing_that_changes():
    fault = parse(FROM_THE_WIRE)

    got = copy.deepcopy(fault)
    got.facts["id"] = "b2"
    got.received["code"] = "internal"

    assert (fault.facts["id"], fault.received["code"]) == ("a1", "quota_exceeded")


@pytest.mark.parametrize("shown", [str, repr, lambda fault: "".join(traceback.format_exception(fault))])
def test_what_a_fault_shows_is_safe(shown):
    text = shown(parse(FROM_THE_WIRE))

    assert "red alert" in text
    assert not any(bad in text for bad in ("\x1b", "\\x1b", "\u202e", "\\u202e", "eyJhbGci"))


# The reader.


def test_reading_tells_what_stands_where():
    reading = read(result("a", "b", structuredContent=7, _meta={META_KEY: {"id": "x"}}))

    assert (reading.texts, reading.structured, reading.ours, reading.blank) == (("a", "b"), 7, {"id": "x"}, False)
    assert read({"no": "result"}) is None


# Errors of A2A.

BUSY = ToolFault("quota_exceeded", "Daily quota used up", retry_after_seconds=3, hint="Buy more")


@pytest.mark.parametrize(
    "answer",
    [
        a2a.encode(BUSY),
        {"jsonrpc": "2.0", "id": 1, "error": a2a.encode(BUSY)},
        a2a.encode(BUSY, version="0.3"),
        a2a.encode(BUSY, binding="http")["body"],
        a2a.encode(BUSY, binding="grpc"),
        a2a.encode(BUSY, profile="protocol-droid"),
        MCPError(-32603, "m", a2a.encode(BUSY)["data"]),
    ],
)
def test_errors_of_a2a_are_read(answer):
    assert parse(answer).envelope == BUSY.envelope


def test_a_number_of_a2a_proves_nothing():
    typed = a2a.A2AError.new("TaskNotFoundError", "no task 1").to_jsonrpc()

    assert parse(typed).code == "invalid_arguments"
    assert parse({"code": -32001, "message": "Request timed out"}).code == "tool_timeout"


# Answers of A2C-SMCP.


REFUSED = ToolFault("invalid_arguments", "The map is too large", hint="Ask for a smaller one.")


def _as_mcp(answer):
    return {("_meta" if name == "meta" else name): value for name, value in answer.items()}


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        pytest.param(a2c_smcp.encode(BUSY), BUSY, id="a tool result"),
        pytest.param(a2c_smcp.encode(BUSY, carrier="tool_result"), BUSY, id="and no other"),
        pytest.param(a2c_smcp.encode(REFUSED, protocol="0.5"), REFUSED, id="an acknowledgement"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "result": a2c_smcp.encode(BUSY)}, BUSY, id="an answer"),
        pytest.param(CallToolResult.model_validate(_as_mcp(a2c_smcp.encode(BUSY))), BUSY, id="a model"),
    ],
)
def test_answers_of_a2c_are_read(answer, fault):
    assert parse(answer).envelope == fault.envelope


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param(result("no", meta={"a2c_timeout": True}), "tool_timeout", id="a timeout's mark"),
        pytest.param(result("no", meta={"error_code": 4006}), "permission_denied", id="a login is missing"),
        pytest.param(
            result("no", meta={"error_code": 4007}, structuredContent={"rows": []}),
            "permission_denied",
            id="or not enough",
        ),
        pytest.param(result("no", meta={"error_code": 7}), "internal", id="a number that is no mark"),
        pytest.param({"code": 4014, "message": "no", "details": {}}, "tool_not_found", id="a number of its own"),
        pytest.param(
            {"code": 404, "message": "no", "mcp_server_name": "maps"}, "tool_not_found", id="a member of its own"
        ),
    ],
)
def test_what_only_a2c_can_have_said_is_read_so(answer, code):
    assert parse(answer).code == code


def test_a_full_envelope_beats_a_mark():
    assert wire(parse(result("no", structuredContent=FULL, meta={"a2c_timeout": True}))) == FULL


@pytest.mark.parametrize("name", ["EMFILE", "ENETDOWN", "ENETUNREACH", "ENOBUFS", "ENOMEM", "ENOSPC", "ETIMEDOUT"])
def test_a_failure_of_this_side_s_system_is_not_told_of_the_tool(name):
    fault = parse(OSError(getattr(errno, name), "what the system says"))

    assert "The server" not in fault.message
    assert "the tool" not in fault.message
    assert ("what the system says" in fault.message) is (name != "ETIMEDOUT")
