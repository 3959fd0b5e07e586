"""
One request over HTTP, from the client to the server and back.

Rule 1: every request of JSON-RPC ends in one answer, or in the status that its client must see.
Rule 2: what is not replaced leaves as the bytes that came, while they come.
Rule 3: a client that goes away ends the request to the server.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from toolfault.gateway._answers import (
    asks_login,
    decide_all,
    has_call,
    holds_answer,
    is_session_gone,
    keeps_status,
    must_pass,
    read_message,
    restore_id,
    says_most,
    take_event,
)
from toolfault.gateway._encodings import Decoder, EncodingError, decode
from toolfault.gateway._host import Journal
from toolfault.gateway._http import HTTP_ERRORS, NOT_SENT
from toolfault.gateway._lines import write_line
from toolfault.gateway._options import Options
from toolfault.gateway._reply import Headers, Reply, unbuffered
from toolfault.gateway._session import Observer, Open, Session
from toolfault.gateway._sse import Event, EventSplitter
from toolfault.gateway._upstream import Answer, Request, Upstream


if TYPE_CHECKING:
    from toolfault.gateway._exchange import Exchange, Replace


_EVENTS: Final = "text/event-stream"

#: What ends a body before its end.
_BROKEN: Final[tuple[type[Exception], ...]] = (*HTTP_ERRORS, EncodingError)

#: How much of a body without a message is looked at, in bytes.
_HEAD: Final = 4096

#: How many streams that broke off are remembered, for clients that resume them.
_MAX_PARKED: Final = 1000

_SESSION_GONE: Final = -32001
_SERVER_ERROR: Final = -32603

_CUT: Final = "The MCP server's answer broke off"
_ENDED: Final = "The MCP server's stream ended without an answer."
_OTHER: Final = "The MCP server answered another request than this one."
_STOPPED: Final = "The gateway was stopped before the answer came."


@dataclass(slots=True)
class Shared:
    """
    What all requests share.

    Attributes:
        options: The gateway's options.
        upstream: The server.
        journal: The log.
        exchange: Returns the judgement.
        observe: Called with each call of a tool that has ended.
        active: The requests that are being carried, by the client's session.
        parked: The connections whose stream broke off, by session and the id of the last event.
        errands: Tasks that nobody waits for.
    """

    options: Options
    upstream: Upstream
    journal: Journal
    exchange: Callable[[], Exchange]
    observe: Observer | None = None
    active: defaultdict[str, set[Flow]] = field(
        default_factory=lambda: defaultdict[str, set["Flow"]](set)
    )
    parked: OrderedDict[tuple[str, str], Session] = field(
        default_factory=OrderedDict[tuple[str, str], Session]
    )
    errands: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    def open_session(self) -> Session:
        """
        Return the state of a new connection.
        """
        return Session(
            self.exchange,
            timeout=self.options.timeout,
            max_timeout=self.options.max_timeout,
            max_line=self.options.max_line,
            report=self.journal.report,
            note=self.journal.note,
            is_repeating=self.options.retry,
            is_flagging=bool(self.options.flags),
            observe=self.observe,
        )

    def park(self, session_id: str, event_id: str, session: Session) -> None:
        """
        Keep the state of a stream that broke off.
        """
        self.parked[session_id, event_id] = session
        if len(self.parked) > _MAX_PARKED:
            self.parked.popitem(last=False)

    def start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """
        Run something that nobody waits for.
        """
        task = asyncio.ensure_future(coroutine)
        self.errands.add(task)
        task.add_done_callback(self.errands.discard)


class Flow:
    """
    One request of a client.

    Args:
        shared: What all requests share.
        request: The request.
        session: The state of its messages.
        reply: The answer to the client.
    """

    def __init__(self, shared: Shared, request: Request, session: Session, reply: Reply) -> None:
        """
        Prepare; `run` sends the request.
        """
        self._shared = shared
        self._request = request
        self._reply = reply
        self._woken = asyncio.Event()
        self._attempt: asyncio.Task[None] | None = None
        self._is_stopped = False
        self._is_resuming = request.method == "GET"
        self._is_modern = any(one.call.is_modern for one in session.iter_open())
        self.session = session
        self.session_id = request.header(b"mcp-session-id")

    def wake(self) -> None:
        """
        Look again at what is due.
        """
        self._woken.set()

    def stop(self) -> None:
        """
        Answer what is open, and end.
        """
        self._is_stopped = True
        self.wake()

    async def run(self, gone: asyncio.Task[None]) -> None:
        """
        Carry the request until it is answered.

        Args:
            gone: Done when the client has gone away.
        """
        active = self._shared.active[self.session_id]
        active.add(self)
        gone.add_done_callback(lambda _task: self.wake())
        self._begin(self._request.body)
        try:
            while not gone.done() and await self._step():
                await self._wait()
        finally:
            active.discard(self)
            if not active:
                self._shared.active.pop(self.session_id, None)
            await self._end_attempt()

    # ---- time

    async def _wait(self) -> None:
        due = self.session.next_due()
        delay = None if due is None else max(0.0, due - time.monotonic())
        with suppress(TimeoutError):
            async with asyncio.timeout(delay):
                await self._woken.wait()
        self._woken.clear()

    async def _step(self) -> bool:
        """
        Do what is due, and tell whether there is more to wait for.
        """
        if self._is_stopped:
            await self._end_attempt()
            await self._give_up(self.session.lose(_STOPPED, time.monotonic(), can_retry=True))
            return False
        due = self.session.due(time.monotonic())
        if due.answers:
            await self._end_attempt()
            rest = self.session.lose(_STOPPED, time.monotonic(), can_retry=True)
            self._cancel(due.cancellations)
            await self._give_up([*due.answers, *rest])
            return False
        if due.repeats:
            await self._end_attempt()
            self._begin(due.repeats[0][1])
            return True
        return await self._has_more()

    async def _has_more(self) -> bool:
        if self._attempt is None or not self._attempt.done():
            return True
        if any(opened.resend_at is not None for opened in self._open()):
            return True
        error = self._attempt.exception()
        if error is not None:
            self._shared.journal.note(f"a request could not be carried: {error!r}")
            lost = self.session.lose(f"{_CUT}.", time.monotonic(), can_retry=True)
            await self._give_up(lost)
        return False

    async def _give_up(self, lines: list[bytes]) -> None:
        if lines:
            await self._reply.answer(lines)
        elif not self._reply.is_started:
            await self._refuse(_STOPPED)
        elif self._reply.is_stream:
            await self._reply.end()

    def _begin(self, body: bytes) -> None:
        self.session.has_planned = False
        self._attempt = asyncio.ensure_future(self._carry(replace(self._request, body=body)))
        self._attempt.add_done_callback(lambda _task: self.wake())

    async def _end_attempt(self) -> None:
        if self._attempt is None or self._attempt.done():
            return
        self._attempt.cancel()
        await asyncio.wait([self._attempt])

    def _cancel(self, lines: list[bytes]) -> None:
        """
        Tell the server that calls are not waited for; since 2026-07-28 the closed stream does.
        """
        if self.session_id and not self._is_modern:
            for line in lines:
                request = replace(self._request, method="POST", body=line)
                self._shared.start(self._notify(request))

    async def _notify(self, request: Request) -> None:
        with suppress(*HTTP_ERRORS, TimeoutError):
            async with (
                asyncio.timeout(5.0),
                self._shared.upstream.stream(request, is_judged=True),
            ):
                pass

    # ---- to the server

    def _open(self) -> list[Open]:
        return list(self.session.iter_open())

    async def _carry(self, request: Request) -> None:
        opened = self._open()
        self.session.mark_sent(opened)
        upstream = self._shared.upstream
        try:
            async with upstream.stream(request, is_judged=bool(opened)) as answer:
                await self._take(answer)
        except NOT_SENT as exc:
            for one in opened:
                one.is_sent = False
            await self._lose(f"The MCP server at {upstream.origin} could not be reached: {exc}.")
        except _BROKEN as exc:
            await self._lose(f"{_CUT}: {str(exc).rstrip('.') or type(exc).__name__}.")

    async def _lose(self, reason: str) -> None:
        await self._judge_lost(reason, status=502)
        if not self._reply.is_started and not self.session.has_planned:
            await self._refuse(reason)

    async def _refuse(self, reason: str) -> None:
        """
        Answer what is not a request of JSON-RPC.
        """
        error = {"code": _SERVER_ERROR, "message": reason}
        line = write_line({"jsonrpc": "2.0", "id": None, "error": error})
        await self._reply.answer([line], status=502)

    # ---- from the server

    async def _take(self, answer: Answer) -> None:
        opened = self._open()
        is_stream = 200 <= answer.status < 300 and answer.kind == _EVENTS
        if not opened:
            await self._relay(answer)
        elif not self._reply.is_started and self._must_pass(answer, opened):
            await self._pass(answer)
        elif is_stream:
            await self._stream(answer)
        elif self._is_resuming:
            await self._judge_lost(_ENDED)
        else:
            await self._whole(answer)

    def _must_pass(self, answer: Answer, opened: list[Open]) -> bool:
        """
        Tell whether the client must see an answer as it is.
        """
        if asks_login(answer.status, answer.named()):
            return not self._shared.upstream.has_credentials
        if self._is_resuming:
            return False
        return self._is_session_gone(answer) or must_pass(answer.status, opened)

    def _is_session_gone(self, answer: Answer) -> bool:
        if self._is_modern or not self.session_id:
            return False
        return is_session_gone(answer.status, answer.kind)

    async def _pass(self, answer: Answer) -> None:
        opened = self._open()
        self._forget()
        if not self._is_session_gone(answer):
            await self._relay(answer)
            return
        # Clients look for an error of JSON-RPC before they open another session.
        raw = await answer.read(self._shared.options.max_line)
        if holds_answer(raw):
            await self._reply.whole(404, answer.headers, raw)
            return
        error = {"code": _SESSION_GONE, "message": "Session not found"}
        line = write_line({"jsonrpc": "2.0", "id": opened[0].call.id, "error": error})
        await self._reply.answer([line], status=404, headers=answer.headers)

    def _forget(self) -> None:
        for one in self._open():
            self.session.forget(one)

    async def _relay(self, answer: Answer, first: bytes = b"") -> None:
        """
        Pass an answer while it comes, byte for byte.
        """
        is_stream = answer.kind == _EVENTS
        headers = unbuffered(answer.headers) if is_stream else answer.headers
        self._reply.is_stream = is_stream
        await self._reply.start(answer.status, headers)
        await self._reply.write(first)
        async for chunk in answer.chunks:
            await self._reply.write(chunk)
        await self._reply.end()

    async def _whole(self, answer: Answer) -> None:
        limit = self._shared.options.max_line
        raw = await answer.read(limit)
        encoding = answer.header(b"content-encoding")
        body = decode(raw, encoding, limit) if len(raw) <= limit else None
        if body is None and not self._reply.is_started:
            # What can't be read can't be judged.
            self._forget()
            await self._relay(answer, raw)
        elif body is not None and says_most(answer.status, answer.named(), body):
            await self._take_body(answer, raw, body)
        else:
            await self._judge_status(answer, (body or b"")[:_HEAD])

    async def _take_body(self, answer: Answer, raw: bytes, body: bytes) -> None:
        is_first = not self._reply.is_started
        if is_first and answer.status >= 400 and keeps_status(body):
            self._forget()
            await self._reply.whole(answer.status, answer.headers, raw)
            return
        written = self._read(restore_id(body, [one.key for one in self._open()]))
        if is_first and written is body and not self._open():
            await self._reply.whole(answer.status, answer.headers, raw)
            return
        lines = [] if written is None else [written]
        lines += self._decide(lambda exchange, one: exchange.broken(one.call, _OTHER))
        if lines:
            status = self._status_of(answer)
            await self._reply.answer(lines, status=status, headers=answer.headers)

    def _status_of(self, answer: Answer) -> int:
        # A result is not an HTTP error; an error that is kept stays one.
        is_kept = self._shared.options.protocol_errors == "keep"
        return answer.status if is_kept or answer.status < 300 else 200

    def _read(self, data: bytes) -> bytes | None:
        return read_message(self.session, data, time.monotonic(), self._shared.journal.note)

    # ---- answers of the gateway

    async def _judge_status(self, answer: Answer, head: bytes) -> None:
        named = answer.named()
        await self._judge(
            lambda exchange, one: exchange.status(one.call, answer.status, named, head),
            headers=answer.headers,
        )

    async def _judge_lost(self, reason: str, *, status: int = 200) -> None:
        await self._judge(
            lambda exchange, one: exchange.answer_lost(
                one.call, reason, is_sent=one.is_sent, can_retry=True
            ),
            status=status,
        )

    async def _judge(
        self,
        decide: Callable[[Exchange, Open], Replace],
        *,
        status: int = 200,
        headers: Headers | None = None,
    ) -> None:
        """
        Answer what is open.

        Args:
            decide: Returns the answer to one request.
            status: The HTTP status where no tool is called.
            headers: Those of the server's answer. None: there was none.
        """
        status = 200 if has_call(self._open()) else status
        lines = self._decide(decide)
        if lines:
            await self._reply.answer(lines, status=status, headers=headers)

    def _decide(self, decide: Callable[[Exchange, Open], Replace]) -> list[bytes]:
        return decide_all(self.session, decide, time.monotonic())

    # ---- streams

    async def _stream(self, answer: Answer) -> None:
        decoder = Decoder(answer.header(b"content-encoding"))
        if not decoder.is_known and not self._reply.is_started:
            await self._pass(answer)
            return
        await self._reply.start_stream(answer.status, answer.headers)
        last = ""
        async for event in self._events(answer, decoder):
            last = event.id or last
            written = take_event(self.session, event, time.monotonic(), self._shared.journal.note)
            await self._reply.write(written)
            if self.session.has_planned:
                return
        if not self._open():
            await self._reply.end()
        elif last and not self._is_modern:
            # The client asks for the rest, with the id of the last event.
            self._shared.park(self.session_id, last, self.session)
            await self._reply.end()
        else:
            await self._judge_lost(_ENDED)

    async def _events(self, answer: Answer, decoder: Decoder) -> AsyncIterator[Event]:
        """
        Yield the events of a stream until it ends, or breaks off.
        """
        splitter = EventSplitter(self._shared.options.max_line)
        try:
            async for chunk in answer.chunks:
                for piece in decoder.feed(chunk):
                    for event in splitter.feed(piece):
                        yield event
        except _BROKEN:
            # What it means is decided by what is still open.
            pass
        for event in splitter.end():
            yield event
