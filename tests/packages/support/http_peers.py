"""
Peers on the loopback interface that fail in every way an HTTP client can meet, and what a guard says of it.
"""

import importlib
import json
import os
import socket
import ssl
import threading
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from installed_classes import class_named
from toolfault import Guard
from toolfault._codes import DEFAULTS
from toolfault._names import qualified_name
from toolfault._verdict import Verdict
from toolfault.hosting import Call
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
LEGAL = ("permission_denied", "permanent", False)

#: Stands in every URL, user, header and body; no envelope may hold it.
SECRET = "NOTREAL-s3cr3t"
HEADERS = {"X-Api-Key": f"{SECRET}-header"}

#: What a resolver without a network says differs; both are as the row of ``socket.gaierror`` has it.
NO_SUCH_HOST = "nosuch-NOTREAL.invalid"


class Case(NamedTuple):
    """
    A failure that was really raised.

    Attributes:
        name: The class, by its qualified name.
        fail: Raises it.
        expected: Code, category, retryable.
        delay: The delay that is carried on.
        inside: A class whose row is only reached in another's wrapper.
    """

    name: str
    fail: object
    expected: tuple
    delay: int | None = None
    inside: str = ""


def raised_by(fail):
    try:
        fail()
    except BaseException as exc:
        return exc
    raise AssertionError(f"{fail} did not fail")


def judged(exc, fail=None, guard=None, **arguments):
    """
    The fault that a guard makes of an exception, after all that leaves was searched for secrets and addresses.
    """
    guard = guard or Guard()
    fault = guard.judge(exc, Call(tool="t", function=fail, arguments=arguments))
    wire = json.dumps(guard.to_result(fault))
    for hidden in ("NOTREAL", "127.0.0.1", "localhost", "api_key="):
        assert hidden not in wire, wire
    return fault


def facts(envelope):
    return (envelope.code.value, envelope.category.value, envelope.retryable)


def check(case):
    """
    Raise it, judge it, look that it is what the table says.
    """
    exc = raised_by(case.fail)
    envelope = judged(exc, case.fail).envelope

    assert case.name == qualified_name(type(exc)), repr(exc)
    expected = case.expected(exc) if callable(case.expected) else case.expected
    assert (*expected, case.delay) == (*facts(envelope), envelope.retry_after_seconds), (repr(exc), envelope.message)
    assert envelope.message
    if case.inside:
        assert case.inside in {qualified_name(type(link)) for link in links(exc)}
    return exc, envelope


def links(exc):
    """
    An exception and all that it holds: causes, contexts, reasons, arguments.
    """
    pending, seen = [exc], {}
    while pending:
        link = pending.pop()
        if not isinstance(link, BaseException) or id(link) in seen:
            continue
        seen[id(link)] = link
        pending += [link.__cause__, link.__context__, getattr(link, "reason", None), *link.args]
    return list(seen.values())


def by_resolver(exc):
    """
    A name that does not exist is final; a resolver that can't be asked is not.
    """
    [failed] = [link for link in links(exc) if type(link) is socket.gaierror][:1]
    return OUTAGE if failed.errno == socket.EAI_AGAIN else INTERNAL


# ---- peers


class Answer(BaseHTTPRequestHandler):
    """
    Answers as its server was told.
    """

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, headers, body = self.server.answer
        self.send_response_only(status)
        for name, value in {"Content-Type": "application/json", "Connection": "close", **headers}.items():
            self.send_header(name, value)
        if not {name.lower() for name in headers} & {"content-length", "transfer-encoding"}:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_HEAD = do_PUT = do_GET

    def log_message(self, *args):
        pass


@contextmanager
def answering(status, headers=None, body=None):
    """
    The address of a server that gives one answer; the answer's text holds a secret.
    """
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        server.daemon_threads = True
        server.answer = (status, headers or {}, f'{{"error": "{SECRET}"}}'.encode() if body is None else body)
        thread = threading.Thread(target=server.serve_forever, args=(0.005,))
        thread.start()
        try:
            yield f"http://user:{SECRET}-pw@127.0.0.1:{server.server_port}/{SECRET}?api_key={SECRET}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def peer(talk):
    """
    The port of a server that handles each connection with a function of its socket.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as stack:
        ended = threading.Event()

        def serve():
            while True:
                connection, _ = listener.accept()
                with connection:
                    if ended.is_set():
                        return
                    with suppress(OSError):
                        talk(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        stack.callback(thread.join)
        try:
            yield listener.getsockname()[1]
        finally:
            ended.set()
            with socket.socket() as waker:
                waker.connect(listener.getsockname())


def address(port, scheme="http"):
    return f"{scheme}://user:{SECRET}-pw@127.0.0.1:{port}/{SECRET}?api_key={SECRET}"


@contextmanager
def refused():
    """
    A port on which nobody listens.
    """
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@contextmanager
def unreachable():
    """
    A port that takes no further connection, and does not say so: its queue is full.
    """
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def hears(connection):
    """
    Read a request to the end of its head.
    """
    heard = b""
    while b"\r\n\r\n" not in heard and (more := connection.recv(65536)):
        heard += more
    return heard


def silent(connection):
    while connection.recv(65536):
        pass


def hangs_up(connection):
    hears(connection)


def says(data):
    """
    A peer that reads a request and answers these bytes, whatever they are.
    """

    def talk(connection):
        hears(connection)
        connection.sendall(data)

    return talk


def stalls(data):
    """
    A peer that answers these bytes, and then no more.
    """

    def talk(connection):
        hears(connection)
        connection.sendall(data)
        silent(connection)

    return talk


CUT_SHORT = says(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nNOTREAL")
CUT_CHUNKS = says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nNOTREAL")
STALLED = stalls(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nNOTREAL")
BAD_CHUNKS = says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n")
BAD_GZIP = says(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 7\r\n\r\nNOTREAL")
NO_HTTP = says(b"NOTREAL, and no HTTP at all\r\n\r\n")


def shows_its_certificate(connection):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).parents[2] / "rules" / "self_signed.pem")
    with context.wrap_socket(connection, server_side=True) as secure:
        secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" if hears(secure) else b"")


def speaks_no_tls(connection):
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 400 NOTREAL\r\n\r\n")


def proxy_says(status):
    # http.client makes an OSError of the reason; the chain of causes shows it as the standard library's.
    return says(
        f"HTTP/1.1 {status} No\r\nX-Secret: {SECRET}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
    )


def through(client, talk, scheme="http", **options):
    """
    A failure: a client asks a peer.
    """

    def fail():
        with peer(talk) as port:
            client(address(port, scheme), **options)

    return fail


def through_proxy(client, talk, **options):
    """
    A failure: a client asks a host of the internet through a proxy on the loopback interface.
    """

    def fail():
        with peer(talk) as port:
            client(
                f"https://api.NOTREAL.invalid/?api_key={SECRET}",
                proxy=f"http://user:{SECRET}@127.0.0.1:{port}",
                **options,
            )

    return fail


def at(place, client, **options):
    """
    A failure: a client asks a port that `refused` or `unreachable` gives.
    """

    def fail():
        with place() as port:
            client(address(port), **options)

    return fail


def told(client, status, headers=None, body=None, **options):
    """
    A failure: a client gets an answer.
    """

    def fail():
        with answering(status, headers, body) as url:
            client(url, **options)

    return fail


# ---- answers that mean a failure, for every client that raises on a status

#: Status, headers, expected, delay.
ANSWERS = [
    (400, {}, ARGUMENTS, None),
    (401, {}, DENIED, None),
    (402, {}, USED_UP, None),
    (403, {}, DENIED, None),
    (403, {"Retry-After": "60"}, QUOTA, 60),
    (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "90"}, QUOTA, 90),
    (403, {"Proxy-Status": "gate; error=http_request_denied"}, BLOCKED, None),
    (404, {}, ARGUMENTS, None),
    (405, {}, INTERNAL, None),
    (407, {}, BLOCKED, None),
    (408, {}, LATE, None),
    (409, {}, ARGUMENTS, None),
    (409, {"Retry-After": "1"}, OUTAGE, 1),
    (410, {}, ARGUMENTS, None),
    (412, {}, ARGUMENTS, None),
    (413, {}, ARGUMENTS, None),
    (413, {"Retry-After": "2"}, QUOTA, 2),
    (415, {}, INTERNAL, None),
    (418, {}, ARGUMENTS, None),
    (422, {}, ARGUMENTS, None),
    (423, {}, OUTAGE, None),
    (425, {}, OUTAGE, None),
    (429, {}, QUOTA, None),
    (429, {"Retry-After": "7"}, QUOTA, 7),
    (429, {"Retry-After": "1.2"}, QUOTA, 2),
    (429, {"retry-after-ms": "1500", "Retry-After": "9"}, QUOTA, 2),
    (429, {"RateLimit": '"default";r=0;t=33'}, QUOTA, 33),
    (429, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "12"}, QUOTA, 12),
    (429, {"Retry-After": "-5"}, QUOTA, None),
    (429, {"Retry-After": "1, 2"}, QUOTA, None),
    (429, {"Retry-After": "9" * 40}, QUOTA, None),
    (429, {"Retry-After": "5", "x-should-retry": "false"}, ("quota_exceeded", "transient", False), None),
    (451, {}, LEGAL, None),
    (500, {}, OUTAGE, None),
    (501, {}, INTERNAL, None),
    (502, {}, OUTAGE, None),
    (503, {}, OUTAGE, None),
    (
        503,
        {"Date": "Mon, 30 Nov 2026 10:00:00 GMT", "Retry-After": "Mon, 30 Nov 2026 10:02:00 GMT"},
        OUTAGE,
        120,
    ),
    (503, {"Retry-After": "0"}, OUTAGE, 0),
    (504, {}, LATE, None),
    (507, {}, USED_UP, None),
    (511, {}, BLOCKED, None),
    (524, {}, LATE, None),
    (525, {}, INTERNAL, None),
    (529, {}, OUTAGE, None),
    (529, {"Retry-After": "30"}, OUTAGE, 30),
]


# ---- tables and packages


def exceptions_of(module):
    """
    What a module exports, whether it lists it or not; lazy names too.
    """
    found = importlib.import_module(module)
    names = {name for name in {*vars(found), *getattr(found, "__all__", ())} if not name.startswith("_")}
    values = [getattr(found, name, None) for name in names]
    return {cls for cls in values if isinstance(cls, type) and issubclass(cls, BaseException)}


def without_a_row(modules, ignored):
    """
    The exported classes for which nothing but a builtin speaks, and which are not ignored by name.
    """
    missing = set()
    for cls in set().union(*map(exceptions_of, modules)):
        name = qualified_name(cls)
        own = [row for row, _ in DEFAULT.rules_for(cls) if not row.startswith("builtins.")]
        if not own and not name.startswith("builtins.") and name not in ignored:
            missing.add(name)
    return missing


def rows_of(cases):
    """
    The rows that a list of cases makes speak.
    """
    names = {name for case in cases for name in (case.name, case.inside) if name}
    return {DEFAULT.rules_for(class_named(name))[0][0] for name in names}


def resolved(verdict):
    category, retryable = DEFAULTS[verdict.code]
    return (
        verdict.code.value,
        (verdict.category or category).value,
        retryable if verdict.retryable is None else verdict.retryable,
    )


def asked(rule, exc):
    return rule if isinstance(rule, Verdict) else rule(exc)


def traps(cases):
    """
    The classes that were raised for which a builtin base's row has another code, category or retryability.

    ``Exception`` says nothing by itself, so there is no trap in it.
    """
    found = set()
    for case in cases:
        exc = raised_by(case.fail)
        rules = DEFAULT.rules_for(type(exc))
        own = resolved(asked(rules[0][1], exc))
        bases = [rule for name, rule in rules[1:] if name.startswith("builtins.") and name != "builtins.Exception"]
        bases = bases if not rules[0][0].startswith("builtins.") else []
        if any(
            resolved(asked(rule, exc)) != own for rule in bases if rule is not dict(rules).get("builtins.BaseException")
        ):
            found.add(qualified_name(type(exc)))
    return sorted(found)


# ---- half-built and hostile exceptions

#: What Python itself needs to pass an exception around.
HARMLESS = {"__class__", "__dict__", "__cause__", "__context__", "__traceback__", "__suppress_context__"}


class Strange:
    """
    Says that it is whatever one asks for, and raises when it is used.
    """

    __class__ = property(lambda self: 1 / 0)
    __str__ = __index__ = __iter__ = __len__ = __bool__ = __eq__ = __fspath__ = lambda self, *_: 1 / 0
    __hash__ = object.__hash__

    def __getattr__(self, name):
        raise KeyError(name)


def half_built(cls):
    return cls.__new__(cls)


def hostile(cls):
    def refuse(self, name):
        if name in HARMLESS:
            return super(evil, self).__getattribute__(name)
        raise RuntimeError(f"no {name} for you")

    evil = type(f"Evil{cls.__name__}", (cls,), {"__getattribute__": refuse, "__str__": lambda self: 1 / 0})
    return half_built(evil)


def strange(cls):
    def give(self, name):
        return super(odd, self).__getattribute__(name) if name in HARMLESS else Strange()

    odd = type(f"Odd{cls.__name__}", (cls,), {"__getattribute__": give})
    return half_built(odd)


def holding_itself(cls):
    """
    A wrapper around itself, through every way in.
    """
    made = half_built(cls)
    for name in ("reason", "original_error", "_os_error", "_certificate_error", "response", "request"):
        try:
            setattr(made, name, made)
        except Exception:
            continue
    made.args = (made, made)
    made.__context__ = None
    return made


MAKES = [half_built, hostile, strange, holding_itself]


def survives(cls, make):
    """
    Ask every rule about such an exception, and a guard.
    """
    exc = make(cls)
    for _, rule in DEFAULT.rules_for(type(exc)):
        verdict = asked(rule, exc)
        assert isinstance(verdict, Verdict)
        assert verdict.message is None or (type(verdict.message) is str and verdict.message)
    assert facts(Guard().judge(exc, Call(tool="t")).envelope)[0] != "unknown"


def without_proxies(monkeypatch):
    """
    The environment's proxies are not for the loopback interface.
    """
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
