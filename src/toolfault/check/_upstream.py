"""
A broken upstream on the loopback interface: what a server under check talks to instead of its own.

Rule 1: it listens on 127.0.0.1 only, contacts nobody, and keeps nothing that it reads; behind
HTTPS_PROXY it is every host, with certificates of its own.
Rule 2: only what was answered with the behaviour counts as a request, so that a server that never
came is known.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Final, Self

from toolfault._codes import McpErrorCode
from toolfault.check._certificates import Authority
from toolfault.check._model import Expected, Kind, Provocation


#: The seconds that the upstream asks for with 429: more than a server may take to answer, so that
#: one that sleeps through them is found.
WAIT: Final = 37

#: How much of a request is read, in bytes, and how many connections are served at once.
_MAX_HEAD: Final = 64 * 1024
_MAX_BODY: Final = 16 * 1024 * 1024
_MAX_CONNECTIONS: Final = 256

_CHUNK: Final = 64 * 1024

_PAGE: Final = (
    b"<!DOCTYPE html><html><head><title>Sign in</title></head>"
    b"<body><h1>Sign in to continue</h1><form method=post></form></body></html>"
)
_JUNK: Final = b'{"data": [{"id": 1, "name": "\xff\xfe\x00'


@dataclass(frozen=True, slots=True)
class Behaviour:
    """
    One way to be broken.

    Attributes:
        name: Its name, as in `Provocation.upstream`.
        expected: What a server should make of it.
        status: The HTTP status; 0: there is no response.
        headers: The response's headers.
        body: The response's body.
        is_reset: Whether the connection is reset; without it and without a status, the upstream
            stays silent.
    """

    name: str
    expected: Expected
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    is_reset: bool = False


_JSON: Final = {"Content-Type": "application/json"}
_HTML: Final = {"Content-Type": "text/html; charset=utf-8"}

_REFUSED: Final = Expected(frozenset({McpErrorCode.PERMISSION_DENIED}), is_transient=False)
_LIMITED: Final = Expected(frozenset({McpErrorCode.QUOTA_EXCEEDED}), is_transient=True, wait=WAIT)
_OUTAGE: Final = Expected(frozenset({McpErrorCode.INTERNAL}), is_transient=True)
#: Whether a page in the place of data goes away by itself is unknown.
_NONSENSE: Final = Expected(frozenset({McpErrorCode.INTERNAL}))
_LATE: Final = Expected(frozenset({McpErrorCode.TOOL_TIMEOUT}), is_transient=True)

_ALL: Final = (
    Behaviour("401", _REFUSED, 401, _JSON, b'{"message": "Bad credentials"}'),
    Behaviour("403", _REFUSED, 403, _JSON, b'{"message": "Forbidden"}'),
    Behaviour(
        "429",
        _LIMITED,
        429,
        {**_JSON, "Retry-After": str(WAIT)},
        b'{"message": "Too many requests"}',
    ),
    Behaviour("500", _OUTAGE, 500, _JSON, b'{"message": "Internal server error"}'),
    Behaviour("503", _OUTAGE, 503, _JSON, b'{"message": "Service unavailable"}'),
    Behaviour("html", _NONSENSE, 200, _HTML, _PAGE),
    Behaviour("junk", _NONSENSE, 200, _JSON, _JUNK),
    Behaviour("silence", _LATE),
    Behaviour("reset", _OUTAGE, is_reset=True),
)

BEHAVIOURS: Final[Mapping[str, Behaviour]] = {behaviour.name: behaviour for behaviour in _ALL}


def upstream_provocations(tool: str, arguments: Mapping[str, Any]) -> tuple[Provocation, ...]:
    """
    Return one provocation of a tool for each behaviour of a broken upstream, and a cancelled one.

    Args:
        tool: The tool's name.
        arguments: Arguments that work while the upstream does; the author gives them.
    """
    found = [
        Provocation(
            f"upstream-{behaviour.name}",
            f"upstream {behaviour.name}",
            Kind.UPSTREAM,
            params={"name": tool, "arguments": dict(arguments)},
            tool=tool,
            upstream=behaviour.name,
            expected=behaviour.expected,
        )
        for behaviour in _ALL
    ]
    silent = found[list(BEHAVIOURS).index("silence")]
    # A call that waits for its upstream can be cancelled in flight for sure.
    cancelled = replace(silent, id="cancelled-in-flight", kind=Kind.CANCELLED)
    return (*found, cancelled)


class BrokenUpstream:
    """
    An HTTP server and HTTPS proxy in a thread that breaks each request in the chosen way.

    It is a context manager; leaving it closes it. `behave` and the counts are safe from any thread.
    """

    def __init__(self) -> None:
        """
        Listen, and start the thread.
        """
        self._behaviour = BEHAVIOURS["503"]
        self._requests = 0
        self._tunnels = 0
        self._authority: Authority | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=_MAX_CONNECTIONS)
        self._port: int = self._listener.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self._thread = threading.Thread(
            target=self._run, name="toolfault-broken-upstream", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """
        The address, to be the value of an environment variable.
        """
        return f"http://127.0.0.1:{self._port}"

    @property
    def environment(self) -> Mapping[str, str]:
        """
        The variables that make a process trust the upstream's certificates, for HTTPS_PROXY.

        Without them an upstream behind HTTPS_PROXY refuses tunnels.
        """
        if self._authority is None:
            self._authority = _make_authority()
        return {} if self._authority is None else self._authority.environment

    @property
    def requests(self) -> int:
        """
        How many requests were answered with the behaviour since it was chosen.
        """
        return self._requests

    @property
    def tunnels(self) -> int:
        """
        How many HTTPS connections a proxy was asked for.
        """
        return self._tunnels

    def behave(self, name: str) -> None:
        """
        Choose how requests are answered from now on, and count from 0.

        Args:
            name: A name in `BEHAVIOURS`.

        Raises:
            KeyError: There is no such behaviour.
        """
        self._behaviour = BEHAVIOURS[name]
        self._requests = 0
        self._tunnels = 0

    def describe_absence(self, variable: str) -> str:
        """
        Return why nothing was provoked; "" if a request was answered with the behaviour.

        Args:
            variable: The environment variable that points the server here.
        """
        if self._requests:
            return ""
        if self._tunnels:
            return (
                "The server reaches its upstream over HTTPS, and did not trust the certificate of"
                " the broken one; name the variable that holds the upstream's URL."
            )
        return f"The server sent no request to the address in {variable}."

    def close(self) -> None:
        """
        Close all connections, and end the thread; a second call does nothing.
        """
        if self._thread.is_alive():
            with suppress(RuntimeError):
                # It has ended meanwhile.
                self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join()
        if self._authority is not None:
            self._authority.close()

    def __enter__(self) -> Self:
        """
        Return the upstream, which listens already.
        """
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """
        Close it.
        """
        self.close()

    # ---- in the thread

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._accept, sock=self._listener, limit=_MAX_HEAD)
        await self._stopped.wait()
        server.close()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # What is aborted is closed in the next turn of the loop.
        await asyncio.sleep(0)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= _MAX_CONNECTIONS:
            writer.transport.abort()
            return
        self._start(_close_after(self._answer(reader, writer), writer))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """
        Answer one request; each connection carries one.
        """
        first = await reader.readexactly(1)
        if not first.isalpha():
            # The hello of TLS, or no HTTP at all: it would wait for an answer of its own kind.
            return
        head = first + await reader.readuntil(b"\r\n\r\n")
        method, _, rest = head.partition(b" ")
        if method.upper() != b"CONNECT":
            await self._break(reader, writer, method.upper())
        elif await self._open_tunnel(rest.partition(b" ")[0], writer):
            head = await reader.readuntil(b"\r\n\r\n")
            await self._break(reader, writer, head.partition(b" ")[0].upper())

    async def _open_tunnel(self, target: bytes, writer: asyncio.StreamWriter) -> bool:
        """
        Speak TLS as the host that a client of a proxy asks for; return whether that is possible.
        """
        # Until the first request it is not known whether the client takes the certificate.
        self._tunnels += 1
        host = target.decode("ascii", "replace").rpartition(":")[0].strip("[]")
        context = None if self._authority is None else self._authority.context_for(host)
        if context is None:
            await _respond(writer, _NO_TUNNEL, b"CONNECT")
            return False
        writer.write(b"HTTP/1.1 200 Connection Established\r\n\r\n")
        await writer.start_tls(context)
        return True

    async def _break(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, method: bytes
    ) -> None:
        self._requests += 1
        behaviour = self._behaviour
        if behaviour.is_reset:
            _reset(writer)
            return
        if behaviour.status:
            await _respond(writer, behaviour, method)
        await _read_on(reader)


def _make_authority() -> Authority | None:
    try:
        return Authority()
    except ImportError:
        # mcp installs cryptography; without it, HTTPS can't be broken.
        return None


#: What a proxy says that has no way to the upstream.
_NO_TUNNEL: Final = Behaviour("502", _OUTAGE, 502)


async def _close_after(work: Coroutine[Any, Any, None], writer: asyncio.StreamWriter) -> None:
    try:
        await work
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        # The server went away, or sent what is not HTTP.
        pass
    finally:
        writer.transport.abort()


async def _respond(writer: asyncio.StreamWriter, behaviour: Behaviour, method: bytes) -> None:
    lines = [f"HTTP/1.1 {behaviour.status} {_REASONS.get(behaviour.status, 'OK')}"]
    lines += [f"{name}: {value}" for name, value in behaviour.headers.items()]
    lines += [f"Content-Length: {len(behaviour.body)}", "Connection: close", "", ""]
    writer.write("\r\n".join(lines).encode())
    if method != b"HEAD":
        writer.write(behaviour.body)
    await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


_REASONS: Final[Mapping[int, str]] = {
    401: "Unauthorized",
    403: "Forbidden",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}


async def _read_on(reader: asyncio.StreamReader) -> None:
    """
    Read until the other end closes: a close with unread bytes would reset the connection.
    """
    size = 0
    while size < _MAX_BODY:
        chunk = await reader.read(_CHUNK)
        if not chunk:
            return
        size += len(chunk)


def _reset(writer: asyncio.StreamWriter) -> None:
    """
    Close a connection with a reset, not with an end.
    """
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
