"""
The host's side of a gateway over stdio: lines for the host, notes on stderr, and the log.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TextIO

from toolfault.gateway._calls import Call


if TYPE_CHECKING:
    from toolfault.gateway._exchange import Replace


_CHUNK: Final = 1 << 18

#: How many lines the gateway itself writes to stderr.
_MAX_NOTES: Final = 100


def read_chunks(file: int) -> Iterator[bytes]:
    """
    Yield what can be read from a file descriptor until it ends.
    """
    with contextlib.suppress(OSError):
        while chunk := os.read(file, _CHUNK):
            yield chunk


class Journal:
    """
    The stderr of this process, and the log of failures. Safe from several threads.

    Args:
        log: The file for one JSON line per failure. None: no file.

    Raises:
        OSError: The log can't be opened.
    """

    def __init__(self, log: str | None) -> None:
        """
        Open the log.
        """
        self._notes = 0
        self._log: TextIO | None = None
        if log is not None:
            self._log = open(log, "a", encoding="utf-8")  # noqa: SIM115, PTH123 -- open to the end

    def note(self, sentence: str) -> None:
        """
        Write a sentence to stderr; only so many, whatever a server sends.
        """
        self._notes += 1
        if self._notes <= _MAX_NOTES:
            self.tell(sentence)

    def tell(self, sentence: str) -> None:
        """
        Write a sentence to stderr.
        """
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"toolfault gateway: {sentence}\n")
            sys.stderr.flush()

    def report(self, call: Call, replaced: Replace) -> None:
        """
        Write a failure into the log.
        """
        if self._log is None or replaced.fault is None:
            return
        from toolfault.gateway._exchange import log_entry, to_jsonable  # noqa: PLC0415 -- loaded by now

        entry: dict[str, Any] = {"time": datetime.now(UTC).isoformat()}
        entry.update(log_entry(call, replaced.fault))
        with contextlib.suppress(OSError, ValueError):
            self._log.write(json.dumps(to_jsonable(entry)) + "\n")
            self._log.flush()


class Host(Journal):
    """
    The stdout of this process besides its journal. Safe from several threads.

    Args:
        log: The file for one JSON line per failure. None: no file.
        on_gone: Called when the host reads no more.

    Raises:
        OSError: The log can't be opened.
    """

    def __init__(self, log: str | None, on_gone: Callable[[], object]) -> None:
        """
        Take stdout over: what else prints to it goes to stderr, not into the protocol.
        """
        super().__init__(log)
        self._on_gone = on_gone
        self._lock = threading.Lock()
        self._out = os.dup(1)
        os.dup2(2, 1)

    def write(self, lines: Iterable[bytes]) -> None:
        """
        Write lines to the host. May block.
        """
        with self._lock:
            for line in lines:
                rest = memoryview(line)
                try:
                    while rest:
                        rest = rest[os.write(self._out, rest) :]
                except OSError:
                    self._on_gone()
                    return

    def try_write(self, line: bytes) -> bool:
        """
        Write a short line if that can't block, and tell whether it was written.
        """
        if len(line) > select.PIPE_BUF or not self._lock.acquire(blocking=False):
            return False
        try:
            if not select.select([], [self._out], [], 0)[1]:
                return False
            return os.write(self._out, line) == len(line)
        except OSError:
            self._on_gone()
            return True
        finally:
            self._lock.release()
