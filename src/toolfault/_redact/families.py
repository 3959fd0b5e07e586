"""
The order in which the families of secrets are looked for, and the cheap test before each.

Rule 1: a family's patterns run only where a few substring tests let it be there.
Rule 2: what is replaced is not looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from toolfault._redact.adjacent import (
    redact_beside,
    redact_columns,
    redact_logins,
    redact_members,
    redact_sql,
)
from toolfault._redact.commands import (
    POSITIONAL,
    WORDY,
    redact_commands,
    redact_flags,
    redact_pairs,
    redact_standard_input,
    redact_typed,
)
from toolfault._redact.encoded import redact_encoded
from toolfault._redact.keys import redact_keys
from toolfault._redact.named import (
    SCHEMES,
    STICKY,
    redact_elements,
    redact_named,
    redact_schemes,
    redact_sticky_cookies,
)
from toolfault._redact.tokens import redact_tokens
from toolfault._redact.urls import redact_urls
from toolfault._redact.words import NAME_PARTS, any_of, strength_of
from toolfault._text import pattern


class _Family(NamedTuple):
    """
    One family of secrets.

    Attributes:
        redact: Returns a text without them.
        marks: One of these stands in each text that has any, in lower case.
        needs_name: Whether the name of a secret stands there as well, one of `NAME_PARTS`.
    """

    redact: Callable[[str], str]
    marks: tuple[str, ...]
    needs_name: bool = False


#: A mark that stands in each text: the family has tests of its own.
_ALWAYS: Final = ("",)
_NEEDS_NAME: Final = True

_FAMILIES: Final = (
    _Family(redact_keys, _ALWAYS),
    _Family(redact_elements, ("</",)),
    _Family(redact_typed, ("send ",)),
    _Family(redact_sql, ("values", "identified", "password")),
    _Family(redact_pairs, ("login", "cred", "auth")),
    _Family(redact_schemes, SCHEMES),
    _Family(redact_members, ("value",), _NEEDS_NAME),
    _Family(redact_named, ("=", ":", "',", '",', "%3"), _NEEDS_NAME),
    _Family(redact_logins, ("(", "["), _NEEDS_NAME),
    _Family(redact_columns, ("\n", "\\n"), _NEEDS_NAME),
    _Family(redact_flags, ("-",), _NEEDS_NAME),
    _Family(redact_beside, _ALWAYS, _NEEDS_NAME),
    _Family(redact_urls, ("@",)),
    _Family(redact_commands, ("-", "/user:", *POSITIONAL)),
    _Family(redact_standard_input, ("|", "<<<")),
    _Family(redact_sticky_cookies, STICKY),
    _Family(redact_tokens, _ALWAYS),
)


# Prose of plain words and short numbers. No family matches in it: each needs a sign, a word that
# mixes letters and digits or has a capital inside, or a long one.
_PLAIN_WORD: Final = r"(?:[a-z_]{1,14}|[A-Z][a-z_]{1,13}|[A-Z]{1,14}|[0-9]{1,8})(?:'[a-z]{1,2})?"
_PLAIN_PROSE: Final = rf"(?:[(`]?{_PLAIN_WORD}[`)]?[.,;!?]?(?:[ \n]|\Z))*+"


def redact_families(text: str) -> str:
    """
    Return a text without what any family of secrets matches.
    """
    # Most messages are prose, and end here.
    if pattern(_PLAIN_PROSE).fullmatch(text) is not None and not any_of(WORDY, text):
        return text
    return redact_encoded(redact_plain(text), redact_plain)


def redact_plain(text: str) -> str:
    """
    Return a text without what a family matches as it stands, in no further encoding.
    """
    lower = text.lower()
    is_named = any_of(NAME_PARTS, lower)
    for redact, marks, needs_name in _FAMILIES:
        if (is_named or not needs_name) and any_of(marks, lower):
            text = redact(text)
    return text


# An introducer of a control sequence with its parameters, and the name that begins with what would
# be its final letter.
_INTRODUCER: Final = r"(?:\x1b\[?|\x9b)[ -?]{0,64}(?=([A-Za-z][\w.-]{1,64}))"


def keep_first_letters(text: str) -> str:
    """
    Return a text in which no control sequence takes the first letter of a secret's name.

    A sequence that is cut off ends in the next letter: what follows ``ESC [`` in
    ``ESC [password=…`` would be read as "assword".
    """
    if "\x1b" not in text and "\x9b" not in text:
        return text
    return pattern(_INTRODUCER).sub(_strip_introducer, text)


def _strip_introducer(found: re.Match[str]) -> str:
    name = found[1]
    return found[0] if strength_of(name) == strength_of(name[1:]) else ""
