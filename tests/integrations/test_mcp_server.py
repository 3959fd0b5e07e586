"""
An `MCPServer` behind a guard, through real clients: every failure, over every transport, in both eras.
"""

import json
from functools import partial

import pytest
from mcp.shared.exceptions import MCPError

import failures
from failures import ERAS, FAILURES, NEVER_TOLD, WAYS
from toolfault import parse
from toolfault.hosting import META_KEY


in_session = partial(failures.in_session, "fault_server")


@pytest.fixture(scope="module", params=[(way, era) for way in WAYS for era in ERAS], ids="-".join)
def session(request):
    """
    Everything that one client sees in one session with one server.
    """
    return failures.try_all("fault_server", *request.param, FAILURES)


@pytest.mark.parametrize("number", range(len(FAILURES)), ids=failures.ids(FAILURES))
def test_every_failure_leaves_as_an_envelope(session, number):
    failures.is_answered(FAILURES[number], session[1][number])


@pytest.mark.parametrize("number", range(len(FAILURES)), ids=failures.ids(FAILURES))
def test_nothing_leaves_that_must_not(session, number):
    failures.leaks_nothing(session[1][number])


@pytest.mark.parametrize("number", range(len(FAILURES)), ids=failures.ids(FAILURES))
def test_a_strict_client_accepts_each(session, number):
    tools, came = session
    failures.fits(FAILURES[number], tools, came[number])


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_failure_passes(way, era):
    async def steps(client):
        nested = await client.call_tool("nested", {})
        assert nested.content[0].text == "raised: ValueError"
        odd = await client.call_tool("surrogate_in_result", {})
        assert not odd.is_error
        assert "a file called" in odd.content[0].text
        with pytest.raises(MCPError) as protocol:
            await client.call_tool("protocol", {})
        assert (protocol.value.code, protocol.value.message) == (-32001, "the tool speaks the protocol itself")
        assert protocol.value.data.pop("why") == "it can"
        assert parse(protocol.value).code == protocol.value.data[META_KEY]["error"]["code"]
        with pytest.raises(MCPError) as broken:
            await client.call_tool("protocol_surrogate", {})
        assert broken.value.code == 1001
        with pytest.raises(MCPError) as elicits:
            await client.call_tool("elicits_by_url", {})
        assert elicits.value.code == -32042
        assert (await client.call_tool("ok", {})).content[0].text == "fine"

    in_session(way, era, steps)


@pytest.mark.parametrize(("way", "era"), [(way, era) for way in WAYS for era in ERAS if (way, era) not in NEVER_TOLD])
def test_a_real_cancellation_is_not_answered(way, era):
    in_session(way, era, failures.a_cancellation_passes)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", ["memory", "stdio", "http"])
def test_a_thousand_failures_at_once(way, era):
    in_session(way, era, failures.a_thousand_at_once)


def test_what_the_client_refuses_is_judged():
    async def steps(client):
        fault = parse(await client.call_tool("asks_the_client", {}))
        assert fault is not None
        assert fault.code != "tool_panicked"

    in_session("stdio", "legacy", steps)


def test_the_facts_beside_the_envelope():
    async def steps(client):
        result = await client.call_tool("argument", {"days": 99})
        facts = result.meta["io.github.toolfault/error"]
        assert facts["v"] == 1
        assert facts["origin"] == "adapter"
        assert [item["field"] for item in facts["violations"]] == ["days", "city"]
        assert "99" not in json.dumps(facts["violations"])
        near = await client.call_tool("anticipatd", {})
        assert "anticipated" in near.structured_content["hint"]
        chained = await client.call_tool("chained", {})
        assert chained.structured_content["cause_chain"] == ["KeyError: k"]

    in_session("memory", "auto", steps)
