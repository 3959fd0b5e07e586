"""
Secrets on command lines: flags with the value in the next word, and the short flags of programs.

Rule 1: a long flag is a name; its value is judged as that of any name.
Rule 2: a short flag means a password only to the programs in `_PROGRAMS`, and its value must look
like one.
"""

from __future__ import annotations

import re
from typing import Final

from toolfault._redact.words import (
    LIKELY,
    PUBLIC,
    REMOVED,
    WEAK,
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
    letters = {letters for program, letters in _PROGRAMS if program in text}
    if letters:
        text = pattern(_SHORT_FLAG).sub(
            lambda found: _redact_second(found, 3) if found[2] in letters else found[0], text
        )
    return text


def redact_pairs(text: str) -> str:
    """
    Return a text without the password of ``login app:password`` and the like.
    """
    return pattern(_LOGIN).sub(_redact_second, text)


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
