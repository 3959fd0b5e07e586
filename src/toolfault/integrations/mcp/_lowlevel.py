"""
A whole low-level `Server` of mcp 2.x behind a guard.

One handler serves all tools, and the SDK hands it whatever a caller sends: what it raises becomes a
JSON-RPC error with a code by accident. So the guard does here what `MCPServer` does by itself:
names and arguments are held against what the server's own ``tools/list`` lists.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final, cast

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ErrorData,
    ListToolsResult,
    PaginatedRequestParams,
    Result,
    Tool,
)
from pydantic import BaseModel
from pydantic import ValidationError as PydanticError

from toolfault import ToolFault
from toolfault.hosting import Call, Guard, Phase, is_closing, log_exception, text_of
from toolfault.integrations.mcp._declared_codes import codes_of_function
from toolfault.integrations.mcp._guarded import Dispatch, answering
from toolfault.integrations.mcp._host import (
    Host,
    ToolInfo,
    answer_unreportable,
    raise_if_it_must_pass,
)
from toolfault.integrations.mcp._install import MARK
from toolfault.integrations.mcp._listing import Listed, Listing
from toolfault.integrations.mcp._negotiation import announce
from toolfault.integrations.mcp._returned_results import NoResult, sendable


Handler = Callable[[Any, Any], Awaitable[Any]]
"""
Takes a request's context and its parameters, and returns the result.
"""

#: How many pages of a server's tools are looked through for a name.
_MAX_PAGES: Final = 100

#: The first revision whose structured content may be something else than an object.
_ANY_STRUCTURE: Final = "2026-07-28"


def guard_server(server: Server[Any], guard: Guard) -> None:
    """
    Guard a server; see `install`. Handlers that are registered later are guarded too.
    """
    _Installed(server, guard)


class _Refused(Exception):  # noqa: N818 -- says what happened; never leaves this module
    """
    A call that does not get as far as the handler.
    """

    def __init__(self, why: Exception, phase: Phase) -> None:
        super().__init__(why, phase)
        self.why = why
        self.phase: Phase = phase


class _Installed:
    """
    What stands between one server and its handlers.
    """

    def __init__(self, server: Server[Any], guard: Guard) -> None:
        self._host = Host(guard)
        self._listing = Listing()
        self._list: Handler | None = None
        self._declared: tuple[str, ...] = ()
        self._complained = False
        self._add = server.add_request_handler
        self._wrappers: dict[str, Callable[[Any], Handler]] = {
            "tools/call": self._calling,
            "tools/list": self._lists,
        }
        for method in self._wrappers:
            entry = server.get_request_handler(method)
            if entry is not None:
                self.add_request_handler(method, entry.params_type, entry.handler)
        replaced: dict[str, Any] = {"add_request_handler": self.add_request_handler, MARK: self}
        for name, value in replaced.items():
            setattr(server, name, value)
        announce(server)

    def add_request_handler(
        self, method: str, params_type: type[BaseModel], handler: Handler
    ) -> None:
        """
        Register a handler. See ``Server.add_request_handler``.
        """
        wrap = self._wrappers.get(method)
        self._add(method, params_type, handler if wrap is None else wrap(handler))

    # Calls

    def _calling(self, handler: Handler) -> Handler:
        """
        Return a handler of ``tools/call`` whose every failure is answered.
        """
        guard = self._host.guard_for(handler)
        self._declared = codes_of_function(handler)

        async def call(ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> Any:
            answers = answering.get()
            # Somebody took the guarded handler, wrapped it and registered it again: the outer one
            # answers.
            if isinstance(answers, Dispatch) and answers.context is ctx:
                return await handler(ctx, params)
            dispatch = Dispatch(ctx)
            token = answering.set(dispatch)
            try:
                if guard.timeout is None:
                    result = await self._call_handler(handler, dispatch, params)
                else:
                    result = await guard.within_timeout(
                        lambda: self._call_handler(handler, dispatch, params)
                    )
                return self._finish(result, handler, dispatch, params)
            except BaseException as exc:
                if is_closing(dispatch):
                    raise
                return await self._answer(exc, handler, dispatch, params)
            finally:
                if not is_closing(dispatch):
                    answering.reset(token)

        return call

    async def _call_handler(
        self, handler: Handler, dispatch: Dispatch, params: CallToolRequestParams
    ) -> Any:
        known = dispatch.known = self._listing.get(params.name)
        if known is None or known.check_arguments(params.arguments or {}) is not None:
            listing = await self._list_again(dispatch, params.name)
            if listing is not None:
                dispatch.known = listing.get(params.name)
                _refuse(params, dispatch.known)
        return await handler(dispatch.context, params)

    def _finish(
        self, result: Any, handler: Handler, dispatch: Dispatch, params: CallToolRequestParams
    ) -> Any:
        """
        Return the result to send for what a handler returned.

        Raises:
            MCPError: It is a protocol error.
            NoResult: It is nothing that the SDK takes.
        """
        # By its exact type first: pydantic's isinstance is slow, and this is the path of calls that
        # succeed.
        if type(result) is not CallToolResult:
            result = _read(result)
        if not isinstance(result, CallToolResult):
            return result
        _check_structure(result, dispatch.context.protocol_version)
        if result.is_error:
            return self._adopt(result, handler, dispatch, params)
        return sendable(result)

    def _adopt(
        self,
        result: CallToolResult,
        handler: Handler,
        dispatch: Dispatch,
        params: CallToolRequestParams,
    ) -> CallToolResult:
        call = self._call(handler, dispatch, params)
        return self._host.adopt(
            result, self._host.guard_for(call.function), call, self._tool_info(call, dispatch)
        )

    async def _answer(
        self,
        exc: BaseException,
        handler: Handler,
        dispatch: Dispatch,
        params: CallToolRequestParams,
    ) -> CallToolResult:
        phase: Phase = "body"
        if type(exc) is _Refused:
            phase = exc.phase
            exc = exc.why
        elif type(exc) is NoResult:
            phase = "output"
        call = replace(self._call(handler, dispatch, params), phase=phase)
        guard = self._host.guard_for(call.function)
        raise_if_it_must_pass(exc, guard, call)
        try:
            return await self._judge(exc, call, dispatch)
        except BaseException as trouble:
            if guard.passes(trouble):
                raise
            return answer_unreportable(guard, call)

    async def _judge(self, exc: BaseException, call: Call, dispatch: Dispatch) -> CallToolResult:
        if (
            call.phase == "body"
            and _names(exc, call.tool)
            and await self._is_gone(dispatch, call.tool)
        ):
            call = replace(call, phase="lookup")
        if call.phase == "lookup":
            call = replace(call, available=dispatch.listing.names())
        placed = self._tool_info(call, dispatch)
        if type(exc) is NoResult:
            placed = placed._replace(codes=())
        return self._host.answer(exc, self._host.guard_for(call.function), call, placed)

    def _call(self, handler: Handler, dispatch: Dispatch, params: CallToolRequestParams) -> Call:
        return Call(
            tool=params.name,
            arguments=params.arguments or {},
            function=dispatch.function or handler,
        )

    def _tool_info(self, call: Call, dispatch: Dispatch) -> ToolInfo:
        known: Listed | None = dispatch.known
        if known is None:
            return ToolInfo(structured=True, codes=codes_of_function(call.function))
        structured = self._host.is_structured(call.tool, known.tool.output_schema)
        return ToolInfo(
            structured=structured, codes=known.codes or codes_of_function(call.function)
        )

    # Names and arguments

    def _lists(self, handler: Handler) -> Handler:
        """
        Return a handler of ``tools/list`` that shows each tool with room for the envelope.
        """
        self._list = handler

        async def list_tools(
            ctx: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
        ) -> Any:
            result = _as_listing(await handler(ctx, params))
            if not isinstance(result, ListToolsResult):
                return result
            page = bool(result.next_cursor or (params is not None and params.cursor))
            self._listing = Listing(result.tools, self._listing, page=page)
            tools = [self._host.describe_tool(tool, self._declared) for tool in result.tools]
            return result.model_copy(update={"tools": tools})

        return list_tools

    async def _list_again(self, dispatch: Dispatch, name: str) -> Listing | None:
        """
        Return the server's tools for this request; None if they can't be listed.

        The pages behind the one that lists the name are not asked for.
        """
        if self._list is None:
            return None
        try:
            tools, is_whole = await _list_until(
                name, self._list, replace(dispatch.context, method="tools/list", params=None)
            )
        except BaseException as exc:
            if self._host.guard.passes(exc):
                raise
            # Whatever stands in the way: then nothing is checked.
            if not self._complained:
                self._complained = True
                log_exception("the tools can't be listed, so names and arguments are not checked")
            return None
        finally:
            # A guarded function below the listing is not the tool.
            dispatch.function = None
        self._complained = False
        listing = self._listing = dispatch.listing = Listing(
            tools, self._listing, page=not is_whole
        )
        return listing

    async def _is_gone(self, dispatch: Dispatch, name: str) -> bool:
        """
        Tell whether a tool that failed with its own name in the text is not listed any more.
        """
        function = dispatch.function
        listing = dispatch.listing or await self._list_again(dispatch, name)
        dispatch.function = function
        return listing is not None and listing.get(name) is None


def _refuse(params: CallToolRequestParams, known: Listed | None) -> None:
    """
    Refuse a call that does not fit the tool as it was listed for it.

    Raises:
        _Refused: It does not.
    """
    if known is None:
        raise _Refused(LookupError("no such tool is listed"), "lookup")
    if (wrong := known.check_arguments(params.arguments or {})) is not None:
        raise _Refused(wrong, "arguments")


async def _list_until(
    name: str, handler: Handler, ctx: ServerRequestContext[Any, Any]
) -> tuple[list[Tool], bool]:
    """
    Return the tools up to the page that lists a name, and whether these are all.

    Raises:
        RuntimeError: The listing has too many pages.
        TypeError: A page is not a listing.
    """
    tools: list[Tool] = []
    params = PaginatedRequestParams()
    for _ in range(_MAX_PAGES):
        page = _as_listing(await handler(ctx, params))
        if not isinstance(page, ListToolsResult):
            raise TypeError(
                f"the handler of tools/list returned a value of type {type(page).__name__}"
            )
        tools += page.tools
        # An empty cursor would begin again.
        is_last = not page.next_cursor
        if is_last or any(tool.name == name for tool in page.tools):
            return tools, is_last
        params = PaginatedRequestParams(cursor=page.next_cursor)
    raise RuntimeError(f"the listing of tools does not end within {_MAX_PAGES} pages")


def _as_listing(result: Any) -> Any:
    """
    Return a listing as a model, also where a handler made it as a dict; anything else as it is.
    """
    if not isinstance(result, dict):
        return result
    try:
        return ListToolsResult.model_validate(result)
    except ValueError:
        return result  # pyright: ignore[reportUnknownVariableType] -- what it is, the SDK tells its author


def _names(exc: BaseException, tool: str) -> bool:
    return not issubclass(type(exc), ToolFault) and tool in text_of(exc)


# What handlers return


def _read(result: Any) -> Any:
    """
    Return what a handler returned, as a model where it is a result as a dict in either spelling.

    Raises:
        MCPError: It is a protocol error, as the SDK takes one.
        NoResult: It is nothing that the SDK takes.
    """
    if isinstance(result, ErrorData):
        raise MCPError.from_error_data(result)
    kind: Any = getattr(result, "result_type", None)
    if isinstance(result, dict):
        kind = cast("dict[str, Any]", result).get("resultType")
    if kind is not None and kind != "complete" and isinstance(result, dict | Result):
        # A request for input, or an extension's own.
        return result  # pyright: ignore[reportUnknownVariableType] -- anything
    if isinstance(result, dict):
        try:
            return CallToolResult.model_validate(result)
        except ValueError as exc:
            raise NoResult(f"a dict that is not a result ({_misfit(exc)})") from exc
    if not isinstance(result, CallToolResult):
        raise NoResult(_describe(result))
    return result


def _misfit(exc: ValueError) -> str:
    errors: list[Any] = exc.errors() if isinstance(exc, PydanticError) else []
    return "; ".join(map(_describe_error, errors[:3]))


def _describe_error(error: Any) -> str:
    what = "missing" if error["type"] == "missing" else "not valid"
    return f"`{'.'.join(map(str, error['loc']))}` is {what}"


def _describe(value: object) -> str:
    kind = "None" if value is None else f"a value of type {type(value).__name__[:64]}"
    return f"{kind} where a CallToolResult belongs"


def _check_structure(result: CallToolResult, version: str) -> None:
    """
    Refuse structured content that a revision of the protocol has no place for.

    Raises:
        NoResult: It is not an object, and the revision takes objects only.
    """
    structured = result.structured_content
    if structured is None or isinstance(structured, dict) or version >= _ANY_STRUCTURE:
        return
    kind = type(structured).__name__[:64]
    raise NoResult(f"structured content of type {kind}, and {version} takes objects only")
