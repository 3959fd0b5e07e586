"""
`toolfault.testing.check` on the FastMCP and the low-level server of mcp 1.x, plain and guarded.
"""

import pytest
from mcp import types
from mcp.server.fastmcp import FastMCP
from mcp.server.lowlevel import Server

from toolfault.integrations.mcp import install
from toolfault.testing import check


READS = types.ToolAnnotations(readOnlyHint=True)


def make_fastmcp(calls):
    server = FastMCP("shop")

    @server.tool(annotations=READS)
    def half(n: int) -> int:
        calls.append(n)
        return n // 2

    return server


def make_lowlevel(calls):
    server = Server("shop")
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    @server.list_tools()
    async def list_tools():
        return [types.Tool(name="half", inputSchema=schema, annotations=READS)]

    @server.call_tool()
    async def call_tool(name, arguments):
        if name != "half":
            raise ValueError(f"Unknown tool: {name}")
        calls.append(arguments)
        return []

    return server


@pytest.mark.parametrize("make", [make_fastmcp, make_lowlevel])
def test_a_server_is_checked_in_memory(make):
    levels = {}
    for guarded in (False, True):
        calls = []
        server = make(calls)
        if guarded:
            install(server)
        report = check(server, has_upstream=False)
        levels[guarded] = report.reached_level

        assert report.server.startswith("shop")
        assert calls == []

    assert levels[True] == 4
    assert levels[False] < 4
