"""
The fault server on FastMCP; run as a process, or in memory. It needs FastMCP 4.

``python fastmcp_faults.py stdio | http FD | http-json FD``, the file descriptor of a listening socket.
"""

import asyncio
import concurrent.futures
import functools
import logging
import socket
import sys
import time
from typing import Annotated

import anyio
import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.dependencies import Depends
from fastmcp.exceptions import ToolError
from fastmcp.tools import ToolResult
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp.types import CallToolResult, ElicitRequestURLParams, TextContent
from pydantic import BaseModel, Field, field_validator

from toolfault import McpErrorCode, ToolFault
from toolfault.integrations.fastmcp import ToolFaultMiddleware
from toolfault.integrations.mcp import guarded


# It logs each crash with its traceback, in colours.
logging.getLogger("fastmcp").setLevel(logging.CRITICAL)


class Forecast(BaseModel):
    city: str
    degrees: float


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
        if days == 11:
            return {}["eleven"]
        return days


class Part(BaseModel):
    """
    Its schema refers to itself, and its `code` is no string: an envelope has room only as the other half of an anyOf.
    """

    code: int
    parts: list["Part"] = []


def resolver_that_fails():
    raise ValueError("no region is configured for this account")


def make(guard=None, *, middleware=None, **options):
    server = FastMCP("faults", **options)
    if middleware is None:
        middleware = [ToolFaultMiddleware(guard)]
    for one in middleware:
        server.add_middleware(one)
    add_tools(server)
    return server


def add_tools(server):
    happened = []

    @server.tool
    async def ok(text: str = "fine") -> str:
        return text

    @server.tool
    async def typed_ok(city: str) -> Forecast:
        return Forecast(city=city, degrees=4.5)

    @server.tool
    async def maybe(city: str) -> Forecast | None:
        return None if city == "Ys" else Forecast(city=city, degrees=4.5)

    @server.tool
    async def listed() -> list[int]:
        return [1, 2]

    @server.tool
    async def typed_fault(city: str) -> Forecast:
        raise ToolFault(
            McpErrorCode.QUOTA_EXCEEDED, f"Daily quota for {city} is used up", retry_after_seconds=30, hint="Try Oslo."
        )

    @server.tool
    async def either() -> Part:
        raise ToolFault(McpErrorCode.INTERNAL, "The bill of materials is being rebuilt", retryable=True)

    @server.tool
    async def chained() -> str:
        try:
            {}["k"]
        except KeyError as exc:
            raise ToolFault("internal", "The index is being rebuilt", retryable=True) from exc

    @server.tool
    async def anticipated(city: str) -> str:
        raise ValueError(f"No such city: {city}")

    @server.tool
    def anticipated_sync(city: str) -> str:
        raise ValueError(f"No such city: {city}")

    @server.tool
    async def host_error() -> str:
        raise ToolError("The ledger is locked by an import")

    @server.tool
    async def crash() -> int:
        return 1 // 0

    @server.tool
    def crash_sync() -> int:
        return 1 // 0

    @server.tool
    async def argument(days: Annotated[int, Field(le=14)], city: str) -> str:
        return "unreached"

    @server.tool
    async def validator(order: Order) -> str:
        return "ordered"

    @server.tool
    def validator_sync(order: Order) -> str:
        return "ordered"

    @server.tool
    async def model_in_the_body(city: str) -> str:
        return Forecast(city=city, degrees="warm").city

    @server.tool
    async def resolved(region: str = Depends(resolver_that_fails)) -> str:
        return region

    @server.tool
    async def wrong_output() -> Forecast:
        return {"city": "Oslo", "degrees": "warm"}

    @server.tool
    async def no_output() -> Forecast:
        return None

    @server.tool
    async def unserializable_output() -> dict:
        return {"what": object()}

    @server.tool
    async def stray_cancel() -> str:
        task = asyncio.ensure_future(asyncio.sleep(30))
        asyncio.get_running_loop().call_soon(task.cancel)
        await task

    @server.tool
    async def exits() -> str:
        sys.exit(3)

    @server.tool
    def exits_sync() -> str:
        sys.exit(3)

    @server.tool
    async def base_exception() -> str:
        raise OwnBase("not even an Exception")

    @server.tool
    async def groups() -> str:
        raise BaseExceptionGroup(
            "outer",
            [asyncio.CancelledError(), ExceptionGroup("inner", [ConnectionRefusedError(111, "Connection refused")])],
        )

    @server.tool
    async def task_group() -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 30)
            raise ValueError("one of several failed")

    @server.tool
    async def surrogate() -> str:
        raise ToolError("unexpected argument: \ud800room")

    @server.tool
    async def surrogate_in_result():
        return "a file called \udcff.txt"

    @server.tool
    async def typed_surrogate() -> str:
        return "a file called \udcff.txt"

    @server.tool
    async def broken_str() -> str:
        class Broken(Exception):
            def __str__(self):
                raise RuntimeError("even this fails")

            __repr__ = __str__

        raise Broken

    @server.tool
    async def five_megabytes() -> str:
        raise ValueError("x" * 5_000_000)

    @server.tool
    async def secret() -> str:
        raise RuntimeError("login failed: password=hunter2-and-more host=db")

    @server.tool
    async def protocol() -> str:
        raise MCPError(-32001, "the tool speaks the protocol itself", {"why": "it can"})

    @server.tool
    async def protocol_surrogate() -> str:
        raise MCPError(1001, "broken \ud800 text", {"path": "\udcff"})

    @server.tool
    async def elicits_by_url() -> str:
        raise UrlElicitationRequiredError(
            [ElicitRequestURLParams(message="Sign in first", url="https://auth.example.com/", elicitation_id="e1")]
        )

    @server.tool
    async def asks_the_client(ctx: Context) -> str:
        await ctx.elicit("May I?", response_type=Forecast)
        return "allowed"

    @server.tool
    async def nested() -> str:
        try:
            await server.call_tool("anticipated", {"city": "Ys"})
        except ToolError as exc:
            return f"raised: {type(exc.__cause__).__name__}"
        return "returned"

    @server.tool
    async def nested_through() -> str:
        await server.call_tool("crash", {})

    @server.tool
    async def nested_unknown() -> str:
        await server.call_tool("no_such_tool", {})

    @server.tool
    async def nested_arguments() -> str:
        await server.call_tool("argument", {"days": 99})

    @server.tool
    async def own_result():
        return CallToolResult(
            content=[TextContent(type="text", text="Rate limit reached"), TextContent(type="text", text="second")],
            is_error=True,
        )

    @server.tool
    async def own_tool_result():
        return ToolResult("Rate limit reached", structured_content={"left": 0}, is_error=True)

    @server.tool
    async def own_envelope():
        envelope = {"code": "future_code", "message": "from afar", "category": "transient", "retryable": True}
        return CallToolResult(
            content=[TextContent(type="text", text="from afar")], structured_content=envelope, is_error=True
        )

    @server.tool
    @guarded(timeout=0.05)
    async def slow() -> str:
        await anyio.sleep(30)

    @server.tool
    @guarded(timeout=0.05)
    def slow_sync() -> str:
        time.sleep(0.4)
        return "late"

    @server.tool(timeout=0.05)
    async def slow_for_the_host() -> str:
        await anyio.sleep(30)

    @server.tool
    async def upstream_timeout() -> str:
        with anyio.fail_after(0.01):
            await anyio.sleep(30)

    @server.tool
    @guarded(expect={concurrent.futures.BrokenExecutor: "quota_exceeded"})
    async def expected() -> str:
        raise concurrent.futures.BrokenExecutor("all workers are busy")

    @server.tool
    async def waits() -> str:
        happened.append("started")
        try:
            await anyio.sleep(30)
        except anyio.get_cancelled_exc_class():
            happened.append("cancelled")
            raise

    @server.tool
    async def what_happened() -> str:
        return ",".join(happened)

    server.tool(guarded(functools.partial(anticipated, "Vineta")), name="partial")


def main():
    server = make()
    if sys.argv[1] == "stdio":
        server.run("stdio", show_banner=False)
        return
    app = server.http_app(json_response=sys.argv[1] == "http-json")
    listening = socket.socket(fileno=int(sys.argv[2]))
    uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)).run(sockets=[listening])


if __name__ == "__main__":
    main()
