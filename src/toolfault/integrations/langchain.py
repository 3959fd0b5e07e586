"""
langchain-mcp-adapters: `ToolFaultInterceptor` repeats failed calls where that is safe.

It tells the model what stays failed.

::

    client = MultiServerMCPClient(servers, tool_interceptors=[ToolFaultInterceptor()])

Rule 1: what is raised, a cancellation or an interrupt of LangGraph included, leaves as it came.
Rule 2: LangGraph's own message is made here, since the adapters keep nothing but a result's text.
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

#: A result, a message, or a command where LangGraph is installed: the adapters decide it at import.
MCPToolCallResult: TypeAlias = Any


def _file(described: Any, **place: str) -> dict[str, Any]:
    mime_type: str = described.mimeType or ("" if "url" in place else "application/octet-stream")
    kind = "image" if mime_type.startswith("image/") else "file"
    return {"type": kind, **place, **({"mime_type": mime_type} if mime_type else {})}


def _resource_block(resource: Any) -> dict[str, Any]:
    if isinstance(resource, TextResourceContents):
        return {"type": "text", "text": resource.text}
    return _file(resource, base64=resource.blob)


#: Blocks beside the text, as the adapters spell them. Others have no place in a message.
_BLOCKS: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    "text": lambda block: {"type": "text", "text": block.text},
    "image": lambda block: _file(block, base64=block.data),
    "resource": lambda block: _resource_block(block.resource),
    "resource_link": lambda block: _file(block, url=str(block.uri)),
}


class ToolFaultInterceptor:
    """
    An interceptor around each call of an MCP tool, for ``tool_interceptors=[...]``.

    A failed call is repeated by the rules of `Retry`; each server has a budget of its own. What
    failed for good reaches the model as a ``ToolMessage`` with ``status="error"``: message, code,
    whether and when to retry, hint. Its ``artifact`` has the envelope as ``structured_content``. It
    raises nothing for a failed call, so no retry of LangChain's own repeats it, and inside
    LangGraph ``handle_tool_errors=False`` has nothing left to raise. Called outside LangGraph a
    tool fails as it did before, with that text.

    The first interceptor of a list stands outermost: one that asks a person comes before this one,
    or asks for each attempt.

    A server's hints are known inside LangGraph alone, of the version that lists the tools in its
    ``ToolRuntime``.

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
        self._servers = RetryPerServer(retry, idempotent)

    async def __call__(
        self,
        request: MCPToolCallRequest,
        handler: Callable[[MCPToolCallRequest], Awaitable[MCPToolCallResult]],
    ) -> MCPToolCallResult:
        """
        Return what the last attempt came to.

        Raises:
            BaseException: What the last attempt raised, unchanged.
        """
        names = (request.name, f"{request.server_name}_{request.name}")
        tool = _find_called(request.runtime, names)

        def attempt(_number: int) -> Awaitable[MCPToolCallResult]:
            return handler(request)

        came = await self._servers.for_server(request.server_name).run(
            attempt,
            name=request.name,
            tool=getattr(tool, "metadata", None),  # where LangChain keeps the annotations
            idempotent=self._servers.idempotent(*names),
            read=partial(_read, request),
        )
        result = came.unwrap()
        if came.fault is None or not isinstance(result, CallToolResult):
            return result
        told = model_text(came.fault, came.attempts)
        return _result_for_model(
            request, result, came.fault, told, name=getattr(tool, "name", request.name)
        )


def _read(request: MCPToolCallRequest, answer: object) -> ToolFault | None:
    # Messages and commands are another interceptor's own words.
    judged = isinstance(answer, CallToolResult | Exception)
    return parse(answer, tool=request.name, arguments=request.args) if judged else None


def _find_called(runtime: Any, names: Collection[str]) -> object:
    """
    Return the tool that the model called. None: it can't be told which.
    """
    found = [tool for tool in getattr(runtime, "tools", None) or () if tool.name in names]
    return found[0] if len(found) == 1 else None


def _result_for_model(
    request: MCPToolCallRequest, result: CallToolResult, fault: ToolFault, told: str, *, name: str
) -> MCPToolCallResult:
    """
    Return a failed result from which a model reads all there is.
    """
    call_id: Any = getattr(request.runtime, "tool_call_id", None)
    if call_id is None:
        kept = [
            block
            for block in result.content
            if block.type != "text" or says_more(block.text, fault, told)
        ]
        return result.model_copy(update={"content": [TextContent(type="text", text=told), *kept]})
    blocks = [_BLOCKS[block.type](block) for block in result.content if block.type in _BLOCKS]
    more = [
        block
        for block in blocks
        if block["type"] != "text" or says_more(block["text"], fault, told)
    ]
    return ToolMessage(
        content=[{"type": "text", "text": told}, *more] if more else told,
        name=name,
        tool_call_id=call_id,
        status="error",
        artifact={"structured_content": fault.envelope.to_wire()},
    )
