"""
pydantic-ai: `RetryingToolset` around an MCP toolset.

Rule 1: only exceptions of the toolset are failures; a returned value is data, whatever it says.
Rule 2: a failure that pydantic-ai would show the model is raised as ``ToolFailed``, with the full
text; it uses up no ``ModelRetry``.
Rule 3: an exception that would end the run still ends it.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any


try:
    from pydantic_ai import ModelRetry, RunContext, ToolFailed
    from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
    from pydantic_ai.tools import AgentDepsT
    from pydantic_ai.toolsets import ToolsetTool, WrapperToolset
except ImportError as exc:
    if not (exc.name or "").startswith("pydantic_ai"):
        raise
    raise ImportError(
        "toolfault.integrations.pydantic_ai needs pydantic-ai 2.16 or newer:"
        " pip install 'toolfault[pydantic-ai]'"
    ) from exc

from toolfault import Retry, ToolFault, parse
from toolfault.hosting import model_text


__all__ = ["RetryingToolset"]


@dataclass
class RetryingToolset(WrapperToolset[AgentDepsT]):
    """
    A toolset that retries failed calls where that is safe, and tells the model code, hint and wait.

    Wrap the toolset of one MCP server, before or after ``prefixed``, ``filtered`` and the like::

        Agent(model, toolsets=[RetryingToolset(MCPToolset("https://example.com/mcp"))])

    It retries tools that the server declares read-only or idempotent, and calls that never reached
    the server. A server reports in the ``_meta`` of a result that a call did not happen, but
    pydantic-ai drops that. The last failure is raised as ``ToolFailed``, which does not count
    towards ``max_retries``; limit a model that keeps calling by ``UsageLimits``. A toolset with
    ``tool_error_behavior="error"`` ends the run with its own exception, as before.

    Args:
        wrapped: The toolset.
        retry: When to retry. Without a budget of its own it gets one for this server.
        idempotent: Tools that are safe to repeat, by the names that *wrapped* gives them.

    Raises:
        ValueError: *idempotent* is a str, not a collection of names.
    """

    retry: Retry = field(default_factory=Retry)
    idempotent: Collection[str] = ()

    def __post_init__(self) -> None:
        """
        Check *idempotent* and create a budget, which copies for single runs share.
        """
        if isinstance(self.idempotent, str):
            raise ValueError(
                f"idempotent takes the names of tools, as [{self.idempotent!r}], not a text"
            )
        self.retry = self.retry.for_server()

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[AgentDepsT],
        tool: ToolsetTool[AgentDepsT],
    ) -> Any:
        """
        Call a tool, and retry where that is safe.

        Raises:
            ToolFailed: The call failed; the text is for the model.
        """

        async def attempt(_number: int) -> Any:
            return await self.wrapped.call_tool(name, tool_args, ctx, tool)

        ended = await self.retry.run(
            attempt,
            name=name,
            tool=(tool.tool_def.metadata or {}).get("annotations"),
            idempotent=True if name in self.idempotent else None,
            read=partial(_read, tool=name, arguments=tool_args),
        )
        if ended.fault is not None and isinstance(ended.error, ModelRetry | ToolFailed):
            raise ToolFailed(model_text(ended.fault, ended.attempts)) from ended.error
        return ended.unwrap()


def _read(outcome: object, *, tool: str, arguments: dict[str, Any]) -> ToolFault | None:
    """
    Return the failure that a toolset raised; None for a success or a call that needs approval.
    """
    if not isinstance(outcome, Exception) or isinstance(outcome, ApprovalRequired | CallDeferred):
        return None
    answer: object = outcome
    if isinstance(outcome, ModelRetry | ToolFailed):
        # It replaces a protocol error, or a result: then its text is the envelope, or the texts as
        # a JSON array.
        answer = outcome.__cause__ or {"isError": True, "content": _blocks(outcome.message)}
    return parse(answer, tool=tool, arguments=arguments)


def _blocks(text: str) -> list[dict[str, Any]]:
    texts: list[Any] = [text]
    if text.startswith("["):
        with suppress(ValueError, RecursionError):
            texts = json.loads(text)
    if not all(isinstance(one, str) for one in texts):
        texts = [text]
    return [{"type": "text", "text": one} for one in texts]
