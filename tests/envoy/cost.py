"""
What the processor costs: the median of a call through Envoy with it and without, in milliseconds. ``make bench-envoy``
"""

import http.client
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from envoy_process import envoy
from raw_client import MODERN
from remote_server import serving


ROUNDS, CALLS = 15, 40


def time_calls(connection, tool):
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "_meta": MODERN}}
    body = json.dumps(message).encode()
    spent = []
    for _ in range(CALLS):
        start = time.perf_counter()
        connection.request("POST", "/mcp", body, {"accept": "application/json, text/event-stream"})
        connection.getresponse().read()
        spent.append(time.perf_counter() - start)
    return statistics.median(spent) * 1000


def main():
    """
    Print a row for a success and one for a failure.
    """
    with serving() as first, serving() as second, tempfile.TemporaryDirectory() as folder:
        ports = [first.port, second.port]
        with envoy(Path(folder), ports) as (judged, _), envoy(Path(folder), ports, is_plain=True) as (plain, _):
            wires = [http.client.HTTPConnection("127.0.0.1", port, timeout=20) for port in (plain, judged)]
            for tool in ("ok", "iserr"):
                rows = [[time_calls(wire, tool) for wire in wires] for _ in range(ROUNDS + 1)][1:]
                without, with_it = (statistics.median(row[column] for row in rows) for column in (0, 1))
                sys.stdout.write(f"{tool:<6} without {without:.2f} ms, with the processor {with_it:.2f} ms\n")
            for wire in wires:
                wire.close()


if __name__ == "__main__":
    main()
