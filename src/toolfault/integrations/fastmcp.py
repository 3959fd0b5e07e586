"""
FastMCP 4: a middleware that answers every failed tool call.

``on_call_tool`` still has the exception, with FastMCP's wrapper around it; ``on_list_tools`` is where schemas leave
(sdk-map 4).

Rule 1: it stands inside ErrorHandlingMiddleware, which would turn each failure into a protocol error, and outside
RetryMiddleware, which needs an exception to repeat.
Rule 2: what a mounted server, an upstream or the tool itself answered with an envelope is kept.
Rule 3: ``server.call_tool`` inside a tool still raises; mounting is no such call.
"""

from __future__ import annotations

import inspect
import logging
import re
import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from mcp.shared.exceptions import MCPError
from mcp.types import CallToolRequestParams, ListToolsRequest, TextContent

from toolfault import Disclosure, InvalidEnvelope, McpErrorCode, McpExecuteError, ToolFault
from toolfault.hosting import (
    META_KEY,
    OPTIONS,
    Call,
    Guard,
    GuardOptions,
    Phase,
    answering,
    encodable,
    json_safe,
    last_resort,
    widen_schema,
)


try:
    from fastmcp.exceptions import DisabledError, NotFoundError
    from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
    from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware, RetryMiddleware
    from fastmcp.server.providers.fastmcp_provider import FastMCPProviderTool
    from fastmcp.server.providers.proxy import ProxyTool
    from fastmcp.server.server import FastMCP
    from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
    from fastmcp.tools.tool_transform import TransformedTool
    from fastmcp.utilities.versions import VersionSpec
except ImportError as exc:
    raise ImportError("toolfault.integrations.fastmcp needs FastMCP 4: pip install 'toolfault[fastmcp]'") from exc


__all__ = ["ToolFaultMiddleware"]

_log = logging.getLogger("toolfault")

#: JSON-RPC codes that ask the client for something, and mean nothing inside a result: a missing client capability,
#: and an elicitation by URL.
_REQUESTS: Final = frozenset({-32021, -32042})

#: Where FastMCP puts an exception of its own around a tool's. Module names are a hint: where they change, the
#: wrapper is judged, with its text.
_SERVER: Final = "fastmcp.server.server"
_FUNCTIONS: Final = "fastmcp.tools.function_tool"
_RESOLVERS: Final = "fastmcp.server.dependencies"
_WRAPPERS: Final = (_SERVER, "fastmcp.tools", _RESOLVERS, "fastmcp.server.middleware.error_handling")

#: What FastMCP puts around a crash whose text it masks: the name alone. Its other wrappers quote the crash.
_is_masked = re.compile(r"""Error calling tool (?:'[^']*'|"[^"]*")""").fullmatch

#: FastMCP's own time limit speaks through a text.
_seconds_in = re.compile(r"timed out after (\d+(?:\.\d+)?)s$").search

#: How many servers may be mounted in each other, how many tools a server is remembered by, and how deep a result may
#: be nested and still be copied value by value.
_MAX_MOUNTS: Final = 32
_MAX_TOOLS: Final = 4096
_MAX_DEPTH: Final = 200


class ToolFaultMiddleware(Middleware):
    """
    Answers every failed tool call of a FastMCP server with an envelope.

    ``server.add_middleware(ToolFaultMiddleware())``: after `ErrorHandlingMiddleware`, before `RetryMiddleware`. Tools
    of mounted and proxied servers are covered, and options that ``guarded`` left on a function are read.

    A server's ``mask_error_details`` means ``Disclosure.WITHHELD``: crashes keep their text to themselves; what an
    author wrote for callers, and what is wrong with the arguments, is said. A tool that decides its ``disclosure``
    itself, and a guard with ``Disclosure.FULL``, win over it.

    An `MCPError` that a tool's own code raises leaves as a protocol error, as on every other server; FastMCP alone
    would turn it into an error result.

    Args:
        guard: None: a `Guard` with defaults. Its ``timeout`` does not stop the thread of a sync tool.
        mask_error_details: None: as the server says. False leaves all to the guard.

    Raises:
        TypeError: Not a `Guard`.
    """

    def __init__(self, guard: Guard | None = None, *, mask_error_details: bool | None = None) -> None:
        """
        Make a middleware; one may serve several servers.
        """
        if guard is not None and not isinstance(guard, Guard):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be untyped
            raise TypeError(f"ToolFaultMiddleware takes a toolfault.Guard, not {guard!r}")
        self._guard = guard or Guard()
        self._masks = mask_error_details
        self._guards: dict[tuple[int, bool], tuple[object, Guard]] = {}
        self._servers: WeakKeyDictionary[FastMCP[Any], _Memory] = WeakKeyDictionary()

    # Calls

    async def on_call_tool(
        self, context: MiddlewareContext[CallToolRequestParams], call_next: CallNext[CallToolRequestParams, ToolResult]
    ) -> ToolResult:
        """
        Call a tool; every failure is answered.
        """
        if context.fastmcp_context is None:
            return await call_next(context)
        asked = _Asked(context)
        memory = self._memory(asked.server)
        if await _is_nested(asked):
            return await call_next(context)
        token = answering.set(asked)
        try:
            if self._guard.timeout is None:
                result = await call_next(context)
            else:
                guard = await self._guard_before(asked, memory)
                result = await guard.within_timeout(lambda: call_next(context))
            return await self._returned(result, asked, memory)
        except BaseException as exc:  # noqa: BLE001 -- whatever a tool raises is answered, or passes by name
            return await self._raised(exc, asked, memory)
        finally:
            answering.reset(token)

    async def _raised(self, exc: BaseException, asked: _Asked, memory: _Memory) -> ToolResult:
        raised, phase, masked = _original(exc)
        if _must_pass(self._guard, raised):
            raise _protocol_error_made_safe(raised) if isinstance(raised, MCPError) else raised
        return await self._answer(raised, asked, memory, phase=phase, masked=masked)

    async def _answer(
        self, exc: BaseException, asked: _Asked, memory: _Memory, *, phase: Phase, masked: bool = False
    ) -> ToolResult:
        try:
            known = await _known(asked)
            guard = self._guard_for(known.function, masked=masked or self._is_masked(asked.server))
            available = await self._available(asked) if phase == "lookup" else ()
            call = Call(
                tool=asked.name,
                arguments=asked.arguments,
                phase=phase,
                function=known.function,
                available=available,
            )
            if known.proxied and _is_failed_connect(exc):
                exc = _unreachable(exc)
            fault = guard.judge(exc, call)
            if phase == "body" and _raised_inside(exc, ("fastmcp.server.middleware",)):
                # A limiter's or an authorization's, which stand before the tool.
                fault = ToolFault.of(
                    fault.envelope, outcome="not_executed", facts={**fault.facts, "origin": "adapter"}
                )
            structured = self._is_structured(asked.key, known.tool, memory)
            return _to_tool_result(guard.to_result(fault, structured=structured))
        except Exception:  # noqa: BLE001 -- a failure while reporting a failure ends in a constant
            _log.exception("a failure of tool %r could not be reported; the constant envelope leaves", asked.name[:128])
            return _to_tool_result(last_resort())

    async def _returned(self, result: ToolResult, asked: _Asked, memory: _Memory) -> ToolResult:
        # What is no tool's result (a task that was started, a question to the client) is not ours.
        if not isinstance(result, ToolResult) or isinstance(result, InputRequiredToolResult):  # pyright: ignore[reportUnnecessaryIsInstance] -- extensions answer with types of their own
            return result
        if result.is_error:
            if _has_envelope(result):
                return _made_plain(result)
            known = await _known(asked)
            guard = self._guard_for(known.function, masked=self._is_masked(asked.server))
            call = Call(tool=asked.name, arguments=asked.arguments, function=known.function)
            return _adopted(result, guard, call, structured=self._is_structured(asked.key, known.tool, memory))
        checks = memory.checks.get(asked.key)
        if checks is None:
            checks = memory.remember(asked.key, _Checks(await _known(asked)))
        if (misfit := checks.misfit(result)) is not None:
            # The tool may have been replaced since.
            checks = memory.remember(asked.key, _Checks(await _known(asked)))
            misfit = checks.misfit(result)
        if misfit is not None:
            return await self._answer(misfit, asked, memory, phase="output")
        return _made_safe(result)

    async def _available(self, asked: _Asked) -> tuple[str, ...]:
        """
        Return the names that ``tools/list`` shows: what other middleware hides stays hidden.
        """

        async def listed(_context: MiddlewareContext[ListToolsRequest]) -> Sequence[Tool]:
            return await asked.server.list_tools(run_middleware=False)

        handler: Any = listed
        for middleware in reversed(asked.server.middleware):
            if middleware is not self:
                handler = partial(middleware.on_list_tools, call_next=handler)
        request = ListToolsRequest(method="tools/list")
        context = MiddlewareContext(message=request, method="tools/list", fastmcp_context=asked.context.fastmcp_context)
        try:
            return tuple(dict.fromkeys(tool.name for tool in await handler(context)))
        except Exception:  # noqa: BLE001 -- an upstream that can't be asked, or a middleware that refuses: no hint then
            return ()

    # Guards

    def _guard_for(self, function: object | None, *, masked: bool) -> Guard:
        options: GuardOptions = getattr(function, OPTIONS, None) or GuardOptions()
        masked = masked and self._guard.disclosure == Disclosure.REDACTED and "disclosure" not in options
        if not options and not masked:
            return self._guard
        key = (id(function) if options else 0, masked)
        made = self._guards.get(key)
        # The function is kept beside its guard, so that no other can take its id.
        if made is None:
            if len(self._guards) >= _MAX_TOOLS:
                self._guards.clear()
            decided = GuardOptions(**options)
            if masked:
                decided["disclosure"] = Disclosure.WITHHELD
            if "timeout" in decided:
                # The function keeps its own time; here it would run out twice.
                decided["timeout"] = None
            made = self._guards[key] = (function, self._guard.with_options(**decided))
        return made[1]

    async def _guard_before(self, asked: _Asked, memory: _Memory) -> Guard:
        """
        Return the guard whose time limit holds for a call, which has to be known before it.
        """
        checks = memory.checks.get(asked.key)
        if checks is None:
            known = await _known(asked)
            checks = memory.remember(asked.key, _Checks(known))
            function: Any = known.function
            guard = self._guard_for(function, masked=False)
            if function is not None and guard.timeout is not None and not _is_async(function):
                warnings.warn(
                    f"tool {asked.name!r} is a sync function: its thread can't be stopped, so the guard's timeout only"
                    " applies when it returns; decorate it with @guarded(timeout=...) to abandon the thread, or make"
                    " it async",
                    RuntimeWarning,
                    stacklevel=2,
                )
        return self._guard_for(checks.known.function, masked=False)

    def _is_masked(self, server: FastMCP[Any]) -> bool:
        if self._masks is not None:
            return self._masks
        # FastMCP has no public way to it.
        return getattr(server, "_mask_error_details", False) is True

    # Schemas

    async def on_list_tools(
        self, context: MiddlewareContext[ListToolsRequest], call_next: CallNext[ListToolsRequest, Sequence[Tool]]
    ) -> Sequence[Tool]:
        """
        List the tools, with room for the envelope in their output schemas.
        """
        tools = await call_next(context)
        if self._guard.output_schema != "widen" or context.fastmcp_context is None:
            return tools
        memory = self._memory(context.fastmcp_context.fastmcp)
        return [_widened(tool, memory) for tool in tools]

    def _is_structured(self, key: _Key, tool: Tool | None, memory: _Memory) -> bool:
        """
        Tell whether a tool's envelope may stand in ``structuredContent``.
        """
        if tool is None or tool.output_schema is None or self._guard.output_schema == "keep":
            return True
        if self._guard.output_schema != "widen":
            return False
        # What was listed decides: other middleware may have changed the schema on its way.
        listed = memory.listed.get((tool.name, tool.version))
        return (listed[1] if listed is not None else memory.widened(key, tool.output_schema)) is not None

    # Servers

    def _memory(self, server: FastMCP[Any]) -> _Memory:
        memory = self._servers.get(server)
        if memory is None:
            memory = self._servers[server] = _Memory()
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
            wrong.append("RetryMiddleware stands outside it and never sees a failure to repeat: add it after")
        if any(isinstance(other, ErrorHandlingMiddleware) and other.transform_errors for other in chain[here + 1 :]):
            wrong.append("ErrorHandlingMiddleware stands inside it and makes protocol errors of failures: add it before")
        if wrong:
            warnings.warn(
                f"ToolFaultMiddleware of server {server.name!r} is in the wrong place: {'; '.join(wrong)}"
                " ToolFaultMiddleware. The first that is added is the outermost.",
                RuntimeWarning,
                stacklevel=2,
            )


# Which call

_Key = tuple[str, str]


class _Asked:
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
        self.key: _Key = (self.name, repr(self.version))


def _version_in(meta: object) -> VersionSpec | None:
    """
    Return the version of a tool that a call asks for, from where FastMCP puts it.
    """
    mine: Any = meta.get("fastmcp") if isinstance(meta, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- a peer's
    version: Any = mine.get("version") if isinstance(mine, Mapping) else None  # pyright: ignore[reportUnknownMemberType] -- as above
    if isinstance(version, str):
        return VersionSpec(eq=version)
    if isinstance(version, Mapping):
        bounds: dict[str, Any] = {name: version.get(name) for name in ("gte", "lt", "eq")}  # pyright: ignore[reportUnknownMemberType] -- as above
        return VersionSpec(**{name: bound for name, bound in bounds.items() if isinstance(bound, str)})
    return None


async def _is_nested(asked: _Asked) -> bool:
    """
    Tell whether a tool that is being answered for makes this call: then it gets the exception.

    Each request brings a context of its own, also one that a tool sends to another server in the same process.
    """
    outer = answering.get()
    if not isinstance(outer, _Asked):
        return outer is not None and asked.request is None
    if outer.request is not asked.request:
        return False
    async for server, name in _mounts(await _tool(outer)):
        if server is asked.server and name == asked.name:
            return False
    return True


class _Known(NamedTuple):
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


async def _known(asked: _Asked) -> _Known:
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
                inner = await _mounted(inner)
            else:
                break
    except Exception:  # noqa: BLE001 -- another FastMCP: then nothing more is known of the tool
        function = None
    return _Known(tool, function, isinstance(inner, ProxyTool))


async def _tool(asked: _Asked) -> Tool | None:
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
            inner = await _mounted(inner)
        else:
            return


def _target(tool: FastMCPProviderTool) -> tuple[FastMCP[Any], str]:
    # FastMCP has no public way to what it mounts.
    hidden: Any = tool
    return hidden._server, hidden._original_name  # noqa: SLF001 -- as above


async def _mounted(tool: FastMCPProviderTool) -> Tool | None:
    server, name = _target(tool)
    return await server.get_tool(name, version=VersionSpec(eq=tool.version) if tool.version else None)


def _is_of_fastmcp(function: object) -> bool:
    module = str(getattr(function, "__module__", ""))
    return module == "fastmcp" or module.startswith("fastmcp.")


def _is_async(function: object) -> bool:
    while isinstance(function, partial):
        function = function.func
    call = getattr(function, "__call__", None)  # noqa: B004 -- asks what it is, not whether
    return any(
        inspect.iscoroutinefunction(candidate) or inspect.isasyncgenfunction(candidate) for candidate in (function, call)
    )


# What was raised


def _original(exc: BaseException) -> tuple[BaseException, Phase, bool]:
    """
    Return what was raised, without FastMCP's wrappers, how far the call had come, and whether its text was masked.
    """
    if isinstance(exc, NotFoundError | DisabledError) and _raised_inside(exc, (_SERVER,)):
        return exc, "lookup", False
    raised, masked, resolving = exc, False, False
    phase = _phase_of(exc)
    # A tool that calls a tool, and a server in a server: each call may wrap what came out of the one inside.
    while isinstance(raised, Exception) and raised.__cause__ is not None and _raised_inside(raised, _WRAPPERS):
        masked = masked or _is_masked(str(raised)) is not None
        resolving = resolving or _raised_inside(raised, (_RESOLVERS,))
        raised = raised.__cause__
        phase = phase or _phase_of(raised)
    if isinstance(raised, NotFoundError) and _raised_inside(raised, (_SERVER,)):
        raised = ToolFault(McpErrorCode.INTERNAL, f"The tool calls another that the server does not have. {raised}")
    elif isinstance(raised, MCPError) and _raised_inside(raised, (_FUNCTIONS,)):
        raised = _timed_out(raised)
    return raised, "resolver" if resolving else phase or "body", masked


def _timed_out(exc: MCPError) -> ToolFault:
    """
    Return what the tool's own ``timeout=`` means, in the words of a guard's.
    """
    found = _seconds_in(exc.message)
    after = f" after {round(float(found[1]) * 1000)}ms" if found else ""
    fault = ToolFault(McpErrorCode.TOOL_TIMEOUT, f"Tool timed out{after}")
    fault.facts["origin"] = "adapter"
    return fault


def _phase_of(exc: BaseException) -> Phase | None:
    """
    Return how far the call had come, from FastMCP's functions on a traceback. None: they don't say.
    """
    validating = False
    link = exc.__traceback__
    while link is not None:
        name = str(link.tb_frame.f_globals.get("__name__"))
        if name.startswith("fastmcp.tools"):
            step = link.tb_frame.f_code.co_name
            if step == "convert_result":
                return "output"
            # Around the body; a sync one runs inside the validation of its arguments.
            if step == "wrapper":
                return "body"
            validating = validating or step == "_validate_input"
        link = link.tb_next
    return "arguments" if validating else None


def _raised_inside(exc: BaseException, modules: tuple[str, ...]) -> bool:
    link = exc.__traceback__
    if link is None:
        return False
    while link.tb_next is not None:
        link = link.tb_next
    name = str(link.tb_frame.f_globals.get("__name__"))
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def _must_pass(guard: Guard, exc: BaseException) -> bool:
    """
    Tell whether an exception must leave unanswered: a cancellation, or a protocol error that the tool meant as one.
    """
    if isinstance(exc, MCPError):
        code = getattr(getattr(exc, "error", None), "code", None)
        return code in _REQUESTS or not _raised_inside(exc, ("mcp", "fastmcp"))
    return guard.passes(exc)


def _protocol_error_made_safe(exc: MCPError) -> MCPError:
    message, data = encodable(exc.message), json_safe(exc.data)
    if message is exc.message and data == exc.data:
        return exc
    return MCPError(exc.code, message, data).with_traceback(exc.__traceback__)


def _is_failed_connect(exc: BaseException) -> bool:
    return isinstance(exc, RuntimeError) and _raised_inside(exc, ("fastmcp.client",)) and "connect" in str(exc)


def _unreachable(exc: BaseException) -> ToolFault:
    """
    Return what it means that a proxied server was not reached: nothing was sent.
    """
    fault = ToolFault(
        McpErrorCode.MCP_SERVER_UNREACHABLE,
        "The MCP server that carries this tool out can't be reached. Try again later.",
        outcome="not_executed",
    )
    fault.__cause__ = exc
    return fault.with_traceback(exc.__traceback__)


# What is remembered of a server


class _Memory:
    """
    What is remembered of one server's tools, so that calls that succeed cost nothing.
    """

    __slots__ = ("checks", "listed", "ordered", "own")

    def __init__(self) -> None:
        self.ordered = -1
        self.checks: dict[_Key, _Checks] = {}
        self.listed: dict[object, tuple[dict[str, Any], dict[str, Any] | None]] = {}
        self.own: dict[object, tuple[dict[str, Any], dict[str, Any] | None]] = {}

    def remember(self, key: _Key, checks: _Checks) -> _Checks:
        # An unknown name: there are as many as callers think of.
        if checks.known.tool is not None:
            if len(self.checks) >= _MAX_TOOLS:
                self.checks.clear()
            self.checks[key] = checks
        return checks

    def widened(self, key: object, schema: dict[str, Any], *, listed: bool = False) -> dict[str, Any] | None:
        kept = self.listed if listed else self.own
        known = kept.get(key)
        # A tool that is replaced brings a schema of its own; one that is mounted brings a copy each time.
        if known is None or (known[0] is not schema and known[0] != schema):
            if len(kept) >= _MAX_TOOLS:
                kept.clear()
            known = kept[key] = (schema, widen_schema(schema))
            if known[1] is None:
                _log.info("Tool %r: its outputSchema has no room for the envelope, which goes into _meta", key)
        return known[1]


def _widened(tool: Tool, memory: _Memory) -> Tool:
    if tool.output_schema is None:
        return tool
    widened = memory.widened((tool.name, tool.version), tool.output_schema, listed=True)
    return tool if widened is None else tool.model_copy(update={"output_schema": widened})


class _Checks:
    """
    What a tool's results are held against; FastMCP's clients throw away what does not fit.
    """

    __slots__ = ("_validator", "_wraps", "known")

    def __init__(self, known: _Known) -> None:
        self.known = known
        schema = None if known.tool is None else known.tool.output_schema
        self._wraps = False
        self._validator: Any = None
        # A proxy hands on what the other process made of its tool; that one's clients check it.
        if schema is None or known.proxied:
            return
        from jsonschema.validators import validator_for  # noqa: PLC0415 -- mcp brings it and loads it at first use too
        from referencing import Registry  # noqa: PLC0415 -- as above

        self._wraps = schema.get("type") != "object"
        # With a registry of its own it fetches nothing.
        self._validator = validator_for(schema)(schema, registry=Registry())

    def misfit(self, result: ToolResult) -> Exception | None:
        """
        Return what is wrong with a result. None: nothing is, or it can't be told.
        """
        if self._validator is None:
            return None
        value: Any = result.structured_content
        if self._wraps and isinstance(value, dict) and _is_wrapped(result):
            value = value.get("result")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- a tool's
        try:
            if self._validator.is_valid(value):
                return None
            if value is None:
                return ToolFault(McpErrorCode.INTERNAL, "The tool returned nothing, although it declares an output.")
            return next(self._validator.iter_errors(value), None)
        except Exception:  # noqa: BLE001 -- a schema that can't be compiled or resolved fits anything
            return None


def _is_wrapped(result: ToolResult) -> bool:
    mine: Any = (result.meta or {}).get("fastmcp")
    return isinstance(mine, dict) and mine.get("wrap_result") is True  # pyright: ignore[reportUnknownMemberType] -- a tool's


# Results


def _to_tool_result(result: dict[str, Any]) -> ToolResult:
    return ToolResult(
        content=[TextContent(type="text", text=block["text"]) for block in result["content"]],
        structured_content=result.get("structuredContent"),
        meta=result.get("_meta"),
        is_error=True,
    )


def _has_envelope(result: ToolResult) -> bool:
    facts: Any = (result.meta or {}).get(META_KEY)
    for place in (result.structured_content, facts.get("error") if isinstance(facts, dict) else None):  # pyright: ignore[reportUnknownMemberType] -- a peer's
        try:
            McpExecuteError.from_wire(place)
        except InvalidEnvelope:
            continue
        return True
    return False


def _made_plain(result: ToolResult) -> ToolResult:
    """
    Return an error result that no legacy client gets wrapped: FastMCP would put the envelope under ``result``.
    """
    result = _made_safe(result)
    if type(result) is ToolResult or not isinstance(result.structured_content, dict):
        return result
    return ToolResult(result.content, json_safe(result.structured_content, _MAX_DEPTH), result.meta, is_error=True)


def _adopted(result: ToolResult, guard: Guard, call: Call, *, structured: bool) -> ToolResult:
    """
    Return an error result that a tool made, with an envelope beside its own content.
    """
    result = _made_safe(result)
    content: list[Any] = list(result.content)
    texts = [block.text for block in content if isinstance(block, TextContent) and block.text.strip()]
    structured = structured and result.structured_content is None
    made = guard.to_result(guard.read_prose("\n".join(texts), call), structured=structured)
    meta: dict[str, Any] = made.get("_meta", {})
    envelope = made["structuredContent"] if structured else meta[META_KEY]["error"]
    # The mirror: block 0 is the message. A tool that wrote no text first gets ours in front of its own.
    if texts and isinstance(content[0], TextContent) and content[0].text == texts[0]:
        envelope["message"] = texts[0]
    else:
        content = [TextContent(type="text", text=envelope["message"]), *content]
    return ToolResult(
        content, envelope if structured else result.structured_content, {**meta, **(result.meta or {})}, is_error=True
    )


def _made_safe(result: ToolResult) -> ToolResult:
    """
    Return a result that every serializer takes, the same one if it was so already: a lone surrogate ends a stdio server.
    """
    if all(_is_encodable(block) for block in result.content):
        return result
    content = [
        block
        if _is_encodable(block)
        else type(block).model_validate(json_safe(block.model_dump(by_alias=True), _MAX_DEPTH))
        for block in result.content
    ]
    return result.model_copy(update={"content": content})


def _is_encodable(block: object) -> bool:
    # In this order, since a call that succeeds comes through here.
    text: Any = getattr(block, "text", None)
    if text is None:
        text = getattr(getattr(block, "resource", None), "text", "")
    return text.isascii() or encodable(text) is text
