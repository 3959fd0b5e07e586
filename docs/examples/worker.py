"""
One worker of many: an MCP server over HTTP that finishes its calls before it stops.

After SIGTERM, `/readyz` answers 503 for DRAIN seconds while calls are still taken, so that a load
balancer sends new ones elsewhere. Only then does the server close its connections.

Environment: PORT (8001), DRAIN (5 seconds), SESSIONS (no), ORDERS (a file, orders.log).
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import FrameType

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.types import ToolAnnotations
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from toolfault.integrations.mcp import install


class Worker(uvicorn.Server):
    """
    A server that drains before it stops; a second signal stops it at once.
    """

    is_draining = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """
        Start to drain, and stop later.
        """
        if self.is_draining:
            super().handle_exit(sig, frame)
            return
        self.is_draining = True
        stop = threading.Timer(
            float(os.environ.get("DRAIN", "5")), super().handle_exit, (sig, frame)
        )
        stop.daemon = True
        stop.start()


orders = Path(os.environ.get("ORDERS", "orders.log"))
mcp = install(MCPServer("orders", log_level="WARNING"))


@mcp.tool(annotations=ToolAnnotations(read_only_hint=True))
async def stock(article: int) -> int:
    """
    How many pieces of an article there are.
    """
    await anyio.sleep(0.02)
    return article % 7


@mcp.tool(annotations=ToolAnnotations(idempotent_hint=False))
def order(number: int) -> str:
    """
    Order something; to order twice would be a mistake.
    """
    with orders.open("a") as file:
        file.write(f"{number} {os.getpid()}\n")
    return f"ordered {number}"


@mcp.custom_route("/healthz", methods=["GET"])
async def healthz(_request: Request) -> PlainTextResponse:
    """
    Answer while the process lives.
    """
    return PlainTextResponse("ok")


@mcp.custom_route("/readyz", methods=["GET"])
async def readyz(_request: Request) -> PlainTextResponse:
    """
    Answer 200 while new calls are welcome.
    """
    return PlainTextResponse("draining", 503) if server.is_draining else PlainTextResponse("ok")


has_sessions = os.environ.get("SESSIONS", "no") == "yes"
app = mcp.streamable_http_app(stateless_http=not has_sessions, json_response=True)
server = Worker(
    uvicorn.Config(
        app,
        host="127.0.0.1",
        port=int(os.environ.get("PORT", "8001")),
        log_level="warning",
        # Longer than the longest call; what still runs then is cancelled.
        timeout_graceful_shutdown=30,
        # Longer than the load balancer keeps an idle connection.
        timeout_keep_alive=75,
    )
)

if __name__ == "__main__":
    server.run()
