"""
What a client of a gateway that listens gets: a whole body, or a stream.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from toolfault.gateway._sse import Event


Headers: TypeAlias = list[tuple[bytes, bytes]]

_JSON: Final = (b"content-type", b"application/json")
_EVENTS: Final = (b"content-type", b"text/event-stream")
_UNBUFFERED: Final = (b"x-accel-buffering", b"no")

#: Headers that speak of the bytes of a body that is replaced.
_OF_BODY: Final = frozenset(
    b"content-length content-encoding content-type content-md5 content-digest repr-digest digest"
    b" etag last-modified content-range accept-ranges content-disposition location".split()
)

#: Headers that a stream whose events are rewritten can't keep.
_OF_BYTES: Final = frozenset({b"content-length", b"content-encoding", b"etag", b"digest"})


class Reply:
    """
    One answer over ASGI.

    Args:
        send: The server's function.
        origin: The ``Origin`` of the request, which may read the gateway's own answers.
        is_batch: Whether several messages leave as an array.
        is_stream: Whether the gateway's own answers leave as events.
    """

    def __init__(
        self,
        send: Callable[[Mapping[str, Any]], Awaitable[None]],
        *,
        origin: str = "",
        is_batch: bool = False,
        is_stream: bool = False,
    ) -> None:
        """
        Start with nothing sent.
        """
        self._send = send
        self._origin = origin
        self._is_batch = is_batch
        self.is_stream = is_stream
        self.is_started = False

    async def start(self, status: int, headers: Headers) -> None:
        """
        Send the status and the headers.
        """
        self.is_started = True
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def start_stream(self, status: int, headers: Headers) -> None:
        """
        Send the status and the headers of a stream, unless that is done.
        """
        if self.is_started:
            return
        self.is_stream = True
        await self.start(status, unbuffered(_without(headers, _OF_BYTES)))

    async def write(self, data: bytes) -> None:
        """
        Send a part of the body; nothing for an empty one.
        """
        if data:
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        """
        End the body.
        """
        await self._send({"type": "http.response.body", "body": b""})

    async def whole(self, status: int, headers: Headers, body: bytes) -> None:
        """
        Send everything at once.
        """
        await self.start(status, headers)
        await self._send({"type": "http.response.body", "body": body})

    async def answer(
        self, lines: Iterable[bytes], *, status: int = 200, headers: Headers | None = None
    ) -> None:
        """
        Send messages that are not the server's bytes, and end.

        Args:
            lines: The messages, as JSON.
            status: The HTTP status, unless one was sent.
            headers: Those of the server's answer. None: there was none.
        """
        messages = [line.strip() for line in lines]
        kept = self._own_headers() if headers is None else _without(headers, _OF_BODY)
        if self.is_stream:
            if not self.is_started:
                await self.start(200, [*kept, _EVENTS, _UNBUFFERED])
            await self.write(b"".join(map(write_event, messages)))
            await self.end()
            return
        body = _array(messages) if self._is_batch else b"".join(messages)
        length = (b"content-length", str(len(body)).encode())
        await self.whole(status, [*kept, _JSON, length], body)

    def _own_headers(self) -> Headers:
        if not self._origin:
            return []
        origin = self._origin.encode("latin-1")
        return [(b"access-control-allow-origin", origin), (b"vary", b"origin")]


def unbuffered(headers: Headers) -> Headers:
    """
    Return the headers of a stream of events, which no proxy on its way may hold back.
    """
    if any(name == _UNBUFFERED[0] for name, _ in headers):
        return headers
    return [*headers, _UNBUFFERED]


def write_event(message: bytes) -> bytes:
    """
    Return a message as an event.
    """
    return b"event: message\ndata: " + message + b"\n\n"


def rewrite_event(event: Event, message: bytes | None) -> bytes:
    """
    Return an event with another message; its id and its other fields stay.

    Args:
        event: The event.
        message: The message, as one line. None: the event has none any more.
    """
    lines = event.raw.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    kept = [line for line in lines.split(b"\n") if line and not _is_field(line, b"data")]
    if message is not None:
        kept.append(b"data: " + message.strip())
    else:
        kept = [line for line in kept if not _is_field(line, b"event")]
    return b"".join(line + b"\n" for line in kept) + b"\n" if kept else b""


def _is_field(line: bytes, name: bytes) -> bool:
    return line.partition(b":")[0] == name


def _array(messages: Iterable[bytes]) -> bytes:
    """
    Return messages, and the members of arrays of messages, as one array.
    """
    inner = [one[1:-1] if one.startswith(b"[") else one for one in messages]
    return b"[" + b",".join(inner) + b"]"


def _without(headers: Headers, names: frozenset[bytes]) -> Headers:
    return [pair for pair in headers if pair[0] not in names]
