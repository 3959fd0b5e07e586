"""
A client that sees what SDKs hide: bytes, statuses, ids, second answers, noise, a process's end.

Rule 1: nothing here waits without a deadline.
Rule 2: no message is repaired; what is not JSON stays bytes.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from toolfault.check._model import Answer, Exchange, Kind, Provocation
from toolfault.check._wire import (
    INITIALIZE,
    Hello,
    answer_to,
    as_object,
    decode,
    encode,
    is_answer,
    is_message,
    is_object,
    is_same_id,
    notification,
    read_hello,
    request,
)
from toolfault.gateway._child import Child
from toolfault.gateway._lines import LineSplitter


#: The longest message that is read whole, in bytes.
MAX_MESSAGE: Final = 64 * 1024 * 1024

#: Seconds that a server has at most to say that it is alive.
PING: Final = 5.0

#: How much noise, and how many answers to one request, are kept.
_MAX_KEPT: Final = 20

#: How much of one line of noise is kept, in bytes.
_MAX_NOISE: Final = 500

#: How much of stderr is kept, in bytes.
_MAX_SAID: Final = 2000

#: How many lines wait to be looked at; each may be as long as a message.
_MAX_WAITING: Final = 4

_CHUNK: Final = 65536

#: Seconds between the steps that end a process.
_GRACE: Final = 0.5


class NotStartedError(Exception):
    """
    The server did not start, or did not finish its handshake; the text says why.
    """


class Served(Protocol):
    """
    A server that runs: a process, or a thread of this one.
    """

    @property
    def stdout(self) -> int:
        """
        The file descriptor of what it writes.
        """
        ...

    def write(self, data: bytes) -> bool:
        """
        Write all of a line, and tell whether it may have been read whole. May block.
        """
        ...

    def stop(self, grace: float) -> object:
        """
        End it.
        """
        ...

    def describe_end(self) -> str:
        """
        Return how it ended, as the rest of a sentence.
        """
        ...


class Client(ABC):
    """
    A connection to a server.
    """

    hello: Hello

    #: Whether the server gave the connection a session.
    has_session: bool = False

    def __init__(self) -> None:
        """
        Start to count requests.
        """
        self._number = 0

    @abstractmethod
    def connect(self, timeout: float) -> Hello:
        """
        Shake hands with the server.

        Args:
            timeout: Seconds.

        Raises:
            NotStartedError: There is no answer that an MCP server would give.
        """

    @abstractmethod
    def ask(self, method: str, params: Mapping[str, Any], timeout: float) -> Any:
        """
        Return the answer to a request as a JSON value; None if none comes in time.
        """

    @abstractmethod
    def provoke(self, provocation: Provocation, timeout: float, listen: float) -> Exchange:
        """
        Send a provocation, and return what comes.

        Args:
            provocation: What to send.
            timeout: Seconds until an answer is given up.
            listen: Seconds to wait for an answer that must not come.
        """

    @abstractmethod
    def close(self) -> None:
        """
        Close the connection, and end a process that was started.
        """

    def next_id(self) -> int | str:
        """
        Return the next request's id: two numbers and two texts in turns.

        So each provocation has another kind of id than the one before, a ping being between them.
        """
        self._number += 1
        return f"check-{self._number}" if self._number & 2 else self._number

    def message(self, provocation: Provocation, request_id: int | str) -> bytes:
        """
        Return the bytes of a provocation.
        """
        if provocation.raw is not None:
            return provocation.raw
        is_modern = self.hello.is_modern
        return encode(
            request(request_id, provocation.method, provocation.params, is_modern=is_modern)
        )

    @property
    def liveness(self) -> str:
        """
        The method that tells whether the server is alive.
        """
        return "server/discover" if self.hello.is_modern else "ping"


class StdioClient(Client):
    """
    A server that is started as a process, in a group of its own.

    Args:
        command: The program and its arguments.
        env: What its environment has besides ours.
        is_modern: Whether to speak the era without a handshake.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        *,
        is_modern: bool = False,
    ) -> None:
        """
        Prepare; `connect` starts the process.
        """
        super().__init__()
        self._command = command
        self._env = {**os.environ, **(env or {})}
        self._is_modern = is_modern
        # Short, so that a flood waits in the server and not in our memory.
        self._lines: queue.Queue[bytes | None] = queue.Queue(_MAX_WAITING)
        self._noise: list[bytes] = []
        self._has_ended = False
        self._is_closed = False
        self._child: Served | None = None
        self._threads: list[threading.Thread] = []
        self._said = b""

    def connect(self, timeout: float) -> Hello:
        """
        Start the process, and shake hands; see `Client.connect`.
        """
        self._child = self._start()
        method = "server/discover" if self._is_modern else "initialize"
        params: Mapping[str, Any] = {} if self._is_modern else INITIALIZE
        self.hello = Hello("", "9999" if self._is_modern else "")
        answer = self.ask(method, params, timeout)
        result = as_object(answer).get("result")
        if not is_object(result):
            raise NotStartedError(self._describe_silence(answer, method, timeout))
        self.hello = read_hello(result, is_modern=self._is_modern)
        if not self._is_modern:
            self._send(encode(notification("notifications/initialized")))
        return self.hello

    def ask(self, method: str, params: Mapping[str, Any], timeout: float) -> Any:
        """
        See `Client.ask`.
        """
        request_id = self.next_id()
        self._send(encode(request(request_id, method, params, is_modern=self.hello.is_modern)))
        return self._wait_for(request_id, timeout, [])

    def provoke(self, provocation: Provocation, timeout: float, listen: float) -> Exchange:
        """
        See `Client.provoke`.
        """
        request_id = self.next_id()
        found: list[Answer] = []
        began = time.monotonic()
        self._send(self.message(provocation, request_id))
        is_cancelled = False
        if provocation.kind is Kind.CANCELLED:
            is_cancelled = self._cancel(request_id, listen, found)
        elif provocation.raw is None:
            self._wait_for(request_id, timeout, found)
        elapsed = time.monotonic() - began
        is_alive = self._is_alive(min(timeout, PING), found)
        # What came since the last time: also at the server's start.
        noise, self._noise = tuple(self._noise), []
        return Exchange(
            provocation,
            request_id,
            tuple(found),
            noise,
            elapsed,
            is_alive,
            self._describe_end() if self._has_ended else None,
            protocol=self.hello.protocol,
            is_cancelled=is_cancelled,
        )

    def _cancel(self, request_id: int | str, listen: float, found: list[Answer]) -> bool:
        """
        Cancel a request that is not answered soon, and tell whether it was cancelled.
        """
        # The tool has to run first.
        if self._wait_for(request_id, listen, found) is not None or self._has_ended:
            return False
        params = {"requestId": request_id, "reason": "The checker cancels it."}
        self._send(encode(notification("notifications/cancelled", params)))
        self._wait_for(request_id, listen, found)
        return True

    def close(self) -> None:
        """
        End the process with all that it has started.
        """
        self._is_closed = True
        if self._child is not None:
            self._child.stop(_GRACE)
        until = time.monotonic() + _GRACE
        while any(map(threading.Thread.is_alive, self._threads)) and time.monotonic() < until:
            # What waits to be read would keep the reader waiting.
            with contextlib.suppress(queue.Empty):
                self._lines.get(timeout=0.01)

    # ---- reading and writing

    def _start(self) -> Served:
        theirs, ours = os.pipe()
        try:
            child = Child(self._command, env=self._env, stderr=ours)
        except OSError as exc:
            os.close(theirs)
            raise NotStartedError(
                f"{self._command[0]!r} can't be started: {exc.strerror}."
            ) from None
        finally:
            os.close(ours)
        for target, stream in ((self._read, child.stdout), (self._read_stderr, theirs)):
            thread = threading.Thread(target=target, args=(stream,), daemon=True)
            thread.start()
            self._threads.append(thread)
        return child

    def _send(self, data: bytes) -> None:
        if self._child is None:
            return
        # A server that does not read blocks the thread, and not us.
        write = threading.Thread(target=self._child.write, args=(data + b"\n",), daemon=True)
        write.start()
        write.join(1.0)

    def _read(self, stdout: int) -> None:
        splitter = LineSplitter(MAX_MESSAGE)
        while chunk := self._read_chunk(stdout):
            for line in splitter.feed(chunk):
                self._hand_over(line.data)
        rest = splitter.rest()
        if rest is not None:
            self._hand_over(rest.data)
        self._hand_over(None)
        os.close(stdout)

    def _hand_over(self, line: bytes | None) -> None:
        # After `close` nobody looks.
        if not self._is_closed:
            self._lines.put(line)

    def _read_stderr(self, stderr: int) -> None:
        while chunk := self._read_chunk(stderr):
            self._said = (self._said + chunk)[-_MAX_SAID:]
        os.close(stderr)

    @staticmethod
    def _read_chunk(stdout: int) -> bytes:
        try:
            return os.read(stdout, _CHUNK)
        except OSError:
            return b""

    def _wait_for(self, request_id: int | str, timeout: float, found: list[Answer]) -> Any:
        """
        Return the answer to a request, and collect all others; None if it does not come in time.
        """
        until = time.monotonic() + timeout
        while not self._has_ended:
            try:
                line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                return None
            if line is None:
                self._has_ended = True
                return None
            message = self._take(line, found)
            if is_answer(message) and is_same_id(message.get("id"), request_id):
                return message
            if time.monotonic() > until:
                # A flood of other messages.
                return None
        return None

    def _take(self, line: bytes, found: list[Answer]) -> Any:
        """
        Return the message in a line; keep answers and noise, and answer the server's own requests.
        """
        stripped = line.strip()
        message = decode(stripped)
        if message is None or not is_message(message):
            if stripped and len(self._noise) < _MAX_KEPT:
                self._noise.append(stripped[:_MAX_NOISE])
            return None
        answer = answer_to(message)
        if answer is not None:
            self._send(encode(answer))
        if is_answer(message) and len(found) < _MAX_KEPT:
            found.append(Answer(stripped, message))
        return message

    def _is_alive(self, timeout: float, found: list[Answer]) -> bool:
        """
        Tell whether the server answers; answers to earlier requests are collected meanwhile.
        """
        request_id = self.next_id()
        params: dict[str, Any] = {}
        self._send(
            encode(request(request_id, self.liveness, params, is_modern=self.hello.is_modern))
        )
        other: list[Answer] = []
        answer = self._wait_for(request_id, timeout, other)
        found += [one for one in other if one.value is not answer]
        return answer is not None

    # ---- sentences

    def _describe_end(self) -> str:
        return "" if self._child is None else self._child.describe_end()

    def _describe_silence(self, answer: Any, method: str, timeout: float) -> str:
        said = self._last_words()
        if self._has_ended:
            return f"The server {self._describe_end()} before it answered {method}.{said}"
        if answer is None:
            return f"The server did not answer {method} within {timeout:g} seconds.{said}"
        error = as_object(as_object(answer).get("error"))
        return f"The server refused {method}: {str(error.get('message', ''))[:200]!r}.{said}"

    def _last_words(self) -> str:
        """
        Return the last line on stderr, as a sentence to append.
        """
        if self._has_ended:
            self._threads[-1].join(_GRACE)
        lines = self._said.decode(errors="replace").strip().splitlines()
        return f" Its last line on stderr: {lines[-1].strip()[:300]}" if lines else ""
