"""
The meanings of HTTP statuses: one table for answers, exceptions, structured content and prose.

Rule 1: a row holds the status alone; headers and bodies are judged by `toolfault.rules.http`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._meanings.rows import (
    LATER,
    OPERATOR,
    outage,
    permanent,
    status_row,
    timeout,
    value_refusal,
)
from toolfault._verdict import Verdict, replace


_TRANSIENT, _PERMANENT = McpErrorCategory.TRANSIENT, McpErrorCategory.PERMANENT

_value_refusal: Final = partial(value_refusal, origin="upstream")
_tools: Final = partial(permanent, family="http", origin="upstream")
_outage: Final = partial(outage, family="http", origin="upstream")


def _late(sentence: str) -> Verdict:
    return replace(timeout(sentence, origin="upstream"), family="http")


_METHOD: Final = _tools("{peer} does not accept this kind of request")
_GONE: Final = _value_refusal("{peer} no longer has what was asked for, or does not show it")
_VALUES: Final = _value_refusal("{peer} refused the values of the request")
_CHANGED: Final = _value_refusal(
    "{peer} refused the request in the present state",
    advice="Look at the present state, then call differently.",
)
_SIZE: Final = _value_refusal("The request is too large for {peer}", advice="Send less.")
_UNABLE: Final = _tools("{peer} can't do what was asked")
FAILED: Final = _outage("{peer} failed")
_UNREACHED: Final = _outage("{peer} could not be reached behind its own network")
_ORIGIN_TLS: Final = _tools("{peer} has no valid TLS certificate behind its own network")
_POLICY: Final = status_row(
    McpErrorCode.NETWORK_BLOCKED,
    _PERMANENT,
    "A proxy does not let the connection through",
    OPERATOR,
)
LIMIT: Final = status_row(
    McpErrorCode.QUOTA_EXCEEDED, _TRANSIENT, "{peer}'s rate limit is reached", LATER, retryable=True
)
USED_UP: Final = status_row(
    McpErrorCode.QUOTA_EXCEEDED,
    _PERMANENT,
    "{peer}'s quota is used up",
    "More has to be bought or granted.",
)
_DEADLINE: Final = _late(
    "{peer} did not answer in time, and whether the request was carried out is unknown"
)

#: Status to what it means. A status that is not here: `row_for`.
STATUS: Final[dict[int, Verdict]] = {
    400: _value_refusal("{peer} refused the request as malformed"),
    401: replace(
        status_row(
            McpErrorCode.PERMISSION_DENIED,
            McpErrorCategory.AUTH,
            "{peer} did not accept the credentials",
            "They are missing, wrong or expired.",
        ),
        refuses_credentials=True,
    ),
    402: status_row(McpErrorCode.QUOTA_EXCEEDED, _PERMANENT, "{peer} demands payment"),
    403: status_row(
        McpErrorCode.PERMISSION_DENIED,
        McpErrorCategory.AUTH,
        "{peer} does not allow this",
        "Other rights are needed.",
    ),
    404: _value_refusal("{peer} found nothing, or does not show it"),
    405: _METHOD,
    406: _METHOD,
    407: status_row(
        McpErrorCode.NETWORK_BLOCKED,
        _PERMANENT,
        "A proxy wants credentials for the connection",
        OPERATOR,
    ),
    408: _late("{peer} gave up waiting for the request, and did not carry it out"),
    409: _value_refusal(
        "{peer} reports a conflict with the present state",
        advice="Look at the present state, then call differently.",
    ),
    410: _GONE,
    411: _METHOD,
    412: _CHANGED,
    413: _SIZE,
    414: _SIZE,
    415: _METHOD,
    416: _VALUES,
    421: _outage("{peer} did not process the request"),
    422: _VALUES,
    423: _outage("What was asked for is locked at {peer}"),
    424: _CHANGED,
    425: _outage("{peer} did not process the request"),
    426: _METHOD,
    428: _CHANGED,
    429: LIMIT,
    431: _METHOD,
    451: status_row(
        McpErrorCode.PERMISSION_DENIED,
        _PERMANENT,
        "{peer} does not show this for legal reasons",
        "No other credentials will help.",
    ),
    499: _tools("The request to {peer} was given up"),
    500: FAILED,
    501: _UNABLE,
    502: _outage("{peer} is not reachable behind its gateway"),
    503: _outage("{peer} is unavailable"),
    504: _DEADLINE,
    505: _METHOD,
    506: _UNABLE,
    507: status_row(
        McpErrorCode.QUOTA_EXCEEDED,
        _PERMANENT,
        "{peer} has no room left",
        "Room has to be made first.",
    ),
    508: _UNABLE,
    510: _UNABLE,
    511: status_row(
        McpErrorCode.NETWORK_BLOCKED,
        _PERMANENT,
        "The network wants a login before it lets anything through",
        OPERATOR,
    ),
    520: _UNREACHED,
    521: _UNREACHED,
    522: _UNREACHED,
    523: _UNREACHED,
    524: _DEADLINE,
    525: _ORIGIN_TLS,
    526: _ORIGIN_TLS,
    527: _UNREACHED,
    529: _outage("{peer} is overloaded"),
    530: _UNREACHED,
}

#: A conflict that is over soon, since the upstream says when to come back.
CONTENDED: Final = replace(FAILED, sentence=STATUS[409].sentence)

_OTHER_4XX: Final = _value_refusal("{peer} refused the request")
_REDIRECT: Final = _tools("{peer} answered with a redirect that was not followed")
_ODD: Final = _tools("{peer} gave an answer that the tool did not expect")

#: Refusals and outages that a ``Proxy-Status`` field names (RFC 9209).
PROXY_ERRORS: Final[dict[str, Verdict]] = {
    **dict.fromkeys(
        (
            "http_request_denied",
            "destination_ip_prohibited",
            "destination_ip_unroutable",
            "proxy_configuration_error",
        ),
        _POLICY,
    ),
    **dict.fromkeys(
        ("http_response_timeout", "connection_read_timeout", "connection_write_timeout"), _DEADLINE
    ),
    "tls_certificate_error": _ORIGIN_TLS,
}


def row_for(status: int) -> Verdict:
    """
    Return the row of a status by itself, whatever number it is.
    """
    if (row := STATUS.get(status)) is not None:
        return row
    if 400 <= status < 500:
        return _OTHER_4XX
    if 500 <= status < 600:
        return FAILED
    return _REDIRECT if 300 <= status < 400 else _ODD


def read_status(status: int) -> Verdict:
    """
    Return the row of a status that a text reports, without our sentence.
    """
    return replace(row_for(status), sentence=None, peer=None, advice="", upstream_status=status)
