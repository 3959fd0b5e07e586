"""
The ways to a server: in memory, over stdio, and over streamable HTTP, in both protocol eras.
"""

import socket
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from mcp import Client, StdioServerParameters


FAULT_SERVER = Path(__file__).parent / "fault_server.py"


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
async def connected(way, mode, url=None, **options):
    """
    Yield a client that is connected in this way, in this era.
    """
    if way == "memory":
        from fault_server import make

        target = make()
    elif way == "stdio":
        target = StdioServerParameters(command=sys.executable, args=["-W", "error", str(FAULT_SERVER), "stdio"])
    else:
        target = url
    async with Client(target, mode=mode, **options) as client:
        yield client
