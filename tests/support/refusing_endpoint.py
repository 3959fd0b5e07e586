"""
An HTTP endpoint in the place of an MCP server: it initializes a session, and refuses every later request.

Run as a process with a listening socket's number; the tool's name says how to refuse, as in ``429 retry-after=7``.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket


INITIALIZED = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "refusing", "version": "1"},
}


class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method = body.get("method")
        if method == "initialize":
            self.answer(200, {"jsonrpc": "2.0", "id": body["id"], "result": INITIALIZED}, {"mcp-session-id": "s1"})
        elif method == "tools/list":
            hints = {"readOnlyHint": True}
            tools = [{"name": self.path, "inputSchema": {"type": "object"}, "annotations": hints}]
            self.answer(200, {"jsonrpc": "2.0", "id": body["id"], "result": {"tools": tools}})
        elif method == "tools/call":
            status, *headers = body["params"]["name"].split()
            given = dict(header.split("=") for header in headers)
            if given.pop("rpc", None):
                error = {"code": -32602, "message": "Unknown tool: x"}
                self.answer(int(status), {"jsonrpc": "2.0", "id": None, "error": error}, given)
            else:
                self.answer(int(status), "<html><h1>No</h1></html>", {"content-type": "text/html", **given})
        elif "id" in body:
            self.answer(400, "no", {"content-type": "text/plain"})
        else:
            self.answer(202, "")

    def do_GET(self):
        self.answer(405, "")

    def do_DELETE(self):
        self.answer(200, "")

    def answer(self, status, body, headers=None):
        content = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint, bind_and_activate=False)
    server.socket.close()
    server.socket = socket(fileno=int(sys.argv[-1]))
    server.serve_forever()
