"""
Which room guards which kind of server.

A server is known by the names of its classes, so nothing is imported for a kind that is not in use: the SDK's two
majors have no module in common that tells them apart.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final, TypeVar

from toolfault.hosting import Guard


S = TypeVar("S")

#: Where a guarded server keeps what guards it.
MARK: Final = "__toolfault__"

#: The class of a server to the room whose ``guard_server`` guards it.
HOSTS: Final = {
    "mcp.server.mcpserver.server.MCPServer": "_server",
}


def install(server: S, guard: Guard | None = None) -> S:
    """
    Put a guard around every tool of a server: those it has, and those that come later.

    Unknown names, refused arguments, resolvers, bodies and output conversion are all answered with an envelope.
    ``server.call_tool`` inside a tool still raises.

    Args:
        server: An `MCPServer` of mcp 2.3.
        guard: None: a `Guard` with defaults.

    Returns:
        The same server.

    Raises:
        TypeError: A kind of server that can't be guarded.
        ValueError: The server is guarded already.
    """
    if getattr(server, MARK, None) is not None:
        raise ValueError(f"the server {getattr(server, 'name', server)!r} is guarded already; one guard answers for it")
    for cls in type(server).__mro__:
        room = HOSTS.get(f"{cls.__module__}.{cls.__qualname__}")
        if room is not None:
            host: Any = import_module(f"{__package__}.{room}")
            host.guard_server(server, guard or Guard())
            return server
    kinds = ", ".join(sorted(name.rpartition(".")[2] for name in HOSTS))
    raise TypeError(f"install takes one of {kinds}, not {type(server).__module__}.{type(server).__qualname__}")
