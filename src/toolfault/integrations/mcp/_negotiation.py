"""
Advertise the extension ``io.github.toolfault/error`` (SEP-2133), which neither side needs.

A server that advertises it answers failures with envelopes; a client that advertises it reads
them. Others lose nothing: the envelope is in places of the core protocol. Only clients of
2026-07-28 see what a server advertises, since mcp 2.3 leaves ``extensions`` out of its answer to
``initialize``.
"""

from __future__ import annotations

from typing import Any, Final

from mcp.client import ClientExtension
from mcp.client import advertise as _advertise

from toolfault import McpErrorCode
from toolfault.hosting import META_KEY, META_VERSION


#: The code that readers use for unknown codes; no server sends it.
_READERS_WORD: Final = McpErrorCode.UNKNOWN


def settings() -> dict[str, Any]:
    """
    Return the settings of the extension: its version, and the codes in use.
    """
    return {
        "version": META_VERSION,
        "codes": [code.value for code in McpErrorCode if code is not _READERS_WORD],
    }


def announce(server: Any) -> None:
    """
    Advertise on a server that its failures carry envelopes, unless the server does so already.

    The low-level `Server` has a public attribute for extensions. An `MCPServer` takes them only
    when it is made, so its inner server is used. Without one, nothing is advertised.
    """
    inner: Any = getattr(server, "_lowlevel_server", server)
    extensions: dict[str, Any] | None = getattr(inner, "extensions", None)
    if isinstance(extensions, dict):
        extensions.setdefault(META_KEY, settings())


def advertise() -> ClientExtension:
    """
    Return the extension of a client that reads envelopes.

    Pass it to the client: ``Client(server, extensions=[advertise()])``. A guarded server answers
    every client alike, with or without it.
    """
    return _advertise(META_KEY, settings())
