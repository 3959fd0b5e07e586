"""
SQLite: by the name of the result code, since the class alone says next to nothing.

Statements and values never become part of a message; the names of tables and columns that SQLite
itself names do.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from toolfault._codes import McpErrorCategory
from toolfault._meanings.rows import (
    NO_USE,
    OPERATOR,
    bug,
    outage,
    permanent,
    timeout,
    value_refusal,
)
from toolfault._verdict import Rule, Verdict, replace
from toolfault.rules._helpers import first_argument, short_line, str_attr


_busy: Final = partial(outage, family="database", origin="tool")
_broken: Final = partial(permanent, family="database", origin="tool", advice=OPERATOR)
_refusal: Final = partial(value_refusal, family="database", origin="tool")


def _misuse(sentence: str) -> Verdict:
    return replace(bug(sentence, family="database"), origin="tool")


_CONSTRAINT: Final = _refusal("The database refused the values")

#: Primary result code to what it means; an extended one (``SQLITE_BUSY_SNAPSHOT``) begins with it.
_BY_CODE: Final[dict[str, Verdict]] = {
    "BUSY": _busy("The database is locked by somebody else"),
    "LOCKED": _busy("A table of the database is locked"),
    "PROTOCOL": _busy("The database could not be locked in time"),
    "SCHEMA": _busy("The database's schema was just changed"),
    "NOMEM": _busy("The database ran out of memory"),
    "INTERRUPT": replace(timeout("The query was interrupted", origin="tool"), family="database"),
    "CONSTRAINT": _CONSTRAINT,
    "MISMATCH": _refusal("The database refused a value of the wrong type"),
    "TOOBIG": _refusal("A value is too big for the database", advice="Send less."),
    "CANTOPEN": _broken("The database file can't be opened"),
    "READONLY": _broken("The database is read-only"),
    "PERM": _broken("The database can't be used with the server's rights"),
    "AUTH": replace(_broken("The database does not allow this"), category=McpErrorCategory.AUTH),
    "FULL": _broken("The database's disk is full"),
    "IOERR": _broken("The database's storage failed"),
    "CORRUPT": _broken("The database file is damaged"),
    "NOTADB": _broken("The file is not a database"),
    "FORMAT": _broken("The database file has a format that is not known"),
    "NOLFS": _broken("The database file is too large for this system"),
    "INTERNAL": _broken("The database failed"),
    "MISUSE": _misuse("The tool uses the database in a way that it does not allow"),
    "RANGE": _misuse("The tool gave a statement the wrong number of values"),
    # Like SQLSTATE class 42: whose the statement is can't be known.
    "ERROR": _misuse("The tool sent a statement that the database does not accept"),
}

_primary = re.compile(r"SQLITE_([A-Z]{1,32})").match
_missing = re.compile(
    r"no such (table|column|function|index|view|trigger|module): ([A-Za-z_][\w.]{0,63})"
).fullmatch
_constraint = re.compile(
    r"([A-Z][A-Z ]{1,20}) constraint failed"
    r"(?:: ([A-Za-z_][\w.]{0,63}(?:, [A-Za-z_][\w.]{0,63}){0,7}))?"
).match

#: Constraints whose text names columns; others' may hold an expression.
_NAMING_COLUMNS: Final = frozenset({"UNIQUE", "NOT NULL"})


def _judge_code(exc: BaseException) -> Verdict | None:
    """
    Judge by the result code; None: the library raised it, without one.
    """
    name = short_line(str_attr(exc, "sqlite_errorname"), 64)
    primary = _primary(name)
    if primary is None:
        return None
    row = _BY_CODE.get(primary[1]) or _broken("The database failed")
    detail = _detail(primary[1], first_argument(exc))
    return replace(row, sentence=f"{row.sentence}{detail}", note=name)


def _detail(primary: str, text: str) -> str:
    if primary == "ERROR" and (missing := _missing(text)) is not None:
        return f": there is no {missing[1]} {missing[2]}"
    if primary == "CONSTRAINT" and (failed := _constraint(text)) is not None:
        if failed[2] and failed[1] in _NAMING_COLUMNS:
            return f": {failed[1]} constraint on {failed[2]}"
        # Of the others the name stands there, or the expression of one without a name.
        named = f" {failed[2]}" if failed[2] and failed.end() == len(text) else ""
        return f": {failed[1]} constraint{named}"
    return ""


_LIBRARY: Final = _misuse("The tool uses the database in a way that it does not allow")
_DATABASE: Final = _broken("The database failed", advice=NO_USE)


def _library(exc: BaseException) -> Verdict:
    return _judge_code(exc) or _LIBRARY


def _database(exc: BaseException) -> Verdict:
    return _judge_code(exc) or _DATABASE


RULES: Final[dict[str, Rule]] = {
    "sqlite3.Error": _database,
    "sqlite3.InterfaceError": _library,
    "sqlite3.NotSupportedError": _library,
    "sqlite3.ProgrammingError": _library,
    "sqlite3.Warning": _library,
}

IGNORED: Final = frozenset[str]()
