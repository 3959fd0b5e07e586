"""
Starts somebody else's server with a guard in it: ``guarded.py KIND MODULE[:FUNCTION] [arguments]``.
"""

import importlib
import runpy
import sys


def guard_mcpserver():
    from mcp.server.mcpserver import MCPServer

    from toolfault.integrations.mcp import install

    before(MCPServer, "run", install)
    before(MCPServer, "run_stdio_async", install)


def guard_sdk_fastmcp():
    from mcp.server.fastmcp import FastMCP

    from toolfault.integrations.mcp import install

    before(FastMCP, "run", install)


def guard_lowlevel():
    from mcp.server.lowlevel import Server

    from toolfault.integrations.mcp import install

    before(Server, "run", install)


def guard_fastmcp():
    from fastmcp import FastMCP

    from toolfault.integrations.fastmcp import ToolFaultMiddleware

    before(FastMCP, "run", lambda server: server.add_middleware(ToolFaultMiddleware()))


def before(cls, name, act):
    """
    Act on a server once, before a method of its runs.
    """
    original = getattr(cls, name)
    seen = set()

    def run(self, *args, **kwargs):
        if id(self) not in seen and not hasattr(self, "_toolfault_peer"):
            seen.add(id(self))
            self._toolfault_peer = True
            act(self)
        return original(self, *args, **kwargs)

    setattr(cls, name, run)


if __name__ == "__main__":
    _, kind, module, *sys.argv[1:] = sys.argv
    if kind != "plain":
        globals()[f"guard_{kind}"]()
    if ":" in module:
        name, _, function = module.partition(":")
        getattr(importlib.import_module(name), function)()
    else:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
