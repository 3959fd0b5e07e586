"""
anyio and trio: streams, tasks and workers. Most of their exceptions have no text of their own.
"""

from __future__ import annotations

from typing import Final

from toolfault._codes import McpErrorCode
from toolfault._meanings.rows import LATER, NO_USE, SERVICE, bug, outage, permanent
from toolfault._verdict import Rule, Verdict
from toolfault.rules.stdlib import network_error


def _no_connection(exc: BaseException) -> Verdict:
    # Several addresses were tried; the attempts hang below.
    return network_error(exc) or outage("No connection to {peer} could be made", peer=SERVICE)


def _task(exc: BaseException) -> Verdict:
    return Verdict(
        code=McpErrorCode.INTERNAL,
        sentence="A task that the tool waited for failed",
        advice=NO_USE,
        judge_instead=exc.__cause__,
    )


_BROKEN: Final = outage("The stream that the tool uses broke")
_CLOSED: Final = outage("The stream that the tool uses was closed")
_END: Final = outage("The stream that the tool reads from was closed by the other side")
_IN_USE: Final = bug("Two tasks of the tool used the same stream at the same time")
_NOTHING: Final = outage(
    "The tool would have had to wait for something that is not there yet", family="other"
)
_CANCELLED: Final = bug("A task that the tool waited for was cancelled")
_WORKER: Final = bug("A worker of the tool ended unexpectedly", family="process")
_UNFINISHED: Final = bug("The tool asked for the result of a task that has not ended")
_NO_LOOP: Final = bug("The tool used an event loop that is not running")

_ANYIO: Final[dict[str, Rule]] = {
    "BrokenResourceError": _BROKEN,
    "BrokenWorkerInterpreter": _WORKER,
    "BrokenWorkerProcess": _WORKER,
    "BusyResourceError": _IN_USE,
    "ClosedResourceError": _CLOSED,
    "ConnectionFailed": _no_connection,
    "DelimiterNotFound": permanent(
        "The tool received a line that is longer than its limit", family="data"
    ),
    "EndOfStream": _END,
    "FutureAlreadyFinished": bug("The tool set the result of a future twice"),
    "FutureCancelled": _CANCELLED,
    "FutureFailed": _task,
    "FutureNotFinished": _UNFINISHED,
    "IncompleteRead": outage("The stream was closed before all data had come"),
    "NoEventLoopError": _NO_LOOP,
    "RunFinishedError": _NO_LOOP,
    "TaskCancelled": _CANCELLED,
    "TaskFailed": _task,
    "TaskNotFinished": _UNFINISHED,
    "WouldBlock": _NOTHING,
}

_TRIO: Final[dict[str, Rule]] = {
    "BrokenResourceError": _BROKEN,
    "BusyResourceError": _IN_USE,
    "ClosedResourceError": _CLOSED,
    "EndOfChannel": _END,
    "NeedHandshakeError": bug("The tool used a TLS connection before its handshake"),
    "TooSlowError": Verdict(
        code=McpErrorCode.TOOL_TIMEOUT,
        sentence="{peer} did not answer in time",
        peer="Something that the tool depends on",
        advice=LATER,
        family="timeout",
    ),
    "TrioInternalError": bug("The event loop that the tool runs in broke"),
    "WouldBlock": _NOTHING,
}

#: Where anyio's classes say that they are defined. A class moves from the second to the first when
#: somebody first takes it from the package.
_PLACES: Final = ("anyio", "anyio._core._exceptions")

RULES: Final[dict[str, Rule]] = {
    **{f"{place}.{name}": rule for place in _PLACES for name, rule in _ANYIO.items()},
    **{f"trio.{name}": rule for name, rule in _TRIO.items()},
}

#: Left without a rule on purpose: a cancellation is no failure; an attribute's look-up is a bug as
#: any LookupError.
IGNORED: Final = frozenset(
    {"trio.Cancelled", *(f"{place}.TypedAttributeLookupError" for place in _PLACES)}
)
