"""
A whole `MCPServer` behind a guard.

The public ``call_tool`` is the one place where the SDK still has the exception; ``list_tools`` is
where schemas leave. Both are replaced on the instance.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.types import CallToolResult, InputRequiredResult, Tool

from toolfault.hosting import Call, Guard, Phase, is_closing
from toolfault.integrations.mcp._declared_codes import codes_in_meta, codes_of_function
from toolfault.integrations.mcp._generators import run_in_body
from toolfault.integrations.mcp._guarded import (
    Contained,
    answering,
    contain,
    is_async,
    remember_registered,
)
from toolfault.integrations.mcp._host import (
    Host,
    ToolInfo,
    answer_unreportable,
    raise_if_it_must_pass,
)
from toolfault.integrations.mcp._install import MARK, install
from toolfault.integrations.mcp._negotiation import announce
from toolfault.integrations.mcp._results import cause_slot, is_raised_in, traceback_of
from toolfault.integrations.mcp._returned_results import NoResult, sendable


#: The SDK's steps of a call, by the function that does them; a hint with a fallback.
_PHASES: Final[dict[str, Phase]] = {
    "validate_arguments": "arguments",
    "resolve_arguments": "resolver",
    "call_fn": "body",
    "convert_result": "output",
}

_SDK: Final = "mcp.server.mcpserver"

#: Stands for a call that came by no request.
_OUTSIDE: Final = object()


def guard_server(server: MCPServer[Any], guard: Guard) -> None:
    """
    Guard a server; see `install`.
    """
    _Installed(server, guard)


class GuardedMCPServer(MCPServer[Any]):
    """
    An `MCPServer` that is born with a guard.

    Args:
        *args: As for `MCPServer`.
        guard: None: a `Guard` with defaults.
        **kwargs: As for `MCPServer`.
    """

    def __init__(self, *args: Any, guard: Guard | None = None, **kwargs: Any) -> None:
        """
        Make the server, and guard it.
        """
        super().__init__(*args, **kwargs)
        install(self, guard)


class _Shown:
    """
    What a listing shows of one tool, and what that was made of.
    """

    __slots__ = ("given_meta", "meta", "output_schema", "own", "schema")

    def __init__(self, own: Any, given: Tool, listed: Tool) -> None:
        self.own = own
        self.schema: Any = getattr(own, "output_schema", None)
        self.given_meta = given.meta
        self.meta = listed.meta
        self.output_schema = listed.output_schema

    def is_outdated(self, own: Any, given: Tool) -> bool:
        """
        Tell whether the tool is another one now, or has another schema.
        """
        if own is None or self.own is not own or self.given_meta != given.meta:
            return True
        return self.schema is not own.output_schema


class _Installed:
    """
    What stands between one server and its tools.
    """

    def __init__(self, server: MCPServer[Any], guard: Guard) -> None:
        self._server = server
        self._host = Host(guard)
        self._guards: dict[str, Guard] = {}
        self._shown: dict[str, _Shown] = {}
        # A subclass may list models that it keeps.
        self._lists_copies = getattr(server.list_tools, "__func__", None) is MCPServer.list_tools
        self._call_tool = server.call_tool
        self._list_tools = server.list_tools
        self._add_tool = server.add_tool
        self._remove_tool = server.remove_tool
        replaced: dict[str, Any] = {
            "call_tool": self.call_tool,
            "list_tools": self.list_tools,
            "add_tool": self.add_tool,
            "remove_tool": self.remove_tool,
            MARK: self,
        }
        for name, value in replaced.items():
            setattr(server, name, value)
        announce(server)
        for name in self._names():
            self._check(name)

    # Calls

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Any = None
    ) -> CallToolResult | InputRequiredResult:
        """
        Call a tool by name; every failure is answered. See ``MCPServer.call_tool``.
        """
        if _is_nested(context):
            return await self._call_tool(name, arguments, context)
        mine = _OUTSIDE if context is None else context
        token = answering.set(mine)
        try:
            guard = self._guards.get(name) or self._guard_for(name)
            if guard.timeout is None:
                result = await self._call_tool(name, arguments, context)
            else:
                result = await guard.within_timeout(
                    partial(self._call_tool, name, arguments, context)
                )
            # By its exact type first: pydantic's isinstance is slow, and this is the path of calls
            # that succeed.
            if type(result) is not CallToolResult and not isinstance(result, CallToolResult):
                return result
            if not result.is_error:
                return sendable(result)
            tool = self._tool(name)
            call = _call(tool, name, arguments)
            return self._host.adopt(result, guard, call, self._tool_info(tool, name))
        except BaseException as exc:
            if is_closing(mine):
                raise
            return await self._answer(exc, name, arguments)
        finally:
            if not is_closing(mine):
                answering.reset(token)

    async def _answer(
        self, exc: BaseException, name: str, arguments: dict[str, Any]
    ) -> CallToolResult:
        guard = self._guards.get(name) or self._guard_for(name)
        raised, phase = _original(exc, name)
        tool = self._tool(name)
        call = _call(tool, name, arguments, phase=phase)
        raise_if_it_must_pass(raised, guard, call)
        try:
            if phase == "lookup":
                call = replace(call, available=await self._available())
            return self._host.answer(raised, guard, call, self._tool_info(tool, name))
        except BaseException as trouble:
            if guard.passes(trouble):
                raise
            return answer_unreportable(guard, call)

    async def _available(self) -> tuple[str, ...]:
        """
        Return the names that ``tools/list`` shows.
        """
        try:
            return tuple(tool.name for tool in await self._list_tools())
        except Exception:  # noqa: BLE001 -- a subclass may list as it likes; then no name is near
            return ()

    # Listings

    async def list_tools(self) -> list[Tool]:
        """
        List the tools, with widened output schemas and their declared codes.
        """
        tools = await self._list_tools()
        if not self._lists_copies:
            return [self._describe_tool(tool, self._tool(tool.name)) for tool in tools]
        for tool in tools:
            own = self._tool(tool.name)
            shown = self._shown.get(tool.name)
            if shown is None or shown.is_outdated(own, tool):
                listed = self._describe_tool(tool, own)
                shown = _Shown(own, tool, listed)
                self._shown[tool.name] = shown
            # The SDK makes these models anew for each listing; a copy of each takes longer than
            # all the rest.
            tool.output_schema = shown.output_schema
            if shown.meta is not None:
                tool.meta = shown.meta
        return tools

    def _describe_tool(self, tool: Tool, own: Any) -> Tool:
        return self._host.describe_tool(tool, codes_of_function(getattr(own, "fn", None)))

    def _tool_info(self, tool: Any, name: str) -> ToolInfo:
        meta: Any = getattr(tool, "meta", None)
        codes = (codes_in_meta(meta) if meta else ()) or codes_of_function(
            getattr(tool, "fn", None)
        )
        return ToolInfo(self._host.is_structured(name, getattr(tool, "output_schema", None)), codes)

    # Tools. The SDK has no public way to one; everything that looks inside stands here.

    def _tool(self, name: str) -> Any:
        manager: Any = getattr(self._server, "_tool_manager", None)
        try:
            return manager.get_tool(name)
        except Exception:  # noqa: BLE001 -- another SDK, or a name that is no key: then nothing is known of the tool
            return None

    def _names(self) -> list[str]:
        manager: Any = getattr(self._server, "_tool_manager", None)
        try:
            return [tool.name for tool in manager.list_tools()]
        except Exception:  # noqa: BLE001 -- as above
            return []

    def _function(self, name: str) -> Callable[..., Any] | None:
        return getattr(self._tool(name), "fn", None)

    def _guard_for(self, name: str) -> Guard:
        function = self._function(name)
        if function is None:
            # An unknown name: there are as many as callers think of.
            return self._host.guard
        guard = self._guards[name] = self._host.guard_for(function)
        return guard

    def add_tool(self, fn: Callable[..., Any], name: str | None = None, **kwargs: Any) -> None:
        """
        Register a tool. See ``MCPServer.add_tool``.
        """
        known = name or str(getattr(fn, "__name__", ""))
        self._guards.pop(known, None)
        self._add_tool(fn, name=name, **kwargs)
        remember_registered(fn)
        self._check(known)

    def remove_tool(self, name: str) -> None:
        """
        Remove a tool. See ``MCPServer.remove_tool``.
        """
        self._guards.pop(name, None)
        self._shown.pop(name, None)
        self._remove_tool(name)

    def _contain(self, name: str) -> None:
        """
        Keep a GeneratorExit that a sync function raises in its thread from closing the server.
        """
        tool, function = self._tool(name), self._function(name)
        if function is not None and not is_async(function):
            tool.fn = contain(function)

    def _check(self, name: str) -> None:
        run_in_body(self._tool(name))
        self._contain(name)
        function = self._function(name)
        if function is None or self._guard_for(name).timeout is None or is_async(function):
            return
        warnings.warn(
            f"tool {name!r} is a sync function: its thread can't be stopped, so the guard's timeout"
            " only applies when it returns; decorate it with @guarded(timeout=...) to abandon the"
            " thread, or make it async",
            RuntimeWarning,
            stacklevel=4,
        )


def _is_nested(context: Any) -> bool:
    """
    Tell whether a tool calls another, with its own context or none: it gets the exception.
    """
    # Each request brings a context of its own.
    outer: Any = answering.get()
    return outer is not None and (context is None or outer is context)


def _call(
    tool: Any,
    name: str,
    arguments: dict[str, Any],
    *,
    phase: Phase = "body",
    available: tuple[str, ...] = (),
) -> Call:
    function: object = getattr(tool, "fn", None)
    return Call(tool=name, arguments=arguments, phase=phase, function=function, available=available)


def _original(exc: BaseException, name: str) -> tuple[BaseException, Phase]:
    """
    Return the exception without the SDK's wrappers, and the phase of the call.
    """
    kind = type(exc)
    if kind is NoResult:
        return exc, "output"
    if not issubclass(kind, ToolError):
        return exc, "body"
    cause = cause_slot(exc)
    if cause is None:
        unknown = kind is ToolError and exc.args == (f"Unknown tool: {name}",)
        return exc, "lookup" if unknown else "body"
    phase = _phase_of(cause)
    raised: BaseException = exc
    # A tool that calls a tool: each call wraps what came out of the one inside.
    while issubclass(type(raised), (ToolError, ResourceError)) and is_raised_in(raised, _SDK):
        cause = cause_slot(raised)
        if cause is None:
            break
        raised = cause
    if type(raised) is Contained:
        raised = cause_slot(raised) or raised
    return raised, phase


def _phase_of(exc: BaseException) -> Phase:
    link = traceback_of(exc)
    while link is not None:
        frame = link.tb_frame
        phase = _PHASES.get(frame.f_code.co_name)
        if phase is not None and str(frame.f_globals.get("__name__")).startswith(_SDK):
            return phase
        link = link.tb_next
    return "body"
