"""
The checker's client for servers over HTTP: statuses and headers stay, streams are read whole.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from toolfault.check._client import MAX_MESSAGE, Client, NotStartedError
from toolfault.check._model import Answer, Exchange, Provocation
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
from toolfault.gateway._http import HTTP_ERRORS, httpx
from toolfault.gateway._sse import EventSplitter


_BASE: Final = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}
_SESSION: Final = "mcp-session-id"
_VERSION: Final = "mcp-protocol-version"

#: Which member of the parameters a header repeats, since 2026-07-28.
_NAMED: Final = {"tools/call": "name"}


class HttpClient(Client):
    """
    A server at a URL.

    Args:
        url: Where it is.
        headers: What each request has besides, such as a login.
        is_modern: Whether to speak the era without a handshake.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str] | None = None, *, is_modern: bool = False
    ) -> None:
        """
        Prepare; `connect` sends the first request.
        """
        super().__init__()
        self._url = url
        self._is_modern = is_modern
        self._http = httpx.Client(headers=dict(headers or {}), follow_redirects=False)
        self._headers = dict(_BASE)
        self.hello = Hello("", MODERN if is_modern else "")

    def connect(self, timeout: float) -> Hello:
        """
        Shake hands; see `Client.connect`.
        """
        method = "server/discover" if self._is_modern else "initialize"
        params: Mapping[str, Any] = {} if self._is_modern else INITIALIZE
        if self._is_modern:
            self._headers[_VERSION] = MODERN
        request_id = self.next_id()
        body = encode(request(request_id, method, params, is_modern=self._is_modern))
        answers, why = self._post(body, self._headers_for(method, params), request_id, timeout)
        result = _result_in(answers)
        if result is None:
            raise NotStartedError(_describe(answers, why, method))
        self.hello = read_hello(result, is_modern=self._is_modern)
        if not self._is_modern:
            self._headers[_VERSION] = self.hello.protocol
            session = answers[0].headers.get(_SESSION)
            if session:
                self._headers[_SESSION] = session
                self.has_session = True
            self._post(encode(notification("notifications/initialized")), {}, None, timeout)
        return self.hello

    def ask(self, method: str, params: Mapping[str, Any], timeout: float) -> Any:
        """
        See `Client.ask`.
        """
        request_id = self.next_id()
        body = encode(request(request_id, method, params, is_modern=self.hello.is_modern))
        answers, _ = self._post(body, self._headers_for(method, params), request_id, timeout)
        return answers[0].value if answers else None

    def provoke(self, provocation: Provocation, timeout: float, listen: float) -> Exchange:
        """
        See `Client.provoke`.
        """
        del listen
        request_id = self.next_id()
        headers = self._headers_for(provocation.method, provocation.params or {})
        headers |= provocation.headers
        began = time.monotonic()
        message = self.message(provocation, request_id)
        answers, _ = self._post(message, headers, request_id, timeout)
        elapsed = time.monotonic() - began
        is_alive = self.ask(self.liveness, {}, timeout) is not None
        return Exchange(
            provocation,
            request_id,
            tuple(answers),
            elapsed=elapsed,
            is_alive=is_alive,
            protocol=self.hello.protocol,
        )

    def close(self) -> None:
        """
        End the session, and close the connections.
        """
        if self.has_session:
            with suppress(*HTTP_ERRORS):
                self._http.delete(self._url, headers=self._headers, timeout=2.0)
        self._http.close()

    # ---- requests

    def _headers_for(self, method: str, params: Mapping[str, Any]) -> dict[str, str]:
        """
        Return the headers that a request has besides those of the connection.
        """
        if not self.hello.is_modern:
            return {}
        headers = {"mcp-method": method}
        name = params.get(_NAMED.get(method, ""))
        if isinstance(name, str) and name.isascii() and name.isprintable() and len(name) < 1000:
            headers["mcp-name"] = name
        return headers

    def _post(
        self, body: bytes, headers: Mapping[str, str], request_id: int | str | None, timeout: float
    ) -> tuple[list[Answer], str]:
        """
        Return the answers to a request, and why there is none.
        """
        until = time.monotonic() + timeout
        found: list[Answer] = []
        given = {**self._headers, **headers}
        try:
            with self._http.stream(
                "POST", self._url, content=body, headers=given, timeout=timeout
            ) as response:
                for answer in self._read(response, until):
                    found.append(answer)
                    if is_same_id(as_object(answer.value).get("id"), request_id):
                        # A second answer has come by now, or does not come.
                        until = min(until, time.monotonic() + 0.5)
        except HTTP_ERRORS as exc:
            return found, str(exc) or type(exc).__name__
        return found, ""

    def _read(self, response: Any, until: float) -> Iterator[Answer]:
        headers = {str(name).lower(): str(value) for name, value in response.headers.items()}
        status: int = response.status_code
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            yield from self._read_events(response, until, status, headers)
            return
        data = b""
        for chunk in response.iter_bytes():
            data += chunk
            if len(data) > MAX_MESSAGE or time.monotonic() > until:
                break
        if data.strip() or status >= 300:
            yield Answer(data, decode(data), status, headers)

    def _read_events(
        self, response: Any, until: float, status: int, headers: Mapping[str, str]
    ) -> Iterator[Answer]:
        splitter = EventSplitter(MAX_MESSAGE)
        for chunk in response.iter_bytes():
            for event in splitter.feed(chunk):
                message = None if event.data is None else decode(event.data)
                if message is None or event.data is None:
                    continue
                answer = answer_to(message)
                if answer is not None:
                    self._http.post(self._url, content=encode(answer), headers=self._headers)
                if is_answer(message):
                    yield Answer(event.data, message, status, headers)
            if time.monotonic() > until:
                return


def _result_in(answers: list[Answer]) -> dict[str, Any] | None:
    for answer in answers:
        result = as_object(answer.value).get("result")
        if is_object(result):
            return result
    return None


def _describe(answers: list[Answer], why: str, method: str) -> str:
    if not answers:
        return f"The server did not answer {method}: {why or 'nothing came'}."
    answer = answers[0]
    error = as_object(as_object(answer.value).get("error"))
    said = str(error.get("message") or answer.raw[:200].decode(errors="replace"))
    return f"The server refused {method} (HTTP {answer.status}): {said[:200]!r}."
