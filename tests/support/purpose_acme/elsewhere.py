"""
Helpers near and far, and what stands around a tool.
"""
# ruff: noqa: PLW0108 -- what a linter forbids is the point

import functools

import purpose_lib

import purpose_acme_core
import purpose_ns.one
from purpose_acme import bodies
from purpose_acme.errors import AcmeError, NoSuchColumn
from purpose_acme.inner import helper
from purpose_acme.table import situation


def refuse():
    raise ValueError("no")


def crash():
    return int("x")


async def refuse_later():
    raise ValueError("no")


async def crash_later():
    return int("x")


@situation("a helper in the same package raises", "P")
def same_package():
    bodies.raise_in_function()


@situation("a helper in a subpackage raises", "P")
def subpackage():
    helper.check(0)


@situation("a helper in a subpackage has an accident", "A")
def subpackage_crash():
    helper.crash("x")


@situation(
    "a helper in the author's other distribution raises",
    "P",
    installed="A",
    also="P",
    because="in site-packages nothing says that it is the author's",
)
def other_distribution():
    purpose_acme_core.check(0)


@situation("a helper in the author's other distribution has an accident", "A")
def other_distribution_crash():
    purpose_acme_core.crash("x")


@situation("an own class of the other distribution", "P", installed="A", also="P", because="as its raise")
def other_distribution_class():
    purpose_lib.raise_class(purpose_acme_core.CoreError)


situation("a helper in the author's part of a namespace package raises", "P")(purpose_ns.one.helped)
situation("another distribution in the same namespace package raises", "A")(purpose_ns.one.through_a_stranger)

situation("an accident wrapped by a decorator of the other distribution", "A", "P", installed="A", also="P",
          because="a deliberate raise all the same: judge what it was raised from")(
    purpose_acme_core.anything_is_mine(crash)
)  # fmt: skip


@situation("an own class that derives from AttributeError", "P", because="an own class is never a crash")
def own_attribute_error():
    raise NoSuchColumn("no column of that name")


@situation("an own class", "P")
def own_class():
    raise AcmeError("no")


@situation("an accident that has an own class as its cause", "A")
def own_class_as_cause():
    try:
        raise AcmeError("no")
    except AcmeError:
        crash()


# What stands around a tool.


def _wrapping(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


class Tools:
    @classmethod
    def refuse_class(cls):
        raise ValueError("no")

    @staticmethod
    def refuse_static():
        raise ValueError("no")

    def refuse(self):
        raise ValueError("no")

    def crash(self):
        return int("x")


class Callable:
    def __init__(self, function):
        self.function = function

    def __call__(self):
        return self.function()


class Permissive(Callable):
    """
    A callable object that answers to every name.
    """

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self


WRAPPERS = {
    "a partial": functools.partial,
    "a partial of a partial": lambda function: functools.partial(functools.partial(function)),
    "functools.wraps": _wrapping,
    "functools.wraps twice": lambda function: _wrapping(_wrapping(function)),
    "a partial of functools.wraps": lambda function: functools.partial(_wrapping(function)),
    "lru_cache": functools.lru_cache,
    "singledispatch": lambda function: functools.partial(functools.singledispatch(lambda n: function()), 3),
    "a transparent proxy": purpose_lib.Proxy,
    "a callable object": Callable,
    "a callable object that answers to every name": Permissive,
    "a library that retries": purpose_lib.retrying,
    "a static method": lambda function: staticmethod(function),
}

for _name, _wrap in WRAPPERS.items():
    situation(f"raise under {_name}", "P")(_wrap(refuse))
    situation(f"int('x') under {_name}", "A")(_wrap(crash))

situation("raise in a bound method", "P")(Tools().refuse)
situation("int('x') in a bound method", "A")(Tools().crash)
situation("raise in a class method", "P")(Tools.refuse_class)
situation("raise in a static method", "P")(Tools.refuse_static)
situation("raise in a function, not in the method it became", "P")(functools.partial(Tools.refuse, None))
situation("raise in a coroutine under a library that retries", "P")(purpose_lib.retrying_async(refuse_later))
situation("int('x') in a coroutine under a library that retries", "A")(purpose_lib.retrying_async(crash_later))
situation("raise under a decorator without wraps", "P", "A", because="the library's function is all that is seen")(
    purpose_lib.decorated_without_wraps(refuse)
)
situation("int('x') under a decorator without wraps", "A")(purpose_lib.decorated_without_wraps(crash))
situation("attempts used up", "A", because="the library's own word: judge its cause")(
    purpose_lib.retrying_wrapped(refuse)
)


@situation("the cause of attempts used up, deliberate", "P")
def retry_cause():
    try:
        purpose_lib.retrying_wrapped(refuse)()
    except purpose_lib.RetryError as e:
        return e.__cause__


@situation("the cause of attempts used up, an accident", "A")
def retry_cause_crash():
    try:
        purpose_lib.retrying_wrapped(crash)()
    except purpose_lib.RetryError as e:
        return e.__cause__
