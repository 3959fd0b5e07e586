"""
A client over stdio that sees and sends bytes, for a server or for a gateway in front of one.
"""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from threading import Timer


SERVER = [sys.executable, str(Path(__file__).parent / "raw_server.py")]

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}

#: Seconds after which a test that hangs is ended.
PATIENCE = 60


class RawClient:
    """
    Sends lines to a process, and reads its lines.
    """

    def __init__(self, process):
        self.process = process
        self.number = 0

    def write(self, line):
        self.process.stdin.write(line if isinstance(line, bytes) else line.encode())
        self.process.stdin.flush()

    def send(self, message):
        self.write(json.dumps(message) + "\n")

    def read(self):
        line = self.process.stdout.readline()
        assert line, f"the process ended: {self.process.wait(10)}"
        return line

    def request(self, method, params=None, request_id=None):
        """
        Send a request; return its id.
        """
        self.number += 1
        request_id = self.number if request_id is None else request_id
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}})
        return request_id

    def lines(self, method, params=None, request_id=None):
        """
        Send a request; return all lines up to its answer.
        """
        request_id = self.request(method, params, request_id)
        lines = []
        while True:
            lines.append(self.read())
            if f'"id": {json.dumps(request_id)}'.encode() in lines[-1] or is_answer(lines[-1], request_id):
                return lines

    def call(self, tool, arguments=None, **more):
        """
        Call a tool; return the whole answer.
        """
        params = {"name": tool, "arguments": arguments or {}, **more}
        return json.loads(self.lines("tools/call", params)[-1])

    def initialize(self):
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        answer = json.loads(self.lines("initialize", params)[-1])
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def close(self):
        """
        Close the connection; return the exit code.
        """
        self.process.stdin.close()
        return self.process.wait(20)


def is_answer(line, request_id):
    try:
        message = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        return b'"id":' + json.dumps(request_id).encode() in line
    return "method" not in message and type(message.get("id")) is type(request_id) and message["id"] == request_id


@contextmanager
def connected(command, stderr=None, patience=PATIENCE, **variables):
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, **variables},
    )
    timer = Timer(patience, process.kill)
    timer.start()
    try:
        yield RawClient(process)
    finally:
        timer.cancel()
        if process.poll() is None:
            process.terminate()
        process.wait(20)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def gateway(*options, server=SERVER):
    """
    Return the command of a gateway in front of a server.
    """
    return [sys.executable, "-m", "toolfault", "gateway", *options, "--", *server]
