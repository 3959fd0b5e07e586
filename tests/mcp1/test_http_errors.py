"""
HTTP errors of an endpoint, through the client of mcp 1.x: a real server process that refuses.
"""

import anyio
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from toolfault import parse
from toolfault.integrations.mcp import keep_http_errors
from transports import HERE, http_server


#: How the endpoint refuses; code, retryable and wait with the hook.
REFUSALS = [
    ("401", ("permission_denied", False, None), "401"),
    ("403", ("permission_denied", False, None), "403"),
    ("429", ("quota_exceeded", True, None), "429"),
    ("429 retry-after=7", ("quota_exceeded", True, 7), "429"),
    ("500", ("internal", True, None), "500"),
    ("502", ("mcp_server_unreachable", True, None), "502"),
    ("503 retry-after=3", ("mcp_server_unreachable", True, 3), "503"),
    ("413", ("invalid_arguments", False, None), "413"),
    ("400 rpc=1", ("tool_not_found", False, None), "Unknown tool: x"),
]


@pytest.fixture(scope="module")
def url():
    with http_server(HERE / "refusing_endpoint.py") as address:
        yield address


@pytest.mark.parametrize(("refusal", "read", "words"), REFUSALS, ids=[row[0] for row in REFUSALS])
def test_the_hook_keeps_status_and_wait(url, refusal, read, words):
    async def run():
        http_client = keep_http_errors(create_mcp_http_client())
        async with (
            http_client,
            streamable_http_client(url, http_client=http_client) as (reader, writer, _),
            ClientSession(reader, writer) as session,
        ):
            await session.initialize()
            with pytest.raises(Exception) as caught:
                await session.call_tool(refusal, {})
            # The connection holds.
            with pytest.raises(type(caught.value)):
                await session.call_tool(refusal, {})
            return parse(caught.value)

    fault = anyio.run(run)

    assert (fault.code, fault.retryable, fault.retry_after_seconds) == read
    assert words in fault.message
