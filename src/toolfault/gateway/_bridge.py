"""
The gateway between a host on stdio and an MCP server at a URL.

Rule 1: each message of the host is one POST; what comes back goes through the same `Session` as the
lines of a process.
Rule 2: messages that are no requests leave in their order, and requests never before them.
Rule 3: a request is sent again only if it provably was not executed, or under ``--retry``.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from toolfault.gateway._answers import holds_answer, is_status_clearer, restore_id
from toolfault.gateway._calls import LISTING, Call, as_object, is_object, key_of
from toolfault.gateway._host import Host, read_chunks
from toolfault.gateway._http import HTTP_ERRORS, NOT_SENT
from toolfault.gateway._lines import Line, LineSplitter, parse_line
from toolfault.gateway._mcp_headers import SESSION, Marked, message_headers
from toolfault.gateway._oauth import Login, LoginError
from toolfault.gateway._options import Options
from toolfault.gateway._remote import Remote
from toolfault.gateway._session import Observer, Open, Seen, Session
from toolfault.gateway._sse import Event, EventSplitter


if TYPE_CHECKING:
    from toolfault.gateway._exchange import Exchange


#: How many requests may wait for answers at a time; more wait for one of them.
_MAX_REQUESTS: Final = 200

#: How many lines of the host wait to be looked at.
_MAX_LINES: Final = 64

#: Seconds that a message waits for those before it.
_PATIENCE: Final = 10.0

#: Seconds for what is open when the host has closed its side, and for the end of the session.
_GRACE: Final = 2.0

#: Seconds that a stream may go on after the answer on it.
_TAIL: Final = 0.5

#: Seconds before a reconnection if the server names none, the most, and how often in a row.
_RECONNECT: Final = 1.0
_MAX_RECONNECT: Final = 60.0
_RECONNECTIONS: Final = 5

#: How much of a body without a message is looked at, in bytes.
_HEAD: Final = 4096

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

_EVENTS: Final = "text/event-stream"

_NEW_SESSION: Final = "Connect to the server again."

#: What ends a request.
_FAILURES: Final[tuple[type[Exception], ...]] = (*HTTP_ERRORS, LoginError)
_ENDED: Final[tuple[type[Exception], ...]] = (*_FAILURES, TimeoutError)

#: JSON-RPC's number for a method that does not exist.
_NO_METHOD: Final = -32601

#: The numbers of errors that may say that a session is gone.
_DEAD_CODES: Final = frozenset({-32600, -32001, -32000})


class Bridge:
    """
    A gateway between this process's stdio and a server at a URL.

    Args:
        options: The options.
        url: The server's URL.
        headers: Headers for each request.
        observe: Called with each call of a tool that has ended.

    Raises:
        OSError: The log can't be opened.
    """

    def __init__(
        self,
        options: Options,
        url: str,
        headers: Mapping[str, str],
        observe: Observer | None = None,
    ) -> None:
        """
        Prepare; `run` connects.
        """
        self._options = options
        self._host = Host(options.log, lambda: self._wake(self._end, 0))
        has_credentials = any(name.lower() == "authorization" for name in headers)
        login = None if has_credentials else Login(url, self._host.tell)
        self._remote = Remote(url, headers, login)
        self._secrets = tuple(value for value in headers.values() if len(value) > 3)
        self._session = Session(
            lambda: self._exchange,
            timeout=options.timeout,
            max_timeout=options.max_timeout,
            max_line=options.max_line,
            report=self._host.report,
            note=self._host.note,
            is_repeating=options.retry,
            is_flagging=bool(options.flags),
            observe=observe,
        )
        self._marked = Marked()
        self._running: dict[asyncio.Task[None], list[Open]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._barrier: asyncio.Event | None = None
        self._listener: asyncio.Task[None] | None = None
        self._code: int | None = None

    @cached_property
    def _exchange(self) -> Exchange:
        from toolfault.gateway._exchange import make_exchange  # noqa: PLC0415 -- loaded late

        return make_exchange(self._options, self._secrets)

    def run(self) -> int:
        """
        Carry messages until the host or a signal ends it; return the exit code.
        """
        return asyncio.run(self._main())

    async def _main(self) -> int:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[Line | None] = asyncio.Queue(_MAX_LINES)
        self._slots = asyncio.Semaphore(_MAX_REQUESTS)
        self._renewing, self._writing = asyncio.Lock(), asyncio.Lock()
        self._has_ended, self._is_due = asyncio.Event(), asyncio.Event()
        for number in _SIGNALS:
            self._loop.add_signal_handler(number, self._end, 128 + number)
        threading.Thread(target=self._read_host, daemon=True).start()
        async with self._remote.client:
            self._start(self._dispatch())
            self._start(self._keep_time())
            await self._has_ended.wait()
            await self._close()
        return self._code or 0

    def _start(self, coroutine: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._finish)
        return task

    def _finish(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._host.note(f"a message could not be carried: {task.exception()!r}")

    def _end(self, code: int) -> None:
        if self._code is None:
            self._code = code
        self._has_ended.set()

    def _wake(self, callback: Any, *args: Any) -> None:
        self._loop.call_soon_threadsafe(callback, *args)

    async def _close(self) -> None:
        """
        Answer what is open, and end the session.
        """
        for task in list(self._tasks):
            task.cancel()
        for opened in self._session.iter_open():
            opened.is_sent = True
        reason = "The gateway was stopped before the answer came."
        lost = self._session.lose(reason, self._now(), can_retry=True)
        for line in lost:
            self._host.try_write(line)
        if self._remote.session is not None:
            try:
                async with asyncio.timeout(_GRACE), self._remote.stream("DELETE", {}):
                    pass
            except _ENDED:
                pass

    @staticmethod
    def _now() -> float:
        return time.monotonic()

    # ---- the host's side

    def _read_host(self) -> None:
        splitter = LineSplitter(self._options.max_line)
        for chunk in read_chunks(0):
            for line in splitter.feed(chunk):
                self._hand_over(line)
        self._hand_over(splitter.rest())
        self._hand_over(None)

    def _hand_over(self, line: Line | None) -> None:
        # Waits while the queue is full, so that a host that is too fast waits, too.
        asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()

    async def _dispatch(self) -> None:
        while (line := await self._lines.get()) is not None:
            seen = self._session.from_host(line, self._now())
            await self._write(seen.answers)
            if seen.data:
                await self._forward(seen)
        if self._running:
            await asyncio.wait(self._running, timeout=_GRACE)
        self._end(0)

    async def _forward(self, seen: Seen) -> None:
        self._is_due.set()
        before, ready = self._barrier, asyncio.Event()
        if self._drop_cancelled() and not self._needs_post(seen):
            return
        if not seen.opened or any(one.call.method == "initialize" for one in seen.opened):
            self._barrier = ready
        if not seen.opened:
            self._start(self._notify(seen, before, ready))
            return
        await self._slots.acquire()
        task = self._start(self._request(seen, before, ready))
        self._running[task] = seen.opened
        task.add_done_callback(self._stop_running)

    def _stop_running(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)
        self._slots.release()

    @staticmethod
    async def _wait_for(before: asyncio.Event | None) -> None:
        if before is None:
            return
        try:
            async with asyncio.timeout(_PATIENCE):
                await before.wait()
        except TimeoutError:
            pass

    async def _write(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            if not self._writing.locked() and self._host.try_write(line):
                continue
            async with self._writing:
                await self._write_slowly(line)

    async def _write_slowly(self, line: bytes) -> None:
        # In a thread of its own: a host that never reads must not keep the process from ending.
        done = asyncio.Event()

        def write() -> None:
            self._host.write([line])
            self._wake(done.set)

        threading.Thread(target=write, daemon=True).start()
        await done.wait()

    # ---- messages that are no requests

    def _drop_cancelled(self) -> bool:
        """
        End the requests that the host has cancelled, and tell whether there were any.
        """
        cancelled = [pair for pair in self._running.items() if _are_cancelled(pair[1])]
        for task, requests in cancelled:
            for opened in requests:
                self._session.forget(opened)
            task.cancel()
        return bool(cancelled)

    @staticmethod
    def _needs_post(seen: Seen) -> bool:
        # Since 2026-07-28 closing the stream is the cancellation.
        return not seen.cancelled or not all(one.call.is_modern for one in seen.cancelled)

    async def _notify(self, seen: Seen, before: asyncio.Event | None, ready: asyncio.Event) -> None:
        await self._wait_for(before)
        try:
            async with self._remote.stream("POST", self._headers(seen), seen.data) as response:
                if response.status_code >= 400:
                    self._host.note(f"a notification was refused with HTTP {response.status_code}")
        except _FAILURES as exc:
            self._host.note(f"a notification was not sent: {_describe(exc)}")
        finally:
            ready.set()
        if b'"notifications/initialized"' in seen.data:
            self._listen()

    def _headers(self, seen: Seen) -> dict[str, str]:
        if len(seen.messages) != 1 or not is_object(seen.messages[0]):
            return {}
        call = seen.opened[0].call if seen.opened else None
        return message_headers(seen.messages[0], self._marked, call)

    # ---- requests

    async def _request(
        self, seen: Seen, before: asyncio.Event | None, ready: asyncio.Event
    ) -> None:
        try:
            await self._wait_for(before)
            if self._session.mark_sent(seen.opened):
                await self._post(seen)
        except NOT_SENT as exc:
            for opened in seen.opened:
                opened.is_sent = False
            await self._lose(seen, _refusal(self._remote.origin, exc), can_retry=_may_pass(exc))
        except HTTP_ERRORS as exc:
            await self._lose(seen, f"The MCP server's answer broke off: {_describe(exc)}.")
        except LoginError as exc:
            await self._refuse_login(seen, exc)
        finally:
            ready.set()

    async def _post(self, seen: Seen) -> None:
        has_session = not any(map(_begins_session, seen.opened))
        for is_last in (False, True):
            session = self._remote.session if has_session else None
            async with self._remote.stream(
                "POST", self._headers(seen), seen.data, has_session=has_session
            ) as response:
                if 200 <= response.status_code < 300:
                    self._learn_session(seen, response)
                    if _kind(response) == _EVENTS:
                        await self._read_stream(seen, response)
                        return
                body = await _read_head(response, self._options.max_line)
                is_dead = session is not None and _says_dead(response.status_code, body)
                if not is_dead:
                    await self._read_body(seen, response, body)
                    return
            if is_last or not await self._renew(session):
                await self._lose_session(seen)
                return

    async def _read_body(self, seen: Seen, response: Any, body: bytes) -> None:
        if len(body) > self._options.max_line:
            await self._deliver(Line(body[:_HEAD], is_whole=False), seen.opened)
        elif not is_status_clearer(response.status_code, response.headers) and holds_answer(body):
            await self._deliver(
                Line(restore_id(body, [one.key for one in seen.opened])), seen.opened
            )
            await self._break(seen, "The MCP server answered another request than this one.")
        await self._judge_status(seen, response, body[:_HEAD])

    def _learn_session(self, seen: Seen, response: Any) -> None:
        if any(opened.call.method == "initialize" for opened in seen.opened):
            self._remote.session = response.headers.get(SESSION)

    async def _judge_status(self, seen: Seen, response: Any, body: bytes) -> None:
        headers = dict(response.headers)
        for opened in seen.opened:
            lines = self._session.judge(
                opened,
                lambda exchange, call=opened.call: exchange.status(  # type: ignore[misc]
                    call, response.status_code, headers, body
                ),
                self._now(),
            )
            await self._write(lines)

    async def _lose(
        self, seen: Seen, reason: str, *, can_retry: bool = True, hint: str = ""
    ) -> None:
        for opened in seen.opened:
            lines = self._session.judge(
                opened,
                lambda exchange, one=opened: exchange.answer_lost(  # type: ignore[misc]
                    one.call, reason, is_sent=one.is_sent, can_retry=can_retry, hint=hint
                ),
                self._now(),
            )
            await self._write(lines)
        self._is_due.set()

    async def _break(self, seen: Seen, reason: str) -> None:
        for opened in seen.opened:
            lines = self._session.judge(
                opened,
                lambda exchange, one=opened: exchange.broken(one.call, reason),  # type: ignore[misc]
                self._now(),
            )
            await self._write(lines)

    async def _lose_session(self, seen: Seen) -> None:
        for opened in seen.opened:
            opened.is_sent = False
        reason = "The session at the MCP server is gone, and no new one could be opened."
        await self._lose(seen, reason, can_retry=False, hint=_NEW_SESSION)

    async def _refuse_login(self, seen: Seen, exc: LoginError) -> None:
        for opened in seen.opened:
            lines = self._session.judge(
                opened,
                lambda exchange, one=opened: exchange.refused(one.call, str(exc)),  # type: ignore[misc]
                self._now(),
            )
            await self._write(lines)

    # ---- streams

    async def _read_stream(self, seen: Seen, response: Any) -> None:
        last: Event | None = None
        async for event in self._events(response):
            last = event if event.id is not None else last
            await self._from_event(event, seen.opened)
            if not self._are_open(seen.opened):
                await self._drain(response)
                return
        is_modern = any(opened.call.is_modern for opened in seen.opened)
        if last is not None and not is_modern:
            await self._resume(seen, last)
        if self._are_open(seen.opened):
            await self._lose(seen, "The MCP server's stream ended without an answer.")

    async def _events(self, response: Any) -> AsyncIterator[Event]:
        """
        Yield the events of a stream until it ends, or breaks off.
        """
        splitter = EventSplitter(self._options.max_line)
        try:
            async for chunk in response.aiter_bytes():
                for event in splitter.feed(chunk):
                    yield event
        except HTTP_ERRORS:
            # What it means is decided by what is still open.
            return

    async def _drain(self, response: Any) -> None:
        # An ended stream leaves its connection for the next request.
        try:
            async with asyncio.timeout(_TAIL):
                async for _ in response.aiter_bytes():
                    pass
        except _ENDED:
            pass

    async def _from_event(self, event: Event, requests: list[Open]) -> None:
        if event.name != "message":
            return
        if not event.is_whole:
            await self._deliver(Line(event.raw, is_whole=False), requests)
        elif event.data:
            await self._deliver(
                Line(restore_id(event.data, [one.key for one in requests]) + b"\n"), requests
            )

    async def _resume(self, seen: Seen, last: Event) -> None:
        """
        Ask for the rest of a stream that broke off, until the answer has come.
        """
        for _ in range(_RECONNECTIONS):
            await asyncio.sleep(_pause(last))
            try:
                async with self._listening(last) as response:
                    if response.status_code != 200:
                        return
                    async for event in self._events(response):
                        last = event if event.id is not None else last
                        await self._from_event(event, seen.opened)
                        if not self._are_open(seen.opened):
                            return
            except _FAILURES:
                continue

    def _listening(self, last: Event | None) -> Any:
        headers = {"accept": _EVENTS}
        if last is not None and last.id:
            headers["last-event-id"] = last.id
        return self._remote.stream("GET", headers)

    def _listen(self) -> None:
        """
        Open the stream for what the server sends unasked, unless it is open.
        """
        if self._listener is not None:
            self._listener.cancel()
        self._listener = self._start(self._read_unasked())

    async def _read_unasked(self) -> None:
        last: Event | None = None
        failures = 0
        while failures < _RECONNECTIONS:
            failures += 1
            try:
                async with self._listening(last) as response:
                    if response.status_code != 200 or _kind(response) != _EVENTS:
                        return
                    async for event in self._events(response):
                        failures, last = 0, _latest(event, last)
                        await self._from_event(event, [])
            except _FAILURES as exc:
                self._host.note(f"the stream of notifications broke off: {_describe(exc)}")
            await asyncio.sleep(_pause(last) * 2**failures)

    # ---- what the server sent

    async def _deliver(self, line: Line, requests: list[Open]) -> None:
        """
        Carry one message of the server to the host.
        """
        if line.is_whole:
            self._learn(line.data, requests)
        try:
            data = self._session.from_server(line, self._now())
        except Exception as exc:  # noqa: BLE001 -- a mistake of ours must not end the connection
            self._host.note(f"could not judge a message, which leaves as it came: {exc!r}")
            data = line.data
        if data is not None:
            await self._write([_flatten(data)])
        self._is_due.set()

    def _learn(self, data: bytes, requests: list[Open]) -> None:
        """
        Read the version out of a handshake, and the arguments that are headers out of a listing.
        """
        methods = {opened.call.method for opened in requests}
        if not methods & {"initialize", LISTING}:
            return
        try:
            parsed = parse_line(data)
        except RecursionError:
            return
        for message in parsed.messages if parsed else ():
            result = as_object(as_object(message).get("result"))
            version = result.get("protocolVersion")
            if "initialize" in methods and isinstance(version, str):
                self._remote.version = version
            self._marked.learn(result)

    def _are_open(self, requests: Iterable[Open]) -> bool:
        return any(self._session.is_open(one) and one.resend_at is None for one in requests)

    # ---- a new session

    async def _renew(self, dead: str | None) -> bool:
        """
        Open a session with the host's own handshake, and tell whether there is a new one.
        """
        async with self._renewing:
            if self._remote.session != dead:
                return self._remote.session is not None
            first = self._session.replay()
            if not first:
                return False
            self._host.note("the session at the server is gone; opening a new one")
            call = Call("", "initialize", {}, is_modern=False)
            if not await self._replay(first[0], Open(call, key_of(""), self._now())):
                return False
            for line in self._session.replay_rest():
                await self._replay(line, None)
            self._listen()
            return True

    async def _replay(self, line: bytes, opened: Open | None) -> bool:
        requests = [] if opened is None else [opened]
        is_first = opened is not None
        async with self._remote.stream("POST", {}, line, has_session=not is_first) as response:
            if response.status_code >= 300:
                return False
            if opened is not None:
                self._remote.session = response.headers.get(SESSION)
            if _kind(response) == _EVENTS:
                async for event in self._events(response):
                    await self._from_event(event, requests)
                    if self._session.handshake_done:
                        break
            else:
                body = await _read_head(response, self._options.max_line)
                if holds_answer(body):
                    await self._deliver(Line(body), requests)
        return self._session.handshake_done

    # ---- time

    async def _keep_time(self) -> None:
        while True:
            self._is_due.clear()
            due = self._session.next_due()
            try:
                async with asyncio.timeout(None if due is None else max(0.0, due - self._now())):
                    await self._is_due.wait()
            except TimeoutError:
                await self._do_what_is_due()

    async def _do_what_is_due(self) -> None:
        due = self._session.due(self._now())
        await self._write(due.answers)
        for line in due.cancellations:
            await self._cancel(line)
        for opened, line in due.repeats:
            parsed = parse_line(line)
            await self._forward(Seen(line, [opened], messages=parsed.messages if parsed else []))
        self._stop_late()

    async def _cancel(self, line: bytes) -> None:
        self._start(self._notify(Seen(line), None, asyncio.Event()))

    def _stop_late(self) -> None:
        for task, requests in list(self._running.items()):
            if not any(self._session.is_open(opened) for opened in requests):
                task.cancel()


# ---- answers


def _kind(response: Any) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


async def _read_head(response: Any, limit: int) -> bytes:
    """
    Return the body of an answer; of one that is longer than the limit, a little more than that.
    """
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            break
    return b"".join(chunks)


def _says_dead(status: int, body: bytes) -> bool:
    """
    Tell whether an answer to a request of a session says that there is no such session.
    """
    if status not in {400, 404}:
        return False
    error = _error_in(body)
    if status == 404:
        return error.get("code") != _NO_METHOD
    says_session = "session" in str(error.get("message")).lower()
    return says_session and error.get("code") in _DEAD_CODES


def _error_in(body: bytes) -> dict[str, Any]:
    try:
        parsed = parse_line(body)
    except RecursionError:
        return {}
    return as_object(as_object(parsed.messages[0]).get("error")) if parsed else {}


def _flatten(data: bytes) -> bytes:
    """
    Return a message as one line: outside of its texts, line breaks are white space.
    """
    body = data.rstrip(b"\r\n")
    if b"\n" in body or b"\r" in body:
        body = body.replace(b"\n", b" ").replace(b"\r", b" ")
    return body + b"\n"


def _begins_session(opened: Open) -> bool:
    return opened.call.is_modern or opened.call.method == "initialize"


def _are_cancelled(requests: list[Open]) -> bool:
    return bool(requests) and all(opened.is_cancelled for opened in requests)


def _latest(event: Event, last: Event | None) -> Event | None:
    return event if event.id is not None or last is None else last


def _pause(last: Event | None) -> float:
    if last is None or last.retry is None:
        return _RECONNECT
    return min(last.retry / 1000, _MAX_RECONNECT)


def _describe(exc: BaseException) -> str:
    return str(exc).rstrip(".") or type(exc).__name__


def _refusal(origin: str, exc: BaseException) -> str:
    return f"The MCP server at {origin} could not be reached: {_describe(exc)}."


def _may_pass(exc: BaseException) -> bool:
    """
    Tell whether a refused connection may succeed later: a certificate does not mend itself.
    """
    text = str(exc).upper()
    return "CERTIFICATE" not in text and "SSL" not in text
