"""
The tools of `fault_server` behind a low-level server, whose author does by hand what `MCPServer` does by itself.

``python lowlevel_server.py stdio | http FD | http-json FD``
"""

import inspect
import socket
import sys

import anyio
import anyio.to_thread
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolResult,
    ErrorData,
    InputRequiredResult,
    ListToolsResult,
    TextContent,
    Tool,
)
from pydantic import BaseModel

import fault_server
from toolfault import Guard
from toolfault.integrations.mcp import install


TEXT = [TextContent(type="text", text="x")]


class NoJson:
    """
    Something that no serializer takes.
    """


#: What handlers return that is no result, or hardly one.
RETURNED = {
    "none": None,
    "text": "x",
    "blocks": TEXT,
    "empty_dict": {},
    "dict": {"content": [{"type": "text", "text": "x"}]},
    "dict_error": {"content": [{"type": "text", "text": "Rate limit reached"}], "isError": True},
    "dict_error_in_python": {"content": [{"type": "text", "text": "Rate limit reached"}], "is_error": True},
    "dict_misspelt": {"contents": []},
    "other_model": fault_server.Forecast(city="Oslo", degrees=4),
    "other_result": ListToolsResult(tools=[]),
    "error_data": ErrorData(code=1007, message="as the protocol has it", data={"why": "\udcff"}),
    "no_json": CallToolResult(content=TEXT, structured_content={"a": NoJson()}),
    "no_json_meta": CallToolResult(content=TEXT, _meta={"a": NoJson()}),
    "list_structure": CallToolResult(content=TEXT, structured_content=[1, 2]),
    "surrogate_structure": CallToolResult(content=TEXT, structured_content={"name": "\udcff.txt"}),
    "asks": InputRequiredResult(request_state="s"),
    "claimed": {"resultType": "com.example/later", "content": []},
}


def result_of(value, *, structured):
    if isinstance(value, CallToolResult):
        return value
    if isinstance(value, BaseModel):
        value = value.model_dump()
    text = value if isinstance(value, str) else str(value)
    content = (value if isinstance(value, dict) else {"result": value}) if structured else None
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=content)


def make(guard=None):
    tools = {tool.name: tool for tool in fault_server.make()._tool_manager.list_tools()}

    async def list_tools(ctx, params):
        # In pages, made anew each time, as handlers do.
        names = [*tools, *RETURNED]
        begin = int(params.cursor or 0)
        page = [listed(name) for name in names[begin : begin + 20]]
        more = begin + 20 < len(names)
        return ListToolsResult(tools=page, next_cursor=str(begin + 20) if more else None)

    def listed(name):
        tool = tools.get(name)
        if tool is None:
            return Tool(name=name, input_schema={"type": "object"})
        return Tool(name=name, input_schema={**tool.parameters}, output_schema=tool.output_schema)

    async def call_tool(ctx, params):
        if params.name in RETURNED:
            return RETURNED[params.name]
        tool = tools[params.name]
        arguments = dict(params.arguments or {})
        if "order" in arguments:
            arguments["order"] = fault_server.Order.model_validate(arguments["order"])
        if inspect.iscoroutinefunction(tool.fn):
            value = await tool.fn(**arguments)
        else:
            value = await anyio.to_thread.run_sync(lambda: tool.fn(**arguments))
        return result_of(value, structured=tool.output_schema is not None)

    server = Server("faults", on_list_tools=list_tools, on_call_tool=call_tool)
    return install(server, guard or Guard(also=("fault_server",)))


async def over_stdio(server):
    async with stdio_server() as streams:
        await server.run(*streams, server.create_initialization_options())


def main():
    server = make()
    if sys.argv[1] == "stdio":
        anyio.run(over_stdio, server)
        return
    app = server.streamable_http_app(json_response=sys.argv[1] == "http-json")
    listening = socket.socket(fileno=int(sys.argv[2]))
    uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)).run(sockets=[listening])


if __name__ == "__main__":
    main()
