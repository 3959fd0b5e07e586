"""
FastMCP's client, wrapped: its session makes the attempts. No test sleeps.
"""

import anyio
import fastmcp
import pytest
from fastmcp.exceptions import ToolError
from mcp.types import ToolAnnotations

from toolfault import Retry, ToolFault, parse
from toolfault.integrations.fastmcp import ToolFaultMiddleware
from toolfault.integrations.mcp import retrying


READS = ToolAnnotations(readOnlyHint=True)


class World:
    """
    A server whose tools fail twice before they work.
    """

    def __init__(self, failures=2):
        self.calls = []
        self.waits = []
        self.made = []
        self.failures = failures
        self.retry = Retry(sleep=self.sleep, random=lambda: 0.0, on_attempt=(self.made.append,))

    async def sleep(self, seconds):
        self.waits.append(seconds)

    def server(self):
        server = fastmcp.FastMCP("weather")
        server.add_middleware(ToolFaultMiddleware())

        def turn(name):
            self.calls.append(name)
            if len(self.calls) <= self.failures:
                raise ToolFault("quota_exceeded", "The limit is reached", retry_after_seconds=7)
            return "done"

        @server.tool(annotations=READS)
        def forecast(city: str) -> str:
            return turn("forecast")

        @server.tool
        def order(article: str = "map") -> str:
            return turn("order")

        return server


def run(main):
    return anyio.run(main)


@pytest.mark.parametrize("how", ["call_tool", "call_tool_mcp"])
def test_a_read_is_tried_again(how):
    world = World()

    async def main():
        async with retrying(fastmcp.Client(world.server()), world.retry) as client:
            return await getattr(client, how)("forecast", {"city": "Bergen"})

    result = run(main)

    assert parse(result) is None
    assert result.content[0].text == "done"
    assert world.calls == ["forecast"] * 3
    assert world.waits == [7.0, 7.0]


def test_a_client_that_is_connected_can_be_wrapped_and_stays_as_it_was():
    world = World()

    async def main():
        async with fastmcp.Client(world.server()) as client:
            with pytest.raises(ToolError):
                await client.call_tool("forecast", {"city": "Bergen"})
            assert type(client) is fastmcp.Client
            result = await retrying(client, world.retry).call_tool("forecast", {"city": "Bergen"})
            assert isinstance(retrying(client), fastmcp.Client)
            return result

    assert run(main).data == "done"
    assert world.calls == ["forecast"] * 3


@pytest.mark.parametrize(
    ("options", "calls"), [({}, 1), ({"idempotent": True}, 3), ({"idempotent": False}, 1)], ids=["", "may", "may not"]
)
def test_the_callers_word(options, calls):
    world = World()
    attempts = []

    async def main():
        async with retrying(fastmcp.Client(world.server()), world.retry) as client:
            return await client.call_tool("order", raise_on_error=False, on_attempt=attempts.append, **options)

    assert (parse(run(main)) is None) is (calls == 3)
    assert world.calls == ["order"] * calls
    assert attempts == world.made


def test_a_client_that_is_wrapped_already_gets_the_new_rules():
    world, other = World(failures=9), World()

    async def main():
        client = retrying(fastmcp.Client(world.server()), other.retry)
        async with client:
            with pytest.raises(ToolError):
                await client.call_tool("forecast", {"city": "Bergen"})
            with pytest.raises(ToolError):
                await retrying(client, world.retry).call_tool("forecast", {"city": "Bergen"})

    run(main)

    assert world.calls == ["forecast"] * 6
    assert (len(other.made), len(world.made)) == (3, 3)


def test_a_copy_that_a_framework_makes_tries_again():
    world = World()

    async def main():
        async with retrying(fastmcp.Client(world.server()), world.retry).new() as client:
            return await client.call_tool("forecast", {"city": "Bergen"})

    assert run(main).data == "done"
    assert world.calls == ["forecast"] * 3


def test_what_is_raised_can_tell_a_model_everything():
    world = World(failures=9)

    async def main():
        async with retrying(fastmcp.Client(world.server()), world.retry, rewrite=True) as client:
            with pytest.raises(ToolError) as caught:
                await client.call_tool("forecast", {"city": "Bergen"})
            return str(caught.value)

    assert run(main) == (
        "The limit is reached\n[quota_exceeded] The call was tried 3 times. "
        "The same call may succeed if it is retried after 7 seconds."
    )
