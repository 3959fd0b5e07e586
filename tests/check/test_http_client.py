"""
The checker's client over HTTP, against a server whose every byte is written by hand.
"""

import contextlib

import pytest

from remote_server import RemoteServer, serving
from toolfault.check._client import NotStartedError
from toolfault.check._http import HttpClient
from toolfault.check._model import Kind, Provocation
from toolfault.check._wire import MODERN


PATIENT = 20.0


@contextlib.contextmanager
def connected(server=None, **options):
    with serving(server) as served, contextlib.closing(HttpClient(served.url, **options)) as client:
        client.connect(PATIENT)
        yield served, client


def call(tool, kind=Kind.AUTHOR, **more):
    return Provocation(tool, "g", kind, params={"name": tool, "arguments": {}}, tool=tool, **more)


#: Tool to the statuses of what comes, and which of it are messages.
ANSWERS = {
    "fine": [(200, True)],
    "iserr": [(200, True)],
    "rpc_error": [(200, True)],
    "busy_error": [(503, True)],
    "s500_error": [(500, True)],
    "wrong_id": [(200, True)],
    "null_id": [(200, True)],
    "pretty": [(200, True)],
    "s400": [(400, False)],
    "s404html": [(404, False)],
    "s429": [(429, False)],
    "s502html": [(502, False)],
    "s503": [(503, False)],
    "html200": [(200, False)],
    "empty200": [(200, False)],
    "j202": [(202, False)],
    "redir_same": [(200, True)],
    "redir_cross": [(307, False)],
    "redir_loop": [],
    "close": [],
    "truncated": [],
    "sse_ok": [(200, True)],
    "sse_error": [(200, True)],
    "sse_multiline": [(200, True)],
    "sse_other_event": [(200, True)],
    "sse_wrong_id": [(200, True)],
    "sse_null_id": [(200, True)],
    "sse_progress": [(200, True)],
    "sse_ask": [(200, True)],
    "sse_open_after": [(200, True)],
    "sse_cut": [(200, False)],
    "sse_garbage": [(200, False)],
}


@pytest.mark.parametrize("is_modern", [False, True], ids=["legacy", "modern"])
@pytest.mark.parametrize("tool", ANSWERS)
def test_what_comes_is_kept_as_it_came(tool, is_modern):
    with serving() as served, contextlib.closing(HttpClient(served.url, is_modern=is_modern)) as client:
        if is_modern:
            # The server does not know `server/discover`; its calls are of either era.
            with pytest.raises(NotStartedError, match="refused server/discover: 'Method not found'"):
                client.connect(PATIENT)
        else:
            client.connect(PATIENT)

        exchange = client.provoke(call(tool), PATIENT, 0.05)

    assert [(one.status, one.value is not None) for one in exchange.answers] == ANSWERS[tool]
    assert exchange.is_alive
    assert exchange.protocol == (MODERN if is_modern else "2025-11-25")
    assert exchange.noise == ((b"{not json",) if tool == "sse_garbage" else ())


def test_headers_are_kept():
    with connected() as (_, client):
        (answer,) = client.provoke(call("s429"), PATIENT, 0).answers

    assert answer.headers["retry-after"] == "7"
    assert answer.raw == b"slow down"


@pytest.mark.parametrize("tool", ["hang", "sse_silent"])
def test_silence_ends_at_the_deadline(tool):
    with connected() as (_, client):
        exchange = client.provoke(call(tool), 0.2, 0)

    assert exchange.answers == ()
    assert exchange.is_alive
    assert 0.2 <= exchange.elapsed < PATIENT


def test_a_second_answer_on_the_stream_is_seen():
    first = '{"jsonrpc": "2.0", "id": 1, "result": {}}'
    server = RemoteServer()
    server.raw = ("text/event-stream", f"data: {first}\n\ndata: {first}\n\n", [])
    with connected(server) as (_, client):
        exchange = client.provoke(call("raw"), PATIENT, 0.05)

    assert [one.raw for one in exchange.answers] == [first.encode()] * 2


@pytest.mark.parametrize("is_modern", [False, True], ids=["legacy", "modern"])
def test_a_call_is_cancelled(is_modern):
    with serving() as served, contextlib.closing(HttpClient(served.url, is_modern=is_modern)) as client:
        with contextlib.suppress(NotStartedError):
            client.connect(PATIENT)
        exchange = client.provoke(call("hang", Kind.CANCELLED), PATIENT, 0.2)
        posted = [row[3] for row in served.called("notifications/cancelled")]
        # The end of the stream is the cancellation.
        served.wait_for(lambda row: row[0] == "closed")

    assert exchange.answers == ()
    expected = [] if is_modern else [exchange.request_id]
    assert [one["params"]["requestId"] for one in posted] == expected


def test_a_request_of_the_server_is_refused():
    with connected() as (served, client):
        client.provoke(call("sse_ask"), PATIENT, 0.05)
        answer = served.wait_for(lambda row: isinstance(row[3], dict) and row[3].get("id") == "q1")[3]

    assert answer["error"]["code"] == -32601


def test_the_session_is_kept_and_ended():
    with serving() as served:
        client = HttpClient(served.url, {"x-own": "1"})
        client.connect(PATIENT)
        client.ask("tools/list", {}, PATIENT)
        client.close()
        client.close()
        rows = [row for row in served.requests if row[0] in ("POST", "DELETE")]

    assert client.has_session
    assert [row[1] for row in rows] == ["initialize", "notifications/initialized", "tools/list", None]
    assert [row[2].get("mcp-session-id") for row in rows] == [None, "s-1", "s-1", "s-1"]
    assert [row[2].get("mcp-protocol-version") for row in rows] == [None, *["2025-11-25"] * 3]
    assert {row[2]["x-own"] for row in rows} == {"1"}


def test_a_provocation_changes_headers_and_leaves_them_out():
    with connected() as (served, client):
        exchange = client.provoke(
            call("fine", headers={"MCP-Session-Id": "gone", "mcp-protocol-version": ""}), PATIENT, 0
        )
        sent = served.called("tools/call")[0][2]

    assert sent["mcp-session-id"] == "gone"
    assert "mcp-protocol-version" not in sent
    assert [one.status for one in exchange.answers] == [404]
    assert exchange.is_alive


def test_marked_arguments_are_headers():
    with serving() as served, contextlib.closing(HttpClient(served.url, is_modern=True)) as client:
        with contextlib.suppress(NotStartedError):
            client.connect(PATIENT)
        client.ask("tools/list", {}, PATIENT)
        params = {"name": "headed", "arguments": {"region": "eu"}}
        client.provoke(Provocation("x", "g", Kind.AUTHOR, params=params), PATIENT, 0)
        sent = served.called("tools/call")[0][2]

    assert sent["mcp-param-region"] == "eu"
    assert sent["mcp-method"] == "tools/call"
    assert sent["mcp-name"] == "headed"


# ---- what does not start


@pytest.mark.parametrize(
    ("tokens", "said"),
    [({"secret"}, "wants a login (HTTP 401); give its credentials with --header Authorization=VARIABLE")],
)
def test_a_login_is_asked_for(tokens, said):
    server = RemoteServer()
    server.tokens = tokens
    with pytest.raises(NotStartedError) as caught, connected(server):
        pass

    assert said in str(caught.value)


def test_credentials_are_sent():
    server = RemoteServer()
    server.tokens = {"secret"}

    with connected(server, headers={"Authorization": "Bearer secret"}) as (_, client):
        assert client.hello.server == "remote 1"


def test_a_refused_connection_is_described():
    with serving() as served:
        url = served.url
    with contextlib.closing(HttpClient(url)) as client, pytest.raises(NotStartedError, match="can't be reached"):
        client.connect(PATIENT)
