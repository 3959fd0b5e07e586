"""
One HTTP request as an external processor sees it: what becomes of its headers and its bodies.

Rule 1: no I/O and no gRPC; a host hands in what it saw and carries out what it gets.
Rule 2: what is not replaced is not mentioned, and so leaves as the bytes that came.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from toolfault.gateway._answers import (
    asks_login,
    decide_all,
    is_session_gone,
    keeps_status,
    must_pass,
    read_message,
    restore_id,
    says_most,
    take_event,
)
from toolfault.gateway._lines import Line
from toolfault.gateway._reply import write_event
from toolfault.gateway._session import Open, Session
from toolfault.gateway._sse import EventSplitter


if TYPE_CHECKING:
    from toolfault.gateway._exchange import Exchange, Replace


#: What the proxy sends of a body: nothing, all at once, or as it comes.
Mode: TypeAlias = Literal["none", "whole", "stream"]

_EVENTS: Final = "text/event-stream"

#: How much of a body without a message is looked at, in bytes.
_HEAD: Final = 4096

#: Envoy's flags of an answer that it made itself: no host could be reached, or none is healthy.
_NOT_SENT: Final = 0x2 | 0x20

#: The answer did not come in the time of the route.
_TIMED_OUT: Final = 0x4

#: The detail of an answer that the server itself made.
_VIA_UPSTREAM: Final = "via_upstream"


@dataclass(frozen=True, slots=True)
class Body:
    """
    Another body.

    Attributes:
        data: The bytes.
        is_json: Whether it is a message with status 200, whatever came.
        status: The status with it, if it is one.
    """

    data: bytes
    is_json: bool = False
    status: int = 200


@dataclass(frozen=True, slots=True)
class Origin:
    """
    Who made an answer.

    Attributes:
        details: Envoy's word for it; "" if it was not sent.
        flags: Envoy's flags.
    """

    details: str = ""
    flags: int = 0

    @property
    def is_proxy(self) -> bool:
        """
        Whether the proxy itself made it.
        """
        return self.details not in {"", _VIA_UPSTREAM}


@dataclass(slots=True)
class Processor:
    """
    The state of one HTTP request.

    Attributes:
        session: The state of its messages.
        limit: The longest event, in bytes.
        note: Called with a sentence for the log.
        clock: Returns seconds.
        keeps_errors: Whether JSON-RPC errors stay errors, and so keep their status.
    """

    session: Session
    limit: int
    note: Callable[[str], object]
    clock: Callable[[], float]
    keeps_errors: bool = False
    _status: int = 0
    _named: Mapping[str, str] = field(default_factory=dict[str, str])
    _origin: Origin = field(default_factory=Origin)
    _has_session: bool = False
    _is_modern: bool = False
    _splitter: EventSplitter | None = None
    _request: bytes = b""

    def request_headers(self, headers: Mapping[str, str]) -> Mode:
        """
        Return what is wanted of the request's body.
        """
        self._has_session = "mcp-session-id" in headers
        if headers.get(":method") != "POST" or "content-encoding" in headers:
            return "none"
        # Since 2026-07-28 a header names the method.
        method = headers.get("mcp-method", "tools/")
        return "whole" if method.startswith(("tools/", "tasks/")) else "none"

    def request_body(self, body: bytes) -> None:
        """
        Read the messages of the request.
        """
        self._request = body
        self.session.from_host(Line(body), self.clock())
        opened = self._open()
        self._is_modern = any(one.call.is_modern for one in opened)
        self.session.mark_sent(opened)

    def response_headers(self, headers: Mapping[str, str], origin: Origin) -> Mode:
        """
        Return what is wanted of the answer's body.
        """
        self._named, self._origin = headers, origin
        self._status = int(headers.get(":status", "200"))
        opened = self._open()
        if not opened or self._must_pass(opened):
            return "none"
        if 200 <= self._status < 300 and self._kind() == _EVENTS:
            self._splitter = EventSplitter(self.limit)
            return "stream"
        return "whole"

    def response_body(self, data: bytes, *, is_end: bool) -> Body | None:
        """
        Return what becomes of a body, or of a part of a stream; None if it stays as it is.
        """
        if self._splitter is not None:
            written = self._take_part(self._splitter, data, is_end=is_end)
            return None if written == data else Body(written)
        if not self._open():
            return None
        if says_most(self._status, self._named, data):
            return self._take_body(data)
        return self._answer(self._decide_status(data[:_HEAD]))

    # ---- answers

    def _must_pass(self, opened: list[Open]) -> bool:
        if "content-encoding" in self._named or asks_login(self._status, self._named):
            return True
        is_session = self._has_session and not self._is_modern
        if is_session and not self._origin.is_proxy and is_session_gone(self._status, self._kind()):
            return True
        return must_pass(self._status, opened)

    def _kind(self) -> str:
        return self._named.get("content-type", "").partition(";")[0].strip().lower()

    def _take_body(self, data: bytes) -> Body | None:
        if self._status >= 400 and keeps_status(data):
            return None
        keys = [one.key for one in self._open()]
        written = read_message(self.session, restore_id(data, keys), self.clock(), self.note)
        if written is data and not self._open():
            return None
        lines = [] if written is None else [written]
        reason = "The MCP server answered another request than this one."
        lines += decide_all(
            self.session, lambda exchange, one: exchange.broken(one.call, reason), self.clock()
        )
        return self._answer(lines)

    def _answer(self, lines: list[bytes]) -> Body | None:
        if not lines:
            return None
        messages = [line.strip() for line in lines]
        data = b"".join(messages)
        if self._request.lstrip()[:1] == b"[":
            inner = [one[1:-1] if one.startswith(b"[") else one for one in messages]
            data = b"[" + b",".join(inner) + b"]"
        keeps = self.keeps_errors and self._status >= 300
        return Body(data, is_json=True, status=self._status if keeps else 200)

    def _decide_status(self, head: bytes) -> list[bytes]:
        def decide(exchange: Exchange, one: Open) -> Replace:
            if not self._origin.is_proxy:
                return exchange.status(one.call, self._status, self._named, head)
            one.is_sent = not self._origin.flags & _NOT_SENT
            reason = f"The MCP server could not be reached (HTTP {self._status})."
            if self._origin.flags & _TIMED_OUT or self._status == 504:
                return exchange.status(one.call, 504, {})
            return exchange.answer_lost(one.call, reason, is_sent=one.is_sent, can_retry=True)

        return decide_all(self.session, decide, self.clock())

    def _take_part(self, splitter: EventSplitter, data: bytes, *, is_end: bool) -> bytes:
        events = list(splitter.feed(data))
        if is_end:
            events += splitter.end()
        parts = [take_event(self.session, event, self.clock(), self.note) for event in events]
        if is_end and self._open():
            reason = "The MCP server's stream ended without an answer."
            lines = decide_all(
                self.session,
                lambda exchange, one: exchange.answer_lost(
                    one.call, reason, is_sent=True, can_retry=True
                ),
                self.clock(),
            )
            parts += [write_event(line.strip()) for line in lines]
        return b"".join(parts)

    def _open(self) -> list[Open]:
        return list(self.session.iter_open())
