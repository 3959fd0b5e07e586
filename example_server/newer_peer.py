"""
A server from some years ahead: it answers with a code that today's toolfault has never heard of.

It is a plain low-level `Server` without toolfault, in the place of whoever extends the vocabulary
next.
"""

from __future__ import annotations

from typing import Any

import anyio
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)


MESSAGE = "The grower has not yet agreed to share this harvest's figures."


async def list_tools(
    _: ServerRequestContext[Any], __: PaginatedRequestParams | None
) -> ListToolsResult:
    """
    Offer one tool.
    """
    return ListToolsResult(
        tools=[
            Tool(
                name="harvest_forecast",
                description="What a garden expects to pick.",
                input_schema={
                    "type": "object",
                    "properties": {"garden": {"type": "string"}},
                    "required": ["garden"],
                },
            )
        ]
    )


async def call_tool(_: ServerRequestContext[Any], __: CallToolRequestParams) -> CallToolResult:
    """
    Fail in a word that is not among the ten.
    """
    return CallToolResult(
        content=[TextContent(text=MESSAGE)],
        structured_content={
            "code": "consent_pending",
            "message": MESSAGE,
            "category": "consent",
            "retryable": True,
            "retry_after_seconds": 86400,
            "consent_url": "https://growers.example/consent/118",
        },
        is_error=True,
    )


server = Server("newer-peer", on_list_tools=list_tools, on_call_tool=call_tool)


async def main() -> None:
    """
    Serve over stdin and stdout.
    """
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
