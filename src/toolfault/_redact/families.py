"""
The order in which the families of secrets are looked for, and the cheap test before each.

Rule 1: a family's patterns run only where a few substring tests let it be there.
Rule 2: what is replaced is not looked at again.
"""

from __future__ import annotations

import re
from typing import Final

from toolfault._redact.apart import redact_beside, redact_logins, redact_members, redact_sql
from toolfault._redact.commands import redact_commands, redact_flags, redact_pairs
from toolfault._redact.encoded import redact_encoded
from toolfault._redact.keys import redact_keys
from toolfault._redact.named import SCHEMES, redact_elements, redact_named, redact_schemes
from toolfault._redact.tokens import redact_tokens
from toolfault._redact.urls import redact_urls
from toolfault._redact.words import NAME_PARTS, any_of, strength_of
from toolfault._text import pattern


_SQL: Final = ("values", "identified", "password")
_PAIR_WORDS: Final = ("login", "cred", "auth")


def redact_families(text: str) -> str:
    """
    Return a text without what any family of secrets matches.
    """
    return redact_encoded(redact_plain(text), redact_plain)


def redact_plain(text: str) -> str:
    """
    Return a text without what a family matches as it stands, in no further encoding.
    """
    text = redact_keys(redact_elements(text))
    text = _redact_by_name(text)
    if "@" in text:
        text = redact_urls(text)
    if "-" in text or "/user:" in text or "net user" in text:
        text = redact_commands(text)
    return redact_tokens(text)


def _redact_by_name(text: str) -> str:
    lower = text.lower()
    if any_of(_SQL, lower):
        text = redact_sql(text)
    if any_of(_PAIR_WORDS, lower):
        text = redact_pairs(text)
    if any_of(SCHEMES, lower):
        text = redact_schemes(text)
    if not any_of(NAME_PARTS, lower):
        return text
    if "value" in lower:
        text = redact_members(text)
    if "=" in text or ":" in text or "'," in text or '",' in text or "%3" in text:
        text = redact_named(text)
    if "(" in text:
        text = redact_logins(text)
    if "-" in text:
        text = redact_flags(text)
    return redact_beside(text)


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
    return pattern(_INTRODUCER).sub(_without_introducer, text)


def _without_introducer(found: re.Match[str]) -> str:
    name = found[1]
    return found[0] if strength_of(name) == strength_of(name[1:]) else ""
