"""
google-adk: `ToolFaultPlugin` for an app.

Rule 1: only what an MCP server marks as an error is told anew. Answers of the framework's own stay
as they are, be it a question for confirmation or the text that newer versions make of an exception;
that alone may be repeated.
Rule 2: of a failed result the model reads one text with message, code, hint and delay; nothing else
of it is lost.
Rule 3: what would end the run, ends it.
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


#: What newer versions put before the text of an exception, which they hand on as an answer.
_EXCEPTIONS: Final = ("MCP tool execution failed: ", "Unexpected error during MCP tool execution: ")


class ToolFaultPlugin(BasePlugin):
    """
    A plugin that repeats failed calls of MCP tools, and tells the model code, hint and wait.

    Give it to the app; the first plugin that changes a result is the last that sees it::

        App(name="shop", root_agent=agent, plugins=[ToolFaultPlugin()])

    Repeated is what the server says did not happen, and what it says is read-only or idempotent.
    Exceptions are repeated by the same rules; one that no retry mends ends the run, as before, or
    reaches the model as the framework tells it. The framework makes the first attempt itself:
    `Retry.timeout` counts from its end, and observers see calls that failed, the first attempt of
    them as a moment.

    What a callback before the tool answers instead of an MCP tool, marked as an error, is taken for
    the tool's answer.

    Args:
        retry: The rules. Each toolset gets a budget for its server, unless they have one. None:
            those of ``Retry()``.
        idempotent: Tools that may be repeated by your word, as the server or as the model knows
            them.
        name: The plugin's name; an app takes each name once.

    Raises:
        ValueError: *idempotent* is one text.
    """

    def __init__(
        self,
        retry: Retry | None = None,
        *,
        idempotent: Collection[str] = (),
        name: str = "toolfault",
    ) -> None:
        """
        Make a plugin.
        """
        super().__init__(name=name)
        self._servers = RetryPerServer(retry, idempotent)
        self._answered: WeakSet[ToolContext] = WeakSet()

    def __getstate__(self) -> dict[str, Any]:
        """
        Return the state of a copy: all but the running calls.
        """
        return {name: value for name, value in vars(self).items() if name != "_answered"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """
        Go on with what `__getstate__` returned.
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
        Return what the model is told instead of a failed result; None: the result stays.
        """
        if (
            not isinstance(tool, McpTool)
            or not _is_failure(result)
            or tool_context in self._answered
        ):
            return None
        return await self._finish(tool, tool_args, tool_context, result)

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: Exception,
    ) -> dict[str, Any] | None:
        """
        Return the result of a call that raised at first; None: what it raised ends the run.
        """
        # The framework tells of cancellations here as well, and they are no failures.
        if not isinstance(tool, McpTool) or parse(error) is None:
            return None
        # The framework shows the result to `after_tool_callback` next.
        self._answered.add(tool_context)
        return await self._finish(tool, tool_args, tool_context, error)

    async def _finish(
        self,
        tool: McpTool,
        arguments: dict[str, Any],
        context: ToolContext,
        first: dict[str, Any] | Exception,
    ) -> dict[str, Any] | None:
        """
        Return the end of a call whose first attempt is *first*; None: that exception stays.
        """
        # The server speaks of its tool by another name where the toolset has a prefix.
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
        # What is raised here would end the run as a fault of the plugin.
        result = {"isError": True} if ended.result is None else ended.result
        return (
            _result_for_model(result, ended.fault, ended.attempts) if _is_error(result) else result
        )

    def _rules(self, tool: McpTool) -> Retry:
        # A toolset makes its tools anew for each request, with the one manager of its sessions.
        server: object = getattr(tool, "_mcp_session_manager", None) or self
        return self._servers.for_server(server)


def _is_error(result: Any) -> bool:
    return _member(result, "isError") is True


def _is_failure(result: Any) -> bool:
    said = _member(result, "error")
    return _is_error(result) or (isinstance(said, str) and said.startswith(_EXCEPTIONS))


def _member(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None


def _read(answer: object, *, tool: str, arguments: dict[str, Any]) -> ToolFault | None:
    judged = isinstance(answer, Exception) or _is_failure(answer)
    return parse(answer, tool=tool, arguments=arguments) if judged else None


def _result_for_model(
    result: dict[str, Any], fault: ToolFault, attempts: Sequence[Attempt]
) -> dict[str, Any]:
    text = model_text(fault, attempts)
    # Of the framework's own making, unless a callback has changed it.
    content: Any = result.get("content")
    blocks = cast("Sequence[Any]", content) if isinstance(content, list) else ()
    rest = [block for block in blocks if not _is_redundant(block, fault, text)]
    told: dict[str, Any] = {**result, "content": [{"type": "text", "text": text}, *rest]}
    if beside := meta_beside(fault):
        meta: Any = result.get("meta")
        kept = cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}
        told["meta"] = {**kept, **beside}
    return told


def _is_redundant(block: Any, fault: ToolFault, text: str) -> bool:
    said = _member(block, "text")
    return isinstance(said, str) and not says_more(said, fault, text)
