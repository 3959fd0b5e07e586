"""
Strands Agents: `ToolFaultHooks` repeats failed calls of MCP tools where that is safe.

It tells the model what stays failed.

::

    agent = Agent(model, tools=[MCPClient(...)], hooks=[ToolFaultHooks()])

Rule 1: only what an MCP server called a failure is touched. Tools of other kinds, and what went
wrong on the way to a server, which Strands makes a text of, stay as they are.
Rule 2: nothing bounds the retries of a hook, so what is remembered of a call is bounded here.
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

#: How many calls may be between two attempts at a time. What is forgotten begins anew, with a new
#: count.
_MAX_CALLS: Final = 1000


class ToolFaultHooks:
    """
    A hook behind each call of an MCP tool, for ``Agent(hooks=[...])``.

    A failed call is repeated by the rules of `Retry`, by the hints of its tool; each ``MCPClient``
    has a budget of its own. What failed for good reaches the model as a text: message, code,
    whether and when to retry, hint. The rest of the result, ``structuredContent`` and ``metadata``,
    stays.

    Observers of `Retry` have nothing to stand around here; its ``on_attempt`` is called, and its
    ``timeout`` counts from the end of the first attempt. An agent that is cancelled during a wait
    stops behind it.

    Args:
        retry:
            The rules. None: those of ``Retry()``.

        idempotent:
            Names of tools that are safe to repeat by the operator's word, as the server or as the
            model knows them.

    Raises:
        ValueError: *idempotent* is one text.
    """

    def __init__(self, retry: Retry | None = None, *, idempotent: Collection[str] = ()) -> None:
        """
        Begin with a full budget for each server.
        """
        self._retry = retry or Retry()
        self._servers = RetryPerServer(self._retry, idempotent)
        self._states: OrderedDict[tuple[int, str], RetryState] = OrderedDict()

    def register_hooks(self, registry: HookRegistry, **_kwargs: Any) -> None:
        """
        Ask to be called behind each tool call; Strands calls this.
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
        # Also before another attempt: an agent that was stopped meanwhile makes none.
        event.result = _result_for_model(result, fault, model_text(fault, state.attempts))
        if wait is not None:
            self._remember(key, state)
            try:
                with state.waiting():
                    await self._retry.sleep(wait)
            except BaseException:
                # A cancelled call leaves no count behind: some models give its id to a later one.
                self._states.pop(key, None)
                raise
            event.retry = True

    def _state(self, tool: MCPAgentTool) -> RetryState:
        name = tool.mcp_tool.name
        idempotent = self._servers.idempotent(name, tool.tool_name)
        return self._servers.for_server(tool.mcp_client).state(name=name, idempotent=idempotent)

    def _remember(self, key: tuple[int, str], state: RetryState) -> None:
        while len(self._states) >= _MAX_CALLS:
            # Calls that were given up between two attempts; the oldest stands first.
            self._states.popitem(last=False)
        self._states[key] = state


def _read(result: dict[str, Any], tool: MCPAgentTool, arguments: Any) -> ToolFault | None:
    """
    Return the failure that a server reports; failures on the way to it lack the flag.
    """
    if result.get("isError") is not True:
        return None
    answer = {**result, "_meta": result.get("metadata")}
    return parse(answer, tool=tool.mcp_tool.name, arguments=arguments)


def _result_for_model(result: dict[str, Any], fault: ToolFault, told: str) -> Any:
    """
    Return a failed result from which a model reads all there is.
    """
    kept = [
        block
        for block in result["content"]
        if "text" not in block or says_more(block["text"], fault, told)
    ]
    return {**result, "content": [{"text": told}, *kept]}
