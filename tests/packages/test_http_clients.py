"""
requests, urllib3 and aiohttp: what their exceptions mean, shown with exceptions that they raised.
"""

import asyncio
import importlib
import io
import json
import socket
import ssl
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import aiohttp.payload
import aiohttp.web
import pytest
import requests
import requests.adapters
import urllib3
import urllib3.util.request
import urllib3.util.response
import urllib3.util.ssl_match_hostname
import urllib3.util.ssltransport

from toolfault import Guard
from toolfault._codes import McpErrorCode
from toolfault._names import qualified_name
from toolfault._verdict import Verdict
from toolfault.rules import DEFAULT


sys.path.insert(0, str(Path(__file__).parent / "support"))
from http_peers import (
    ANSWERS,
    ARGUMENTS,
    BAD_CHUNKS,
    BAD_GZIP,
    BLOCKED,
    CUT_CHUNKS,
    CUT_SHORT,
    HEADERS,
    INTERNAL,
    LATE,
    MAKES,
    NO_HTTP,
    NO_SUCH_HOST,
    OUTAGE,
    PANICKED,
    SECRET,
    STALLED,
    USED_UP,
    Case,
    answering,
    at,
    base_of,
    by_resolver,
    check,
    facts,
    hangs_up,
    judged,
    peer,
    proxy_says,
    raised_by,
    refused,
    rows_of,
    says,
    shows_its_certificate,
    silent,
    speaks_no_tls,
    taken_from,
    through,
    through_proxy,
    told,
    unreachable,
    without_a_row,
    without_proxies,
)


TABLES = {name: importlib.import_module(f"toolfault.rules.{name}") for name in ("aiohttp", "requests", "urllib3")}


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    without_proxies(monkeypatch)


# ---- the clients


@contextmanager
def session(**attributes):
    with requests.Session() as made:
        made.trust_env = False
        for name, value in attributes.items():
            setattr(made, name, value)
        yield made


def by_requests(url, *, timeout=5, proxy=None, then=requests.Response.raise_for_status, method="GET", **options):
    proxies = {"http": proxy, "https": proxy} if proxy else None
    options.setdefault("headers", HEADERS)
    with session() as client, client.request(method, url, timeout=timeout, proxies=proxies, **options) as response:
        then(response)


def by_urllib3(url, *, timeout=5, proxy=None, retries=False, then=lambda response: None, pool=None, **options):
    made = urllib3.ProxyManager(proxy, **pool or {}) if proxy else urllib3.PoolManager(**pool or {})
    with made:
        response = made.request("GET", url, timeout=timeout, retries=retries, headers=HEADERS, **options)
        try:
            then(response)
        finally:
            response.close()


def by_aiohttp(url, *, timeout=None, then=None, connector=None, **options):
    async def ask():
        limits = aiohttp.ClientTimeout(**(timeout or {"total": 5}))
        options.setdefault("raise_for_status", True)
        made = {"connector": connector()} if connector else {}
        async with aiohttp.ClientSession(timeout=limits, headers=HEADERS, **made) as client:
            async with client.get(url, **options) as response:
                await (response.read() if then is None else then(response))

    asyncio.run(ask())


def with_aiohttp(use, **options):
    """
    A failure of something else than a plain request.
    """

    def fail():
        async def run():
            async with aiohttp.ClientSession(headers=HEADERS, timeout=aiohttp.ClientTimeout(total=5), **options) as client:
                await use(client)

        asyncio.run(run())

    return fail


# ---- requests

JSON_NONSENSE = b"<html>NOTREAL</html>"
IN_A_CIRCLE = {"Location": f"/{SECRET}?api_key={SECRET}"}


def goes_on(response):
    for _ in response.iter_content(10):
        pass


def reads_twice(response):
    list(response.iter_content(10))
    list(response.iter_content(10))


def decides_by_status(url):
    with session() as client:
        retry = urllib3.Retry(0, status_forcelist=[503])
        client.mount("http://", requests.adapters.HTTPAdapter(max_retries=retry))
        client.get(url, timeout=5)


def obeys_nonsense(url):
    with session() as client:
        client.mount("http://", requests.adapters.HTTPAdapter(max_retries=urllib3.Retry(1, status_forcelist=[503])))
        client.get(url, timeout=5)


def has_two_cookies():
    jar = requests.cookies.RequestsCookieJar()
    jar.set(SECRET, "1", path="/a")
    jar.set(SECRET, "2", path="/b")
    jar[SECRET]


class Once(io.RawIOBase):
    """
    A body that can be told where it is, and not be put there again.
    """

    def tell(self):
        return 0

    def seek(self, *_):
        raise OSError("cannot seek")

    def readable(self):
        return True

    def readinto(self, buffer):
        return 0


def reads_text(tmp=Path(__file__)):
    with tmp.open() as text:
        by_requests("http://127.0.0.1:9/", data=text)


def is_sent_elsewhere(port):
    by_requests(f"http://127.0.0.1:{port}", method="POST", data=Once(), headers={"Content-Length": "0"})


def with_port(use, talk):
    def fail():
        with peer(talk) as port:
            use(port)

    return fail


R = "requests.exceptions."
REQUESTS = [
    Case(R + "HTTPError", told(by_requests, 500), OUTAGE),
    Case(R + "ConnectionError", at(refused, by_requests), OUTAGE, inside="urllib3.exceptions.NewConnectionError"),
    Case(R + "ConnectionError", through(by_requests, hangs_up), OUTAGE, inside="urllib3.exceptions.ProtocolError"),
    Case(
        R + "ConnectionError",
        lambda: by_requests(f"http://{NO_SUCH_HOST}/?api_key={SECRET}"),
        by_resolver,
        inside="urllib3.exceptions.NameResolutionError",
    ),
    Case(R + "ConnectionError", through(by_requests, STALLED, timeout=(5, 0.03)), LATE),
    Case(
        R + "ConnectionError",
        through(by_requests, STALLED, timeout=(5, 0.03), stream=True, then=goes_on),
        LATE,
        inside="urllib3.exceptions.ReadTimeoutError",
    ),
    Case(R + "ConnectTimeout", at(unreachable, by_requests, timeout=(0.03, 5)), OUTAGE),
    Case(R + "ReadTimeout", through(by_requests, silent, timeout=(5, 0.03)), LATE),
    Case(R + "ChunkedEncodingError", through(by_requests, CUT_SHORT), OUTAGE, inside="urllib3.exceptions.IncompleteRead"),
    Case(R + "ChunkedEncodingError", through(by_requests, CUT_CHUNKS), OUTAGE),
    Case(
        R + "ChunkedEncodingError",
        through(by_requests, BAD_CHUNKS),
        OUTAGE,
        inside="urllib3.exceptions.InvalidChunkLength",
    ),
    Case(R + "ContentDecodingError", through(by_requests, BAD_GZIP), INTERNAL),
    Case(R + "ConnectionError", through(by_requests, NO_HTTP), OUTAGE),
    Case(R + "SSLError", through(by_requests, shows_its_certificate, "https"), INTERNAL),
    Case(R + "SSLError", through(by_requests, speaks_no_tls, "https"), INTERNAL),
    Case(R + "ProxyError", through_proxy(by_requests, proxy_says(403)), BLOCKED),
    Case(R + "ProxyError", through_proxy(by_requests, proxy_says(407)), BLOCKED),
    Case(R + "ProxyError", through_proxy(by_requests, proxy_says(502)), OUTAGE),
    Case(R + "ConnectionError", through_proxy(by_requests, hangs_up), OUTAGE),
    Case(
        R + "ProxyError",
        lambda: by_requests("http://a.invalid/", proxy=f"http://u:{SECRET}@{NO_SUCH_HOST}:1"),
        OUTAGE,
    ),
    Case(R + "InvalidProxyURL", lambda: by_requests("http://a.invalid/", proxy=f"http:///{SECRET}"), INTERNAL),
    Case(R + "RetryError", told(decides_by_status, 503), OUTAGE, inside="urllib3.exceptions.ResponseError"),
    Case(R + "TooManyRedirects", told(by_requests, 302, IN_A_CIRCLE), INTERNAL),
    Case(R + "JSONDecodeError", told(by_requests, 200, body=JSON_NONSENSE, then=requests.Response.json), INTERNAL),
    Case(R + "MissingSchema", lambda: by_requests(f"NOTREAL.invalid/?api_key={SECRET}"), PANICKED),
    Case(R + "InvalidSchema", lambda: by_requests(f"nosuch://NOTREAL.invalid/?api_key={SECRET}"), PANICKED),
    Case(R + "InvalidURL", lambda: by_requests(f"http:///?api_key={SECRET}"), PANICKED),
    Case(R + "InvalidURL", lambda: by_requests(f"http://[NOTREAL/?api_key={SECRET}"), PANICKED),
    Case(R + "InvalidURL", lambda: by_requests(f"http://*NOTREAL.invalid/?api_key={SECRET}"), PANICKED),
    Case(
        R + "InvalidHeader",
        lambda: by_requests("http://127.0.0.1:9/", headers={"X-Key": f"{SECRET}\r\nX: y"}),
        PANICKED,
    ),
    Case(
        R + "InvalidHeader",
        told(obeys_nonsense, 503, {"Retry-After": f"{SECRET} soon"}),
        INTERNAL,
        inside="urllib3.exceptions.InvalidHeader",
    ),
    Case(R + "InvalidJSONError", lambda: by_requests("http://127.0.0.1:9/", json=float("nan")), PANICKED),
    Case(R + "StreamConsumedError", told(by_requests, 200, stream=True, then=reads_twice), PANICKED),
    Case(
        R + "UnrewindableBodyError",
        with_port(is_sent_elsewhere, says(b"HTTP/1.1 307 NOTREAL\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")),
        INTERNAL,
    ),
    Case(R + "FileModeWarning", reads_text, PANICKED),
    Case("requests.cookies.CookieConflictError", has_two_cookies, PANICKED),
]


# ---- urllib3


@contextmanager
def pool_at(talk, **options):
    with peer(talk) as port, urllib3.HTTPConnectionPool("127.0.0.1", port, timeout=5, **options) as made:
        yield made


def with_pool(use, talk=says(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"), **options):
    def fail():
        with pool_at(talk, **options) as pool:
            use(pool)

    return fail


def asks_a_closed_pool(pool):
    pool.close()
    pool.request("GET", f"/{SECRET}")


def asks_for_two_of_one(pool):
    held = pool._get_conn()
    try:
        pool._get_conn(timeout=0.001)
    finally:
        held.close()


def gives_back_two_of_one(pool):
    held, other = pool._get_conn(), pool._new_conn()
    pool._put_conn(held)
    pool._put_conn(other)


def starts_twice():
    timeout = urllib3.Timeout(5)
    timeout.start_connect()
    timeout.start_connect()


def reads_on(response):
    while response.read(10):
        pass


def reads_a_plain_answer_in_chunks(response):
    list(response.read_chunked())


def reads_no_answer_in_chunks():
    response = urllib3.HTTPResponse(io.BytesIO(b""), headers={"Transfer-Encoding": "chunked"}, preload_content=False)
    list(response.read_chunked())


def wraps_tls_in_no_tls():
    class Old:
        pass

    urllib3.util.ssltransport.SSLTransport._validate_ssl_context_for_tls_in_tls(Old())


def finds_bad_headers():
    import http.client

    headers = http.client.parse_headers(io.BytesIO(b"A: b\r\nNOTREAL without a colon\r\n\r\n"))
    urllib3.util.response.assert_header_parsing(headers)


def warns_of_no_verification():
    with peer(shows_its_certificate) as port:
        by_urllib3(address_of(port), pool={"cert_reqs": "CERT_NONE"})


def address_of(port):
    return f"https://127.0.0.1:{port}/?api_key={SECRET}"


def matches_another_host():
    certificate = {"subjectAltName": (("DNS", "other-NOTREAL.invalid"),)}
    urllib3.util.ssl_match_hostname.match_hostname(certificate, "NOTREAL.invalid")


U = "urllib3.exceptions."
URLLIB3 = [
    Case(U + "NewConnectionError", at(refused, by_urllib3), OUTAGE),
    Case(U + "NameResolutionError", lambda: by_urllib3(f"http://{NO_SUCH_HOST}/?api_key={SECRET}"), by_resolver),
    Case(U + "ConnectTimeoutError", at(unreachable, by_urllib3, timeout=0.03), OUTAGE),
    Case(U + "ReadTimeoutError", through(by_urllib3, silent, timeout=0.03), LATE),
    Case(U + "ProtocolError", through(by_urllib3, hangs_up), OUTAGE),
    Case(
        U + "ProtocolError",
        through(by_urllib3, CUT_SHORT, preload_content=False, then=reads_on),
        OUTAGE,
        inside=U + "IncompleteRead",
    ),
    Case(U + "ProtocolError", through(by_urllib3, CUT_CHUNKS), OUTAGE),
    Case(U + "ProtocolError", through(by_urllib3, BAD_CHUNKS), OUTAGE, inside=U + "InvalidChunkLength"),
    Case(U + "ReadTimeoutError", through(by_urllib3, STALLED, timeout=0.03), LATE),
    Case(U + "MaxRetryError", at(refused, by_urllib3, retries=0), OUTAGE, inside=U + "NewConnectionError"),
    Case(U + "MaxRetryError", through(by_urllib3, silent, timeout=0.03, retries=0), LATE, inside=U + "ReadTimeoutError"),
    Case(
        U + "MaxRetryError",
        told(by_urllib3, 503, retries=urllib3.Retry(0, status_forcelist=[503])),
        OUTAGE,
        inside=U + "ResponseError",
    ),
    Case(
        U + "MaxRetryError",
        told(by_urllib3, 507, retries=urllib3.Retry(0, status_forcelist=[507])),
        USED_UP,
        inside=U + "ResponseError",
    ),
    Case(
        U + "MaxRetryError",
        told(by_urllib3, 302, IN_A_CIRCLE, retries=urllib3.Retry(0)),
        INTERNAL,
        inside=U + "ResponseError",
    ),
    Case(
        U + "MaxRetryError",
        through(by_urllib3, shows_its_certificate, "https", retries=0),
        INTERNAL,
        inside=U + "SSLError",
    ),
    Case(U + "SSLError", through(by_urllib3, shows_its_certificate, "https"), INTERNAL),
    Case(U + "SSLError", through(by_urllib3, speaks_no_tls, "https"), INTERNAL),
    Case(U + "ProxyError", through_proxy(by_urllib3, proxy_says(403)), BLOCKED),
    Case(U + "ProxyError", through_proxy(by_urllib3, proxy_says(407)), BLOCKED),
    Case(U + "ProxyError", through_proxy(by_urllib3, proxy_says(503)), OUTAGE),
    Case(U + "ProxySchemeUnknown", lambda: urllib3.ProxyManager(f"ftp://{SECRET}"), INTERNAL),
    Case(U + "ProxySchemeUnsupported", wraps_tls_in_no_tls, INTERNAL),
    Case(U + "LocationParseError", lambda: by_urllib3(f"http://[NOTREAL/?api_key={SECRET}"), PANICKED),
    Case(U + "LocationValueError", lambda: by_urllib3(f"http:///?api_key={SECRET}"), PANICKED),
    Case(U + "URLSchemeUnknown", lambda: by_urllib3(f"nosuch-NOTREAL://a/?api_key={SECRET}"), PANICKED),
    Case(U + "DecodeError", through(by_urllib3, BAD_GZIP), INTERNAL),
    Case(U + "EmptyPoolError", with_pool(asks_for_two_of_one, maxsize=1, block=True), OUTAGE),
    Case(U + "FullPoolError", with_pool(gives_back_two_of_one, maxsize=1, block=True), OUTAGE),
    Case(U + "ClosedPoolError", with_pool(asks_a_closed_pool), PANICKED),
    Case(U + "HostChangedError", with_pool(lambda pool: pool.request("GET", f"http://b.invalid/{SECRET}")), INTERNAL),
    Case(U + "TimeoutStateError", starts_twice, PANICKED),
    Case(
        U + "ResponseNotChunked",
        told(by_urllib3, 200, preload_content=False, then=reads_a_plain_answer_in_chunks),
        PANICKED,
    ),
    Case(U + "BodyNotHttplibCompatible", reads_no_answer_in_chunks, PANICKED),
    Case(U + "InvalidHeader", lambda: urllib3.Retry().parse_retry_after(f"{SECRET} soon"), INTERNAL),
    Case(U + "HeaderParsingError", finds_bad_headers, OUTAGE),
    Case(U + "UnrewindableBodyError", lambda: urllib3.util.request.rewind_body(Once(), 0), INTERNAL),
    Case(U + "InsecureRequestWarning", warns_of_no_verification, PANICKED),
    Case("urllib3.util.ssl_match_hostname.CertificateError", matches_another_host, INTERNAL),
]


# ---- aiohttp


async def opens_a_websocket(client, port):
    async with client.ws_connect(f"http://127.0.0.1:{port}/?api_key={SECRET}"):
        pass


def websocket(talk):
    def fail():
        with peer(talk) as port:
            with_aiohttp(lambda client: opens_a_websocket(client, port))()

    return fail


def talks_to_itself(use):
    """
    A failure on a WebSocket that is really open.
    """

    async def run():
        async def serve(request):
            socket_of_server = aiohttp.web.WebSocketResponse()
            await socket_of_server.prepare(request)
            async for _ in socket_of_server:
                await socket_of_server.send_bytes(b"NOTREAL")
            return socket_of_server

        app = aiohttp.web.Application()
        app.router.add_get("/", serve)
        runner = aiohttp.web.AppRunner(app)
        await runner.setup()
        try:
            site = aiohttp.web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            port = runner.addresses[0][1]
            async with aiohttp.ClientSession() as client, client.ws_connect(f"http://127.0.0.1:{port}/") as open_socket:
                await use(open_socket)
        finally:
            await runner.cleanup()

    return lambda: asyncio.run(run())


async def expects_text(open_socket):
    await open_socket.send_str("?")
    await open_socket.receive_str(timeout=5)


async def sends_after_the_end(open_socket):
    await open_socket.close()
    await open_socket.send_str("NOTREAL")


async def closes_what_is_in_use():
    with peer(silent) as port:
        connector = aiohttp.TCPConnector()
        async with aiohttp.ClientSession(connector=connector) as client:
            asking = asyncio.ensure_future(client.get(f"http://127.0.0.1:{port}/?api_key={SECRET}"))
            while not connector._acquired:
                await asyncio.sleep(0)
            await connector.close()
            await asking


def as_json(response):
    return response.json()


def unix(path):
    return lambda: aiohttp.UnixConnector(path=path)


async def raises_a_servers_answer():
    raise aiohttp.web.HTTPNotFound(text=SECRET)


def sends_an_object(port):
    async def use(client):
        await client.post(f"http://127.0.0.1:{port}/", data=object())

    with_aiohttp(use)()


def has_a_bad_parameter():
    from aiohttp.multipart import parse_content_disposition

    parse_content_disposition(f"attachment; {SECRET}*=x")


def has_a_bad_header():
    from aiohttp.multipart import parse_content_disposition

    parse_content_disposition(f"attachment; {SECRET}")


NO_UPGRADE = says(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
LONG_LINE = says(b"HTTP/1.1 200 OK\r\nX-Long: " + b"NOTREAL" * 3000 + b"\r\n\r\n")

A = "aiohttp.client_exceptions."
AIOHTTP = [
    Case(A + "ClientResponseError", told(by_aiohttp, 500), OUTAGE),
    Case(A + "ClientResponseError", through(by_aiohttp, NO_HTTP), OUTAGE),
    Case(A + "ClientResponseError", through(by_aiohttp, LONG_LINE), INTERNAL, inside="aiohttp.http_exceptions.LineTooLong"),
    Case(A + "ClientConnectorError", at(refused, by_aiohttp), OUTAGE),
    Case(A + "ClientConnectorDNSError", lambda: by_aiohttp(f"http://{NO_SUCH_HOST}/?api_key={SECRET}"), by_resolver),
    Case(A + "ConnectionTimeoutError", at(unreachable, by_aiohttp, timeout={"sock_connect": 0.03}), OUTAGE),
    Case(A + "SocketTimeoutError", through(by_aiohttp, silent, timeout={"sock_read": 0.03}), LATE),
    Case(A + "SocketTimeoutError", through(by_aiohttp, STALLED, timeout={"sock_read": 0.03}), LATE),
    Case("builtins.TimeoutError", through(by_aiohttp, silent, timeout={"total": 0.03}), LATE),
    Case(A + "ServerDisconnectedError", through(by_aiohttp, hangs_up), OUTAGE),
    Case(A + "ClientPayloadError", through(by_aiohttp, CUT_SHORT), OUTAGE),
    Case(A + "ClientPayloadError", through(by_aiohttp, CUT_CHUNKS), OUTAGE),
    Case(A + "ClientPayloadError", through(by_aiohttp, BAD_GZIP), INTERNAL),
    Case(A + "ClientConnectorCertificateError", through(by_aiohttp, shows_its_certificate, "https"), INTERNAL),
    Case(A + "ClientConnectorSSLError", through(by_aiohttp, speaks_no_tls, "https"), INTERNAL),
    Case(
        A + "ServerFingerprintMismatch",
        through(by_aiohttp, shows_its_certificate, "https", ssl=aiohttp.Fingerprint(b"NOTREAL-" * 4)),
        INTERNAL,
    ),
    Case(A + "ClientHttpProxyError", through_proxy(by_aiohttp, proxy_says(403)), BLOCKED),
    Case(A + "ClientHttpProxyError", through_proxy(by_aiohttp, proxy_says(407)), BLOCKED),
    Case(A + "ClientHttpProxyError", through_proxy(by_aiohttp, proxy_says(502)), OUTAGE),
    Case(
        A + "ClientProxyConnectionError",
        lambda: by_aiohttp("https://a.invalid/", proxy="http://127.0.0.1:1"),
        OUTAGE,
    ),
    Case(A + "UnixClientConnectorError", lambda: by_aiohttp("http://a/", connector=unix(f"/{SECRET}")), OUTAGE),
    Case(A + "ContentTypeError", told(by_aiohttp, 200, {"Content-Type": f"text/{SECRET}"}, then=as_json), INTERNAL),
    Case(
        A + "ContentTypeError",
        told(by_aiohttp, 429, {"Content-Type": "text/html", "Retry-After": "4"}, raise_for_status=False, then=as_json),
        ("quota_exceeded", "transient", True),
        4,
    ),
    Case(A + "TooManyRedirects", told(by_aiohttp, 302, IN_A_CIRCLE), INTERNAL),
    Case(A + "InvalidUrlClientError", lambda: by_aiohttp(f"http:///?api_key={SECRET}"), PANICKED),
    Case(A + "InvalidUrlClientError", lambda: by_aiohttp(f"http://NOTREAL:x/?api_key={SECRET}"), PANICKED),
    Case(A + "NonHttpUrlClientError", lambda: by_aiohttp(f"nosuch://NOTREAL/?api_key={SECRET}"), PANICKED),
    Case(A + "InvalidUrlRedirectClientError", told(by_aiohttp, 302, {"Location": f"http://{SECRET}:x/"}), INTERNAL),
    Case(A + "NonHttpUrlRedirectClientError", told(by_aiohttp, 302, {"Location": f"nosuch://{SECRET}/"}), INTERNAL),
    Case(A + "WSServerHandshakeError", websocket(NO_UPGRADE), INTERNAL),
    Case(A + "WSServerHandshakeError", websocket(proxy_says(503)), OUTAGE),
    Case(A + "WSMessageTypeError", talks_to_itself(expects_text), PANICKED),
    Case(A + "ClientConnectionResetError", talks_to_itself(sends_after_the_end), OUTAGE),
    Case(A + "ClientConnectionError", lambda: asyncio.run(closes_what_is_in_use()), PANICKED),
    Case("aiohttp.web_exceptions.HTTPNotFound", lambda: asyncio.run(raises_a_servers_answer()), ARGUMENTS),
    Case("aiohttp.multipart.BadContentDispositionHeader", has_a_bad_header, PANICKED),
    Case("aiohttp.multipart.BadContentDispositionParam", has_a_bad_parameter, PANICKED),
]

ALL = {"aiohttp": AIOHTTP, "requests": REQUESTS, "urllib3": URLLIB3}

#: Rows that no exception of the installed versions made speak here, and why.
NOT_RAISED = {}


@pytest.mark.parametrize("case", [case for cases in ALL.values() for case in cases], ids=lambda case: case.name)
def test_raised(case):
    """
    A failure that really happened has the right code, category, retryability and delay, and tells no secret.
    """
    check(case)
