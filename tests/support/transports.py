"""
The ways to a server: in memory, over stdio, and over streamable HTTP, in both protocol eras.
"""

import socket
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from pathlib import Path


HERE = Path(__file__).parent
FAULT_SERVER = HERE / "fault_server.py"
V1_FAULT_SERVER = Path(__file__).parent / "v1_fault_server.py"


@contextmanager
def http_server(script, *arguments):
    """
    Run a server process on the loopback until the block ends; yields the URL.

    The socket listens before the process starts, so nobody waits for a port.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, str(script), *arguments, str(listening.fileno())],
            pass_fds=[listening.fileno()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            process.wait(10)


@asynccontextmanager
async def connected(way, mode, url=None, server="fault_server", **options):
    """
    Yield a client that is connected in this way, in this era, to a server given by the name of its module.
    """
    from mcp import Client, StdioServerParameters

    if way == "memory":
        target = import_module(server).make()
    elif way == "stdio":
        target = StdioServerParameters(
            command=sys.executable, args=["-W", "error", str(HERE / f"{server}.py"), "stdio"]
        )
    else:
        target = url
    async with Client(target, mode=mode, **options) as client:
        yield client


@asynccontextmanager
async def connected_to_1(kind, way, url=None, **options):
    """
    Yield a session of mcp 1.x with its server: ``fastmcp`` or ``lowlevel``.
    """
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.memory import create_connected_server_and_client_session

    if way == "memory":
        import v1_fault_server

        made = getattr(v1_fault_server, kind)()
        async with create_connected_server_and_client_session(getattr(made, "_mcp_server", made), **options) as session:
            yield session
        return
    arguments = ["-W", "error", str(V1_FAULT_SERVER), kind, "stdio"]
    way_in = (
        stdio_client(StdioServerParameters(command=sys.executable, args=arguments))
        if way == "stdio"
        else streamable_http_client(url)
    )
    async with way_in as (read, write, *_), ClientSession(read, write, **options) as session:
        await session.initialize()
        yield session
