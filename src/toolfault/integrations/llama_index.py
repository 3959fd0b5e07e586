"""
llama-index: `RetryingMcpClient` retries failed calls where that is safe, for ``McpToolSpec``.

A call that still fails raises `McpToolFailed`, which agents of llama-index turn into a tool output
with ``is_error``, whose text tells the model what to do.

::

    McpToolSpec(client=RetryingMcpClient(BasicMCPClient("https://example.com/mcp")))

Rule 1: a result that is no failure is returned unchanged, and so is everything but ``call_tool``.
Rule 2: an exception that is not a failure of the tool passes through unchanged.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from toolfault import Retry, ToolFault, parse
from toolfault.hosting import RetryPerServer, model_text, says_more


try:
    from llama_index.tools.mcp import BasicMCPClient  # type: ignore[import-untyped]  # it has no types
    from mcp import ClientSession
    from mcp.types import CallToolResult, TextContent
except ImportError as exc:
    if not (exc.name or "").startswith(("llama_index", "mcp")):
        raise
    raise ImportError(
        "toolfault.integrations.llama_index needs llama-index-tools-mcp 0.6 or newer:"
        " pip install 'toolfault[llama-index]'"
    ) from exc


__all__ = ["McpToolFailed", "RetryingMcpClient"]


class McpToolFailed(Exception):  # noqa: N818 -- says what happened, as pydantic-ai's ToolFailed does
    """
    A tool call that failed; its text is for the model.

    Attributes:
        fault:
            The failure of the last attempt.
    """

    def __init__(self, text: str, fault: ToolFault) -> None:
        """
        Take the text for the model, and the failure.
        """
        super().__init__(text)
        self.fault = fault


class RetryingMcpClient:
    """
    A client of one MCP server that retries failed calls where that is safe.

    It retries tools that the server declares read-only or idempotent, and calls that did not
    happen. All that is not ``call_tool`` is the client's own.

    Args:
        client:
            A ``BasicMCPClient``, which connects anew for each attempt, or a session.

        retry:
            When to retry. None: ``Retry()``. Without a budget of its own it gets one.

        idempotent:
            Names of tools that are safe to repeat.

    Raises:
        ValueError: *idempotent* is a str, not a collection of names.
    """

    def __init__(
        self,
        client: BasicMCPClient | ClientSession,
        retry: Retry | None = None,
        *,
        idempotent: Collection[str] = (),
    ) -> None:
        """
        Wrap the client, with a full budget.
        """
        self._client = client
        self._rules = RetryPerServer(retry, idempotent)

    def __getattr__(self, name: str) -> Any:
        """
        Return an attribute of the client.
        """
        return getattr(self._client, name)

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None = None, progress_callback: Any = None
    ) -> CallToolResult:
        """
        Call a tool, and retry where that is safe.

        Raises:
            McpToolFailed: The call failed.
        """

        async def attempt(_number: int) -> CallToolResult:
            client: Any = self._client
            result: CallToolResult = await client.call_tool(
                tool_name, arguments, progress_callback=progress_callback
            )
            return result

        ended = await self._rules.for_server("server").run(
            attempt,
            name=tool_name,
            tool=partial(self._find_tool, tool_name),
            idempotent=self._rules.idempotent(tool_name),
            read=partial(parse, tool=tool_name, arguments=arguments),
        )
        if ended.fault is None:
            return ended.unwrap()
        text = model_text(ended.fault, ended.attempts)
        more = _texts_beside(ended.result, ended.fault, text)
        raise McpToolFailed("\n\n".join([text, *more]), ended.fault) from ended.error

    async def _find_tool(self, name: str) -> object:
        listing = await self._client.list_tools()
        return next((tool for tool in listing.tools if tool.name == name), None)


def _texts_beside(result: CallToolResult | None, fault: ToolFault, text: str) -> list[str]:
    """
    Return the texts of a failed result that say more than the text for the model.
    """
    content = [] if result is None else result.content
    texts = [block.text for block in content if isinstance(block, TextContent)]
    return [one for one in texts if says_more(one, fault, text)]
