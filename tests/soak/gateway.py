"""
Thousands of calls through the gateway, 64 at a time, while the server is killed again and again; over stdio, and over
HTTP, where connections are cut besides.

Every call is answered once, with its own number; the gateway's memory stays flat; no process is left. ``make soak
[ARGS=--quick]``, which sets PYTHONPATH to tests/support.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from http_client import HttpClient, listening
from raw_client import MODERN, RawClient, connected, gateway
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


class Remote:
    """
    A server over HTTP, as a process that is killed and started again on the same port.
    """

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.start()

    def start(self) -> None:
        code = (
            f"from remote_server import serving\nwith serving(port={self.port}) as s:\n  print(flush=True)\n  input()"
        )
        command = [sys.executable, "-c", code]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdout.readline()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(20)
        self.process.stdin.close()
        self.process.stdout.close()


#: Tools of the server over HTTP, and the codes with which a call may end; None: a success.
REMOTE_TOOLS = {
    "ok": None,
    "sse_ok": None,
    "iserr": "internal",
    "rpc_error": "internal",
    "s429": "quota_exceeded",
    "close": "mcp_server_unreachable",
    "truncated": "mcp_server_unreachable",
    "sse_cut": "mcp_server_unreachable",
}
UNREACHABLE = "mcp_server_unreachable"


def call_remote(client: HttpClient, number: int, chance: random.Random) -> str:
    """
    Make one call; return how it ended.
    """
    tool = chance.choice(["ok", "ok", "ok", *REMOTE_TOOLS])
    meta = {"progressToken": number, **MODERN}
    got = client.call(tool, f"call {number}", _meta=meta)
    answers = [one for one in got.messages if "method" not in one]
    assert [one["id"] for one in answers] == [f"call {number}"], got
    fault = parse(answers[0]["result"])
    code = None if fault is None else fault.code.value
    assert code in {REMOTE_TOOLS[tool], UNREACHABLE}, got
    return code or "success"


def run_http(calls: int, seed: int) -> tuple[collections.Counter[str], float]:
    """
    Make the calls over HTTP; return how they ended, and how much the gateway's memory grew in the second half.
    """
    ways: collections.Counter[str] = collections.Counter()
    numbers = iter(range(calls))
    lock = threading.Lock()
    remote = Remote()
    half = [0.0]

    def next_number(process) -> int | None:
        with lock:
            number = next(numbers, None)
            if number == calls // 2:
                half[0] = memory_of(process.pid)
            if number and number % KILL_EVERY == 0:
                remote.kill()
                remote.start()
            return number

    def work(process, chance: random.Random) -> None:
        client = HttpClient(process.port)
        while (number := next_number(process)) is not None:
            way = call_remote(client, number, chance)
            with lock:
                ways[way] += 1

    try:
        with listening(remote.url, "--timeout", "50") as process:
            with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
                jobs = [pool.submit(work, process, random.Random(seed + one)) for one in range(AT_A_TIME)]
                for job in jobs:
                    job.result()
            growth = memory_of(process.pid) - half[0]
            last = HttpClient(process.port).call("ok", _meta=MODERN)
            assert parse(last.answer["result"]) is None, last
    finally:
        remote.kill()
    return ways, growth


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
    begun = time.monotonic()
    ways, growth = run_http(calls, arguments.seed)
    assert sum(ways.values()) == calls, ways
    assert growth < GROWTH_MB, f"the gateway over HTTP grew by {growth:.1f} MB"
    print(f"gateway over HTTP: {calls} calls in {time.monotonic() - begun:.0f} s: {dict(ways)}")
    print(f"the gateway over HTTP grew by {growth:.1f} MB in the second half")


if __name__ == "__main__":
    main()
