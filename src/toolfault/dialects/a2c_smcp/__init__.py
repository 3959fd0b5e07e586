"""
A2C-SMCP: its flat `ErrorPayload`, its codes, its handshake, and the markers in its tool results.

`encode` and `decode` translate a `ToolFault`; the rest is the contract itself
(``specs/a2c-smcp.md``).
"""

from __future__ import annotations

from toolfault.dialects.a2c_smcp._agent import AgentError, agent_error, agent_view, user_text
from toolfault.dialects.a2c_smcp._codec import decode, encode, nest_in_details, restore_from_details
from toolfault.dialects.a2c_smcp._codes import (
    PROTOCOLS,
    READ,
    WRITTEN,
    WS_CLOSE_REFUSED,
    Assignment,
    ErrorCode,
    Protocol,
    ack_codes,
    assignments,
    closed_set,
    server_field,
)
from toolfault.dialects.a2c_smcp._handshake import (
    ERROR_CODE_HEADER,
    Refusal,
    VersionMismatch,
    check_query,
    check_version,
    is_gated,
    read_close,
    read_refusal,
)
from toolfault.dialects.a2c_smcp._payload import (
    ErrorPayload,
    InvalidPayload,
    is_protocol_error_payload,
)
from toolfault.dialects.a2c_smcp._tool_result import (
    AuthHint,
    ToolFailure,
    authorization_code,
    read_tool_result,
    write_cancelled,
    write_tool_result,
)
from toolfault.dialects.a2c_smcp._version import Version


__all__ = [
    "ERROR_CODE_HEADER",
    "PROTOCOLS",
    "READ",
    "WRITTEN",
    "WS_CLOSE_REFUSED",
    "AgentError",
    "Assignment",
    "AuthHint",
    "ErrorCode",
    "ErrorPayload",
    "InvalidPayload",
    "Protocol",
    "Refusal",
    "ToolFailure",
    "Version",
    "VersionMismatch",
    "ack_codes",
    "agent_error",
    "agent_view",
    "assignments",
    "authorization_code",
    "check_query",
    "check_version",
    "closed_set",
    "decode",
    "encode",
    "is_gated",
    "is_protocol_error_payload",
    "nest_in_details",
    "read_close",
    "read_refusal",
    "read_tool_result",
    "restore_from_details",
    "server_field",
    "user_text",
    "write_cancelled",
    "write_tool_result",
]
