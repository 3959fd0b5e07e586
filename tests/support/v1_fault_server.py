"""
Servers of mcp 1.x whose tools fail in every way that the integration has to answer; run as a process, or in memory.

``python v1_fault_server.py fastmcp | lowlevel stdio``
``python v1_fault_server.py fastmcp | lowlevel http | http-json FD``, the file descriptor of a listening socket.
"""

import asyncio
import concurrent.futures
import contextlib
import functools
import inspect
import socket
import sys
import time
from typing import Annotated

import anyio
import uvicorn
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import McpError, UrlElicitationRequiredError
from mcp.types import CallToolResult, ElicitRequestURLParams, ErrorData, TextContent
from pydantic import BaseModel, Field, field_validator
from starlette.applications import Starlette
from starlette.routing import Mount

from toolfault import McpErrorCode, ToolFault
from toolfault.integrations.mcp import guarded, install


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
        return days


happened = []


async def ok(text: str = "fine") -> str:
    return text


async def typed_ok(city: str) -> Forecast:
    return Forecast(city=city, degrees=4.5)


async def typed_fault(city: str) -> Forecast:
    raise ToolFault(
        McpErrorCode.QUOTA_EXCEEDED, f"Daily quota for {city} is used up", retry_after_seconds=30, hint="Try Oslo."
    )


async def chained() -> str:
    try:
        {}["k"]
    except KeyError as exc:
        raise ToolFault("internal", "The index is being rebuilt", retryable=True) from exc


async def anticipated(city: str) -> str:
    raise ValueError(f"No such city: {city}")


def anticipated_sync(city: str) -> str:
    raise ValueError(f"No such city: {city}")


async def anticipated_list(city: str) -> list[Forecast]:
    raise ValueError(f"No such city: {city}")


async def host_error() -> str:
    raise ToolError("The ledger is locked by an import")


async def crash() -> int:
    return 1 // 0


def crash_sync() -> int:
    return 1 // 0


async def argument(days: Annotated[int, Field(le=14)], city: str) -> str:
    return "unreached"


async def wrong_output() -> Forecast:
    return {"city": "Oslo", "degrees": "warm"}


async def stray_cancel() -> str:
    task = asyncio.ensure_future(asyncio.sleep(30))
    asyncio.get_running_loop().call_soon(task.cancel)
    await task


async def exits() -> str:
    sys.exit(3)


def exits_sync() -> str:
    sys.exit(3)


async def base_exception() -> str:
    raise OwnBase("not even an Exception")


async def groups() -> str:
    raise BaseExceptionGroup(
        "outer",
        [asyncio.CancelledError(), ExceptionGroup("inner", [ConnectionRefusedError(111, "Connection refused")])],
    )


async def task_group() -> str:
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep, 30)
        raise ValueError("one of several failed")


async def surrogate() -> str:
    raise ToolError("unexpected argument: \ud800room")


async def surrogate_in_result() -> str:
    return "a file called \udcff.txt"


async def surrogate_in_structure():
    return CallToolResult(content=[], structuredContent={"files": ["\udcff.txt"]})


async def no_json():
    return CallToolResult(content=[], structuredContent={"tool": object()})


async def broken_str() -> str:
    class Broken(Exception):
        def __str__(self):
            raise RuntimeError("even this fails")

        __repr__ = __str__

    raise Broken


async def five_megabytes() -> str:
    raise ValueError("x" * 5_000_000)


async def secret() -> str:
    raise RuntimeError("login failed: password=hunter2-and-more host=db")


async def protocol() -> str:
    raise McpError(ErrorData(code=-32001, message="the tool speaks the protocol itself", data={"why": "it can"}))


async def protocol_surrogate() -> str:
    raise McpError(ErrorData(code=1001, message="broken \ud800 text", data={"path": "\udcff"}))


async def elicits_by_url() -> str:
    raise UrlElicitationRequiredError(
        [
            ElicitRequestURLParams(
                mode="url", message="Sign in first", url="https://auth.example.com/", elicitationId="e1"
            )
        ]
    )


async def own_result():
    texts = [TextContent(type="text", text="Rate limit reached"), TextContent(type="text", text="second")]
    return CallToolResult(content=texts, isError=True)


async def own_envelope():
    envelope = {"code": "future_code", "message": "from afar", "category": "transient", "retryable": True}
    return CallToolResult(
        content=[TextContent(type="text", text="from afar")], structuredContent=envelope, isError=True
    )


@guarded(timeout=0.05)
async def slow() -> str:
    await anyio.sleep(30)


@guarded(timeout=0.05)
def slow_sync() -> str:
    time.sleep(0.4)
    return "late"


async def upstream_timeout() -> str:
    with anyio.fail_after(0.01):
        await anyio.sleep(30)


@guarded(expect={concurrent.futures.BrokenExecutor: "quota_exceeded"})
async def expected() -> str:
    raise concurrent.futures.BrokenExecutor("all workers are busy")


async def waits() -> str:
    happened.append("started")
    try:
        await anyio.sleep(30)
    except anyio.get_cancelled_exc_class():
        happened.append("cancelled")
        raise


async def what_happened() -> str:
    return ",".join(happened)


#: What any kind of server can have as a tool.
TOOLS = {
    **{
        tool.__name__: tool
        for tool in (
            *(ok, typed_ok, typed_fault, chained, anticipated, anticipated_sync, anticipated_list, host_error),
            *(crash, crash_sync, argument, wrong_output, stray_cancel, exits, exits_sync, base_exception, groups),
            *(task_group, surrogate, surrogate_in_result, surrogate_in_structure, no_json, broken_str),
            *(five_megabytes, secret, protocol, protocol_surrogate, elicits_by_url, own_result, own_envelope),
            *(slow, slow_sync, upstream_timeout, expected, waits, what_happened),
        )
    },
    "partial": guarded(functools.partial(anticipated, "Vineta")),
}


def fastmcp(guard=None, **options):
    happened.clear()
    server = install(FastMCP("faults", log_level="CRITICAL", **options), guard)
    for name, tool in TOOLS.items():
        server.add_tool(tool, name=name)

    @server.tool()
    async def validator(order: Order) -> str:
        return "ordered"

    @server.tool()
    async def asks_the_client(ctx: Context) -> str:
        await ctx.elicit("May I?", schema=Forecast)
        return "allowed"

    @server.tool()
    async def reports(ctx: Context) -> str:
        await ctx.report_progress(1, 2, "half")
        raise ValueError("no second half")

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

    return server


def lowlevel(guard=None):
    """
    The same functions behind one handler; what is listed is what a FastMCP would list.
    """
    happened.clear()
    server = install(Server("faults"), guard)
    listing = FastMCP("listing", log_level="CRITICAL")
    for name, tool in TOOLS.items():
        listing.add_tool(tool, name=name)

    @server.list_tools()
    async def tools():
        return await listing.list_tools()

    @server.call_tool()
    async def call(name, arguments):
        returned = TOOLS[name](**arguments)
        returned = await returned if inspect.isawaitable(returned) else returned
        if isinstance(returned, CallToolResult):
            return returned
        if isinstance(returned, BaseModel):
            returned = returned.model_dump()
        if isinstance(returned, dict):
            return returned
        return [TextContent(type="text", text=str(returned))], {"result": returned}

    return server


def over_http(kind, *, json_response):
    if kind == "fastmcp":
        return fastmcp(json_response=json_response).streamable_http_app()
    manager = StreamableHTTPSessionManager(app=lowlevel(), json_response=json_response)

    @contextlib.asynccontextmanager
    async def lifespan(_app):
        async with manager.run():
            yield

    return Starlette(routes=[Mount("/mcp", app=manager.handle_request)], lifespan=lifespan)


async def lowlevel_over_stdio():
    from mcp.server.stdio import stdio_server

    server = lowlevel()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main():
    kind, way, *rest = sys.argv[1:]
    if way == "stdio":
        return fastmcp().run("stdio") if kind == "fastmcp" else anyio.run(lowlevel_over_stdio)
    app = over_http(kind, json_response=way == "http-json")
    listening = socket.socket(fileno=int(*rest))
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    return uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
