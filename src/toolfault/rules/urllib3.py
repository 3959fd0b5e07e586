"""
urllib3, which also lies below requests, and below most vendors' clients.

Its texts hold host, port, path and query, so none of them is shown. Its timeouts are no builtin
``TimeoutError``, and its refused connection is one of its timeouts.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Final

from toolfault._codes import McpErrorCode
from toolfault._meanings.rows import OPERATOR, bug, outage, permanent, timeout
from toolfault._names import qualified_name
from toolfault._verdict import Rule, Verdict, replace
from toolfault.rules._helpers import attr, first_argument, str_attr
from toolfault.rules.http import verdict_for
from toolfault.rules.stdlib import network_error


#: How many wrappers of one failure are opened.
_MAX_WRAPPERS: Final = 8

# Of newer versions; in older ones it is the URL itself.
_quoted_host = re.compile(
    r"(?:Host )?['\"]([^'\"\n]{1,512})['\"] (?:is not a valid|contains invalid)"
).match

_refused_status = re.compile(r"too many ([1-5][0-9]{2}) error responses").match


_permanent: Final = partial(permanent, family="network")


_LATE: Final = timeout(
    "{peer} did not answer in time, and whether the request was carried out is unknown"
)
_NO_CONNECTION: Final = outage("No connection to {peer} could be made")
_CUT_OFF: Final = outage(
    "The connection to {peer} broke, and whether the request was carried out is unknown"
)
_CERTIFICATE: Final = _permanent(
    "The TLS certificate of {peer} could not be verified", advice=OPERATOR
)
_TLS: Final = _permanent("No TLS connection to {peer} could be made", advice=OPERATOR)
_PROXY: Final = outage("The connection through a proxy failed")
_PROXY_URL: Final = _permanent(
    "The server is told to use a proxy under a URL that can't be used", advice=OPERATOR
)
_REDIRECTS: Final = _permanent("{peer} redirects in a circle")
_GAVE_UP: Final = outage("The tool tried several times and gave up")
_UNREADABLE: Final = _permanent("{peer}'s answer could not be decompressed")
_BAD_URL: Final = Verdict(
    code=McpErrorCode.TOOL_PANICKED,
    sentence="The tool was given, or made, a URL that can't be used",
    advice="Check the URL if it was given.",
    code_if_caller_named=McpErrorCode.INVALID_ARGUMENTS,
)

# Past anything that a class puts over it.
_args: Final[Any] = BaseException.__dict__["args"].__get__


def inner_exception(exc: BaseException) -> BaseException | None:
    """
    Return the exception that one of urllib3's or requests' was made from, if it keeps it.
    """
    kept: list[Any] = [attr(exc, "reason"), attr(exc, "original_error"), *(_args(exc) or ())[:2]]
    return next(
        (found for found in kept if issubclass(type(found), BaseException) and found is not exc),
        None,
    )


def verdict_inside(exc: BaseException) -> Verdict | None:
    """
    Return the verdict on the urllib3 error or OSError that an exception was made from, or None.
    """
    inner = inner_exception(exc)
    for _ in range(_MAX_WRAPPERS):
        if inner is None or qualified_name(type(inner)) != "urllib3.exceptions.MaxRetryError":
            break
        inner = inner_exception(inner)
    if inner is None:
        return None
    for cls in type(inner).__mro__:
        rule = _DIRECT.get(qualified_name(cls))
        if rule is not None:
            return rule if isinstance(rule, Verdict) else rule(inner)
    return network_error(inner)


def connecting(inner: BaseException | None, otherwise: Verdict = _NO_CONNECTION) -> Verdict:
    """
    Return the verdict on an OSError that prevented a connection; its timeout is an outage.
    """
    verdict = None if inner is None else network_error(inner)
    return otherwise if verdict is None or verdict.code is McpErrorCode.TOOL_TIMEOUT else verdict


def proxy_failed(inner: BaseException | None) -> Verdict:
    """
    Return the verdict on a connection through a proxy, or to one: only a refusal is final.
    """
    verdict = connecting(inner, _PROXY)
    return verdict if verdict.code is McpErrorCode.NETWORK_BLOCKED else _PROXY


def _connect(exc: BaseException) -> Verdict:
    return connecting(exc.__cause__)


def _no_name(exc: BaseException) -> Verdict:
    host = str_attr(exc, "_host")
    # Older versions keep the resolver's error nowhere but in the cause.
    verdict = connecting(exc.__cause__ or inner_exception(exc))
    return replace(verdict, urls=(host,)) if host else verdict


def _proxy(exc: BaseException) -> Verdict:
    return proxy_failed(inner_exception(exc) or exc.__cause__)


def _tls(exc: BaseException) -> Verdict:
    inner = inner_exception(exc) or exc.__cause__
    if inner is None:
        return _CERTIFICATE if "CERTIFICATE_VERIFY_FAILED" in first_argument(exc) else _TLS
    if qualified_name(type(inner)) == "urllib3.util.ssl_match_hostname.CertificateError":
        return _CERTIFICATE
    return network_error(inner) or _TLS


def _cut_off(exc: BaseException) -> Verdict:
    # What was sent before is unknown, unless the environment forbids to send at all.
    verdict = connecting(inner_exception(exc), _CUT_OFF)
    return verdict if verdict.code is McpErrorCode.NETWORK_BLOCKED else _CUT_OFF


def invalid_url(text: str) -> str:
    """
    Return the URL that could not be parsed, or the host in it, from what urllib3 says of it.
    """
    match = _quoted_host(text)
    return text if match is None else match[1]


def _bad_url(exc: BaseException) -> Verdict:
    location = invalid_url(str_attr(exc, "location") or "")
    return replace(_BAD_URL, urls=(location,)) if location else _BAD_URL


def _too_many(exc: BaseException) -> Verdict:
    text = first_argument(exc)
    if (match := _refused_status(text)) is not None:
        return verdict_for(int(match[1]))
    return _REDIRECTS if text == "too many redirects" else _GAVE_UP


def _gave_up(exc: BaseException) -> Verdict:
    return replace(verdict_inside(exc) or _GAVE_UP, judge_instead=inner_exception(exc))


_UNREWINDABLE: Final = _permanent(
    "The request had to be sent again, and its body can't be read a second time", family="other"
)
_NOT_CHUNKED: Final = bug("The tool reads an answer in chunks that does not come in chunks")
_MANY: Final = outage("Too many connections to {peer} are open", family="limit")

#: Everything but `MaxRetryError`, which only says that one of these happened.
_DIRECT: Final[dict[str, Rule]] = {
    "urllib3.exceptions.BodyNotHttplibCompatible": _NOT_CHUNKED,
    "urllib3.exceptions.ClosedPoolError": bug("The tool used connections that it had closed"),
    "urllib3.exceptions.ConnectTimeoutError": outage(
        "No connection to {peer} could be made in time"
    ),
    "urllib3.exceptions.DecodeError": _UNREADABLE,
    "urllib3.exceptions.EmptyPoolError": _MANY,
    "urllib3.exceptions.FullPoolError": _MANY,
    "urllib3.exceptions.HTTPError": outage("The request to {peer} failed"),
    "urllib3.exceptions.HTTPWarning": bug("A warning of the HTTP client was made an error"),
    "urllib3.exceptions.HeaderParsingError": outage("{peer} gave an answer that is not HTTP"),
    "urllib3.exceptions.HostChangedError": _permanent(
        "{peer} leads to another host, where the tool does not go"
    ),
    "urllib3.exceptions.IncompleteRead": outage("{peer}'s answer was cut off"),
    "urllib3.exceptions.InvalidChunkLength": outage("{peer}'s answer was cut off"),
    "urllib3.exceptions.InvalidHeader": _permanent(
        "{peer} gave an answer with a header that is not valid"
    ),
    "urllib3.exceptions.LocationValueError": _bad_url,
    "urllib3.exceptions.NameResolutionError": _no_name,
    "urllib3.exceptions.NewConnectionError": _connect,
    "urllib3.exceptions.PoolError": outage("The request to {peer} failed"),
    "urllib3.exceptions.ProtocolError": _cut_off,
    "urllib3.exceptions.ProxyError": _proxy,
    "urllib3.exceptions.ProxySchemeUnknown": _PROXY_URL,
    "urllib3.exceptions.ProxySchemeUnsupported": _PROXY_URL,
    "urllib3.exceptions.ReadTimeoutError": _LATE,
    "urllib3.exceptions.ResponseError": _too_many,
    "urllib3.exceptions.ResponseNotChunked": _NOT_CHUNKED,
    "urllib3.exceptions.SSLError": _tls,
    "urllib3.exceptions.TimeoutError": _LATE,
    "urllib3.exceptions.TimeoutStateError": bug(
        "The tool used a timeout in a state that does not allow it"
    ),
    "urllib3.exceptions.UnrewindableBodyError": _UNREWINDABLE,
    "urllib3.util.ssl_match_hostname.CertificateError": _CERTIFICATE,
}

RULES: Final[dict[str, Rule]] = {**_DIRECT, "urllib3.exceptions.MaxRetryError": _gave_up}

IGNORED: Final = frozenset[str]()
