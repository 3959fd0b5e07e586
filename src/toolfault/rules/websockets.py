"""
websockets: connections that could not be made, or ended. A refused handshake has a status.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from toolfault._codes import McpErrorCode
from toolfault._meanings.rows import bug, outage
from toolfault._verdict import Rule, Verdict
from toolfault.rules._helpers import attr, int_attr
from toolfault.rules.http import verdict_for


_outage: Final = partial(outage, origin="upstream")

_CUT_OFF: Final = _outage("The WebSocket connection to {peer} ended before the tool was done")
_GARBLED: Final = _outage("{peer} gave an answer that is no WebSocket handshake")
_BAD_URL: Final = Verdict(
    code=McpErrorCode.TOOL_PANICKED,
    sentence="The tool was given, or made, a URL that can't be used",
    advice="Check the URL if it was given.",
)


def _status(exc: BaseException) -> Verdict:
    response = attr(exc, "response")
    status = int_attr(response, "status_code")
    return _GARBLED if status is None else verdict_for(status, headers=attr(response, "headers"))


RULES: Final[dict[str, Rule]] = {
    "websockets.exceptions.ConcurrencyError": bug("The tool uses a connection from several places"),
    "websockets.exceptions.ConnectionClosed": _CUT_OFF,
    "websockets.exceptions.InvalidHandshake": _GARBLED,
    "websockets.exceptions.InvalidProxy": _BAD_URL,
    "websockets.exceptions.InvalidState": bug("The tool uses a connection in the wrong state"),
    "websockets.exceptions.InvalidStatus": _status,
    "websockets.exceptions.InvalidURI": _BAD_URL,
    "websockets.exceptions.PayloadTooBig": _outage("{peer} sent more than the tool takes"),
    "websockets.exceptions.ProtocolError": _GARBLED,
    "websockets.exceptions.ProxyError": _outage("The connection through a proxy failed"),
    "websockets.exceptions.WebSocketException": _CUT_OFF,
}

IGNORED: Final = frozenset[str]()
