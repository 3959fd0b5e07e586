"""
The vocabulary of secrets: what a name says about its value, and what a value looks like.

Rule 1: words only. Other modules find names and values in a text and replace them.
Rule 2: a name that describes a secret (its length, its file) is public.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, TypeAlias

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


#: Where a value begins and ends in a text.
Span: TypeAlias = tuple[int, int]

#: The span of no value.
NOWHERE: Final[Span] = (0, 0)


def remove_spans(
    text: str, marks: Iterable[re.Match[str]], find: Callable[[re.Match[str]], Span]
) -> str:
    """
    Return a text without the values that stand behind marks.

    Args:
        text: Any text.
        marks: What may stand before a value, in order; one inside a removed value counts no more.
        find: Returns where the value behind a mark stands, or `NOWHERE`.
    """
    parts: list[str] = []
    done = 0
    for mark in marks:
        start, end = NOWHERE if mark.start() < done else find(mark)
        if start < end:
            parts += text[done:start], REMOVED
            done = end
    return "".join((*parts, text[done:])) if parts else text


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
PIN: Final = 8  # a short number is a secret, too
PHRASE: Final = 9  # a sentence of words is a secret
STORED: Final = 10  # "secret": a secret unless it is the path of one in a store

#: One of these is in each name that matters.
NAME_PARTS: Final = (
    "key", "token", "pass", "secret", "auth", "pw", "cred", "sig", "ses", "sid", "cookie", "code",
    "bearer", "otp", "jwt", "wort", "pin", "salt", "pepper", "mnemonic", "phrase", "dsn", "cvv",
    "cvc", "answer", "assertion", "verifier", "?k=", "&k=", "?t=", "&t=",
)  # fmt: skip

_STRONG: Final = _set(
    "password passwords passwd passphrase passcode passwort kennwort pwd pw secret secrets "
    "apikey apikeys accesskey accountkey secretkey privatekey sharedkey masterkey"
)
#: Of an environment variable any of these will do, anywhere in its name.
_VARIABLE: Final = _STRONG | _set(
    "key keys token tokens auth pass signature credential credentials cred creds cookie"
)
_STRONG_ENDS: Final = (
    "password", "passwd", "passphrase", "secret", "apikey", "secretkey", "privatekey",
    "accesskey", "accountkey", "authkey", "signingkey", "encryptionkey", "pwd",
)  # fmt: skip
_LIKELY_ENDS: Final = ("sessid", "sessionid", "token")

#: A name that ends in one of these tells something about a secret, not the secret.
_ABOUT: Final = _set(
    "id ids name names type types kind count counts length len size limit limits url uri urls "
    "path paths file files filename dir folder version policy expiry expires expired "
    "expiration ttl at in on field fields format error errors status state method mode scheme "
    "provider endpoint required valid invalid missing usage used budget index arn ref label "
    "column prefix suffix algorithm alg encoding rotation manager store backend timeout "
    "enabled disabled reset changed age hint min max strength rules requirements attempts "
    "tries host port sock socket parallelism issuer audience scope scopes location region "
    "source rounds"
)

#: Words that decide alone if a name ends in them.
_KINDS: Final[dict[str, int]] = {
    **dict.fromkeys(_ABOUT, PUBLIC),
    "authorization": HEADER,
    "cookie": COOKIE,
    "cookies": COOKIE,
    "assertion": WEAK,
    "verifier": WEAK,
    "k": CODE,
    "t": CODE,
    "pwd": FOLDER,
    "mnemonic": PHRASE,
    "secret": STORED,
    "secrets": STORED,
    **dict.fromkeys(_set("pin pins otp totp cvv cvc"), PIN),
    **dict.fromkeys(
        _set("auth pass credential credentials cred creds bearer jwt salt pepper dsn"), LIKELY
    ),
    **dict.fromkeys(
        _set(
            "dbpass userpass sshpass ftppass smtppass pgpass rootpass adminpass mypass "
            "storepass keypass srcstorepass deststorepass"
        ),
        LIKELY,
    ),
    **dict.fromkeys(_set("sig signature hmac session sess sid"), WEAK),
}

#: Which keys are secrets, and which never are; others are if their value looks random.
_SECRET_KEYS: Final = _set(
    "api access secret private account auth authentication authorization signing sign "
    "encryption encrypt decryption master shared service client app application consumer "
    "subscription ssh rsa ec dsa ed25519 pem storage webhook deploy admin session jwt hmac aes "
    "gpg pgp sas function host license licence rapidapi functions integration ingest write "
    "read server stripe openai anthropic google aws azure gemini mistral groq cohere unseal "
    "recovery storage hec ikey skey"
)
_PUBLIC_KEYS: Final = _set(
    "primary foreign sort partition row cache public object idempotency dedupe deduplication "
    "unique index composite join lookup hash bucket routing group shard map dict json property "
    "config translation column missing invalid unknown duplicate natural surrogate candidate "
    "sorting ordering order range field metadata registry required unexpected this that of"
)
_PUBLIC_TOKENS: Final = _set(
    "page next continuation cursor sync resume start unexpected max min prompt completion "
    "input output total used reasoning cached context stop special eos bos pad unk mask "
    "previous prev current illegal this that"
)

#: Words before "code", "phrase" and "answer" that make a secret of it.
_CODES: Final = _set("recovery backup pin security access verification auth otp mfa totp pass")
_PHRASES: Final = _set("seed recovery mnemonic backup secret wallet")

#: After a word for a secret these do not change what the name means: SECRET_KEY_BASE.
_PARTS: Final = _set(
    "base value text string data plain raw old new current primary secondary prod production "
    "dev test hash hex b64 enc encoded confirm confirmation again repeat verify x y z a b"
)

#: Last words that the word before decides: what each of those makes of it, and what it is alone.
_QUALIFIED: Final[dict[str, tuple[dict[str, int], int]]] = {
    **dict.fromkeys(
        ("key", "keys"),
        ({**dict.fromkeys(_SECRET_KEYS, SECRET), **dict.fromkeys(_PUBLIC_KEYS, PUBLIC)}, WEAK),
    ),
    **dict.fromkeys(("token", "tokens"), (dict.fromkeys(_PUBLIC_TOKENS, PUBLIC), LIKELY)),
    **dict.fromkeys(("code", "codes"), (dict.fromkeys(_CODES, PIN), CODE)),
    "phrase": (dict.fromkeys(_PHRASES, PHRASE), PUBLIC),
    "answer": (dict.fromkeys(_set("security secret recovery"), SECRET), PUBLIC),
    "id": (dict.fromkeys(_set("session sess"), WEAK), PUBLIC),
}


@lru_cache(maxsize=2048)
def strength_of(name: str, word_before: str = "") -> int:
    """
    Return how secret a name says that its value is, `PUBLIC` to `PHRASE`.

    Args:
        name: The name before the separator.
        word_before: The word before the name; it counts if the name is a single word ("API key").
    """
    words = _words(name)
    if not words:
        return PUBLIC
    if len(words) > 1 or not word_before:
        return _strength_of_words(words, together=True)
    return _strength_of_words([*_words(word_before), *words], together=False)


def _strength_of_words(words: list[str], *, together: bool) -> int:
    last = words[-1]
    if last in _QUALIFIED:
        by_prior, alone = _QUALIFIED[last]
        return by_prior.get("".join(words[-2:-1]), alone)
    if last in _KINDS:
        return _KINDS[last]
    if last in _STRONG or last.endswith(_STRONG_ENDS):
        return SECRET
    if together and not _STRONG.isdisjoint(words):
        return SECRET if last in _PARTS else WEAK
    return LIKELY if last.endswith(_LIKELY_ENDS) else PUBLIC


def _words(name: str) -> list[str]:
    return [word.lower() for word in pattern(_WORD).findall(name)]


_WORD: Final = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"


#: Of an environment variable these are secrets as well: a personal access token, a webhook.
_VARIABLE_ENDS: Final = _set("pat dsn webhook webhooks")


@lru_cache(maxsize=1024)
def is_secret_variable(name: str) -> bool:
    """
    Tell whether an environment variable of this name holds a secret.
    """
    words = _words(name)
    if strength_of(name) > PUBLIC or words[-2:] == ["webhook", "url"]:
        return True
    if _VARIABLE_ENDS.isdisjoint(words[-1:]):
        return _ABOUT.isdisjoint(words[-1:]) and not _VARIABLE.isdisjoint(words)
    return True


# ---- values

#: Words that stand where a value is missing, or that speak of it.
SAYS_NOTHING: Final = _set(
    "none null nil undefined true false yes no on off unset empty required missing invalid "
    "wrong incorrect expired revoked denied rejected refused error failed failure mismatch "
    "mismatched unknown unauthorized forbidden unauthenticated optional redacted hidden secure "
    "masked removed filtered sensitive str string int integer number bool boolean bytes text "
    "any object array list dict password passwd token secret key apikey credentials field "
    "value input must should may can cannot could will is was are has have had not be been "
    "being the this that these it its a an at of for from to in with without by and or if when "
    "too only please use using given provided specified set requires needs needed need option "
    "flag argument parameter does did do basic bearer default example placeholder changed "
    "disabled enabled ok valid found exists used already never pass see check provide export "
    "configure ensure make try contact weak strong short long common trial oauth oauth2 oidc "
    "saml sso"
)
#: Words of which a sentence about a secret has one.
_VERBS: Final = _set(
    "is are was were be must should may might can cannot has have had does do did not no "
    "required invalid missing expired blank empty field characters least unknown too match"
)


def is_secret(value: str, strength: int, *, loose: bool = False) -> bool:
    """
    Tell whether a value is one to remove.

    Args:
        value: The text after the separator.
        strength: What the name says.
        loose: Whether the value stands after a colon and a space, as prose may.
    """
    value = value.strip()
    if not value or value.startswith(REMOVED) or says_nothing(value):
        return False
    # Longer ones are never harmless; else a text full of them would be read over and over.
    if len(value) <= 64 and pattern(_STANDS_FOR_ANOTHER).fullmatch(value):
        return False
    if strength == LIKELY:
        return _is_likely_secret(value, loose=loose)
    judge = _JUDGES.get(strength)
    return judge is None or judge(value)


def is_named_secret(value: str, strength: int) -> bool:
    """
    Tell whether a value that stands apart from its name, as in a table, is one to remove.
    """
    if strength in (PUBLIC, CODE) or is_sentence(value):
        return False
    return is_secret(value, strength)


def _is_pin(value: str) -> bool:
    return pattern(_SHORT_NUMBER).fullmatch(value) is not None or looks_chosen(value)


def _is_likely_secret(value: str, *, loose: bool) -> bool:
    if is_number(value) or is_algorithm(value) or is_reference(value):
        return False
    if not loose:
        return len(value) >= 4
    return len(value) >= 6 and (not value.isalpha() or is_mixed(value) or len(value) >= 20)


def says_nothing(value: str) -> bool:
    """
    Tell whether a value is a word that stands where a secret is missing: none, required, invalid.
    """
    return value.lower().strip(".,;:!?()[]{}") in SAYS_NOTHING


def is_sentence(value: str) -> bool:
    """
    Tell whether a value is a sentence about a secret, not the secret.

    "This field may not be blank." and "must have 8 characters" are.
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
    Tell whether a value is the first word of a sentence that goes on after it.

    "must" in "password: must be" is, and "8-64" in "password: 8-64 characters".
    """
    # One word alone is not prose.
    value = text[start:end]
    if not value.isalpha() and not pattern(_RANGE).fullmatch(value):
        return False
    return pattern(_WORD_FOLLOWS).match(text, end) is not None


_RANGE: Final = r"\d{1,3}(?:-\d{1,3}|\+)?"
_WORD_FOLLOWS: Final = r"[ ]{1,3}[a-z]{1,30}(?![\w=:])"

# Masks, and variables that are still to be filled in.
_STANDS_FOR_ANOTHER: Final = r"""(?x)
    [*•xX.…\#-]+ | \$\{[^{}]*\} | \$[A-Z_][A-Z0-9_]* | \{+[\w. ]*\}+ | %\(\w+\)s | %s
    | \[[^\[\]]*\]? | [\[({]+ | (?i:your[-_][\w-]*) | [?%@:][a-z_]*
    """


def is_number(value: str) -> bool:
    """
    Tell whether a value is a number, a percentage or a fraction.
    """
    return pattern(_NUMBER).fullmatch(value) is not None


_NUMBER: Final = r"[+-]?\d[\d_,.]{0,30}%?(?:/\d{1,12})?"


def is_reference(value: str) -> bool:
    """
    Tell whether a value says where something is: a URL, a path, names between slashes.

    ``prod/db-2026`` and ``user/role1`` are; digits in the middle of a name make it no reference.
    """
    if "://" in value or value[:2] in ("~/", "./"):
        return True
    return len(value) <= 256 and pattern(_REFERENCE).fullmatch(value) is not None


_SEGMENT: Final = r"[a-z]{1,24}(?:[-_.][a-z]{1,24}){0,4}(?:[-_.]?\d{1,4})?"
_REFERENCE: Final = rf"(?:[a-z]{{2,12}}:)?{_SEGMENT}(?:/{_SEGMENT}){{1,8}}"


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


_SHORT_NUMBER: Final = r"\d{3,8}"


def is_algorithm(value: str) -> bool:
    """
    Tell whether a value names an algorithm, a format or a version; those mix letters and digits.
    """
    return len(value) <= 32 and pattern(_ALGORITHM).fullmatch(value) is not None


_ALGORITHM: Final = r"""(?xi)
      (?:hmac-?|pbkdf2[-_])?sha-?\d{1,3}(?:[-_/]\d{3})? | md[245] | crc\d{1,2} | blake[23][bs]?
    | argon2(?:id|[id])? | bcrypt\d? | pbkdf2 | aes-?\d{3}(?:-[a-z]{3})? | [rhep]s\d{3}
    | x?25519 | ed25519 | x509 | secp\d{3}[kr]1 | p\d{3} | oauth2? | http[23] | tls1[.\d]{0,2}
    | utf-?\d{1,2}(?:mb4)? | base\d{2} | latin\d | ipv[46] | pkcs\d{1,2} | ntlmv2
    | v\d{1,3}(?:(?:alpha|beta|rc)\d{0,2})? | python\d(?:\.\d{1,2})?
    | x86_64 | arm64 | amd64 | win32 | k8s | i18n | l10n | s3
    """


def looks_chosen(value: str, *, is_value: bool = False) -> bool:
    """
    Tell whether a text looks like a password or a token.

    Words, names, numbers, dates, paths, URLs, versions and algorithms do not.

    Args:
        value: The text.
        is_value: Whether the place says that it is a value, not a word of a sentence; then a digit
            or a sign suffices.
    """
    core = value.strip("\"'`.,;:()<>")
    if not 6 <= len(core) <= 4096 or is_algorithm(core) or pattern(_NOT_CHOSEN).match(core):
        return False
    if core.isalpha():
        return len(core) >= 16 and len(pattern(_CASE_CHANGE).findall(core[:64])) >= 4
    if is_value:
        return pattern(_DIGIT_OR_SIGN).search(core) is not None
    if pattern(_PAIR).match(core):
        return False
    return pattern(_MIXES).search(core) is not None


# Paths, URLs, addresses, file names, calls, times, versions, placeholders, tags.
_NOT_CHOSEN: Final = r"""(?x)
      \.{0,2}[/\\] | ~/ | [\w+.-]{1,20}:// | [A-Za-z]:[\\/]
    | [\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}\Z
    | [\w./-]{1,128}\.(?:[a-z]{2,5}|[chr])(?::\d{1,9})?\Z
    | [A-Za-z_][\w.]{0,80}[(\[]
    | [\d:.,TZ+/-]{1,64}\Z | v?\d{1,5}(?:\.\d{1,5}){1,4}
    | [$%{<\[*] | --
    | [\w.-]{1,64}:\d{1,5}\Z
    """
_PAIR: Final = r"[A-Za-z_][\w-]{0,40}=(?=[^=\s])"
_CASE_CHANGE: Final = r"[a-z][A-Z]"
_DIGIT_OR_SIGN: Final = r"[0-9!@#$%^&*+=~?]"
# A run of four letters and digits, at least, that has both; or signs between them.
_MIXES: Final = (
    r"(?=[0-9]{0,20}[A-Za-z])(?=[A-Za-z]{0,20}[0-9])[A-Za-z0-9]{4}"
    r"|[A-Za-z0-9][!@#$%^&*+~?]{1,3}[A-Za-z0-9]"
)


def is_numbered_name(value: str) -> bool:
    """
    Tell whether a value is a name with a number, as of a field or a variable: address2, line_1.
    """
    return len(value) <= 64 and pattern(_NUMBERED).fullmatch(value) is not None


_NUMBERED: Final = r"[a-z][a-z_]{0,60}\d{1,2}"


#: What tells whether a value is a secret, by what its name says; after all others it is one.
_JUDGES: Final[dict[int, Callable[[str], bool]]] = {
    WEAK: looks_random,
    PIN: _is_pin,
    STORED: lambda value: not is_reference(value),
}
