"""
What the failures of databases, brokers, parsers and frameworks become, each really raised.
"""

import asyncio
import io
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

import pytest

from toolfault import Guard
from toolfault.hosting import Call


sys.path.insert(0, str(Path(__file__).parent / "support"))

from mysql_numbers import MYSQL
from peers import mongodb_error, mysql_error, peer, ssh_server
from stub import refusing_url


pytestmark = pytest.mark.filterwarnings("ignore")  # of the packages, which warn of many things

INTERNAL = ("internal", "permanent", False, None)
OUTAGE = ("internal", "transient", True, None)
LATE = ("tool_timeout", "transient", True, None)
LOGIN = ("internal", "auth", False, None)
DENIED = ("permission_denied", "auth", False, None)
ARGUMENTS = ("invalid_arguments", "validation", False, None)
PANICKED = ("tool_panicked", "permanent", False, None)
LIMIT = ("quota_exceeded", "transient", True, None)


def refusing_port():
    return int(refusing_url().rpartition(":")[2])


# ---- databases


def by_pymysql(port):
    import pymysql

    pymysql.connect(host="127.0.0.1", port=port, user="u", password="NOTREAL", connect_timeout=5)


def by_aiomysql(port):
    import aiomysql

    asyncio.run(aiomysql.connect(host="127.0.0.1", port=port, user="u", password="NOTREAL", connect_timeout=5))


def by_connector(port):
    import mysql.connector

    mysql.connector.connect(host="127.0.0.1", port=port, user="u", password="NOTREAL", use_pure=True)


DRIVERS = [by_pymysql, by_aiomysql, by_connector]

#: MongoDB's numbers.
MONGODB = [
    (13, "not authorized on shop to execute command", LOGIN),
    (18, "Authentication failed.", LOGIN),
    (26, "ns not found", PANICKED),
    (50, "operation exceeded time limit", LATE),
    (112, "Write conflict during plan execution", OUTAGE),
    (121, "Document failed validation", ARGUMENTS),
    (11000, 'E11000 duplicate key error collection: shop.t index: _id_ dup key: { _id: "NOTREAL" }', ARGUMENTS),
    (10107, "not primary", OUTAGE),
    (16500, "Request rate is large", LIMIT),
    (9, "unknown operator: $foo", PANICKED),
]


def by_pymongo(port, **options):
    import pymongo

    client = pymongo.MongoClient(
        f"mongodb://127.0.0.1:{port}", serverSelectionTimeoutMS=2000, retryReads=False, retryWrites=False, **options
    )
    with client:
        client.shop.t.find_one()


def in_duckdb(statement):
    def run():
        import duckdb

        with duckdb.connect() as connection:
            connection.execute("create table t (i integer primary key, c integer check (c > 0))")
            connection.execute("insert into t values (1, 1)")
            connection.execute(statement).fetchall()

    return run


def duckdb_file():
    import duckdb

    duckdb.connect("/nonexistent/shop.db")


def in_sqlalchemy(port):
    import sqlalchemy

    sqlalchemy.create_engine(f"mysql+pymysql://u:NOTREAL@127.0.0.1:{port}/shop").connect()


def in_sqlalchemy_deadlocked():
    with mysql_error(1213, "40001", "Deadlock found when trying to get lock; try restarting transaction") as port:
        in_sqlalchemy(port)


def snowflake_login():
    import snowflake.connector.errors

    raise snowflake.connector.errors.DatabaseError("Incorrect username or password", errno=390100, sqlstate="08001")


def snowflake_statement():
    import snowflake.connector.errors

    raise snowflake.connector.errors.ProgrammingError("SQL compilation error", errno=904, sqlstate="42000")


def clickhouse(text):
    def run():
        from clickhouse_connect.driver.exceptions import DatabaseError

        raise DatabaseError(
            f"HTTP driver received HTTP status 404, server response: {text} (version 25.3) (for url http://10.0.0.7:8123)"
        )

    return run


# ---- brokers, machines


def kafka_refused():
    import aiokafka

    async def start():
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=f"127.0.0.1:{refusing_port()}")
        try:
            await producer.start()
        finally:
            await producer.stop()

    asyncio.run(start())


def kafka(name):
    def run():
        import aiokafka.errors

        raise getattr(aiokafka.errors, name)("NOTREAL")

    return run


def pika_refused():
    import pika

    pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", refusing_port(), connection_attempts=1))


def pika_closed(number):
    def run():
        import pika.exceptions

        raise pika.exceptions.ChannelClosedByBroker(number, "NOTREAL")

    return run


def pika_login():
    import pika.exceptions

    raise pika.exceptions.ProbableAuthenticationError("NOTREAL")


def ssh(port):
    import paramiko

    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
    with client:
        client.connect(
            "127.0.0.1", port=port, username="u", password="NOTREAL", allow_agent=False, look_for_keys=False, timeout=5
        )


def ssh_refused():
    ssh(refusing_port())


def ssh_unknown_host():
    import paramiko

    with ssh_server() as port, paramiko.SSHClient() as client:
        client.set_missing_host_key_policy(paramiko.RejectPolicy())
        client.connect("127.0.0.1", port=port, username="u", password="NOTREAL", allow_agent=False, look_for_keys=False)


def ssh_login():
    with ssh_server() as port:
        ssh(port)


def ssh_garbage():
    with peer(lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as port:
        ssh(port)


def websocket_closed():
    from websockets.sync.client import connect
    from websockets.sync.server import serve

    def handler(connection):
        connection.close(1011, "NOTREAL")

    import threading

    with serve(handler, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with connect(f"ws://127.0.0.1:{server.socket.getsockname()[1]}") as connection:
            connection.recv()
        server.shutdown()


# ---- tokens


def token(claims, **options):
    def run():
        import jwt

        key = "k" * 32
        jwt.decode(jwt.encode(claims, key), options.pop("key", key), algorithms=["HS256"], **options)

    return run


def jwks_refused():
    import jwt

    jwt.PyJWKClient(f"{refusing_url()}/keys").get_jwk_set()


def authlib_oauth(error):
    def run():
        from authlib.integrations.base_client.errors import OAuthError

        raise OAuthError(error, "NOTREAL")

    return run


def authlib_expired():
    from authlib.jose import JsonWebToken

    tokens = JsonWebToken(["HS256"])
    tokens.decode(tokens.encode({"alg": "HS256"}, {"exp": 1}, "k" * 32), "k" * 32).validate()


def azure_credentials():
    from azure.identity import EnvironmentCredential

    EnvironmentCredential().get_token("https://management.azure.com/.default")


# ---- frameworks


def starlette(status, **options):
    def run():
        from starlette.exceptions import HTTPException

        raise HTTPException(status, **options)

    return run


def fastapi(status):
    def run():
        from fastapi import HTTPException

        raise HTTPException(status, detail="NOTREAL")

    return run


def werkzeug(name, *args, **options):
    def run():
        import werkzeug.exceptions

        raise getattr(werkzeug.exceptions, name)(*args, **options)

    return run


def django(name):
    def run():
        import django.core.exceptions
        import django.http

        raise getattr(django.core.exceptions, name, None) or django.http.Http404("NOTREAL")

    return run


def playwright_late():
    from playwright.async_api import TimeoutError as Late

    raise Late("Page.click: Timeout 30000ms exceeded.")


# ---- documents


def git(action):
    def run():
        from git import Repo

        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent) / "shop"
            folder.mkdir()
            action(Repo, str(folder))

    return run


def pandas_csv(text):
    def run():
        import pandas as pd

        pd.read_csv(io.StringIO(text))

    return run


def lxml(text):
    def run():
        from lxml import etree

        etree.fromstring(text)

    return run


def image(data):
    def run():
        from PIL import Image

        Image.open(io.BytesIO(data))

    return run


#: By name: what fails, what it becomes, and what a model reads of it.
LOCAL = {
    "pymysql: refused": (lambda: by_pymysql(refusing_port()), OUTAGE, "database"),
    "aiomysql: refused": (lambda: by_aiomysql(refusing_port()), OUTAGE, "database"),
    "mysql-connector: refused": (lambda: by_connector(refusing_port()), OUTAGE, "database"),
    "sqlalchemy over pymysql: refused": (lambda: in_sqlalchemy(refusing_port()), OUTAGE, "database"),
    "sqlalchemy over pymysql: deadlock": (in_sqlalchemy_deadlocked, OUTAGE, "waited for each other"),
    "pymongo: refused": (lambda: by_pymongo(refusing_port(), connectTimeoutMS=200), OUTAGE, "MongoDB"),
    "duckdb: syntax": (in_duckdb("selct 1"), PANICKED, "selct"),
    "duckdb: no table": (in_duckdb("select * from nope"), PANICKED, "nope"),
    "duckdb: no column": (in_duckdb("select nope from t"), PANICKED, "nope"),
    "duckdb: conversion": (in_duckdb("select cast('x' as integer)"), ARGUMENTS, "form"),
    "duckdb: key": (in_duckdb("insert into t values (1, 2)"), ARGUMENTS, "refused the values"),
    "duckdb: check": (in_duckdb("insert into t values (2, -1)"), ARGUMENTS, "refused the values"),
    "duckdb: no file": (duckdb_file, INTERNAL, "file"),
    "snowflake: login": (snowflake_login, LOGIN, "login"),
    "snowflake: statement": (snowflake_statement, PANICKED, "SQL compilation error"),
    "clickhouse: no table": (clickhouse("Code: 60. DB::Exception: Table default.x does not exist. (UNKNOWN_TABLE)"), PANICKED, "Table default.x does not exist"),
    "clickhouse: login": (clickhouse("Code: 516. DB::Exception: NOTREAL: Authentication failed. (AUTHENTICATION_FAILED)"), LOGIN, "login"),
    "clickhouse: late": (clickhouse("Code: 159. DB::Exception: Timeout exceeded. (TIMEOUT_EXCEEDED)"), LATE, "longer"),
    "aiokafka: refused": (kafka_refused, OUTAGE, "broker"),
    "aiokafka: topic": (kafka("UnknownTopicOrPartitionError"), ARGUMENTS, "topic"),
    "aiokafka: right": (kafka("TopicAuthorizationFailedError"), LOGIN, "right"),
    "aiokafka: retriable": (kafka("NotLeaderForPartitionError"), OUTAGE, "broker"),
    "aiokafka: too large": (kafka("MessageSizeTooLargeError"), ARGUMENTS, "too large"),
    "aiokafka: late": (kafka("RequestTimedOutError"), LATE, "in time"),
    "pika: refused": (pika_refused, OUTAGE, "ECONNREFUSED"),
    "pika: no queue": (pika_closed(404), ARGUMENTS, "queue"),
    "pika: right": (pika_closed(403), LOGIN, "right"),
    "pika: login": (pika_login, LOGIN, "login"),
    "paramiko: refused": (ssh_refused, OUTAGE, "ECONNREFUSED"),
    "paramiko: login": (ssh_login, LOGIN, "SSH login"),
    "paramiko: unknown host": (ssh_unknown_host, INTERNAL, "key"),
    "paramiko: no SSH": (ssh_garbage, OUTAGE, "SSH"),
    "websockets: closed": (websocket_closed, OUTAGE, "WebSocket"),
    "PyJWT: expired": (token({"exp": 1}), DENIED, "expired"),
    "PyJWT: signature": (token({}, key="x" * 32), DENIED, "signature"),
    "PyJWT: audience": (token({"aud": "a"}, audience="b"), DENIED, "not meant"),
    "PyJWT: garbage": (lambda: __import__("jwt").decode("NOTREAL", "k" * 32, algorithms=["HS256"]), DENIED, "not valid"),
    "PyJWT: keys": (jwks_refused, OUTAGE, "ECONNREFUSED"),
    "authlib: denied": (authlib_oauth("access_denied"), DENIED, "authorization server"),
    "authlib: down": (authlib_oauth("temporarily_unavailable"), OUTAGE, "unavailable"),
    "authlib: expired": (authlib_expired, DENIED, "expired"),
    "azure-identity: none": (azure_credentials, LOGIN, "credentials"),
    "starlette: 404": (starlette(404, detail="no such shelf"), ARGUMENTS, ""),
    "starlette: 429": (starlette(429, headers={"Retry-After": "7"}), ("quota_exceeded", "transient", True, 7), ""),
    "fastapi: 403": (fastapi(403), DENIED, ""),
    "werkzeug: 404": (werkzeug("NotFound"), ARGUMENTS, ""),
    "werkzeug: 429": (werkzeug("TooManyRequests", retry_after=7), ("quota_exceeded", "transient", True, 7), ""),
    "django: 404": (django("Http404"), ARGUMENTS, ""),
    "django: PermissionDenied": (django("PermissionDenied"), DENIED, ""),
    "django: DoesNotExist": (django("ObjectDoesNotExist"), ARGUMENTS, ""),
    "django: settings": (django("ImproperlyConfigured"), INTERNAL, ""),
    "playwright: late": (playwright_late, LATE, ""),
    "GitPython: no repository": (git(lambda Repo, folder: Repo(folder)), INTERNAL, "no Git repository"),
    "GitPython: bad name": (git(lambda Repo, folder: Repo.init(folder).commit("nope")), ARGUMENTS, "reference"),
    "GitPython: command": (git(lambda Repo, folder: Repo.init(folder).git.checkout("nope")), INTERNAL, "pathspec 'nope'"),
    "pandas: empty": (pandas_csv(""), INTERNAL, "empty"),
    "pandas: no table": (pandas_csv("a,b\n1,2,3\n1,2,3,4"), INTERNAL, "Expected 3 fields"),
    "lxml: cut off": (lxml("<a>"), INTERNAL, "Premature end"),
    "Pillow: no image": (image(b"x"), INTERNAL, "image"),
}  # fmt: skip


def failure_of(fail):
    try:
        fail()
    except Exception as exc:
        return exc
    raise AssertionError("it did not fail")


def judge(exc):
    """
    Judge an exception as raised by a library; search what leaves for what may not leave.
    """
    guard = Guard()
    fault = guard.judge(exc, Call(tool="t", function=os.getcwd))
    wire = json.dumps(guard.to_result(fault))
    for hidden in ("NOTREAL", "127.0.0.1", "10.0.0.7", "/nonexistent"):
        assert hidden not in wire, wire
    envelope = fault.envelope
    return (envelope.code, envelope.category, envelope.retryable, envelope.retry_after_seconds), envelope.message


@pytest.mark.parametrize("name", LOCAL)
def test_a_failure_of_a_library(name):
    fail, expected, words = LOCAL[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, message = judge(failure_of(fail))

    assert found == expected, message
    assert words in message


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.__name__)
@pytest.mark.parametrize(("number", "state", "text", "expected"), MYSQL, ids=[str(row[0]) for row in MYSQL])
def test_a_number_of_mysql(driver, number, state, text, expected):
    with mysql_error(number, state, text) as port:
        found, message = judge(failure_of(lambda: driver(port)))

    assert found == expected, message


@pytest.mark.parametrize(("number", "text", "expected"), MONGODB, ids=[str(row[0]) for row in MONGODB])
def test_a_number_of_mongodb(number, text, expected):
    with mongodb_error(number, text) as port:
        found, message = judge(failure_of(lambda: by_pymongo(port)))

    assert found == expected, message
