"""
FastMCP 4: `ToolFaultMiddleware` answers every failed tool call of a server.
"""

from __future__ import annotations


try:
    from toolfault.integrations.fastmcp._middleware import ToolFaultMiddleware
except ImportError as exc:
    if not (exc.name or "").startswith(("fastmcp", "mcp")):
        raise
    raise ImportError("toolfault.integrations.fastmcp needs FastMCP 4: pip install 'toolfault[fastmcp]'") from exc


__all__ = ["ToolFaultMiddleware"]
