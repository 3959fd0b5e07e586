"""
Tools that do what no tool should: a stdio server answers each, and lives.
"""

import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

import hostile_server


NAMES = sorted(tool.name for tool in anyio.run(hostile_server.server.list_tools))


@pytest.fixture(scope="module", params=["auto", "legacy"])
def answers(request):
    script = Path(hostile_server.__file__)

    async def run():
        came = {}
        target = StdioServerParameters(command=sys.executable, args=[str(script)])
        async with Client(target, mode=request.param) as client:
            for name in NAMES:
                with anyio.fail_after(20):
                    came[name] = await client.call_tool(name, {})
                with anyio.fail_after(20):
                    assert (await client.call_tool("ok", {})).content[0].text == "fine"
        return came

    return anyio.run(run)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_answered(name, answers):
    result = answers[name]

    assert result.is_error is (name != "ok" and (not name.startswith("surrogate") or name.endswith("envelope")))
    if result.is_error:
        assert result.structured_content["code"] == "internal"
    assert "\ud800" not in str(result)
