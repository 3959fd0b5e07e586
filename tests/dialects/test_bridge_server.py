"""
A failure that began in another vocabulary, through a real server of MCP: what its client gets, and what goes home.
"""

import json

import pytest
from mcp import Client
from mcp.server import MCPServer

from toolfault import Disclosure, Guard, ToolFault, parse
from toolfault.dialects import MemoryStore, a2a, a2c_smcp
from toolfault.integrations.mcp import install


pytestmark = pytest.mark.anyio

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
ACK = {
    "code": 4017,
    "message": "Not accessible",
    "details": {"reason": "forbidden", "rel_path": "xyzzy", "pad": "p" * 900},
}
SECRETIVE = {**ACK, "details": {**ACK["details"], "password": "opensesame", "key": KEY}}
GONE = {"code": -32001, "message": "no task", "data": [{"@type": a2a.ERROR_INFO, "reason": "TASK_NOT_FOUND", "domain": a2a.DOMAIN, "metadata": {"taskId": "t"}}]}  # fmt: skip
QUOTA = ToolFault("quota_exceeded", "Used up", retry_after_seconds=9, hint="Ask tomorrow.", causes=["HTTP 429"])


async def answer(fault, **options):
    server = install(MCPServer("s"), Guard(**options))

    @server.tool()
    async def fail() -> str:
        raise fault

    async with Client(server) as client:
        result = await client.call_tool("fail", {})
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


@pytest.mark.parametrize(("dialect", "body"), [(a2c_smcp, ACK), (a2a, GONE)])
async def test_an_original_goes_home_through_a_server(dialect, body):
    fault = dialect.decode(body)

    there = parse(await answer(fault))

    assert there.envelope == fault.envelope
    assert dialect.encode(there) == body


async def test_an_envelope_that_crossed_another_vocabulary_arrives_whole():
    assert parse(await answer(a2a.decode(a2a.encode(QUOTA)))).envelope == QUOTA.envelope


async def test_secrets_of_an_original_stay_behind_and_its_details_are_in_no_text():
    result = await answer(a2c_smcp.decode(SECRETIVE))

    assert [word for word in (KEY, "opensesame") if word in json.dumps(result)] == []
    assert "xyzzy" not in json.dumps([result["content"], result["structuredContent"]])
    assert a2c_smcp.encode(parse(result))["code"] == 4017


async def test_where_texts_are_withheld_only_the_code_and_a_handle_leave():
    store = MemoryStore()

    bare = await answer(a2c_smcp.decode(ACK), disclosure=Disclosure.WITHHELD)
    handed = await answer(a2c_smcp.decode(ACK, store=store), disclosure=Disclosure.WITHHELD)

    assert "xyzzy" not in json.dumps([bare, handed])
    assert parse(bare).code == "permission_denied"
    assert a2c_smcp.encode(parse(handed), store=store) == ACK
