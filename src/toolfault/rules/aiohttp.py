"""
aiohttp's client, and its WebSockets.

Texts of these classes hold hosts, ports and URLs, so none of them is shown. Several are builtin
``TimeoutError``, ``ssl.SSLError`` or ``ValueError`` as well. An answer that is no HTTP comes as an
answer with status 400.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Final

from toolfault._codes import McpErrorCode
from toolfault._meanings.rows import OPERATOR, bug, outage, permanent, timeout
from toolfault._names import qualified_name
from toolfault._verdict import Rule, Verdict, replace
from toolfault.rules._helpers import attr, first_argument, int_attr
from toolfault.rules.http import verdict_for
from toolfault.rules.stdlib import network_error, proxy_refused
from toolfault.rules.urllib3 import connecting, proxy_failed


#: The longest URL that is compared with arguments.
_MAX_URL: Final = 4096

#: How far down the parser's own exception is looked for.
_MAX_CAUSES: Final = 4

# Past anything that a class puts over it.
_args: Final[Any] = BaseException.__dict__["args"].__get__

_status_line = re.compile(r"([1-5][0-9]{2})$").match


_permanent: Final = partial(permanent, family="network")


_LATE: Final = timeout(
    "{peer} did not answer in time, and whether the request was carried out is unknown"
)
_CUT_OFF: Final = outage(
    "The connection to {peer} broke, and whether the request was carried out is unknown"
)
_ANSWER_CUT_OFF: Final = outage("{peer}'s answer was cut off")
_NONSENSE: Final = outage("{peer} gave an answer that is not HTTP")
_UNREADABLE: Final = _permanent("{peer}'s answer could not be decompressed")
_TOO_LONG: Final = _permanent("{peer}'s answer has a line or a header that is too long")
_CERTIFICATE: Final = _permanent(
    "The TLS certificate of {peer} could not be verified", advice=OPERATOR
)
_TLS: Final = _permanent("No TLS connection to {peer} could be made", advice=OPERATOR)
_LOCAL_SERVICE: Final = outage("A service on the server's own system could not be reached")
_BAD_REDIRECT: Final = _permanent("{peer} redirects to a URL that can't be used")
_BAD_URL: Final = Verdict(
    code=McpErrorCode.TOOL_PANICKED,
    sentence="The tool was given, or made, a URL that can't be used",
    advice="Check the URL if it was given.",
    code_if_caller_named=McpErrorCode.INVALID_ARGUMENTS,
)


def _text(url: object) -> str | None:
    """
    Return a URL as text: it is a ``yarl.URL``, or what the tool gave.
    """
    try:
        text = str(url)
    except Exception:  # noqa: BLE001 -- another library's object
        return None
    return text if 0 < len(text) <= _MAX_URL else None


def _status(exc: BaseException) -> Verdict:
    if (cause := _parse_error(exc)) is not None:
        return cause
    status = int_attr(exc, "status")
    if not status:
        return _permanent("{peer} gave an answer without a status", family="http")
    url = attr(attr(exc, "request_info"), "real_url")
    return verdict_for(
        status, headers=attr(exc, "headers"), url=None if url is None else _text(url)
    )


def _parse_error(exc: BaseException) -> Verdict | None:
    """
    Return the verdict on an answer that aiohttp could not parse; None if it was an HTTP answer.
    """
    found, link = None, exc.__cause__
    for _ in range(_MAX_CAUSES):
        if link is None:
            break
        names = [qualified_name(cls) for cls in type(link).__mro__]
        # The parser in C raises the base over what tells more.
        found = next((_PARSER[name] for name in names if name in _PARSER), found)
        link = link.__cause__
    return found


def _useless_answer(sentence: str) -> Rule:
    """
    Return a rule for an answer that is of no use; a status that is a failure decides alone.
    """
    verdict = _permanent(sentence, family="http")

    def rule(exc: BaseException) -> Verdict:
        status = int_attr(exc, "status")
        return _status(exc) if status is not None and status >= 400 else verdict

    return rule


def _proxy_status(exc: BaseException) -> Verdict:
    return proxy_refused(str(int_attr(exc, "status")), _status_line) or proxy_failed(None)


def _inner(exc: BaseException) -> BaseException | None:
    for name in ("_certificate_error", "_os_error"):
        found = attr(exc, name)
        if issubclass(type(found), BaseException) and found is not exc:
            inner: BaseException = found
            return inner
    return exc.__cause__


def _connect(exc: BaseException) -> Verdict:
    verdict = connecting(_inner(exc))
    host = attr(exc, "host")
    if not issubclass(type(host), str) or not host:
        return verdict
    return replace(verdict, urls=(str.__str__(host),))


def _proxy(exc: BaseException) -> Verdict:
    return proxy_failed(_inner(exc))


def _local_service(exc: BaseException) -> Verdict:
    verdict = connecting(_inner(exc), _LOCAL_SERVICE)
    return verdict if verdict.code is McpErrorCode.NETWORK_BLOCKED else _LOCAL_SERVICE


def _tls(exc: BaseException) -> Verdict:
    inner = _inner(exc)
    return (None if inner is None else network_error(inner)) or _TLS


def _certificate(exc: BaseException) -> Verdict:
    inner = _inner(exc)
    return (None if inner is None else network_error(inner)) or _CERTIFICATE


def _os_error(exc: BaseException) -> Verdict:
    verdict = network_error(exc)
    return _CUT_OFF if verdict is None or verdict.code is McpErrorCode.TOOL_TIMEOUT else verdict


def _connection(exc: BaseException) -> Verdict:
    text = first_argument(exc)
    if text.startswith("Connector is closed"):
        return bug("The tool used an HTTP session that it had closed")
    if text.startswith("Cannot initialize a TLS-in-TLS connection"):
        return _permanent("The server's proxy can't be used for this connection", advice=OPERATOR)
    return _CUT_OFF


def _payload(exc: BaseException) -> Verdict:
    return _parse_error(exc) or _ANSWER_CUT_OFF


def _bad_url(exc: BaseException) -> Verdict:
    url = attr(exc, "_url")
    if url is None:
        url = next(iter(_args(exc) or ()), None)
    text = None if url is None else _text(url)
    return replace(_BAD_URL, urls=(text,)) if text else _BAD_URL


def _web_error(exc: BaseException) -> Verdict:
    """
    Judge an answer for a web client that a tool raised: its status is the author's word.
    """
    status = int_attr(exc, "status")
    if status is None:
        return Verdict(code=McpErrorCode.INTERNAL)
    return replace(
        verdict_for(status, peer="The tool"), sentence=None, origin="tool", upstream_status=None
    )


#: What the parser raises, and the client sometimes makes a status of.
_PARSER: Final[dict[str, Verdict]] = {
    "aiohttp.compression_utils.TooManyMembersError": _UNREADABLE,
    "aiohttp.http_exceptions.ContentEncodingError": _UNREADABLE,
    "aiohttp.http_exceptions.DecompressSizeError": _UNREADABLE,
    "aiohttp.http_exceptions.HttpProcessingError": _NONSENSE,
    "aiohttp.http_exceptions.LineTooLong": _TOO_LONG,
    "aiohttp.http_exceptions.PayloadEncodingError": _ANSWER_CUT_OFF,
}

_CLIENT: Final[dict[str, Rule]] = {
    "ClientConnectionError": _connection,
    "ClientConnectionResetError": _CUT_OFF,
    "ClientConnectorCertificateError": _certificate,
    "ClientConnectorDNSError": _connect,
    "ClientConnectorError": _connect,
    "ClientConnectorSSLError": _tls,
    "ClientError": outage("The request to {peer} failed"),
    "ClientHttpProxyError": _proxy_status,
    "ClientOSError": _os_error,
    "ClientPayloadError": _payload,
    "ClientProxyConnectionError": _proxy,
    "ClientResponseError": _status,
    "ClientSSLError": _tls,
    "ConnectionTimeoutError": outage("No connection to {peer} could be made in time"),
    "ContentTypeError": _useless_answer("{peer}'s answer is not of the kind that the tool expects"),
    "InvalidURL": _bad_url,
    "InvalidUrlClientError": _bad_url,
    "InvalidUrlRedirectClientError": _BAD_REDIRECT,
    "NonHttpUrlClientError": _bad_url,
    "NonHttpUrlRedirectClientError": _BAD_REDIRECT,
    "RedirectClientError": _BAD_REDIRECT,
    "ServerConnectionError": _CUT_OFF,
    "ServerDisconnectedError": outage(
        "{peer} closed the connection, and whether the request was carried out is unknown"
    ),
    "ServerFingerprintMismatch": _permanent(
        "{peer} shows another TLS certificate than the one expected", advice=OPERATOR
    ),
    "ServerTimeoutError": _LATE,
    "SocketTimeoutError": _LATE,
    "TooManyRedirects": _permanent("{peer} redirects in a circle"),
    "UnixClientConnectorError": _local_service,
    "UploadAbortedError": _CUT_OFF,
    "WSMessageTypeError": bug("The tool used a WebSocket message of another kind than it is"),
    "WSServerHandshakeError": _useless_answer("{peer} did not open a WebSocket"),
}

RULES: Final[dict[str, Rule]] = {
    **{f"aiohttp.client_exceptions.{name}": rule for name, rule in _CLIENT.items()},
    **_PARSER,
    # The first two moved in 3.11.
    **dict.fromkeys(
        ("aiohttp._websocket.models.WebSocketError", "aiohttp.http_websocket.WebSocketError"),
        outage("{peer} broke the rules of the WebSocket"),
    ),
    "aiohttp._websocket.models.WSHandshakeError": _permanent("{peer} did not open a WebSocket"),
    "aiohttp.multipart.BadContentDispositionHeader": bug(
        "A header of a multipart answer is not valid"
    ),
    "aiohttp.multipart.BadContentDispositionParam": bug(
        "A header of a multipart answer is not valid"
    ),
    "aiohttp.payload.LookupError": bug(
        "The tool tried to send something of a kind that the HTTP client can't send"
    ),
    "aiohttp.web_exceptions.HTTPException": _web_error,
}

#: Left without a rule on purpose: control flow, and what only a web server of aiohttp's meets.
IGNORED: Final = frozenset(
    {
        "aiohttp.streams.EofStream",
        "aiohttp.web_app.CleanupError",
        "aiohttp.web_exceptions.NotAppKeyWarning",
        "aiohttp.web_protocol.PayloadAccessError",
        "aiohttp.web_protocol.RequestPayloadError",
        "aiohttp.web_runner.GracefulExit",
    }
)
