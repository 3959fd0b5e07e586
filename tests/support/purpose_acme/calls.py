"""
Raises and accidents in what a library calls, and in what a library raises.
"""
# ruff: noqa: B018, PLW0108 -- what a linter forbids is the point

import ast
import collections
import contextlib
import copy
import enum
import functools
import io
import ipaddress
import json
import operator
import pickle
import re
import sqlite3
import string
import uuid
import xml.sax

import attrs
import purpose_lib

from purpose_acme.errors import AcmeError
from purpose_acme.table import situation


def refuse(*args, **kwargs):
    raise ValueError("no")


def crash(*args, **kwargs):
    return int("x")


class Color(enum.Enum):
    RED = "red"


class Refusing(enum.Enum):
    RED = "red"

    @classmethod
    def _missing_(cls, value):
        raise ValueError(f"no {value}, only red")


@attrs.define
class Bounded:
    size: int = attrs.field()

    @size.validator
    def _check(self, attribute, value):
        if value < 1:
            raise ValueError("size must be positive")


@attrs.define
class Crashing:
    size: int = attrs.field(converter=int)


class Handler(xml.sax.ContentHandler):
    def startElement(self, name, attributes):
        raise ValueError(f"no {name}")


class Visitor(ast.NodeVisitor):
    def visit_Name(self, node):
        raise ValueError(f"no {node.id}")


class Copied:
    def __deepcopy__(self, memo):
        raise ValueError("not to be copied")

    def __reduce__(self):
        raise ValueError("not to be pickled")


CALLERS = {
    "sorted's key": lambda function: sorted([1, 2], key=function),
    "max's key": lambda function: max([1, 2], key=function),
    "map": lambda function: list(map(function, [1])),
    "filter": lambda function: list(filter(function, [1])),
    "reduce": lambda function: functools.reduce(function, [1, 2]),
    "a JSON hook": lambda function: json.loads("{}", object_hook=function),
    "json.dumps' default": lambda function: json.dumps(object(), default=function),
    "re.sub": lambda function: re.sub("a", function, "a"),
    "iter": lambda function: list(iter(function, 3)),
    "defaultdict": lambda function: collections.defaultdict(function)["k"],
    "lru_cache": lambda function: functools.lru_cache(function)(3),
    "operator.call": lambda function: operator.call(function),
    "a library's call": lambda function: purpose_lib.call(function),
    "an ExitStack's callback": lambda function: _stack(function),
}


def _stack(function):
    with contextlib.ExitStack() as stack:
        stack.callback(function)


for _name, _caller in CALLERS.items():
    situation(f"raise in {_name}", "P")(functools.partial(_caller, refuse))
    situation(f"int('x') in {_name}", "A")(functools.partial(_caller, crash))


@situation("raise in an enum's _missing_", "P")
def enum_missing():
    Refusing("blue")


@situation("enum look-up", "A")
def enum_lookup():
    Color("blue")


@situation("raise in an attrs validator", "P")
def attrs_validator():
    Bounded(0)


@situation("an attrs converter fails", "A")
def attrs_converter():
    Crashing("x")


@situation("raise in a context manager that translates", "P")
def translating():
    @contextlib.contextmanager
    def translated():
        try:
            yield
        except ZeroDivisionError as e:
            raise AcmeError("no divisor") from e

    with translated():
        1 / 0


@situation("raise of a builtin class in a context manager that translates", "P")
def translating_to_builtin():
    @contextlib.contextmanager
    def translated():
        try:
            yield
        except ZeroDivisionError as e:
            raise ValueError("no divisor") from e

    with translated():
        1 / 0


@situation("raise in a SAX handler", "P")
def sax():
    xml.sax.parse(io.StringIO("<a/>"), Handler())


@situation("raise in a node visitor", "P")
def visitor():
    Visitor().visit(ast.parse("x"))


@situation("raise in __deepcopy__", "P")
def deepcopied():
    copy.deepcopy([Copied()])


@situation("raise in __reduce__", "P")
def pickled():
    pickle.dumps(Copied())


@situation("raise in singledispatch", "P")
def dispatched():
    functools.singledispatch(refuse)(3)


@situation("raise in a formatter", "P")
def formatted():
    class Formatter(string.Formatter):
        def get_value(self, key, args, kwargs):
            raise ValueError(f"no {key}")

    Formatter().format("{x}")


@situation("raise in a function that SQLite calls", "?", "A", because="SQLite makes an error of its own")
def sqlite_function():
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("refuse", 0, refuse)
        connection.execute("select refuse()")


@situation("uuid.UUID of no UUID", "A", because="the library raises; the caller's text is often to blame")
def no_uuid():
    uuid.UUID("x")


@situation("ipaddress of no address", "A", because="the library raises; the caller's text is often to blame")
def no_address():
    ipaddress.ip_address("x")


@situation("a library refuses with its own class", "A")
def library_refuses():
    purpose_lib.refuse()


@situation("a library refuses with ValueError", "A")
def library_refuses_value():
    purpose_lib.refuse_value()


@situation("a library translates a deliberate error", "A", because="judge its cause")
def library_translates():
    purpose_lib.call_translating(refuse)


@situation("httpx raises for a status", "A")
def httpx_status():
    import httpx

    httpx.Response(503, request=httpx.Request("GET", "http://a/")).raise_for_status()


@situation("a library raises the author's class", "P", because="nothing but the author's code knows it")
def library_raises_own():
    purpose_lib.raise_class(AcmeError)


@situation("argparse refuses", "A", because="SystemExit, raised by the library")
def argparse_exit():
    import argparse
    import contextlib

    with contextlib.redirect_stderr(io.StringIO()):
        argparse.ArgumentParser().parse_args(["--no-such-option"])


@situation("raise in an argparse type", "P", "A", because="argparse replaces the error")
def argparse_type():
    import argparse

    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("n", type=refuse)
    parser.parse_args(["3"])
