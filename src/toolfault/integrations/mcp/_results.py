"""
Between the SDK's types and toolfault's: results, and the exceptions that are the protocol's own.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, NamedTuple

from mcp.types import CallToolResult, TextContent

from toolfault.hosting import ASKS_CLIENT, Call, Guard, json_safe
from toolfault.integrations.mcp._compat import IS_1, ProtocolError, protocol_error


#: What a JSON-RPC code may be: more than 64 bits no peer reads.
_CODES: Final = range(-(2**63), 2**63)


class RpcError(NamedTuple):
    """
    What a protocol error holds.
    """

    code: int
    message: str
    data: Any


def to_call_tool_result(result: dict[str, Any]) -> CallToolResult:
    """
    Return a result in wire spelling as the SDK's model; it was validated where it was written.
    """
    # In wire spelling, which both majors take.
    fields: dict[str, Any] = {
        "content": [TextContent(type="text", text=block["text"]) for block in result["content"]],
        "structuredContent": result.get("structuredContent"),
        "isError": True,
        "_meta": result.get("_meta"),
    }
    return CallToolResult(**fields)


def rpc_error_of(exc: BaseException) -> RpcError | None:
    """
    Return the members of a protocol error that a tool raised; None for other exceptions.

    None also for an `MCPError` (`McpError` in mcp 1.x) that was raised inside the SDK: it answers a
    request that the tool made, and is a failure of what the tool talks to. So is one whose members
    are not what the protocol takes.
    """
    # Not isinstance, which a class may answer as it likes.
    if not issubclass(type(exc), ProtocolError):
        return None
    try:
        error: Any = getattr(exc, "error")  # noqa: B009 -- both majors' classes have it, and no type knows both
        code, message, data = error.code, error.message, error.data
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 -- a subclass may raise anything from its own attributes
        return None
    if type(code) is not int or code not in _CODES or not isinstance(message, str):
        return None
    if code not in ASKS_CLIENT and is_raised_in(exc, "mcp"):
        return None
    return RpcError(code, message, data)


def protocol_error_for(
    exc: BaseException, guard: Guard, call: Call, *, as_results: bool = IS_1
) -> Exception | None:
    """
    Return the protocol error that leaves for one that a tool raised, redacted. None: a result does.

    A code that only the protocol understands keeps its data as it was raised; any other gets the
    envelope.

    Args:
        exc: What the tool raised.
        guard: The tool's.
        call: The call that it ended.
        as_results: Whether the host itself makes results of other codes, as most of mcp 1.x does.
    """
    error = rpc_error_of(exc)
    if error is None:
        return None
    if error.code in ASKS_CLIENT:
        data = json_safe(error.data)
    elif as_results:
        return None
    else:
        data = guard.error_data(exc, call, error.data)
    return protocol_error(error.code, guard.safe_text(error.message), data)


#: Not exc.__traceback__ and the like, which a class may override.
traceback_of: Final[Any] = BaseException.__dict__["__traceback__"].__get__
cause_slot: Final[Callable[[BaseException], BaseException | None]] = BaseException.__dict__[
    "__cause__"
].__get__
context_slot: Final[Callable[[BaseException], BaseException | None]] = BaseException.__dict__[
    "__context__"
].__get__


def is_raised_in(exc: BaseException, package: str) -> bool:
    """
    Tell whether an exception was raised by code of a package.
    """
    link: TracebackType | None = traceback_of(exc)
    if link is None:
        return False
    while link.tb_next is not None:
        link = link.tb_next
    module = str(link.tb_frame.f_globals.get("__name__"))
    return module == package or module.startswith(f"{package}.")
