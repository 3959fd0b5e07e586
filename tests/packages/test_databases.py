"""
The tables for databases stay true to their packages, and to what PostgreSQL, Redis and SQLite do.

Rows that are shown with a constructed exception, or not at all, and why:

* ``sqlalchemy.exc.DisconnectionError``, ``InvalidatePoolError``: a pool's listeners raise them, and the pool catches
  them. ``NoDBAPILoaded``: for dialects loaded without a driver. Drivers that no table knows: none is installed.
* ``redis.exceptions.AuthorizationError``, ``ChildDeadlockedError``, ``IncorrectPolicyType``, ``InvalidPipelineStack``,
  ``PubSubError``: redis-py no longer raises them, or only where it contradicts itself. ``ClusterError``,
  ``CrossSlotTransactionError``, ``SlotNotCoveredError`` and ``redis.multidb``, ``redis.auth``, ``redis.http``: they
  take a cluster, or a service of its vendor.
* SQLSTATEs of a disk that is full, a crash, a broken index and the like: a server that is well raises them on request.
"""

import asyncio
import importlib
import importlib.util
import json
import os
import sys
import warnings
from pathlib import Path

import pytest

from toolfault import Guard
from toolfault._codes import DEFAULTS
from toolfault._names import qualified_name
from toolfault._verdict import Verdict
from toolfault.hosting import Call
from toolfault.rules import DEFAULT, postgres, redis, sqlalchemy, sqlstate


def part(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


db_servers, db_postgres, db_redis, db_sqlalchemy = map(
    part, ("db_servers", "db_postgres", "db_redis", "db_sqlalchemy")
)
ARGUMENTS, INTERNAL, LATE, LOGIN, OUTAGE, PANICKED = (
    getattr(db_postgres, name) for name in ("ARGUMENTS", "INTERNAL", "LATE", "LOGIN", "OUTAGE", "PANICKED")
)

TABLES = (postgres, redis, sqlalchemy)
RULES = {name: rule for table in TABLES for name, rule in table.RULES.items()}
IGNORED = frozenset().union(*(table.IGNORED for table in TABLES))

MODULES = """
    asyncpg asyncpg.exceptions asyncpg.exceptions._base
    psycopg psycopg.errors psycopg.pq
    redis redis.asyncio redis.asyncio.client redis.asyncio.cluster redis.asyncio.sentinel redis.auth.err redis.client
    redis.cluster redis.event redis.exceptions redis.http.http_client redis.lock redis.multidb.exception redis.sentinel
    sqlalchemy sqlalchemy.exc sqlalchemy.orm sqlalchemy.orm.evaluator sqlalchemy.orm.exc sqlalchemy.pool
""".split()


# ---- names


def taken_from(name):
    module, _, cls = name.rpartition(".")
    return getattr(importlib.import_module(module), cls)


def exceptions_of(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = importlib.import_module(module)
        names = {*vars(found), *getattr(found, "__all__", ())}
        values = [getattr(found, name, None) for name in names if not name.startswith("__")]
    return {cls for cls in values if isinstance(cls, type) and issubclass(cls, BaseException)}


@pytest.mark.parametrize("name", sorted({*RULES, *IGNORED}))
def test_every_name_is_that_of_a_class(name):
    """
    A class that a package renames or drops turns this red.
    """
    assert name == qualified_name(taken_from(name))


@pytest.mark.parametrize("module", MODULES)
def test_every_exception_of_a_module_has_a_rule(module):
    """
    A class that a package adds turns this red, until it is mapped, or ignored on purpose.
    """
    without = {
        name
        for cls in exceptions_of(module)
        for name in [qualified_name(cls)]
        if not name.startswith("builtins.") and all(rule.startswith("builtins.") for rule, _ in DEFAULT.rules_for(cls))
    }

    assert without - {"asyncio.exceptions.CancelledError"} <= IGNORED


def test_nothing_is_ignored_and_mapped():
    """
    A name stands in one of the two.
    """
    assert set() == IGNORED & RULES.keys()


# ---- really raised


def triple(verdict):
    category, retryable = DEFAULTS[verdict.code]
    return (
        verdict.code.value,
        (verdict.category or category).value,
        retryable if verdict.retryable is None else verdict.retryable,
    )


def caught(fail, *args):
    try:
        fail(*args)
    except Exception as exc:
        return exc
    raise AssertionError(f"{fail.__name__} did not fail")


def judged(exc, function, secrets):
    """
    The envelope of an exception, in which no secret is.
    """
    fault = Guard().judge(exc, Call(tool="t", function=function))
    envelope = fault.envelope
    shown = json.dumps([envelope.to_wire(), fault.facts])

    assert [secret for secret in secrets if secret.lower() in shown.lower()] == []
    assert envelope.message.endswith(".")
    assert "None" not in envelope.message
    return envelope


def meaning(envelope):
    return (envelope.code.value, envelope.category.value, envelope.retryable)


def served(name, make):
    """
    A server of the tests, or their end.
    """

    def fixture(servers):
        if name not in servers:
            (pytest.skip if os.environ.get(db_servers.WITHOUT) else pytest.fail)(f"{name}: {db_servers.MISSING}")
        server = make(servers[name])
        yield server
        server.close()

    return pytest.fixture(scope="module", name=make.__name__.lower())(fixture)


@pytest.fixture(scope="module")
def servers():
    with db_servers.running() as known:
        yield known


pg = served("TOOLFAULT_TEST_POSTGRES", db_postgres.Postgres)
rd = served("TOOLFAULT_TEST_REDIS", db_redis.Redis)


@pytest.fixture(params=db_postgres.DRIVERS)
def driver(request):
    return request.param


@pytest.mark.parametrize(
    ("state", "statements", "expected", "told"),
    [pytest.param(*row, id=row[0]) for row in db_postgres.STATEMENTS],
)
def test_statements(postgres, driver, state, statements, expected, told):
    """
    The state decides, whatever the driver; names are told, and values are not.
    """

    def fail():
        with db_postgres.DRIVERS[driver](postgres.parts) as execute:
            for before in statements[:-1]:
                try:
                    execute(before)
                except Exception:
                    continue
            execute(statements[-1])

    envelope = judged(caught(fail), fail, postgres.secrets)

    assert expected == meaning(envelope)
    assert f"SQLSTATE {state})" in envelope.message
    assert told in envelope.message


@pytest.mark.parametrize(
    ("fail", "expected"), [pytest.param(*row, id=row[0].__name__) for row in db_postgres.CONNECTIONS]
)
def test_connections(postgres, driver, fail, expected):
    """
    Logins are the server's own; locks and outages pass.
    """
    exc = caught(fail, postgres, db_postgres.DRIVERS[driver])

    assert expected == meaning(judged(exc, fail, postgres.secrets))


@pytest.mark.parametrize(
    ("fail", "name", "expected"), [pytest.param(*row, id=row[0].__name__) for row in db_postgres.PSYCOPG]
)
def test_what_psycopg_raises_itself(postgres, fail, name, expected):
    """
    Without a SQLSTATE.
    """
    exc = caught(fail, postgres)

    assert name == type(exc).__name__
    assert expected == meaning(judged(exc, fail, postgres.secrets))


@pytest.mark.parametrize(
    ("fail", "name", "expected"), [pytest.param(*row, id=f"{row[1]}-{n}") for n, row in enumerate(db_postgres.ASYNCPG)]
)
def test_what_asyncpg_raises_itself(postgres, fail, name, expected):
    """
    Most of it is no PostgresError.
    """
    exc = caught(fail, postgres)

    assert name in {qualified_name(type(exc)).removeprefix("asyncpg."), type(exc).__name__}
    assert expected == meaning(judged(exc, fail, postgres.secrets))


@pytest.mark.parametrize("by", ["psycopg", "asyncpg"])
def test_states_on_request(postgres, by):
    """
    The rest of the table, from a server that is asked to raise it.
    """
    wrong = {}
    for expected, states in db_postgres.ON_REQUEST.items():
        for state in states.split():

            def fail(state=state):
                with db_postgres.DRIVERS[by](postgres.parts) as execute:
                    execute(f"do $$ begin raise exception '{db_postgres.SECRET}' using errcode = '{state}'; end $$")

            exc = caught(fail)
            found = meaning(judged(exc, fail, postgres.secrets))
            if found != expected or exc.sqlstate != state:
                wrong[state] = found

    assert {} == wrong


def test_every_state_of_the_table_is_raised():
    """
    A row that is added has to be shown.
    """
    raised = {row[0] for row in db_postgres.STATEMENTS}
    raised |= {state for states in db_postgres.ON_REQUEST.values() for state in states.split()}
    raised |= {"40001", "40P01", "53300", "55P03"}  # test_connections

    assert set() == sqlstate.STATES.keys() - raised
    assert set() == sqlstate.CLASSES.keys() - {state[:2] for state in raised}


@pytest.mark.parametrize(
    ("fail", "name", "expected"), [pytest.param(*row, id=row[0].__name__) for row in db_redis.FAILURES]
)
def test_redis(redis, fail, name, expected):
    """
    By class, and by the first word where there is no class.
    """
    exc = caught(fail, redis)

    assert name == type(exc).__name__
    assert expected == meaning(judged(exc, fail, redis.secrets))


@pytest.mark.parametrize(
    ("reply", "name", "expected"), [pytest.param(*row, id=row[0]) for row in db_redis.ON_REQUEST]
)
def test_redis_on_request(redis, reply, name, expected):
    """
    Replies that a server which is well, and is no cluster, gives only when it is asked to.
    """

    def fail():
        redis.admin.eval("return redis.error_reply(ARGV[1])", 0, reply)

    exc = caught(fail)

    assert name == type(exc).__name__
    assert expected == meaning(judged(exc, fail, redis.secrets))


def test_redis_under_asyncio(redis):
    """
    Its exceptions are the same.
    """
    import redis.asyncio as package

    async def fail():
        client = package.Redis(**{**redis.parts, "password": "NOTREAL-password"})
        try:
            await client.get("text")
        finally:
            await client.aclose()

    assert LOGIN == meaning(judged(caught(asyncio.run, fail()), fail, redis.secrets))


@pytest.fixture
def sqlite():
    made = db_sqlalchemy.Sqlite()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("fail", "name", "expected"), [pytest.param(*row, id=row[0].__name__) for row in db_sqlalchemy.FAILURES]
)
def test_sqlalchemy(sqlite, fail, name, expected):
    """
    The driver's exception decides, where there is one.
    """
    exc = caught(fail, sqlite)

    assert name == type(exc).__name__
    assert expected == meaning(judged(exc, fail, sqlite.secrets))


@pytest.mark.parametrize(("exc", "expected"), db_sqlalchemy.CONSTRUCTED)
def test_sqlalchemy_constructed(exc, expected):
    """
    Over a driver that no table knows: by its SQLSTATE, else by the class that the DB-API prescribes.
    """
    assert expected == meaning(judged(exc, None, [db_sqlalchemy.SECRET]))


# ---- traps


def over_builtins(cls, exc):
    """
    What is left to say of an exception without the tables of packages.
    """
    for name, rule in DEFAULT.rules_for(cls):
        if name.startswith("builtins."):
            verdict = rule if isinstance(rule, Verdict) else rule(exc)
            if verdict is not None:
                return triple(verdict)
    raise AssertionError(cls)


def half_built(cls):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls.__new__(cls)


#: The rows that a ladder of builtin classes, or a base in the package, gets wrong.
TRAPS = {
    "redis.exceptions.AuthenticationError": (LOGIN, "its base ConnectionError is an outage"),
    "redis.exceptions.AuthorizationError": (LOGIN, "its base ConnectionError is an outage"),
    "redis.exceptions.ConnectionError": (OUTAGE, "no builtin ConnectionError"),
    "redis.exceptions.TimeoutError": (LATE, "no builtin TimeoutError"),
    "redis.exceptions.LockNotOwnedError": (OUTAGE, "a ValueError"),
    "redis.exceptions.OutOfMemoryError": (("quota_exceeded", "permanent", False), "its base ResponseError is a crash"),
}
