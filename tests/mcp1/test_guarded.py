"""
One function as a guarded tool of mcp 1.x: every shape, with and without a guarded server around it.
"""

import anyio
import pytest
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.tools import Tool
from mcp.server.lowlevel import Server
from mcp.shared.memory import create_connected_server_and_client_session as connected
from mcp.types import TextContent

from guarded_shapes import SHAPES, Answer, plain_async, plain_sync
from toolfault import Guard, McpErrorCode, ToolFault, parse
from toolfault.integrations.mcp import guarded, install
from toolfault.testing import FailingTool, assert_fault


def in_session(server, steps):
    async def run():
        async with connected(getattr(server, "_mcp_server", server)) as session:
            return await steps(session)

    return anyio.run(run)


def fastmcp(name="tools"):
    return FastMCP(name, log_level="CRITICAL")


@pytest.mark.parametrize("shape", SHAPES)
def test_a_tool_of_this_shape_answers_and_fails(shape):
    server = install(fastmcp())
    server.add_tool(SHAPES[shape][0], name=shape)

    async def steps(session):
        (tool,) = (await session.list_tools()).tools
        assert "ctx" not in tool.inputSchema["properties"]
        assert tool.outputSchema["properties"]["text"]
        assert tool.description
        good = await session.call_tool(shape, {"city": "Oslo"})
        assert not good.isError, good
        assert "Oslo" in good.structuredContent["text"]
        bad = await session.call_tool(shape, {"city": "Ys"})
        assert_fault(bad, code="invalid_arguments", message="No such city: Ys")
        assert bad.content[0].text == "No such city: Ys"

    in_session(server, steps)


@pytest.mark.parametrize("shape", [shape for shape, (_, plain) in SHAPES.items() if plain is not None])
def test_the_sdk_sees_what_it_saw_without_the_decorator(shape):
    decorated, plain = SHAPES[shape]
    ours, theirs = Tool.from_function(decorated), Tool.from_function(plain)

    assert ours.parameters == theirs.parameters | {"title": ours.parameters["title"]}
    assert ours.output_schema == theirs.output_schema
    assert (ours.name, ours.description.split(), ours.context_kwarg) == (
        theirs.name,
        theirs.description.split(),
        theirs.context_kwarg,
    )


async def untyped_async(city: str, ctx: Context):
    raise ToolFault(McpErrorCode.QUOTA_EXCEEDED, f"Quota for {city} is used up")


def untyped_sync(city: str, ctx: Context):
    raise ToolFault(McpErrorCode.QUOTA_EXCEEDED, f"Quota for {city} is used up")


class Tools:
    async def method(self, city: str, ctx: Context):
        raise ToolFault(McpErrorCode.QUOTA_EXCEEDED, f"Quota for {city} is used up")


@pytest.mark.parametrize("function", [untyped_async, untyped_sync, Tools().method], ids=["async", "sync", "method"])
def test_alone_the_envelope_leaves_where_nothing_is_held_against_it(function):
    server = fastmcp()
    server.add_tool(guarded(function), name="tool")

    async def steps(session):
        result = await session.call_tool("tool", {"city": "Ys"})
        fault = assert_fault(result, code="quota_exceeded", message="Quota for Ys is used up")
        assert fault.found_in == "structured_content"

    in_session(server, steps)


@pytest.mark.parametrize("function", [plain_sync, plain_async])
def test_alone_a_typed_tool_s_message_leaves(function, caplog):
    server = fastmcp()
    server.add_tool(guarded(function), name="typed")
    server.add_tool(guarded(function), name="untyped", structured_output=False)

    async def steps(session):
        typed = await session.call_tool("typed", {"city": "Ys"})
        assert (typed.isError, typed.structuredContent) == (True, None)
        assert typed.content[0].text == "Error executing tool typed: No such city: Ys"
        assert parse(typed) is not None
        untyped = await session.call_tool("untyped", {"city": "Ys"})
        assert assert_fault(untyped, code="invalid_arguments").found_in == "structured_content"

    in_session(server, steps)
    assert "install() a guard on the server" in caplog.text


def test_alone_it_guards_the_function_of_a_low_level_server():
    server = Server("low")

    @server.call_tool()
    @guarded
    async def call(name, arguments) -> list[TextContent]:
        raise LookupError(f"no shelf {arguments['number']}")

    async def steps(session):
        result = await session.call_tool("shelf", {"number": 3})
        assert assert_fault(result, code="invalid_arguments").found_in == "structured_content"

    in_session(server, steps)


def test_a_server_is_guarded_once():
    server = install(fastmcp("one"))

    with pytest.raises(ValueError, match="'one' is guarded already"):
        install(server)
    with pytest.raises(ValueError, match="guarded already"):
        install(server._mcp_server)
    with pytest.raises(TypeError, match="install takes one of FastMCP, MCPServer, Server"):
        install(object())


def test_a_timeout_that_can_t_stop_a_sync_tool_is_warned_about():
    server = fastmcp()

    @server.tool()
    def early() -> str:
        return ""

    with pytest.warns(RuntimeWarning, match="'early' is a sync function"):
        install(server, Guard(timeout=3))
    with pytest.warns(RuntimeWarning, match="'late' is a sync function"):

        @server.tool()
        def late() -> str:
            return ""

    @server.tool()
    @guarded(timeout=3)
    def abandonable() -> str:
        return ""


def test_the_guard_s_own_timeout():
    server = install(fastmcp(), Guard(timeout=0.02))

    @server.tool()
    async def slow() -> str:
        await anyio.sleep(30)

    async def steps(session):
        result = await session.call_tool("slow", {})
        assert_fault(result, code="tool_timeout", message="Tool timed out after 20ms")

    in_session(server, steps)


def test_a_tool_may_be_replaced_at_run_time():
    server = install(fastmcp())

    async def steps(session):
        server.add_tool(FailingTool([ValueError("first of its kind")]), name="tool")
        await session.list_tools()
        assert_fault(await session.call_tool("tool", {}), message="first of its kind")
        server.remove_tool("tool")

        @server.tool(name="tool")
        @guarded(expect={ValueError: "quota_exceeded"})
        async def other() -> dict[str, int]:
            raise ValueError("second of its kind")

        assert_fault(await session.call_tool("tool", {}), code="quota_exceeded", message="second of its kind")
        (listed,) = (await session.list_tools()).tools
        assert listed.outputSchema is not None

    in_session(server, steps)


@pytest.mark.parametrize(("mode", "found_in"), [("meta", "meta"), ("keep", "structured_content")])
def test_output_schemas_may_stay_as_they_are(mode, found_in):
    server = install(fastmcp(), Guard(output_schema=mode))

    @server.tool()
    async def typed() -> Answer:
        raise TimeoutError("the warehouse did not answer")

    async def steps(session):
        (tool,) = (await session.list_tools()).tools
        assert tool.outputSchema["required"] == ["text"]
        assert parse(await session.call_tool("typed", {})).found_in == found_in

    in_session(server, steps)


def test_what_a_tool_declares_is_published():
    server = install(fastmcp())

    @server.tool()
    @guarded(fails_with=["quota_exceeded"])
    async def declares() -> str:
        return ""

    async def steps(session):
        for (tool,) in ((await session.list_tools()).tools, await server.list_tools()):
            assert tool.meta["io.github.toolfault/error"]["fails_with"] == ["quota_exceeded"]
            assert "code" in tool.outputSchema["properties"]

    in_session(server, steps)


def test_a_subclass_that_calls_tools_its_own_way_is_respected():
    class Counting(FastMCP):
        calls = 0

        async def call_tool(self, name, arguments):
            self.calls += 1
            if arguments.get("tries") == 99:
                raise PermissionError("nobody tries that often")
            return await super().call_tool(name, arguments)

    server = install(Counting("counting", log_level="CRITICAL"))

    @server.tool()
    async def tool(tries: int) -> str:
        return str(tries)

    async def steps(session):
        assert (await session.call_tool("tool", {"tries": 3})).content[0].text == "3"
        assert_fault(await session.call_tool("tool", {"tries": 99}), message="nobody tries that often")
        assert_fault(await session.call_tool("tool", {}), code="invalid_arguments")

    in_session(server, steps)
    assert server.calls == 3
