"""
Several processes behind one port, without sessions: which of them answers makes no difference.
"""

import anyio
import pytest
from mcp import Client

from toolfault.testing import assert_fault
from transports import FAULT_SERVER, http_server


CLIENTS = 20
CALLS = 10


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_every_worker_answers_with_an_envelope(era):
    async def calls(client, processes):
        async def one():
            result = await client.call_tool("names_its_process", {})
            fault = assert_fault(result, code="internal", retryable=True)
            assert result.content[0].text == fault.envelope.message
            processes.append(fault.envelope.message)

        async with anyio.create_task_group() as group:
            for _ in range(CALLS):
                group.start_soon(one)

    async def run(url):
        async def one():
            async with Client(url, mode=era) as client:
                await calls(client, processes)

        processes = []
        with anyio.fail_after(180):
            # One worker may be up before the other; then all of it is done again.
            while len(set(processes)) < 2:
                processes.clear()
                async with anyio.create_task_group() as group:
                    for _ in range(CLIENTS):
                        group.start_soon(one)
                assert len(processes) == CLIENTS * CALLS

    with http_server(FAULT_SERVER, "workers") as url:
        anyio.run(run, url)
