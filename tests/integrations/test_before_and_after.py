"""
Ten failures that people reported, on a real server process: what a model reads without us and with us.
"""

import sys
import textwrap

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from toolfault import parse


SERVER = """
import asyncio
import json
import re
import sqlite3
import subprocess
import sys
from datetime import date

import httpx2
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

mcp = MCPServer("reports")


@mcp.tool()
def query(sql: str) -> str:
    try:
        return str(sqlite3.connect(":memory:").execute(sql).fetchall())
    except sqlite3.Error as e:
        raise ToolError(f"Error executing query: {e}") from e


@mcp.tool()
def day_of_week(day: str) -> str:
    return date.fromisoformat(day).strftime("%A")


@mcp.tool()
def grep(pattern: str) -> str:
    return str(re.compile(pattern).findall("some text"))


@mcp.tool()
def lint() -> str:
    program = "import sys; print('app.cfg: line 3: unknown option colour', file=sys.stderr); sys.exit(2)"
    subprocess.run([sys.executable, "-c", program, "--token=hunter2hunter2"], check=True, capture_output=True)
    return "fine"


@mcp.tool()
def forecast() -> str:
    request = httpx2.Request("GET", "https://api.example/v1?key=hunter2hunter2")
    answer = httpx2.Response(429, headers={"Retry-After": "58"}, request=request)
    answer.raise_for_status()
    return "sunny"


@mcp.tool()
def settings() -> str:
    return str(json.loads(open("/etc/nowhere/settings.json").read()))


@mcp.tool()
def stock(sku: str) -> int:
    return {"A1": 3}[sku]


@mcp.tool()
async def report() -> str:
    async def fails() -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    async with asyncio.TaskGroup() as group:
        group.create_task(fails())
        group.create_task(asyncio.sleep(5))
    return "done"


@mcp.tool()
def leave() -> str:
    sys.exit(3)


@mcp.tool()
def limit(count: int) -> str:
    return "x" * count


if sys.argv[1] == "guarded":
    from toolfault.integrations.mcp import install

    install(mcp)
mcp.run()
"""

#: Tool, arguments; what a model reads before: None, the server ends; after: code, words, and what is not there.
FAILURES = [
    ("query", {"sql": "selct 1"}, 'near "selct": syntax error', ("invalid_arguments", ['near "selct": syntax error'], [])),
    ("day_of_week", {"day": "2026-13-01"}, "Error executing tool", ("invalid_arguments", ["`day`", "month must be in 1..12"], [])),
    ("grep", {"pattern": "a(b"}, "Error executing tool", ("invalid_arguments", ["`pattern`", "unterminated subpattern"], [])),
    ("lint", {}, "Error executing tool", ("internal", ["exit status 2", "unknown option colour"], ["hunter2"])),
    ("forecast", {}, "Error executing tool", ("quota_exceeded", ["429", "Retry after 58 seconds"], ["hunter2", "api.example"])),
    ("settings", {}, "Error executing tool", ("internal", ["settings.json"], ["/etc/nowhere"])),
    ("stock", {"sku": "Z9"}, "Error executing tool", ("tool_panicked", ["Z9"], [])),
    ("report", {}, "Error executing tool", ("internal", ["Connection refused"], ["TaskGroup"])),
    ("limit", {"count": "many"}, "input_value='many'", ("invalid_arguments", ["`count`"], ["pydantic.dev"])),
    ("leave", {}, None, ("tool_panicked", ["exit code 3"], [])),
]  # fmt: skip


def read(tmp_path, mode):
    """
    Call every tool of one server process; return what a model reads of each, and the result.
    """
    script = tmp_path / "server.py"
    script.write_text(textwrap.dedent(SERVER))
    command = StdioServerParameters(command=sys.executable, args=[str(script), mode])

    async def call_all():
        found = {}
        with (tmp_path / f"{mode}.log").open("w") as log:
            async with Client(stdio_client(command, errlog=log), read_timeout_seconds=30) as client:
                for tool, arguments, *_ in FAILURES:
                    try:
                        # The plain server ends at sys.exit, and its client waits for as long as it may.
                        wait = 3 if (mode, tool) == ("plain", "leave") else 30
                        found[tool] = await client.call_tool(tool, arguments, read_timeout_seconds=wait)
                    except Exception as exc:
                        found[tool] = exc
        return found

    return anyio.run(call_all)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    return read(folder, "plain"), read(folder, "guarded")


def text_of(result):
    return "\n".join(block.text for block in result.content)


@pytest.mark.parametrize(("tool", "arguments", "words", "after"), FAILURES, ids=[row[0] for row in FAILURES])
def test_what_a_model_reads(both, tool, arguments, words, after):
    plain, guarded = (found[tool] for found in both)
    code, shown, hidden = after

    if words is None:
        assert isinstance(plain, Exception)
    else:
        assert words in text_of(plain)
        assert plain.structured_content is None
    assert guarded.is_error
    assert parse(guarded).code == code
    for part in shown:
        assert part in guarded.content[0].text
    for part in hidden:
        assert part not in text_of(guarded)
