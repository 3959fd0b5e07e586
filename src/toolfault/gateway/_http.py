"""
The HTTP client of the gateway, in the version that the installed mcp brings; and what it raises.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import Any, Final


def _import_client() -> Any:
    try:
        return importlib.import_module("httpx2")
    except ImportError:  # With mcp 1.x.
        return importlib.import_module("httpx")


httpx: Final[Any] = _import_client()

#: What a request raises if the server can't be reached, or its answer breaks off.
HTTP_ERRORS: Final[tuple[type[Exception], ...]] = (
    httpx.HTTPError,
    httpx.StreamError,
    httpx.InvalidURL,
)

#: Those that prove that nothing was sent.
NOT_SENT: Final[tuple[type[Exception], ...]] = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.UnsupportedProtocol,
)


#: Seconds before a refused connection is tried again.
_PAUSES: Final = (0.1, 0.5)


async def send(client: Any, request: Any) -> Any:
    """
    Return the answer to a request, whose body is still to come; a refused one is tried again.

    Args:
        client: The client.
        request: The request.

    Raises:
        HTTP_ERRORS: There is no answer.
    """
    for pause in _PAUSES:
        try:
            return await client.send(request, stream=True)
        except NOT_SENT:
            await asyncio.sleep(pause)
    return await client.send(request, stream=True)


def redirected_to(response: Any, url: Any) -> Any:
    """
    Return where a request has to be sent again with its method; None if nowhere.

    Args:
        response: The answer.
        url: The server's URL, whose origin no request leaves.
    """
    if response.status_code not in {307, 308} or "location" not in response.headers:
        return None
    try:
        target = response.url.join(response.headers["location"])
    except httpx.InvalidURL:
        return None
    if _origin(target) != _origin(url):
        return None
    return target.copy_with(userinfo=response.url.userinfo)


def _origin(url: Any) -> tuple[str, str, int | None]:
    port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    return url.scheme, url.host, port
