"""
The handshake: what a server refuses, and what a client makes of a refusal.

Rule 1: 4008 stands in the body of an HTTP 400 and nowhere else; a version that is missing or
malformed is a plain 400.
Rule 2: 4900 closes a WebSocket and has no body. Neither number is ever taken for the other.
Rule 3: whoever is refused disconnects, and does not quietly try again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import parse_qs

from toolfault._json import is_mapping
from toolfault._sanitize import ID_BYTES, sanitize
from toolfault._text import MESSAGE_BYTES
from toolfault.dialects.a2c_smcp._codes import WS_CLOSE_REFUSED, ErrorCode
from toolfault.dialects.a2c_smcp._payload import ErrorPayload
from toolfault.dialects.a2c_smcp._version import Version


#: The header beside a 4008, and only there.
ERROR_CODE_HEADER: Final = "X-A2C-Error-Code"

_PARAMETER: Final = "a2c_version"

#: How much of a query, and of a refusal's body, is looked at.
_QUERY: Final = 8192
_BODY: Final = 65536


# ---- the server


@dataclass(frozen=True, slots=True)
class Refusal:
    """
    The answer to a handshake that is refused.

    Attributes:
        payload:
            What the body says: code 4008 for a mismatch, 400 for a version that is missing or
            malformed.

        status:
            The HTTP status, always 400.
    """

    payload: ErrorPayload
    status: int = 400

    @property
    def headers(self) -> dict[str, str]:
        """
        The response's headers.
        """
        headers = {"Content-Type": "application/json"}
        if self.payload.code == ErrorCode.PROTOCOL_VERSION_MISMATCH:
            headers[ERROR_CODE_HEADER] = str(self.payload.code)
        return headers

    @property
    def body(self) -> bytes:
        """
        The response's body, which a Content-Length should go with.

        A client that can't read it to its end sees a lost connection instead of a mismatch.
        """
        return json.dumps(self.payload.to_wire()).encode()


def check_query(query: str | bytes, server: Version | str) -> Refusal | None:
    """
    Return why a handshake with this query is refused. None: it is accepted.

    The first ``a2c_version`` that is not blank counts.

    Raises:
        ValueError: The server's own version is invalid.
    """
    text = query.decode("latin-1") if isinstance(query, bytes) else query
    values = parse_qs(text[:_QUERY]).get(_PARAMETER)
    return check_version(values[0] if values else None, server)


def check_version(client: str | None, server: Version | str) -> Refusal | None:
    """
    Return why a client of this version is refused. None: it is accepted.

    Raises:
        ValueError: The server's own version is invalid.
    """
    ours = Version.parse(server) if isinstance(server, str) else server
    if not client:
        return _bad_request(f"Missing {_PARAMETER} query parameter")
    try:
        theirs = Version.parse(client)
    except ValueError:
        return _bad_request(f"Invalid {_PARAMETER}: Invalid version: {sanitize(client, ID_BYTES)}")
    return None if ours.accepts(theirs) else Refusal(ErrorPayload.version_mismatch(theirs, ours))


def is_gated(path: str, prefix: str = "/socket.io") -> bool:
    """
    Tell whether a handshake is checked on this path: the prefix itself, or what lies below it.
    """
    mount = "/" + prefix.strip("/")
    return path == mount or path.startswith(mount + "/")


def _bad_request(message: str) -> Refusal:
    return Refusal(ErrorPayload.new(int(ErrorCode.BAD_REQUEST), message))


# ---- the client


class VersionMismatch(Exception):  # noqa: N818 -- the protocol's word
    """
    The server speaks another version: disconnect, and tell somebody.

    Attributes:
        server_version, client_version, min_supported, max_supported:
            As the server said; None where it did not. For majors from 1 on the range is narrower
            than what the server really accepts.

        reconnect:
            ``never``, or ``polling_once``: after a WebSocket was closed, one handshake over polling
            may fetch the body.
    """

    def __init__(
        self,
        message: str = "Protocol version mismatch",
        *,
        server_version: str | None = None,
        client_version: str | None = None,
        min_supported: str | None = None,
        max_supported: str | None = None,
        reconnect: Literal["never", "polling_once"] = "never",
    ) -> None:
        super().__init__(message)
        self.server_version = server_version
        self.client_version = client_version
        self.min_supported = min_supported
        self.max_supported = max_supported
        self.reconnect: Literal["never", "polling_once"] = reconnect


def read_refusal(body: object) -> VersionMismatch | None:
    """
    Return the mismatch in the body of a refused handshake, unraised, or None.

    Never raises. A message is not needed, the code alone counts.

    Args:
        body: The body as text, bytes or parsed JSON.
    """
    obj: Any = body
    if isinstance(body, str | bytes | bytearray):
        if len(body) > _BODY:
            return None
        try:
            obj = json.loads(body)
        except (ValueError, RecursionError):
            return None
    if not is_mapping(obj) or type(obj.get("code")) is not int:
        return None
    if obj["code"] != ErrorCode.PROTOCOL_VERSION_MISMATCH:
        return None
    return VersionMismatch(
        sanitize(obj.get("message"), MESSAGE_BYTES) or "Protocol version mismatch",
        server_version=_version(obj.get("server_version")),
        client_version=_version(obj.get("client_version")),
        min_supported=_version(obj.get("min_supported")),
        max_supported=_version(obj.get("max_supported")),
    )


def read_close(code: int) -> VersionMismatch | None:
    """
    Return the mismatch that a WebSocket's close code stands for, unraised, or None.
    """
    return VersionMismatch(reconnect="polling_once") if code == WS_CLOSE_REFUSED else None


def _version(value: object) -> str | None:
    return sanitize(value, ID_BYTES) or None
