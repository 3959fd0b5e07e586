"""
What the gateway over HTTP does not replace leaves as the bytes that came, however they come.
"""

import asyncio
import contextlib
import gzip
import json
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolfault.gateway._access import Access
from toolfault.gateway._encodings import Decoder, EncodingError, accept_only_decodable, decode
from toolfault.gateway._host import Journal
from toolfault.gateway._http import httpx
from toolfault.gateway._options import Options
from toolfault.gateway._proxy import Proxy
from toolfault.gateway._reply import rewrite_event
from toolfault.gateway._sse import EventSplitter
from toolfault.gateway._upstream import Upstream


class Body(httpx.AsyncByteStream):
    """
    A body in chunks, which may break off.
    """

    def __init__(self, chunks, breaks_off=False):
        self.chunks = chunks
        self.breaks_off = breaks_off

    async def __aiter__(self):
        for chunk in self.chunks:
            yield chunk
        if self.breaks_off:
            raise httpx.ReadError("reset")


class Server(httpx.AsyncBaseTransport):
    """
    A server that gives one answer to everything.
    """

    def __init__(self, chunks, kind="application/json", status=200, **options):
        self.answer = lambda: httpx.Response(status, headers={"content-type": kind}, stream=Body(chunks, **options))

    async def handle_async_request(self, request):
        return self.answer()


async def exchange(server, message, headers=()):
    """
    Send a message through the gateway; return the status and the body.
    """
    upstream = Upstream("http://server/mcp", {})
    upstream.client = httpx.AsyncClient(transport=server)
    proxy = Proxy(Options(), upstream, Access("localhost"), Journal(None))
    scope = {"type": "http", "method": "POST", "path": "/mcp", "raw_path": b"/mcp", "query_string": b""}
    scope["headers"] = [(b"host", b"localhost"), *headers]
    inbox = [{"type": "http.request", "body": json.dumps(message).encode()}]
    sent = []

    async def receive():
        if inbox:
            return inbox.pop()
        return await asyncio.Event().wait()

    async def send(event):
        sent.append(event)

    await proxy(scope, receive, send)
    return sent[0]["status"], b"".join(event.get("body", b"") for event in sent)


def call(request_id=1, method="tools/call"):
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {"name": "t"}}


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def successes(draw):
    """
    The bytes of a success, with unknown members, big numbers, escapes and repeated keys.
    """
    members = [
        (draw(TEXTS.filter(lambda name: name not in {"isError", "is_error", "task"})), draw(VALUES)) for _ in range(3)
    ]
    members.append(("content", [{"type": "text", "text": draw(TEXTS), "x-unknown": draw(VALUES)}]))
    is_ascii = draw(st.booleans())
    written = [
        f"{json.dumps(name, ensure_ascii=is_ascii)}:{draw(st.sampled_from(['', ' ']))}{json.dumps(value, ensure_ascii=is_ascii)}"
        for name, value in [*members, draw(st.sampled_from(members))]
    ]
    top = f'"x-top": {json.dumps(draw(VALUES))}, "id": 1, "jsonrpc": "2.0"'
    return f'{{{top}, "result": {{{", ".join(written)}}}}}'.encode()


def cut(draw, data):
    """
    Return bytes in chunks.
    """
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=6)))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)])]


@settings(deadline=None, max_examples=60)
@given(successes(), st.data())
def test_a_success_leaves_as_the_bytes_that_came(body, data):
    server = Server(cut(data.draw, body))

    assert asyncio.run(exchange(server, call())) == (200, body)


NOTICE = b'{"jsonrpc": "2.0", "method": "notifications/x", "params": {"n": 1e2}}'


@settings(deadline=None, max_examples=60)
@given(
    successes(),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.sampled_from([b"", b": hi", b"retry: 5", b"id: 7", b"event: other", b"unknown: 1"]),
    st.data(),
)
def test_a_stream_leaves_as_the_bytes_that_came(body, end, line, data):
    events = [b"data: " + NOTICE, *([line] if line else []), b"data:" + body, b": the end"]
    stream = b"\xef\xbb\xbf" + b"".join(event + end * 2 for event in events)
    server = Server(cut(data.draw, stream), "text/event-stream; charset=utf-8")

    assert asyncio.run(exchange(server, call())) == (200, stream)


@pytest.mark.parametrize("method", ["initialize", "resources/read", "com.example/later"])
@pytest.mark.parametrize("status", [200, 201, 400, 401, 404, 500, 503])
@pytest.mark.parametrize("error", [True, False])
def test_other_methods_are_not_judged(method, status, error):
    member = {"error": {"code": -32000, "message": "no"}} if error else {"result": {"isError": True, "content": []}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, **member, "x": 1e2}).encode()

    assert asyncio.run(exchange(Server([body], status=status), call(method=method))) == (status, body)


@pytest.mark.parametrize(
    ("chunks", "kind"),
    [
        ([], "application/json"),
        ([b"{"], "application/json"),
        ([], "text/event-stream"),
        ([b": ping\n\n"], "text/event-stream"),
        ([b"data: {}\n\n"], "text/event-stream"),
        ([b"data: " + json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}).encode()[:30]], "text/event-stream"),
    ],
)
@pytest.mark.parametrize("breaks_off", [True, False])
def test_whatever_ends_early_ends_in_one_answer(chunks, kind, breaks_off):
    status, body = asyncio.run(exchange(Server(chunks, kind, breaks_off=breaks_off), call("a")))

    assert (status, body.count(b'"id":"a"'), body.count(b'"isError":true')) == (200, 1, 1)


def test_a_last_event_without_its_empty_line_is_read():
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"isError": True, "content": []}}).encode()
    _, stream = asyncio.run(exchange(Server([b"data: " + body], "text/event-stream", breaks_off=True), call()))

    assert stream.count(b'"id":1') == 1
    assert b"structuredContent" in stream


# ---- events


@pytest.mark.parametrize(
    ("event", "message", "expected"),
    [
        (b"data: 1\n\n", b"2\n", b"data: 2\n\n"),
        (b"id: 7\r\ndata: 1\r\ndata: 1\r\nretry: 5\r\n\r\n", b"2", b"id: 7\nretry: 5\ndata: 2\n\n"),
        (b"\xef\xbb\xbfevent: message\rdata\r: c\r\r", b"2", b"event: message\n: c\ndata: 2\n\n"),
        (b"event: message\nid: 7\ndata: 1\n\n", None, b"id: 7\n\n"),
        (b"data: 1\n\n", None, b""),
    ],
)
def test_an_event_is_rewritten(event, message, expected):
    (split,) = EventSplitter(1000).feed(event)

    assert rewrite_event(split, message) == expected


# ---- encodings


def deflated(data, wbits):
    packer = zlib.compressobj(wbits=wbits)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("", bytes),
        ("identity", bytes),
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        (" GZIP ", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda data: deflated(data, -15)),
    ],
)
@pytest.mark.parametrize("data", [b"", b"x", b"many words " * 100_000])
def test_bodies_are_decoded(encoding, pack, data):
    packed = pack(data)
    decoder = Decoder(encoding)

    assert decode(packed, encoding, 10**7) == data
    pieces = [piece for number in range(len(packed)) for piece in decoder.feed(packed[number : number + 1])]
    assert b"".join(pieces) == data


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, br", "nonsense"])
def test_an_unknown_encoding_is_not_decoded(encoding):
    assert decode(b"x", encoding, 100) is None


@given(st.binary(min_size=1, max_size=50))
def test_broken_bytes_raise_nothing_else(data):
    decode(data, "gzip", 100)
    with contextlib.suppress(EncodingError):
        list(Decoder("deflate").feed(data))


def test_a_bomb_is_not_unpacked():
    packed = gzip.compress(b"\0" * 10**8)
    pieces = Decoder("gzip").feed(packed)

    assert len(next(pieces)) <= 1 << 18
    assert decode(packed, "gzip", 10**6) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("gzip, deflate, br, zstd", "gzip, deflate"),
        ("br", "identity"),
        ("*", "identity"),
        ("", "identity"),
        ("GZIP;q=0.5,identity;q=0", "GZIP;q=0.5, identity;q=0"),
    ],
)
def test_only_what_can_be_decoded_is_accepted(value, expected):
    assert accept_only_decodable(value) == expected
