"""
Secrets that are known, not guessed: registered ones, and those of the environment.

Rule 1: each is looked for in every spelling that libraries give it.
Rule 2: what ordinary text may hold (a word, a number, a plain path) is none.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, quote_plus

from toolfault._redact.words import (
    REMOVED,
    SAYS_NOTHING,
    is_number,
    is_secret_variable,
    looks_random,
)
from toolfault._text import WINDOW, clean


#: The shortest secret that may be registered, and the shortest that is looked for in other
#: spellings, or taken from the environment. Below, words of ordinary text would go.
SHORTEST: Final = 4
_SHORTEST_SPELLED: Final = 8

#: How far back from a cut an unfinished word is dropped.
_UNFINISHED: Final = 256


def spellings(secret: str) -> set[str]:
    """
    Return a secret as it is, and as it looks in URLs, in JSON, in reprs and in base64.
    """
    found = {secret, clean(secret).strip()}
    if len(secret) >= _SHORTEST_SPELLED:
        raw = secret.encode("utf-8", "replace")
        for encoded in (base64.b64encode(raw), base64.urlsafe_b64encode(raw)):
            found.add(encoded.decode().rstrip("="))
        found |= {
            quote(raw, safe=""),
            quote(raw),
            quote_plus(raw),
            json.dumps(secret)[1:-1],
            repr(secret)[1:-1],
        }
    return {spelling for spelling in found if len(spelling) >= SHORTEST}


def secrets_in(environ: Mapping[str, str]) -> set[str]:
    """
    Return the values of an environment that are secrets by their names.
    """
    return {
        value
        for name, value in environ.items()
        if len(value) >= _SHORTEST_SPELLED and is_secret_variable(name) and _is_worth_hiding(value)
    }


def _is_worth_hiding(value: str) -> bool:
    # Plain paths, numbers, and words that any text may hold stay.
    if value.lower() in SAYS_NOTHING or is_number(value):
        return False
    if value[:1] in "/~." or value[1:3] in (":\\", ":/"):
        return any(looks_random(part) for part in re.split(r"[/\\:]", value))
    return True


def without_known(secrets: tuple[str, ...], text: str) -> str:
    """
    Return a text in which a mark stands for each of these secrets.
    """
    for secret in secrets:
        if secret in text:
            # Part by part, since a secret may be part of the mark itself.
            text = REMOVED.join(part.replace(secret, REMOVED) for part in text.split(REMOVED))
    return text


def windowed(text: str, secrets: tuple[str, ...]) -> str:
    """
    Return the window of a text, less what the cut may have left of one of these secrets.
    """
    text = text[:WINDOW]
    for secret in secrets:
        start = text.find(secret[:SHORTEST], max(0, len(text) - len(secret) + 1))
        while start >= 0:
            if secret.startswith(text[start:]):
                text = text[:start]
                break
            start = text.find(secret[:SHORTEST], start + 1)
    for end in range(len(text) - 1, max(0, len(text) - _UNFINISHED), -1):
        if text[end].isspace():
            return text[:end]
    return text[:-_UNFINISHED]
