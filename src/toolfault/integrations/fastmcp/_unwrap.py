"""
What was raised: the original below FastMCP's wrappers, and how far the call had come.

Rule 1: names of FastMCP's modules and functions are a hint. Where they change, the wrapper is
judged, with its text.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from fastmcp.exceptions import DisabledError, NotFoundError, ValidationError
from mcp.shared.exceptions import MCPError

from toolfault import McpErrorCode, ToolFault
from toolfault.hosting import ASKS_CLIENT, Guard, Phase, json_safe, text_of
from toolfault.integrations.fastmcp._call import ToolInfo


# Not exc.__cause__ and exc.__traceback__, which a class may override.
_cause_of: Final[Callable[[BaseException], BaseException | None]] = BaseException.__dict__[
    "__cause__"
].__get__
_traceback_of: Final[Any] = BaseException.__dict__["__traceback__"].__get__

#: Where FastMCP puts an exception of its own around a tool's.
_SERVER: Final = "fastmcp.server.server"
_FUNCTIONS: Final = "fastmcp.tools.function_tool"
_RESOLVERS: Final = "fastmcp.server.dependencies"
_WRAPPERS: Final = (
    _SERVER,
    "fastmcp.tools",
    _RESOLVERS,
    "fastmcp.server.middleware.error_handling",
    "fastmcp.server.providers.openapi",
)

#: What FastMCP puts around a crash whose text it masks: the name alone. Its other wrappers quote
#: the crash.
_is_masked = re.compile(r"""Error calling tool (?:'[^']*'|"[^"]*")""").fullmatch

#: FastMCP's own time limit speaks through a text.
_seconds_in = re.compile(r"timed out after (\d+(?:\.\d+)?)s$").search


class Raised(NamedTuple):
    """
    What was raised, without FastMCP's wrappers.

    Attributes:
        exc: The original.
        phase: How far the call had come.
        masked: A wrapper hid its text.
        refusal: The wrapper that says that arguments were refused.
    """

    exc: BaseException
    phase: Phase
    masked: bool = False
    refusal: BaseException | None = None


def original(exc: BaseException) -> Raised:
    """
    Return the exception below FastMCP's wrappers.
    """
    *wrappers, raised = links = _unwrap(exc)
    phases: list[Phase] = [phase for phase in map(_phase_of, links) if phase is not None]
    phase: Phase | None = phases[0] if phases else None
    if phase is None and _is_missing(raised):
        return Raised(raised, "lookup")
    masked = any(_is_masked(text_of(wrapper)) is not None for wrapper in wrappers)
    refusals = (wrapper for wrapper in reversed(wrappers) if is_of(wrapper, ValidationError))
    if any(is_raised_inside(wrapper, (_RESOLVERS,)) for wrapper in wrappers):
        phase = "resolver"
    return Raised(_translate(raised), phase or "body", masked, next(refusals, None))


def _is_missing(exc: BaseException) -> bool:
    """
    Tell whether FastMCP's server did not find a tool, or may not call it.
    """
    return is_of(exc, NotFoundError, DisabledError) and is_raised_inside(exc, (_SERVER,))


def _translate(exc: BaseException) -> BaseException:
    """
    Return a fault for what FastMCP itself raised while a tool ran; else the same exception.
    """
    if _is_missing(exc):
        message = f"The tool calls another that the server does not have. {text_of(exc)}"
        return ToolFault(McpErrorCode.INTERNAL, message)
    if is_of(exc, MCPError) and is_raised_inside(exc, (_FUNCTIONS,)):
        return _timeout_fault(text_of(exc))
    return exc


def _unwrap(exc: BaseException) -> list[BaseException]:
    """
    Return an exception and what FastMCP's wrappers hide, down to what was raised.
    """
    links = [exc]
    # A tool that calls a tool, and a server in a server: each call may wrap what came out of the
    # one inside.
    while (cause := _cause_of(links[-1])) is not None and is_raised_inside(links[-1], _WRAPPERS):
        links.append(cause)
    return links


def is_of(exc: BaseException, *classes: type[BaseException]) -> bool:
    """
    Tell whether an exception is of one of these classes, whatever it says of its own class.
    """
    return issubclass(type(exc), classes)


def _timeout_fault(text: str) -> ToolFault:
    """
    Return what the tool's own ``timeout=`` means, in the words of a guard's.
    """
    found = _seconds_in(text)
    after = f" after {round(float(found[1]) * 1000)}ms" if found else ""
    fault = ToolFault(McpErrorCode.TOOL_TIMEOUT, f"Tool timed out{after}")
    fault.facts["origin"] = "adapter"
    return fault


def _phase_of(exc: BaseException) -> Phase | None:
    """
    Return how far the call had come, from FastMCP's functions on a traceback. None: they don't say.
    """
    validating = False
    link = _traceback_of(exc)
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


def is_raised_inside(exc: BaseException, modules: tuple[str, ...]) -> bool:
    link = _traceback_of(exc)
    if link is None:
        return False
    while link.tb_next is not None:
        link = link.tb_next
    name = str(link.tb_frame.f_globals.get("__name__"))
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def protocol_error_for(exc: BaseException, guard: Guard) -> MCPError | None:
    """
    Return the protocol error that leaves for one that only the protocol understands, redacted.

    None: another exception. FastMCP makes results of all other protocol errors.
    """
    if not is_of(exc, MCPError):
        return None
    try:
        error: Any = getattr(exc, "error")  # noqa: B009 -- types do not see that it is an MCPError
        code, message, data = error.code, error.message, error.data
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 -- a subclass may raise anything from its own attributes
        return None
    if type(code) is not int or code not in ASKS_CLIENT or not isinstance(message, str):
        return None
    return MCPError(code, guard.safe_text(message), json_safe(data))


#: Modules of tools that are made from other tools, or from an OpenAPI document.
_MADE_TOOLS: Final = ("fastmcp.tools.tool_transform", "fastmcp.server.providers.openapi")


def reinterpret(raised: Raised, known: ToolInfo) -> tuple[BaseException, Phase]:
    """
    Return what FastMCP's own exceptions mean where their classes and places do not say it.
    """
    exc = raised.exc
    if known.proxied and is_of(exc, RuntimeError) and is_raised_inside(exc, ("fastmcp.client",)):
        # The client says so before it sends anything.
        if "failed to connect" in text_of(exc):
            return unreachable(exc, "carries this tool out"), "body"
        return exc, "body"
    # Such tools check arguments in what looks like a body.
    if raised.refusal is not None and not _ran(known.function, raised.refusal):
        return exc, "arguments"
    is_refusal = is_of(exc, ValidationError, TypeError) and is_raised_inside(exc, _MADE_TOOLS)
    if is_refusal and not _ran(known.function, exc):
        fault = ToolFault(McpErrorCode.INVALID_ARGUMENTS, text_of(exc), outcome="not_executed")
        fault.facts["origin"] = "adapter"
        return fault, "arguments"
    return exc, "body"


def unreachable(exc: BaseException, which: str) -> ToolFault:
    """
    Return what it means that a server behind this one was not reached: nothing was sent.
    """
    fault = ToolFault(
        McpErrorCode.MCP_SERVER_UNREACHABLE,
        f"The MCP server that {which} can't be reached. Try again later.",
        outcome="not_executed",
    )
    fault.__cause__ = exc
    fault.facts["origin"] = "transport"
    return fault.with_traceback(_traceback_of(exc))


def show_own_text(fault: ToolFault, exc: BaseException) -> ToolFault:
    """
    Return the fault of a limiter or an authorization, which write their text for the caller.
    """
    message = fault.envelope.message.removeprefix(f"The tool failed: {type(exc).__name__}: ")
    envelope = fault.envelope.model_copy(update={"message": message})
    return ToolFault.of(
        envelope, outcome="not_executed", facts={**fault.facts, "origin": "adapter"}
    )


def _ran(function: object | None, exc: BaseException) -> bool:
    """
    Tell whether the module of a tool's author stands on a traceback.
    """
    try:
        space = (
            getattr(inspect.unwrap(function), "__globals__", None) if callable(function) else None
        )
    except ValueError:
        space = None
    link = _traceback_of(exc)
    while space is not None and link is not None:
        if link.tb_frame.f_globals is space:
            return True
        link = link.tb_next
    return False
