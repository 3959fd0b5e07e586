"""
A service on the loopback interface that fails as it is told, for the SDKs of real services.
"""

import json
import socket
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


#: Stands in every body; no message may hold it.
SECRET = "NOTREAL-s3cr3t"


class Answer(NamedTuple):
    """
    What the service answers to every request.
    """

    status: int
    headers: dict[str, str]
    body: bytes
    content_type: str = "application/json"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.server.answer
        if answer is None:  # silence, until the client goes away
            self.connection.settimeout(30)
            with suppress(OSError):
                self.connection.recv(1)
            self.close_connection = True
            return
        self.send_response_only(answer.status)
        for name, value in {
            "Content-Type": answer.content_type,
            "Content-Length": str(len(answer.body)),
            "Connection": "close",
            **answer.headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)
        self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = answer

    def log_message(self, *_args):
        pass


@contextmanager
def service(answer):
    """
    Run the service; yield its URL. None: it takes requests and never answers.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.answer = answer
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def refusing_url():
    """
    Return the URL of a port that nothing listens on.
    """
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def json_answer(status, body, **headers):
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(body).encode())
