"""
The extension is said by both sides, and needed by neither.
"""

import anyio
import pytest
from mcp import Client
from mcp.client import advertise as sdk_advertise
from mcp.server import MCPServer
from mcp.server.extension import Extension
from mcp.server.lowlevel import Server
from mcp.types import ListToolsResult, Tool

from failures import ERAS, in_session
from toolfault import McpErrorCode, parse
from toolfault.integrations.mcp import GuardedMCPServer, advertise, install


#: What a server says reaches a client in the modern era only: mcp 2.3 strikes `extensions` out of an answer to
#: `initialize`, whose revisions did not have it. What a client says arrives in both.
CARRIED = {"auto"}

KEY = "io.github.toolfault/error"
SETTINGS = {"version": 1, "codes": [code.value for code in McpErrorCode if code is not McpErrorCode.UNKNOWN]}


class Other(Extension):
    identifier = "com.example/other"

    def settings(self):
        return {"level": 3}


class Ours(Extension):
    identifier = KEY

    def settings(self):
        return {"version": 1, "codes": ["internal"]}


async def list_tools(ctx, params):
    return ListToolsResult(tools=[Tool(name="t", input_schema={"type": "object"})])


async def fails(ctx, params):
    raise ValueError(f"extensions: {sorted(extensions_of(ctx))}")


def extensions_of(ctx):
    params = ctx.session.client_params
    return (params.capabilities.extensions if params else None) or {}


def mcpserver(**options):
    server = install(MCPServer("one", log_level="CRITICAL", **options))

    @server.tool()
    async def t() -> str:
        raise ValueError("no such city")

    return server


def said_by(server, era, **options):
    async def run():
        async with Client(server, mode=era, **options) as client:
            return client.server_capabilities.extensions, await client.call_tool("t", {})

    return anyio.run(run)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "make",
    [
        mcpserver,
        lambda: GuardedMCPServer("one", log_level="CRITICAL"),
        lambda: install(Server("one", on_list_tools=list_tools, on_call_tool=fails)),
    ],
    ids=["mcpserver", "subclass", "lowlevel"],
)
def test_a_guarded_server_says_so(make, era):
    extensions, result = said_by(make(), era)

    assert extensions == ({KEY: SETTINGS} if era in CARRIED else None)
    assert parse(result) is not None


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", ["stdio", "http"])
@pytest.mark.parametrize("server", ["fault_server", "lowlevel_server"])
def test_it_travels(server, way, era):
    async def steps(client):
        assert client.server_capabilities.extensions == ({KEY: SETTINGS} if era in CARRIED else None)

    in_session(server, way, era, steps)


def test_other_extensions_stay_and_one_of_this_name_stands():
    assert said_by(mcpserver(extensions=[Other()]), "auto")[0] == {"com.example/other": {"level": 3}, KEY: SETTINGS}
    assert said_by(mcpserver(extensions=[Ours()]), "auto")[0] == {KEY: {"version": 1, "codes": ["internal"]}}


@pytest.mark.parametrize("era", ERAS)
def test_an_unguarded_server_says_nothing(era):
    server = MCPServer("one", log_level="CRITICAL")

    @server.tool()
    async def t() -> str:
        return "fine"

    assert KEY not in (said_by(server, era)[0] or {})


@pytest.mark.parametrize("era", ERAS)
def test_a_client_says_so_and_loses_nothing_if_it_does_not(era):
    def answer(**options):
        server = install(Server("one", on_list_tools=list_tools, on_call_tool=fails))
        return said_by(server, era, **options)[1].structured_content

    silent, speaking = answer(), answer(extensions=[sdk_advertise("com.example/other"), advertise()])

    assert silent["message"] == "extensions: []"
    assert speaking["message"] == f"extensions: ['com.example/other', '{KEY}']"
    assert silent | {"message": ""} == speaking | {"message": ""}


def test_what_a_client_says():
    said = advertise()

    assert len(SETTINGS["codes"]) == 9
    assert (said.identifier, said.settings()) == (KEY, SETTINGS)


@pytest.mark.parametrize("era", ERAS)
def test_a_server_without_a_place_for_it_fails_no_less_well(era, monkeypatch):
    """
    Another SDK may keep its extensions elsewhere.
    """
    made = MCPServer("one", log_level="CRITICAL")
    monkeypatch.setattr(made._lowlevel_server, "extensions", ())
    install(made)
    monkeypatch.setattr(made._lowlevel_server, "extensions", {})

    @made.tool()
    async def t() -> str:
        raise ValueError("no such city")

    extensions, result = said_by(made, era)
    assert not extensions
    assert parse(result).code == "invalid_arguments"
