"""
The MCP Python SDK: servers, single functions, and client sessions.

`install` guards a whole server, `guarded` one function, `retrying` wraps a client session.
"""

from __future__ import annotations


try:
    from toolfault.integrations.mcp._function import guarded
    from toolfault.integrations.mcp._server import GuardedMCPServer, install
    from toolfault.integrations.mcp._session import retrying
except ImportError as exc:
    if not (exc.name or "").startswith("mcp"):
        raise
    raise ImportError("toolfault.integrations.mcp needs mcp 2.3 or newer: pip install 'mcp>=2.3,<3'") from exc


__all__ = ["GuardedMCPServer", "guarded", "install", "retrying"]
