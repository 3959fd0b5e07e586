"""
What the SDK's two majors spell differently, chosen at import.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import mcp.shared.exceptions
from mcp.types import ErrorData


_EXCEPTIONS: Final[Any] = mcp.shared.exceptions

#: Whether this is mcp 1.x.
IS_1: Final = not hasattr(_EXCEPTIONS, "MCPError")

#: What becomes a JSON-RPC error: ``McpError`` of 1.x, ``MCPError`` of 2.x. Both have the peer's
#: words as ``error``.
ProtocolError: Final[Any] = _EXCEPTIONS.McpError if IS_1 else _EXCEPTIONS.MCPError

#: Fields of a result and of a tool, by their names in Python.
STRUCTURED: Final = "structuredContent" if IS_1 else "structured_content"
INPUT_SCHEMA: Final = "inputSchema" if IS_1 else "input_schema"
OUTPUT_SCHEMA: Final = "outputSchema" if IS_1 else "output_schema"


def protocol_error(code: int, message: str, data: Any) -> Exception:
    """
    Return a protocol error of the installed major.
    """
    error: Exception
    if IS_1:
        error = ProtocolError(ErrorData(code=code, message=message, data=data))
    else:
        error = ProtocolError(code, message, data)
    return error


def checks_errors() -> bool:
    """
    Tell whether a FastMCP of mcp 1.x validates also errors of the running tool against a schema.
    """
    frame = sys._getframe(1)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] -- nothing else knows who called
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_name == "call_fn_with_arg_validation":
            return getattr(frame.f_locals.get("self"), "output_schema", None) is not None
    return False


def copy_schema(value: Any) -> Any:
    """
    Return a copy of a JSON schema, for four times less than `copy.deepcopy`.
    """
    if type(value) is dict:
        members: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType] -- any JSON
        return {key: copy_schema(item) for key, item in members.items()}
    if type(value) is list:
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType] -- any JSON
        return [copy_schema(item) for item in items]
    return value
