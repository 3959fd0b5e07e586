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
from contextlib import suppress
from pathlib import Path

import pytest

from installed_classes import class_named, exceptions_of
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


db_servers, db_postgres, db_redis, db_sqlalchemy = map(part, ("db_servers", "db_postgres", "db_redis", "db_sqlalchemy"))
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


@pytest.mark.parametrize("name", sorted({*RULES, *IGNORED}))
def test_every_name_is_that_of_a_class(name):
    """
    A class that a package renames or drops turns this red.
    """
    assert name == qualified_name(class_named(name))


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
    # The id is random, and may hold the digits of a port.
    shown = json.dumps([envelope.to_wire(), {**fault.facts, "id": ""}])

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
                    execute(f"do $$ begin raise exception '{db_postgres.NAMED}' using errcode = '{state}'; end $$")

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


@pytest.mark.parametrize(("reply", "name", "expected"), [pytest.param(*row, id=row[0]) for row in db_redis.ON_REQUEST])
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
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    async def fail():
        client = package.Redis(**{**redis.parts, "password": "NOTREAL-password", "retry": Retry(NoBackoff(), 0)})
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


#: The rows that the builtin base of a class gets wrong: a crash where it is a ValueError, else a failure for good.
TRAPS = {
    LOGIN: """
        redis.auth.err.InvalidTokenSchemaErr redis.auth.err.RequestTokenErr redis.auth.err.TokenRenewalErr
        redis.event.EventException redis.exceptions.AuthenticationError redis.exceptions.AuthorizationError
        redis.exceptions.AuthenticationWrongNumberOfArgsError redis.exceptions.NoPermissionError
    """,
    OUTAGE: """
        asyncpg.exceptions.InvalidCachedStatementError asyncpg.exceptions._base.OutdatedSchemaCacheError
        asyncpg.exceptions._base.TargetServerAttributeNotMatched psycopg.OperationalError
        psycopg.errors.ConnectionTimeout redis.exceptions.BusyLoadingError redis.exceptions.ClusterDownError
        redis.exceptions.ClusterError redis.exceptions.ConnectionError redis.exceptions.ExternalAuthProviderError
        redis.exceptions.InvalidResponse redis.exceptions.LockNotOwnedError redis.exceptions.MasterDownError
        redis.exceptions.MaxConnectionsError redis.exceptions.ReadOnlyError redis.exceptions.RedisClusterException
        redis.exceptions.TryAgainError redis.exceptions.WatchError
        redis.multidb.exception.InitialHealthCheckFailedError redis.multidb.exception.NoValidDatabaseException
        redis.multidb.exception.TemporaryUnavailableException redis.multidb.exception.UnhealthyDatabaseException
        sqlalchemy.exc.DisconnectionError sqlalchemy.exc.TimeoutError sqlalchemy.orm.exc.ObjectDeletedError
        sqlalchemy.orm.exc.StaleDataError
    """,
    LATE: "psycopg.errors.CancellationTimeout redis.exceptions.TimeoutError",
    ("quota_exceeded", "permanent", False): "redis.exceptions.OutOfMemoryError",
    ARGUMENTS: "asyncpg.exceptions._base.DataError psycopg.DataError psycopg.IntegrityError",
    INTERNAL: "asyncpg.exceptions.PostgresWarning asyncpg.exceptions._base.ClientConfigurationError",
    PANICKED: """
        asyncpg.exceptions._base.InterfaceError psycopg.InterfaceError psycopg.NotSupportedError
        psycopg.ProgrammingError psycopg.errors.PipelineAborted redis.exceptions.ChildDeadlockedError
        redis.exceptions.ClusterCrossSlotError redis.exceptions.CrossSlotTransactionError redis.exceptions.DataError
        redis.exceptions.ExecAbortError redis.exceptions.IncorrectPolicyType redis.exceptions.NoScriptError
        redis.exceptions.PubSubError redis.exceptions.ResponseError sqlalchemy.exc.MultipleResultsFound
        sqlalchemy.exc.NoResultFound sqlalchemy.exc.NoSuchTableError sqlalchemy.exc.PendingRollbackError
        sqlalchemy.exc.SQLAlchemyError sqlalchemy.exc.StatementError
    """,
}


def test_traps(record_property):
    """
    Each verdict that differs from that of the class's builtin base, on an instance that tells nothing else.
    """
    found = {}
    for name in RULES:
        exc = half_built(class_named(name))
        ours = triple(DEFAULT.verdict_on(exc)[1])
        if ours != over_builtins(type(exc), exc):
            found[name] = ours
    record_property("traps", len(found))

    assert {name: ours for ours, names in TRAPS.items() for name in names.split()} == found
    assert 62 == len(found)


@pytest.mark.parametrize(
    ("cls", "base"),
    [
        ("redis.exceptions.AuthenticationError", "redis.exceptions.ConnectionError"),
        ("redis.exceptions.AuthorizationError", "redis.exceptions.ConnectionError"),
        ("redis.exceptions.NoPermissionError", "redis.exceptions.ResponseError"),
        ("redis.exceptions.OutOfMemoryError", "redis.exceptions.ResponseError"),
        ("redis.exceptions.ReadOnlyError", "redis.exceptions.ResponseError"),
        ("asyncpg.exceptions._base.ClientConfigurationError", "asyncpg.exceptions._base.InterfaceError"),
        ("asyncpg.exceptions._base.DataError", "asyncpg.exceptions._base.InterfaceError"),
        ("psycopg.errors.CancellationTimeout", "psycopg.OperationalError"),
        ("psycopg.errors.PipelineAborted", "psycopg.OperationalError"),
        ("sqlalchemy.exc.DBAPIError", "sqlalchemy.exc.StatementError"),
        ("sqlalchemy.orm.exc.ObjectDeletedError", "sqlalchemy.exc.SQLAlchemyError"),
    ],
)
def test_what_has_to_be_asked_before_its_base(cls, base):
    """
    Their base in the package means something else.
    """
    ours, others = (triple(DEFAULT.verdict_on(half_built(class_named(name)))[1]) for name in (cls, base))

    assert issubclass(class_named(cls), class_named(base))
    assert ours != others


# ---- half-built and hostile exceptions

#: What Python itself needs to pass an exception around.
HARMLESS = {"__class__", "__dict__", "__cause__", "__context__", "__traceback__", "__suppress_context__"}


class Strange:
    """
    Says that it is whatever one asks for, and raises when it is used.
    """

    __class__ = property(lambda self: 1 / 0)
    __str__ = __index__ = __iter__ = __len__ = __bool__ = __eq__ = lambda self, *_: 1 / 0
    __hash__ = object.__hash__

    def __getattr__(self, name):
        raise KeyError(name)


def hostile(cls):
    """
    An instance whose every attribute raises.
    """

    def refuse(self, name):
        if name in HARMLESS:
            return super(evil, self).__getattribute__(name)
        raise RuntimeError(name)

    evil = type(f"Evil{cls.__name__}", (cls,), {"__getattribute__": refuse, "__str__": lambda self: 1 / 0})
    return half_built(evil)


def strange(cls):
    """
    An instance whose every attribute is of no kind that it can be.
    """

    def give(self, name):
        return super(odd, self).__getattribute__(name) if name in HARMLESS else Strange()

    odd = type(f"Odd{cls.__name__}", (cls,), {"__getattribute__": give})
    return half_built(odd)


EXPORTED = {
    qualified_name(cls): cls
    for module in MODULES
    for cls in exceptions_of(module)
    if cls.__module__.partition(".")[0] in {"asyncpg", "psycopg", "redis", "sqlalchemy"}
}


@pytest.mark.parametrize("make", [half_built, hostile, strange])
@pytest.mark.parametrize("name", sorted(EXPORTED.keys() | RULES.keys()))
def test_no_rule_raises(name, make):
    """
    Whatever the state of an exception, its rule has an opinion.
    """
    exc = make(EXPORTED.get(name) or class_named(name))
    with suppress(TypeError):  # asyncpg's warnings forbid it
        exc.__cause__ = ValueError("x")

    for rule_name, rule in DEFAULT.rules_for(type(exc)):
        if rule_name in RULES:
            verdict = rule if isinstance(rule, Verdict) else rule(exc)

            assert isinstance(verdict, Verdict)
            assert type(verdict.message) is str
            assert verdict.message


@pytest.mark.parametrize("state", ["", "x", "4" * 10000, "4000\n", "23505\udcff", "0\u0660000"])
def test_a_state_that_is_none(state):
    """
    It comes from a peer: only five capital letters and digits are shown.
    """
    verdict = sqlstate.verdict_for(state, constraint="a b", table="x'; --", column="\u202e")

    assert "SQLSTATE" not in verdict.message
    assert "(" not in verdict.message
    assert len(verdict.message) < 200
