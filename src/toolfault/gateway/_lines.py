"""
Lines on stdio: cutting a stream into lines, and reading and writing the messages in them.

Rule 1: the work is linear in the bytes that come, and no line takes more memory than its cap.
Rule 2: a message that every JSON parser reads leaves as the bytes that came; others are repaired.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final


#: How much of a line that is too long is kept, in bytes, to find its id.
_HEAD: Final = 4096

_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """
    One line of a stream.

    Attributes:
        data: The bytes with their line break; of a line that is too long, its beginning.
        is_whole: Whether `data` is all of it.
    """

    data: bytes
    is_whole: bool = True


class LineSplitter:
    """
    Cuts chunks of bytes into lines.

    Args:
        limit: The longest line, in bytes.
    """

    __slots__ = ("_chunks", "_is_skipping", "_limit", "_size")

    def __init__(self, limit: int) -> None:
        """
        Start at the beginning of a line.
        """
        self._limit = limit
        self._chunks: list[bytes] = []
        self._size = 0
        self._is_skipping = False

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """
        Yield the lines that end in a chunk.
        """
        start = 0
        while (end := chunk.find(b"\n", start) + 1) > 0:
            self._add(chunk[start:end])
            yield self._take()
            start = end
        self._add(chunk[start:])

    def rest(self) -> Line | None:
        """
        Return the line that the end of the stream leaves without a line break; None if none is.
        """
        if self._size == 0:
            return None
        if not self._is_skipping:
            self._chunks.append(b"\n")
        return self._take()

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._is_skipping:
            return
        self._chunks.append(part)
        if self._size > self._limit:
            self._is_skipping = True
            self._chunks = [b"".join(self._chunks)[:_HEAD]]

    def _take(self) -> Line:
        line = Line(b"".join(self._chunks), not self._is_skipping)
        self._chunks, self._size, self._is_skipping = [], 0, False
        return line


@dataclass(frozen=True, slots=True)
class Parsed:
    """
    One line as JSON.

    Attributes:
        messages: The messages; several if the line is a batch.
        is_batch: Whether they came as an array.
        is_repaired: Whether the bytes must be written anew, since strict parsers refuse them.
    """

    messages: list[Any]
    is_batch: bool
    is_repaired: bool


def parse_line(data: bytes) -> Parsed | None:
    """
    Return the messages of a line; None if it holds no JSON object or array.

    Raises:
        RecursionError: The JSON is nested too deeply to be read.
    """
    constants: list[str] = []
    is_repaired = data.startswith(_BOM)
    try:
        text = data.removeprefix(_BOM).decode()
    except UnicodeDecodeError:
        is_repaired = True
        text = data.removeprefix(_BOM).decode(errors="replace")
    try:
        value = json.loads(text, parse_constant=constants.append)
    except ValueError:
        is_repaired = True
        value = _parse_leniently(text)
    if not isinstance(value, dict | list):
        return None
    is_batch = isinstance(value, list)
    messages: list[Any] = list(value) if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownArgumentType] -- parsed JSON
    return Parsed(messages, is_batch, is_repaired or bool(constants))


def _parse_leniently(text: str) -> Any:
    """
    Return JSON with raw control characters in its strings, or integers too long for Python.
    """
    try:
        return json.loads(text, strict=False, parse_constant=_null, parse_int=_integer)
    except ValueError:
        return None


def _null(_name: str) -> None:
    return None


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < 4000 else float(digits)


def write_line(message: object) -> bytes:
    """
    Return a message as one line of ASCII that every JSON parser reads.
    """
    try:
        text = json.dumps(message, allow_nan=False, separators=(",", ":"))
        if "\\ud" in text:
            json.dumps(message, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        from toolfault.gateway._exchange import to_jsonable  # noqa: PLC0415 -- loaded late

        text = json.dumps(to_jsonable(message), separators=(",", ":"))
    return text.encode() + b"\n"


#: The id of a message near the beginning of a line: a number or a text without escapes.
_ID: Final = re.compile(rb'"id"\s{0,8}:\s{0,8}(-?[0-9]{1,300}|"[^"\\]{0,1000}")\s{0,8}[,}]')
_PAYLOAD: Final = re.compile(rb'"(?:result|error|params|method)"\s{0,8}:')


def find_id(head: bytes) -> Any:
    """
    Return the id in the beginning of a line that can't be parsed; None if it can't be found.
    """
    found = _ID.search(head, 0, _HEAD)
    payload = _PAYLOAD.search(head, 0, _HEAD)
    if found is None or (payload is not None and payload.start() < found.start()):
        return None
    return json.loads(found[1].decode(errors="replace"), strict=False)
