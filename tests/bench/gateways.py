"""
What the gateway costs beside a direct connection and beside other bridges: the first answer, and each call.

Calls are made in turn, batch by batch, over raw pipes and sockets. A row shows the median, and what it is more than a
direct connection in the same round; the first row of each block is measured twice, so that noise shows. Nothing here
asserts; machines differ.

``python tests/bench/gateways.py [--quick] [--fastmcp PYTHON] [--mcp-proxy PROGRAM]``, with tests/support in PYTHONPATH
"""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


SUPPORT = Path(__file__).parents[1] / "support"
RAW_SERVER = [sys.executable, str(SUPPORT / "raw_server.py")]
GATEWAY = [sys.executable, "-m", "toolfault", "gateway"]

#: A server of streamable HTTP, as a process; it prints its URL.
REMOTE_SERVER = [
    sys.executable,
    "-c",
    "from remote_server import serving\nwith serving() as server:\n    print(server.url, flush=True)\n    input()\n",
]

#: FastMCP's proxy: its front and its server are given behind it.
FASTMCP = """
import sys
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy
front, *server = sys.argv[1:]
target = server[0] if server[0].startswith("http") else StdioTransport(server[0], server[1:])
proxy = create_proxy(target)
if front == "stdio":
    proxy.run("stdio", show_banner=False, log_level="CRITICAL")
else:
    proxy.run("http", host="127.0.0.1", port=int(front), show_banner=False, log_level="CRITICAL")
"""

INITIALIZE: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Wire(Protocol):
    """
    A connection that sends a message and returns the answer to it.
    """

    def ask(self, message: dict[str, Any]) -> bytes:
        """
        Send a request; return its answer.
        """
        ...

    def tell(self, message: dict[str, Any]) -> None:
        """
        Send a notification.
        """
        ...


class Pipes:
    """
    A process on stdio.
    """

    def __init__(self, command: list[str]) -> None:
        """
        Start the process.
        """
        self.process = subprocess.Popen(  # noqa: S603 -- our own programs, and those of the command line
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def tell(self, message: dict[str, Any]) -> None:
        """
        Send a notification.
        """
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, message: dict[str, Any]) -> bytes:
        """
        Send a request; return its answer.
        """
        assert self.process.stdout is not None
        self.tell(message)
        while line := self.process.stdout.readline():
            if json.loads(line).get("id") == message["id"]:
                return line
        raise EOFError

    def close(self) -> None:
        """
        End the process.
        """
        self.process.terminate()
        self.process.wait(20)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


class Connection:
    """
    A connection over HTTP that stays open.
    """

    def __init__(self, url: str) -> None:
        """
        Connect to a server.
        """
        address, _, path = url.removeprefix("http://").partition("/")
        self.path = f"/{path}"
        self.connection = http.client.HTTPConnection(address, timeout=60)
        self.headers = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
        }

    def ask(self, message: dict[str, Any]) -> bytes:
        """
        Send a message; return the body of the answer.
        """
        self.connection.request("POST", self.path, json.dumps(message).encode(), self.headers)
        response = self.connection.getresponse()
        session = response.getheader("mcp-session-id")
        if session is not None:
            self.headers["mcp-session-id"] = session
        return response.read()

    def tell(self, message: dict[str, Any]) -> None:
        """
        Send a notification.
        """
        self.ask(message)


@dataclass(slots=True)
class Way:
    """
    One way to the server.

    Attributes:
        name: What the row says.
        start: Opens it, until the stack ends.
    """

    name: str
    start: Callable[[ExitStack], Wire]


def begin(wire: Wire) -> None:
    """
    Make the handshake.
    """
    wire.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE})
    wire.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
    wire.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})


def time_calls(wire: Wire, tool: str, times: int) -> float:
    """
    Return the median time of a call, in milliseconds.
    """
    spent: list[float] = []
    for number in range(times):
        params: dict[str, Any] = {"name": tool, "arguments": {}}
        message = {"jsonrpc": "2.0", "id": number + 10, "method": "tools/call", "params": params}
        start = time.perf_counter()
        answer = wire.ask(message)
        spent.append(time.perf_counter() - start)
        assert b'"content"' in answer, answer
    return statistics.median(spent) * 1000


def time_first(way: Way, rounds: int) -> float:
    """
    Return the median time from the start of a process to its first answer, in milliseconds.
    """
    spent: list[float] = []
    for _ in range(rounds):
        with ExitStack() as stack:
            start = time.perf_counter()
            wire = way.start(stack)
            wire.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE})
            spent.append(time.perf_counter() - start)
    return statistics.median(spent) * 1000


def compare(title: str, ways: list[Way], failing: str, rounds: int) -> None:
    """
    Print a block: all ways to one server.
    """
    print(f"\n{title:<44} {'first answer':>18} {'call':>18} {'failing call':>18}   ms, more than direct")
    firsts = [time_first(way, max(3, rounds // 3)) for way in ways]
    calls: dict[str, list[list[float]]] = {tool: [] for tool in ("ok", failing)}
    with ExitStack() as stack:
        wires = [way.start(stack) for way in ways]
        for wire in wires:
            begin(wire)
        for tool, table in calls.items():
            for wire in wires:
                time_calls(wire, tool, 10)
            for _ in range(rounds):
                table.append([time_calls(wire, tool, 40) for wire in wires])
    for column, way in enumerate(ways):
        cells = [show(firsts[column], firsts[column] - firsts[0])]
        for table in calls.values():
            value = statistics.median(row[column] for row in table)
            more = statistics.median(row[column] - row[0] for row in table)
            cells.append(show(value, more))
        print(f"{way.name:<44} {' '.join(cells)}")


def show(value: float, more: float) -> str:
    """
    Return a value and what it is more than another.
    """
    digits = 0 if value >= 100 else 2
    return f"{value:>9.{digits}f} {more:>+8.{digits}f}"


# ---- the ways


def over_pipes(name: str, command: list[str]) -> Way:
    """
    Return a way that is a process on stdio.
    """

    def start(stack: ExitStack) -> Wire:
        pipes = Pipes(command)
        stack.callback(pipes.close)
        return pipes

    return Way(name, start)


def over_http(name: str, url: str, command: Callable[[int], list[str]] | None = None) -> Way:
    """
    Return a way that is a server at a URL, or a process that listens in front of it.
    """

    def start(stack: ExitStack) -> Wire:
        target = url if command is None else stack.enter_context(listening(command))
        connection = Connection(target)
        stack.callback(connection.connection.close)
        return connection

    return Way(name, start)


@contextmanager
def listening(command: Callable[[int], list[str]]) -> Generator[str]:
    """
    Run a process that listens on a free port; yield its URL as soon as it accepts connections.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    process = subprocess.Popen(command(port), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)  # noqa: S603 -- as above
    try:
        while not accepts(port):
            time.sleep(0.005)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(20)


def accepts(port: int) -> bool:
    """
    Tell whether something listens on a port.
    """
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def main() -> None:
    """
    Print every block.
    """
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="fewer rounds")
    options.add_argument("--fastmcp", help="a Python that has FastMCP, to measure its proxy")
    options.add_argument("--mcp-proxy", help="the program of the package mcp-proxy")
    given = options.parse_args()
    rounds = 5 if given.quick else 15

    def fastmcp(front: str, *server: str) -> list[str]:
        return [given.fastmcp, "-c", FASTMCP, front, *server]

    pipes = [
        over_pipes("direct", RAW_SERVER),
        over_pipes("direct, again", RAW_SERVER),
        over_pipes("toolfault gateway -- COMMAND", [*GATEWAY, "--", *RAW_SERVER]),
    ]
    if given.fastmcp:
        pipes.append(over_pipes("FastMCP's proxy", fastmcp("stdio", *RAW_SERVER)))
    compare("stdio", pipes, "weak", rounds)

    with subprocess.Popen(REMOTE_SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603 -- as above
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        http_ways = [
            over_http("direct", url),
            over_http("direct, again", url),
            over_http(
                "toolfault gateway --listen ... URL",
                url,
                lambda port: [*GATEWAY, "--listen", f"127.0.0.1:{port}", url],
            ),
        ]
        bridges = [
            over_http("direct, over HTTP", url),
            over_pipes("toolfault gateway URL", [*GATEWAY, url]),
        ]
        if given.fastmcp:
            http_ways.append(over_http("FastMCP's proxy", url, lambda port: fastmcp(str(port), url)))
            bridges.append(over_pipes("FastMCP's proxy", fastmcp("stdio", url)))
        if given.mcp_proxy:
            words = [given.mcp_proxy, "--transport", "streamablehttp", url]
            bridges.append(over_pipes("mcp-proxy", words))
        compare("HTTP", http_ways, "iserr", rounds)
        compare("stdio to a URL", bridges, "iserr", rounds)
        process.terminate()


if __name__ == "__main__":
    main()
