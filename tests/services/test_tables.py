"""
The tables of services and databases against the packages that they speak of.
"""

import importlib
import warnings

import pytest

from installed_classes import class_named
from toolfault._names import qualified_name


#: By table: the modules whose exceptions it speaks for, and names that are not installed here.
TABLES = {
    "azure": ["azure.core.exceptions"],
    "documents": ["git.exc", "gitdb.exc"],
    "messaging": ["aiokafka.errors", "pika.exceptions"],
    "mongodb": ["pymongo.errors", "bson.errors"],
    "mysql": ["pymysql.err", "mysql.connector.errors"],
    "services": ["slack_sdk.errors"],
    "ssh": ["paramiko"],
    "tokens": ["jwt.exceptions", "authlib.common.errors", "authlib.integrations.base_client.errors"],
    "warehouse": ["duckdb", "clickhouse_connect.driver.exceptions", "snowflake.connector.errors"],
    "web": ["django.core.exceptions", "werkzeug.exceptions", "starlette.exceptions"],
    "websockets": ["websockets.exceptions"],
}

#: Needs a C library to build, and has the classes of PyMySQL.
ELSEWHERE = ("MySQLdb.",)

#: Python, or another table, speaks for them; or they are what other packages export again.
FOREIGN = ("builtins.", "ssl.", "asyncio.", "concurrent.", "socket.")

#: Exported exceptions that no row names, with the reason.
WITHOUT_A_ROW = {
    # Slack's own misuse of its objects, judged by what they are: unknown classes.
    "slack_sdk.errors.SlackClientError": "a base",
    "slack_sdk.errors.SlackRequestError": "a request that could not be made, raised over its cause",
    "slack_sdk.errors.SlackObjectFormationError": "the tool's own arguments to a builder",
    # Fields, uploads and lists of forms, which no tool has.
    "django.core.exceptions.SuspiciousMultipartForm": "a site's forms",
    "snowflake.connector.errors.ConfigManagerError": "the command line's configuration",
    "snowflake.connector.errors.ConfigSourceError": "the command line's configuration",
    "starlette.exceptions.StarletteDeprecationWarning": "a warning",
}


def table_of(name):
    return importlib.import_module(f"toolfault.rules.{name}")


ROWS = [
    (table, name)
    for table in TABLES
    for name in sorted({*table_of(table).RULES, *table_of(table).IGNORED})
    if not name.startswith(ELSEWHERE)
]


@pytest.mark.parametrize(("table", "name"), ROWS, ids=[name for _, name in ROWS])
def test_every_name_is_that_of_a_class(table, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cls = class_named(name)

    assert issubclass(cls, BaseException)
    assert qualified_name(cls) == name


@pytest.mark.parametrize("table", TABLES)
def test_every_exported_exception_has_a_row(table):
    rules, ignored = table_of(table).RULES, table_of(table).IGNORED
    missing = set()
    for module in TABLES[table]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exported = vars(importlib.import_module(module)).values()
        for cls in exported:
            if not isinstance(cls, type) or not issubclass(cls, BaseException):
                continue
            names = [qualified_name(base) for base in cls.__mro__]
            if names[0].startswith(FOREIGN) or issubclass(cls, Warning):
                continue
            if not any(name in rules for name in names) and names[0] not in ignored:
                missing.add(names[0])

    assert missing - WITHOUT_A_ROW.keys() == set()
