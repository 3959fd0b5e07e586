"""
httpx and httpx2, whose classes bear the same names, and the httpcore below each.

Texts of these classes hold whole URLs, so none of them is shown. Their timeouts are no builtin
``TimeoutError``.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from toolfault._codes import McpErrorCode
from toolfault._meanings.rows import OPERATOR, bug, outage, permanent, timeout
from toolfault._verdict import Rule, Verdict, replace
from toolfault.rules._helpers import attr, first_argument, int_attr
from toolfault.rules.http import beginning_of, verdict_for
from toolfault.rules.stdlib import network_error, proxy_refused


_refusal = re.compile(r"\s{0,4}([1-5][0-9]{2})\b").match


_permanent: Final = partial(permanent, family="network")


_LATE: Final = timeout(
    "{peer} did not answer in time, and whether the request was carried out is unknown"
)
_FAILED: Final = outage("The request to {peer} failed")
_NO_CONNECTION: Final = outage("No connection to {peer} could be made")
_CERTIFICATE: Final = _permanent(
    "The TLS certificate of {peer} could not be verified", advice=OPERATOR
)
_PROXY: Final = outage("The connection through a proxy failed")
_BAD_URL: Final = Verdict(
    code=McpErrorCode.TOOL_PANICKED,
    sentence="The tool was given, or made, a URL that can't be used",
    advice="Check the URL if it was given.",
    code_if_caller_named=McpErrorCode.INVALID_ARGUMENTS,
)


def _url(holder: object) -> str | None:
    """
    Return the URL of an exception's request, or of an answer.
    """
    try:
        url = attr(attr(holder, "request"), "url") or attr(holder, "url")
        return None if url is None else str(url)
    except Exception:  # noqa: BLE001 -- the request is another library's object
        return None


def _add_url(exc: BaseException, verdict: Verdict) -> Verdict:
    url = _url(exc)
    if not url:
        return verdict
    # Without a scheme a host is taken for a path, and gets a slash.
    return replace(verdict, urls=(url, url[1:]) if url.startswith("/") else (url,))


def _status(exc: BaseException) -> Verdict:
    response = attr(exc, "response")
    status = int_attr(response, "status_code")
    if status is None:
        return _permanent("{peer} gave an answer without a status", family="http")
    # One that was not read, and may be a stream without end, has no content yet.
    body = beginning_of(attr(response, "content"))
    url = _url(exc) or _url(response)
    return verdict_for(status, headers=attr(response, "headers"), url=url, body=body, quote=body)


def _connect(exc: BaseException) -> Verdict:
    """
    Judge by the OSError, which sits in the suppressed context of httpcore's error.
    """
    if "CERTIFICATE_VERIFY_FAILED" in first_argument(exc):
        return _add_url(exc, _CERTIFICATE)
    verdict = None if exc.__cause__ is None else network_error(exc.__cause__)
    return _add_url(exc, verdict or _NO_CONNECTION)


def _httpcore_connect(exc: BaseException) -> Verdict:
    return network_error(exc) or _NO_CONNECTION


def _proxy(exc: BaseException) -> Verdict:
    # The text is the status line of the proxy's answer to CONNECT.
    verdict = proxy_refused(first_argument(exc), _refusal) or _PROXY
    return _add_url(exc, verdict)


def _any_error(exc: BaseException) -> Verdict:
    # SDKs derive their own errors from it, and give them the answer.
    if int_attr(attr(exc, "response"), "status_code") is None:
        return _FAILED
    return _status(exc)


def _bad_url(exc: BaseException) -> Verdict:
    return _add_url(exc, _BAD_URL)


_CUT_OFF: Final = outage(
    "The connection to {peer} broke, and whether the request was carried out is unknown"
)
_STREAM: Final = bug("The tool used a request or an answer in a state that does not allow it")

_NOT_HTTP: Final = outage("{peer} gave an answer that is not HTTP")
_CLOSED: Final = outage("{peer} closed the connection without an answer")
_CLOSED_MIDWAY: Final = outage("{peer} closed the connection before its answer was complete")


def _remote_protocol(exc: BaseException) -> Verdict:
    text = first_argument(exc)
    if text.startswith("Server disconnected"):
        return _add_url(exc, _CLOSED)
    if text.startswith("peer closed connection"):
        return _add_url(exc, _CLOSED_MIDWAY)
    return _NOT_HTTP


#: What httpcore has as well.
_CORE: Final[dict[str, Rule]] = {
    "ConnectTimeout": outage("No connection to {peer} could be made in time"),
    "LocalProtocolError": _bad_url,
    "NetworkError": _CUT_OFF,
    "PoolTimeout": outage("Too many connections to {peer} are open", family="limit"),
    "ProtocolError": _NOT_HTTP,
    "RemoteProtocolError": _remote_protocol,
    "ProxyError": _proxy,
    "TimeoutException": _LATE,
    "UnsupportedProtocol": _bad_url,
}

_BY_CLASS: Final[dict[str, Rule]] = {
    **_CORE,
    "ConnectError": _connect,
    "CookieConflict": bug("Several cookies have the name that the tool asked for"),
    "DecodingError": _permanent("{peer}'s answer could not be decompressed"),
    "HTTPError": _any_error,
    "HTTPStatusError": _status,
    "InvalidURL": _bad_url,
    "StreamError": _STREAM,
    "TooManyRedirects": _permanent("{peer} redirects in a circle"),
}

RULES: Final[dict[str, Rule]] = {
    **{
        f"{package}.{name}": rule
        for package in ("httpx", "httpx2")
        for name, rule in _BY_CLASS.items()
    },
    # Neither a stream of events, nor one that will become it.
    "httpx2.SSEError": _permanent("{peer}'s answer is no stream of events that the tool can read"),
    **{
        f"{package}.{name}": rule
        for package in ("httpcore", "httpcore2")
        for name, rule in {
            **_CORE,
            "ConnectError": _httpcore_connect,
            "ConnectionNotAvailable": _NO_CONNECTION,
        }.items()
    },
}

IGNORED: Final = frozenset[str]()
