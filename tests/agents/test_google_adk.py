"""
google-adk as it is, and with `ToolFaultPlugin`: a scripted model calls tools of the example server.
"""

import asyncio
import contextlib

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

from toolfault import Budget, Retry, ToolFault, parse
from toolfault.hosting import META_KEY, to_result
from toolfault.integrations.google_adk import ToolFaultPlugin
from toolfault.testing import no_waits


# What older versions say of their own parts, to themselves.
pytestmark = [
    pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning"),
    pytest.mark.filterwarnings(r"ignore::DeprecationWarning:google\.adk\."),
]


class Model(BaseLlm):
    """
    Makes calls one after the other, and notes what it is told of each.
    """

    model: str = "scripted"
    calls: list
    told: list = []

    async def generate_content_async(self, llm_request, stream=False):
        said = [part.function_response for part in llm_request.contents[-1].parts if part.function_response]
        self.told.extend(response.response for response in said)
        if len(self.told) == len(self.calls):
            part = types.Part.from_text(text="done")
        else:
            name, arguments = self.calls[len(self.told)]
            part = types.Part.from_function_call(name=name, args=arguments)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def run(tools, *calls, plugins=()):
    """
    What a model that makes these calls is told of each: the dict that the framework sends it.
    """
    model = Model(calls=list(calls), told=[])

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


#: What is called; the first text that the model is told without the plugin; the only text with it; and how often
#: the server is asked, without and with.
CALLS = [
    pytest.param(
        "track_parcel",
        {"number": "HAM-1042"},
        "The upstream API is unavailable (HTTP 503). Retry after 1 second.",
        "HAM-1042 is on the water",
        (1, 3),
        id="repeated until it works",
    ),
    pytest.param(
        "customs_duty",
        {"country": "GB", "euros": 80.0},
        "A service that the tool depends on refused the connection (ECONNREFUSED). Try again later.",
        "A service that the tool depends on refused the connection (ECONNREFUSED). Try again later.\n"
        "[internal] The call was tried 3 times. The same call may succeed if it is retried later.",
        (1, 3),
        id="repeated in vain",
    ),
    pytest.param(
        "shipping_quote",
        {"country": "AQ", "kilos": 2.0},
        "The upstream API does not allow this (HTTP 403). Other rights are needed.",
        "The upstream API does not allow this (HTTP 403). Other rights are needed.\n"
        "[permission_denied] The same call will fail again.",
        (1, 1),
        id="no retry helps",
    ),
    pytest.param(
        "shipping_quote",
        {"country": "NO", "kilos": 2.0},
        "The upstream API is unavailable (HTTP 503). Retry after 120 seconds.",
        "The upstream API is unavailable (HTTP 503). Retry after 120 seconds.\n"
        "[internal] The same call may succeed if it is retried after 120 seconds.",
        (1, 1),
        id="too long a wait",
    ),
    pytest.param("price_per_cup", {"sku": "SEN-100"}, "0.39", "0.39", (1, 1), id="works at once"),
]
ASKED = [case.values[:2] for case in CALLS]


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


@pytest.mark.parametrize(("tool", "arguments", "before", "after", "asked"), CALLS)
def test_what_the_model_is_told_and_how_often_the_tool_runs(
    without, with_plugin, tool, arguments, before, after, asked
):
    index = ASKED.index((tool, arguments))
    told = with_plugin[1][index]

    assert texts(without[1][index])[0] == before
    assert texts(told) == [after]
    assert (without[0].calls(tool, arguments), with_plugin[0].calls(tool, arguments)) == asked
    if told.get("isError"):
        # Only the text is another: what a program reads is still there.
        assert parse(told).envelope == parse(without[1][index]).envelope
        assert told["structuredContent"] == without[1][index]["structuredContent"]


ORDER = {"reference": "TEST-0001", "customer": 7, "sku": "SEN-100", "quantity": 2}


@pytest.mark.parametrize(("idempotent", "asked"), [((), 1), (("shop_place_order",), 3)])
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
        pytest.param({"error": "MCP tool execution failed: Connection closed"}, id="the connection broke"),
        pytest.param({"error": "This tool call requires confirmation, please approve or reject."}, id="a question"),
        pytest.param({"result": "Pending User Authorization."}, id="somebody must log in"),
        pytest.param({"content": [], "structuredContent": {"code": "internal", "message": "no"}}, id="data"),
    ],
)
def test_answers_of_the_framework_and_data_stay(retry, outcome):
    tool = Scripted(outcome)

    assert run([tool], ("answer", {}), plugins=[ToolFaultPlugin(retry)]) == [outcome]
    assert tool.runs == 1


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

    # Twenty retries that fail in a row, whatever tool it is, and none more.
    assert [repeated(one), repeated(one), repeated(other)] == [20, 0, 20]


def test_a_budget_that_is_given_is_shared():
    plugin = ToolFaultPlugin(no_waits(Retry(budget=Budget(retries=1, refund=0))))
    tools = [Scripted(BUSY, manager=Manager()) for _ in range(2)]

    for tool in tools:
        run([tool], ("answer", {}), plugins=[plugin])

    assert [tool.runs for tool in tools] == [2, 1]
