"""
RFC 9457, both ways: what is written, what is read of the problems of other frameworks, and what comes back.
"""

import json

import anyio
import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from toolfault import McpErrorCode, ToolFault, parse
from toolfault._names import META_KEY
from toolfault.dialects import MemoryStore, a2a, problem_json


QUOTA = ToolFault("quota_exceeded", "Used up", retry_after_seconds=9, hint="Ask tomorrow.", causes=["HTTP 429"])

CREDIT = {
    "type": "https://example.com/probs/out-of-credit",
    "title": "You do not have enough credit.",
    "status": 403,
    "detail": "Your current balance is 30, but that costs 50.",
    "instance": "/account/12345/msgs/abc",
    "balance": 30,
}
ASP = {
    "type": "https://tools.ietf.org/html/rfc9110#section-15.5.1",
    "title": "One or more validation errors occurred.",
    "status": 400,
    "errors": {"City": ["The City field is required.", "Too short."]},
}
POINTERS = {
    "type": "https://example.net/validation-error",
    "title": "Your request is not valid.",
    "errors": [
        {"detail": "must be a positive integer", "pointer": "#/age"},
        {"detail": "must be 'green', 'red' or 'blue'", "pointer": "#/profile/a~1b"},
    ],
}


@pytest.mark.parametrize(
    ("fault", "status", "headers"),
    [
        (QUOTA, 429, {"Retry-After": "9"}),
        (ToolFault("tool_not_found", "m"), 404, {}),
        (ToolFault("tool_timeout", "m"), 504, {}),
        (ToolFault("tool_panicked", "m"), 500, {}),
        (ToolFault("invalid_arguments", "m"), 422, {}),
        (ToolFault("permission_denied", "m"), 403, {}),
        (ToolFault("network_blocked", "m"), 500, {}),
        (ToolFault("mcp_server_unreachable", "m"), 502, {}),
        (ToolFault("internal", "m"), 500, {}),
        (ToolFault("internal", "m", category="transient"), 503, {}),
        (ToolFault("unknown", "m"), 500, {}),
    ],
)
def test_a_fault_is_an_answer(fault, status, headers):
    answer = problem_json.encode(fault)

    assert answer["status"] == answer["body"]["status"] == status
    assert answer["headers"] == {"Content-Type": "application/problem+json", **headers}
    assert answer["body"]["detail"] == fault.message
    assert answer["body"]["code"] == fault.code
    assert answer["body"]["type"] == f"https://toolfault.github.io/codes/{fault.code.value}"
    assert answer["body"]["title"]
    for carrier in (answer, answer["body"]):
        assert problem_json.decode(carrier).envelope == fault.envelope
        assert parse(json.loads(json.dumps(carrier))).envelope == fault.envelope


@pytest.mark.parametrize(
    ("body", "code", "retryable", "message"),
    [
        (CREDIT, "permission_denied", False, "Your current balance is 30, but that costs 50."),
        (ASP, "invalid_arguments", False, "One or more validation errors occurred: City: The City field is required."),
        ({"type": "about:blank", "title": "Not Found", "status": 404}, "invalid_arguments", False, "Not Found"),
        ({"title": "Service Unavailable", "status": 503}, "internal", True, "Service Unavailable"),
        ({"title": "Too Many Requests", "status": 429, "retryAfter": 7}, "quota_exceeded", True, "Too Many Requests"),
        ({"detail": "d", "status": 418}, "invalid_arguments", False, "d"),
        ({"detail": "d", "status": 599}, "internal", True, "d"),
        ({"type": "about:blank", "status": 402, "detail": " "}, "quota_exceeded", False, ""),
    ],
)
def test_problems_of_others_are_read(body, code, retryable, message):
    fault = problem_json.decode(body)

    assert (fault.code, fault.retryable) == (code, retryable)
    assert fault.message == message or not message
    assert fault.message.strip()
    assert problem_json.encode(fault)["body"] == body


def test_the_header_names_the_wait():
    body = {"title": "Too Many Requests", "status": 429}
    answer = {"status": 429, "headers": {"Retry-After": "11"}, "body": body}

    assert problem_json.decode(answer).retry_after_seconds == 11
    assert problem_json.decode({**body, "retryAfter": 7}).retry_after_seconds == 7


def test_a_body_without_a_status_has_that_of_the_answer():
    assert problem_json.decode(POINTERS) is None
    for fault in (
        problem_json.decode(POINTERS, status=422),
        problem_json.decode({"status": 422, "headers": {}, "body": POINTERS}),
    ):
        assert fault.message == (
            "Your request is not valid: age: must be a positive integer; profile.a/b: must be 'green', 'red' or 'blue'"
        )
        assert fault.facts["violations"][1] == {"field": "profile.a/b", "message": "must be 'green', 'red' or 'blue'"}


def test_refused_fields_travel():
    fault = ToolFault("invalid_arguments", "m")
    fault.facts["violations"] = [{"field": "a.b", "message": "too long"}, {"field": 3}, "x"]

    body = problem_json.encode(fault)["body"]

    assert body["errors"] == [{"pointer": "#/a/b", "detail": "too long"}]
    assert problem_json.decode(body).message == "m"


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "404",
        {},
        {"status": 404},
        {"status": "404", "title": "t"},
        {"status": True, "title": "t"},
        {"status": 200, "title": "t"},
        {"status": 302, "title": "t"},
        {"status": 10**30, "title": "t"},
        {"status": 404, "title": ["t"]},
        {"status": 404, "body": {"title": None}},
        {"status": 404, "headers": 3, "body": "<html>"},
    ],
)
def test_what_is_not_a_problem_is_none(value):
    assert problem_json.decode(value) is None
    assert problem_json.recognise(value) is None


@pytest.mark.parametrize("member", ["type", "title", "detail", "errors", "hint", "toolfault_record", "code"])
@pytest.mark.parametrize(
    "value", [[], {}, 10**400, float("nan"), "\ud800", "x" * 100_000, [[[{}]]], {"a": {"b": []}}, None, True]
)
def test_nothing_that_a_peer_sends_raises(member, value):
    body = {**CREDIT, "errors": {"a": ["b"]}, member: value}

    assert problem_json.decode(body).code == "permission_denied"
    parse({"isError": True, "content": [], "structuredContent": body})


def test_a_record_for_another_status_is_a_claim_and_no_proof():
    body = {**problem_json.encode(QUOTA)["body"], "status": 404}

    assert problem_json.decode(body).code is McpErrorCode.INVALID_ARGUMENTS


def test_with_a_store_only_a_handle_travels():
    store = MemoryStore()
    fault = problem_json.decode(CREDIT, store=store)
    error = a2a.encode(fault, store=store)

    assert "balance" not in json.dumps({"facts": fault.facts, **error}).replace("Your current balance", "")
    assert problem_json.encode(a2a.decode(error, store=store), store=store)["body"] == CREDIT


@pytest.mark.parametrize("place", ["structuredContent", "text"])
def test_a_problem_in_a_flagged_result_is_read(place):
    result = {"isError": True, "content": [{"type": "text", "text": "failed"}]}
    if place == "text":
        result["content"] = [{"type": "text", "text": json.dumps(CREDIT)}]
    else:
        result["structuredContent"] = CREDIT

    fault = parse(result)

    assert (fault.code, fault.message) == ("permission_denied", CREDIT["detail"])
    assert fault.found_in == ("structured_content" if place != "text" else "text")


def test_a_success_that_holds_a_problem_stays_a_success():
    assert parse({"isError": False, "content": [], "structuredContent": CREDIT}) is None
    assert parse({"content": [{"type": "text", "text": json.dumps(CREDIT)}]}) is None


def test_our_facts_beside_a_problem_stay():
    ours = {META_KEY: {"v": 1, "outcome": "not_executed", "id": "abc"}}

    fault = parse({"isError": True, "content": [], "structuredContent": CREDIT, "_meta": ours})

    assert (fault.outcome, fault.facts["id"]) == ("not_executed", "abc")


def test_through_a_real_application():
    async def fail(_request):
        answer = problem_json.encode(QUOTA)
        return Response(json.dumps(answer["body"]), answer["status"], answer["headers"])

    async def run():
        transport = httpx.ASGITransport(Starlette(routes=[Route("/", fail)]))
        async with httpx.AsyncClient(transport=transport, base_url="http://facade") as client:
            return await client.get("/")

    response = anyio.run(run)

    assert response.status_code == 429
    assert response.headers["content-type"] == "application/problem+json"
    answer = {"status": response.status_code, "headers": dict(response.headers), "body": response.json()}
    assert problem_json.decode(answer).envelope == QUOTA.envelope
