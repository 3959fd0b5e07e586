"""
Secrets on command lines: flags with the value in the next word, and the short flags of programs.

Rule 1: a long flag is a name; its value is judged as that of any name.
Rule 2: a short flag means a password only to the programs in `_PROGRAMS`, and its value must look
like one; so does a position, or the standard input, only to those in `_POSITIONS` and `_READERS`.
"""

from __future__ import annotations

import re
from typing import Final

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
_FLAGS: Final = rf"(?:-[\w=-]{{1,40}}{_NEXT}){{0,6}}"

_HTPASSWD: Final = rf"\bhtpasswd{_NEXT}(?={_FLAGS}-\w{{0,8}}b)"
_NO_FILE: Final = rf"{_FLAGS}-\w{{0,8}}n"

#: What stands before a password that a program takes by its position.
_POSITIONS: Final = (
    rf"{_HTPASSWD}(?={_NO_FILE}){_FLAGS}{_ARGUMENT}{_NEXT}",
    rf"{_HTPASSWD}(?!{_NO_FILE}){_FLAGS}(?:{_ARGUMENT}{_NEXT}){{2}}",
    rf"\brabbitmqctl{_NEXT}{_FLAGS}(?:add_user|change_password){_NEXT}{_ARGUMENT}{_NEXT}",
    rf"\bvault{_NEXT}login{_NEXT}{_FLAGS}",
    rf"\bsmbclient{_NEXT}{_FLAGS}[\\/]{{2}}{_ARGUMENT}{_NEXT}",
    rf"\bnet use (?:{_ARGUMENT} ){{0,1}}\\\\{_ARGUMENT} ",
)
_POSITION: Final = rf"""((?:{"|".join(_POSITIONS)}))(?![-/]|\[redacted\])([^\s"'`|;]{{4,1024}})"""
#: One of these stands in each text with such a password.
POSITIONAL: Final = ("htpasswd", "rabbitmqctl", "vault", "smbclient", "net use")

#: The programs that read a password from their standard input.
_READERS: Final = (
    r"\bsudo\b[^|\n]{0,60} -\w{0,4}S|\bsu\b|\b(?:ch|smb|ht)?passwd\b|\bkinit\b|\bcryptsetup\b"
    r"|--(?:password|token|passphrase)-stdin|--with-token|--passphrase-fd|\bstdin\b"
)
_PIPED: Final = r"\b((?:echo|printf)[ ])([^|\n]{1,300})(\|[^|\n]{1,120})"
_HERE: Final = r"(?<=<<<)[^|\n]{1,300}"
_TYPED: Final = r"""((?:\s|-[A-Za-z]{1,3}\s|["']?%\S{1,8}\s)*+["']?)([^"']{3,280})"""
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
    if "-u" in text or "-U" in text:
        text = pattern(_USER_FLAG).sub(_redact_password_of_user, text)
    if "user" in text:
        text = pattern(_NET_USER).sub(_redact_second, text)
    if any_of(POSITIONAL, text):
        text = pattern(_POSITION).sub(_redact_position, text)
    letters = {letters for program, letters in _PROGRAMS if program in text}
    if letters:
        text = pattern(_SHORT_FLAG).sub(
            lambda found: _redact_second(found, 3) if found[2] in letters else found[0], text
        )
    return text


def _redact_position(found: re.Match[str]) -> str:
    value = found[2].rstrip(".,:)]}")
    # Only where the program can't be spoken of is a word its password: "vault login failed".
    is_certain = found[1].startswith(("htpasswd", "rabbitmqctl")) and is_secret(value, LIKELY)
    end = found.start(2) + len(value)
    if is_prose(found.string, found.start(2), end):
        return found[0]
    if not is_certain and not looks_chosen(value, is_value=True):
        return found[0]
    return f"{found[1]}{REMOVED}{found[2][len(value) :]}"


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
