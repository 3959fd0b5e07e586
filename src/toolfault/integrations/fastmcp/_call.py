"""
One call, and what is known of the tool that it names, below transformations, mounts and proxies.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from fastmcp.server.middleware import MiddlewareContext
from fastmcp.server.providers.fastmcp_provider import FastMCPProvider, FastMCPProviderTool
from fastmcp.server.providers.proxy import ProxyProvider, ProxyTool
from fastmcp.server.server import FastMCP
from fastmcp.tools.base import Tool
from fastmcp.tools.tool_transform import TransformedTool
from fastmcp.utilities.versions import VersionSpec
from mcp.types import CallToolRequestParams

from toolfault.hosting import answering


#: How many servers may be mounted in each other.
_MAX_MOUNTS: Final = 32

Key = tuple[str, str]


class CallContext:
    """
    One call, and what tells it from others: the request that brought it, the server, and the name.
    """

    __slots__ = ("arguments", "context", "key", "name", "request", "server", "version")

    def __init__(self, context: MiddlewareContext[CallToolRequestParams]) -> None:
        message, within = context.message, context.fastmcp_context
        assert within is not None  # noqa: S101 -- for type checkers; on_call_tool looked
        self.context = context
        self.server: FastMCP[Any] = within.fastmcp
        self.request: object | None = within.request_context
        self.name: str = message.name
        self.arguments: dict[str, Any] = message.arguments or {}
        self.version = _version_in(message.meta)
        self.key: Key = (self.name, repr(self.version))


def _version_in(meta: object) -> VersionSpec | None:
    """
    Return the version of a tool that a call asks for, from where FastMCP puts it.
    """
    mine: Any = meta.get("fastmcp") if isinstance(meta, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- a peer's
    version: Any = mine.get("version") if isinstance(mine, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- as above
    if isinstance(version, str):
        return VersionSpec(eq=version)
    if isinstance(version, Mapping):
        bounds: dict[str, Any] = {name: version.get(name) for name in ("gte", "lt", "eq")}  # pyright: ignore[reportUnknownMemberType] -- as above
        return VersionSpec(
            **{name: bound for name, bound in bounds.items() if isinstance(bound, str)}
        )
    return None


async def is_nested(asked: CallContext) -> bool:
    """
    Tell whether a tool that is being answered for makes this call: then it gets the exception.

    Each request brings a context of its own, also one that a tool sends to another server in the
    same process.
    """
    outer = answering.get()
    if not isinstance(outer, CallContext):
        return outer is not None and asked.request is None
    if outer.request is not asked.request:
        return False
    async for server, name in _mounts(await _tool(outer)):
        if server is asked.server and name == asked.name:
            return False
    return True


class ToolInfo(NamedTuple):
    """
    What is known of a tool.

    Attributes:
        tool: As the server that was asked has it. None: it has none of that name.
        function: What its author wrote, below transformations and mounts. None: not known.
        proxied: It is carried out by another process, which speaks for itself.
    """

    tool: Tool | None
    function: object | None = None
    proxied: bool = False


async def inspect_tool(asked: CallContext) -> ToolInfo:
    tool = inner = await _tool(asked)
    function: object | None = None
    try:
        for _ in range(_MAX_MOUNTS):
            function = getattr(inner, "fn", None)
            if function is not None and not _is_of_fastmcp(function):
                break
            function = None
            if isinstance(inner, TransformedTool):
                inner = inner.parent_tool
            elif isinstance(inner, FastMCPProviderTool):
                inner = await _target_tool(inner)
            else:
                break
    except Exception:  # noqa: BLE001 -- another FastMCP: then nothing more is known of the tool
        function = None
    return ToolInfo(tool, function, isinstance(inner, ProxyTool))


async def _tool(asked: CallContext) -> Tool | None:
    try:
        return await asked.server.get_tool(asked.name, version=asked.version)
    except Exception:  # noqa: BLE001 -- an upstream that can't be asked, or an ambiguous name: nothing is known of it
        return None


async def _mounts(tool: Tool | None) -> AsyncIterator[tuple[FastMCP[Any], str]]:
    """
    Yield the mounted servers that carry a tool out, and its name there, outermost first.
    """
    inner = tool
    for _ in range(_MAX_MOUNTS):
        if isinstance(inner, TransformedTool):
            inner = inner.parent_tool
        elif isinstance(inner, FastMCPProviderTool):
            server, name = _target(inner)
            yield server, name
            inner = await _target_tool(inner)
        else:
            return


def _target(tool: FastMCPProviderTool) -> tuple[FastMCP[Any], str]:
    # FastMCP has no public way to what it mounts.
    hidden: Any = tool
    return hidden._server, hidden._original_name  # noqa: SLF001 -- as above


async def _target_tool(tool: FastMCPProviderTool) -> Tool | None:
    server, name = _target(tool)
    return await server.get_tool(
        name, version=VersionSpec(eq=tool.version) if tool.version else None
    )


async def silent_upstream(server: FastMCP[Any], depth: int = _MAX_MOUNTS) -> Exception | None:
    """
    Return why a proxied server can't be asked for its tools. None: none is silent.

    FastMCP passes such a server over, and then knows no tool of that name.
    """
    for provider in list(server.providers):
        inner: Any = provider
        while (wrapped := getattr(inner, "_inner", None)) is not None:
            inner = wrapped
        if isinstance(inner, ProxyProvider):
            try:
                await inner.list_tools()
            except Exception as exc:  # noqa: BLE001 -- whatever a transport raises
                return exc
        elif isinstance(inner, FastMCPProvider) and depth:
            silent = await silent_upstream(inner.server, depth - 1)
            if silent is not None:
                return silent
    return None


def _is_of_fastmcp(function: object) -> bool:
    module = str(getattr(function, "__module__", ""))
    return module == "fastmcp" or module.startswith("fastmcp.")


def is_async(function: object) -> bool:
    while isinstance(function, partial):
        function = function.func
    call = getattr(function, "__call__", None)  # noqa: B004 -- asks what it is, not whether
    return any(
        inspect.iscoroutinefunction(candidate) or inspect.isasyncgenfunction(candidate)
        for candidate in (function, call)
    )
