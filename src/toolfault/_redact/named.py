"""
Secrets that what stands around them gives away: a name, a scheme, a URL, a flag.

Rule 1: a family's patterns run only where a few substring tests let it be there.
Rule 2: the name decides what its value is; one walk over the separators serves headers, cookies,
queries and members.
"""

from __future__ import annotations

import re
from typing import Final

from toolfault._redact.words import (
    CODE,
    COOKIE,
    FOLDER,
    HEADER,
    LIKELY,
    NAME_PARTS,
    PUBLIC,
    REMOVED,
    SECRET,
    WEAK,
    any_of,
    is_mixed,
    is_number,
    is_prose,
    is_secret,
    is_sentence,
    looks_random,
    strength_of,
)
from toolfault._text import pattern


def without_secrets(text: str) -> str:
    """
    Return a text without what the families match, each family only where it can.
    """
    lower = text.lower()
    dashed = "-" in text
    separated = "=" in text or ":" in text or "'," in text or '",' in text or "%3" in text
    named = (dashed or separated) and any_of(NAME_PARTS, lower)
    if dashed and "-----BEGIN" in text:
        text = pattern(_PRIVATE_KEY).sub(REMOVED, text)
    text = without_elements(text)
    if named and separated:
        text = _without_named(text)
    if named and "(" in text:
        text = pattern(_LOGIN).sub(rf"\1{REMOVED}", text)
    if any_of(_SCHEMES, lower):
        text = pattern(_SCHEME).sub(_unless_prose, text)
    if "://" in text and "@" in text:
        text = pattern(_URL_CREDENTIALS).sub(_without_userinfo, text)
    if named and dashed:
        text = pattern(_FLAG).sub(_unless_harmless_flag, text)
    if dashed and "-u" in text:
        text = pattern(_USER_FLAG).sub(_without_password, text)
    return text


# Family 1: private keys. To the end of the text where the end line is missing.

_PRIVATE_KEY: Final = (
    r"-----BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
    r"(?s:(?:(?!-----END).)*+)(?:-----END[A-Z0-9 ]{0,60}-----)?"
)


# Families 2, 4, 6, 7: headers, cookies, query parameters, names with values. One walk over the
# separators serves all, since only the name tells what the value is.

#: Where there is nothing: an empty range.
_NOWHERE: Final = (0, 0)

_SEPARATOR: Final = (
    r"""=>|:=|(?<![=!<>])=(?!=)|(?<!:):(?!//|:)|%3[Dd]|(?<=["']),(?=[ ]{0,2}b?["'])"""
)

# Read backwards: white space, a bracket, a quote, the name, and the word before it.
_NAME_BEFORE: Final = (
    r"""[ \t]{0,3}\]?(?:["'`]\\{0,7})?([\w.-]{1,96})(?:[ ]([A-Za-z]{2,20})(?![\w.-]))?"""
)


# White space, a bracket or a constructor, and the quote.
_OPENING: Final = (
    r"""[ \t]{0,4}(?:(?:[\[(]{1,2}|[A-Za-z_][\w.]{0,60}\()(?=[bu]?["']))?[bu]?(\\{0,7}["'`])"""
)

# What stands between quotes, by the opening one; where JSON is quoted in JSON, that is backslashes
# and a quote.
_QUOTED: Final = {quote: rf"[^{quote}\\\n]*+(?:\\.[^{quote}\\\n]*+)*+" for quote in "\"'`"}
_QUOTED_TWICE: Final = r"""[^"'`\\\n]*"""

# Values without quotes. That of a weak name stops at the next separator, so that no part of a text
# is read twice.
_BARE: Final = r"""(?:[^\s"'`<>;,&]|,(?![ \t]|\w{1,40}=)|&(?![\w.-]{1,40}=))+"""
_BARE_WORD: Final = r"[\w.+/~%-]+={0,2}"
_IN_QUERY: Final = r"""[^\s"'`<>&#;]+"""
_BLANK: Final = r"[ \t]{0,4}"


def _without_named(text: str) -> str:
    parts: list[str] = []
    done = 0
    # Backwards, a name can be matched from where it ends.
    mirrored = text[::-1]
    for separator in pattern(_SEPARATOR).finditer(text):
        at = separator.start()
        if at < done:
            continue
        name = pattern(_NAME_BEFORE).match(mirrored, len(text) - at)
        if name is None:
            continue
        strength = strength_of(name[1][::-1], name[2][::-1] if name[2] else "")
        if strength == PUBLIC:
            continue
        before = text[max(0, len(text) - name.end(1) - 2) : len(text) - name.end(1)]
        start, end = _secret_after(text, separator, strength, before, flag=name[1].endswith("-"))
        if start < end:
            parts += text[done:start], REMOVED
            done = end
    return "".join((*parts, text[done:])) if parts else text


def _secret_after(
    text: str, separator: re.Match[str], strength: int, before: str, *, flag: bool
) -> tuple[int, int]:
    """
    Return where the secret stands that belongs to the separator; `_NOWHERE` if there is none.

    Args:
        text: All of it.
        separator: What stands between name and value.
        strength: What the name says.
        before: The two characters before the name.
        flag: Whether the name begins with a dash.
    """
    after = separator.end()
    opening = pattern(_OPENING).match(text, after)
    if (
        separator[0] == ","
        and not flag
        and (before[:1] != "(" or opening is None or _is_word(text, opening))
    ):
        # A list of names has commas too: only pairs in parentheses are names with values.
        return _NOWHERE
    if strength == HEADER:
        return _authorization(text, after, opening)
    if strength == COOKIE:
        return _cookies(text, after, opening)
    query = separator[0] == "=" and before[-1:] in ("?", "&")
    if strength == CODE:
        if not query:
            return _NOWHERE
        strength = WEAK
    if opening is not None:
        return _between_quotes(text, opening, strength)
    start = _end_of(_BLANK, text, after)
    if text.startswith(REMOVED, start) or (
        strength == FOLDER and text[start : start + 1] in ("/", "~")
    ):
        return _NOWHERE
    form = _BARE_WORD if strength == WEAK else _IN_QUERY if query else _BARE
    end = _end_of(form, text, start)
    end = start + len(_trimmed(text[start:end]))
    loose = separator[0] == ":" and start > after
    if loose and is_prose(text, start, end):
        return _NOWHERE
    return (start, end) if is_secret(text[start:end], strength, loose=loose) else _NOWHERE


def _between_quotes(text: str, opening: re.Match[str], strength: int) -> tuple[int, int]:
    start = opening.end()
    end = _end_of(_QUOTED.get(opening[1], _QUOTED_TWICE), text, start)
    value = text[start:end]
    return (start, end) if not is_sentence(value) and is_secret(value, strength) else _NOWHERE


def _is_word(text: str, opening: re.Match[str]) -> bool:
    return text[opening.end() : opening.end() + 64].partition(opening[1])[0].isalpha()


def _end_of(source: str, text: str, start: int) -> int:
    found = pattern(source).match(text, start)
    return start if found is None else found.end()


def _trimmed(value: str) -> str:
    # Less the punctuation of the text around it.
    return value.rstrip(".,:" if "(" in value or "[" in value or "{" in value else ".,:)]}")


_PARAMETER: Final = r"""[\w-]{1,40}=(?:"[^"\n]{0,2048}"|[^\s,"']{0,2048})"""
_AUTHORIZATION: Final = (
    r"""[ \t]{0,4}(?:([A-Za-z][\w-]{1,30})[ \t]{1,4})?"""
    rf"""((?:{_PARAMETER}(?:,[ \t]{{0,2}}{_PARAMETER}){{1,31}})|[^\s"'`<>,;]+)"""
)
_SCHEME_NAME: Final = (
    r"(?i)(?:bearer|basic|digest|negotiate|token|api-?key|ntlm|bot|hawk|oauth|dpop|hmac|signature|sharedkey"
    r"|aws4-[\w-]{1,30})[ \t]{1,4}"
)


def _authorization(text: str, after: int, opening: re.Match[str] | None) -> tuple[int, int]:
    # The scheme stays: it helps, and it is no secret.
    if opening is not None:
        start, end = _between_quotes(text, opening, SECRET)
        scheme = pattern(_SCHEME_NAME).match(text, start, end)
        start = scheme.end() if scheme else start
        return (start, end) if is_secret(text[start:end], SECRET) else _NOWHERE
    found = pattern(_AUTHORIZATION).match(text, after)
    if found is None:
        return _NOWHERE
    start, end = found.span(2)
    if found[1] is not None and pattern(_SCHEME_NAME).match(found[1] + " ") is None:
        # A scheme that is not known here, the secret itself, or prose.
        if is_mixed(found[1]):
            start, end = found.span(1)
        elif not is_mixed(found[2]):
            return _NOWHERE
    value = _trimmed(text[start:end])
    return (
        (start, start + len(value))
        if is_secret(value, SECRET) and not is_prose(text, start, end)
        else _NOWHERE
    )


_COOKIES: Final = (
    r"""(?i)[^\s=;,"']{1,128}=[^\s;,"']{0,4096}(?:;[ \t]{0,2}(?:expires=[A-Za-z]{3,9},[^;"'\n]{0,32}"""
    r"""|[^\s=;,"']{1,128}=[^\s;"']{0,4096}|httponly|secure|partitioned)){0,64}"""
)


def _cookies(text: str, after: int, opening: re.Match[str] | None) -> tuple[int, int]:
    if opening is not None:
        return _between_quotes(text, opening, SECRET)
    start = _end_of(_BLANK, text, after)
    if text.startswith(REMOVED, start):
        return _NOWHERE
    end = _end_of(_COOKIES, text, start)
    if end > start:
        return start, end
    end = _end_of(_BARE_WORD, text, start)
    return (start, end) if looks_random(text[start:end]) else _NOWHERE


# The same between tags, and as the pair that HTTP clients take.

_ELEMENT: Final = r"(<([A-Za-z][\w:.-]{0,63})(?:\s[^<>]{0,200})?>)([^<>]+)(?=</)"
_LOGIN: Final = r"""(?i)(\bauth["']?[ ]?[=:][ ]?\(b?["'][^"'\n]{0,256}["'],[ ]?b?["'])(?!\[redacted\])[^"'\n]{1,1024}(?=["']\))"""


def without_elements(text: str) -> str:
    """
    Return a text without secrets between tags; to be asked while the tags are still there.
    """
    return pattern(_ELEMENT).sub(_unless_harmless_element, text) if "</" in text else text


def _unless_harmless_element(found: re.Match[str]) -> str:
    strength = strength_of(found[2])
    if strength in (PUBLIC, CODE) or is_sentence(found[3]) or not is_secret(found[3], strength):
        return found[0]
    return found[1] + REMOVED


# Family 3: a scheme and its token.

_SCHEMES: Final = ("bearer ", "basic ", "token ", "negotiate ", "digest ")
_SCHEME: Final = r"""(?i)(?<![A-Za-z0-9_])((bearer|basic|token|negotiate|digest)[ ]{1,4}["']?)([A-Za-z0-9._~+/=-]{8,})"""


def _unless_prose(found: re.Match[str]) -> str:
    token = found[3].rstrip(".-/")
    mixed = is_mixed(token) or (
        found[2].lower() != "token" and ("=" in token or token.count(".") > 1)
    )
    if not mixed or is_number(token):
        return found[0]
    return f"{found[1]}{REMOVED}{found[3][len(token) :]}"


# Family 5: credentials in URLs. A password may hold "/" and "@"; a port may not be taken for one.

_URL_CREDENTIALS: Final = (
    r"""://([^\s:/?#@"'`<>\[\]]{0,256})"""
    r"""(?::(?!\d{1,5}(?:[/?#\s]|\Z))(?!\[redacted\]@)([^\s"'`<>]{0,1024}))?@(?=[\w.\[%-])"""
)


def _without_userinfo(found: re.Match[str]) -> str:
    user, password = found[1], found[2]
    if looks_random(user):
        return f"://{REMOVED}@"
    return f"://{user}:{REMOVED}@" if password else found[0]


# Family 8: command-line flags with the value in the next word.

_FLAG: Final = r"""(?<![\w-])(--?([A-Za-z][\w.-]{0,63})(?:["'],[ ]{0,3}b?["']|[ \t]{1,4}["']?))(?![-\[])([^\s"'`,]{1,1024})"""
_USER_FLAG: Final = (
    r"""(?<![\w-])((?:-u|--user|--proxy-user)(?:["'],[ ]{0,3}["']|[ =]["']?)[^\s"':]{1,128}:)"""
    r"""(?!\[redacted\])([^\s"']{1,1024})"""
)


def _unless_harmless_flag(found: re.Match[str]) -> str:
    value = found[3].rstrip(".;:)")
    if strength_of(found[2]) == PUBLIC or not is_secret(value, max(LIKELY, strength_of(found[2]))):
        return found[0]
    if strength_of(found[2]) == WEAK and not looks_random(value):
        return found[0]
    return f"{found[1]}{REMOVED}{found[3][len(value) :]}"


def _without_password(found: re.Match[str]) -> str:
    return found[0] if found[2].isdecimal() else found[1] + REMOVED
