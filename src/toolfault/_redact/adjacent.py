"""
Secrets next to their name without a separator: prose, tables, lists, calls, SQL.

Rule 1: here a value must look like a secret by itself (`looks_chosen`), since prose has words in
the same places.
Rule 2: a name and its value may be two members: ``{"name": "DB_PASSWORD", "value": "…"}``.
"""

from __future__ import annotations

import re
from typing import Final

from toolfault._redact.named import authorization, name_before
from toolfault._redact.words import (
    CODE,
    COOKIE,
    HEADER,
    LIKELY,
    NOWHERE,
    PHRASE,
    PUBLIC,
    REMOVED,
    SECRET,
    STORED,
    WEAK,
    Span,
    is_named_secret,
    is_numbered_name,
    is_reference,
    is_secret,
    looks_chosen,
    remove_spans,
    strength_of,
)
from toolfault._text import pattern


# ---- beside each other

#: The ends of names that prose has: "the password hunter2".
_NAME_END: Final = (
    r"(?:pass(?:word|wd|phrase|code|wort)|kennwort|pwd|token|secret|apikey|[ _.-]key|credential"
    r"|cred|authorization|\bpw|\bpass|\bauth|\bpin|\botp|code|storepass|keypass|\bsalt)s?"
    r"(?![a-z0-9_.-])"
)
# A quote, words such as "is" and "for user app:", an arrow or a bar, and the quote of the value.
_JOINT: Final = r"""(?x) ["'`\])]{0,2}
    (?:[ ](?:for|of)[ ](?:[a-z]{1,20}[ ])?(?:'[^'\n]{1,200}'|"[^"\n]{1,200}"|[^\s"':]{1,200}):)?
    (?:[ ]{1,2}(?:is|was|were|as|value|given|used|entered|set|to|now|FOR|=)){0,3}
    (?:[ \t]{0,8}(?:→|->|=>|[|;,\t(:=])[ \t]{0,8}|[ \t]{1,24}|\r?\n[ \t]{1,40})
    [`"'(]{0,2}
    """
# An arrow, a bar, a quote of its own, "is" before a value; not a comma alone, which lists have too.
_EXPLICIT: Final = r"→|->|=>|[|;`:]|[ (]['\"]|\t| (?:is|was) "
#: What says that a name with a number is a name: "a token, line_1", "token -> user42".
_MAPS: Final = r",|→|->|=>"
_VALUE: Final = r"""[^\s"'`<>|]{6,4096}"""
#: After these, white space alone joins nothing: "pass user2 to the tool".
_VERBS: Final = frozenset(("pass", "auth", "code", "codes", "pin", "otp", "salt"))


def redact_beside(text: str) -> str:
    """
    Return a text without what looks like a secret and stands right after the name of one.
    """
    mirrored = text[::-1]
    ends_of_names = pattern(_NAME_END).finditer(_lower(text))
    return remove_spans(text, ends_of_names, lambda end: _value_beside(text, mirrored, end))


def _lower(text: str) -> str:
    # Each character keeps its place, also those whose lower case has two characters.
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(character.lower() if character.isascii() else character for character in text)


def _value_beside(text: str, mirrored: str, name_end: re.Match[str]) -> Span:
    joint = pattern(_JOINT).match(text, name_end.end())
    if joint is None or (joint[0].isspace() and name_end[0] in _VERBS):
        return NOWHERE
    value = pattern(_VALUE).match(text, joint.end())
    if value is None or REMOVED in value[0]:
        return NOWHERE
    name = name_before(text, mirrored, name_end.end())
    core = _core(value[0])
    if name.strength in _SILENT or _is_harmless(core, joint[0], name.strength):
        return NOWHERE
    return value.start(), value.start() + len(core)


#: Names that say nothing of what stands beside them.
_SILENT: Final = (PUBLIC, WEAK, CODE, HEADER, COOKIE, PHRASE)


def _is_harmless(value: str, joint: str, strength: int) -> bool:
    """
    Tell whether a value is not a secret after a name of this strength and what joins the two.
    """
    is_explicit = pattern(_EXPLICIT).search(joint) is not None
    if not looks_chosen(value, is_value=strength in (SECRET, STORED) and is_explicit):
        return True
    if strength in (LIKELY, STORED) and is_reference(value):
        return True
    if strength != LIKELY and "," not in joint:
        return False
    return pattern(_MAPS).search(joint) is not None and is_numbered_name(value)


def _core(value: str) -> str:
    return value.rstrip(".,;:)]}")


# ---- the name and the value as two members

_MEMBERS: Final = r"""(?xi)
    (?<![\w-]) ["']? (?:name|key|header|param|parameter|variable|property|field|id|setting) ["']?
    [ ]?[:=][ ]? ["']? ([\w.-]{1,96}) ["']?
    [\s,;]{1,40} ["'-]? value ["']? [ ]?[:=] [ \t]{0,4}
    (?: (["']) | (?=[^\s"']) )
    """
_QUOTED_MEMBER: Final = r"""[^"'\n]{1,4096}"""
_BARE_MEMBER: Final = r"""[^\s"'`<>,;}\]]{1,4096}"""


def redact_members(text: str) -> str:
    """
    Return a text without values whose names are values of a member beside them.
    """
    members = pattern(_MEMBERS).finditer(text)
    return remove_spans(text, members, lambda found: _member_value(text, found))


def _member_value(text: str, found: re.Match[str]) -> Span:
    strength = strength_of(found[1])
    value = pattern(_QUOTED_MEMBER if found[2] else _BARE_MEMBER).match(text, found.end())
    if value is None or not is_named_secret(value[0], strength):
        return NOWHERE
    if strength == HEADER:
        return authorization(text, found.end(), None)
    return value.span()


# ---- SQL

_SQL_SETS: Final = r"""(?xi)
    (
      \b(?:
          identified[ ](?:with[ ]\S{1,40}[ ])?(?:by|as)
        | (?:with|encrypted|(?:user|role)[ ]\S{1,80})[ ]password
        | set[ ]password(?:[ ]for[ ]\S{1,120})?
      )
      [ ]{0,2}=?[ ]{0,2}(?:password\()?N?["']
    )
    (?!\[redacted\])([^"'\n]{1,1024})(?=["'])
    """
_SQL_VALUES: Final = r"(?i)\bvalues\s{0,4}\((?:[^()\n]|\([^()\n]{0,256}\)){1,4096}"
_SQL_LITERAL: Final = r"(?<=')[^'\n]{1,1024}(?=')"


def redact_sql(text: str) -> str:
    """
    Return a text without the passwords of SQL statements, and what looks like one among VALUES.
    """
    text = pattern(_SQL_SETS).sub(rf"\1{REMOVED}", text)
    return pattern(_SQL_VALUES).sub(_redact_values, text)


def _redact_values(found: re.Match[str]) -> str:
    return pattern(_SQL_LITERAL).sub(_redact_literal, found[0])


def _redact_literal(found: re.Match[str]) -> str:
    return REMOVED if looks_chosen(found[0]) else found[0]


# ---- the pair that clients take

_CREDENTIALS: Final = r"(?:auth|authprovider|credentials?|creds|login|userpass)"
_LOGIN: Final = rf"""(?xi)
    ( {_CREDENTIALS} ["']? ([ ]?[:=][ ]? | [ ](?:(?:tuple|pair|is|was|were|as|=>|->)[ ])? )?
      [(\[] b?["'][^"'\n]{{0,256}}["'],[ ]?b?["'] )
    (?!\[redacted\])([^"'\n]{{1,1024}})(?=["'][)\],])
    """


def redact_logins(text: str) -> str:
    """
    Return a text without the second member of the pair that is named as credentials.
    """
    return pattern(_LOGIN).sub(_redact_login, text)


def _redact_login(found: re.Match[str]) -> str:
    # The arguments of a call are a user and a password; in prose they may be names of fields.
    is_call = "=" in (found[2] or "=")
    is_name = strength_of(found[3]) != PUBLIC and found[3].islower()
    if is_call or (is_secret(found[3], LIKELY) and not is_name):
        return found[1] + REMOVED
    return found[0]


# ---- a column of a table

#: A row of names: words between separators, which the first of them decides. What announces the
#: table may stand before it: "row 1: user,password", "'/srv/user,password".
_HEADER_ROW: Final = (
    r"""(?:\A|:[ ]|["'`/])([ |"'`]{0,8}[A-Za-z][\w .-]{0,63}["'`]?[ ]{0,40}"""
    r"""([,;|\t]|\\{1,2}t)[\w .|,;\t\\"'`-]{1,1024})\Z"""
)
#: A line between the names and the values: "|---|---|", "-----+-----".
_RULE: Final = r"[ |+:=-]{3,1024}"
#: As it is, and as a repr or JSON writes it.
_LINE_END: Final = r"(\r?\n|\\{1,2}n)"
#: A value with what stands around it in its cell; behind a quote the sentence may go on.
_CELL: Final = r"""([ \t"'`]{0,40})(.{0,4096}?)([ \t\r"'`]{0,40}|["'`][ ).,:;\]].{0,4096})"""


def redact_columns(text: str) -> str:
    """
    Return a text without the values below a secret's name in CSV and other tables of lines.
    """
    separator, strengths = "", list[int]()
    lines = pattern(_LINE_END).split(text)
    # Every other one is what ends a line.
    for place in range(0, len(lines), 2):
        line = lines[place]
        cells = _cells(line, separator) if separator else []
        if strengths and len(cells) == len(strengths):
            pairs = zip(cells, strengths, strict=True)
            lines[place] = separator.join(_redact_cell(cell, strength) for cell, strength in pairs)
        elif pattern(_RULE).fullmatch(line) is None:
            separator, strengths = _read_header(line)
    return "".join(lines)


def _cells(line: str, separator: str) -> list[str]:
    return line.split(separator, _MAX_CELLS)


_MAX_CELLS: Final = 64


def _read_header(line: str) -> tuple[str, list[int]]:
    """
    Return the separator of a row of names and what each says; "" and [] if none tells a secret.
    """
    found = pattern(_HEADER_ROW).search(line)
    if found is None:
        return "", []
    row, separator = found.groups()
    strengths = [strength_of(name.strip(" \t\r\"'`")) for name in _cells(row, separator)]
    return (separator, strengths) if any(strengths) else ("", [])


def _redact_cell(cell: str, strength: int) -> str:
    found = pattern(_CELL).fullmatch(cell)
    if found is None or " " in found[2] or not is_named_secret(found[2], strength):
        return cell
    return f"{found[1]}{REMOVED}{found[3]}"
