"""
Where a raise instruction stands, and is not the author's word: the interpreter's own errors, and generated code.
"""
# ruff: noqa: B016, F901, PLE0704, PYI024, SIM105 -- what a linter forbids is the point

import collections
import dataclasses

import purpose_lib

from purpose_acme.table import situation


class NeedsTwo(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


@situation("raise NotImplemented", "A")
def raise_not_implemented():
    raise NotImplemented


@situation("raise 'text'", "A")
def raise_text():
    raise "text"


@situation("raise None", "A")
def raise_none():
    raise None


@situation("raise a class that needs arguments", "A")
def raise_needy():
    raise NeedsTwo


@situation("raise ExceptionGroup", "A")
def raise_group_class():
    raise ExceptionGroup


@situation("raise UnicodeDecodeError", "A")
def raise_unicode_class():
    raise UnicodeDecodeError


@situation("raise X from 3", "A")
def raise_from_number():
    raise ValueError("no") from 3


@situation("raise None in code that names TypeError", "A", "P", because="can't be told from raise TypeError(...)")
def raise_none_beside_type_error():
    n = None
    if n == 3:
        raise TypeError("n must not be 3")
    raise n


KIND = TypeError


@situation("raise a TypeError in code that does not name it", "P", "A", because="can't be told from raise None")
def raise_type_error_by_variable():
    raise KIND("n must be a number")


@situation("bare raise with nothing to raise", "A")
def bare():
    raise


@situation("bare raise with nothing to raise, after a handler", "A")
def bare_after_handler():
    try:
        int("x")
    except ValueError:
        pass
    raise


@dataclasses.dataclass(frozen=True)
class Frozen:
    size: int


@situation("a frozen dataclass is assigned to", "A")
def assign_frozen():
    Frozen(1).size = 2


@situation("a named tuple is made with too many", "A")
def named_tuple():
    collections.namedtuple("Point", "x y")(1, 2, 3)


SENT = "raise ValueError('from the text that was sent')"


@situation("code of the caller raises, in the author's namespace", "A")
def exec_sent():
    purpose_lib.run_text(SENT, globals())


@situation("code of the caller raises, in a namespace of its own", "A")
def exec_sent_apart():
    purpose_lib.run_text(SENT, {"__name__": "purpose_acme.sent"})


@situation("code of the caller has an accident", "A")
def exec_accident():
    purpose_lib.run_text("int('x')", globals())


@situation("code of the caller raises under a file's name", "A", "P", because="nothing tells it from the author's")
def exec_named():
    purpose_lib.run_text(SENT, globals(), "sent.py")


@situation("code of the caller, under a file's name and in its own namespace", "A")
def exec_named_apart():
    purpose_lib.run_text(SENT, {}, "sent.py")


@situation("eval of the caller's text", "A")
def eval_sent():
    eval("int('x')")
