"""
Taking secrets, and the server's layout, out of text.

Rule 1: cut to a window, then redact, then cut to size; never the other way round, or half a secret leaves.
Rule 2: what is replaced is never looked at again, so redacting twice changes nothing more.
Rule 3: a pattern's quantifiers are bounded, or the last thing in it; no text makes it slow.
Rule 4: most texts hold no secret. A few substring tests find that out before any pattern runs.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final, cast
from urllib.parse import quote, quote_plus

from toolfault._text import WINDOW, clean, cut, encodable, pattern, plain


_log = logging.getLogger("toolfault")

#: What a reader sees in place of a secret.
REMOVED: Final = "[redacted]"

#: The shortest secret that may be registered, and the shortest that is looked for in other spellings, or taken from
#: the environment. Below, words of ordinary text would go.
_SHORTEST: Final = 4
_SHORTEST_SPELLED: Final = 8

#: How far back from a cut an unfinished word is dropped.
_UNFINISHED: Final = 256

#: One replacement can uncover another; then the families run again, this often at most.
_ROUNDS: Final = 4

#: How many short texts a redactor remembers with what is left of them, and how long those may be.
_SEEN: Final = 256
_SHORT: Final = 256


class Redactor:
    """
    What takes secrets out of texts. Immutable, and safe to use from many threads.

    Args:
        secrets: Values that never leave, in no spelling.
        environ: Where to look for more of them, by name. None: the process's environment as it is now.
        roots: Folders whose layout stays private. None: those that Python and this process live in.
        extra: A user's own redaction, run last. If it fails, nothing of the text leaves.

    Raises:
        ValueError: A secret is too short to be told from ordinary text.
    """

    __slots__ = ("_exact", "_extra", "_registered", "_roots", "_seen", "_spelled_oddly", "_warned")

    def __init__(
        self,
        secrets: Iterable[str] = (),
        *,
        environ: Mapping[str, str] | None = None,
        roots: Iterable[str] | None = None,
        extra: Callable[[str], str] | None = None,
    ) -> None:
        registered: set[str] = set()
        # None comes from a variable that is not set.
        for secret in cast("Iterable[object]", secrets):
            if not isinstance(secret, str) or len(secret) < _SHORTEST or not secret.strip():
                raise ValueError(
                    f"a secret must be a str of at least {_SHORTEST} characters, or it would be found in ordinary "
                    "text; leave out those that are not set"
                )
            registered.update(_spellings(secret))
        found = _secrets_in(os.environ if environ is None else environ)
        # The longest first: one may be part of another.
        self._registered: Final = tuple(sorted(registered, key=len, reverse=True))
        self._exact: Final = tuple(sorted(registered | found, key=len, reverse=True))
        # Those that cleaning would change before they are looked for.
        self._spelled_oddly: Final = tuple(secret for secret in self._exact if plain(clean(secret)) != secret)
        self._roots: Final = _known_roots() if roots is None else _folders(roots)
        self._extra: Final = extra
        self._warned: Final[list[bool]] = []
        self._seen: Final[dict[tuple[str, int], str]] = {}

    def redact(self, text: str) -> str:
        """
        Return a text without secrets: the known ones, and what looks like one.
        """
        for _ in range(_ROUNDS):
            before = text
            if self._exact:
                text = _without(self._exact, text)
            text = _without_families(text)
            if text == before:
                break
        return text

    def paths(self, text: str, known: Iterable[str] = ()) -> str:
        """
        Return a text in which absolute paths below a root show no more than their last component.

        Args:
            text: Any text.
            known: What the caller itself wrote; a path, or the end of one, that stands here stays as it was written.
        """
        if "/" not in text and "\\" not in text:
            return text
        # A Windows path has too many spellings for a substring test.
        if not any(root in text or "\\" in root for root in self._roots):
            return text
        written = [word for word in known if word and len(word) <= _LONGEST_PATH]
        return _path_below(self._roots).sub(lambda path: _shortened(path, written), text)

    def scrub(self, text: str, limit: int, known: Iterable[str] = ()) -> str:
        """
        Return what may leave of a text, in at most *limit* bytes of UTF-8.
        """
        # Tables say the same sentences over and over; what has a path depends on the caller.
        if self._extra is not None or len(text) > _SHORT or "/" in text or "\\" in text:
            return self._scrubbed(text, limit, known)
        key = (text, limit)
        seen = self._seen.get(key)
        if seen is None:
            if len(self._seen) >= _SEEN:
                self._seen.clear()
            seen = self._seen[key] = self._scrubbed(text, limit, ())
        return seen

    def _scrubbed(self, text: str, limit: int, known: Iterable[str]) -> str:
        if len(text) >= WINDOW:
            text = _windowed(text, self._exact)
        if self._spelled_oddly:
            text = _without(self._spelled_oddly, text)
        text = clean(text)
        if "</" in text:
            # While the tags still tell what is between them.
            text = pattern(_ELEMENT).sub(_unless_harmless_element, text)
        text = self.paths(self.redact(plain(text)), known)
        if self._extra is not None and text:
            text = self._by_user(self._extra, text)
        return cut(text.strip(), limit)

    def show(self, text: str, limit: int) -> str:
        """
        Return a text as it is, less the registered secrets, in at most *limit* bytes of UTF-8.
        """
        if len(text) >= WINDOW:
            text = _windowed(text, self._registered)
        if self._spelled_oddly:
            text = _without(self._registered, text)
        return cut(_without(self._registered, clean(text)).strip(), limit)

    def _by_user(self, extra: Callable[[str], str], text: str) -> str:
        try:
            seen = cast("object", extra(text))
            if isinstance(seen, str):
                return encodable(str.__str__(seen))
            problem = f"returned {type(seen).__name__}, not str"
        except Exception as exc:  # noqa: BLE001 -- a user's function; nothing leaves if it fails
            problem = f"raised {type(exc).__name__}"
        if not self._warned:
            self._warned.append(True)
            _log.warning("the redactor's extra function %s; texts are replaced as a whole until it works", problem)
        return REMOVED


# ---- known secrets


def _spellings(secret: str) -> set[str]:
    """
    Return a secret as it is, and as it looks in URLs, in JSON, in reprs and in base64.
    """
    found = {secret, clean(secret).strip()}
    if len(secret) >= _SHORTEST_SPELLED:
        raw = secret.encode("utf-8", "replace")
        for encoded in (base64.b64encode(raw), base64.urlsafe_b64encode(raw)):
            found.add(encoded.decode().rstrip("="))
        found |= {quote(raw, safe=""), quote(raw), quote_plus(raw), json.dumps(secret)[1:-1], repr(secret)[1:-1]}
    return {spelling for spelling in found if len(spelling) >= _SHORTEST}


def _secrets_in(environ: Mapping[str, str]) -> set[str]:
    return {
        value
        for name, value in environ.items()
        if len(value) >= _SHORTEST_SPELLED and _is_secret_variable(name) and _is_worth_hiding(value)
    }


@lru_cache(maxsize=1024)
def _is_secret_variable(name: str) -> bool:
    words = _words(name)
    return bool(words) and (_strength(name) > _PUBLIC or (words[-1] not in _ABOUT and not _VARIABLE.isdisjoint(words)))


def _is_worth_hiding(value: str) -> bool:
    # Plain paths, numbers, and words that any text may hold stay.
    if value.lower() in _SAYS_NOTHING or _is_number(value):
        return False
    if value[:1] in "/~." or value[1:3] in (":\\", ":/"):
        return any(_looks_random(part) for part in re.split(r"[/\\:]", value))
    return True


def _without(secrets: tuple[str, ...], text: str) -> str:
    for secret in secrets:
        if secret in text:
            # Part by part, since a secret may be part of the mark itself.
            text = REMOVED.join(part.replace(secret, REMOVED) for part in text.split(REMOVED))
    return text


def _windowed(text: str, secrets: tuple[str, ...]) -> str:
    """
    Return the window of a text, less what the cut may have left of a secret.
    """
    text = text[:WINDOW]
    for secret in secrets:
        start = text.find(secret[:_SHORTEST], max(0, len(text) - len(secret) + 1))
        while start >= 0:
            if secret.startswith(text[start:]):
                text = text[:start]
                break
            start = text.find(secret[:_SHORTEST], start + 1)
    for end in range(len(text) - 1, max(0, len(text) - _UNFINISHED), -1):
        if text[end].isspace():
            return text[:end]
    return text[:-_UNFINISHED]


# ---- what looks like a secret


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _without_families(text: str) -> str:
    """
    Return a text without what the ten families match, each family only where it can.
    """
    lower = text.lower()
    dashed = "-" in text
    separated = "=" in text or ":" in text or "'," in text or '",' in text or "%3" in text
    named = (dashed or separated) and _any_of(_NAME_PARTS, lower)
    if dashed and "-----BEGIN" in text:
        text = pattern(_PRIVATE_KEY).sub(REMOVED, text)
    if "</" in text:
        text = pattern(_ELEMENT).sub(_unless_harmless_element, text)
    if named and separated:
        text = _without_named(text)
    if named and "(" in text:
        text = pattern(_LOGIN).sub(rf"\1{REMOVED}", text)
    if _any_of(_SCHEMES, lower):
        text = pattern(_SCHEME).sub(_unless_prose, text)
    if "://" in text and "@" in text:
        text = pattern(_URL_CREDENTIALS).sub(_without_userinfo, text)
    if named and dashed:
        text = pattern(_FLAG).sub(_unless_harmless_flag, text)
    if dashed and "-u" in text:
        text = pattern(_USER_FLAG).sub(_without_password, text)
    return _without_tokens(text)


def _any_of(parts: tuple[str, ...], text: str) -> bool:
    # A generator would cost as much as ten of these.
    for part in parts:  # noqa: SIM110 -- as said
        if part in text:
            return True
    return False


# Family 1: private keys. To the end of the text where the end line is missing.

_PRIVATE_KEY: Final = (
    r"-----BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
    r"(?s:(?:(?!-----END).)*+)(?:-----END[A-Z0-9 ]{0,60}-----)?"
)


# Families 2, 4, 6, 7: headers, cookies, query parameters, names with values. One walk over the separators serves all,
# since only the name tells what the value is.

#: What a name says of its value.
_PUBLIC: Final = 0
_WEAK: Final = 1  # a secret if it looks random
_LIKELY: Final = 2  # a secret unless it is a number or a word
_SECRET: Final = 3
_HEADER: Final = 4  # Authorization: a scheme, then a secret
_COOKIE: Final = 5
_CODE: Final = 6  # weak, and only in a query
_FOLDER: Final = 7  # "pwd": a secret unless it is the working folder

#: Where there is nothing: an empty range.
_NOWHERE: Final = (0, 0)

#: One of these is in each name that matters.
_NAME_PARTS: Final = (
    "key", "token", "pass", "secret", "auth", "pw", "cred", "sig", "ses", "sid", "cookie", "code", "bearer", "otp",
    "jwt", "wort",
)  # fmt: skip

_STRONG: Final = _set(
    "password passwords passwd passphrase passcode passwort kennwort pwd pw secret secrets apikey apikeys "
    "accesskey accountkey secretkey privatekey sharedkey masterkey"
)
#: Of an environment variable any of these will do, anywhere in its name.
_VARIABLE: Final = _STRONG | _set("key keys token tokens auth pass signature credential credentials cred creds cookie")
_STRONG_ENDS: Final = (
    "password", "passwd", "passphrase", "secret", "apikey", "secretkey", "privatekey", "accesskey", "accountkey",
    "authkey", "signingkey", "encryptionkey", "pwd",
)  # fmt: skip
_LIKELY_ENDS: Final = ("sessid", "sessionid", "token")

#: Words that decide alone if a name ends in them.
_KINDS: Final[dict[str, int]] = {
    "authorization": _HEADER,
    "cookie": _COOKIE,
    "cookies": _COOKIE,
    "code": _CODE,
    "pwd": _FOLDER,
    **dict.fromkeys(_set("auth pass credential credentials cred creds bearer jwt otp totp"), _LIKELY),
    **dict.fromkeys(_set("dbpass userpass sshpass ftppass smtppass pgpass rootpass adminpass mypass"), _LIKELY),
    **dict.fromkeys(_set("sig signature session sess sid"), _WEAK),
}

#: Which keys are secrets, and which never are; others are if their value looks random.
_SECRET_KEYS: Final = _set(
    "api access secret private account auth authentication authorization signing sign encryption encrypt "
    "decryption master shared service client app application consumer subscription ssh rsa ec dsa ed25519 "
    "pem storage webhook deploy admin session jwt hmac aes gpg pgp sas function host license licence "
    "rapidapi functions integration ingest write read server stripe openai anthropic google aws azure "
    "gemini mistral groq cohere"
)
_PUBLIC_KEYS: Final = _set(
    "primary foreign sort partition row cache public object idempotency dedupe deduplication unique index "
    "composite join lookup hash bucket routing group shard map dict json property config translation "
    "column missing invalid unknown duplicate natural surrogate candidate sorting ordering order range "
    "field metadata registry required unexpected this that of"
)
_PUBLIC_TOKENS: Final = _set(
    "page next continuation cursor sync resume start unexpected max min prompt completion input output "
    "total used reasoning cached context stop special eos bos pad unk mask previous prev current illegal "
    "this that"
)

#: A name that ends in one of these tells something about a secret, not the secret.
_ABOUT: Final = _set(
    "id ids name names type types kind count counts length len size limit limits url uri urls path paths "
    "file files filename dir folder version policy expiry expires expired expiration ttl at in on field "
    "fields format error errors status state method mode scheme provider endpoint required valid invalid "
    "missing usage used budget index arn ref label column prefix suffix algorithm alg encoding rotation "
    "manager store backend timeout enabled disabled reset changed age hint min max strength rules "
    "requirements attempts tries host port sock socket parallelism issuer audience scope scopes location "
    "region source"
)

#: Values that are none.
_SAYS_NOTHING: Final = _set(
    "none null nil undefined true false yes no on off unset empty required missing invalid wrong "
    "incorrect expired revoked denied rejected refused error failed failure mismatch mismatched unknown "
    "unauthorized forbidden unauthenticated optional redacted hidden secure masked removed filtered "
    "sensitive str string int integer number bool boolean bytes text any object array list dict password "
    "passwd token secret key apikey credentials field value input must should may can cannot could will "
    "is was are has have had not be been being the this that these it its a an at of for from to in with "
    "without by and or if when too only please use using given provided specified set requires "
    "needs needed need option flag argument parameter does did do basic bearer default example "
    "placeholder changed disabled enabled ok valid found exists used already never pass "
    "see check provide export configure ensure make try contact"
)
#: Words of which a sentence about a secret has one.
_VERBS: Final = _set(
    "is are was were be must should may might can cannot has have had does do did not no required invalid "
    "missing expired blank empty field characters least unknown"
)


@lru_cache(maxsize=2048)
def _strength(name: str, word_before: str = "") -> int:
    """
    Return what a name says of its value, `_PUBLIC` to `_FOLDER`.

    Args:
        name: What stands before the separator.
        word_before: The word before that; it counts if the name is a single word ("API key").
    """
    words = _words(name)
    if not words:
        return _PUBLIC
    if len(words) == 1 and word_before:
        words = [*_words(word_before), *words]
    last = words[-1]
    prior = words[-2] if len(words) > 1 else ""
    if (kind := _KINDS.get(last)) is not None:
        return kind
    if last in _ABOUT:
        return _WEAK if last == "id" and prior in ("session", "sess") else _PUBLIC
    if last in ("key", "keys"):
        return _SECRET if prior in _SECRET_KEYS else _PUBLIC if prior in _PUBLIC_KEYS else _WEAK
    if last in ("token", "tokens"):
        return _PUBLIC if prior in _PUBLIC_TOKENS else _LIKELY
    if not _STRONG.isdisjoint(words) or last.endswith(_STRONG_ENDS):
        return _SECRET
    return _LIKELY if last.endswith(_LIKELY_ENDS) else _PUBLIC


def _words(name: str) -> list[str]:
    return [word.lower() for word in pattern(_WORD).findall(name)]


_WORD: Final = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"

_SEPARATOR: Final = r"""=>|:=|(?<![=!<>])=(?!=)|(?<!:):(?!//|:)|%3[Dd]|(?<=["']),(?=[ ]{0,2}b?["'])"""

# Read backwards: white space, a bracket, a quote, the name, and the word before it.
_NAME_BEFORE: Final = r"""[ \t]{0,3}\]?(?:["'`]\\?)?([\w.-]{1,96})(?:[ ]([A-Za-z]{2,20})(?![\w.-]))?"""


# White space, a bracket or a constructor, and the quote.
_OPENING: Final = r"""[ \t]{0,4}(?:(?:[\[(]{1,2}|[A-Za-z_][\w.]{0,60}\()(?=[bu]?["']))?[bu]?(\\?["'`])"""

# What stands between quotes, by the opening one; where JSON is quoted in JSON, that is a backslash and a quote.
_QUOTED: Final = {quote: rf"[^{quote}\\\n]*+(?:\\.[^{quote}\\\n]*+)*+" for quote in "\"'`"}
_QUOTED_TWICE: Final = r"""[^"'`\\\n]*"""

# Values without quotes. That of a weak name stops at the next separator, so that no part of a text is read twice.
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
        strength = _strength(name[1][::-1], name[2][::-1] if name[2] else "")
        if strength == _PUBLIC:
            continue
        before = text[max(0, len(text) - name.end(1) - 2) : len(text) - name.end(1)]
        start, end = _secret_after(text, separator, strength, before, flag=name[1].endswith("-"))
        if start < end:
            parts += text[done:start], REMOVED
            done = end
    return "".join((*parts, text[done:])) if parts else text


def _secret_after(text: str, separator: re.Match[str], strength: int, before: str, *, flag: bool) -> tuple[int, int]:
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
    if separator[0] == "," and not flag and (before[:1] != "(" or opening is None or _is_word(text, opening)):
        # A list of names has commas too: only pairs in parentheses are names with values.
        return _NOWHERE
    if strength == _HEADER:
        return _authorization(text, after, opening)
    if strength == _COOKIE:
        return _cookies(text, after, opening)
    query = separator[0] == "=" and before[-1:] in ("?", "&")
    if strength == _CODE:
        if not query:
            return _NOWHERE
        strength = _WEAK
    if opening is not None:
        return _between_quotes(text, opening, strength)
    start = _end_of(_BLANK, text, after)
    if text.startswith(REMOVED, start) or (strength == _FOLDER and text[start : start + 1] in ("/", "~")):
        return _NOWHERE
    form = _BARE_WORD if strength == _WEAK else _IN_QUERY if query else _BARE
    end = _end_of(form, text, start)
    end = start + len(_trimmed(text[start:end]))
    loose = separator[0] == ":" and start > after
    if loose and _is_prose(text, start, end):
        return _NOWHERE
    return (start, end) if _is_secret(text[start:end], strength, loose=loose) else _NOWHERE


def _between_quotes(text: str, opening: re.Match[str], strength: int) -> tuple[int, int]:
    start = opening.end()
    end = _end_of(_QUOTED.get(opening[1], _QUOTED_TWICE), text, start)
    value = text[start:end]
    return (start, end) if not _is_sentence(value) and _is_secret(value, strength) else _NOWHERE


def _is_word(text: str, opening: re.Match[str]) -> bool:
    return text[opening.end() : opening.end() + 64].partition(opening[1])[0].isalpha()


def _end_of(source: str, text: str, start: int) -> int:
    found = pattern(source).match(text, start)
    return start if found is None else found.end()


def _trimmed(value: str) -> str:
    # Less the punctuation of the text around it.
    return value.rstrip(".,:" if "(" in value or "[" in value or "{" in value else ".,:)]}")


def _is_secret(value: str, strength: int, *, loose: bool = False) -> bool:
    """
    Return whether a value is one to remove.

    Args:
        value: What stands after the separator.
        strength: What the name says.
        loose: Whether it stands after a colon and a space, as prose may.
    """
    value = value.strip()
    if not value or value.startswith(REMOVED) or value.lower().rstrip(".,;:!?)") in _SAYS_NOTHING:
        return False
    # Longer ones are never harmless; else a text full of them would be read over and over.
    if len(value) <= 64 and pattern(_STANDS_FOR_ANOTHER).fullmatch(value):
        return False
    if strength == _WEAK:
        return _looks_random(value)
    if strength == _LIKELY:
        if _is_number(value):
            return False
        return len(value) >= 6 and not value.isalpha() if loose else len(value) >= 4
    return True


def _is_sentence(value: str) -> bool:
    # "This field may not be blank.", "must have 8 characters"; a passphrase has words, but none of these.
    words = [word.strip(".,;:!'\"()") for word in value[:256].lower().split()]
    return len(words) > 1 and not _VERBS.isdisjoint(words) and all(word.isalpha() or word.isdecimal() for word in words)


def _is_prose(text: str, start: int, end: int) -> bool:
    # "password: must be", "password: 8-64 characters"; one word alone is no prose.
    value = text[start:end]
    if not value.isalpha() and not pattern(_RANGE).fullmatch(value):
        return False
    return pattern(_WORD_FOLLOWS).match(text, end) is not None


_RANGE: Final = r"\d{1,3}(?:-\d{1,3})?"
_WORD_FOLLOWS: Final = r"[ ]{1,3}[a-z]{1,30}(?![\w=:])"

# Masks, and variables that are still to be filled in.
_STANDS_FOR_ANOTHER: Final = (
    r"[*•xX.…#-]+|\$\{[^{}]*\}|\$[A-Z_][A-Z0-9_]*|\{+[\w. ]*\}+|%\(\w+\)s|%s|\[[^\[\]]*\]?|[\[({]+|(?i:your[-_][\w-]*)"
)


def _is_number(value: str) -> bool:
    return pattern(_NUMBER).fullmatch(value) is not None


_NUMBER: Final = r"[+-]?\d[\d_,.]{0,30}%?(?:/\d{1,12})?"


def _looks_random(value: str) -> bool:
    return len(value) >= 10 and pattern(_RANDOM).fullmatch(value) is not None and _is_mixed(value)


# No file name, no date, no path.
_RANDOM: Final = r"(?![0-9:.TZ+-]+$)(?!.*\.[a-z]{1,5}$)(?!\.{0,2}/)[\w.+/~%-]+={0,2}"


def _is_mixed(value: str) -> bool:
    # Digits with letters, or capitals in the middle of words.
    return pattern(_MIXED).search(value) is not None


_MIXED: Final = r"[0-9][A-Za-z]|[A-Za-z][0-9]|[a-z][A-Z]|[0-9]{4}"


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
        start, end = _between_quotes(text, opening, _SECRET)
        scheme = pattern(_SCHEME_NAME).match(text, start, end)
        start = scheme.end() if scheme else start
        return (start, end) if _is_secret(text[start:end], _SECRET) else _NOWHERE
    found = pattern(_AUTHORIZATION).match(text, after)
    if found is None:
        return _NOWHERE
    start, end = found.span(2)
    if found[1] is not None and pattern(_SCHEME_NAME).match(found[1] + " ") is None:
        # A scheme that is not known here, the secret itself, or prose.
        if _is_mixed(found[1]):
            start, end = found.span(1)
        elif not _is_mixed(found[2]):
            return _NOWHERE
    value = _trimmed(text[start:end])
    return (start, start + len(value)) if _is_secret(value, _SECRET) and not _is_prose(text, start, end) else _NOWHERE


_COOKIES: Final = (
    r"""(?i)[^\s=;,"']{1,128}=[^\s;,"']{0,4096}(?:;[ \t]{0,2}(?:expires=[A-Za-z]{3,9},[^;"'\n]{0,32}"""
    r"""|[^\s=;,"']{1,128}=[^\s;"']{0,4096}|httponly|secure|partitioned)){0,64}"""
)


def _cookies(text: str, after: int, opening: re.Match[str] | None) -> tuple[int, int]:
    if opening is not None:
        return _between_quotes(text, opening, _SECRET)
    start = _end_of(_BLANK, text, after)
    if text.startswith(REMOVED, start):
        return _NOWHERE
    end = _end_of(_COOKIES, text, start)
    if end > start:
        return start, end
    end = _end_of(_BARE_WORD, text, start)
    return (start, end) if _looks_random(text[start:end]) else _NOWHERE


# The same between tags, and as the pair that HTTP clients take.

_ELEMENT: Final = r"(<([A-Za-z][\w:.-]{0,63})(?:\s[^<>]{0,200})?>)([^<>]+)(?=</)"
_LOGIN: Final = (
    r"""(?i)(\bauth["']?[ ]?[=:][ ]?\(b?["'][^"'\n]{0,256}["'],[ ]?b?["'])(?!\[redacted\])[^"'\n]{1,1024}(?=["']\))"""
)


def _unless_harmless_element(found: re.Match[str]) -> str:
    strength = _strength(found[2])
    if strength in (_PUBLIC, _CODE) or _is_sentence(found[3]) or not _is_secret(found[3], strength):
        return found[0]
    return found[1] + REMOVED


# Family 3: a scheme and its token.

_SCHEMES: Final = ("bearer ", "basic ", "token ", "negotiate ", "digest ")
_SCHEME: Final = (
    r"""(?i)(?<![A-Za-z0-9_])((bearer|basic|token|negotiate|digest)[ ]{1,4}["']?)([A-Za-z0-9._~+/=-]{8,})"""
)


def _unless_prose(found: re.Match[str]) -> str:
    token = found[3].rstrip(".-/")
    mixed = _is_mixed(token) or (found[2].lower() != "token" and ("=" in token or token.count(".") > 1))
    if not mixed or _is_number(token):
        return found[0]
    return f"{found[1]}{REMOVED}{found[3][len(token) :]}"


# Family 5: credentials in URLs. A password may hold "/" and "@"; a port may not be taken for one.

_URL_CREDENTIALS: Final = (
    r"""://([^\s:/?#@"'`<>\[\]]{0,256})"""
    r"""(?::(?!\d{1,5}(?:[/?#\s]|\Z))(?!\[redacted\]@)([^\s"'`<>]{0,1024}))?@(?=[\w.\[%-])"""
)


def _without_userinfo(found: re.Match[str]) -> str:
    user, password = found[1], found[2]
    if _looks_random(user):
        return f"://{REMOVED}@"
    return f"://{user}:{REMOVED}@" if password else found[0]


# Family 8: command-line flags with the value in the next word.

_FLAG: Final = (
    r"""(?<![\w-])(--?([A-Za-z][\w.-]{0,63})(?:["'],[ ]{0,3}b?["']|[ \t]{1,4}["']?))(?![-\[])([^\s"'`,]{1,1024})"""
)
_USER_FLAG: Final = (
    r"""(?<![\w-])((?:-u|--user|--proxy-user)(?:["'],[ ]{0,3}["']|[ =]["']?)[^\s"':]{1,128}:)"""
    r"""(?!\[redacted\])([^\s"']{1,1024})"""
)


def _unless_harmless_flag(found: re.Match[str]) -> str:
    value = found[3].rstrip(".;:)")
    if _strength(found[2]) == _PUBLIC or not _is_secret(value, max(_LIKELY, _strength(found[2]))):
        return found[0]
    if _strength(found[2]) == _WEAK and not _looks_random(value):
        return found[0]
    return f"{found[1]}{REMOVED}{found[3][len(value) :]}"


def _without_password(found: re.Match[str]) -> str:
    return found[0] if found[2].isdecimal() else found[1] + REMOVED


# Families 9 and 10: tokens that show by themselves what they are.


def _without_tokens(text: str) -> str:
    if "eyJ" in text:
        text = pattern(_JWT).sub(lambda token: REMOVED if "." in token[0] else token[0], text)
    if (
        _any_of(_PREFIXES, text)
        or ("-" in text and _any_of(_DASHED, text))
        or ("_" in text and _any_of(_UNDERSCORED, text))
    ):
        text = pattern(_VENDOR).sub(lambda token: REMOVED if _is_mixed(token[0]) else token[0], text)
    return text


# JSON web tokens. Runs without a dot match too, so that they are passed over at once; they stay.

_JWT: Final = r"eyJ[\w-]{8,}(?:\.[\w-]*){0,4}"


# What vendors begin their tokens with.

_PREFIXES: Final = (
    "AKIA", "ASIA", "AIza", "ya29.", "SG.", "hvs.", "hvb.", "hvr.", "ATATT", "dapi", "hooks.slack.com/", ":AA",
)  # fmt: skip
_DASHED: Final = (
    "sk-", "xox", "xapp-", "pypi-", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-",
    "glagent-", "nvapi-", "xai-",
)  # fmt: skip
_UNDERSCORED: Final = (
    "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "k_live_", "k_test_", "whsec_", "hf_", "npm_", "glsa_",
    "shpat_", "shpca_", "shppa_", "shpss_", "dop_v1_", "doo_v1_", "dor_v1_", "gsk_", "dckr_pat_", "sntrys_",
)  # fmt: skip

_VENDOR: Final = r"""(?x)
    (?<![A-Za-z0-9]) (?:
      (?:AKIA|ASIA)[A-Z0-9]{12,}                                    # AWS
    | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_\w{20,}               # GitHub
    | gl[a-z]{2,6}-[\w.-]{16,} | glsa_\w{20,}                       # GitLab, Grafana
    | xox[a-z]-[A-Za-z0-9-]{10,} | xapp-[A-Za-z0-9-]{10,}           # Slack
    | hooks\.slack\.com/services/[\w/]{16,}
    | [srp]k_(?:live|test)_[A-Za-z0-9]{8,} | whsec_[\w+/=-]{16,}    # Stripe
    | sk-[\w-]{16,}                                                 # OpenAI, Anthropic
    | gsk_\w{20,} | xai-\w{20,} | nvapi-[\w-]{20,}                  # Groq, xAI, NVIDIA
    | AIza[\w-]{30,} | ya29\.[\w.-]{10,}                           # Google
    | hf_[A-Za-z0-9]{20,}                                           # Hugging Face
    | npm_[A-Za-z0-9]{20,} | pypi-[\w-]{20,} | dckr_pat_[\w-]{20,}  # npm, PyPI, Docker Hub
    | SG\.[\w-]{10,64}\.[\w-]{10,}                                 # SendGrid
    | hv[sbr]\.[\w-]{20,}                                          # Vault
    | shp[a-z]{2}_[A-Za-z0-9]{20,} | do[opr]_v1_[A-Za-z0-9]{20,}    # Shopify, DigitalOcean
    | ATATT[\w=-]{20,} | dapi[0-9a-f]{30,} | sntrys_[\w+/=]{20,}    # Atlassian, Databricks, Sentry
    | (?:bot)?\d{6,12}:AA[\w-]{20,}                                # Telegram
    )
    """


# ---- paths

#: The longest path, in characters, that is recognised as one.
_LONGEST_PATH: Final = 1024

#: Folders that every machine has say nothing.
_EVERYWHERE: Final = _set("/usr /usr/local /bin /lib /opt /etc /var /home /Users /mnt /srv /private")


def _folders(roots: Iterable[str]) -> tuple[str, ...]:
    folders = {root.rstrip("/\\") for root in roots}
    return tuple(sorted((root for root in folders if len(root) > 2 and root not in _EVERYWHERE), key=len, reverse=True))


def _known_roots() -> tuple[str, ...]:
    try:
        here = os.getcwd()  # noqa: PTH109 -- pathlib costs more, and no path is made of it
    except OSError:
        here = ""
    return _roots_at(here, os.path.expanduser("~"))  # noqa: PTH111 -- as above


@lru_cache(maxsize=16)
def _roots_at(here: str, home: str) -> tuple[str, ...]:
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    roots = [here, home, sys.prefix, sys.base_prefix, os.path.dirname(os.__file__)]  # noqa: PTH120 -- as above
    roots += [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    roots += [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]
    roots += ["/tmp", "/var/tmp"]  # noqa: S108 -- names, nothing is written there
    if main:
        roots.append(os.path.dirname(os.path.abspath(main)))  # noqa: PTH100, PTH120 -- as above
    return _folders(root for root in roots if os.path.isabs(root))  # noqa: PTH117 -- as above


@lru_cache(maxsize=64)
def _path_below(roots: tuple[str, ...]) -> re.Pattern[str]:
    spelled: list[str] = []
    for root in roots:
        parts = r"(?:/|\\{1,2})".join(re.escape(part) for part in re.split(r"[/\\]", root))
        # Windows looks at no case.
        spelled.append(f"(?i:{parts})" if "\\" in root else parts)
    anywhere = "|".join(spelled)
    # Between quotes a path may hold spaces.
    return re.compile(
        rf"""(?:(?<=(["'`]))|(?<=://)|(?<![\w.~/\\-]))({anywhere})(?:"""
        rf"""(?(1)[/\\](?:(?!\1|[ ][/\\])[^\n<>|*?:]){{0,{_LONGEST_PATH}}}(?=\1)|(?!))"""
        rf"""|[/\\][^\s"'`<>|*?:]{{0,{_LONGEST_PATH}}}|(?![\w.-]))"""
    )


def _shortened(found: re.Match[str], known: list[str]) -> str:
    path = found[0].rstrip(".,;)]}")
    rest = found[0][len(path) :]
    normal, root = _normal(path), _normal(found[2])
    best = ""
    for word in known:
        end = _normal(word)
        if (end == root or end.startswith(root + "/")) and f"{normal}/".startswith(end + "/"):
            # The caller named the folder in full, or the path itself.
            return found[0]
        if end and normal.endswith("/" + end) and len(word) > len(best):
            best = word
    return (best or normal.rpartition("/")[2]) + rest


def _normal(path: str) -> str:
    return re.sub(r"[/\\]+", "/", path).removeprefix("./").rstrip("/")
