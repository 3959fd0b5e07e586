"""
Tools that are generators on a real MCPServer: their own exceptions, and results as without us.
"""

import anyio
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from toolfault import ToolFault, parse
from toolfault.integrations.mcp import install


def items():
    yield 1
    yield {"city": "Ys"}


def refuses(city: str):
    yield 1
    raise ValueError(f"no such city: {city}")


def reports():
    yield 1
    raise ToolError("the ledger is closed")


def limits():
    yield from items()
    raise ToolFault("quota_exceeded", "used up", retry_after_seconds=3)


def crashes():
    yield 1
    {}["key"]


async def asynchronous():
    yield 1


TOOLS = (items, refuses, reports, limits, crashes, asynchronous)


def call(name, *, guarded=True, late=False, **arguments):
    async def run():
        server = MCPServer("generators")
        if guarded and late:
            install(server)
        for tool in TOOLS:
            server.add_tool(tool)
        async with Client(install(server) if guarded and not late else server) as client:
            return await client.call_tool(name, arguments)

    return anyio.run(run)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("name", "arguments", "code", "text"),
    [
        ("refuses", {"city": "Ys"}, "invalid_arguments", "no such city: Ys"),
        ("reports", {}, "internal", "the ledger is closed"),
        ("limits", {}, "quota_exceeded", "used up"),
        ("crashes", {}, "tool_panicked", "the key 'key' is missing"),
        ("asynchronous", {}, "tool_panicked", "is an async generator"),
    ],
)
def test_a_generator_keeps_its_own_exception(name, arguments, code, text, late):
    fault = parse(call(name, late=late, **arguments))

    assert fault.code == code
    assert text in fault.message


def test_a_generator_that_succeeds_answers_as_without_us():
    guarded, plain = call("items"), call("items", guarded=False)

    assert not guarded.is_error
    assert guarded.model_dump() == plain.model_dump()
