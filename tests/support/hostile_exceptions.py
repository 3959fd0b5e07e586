"""
Exceptions that no host expects, each by a name; nothing here needs toolfault or an SDK.
"""

import asyncio
import concurrent.futures

import anyio
import anyio.lowlevel
import anyio.to_thread
from pydantic import BaseModel, field_validator


class Own(BaseException):
    """
    An exception that is no Exception.
    """


#: What an overridden attribute raises when it is read.
RAISES = {
    "own": lambda: Own("hidden"),
    "value": lambda: ValueError("hidden"),
    "exit": lambda: SystemExit(3),
    "generator_exit": lambda: GeneratorExit("hidden"),
    "cancelled": lambda: asyncio.CancelledError("hidden"),
    "recursion": lambda: RecursionError("hidden"),
}

#: What hosts, loggers and error trackers read from an exception.
ATTRIBUTES = (
    "__str__ __repr__ __class__ __traceback__ __cause__ __context__ __suppress_context__ __notes__ __dict__ __eq__ "
    "__hash__ __bool__ __len__ __iter__ __getattribute__ __reduce__ __format__ args errno strerror filename code error "
    "errors response request status_code headers message detail data body retry_after name value"
).split()

BASES = {"value": ValueError, "os": OSError, "key": KeyError, "group": ExceptionGroup, "own": Own}

#: Exceptions that are what they say, but are no Exception, or mean something to an event loop.
KINDS = {
    "own": lambda: Own("m"),
    "generator_exit": lambda: GeneratorExit("m"),
    "generator_exit_subclass": lambda: type("Closing", (GeneratorExit,), {})("m"),
    "exit": lambda: SystemExit(3),
    "cancelled": lambda: asyncio.CancelledError("m"),
    "future_cancelled": lambda: concurrent.futures.CancelledError("m"),
    "stop": lambda: StopIteration("m"),
    "stop_async": lambda: StopAsyncIteration("m"),
    "memory": lambda: MemoryError("m"),
    "recursion": lambda: RecursionError("m"),
    "group_of_own": lambda: BaseExceptionGroup("m", [Own("m"), ValueError("m")]),
    "group_of_generator_exit": lambda: BaseExceptionGroup("m", [GeneratorExit("m")]),
    "surrogate": lambda: ValueError("\ud800 \udcff"),
    "huge_int": lambda: OSError(10**5000, "m"),
}


def hostile(base, attribute, raised):
    """
    Make an exception one of whose attributes raises.
    """

    def read(*_):
        made = RAISES[raised]()
        raise made

    is_method = attribute.startswith("__") and attribute not in {
        "__class__",
        "__traceback__",
        "__cause__",
        "__context__",
        "__suppress_context__",
        "__notes__",
        "__dict__",
    }
    kind = type("Hostile", (BASES[base],), {attribute: read if is_method else property(read)})
    return kind("m", [ValueError("inner")]) if base == "group" else kind("m")


def of_name(name):
    """
    Make the exception of a name: ``kind`` or ``base.attribute.raised``.
    """
    if name in KINDS:
        return KINDS[name]()
    return hostile(*name.split("."))


class _Checked(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def _raise(cls, name):
        raise of_name(name)


async def in_body(name):
    raise of_name(name)


async def after_a_pause(name):
    await anyio.lowlevel.checkpoint()
    raise of_name(name)


async def in_a_thread(name):
    def work():
        raise of_name(name)

    await anyio.to_thread.run_sync(work)


async def in_a_task(name):
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(in_body, name)


async def in_a_validator(name):
    _Checked(name=name)


async def thrown_into_a_generator(name):
    def generate():
        yield 1

    generator = generate()
    next(generator)
    generator.throw(of_name(name))


async def as_a_cause(name):
    raise ValueError("outer") from of_name(name)


async def while_handling(name):
    try:
        raise of_name(name)
    except BaseException:
        raise LookupError("outer")  # noqa: B904 -- the implicit context


PLACES = {
    place.__name__: place
    for place in (
        in_body,
        after_a_pause,
        in_a_thread,
        in_a_task,
        in_a_validator,
        thrown_into_a_generator,
        as_a_cause,
        while_handling,
    )
}

#: What no host can answer. SystemExit in a child task leaves the event loop before any host sees it; a task group
#: takes a CancelledError of its child for no failure; asyncio throws the GeneratorExit of a future into the outermost
#: coroutine of the task, which closes all others.
NOT_ANSWERABLE = {
    ("in_a_task", "exit"),
    ("in_a_task", "cancelled"),
    ("in_a_thread", "generator_exit"),
    ("in_a_thread", "generator_exit_subclass"),
}

EVERYWHERE = [(place, name) for place in PLACES for name in KINDS if (place, name) not in NOT_ANSWERABLE]
ATTACKS = [
    *EVERYWHERE,
    *(("in_body", f"{base}.{attribute}.{raised}") for base in BASES for attribute in ATTRIBUTES for raised in RAISES),
]


async def attack(place: str, name: str) -> str:
    await PLACES[place](name)
    return "nothing was raised"


def attack_sync(name: str) -> str:
    raise of_name(name)
