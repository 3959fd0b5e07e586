"""
The messages that the checker writes and reads, in both eras of the protocol.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from toolfault._version import __version__


#: The era with a handshake, and the one without.
LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"

_META: Final = "io.modelcontextprotocol/"
_CLIENT: Final = {"name": "toolfault-check", "version": __version__}

#: What every request of the modern era says about its client.
MODERN_META: Final[Mapping[str, Any]] = {
    f"{_META}protocolVersion": MODERN,
    f"{_META}clientInfo": _CLIENT,
    f"{_META}clientCapabilities": {},
}

INITIALIZE: Final[Mapping[str, Any]] = {
    "protocolVersion": LEGACY,
    "capabilities": {},
    "clientInfo": _CLIENT,
}


@dataclass(frozen=True, slots=True)
class Hello:
    """
    What a server says of itself.

    Attributes:
        server: Its name and version.
        protocol: The protocol version that was agreed on.
    """

    server: str
    protocol: str

    @property
    def is_modern(self) -> bool:
        """
        Whether requests carry the client's version and capabilities themselves.
        """
        return self.protocol >= MODERN


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """
    Tell whether a JSON value is an object.
    """
    return isinstance(value, dict)


def as_object(value: object) -> dict[str, Any]:
    """
    Return a JSON object; an empty one for any other value.
    """
    return value if is_object(value) else {}


def is_array(value: object) -> TypeGuard[list[Any]]:
    """
    Tell whether a JSON value is an array.
    """
    return isinstance(value, list)


def as_array(value: object) -> list[Any]:
    """
    Return a JSON array; an empty one for any other value.
    """
    return value if is_array(value) else []


def request(
    request_id: int | str, method: str, params: Mapping[str, Any] | None, *, is_modern: bool
) -> dict[str, Any]:
    """
    Return a request.
    """
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}
    if params is not None:
        message["params"] = dict(params)
    if is_modern:
        given = message.setdefault("params", {})
        given.setdefault("_meta", dict(MODERN_META))
    return message


def notification(method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """
    Return a notification.
    """
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = dict(params)
    return message


def encode(message: object) -> bytes:
    """
    Return a message as ASCII JSON without line breaks; lone surrogates stay as escapes.
    """
    return json.dumps(message, separators=(",", ":")).encode()


def decode(data: bytes) -> dict[str, Any] | None:
    """
    Return the message in some bytes, also in a batch of one; None if they hold none.
    """
    try:
        value: Any = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if is_array(value) and len(value) == 1:
        value = value[0]
    return value if is_object(value) else None


def answer_to(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """
    Return the answer to a request of the server; None if the message is not a request.
    """
    if "method" not in message or "id" not in message:
        return None
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "ping":
        return {**answer, "result": {}}
    return {**answer, "error": {"code": -32601, "message": "The checker has no such method."}}


def is_answer(message: object) -> TypeGuard[dict[str, Any]]:
    """
    Tell whether a message answers a request.
    """
    return (
        is_object(message)
        and "method" not in message
        and bool({"result", "error"} & message.keys())
    )


def is_message(message: Mapping[str, Any]) -> bool:
    """
    Tell whether a JSON object is a request, a notification or an answer.
    """
    return "method" in message or is_answer(message)


def is_same_id(one: object, other: object) -> bool:
    """
    Tell whether two ids are the same, with their types: 7 is not "7".
    """
    return type(one) is type(other) and one == other


def read_hello(result: Mapping[str, Any], *, is_modern: bool) -> Hello:
    """
    Return what the answer to ``initialize`` or ``server/discover`` says.
    """
    meta = as_object(result.get("_meta"))
    info = as_object(result.get("serverInfo")) or as_object(meta.get(f"{_META}serverInfo"))
    words = [str(info[name])[:200] for name in ("name", "version") if info.get(name)]
    said = result.get("protocolVersion")
    protocol = MODERN if is_modern else LEGACY
    if isinstance(said, str) and not is_modern:
        protocol = said[:40]
    return Hello(" ".join(words) or "a server without a name", protocol)
