"""
Redaction of JSON values: each text alone, and together with the name that it stands under.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from toolfault._json import JsonCopier
from toolfault._redact.words import NAME_PARTS, REMOVED, any_of
from toolfault._text import encodable, safe_str


#: How much of one tree is copied: the characters of its texts, and what each value adds to them.
ROOM: Final = 131_072
COST: Final = 16

MAX_DEPTH: Final = 64


def redacting_copier(
    redact: Callable[[str], str],
    *,
    depth: int = MAX_DEPTH,
    members: int | None = None,
    room: int = ROOM,
) -> JsonCopier:
    """
    Return a copier that redacts each text of a tree; what exceeds its budget is left out.

    Args:
        redact: Redacts one text.
        depth: How many levels are copied.
        members: How many members of each object and array are copied. None: all.
        room: How many characters are copied in all.
    """
    return JsonCopier(
        text=lambda text, name: redact_member(name, encodable(text), redact),
        number=lambda number, name: _redact_number(name, number, redact),
        key=lambda key: redact(encodable(safe_str(key))),
        other=lambda item: redact(encodable(safe_str(item))),
        depth=depth,
        members=members,
        room=room,
        cost=COST,
    )


def _redact_number(name: str, number: float, redact: Callable[[str], str]) -> float | str:
    """
    Return a number, or what stands for it where its name tells that it is a secret.
    """
    # Of one or two digits it is a count.
    if not name or -100 < number < 100 or not any_of(NAME_PARTS, name.lower()):
        return number
    pair = json.dumps({name: number}, ensure_ascii=False, separators=(",", ":"))
    return number if redact(pair) == pair else REMOVED


def redact_member(name: str, text: str, redact: Callable[[str], str]) -> str:
    """
    Redact a text that stands under a name: what is harmless by itself may be a secret there.
    """
    shown = redact(text)
    if not name or not any_of(NAME_PARTS, name.lower()):
        return shown
    pair = json.dumps({name: shown}, ensure_ascii=False, separators=(",", ":"))
    return shown if redact(pair) == pair else REMOVED
