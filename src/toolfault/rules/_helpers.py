"""
Reading attributes of exceptions that may be half-built or hostile.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, cast


#: How many links below an exception are looked at.
_MAX_LINKS: Final = 8

#: The longest name or reason of a peer that becomes part of a sentence.
_MAX_NAME: Final = 80


def attr(obj: object, name: str) -> Any:
    """
    Return an attribute; None if there is none or reading it raises.
    """
    try:
        return getattr(obj, name, None)
    except Exception:  # noqa: BLE001 -- a property of a half-built exception may raise anything
        return None


def int_attr(obj: object, name: str) -> int | None:
    """
    Return an attribute if it is an int and no bool, else None.
    """
    value = attr(obj, name)
    # By the real class, and past anything that a subclass does to its arithmetic.
    if not issubclass(type(value), int) or value is True or value is False:
        return None
    return int.__index__(value)


def str_attr(obj: object, name: str) -> str | None:
    """
    Return an attribute if it is a str, else None.
    """
    value = attr(obj, name)
    return str.__str__(value) if issubclass(type(value), str) else None


def dict_attr(obj: object, name: str) -> dict[Any, Any]:
    """
    Return an attribute if it is a dict, else an empty one.
    """
    value = attr(obj, name)
    return cast("dict[Any, Any]", value) if issubclass(type(value), dict) else {}


def first_argument(exc: BaseException) -> str:
    """
    Return an exception's first argument if it is a str, else "".
    """
    args: tuple[object, ...] = _args(exc) or ()
    first: Any = args[0] if args else ""
    return str.__str__(first) if issubclass(type(first), str) else ""


# Past anything that a class puts over it.
_args: Final[Any] = BaseException.__dict__["args"].__get__


def short_line(text: str | None, limit: int = _MAX_NAME) -> str:
    """
    Return a text if it is one printable line of at most *limit* characters, else "".
    """
    return text if text is not None and len(text) <= limit and text.isprintable() else ""


def walk_causes(exc: BaseException) -> Iterator[BaseException]:
    """
    Yield an exception, its causes, contexts and members, nearest first, at most eight.

    For the listed classes whose real cause sits in a suppressed context, and for groups of failed
    attempts.
    """
    return islice(_walk(exc), _MAX_LINKS)


def _walk(exc: BaseException) -> Iterator[BaseException]:
    pending, seen = [exc], set[int]()
    while pending:
        link = pending.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            pending += cast("tuple[BaseException, ...]", link.exceptions)[:_MAX_LINKS]  # pyright: ignore[reportUnknownMemberType] -- a group of anything
        pending += [other for other in (link.__cause__, link.__context__) if other is not None]
