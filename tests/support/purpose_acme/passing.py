"""
Raises in handlers, and errors that are passed on.
"""
# ruff: noqa: B904, PLE0704 -- passing errors on in odd ways is the point

import asyncio
import contextlib
import pickle
import sys
import traceback

import purpose_lib

from purpose_acme.errors import AcmeError, make_error
from purpose_acme.inner import helper
from purpose_acme.table import situation


def refuse():
    raise ValueError("no")


def crash():
    return int("x")


@situation("raise X() in a handler", "P")
def in_handler():
    try:
        crash()
    except ValueError:
        raise RuntimeError("no number")


@situation("raise X() from e", "P")
def in_handler_from():
    try:
        crash()
    except ValueError as e:
        raise RuntimeError("no number") from e


@situation("raise X() from None", "P")
def in_handler_from_none():
    try:
        crash()
    except ValueError:
        raise RuntimeError("no number") from None


@situation("raise X without an instance", "P")
def without_instance():
    try:
        crash()
    except ValueError:
        raise LookupError


@situation("raise make_error()", "P")
def made_elsewhere():
    raise make_error(3)


@situation("raise kind('x')", "P")
def by_variable():
    kind = ValueError
    raise kind("x")


@situation("raise an error that was made before", "P")
def made_before():
    error = ValueError("no")
    n = 1
    if n:
        raise error


PASSED = {}


def passed_on(name):
    def enter(function):
        PASSED[name] = function
        return function

    return enter


@passed_on("by a bare raise")
def bare(fail):
    try:
        fail()
    except ValueError:
        raise


@passed_on("by raise e")
def by_name(fail):
    try:
        fail()
    except ValueError as e:
        raise e


@passed_on("by raise e from None")
def by_name_from_none(fail):
    try:
        fail()
    except ValueError as e:
        raise e from None


@passed_on("with its own traceback")
def with_own_traceback(fail):
    try:
        fail()
    except ValueError as e:
        raise e.with_traceback(e.__traceback__)


@passed_on("by a helper")
def by_helper(fail):
    try:
        fail()
    except ValueError as e:
        helper.again(e)


@passed_on("after it was stored")
def stored(fail):
    kept = []
    try:
        fail()
    except ValueError as e:
        kept.append(e)
    raise kept.pop()


@passed_on("by a bare raise in a helper")
def bare_in_helper(fail):
    def log_and_raise():
        raise

    try:
        fail()
    except ValueError:
        log_and_raise()


@passed_on("through an __exit__ that lets it pass")
def through_exit(fail):
    with contextlib.suppress(KeyError), contextlib.ExitStack():
        fail()


@passed_on("through sys.exc_info()")
def through_exc_info(fail):
    try:
        fail()
    except ValueError:
        kind, value, tb = sys.exc_info()
        raise value.with_traceback(tb)


@passed_on("with a note")
def with_note(fail):
    try:
        fail()
    except ValueError as e:
        e.add_note("while counting")
        raise


@passed_on("with its frames cleared")
def cleared(fail):
    try:
        fail()
    except ValueError as e:
        traceback.clear_frames(e.__traceback__)
        raise


@passed_on("several times")
def again_and_again(fail):
    kept = None
    for _ in range(5):
        try:
            if kept is not None:
                raise kept
            fail()
        except ValueError as e:
            kept = e
    raise kept


@passed_on("by a library that retries")
def by_retrying(fail):
    purpose_lib.retrying(fail)()


@passed_on("by gather(return_exceptions=True)")
def by_gather(fail):
    async def run():
        async def part():
            fail()

        (result,) = await asyncio.gather(part(), return_exceptions=True)
        raise result

    asyncio.run(run())


class _Passing:
    """
    A tool of this module: passes on what a function raises.
    """

    def __init__(self, function, fail):
        self.function = function
        self.fail = fail

    def __call__(self):
        self.function(self.fail)


for _name, _function in PASSED.items():
    situation(f"a deliberate error is passed on {_name}", "P")(_Passing(_function, refuse))
    situation(f"an accident is passed on {_name}", "A")(_Passing(_function, crash))


@situation("an accident in finally replaces a deliberate error", "A")
def replaced_in_finally():
    try:
        refuse()
    finally:
        crash()


@situation("an accident in an ExitStack's callback replaces a deliberate error", "A")
def replaced_in_stack():
    with contextlib.ExitStack() as stack:
        stack.callback(crash)
        refuse()


@situation("an accident in a handler of a deliberate error", "A")
def replaced_in_handler():
    try:
        refuse()
    except ValueError as e:
        {}[e]


@situation("one object raised repeatedly", "P")
def one_object():
    error = ValueError("no")
    for _ in range(3):
        with contextlib.suppress(ValueError):
            raise error
    raise error


@situation("an accident raised anew without its traceback", "A", "P", because="the past was erased")
def erased():
    try:
        crash()
    except ValueError as e:
        raise e.with_traceback(None)


@situation("an accident raised anew after unpickling", "A", "P", because="the past was erased")
def unpickled():
    try:
        crash()
    except ValueError as e:
        raise pickle.loads(pickle.dumps(e))


@situation("raise New().with_traceback(old)", "P", "A", because="Python 2's idiom: the old place is the innermost")
def old_idiom():
    try:
        crash()
    except ValueError as e:
        raise RuntimeError("no number").with_traceback(e.__traceback__)


situation("throw into a generator, in a lambda", "P", "A", because="no raise instruction")(
    lambda: (_ for _ in ()).throw(ValueError("no"))
)


# What arrives without having been raised, or without its traceback.


@situation("an error of a builtin class that nobody raised", "?", "A")
def unraised():
    return ValueError("no")


@situation("an own error that nobody raised", "P", because="nothing but the author's code makes it")
def unraised_own():
    return AcmeError("no")


@situation("a deliberate error after unpickling", "?", "A", because="no traceback")
def deliberate_unpickled():
    try:
        refuse()
    except ValueError as e:
        return pickle.loads(pickle.dumps(e))


@situation("an own error after unpickling", "P")
def own_unpickled():
    return pickle.loads(pickle.dumps(AcmeError("no")))


@situation("a library fails a future with ValueError", "A")
def future_builtin():
    purpose_lib.failed_future(ValueError("no")).result()


@situation("a library fails a future with an own class", "P")
def future_own():
    purpose_lib.failed_future(AcmeError("no")).result()


@situation("a traceback that was rebuilt as tblib does", "?", "A")
def rebuilt():
    try:
        refuse()
    except ValueError as e:
        return purpose_lib.rebuilt(e)
