"""
Content encodings: decoding a body piece by piece, with a bound on what one piece becomes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, Final


#: What a client's ``Accept-Encoding`` may let through: what can be decoded here.
DECODABLE: Final = frozenset({"gzip", "x-gzip", "deflate", "identity"})

_PIECE: Final = 1 << 18

#: Window sizes of zlib: gzip and zlib by their headers, and deflate without one.
_DETECT: Final = zlib.MAX_WBITS | 32
_BARE: Final = -zlib.MAX_WBITS

_GZIP: Final = b"\x1f\x8b"


class EncodingError(Exception):
    """
    A body that is not in the encoding that its headers name.
    """


class Decoder:
    """
    Decodes one body.

    Args:
        encoding: The value of ``Content-Encoding``; "" for none.
    """

    def __init__(self, encoding: str) -> None:
        """
        Start at the beginning of a body.
        """
        name = encoding.strip().lower()
        self.is_known: Final = name in DECODABLE or not name
        self._is_plain = name in {"", "identity"}
        self._inflate: Any = None
        self._head = b""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """
        Yield what a chunk becomes, in pieces of bounded length.

        Raises:
            EncodingError: The bytes are not in that encoding.
        """
        if self._is_plain:
            yield chunk
            return
        rest, self._head = self._head + chunk, b""
        if self._inflate is None and len(rest) < len(_GZIP):
            self._head = rest
            return
        inflate = self._inflate = self._inflate or zlib.decompressobj(_window(rest))
        while rest and not inflate.eof:
            try:
                piece = inflate.decompress(rest, _PIECE)
            except zlib.error as exc:
                raise EncodingError(str(exc)) from None
            rest = inflate.unconsumed_tail
            if piece:
                yield piece


def _window(head: bytes) -> int:
    """
    Return the window size for a body: some servers mean the bare format by "deflate".
    """
    method, check = head[0] & 0x0F, int.from_bytes(head[:2])
    is_zlib = method == zlib.DEFLATED and check % 31 == 0
    return _DETECT if is_zlib or head.startswith(_GZIP) else _BARE


def decode(body: bytes, encoding: str, limit: int) -> bytes | None:
    """
    Return a whole body decoded; None if that is not possible, or longer than the limit.

    Args:
        body: The bytes that came.
        encoding: The value of ``Content-Encoding``; "" for none.
        limit: The longest result, in bytes.
    """
    decoder = Decoder(encoding)
    if not decoder.is_known:
        return None
    pieces: list[bytes] = []
    size = 0
    try:
        for piece in decoder.feed(body):
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                return None
    except EncodingError:
        return None
    return b"".join(pieces)


def accept_only_decodable(value: str) -> str:
    """
    Return a client's ``Accept-Encoding`` without what can't be decoded here.
    """
    offered = [part.strip() for part in value.split(",")]
    kept = [part for part in offered if part.partition(";")[0].strip().lower() in DECODABLE]
    return ", ".join(kept) or "identity"
