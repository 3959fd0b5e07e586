"""
Microsoft Agent Framework: `ToolFaultMiddleware` retries failed calls where that is safe.

A call that still fails tells the model what to do, where the framework says no more than "Error:
Function failed.".

::

    tools = MCPStdioTool("weather", command="uvx", args=["weather-server"])
    Agent(client, tools=[tools], middleware=[ToolFaultMiddleware(tools)])

Rule 1: only ``ToolExecutionException`` is a failure; other exceptions pass through unchanged.
Rule 2: what the framework keeps of a result is its text or its structure; a server's word in
``_meta`` that a call did not happen is lost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import Any, TypeAlias

from pydantic import BaseModel

from toolfault import Retry, ToolFault, parse
from toolfault.hosting import RetryPerServer, model_text


try:
    from agent_framework import (
        FunctionInvocationContext,
        FunctionMiddleware,
        MCPStdioTool,
        MCPStreamableHTTPTool,
    )
    from agent_framework.exceptions import ToolExecutionException
except ImportError as exc:
    if not (exc.name or "").startswith("agent_framework"):
        raise
    raise ImportError(
        "toolfault.integrations.agent_framework needs agent-framework-core:"
        " pip install 'toolfault[agent-framework]'"
    ) from exc


__all__ = ["ToolFaultMiddleware"]

MCPTool: TypeAlias = MCPStdioTool | MCPStreamableHTTPTool
"""
A tool of the framework that stands for one MCP server.
"""


class ToolFaultMiddleware(FunctionMiddleware):
    """
    A middleware around each call of the tools of one MCP server.

    It retries tools that the server declares read-only or idempotent, and calls that never reached
    the server. When the last attempt has failed, the model gets a text: message, code, whether and
    when to retry, hint. Functions of other tools are left alone.

    Args:
        tool:
            The MCP server's tool, as the agent has it.

        retry:
            When to retry. None: ``Retry()``. Without a budget of its own it gets one.

        idempotent:
            Names of tools that are safe to repeat, as the server or as the model knows them.

    Raises:
        ValueError: *idempotent* is a str, not a collection of names.
    """

    def __init__(
        self, tool: MCPTool, retry: Retry | None = None, *, idempotent: Collection[str] = ()
    ) -> None:
        """
        Create the middleware, with a full budget.
        """
        self._tool = tool
        self._rules = RetryPerServer(retry, idempotent)
        self._hints: dict[str, Any] = {}

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        """
        Call the function, and retry where that is safe.

        Raises:
            BaseException: What is not a failure of a tool, unchanged.
        """
        if all(function is not context.function for function in self._tool.functions):
            await call_next()
            return
        name = context.function.name

        async def attempt(_number: int) -> object:
            await call_next()
            return None

        ended = await self._rules.for_server("server").run(
            attempt,
            name=name,
            tool=partial(self._find_tool, name),
            idempotent=self._rules.idempotent(name),
            read=partial(_read, tool=name, arguments=_mapping(context.arguments)),
        )
        if ended.fault is None:
            ended.unwrap()
            return
        context.result = model_text(ended.fault, ended.attempts)

    async def _find_tool(self, name: str) -> object:
        # Nothing public lists a server's annotations; without this only the operator's word counts.
        connection: Any = getattr(self._tool, "_connection", None)
        if name not in self._hints and connection is not None:
            listing = await connection.list_tools_page(None)
            prefix = self._tool.tool_name_prefix
            for tool in listing.tools:
                self._hints[f"{prefix}_{tool.name}" if prefix else tool.name] = tool
        return self._hints.get(name)


def _mapping(arguments: Mapping[str, Any] | BaseModel) -> Mapping[str, Any]:
    return arguments.model_dump() if isinstance(arguments, BaseModel) else arguments


def _read(outcome: object, *, tool: str, arguments: Mapping[str, Any]) -> ToolFault | None:
    if not isinstance(outcome, ToolExecutionException):
        return None
    answer: object = outcome.__cause__
    if answer is None:
        # Without a cause its text is the structure of a failed result as JSON, or its texts.
        answer = {"isError": True, "content": [{"type": "text", "text": str(outcome)}]}
    return parse(answer, tool=tool, arguments=arguments)
