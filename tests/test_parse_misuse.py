"""
What is no answer at all: each mistake of a program is a TypeError that names the cure.
"""

import asyncio

import pytest
from mcp import Client, ClientSession
from mcp.server import MCPServer

from toolfault import parse, raise_for_error, suspect


READERS = [parse, suspect, raise_for_error]


async def call():
    return {"isError": True, "content": []}


async def stream():
    yield 1


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("make", [call, lambda: asyncio.Future(loop=asyncio.new_event_loop())])
def test_what_must_be_awaited(read, make):
    value = make()

    with pytest.raises(TypeError, match="not a coroutine: await it first"):
        read(value)

    value.close() if hasattr(value, "close") else value.get_loop().close()


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("value", "cure"),
    [
        (stream(), "an async generator: iterate over it first"),
        (MCPServer("x"), "a client or a server: pass what its call_tool returned"),
        (Client(MCPServer("x")), "a client or a server"),
        (object.__new__(ClientSession), "a client or a server"),
        (call, "a function or a class: call it"),
        (MCPServer, "a function or a class: call it"),
        (dict, "a function or a class: call it"),
        (3, "a number: pass the whole result"),
        (True, "a number"),
        (0.5, "a number"),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_each_mistake_is_named_with_its_cure(read, value, cure):
    with pytest.raises(TypeError, match=cure):
        read(value)


@pytest.mark.parametrize("value", [None, "text", b"bytes", [], (), {}, [{"type": "text", "text": "x"}], object()])
def test_what_a_tool_may_return_is_a_success(value):
    assert parse(value) is None
    assert suspect(value) is None
    assert raise_for_error(value) is value


class Odd:
    """
    An object whose class raises when it is asked for its methods.
    """

    def __getattribute__(self, name):
        raise RuntimeError(name)


def test_an_odd_object_is_no_mistake():
    assert parse(Odd()) is None
