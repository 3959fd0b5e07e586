"""
The broken upstream, as real HTTP clients meet it.
"""

import http.client
import os
import socket
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from toolfault import parse
from toolfault.check._certificates import Authority
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


#: Asks a host that does not exist for something, over HTTPS.
CLIENT = """
import sys, urllib.error, urllib.request
try:
    with urllib.request.urlopen("https://api.acme.example/v1/things", timeout=float(sys.argv[1])) as response:
        print(response.status, response.read())
except urllib.error.HTTPError as exc:
    print(exc.code, exc.headers.get("Retry-After"))
except Exception as exc:
    print(type(getattr(exc, "reason", exc)).__name__, exc)
"""


def run_client(upstream, environment):
    env = {**os.environ, "HTTPS_PROXY": upstream.url, "https_proxy": upstream.url, "NO_PROXY": "", "no_proxy": ""}
    command = [sys.executable, "-c", CLIENT, str(GUARD)]
    return subprocess.run(command, env=env | environment, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("401", "401 None"),
        ("429", f"429 {WAIT}"),
        ("503", "503 None"),
        ("html", "200 b'<!DOCTYPE html>"),
        ("junk", "200 b'{"),
        # Some versions of OpenSSL report a reset as an end.
        ("reset", ("ConnectionResetError", "RemoteDisconnected")),
    ],
)
def test_a_process_that_trusts_it_gets_the_behaviour_over_https(upstream, name, says):
    upstream.behave(name)

    assert run_client(upstream, upstream.environment).startswith(says)
    assert upstream.requests == 1
    assert upstream.describe_absence("HTTPS_PROXY") == ""


def test_silence_over_https_lasts_until_the_upstream_is_closed():
    with BrokenUpstream() as upstream:
        upstream.behave("silence")
        trusted = ssl.create_default_context(cafile=upstream.environment["SSL_CERT_FILE"])
        plain = connect(upstream)
        plain.sendall(b"CONNECT api.acme.example:443 HTTP/1.1\r\n\r\n")
        assert plain.recv(1000).startswith(b"HTTP/1.1 200 ")
        tunnel = trusted.wrap_socket(plain, server_hostname="api.acme.example", suppress_ragged_eofs=True)
        tunnel.sendall(b"GET / HTTP/1.1\r\nHost: api.acme.example\r\n\r\n")

    with tunnel:
        assert end_of(tunnel) in ("reset", b"")


def test_a_process_that_does_not_trust_it_provokes_nothing(upstream):
    upstream.behave("401")
    assert upstream.environment

    assert "CERTIFICATE_VERIFY_FAILED" in run_client(upstream, {"SSL_CERT_FILE": ""})
    assert upstream.requests == 0
    assert "did not trust the certificate" in upstream.describe_absence("HTTPS_PROXY")


@pytest.mark.parametrize("target", [b":443", b"api.acme.example", b"\xff:443", b"a" * 300 + b":443", b"a..b:443", b""])
def test_a_tunnel_to_what_is_not_a_host_is_refused(upstream, target):
    upstream.behave("401")
    assert upstream.environment

    with connect(upstream) as connection:
        connection.sendall(b"CONNECT " + target + b" HTTP/1.1\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        found = end_of(connection)

    assert found == "reset" or found.split(b"\r\n")[0] in (b"HTTP/1.1 502 Bad Gateway", TUNNEL)
    assert upstream.requests == 0


TUNNEL = b"HTTP/1.1 200 Connection Established"


def test_without_an_authority_there_is_no_tunnel():
    with BrokenUpstream() as upstream:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({"https": upstream.url}))

        with pytest.raises(urllib.error.URLError, match="502 Bad Gateway"):
            opener.open("https://api.acme.example/", timeout=GUARD)

        assert (upstream.requests, upstream.tunnels) == (0, 1)


def test_without_cryptography_https_is_left_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)

    with BrokenUpstream() as upstream:
        assert upstream.environment == {}


def test_nothing_of_the_authority_stays_behind():
    with BrokenUpstream() as upstream:
        folder = Path(upstream.environment["SSL_CERT_FILE"]).parent
        run_client(upstream, upstream.environment)
        assert [path.name for path in folder.iterdir()] == ["authority.pem"]
        assert b"PRIVATE" not in (folder / "authority.pem").read_bytes()

    assert not folder.exists()


@pytest.mark.parametrize("host", ["api.acme.example", "127.0.0.1", "::1", "x" * 60 + ".example", "münchen.example"])
def test_a_host_is_certified_by_the_authority(host):
    authority = Authority()
    try:
        context = authority.context_for(host)
        assert authority.context_for(host) is context
        assert (context is None) is not host.isascii()
    finally:
        authority.close()


def test_the_number_of_certified_hosts_is_bounded():
    authority = Authority()
    try:
        contexts = [authority.context_for(f"h{number}.example") for number in range(300)]
    finally:
        authority.close()

    assert sum(context is not None for context in contexts) == 256


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
