"""
Microsoft Agent Framework as it is, and with `ToolFaultMiddleware`: a scripted model calls tools of the example server.
"""

import dataclasses

import anyio
import pytest
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    MCPStdioTool,
    Message,
    tool,
)

from agents_shop import ASKED, ORDER, TOGETHER, Watcher, each_case, seen_together, watched
from toolfault.integrations.agent_framework import ToolFaultMiddleware
from toolfault.testing import no_waits


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """
    A model that makes these calls, those of a list in one turn, and keeps what it is shown of each.
    """

    def __init__(self, *calls):
        super().__init__()
        self.turns = [call if isinstance(call, list) else [call] for call in calls]
        self.shown = {}

    async def _inner_get_response(self, *, messages, stream, options, **kwargs):
        for message in messages:
            for content in message.contents:
                if content.type == "function_result":
                    self.shown[int(content.call_id)] = content.result
        turn = self.turns.pop(0) if self.turns else []
        contents = [
            Content.from_function_call(str(len(self.shown) + number), name, arguments=arguments)
            for number, (name, arguments) in enumerate(turn)
        ]
        return ChatResponse(messages=[Message(role="assistant", contents=contents or ["done"])])


def run(server, wrap, *calls, functions=(), **options):
    """
    What the model is shown of each call, with the middleware that *wrap* makes of the server's tool.
    """
    model = Scripted(*calls)

    async def main():
        async with MCPStdioTool("shop", server.command, args=server.args, **options) as tools:
            await Agent(model, tools=[tools, *functions], middleware=wrap(tools)).run("go")

    anyio.run(main)
    return [model.shown[number] for number in sorted(model.shown)]


def as_it_is(_tools):
    return []


@pytest.fixture(scope="module")
def without(new_shop):
    shop = new_shop()
    # A model is cut off after three failures in a row, so each call has a run of its own.
    return shop, [run(shop, as_it_is, call)[0] for call in ASKED]


@pytest.fixture(scope="module")
def with_retries(new_shop):
    shop, waits = new_shop(), []
    told = run(shop, lambda tools: [ToolFaultMiddleware(tools, no_waits(waits=waits))], *ASKED)
    assert waits[:2] == [1.0, 1.0]
    return shop, told


@each_case
def test_what_the_model_is_told_and_how_often_the_tool_runs(without, with_retries, index, case):
    before, after = without[1][index], with_retries[1][index]

    if case.envelope is None:
        assert case.before[0] in before
    else:
        assert before == "Error: Function failed."
    if "[" in case.after:
        assert after == case.after
    else:
        assert case.after in after
    assert tuple(shop.calls(case.tool, case.arguments) for shop in (without[0], with_retries[0])) == case.asked


#: The framework keeps a text of a result, and nothing else.
TEXT_ALONE = {
    **TOGETHER,
    "outage": (1, 3, ""),
    "silent": (1, 1, ""),
    "turned_away": (1, 1, "full\n[quota_exceeded] It may have taken effect"),
}


def test_calls_of_one_turn_to_a_server_that_is_not_ours(new_peer, retry):
    without, with_us = new_peer(), new_peer()
    turn = [(name, {}) for name in TOGETHER]

    run(without, as_it_is, turn)
    told = run(with_us, lambda tools: [ToolFaultMiddleware(tools, retry)], turn)

    assert seen_together(without, with_us, dict(zip(TOGETHER, told, strict=True)), TEXT_ALONE) == TEXT_ALONE


def test_by_the_operators_word_a_write_is_repeated(shop, retry):
    def wrap(tools):
        return [ToolFaultMiddleware(tools, retry, idempotent=["place_order"])]

    told = run(shop, wrap, ("open_stocktaking", {}), ("place_order", ORDER))

    assert shop.calls("place_order") == 3
    assert "tried 3 times" in told[1]


def test_a_prefix_hides_no_hint(new_peer, retry):
    peer = new_peer()

    run(peer, lambda tools: [ToolFaultMiddleware(tools, retry)], ("mine_outage", {}), tool_name_prefix="mine")

    assert peer.calls("outage") == 3


def test_observers_stand_around_attempts(new_peer, retry):
    watcher = Watcher()
    watching = dataclasses.replace(retry, observers=[watcher])

    run(new_peer(), lambda tools: [ToolFaultMiddleware(tools, watching)], ("outage", {}))

    assert watcher.seen == watched("outage")


def test_functions_of_other_tools_are_left_alone(new_peer, retry):
    called = []

    @tool(approval_mode="never_require")
    def lookup(name: str) -> str:
        called.append(name)
        raise TimeoutError("too slow")

    told = run(
        new_peer(), lambda tools: [ToolFaultMiddleware(tools, retry)], ("lookup", {"name": "a"}), functions=[lookup]
    )

    assert called == ["a"]
    assert told == ["Error: Function failed."]


def test_names_are_a_list(new_peer):
    with pytest.raises(ValueError, match="idempotent"):
        ToolFaultMiddleware(MCPStdioTool("x", "y"), idempotent="place_order")
