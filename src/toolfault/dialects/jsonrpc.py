"""
MCP's own protocol errors: what each number means by revision, and which a bridge may send.

Rule 1: a tool that failed is answered with a result. An error is for a request that got none.
Rule 2: a number in the bands that JSON-RPC and the specification keep is sent only where they
assigned it.
Rule 3: a bridge never copies a number of A2A: in MCP it would mean nothing, or something else.

`toolfault.parse` is the reader of what `encode` writes, as of every JSON-RPC error.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from toolfault._codes import McpErrorCode
from toolfault._json import is_int
from toolfault._meanings.jsonrpc import (
    ERRORS,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    ProtocolError,
)
from toolfault._names import META_KEY
from toolfault._text import encodable
from toolfault._wire import to_result
from toolfault.errors import ToolFault


__all__ = [
    "ERRORS",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "LATEST",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "Band",
    "ProtocolError",
    "band",
    "encode",
    "may_be_sent",
    "meaning",
    "sendable_code",
]

LATEST: Final = "2026-07-28"
"""
The newest revision of the specification that the table knows.
"""

Band: TypeAlias = Literal["standard", "legacy", "specification", "reserved", "application"]
"""
Who decides what a number means: JSON-RPC; nobody (readers must not assume a meaning); MCP's
specification alone; nobody yet (JSON-RPC keeps it); whoever sends it.
"""

#: The first and the last number of each band but the last.
_BANDS: Final[dict[Band, tuple[int, int]]] = {
    "legacy": (-32019, -32000),
    "specification": (-32099, -32020),
    "reserved": (-32768, -32100),
}


#: What exceeds 64 bits is a number in no other language.
_NUMBERS: Final = range(-(2**63), 2**63)


def band(code: int) -> Band:
    """
    Return the band in which a number lies.
    """
    if code == PARSE_ERROR or INTERNAL_ERROR <= code <= INVALID_REQUEST:
        return "standard"
    for name, (first, last) in _BANDS.items():
        if first <= code <= last:
            return name
    return "application"


def meaning(code: object, revision: str = LATEST) -> ProtocolError | None:
    """
    Return the meaning of a number in a revision. None: the revision does not assign it.
    """
    row = ERRORS.get(code) if is_int(code) else None
    # Revisions are dates, and sort as text.
    return row if row is not None and row.since <= revision <= (row.until or revision) else None


def may_be_sent(code: int, revision: str = LATEST) -> bool:
    """
    Tell whether an error may carry a number: one assigned in the revision or an application's.
    """
    return meaning(code, revision) is not None or band(code) == "application"


def sendable_code(code: object) -> int:
    """
    Return the number that a bridge may put on an MCP error for a foreign one: itself, or -32603.

    A foreign number keeps its meaning only where JSON-RPC itself gave it, or where it is an
    application's own. What MCP assigned in the other bands says something of a request that the
    bridge did not make.
    """
    if type(code) is not int or code not in _NUMBERS:
        return INTERNAL_ERROR
    return code if band(code) in {"standard", "application"} else INTERNAL_ERROR


#: The failures that are about the request; others say nothing of it.
_CODES: Final = {
    McpErrorCode.TOOL_NOT_FOUND: INVALID_PARAMS,
    McpErrorCode.INVALID_ARGUMENTS: INVALID_PARAMS,
}


def encode(fault: ToolFault, *, code: int | None = None) -> dict[str, Any]:
    """
    Return the ``error`` of a JSON-RPC response, where no result can answer a tool call.

    The envelope and the facts stand in ``data`` under our key, as they do in a result's ``_meta``.

    Args:
        fault: What went wrong.
        code: A foreign number, which is kept where a bridge may keep it. None: by the fault's code.
    """
    number = (
        _CODES.get(fault.envelope.code, INTERNAL_ERROR) if code is None else sendable_code(code)
    )
    data = {META_KEY: to_result(fault, structured=False)["_meta"][META_KEY]}
    return {"code": number, "message": encodable(fault.envelope.message), "data": data}
