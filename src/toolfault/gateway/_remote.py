"""
HTTP to one MCP server: its session, its redirects and its login. What is sent is decided elsewhere.

Rule 1: a request is sent again only if its first copy provably was not executed: the connection was
refused, or the server redirected it, or asked for a login.
Rule 2: credentials go to the origin of the URL only.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from toolfault._version import __version__
from toolfault.gateway._http import httpx, redirected_to, send
from toolfault.gateway._mcp_headers import BASE, SESSION, VERSION


if TYPE_CHECKING:
    from toolfault.gateway._oauth import Login


#: Seconds for a connection.
_CONNECT: Final = 30.0

_MAX_REDIRECTS: Final = 3


class Remote:
    """
    One MCP server at a URL.

    Args:
        url: The URL.
        headers: Headers for each request.
        login: Logs in where the server asks for it. None: the headers hold the credentials.
    """

    def __init__(self, url: str, headers: Mapping[str, str], login: Login | None) -> None:
        """
        Prepare; nothing is sent yet.
        """
        self._url = httpx.URL(url)
        self._login = login
        self.session: str | None = None
        self.version: str | None = None
        self.client: Final = httpx.AsyncClient(
            headers={"user-agent": f"toolfault/{__version__}", **headers},
            timeout=httpx.Timeout(None, connect=_CONNECT),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            follow_redirects=False,
        )

    @property
    def origin(self) -> str:
        """
        The scheme and the host, for messages.
        """
        return str(self._url.copy_with(userinfo=b"", path="/", query=None, fragment=None))

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        headers: Mapping[str, str],
        data: bytes | None = None,
        *,
        has_session: bool = True,
    ) -> AsyncGenerator[Any]:
        """
        Send a request; yield the answer, whose body is not read yet.

        Args:
            method: The method of HTTP.
            headers: Further headers.
            data: The body.
            has_session: Whether it belongs to the session; a handshake does not.

        Raises:
            HTTP_ERRORS: There is no answer.
            LoginError: The server wants a login that failed.
        """
        response = await self._send(method, headers, data, has_session=has_session)
        try:
            yield response
        finally:
            await response.aclose()

    async def _send(
        self, method: str, headers: Mapping[str, str], data: bytes | None, *, has_session: bool
    ) -> Any:
        url, hops, has_logged_in = self._url, 0, False
        while True:
            request = self.client.build_request(
                method, url, headers=self._headers(headers, has_session), content=data
            )
            response = await send(self.client, request)
            target = redirected_to(response, self._url)
            if target is not None and hops < _MAX_REDIRECTS:
                url, hops = target, hops + 1
            elif (
                self._login is not None and not has_logged_in and self._login.is_asked_by(response)
            ):
                has_logged_in = True
                await self._log_in(self._login, request, response)
            else:
                return response
            await response.aclose()

    async def _log_in(self, login: Login, request: Any, response: Any) -> None:
        try:
            await response.aread()
            await login.log_in(self.client, request, response)
        except BaseException:
            await response.aclose()
            raise

    def _headers(self, given: Mapping[str, str], has_session: bool) -> dict[str, str]:
        headers = {**BASE, **given}
        # Since 2026-07-28, whose messages name their version, there are no sessions.
        if has_session and VERSION not in given:
            known = {SESSION: self.session, VERSION: self.version}
            headers.update({name: value for name, value in known.items() if value is not None})
        token = None if self._login is None else self._login.token()
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        return headers
