"""
The gateway's judgement inside the real Envoy, with two servers behind it. ``make test-envoy``
"""

import concurrent.futures
import contextlib
import os
import signal
import subprocess
import sys

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from envoy_process import envoy, free_ports, running
from http_client import HttpClient
from raw_client import MODERN
from remote_server import serving
from toolfault import parse


KEY = "io.github.toolfault/error"
META = {"_meta": MODERN}
TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture(scope="module")
def servers():
    with serving() as first, serving() as second:
        # A session of one is known to both.
        second.sessions = first.sessions
        yield first, second


@pytest.fixture(scope="module")
def port(servers, tmp_path_factory):
    with envoy(tmp_path_factory.mktemp("envoy"), [one.port for one in servers]) as (front, _):
        yield front


@pytest.fixture
def through(port, servers):
    client = HttpClient(port)
    client.session = "shared"
    servers[0].sessions.add("shared")
    return client


SAME = None
OUTCOMES = {
    "ok": SAME,
    "pretty": SAME,
    "sse_ok": SAME,
    "sse_multiline": SAME,
    "redir_cross": SAME,
    "s401": SAME,
    "iserr": ("internal", None),
    "sse_error": ("internal", None),
    "rpc_error": ("internal", None),
    "null_id": ("internal", None),
    "sse_null_id": ("internal", None),
    "wrong_id": ("internal", "unknown"),
    "s400": ("mcp_server_unreachable", "unknown"),
    "s403": ("permission_denied", "not_executed"),
    "s404html": ("mcp_server_unreachable", "not_executed"),
    "s429": ("quota_exceeded", "not_executed"),
    "s500": ("mcp_server_unreachable", "unknown"),
    "s502html": ("mcp_server_unreachable", "unknown"),
    "s503": ("mcp_server_unreachable", "unknown"),
    "s504": ("tool_timeout", "unknown"),
    "html200": ("mcp_server_unreachable", "unknown"),
    "empty200": ("mcp_server_unreachable", "unknown"),
    "j202": ("mcp_server_unreachable", "unknown"),
    "close": ("mcp_server_unreachable", "unknown"),
    "sse_cut": ("mcp_server_unreachable", "unknown"),
    "sse_garbage": ("mcp_server_unreachable", "unknown"),
    "hang": ("tool_timeout", "unknown"),
}


@pytest.mark.parametrize("meta", [{}, META], ids=["2025", "2026"])
@pytest.mark.parametrize("tool", OUTCOMES)
def test_every_behaviour_of_a_server_ends_in_an_answer(through, servers, tool, meta):
    got = through.call(tool, f"call {tool}", **meta)

    if OUTCOMES[tool] is SAME:
        direct = HttpClient(servers[0].port)
        direct.session = "shared"
        expected = direct.call(tool, f"call {tool}", **meta)
        assert (got.status, got.body) == (expected.status, expected.body)
        return
    code, outcome = OUTCOMES[tool]
    assert (got.status, got.answer["id"]) == (200, f"call {tool}")
    fault = parse(got.answer["result"])
    assert (fault.code, fault.outcome) == (code, outcome)
    assert got.answer["result"]["structuredContent"]["code"] == code


def test_listings_are_widened_and_other_requests_pass(through):
    tools = through.post("tools/list").answer["result"]["tools"]
    assert "anyOf" in next(tool for tool in tools if tool["name"] == "typed")["outputSchema"]

    assert through.send("GET").status == 405
    assert through.send("DELETE").status == 200
    assert through.post("initialize", {"protocolVersion": "2025-11-25"}).answer["result"]["serverInfo"]
    assert through.send("POST", {"jsonrpc": "2.0", "method": "notifications/x"}).status == 202
    dead = through.call("ok", headers={"mcp-session-id": "gone"})
    assert (dead.status, dead.answer["error"]["code"]) == (404, -32001)


def test_who_answered_is_told_apart(through):
    facts = {tool: through.call(tool).answer["result"]["_meta"][KEY] for tool in ("s503", "close")}

    assert facts["s503"]["origin"] == "upstream"
    assert facts["close"]["origin"] == "gateway"


def test_one_of_two_servers_is_killed_under_load(tmp_path):
    with serving() as stays, contextlib.ExitStack() as stack:
        dies = stack.enter_context(serving())
        with envoy(tmp_path, [stays.port, dies.port]) as (front, _):
            client = HttpClient(front)

            def call(number):
                if number == 100:
                    stack.close()
                return client.call("ok", number, **META)

            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(call, range(400)))

    faults = [parse(one.answer["result"]) for one in answers]
    assert [one.answer["id"] for one in answers] == list(range(400))
    assert {fault.code for fault in faults if fault} == {"mcp_server_unreachable"}
    assert 0 < sum(fault is None for fault in faults) < 400
    # A refused connection proves that nothing was executed.
    assert "not_executed" in {fault.outcome for fault in faults if fault}


def test_without_the_processor_traffic_passes_unjudged(servers, tmp_path):
    with envoy(tmp_path, [one.port for one in servers]) as (front, process):
        client = HttpClient(front)
        assert "structuredContent" in client.call("iserr", **META).answer["result"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM

        got = client.call("iserr", **META)
        assert (got.status, got.answer["result"].get("structuredContent")) == (200, None)


def test_calls_are_traced_and_measured(servers, tmp_path):
    told = tmp_path / "told.txt"
    env = {**os.environ, "OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "console"}
    with (
        told.open("w") as file,
        envoy(tmp_path, [one.port for one in servers], words=["--otel"], stdout=file, env=env) as (front, _),
    ):
        HttpClient(front).call("iserr", _meta={**MODERN, "traceparent": f"00-{TRACE}-b7ad6b7169203331-01"})

    text = told.read_text()
    assert '"name": "tools/call iserr"' in text
    assert f"0x{TRACE}" in text
    assert '"name": "toolfault.client.failures"' in text


def test_its_health_is_told_over_grpc():
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "toolfault", "gateway", "envoy", "--listen", f"127.0.0.1:{port}"]
    with running(command, port), grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=20)

    assert answer.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "--listen HOST:PORT is missing"),
        (["--listen", "127.0.0.1:1", "--retry"], "--retry is for other gateways; set that in Envoy"),
        (["--listen", "no.such.host.invalid:1"], "can't open"),
    ],
)
def test_mistakes_name_the_cure(words, complaint):
    command = [sys.executable, "-m", "toolfault", "gateway", "envoy", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert done.returncode == 2
    assert complaint in done.stderr
