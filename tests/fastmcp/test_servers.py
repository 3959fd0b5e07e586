"""
The middleware among others: mounted and proxied servers, nested calls, masking, order, schemas, tools made from others.
"""

import gc
import logging
import subprocess
import sys
import warnings
import weakref

import anyio
import httpx2
import pytest
from fastmcp import Client, FastMCP
from fastmcp.server import create_proxy
from fastmcp.server.middleware import AuthMiddleware, Middleware
from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware, RetryMiddleware
from fastmcp.server.middleware.rate_limiting import RateLimitingMiddleware
from fastmcp.tools import Tool
from fastmcp.tools.tool_transform import ArgTransform
from mcp.types import InputRequiredResult
from pydantic import BaseModel

import fastmcp_faults
from toolfault import Disclosure, Guard, ToolFault, parse
from toolfault.integrations.fastmcp import ToolFaultMiddleware
from toolfault.integrations.mcp import guarded
from toolfault.testing import assert_fault


pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")

ERAS = ["auto", "legacy"]
YS = {"city": "Ys"}
KEY = "io.github.toolfault/error"
#: A port that nobody listens at.
NOWHERE = "http://127.0.0.1:9/mcp"


def ask(server, *calls, era="auto", listed=False):
    """
    What each call, or a name alone, is answered.
    """

    async def run():
        async with Client(server, mode=era) as client:
            tools = {tool.name: tool for tool in await client.list_tools()} if listed else {}
            came = [await client.call_tool_mcp(*((call, {}) if isinstance(call, str) else call)) for call in calls]
            return (came, tools) if listed else came

    return anyio.run(run)


def guarded_server(guard=None, **options):
    server = FastMCP("server", **options)
    server.add_middleware(ToolFaultMiddleware(guard))
    return server


# Mounted


@pytest.mark.parametrize("era", ERAS)
def test_a_parent_answers_for_mounted_servers(era):
    child = FastMCP("child")
    fastmcp_faults.add_tools(child)
    middle = FastMCP("middle")
    middle.mount(child, namespace="b")
    parent = guarded_server()
    parent.mount(middle, namespace="a")

    calls = [
        (("a_b_anticipated", YS), "invalid_arguments", "No such city: Ys"),
        (("a_b_argument", {"days": 99}), "invalid_arguments", "`city`"),
        (("a_b_validator", {"order": {"days": 12}}), "tool_panicked", "twelve"),
        ("a_b_expected", "quota_exceeded", "busy"),
        ("a_b_wrong_output", "internal", "degrees"),
        ("a_b_exits", "tool_panicked", "exit code"),
        ("a_b_slow_for_the_host", "tool_timeout", "50ms"),
        ("a_b_nested_through", "tool_panicked", "ZeroDivisionError"),
        ("a_b_no_such_tool", "tool_not_found", "a_b_no_such_tool"),
    ]
    came = ask(parent, *(call for call, *_ in calls), "a_b_nested", era=era)
    for result, (_, code, part) in zip(came, calls):
        assert_fault(result, code=code, message=part)
        assert "Error calling tool" not in result.model_dump_json()
    assert came[-1].content[0].text == "raised: ValueError"


@pytest.mark.parametrize("era", ERAS)
def test_an_answer_of_a_mounted_server_is_kept(era):
    child = fastmcp_faults.make(Guard(expect={ValueError: "quota_exceeded"}))
    parent = guarded_server()
    parent.mount(child, namespace="c")

    @parent.tool
    async def calls_a_child() -> str:
        try:
            await child.call_tool("anticipated", YS)
        except Exception as exc:
            return f"raised: {exc}"
        return "returned"

    came = ask(parent, ("c_anticipated", YS), ("c_argument", {}), "c_nested", "calls_a_child", era=era)
    assert assert_fault(came[0], code="quota_exceeded").envelope.message == "No such city: Ys"
    assert len(came[0].content) == 2
    assert_fault(came[1], code="invalid_arguments", message="'argument'")
    # Mounting is no nested call; a call out of a tool is one.
    assert came[2].content[0].text == "raised: ValueError"
    assert "raised: Error calling tool 'anticipated'" in came[3].content[0].text


def test_a_child_alone_answers_for_its_own_tools():
    parent = FastMCP("parent")
    parent.mount(fastmcp_faults.make(), namespace="c")

    assert_fault(ask(parent, ("c_anticipated", YS))[0], code="invalid_arguments")


def test_schemas_are_widened_once():
    inner = fastmcp_faults.make()
    middle = guarded_server()
    middle.mount(inner)
    outer = guarded_server()
    outer.mount(middle)
    gate = create_proxy(fastmcp_faults.make(), name="gate")
    gate.add_middleware(ToolFaultMiddleware())

    alone, mounted, proxied = (
        {name: tool.output_schema for name, tool in ask(server, listed=True)[1].items()}
        for server in (fastmcp_faults.make(), outer, gate)
    )
    assert alone == mounted == proxied
    assert alone["typed_ok"]["anyOf"][1] == {"required": ["code", "message", "category", "retryable"]}
    assert "anyOf" not in alone["typed_ok"]["anyOf"][0]


# Proxied


@pytest.mark.parametrize("era", ERAS)
def test_a_proxy_answers_for_an_upstream_that_does_not(era):
    gate = create_proxy(fastmcp_faults.make(middleware=[]), name="gate")
    gate.add_middleware(ToolFaultMiddleware())

    came = ask(gate, ("anticipated", YS), "own_result", "anticipatd", "own_envelope", "own_tool_result", era=era)
    assert_fault(came[0], code="invalid_arguments", message="No such city: Ys")
    assert_fault(came[1], code="quota_exceeded")
    assert "anticipated" in assert_fault(came[2], code="tool_not_found").envelope.hint
    assert came[3].structured_content["code"] == "future_code"
    assert came[4].structured_content == {"left": 0}
    assert_fault(came[4], code="quota_exceeded")
    for result in came:
        assert result.content[0].text == parse(result).envelope.message


@pytest.mark.parametrize("era", ERAS)
def test_an_upstream_s_envelope_is_kept(era):
    upstream = fastmcp_faults.make()
    gate = create_proxy(upstream, name="gate")
    gate.add_middleware(ToolFaultMiddleware())
    calls = [("anticipated", YS), ("typed_fault", YS), "either", "chained", ("argument", {}), "crash"]

    for through, straight in zip(ask(gate, *calls, era=era), ask(upstream, *calls, era=era)):
        assert through.structured_content == straight.structured_content
        assert through.content == straight.content
        assert through.meta[KEY].keys() == straight.meta[KEY].keys()


@pytest.mark.parametrize("era", ERAS)
def test_an_envelope_of_an_upstream_with_another_kind_of_schema_is_not_wrapped(era):
    """
    For legacy clients FastMCP puts what such a tool returns under ``result``.
    """

    class Upstream(Middleware):
        async def on_call_tool(self, context, call_next):
            from fastmcp.tools.base import RawStructuredToolResult
            from mcp.types import TextContent

            envelope = {"code": "internal", "message": "from afar", "category": "permanent", "retryable": False}
            return RawStructuredToolResult([TextContent(type="text", text="from afar")], envelope, is_error=True)

    server = guarded_server()
    server.add_middleware(Upstream())

    assert ask(server, "anything", era=era)[0].structured_content["code"] == "internal"


@pytest.mark.parametrize("mounted", [False, True])
def test_an_upstream_that_is_not_there_is_unreachable(mounted):
    server = create_proxy(NOWHERE, name="gate")
    if mounted:
        server, gate = FastMCP("outer"), server
        server.mount(gate, namespace="g")
    server.add_middleware(ToolFaultMiddleware())

    fault = assert_fault(ask(server, "g_anything")[0], code="mcp_server_unreachable", retryable=True)
    assert (fault.outcome, fault.facts["origin"]) == ("not_executed", "transport")


def test_an_upstream_that_went_away_is_unreachable():
    here = [True]
    upstream = fastmcp_faults.make(middleware=[])

    def client():
        from fastmcp.server.providers.proxy import ProxyClient

        return ProxyClient(upstream if here[0] else NOWHERE)

    from fastmcp.server.providers.proxy import FastMCPProxy

    gate = FastMCPProxy(client_factory=client, name="gate")
    gate.add_middleware(ToolFaultMiddleware())

    async def run():
        async with Client(gate) as session:
            assert not (await session.call_tool_mcp("ok", {})).is_error
            here[0] = False
            return await session.call_tool_mcp("ok", {})

    assert assert_fault(anyio.run(run), code="mcp_server_unreachable").outcome == "not_executed"


# Nested


def test_a_tool_that_asks_another_server_in_memory_gets_its_answer():
    """
    A request over a transport is no nested call, though it carries the context of the tool that sends it.
    """
    other = fastmcp_faults.make()
    server = guarded_server()

    @server.tool
    async def asks() -> str:
        async with Client(other) as client:
            fault = parse(await client.call_tool_mcp("anticipated", YS))
        return f"{fault.code}"

    assert ask(server, "asks")[0].content[0].text == "invalid_arguments"


def test_a_call_without_a_request_is_answered():
    async def run():
        result = await fastmcp_faults.make().call_tool("anticipated", YS)
        assert result.is_error
        assert result.structured_content["code"] == "invalid_arguments"

    anyio.run(run)


# Masking


def test_masking_withholds_crashes_and_nothing_else():
    came = ask(
        fastmcp_faults.make(mask_error_details=True),
        "crash", "host_error", ("argument", {}), "chained", ("anticipated", YS), "base_exception",
    )  # fmt: skip

    assert "integer division" not in came[0].model_dump_json()
    assert came[0].structured_content["code"] == "tool_panicked"
    assert came[0].meta[KEY]["id"] in came[0].content[0].text
    assert came[1].content[0].text == "The ledger is locked by an import"
    assert "`days` is missing" in came[2].content[0].text
    assert "cause_chain" not in came[3].structured_content
    assert came[4].content[0].text == "No such city: Ys"
    assert "not even" not in came[5].content[0].text


def test_a_child_s_masking_holds_too():
    child = FastMCP("child", mask_error_details=True)
    fastmcp_faults.add_tools(child)
    parent = guarded_server()
    parent.mount(child, namespace="c")

    assert "integer division" not in ask(parent, "c_crash")[0].model_dump_json()


def test_what_wins_over_masking():
    def crashes(guard=None, decorate=lambda fn: fn, **options):
        server = FastMCP("server", mask_error_details=True)
        server.add_middleware(ToolFaultMiddleware(guard, **options))

        async def crash() -> int:
            return 1 // 0

        server.tool(decorate(crash))
        return "integer division" in ask(server, "crash")[0].content[0].text

    assert not crashes()
    assert not crashes(Guard(disclosure=Disclosure.REDACTED))
    assert crashes(Guard(disclosure=Disclosure.FULL))
    assert crashes(mask_error_details=False)
    assert crashes(decorate=guarded(disclosure="redacted"))
    assert not crashes(Guard(disclosure="withheld"), mask_error_details=False)


# Order


@pytest.mark.parametrize(
    ("chain", "cure"),
    [
        ([ToolFaultMiddleware, ErrorHandlingMiddleware], "ErrorHandlingMiddleware stands inside it.*add it before"),
        ([RetryMiddleware, ToolFaultMiddleware], "RetryMiddleware stands outside it.*add it after"),
    ],
)
def test_a_wrong_order_is_warned_about_once(chain, cure):
    server = fastmcp_faults.make(middleware=[kind() for kind in chain])

    with pytest.warns(RuntimeWarning, match=cure) as caught:
        came = ask(server, ("anticipated", YS), ("argument", {}), "no_such_tool", "host_error")
    assert len(caught) == 1
    # And nobody loses the envelope over it.
    codes = [parse(result).code.value for result in came]
    assert codes == ["invalid_arguments", "invalid_arguments", "tool_not_found", "internal"]
    assert "Invalid params" not in came[0].model_dump_json()


def test_the_right_order_retries_inside_and_is_silent():
    attempts = []
    chain = [ErrorHandlingMiddleware(), ToolFaultMiddleware(), RetryMiddleware(max_retries=2, base_delay=0)]
    server = FastMCP("server", middleware=[*chain, ErrorHandlingMiddleware(transform_errors=False)])

    @server.tool
    async def flaky() -> str:
        attempts.append(1)
        raise ConnectionError("the warehouse hung up")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ask(server, "flaky")[0]
    assert len(attempts) == 3
    assert_fault(result, code="internal", retryable=True)


def test_middleware_that_comes_later_is_looked_at_too():
    server = fastmcp_faults.make()
    ask(server, "ok")
    server.add_middleware(ErrorHandlingMiddleware())

    with pytest.warns(RuntimeWarning, match="ErrorHandlingMiddleware"):
        ask(server, "ok")


def test_what_stands_before_a_tool_proves_that_it_did_not_run():
    limited = [ToolFaultMiddleware(), RateLimitingMiddleware(max_requests_per_second=0.001, burst_capacity=2)]
    closed = [ToolFaultMiddleware(), AuthMiddleware(auth=lambda context: False)]

    fault = assert_fault(ask(fastmcp_faults.make(middleware=limited), *["host_error"] * 3)[-1], code="quota_exceeded")
    assert (fault.outcome, fault.facts["origin"]) == ("not_executed", "adapter")
    assert str(fault).startswith("Rate limit exceeded")
    fault = assert_fault(ask(fastmcp_faults.make(middleware=closed), "ok")[0], code="permission_denied")
    assert (fault.outcome, fault.facts["origin"]) == ("not_executed", "adapter")
    assert str(fault).startswith("Authorization failed")


def test_hidden_names_are_no_hints():
    class Hides(Middleware):
        async def on_list_tools(self, context, call_next):
            return [tool for tool in await call_next(context) if tool.name != "anticipated"]

    server = fastmcp_faults.make(middleware=[Hides(), ToolFaultMiddleware()])

    hint = assert_fault(ask(server, "anticipatd")[0], code="tool_not_found").envelope.hint
    assert "'anticipated_sync'" in hint
    assert "'anticipated'" not in hint


# Schemas and output


@pytest.mark.parametrize("mode", ["widen", "meta", "keep"])
@pytest.mark.parametrize("era", ERAS)
def test_where_the_envelope_stands(mode, era):
    came, tools = ask(
        fastmcp_faults.make(Guard(output_schema=mode)), ("typed_fault", YS), "host_error", era=era, listed=True
    )

    schema = tools["typed_fault"].output_schema
    assert ("anyOf" in schema) == (mode == "widen")
    fault = assert_fault(came[0], code="quota_exceeded")
    assert fault.found_in == ("meta" if mode == "meta" else "structured_content")
    assert came[0].content[0].text == fault.envelope.message


def test_a_schema_without_room_sends_the_envelope_into_meta():
    server = guarded_server()

    @server.tool(output_schema={"type": "object", "properties": {"code": {"type": "integer"}, "next": {"$ref": "#"}}})
    async def linked():
        raise ToolFault("internal", "The chain is broken")

    for era in ERAS:
        came, tools = ask(server, "linked", era=era, listed=True)
        assert assert_fault(came[0], code="internal").found_in == "meta"
        assert came[0].structured_content is None
        assert "anyOf" not in tools["linked"].output_schema


def test_a_tool_that_is_replaced_is_held_against_its_new_schema():
    class One(BaseModel):
        a: int

    class Two(BaseModel):
        b: int

    server = FastMCP("server", on_duplicate="replace")
    server.add_middleware(ToolFaultMiddleware())

    async def one() -> One:
        return One(a=1)

    async def two() -> Two:
        return Two(b=2)

    async def three() -> Two:
        raise LookupError("There are only two")

    async def run():
        async with Client(server) as client:
            for function, expected in ((one, "a"), (two, "b")):
                server.tool(function, name="number")
                (tool,) = await client.list_tools()
                assert expected in tool.output_schema["properties"]
                result = await client.call_tool_mcp("number", {})
                assert not result.is_error
                assert expected in result.structured_content
            server.tool(three, name="number")
            assert_fault(await client.call_tool_mcp("number", {}), code="invalid_arguments")

    anyio.run(run)


def test_listing_computes_a_schema_once(monkeypatch):
    import toolfault.integrations.fastmcp._tool_cache as module

    computed = []
    widen = module.widen_schema
    monkeypatch.setattr(module, "widen_schema", lambda schema: computed.append(1) or widen(schema))
    parent = guarded_server()
    child = FastMCP("child")
    fastmcp_faults.add_tools(child)
    parent.mount(child)

    async def run():
        async with Client(parent) as client:
            await client.list_tools()
            first = len(computed)
            await client.list_tools()
            assert len(computed) == first > 10

    anyio.run(run)


def test_an_upstream_schema_fetches_nothing():
    server = guarded_server(dereference_schemas=False)

    @server.tool(output_schema={"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}})
    async def remote():
        return {"a": 1}

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, tools = ask(server, listed=True)
        assert not anyio.run(server.call_tool, "remote", {}).is_error
    assert tools["remote"].output_schema["properties"]["a"] == {"$ref": "http://127.0.0.1:9/schema.json"}


def test_a_question_to_the_client_passes():
    server = guarded_server()

    @server.tool
    async def asks() -> str:
        from mcp.types import ElicitRequest, ElicitRequestFormParams

        params = ElicitRequestFormParams(message="Which?", requested_schema={"type": "object", "properties": {}})
        return InputRequiredResult(input_requests={"q": ElicitRequest(params=params)})

    async def run():
        return await server.call_tool("asks", {})

    assert isinstance(anyio.run(run).input_required, InputRequiredResult)


# Tools that are made from others


def test_transformed_tools_are_the_author_s():
    server = fastmcp_faults.make()

    async def custom(city: str) -> str:
        raise ValueError(f"We do not serve {city}")

    async def forwards_badly(city: str) -> str:
        from fastmcp.tools.tool_transform import forward

        return await forward(nonsense=city)

    async def add():
        argument, anticipated = [await server.get_tool(name) for name in ("argument", "anticipated")]
        renamed = Tool.from_tool(argument, name="renamed", transform_args={"days": ArgTransform(name="n")})
        server.add_tool(renamed)
        server.add_tool(Tool.from_tool(anticipated, name="plain"))
        server.add_tool(Tool.from_tool(anticipated, name="custom", transform_fn=custom))
        server.add_tool(Tool.from_tool(anticipated, name="badly", transform_fn=forwards_badly))

    anyio.run(add)
    came = ask(
        server,
        ("renamed", {"n": 99, "city": "Ys"}), ("renamed", {"n": 9}), ("renamed", {"n": 9, "city": "Ys", "more": 1}),
        ("plain", YS), ("custom", YS), ("badly", YS),
    )  # fmt: skip
    for result, part in zip(came, ("`n` must be", "city", "more")):
        assert assert_fault(result, code="invalid_arguments", message=part).outcome == "not_executed"
    assert_fault(came[3], code="invalid_arguments", message="No such city: Ys")
    assert_fault(came[4], code="invalid_arguments", message="We do not serve Ys")
    assert parse(came[5]).code != "invalid_arguments"


def test_tools_of_an_openapi_document():
    answers = {
        "/a/1": httpx2.Response(429, headers={"retry-after": "7"}, json={"detail": "a body of theirs"}),
        "/a/2": httpx2.Response(404, json={"detail": "a body of theirs"}),
        "/a/3": httpx2.Response(200, json={"n": "seven"}),
        "/a/4": httpx2.Response(200, json={"n": 7}),
    }
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    operation = {
        "operationId": "a",
        "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
        "responses": {"200": {"description": "ok", "content": {"application/json": {"schema": schema}}}},
    }
    document = {"openapi": "3.1.0", "info": {"title": "a", "version": "1"}, "paths": {"/a/{id}": {"get": operation}}}
    transport = httpx2.MockTransport(lambda request: answers[request.url.path])
    server = FastMCP.from_openapi(
        document, client=httpx2.AsyncClient(transport=transport, base_url="http://api.example.com")
    )
    server.add_middleware(ToolFaultMiddleware())

    came = ask(server, *(("a", {"id": number}) for number in (1, 2, 3, 4)), "a")
    assert assert_fault(came[0], code="quota_exceeded").envelope.retry_after_seconds == 7
    assert_fault(came[1], code="invalid_arguments", message="404")
    assert_fault(came[2], code="internal", message="`n`")
    assert came[3].structured_content == {"n": 7}
    assert assert_fault(came[4], code="invalid_arguments", message="id").outcome == "not_executed"
    assert not any("theirs" in result.model_dump_json() for result in came)


def test_versions_of_a_tool():
    server = guarded_server()

    @server.tool(version="1", name="number", output_schema={"type": "object", "required": ["a"]})
    async def first():
        return {"a": 1}

    @server.tool(version="2", name="number", output_schema={"type": "object", "required": ["b"]})
    async def second():
        return {"a": 1}

    async def run():
        async with Client(server) as client:
            old = await client.call_tool("number", version="1", raise_on_error=False)
            new = await client.call_tool("number", raise_on_error=False)
            return old, new

    old, new = anyio.run(run)
    assert not old.is_error
    assert_fault(new, code="internal")


# Options


def test_the_guard_s_timeout_holds_for_tools_without_one():
    server = guarded_server(Guard(timeout=0.05))

    @server.tool
    async def hangs() -> str:
        await anyio.sleep(30)

    @server.tool
    @guarded(timeout=30)
    async def takes_its_time() -> str:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anyio.sleep(30)
        return "done"

    @server.tool
    def blocks() -> str:
        return "done"

    came = ask(server, "hangs", "takes_its_time")
    assert_fault(came[0], code="tool_timeout", message="50ms")
    assert came[1].content[0].text == "done"
    with pytest.warns(RuntimeWarning, match=r"'blocks' is a sync function.*@guarded\(timeout"):
        ask(server, "blocks")


def test_a_decorated_function_is_judged_by_the_server_s_guard():
    class Busy(Exception):
        pass

    server = guarded_server(Guard(expect={Busy: "quota_exceeded"}))

    @server.tool
    @guarded(guidance="none")
    async def busy() -> str:
        raise Busy("All lines are busy")

    (result,) = ask(server, "busy")
    assert_fault(result, code="quota_exceeded")
    assert len(result.content) == 1


def test_what_a_tool_declares_is_published_and_watched(caplog):
    server = guarded_server()

    @server.tool
    @guarded(fails_with=["quota_exceeded"])
    async def declared(city: str) -> str:
        raise LookupError(f"No such city: {city}")

    with caplog.at_level(logging.WARNING, "toolfault"):
        _, tools = ask(server, ("declared", YS), ("declared", YS), ("declared", {}), listed=True)
    assert tools["declared"].meta[KEY] == {"v": 1, "fails_with": ["quota_exceeded"]}
    assert [record.message for record in caplog.records if "declares" in record.message] == [
        "Tool 'declared' failed with invalid_arguments, and declares only quota_exceeded"
    ]


def test_one_middleware_serves_several_servers_and_keeps_none():
    one = ToolFaultMiddleware()
    for server in [fastmcp_faults.make(middleware=[one]) for _ in range(2)]:
        assert_fault(ask(server, ("anticipated", YS))[0], code="invalid_arguments")
    # FastMCP itself remembers functions, and with them what they refer to.
    server = FastMCP("without tools", middleware=[one])
    assert_fault(ask(server, "anything")[0], code="tool_not_found")
    gone = weakref.ref(server)
    del server
    gc.collect()

    assert gone() is None


def test_a_failure_of_the_report_ends_in_the_constant(monkeypatch):
    import toolfault.integrations.fastmcp._middleware as module

    async def broken(asked):
        raise RuntimeError("not even this")

    monkeypatch.setattr(module, "inspect_tool", broken)

    assert assert_fault(ask(fastmcp_faults.make(), "crash")[0], code="internal").envelope.message.startswith(
        "The tool failed"
    )


@pytest.mark.parametrize("wrong", ["a guard", 5, Guard, FastMCP("server")])
def test_a_wrong_argument_is_told(wrong):
    with pytest.raises(TypeError, match=r"ToolFaultMiddleware takes a toolfault\.Guard, not"):
        ToolFaultMiddleware(wrong)


def test_a_missing_package_is_named_with_its_cure():
    code = (
        "import sys; sys.modules['fastmcp'] = None\n"
        "try:\n    import toolfault.integrations.fastmcp\n"
        "except ImportError as exc:\n    print(exc)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout

    assert said.strip() == "toolfault.integrations.fastmcp needs FastMCP 4.2 or newer: pip install 'toolfault[fastmcp]'"
