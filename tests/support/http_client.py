"""
A client over HTTP that sees and sends bytes, and the gateway as a process in front of a server.
"""

import http.client
import json
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import NamedTuple


ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}

#: Seconds after which a test that hangs is ended.
PATIENCE = 30


class Got(NamedTuple):
    """
    One answer: the status, the headers with names in lower case, and the bytes of the body.
    """

    status: int
    headers: dict
    body: bytes

    @property
    def messages(self):
        """
        The messages of a body or of a stream.
        """
        if not self.headers.get("content-type", "").startswith("text/event-stream"):
            return [json.loads(self.body)] if self.body else []
        lines = self.body.decode("utf-8-sig").replace("\r\n", "\n").split("\n\n")
        data = ["\n".join(one[5:].strip() for one in each.split("\n") if one.startswith("data:")) for each in lines]
        return [json.loads(one) for one in data if one]

    @property
    def answer(self):
        """
        The last message.
        """
        return self.messages[-1]


class HttpClient:
    """
    Sends requests to a port, each on a connection of its own.
    """

    def __init__(self, port, path="/mcp"):
        self.port = port
        self.path = path
        self.session = None
        self.number = 0

    def open(self, method, body=None, headers=None, path=None):
        """
        Send a request; return its connection.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {**ACCEPT, **({"mcp-session-id": self.session} if self.session else {}), **(headers or {})}
        connection.request(method, path or self.path, data, sent)
        return connection

    def send(self, method, body=None, headers=None, path=None):
        """
        Send a request; return the whole answer.
        """
        connection = self.open(method, body, headers, path)
        try:
            response = connection.getresponse()
            named = {name.lower(): value for name, value in response.getheaders()}
            return Got(response.status, named, response.read())
        finally:
            connection.close()

    def post(self, method, params=None, request_id=None, headers=None):
        self.number += 1
        request_id = self.number if request_id is None else request_id
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}
        return self.send("POST", message, headers)

    def call(self, tool, request_id=None, headers=None, **more):
        return self.post("tools/call", {"name": tool, "arguments": {}, **more}, request_id, headers)

    def initialize(self):
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        got = self.post("initialize", params)
        self.session = got.headers.get("mcp-session-id")
        self.send("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return got


@contextmanager
def listening(url, *options, address="127.0.0.1:0", **more):
    """
    Run a gateway in front of a server; yield its process, with its port and what it says.
    """
    command = [sys.executable, "-m", "toolfault", "gateway", "--listen", address, *options, url]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **more)
    first = process.stderr.readline()
    assert "listening on http://" in first, first + process.stderr.read()
    process.port = int(first.rpartition(":")[2].partition("/")[0])
    process.said = []
    reader = threading.Thread(target=lambda: process.said.extend(process.stderr))
    reader.start()
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(20)
        reader.join(20)
        process.stderr.close()
