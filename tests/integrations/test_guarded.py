"""
One function as a guarded tool: every shape, with and without a guarded server around it.
"""

import asyncio

import anyio
import anyio.lowlevel
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver.tools import Tool

from guarded_shapes import SHAPES
from toolfault import Guard, InvalidRule, Retry, parse
from toolfault.integrations.mcp import GuardedMCPServer, guarded, install
from toolfault.testing import FailingTool, assert_fault


@pytest.fixture(params=["alone", "installed", "subclass"])
def server(request):
    if request.param == "subclass":
        return GuardedMCPServer("shapes", log_level="CRITICAL")
    made = MCPServer("shapes", log_level="CRITICAL")
    return install(made) if request.param == "installed" else made


@pytest.mark.parametrize("shape", SHAPES)
def test_a_tool_of_this_shape_answers_and_fails(server, shape):
    decorated, _ = SHAPES[shape]
    server.add_tool(decorated, name=shape)

    async def run():
        async with Client(server) as client:
            (tool,) = (await client.list_tools()).tools
            assert "ctx" not in tool.input_schema["properties"]
            assert tool.output_schema["properties"]["text"]
            assert tool.description
            good = await client.call_tool(shape, {"city": "Oslo"})
            assert not good.is_error, good
            assert "Oslo" in good.structured_content["text"]
            bad = await client.call_tool(shape, {"city": "Ys"})
            assert_fault(bad, code="invalid_arguments", message="No such city: Ys")
            assert bad.content[0].text == "No such city: Ys"

    anyio.run(run)


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
    assert set(ours.resolved_params) == set(theirs.resolved_params)


def test_what_a_partial_fills_in_is_no_argument():
    tool = Tool.from_function(SHAPES["secret"][0])

    assert "s3cr3t" not in str(tool.parameters)
    assert set(tool.parameters["properties"]) == {"city"}


def test_a_guarded_function_called_by_another_raises():
    @guarded
    async def inner():
        raise LookupError("no such shelf")

    @guarded
    async def outer():
        try:
            await inner()
        except LookupError:
            return "caught"

    async def run():
        assert await outer() == "caught"
        assert_fault(await inner(), code="invalid_arguments", message="no such shelf")

    anyio.run(run)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancellation_passes(backend):
    @guarded
    async def waits():
        scope.cancel()
        await anyio.sleep(30)

    async def run():
        nonlocal scope
        with anyio.CancelScope() as scope:
            await waits()
        assert scope.cancelled_caught

    scope = None
    anyio.run(run, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_only_the_guard_s_own_scope_is_its_timeout(backend):
    @guarded(timeout=0.01)
    async def slow():
        await anyio.sleep(30)

    @guarded(timeout=30)
    async def impatient():
        with anyio.fail_after(0.01):
            await anyio.sleep(30)

    async def run():
        own = assert_fault(await slow(), code="tool_timeout", message="Tool timed out after 10ms")
        assert own.facts["origin"] == "adapter"
        other = assert_fault(await impatient(), code="tool_timeout")
        assert other.facts["origin"] == "upstream"
        assert "timed out after" not in other.envelope.message

    anyio.run(run, backend=backend)


def test_a_body_that_swallows_the_timeout_is_believed():
    @guarded(timeout=0.01)
    async def stubborn():
        try:
            await anyio.sleep(30)
        except anyio.get_cancelled_exc_class():
            return "finished all the same"

    async def run():
        assert await stubborn() == "finished all the same"

    anyio.run(run)


def test_what_stops_the_interpreter_passes():
    @guarded
    def stops():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stops()


@pytest.mark.parametrize("stop", [GeneratorExit, SystemExit, type("Own", (GeneratorExit,), {})])
def test_a_function_without_a_loop_answers_what_is_no_exception(stop):
    @guarded
    def stops():
        raise stop("enough")

    assert stops().structured_content["code"] == "tool_panicked"


def test_a_coroutine_that_raises_generator_exit_is_answered_and_one_that_is_closed_is_closed(caplog):
    closed = []

    @guarded
    async def raising():
        await anyio.lowlevel.checkpoint()
        raise GeneratorExit

    @guarded
    async def waiting():
        try:
            await anyio.sleep_forever()
        except GeneratorExit:
            closed.append(True)
            raise

    async def run():
        assert (await raising()).structured_content["code"] == "tool_panicked"
        coroutine = waiting()
        asyncio.create_task(_first_step(coroutine))
        await asyncio.sleep(0)
        caplog.clear()
        coroutine.close()

    async def _first_step(coroutine):
        coroutine.send(None)

    asyncio.run(run())
    assert closed == [True]
    assert caplog.records == []


def test_options_are_checked_where_they_are_written():
    with pytest.raises(InvalidRule, match="quota_exceeded"):
        guarded(expect={ValueError: "quota"})
    with pytest.raises(TypeError, match="no option speed"):
        guarded(speed=3)
    with pytest.raises(ValueError, match="timeout"):
        guarded(timeout=-1)
    with pytest.raises(TypeError, match="takes a callable"):
        guarded(3)


def test_a_server_is_guarded_once_and_must_be_one():
    server = install(MCPServer("one", log_level="CRITICAL"))

    with pytest.raises(ValueError, match="guarded already"):
        install(server)
    with pytest.raises(TypeError, match="MCPServer"):
        install(object())


@pytest.mark.parametrize("guard", [Guard, Retry(), {"timeout": 5}, {}, 0], ids=repr)
def test_a_guard_that_is_none_is_refused(guard):
    with pytest.raises(TypeError, match=r"install takes a Guard, such as Guard\(timeout=5\)"):
        install(MCPServer("one", log_level="CRITICAL"), guard)


def test_a_timeout_that_can_t_stop_a_sync_tool_is_warned_about():
    server = MCPServer("warned", log_level="CRITICAL")

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


def test_tools_of_a_tool_s_own_guard_ask_its_rules_first():
    server = install(MCPServer("rules", log_level="CRITICAL"), Guard(expect={OSError: "network_blocked"}))

    @server.tool()
    @guarded(expect={ConnectionError: "quota_exceeded"})
    async def tool(which: str) -> str:
        raise {"own": ConnectionError("own"), "server": OSError("server's")}[which]

    async def run():
        async with Client(server) as client:
            assert parse(await client.call_tool("tool", {"which": "own"})).code == "quota_exceeded"
            assert parse(await client.call_tool("tool", {"which": "server"})).code == "network_blocked"

    anyio.run(run)


def test_a_tool_may_be_replaced_at_run_time():
    server = install(MCPServer("changing", log_level="CRITICAL"))

    async def run():
        async with Client(server) as client:
            server.add_tool(FailingTool([ValueError("first of its kind")]), name="tool")
            await client.list_tools()
            assert_fault(await client.call_tool("tool", {}), message="first of its kind")
            server.remove_tool("tool")

            @server.tool(name="tool")
            async def other() -> dict[str, int]:
                raise ValueError("second of its kind")

            assert_fault(await client.call_tool("tool", {}), message="second of its kind")
            (listed,) = (await client.list_tools(cache_mode="bypass")).tools
            assert listed.output_schema is not None

    anyio.run(run)


def test_failing_tool_fails_on_cue():
    server = install(MCPServer("flaky", log_level="CRITICAL"))
    flaky = FailingTool([TimeoutError("busy"), None, ConnectionResetError("gone")], answer="yes")
    server.add_tool(flaky, name="flaky")

    async def run():
        async with Client(server) as client:
            assert_fault(await client.call_tool("flaky", {}), code="tool_timeout", retryable=True)
            assert (await client.call_tool("flaky", {})).content[0].text == "yes"
            assert_fault(await client.call_tool("flaky", {}), code="internal", retryable=True)
            assert (await client.call_tool("flaky", {})).content[0].text == "yes"

    anyio.run(run)
    assert flaky.calls == 4


def test_assert_fault_says_what_is_there_instead():
    result = {"isError": True, "content": [{"type": "text", "text": "Rate limit reached"}]}

    with pytest.raises(AssertionError, match="code is quota_exceeded, not internal"):
        assert_fault(result, code="internal")
    with pytest.raises(AssertionError, match="expected a failure"):
        assert_fault({"isError": False, "content": []})


class NotFoundError(Exception):
    pass


def test_a_failing_tool_is_judged_as_the_test_s_own():
    server = install(MCPServer("flaky", log_level="CRITICAL"))
    server.add_tool(FailingTool([NotFoundError("no article 3"), ValueError("no city")]), name="flaky")

    async def run():
        async with Client(server) as client:
            assert_fault(
                await client.call_tool("flaky", {}), code="invalid_arguments", outcome="unknown", origin="tool"
            )
            assert_fault(await client.call_tool("flaky", {}), code="invalid_arguments", message="no city")

    anyio.run(run)
