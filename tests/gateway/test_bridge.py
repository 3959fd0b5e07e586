"""
The gateway as a process between a client on stdio and a server at a URL.
"""

import json
import re
import signal
import socket
import subprocess
import sys

import anyio
import pytest
from mcp import Client, StdioServerParameters

from raw_client import MODERN, connected, is_answer
from remote_server import VERSION_KEY, RemoteServer, serving
from toolfault import parse


KEY = "io.github.toolfault/error"
META = {"_meta": MODERN}
DEADLINE = "0.4"


def bridge(url, *options):
    return [sys.executable, "-m", "toolfault", "gateway", *options, url]


@pytest.fixture(scope="module")
def server():
    with serving() as one:
        yield one


@pytest.fixture(scope="module")
def through(server):
    with connected(bridge(server.url, "--timeout", DEADLINE)) as client:
        client.initialize()
        yield client


#: What the host gets of each tool: nothing of ours, or code, outcome and whether it is retryable.
FINE = None
OUTCOMES = {
    "ok": FINE,
    "pretty": FINE,
    "redir_same": FINE,
    "sse_ok": FINE,
    "sse_multiline": FINE,
    "sse_other_event": FINE,
    "sse_open_after": FINE,
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
    "redir_cross": ("mcp_server_unreachable", "unknown", False),
    "redir_loop": ("mcp_server_unreachable", "unknown", False),
    "close": ("mcp_server_unreachable", "unknown", True),
    "truncated": ("mcp_server_unreachable", "unknown", True),
    "sse_cut": ("mcp_server_unreachable", "unknown", True),
    "sse_garbage": ("mcp_server_unreachable", "unknown", True),
    "sse_silent": ("tool_timeout", "unknown", True),
    "hang": ("tool_timeout", "unknown", True),
}


@pytest.mark.parametrize("meta", [{}, META], ids=["2025", "2026"])
@pytest.mark.parametrize("tool", OUTCOMES)
def test_every_behaviour_of_a_server_ends_in_an_answer(through, tool, meta):
    result = through.call(tool, **meta)["result"]

    if OUTCOMES[tool] is FINE:
        assert result == {**({"resultType": "complete"} if meta else {}), "content": [{"type": "text", "text": "fine"}]}
        return
    code, outcome, retryable = OUTCOMES[tool]
    fault = parse(result)
    assert (fault.code, fault.outcome, fault.retryable) == (code, outcome, retryable)
    assert fault.found_in == "structured_content"
    assert "<" not in result["content"][0]["text"]
    assert result.get("resultType") == ("complete" if meta else None)


def test_a_wait_that_the_server_names_arrives(through):
    waits = [parse(through.call(tool)["result"]).retry_after_seconds for tool in ("s429", "s503", "busy_error")]

    assert waits == [7, 3, 9]


def test_a_success_leaves_as_the_bytes_that_came(through):
    line = through.lines("tools/call", {"name": "ok"}, request_id=1e3)[-1]

    expected = {"jsonrpc": "2.0", "id": 1000.0, "result": {"content": [{"type": "text", "text": "fine"}]}}
    assert line == json.dumps(expected).encode() + b"\n"


def test_a_batch_is_one_request(through, server):
    before = len(server.called("com.example/x"))
    through.send([{"jsonrpc": "2.0", "id": f"b{n}", "method": "com.example/x"} for n in (1, 2)])

    assert [one["id"] for one in json.loads(through.read())] == ["b1", "b2"]
    assert len(server.called("com.example/x")) == before + 1


def test_questions_and_progress_pass_and_the_deadline_pauses(through):
    request_id = through.request("tools/call", {"name": "sse_ask"})
    assert json.loads(through.read())["method"] == "notifications/progress"
    question = json.loads(through.read())
    through.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})

    answer = json.loads(through.read())
    assert (question["method"], answer["id"]) == ("elicitation/create", request_id)
    assert "isError" not in answer["result"]


def test_the_listing_is_widened_and_unknown_methods_pass(through):
    tools = json.loads(through.lines("tools/list")[-1])["result"]["tools"]

    assert "anyOf" in next(tool for tool in tools if tool["name"] == "typed")["outputSchema"]
    assert json.loads(through.lines("com.example/nope")[-1])["error"]["code"] == -32601
    assert json.loads(through.lines("com.example/nope", META)[-1])["error"]["code"] == -32601


# ---- headers


def mirrored(client, tool="mirror", arguments=None, **more):
    return json.loads(client.call(tool, arguments, **more)["result"]["content"][0]["text"])


def test_each_request_has_the_headers_of_its_revision(through):
    through.lines("tools/list", META)
    legacy = mirrored(through)
    modern = mirrored(through, arguments={}, **META)

    assert (legacy["mcp-session-id"][:2], legacy["mcp-protocol-version"]) == ("s-", "2025-11-25")
    assert "mcp-method" not in legacy
    assert "mcp-session-id" not in modern
    assert modern["mcp-protocol-version"] == "2026-07-28"
    assert (modern["mcp-method"], modern["mcp-name"]) == ("tools/call", "mirror")
    for headers in (legacy, modern):
        assert headers["accept"] == "application/json, text/event-stream"
        assert headers["user-agent"].startswith("toolfault/")


def test_marked_arguments_are_headers_since_2026(through, server):
    through.lines("tools/list", META)
    through.call("headed", {"region": "Zürich", "deep": {"n": 5}}, **META)

    headers = server.called("tools/call")[-1][2]
    assert (headers["mcp-param-region"], headers["mcp-param-n"]) == ("=?base64?WsO8cmljaA==?=", "5")


def test_a_header_comes_from_the_environment_and_stays_secret(server, tmp_path):
    log = tmp_path / "log.jsonl"
    command = bridge(server.url, "--header", "X-Api-Key=MY_KEY", "--log", str(log))
    with connected(command, stderr=subprocess.PIPE, MY_KEY="kq8Zt-3xWv") as client:
        client.initialize()
        text = client.call("mirror")["result"]["content"][0]["text"]
        client.call("s500")
        client.close()
        told = client.process.stderr.read()

    assert json.loads(text)["x-api-key"] == "kq8Zt-3xWv"
    assert b"kq8Zt" not in told + log.read_bytes()
    assert json.loads(log.read_text())["code"] == "mcp_server_unreachable"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--header", "A=TF_UNSET"], "--header A: set the environment variable TF_UNSET"),
        (["--header", "A=TF_LINES"], "--header A: TF_LINES must hold one line of ASCII"),
        (["--header", "A"], "--header must be NAME=VARIABLE"),
        (["--header", "Host=X"], "--header must not name a header of the transport"),
        (["--header", "A=B", "--", "x"], "--header is for a URL"),
        (["https://x.io", "--retry"], "write options before the URL"),
        (["--log", "/nowhere/log", "http://x.io"], "can't open '/nowhere/log'"),
    ],
)
def test_mistakes_name_the_cure(words, complaint):
    target = [] if "--" in words or words[0].startswith("https") or words[-1].startswith("http") else ["http://x.io"]
    run = subprocess.run(
        [sys.executable, "-m", "toolfault", "gateway", *words, *target],
        capture_output=True,
        text=True,
        timeout=60,
        env={"TF_LINES": "a\nb", "PATH": "/usr/bin"},
    )

    assert run.returncode in {2, 127}
    assert complaint in run.stderr
    assert "Traceback" not in run.stderr


# ---- sessions


@pytest.mark.parametrize("status", [404, 400])
def test_a_dead_session_is_opened_again_and_the_call_sent_once_more(status):
    with serving() as server, connected(bridge(server.url)) as client:
        server.refuses_sessions_with = status
        client.initialize()
        assert "isError" not in client.call("ok")["result"]
        client.send({"jsonrpc": "2.0", "id": "log", "method": "logging/setLevel", "params": {"level": "info"}})
        client.read()
        server.sessions.clear()

        request_id = client.request("tools/call", {"name": "ok"})
        lines = [json.loads(client.read()) for _ in range(2)]

        # The tools of the new session may be others.
        assert [line.get("method") for line in lines] == ["notifications/tools/list_changed", None]
        assert (lines[1]["id"], "isError" in lines[1]["result"]) == (request_id, False)
        first, second = server.called("initialize")
        assert (first[3], first[2].get("mcp-session-id")) == (second[3], None)
        assert len(server.called("notifications/initialized")) == 2
        assert len(server.called("logging/setLevel")) == 2
        assert server.called("tools/call")[-1][2]["mcp-session-id"] == "s-2"


def test_calls_that_find_the_session_dead_share_a_new_one():
    with serving() as server, connected(bridge(server.url)) as client:
        client.initialize()
        server.sessions.clear()
        ids = {client.request("tools/call", {"name": "ok"}) for _ in range(20)}
        answers = []
        while len(answers) < 20:
            line = json.loads(client.read())
            if "result" in line:
                answers.append(line)

        assert {line["id"] for line in answers} == ids
        assert all("isError" not in line["result"] for line in answers)
        assert len(server.called("initialize")) == 2


def test_a_session_that_dies_each_time_is_a_failure():
    with serving() as server, connected(bridge(server.url)) as client:
        client.initialize()
        client.request("tools/call", {"name": "session_always"})
        fault = next(parse(line["result"]) for line in iter(lambda: json.loads(client.read()), None) if "id" in line)

        assert (fault.code, fault.retryable, fault.outcome) == ("mcp_server_unreachable", False, "not_executed")
        assert len(server.called("tools/call")) == 2


def test_the_session_ends_with_the_host():
    with serving() as server, connected(bridge(server.url)) as client:
        client.initialize()
        client.call("ok")

        assert client.close() == 0
        (row,) = [row for row in server.requests if row[0] == "DELETE"]
        assert row[2]["mcp-session-id"] == "s-1"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_answers_what_is_open_and_ends_the_session(number):
    with serving() as server, connected(bridge(server.url)) as client:
        client.initialize()
        request_id = client.request("tools/call", {"name": "hang"})
        server.wait_for(lambda row: row[1] == "tools/call")
        client.process.send_signal(number)

        answer = json.loads(client.read())
        assert (answer["id"], parse(answer["result"]).outcome) == (request_id, "unknown")
        assert client.process.wait(20) == 128 + number
        assert [row[0] for row in server.requests if row[0] != "closed"][-1] == "DELETE"


def test_what_is_open_when_the_host_closes_its_side_is_still_answered(server):
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "ok"}},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)

    run = subprocess.run(bridge(server.url), input=text, capture_output=True, text=True, timeout=60)

    assert [json.loads(line)["id"] for line in run.stdout.splitlines()] == [1, 2]
    assert run.returncode == 0


# ---- cancellation, deadlines, order


def test_a_cancelled_call_is_cancelled_at_the_server():
    with serving() as server, connected(bridge(server.url)) as client:
        client.initialize()
        request_id = client.request("tools/call", {"name": "hang"})
        server.wait_for(lambda row: row[1] == "tools/call")
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}})

        server.wait_for(lambda row: row[1] == "notifications/cancelled")
        assert "isError" not in client.call("ok")["result"]


def test_since_2026_a_closed_stream_is_the_cancellation():
    with serving() as server, connected(bridge(server.url)) as client:
        request_id = client.request("tools/call", {"name": "sse_silent", **META})
        server.wait_for(lambda row: row[1] == "tools/call")
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}})
        assert "isError" not in client.call("ok", **META)["result"]

        assert server.called("notifications/cancelled") == []
        server.wait_for(lambda row: row[0] == "closed")


def test_a_call_that_is_too_late_is_cancelled_at_the_server():
    with serving() as server, connected(bridge(server.url, "--timeout", "0.2")) as client:
        client.initialize()
        request_id = client.request("tools/call", {"name": "hang"})

        assert parse(json.loads(client.read())["result"]).code == "tool_timeout"
        row = server.wait_for(lambda row: row[1] == "notifications/cancelled")
        assert row[3]["params"]["requestId"] == request_id


def test_messages_leave_in_the_order_of_the_host():
    with serving() as server, connected(bridge(server.url)) as client:
        client.request("initialize", {"protocolVersion": "2025-06-18"})
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        for number in range(20):
            client.send({"jsonrpc": "2.0", "method": "com.example/note", "params": {"n": number}})
        request_id = client.request("tools/call", {"name": "mirror"})
        while not is_answer(line := client.read(), request_id):
            pass

        sent = [row for row in server.requests if row[0] == "POST"]
        assert [row[1] for row in sent[:2]] == ["initialize", "notifications/initialized"]
        assert [row[3]["params"]["n"] for row in server.called("com.example/note")] == list(range(20))
        headers = json.loads(json.loads(line)["result"]["content"][0]["text"])
        assert (headers["mcp-session-id"], headers["mcp-protocol-version"]) == ("s-1", "2025-06-18")


def test_many_calls_at_once_are_answered_once_each(through):
    tools = ["ok", "sse_ok", "iserr", "s503", "close", "hang"]
    wanted = {through.request("tools/call", {"name": tools[number % 6]}, f"many-{number}") for number in range(120)}
    got = [json.loads(through.read())["id"] for _ in range(120)]

    assert sorted(got) == sorted(wanted)


# ---- streams


def test_a_stream_that_breaks_off_is_resumed_where_it_has_event_ids(server, through):
    assert "isError" not in through.call("sse_cut_id")["result"]
    server.wait_for(lambda row: row[0] == "GET" and row[2].get("last-event-id") == "ev-1")

    # Since 2026-07-28 there is nothing to resume.
    assert parse(through.call("sse_cut_id", **META)["result"]).code == "mcp_server_unreachable"


def test_a_stream_that_can_not_be_resumed_is_a_failure(through):
    fault = parse(through.call("sse_cut_for_ever")["result"])

    assert (fault.code, fault.outcome) == ("mcp_server_unreachable", "unknown")


def test_what_a_server_sends_unasked_arrives_also_after_a_cut():
    note = b'id: %d\nretry: 1\ndata: {"jsonrpc": "2.0", "method": "notifications/message", "params": {"n": %d}}\n\n'
    with serving() as server, connected(bridge(server.url)) as client:
        server.streams = [note % (1, 1), note % (2, 2)]
        client.initialize()

        assert [json.loads(client.read())["params"]["n"] for _ in range(2)] == [1, 2]
        first, second = [row for row in server.requests if row[0] == "GET"][:2]
        assert (first[2].get("last-event-id"), second[2]["last-event-id"]) == (None, "1")
        assert first[2]["mcp-session-id"] == "s-1"


# ---- servers that are not there


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.mark.parametrize("meta", [{}, META], ids=["2025", "2026"])
def test_a_server_that_is_not_there_was_not_asked(meta):
    with connected(bridge(f"http://user:pw-Zk3@127.0.0.1:{free_port()}/mcp?key=kk-Zk3")) as client:
        result = client.call("ok", **meta)["result"]
        listing = json.loads(client.lines("tools/list")[-1])

    fault = parse(result)
    assert (fault.code, fault.outcome, fault.retryable) == ("mcp_server_unreachable", "not_executed", True)
    assert "Zk3" not in json.dumps([result, listing])
    assert listing["error"]["data"][KEY]["error"]["code"] == "mcp_server_unreachable"


def test_a_refused_connection_is_tried_again():
    port = free_port()
    with connected(bridge(f"http://127.0.0.1:{port}/mcp")) as client:
        request_id = client.request("tools/call", {"name": "ok", **META})
        with serving(RemoteServer(), port) as server:
            answer = json.loads(client.read())
            assert answer["id"] == request_id
            assert len(server.called("tools/call")) <= 1


def test_an_answer_that_is_too_long_is_a_failure(server):
    with connected(bridge(server.url, "--max-line", "2048")) as client:
        client.initialize()
        fault = parse(client.call("huge")["result"])

    assert (fault.code, "longer than 2048 bytes" in fault.message) == ("internal", True)


def test_a_call_is_repeated_under_retry(server):
    with connected(bridge(server.url, "--retry")) as client:
        client.initialize()
        client.lines("tools/list")
        before = len(server.called("tools/call"))
        fault = parse(client.call("close")["result"])
        assert fault.code == "mcp_server_unreachable"
        assert len(server.called("tools/call")) == before + 1

    with connected(bridge(server.url, "--retry", "--idempotent", "close")) as client:
        client.initialize()
        before = len(server.called("tools/call"))
        client.call("close")
        sent = server.called("tools/call")[before:]
        assert len(sent) == 3
        assert len({row[3]["id"] for row in sent}) == 3


def test_the_clients_of_the_sdk_work_through_it(server):
    async def main():
        parameters = StdioServerParameters(command=sys.executable, args=bridge(server.url)[1:])
        async with Client(parameters) as client:
            return [await client.call_tool(tool, {}) for tool in ("ok", "s503", "sse_error")]

    fine, down, failed = anyio.run(main)
    assert not fine.is_error
    assert parse(down).code == "mcp_server_unreachable"
    assert parse(failed).retryable


def test_neither_mcp_nor_a_server_is_loaded():
    script = "import sys, toolfault.gateway._bridge; print(*{name.split('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert {"mcp", "uvicorn", "starlette", "pydantic"} & set(run.stdout.split()) == set()
    assert re.search(r"\bhttpx2?\b", run.stdout)
    assert VERSION_KEY in MODERN
