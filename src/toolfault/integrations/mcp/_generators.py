"""
Tools that are generators: their items are collected in the body, where a failure keeps itself.

The SDK collects them while it serializes the result, and loses whatever they raise. An async
generator it sends as text.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from toolfault.errors import ToolFault


def run_in_body(tool: Any) -> None:
    """
    Make a registered tool run its generator in its body, and fail if that is async.

    Args:
        tool: The SDK's tool; None, and what has no function, is left alone.
    """
    function: Any = getattr(tool, "fn", None)
    if inspect.isgeneratorfunction(function):
        tool.fn = _collect_items(function)
    elif inspect.isasyncgenfunction(function):
        tool.fn = _refuse_generator(function)


def _collect_items(function: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    @functools.wraps(function)
    def collect(*args: Any, **kwargs: Any) -> Iterator[Any]:
        items = list(function(*args, **kwargs))
        # Another generator, since the SDK sends a list in another form.
        return (item for item in items)

    return collect


def _refuse_generator(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        name = getattr(function, "__name__", "it")
        raise ToolFault(
            "tool_panicked",
            f"The tool's function {name!r} is an async generator, which can't be sent. "
            "It has to return its items in a list.",
        )

    return refuse
