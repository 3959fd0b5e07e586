"""
Between the SDK's types and toolfault's: results, and the exceptions that are the protocol's own.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

from mcp.types import CallToolResult, TextContent

from toolfault.hosting import ASKS_CLIENT, Guard
from toolfault.integrations.mcp._compat import ProtocolError


def to_call_tool_result(result: dict[str, Any]) -> CallToolResult:
    """
    Return a result in wire spelling as the SDK's model; the values were checked where they were
    made.
    """
    # In wire spelling, which both majors take.
    fields: dict[str, Any] = {
        "content": [TextContent(type="text", text=block["text"]) for block in result["content"]],
        "structuredContent": result.get("structuredContent"),
        "isError": True,
        "_meta": result.get("_meta"),
    }
    return CallToolResult(**fields)


def must_pass(guard: Guard, exc: BaseException) -> bool:
    """
    Tell whether an exception must leave unanswered: a cancellation, or a protocol error that the
    tool meant as one.

    An `MCPError` (`McpError` in mcp 1.x) passes if the tool's own code raised it. One that answers
    a request which the tool made was raised inside the SDK: it is a failure of what the tool talks
    to.
    """
    # By its type, past what a class may say of itself.
    if issubclass(type(exc), ProtocolError):
        return getattr(getattr(exc, "error", None), "code", None) in ASKS_CLIENT or not raised_in(
            exc, "mcp"
        )
    return guard.passes(exc)


#: Past a property that a class may put over it.
traceback_of: Final[Callable[[BaseException], TracebackType | None]] = BaseException.__dict__[
    "__traceback__"
].__get__


def raised_in(exc: BaseException, package: str) -> bool:
    """
    Tell whether an exception was raised by code of a package.
    """
    link = traceback_of(exc)
    if link is None:
        return False
    while link.tb_next is not None:
        link = link.tb_next
    module = str(link.tb_frame.f_globals.get("__name__"))
    return module == package or module.startswith(f"{package}.")
