"""
The gateway as a process that listens, between a client and a server that send bytes over HTTP.
"""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import zlib

import anyio
import pytest
from mcp import Client

from http_client import HttpClient, listening
from raw_client import MODERN
from remote_server import STATUSES, serving
from toolfault import McpExecuteError, parse


KEY = "io.github.toolfault/error"
META = {"_meta": MODERN}
DEADLINE = "0.5"


@pytest.fixture(scope="module")
def server():
    with serving() as one:
        yield one


@pytest.fixture(scope="module")
def process(server):
    with listening(server.url, "--timeout", DEADLINE) as one:
        yield one


@pytest.fixture
def through(process):
    client = HttpClient(process.port)
    client.initialize()
    return client


@pytest.fixture
def direct(server):
    client = HttpClient(server.port)
    client.initialize()
    return client


#: What the client gets of each tool: the server's bytes, its status, or code, outcome and whether it is retryable.
SAME = None
OUTCOMES = {
    "ok": SAME,
    "pretty": SAME,
    "huge": SAME,
    "sse_ok": SAME,
    "sse_multiline": SAME,
    "sse_other_event": SAME,
    "redir_cross": SAME,
    "redir_loop": SAME,
    "s401": SAME,
    "iserr": ("internal", None, True),
    "sse_error": ("internal", None, True),
    "rpc_error": ("internal", None, False),
    "null_id": ("internal", None, False),
    "sse_null_id": ("internal", None, False),
    "wrong_id": ("internal", "unknown", False),
    "sse_wrong_id": ("mcp_server_unreachable", "unknown", True),
    "s400": ("mcp_server_unreachable", "unknown", False),
    "s403": ("permission_denied", "not_executed", False),
    "s404html": ("mcp_server_unreachable", "not_executed", False),
    "s429": ("quota_exceeded", "not_executed", True),
    "s500": ("mcp_server_unreachable", "unknown", True),
    "s502html": ("mcp_server_unreachable", "unknown", True),
    "s503": ("mcp_server_unreachable", "unknown", True),
    "busy_error": ("mcp_server_unreachable", "unknown", True),
    "s504": ("tool_timeout", "unknown", True),
    "html200": ("mcp_server_unreachable", "unknown", False),
    "empty200": ("mcp_server_unreachable", "unknown", False),
    "j202": ("mcp_server_unreachable", "unknown", False),
    "close": ("mcp_server_unreachable", "unknown", True),
    "truncated": ("mcp_server_unreachable", "unknown", True),
    "sse_cut": ("mcp_server_unreachable", "unknown", True),
    "sse_garbage": ("mcp_server_unreachable", "unknown", True),
    "sse_silent": ("tool_timeout", "unknown", True),
    "hang": ("tool_timeout", "unknown", True),
}


@pytest.mark.parametrize("meta", [{}, META], ids=["2025", "2026"])
@pytest.mark.parametrize("tool", OUTCOMES)
def test_every_behaviour_of_a_server_ends_in_an_answer(through, direct, tool, meta):
    got = through.call(tool, f"call {tool}", **meta)

    if OUTCOMES[tool] is SAME:
        expected = direct.call(tool, f"call {tool}", **meta)
        assert (got.status, got.body) == (expected.status, expected.body)
        assert got.headers.get("www-authenticate") == expected.headers.get("www-authenticate")
        return
    code, outcome, retryable = OUTCOMES[tool]
    assert (got.status, got.answer["id"]) == (200, f"call {tool}")
    result = got.answer["result"]
    fault = parse(result)
    assert (fault.code, fault.outcome, fault.retryable) == (code, outcome, retryable)
    assert McpExecuteError.from_wire(result["structuredContent"]).message == result["content"][0]["text"]
    assert "<" not in result["content"][0]["text"]
    assert result.get("resultType") == ("complete" if meta else None)


def test_the_table_holds_every_status():
    assert set(STATUSES) <= set(OUTCOMES)


def test_a_redirection_within_the_origin_is_followed(through, server):
    assert "isError" not in through.call("redir_same").answer["result"]
    assert server.called("tools/call")[-1][4] == "/mcp2"


@pytest.mark.parametrize(("tool", "wait"), [("s429", 7), ("s503", 3), ("busy_error", 9)])
def test_a_wait_that_the_server_names_arrives_and_its_header_stays(through, tool, wait):
    got = through.call(tool)

    assert parse(got.answer["result"]).retry_after_seconds == wait
    assert got.headers["retry-after"] == str(wait)


# ---- sessions


def test_a_dead_session_leaves_as_404_with_a_message(through, server):
    assert through.session in server.sessions

    assert through.call("session_always").status == 404
    got = through.call("ok")
    assert (got.status, got.answer["error"]["code"]) == (404, -32001)


def test_a_dead_session_of_another_server_gets_the_message_that_clients_look_for():
    with serving() as server, listening(server.url) as process:
        server.refuses_sessions_with = None
        client = HttpClient(process.port)
        client.session = "old"
        got = client.call("ok", 7)

    assert (got.status, got.answer["id"], got.answer["error"]["code"]) == (404, 7, -32001)


def test_a_stream_that_broke_off_is_resumed_and_judged(through):
    got = through.call("sse_cut_id", 5)
    assert got.body == b"id: ev-1\nretry: 10\ndata: \n\n"

    got = through.send("GET", headers={"last-event-id": "ev-1"})
    assert got.messages == [{"jsonrpc": "2.0", "id": 5, "result": {"content": [{"type": "text", "text": "fine"}]}}]


def test_a_stream_that_can_not_be_resumed_ends_in_an_answer(through):
    through.call("sse_cut_for_ever", 6)

    got = through.send("GET", headers={"last-event-id": "ev-0"})
    assert got.headers["content-type"] == "text/event-stream"
    assert got.answer["id"] == 6
    assert parse(got.answer["result"]).code == "mcp_server_unreachable"
    # Only once; then it is the server's business again.
    assert through.send("GET", headers={"last-event-id": "ev-0"}).status == 405


def test_a_session_is_ended_and_other_requests_pass(through, server):
    assert through.send("GET").status == 405
    assert through.send("DELETE").status == 200
    assert server.requests[-2][0] == "DELETE" or server.requests[-1][0] == "DELETE"
    assert through.send("POST", {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}).status == 202


def test_paths_queries_and_headers_pass(through, server):
    headers = {"x-trace": "a", "authorization": "Bearer client", "connection": "x-hop", "x-hop": "1", "Cookie": "c=1"}
    through.send("GET", path="/.well-known/oauth-protected-resource/a%2Fb?x=%20&y", headers=headers)

    row = next(one for one in reversed(server.requests) if one[0] == "GET")
    assert row[4] == "/.well-known/oauth-protected-resource/a%2Fb?x=%20&y"
    assert (row[2]["x-trace"], row[2]["authorization"], row[2]["cookie"]) == ("a", "Bearer client", "c=1")
    assert "x-hop" not in row[2]
    assert row[2]["host"] == f"127.0.0.1:{server.port}"


def test_the_listing_is_widened_and_batches_pass(through):
    tools = through.post("tools/list").answer["result"]["tools"]
    assert "anyOf" in next(tool for tool in tools if tool["name"] == "typed")["outputSchema"]

    batch = [{"jsonrpc": "2.0", "id": f"b{n}", "method": "com.example/x"} for n in (1, 2)]
    assert [one["id"] for one in through.send("POST", batch).answer] == ["b1", "b2"]


def test_a_batch_that_is_lost_is_answered_as_a_batch():
    with serving() as server:
        url = server.url
    with listening(url) as process:
        batch = [{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "x"}} for n in (1, 2)]
        got = HttpClient(process.port).send("POST", batch)

    assert [(one["id"], parse(one["result"]).outcome) for one in got.answer] == [
        (1, "not_executed"),
        (2, "not_executed"),
    ]


# ---- time


def test_the_deadline_pauses_while_the_client_is_asked(through, server):
    connection = through.open(
        "POST", {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "sse_ask"}}
    )
    response = connection.getresponse()
    seen = b""
    while b"elicitation" not in seen:
        seen += response.readline()
    # Another call, which starts later, runs into its deadline meanwhile.
    assert parse(through.call("hang").answer["result"]).code == "tool_timeout"
    through.send("POST", {"jsonrpc": "2.0", "id": "q1", "result": {"action": "decline"}})
    rest = response.read()
    connection.close()

    assert b'"text": "fine"' in rest


def test_progress_may_extend_the_deadline():
    with serving() as server, listening(server.url, "--timeout", "0.5", "--max-timeout", "5") as process:
        client = HttpClient(process.port)
        client.initialize()
        got = client.call("sse_progress", _meta={"progressToken": 1})

    assert parse(got.answer["result"]) is None
    assert len(got.messages) == 21


@pytest.mark.parametrize("meta", [{}, META], ids=["2025", "2026"])
def test_a_call_that_is_too_slow_is_cancelled_at_the_server(through, server, meta):
    through.call("hang", "slow", **meta)

    server.wait_for(lambda row: row[0] == "closed")
    if not meta:
        row = server.wait_for(lambda row: row[1] == "notifications/cancelled" and "slow" in str(row[3]))
        assert row[2]["mcp-session-id"] == through.session


@pytest.mark.parametrize("tool", ["hang", "sse_silent"])
def test_a_client_that_goes_away_frees_the_server(tool):
    with serving() as server, listening(server.url) as process:
        client = HttpClient(process.port)
        client.initialize()
        connection = client.open("POST", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}})
        server.wait_for(lambda row: row[1] == "tools/call")
        before = sum(row[0] == "closed" for row in server.requests)
        connection.close()

        server.wait_for(lambda _row: sum(row[0] == "closed" for row in server.requests) > before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_and_open_calls_are_answered(number):
    with serving() as server, listening(server.url) as process:
        client = HttpClient(process.port)
        client.initialize()
        server.streams = [b": hello\n\n", b""]
        stream = client.open("GET")
        stream.getresponse()
        connection = client.open(
            "POST", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "hang"}}
        )
        server.wait_for(lambda row: row[1] == "tools/call")
        process.send_signal(number)
        result = json.loads(connection.getresponse().read())["result"]
        stream.close()
        connection.close()
        assert process.wait(20) == 128 + number

    assert (parse(result).code, parse(result).outcome) == ("mcp_server_unreachable", "unknown")


# ---- who may use it


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost:1"}, 200),
        ({"host": "[::1]:1"}, 200),
        ({"host": "10.1.2.3"}, 200),
        ({"host": "gateway.example"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": "localhost@evil.example"}, 403),
        ({"host": ""}, 403),
        ({"origin": "http://localhost:6274"}, 200),
        ({"origin": "https://gateway.example"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://127.0.0.1.evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://["}, 403),
    ],
)
def test_names_that_a_page_could_point_at_this_machine_are_refused(server, headers, status):
    with listening(server.url, "--allow-host", "gateway.example") as process:
        client = HttpClient(process.port)
        client.initialize()
        before = len(server.requests)
        got = client.call("ok", headers=headers)

        assert got.status == status
        if status == 403:
            assert "--allow-host NAME" in got.answer["error"]["message"]
            assert len(server.requests) == before


def test_the_operators_header_goes_to_the_url_only(monkeypatch):
    monkeypatch.setenv("API_KEY", "k-123456")
    with serving() as server, listening(f"{server.url}?tenant=a", "--header", "Authorization=API_KEY") as process:
        client = HttpClient(process.port)
        client.initialize()
        mirror = client.call("mirror", headers={"authorization": "Bearer mine"})
        client.send("GET", path="/other")
        refused = client.call("s401")

    assert json.loads(mirror.answer["result"]["content"][0]["text"])["authorization"] == "k-123456"
    paths = {row[4]: row[2] for row in server.requests if row[4]}
    assert "authorization" not in paths["/other"]
    assert "/mcp?tenant=a" in paths
    # The client can't do anything about a key that is the operator's.
    assert parse(refused.answer["result"]).code == "permission_denied"


# ---- bytes


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br"])
@pytest.mark.parametrize("text", ["fine", "HTTP 503 from warehouse"])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_compressed_answers(encoding, text, kind):
    result = {"content": [{"type": "text", "text": text}], "isError": text != "fine"}
    data = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
    if kind == "text/event-stream":
        data = b"data: " + data + b"\n\n"
    wbits = {"gzip": 31, "deflate": -15, "br": 15}[encoding]
    packer = zlib.compressobj(wbits=wbits)
    packed = packer.compress(data) + packer.flush()
    with serving() as server, listening(server.url) as process:
        server.raw = (kind, packed, [f"content-encoding: {encoding}", 'etag: "x"'])
        client = HttpClient(process.port)
        client.initialize()
        got = client.call("raw", 1, headers={"accept-encoding": "br, gzip;q=0.5, zstd, deflate"})

    sent = server.called("tools/call")[-1][2]
    assert sent["accept-encoding"] == "gzip;q=0.5, deflate"
    if encoding == "br" or (text == "fine" and kind == "application/json"):
        assert (got.body, got.headers["content-encoding"], got.headers["etag"]) == (packed, encoding, '"x"')
        return
    assert not {"content-encoding", "etag"} & got.headers.keys()
    assert (parse(got.answer["result"]) is None) == (text == "fine")


def test_a_request_or_an_answer_over_the_limit():
    with serving() as server, listening(server.url, "--max-line", "20000") as process:
        client = HttpClient(process.port)
        client.initialize()
        long = client.call("ok", arguments={"x": "x" * 30_000})
        huge = client.call("huge")

    assert (long.status, long.answer["error"]["code"]) == (413, -32600)
    assert "20000 bytes" in long.answer["error"]["message"]
    # It leaves as it came, without a judgement.
    assert len(huge.body) > 100_000
    assert huge.answer["x"] == "x" * 100_000


def test_streams_are_not_held_back_by_proxies(through):
    assert through.call("sse_ok").headers["x-accel-buffering"] == "no"


@pytest.mark.parametrize("keep", [True, False])
def test_an_error_with_a_bad_status(keep):
    options = ["--protocol-errors", "keep"] if keep else []
    with serving() as server, listening(server.url, *options) as process:
        client = HttpClient(process.port)
        client.initialize()
        got = client.call("s500_error")

    assert got.status == (500 if keep else 200)
    body = got.answer["error"]["data"][KEY]["error"] if keep else got.answer["result"]["structuredContent"]
    assert body["code"] == "internal"


@pytest.mark.parametrize(
    ("status", "code"), [(404, -32601), (400, -32020), (400, -32021), (400, -32022), (403, -32042)]
)
def test_errors_that_ask_the_client_keep_their_status(through, direct, server, status, code):
    server.asks = (status, code)

    assert through.call("asks", 1, **META)[::2] == direct.call("asks", 1, **META)[::2]
    assert through.call("asks", 1, **META).status == status


# ---- retries, flags, the log


def test_a_failed_call_is_repeated_and_the_client_sees_one_answer():
    with serving() as server, listening(server.url, "--retry", "--idempotent", "flaky") as process:
        client = HttpClient(process.port)
        client.initialize()
        got = client.call("flaky", "first", _meta={"progressToken": 1})
        sent = [row[3] for row in server.called("tools/call")]

    assert (got.answer["id"], "isError" in got.answer["result"]) == ("first", False)
    assert len(sent) == 2
    assert sent[0]["id"] != sent[1]["id"]
    assert "progressToken" not in sent[1]["params"]["_meta"]


def test_a_flagged_success_and_the_log(tmp_path):
    log = tmp_path / "failures.jsonl"
    with serving() as server, listening(server.url, "--flag", "ok:^fine", "--log", str(log)) as process:
        client = HttpClient(process.port)
        client.initialize()
        result = client.call("ok").answer["result"]

    assert result["isError"] is True
    entry = json.loads(log.read_text())
    assert (entry["tool"], entry["id"]) == ("ok", result["_meta"][KEY]["id"])


def test_a_server_that_is_not_there():
    with serving() as server:
        url = server.url
    with listening(url) as process:
        client = HttpClient(process.port)
        call, other, sent, got = (
            client.call("x"),
            client.post("tools/list"),
            client.send("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}),
            client.send("GET", headers={"origin": "http://localhost:1"}),
        )

    fault = parse(call.answer["result"])
    assert (call.status, fault.code, fault.outcome) == (200, "mcp_server_unreachable", "not_executed")
    assert fault.facts["origin"] == "gateway"
    assert [(one.status, one.answer["error"]["code"]) for one in (other, sent, got)] == [(502, -32603)] * 3
    assert got.headers["access-control-allow-origin"] == "http://localhost:1"


# ---- the command line


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--listen", "8021", "http://x"], "--listen must be HOST:PORT"),
        (["--listen", "localhost:99999", "http://x"], "--listen must be HOST:PORT"),
        (["--listen", ":1", "http://x"], "--listen must be HOST:PORT"),
        (["--listen", "127.0.0.1:0", "--", "server"], "--listen is for a URL"),
        (["--allow-host", "a", "http://x"], "--allow-host is for --listen"),
        (["--listen", "127.0.0.1:0", "--header", "A=NO_SUCH", "http://x"], "set the environment variable NO_SUCH"),
        (["--listen", "127.0.0.1:0", "http://["], "'http://[' is not a valid URL"),
        (["--listen", "127.0.0.1:0", "http://"], "is not a valid URL; write https://HOST/PATH"),
        (["http://x:99999/"], "'http://x:99999/' is not a valid URL"),
        (["https://a b/"], "is not a valid URL"),
        (["--listen", "no.such.host.invalid:1", "http://x"], "can't listen on no.such.host.invalid:1"),
    ],
)
def test_mistakes_name_the_cure(words, complaint):
    done = subprocess.run([sys.executable, "-m", "toolfault", "gateway", *words], capture_output=True, text=True)

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert complaint in done.stderr


def test_an_address_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        words = [sys.executable, "-m", "toolfault", "gateway", "--listen", address, "http://x"]
        done = subprocess.run(words, capture_output=True, text=True)

    assert (done.returncode, f"can't listen on {address}: Address already in use" in done.stderr) == (2, True)


def test_a_missing_extra_names_its_cure():
    code = "import sys; sys.modules['uvicorn'] = None; from toolfault.cli import main; "
    code += "sys.exit(main(['gateway', '--listen', '127.0.0.1:0', 'http://x']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.returncode == 2
    assert "pip install 'toolfault[gateway]'" in done.stderr


# ---- real clients, and slow ones


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_client_of_the_sdk(server, process, mode):
    async def run():
        async with Client(f"http://127.0.0.1:{process.port}/mcp", mode=mode) as client:
            await client.list_tools()
            return [
                await client.call_tool(tool, {}) for tool in ("ok", "iserr", "rpc_error", "s429", "sse_cut", "close")
            ]

    fine, *failed = anyio.run(run)

    assert parse(fine) is None
    assert [parse(one).code for one in failed] == [
        "internal",
        "internal",
        "quota_exceeded",
        "mcp_server_unreachable",
        "mcp_server_unreachable",
    ]


def test_a_slow_client_slows_the_server():
    """
    The server can't send what the client does not read: 64 MB stay behind, and not in the gateway.
    """
    chunk = b": " + b"x" * 65_536 + b"\n\n"
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    sent = []

    def flood(listener):
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(2)
            connection.recv(65_536)
            connection.sendall(head)
            with contextlib.suppress(TimeoutError):
                while len(sent) < 1000:
                    connection.sendall(chunk)
                    sent.append(1)
            connection.settimeout(None)
            # What was held back goes on as soon as the client reads.
            connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        flooding = threading.Thread(target=flood, args=(listener,))
        flooding.start()
        with listening(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp") as process:
            connection = HttpClient(process.port).open("GET")
            response = connection.getresponse()
            flooding.join(20)
            assert 0 < len(sent) < 600
            assert response.read(len(chunk)) == chunk
            connection.close()
