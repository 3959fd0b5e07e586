"""
Errors for values that cannot be the answer to a call: mistakes in the program that parses them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from toolfault._json import is_mapping


#: Methods that only clients, sessions and servers have.
_METHODS: Final = ("call_tool", "list_tools", "run_stdio_async")


def refuse_misuse(function: str, value: object) -> None:
    """
    Raise an error for a value that is no answer but a mistake of the programmer.

    Args:
        function: The public function that was called.
        value: Its argument, which was not recognised as a failure.

    Raises:
        TypeError: The value is awaitable, callable, a number, a client or a server.
    """
    kind = type(value)
    if value is None or is_mapping(value) or issubclass(kind, (str, bytes, list, tuple)):
        return
    for is_mistake, what in _MISTAKES:
        if _holds(is_mistake, value):
            raise TypeError(f"{function} takes the answer to a call, not {what}")


def _is_number(value: object) -> bool:
    return issubclass(type(value), (int, float))


def _has_call_tool(value: object) -> bool:
    return any(callable(getattr(type(value), name, None)) for name in _METHODS)


def _is_function(value: object) -> bool:
    return inspect.isroutine(value) or inspect.isclass(value)


_MISTAKES: Final[tuple[tuple[Callable[[Any], bool], str], ...]] = (
    (inspect.isawaitable, "a coroutine: await it first"),
    (inspect.isasyncgen, "an async generator: iterate over it first"),
    (_has_call_tool, "a client or a server: pass what its call_tool returned"),
    (_is_function, "a function or a class: call it, and pass what it returned"),
    (_is_number, "a number: pass the whole result"),
)


def _holds(is_mistake: Callable[[Any], bool], value: object) -> bool:
    try:
        return is_mistake(value)
    except Exception:  # noqa: BLE001 -- a stranger's object may raise anything
        return False
