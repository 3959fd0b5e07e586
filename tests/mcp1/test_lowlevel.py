"""
The low-level `Server` of mcp 1.x: whatever is registered, however, and when.
"""

import anyio
import pytest
from mcp import types
from mcp.client.session_group import ClientSessionGroup
from mcp.server.lowlevel import Server
from mcp.shared.memory import create_connected_server_and_client_session as connected

from toolfault import Guard, Retry, ToolFault, parse
from toolfault.integrations.mcp import guarded, install, retrying
from toolfault.testing import assert_fault


def tool(name, **options):
    return types.Tool(name=name, inputSchema={"type": "object", "required": ["city"]}, **options)


async def fails(name, arguments):
    raise ValueError(f"No such city: {arguments['city']}")


def in_session(server, steps):
    async def run():
        async with connected(server) as session:
            return await steps(session)

    return anyio.run(run)


@pytest.mark.parametrize("when", ["before", "between", "after"])
def test_handlers_are_guarded_whenever_they_are_registered(when):
    server = Server("low")
    if when == "before":
        install(server)

    @server.list_tools()
    async def tools():
        return [tool("forecast")]

    if when == "between":
        install(server)
    registered = server.call_tool()(fails)
    if when == "after":
        install(server)

    async def steps(session):
        assert_fault(await session.call_tool("forecast", {"city": "Ys"}), message="No such city: Ys")
        assert_fault(await session.call_tool("forecast", {}), code="invalid_arguments", message="`city` is missing")
        assert_fault(await session.call_tool("forecasts", {}), code="tool_not_found")

    in_session(server, steps)
    assert registered is fails


def test_without_a_listing_nothing_is_checked():
    server = install(Server("low"))
    server.call_tool()(fails)

    async def steps(session):
        assert_fault(await session.call_tool("whatever", {"city": "Ys"}), message="No such city: Ys")
        assert_fault(await session.call_tool("whatever", {}), code="tool_panicked")

    in_session(server, steps)


def test_arguments_are_only_checked_where_the_sdk_would():
    server = install(Server("low"))
    server.list_tools()(lambda: listed([tool("forecast")]))
    server.call_tool(validate_input=False)(fails)

    async def steps(session):
        assert_fault(await session.call_tool("forecast", {}), code="tool_panicked")
        assert_fault(await session.call_tool("forecasts", {}), code="tool_not_found")

    in_session(server, steps)


async def listed(tools):
    return tools


def test_a_handler_without_the_decorator_is_guarded():
    server = install(Server("low"), Guard(timeout=0.02))

    async def handle(request):
        if request.params.name == "slow":
            await anyio.sleep(30)
        if request.params.name == "ok":
            return types.ServerResult(types.CallToolResult(content=[types.TextContent(type="text", text="fine")]))
        raise ConnectionRefusedError(111, "Connection refused")

    server.request_handlers[types.CallToolRequest] = handle
    server.list_tools()(lambda: listed([tool("fails"), tool("slow"), tool("ok")]))

    async def steps(session):
        assert_fault(await session.call_tool("fails", {}), code="internal", retryable=True)
        assert_fault(await session.call_tool("slow", {}), code="tool_timeout", message="after 20ms")
        assert (await session.call_tool("ok", {})).content[0].text == "fine"

    in_session(server, steps)


def test_a_guarded_handler_may_be_wrapped_and_registered_again():
    server = install(Server("low"))
    server.call_tool()(fails)
    inner = server.request_handlers[types.CallToolRequest]
    seen = []

    async def traced(request):
        seen.append(request.params.name)
        return await inner(request)

    server.request_handlers[types.CallToolRequest] = traced

    async def steps(session):
        assert_fault(await session.call_tool("forecast", {"city": "Ys"}), message="No such city: Ys")

    in_session(server, steps)
    assert seen == ["forecast"]


def test_a_tool_on_a_later_page_is_found():
    server = install(Server("low"))
    pages = {None: (["a"], "two"), "two": (["b"], "three"), "three": (["c"], None)}

    @server.list_tools()
    async def tools(request: types.ListToolsRequest) -> types.ListToolsResult:
        names, following = pages[request.params and request.params.cursor if request else None]
        return types.ListToolsResult(tools=[tool(name) for name in names], nextCursor=following)

    server.call_tool()(fails)

    async def steps(session):
        for name in "abc":
            assert_fault(await session.call_tool(name, {"city": "Ys"}), message="No such city: Ys")
        assert_fault(await session.call_tool("d", {"city": "Ys"}), code="tool_not_found")

    in_session(server, steps)


def test_a_listing_that_fails_stops_no_call(caplog):
    server = install(Server("low"))

    @server.list_tools()
    async def tools():
        raise OSError("the catalogue is gone")

    server.call_tool()(fails)

    async def steps(session):
        result = await session.call_tool("forecast", {"city": "Ys"})
        assert result.isError
        assert parse(result) is not None

    in_session(server, steps)
    assert "can't be listed" in caplog.text


@pytest.mark.parametrize(
    ("returned", "part"),
    [
        ({"city": 3}, "`city`: must be of type string"),
        (([], {"town": "Oslo"}), "`city`: is missing"),
        ([], "a value of type list"),
        (3, "a value of type int"),
    ],
)
def test_what_does_not_fit_the_output_schema_is_answered(returned, part):
    server = install(Server("low"))
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    server.list_tools()(lambda: listed([tool("forecast", outputSchema=schema)]))
    server.call_tool()(lambda name, arguments: listed(returned))

    async def steps(session):
        fault = assert_fault(await session.call_tool("forecast", {"city": "Oslo"}), code="internal", message=part)
        assert fault.outcome == "executed"

    in_session(server, steps)


def test_the_sdk_still_holds_results_against_the_author_s_schema():
    server = install(Server("low"))
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    server.list_tools()(lambda: listed([tool("forecast", outputSchema=schema)]))
    server.call_tool()(lambda name, arguments: listed({"code": "x"}))

    async def steps(session):
        (shown,) = (await session.list_tools()).tools
        assert "code" in shown.outputSchema["properties"]
        assert_fault(await session.call_tool("forecast", {"city": "Oslo"}), code="internal")

    in_session(server, steps)


@pytest.mark.parametrize(("below", "code"), [(True, "quota_exceeded"), (False, "permission_denied")])
def test_options_are_those_of_the_outermost_guarded_function(below, code):
    server = install(Server("low"), Guard(expect={OSError: "network_blocked"}))

    @guarded(expect={ConnectionError: "quota_exceeded"})
    async def forecast(city):
        raise ConnectionError("all lines are busy")

    async def call(name, arguments):
        if name == "server":
            raise OSError("server's")
        return await forecast(**arguments)

    server.call_tool()(call if below else guarded(expect={ConnectionError: "permission_denied"})(call))

    async def steps(session):
        assert_fault(await session.call_tool("forecast", {"city": "Ys"}), code=code)
        assert_fault(await session.call_tool("server", {}), code="network_blocked")

    in_session(server, steps)


def test_a_session_that_tries_again():
    server = install(Server("low"))
    tries = []

    @server.list_tools()
    async def tools():
        return [tool("forecast", annotations=types.ToolAnnotations(readOnlyHint=True))]

    @server.call_tool()
    async def call(name, arguments):
        tries.append(name)
        if len(tries) == 1:
            raise ConnectionRefusedError(111, "Connection refused")
        return [types.TextContent(type="text", text="sunny")]

    async def steps(session):
        result = await retrying(session, Retry(wait_initial=0.001, wait_jitter=0)).call_tool(
            "forecast", {"city": "Oslo"}
        )
        assert result.content[0].text == "sunny"

    in_session(server, steps)
    assert tries == ["forecast", "forecast"]


def test_a_group_of_sessions_tries_again():
    """
    A new request each time, which says the attempt; the last failure's text tells a model everything.
    """
    server = install(Server("low"))
    seen = []

    @server.list_tools()
    async def tools():
        return [tool("forecast", annotations=types.ToolAnnotations(readOnlyHint=True))]

    @server.call_tool()
    async def call(name, arguments):
        meta = server.request_context.meta
        seen.append((server.request_context.request_id, getattr(meta, "io.github.toolfault/attempt", None)))
        raise ToolFault("quota_exceeded", "The limit is reached", retry_after_seconds=7)

    async def steps(session):
        waits = []
        attempts = []

        async def sleep(seconds):
            waits.append(seconds)

        group = ClientSessionGroup(component_name_hook=lambda name, info: f"{info.name}.{name}")
        await group.connect_with_session(types.Implementation(name="low", version="1"), session)
        retry = Retry(sleep=sleep, random=lambda: 0.0)
        wrapped = retrying(group, retry, rewrite=True)

        result = await wrapped.call_tool("low.forecast", {"city": "Oslo"}, on_attempt=attempts.append)

        assert waits == [7.0, 7.0]
        assert [made.stopped for made in attempts] == [None, None, "attempts"]
        assert result.content[0].text.startswith("The limit is reached\n[quota_exceeded] The call was tried 3 times.")
        assert_fault(result, code="quota_exceeded")

    in_session(server, steps)
    assert len({request for request, _ in seen}) == 3
    assert [attempt for _, attempt in seen] == [None, 2, 3]


INPUTS = {
    "pay": {"price": {"type": "number", "multipleOf": 0.01}, "account": {"pattern": "^[a-z]{3,12}$"}},
    "search": {"text": {"pattern": r"^(\w+\s?)*$"}},
    "broken": {"a": {"type": "strin"}},
}
ATTACK = {"price": -5, "account": "'; DROP"}


@pytest.mark.parametrize(
    ("name", "calls", "codes"),
    [
        ("pay", [ATTACK, {"price": 10**400}, ATTACK], ["invalid_arguments"] * 3),
        ("search", [{"text": "a" * 35 + "!"}, {"text": "words"}], ["invalid_arguments", None]),
        # The SDK fails such a call, too.
        ("broken", [{"a": 1}, {"a": 1}], ["internal"] * 2),
    ],
)
def test_schemas_and_callers_cannot_hurt_each_other(name, calls, codes):
    server = install(Server("low"))

    @server.list_tools()
    async def tools():
        return [
            types.Tool(name=name, inputSchema={"type": "object", "properties": properties})
            for name, properties in INPUTS.items()
        ]

    @server.call_tool()
    async def call(name, arguments):
        return []

    async def steps(session):
        for arguments, code in zip(calls, codes):
            fault = parse(await session.call_tool(name, arguments))
            assert (fault.code if fault else None) == code

    in_session(server, steps)
