"""
langchain-mcp-adapters: `ToolFaultInterceptor` retries failed calls where that is safe.

A call that still fails becomes a message that tells the model what to do.

::

    client = MultiServerMCPClient(servers, tool_interceptors=[ToolFaultInterceptor()])

Rule 1: exceptions pass through unchanged, also cancellations and interrupts of LangGraph.
Rule 2: the ``ToolMessage`` for LangGraph is built here: the adapters would keep only the text.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Any, Final, TypeAlias

from toolfault import Retry, ToolFault, parse
from toolfault.hosting import RetryPerServer, model_text, says_more


try:
    from langchain_core.messages import ToolMessage
    from langchain_mcp_adapters.interceptors import MCPToolCallRequest
    from mcp.types import CallToolResult, TextContent, TextResourceContents
except ImportError as exc:
    if not (exc.name or "").startswith(("langchain", "mcp")):
        raise
    raise ImportError(
        "toolfault.integrations.langchain needs langchain-mcp-adapters, and mcp 1.x:"
        " pip install 'toolfault[langchain]'"
    ) from exc


__all__ = ["ToolFaultInterceptor"]

#: A result, a message, or a command if LangGraph is installed: the adapters decide it at import.
MCPToolCallResult: TypeAlias = Any


def _file(described: Any, **place: str) -> dict[str, Any]:
    mime_type: str = described.mimeType or ("" if "url" in place else "application/octet-stream")
    block = {"type": "image" if mime_type.startswith("image/") else "file", **place}
    if mime_type:
        block["mime_type"] = mime_type
    return block


def _resource(resource: Any) -> dict[str, Any]:
    if isinstance(resource, TextResourceContents):
        return {"type": "text", "text": resource.text}
    return _file(resource, base64=resource.blob)


#: Content blocks as the adapters spell them; a message can't hold other types.
_BLOCKS: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    "text": lambda block: {"type": "text", "text": block.text},
    "image": lambda block: _file(block, base64=block.data),
    "resource": lambda block: _resource(block.resource),
    "resource_link": lambda block: _file(block, url=str(block.uri)),
}


class ToolFaultInterceptor:
    """
    An interceptor around each call of an MCP tool, for ``tool_interceptors=[...]``.

    `Retry` decides whether a failed call is retried; each server has its own budget. When the last
    attempt has failed, the model gets a ``ToolMessage`` with ``status="error"``: message, code,
    whether and when to retry, hint. Its ``artifact`` holds the envelope as ``structured_content``.
    A failed call raises nothing, so LangChain's own retries don't repeat it, and
    ``handle_tool_errors=False`` has no effect on it in LangGraph. Outside LangGraph a tool raises
    as before, with that text.

    The first interceptor of a list is the outermost. Put one that asks a person before this one,
    unless it shall ask for each attempt.

    A tool's annotations are known only inside LangGraph, in versions whose ``ToolRuntime`` lists
    the tools.

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
        Create the interceptor, with a full budget for each server.
        """
        self._servers = RetryPerServer(retry, idempotent)

    async def __call__(
        self,
        request: MCPToolCallRequest,
        handler: Callable[[MCPToolCallRequest], Awaitable[MCPToolCallResult]],
    ) -> MCPToolCallResult:
        """
        Call the tool, and retry where that is safe; return the last attempt's result.

        Raises:
            BaseException: The exception of the last attempt, unchanged.
        """
        names = (request.name, f"{request.server_name}_{request.name}")
        tool = _find_tool(request.runtime, names)

        def attempt(_number: int) -> Awaitable[MCPToolCallResult]:
            return handler(request)

        ended = await self._servers.for_server(request.server_name).run(
            attempt,
            name=request.name,
            tool=getattr(tool, "metadata", None),  # where LangChain keeps the annotations
            idempotent=self._servers.idempotent(*names),
            read=partial(_read, request),
        )
        result = ended.unwrap()
        if ended.fault is None or not isinstance(result, CallToolResult):
            return result
        text = model_text(ended.fault, ended.attempts)
        call_id: Any = getattr(request.runtime, "tool_call_id", None)
        if call_id is None:
            return _error_result(result, ended.fault, text)
        name: str = getattr(tool, "name", request.name)
        return _error_message(result, ended.fault, text, name=name, call_id=call_id)


def _read(request: MCPToolCallRequest, answer: object) -> ToolFault | None:
    # Messages and commands come from other interceptors.
    if not isinstance(answer, CallToolResult | Exception):
        return None
    return parse(answer, tool=request.name, arguments=request.args)


def _find_tool(runtime: Any, names: Collection[str]) -> object:
    """
    Return the tool that the model called; None if it is unknown or ambiguous.
    """
    found = [tool for tool in getattr(runtime, "tools", None) or () if tool.name in names]
    return found[0] if len(found) == 1 else None


def _error_result(result: CallToolResult, fault: ToolFault, text: str) -> CallToolResult:
    """
    Return a failed result whose first block is the text for the model.
    """
    kept = [
        block
        for block in result.content
        if block.type != "text" or says_more(block.text, fault, text)
    ]
    return result.model_copy(update={"content": [TextContent(type="text", text=text), *kept]})


def _error_message(
    result: CallToolResult, fault: ToolFault, text: str, *, name: str, call_id: str
) -> ToolMessage:
    """
    Return the message of a failed call for LangGraph: the text for the model and other blocks.
    """
    blocks = [_BLOCKS[block.type](block) for block in result.content if block.type in _BLOCKS]
    more = [
        block
        for block in blocks
        if block["type"] != "text" or says_more(block["text"], fault, text)
    ]
    return ToolMessage(
        content=[{"type": "text", "text": text}, *more] if more else text,
        name=name,
        tool_call_id=call_id,
        status="error",
        artifact={"structured_content": fault.envelope.to_wire()},
    )
