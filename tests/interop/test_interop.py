"""
Official clients in other languages against our server: they list the tools, so that strict ones know the schemas, and
call those that fail. None may throw a failure away, and each has to get what the Python client gets.

``make interop``; a client whose toolchain the machine lacks is left out, with a word why.
"""

import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from http_client import listening
from raw_client import gateway
from remote_server import serving
from toolfault import McpExecuteError
from transports import FAULT_SERVER


HERE = Path(__file__).parent
META = "io.github.toolfault/error"

#: tool, arguments, code (None: a success), a part of the message
CALLS = [
    ("ok", {"text": "fine"}, None, "fine"),
    ("typed_ok", {"city": "Oslo"}, None, "Oslo"),
    ("typed_fault", {"city": "Ys"}, "quota_exceeded", "Daily quota for Ys is used up"),
    ("either", {}, "internal", "The bill of materials is being rebuilt"),
    ("anticipated", {"city": "Ys"}, "invalid_arguments", "No such city: Ys"),
    ("crash", {}, "tool_panicked", "ZeroDivisionError"),
    ("argument", {"days": 99}, "invalid_arguments", "`days`"),
    ("wrong_output", {}, "internal", "degrees"),
    ("no_such_tool", {}, "tool_not_found", "Unknown tool: no_such_tool"),
    ("slow", {}, "tool_timeout", "Tool timed out after 50ms"),
    ("exits", {}, "tool_panicked", "exit code 3"),
    ("surrogate", {}, "invalid_arguments", "room"),
    ("typed_ok", {"city": "Bergen"}, None, "Bergen"),
]
#: client and tool: what the client answers by itself, and why our server is never asked
DEVIATIONS = {
    ("inspector-2", "no_such_tool"): (
        "Tool 'no_such_tool' not found on server.",
        "it looks the name up in the list of tools, and sends no call for one that it does not find there",
    ),
}

#: What servers that are not guarded answer, and what comes of it through the gateway, over stdio and over HTTP.
WEAK = [
    ("ok", {}, None, "fine"),
    ("weak", {}, "quota_exceeded", "HTTP 429 Too Many Requests"),
    ("rpc_error", {}, "internal", "db refused"),
    ("secret", {}, "internal", "401 for token"),
    ("exit", {}, "mcp_server_unreachable", "exit code 3"),
    ("weak", {}, "mcp_server_unreachable", "was not sent"),
]
WEAK_OVER_HTTP = [
    ("ok", {}, None, "fine"),
    ("iserr", {}, "internal", "HTTP 503 from warehouse"),
    ("sse_error", {}, "internal", "HTTP 503 from warehouse"),
    ("rpc_error", {}, "internal", "warehouse is down"),
    ("s429", {}, "quota_exceeded", "HTTP 429"),
    ("s502html", {}, "mcp_server_unreachable", "HTTP 502"),
    ("html200", {}, "mcp_server_unreachable", "not an MCP message"),
    ("sse_cut", {}, "mcp_server_unreachable", "ended without an answer"),
    ("close", {}, "mcp_server_unreachable", "broke off"),
]

TYPED_FAULT = [row for row in CALLS if row[0] == "typed_fault"]


def plain(rows):
    return [{"name": name, "arguments": arguments} for name, arguments, *_ in rows]


def server(mode):
    """
    Return the words behind a client's calls: the command of a server in a mode, or what is given as a list.
    """
    if isinstance(mode, list):
        return mode
    return [sys.executable, str(FAULT_SERVER), "stdio", mode]


def run(command, folder, seconds, **options):
    """
    Run to the end, and fail with all that it said if it went wrong.
    """
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds, **options)
    assert done.returncode == 0, f"{command} in {folder}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@dataclass(frozen=True, kw_only=True)
class Program:
    """
    A client: where its sources are, how it is built, and how it answers calls, one line of JSON for each.
    """

    name: str
    folder: str
    #: Commands, and the oldest version that does.
    needs: dict[str, str]
    build: tuple[str, ...]
    #: Where the build puts what it makes.
    output: str
    command: tuple[str, ...]
    lines: Callable | None = None
    #: It checks an error's structuredContent against the tool's outputSchema, and throws if it does not match.
    strict: bool = False

    def missing(self):
        """
        Return why it can't run here, or None.
        """
        for tool, oldest in self.needs.items():
            if shutil.which(tool) is None:
                return f"{tool} is not on this machine"
            if parts(there := version(tool)) < parts(oldest):
                return f"it needs {tool} {oldest} or newer, and this is {there}"
        return None

    def call(self, rows, mode):
        if self.lines is not None:
            return self.lines(self, rows, mode)
        out = run([*self.command, json.dumps(plain(rows)), *server(mode)], HERE / self.folder, 120)
        return [json.loads(line) for line in out.splitlines()]


def version(tool):
    said = run([tool, "version" if tool == "go" else "--version"], HERE, 60)
    return re.search(r"\d+(\.\d+)+", said)[0]


def parts(version):
    return [int(part) for part in version.split(".")]


def inspector(program, rows, mode):
    """
    Each call is a process of its own; it lists the tools first, by itself.
    """
    lines = []
    http = ["--transport", "http"] if server(mode)[0].startswith("http") else []
    for name, arguments, *_ in rows:
        given = [word for key, value in arguments.items() for word in ("--tool-arg", f"{key}={value}")]
        words = [*program.command, *server(mode), *http, "--method", "tools/call", "--tool-name", name, *given]
        done = subprocess.run(words, cwd=HERE / program.folder, capture_output=True, text=True, timeout=120)
        try:
            lines.append({"result": json.loads(done.stdout)})
        except ValueError:
            lines.append({"thrown": f"exit {done.returncode}: {done.stdout}{done.stderr}"})
    return lines


def npm(name, folder, node, command, **options):
    return Program(
        name=name,
        folder=f"node/{folder}",
        needs={"node": node, "npm": "9.0"},
        build=("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"),
        output="node_modules",
        command=command,
        **options,
    )


PROGRAMS = [
    *(
        npm(name, "sdk", "20.0", ("node", "client.mjs", name), strict=True)
        for name in ("v1-low", "v1-middle", "v1-latest")
    ),
    npm("v2", "sdk", "20.0", ("node", "client.mjs", "@modelcontextprotocol/client")),
    *(
        npm(name, name, node, ("node_modules/.bin/mcp-inspector", "--cli"), lines=inspector, strict=True)
        for name, node in [("inspector-0.16", "20.0"), ("inspector-2", "22.19")]
    ),
    Program(
        name="go",
        folder="go",
        needs={"go": "1.25"},
        build=("go", "build", "-o", "build/interop", "."),
        output="build",
        command=("build/interop",),
    ),
    Program(
        name="rust",
        folder="rust",
        needs={"cargo": "1.88"},
        build=("cargo", "build", "--quiet"),
        output="target",
        command=("target/debug/interop",),
    ),
    Program(
        name="java",
        folder="java",
        needs={"javac": "17.0", "mvn": "3.6"},
        build=("mvn", "--quiet", "--batch-mode", "process-classes"),
        output="target",
        command=("java", "-cp", "target/classes:target/lib/*", "Interop"),
    ),
]

SOURCES = ("package.json", "go.*", "*.go", "Cargo.toml", "src/**/*.rs", "pom.xml", "src/**/*.java")


@pytest.fixture(scope="session")
def say(request):
    """
    Print past pytest's capture: a first build takes minutes.
    """
    plugin = request.config.pluginmanager.getplugin

    def say(text):
        with plugin("capturemanager").global_and_fixture_disabled():
            plugin("terminalreporter").ensure_newline()
            plugin("terminalreporter").write_line(text)

    return say


@pytest.fixture(scope="session")
def built(say):
    """
    Install and build a program's folder, once as long as its sources stay the same.
    """

    def built(program):
        folder = HERE / program.folder
        digest = hashlib.sha256()
        for path in sorted(path for pattern in SOURCES for path in folder.glob(pattern)):
            digest.update(path.read_bytes())
        stamp = folder / program.output / ".built-from"
        if stamp.exists() and stamp.read_text() == digest.hexdigest():
            return
        say(f"==> {program.folder}: {' '.join(program.build)} (the first time may take minutes)")
        start = time.monotonic()
        run(program.build, folder, 1800)
        stamp.write_text(digest.hexdigest())
        say(f"==> {program.folder}: built in {time.monotonic() - start:.0f} s")

    return built


@pytest.fixture(scope="session", params=PROGRAMS, ids=lambda program: program.name)
def program(request, built, say):
    if (why := request.param.missing()) is not None:
        say(f"==> {request.param.name} is left out: {why}")
        pytest.skip(f"{request.param.name} is left out: {why}")
    built(request.param)
    return request.param


@pytest.fixture(scope="session")
def came(program):
    """
    What the client got, in one session, call by call.
    """
    lines = program.call(CALLS, "widen")
    assert len(lines) == len(CALLS)
    return lines


@pytest.fixture(scope="session")
def expected():
    """
    What the Python client gets.
    """

    async def ask():
        command, *arguments = server("widen")
        async with Client(StdioServerParameters(command=command, args=arguments)) as client:
            await client.list_tools()
            return [
                (await client.call_tool(row["name"], row["arguments"])).model_dump(mode="json", by_alias=True)
                for row in plain(CALLS)
            ]

    return anyio.run(ask)


def texts(result):
    return [block["text"] for block in result["content"]]


def facts(result):
    return {**result["_meta"][META], "id": None}


NUMBERS = pytest.mark.parametrize(
    "number", range(len(CALLS)), ids=[f"{number}-{row[0]}" for number, row in enumerate(CALLS)]
)


@NUMBERS
def test_no_call_is_thrown_away(program, came, expected, number):
    name, _, code, part = CALLS[number]
    if (program.name, name) in DEVIATIONS:
        said, _why = DEVIATIONS[program.name, name]
        assert said in came[number]["thrown"]
        return
    assert "thrown" not in came[number]
    result = came[number]["result"]

    assert result.get("isError", False) is (code is not None)
    assert part in texts(result)[0]
    assert result["structuredContent"] == expected[number]["structuredContent"]
    assert texts(result) == texts(expected[number])
    if code is not None:
        assert result["structuredContent"]["code"] == code
        assert result["structuredContent"]["message"] == texts(result)[0]
        assert facts(result) == facts(expected[number])
        assert result["_meta"][META]["id"]


def test_a_success_is_still_typed(came):
    typed = [line["result"]["structuredContent"] for line, row in zip(came, CALLS) if row[0] == "typed_ok"]
    assert typed == [{"city": "Oslo", "degrees": 4.5}, {"city": "Bergen", "degrees": 4.5}]


def test_meta_is_a_place_that_every_client_shows(program):
    (line,) = program.call(TYPED_FAULT, "meta")
    result = line["result"]

    assert result["isError"]
    assert result.get("structuredContent") is None
    assert texts(result)[0] == "Daily quota for Ys is used up"
    envelope = result["_meta"][META]["error"]
    assert (envelope["code"], envelope["message"]) == ("quota_exceeded", texts(result)[0])
    assert envelope["retry_after_seconds"] == 30


def test_why_the_schema_is_widened(program):
    """
    The counter-proof: with the schema kept as it is, a strict client throws, so it did look at the schema above.
    """
    (line,) = program.call(TYPED_FAULT, "keep")

    assert ("thrown" in line) is program.strict, line
    if program.strict:
        assert "Daily quota" not in line["thrown"]


def check_upgraded(program, lines, rows):
    assert len(lines) == len(rows)
    for line, (_, _, code, part) in zip(lines, rows):
        assert "thrown" not in line, line
        result = line["result"]
        assert part in texts(result)[0]
        assert result.get("isError", False) is (code is not None)
        if code is not None:
            envelope = McpExecuteError.from_wire(result["structuredContent"])
            assert (envelope.code, envelope.message) == (code, texts(result)[0])


def test_failures_of_any_server_through_the_gateway_over_stdio(program, tmp_path):
    # A script of one word: one Inspector takes the gateway's own -- for its own.
    script = tmp_path / "gateway"
    script.write_text(f"#!/bin/sh\nexec {shlex.join(gateway())}\n")
    script.chmod(0o755)
    # It starts the server anew for each call, so that there is none after the server's death.
    rows = WEAK[:-1] if program.lines is inspector else WEAK

    check_upgraded(program, program.call(rows, [str(script)]), rows)


def test_failures_of_any_server_through_the_gateway_over_http(program):
    with serving() as upstream, listening(upstream.url) as process:
        lines = program.call(WEAK_OVER_HTTP, [f"http://127.0.0.1:{process.port}/mcp"])

    check_upgraded(program, lines, WEAK_OVER_HTTP)
