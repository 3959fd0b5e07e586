"""
anyio and trio.
"""

import anyio
import anyio.to_process
import pytest
import trio
from anyio.streams.buffered import BufferedByteReceiveStream

from toolfault.rules.anyio import IGNORED, RULES


INTERNAL = ("internal", "permanent", False)
OUTAGE = ("internal", "transient", True)
PANICKED = ("tool_panicked", "permanent", False)
LATE = ("tool_timeout", "transient", True)


async def closed():
    send, receive = anyio.create_memory_object_stream[int](1)
    with send, receive:
        send.close()
        await send.send(1)


async def broken():
    send, receive = anyio.create_memory_object_stream[int](1)
    with send:
        receive.close()
        await send.send(1)


async def ended():
    send, receive = anyio.create_memory_object_stream[int](1)
    with receive:
        send.close()
        await receive.receive()


async def would_block():
    send, receive = anyio.create_memory_object_stream[int](1)
    with send, receive:
        receive.receive_nowait()


class Parts(anyio.abc.ByteReceiveStream):
    def __init__(self, *parts):
        self.parts = list(parts)

    async def receive(self, max_bytes=65536):
        if not self.parts:
            raise anyio.EndOfStream
        return self.parts.pop(0)

    async def aclose(self):
        pass


async def no_delimiter():
    await BufferedByteReceiveStream(Parts(b"NOTREAL" * 10)).receive_until(b"\n", 10)


async def too_little():
    await BufferedByteReceiveStream(Parts(b"NOTREAL")).receive_exactly(10)


async def too_slow():
    with anyio.fail_after(0):
        await anyio.sleep(60)


async def worker_dies():
    import os

    await anyio.to_process.run_sync(os._exit, 1)


def no_loop():
    anyio.from_thread.run_sync(print)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize(
    ("fail", "name", "expected"),
    [
        (closed, "ClosedResourceError", OUTAGE),
        (broken, "BrokenResourceError", OUTAGE),
        (ended, "EndOfStream", OUTAGE),
        (would_block, "WouldBlock", OUTAGE),
        (no_delimiter, "DelimiterNotFound", INTERNAL),
        (too_little, "IncompleteRead", OUTAGE),
        (too_slow, "TimeoutError", LATE),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_streams(caught, facts, verdict_on, backend, fail, name, expected):
    """
    A composed message, since most have no text.
    """
    exc = caught(lambda: anyio.run(fail, backend=backend))

    assert name == type(exc).__name__
    assert expected == facts(exc)
    assert verdict_on(exc).message
    assert "NOTREAL" not in verdict_on(exc).message


def test_a_worker_process_that_dies(caught, facts):
    """
    Nobody planned that.
    """
    exc = caught(lambda: anyio.run(worker_dies))

    assert type(exc).__name__ == "BrokenWorkerProcess"
    assert facts(exc) == PANICKED


def test_no_event_loop(caught, facts):
    """
    A call from a thread that anyio does not know.
    """
    exc = caught(no_loop)

    assert facts(exc) == PANICKED


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_refused_connection(caught, facts, verdict_on, refused, backend):
    """
    The attempts hang below; the address is not shown.
    """

    async def connect():
        await anyio.connect_tcp("127.0.0.1", refused)

    exc = caught(lambda: anyio.run(connect, backend=backend))

    assert facts(exc) == OUTAGE
    assert "ECONNREFUSED" in verdict_on(exc).message
    assert str(refused) not in verdict_on(exc).message


async def trio_closed():
    send, receive = trio.open_memory_channel(0)
    with send, receive:
        send.close()
        await send.send(1)


async def trio_broken():
    send, receive = trio.open_memory_channel(0)
    with send:
        receive.close()
        await send.send(1)


async def trio_ended():
    send, receive = trio.open_memory_channel(0)
    with receive:
        send.close()
        await receive.receive()


async def trio_would_block():
    send, receive = trio.open_memory_channel(0)
    with send, receive:
        receive.receive_nowait()


async def trio_too_slow():
    with trio.fail_after(0):
        await trio.sleep(60)


@pytest.mark.parametrize(
    ("fail", "name", "expected"),
    [
        (trio_closed, "ClosedResourceError", OUTAGE),
        (trio_broken, "BrokenResourceError", OUTAGE),
        (trio_ended, "EndOfChannel", OUTAGE),
        (trio_would_block, "WouldBlock", OUTAGE),
        (trio_too_slow, "TooSlowError", LATE),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_trio(caught, facts, fail, name, expected):
    """
    Its own classes, for tools that use it without anyio.
    """
    exc = caught(lambda: trio.run(fail))

    assert name == type(exc).__name__
    assert expected == facts(exc)


def test_a_failed_task_is_judged_by_what_failed_it(verdict_on):
    """
    The wrapper says nothing.
    """
    from anyio._core import _exceptions

    exc = _exceptions.TaskFailed("x")
    exc.__cause__ = ValueError("y")

    assert verdict_on(exc).judge_instead is exc.__cause__


def test_every_class_of_anyio_stands_under_both_names():
    """
    A class says another place once it was taken from the package.
    """
    both = {*RULES, *IGNORED}
    short = {name.removeprefix("anyio.") for name in both if name.startswith("anyio.") and "_core" not in name}
    long = {name.removeprefix("anyio._core._exceptions.") for name in both if "_core" in name}

    assert short == long


def test_attempts_that_are_not_permitted(facts):
    """
    A policy of the environment, in whatever place it hangs.
    """
    exc = OSError("All connection attempts failed")
    exc.__cause__ = ExceptionGroup("x", [PermissionError(13, "Connect call failed ('10.0.0.1', 80)")])

    assert facts(exc) == ("network_blocked", "permanent", False)
    assert facts(OSError("All connection attempts failed")) == OUTAGE
