"""
requests.

Texts of these classes hold URLs with query and user, so none of them is shown. All are ``OSError``,
some ``ValueError`` as well, and none is a builtin ``ConnectionError`` or ``TimeoutError``. What
happened stands in urllib3's exception, which is the first argument.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from toolfault._codes import McpErrorCode
from toolfault._meanings.rows import OPERATOR, bug, outage, permanent, timeout
from toolfault._names import qualified_name
from toolfault._verdict import Rule, Verdict, replace
from toolfault.rules._helpers import attr, first_argument, int_attr
from toolfault.rules.http import beginning_of, verdict_for
from toolfault.rules.stdlib import RULES as STDLIB
from toolfault.rules.urllib3 import inner_exception, invalid_url, proxy_failed, verdict_inside


#: The longest URL that is compared with arguments.
_MAX_URL: Final = 4096

#: The URL in the texts of a request that was never made.
_url_in_text = re.compile(
    r"(?:Invalid URL|No connection adapters were found for)"
    r" (?P<quote>['\"])(?P<quoted>[^\n]{1,4096}?)(?P=quote)(?::|$)"
    r"|Failed to parse: (?P<bare>[^\n]{1,4096})$"
).match


_permanent: Final = partial(permanent, family="network")


_NO_CONNECTION: Final = outage("No connection to {peer} could be made")
_TLS: Final = _permanent("No TLS connection to {peer} could be made", advice=OPERATOR)
_LATE: Final = timeout(
    "{peer} did not answer in time, and whether the request was carried out is unknown"
)
_BAD_URL: Final = Verdict(
    code=McpErrorCode.TOOL_PANICKED,
    sentence="The tool was given, or made, a URL that can't be used",
    advice="Check the URL if it was given.",
    code_if_caller_named=McpErrorCode.INVALID_ARGUMENTS,
)
_PROXY_URL: Final = _permanent(
    "The server is told to use a proxy under a URL that can't be used", advice=OPERATOR
)


def _url(exc: BaseException) -> str | None:
    """
    Return the URL of an exception's request, or of its answer.
    """
    for holder in (attr(exc, "request"), attr(exc, "response")):
        url = attr(holder, "url")
        if issubclass(type(url), str) and 0 < len(url) <= _MAX_URL:
            return str.__str__(url)
    return None


def _add_url(exc: BaseException, verdict: Verdict) -> Verdict:
    url = _url(exc)
    return replace(verdict, urls=(url,)) if url else verdict


def _status(exc: BaseException) -> Verdict:
    response = attr(exc, "response")
    status = int_attr(response, "status_code")
    if status is None:
        return _permanent("{peer} gave an answer without a status", family="http")
    # The property would read an answer that may be without end.
    body = beginning_of(attr(response, "_content"))
    return verdict_for(
        status, headers=attr(response, "headers"), url=_url(exc), body=body, quote=body
    )


def _connect(exc: BaseException) -> Verdict:
    return _add_url(exc, verdict_inside(exc) or _NO_CONNECTION)


def _tls(exc: BaseException) -> Verdict:
    return verdict_inside(exc) or _TLS


def _proxy(exc: BaseException) -> Verdict:
    return verdict_inside(exc) or proxy_failed(None)


def _retries(exc: BaseException) -> Verdict:
    return _add_url(exc, verdict_inside(exc) or outage("The tool tried several times and gave up"))


def _bad_url(exc: BaseException) -> Verdict:
    text = first_argument(exc)
    if text.startswith("Missing dependencies"):
        return _permanent("The server lacks a package that its proxy needs", advice=OPERATOR)
    match = _url_in_text(text)
    url = _url(exc) or (match and (match["quoted"] or invalid_url(match["bare"])))
    return replace(_BAD_URL, urls=(url,)) if url else _BAD_URL


def _header(exc: BaseException) -> Verdict:
    inner = inner_exception(exc)
    if inner is not None and qualified_name(type(inner)).startswith("urllib3."):
        return _permanent("{peer} gave an answer with a header that is not valid")
    return bug("The tool made a request with a header that is not valid")


RULES: Final[dict[str, Rule]] = {
    "requests.cookies.CookieConflictError": bug(
        "Several cookies have the name that the tool asked for"
    ),
    "requests.exceptions.ChunkedEncodingError": outage("{peer}'s answer was cut off"),
    "requests.exceptions.ConnectTimeout": outage("No connection to {peer} could be made in time"),
    "requests.exceptions.ConnectionError": _connect,
    "requests.exceptions.ContentDecodingError": _permanent(
        "{peer}'s answer could not be decompressed"
    ),
    "requests.exceptions.HTTPError": _status,
    "requests.exceptions.InvalidHeader": _header,
    "requests.exceptions.InvalidJSONError": bug(
        "The tool tried to send a value that JSON does not have"
    ),
    "requests.exceptions.InvalidProxyURL": _PROXY_URL,
    "requests.exceptions.InvalidSchema": _bad_url,
    "requests.exceptions.InvalidURL": _bad_url,
    "requests.exceptions.JSONDecodeError": STDLIB["json.decoder.JSONDecodeError"],
    "requests.exceptions.MissingSchema": _bad_url,
    "requests.exceptions.ProxyError": _proxy,
    "requests.exceptions.ReadTimeout": _LATE,
    "requests.exceptions.RequestException": outage("The request to {peer} failed"),
    "requests.exceptions.RequestsWarning": bug("A warning of the HTTP client was made an error"),
    "requests.exceptions.RetryError": _retries,
    "requests.exceptions.SSLError": _tls,
    "requests.exceptions.StreamConsumedError": bug(
        "The tool read an answer a second time that can be read once"
    ),
    "requests.exceptions.Timeout": _LATE,
    "requests.exceptions.TooManyRedirects": _permanent("{peer} redirects in a circle"),
    "requests.exceptions.URLRequired": _bad_url,
    "requests.exceptions.UnrewindableBodyError": _permanent(
        "The request had to be sent again, and its body can't be read a second time", family="other"
    ),
}

IGNORED: Final = frozenset[str]()
