"""
MySQL and MariaDB, as PyMySQL, aiomysql, mysqlclient and mysql-connector report them: by number.

The numbers are those of the server and of its client library (MySQL 8.4 reference manual, "Error
Message Reference"). Most of them stand for a SQLSTATE, which is what decides.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._meanings.rows import OPERATOR, bug, outage, permanent
from toolfault._verdict import Rule, Verdict, replace
from toolfault.rules._helpers import attr, int_attr, str_attr
from toolfault.rules.sqlstate import verdict_for


_outage: Final = partial(outage, family="database", origin="upstream")

_UNREACHED: Final = _outage("No connection to the database could be made", family="network")
_CUT_OFF: Final = _outage(
    "The connection to the database was lost, and whether the statement was carried out is unknown",
    family="network",
)
_BUSY: Final = _outage("The database has no connection left")
_MISUSED: Final = bug(
    "The tool uses the database in a way that it does not allow", family="database"
)
_FAILED: Final = permanent("The database failed", family="database", origin="upstream")
_NO_HOST: Final = permanent(
    "The name of the database's host could not be resolved",
    family="database",
    origin="upstream",
    advice=OPERATOR,
)
_LIMIT: Final = Verdict(
    code=McpErrorCode.QUOTA_EXCEEDED,
    category=McpErrorCategory.TRANSIENT,
    retryable=True,
    sentence="The server's login has used up what the database grants it per hour",
    advice="Try again later.",
    family="limit",
    origin="upstream",
)

#: Numbers that stand for no SQLSTATE, or for one that says less.
VERDICTS: Final[dict[int, Verdict]] = {
    1040: _BUSY,
    1203: _BUSY,
    1226: _LIMIT,
    **dict.fromkeys((2002, 2003, 2004, 2009, 2010, 2012, 2026, 2055), _UNREACHED),
    2005: _NO_HOST,
    **dict.fromkeys((1053, 1077, 1079, 1152, 1153, 1154, 1155, 1156, 1157, 1158, 1159), _CUT_OFF),
    **dict.fromkeys((1160, 1161, 1184, 2006, 2013), _CUT_OFF),
    **dict.fromkeys((2014, 2030, 2033, 2034, 2036, 2053), _MISUSED),
}

#: The SQLSTATE that a number stands for, where the server sends the general HY000, and where a
#: driver keeps only the number.
STATES: Final[dict[int, str]] = {
    # Keys, references, and values that a column does not take.
    **dict.fromkeys((1022, 1062, 1169, 1586), "23505"),
    **dict.fromkeys((1048, 1364, 1263), "23502"),
    **dict.fromkeys((1216, 1217, 1451, 1452, 1701, 1761, 1762), "23503"),
    **dict.fromkeys((3819, 4025, 1369), "23514"),
    **dict.fromkeys((1406, 1162), "22001"),
    **dict.fromkeys((1264, 1690, 1416), "22003"),
    **dict.fromkeys((1292, 1411), "22007"),
    1441: "22008",
    1365: "22012",
    **dict.fromkeys((1265, 1366, 1367, 3140, 3141, 3143, 3144), "22P02"),
    # Statements.
    **dict.fromkeys((1064, 1149), "42601"),
    **dict.fromkeys((1051, 1146, 1109), "42P01"),
    **dict.fromkeys((1054, 1166, 1072), "42703"),
    **dict.fromkeys((1305, 1128, 1630), "42883"),
    **dict.fromkeys((1049, 1008), "3D000"),
    **dict.fromkeys((1050, 1060, 1061, 1007), "42000"),
    **dict.fromkeys((1052, 1066, 1110, 1111, 1136, 1222, 1235, 1241, 1242), "42000"),
    1046: "3D000",
    # Logins and rights.
    **dict.fromkeys((1045, 1698, 1251, 1820, 1862, 2049, 2059, 2061), "28000"),
    **dict.fromkeys((1044, 1142, 1143, 1227, 1370, 1410, 1419), "42501"),
    **dict.fromkeys((1290, 1792, 1836, 3100), "25006"),
    # Other transactions, locks, time and room.
    1213: "40P01",
    **dict.fromkeys((1205, 3572), "55P03"),
    **dict.fromkeys((1317, 3024, 1969), "57014"),
    **dict.fromkeys((1020, 3101), "40001"),
    **dict.fromkeys((1021, 1030, 1026, 1003), "58000"),
    **dict.fromkeys((1037, 1038, 1041, 1135), "53000"),
    1114: "53100",
    **dict.fromkeys((1104, 1118, 1390, 1436), "54000"),
    # SIGNAL in a routine or trigger: a rule that no constraint can express.
    1644: "P0001",
}


def verdict_for_number(number: int, state: str | None = None) -> Verdict:
    """
    Return the verdict on an error number of a server or of the client library.

    Args:
        number: The error number.
        state: The SQLSTATE that the driver keeps beside it, if it keeps one.
    """
    known = VERDICTS.get(number) or verdict_for(STATES.get(number) or state or "HY000")
    return replace(known, note=f"error {number}")


def _judge_number(exc: BaseException) -> Verdict | None:
    number = int_attr(exc, "errno")
    if number is None:
        args: Any = attr(exc, "args") or ()
        number = args[0] if args and type(args[0]) is int else None
    if number is None or number <= 0:
        return None
    return verdict_for_number(number, str_attr(exc, "sqlstate"))


def _rule(without: Verdict) -> Rule:
    def rule(exc: BaseException) -> Verdict:
        return _judge_number(exc) or without

    return rule


_BY_CLASS: Final[dict[str, Rule]] = {
    "DatabaseError": _rule(_FAILED),
    "DataError": _rule(verdict_for("22000")),
    "Error": _rule(_FAILED),
    "IntegrityError": _rule(verdict_for("23000")),
    "InterfaceError": _rule(_MISUSED),
    "InternalError": _rule(_FAILED),
    "NotSupportedError": _rule(verdict_for("0A000")),
    "OperationalError": _rule(_CUT_OFF),
    "ProgrammingError": _rule(verdict_for("42000")),
}

RULES: Final[dict[str, Rule]] = {
    **{
        f"{module}.{name}": rule
        for module in ("pymysql.err", "MySQLdb", "mysql.connector.errors")
        for name, rule in _BY_CLASS.items()
    },
    "mysql.connector.errors.ConnectionTimeoutError": _UNREACHED,
    "mysql.connector.errors.PoolError": _outage(
        "The tool has too many connections to the database open", family="limit"
    ),
    "mysql.connector.errors.ReadTimeoutError": verdict_for("57014"),
    "mysql.connector.errors.WriteTimeoutError": verdict_for("57014"),
}

#: Bases that are never raised, and warnings.
IGNORED: Final = frozenset(
    {
        "MySQLdb.MySQLError",
        "MySQLdb.Warning",
        "mysql.connector.errors.Warning",
        "pymysql.err.MySQLError",
        "pymysql.err.Warning",
    }
)
