"""
Checks for what somebody configures; each error names the cure.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar, cast


_C = TypeVar("_C", bound=type)
_F = TypeVar("_F", bound=Callable[..., Any])


def seconds(name: str, value: object) -> None:
    """
    Raise ValueError unless *value* is a positive, finite number of seconds, or None.
    """
    if value is None:
        return
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a positive number of seconds or None, not {value!r}")


def flag(name: str, value: object) -> None:
    """
    Raise ValueError unless *value* is True or False; the text "no" is true in Python.
    """
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, not {value!r}")


def one_of(name: str, value: object, choices: Iterable[Any]) -> Any:
    """
    Return the choice that equals *value*.

    Raises:
        ValueError: No choice equals it; the message lists them.
    """
    listed = tuple(choices)
    for choice in listed:
        if value == choice:
            return choice
    names = [str(choice) for choice in listed]
    choices_shown = ", ".join(map(repr, names))
    near = did_you_mean(value, names)
    raise ValueError(f"{name} must be one of {choices_shown}, not {value!r}{near}")


def several(name: str, value: object, *, secret: bool = False) -> tuple[Any, ...]:
    """
    Return the entries of a list or another iterable; a single text is the usual slip.

    Args:
        name: The option's name.
        value: What was given.
        secret: Whether *value* must not be printed.

    Raises:
        ValueError: A text, or nothing that can be iterated.
    """
    if isinstance(value, str | bytes):
        shown = "..." if secret else repr(value)
        raise ValueError(f"{name} is a list, not one text: write {name}=[{shown}]")
    try:
        return tuple(cast("Iterable[Any]", value))
    except TypeError:
        shown = type(value).__name__ if secret else repr(value)
        raise ValueError(f"{name} is a list or another iterable, not {shown}") from None


def one_or_several(name: str, value: object, is_one: Callable[[object], bool]) -> tuple[Any, ...]:
    """
    Return the entries of a list, or the only entry where it was given without a list.

    Raises:
        ValueError: As for `several`.
    """
    return (value,) if is_one(value) else several(name, value)


def packages(name: str, value: object) -> tuple[str, ...]:
    """
    Return the import names of packages.

    Raises:
        ValueError: An entry that cannot be imported under that name.
    """
    entries = several(name, value)
    for entry in entries:
        if not isinstance(entry, str) or not all(part.isidentifier() for part in entry.split(".")):
            example = "such as 'acme_core'"
            raise ValueError(
                f"{name} lists packages by the name that is imported, {example}, not {entry!r}"
            )
    return entries


def is_plain_function(value: object) -> bool:
    """
    Tell whether *value* is callable and not async.
    """
    call = getattr(value, "__call__", None)  # noqa: B004 -- asks what it is, not whether
    return (
        callable(value)
        and not inspect.iscoroutinefunction(value)
        and not inspect.iscoroutinefunction(call)
    )


def takes_one(function: Callable[..., Any]) -> bool:
    """
    Tell whether a function can be called with one argument; True if its signature is unknown.
    """
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


# ---- names that do not exist


def nearest(given: object, known: Iterable[str]) -> str | None:
    """
    Return the known name that is nearest to *given*, in whatever case; None if none is near.
    """
    if not isinstance(given, str):
        return None
    from difflib import get_close_matches  # noqa: PLC0415 -- only mistakes need it

    names = {name.lower(): name for name in known}
    wanted = given.strip().lower().replace("-", "_")[:64]
    near = get_close_matches(wanted, names, n=1, cutoff=0.6)
    return names[near[0]] if near else None


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """
    Return "; did you mean 'x'?" for the known name that is nearest to *given*; "" if none is near.
    """
    near = nearest(given, known)
    return "" if near is None else f"; did you mean {near!r}?"


#: What people call our options, from other libraries.
_SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "attempts": ("retries", "max_attempts", "max_retries", "max_tries", "tries", "stop"),
    "budget": ("retry_budget",),
    "causes": ("cause", "cause_chain"),
    "clock": ("time", "now"),
    "hint": ("advice", "suggestion", "help"),
    "hint_max": ("max_retry_after", "retry_after_max"),
    "message": ("msg", "text", "detail", "description"),
    "code": ("error_code", "kind", "type"),
    "on_attempt": ("on_retry", "before_sleep", "callback"),
    "on_failure": ("on_error", "hooks", "hook"),
    "retry_after_seconds": ("retry_after", "wait", "delay", "retry_in", "seconds"),
    "retryable": ("retry", "can_retry", "is_retryable"),
    "expect": ("rules", "mapping", "exceptions", "errors"),
    "disclosure": ("mask", "mask_error_details", "redact"),
    "secrets": ("secret",),
    "timeout": ("deadline", "timeout_seconds", "max_time"),
    "wait_initial": ("initial", "backoff", "base", "min_wait"),
    "wait_jitter": ("jitter",),
    "wait_max": ("max_wait", "max_delay", "cap"),
}


def unknown_option(owner: str, given: str, known: Iterable[str]) -> TypeError:
    """
    Return the error for a keyword that *owner* does not take; it suggests the nearest one.
    """
    names = list(known)
    meant = [name for name in names if given in _SYNONYMS.get(name, ())]
    near = f"; did you mean {meant[0]!r}?" if meant else did_you_mean(given, names)
    dot = "" if near else "."
    return TypeError(f"{owner} has no option {given}{near}{dot} Its options are {', '.join(names)}")


def check_keywords(passes_to: type) -> Callable[[_F], _F]:
    """
    Return a decorator for functions: an unknown keyword gets an error with the nearest option.

    Args:
        passes_to: A class whose options people give to the function by mistake.
    """

    def decorate(function: _F) -> _F:
        name = function.__name__
        known = frozenset(inspect.signature(function).parameters)
        theirs = frozenset(inspect.signature(passes_to).parameters)

        @functools.wraps(function)
        def check_and_call(*args: Any, **options: Any) -> Any:
            for given in options.keys() - known:
                if given in theirs:
                    cure = f"{name}(..., {passes_to.__name__}({given}=...))"
                    raise TypeError(f"{given!r} is an option of {passes_to.__name__}: write {cure}")
                raise unknown_option(name, given, sorted(known | theirs))
            return function(*args, **options)

        return cast("_F", check_and_call)

    return decorate


def explain_unknown_options(cls: _C) -> _C:
    """
    Return the class with a constructor that suggests the nearest option for an unknown keyword.
    """
    init: Any = getattr(cls, "__init__")  # noqa: B009 -- may be a base class's, and type checkers call that unsound
    known = frozenset(inspect.signature(init).parameters) - {"self"}

    @functools.wraps(init)
    def check_and_init(self: Any, *args: Any, **options: Any) -> None:
        for name in options.keys() - known:
            raise unknown_option(cls.__name__, name, sorted(known))
        init(self, *args, **options)

    setattr(cls, "__init__", check_and_init)  # noqa: B010 -- type checkers keep the constructor as it is written
    return cls
