"""
httpx and httpx2: everything but statuses.
"""

# ruff: noqa: SIM117 -- the nesting shows which client belongs to which server

import asyncio
import ssl

import httpcore
import httpcore2
import httpx
import httpx2
import pytest

from toolfault._codes import McpErrorCode


INTERNAL = ("internal", "permanent", False)
OUTAGE = ("internal", "transient", True)
PANICKED = ("tool_panicked", "permanent", False)
BLOCKED = ("network_blocked", "permanent", False)
LATE = ("tool_timeout", "transient", True)

SECRETS = ("NOTREAL", "127.0.0.1", "localhost", "db1.internal")

both = pytest.mark.parametrize("hx", [httpx, httpx2], ids=lambda module: module.__name__)


def get(hx, url, **options):
    with hx.Client(**{"trust_env": False, "verify": False, **options}) as client:
        return client.get(url)


def get_async(hx, url, **options):
    async def ask():
        async with hx.AsyncClient(**{"trust_env": False, "verify": False, **options}) as client:
            await client.get(url)

    return lambda: asyncio.run(ask())


def answers(text):
    def answer(connection):
        connection.recv(10000)
        connection.sendall(text)

    return answer


@both
def test_refused(caught, facts, verdict_on, refused, hx):
    """
    Sync and async, which hide the reason in different places.
    """
    url = f"http://127.0.0.1:{refused}/?key=NOTREAL"
    for exc in (caught(lambda: get(hx, url)), caught(get_async(hx, url))):
        verdict = verdict_on(exc)

        assert type(exc) is hx.ConnectError
        assert facts(exc) == OUTAGE
        assert "ECONNREFUSED" in verdict.message
        assert not any(secret in verdict.message for secret in SECRETS)
        assert (verdict.family, verdict.urls) == ("network", (url,))


@both
def test_a_name_that_does_not_exist(caught, verdict_on, hx):
    """
    If the caller named the host, it is the caller's; the resolver of a machine without network asks to try again.
    """
    exc = caught(lambda: get(hx, "http://nosuch.invalid/?key=NOTREAL"))
    verdict = verdict_on(exc)

    assert type(exc) is hx.ConnectError
    assert "EAI_" in verdict.message
    assert verdict.urls == ("http://nosuch.invalid/?key=NOTREAL",)
    assert verdict.code_if_caller_named is (None if verdict.retryable else McpErrorCode.INVALID_ARGUMENTS)


@both
def test_a_certificate_that_nobody_trusts(caught, facts, verdict_on, self_signed, hx):
    """
    No outage: time does not mend it.
    """

    def ask(get):
        with self_signed() as port:
            get(hx, f"https://localhost:{port}/?key=NOTREAL", verify=ssl.create_default_context())

    for exc in (caught(lambda: ask(get)), caught(lambda: ask(lambda *a, **o: get_async(*a, **o)()))):
        assert type(exc) is hx.ConnectError
        assert facts(exc) == INTERNAL
        assert "certificate" in verdict_on(exc).message
        assert not any(secret in verdict_on(exc).message for secret in SECRETS)


@both
def test_a_timeout(caught, facts, verdict_on, peer, hx):
    """
    No relation of the builtin.
    """

    def ask():
        with peer(lambda connection: connection.recv(10000) and connection.recv(1)) as port:
            get(hx, f"http://127.0.0.1:{port}/?key=NOTREAL", timeout=hx.Timeout(5, read=0.01))

    exc = caught(ask)

    assert type(exc) is hx.ReadTimeout
    assert not isinstance(exc, TimeoutError)
    assert facts(exc) == LATE
    assert verdict_on(exc).family == "timeout"


@both
def test_a_pool_without_room(caught, facts, verdict_on, peer, hx):
    """
    Nothing was sent.
    """

    def ask():
        with peer(lambda connection: connection.recv(10000) and connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")) as port:
            limits = hx.Limits(max_connections=1)
            with hx.Client(trust_env=False, verify=False, limits=limits, timeout=hx.Timeout(5, pool=0.01)) as client:
                with client.stream("GET", f"http://127.0.0.1:{port}/"):
                    client.get(f"http://127.0.0.1:{port}/")

    exc = caught(ask)

    assert type(exc) is hx.PoolTimeout
    assert facts(exc) == OUTAGE
    assert verdict_on(exc).family == "limit"


@both
@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (b"", "RemoteProtocolError", OUTAGE),
        (b"NOTREAL\r\n\r\n", "RemoteProtocolError", OUTAGE),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nNOTREAL", "RemoteProtocolError", OUTAGE),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 7\r\n\r\nNOTREAL", "DecodingError", INTERNAL),
    ],
    ids=["nothing", "nonsense", "cut off", "no gzip"],
)
def test_answers(caught, facts, verdict_on, peer, hx, text, name, expected):
    """
    The peer's words stay unseen.
    """

    def ask():
        with peer(answers(text)) as port:
            get(hx, f"http://127.0.0.1:{port}/?key=NOTREAL")

    exc = caught(ask)

    assert name == type(exc).__name__
    assert expected == facts(exc)
    assert not any(secret in verdict_on(exc).message for secret in SECRETS)


@both
@pytest.mark.parametrize(("status", "expected"), [(403, BLOCKED), (407, BLOCKED), (502, OUTAGE)])
def test_a_proxy_that_does_not_connect(caught, facts, verdict_on, peer, hx, status, expected):
    """
    The text is its status line.
    """

    def ask():
        with peer(answers(b"HTTP/1.1 %d Blocked by NOTREAL\r\n\r\n" % status)) as port:
            get(hx, "https://api.example.invalid/?key=NOTREAL", proxy=f"http://127.0.0.1:{port}")

    exc = caught(ask)

    assert type(exc) is hx.ProxyError
    assert expected == facts(exc)
    assert f"HTTP {status}" in verdict_on(exc).message
    assert not any(secret in verdict_on(exc).message for secret in SECRETS)


@both
def test_a_proxy_that_says_nothing(facts, hx):
    """
    SOCKS has no status.
    """
    assert facts(hx.ProxyError("Proxy Server could not connect: General SOCKS server failure.")) == OUTAGE


@both
def test_redirects_without_end(caught, facts, hx):
    """
    As many as a client follows.
    """

    def ask():
        transport = hx.MockTransport(lambda request: hx.Response(302, headers={"location": "/again"}))
        with hx.Client(transport=transport, follow_redirects=True) as client:
            client.get("http://x/")

    exc = caught(ask)

    assert type(exc) is hx.TooManyRedirects
    assert facts(exc) == INTERNAL


@both
@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("nosuch://x/?key=NOTREAL", "UnsupportedProtocol"),
        ("NOTREAL", "UnsupportedProtocol"),
        ("http://x:NOTREAL/", "InvalidURL"),
        ("http://\x00NOTREAL/", "InvalidURL"),
    ],
)
def test_urls(caught, facts, verdict_on, hx, url, name):
    """
    The caller's if an argument holds it, else a crash.
    """
    exc = caught(lambda: get(hx, url))
    verdict = verdict_on(exc)

    assert name == type(exc).__name__
    assert facts(exc) == PANICKED
    assert verdict.code_if_caller_named is McpErrorCode.INVALID_ARGUMENTS
    assert "NOTREAL" not in verdict.message
    # InvalidURL has no request yet.
    assert verdict.urls == (() if name == "InvalidURL" else ("/NOTREAL", "NOTREAL") if url == "NOTREAL" else (url,))


def unread(hx):
    with hx.Client(transport=hx.MockTransport(lambda request: hx.Response(200, stream=Parts(hx)))) as client:
        with client.stream("GET", "http://x/") as response:
            return response.text


def consumed(hx):
    with hx.Client(transport=hx.MockTransport(lambda request: hx.Response(200, stream=Parts(hx)))) as client:
        with client.stream("GET", "http://x/") as response:
            list(response.iter_raw())
            list(response.iter_raw())


def closed(hx):
    with hx.Client(transport=hx.MockTransport(lambda request: hx.Response(200, stream=Parts(hx)))) as client:
        with client.stream("GET", "http://x/") as response:
            response.close()
            response.read()


def Parts(hx):
    class Stream(hx.SyncByteStream):
        def __iter__(self):
            yield b"NOTREAL"

    return Stream()


def two_cookies(hx):
    cookies = hx.Cookies()
    cookies.set("NOTREAL", "1", domain="a")
    cookies.set("NOTREAL", "2", domain="b")
    cookies["NOTREAL"]


@both
@pytest.mark.parametrize(
    ("fail", "name"),
    [
        (unread, "ResponseNotRead"),
        (consumed, "StreamConsumed"),
        (closed, "StreamClosed"),
        (lambda hx: hx.Request("POST", "http://x/", content=iter([b"x"])).content, "RequestNotRead"),
        (two_cookies, "CookieConflict"),
        (lambda hx: get(hx, "http://127.0.0.1:9/", headers={"a": "b\nc"}), "LocalProtocolError"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_mistakes_of_the_tool(caught, facts, verdict_on, peer, hx, fail, name):
    """
    Their own way of being used.
    """
    if name == "LocalProtocolError":

        def run():
            with peer(lambda connection: connection.recv(1)) as port:
                get(hx, f"http://127.0.0.1:{port}/", headers={"a": "b\nNOTREAL"})

    else:

        def run():
            fail(hx)

    exc = caught(run)

    assert name == type(exc).__name__
    assert facts(exc) == PANICKED
    assert "NOTREAL" not in verdict_on(exc).message


@both
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ConnectTimeout", OUTAGE),
        ("WriteTimeout", LATE),
        ("WriteError", OUTAGE),
        ("ReadError", OUTAGE),
        ("CloseError", OUTAGE),
        ("NetworkError", OUTAGE),
        ("ProtocolError", OUTAGE),
        ("TransportError", OUTAGE),
        ("RequestError", OUTAGE),
        ("HTTPError", OUTAGE),
    ],
)
def test_what_could_not_be_raised_at_will(facts, verdict_on, hx, name, expected):
    """
    Made by hand: no local peer brings them about in time, and reliably.
    """
    exc = getattr(hx, name)("[Errno 1] db1.internal NOTREAL")

    assert expected == facts(exc)
    assert not any(secret in verdict_on(exc).message for secret in SECRETS)


def test_no_stream_of_events(caught, facts, verdict_on, upstream):
    """
    Only in httpx2.
    """

    def listen():
        with (
            httpx2.Client(trust_env=False, verify=False) as client,
            client.sse(f"{upstream}/200?key=NOTREAL") as events,
        ):
            list(events)

    exc = caught(listen)

    assert type(exc) is httpx2.SSEError
    assert facts(exc) == INTERNAL
    assert not any(secret in verdict_on(exc).message for secret in SECRETS)


@both
def test_the_reason_is_taken_from_below_only(facts, verdict_on, hx):
    """
    What happened to be handled before has nothing to say.
    """
    try:
        try:
            raise PermissionError(13, "Permission denied")
        except PermissionError:
            raise hx.ConnectError("no route")  # noqa: B904 -- what is handled here is the point
    except hx.ConnectError as exc:
        assert facts(exc) == OUTAGE


@both
@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (PermissionError(13, "Connect call failed ('10.0.0.1', 80)"), BLOCKED),
        (OSError(101, "Network is unreachable"), BLOCKED),
        (OSError(113, "No route to host"), OUTAGE),
        (ConnectionRefusedError(111, "x"), OUTAGE),
        (TimeoutError(110, "x"), LATE),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_the_reason_below_decides(facts, hx, reason, expected):
    """
    It hangs in the suppressed context of httpcore's error.
    """
    core = {httpx: httpcore, httpx2: httpcore2}[hx]
    inner = core.ConnectError("x")
    inner.__context__ = reason
    exc = hx.ConnectError("All connection attempts failed")
    exc.__cause__ = inner

    assert expected == facts(exc)
    assert expected == facts(inner)


@both
def test_a_status_without_an_answer(facts, hx):
    """
    Made by somebody who had none.
    """
    assert facts(hx.HTTPStatusError("x", request=None, response=None)) == INTERNAL
