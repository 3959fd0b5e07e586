"""
The two closed vocabularies of the contract, and what a code implies.

Rule 1: the wire strings are Everruns' ``McpErrorCode`` and ``McpErrorCategory``; nothing is added
here.
Rule 2: category and retryable are defaults of a code. Every occurrence may differ in each,
independently.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, TypeAlias

from toolfault._names import public
from toolfault._options import did_you_mean


CodeName: TypeAlias = Literal[
    "tool_not_found",
    "tool_timeout",
    "tool_panicked",
    "invalid_arguments",
    "permission_denied",
    "quota_exceeded",
    "network_blocked",
    "mcp_server_unreachable",
    "internal",
    "unknown",
]
"""
The wire string of a `McpErrorCode`, for editors that complete it.
"""

CategoryName: TypeAlias = Literal["transient", "permanent", "validation", "auth", "unknown"]
"""
The wire string of a `McpErrorCategory`, for editors that complete it.
"""


@public
class McpErrorCode(StrEnum):
    """
    What went wrong: one of ten words.
    """

    TOOL_NOT_FOUND = "tool_not_found"
    """
    No tool has that name. A thing that the tool looked for and did not find is `INVALID_ARGUMENTS`.
    """

    TOOL_TIMEOUT = "tool_timeout"
    """
    Time ran out after work began, and whether it happened is unknown.

    A connection that was never made is `INTERNAL`.
    """

    TOOL_PANICKED = "tool_panicked"
    """
    The tool's code failed in a way that its author did not plan.

    A failure that was planned for is `INTERNAL`.
    """

    INVALID_ARGUMENTS = "invalid_arguments"
    """
    Another call would work. If nobody may do it at all, it is `PERMISSION_DENIED`.
    """

    PERMISSION_DENIED = "permission_denied"
    """
    The caller is known and not allowed.

    Traffic that a policy stops, whoever calls, is `NETWORK_BLOCKED`.
    """

    QUOTA_EXCEEDED = "quota_exceeded"
    """
    A limit is reached; waiting or paying helps.

    An overloaded server without a limit is `INTERNAL`, transient.
    """

    NETWORK_BLOCKED = "network_blocked"
    """
    A policy, not an outage, stops the connection.

    An outage of what the tool talks to is `INTERNAL`, transient.
    """

    MCP_SERVER_UNREACHABLE = "mcp_server_unreachable"
    """
    The MCP server itself cannot be reached, or died.

    An HTTP API or a database behind a tool is `INTERNAL`.
    """

    INTERNAL = "internal"
    """
    The server, or something behind it, failed. Only `retryable` says whether to try again.
    """

    UNKNOWN = "unknown"
    """
    A reader's word for a code that it does not know. No server sends it.
    """


@public
class McpErrorCategory(StrEnum):
    """
    What kind of help would mend the failure.
    """

    TRANSIENT = "transient"
    """
    Time helps. If only a person or a deployment helps, it is `PERMANENT`.
    """

    PERMANENT = "permanent"
    """
    The same call will fail again. If another call would work, it is `VALIDATION`.
    """

    VALIDATION = "validation"
    """
    Other arguments help. If other credentials help, it is `AUTH`.
    """

    AUTH = "auth"
    """
    Other credentials or rights help; the code tells whose.
    """

    UNKNOWN = "unknown"
    """
    A reader's word for a category that it does not know. No server sends it.
    """


MEANINGS: Final[dict[McpErrorCode, str]] = {
    McpErrorCode.TOOL_NOT_FOUND: "no tool of that name",
    McpErrorCode.TOOL_TIMEOUT: "time ran out after work began",
    McpErrorCode.TOOL_PANICKED: "the tool's code failed in a way that its author did not plan",
    McpErrorCode.INVALID_ARGUMENTS: "the caller can mend it by calling differently",
    McpErrorCode.PERMISSION_DENIED: "the caller is known and not allowed",
    McpErrorCode.QUOTA_EXCEEDED: "a limit is reached; waiting or paying helps",
    McpErrorCode.NETWORK_BLOCKED: "a policy, not an outage, stops the connection",
    McpErrorCode.MCP_SERVER_UNREACHABLE: "the MCP server itself cannot be reached, or died",
    McpErrorCode.INTERNAL: "the server, or something behind it, failed",
    McpErrorCode.UNKNOWN: "a reader's word for a code that it does not know; no server sends it",
}
"""
The meaning of each code in a few words.
"""

#: What each code implies where nothing else is said: category, retryable (E9).
DEFAULTS: Final[dict[McpErrorCode, tuple[McpErrorCategory, bool]]] = {
    McpErrorCode.TOOL_NOT_FOUND: (McpErrorCategory.PERMANENT, False),
    McpErrorCode.TOOL_TIMEOUT: (McpErrorCategory.TRANSIENT, True),
    McpErrorCode.TOOL_PANICKED: (McpErrorCategory.PERMANENT, False),
    McpErrorCode.INVALID_ARGUMENTS: (McpErrorCategory.VALIDATION, False),
    McpErrorCode.PERMISSION_DENIED: (McpErrorCategory.AUTH, False),
    McpErrorCode.QUOTA_EXCEEDED: (McpErrorCategory.TRANSIENT, True),
    McpErrorCode.NETWORK_BLOCKED: (McpErrorCategory.PERMANENT, False),
    McpErrorCode.MCP_SERVER_UNREACHABLE: (McpErrorCategory.TRANSIENT, True),
    McpErrorCode.INTERNAL: (McpErrorCategory.PERMANENT, False),
    McpErrorCode.UNKNOWN: (McpErrorCategory.PERMANENT, False),
}


def fill_defaults(
    code: McpErrorCode, category: McpErrorCategory | None, retryable: bool | None
) -> tuple[McpErrorCategory, bool]:
    """
    Return a category and whether to retry; what is None is the code's default.
    """
    default_category, default_retryable = DEFAULTS[code]
    return (
        default_category if category is None else category,
        default_retryable if retryable is None else retryable,
    )


_CODES: Final = {code.value: code for code in McpErrorCode}
_CATEGORIES: Final = {category.value: category for category in McpErrorCategory}


Revision: TypeAlias = Literal["0.36", "0.48"]
"""
The revisions of Everruns' contract: the second has a code ``insufficient_scope``, which reads as
``permission_denied``.
"""

_LATER_CODES: Final = {"insufficient_scope": McpErrorCode.PERMISSION_DENIED}


def fold_code(wire: str, revision: Revision = "0.36") -> McpErrorCode:
    """
    Return the code with this wire string; `McpErrorCode.UNKNOWN` if there is none.

    Args:
        wire: The string as it came.
        revision: Whose codes are known.
    """
    known = _CODES.get(wire)
    if known is None and revision == "0.48":
        known = _LATER_CODES.get(wire)
    return McpErrorCode.UNKNOWN if known is None else known


def fold_category(wire: str) -> McpErrorCategory:
    """
    Return the category with this wire string; `McpErrorCategory.UNKNOWN` if there is none.
    """
    return _CATEGORIES.get(wire, McpErrorCategory.UNKNOWN)


def code_named(name: str) -> McpErrorCode:
    """
    Return the code that an author named.

    Raises:
        ValueError: There is no such code; the message suggests the nearest and lists all.
    """
    if isinstance(name, McpErrorCode):
        return name
    try:
        return _CODES[name]
    except (KeyError, TypeError):
        raise ValueError(_no_such("McpErrorCode", name, list(_CODES))) from None


def category_named(name: str) -> McpErrorCategory:
    """
    Return the category that an author named.

    Raises:
        ValueError: There is no such category; the message suggests the nearest and lists all.
    """
    if isinstance(name, McpErrorCategory):
        return name
    try:
        return _CATEGORIES[name]
    except (KeyError, TypeError):
        raise ValueError(_no_such("McpErrorCategory", name, list(_CATEGORIES))) from None


def _no_such(kind: str, name: object, known: list[str]) -> str:
    near = did_you_mean(name, known) or "."
    return f"{name!r} is not a {kind}{near} There are {', '.join(known)}"
