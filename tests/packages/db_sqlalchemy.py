"""
How tools fail with SQLAlchemy itself, over SQLite where it needs a database.
"""

import datetime as dt
import sqlite3
from contextlib import suppress

import sqlalchemy as sa
from db_postgres import ARGUMENTS, INTERNAL, NAMED, OUTAGE, PANICKED, SECRET
from sqlalchemy import orm
from sqlalchemy.pool import QueuePool, StaticPool


class Base(orm.DeclarativeBase):
    pass


class Person(Base):
    __tablename__ = "person"

    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(unique=True)
    born: orm.Mapped[dt.datetime | None]
    version: orm.Mapped[int] = orm.mapped_column()
    children: orm.Mapped[list["Child"]] = orm.relationship()

    __mapper_args__ = {"version_id_col": version}


class Child(Base):
    __tablename__ = "child"

    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    parent: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("person.id"))


class Sqlite:
    """
    A database in memory.
    """

    secrets = [SECRET]

    def __init__(self):
        self.engine = sa.create_engine("sqlite://", poolclass=StaticPool)
        Base.metadata.create_all(self.engine)
        with orm.Session(self.engine) as session:
            session.add_all([Person(id=1, name=SECRET), Person(id=2, name="other"), Child(id=1, parent=1)])
            session.commit()

    def close(self):
        self.engine.dispose()

    def session(self):
        return orm.Session(self.engine)


def same_key(sqlite):
    with sqlite.session() as session:
        session.add(Person(id=3, name=SECRET))
        session.commit()


def missing_value(sqlite):
    with sqlite.engine.begin() as connection:
        connection.execute(sa.text("insert into person (id, name, version) values (9, null, 1)"))


def no_table(sqlite):
    with sqlite.engine.begin() as connection:
        connection.execute(sa.text("select * from nosuch where x = :x"), {"x": SECRET})


def locked(sqlite):
    engine = sa.create_engine(
        "sqlite:///file:locked?mode=memory&cache=shared&uri=true", connect_args={"timeout": 0}, poolclass=QueuePool
    )
    with engine.connect() as one, engine.connect() as other:
        one.exec_driver_sql("create table t (x)")
        one.commit()
        one.exec_driver_sql("insert into t values (1)")
        try:
            other.exec_driver_sql(f"insert into t values ('{SECRET}')")
        finally:
            one.rollback()
            other.rollback()
            one.close()
            other.close()
            engine.dispose()


def a_value_of_another_type(sqlite):
    with sqlite.session() as session:
        session.add(Person(id=3, name="x", born=f"{SECRET}-day"))
        session.commit()


def a_kind_that_it_does_not_know(sqlite):
    with sqlite.engine.begin() as connection:
        connection.execute(sa.text(f"select :x, '{SECRET}'"), {"x": object()})


def a_value_that_is_missing(sqlite):
    with sqlite.engine.begin() as connection:
        connection.execute(sa.text(f"select :x, '{SECRET}'"))


def no_row(sqlite):
    with sqlite.session() as session:
        session.execute(sa.select(Person).where(Person.name == f"{SECRET}-nobody")).scalar_one()


def several_rows(sqlite):
    with sqlite.session() as session:
        session.execute(sa.select(Person)).scalar_one()


def a_session_that_failed(sqlite):
    with sqlite.session() as session:
        session.add(Person(id=3, name=SECRET))
        with suppress(sa.exc.IntegrityError):
            session.flush()
        session.execute(sa.select(Person))


def no_connection_left(sqlite):
    engine = sa.create_engine("sqlite://", poolclass=QueuePool, pool_size=1, max_overflow=0, pool_timeout=0.001)
    with engine.connect():
        try:
            engine.connect()
        finally:
            engine.dispose()


def a_row_that_changed(sqlite):
    with sqlite.session() as session:
        person = session.get(Person, 1)
        session.connection().exec_driver_sql("update person set version = 99 where id = 1")
        person.name = "new"
        session.flush()


def a_row_that_is_gone(sqlite):
    with sqlite.session() as session:
        person = session.get(Person, 2)
        session.connection().exec_driver_sql("delete from person where id = 2")
        session.expire(person)
        _ = person.name


def an_object_without_session(sqlite):
    with sqlite.session() as session:
        person = session.get(Person, 1)
    _ = person.children


def no_table_to_reflect(sqlite):
    sa.Table(NAMED, sa.MetaData(), autoload_with=sqlite.engine)


def no_dialect(sqlite):
    sa.create_engine(f"nosuch://x:{SECRET}@{SECRET}/x")


def no_url(sqlite):
    sa.create_engine(f"{SECRET} x")


def a_closed_result(sqlite):
    with sqlite.engine.connect() as connection:
        result = connection.exec_driver_sql("select 1")
        result.close()
        result.fetchone()


def no_such_column(sqlite):
    with sqlite.engine.connect() as connection:
        _ = connection.exec_driver_sql("select 1 as one").mappings().one()[NAMED]


def what_does_not_compile(sqlite):
    sa.Table("t", sa.MetaData(), sa.Column("x")).create(sqlite.engine)


def what_is_not_mapped(sqlite):
    with sqlite.session() as session:
        session.add(SECRET)


FAILURES = [
    (same_key, "IntegrityError", ARGUMENTS),
    (missing_value, "IntegrityError", ARGUMENTS),
    (no_table, "OperationalError", PANICKED),
    (locked, "OperationalError", OUTAGE),
    (a_value_of_another_type, "StatementError", PANICKED),
    (a_kind_that_it_does_not_know, "ProgrammingError", PANICKED),
    (a_value_that_is_missing, "StatementError", PANICKED),
    (no_row, "NoResultFound", PANICKED),
    (several_rows, "MultipleResultsFound", PANICKED),
    (a_session_that_failed, "PendingRollbackError", PANICKED),
    (no_connection_left, "TimeoutError", OUTAGE),
    (a_row_that_changed, "StaleDataError", OUTAGE),
    (a_row_that_is_gone, "ObjectDeletedError", OUTAGE),
    (an_object_without_session, "DetachedInstanceError", PANICKED),
    (no_table_to_reflect, "NoSuchTableError", PANICKED),
    (no_dialect, "NoSuchModuleError", INTERNAL),
    (no_url, "ArgumentError", PANICKED),
    (a_closed_result, "ResourceClosedError", PANICKED),
    (no_such_column, "NoSuchColumnError", PANICKED),
    (what_does_not_compile, "CompileError", PANICKED),
    (what_is_not_mapped, "UnmappedInstanceError", PANICKED),
]


class Unheard(Exception):
    """
    A driver's class that no table knows.
    """

    sqlstate = pgcode = None


def wrapped(cls, orig, **other):
    """
    As SQLAlchemy wraps what such a driver raises.
    """
    made = getattr(sa.exc, cls)(f"select '{SECRET}'", {"x": SECRET}, orig, **other)
    made.__cause__ = orig
    return made


def with_state(state, name="sqlstate"):
    orig = Unheard(f"x {NAMED}")
    setattr(orig, name, state)
    return orig


CONSTRUCTED = [
    (wrapped("IntegrityError", Unheard(NAMED)), ARGUMENTS),
    (wrapped("DataError", Unheard(NAMED)), ARGUMENTS),
    (wrapped("OperationalError", Unheard(NAMED)), INTERNAL),
    (wrapped("InternalError", Unheard(NAMED)), INTERNAL),
    (wrapped("DBAPIError", Unheard(NAMED)), INTERNAL),
    (wrapped("ProgrammingError", Unheard(NAMED)), PANICKED),
    (wrapped("InterfaceError", Unheard(NAMED)), PANICKED),
    (wrapped("NotSupportedError", Unheard(NAMED)), PANICKED),
    (wrapped("OperationalError", with_state("40P01", "pgcode")), OUTAGE),
    (wrapped("DBAPIError", with_state("23000")), ARGUMENTS),
    (wrapped("DBAPIError", Unheard(NAMED), connection_invalidated=True), OUTAGE),
    (wrapped("DBAPIError", sqlite3.OperationalError(SECRET), connection_invalidated=True), OUTAGE),
    (wrapped("DBAPIError", None), INTERNAL),
    (sa.exc.DisconnectionError(SECRET), OUTAGE),
    (sa.exc.InvalidatePoolError(SECRET), OUTAGE),
    (sa.exc.NoDBAPILoaded(SECRET), INTERNAL),
]
