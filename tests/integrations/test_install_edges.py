"""
A guarded `MCPServer` where something beside the tool fails, through a real client.
"""

import anyio
import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, InputRequiredResult, TextContent

import toolfault.integrations.mcp
from toolfault import Guard
from toolfault.integrations.mcp import guarded, install
from toolfault.integrations.mcp._declared_codes import Watch
from toolfault.testing import assert_fault


def call(server, name, arguments=None):
    async def run():
        async with Client(server, raise_exceptions=True) as client:
            return await client.call_tool(name, arguments or {})

    return anyio.run(run)


@pytest.mark.parametrize("fails", [False, True], ids=["", "and its clean-up fails"])
def test_a_tool_that_is_too_slow(fails):
    server = install(MCPServer("slow"), Guard(timeout=0.01))

    @server.tool()
    async def slow() -> str:
        try:
            await anyio.sleep_forever()
        finally:
            if fails:
                raise ValueError("the clean-up failed")

    fault = assert_fault(call(server, "slow"), code="tool_timeout", message="Tool timed out after 10ms")

    assert fault.envelope.cause_chain == (("ValueError: the clean-up failed",) if fails else ())


def test_a_listing_that_raises_costs_no_answer_to_an_unknown_name():
    class Broken(MCPServer):
        async def list_tools(self):
            raise RuntimeError("the listing is broken")

    assert_fault(call(install(Broken("broken")), "nothing"), code="tool_not_found", message="nothing")


def test_a_question_for_the_client_passes():
    server = install(MCPServer("asks"))

    @server.tool()
    async def asks() -> str:
        return "asked"

    passed = InputRequiredResult(input_requests={}, request_state="s")

    async def answer(*_args, **_kwargs):
        return passed

    other = MCPServer("asks")
    other.call_tool = answer
    guarded_server = install(other)

    assert anyio.run(guarded_server.call_tool, "asks", {}) is passed
    assert call(server, "asks").content[0].text == "asked"


def test_an_error_result_without_an_envelope_is_held_against_what_is_declared(caplog):
    server = install(MCPServer("adopts"))

    @server.tool()
    @guarded(fails_with=["quota_exceeded"])
    def adopts() -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text="odd")], is_error=True)

    fault = assert_fault(call(server, "adopts"), message="odd")

    assert f"failed with {fault.code}" in caplog.text


def test_a_failure_without_a_code_is_not_held_against_what_is_declared(caplog):
    watch = Watch()
    watch.notice("tool", "", ("quota_exceeded",))
    assert not caplog.records

    watch.notice("tool", "internal", ("quota_exceeded",))
    assert "failed with internal" in caplog.text


def test_an_unknown_name_of_the_module():
    assert not hasattr(toolfault.integrations.mcp, "nothing")
    assert hasattr(toolfault.integrations.mcp, "retrying")
