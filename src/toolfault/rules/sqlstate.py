"""
SQLSTATE by state and by class, for the tables of packages that speak to databases.

Statements and values never become part of a message; the names of constraints and columns do.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from toolfault._meanings.rows import (
    NO_USE,
    OPERATOR,
    bug,
    outage,
    permanent,
    server_auth,
    timeout,
    value_refusal,
)
from toolfault._verdict import Verdict, replace


_outage: Final = partial(outage, family="database", origin="upstream")
_broken: Final = partial(permanent, family="database", origin="upstream", advice=OPERATOR)
_refusal: Final = partial(value_refusal, family="database", origin="upstream")
_no_right: Final = partial(server_auth, origin="upstream")
_timeout: Final = partial(timeout, origin="upstream")


def _misuse(sentence: str) -> Verdict:
    return replace(bug(sentence, family="database"), origin="upstream")


_VALUE: Final = _refusal("The database can't use a value")
_CONSTRAINT: Final = _refusal("The database refused the values")
#: Like SQLITE_ERROR: whose the statement is can't be known.
_STATEMENT: Final = _misuse("The tool sent a statement that the database does not accept")
_STATE: Final = _misuse(
    "The tool sent a statement that the database does not accept in its present state"
)
_ROUTINE: Final = _broken("A routine in the database failed")
_LOGIN: Final = _no_right("The database did not accept the server's login")
_OPERATOR: Final = _outage("The database is being restarted or maintained")
_LOST: Final = _outage("The connection to the database failed")
_OTHER: Final = _broken("The database failed", advice=NO_USE)

#: The first two characters of a state to what they mean. A class that is not here: `row_for`.
CLASSES: Final[dict[str, Verdict]] = {
    "03": _STATE,
    "08": _LOST,
    "0A": _STATEMENT,
    "0B": _STATE,
    "0F": _STATEMENT,
    "0L": _STATEMENT,
    "0P": _STATEMENT,
    "0Z": _STATE,
    "10": _VALUE,
    "20": _STATEMENT,
    "21": _STATEMENT,
    "22": _VALUE,
    "23": _CONSTRAINT,
    "24": _STATE,
    "25": _STATE,
    "26": _STATEMENT,
    "27": _ROUTINE,
    "28": _LOGIN,
    "2B": _STATE,
    "2D": _STATE,
    "2F": _ROUTINE,
    "34": _STATE,
    "38": _ROUTINE,
    "39": _ROUTINE,
    "3B": _STATE,
    "3D": _broken("The database that the tool asks for does not exist"),
    "3F": _misuse("The tool names a schema that the database does not have"),
    "40": _outage("The database gave the transaction up because of another one"),
    "42": _STATEMENT,
    "44": _CONSTRAINT,
    "53": _outage("The database has no resources left"),
    "54": _refusal(
        "The request is too large or too complex for the database",
        advice="Ask for less, or send less.",
    ),
    "55": _STATE,
    "57": _OPERATOR,
    "58": _broken("The database's storage failed"),
    "72": _outage("What the database was reading is no longer kept"),
    "F0": _broken("The database is not configured properly"),
    "HV": _broken("A source behind the database failed"),
    "P0": _ROUTINE,
    "XX": _broken("The database failed"),
}

#: States that say more than their class, or something else.
STATES: Final[dict[str, Verdict]] = {
    "22001": _refusal("A value is too long for its column"),
    "22003": _refusal("A number is out of range for the database"),
    "22007": _refusal("A date or time has a form that the database can't read"),
    "22008": _refusal("A date or time is out of range for the database"),
    "22012": _refusal("The database was made to divide by zero"),
    "22P02": _refusal("A value does not have the form that its type demands"),
    "23502": _refusal("A value that the database demands is missing"),
    "23503": _refusal(
        "A value refers to something that does not exist, or something still refers to it"
    ),
    "23505": _refusal("Something with the same key exists already"),
    "23514": _refusal("A rule of the database does not allow a value"),
    "23P01": _refusal("A value conflicts with one that exists already"),
    # A statement that writes, where only reading is allowed.
    "25006": _broken("The database allows nothing but reading here"),
    "25P03": _outage("The database closed a connection on which nothing happened for too long"),
    "25P04": _timeout("A transaction took longer than the database allows, and was rolled back"),
    "40001": _outage("Another transaction changed the same data at the same time"),
    "40002": _CONSTRAINT,
    "40003": _outage(
        "The connection to the database was lost,"
        " and whether the statement was carried out is unknown"
    ),
    "40P01": _outage("Two transactions waited for each other, and the database gave this one up"),
    "42501": _no_right("The server's login has no right to do this in the database"),
    "42601": _misuse("The tool sent a statement with a syntax error"),
    "42703": _misuse("The tool names a column that the database does not have"),
    "42883": _misuse("The tool calls a function that the database does not have"),
    "42P01": _misuse("The tool names a table that the database does not have"),
    "53300": _outage("The database has no connection left"),
    "55006": _outage("Something in the database is in use"),
    "55P02": _broken("A setting of the database can't be changed now"),
    "55P03": _outage("Something in the database is locked by somebody else"),
    "57014": _timeout("The statement took longer than the database allows, or was cancelled"),
    "57P04": _broken("The database that the server used was removed"),
    "57P05": _outage("The database closed a connection on which nothing happened for too long"),
    "HV00N": _outage("A source behind the database could not be reached"),
    # What triggers and functions raise: a rule that no constraint can express.
    "P0001": _refusal("A rule in the database refused the request"),
    "P0002": _misuse("A routine in the database found no row where it needs one"),
    "P0003": _misuse("A routine in the database found several rows where it needs one"),
}

_state = re.compile(r"[0-9A-Z]{5}").fullmatch
_identifier = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}").fullmatch


def row_for(state: str) -> Verdict:
    """
    Return the row of a state, or of its class.
    """
    return STATES.get(state) or CLASSES.get(state[:2]) or _OTHER


def verdict_for(
    state: str,
    *,
    constraint: str | None = None,
    table: str | None = None,
    column: str | None = None,
) -> Verdict:
    """
    Return the verdict on a database's refusal.

    Args:
        state: Its SQLSTATE.
        constraint: The name of the constraint that it names; shown if it looks like a name.
        table: The name of the table, likewise.
        column: The name of the column, likewise.
    """
    facts = _where(constraint, table, column)
    if _state(state):
        facts.append(f"SQLSTATE {state}")
    return replace(row_for(state), note=", ".join(facts))


def _where(constraint: str | None, table: str | None, column: str | None) -> list[str]:
    of_table = f" of table {table}" if table and _identifier(table) else ""
    if constraint and _identifier(constraint):
        return [f"constraint {constraint}{of_table}"]
    return [f"column {column}{of_table}"] if column and _identifier(column) else []
