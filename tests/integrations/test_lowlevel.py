"""
A low-level `Server` behind a guard, through real clients: every failure, over every transport, in both eras.
"""

import gc
import json
import logging
import weakref
from functools import partial

import anyio
import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool
from pydantic import BaseModel

import failures
from failures import ERAS, FAILURES, NEVER_TOLD, WAYS
from toolfault import Guard, McpErrorCode, ToolFault, parse
from toolfault.integrations.mcp import guarded, install
from toolfault.testing import assert_fault


in_session = partial(failures.in_session, "lowlevel_server")

NO_FORM = "Data that the tool received or made does not have the form"

#: Rows of the common table that come out differently here: what comes instead, or None, and why.
DIFFERENCES = {
    ("validator", "nobody orders for 13 days"): (
        ("internal", False, "unknown", NO_FORM),
        "a JSON Schema has no validators; the handler's own model refuses, and that is the server's problem",
    ),
    ("validator", "twelve"): (
        ("internal", False, "unknown", NO_FORM),
        "as above: pydantic wraps what a validator raised by accident",
    ),
    ("resolved", "no region is configured"): (None, "a low-level server has no resolved parameters"),
    ("wrong_output", "degrees"): (
        None,
        "neither the SDK nor the guard checks the results of a low-level handler; the client's own check refuses it",
    ),
}


def here(row):
    instead = DIFFERENCES.get((row[0], row[5]), (row[2:], ""))[0]
    return None if instead is None else (*row[:2], *instead)


ROWS = [row for row in map(here, FAILURES) if row is not None]


@pytest.fixture(scope="module", params=[(way, era) for way in WAYS for era in ERAS], ids="-".join)
def session(request):
    """
    Everything that one client sees in one session with one server.
    """
    return failures.try_all("lowlevel_server", *request.param, ROWS)


@pytest.mark.parametrize("number", range(len(ROWS)), ids=failures.ids(ROWS))
def test_every_failure_leaves_as_an_envelope(session, number):
    failures.is_answered(ROWS[number], session[1][number])


@pytest.mark.parametrize("number", range(len(ROWS)), ids=failures.ids(ROWS))
def test_nothing_leaves_that_must_not(session, number):
    failures.leaks_nothing(session[1][number])


@pytest.mark.parametrize("number", range(len(ROWS)), ids=failures.ids(ROWS))
def test_a_strict_client_accepts_each(session, number):
    tools, came = session
    failures.fits(ROWS[number], tools, came[number])


def test_each_difference_is_of_the_table():
    assert set(DIFFERENCES) <= {(row[0], row[5]) for row in FAILURES}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_failure_passes(way, era):
    async def steps(client):
        odd = await client.call_tool("surrogate_in_result", {})
        assert not odd.is_error
        assert "a file called" in odd.content[0].text
        for name, code in [("protocol", -32001), ("protocol_surrogate", 1001), ("elicits_by_url", -32042)]:
            with pytest.raises(MCPError) as protocol:
                await client.call_tool(name, {})
            assert protocol.value.code == code
        with pytest.raises(MCPError) as returned:
            await client.call_tool("error_data", {})
        assert (returned.value.code, returned.value.message) == (1007, "as the protocol has it")
        assert (await client.call_tool("ok", {})).content[0].text == "fine"

    in_session(way, era, steps)


@pytest.mark.parametrize(("way", "era"), [(way, era) for way in WAYS for era in ERAS if (way, era) not in NEVER_TOLD])
def test_a_real_cancellation_is_not_answered(way, era):
    in_session(way, era, failures.a_cancellation_passes)


@pytest.mark.parametrize("era", ERAS)
def test_a_thousand_failures_at_once(era):
    in_session("stdio", era, failures.a_thousand_at_once)


# ---- what handlers return

#: name, a part of the message
NO_RESULTS = [
    ("none", "None"),
    ("text", "a value of type str"),
    ("blocks", "a value of type list"),
    ("empty_dict", "`content` is missing"),
    ("dict_misspelt", "`content` is missing"),
    ("other_model", "a value of type Forecast"),
    ("other_result", "a value of type ListToolsResult"),
    ("no_json", "no JSON"),
    ("no_json_meta", "no JSON"),
]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", ["memory", "stdio", "http-json"])
def test_what_is_no_result_is_answered_and_named(way, era):
    async def steps(client):
        for name, part in NO_RESULTS:
            result = await client.call_tool(name, {})
            fault = assert_fault(result, code="internal", retryable=False, message=part)
            assert fault.outcome == "executed", name
            assert fault.envelope.message.startswith("The tool returned ")
        lists = await client.call_tool("list_structure", {})
        if era == "legacy":
            # Before 2026-07-28 structured content is an object.
            assert_fault(lists, code="internal", message="takes objects only")
        else:
            assert lists.structured_content == [1, 2]
        surrogate = await client.call_tool("surrogate_structure", {})
        assert not surrogate.is_error
        assert surrogate.structured_content["name"].endswith(".txt")
        # A dict is a result in either spelling; unguarded, the Python one would look like a success before 2026-07-28.
        assert (await client.call_tool("dict", {})).content[0].text == "x"
        for name in ("dict_error", "dict_error_in_python"):
            assert_fault(await client.call_tool(name, {}), code="quota_exceeded", message="Rate limit reached")

    in_session(way, era, steps)


def test_what_asks_for_input_and_what_an_extension_makes_pass():
    from lowlevel_server import RETURNED, make

    names = ["asks", "claimed"]

    assert handled(make(), *[(name, {}) for name in names]) == [RETURNED[name] for name in names]


# ---- a server made for the occasion


def context():
    from mcp.server.context import ServerRequestContext

    return ServerRequestContext(
        session=None, lifespan_context={}, protocol_version="2026-07-28", method="tools/call", params={}
    )


def tool(name, **schema):
    return Tool(name=name, input_schema={"type": "object", **schema})


def server_of(tools, call, guard=None, **options):
    """
    Make a guarded server that lists what *tools* is now.
    """

    async def list_tools(ctx, params):
        if isinstance(tools, BaseException):
            raise tools
        return ListToolsResult(tools=list(tools))

    return install(Server("one", on_list_tools=list_tools, on_call_tool=call, **options), guard)


def text(words):
    return CallToolResult(content=[TextContent(type="text", text=words)])


async def answers(ctx, params):
    return text(f"called with {json.dumps(params.arguments)}")


def handled(server, *calls):
    """
    Call the handler itself: a client lists the tools of its own accord, which is not always wanted.
    """

    async def run():
        handler = server.get_request_handler("tools/call").handler
        return [await handler(context(), CallToolRequestParams(name=name, arguments=given)) for name, given in calls]

    return anyio.run(run)


def called(server, *calls, era="auto"):
    async def run():
        async with Client(server, mode=era) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(run)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "raised",
    [RuntimeError("login failed: password=hunter2-and-more"), ToolError("The ledger is locked"), KeyError("k")],
    ids=repr,
)
def test_no_code_by_accident(raised, era):
    async def call(ctx, params):
        raise raised

    (result,) = called(server_of([tool("t")], call), ("t", {}), era=era)

    assert_fault(result, code="tool_panicked" if isinstance(raised, KeyError) else "internal")
    assert "hunter2" not in str(result)


@pytest.mark.parametrize("era", ERAS)
def test_a_handler_s_own_validation_error_does_not_blame_the_caller(era):
    class Row(BaseModel):
        number: int

    async def call(ctx, params):
        Row.model_validate({"number": "s3cr3t"})

    (result,) = called(server_of([tool("t")], call), ("t", {}), era=era)

    assert_fault(result, code="internal", message="does not have the form")
    assert "s3cr3t" not in str(result)


SCHEMA = {
    "properties": {
        "days": {"type": "integer", "maximum": 14},
        "unit": {"enum": ["celsius", "kelvin"]},
        "place": {"$ref": "#/$defs/place"},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "when": {"oneOf": [{"type": "string"}, {"type": "object", "required": ["from", "to"]}]},
    },
    "required": ["days", "place"],
    "additionalProperties": False,
    "$defs": {"place": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city", "country"]}},
    "x-mcp-header": "untouched",
}


@pytest.mark.parametrize("era", ERAS)
def test_everything_that_is_wrong_with_arguments_is_said_at_once(era):
    arguments = {
        "days": 99,
        "unit": "celsus",
        "place": {"city": 3},
        "limit": "many",
        "when": {"from": 1},
        "extra": "x1",
    }

    (result,) = called(server_of([tool("t", **SCHEMA)], answers), ("t", arguments), era=era)

    fault = assert_fault(result, code="invalid_arguments", message="6 arguments of 't' were refused")
    assert fault.outcome == "not_executed"
    assert fault.facts["origin"] == "adapter"
    assert {(item["field"], item["message"]) for item in fault.facts["violations"]} == {
        ("days", "must be less than or equal to 14"),
        ("unit", "must be one of 'celsius', 'kelvin'"),
        ("place.city", "must be of type string"),
        ("place.country", "is missing"),
        ("limit", "must be of type integer or null"),
        ("when.to", "is missing"),
        ("extra", "is not known"),
    }
    assert fault.envelope.hint == "Did you mean 'celsius' for `unit`?"
    # The correlation id is random.
    said = result.model_dump_json().replace(fault.facts["id"], "")
    for given in ("99", "celsus", "many", "x1"):
        assert given not in said


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://nowhere.example/schema.json"},
        {"properties": {"a": {"$ref": "#/$defs/lost"}}},
        {"properties": 3},
        {"type": "nosuch"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"type": "string"}}},
        {},
    ],
    ids=str,
)
def test_a_schema_that_can_t_be_used_checks_nothing_and_is_logged_once(schema, caplog):
    calls = [("t", {"a": "b"})] * 2

    results = handled(server_of([Tool(name="t", input_schema={"type": "object", **schema})], answers), *calls)

    assert [result.is_error for result in results] == [False, False]
    broken = "$schema" not in schema and schema
    assert len([record for record in caplog.records if "not valid" in record.getMessage()]) == (1 if broken else 0)


def test_a_schema_of_an_older_draft_is_read_as_such():
    schema = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {"a": {"maximum": 3, "exclusiveMaximum": True}},
    }

    results = called(server_of([tool("t", **schema)], answers), ("t", {"a": 2}), ("t", {"a": 3}))

    assert [result.is_error for result in results] == [False, True]


# ---- listings


def test_an_unknown_name_gets_near_ones():
    (result,) = called(server_of([tool("forecast"), tool("history")], answers), ("forcast", {}))

    fault = assert_fault(result, code="tool_not_found", message="Unknown tool: forcast")
    assert "'forecast'" in fault.envelope.hint
    assert "history" not in fault.envelope.hint


def test_calls_that_fit_list_nothing_anew():
    listings = []

    async def list_tools(ctx, params):
        listings.append(ctx.method)
        assert isinstance(params, PaginatedRequestParams)
        return ListToolsResult(tools=[tool("t", required=["a"])])

    server = install(Server("one", on_list_tools=list_tools, on_call_tool=answers))

    async def run():
        handler = server.get_request_handler("tools/call").handler
        for _ in range(3):
            assert not (await handler(context(), CallToolRequestParams(name="t", arguments={"a": 1}))).is_error
        assert listings == ["tools/list"]
        for number in range(3):
            assert (await handler(context(), CallToolRequestParams(name="t", arguments={}))).is_error
            assert listings == ["tools/list"] * (number + 2)

    anyio.run(run)


def test_tools_may_change_at_run_time():
    tools = [tool("first", required=["a"])]

    async def call(ctx, params):
        if params.name not in {listed.name for listed in tools}:
            raise ValueError(f"no tool {params.name}")
        return await answers(ctx, params)

    server = server_of(tools, call)

    async def run():
        async with Client(server) as client:
            assert not (await client.call_tool("first", {"a": 1})).is_error
            # Another schema, another tool, and the first one in its place with the same schema object.
            tools[:] = [tool("first", required=["b"]), tool("second")]
            assert not (await client.call_tool("first", {"b": 1})).is_error
            assert_fault(await client.call_tool("first", {"a": 1}), code="invalid_arguments", message="`b` is missing")
            assert not (await client.call_tool("second", {})).is_error
            tools[0].input_schema["required"][0] = "c"
            assert_fault(await client.call_tool("first", {}), message="`c` is missing")
            # Gone, and the last listing still has it: the handler's own words name it.
            del tools[1]
            fault = assert_fault(await client.call_tool("second", {}), code="tool_not_found")
            assert fault.envelope.message == "Unknown tool: second"
            tools.clear()
            await client.list_tools(cache_mode="bypass")
            assert_fault(await client.call_tool("first", {"c": 1}), code="tool_not_found")

    anyio.run(run)


def test_a_failure_that_only_names_its_tool_stays_what_it_is():
    async def call(ctx, params):
        raise ValueError("search: no such index")

    (result,) = called(server_of([tool("search")], call), ("search", {}))

    assert_fault(result, code="invalid_arguments", message="search: no such index")


@pytest.mark.parametrize("raised", [RuntimeError("the catalogue is down"), SystemExit(3)], ids=repr)
def test_a_listing_that_fails_checks_nothing(raised, caplog):
    results = handled(server_of(raised, answers), ("any", {"a": 1}), ("thing", {}))

    assert [result.is_error for result in results] == [False, False]
    assert len([record for record in caplog.records if "can't be listed" in record.getMessage()]) == 1


@pytest.mark.parametrize(
    "listing",
    [None, {"tools": 3}, ListToolsResult(tools=[tool("t")], next_cursor="for ever")],
    ids=["none", "dict", "endless"],
)
def test_a_listing_that_is_none_checks_nothing(listing):
    async def list_tools(ctx, params):
        return listing

    server = install(Server("one", on_list_tools=list_tools, on_call_tool=answers))

    assert not handled(server, ("u", {}))[0].is_error


def test_a_server_without_a_listing_is_not_checked():
    server = install(Server("one", on_call_tool=answers))

    assert not handled(server, ("u", {}))[0].is_error


def test_each_caller_is_refused_by_its_own_listing():
    async def list_tools(ctx, params):
        return ListToolsResult(tools=[tool(ctx.lifespan_context["user"])])

    server = install(Server("one", on_list_tools=list_tools, on_call_tool=answers))

    async def run():
        from dataclasses import replace

        handler = server.get_request_handler("tools/call").handler
        for user, name, failed in [
            ("ann", "ann", False),
            ("bob", "bob", False),
            ("ann", "ann", False),
            ("bob", "eve", True),
        ]:
            result = await handler(
                replace(context(), lifespan_context={"user": user}), CallToolRequestParams(name=name)
            )
            assert result.is_error is failed
        assert "bob" not in str(result.structured_content)

    anyio.run(run)


@pytest.mark.parametrize("era", ERAS)
def test_a_dict_is_a_listing_too(era):
    async def list_tools(ctx, params):
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        return {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema}]}

    async def call(ctx, params):
        raise ToolFault("internal", "the table is locked")

    server = install(Server("one", on_list_tools=list_tools, on_call_tool=call))

    async def run():
        async with Client(server, mode=era) as client:
            (listed,) = (await client.list_tools()).tools
            result = await client.call_tool("t", {})
            failures.fits(("t",), {"t": listed}, result)
            assert result.structured_content["code"] == "internal"

    anyio.run(run)


# ---- outputSchema


@pytest.mark.parametrize("mode", ["widen", "meta", "keep"])
def test_where_the_envelope_stands(mode):
    own = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    # A number as code, and a reference to its own root: no schema takes both.
    full = {"type": "object", "properties": {"code": {"type": "integer"}, "next": {"$ref": "#"}}, "required": ["code"]}
    tools = [
        Tool(name="own", input_schema={"type": "object"}, output_schema=own),
        Tool(name="full", input_schema={"type": "object"}, output_schema=full),
        tool("none"),
    ]

    async def call(ctx, params):
        raise ToolFault("internal", "the table is locked")

    async def run():
        async with Client(server_of(tools, call, Guard(output_schema=mode))) as client:
            listed = {listed.name: listed for listed in (await client.list_tools()).tools}
            came = {name: await client.call_tool(name, {}) for name in listed}
        for name, result in came.items():
            assert_fault(result, code="internal", message="the table is locked")
            if mode != "keep":
                failures.fits((name,), listed, result)
        assert listed["full"].output_schema == full
        assert (listed["own"].output_schema == own) is (mode != "widen")
        placed = {name for name, result in came.items() if result.structured_content is not None}
        assert placed == {"widen": {"own", "none"}, "meta": {"none"}, "keep": {"own", "full", "none"}}[mode]

    anyio.run(run)


# ---- handlers and options


def test_handlers_that_come_later_are_guarded_too():
    server = install(Server("one"))

    async def fails(ctx, params):
        raise ValueError("no such city")

    async def list_tools(ctx, params):
        return ListToolsResult(tools=[tool("t")])

    server.add_request_handler("tools/list", PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, fails)
    known, unknown = called(server, ("t", {}), ("u", {}))
    assert_fault(known, code="invalid_arguments", message="no such city")
    assert_fault(unknown, code="tool_not_found")


def test_a_handler_that_wraps_the_guarded_one_is_answered_once():
    async def fails(ctx, params):
        raise ValueError("no such city")

    seen = []
    server = server_of([tool("t")], fails)
    inner = server.get_request_handler("tools/call").handler

    async def outer(ctx, params):
        try:
            return await inner(ctx, params)
        except ValueError as exc:
            seen.append(exc)
            raise

    server.add_request_handler("tools/call", CallToolRequestParams, outer)
    (result,) = called(server, ("t", {}))
    assert_fault(result, code="invalid_arguments", message="no such city")
    assert len(seen) == 1


def test_a_server_is_guarded_once():
    with pytest.raises(ValueError, match="guarded already"):
        install(install(Server("one")))


@pytest.mark.parametrize("era", ERAS)
def test_a_guarded_handler_alone_knows_which_tool_it_serves(era, caplog):
    caplog.set_level(logging.INFO)

    @guarded(timeout=0.01)
    async def call(ctx, params):
        if params.arguments["how"] == "slow":
            await anyio.sleep(30)
        if params.arguments["how"] == "file":
            raise FileNotFoundError(2, "No such file or directory", params.arguments["path"])
        return text("done")

    async def list_tools(ctx, params):
        return ListToolsResult(tools=[tool("reads")])

    server = Server("one", on_list_tools=list_tools, on_call_tool=call)
    slow, file, fine = called(
        server,
        ("reads", {"how": "slow"}),
        ("reads", {"how": "file", "path": "notes/a.txt"}),
        ("reads", {"how": "fine"}),
        era=era,
    )

    assert_fault(slow, code="tool_timeout", message="Tool timed out after 10ms")
    # The path is the caller's: it stands in the arguments.
    assert_fault(file, code="invalid_arguments", message="a.txt")
    assert not fine.is_error
    assert {record.args[0] for record in caplog.records if record.name == "toolfault"} == {"reads"}


def test_options_of_a_guarded_handler_hold_for_the_server():
    @guarded(expect={LookupError: "permission_denied"}, timeout=0.01)
    async def call(ctx, params):
        if params.name == "slow":
            await anyio.sleep(30)
        raise LookupError("not for you")

    refused, slow = called(server_of([tool("t"), tool("slow")], call, Guard(timeout=20)), ("t", {}), ("slow", {}))

    assert_fault(refused, code="permission_denied")
    assert_fault(slow, code="tool_timeout", message="Tool timed out after 10ms")


def test_options_of_the_function_that_a_failure_came_through_hold_for_its_tool():
    @guarded(expect={LookupError: "quota_exceeded"})
    async def mine(**arguments):
        await helper()

    @guarded(expect={LookupError: "network_blocked"})
    async def helper():
        raise LookupError("used up")

    @guarded(expect={LookupError: "permission_denied"})
    def other(**arguments):
        raise LookupError("not yours")

    async def call(ctx, params):
        if params.name == "mine":
            return await mine(**params.arguments)
        if params.name == "other":
            return other(**params.arguments)
        raise LookupError("plain")

    mine_, other_, plain = called(
        server_of([tool("mine"), tool("other"), tool("plain")], call), ("mine", {}), ("other", {}), ("plain", {})
    )

    assert_fault(mine_, code="quota_exceeded")
    assert_fault(other_, code="permission_denied")
    assert_fault(plain, code="invalid_arguments")


@pytest.mark.parametrize("era", ERAS)
def test_the_guard_s_timeout(era):
    async def call(ctx, params):
        if params.name == "upstream":
            with anyio.fail_after(0.01):
                await anyio.sleep(30)
        if params.name == "slow":
            await anyio.sleep(30)
        return text("in time")

    tools = [tool("slow"), tool("upstream"), tool("quick")]
    slow, upstream, quick = called(
        server_of(tools, call, Guard(timeout=0.2)), ("slow", {}), ("upstream", {}), ("quick", {}), era=era
    )

    assert assert_fault(slow, code="tool_timeout", message="Tool timed out after 200ms").facts["origin"] == "adapter"
    assert assert_fault(upstream, code="tool_timeout").facts["origin"] == "upstream"
    assert not quick.is_error


def test_a_callable_object_can_be_the_handler():
    class Handler:
        __hash__ = None

        async def __call__(self, ctx, params):
            raise ValueError("no such city")

    (result,) = called(server_of([tool("t")], Handler()), ("t", {}))

    assert_fault(result, code="invalid_arguments", message="no such city")


def test_an_exception_whose_text_fails_is_answered():
    class Broken(Exception):
        def __str__(self):
            raise RuntimeError("even this fails")

    async def call(ctx, params):
        raise Broken

    (result,) = called(server_of([tool("t")], call), ("t", {}))

    assert parse(result).code is McpErrorCode.INTERNAL


def test_a_server_in_memory_inside_a_tool_answers_for_itself():
    async def fails(ctx, params):
        raise ValueError("no such city")

    inner = server_of([tool("inner")], fails)

    async def call(ctx, params):
        async with Client(inner) as client:
            return await client.call_tool("inner", {})

    (result,) = called(server_of([tool("outer")], call), ("outer", {}))

    assert_fault(result, code="invalid_arguments", message="no such city")


@pytest.mark.parametrize(
    ("name", "arguments", "pages"),
    [
        pytest.param("t1", {"n": "x"}, 2, id="refused arguments: until the page of the tool"),
        pytest.param("t1", {"n": 1}, 2, id="an unseen tool: until its page"),
        pytest.param("t9", {"n": 1}, 4, id="an unknown name: all pages"),
    ],
)
def test_a_listing_is_read_until_the_tool_is_found(name, arguments, pages):
    asked = []
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    async def list_tools(ctx, params):
        number = int(params.cursor or 0)
        asked.append(number)
        following = str(number + 1) if number < 3 else None
        return ListToolsResult(tools=[Tool(name=f"t{number}", input_schema=schema)], next_cursor=following)

    server = install(Server("one", on_list_tools=list_tools, on_call_tool=answers))

    (result,) = handled(server, (name, arguments))

    assert result.is_error is not (arguments == {"n": 1} and name == "t1")
    assert asked == list(range(pages))


PLUGIN = """
class SoldOut(Exception):
    pass

def meaning(exc):
    return "quota_exceeded"

@guarded(expect={SoldOut: meaning})
async def order():
    raise SoldOut("No more of it")
"""


def test_a_dropped_plugin_is_freed_though_its_rules_hold_its_functions():
    plugins = [{"__name__": "plugin", "guarded": guarded}]
    exec(PLUGIN, plugins[0])
    function = weakref.ref(plugins[0]["order"])

    async def call(ctx, params):
        return await plugins[0]["order"]()

    server = server_of([tool("order")], call)
    results = called(server, ("order", {}), ("order", {}))
    plugins.clear()
    gc.collect()

    for result in results:
        assert_fault(result, code="quota_exceeded")
    assert function() is None
    assert server.get_request_handler("tools/call") is not None
