"""
What the tables share: reading exceptions that may be half-built or hostile, how sentences end, and
usual verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, cast

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._verdict import Family, Origin, Verdict


#: How messages end: what to do.
LATER: Final = "Try again later."
NO_USE: Final = "Repeating the same call will not help."
OPERATOR: Final = "The server's operator has to look into it."

#: How many links below an exception are looked at.
_MAX_LINKS: Final = 8

#: The longest name or reason of a peer that becomes part of a sentence.
_MAX_NAME: Final = 80


def outage(
    sentence: str, *, advice: str = LATER, family: Family = "network", origin: Origin | None = None
) -> Verdict:
    """
    Something that the tool depends on does not work now.
    """
    return Verdict(
        code=McpErrorCode.INTERNAL,
        category=McpErrorCategory.TRANSIENT,
        retryable=True,
        message=f"{sentence}. {advice}",
        family=family,
        origin=origin,
    )


def final(
    sentence: str, *, advice: str = NO_USE, family: Family = "other", origin: Origin | None = None
) -> Verdict:
    """
    Something failed, and will fail again.
    """
    return Verdict(
        code=McpErrorCode.INTERNAL, message=f"{sentence}. {advice}", family=family, origin=origin
    )


def late(sentence: str) -> Verdict:
    """
    Something that the tool depends on did not answer in time.
    """
    return Verdict(code=McpErrorCode.TOOL_TIMEOUT, message=f"{sentence}. {LATER}", family="timeout")


def no_login(sentence: str, *, origin: Origin | None = None) -> Verdict:
    """
    The server's own credentials or rights do not suffice.
    """
    return Verdict(
        code=McpErrorCode.INTERNAL,
        category=McpErrorCategory.AUTH,
        message=f"{sentence}. {OPERATOR}",
        family="auth",
        origin=origin,
    )


def bug(sentence: str, *, family: Family = "bug") -> Verdict:
    """
    The tool's code is wrong.
    """
    return Verdict(code=McpErrorCode.TOOL_PANICKED, message=f"{sentence}. {NO_USE}", family=family)


def attr(obj: object, name: str) -> Any:
    """
    Return an attribute, whatever it is; None if there is none, or it can't be read.
    """
    try:
        return getattr(obj, name, None)
    except Exception:  # noqa: BLE001 -- a property of a half-built exception may raise anything
        return None


def whole(obj: object, name: str) -> int | None:
    """
    Return an attribute if it is an int, and no bool.
    """
    value = attr(obj, name)
    # By the real class, and past anything that a subclass does to its arithmetic.
    return (
        int.__index__(value)
        if issubclass(type(value), int) and value is not True and value is not False
        else None
    )


def words(obj: object, name: str) -> str | None:
    """
    Return an attribute if it is a text.
    """
    value = attr(obj, name)
    return str.__str__(value) if issubclass(type(value), str) else None


def first_argument(exc: BaseException) -> str:
    """
    Return an exception's first argument if it is a text, else nothing.
    """
    args: tuple[object, ...] = _args(exc) or ()
    first: Any = args[0] if args else ""
    return str.__str__(first) if issubclass(type(first), str) else ""


# Past anything that a class puts over it.
_args: Final[Any] = BaseException.__dict__["args"].__get__


def short(text: str | None, limit: int = _MAX_NAME) -> str:
    """
    Return a text that is short and of one line, else nothing.
    """
    return text if text is not None and len(text) <= limit and text.isprintable() else ""


def seconds(count: int) -> str:
    """
    Return a number of seconds in words.
    """
    return f"{count} second{'s' * (count != 1)}"


def below(exc: BaseException) -> Iterator[BaseException]:
    """
    Go through an exception and what it was raised from, over, or for, nearest first; bounded.

    For the listed classes whose real cause sits in a suppressed context, and for groups of failed
    attempts.
    """
    return islice(_below(exc), _MAX_LINKS)


def _below(exc: BaseException) -> Iterator[BaseException]:
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
