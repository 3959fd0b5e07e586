"""
The MCP SDK: answers of peers, and what hosts give to authors.
"""

import types

import anyio
import mcp_types
import pytest
from mcp import MCPError
from mcp.client.auth.exceptions import OAuthTokenError
from mcp.client.streamable_http import ResumptionError, StreamableHTTPError
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError, UnexpectedToolError
from mcp.shared.exceptions import NoBackChannelError

from toolfault.rules import load
from toolfault.rules.mcp import HOST_ERRORS


INTERNAL = ("internal", "permanent", False)
OUTAGE = ("internal", "transient", True)
ARGUMENTS = ("invalid_arguments", "validation", False)
DENIED = ("permission_denied", "auth", False)
NO_TOOL = ("tool_not_found", "permanent", False)
LATE = ("tool_timeout", "transient", True)
UNREACHABLE = ("mcp_server_unreachable", "transient", True)


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        (-32001, "Request 'tools/call' timed out", LATE),
        (408, "Timed out while waiting for response to ClientRequest. Waited 5.0 seconds.", LATE),
        (-32001, "Request timeout", LATE),
        (-32001, "Session not found", ("mcp_server_unreachable", "transient", False)),
        (-32000, "Connection closed", UNREACHABLE),
        (-32000, "Something else", None),
        (-32602, "Unknown tool: sync_ledgr", NO_TOOL),
        (-32602, "MCP error -32602: Tool execute_sql_ab12 not found", NO_TOOL),
        (-32601, "Tool 'x' does not exist", NO_TOOL),
        (-32602, "Tool x is not found", NO_TOOL),
        (-32602, "Invalid arguments for tool x: city is required", ARGUMENTS),
        (-32602, "The requested file was not found", ARGUMENTS),
        (-32602, "", ARGUMENTS),
        (-32601, "Method not found", INTERNAL),
        (-32002, "Resource not found", ARGUMENTS),
        (-32042, "URL elicitation required", DENIED),
        (-32021, "Missing required client capability", DENIED),
        (-32022, "Unsupported protocol version", INTERNAL),
        (-1, "User rejected sampling request", ("permission_denied", "permanent", False)),
        (-32603, "Internal error", INTERNAL),
        (0, "boom", INTERNAL),
        (-32600, "Invalid Request", INTERNAL),
        (-32700, "Parse error: invalid argument", INTERNAL),
        (-32600, "Session terminated", ("mcp_server_unreachable", "transient", False)),
        (10**30, "boom", INTERNAL),
    ],
)
def test_answers(facts, verdict_on, code, text, expected):
    """
    By the code, and by the words where SDKs share a code for several things.
    """
    exc = MCPError(code, text)
    found = facts(exc)

    assert found == expected if expected else found[0] not in {"tool_timeout", "tool_not_found"}
    assert verdict_on(exc).family not in {"bug", "general", "data"}


def test_a_tool_that_is_missing_is_named(verdict_on):
    """
    The peer's own text is shown.
    """
    assert verdict_on(MCPError(-32602, "Unknown tool: sync_ledgr")).message is None


def test_words_are_read_with_care(facts):
    """
    Only where no number says more.
    """
    assert facts(MCPError(-32603, "Rate limit exceeded, retry in 30 seconds"))[0] == "quota_exceeded"
    assert facts(MCPError(-32603, "the parameter timeout_ms is odd")) == INTERNAL


def test_mcp_1(facts):
    """
    Another name, the same shape.
    """
    McpError = type("McpError", (Exception,), {"__module__": "mcp.shared.exceptions", "__qualname__": "McpError"})
    exc = McpError("Timed out")
    exc.error = mcp_types.ErrorData(code=408, message="Timed out while waiting")

    assert facts(exc) == LATE


@pytest.mark.parametrize(
    "error",
    [
        None,
        types.SimpleNamespace(code="x", message=5),
        types.SimpleNamespace(code=True, message="x"),
        types.SimpleNamespace(code=-32603, message="x" * 10**6),
    ],
)
def test_a_misbuilt_one(facts, error):
    """
    Its constructor is easily called wrongly; then it has no error at all.
    """
    exc = MCPError.__new__(MCPError)
    if error is not None:
        exc.error = error

    assert facts(exc) == INTERNAL
    assert facts(MCPError.__new__(MCPError, "Backend said no")) == INTERNAL


def test_its_constructor_called_wrongly(caught, facts):
    """
    That is a TypeError of the tool's.
    """
    assert facts(caught(lambda: MCPError("Backend said no")))[0] == "tool_panicked"


def test_a_session_that_really_times_out_or_closes(facts):
    """
    What the SDK itself raises.
    """
    from mcp.client.session import ClientSession

    async def asks(close):
        to_client, from_server = anyio.create_memory_object_stream(10)
        to_server, from_client = anyio.create_memory_object_stream(10)
        async with to_client, from_server, to_server, from_client:
            limit = None if close else 0.01
            async with ClientSession(from_server, to_server, read_timeout_seconds=limit) as session:
                if close:
                    await to_client.aclose()
                try:
                    await session.send_ping()
                except MCPError as exc:
                    return exc

    assert facts(anyio.run(asks, False)) == LATE
    assert facts(anyio.run(asks, True)) == UNREACHABLE


def test_what_hosts_give_to_authors(facts, verdict_on):
    """
    Says nothing but its text.
    """
    for exc in (ToolError("x"), ResourceError("x")):
        assert facts(exc) == INTERNAL
        assert (verdict_on(exc).family, verdict_on(exc).message) == ("general", None)
    assert HOST_ERRORS <= load().keys()


def test_a_crash_that_the_sdk_wrapped(verdict_on):
    """
    What is inside decides.
    """
    exc = UnexpectedToolError("Error executing tool x")
    exc.__cause__ = KeyError("k")

    assert verdict_on(exc).judge_instead is exc.__cause__
    assert verdict_on(UnexpectedToolError("x")).judge_instead is None


@pytest.mark.parametrize(
    ("exc", "expected"),
    [
        (ResourceNotFoundError("Unknown resource: x"), ARGUMENTS),
        (StreamableHTTPError("NOTREAL"), UNREACHABLE),
        (ResumptionError("NOTREAL"), INTERNAL),
        (OAuthTokenError("NOTREAL"), ("internal", "auth", False)),
        (NoBackChannelError("sampling/createMessage"), INTERNAL),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_others(facts, verdict_on, exc, expected):
    """
    Of the SDK's client half.
    """
    assert expected == facts(exc)
    assert "NOTREAL" not in (verdict_on(exc).message or "")
