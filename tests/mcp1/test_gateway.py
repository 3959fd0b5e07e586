"""
The gateway in an environment of mcp 1.x, which brings another HTTP client: over HTTP, and to a URL over stdio.
"""

import sys

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

from http_client import listening
from remote_server import serving
from toolfault import parse


#: Tool, code (None: a success), a part of the message.
CALLS = [
    ("ok", None, "fine"),
    ("iserr", "internal", "HTTP 503 from warehouse"),
    ("sse_error", "internal", "HTTP 503 from warehouse"),
    ("rpc_error", "internal", "warehouse is down"),
    ("s429", "quota_exceeded", "HTTP 429"),
    ("s502html", "mcp_server_unreachable", "HTTP 502"),
    ("sse_cut", "mcp_server_unreachable", "ended without an answer"),
    ("hang", "tool_timeout", "did not answer within 1 second"),
]


async def check(streams):
    async with ClientSession(*streams[:2]) as session:
        await session.initialize()
        await session.list_tools()
        for tool, code, part in CALLS:
            result = await session.call_tool(tool, {})
            fault = parse(result)
            assert (None if fault is None else fault.code) == code, tool
            assert part in result.content[0].text


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_failures_over_http():
    async def run(url):
        async with streamablehttp_client(url) as streams:
            await check(streams)

    with serving() as server, listening(server.url, "--timeout", "1") as process:
        anyio.run(run, f"http://127.0.0.1:{process.port}/mcp")


def test_failures_of_a_url_over_stdio():
    async def run(url):
        words = ["-m", "toolfault", "gateway", "--timeout", "1", url]
        async with stdio_client(StdioServerParameters(command=sys.executable, args=words)) as streams:
            await check(streams)

    with serving() as server:
        anyio.run(run, server.url)
