"""
Helpers for tests of servers and clients: assert on failures, make them, and check a whole server.
"""

from __future__ import annotations

import dataclasses
import io
import math
import sys
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from types import FunctionType
from typing import Any

import anyio.to_thread

from toolfault._codes import McpErrorCategory, McpErrorCode, category_named, code_named
from toolfault._names import publish as _publish
from toolfault._options import seconds, several
from toolfault._read.parse import parse
from toolfault._retry.retry import Retry
from toolfault._verdict import Origin, Outcome
from toolfault.check._model import Report
from toolfault.errors import ToolFault


__all__ = [
    "FailingTool",
    "Report",
    "assert_fault",
    "assert_level",
    "check",
    "check_async",
    "no_waits",
]

_publish({"Report": Report}, __name__)


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


# ---- whole servers


def check(
    server: object,
    *,
    level: int = 1,
    tools: Iterable[str] = (),
    allow_write: Iterable[str] = (),
    calls: str | PathLike[str] | None = None,
    has_upstream: bool = True,
    timeout: float = 5.0,
    total: float = 120.0,
) -> Report:
    """
    Return the report of ``toolfault check`` on a server of this process.

    The server runs in a thread with an event loop of its own; a tool that blocks for ever keeps
    that thread until the tests end. No tool is called with arguments that its schema allows, but in
    *calls*. The ids of the checks, the levels and what is sent are those of the command.

    Args:
        server: An ``MCPServer``, a ``FastMCP`` or a low-level ``Server``, or a function that
            returns a new one for each connection.
        level: The level to reach, 1 to 5; see `assert_level`.
        tools: Tools that only read, although they have no ``readOnlyHint``.
        allow_write: Tools that may be provoked although they write.
        calls: A TOML file of calls that must fail, as for ``--call``. None: there are none.
        has_upstream: Whether the server calls other services, whose outages it has to tell apart.
        timeout: Seconds for each answer.
        total: Seconds for the whole check.

    Raises:
        TypeError: *server* is not a server.
        ValueError: An option has a value that it can't have.
    """
    from toolfault.check._calls import load_calls  # noqa: PLC0415 -- only for whole servers
    from toolfault.check._memory import check_in_memory  # noqa: PLC0415 -- needs the checker
    from toolfault.check._plan import OptionError, Options  # noqa: PLC0415 -- as above

    if type(level) is not int or not 1 <= level <= 5:
        raise ValueError(f"level must be 1 to 5, not {level!r}")
    for name, value in {"timeout": timeout, "total": total}.items():
        seconds(name, math.nan if value is None else value)  # pyright: ignore[reportUnnecessaryComparison] -- a user's value
    options = Options(
        level=level,
        timeout=timeout,
        start=timeout,
        total=total,
        tools=frozenset(several("tools", tools)),
        writing=frozenset(several("allow_write", allow_write)),
        calls=load_calls(Path(calls)) if calls is not None else (),
        has_upstream=has_upstream,
    )
    try:
        return check_in_memory(server, options)
    except OptionError as exc:
        raise ValueError(str(exc)) from None


async def check_async(
    server: object,
    *,
    level: int = 1,
    tools: Iterable[str] = (),
    allow_write: Iterable[str] = (),
    calls: str | PathLike[str] | None = None,
    has_upstream: bool = True,
    timeout: float = 5.0,  # noqa: ASYNC109 -- of each answer, as in `check`
    total: float = 120.0,
) -> Report:
    """
    Return what `check` returns, without blocking the event loop.

    Args:
        server: As for `check`; its tools run in another event loop than the caller's.
        level: As for `check`.
        tools: As for `check`.
        allow_write: As for `check`.
        calls: As for `check`.
        has_upstream: As for `check`.
        timeout: As for `check`.
        total: As for `check`.

    Raises:
        TypeError: As for `check`.
        ValueError: As for `check`.
    """

    def run() -> Report:
        return check(
            server,
            level=level,
            tools=tools,
            allow_write=allow_write,
            calls=calls,
            has_upstream=has_upstream,
            timeout=timeout,
            total=total,
        )

    return await anyio.to_thread.run_sync(run)


def assert_level(report: Report, level: int | None = None) -> None:
    """
    Fail the test with the findings if a report does not reach a level.

    Args:
        report: What `check` returned.
        level: The level. None: the one that `check` was asked for.

    Raises:
        AssertionError: A check of the level or of one below failed, or was not provoked.
    """
    __tracebackhide__ = True
    from toolfault.check._terminal import write_report  # noqa: PLC0415 -- only failures need it

    wanted = report.asked_level if level is None else level
    if report.reached_level >= wanted:
        return
    text = io.StringIO()
    write_report([dataclasses.replace(report, asked_level=wanted)], text)
    raise AssertionError(f"level {wanted} is not reached\n{text.getvalue()}")
