"""
Secrets that are known, not guessed: registered ones, and those of the environment.

Rule 1: each is looked for in every spelling that libraries give it.
Rule 2: what ordinary text may hold (a word, a number, a plain path) is not a secret.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote, quote_plus

from toolfault._redact.words import (
    REMOVED,
    is_mixed,
    is_number,
    is_secret_variable,
    looks_chosen,
    looks_random,
    says_nothing,
)
from toolfault._text import WINDOW, clean, pattern, plain


#: The shortest secret that may be registered, in characters. Below, words of ordinary text go.
SHORTEST: Final = 4

#: The shortest that is looked for in other spellings; the shortest value that is taken from the
#: environment, and the shortest of those that mix letters with digits or signs.
_SHORTEST_SPELLED: Final = 8
_SHORTEST_VALUE: Final = 8
_SHORTEST_MIXED: Final = 5

#: How far back from a cut an unfinished word is dropped.
_UNFINISHED: Final = 256

#: How much of a secret is spelled in other ways, in characters.
_LONGEST_SPELLED: Final = 8192


class KnownSecrets:
    """
    Secrets in all their spellings, ready to be removed. Immutable.

    Args:
        secrets: The secrets as they are.
    """

    __slots__ = ("_spelled", "_spelled_oddly")

    def __init__(self, secrets: Iterable[str]) -> None:
        spelled = {spelling for secret in secrets for spelling in spellings(secret)}
        # The longest first: one may be part of another.
        self._spelled: Final = tuple(sorted(spelled, key=len, reverse=True))
        # Those that cleaning would change before they are looked for.
        self._spelled_oddly: Final = tuple(
            secret for secret in self._spelled if plain(clean(secret)) != secret
        )

    def redact(self, text: str) -> str:
        """
        Return a text in which a mark stands for each of these secrets.
        """
        return _redact_all(self._spelled, text)

    def redact_odd(self, text: str) -> str:
        """
        Return a text without the secrets that cleaning would change; to be called before cleaning.
        """
        return _redact_all(self._spelled_oddly, text)

    def window(self, text: str) -> str:
        """
        Return the window of a text, less what the cut may have left of one of these secrets.
        """
        text = text[:WINDOW]
        for secret in self._spelled:
            text = text[: _start_of_unfinished(secret, text)]
        for end in range(len(text) - 1, max(0, len(text) - _UNFINISHED), -1):
            if text[end].isspace():
                return text[:end]
        return text[:-_UNFINISHED]


def _redact_all(secrets: tuple[str, ...], text: str) -> str:
    for secret in secrets:
        if secret in text:
            # Part by part, since a secret may be part of the mark itself.
            text = REMOVED.join(part.replace(secret, REMOVED) for part in text.split(REMOVED))
    return text


def _start_of_unfinished(secret: str, text: str) -> int:
    """
    Return where the beginning of a secret stands at the end of a text; else the text's length.
    """
    start = text.find(secret[:SHORTEST], max(0, len(text) - len(secret) + 1))
    while start >= 0:
        if secret.startswith(text[start:]):
            return start
        start = text.find(secret[:SHORTEST], start + 1)
    return len(text)


# ---- spellings


def spellings(secret: str) -> set[str]:
    """
    Return a secret as it is, and as URLs, JSON, reprs, HTML, base64 and hexadecimal spell it.
    """
    found = {secret, clean(secret).strip()}
    if _SHORTEST_SPELLED <= len(secret) <= _LONGEST_SPELLED:
        raw = secret.encode("utf-8", "replace")
        found |= _base64_spellings(raw)
        found |= {raw.hex(), raw.hex().upper(), raw.hex(":"), raw.hex(" ")}
        found |= _url_spellings(raw)
        found |= _literal_spellings(secret, raw)
        found |= _html_spellings(secret)
    return {spelling for spelling in found if len(spelling) >= SHORTEST}


def _base64_spellings(raw: bytes) -> set[str]:
    # Alone, and what is the same whatever stands before and after it: "user:secret" and its like.
    found: set[str] = set()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        found.add(encode(raw).decode().rstrip("="))
        for before in range(3):
            encoded = encode(b"\0" * before + raw).decode().rstrip("=")
            whole = (before + len(raw)) % 3 == 0
            inner = encoded[(before * 8 + 5) // 6 : None if whole else -1]
            if len(inner) >= _SHORTEST_SPELLED:
                found.add(inner)
    return found


def _url_spellings(raw: bytes) -> set[str]:
    upper = {quote(raw, safe=""), quote(raw), quote_plus(raw), quote(raw, safe="!*'()~")}
    upper |= {quote(quote(raw, safe=""), safe="")}
    return upper | {pattern(_PERCENT).sub(_lower, spelling) for spelling in upper}


def _literal_spellings(secret: str, raw: bytes) -> set[str]:
    in_json = json.dumps(secret)[1:-1]
    found = {
        in_json,
        json.dumps(secret, ensure_ascii=False)[1:-1],
        json.dumps(in_json)[1:-1],
        in_json.replace("/", "\\/"),
        repr(secret)[1:-1],
        ascii(secret)[1:-1],
        repr(raw)[2:-1],
        repr(repr(secret))[1:-1],
    }
    return found | {pattern(_UNICODE_ESCAPE).sub(_upper, spelling) for spelling in found}


def _html_spellings(secret: str) -> set[str]:
    named = html.escape(secret)
    decimal = named.replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
    return {
        named,
        html.escape(secret, quote=False),
        named.replace("&#x27;", "&apos;"),
        named.replace("&#x27;", "&#39;"),
        decimal,
        secret.encode("ascii", "xmlcharrefreplace").decode(),
        named.encode("ascii", "xmlcharrefreplace").decode(),
    }


_PERCENT: Final = r"%[0-9A-F]{2}"
_UNICODE_ESCAPE: Final = r"(?<=\\[uUx])[0-9a-f]{2,8}"


def _lower(found: re.Match[str]) -> str:
    return found[0].lower()


def _upper(found: re.Match[str]) -> str:
    return found[0].upper()


# ---- the environment


def secrets_in(environ: Mapping[str, str]) -> set[str]:
    """
    Return the values of an environment that are secrets by their names, and the passwords in URLs.
    """
    found: set[str] = set()
    for name, value in environ.items():
        if is_secret_variable(name) and _is_worth_hiding(value):
            found.add(value)
        if "://" in value and "@" in value:
            found |= _passwords_in(value)
    return found


def _is_worth_hiding(value: str) -> bool:
    """
    Tell whether ordinary text would not hold a value: a plain path, a number, a word.
    """
    if says_nothing(value) or is_number(value):
        return False
    if len(value) < _SHORTEST_VALUE:
        return len(value) >= _SHORTEST_MIXED and is_mixed(value)
    if value[:1] in "/~." or value[1:3] in (":\\", ":/"):
        return any(looks_random(part) for part in re.split(r"[/\\:]", value))
    return True


def _passwords_in(url: str) -> set[str]:
    # DATABASE_URL, SENTRY_DSN: the user-info, and the URL as a whole.
    found = pattern(_USER_INFO).search(url)
    if found is None:
        return set()
    user, password = found[1], found[2]
    if password:
        return {url, password} if looks_chosen(password) or len(password) >= _LONG else {url}
    return {url, user} if user and looks_random(user) else set()


#: A password in a URL of so many characters is not a word that ordinary text has.
_LONG: Final = 12

_USER_INFO: Final = r"://([^\s:/?#@]{1,256})?(?::([^\s]{1,1024}))?@(?=[\w.\[%-])"
