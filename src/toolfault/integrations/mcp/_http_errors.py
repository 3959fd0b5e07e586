"""
HTTP statuses of the endpoint, which mcp's own client loses.

mcp 2.x reads every refused POST as "Server returned an error response"; mcp 1.x ends the whole
connection. Here such an answer becomes a JSON-RPC error with an envelope in its data.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar, cast

from toolfault import ToolFault, parse
from toolfault.hosting import META_KEY, to_result
from toolfault.integrations.mcp._compat import IS_1


C = TypeVar("C")

#: JSON-RPC's internal error, which mcp 2.x uses for these answers as well.
_INTERNAL_ERROR: Final = -32603

#: Both majors read these themselves: the session is gone, or there is no endpoint.
_READ_BY_MCP: Final = frozenset({404})


def keep_http_errors(client: C) -> C:
    """
    Return an HTTP client for mcp's transports that keeps status and ``Retry-After`` of failures.

    With it `parse` and `retrying` see a 429 of the endpoint as ``quota_exceeded`` with its wait, a
    503 as ``mcp_server_unreachable``, and so on, instead of one sentence for all. It works behind
    authentication, so a 401 that is answered by a login never arrives here::

        http = keep_http_errors(create_mcp_http_client())
        async with Client(streamable_http_client(url, http_client=http)) as session: ...

    Args:
        client: An ``AsyncClient`` of httpx2 (mcp 2.x) or httpx (mcp 1.x), changed in place; or a
            function that makes one, such as mcp's ``create_mcp_http_client``.

    Returns:
        The same client, or a function that makes such clients.

    Raises:
        TypeError: *client* is neither.
    """
    send = getattr(client, "send", None)
    if callable(send) and not isinstance(client, type):
        setattr(client, "send", _Keeping(cast("_Send", send)))  # noqa: B010 -- of either library
        return client
    if not callable(client):
        raise TypeError(
            f"keep_http_errors takes an httpx.AsyncClient or httpx2.AsyncClient, not {client!r}"
        )
    make = cast("Callable[..., Any]", client)

    def make_keeping(*args: Any, **options: Any) -> Any:
        return keep_http_errors(make(*args, **options))

    return cast("C", make_keeping)


_Send = Callable[..., Awaitable[Any]]


class _Keeping:
    """
    The method ``send`` of a client that keeps HTTP errors.
    """

    def __init__(self, send: _Send) -> None:
        # A client that is wrapped twice answers once.
        self.wrapped: _Send = send.wrapped if isinstance(send, _Keeping) else send

    async def __call__(self, request: Any, **options: Any) -> Any:
        """
        Return the response, or a JSON-RPC error in its place.
        """
        response = await self.wrapped(request, **options)
        if response.status_code < 400 or response.status_code in _READ_BY_MCP:
            return response
        request_id = _rpc_id(request)
        if request_id is None:
            return response
        own = await _rpc_error(response)
        if own is None:
            error = _error_for(response)
        elif IS_1:
            error = own
        else:
            return response
        await response.aclose()
        body = {"jsonrpc": "2.0", "id": request_id, "error": error}
        return type(response)(200, json=body, request=request)


def _rpc_id(request: Any) -> str | int | None:
    """
    Return the id of the JSON-RPC request that an HTTP request carries; None if it carries none.
    """
    if request.method != "POST":
        return None
    body = _json_object(request.content)
    found = body.get("id")
    return found if "method" in body and isinstance(found, str | int) else None


async def _rpc_error(response: Any) -> dict[str, Any] | None:
    """
    Return the JSON-RPC error in a response; None if it has none.
    """
    if not response.headers.get("content-type", "").lower().startswith("application/json"):
        return None
    try:
        error = _json_object(await response.aread()).get("error")
    except Exception:  # noqa: BLE001 -- a body that breaks off: the status is left
        return None
    if not isinstance(error, dict):
        return None
    known = cast("dict[str, Any]", error)
    is_error = isinstance(known.get("code"), int) and isinstance(known.get("message"), str)
    return known if is_error else None


def _json_object(content: bytes) -> dict[str, Any]:
    try:
        body: Any = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", body) if isinstance(body, dict) else {}


def _error_for(response: Any) -> dict[str, Any]:
    fault = _fault_for(response)
    facts = to_result(fault, structured=False)["_meta"]
    return {"code": _INTERNAL_ERROR, "message": fault.message, "data": {META_KEY: facts[META_KEY]}}


def _fault_for(response: Any) -> ToolFault:
    try:
        response.raise_for_status()
    except Exception as exc:  # noqa: BLE001 -- of either library
        fault = parse(exc)
        if fault is not None:
            return fault
    return ToolFault("unknown", f"The MCP server answered with HTTP {response.status_code}.")
