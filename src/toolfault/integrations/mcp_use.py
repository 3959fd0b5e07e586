"""
mcp-use: `ToolFaultMiddleware` retries failed calls where that is safe.

A call that still fails returns a result whose first block tells a model what to do.

::

    MCPClient(config, middleware=[ToolFaultMiddleware()])

Rule 1: a result that is not a failure, and every exception of the last attempt, leave unchanged.
Rule 2: the envelope stays in the result's structure, or is added to its ``_meta``.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from toolfault import Retry, parse
from toolfault.hosting import RetryPerServer, meta_beside, model_text, says_more


try:
    from mcp.types import CallToolRequestParams, CallToolResult, TextContent
    from mcp_use.client.middleware import (  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs] -- it has no types
        Middleware,
        MiddlewareContext,
        NextFunctionT,
    )
except ImportError as exc:
    if not (exc.name or "").startswith("mcp"):
        raise
    raise ImportError(
        "toolfault.integrations.mcp_use needs mcp-use 1.7, and mcp 1.x:"
        " pip install 'toolfault[mcp-use]'"
    ) from exc


__all__ = ["ToolFaultMiddleware"]

#: How many servers' listings are kept.
_MAX_SERVERS = 256


class ToolFaultMiddleware(Middleware):  # type: ignore[misc]  # as above
    """
    A middleware around each ``tools/call`` of an ``MCPClient``.

    It retries tools that a server declares read-only or idempotent, and calls that did not happen;
    each server has a budget of its own. When the last attempt has failed, the result's first block
    says message, code, whether and when to retry, and the hint. ``MCPAgent`` shows a model that
    text inside an object of its own.

    Args:
        retry:
            When to retry. None: ``Retry()``.

        idempotent:
            Names of tools that are safe to repeat.

    Raises:
        ValueError: *idempotent* is a str, not a collection of names.
    """

    def __init__(self, retry: Retry | None = None, *, idempotent: Collection[str] = ()) -> None:
        """
        Create the middleware, with a full budget for each server.
        """
        self._servers = RetryPerServer(retry, idempotent)
        self._listed: dict[str, dict[str, Any]] = {}

    async def on_list_tools(
        self, context: MiddlewareContext[Any], call_next: NextFunctionT[Any, Any]
    ) -> Any:
        """
        Return a server's tools, and keep their hints.
        """
        listing = await call_next(context)
        if len(self._listed) >= _MAX_SERVERS:
            self._listed.clear()
        known = self._listed.setdefault(context.connection_id, {})
        known.update({tool.name: tool for tool in listing.tools})
        return listing

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: NextFunctionT[CallToolRequestParams, Any],
    ) -> CallToolResult:
        """
        Call the tool, and retry where that is safe; return the last attempt's result.

        Raises:
            BaseException: The exception of the last attempt, unchanged.
        """
        name = context.params.name

        async def attempt(_number: int) -> CallToolResult:
            result: CallToolResult = await call_next(context)
            return result

        ended = await self._servers.for_server(context.connection_id).run(
            attempt,
            name=name,
            tool=self._listed.get(context.connection_id, {}).get(name),
            idempotent=self._servers.idempotent(name),
            read=partial(parse, tool=name, arguments=context.params.arguments),
        )
        result = ended.unwrap()
        if ended.fault is None:
            return result
        text = model_text(ended.fault, ended.attempts)
        kept = [
            block
            for block in result.content
            if not isinstance(block, TextContent) or says_more(block.text, ended.fault, text)
        ]
        content = [TextContent(type="text", text=text), *kept]
        meta = {**(result.meta or {}), **meta_beside(ended.fault)}
        return result.model_copy(update={"content": content, "meta": meta or None})
