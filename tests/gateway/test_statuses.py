"""
What an HTTP status of the MCP server means for a call.
"""

import pytest

from toolfault.gateway._calls import Call
from toolfault.gateway._exchange import Exchange
from toolfault.gateway._options import Options


KEY = "io.github.toolfault/error"
CALL = Call(7, "tools/call", {"name": "t"}, is_modern=False)

#: Status, headers, body; then code, category, retryable, wait, outcome.
ROWS = [
    (200, {}, b"<html>sign in</html>", "mcp_server_unreachable", "permanent", False, None, "unknown"),
    (202, {}, b"", "mcp_server_unreachable", "permanent", False, None, "unknown"),
    (204, {}, b"", "mcp_server_unreachable", "permanent", False, None, "unknown"),
    (302, {"Location": "/x"}, b"", "mcp_server_unreachable", "permanent", False, None, "unknown"),
    (400, {}, b"", "mcp_server_unreachable", "permanent", False, None, "unknown"),
    (401, {}, b"", "permission_denied", "auth", False, None, "not_executed"),
    (402, {}, b"", "quota_exceeded", "permanent", False, None, "not_executed"),
    (403, {}, b"", "permission_denied", "auth", False, None, "not_executed"),
    (403, {}, b'{"error": "rate limit exceeded"}', "quota_exceeded", "transient", True, None, "not_executed"),
    (404, {}, b"", "mcp_server_unreachable", "permanent", False, None, "not_executed"),
    (405, {}, b"", "mcp_server_unreachable", "permanent", False, None, "not_executed"),
    (407, {}, b"", "network_blocked", "permanent", False, None, "not_executed"),
    (408, {}, b"", "tool_timeout", "transient", True, None, "unknown"),
    (413, {}, b"", "invalid_arguments", "validation", False, None, "not_executed"),
    (429, {"Retry-After": "7"}, b"", "quota_exceeded", "transient", True, 7, "not_executed"),
    (429, {}, b"", "quota_exceeded", "transient", True, None, "not_executed"),
    (500, {}, b'{"detail": "boom"}', "mcp_server_unreachable", "transient", True, None, "unknown"),
    (502, {}, b"<html>cloudflare</html>", "mcp_server_unreachable", "transient", True, None, "unknown"),
    (503, {"retry-after": "3"}, b"", "mcp_server_unreachable", "transient", True, 3, "unknown"),
    (504, {}, b"", "tool_timeout", "transient", True, None, "unknown"),
    (511, {}, b"", "network_blocked", "permanent", False, None, "unknown"),
    (522, {}, b"", "mcp_server_unreachable", "transient", True, None, "unknown"),
    (524, {}, b"", "tool_timeout", "transient", True, None, "unknown"),
    (599, {}, b"", "mcp_server_unreachable", "transient", True, None, "unknown"),
    (999, {}, b"", "mcp_server_unreachable", None, False, None, "unknown"),
]


@pytest.mark.parametrize(("status", "headers", "body", "code", "category", "retryable", "wait", "outcome"), ROWS)
def test_a_status_is_a_failure_of_the_call(status, headers, body, code, category, retryable, wait, outcome):
    message = Exchange(Options()).status(CALL, status, headers, body).message

    envelope = message["result"]["structuredContent"]
    assert (message["id"], message["result"]["isError"]) == (7, True)
    assert envelope["code"] == code
    assert category in {None, envelope["category"]}
    assert (envelope["retryable"], envelope.get("retry_after_seconds")) == (retryable, wait)
    facts = message["result"]["_meta"][KEY]
    assert (facts["origin"], facts["outcome"], facts["upstream_status"]) == ("upstream", outcome, status)
    assert envelope["message"].endswith(f"(HTTP {status}).")
    assert envelope["message"].startswith(
        ("The MCP server ", "The MCP server's ", "The request ", "A proxy ", "The network ")
    )
    assert b"<" not in message["result"]["content"][0]["text"].encode()


def test_the_failure_of_another_request_is_an_error():
    message = Exchange(Options()).status(Call("a", "tools/list", {}, is_modern=True), 503, {}, b"").message

    assert (message["id"], message["error"]["code"]) == ("a", -32603)
    assert message["error"]["data"][KEY]["error"]["code"] == "mcp_server_unreachable"
