"""
`Retry`: repeats failed calls where that is safe.

Rule 1: ``retryable`` says that another attempt may succeed, not that it is safe. Both are needed.
Rule 2: a server's wait is a minimum; one that is too long ends the attempts, and is never
shortened.
Rule 3: attempts, one deadline over all of them, and a budget per server: a peer cannot pin its
client.
Rule 4: sleep, clock and randomness are handed in.
"""

import inspect
import math
import random as _random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Final, Self, TypeAlias, TypeVar, cast

import anyio

from toolfault._json import is_int, is_number
from toolfault._names import public
from toolfault._options import (
    explain_unknown_options,
    flag,
    is_plain_function,
    one_or_several,
)
from toolfault._read.parse import parse
from toolfault._retry.attempts import Attempt, NotBefore, Retried, RetryObserver
from toolfault._retry.budget import Budget
from toolfault._retry.state import RetryState
from toolfault._tracebacks import log_exception
from toolfault.errors import ToolFault


T = TypeVar("T")

_Hook: TypeAlias = Callable[[Attempt], object]


def _chance() -> float:
    # By name, since the method would be pickled with its state: each process would wait as long as
    # the others.
    return _random.random()  # noqa: S311 -- jitter, no secret


@public
@explain_unknown_options
@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """
    The rules by which failed calls are repeated. All times are in seconds.

    Args:
        attempts:
            The most attempts, the first included.

        timeout:
            No attempt starts later than this after the first one did; None: no limit. A running
            attempt is not interrupted, since the tool would go on: give it a timeout of its own.

        wait_initial:
            The longest own wait after the first attempt; it doubles with each further one. After a
            reached limit it is at least one second.

        wait_max:
            The longest own wait.

        wait_jitter:
            The random share of the own wait: 1.0 is full jitter, 0.0 none. Where the server asks
            for a wait, that comes first and the jitter on top.

        hint_max:
            The longest wait that is accepted from a server. A longer one ends the attempts.

        trust_hints:
            Whether the server is believed: its ``readOnlyHint`` and ``idempotentHint``, and its
            word that a call did not happen. If not, only calls that never left this side are
            repeated, and those that are idempotent by the caller's word.

        budget:
            The retries that the server may cause. None: no limit here; a wrapped session gets a
            budget of its own.

        not_before:
            A `hooks.NotBefore` that several clients of one server share, such as
            `RedisStore.not_before`. While one of them was asked to wait, the others send no new
            call: it fails with ``quota_exceeded`` and the rest of the wait, and nothing was sent.
            Further attempts wait. Only `call`, `run` and their sync forms honour it.

        on_attempt:
            A function, or several, called with an `Attempt` after each attempt. What they raise is
            logged.

        observers:
            A `hooks.RetryObserver`, or several, around calls and attempts.

        sleep:
            Waits in `call` and `run`, in seconds. The default works on asyncio and on trio.

        sleep_sync:
            Waits in `call_sync` and `run_sync`, in seconds.

        clock:
            Reads a monotonic clock, in seconds.

        random:
            Returns a number from 0.0 up to 1.0.

    Raises:
        ValueError: An option has a value that it cannot have.
        TypeError: There is no such option.
    """

    attempts: int = 3
    timeout: float | None = 120.0
    wait_initial: float = 0.5
    wait_max: float = 20.0
    wait_jitter: float = 1.0
    hint_max: float = 120.0
    trust_hints: bool = True
    budget: Budget | None = None
    not_before: NotBefore | None = None
    on_attempt: _Hook | Sequence[_Hook] = ()
    observers: RetryObserver | Sequence[RetryObserver] = ()
    sleep: Callable[[float], Awaitable[object]] = field(default=anyio.sleep, repr=False)
    sleep_sync: Callable[[float], object] = field(default=time.sleep, repr=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    random: Callable[[], float] = field(default=_chance, repr=False)

    def __post_init__(self) -> None:
        """
        Check the options.
        """
        for names, is_valid, problem in _CHECKS:
            for name in names:
                value = getattr(self, name)
                if not is_valid(value):
                    raise ValueError(problem.format(name=name, value=value))
        flag("trust_hints", self.trust_hints)
        hooks = one_or_several("on_attempt", self.on_attempt, callable)
        _check_each(hooks, is_plain_function, "on_attempt takes plain functions of an Attempt")
        object.__setattr__(self, "on_attempt", hooks)
        observers = one_or_several("observers", self.observers, _is_observer)
        _check_each(observers, _is_observer, "observers have the methods calling and attempting")
        object.__setattr__(self, "observers", observers)

    @property
    def all_hooks(self) -> tuple[_Hook, ...]:
        """
        Return `on_attempt` as a tuple.
        """
        return cast("tuple[_Hook, ...]", self.on_attempt)

    @property
    def all_observers(self) -> tuple[RetryObserver, ...]:
        """
        Return `observers` as a tuple.
        """
        return cast("tuple[RetryObserver, ...]", self.observers)

    def __reduce__(self) -> tuple[Callable[[], Self], tuple[()]]:
        """
        Pickle the options that differ from the defaults, so that no private name is pickled.
        """
        options = {one.name: getattr(self, one.name) for one in fields(self)}
        defaults = {one.name: one.default for one in fields(self)}
        given = {name: value for name, value in options.items() if value != defaults[name]}
        return partial(type(self), **given), ()

    def for_server(self) -> "Retry":
        """
        Return these rules with a budget for one server: their own, else a new one.
        """
        return self if self.budget is not None else replace(self, budget=Budget())

    def state(self, *, name: str | None = None, idempotent: bool | None = None) -> RetryState:
        """
        Return the retry state of one call, for frameworks that make the attempts themselves.

        Args:
            name: The tool's name, for observers.
            idempotent: As for `call`.

        Raises:
            ValueError: *idempotent* is neither True, False nor None.
        """
        return RetryState(self, name, idempotent)

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
                Makes one call; takes the attempt's number, counted from 1. `parse` reads what it
                returns or raises.

            name:
                The tool's name, for observers.

            tool:
                The tool as the server lists it, or its annotations, as the SDK's object or as a
                dict. Or a function, async or not, that returns one: called at most once, and only
                when it matters; what it raises is logged. None: not known.

            idempotent:
                Whether repeating this call is safe, by the caller's word. True allows retries,
                False forbids them; None: *tool* decides, and proofs that the call did not happen.

            read:
                Reads a result or an exception.

        Raises:
            ValueError: *idempotent* is neither True, False nor None; nothing was called.
            BaseException: What the last attempt raised, unchanged. Cancellation leaves at once.
        """
        retried = await self.run(attempt, name=name, tool=tool, idempotent=idempotent, read=read)
        return retried.unwrap()

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
        Return the end of a call with all its attempts: as `call`, but keeps what it raises.

        Raises:
            BaseException: Cancellation, and whatever is not a failure of the tool.
        """
        state = self.state(name=name, idempotent=idempotent)
        with state.observe_call() as report:
            while True:
                refused = await self._hold(state)
                if refused is not None:
                    report(refused)
                    return refused
                with state.attempt(read) as outcome:
                    outcome.result = await attempt(state.number)
                await self._extend(state.asked_wait(outcome.fault))
                if state.needs_hints(outcome.fault):
                    tool = await _find_tool(tool)
                wait = state.next_wait(outcome.fault, tool)
                if wait is None:
                    retried = state.finish(outcome)
                    report(retried)
                    return retried
                with state.waiting():
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
        Return the result of the last attempt, as `call` does, from functions that are not async.

        Raises:
            ValueError: *attempt* or *tool* is async after all; nothing was called.
        """
        retried = self.run_sync(attempt, name=name, tool=tool, idempotent=idempotent, read=read)
        return retried.unwrap()

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
        Return the end of a call with all its attempts, as `run`, from functions that are not async.

        Raises:
            ValueError: *attempt* or *tool* is async after all; nothing was called.
        """
        _refuse_async(attempt, tool, *self._methods_of_store())
        state = self.state(name=name, idempotent=idempotent)
        with state.observe_call() as report:
            while True:
                refused = self._hold_sync(state)
                if refused is not None:
                    report(refused)
                    return refused
                with state.attempt(read) as outcome:
                    outcome.result = attempt(state.number)
                self._extend_sync(state.asked_wait(outcome.fault))
                if state.needs_hints(outcome.fault):
                    tool = _find_tool_sync(tool)
                wait = state.next_wait(outcome.fault, tool)
                if wait is None:
                    retried = state.finish(outcome)
                    report(retried)
                    return retried
                with state.waiting():
                    self.sleep_sync(wait)

    def _methods_of_store(self) -> tuple[Callable[..., object], ...]:
        return () if self.not_before is None else (self.not_before.left, self.not_before.extend)

    async def _hold(self, state: RetryState) -> Retried[Any] | None:
        if self.not_before is None:
            return None
        left = await _ask(self.not_before.left)
        wait = state.hold(left)
        refused = state.refuse(left)
        if refused is None and wait is not None:
            await self.sleep(wait)
        return refused

    async def _extend(self, seconds: float | None) -> None:
        if self.not_before is not None and seconds is not None:
            await _ask(partial(self.not_before.extend, seconds))

    def _hold_sync(self, state: RetryState) -> Retried[Any] | None:
        if self.not_before is None:
            return None
        left = _ask_sync(self.not_before.left)
        wait = state.hold(left)
        refused = state.refuse(left)
        if refused is None and wait is not None:
            self.sleep_sync(wait)
        return refused

    def _extend_sync(self, seconds: float | None) -> None:
        if self.not_before is not None and seconds is not None:
            _ask_sync(partial(self.not_before.extend, seconds))


# ---- options


def _check_each(values: Sequence[object], is_valid: Callable[[object], bool], problem: str) -> None:
    for value in values:
        if not is_valid(value):
            raise ValueError(f"{problem}, which {value!r} is not")


def _refuse_async(*functions: object) -> None:
    for function in functions:
        if callable(function) and not is_plain_function(function):
            raise ValueError(
                f"{function!r} is async, which call and run take; call_sync and run_sync do not"
            )


def _is_count(value: object) -> bool:
    return is_int(value) and value >= 1


def _is_seconds(value: object) -> bool:
    return is_number(value) and value >= 0


def _is_share(value: object) -> bool:
    return is_number(value) and 0 <= value <= 1


def _is_time_limit(value: object) -> bool:
    return value is None or _is_seconds(value)


def _is_budget(value: object) -> bool:
    return value is None or isinstance(value, Budget)


def _is_not_before(value: object) -> bool:
    return value is None or (isinstance(value, NotBefore) and not isinstance(value, type))


def _is_observer(value: object) -> bool:
    return isinstance(value, RetryObserver) and not isinstance(value, type)


#: What is checked of some options, in this order, and what is wrong where it does not hold.
_CHECKS: Final[tuple[tuple[tuple[str, ...], Callable[[Any], bool], str], ...]] = (
    (("attempts",), _is_count, "{name} must be a whole number of at least 1, not {value!r}"),
    (
        ("wait_initial", "wait_max", "hint_max"),
        _is_seconds,
        "{name} must be a number of seconds, 0 or more, not {value!r}",
    ),
    (
        ("timeout",),
        _is_time_limit,
        "{name} must be a number of seconds, 0 or more, not {value!r}",
    ),
    (("wait_initial",), math.isfinite, "{name} must be a finite number of seconds"),
    (("wait_jitter",), _is_share, "{name} is a share from 0.0 to 1.0, not {value!r}"),
    (("budget",), _is_budget, "{name} must be a Budget, such as Budget(retries=10), not {value!r}"),
    (
        ("not_before",),
        _is_not_before,
        "{name} must have the methods left and extend; {value!r} has not",
    ),
    (
        ("sleep", "sleep_sync", "clock", "random"),
        callable,
        "{name} must be a function, not {value!r}",
    ),
)


# ---- what a user's functions answer

_NOT_SHARED: Final = "the shared not-before could not be reached; it delays nothing"


async def _ask(function: Callable[[], object]) -> object:
    try:
        answer = function()
        return await answer if inspect.isawaitable(answer) else answer
    except Exception:  # noqa: BLE001 -- a store out of order must not cost the call
        log_exception(_NOT_SHARED)
        return None


def _ask_sync(function: Callable[[], object]) -> object:
    try:
        return function()
    except Exception:  # noqa: BLE001 -- as in `_ask`
        log_exception(_NOT_SHARED)
        return None


_NO_HINTS: Final = "the tool's hints could not be found out; nothing is retried because of them"


async def _find_tool(tool: object) -> object:
    found = _find_tool_sync(tool)
    if not inspect.isawaitable(found):
        return found
    try:
        return await found
    except Exception:  # noqa: BLE001 -- as in `_find_tool_sync`
        log_exception(_NO_HINTS)
        return None


def _find_tool_sync(tool: object) -> object:
    if not callable(tool):
        return tool
    try:
        return tool()
    except Exception:  # noqa: BLE001 -- the outcome of the attempt must not be lost for that
        log_exception(_NO_HINTS)
        return None
