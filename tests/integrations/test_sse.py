"""
The transport of the first revision, server-sent events with a second address for messages.
"""

import anyio
from mcp import Client
from mcp.client.sse import sse_client

from toolfault.testing import assert_fault
from transports import FAULT_SERVER, http_server


def test_a_failure_over_sse():
    async def run(url):
        async with Client(sse_client(url.replace("/mcp", "/sse")), mode="legacy") as client:
            with anyio.fail_after(20):
                result = await client.call_tool("typed_fault", {"city": "Ys"})
                fine = await client.call_tool("typed_ok", {"city": "Oslo"})
        fault = assert_fault(result, code="quota_exceeded", retryable=True, message="Daily quota for Ys is used up")
        assert fault.envelope.retry_after_seconds == 30
        assert result.content[0].text == fault.envelope.message
        assert fine.structured_content == {"city": "Oslo", "degrees": 4.5}

    with http_server(FAULT_SERVER, "sse") as url:
        anyio.run(run, url)
