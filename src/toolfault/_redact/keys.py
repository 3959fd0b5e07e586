"""
Private keys: in PEM, in PuTTY's format, the body of one whose first line is missing, and in base64.
"""

from __future__ import annotations

import re
from typing import Final

from toolfault._redact.words import REMOVED, is_mixed
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
    if "-----BEGIN" in text:
        text = pattern(_PEM).sub(REMOVED, text)
    if "Private-" in text:
        text = pattern(_PUTTY_MAC).sub(rf"\1{REMOVED}", text)
        text = pattern(_PUTTY).sub(rf"\1{REMOVED}\n", text)
    if "LS0tLS1CRUdJTi" in text or "YXV0aHM" in text or "1dGhz" in text or "hdXRocyI" in text:
        text = pattern(_ENCODED).sub(REMOVED, text)
    if len(text) > 120 and ("\n" in text or "\\n" in text):
        text = pattern(_BODY).sub(_redact_body, text)
    return text


def _redact_body(found: re.Match[str]) -> str:
    # A certificate and a public key keep their first line, and are no secrets.
    before = found.string[max(0, found.start() - 80) : found.start()]
    if _FIRST_LINE in before or not is_mixed(found[0]):
        return found[0]
    return REMOVED
