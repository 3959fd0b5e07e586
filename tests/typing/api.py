"""
The public API as type checkers see it; read by mypy and pyright, never executed.
"""

from collections.abc import Callable, Coroutine
from typing import Any, assert_type

from mcp import Client, ClientSession
from mcp.client import ClientExtension
from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from mcp.types import CallToolResult

from toolfault import (
    Guard,
    McpErrorCategory,
    McpErrorCode,
    McpExecuteError,
    Registry,
    Retry,
    ToolFault,
    parse,
    raise_for_error,
    suspect,
)
from toolfault.hooks import Attempt, Retried
from toolfault.hosting import Call
from toolfault.integrations.mcp import advertise, describe_codes, guarded, install, retrying
from toolfault.testing import assert_fault


class OutOfStock(ToolFault):
    code = McpErrorCode.INVALID_ARGUMENTS


fault = ToolFault(McpErrorCode.INTERNAL, "m", retry_after_seconds=1.5, causes=["a"], outcome="unknown")
ToolFault("internal", "m", category="auth")
OutOfStock("m", hint="h")
assert_type(fault.envelope, McpExecuteError)
assert_type(fault.code, McpErrorCode)
assert_type(fault.facts, dict[str, Any])
assert_type(OutOfStock.of(fault.envelope), OutOfStock)

envelope = McpExecuteError.new("internal", "m").with_category("auth").with_retry_after_seconds(3)
assert_type(envelope.code, McpErrorCode)
assert_type(envelope.category, McpErrorCategory)
assert_type(envelope.retry_after_seconds, int | None)
assert_type(envelope.cause_chain, tuple[str, ...])
assert_type(envelope.to_wire(), dict[str, Any])
assert_type(McpExecuteError.from_wire({}), McpExecuteError)

assert_type(parse(object()), ToolFault | None)
assert_type(suspect(object()), ToolFault | None)
assert_type(raise_for_error("result"), str)
assert_type(assert_fault(object(), code="internal"), ToolFault)


def hook(fault: ToolFault, exc: BaseException, call: Call) -> None: ...


def rule(exc: Any) -> McpErrorCode | None: ...


guard = Guard(
    timeout=5,
    expect={ValueError: "internal", "acme.Error": envelope, OSError: rule, KeyError: fault},
    registry=Registry().with_rules({ValueError: McpErrorCode.INTERNAL}),
    credentials="server",
    secrets=["s3cr3t"],
    disclosure="withheld",
    on_failure=[hook],
)
assert_type(guard.judge(ValueError(), Call(tool="t")), ToolFault)
assert_type(guard.with_options(timeout=None), Guard)

server = MCPServer("s")
assert_type(install(server, guard), MCPServer)
lowlevel: Server[Any] = Server("l")
assert_type(install(lowlevel), Server[Any])
assert_type(advertise(), ClientExtension)
Client(server, extensions=[advertise()])


@guarded
async def plain(city: str) -> int:
    return len(city)


@guarded(timeout=3, expect={ValueError: "internal"})
def with_options(city: str) -> int:
    return len(city)


@guarded(fails_with=[McpErrorCode.QUOTA_EXCEEDED, "invalid_arguments"])
async def declares(city: str) -> int:
    return len(city)


declares_is_kept: Callable[[str], Coroutine[Any, Any, int]] = declares
plain_is_kept: Callable[[str], Coroutine[Any, Any, int]] = plain
becomes_async: Callable[[str], Coroutine[Any, Any, int]] = with_options


async def client_side(client: Client, session: ClientSession) -> None:
    wrapped: Client = retrying(client)
    as_session: ClientSession = retrying(session, Retry(attempts=2))
    assert_type(await retrying(client).call_tool("t", {}, idempotent=True), CallToolResult)
    await retrying(session, rewrite=True).call_tool("t", idempotent=False)
    attempts: list[Attempt] = []
    await retrying(client).call_tool("t", on_attempt=attempts.append)
    assert_type(await Retry().run(lambda _: client.call_tool("t")), Retried[CallToolResult])
    assert_type(Retry().call_sync(lambda number: number), int)
    assert_type(Retry().state().next_wait(parse({}), None), float | None)
    await wrapped.list_tools()
    await as_session.list_tools()
    assert_type(await describe_codes(server), str)


# What must not type-check; an ignore that is not needed is an error.
Guard(credentials="mine")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Guard(output_schema="drop")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
guarded(fails_with=[3])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType, reportCallIssue]
guarded(speed=3)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
ToolFault()  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
ToolFault("internal", "m", wait=3)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
ToolFault("internal", "m", outcome="maybe")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
