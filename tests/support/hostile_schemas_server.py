"""
A low-level server whose schemas run against its callers, run as a process: ``guarded`` or ``plain``.
"""

import sys

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

from toolfault.integrations.mcp import install


NODE = {
    "type": "object",
    "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}, "value": {"type": "integer"}},
}
LEVELS = {f"l{level}": {"anyOf": [{"$ref": f"#/$defs/l{level + 1}"}] * 2} for level in range(30)}
LEVELS["l30"] = {"type": "integer"}
REPEATS = "^" + ".*" * 30 + "X$"

INPUTS = {
    "pay": {
        "properties": {"price": {"type": "number", "multipleOf": 0.01}, "account": {"pattern": "^[a-z]{3,12}$"}},
    },
    "walk": {"properties": {"node": {"$ref": "#/$defs/node"}}, "$defs": {"node": NODE}},
    "search": {"properties": {"text": {"type": "string", "pattern": r"^(\w+\s?)*$"}}},
    "collect": {"properties": {"rows": {"type": "array", "uniqueItems": True}}},
    "choose": {"properties": {"choice": {"$ref": "#/$defs/l0"}}, "$defs": LEVELS},
    "wide": {"properties": {f"p{number}": {"type": "integer"} for number in range(20_000)}},
    "many": {"properties": {"numbers": {"type": "array", "items": {"type": "integer"}}}},
    "broken": {"properties": {"a": {"type": "strin"}}},
    "elsewhere": {"properties": {"a": {"$ref": "http://127.0.0.1:9/s.json"}, "b": {"type": "integer"}}},
}
OUTPUTS = {
    "search": {"type": "object", "properties": {"message": {"type": "string", "pattern": REPEATS}}},
    "choose": {"type": "object", "properties": {"message": {"$ref": "#/$defs/l0"}}, "$defs": LEVELS},
    "pay": {"type": "object", "properties": {"hint": {"$ref": "http://127.0.0.1:9/s.json"}}},
}


async def list_tools(ctx, params):
    return ListToolsResult(
        tools=[
            Tool(name=name, input_schema={"type": "object", **schema}, output_schema=OUTPUTS.get(name))
            for name, schema in INPUTS.items()
        ]
    )


async def call_tool(ctx, params):
    return CallToolResult(content=[TextContent(type="text", text="reached")], structured_content={})


def make(guarded):
    server = Server("schemas", on_list_tools=list_tools, on_call_tool=call_tool)
    return install(server) if guarded else server


async def main(server):
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main, make(sys.argv[1:] != ["plain"]))
