"""
The broken upstream, as real HTTP clients meet it.
"""

import http.client
import socket
import threading
import urllib.error
import urllib.request

import pytest

from toolfault import parse
from toolfault.check._model import Kind
from toolfault.check._upstream import BEHAVIOURS, WAIT, BrokenUpstream, upstream_provocations


#: A guard against a test that hangs; no test waits for it.
GUARD = 20


@pytest.fixture(scope="module")
def upstream():
    with BrokenUpstream() as upstream:
        yield upstream


def connect(upstream):
    host, port = upstream.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=GUARD)


def send(upstream, method="GET", body=None, headers=None):
    client = http.client.HTTPConnection(upstream.url.removeprefix("http://"), timeout=GUARD)
    try:
        client.request(method, "/v1/things?q=1", body, headers or {})
        response = client.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        client.close()


def receive_all(connection):
    received = b""
    while chunk := connection.recv(65536):
        received += chunk
    return received


@pytest.mark.parametrize(
    ("name", "status", "header", "body"),
    [
        ("401", 401, ("Content-Type", "application/json"), b"Bad credentials"),
        ("403", 403, ("Content-Type", "application/json"), b"Forbidden"),
        ("429", 429, ("Retry-After", str(WAIT)), b"Too many requests"),
        ("500", 500, ("Content-Type", "application/json"), b"Internal server error"),
        ("503", 503, ("Content-Type", "application/json"), b"Service unavailable"),
        ("html", 200, ("Content-Type", "text/html; charset=utf-8"), b"<h1>Sign in"),
        ("junk", 200, ("Content-Type", "application/json"), b"\xff\xfe\x00"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "HEAD"])
def test_each_request_gets_the_response_of_the_behaviour(upstream, name, status, header, body, method):
    upstream.behave(name)

    found = send(upstream, method, b"x" * 100_000 if method == "POST" else None)

    assert found[0] == status
    assert header in found[1].items()
    assert (body in found[2]) is (method != "HEAD")
    assert upstream.requests == 1


@pytest.mark.parametrize("name", sorted(BEHAVIOURS))
def test_what_a_request_says_about_itself_reads_as_expected(name):
    """
    The expected codes are those that toolfault's own reader finds in what people write about the behaviour.
    """
    texts = {
        "401": "Request failed with status code 401",
        "403": "Request failed with status code 403",
        "429": f"HTTP 429: too many requests, retry after {WAIT} seconds",
        "500": "Request failed with status code 500",
        "503": "Request failed with status code 503",
        "html": "Unexpected token '<', \"<!DOCTYPE html>\" is not valid JSON",
        "junk": "Expecting value: line 1 column 1 (char 0)",
        "silence": "The request timed out",
        "reset": "[Errno 104] Connection reset by peer",
    }
    expected = BEHAVIOURS[name].expected

    fault = parse({"isError": True, "content": [{"type": "text", "text": texts[name]}]})

    assert {fault.code} == expected.codes
    assert expected.is_transient in (None, fault.retryable)
    assert fault.retry_after_seconds == expected.wait


def test_a_reset_is_a_reset_and_not_an_end(upstream):
    upstream.behave("reset")

    with pytest.raises(ConnectionResetError):
        send(upstream)

    assert upstream.requests == 1


def test_silence_says_nothing_until_the_upstream_is_closed():
    request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    with BrokenUpstream() as upstream:
        upstream.behave("silence")
        waiting = connect(upstream)
        waiting.sendall(request)
        with connect(upstream) as finished:
            finished.sendall(request)
            finished.shutdown(socket.SHUT_WR)
            assert end_of(finished) == b""
        assert upstream.requests >= 1

    with waiting:
        assert end_of(waiting) in ("reset", b"")
    with pytest.raises(OSError):
        connect(upstream)


def end_of(connection):
    try:
        return receive_all(connection)
    except ConnectionResetError:
        return "reset"


@pytest.mark.parametrize(
    ("name", "first_line", "requests", "tunnels"),
    [
        ("401", b"HTTP/1.1 502 Bad Gateway", 0, 1),
        ("429", b"HTTP/1.1 502 Bad Gateway", 0, 1),
        ("html", b"HTTP/1.1 502 Bad Gateway", 0, 1),
        ("junk", b"HTTP/1.1 502 Bad Gateway", 0, 1),
        ("503", b"HTTP/1.1 503 Service Unavailable", 1, 0),
        ("reset", "reset", 1, 0),
    ],
)
def test_a_proxy_shows_what_it_can_before_there_is_a_tunnel(upstream, name, first_line, requests, tunnels):
    upstream.behave(name)

    with connect(upstream) as connection:
        connection.sendall(b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n")
        found = end_of(connection)

    assert (found if found == "reset" else found.split(b"\r\n")[0]) == first_line
    assert (upstream.requests, upstream.tunnels) == (requests, tunnels)
    assert ("HTTPS" in upstream.describe_absence("HTTPS_PROXY")) is bool(tunnels)


def test_a_client_of_https_behind_the_proxy_fails_at_once(upstream):
    upstream.behave("401")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"https": upstream.url}))

    with pytest.raises(urllib.error.URLError, match="502 Bad Gateway"):
        opener.open("https://api.example.com/", timeout=GUARD)


def test_plain_http_behind_the_proxy_gets_the_behaviour(upstream):
    upstream.behave("429")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": upstream.url}))

    with pytest.raises(urllib.error.HTTPError) as raised:
        opener.open("http://api.example.com/", timeout=GUARD)

    with raised.value as error:
        assert (error.code, error.headers["Retry-After"]) == (429, str(WAIT))


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", id="TLS"),
        pytest.param(b"\x00\x00\x00\x08\x04\xd2\x16/", id="PostgreSQL"),
        pytest.param(b"G" * 100_000, id="endless line"),
    ],
)
def test_what_is_not_http_is_closed_and_not_counted(upstream, sent):
    upstream.behave("503")

    with connect(upstream) as connection:
        try:
            connection.sendall(sent)
            found = end_of(connection)
        except (ConnectionResetError, BrokenPipeError):
            found = "reset"

    assert found in ("reset", b"")
    assert upstream.requests == 0
    assert upstream.describe_absence("API_URL") == "The server sent no request to the address in API_URL."


def test_a_client_that_goes_away_costs_nothing(upstream):
    upstream.behave("500")
    for sent in (b"", b"GET / HT", b"GET / HTTP/1.1\r\n\r\n"):
        with connect(upstream) as connection:
            connection.sendall(sent)

    assert send(upstream)[0] == 500


def test_a_choice_counts_from_zero(upstream):
    upstream.behave("500")
    send(upstream)
    send(upstream)
    assert (upstream.requests, upstream.describe_absence("API_URL")) == (2, "")

    upstream.behave("401")

    assert upstream.requests == 0


def test_many_clients_at_once_are_all_counted(upstream):
    upstream.behave("503")
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.append(send(upstream)[0])) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert statuses == [503] * 40
    assert upstream.requests == 40


def test_closing_twice_is_closing_once():
    upstream = BrokenUpstream()

    upstream.close()
    upstream.close()

    assert not any(thread.name == "toolfault-broken-upstream" for thread in threading.enumerate() if not thread.daemon)


def test_an_unknown_behaviour_is_an_error(upstream):
    with pytest.raises(KeyError):
        upstream.behave("418")


def test_a_tool_is_called_once_for_each_behaviour_and_cancelled_once():
    found = upstream_provocations("search", {"q": "x"})

    *broken, cancelled = found
    assert [one.upstream for one in broken] == list(BEHAVIOURS)
    assert len({one.id for one in found}) == len(found)
    assert all(one.kind is Kind.UPSTREAM and one.tool == "search" for one in broken)
    assert (cancelled.kind, cancelled.upstream, cancelled.tool) == (Kind.CANCELLED, "silence", "search")
    assert all(one.params == {"name": "search", "arguments": {"q": "x"}} for one in found)
