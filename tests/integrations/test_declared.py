"""
What tools declare to fail with: published, held against what happens, and printed.
"""

import logging

import anyio
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

from toolfault import Guard, McpErrorCode, McpExecuteError, ToolFault
from toolfault.integrations.mcp import GuardedMCPServer, describe_codes, guarded, install
from toolfault.testing import assert_fault


KEY = "io.github.toolfault/error"
ERAS = ["auto", "legacy"]


def shop():
    server = install(MCPServer("shop", log_level="CRITICAL"))

    @server.tool(meta={"com.example/owner": "sales", KEY: {"later": True}})
    @guarded(fails_with=[McpErrorCode.QUOTA_EXCEEDED, "invalid_arguments", "quota_exceeded"], timeout=0.02)
    async def order(how: str, count: int = 1) -> dict[str, int]:
        if how == "crash":
            {}["k"]
        if how == "slow":
            await anyio.sleep(30)
        raise ToolFault(how, f"it is {how}")

    @server.tool()
    async def undeclared(how: str) -> str:
        raise ToolFault(how, f"it is {how}")

    return server


def listed(server, era="auto"):
    async def run():
        async with Client(server, mode=era) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    return anyio.run(run)


def called(server, *calls, era="auto"):
    async def run():
        async with Client(server, mode=era) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(run)


def complaints(caplog):
    return [record.args[:2] for record in caplog.records if "declares only" in record.getMessage()]


# ---- written


@pytest.mark.parametrize("wrong", ["quota", "Quota_exceeded", 3, None])
def test_a_typo_is_an_error_at_once(wrong):
    with pytest.raises(ValueError, match="quota_exceeded"):
        guarded(fails_with=["internal", wrong])


def test_a_single_text_is_no_list():
    with pytest.raises(ValueError, match=r"write \['internal'\]"):
        guarded(fails_with="internal")


def test_a_reader_s_word_is_not_declared():
    with pytest.raises(ValueError, match="no server sends it"):
        guarded(fails_with=[McpErrorCode.UNKNOWN])


# ---- published


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("output_schema", ["widen", "meta", "keep"])
def test_it_stands_in_the_tool_s_meta_beside_what_others_have_there(era, output_schema):
    server = GuardedMCPServer("shop", log_level="CRITICAL", guard=Guard(output_schema=output_schema))

    @server.tool(meta={"com.example/owner": "sales", KEY: {"later": True}})
    @guarded(fails_with=["quota_exceeded", "internal"])
    async def order() -> str:
        return ""

    @server.tool(meta={"com.example/owner": "sales"})
    @guarded
    async def plain() -> str:
        return ""

    tools = listed(server, era)
    assert tools["order"].meta == {
        "com.example/owner": "sales",
        KEY: {"later": True, "v": 1, "fails_with": ["quota_exceeded", "internal"]},
    }
    assert tools["plain"].meta == {"com.example/owner": "sales"}


def test_what_a_tool_s_own_meta_says_stands():
    server = install(MCPServer("shop", log_level="CRITICAL"))

    @server.tool(meta={KEY: {"v": 1, "fails_with": ["internal"]}})
    @guarded(fails_with=["quota_exceeded"])
    async def order() -> str:
        return ""

    assert listed(server)["order"].meta[KEY]["fails_with"] == ["internal"]


def test_without_a_guarded_server_nothing_is_published_and_the_failure_is_answered_all_the_same(caplog):
    server = MCPServer("shop", log_level="CRITICAL")

    @server.tool()
    @guarded(fails_with=["quota_exceeded"])
    async def order() -> str:
        raise ToolFault("internal", "it is broken")

    assert listed(server)["order"].meta is None
    first, second = called(server, ("order", {}), ("order", {}))
    assert_fault(first, code="internal", message="it is broken")
    assert_fault(second, code="internal", message="it is broken")
    assert complaints(caplog) == [("order", "internal")]


# ---- held against what happens


@pytest.mark.parametrize("era", ERAS)
def test_a_code_that_is_not_declared_is_logged_once_and_leaves_as_it_is(era, caplog):
    calls = [("order", {"how": how}) for how in ("internal", "quota_exceeded", "internal", "network_blocked")]

    results = called(shop(), *calls, ("undeclared", {"how": "internal"}), era=era)

    for (_, arguments), result in zip(calls, results):
        assert_fault(result, code=arguments["how"], message=f"it is {arguments['how']}")
    assert complaints(caplog) == [("order", "internal"), ("order", "network_blocked")]
    (record, *_) = [record for record in caplog.records if "declares only" in record.getMessage()]
    assert record.levelno == logging.WARNING
    assert record.getMessage().endswith("declares only quota_exceeded, invalid_arguments")


def test_what_the_adapter_finds_out_needs_no_declaration(caplog):
    server = install(MCPServer("shop", log_level="CRITICAL"))

    @server.tool()
    @guarded(fails_with=["internal"], timeout=0.02)
    async def order(count: int) -> str:
        if count:
            await anyio.sleep(30)
        return {}["k"]

    slow, crash, refused, unknown = called(
        server, ("order", {"count": 1}), ("order", {"count": 0}), ("order", {"count": "x"}), ("ordre", {})
    )

    assert_fault(slow, code="tool_timeout")
    assert_fault(crash, code="tool_panicked")
    assert_fault(refused, code="invalid_arguments")
    assert_fault(unknown, code="tool_not_found")
    assert complaints(caplog) == []


def test_arguments_that_the_body_refuses_do(caplog):
    server = install(MCPServer("shop", log_level="CRITICAL"))

    @server.tool()
    @guarded(fails_with=["internal"])
    async def order() -> str:
        raise ValueError("no such article")

    assert_fault(called(server, ("order", {}))[0], code="invalid_arguments")
    assert complaints(caplog) == [("order", "invalid_arguments")]


@pytest.mark.parametrize("guidance", ["block", "none"])
def test_error_results_that_a_tool_returns_are_looked_at_too(guidance, caplog):
    server = install(MCPServer("shop", log_level="CRITICAL"), Guard(guidance=guidance))
    envelope = McpExecuteError.new("permission_denied", "Not for you").to_wire()

    @server.tool()
    @guarded(fails_with=["quota_exceeded"])
    async def order(with_envelope: bool) -> CallToolResult:
        words = "Not for you" if with_envelope else "Rate limit reached"
        return CallToolResult(
            content=[TextContent(type="text", text=words)],
            structured_content=envelope if with_envelope else None,
            is_error=True,
        )

    own, prose = called(server, ("order", {"with_envelope": True}), ("order", {"with_envelope": False}))

    assert own.structured_content == envelope
    assert_fault(prose, code="quota_exceeded")
    assert complaints(caplog) == [("order", "permission_denied")]


def test_a_guarded_server_asks_once(caplog):
    called(shop(), *[("order", {"how": "internal"})] * 3)

    assert complaints(caplog) == [("order", "internal")]


# ---- low level


def lowlevel(call, *tools):
    async def list_tools(ctx, params):
        # One tool a page.
        number = int(params.cursor or 0)
        return ListToolsResult(tools=[tools[number]], next_cursor=str(number + 1) if number + 1 < len(tools) else None)

    return install(Server("shop", on_list_tools=list_tools, on_call_tool=call))


def two_tools():
    own = {"com.example/owner": "sales", KEY: {"v": 1, "fails_with": ["quota_exceeded"]}}
    return (
        Tool(name="order", input_schema={"type": "object"}, _meta=own),
        Tool(name="list", input_schema={"type": "object"}, _meta={"com.example/owner": "sales"}),
    )


@guarded(fails_with=["internal"])
async def fails(ctx, params):
    raise ToolFault(params.arguments["how"], "it failed")


@pytest.mark.parametrize("era", ERAS)
def test_on_a_low_level_server_the_handler_declares_for_every_tool_without_a_word_of_its_own(era, caplog):
    server = lowlevel(fails, *two_tools())

    async def run():
        async with Client(server, mode=era) as client:
            first = await client.list_tools()
            second = await client.list_tools(cursor=first.next_cursor)
            for name in ("order", "list", "other"):
                for how in ("quota_exceeded", "internal"):
                    await client.call_tool(name, {"how": how})
            return {tool.name: tool.meta for tool in [*first.tools, *second.tools]}

    metas = anyio.run(run)
    assert metas == {
        "order": {"com.example/owner": "sales", KEY: {"v": 1, "fails_with": ["quota_exceeded"]}},
        "list": {"com.example/owner": "sales", KEY: {"v": 1, "fails_with": ["internal"]}},
    }
    assert complaints(caplog) == [("order", "internal"), ("list", "quota_exceeded")]


def test_the_function_that_a_failure_came_through_declares_for_its_tool(caplog):
    @guarded(fails_with=["internal"])
    async def order():
        raise ToolFault("quota_exceeded", "used up")

    async def call(ctx, params):
        await order()

    called(lowlevel(call, two_tools()[1]), ("list", {}))

    assert complaints(caplog) == [("list", "quota_exceeded")]


# ---- printed

TABLE = """\
| tool | code | meaning | category | retryable |
| --- | --- | --- | --- | --- |
| `order` | `quota_exceeded` | a limit is reached; waiting or paying helps | transient | yes |
| `order` | `invalid_arguments` | the caller can mend it by calling differently | validation | no |
"""


def test_the_table_of_a_server():
    assert anyio.run(describe_codes, shop()) == TABLE


def test_the_table_of_a_low_level_server_has_all_pages():
    rows = anyio.run(describe_codes, lowlevel(fails, *two_tools())).splitlines()[2:]

    assert [row.split(" | ")[:2] for row in rows] == [["| `order`", "`quota_exceeded`"], ["| `list`", "`internal`"]]


def test_the_table_of_a_list_of_tools():
    tools = [
        *listed(shop()).values(),
        {"name": "a|b", "_meta": {KEY: {"fails_with": ["internal", "a word of tomorrow"]}}},
        {"name": "odd", "_meta": {KEY: "nothing that we know"}},
        {"name": "none"},
    ]

    assert anyio.run(describe_codes, tools) == TABLE + (
        "| `a&#124;b` | `internal` | the server, or something behind it, failed | permanent | no |\n"
    )


def test_no_declarations_are_said_to_be_none():
    assert (
        anyio.run(describe_codes, MCPServer("none", log_level="CRITICAL")) == "No tool declares what it fails with.\n"
    )


def test_what_has_no_tools_has_no_table():
    class Other:
        def list_tools(self):
            return []

    with pytest.raises(TypeError, match="not .*Other"):
        anyio.run(describe_codes, Other())


def test_each_code_has_a_meaning_that_fits_into_a_description():
    from toolfault.hosting import MEANINGS

    assert set(MEANINGS) == set(McpErrorCode)
    assert all(0 < len(meaning) < 80 and meaning[0].islower() for meaning in MEANINGS.values())


# ---- listed again and again


def test_a_listing_follows_the_tools():
    server = shop()

    before = listed(server)
    server.remove_tool("order")

    @server.tool()
    async def order() -> list[str]:
        return []

    after = listed(server)

    assert listed(server) == after
    assert before["order"].output_schema != after["order"].output_schema
    assert after["order"].meta is None
    assert after["order"].output_schema["properties"]["code"] == {}


def test_tools_that_a_subclass_keeps_stay_as_they_are():
    kept = [Tool(name="order", input_schema={"type": "object"}, output_schema={"type": "object", "required": ["a"]})]

    class Keeps(MCPServer):
        async def list_tools(self):
            return kept

    server = install(Keeps("keeps", log_level="CRITICAL"))

    assert "anyOf" in listed(server)["order"].output_schema
    assert kept[0].output_schema == {"type": "object", "required": ["a"]}
