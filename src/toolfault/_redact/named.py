"""
Secrets that a name before a separator gives away: headers, cookies, queries, members, assignments.

Rule 1: the name decides what its value is; one walk over the separators serves all of them.
Rule 2: the value ends where the syntax around it ends it: a quote, a bracket, a separator, a space.
Rule 3: no part of a text is read twice, whatever it repeats.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from toolfault._redact.words import (
    CODE,
    COOKIE,
    FOLDER,
    HEADER,
    LIKELY,
    NOWHERE,
    PHRASE,
    PIN,
    PUBLIC,
    REMOVED,
    SECRET,
    WEAK,
    Span,
    is_algorithm,
    is_mixed,
    is_named_secret,
    is_numbered_name,
    is_prose,
    is_secret,
    is_sentence,
    looks_chosen,
    looks_random,
    remove_spans,
    strength_of,
)
from toolfault._text import pattern


class Name(NamedTuple):
    """
    A name that stands before a separator.

    Attributes:
        strength: What it says of its value.
        before: The two characters before it.
        is_flag: Whether it begins with a dash.
    """

    strength: int
    before: str
    is_flag: bool


_SEPARATOR: Final = (
    r"""=>|:=|(?<![=!<>])=(?!=)|(?<!:):(?!//|:)|%3[Dd]|(?<=["']),(?=[ ]{0,2}b?["'])"""
)

# Read backwards: white space, a bracket, a quote, the name, and the word before it.
_NAME_BEFORE: Final = (
    r"""[ \t]{0,3}\]?(?:["'`]\\{0,7})?([\w.-]{1,96})(?:[ ]([A-Za-z]{2,20})(?![\w.-]))?"""
)

# White space, a line break, a bracket or a constructor, and the quote.
_OPENING: Final = (
    r"""[ \t]{0,4}(?:\r?\n[ \t]{0,40})?"""
    r"""(?:(?:[\[(]{1,2}|(?:\[\]string)?\{|[A-Za-z_][\w.]{0,60}\()(?=[bu]?["']))?"""
    r"""[bunN]?(\\{0,7}["'`])"""
)

# What stands between quotes, by the opening one; where JSON is quoted in JSON, that is backslashes
# and a quote.
_QUOTED: Final = {quote: rf"[^{quote}\\\n]*+(?:\\.[^{quote}\\\n]*+)*+" for quote in "\"'`"}
_QUOTED_TWICE: Final = r"""[^"'`\\\n]*"""

# The other members of a list, and the other parts of a concatenation.
_MORE_QUOTED: Final = (
    r"""(?:["'][ ]{0,2}(?:,|\|\||\+)[ \n]{0,8}[buN]?["'][^"'\n]{0,1024}(?=["'])){1,64}"""
)

# Values without quotes. That of a weak name stops at the next separator, so that no part of a text
# is read twice.
_BARE: Final = r"""(?:[^\s"'`<>;,&]|,(?![ \t]|\w{1,40}=)|&(?![\w.-]{1,40}=))+"""
_BARE_WORD: Final = r"[\w.+/~%-]+={0,2}"
_IN_QUERY: Final = r"""[^\s"'`<>&;]+"""
_IN_BRACKETS: Final = r"""\[[^\]\[\n"']{1,2048}(?=\])"""
_WORDS: Final = r"""(?:[a-z]{3,12}[ ,]{1,2}){5,32}[a-z]{3,12}"""
_BLANK: Final = r"[ \t]{0,4}"
# The value is on the next line: at a line's end, or as a YAML block.
_BLOCK: Final = r"[ \t]{0,4}(?:[|>][+-]?\d?[ \t]{0,4}(?:\r?\n|\\{1,4}n)|\r?\n)[ \t]{0,40}"


def redact_named(text: str) -> str:
    """
    Return a text without the values of names that tell secrets.
    """
    # Backwards, a name can be matched from where it ends.
    mirrored = text[::-1]

    def find(separator: re.Match[str]) -> Span:
        name = name_before(text, mirrored, separator.start())
        return NOWHERE if name.strength == PUBLIC else _secret_after(text, separator, name)

    return remove_spans(text, pattern(_SEPARATOR).finditer(text), find)


def name_before(text: str, mirrored: str, at: int) -> Name:
    """
    Return the name that ends at a position; a public one if there is none.

    Args:
        text: Any text.
        mirrored: The text backwards.
        at: The position of what stands after the name.
    """
    found = pattern(_NAME_BEFORE).match(mirrored, len(text) - at)
    if found is None:
        return _NO_NAME
    begin = len(text) - found.end(1)
    strength = strength_of(found[1][::-1], (found[2] or "")[::-1])
    return Name(strength, text[max(0, begin - 2) : begin], is_flag=found[1].endswith("-"))


_NO_NAME: Final = Name(PUBLIC, "", is_flag=False)


def _secret_after(text: str, separator: re.Match[str], name: Name) -> Span:
    """
    Return the range of the secret that belongs to a separator; `NOWHERE` if there is none.
    """
    opening = pattern(_OPENING).match(text, separator.end())
    if separator[0] == "," and not _is_pair(text, name, opening):
        return NOWHERE
    read = _WITH_SYNTAX.get(name.strength)
    if read is not None:
        return read(text, separator.end(), opening)
    query = separator[0] == "=" and name.before[-1:] in ("?", "&", "#")
    if name.strength != CODE:
        return _value_span(text, separator, opening, name, query=query)
    # In a query a code is a secret if it looks random, and elsewhere none.
    weak = name._replace(strength=WEAK)
    return _value_span(text, separator, opening, weak, query=True) if query else NOWHERE


def _value_span(
    text: str, separator: re.Match[str], opening: re.Match[str] | None, name: Name, *, query: bool
) -> Span:
    if opening is not None:
        return _quotation_span(text, opening, name.strength)
    start, end = _bare_value(text, separator, name.strength, query=query)
    # A list with colons, such as an ARN, is not a pair; a secret in it must look like one.
    in_list = separator[0] == ":" and name.before[-1:] == ":"
    return NOWHERE if in_list and not looks_chosen(text[start:end]) else (start, end)


def _is_pair(text: str, name: Name, opening: re.Match[str] | None) -> bool:
    """
    Tell whether a comma separates a name from its value, not the members of a list.
    """
    if name.is_flag:
        return True
    if opening is None or not name.before.endswith(("('", '("', "['", '["', "b'", 'b"')):
        return False
    quoted = text[opening.end() : opening.end() + 64].partition(opening[1])[0]
    if name.before[0] == "[":
        return _is_value_in_list(quoted, name.strength)
    return not quoted.isalpha() or is_mixed(quoted)


def _is_value_in_list(quoted: str, strength: int) -> bool:
    if strength in (HEADER, COOKIE) or len(quoted) >= 20:
        return True
    return looks_chosen(quoted) and not is_numbered_name(quoted)


def _bare_value(text: str, separator: re.Match[str], strength: int, *, query: bool) -> Span:
    after = separator.end()
    start = _match_end(_BLANK, text, after)
    first = text[start : start + 1]
    if text.startswith(REMOVED, start) or (strength == FOLDER and first in ("/", "~")):
        return NOWHERE
    if strength == PHRASE:
        return start, _match_end(_WORDS, text, start)
    if first == "[" and strength != WEAK:
        return _list_in_brackets(text, start)
    block = pattern(_BLOCK).match(text, after)
    if block is not None:
        return _value_on_next_line(text, block.end())
    end = _match_end(_form_of(strength, query=query), text, start)
    end = start + len(_trim(text[start:end]))
    loose = separator[0] == ":" and start > after
    return _judge_bare(text, start, end, strength, loose=loose)


def _judge_bare(text: str, start: int, end: int, strength: int, *, loose: bool) -> Span:
    if loose and is_prose(text, start, end):
        return NOWHERE
    return (start, end) if is_secret(text[start:end], strength, loose=loose) else NOWHERE


def _form_of(strength: int, *, query: bool) -> str:
    if strength in (WEAK, PIN):
        return _BARE_WORD
    return _IN_QUERY if query else _BARE


def _list_in_brackets(text: str, start: int) -> Span:
    end = _match_end(_IN_BRACKETS, text, start)
    members = text[start + 1 : end].split(",")
    if any(looks_chosen(member.strip(), is_value=True) for member in members[:64]):
        return start + 1, end
    return NOWHERE


def _value_on_next_line(text: str, start: int) -> Span:
    end = _match_end(_BARE, text, start)
    return (start, end) if looks_chosen(text[start:end], is_value=True) else NOWHERE


def _quotation_span(text: str, opening: re.Match[str], strength: int) -> Span:
    start = opening.end()
    end = _match_end(_QUOTED.get(opening[1], _QUOTED_TWICE), text, start)
    value = text[start:end]
    if strength == PHRASE:
        return (start, end) if value.count(" ") >= 5 else NOWHERE
    end_of_all, last = _rest_of_quotations(text, opening, end)
    if looks_chosen(last):
        return start, end_of_all
    if is_sentence(value) or not is_secret(value, strength):
        return NOWHERE
    return start, end_of_all


def _rest_of_quotations(text: str, opening: re.Match[str], end: int) -> tuple[int, str]:
    """
    Return where a list or concatenation of quoted texts ends, and its last text.

    A quoted text that stands alone has its own end, and no last one.
    """
    is_first = "[" in opening[0] or text[end + 1 : end + 4].lstrip().startswith(("||", "+"))
    rest = pattern(_MORE_QUOTED).match(text, end) if is_first else None
    if rest is None:
        return end, ""
    return rest.end(), rest[0].rpartition(text[end])[2]


def _match_end(source: str, text: str, start: int) -> int:
    found = pattern(source).match(text, start)
    return start if found is None else found.end()


def _trim(value: str) -> str:
    # Less the punctuation of the text around it.
    return value.rstrip(".,:" if "(" in value or "[" in value or "{" in value else ".,:)]}")


# ---- headers with a scheme

_PARAMETER: Final = r"""[\w-]{1,40}=(?:"[^"\n]{0,2048}"|[^\s,"']{0,2048})"""
_AUTHORIZATION: Final = (
    r"""[ \t]{0,4}(?:([A-Za-z][\w-]{1,30})[ \t]{1,4})?"""
    rf"""((?:{_PARAMETER}(?:,[ \t]{{0,2}}{_PARAMETER}){{1,31}})|[^\s"'`<>,;]+)"""
)
_SCHEME_NAME: Final = (
    r"(?i)(?:bearer|basic|digest|negotiate|token|api-?key|ntlm|bot|hawk|oauth2?|dpop|hmac|signature"
    r"|sharedkey|aws4-[\w-]{1,30}|[a-z][\w-]{0,20}key|splunk|ssws|key|gns)[ \t]{1,4}"
)


def authorization(text: str, after: int, opening: re.Match[str] | None) -> Span:
    """
    Return the range of the secret in the value of an Authorization header; the scheme stays.

    Args:
        text: Any text.
        after: Where the value begins.
        opening: The quote that the value begins with, if any.
    """
    if opening is not None:
        return _authorization_span(text, opening)
    found = pattern(_AUTHORIZATION).match(text, after)
    if found is None:
        return NOWHERE
    start, end = found.span(2)
    if found[1] is not None and pattern(_SCHEME_NAME).match(found[1] + " ") is None:
        start, end = _unknown_scheme(found)
    value = _trim(text[start:end])
    if is_secret(value, SECRET) and not is_prose(text, start, end):
        return start, start + len(value)
    return NOWHERE


def _authorization_span(text: str, opening: re.Match[str]) -> Span:
    start, end = _quotation_span(text, opening, SECRET)
    scheme = pattern(_SCHEME_NAME).match(text, start, end)
    start = scheme.end() if scheme else start
    return (start, end) if is_secret(text[start:end], SECRET) else NOWHERE


def _unknown_scheme(found: re.Match[str]) -> Span:
    """
    Return the range of the secret: the second word, the first, or none where both are prose.
    """
    first, second = found[1], found[2]
    is_random = len(first) >= 16 and is_mixed(first)
    if is_mixed(second) or looks_chosen(second):
        return (found.start(1) if is_random else found.start(2)), found.end(2)
    if is_mixed(first) and len(first) >= 8 and not is_algorithm(first):
        return found.span(1)
    return NOWHERE


# ---- cookies

_COOKIES: Final = r"""(?xi)
    [^\s=;,"']{1,128}=[^\s;,"']{0,4096}
    (?:;[ \t]{0,2}(?:
        expires=[A-Za-z]{3,9},[^;"'\n]{0,32}
      | [^\s=;,"']{1,128}=[^\s;"']{0,4096}
      | httponly | secure | partitioned
    )){0,64}
    """


def _cookies(text: str, after: int, opening: re.Match[str] | None) -> Span:
    if opening is not None:
        return _quotation_span(text, opening, SECRET)
    start = _match_end(_BLANK, text, after)
    if text.startswith(REMOVED, start):
        return NOWHERE
    end = _match_end(_COOKIES, text, start)
    if end > start:
        return start, end
    end = _match_end(_BARE_WORD, text, start)
    return (start, end) if looks_random(text[start:end]) else NOWHERE


#: What reads the values of names whose values have a syntax of their own.
_WITH_SYNTAX: Final[dict[int, Callable[[str, int, re.Match[str] | None], Span]]] = {
    HEADER: authorization,
    COOKIE: _cookies,
}

#: Cookies that keep a session on one machine or past a check; the names say nothing of secrets.
_STICKY: Final = r"""(?x)
    \b( (?: AWSALB(?:CORS|TG|TGCORS)? | AWSELB(?:CORS)? | GCLB | SERVERID | ARRAffinity(?:SameSite)?
          | BIGipServer[\w.~-]{1,80} | NSC_\w{1,64} | __cf_bm | cf_clearance | __cfruid | _cfuvid
          | incap_ses_\w{1,40} | visid_incap_\w{1,40} | _abck | ak_bmsc | bm_s[vz]
          | connect\.sid ) ["']? (?: [ ]?[=:][ ]? | ,[ ]? ) ["']? )
    (?!\[redacted\]) (?=[^\s;,"']{0,200}[0-9]) [^\s;,"']{6,4096}
    """
#: One of these stands in each text with such a cookie, in lower case.
STICKY: Final = (
    *("awsalb", "awselb", "gclb", "serverid", "arraffinity", "bigip", "nsc_", "cf_bm"),
    *("cf_clearance", "cfruid", "cfuvid", "incap", "_abck", "bmsc", "bm_s", "connect.sid"),
)


def redact_sticky_cookies(text: str) -> str:
    """
    Return a text without the cookies of load balancers and of protections against robots.
    """
    return pattern(_STICKY).sub(rf"\1{REMOVED}", text)


# ---- elements

_ELEMENT: Final = (
    r"(<([A-Za-z][\w:.-]{0,63})(?:\s[^<>]{0,200})?>)(<!\[CDATA\[)?([^<>]+)(?=</|\]\]>)"
)
_ATTRIBUTE: Final = r"""(?i)\s(?:name|key|id)\s?=\s?["']([\w.-]{1,96})["']"""


def redact_elements(text: str) -> str:
    """
    Return a text without secrets between tags; to be called while the tags are still there.
    """
    return pattern(_ELEMENT).sub(_redact_element, text) if "</" in text else text


def _redact_element(found: re.Match[str]) -> str:
    attribute = pattern(_ATTRIBUTE).search(found[1])
    strength = strength_of(found[2]) or strength_of(attribute[1] if attribute else "")
    if not is_named_secret(found[4], strength):
        return found[0]
    return f"{found[1]}{found[3] or ''}{REMOVED}"


# ---- a scheme and its token

#: One of these stands in each text that `redact_schemes` changes, in lower case.
SCHEMES: Final = ("bearer ", "basic ", "token ", "negotiate ", "digest ")
_SCHEME: Final = r"""(?xi)
    (?<![A-Za-z0-9_])((bearer|basic|token|negotiate|digest)[ ]{1,4}["']?)
    ([A-Za-z0-9._~+/-]{8,}+={0,2}(?![\w=]))
    """


def redact_schemes(text: str) -> str:
    """
    Return a text without the tokens that stand after an authorization scheme.
    """
    return pattern(_SCHEME).sub(_redact_scheme, text)


def _redact_scheme(found: re.Match[str]) -> str:
    token = found[3].rstrip(".-/")
    is_word = found[2].lower() == "token"
    mixed = is_mixed(token) or (not is_word and ("=" in token or token.count(".") > 1))
    if not mixed or is_algorithm(token) or is_secret(token, LIKELY) is False:
        return found[0]
    return f"{found[1]}{REMOVED}{found[3][len(token) :]}"
