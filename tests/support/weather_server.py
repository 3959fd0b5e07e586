"""
A server that asks an upstream for the weather, with or without toolfault, over stdio or HTTP.

``python weather_server.py plain | guarded stdio | http FD | http-json FD``; WEATHER_URL is the upstream.
"""

import os
import socket
import sys
from typing import Annotated, Literal

import httpx
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from toolfault import Guard, McpErrorCode
from toolfault.integrations.mcp import guarded, install


class Weather(BaseModel):
    degrees: float


FAILS_WITH = [
    McpErrorCode.PERMISSION_DENIED,
    McpErrorCode.QUOTA_EXCEEDED,
    McpErrorCode.INTERNAL,
    McpErrorCode.TOOL_TIMEOUT,
    McpErrorCode.INVALID_ARGUMENTS,
]


async def weather(
    city: Annotated[str, Field(min_length=1, max_length=80)],
    days: Annotated[int, Field(ge=1, le=7)],
    unit: Literal["C", "F"] = "C",
) -> Weather:
    """
    Return how warm it will be.
    """
    async with httpx.AsyncClient(timeout=0.5) as client:
        answer = await client.get(os.environ["WEATHER_URL"], params={"city": city, "days": days, "unit": unit})
        answer.raise_for_status()
        return Weather.model_validate(answer.json())


def make(kind):
    server = MCPServer("weather", log_level="CRITICAL")
    tool = weather
    if kind == "guarded":
        install(server, Guard())
        tool = guarded(fails_with=FAILS_WITH)(weather)
    server.tool(annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True))(tool)
    return server


if __name__ == "__main__":
    made = make(sys.argv[1])
    if sys.argv[2] == "stdio":
        made.run("stdio")
    else:
        app = made.streamable_http_app(json_response=sys.argv[2] == "http-json")
        listening = socket.socket(fileno=int(sys.argv[3]))
        uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)).run(sockets=[listening])
