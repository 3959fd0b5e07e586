"""
The checker's client for a server at a URL.

Rule 1: nothing here waits without a deadline.
Rule 2: what comes stays as it came: status, headers and bytes.
Rule 3: nothing leaves for another origin than that of the URL.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from toolfault._version import __version__
from toolfault.check._client import MAX_MESSAGE, PING, Client, NotStartedError
from toolfault.check._model import Answer, Exchange, Kind, Provocation
from toolfault.check._wire import (
    INITIALIZE,
    MODERN,
    Hello,
    answer_to,
    as_object,
    decode,
    encode,
    is_answer,
    is_object,
    is_same_id,
    notification,
    read_hello,
    request,
)
from toolfault.gateway._calls import LISTING, read_call
from toolfault.gateway._http import HTTP_ERRORS, httpx, redirected_to, send
from toolfault.gateway._mcp_headers import BASE, SESSION, VERSION, Marked, message_headers
from toolfault.gateway._sse import EventSplitter


_EVENTS: Final = "text/event-stream"

_MAX_REDIRECTS: Final = 3

#: The longest header that is sent; servers close the connection at longer ones.
_MAX_HEADER: Final = 4000

#: How many answers to one request, and how many lines of noise, are kept.
_MAX_KEPT: Final = 20
_MAX_NOISE: Final = 500

#: Seconds for the end of a session.
_GRACE: Final = 1.0

_T = TypeVar("_T")


@dataclass
class _Received:
    """
    What came for one request.

    Attributes:
        request_id: The request's id; None: it has none, and any response answers it.
        answers: The answers, and responses without one.
        noise: Events that are not messages.
        status: The HTTP status; None: there was no response.
        headers: The response's headers.
        failure: What broke the connection; "" if nothing did.
        answered_at: When the first answer came, by `time.monotonic`.
        is_answered: Set with the first answer.
    """

    request_id: int | str | None
    answers: list[Answer] = field(default_factory=list[Answer])
    noise: list[bytes] = field(default_factory=list[bytes])
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    failure: str = ""
    answered_at: float | None = None
    is_answered: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def answer(self) -> dict[str, Any] | None:
        """
        The message that answers the request; None if there is none.
        """
        for one in self.answers:
            if is_answer(one.value) and is_same_id(one.value.get("id"), self.request_id):
                return one.value
        return None

    def add(self, raw: bytes, message: Mapping[str, Any] | None) -> None:
        """
        Keep an answer, or a body that holds no message.
        """
        if self.answered_at is None:
            self.answered_at = time.monotonic()
        if len(self.answers) < _MAX_KEPT:
            self.answers.append(Answer(raw, message, self.status, self.headers))
        self.is_answered.set()


class HttpClient(Client):
    """
    A server that is reached over streamable HTTP.

    Args:
        url: Its URL.
        headers: Further headers for each request, such as credentials.
        is_modern: Whether to speak the era without a handshake.
        marked: The arguments that tools want as headers, learnt by any connection to the server.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        is_modern: bool = False,
        marked: Marked | None = None,
    ) -> None:
        """
        Prepare; `connect` sends the first request.
        """
        super().__init__()
        self._given = dict(headers or {})
        self._url = httpx.URL(url)
        self._is_modern = is_modern
        self._marked = Marked() if marked is None else marked
        self._session: str | None = None
        self._loop = asyncio.new_event_loop()
        self._replies: set[asyncio.Task[None]] = set()
        self._client = httpx.AsyncClient(
            # A compressed body would not stay as it came, and could grow without a limit.
            headers={"user-agent": f"toolfault/{__version__}", "accept-encoding": "identity"},
            timeout=httpx.Timeout(None),
            follow_redirects=False,
        )

    def connect(self, timeout: float) -> Hello:
        """
        Shake hands; see `Client.connect`.
        """
        return self._run(self._connect(timeout))

    def ask(self, method: str, params: Mapping[str, Any], timeout: float) -> Any:
        """
        See `Client.ask`.
        """
        answer = self._run(self._ask(method, params, timeout)).answer
        if method == LISTING and answer is not None:
            self._marked.learn(as_object(answer.get("result")))
        return answer

    def provoke(self, provocation: Provocation, timeout: float, listen: float) -> Exchange:
        """
        See `Client.provoke`.
        """
        return self._run(self._provoke(provocation, timeout, listen))

    def close(self) -> None:
        """
        End the session, and close all connections.
        """
        if not self._loop.is_closed():
            self._run(self._close())
            self._loop.close()

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return self._loop.run_until_complete(work)

    # ---- requests

    async def _connect(self, seconds: float) -> Hello:
        method = "server/discover" if self._is_modern else "initialize"
        self.hello = Hello("", MODERN if self._is_modern else "")
        received = await self._ask(method, {} if self._is_modern else INITIALIZE, seconds)
        result = as_object(received.answer).get("result")
        if not is_object(result):
            raise NotStartedError(_describe_refusal(received, method, seconds))
        self.hello = read_hello(result, is_modern=self._is_modern)
        if not self._is_modern:
            self._session = received.headers.get(SESSION)
            self.has_session = self._session is not None
            await self._notify(notification("notifications/initialized"), seconds)
        return self.hello

    async def _ask(self, method: str, params: Mapping[str, Any], seconds: float) -> _Received:
        request_id = self.next_id()
        message = request(request_id, method, params, is_modern=self.hello.is_modern)
        received = _Received(request_id)
        await self._receive(encode(message), self._headers(message), received, seconds, 0)
        return received

    async def _notify(self, message: Mapping[str, Any], seconds: float) -> None:
        received = _Received(None)
        await self._receive(encode(message), self._headers(message), received, seconds, 0)

    async def _provoke(self, provocation: Provocation, seconds: float, listen: float) -> Exchange:
        request_id = self.next_id()
        data = self.message(provocation, request_id)
        headers = self._headers(decode(data) or {})
        headers.update({name.lower(): text for name, text in provocation.headers.items()})
        sent = {name: text for name, text in headers.items() if text}
        received = _Received(request_id if provocation.raw is None else None)
        began = time.monotonic()
        is_cancelled = False
        if provocation.kind is Kind.CANCELLED:
            is_cancelled = await self._cancel(data, sent, received, listen)
        else:
            await self._receive(data, sent, received, seconds, listen)
        elapsed = (received.answered_at or time.monotonic()) - began
        ping = await self._ask(self.liveness, {}, min(seconds, PING))
        return Exchange(
            provocation,
            request_id,
            tuple(received.answers),
            tuple(received.noise),
            elapsed,
            ping.answer is not None,
            protocol=self.hello.protocol,
            is_cancelled=is_cancelled,
        )

    async def _cancel(
        self, data: bytes, headers: Mapping[str, str], received: _Received, listen: float
    ) -> bool:
        """
        Send a request, cancel it, and collect the answers that come all the same.

        The return value tells whether it was cancelled, and whether an answer could be seen.
        """
        task = self._loop.create_task(self._post(data, headers, received))
        try:
            # The tool has to run first.
            await asyncio.wait({task}, timeout=listen)
            if task.done() or received.answers or self._is_modern:
                return False
            params = {"requestId": received.request_id, "reason": "The checker cancels it."}
            await self._notify(notification("notifications/cancelled", params), listen)
            await asyncio.wait({task}, timeout=listen)
            return True
        finally:
            # Since 2026-07-28 the end of the stream is the cancellation.
            await _stop(task)

    async def _close(self) -> None:
        for task in tuple(self._replies):
            await _stop(task)
        if self._session is not None:
            with contextlib.suppress(*HTTP_ERRORS, TimeoutError):
                async with asyncio.timeout(_GRACE):
                    await self._client.delete(self._url, headers=self._headers({}))
        await self._client.aclose()

    # ---- HTTP

    def _headers(self, message: Mapping[str, Any]) -> dict[str, str]:
        headers = {**BASE, **self._given}
        if self._is_modern:
            own = message_headers(message, self._marked, read_call(message))
            return headers | {name: text for name, text in own.items() if len(text) < _MAX_HEADER}
        known = {SESSION: self._session, VERSION: self.hello.protocol}
        return headers | {name: value for name, value in known.items() if value}

    async def _receive(
        self,
        data: bytes,
        headers: Mapping[str, str],
        received: _Received,
        seconds: float,
        listen: float,
    ) -> None:
        """
        Send a request, and receive until the response ends; not longer than the deadline.

        Args:
            data: The body.
            headers: All headers.
            received: What comes is added to it.
            seconds: Until the first answer.
            listen: Seconds for what comes after it.
        """
        task = self._loop.create_task(self._post(data, headers, received))
        answered = self._loop.create_task(received.is_answered.wait())
        try:
            await asyncio.wait(
                {task, answered}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if received.is_answered.is_set():
                await asyncio.wait({task}, timeout=listen)
        finally:
            await _stop(task)
            await _stop(answered)

    async def _post(self, data: bytes, headers: Mapping[str, str], received: _Received) -> None:
        try:
            await self._post_following(data, headers, received)
        except HTTP_ERRORS as exc:
            received.failure = f"{type(exc).__name__}: {exc}"[:300]

    async def _post_following(
        self, data: bytes, headers: Mapping[str, str], received: _Received
    ) -> None:
        for _ in range(_MAX_REDIRECTS + 1):
            built = self._client.build_request("POST", self._url, headers=headers, content=data)
            response = await send(self._client, built)
            try:
                target = redirected_to(response, self._url)
                if target is None:
                    await self._read(response, received)
                    return
                self._url = target
            finally:
                await response.aclose()

    async def _read(self, response: Any, received: _Received) -> None:
        received.status = response.status_code
        received.headers = {name.lower(): value for name, value in response.headers.items()}
        if received.headers.get("content-type", "").lower().startswith(_EVENTS):
            await self._read_events(response, received)
        else:
            await self._read_body(response, received)
        is_refused = response.status_code >= 400
        if not received.answers and (is_refused or received.request_id is not None):
            # An empty body, or a stream without an answer.
            received.add(b"", None)

    async def _read_body(self, response: Any, received: _Received) -> None:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_MESSAGE:
                break
        raw = bytes(body).strip()
        if raw:
            received.add(raw, decode(raw))

    async def _read_events(self, response: Any, received: _Received) -> None:
        splitter = EventSplitter(MAX_MESSAGE)
        async for chunk in response.aiter_bytes():
            for event in splitter.feed(chunk):
                if event.data:
                    self._take(event.data, received)

    def _take(self, raw: bytes, received: _Received) -> None:
        """
        Keep an answer or noise, and answer a request of the server.
        """
        message = decode(raw)
        if message is None:
            if len(received.noise) < _MAX_KEPT:
                received.noise.append(raw[:_MAX_NOISE])
            return
        answer = answer_to(message)
        if answer is not None and len(self._replies) < _MAX_KEPT:
            task = self._loop.create_task(self._notify(answer, _GRACE))
            self._replies.add(task)
            task.add_done_callback(self._replies.discard)
        if is_answer(message):
            received.add(raw, message)


async def _stop(task: asyncio.Task[Any]) -> None:
    """
    Cancel a task, and wait for its end.
    """
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _describe_refusal(received: _Received, method: str, seconds: float) -> str:
    """
    Return why a handshake failed.
    """
    error = as_object(as_object(received.answer).get("error"))
    if error:
        return f"The server refused {method}: {str(error.get('message', ''))[:200]!r}."
    if received.status in {401, 403}:
        return (
            f"The server wants a login (HTTP {received.status}); give its credentials with"
            " --header Authorization=VARIABLE."
        )
    if received.status is not None:
        return f"The server answered {method} with HTTP {received.status} and no MCP message."
    if received.failure:
        return f"The server can't be reached: {received.failure}."
    return f"The server did not answer {method} within {seconds:g} seconds."
