"""
Private keys: in PEM, in PuTTY's format, the body of one whose first line is missing, and in base64.
"""

from __future__ import annotations

import re
from typing import Final

from toolfault._redact.words import REMOVED, any_of, is_mixed
from toolfault._text import pattern


# To the end of the text where the last line is missing.
_PEM: Final = (
    r"-----BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
    r"(?s:(?:(?!-----END).)*+)(?:-----END[A-Z0-9 ]{0,60}-----)?"
)
_PUTTY: Final = r"(Private-Lines: \d{1,4}\r?\n)(?:[A-Za-z0-9+/=]{1,80}\r?\n?){1,400}"
_PUTTY_MAC: Final = r"(Private-MAC: )[0-9a-f]{40,64}"

# Base64 of "-----BEGIN", and of '{"auths' as Docker writes it.
_ENCODED: Final = (
    r"(?:LS0tLS1CRUdJTi|eyJhdXRocyI6|eyAiYXV0aHMi|ewogICJhdXRocyI|ewoJImF1dGhzI)"
    r"[A-Za-z0-9+/=_-]*+(?:\r?\n[ \t]{0,40}[A-Za-z0-9+/=_-]{40,}+)*"
)

# Lines of base64 as a key is wrapped: two of 60 characters, at least, and what follows them.
_BODY: Final = r"""(?x)
    (?<![A-Za-z0-9+/])
    (?:[A-Za-z0-9+/]{60,80}(?:\r?\n[ \t>|]{0,8}|\\{1,4}r?\\{0,4}n)){2,}+
    [A-Za-z0-9+/]{0,80}={0,2}
    """
_FIRST_LINE: Final = "-----BEGIN "


def redact_keys(text: str) -> str:
    """
    Return a text without private keys.
    """
    for marks, form, replacement in _FORMS:
        if any_of(marks, text):
            text = pattern(form).sub(replacement, text)
    return pattern(_BODY).sub(_redact_body, text) if len(text) > _SHORTEST_BODY else text


#: What stands in each text with a key, its form, and what replaces it.
_FORMS: Final = (
    (("-----BEGIN",), _PEM, REMOVED),
    (("Private-MAC",), _PUTTY_MAC, rf"\1{REMOVED}"),
    (("Private-Lines",), _PUTTY, rf"\1{REMOVED}\n"),
    (("LS0tLS1CRUdJTi", "YXV0aHM", "1dGhz", "hdXRocyI"), _ENCODED, REMOVED),
)
_SHORTEST_BODY: Final = 120


def _redact_body(found: re.Match[str]) -> str:
    # A certificate and a public key keep their first line, and are no secrets.
    before = found.string[max(0, found.start() - 80) : found.start()]
    if _FIRST_LINE in before or not is_mixed(found[0]):
        return found[0]
    return REMOVED
