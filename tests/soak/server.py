"""
A server with one tool, which does or fails as it is told and says its number; run by `soak.py`.

``python server.py stdio | http FD``, the file descriptor of a listening socket.
"""

import asyncio
import os
import socket
import sys

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

from toolfault import McpErrorCode, ToolFault
from toolfault.integrations.mcp import guarded, install


server = install(MCPServer("soak", log_level="CRITICAL"))
started: list[int] = []
running: set[int] = set()


class Done(BaseModel):
    number: int
    text: str


class NoException(BaseException):
    """
    What no one expects a tool to raise.
    """


@server.tool()
async def work(number: int, way: str, table: dict[str, int] | None = None) -> Done:
    """
    Succeed, or fail in this way.
    """
    said = f"call {number}"
    match way:
        case "fault":
            raise ToolFault(McpErrorCode.QUOTA_EXCEEDED, said, retry_after_seconds=number)
        case "on purpose":
            raise ValueError(said)
        case "host error":
            raise ToolError(said)
        case "accident":
            {}[said]
        case "exit":
            sys.exit(said)
        case "no exception":
            raise NoException(said)
        case "group":
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.sleep_forever)
                raise ConnectionRefusedError(111, said)
        case "stray cancel":
            task = asyncio.ensure_future(anyio.sleep_forever())
            asyncio.get_running_loop().call_soon(task.cancel)
            await task
        case "surrogate":
            raise ValueError(f"{said} \udcff")
        case "large":
            raise ValueError(said + " x" * 50_000)
        case "thread":
            await anyio.to_thread.run_sync(int, said)
        case "wrong output":
            return {"number": "x", "text": said}
    return Done(number=number, text=said)


@server.tool()
@guarded(timeout=0.02)
async def slow(number: int) -> Done:
    await anyio.sleep_forever()


@server.tool()
async def forever(number: int) -> Done:
    """
    Wait until the caller gives up.
    """
    started.append(number)
    running.add(number)
    try:
        await anyio.sleep_forever()
    finally:
        running.discard(number)


@server.tool()
async def state() -> dict[str, int]:
    return {"pid": os.getpid(), "running": len(running), "started": len(started)}


def main() -> None:
    if sys.argv[1] == "stdio":
        server.run("stdio")
        return
    listening = socket.socket(fileno=int(sys.argv[2]))
    config = uvicorn.Config(server.streamable_http_app(), log_level="critical", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
