"""
What the HTTP status of a tool's upstream means.

The table is for APIs *behind* a tool. The MCP endpoint's own statuses are the client's business.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Final, cast

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._meanings.rows import (
    LATER,
    NO_USE,
    OPERATOR,
    UPSTREAM,
    never_again,
    outage,
    permanent,
    refused_values,
    timeout,
)
from toolfault._retry_after import delay_from, folded, limit_is_reached
from toolfault._verdict import Verdict


__all__ = ["STATUS", "beginning_of", "row_for", "verdict_for"]


_TRANSIENT, _PERMANENT = McpErrorCategory.TRANSIENT, McpErrorCategory.PERMANENT

_callers: Final = partial(refused_values, origin="upstream")
_tools: Final = partial(permanent, family="http", origin="upstream")
_outage: Final = partial(outage, family="http", origin="upstream")


def _late(sentence: str) -> Verdict:
    return replace(timeout(sentence, origin="upstream"), family="http")


def _row(
    code: McpErrorCode,
    category: McpErrorCategory,
    sentence: str,
    advice: str = NO_USE,
    *,
    retryable: bool = False,
) -> Verdict:
    return Verdict(
        code=code,
        category=category,
        retryable=retryable,
        sentence=sentence,
        peer=UPSTREAM,
        advice=advice,
        family="http",
        origin="upstream",
    )


_METHOD: Final = _tools("{peer} does not accept this kind of request")
_GONE: Final = _callers("{peer} no longer has what was asked for, or does not show it")
_VALUES: Final = _callers("{peer} refused the values of the request")
_CHANGED: Final = _callers(
    "{peer} refused the request in the present state",
    advice="Look at the present state, then call differently.",
)
_SIZE: Final = _callers("The request is too large for {peer}", advice="Send less.")
_UNABLE: Final = _tools("{peer} can't do what was asked")
_FAILED: Final = _outage("{peer} failed")
_UNREACHED: Final = _outage("{peer} could not be reached behind its own network")
_ORIGIN_TLS: Final = _tools("{peer} has no valid TLS certificate behind its own network")
_POLICY: Final = _row(
    McpErrorCode.NETWORK_BLOCKED,
    _PERMANENT,
    "A proxy does not let the connection through",
    OPERATOR,
)
_LIMIT: Final = _row(
    McpErrorCode.QUOTA_EXCEEDED, _TRANSIENT, "{peer}'s rate limit is reached", LATER, retryable=True
)
_USED_UP: Final = _row(
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
    400: _callers("{peer} refused the request as malformed"),
    401: replace(
        _row(
            McpErrorCode.PERMISSION_DENIED,
            McpErrorCategory.AUTH,
            "{peer} did not accept the credentials",
            "They are missing, wrong or expired.",
        ),
        refuses_credentials=True,
    ),
    402: _row(McpErrorCode.QUOTA_EXCEEDED, _PERMANENT, "{peer} demands payment"),
    403: _row(
        McpErrorCode.PERMISSION_DENIED,
        McpErrorCategory.AUTH,
        "{peer} does not allow this",
        "Other rights are needed.",
    ),
    404: _callers("{peer} found nothing, or does not show it"),
    405: _METHOD,
    406: _METHOD,
    407: _row(
        McpErrorCode.NETWORK_BLOCKED,
        _PERMANENT,
        "A proxy wants credentials for the connection",
        OPERATOR,
    ),
    408: _late("{peer} gave up waiting for the request, and did not carry it out"),
    409: _callers(
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
    429: _LIMIT,
    431: _METHOD,
    451: _row(
        McpErrorCode.PERMISSION_DENIED,
        _PERMANENT,
        "{peer} does not show this for legal reasons",
        "No other credentials will help.",
    ),
    499: _tools("The request to {peer} was given up"),
    500: _FAILED,
    501: _UNABLE,
    502: _outage("{peer} is not reachable behind its gateway"),
    503: _outage("{peer} is unavailable"),
    504: _DEADLINE,
    505: _METHOD,
    506: _UNABLE,
    507: _row(
        McpErrorCode.QUOTA_EXCEEDED,
        _PERMANENT,
        "{peer} has no room left",
        "Room has to be made first.",
    ),
    508: _UNABLE,
    510: _UNABLE,
    511: _row(
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

_OTHER_4XX: Final = _callers("{peer} refused the request")
_REDIRECT: Final = _tools("{peer} answered with a redirect that was not followed")
_ODD: Final = _tools("{peer} gave an answer that the tool did not expect")

#: Refusals and outages that a ``Proxy-Status`` field names (RFC 9209).
_PROXY_ERRORS: Final[dict[str, Verdict]] = {
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

#: The statuses with which an intermediary answers for itself.
_INTERMEDIARY: Final = frozenset({403, 502, 503, 504})

_proxy_error = re.compile(r"[;,]\s{0,8}error\s{0,8}=\s{0,8}([a-z_]{1,64})").search

#: Bodies of a 429 that say that money, not time, is missing; and those that say that it takes long.
_money = re.compile(
    r"insufficient[_ ](?:quota|balance|credits?|funds)|\bbilling\b|\bpayment\b|exceeded your current quota"
).search
_period = re.compile(r"\b(?:daily|monthly|per[_ ]day|per[_ ]month)\b").search
_rate = re.compile(
    r"\b(?:rate[_ -]?limit|secondary rate|too many requests|throttl)", re.IGNORECASE
).search

#: How much of a body is looked at, and how long one may be to count as short.
_BODY: Final = 4096

_SHOULD_RETRY: Final = ("x-should-retry", "stripe-should-retry")


def row_for(status: int) -> Verdict:
    """
    Return the row of a status by itself, whatever number it is.
    """
    if (row := STATUS.get(status)) is not None:
        return row
    if 400 <= status < 500:
        return _OTHER_4XX
    if 500 <= status < 600:
        return _FAILED
    return _REDIRECT if 300 <= status < 400 else _ODD


def verdict_for(
    status: int,
    *,
    headers: Mapping[str, str] | None = None,
    url: str | None = None,
    body: str | None = None,
    quote: str | None = None,
    now: float | None = None,
    peer: str = UPSTREAM,
) -> Verdict:
    """
    Return the verdict on an upstream's answer.

    Args:
        status: The HTTP status.
        headers: The answer's headers, in any case.
        url: What was asked; never shown.
        body: The beginning of the answer's body, where it is at hand; never shown.
        quote: What of the answer may be quoted to callers, if a guard's ``upstream_text`` asks for
            it.
        now: Epoch seconds, for delays that are points in time. None: this machine's clock.
        peer: Who answered, as the subject of a sentence.
    """
    known = folded(headers)
    delay = delay_from(known, now=now)
    row = _row_for_answer(status, known, delay, (body or "")[:_BODY].lower())
    refused = row.retryable and any(
        known.get(name, "").lower() == "false" for name in _SHOULD_RETRY
    )
    if refused:
        row = never_again(row)
    return replace(
        row,
        retry_after_seconds=delay if row.retryable else None,
        peer=peer,
        note=_note(status),
        upstream_status=status if 100 <= status <= 999 else None,
        urls=(url,) if url else (),
        maybe_proxy=row is STATUS[403],
        quote=quote,
    )


def beginning_of(content: object) -> str | None:
    """
    Return the beginning of an answer's body as text, if it is at hand as bytes.
    """
    if not issubclass(type(content), bytes):
        return None
    return bytes.__getitem__(cast("bytes", content), slice(_BODY)).decode("utf-8", "replace")


def _row_for_answer(status: int, known: Mapping[str, str], delay: int | None, body: str) -> Verdict:
    if (
        status in _INTERMEDIARY
        and (named := _proxy_error(f";{known.get('proxy-status', '')}")) is not None
    ):
        row = _PROXY_ERRORS.get(named[1])
        if row is not None:
            return row
    if status == 403 and (delay is not None or limit_is_reached(known) or _rate(body)):
        return _LIMIT
    if status == 409 and (
        delay is not None or any(known.get(name, "").lower() == "true" for name in _SHOULD_RETRY)
    ):
        return replace(_FAILED, sentence=STATUS[409].sentence)
    if status == 413 and delay is not None:
        return _LIMIT
    if status == 429 and (_money(body) or (delay is None and _period(body))):
        return _USED_UP
    return row_for(status)


def _note(status: int) -> str:
    if status in STATUS:
        return f"HTTP {status}"
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"
