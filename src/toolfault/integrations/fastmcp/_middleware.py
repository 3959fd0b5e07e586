"""
The middleware.

``on_call_tool`` still has the exception, with FastMCP's wrapper around it; ``on_list_tools`` is
where schemas leave.

Rule 1: it stands inside ErrorHandlingMiddleware, which would turn each failure into a protocol
error, and outside RetryMiddleware, which needs an exception to repeat.
Rule 2: what a mounted server, an upstream or the tool itself answered with an envelope is kept.
Rule 3: ``server.call_tool`` inside a tool still raises; mounting is no such call.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware, RetryMiddleware
from fastmcp.server.server import FastMCP
from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
from mcp.types import CallToolRequestParams, ListToolsRequest

from toolfault import Disclosure
from toolfault.hosting import (
    OPTIONS,
    Call,
    Guard,
    GuardOptions,
    answering,
    is_closing,
    last_resort,
    log_exception,
)
from toolfault.integrations.fastmcp._call import (
    CallContext,
    Key,
    inspect_tool,
    is_async,
    is_nested,
    silent_upstream,
)
from toolfault.integrations.fastmcp._results import (
    adopt_error_result,
    sanitize_result,
    to_tool_result,
)
from toolfault.integrations.fastmcp._tool_cache import (
    FAILS_WITH,
    Checks,
    ToolCache,
    publish_codes,
    widen_tool,
)
from toolfault.integrations.fastmcp._unwrap import (
    Raised,
    is_raised_inside,
    original,
    protocol_error_for,
    reinterpret,
    show_own_text,
    unreachable,
)


#: How many tools' own guards are remembered.
_MAX_GUARDS: Final = 4096

#: How much of a tool's name is logged, in characters.
_MAX_NAME: Final = 128


class ToolFaultMiddleware(Middleware):
    """
    Answers every failed tool call of a FastMCP server with an envelope.

    ``server.add_middleware(ToolFaultMiddleware())``: after `ErrorHandlingMiddleware`, before
    `RetryMiddleware`. Tools of mounted and proxied servers are covered, and options that
    ``guarded`` left on a function are read.

    A server's ``mask_error_details`` means ``Disclosure.WITHHELD``: crashes keep their text to
    themselves; what an author wrote for callers, and what is wrong with the arguments, is said. A
    tool that decides its ``disclosure`` itself, and a guard with ``Disclosure.FULL``, win over it.

    An `MCPError` that a tool raises becomes a result, as FastMCP itself makes one of it, unless
    only the protocol understands its code (-32020 to -32022, -32042).

    Args:
        guard: None: a `Guard` with defaults. Its ``timeout`` does not stop the thread of a sync
            tool.
        mask_error_details: None: as the server says. False leaves all to the guard.

    Raises:
        TypeError: Not a `Guard`.
    """

    def __init__(
        self, guard: Guard | None = None, *, mask_error_details: bool | None = None
    ) -> None:
        """
        Make a middleware; one may serve several servers.
        """
        if guard is not None and not isinstance(guard, Guard):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be untyped
            raise TypeError(f"ToolFaultMiddleware takes a toolfault.Guard, not {guard!r}")
        self._guard = guard or Guard()
        self._masks = mask_error_details
        self._guards: dict[tuple[int, bool], tuple[object, Guard]] = {}
        self._servers: WeakKeyDictionary[FastMCP[Any], ToolCache] = WeakKeyDictionary()

    # Calls

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """
        Call a tool; every failure is answered.
        """
        if context.fastmcp_context is None:
            return await call_next(context)
        asked = CallContext(context)
        memory = self._memory(asked.server)
        if await is_nested(asked):
            return await call_next(context)
        token = answering.set(asked)
        try:
            if self._guard.timeout is None:
                result = await call_next(context)
            else:
                guard = await self._guard_before(asked, memory)
                result = await guard.within_timeout(lambda: call_next(context))
            return await self._handle_result(result, asked, memory)
        except BaseException as exc:
            if is_closing(asked):
                raise
            return await self._handle_exception(exc, asked, memory)
        finally:
            if not is_closing(asked):
                answering.reset(token)

    async def _handle_exception(
        self, exc: BaseException, asked: CallContext, memory: ToolCache
    ) -> ToolResult:
        raised = original(exc)
        if self._guard.passes(raised.exc):
            raise raised.exc
        if (leaving := protocol_error_for(raised.exc, self._guard)) is not None:
            raise leaving from None
        return await self._answer(raised, asked, memory)

    async def _answer(self, raised: Raised, asked: CallContext, memory: ToolCache) -> ToolResult:
        try:
            exc, phase = raised.exc, raised.phase
            known = await inspect_tool(asked)
            guard = self._guard_for(
                known.function, masked=self._is_masked(asked.server, by_wrapper=raised.masked)
            )
            available: tuple[str, ...] = ()
            if phase == "lookup":
                available = await self._available(asked)
                if (silent := await silent_upstream(asked.server)) is not None:
                    exc, phase = unreachable(silent, "may know this tool"), "body"
            elif phase == "body":
                exc, phase = reinterpret(raised, known)
            call = Call(
                tool=asked.name,
                arguments=asked.arguments,
                phase=phase,
                function=known.function,
                available=available,
            )
            fault = guard.judge(exc, call)
            if is_raised_inside(exc, ("fastmcp.server.middleware",)):
                fault = show_own_text(fault, exc)
            memory.notice(asked.name, fault, getattr(known.function, FAILS_WITH, ()))
            structured = self._is_structured(asked.key, known.tool, memory)
            return to_tool_result(guard.to_result(fault, structured=structured))
        except BaseException as trouble:
            if self._guard.passes(trouble):
                raise
            # A failure while reporting a failure ends in a constant.
            log_exception(
                "a failure of tool %r could not be reported; the constant envelope leaves",
                self._guard.safe_text(asked.name[:_MAX_NAME]),
            )
            return to_tool_result(last_resort())

    async def _handle_result(
        self, result: ToolResult, asked: CallContext, memory: ToolCache
    ) -> ToolResult:
        # What is no tool's result (a task that was started, a question to the client) is not ours.
        if not isinstance(result, ToolResult) or isinstance(result, InputRequiredToolResult):  # pyright: ignore[reportUnnecessaryIsInstance] -- extensions answer with types of their own
            return result
        if result.is_error:
            known = await inspect_tool(asked)
            guard = self._guard_for(known.function, masked=self._is_masked(asked.server))
            call = Call(tool=asked.name, arguments=asked.arguments, function=known.function)
            return adopt_error_result(
                result, guard, call, structured=self._is_structured(asked.key, known.tool, memory)
            )
        checks = memory.checks.get(asked.key)
        if checks is None:
            checks = memory.remember(asked.key, Checks(await inspect_tool(asked)))
        if (misfit := checks.misfit(result)) is not None:
            # The tool may have been replaced since.
            checks = memory.remember(asked.key, Checks(await inspect_tool(asked)))
            misfit = checks.misfit(result)
        if misfit is not None:
            return await self._answer(Raised(misfit, "output"), asked, memory)
        return sanitize_result(result)

    async def _available(self, asked: CallContext) -> tuple[str, ...]:
        """
        Return the names that ``tools/list`` shows: what other middleware hides stays hidden.
        """

        async def list_tools(_context: MiddlewareContext[ListToolsRequest]) -> Sequence[Tool]:
            return await asked.server.list_tools(run_middleware=False)

        handler: Any = list_tools
        for middleware in reversed(asked.server.middleware):
            if middleware is not self:
                handler = partial(middleware.on_list_tools, call_next=handler)
        request = ListToolsRequest(method="tools/list")
        context = MiddlewareContext(
            message=request, method="tools/list", fastmcp_context=asked.context.fastmcp_context
        )
        try:
            return tuple(dict.fromkeys(tool.name for tool in await handler(context)))
        except Exception:  # noqa: BLE001 -- an upstream that can't be asked, or a middleware that refuses: no hint then
            return ()

    # Guards

    def _guard_for(self, function: object | None, *, masked: bool) -> Guard:
        options: GuardOptions = getattr(function, OPTIONS, None) or GuardOptions()
        masked = (
            masked and self._guard.disclosure == Disclosure.REDACTED and "disclosure" not in options
        )
        if not options and not masked:
            return self._guard
        key = (id(function) if options else 0, masked)
        made = self._guards.get(key)
        # The function is kept beside its guard, so that no other can take its id.
        if made is None:
            if len(self._guards) >= _MAX_GUARDS:
                self._guards.clear()
            decided = GuardOptions(**options)
            if masked:
                decided["disclosure"] = Disclosure.WITHHELD
            if "timeout" in decided:
                # The function keeps its own time; here it would run out twice.
                decided["timeout"] = None
            made = self._guards[key] = (function, self._guard.with_options(**decided))
        return made[1]

    async def _guard_before(self, asked: CallContext, memory: ToolCache) -> Guard:
        """
        Return the guard whose time limit holds for a call, which has to be known before it.
        """
        checks = memory.checks.get(asked.key)
        if checks is None:
            known = await inspect_tool(asked)
            checks = memory.remember(asked.key, Checks(known))
            function: Any = known.function
            guard = self._guard_for(function, masked=False)
            if function is not None and guard.timeout is not None and not is_async(function):
                warnings.warn(
                    f"tool {asked.name!r} is a sync function: its thread can't be stopped, so the"
                    " guard's timeout only applies when it returns; decorate it with"
                    " @guarded(timeout=...) to abandon the thread, or make it async",
                    RuntimeWarning,
                    stacklevel=2,
                )
        return self._guard_for(checks.known.function, masked=False)

    def _is_masked(self, server: FastMCP[Any], *, by_wrapper: bool = False) -> bool:
        if self._masks is not None:
            return self._masks
        # FastMCP has no public way to it; a mounted server's shows in what it put around a crash.
        return by_wrapper or getattr(server, "_mask_error_details", False) is True

    # Schemas

    async def on_list_tools(
        self,
        context: MiddlewareContext[ListToolsRequest],
        call_next: CallNext[ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        """
        List the tools, with room for the envelope in their output schemas.
        """
        tools = [publish_codes(tool) for tool in await call_next(context)]
        if self._guard.output_schema != "widen" or context.fastmcp_context is None:
            return tools
        memory = self._memory(context.fastmcp_context.fastmcp)
        return [widen_tool(tool, memory) for tool in tools]

    def _is_structured(self, key: Key, tool: Tool | None, memory: ToolCache) -> bool:
        """
        Tell whether a tool's envelope may stand in ``structuredContent``.
        """
        if tool is None or tool.output_schema is None or self._guard.output_schema == "keep":
            return True
        if self._guard.output_schema != "widen":
            return False
        # What was listed decides: other middleware may have changed the schema on its way.
        listed = memory.listed.get((tool.name, tool.version))
        return (
            listed[1] if listed is not None else memory.widen(key, tool.output_schema)
        ) is not None

    # Servers

    def _memory(self, server: FastMCP[Any]) -> ToolCache:
        memory = self._servers.get(server)
        if memory is None:
            memory = self._servers[server] = ToolCache()
        if memory.ordered != len(server.middleware):
            memory.ordered = len(server.middleware)
            self._warn_of_order(server)
        return memory

    def _warn_of_order(self, server: FastMCP[Any]) -> None:
        chain = list(server.middleware)
        here = next((at for at, middleware in enumerate(chain) if middleware is self), None)
        if here is None:
            return
        wrong: list[str] = []
        if any(isinstance(other, RetryMiddleware) for other in chain[:here]):
            wrong.append(
                "RetryMiddleware stands outside it and never sees a failure to repeat: add it after"
            )
        if any(
            isinstance(other, ErrorHandlingMiddleware) and other.transform_errors
            for other in chain[here + 1 :]
        ):
            wrong.append(
                "ErrorHandlingMiddleware stands inside it and makes protocol errors of failures: "
                "add it before"
            )
        if wrong:
            warnings.warn(
                f"ToolFaultMiddleware of server {server.name!r} is in the wrong place: "
                f"{'; '.join(wrong)} ToolFaultMiddleware. "
                "The first that is added is the outermost.",
                RuntimeWarning,
                stacklevel=2,
            )
