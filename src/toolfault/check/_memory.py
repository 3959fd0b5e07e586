"""
A server object in this process, served over pipes, so that the checker sees its bytes.

Rule 1: each connection gets a thread and an event loop of its own: a tool that blocks, exits or
never answers takes neither the checker nor a test's own loop along.
Rule 2: the server's own SDK writes and reads the bytes; nothing is handed over as an object.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from io import TextIOWrapper
from typing import Any, Final, cast

import anyio
import anyio.from_thread
import anyio.lowlevel

from toolfault._exception_chain import leaves_of
from toolfault.check._client import Client, StdioClient
from toolfault.check._model import Outcome, Report
from toolfault.check._plan import OpenClient, Options
from toolfault.check._run import Run


#: Where the low-level server of an `MCPServer`, and of a `FastMCP`, stands.
_INNER: Final = ("_lowlevel_server", "_mcp_server")

_WHY: Final = "The server runs in the test's own process, which has a standard output of its own."


def check_in_memory(server: object, options: Options) -> Report:
    """
    Return the report on a server of this process.

    Args:
        server: The server, or a function that returns a new one for each connection.
        options: What the operator decides.

    Raises:
        TypeError: It is neither.
        NotStartedError: It did not finish its handshake.
    """
    make = _factory(server)
    name = type(make()).__name__
    report = Run(f"{name} in memory", _opener(make), options).check()
    return _without_stdout(report)


def _without_stdout(report: Report) -> Report:
    """
    Return a report that does not praise a server for a standard output that nobody saw.
    """
    kept = tuple(
        result
        for result in report.results
        if result.check != "stdout-clean" or result.outcome is Outcome.FAIL
    )
    if any(result.check == "stdout-clean" for result in kept):
        return report
    return replace(
        report, results=kept, not_applicable={**report.not_applicable, "stdout-clean": _WHY}
    )


def _factory(server: object) -> Callable[[], Any]:
    if _is_server(server):
        return lambda: server
    if callable(server) and not isinstance(server, type):
        make = cast("Callable[[], Any]", server)
        if _is_server(make()):
            return make
    raise TypeError(
        "check takes a server (MCPServer, FastMCP or a low-level Server), or a function that "
        f"returns one, not {server!r}"
    )


def _is_server(value: object) -> bool:
    inner = _inner(value)
    return hasattr(inner, "run") and hasattr(inner, "create_initialization_options")


def _inner(server: object) -> Any:
    for name in _INNER:
        found: Any = getattr(server, name, None)
        if found is not None:
            return found
    return server


def _opener(make: Callable[[], Any]) -> OpenClient:
    def open_client(env: Mapping[str, str], *, is_modern: bool) -> Client:
        del env
        return MemoryClient(make, is_modern=is_modern)

    return open_client


class MemoryClient(StdioClient):
    """
    A connection to a server in this process.

    Args:
        make: Returns the server.
        is_modern: Whether to speak the era without a handshake.
    """

    def __init__(self, make: Callable[[], Any], *, is_modern: bool = False) -> None:
        """
        Prepare; `connect` starts the thread.
        """
        super().__init__(("in memory",), is_modern=is_modern)
        self._make = make

    def _start(self) -> _ServerThread:
        served = _ServerThread(self._make())
        thread = threading.Thread(target=self._read, args=(served.stdout,), daemon=True)
        thread.start()
        self._threads.append(thread)
        return served


class _ServerThread:
    """
    One run of a server, with what the checker needs of a child process.

    Args:
        server: The server.
    """

    def __init__(self, server: object) -> None:
        """
        Start the thread.
        """
        (self._input, ours_in), (ours_out, self._output) = os.pipe(), os.pipe()
        self.stdout: Final = ours_out
        self._stdin: int | None = ours_in
        self._lock: Final = threading.Lock()
        self._server = server
        self._end = "ended"
        self._cancel: Callable[[], object] = _do_nothing
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> bool:
        """
        Write all of a line, and tell whether the server may have read it. May block.
        """
        with self._lock:
            if self._stdin is None:
                return False
            rest = memoryview(data)
            try:
                while rest:
                    rest = rest[os.write(self._stdin, rest) :]
            except OSError:
                return False
        return True

    def stop(self, grace: float) -> None:
        """
        Close the server's input, then cancel what still runs.

        Args:
            grace: Seconds for each of both.
        """
        if self._lock.acquire(timeout=grace):
            if self._stdin is not None:
                os.close(self._stdin)
            self._stdin = None
            self._lock.release()
        self._thread.join(grace)
        if self._thread.is_alive():
            self._cancel()
            self._thread.join(grace)

    def describe_end(self) -> str:
        """
        Return how the run ended, as the rest of a sentence.
        """
        self._thread.join(0.5)
        return self._end

    def _run(self) -> None:
        try:
            anyio.run(self._serve)
        except BaseException as exc:  # noqa: BLE001 -- what a tool raises must not reach the test's thread
            self._end = f"ended with {_name_of(exc)}"

    async def _serve(self) -> None:
        from mcp.server.stdio import stdio_server  # noqa: PLC0415 -- only where a server is

        token = anyio.lowlevel.current_token()
        # The SDK reads and writes texts; closing them is ours.
        with (
            os.fdopen(self._input, "rb") as data_in,
            os.fdopen(self._output, "wb") as data_out,
            anyio.CancelScope() as scope,
        ):
            self._cancel = lambda: anyio.from_thread.run_sync(scope.cancel, token=token)
            source = anyio.wrap_file(TextIOWrapper(data_in, encoding="utf-8", errors="replace"))
            sink = anyio.wrap_file(TextIOWrapper(data_out, encoding="utf-8"))
            async with (
                _lifespan_of(self._server),
                stdio_server(stdin=source, stdout=sink) as (read, write),
            ):
                inner = _inner(self._server)
                await inner.run(read, write, inner.create_initialization_options())


def _do_nothing() -> None:
    return


def _name_of(exc: BaseException) -> str:
    leaves = leaves_of(exc)
    return type(leaves[0] if leaves else exc).__name__


@asynccontextmanager
async def _lifespan_of(server: object) -> AsyncGenerator[None]:
    """
    Enter the lifespan that FastMCP keeps outside its low-level server.
    """
    manager: Callable[[], AbstractAsyncContextManager[Any]] | None
    manager = getattr(server, "_lifespan_manager", None)
    async with contextlib.AsyncExitStack() as stack:
        if manager is not None:
            await stack.enter_async_context(manager())
        yield
