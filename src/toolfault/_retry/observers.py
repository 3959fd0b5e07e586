"""
Calls of hooks and observers: nothing that they raise or suppress changes a call.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final, TypeAlias

from toolfault._tracebacks import log_exception


Report: TypeAlias = Callable[[Any], None]
"""
Called with the end of what was observed.
"""

Opener: TypeAlias = Callable[[], AbstractContextManager[Callable[[Any], object]]]
"""
Opens one observer's context manager.
"""


def call_hook(hook: Callable[[Any], object], value: object) -> None:
    """
    Call a hook, and log what it raises.
    """
    try:
        hook(value)
    except Exception:  # noqa: BLE001 -- a hook is a user's code; it is logged with its traceback
        log_exception("the attempt hook %r raised; the attempts go on as decided", hook)


def observe(openers: Sequence[Opener]) -> AbstractContextManager[Report]:
    """
    Return a context manager that enters all observers, and gives the function that reports to them.
    """
    # Most calls are not observed.
    return _open_observers(openers) if openers else _UNOBSERVED


def _ignore(_value: object) -> None:
    pass


_UNOBSERVED: Final = contextlib.nullcontext(_ignore)


@contextlib.contextmanager
def _open_observers(openers: Sequence[Opener]) -> Generator[Report]:
    with contextlib.ExitStack() as stack:
        reports: list[Callable[[Any], object]] = []
        for opener in openers:
            try:
                manager = opener()
                reports.append(manager.__enter__())
            except Exception:  # noqa: BLE001 -- as in `call_hook`
                log_exception("an observer raised; the attempts go on without it")
            else:
                stack.push(partial(_exit, manager))

        def report(value: object) -> None:
            for one in reports:
                call_hook(one, value)

        yield report


def _exit(manager: AbstractContextManager[Any], *exc_info: Any) -> None:
    try:
        manager.__exit__(*exc_info)
    except Exception as exc:  # noqa: BLE001 -- as in `call_hook`
        if exc is not exc_info[1]:
            log_exception("an observer raised at the end; the attempts go on as decided")
