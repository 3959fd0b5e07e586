"""
mcp 1.x: its exceptions, judged and read; and the integration, which says what it needs.
"""

import importlib
import importlib.metadata

import anyio
import pytest
from mcp import McpError
from mcp.client.session import ClientSession
from mcp.server.fastmcp import FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.shared.memory import create_connected_server_and_client_session as connected
from mcp.types import ErrorData

from toolfault import Guard, parse
from toolfault.hosting import Call
from toolfault.rules import load


HEADS = ("mcp.server.fastmcp.exceptions.", "mcp.shared.exceptions.McpError")


def test_this_is_mcp_1():
    assert importlib.metadata.version("mcp").startswith("1.")


@pytest.mark.parametrize("name", [name for name in load() if name.startswith(HEADS)])
def test_every_name_is_that_of_a_class(name):
    module, _, qualname = name.rpartition(".")

    assert issubclass(getattr(importlib.import_module(module), qualname), BaseException)


@pytest.mark.parametrize(
    ("code", "message", "judged"),
    [
        (408, "Timed out while waiting for response to ClientRequest. Waited 5.0 seconds.", "tool_timeout"),
        (-32000, "Connection closed", "mcp_server_unreachable"),
        (-32602, "Unknown tool: sync_ledgr", "tool_not_found"),
        (-32602, "amount must be an integer", "invalid_arguments"),
        (-32603, "no idea", "internal"),
    ],
)
def test_an_upstream_server_s_error_is_judged(code, message, judged):
    try:
        raise McpError(ErrorData(code=code, message=message))
    except McpError as exc:
        assert Guard().judge(exc, Call(tool="t")).code == judged
        assert parse(exc).code == judged


def server():
    made = FastMCP("one")

    @made.tool()
    def refuses(city: str) -> str:
        raise ToolError(f"Rate limit reached for {city}")

    @made.tool()
    async def hangs() -> str:
        await anyio.sleep(30)
        return "never"

    return made


def answered(name, arguments, **options):
    async def run():
        async with connected(server()._mcp_server, **options) as session:
            assert isinstance(session, ClientSession)
            try:
                return await session.call_tool(name, arguments)
            except McpError as exc:
                return exc

    return anyio.run(run)


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("refuses", {"city": "Oslo"}, "quota_exceeded"),
        ("nothing", {}, "tool_not_found"),
        ("refuses", {}, "invalid_arguments"),
    ],
)
def test_what_its_servers_answer_is_read(name, arguments, code):
    fault = parse(answered(name, arguments), tool=name, arguments=arguments)

    assert fault.code == code


def test_a_real_timeout_of_its_client_is_read_and_judged():
    from datetime import timedelta

    exc = answered("hangs", {}, read_timeout_seconds=timedelta(milliseconds=50))

    assert isinstance(exc, McpError)
    assert parse(exc).code == "tool_timeout"
    assert Guard().judge(exc, Call(tool="t")).code == "tool_timeout"


def test_what_needs_the_other_major_names_its_cure():
    integration = importlib.import_module("toolfault.integrations.mcp")

    with pytest.raises(ImportError, match=r"needs mcp 2\.3 or newer: pip install"):
        _ = integration.GuardedMCPServer
