"""
Tracebacks for a log: redacted, without control characters, and bounded before they are formatted.
"""

from __future__ import annotations

import logging
import sys
import traceback
from functools import cache
from types import TracebackType
from typing import Any, Final

from toolfault._exception_chain import cause_of, causes_of, leaves_of, members_of
from toolfault._logging import log
from toolfault._names import class_name
from toolfault._redact import Redactor
from toolfault._text import WINDOW, clean, safe_str, text_of


#: The longest traceback, in characters; the middle of a longer one is left out.
_LONGEST: Final = 32_768

#: How many exceptions a traceback shows, each counted as often as it is shown.
_MAX_EXCEPTIONS: Final = 200

#: How many frames of one exception are formatted, and how many are walked to find the last ones.
_MAX_FRAMES: Final = 100
_MAX_WALK: Final = 200_000

#: How many notes of one exception are formatted.
_MAX_NOTES: Final = 100

#: How many notes of an exception that holds more, or longer ones, are shown, and how much of each.
_MAX_SHOWN_NOTES: Final = 8
_MAX_NOTE: Final = 1000

#: What `traceback` reads from an exception by name; a class that overrides one may return anything.
_READ_BY_NAME: Final = frozenset(
    """
    __cause__ __context__ __suppress_context__ __traceback__ __notes__ __class__ __getattribute__
    """.split()
)

_mro: Final[Any] = type.__dict__["__mro__"].__get__
_members_of_class: Final[Any] = type.__dict__["__dict__"].__get__
_traceback_of: Final[Any] = BaseException.__dict__["__traceback__"].__get__
_state_of: Final[Any] = BaseException.__dict__["__dict__"].__get__


def log_exception(
    template: str, *args: object, exc: BaseException | None = None, redactor: Redactor | None = None
) -> None:
    """
    Log trouble inside the library at ERROR, with a redacted traceback.

    Args:
        template: The message; see `SafeLogger`.
        args: What it is filled with.
        exc: The trouble. None: the exception that is being handled.
        redactor: None: one that knows the secrets of the environment.

    Raises:
        KeyboardInterrupt: A signal arrived meanwhile. Nothing else.
    """
    trouble = sys.exception() if exc is None else exc
    text = None
    if trouble is not None:
        text = redact_traceback(trouble, redactor or _default_redactor())
    log.write(logging.ERROR, template, args, text=text)


@cache
def _default_redactor() -> Redactor:
    return Redactor()


def redact_traceback(exc: BaseException, redactor: Redactor) -> str:
    """
    Format a traceback, redacted and indented, so that no line of it can pose as a log record.

    Raises:
        KeyboardInterrupt: A signal arrived meanwhile. Nothing else.
    """
    try:
        text = clean(_format(exc))
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST // 2]}\n[...]\n{text[-_LONGEST // 2 :]}"
        return "\n".join(f"  {line}" for line in redactor.redact(text).splitlines())
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 -- a class may raise anything from its own attributes
        return f"  {redactor.scrub(class_name(exc), WINDOW)}, which can't be shown"


def is_cheap_to_format(exc: BaseException) -> bool:
    """
    Tell whether `traceback` formats an exception in bounded time, without calling overridden slots.
    """
    pending, seen = [exc], 0
    while pending:
        link = pending.pop()
        seen += 1
        if seen > _MAX_EXCEPTIONS or not _is_cheap_alone(link):
            return False
        pending += members_of(link)
        if (cause := cause_of(link)) is not None:
            pending.append(cause)
    return True


def _is_cheap_alone(exc: BaseException) -> bool:
    for cls in _mro(type(exc)):
        if cls is BaseException:
            break
        if not _READ_BY_NAME.isdisjoint(_members_of_class(cls)):
            return False
    if len(text_of(exc)) >= WINDOW or not _has_short_notes(exc):
        return False
    link, frames = _traceback_of(exc), 0
    while link is not None and frames <= _MAX_FRAMES:
        link, frames = link.tb_next, frames + 1
    return link is None


def _has_short_notes(exc: BaseException) -> bool:
    notes = _notes_of(exc)
    if not notes:
        return notes is not None
    if len(notes) > _MAX_NOTES:
        return False
    texts = [note for note in notes if type(note) is str]
    return len(texts) == len(notes) and sum(map(len, texts)) < WINDOW


def _notes_of(exc: BaseException) -> list[object] | tuple[object, ...] | None:
    """
    Return the notes of an exception. None: something else is in their place.
    """
    state: dict[str, Any] = _state_of(exc) or {}
    notes: Any = state.get("__notes__", ())
    if type(notes) is list or type(notes) is tuple:  # pyright: ignore[reportUnknownArgumentType] -- anything's
        return notes  # pyright: ignore[reportUnknownVariableType] -- of anything
    return None


def _format(exc: BaseException) -> str:
    if is_cheap_to_format(exc):
        return "".join(traceback.format_exception(exc))
    leaf = next(iter(leaves_of(exc)), exc)
    links = [leaf, *causes_of(leaf)]
    return "\n".join(f"{_format_frames(link)}{_headline(link)}" for link in reversed(links))


def _headline(exc: BaseException) -> str:
    text, name = text_of(exc), class_name(exc)
    lines = [f"{name}: {text}" if text else name]
    notes = _notes_of(exc)
    if notes is not None:
        lines += [safe_str(note)[:_MAX_NOTE] for note in notes[:_MAX_SHOWN_NOTES]]
        if len(notes) > _MAX_SHOWN_NOTES:
            lines.append(f"[{len(notes) - _MAX_SHOWN_NOTES} notes are left out]")
    return "\n".join(lines)


def _format_frames(exc: BaseException) -> str:
    """
    Format the first and the last frames that an exception came through.
    """
    first: TracebackType | None = _traceback_of(exc)
    if first is None:
        return ""
    half = _MAX_FRAMES // 2
    last, link, count = first, first.tb_next, 1
    while link is not None and count < _MAX_WALK:
        link, count = link.tb_next, count + 1
        if count > half:
            last = last.tb_next or last
    if count <= half:
        return "".join(traceback.format_tb(first))
    left_out = f"  [{max(0, count - 2 * half)} frames are left out]\n"
    head = traceback.format_tb(first, limit=half)
    return "".join([*head, left_out, *traceback.format_tb(last, limit=half)])
