"""
A failed tool call: an MCP tool result whose ``meta`` says what kind of failure it is.

Rule 1: the key is ``meta``, without the underscore of MCP's own; a reader takes either.
Rule 2: a cancellation is a failure without a code. All that has no marker is a plain failure.
Rule 3: a hint on logging in holds no token, no OAuth parameter, no credentials; not when it is
written, nor when read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from toolfault._json import as_mapping, is_array, is_mapping
from toolfault._sanitize import ID_BYTES, sanitize, sanitize_first
from toolfault._text import CAUSE_BYTES, encodable
from toolfault.dialects.a2c_smcp._codes import WRITTEN, ErrorCode, Protocol


Kind = Literal["failed", "timeout", "cancelled", "auth"]
"""
What a tool result says of a failed call.
"""

_TIMEOUT: Final = "a2c_timeout"
#: The same in protocol 0.2, before it had a prefix.
_OLD_TIMEOUT: Final = "timeout"

#: What marks a code in ``meta``. The others have no marker.
MARKERS: Final[Mapping[int, Mapping[str, Any]]] = {
    ErrorCode.TOOL_TIMEOUT: {_TIMEOUT: True},
    ErrorCode.TOOL_AUTHORIZATION_REQUIRED: {"error_code": 4006},
    ErrorCode.TOOL_AUTHORIZATION_FAILED: {"error_code": 4007},
}

#: A query or fragment, and a parameter of OAuth wherever it stands.
_QUERY: Final = re.compile(r"(\b[a-z][a-z0-9+.-]{0,16}://[^\s?#]{1,2048})[?#]\S*", re.IGNORECASE)
_OAUTH: Final = re.compile(
    r"""["']?\b(?:client_id|client_secret|code|code_challenge|code_verifier|device_code|user_code|state|nonce|scope"""
    r"""|redirect_uri|assertion|id_token|access_token|refresh_token)["']?\s{0,4}[=:]\s{0,4}(?:"[^"]*"|'[^']*'|[^\s&,;)]+)""",
    re.IGNORECASE,
)
_ACTION: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class AuthHint:
    """
    What a person may do so that the tool can log in.

    Attributes:
        action:
            A word for a program, such as ``user_authorization_required``.

        message:
            A text for a person, less tokens, OAuth parameters and credentials.
    """

    action: str | None = None
    message: str | None = None

    def __post_init__(self) -> None:
        """
        Take out what must not be in a hint; an action that is not a plain word is dropped.
        """
        action = (
            self.action if isinstance(self.action, str) and _ACTION.fullmatch(self.action) else None
        )
        object.__setattr__(self, "action", action)
        object.__setattr__(self, "message", _harmless(self.message))

    def to_wire(self) -> dict[str, str]:
        """
        Return the object for the wire.
        """
        members = {"action": self.action, "message": self.message}
        return {name: value for name, value in members.items() if value}


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """
    What a tool result says of a failed call.

    Attributes:
        kind:
            A plain failure, a timeout, a cancellation, or a login that is missing or refused.

        code:
            The code that stands for it. None: a cancellation, which has none.

        message:
            The result's first text, redacted and cut to size.

        mcp_server:
            The MCP server whose login it is.

        auth_hint:
            What a person may do about it.

        cancel_reason:
            Why the call was cancelled.
    """

    kind: Kind
    code: ErrorCode | None
    message: str
    mcp_server: str | None = None
    auth_hint: AuthHint | None = None
    cancel_reason: str | None = None


def read_tool_result(result: object) -> ToolFailure | None:
    """
    Return the failure of a tool result, or None for a success or another value. Never raises.
    """
    if not is_mapping(result) or result.get("isError") is not True:
        return None
    meta = meta_of(result)
    kind, code = _kind(meta)
    hint = meta.get("auth_hint")
    return ToolFailure(
        kind=kind,
        code=code,
        message=sanitize_first(texts_of(result)),
        mcp_server=sanitize(meta.get("mcp_server"), ID_BYTES) or None,
        auth_hint=AuthHint(hint.get("action"), hint.get("message")) if is_mapping(hint) else None,
        cancel_reason=sanitize(meta.get("a2c_cancel_reason"), ID_BYTES) or None,
    )


def write_tool_result(
    message: str,
    code: int = ErrorCode.TOOL_EXECUTION_FAILED,
    *,
    protocol: Protocol = WRITTEN,
    mcp_server: str | None = None,
    auth_hint: AuthHint | None = None,
    meta: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """
    Return the tool result of a failed call.

    Args:
        message: What a model reads.
        code: What went wrong; only a timeout and the two logins have a marker.
        protocol: The version that the receiver speaks.
        mcp_server: The MCP server whose login it is.
        auth_hint: What a person may do about it.
        meta: Further members of ``meta``.
    """
    marks = dict(MARKERS.get(code, {}))
    if protocol == "0.2" and code == ErrorCode.TOOL_TIMEOUT:
        marks[_OLD_TIMEOUT] = True
    if mcp_server is not None:
        marks["mcp_server"] = mcp_server
    if auth_hint is not None and (said := auth_hint.to_wire()):
        marks["auth_hint"] = said
    return _failure_result(message, {**(meta or {}), **marks})


def respell(result: Mapping[Any, Any], protocol: Protocol) -> dict[str, Any]:
    """
    Return a tool result with its ``meta``, and the marker of a timeout, in a version's spelling.

    The rest stays as it is.
    """
    name = "meta" if is_mapping(result.get("meta")) else "_meta"
    meta = dict(as_mapping(result.get(name)))
    marker = _OLD_TIMEOUT if protocol == "0.2" else _TIMEOUT
    if _kind(meta_of(result))[0] == "timeout" and meta.get(marker) is not True:
        meta[marker] = True
    spelled: dict[str, Any] = {}
    for key, value in result.items():
        if key == name:
            spelled["meta"] = meta
        else:
            spelled[key] = value
    return spelled


def write_cancelled(message: str, *, reason: str | None = None) -> dict[str, Any]:
    """
    Return the tool result of a call that was cancelled.

    Args:
        message: What a model reads.
        reason: Why, as a word, such as ``agent_requested``.
    """
    why = {} if reason is None else {"a2c_cancel_reason": reason}
    return _failure_result(message, {"a2c_cancelled": True, **why})


def authorization_code(
    *,
    status: int | None = None,
    trouble: Literal["not_configured", "refresh_failed", "revoked", "insufficient_scope", "network"]
    | None = None,
    about_login: bool = False,
) -> ErrorCode:
    """
    Return the code for an upstream's failure that may be one of logging in.

    Args:
        status: The upstream's HTTP status, if it is known.
        trouble: What is known besides the status; it decides.
        about_login: It is known to be a matter of logging in, though the status is lost. Then
            somebody is asked to log
            in, rather than left to wait.
    """
    if trouble is not None:
        return _TROUBLE[trouble]
    if status is not None:
        return _STATUS.get(status, ErrorCode.TOOL_EXECUTION_FAILED)
    return ErrorCode.TOOL_AUTHORIZATION_REQUIRED if about_login else ErrorCode.TOOL_EXECUTION_FAILED


_STATUS: Final = {
    401: ErrorCode.TOOL_AUTHORIZATION_REQUIRED,
    403: ErrorCode.TOOL_AUTHORIZATION_FAILED,
}
_TROUBLE: Final = {
    "not_configured": ErrorCode.TOOL_AUTHORIZATION_REQUIRED,
    "refresh_failed": ErrorCode.TOOL_AUTHORIZATION_FAILED,
    "revoked": ErrorCode.TOOL_AUTHORIZATION_FAILED,
    "insufficient_scope": ErrorCode.TOOL_AUTHORIZATION_FAILED,
    "network": ErrorCode.TOOL_EXECUTION_FAILED,
}


def meta_of(result: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """
    Return a result's ``meta`` in whichever spelling, both merged; empty if there is none.

    Where both have a member, the protocol's own spelling counts.
    """
    return {**as_mapping(result.get("_meta")), **as_mapping(result.get("meta"))}


def texts_of(result: Mapping[Any, Any]) -> Iterable[str]:
    """
    Yield the texts of a result, then the one that a computer puts into ``structuredContent``.
    """
    blocks = result.get("content")
    for block in blocks if is_array(blocks) else ():
        if is_mapping(block) and isinstance(text := block.get("text"), str):
            yield text
    body = result.get("structuredContent")
    if is_mapping(body) and isinstance(text := body.get("error"), str):
        yield text


def _kind(meta: Mapping[Any, Any]) -> tuple[Kind, ErrorCode | None]:
    code = meta.get("error_code")
    if type(code) is int and code in _LOGINS:
        return "auth", ErrorCode(code)
    if meta.get("a2c_cancelled") is True:
        return "cancelled", None
    if meta.get(_TIMEOUT) is True or meta.get(_OLD_TIMEOUT) is True:
        return "timeout", ErrorCode.TOOL_TIMEOUT
    return "failed", ErrorCode.TOOL_EXECUTION_FAILED


_LOGINS: Final = frozenset(
    {ErrorCode.TOOL_AUTHORIZATION_REQUIRED, ErrorCode.TOOL_AUTHORIZATION_FAILED}
)


def _failure_result(message: str, meta: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": encodable(message)}],
        "isError": True,
    }
    return {**result, "meta": dict(meta)} if meta else result


def _harmless(message: object) -> str | None:
    if not isinstance(message, str):
        return None
    text = _OAUTH.sub("", _QUERY.sub(r"\1", sanitize(message, CAUSE_BYTES)))
    return sanitize(text, CAUSE_BYTES) or None
