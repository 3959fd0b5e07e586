"""
Trying a failed call again, where that is safe.

Rule 1: ``retryable`` says that another try may succeed, not that it is safe. Both are needed.
Rule 2: a server's delay is a minimum; one that is too long ends the attempts instead of being shortened.
Rule 3: attempts, one deadline over all of them, and a budget per server: a peer can't pin its client.
Rule 4: sleep, clock and chance are handed in.
"""

from __future__ import annotations

import logging
import math
import random as _random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast

import anyio

from toolfault._backoff import jittered, window
from toolfault._codes import McpErrorCode
from toolfault._options import flag, is_plain_function, several
from toolfault._parse import parse
from toolfault._wire import as_flag, member
from toolfault.errors import ToolFault


_log = logging.getLogger("toolfault")

T = TypeVar("T")

Stopped: TypeAlias = Literal[
    "success", "no_failure", "not_retryable", "not_safe", "attempts", "hint", "deadline", "budget"
]
"""
Why no further attempt was made: it worked; what was raised is no failure of the tool, such as a cancellation that
travels as an exception; another try would not help; it might do harm; there were enough; the server asks for a longer
wait than `Retry.hint_max`; the wait would end after the deadline; the server's budget is empty.
"""

#: The least window after a reached limit, in seconds (standards 4.3): limits are counted in seconds.
_QUOTA_INITIAL: Final = 1.0

#: What a retry after a reached limit costs, of the one that others cost (botocore: 5 and 14 of 500).
_QUOTA_COST: Final = 5 / 14


class Budget:
    """
    How many retries one server may cause, shared by all calls to it. Safe to use from many threads.

    A token bucket, as in gRFC A6 and botocore: a retry takes a token, or a part of one after a reached limit. A retry
    that helps gives it back, and a call that works at once gives a little. An empty bucket ends attempts early.

    Args:
        retries: How many retries may fail in a row.
        refund: How much of a token a call gives back that works at once. 0.1 allows one retry per ten calls.

    Raises:
        ValueError: A number is negative or NaN.
    """

    __slots__ = ("_left", "_lock", "_refund", "_retries")

    def __init__(self, retries: float = 20.0, refund: float = 0.1) -> None:
        """
        Make a full budget.
        """
        if not (retries >= 0 and refund >= 0):
            raise ValueError(f"a budget's numbers must be 0 or more, not {retries!r} and {refund!r}")
        self._retries = self._left = float(retries)
        self._refund = float(refund)
        self._lock = Lock()

    @property
    def left(self) -> float:
        """
        Return the tokens that are left.
        """
        return self._left

    def take(self, cost: float = 1.0) -> bool:
        """
        Take the cost of a retry; False if there is not enough, and then nothing is taken.
        """
        with self._lock:
            if self._left < cost:
                return False
            self._left -= cost
            return True

    def give(self, tokens: float | None = None) -> None:
        """
        Give tokens back; None: what a call gives that works at once.
        """
        with self._lock:
            self._left = min(self._retries, self._left + (self._refund if tokens is None else tokens))

    def __repr__(self) -> str:
        """
        Show how much is left.
        """
        return f"<Budget ({self._left:g} of {self._retries:g} retries left)>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """
    What came of one attempt.

    Attributes:
        number:
            Which it was, counted from 1.

        fault:
            How it failed. None: it worked, or what was raised is no failure of the tool.

        wait:
            Seconds until the next attempt. None: there is none.

        stopped:
            Why there is none. None: there is one.
    """

    number: int
    fault: ToolFault | None
    wait: float | None
    stopped: Stopped | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """
    How failed calls are tried again. All times are in seconds.

    Args:
        attempts:
            How many attempts there may be, the first included.

        timeout:
            No attempt starts later than this after the first one did; None: no limit. An attempt that runs is not
            interrupted, since the tool would go on: give it a timeout of its own.

        wait_initial:
            The longest own wait after the first attempt; it doubles with each further one. After a reached limit
            it is at least one second.

        wait_max:
            The longest own wait.

        wait_jitter:
            Which share of the own wait is left to chance: 1.0 is full jitter, 0.0 none. Where the server asks for a
            delay, that comes first and the jitter on top.

        hint_max:
            The longest delay that is accepted from a server. A longer one ends the attempts.

        trust_hints:
            Whether a server's ``readOnlyHint`` and ``idempotentHint`` count as a proof that repeating is safe.

        budget:
            How many retries the server may cause. None: no limit here; a wrapped session gets one of its own.

        on_attempt:
            Called with an `Attempt` after each attempt. What they raise is logged.

        sleep, sleep_sync, clock, random:
            What waits, in `call` and in `call_sync`; a monotonic clock; and a number from 0.0 up to 1.0. The default
            ``sleep`` works on asyncio and on trio.

    Raises:
        ValueError: A number is out of its range.
    """

    attempts: int = 3
    timeout: float | None = 120.0
    wait_initial: float = 0.5
    wait_max: float = 20.0
    wait_jitter: float = 1.0
    hint_max: float = 120.0
    trust_hints: bool = True
    budget: Budget | None = None
    on_attempt: tuple[Callable[[Attempt], object], ...] = ()
    sleep: Callable[[float], Awaitable[object]] = field(default=anyio.sleep, repr=False)
    sleep_sync: Callable[[float], object] = field(default=time.sleep, repr=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    random: Callable[[], float] = field(default=_random.random, repr=False)

    def __post_init__(self) -> None:
        """
        Check the numbers.
        """
        if isinstance(self.attempts, bool) or not isinstance(self.attempts, int) or self.attempts < 1:  # pyright: ignore[reportUnnecessaryIsInstance] -- 2.5 attempts
            raise ValueError(f"attempts must be a whole number of at least 1, not {self.attempts!r}")
        times: dict[str, Any] = {name: getattr(self, name) for name in ("wait_initial", "wait_max", "hint_max")}
        if self.timeout is not None:
            times["timeout"] = self.timeout
        for name, value in times.items():
            if not _is_number(value) or value < 0:
                raise ValueError(f"{name} must be a number of seconds, 0 or more, not {value!r}")
        if not _is_number(self.wait_jitter) or not 0 <= self.wait_jitter <= 1:
            raise ValueError(f"wait_jitter is a share from 0.0 to 1.0, not {self.wait_jitter!r}")
        self._check_what_is_handed_in()

    def _check_what_is_handed_in(self) -> None:
        flag("trust_hints", self.trust_hints)
        if self.budget is not None and not isinstance(self.budget, Budget):  # pyright: ignore[reportUnnecessaryIsInstance] -- a user's value
            raise ValueError(f"budget must be a Budget, such as Budget(retries=20), not {self.budget!r}")
        for name in ("sleep", "sleep_sync", "clock", "random"):
            if not callable(getattr(self, name)):
                raise ValueError(f"{name} must be a function, not {getattr(self, name)!r}")
        object.__setattr__(self, "on_attempt", several("on_attempt", self.on_attempt))
        for hook in self.on_attempt:
            if not is_plain_function(hook):
                raise ValueError(f"on_attempt takes plain functions of an Attempt, not {hook!r}")

    def for_server(self) -> Retry:
        """
        Return these rules with a budget for one server: the one they have, else a new one.
        """
        return self if self.budget is not None else replace(self, budget=Budget())

    async def call(
        self,
        attempt: Callable[[int], Awaitable[T]],
        *,
        tool: object = None,
        idempotent: bool | None = None,
        read: Callable[[object], ToolFault | None] = parse,
    ) -> T:
        """
        Return the result of the last attempt, whether it is a success or a failure.

        Args:
            attempt:
                Makes one call; takes the attempt's number, counted from 1. What it returns, or raises, `parse` reads.

            tool:
                What the server says of the tool: the tool, or its annotations, as the SDK's object or as a dict. Or
                an async function that finds it out, called at most once, and only when it matters. None: nothing.

            idempotent:
                Whether repeating this call is safe, by the caller's word. True allows retries, False forbids them;
                None: `tool` decides, and proofs that the call did not happen.

            read:
                Reads a result or an exception.

        Raises:
            BaseException: What the last attempt raised, unchanged. Cancellation leaves at once.
        """
        course = _Course(self, idempotent)
        while True:
            try:
                result = await attempt(course.number)
            except Exception as exc:
                fault = read(exc)
                tool = await _found_out(tool) if course.asks_for_hints(fault) else tool
                wait = course.wait_after(fault, tool, raised=True)
                if wait is None:
                    raise
            else:
                fault = read(result)
                tool = await _found_out(tool) if course.asks_for_hints(fault) else tool
                wait = course.wait_after(fault, tool)
                if wait is None:
                    return result
            await self.sleep(wait)

    def call_sync(
        self,
        attempt: Callable[[int], T],
        *,
        tool: object = None,
        idempotent: bool | None = None,
        read: Callable[[object], ToolFault | None] = parse,
    ) -> T:
        """
        Return the result of the last attempt, as `call` does, from a function that is not async; nor is *tool* then.
        """
        course = _Course(self, idempotent)
        while True:
            try:
                result = attempt(course.number)
            except Exception as exc:
                fault = read(exc)
                if course.asks_for_hints(fault) and callable(tool):
                    tool = tool()
                wait = course.wait_after(fault, tool, raised=True)
                if wait is None:
                    raise
            else:
                fault = read(result)
                if course.asks_for_hints(fault) and callable(tool):
                    tool = tool()
                wait = course.wait_after(fault, tool)
                if wait is None:
                    return result
            self.sleep_sync(wait)


async def _found_out(tool: object) -> object:
    return await cast("Callable[[], Awaitable[object]]", tool)() if callable(tool) else tool


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


class _Course:
    """
    One call on its way through its attempts.
    """

    __slots__ = ("_begun", "_idempotent", "_retry", "_taken", "number")

    def __init__(self, retry: Retry, idempotent: bool | None) -> None:
        self._retry = retry
        self._idempotent = idempotent
        self._begun = retry.clock()
        self._taken = 0.0
        self.number = 1

    def asks_for_hints(self, fault: ToolFault | None) -> bool:
        """
        Tell whether it depends on the tool's hints if this failure may be retried.
        """
        return (
            fault is not None
            and fault.envelope.retryable
            and self._idempotent is None
            and fault.outcome != "not_executed"
            and self._retry.trust_hints
            and self.number < self._retry.attempts
        )

    def wait_after(self, fault: ToolFault | None, tool: object, *, raised: bool = False) -> float | None:
        """
        Return the seconds to wait before the next attempt, and count it. None: there is none.
        """
        wait, stopped = self._decided(fault, tool, raised=raised)
        made = Attempt(number=self.number, fault=fault, wait=wait, stopped=stopped)
        for hook in self._retry.on_attempt:
            try:
                hook(made)
            except Exception:  # noqa: BLE001 -- a hook is a user's code; it is logged with its traceback
                _log.exception("the attempt hook %r raised; the attempts go on as decided", hook)
        self.number += 1
        return wait

    def _decided(self, fault: ToolFault | None, tool: object, *, raised: bool) -> tuple[float | None, Stopped | None]:
        retry = self._retry
        if fault is None:
            if raised:
                return None, "no_failure"
            self._refund()
            return None, "success"
        if not fault.envelope.retryable:
            return None, "not_retryable"
        if self.number >= retry.attempts:
            return None, "attempts"
        if not self._is_safe(fault, tool):
            return None, "not_safe"
        hint = fault.envelope.retry_after_seconds
        if hint is not None and hint > retry.hint_max:
            return None, "hint"
        limited = fault.code is McpErrorCode.QUOTA_EXCEEDED
        initial = max(retry.wait_initial, _QUOTA_INITIAL) if limited else retry.wait_initial
        longest = window(self.number, initial=initial, maximum=retry.wait_max)
        wait = jittered(longest, jitter=retry.wait_jitter, chance=retry.random(), at_least=hint or 0.0)
        if retry.timeout is not None and retry.clock() + wait > self._begun + retry.timeout:
            return None, "deadline"
        if retry.budget is not None:
            cost = _QUOTA_COST if limited else 1.0
            if not retry.budget.take(cost):
                return None, "budget"
            self._taken = cost
        return wait, None

    def _is_safe(self, fault: ToolFault, tool: object) -> bool:
        if self._idempotent is not None:
            return self._idempotent
        if fault.outcome == "not_executed":
            return True
        return self._retry.trust_hints and _says_safe(tool)

    def _refund(self) -> None:
        if self._retry.budget is not None:
            self._retry.budget.give(self._taken or None)


def _says_safe(tool: object) -> bool:
    """
    Tell whether a tool, or its annotations, say that repeating a call is safe.
    """
    if tool is None:
        return False
    annotations: Any = member(tool, "annotations")
    hints = tool if annotations is None else annotations
    if isinstance(hints, Mapping) and not hints:
        return False
    return any(
        as_flag(member(hints, *names)) is True
        for names in (("readOnlyHint", "read_only_hint"), ("idempotentHint", "idempotent_hint"))
    )
