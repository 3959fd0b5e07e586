"""
A server whose tools fail in every way that the integration has to answer; run as a process, or in memory.

``python fault_server.py stdio [widen | meta | keep]``: what becomes of a tool's outputSchema.
``python fault_server.py http FD | http-json FD | sse FD | workers FD``: the file descriptor of a listening socket;
two processes, each without sessions, for the last.
"""

import asyncio
import concurrent.futures
import functools
import os
import socket
import sys
import time
from typing import Annotated

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Resolve
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp.types import ElicitRequestURLParams
from pydantic import BaseModel, Field, field_validator

from toolfault import Guard, McpErrorCode, ToolFault
from toolfault.integrations.mcp import guarded, install


class Forecast(BaseModel):
    city: str
    degrees: float


class Part(BaseModel):
    """
    Its schema refers to itself, and its `code` is no string: an envelope has room only as the other half of an anyOf.
    """

    code: int
    parts: list["Part"] = []


class OwnBase(BaseException):
    """
    Something that is no Exception.
    """


class Order(BaseModel):
    days: Annotated[int, Field(le=14)]

    @field_validator("days")
    @classmethod
    def plausible(cls, days):
        if days == 13:
            raise ValueError("nobody orders for 13 days")
        if days == 12:
            return days + int("twelve")
        return days


def resolver_that_fails():
    raise ValueError("no region is configured for this account")


def make(guard=None):
    server = install(MCPServer("faults", log_level="CRITICAL"), guard or Guard(timeout=None))
    happened = []

    @server.tool()
    async def ok(text: str = "fine") -> str:
        return text

    @server.tool()
    async def typed_fault(city: str) -> Forecast:
        raise ToolFault(
            McpErrorCode.QUOTA_EXCEEDED, f"Daily quota for {city} is used up", retry_after_seconds=30, hint="Try Oslo."
        )

    @server.tool()
    async def typed_ok(city: str) -> Forecast:
        return Forecast(city=city, degrees=4.5)

    @server.tool()
    async def either() -> Part:
        raise ToolFault(McpErrorCode.INTERNAL, "The bill of materials is being rebuilt", retryable=True)

    @server.tool()
    async def names_its_process() -> str:
        raise ToolFault(McpErrorCode.INTERNAL, f"Process {os.getpid()} is busy", retryable=True)

    @server.tool()
    async def chained() -> str:
        try:
            {}["k"]
        except KeyError as exc:
            raise ToolFault("internal", "The index is being rebuilt", retryable=True) from exc

    @server.tool()
    async def anticipated(city: str) -> str:
        raise ValueError(f"No such city: {city}")

    @server.tool()
    def anticipated_sync(city: str) -> str:
        raise ValueError(f"No such city: {city}")

    @server.tool()
    async def host_error() -> str:
        raise ToolError("The ledger is locked by an import")

    @server.tool()
    async def crash() -> int:
        return 1 // 0

    @server.tool()
    def crash_sync() -> int:
        return 1 // 0

    @server.tool()
    async def argument(days: Annotated[int, Field(le=14)], city: str) -> str:
        return "unreached"

    @server.tool()
    async def validator(order: Order) -> str:
        return "ordered"

    @server.tool()
    async def resolved(region: Annotated[str, Resolve(resolver_that_fails)]) -> str:
        return region

    @server.tool()
    async def wrong_output() -> Forecast:
        return {"city": "Oslo", "degrees": "warm"}

    @server.tool()
    async def stray_cancel() -> str:
        task = asyncio.ensure_future(asyncio.sleep(30))
        asyncio.get_running_loop().call_soon(task.cancel)
        await task

    @server.tool()
    async def exits() -> str:
        sys.exit(3)

    @server.tool()
    def exits_sync() -> str:
        sys.exit(3)

    @server.tool()
    async def base_exception() -> str:
        raise OwnBase("not even an Exception")

    @server.tool()
    async def groups() -> str:
        raise BaseExceptionGroup(
            "outer",
            [asyncio.CancelledError(), ExceptionGroup("inner", [ConnectionRefusedError(111, "Connection refused")])],
        )

    @server.tool()
    async def task_group() -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 30)
            raise ValueError("one of several failed")

    @server.tool()
    async def surrogate() -> str:
        raise ToolError("unexpected argument: \ud800room")

    @server.tool()
    async def surrogate_in_result() -> str:
        return "a file called \udcff.txt"

    @server.tool()
    async def broken_str() -> str:
        class Broken(Exception):
            def __str__(self):
                raise RuntimeError("even this fails")

            __repr__ = __str__

        raise Broken

    @server.tool()
    async def five_megabytes() -> str:
        raise ValueError("x" * 5_000_000)

    @server.tool()
    async def secret() -> str:
        raise RuntimeError("login failed: password=hunter2-and-more host=db")

    @server.tool()
    async def protocol() -> str:
        raise MCPError(-32001, "the tool speaks the protocol itself", {"why": "it can"})

    @server.tool()
    async def protocol_surrogate() -> str:
        raise MCPError(1001, "broken \ud800 text", {"path": "\udcff"})

    @server.tool()
    async def elicits_by_url() -> str:
        raise UrlElicitationRequiredError(
            [ElicitRequestURLParams(message="Sign in first", url="https://auth.example.com/", elicitation_id="e1")]
        )

    @server.tool()
    async def asks_the_client(ctx: Context) -> str:
        await ctx.elicit("May I?", schema=Forecast)
        return "allowed"

    @server.tool()
    async def nested() -> str:
        try:
            await server.call_tool("anticipated", {"city": "Ys"})
        except ToolError as exc:
            return f"raised: {type(exc.__cause__).__name__}"
        return "returned"

    @server.tool()
    async def nested_through() -> str:
        await server.call_tool("crash", {})

    @server.tool()
    async def nested_unknown() -> str:
        await server.call_tool("no_such_tool", {})

    @server.tool()
    async def own_result():
        from mcp.types import CallToolResult, TextContent

        return CallToolResult(
            content=[TextContent(type="text", text="Rate limit reached"), TextContent(type="text", text="second")],
            is_error=True,
        )

    @server.tool()
    async def own_envelope():
        from mcp.types import CallToolResult, TextContent

        envelope = {"code": "future_code", "message": "from afar", "category": "transient", "retryable": True}
        return CallToolResult(
            content=[TextContent(type="text", text="from afar")], structured_content=envelope, is_error=True
        )

    @server.tool()
    @guarded(timeout=0.05)
    async def slow() -> str:
        await anyio.sleep(30)

    @server.tool()
    @guarded(timeout=0.05)
    def slow_sync() -> str:
        time.sleep(0.4)
        return "late"

    @server.tool()
    async def upstream_timeout() -> str:
        with anyio.fail_after(0.01):
            await anyio.sleep(30)

    @server.tool()
    @guarded(expect={concurrent.futures.BrokenExecutor: "quota_exceeded"})
    async def expected() -> str:
        raise concurrent.futures.BrokenExecutor("all workers are busy")

    @server.tool()
    async def waits() -> str:
        happened.append("started")
        try:
            await anyio.sleep(30)
        except anyio.get_cancelled_exc_class():
            happened.append("cancelled")
            raise

    @server.tool()
    async def what_happened() -> str:
        return ",".join(happened)

    server.add_tool(guarded(functools.partial(anticipated, "Vineta")), name="partial")
    return server


def without_sessions():
    return make().streamable_http_app(stateless_http=True)


def main():
    if sys.argv[1] == "stdio":
        make(Guard(output_schema=sys.argv[2]) if len(sys.argv) > 2 else None).run("stdio")
        return
    if sys.argv[1] == "workers":
        uvicorn.run(
            "fault_server:without_sessions",
            factory=True,
            workers=2,
            fd=int(sys.argv[2]),
            log_level="critical",
            timeout_graceful_shutdown=1,
            timeout_worker_healthcheck=60,  # a worker that still imports answers no health check, and would be killed
        )
        return
    server = make()
    if sys.argv[1] == "sse":
        app = server.sse_app()
    else:
        app = server.streamable_http_app(json_response=sys.argv[1] == "http-json")
    listening = socket.socket(fileno=int(sys.argv[2]))
    uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)).run(sockets=[listening])


if __name__ == "__main__":
    main()
