"""
Checking what somebody configures: each wrong value is a ValueError that names the cure.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from typing import Any, cast


def seconds(name: str, value: object) -> None:
    """
    Refuse what is no positive, finite number of seconds, and not None.
    """
    if value is None:
        return
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a positive number of seconds or None, not {value!r}")


def flag(name: str, value: object) -> None:
    """
    Refuse what is neither True nor False; the text "no" is true in Python.
    """
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, not {value!r}")


def one_of(name: str, value: object, choices: Iterable[Any]) -> Any:
    """
    Return the choice that a value is, or refuse it.
    """
    listed = tuple(choices)
    for choice in listed:
        if value == choice:
            return choice
    raise ValueError(
        f"{name} must be one of {', '.join(repr(str(choice)) for choice in listed)}, not {value!r}"
    )


def several(name: str, value: object) -> tuple[Any, ...]:
    """
    Return the entries of a list, or refuse what is none; a single text is the usual slip.
    """
    if isinstance(value, str | bytes):
        raise ValueError(f"{name} is a list; write ({value!r},)")
    try:
        return tuple(cast("Iterable[Any]", value))
    except TypeError:
        raise ValueError(f"{name} is a list, or any other iterable, not {value!r}") from None


def packages(name: str, value: object) -> tuple[str, ...]:
    """
    Return names of packages, or refuse what is none: they are import names.
    """
    entries = several(name, value)
    for entry in entries:
        if not isinstance(entry, str) or not all(part.isidentifier() for part in entry.split(".")):
            raise ValueError(
                f"{name} lists packages by the name that is imported, such as 'acme_core', not {entry!r}"
            )
    return entries


def is_plain_function(value: object) -> bool:
    """
    Tell whether something can be called and answers at once.
    """
    call = getattr(value, "__call__", None)  # noqa: B004 -- asks what it is, not whether
    return (
        callable(value)
        and not inspect.iscoroutinefunction(value)
        and not inspect.iscoroutinefunction(call)
    )


def takes_one(function: Callable[..., Any]) -> bool:
    """
    Tell whether a function can be called with one argument; where nobody can tell, it can.
    """
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:
        return True
    return True
