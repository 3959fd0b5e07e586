"""
Logging in at an MCP server that asks for it, with the OAuth client of the MCP SDK.

Rule 1: the SDK is loaded when the server asks for a login that no kept token answers.
Rule 2: one login at a time; requests that wait for it use its token.
Rule 3: the SDK's client never sends the host's messages: it would send them one after another.
"""

from __future__ import annotations

import asyncio
import logging
import re
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from toolfault.gateway._tokens import TokenFile


if TYPE_CHECKING:
    from pathlib import Path


#: Seconds that a person has to log in.
_PATIENCE: Final = 300.0

_HOST: Final = "127.0.0.1"

#: Seconds before its end from which on a token is not used any more.
_MARGIN: Final = 30.0

_LONGEST: Final = 8192

#: Seconds for one step of a login that needs no person.
_STEP: Final = 30.0

#: Seconds after a failed login in which no other is begun: each may open a page.
_COOLDOWN: Final = 30.0

_is_step_up: Final = re.compile(r"(?i)bearer\b.*\binsufficient_scope\b").search

_PAGE: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n"
    b"toolfault has what it needs. You can close this page.\n"
)
_NOT_FOUND: Final = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class LoginError(Exception):
    """
    A login that failed; the text is a sentence for the host.
    """


class Login:
    """
    The login at one server.

    Args:
        url: The server's URL.
        tell: Called with a sentence for the user.
        directory: Where tokens are kept. None: the user's directory for state.
        clock: The time in seconds since the epoch.
    """

    def __init__(
        self,
        url: str,
        tell: Callable[[str], object],
        *,
        directory: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """
        Read what an earlier login has left.
        """
        self._url = url
        self._tell = tell
        self._clock = clock
        self._file = TokenFile(url, directory)
        self._kept = self._file.read()
        self._lock = asyncio.Lock()
        self._flow: asyncio.Task[None] | None = None
        self._failure: tuple[float, LoginError] | None = None

    def token(self) -> str | None:
        """
        Return the access token; None if there is none, or it has expired.
        """
        tokens = self._kept.get("tokens")
        token = tokens.get("access_token") if isinstance(tokens, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- parsed JSON
        return token if isinstance(token, str) and not self._has_expired() else None  # pyright: ignore[reportUnknownVariableType] -- as above

    def _has_expired(self) -> bool:
        expires = self._kept.get("expires_at")
        return isinstance(expires, int | float) and expires - _MARGIN < self._clock()

    @staticmethod
    def is_asked_by(response: Any) -> bool:
        """
        Tell whether an answer asks for a login, or for a further one with more rights.
        """
        if response.status_code == 401:
            return True
        challenge = response.headers.get("www-authenticate", "")
        return response.status_code == 403 and _is_step_up(challenge) is not None

    async def log_in(self, client: Any, request: Any, response: Any) -> None:
        """
        Get a token for a request that was refused.

        Args:
            client: The HTTP client.
            request: The request.
            response: The refusal, read whole.

        Raises:
            LoginError: There is no token.
        """
        used = request.headers.get("authorization", "")
        async with self._lock:
            token = self.token()
            if token is not None and used != f"Bearer {token}":
                return
            if self._failure is not None and self._clock() - self._failure[0] < _COOLDOWN:
                raise LoginError(str(self._failure[1]))
            # A call that is given up must not end a login that a person has begun.
            if self._flow is None or self._flow.done():
                self._flow = asyncio.ensure_future(self._run(client, request, response))
                self._flow.add_done_callback(_retrieve)
            flow = self._flow
        await asyncio.shield(flow)

    async def _run(self, client: Any, request: Any, response: Any) -> None:
        try:
            await self._get_token(client, request, response)
        except Exception as exc:
            reason = str(exc) or type(exc).__name__
            failure = LoginError(f"The MCP server wants a login, which failed: {reason}")
            if isinstance(exc, LoginError):
                failure = exc
            self._failure = self._clock(), failure
            # The server may not know this client any more; the next login registers a new one.
            self._keep(client=None)
            raise failure from exc

    async def _get_token(self, client: Any, request: Any, response: Any) -> None:
        # The SDK logs what is raised as well.
        logger = logging.getLogger("mcp.client.auth")
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
        callback = await _Callback.listen(self._kept.get("port"))
        try:
            provider = self._provider(callback, is_refused=response.status_code == 401)
            await self._drive(provider.async_auth_flow(request), client, request, response)
        finally:
            callback.close()
        metadata = provider.context.oauth_metadata
        if metadata is not None:
            self._keep(metadata=metadata.model_dump(mode="json", exclude_none=True))

    @staticmethod
    async def _drive(flow: Any, client: Any, request: Any, response: Any) -> None:
        """
        Run the SDK's flow up to where it would send the request again, with a new token.
        """
        used = request.headers.get("authorization")
        wanted, has_refused = await anext(flow), False
        while wanted is not request or not has_refused:
            if wanted is not request:
                async with asyncio.timeout(_STEP):
                    answer = await client.send(wanted)
                    await answer.aread()
            elif request.headers.get("authorization") != used:
                # Refreshed.
                break
            else:
                answer, has_refused = response, True
            wanted = await flow.asend(answer)
        await flow.aclose()

    def _keep(self, **members: Any) -> None:
        self._kept.update(members)
        try:
            self._file.update(**members)
        except OSError as exc:
            self._tell(f"the login can't be kept in {self._file.path}: {exc.strerror}")

    def _provider(self, callback: _Callback, *, is_refused: bool) -> Any:
        from mcp.client.auth import OAuthClientProvider  # noqa: PLC0415 -- for a login only
        from mcp.shared.auth import OAuthClientMetadata, OAuthMetadata  # noqa: PLC0415 -- as above

        if callback.port != self._kept.get("port"):
            # Registered for another address.
            self._kept.pop("client", None)
            self._keep(port=callback.port, client=None)
        metadata = OAuthClientMetadata.model_validate(
            {
                "client_name": "toolfault gateway",
                "redirect_uris": [callback.url],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
            }
        )
        provider = OAuthClientProvider(
            self._url,
            metadata,
            _Storage(self._kept, self._keep, self._clock),
            redirect_handler=self._open_page,
            callback_handler=callback.wait,
        )
        kept = self._kept.get("metadata")
        if kept is not None:
            provider.context.oauth_metadata = OAuthMetadata.model_validate(kept)
        if is_refused:
            # The kept token is refreshed, whatever it said about its end.
            provider.context.token_expiry_time = 1.0
        return provider

    async def _open_page(self, url: str) -> None:
        self._tell(f"to log in, open {url}")
        # In a process of its own, away from the host's stdin and stdout.
        subprocess.Popen(  # noqa: ASYNC220, S603 -- our own interpreter
            [sys.executable, "-m", "webbrowser", url],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def _retrieve(flow: asyncio.Task[None]) -> None:
    # Without a call that waits for it, a failure is nobody's.
    if not flow.cancelled():
        flow.exception()


class _Storage:
    """
    What the SDK's client reads and writes, over the members of a `TokenFile`.
    """

    def __init__(
        self, kept: dict[str, Any], keep: Callable[..., None], clock: Callable[[], float]
    ) -> None:
        self._kept = kept
        self._keep = keep
        self._clock = clock

    async def get_tokens(self) -> Any:
        from mcp.shared.auth import OAuthToken  # noqa: PLC0415 -- for a login only

        tokens = self._kept.get("tokens")
        return None if tokens is None else OAuthToken.model_validate(tokens)

    async def set_tokens(self, tokens: Any) -> None:
        left = tokens.expires_in
        self._keep(
            tokens=tokens.model_dump(mode="json", exclude_none=True),
            expires_at=None if left is None else self._clock() + left,
        )

    async def get_client_info(self) -> Any:
        from mcp.shared.auth import OAuthClientInformationFull  # noqa: PLC0415 -- for a login only

        client = self._kept.get("client")
        return None if client is None else OAuthClientInformationFull.model_validate(client)

    async def set_client_info(self, client_info: Any) -> None:
        self._keep(client=client_info.model_dump(mode="json", exclude_none=True))


class _Callback:
    """
    The address on this machine to which the authorization server sends the browser back.
    """

    def __init__(self) -> None:
        self._got: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._server: asyncio.Server | None = None
        self.port = 0

    @classmethod
    async def listen(cls, port: object) -> _Callback:
        """
        Listen at the port of an earlier login, which the client is registered for, or another.
        """
        callback = cls()
        for one in (port if isinstance(port, int) else 0, 0):
            try:
                callback._server = await asyncio.start_server(callback._answer, _HOST, one)
                break
            except (OSError, OverflowError):
                continue
        if callback._server is None:
            raise LoginError(f"The MCP server wants a login, and nothing can listen at {_HOST}.")
        callback.port = callback._server.sockets[0].getsockname()[1]
        return callback

    @property
    def url(self) -> str:
        return f"http://{_HOST}:{self.port}/callback"

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def wait(self) -> Any:
        """
        Return the code and the state that the browser brings, as this SDK wants them.
        """
        try:
            async with asyncio.timeout(_PATIENCE):
                got = await self._got
        except TimeoutError:
            raise LoginError(
                f"The MCP server wants a login, and nobody logged in within {_PATIENCE:g} seconds."
            ) from None
        if "error" in got:
            reason = got.get("error_description") or got["error"]
            raise LoginError(f"The MCP server wants a login, which was refused: {reason[:200]}.")
        return _callback_result(got)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_MARGIN):
                head = await reader.readuntil(b"\r\n\r\n")
            target = urlsplit(head[:_LONGEST].decode("latin-1").split(" ")[1])
            got = {name: values[0] for name, values in parse_qs(target.query).items()}
            is_ours = target.path == "/callback" and bool({"code", "error"} & set(got))
            writer.write(_PAGE if is_ours else _NOT_FOUND)
            await writer.drain()
            if is_ours and not self._got.done():
                self._got.set_result(got)
        except (OSError, ValueError, IndexError, EOFError, asyncio.LimitOverrunError, TimeoutError):
            pass
        finally:
            writer.close()


def _callback_result(got: dict[str, str]) -> Any:
    try:
        from mcp.shared.auth import AuthorizationCodeResult  # noqa: PLC0415 -- for a login only
    except ImportError:  # With mcp 1.x.
        return got.get("code"), got.get("state")
    known = {name: got.get(name) for name in ("code", "state", "iss")}
    return AuthorizationCodeResult.model_validate(known)
