"""
The MCP Python SDK: servers, single functions, and client sessions.

`install` guards a whole server, `guarded` one function, `retrying` wraps a client session.
`GuardedMCPServer` is an `MCPServer` with a guard from the start. `describe_codes` prints the
failures that tools declare; `advertise` lets a client say that it reads envelopes;
`keep_http_errors` keeps the endpoint's HTTP statuses, which mcp's client loses.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from toolfault.integrations.mcp._install import install


if TYPE_CHECKING:
    from toolfault.integrations.mcp._declared_codes import describe_codes
    from toolfault.integrations.mcp._guarded import guarded
    from toolfault.integrations.mcp._http_errors import keep_http_errors
    from toolfault.integrations.mcp._negotiation import advertise
    from toolfault.integrations.mcp._server import GuardedMCPServer
    from toolfault.integrations.mcp._session import retrying

__all__ = [
    "GuardedMCPServer",
    "advertise",
    "describe_codes",
    "guarded",
    "install",
    "keep_http_errors",
    "retrying",
]

#: The modules of names that are imported at their first use: not every major of the SDK has what
#: they need.
_MODULES = {
    "GuardedMCPServer": "_server",
    "advertise": "_negotiation",
    "describe_codes": "_declared_codes",
    "guarded": "_guarded",
    "keep_http_errors": "_http_errors",
    "retrying": "_session",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 -- beside its only use

    try:
        found = getattr(import_module(f"{__name__}.{module}"), name)
    except ImportError as exc:
        if not (exc.name or "").startswith("mcp"):
            raise
        raise ImportError(
            f"toolfault.integrations.mcp.{name} needs mcp 2.3 or newer: pip install 'mcp>=2.3,<3'"
        ) from exc
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """
    Return the names that the installed SDK allows, for ``dir()`` and ``help()``.
    """
    return sorted(name for name in __all__ if _is_there(name))


def _is_there(name: str) -> bool:
    try:
        getattr(sys.modules[__name__], name)
    except ImportError:
        return False
    return True
