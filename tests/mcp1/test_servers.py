"""
A `FastMCP` and a low-level `Server` of mcp 1.x behind a guard, through real clients: every failure, over every transport.
"""

import json

import anyio
import pytest
from mcp import McpError, types

from failures import FAILURES, WAYS, a_thousand_at_once, is_answered, leaks_nothing
from toolfault import parse
from toolfault.testing import assert_fault
from transports import V1_FAULT_SERVER, connected_to_1, http_server


KINDS = ["fastmcp", "lowlevel"]

#: Besides those of every server.
MORE = [
    ("argument", {"days": "nine", "city": "Ys"}, "invalid_arguments", False, "not_executed", "`days`"),
    ("anticipated_list", {"city": "Ys"}, "invalid_arguments", False, "unknown", "No such city: Ys"),
    ("no_json", {}, "internal", False, "executed", "values that are no JSON"),
]

#: What mcp 1.x has not: resolvers.
NOT_IN_1 = {"resolved"}

#: What a low-level server has not: validators before the body, and a `call_tool` for tools to call.
NOT_IN_LOWLEVEL = {"validator", "nested_through", "nested_unknown"}


def failures_of(kind):
    without = NOT_IN_1 if kind == "fastmcp" else NOT_IN_1 | NOT_IN_LOWLEVEL
    return [row for row in FAILURES + MORE if row[0] not in without]


def in_session(kind, way, steps, **options):
    async def run(url=None):
        async with connected_to_1(kind, way, url, **options) as session:
            return await steps(session)

    if not way.startswith("http"):
        return anyio.run(run)
    with http_server(V1_FAULT_SERVER, kind, way) as url:
        return anyio.run(run, url)


@pytest.fixture(scope="module", params=[(kind, way) for kind in KINDS for way in WAYS], ids="-".join)
def seen(request):
    """
    Everything that one client sees in one session with one server; the call after each failure works.
    """
    kind, way = request.param

    async def steps(session):
        came = []
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        for name, arguments, *_ in failures_of(kind):
            with anyio.fail_after(20):
                came.append(await session.call_tool(name, arguments))
            with anyio.fail_after(20):
                after = await session.call_tool("ok", {})
            assert after.content[0].text == "fine", name
        return tools, came

    return failures_of(kind), *in_session(kind, way, steps)


def test_every_failure_leaves_as_an_envelope(seen):
    rows, _, came = seen
    for row, result in zip(rows, came):
        assert result.isError, row
        is_answered(row, result)
        assert parse(result).found_in == "structured_content", row


def test_nothing_leaves_that_must_not(seen):
    for result in seen[2]:
        leaks_nothing(result)


def test_a_strict_client_accepts_each(seen):
    from jsonschema import Draft202012Validator

    rows, tools, came = seen
    checked = 0
    for (name, *_), result in zip(rows, came):
        schema = tools[name].outputSchema if name in tools else None
        if schema is not None:
            Draft202012Validator(schema).validate(result.structuredContent)
            checked += 1
    assert checked > 20


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_failure_passes(kind, way):
    async def steps(session):
        typed = await session.call_tool("typed_ok", {"city": "Oslo"})
        assert (typed.isError, typed.structuredContent) == (False, {"city": "Oslo", "degrees": 4.5})
        for name in ("surrogate_in_result", "surrogate_in_structure"):
            odd = await session.call_tool(name, {})
            assert not odd.isError
            assert ".txt" in odd.model_dump_json()
        if kind == "fastmcp":
            nested = await session.call_tool("nested", {})
            assert nested.content[0].text == "raised: ValueError"
        # The SDK makes results of these, so they stay results.
        protocol = await session.call_tool("protocol", {})
        assert protocol.isError
        assert protocol.content[0].text == protocol.structuredContent["message"]
        assert "the tool speaks the protocol itself" in protocol.content[0].text
        broken = await session.call_tool("protocol_surrogate", {})
        assert broken.isError
        assert broken.structuredContent["code"] == "internal"
        with pytest.raises(McpError) as elicits:
            await session.call_tool("elicits_by_url", {})
        assert elicits.value.error.code == -32042
        assert (await session.call_tool("ok", {})).content[0].text == "fine"

    in_session(kind, way, steps)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_real_cancellation_is_not_answered(kind, way):
    async def steps(session):
        async def says(word):
            # The server learns of things on its own time; each question is a round trip.
            with anyio.fail_after(10):
                while (await session.call_tool("what_happened", {})).content[0].text != word:
                    pass

        async def waits(task_status):
            task_status.started(session._request_id)
            # The SDK's own answer to a cancelled request.
            with pytest.raises(McpError, match="Request cancelled"):
                await session.call_tool("waits", {})

        async with anyio.create_task_group() as group:
            number = await group.start(waits)
            await says("started")
            params = types.CancelledNotificationParams(requestId=number)
            await session.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))
            await says("started,cancelled")

    in_session(kind, way, steps)


@pytest.mark.parametrize("way", ["memory", "stdio", "http"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_failures_at_once(kind, way):
    in_session(kind, way, a_thousand_at_once)


def test_what_the_client_refuses_is_judged():
    async def steps(session):
        fault = parse(await session.call_tool("asks_the_client", {}))
        assert fault is not None
        assert fault.code != "tool_panicked"

    in_session("fastmcp", "stdio", steps)


def test_progress_reaches_the_client_of_a_call_that_fails():
    reported = []

    async def report(progress, total, message):
        reported.append((progress, total, message))

    async def steps(session):
        assert_fault(await session.call_tool("reports", {}, progress_callback=report), message="no second half")

    in_session("fastmcp", "memory", steps)
    assert reported == [(1, 2, "half")]


@pytest.mark.parametrize("kind", KINDS)
def test_the_facts_beside_the_envelope(kind):
    async def steps(session):
        result = await session.call_tool("argument", {"days": 99, "city": "Ys"})
        facts = result.meta["io.github.toolfault/error"]
        assert (facts["v"], facts["origin"]) == (1, "adapter")
        assert [item["field"] for item in facts["violations"]] == ["days"]
        assert "99" not in json.dumps(facts["violations"])
        near = await session.call_tool("anticipatd", {})
        assert "anticipated" in near.structuredContent["hint"]
        chained = await session.call_tool("chained", {})
        assert chained.structuredContent["cause_chain"] == ["KeyError: k"]

    in_session(kind, "memory", steps)
