"""
What an HTTP status of the MCP server itself means for a call.

The rows are those of any upstream; here a refusal speaks of the connection, not of the arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._verdict import Outcome, Verdict
from toolfault.errors import ToolFault
from toolfault.rules.http import beginning_of, verdict_for


_SERVER: Final = "The MCP server"

#: The statuses that say that a request was not carried out.
_NOT_EXECUTED: Final = frozenset({401, 402, 403, 404, 405, 406, 407, 411, 413, 414, 415, 421, 425})

#: The statuses that are about the size of the request, and so about its arguments.
_SIZE: Final = frozenset({413, 414})

_HINTS: Final = {
    401: "Log in to the server again, or set the right credentials for the gateway.",
    403: "Ask for the rights that the server wants, or set other credentials for the gateway.",
    404: "Check the URL of the server.",
    405: "Check the URL of the server.",
}

_PHRASES: Final = {
    200: "{} answered with something that is not an MCP message",
    202: "{} accepted the request, and gave no answer",
    404: "{} is not at this URL",
    405: "{} is not at this URL",
}


def fault_for_status(status: int, headers: Mapping[str, str], body: bytes) -> ToolFault:
    """
    Return the failure that an answer without a usable message tells.

    Args:
        status: The HTTP status.
        headers: The headers, in any case.
        body: The beginning of the body; never shown.
    """
    verdict = verdict_for(status, headers=headers, body=beginning_of(body), peer=_SERVER)
    code, category = _classify(status, verdict)
    note = f" (HTTP {status})."
    phrase = _PHRASES.get(_row(status)) or verdict.sentence or "{} failed"
    sentence = phrase.format(_SERVER, peer=_SERVER)
    fault = ToolFault(
        code,
        sentence + note,
        category=category,
        retryable=verdict.retryable if status >= 400 else False,
        retry_after_seconds=verdict.retry_after_seconds,
        hint=_HINTS.get(status),
        outcome=_outcome(status),
    )
    fault.facts["upstream_status"] = status
    return fault


def _row(status: int) -> int:
    if not 200 <= status < 300:
        return status
    return 202 if status in {202, 204} else 200


def _classify(status: int, verdict: Verdict) -> tuple[McpErrorCode, McpErrorCategory | None]:
    is_refusal = verdict.code is McpErrorCode.INVALID_ARGUMENTS and status not in _SIZE
    if status < 400 or is_refusal:
        return McpErrorCode.MCP_SERVER_UNREACHABLE, McpErrorCategory.PERMANENT
    if verdict.code is McpErrorCode.INTERNAL:
        return McpErrorCode.MCP_SERVER_UNREACHABLE, verdict.category
    return verdict.code, verdict.category


def _outcome(status: int) -> Outcome:
    return "not_executed" if status in _NOT_EXECUTED or status == 429 else "unknown"
