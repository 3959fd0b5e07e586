"""
mcp-use with a scripted model, as it is and with `ToolFaultMiddleware`.
"""

import itertools
import os
import warnings

import anyio
import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage

from agents_shop import TOGETHER, seen_together
from toolfault import parse


os.environ["MCP_USE_ANONYMIZED_TELEMETRY"] = "false"

with warnings.catch_warnings():
    # The framework and what it loads warn of themselves.
    warnings.simplefilter("ignore")
    from mcp_use import MCPAgent, MCPClient

    from toolfault.integrations.mcp_use import ToolFaultMiddleware


pytestmark = pytest.mark.filterwarnings("ignore")

DEPOTS = ("".join(letters) for letters in itertools.product("MNO", repeat=3))


class Scripted(GenericFakeChatModel):
    """
    A model that makes the given calls, one after the other and those of a list in one turn.
    """

    def bind_tools(self, tools, **_options):
        return self


def scripted(script):
    turns = [turn if isinstance(turn, list) else [turn] for turn in script]
    numbers = itertools.count()
    messages = [
        AIMessage("", tool_calls=[{"name": name, "args": args, "id": str(next(numbers))} for name, args in turn])
        for turn in turns
    ]
    return Scripted(messages=iter([*messages, AIMessage("done")]))


def run(servers, script, middleware, direct=None):
    """
    Let a model call tools; return what it was shown of each, and what *direct* returns for a client.
    """

    async def main():
        client = MCPClient({"mcpServers": servers}, middleware=list(middleware))
        try:
            if direct is not None:
                return await direct(client)
            agent = MCPAgent(llm=scripted(script), client=client, memory_enabled=True, max_steps=30)
            await agent.run("go on")
            return [message for message in agent.get_conversation_history() if isinstance(message, ToolMessage)]
        finally:
            await client.close_all_sessions()

    return anyio.run(main)


@pytest.fixture
def ask(server):
    servers = {"shop": {"command": server.command, "args": server.args}}
    return lambda script, *middleware: run(servers, [*script, ("close_stocktaking", {})], middleware)[:-1]


def text_of(message):
    return str(message.content)


def test_before_and_after(compare):
    before, after, failed = compare(ToolFaultMiddleware, DEPOTS, text_of)

    # The framework shows a model its own object around the text, with a traceback of the client.
    assert "RuntimeError" in text_of(before)
    assert ("RuntimeError" in text_of(after)) is failed


def test_by_the_operators_word_a_write_is_repeated(ask, sent, patience):
    script = [
        ("open_stocktaking", {}),
        ("place_order", {"reference": "MUSE-0001", "customer": 7, "sku": "SEN-100", "quantity": 1}),
    ]

    *_, after = ask(script, ToolFaultMiddleware(patience.rules(), idempotent=["place_order"]))

    assert sent.count("place_order") == 3
    assert "tried 3 times" in text_of(after)


def test_without_trust_in_hints_nothing_is_repeated(ask, sent, patience):
    ask([("track_parcel", {"number": f"{next(DEPOTS)}-1042"})], ToolFaultMiddleware(patience.rules(trust_hints=False)))

    assert sent == ["track_parcel"]


def peer_results(peer, *middleware):
    async def direct(client):
        session = await client.create_session("peer")
        await session.list_tools()
        return {name: await session.call_tool(name, {}) for name in TOGETHER}

    servers = {"peer": {"command": peer.command, "args": peer.args}}
    return run(servers, [], middleware, direct)


def test_a_server_that_is_not_ours_called_without_an_agent(new_peer, patience):
    without, with_us = new_peer(), new_peer()

    peer_results(without)
    results = peer_results(with_us, ToolFaultMiddleware(patience.rules()))

    told = {name: result.content[0].text for name, result in results.items()}
    assert seen_together(without, with_us, told) == TOGETHER
    assert {name: result.isError for name, result in results.items() if result.isError} == {
        "limit": True,
        "silent": True,
    }
    # Whoever reads the result again finds the same failure.
    assert parse(results["limit"]).code == "quota_exceeded"
    assert parse(results["silent"]).code == "unknown"


def test_names_are_a_list():
    with pytest.raises(ValueError, match="idempotent"):
        ToolFaultMiddleware(idempotent="place_order")
