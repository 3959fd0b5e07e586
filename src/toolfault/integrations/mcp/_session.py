"""
Client sessions that try again.

Rule 1: only ``call_tool`` differs; everything else is the session's own.
Rule 2: wrapping a session says that its server's hints are trusted. ``Retry(trust_hints=False)`` takes it back.
Rule 3: what waits for a person is no failure, and its continuation is never sent twice.
"""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

import anyio
from mcp import ClientSession
from mcp.types import CallToolResult, PaginatedRequestParams

from toolfault import Retry, parse


_log = logging.getLogger("toolfault")

S = TypeVar("S")

#: How long the listing of tools may take in seconds, and how many pages of it are read.
_LISTING_SECONDS: Final = 10.0
_MAX_PAGES: Final = 100


if TYPE_CHECKING:
    from mcp import Client  # mcp 1.x has none

    # What type checkers see of a wrapped session: itself, and one keyword more.
    class RetryingClient(Client):
        """
        A client whose ``call_tool`` takes ``idempotent``.
        """

        async def call_tool(  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride] -- takes more
            self, name: str, arguments: dict[str, Any] | None = None, *, idempotent: bool | None = None, **options: Any
        ) -> CallToolResult: ...

    class RetryingClientSession(ClientSession):
        """
        A session whose ``call_tool`` takes ``idempotent``.
        """

        async def call_tool(  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride] -- takes more
            self, name: str, arguments: dict[str, Any] | None = None, *, idempotent: bool | None = None, **options: Any
        ) -> Any: ...


@overload
def retrying(session: Client, retry: Retry | None = None) -> RetryingClient: ...


@overload
def retrying(session: ClientSession, retry: Retry | None = None) -> RetryingClientSession: ...


@overload
def retrying(session: S, retry: Retry | None = None) -> S: ...


def retrying(session: Any, retry: Retry | None = None) -> Any:
    """
    Return a session whose ``call_tool`` tries again where that is safe; everything else passes through.

    Repeated is what the server says did not happen, and what it says is read-only or idempotent. ``call_tool`` takes
    one keyword more: ``idempotent=True`` allows repeating this call, ``idempotent=False`` forbids it. The tools are
    listed once, when a failure makes it matter. Each session gets a budget of its own, unless *retry* has one.

    ``read_timeout_seconds`` bounds one attempt, `Retry.timeout` all of them.

    Args:
        session: An ``mcp.Client``, an ``mcp.ClientSession``, or what has their ``call_tool`` and ``list_tools``.
        retry: The rules. None: those of ``Retry()``.
    """
    return _RetryingSession(session, (retry or Retry()).for_server())


class _RetryingSession:
    """
    A session behind a `Retry`.
    """

    def __init__(self, session: Any, retry: Retry) -> None:
        self._session = session
        self._retry = retry
        self._tools: dict[str, Any] | None = None
        self._listing = anyio.Lock()

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        *args: Any,
        idempotent: bool | None = None,
        **options: Any,
    ) -> Any:
        """
        Call a tool, and again where that is safe; see `retrying`.
        """
        if options.get("input_responses") is not None or options.get("request_state") is not None:
            # What the person said may be spent; only the whole call could start anew.
            return await self._session.call_tool(name, arguments, *args, **options)

        def attempt(_number: int) -> Any:
            return self._session.call_tool(name, arguments, *args, **options)

        return await self._retry.call(
            attempt,
            tool=functools.partial(self._tool, name),
            idempotent=idempotent,
            read=functools.partial(parse, tool=name, arguments=arguments),
        )

    async def _tool(self, name: str) -> Any:
        """
        Return what the server says of a tool; None if that can't be found out.
        """
        async with self._listing:
            if self._tools is None:
                self._tools = await self._listed()
        return (self._tools or {}).get(name)

    async def _listed(self) -> dict[str, Any] | None:
        tools: dict[str, Any] = {}
        cursor: str | None = None
        try:
            with anyio.fail_after(_LISTING_SECONDS):
                for _ in range(_MAX_PAGES):
                    page = await self._page(cursor)
                    tools |= {tool.name: tool for tool in page.tools}
                    # An empty cursor would begin again.
                    cursor = getattr(page, "next_cursor", None) or getattr(page, "nextCursor", None)
                    if not cursor:
                        break
        except Exception:  # noqa: BLE001 -- whatever stands in the way: without hints nothing is repeated for them
            _log.warning("the tools could not be listed; nothing is retried by their hints")
            return None
        return tools

    async def _page(self, cursor: str | None) -> Any:
        if isinstance(self._session, ClientSession):
            return await self._session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
        return await (self._session.list_tools(cursor=cursor) if cursor else self._session.list_tools())

    async def __aenter__(self) -> Any:
        """
        Enter the session; it stays wrapped.
        """
        entered = await self._session.__aenter__()
        return self if entered is self._session else entered

    async def __aexit__(self, *exc_info: object) -> Any:
        """
        Leave the session.
        """
        return await self._session.__aexit__(*exc_info)

    def __getattr__(self, name: str) -> Any:
        """
        Pass everything else through.
        """
        if name == "_session":
            # A copy is asked before it has anything.
            raise AttributeError(name)
        return getattr(self._session, name)

    def __repr__(self) -> str:
        """
        Show what is wrapped.
        """
        return f"<retrying {self._session!r}>"
