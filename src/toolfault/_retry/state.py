"""
One call between its attempts: whether there is another, and after how long.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from toolfault._codes import McpErrorCode
from toolfault._json import as_flag, is_number
from toolfault._options import flag
from toolfault._read.result import member
from toolfault._retry.attempts import Attempt, Retried, RetryObserver, Stopped
from toolfault._retry.backoff import add_jitter, window
from toolfault._retry.budget import Budget
from toolfault._retry.observers import Report, call_hook, observe
from toolfault.errors import ToolFault


if TYPE_CHECKING:
    from toolfault._retry.retry import Retry

#: The shortest window after a reached limit, in seconds (R8): limits are counted in seconds.
_QUOTA_INITIAL: Final = 1.0

#: The cost of a retry after a reached limit, as a share of others (botocore: 5 and 14 of 500).
_QUOTA_COST: Final = 5 / 14

#: For a call whose server may cause any number of retries.
_UNLIMITED: Final = Budget(retries=math.inf)


@dataclass(slots=True)
class Outcome:
    """
    The end of one attempt: what it returned or raised, and the fault in it.
    """

    result: Any = None
    error: Exception | None = None
    fault: ToolFault | None = None


class RetryState:
    """
    The retry state of one call. `Retry.state` makes it.

    A framework that makes the attempts itself asks `next_wait` behind each one.

    Attributes:
        number:
            The running attempt, counted from 1.

        attempts:
            The attempts that are over.
    """

    __slots__ = (
        "_budget",
        "_cost",
        "_deadline",
        "_idempotent",
        "_name",
        "_observers",
        "_retry",
        "attempts",
        "number",
    )

    def __init__(self, retry: Retry, name: str | None, idempotent: bool | None) -> None:
        """
        Begin; call `Retry.state` instead.
        """
        if idempotent is not None:
            flag("idempotent", idempotent)
        self._retry = retry
        self._name = name
        self._idempotent = idempotent
        self._observers: tuple[RetryObserver, ...] = retry.all_observers
        self._budget = retry.budget or _UNLIMITED
        self._deadline = math.inf if retry.timeout is None else retry.clock() + retry.timeout
        self._cost = 0.0
        self.number = 1
        self.attempts: tuple[Attempt, ...] = ()

    # Observing

    def observe_call(self) -> AbstractContextManager[Report]:
        """
        Return a context manager for all attempts; its function takes the `Retried`.
        """
        return observe([partial(one.calling, self._name) for one in self._observers])

    @contextlib.contextmanager
    def attempt(self, read: Callable[[object], ToolFault | None]) -> Generator[Outcome]:
        """
        Return a context manager for one attempt: it catches what the attempt raises, and reads it.

        Args:
            read: Reads a result or an exception.

        Raises:
            Exception: What was raised, if that is not a failure of the tool.
        """
        outcome = Outcome()
        openers = [partial(one.attempting, self._name, self.number) for one in self._observers]
        with observe(openers) as report:
            try:
                yield outcome
            except Exception as exc:  # noqa: BLE001 -- it is read below, and raised again where nothing repeats it
                outcome.error = exc
            outcome.fault = self._read(outcome, read)
            report(outcome.fault)

    @contextlib.contextmanager
    def waiting(self) -> Generator[None]:
        """
        Return a context manager for a wait; a wait that is left early costs the budget nothing.
        """
        try:
            yield
        except BaseException:
            self._budget.give(self._cost)
            raise

    def _read(
        self, outcome: Outcome, read: Callable[[object], ToolFault | None]
    ) -> ToolFault | None:
        if outcome.error is None:
            return read(outcome.result)
        fault = read(outcome.error)
        if fault is None:
            self._record(None, None, "no_failure")
            raise outcome.error
        return fault

    # Deciding

    def needs_hints(self, fault: ToolFault | None) -> bool:
        """
        Tell whether the tool's hints decide if this failure may be retried.
        """
        return (
            fault is not None
            and fault.envelope.retryable
            and self._idempotent is None
            and self._retry.trust_hints
            and fault.outcome != "not_executed"
            and self.number < self._retry.attempts
        )

    def next_wait(self, fault: ToolFault | None, tool: object = None) -> float | None:
        """
        Count an attempt, and return the seconds to wait before the next; None: there is no next.

        Args:
            fault: The failure of the attempt. None: it succeeded.
            tool: The tool as the server lists it, or its annotations.
        """
        wait, stopped = self._decide(fault, tool)
        self._record(fault, wait, stopped)
        return wait

    def _decide(
        self, fault: ToolFault | None, tool: object
    ) -> tuple[float, None] | tuple[None, Stopped]:
        if fault is None:
            self._budget.give(self._cost or None)
            return None, "success"
        stopped = self._reason_to_stop(fault, tool)
        if stopped is not None:
            return None, stopped
        wait = self._wait_for(fault)
        if self._is_too_late(wait):
            return None, "deadline"
        cost = _QUOTA_COST if _is_limit(fault) else 1.0
        if not self._budget.take(cost):
            return None, "budget"
        self._cost = cost
        return wait, None

    def _is_too_late(self, wait: float) -> bool:
        return self._retry.clock() + wait > self._deadline

    def refuse(self, left: object) -> Retried[Any] | None:
        """
        Return the end of a call whose first attempt is not made, since a `NotBefore` is to come.

        None: the attempt may be made. To wait instead would only move the load: all calls that
        waited would come at the moment.

        Args:
            left: The seconds until the moment.
        """
        seconds = self._check_moment(left)
        if seconds is None or self.number > 1:
            return None
        fault = ToolFault(
            McpErrorCode.QUOTA_EXCEEDED,
            "The server has asked its clients to wait, so the call was not sent.",
            retry_after_seconds=math.ceil(seconds),
            outcome="not_executed",
        )
        self._record(fault, None, "not_before")
        return self.finish(Outcome(error=fault))

    def hold(self, left: object) -> float | None:
        """
        Return the seconds to wait before a further attempt, since a `NotBefore` is to come.

        None: the attempt is made at once.

        Args:
            left: The seconds until the moment.
        """
        seconds = self._check_moment(left)
        if seconds is None:
            return None
        retry = self._retry
        # Spread over as long again, so that those who wait for one moment do not all come at once.
        wait = add_jitter(
            max(seconds, retry.wait_initial),
            jitter=retry.wait_jitter,
            chance=retry.random(),
            at_least=seconds,
        )
        return None if self._is_too_late(wait) else wait

    def _check_moment(self, left: object) -> float | None:
        """
        Return the seconds of a shared moment; None if it is past, not a number, or too far away.
        """
        if is_number(left) and 0 < left <= self._retry.hint_max:
            return float(left)
        return None

    def asked_wait(self, fault: ToolFault | None) -> float | None:
        """
        Return the seconds that a failure asks all clients to wait, at most `Retry.hint_max`.
        """
        if fault is None or not fault.envelope.retry_after_seconds:
            return None
        return min(fault.envelope.retry_after_seconds, self._retry.hint_max)

    def finish(self, outcome: Outcome) -> Retried[Any]:
        """
        Return the end of the call.
        """
        return Retried(attempts=self.attempts, result=outcome.result, error=outcome.error)

    def _record(self, fault: ToolFault | None, wait: float | None, stopped: Stopped | None) -> None:
        attempt = Attempt(number=self.number, fault=fault, wait=wait, stopped=stopped)
        self.attempts += (attempt,)
        self.number += 1
        for hook in self._retry.all_hooks:
            call_hook(hook, attempt)

    def _reason_to_stop(self, fault: ToolFault, tool: object) -> Stopped | None:
        if not fault.envelope.retryable:
            return "not_retryable"
        if self.number >= self._retry.attempts:
            return "attempts"
        if not self._is_safe(fault, tool):
            return "not_safe"
        if (fault.envelope.retry_after_seconds or 0) > self._retry.hint_max:
            return "hint"
        return None

    def _is_safe(self, fault: ToolFault, tool: object) -> bool:
        if self._idempotent is not None:
            return self._idempotent
        if self._retry.trust_hints:
            return fault.outcome == "not_executed" or _is_hinted_safe(tool)
        return _was_never_sent(fault)

    def _wait_for(self, fault: ToolFault) -> float:
        retry = self._retry
        initial = retry.wait_initial
        if _is_limit(fault):
            initial = max(initial, _QUOTA_INITIAL)
        return add_jitter(
            window(self.number, initial=initial, maximum=retry.wait_max),
            jitter=retry.wait_jitter,
            chance=retry.random(),
            at_least=fault.envelope.retry_after_seconds or 0.0,
        )


def _is_limit(fault: ToolFault) -> bool:
    return fault.envelope.code is McpErrorCode.QUOTA_EXCEEDED


def _was_never_sent(fault: ToolFault) -> bool:
    """
    Tell whether this side knows that the call did not happen; a peer's claim does not count.
    """
    read_from_peer = fault.received is not None or fault.found_in not in {None, "exception"}
    answered = "upstream_status" in fault.facts
    return fault.outcome == "not_executed" and not read_from_peer and not answered


def _is_hinted_safe(tool: object) -> bool:
    """
    Tell whether a tool, or its annotations, say that repeating a call is safe.
    """
    hints = member(tool, "annotations")
    if hints is None:
        hints = tool
    return any(as_flag(member(hints, *names)) for names in _SAFE_HINTS)


#: The hints by which repeating a call is safe, in both spellings.
_SAFE_HINTS: Final = (
    ("readOnlyHint", "read_only_hint"),
    ("idempotentHint", "idempotent_hint"),
)
