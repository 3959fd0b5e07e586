"""
Structure never says less than prose: what is said beside a code, a word or a status is read as well as alone.
"""

import pytest

from toolfault import parse


def result(text="", **structured):
    content = [{"type": "text", "text": text}] if text else []
    return {"isError": True, "content": content, "structuredContent": structured or None}


#: An answer, its code, whether it is retryable, the wait, and words of its message.
CASES = [
    # A limit behind a status or a word.
    (result(status=403, message="API rate limit exceeded"), "quota_exceeded", True, None, "rate limit"),
    (result(status=403, message="Rate limit. Retry after 30 seconds"), "quota_exceeded", True, 30, ""),
    (result(status=403, message="You may not"), "permission_denied", False, None, ""),
    (result(error={"code": 403, "message": "Rate Limit Exceeded"}), "quota_exceeded", True, None, ""),
    (result(status=500, message="The query timed out"), "tool_timeout", True, None, ""),
    (result(status=500, message="Invalid value for city"), "internal", True, None, ""),
    (result(code="NOT_FOUND", message="Unknown tool: x"), "tool_not_found", False, None, ""),
    (result(code="NOT_FOUND", message="No such page"), "invalid_arguments", False, None, ""),
    # A wait in the message beside a code.
    (result(code="RATE_LIMITED", message="Try again in 30 seconds"), "quota_exceeded", True, 30, ""),
    (result(code="quota_exceeded", message="Retry in 2 minutes"), "quota_exceeded", True, 120, ""),
    (result(status=429, message="Slow down, retry after 7 seconds"), "quota_exceeded", True, 7, ""),
    (result(code="invalid_arguments", message="Wait 5 seconds"), "invalid_arguments", False, None, ""),
    # An unknown code does not silence a message.
    (result(code="E77", message="rate limit exceeded, try again in 9 seconds"), "quota_exceeded", True, 9, ""),
    (result(code="X-1", message="connect ECONNREFUSED 10.0.0.1:443"), "internal", True, None, ""),
    # The reason and the detail of others.
    (
        result(error={"type": "index_not_found_exception", "reason": "no such index [cities]"}, status=404),
        *("invalid_arguments", False, None, "no such index [cities]"),
    ),
    (
        result(code="23505", severity="ERROR", message="duplicate key value", detail="Key (id)=(1) already exists."),
        *("invalid_arguments", False, None, "duplicate key value. Key (id)=(1) already exists."),
    ),
    (
        result(error="invalid_grant", error_description="Token has been expired or revoked."),
        *("permission_denied", False, None, "Token has been expired or revoked."),
    ),
    # A port or a count is no status.
    (result(port=503, message="went odd"), "internal", False, None, ""),
    (result(count=429, message="went odd"), "internal", False, None, ""),
    (result(code=503, message="went odd"), "internal", True, None, ""),
    # AWS by the table of its codes.
    (
        result("An error occurred (NoSuchBucket) when calling the ListObjects operation: x"),
        "invalid_arguments",
        False,
        None,
        "",
    ),
    (
        result("An error occurred (RequestLimitExceeded) when calling the RunInstances operation: x"),
        "quota_exceeded",
        True,
        None,
        "",
    ),
    (
        result("An error occurred (ValidationException) when calling the Query operation: x"),
        "invalid_arguments",
        False,
        None,
        "",
    ),
    (result("An error occurred (InternalError) when calling the GetObject operation: x"), "internal", True, None, ""),
    (result("An error occurred (Whatever) when calling the GetObject operation: x"), "internal", False, None, ""),
    # A success that breaks its schema is the server's.
    (result("Output validation error: 'x' is a required property"), "internal", False, None, ""),
    ({"code": -32602, "message": "Output validation error: 'x' is a required property"}, "internal", False, None, ""),
    # Abilities of the client.
    ({"code": -32601, "message": "Method not found: sampling/createMessage"}, "permission_denied", False, None, ""),
    (result("Elicitation not supported"), "permission_denied", False, None, ""),
    # Sessions that are gone, also through gateways.
    ({"code": -32600, "message": "Session not found"}, "mcp_server_unreachable", False, None, ""),
    ({"code": -32600, "message": "Bad Request: Missing session ID"}, "mcp_server_unreachable", False, None, ""),
    (result(status=404, message="Session not found"), "mcp_server_unreachable", False, None, ""),
    (result(code="SESSION_NOT_FOUND", message="gone"), "mcp_server_unreachable", False, None, ""),
    (result(error={"code": -32001, "message": "Session not found"}), "mcp_server_unreachable", False, None, ""),
    (
        result('HTTP 404: {"jsonrpc": "2.0", "error": {"code": -32001, "message": "Session not found"}, "id": null}'),
        *("mcp_server_unreachable", False, None, ""),
    ),
    *(
        (result(text), "mcp_server_unreachable", False, None, text)
        for text in (
            "Session not found",
            "Error: Session not found",
            "Unknown session",
            "Session has expired.",
            "Invalid or expired session ID",
            "No valid session ID provided",
            "upstream MCP server: session terminated",
            "Upstream MCP server: Error: session not found",
        )
    ),
    # A session of the tool's own, or of a user's.
    (result("Browser session not found"), "invalid_arguments", False, None, ""),
    (result("Session 17 of the survey not found"), "invalid_arguments", False, None, ""),
    (result("Your session has expired, please log in again"), "permission_denied", False, None, ""),
    # A status that says less than the words beside it.
    (result(status=400, message="Token expired"), "permission_denied", False, None, "Token expired"),
    (result("HTTP 400: Token expired"), "permission_denied", False, None, ""),
    (result("HTTP 422: rate limit exceeded"), "quota_exceeded", True, None, ""),
    (result("HTTP 400: the name is too long"), "invalid_arguments", False, None, ""),
    (result("HTTP 404: Token expired"), "invalid_arguments", False, None, ""),
    # A conflict is over when the upstream says so.
    (result("The update reports a conflict (HTTP 409). Retry after 30 seconds."), "internal", True, 30, ""),
    (result("HTTP 409 Conflict"), "invalid_arguments", False, None, ""),
    (result(status=409, message="conflict", retry_after=30), "internal", True, 30, "conflict"),
    (result(status=409, message="conflict"), "invalid_arguments", False, None, "conflict"),
    ({"jsonrpc": "2.0", "id": 1, "error": "Unknown tool: x"}, "tool_not_found", False, None, "Unknown tool"),
    ({"jsonrpc": "2.0", "id": 1, "error": []}, "unknown", False, None, ""),
    # An error without a number, and numbers that are none of JSON-RPC's.
    ({"error": {"message": "Rate limit exceeded"}}, "quota_exceeded", True, None, "Rate limit exceeded"),
    ({"jsonrpc": "2.0", "id": 1, "error": {"message": "Unknown tool: x"}}, "tool_not_found", False, None, ""),
    ({"code": 300, "message": "Multiple choices"}, "unknown", False, None, "Multiple choices"),
    ({"code": 429, "message": "Too many requests", "data": {"retryable": False}}, "quota_exceeded", False, None, ""),
    # An empty code is none, in an envelope's shape too.
    (result(code="", category="x", retryable="true", message="It went odd"), "internal", True, None, ""),
    # The word around an error is not the error's, but its wait is.
    (result(code="FORBIDDEN", error={"message": "It went odd"}, retry_after=5), "internal", False, 5, ""),
    # A detail that says the message again, or more of it.
    (
        result(message="Not found here", detail="Not found here: city 42"),
        *("invalid_arguments", False, None, "Not found here: city 42"),
    ),
    (
        result(message="It broke down", detail="It broke down", reason="The disk is full"),
        *("internal", False, None, "It broke down. The disk is full"),
    ),
]


def test_a_detail_that_repeats_the_message_stands_once():
    said = parse(result(message="Not found here", detail="Not found here: city 42"))
    assert said.envelope.message == "Not found here: city 42"

    whole = parse(result(message="The city was not found here", detail="not found here"))
    assert whole.envelope.message == "The city was not found here"


@pytest.mark.parametrize("code", [0, 200, 299])
def test_a_number_of_success_is_no_error(code):
    assert parse({"code": code, "message": "ok"}) is None


def test_what_a_number_says_of_the_call_counts_for_more_than_the_claim_beside_it():
    claimed = {"io.github.toolfault/error": {"v": 1, "outcome": "unknown", "id": "a1"}}

    fault = parse({"code": -32001, "message": "Session not found", "data": {**claimed}})

    assert (fault.outcome, fault.facts["id"]) == ("not_executed", "a1")


@pytest.mark.parametrize(("answer", "code", "retryable", "wait", "words"), CASES)
def test_what_stands_beside_is_read(answer, code, retryable, wait, words):
    envelope = parse(answer).envelope

    assert (envelope.code, envelope.retryable, envelope.retry_after_seconds) == (code, retryable, wait)
    assert words in envelope.message


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (None, "mcp_server_unreachable"),
        ({"query": "x"}, "mcp_server_unreachable"),
        ({1: "x"}, "mcp_server_unreachable"),
        ({"session_id": "s1"}, "invalid_arguments"),
        ({"browserSession": "s1"}, "invalid_arguments"),
    ],
)
def test_a_session_that_the_caller_named_is_an_argument(arguments, code):
    assert parse(result("Session not found"), arguments=arguments).code == code
