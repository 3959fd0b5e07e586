"""
CrewAI: `retrying_tools` makes native MCP tools retry failed calls where that is safe.

A call that still fails becomes a `McpToolFailure` with code, ``retryable`` and the envelope, whose
message tells the model what to do.

::

    agent = Agent(role="clerk", ...)
    agent.tools = retrying_tools(agent.get_mcp_tools([MCPServerHTTP(url="https://example.com/mcp")]))

Rule 1: a successful result is returned as the framework returns it.
Rule 2: an exception of the last attempt is a failure of the tool too, as its text would be
otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from typing import Any

import anyio

from toolfault import Retry, parse
from toolfault.hosting import RetryPerServer, model_text


try:
    from crewai.tools import BaseTool
    from crewai.tools.mcp_native_tool import MCPNativeTool
    from crewai.tools.tool_failure import ToolFailure, ToolFailureReason
    from mcp.types import CallToolResult
except ImportError as exc:
    if not (exc.name or "").startswith(("crewai", "mcp")):
        raise
    raise ImportError(
        "toolfault.integrations.crewai needs crewai 1.15.30 or newer, and mcp 1.x:"
        " pip install 'toolfault[crewai]'"
    ) from exc


__all__ = ["McpToolFailure", "RetryingMCPTool", "retrying_tools"]


class McpToolFailure(ToolFailure):
    """
    A ``ToolFailure`` whose message says the code already.
    """

    def as_agent_message(self) -> str:
        """
        Return the text that the agent sees.
        """
        return self.message


def retrying_tools(
    tools: Iterable[BaseTool], retry: Retry | None = None, *, idempotent: Collection[str] = ()
) -> list[BaseTool]:
    """
    Return tools of which those of MCP servers retry failed calls where that is safe.

    Each server has a budget of its own. Other tools stay as they are.

    Args:
        tools: What ``Agent.get_mcp_tools`` returns.
        retry: When to retry. None: ``Retry()``.
        idempotent: Names of tools that are safe to repeat, as the server or as the model knows
            them.

    Raises:
        ValueError: *idempotent* is a str, not a collection of names.
    """
    rules = RetryPerServer(retry, idempotent)
    return [
        RetryingMCPTool(tool, rules) if isinstance(tool, MCPNativeTool) else tool for tool in tools
    ]


class RetryingMCPTool(MCPNativeTool):
    """
    An MCP tool that retries failed calls where that is safe; `retrying_tools` makes it.
    """

    def __init__(self, tool: MCPNativeTool, rules: RetryPerServer) -> None:
        """
        Take a tool, and the rules that all tools of a call to `retrying_tools` share.
        """
        super().__init__(
            client_factory=tool._client_factory,  # noqa: SLF001 -- the framework offers no other way to call the server
            tool_name=tool.name.removeprefix(f"{tool.server_name}_"),
            tool_schema={"description": tool.description, "args_schema": tool.args_schema},
            server_name=tool.server_name,
            original_tool_name=tool.original_tool_name,
            server_reference=tool.server_reference,
        )
        # The framework wrote its own text around it already.
        self.description = tool.description
        self._rules = rules

    async def _run_async(self, **kwargs: Any) -> Any:
        """
        Return the tool's text, or a `McpToolFailure`.
        """
        client = self._client_factory()
        await client.connect()
        try:
            return await self._call(client, kwargs)
        finally:
            await client.disconnect()

    async def _call(self, client: Any, arguments: dict[str, Any]) -> Any:
        name = self.original_tool_name
        given = {key: value for key, value in arguments.items() if value is not None}

        async def attempt(_number: int) -> CallToolResult:
            with anyio.fail_after(client.execution_timeout):
                result: CallToolResult = await client.session.call_tool(name, given)
                return result

        ended = await self._rules.for_server(self.server_name).run(
            attempt,
            name=name,
            tool=partial(_find_tool, client.session, name),
            idempotent=self._rules.idempotent(name, self.name),
            read=partial(parse, tool=name, arguments=given),
        )
        fault = ended.fault
        if fault is None:
            return self._extract_content(ended.unwrap())
        return McpToolFailure(
            message=model_text(fault, ended.attempts),
            reason=ToolFailureReason.MCP_ERROR,
            code=fault.envelope.code.value,
            retryable=fault.envelope.retryable,
            details={
                "server": self.server_name,
                "tool": name,
                "error": fault.envelope.to_wire(),
            },
        )


async def _find_tool(session: Any, name: str) -> object:
    listing = await session.list_tools()
    return next((tool for tool in listing.tools if tool.name == name), None)
