"""
pydantic-ai as it is, and with `RetryingToolset`: a scripted model calls tools of the example server.
"""

import dataclasses
import json

import anyio
import pytest
from fastmcp.exceptions import ToolError
from pydantic_ai import Agent, DeferredToolRequests, FunctionToolset, ModelRetry, UnexpectedModelBehavior
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.mcp import MCPToolset, StdioTransport
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from agents_shop import ASKED, ORDER, TOGETHER, Watcher, each_case, seen_together, watched
from toolfault import Budget, Retry, ToolFault
from toolfault.integrations.pydantic_ai import RetryingToolset
from toolfault.testing import no_waits


def shop_tools(shop, **options):
    return MCPToolset(StdioTransport(shop.command, shop.args), **options)


def run(toolset, *calls, streamed=False, **options):
    """
    What a model that makes these calls, one after the other and those of a list in one turn, is told of each; and what
    the run returns.
    """
    told, turns = [], [call if isinstance(call, list) else [call] for call in calls]

    def turn(messages):
        told.extend(part.content for part in messages[-1].parts if getattr(part, "tool_call_id", None))
        return turns.pop(0) if turns else []

    def model(messages, _info):
        parts = [ToolCallPart(name, arguments) for name, arguments in turn(messages)]
        return ModelResponse(parts=parts or [TextPart("done")])

    async def stream(messages, _info):
        calls = turn(messages)
        for number, (name, arguments) in enumerate(calls):
            yield {number: DeltaToolCall(name, json.dumps(arguments), tool_call_id=str(number))}
        if not calls:
            yield "done"

    async def main():
        if not streamed:
            return (await agent.run("go")).output
        async with agent.run_stream("go") as result:
            return await result.get_output()

    agent = Agent(FunctionModel(model, stream_function=stream), toolsets=[toolset], **options)
    return told, anyio.run(main)


@pytest.fixture(scope="module")
def without(new_shop):
    shop = new_shop()
    told, _ = run(shop_tools(shop, max_retries=len(ASKED)), *ASKED)
    return shop, told


@pytest.fixture(scope="module")
def with_retries(new_shop):
    shop, waits = new_shop(), []
    told, _ = run(RetryingToolset(shop_tools(shop, max_retries=0), retry=no_waits(waits=waits)), *ASKED)
    assert waits[:2] == [1.0, 1.0]
    return shop, told


@each_case
def test_what_the_model_is_told_and_how_often_the_tool_runs(without, with_retries, index, case):
    before, after = without[1][index], with_retries[1][index]

    if case.envelope is None:
        assert [str(before)] == case.before
    else:
        assert case.envelope.items() <= json.loads(before).items()
    assert str(after) == case.after
    assert tuple(shop.calls(case.tool, case.arguments) for shop in (without[0], with_retries[0])) == case.asked


#: The framework keeps a text of a result, and nothing else.
TEXT_ALONE = {
    **TOGETHER,
    "silent": (1, 1, "Tool 'silent' returned an error\n[internal]"),
    "turned_away": (1, 1, "full\n[quota_exceeded] It may have taken effect"),
}


@pytest.mark.parametrize("streamed", [False, True])
def test_calls_of_one_turn_to_a_server_that_is_not_ours(new_peer, retry, streamed):
    without, with_retries = new_peer(), new_peer()
    turn = [(tool, {}) for tool in TOGETHER]

    run(shop_tools(without), turn, streamed=streamed)
    told, _ = run(RetryingToolset(shop_tools(with_retries, max_retries=0), retry=retry), turn, streamed=streamed)

    assert seen_together(without, with_retries, dict(zip(TOGETHER, told)), TEXT_ALONE) == TEXT_ALONE


def test_observers_stand_around_attempts(new_peer, retry):
    watcher = Watcher()

    run(
        RetryingToolset(shop_tools(new_peer()), retry=dataclasses.replace(retry, observers=[watcher])).prefixed("peer"),
        ("peer_outage", {}),
    )

    assert watcher.seen == watched("outage")


def test_a_run_that_is_cancelled_while_a_call_waits_asks_no_more(new_peer):
    peer, scopes = new_peer(), []

    async def sleep(_seconds):
        scopes[0].cancel()
        await anyio.sleep_forever()

    async def main():
        toolset = RetryingToolset(shop_tools(peer), retry=Retry(sleep=sleep, budget=Budget(1)))
        model = FunctionModel(lambda _messages, _info: ModelResponse(parts=[ToolCallPart("outage", {})]))
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await Agent(model, toolsets=[toolset]).run("go")
        return toolset.retry.budget.left

    assert anyio.run(main) == 1
    assert peer.calls("outage") == 1


@pytest.mark.parametrize("behavior", ["retry", "failed"])
def test_a_failure_that_no_retry_mends_spends_no_retry_of_the_framework(shop, retry, behavior):
    again = [("shipping_quote", {"country": "AQ", "kilos": 2.0})] * 3

    if behavior == "retry":
        with pytest.raises(UnexpectedModelBehavior, match="shipping_quote"):
            run(shop_tools(shop, max_retries=1), *again)
        assert shop.calls("shipping_quote") == 2

    told, output = run(
        RetryingToolset(shop_tools(shop, max_retries=1, tool_error_behavior=behavior), retry=retry), *again
    )
    assert output == "done"
    assert len(told) == 3
    assert all("[permission_denied]" in text for text in told)


@pytest.mark.parametrize(("idempotent", "asked"), [((), 1), (("place_order",), 3)])
def test_what_writes_is_repeated_by_the_operators_word_alone(shop, retry, idempotent, asked):
    toolset = RetryingToolset(shop_tools(shop), retry=retry, idempotent=idempotent)

    (_, told), _ = run(toolset, ("open_stocktaking", {}), ("place_order", ORDER))

    assert told.startswith("The database is locked by somebody else (SQLITE_BUSY).")
    assert shop.calls("place_order") == asked


def test_a_toolset_that_ends_the_run_still_does_after_the_retries(shop, retry, waits):
    toolset = RetryingToolset(shop_tools(shop, tool_error_behavior="error"), retry=retry)

    with pytest.raises(ToolError, match="refused the connection"):
        run(toolset, ("customs_duty", {"country": "GB", "euros": 80.0}))

    assert shop.calls("customs_duty") == len(waits) + 1


@pytest.mark.parametrize(
    "wrap",
    [
        lambda tools, retry: RetryingToolset(tools, retry=retry).prefixed("shop"),
        lambda tools, retry: RetryingToolset(tools.prefixed("shop"), retry=retry),
    ],
    ids=["prefixed outside", "prefixed inside"],
)
def test_the_hints_are_found_behind_other_names(shop, retry, wrap):
    told, _ = run(wrap(shop_tools(shop), retry), ("shop_track_parcel", {"number": "HAM-1042"}))

    assert told == ["HAM-1042 is on the water"]


class Tool:
    """
    A tool of our own that raises or returns one thing, however often.
    """

    def __init__(self, outcome):
        self.calls = 0
        self.outcome = outcome

    def tools(self, retry, **options):
        def answer():
            self.calls += 1
            if isinstance(self.outcome, Exception):
                raise self.outcome
            return self.outcome

        return RetryingToolset(FunctionToolset([answer]), retry=retry, **options)


BUSY = {"code": "quota_exceeded", "message": "no", "category": "transient", "retryable": True}


@pytest.mark.parametrize("outcome", [{"isError": True, "structuredContent": BUSY, "content": []}, BUSY, "Error: no"])
def test_what_is_returned_is_data_whatever_it_looks_like(retry, outcome):
    tool = Tool(outcome)

    told, _ = run(tool.tools(retry, idempotent=["answer"]), ("answer", {}))

    assert told == [outcome]
    assert tool.calls == 1


@pytest.mark.parametrize("exc", [ConnectionResetError(104, "reset"), RuntimeError("bug"), TimeoutError()], ids=repr)
def test_what_ends_the_run_ends_it_and_is_never_repeated_blindly(retry, exc):
    tool = Tool(exc)

    with pytest.raises(type(exc)) as caught:
        run(tool.tools(retry), ("answer", {}))

    assert caught.value is exc
    assert tool.calls == 1


def test_a_call_that_waits_for_somebody_is_no_failure(waits):
    made = []
    tool = Tool(ApprovalRequired())
    retry = dataclasses.replace(no_waits(waits=waits), on_attempt=[made.append])

    _, output = run(tool.tools(retry), ("answer", {}), output_type=[str, DeferredToolRequests])

    assert [call.tool_name for call in output.approvals] == ["answer"]
    assert [(attempt.fault, attempt.stopped) for attempt in made] == [(None, "no_failure")]


@pytest.mark.parametrize(
    ("exc", "text"),
    [
        pytest.param(ModelRetry("Rate limit exceeded"), "Rate limit exceeded\n[quota_exceeded]", id="a server's prose"),
        pytest.param(ModelRetry('["Rate limit exceeded", "Slow down"]'), "Rate limit exceeded\nSlow down\n[quota", id="two texts"),
        pytest.param(ModelRetry('["a", 1'), '["a", 1\n[internal]', id="what looks like two texts"),
        pytest.param(ModelRetry('["a", {"type": "image"}]'), '["a", {"type": "image"}]\n[internal]', id="not only texts"),
    ],
)  # fmt: skip
def test_other_servers_texts_are_read(retry, exc, text):
    (told,), _ = run(Tool(exc).tools(retry), ("answer", {}))

    assert told.startswith(text)


@pytest.mark.parametrize(
    "text", ["", "[", "[]", "[1]", '[["a"]]', "[" * 100_000, "[" + "9" * 5_000 + "]", "\ud800", "{}"]
)
def test_no_text_of_a_server_ends_the_run(retry, text):
    (told,), output = run(Tool(ModelRetry(text)).tools(retry), ("answer", {}))

    assert told.partition("\n")[0]
    assert told.splitlines()[-1].startswith(("[internal]", "[unknown]"))
    assert output == "done"


def test_a_protocol_error_is_read_from_its_cause(retry, waits):
    error = ModelRetry("no")
    error.__cause__ = ToolFault("tool_timeout", "The call timed out.", outcome="not_executed")
    tool = Tool(error)

    (told,), _ = run(tool.tools(retry), ("answer", {}))

    assert told.startswith("The call timed out.\n[tool_timeout] The call was tried 3 times.")
    assert tool.calls == len(waits) + 1 == 3


def test_the_copies_of_runs_share_one_budget():
    toolset = RetryingToolset(FunctionToolset())
    copy = dataclasses.replace(toolset, wrapped=FunctionToolset())

    assert copy.retry.budget is toolset.retry.budget is not None
    assert RetryingToolset(FunctionToolset(), retry=Retry()).retry.budget is not copy.retry.budget


def test_one_name_is_not_taken_for_many():
    with pytest.raises(ValueError, match=r"\['place_order'\]"):
        RetryingToolset(FunctionToolset(), idempotent="place_order")
