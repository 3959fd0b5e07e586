"""
Raises and accidents in every kind of body.
"""
# ruff: noqa: B018, F821, PLC3002, PLR1708, PLW0108, SIM115 -- what a linter forbids is the point

import contextlib
import functools
import json

from purpose_acme.table import situation


# On purpose.


@situation("raise in a function", "P")
def raise_in_function():
    raise ValueError("no")


@situation("raise in a coroutine", "P")
async def raise_in_coroutine():
    raise ValueError("no")


@situation("raise in a generator", "P")
def raise_in_generator():
    def numbers():
        yield 1
        raise ValueError("no")

    return list(numbers())


@situation("raise in an async generator", "P")
async def raise_in_async_generator():
    async def numbers():
        yield 1
        raise ValueError("no")

    return [n async for n in numbers()]


@situation("raise in a context manager's body, on entry", "P")
def raise_in_context_manager():
    @contextlib.contextmanager
    def opened():
        raise ValueError("no")
        yield

    with opened():
        pass


@situation("raise in an async context manager's body, on entry", "P")
async def raise_in_async_context_manager():
    @contextlib.asynccontextmanager
    async def opened():
        raise ValueError("no")
        yield

    async with opened():
        pass


@situation("raise in a nested function", "P")
def raise_in_nested_function():
    def inner():
        raise ValueError("no")

    inner()


@situation("raise in a closure over the tool's variables", "P")
def raise_in_closure():
    n = 3

    def inner():
        raise ValueError(f"no {n}")

    inner()


situation("raise behind a lambda", "P")(lambda: raise_in_function())


@situation("raise in a property", "P")
def raise_in_property():
    class Thing:
        @property
        def size(self):
            raise ValueError("no")

    Thing().size


@situation("raise in a cached property", "P")
def raise_in_cached_property():
    class Thing:
        @functools.cached_property
        def size(self):
            raise ValueError("no")

    Thing().size


@situation("raise in a descriptor", "P")
def raise_in_descriptor():
    class Size:
        def __get__(self, instance, owner):
            raise ValueError("no")

    class Thing:
        size = Size()

    Thing().size


@situation("raise in __post_init__", "P")
def raise_in_post_init():
    import dataclasses

    @dataclasses.dataclass
    class Thing:
        size: int

        def __post_init__(self):
            raise ValueError("no")

    Thing(1)


@situation("raise in __init_subclass__", "P")
def raise_in_init_subclass():
    class Base:
        def __init_subclass__(cls):
            raise ValueError("no")

    class Sub(Base):
        pass


@situation("raise in a metaclass", "P")
def raise_in_metaclass():
    class Meta(type):
        def __new__(mcs, name, bases, space):
            raise ValueError("no")

    class Thing(metaclass=Meta):
        pass


@situation("raise in a class body", "P")
def raise_in_class_body():
    class Thing:
        raise ValueError("no")


@situation("raise in __next__", "P")
def raise_in_next():
    class Numbers:
        def __iter__(self):
            return self

        def __next__(self):
            raise ValueError("no")

    list(Numbers())


@situation("raise in __lt__", "P")
def raise_in_lt():
    class Thing:
        def __lt__(self, other):
            raise ValueError("no")

    sorted([Thing(), Thing()])


@situation("raise in __format__", "P")
def raise_in_format():
    class Thing:
        def __format__(self, spec):
            raise ValueError("no")

    f"{Thing():x}"


@situation("raise in __exit__", "P")
def raise_in_exit():
    class Thing:
        def __enter__(self):
            pass

        def __exit__(self, *args):
            raise ValueError("no")

    with Thing():
        pass


@situation("raise in match-case", "P")
def raise_in_match():
    match {"kind": "circle"}:
        case {"kind": kind}:
            raise ValueError(f"no {kind}")


@situation("raise in else of try", "P")
def raise_in_else():
    try:
        n = 1
    except ValueError:
        n = 2
    else:
        raise ValueError(f"no {n}")


@situation("raise in with", "P")
def raise_in_with():
    with contextlib.nullcontext():
        raise ValueError("no")


@situation("raise in an ExitStack", "P")
def raise_in_exit_stack():
    with contextlib.ExitStack() as stack:
        stack.callback(print, end="")
        raise ValueError("no")


@situation("raise with finally around it", "P")
def raise_in_finally():
    try:
        raise ValueError("no")
    finally:
        n = 1
        n += 1


@situation("raise in finally", "P")
def raise_inside_finally():
    try:
        n = 1
    finally:
        raise ValueError(f"no {n}")


@situation("raise in a comprehension's function", "P")
def raise_in_comprehension():
    return [raise_in_function() for _ in range(3)]


@situation("raise deep in a recursion", "P")
def raise_in_recursion(depth=50):
    if depth == 0:
        raise ValueError("no")
    raise_in_recursion(depth - 1)


@situation("raise far down in a long function", "P")
def raise_in_long_function():
    # Jumps and a long text before the instruction.
    n = [0]
    n += [1, 2, 3.5, "a", 4.5, "b", 5.5, "c", 6.5, "d", 7.5, "e", 8.5, "f", 9.5, "g", 10.5, "h", 11.5, "i", 12.5]
    for i in range(3):
        if i == 2:
            while True:
                raise ValueError(f"no {n[0]}{n[1]}{n[2]}{n[3]}{n[4]}{n[5]}{n[6]}{n[7]}{n[8]}{n[9]}{n[10]}{n[11]}")


@situation("raise a third-party class", "P")
def raise_httpx():
    import httpx

    raise httpx.ReadTimeout("the station does not answer")


@situation("raise SystemExit", "P")
def raise_system_exit():
    raise SystemExit(3)


@situation("raise an OSError", "P")
def raise_os_error():
    raise PermissionError("only below /data")


@situation("raise TypeError", "P")
def raise_type_error():
    raise TypeError("n must be a number")


@situation("raise KeyError from __missing__", "?", "P", because="the protocol demands that raise")
def raise_in_missing():
    class Table(dict):
        def __missing__(self, key):
            raise KeyError(key)

    Table()["k"]


@situation("raise IndexError from __getitem__", "?", "P", because="the protocol demands that raise")
def raise_in_getitem():
    class Table:
        def __getitem__(self, n):
            raise IndexError(n)

    Table()[3]


@situation("raise NotImplementedError", "?", "P", because="the class decides what it means")
def raise_not_implemented_error():
    raise NotImplementedError


# By accident.


@situation("int('x') in a function", "A")
def int_in_function():
    int("x")


@situation("{}['k'] in a coroutine", "A")
async def key_in_coroutine():
    {}["k"]


@situation("None.x in a generator", "A")
def attribute_in_generator():
    def numbers():
        yield None.x

    list(numbers())


@situation("unpacking in an async generator", "A")
async def unpacking_in_async_generator():
    async def numbers():
        a, b = (1,)
        yield a, b

    return [n async for n in numbers()]


@situation("a call with too few arguments in a context manager's body", "A")
def bad_call_in_context_manager():
    @contextlib.contextmanager
    def opened():
        raise_in_recursion(1, 2, 3)
        yield

    with opened():
        pass


@situation("1/0 in a nested function", "A")
def zero_in_nested_function():
    def inner():
        return 1 / 0

    inner()


@situation("an unbound local name", "A")
def unbound_local():
    if not zero:
        n = 1
    return n


zero = 1


@situation("an unbound global name", "A")
def unbound_global():
    return no_such_name


@situation("a missing import", "A")
def missing_import():
    import no_such_module_anywhere

    return no_such_module_anywhere


@situation("a missing name in an import", "A")
def missing_import_name():
    from json import no_such_name

    return no_such_name


@situation("a missing file", "A")
def missing_file():
    open("/no/such/file")


@situation("bytes that are no text", "A")
def bad_bytes():
    b"\xff".decode()


@situation("text that is no JSON", "A", because="the library raises on purpose, not the author")
def bad_json():
    json.loads("{")


@situation("int('x') in a comprehension", "A")
def int_in_comprehension():
    return [int(n) for n in ("1", "x")]


@situation("int('x') in an f-string", "A")
def int_in_f_string():
    return f"{int('x')}"


@situation("int('x') in a lambda", "A")
def int_in_lambda():
    (lambda text: int(text))("x")


@situation("int('x') in a property", "A")
def int_in_property():
    class Thing:
        @property
        def size(self):
            return int("x")

    Thing().size


@situation("int('x') in __post_init__", "A")
def int_in_post_init():
    import dataclasses

    @dataclasses.dataclass
    class Thing:
        size: str

        def __post_init__(self):
            self.size = int(self.size)

    Thing("x")


@situation("int('x') in match-case", "A")
def int_in_match():
    match {"kind": "circle"}:
        case {"kind": kind} if int(kind):
            pass


@situation("int('x') beside a raise in one line", "A")
def int_beside_raise():
    raise ValueError("no" if int("x") else "yes")


@situation("the message of a raise crashes", "A")
def crash_in_message():
    place = {}
    raise ValueError(f"no {place['city']}")


@situation("the class of a raise crashes", "A")
def crash_in_class():
    raise ValueError("no", *zero)


@situation("int('x') in a class body", "A")
def int_in_class_body():
    class Thing:
        size = int("x")


@situation("max of nothing", "A")
def max_of_nothing():
    max(())


@situation("pop from nothing", "A")
def pop_from_nothing():
    [].pop()


@situation("remove what is not there", "A")
def remove_nothing():
    {1}.remove(2)


@situation("an operator between wrong types", "A")
def wrong_types():
    1 + "x"


@situation("await what can't be awaited", "A")
async def wrong_await():
    await 3


@situation("with what is no context manager", "A")
def wrong_with():
    with 3:
        pass


@situation("a recursion without end", "A")
def endless():
    def inner(n):
        return inner(n + 1)

    inner(0)


@situation("a number out of range", "A")
def overflow():
    (-1).to_bytes(1)


@situation("next of nothing", "A")
def next_of_nothing():
    next(iter(()))


@situation("next of nothing in a generator", "A", because="the interpreter makes a RuntimeError of it")
def next_in_generator():
    def numbers():
        yield next(iter(()))

    list(numbers())


@situation("next of nothing in a coroutine", "A", because="the interpreter makes a RuntimeError of it")
async def next_in_coroutine():
    next(iter(()))


@situation("raise StopIteration in a generator", "A", because="the interpreter makes a RuntimeError of it")
def stop_in_generator():
    def numbers():
        yield 1
        raise StopIteration

    list(numbers())


@situation("raise StopIteration", "A", because="the class is a protocol")
def stop():
    raise StopIteration


@situation("StopAsyncIteration", "A", because="the class is a protocol")
async def stop_async():
    async def numbers():
        return
        yield

    await anext(numbers())


@situation("assert", "A")
def assertion():
    n = 0
    assert n > 0, "n must be positive"


@situation("raise AssertionError", "A", because="a bug, as its author says")
def raise_assertion():
    raise AssertionError("unreachable")


@situation("assert_never", "A")
def never():
    from typing import assert_never

    assert_never(3)


@situation("__getattr__ ends in raise AttributeError", "A", because="the class is a protocol")
def raise_in_getattr():
    class Thing:
        def __getattr__(self, name):
            raise AttributeError(name)

    Thing().size


@situation("sys.exit()", "A", because="a call, not a raise")
def exit_by_call():
    import sys

    sys.exit(3)


@situation("a key that is not in os.environ", "A")
def no_variable():
    import os

    os.environ["PURPOSE_NO_SUCH_VARIABLE"]
