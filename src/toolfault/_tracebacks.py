"""
Tracebacks for a log: redacted, without what a terminal would obey, and bounded.
"""

from __future__ import annotations

import traceback
from typing import Final

from toolfault._causes import cause_of, leaves_of, members_of
from toolfault._names import class_name
from toolfault._redact import Redactor
from toolfault._text import clean


#: The longest traceback, in characters; of a longer one the middle goes.
_LONGEST: Final = 32_768

#: How many exceptions a traceback shows, each counted as often as it is shown.
_HEAVY: Final = 200


def shown_traceback(exc: BaseException, redactor: Redactor) -> str:
    """
    Return a traceback, indented, so that no line of a message passes for a record of its own. Never
    raises.
    """
    text = clean(_formatted(exc))
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n[...]\n{text[-_LONGEST // 2 :]}"
    return "\n".join(f"  {line}" for line in redactor.redact(text).splitlines())


def _formatted(exc: BaseException) -> str:
    name = class_name(exc)
    try:
        if _weight(exc) <= _HEAVY:
            return "".join(traceback.format_exception(exc))
        leaf = next(iter(leaves_of(exc)), exc)
        return f"{name}, with too many others to show\n{''.join(traceback.format_tb(leaf.__traceback__))}"
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 -- a class may raise anything from its own attributes
        return f"{name}, which can't be shown"


def _weight(exc: BaseException) -> int:
    """
    Count the exceptions that a traceback would show, a group that is held twice twice; stops soon
    after `_HEAVY`.
    """
    pending, weight = [exc], 0
    while pending and weight <= _HEAVY:
        link = pending.pop()
        weight += 1
        cause = cause_of(link)
        pending += [*members_of(link), *([] if cause is None else [cause])]
    return weight
