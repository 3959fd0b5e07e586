"""
What an external processor makes of one HTTP request, without Envoy and gRPC.
"""

import json

import pytest

from raw_client import MODERN
from toolfault import parse
from toolfault.gateway._exchange import Exchange
from toolfault.gateway._options import Options
from toolfault.gateway._processor import Origin, Processor
from toolfault.gateway._session import Session


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t"}}
BAD = {"jsonrpc": "2.0", "id": 1, "result": {"isError": True, "content": [{"type": "text", "text": "no"}]}}
GOOD = {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
JSON = {"content-type": "application/json"}
EVENTS = {"content-type": "text/event-stream; charset=utf-8"}


def processor(message=CALL, session=False, **options):
    core = Exchange(Options(**options))
    state = Session(lambda: core, timeout=None, max_line=1000, report=lambda *_: None, note=lambda _: None)
    made = Processor(state, 1000, lambda _: None, lambda: 0.0, keeps_errors=options.get("protocol_errors") == "keep")
    made.request_headers({":method": "POST", **({"mcp-session-id": "s"} if session else {})})
    made.request_body(json.dumps(message).encode())
    return made


@pytest.mark.parametrize(
    ("headers", "mode"),
    [
        ({":method": "POST"}, "whole"),
        ({":method": "POST", "mcp-method": "tools/call"}, "whole"),
        ({":method": "POST", "mcp-method": "tasks/get"}, "whole"),
        ({":method": "POST", "mcp-method": "resources/read"}, "none"),
        ({":method": "POST", "content-encoding": "gzip"}, "none"),
        ({":method": "GET"}, "none"),
        ({}, "none"),
    ],
)
def test_only_bodies_that_may_be_judged_are_wanted(headers, mode):
    assert processor().request_headers(headers) == mode


@pytest.mark.parametrize(
    ("status", "headers", "session", "message", "mode"),
    [
        (200, JSON, False, CALL, "whole"),
        (200, EVENTS, False, CALL, "stream"),
        (200, {**JSON, "content-encoding": "br"}, False, CALL, "none"),
        (401, JSON, False, CALL, "none"),
        (403, {"www-authenticate": "Bearer"}, False, CALL, "none"),
        (403, JSON, False, CALL, "whole"),
        (307, JSON, False, CALL, "none"),
        (404, JSON, True, CALL, "none"),
        (404, {"content-type": "text/html"}, True, CALL, "whole"),
        (404, JSON, False, CALL, "whole"),
        (404, JSON, True, {**CALL, "params": {"name": "t", "_meta": MODERN}}, "whole"),
        (503, JSON, False, CALL, "whole"),
        (503, JSON, False, {**CALL, "method": "tools/list"}, "none"),
        (202, JSON, False, {"jsonrpc": "2.0", "method": "notifications/x"}, "none"),
    ],
)
def test_which_answers_are_wanted(status, headers, session, message, mode):
    made = processor(message, session)

    assert made.response_headers({":status": str(status), **headers}, Origin()) == mode


@pytest.mark.parametrize(
    ("status", "body", "origin", "code", "outcome"),
    [
        (200, BAD, Origin("via_upstream"), "internal", None),
        (500, {**BAD, "result": None, "error": {"code": -32603, "message": "no"}}, Origin(), "internal", None),
        (503, None, Origin("via_upstream"), "mcp_server_unreachable", "unknown"),
        (503, None, Origin("upstream_reset_before_response_started", 0x20), "mcp_server_unreachable", "not_executed"),
        (503, None, Origin("no_healthy_upstream", 0x2), "mcp_server_unreachable", "not_executed"),
        (503, None, Origin("upstream_reset_before_response_started", 0x40), "mcp_server_unreachable", "unknown"),
        (504, None, Origin("response_timeout", 0x4), "tool_timeout", "unknown"),
        (504, None, Origin("via_upstream"), "tool_timeout", "unknown"),
    ],
)
@pytest.mark.parametrize("batch", [False, True])
def test_failures_become_results(status, body, origin, code, outcome, batch):
    made = processor([CALL] if batch else CALL)
    made.response_headers({":status": str(status), **JSON}, origin)
    data = b"upstream connect error" if body is None else json.dumps(body).encode()
    replaced = made.response_body(data, is_end=True)

    answer = json.loads(replaced.data)
    (answer,) = answer if batch else [answer]
    fault = parse(answer["result"])
    assert (replaced.status, replaced.is_json, answer["id"]) == (200, True, 1)
    assert (fault.code, fault.outcome) == (code, outcome)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, GOOD),
        (404, {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}}),
        (400, {"jsonrpc": "2.0", "id": 1, "error": {"code": -32020, "message": "no"}}),
    ],
)
def test_what_is_not_replaced_is_not_mentioned(status, body):
    made = processor()
    made.response_headers({":status": str(status), **JSON}, Origin())

    assert made.response_body(json.dumps(body, indent=1).encode(), is_end=True) is None


def test_an_error_that_is_kept_keeps_its_status():
    made = processor(protocol_errors="keep")
    made.response_headers({":status": "500", **JSON}, Origin())
    body = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "no"}}
    replaced = made.response_body(json.dumps(body).encode(), is_end=True)

    assert (replaced.status, "data" in json.loads(replaced.data)["error"]) == (500, True)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("message", [GOOD, BAD, None])
def test_streams_are_judged_as_they_come(size, message):
    data = b": hi\n\nid: 7\n\n" + (b"" if message is None else b"data: " + json.dumps(message).encode() + b"\n\n")
    parts = [data[start : start + size] for start in range(0, len(data), size)]
    made = processor()
    made.response_headers({":status": "200", **EVENTS}, Origin())
    left = b""
    for part in [*parts, b""]:
        body = made.response_body(part, is_end=not part)
        left += part if body is None else body.data

    if message is GOOD:
        assert left == data
        return
    assert left.startswith(b": hi\n\nid: 7\n\n")
    assert left.count(b"structuredContent") == 1
