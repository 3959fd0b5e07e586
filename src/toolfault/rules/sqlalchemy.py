"""
SQLAlchemy: the driver's exception decides, where there is one.

Texts of these classes hold statements and their parameters, so none of them is shown.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from toolfault._codes import McpErrorCode
from toolfault._meanings.rows import CHECK, OPERATOR, bug, outage, permanent
from toolfault._names import class_name, qualified_name
from toolfault._verdict import Rule, Verdict, replace
from toolfault.rules._helpers import attr, first_argument, str_attr
from toolfault.rules.sqlstate import verdict_for


_outage: Final = partial(outage, family="database")


_permanent: Final = partial(permanent, family="database")


_misuse: Final = partial(bug, family="database")


_REFUSED: Final = Verdict(
    code=McpErrorCode.INVALID_ARGUMENTS,
    sentence="The database refused the values",
    advice=CHECK,
    family="database",
    blames_values=True,
)
_LIBRARY: Final = _misuse("The tool uses the database in a way that it does not allow")
_STATEMENT: Final = _misuse("The tool's statement and the values that it gave do not fit together")
_FAILED: Final = _permanent("The database failed")
_LOST: Final = _outage(
    "The connection to the database was lost, and whether the statement was carried out is unknown",
    family="network",
)

#: Packages of drivers that have rows of their own.
_DRIVERS: Final = frozenset(
    {"MySQLdb", "_duckdb", "asyncpg", "clickhouse_connect", "mysql", "psycopg", "pymysql"}
    | {"snowflake", "sqlite3"}
)

#: What the classes of the DB-API mean, of a driver that nothing else is known of.
_BY_CLASS: Final = {
    "DataError": _REFUSED,
    "IntegrityError": _REFUSED,
    "InterfaceError": _LIBRARY,
    "NotSupportedError": _LIBRARY,
    "ProgrammingError": _LIBRARY,
}


def _exception(obj: object, name: str) -> BaseException | None:
    found = attr(obj, name)
    return found if issubclass(type(found), BaseException) else None


def _cause(exc: BaseException) -> BaseException | None:
    """
    Return the exception that one of SQLAlchemy's was made of.
    """
    return _exception(exc, "orig") or _exception(exc, "__cause__")


def _driver_error(exc: BaseException) -> BaseException | None:
    """
    Return the exception of the driver, past that of an adapter for asynchronous drivers.
    """
    found = _cause(exc)
    return (_cause(found) or found) if found is not None and _is_own(type(found)) else found


def _is_own(cls: type) -> bool:
    return qualified_name(cls).startswith("sqlalchemy.")


def _is_known(exc: BaseException) -> bool:
    return any(qualified_name(cls).partition(".")[0] in _DRIVERS for cls in type(exc).__mro__)


def _dbapi(exc: BaseException) -> Verdict:
    driver = _driver_error(exc)
    known = driver is not None and _is_known(driver)
    verdict = _judge_class(type(exc))
    if attr(exc, "connection_invalidated") is True:
        verdict = _LOST
    elif known:
        return replace(verdict, judge_instead=driver)
    elif driver is not None and (state := _state_of(driver)) is not None:
        verdict = verdict_for(state)
    return verdict if known else _hide_text(driver, verdict)


def _state_of(driver: BaseException) -> str | None:
    """
    Return the SQLSTATE of a driver's exception: psycopg2 calls it pgcode, pyodbc puts it first.
    """
    state = str_attr(driver, "sqlstate") or str_attr(driver, "pgcode")
    first = first_argument(driver)
    return state or (first if _is_state(first) else None)


_is_state: Final = re.compile(r"[0-9A-Z]{5}").fullmatch


def _judge_class(cls: type) -> Verdict:
    named = (base.__name__ for base in cls.__mro__ if _is_own(base))
    return next((_BY_CLASS[name] for name in named if name in _BY_CLASS), _FAILED)


def _hide_text(exc: BaseException | None, verdict: Verdict) -> Verdict:
    """
    Name the class of the exception below, whose text may quote a value, as the only cause.
    """
    return verdict if exc is None else replace(verdict, causes=(class_name(exc),))


def _statement(exc: BaseException) -> Verdict:
    # A value that could not be made one of the database's, or one that is missing.
    return _hide_text(_cause(exc), _STATEMENT)


_GONE: Final = _outage("A row was changed or removed by somebody else meanwhile")

RULES: Final[dict[str, Rule]] = {
    "sqlalchemy.exc.DBAPIError": _dbapi,
    "sqlalchemy.exc.DisconnectionError": _LOST,
    "sqlalchemy.exc.EmulatedDBAPIException": _dbapi,
    "sqlalchemy.exc.MultipleResultsFound": _misuse(
        "The database holds several rows where the tool needs one", family="other"
    ),
    "sqlalchemy.exc.NoDBAPILoaded": _permanent(
        "The server lacks a driver for its database", advice=OPERATOR
    ),
    # Declared by an author, it means the caller.
    "sqlalchemy.exc.NoResultFound": _misuse(
        "The database holds no row where the tool needs one", family="other"
    ),
    "sqlalchemy.exc.NoSuchModuleError": _permanent(
        "The server lacks a driver for its database", advice=OPERATOR
    ),
    "sqlalchemy.exc.NoSuchTableError": _misuse(
        "The tool names a table that the database does not have"
    ),
    "sqlalchemy.exc.PendingRollbackError": _misuse(
        "The tool uses a session of the database in which an earlier statement failed"
    ),
    "sqlalchemy.exc.SQLAlchemyError": _LIBRARY,
    "sqlalchemy.exc.StatementError": _statement,
    # Of its pool; no builtin TimeoutError.
    "sqlalchemy.exc.TimeoutError": _outage(
        "The server has no connection to the database left", family="limit"
    ),
    "sqlalchemy.orm.exc.ObjectDeletedError": _GONE,
    "sqlalchemy.orm.exc.StaleDataError": _GONE,
}

#: Python warnings, which are shown and not raised.
IGNORED: Final = frozenset(
    f"sqlalchemy.exc.{name}"
    for name in (
        "Base20DeprecationWarning",
        "LegacyAPIWarning",
        "MovedIn20Warning",
        "SADeprecationWarning",
        "SAPendingDeprecationWarning",
        "SATestSuiteWarning",
        "SAWarning",
    )
)
