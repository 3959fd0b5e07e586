"""
pydantic-ai: `RetryingToolset` around an MCP toolset.

Rule 1: only what the toolset raises is a failure; what it returns is data, whatever it looks like.
Rule 2: what pydantic-ai would tell the model, the model is told in full, as ``ToolFailed``: no
``ModelRetry`` is spent.
Rule 3: what would end the run, ends it.
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
    A toolset that repeats failed calls where that is safe, and tells the model code, hint and wait.

    Put it around the toolset of one MCP server, inside of ``prefixed``, ``filtered`` and the like
    or outside::

        Agent(model, toolsets=[RetryingToolset(MCPToolset("https://example.com/mcp"))])

    Repeated is what the server says is read-only or idempotent, and what never reached it; a
    server's word that a call did not happen stands in the ``_meta`` of its result, which
    pydantic-ai hands on to nobody. The last failure reaches the model as ``ToolFailed``, which
    spends nothing of ``max_retries``; bound a model that will not give up by ``UsageLimits``. A
    toolset with ``tool_error_behavior="error"`` ends the run with its own exception, as before.

    Args:
        wrapped: The toolset.
        retry: The rules. They get a budget for this server, unless they have one.
        idempotent: Tools that may be repeated by your word, by the names that *wrapped* gives them.

    Raises:
        ValueError: *idempotent* is one text instead of several.
    """

    retry: Retry = field(default_factory=Retry)
    idempotent: Collection[str] = ()

    def __post_init__(self) -> None:
        """
        Get a budget, which copies for single runs share.
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
        Call a tool, and again where that is safe.

        Raises:
            ToolFailed: It failed; the text is for the model.
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
    Return the failure that a toolset raised; None: a success, or a call that waits for somebody.
    """
    if not isinstance(outcome, Exception) or isinstance(outcome, ApprovalRequired | CallDeferred):
        return None
    told: object = outcome
    if isinstance(outcome, ModelRetry | ToolFailed):
        # It stands for a protocol error, or for a result: its text is the envelope, or the texts as
        # a JSON array.
        told = outcome.__cause__ or {"isError": True, "content": _blocks(outcome.message)}
    return parse(told, tool=tool, arguments=arguments)


def _blocks(text: str) -> list[dict[str, Any]]:
    texts: list[Any] = [text]
    if text.startswith("["):
        with suppress(ValueError, RecursionError):
            texts = json.loads(text)
    if not all(isinstance(one, str) for one in texts):
        texts = [text]
    return [{"type": "text", "text": one} for one in texts]
