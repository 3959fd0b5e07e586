"""
A tool author's module: functions that fail as tools fail.
"""

import errno
import json
import os
import subprocess


class RateLimitError(Exception):
    pass


class NotFoundError(Exception):
    pass


class AuthorError(Exception):
    pass


class OverTimeout(TimeoutError):
    pass


class Refused(ValueError):
    pass


def upstream():
    raise ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")


def over(kind, text, inner, **how):
    try:
        inner()
    except Exception as exc:
        if how.get("hidden"):
            raise kind(text.format(e=exc)) from None
        raise kind(text.format(e=exc)) from exc


def convert():
    int("seven")


def on_purpose():
    raise ValueError("no such city")


def missing_key():
    {}["city"]


def opens(path):
    with open(path):
        pass


def needs_environment():
    raise ValueError("Set the environment variable WEATHER_API_KEY first")


def reads_environment():
    return os.environ["TOOLFAULT_TEST_NOT_SET"]


def decode():
    json.loads("<html>busy</html>")


def runs_a_command():
    subprocess.run(["false", "--password", "hunter2"], check=True)


def raises(exc):
    raise exc


def not_written():
    raise NotImplementedError


def not_here():
    raise NotImplementedError("not on this platform")


def bare_key(key):
    raise KeyError(key)


def asserts():
    assert False, "never"


def grouped(*members):
    raise ExceptionGroup("several", list(members))


def bad_shape():
    raise TypeError("bad shape")


def calls(function):
    function()


def bad_query():
    import contextlib
    import sqlite3

    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.execute("SELECT * FROM nowhere")


def missing_attribute():
    value = None
    value["x"]


def divides():
    return 1 / 0


def raises_from(text, cause):
    raise ValueError(text) from cause
