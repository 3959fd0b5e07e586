"""
A whole low-level `Server` of mcp 1.x behind a guard.

What ``@server.call_tool()`` registers swallows exceptions, so a registered handler only shows
results. Each is built anew, with the SDK's own decorator, around the function that it was made of.
Handlers come by ``request_handlers``, whoever registers them and when; it is replaced by a mapping
that guards what is put into it.

Names are held against what the server lists, and so are arguments where the SDK would. A handler
that was put there without the decorator is called with any arguments, as ever; what it swallows by
itself is gone.
"""

from __future__ import annotations

import inspect
from collections import UserDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from types import FunctionType
from typing import Any, Final

import mcp.server.lowlevel.server
import mcp.types
from jsonschema import ValidationError

from toolfault.hosting import BoundedValidator, Call, Guard, Phase, is_closing, log_exception
from toolfault.integrations.mcp._compat import OUTPUT_SCHEMA
from toolfault.integrations.mcp._declared_codes import codes_of_function
from toolfault.integrations.mcp._guarded import Dispatch, answering
from toolfault.integrations.mcp._host import (
    Host,
    ToolInfo,
    answer_unreportable,
    raise_if_it_must_pass,
)
from toolfault.integrations.mcp._install import MARK
from toolfault.integrations.mcp._listing import Listing
from toolfault.integrations.mcp._returned_results import NoResult, sendable


# Type checkers see the other major.
_sdk: Final[Any] = mcp.server.lowlevel.server
_types: Final[Any] = mcp.types

Handler = Callable[[Any], Awaitable[Any]]
"""
Takes a request, and returns the result.
"""

#: How many pages of a server's tools are looked through for a name.
_MAX_PAGES: Final = 100

#: Stands for a result that nobody will see, since an exception was raised instead.
_NOTHING: Final = _types.CallToolResult(content=[], isError=True)

#: Stands for what a function returned that did not.
_NOT_YET: Final = object()


def guard_server(server: Any, guard: Guard) -> None:
    """
    Guard a server; see `install`. Handlers that are registered later are guarded too.
    """
    Installed(server, guard)


class _Running(Dispatch):
    """
    One call, and what the function of its handler did.
    """

    __slots__ = ("arguments", "name", "raised", "returned")

    def __init__(self, request: Any) -> None:
        super().__init__(request)
        self.name: str = request.params.name
        self.arguments: dict[str, Any] = request.params.arguments or {}
        self.raised: BaseException | None = None
        self.returned: Any = _NOT_YET


class Installed:
    """
    What stands between one server and its handlers.
    """

    def __init__(self, server: Any, guard: Guard) -> None:
        self._server = server
        self._host = Host(guard)
        self._listing = Listing()
        self._list: Handler | None = None
        self._function: Callable[..., Any] | None = None
        self._validates = False
        self._makes_results = False
        self._complained = False
        wrappers = {_types.ListToolsRequest: self._lists, _types.CallToolRequest: self._calling}
        server.request_handlers = _Handlers(server.request_handlers, wrappers)
        setattr(server, MARK, self)

    # Calls

    def _calling(self, handler: Handler) -> Handler:
        """
        Return a handler of ``tools/call`` whose every failure is answered.
        """
        function, self._validates = _inspect_handler(handler)
        self._function = function or handler
        # The decorator makes a result of whatever its function raises; a bare handler is the SDK's.
        self._makes_results = function is not None
        inner = self._limit_time(handler) if function is None else self._rebuild(function)

        async def handle(request: Any) -> Any:
            answers = answering.get()
            # Somebody took the guarded handler, wrapped it and registered it again: the outer one
            # answers.
            if isinstance(answers, _Running) and answers.context is request:
                return await inner(request)
            running = _Running(request)
            token = answering.set(running)
            try:
                failure = await self._find_refusal(running)
                if failure is None:
                    served = await inner(request)
                    if running.raised is None:
                        return await self._finish(served, running)
                    failure = self._original(running.raised, running.name)
            except BaseException as exc:
                if is_closing(running):
                    raise
                failure = self._original(exc, running.name)
            finally:
                if not is_closing(running):
                    answering.reset(token)
            return await self._answer(*failure, running)

        return handle

    def _limit_time(self, handler: Handler) -> Handler:
        async def handle(request: Any) -> Any:
            return await self._guard_at(request.params.name).within_timeout(
                lambda: handler(request)
            )

        return handle

    def _rebuild(self, function: Callable[..., Any]) -> Handler:
        """
        Return what the SDK's decorator makes of a function whose exceptions it does not get to see.
        """

        async def watch(name: str, arguments: dict[str, Any]) -> Any:
            running: Any = answering.get()
            guard = self._guard_at(name)
            try:
                running.returned = await guard.within_timeout(lambda: function(name, arguments))
            except BaseException as exc:
                if is_closing(running) or guard.passes(exc):
                    raise
                running.raised = exc
                return _NOTHING
            return running.returned

        ours, made = self._server.request_handlers, dict[Any, Handler]()
        self._server.request_handlers = made
        try:
            _sdk.Server.call_tool(self._server, validate_input=False)(watch)
        finally:
            self._server.request_handlers = ours
        return made[_types.CallToolRequest]

    async def _finish(self, served: Any, running: _Running) -> Any:
        """
        Return a handler's result, serializable, with an envelope if it is a failure.
        """
        result = getattr(served, "root", served)
        if not isinstance(result, _types.CallToolResult):
            return served
        if not result.isError:
            safe = sendable(result)
            return served if safe is result else _types.ServerResult(safe)
        if running.returned is _NOT_YET or isinstance(running.returned, _types.CallToolResult):
            call = self._call(running)
            return _types.ServerResult(
                self._host.adopt(result, self._guard_of(call), call, self._tool_info(call))
            )
        return await self._answer(self._output_error(running), "output", running)

    def _output_error(self, running: _Running) -> Exception:
        """
        Return why the SDK refused what a function returned.
        """
        structured = _find_structured(running.returned)
        schema = self._output_schema(running.name)
        if schema is not None and isinstance(structured, dict):
            # The SDK may have fetched a reference to elsewhere; nothing is fetched here.
            errors = BoundedValidator(schema).errors(structured)
            if errors:
                return ValidationError(
                    "the value does not fit the tool's outputSchema", context=errors
                )
        return NoResult(
            f"a value of type {type(running.returned).__name__[:64]} that is not this tool's result"
        )

    async def _answer(self, exc: BaseException, phase: Phase, running: _Running) -> Any:
        if type(exc) is NoResult:
            phase = "output"
        call = self._call(running, phase)
        guard = self._guard_of(call)
        raise_if_it_must_pass(exc, guard, call, as_results=self._makes_results)
        try:
            if phase == "lookup":
                call = replace(call, available=await self._available())
            answer = self._host.answer(exc, guard, call, self._tool_info(call))
        except BaseException as trouble:
            if guard.passes(trouble):
                raise
            answer = answer_unreportable(guard, call)
        return _types.ServerResult(answer)

    def _call(self, running: _Running, phase: Phase = "body") -> Call:
        function = running.function or self._function
        return Call(
            tool=running.name,
            arguments=running.arguments,
            phase=phase,
            function=function,
        )

    # What is known of a tool

    def _guard_at(self, name: str) -> Guard:  # noqa: ARG002 -- one function serves all tools; of a FastMCP each has one
        """
        Return the guard whose time a call has.
        """
        return self._host.guard_for(self._function)

    def _guard_of(self, call: Call) -> Guard:
        return self._host.guard_for(call.function)

    def _tool_info(self, call: Call) -> ToolInfo:
        known = self._listing.get(call.tool)
        if known is None:
            return ToolInfo(structured=True, codes=codes_of_function(call.function))
        structured = self._host.is_structured(call.tool, self._output_schema(call.tool))
        return ToolInfo(
            structured=structured, codes=known.codes or codes_of_function(call.function)
        )

    def _output_schema(self, name: str) -> dict[str, Any] | None:
        known = self._listing.get(name)
        return None if known is None else getattr(known.tool, OUTPUT_SCHEMA)

    async def _available(self) -> tuple[str, ...]:
        return self._listing.names()

    def _original(self, exc: BaseException, name: str) -> tuple[BaseException, Phase]:  # noqa: ARG002 -- as above
        """
        Return the exception without the SDK's wrappers, and the phase of the call.
        """
        return exc, "body"

    # Names and arguments

    async def _find_refusal(self, running: _Running) -> tuple[BaseException, Phase] | None:
        """
        Return why a call does not get as far as the function. None: it does.
        """
        known = self._listing.get(running.name)
        if known is None or (
            self._validates and known.check_arguments(running.arguments) is not None
        ):
            listing = await self._list_again(running.name)
            if listing is None:
                return None
            known = listing.get(running.name)
        if known is None:
            return LookupError("no such tool is listed"), "lookup"
        wrong = known.check_arguments(running.arguments) if self._validates else None
        return None if wrong is None else (wrong, "arguments")

    def _lists(self, handler: Handler) -> Handler:
        """
        Return a handler of ``tools/list`` that shows each tool with room for the envelope.

        The SDK keeps what the given handler shows, and holds results against that.
        """
        self._list = handler

        async def handle(request: Any) -> Any:
            served = await handler(request)
            listed = served.root
            page = bool(
                listed.nextCursor or getattr(getattr(request, "params", None), "cursor", None)
            )
            self._listing = Listing(listed.tools, self._listing, page=page)
            tools = [
                self._host.describe_tool(tool, self._codes_of(tool.name)) for tool in listed.tools
            ]
            return _types.ServerResult(listed.model_copy(update={"tools": tools}))

        return handle

    def _codes_of(self, name: str) -> tuple[str, ...]:  # noqa: ARG002 -- one function serves all tools
        return codes_of_function(self._function)

    async def _list_again(self, name: str) -> Listing | None:
        """
        Return the server's tools for this request; None if they can't be listed.

        The pages behind the one that lists the name are not asked for.
        """
        if self._list is None:
            return None
        try:
            tools, is_whole = await _list_until(name, self._list)
        except Exception:  # noqa: BLE001 -- whatever stands in the way: then nothing is checked
            if not self._complained:
                self._complained = True
                log_exception(
                    "the tools can't be listed, so names and arguments are not checked",
                )
            return None
        self._complained = False
        self._listing = Listing(tools, self._listing, page=not is_whole)
        return self._listing


class _Handlers(UserDict[Any, Handler]):
    """
    The request handlers of a server; some are made into something else as they are put in.
    """

    def __init__(
        self, handlers: dict[Any, Handler], wrappers: Mapping[Any, Callable[[Handler], Handler]]
    ) -> None:
        super().__init__()
        self._wrappers = wrappers
        # Not a copy: parts of the SDK may hold the mapping of before.
        self.data = handlers
        for kind in wrappers:
            if kind in handlers:
                self[kind] = handlers[kind]

    def __setitem__(self, kind: Any, handler: Handler) -> None:
        """
        Put a handler in.
        """
        wrap = self._wrappers.get(kind)
        super().__setitem__(kind, handler if wrap is None else wrap(handler))


def _inspect_handler(handler: Handler) -> tuple[Callable[..., Any] | None, bool]:
    """
    Return the function below a handler of ``@server.call_tool()``, and whether it has checks.

    The function is None for a handler of any other make.
    """
    if not isinstance(handler, FunctionType) or handler.__module__ != _sdk.__name__:
        return None, False
    inside = inspect.getclosurevars(handler).nonlocals
    return inside.get("func"), bool(inside.get("validate_input"))


def _find_structured(returned: Any) -> Any:
    """
    Return what of a function's value the SDK takes for structured content, if it is any.
    """
    return returned[1] if isinstance(returned, tuple) and len(returned) == 2 else returned  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] -- anything


async def _list_until(name: str, handler: Handler) -> tuple[list[Any], bool]:
    """
    Return the tools up to the page that lists a name, and whether these are all.

    Raises:
        RuntimeError: The listing has too many pages.
    """
    tools: list[Any] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        request = _types.ListToolsRequest(params=_types.PaginatedRequestParams(cursor=cursor))
        page = (await handler(request)).root
        tools += page.tools
        # An empty cursor would begin again.
        is_last = not page.nextCursor
        if is_last or any(tool.name == name for tool in page.tools):
            return tools, is_last
        cursor = page.nextCursor
    raise RuntimeError(f"the listing of tools does not end within {_MAX_PAGES} pages")
