"""
DuckDB, Snowflake and ClickHouse: by class, by SQLSTATE or by number.

The numbers are those of ClickHouse's ``ErrorCodes.cpp``.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from toolfault._meanings.rows import OPERATOR, bug, outage, permanent
from toolfault._verdict import Rule, Verdict, replace
from toolfault.rules import http
from toolfault.rules._helpers import first_argument, int_attr, str_attr
from toolfault.rules.sqlstate import verdict_for
from toolfault.rules.stdlib import network_error


_outage: Final = partial(outage, family="database", origin="upstream")
_permanent: Final = partial(permanent, family="database", origin="upstream")

_UNREACHED: Final = _outage("No connection to the database could be made", family="network")
_MISUSED: Final = bug(
    "The tool uses the database in a way that it does not allow", family="database"
)
_FAILED: Final = _permanent("The database failed")

#: DuckDB has a class for each kind of failure; the SQLSTATE that it stands for.
_DUCKDB: Final = {
    "BinderException": "42703",
    "CatalogException": "42P01",
    "ConstraintException": "23000",
    "ConversionException": "22P02",
    "DataError": "22000",
    "IntegrityError": "23000",
    "InterruptException": "57014",
    "InvalidInputException": "42000",
    "InvalidTypeException": "42000",
    "NotImplementedException": "0A000",
    "NotSupportedError": "0A000",
    "OutOfMemoryException": "53200",
    "OutOfRangeException": "22003",
    "ParserException": "42601",
    "PermissionException": "42501",
    "ProgrammingError": "42000",
    "ResourceInUseException": "55006",
    "SerializationException": "22000",
    "SyntaxException": "42601",
    "TransactionException": "40001",
    "TypeMismatchException": "22P02",
}

#: The SQLSTATE that a number of ClickHouse stands for.
_CLICKHOUSE: Final[dict[int, str]] = {
    **dict.fromkeys((60, 218, 390), "42P01"),
    **dict.fromkeys((8, 10, 16, 47), "42703"),
    46: "42883",
    62: "42601",
    81: "3D000",
    **dict.fromkeys((27, 6, 26, 38, 41, 53, 70, 72, 131, 376), "22P02"),
    **dict.fromkeys((69, 321), "22003"),
    469: "23514",
    **dict.fromkeys((192, 193, 194, 516), "28000"),
    **dict.fromkeys((164, 291, 497), "42501"),
    **dict.fromkeys((159, 160, 394), "57014"),
    **dict.fromkeys((201, 202, 241, 252, 439), "53000"),
    **dict.fromkeys((209, 210, 279), "08006"),
    **dict.fromkeys((242, 319, 999), "57P03"),
    **dict.fromkeys((158, 161, 307, 396), "54000"),
}

_http_status = re.compile(r"HTTP driver received HTTP status ([1-5][0-9]{2})\b").search
_clickhouse_number = re.compile(r"\bCode: ([0-9]{1,5})\. DB::").search


#: Logins that Snowflake refuses, whatever their SQLSTATE (its "Connector error codes").
_SNOWFLAKE_LOGINS: Final = range(390100, 390400)


def _stands_for(state: str) -> Verdict:
    """
    Return the verdict on a SQLSTATE, for a database that did not send it.
    """
    return replace(verdict_for(state), note="")


def _clickhouse(exc: BaseException) -> Verdict:
    text = first_argument(exc)[:4096]
    found = _clickhouse_number(text)
    number = int(found[1]) if found else int_attr(exc, "code")
    if number in _CLICKHOUSE:
        return _stands_for(_CLICKHOUSE[number])
    if (status := _http_status(text)) is not None:
        return http.verdict_for(int(status[1]), peer="The database")
    return network_error(exc) or _FAILED


def _snowflake(exc: BaseException) -> Verdict:
    if int_attr(exc, "errno") in _SNOWFLAKE_LOGINS:
        return _stands_for("28000")
    state = str_attr(exc, "sqlstate")
    if state is None or state == "n/a":
        return network_error(exc) or _FAILED
    return verdict_for(state)


def _duckdb_io(exc: BaseException) -> Verdict:
    if "lock" in first_argument(exc)[:4096]:
        return _stands_for("55P03")
    return _permanent("A file of the database can't be read or written", advice=OPERATOR)


RULES: Final[dict[str, Rule]] = {
    **{f"_duckdb.{name}": _stands_for(state) for name, state in _DUCKDB.items()},
    "_duckdb.ConnectionException": _MISUSED,
    "_duckdb.Error": _FAILED,
    "_duckdb.HTTPException": _UNREACHED,
    "_duckdb.IOException": _duckdb_io,
    "clickhouse_connect.driver.exceptions.ClickHouseError": _clickhouse,
    "clickhouse_connect.driver.exceptions.ProgrammingError": _MISUSED,
    "clickhouse_connect.driver.exceptions.StreamClosedError": _MISUSED,
    "snowflake.connector.errors.Error": _snowflake,
    "snowflake.connector.errors.ReauthenticationRequest": verdict_for("28000"),
}

#: Warnings, and how a client says that a stream is at its end.
IGNORED: Final = frozenset(
    {
        "_duckdb.Warning",
        "clickhouse_connect.driver.exceptions.StreamCompleteException",
        "clickhouse_connect.driver.exceptions.Warning",
        "snowflake.connector.errors.Warning",
    }
)
