"""
SQLite, by really raised exceptions.
"""

import sqlite3

import pytest


OUTAGE = ("internal", "transient", True)
INTERNAL = ("internal", "permanent", False)
ARGUMENTS = ("invalid_arguments", "validation", False)
PANICKED = ("tool_panicked", "permanent", False)


class Connection(sqlite3.Connection):
    """
    Closes itself at the end of a block.
    """

    def __exit__(self, *_):
        self.close()


def connect(*args, **options):
    return sqlite3.connect(*args, factory=Connection, timeout=0, **options)


def a_locked_file(path):
    with connect(path / "db") as one, connect(path / "db") as two:
        one.execute("CREATE TABLE t (x)")
        one.execute("BEGIN EXCLUSIVE")
        two.execute("INSERT INTO t VALUES ('NOTREAL')")


def a_locked_table(path):
    uri = f"file:{path.name}?mode=memory&cache=shared"
    with connect(uri, uri=True) as one, connect(uri, uri=True) as two:
        one.execute("CREATE TABLE t (x)")
        one.execute("BEGIN")
        one.execute("INSERT INTO t VALUES (1)")
        two.execute("SELECT * FROM t")


def a_file_that_cannot_be_written(path):
    (path / "db").write_bytes(b"")
    with connect(f"file:{path}/db?mode=ro", uri=True) as db:
        db.execute("CREATE TABLE NOTREAL (x)")


def a_file_that_is_not_there(path):
    with connect(path / "NOTREAL" / "db") as db:
        db.execute("SELECT 1")


def a_file_that_is_no_database(path):
    (path / "db").write_bytes(b"NOTREAL " * 1000)
    with connect(path / "db") as db:
        db.execute("SELECT * FROM t")


def a_damaged_file(path):
    with connect(path / "db") as db:
        db.execute("CREATE TABLE t (x)")
        db.executemany("INSERT INTO t VALUES (?)", [("NOTREAL" * 100,)] * 100)
        db.commit()
    data = bytearray((path / "db").read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    (path / "db").write_bytes(data)
    with connect(path / "db") as db:
        db.execute("SELECT * FROM t").fetchall()


def a_full_file(path):
    with connect(path / "db") as db:
        db.execute("CREATE TABLE t (x)")
        db.execute("PRAGMA max_page_count = 2")
        db.executemany("INSERT INTO t VALUES (?)", [("NOTREAL" * 1000,)] * 10)


def an_interrupted_query(path):
    with connect(":memory:") as db:
        db.set_progress_handler(lambda: 1, 1)
        db.execute("SELECT 1")


def violates(table, statement):
    def run(path):
        with connect(":memory:") as db:
            db.execute("PRAGMA foreign_keys = on")
            db.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
            db.execute(table)
            db.execute(statement, ("NOTREAL",))
            db.execute(statement, ("NOTREAL",))

    return run


def runs(statement, *values, script=None):
    def run(path):
        with connect(":memory:") as db:
            db.execute(statement, values)

    return run


def a_value_that_is_too_big(path):
    with connect(":memory:") as db:
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100)
        db.execute("SELECT ?", ("NOTREAL" * 100,))


def a_closed_connection(path):
    db = connect(":memory:")
    db.close()
    db.execute("SELECT 'NOTREAL'")


def an_action_that_is_not_allowed(path):
    with connect(":memory:") as db:
        db.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)
        db.execute("SELECT 'NOTREAL'")


CASES = [
    (a_locked_file, OUTAGE, "(SQLITE_BUSY)"),
    (a_locked_table, OUTAGE, "(SQLITE_LOCKED_SHAREDCACHE)"),
    (a_file_that_cannot_be_written, INTERNAL, "(SQLITE_READONLY)"),
    (a_file_that_is_not_there, INTERNAL, "(SQLITE_CANTOPEN)"),
    (a_file_that_is_no_database, INTERNAL, "(SQLITE_NOTADB)"),
    (a_damaged_file, INTERNAL, "(SQLITE_CORRUPT"),
    (a_full_file, INTERNAL, "(SQLITE_FULL)"),
    (an_interrupted_query, ("tool_timeout", "transient", True), "(SQLITE_INTERRUPT)"),
    (
        violates("CREATE TABLE t (x TEXT UNIQUE)", "INSERT INTO t VALUES (?)"),
        ARGUMENTS,
        "UNIQUE constraint on t.x (SQLITE_CONSTRAINT_UNIQUE)",
    ),
    (
        violates("CREATE TABLE t (x, y NOT NULL)", "INSERT INTO t (x) VALUES (?)"),
        ARGUMENTS,
        "NOT NULL constraint on t.y (SQLITE_CONSTRAINT_NOTNULL)",
    ),
    (
        violates("CREATE TABLE t (x CHECK (x <> 'NOTREAL'))", "INSERT INTO t VALUES (?)"),
        ARGUMENTS,
        "CHECK constraint (SQLITE_CONSTRAINT_CHECK)",
    ),
    (
        violates("CREATE TABLE t (x REFERENCES parent)", "INSERT INTO t VALUES (?)"),
        ARGUMENTS,
        "FOREIGN KEY constraint (SQLITE_CONSTRAINT_FOREIGNKEY)",
    ),
    (
        violates("CREATE TABLE t (x INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (?)"),
        ARGUMENTS,
        "(SQLITE_MISMATCH)",
    ),
    (a_value_that_is_too_big, ARGUMENTS, "(SQLITE_TOOBIG)"),
    (runs("SELEC 'NOTREAL'"), PANICKED, "does not accept (SQLITE_ERROR)"),
    (runs("SELECT 'NOTREAL' FROM orders_2"), PANICKED, "there is no table orders_2 (SQLITE_ERROR)"),
    (runs("SELECT \"NOT REAL\" + amout + 'NOTREAL' FROM (SELECT 1)"), PANICKED, "there is no column amout"),
    (runs("SELECT ?", "NOTREAL", "NOTREAL"), PANICKED, "The tool uses the database in a way"),
    (runs("SELECT 1; SELECT 'NOTREAL'"), PANICKED, "The tool uses the database in a way"),
    (a_closed_connection, PANICKED, "The tool uses the database in a way"),
    (an_action_that_is_not_allowed, ("internal", "auth", False), "(SQLITE_AUTH)"),
]


@pytest.mark.parametrize(("fail", "expected", "shown"), CASES, ids=[f"{i}" for i, _ in enumerate(CASES)])
def test_sqlite(tmp_path, caught, facts, verdict_on, fail, expected, shown):
    """
    By the result code; neither the statement nor a value is shown.
    """
    exc = caught(lambda: fail(tmp_path))
    verdict = verdict_on(exc)

    assert expected == facts(exc)
    assert shown in verdict.message
    assert "NOTREAL" not in verdict.message
    assert verdict.family == "database"
    assert verdict.blames_values is (expected == ARGUMENTS)


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("SQLITE_ERROR", "no such column: hunter2 OR 1=1", "does not accept (SQLITE_ERROR)"),
        ("SQLITE_ERROR", "no such table: " + "a" * 1000, "does not accept (SQLITE_ERROR)"),
        (
            "SQLITE_CONSTRAINT_CHECK",
            "CHECK constraint failed: enough",
            "CHECK constraint enough (SQLITE_CONSTRAINT_CHECK)",
        ),
        (
            "SQLITE_CONSTRAINT_CHECK",
            "CHECK constraint failed: password > 'x'",
            "CHECK constraint (SQLITE_CONSTRAINT_CHECK)",
        ),
        (
            "SQLITE_CONSTRAINT_TRIGGER",
            "no mail for hunter2",
            "The database refused the values (SQLITE_CONSTRAINT_TRIGGER)",
        ),
        ("SQLITE_NEW_IN_2030", "hunter2", "The database failed (SQLITE_NEW_IN_2030)"),
        ("nonsense hunter2", "hunter2", "The database failed."),
        (None, "hunter2", "The database failed."),
    ],
)
def test_a_text_is_believed_only_if_it_names_something(verdict_on, name, text, shown):
    """
    An expression, a value or a trigger's message is not our sentence.
    """
    exc = sqlite3.OperationalError(text)
    exc.sqlite_errorname = name
    message = verdict_on(exc).message

    assert shown in message
    assert "hunter2" not in message
    assert "password" not in message
