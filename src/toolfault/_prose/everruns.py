"""
The contract's own classifier of messages (C1 to C17).

Rule 1: word for word, with its faults; nothing is added here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from toolfault._codes import McpErrorCode, Revision


_UPPER_ASCII: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def _begins(*starts: str) -> Callable[[str], bool]:
    return lambda text: text.startswith(starts)


def _contains(*parts: str) -> Callable[[str], bool]:
    return lambda text: any(part in text for part in parts)


def _contains_all(*parts: str) -> Callable[[str], bool]:
    return lambda text: all(part in text for part in parts)


#: The tests in their order, on lower case; the first that matches decides.
_TABLE: Final = (
    (_begins("bad_request:", "unprocessable:"), McpErrorCode.INVALID_ARGUMENTS),
    (_begins("not_found:"), McpErrorCode.TOOL_NOT_FOUND),
    (_begins("conflict:"), McpErrorCode.INVALID_ARGUMENTS),
    (_begins("forbidden:"), McpErrorCode.PERMISSION_DENIED),
    (_begins("internal:"), McpErrorCode.INTERNAL),
    (_contains("timed out", "timeout"), McpErrorCode.TOOL_TIMEOUT),
    (_begins("unknown tool"), McpErrorCode.TOOL_NOT_FOUND),
    (_begins("missing required parameter"), McpErrorCode.INVALID_ARGUMENTS),
    (_contains("invalid argument"), McpErrorCode.INVALID_ARGUMENTS),
    (
        _contains("permission denied", "forbidden", "not authorized", "unauthorized"),
        McpErrorCode.PERMISSION_DENIED,
    ),
    (_contains("quota", "rate limit"), McpErrorCode.QUOTA_EXCEEDED),
    (_contains("network blocked", "egress"), McpErrorCode.NETWORK_BLOCKED),
    (_contains_all("mcp server", "unreachable"), McpErrorCode.MCP_SERVER_UNREACHABLE),
    (_contains("panicked"), McpErrorCode.TOOL_PANICKED),
)


def exact(text: str, revision: Revision = "0.36") -> McpErrorCode:
    """
    Return the code that Everruns' own classifier gives a message.

    It follows the contract to the letter, so that both peers agree; elsewhere `careful` says more.

    Args:
        text: The message.
        revision: Whose classifier. From 0.48 on, ``insufficient_scope:`` is asked first of the
            prefixes that stand before ``internal:``, and reads as ``permission_denied``.
    """
    # str.lower() folds the Kelvin sign to k; the contract does not.
    low = text.lower() if text.isascii() else text.translate(_UPPER_ASCII)
    if revision == "0.48" and low.startswith("insufficient_scope:"):
        return McpErrorCode.PERMISSION_DENIED
    return next((code for fits, code in _TABLE if fits(low)), McpErrorCode.INTERNAL)
