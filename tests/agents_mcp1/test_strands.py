"""
Strands Agents with a scripted model.
"""

import copy
import importlib
import itertools
import json
import sys

import anyio
import pytest
from mcp import StdioServerParameters, stdio_client
from mcp.types import Tool, ToolAnnotations
from strands import Agent, tool
from strands.hooks import AfterToolCallEvent, HookRegistry
from strands.models import Model
from strands.tools.mcp import MCPClient
from strands.tools.mcp.mcp_agent_tool import MCPAgentTool

from agents_shop import TOGETHER, seen_together
from toolfault import Budget, Retry, ToolFault
from toolfault.hosting import to_result
from toolfault.integrations import strands
from toolfault.integrations.strands import ToolFaultHooks


DEPOTS = ("".join(letters) for letters in itertools.product("STU", repeat=3))


class Scripted(Model):
    """
    A model that calls the given tools, one after another and those of a list in one turn, and keeps what it was shown
    of each.
    """

    def __init__(self, script):
        self.script = list(script)
        self.shown = []

    def update_config(self, **_):
        raise NotImplementedError

    def get_config(self):
        return {}

    def structured_output(self, *_, **__):
        raise NotImplementedError

    async def stream(self, messages, *_, **__):
        blocks = [block for message in copy.deepcopy(messages) for block in message["content"]]
        self.shown = [block["toolResult"] for block in blocks if "toolResult" in block]
        yield {"messageStart": {"role": "assistant"}}
        turn = self.script.pop(0) if self.script else []
        for number, (name, arguments) in enumerate(turn if isinstance(turn, list) else [turn], len(self.shown)):
            yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": f"use-{number}", "name": name}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
            yield {"contentBlockStop": {}}
        if turn:
            yield {"messageStop": {"stopReason": "tool_use"}}
            return
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": "done"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


@pytest.fixture(scope="module")
def client(server):
    with MCPClient(lambda: stdio_client(server)) as client:
        yield client


@pytest.fixture
def ask(client):
    """
    Let a model call tools, and return the results that it was shown.
    """

    def ask(script, *hooks, tools=None):
        model = Scripted(script)
        agent = Agent(
            model, tools=client.list_tools_sync() if tools is None else tools, hooks=list(hooks), callback_handler=None
        )
        try:
            agent("go on")
        finally:
            client.call_tool_sync("close", "close_stocktaking", {})
        return model.shown

    return ask


def text_of(result):
    return "\n".join(block["text"] for block in result["content"])


def test_before_and_after(compare, sent, patience):
    before, after, failed = compare(ToolFaultHooks, DEPOTS, text_of)

    assert "error" == before["status"]
    assert ("error" if failed else "success") == after["status"]
    if failed:
        assert f"[{after['structuredContent']['code']}]" in text_of(after)
        assert text_of(after).startswith(after["structuredContent"]["message"])
        assert 1 == len(after["content"])
    assert len([made for made in patience.made if made.fault is not None]) + (not failed) == sent.count(sent[-1])


def test_by_the_operators_word_a_write_is_repeated(ask, sent, patience):
    script = [
        ("open_stocktaking", {}),
        ("place_order", {"reference": "WORD-0001", "customer": 7, "sku": "SEN-100", "quantity": 1}),
    ]

    *_, after = ask(script, ToolFaultHooks(patience.rules(), idempotent=["place_order"]))

    assert 3 == sent.count("place_order")
    assert "tried 3 times" in text_of(after)


def test_without_trust_in_hints_nothing_is_repeated(ask, sent, patience):
    ask([("track_parcel", {"number": f"{next(DEPOTS)}-1042"})], ToolFaultHooks(patience.rules(trust_hints=False)))

    assert ["track_parcel"] == sent


def test_calls_of_one_turn_to_a_server_that_is_not_ours(new_peer, patience):
    without, with_us = new_peer(), new_peer()

    def asked(peer, *hooks):
        model = Scripted([[(tool, {}) for tool in TOGETHER]])
        with MCPClient(lambda: stdio_client(StdioServerParameters(command=peer.command, args=peer.args))) as client:
            Agent(model, tools=client.list_tools_sync(), hooks=list(hooks), callback_handler=None)("go on")
        return {
            tool: text_of(result) for result, tool in zip(sorted(model.shown, key=lambda it: it["toolUseId"]), TOGETHER)
        }

    asked(without)
    told = asked(with_us, ToolFaultHooks(patience.rules()))

    assert seen_together(without, with_us, told) == TOGETHER


def test_other_tools_stay_as_they_are(ask, patience):
    @tool
    def local() -> str:
        """Fail."""
        raise TimeoutError("rate limit reached")

    script = [("local", {}), ("nowhere", {})]

    before, after = (ask(script, *hooks, tools=[local]) for hooks in ([], [ToolFaultHooks(patience.rules())]))

    assert before == after
    assert ["error", "error"] == [result["status"] for result in after]
    assert [] == patience.made


def test_what_fails_on_the_way_stays_as_it_is(server, patience):
    """
    A client that was closed: Strands makes a text of the exception.
    """
    with MCPClient(lambda: stdio_client(server)) as client:
        tools = client.list_tools_sync()
    model = Scripted([("track_parcel", {"number": "HAM-1042"})])

    Agent(model, tools=tools, hooks=[ToolFaultHooks(patience.rules())], callback_handler=None)("go on")

    (result,) = model.shown
    assert "error" == result["status"]
    assert "isError" not in result
    assert "[" not in text_of(result)
    assert [] == patience.made


# ---- one event, with what a server may answer


class Server:
    """
    What stands for a client: no more than a place to keep a budget under.
    """


def mcp_tool(name="look", server=None, **hints):
    listed = Tool(name=name, inputSchema={}, annotations=ToolAnnotations(**hints) if hints else None)
    return MCPAgentTool(listed, server or Server(), name_override=f"shop_{name}")


READS = mcp_tool(readOnlyHint=True)


def failed(code, message="No", **details):
    return to_result(ToolFault(code, message, **details))


def said(*content):
    return {"isError": True, "content": list(content)}


def strands_result(result):
    """
    A result as Strands hands it over.
    """
    made = {"status": "error" if result.get("isError") else "success", "toolUseId": "1"} | result
    made["content"] = [{"text": block["text"]} if "text" in block else block for block in result["content"]]
    if "_meta" in made:
        made["metadata"] = made.pop("_meta")
    return made


class Conversation:
    """
    Hooks as an agent calls them.
    """

    def __init__(self, hooks):
        self.registry = HookRegistry()
        self.registry.add_hook(hooks)
        self.agent = object()

    def after(self, result, selected=READS, use="1", **more):
        return anyio.run(lambda: self.ask(result, selected, use, **more))

    async def ask(self, result, selected=READS, use="1", **more):
        event = AfterToolCallEvent(
            agent=self.agent,
            selected_tool=selected,
            tool_use={"toolUseId": use, "name": "look", "input": {}},
            invocation_state={},
            result=strands_result(result),
        )
        for name, value in more.items():
            setattr(event, name, value)
        await self.registry.invoke_callbacks_async(event)
        return event

    def attempts(self, result, selected=READS, use="1"):
        made = 1
        while self.after(result, selected, use).retry:
            made += 1
        return made


BUSY = failed("quota_exceeded", "The limit is reached", retry_after_seconds=7)
OUTAGE = failed("internal", "down", category="transient", retryable=True)


@pytest.mark.parametrize(
    ("selected", "attempts"),
    [
        (READS, 3),
        (mcp_tool(idempotentHint=True), 3),
        (mcp_tool(readOnlyHint=False), 1),
        (mcp_tool(), 1),
        (mcp_tool("known"), 3),
        (mcp_tool("either"), 3),
    ],
)
def test_hints_and_the_operators_word(patience, selected, attempts):
    conversation = Conversation(ToolFaultHooks(patience.rules(), idempotent=["known", "shop_either"]))

    assert attempts == conversation.attempts(BUSY, selected)
    assert [7.0] * (attempts - 1) == patience.waits


def test_what_proves_that_nothing_happened_is_repeated(patience):
    conversation = Conversation(ToolFaultHooks(patience.rules()))
    refused = failed("quota_exceeded", "The limit is reached", outcome="not_executed")

    assert 3 == conversation.attempts(refused, mcp_tool())


def test_attempts_are_counted_for_each_call_anew(patience):
    conversation = Conversation(ToolFaultHooks(patience.rules()))

    assert [3, 3] == [conversation.attempts(BUSY), conversation.attempts(BUSY)]
    assert conversation.after(BUSY, use="a").retry
    assert conversation.after(BUSY, use="b").retry
    assert conversation.after(BUSY, use="a").retry
    assert not conversation.after(BUSY, use="a").retry
    assert conversation.after(BUSY, use="b").retry
    assert [1, 2, 3, 1, 2, 3, 1, 1, 2, 3, 2] == [made.number for made in patience.made]


def test_agents_may_use_the_same_ids(patience):
    hooks = ToolFaultHooks(patience.rules())
    one, other = Conversation(hooks), Conversation(hooks)

    for conversation in (one, other, one, other):
        assert conversation.after(BUSY).retry
    assert [1, 1, 2, 2] == [made.number for made in patience.made]


def test_another_hooks_retry_is_not_ours(patience):
    conversation = Conversation(ToolFaultHooks(patience.rules()))

    event = conversation.after(BUSY, retry=True)

    assert strands_result(BUSY) == event.result
    assert [] == patience.made


def test_each_server_has_a_budget_of_its_own(patience):
    conversation = Conversation(ToolFaultHooks(patience.rules(attempts=30, timeout=None)))
    first, second = mcp_tool(readOnlyHint=True), mcp_tool(readOnlyHint=True)

    made = [conversation.attempts(OUTAGE, selected) for selected in (first, first, second)]

    retries = Budget().left
    assert [retries + 1, 1, retries + 1] == made


def test_what_is_remembered_is_bounded(patience, monkeypatch):
    monkeypatch.setattr(strands, "_MAX_CALLS", 3)
    hooks = ToolFaultHooks(patience.rules(budget=None))
    conversation = Conversation(hooks)

    for use in range(15):
        conversation.after(BUSY, mcp_tool(readOnlyHint=True), use=str(use))
    assert ["12", "13", "14"] == [use for _, use in hooks._states]

    for use in ("12", "13", "14"):
        conversation.after({"content": [{"text": "fine"}]}, use=use)
    assert {} == hooks._states


def test_a_call_that_is_cancelled_between_attempts_leaves_no_count_behind():
    """
    Some models give the id of a call to a later one.
    """

    async def sleep(_seconds):
        await anyio.sleep_forever()

    budget = Budget(1)
    hooks = ToolFaultHooks(Retry(sleep=sleep, budget=budget))
    conversation = Conversation(hooks)

    async def main():
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(conversation.ask, BUSY)
                await anyio.wait_all_tasks_blocked()
                scope.cancel()

    anyio.run(main)

    assert {} == hooks._states
    assert 1 == budget.left


def test_a_success_is_handed_on_and_refunds(patience):
    conversation = Conversation(ToolFaultHooks(patience.rules(budget=Budget(1))))
    fine = {"isError": False, "content": [{"text": "Error: not found"}]}
    assert conversation.attempts(OUTAGE) == 2

    assert strands_result(fine) == conversation.after(fine).result

    assert [None, None] == [patience.made[-1].fault, patience.made[-1].wait]
    for _ in range(10):
        conversation.after(fine)
    assert conversation.attempts(OUTAGE) == 2


PICTURE = {"image": {"format": "png", "source": {"bytes": b"hi"}}}

TOLD = [
    (
        said({"text": "Error: rate limit reached"}, {"text": "see the log"}),
        "Error: rate limit reached\nsee the log\n[quota_exceeded] ",
        [],
    ),
    (
        said({"text": '{"code": "RATE_LIMITED", "message": "slow down"}'}),
        "slow down\n[quota_exceeded] ",
        [{"text": '{"code": "RATE_LIMITED", "message": "slow down"}'}],
    ),
    (said({"text": "lost: " + 9999 * "x "}), "lost: x x x", []),
    (said(), "The tool failed without saying why.\n[unknown]", []),
    (said({"text": "bad"}, PICTURE), "bad\n[internal]", [PICTURE]),
    (failed("invalid_arguments", "No such city", hint="Try Oslo"), "No such city\n[invalid_arguments] ", []),
]


@pytest.mark.parametrize(("result", "begins", "more"), TOLD)
def test_what_a_model_reads(patience, result, begins, more):
    event = Conversation(ToolFaultHooks(patience.rules())).after(result, mcp_tool())

    first, *others = event.result["content"]
    assert first["text"].startswith(begins)
    assert more == others
    assert {**strands_result(result), "content": event.result["content"]} == event.result


def test_one_name_is_not_several():
    with pytest.raises(ValueError, match=r"write idempotent=\['look'\]"):
        ToolFaultHooks(idempotent="look")


def test_without_the_framework_the_import_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "strands.hooks", None)
    monkeypatch.delitem(sys.modules, "toolfault.integrations.strands")

    with pytest.raises(ImportError, match=r"pip install 'toolfault\[strands\]'"):
        importlib.import_module("toolfault.integrations.strands")
