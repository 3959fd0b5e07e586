"""
What an error text means, for failures that carry no envelope.

Rule 1: `exact` is the contract's classifier, word for word, with its faults.
Rule 2: `careful` answers only what the text shows; where it shows nothing, the answer is None.
Rule 3: what the caller said (names, values, URLs, quoted code) is no evidence.
Rule 4: only the first `_WINDOW` characters are looked at, quantifiers are bounded, and nothing raises.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Final, TypeAlias, cast

from toolfault._codes import DEFAULTS, McpErrorCategory, McpErrorCode
from toolfault._verdict import Family, Verdict


#: How much of a text is looked at, in characters.
_WINDOW: Final = 8192

#: The longest wait that a text is believed, in seconds: the largest signed 32-bit integer.
_MAX_WAIT: Final = 2**31 - 1

#: Arguments that are this short are left in the text: they are words like "id" or "all".
_SHORT: Final = 3

#: How many strings of the arguments are looked for, and how deep.
_MAX_STRINGS: Final = 64
_MAX_DEPTH: Final = 4

#: How many wrappers are taken off.
_MAX_WRAPPERS: Final = 32

#: Stands for what was taken out.
_GAP: Final = "\N{HORIZONTAL ELLIPSIS}"


# ---- exact: contracts 1.4

_UPPER_ASCII: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}

_STARTS: Final = (
    (("bad_request:", "unprocessable:"), McpErrorCode.INVALID_ARGUMENTS),
    (("not_found:",), McpErrorCode.TOOL_NOT_FOUND),
    (("conflict:",), McpErrorCode.INVALID_ARGUMENTS),
    (("forbidden:",), McpErrorCode.PERMISSION_DENIED),
    (("internal:",), McpErrorCode.INTERNAL),
)


def exact(text: str) -> McpErrorCode:
    """
    Return the code that Everruns' own classifier gives a message.

    It is kept to the letter, so that both sides of a wire agree; for anything else `careful` is the better reader.
    """
    # str.lower() folds the Kelvin sign to k; the contract does not.
    low = text.lower() if text.isascii() else text.translate(_UPPER_ASCII)
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
    (("permission denied", "forbidden", "not authorized", "unauthorized"), McpErrorCode.PERMISSION_DENIED),
    (("quota", "rate limit"), McpErrorCode.QUOTA_EXCEEDED),
    (("network blocked", "egress"), McpErrorCode.NETWORK_BLOCKED),
)


# ---- the verdicts


def _outage(family: Family) -> Verdict:
    return Verdict(code=McpErrorCode.INTERNAL, category=McpErrorCategory.TRANSIENT, retryable=True, family=family)


def _says(code: McpErrorCode, family: Family) -> Verdict:
    return Verdict(code=code, family=family)


_NO_TOOL: Final = _says(McpErrorCode.TOOL_NOT_FOUND, "other")
_ARGUMENT: Final = _says(McpErrorCode.INVALID_ARGUMENTS, "other")
_FILE_ARGUMENT: Final = _says(McpErrorCode.INVALID_ARGUMENTS, "file")
_QUERY_ARGUMENT: Final = _says(McpErrorCode.INVALID_ARGUMENTS, "database")
_DENIED: Final = _says(McpErrorCode.PERMISSION_DENIED, "auth")
_FILE_DENIED: Final = _says(McpErrorCode.PERMISSION_DENIED, "file")
_DECLINED: Final = Verdict(
    code=McpErrorCode.PERMISSION_DENIED, category=McpErrorCategory.PERMANENT, retryable=False, family="auth"
)
_LIMIT: Final = _says(McpErrorCode.QUOTA_EXCEEDED, "limit")
_UNPAID: Final = Verdict(
    code=McpErrorCode.QUOTA_EXCEEDED, category=McpErrorCategory.PERMANENT, retryable=False, family="limit"
)
_LATE: Final = _says(McpErrorCode.TOOL_TIMEOUT, "timeout")
_POLICY: Final = _says(McpErrorCode.NETWORK_BLOCKED, "network")
_UNREACHABLE: Final = _says(McpErrorCode.MCP_SERVER_UNREACHABLE, "network")
_CRASH: Final = _says(McpErrorCode.TOOL_PANICKED, "bug")
_DOWN: Final = _outage("network")
_CONTENDED: Final = _outage("database")
_SERVER_DOWN: Final = _outage("http")
_BROKEN: Final = _says(McpErrorCode.INTERNAL, "other")
_UNTRUSTED: Final = _says(McpErrorCode.INTERNAL, "network")
_FULL: Final = _says(McpErrorCode.INTERNAL, "file")


# ---- statuses

#: What an upstream's status means (standards 5.1; 500 by design.md 5.3). Others of 4xx are the caller's.
_BY_STATUS: Final[dict[int, Verdict]] = {
    **dict.fromkeys((401, 403), _DENIED),
    402: _UNPAID,
    **dict.fromkeys((405, 406, 411, 415, 426, 431, 501, 505, 506, 508, 510, 525, 526), _BROKEN),
    **dict.fromkeys((407, 511), _POLICY),
    **dict.fromkeys((408, 504, 524), _LATE),
    **dict.fromkeys((421, 423, 425), _SERVER_DOWN),
    429: _LIMIT,
    451: _DECLINED,
    507: _UNPAID,
}


def _answered(match: re.Match[str]) -> Verdict:
    status = int(match[match.lastindex or 0])
    verdict = _BY_STATUS.get(status) or (_ARGUMENT if status < 500 else _SERVER_DOWN)
    return replace(verdict, family="http", upstream_status=status)


# ---- the table

_Meaning: TypeAlias = Verdict | Callable[[re.Match[str]], Verdict]

#: Stand in the table as ``@name``.
_FRAGMENTS: Final = {
    "@cannot": r"(?:could not|couldn't|cannot|can not|can't|failed to|unable to|failure to|error)",
    "@status": r"([45]\d\d)\b(?!\.\d)",
    # "Error: 404 items" counts something.
    "@no_count": r"(?! [a-z]{2,40}s\b)",
    "@reason": (
        r"(?:bad request|unauthori[sz]ed|payment required|forbidden|not found|method not allowed|not acceptable|"
        r"proxy authentication required|request time-?out|conflict|gone|length required|precondition failed|"
        r"payload too large|content too large|request entity too large|uri too long|unsupported media type|"
        r"unprocessable|locked|too early|too many requests|unavailable for legal|internal server error|"
        r"not implemented|bad gateway|service (?:temporarily )?unavailable|gateway time-?out|insufficient storage|"
        r"client error|server error)"
    ),
    "@asked": r"(?:tool|action|request|call|operation|permission|prompt|execution|confirm|run|proceed|approve|allow)",
    "@field": r"(?:arguments?|params?|parameters?|inputs?|fields?|propert|values?|options?|keys?)",
    "@limit": r"(?:quota|credits|(?:usage|rate|request|api|daily|hourly|monthly|plan|account) limits?)",
    "@spent": r"(?:exceeded|reached|exhausted|used up|hit|depleted|over)",
    "@host": r"(?:hosts?|hostname|domains?|urls?|address(?:es)?|ips?|ports?|network|dns|schemes?)",
    "@private": r"(?:private|internal|loopback|link-local|local|non-public|reserved)",
    "@refused": r"(?:block|refus|forbid|den(?:y|ied)|disallow|not (?:allow|permit))",
    "@secret": r"(?:api[ _-]?key|token|credentials?|password)",
    "@is": r"(?:was |is |has been |already |is already )?",
}

#: What a text says, in the order of asking; over the lowered text without what the caller said.
_TABLE: Final[tuple[tuple[_Meaning, tuple[str, ...]], ...]] = (
    # A person said no.
    (
        _DECLINED,
        (
            r"\buser (?:has )?(?:rejected|declined|cancell?ed|denied|refused) (?:this |the |that |your |to )?@asked",
            r"\b(?:rejected|declined|cancell?ed|denied|refused) by (?:the |a )?(?:user|human|operator|reviewer)\b",
        ),
    ),
    # The server broke its own schema, or its upstream sent something else.
    (
        _BROKEN,
        (
            r"validation errors? for \S{0,200}(?:output|response|result)\b|structured_?content must be",
            r"output validation error|has an output schema|unexpected token[^\n]{0,200}json",
            r"unexpected end of json|jsondecodeerror|unexpected non-whitespace",
            r"\b(?:response|reply|answer|server|upstream)\b[^\n]{0,60}(?:not valid|invalid|malformed|non-|not) ?json",
        ),
    ),
    (
        _ARGUMENT,
        (
            r"\b[\w.-]{1,80} (?:is not|isn't|must be|is no) (?:a )?valid json",
            r"invalid json (?:in|syntax|input|for|string)\b",
        ),
    ),
    (_BROKEN, (r"expecting value: line \d|extra data: line \d|expecting property name",)),
    # Validators have signatures.
    (
        _ARGUMENT,
        (
            r"validation errors? for |input validation error|parameter validation failed|arguments? validation",
            r"\binvalid (?:tool )?(?:arguments?|params|parameters?|inputs?)\b",
            r"invalid_(?:arguments?|params?|type)\b|is a required property|is not of type|is not one of \[",
            r"is (?:less|greater) than the (?:minimum|maximum)|additional properties are not allowed",
            r"unrecognized keys?\b|invalid enum value|failed schema validation",
            r"\bmissing (?:a )?(?:required|mandatory) (?:\w{1,20} )?@field",
            r"\binput should be\b|field required|expected [^\n]{1,80}, received \w|^required at \w",
        ),
    ),
    # Kinds in front, as Everruns' commands write them.
    (_ARGUMENT, (r"^(?:bad_request|unprocessable|conflict|not_found|validation_error): ?",)),
    (_DENIED, (r"^(?:forbidden|permission_denied|unauthorized|unauthenticated): ?",)),
    (_LIMIT, (r"^rate_limited: ?",)),
    (_DOWN, (r"^unavailable: ?",)),
    (_BROKEN, (r"^internal: ?",)),
    # Trust in a certificate is nothing that time brings.
    (
        _UNTRUSTED,
        (
            r"certificate (?:verify failed|has expired|is not trusted|signed by unknown|is not valid|problem)",
            r"unable to (?:verify the first certificate|get (?:local )?issuer)|self[- ]signed cert|err_cert_",
            r"x509: |cert_(?:has_expired|untrusted|signature)|does not match certificate",
            r"hostname/ip does not match|wrong_version_number|wrong version number|err_ssl_",
            r"(?:ssl|tls) handshake (?:fail|error)|unable_to_verify",
        ),
    ),
    # Limits, before "not allowed" and before the noun "timeout".
    (
        _UNPAID,
        (
            r"insufficient[_ ](?:quota|credit|fund|balance)|credit balance is too low|payment required|out of credits",
            r"plan and billing|billing (?:hard )?limit|billing (?:is |account )?(?:not|inactive|disabled)|disk quota",
        ),
    ),
    (
        _LIMIT,
        (
            r"\brate[- ]limit(?! (?:must|should|parameter|value|option)\b)|\brate_?limit_?(?:ed|error|exceeded)\b",
            r"too many requests|\bthrottl(?:ed|ing)",
            r"throttl\w{0,20}exception|resource_?exhausted|\bslow down\b",
            r"too many (?:\w{1,20} )?(?:connections|clients|queries|sessions|calls|logins|attempts)\b",
            r"max number of clients|maxmemory|\boom command|more than [^\n]{0,40}active connections",
            r"memory limit [^\n]{0,20}exceeded|has exceeded the [^\n]{0,60}resource|remaining connection slots",
            r"\b@limit\b[^.\n]{0,40}\b@spent\b|\b@spent\b[^.\n]{0,40}\b@limit\b",
        ),
    ),
    # A number is a status only beside a status word.
    (
        _answered,
        (r"\bhttp(?:s|/[\d.]{1,3})?[ :_-]{0,3}(?:status|error|code|response)?(?: code)?[ :=(-]{0,3}@status@no_count",),
    ),
    (
        _answered,
        (r"\b(?:status|statuscode|status_code)(?:[ _]code)?['\"]?(?: was| is| of)?[ :=(]{1,3}['\"]?@status@no_count",),
    ),
    (_answered, (r"\b\w{0,60}(?:error|exception)\(@status,",)),
    (_answered, (r"error(?: code)?[ :([]{1,3}@status@no_count",)),
    (_answered, (r"(?:^|[\s:('\"[])@status[ :)-]{1,3}@reason",)),
    (_answered, (r"@reason['\"]?[ :(\[-]{1,3}(?:status )?@status",)),
    (_answered, (r"\b(?:fail|error|denied|unavailable|unauthori)[^\n]{0,60}\(@status\)",)),
    (
        _answered,
        (r"\b(?:returned|responded with|answered|failed with|got|received)(?: an?)?(?: error)? \(?@status@no_count",),
    ),
    (_answered, (r"\b(?:fail|error)[^\n]{0,80}[:=] ?@status(?= ?(?:$|[-,.({:;]))",)),
    # The MCP hop.
    (
        _UNREACHABLE,
        (
            r"mcp server\b[^\n]{0,80}\b(?:unreachable|unavailable|disconnected|crashed|exited|died|down)\b",
            r"mcp server\b[^\n]{0,80}\bnot (?:reachable|connected|running|responding)\b",
            r"unreachable[^\n]{0,40}\bmcp server\b|@cannot (?:connect to|reach|start)(?: the)? mcp server",
        ),
    ),
    # Contention is over soon.
    (
        _CONTENDED,
        (
            r"lock (?:wait )?timeout|\bdeadlock|database is locked|could not (?:obtain lock|serialize)",
            r"\bebusy\b",
        ),
    ),
    # Addresses that could never work.
    (
        _ARGUMENT,
        (
            r"\binvalid (?:connection string|scheme|url|uri|protocol|hostname)",
            r"(?:malformed|unsupported) (?:url|uri|scheme|protocol)|unsupported url scheme",
            r"\bno scheme supplied|unknown (?:url|protocol) (?:scheme|type)",
        ),
    ),
    # A policy's sentence may give another reason: the name is not known.
    (
        _DOWN,
        (
            r"\b@host\b[^\n]{0,80}@cannot (?:be )?resolved?\b|@cannot (?:be )?resolved?(?: to)?\b[^\n]{0,60}\b@host\b",
            r"\bdns (?:lookup|resolution|query|error)[^\n]{0,40}\b(?:fail|error|could not)|connection issue",
        ),
    ),
    # What a policy stops.
    (
        _POLICY,
        (
            r"protocol is (?:blocked|not allowed)|err_(?:unsafe_port|blocked_by|access_denied)|\begress\b",
            r"network blocked|blocked by (?:\w{1,20} ){0,2}(?:policy|firewall|proxy|administrator|sandbox)",
            r"robots\.txt[^\n]{0,160}(?:specif|disallow|not allow|prohibit|forbid)|\bssrf\b",
            r"(?:not a|non-|not) ?public (?:ip |network )?(?:address|host|ip|url)",
            r"\b@host (?:\S{1,80} )?(?:is |are )?(?:blocked\b|forbidden|disallow|not (?:allow|permit|in the allow))",
            r"\b@private (?:ranges?|@host)\b[^\n]{0,40}(?:\bnot\b|@refused)",
            r"@refused[^\n]{0,60}\b@private (?:ranges?|@host)\b",
        ),
    ),
    # Network tokens before English.
    (_LATE, (r"\bread timed? ?out|readtimeout",)),
    (
        _DOWN,
        (
            r"\b(?:econn(?:refused|reset|aborted)|ehostunreach|enetunreach|ehostdown|enetdown|epipe|eai_again|enotfound)\b",
            r"\berrno (?:111|104|113|101|61|54|-2|-3|-5)\b|name resolution|\bgetaddrinfo\b",
            r"max retries exceeded",
            r"net::err_(?:internet|connection|name|address_unr|network|empty|proxy|socket)",
            r"(?:^|: )fetch failed|\bdial (?:tcp|unix)\b|socket hang up|no route to host",
            r"network (?:is )?unreachable|\bno such host\b|name or service not known|nodename nor servname",
            r"server has gone away|remote end closed|server disconnected|all connection attempts failed",
            r"broken pipe|connect(?:ion)?timeout|\bconnect timeout|@cannot (?:connect(?:ing)?|reach)(?: to)?\b",
            r"@cannot (?:resolve|resolving) (?:host|hostname|address|dns|domain)",
            r"@cannot (?:establish|open|make|create|get|obtain) (?:a |an |the )?(?:new )?connection",
            r"\bconnection (?:to [^\n]{1,100} )?@is(?:refused|reset|aborted|closed|lost|failed|terminated|bad)\b",
            r"connect call failed|time(?:d )?-?out connecting|(?:closed|refused) the connection|refused to connect",
            r"terminating connection",
            r"(?:socket|client) (?:is )?closed|connection timeout|\bconnection ?error\b|\bconnecterror\b",
            r"\bnetwork[ _]?error\b|lost connection|no internet|(?:you are|network is|currently) offline",
            r"no living connections",
            r"\bunexpected eof\b|\baggregateerror\b|tunnel connection|\bproxyerror\b",
            r"request to [^\n]{0,80} failed",
            r"failed to (?:make|send|complete|perform) (?:the |a |an )?(?:\w{1,20} )?request",
            r"could not access the (?:web ?page|web ?site|site|url|server|service|api)\b",
            r"failed to fetch(?: \W{1,3})?$|\b(?:14 |statuscode\.)unavailable",
            r"service[ _]?(?:is )?(?:temporarily |currently )?unavailable|temporarily unavailable",
            r"temporary failure|bad gateway|pool (?:is )?exhausted|\boverloaded\b|in recovery mode",
            r"server is (?:shutting down|starting up|overloaded|busy|down)",
            r"database system is (?:shutting|starting)|is loading the dataset|\b(?:cluster|master)down\b",
            r"tls handshake timeout",
        ),
    ),
    # Time needs an event.
    (
        _LATE,
        (
            r"\btimed[- ]out|\btimeout_?(?:error|exception|expired)|\bdeadline[_ ]?exceeded",
            r"\btimeout (?:of )?\d{1,9} ?m?s exceeded",
            r"\btimeout (?:exceeded|expired|reached|occurred|after|error|while|waiting)|statement timeout",
            r"due to (?:a )?timeout|exceeded (?:the |its )?(?:time ?limit|timeout|deadline|maximum time)",
            r"(?:request|gateway|response|operation|query|execution) time-?out$|^time-?out\.?$|took too long",
            r"maximum statement execution time|execution (?:was interrupted|expired)|\bi/o timeout",
            r"\bgateway time-?out",
        ),
    ),
    # "Not found, or you may not see it" is the first.
    (
        _ARGUMENT,
        (
            r"(?:not found|no such|not exist|there is no [^\n]{0,60})[^\n]{0,40}\bor\b[^\n]{0,60}(?:permission|access)",
            r"does not appear to be|not a valid object",
        ),
    ),
    (_ARGUMENT, (r"\b(?:page|cursor|continuation|pagination|sync) ?token\b",)),
    # Rights and credentials.
    (
        _FILE_DENIED,
        (
            r"\b(?:eacces|eperm|erofs)\b",
            r"(?:outside|not (?:in|within|under|inside))[^.\n]{0,40}\b(?:allowed|permitted|sandbox)\b",
            r"path traversal|read-only file ?system|must be (?:within|inside|under) ",
            r"escapes? (?:the |current |its )?(?:working|root|base|sandbox|allowed|workspace)",
            r"operation not permitted",
        ),
    ),
    (
        _DENIED,
        (
            r"\bpermission[_ ]denied|\baccess[_ ]?(?:is |was )?denied|command denied to",
            r"must be (?:superuser|(?:the )?owner)|\bno ?auth\b|\bnoperm\b|\bwrongpass\b",
            r"auth(?:entication|orization)?[_ ](?:is |was )?(?:failed|failure|required|error)",
            r"\bunauthori[sz]ed\b|unauthenticated|not authori[sz]ed|not authenticated|\bforbidden\b",
            r"\bnot permitted\b|\bnot allowed\b",
            r"insufficient[_ ](?:\w{1,20} )?(?:permission|privilege|scope|access|rights)",
            r"(?:lack|without|no|missing|not have|n't have)[^.\n]{0,30}\b(?:permission|privilege|right to|access to)",
            r"\bread[ -]?only\b|\bpermission ?error\b|not enough (?:privilege|permission|right)|protected mode",
            r"\brequires? (?:\w{1,20} )?(?:authentication|authorization|login|credentials|privileges|permissions?)\b",
            r"not accessible by|provide credentials|must be logged in|\binvalid_auth\b|\bnot_authed\b",
            r"missing_scope|token_revoked|account_inactive|allow-?list|whitelist",
            r"disabled by (?:the )?(?:configuration|administrator|policy|operator)",
            r"\b(?:invalid|incorrect|bad|expired|missing|no) (?:\w{1,20} )?(?:@secret|login)\b(?! (?:at|in|near)\b)",
            r"\b@secrets? (?:is |are |was |were |has |have |been |not |no ){1,3}(?:invalid|expired|missing|revoked)",
            r"\b@secrets? (?:is |are |was |not |no ){1,3}(?:required|rejected|incorrect|valid|configured|provided|set)",
            r"\blogin (?:failed|required)|\bnot logged in\b|\bdisallowed\b|\bdenied by\b",
        ),
    ),
    # The tool's code broke.
    (
        _CRASH,
        (
            r"cannot read propert|cannot (?:set|access|destructure) propert",
            r"cannot access (?:local|free) variable|is not a function|is not iterable|is not a constructor",
            r"has no attribute|object is not (?:subscriptable|callable|iterable)|unsupported operand type",
            r"positional arguments?\b|got an unexpected keyword argument",
            r"(?:list|string|tuple) index out of range|index out of range \[|referenced before assignment",
            r"recursion depth|call stack size exceeded|nil pointer|null ?pointer|undefined is not",
            r"cannot unpack|\bunboundlocalerror|\b(?:attribute|key|type|index|assertion|name|reference)error\b",
            r"\bpanic(?:ked)?\b|traceback \(most recent|segmentation fault|not json serializable",
            r"\bunhashable type|not enough values to unpack|too many values to unpack",
        ),
    ),
    # Files and databases.
    (_FULL, (r"no space left|\benospc\b|disk (?:is )?full",)),
    (
        _FILE_ARGUMENT,
        (
            r"\b(?:enoent|eisdir|enotdir|eexist|enotempty|enametoolong|eloop)\b|no such file|is a directory",
            r"not a directory",
        ),
    ),
    (
        _QUERY_ARGUMENT,
        (
            r"syntax ?error",
            r"\b(?:relation|table|column|schema|function|role|index|collection|database|type)\b[^\n]{0,80}not exist",
            r"no such (?:table|column|index)|\bwrongtype\b|duplicate (?:key|entry|column)",
            r"violates [^\n]{0,80}constraint|invalid input syntax|division by zero",
            r"unknown (?:column|table|database|command)|value out of range|integer out of range",
            r"constraint failed",
        ),
    ),
    # The server's side, in English.
    (_SERVER_DOWN, (r"internal server error|(?:try|retry) again (?:later|soon|in)\b|\b(?:try|retry) later",)),
    (
        _BROKEN,
        (
            r"internal error|something went wrong|(?:unknown|unexpected|unspecified) error",
            r"error (?:has )?occurred|unexpected return value",
            r"failed to parse [^\n]{0,40}\b(?:response|reply|html|page|feed|xml)\b",
            r"no (?:response|reply|answer) (?:from|received)",
            r"(?:invalid|unexpected|malformed|empty|bad) (?:\w{1,20} ){0,2}(?:response|reply|answer|content-type)\b",
            r"not (?:initiali[sz]ed|configured)|misconfigured|configuration error|environment variable",
            r"server is not \w{1,40} |see (?:the )?server log",
        ),
    ),
    # The caller's side, in English.
    (
        _ARGUMENT,
        (
            r"not[ _]found|n[o']t exist|no such|\binvalid\b|\bnot (?:a )?valid\b|\bmust\b|\bdomain error",
            r"\boverflow|(?:is|are) required|\brequire[sd]?\b|cannot (?:be|specify|use|find|create|parse|have)",
            r"already exists?|\bunknown\b|could not (?:find|parse|locate|read)|unable to (?:find|parse|locate)",
            r"failed to parse|\bunsupported\b|not supported|only [^\n]{1,80} (?:allowed|permitted|supported)",
            r"not match|could not resolve to|\bunrecogni[sz]ed|\bmalformed\b|\bmissing\b",
            r"out of (?:range|bounds)|too (?:long|short|large|small|big|many|few)",
            r"please (?:provide|specify|supply|choose)|\bexpected\b|\bunexpected\b|not something|\billegal\b",
            r"\bincorrect\b|\bexceeds\b|can only be|\bambiguous\b|\bempty\b|\bnothing to\b",
            r"\bno [\w ]{1,60}(?:found|specified|provided|given|selected|staged|set|available|matching)\b",
            r"\bhas no\b|either .{1,80}\bor\b|at (?:least|most) (?:one|two|\d)",
            r"not a (?:number|directory|file|git|string|boolean)",
        ),
    ),
)


@cache
def _table() -> tuple[tuple[re.Pattern[str], _Meaning], ...]:
    return tuple((re.compile(_spelled_out("|".join(patterns)), re.MULTILINE), meaning) for meaning, patterns in _TABLE)


def _spelled_out(pattern: str) -> str:
    for name, fragment in _FRAGMENTS.items():
        pattern = pattern.replace(name, fragment)
    return pattern


#: What a JSON-RPC code means, together with a word.
_BY_RPC: Final[tuple[tuple[frozenset[int], str, Verdict], ...]] = (
    (frozenset({-32000}), r"^connection closed", _UNREACHABLE),
    (frozenset({-32001, -32600, 32600, -32000}), r"\bsession\b", _UNREACHABLE),
    (frozenset({408}), r"", _LATE),
)

#: What a JSON-RPC code means when the words say nothing.
_BY_RPC_ALONE: Final[dict[int, Verdict]] = {-32601: _NO_TOOL, -32602: _ARGUMENT}


def careful(
    text: str,
    *,
    tool: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    rpc_code: int | None = None,
) -> Verdict | None:
    """
    Return what an error text shows, or None if it shows nothing.

    Args:
        text: What stood in the result or in the JSON-RPC error.
        tool: The tool that was called. None: not known; then any name beside "unknown tool" is believed.
        arguments: What it was called with.
        rpc_code: The number of the JSON-RPC error, if it was one.
    """
    body, wrapped = _unwrapped(text[:_WINDOW], tool)
    rpc_code = wrapped if rpc_code is None else rpc_code
    if _misses_tool(body, tool):
        return _NO_TOOL
    said = list(islice(_strings(arguments), _MAX_STRINGS))
    words = _without(_spoken(body), tool, said).lower()
    verdict = _by_rpc(rpc_code, words) or _callers_code(body, said) or _by_table(words)
    if verdict is None and rpc_code is not None:
        verdict = _BY_RPC_ALONE.get(rpc_code)
    if verdict is None:
        return None
    return _with_wait(verdict, body)


def _by_rpc(rpc_code: int | None, words: str) -> Verdict | None:
    for codes, pattern, verdict in _BY_RPC:
        if rpc_code in codes and re.search(pattern, words):
            return verdict
    return None


@lru_cache(maxsize=128)
def _by_table(words: str) -> Verdict | None:
    # Servers repeat themselves; what the caller said is no part of the key.
    for pattern, meaning in _table():
        match = pattern.search(words)
        if match is not None:
            return meaning if isinstance(meaning, Verdict) else meaning(match)
    return None


# ---- wrappers

_NAME = r"['\"`]?(?P<name>[\w./:-]{1,128})['\"`]?"

_WRAPPERS: Final = (
    r"(?:mcp ?error|jsonrpc error|json-rpc error)[ :]{1,2}(?P<code>-?\d{1,6}): ?",
    r"(?:error|unexpected error|exception|failure|failed) (?:executing|calling|running|invoking|in|while executing)"
    r" (?:the )?(?:tool )?" + _NAME + r"(?: tool)?: ?",
    r"tool " + _NAME + r" (?:execution )?(?:failed|error)(?: with(?: an)? (?:error|exception))?: ?",
    r"failed to (?:execute|call|run|invoke) (?:the )?tool " + _NAME + r": ?",
    r"(?:tool execution (?:failed|error)|caught exception[.:]|mcperror:|toolerror:|(?:unexpected )?error:)\s{0,20}",
    r"(?:exception:|(?:an (?:unexpected )?)?error occurred:|\w{1,40}\.calltool:)\s{0,20}",
    r"(?:#{1,4} ?error\b|\*\*[\w ]{0,20}error\*\*):?\s{0,20}",
    r"[\N{CROSS MARK}\N{WARNING SIGN}\N{HEAVY BALLOT X}\N{BALLOT X}]\ufe0f?\s{0,20}",
)


@cache
def _wrapper() -> re.Pattern[str]:
    # A name of a group can stand only once in a pattern.
    alternatives = [pattern.replace("?P<name>", f"?P<name{number}>") for number, pattern in enumerate(_WRAPPERS)]
    return re.compile(r"\s{0,20}(?:" + "|".join(alternatives) + ")", re.IGNORECASE)


def peel(text: str, tool: str | None = None) -> str:
    """
    Return a text without what hosts and handlers put in front of it; never empty unless the text is.

    A wrapper that names a tool is taken off only if it names this one, or if none is given.
    """
    return _unwrapped(text, tool)[0]


def _unwrapped(text: str, tool: str | None) -> tuple[str, int | None]:
    # The text, and the JSON-RPC code that the innermost wrapper told.
    code: int | None = None
    start = 0
    for _ in range(_MAX_WRAPPERS):
        match = _wrapper().match(text, start)
        if match is None:
            break
        groups = match.groupdict()
        names = [name for key, name in groups.items() if name and key != "code"]
        if (names and not _is_tool(names[0], tool)) or not text[match.end() : match.end() + _WINDOW].strip():
            break
        code = int(groups["code"]) if groups["code"] else code
        start = match.end()
    return text[start:], code


def _is_tool(name: str, tool: str | None) -> bool:
    # The called tool, or its name without a gateway's prefix.
    if tool is None:
        return True
    name, tool = name.strip(".:").lower(), tool.lower()
    return name == tool or (bool(name) and tool.endswith(name) and not tool[-len(name) - 1].isalnum())


# ---- a tool that is missing

_MISSING: Final = (
    r"not (?:be )?(?:found|exist|known|registered|available|recogni[sz]ed|defined|supported|implemented)\b"
)

_PHRASES: Final = (
    r"\b(?:unknown|unrecogni[sz]ed|no such|undefined|nonexistent|invalid) (?:tool|method)"
    r"(?: name| requested| called)?[ :]{1,2}" + _NAME,
    r"\b(?:tool|method)(?: named| with name)?:? " + _NAME + r" (?:was |is |does |could |cannot |can )?"
    r"(?:" + _MISSING + "|unknown|doesn't exist|isn't)",
    r"\b(?:tool|method)(?: was| is)? not (?:found|known|registered|available)[ :]{1,2}" + _NAME,
    r"\bno (?:such )?tool(?: is)?(?: named| called| with(?: the)? name| registered for)?:? " + _NAME,
    r"\b(?:could not|couldn't|cannot|can't|unable to) find (?:the |a )?tool(?: named| called)?:? " + _NAME,
    _NAME + r" is (?:not a|no) (?:known |valid |registered |available )?tool\b",
)

#: Words that stand where a name would, and are none.
_NO_NAMES: Final = frozenset(
    [
        "the",
        "a",
        "an",
        "was",
        "is",
        "are",
        "for",
        "you",
        "it",
        "with",
        "in",
        "by",
        "not",
        "found",
        "name",
        "or",
        "and",
        "this",
        "that",
        "available",
    ]
)

_BARE = r"\W{0,3}(?:unknown tool|tool (?:was |is )?not found|no such tool)\W{0,3}"


@cache
def _phrases() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in (*_PHRASES, _BARE))


def _misses_tool(body: str, tool: str | None) -> bool:
    low = body.lower()
    if "tool" not in low and "method" not in low:
        return False
    *phrases, bare = _phrases()
    if bare.fullmatch(body[:64]) and len(body) <= 64:
        return True
    for phrase in phrases:
        for match in phrase.finditer(body):
            name = match["name"].rstrip(".:")
            if name.lower() not in _NO_NAMES and _is_tool(name, tool):
                return True
    return False


# ---- JSON in a text

_STATUS_KEYS: Final = frozenset(
    {"status", "statuscode", "httpstatus", "httpstatuscode", "code", "httpcode", "errorcode"}
)
_CODE_KEYS: Final = frozenset({"code", "type", "errortype", "errorcode", "reason", "name", "status", "kind"})
_TEXT_KEYS: Final = frozenset(
    (
        *("message", "msg", "error", "errors", "detail", "details", "title", "cause"),
        *("errordescription", "errormessage", "result", "data"),
    )
)


def _loaded(text: str) -> object:
    try:
        return json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None


def _spoken(body: str) -> str:
    # JSON as lines of prose; other text as it is.
    value = _loaded(body)
    if isinstance(value, list):
        return _spoken_list(cast("list[object]", value)) or body
    if isinstance(value, dict):
        return "\n".join(_lines(cast("object", value), _MAX_DEPTH)) or body
    return body


def _spoken_list(items: list[object]) -> str | None:
    # A validator's list (zod). One whose paths are all empty did not look at arguments.
    issues = [cast("dict[str, object]", item) for item in items if isinstance(item, dict)]
    if not issues or not all("path" in issue for issue in issues):
        return None
    return "invalid arguments" if any(issue["path"] for issue in issues) else "unexpected response"


def _lines(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield peel(value)
    elif isinstance(value, list) and depth:
        for item in cast("list[object]", value)[:_MAX_STRINGS]:
            yield from _lines(item, depth - 1)
    elif isinstance(value, dict) and depth:
        for key, member in cast("dict[str, object]", value).items():
            yield from _member_lines(re.sub(r"[\W_]", "", key).lower(), member, depth - 1)


def _member_lines(name: str, member: object, depth: int) -> Iterator[str]:
    if name in _STATUS_KEYS and re.fullmatch(r"[45]\d\d", str(member)):
        yield f"http status {member}"
    elif name in _CODE_KEYS and isinstance(member, str):
        yield _words_of(member)
    elif name in _TEXT_KEYS:
        yield from _lines(member, depth)


def _words_of(name: str) -> str:
    # RateLimitError and RATE_LIMIT as they would be said.
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_-]+", " ", name[:_WINDOW])


# ---- what the caller said


def _strings(value: object, depth: int = _MAX_DEPTH) -> Iterator[str]:
    if isinstance(value, str):
        yield value[:_WINDOW]
    elif depth and isinstance(value, Mapping):
        for member in cast("Mapping[object, object]", value).values():
            yield from _strings(member, depth - 1)
    elif depth and isinstance(value, list | tuple):
        for member in cast("Iterable[object]", value):
            yield from _strings(member, depth - 1)


_NO_EVIDENCE: Final = (
    r"input_value=[^\n]{0,500}?(?=, input_type=|\n|$)",
    r"[a-z][a-z0-9+.-]{1,15}://[^\s'\"<>`]{0,2000}",
    r"```[^`]{0,4000}```",
    r"`[^`\n]{1,400}`",
    # Quoted names; what is said in several words is left, and so is a member of JSON.
    r"(?<!\":)(?<!\": )(?<!\w)(?:'[^\s']{1,200}'|\"[^\s\"]{1,200}\")(?!\w)",
    r"(?<![\w/.])(?:[a-z]:\\|\.{0,2}/)[^\s'\",;()]{1,1000}",
)


@cache
def _no_evidence() -> re.Pattern[str]:
    return re.compile("|".join(_NO_EVIDENCE), re.IGNORECASE)


def _without(text: str, tool: str | None, said: Iterable[str]) -> str:
    values = {value.strip() for value in said if len(value) > _SHORT}
    if tool is not None and len(tool) > _SHORT:
        values.add(tool)
    # As they are, and as a repr writes them.
    values |= {repr(value)[1:-1] for value in values}
    for value in sorted(values, key=len, reverse=True):
        if len(value) > _SHORT:
            text = _cut(text, value)
    return _no_evidence().sub(_GAP, text)


def _cut(text: str, value: str) -> str:
    # Whole words only: an argument "time" says nothing about "timeout".
    parts: list[str] = []
    start = at = 0
    while (at := text.find(value, at)) >= 0:
        end = at + len(value)
        inside = (at > 0 and _joins(text[at - 1], value[0])) or (end < len(text) and _joins(text[end], value[-1]))
        if inside:
            at += 1
            continue
        parts += text[start:at], _GAP
        start = at = end
    return "".join((*parts, text[start:]))


def _joins(one: str, other: str) -> bool:
    return (one.isalnum() or one == "_") and (other.isalnum() or other == "_")


_UNDEFINED = r"\b(?:name )?['\"]?([A-Za-z_$][\w$]{0,80})['\"]? is not defined\b"


def _callers_code(body: str, said: list[str]) -> Verdict | None:
    # A name that nobody defined: the caller's code if the name stands in it, else the tool's.
    match = re.search(_UNDEFINED, body) if "is not defined" in body else None
    if match is None:
        return None
    return (
        _ARGUMENT if any(re.search(rf"(?<![\w$]){re.escape(match[1])}(?![\w$])", value) for value in said) else _CRASH
    )


# ---- waits

_UNITS: Final = (("ms", 0.001), ("mil", 0.001), ("m", 60), ("h", 3600), ("", 1))

# What follows the number of a count, not of a wait.
_NO_WAIT: Final = r"(?![\d.]*\d| ?(?:attempts?|tries|retries|times|failed|failures)\b)"

_NUMBER: Final = r"(?P<number>\d{1,18}(?:\.\d{1,9})?)" + _NO_WAIT

_UNIT: Final = r"(?P<after>ms|milli\w{0,10}|minutes?|mins?|m|hours?|h|seconds?|secs?|s)\b"

_WAITS: Final = (
    r"retry[-_ ]?after[-_ ]?(?P<unit>ms|milliseconds|seconds|secs|s)?['\"]?[ :=]{1,3}['\"]?"
    + _NUMBER
    + f"(?: ?{_UNIT})?",
    r"\b(?:wait(?: for)?|(?:retry|try again|available)(?: again)? in)(?: at least| about)? " + _NUMBER + f" ?{_UNIT}",
)


@cache
def _waits() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in _WAITS)


def _with_wait(verdict: Verdict, body: str) -> Verdict:
    retryable = DEFAULTS[verdict.code][1] if verdict.retryable is None else verdict.retryable
    if not retryable:
        return verdict
    for pattern in _waits():
        match = pattern.search(body)
        if match is not None:
            unit = (match["after"] or match.groupdict().get("unit") or "s").lower()
            factor = next(factor for start, factor in _UNITS if unit.startswith(start))
            seconds = math.ceil(float(match["number"]) * factor)
            return replace(verdict, retry_after_seconds=min(seconds, _MAX_WAIT))
    return verdict


# ---- the suspicion

_FIRST_WORDS: Final = (
    r"\W{0,4}(?:(?:[\w-]{1,30} ){0,3}error\b|errors?\b|exception\b|failed\b|failure\b|invalid\b|unknown tool\b|fatal:|"
    r"cannot\b|could not\b|unable to\b|access denied|permission denied|traceback \(most recent|unauthori[sz]ed\b|"
    r"forbidden\b|[\w .]{1,60}failed:)"
)


@cache
def _first_words() -> re.Pattern[str]:
    return re.compile(_FIRST_WORDS, re.IGNORECASE)


def looks_failed(text: str) -> bool:
    """
    Tell whether the text of a *success* reads like a failure. A suspicion, and no more: honest output can begin so.
    """
    if len(text) > _WINDOW:
        return False
    value = _loaded(text)
    if not isinstance(value, dict):
        return value is None and _first_words().match(text) is not None
    members = cast("dict[str, object]", value)
    if _object_failed(members):
        return True
    # As the Python SDK wraps a str or a dict that a tool returned.
    result = members.get("result") if len(members) == 1 else None
    if isinstance(result, str):
        return _first_words().match(result) is not None
    return isinstance(result, dict) and _object_failed(cast("dict[str, object]", result))


def _is_failing(status: object) -> bool:
    if isinstance(status, str):
        return status.lower() in ("error", "failed", "failure")
    return isinstance(status, int) and 400 <= status <= 599


_TOLD_BY: Final[tuple[tuple[tuple[str, ...], Callable[[object], bool]], ...]] = (
    (("success", "ok"), lambda value: value is False),
    (("isError", "is_error"), lambda value: value is True),
    (("status", "statusCode", "status_code", "http_status", "code"), _is_failing),
    (("error", "error_message", "errorMessage"), bool),
)


def _object_failed(members: dict[str, object]) -> bool:
    if any(tells(members.get(name)) for names, tells in _TOLD_BY for name in names):
        return True
    return bool(members.get("errors")) and not members.get("data")
