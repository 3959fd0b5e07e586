"""
A server of any kind with one tool that raises what it is asked for: ``hostile_host.py KIND [plain]``.
"""

import logging
import sys

import anyio

from hostile_exceptions import attack, attack_sync


def mcp_server():
    from mcp.server import MCPServer

    server = MCPServer("hostile", log_level="CRITICAL")
    server.add_tool(attack)
    server.add_tool(attack_sync)
    return server, server.run


def fastmcp_1():
    from mcp.server.fastmcp import FastMCP

    server = FastMCP("hostile", log_level="CRITICAL")
    server.add_tool(attack)
    server.add_tool(attack_sync)
    return server, server.run


def lowlevel():
    from mcp import types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    async def call(ctx, params):
        text = await attack(**params.arguments)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    server = Server("hostile", on_call_tool=call)

    async def serve():
        async with stdio_server() as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())

    return server, lambda: anyio.run(serve)


def lowlevel_1():
    from mcp import types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    server = Server("hostile")

    @server.call_tool()
    async def call(name, arguments):
        return [types.TextContent(type="text", text=await attack(**arguments))]

    async def serve():
        async with stdio_server() as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())

    return server, lambda: anyio.run(serve)


def fastmcp_4():
    from fastmcp import FastMCP

    server = FastMCP("hostile")
    server.tool(attack)
    server.tool(attack_sync)
    return server, lambda: server.run(show_banner=False)


def main():
    kind, *plain = sys.argv[1:]
    logging.disable(logging.CRITICAL)
    server, run = globals()[kind]()
    if kind == "fastmcp_4" and not plain:
        from toolfault.integrations.fastmcp import ToolFaultMiddleware

        server.add_middleware(ToolFaultMiddleware())
    elif not plain:
        from toolfault.integrations.mcp import install

        logging.disable(logging.NOTSET)
        install(server)
    run()


if __name__ == "__main__":
    main()
