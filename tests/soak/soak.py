"""
Thousands of calls, one in three failing in a random way, 64 at a time, over stdio and HTTP, in both protocol eras.

Every call is answered, with its own number; the server's memory stays flat; and clients that vanish in the middle of
their calls harm no one else. ``make soak [ARGS="--quick --seed 1"]``, which sets PYTHONPATH to tests/support.
"""

import argparse
import collections
import json
import logging
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import anyio
from mcp import Client, StdioServerParameters

from toolfault import parse
from transports import http_server


SERVER = Path(__file__).parent / "server.py"
AT_A_TIME = 64
SECONDS = 900
#: What the resident memory may grow by in the second half of the calls: some arenas, and no calls.
GROWTH_MB = 4.0

#: way, code, whether the message says the number
FAILURES = [
    ("fault", "quota_exceeded", True),
    ("on purpose", "invalid_arguments", True),
    ("host error", "internal", True),
    ("accident", "tool_panicked", True),
    ("exit", "tool_panicked", True),
    ("no exception", "tool_panicked", True),
    ("group", "internal", False),
    ("stray cancel", "tool_panicked", False),
    ("surrogate", "invalid_arguments", True),
    ("large", "invalid_arguments", True),
    ("thread", "tool_panicked", True),
    ("wrong output", "internal", False),
    ("slow", "tool_timeout", False),
    ("unknown tool", "tool_not_found", True),
    ("bad argument", "invalid_arguments", True),
]


class Tally:
    """
    What came back; each call is answered once, with its own number.
    """

    def __init__(self) -> None:
        self.ways: collections.Counter[str] = collections.Counter()
        self.ids: set[str] = set()

    async def call(self, client: Client, number: int, chance: random.Random) -> None:
        """
        Make one call, and check that the answer is the answer to it.
        """
        if chance.randrange(3):
            result = await client.call_tool("work", {"number": number, "way": "fine"})
            assert not result.is_error, result
            assert result.structured_content == {"number": number, "text": f"call {number}"}, (number, result)
            self.ways["success"] += 1
            return
        way, code, says = chance.choice(FAILURES)
        if way == "unknown tool":
            result = await client.call_tool(f"call {number}", {})
        elif way == "bad argument":
            result = await client.call_tool("work", {"number": number, "way": "fine", "table": {f"call {number}": "x"}})
        elif way == "slow":
            result = await client.call_tool("slow", {"number": number})
        else:
            result = await client.call_tool("work", {"number": number, "way": way})
        fault = parse(result)
        assert fault is not None, (way, result)
        assert result.structured_content is not None, (way, result)
        assert fault.code == code, (way, result)
        assert result.content[0].text == fault.envelope.message, (way, result)
        if says:
            assert f"call {number}" in fault.envelope.message.split("\n")[0], (way, number, result)
            assert not fault.envelope.message.split(f"call {number}")[1][:1].isdigit(), (way, number, result)
        self.ways[way] += 1
        self.ids.add(fault.facts["id"])


def resident_mb(pid: int) -> float:
    """
    Return what the process holds in memory; 0 where there is no /proc.
    """
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return 0.0


async def state(client: Client) -> dict[str, int]:
    return (await client.call_tool("state", {})).structured_content


async def pool(clients: list[Client], numbers: Iterator[int], tally: Tally, chance: random.Random) -> None:
    """
    Make all the calls, 64 at a time.
    """

    async def worker(client: Client) -> None:
        for number in numbers:
            await tally.call(client, number, chance)

    async with anyio.create_task_group() as group:
        for place in range(AT_A_TIME):
            group.start_soon(worker, clients[place % len(clients)])


async def many(clients: list[Client], count: int, chance: random.Random) -> str:
    """
    Make the calls in ten parts, and look at the server's memory after each.
    """
    tally = Tally()
    pid = (await state(clients[0]))["pid"]
    started = time.monotonic()
    sizes = []
    for part in range(10):
        await pool(clients, iter(range(part * count // 10, (part + 1) * count // 10)), tally, chance)
        sizes.append(resident_mb(pid))
    seconds = time.monotonic() - started
    failed = sum(tally.ways.values()) - tally.ways["success"]
    assert sum(tally.ways.values()) == count, tally.ways
    assert len(tally.ids) == failed, "two failures with one id"
    assert set(tally.ways) == {"success", *(way for way, *_ in FAILURES)}, tally.ways
    grown = sizes[-1] - sizes[4]
    points = " ".join(f"{size:.1f}" for size in sizes)
    assert grown < GROWTH_MB, f"the server grew by {grown:.1f} MB in the second half: {points}"
    memory = f"server's MB: {points}" if sizes[-1] else "no /proc: memory not measured"
    return f"{count} calls, {failed} failed as told, {count / seconds:.0f} calls/s; {memory}"


async def gives_up(client: Client, number: int, chance: random.Random) -> None:
    """
    Make calls that end and calls that never do, and leave when a random number of the former have ended.
    """
    left = chance.randrange(1, 6)
    async with anyio.create_task_group() as group:

        async def ends(own: int) -> None:
            nonlocal left
            await Tally().call(client, own, chance)
            left -= 1
            if not left:
                group.cancel_scope.cancel()

        for place in range(8):
            group.start_soon(ends, number * 100 + place)
            group.start_soon(client.call_tool, "forever", {"number": number * 100 + place})


async def cut_off(url: str, number: int, chance: random.Random) -> None:
    """
    Send a call that never ends, or a part of it, and close the connection.
    """
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "soak", "version": "1"},
    }
    params = {"name": "forever", "arguments": {"number": -number}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()
    target = urlsplit(url)
    head = (
        f"POST {target.path} HTTP/1.1\r\nHost: {target.netloc}\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
        f"Mcp-Method: tools/call\r\nMcp-Name: forever\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    request = head + body
    async with await anyio.connect_tcp(target.hostname, target.port) as stream:
        await stream.send(request[: chance.choice([len(head), len(request) - 20, len(request)])])


async def all_ended(client: Client) -> int:
    """
    Wait until the server has ended all the calls that nobody waits for, and return their number.

    Each question is a round trip.
    """
    with anyio.fail_after(60):
        while (now := await state(client))["running"]:
            pass
    assert now["started"]
    return now["started"]


async def disconnects(way: str, mode: str, target: object, client: Client, count: int, chance: random.Random) -> str:
    """
    Let clients vanish, and see that the server ends their calls and answers all others.
    """
    if way == "stdio":
        for number in range(count):
            await gives_up(client, number, chance)
    else:

        async def one(number: int) -> None:
            async with limit, Client(target, mode=mode) as other:
                await gives_up(other, number, chance)

        limit = anyio.CapacityLimiter(8)
        async with anyio.create_task_group() as group:
            for number in range(count):
                group.start_soon(one, number)
        for number in range(1, count + 1):
            await cut_off(target, number, chance)
    ended = await all_ended(client)
    tally = Tally()
    await pool([client], iter(range(300)), tally, chance)
    assert sum(tally.ways.values()) == 300, tally.ways
    cut = "" if way == "stdio" else f", and {count} connections cut off in the middle of a request"
    return f"{count} times a client gave up its calls{cut}; {ended} calls were ended, and 300 more answered"


async def soak(way: str, mode: str, target: object, count: int, seed: int) -> None:
    """
    Both phases against one server.
    """
    chance = random.Random(f"{seed} {way} {mode}")
    with anyio.fail_after(SECONDS):
        async with Client(target, mode=mode) as client:
            print(f"{way:5} {mode:6} {await many([client], count, chance)}", flush=True)
            gone = await disconnects(way, mode, target, client, count // 50, chance)
            print(f"{way:5} {mode:6} {gone}", flush=True)


def main() -> None:
    """
    Run all of it, or fail with what came back wrong.
    """
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--quick", action="store_true", help="1,500 calls instead of 10,000 over each transport")
    words.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    given = words.parse_args()
    print(f"==> soak, --seed {given.seed}", flush=True)
    # The client says so when it vanishes itself.
    logging.getLogger("mcp.client").setLevel(logging.CRITICAL)
    for way in ("stdio", "http"):
        for mode in ("auto", "legacy"):
            with ExitStack() as stack:
                target = StdioServerParameters(command=sys.executable, args=[str(SERVER), "stdio"])
                if way == "http":
                    target = stack.enter_context(http_server(SERVER, "http"))
                anyio.run(soak, way, mode, target, 1_500 if given.quick else 10_000, given.seed)
    print("every call was answered, and none mixed up")


if __name__ == "__main__":
    main()
