"""
openai-agents: `RetryingMCPServer` before a server's class, and `custom_data` for runs.

Rule 1: only ``call_tool`` changes; the exception of the last attempt is raised unchanged.
Rule 2: a failed result starts with one text of message, code, hint and delay; the rest of it stays.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any


try:
    from agents.mcp import MCPServer, MCPToolCustomDataContext
    from mcp.types import CallToolResult, TextContent
except ImportError as exc:
    if not (exc.name or "").startswith(("agents", "mcp")):
        raise
    raise ImportError(
        "toolfault.integrations.openai_agents needs openai-agents 0.17.6 or newer:"
        " pip install 'toolfault[openai-agents]'"
    ) from exc

from toolfault import Retry, ToolFault, parse
from toolfault.hooks import Attempt
from toolfault.hosting import META_KEY, RetryPerServer, log, meta_beside, model_text, says_more


if TYPE_CHECKING:
    from mcp.types import Tool


__all__ = ["RetryingMCPServer", "custom_data"]


class RetryingMCPServer(MCPServer):
    """
    A server that retries failed calls where that is safe, and tells the model code, hint and wait.

    Put it before one of the framework's classes::

        class Shop(RetryingMCPServer, MCPServerStreamableHttp):
            pass

        async with Shop(params={"url": "https://example.com/mcp"}) as server:
            Agent("clerk", mcp_servers=[server])

    It retries calls that the server says did not happen, and tools that it declares read-only or
    idempotent. The same holds for exceptions, so leave ``max_retry_attempts`` at 0: it retries
    them whether that is safe or not.

    Args:
        *args: For the framework's class, as are *options*. ``custom_data_extractor`` is
            `custom_data`, unless given.
        retry: When to retry. Without a budget of its own it gets one for this server. None:
            ``Retry()``.
        idempotent: Tools that are safe to repeat.

    Raises:
        ValueError: *idempotent* is a str, not a collection of names.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """
        Refuse an order of bases in which the framework's ``call_tool`` comes first.
        """
        super().__init_subclass__(**options)
        before = cls.__mro__[: cls.__mro__.index(RetryingMCPServer)]
        if theirs := [base.__name__ for base in before if base.__module__.startswith("agents.")]:
            raise TypeError(
                f"RetryingMCPServer stands before {theirs[0]}:"
                f" class {cls.__name__}(RetryingMCPServer, {theirs[0]})"
            )

    def __init__(
        self,
        *args: Any,
        retry: Retry | None = None,
        idempotent: Collection[str] = (),
        **options: Any,
    ) -> None:
        """
        Create a server that is not connected yet.
        """
        servers = RetryPerServer(retry, idempotent)
        super().__init__(*args, **{"custom_data_extractor": custom_data, **options})
        self._servers = servers

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        """
        Call a tool, and retry where that is safe.
        """
        call = super().call_tool  # type: ignore[safe-super]  # the next class has it

        async def attempt(_number: int) -> CallToolResult:
            return await call(tool_name, arguments, meta)

        ended = await self._servers.for_server(self).run(
            attempt,
            name=tool_name,
            tool=partial(self._tool, tool_name),
            idempotent=self._servers.idempotent(tool_name),
            read=partial(parse, tool=tool_name, arguments=arguments),
        )
        result = ended.unwrap()
        if ended.fault is None:
            return result
        return _error_result(result, ended.fault, ended.attempts)

    async def _tool(self, name: str) -> Tool | None:
        # The framework lists the tools before a model calls one.
        tools = self.cached_tools
        if tools is None:
            try:
                tools = await self.list_tools()
            except Exception:  # noqa: BLE001 -- without annotations a call is only retried less often
                log.warning("the tools could not be listed; nothing is retried by their hints")
                return None
        return next((tool for tool in tools if tool.name == name), None)


def _error_result(
    result: CallToolResult, fault: ToolFault, attempts: Sequence[Attempt]
) -> CallToolResult:
    """
    Return a failed result whose first block is the text for the model.
    """
    text = model_text(fault, attempts)
    rest = [
        block
        for block in result.content
        if not isinstance(block, TextContent) or says_more(block.text, fault, text)
    ]
    changed: dict[str, Any] = {"content": [TextContent(type="text", text=text), *rest]}
    if beside := meta_beside(fault):
        changed["meta"] = {**(result.meta or {}), **beside}
    return result.model_copy(update=changed)


def custom_data(ctx: MCPToolCustomDataContext) -> dict[str, Any] | None:
    """
    Return the envelope of a failed call, for the run's output item; None for a success.

    It is a ``custom_data_extractor`` of the framework; the envelope is then
    ``item.custom_data["io.github.toolfault/error"]``.
    """
    fault: ToolFault | None = parse(
        {
            "isError": ctx.is_error,
            "structuredContent": ctx.structured_content,
            "_meta": ctx.result_meta,
            "content": ctx.tool_output if isinstance(ctx.tool_output, list) else [ctx.tool_output],
        },
        tool=ctx.tool_name,
        arguments=ctx.arguments,
    )
    return None if fault is None else {META_KEY: fault.envelope.to_wire()}
