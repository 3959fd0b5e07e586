"""
A FastMCP server behind the middleware, through real clients: every failure, over every transport, in both eras.

What differs from an `MCPServer` (tests/integrations/test_mcp_server.py), and why:

* ``broken_str``: FastMCP formats a crash's text before the middleware sees it, so what leaves is what ``__str__``
  raised; the class stands in the chain.
* ``nested_unknown``: the sentence is ours, since FastMCP's exception says no more than the name.
* ``surrogate_in_result`` has no return annotation: FastMCP refuses to serialize a lone surrogate for an output schema
  (``typed_surrogate``), and the value is lost then.
* ``own_tool_result``: an error result that has structured content of its own keeps it; the envelope is in ``_meta``.
"""

import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from fastmcp import Client
from fastmcp.exceptions import ToolError
from mcp import Client as SDKClient
from mcp import StdioServerParameters
from mcp.shared.exceptions import MCPError

import fastmcp_faults
from failures import NEVER_TOLD, a_cancellation_passes, a_thousand_at_once
from toolfault import parse
from toolfault.testing import assert_fault
from transports import http_server


#: FastMCP serializes a value of another type than the annotated one, and pydantic warns of it on the way.
UNEXPECTED = "ignore:Pydantic serializer warnings:UserWarning"
pytestmark = pytest.mark.filterwarnings(UNEXPECTED)

SERVER = Path(fastmcp_faults.__file__)
WAYS = ["memory", "stdio", "http", "http-json"]
ERAS = ["auto", "legacy"]
KEY = "io.github.toolfault/error"

#: tool, arguments, code, retryable, outcome, a part of the message
FAILURES = [
    ("no_such_tool", {}, "tool_not_found", False, "not_executed", "Unknown tool: no_such_tool"),
    ("typed_fault", {"city": "Ys"}, "quota_exceeded", True, "unknown", "Daily quota for Ys is used up"),
    ("either", {}, "internal", True, "unknown", "The bill of materials is being rebuilt"),
    ("chained", {}, "internal", True, "unknown", "The index is being rebuilt"),
    ("anticipated", {"city": "Ys"}, "invalid_arguments", False, "unknown", "No such city: Ys"),
    ("anticipated_sync", {"city": "Ys"}, "invalid_arguments", False, "unknown", "No such city: Ys"),
    ("host_error", {}, "internal", None, "unknown", "The ledger is locked by an import"),
    ("crash", {}, "tool_panicked", False, "unknown", "ZeroDivisionError"),
    ("crash_sync", {}, "tool_panicked", False, "unknown", "ZeroDivisionError"),
    ("argument", {"days": 99}, "invalid_arguments", False, "not_executed", "`days`"),
    ("argument", {"days": 99}, "invalid_arguments", False, "not_executed", "`city`"),
    ("validator", {"order": {"days": 13}}, "invalid_arguments", False, "not_executed", "nobody orders for 13 days"),
    ("validator", {"order": {"days": 12}}, "tool_panicked", False, "not_executed", "twelve"),
    ("validator", {"order": {"days": 11}}, "tool_panicked", False, "not_executed", "eleven"),
    ("validator_sync", {"order": {"days": 11}}, "tool_panicked", False, "not_executed", "eleven"),
    ("model_in_the_body", {"city": "Ys"}, "internal", False, "unknown", "degrees"),
    ("resolved", {}, "invalid_arguments", False, "unknown", "no region is configured"),
    ("wrong_output", {}, "internal", False, "executed", "degrees"),
    ("no_output", {}, "internal", False, "executed", "no structured value"),
    ("unserializable_output", {}, "tool_panicked", False, "executed", "can't be serialized"),
    ("typed_surrogate", {}, None, False, "executed", ""),
    ("stray_cancel", {}, "tool_panicked", False, "unknown", "cancelled"),
    ("exits", {}, "tool_panicked", False, "unknown", "exit code 3"),
    ("exits_sync", {}, "tool_panicked", False, "unknown", "exit code 3"),
    ("base_exception", {}, "tool_panicked", False, "unknown", "not even an Exception"),
    ("groups", {}, "internal", True, "unknown", "refused"),
    ("task_group", {}, "invalid_arguments", False, "unknown", "one of several failed"),
    ("surrogate", {}, "invalid_arguments", False, "unknown", "room"),
    ("broken_str", {}, "internal", False, "unknown", "even this fails"),
    ("five_megabytes", {}, "invalid_arguments", False, "unknown", "xxx"),
    ("secret", {}, "internal", False, "unknown", "login failed"),
    ("nested_through", {}, "tool_panicked", False, "unknown", "ZeroDivisionError"),
    ("nested_unknown", {}, "internal", False, "unknown", "no_such_tool"),
    ("nested_arguments", {}, "internal", False, "unknown", "days"),
    ("own_result", {}, "quota_exceeded", True, "unknown", "Rate limit reached"),
    ("own_tool_result", {}, "quota_exceeded", True, "unknown", "Rate limit reached"),
    ("own_envelope", {}, "unknown", True, None, "from afar"),
    ("slow", {}, "tool_timeout", True, "unknown", "Tool timed out after 50ms"),
    ("slow_sync", {}, "tool_timeout", True, "unknown", "Tool timed out after 50ms"),
    ("slow_for_the_host", {}, "tool_timeout", True, "unknown", "Tool timed out after 50ms"),
    ("upstream_timeout", {}, "tool_timeout", True, "unknown", "time"),
    ("expected", {}, "quota_exceeded", True, "unknown", "all workers are busy"),
    ("partial", {}, "invalid_arguments", False, "unknown", "No such city: Vineta"),
]
IDS = [f"{row[0]}-{row[5][:12]}" for row in FAILURES]


class InMemory:
    """
    FastMCP's client with the calls of the SDK's, which has no way into a FastMCP server in memory.
    """

    def __init__(self, client):
        self.client = client

    async def call_tool(self, name, arguments):
        return await self.client.call_tool_mcp(name, arguments)

    async def list_tools(self):
        return await self.client.list_tools_mcp()


@asynccontextmanager
async def connected(way, era, url=None, server=None):
    if way == "memory":
        async with Client(server or fastmcp_faults.make(), mode=era) as client:
            yield InMemory(client)
        return
    target = url
    if way == "stdio":
        arguments = ["-W", "error", "-W", UNEXPECTED, str(SERVER), "stdio"]
        target = StdioServerParameters(command=sys.executable, args=arguments)
    async with SDKClient(target, mode=era) as client:
        yield client


def in_session(way, era, steps):
    async def run(url=None):
        async with connected(way, era, url) as client:
            return await steps(client)

    if not way.startswith("http"):
        return anyio.run(run)
    with http_server(SERVER, way) as url:
        return anyio.run(run, url)


@pytest.fixture(scope="module", params=[(way, era) for way in WAYS for era in ERAS], ids="-".join)
def session(request):
    """
    Everything that one client sees in one session with one server; the call after each failure works.
    """

    async def steps(client):
        came = []
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for name, arguments, *_ in FAILURES:
            with anyio.fail_after(20):
                came.append(await client.call_tool(name, arguments))
            with anyio.fail_after(20):
                after = await client.call_tool("ok", {})
            assert after.content[0].text == "fine", name
        return tools, came

    return in_session(*request.param, steps)


@pytest.mark.parametrize("number", range(len(FAILURES)), ids=IDS)
def test_every_failure_leaves_as_an_envelope(session, number):
    name, _, code, retryable, outcome, part = FAILURES[number]
    result = session[1][number]

    assert result.is_error
    fault = assert_fault(result, code=code, retryable=retryable, message=part)
    assert result.content[0].text == fault.envelope.message
    assert fault.outcome == outcome
    assert fault.envelope.message
    assert fault.found_in == ("meta" if name == "own_tool_result" else "structured_content")
    json.dumps(result.model_dump(by_alias=True), ensure_ascii=False).encode()


@pytest.mark.parametrize("number", range(len(FAILURES)), ids=IDS)
def test_nothing_leaves_that_must_not(session, number):
    text = session[1][number].model_dump_json(by_alias=True)

    assert len(text) < 16_000
    for never in ("hunter2", "Traceback", "fastmcp_faults.py", "site-packages", "sub-exception", "Error calling tool"):
        assert never not in text


@pytest.mark.parametrize("number", range(len(FAILURES)), ids=IDS)
def test_a_strict_client_accepts_each(session, number):
    from jsonschema import Draft202012Validator

    tools, came = session
    tool = tools.get(FAILURES[number][0])
    if tool is None or tool.output_schema is None or came[number].structured_content is None:
        return
    Draft202012Validator(tool.output_schema).validate(came[number].structured_content)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_failure_passes(way, era):
    async def steps(client):
        nested = await client.call_tool("nested", {})
        assert nested.content[0].text == "raised: ValueError"
        odd = await client.call_tool("surrogate_in_result", {})
        assert not odd.is_error
        assert "a file called" in odd.content[0].text
        assert (await client.call_tool("typed_ok", {"city": "Oslo"})).structured_content["degrees"] == 4.5
        assert (await client.call_tool("maybe", {"city": "Ys"})).structured_content == {"result": None}
        assert (await client.call_tool("listed", {})).structured_content == {"result": [1, 2]}
        # FastMCP makes results of these, so they stay results.
        protocol = await client.call_tool("protocol", {})
        assert protocol.is_error
        assert protocol.content[0].text == protocol.structured_content["message"]
        assert "the tool speaks the protocol itself" in protocol.content[0].text
        broken = await client.call_tool("protocol_surrogate", {})
        assert broken.is_error
        assert broken.structured_content["code"] == "internal"
        with pytest.raises(MCPError) as elicits:
            await client.call_tool("elicits_by_url", {})
        assert elicits.value.code == -32042
        assert (await client.call_tool("ok", {})).content[0].text == "fine"

    in_session(way, era, steps)


@pytest.mark.parametrize(("way", "era"), [(way, era) for way in WAYS for era in ERAS if (way, era) not in NEVER_TOLD])
def test_a_real_cancellation_is_not_answered(way, era):
    in_session(way, era, a_cancellation_passes)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", ["memory", "stdio", "http"])
def test_a_thousand_failures_at_once(way, era):
    in_session(way, era, a_thousand_at_once)


@pytest.mark.parametrize("era", ERAS)
def test_what_the_client_refuses_is_judged(era):
    async def steps(client):
        fault = parse(await client.call_tool("asks_the_client", {}))
        assert fault is not None
        assert fault.code != "tool_panicked"

    in_session("stdio", era, steps)


def test_the_facts_beside_the_envelope():
    async def steps(client):
        result = await client.call_tool("argument", {"days": 99})
        facts = result.meta[KEY]
        assert facts["v"] == 1
        assert facts["origin"] == "adapter"
        assert [item["field"] for item in facts["violations"]] == ["days", "city"]
        assert "99" not in json.dumps(facts["violations"])
        near = await client.call_tool("anticipatd", {})
        assert "anticipated" in near.structured_content["hint"]
        chained = await client.call_tool("chained", {})
        assert chained.structured_content["cause_chain"] == ["KeyError: k"]

    in_session("memory", "auto", steps)


@pytest.mark.parametrize("era", ERAS)
def test_fastmcp_s_own_client_gets_the_fault(era):
    async def run():
        async with Client(fastmcp_faults.make(), mode=era) as client:
            fine = await client.call_tool("typed_ok", {"city": "Oslo"})
            assert (fine.data.city, fine.data.degrees) == ("Oslo", 4.5)
            assert (await client.call_tool("listed", {})).data == [1, 2]
            assert parse(fine) is None

            result = await client.call_tool("typed_fault", {"city": "Ys"}, raise_on_error=False)
            fault = assert_fault(result, code="quota_exceeded")
            assert (fault.envelope.retry_after_seconds, fault.envelope.hint) == (30, "Try Oslo.")
            assert fault.facts["id"] == result.meta[KEY]["id"]
            # Raised, it has only the text; the message stands alone.
            with pytest.raises(ToolError, match="Daily quota for Ys is used up"):
                await client.call_tool("typed_fault", {"city": "Ys"})

    anyio.run(run)
