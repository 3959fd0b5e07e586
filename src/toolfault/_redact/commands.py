"""
Secrets on command lines: flags with the value in the next word, and the short flags of programs.

Rule 1: a long flag is a name; its value is judged as that of any name.
Rule 2: a short flag means a password only to the programs in `_PROGRAMS`, and its value must look
like one; so does a position, or the standard input, only to those in `_POSITIONS` and `_READERS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from toolfault._redact.words import (
    LIKELY,
    PUBLIC,
    REMOVED,
    SECRET,
    WEAK,
    any_of,
    is_prose,
    is_reference,
    is_secret,
    looks_chosen,
    looks_random,
    strength_of,
)
from toolfault._text import pattern


_FLAG: Final = r"""(?x)
    (?<![\w-])(--?([A-Za-z][\w.-]{0,63})(?:["'],[ ]{0,3}b?["']|[ \t]{1,4}["']?))
    (?![-\[])([^\s"'`,]{1,1024})
    """
_USER_FLAG: Final = r"""(?x)
    (?<![\w-])
    ((?:-u|-U|--user|--proxy-user)(?:["'],[ ]{0,3}["']|[ =]["']?)([^\s"':%]{1,128})[:%])
    (?!\[redacted\])([^\s"']{1,1024})
    """

#: The programs to which a short flag gives a password, with the letters of these flags.
_PROGRAMS: Final = (
    ("mysql", "p"),
    ("mariadb", "p"),
    ("sshpass", "p"),
    ("psexec", "p"),
    ("mongo", "p"),
    ("docker", "p"),
    ("podman", "p"),
    ("rdesktop", "p"),
    ("xfreerdp", "p"),
    ("7z", "p"),
    ("rar", "p"),
    ("zip", "P"),
    ("redis-cli", "a"),
    ("openssl", "k"),
    ("ldap", "w"),
    ("sqlcmd", "P"),
    ("bcp", "P"),
    ("isql", "P"),
    ("plink", "pw"),
    ("pscp", "pw"),
    ("influx", "p"),
    ("cqlsh", "p"),
    ("ipmitool", "P"),
    ("snmp", "A"),
    ("az ", "p"),
    ("impala", "p"),
    ("rabbitmqadmin", "p"),
    ("cf ", "p"),
    ("oc ", "p"),
)
_SHORT_FLAG: Final = r"""(?x)
    (?<![\w-])(-(pw(?=[ =])|[a-zA-Z])(?:["'],[ ]{0,3}["']|[ =]{0,2}["']?))
    (?!\[redacted\])([^\s"'`]{5,1024})
    """
_NET_USER: Final = (
    r"(?i)((?:\bnet[ ]user[ ]|/user:)[\w.\\@-]{1,128}[ ])(?!/|\[redacted\])(\S{5,256})"
)
# Between two words of a command line, also one that is shown as a list.
_NEXT: Final = r"""(?:["'],[ ]{0,3}["']|["']?[ ]{1,4}["']?)"""
_ARGUMENT: Final = r"""[^\s"'`|;]{1,200}"""
_ARGUMENTS: Final = rf"(?:{_ARGUMENT}{_NEXT}){{0,12}}?"
_FLAGS: Final = rf"(?:-[\w=-]{{1,40}}{_NEXT}){{0,6}}"
#: What shows that a command is quoted, not spoken of: "Error: vault login …", "$ vault login …".
_QUOTED: Final = r"""(?:(?<=["':$\#/;&|>\[])|(?<=["':$\#/;&|>\[][ ]))"""

_HTPASSWD: Final = rf"\bhtpasswd{_NEXT}(?={_FLAGS}-\w{{0,8}}b)"
_NO_FILE: Final = rf"{_FLAGS}-\w{{0,8}}n"
_REGISTRIES: Final = "docker|podman|nerdctl|buildah|skopeo|oras|crane|helm|npm"


class _Place(NamedTuple):
    """
    A place on a command line where a program takes a password.

    Attributes:
        program: Stands in each text with such a command.
        source: The pattern of what stands before the password, and of the password.
        is_certain: Whether nothing else stands there, so that a word is a password, too.
        is_flag: Whether it is the value of a flag, which no sentence goes on after.
    """

    program: str
    source: str
    is_certain: bool = True
    is_flag: bool = False


_VALUE: Final = (
    r"""(?![-/]|\[redacted\])"""
    r"""((?<=["'])[^"'\n]{4,1024}(?=["'])|[^\s"'`|;]{4,1024})"""
)


def _place(program: str, before: str, *, is_certain: bool = True, is_flag: bool = False) -> _Place:
    return _Place(program, f"({before}){_VALUE}", is_certain, is_flag)


def _flag_place(program: str, command: str, flag: str, joint: str) -> _Place:
    before = rf"\b(?:{command}){_NEXT}{_ARGUMENTS}-{flag}{joint}"
    return _place(program, before, is_flag=True)


#: Where the value of a short flag may stand: in the same word, in the next, in either.
_ATTACHED: Final = ""
_APART: Final = rf"(?:{_NEXT}|=)"
_EITHER: Final = rf"{_APART}?"

#: Those that are certain stand first: what they leave is no password at all.
_PLACES: Final = (
    _place("htpasswd", rf"{_HTPASSWD}(?={_NO_FILE}){_FLAGS}{_ARGUMENT}{_NEXT}"),
    _place("htpasswd", rf"{_HTPASSWD}(?!{_NO_FILE}){_FLAGS}(?:{_ARGUMENT}{_NEXT}){{2}}"),
    _place(
        "rabbitmqctl",
        rf"\brabbitmqctl{_NEXT}{_FLAGS}(?:add_user|change_password){_NEXT}{_ARGUMENT}{_NEXT}",
    ),
    _place("mysqladmin", rf"\bmysqladmin{_NEXT}{_ARGUMENTS}password{_NEXT}"),
    _place("vault", rf"{_QUOTED}vault{_NEXT}login{_NEXT}{_FLAGS}(?!\w{{1,40}}=)"),
    _place("vault", rf"\bvault{_NEXT}login{_NEXT}{_FLAGS}", is_certain=False),
    _place("smbclient", rf"\bsmbclient{_NEXT}{_FLAGS}[\\/]{{2}}{_ARGUMENT}{_NEXT}"),
    _place(
        "net",
        rf"\bnet{_NEXT}use{_NEXT}(?:[A-Za-z*]:?{_NEXT})?\\\\{_ARGUMENT}{_NEXT}"
        rf"(?:/{_ARGUMENT}{_NEXT}){{0,4}}",
    ),
    _place("net", rf"{_QUOTED}net{_NEXT}user{_NEXT}{_ARGUMENT}{_NEXT}"),
    _flag_place("sshpass", "sshpass", "p", _EITHER),
    _flag_place("ldap", "ldap[a-z]{3,8}", "w", _EITHER),
    _flag_place("az", rf"az{_NEXT}login", "p", _APART),
    _flag_place("login", rf"(?:{_REGISTRIES})(?:{_NEXT}registry)?{_NEXT}login", "p", _EITHER),
    _flag_place("login", rf"(?:cf|oc){_NEXT}login", "p", _APART),
    _flag_place("mysql", r"mysql\w{0,16}", "p", _ATTACHED),
    _flag_place("mariadb", r"mariadb[\w-]{0,16}", "p", _ATTACHED),
    _flag_place("mongo", r"mongo\w{0,16}", "p", _EITHER),
    _flag_place("cqlsh", "cqlsh", "p", _EITHER),
    _flag_place("redis-cli", "redis-cli", "a", _APART),
    _flag_place("sqlcmd", "sqlcmd", "P", _EITHER),
    _flag_place("bcp", "bcp", "P", _EITHER),
    _flag_place("plink", "plink", "pw", _APART),
    _flag_place("pscp", "pscp", "pw", _APART),
    _flag_place("ipmitool", "ipmitool", "P", _EITHER),
    _flag_place("mosquitto", "mosquitto_[a-z]{2,4}", "P", _EITHER),
    _place("xfreerdp", rf"\bxfreerdp{_NEXT}{_ARGUMENTS}/p:", is_flag=True),
)
#: One of these stands in each text with such a command that has no dash.
POSITIONAL: Final = ("rabbitmqctl", "mysqladmin", "vault", "smbclient", "net", "xfreerdp")
#: And these are commands without any sign that prose has not.
WORDY: Final = ("rabbitmqctl", "mysqladmin")

#: Words that stand after the name of a command where it is spoken of.
_SPEAKS: Final = frozenset(
    "again attempt before command exited first helper method page reported request returned "
    "session succeeded successful timed timeout token utility".split()
)

#: The programs that read a password from their standard input.
_READERS: Final = (
    r"\bsudo\b[^|\n]{0,60} -\w{0,4}S|\bsu\b|\b(?:ch|smb|ht)?passwd\b|\bkinit\b|\bcryptsetup\b"
    r"|--(?:password|token|passphrase)-stdin|--with-token|--passphrase-fd|\bstdin\b"
    r"|\b(?:npm|yarn|pnpm) (?:login|adduser)\b|\b(?:vault|docker|podman|az|oc|cf) login\b"
)
_PIPED: Final = r"\b((?:echo|printf)[ ])([^|\n]{1,300})(\|[^|\n]{1,120})"
_HERE: Final = r"(?<=<<<)[^|\n]{1,300}"
_TYPED: Final = r"""((?:\s|-[A-Za-z]{1,3}\s|["']?%\S{1,8}\s)*+["']?)([^"']{3,280})"""

#: What a script of the program expect types, to the end of the line.
_SENT: Final = r"""(?x) (\bsend(?:[ ]--)?[ ]\\{0,3}["'{]) ([^\s"'\\{}]{4,256}) (?=\\{1,4}[rn])"""

_LOGIN: Final = (
    r"(?i)(\b(?:login|credentials?|creds|auth)[ :=]{1,3}[\w.-]{1,64}[:/])([^\s\"'`]{6,256})"
)


def redact_flags(text: str) -> str:
    """
    Return a text without the values of flags whose names tell secrets.
    """
    return pattern(_FLAG).sub(_redact_flag, text)


def _redact_flag(found: re.Match[str]) -> str:
    strength = strength_of(found[2])
    value = found[3].rstrip(".;:)]}")
    if strength == PUBLIC or not is_secret(value, max(LIKELY, strength)):
        return found[0]
    if strength == WEAK and not looks_random(value):
        return found[0]
    return f"{found[1]}{REMOVED}{found[3][len(value) :]}"


def redact_commands(text: str) -> str:
    """
    Return a text without the passwords that programs take in short flags and in ``user:password``.
    """
    for marks, source, replace in _PAIRS:
        if any_of(marks, text):
            text = pattern(source).sub(replace, text)
    for place in _PLACES:
        if place.program in text:
            text = _redact_place(place, text)
    letters = {letters for program, letters in _PROGRAMS if program in text}
    if letters:
        text = pattern(_SHORT_FLAG).sub(
            lambda found: _redact_second(found, 3) if found[2] in letters else found[0], text
        )
    return text


def _redact_place(place: _Place, text: str) -> str:
    """
    Return a text without the passwords that stand in one place of a program's command line.
    """

    def redact(found: re.Match[str]) -> str:
        value = found[2].rstrip(".,:)]}")
        end = found.start(2) + len(value)
        if not place.is_flag and is_prose(text, found.start(2), end):
            return found[0]
        if not is_password(value):
            return found[0]
        return f"{found[1]}{REMOVED}{found[2][len(value) :]}"

    is_password = _is_any_password if place.is_certain else _looks_like_password
    return pattern(place.source).sub(redact, text)


def _is_any_password(value: str) -> bool:
    return value.lower() not in _SPEAKS and is_secret(value, LIKELY)


def _looks_like_password(value: str) -> bool:
    return looks_chosen(value, is_value=True)


def redact_standard_input(text: str) -> str:
    """
    Return a text without the passwords that a shell gives to a program on its standard input.
    """
    return pattern(_HERE).sub(_redact_here, pattern(_PIPED).sub(_redact_piped, text))


def _redact_piped(found: re.Match[str]) -> str:
    if pattern(_READERS).search(found[3]) is None:
        return found[0]
    return found[1] + _redact_typed(found[2]) + found[3]


def _redact_here(found: re.Match[str]) -> str:
    command = found.string[max(0, found.start() - 120) : found.start()].rpartition("\n")[2]
    return found[0] if pattern(_READERS).search(command) is None else _redact_typed(found[0])


def _redact_typed(typed: str) -> str:
    found = pattern(_TYPED).match(typed)
    if found is None:
        return typed
    value = found[2].rstrip()
    if not is_secret(value, SECRET):
        return typed
    return f"{found[1]}{REMOVED}{typed[found.start(2) + len(value) :]}"


def redact_typed(text: str) -> str:
    r"""
    Return a text without the passwords that a script of expect types: ``send "…\r"``.
    """
    return pattern(_SENT).sub(_redact_sent, text) if "expect" in text else text


def _redact_sent(found: re.Match[str]) -> str:
    return f"{found[1]}{REMOVED}" if is_secret(found[2], LIKELY) else found[0]


def redact_pairs(text: str) -> str:
    """
    Return a text without the password of ``login app:password`` and the like.
    """
    return pattern(_LOGIN).sub(_redact_login, text)


def _redact_login(found: re.Match[str]) -> str:
    # Only "login" is certain to be followed by a user; the others may name where they are kept.
    pair = found[0].split()[-1]
    if "login" not in found[1].lower() and is_reference(pair):
        return found[0]
    return _redact_second(found)


def _redact_second(found: re.Match[str], group: int = 2) -> str:
    value = found[group].rstrip(".,;:)]}")
    if not looks_chosen(value, is_value=group == 3):
        return found[0]
    return f"{found[1]}{REMOVED}{found[group][len(value) :]}"


def _redact_password_of_user(found: re.Match[str]) -> str:
    user, password = found[2], found[3]
    if password.isdecimal() or password == user:
        return found[0]
    return found[1] + REMOVED


#: Pairs of a user and a password: what stands in each text with one, its form, what replaces it.
_PAIRS: Final[tuple[tuple[tuple[str, ...], str, Callable[[re.Match[str]], str]], ...]] = (
    (("-u", "-U", "-user"), _USER_FLAG, _redact_password_of_user),
    (("user",), _NET_USER, _redact_second),
)
