"""
The MCP SDK, both majors, and FastMCP: what a peer answers over JSON-RPC, and what hosts give
authors to raise.

An ``MCPError`` that is judged here answers a request which the *tool* made. Its text is the peer's:
what a rule shows of it gets redacted as any text.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._verdict import Rule, Verdict
from toolfault.rules._helpers import NO_USE, OPERATOR, attr, first_argument, whole, words


#: The classes that a host's docs tell authors to raise; they say nothing but their text.
HOST_ERRORS: Final = frozenset(
    {
        "mcp.server.mcpserver.exceptions.ToolError",
        "mcp.server.mcpserver.exceptions.ResourceError",
        "mcp.server.fastmcp.exceptions.ToolError",
        "mcp.server.fastmcp.exceptions.ResourceError",
        "fastmcp.exceptions.ToolError",
        "fastmcp.exceptions.ResourceError",
        "fastmcp.exceptions.PromptError",
    }
)

_GENERAL: Final = Verdict(code=McpErrorCode.INTERNAL, family="general")
_BROKEN: Final = Verdict(code=McpErrorCode.INTERNAL)
_UNREACHABLE: Final = Verdict(
    code=McpErrorCode.MCP_SERVER_UNREACHABLE,
    message="The MCP server that the tool talks to closed the connection. Try again later.",
    family="network",
    origin="transport",
)
_LATE: Final = Verdict(
    code=McpErrorCode.TOOL_TIMEOUT,
    message="The MCP server that the tool talks to did not answer in time, and whether the request was carried out "
    "is unknown. Try again later.",
    family="timeout",
    origin="upstream",
)
_NO_TOOL: Final = Verdict(code=McpErrorCode.TOOL_NOT_FOUND, origin="upstream")
_ARGUMENTS: Final = Verdict(code=McpErrorCode.INVALID_ARGUMENTS, origin="upstream", forwarded=True)
_DENIED: Final = Verdict(code=McpErrorCode.PERMISSION_DENIED, family="auth", origin="upstream")
_DECLINED: Final = replace(_DENIED, category=McpErrorCategory.PERMANENT)
_LOGIN: Final = Verdict(
    code=McpErrorCode.INTERNAL,
    category=McpErrorCategory.AUTH,
    message=f"The server could not log in at the MCP server that the tool talks to. {OPERATOR}",
    family="auth",
)

#: JSON-RPC codes that mean one thing, whatever the text.
_BY_CODE: Final[dict[int, Verdict]] = {
    -1: _DECLINED,  # a person said no to sampling
    -32002: _ARGUMENTS,  # resource not found, until 2025-11-25
    -32020: _BROKEN,  # header mismatch
    -32021: _DENIED,  # missing client capability
    -32022: _BROKEN,  # unsupported protocol version
    -32042: _DENIED,  # URL elicitation required
    -32602: _ARGUMENTS,
    -32601: _BROKEN,
}

_timed_out = re.compile(r"\btim(?:ed|e)[ -]?out\b", re.IGNORECASE).search
_closed = re.compile(
    r"\bconnection (?:was )?(?:closed|lost)\b|\bclosed connection\b", re.IGNORECASE
).search
_no_tool = re.compile(
    r"\b(?:unknown tool|no such tool|tool not found)\b"
    r"|\btool[:\s]{1,3}\S{1,128} (?:is |was )?(?:not found|unknown|does not exist)",
    re.IGNORECASE,
).search

#: How much of a peer's text is looked at.
_TEXT: Final = 2048


def _answer(exc: BaseException) -> Verdict:
    """
    Judge by the JSON-RPC code, and by the words where SDKs share a code for several things.
    """
    error = attr(exc, "error")
    code, text = whole(error, "code"), words(error, "message")
    if code is None or text is None:
        # Made with the wrong arguments: the text alone is left.
        code, text = None, text or first_argument(exc)
    text = text[:_TEXT]
    # -32001 has meant half a dozen things, and only a timeout says so.
    if code in {-32001, 408} and _timed_out(text):
        return _LATE
    if code == -32000 and _closed(text):
        return _UNREACHABLE
    if code in {-32601, -32602} and _no_tool(text):
        return _NO_TOOL
    if code is not None and (verdict := _BY_CODE.get(code)) is not None:
        return verdict
    return _by_words(text, code)


def _by_words(text: str, code: int | None) -> Verdict:
    # At the first answer that only its words explain.
    from toolfault._prose.careful import careful  # noqa: PLC0415

    said = careful(text, rpc_code=code)
    # A request that is no request is a mistake of whoever wrote it, not of whoever called the tool.
    if said is None or (code in _MALFORMED and said.code is McpErrorCode.INVALID_ARGUMENTS):
        return _BROKEN
    return replace(said, origin=said.origin or "upstream")


_MALFORMED: Final = frozenset({-32600, -32700})


def _unexpected(exc: BaseException) -> Verdict:
    """
    Judge what the SDK put around a crash: by what is inside.
    """
    return replace(_GENERAL, instead=exc.__cause__)


def _plain(sentence: str, *, code: McpErrorCode = McpErrorCode.INTERNAL) -> Verdict:
    return Verdict(code=code, message=f"{sentence}. {NO_USE}")


RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(HOST_ERRORS, _GENERAL),
    "mcp.shared.exceptions.MCPError": _answer,
    "mcp.shared.exceptions.McpError": _answer,  # mcp 1.x
    "mcp.shared.exceptions.NoBackChannelError": _plain(
        "The tool has no way to ask its client anything"
    ),
    "mcp.server.mcpserver.exceptions.MCPServerError": _GENERAL,
    "mcp.server.mcpserver.exceptions.ResourceNotFoundError": _ARGUMENTS,
    "mcp.server.mcpserver.exceptions.UnexpectedResourceError": _unexpected,
    "mcp.server.mcpserver.exceptions.UnexpectedToolError": _unexpected,
    "mcp.server.mcpserver.exceptions.InvalidSignature": _plain(
        "A tool of the server has a signature that can't be used", code=McpErrorCode.TOOL_PANICKED
    ),
    "mcp.server.fastmcp.exceptions.FastMCPError": _GENERAL,
    "mcp.server.fastmcp.exceptions.InvalidSignature": _plain(
        "A tool of the server has a signature that can't be used", code=McpErrorCode.TOOL_PANICKED
    ),
    "mcp.client._input_required.InputRequiredRoundsExceededError": _plain(
        "The MCP server that the tool talks to asked for more input too often"
    ),
    "mcp.client.auth.exceptions.OAuthFlowError": _LOGIN,
    "mcp.client.extension.UnexpectedClaimedResult": _plain(
        "The MCP server that the tool talks to gave a kind of result that the tool did not expect"
    ),
    "mcp.client.streamable_http.StreamableHTTPError": replace(
        _UNREACHABLE,
        message="The connection to the MCP server that the tool talks to failed. Try again later.",
    ),
    "mcp.client.streamable_http.ResumptionError": _plain(
        "The MCP server that the tool talks to could not resume where it stopped"
    ),
    "mcp.shared.uri_template.InvalidUriTemplate": _plain(
        "The tool uses a URI template that is not valid", code=McpErrorCode.TOOL_PANICKED
    ),
    "fastmcp.exceptions.FastMCPError": _GENERAL,
    "fastmcp.exceptions.AuthorizationError": _DENIED,
    "fastmcp.exceptions.ClientError": _BROKEN,
    "fastmcp.exceptions.DisabledError": _BROKEN,
    "fastmcp.exceptions.NotFoundError": _ARGUMENTS,
    "fastmcp.exceptions.ValidationError": _BROKEN,
    "fastmcp.exceptions.InvalidSignature": _plain(
        "A tool of the server has a signature that can't be used", code=McpErrorCode.TOOL_PANICKED
    ),
}

#: Left without a rule on purpose: the SDK raises and answers these in its own authorization
#: endpoints.
IGNORED: Final = frozenset(
    {
        "mcp.server.auth.provider.AuthorizeError",
        "mcp.server.auth.provider.RegistrationError",
        "mcp.server.auth.provider.TokenError",
        "mcp.shared.auth.InvalidRedirectUriError",
        "mcp.shared.auth.InvalidScopeError",
    }
)
