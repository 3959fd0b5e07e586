"""
Both majors of the MCP SDK, and FastMCP: errors of JSON-RPC, and what authors raise for hosts.

An ``MCPError`` that is judged here answers a request which the *tool* made. Its text is the peer's:
what a rule shows of it gets redacted as any text.
"""

from __future__ import annotations

from typing import Final

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._meanings import jsonrpc
from toolfault._meanings.rows import LATER, NO_USE, OPERATOR
from toolfault._verdict import Rule, Verdict, replace
from toolfault.rules._helpers import attr, first_argument, int_attr, str_attr


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
    sentence="The MCP server that the tool talks to closed the connection",
    advice=LATER,
    family="network",
    origin="transport",
)
_LATE: Final = Verdict(
    code=McpErrorCode.TOOL_TIMEOUT,
    sentence=(
        "The MCP server that the tool talks to did not answer in time, and whether the request was"
        " carried out is unknown"
    ),
    advice=LATER,
    family="timeout",
    origin="upstream",
)
_NO_TOOL: Final = Verdict(code=McpErrorCode.TOOL_NOT_FOUND, origin="upstream")
_ARGUMENTS: Final = Verdict(
    code=McpErrorCode.INVALID_ARGUMENTS, origin="upstream", blames_values=True
)
_DENIED: Final = Verdict(code=McpErrorCode.PERMISSION_DENIED, family="auth", origin="upstream")
_DECLINED: Final = replace(_DENIED, category=McpErrorCategory.PERMANENT)
_LOGIN: Final = Verdict(
    code=McpErrorCode.INTERNAL,
    category=McpErrorCategory.AUTH,
    sentence="The server could not log in at the MCP server that the tool talks to",
    advice=OPERATOR,
    family="auth",
)

#: How the meanings of JSON-RPC numbers read where a tool's own request failed.
_AS_UPSTREAM: Final[dict[Verdict, Verdict]] = {
    jsonrpc.TIMED_OUT: _LATE,
    jsonrpc.UNREACHABLE: _UNREACHABLE,
    jsonrpc.SESSION_GONE: replace(
        _UNREACHABLE,
        retryable=False,
        sentence="The MCP server that the tool talks to no longer knows the tool's session",
        advice=OPERATOR,
    ),
    jsonrpc.NO_ENDPOINT: replace(
        _UNREACHABLE,
        category=McpErrorCategory.PERMANENT,
        retryable=False,
        sentence="What answered the tool is not an MCP server",
        advice=OPERATOR,
    ),
    jsonrpc.NO_TOOL: _NO_TOOL,
    jsonrpc.ARGUMENTS: _ARGUMENTS,
    jsonrpc.CLIENT_LACKS: _DENIED,
    jsonrpc.DECLINED: _DECLINED,
    jsonrpc.BROKEN: _BROKEN,
}

#: How much of a peer's text is looked at.
_TEXT: Final = 2048


def _answer(exc: BaseException) -> Verdict:
    """
    Judge by the JSON-RPC code, and by the words where SDKs share a code for several things.
    """
    error = attr(exc, "error")
    code, text = int_attr(error, "code"), str_attr(error, "message")
    if code is None or text is None:
        # Made with the wrong arguments: the text alone is left.
        code, text = None, text or first_argument(exc)
    text = text[:_TEXT]
    if code is not None:
        meaning = jsonrpc.meaning_with_words(code, text, "request")
        if meaning is not None:
            return _AS_UPSTREAM[meaning]
    return _judge_words(text, code)


def _judge_words(text: str, code: int | None) -> Verdict:
    # At the first answer that only its words explain.
    from toolfault._prose.careful import careful  # noqa: PLC0415

    said = careful(text, rpc_code=code)
    # A request that is no request is a mistake of whoever wrote it, not of whoever called the tool.
    if said is None or (code in _MALFORMED and said.code is McpErrorCode.INVALID_ARGUMENTS):
        return _BROKEN
    return replace(said, origin=said.origin or "upstream")


_MALFORMED: Final = frozenset({-32600, -32700})


def _judge_crash(exc: BaseException) -> Verdict:
    """
    Judge what the SDK put around a crash: by what is inside.
    """
    return replace(_GENERAL, judge_instead=exc.__cause__)


def _plain(sentence: str, *, code: McpErrorCode = McpErrorCode.INTERNAL) -> Verdict:
    return Verdict(code=code, sentence=sentence, advice=NO_USE)


RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(HOST_ERRORS, _GENERAL),
    "mcp.shared.exceptions.MCPError": _answer,
    "mcp.shared.exceptions.McpError": _answer,  # mcp 1.x
    "mcp.shared.exceptions.NoBackChannelError": _plain(
        "The tool has no way to ask its client anything"
    ),
    "mcp.server.mcpserver.exceptions.MCPServerError": _GENERAL,
    "mcp.server.mcpserver.exceptions.ResourceNotFoundError": _ARGUMENTS,
    "mcp.server.mcpserver.exceptions.UnexpectedResourceError": _judge_crash,
    "mcp.server.mcpserver.exceptions.UnexpectedToolError": _judge_crash,
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
        sentence="The connection to the MCP server that the tool talks to failed",
        advice=LATER,
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
