"""
Client sessions that repeat failed calls.

Rule 1: only ``call_tool`` differs; everything else is the session's own.
Rule 2: a wrapped session trusts its server, unless the rules are ``Retry(trust_hints=False)``.
Rule 3: a result that waits for a person is not a failure, and its continuation is never sent twice.
Rule 4: each attempt is a request of its own, and from the second on carries its number.
"""

from __future__ import annotations

import copy
import functools
import inspect
import math
from collections.abc import Generator, Hashable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, overload

import anyio
from mcp import ClientSession
from mcp.client.session_group import ClientSessionGroup
from mcp.types import PaginatedRequestParams, TextContent

from toolfault import Retry, ToolFault, parse
from toolfault.hooks import Attempt, AttemptHook
from toolfault.hosting import (
    ATTEMPT_KEY,
    RetryPerServer,
    check_keywords,
    log,
    model_text,
    says_more,
)


S = TypeVar("S")

#: The longest listing of tools, in seconds and in pages.
_LISTING_SECONDS: Final = 10.0
_MAX_PAGES: Final = 100

#: How long a listing is kept, in seconds, and how long none is asked for after one that failed: a
#: server in trouble would be asked behind each failure, and each call would wait for the answer.
_LISTING_HOLDS: Final = 300.0
_NO_LISTING_HOLDS: Final = 30.0


if TYPE_CHECKING:
    from mcp import Client  # mcp 1.x has none
    from mcp.types import CallToolResult

    # A wrapped session as type checkers see it: itself, with two more keywords.
    class RetryingClient(Client):
        """
        A client whose ``call_tool`` takes ``idempotent`` and ``on_attempt``.
        """

        async def call_tool(  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride] -- takes more
            self,
            name: str,
            arguments: dict[str, Any] | None = None,
            *,
            idempotent: bool | None = None,
            on_attempt: AttemptHook | Sequence[AttemptHook] | None = None,
            **options: Any,
        ) -> CallToolResult: ...

    class RetryingClientSession(ClientSession):
        """
        A session whose ``call_tool`` takes ``idempotent`` and ``on_attempt``.
        """

        async def call_tool(  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride] -- takes more
            self,
            name: str,
            arguments: dict[str, Any] | None = None,
            *,
            idempotent: bool | None = None,
            on_attempt: AttemptHook | Sequence[AttemptHook] | None = None,
            **options: Any,
        ) -> Any: ...


@overload
def retrying(
    session: Client, retry: Retry | None = None, *, rewrite: bool = False
) -> RetryingClient: ...


@overload
def retrying(
    session: ClientSession, retry: Retry | None = None, *, rewrite: bool = False
) -> RetryingClientSession: ...


@overload
def retrying(session: S, retry: Retry | None = None, *, rewrite: bool = False) -> S: ...


@check_keywords(Retry)
def retrying(session: Any, retry: Retry | None = None, *, rewrite: bool = False) -> Any:
    """
    Return a session whose ``call_tool`` repeats failed calls where that is safe.

    It repeats calls that did not happen, and those of tools that are read-only or idempotent by the
    server's word. ``call_tool`` takes two keywords more: ``idempotent=True`` allows repeating this
    call, ``idempotent=False`` forbids it; ``on_attempt``, a function such as a list's ``append`` or
    several, is called with an `hooks.Attempt` after each attempt. The tools are listed when a
    failure makes their hints matter, and the listing holds for five minutes. Each server gets a
    budget of its own, unless *retry* has one. A wrapped session gets the new rules in place of its
    old ones. Everything else passes through.

    ``read_timeout_seconds`` bounds one attempt, `Retry.timeout` all of them.

    Args:
        session: An ``mcp.Client``, an ``mcp.ClientSession``, a ``ClientSessionGroup``, a client of
            FastMCP, or what
            has their ``call_tool`` and ``list_tools``.
        retry: The rules. None: those of ``Retry()``.
        rewrite: Whether the text of a last failure becomes `hosting.model_text`, which also tells
            its code, whether
            to retry and the hint; for frameworks that hand a model nothing but the text.

    Raises:
        TypeError: *session* has no ``call_tool``, or *retry* is not a `Retry`.
    """
    if isinstance(session, _RetryingSession):
        # Attempts of attempts would multiply.
        session = session._session  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- our own wrapper
    _check_session(session)
    retry = Retry() if retry is None else retry
    if not isinstance(retry, Retry):  # pyright: ignore[reportUnnecessaryIsInstance] -- a user's value
        raise TypeError(
            f"retrying takes the rules as a Retry, such as Retry(attempts=5), not {retry!r}"
        )
    retry = retry if isinstance(session, ClientSessionGroup) else retry.for_server()
    if hasattr(session, "call_tool_mcp") and isinstance(
        getattr(cast("Any", type(session)), "session", None), property
    ):
        return _copy_client(session, retry, rewrite=rewrite)
    return _RetryingSession(session, retry, rewrite=rewrite)


#: Servers, which have ``call_tool`` and ``list_tools`` as well.
_SERVERS: Final = frozenset(
    {
        "mcp.server.mcpserver.server.MCPServer",
        "mcp.server.lowlevel.server.Server",
        "mcp.server.fastmcp.server.FastMCP",
        "fastmcp.server.server.FastMCP",
    }
)


def _check_session(session: Any) -> None:
    """
    Raise TypeError for anything but a client session; the text names the cure.
    """
    if isinstance(session, type):
        name = session.__name__
        raise TypeError(f"retrying takes a session, not the class {name}: make a {name} first")
    if inspect.isawaitable(session):
        close = getattr(session, "close", None)
        if callable(close):
            close()  # or it is reported as never awaited, too
        raise TypeError("retrying takes a session, not a coroutine: await it first")
    names = {f"{cls.__module__}.{cls.__qualname__}" for cls in type(session).__mro__}
    if names & _SERVERS:
        raise TypeError(
            f"retrying wraps a client, not the server {session!r}:"
            " write async with Client(server) as client: retrying(client)"
        )
    if not callable(getattr(session, "call_tool", None)):
        raise TypeError(f"retrying takes a client session, which has call_tool, not {session!r}")


@dataclass(frozen=True, slots=True)
class _Said:
    """
    What the caller says of one call.
    """

    idempotent: bool | None = None
    on_attempt: AttemptHook | Sequence[AttemptHook] | None = None


#: What the caller of FastMCP's client said; its session, which makes the attempts, is asked deep
#: inside.
_said: Final[ContextVar[_Said | None]] = ContextVar("toolfault_said", default=None)


class _RetryingSession:
    """
    A session behind a `Retry`.
    """

    def __init__(self, session: Any, retry: Retry, *, rewrite: bool) -> None:
        self._session = session
        self._retry = retry
        self._rewrite = rewrite
        self._tools: dict[str, Any] | None = None
        self._holds_until = -math.inf
        self._listing = anyio.Lock()
        self._servers = RetryPerServer(retry)

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        *args: Any,
        idempotent: bool | None = None,
        on_attempt: AttemptHook | Sequence[AttemptHook] | None = None,
        **options: Any,
    ) -> Any:
        """
        Call a tool, and again where that is safe; see `retrying`.
        """
        if options.get("input_responses") is not None or options.get("request_state") is not None:
            # What the person said may be spent; only the whole call could start anew.
            return await self._session.call_tool(name, arguments, *args, **options)
        said = _said.get() or _Said()

        def attempt(number: int) -> Any:
            numbered = self._add_number(options, number)
            return self._session.call_tool(name, arguments, *args, **numbered)

        retried = await self._rules(name, on_attempt or said.on_attempt).run(
            attempt,
            name=name,
            tool=functools.partial(self._tool, name),
            idempotent=said.idempotent if idempotent is None else idempotent,
            read=functools.partial(parse, tool=name, arguments=arguments),
        )
        if self._rewrite and retried.error is None and retried.fault is not None:
            return _rewritten(retried.unwrap(), retried.fault, retried.attempts)
        return retried.unwrap()

    def _add_number(self, options: dict[str, Any], number: int) -> dict[str, Any]:
        # Only the SDK's own sessions are known to take ``meta``.
        if number == 1 or not isinstance(self._session, _TAKES_META):
            return options
        return {**options, "meta": {**(options.get("meta") or {}), ATTEMPT_KEY: number}}

    def _rules(self, name: str, on_attempt: AttemptHook | Sequence[AttemptHook] | None) -> Retry:
        retry = self._retry
        if retry.budget is None:
            # A group of sessions: each server pays for its own failures.
            owner = getattr(self._session, "_tool_to_session", {}).get(name, self._session)
            retry = self._servers.for_server(owner)
        if on_attempt is None:
            return retry
        hooks = (*retry.all_hooks, *Retry(on_attempt=on_attempt).all_hooks)
        return replace(retry, on_attempt=hooks)

    async def _tool(self, name: str) -> Any:
        """
        Return the server's listing of a tool; None if it can't be read.
        """
        if isinstance(self._session, ClientSessionGroup):
            return self._session.tools.get(name)
        async with self._listing:
            if self._retry.clock() >= self._holds_until:
                self._tools = await self._list_tools()
                holds = _NO_LISTING_HOLDS if self._tools is None else _LISTING_HOLDS
                self._holds_until = self._retry.clock() + holds
        return (self._tools or {}).get(name)

    async def _list_tools(self) -> dict[str, Any] | None:
        tools: dict[str, Any] = {}
        cursor: str | None = None
        timeout = self._retry.timeout
        longest = _LISTING_SECONDS if timeout is None else min(timeout, _LISTING_SECONDS)
        try:
            with anyio.fail_after(longest):
                for _ in range(_MAX_PAGES):
                    page = await self._page(cursor)
                    tools |= {tool.name: tool for tool in page.tools}
                    # An empty cursor would begin again.
                    spelling = "next_cursor" if hasattr(page, "next_cursor") else "nextCursor"
                    cursor = getattr(page, spelling, None)
                    if not cursor:
                        break
        except Exception as exc:  # noqa: BLE001 -- whatever stands in the way: without hints nothing is repeated for them
            log.warning(
                "the tools could not be listed (%s); nothing is retried by their hints",
                type(exc).__name__,
            )
            return None
        return tools

    async def _page(self, cursor: str | None) -> Any:
        if isinstance(self._session, ClientSession):
            return await self._session.list_tools(
                params=PaginatedRequestParams(cursor=cursor) if cursor else None
            )
        return await (
            self._session.list_tools(cursor=cursor) if cursor else self._session.list_tools()
        )

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


def _sdk_sessions() -> tuple[type, ...]:
    import mcp  # noqa: PLC0415 -- `Client` is asked for by name: mcp 1.x has none

    client: type | None = getattr(mcp, "Client", None)
    sessions = (ClientSession, ClientSessionGroup)
    return sessions if client is None else (*sessions, client)


_TAKES_META: Final = _sdk_sessions()


def _rewritten(result: Any, fault: ToolFault, attempts: Sequence[Attempt]) -> Any:
    """
    Return a failed result whose first text is `model_text`; blocks that say more follow.
    """
    told = model_text(fault, attempts)
    rest = [
        block
        for block in result.content
        if not isinstance(block, TextContent) or says_more(block.text, fault, told)
    ]
    return result.model_copy(update={"content": [TextContent(type="text", text=told), *rest]})


# ---- a client that asks its own property ``session`` for everything: FastMCP's


def _copy_client(client: Any, retry: Retry, *, rewrite: bool) -> Any:
    """
    Return a copy of a client that shares its connection, and whose session tries again.

    A subclass, so that the copies which frameworks make of clients try again as well.
    """
    wrapped = copy.copy(client)
    if "_toolfault" in vars(client):
        wrapped._toolfault_session = None  # noqa: SLF001 -- of the rules that it had
    else:
        wrapped.__class__ = _retrying_class(cast("Hashable", type(client)))
    wrapped._toolfault = functools.partial(_RetryingSession, retry=retry, rewrite=rewrite)  # noqa: SLF001 -- our own mark
    return wrapped


@functools.cache
def _retrying_class(base: Any) -> type:
    def session(self: Any) -> Any:
        raw = base.session.fget(self)
        known = self.__dict__.get("_toolfault_session")
        if known is None or known._session is not raw:  # noqa: SLF001 -- our own wrapper
            known = self._toolfault_session = self._toolfault(raw)
        return known

    async def call_tool(
        self: Any,
        *args: Any,
        idempotent: bool | None = None,
        on_attempt: AttemptHook | Sequence[AttemptHook] | None = None,
        **options: Any,
    ) -> Any:
        with _saying(_Said(idempotent, on_attempt)):
            return await base.call_tool(self, *args, **options)

    return type(base.__name__, (base,), {"session": property(session), "call_tool": call_tool})


@contextmanager
def _saying(said: _Said) -> Generator[None]:
    token = _said.set(said)
    try:
        yield
    finally:
        _said.reset(token)
