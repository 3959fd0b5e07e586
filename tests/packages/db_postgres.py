"""
How tools fail with PostgreSQL: the same failures through each driver.
"""

import asyncio
import threading
from contextlib import contextmanager, suppress
from importlib.util import find_spec

import asyncpg
import db_servers
import psycopg
import sqlalchemy
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy.pool import NullPool


INTERNAL = ("internal", "permanent", False)
OUTAGE = ("internal", "transient", True)
LOGIN = ("internal", "auth", False)
PANICKED = ("tool_panicked", "permanent", False)
ARGUMENTS = ("invalid_arguments", "validation", False)
LATE = ("tool_timeout", "transient", True)

#: In every value, name of a host, and login that is made up here.
SECRET = "NOTREAL"

#: Names in statements, and what routines say: a diagnosis, which is shown.
NAMED = "nowhere"

SCHEMA = f"""
drop table if exists child, parent, kinds, locked cascade;
drop type if exists pair;
drop role if exists limited, reader, sleeper;
create table parent (id int primary key, name varchar(8) unique, age int check (age > 0), kind text not null default '');
create table child (id int primary key, parent int references parent);
create table kinds (id int, exclude (id with =));
create table locked (id int primary key, v int);
create type pair as (a int, b text);
insert into parent values (1, '{SECRET}', 1);
insert into kinds values (1);
insert into locked values (1, 0), (2, 0);
create role limited login password '{SECRET}-role' connection limit 0;
create role reader login password '{SECRET}-role';
create role sleeper nologin password '{SECRET}-role';
"""


class Postgres:
    """
    A server, and ways to reach it.
    """

    def __init__(self, dsn):
        self.dsn = dsn
        self.parts = conninfo_to_dict(dsn)
        self.secrets = [self.parts["password"], self.parts["host"], self.parts["port"], SECRET]
        self.admin = psycopg.connect(dsn, autocommit=True)
        self.admin.execute(SCHEMA)

    def close(self):
        self.admin.close()

    def where(self, **other):
        return {**self.parts, **other}

    def wait_for(self, sql):
        """
        Ask until a query finds something.
        """
        while not self.admin.execute(sql).fetchone():
            pass

    @contextmanager
    def when(self, sql, act):
        """
        Do something, in another thread, as soon as a query finds something.
        """

        def run():
            self.wait_for(sql)
            act()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            thread.join()

    def terminate(self):
        self.admin.execute(f"select pg_terminate_backend(pid) from pg_stat_activity where {VICTIM}")


VICTIM = "application_name = 'victim'"
SLEEPS = f"select 1 from pg_stat_activity where {VICTIM} and wait_event = 'PgSleep'"


# ---- drivers: each gives a function that executes a statement


@contextmanager
def by_psycopg(where):
    with psycopg.connect(make_conninfo(**where), autocommit=True) as connection:
        yield connection.execute


@contextmanager
def by_asyncpg(where):
    names = {"dbname": "database"}
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(**{names.get(key, key): value for key, value in where.items()}))
        try:
            yield lambda sql: runner.run(connection.execute(sql))
        finally:
            connection.terminate()
            # The transport is closed a round later.
            runner.run(asyncio.sleep(0))


def url(driver, where):
    names = {"dbname": "database", "user": "username"}
    return sqlalchemy.URL.create(
        f"postgresql+{driver}",
        **{names.get(key, key): int(value) if key == "port" else value for key, value in where.items()},
    )


@contextmanager
def by_sqlalchemy(where):
    engine = sqlalchemy.create_engine(url("psycopg", where), poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection.exec_driver_sql


@contextmanager
def by_sqlalchemy_and_asyncpg(where):
    from sqlalchemy.ext.asyncio import create_async_engine

    engine = create_async_engine(url("asyncpg", where), poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with asyncio.Runner() as runner:
        connection = runner.run(engine.connect().__aenter__())
        try:
            yield lambda sql: runner.run(connection.exec_driver_sql(sql))
        finally:
            with suppress(Exception):
                runner.run(connection.close())
            runner.run(asyncio.sleep(0))


DRIVERS = {
    "psycopg": by_psycopg,
    "asyncpg": by_asyncpg,
    "sqlalchemy+psycopg": by_sqlalchemy,
    # SQLAlchemy demands it for asynchronous drivers.
    **({"sqlalchemy+asyncpg": by_sqlalchemy_and_asyncpg} if find_spec("greenlet") else {}),
}


# ---- statements that fail: SQLSTATE, the statements, the meaning, what the message tells

STATEMENTS = [
    ("22001", [f"insert into parent values (9, '{SECRET}-too-long')"], ARGUMENTS, "too long"),
    ("22003", ["select 12345678901::int"], ARGUMENTS, "out of range"),
    ("22007", [f"select '{SECRET}'::date"], ARGUMENTS, "date or time"),
    ("22008", ["select '2020-02-31'::date"], ARGUMENTS, "date or time"),
    ("22012", ["select 1/0"], ARGUMENTS, "divide by zero"),
    ("22P02", [f"select '{SECRET}'::int"], ARGUMENTS, "form that its type demands"),
    ("22023", [f"set statement_timeout = '{SECRET}'"], ARGUMENTS, "can't use a value"),
    ("23502", ["insert into parent values (9, 'x', 1, null)"], ARGUMENTS, "(column kind of table parent, "),
    ("23503", ["insert into child values (1, 4711)"], ARGUMENTS, "(constraint child_parent_fkey of table child, "),
    (
        "23505",
        [f"insert into parent values (2, '{SECRET}')"],
        ARGUMENTS,
        "(constraint parent_name_key of table parent, ",
    ),
    (
        "23514",
        ["insert into parent values (3, 'x', -4711)"],
        ARGUMENTS,
        "(constraint parent_age_check of table parent, ",
    ),
    ("23P01", ["insert into kinds values (1)"], ARGUMENTS, "(constraint kinds_id_excl of table kinds, "),
    ("25006", ["begin read only", "delete from child"], INTERNAL, "nothing but reading"),
    ("25P02", ["begin", "select 1/0", "select 1"], PANICKED, "present state"),
    ("2BP01", ["drop table parent"], PANICKED, "present state"),
    ("34000", ["close nothing"], PANICKED, "present state"),
    ("3D000", [f"drop database {NAMED}"], INTERNAL, "does not exist"),
    ("3F000", [f"create table {NAMED}.x (id int)"], PANICKED, "a schema"),
    ("42501", ["set role reader", "select * from parent"], LOGIN, "no right"),
    ("42601", [f"select '{SECRET}' frm parent where"], PANICKED, "syntax error"),
    ("42703", [f"select {NAMED} from parent"], PANICKED, "a column"),
    ("42883", [f"select {NAMED}(1)"], PANICKED, "a function"),
    ("42P01", [f"select * from {NAMED}"], PANICKED, "a table"),
    ("42P07", ["create table parent (id int)"], PANICKED, "does not accept"),
    ("42804", [f"select case when true then 1 else '{SECRET}'::text end"], PANICKED, "does not accept"),
    ("54011", [f"create table wide ({', '.join(f'c{n} int' for n in range(1601))})"], ARGUMENTS, "too large"),
    ("55000", ["create sequence if not exists s", "select currval('s')"], PANICKED, "present state"),
    ("55P02", ["set max_connections = 5"], INTERNAL, "setting"),
    ("57014", ["set statement_timeout = '10ms'", "select pg_sleep(60)"], LATE, "took longer"),
    ("58P01", [f"copy parent from '/{SECRET}'"], INTERNAL, "storage"),
    ("P0001", [f"do $$ begin raise exception '{NAMED}'; end $$"], ARGUMENTS, "refused the request"),
    ("P0002", ["do $$ declare x int; begin select id into strict x from child; end $$"], PANICKED, "no row"),
    ("P0003", ["do $$ declare x int; begin select id into strict x from locked; end $$"], PANICKED, "several rows"),
]


# ---- failures of a connection, and between two


def wrong_password(server, driver):
    with driver(server.where(password=f"{SECRET}-password")):
        pass


def no_such_database(server, driver):
    with driver(server.where(dbname=f"{SECRET}-database")):
        pass


def too_many_connections(server, driver):
    with driver(server.where(user="limited", password=f"{SECRET}-role")):
        pass


def no_login(server, driver):
    with driver(server.where(user="sleeper", password=f"{SECRET}-role")):
        pass


def no_right(server, driver):
    with driver(server.where(user="reader", password=f"{SECRET}-role")) as execute:
        execute("select * from parent")


def nobody_listens(server, driver):
    with db_servers.refused() as port, driver(server.where(port=str(port))):
        pass


def lock_timeout(server, driver):
    with psycopg.connect(make_conninfo(**server.parts)) as other, driver(server.parts) as execute:
        other.execute("lock table locked")
        execute("set lock_timeout = '10ms'")
        execute("select * from locked")


def serialization(server, driver):
    with driver(server.parts) as execute:
        execute("begin isolation level repeatable read")
        execute("select * from locked")
        server.admin.execute("update locked set v = v + 1 where id = 1")
        execute("update locked set v = v + 1 where id = 1")


def deadlock(server, driver):
    with psycopg.connect(make_conninfo(**server.parts)) as other, driver(server.parts) as execute:
        other.execute("update locked set v = 1 where id = 1")
        execute("set deadlock_timeout = '10ms'")
        execute("begin")
        execute("update locked set v = 1 where id = 2")
        waiting = threading.Thread(target=other.execute, args=("update locked set v = 2 where id = 2",))
        waiting.start()
        server.wait_for(f"select 1 from pg_locks where not granted and pid = {other.info.backend_pid}")
        try:
            execute("update locked set v = 2 where id = 1")
        finally:
            with suppress(Exception):
                execute("rollback")
            waiting.join()


def shutdown(server, driver):
    with driver(server.parts) as execute, server.when(SLEEPS, server.terminate):
        execute("set application_name = 'victim'")
        execute("select pg_sleep(60)")


def cut_off(server, driver):
    host, port = server.parts["host"], int(server.parts["port"])
    with db_servers.relay(host, port) as relay, driver(server.where(port=str(relay.port))) as execute:
        execute("set application_name = 'victim'")
        with server.when(SLEEPS, relay.cut):
            try:
                execute("select pg_sleep(60)")
            finally:
                server.terminate()


CONNECTIONS = [
    (wrong_password, LOGIN),
    (no_such_database, INTERNAL),
    (too_many_connections, OUTAGE),
    (no_login, LOGIN),
    (no_right, LOGIN),
    (nobody_listens, OUTAGE),
    (lock_timeout, OUTAGE),
    (serialization, OUTAGE),
    (deadlock, OUTAGE),
    (shutdown, OUTAGE),
    (cut_off, OUTAGE),
]


# ---- one driver's own


@contextmanager
def connected(server, **other):
    with psycopg.connect(make_conninfo(**server.where(**other)), autocommit=True) as connection:
        yield connection


def too_few_placeholders(server):
    with connected(server) as connection:
        connection.execute("select %s", [SECRET, SECRET])


def a_kind_that_it_does_not_know(server):
    with connected(server) as connection:
        connection.execute("select %s", [object()])


def a_null_byte(server):
    with connected(server) as connection:
        connection.execute("select %s", [f"{SECRET}\0"])


def a_closed_cursor(server):
    with connected(server) as connection:
        cursor = connection.execute("select 1")
        cursor.close()
        cursor.fetchone()


def a_closed_connection(server):
    with connected(server) as connection:
        connection.close()
        connection.execute(f"select '{SECRET}'")


def a_statement_behind_one_that_failed(server):
    with connected(server) as connection, connection.pipeline():
        with suppress(psycopg.errors.DivisionByZero):
            connection.execute("select 1/0").fetchone()
        connection.execute("select 1").fetchone()


def an_option_that_there_is_not(server):
    psycopg.connect(f"nosuch={SECRET}")


def a_connection_in_time(server):
    with db_servers.mute() as port, connected(server, port=str(port), connect_timeout="2"):
        pass


def a_password_that_was_not_given(server):
    with connected(server, password=""):
        pass


def a_port_that_is_none(server):
    with connected(server, port=SECRET):
        pass


def tls_that_the_server_does_not_speak(server):
    # A server that does speak it has another certificate.
    with connected(server, sslmode="verify-full", sslrootcert=f"/{SECRET}"):
        pass


def a_cancellation_in_time(server):
    host, port = server.parts["host"], int(server.parts["port"])
    # The relay takes one connection; that of the cancellation stays in the queue of its listener.
    with db_servers.relay(host, port) as relay, connected(server, port=str(relay.port)) as connection:
        connection.cancel_safe(timeout=0.05)


PSYCOPG = [
    (too_few_placeholders, "ProgrammingError", PANICKED),
    (a_kind_that_it_does_not_know, "ProgrammingError", PANICKED),
    (a_null_byte, "DataError", ARGUMENTS),
    (a_closed_cursor, "InterfaceError", PANICKED),
    (a_closed_connection, "OperationalError", PANICKED),
    (a_statement_behind_one_that_failed, "PipelineAborted", PANICKED),
    (an_option_that_there_is_not, "ProgrammingError", PANICKED),
    (a_connection_in_time, "ConnectionTimeout", OUTAGE),
    (a_password_that_was_not_given, "OperationalError", LOGIN),
    (tls_that_the_server_does_not_speak, "OperationalError", INTERNAL),
    (a_port_that_is_none, "OperationalError", INTERNAL),
    (a_cancellation_in_time, "CancellationTimeout", LATE),
]


def through_asyncpg(act, **other):
    async def run(server):
        names = {"dbname": "database"}
        where = {names.get(key, key): value for key, value in server.where(**other).items()}
        connection = await asyncpg.connect(**where)
        try:
            await act(server, connection)
        finally:
            connection.terminate()
            await asyncio.sleep(0)

    return lambda server: asyncio.run(run(server))


async def a_value_of_another_type(server, connection):
    await connection.fetch("select $1::int", SECRET)


async def a_value_that_a_codec_quotes(server, connection):
    await connection.fetch("select $1::uuid", SECRET)


async def too_many_arguments(server, connection):
    await connection.fetch("select 1", SECRET)


async def a_connection_that_was_closed(server, connection):
    await connection.close()
    await connection.fetch(f"select '{SECRET}'")


async def two_at_once(server, connection):
    first = asyncio.ensure_future(connection.fetch("select pg_sleep(60)"))
    await asyncio.sleep(0)
    try:
        await connection.fetch(f"select '{SECRET}'")
    finally:
        first.cancel()
        with suppress(asyncio.CancelledError):
            await first


async def a_statement_in_time(server, connection):
    await connection.fetch("select pg_sleep(60)", timeout=0.01)


async def a_plan_that_is_stale(server, connection):
    await connection.execute("create temp table t (a int)")
    async with connection.transaction():
        statement = await connection.prepare("select * from t")
        await statement.fetch()
        await connection.execute("alter table t add b int")
        await statement.fetch()


async def a_type_that_is_stale(server, connection):
    await connection.fetch("select row(1, 'x')::pair")
    await connection.execute("alter type pair add attribute c int")
    await connection.fetch("select row(1, 'x', 2)::pair")


async def nothing(server, connection):
    pass


def a_routine_that_raises_a_warning(server):
    async def run():
        connection = await asyncpg.connect(server.dsn)
        try:
            await connection.execute(f"do $$ begin raise exception '{NAMED}' using errcode = '01000'; end $$")
        finally:
            connection.terminate()
            await asyncio.sleep(0)

    # contextlib can't pass it on: it allows no attribute to be set.
    asyncio.run(run())


def a_dsn_that_is_none(server):
    asyncio.run(asyncpg.connect(f"http://{SECRET}"))


def a_server_that_speaks_something_else(server):
    import socket

    async def run():
        with socket.create_server(("127.0.0.1", 0)) as listener:
            where = {**server.parts, "port": listener.getsockname()[1]}
            attempt = asyncio.ensure_future(
                asyncpg.connect(
                    host="127.0.0.1", port=where["port"], user="x", password=SECRET, database="x", ssl=False
                )
            )
            connection, _ = await asyncio.to_thread(listener.accept)
            with connection:
                # An authentication method that there is not.
                connection.sendall(b"R\0\0\0\x08\0\0\x10\0")
                await attempt

    asyncio.run(run())


ASYNCPG = [
    (through_asyncpg(a_value_of_another_type), "exceptions.DataError", ARGUMENTS),
    (through_asyncpg(a_value_that_a_codec_quotes), "exceptions.DataError", ARGUMENTS),
    (through_asyncpg(too_many_arguments), "exceptions._base.InterfaceError", PANICKED),
    (through_asyncpg(a_connection_that_was_closed), "exceptions._base.InterfaceError", PANICKED),
    (through_asyncpg(two_at_once), "exceptions._base.InterfaceError", PANICKED),
    (through_asyncpg(a_statement_in_time), "TimeoutError", LATE),
    (through_asyncpg(a_plan_that_is_stale), "exceptions.InvalidCachedStatementError", OUTAGE),
    (through_asyncpg(a_type_that_is_stale), "exceptions._base.OutdatedSchemaCacheError", OUTAGE),
    (
        through_asyncpg(nothing, target_session_attrs="standby"),
        "exceptions._base.TargetServerAttributeNotMatched",
        OUTAGE,
    ),
    (a_routine_that_raises_a_warning, "exceptions.PostgresWarning", INTERNAL),
    (a_dsn_that_is_none, "exceptions._base.ClientConfigurationError", INTERNAL),
    (a_server_that_speaks_something_else, "exceptions._base.InterfaceError", PANICKED),
]


# ---- states that only a server in trouble has: a server that is asked to raise them does

ON_REQUEST = {
    OUTAGE: "08000 08001 08004 08006 25P03 40000 40003 53000 53100 53200 53400 55006 57000 57P01 57P02 57P03 57P05 72000 HV00N",
    LOGIN: "28000 28P01",
    LATE: "25P04 57014",
    ARGUMENTS: "10608 22000 23000 40002 44000 54000 54001",
    INTERNAL: "09000 2F000 27000 38000 39000 57P04 58000 58030 F0000 HV000 P0000 P0004 XX000 XX001 XX002 PT404",
    PANICKED: "03000 0A000 0B000 0F000 0L000 0P000 0Z000 20000 21000 24000 25000 26000 2B000 2D000 3B000 3F000 42000 55P04",
}
