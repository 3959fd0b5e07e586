"""
requests, urllib3 and aiohttp: what their exceptions mean, shown with exceptions that they raised.
"""

import asyncio
import base64
import gzip
import hashlib
import importlib
import io
import re
import socket
import struct
import sys
from contextlib import asynccontextmanager, contextmanager
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

from installed_classes import class_named
from toolfault import Guard
from toolfault._names import qualified_name


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
    by_resolver,
    check,
    facts,
    hangs_up,
    hears,
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
    survives,
    through,
    through_proxy,
    told,
    traps,
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
        session = aiohttp.ClientSession(timeout=limits, headers=HEADERS, **made)
        async with all_closed(), session, session.get(url, **options) as response:
            await (response.read() if then is None else then(response))

    asyncio.run(ask())


@asynccontextmanager
async def all_closed():
    """
    Let the loop turn until each TLS connection has said goodbye: aiohttp does not wait for that.
    """
    try:
        yield
    finally:
        loop = asyncio.get_running_loop()
        until = loop.time() + 1
        while loop.time() < until and any(transport._sock is not None for transport in loop._transports.values()):  # noqa: ASYNC110 -- nobody tells
            await asyncio.sleep(0)


def with_aiohttp(use, **options):
    """
    A failure of something else than a plain request.
    """

    def fail():
        async def run():
            limits = aiohttp.ClientTimeout(total=5)
            async with all_closed(), aiohttp.ClientSession(headers=HEADERS, timeout=limits, **options) as client:
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
    Case(
        R + "ChunkedEncodingError", through(by_requests, CUT_SHORT), OUTAGE, inside="urllib3.exceptions.IncompleteRead"
    ),
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


YES = says(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")


def with_pool(use, talk=YES, **options):
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
    Case(
        U + "ProtocolError",
        through(by_urllib3, BAD_CHUNKS, preload_content=False, then=lambda response: list(response.stream())),
        OUTAGE,
        inside=U + "InvalidChunkLength",
    ),
    Case(U + "ReadTimeoutError", through(by_urllib3, STALLED, timeout=0.03), LATE),
    Case(U + "MaxRetryError", at(refused, by_urllib3, retries=0), OUTAGE, inside=U + "NewConnectionError"),
    Case(
        U + "MaxRetryError", through(by_urllib3, silent, timeout=0.03, retries=0), LATE, inside=U + "ReadTimeoutError"
    ),
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


async def opens_a_websocket(client, port, use, options):
    async with client.ws_connect(f"http://127.0.0.1:{port}/?api_key={SECRET}", **options) as open_socket:
        if use is not None:
            await use(open_socket)


def websocket(talk, use=None, **options):
    def fail():
        with peer(talk) as port:
            with_aiohttp(lambda client: opens_a_websocket(client, port, use, options))()

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
            while not connector._acquired:  # noqa: ASYNC110 -- nobody tells
                await asyncio.sleep(0)
            await connector.close()
            await asking


def as_json(response):
    return response.json()


def unix(path):
    return lambda: aiohttp.UnixConnector(path=path)


async def raises_a_servers_answer():
    raise aiohttp.web.HTTPNotFound(text=SECRET)


def has_a_bad_parameter():
    from aiohttp.multipart import parse_content_disposition

    parse_content_disposition(f"attachment; {SECRET}*=x")


def has_a_bad_header():
    from aiohttp.multipart import parse_content_disposition

    parse_content_disposition(f"attachment; {SECRET}")


def upgrades(more=b"", *, extensions=""):
    """
    A peer that opens a WebSocket, and then sends these bytes.
    """

    def talk(connection):
        [key] = re.findall(rb"(?i)Sec-WebSocket-Key: (\S+)", hears(connection))
        accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()).decode()
        head = (
            f"HTTP/1.1 101 NOTREAL\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: {accept}\r\n"
        )
        connection.sendall(f"{head}{extensions}\r\n".encode() + more)
        silent(connection)

    return talk


async def hears_of_it(open_socket):
    message = await open_socket.receive(timeout=5)
    raise message.data


def resets(connection):
    hears(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def uploads_for_ever(client, port):
    async def body():
        yield b"NOTREAL"
        await asyncio.Event().wait()

    tracker = aiohttp.UploadTracker()
    async with client.post(f"http://127.0.0.1:{port}/?api_key={SECRET}", data=body(), upload_tracker=tracker):
        pass
    await tracker.upload_complete


def upload():
    with peer(says(b"HTTP/1.1 413 NOTREAL\r\nContent-Length: 0\r\n\r\n")) as port:
        with_aiohttp(lambda client: uploads_for_ever(client, port))()


MANY_MEMBERS = gzip.compress(b"NOTREAL") * 1100
BOMB = says(
    f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(MANY_MEMBERS)}\r\n\r\n".encode() + MANY_MEMBERS
)
NO_UPGRADE = says(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
LONG_LINE = says(b"HTTP/1.1 200 OK\r\nX-Long: " + b"NOTREAL" * 3000 + b"\r\n\r\n")

A = "aiohttp.client_exceptions."
AIOHTTP = [
    Case(A + "ClientResponseError", told(by_aiohttp, 500), OUTAGE),
    Case(
        A + "ClientResponseError", through(by_aiohttp, NO_HTTP), OUTAGE, inside="aiohttp.http_exceptions.BadStatusLine"
    ),
    Case(
        A + "ClientResponseError",
        through(by_aiohttp, LONG_LINE),
        INTERNAL,
        inside="aiohttp.http_exceptions.LineTooLong",
    ),
    Case(A + "ClientConnectorError", at(refused, by_aiohttp), OUTAGE),
    Case(A + "ClientConnectorDNSError", lambda: by_aiohttp(f"http://{NO_SUCH_HOST}/?api_key={SECRET}"), by_resolver),
    Case(A + "ConnectionTimeoutError", at(unreachable, by_aiohttp, timeout={"sock_connect": 0.03}), OUTAGE),
    Case(A + "SocketTimeoutError", through(by_aiohttp, silent, timeout={"sock_read": 0.03}), LATE),
    Case(A + "SocketTimeoutError", through(by_aiohttp, STALLED, timeout={"sock_read": 0.03}), LATE),
    Case(A + "ClientOSError", through(by_aiohttp, resets), OUTAGE),
    Case("builtins.TimeoutError", through(by_aiohttp, silent, timeout={"total": 0.03}), LATE),
    Case(A + "ServerDisconnectedError", through(by_aiohttp, hangs_up), OUTAGE),
    Case(A + "ClientPayloadError", through(by_aiohttp, CUT_SHORT), OUTAGE),
    Case(
        A + "ClientPayloadError",
        through(by_aiohttp, CUT_CHUNKS),
        OUTAGE,
        inside="aiohttp.http_exceptions.TransferEncodingError",
    ),
    Case(
        A + "ClientPayloadError",
        through(by_aiohttp, BAD_GZIP),
        INTERNAL,
        inside="aiohttp.http_exceptions.ContentEncodingError",
    ),
    Case(
        A + "ClientPayloadError",
        through(by_aiohttp, BOMB),
        INTERNAL,
        inside="aiohttp.compression_utils.TooManyMembersError",
    ),
    Case(A + "UploadAbortedError", upload, OUTAGE),
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
    Case(
        A + "WSServerHandshakeError",
        websocket(upgrades(extensions=f"Sec-WebSocket-Extensions: permessage-deflate; {SECRET}\r\n"), compress=15),
        INTERNAL,
        inside="aiohttp._websocket.models.WSHandshakeError",
    ),
    Case("aiohttp._websocket.models.WebSocketError", websocket(upgrades(b"\xf1\x01x"), hears_of_it), OUTAGE),
    Case(A + "ServerTimeoutError", websocket(upgrades(), hears_of_it, heartbeat=0.02), LATE),
    Case(A + "WSMessageTypeError", talks_to_itself(expects_text), PANICKED),
    Case(A + "ClientConnectionResetError", talks_to_itself(sends_after_the_end), OUTAGE),
    Case(A + "ClientConnectionError", lambda: asyncio.run(closes_what_is_in_use()), PANICKED),
    Case("aiohttp.payload.LookupError", lambda: aiohttp.payload.get_payload(object()), PANICKED),
    Case("aiohttp.web_exceptions.HTTPNotFound", lambda: asyncio.run(raises_a_servers_answer()), ARGUMENTS),
    Case("aiohttp.multipart.BadContentDispositionHeader", has_a_bad_header, PANICKED),
    Case("aiohttp.multipart.BadContentDispositionParam", has_a_bad_parameter, PANICKED),
]

ALL = {"aiohttp": AIOHTTP, "requests": REQUESTS, "urllib3": URLLIB3}

#: Rows that no exception of the installed versions made speak here, and why.
NOT_RAISED = {
    "aiohttp.client_exceptions.ClientError": "a base: aiohttp raises its subclasses",
    "aiohttp.client_exceptions.ClientSSLError": "a base: aiohttp raises its subclasses",
    "aiohttp.client_exceptions.InvalidURL": "a base: aiohttp raises its subclasses",
    "aiohttp.client_exceptions.RedirectClientError": "a base: aiohttp raises its subclasses",
    "aiohttp.client_exceptions.ServerConnectionError": "a base: aiohttp raises its subclasses",
    "aiohttp.http_exceptions.DecompressSizeError": "deprecated: aiohttp no longer raises it",
    "aiohttp.http_websocket.WebSocketError": "the name of the class before aiohttp 3.11",
    "requests.exceptions.RequestException": "a base: requests raises its subclasses",
    "requests.exceptions.Timeout": "a base: requests raises its subclasses",
    "requests.exceptions.URLRequired": "requests exports it, and raises it nowhere",
    "urllib3.exceptions.HTTPError": "a base: urllib3 raises its subclasses",
    "urllib3.exceptions.PoolError": "a base: urllib3 raises its subclasses",
    "urllib3.exceptions.TimeoutError": "a base: urllib3 raises its subclasses",
}

#: Where a class stands under an older name.
MOVED = {"aiohttp.http_websocket.WebSocketError": "aiohttp._websocket.models.WebSocketError"}

MODULES = """
    aiohttp aiohttp.client aiohttp.client_exceptions aiohttp.client_ws aiohttp.compression_utils aiohttp.connector
    aiohttp.http aiohttp.http_exceptions aiohttp.http_websocket aiohttp.multipart aiohttp.payload aiohttp.streams
    aiohttp.web aiohttp.web_exceptions
    requests requests.adapters requests.auth requests.cookies requests.exceptions requests.models requests.sessions
    urllib3 urllib3.connection urllib3.connectionpool urllib3.exceptions urllib3.poolmanager urllib3.response
    urllib3.util urllib3.util.ssl_match_hostname
""".split()


@pytest.mark.parametrize("case", [case for cases in ALL.values() for case in cases], ids=lambda case: case.name)
def test_raised(case):
    """
    A failure that really happened has the right code, category, retryability and delay, and tells no secret.
    """
    check(case)


def test_every_row_is_raised_or_listed():
    """
    A row without a failure that shows it is no row.
    """
    rows = {name for table in TABLES.values() for name in table.RULES}
    shown = rows_of([case for cases in ALL.values() for case in cases])

    assert rows - shown == NOT_RAISED.keys()


@pytest.mark.parametrize("name", [name for table in TABLES.values() for name in [*table.RULES, *table.IGNORED]])
def test_every_name_is_that_of_a_class(name):
    """
    A class that a package renames or drops turns this red.
    """
    cls = class_named(name)

    assert issubclass(cls, BaseException)
    assert qualified_name(cls) == MOVED.get(name, name)


def test_every_exported_exception_has_a_row():
    """
    A class that a package adds turns this red, until it is mapped, or ignored on purpose.
    """
    ignored = frozenset().union(*(table.IGNORED for table in TABLES.values()))

    assert without_a_row(MODULES, ignored) == set()


# ---- statuses


@pytest.mark.parametrize("client", [by_requests, by_aiohttp], ids=["requests", "aiohttp"])
@pytest.mark.parametrize(("status", "headers", "expected", "delay"), ANSWERS)
def test_answers(client, status, headers, expected, delay):
    """
    Each status that a real server answered, with its headers.
    """
    fail = told(client, status, headers)
    fault = judged(raised_by(fail), fail)

    assert (*expected, delay) == (*facts(fault.envelope), fault.envelope.retry_after_seconds)
    assert fault.facts["upstream_status"] == status
    assert f"HTTP {status}" in fault.envelope.message


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (429, b'{"error": {"code": "insufficient_quota"}}', USED_UP),
        (429, b"Daily limit of NOTREAL reached", USED_UP),
        (403, b"API rate limit exceeded for NOTREAL", ("quota_exceeded", "transient", True)),
    ],
)
def test_bodies(status, body, expected):
    """
    requests keeps the body; it is looked at, and never shown.
    """
    fail = told(by_requests, status, body=body)

    assert expected == facts(judged(raised_by(fail), fail).envelope)


def test_a_body_that_was_not_read_is_not_read():
    """
    It may be without end.
    """
    taken = []

    def looks(response):
        try:
            response.raise_for_status()
        except requests.HTTPError as exc:
            taken.append((exc, judged(exc)))
            assert response._content is False

    with answering(500) as url:
        by_requests(url, stream=True, then=looks)

    assert [facts(fault.envelope) for _, fault in taken] == [OUTAGE]


@pytest.mark.parametrize("client", [by_requests, by_aiohttp], ids=["requests", "aiohttp"])
def test_what_a_guard_declares(client):
    """
    Credentials of the server, values that are not the caller's, hosts that may be talked to.
    """
    unauthorized, refused_values, forbidden = (raised_by(told(client, status)) for status in (401, 422, 403))

    assert facts(judged(unauthorized, guard=Guard(credentials="server")).envelope) == ("internal", "auth", False)
    assert facts(judged(refused_values, guard=Guard(arguments_forwarded=False)).envelope) == INTERNAL
    assert facts(judged(forbidden, guard=Guard(egress_allow=["api.example.com"])).envelope) == BLOCKED
    assert facts(judged(forbidden, guard=Guard(egress_allow=["127.0.0.1"])).envelope)[0] == "permission_denied"


# ---- whose URL

BAD_URLS = [
    (by_requests, "no-scheme.example/x"),
    (by_requests, "nosuch://host.example/x"),
    (by_requests, "http://*host.example/x"),
    (by_requests, "http:///nohost"),
    (by_requests, "http://[broken/x"),
    (by_urllib3, "http://[broken/x"),
    (by_aiohttp, "http:///nohost"),
    (by_aiohttp, "http://host.example:x/"),
    (by_aiohttp, "nosuch://host.example/x"),
]


@pytest.mark.parametrize(("client", "url"), BAD_URLS)
def test_a_bad_url_is_whose_it_is(client, url):
    """
    The caller's if an argument is the URL, else the tool's.
    """
    exc = raised_by(lambda: client(url))

    # Of a label that IDNA does not take, requests keeps nothing.
    assert facts(judged(exc, url=url).envelope) == (PANICKED if "*" in url else ARGUMENTS)
    assert facts(judged(exc, url="http://another.example/").envelope) == PANICKED


@pytest.mark.parametrize("client", [by_requests, by_urllib3, by_aiohttp])
def test_a_host_of_the_callers(client):
    """
    A name that does not exist is the caller's if an argument holds it.
    """
    exc = raised_by(lambda: client("http://nosuch-host.invalid/"))
    theirs = judged(exc, host="nosuch-host.invalid").envelope
    final = not judged(exc).envelope.retryable

    assert facts(theirs) == (ARGUMENTS if final else OUTAGE)


@pytest.mark.parametrize("client", [by_requests, by_urllib3, by_aiohttp])
def test_a_name_that_does_not_exist_wherever_the_test_runs(client, monkeypatch):
    """
    The resolver's two answers, whatever the network here says.
    """

    def resolves(number, text):
        def getaddrinfo(*_, **__):
            raise socket.gaierror(number, text)

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        return raised_by(lambda: client("http://nosuch-host.invalid/"))

    gone = resolves(socket.EAI_NONAME, "Name or service not known")
    later = resolves(socket.EAI_AGAIN, "Temporary failure in name resolution")

    assert facts(judged(gone).envelope) == INTERNAL
    assert facts(judged(gone, host="nosuch-host.invalid").envelope) == ARGUMENTS
    assert facts(judged(later).envelope) == OUTAGE
    assert "EAI_NONAME" in judged(gone).envelope.message


@pytest.mark.parametrize("client", [by_requests, by_urllib3, by_aiohttp])
def test_a_socket_that_the_environment_forbids(client, monkeypatch):
    """
    A sandbox refuses the system call.
    """

    def forbids(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "connect", forbids)
    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", lambda *_: forbids())
    exc = raised_by(lambda: client("http://127.0.0.1:9/"))

    assert facts(judged(exc).envelope) == BLOCKED


@pytest.mark.parametrize(
    ("client", "talk", "words"),
    [
        (by_requests, shows_its_certificate, "certificate"),
        (by_urllib3, shows_its_certificate, "certificate"),
        (by_aiohttp, shows_its_certificate, "certificate"),
        (by_requests, speaks_no_tls, "TLS connection"),
        (by_urllib3, speaks_no_tls, "TLS connection"),
        (by_aiohttp, speaks_no_tls, "TLS connection"),
    ],
)
def test_tls_says_what_is_wrong(client, talk, words):
    """
    And never that verification could be turned off.
    """
    message = judged(raised_by(through(client, talk, "https"))).envelope.message

    assert words in message
    assert "verify=" not in message


# ---- half-built exceptions


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("name", [name for table in TABLES.values() for name in table.RULES])
def test_no_rule_raises(name, make):
    """
    Whatever the state of an exception, its rule has an opinion, and a guard an answer.
    """
    survives(class_named(name), make)


# ---- traps

#: Classes that a ladder of ``isinstance`` over the builtins would judge otherwise.
TRAPS = """
    aiohttp.client_exceptions.ClientConnectorCertificateError
    aiohttp.client_exceptions.ClientConnectorSSLError
    aiohttp.client_exceptions.ConnectionTimeoutError
    aiohttp.client_exceptions.InvalidUrlRedirectClientError
    aiohttp.client_exceptions.UnixClientConnectorError
    requests.exceptions.ChunkedEncodingError
    requests.exceptions.ConnectTimeout
    requests.exceptions.ConnectionError
    requests.exceptions.HTTPError
    requests.exceptions.InvalidHeader
    requests.exceptions.InvalidJSONError
    requests.exceptions.InvalidProxyURL
    requests.exceptions.InvalidSchema
    requests.exceptions.InvalidURL
    requests.exceptions.JSONDecodeError
    requests.exceptions.MissingSchema
    requests.exceptions.ProxyError
    requests.exceptions.ReadTimeout
    requests.exceptions.RetryError
    requests.exceptions.StreamConsumedError
    urllib3.exceptions.ProxySchemeUnknown
    urllib3.exceptions.ProxySchemeUnsupported
    urllib3.util.ssl_match_hostname.CertificateError
""".split()


def test_traps():
    """
    Each row that says something else than a builtin base of its class.
    """
    assert TRAPS == traps([case for cases in ALL.values() for case in cases])
    assert len(TRAPS) == 23


if __name__ == "__main__":
    print(f"{len(TRAPS)} classes of requests, urllib3 and aiohttp are not what their builtin base says")  # noqa: T201
