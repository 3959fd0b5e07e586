"""
Writes a server whose tools fail as the cases say, and calls them all through a real client over stdio.
"""

import ast
import json
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

from case_checks import Came
from toolfault import parse


HEAD = """\
import asyncio, json, os, socket, subprocess, time
from email.utils import formatdate
import {hx} as hx
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from toolfault import Guard
from toolfault.integrations.mcp import install

GUARD = Guard(secrets={secrets!r})
SEEN = []
"""

#: For each host: a decorator ``tool`` that takes annotations and an outputSchema, and how the server runs.
HOSTS = {
    "mcpserver": (
        """
from mcp.server import MCPServer

server = install(MCPServer("cases"), GUARD)

def tool(annotations, output_schema=None):
    def register(fn):
        server.add_tool(fn, structured_output=False, annotations=ToolAnnotations.model_validate(annotations))
        # A schema by hand stands in for the one that the SDK makes of an annotation.
        server._tool_manager.get_tool(fn.__name__).fn_metadata.output_schema = output_schema
    return register
""",
        "server.run()",
    ),
    "lowlevel": (
        """
from mcp.server.lowlevel import Server
from mcp.server.mcpserver.tools import Tool as Made
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

TOOLS, FUNCTIONS = [], {{}}

def tool(annotations, output_schema=None):
    def register(fn):
        schema = Made.from_function(fn, structured_output=False).parameters
        shown = ToolAnnotations.model_validate(annotations)
        TOOLS.append(Tool(name=fn.__name__, input_schema=schema, output_schema=output_schema, annotations=shown))
        FUNCTIONS[fn.__name__] = fn
    return register

async def list_tools(ctx, params):
    return ListToolsResult(tools=TOOLS)

async def call_tool(ctx, params):
    value = await FUNCTIONS[params.name](**params.arguments or {{}})
    return value if isinstance(value, CallToolResult) else CallToolResult(content=[TextContent(type="text", text=str(value))])

server = install(Server("cases", on_list_tools=list_tools, on_call_tool=call_tool), GUARD)

async def run():
    async with stdio_server() as streams:
        await server.run(*streams, server.create_initialization_options())
""",
        "asyncio.run(run())",
    ),
}

ALIVE = """
@tool({{}})
async def alive() -> str:
    return ",".join(SEEN)

"""


def tool_name(case: dict[str, Any]) -> str:
    return case["id"].replace("-", "_")


def body_of(case: dict[str, Any]) -> str:
    """
    The body of a case's tool, unparsed: indenting would change the lines inside a long string.
    """
    return ast.unparse(ast.parse(case.get("raise") or case.get("return") or "return"))


def source(cases: list[dict[str, Any]], hx: str, host: str) -> str:
    secrets = [secret for case in cases for secret in case.get("configured_secrets", [])]
    head, run = HOSTS[host]
    parts = [(HEAD + head + ALIVE).format(hx=hx, secrets=secrets)]
    for case in cases:
        if "call_tool_name" in case:
            continue
        tool = case.get("tool", {})
        body = textwrap.indent(body_of(case), "        ")
        parts.append(
            f"@tool({tool.get('annotations', {})!r}, {tool.get('outputSchema')!r})\n"
            f"async def {tool_name(case)}({case.get('signature', '')}):\n"
            f"    try:\n{body}\n"
            f"    except asyncio.CancelledError:\n        SEEN.append({case['id']!r})\n        raise\n"
        )
    parts.append(f"{run}\n")
    return "\n".join(parts)


def call_all(cases: list[dict[str, Any]], hx: str, folder: Path, host: str = "mcpserver") -> dict[str, Came]:
    """
    Return what came of each case, all in one session with one server process.
    """
    script = folder / f"cases_with_{hx}_on_{host}.py"
    script.write_text(source(cases, hx, host))
    return anyio.run(_call_all, cases, script)


async def _call_all(cases: list[dict[str, Any]], script: Path) -> dict[str, Came]:
    found = {}
    parameters = StdioServerParameters(command=sys.executable, args=["-W", "error", str(script)])
    with (script.parent / f"{script.stem}.log").open("w") as log:
        async with stdio_client(parameters, errlog=log) as streams, ClientSession(*streams) as session:
            await session.initialize()
            schemas = {tool.name: tool.output_schema for tool in (await session.list_tools()).tools}
            for case in cases:
                came = found[case["id"]] = Came(schema=schemas.get(tool_name(case)))
                begin = time.monotonic()
                await _call(session, case, came)
                came.seconds = time.monotonic() - begin
                with anyio.fail_after(10):
                    alive = await session.call_tool("alive", {})
                came.survived = not alive.is_error
                if case["id"] in alive.content[0].text.split(","):
                    came.reraised = "CancelledError"
    return found


async def _call(session: ClientSession, case: dict[str, Any], came: Came) -> None:
    name = case.get("call_tool_name") or tool_name(case)
    try:
        with anyio.move_on_after(case.get("cancel_after_seconds", 20)):
            result = await session.call_tool(name, case.get("call", {}))
            came.result = json.loads(result.model_dump_json(by_alias=True, exclude_none=True))
            came.fault = parse(came.result)
    except MCPError as exc:
        came.protocol_error = {"code": exc.code, "message": exc.message, "data": exc.data}
        came.fault = parse(exc)
