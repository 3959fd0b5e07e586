"""
Which module guards which kind of server.

A server is known by the names of its classes, so nothing is imported for a kind that is not in use.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, TypeVar

from toolfault.hosting import Guard, check_keywords


S = TypeVar("S")

#: Where a guarded server keeps what guards it.
MARK: Final = "__toolfault__"

#: The class of a server to the module whose ``guard_server`` guards it.
HOSTS: Final = {
    "mcp.server.mcpserver.server.MCPServer": "_server",
    "mcp.server.lowlevel.server.Server": "_lowlevel",
    "mcp.server.fastmcp.server.FastMCP": "_v1_fastmcp",
}

#: What mcp 1.x has under the same name as 2.x.
_IN_MCP_1: Final = {"_lowlevel": "_v1_lowlevel"}


@check_keywords(Guard)
def install(server: S, guard: Guard | None = None) -> S:
    """
    Put a guard around every tool of a server: those it has, and those that come later.

    Unknown names, refused arguments, resolvers, bodies and output conversion are all answered with
    an envelope. ``server.call_tool`` inside a tool still raises.

    A low-level server has the tools that its own ``tools/list`` lists: other names are not found,
    and arguments that do not fit a listed ``inputSchema`` do not reach the handler. Where nothing
    is listed, nothing is checked.

    Args:
        server: An `MCPServer` or a low-level `Server` of mcp 2.3; a `FastMCP` or a low-level
            `Server` of mcp 1.x.
        guard: None: a `Guard` with defaults.

    Returns:
        The same server.

    Raises:
        TypeError: A kind of server that can't be guarded, or a guard that is not a `Guard`.
        ValueError: The server is guarded already.
    """
    if guard is not None and not isinstance(guard, Guard):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be untyped
        raise TypeError(f"install takes a Guard, such as Guard(timeout=5), not {guard!r}")
    if getattr(server, MARK, None) is not None:
        raise ValueError(
            f"the server {getattr(server, 'name', server)!r} is guarded already; "
            "one guard answers for it"
        )
    for cls in type(server).__mro__:
        module = HOSTS.get(f"{cls.__module__}.{cls.__qualname__}")
        if module is not None:
            if find_spec("mcp.server.mcpserver") is None:
                module = _IN_MCP_1.get(module, module)
            host: Any = import_module(f"{__package__}.{module}")
            host.guard_server(server, guard or Guard())
            return server
    raise _refusal(server)


#: Servers that are guarded in another way.
_ELSEWHERE: Final = {
    "fastmcp.server.server.FastMCP": (
        "toolfault.integrations.fastmcp.ToolFaultMiddleware: "
        "mcp.add_middleware(ToolFaultMiddleware())"
    ),
}


def _refusal(server: object) -> TypeError:
    names = [f"{cls.__module__}.{cls.__qualname__}" for cls in type(server).__mro__]
    for name in names:
        if name in _ELSEWHERE:
            return TypeError(f"install does not take {name}; use {_ELSEWHERE[name]}")
    if isinstance(server, type):
        name = server.__name__
        return TypeError(f"install takes a server, not the class {name}: install({name}(...))")
    kinds = ", ".join(sorted(name.rpartition(".")[2] for name in HOSTS))
    return TypeError(f"install takes one of {kinds}, not {names[0]}")
