"""
The server's process: start it, write to it, tell how it ended, and stop it with all its children.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import IO, Final


#: Seconds that a process gets after its stdin was closed, and again after SIGTERM.
GRACE: Final = 2.0


class Child:
    """
    One server process, in a process group of its own.

    It inherits the environment and stderr, unless it is given others.

    Args:
        command: The program and its arguments.
        env: Its environment.
        stderr: Its stderr: a file, or a number of `subprocess`.

    Raises:
        OSError: The program can't be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        stderr: IO[bytes] | int | None = None,
    ) -> None:
        """
        Start the process.
        """
        ours, theirs = os.pipe(), os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 -- the operator's command
                command,
                stdin=theirs[0],
                stdout=ours[1],
                stderr=stderr,
                env=env,
                start_new_session=True,
            )
        finally:
            os.close(theirs[0])
            os.close(ours[1])
        self._stdin: int | None = theirs[1]
        self.stdout: Final = ours[0]
        self._lock: Final = threading.Lock()
        self._has_ended: Final = threading.Event()
        self.end: str | None = None
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        """
        Wait for the process; then end what it has started, which may keep its stdout open.
        """
        self._process.wait()
        self._signal(signal.SIGKILL)
        self._has_ended.set()

    def write(self, data: bytes) -> bool:
        """
        Write all of a line, and tell whether the process may have read it whole. May block.
        """
        with self._lock:
            return self._write(data)

    def try_write(self, data: bytes) -> bool:
        """
        Write a short line if that can't block, and tell whether it was written.
        """
        if len(data) > select.PIPE_BUF or not self._lock.acquire(blocking=False):
            return False
        try:
            if self._stdin is None or not select.select([], [self._stdin], [], 0)[1]:
                return False
            return self._write(data)
        finally:
            self._lock.release()

    def _write(self, data: bytes) -> bool:
        rest = memoryview(data)
        if self._stdin is None:
            return False
        try:
            while rest:
                rest = rest[os.write(self._stdin, rest) :]
        except OSError:
            # Without its line break a line may still be read.
            return len(rest) <= 1
        return True

    def close_stdin(self) -> None:
        """
        Close the process's stdin, unless a write is blocked in it.
        """
        if self._lock.acquire(blocking=False):
            if self._stdin is not None:
                os.close(self._stdin)
            self._stdin = None
            self._lock.release()

    def wait(self, seconds: float) -> bool:
        """
        Wait for the process, and tell whether it has ended.
        """
        return self._has_ended.wait(seconds)

    def stop(self, grace: float = GRACE) -> None:
        """
        End the process: close its stdin, then SIGTERM, then SIGKILL, each to the whole group.

        Args:
            grace: Seconds between the steps.
        """
        self.close_stdin()
        if not self.wait(grace):
            self._signal(signal.SIGTERM)
            if not self.wait(grace):
                self._signal(signal.SIGKILL)
            self._has_ended.wait()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def describe_end(self) -> str:
        """
        Return how the process ended, as the rest of a sentence; it is stopped if it has not.
        """
        if not self.wait(1.0):
            self.stop()
            return "closed its output and was stopped"
        code = self._process.returncode
        if code >= 0:
            return f"ended with exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"was killed by {name}"
