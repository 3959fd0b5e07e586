"""
Walks over the causes, contexts and members of an exception.

Every walk is bounded and visits nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final


#: How many links of a chain are looked at. Longer ones exist only where code re-raises in a loop.
MAX_LINKS: Final = 16

#: How many leaves of a group are looked at.
MAX_LEAVES: Final = 1000

_cause = BaseException.__dict__["__cause__"].__get__
_context = BaseException.__dict__["__context__"].__get__
_suppressed = BaseException.__dict__["__suppress_context__"].__get__
_members: Callable[[BaseException], tuple[BaseException, ...]] = BaseExceptionGroup.__dict__[
    "exceptions"
].__get__


def cause_of(exc: BaseException) -> BaseException | None:
    """
    Return the cause of an exception, or its context if that is not suppressed.
    """
    cause: BaseException | None = _cause(exc)
    if cause is None and not _suppressed(exc):
        cause = _context(exc)
    return cause


def any_cause_of(exc: BaseException) -> BaseException | None:
    """
    Return the exception that was handled when another was raised, also under ``from None``.

    What comes from a suppressed context may decide a code and must not be shown.
    """
    handled: BaseException | None = _cause(exc)
    if handled is None:
        handled = _context(exc)
    return None if handled is exc else handled


def causes_of(exc: BaseException) -> list[BaseException]:
    """
    Return the visible causes of an exception, newest first, without itself.
    """
    link = cause_of(exc)
    if link is None:
        return []
    seen, found = {id(exc)}, list[BaseException]()
    while link is not None and id(link) not in seen and len(found) < MAX_LINKS:
        seen.add(id(link))
        found.append(link)
        link = cause_of(link)
    return found


def is_group(exc: BaseException) -> bool:
    """
    Tell whether an exception is a group of others.
    """
    # By its type, past what a class may say of itself.
    return issubclass(type(exc), BaseExceptionGroup)


def members_of(exc: BaseException) -> tuple[BaseException, ...]:
    """
    Return the direct members of a group; () for an exception that is not a group.
    """
    return _members(exc) if is_group(exc) else ()


def leaves_of(exc: BaseException) -> list[BaseException]:
    """
    Return the leaves of a group, in order; [exc] for an exception that is not a group.
    """
    return list(_leaves(exc)) if is_group(exc) else [exc]


def _leaves(exc: BaseException) -> Iterator[BaseException]:
    pending, seen, given = [exc], set[int](), 0
    while pending and given < MAX_LEAVES:
        leaf = pending.pop()
        if id(leaf) in seen:
            continue
        seen.add(id(leaf))
        if issubclass(type(leaf), BaseExceptionGroup):
            pending += reversed(members_of(leaf))
        else:
            given += 1
            yield leaf
