"""
The names by which rules find classes, and peers find us.

A class is known by where it is *defined*: ``module.qualname``. So a rule for a package needs no
import of it.
"""

from __future__ import annotations

import sys
from typing import Any, Final, TypeVar


_T = TypeVar("_T", bound=Any)

#: Our place in a result's ``_meta``, and the identifier of our extension (SEP-2133 grammar).
META_KEY: Final = "io.github.toolfault/error"

#: The version of what stands under `META_KEY`.
META_VERSION: Final = 1

#: Where a repeated request says in its ``_meta`` which attempt it is, counted from 1.
ATTEMPT_KEY: Final = "io.github.toolfault/attempt"

#: The place in a result's ``_meta`` for a failure by SEP-3313, a draft.
TOOL_FAILURE_KEY: Final = "io.modelcontextprotocol/toolFailure"


def qualified_name(cls: type) -> str:
    """
    Return ``module.qualname`` of a class; never raises, whatever the class does to its attributes.
    """
    try:
        return f"{cls.__module__}.{cls.__qualname__}"
    except BaseException:  # noqa: BLE001 -- a metaclass may raise anything; type's own slots don't
        return f"?.{type.__dict__['__qualname__'].__get__(cls)}"


def class_name(exc: BaseException) -> str:
    """
    Return the bare name of an exception's class.
    """
    return qualified_name(type(exc)).rpartition(".")[2]


def public(thing: _T) -> _T:
    """
    Return a class or function that ``toolfault`` exports, known by its public path from now on.

    The package loads it at its first use. Pickles, tracebacks and ``help()`` name the public path,
    and annotations are evaluated there, however the defining module came to be loaded.
    """
    thing.__module__ = "toolfault"
    setattr(sys.modules["toolfault"], thing.__name__, thing)
    return thing


def publish(names: dict[str, Any], module: str) -> None:
    """
    Set the public module of the classes and functions that a public module exports.

    Pickles, tracebacks and ``help()`` then name the public path, and files may move. What another
    public module publishes stays there.

    Args:
        names: The exported objects by their names.
        module: The name of the public module.
    """
    for name, value in names.items():
        private = "._" in f".{getattr(value, '__module__', '')}"
        if private and getattr(value, "__qualname__", None) == name:
            value.__module__ = module
