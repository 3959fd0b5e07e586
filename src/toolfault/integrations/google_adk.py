"""
google-adk: `ToolFaultPlugin` for an app.

Rule 1: only a result that an MCP server marks as an error is changed. Answers that the framework
makes stay as they are: requests for confirmation, and the text that newer versions return for an
exception. Only such a text may be retried.
Rule 2: a failed result starts with one text of message, code, hint and delay; the rest of it stays.
Rule 3: an exception that would end the run still ends it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, Final, cast
from weakref import WeakSet


try:
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.mcp_tool.mcp_tool import McpTool
    from google.adk.tools.tool_context import ToolContext
except ImportError as exc:
    if not (exc.name or "").startswith(("google", "mcp")):
        raise
    raise ImportError(
        "toolfault.integrations.google_adk needs a newer google-adk:"
        " pip install 'toolfault[google-adk]'"
    ) from exc

from toolfault import Retry, ToolFault, parse
from toolfault.hooks import Attempt
from toolfault.hosting import RetryPerServer, meta_beside, model_text, says_more


__all__ = ["ToolFaultPlugin"]


#: How the text begins that newer versions return for an exception.
_EXCEPTIONS: Final = ("MCP tool execution failed: ", "Unexpected error during MCP tool execution: ")


class ToolFaultPlugin(BasePlugin):
    """
    A plugin that retries failed calls of MCP tools, and tells the model code, hint and wait.

    Give it to the app; after a plugin has changed a result, no other plugin sees it::

        App(name="shop", root_agent=agent, plugins=[ToolFaultPlugin()])

    It retries calls that the server says did not happen, and tools that it declares read-only or
    idempotent. The same holds for exceptions; after the last attempt an exception ends the run, as
    before, or reaches the model in the framework's words. The framework makes the first attempt
    itself: `Retry.timeout` counts from its end, and observers see only calls that failed, with a
    first attempt of no duration.

    An error that a callback returns in place of an MCP tool counts as the tool's answer.

    Args:
        retry: When to retry. Without a budget of its own each toolset gets one. None: ``Retry()``.
        idempotent: Tools that are safe to repeat, as the server or as the model knows them.
        name: The plugin's name, unique in an app.

    Raises:
        ValueError: *idempotent* is a str, not a collection of names.
    """

    def __init__(
        self,
        retry: Retry | None = None,
        *,
        idempotent: Collection[str] = (),
        name: str = "toolfault",
    ) -> None:
        """
        Create the plugin, with a full budget for each server.
        """
        super().__init__(name=name)
        self._servers = RetryPerServer(retry, idempotent)
        self._answered: WeakSet[ToolContext] = WeakSet()

    def __getstate__(self) -> dict[str, Any]:
        """
        Return the state for a copy, without the running calls.
        """
        return {name: value for name, value in vars(self).items() if name != "_answered"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """
        Restore what `__getstate__` returned.
        """
        vars(self).update(state, _answered=WeakSet())

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: dict[str, Any],
    ) -> dict[str, Any] | None:
        """
        Return the result that replaces a failed one, after retries; None: the result stays.
        """
        if not isinstance(tool, McpTool) or not _is_failure(result):
            return None
        if tool_context in self._answered:
            return None
        return await self._retry(tool, tool_args, tool_context, result)

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: Exception,
    ) -> dict[str, Any] | None:
        """
        Return the result after retries of a call that raised; None: the exception ends the run.
        """
        # The framework reports cancellations here as well; they are no failures.
        if not isinstance(tool, McpTool) or parse(error) is None:
            return None
        # The framework calls `after_tool_callback` with the result next.
        self._answered.add(tool_context)
        return await self._retry(tool, tool_args, tool_context, error)

    async def _retry(
        self,
        tool: McpTool,
        arguments: dict[str, Any],
        context: ToolContext,
        first: dict[str, Any] | Exception,
    ) -> dict[str, Any] | None:
        """
        Retry a call after the attempt *first*; return the result, or None to keep the exception.
        """
        # With a prefix of the toolset the server has another name for its tool.
        name = tool.raw_mcp_tool.name

        async def attempt(number: int) -> Any:
            if number > 1:
                return await tool.run_async(args=arguments, tool_context=context)
            if isinstance(first, Exception):
                raise first
            return first

        ended = await self._rules(tool).run(
            attempt,
            name=name,
            tool=tool.raw_mcp_tool,
            idempotent=self._servers.idempotent(tool.name, name),
            read=partial(_read, tool=name, arguments=arguments),
        )
        if ended.fault is None:
            return ended.result
        if isinstance(first, Exception) and ended.error is not None:
            return None
        # An exception would end the run, with the plugin to blame.
        result = {"isError": True} if ended.result is None else ended.result
        if not _is_error(result):
            return result
        return _error_result(result, ended.fault, ended.attempts)

    def _rules(self, tool: McpTool) -> Retry:
        # A toolset creates its tools for each request, with the same session manager.
        server: object = getattr(tool, "_mcp_session_manager", None) or self
        return self._servers.for_server(server)


def _is_error(result: Any) -> bool:
    return _member(result, "isError") is True


def _is_failure(result: Any) -> bool:
    error = _member(result, "error")
    return _is_error(result) or (isinstance(error, str) and error.startswith(_EXCEPTIONS))


def _member(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None


def _read(answer: object, *, tool: str, arguments: dict[str, Any]) -> ToolFault | None:
    if not isinstance(answer, Exception) and not _is_failure(answer):
        return None
    return parse(answer, tool=tool, arguments=arguments)


def _error_result(
    result: dict[str, Any], fault: ToolFault, attempts: Sequence[Attempt]
) -> dict[str, Any]:
    """
    Return a failed result whose first block is the text for the model.
    """
    text = model_text(fault, attempts)
    # The framework makes a list, but a callback may have changed it.
    content: Any = result.get("content")
    blocks = cast("Sequence[Any]", content) if isinstance(content, list) else ()
    rest = [block for block in blocks if not _is_repeated(block, fault, text)]
    changed: dict[str, Any] = {**result, "content": [{"type": "text", "text": text}, *rest]}
    if beside := meta_beside(fault):
        meta: Any = result.get("meta")
        kept = cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}
        changed["meta"] = {**kept, **beside}
    return changed


def _is_repeated(block: Any, fault: ToolFault, text: str) -> bool:
    """
    Tell whether the text for the model already says what a block says.
    """
    words = _member(block, "text")
    return isinstance(words, str) and not says_more(words, fault, text)
