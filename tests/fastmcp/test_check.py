"""
`toolfault.testing.check` on FastMCP 4, plain and with the middleware.
"""

from fastmcp import FastMCP
from mcp.types import ToolAnnotations

from toolfault.integrations.fastmcp import ToolFaultMiddleware
from toolfault.testing import check


def make_server(*, guarded):
    calls, lives = [], []

    class Life:
        async def __aenter__(self):
            lives.append("begun")
            return {}

        async def __aexit__(self, *_):
            lives.append("ended")

    server = FastMCP("shop", lifespan=lambda _: Life())

    @server.tool(annotations=ToolAnnotations(readOnlyHint=True))
    def half(n: int) -> int:
        calls.append(n)
        return n // 2

    if guarded:
        server.add_middleware(ToolFaultMiddleware())
    return server, calls, lives


def test_a_server_is_checked_in_memory():
    levels = {}
    for guarded in (False, True):
        server, calls, lives = make_server(guarded=guarded)
        report = check(server, has_upstream=False)
        levels[guarded] = report.reached_level

        assert report.server.startswith("shop")
        assert calls == []
        assert lives.count("begun") == lives.count("ended") > 1

    assert levels[True] == 4
    assert levels[False] < 4
