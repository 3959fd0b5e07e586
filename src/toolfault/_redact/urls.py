"""
Credentials in URLs, and in connection strings that have no scheme.

Rule 1: a password may hold "/" and "@"; a port is never taken for one.
Rule 2: without a scheme, the password must look like one: ``image:tag@digest`` has the same form.
"""

from __future__ import annotations

import re
from typing import Final

from toolfault._redact.words import REMOVED, looks_chosen, looks_random
from toolfault._text import pattern


_URL_CREDENTIALS: Final = r"""(?x)
    ://([^\s:/?#@"'`<>\[\]]{0,256}(?:@[^\s:/?#@"'`<>\[\]]{1,256}(?=:))?)
    (?: :(?!\d{1,5}(?:[/?#\s]|\Z))(?!\[redacted\]@)((?:[^\s"'`]|(?<=\w)'(?=\w)){0,1024}) )?
    @(?=[\w.\[%-])
    """
_CONNECTION: Final = (
    r"""(?<![\w/@.:-])([A-Za-z][\w.-]{0,63}):(?!//)([^\s"'`<>:]{1,256})@"""
    r"""(?=tcp\(|unix\(|[\w-])"""
)
_ORACLE: Final = (
    r"""(?i)((?:\bthin:|\bsqlplus[ ](?:-\w{1,8}[ ]){0,4}|\bexpdp[ ]|\bimpdp[ ])[\w$#.]{1,64}/)"""
    r"""([^\s"'`<>@]{1,256})(?=@|\s|\Z)"""
)
#: What may stand before a colon and is not a user.
_NO_USER: Final = frozenset(("mailto", "sip", "sips", "xmpp", "acct", "tel", "urn", "npm", "git"))


def redact_urls(text: str) -> str:
    """
    Return a text without the user-info of URLs; the name of a user stays where it is one.
    """
    text = pattern(_URL_CREDENTIALS).sub(_redact_userinfo, text)
    text = pattern(_CONNECTION).sub(_redact_connection, text)
    return pattern(_ORACLE).sub(rf"\1{REMOVED}", text)


def _redact_userinfo(found: re.Match[str]) -> str:
    user, password = found[1], found[2]
    if looks_random(user):
        return f"://{REMOVED}@"
    return f"://{user}:{REMOVED}@" if password else found[0]


def _redact_connection(found: re.Match[str]) -> str:
    user, password = found[1], found[2]
    if user.lower() in _NO_USER or REMOVED in password or not looks_chosen(password):
        return found[0]
    return f"{user}:{REMOVED}@"
