"""
The MCP Python SDK: servers, single functions, and client sessions.

`install` guards a whole server, `guarded` one function, `retrying` wraps a client session.
`GuardedMCPServer` is an `MCPServer` that is born with a guard. `declared` prints what tools say
they can fail with; `advertise` lets a client say that it reads envelopes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolfault.integrations.mcp._install import install


if TYPE_CHECKING:
    from toolfault.integrations.mcp._declared import declared
    from toolfault.integrations.mcp._guarded import guarded
    from toolfault.integrations.mcp._negotiation import advertise
    from toolfault.integrations.mcp._server import GuardedMCPServer
    from toolfault.integrations.mcp._session import retrying

__all__ = ["GuardedMCPServer", "advertise", "declared", "guarded", "install", "retrying"]

#: What is imported at its first use, since it needs a part of the SDK that not every major has.
_ROOMS = {
    "GuardedMCPServer": "_server",
    "advertise": "_negotiation",
    "declared": "_declared",
    "guarded": "_guarded",
    "retrying": "_session",
}


def __getattr__(name: str) -> Any:
    room = _ROOMS.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 -- beside its only use

    try:
        found = getattr(import_module(f"{__name__}.{room}"), name)
    except ImportError as exc:
        if not (exc.name or "").startswith("mcp"):
            raise
        raise ImportError(
            f"toolfault.integrations.mcp.{name} needs mcp 2.3 or newer: pip install 'mcp>=2.3,<3'"
        ) from exc
    globals()[name] = found
    return found
