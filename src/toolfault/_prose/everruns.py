"""
The contract's own classifier of messages (C1 to C17).

Rule 1: word for word, with its faults; nothing is added here.
"""

from __future__ import annotations

from typing import Final

from toolfault._codes import McpErrorCode, Revision


_UPPER_ASCII: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}

_STARTS: Final = (
    (("bad_request:", "unprocessable:"), McpErrorCode.INVALID_ARGUMENTS),
    (("not_found:",), McpErrorCode.TOOL_NOT_FOUND),
    (("conflict:",), McpErrorCode.INVALID_ARGUMENTS),
    (("forbidden:",), McpErrorCode.PERMISSION_DENIED),
    (("internal:",), McpErrorCode.INTERNAL),
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
    for starts, code in _STARTS:
        if low.startswith(starts):
            return code
    if "timed out" in low or "timeout" in low:
        return McpErrorCode.TOOL_TIMEOUT
    if low.startswith("unknown tool"):
        return McpErrorCode.TOOL_NOT_FOUND
    if low.startswith("missing required parameter") or "invalid argument" in low:
        return McpErrorCode.INVALID_ARGUMENTS
    for words, code in _CONTAINS:
        if any(word in low for word in words):
            return code
    if "mcp server" in low and "unreachable" in low:
        return McpErrorCode.MCP_SERVER_UNREACHABLE
    return McpErrorCode.TOOL_PANICKED if "panicked" in low else McpErrorCode.INTERNAL


_CONTAINS: Final = (
    (
        ("permission denied", "forbidden", "not authorized", "unauthorized"),
        McpErrorCode.PERMISSION_DENIED,
    ),
    (("quota", "rate limit"), McpErrorCode.QUOTA_EXCEEDED),
    (("network blocked", "egress"), McpErrorCode.NETWORK_BLOCKED),
)
