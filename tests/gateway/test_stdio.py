"""
The gateway as a process between a client and a server that write bytes.
"""

import json
import os
import signal
import subprocess
import sys
import threading

import anyio
import pytest
from mcp import Client, StdioServerParameters

from raw_client import MODERN, SERVER, connected, gateway
from raw_server import TOOLS
from toolfault import McpExecuteError, parse


KEY = "io.github.toolfault/error"

#: Tools whose answers do not leave as they came, or never come; each is tried by itself.
CHANGED = {"weak", "rpc_error", "secret", "empty", "no_result", "surrogate", "flaky", "flaky_write"}
REPAIRED = {"bad_utf8", "nan", "control", "bom"}
NEVER = {"hang", "null_id", "wrong_id", "ask", "exit", "kill", "half", "unterminated", "fork", "environment"}
TWICE = {"twice", "noise"}
SAME = sorted(TOOLS.keys() - CHANGED - REPAIRED - NEVER - TWICE)


@pytest.fixture(scope="module")
def through():
    with connected(gateway("--timeout", "30")) as client:
        client.initialize()
        yield client


@pytest.fixture(scope="module")
def direct():
    with connected(SERVER) as client:
        client.initialize()
        yield client


METHODS = [
    ("com.example/echo", {"x": [1e2, 2**70, "\ud83d"]}),
    ("com.example/unknown", {}),
    ("tools/list", {"cursor": "30"}),
]


@pytest.mark.parametrize("meta", [{}, {"_meta": MODERN}])
@pytest.mark.parametrize(("method", "params"), [*(("tools/call", {"name": tool}) for tool in SAME), *METHODS])
def test_what_need_not_change_is_the_same_bytes(direct, through, method, params, meta):
    # One id in both connections.
    request_id = f"{method} {params.get('name')} {len(meta)}"

    assert through.lines(method, {**params, **meta}, request_id) == direct.lines(method, {**params, **meta}, request_id)


@pytest.mark.parametrize("tool", sorted(CHANGED))
def test_failures_get_an_envelope(through, tool):
    result = through.call(tool)["result"]

    assert result["isError"] is True
    envelope = result.get("structuredContent") or result["_meta"][KEY]["error"]
    assert McpExecuteError.from_wire(envelope).message == result["content"][0]["text"]
    assert parse(result).found_in in {"structured_content", "meta"}


@pytest.mark.parametrize("tool", sorted(REPAIRED))
def test_answers_that_strict_clients_drop_are_repaired(through, tool):
    line = through.lines("tools/call", {"name": tool})[-1]

    json.loads(line.decode(), parse_constant=pytest.fail)


@pytest.mark.parametrize("tool", sorted(TWICE))
def test_noise_and_second_answers_stay_behind(through, tool):
    through.call(tool)

    assert len(through.lines("com.example/echo", {})) == 1


def test_a_question_to_the_client_passes_both_ways(through):
    request_id = through.request("tools/call", {"name": "ask"})
    question = json.loads(through.read())
    through.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})

    assert question["method"] == "elicitation/create"
    answer = json.loads(through.read())
    assert (answer["id"], answer["result"]["content"][0]["text"]) == (request_id, '{"action": "decline"}')


def test_the_schema_of_a_listed_tool_is_widened(through):
    tools = json.loads(through.lines("tools/list", {})[-1])["result"]["tools"]

    (typed,) = [tool for tool in tools if tool["name"] == "typed"]
    assert "anyOf" in typed["outputSchema"]
    assert typed["x-vendor"] == 1


def test_a_batch_and_a_broken_line_reach_the_server(through):
    through.send([{"jsonrpc": "2.0", "id": f"b{n}", "method": "com.example/echo", "params": {}} for n in (1, 2)])
    assert [json.loads(through.read())["id"] for _ in range(2)] == ["b1", "b2"]

    through.write("{broken\n")
    assert json.loads(through.read())["error"]["code"] == -32700


def test_the_server_gets_the_whole_environment_and_a_process_group_of_its_own():
    with connected(gateway(), GATEWAY_TEST="yes") as client:
        text = client.call("environment")["result"]["content"][0]["text"]
        variable, server, group = json.loads(text)

    assert variable == "yes"
    assert server == group
    assert group != os.getpgrp()


def test_the_servers_stderr_is_the_gateways():
    script = "import sys; print('from the server', file=sys.stderr, flush=True); sys.stdin.read()"
    with connected(gateway(server=[sys.executable, "-c", script]), stderr=subprocess.PIPE) as client:
        assert client.process.stderr.readline() == b"from the server\n"


# ---- servers that die or never answer


@pytest.mark.parametrize("tool", ["hang", "null_id", "wrong_id"])
def test_a_call_that_is_never_answered_times_out(tool):
    with connected(gateway("--timeout", "0.2")) as client:
        client.initialize()
        result = client.call(tool)["result"]

    assert result["structuredContent"]["code"] == "tool_timeout"
    assert result["_meta"][KEY]["origin"] == "gateway"


@pytest.mark.parametrize(
    ("tool", "end"),
    [("exit", "ended with exit code 3"), ("kill", "was killed by SIGKILL"), ("half", "ended with exit code 0")],
)
def test_a_server_that_dies_in_a_call_is_unreachable_from_then_on(tool, end):
    with connected(gateway("--timeout", "30")) as client:
        client.initialize()
        first = client.call(tool)["result"]
        second = client.call("ok")["result"]
        third = json.loads(client.lines("resources/read", {})[-1])

    assert first["content"][0]["text"] == f"The MCP server's process {end} before it answered."
    assert first["_meta"][KEY]["outcome"] == "unknown"
    assert end in second["content"][0]["text"]
    assert second["_meta"][KEY]["outcome"] == "not_executed"
    assert {first["structuredContent"]["code"], second["structuredContent"]["code"]} == {"mcp_server_unreachable"}
    assert first["structuredContent"]["retryable"] is False
    assert third["error"]["code"] == -32603


def test_a_server_that_dies_before_the_handshake_is_named():
    with connected(gateway(server=[sys.executable, "-c", "raise SystemExit(4)"])) as client:
        answer = json.loads(client.lines("initialize", {})[-1])

    assert "ended with exit code 4" in answer["error"]["message"]


def test_a_last_line_without_a_line_break_is_an_answer():
    with connected(gateway()) as client:
        assert client.call("unterminated")["result"] == {"content": []}


def test_a_dead_server_is_seen_though_its_children_live():
    with connected(gateway("--timeout", "30")) as client:
        orphan = int(client.call("fork")["result"]["content"][0]["text"])
        result = client.call("kill")["result"]

    assert result["structuredContent"]["code"] == "mcp_server_unreachable"
    assert not is_alive(orphan)


def test_a_dead_server_is_started_again_as_often_as_allowed(tmp_path):
    log = tmp_path / "notifications"
    with connected(gateway("--restart", "2"), RAW_LOG=str(log)) as client:
        first = client.initialize()["result"]["serverInfo"]["name"]
        died = [client.call("exit")["result"]]
        assert client.call("ok")["result"]["content"][0]["text"] == "fine"
        died += [client.call("kill")["result"], client.call("exit")["result"]]
        refused = client.call("ok")["result"]

    assert first.startswith("raw ")
    assert [one["structuredContent"]["retryable"] for one in died] == [True, True, False]
    assert "was not sent" in refused["content"][0]["text"]
    assert log.read_text().count("notifications/initialized") == 3


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


# ---- the end


def test_the_gateway_ends_with_its_host_and_ends_the_server():
    with connected(gateway()) as client:
        server = int(client.initialize()["result"]["serverInfo"]["name"].split()[1])
        code = client.close()

    assert code == 0
    assert not is_alive(server)


def test_answers_that_come_after_the_host_closed_its_side_still_leave():
    script = 'import sys; sys.stdin.read(); print(\'{"jsonrpc":"2.0","method":"last"}\')'
    with connected(gateway(server=[sys.executable, "-c", script])) as client:
        client.process.stdin.close()
        assert json.loads(client.read())["method"] == "last"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_both_and_answers_what_is_open(number):
    with connected(gateway()) as client:
        server = int(client.initialize()["result"]["serverInfo"]["name"].split()[1])
        client.request("tools/call", {"name": "hang"})
        client.lines("com.example/echo", {})
        client.process.send_signal(number)
        answer = json.loads(client.read())
        code = client.process.wait(20)

    assert answer["result"]["structuredContent"]["code"] == "mcp_server_unreachable"
    assert code == 128 + number
    assert not is_alive(server)


STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('{"jsonrpc":"2.0","method":"ready","params":' + str(os.getpid()) + '}', flush=True)
time.sleep(600)
"""


def test_a_server_that_ignores_everything_is_killed():
    with connected(gateway(server=[sys.executable, "-c", STUBBORN])) as client:
        server = json.loads(client.read())["params"]
        client.close()

    assert not is_alive(server)


def test_the_gateway_ends_when_nobody_reads_its_output():
    with connected(gateway()) as client:
        client.initialize()
        client.process.stdout.close()
        client.request("com.example/echo", {})
        assert client.process.wait(20) == 0


# ---- loads


def test_a_slow_host_slows_the_server_and_fills_no_memory():
    script = (
        "import sys\n"
        "for number in range(200):\n"
        '    sys.stdout.write(\'{"jsonrpc":"2.0","method":"x","params":"\' + \'y\' * 1_000_000 + \'"}\\n\')\n'
        "    sys.stdout.flush()\n"
        "sys.stdin.read()\n"
    )
    with connected(gateway(server=[sys.executable, "-c", script])) as client:
        first = len(client.read())
        memory = peak_memory(client.process.pid)
        assert all(len(client.read()) == first for _ in range(199))
        assert peak_memory(client.process.pid) - memory < 30_000


def peak_memory(pid):
    """
    Return the most resident memory that a process had, in KiB.
    """
    with open(f"/proc/{pid}/status") as file:
        return int(next(line for line in file if line.startswith("VmHWM")).split()[1])


def test_a_server_that_reads_nothing_delays_no_deadline():
    script = "import time; time.sleep(600)"
    with connected(gateway("--timeout", "0.3", server=[sys.executable, "-c", script])) as client:
        client.request("tools/call", {"name": "x"})
        filler = threading.Thread(target=client.request, args=("x", {"pad": "y" * 3_000_000}), daemon=True)
        filler.start()
        answer = json.loads(client.read())
        client.process.kill()
        filler.join(20)

    assert answer["result"]["structuredContent"]["code"] == "tool_timeout"


def test_a_line_over_the_limit_is_a_failure_of_its_call():
    with connected(gateway("--max-line", "100000")) as client:
        result = client.call("long")["result"]
        assert "longer than 100000 bytes" in result["content"][0]["text"]
        assert client.call("ok")["result"]["content"][0]["text"] == "fine"

        answer = json.loads(client.lines("com.example/echo", {"pad": "x" * 200_000})[-1])
        assert "longer than 100000 bytes" in answer["error"]["message"]


# ---- options


def test_retries_reach_the_server_once_more_where_that_is_safe():
    with connected(gateway("--retry", "--idempotent", "flaky")) as client:
        client.initialize()
        assert client.call("flaky")["result"]["content"][0]["text"].startswith("try 2 as toolfault-")
        assert client.call("flaky_write")["result"]["isError"] is True


def test_failures_are_logged_with_the_id_that_the_host_sees(tmp_path):
    log = tmp_path / "failures.jsonl"
    with connected(gateway("--log", str(log), "--flag", "soft:^Error")) as client:
        results = [client.call(tool)["result"] for tool in ("weak", "ok", "soft", "kill")]

    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert [entry["id"] for entry in entries] == [one["_meta"][KEY]["id"] for one in results if "isError" in one]
    assert [(entry["tool"], entry["code"], entry["origin"]) for entry in entries] == [
        ("weak", "quota_exceeded", "upstream"),
        ("soft", entries[1]["code"], "upstream"),
        ("kill", "mcp_server_unreachable", "gateway"),
    ]


# ---- cost


def test_the_path_of_a_success_loads_no_sdk_and_no_http():
    script = (
        "import sys, threading\n"
        "from toolfault.cli import main\n"
        "code = main(['gateway', '--', *sys.argv[1:]])\n"
        "heavy = {'mcp', 'httpx', 'httpx2', 'uvicorn', 'starlette', 'jsonschema', 'asyncio', 'trio'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    with connected([sys.executable, "-c", script, *SERVER], stderr=subprocess.PIPE) as client:
        client.initialize()
        client.call("ok")
        client.call("weak")
        client.close()
        assert client.process.stderr.read() == b"[]\n"


# ---- a real client


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_reads_envelopes_through_the_gateway(mode):
    async def main():
        command, *arguments = gateway("--timeout", "1")
        server = StdioServerParameters(command=command, args=arguments)
        async with Client(server, mode=mode) as client:
            tools = (await client.list_tools()).tools
            results = {name: await client.call_tool(name, {}) for name in ("ok", "weak", "rpc_error", "hang", "kill")}
            return tools, results

    tools, results = anyio.run(main)

    assert tools
    codes = {name: fault and fault.code for name, fault in ((n, parse(r)) for n, r in results.items())}
    assert codes == {
        "ok": None,
        "weak": "quota_exceeded",
        "rpc_error": "internal",
        "hang": "tool_timeout",
        "kill": "mcp_server_unreachable",
    }


def test_ten_deaths_lose_no_call():
    with connected(gateway("--restart", "100", "--timeout", "30")) as client:
        client.initialize()
        sent, got = [], []
        for _ in range(10):
            sent += [client.request("tools/call", {"name": tool}) for tool in [*["ok"] * 20, "kill"]]
            while len(got) < len(sent):
                got.append(json.loads(client.read()))
        assert sorted(message["id"] for message in got) == sent
    killed = [parse(message["result"]) for message in got if "isError" in message["result"]]
    assert {fault.code for fault in killed} == {"mcp_server_unreachable"}
    assert len(killed) == 10


def test_a_mistake_of_the_gateway_ends_no_connection():
    script = (
        "import sys\n"
        "from toolfault.cli import main\n"
        "from toolfault.gateway import _session\n"
        "def judge(call, message): raise RuntimeError('planted')\n"
        "_session.must_judge = judge\n"
        "sys.exit(main(['gateway', '--', *sys.argv[1:]]))\n"
    )
    with connected([sys.executable, "-c", script, *SERVER]) as client:
        assert client.call("weak")["result"]["isError"] is True
        assert client.call("ok")["result"]["content"][0]["text"] == "fine"
