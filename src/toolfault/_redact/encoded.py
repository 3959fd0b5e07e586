"""
Secrets in text that is encoded once more: URL encoding, HTML entities, JSON's escapes.

Rule 1: an encoded text is shown decoded where it holds a secret, and as it was where it holds none.
Rule 2: one encoding is taken off at a time; the redactor's rounds reach those below it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Final
from urllib.parse import unquote

from toolfault._redact.words import any_of
from toolfault._text import clean, pattern


# A run of URL encoding with an encoded quote, colon, equals sign, space or at sign.
_URL_ENCODED: Final = r"[^\s\"'`<>%&=]{0,512}+%(?:2[027]|3[AaDd]|40)[^\s\"'`<>]*"
_ENTITY: Final = r"&(?:quot|apos|amp|lt|gt|#\d{1,6}|#[xX][0-9a-fA-F]{1,6});"
_ESCAPE: Final = r"\\{1,4}(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrt])(?![a-z]{2}))"
_LETTERS: Final = {"n": "\n", "r": "\r", "t": "\t"}


def redact_encoded(text: str, redact: Callable[[str], str]) -> str:
    """
    Return a text without the secrets that one encoding hides.

    Args:
        text: Any text.
        redact: The families that look for secrets in the decoded text.
    """
    for mark, form, decode in _WHOLE:
        if mark in text and pattern(form).search(text) is not None:
            text = _unless_same(text, decode(text), redact)
    if any_of(_PERCENT, text):
        text = pattern(_URL_ENCODED).sub(
            lambda found: _unless_same(found[0], unquote(found[0]), redact), text
        )
    return text


def _decode_escapes(text: str) -> str:
    return clean(pattern(_ESCAPE).sub(_unescape, text))


#: Encodings of a whole text: what begins each, its form, and what decodes it.
_WHOLE: Final = (("\\", _ESCAPE, _decode_escapes), ("&", _ENTITY, html.unescape))
_PERCENT: Final = ("%2", "%3", "%40")


def _unless_same(text: str, decoded: str, redact: Callable[[str], str]) -> str:
    redacted = redact(decoded)
    return text if redacted == decoded else redacted


def _unescape(found: re.Match[str]) -> str:
    digits = found[1] or found[2]
    return chr(int(digits, 16)) if digits else _LETTERS[found[3]]
