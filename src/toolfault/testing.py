"""
Helpers for tests of servers and clients: assert on failures, and make them.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from types import FunctionType
from typing import Any

from toolfault._codes import McpErrorCategory, McpErrorCode, category_named, code_named
from toolfault._read.parse import parse
from toolfault._retry.retry import Retry
from toolfault._verdict import Origin, Outcome
from toolfault.errors import ToolFault


__all__ = ["FailingTool", "assert_fault", "no_waits"]


def assert_fault(
    result: object,
    *,
    code: McpErrorCode | str | None = None,
    category: McpErrorCategory | str | None = None,
    retryable: bool | None = None,
    retry_after_seconds: int | None = None,
    message: str | None = None,
    hint: str | None = None,
    outcome: Outcome | None = None,
    origin: Origin | None = None,
) -> ToolFault:
    """
    Return the fault in a result, or fail the test with what is there instead.

    Args:
        result: What a client's ``call_tool`` returned, or raised.
        code: The code that it must have.
        category: The category that it must have.
        retryable: The retryability that it must have.
        retry_after_seconds: The wait that it must ask for.
        message: A part that the message must have.
        hint: A part that the hint must have.
        outcome: What must be known of whether the call happened.
        origin: Where it must have begun.

    Raises:
        AssertionError: The result is a success, or differs in what was named.
    """
    __tracebackhide__ = True
    fault = parse(result)
    if fault is None:
        raise AssertionError(f"expected a failure, not the success {result!r}")
    wanted: dict[str, Any] = {
        "code": None if code is None else code_named(code),
        "category": None if category is None else category_named(category),
        "retryable": retryable,
        "retry_after_seconds": retry_after_seconds,
        "outcome": outcome,
        "origin": origin,
    }
    envelope = fault.envelope
    found = {**dict(envelope), "outcome": fault.outcome, "origin": fault.facts.get("origin")}
    differs = [
        f"{name} is {found[name]!s}, not {value!s}"
        for name, value in wanted.items()
        if value is not None and found[name] != value
    ]
    parts = {"message": (message, envelope.message), "hint": (hint, envelope.hint or "")}
    for name, (part, text) in parts.items():
        if part is not None and part not in text:
            differs.append(f"the {name} has no {part!r}")
    if differs:
        raise AssertionError(f"{'; '.join(differs)}: {fault!r}")
    return fault


class FailingTool:
    """
    A tool that fails on cue: each call raises the next exception of a list, then it succeeds.

    Register it as it is: ``server.tool(name="flaky")(FailingTool([TimeoutError()]))`` needs a
    guarded server, and ``guarded(FailingTool(...))`` none.

    Args:
        failures: What the first calls raise, in turn; None for one that works.
        answer: What the calls that work return.

    Attributes:
        calls:
            How often it was called.
    """

    def __init__(self, failures: Iterable[BaseException | None] = (), answer: str = "done") -> None:
        """
        Make a tool that was not called yet.
        """
        self._failures = _list_of(failures)
        self._answer = answer
        self.calls = 0
        self.__name__ = "failing_tool"
        # It fails as a function of the test's own module would: what is raised on purpose there, is
        # on purpose here. A frame is the only way to that module.
        home = sys._getframe(1).f_globals  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        self._raise = FunctionType(_raise.__code__, home)
        self.__wrapped__ = FunctionType(_answers.__code__, home)

    async def __call__(self) -> str:
        """
        Fail or answer, as it is the turn.
        """
        turn, self.calls = self.calls, self.calls + 1
        failure = self._failures[turn] if turn < len(self._failures) else None
        if failure is not None:
            self._raise(failure)
        return self._answer


def _list_of(failures: object) -> list[BaseException | None]:
    if _is_exception(failures) or not isinstance(failures, Iterable):
        raise TypeError(
            f"FailingTool takes a list of exceptions: write FailingTool([{failures!r}])"
        )
    entries: list[Any] = list(failures)  # pyright: ignore[reportUnknownArgumentType] -- of any entries, checked below
    for entry in entries:
        if entry is not None and not _is_exception(entry):
            raise TypeError(f"FailingTool raises exceptions, not {entry!r}; None is a success")
    return entries


def _is_exception(value: object) -> bool:
    return isinstance(value, BaseException) or (
        isinstance(value, type) and issubclass(value, BaseException)
    )


def _raise(failure: BaseException) -> None:
    raise failure


async def _answers() -> str:  # pyright: ignore[reportUnusedFunction] -- stands for the tool's own function
    return ""


def no_waits(retry: Retry | None = None, waits: list[float] | None = None) -> Retry:
    """
    Return retry rules that do not wait, for tests that must not sleep.

    Args:
        retry: The rules to copy. None: those of ``Retry()``.
        waits: A list to which each skipped wait is added, in seconds.

    Raises:
        TypeError: *retry* is not a `Retry`, or *waits* is not a list.
    """
    if retry is not None and not isinstance(retry, Retry):  # pyright: ignore[reportUnnecessaryIsInstance] -- a user's value
        example = (
            f"no_waits(Retry(attempts={retry}))" if isinstance(retry, int) else "no_waits(Retry())"
        )
        raise TypeError(f"no_waits takes the rules as a Retry, such as {example}, not {retry!r}")
    if waits is not None and not hasattr(waits, "append"):
        raise TypeError(f"waits takes a list, to which the waits are added, not {waits!r}")
    skipped = [] if waits is None else waits

    async def skip(seconds: float) -> None:
        skipped.append(seconds)

    return dataclasses.replace(
        retry or Retry(), sleep=skip, sleep_sync=skipped.append, random=lambda: 0.0
    )
