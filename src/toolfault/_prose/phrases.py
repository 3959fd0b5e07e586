"""
The phrase table of `_prose.careful`.

Rule 1: the first row that matches decides.
Rule 2: rows match lower-case text without the caller's words, and their quantifiers are bounded.
Rule 3: each text that a row matches holds one of its clues, which are searched before any pattern.
Rule 4: each pattern has a line that it alone matches, and a neighbour that it does not match.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._meanings import grpc, http, limits
from toolfault._meanings.jsonrpc import CLIENT_LACKS, SESSION_GONE
from toolfault._verdict import Family, Verdict


# ---- the verdicts


def _outage(family: Family) -> Verdict:
    return Verdict(
        code=McpErrorCode.INTERNAL,
        category=McpErrorCategory.TRANSIENT,
        retryable=True,
        family=family,
    )


def _says(code: McpErrorCode, family: Family) -> Verdict:
    return Verdict(code=code, family=family)


ARGUMENT: Final = _says(McpErrorCode.INVALID_ARGUMENTS, "other")
_FILE_ARGUMENT: Final = _says(McpErrorCode.INVALID_ARGUMENTS, "file")
_QUERY_ARGUMENT: Final = _says(McpErrorCode.INVALID_ARGUMENTS, "database")
_DENIED: Final = _says(McpErrorCode.PERMISSION_DENIED, "auth")
_FILE_DENIED: Final = _says(McpErrorCode.PERMISSION_DENIED, "file")
_DECLINED: Final = Verdict(
    code=McpErrorCode.PERMISSION_DENIED,
    category=McpErrorCategory.PERMANENT,
    retryable=False,
    family="auth",
)
_LIMIT: Final = _says(McpErrorCode.QUOTA_EXCEEDED, "limit")
_UNPAID: Final = Verdict(
    code=McpErrorCode.QUOTA_EXCEEDED,
    category=McpErrorCategory.PERMANENT,
    retryable=False,
    family="limit",
)
_LATE: Final = _says(McpErrorCode.TOOL_TIMEOUT, "timeout")
_POLICY: Final = _says(McpErrorCode.NETWORK_BLOCKED, "network")
_UNREACHABLE: Final = _says(McpErrorCode.MCP_SERVER_UNREACHABLE, "network")
CRASH: Final = _says(McpErrorCode.TOOL_PANICKED, "bug")
_DOWN: Final = _outage("network")
_CONTENDED: Final = _outage("database")
_SERVER_DOWN: Final = _outage("http")
_BROKEN: Final = _says(McpErrorCode.INTERNAL, "other")
_BUSY: Final = _outage("file")
_UNTRUSTED: Final = _says(McpErrorCode.INTERNAL, "network")
_FULL: Final = _says(McpErrorCode.INTERNAL, "file")
_NO_PROGRAM: Final = _says(McpErrorCode.INTERNAL, "process")


# ---- statuses


def _status_verdict(match: re.Match[str]) -> Verdict:
    return http.read_status(int(match[match.lastindex or 0]))


def _grpc_status(match: re.Match[str]) -> Verdict:
    return grpc.read_status(match[match.lastindex or 0])


#: The names as Python, Node and Go write them, lower-case.
_GRPC_NAMES: Final = "|".join(
    name.lower().replace("_", "_?") for name in grpc.STATUS if name not in grpc.VAGUE
)


# ---- the table

Meaning: TypeAlias = Verdict | Callable[[re.Match[str]], Verdict]

#: The reason phrases of statuses.
_REASON_PHRASES: Final = {
    "400": "bad request",
    "401": "unauthori[sz]ed",
    "402": "payment required",
    "403": "forbidden",
    "404": "not found",
    "405": "method not allowed",
    "406": "not acceptable",
    "407": "proxy authentication required",
    "408": "request time-?out",
    "409": "conflict",
    "410": "gone",
    "411": "length required",
    "412": "precondition failed",
    "413": "(?:payload|content|request entity) too large",
    "414": "uri too long",
    "415": "unsupported media type",
    "422": "unprocessable",
    "423": "locked",
    "425": "too early",
    "429": "too many requests",
    "451": "unavailable for legal",
    "500": "internal server error",
    "501": "not implemented",
    "502": "bad gateway",
    "503": "service (?:temporarily )?unavailable",
    "504": "gateway time-?out",
    "507": "insufficient storage",
    r"4\d\d": "client error",
    r"5\d\d": "server error",
}


def _reasons(form: str) -> str:
    pairs = (
        form.format(status=status, reason=reason) for status, reason in _REASON_PHRASES.items()
    )
    return f"(?:{'|'.join(pairs)})"


#: Stand in the table as ``@name``.
_FRAGMENTS: Final = {
    "@cannot": r"(?:could not|couldn't|cannot|can not|can't|failed to|unable to|failure to|error)",
    "@status": r"([45]\d\d)\b(?!\.\d)",
    # "Error: 404 items" counts something.
    "@no_count": r"(?! [a-z]{2,40}s\b)",
    # A reason stands by its own number: "Room 503 not found" is about a room.
    "@numbered_reason": _reasons(r"({status})\b(?!\.\d)[ :)-]{{1,3}}{reason}"),
    "@reason_numbered": _reasons(r"{reason}['\"]?[ :(\[-]{{1,3}}(?:status )?({status})\b(?!\.\d)"),
    "@asked": r"(?:tool|action|request|call|operation|permission|prompt|execution"
    r"|confirm|run|proceed|approve|allow)",
    "@field": r"(?:arguments?|params?|parameters?|inputs?|fields?|propert|values?|options?|keys?)",
    "@limit": r"(?:quota|credits"
    r"|(?:usage|rate|request|api|daily|hourly|monthly|plan|account) limits?)",
    "@spent": r"(?:exceeded|reached|exhausted|used up|hit|depleted|over)",
    "@host": r"(?:hosts?|hostname|domains?|urls?|address(?:es)?|ips?|ports?|network|dns|schemes?)",
    "@private": r"(?:private|internal|loopback|link-local|local|non-public|reserved)",
    "@refused": r"(?:block|refus|forbid|den(?:y|ied)|disallow|not (?:allow|permit))",
    "@secret": (
        r"(?:api[ _-]?key|(?:access |auth |authentication |authorization |bearer |refresh |"
        r"security |session )?token|"
        r"credentials?|password|jwt)"
    ),
    # A parser's token: "invalid token ';' at line 3".
    "@in_syntax": r"(?: [^\w\s]{1,3})? (?:at|near|on line)\b|:? (?:<eof>|unexpected |end of )",
    "@is": r"(?:was |is |has been |already |is already )?",
}

#: The clues of the reasons.
_REASONS: Final = (
    "request|unauthori|required|forbidden|not found|not allowed|not acceptable|conflict|gone|"
    "precondition|too large|"
    "too long|media type|unprocessable|locked|too early|unavailable|error|not implemented|"
    "gateway|insufficient"
)

#: What a text says, in the order of asking: the meaning, the clues between bars, and the patterns.
TABLE: Final[tuple[tuple[Meaning, str, tuple[str, ...]], ...]] = (
    # A person said no.
    (
        _DECLINED,
        "cancel|declined|denied|refused|rejected",
        (
            (
                r"\buser (?:has )?(?:rejected|declined|cancell?ed|denied|refused) (?:this |the |"
                r"that |your |to )?@asked"
            ),
            (
                r"\b(?:rejected|declined|cancell?ed|denied|refused) by (?:the |a )?(?:user|human|"
                r"operator|reviewer)\b"
            ),
        ),
    ),
    # An ability of the client is missing.
    (
        CLIENT_LACKS,
        "sampling|elicitation|roots",
        (
            r"\bmethod not found\b[^\n]{0,20}\b(?:sampling|elicitation|roots)/",
            (
                r"\b(?:sampling|elicitation|roots)\b[^\n]{0,40}\b(?:not|n't) (?:supported|"
                r"available|enabled|support)\b"
            ),
            (
                r"\bclient (?:does not|doesn't|cannot|"
                r"can't) (?:support )?(?:\w{1,20} ){0,2}(?:sampling|elicitation|roots)\b"
            ),
        ),
    ),
    # The server broke its own schema, or its upstream sent something else.
    (
        _BROKEN,
        "json|validation error|structured|output schema|non-whitespace",
        (
            (
                r"validation errors? for \S{0,200}(?:output|response|result)\b|"
                r"structured_?content must be"
            ),
            r"output validation error|has an output schema|unexpected token[^\n]{0,200}json",
            # The caller's words are cut, but what was cut short may go on in the next line.
            r"unexpected token [^\n]{0,8}\"<[^\"]{0,40}\"[^\n]{0,40}json",
            r"(?:not|n't) match (?:the |its |a )?(?:\S{1,80} )?output schema",
            r"unexpected end of json|jsondecodeerror|unexpected non-whitespace",
            (
                r"\b(?:response|reply|answer|server|upstream)\b[^\n]{0,60}(?:not valid|invalid|"
                r"malformed|non-|not) ?json"
            ),
        ),
    ),
    (
        ARGUMENT,
        "json",
        (
            r"\b[\w.-]{1,80} (?:is not|isn't|must be|is no) (?:a )?valid json",
            r"invalid json (?:in|syntax|input|for|string)\b",
        ),
    ),
    (
        _BROKEN,
        "expecting|extra data",
        (r"expecting value: line \d|extra data: line \d|expecting property name",),
    ),
    # Validators have signatures.
    (
        ARGUMENT,
        (
            "argument|param|input|invalid_type|required|mandatory|received|validation error|"
            "schema validation|"
            "not of type|not one of|minimum|maximum|additional properties|unrecognized key|"
            "enum value"
        ),
        (
            (
                r"validation errors? for |input validation error|parameter validation failed|"
                r"arguments? validation"
            ),
            r"\binvalid (?:tool )?(?:arguments?|params|parameters?|inputs?)\b",
            (
                r"invalid_(?:arguments?|params?|type)\b|is a required property|is not of type|"
                r"is not one of \["
            ),
            (
                r"is (?:less|greater) than the (?:minimum|maximum)|"
                r"additional properties are not allowed"
            ),
            r"unrecognized keys?\b|invalid enum value|failed schema validation",
            r"\bmissing (?:a )?(?:required|mandatory) (?:\w{1,20} )?@field",
            r"\binput should be\b|field required|expected [^\n]{1,80}, received \w|^required at \w",
        ),
    ),
    # Kinds in front, as Everruns' commands write them.
    (
        ARGUMENT,
        "bad_request|unprocessable|conflict|not_found|validation_error",
        (r"^(?:bad_request|unprocessable|conflict|not_found|validation_error): ?",),
    ),
    (
        _DENIED,
        "forbidden|permission_denied|unauthorized|unauthenticated",
        (r"^(?:forbidden|permission_denied|unauthorized|unauthenticated): ?",),
    ),
    (_DOWN, "unavailable", (r"^unavailable: ?",)),
    (_BROKEN, "internal", (r"^internal: ?",)),
    # Trust in a certificate is nothing that time brings.
    (
        _UNTRUSTED,
        (
            "cert|issuer|err_ssl_|x509|hostname/ip|wrong version|wrong_version|handshake|"
            "unable_to_verify"
        ),
        (
            (
                r"certificate (?:verify failed|has expired|is not trusted|signed by unknown|"
                r"is not valid|problem)"
            ),
            (
                r"unable to (?:verify the first certificate|get (?:local )?issuer)|"
                r"self[- ]signed cert|err_cert_"
            ),
            r"x509: |cert_(?:has_expired|untrusted|signature)|does not match certificate",
            r"hostname/ip does not match|wrong_version_number|wrong version number|err_ssl_",
            r"(?:ssl|tls) handshake (?:fail|error)|unable_to_verify",
        ),
    ),
    # Limits, before "not allowed" and before the noun "timeout".
    (
        _UNPAID,
        "insufficient|credit|payment required|billing|quota",
        (
            limits.FINAL,
            (
                r"plan and billing|billing (?:hard )?limit|billing (?:is |account )?(?:not|"
                r"inactive|disabled)"
            ),
        ),
    ),
    (
        _LIMIT,
        (
            "limit|too many|throttl|exhausted|rate exceeded|slow down|max number|maxmemory|"
            "oom command|active connections|exceeded|"
            "connection slots|quota|credits|next "
        ),
        (
            (
                r"\brate[- ]limit(?! (?:must|should|parameter|value|option)\b)|"
                r"\brate_?limit_?(?:ed|error|exceeded)\b"
            ),
            r"too many requests|\bthrottl(?:ed|ing)",
            (
                r"throttl\w{0,20}exception|resource[ _]?(?:has been )?exhausted|\bslow down\b|"
                r"\brate exceeded\b"
            ),
            (
                r"too many (?:\w{1,20} )?(?:connections|clients|queries|sessions|calls|logins|"
                r"attempts)\b"
            ),
            (
                r"max number of clients|maxmemory|\boom command|"
                r"more than [^\n]{0,40}active connections"
            ),
            (
                r"memory limit [^\n]{0,20}exceeded|has exceeded the [^\n]{0,60}resource|"
                r"remaining connection slots"
            ),
            r"\b@limit\b[^.\n]{0,40}\b@spent\b|\b@spent\b[^.\n]{0,40}\b@limit\b",
            r"\b(?:limits?|quota) (?:will )?resets? (?:in|at|after)\b",
            r"\bnext (?:request|call|attempt) (?:is )?(?:allowed|possible) (?:in|at|after)\b",
        ),
    ),
    (
        _grpc_status,
        (
            "code = |statuscode.|cancelled: |argument: |exceeded: |not_found: |exists: |"
            "_denied: |exhausted: |"
            "precondition: |aborted: |of_range: |unimplemented: |unavailable: |data_loss: |"
            "unauthenticated: "
        ),
        (
            rf"\bcode = ({_GRPC_NAMES})\b",
            rf"\bstatuscode\.({_GRPC_NAMES})\b",
            rf"(?:^|[ :])(?:[1-9]|1[0-6]) ({_GRPC_NAMES.replace('_?', '_')}): ",
        ),
    ),
    # A number is a status only beside a status word.
    (
        _status_verdict,
        "http",
        (
            (
                r"\bhttp(?:s|/[\d.]{1,3})?[ :_-]{0,3}(?:status|error|code|"
                r"response)?(?: code)?[ :=(-]{0,3}@status@no_count"
            ),
        ),
    ),
    (
        _status_verdict,
        "status",
        (
            (
                r"\b(?:status|statuscode|status_code)(?:[ _]code)?['\"]?(?: was| is|"
                r" of)?[ :=(]{1,3}['\"]?@status@no_count"
            ),
        ),
    ),
    (_status_verdict, "error(|exception(", (r"\b\w{0,60}(?:error|exception)\(@status,",)),
    (_status_verdict, "error", (r"error(?: code)?[ :([]{1,3}@status@no_count",)),
    (
        _status_verdict,
        _REASONS,
        (r"(?:^|[\s:('\"[])@numbered_reason", r"@reason_numbered"),
    ),
    (
        _status_verdict,
        "error|fail|denied|unavailable|unauthori",
        (r"\b(?:fail|error|denied|unavailable|unauthori)[^\n]{0,60}\(@status\)",),
    ),
    (
        _status_verdict,
        "returned|responded|answered|failed with|got|received",
        (
            (
                r"\b(?:returned|responded with|answered|failed with|got|"
                r"received)(?: an?)?(?: error)? \(?@status@no_count"
            ),
        ),
    ),
    (
        _status_verdict,
        "error|fail",
        (r"\b(?:fail|error)[^\n]{0,80}(?:: |= ?)@status(?= ?(?:$|[-,.({:;]))",),
    ),
    # The MCP hop.
    (
        _UNREACHABLE,
        "mcp server",
        (
            (
                r"mcp server\b[^\n]{0,80}\b(?:unreachable|unavailable|disconnected|crashed|exited|"
                r"died|down)\b"
            ),
            r"mcp server\b[^\n]{0,80}\bnot (?:reachable|connected|running|responding)\b",
            (
                r"unreachable[^\n]{0,40}\bmcp server\b|@cannot (?:connect to|reach|"
                r"start)(?: the)? mcp server"
            ),
        ),
    ),
    (
        SESSION_GONE,
        "mcp session|mcp-session",
        (
            (
                r"\bmcp[- ]session(?:[- ]id)?\b[^\n]{0,40}\b(?:not found|expired|invalid|"
                r"terminated|missing|unknown|closed)\b"
            ),
            r"\b(?:invalid|expired|unknown|missing|no) (?:or expired )?mcp[- ]session\b",
        ),
    ),
    # Contention is over soon.
    (
        _CONTENDED,
        "lock|serialize|ebusy|resource busy",
        (
            (
                r"lock (?:wait )?timeout|\bdeadlock|database is locked|could not (?:obtain lock|"
                r"serialize)"
            ),
            r"\bebusy\b|\bresource busy\b",
        ),
    ),
    # Addresses that could never work.
    (
        ARGUMENT,
        "scheme|url|uri|protocol|hostname|connection string",
        (
            r"\binvalid (?:connection string|scheme|url|uri|protocol|hostname)",
            r"(?:malformed|unsupported) (?:url|uri|scheme|protocol)",
            r"\bno scheme supplied|unknown (?:url|protocol) (?:scheme|type)",
        ),
    ),
    # A policy's sentence may give another reason: the name is not known.
    (
        _DOWN,
        "resolve|dns |connection issue",
        (
            (
                r"\b@host\b[^\n]{0,80}@cannot (?:be )?resolved?\b|"
                r"@cannot (?:be )?resolved?(?: to)?\b[^\n]{0,60}\b@host\b"
            ),
            (
                r"\bdns (?:lookup|resolution|query|error)[^\n]{0,40}\b(?:fail|error|could not)|"
                r"connection issue"
            ),
        ),
    ),
    # What a policy stops.
    (
        _POLICY,
        (
            "block|err_unsafe|err_access|egress|robots.txt|ssrf|public|forbidden|disallow|"
            "not allow|not permit|"
            "not in the allow|private |internal |loopback |local |reserved "
        ),
        (
            (
                r"protocol is (?:blocked|not allowed)|err_(?:unsafe_port|blocked_by|"
                r"access_denied)|\begress\b"
            ),
            (
                r"blocked by (?:\w{1,20} ){0,2}(?:policy|firewall|proxy|"
                r"administrator|sandbox)"
            ),
            r"robots\.txt[^\n]{0,160}(?:specif|disallow|not allow|prohibit|forbid)|\bssrf\b",
            r"(?:not a|non-|not) ?public (?:ip |network )?(?:address|host|ip|url)",
            (
                r"\b@host (?:\S{1,80} )?(?:is |are )?(?:blocked\b|forbidden|disallow|not (?:allow|"
                r"permit|in the allow))"
            ),
            r"\b@private (?:ranges?|@host)\b[^\n]{0,40}(?:\bnot\b|@refused)",
            r"@refused[^\n]{0,60}\b@private (?:ranges?|@host)\b",
        ),
    ),
    # Network tokens before English.
    (
        _LATE,
        "read time|readtime|timedout|und_err_|timeout error|elapsed",
        (
            r"\bread timed? ?out|readtimeout",
            r"\be(?:socket)?timedout\b|\bund_err_\w{1,20}_timeout\b",
            r"\b(?:headers|body|connect) timeout error\b|\bdeadline has elapsed\b",
        ),
    ),
    (
        _DOWN,
        (
            "winerror|wsae|ora-|tns:|[08|refused|respond|forcibly|could not be resolved|"
            "unreachable network"
        ),
        (
            r"\bwinerror (?:1005[0-4]|1006[0145]|1100[1-4])\b|\bwsaeconn\w{5,8}\b",
            r"\bactively refused\b|\bdid not properly respond\b|\bforcibly closed\b",
            r"\bname could not be resolved\b|\bunreachable network\b",
            (
                r"\bora-(?:12[1-6]\d\d|0311[34]|03135|0103[34]|01089)\b|\btns:(?:no listener|"
                r"listener|connect)"
            ),
            r"\[08(?:00[1467]|s01)\]",
        ),
    ),
    (
        _DOWN,
        (
            "eservfail|und_err_|socket|other side closed|error sending request|"
            "before message completed|error (connect|"
            "incompletemessage|idle connection|eof|unknownhost|link failure|servers found|"
            "serverselection|nohostavailable|"
            "communication channel|goaway|closed"
        ),
        (
            (
                r"\beservfail\b|\bund_err_(?:socket|closed)\b|\bsocket disconnected\b|"
                r"\bother side closed\b"
            ),
            (
                r"\berror sending request\b|\bclosed before message completed\b|"
                r"\bclient error \(connect\)"
            ),
            (
                r"\bincompletemessage\b|\bclosed idle connection\b|(?:^|: )eof$|"
                r"\bunknownhostexception\b"
            ),
            (
                r"\bcommunications link failure\b|\bno servers found\b|\bserverselectiontimeout|"
                r"\bnohostavailable\b"
            ),
            r"\bend-of-file on communication channel\b|\bsent goaway\b",
            r"\bconnection \S{1,20} to \S{1,80} closed\b",
        ),
    ),
    # A program, a module or a browser that is not installed.
    (
        _NO_PROGRAM,
        (
            "spawn |executable|command not found|browser|not recognized as|path|: not found|"
            "cannot find module|no module named|chrom|shared librar"
        ),
        (
            (
                r"\bspawn \S{1,200} enoent\b|\bexecutable (?:file )?(?:was )?(?:not found|"
                r"doesn't exist|does not exist)"
            ),
            r"\bcommand not found\b|\bis not recognized as (?:an internal|the name of)",
            r"\bnot (?:found|installed|be found)\b[^\n]{0,40}\bin (?:your |the |\W)?path\b",
            r"\b\d{1,5}: \S{1,80}: not found\b|\bcannot find module\b|\bno module named\b",
            r"\bcould not find (?:chrom|a browser)|\bwhile loading shared libraries\b",
        ),
    ),
    (
        _BUSY,
        "emfile|enfile|enomem|too many open files|memory",
        (
            r"\b(?:emfile|enfile|enomem)\b|\btoo many open files\b|\bcannot allocate memory\b",
            r"\bout of memory\b",
        ),
    ),
    (
        _DOWN,
        (
            "econn|ehost|enet|epipe|eai_again|enotfound|errno|name resolution|getaddrinfo|"
            "max retries|net::err_|"
            "fetch|dial |hang up|no route|no such host|not known|nodename|gone away|"
            "connect|broken pipe|reach|resolv|closed|network|offline|no internet|eof|"
            "aggregateerror|proxyerror|request|could not access|unavailable|temporary failure|"
            "gateway|exhausted|"
            "overloaded|recovery mode|server is|database system|dataset|clusterdown|"
            "masterdown|handshake"
        ),
        (
            (
                r"\b(?:econn(?:refused|reset|aborted)|ehostunreach|enetunreach|ehostdown|enetdown|"
                r"epipe|eai_again|enotfound)\b"
            ),
            r"\berrno (?:111|104|113|101|61|54|-2|-3|-5)\b|name resolution|\bgetaddrinfo\b",
            r"max retries exceeded",
            r"net::err_(?:internet|connection|name|address_unr|network|empty|proxy|socket)",
            r"(?:^|: )fetch failed|\bdial (?:tcp|unix)\b|socket hang up|no route to host",
            (
                r"network (?:is )?unreachable|\bno such host\b|name or service not known|"
                r"nodename nor servname"
            ),
            (
                r"server has gone away|remote end closed|server disconnected|"
                r"all connection attempts failed"
            ),
            (
                r"broken pipe|connect(?:ion)?timeout|\bconnect timeout|@cannot (?:connect(?:ing)?|"
                r"reach)(?: to)?\b"
            ),
            r"@cannot (?:resolve|resolving) (?:host|hostname|address|dns|domain)",
            (
                r"@cannot (?:establish|open|make|create|get|obtain) (?:a |an |"
                r"the )?(?:new )?connection"
            ),
            (
                r"\bconnection (?:to [^\n]{1,100} )?@is(?:refused|reset|aborted|closed|lost|"
                r"failed|terminated|bad)\b"
            ),
            (
                r"connect call failed|time(?:d )?-?out connecting|(?:closed|"
                r"refused) the connection|refused to connect"
            ),
            r"terminating connection",
            (
                r"(?:socket|client) (?:is )?closed|connection timeout|\bconnection ?error\b|"
                r"\bconnecterror\b"
            ),
            (
                r"\bnetwork[ _]?error\b|lost connection|no internet|(?:you are|network is|"
                r"currently) offline"
            ),
            r"no living connections",
            r"\bunexpected eof\b|\baggregateerror\b|tunnel connection|\bproxyerror\b",
            r"request to [^\n]{0,80} failed",
            r"failed to (?:make|send|complete|perform) (?:the |a |an )?(?:\w{1,20} )?request",
            r"could not access the (?:web ?page|web ?site|site|url|server|service|api)\b",
            r"failed to fetch(?: \W{1,3})?$",
            r"service[ _]?(?:is )?(?:temporarily |currently )?unavailable|temporarily unavailable",
            (
                r"temporary failure|bad gateway|backend fetch failed|pool (?:is )?exhausted|"
                r"\boverloaded\b|in recovery mode"
            ),
            r"server is (?:shutting down|starting up|overloaded|busy|down)",
            (
                r"database system is (?:shutting|starting)|is loading the dataset|\b(?:cluster|"
                r"master)down\b"
            ),
            r"tls handshake timeout",
        ),
    ),
    # What timed out is over; the cure is to log in.
    (
        _DENIED,
        "in again|in first|log in|login|sign in|signin|authenticate",
        (
            r"\b(?:log|sign) ?in (?:again|first)\b|\bre-?authenticate\b|\bauth login\b",
            r"\bplease (?:log|sign) ?in\b",
        ),
    ),
    # Time needs an event.
    (
        _LATE,
        "timeout|time-out|timed|time limit|timelimit|deadline|maximum time|too long|execution",
        (
            r"\btimed[- ]out|\btimeout_?(?:error|exception|expired)|\bdeadline[_ ]?exceeded",
            r"\btimeout (?:of )?\d{1,9} ?m?s exceeded",
            (
                r"\btimeout (?:exceeded|expired|reached|occurred|after|error|while|waiting)|"
                r"statement timeout"
            ),
            (
                r"due to (?:a )?timeout|exceeded (?:the |its )?(?:time ?limit|timeout|deadline|"
                r"maximum time)"
            ),
            (
                r"(?:request|gateway|response|operation|query|execution) time-?out$|"
                r"^time-?out\.?$|took too long"
            ),
            r"maximum statement execution time|execution (?:was interrupted|expired)|\bi/o timeout",
            r"\bgateway time-?out",
        ),
    ),
    # "Not found, or you may not see it" is the first.
    (
        ARGUMENT,
        "permission|access|authorized|appear to be|valid object",
        (
            (
                r"(?:not found|no such|not exist|"
                r"there is no [^\n]{0,60})[^\n]{0,40}\bor\b[^\n]{0,60}(?:permission|access|"
                r"authorized)"
            ),
            r"does not appear to be|not a valid object",
        ),
    ),
    (ARGUMENT, "token", (r"\b(?:page|cursor|continuation|pagination|sync) ?token\b",)),
    # Rights and credentials.
    (
        _FILE_DENIED,
        "eacces|eperm|erofs|allowed|permitted|sandbox|traversal|read-only|must be |escape",
        (
            r"\b(?:eacces|eperm|erofs)\b",
            (
                r"(?:outside|not (?:in|within|under|inside))[^.\n]{0,40}\b(?:allowed|permitted|"
                r"sandbox)\b"
            ),
            r"path traversal|read-only file ?system|must be (?:within|inside|under) ",
            r"escapes? (?:the |current |its )?(?:working|root|base|sandbox|allowed|workspace)",
            r"operation not permitted",
        ),
    ),
    (
        _DENIED,
        (
            "permission|denied|must be |auth|noperm|wrongpass|forbidden|permitted|allowed|"
            "insufficient|privilege|"
            "right|access|read-only|read only|readonly|protected mode|login|credential|"
            "logged in|missing_scope|"
            "inactive|username|email|logon|invalid_client|invalid_grant|jwt|signature|header|"
            "account|allowlist|allow-list|whitelist|disabled by|key|token|password"
        ),
        (
            r"\bpermission[_ ]denied|\baccess[_ ]?(?:is |was )?denied|command denied to",
            r"must be (?:superuser|(?:the )?owner)|\bno ?auth\b|\bnoperm\b|\bwrongpass\b",
            r"auth(?:entication|orization)?[_ ](?:is |was )?(?:failed|failure|required|error)",
            (
                r"\bunauthori[sz]ed\b|unauthenticated|not authori[sz]ed|not authenticated|"
                r"\bforbidden\b"
            ),
            r"\bnot permitted\b|\bnot allowed\b",
            r"insufficient[_ ](?:\w{1,20} )?(?:permission|privilege|scope|access|rights)",
            (
                r"(?:lack|without|no|missing|not have|n't have)[^.\n]{0,30}\b(?:permission|"
                r"privilege|right to|access to)"
            ),
            (
                r"\bread[ -]?only\b|\bpermission ?error\b|not enough (?:privilege|permission|"
                r"right)|protected mode"
            ),
            (
                r"\brequires? (?:\w{1,20} )?(?:authentication|authorization|login|credentials|"
                r"privileges|permissions?)\b"
            ),
            (
                r"not accessible by|provide credentials|must be logged in|\binvalid_auth\b|"
                r"\bnot_authed\b"
            ),
            r"missing_scope|token_revoked|account_inactive|allow-?list|whitelist",
            r"disabled by (?:the )?(?:configuration|administrator|policy|operator)",
            (
                r"\b(?:invalid|incorrect|bad|expired|missing|no) (?:\w{1,20} )?(?:@secret|"
                r"login)\b(?!@in_syntax| in (?!(?:the |your )?(?:config|settings|env|header)))"
            ),
            (
                r"\b@secrets? (?:is |are |was |were |has |have |been |not |no ){1,3}(?:invalid|"
                r"expired|missing|revoked)"
            ),
            r"\b@secrets? missing\b",
            (
                r"\b@secrets? (?:is |are |was |not |no ){1,3}(?:required|rejected|incorrect|valid|"
                r"configured|provided|set)"
            ),
            (
                r"\b(?:invalid|incorrect|bad|wrong) (?:user ?name|user|email|login)(?:,? or |/|"
                r" and )password\b"
            ),
            r"\b(?:login|password) incorrect\b|\blogon denied\b|\binvalid_(?:client|grant)\b",
            (
                r"\b@secrets? (?:included in the request )?(?:is |are |was |were |has |have |"
                r"been ){0,2}(?:invalid|expired|revoked)"
            ),
            (
                r"\bsignature (?:has expired|verification failed|we calculated)|"
                r"\bsignaturedoesnotmatch\b"
            ),
            r"\b(?:missing|invalid|no) (?:\w{1,20} )?(?:authorization|authentication) header\b",
            (
                r"\b(?:authorization|authentication) headers? "
                r"(?:is |was )?(?:missing|required|invalid)"
            ),
            (
                r"@cannot (?:automatically )?(?:locate|find|load|retrieve|read|determine|"
                r"obtain) (?:\w{1,20} ){0,3}(?:@secret|username)s?\b"
            ),
            (
                r"\bdefault credentials were not found\b|\baccount (?:is |has been )?(?:suspended|"
                r"disabled|locked|deactivated)\b"
            ),
            r"\blogin (?:failed|required)|\bnot logged in\b|\bdisallowed\b|\bdenied by\b",
        ),
    ),
    # The tool's code broke.
    (
        CRASH,
        (
            "propert|variable|not a function|not iterable|not a constructor|attribute|"
            "object is not|"
            "unsupported operand|positional|keyword argument|out of range|before assignment|"
            "recursion|call stack|"
            "pointer|undefined is not|unpack|unboundlocal|keyerror|typeerror|indexerror|"
            "assertionerror|nameerror|"
            "referenceerror|panic|traceback|segmentation|serializable|unhashable"
        ),
        (
            r"cannot read propert|cannot (?:set|access|destructure) propert",
            (
                r"cannot access (?:local|free) variable|is not a function|is not iterable|"
                r"is not a constructor"
            ),
            (
                r"has no attribute|object is not (?:subscriptable|callable|iterable)|"
                r"unsupported operand type"
            ),
            r"positional arguments?\b|got an unexpected keyword argument",
            (
                r"(?:list|string|tuple) index out of range|index out of range \[|"
                r"referenced before assignment"
            ),
            r"recursion depth|call stack size exceeded|nil pointer|null ?pointer|undefined is not",
            (
                r"cannot unpack|\bunboundlocalerror|\b(?:attribute|key|type|index|assertion|name|"
                r"reference)error\b"
            ),
            r"\bpanic(?:ked)?\b|traceback \(most recent|segmentation fault|not json serializable",
            r"\bunhashable type|not enough values to unpack|too many values to unpack",
        ),
    ),
    # Files and databases.
    (_FULL, "no space|enospc|disk", (r"no space left|\benospc\b|disk (?:is )?full",)),
    (
        _FILE_ARGUMENT,
        "enoent|eisdir|enotdir|eexist|enotempty|enametoolong|eloop|no such file|directory",
        (
            (
                r"\b(?:enoent|eisdir|enotdir|eexist|enotempty|enametoolong|eloop)\b|no such file|"
                r"is a directory"
            ),
            r"not a directory",
        ),
    ),
    (
        _QUERY_ARGUMENT,
        (
            "syntax|not exist|no such|wrongtype|duplicate|constraint|division|unknown |"
            "out of range|mismatched|alternative|"
            "extraneous|ora-|quotation mark|object name|column name|properly ended"
        ),
        (
            (
                r"syntax[ _]?error|\bsql syntax\b|\bincorrect syntax near\b|\b(?:mismatched|"
                r"extraneous) input\b"
            ),
            (
                r"\bno viable alternative\b|\bunclosed quotation mark\b|\binvalid (?:object|"
                r"column) name\b"
            ),
            (
                r"\bora-(?:009\d\d|00001|014[07]\d|017\d\d|018\d\d|0229[012]|12899)\b|"
                r"\bnot properly ended\b"
            ),
            (
                r"\b(?:relation|table|column|schema|function|role|index|collection|database|"
                r"type)\b[^\n]{0,80}not exist"
            ),
            r"no such (?:table|column|index)|\bwrongtype\b|duplicate (?:key|entry|column)",
            r"violates [^\n]{0,80}constraint|division by zero",
            r"unknown (?:column|table|database|command)|value out of range|integer out of range",
            r"constraint failed",
        ),
    ),
    (_BROKEN, "code = |statuscode.", (r"\b(?:code = |statuscode\.)(?:ok|unknown|internal)\b",)),
    # The server's side, in English.
    (
        _SERVER_DOWN,
        "internal server|again |try later|retry|wait |reset before",
        (
            (
                r"internal server error|(?:try|retry) again (?:later|soon|in|after)\b|"
                r"\b(?:try|retry) later"
            ),
            r"\bretry-after: ?\d|\bretry (?:in|after) \d{1,5} ?(?:s|m|h|ms|sec|min|hour)",
            (
                r"\bwait (?:for |at least |about )?"
                r"\d{1,5} ?(?:s|sec|second|m|min|minute|h|hour)s?\b"
                r"[^\n]{0,10}\b(?:before|and|then) (?:re-?)?try"
            ),
            r"\bdisconnect/reset before headers\b",
        ),
    ),
    (
        _BROKEN,
        (
            "internal error|went wrong|unknown error|unexpected error|unspecified error|"
            "occurred|return value|"
            "failed to parse|response|reply|answer|content-type|initiali|configur|"
            "environment variable|server"
        ),
        (
            r"internal error|something went wrong|(?:unknown|unexpected|unspecified) error",
            r"error (?:has )?occurred|unexpected return value",
            r"failed to parse [^\n]{0,40}\b(?:response|reply|html|page|feed|xml)\b",
            r"no (?:response|reply|answer) (?:from|received)",
            (
                r"(?:invalid|unexpected|malformed|empty|bad) (?:\w{1,20} ){0,2}(?:response|reply|"
                r"answer|content-type)\b"
            ),
            (
                r"not (?:initiali[sz]ed|configured)|misconfigured|configuration error|"
                r"environment variable"
            ),
            r"server is not \w{1,40} |see (?:the )?server log",
        ),
    ),
    # The caller's side, in English.
    (
        ARGUMENT,
        (
            "found|exist|valid|must|domain error|overflow|require|cannot |could not |unable to |"
            "failed to parse|supported|allowed|permitted|not match|unknown|unrecogni|"
            "malformed|missing|out of |too |"
            "please |expected|not something|illegal|incorrect|exceeds|can only|ambiguous|"
            "empty|nothing to|no |has no|"
            "either |at least|at most|not a "
        ),
        (
            (
                r"not[ _]found|n[o']t exist|no such|\binvalid\b|\bnot (?:a )?valid\b|\bmust\b|"
                r"\bdomain error"
            ),
            (
                r"\boverflow|\brequire[sd]?\b|cannot (?:be|specify|use|find|"
                r"create|parse|have)"
            ),
            (
                r"already exists?|\bunknown\b|could not (?:find|parse|locate|read)|"
                r"unable to (?:find|parse|locate)"
            ),
            (
                r"failed to parse|\bunsupported\b|not supported|only [^\n]{1,80} (?:allowed|"
                r"permitted|supported)"
            ),
            r"not match|could not resolve to|\bunrecogni[sz]ed|\bmalformed\b|\bmissing\b",
            r"out of (?:range|bounds)|too (?:long|short|large|small|big|many|few)",
            (
                r"please (?:provide|specify|supply|choose)|\bexpected\b|\bunexpected\b|"
                r"not something|\billegal\b"
            ),
            r"\bincorrect\b|\bexceeds\b|can only be|\bambiguous\b|\bempty\b|\bnothing to\b",
            (
                r"\bno [\w …]{1,60}(?:found|specified|provided|given|selected|staged|set|"
                r"available|matching)\b"
            ),
            r"\bhas no\b|either .{1,80}\bor\b|at (?:least|most) (?:one|two|\d)",
            r"not a (?:number|directory|file|git|string|boolean)",
        ),
    ),
)


def expand_fragments(pattern: str) -> str:
    """
    Return a pattern of the table with its fragments expanded.
    """
    for name, fragment in _FRAGMENTS.items():
        pattern = pattern.replace(name, fragment)
    return pattern
