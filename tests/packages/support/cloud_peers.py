"""
A gRPC server, an HTTP server and odd sockets on the loopback interface, and what the tables say of what they cause.
"""

import importlib
import json
import socket
import ssl
import threading
from concurrent import futures
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import grpc

from toolfault._codes import DEFAULTS
from toolfault._names import qualified_name
from toolfault.rules import DEFAULT


INTERNAL = ("internal", "permanent", False)
OUTAGE = ("internal", "transient", True)
LOGIN = ("internal", "auth", False)
PANICKED = ("tool_panicked", "permanent", False)
ARGUMENTS = ("invalid_arguments", "validation", False)
DENIED = ("permission_denied", "auth", False)
BLOCKED = ("network_blocked", "permanent", False)
QUOTA = ("quota_exceeded", "transient", True)
USED_UP = ("quota_exceeded", "permanent", False)
LATE = ("tool_timeout", "transient", True)

#: Stands in every detail, URL, key and body; no envelope may hold it.
SECRET = "NOTREAL-s3cr3t"
ACCOUNT = "123456789012"
ARN = f"arn:aws:iam::{ACCOUNT}:role/NOTREAL-role"
PLANTED = (SECRET, ACCOUNT, "NOTREAL", "127.0.0.1", "localhost", "arn:aws")

#: Raises an exception as a library does, whose code is not the author's of a tool.
VENDOR = {"__name__": "vendor.client"}
exec("def raising(exc):\n    raise exc\n", VENDOR)
raising = VENDOR["raising"]

CERTIFICATE = Path(__file__).parents[2] / "rules" / "self_signed.pem"


def facts(exc):
    """
    Code, category and retryable by the tables alone, defaults resolved; a wrapper's are those of what is inside.
    """
    verdict = DEFAULT.verdict_on(exc)[1]
    if verdict.judge_instead is not None:
        return facts(verdict.judge_instead)
    category, retryable = DEFAULTS[verdict.code]
    return (
        verdict.code.value,
        (category if verdict.category is None else verdict.category).value,
        retryable if verdict.retryable is None else verdict.retryable,
    )


def all_text(fault):
    """
    Everything of a fault that leaves the server.
    """
    return json.dumps({"envelope": fault.envelope.to_wire(), "facts": fault.facts}, default=str)


def exported(module):
    """
    The exception classes that a module has under any name.
    """
    found = importlib.import_module(module)
    values = [getattr(found, name, None) for name in {*vars(found), *getattr(found, "__all__", ())}]
    return {cls for cls in values if isinstance(cls, type) and issubclass(cls, BaseException)}


def telling_base(cls):
    """
    The name of the nearest class of an exception that is built in; of one that says nothing: None.
    """
    for base in cls.__mro__:
        if base.__module__ == "builtins":
            return None if base in {Exception, BaseException, object} else qualified_name(base)
    return None


def rule_of(exc):
    """
    The name of the row that speaks for an exception.
    """
    return DEFAULT.verdict_on(exc)[0]


class Handler(grpc.GenericRpcHandler):
    """
    Answers ``/status/STATUS`` with that status, and with what the request holds as trailing metadata.
    """

    def service(self, details):
        _, kind, name = details.method.split("/")
        answer = getattr(self, f"_{kind}", None)
        if answer is None:
            return None
        if kind == "stream":
            return grpc.unary_stream_rpc_method_handler(lambda request, context: answer(name, request, context))
        return grpc.unary_unary_rpc_method_handler(lambda request, context: answer(name, request, context))

    def _status(self, name, request, context):
        context.set_trailing_metadata(tuple(METADATA.get(request, ())))
        context.abort(grpc.StatusCode[name], f"{SECRET} of {ARN}")

    def _stream(self, name, request, context):
        yield b"first"
        self._status(name, request, context)

    def _mute(self, name, request, context):
        ended = threading.Event()
        if context.add_callback(ended.set):
            ended.wait(10)
        return b""

    def _large(self, name, request, context):
        return b"x" * 5000

    def _crash(self, name, request, context):
        raise KeyError(SECRET)

    def _daily(self, name, request, context):
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"Quota of {ARN} exceeded: requests per day")


#: Trailing metadata that a request asks for by its content.
METADATA = {}


@contextmanager
def grpc_server():
    """
    The address of a gRPC server.
    """
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((Handler(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0).wait()


class Answer(BaseHTTPRequestHandler):
    """
    Answers any request with the status, headers and body that were put under its path.
    """

    protocol_version = "HTTP/1.1"
    answers: dict = {}

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, headers, body = self.answers[self.path.partition("?")[0]]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_POST = do_PUT = do_HEAD = do_DELETE = do_GET

    def log_message(self, *args):
        pass


@contextmanager
def http_server():
    """
    The address of an HTTP server, and a function that puts an answer under a path.
    """
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}"

        def put(path, status, body=b"", **headers):
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            Answer.answers[path] = (status, named, body if isinstance(body, bytes) else json.dumps(body).encode())
            return f"{address}{path}"

        try:
            yield address, put
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def peer(answer):
    """
    The port of a server for one connection, handled by a function of its socket.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            try:
                connection, _ = listener.accept()
                with connection:
                    answer(connection)
            except OSError:
                pass

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            # Wakes the accept of a server that nobody called.
            with socket.socket() as waker:
                waker.connect_ex(listener.getsockname())
            thread.join()


def saying(data):
    """
    A peer that says the same to everyone who has said something.
    """

    def answer(connection):
        connection.recv(65536)
        connection.sendall(data)

    return answer


def self_signed(connection):
    """
    A peer that shows a certificate which nobody trusts.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with context.wrap_socket(connection, server_side=True) as secure:
        secure.recv(1)


@contextmanager
def refused():
    """
    A port on which nobody listens.
    """
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@contextmanager
def mute():
    """
    A port on which connections are made, and nothing is ever said.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@contextmanager
def full():
    """
    A port whose queue of connections is full, so that no more are made.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(8)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(listener.getsockname())
        try:
            yield listener.getsockname()[1]
        finally:
            for each in waiting:
                each.close()
