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
from pydantic_ai.models.function import FunctionModel

from toolfault import Retry, ToolFault
from toolfault.integrations.pydantic_ai import RetryingToolset
from toolfault.testing import no_waits


def shop_tools(shop, **options):
    return MCPToolset(StdioTransport(shop.command, shop.args), **options)


def run(toolset, *calls, **options):
    """
    What a model that makes these calls, one after the other, is told of each; and what the run returns.
    """
    told = []

    def model(messages, _info):
        told.extend(part.content for part in messages[-1].parts if getattr(part, "tool_call_id", None))
        if len(told) == len(calls):
            return ModelResponse(parts=[TextPart("done")])
        name, arguments = calls[len(told)]
        return ModelResponse(parts=[ToolCallPart(name, arguments)])

    agent = Agent(FunctionModel(model), toolsets=[toolset], **options)
    return told, anyio.run(agent.run, "go").output


#: What is called; what the model is told without the retries: the envelope as JSON; what it is told with them; and how
#: often the server is asked, without and with.
CALLS = [
    pytest.param(
        "track_parcel",
        {"number": "HAM-1042"},
        {"code": "internal", "category": "transient", "retryable": True, "retry_after_seconds": 1},
        "HAM-1042 is on the water",
        (1, 3),
        id="repeated until it works",
    ),
    pytest.param(
        "customs_duty",
        {"country": "GB", "euros": 80.0},
        {"code": "internal", "category": "transient", "retryable": True},
        "A service that the tool depends on refused the connection (ECONNREFUSED). Try again later.\n"
        "[internal] The call was tried 3 times. The same call may succeed if it is retried later.",
        (1, 3),
        id="repeated in vain",
    ),
    pytest.param(
        "shipping_quote",
        {"country": "AQ", "kilos": 2.0},
        {"code": "permission_denied", "category": "auth", "retryable": False},
        "The upstream API does not allow this (HTTP 403). Other rights are needed.\n"
        "[permission_denied] The same call will fail again.",
        (1, 1),
        id="no retry helps",
    ),
    pytest.param(
        "shipping_quote",
        {"country": "NO", "kilos": 2.0},
        {"code": "internal", "category": "transient", "retryable": True, "retry_after_seconds": 120},
        "The upstream API is unavailable (HTTP 503). Retry after 120 seconds.\n"
        "[internal] The same call may succeed if it is retried after 120 seconds.",
        (1, 1),
        id="too long a wait",
    ),
    pytest.param(
        "price_per_cup",
        {"sku": "SEN-99"},
        {"code": "invalid_arguments", "category": "validation", "retryable": False},
        "unknown tea 'SEN-99'; did you mean SEN-2, SEN-50, SEN-250?\n"
        "[invalid_arguments] The same call will fail again; change its arguments.",
        (1, 1),
        id="wrong arguments",
    ),
    pytest.param("price_per_cup", {"sku": "SEN-100"}, 0.39, 0.39, (1, 1), id="works at once"),
]


@pytest.fixture(scope="module")
def without(new_shop):
    shop = new_shop()
    told, _ = run(shop_tools(shop, max_retries=len(CALLS)), *[case.values[:2] for case in CALLS])
    return shop, told


@pytest.fixture(scope="module")
def with_retries(new_shop):
    shop, waits = new_shop(), []
    toolset = RetryingToolset(shop_tools(shop, max_retries=0), retry=no_waits(waits=waits))
    told, _ = run(toolset, *[case.values[:2] for case in CALLS])
    assert waits[:2] == [1.0, 1.0]
    return shop, told


@pytest.mark.parametrize(("tool", "arguments", "before", "after", "asked"), CALLS)
def test_what_the_model_is_told_and_how_often_the_tool_runs(
    without, with_retries, tool, arguments, before, after, asked
):
    index = [case.values[:2] for case in CALLS].index((tool, arguments))

    told = without[1][index]
    if isinstance(before, dict):
        assert before.items() <= json.loads(told).items()
    else:
        assert told == before
    assert with_retries[1][index] == after
    assert (without[0].calls(tool, arguments), with_retries[0].calls(tool, arguments)) == asked


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


ORDER = {"reference": "TEST-0001", "customer": 7, "sku": "SEN-100", "quantity": 2}


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
