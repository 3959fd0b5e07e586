"""
``google.rpc.Status``, both ways; tests/packages sends it through a real gRPC server.
"""

import json

import pytest

from toolfault import McpErrorCode, ToolFault, parse
from toolfault.dialects import MemoryStore, a2a, google_rpc, problem_json


QUOTA = ToolFault("quota_exceeded", "Used up", retry_after_seconds=9, hint="Ask tomorrow.", causes=["HTTP 429"])
TYPE = "type.googleapis.com/google.rpc."

LIMITED = {
    "code": 8,
    "message": "Quota exceeded for requests per minute.",
    "details": [
        {"@type": f"{TYPE}ErrorInfo", "reason": "RATE_LIMIT_EXCEEDED", "domain": "googleapis.com", "metadata": {}},
        {"@type": f"{TYPE}RetryInfo", "retryDelay": "3.5s"},
    ],
}
REFUSED = {
    "code": 3,
    "message": "The request is not valid.",
    "details": [
        {"@type": f"{TYPE}BadRequest", "fieldViolations": [{"field": "city.name", "description": "is empty"}]},
    ],
}


@pytest.mark.parametrize("binding", ["grpc", "http"])
@pytest.mark.parametrize(
    ("fault", "code", "status"),
    [
        (QUOTA, 8, 429),
        (ToolFault("tool_not_found", "m"), 5, 404),
        (ToolFault("tool_timeout", "m"), 4, 504),
        (ToolFault("tool_panicked", "m"), 13, 500),
        (ToolFault("invalid_arguments", "m"), 3, 400),
        (ToolFault("permission_denied", "m"), 7, 403),
        (ToolFault("network_blocked", "m"), 13, 500),
        (ToolFault("mcp_server_unreachable", "m"), 14, 503),
        (ToolFault("internal", "m"), 13, 500),
        (ToolFault("internal", "m", category="transient"), 14, 503),
        (ToolFault("unknown", "m"), 2, 500),
    ],
)
def test_a_fault_is_a_status(fault, code, status, binding):
    sent = google_rpc.encode(fault, binding=binding)
    error = sent if binding == "grpc" else sent["body"]["error"]

    assert error["message"] == fault.message
    assert error["code"] == (code if binding == "grpc" else status)
    assert error["details"][0]["reason"] == fault.code.value.upper()
    carriers = [sent] if binding == "grpc" else [sent, sent["body"]]
    for carrier in carriers:
        assert google_rpc.decode(carrier).envelope == fault.envelope
        assert parse(json.loads(json.dumps(carrier))).envelope == fault.envelope


def test_the_wait_is_said_in_the_words_of_the_peer():
    sent = google_rpc.encode(QUOTA, binding="http")

    assert sent["headers"] == {"Retry-After": "9"}
    assert {"@type": f"{TYPE}RetryInfo", "retryDelay": "9s"} in sent["body"]["error"]["details"]
    assert sent["body"]["error"]["status"] == "RESOURCE_EXHAUSTED"


@pytest.mark.parametrize(
    ("status", "code", "retryable", "wait"),
    [
        (LIMITED, "quota_exceeded", True, 4),
        (REFUSED, "invalid_arguments", False, None),
        ({"code": 14, "message": "try again"}, "internal", True, None),
        ({"code": 16, "message": ""}, "permission_denied", False, None),
        ({"code": 10, "message": "Aborted"}, "internal", True, None),
        ({"error": {"code": 403, "status": "PERMISSION_DENIED", "message": "no"}}, "permission_denied", False, None),
    ],
)
def test_statuses_of_others_are_read(status, code, retryable, wait):
    fault = google_rpc.decode(status)

    assert (fault.code, fault.retryable, fault.retry_after_seconds) == (code, retryable, wait)
    assert fault.message.strip()
    error = status.get("error", status)
    again = google_rpc.encode(fault)
    assert again["message"] == error["message"] or not error["message"]
    assert again.get("details") == error.get("details")


def test_refused_fields_are_read_and_written():
    fault = google_rpc.decode(REFUSED)

    assert fault.facts["violations"] == [{"field": "city.name", "message": "is empty"}]
    body = problem_json.encode(fault)["body"]
    assert body["errors"] == [{"pointer": "#/city/name", "detail": "is empty"}]


@pytest.mark.parametrize(
    "value",
    [None, [], {}, {"code": 0}, {"code": 17}, {"code": -1}, {"code": "8"}, {"code": True}, {"code": 8.0}, {"code": 500}, {"error": 3}],
)  # fmt: skip
def test_what_is_not_a_status_is_none(value):
    assert google_rpc.decode(value) is None
    assert google_rpc.recognise(value) is None


@pytest.mark.parametrize(
    "details",
    [
        [None],
        [{"@type": []}],
        [{"@type": f"{TYPE}RetryInfo", "retryDelay": []}],
        [{"@type": f"{TYPE}RetryInfo", "retryDelay": "1e400s"}],
        [{"@type": f"{TYPE}BadRequest", "fieldViolations": [None, {"field": 3}, {"field": "a", "description": {}}]}],
        [{"@type": f"{TYPE}ErrorInfo", "metadata": []}],
        [{"@type": f"{TYPE}ErrorInfo", "metadata": {"hint": 3, "toolfault_record": {}}}],
        [{"@type": f"{TYPE}ErrorInfo", "metadata": {"toolfault_record": "\ud800"}}],
        "x",
        {"a": 1},
        [{}] * 10_000,
    ],
)
def test_nothing_that_a_peer_sends_raises(details):
    status = {"code": 14, "message": "m", "details": details}

    assert google_rpc.decode(status).code == "internal"
    parse({"isError": True, "content": [], "structuredContent": status})


def test_a_record_for_another_status_is_a_claim_and_no_proof():
    assert google_rpc.decode({**google_rpc.encode(QUOTA), "code": 3}).code is McpErrorCode.INVALID_ARGUMENTS


def test_with_a_store_only_a_handle_travels():
    store = MemoryStore()
    fault = google_rpc.decode(LIMITED, store=store)
    error = a2a.encode(fault, store=store)

    assert "RATE_LIMIT" not in json.dumps([fault.facts, error])
    assert google_rpc.encode(a2a.decode(error, store=store), store=store) == LIMITED


def test_an_unknown_binding_is_named():
    with pytest.raises(ValueError, match="binding"):
        google_rpc.encode(QUOTA, binding="soap")


@pytest.mark.parametrize("status", [LIMITED, REFUSED])
def test_a_status_in_a_flagged_result_is_read(status):
    fault = parse({"isError": True, "content": [], "structuredContent": status})

    assert fault.envelope == google_rpc.decode(status).envelope
    assert fault.found_in == "structured_content"
