"""
The gateway as an ASGI application: a reverse proxy for one server over streamable HTTP.

Rule 1: nothing is parsed but the messages of POST requests and their answers.
Rule 2: the gateway adds no path of its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolfault.gateway._access import Access
from toolfault.gateway._flow import Flow, Shared
from toolfault.gateway._host import Journal
from toolfault.gateway._lines import Line, write_line
from toolfault.gateway._options import Options
from toolfault.gateway._reply import Reply
from toolfault.gateway._session import Observer, Session
from toolfault.gateway._upstream import Request, Upstream


if TYPE_CHECKING:
    from toolfault.gateway._exchange import Exchange


Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[None]]

#: JSON-RPC's number for a message that is not a valid request.
_INVALID_REQUEST: Final = -32600

_TOO_LONG: Final = "The request is longer than {} bytes, the limit of the gateway."


class _TooLongError(Exception):
    """
    A request whose body is over the limit.
    """


class Proxy:
    """
    The ASGI application in front of one server.

    Args:
        options: The options.
        upstream: The server.
        access: Who may use it.
        journal: The log.
        secrets: Values that never leave.
        observe: Called with each call of a tool that has ended.
    """

    def __init__(
        self,
        options: Options,
        upstream: Upstream,
        access: Access,
        journal: Journal,
        *,
        secrets: tuple[str, ...] = (),
        observe: Observer | None = None,
    ) -> None:
        """
        Start without any request.
        """
        self._secrets = secrets
        self._access = access
        self._shared = Shared(options, upstream, journal, lambda: self._exchange, observe)

    @cached_property
    def _exchange(self) -> Exchange:
        from toolfault.gateway._exchange import make_exchange  # noqa: PLC0415 -- loaded late

        return make_exchange(self._shared.options, self._secrets)

    def stop(self) -> None:
        """
        Answer all that is open.
        """
        for flow in [flow for flows in self._shared.active.values() for flow in flows]:
            flow.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """
        Carry one request.
        """
        if scope["type"] != "http":
            return
        try:
            request = await _read_request(scope, receive, self._shared.options.max_line)
        except _TooLongError:
            reason = _TOO_LONG.format(self._shared.options.max_line)
            await _refuse(Reply(send), 413, reason)
            return
        if request is None:
            return
        refusal = self._access.refusal(request.header(b"host"), request.header(b"origin"))
        if refusal is not None:
            await _refuse(Reply(send), 403, refusal)
            return
        await self._carry(request, receive, send)

    async def _carry(self, request: Request, receive: Receive, send: Send) -> None:
        session = self._resumed(request)
        reply = Reply(
            send,
            origin=request.header(b"origin"),
            is_batch=request.body.lstrip()[:1] == b"[",
            is_stream=session is not None,
        )
        if session is None:
            session = self._shared.open_session()
            request = self._see(request, session)
        gone = asyncio.ensure_future(_wait_gone(receive))
        try:
            await Flow(self._shared, request, session, reply).run(gone)
        finally:
            gone.cancel()

    def _resumed(self, request: Request) -> Session | None:
        """
        Return the state of the stream that a client resumes; None if it resumes none.
        """
        last = request.header(b"last-event-id")
        if request.method != "GET" or not last:
            return None
        return self._shared.parked.pop((request.header(b"mcp-session-id"), last), None)

    def _see(self, request: Request, session: Session) -> Request:
        """
        Note the messages of a request; return it as it leaves.
        """
        if request.method != "POST" or request.header(b"content-encoding"):
            return request
        line, now = Line(request.body), time.monotonic()
        if session.from_host(line, now).opened:
            return request
        # An answer to the server, or a notification, is about other requests of the same client.
        session_id = request.header(b"mcp-session-id")
        for flow in list(self._shared.active.get(session_id, ())):
            seen = flow.session.from_host(line, now)
            flow.wake()
            if seen.data != request.body:
                return Request(
                    request.method, request.path, request.query, request.headers, seen.data
                )
        return request


async def _read_request(scope: Scope, receive: Receive, limit: int) -> Request | None:
    """
    Return a request with its body; None if the client has gone away.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            return None
        parts.append(event.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise _TooLongError
        if not event.get("more_body"):
            break
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    path = path.partition(b"?")[0]
    return Request(
        scope["method"], path, scope["query_string"], list(scope["headers"]), b"".join(parts)
    )


async def _wait_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _refuse(reply: Reply, status: int, reason: str) -> None:
    error = {"code": _INVALID_REQUEST, "message": reason}
    line = write_line({"jsonrpc": "2.0", "id": None, "error": error})
    await reply.answer([line], status=status)
