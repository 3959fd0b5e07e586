"""
openai-agents as it is, and with `RetryingMCPServer`: a scripted model calls tools of the example server.
"""

import dataclasses
import json

import anyio
import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from agents.mcp import MCPServer, MCPServerStdio
from mcp.types import CallToolResult, Tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from agents_shop import ASKED, ORDER, TOGETHER, Watcher, each_case, seen_together, watched
from toolfault import McpErrorCode, Retry, parse
from toolfault.hosting import META_KEY
from toolfault.integrations.openai_agents import RetryingMCPServer, custom_data
from toolfault.testing import no_waits


class Shop(RetryingMCPServer, MCPServerStdio):
    """
    As the page of the integration says.
    """


class Script(Model):
    """
    A model that makes these calls, one after the other, those of a list in one turn, and is told of each.
    """

    def __init__(self, calls):
        self.turns = [call if isinstance(call, list) else [call] for call in calls]
        self.told = []

    async def get_response(self, system_instructions, input, *args, **options):  # noqa: A002 -- the framework's name
        self.told = [item["output"] for item in input if item.get("type") == "function_call_output"]
        items = [
            ResponseFunctionToolCall(
                id=f"call_{len(self.told) + number}",
                call_id=f"call_{len(self.told) + number}",
                type="function_call",
                name=name,
                arguments=json.dumps(arguments),
            )
            for number, (name, arguments) in enumerate(self.turns.pop(0) if self.turns else [])
        ]
        if not items:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            items = [
                ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
            ]
        return ModelResponse(output=items, usage=Usage(), response_id=None)

    def stream_response(self, *args, **options):
        raise NotImplementedError


def run(server, *calls):
    """
    What the model is told of each call, as one text for each block; and what the run's items keep of each.
    """
    model = Script(calls)

    async def go():
        async with server:
            agent = Agent("clerk", model=model, mcp_servers=[server])
            return await Runner.run(agent, "go", max_turns=20, run_config=RunConfig(tracing_disabled=True))

    items = anyio.run(go).new_items
    kept = [item.custom_data for item in items if item.type == "tool_call_output_item"]
    told = [[block["text"] for block in out] if isinstance(out, list) else out for out in model.told]
    return told, kept


def started(kind, shop, **options):
    return kind(params={"command": shop.command, "args": shop.args}, client_session_timeout_seconds=30, **options)


@pytest.fixture(scope="module")
def without(new_shop):
    shop = new_shop()
    return shop, *run(started(MCPServerStdio, shop), *ASKED)


@pytest.fixture(scope="module")
def with_retries(new_shop):
    shop, waits = new_shop(), []
    ran = run(started(Shop, shop, retry=no_waits(waits=waits)), *ASKED)
    assert waits[:2] == [1.0, 1.0]
    return shop, *ran


@each_case
def test_what_the_model_is_told_and_how_often_the_tool_runs(without, with_retries, index, case):
    told, kept = (ran[index] for ran in with_retries[1:])

    assert (without[1][index], without[2][index]) == (case.before, None)
    assert told == [case.after]
    assert tuple(shop.calls(case.tool, case.arguments) for shop in (without[0], with_retries[0])) == case.asked
    if case.after == case.after.partition("\n")[0]:
        assert kept is None
    else:
        assert case.envelope.items() <= kept[META_KEY].items()
        assert case.before[0] == kept[META_KEY]["message"]


@pytest.mark.parametrize("structured", [False, True])
def test_calls_of_one_turn_to_a_server_that_is_not_ours(new_peer, retry, structured):
    without, with_retries = new_peer(), new_peer()
    turn = [(tool, {}) for tool in TOGETHER]

    run(started(MCPServerStdio, without), turn)
    told, _ = run(started(Shop, with_retries, retry=retry, use_structured_content=structured), turn)

    after = {tool: texts[0] for tool, texts in zip(TOGETHER, told)}
    assert seen_together(without, with_retries, after) == TOGETHER


@pytest.mark.parametrize(("idempotent", "asked"), [((), 1), (("place_order",), 3)])
def test_what_writes_is_repeated_by_the_operators_word_alone(shop, retry, idempotent, asked):
    server = started(Shop, shop, retry=retry, idempotent=idempotent)

    (_, (told,)), _ = run(server, ("open_stocktaking", {}), ("place_order", ORDER))

    assert told.startswith("The database is locked by somebody else (SQLITE_BUSY).")
    assert shop.calls("place_order") == asked


def test_observers_stand_around_attempts(new_peer, retry):
    watcher = Watcher()
    server = started(Shop, new_peer(), retry=dataclasses.replace(retry, observers=[watcher]))

    run(server, ("outage", {}))

    assert watcher.seen == watched("outage")


def test_a_call_that_somebody_must_approve_is_not_made(new_peer, retry):
    peer = new_peer()

    told, _ = run(started(Shop, peer, retry=retry, require_approval="always"), ("outage", {}))

    assert told == []
    assert peer.calls("outage") == 0


class Peer(MCPServer):
    """
    A server of another sort, that answers or raises as told.
    """

    def __init__(self, outcomes, *, tools=(), **options):
        super().__init__(**options)
        self.outcomes = outcomes
        self.tools = tools
        self.calls = []
        self.listed = 0

    name = "peer"

    async def connect(self): ...

    async def cleanup(self): ...

    async def list_tools(self, run_context=None, agent=None):
        self.listed += 1
        if isinstance(self.tools, Exception):
            raise self.tools
        return self.tools

    async def call_tool(self, tool_name, arguments, meta=None):
        self.calls.append((tool_name, arguments, meta))
        outcome = self.outcomes[min(len(self.calls), len(self.outcomes)) - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def list_prompts(self): ...

    async def get_prompt(self, name, arguments=None): ...


class RetryingPeer(RetryingMCPServer, Peer):
    pass


def result(*texts, failed=True, **other):
    content = [{"type": "text", "text": text} for text in texts]
    return CallToolResult.model_validate({"content": content, "isError": failed, **other})


def called(peer):
    return anyio.run(peer.call_tool, "ask", {"a": 1}, {"trace": "7"})


READS = Tool.model_validate({"name": "ask", "inputSchema": {}, "annotations": {"readOnlyHint": True}})
OTHER = Tool.model_validate({"name": "other", "inputSchema": {}, "annotations": {"readOnlyHint": True}})
BUSY = result("Service temporarily unavailable, try again later")
DONE = result("done", failed=False)


@pytest.mark.parametrize(
    ("tools", "calls"),
    [
        pytest.param([OTHER, READS], 2, id="listed when it matters"),
        pytest.param([OTHER], 1, id="not listed"),
        pytest.param(RuntimeError("no filter without a run"), 1, id="can't be listed"),
    ],
)
def test_hints_that_the_server_does_not_keep_are_asked_for(retry, tools, calls):
    peer = RetryingPeer([BUSY, DONE], tools=tools, retry=retry)

    called(peer)

    assert peer.calls == [("ask", {"a": 1}, {"trace": "7"})] * calls
    assert peer.listed == 1


def test_without_a_failure_nothing_is_changed_nor_listed(retry):
    peer = RetryingPeer([DONE], retry=retry)

    assert called(peer) is DONE
    assert peer.listed == 0


@pytest.mark.parametrize(
    ("exc", "calls"),
    [
        (ConnectionResetError(104, "reset"), 1),
        (RuntimeError("bug"), 1),
        (TimeoutError(), 1),
        # Nothing was sent.
        (ConnectionRefusedError(111, "refused"), 3),
    ],
    ids=repr,
)
def test_exceptions_leave_as_they_were_and_are_never_repeated_blindly(retry, exc, calls):
    peer = RetryingPeer([exc], retry=retry)

    with pytest.raises(type(exc)) as caught:
        called(peer)

    assert caught.value is exc
    assert len(peer.calls) == calls


def test_what_other_servers_say_stays_behind_the_text(retry):
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    said = result("Rate limit exceeded", _meta={"theirs": 1})
    said.content.append(CallToolResult.model_validate({"content": [picture]}).content[0])

    failed = called(RetryingPeer([said], retry=retry))

    assert failed.content[0].text.startswith("Rate limit exceeded\n[quota_exceeded]")
    assert failed.content[1:] == said.content[1:]
    assert failed.meta["theirs"] == 1
    assert parse(failed).code is McpErrorCode.QUOTA_EXCEEDED
    assert parse(failed).envelope.message == "Rate limit exceeded"


def test_a_full_report_that_the_text_does_not_hold_stays_too(retry):
    report = json.dumps({"code": "internal", "message": "Broken", "category": "permanent", "retryable": False})

    failed = called(RetryingPeer([result(report)], retry=retry))

    assert [block.text for block in failed.content] == ["Broken\n[internal] The same call will fail again.", report]


def test_the_rules_may_be_left_to_their_defaults_and_each_server_has_a_budget():
    one, other = RetryingPeer([DONE]), RetryingPeer([DONE])

    rules = one._servers.for_server(one)
    assert rules == dataclasses.replace(Retry(), budget=rules.budget)
    assert rules.budget is not other._servers.for_server(other).budget


def test_another_extractor_takes_the_place_of_ours():
    def theirs(ctx):
        return {"server": ctx.server_name}

    assert RetryingPeer([DONE]).custom_data_extractor is custom_data
    assert RetryingPeer([DONE], custom_data_extractor=theirs).custom_data_extractor is theirs


def test_one_name_is_not_taken_for_many():
    with pytest.raises(ValueError, match=r"write idempotent=\['place_order'\]"):
        RetryingPeer([DONE], idempotent="place_order")


def test_the_other_order_is_refused():
    with pytest.raises(TypeError, match=r"class Shop\(RetryingMCPServer, MCPServerStdio\)"):
        type("Shop", (MCPServerStdio, RetryingMCPServer), {})
