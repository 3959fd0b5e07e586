"""
The numbers of JSON-RPC errors: their names, their eras, and what they mean alone and with words.

Rule 1: words count for more than most numbers, since SDKs share numbers for several things.
Rule 2: a number means one thing in answer to a tool call and may mean another in answer to a
request that the tool itself made.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._text import pattern
from toolfault._verdict import Verdict, replace


# ---- names and eras

#: The message is not JSON.
PARSE_ERROR: Final = -32700
#: The JSON is not a request.
INVALID_REQUEST: Final = -32600
#: There is no such method.
METHOD_NOT_FOUND: Final = -32601
#: The method does not take these parameters; in MCP also an unknown tool.
INVALID_PARAMS: Final = -32602
#: The server failed.
INTERNAL_ERROR: Final = -32603

RESOURCE_NOT_FOUND: Final = -32002
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
RATE_LIMITED: Final = -32023  # SEP-3304, a draft
URL_ELICITATION: Final = -32042

#: Errors with which a server asks its client for something; they mean nothing inside a result.
ASKS_CLIENT: Final = frozenset(
    {HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION, URL_ELICITATION}
)

_FIRST: Final = "2024-11-05"


class ProtocolError(NamedTuple):
    """
    One number that MCP assigns.

    Attributes:
        code: The number.
        name: The specification's name for it.
        since: The first revision that has it.
        until: The last revision that has it; "" if the newest still has it.
    """

    code: int
    name: str
    since: str = _FIRST
    until: str = ""


ERRORS: Final[dict[int, ProtocolError]] = {
    row.code: row
    for row in (
        ProtocolError(PARSE_ERROR, "ParseError"),
        ProtocolError(INVALID_REQUEST, "InvalidRequest"),
        ProtocolError(METHOD_NOT_FOUND, "MethodNotFound"),
        ProtocolError(INVALID_PARAMS, "InvalidParams"),
        ProtocolError(INTERNAL_ERROR, "InternalError"),
        ProtocolError(RESOURCE_NOT_FOUND, "ResourceNotFound", until="2025-11-25"),
        ProtocolError(
            URL_ELICITATION, "UrlElicitationRequired", since="2025-11-25", until="2025-11-25"
        ),
        ProtocolError(HEADER_MISMATCH, "HeaderMismatch", since="2026-07-28"),
        ProtocolError(MISSING_CAPABILITY, "MissingRequiredClientCapability", since="2026-07-28"),
        ProtocolError(UNSUPPORTED_VERSION, "UnsupportedProtocolVersion", since="2026-07-28"),
    )
}
"""
The assigned numbers.
"""


# ---- meanings

#: Whose request the error answers: the client's tool call, or a request that the tool made.
Half: TypeAlias = Literal["call", "request"]

SESSION_GONE: Final = Verdict(
    code=McpErrorCode.MCP_SERVER_UNREACHABLE,
    # In the same session it will not work either.
    retryable=False,
    family="network",
    hint="Open a new session and try again there.",
)
#: The server looks a session up before it reads the request in it.
SESSION_UNKNOWN: Final = replace(SESSION_GONE, outcome="not_executed")
UNREACHABLE: Final = Verdict(code=McpErrorCode.MCP_SERVER_UNREACHABLE, family="network")
TIMED_OUT: Final = Verdict(code=McpErrorCode.TOOL_TIMEOUT, family="timeout")
NO_TOOL: Final = Verdict(code=McpErrorCode.TOOL_NOT_FOUND)
ARGUMENTS: Final = Verdict(code=McpErrorCode.INVALID_ARGUMENTS)
#: A person or another client helps; other arguments do not.
CLIENT_LACKS: Final = Verdict(code=McpErrorCode.PERMISSION_DENIED, family="auth")
DECLINED: Final = Verdict(
    code=McpErrorCode.PERMISSION_DENIED, category=McpErrorCategory.PERMANENT, family="auth"
)
#: What answers is not an MCP server: a login page, a proxy, another path.
NO_ENDPOINT: Final = Verdict(
    code=McpErrorCode.MCP_SERVER_UNREACHABLE,
    category=McpErrorCategory.PERMANENT,
    retryable=False,
    family="network",
)
BROKEN: Final = Verdict(code=McpErrorCode.INTERNAL)
#: mcp's HTTP client says no more of a refused request, whatever its status was.
STATUS_LOST: Final = Verdict(
    code=McpErrorCode.UNKNOWN,
    category=McpErrorCategory.UNKNOWN,
    retryable=False,
    hint=(
        "mcp's HTTP client has lost the HTTP status of this failure;"
        " toolfault.integrations.mcp.keep_http_errors keeps it."
    ),
)
#: The server's own limiter answered before the tool was asked.
LIMITED: Final = Verdict(code=McpErrorCode.QUOTA_EXCEEDED, family="limit", outcome="not_executed")

_UNKNOWN_TOOL: Final = (
    r"(?is)\b(?:unknown|unrecogni[sz]ed|no such) tool\b"
    r"|\b(?:tool|method)\b.{0,200}?"
    r"\b(?:not found|does not exist|doesn't exist|not registered|is unknown)\b"
)
_NO_SUCH_TOOL: Final = (
    r"(?i)\b(?:unknown tool|no such tool|tool not found)\b"
    r"|\btool[:\s]{1,3}\S{1,128} (?:is |was )?(?:not found|unknown|does not exist)"
)
_TIMEOUT: Final = r"(?i)\btim(?:ed?|ing)[ -]?out\b|\btimeout\b|\bdeadline exceeded\b"
_SESSION_LOST: Final = (
    r"(?i)\bsession(?: id)?\b[^.\n]{0,40}"
    r"\b(?:not found|terminated|expired|unknown|invalid|missing|closed|lost|gone|does not exist)\b"
    r"|\b(?:unknown|invalid|missing|expired|no valid|no such) session\b"
)
#: The whole message, so that no tool's report about a session of its own fits.
_ONLY_SESSION_LOST: Final = (
    r"(?i)\A(?:(?:error|not found|bad request): |(?:the )?(?:upstream |remote )?mcp server: ){0,2}"
    r"(?:(?:the )?(?:mcp )?session(?: id)?"
    r" (?:not found|(?:has been |was |is |has )?(?:terminated|expired|closed|invalid|unknown))"
    r"|(?:unknown|invalid|expired|no such|no valid|invalid or expired|unknown or expired)"
    r" (?:mcp )?session(?: id)?(?: provided)?)\W{0,3}\Z"
)
_CLOSED: Final = (
    r"(?i)\bconnection (?:was )?(?:closed|lost|reset|refused|terminated|aborted)\b"
    r"|\bclosed (?:the )?connection\b"
    r"|\b(?:server|transport) (?:closed|disconnected)\b"
    r"|\ASSE stream (?:ended|failed)\b"
)
#: A request that a server sends to its client.
CLIENT_METHOD: Final = r"(?i)\b(?:sampling|elicitation|roots)/[a-z]{1,40}\b"
_OUTPUT_SCHEMA: Final = (
    r"(?i)\boutput validation error\b|\boutput schema\b"
    r"|\b(?:invalid structured content|structured_?content must be)\b"
)


#: What servers, and the SDKs' clients, say of a session that a server does not know.
_SESSION_UNKNOWN: Final = (
    r"(?i)\A(?:(?:error|not found|bad request): ){0,2}"
    r"(?:(?:the )?(?:mcp )?session(?: id)? (?:not found|(?:has been )?terminated|(?:is )?unknown)"
    r"|(?:unknown|no such) (?:mcp )?session(?: id)?(?: provided)?)\W{0,3}\Z"
)


class Meaning(NamedTuple):
    """
    What a number means together with words.

    Attributes:
        numbers: The numbers; empty for every number that no other row excludes.
        words: A pattern that the message must hold; "" if the number alone decides.
        call: The meaning in answer to a tool call. None: none.
        request: The meaning in answer to a request that a tool made. None: none.
        but: Numbers that the row is not about.
    """

    numbers: frozenset[int]
    words: str
    call: Verdict | None
    request: Verdict | None = None
    but: frozenset[int] = frozenset()

    def is_about(self, number: int) -> bool:
        """
        Tell whether the row is about a number.
        """
        return number in self.numbers if self.numbers else number not in self.but


def _numbers(*numbers: int) -> frozenset[int]:
    return frozenset(numbers)


#: In the order of asking. The band of -32000 has no agreed meanings: -32001 is a timeout in two
#: SDKs and an unknown session in others. Some rows are sentences of the SDKs' own HTTP clients.
_TABLE: Final = (
    Meaning(_numbers(METHOD_NOT_FOUND, INVALID_PARAMS), CLIENT_METHOD, CLIENT_LACKS, CLIENT_LACKS),
    Meaning(_numbers(METHOD_NOT_FOUND, INVALID_PARAMS), _UNKNOWN_TOOL, NO_TOOL),
    # In answer to a request, a method that is not found says nothing of tools.
    Meaning(_numbers(METHOD_NOT_FOUND, INVALID_PARAMS), _NO_SUCH_TOOL, None, NO_TOOL),
    Meaning(_numbers(INVALID_PARAMS), _OUTPUT_SCHEMA, BROKEN, BROKEN),
    Meaning(
        _numbers(-32000, -32001, INVALID_REQUEST, 32600),
        _SESSION_UNKNOWN,
        SESSION_UNKNOWN,
        SESSION_GONE,
    ),
    Meaning(
        frozenset(), _ONLY_SESSION_LOST, SESSION_GONE, SESSION_GONE, but=_numbers(INVALID_PARAMS)
    ),
    Meaning(
        _numbers(-32000, -32001, INVALID_REQUEST, 32600), _SESSION_LOST, SESSION_GONE, SESSION_GONE
    ),
    Meaning(_numbers(408, -32001), _TIMEOUT, TIMED_OUT, TIMED_OUT),
    Meaning(
        _numbers(-32000, -32001, INVALID_REQUEST, 32600),
        r"(?i)\bsession\b",
        SESSION_GONE,
        SESSION_GONE,
    ),
    Meaning(_numbers(-32000), _CLOSED, UNREACHABLE, UNREACHABLE),
    Meaning(_numbers(METHOD_NOT_FOUND), r"(?i)\Anot found\Z", NO_ENDPOINT),
    Meaning(
        _numbers(INVALID_REQUEST),
        (
            r"(?i)\A(?:unexpected content type: |redirect to |"
            r"server answered a request with 202 accepted\Z)"
        ),
        NO_ENDPOINT,
        NO_ENDPOINT,
    ),
    Meaning(
        _numbers(INTERNAL_ERROR),
        r"(?i)\Aserver returned an error response\Z",
        STATUS_LOST,
        STATUS_LOST,
    ),
    # What the server answered, not what it was sent.
    Meaning(
        _numbers(PARSE_ERROR),
        r"(?i)\Afailed to parse (?:sse message|json response): ",
        BROKEN,
        BROKEN,
    ),
    Meaning(_numbers(MISSING_CAPABILITY, URL_ELICITATION), "", CLIENT_LACKS, CLIENT_LACKS),
    # The client's own headers, or the version of its protocol.
    Meaning(_numbers(HEADER_MISMATCH, UNSUPPORTED_VERSION), "", BROKEN, BROKEN),
    Meaning(_numbers(INVALID_PARAMS), "", None, ARGUMENTS),
    Meaning(_numbers(RATE_LIMITED), "", LIMITED),
    # A person declined sampling.
    Meaning(_numbers(-1), "", None, DECLINED),
    Meaning(_numbers(RESOURCE_NOT_FOUND), "", None, ARGUMENTS),
    Meaning(_numbers(METHOD_NOT_FOUND), "", None, BROKEN),
)

#: What a number means in answer to a tool call where the words say nothing.
_ALONE: Final = {INVALID_PARAMS: ARGUMENTS, METHOD_NOT_FOUND: NO_TOOL, 408: TIMED_OUT}

#: The band of JSON-RPC's own numbers: failures of the server where nothing says more.
STANDARD: Final = range(PARSE_ERROR, INVALID_REQUEST + 1)

FREE_WORDS: Final = {
    -32000: "service_unavailable",
    -32001: "not_found",
    -32002: "conflict",
    -32003: "rate_limited",
    -32004: "timeout",
    -32005: "forbidden",
    -32006: "unauthorized",
    -32007: "validation",
}
"""
The words for JSON-RPC's free numbers in error objects of mcp-ts-core, where their text says
nothing.
"""


def meaning_with_words(number: int, message: str, half: Half = "call") -> Verdict | None:
    """
    Return the verdict on a number with its message, or None if only the words can tell.
    """
    for row in _TABLE:
        verdict = row.call if half == "call" else row.request
        if verdict is not None and row.is_about(number) and pattern(row.words).search(message):
            return verdict
    return None


def meaning_alone(number: int | None) -> Verdict | None:
    """
    Return the verdict on a number that answers a tool call without a telling message, or None.
    """
    return None if number is None else _ALONE.get(number)
