"""
The extension ``io.github.toolfault/error`` (SEP-2133), said by both sides, needed by neither.

A server that says so answers failures with envelopes, a client that says so reads them. Whoever
does not know it loses
nothing: the envelope stands in places that the core protocol has. What a server says reaches
    clients of 2026-07-28
only: mcp 2.3 leaves ``extensions`` out of its answer to ``initialize``.
"""

from __future__ import annotations

from typing import Any, Final

from mcp.client import ClientExtension
from mcp.client import advertise as _advertise

from toolfault import McpErrorCode
from toolfault.hosting import META_KEY, META_VERSION


#: What no server sends.
_READERS_WORD: Final = McpErrorCode.UNKNOWN


def settings() -> dict[str, Any]:
    """
    Return what stands under the extension's identifier: the version, and the codes in use.
    """
    return {
        "version": META_VERSION,
        "codes": [code.value for code in McpErrorCode if code is not _READERS_WORD],
    }


def announce(server: Any) -> None:
    """
    Make a server say that its failures carry envelopes; what it says of the extension already
    stands.

    The low-level `Server` has a public place for it. An `MCPServer` only takes extensions when it
    is made, so the one inside it is looked for; where there is none, nothing is said, and nothing
    is lost.
    """
    inner: Any = getattr(server, "_lowlevel_server", server)
    extensions: dict[str, Any] | None = getattr(inner, "extensions", None)
    if isinstance(extensions, dict):
        extensions.setdefault(META_KEY, settings())


def advertise() -> ClientExtension:
    """
    Return what makes a client say that it reads envelopes: ``Client(server,
    extensions=[advertise()])``.

    It is a courtesy. A guarded server answers every client alike.
    """
    return _advertise(META_KEY, settings())
