"""
A whole `FastMCP` of mcp 1.x behind a guard.

It stands on a low-level server, and that is where it is guarded; here is what a FastMCP knows of
each tool. The public ``call_tool`` stays as it is: inside a tool it raises, as ever.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any, Final

from toolfault.hosting import Call, Guard, Phase
from toolfault.integrations.mcp._declared_codes import codes_in_meta, codes_of_function
from toolfault.integrations.mcp._generators import run_in_body
from toolfault.integrations.mcp._guarded import is_async
from toolfault.integrations.mcp._host import ToolInfo
from toolfault.integrations.mcp._install import MARK
from toolfault.integrations.mcp._results import cause_slot, context_slot, is_raised_in, traceback_of
from toolfault.integrations.mcp._v1_lowlevel import Installed


_SDK: Final = "mcp.server.fastmcp"

# Type checkers see the other major.
_errors: Final[Any] = import_module(f"{_SDK}.exceptions")

#: The SDK's steps of a call, each a function in a module: all of it, the body with its arguments,
#: and its result.
_RUN: Final = (f"{_SDK}.tools.base", "run")
_CALL: Final = (f"{_SDK}.utilities.func_metadata", "call_fn_with_arg_validation")
_CONVERT: Final = (f"{_SDK}.utilities.func_metadata", "convert_result")

#: Where `_CALL` goes before it comes to the body.
_ARGUMENTS: Final = {
    ("pydantic.main", "model_validate"),
    (f"{_SDK}.utilities.func_metadata", "pre_parse_json"),
    (f"{_SDK}.utilities.func_metadata", "model_dump_one_level"),
}


def guard_server(server: Any, guard: Guard) -> None:
    """
    Guard a server; see `install`.
    """
    _InstalledFastMCP(server, guard)


class _InstalledFastMCP(Installed):
    """
    What stands between one FastMCP and its tools.
    """

    def __init__(self, server: Any, guard: Guard) -> None:
        # The SDK has no public way to these two.
        self._manager = server._tool_manager  # noqa: SLF001 -- as above
        super().__init__(server._mcp_server, guard)  # noqa: SLF001 -- as above
        self._list_tools = server.list_tools
        self._add_tool = server.add_tool
        replaced: dict[str, Any] = {
            "list_tools": self.list_tools,
            "add_tool": self.add_tool,
            MARK: self,
        }
        for name, value in replaced.items():
            setattr(server, name, value)
        for tool in self._manager.list_tools():
            self._check(tool.name)

    def add_tool(
        self, fn: Callable[..., Any], name: str | None = None, *args: Any, **kwargs: Any
    ) -> None:
        """
        Register a tool. See ``FastMCP.add_tool``.
        """
        self._add_tool(fn, name, *args, **kwargs)
        self._check(name or str(getattr(fn, "__name__", "")))

    def _check(self, name: str) -> None:
        run_in_body(self._manager.get_tool(name))
        function = self._function_of(name)
        if function is None or self._host.guard_for(function).timeout is None or is_async(function):
            return
        warnings.warn(
            f"tool {name!r} is a sync function, which mcp 1.x runs on the event loop, where the"
            " guard's timeout can't stop it; decorate it with @guarded(timeout=...) to run it in a"
            " thread, or make it async",
            RuntimeWarning,
            stacklevel=4,
        )

    async def list_tools(self) -> list[Any]:
        """
        List the tools as clients see them. See ``FastMCP.list_tools``.
        """
        return [
            self._host.describe_tool(tool, self._codes_of(tool.name))
            for tool in await self._list_tools()
        ]

    # What is known of a tool

    def _function_of(self, name: str) -> Callable[..., Any] | None:
        return getattr(self._manager.get_tool(name), "fn", None)

    def _call(self, running: Any, phase: Phase = "body") -> Call:
        # A guarded function that the tool calls is not the tool.
        return replace(super()._call(running, phase), function=self._function_of(running.name))

    def _guard_at(self, name: str) -> Guard:
        return self._host.guard_for(self._function_of(name))

    def _codes_of(self, name: str) -> tuple[str, ...]:
        return codes_of_function(self._function_of(name))

    def _tool_info(self, call: Call) -> ToolInfo:
        tool = self._manager.get_tool(call.tool)
        codes = codes_in_meta(getattr(tool, "meta", None)) or codes_of_function(call.function)
        return ToolInfo(
            self._host.is_structured(call.tool, getattr(tool, "output_schema", None)), codes
        )

    async def _available(self) -> tuple[str, ...]:
        try:
            return tuple(tool.name for tool in await self._list_tools())
        except Exception:  # noqa: BLE001 -- a subclass may list as it likes; then no name is near
            return ()

    async def _find_refusal(self, running: Any) -> None:  # noqa: ARG002 -- the SDK checks names and arguments
        return None

    def _original(self, exc: BaseException, name: str) -> tuple[BaseException, Phase]:
        if not _is_wrapper(exc):
            original = context_slot(exc) if _could_not_be_wrapped(exc) else None
            return (exc, "body") if original is None else (original, _phase_of(original))
        cause = cause_slot(exc)
        if cause is None:
            is_unknown = exc.args == (f"Unknown tool: {name}",)
            return exc, "lookup" if is_unknown else "body"
        raised, phase = exc, _phase_of(cause)
        # A tool that calls a tool: each call wraps what came out of the one inside.
        while _is_wrapper(raised) and (cause := cause_slot(raised)) is not None:
            raised = cause
        return raised, phase


def _is_wrapper(exc: BaseException) -> bool:
    # Not isinstance, which a class may answer as it likes.
    return issubclass(type(exc), (_errors.ToolError, _errors.ResourceError)) and is_raised_in(
        exc, _SDK
    )


def _could_not_be_wrapped(exc: BaseException) -> bool:
    """
    Tell whether the text of another exception raised this one while the SDK wrapped the other.
    """
    steps = set(_frames(exc))
    return _RUN in steps and steps.isdisjoint({_CALL, _CONVERT})


def _phase_of(exc: BaseException) -> Phase:
    """
    Return how far a call had come, by the SDK's frames; a hint with a fallback.
    """
    frames = _frames(exc)
    for frame in frames:
        if frame == _CONVERT:
            return "output"
        if frame == _CALL:
            return "arguments" if next(frames, None) in _ARGUMENTS else "body"
    return "body"


def _frames(exc: BaseException) -> Iterator[tuple[str, str]]:
    """
    Go through the functions that an exception came through, outermost first, each with its module.
    """
    link = traceback_of(exc)
    while link is not None:
        yield str(link.tb_frame.f_globals.get("__name__")), link.tb_frame.f_code.co_name
        link = link.tb_next
