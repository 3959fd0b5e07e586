"""
google-adk as it is, and with `ToolFaultPlugin`: a scripted model calls tools of the example server.
"""

import asyncio
import contextlib
import copy
import dataclasses
import gc
from importlib.util import find_spec

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from google.adk.tools.mcp_tool.mcp_tool import McpTool
from google.genai import types
from mcp import StdioServerParameters
from mcp.types import Tool

from agents_shop import ASKED, ORDER, TOGETHER, Watcher, each_case, seen_together, watched
from toolfault import Budget, Retry, ToolFault, parse
from toolfault.hosting import META_KEY, to_result
from toolfault.integrations.google_adk import ToolFaultPlugin
from toolfault.testing import no_waits


# What older versions say of their own parts, to themselves.
pytestmark = [
    pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning"),
    pytest.mark.filterwarnings(r"ignore::DeprecationWarning:google\.adk\."),
]


#: Whether sessions live in the task of the call, and die with it.
OLD = find_spec("google.adk.tools.mcp_tool.session_context") is None


class Model(BaseLlm):
    """
    Makes calls one after the other, those of a list in one turn, and notes what it is told of each.
    """

    model: str = "scripted"
    calls: list
    told: list = []

    async def generate_content_async(self, llm_request, stream=False):
        said = [part.function_response for part in llm_request.contents[-1].parts if part.function_response]
        self.told.extend(response.response for response in said)
        turn = self.calls.pop(0) if self.calls else []
        calls = [types.Part.from_function_call(name=name, args=arguments) for name, arguments in turn]
        yield LlmResponse(content=types.Content(role="model", parts=calls or [types.Part.from_text(text="done")]))


def run(tools, *calls, plugins=()):
    """
    What a model that makes these calls is told of each: the dict that the framework sends it.
    """
    model = Model(calls=[call if isinstance(call, list) else [call] for call in calls], told=[])

    async def main():
        agent = LlmAgent(name="clerk", model=model, tools=tools)
        runner = InMemoryRunner(app=App(name="shop", root_agent=agent, plugins=list(plugins)))
        session = await runner.session_service.create_session(app_name="shop", user_id="somebody")
        message = types.Content(role="user", parts=[types.Part.from_text(text="go")])
        try:
            async for _ in runner.run_async(user_id="somebody", session_id=session.id, new_message=message):
                pass
        finally:
            await runner.close()

    asyncio.run(main())
    return model.told


def shop_tools(shop, **options):
    server = StdioServerParameters(command=shop.command, args=shop.args)
    return [McpToolset(connection_params=StdioConnectionParams(server_params=server, timeout=60), **options)]


def texts(result):
    return [block["text"] for block in result["content"]]


@pytest.fixture(scope="module")
def without(new_shop):
    shop = new_shop()
    return shop, run(shop_tools(shop), *ASKED)


@pytest.fixture(scope="module")
def with_plugin(new_shop):
    shop, waits = new_shop(), []
    told = run(shop_tools(shop), *ASKED, plugins=[ToolFaultPlugin(no_waits(Retry(), waits))])
    assert waits[:2] == [1.0, 1.0]
    return shop, told


@each_case
def test_what_the_model_is_told_and_how_often_the_tool_runs(without, with_plugin, index, case):
    before, after = without[1][index], with_plugin[1][index]

    assert texts(before) == case.before
    assert texts(after) == [case.after]
    assert tuple(shop.calls(case.tool, case.arguments) for shop in (without[0], with_plugin[0])) == case.asked
    if after.get("isError"):
        # Only the text is another: what a program reads is still there.
        assert parse(after).envelope == parse(before).envelope
        assert after["structuredContent"] == before["structuredContent"]


def test_calls_of_one_turn_to_a_server_that_is_not_ours(new_peer, retry):
    without, with_plugin = new_peer(), new_peer()
    turn = [(tool, {}) for tool in TOGETHER]

    run(shop_tools(without), turn)
    told = run(shop_tools(with_plugin), turn, plugins=[ToolFaultPlugin(retry)])

    after = {tool: texts(result)[0] for tool, result in zip(TOGETHER, told)}
    assert seen_together(without, with_plugin, after) == TOGETHER


# What the SDK leaves open when a server dies.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("tool", "asked", "after"),
    [
        pytest.param("dies", 2, "alive", marks=pytest.mark.skipif(OLD, reason="it can't start a server anew")),
        ("dies_writing", 1, "Connection closed"),
    ],
)
def test_a_server_that_dies_is_asked_again_where_that_is_safe(new_peer, retry, tool, asked, after):
    """
    The framework starts it anew. What the exception is in the end, newer versions answer and older ones raise.
    """
    peer = new_peer()

    try:
        (told,) = run(shop_tools(peer), (tool, {}), plugins=[ToolFaultPlugin(retry)])
    except Exception as exc:
        told = exc
    gc.collect()

    assert peer.calls(tool) == asked
    assert after in str(told)


@pytest.mark.parametrize(("idempotent", "asked"), [((), 1), (("shop_place_order",), 3), (("place_order",), 3)])
def test_what_writes_is_repeated_by_the_operators_word_alone(shop, retry, idempotent, asked):
    _, told = run(
        shop_tools(shop, tool_name_prefix="shop"),
        ("shop_open_stocktaking", {}),
        ("shop_place_order", ORDER),
        plugins=[ToolFaultPlugin(retry, idempotent=idempotent)],
    )

    assert texts(told)[0].startswith("The database is locked by somebody else (SQLITE_BUSY).")
    assert shop.calls("place_order") == asked


# Tools of our own, for what the example server does not do.


READS = {"readOnlyHint": True}
BUSY = to_result(ToolFault("internal", "busy", retryable=True))
DONE = {"content": [{"type": "text", "text": "done"}], "isError": False}
NOT_SENT = ConnectionRefusedError(111, "refused")


class Scripted(McpTool):
    """
    An MCP tool whose runs come to what is told, the last for good; exceptions are raised.
    """

    def __init__(self, *outcomes, hints=READS, manager=None):
        tool = Tool.model_validate({"name": "answer", "inputSchema": {"type": "object"}, "annotations": hints})
        super().__init__(mcp_tool=tool, mcp_session_manager=manager)
        self.outcomes = outcomes
        self.runs = 0

    async def run_async(self, *, args, tool_context):
        outcome = self.outcomes[min(self.runs, len(self.outcomes) - 1)]
        self.runs += 1
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


@pytest.mark.parametrize(
    ("outcomes", "runs", "told"),
    [
        pytest.param([NOT_SENT, DONE], 2, ["done"], id="an exception is repeated"),
        pytest.param([NOT_SENT, BUSY], 3, ["busy\n[internal] The call was tried 3 times."], id="and ends in a result"),
        pytest.param(
            [BUSY, NOT_SENT], 3, ["[mcp_server_unreachable] The call was tried 3 times."], id="a result is, and raises"
        ),
        pytest.param([BUSY, ValueError("odd")], 2, ["The call was tried 2 times."], id="and raises what is final"),
    ],
)
def test_exceptions_and_results_take_the_same_course(retry, outcomes, runs, told):
    tool = Scripted(*outcomes)

    (result,) = run([tool], ("answer", {}), plugins=[ToolFaultPlugin(retry)])

    assert tool.runs == runs
    assert len(texts(result)) == len(told)
    assert told[0] in texts(result)[0]
    assert bool(parse(result)) is (told != ["done"])


@pytest.mark.parametrize(
    ("outcome", "hints", "runs"),
    [
        pytest.param(NOT_SENT, {}, 3, id="after the retries"),
        pytest.param(ValueError("odd"), READS, 1, id="at once"),
    ],
)
def test_what_would_end_the_run_ends_it(retry, outcome, hints, runs):
    tool = Scripted(outcome, hints=hints)

    with pytest.raises(type(outcome)):
        run([tool], ("answer", {}), plugins=[ToolFaultPlugin(retry)])

    assert tool.runs == runs


def test_a_cancellation_is_not_repeated(retry):
    tool = Scripted(asyncio.CancelledError())

    # The framework ends the run, with the exception or without a word.
    with contextlib.suppress(asyncio.CancelledError):
        assert run([tool], ("answer", {}), plugins=[ToolFaultPlugin(retry)]) == []

    assert tool.runs == 1


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param({"error": "This tool call requires confirmation, please approve or reject."}, id="a question"),
        pytest.param({"result": "Pending User Authorization."}, id="somebody must log in"),
        pytest.param({"content": [], "structuredContent": {"code": "internal", "message": "no"}}, id="data"),
    ],
)
def test_answers_of_the_framework_and_data_stay(retry, outcome):
    tool = Scripted(outcome)

    assert run([tool], ("answer", {}), plugins=[ToolFaultPlugin(retry)]) == [outcome]
    assert tool.runs == 1


@pytest.mark.parametrize("begins", ["MCP tool execution failed:", "Unexpected error during MCP tool execution:"])
@pytest.mark.parametrize(
    ("said", "hints", "runs"),
    [("Connection closed", READS, 3), ("Connection closed", {}, 1), ("Unknown tool: answer", READS, 1)],
)
def test_an_exception_that_the_framework_made_an_answer_of_is_repeated_and_stays(retry, begins, said, hints, runs):
    answer = {"error": f"{begins} {said}"}
    broken, mended = Scripted(answer, hints=hints), Scripted(answer, DONE, hints=hints)

    (told,) = run([broken], ("answer", {}), plugins=[ToolFaultPlugin(retry)])
    (after,) = run([mended], ("answer", {}), plugins=[ToolFaultPlugin(retry)])

    assert (told, broken.runs) == (answer, runs)
    assert after == (answer if runs == 1 else DONE)


def test_a_question_instead_of_another_attempt_is_asked(retry):
    question = {"error": "This tool call requires confirmation: the rate limit is reached, please try again later"}
    tool = Scripted(BUSY, question)

    assert run([tool], ("answer", {}), plugins=[ToolFaultPlugin(retry)]) == [question]
    assert tool.runs == 2


@pytest.mark.parametrize(
    "odd", [{"content": "no"}, {"content": ["no", {"type": "text"}, {"type": "image"}, None]}, {"meta": None}, {}]
)
def test_what_other_callbacks_make_of_a_result_breaks_nothing(retry, odd):
    (told,) = run([Scripted({"isError": True, **odd})], ("answer", {}), plugins=[ToolFaultPlugin(retry)])

    assert told["content"][0]["type"] == "text"
    assert "[" in told["content"][0]["text"]
    assert told["meta"][META_KEY]["error"]["code"] == parse(told).code.value


def test_a_call_that_somebody_must_confirm_is_not_made(new_peer, retry):
    peer = new_peer()

    told = run(shop_tools(peer, require_confirmation=True), ("outage", {}), plugins=[ToolFaultPlugin(retry)])

    # Newer versions do not ask the model meanwhile.
    assert all("requires confirmation" in answer["error"] for answer in told)
    assert peer.calls("outage") == 0


def test_observers_stand_around_attempts_by_the_servers_name_of_the_tool(new_peer):
    watcher, retry = Watcher(), no_waits(Retry())
    plugin = ToolFaultPlugin(dataclasses.replace(retry, observers=[watcher]))

    run(shop_tools(new_peer(), tool_name_prefix="peer"), ("peer_outage", {}), plugins=[plugin])

    assert watcher.seen == watched("outage")


def test_tools_that_are_no_mcp_tools_stay(retry):
    runs = []

    def answer() -> dict:
        """Answer."""
        runs.append(1)
        return BUSY

    assert run([answer], ("answer", {}), plugins=[ToolFaultPlugin(retry)]) == [BUSY]
    assert runs == [1]


def test_a_weaker_envelope_is_told_and_stands_where_programs_find_it(retry):
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    weak = {"isError": True, "content": [{"type": "text", "text": "Rate limit exceeded, retry after 300 s"}, image]}

    (told,) = run([Scripted(weak)], ("answer", {}), plugins=[ToolFaultPlugin(retry)])

    assert told["content"][0]["text"].startswith("Rate limit exceeded, retry after 300 s\n[quota_exceeded]")
    assert told["content"][1:] == [image]
    assert told["meta"][META_KEY]["error"] == parse(weak).envelope.to_wire()
    assert parse(told).envelope == parse(weak).envelope


class Manager:
    """
    What a toolset gives each of its tools.
    """


def test_each_server_has_a_budget_of_its_own(retry):
    plugin, one, other = ToolFaultPlugin(retry), Manager(), Manager()

    def repeated(manager):
        tool = Scripted(BUSY, manager=manager)
        run([tool], *[("answer", {})] * 12, plugins=[plugin])
        return tool.runs - 12

    # So many retries may fail in a row, whatever tool it is, and none more.
    retries = Budget().left
    assert [repeated(one), repeated(one), repeated(other)] == [retries, 0, retries]


def test_a_copy_shares_what_is_left_of_a_servers_budget(retry):
    plugin, manager = ToolFaultPlugin(retry), Manager()
    run([Scripted(BUSY, manager=manager)], *[("answer", {})] * 12, plugins=[plugin])
    tool = Scripted(BUSY, manager=manager)

    run([tool], ("answer", {}), plugins=[copy.deepcopy(plugin)])

    assert tool.runs == 1


def test_a_budget_that_is_given_is_shared():
    plugin = ToolFaultPlugin(no_waits(Retry(budget=Budget(retries=1, refund=0))))
    tools = [Scripted(BUSY, manager=Manager()) for _ in range(2)]

    for tool in tools:
        run([tool], ("answer", {}), plugins=[plugin])

    assert [tool.runs for tool in tools] == [2, 1]
