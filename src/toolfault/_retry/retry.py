"""
Trying a failed call again, where that is safe.

Rule 1: ``retryable`` says that another try may succeed, not that it is safe. Both are needed.
Rule 2: a server's delay is a minimum; one that is too long ends the attempts instead of being
shortened.
Rule 3: attempts, one deadline over all of them, and a budget per server: a peer can't pin its
client.
Rule 4: sleep, clock and chance are handed in.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import math
import random as _random
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import anyio

from toolfault._codes import McpErrorCode
from toolfault._options import flag, is_plain_function, several
from toolfault._read.parse import parse
from toolfault._retry.attempts import Attempt, Retried, RetryObserver, Stopped
from toolfault._retry.backoff import jittered, window
from toolfault._retry.budget import Budget
from toolfault._wire import as_flag, member
from toolfault.errors import ToolFault


_log = logging.getLogger("toolfault")

T = TypeVar("T")

#: The least window after a reached limit, in seconds (R8): limits are counted in seconds.
_QUOTA_INITIAL: Final = 1.0

#: What a retry after a reached limit costs, of the one that others cost (botocore: 5 and 14 of
#: 500).
_QUOTA_COST: Final = 5 / 14


def _chance() -> float:
    # By name, since the method would be pickled with its state: each process would wait as long as
    # the others.
    return _random.random()  # noqa: S311 -- jitter, no secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """
    How failed calls are tried again. All times are in seconds.

    Args:
        attempts:
            How many attempts there may be, the first included.

        timeout:
            No attempt starts later than this after the first one did; None: no limit. An attempt
            that runs is not interrupted, since the tool would go on: give it a timeout of its own.

        wait_initial:
            The longest own wait after the first attempt; it doubles with each further one. After a
            reached limit it is at least one second.

        wait_max:
            The longest own wait.

        wait_jitter:
            Which share of the own wait is left to chance: 1.0 is full jitter, 0.0 none. Where the
            server asks for a delay, that comes first and the jitter on top.

        hint_max:
            The longest delay that is accepted from a server. A longer one ends the attempts.

        trust_hints:
            Whether a server's ``readOnlyHint`` and ``idempotentHint`` count as a proof that
            repeating is safe.

        budget:
            How many retries the server may cause. None: no limit here; a wrapped session gets one
            of its own.

        on_attempt:
            Called with an `Attempt` after each attempt. What they raise is logged.

        observers:
            Stand around calls and attempts; see `hooks.RetryObserver`.

        sleep, sleep_sync, clock, random:
            What waits, in `call` and in `call_sync`; a monotonic clock; and a number from 0.0 up to
            1.0. The default ``sleep`` works on asyncio and on trio.

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
    observers: tuple[RetryObserver, ...] = ()
    sleep: Callable[[float], Awaitable[object]] = field(default=anyio.sleep, repr=False)
    sleep_sync: Callable[[float], object] = field(default=time.sleep, repr=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    random: Callable[[], float] = field(default=_chance, repr=False)

    def __post_init__(self) -> None:
        """
        Check the numbers.
        """
        attempts: Any = self.attempts
        if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
            raise ValueError(
                f"attempts must be a whole number of at least 1, not {self.attempts!r}"
            )
        times: dict[str, Any] = {
            name: getattr(self, name) for name in ("wait_initial", "wait_max", "hint_max")
        }
        if self.timeout is not None:
            times["timeout"] = self.timeout
        for name, value in times.items():
            if not _is_number(value) or value < 0:
                raise ValueError(f"{name} must be a number of seconds, 0 or more, not {value!r}")
        if math.isinf(self.wait_initial):
            raise ValueError("wait_initial must be a finite number of seconds")
        if not _is_number(self.wait_jitter) or not 0 <= self.wait_jitter <= 1:
            raise ValueError(f"wait_jitter is a share from 0.0 to 1.0, not {self.wait_jitter!r}")
        self._check_what_is_handed_in()

    def _check_what_is_handed_in(self) -> None:
        flag("trust_hints", self.trust_hints)
        if self.budget is not None and not isinstance(self.budget, Budget):  # pyright: ignore[reportUnnecessaryIsInstance] -- a user's value
            raise ValueError(
                f"budget must be a Budget, such as Budget(retries=10), not {self.budget!r}"
            )
        for name in ("sleep", "sleep_sync", "clock", "random"):
            if not callable(getattr(self, name)):
                raise ValueError(f"{name} must be a function, not {getattr(self, name)!r}")
        object.__setattr__(self, "on_attempt", several("on_attempt", self.on_attempt))
        for hook in self.on_attempt:
            if not is_plain_function(hook):
                raise ValueError(f"on_attempt takes plain functions of an Attempt, not {hook!r}")
        object.__setattr__(self, "observers", several("observers", self.observers))
        for observer in self.observers:
            if not isinstance(observer, RetryObserver):  # pyright: ignore[reportUnnecessaryIsInstance] -- a user's value
                raise ValueError(
                    f"observers have the methods calling and attempting; {observer!r} has not"
                )

    def for_server(self) -> Retry:
        """
        Return these rules with a budget for one server: the one they have, else a new one.
        """
        return self if self.budget is not None else replace(self, budget=Budget())

    def course(self, *, name: str | None = None, idempotent: bool | None = None) -> Course:
        """
        Return the way of one call through its attempts, for a framework that makes the attempts
        itself.

        Args:
            name: The tool's name, for observers.
            idempotent: As for `call`.

        Raises:
            ValueError: *idempotent* is neither True, False nor None.
        """
        return Course(self, name, idempotent)

    async def call(
        self,
        attempt: Callable[[int], Awaitable[T]],
        *,
        name: str | None = None,
        tool: object = None,
        idempotent: bool | None = None,
        read: Callable[[object], ToolFault | None] = parse,
    ) -> T:
        """
        Return the result of the last attempt, whether it is a success or a failure.

        Args:
            attempt:
                Makes one call; takes the attempt's number, counted from 1. What it returns, or
                raises, `parse` reads.

            name:
                The tool's name, for observers.

            tool:
                What the server says of the tool: the tool, or its annotations, as the SDK's object
                or as a dict. Or a function, async or not, that finds it out: called at most once,
                and only when it matters; what it raises is logged, and nothing is known then. None:
                nothing.

            idempotent:
                Whether repeating this call is safe, by the caller's word. True allows retries,
                False forbids them;
                None: `tool` decides, and proofs that the call did not happen.

            read:
                Reads a result or an exception.

        Raises:
            ValueError: *idempotent* is neither True, False nor None; nothing was called.
            BaseException: What the last attempt raised, unchanged. Cancellation leaves at once.
        """
        return (
            await self.run(attempt, name=name, tool=tool, idempotent=idempotent, read=read)
        ).unwrap()

    async def run(
        self,
        attempt: Callable[[int], Awaitable[T]],
        *,
        name: str | None = None,
        tool: object = None,
        idempotent: bool | None = None,
        read: Callable[[object], ToolFault | None] = parse,
    ) -> Retried[T]:
        """
        Return what came of a call with all its attempts: as `call`, and what it raises is in there
        as well.

        Raises:
            BaseException: Cancellation, and what is no failure of the tool.
        """
        course = self.course(name=name, idempotent=idempotent)
        with course.observed() as tell:
            while True:
                result: T | None = None
                error: Exception | None = None
                with course.observed_attempt() as tell_attempt:
                    try:
                        result = await attempt(course.number)
                    except Exception as exc:  # noqa: BLE001 -- it is judged, and raised again where nothing repeats it
                        error = exc
                    fault = course.judged(result, error, read)
                    tell_attempt(fault)
                if course.asks_for_hints(fault):
                    tool = await _found_out(tool)
                wait = course.after(fault, tool)
                if wait is None:
                    retried = Retried(attempts=course.attempts, result=result, error=error)
                    tell(retried)
                    return retried
                with course.waiting():
                    await self.sleep(wait)

    def call_sync(
        self,
        attempt: Callable[[int], T],
        *,
        name: str | None = None,
        tool: object = None,
        idempotent: bool | None = None,
        read: Callable[[object], ToolFault | None] = parse,
    ) -> T:
        """
        Return the result of the last attempt, as `call` does, from a function that is not async;
        nor is *tool* then.

        Raises:
            ValueError: *attempt* or *tool* is async after all; nothing was called.
        """
        return self.run_sync(
            attempt, name=name, tool=tool, idempotent=idempotent, read=read
        ).unwrap()

    def run_sync(
        self,
        attempt: Callable[[int], T],
        *,
        name: str | None = None,
        tool: object = None,
        idempotent: bool | None = None,
        read: Callable[[object], ToolFault | None] = parse,
    ) -> Retried[T]:
        """
        Return what came of a call with all its attempts, as `run` does, from a function that is not
        async.
        """
        for function in (attempt, tool):
            if callable(function) and not is_plain_function(function):
                raise ValueError(
                    f"{function!r} is async, which call and run take; call_sync and run_sync do not"
                )
        course = self.course(name=name, idempotent=idempotent)
        with course.observed() as tell:
            while True:
                result: T | None = None
                error: Exception | None = None
                with course.observed_attempt() as tell_attempt:
                    try:
                        result = attempt(course.number)
                    except Exception as exc:  # noqa: BLE001 -- it is judged, and raised again where nothing repeats it
                        error = exc
                    fault = course.judged(result, error, read)
                    tell_attempt(fault)
                if course.asks_for_hints(fault):
                    tool = _found_out_sync(tool)
                wait = course.after(fault, tool)
                if wait is None:
                    retried = Retried(attempts=course.attempts, result=result, error=error)
                    tell(retried)
                    return retried
                with course.waiting():
                    self.sleep_sync(wait)


async def _found_out(tool: object) -> object:
    found = _found_out_sync(tool)
    try:
        return await found if inspect.isawaitable(found) else found
    except Exception:  # noqa: BLE001 -- as in `_found_out_sync`
        _log.exception(_NO_HINTS)
        return None


def _found_out_sync(tool: object) -> object:
    try:
        return tool() if callable(tool) else tool
    except Exception:  # noqa: BLE001 -- what the attempt came to must not be lost for that
        _log.exception(_NO_HINTS)
        return None


_NO_HINTS: Final = (
    "what the server says of the tool could not be found out; nothing is retried by its hints"
)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


class Course:
    """
    One call on its way through its attempts.

    A framework that makes the attempts itself asks `after` behind each one.

    Attributes:
        number:
            The attempt that is under way, counted from 1.

        attempts:
            Those that are over.
    """

    __slots__ = ("_begun", "_idempotent", "_name", "_retry", "_taken", "attempts", "number")

    def __init__(self, retry: Retry, name: str | None, idempotent: bool | None) -> None:
        """
        Begin; `Retry.course` does it.
        """
        if idempotent is not None:
            flag("idempotent", idempotent)
        self._retry = retry
        self._name = name
        self._idempotent = idempotent
        self._begun = retry.clock()
        self._taken = 0.0
        self.number = 1
        self.attempts: tuple[Attempt, ...] = ()

    def observed(self) -> AbstractContextManager[Callable[[Retried[Any]], None]]:
        """
        Let the observers stand around all attempts.
        """
        return _around(
            [partial(observer.calling, self._name) for observer in self._retry.observers]
        )

    def observed_attempt(self) -> AbstractContextManager[Callable[[ToolFault | None], None]]:
        """
        Let the observers stand around one attempt.
        """
        return _around(
            [
                partial(observer.attempting, self._name, self.number)
                for observer in self._retry.observers
            ]
        )

    @contextlib.contextmanager
    def waiting(self) -> Generator[None]:
        """
        Stand around the wait for the next attempt: one that is left early costs the server's budget
        nothing.
        """
        try:
            yield
        except BaseException:
            if self._retry.budget is not None:
                self._retry.budget.give(self._taken)
            raise

    def judged(
        self, result: object, error: Exception | None, read: Callable[[object], ToolFault | None]
    ) -> ToolFault | None:
        """
        Return the failure that came of an attempt; None for a success.

        Raises:
            Exception: What was raised, if that is no failure of the tool; then this was the last
                attempt.
        """
        if error is None:
            return read(result)
        fault = read(error)
        if fault is None:
            self._made(None, None, "no_failure")
            raise error
        return fault

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

    def after(self, fault: ToolFault | None, tool: object = None) -> float | None:
        """
        Return the seconds to wait before the next attempt, and count this one. None: there is no
        further attempt.

        Args:
            fault: How the attempt failed. None: it worked.
            tool: What the server says of the tool, or its annotations.
        """
        wait, stopped = self._decided(fault, tool)
        self._made(fault, wait, stopped)
        return wait

    def _made(self, fault: ToolFault | None, wait: float | None, stopped: Stopped | None) -> None:
        made = Attempt(number=self.number, fault=fault, wait=wait, stopped=stopped)
        self.attempts += (made,)
        self.number += 1
        for hook in self._retry.on_attempt:
            _quietly(hook, made)

    def _decided(
        self, fault: ToolFault | None, tool: object
    ) -> tuple[float | None, Stopped | None]:
        retry = self._retry
        if fault is None:
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
        wait = jittered(
            longest, jitter=retry.wait_jitter, chance=retry.random(), at_least=hint or 0.0
        )
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


def _quietly(hook: Callable[[Any], object], what: object) -> None:
    try:
        hook(what)
    except Exception:  # noqa: BLE001 -- a hook is a user's code; it is logged with its traceback
        _log.exception("the attempt hook %r raised; the attempts go on as decided", hook)


_Opener: TypeAlias = Callable[[], AbstractContextManager[Callable[[Any], object]]]


def _around(openers: Sequence[_Opener]) -> AbstractContextManager[Callable[[Any], None]]:
    # Most calls are not observed.
    return _watched(openers) if openers else _UNWATCHED


def _told_nobody(_what: object) -> None:
    pass


_UNWATCHED: Final = contextlib.nullcontext(_told_nobody)


@contextlib.contextmanager
def _watched(openers: Sequence[_Opener]) -> Generator[Callable[[Any], None]]:
    """
    Enter what observers open; nothing that they raise or suppress changes a call.
    """
    with contextlib.ExitStack() as stack:
        tells: list[Callable[[Any], object]] = []
        for opener in openers:
            try:
                manager = opener()
                tells.append(manager.__enter__())
            except Exception:  # noqa: BLE001 -- as `_quietly`
                _log.exception("an observer raised; the attempts go on without it")
            else:
                stack.push(partial(_left, manager))

        def tell(what: object) -> None:
            for told in tells:
                _quietly(told, what)

        yield tell


def _left(manager: AbstractContextManager[Any], *exc_info: Any) -> None:
    try:
        manager.__exit__(*exc_info)
    except Exception as exc:  # noqa: BLE001 -- as `_quietly`
        if exc is not exc_info[1]:
            _log.exception("an observer raised at the end; the attempts go on as decided")


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
