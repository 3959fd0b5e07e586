"""
What the tests of the tables share.
"""

import asyncio
import inspect
import socket
import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from toolfault._codes import DEFAULTS
from toolfault.rules import DEFAULT


@pytest.fixture
def verdict_on():
    """
    What the tables say of an exception.
    """

    def ask(exc):
        found = DEFAULT.verdict_on(exc)
        assert found is not None
        return found[1]

    return ask


@pytest.fixture
def facts(verdict_on):
    """
    Code, category and retryable of an exception, defaults resolved.
    """

    def ask(exc):
        verdict = verdict_on(exc)
        category, retryable = DEFAULTS[verdict.code]
        return (
            verdict.code.value,
            (category if verdict.category is None else verdict.category).value,
            retryable if verdict.retryable is None else verdict.retryable,
        )

    return ask


@pytest.fixture
def caught():
    """
    What a function raises, awaited if need be.
    """

    def run(fail):
        try:
            if inspect.iscoroutinefunction(fail):
                asyncio.run(fail())
            else:
                fail()
        except BaseException as exc:
            return exc
        raise AssertionError(f"{fail} did not fail")

    return run


class Answer(BaseHTTPRequestHandler):
    """
    Answers ``/STATUS`` with that status, with the headers in the query, and with the path as the body.
    """

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, _, query = self.path.partition("?")
        self.send_response(int(path.strip("/")))
        for pair in filter(None, query.split("&")):
            name, _, value = pair.partition("=")
            if name.startswith("h-"):
                self.send_header(name[2:], value.replace("+", " "))
        body = b"secret body of the upstream"
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def upstream():
    """
    The address of an HTTP server on the loopback interface.
    """
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@contextmanager
def serving(answer):
    """
    A server for one connection, handled by a function of its socket.
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


@pytest.fixture
def peer():
    """
    As `serving`.
    """
    return serving


@pytest.fixture
def self_signed():
    """
    A server that shows a certificate which nobody trusts.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).parent / "self_signed.pem")

    def answer(connection):
        with context.wrap_socket(connection, server_side=True) as secure:
            secure.recv(1)

    return lambda: serving(answer)


@pytest.fixture
def refused():
    """
    A port on which nobody listens.
    """
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
