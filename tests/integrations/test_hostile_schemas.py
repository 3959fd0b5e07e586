"""
Schemas that run against their callers, and callers that run against schemas, over a real process.
"""

import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

import hostile_schemas_server
from attack_slow import chain


ATTACK = {"price": -5, "account": "'; DROP"}

#: tool, arguments, whether they reach the handler; the order is that of the calls
CALLS = [
    ("pay", ATTACK, False),
    ("pay", {"price": 10**400, "account": "abc"}, False),
    ("pay", ATTACK, False),
    ("pay", {"price": 1, "account": "abc"}, True),
    ("walk", chain(190), False),
    ("walk", {"node": {"value": "x"}}, False),
    ("walk", {"node": {"value": 1, "next": None}}, True),
    ("search", {"text": "a" * 35 + "!"}, False),
    ("search", {"text": "some words"}, True),
    ("collect", {"rows": [{"a": number % 3_999} for number in range(4_000)]}, False),
    ("collect", {"rows": [{"a": number} for number in range(4_000)]}, True),
    ("choose", {"choice": "x"}, False),
    ("choose", {"choice": 1}, True),
    ("wide", {"p19999": "x"}, False),
    ("wide", {"p19999": 1}, True),
    ("many", {"numbers": ["x"] * 100_000}, False),
    # The SDK's low-level server checks nothing, and an invalid schema can't.
    ("broken", {"a": 1}, True),
    ("elsewhere", {"b": "x"}, False),
    ("elsewhere", {"a": 1, "b": "x"}, False),
    ("elsewhere", {"a": 1}, True),
    ("elsewhere", {"b": 1}, True),
]


@pytest.fixture(scope="module", params=["auto", "legacy"])
def answers(request):
    async def run():
        target = StdioServerParameters(command=sys.executable, args=[str(Path(hostile_schemas_server.__file__))])
        async with Client(target, mode=request.param) as client:
            with anyio.fail_after(30):
                tools = await client.list_tools()
            results = []
            for tool, arguments, _ in CALLS:
                with anyio.fail_after(30):
                    results.append(await client.call_tool(tool, arguments))
            return {tool.name: tool for tool in tools.tools}, results

    return anyio.run(run)


@pytest.mark.parametrize("number", range(len(CALLS)), ids=lambda number: f"{number}-{CALLS[number][0]}")
def test_a_call_is_judged_by_itself(number, answers):
    _, results = answers
    tool, _, reaches = CALLS[number]
    result = results[number]

    assert result.is_error is not reaches, tool
    if not reaches:
        assert result.structured_content is None or result.structured_content["code"] == "invalid_arguments"


@pytest.mark.parametrize("name", ["choose", "pay"])
def test_a_schema_that_cannot_be_tried_stays_as_it_is(name, answers):
    tools, _ = answers

    assert tools[name].output_schema == hostile_schemas_server.OUTPUTS[name]
