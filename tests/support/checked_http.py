"""
The servers of `checked_server` over HTTP, in a thread, and their flaws of the transport.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from checked_server import Flawed, Server


def make_handler(server, *, is_flawed):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            try:
                message = json.loads(body)
            except ValueError:
                error = {"code": -32700, "message": "Parse error"}
                self.answer(200 if is_flawed else 400, {"jsonrpc": "2.0", "id": None, "error": error})
                return
            method = message.get("method") if isinstance(message, dict) else None
            version = self.headers.get("mcp-protocol-version", "2025-11-25")
            if method is not None and "id" in message and method != "initialize" and not is_flawed:
                refusal = self.refuse(version)
                if refusal is not None:
                    self.answer(
                        refusal, {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32600, "message": "no"}}
                    )
                    return
            if method is None or "id" not in message:
                self.answer(202, None)
                return
            if server.is_silent(message):
                # Until the client gives up.
                self.rfile.read(1)
                self.close_connection = True
                return
            sent = []
            server.send = sent.append
            server.handle(message)
            for one in sent:
                self.answer(200, one)

        def refuse(self, version):
            if version != "2025-11-25":
                return 400
            return None if self.headers.get("mcp-session-id") == "one" else 404

        def do_DELETE(self):
            self.answer(200, None)

        def answer(self, status, message):
            body = b"" if message is None else json.dumps(message).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("mcp-session-id", "one")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


class Good(Server):
    def is_silent(self, message):
        return False


class FlawedOverHttp(Flawed):
    """
    Of its tools none ends the process, which is that of the tests.
    """

    tools = tuple(one for one in Flawed.tools if one["name"] != "dies")

    def is_silent(self, message):
        return (message.get("params") or {}).get("name") == "hangs"


@contextmanager
def serving(*, is_flawed):
    """
    Run a server; yields its URL.
    """
    made = FlawedOverHttp() if is_flawed else Good()
    with ThreadingHTTPServer(("127.0.0.1", 0), make_handler(made, is_flawed=is_flawed)) as http:
        http.daemon_threads = True
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}/mcp"
        finally:
            http.shutdown()
            thread.join()
