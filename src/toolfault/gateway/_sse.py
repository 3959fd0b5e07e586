"""
Server-sent events: cutting a stream of bytes into events.

Rule 1: the work is linear in the bytes that come, and no event takes more memory than its cap.
Rule 2: the `Event.raw` of all events, and the rest, are together the bytes that came.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final


_BOM: Final = b"\xef\xbb\xbf"

#: How much of an event that is too long is kept, in bytes, to find the id of its message.
_HEAD: Final = 4096

_BREAK: Final = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Event:
    """
    One event.

    Attributes:
        raw: The bytes that came, up to the empty line; of an event that is too long, its beginning.
        data: The lines of ``data``, joined by line breaks. None: it has none.
        name: The type; "message" if it says none.
        id: The id. None: it has none.
        retry: Milliseconds to wait before a reconnection. None: it says nothing.
        is_whole: Whether `raw` is all of it.
    """

    raw: bytes
    data: bytes | None = None
    name: str = "message"
    id: str | None = None
    retry: int | None = None
    is_whole: bool = True


@dataclass(slots=True)
class _Fields:
    """
    The fields of the event that is being read.
    """

    data: list[bytes] = field(default_factory=list[bytes])
    name: str = ""
    id: str | None = None
    retry: int | None = None

    def add(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self.data.append(value)
        elif name == b"event":
            self.name = value.decode(errors="replace")
        elif name == b"id" and b"\0" not in value:
            self.id = value.decode(errors="replace")
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            self.retry = int(value)


class EventSplitter:
    """
    Cuts chunks of bytes into events. A comment alone is an event without data, too.

    Args:
        limit: The longest event, in bytes.
    """

    __slots__ = (
        "_fields",
        "_has_begun",
        "_is_after_cr",
        "_is_blank",
        "_is_too_long",
        "_limit",
        "_line",
        "_raw",
    )

    def __init__(self, limit: int) -> None:
        """
        Start at the beginning of a stream.
        """
        self._limit = limit
        self._raw = bytearray()
        self._line = bytearray()
        self._is_blank = True
        self._fields = _Fields()
        self._has_begun = False
        self._is_after_cr = False
        self._is_too_long = False

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """
        Yield the events that end in a chunk.
        """
        start = 0
        if self._is_after_cr and chunk:
            # The second half of a line break.
            self._is_after_cr = False
            if chunk.startswith(b"\n"):
                self._keep(b"\n")
                start = 1
        for found in _BREAK.finditer(chunk, start):
            self._read(chunk[start : found.start()])
            self._keep(found[0])
            start = found.end()
            event = self._end_line()
            if event is not None:
                yield event
        self._read(chunk[start:])
        self._is_after_cr = self._is_after_cr or (start == len(chunk) and chunk.endswith(b"\r"))

    def rest(self) -> bytes:
        """
        Return the bytes after the last event; the standard ignores an event that does not end.
        """
        return bytes(self._raw)

    def end(self) -> Iterator[Event]:
        """
        Yield what the end of the stream leaves.

        That is an event without its empty line, which some servers send, or the second half of a
        line break.
        """
        rest = self.rest()
        if rest.strip(b"\r\n"):
            yield from self.feed(b"\n\n")
        elif rest:
            yield Event(rest)

    def _read(self, part: bytes) -> None:
        self._keep(part)
        self._is_blank = self._is_blank and not part
        if not self._is_too_long:
            self._line += part

    def _keep(self, part: bytes) -> None:
        if self._is_too_long:
            return
        self._raw += part
        if len(self._raw) > self._limit:
            self._is_too_long = True
            del self._raw[_HEAD:]

    def _end_line(self) -> Event | None:
        line, self._line = bytes(self._line), bytearray()
        is_blank, self._is_blank = self._is_blank, True
        if not self._has_begun:
            self._has_begun = True
            line = line.removeprefix(_BOM)
            is_blank = is_blank or (not line and not self._is_too_long)
        if is_blank:
            return self._take()
        if not self._is_too_long:
            self._fields.add(line)
        return None

    def _take(self) -> Event:
        raw, fields, is_whole = bytes(self._raw), self._fields, not self._is_too_long
        self._raw, self._fields, self._is_too_long = bytearray(), _Fields(), False
        data = b"\n".join(fields.data) if fields.data and is_whole else None
        return Event(raw, data, fields.name or "message", fields.id, fields.retry, is_whole)
