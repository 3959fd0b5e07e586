"""
asyncpg and psycopg: by SQLSTATE, since their classes are its names.

Texts of these classes hold values, hosts and users, so none of them is shown.
"""

from __future__ import annotations

import re
import socket
from functools import partial
from typing import Any, Final

from toolfault._codes import McpErrorCode
from toolfault._meanings.rows import LATER, OPERATOR, bug, outage, permanent, value_refusal
from toolfault._names import class_name
from toolfault._verdict import Rule, Verdict, replace
from toolfault.rules._helpers import attr, first_argument, str_attr
from toolfault.rules.sqlstate import verdict_for


_outage: Final = partial(outage, family="database", origin="upstream")


_permanent: Final = partial(permanent, family="database", origin="upstream")


_misuse: Final = partial(bug, family="database")


_refusal: Final = partial(value_refusal, family="database")
_LIBRARY: Final = _misuse("The tool uses the database in a way that it does not allow")
_CLOSED: Final = _misuse("The tool uses a connection to the database that is closed")
_FAILED: Final = _permanent("The database failed")
_VALUE: Final = _refusal("The database can't use a value")
_CONFIGURED: Final = _permanent(
    "The server's settings for the database are not valid", advice=OPERATOR
)

_NO_CONNECTION: Final = _outage("No connection to the database could be made", family="network")
_CUT_OFF: Final = _outage(
    "The connection to the database was lost, and whether the statement was carried out is unknown",
    family="network",
)
_NO_HOST: Final = _permanent(
    "The name of the database's host could not be resolved", advice=OPERATOR
)
_TLS: Final = _permanent(
    "The TLS connection that the server demands to the database could not be made", advice=OPERATOR
)


# ---- asyncpg


def _asyncpg(exc: BaseException) -> Verdict:
    state = str_attr(exc, "sqlstate")
    verdict = _FAILED
    if state is not None:
        verdict = _state_verdict(state, exc, "constraint_name", "table_name", "column_name")
    if exc.__cause__ is not None:
        # It encodes values itself, and its cause quotes them.
        verdict = replace(verdict, causes=(class_name(exc.__cause__),))
    return verdict


def _state_verdict(state: str, holder: object, constraint: str, table: str, column: str) -> Verdict:
    return verdict_for(
        state,
        constraint=str_attr(holder, constraint),
        table=str_attr(holder, table),
        column=str_attr(holder, column),
    )


# ---- psycopg

#: What the server says while it refuses a connection, for which libpq keeps no state; English only.
_REFUSALS: Final = (
    (re.compile(r"password authentication failed|no password supplied").search, "28P01"),
    (
        re.compile(
            r"authentication failed for user|no pg_hba\.conf entry|pg_hba\.conf rejects"
            r'|role "[^"\n]{1,256}" (?:does not exist|is not permitted to log in)'
        ).search,
        "28000",
    ),
    (re.compile(r'database "[^"\n]{1,256}" does not exist').search, "3D000"),
    (re.compile(r"permission denied for database").search, "42501"),
    (
        re.compile(
            r"too many clients already|too many connections for|connection slots are reserved"
        ).search,
        "53300",
    ),
    (re.compile(r"the database system is").search, "57P03"),
)
_NO_TLS: Final = (
    r"certificate verify failed|server certificate for|root certificate|SSL was required"
    r"|requires encryption"
)
_UNRESOLVED: Final = r"failed to resolve host .{0,260}?: \[Errno "

#: What psycopg itself says of an attempt to connect; the first that fits decides.
_TEXTS: Final = (
    (re.compile("the connection is closed").fullmatch, _CLOSED),
    (re.compile(_NO_TLS).search, _TLS),
    (re.compile("connection is bad: invalid ").match, _CONFIGURED),
    (re.compile(rf"{_UNRESOLVED}{socket.EAI_AGAIN}\]").match, _NO_CONNECTION),
    (re.compile(rf"{_UNRESOLVED}-?[0-9]{{1,6}}\]").match, _NO_HOST),
)

#: How much of a text is looked at: a few hosts with a few addresses each.
_TEXT: Final = 4096


def _judge_state(exc: BaseException) -> Verdict | None:
    """
    Judge by the SQLSTATE; None: the library raised it, without one.
    """
    state = str_attr(exc, "sqlstate")
    if state is None:
        return None
    return _state_verdict(state, attr(exc, "diag"), "constraint_name", "table_name", "column_name")


def _psycopg(without: Verdict) -> Rule:
    def rule(exc: BaseException) -> Verdict:
        return _judge_state(exc) or without

    return rule


def _operational(exc: BaseException) -> Verdict:
    if (verdict := _judge_state(exc)) is not None:
        return verdict
    text = first_argument(exc)[:_TEXT]
    for refusal, state in _REFUSALS:
        if refusal(text):
            return verdict_for(state)
    for fits, verdict in _TEXTS:
        if fits(text):
            return verdict
    attempt: Any = attr(exc, "pgconn")
    if attr(attempt, "needs_password") is True:
        return verdict_for("28P01")
    # An attempt to connect leaves its remains.
    return _CUT_OFF if attempt is None else _NO_CONNECTION


RULES: Final[dict[str, Rule]] = {
    "asyncpg.exceptions.InvalidCachedStatementError": _outage(
        "The database's schema was just changed"
    ),
    # What a routine raises with a state of the classes 01 and 02.
    "asyncpg.exceptions.PostgresWarning": _asyncpg,
    "asyncpg.exceptions._base.ClientConfigurationError": _CONFIGURED,
    "asyncpg.exceptions._base.DataError": _VALUE,
    "asyncpg.exceptions._base.InterfaceError": _LIBRARY,
    "asyncpg.exceptions._base.InternalClientError": _FAILED,
    "asyncpg.exceptions._base.OutdatedSchemaCacheError": _outage(
        "The database's schema was just changed"
    ),
    "asyncpg.exceptions._base.PostgresError": _asyncpg,
    "asyncpg.exceptions._base.TargetServerAttributeNotMatched": _outage(
        "No server of the database is in the state that the tool needs"
    ),
    "psycopg.DataError": _psycopg(_VALUE),
    "psycopg.Error": _psycopg(_FAILED),
    "psycopg.IntegrityError": _psycopg(_refusal("The database refused the values")),
    "psycopg.InterfaceError": _psycopg(_LIBRARY),
    "psycopg.NotSupportedError": _psycopg(_LIBRARY),
    "psycopg.OperationalError": _operational,
    "psycopg.ProgrammingError": _psycopg(_LIBRARY),
    "psycopg.errors.CancellationTimeout": Verdict(
        code=McpErrorCode.TOOL_TIMEOUT,
        sentence="The database did not cancel a statement in time",
        advice=LATER,
        family="timeout",
        origin="upstream",
    ),
    "psycopg.errors.ConnectionTimeout": _outage(
        "No connection to the database could be made in time", family="network"
    ),
    "psycopg.errors.PipelineAborted": _misuse("An earlier statement of the same batch failed"),
}

IGNORED: Final = frozenset(
    {
        # A Python warning, which is shown and not raised.
        "asyncpg.exceptions._base.InterfaceWarning",
        # Ends a transaction, and never leaves its block.
        "psycopg.Rollback",
        # The DB-API wants it; psycopg never raises it.
        "psycopg.Warning",
    }
)
