"""
Thousands of calls through the gateway, 64 at a time, while the server is killed again and again.

Every call is answered once, with its own number; the gateway's memory stays flat; no process is left. ``make soak
[ARGS=--quick]``, which sets PYTHONPATH to tests/support.
"""

import argparse
import collections
import json
import os
import random
import signal
import time
from pathlib import Path

from raw_client import RawClient, connected, gateway
from toolfault import parse


AT_A_TIME = 64
#: How many calls there are between two kills of the server.
KILL_EVERY = 100
#: What the resident memory may grow by in the second half of the calls, in MB.
GROWTH_MB = 4.0


def memory_of(process: int) -> float:
    """
    Return the resident memory of a process in MB.
    """
    pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20


def server_of(process: int) -> int | None:
    """
    Return the running child of a process; None if there is none.
    """
    # A restarted server is the child of another thread.
    lists = [path.read_text().split() for path in Path(f"/proc/{process}/task").glob("*/children")]
    children = [int(child) for each in lists for child in each]
    return children[0] if children else None


def run(client: RawClient, calls: int, chance: random.Random) -> tuple[collections.Counter[str], float]:
    """
    Make the calls; return how they ended, and how much the gateway's memory grew in the second half.
    """
    ways: collections.Counter[str] = collections.Counter()
    waiting: dict[str, str] = {}
    seen: set[str] = set()
    process = client.process.pid
    half = 0.0
    sent = 0
    while sent < calls or waiting:
        while sent < calls and len(waiting) < AT_A_TIME:
            tool = chance.choice(["ok", "ok", "ok", "weak", "rpc_error", "progress", "noise", "twice"])
            number = f"call {sent}"
            client.request("tools/call", {"name": tool, "arguments": {}}, number)
            waiting[number] = tool
            sent += 1
            if sent == calls // 2:
                half = memory_of(process)
            server = server_of(process) if sent % KILL_EVERY == 0 else None
            if server is not None:
                os.kill(server, signal.SIGKILL)
        message = json.loads(client.read())
        if "method" in message:
            continue
        assert message["id"] in waiting, f"{message['id']} is answered twice" if message["id"] in seen else message
        seen.add(message["id"])
        tool = waiting.pop(message["id"])
        fault = parse(message["result"])
        is_failure = tool in {"weak", "rpc_error"}
        if fault is None:
            assert not is_failure, message
            ways["success"] += 1
            continue
        assert is_failure or fault.code == "mcp_server_unreachable", message
        ways[fault.code.value] += 1
    return ways, memory_of(process) - half


def main() -> None:
    """
    Run the soak; an assertion ends it.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the calls")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    arguments = parser.parse_args()
    calls = 1_000 if arguments.quick else 10_000
    begun = time.monotonic()
    with connected(gateway("--restart", str(calls), "--timeout", "50"), patience=900) as client:
        client.initialize()
        ways, growth = run(client, calls, random.Random(arguments.seed))
        server = server_of(client.process.pid)
        assert client.close() == 0
    assert sum(ways.values()) == calls, ways
    assert growth < GROWTH_MB, f"the gateway grew by {growth:.1f} MB"
    assert server is None or not Path(f"/proc/{server}").exists(), "the server outlived the gateway"
    print(f"gateway: {calls} calls in {time.monotonic() - begun:.0f} s, seed {arguments.seed}: {dict(ways)}")
    print(f"the gateway grew by {growth:.1f} MB in the second half")


if __name__ == "__main__":
    main()
