"""
The server behind a gateway that listens: its URL, the requests to it, and what of headers passes.

Rule 1: paths and query strings pass as they came, and so do all headers that speak of the message;
those that speak of a connection do not.
Rule 2: the operator's own headers and credentials go to the path of the URL only.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from toolfault.gateway._encodings import accept_only_decodable
from toolfault.gateway._http import httpx, redirected_to, send
from toolfault.gateway._reply import Headers


#: Headers of one connection.
_HOP: Final = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer"
    b" transfer-encoding upgrade".split()
)

#: Headers that are written anew towards the server.
_ANEW: Final = frozenset({b"host", b"content-length", b"expect"})

#: Seconds for a connection.
_CONNECT: Final = 10.0

_MAX_REDIRECTS: Final = 3


@dataclass(frozen=True, slots=True)
class Request:
    """
    A client's request.

    Attributes:
        method: The HTTP method.
        path: The path, as it came.
        query: The query string, as it came.
        headers: The headers, with names in lower case.
        body: The body.
    """

    method: str
    path: bytes
    query: bytes
    headers: Headers
    body: bytes

    def header(self, name: bytes) -> str:
        """
        Return the value of a header; "" if there is none.
        """
        return _find(self.headers, name)


@dataclass(slots=True)
class Answer:
    """
    The server's answer, of which the body is still to come.

    Attributes:
        status: The HTTP status.
        headers: The headers that do not belong to the connection, with names in lower case.
        chunks: The body as it comes; it can be read once.
    """

    status: int
    headers: Headers
    chunks: AsyncIterator[bytes]

    def named(self) -> dict[str, str]:
        """
        Return the headers by name.
        """
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in self.headers}

    def header(self, name: bytes) -> str:
        """
        Return the value of a header; "" if there is none.
        """
        return _find(self.headers, name)

    @property
    def kind(self) -> str:
        """
        The media type; "" if there is none.
        """
        return self.header(b"content-type").partition(";")[0].strip().lower()

    async def read(self, limit: int) -> bytes:
        """
        Return the body, or what has come of it when it is longer than the limit.
        """
        parts: list[bytes] = []
        size = 0
        async for chunk in self.chunks:
            parts.append(chunk)
            size += len(chunk)
            if size > limit:
                break
        return b"".join(parts)


class Upstream:
    """
    The server at a URL.

    Args:
        url: The URL.
        headers: The operator's own headers.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        """
        Prepare; nothing is sent yet.
        """
        self._url = httpx.URL(url)
        self._origin = self._url.copy_with(userinfo=b"", query=None, fragment=None, path="/")
        self._own: Headers = [
            (name.lower().encode(), value.encode()) for name, value in headers.items()
        ]
        has_own = any(name == b"authorization" for name, _ in self._own)
        self.has_credentials: Final = has_own or bool(self._url.userinfo)
        self.client: Final = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=_CONNECT),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
            follow_redirects=False,
        )

    @property
    def origin(self) -> str:
        """
        The scheme and the host, for messages.
        """
        return str(self._origin).rstrip("/")

    @property
    def path(self) -> str:
        """
        The path of the URL.
        """
        path: str = self._url.path
        return path

    @asynccontextmanager
    async def stream(self, request: Request, *, is_judged: bool) -> AsyncGenerator[Answer]:
        """
        Send a request, and yield the answer; redirections within the origin are followed.

        Args:
            request: The request.
            is_judged: Whether the answer must be readable here.

        Raises:
            HTTPError: One of `HTTP_ERRORS`.
        """
        response = await self._send(request, self._target(request), is_judged=is_judged)
        try:
            headers = _end_to_end(response.headers.raw)
            yield Answer(response.status_code, headers, response.aiter_raw())
        finally:
            await response.aclose()

    async def _send(self, request: Request, target: Any, *, is_judged: bool) -> Any:
        headers = self._headers(request, is_judged=is_judged)
        for _ in range(_MAX_REDIRECTS):
            response = await self._send_once(request, target, headers)
            target = redirected_to(response, self._url)
            if target is None:
                return response
            await response.aclose()
        return await self._send_once(request, target, headers)

    async def _send_once(self, request: Request, target: Any, headers: Headers) -> Any:
        content = request.body or None
        sent = httpx.Request(request.method, target, headers=headers, content=content)
        return await send(self.client, sent)

    def _is_endpoint(self, request: Request) -> bool:
        endpoint: bytes = self._url.raw_path.partition(b"?")[0]
        return request.path.rstrip(b"/") == endpoint.rstrip(b"/")

    def _target(self, request: Request) -> Any:
        base, queries = self._origin, [request.query]
        if self._is_endpoint(request):
            base = self._url.copy_with(fragment=None)
            queries.insert(0, self._url.query)
        query = b"&".join(filter(None, queries))
        raw_path = request.path + b"?" + query if query else request.path
        return base.copy_with(raw_path=raw_path)

    def _headers(self, request: Request, *, is_judged: bool) -> Headers:
        own = self._own if self._is_endpoint(request) else []
        dropped = _ANEW | {name for name, _ in own}
        headers = [pair for pair in _end_to_end(request.headers) if pair[0] not in dropped]
        if is_judged:
            headers = list(map(_limit_encodings, headers))
        return headers + own


def _find(headers: Headers, name: bytes) -> str:
    return next((value for key, value in headers if key == name), b"").decode("latin-1")


def _end_to_end(headers: Headers) -> Headers:
    """
    Return the headers that do not belong to one connection, with names in lower case.
    """
    listed = [(name.lower(), value) for name, value in headers]
    named = [value.lower().split(b",") for name, value in listed if name == b"connection"]
    dropped = _HOP | {token.strip() for tokens in named for token in tokens}
    return [pair for pair in listed if pair[0] not in dropped]


def _limit_encodings(pair: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    name, value = pair
    if name != b"accept-encoding":
        return pair
    return name, accept_only_decodable(value.decode("latin-1")).encode("latin-1")
