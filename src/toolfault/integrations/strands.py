"""
Strands Agents: `ToolFaultHooks` retries failed calls of MCP tools where that is safe.

A call that still fails becomes a text that tells the model what to do.

::

    agent = Agent(model, tools=[MCPClient(...)], hooks=[ToolFaultHooks()])

Rule 1: only results that an MCP server marks as errors are changed. Other tools, and transport
failures, which Strands converts into texts, stay as they are.
Rule 2: Strands does not bound the retries of a hook, so the state of calls is bounded here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from typing import Any, Final

from toolfault import Retry, ToolFault, parse
from toolfault.hosting import RetryPerServer, RetryState, model_text, says_more


try:
    from strands.hooks import AfterToolCallEvent, HookRegistry
    from strands.tools.mcp.mcp_agent_tool import MCPAgentTool
except ImportError as exc:
    if not (exc.name or "").startswith("strands"):
        raise
    raise ImportError(
        "toolfault.integrations.strands needs strands-agents: pip install 'toolfault[strands]'"
    ) from exc


__all__ = ["ToolFaultHooks"]

#: How many calls may be between two attempts at a time. The count of a dropped call starts again.
_MAX_CALLS: Final = 1000


class ToolFaultHooks:
    """
    A hook after each call of an MCP tool, for ``Agent(hooks=[...])``.

    `Retry` and the annotations of the tool decide whether a failed call is retried; each
    ``MCPClient`` has its own budget. When the last attempt has failed, the model gets a text:
    message, code, whether and when to retry, hint. The rest of the result, ``structuredContent``
    and ``metadata``, stays.

    A hook can't wrap calls, so the observers of `Retry` are not called; ``on_attempt`` is, and
    ``timeout`` counts from the end of the first attempt. An agent that is cancelled during a wait
    stops after it.

    Args:
        retry:
            When to retry. None: ``Retry()``.

        idempotent:
            Names of tools that are safe to repeat, as the server or as the model knows them.

    Raises:
        ValueError: *idempotent* is a str, not a collection of names.
    """

    def __init__(self, retry: Retry | None = None, *, idempotent: Collection[str] = ()) -> None:
        """
        Create the hooks, with a full budget for each server.
        """
        self._retry = retry or Retry()
        self._servers = RetryPerServer(self._retry, idempotent)
        self._states: OrderedDict[tuple[int, str], RetryState] = OrderedDict()

    def register_hooks(self, registry: HookRegistry, **_kwargs: Any) -> None:
        """
        Register the callback after each tool call; Strands calls this.
        """
        registry.add_callback(AfterToolCallEvent, self._handle_result)

    async def _handle_result(self, event: AfterToolCallEvent) -> None:
        tool = event.selected_tool
        if not isinstance(tool, MCPAgentTool) or event.retry:
            return
        key = (id(event.agent), event.tool_use["toolUseId"])
        state = self._states.pop(key, None) or self._state(tool)
        result: dict[str, Any] = {**event.result}
        if result.get("status") == "success":
            state.next_wait(None)
        fault = _read(result, tool, event.tool_use["input"])
        if fault is None:
            return
        wait = state.next_wait(fault, tool.mcp_tool)
        # Also before another attempt: an agent that is stopped meanwhile makes none.
        event.result = _error_result(result, fault, model_text(fault, state.attempts))
        if wait is not None:
            await self._wait(key, state, wait)
            event.retry = True

    async def _wait(self, key: tuple[int, str], state: RetryState, wait: float) -> None:
        self._remember(key, state)
        try:
            with state.waiting():
                await self._retry.sleep(wait)
        except BaseException:
            # Some models give the id of a cancelled call to a later one, which starts at one.
            self._states.pop(key, None)
            raise

    def _state(self, tool: MCPAgentTool) -> RetryState:
        name = tool.mcp_tool.name
        idempotent = self._servers.idempotent(name, tool.tool_name)
        return self._servers.for_server(tool.mcp_client).state(name=name, idempotent=idempotent)

    def _remember(self, key: tuple[int, str], state: RetryState) -> None:
        while len(self._states) >= _MAX_CALLS:
            # Calls that were abandoned between two attempts; the oldest is the first.
            self._states.popitem(last=False)
        self._states[key] = state


def _read(result: dict[str, Any], tool: MCPAgentTool, arguments: Any) -> ToolFault | None:
    """
    Return the failure that a server reports, or None; transport failures lack the flag.
    """
    if result.get("isError") is not True:
        return None
    answer = {**result, "_meta": result.get("metadata")}
    return parse(answer, tool=tool.mcp_tool.name, arguments=arguments)


def _error_result(result: dict[str, Any], fault: ToolFault, text: str) -> Any:
    """
    Return a failed result whose first block is the text for the model.
    """
    kept = [
        block
        for block in result["content"]
        if "text" not in block or says_more(block["text"], fault, text)
    ]
    return {**result, "content": [{"text": text}, *kept]}
