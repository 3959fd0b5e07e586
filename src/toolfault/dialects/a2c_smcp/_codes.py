"""
The numbers of A2C-SMCP, and what they mean in which version of the protocol.

Rule 1: what differs between versions stands in the table, or in `server_field`; nowhere else.
Rule 2: a number that is not assigned is still a number. Only `closed_set` says what a receiver
takes for a failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias, cast, get_args


Protocol: TypeAlias = Literal["0.2", "0.3", "0.4", "0.5"]
"""
A version of the protocol, less its patch number; peers of version 0 must agree on it.
"""

Carrier: TypeAlias = Literal["ack", "tool_result", "handshake"]
"""
Where a code travels: in an acknowledgement, in the ``meta`` of a tool result, or in the body of a
refused handshake.
"""

#: The versions, oldest first.
PROTOCOLS: Final[tuple[Protocol, ...]] = get_args(Protocol)

#: The newest version that packages are published for.
WRITTEN: Final[Protocol] = "0.4"
#: The newest version that is known here; its set of codes holds all others.
READ: Final[Protocol] = "0.5"

#: The WebSocket close code of a refused handshake, where HTTP cannot refuse. It is not a code of a
#: payload.
WS_CLOSE_REFUSED: Final = 4900


class ErrorCode(IntEnum):
    """
    The assigned codes; `assignments` tells their meanings.
    """

    BAD_REQUEST = 400
    UNAUTHORIZED = 401
    FORBIDDEN = 403
    NOT_FOUND = 404
    TIMEOUT = 408
    INTERNAL_ERROR = 500
    TOOL_NOT_FOUND = 4001
    TOOL_DISABLED = 4002
    TOOL_EXECUTION_FAILED = 4003
    TOOL_TIMEOUT = 4004
    TOOL_REQUIRES_CONFIRMATION = 4005
    TOOL_AUTHORIZATION_REQUIRED = 4006
    TOOL_AUTHORIZATION_FAILED = 4007
    PROTOCOL_VERSION_MISMATCH = 4008
    MCP_SERVER_NOT_FOUND = 4014
    MCP_CAPABILITY_NOT_SUPPORTED = 4015
    SKILL_NAME_INVALID = 4016
    SKILL_RESOURCE_NOT_ACCESSIBLE = 4017
    BLOB_NOT_ACCESSIBLE = 4018
    BLOB_WRITE_FAILED = 4019
    ROOM_FULL = 4101
    ROOM_NOT_FOUND = 4102
    NOT_IN_ROOM = 4103
    CROSS_ROOM_ACCESS = 4104
    NAME_CONFLICT_IN_ROOM = 4105
    ALREADY_IN_ANOTHER_ROOM = 4106


class Assignment(NamedTuple):
    """
    What one code is for.

    Attributes:
        title:
            Its name in the protocol's documents.

        meaning:
            What happened, in one sentence that may be shown to anybody.

        carrier:
            Where it travels. None: it is assigned, and nobody sends it.

        closed_since:
            The first version whose receivers take it for a failure in an acknowledgement. None:
            none does.

        fields:
            The top-level members that go with it, in their order.

        reasons:
            The known words of ``details.reason``. The set is open: an unknown one means no retry.
    """

    title: str
    meaning: str
    carrier: Carrier | None
    closed_since: Protocol | None = None
    fields: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


#: Stands in the table for the member whose name depends on the version.
_SERVER: Final = "{server}"

_VERSIONS: Final = ("server_version", "client_version", "min_supported", "max_supported")
_READ_REASONS: Final = ("traversal", "forbidden", "not_found", "too_large")
_BLOB_REASONS: Final = ("invalid_handle", "forbidden", "gone", "range")
_WRITE_REASONS: Final = (
    *("invalid_upload", "invalid_declaration", "range", "too_large"),
    *("busy", "forbidden", "integrity", "io_error"),
)

_TABLE: Final[dict[ErrorCode, Assignment]] = {
    ErrorCode.BAD_REQUEST: Assignment("Bad Request", "The request is malformed.", "ack", "0.5"),
    ErrorCode.UNAUTHORIZED: Assignment(
        "Unauthorized", "The request lacks valid credentials.", None
    ),
    ErrorCode.FORBIDDEN: Assignment("Forbidden", "The request is not allowed.", "ack", "0.5"),
    ErrorCode.NOT_FOUND: Assignment(
        "Not Found", "The computer that was asked for is not there.", "ack", "0.2"
    ),
    ErrorCode.TIMEOUT: Assignment("Timeout", "The request took too long.", None),
    ErrorCode.INTERNAL_ERROR: Assignment("Internal Error", "The server failed.", "ack", "0.5"),
    ErrorCode.TOOL_NOT_FOUND: Assignment("Tool Not Found", "There is no such tool.", "tool_result"),
    ErrorCode.TOOL_DISABLED: Assignment(
        "Tool Disabled", "The tool is switched off.", "tool_result"
    ),
    ErrorCode.TOOL_EXECUTION_FAILED: Assignment(
        "Tool Execution Failed", "The tool failed.", "tool_result"
    ),
    ErrorCode.TOOL_TIMEOUT: Assignment("Tool Timeout", "The tool took too long.", "tool_result"),
    ErrorCode.TOOL_REQUIRES_CONFIRMATION: Assignment(
        "Tool Requires Confirmation", "The tool waits for a person's consent.", "tool_result"
    ),
    ErrorCode.TOOL_AUTHORIZATION_REQUIRED: Assignment(
        "Tool Authorization Required",
        "Somebody has to log in before the tool can be used.",
        "tool_result",
        "0.2",
    ),
    ErrorCode.TOOL_AUTHORIZATION_FAILED: Assignment(
        "Tool Authorization Failed",
        "The login does not allow the use of the tool.",
        "tool_result",
        "0.2",
    ),
    ErrorCode.PROTOCOL_VERSION_MISMATCH: Assignment(
        "Protocol Version Mismatch",
        "The two sides speak different versions.",
        "handshake",
        "0.2",
        _VERSIONS,
    ),
    ErrorCode.MCP_SERVER_NOT_FOUND: Assignment(
        "MCP Server Not Found",
        "There is no such MCP server, or no such skill.",
        "ack",
        "0.2",
        (_SERVER,),
    ),
    ErrorCode.MCP_CAPABILITY_NOT_SUPPORTED: Assignment(
        "MCP Capability Not Supported",
        "The MCP server can't do that.",
        "ack",
        "0.2",
        (_SERVER, "capability"),
    ),
    ErrorCode.SKILL_NAME_INVALID: Assignment(
        "Invalid Skill Name", "The name of the skill is malformed.", "ack", "0.2"
    ),
    ErrorCode.SKILL_RESOURCE_NOT_ACCESSIBLE: Assignment(
        "Skill Resource Not Accessible",
        "The skill's file can't be read.",
        "ack",
        "0.2",
        reasons=_READ_REASONS,
    ),
    ErrorCode.BLOB_NOT_ACCESSIBLE: Assignment(
        "Blob Not Accessible", "The data can't be fetched.", "ack", "0.2", reasons=_BLOB_REASONS
    ),
    ErrorCode.BLOB_WRITE_FAILED: Assignment(
        "Blob Write Failed", "The data can't be stored.", "ack", "0.4", reasons=_WRITE_REASONS
    ),
    ErrorCode.ROOM_FULL: Assignment("Room Full", "The room has no place left.", "ack", "0.5"),
    ErrorCode.ROOM_NOT_FOUND: Assignment("Room Not Found", "There is no such room.", None, "0.5"),
    ErrorCode.NOT_IN_ROOM: Assignment(
        "Not In Room", "The room has to be entered first.", "ack", "0.5"
    ),
    ErrorCode.CROSS_ROOM_ACCESS: Assignment(
        "Cross Room Access", "The target is in another room.", "ack", "0.5"
    ),
    ErrorCode.NAME_CONFLICT_IN_ROOM: Assignment(
        "Name Conflict", "The name is taken in the room.", "ack", "0.5"
    ),
    ErrorCode.ALREADY_IN_ANOTHER_ROOM: Assignment(
        "Already In Another Room", "The present room has to be left first.", "ack", "0.5"
    ),
}

#: What came after 0.2.
_SINCE: Final[Mapping[ErrorCode, Protocol]] = {
    ErrorCode.BLOB_WRITE_FAILED: "0.4",
    **{code: "0.5" for code in ErrorCode if code > ErrorCode.BLOB_WRITE_FAILED},
}


def server_field(protocol: Protocol) -> Literal["mcp_server_name", "mcp_server"]:
    """
    Return the member that names an MCP server: its name in 0.2, its bundle id from 0.3 on.
    """
    return "mcp_server_name" if protocol == "0.2" else "mcp_server"


@cache
def assignments(protocol: Protocol) -> Mapping[ErrorCode, Assignment]:
    """
    Return the codes that a version assigns, with their meaning there.

    Raises:
        ValueError: There is no such version.
    """
    now = _rank(protocol)
    server = server_field(protocol)
    return MappingProxyType(
        {
            code: row._replace(fields=tuple(field.replace(_SERVER, server) for field in row.fields))
            for code, row in _TABLE.items()
            if _rank(_SINCE.get(code, "0.2")) <= now
        }
    )


@cache
def closed_set(protocol: Protocol) -> frozenset[int]:
    """
    Return the codes that a version's receivers take for a failure in an acknowledgement.

    Raises:
        ValueError: There is no such version.
    """
    now = _rank(protocol)
    return frozenset(
        int(code)
        for code, row in _TABLE.items()
        if row.closed_since is not None and _rank(row.closed_since) <= now
    )


@cache
def ack_codes(protocol: Protocol) -> frozenset[int]:
    """
    Return the codes that may be sent in an acknowledgement.

    Its receiver takes them for a failure, and they belong neither into a tool result nor into a
    handshake.

    Raises:
        ValueError: There is no such version.
    """
    return frozenset(
        code for code in closed_set(protocol) if _TABLE[ErrorCode(code)].carrier == "ack"
    )


def meaning_of(code: int) -> str:
    """
    Return a sentence for a code that may be shown to anybody; a general one if unassigned.
    """
    row = _TABLE.get(cast("ErrorCode", code))
    return "The request failed." if row is None else row.meaning


def _rank(protocol: Protocol) -> int:
    try:
        return PROTOCOLS.index(protocol)
    except ValueError:
        raise ValueError(
            f"{protocol!r} is not a version of A2C-SMCP; there are {', '.join(PROTOCOLS)}"
        ) from None
