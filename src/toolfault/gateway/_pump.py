"""
The stdio host: two threads carry lines between the host and the server's process, a third waits.

Rule 1: whoever reads a side writes the other one, so a slow reader slows its writer and nothing
piles up.
Rule 2: the thread that waits writes to the server only what can't block, so that a server that
reads nothing delays no answer.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import signal
import threading
import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from toolfault.gateway._child import Child
from toolfault.gateway._host import Host, read_chunks
from toolfault.gateway._lines import Line, LineSplitter
from toolfault.gateway._options import Options
from toolfault.gateway._restarts import Restarts
from toolfault.gateway._session import Observer, Open, Session


if TYPE_CHECKING:
    from toolfault.gateway._exchange import Exchange


#: Seconds that a restarted server may take to answer the handshake.
_HANDSHAKE: Final = 30.0

#: The longest sleep of the waiting thread without a deadline, in seconds.
_TICK: Final = 60.0

_RESTART_HINT: Final = "Connect to the server again."

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

#: Bytes in the waking pipe that are no signal numbers.
_WAKE, _END = b"\x00", b"\xff"


class Pump:
    """
    A gateway between this process's stdio and a server's process.

    Args:
        options: The options.
        command: The server's program and its arguments.
        observe: Called with each call of a tool that has ended.
    """

    def __init__(
        self, options: Options, command: Sequence[str], observe: Observer | None = None
    ) -> None:
        """
        Prepare; `run` starts the process.
        """
        self._options = options
        self._command = command
        self._lock = threading.Lock()
        self._handshake = threading.Event()
        self._restarts = Restarts(options.restarts)
        self._is_stopping = False
        self._has_answered = False
        self._wake_in, self._wake_out = os.pipe()
        os.set_blocking(self._wake_out, False)
        self._host = Host(options.log, lambda: self._wake(_END))
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

    @cached_property
    def _exchange(self) -> Exchange:
        # Only asked under the lock, so that there is one.
        from toolfault.gateway._exchange import make_exchange  # noqa: PLC0415 -- loaded late

        return make_exchange(self._options)

    def run(self) -> int:
        """
        Carry messages until the host or a signal ends it; return the exit code.

        Raises:
            OSError: The server's program can't be started.
        """
        self._child, self._reader = self._start()
        for number in _SIGNALS:
            signal.signal(number, lambda _number, _frame: None)
        signal.set_wakeup_fd(self._wake_out)
        threading.Thread(target=self._read_host, daemon=True).start()
        code = self._wait()
        self._is_stopping = True
        self._child.stop()
        self._reader.join(1.0)
        return code

    def _start(self) -> tuple[Child, threading.Thread]:
        child = Child(self._command)
        reader = threading.Thread(target=self._read_child, args=(child,), daemon=True)
        reader.start()
        return child, reader

    # ---- the thread that waits

    def _wait(self) -> int:
        while True:
            woken = self._sleep()
            ends = woken.replace(_WAKE, b"")
            if ends.startswith(_END):
                return 0
            if ends:
                return 128 + ends[0]
            if self._has_answered:
                # In time for the first failure, and not before the first answer.
                importlib.import_module("toolfault.gateway._exchange")

            with self._lock:
                due = self._session.due(time.monotonic())
            self._host.write(due.answers)
            for line in due.cancellations:
                self._child.try_write(line)
            for _, line in due.repeats:
                threading.Thread(target=self._child.write, args=(line,), daemon=True).start()

    def _sleep(self) -> bytes:
        with self._lock:
            due = self._session.next_due()
        now = time.monotonic()
        # A later call has a later deadline, so that nothing is missed.
        longest = min(_TICK, self._options.timeout or _TICK)
        seconds = longest if due is None else min(longest, due - now)
        ready, _, _ = select.select([self._wake_in], [], [], max(0.0, seconds))
        return os.read(self._wake_in, 64) if ready else b""

    def _wake(self, reason: bytes = _WAKE) -> None:
        # A full pipe wakes, too.
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_out, reason)

    # ---- from the host

    def _read_host(self) -> None:
        splitter = LineSplitter(self._options.max_line)
        try:
            for chunk in read_chunks(0):
                for line in splitter.feed(chunk):
                    self._from_host(line)
            rest = splitter.rest()
            if rest is not None:
                self._from_host(rest)
        finally:
            self._wake(_END)

    def _from_host(self, line: Line) -> None:
        with self._lock:
            seen = self._session.from_host(line, time.monotonic())
        self._host.write(seen.answers)
        if seen.data:
            self._send(seen.data, seen.opened)

    def _send(self, data: bytes, requests: list[Open]) -> None:
        """
        Write a line to the server, or answer the requests in it.
        """
        if self._child.end is not None and not (requests and self._restart()):
            self._refuse(requests)
            return
        with self._lock:
            child = self._child
            is_alive = child.end is None
            if is_alive and not self._session.mark_sent(requests):
                return
        if not is_alive or not child.write(data):
            for opened in requests:
                opened.is_sent = False
            child.describe_end()
            self._refuse(requests)

    def _refuse(self, requests: Iterable[Open]) -> None:
        end = self._child.end or self._child.describe_end()
        with self._lock:
            answers = self._session.refuse(
                requests,
                f"The MCP server's process {end}, and the request was not sent.",
                time.monotonic(),
                can_retry=self._restarts.is_allowed(time.monotonic()),
                hint=_RESTART_HINT,
            )
        self._host.write(answers)

    # ---- restarts

    def _restart(self) -> bool:
        """
        Start the server again, with the host's own handshake; False if that is not allowed.
        """
        if self._is_stopping or not self._restarts.take(time.monotonic()):
            return False
        self._host.note(f"restarting the server, which {self._child.end}")
        self._handshake.clear()
        with self._lock:
            first = self._session.replay()
        try:
            self._child, self._reader = self._start()
        except OSError as exc:
            self._host.note(f"the server can't be started again: {exc}")
            return False
        if not first:
            return True
        for line in first:
            self._child.write(line)
        if not self._handshake.wait(_HANDSHAKE) or self._child.end is not None:
            return False
        for line in self._session.replay_rest():
            self._child.write(line)
        return True

    # ---- from the server

    def _read_child(self, child: Child) -> None:
        splitter = LineSplitter(self._options.max_line)
        for chunk in read_chunks(child.stdout):
            for line in splitter.feed(chunk):
                self._from_child(line)
        rest = splitter.rest()
        if rest is not None:
            self._from_child(rest)
        end = child.describe_end()
        with self._lock:
            child.end = end
            answers = self._session.lose(
                f"The MCP server's process {end} before it answered.",
                time.monotonic(),
                can_retry=self._restarts.is_allowed(time.monotonic()),
                hint=_RESTART_HINT,
            )
        self._host.write(answers)
        self._handshake.set()

    def _from_child(self, line: Line) -> None:
        with self._lock:
            data = self._judge(line)
            is_done = self._session.handshake_done
            is_planned, self._session.has_planned = self._session.has_planned, False
        if data is not None:
            self._host.write([data])
        if is_done:
            self._handshake.set()
        if is_planned or not self._has_answered:
            self._has_answered = True
            self._wake()

    def _judge(self, line: Line) -> bytes | None:
        try:
            return self._session.from_server(line, time.monotonic())
        except Exception as exc:  # noqa: BLE001 -- a mistake of ours must not end the connection
            self._host.note(
                f"could not judge a line, which leaves as it came: {type(exc).__name__}"
            )
            return line.data
