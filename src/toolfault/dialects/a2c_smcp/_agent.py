"""
What an agent makes of a payload, and what of it a person may read.

Rule 1: nothing here raises on what a peer sent.
Rule 2: ``details`` are for diagnosis. No text is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolfault._json import is_mapping
from toolfault._sanitize import ID_BYTES, sanitize
from toolfault._text import MESSAGE_BYTES
from toolfault.dialects.a2c_smcp._codes import READ, ErrorCode, Protocol, meaning_of
from toolfault.dialects.a2c_smcp._payload import (
    CODES,
    ErrorPayload,
    is_integer,
    is_protocol_error_payload,
)


#: The code of a failure that brings none.
_NO_CODE: Final = -1

#: The reasons that time helps; all others, and those not known, are final.
_PASSING: Final = frozenset({(int(ErrorCode.BLOB_WRITE_FAILED), "busy")})


@dataclass(frozen=True, slots=True)
class AgentError:
    """
    What an agent makes of a payload, whatever is wrong with it. As a text it is ``[code] message``.

    Attributes:
        code:
            -1 where there is no integer.

        message:
            Redacted and cut to size; empty where there is no text.

        details:
            For diagnosis, never for end users; empty where there is no object.

        reason:
            ``details.reason``, known or not.

        mcp_server:
            The MCP server, in whichever spelling; redacted and cut to size, as is the capability.

        capability:
            What the MCP server can't do.
    """

    code: int
    message: str
    details: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    reason: str | None = field(default=None, repr=False)
    mcp_server: str | None = None
    capability: str | None = None

    @property
    def retryable(self) -> bool:
        """
        Whether another try may succeed, as far as the reason tells; False for an unknown one.
        """
        return (self.code, self.reason) in _PASSING

    def __str__(self) -> str:
        """
        Return code and message.
        """
        return f"[{self.code}] {self.message}"


def agent_view(payload: object) -> AgentError:
    """
    Return the lenient view of anything that stands where a payload is due. Never raises.
    """
    obj: Mapping[Any, Any] = (
        payload.to_wire() if isinstance(payload, ErrorPayload) else _object(payload)
    )
    code = obj.get("code")
    details = _object(obj.get("details"))
    return AgentError(
        code=int(code) if is_integer(code) and code in CODES else _NO_CODE,
        message=sanitize(obj.get("message"), MESSAGE_BYTES),
        details=details,
        reason=reason if isinstance(reason := details.get("reason"), str) else None,
        mcp_server=sanitize(obj.get("mcp_server"), ID_BYTES)
        or sanitize(obj.get("mcp_server_name"), ID_BYTES)
        or None,
        capability=sanitize(obj.get("capability"), ID_BYTES) or None,
    )


def agent_error(ack: object, protocol: Protocol = READ) -> AgentError | None:
    """
    Return the failure that an acknowledgement is, leniently. None: it is a success.

    Raises:
        ValueError: There is no such version. Nothing that a peer sends raises.
    """
    return agent_view(ack) if is_protocol_error_payload(ack, protocol) else None


def user_text(failure: ErrorPayload | AgentError) -> str:
    """
    Return the text of a failure for an end user: its message, sanitized, or its code's meaning.

    Details never reach it: only code and message go in.
    """
    return _user_message(failure.code, failure.message)


def _user_message(code: int, message: str) -> str:
    return sanitize(message, MESSAGE_BYTES) or meaning_of(code)


def _object(value: object) -> Mapping[Any, Any]:
    return value if is_mapping(value) else {}
