"""
FastMCP 4: `ToolFaultMiddleware` answers every failed tool call of a server.
"""

from __future__ import annotations


try:
    from toolfault.integrations.fastmcp._middleware import ToolFaultMiddleware
except ImportError as exc:
    # fastmcp-slim has the same packages, and lacks what the server part of them imports.
    if (exc.name or "").startswith("toolfault"):
        raise
    raise ImportError(
        "toolfault.integrations.fastmcp needs FastMCP 4.2 or newer: "
        "pip install 'toolfault[fastmcp]'"
    ) from exc


__all__ = ["ToolFaultMiddleware"]
