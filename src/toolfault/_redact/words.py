"""
Words that tell secrets: what a name says of its value, and what a value says of itself.

Rule 1: words only. Where names and values stand in a text, and what becomes of it, others know.
Rule 2: a name that tells something *about* a secret (its length, its file) is public.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from toolfault._text import pattern


#: What a reader sees in place of a secret.
REMOVED: Final = "[redacted]"


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def any_of(parts: tuple[str, ...], text: str) -> bool:
    """
    Tell whether one of these parts stands in a text.
    """
    # A generator would cost as much as ten of these.
    for part in parts:  # noqa: SIM110 -- as said
        if part in text:
            return True
    return False


# ---- names

#: What a name says of its value.
PUBLIC: Final = 0
WEAK: Final = 1  # a secret if it looks random
LIKELY: Final = 2  # a secret unless it is a number or a word
SECRET: Final = 3
HEADER: Final = 4  # Authorization: a scheme, then a secret
COOKIE: Final = 5
CODE: Final = 6  # weak, and only in a query
FOLDER: Final = 7  # "pwd": a secret unless it is the working folder

#: One of these is in each name that matters.
NAME_PARTS: Final = (
    "key", "token", "pass", "secret", "auth", "pw", "cred", "sig", "ses", "sid", "cookie", "code", "bearer", "otp",
    "jwt", "wort",
)  # fmt: skip

_STRONG: Final = _set(
    "password passwords passwd passphrase passcode passwort kennwort pwd pw secret secrets apikey apikeys "
    "accesskey accountkey secretkey privatekey sharedkey masterkey"
)
#: Of an environment variable any of these will do, anywhere in its name.
_VARIABLE: Final = _STRONG | _set(
    "key keys token tokens auth pass signature credential credentials cred creds cookie"
)
_STRONG_ENDS: Final = (
    "password", "passwd", "passphrase", "secret", "apikey", "secretkey", "privatekey", "accesskey", "accountkey",
    "authkey", "signingkey", "encryptionkey", "pwd",
)  # fmt: skip
_LIKELY_ENDS: Final = ("sessid", "sessionid", "token")

#: Words that decide alone if a name ends in them.
_KINDS: Final[dict[str, int]] = {
    "authorization": HEADER,
    "cookie": COOKIE,
    "cookies": COOKIE,
    "code": CODE,
    "pwd": FOLDER,
    **dict.fromkeys(
        _set("auth pass credential credentials cred creds bearer jwt otp totp"), LIKELY
    ),
    **dict.fromkeys(
        _set("dbpass userpass sshpass ftppass smtppass pgpass rootpass adminpass mypass"), LIKELY
    ),
    **dict.fromkeys(_set("sig signature session sess sid"), WEAK),
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


@lru_cache(maxsize=2048)
def strength_of(name: str, word_before: str = "") -> int:
    """
    Return what a name says of its value, `PUBLIC` to `FOLDER`.

    Args:
        name: What stands before the separator.
        word_before: The word before that; it counts if the name is a single word ("API key").
    """
    words = _words(name)
    if not words:
        return PUBLIC
    if len(words) == 1 and word_before:
        words = [*_words(word_before), *words]
    last = words[-1]
    prior = words[-2] if len(words) > 1 else ""
    if (kind := _KINDS.get(last)) is not None:
        return kind
    if last in _ABOUT:
        return WEAK if last == "id" and prior in ("session", "sess") else PUBLIC
    if last in ("key", "keys"):
        return SECRET if prior in _SECRET_KEYS else PUBLIC if prior in _PUBLIC_KEYS else WEAK
    if last in ("token", "tokens"):
        return PUBLIC if prior in _PUBLIC_TOKENS else LIKELY
    if not _STRONG.isdisjoint(words) or last.endswith(_STRONG_ENDS):
        return SECRET
    return LIKELY if last.endswith(_LIKELY_ENDS) else PUBLIC


def _words(name: str) -> list[str]:
    return [word.lower() for word in pattern(_WORD).findall(name)]


_WORD: Final = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"


@lru_cache(maxsize=1024)
def is_secret_variable(name: str) -> bool:
    """
    Tell whether an environment variable of this name holds a secret.
    """
    words = _words(name)
    return bool(words) and (
        strength_of(name) > PUBLIC or (words[-1] not in _ABOUT and not _VARIABLE.isdisjoint(words))
    )


# ---- values

#: Values that are none.
SAYS_NOTHING: Final = _set(
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


def is_secret(value: str, strength: int, *, loose: bool = False) -> bool:
    """
    Tell whether a value is one to remove.

    Args:
        value: What stands after the separator.
        strength: What the name says.
        loose: Whether it stands after a colon and a space, as prose may.
    """
    value = value.strip()
    if not value or value.startswith(REMOVED) or value.lower().rstrip(".,;:!?)") in SAYS_NOTHING:
        return False
    # Longer ones are never harmless; else a text full of them would be read over and over.
    if len(value) <= 64 and pattern(_STANDS_FOR_ANOTHER).fullmatch(value):
        return False
    if strength == WEAK:
        return looks_random(value)
    if strength == LIKELY:
        if is_number(value):
            return False
        return len(value) >= 6 and not value.isalpha() if loose else len(value) >= 4
    return True


def is_sentence(value: str) -> bool:
    """
    Tell whether a value says something *about* a secret: "This field may not be blank.", "must have
    8 characters".
    """
    # A passphrase has words, but none of these.
    words = [word.strip(".,;:!'\"()") for word in value[:256].lower().split()]
    return (
        len(words) > 1
        and not _VERBS.isdisjoint(words)
        and all(word.isalpha() or word.isdecimal() for word in words)
    )


def is_prose(text: str, start: int, end: int) -> bool:
    """
    Tell whether a sentence goes on from here: "password: must be", "password: 8-64 characters".
    """
    # One word alone is no prose.
    value = text[start:end]
    if not value.isalpha() and not pattern(_RANGE).fullmatch(value):
        return False
    return pattern(_WORD_FOLLOWS).match(text, end) is not None


_RANGE: Final = r"\d{1,3}(?:-\d{1,3})?"
_WORD_FOLLOWS: Final = r"[ ]{1,3}[a-z]{1,30}(?![\w=:])"

# Masks, and variables that are still to be filled in.
_STANDS_FOR_ANOTHER: Final = r"[*•xX.…#-]+|\$\{[^{}]*\}|\$[A-Z_][A-Z0-9_]*|\{+[\w. ]*\}+|%\(\w+\)s|%s|\[[^\[\]]*\]?|[\[({]+|(?i:your[-_][\w-]*)"


def is_number(value: str) -> bool:
    """
    Tell whether a value is a number, a percentage or a fraction.
    """
    return pattern(_NUMBER).fullmatch(value) is not None


_NUMBER: Final = r"[+-]?\d[\d_,.]{0,30}%?(?:/\d{1,12})?"


def looks_random(value: str) -> bool:
    """
    Tell whether a value looks made by a machine.
    """
    return len(value) >= 10 and pattern(_RANDOM).fullmatch(value) is not None and is_mixed(value)


# No file name, no date, no path.
_RANDOM: Final = r"(?![0-9:.TZ+-]+$)(?!.*\.[a-z]{1,5}$)(?!\.{0,2}/)[\w.+/~%-]+={0,2}"


def is_mixed(value: str) -> bool:
    """
    Tell whether a value has digits with letters, or capitals in the middle of words.
    """
    return pattern(_MIXED).search(value) is not None


_MIXED: Final = r"[0-9][A-Za-z]|[A-Za-z][0-9]|[a-z][A-Z]|[0-9]{4}"
