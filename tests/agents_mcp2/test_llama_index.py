"""
llama-index as it is, and with `RetryingMcpClient`: a scripted model calls tools of the example server.
"""

import dataclasses
import json

import anyio
import pytest
from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, TextBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from agents_shop import ASKED, ORDER, TOGETHER, Watcher, each_case, seen_together, watched
from toolfault import ToolFault
from toolfault.integrations.llama_index import McpToolFailed, RetryingMcpClient
from toolfault.testing import no_waits


#: The framework lists the members of its own objects, which pydantic warns of.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")


def as_it_is(session):
    return session


def run(server, wrap, *calls):
    """
    What a model that makes these calls is shown of each, those of a list in one turn; and whether it counts as an error.
    """
    shown, turns = {}, [call if isinstance(call, list) else [call] for call in calls]

    def answer(messages, **_options):
        for message in messages:
            if message.role == "tool":
                shown[int(message.additional_kwargs["tool_call_id"])] = message.content
        turn = turns.pop(0) if turns else []
        blocks = [
            ToolCallBlock(tool_call_id=str(len(shown) + number), tool_name=name, tool_kwargs=arguments)
            for number, (name, arguments) in enumerate(turn)
        ]
        return ChatMessage(role="assistant", blocks=blocks or [TextBlock(text="done")])

    async def main():
        parameters = StdioServerParameters(command=server.command, args=server.args)
        async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
            await session.initialize()
            tools = await McpToolSpec(client=wrap(session)).to_tool_list_async()
            model = MockFunctionCallingLLM(response_generator=answer, is_chat_model=True)
            handler = FunctionAgent(tools=tools, llm=model, streaming=False).run("go")
            events = [event async for event in handler.stream_events()]
            await handler
        return [event.tool_output.is_error for event in events if isinstance(event, ToolCallResult)]

    errors = anyio.run(main)
    return [shown[number] for number in sorted(shown)], errors


@pytest.fixture(scope="module")
def without(new_shop):
    shop = new_shop()
    return shop, *run(shop, as_it_is, *ASKED)


@pytest.fixture(scope="module")
def with_retries(new_shop):
    shop, waits = new_shop(), []
    told = run(shop, lambda session: RetryingMcpClient(session, no_waits(waits=waits)), *ASKED)
    assert waits[:2] == [1.0, 1.0]
    return shop, *told


@each_case
def test_what_the_model_is_told_and_how_often_the_tool_runs(without, with_retries, index, case):
    before, after = without[1][index], with_retries[1][index]

    # Without us the model reads the representation of a Python object, and no output is an error.
    assert before.startswith("meta=")
    assert case.before[0] in before.replace("\\'", "'")
    assert without[2][index] is False
    if "[" in case.after:
        assert after == case.after
    else:
        # A success stays what the framework makes of it.
        assert case.after in after
    assert with_retries[2][index] is ("[" in case.after)
    assert tuple(shop.calls(case.tool, case.arguments) for shop in (without[0], with_retries[0])) == case.asked


def test_calls_of_one_turn_to_a_server_that_is_not_ours(new_peer, retry):
    without, with_us = new_peer(), new_peer()
    turn = [(tool, {}) for tool in TOGETHER]

    run(without, as_it_is, turn)
    told, _ = run(with_us, lambda session: RetryingMcpClient(session, retry), turn)

    texts = dict(zip(TOGETHER, told, strict=True))
    wanted = {tool: (*row[:2], "") if row[2] in {"fine", "written"} else row for tool, row in TOGETHER.items()}
    assert seen_together(without, with_us, texts, wanted) == wanted
    assert "fine" in texts["outage"]


def test_by_the_operators_word_a_write_is_repeated(shop, retry):
    calls = [("open_stocktaking", {}), ("place_order", ORDER)]

    told, _ = run(shop, lambda session: RetryingMcpClient(session, retry, idempotent=["place_order"]), *calls)

    assert shop.calls("place_order") == 3
    assert "tried 3 times" in told[1]


def test_observers_stand_around_attempts(new_peer, retry):
    watcher = Watcher()

    watching = dataclasses.replace(retry, observers=[watcher])
    run(new_peer(), lambda session: RetryingMcpClient(session, watching), ("outage", {}))

    assert watcher.seen == watched("outage")


def test_the_exception_has_the_fault(shop, retry):
    async def main():
        client = RetryingMcpClient(BasicMCPClient(shop.command, args=shop.args), retry)
        with pytest.raises(McpToolFailed) as caught:
            await client.call_tool("shipping_quote", {"country": "AQ", "kilos": 2.0})
        return caught.value

    failed = anyio.run(main)

    assert isinstance(failed.fault, ToolFault)
    assert failed.fault.code == "permission_denied"
    assert json.loads(json.dumps(failed.fault.envelope.to_wire()))["code"] == "permission_denied"


def test_a_server_that_can_not_be_started_is_a_failure_too(retry):
    async def main():
        client = RetryingMcpClient(BasicMCPClient("no-such-command-anywhere"), retry)
        with pytest.raises(McpToolFailed) as caught:
            await client.call_tool("t", {})
        return caught.value.fault

    assert anyio.run(main).envelope.code


def test_names_are_a_list():
    with pytest.raises(ValueError, match="idempotent"):
        RetryingMcpClient(BasicMCPClient("x"), idempotent="place_order")
