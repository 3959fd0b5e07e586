"""
What was raised: the original below FastMCP's wrappers, and how far the call had come.

Rule 1: names of FastMCP's modules and functions are a hint. Where they change, the wrapper is
judged, with its text.
"""

from __future__ import annotations

import inspect
import re
from typing import Final, NamedTuple

from fastmcp.exceptions import DisabledError, NotFoundError, ValidationError
from mcp.shared.exceptions import MCPError

from toolfault import McpErrorCode, ToolFault
from toolfault.hosting import ASKS_CLIENT, Guard, Phase, encodable, json_safe
from toolfault.integrations.fastmcp._call import Known


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
    raised, masked, resolving = exc, False, False
    refusal: BaseException | None = None
    phase = _phase_of(exc)
    # A tool that calls a tool, and a server in a server: each call may wrap what came out of the
    # one inside.
    while (
        isinstance(raised, Exception)
        and raised.__cause__ is not None
        and raised_inside(raised, _WRAPPERS)
    ):
        masked = masked or _is_masked(str(raised)) is not None
        resolving = resolving or raised_inside(raised, (_RESOLVERS,))
        refusal = raised if isinstance(raised, ValidationError) else refusal
        raised = raised.__cause__
        phase = phase or _phase_of(raised)
    if isinstance(raised, NotFoundError | DisabledError) and raised_inside(raised, (_SERVER,)):
        if phase is None:
            return Raised(raised, "lookup")
        raised = ToolFault(
            McpErrorCode.INTERNAL, f"The tool calls another that the server does not have. {raised}"
        )
    elif isinstance(raised, MCPError) and raised_inside(raised, (_FUNCTIONS,)):
        raised = _timed_out(raised)
    return Raised(raised, "resolver" if resolving else phase or "body", masked, refusal)


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


def raised_inside(exc: BaseException, modules: tuple[str, ...]) -> bool:
    link = exc.__traceback__
    if link is None:
        return False
    while link.tb_next is not None:
        link = link.tb_next
    name = str(link.tb_frame.f_globals.get("__name__"))
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def must_pass(guard: Guard, exc: BaseException) -> bool:
    """
    Tell whether an exception must leave unanswered: a cancellation, or a protocol error that the
    tool meant as one.
    """
    if isinstance(exc, MCPError):
        code = getattr(getattr(exc, "error", None), "code", None)
        return code in ASKS_CLIENT or not raised_inside(exc, ("mcp", "fastmcp"))
    return guard.passes(exc)


def protocol_error_made_safe(exc: MCPError) -> MCPError:
    message, data = encodable(exc.message), json_safe(exc.data)
    if message is exc.message and data == exc.data:
        return exc
    return MCPError(exc.code, message, data).with_traceback(exc.__traceback__)


def in_other_words(raised: Raised, known: Known) -> tuple[BaseException, Phase]:
    """
    Return what FastMCP's own exceptions mean where their classes and places do not say it.
    """
    exc = raised.exc
    if known.proxied and isinstance(exc, RuntimeError) and raised_inside(exc, ("fastmcp.client",)):
        # No connection, says the client before it sends anything.
        return (
            unreachable(exc, "carries this tool out") if "failed to connect" in str(exc) else exc
        ), "body"
    # Tools that are made from other tools, or from an OpenAPI document, check arguments in what
    # looks like a body.
    if raised.refusal is not None and not _ran(known.function, raised.refusal):
        return exc, "arguments"
    made = ("fastmcp.tools.tool_transform", "fastmcp.server.providers.openapi")
    if (
        isinstance(exc, ValidationError | TypeError)
        and raised_inside(exc, made)
        and not _ran(known.function, exc)
    ):
        fault = ToolFault(McpErrorCode.INVALID_ARGUMENTS, str(exc), outcome="not_executed")
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
    return fault.with_traceback(exc.__traceback__)


def before_the_tool(fault: ToolFault, exc: BaseException) -> ToolFault:
    """
    Return what a limiter or an authorization said, which stand before the tool: it wrote its text
    for the caller.
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
    link = exc.__traceback__
    while space is not None and link is not None:
        if link.tb_frame.f_globals is space:
            return True
        link = link.tb_next
    return False
