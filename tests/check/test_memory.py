"""
`toolfault.testing.check`: servers of a test's own process, and the fixture for pytest.
"""

import subprocess
import sys
import threading

import anyio
import pytest
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

from toolfault import Guard
from toolfault.check._model import CHECKS_BY_ID, Outcome, Report
from toolfault.integrations.mcp import guarded, install
from toolfault.testing import assert_level, check, check_async


READS = ToolAnnotations(readOnlyHint=True, idempotentHint=True)


def make_server(calls=None):
    """
    A server with a tool that reads and one that writes; each call of a tool is counted.
    """
    server = MCPServer("shop")
    seen = [] if calls is None else calls

    @server.tool(annotations=READS)
    def half(n: int) -> int:
        seen.append("half")
        return n // 2

    @server.tool()
    def delete_everything(n: int) -> str:
        seen.append("delete_everything")
        raise SystemExit

    return server


def outcomes(report, outcome):
    return {(result.check, result.tool) for result in report.results if result.outcome is outcome}


def test_a_server_is_checked_and_no_tool_runs():
    calls = []
    report = check(make_server(calls), timeout=5, has_upstream=False)

    assert calls == []
    assert (report.server, report.protocol) == ("shop", "2025-11-25 and 2026-07-28")
    assert {result.check for result in report.results} | report.not_applicable.keys() == CHECKS_BY_ID.keys()
    assert ("structured", "half") in outcomes(report, Outcome.FAIL)
    assert ("refused", "delete_everything") in outcomes(report, Outcome.NOT_PROVOKED)


def test_a_guarded_server_reaches_the_level_of_a_plain_one_and_more():
    plain, better = make_server(), make_server()
    install(better, Guard())
    before, after = (check(server, has_upstream=False) for server in (plain, better))

    assert before.reached_level == 2
    assert after.reached_level == 4


def test_a_tool_that_writes_is_provoked_where_the_author_says_so():
    report = check(make_server(), allow_write=["delete_everything"], has_upstream=False)

    assert ("refused", "delete_everything") in outcomes(report, Outcome.PASS)


def test_calls_of_the_author_are_made(tmp_path):
    calls = []
    file = tmp_path / "calls.toml"
    file.write_text('[[call]]\ntool = "half"\narguments = { n = 3 }\ncode = "quota_exceeded"\n')

    report = check(make_server(calls), calls=file, has_upstream=False)

    assert calls == ["half"]
    assert ("flagged", "half") in outcomes(report, Outcome.FAIL)


def test_the_level_is_asserted_with_the_findings():
    report = check(make_server(), level=4, has_upstream=False)

    assert_level(report, 2)
    with pytest.raises(AssertionError, match="level 4 is not reached") as failed:
        assert_level(report)
    assert "FAIL structured half" in str(failed.value)
    assert "mend: Put the envelope into structuredContent or _meta." in " ".join(str(failed.value).split())


def test_nobody_praises_a_standard_output_that_nobody_saw():
    report = check(make_server(), has_upstream=False)

    assert "stdout-clean" in report.not_applicable
    assert "stdout-clean" not in {result.check for result in report.results}


def make_lowlevel():
    async def list_tools(context, params):
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        tool = types.Tool(name="any", input_schema=schema, annotations=READS)
        return types.ListToolsResult(tools=[tool])

    async def call_tool(context, params):
        return types.CallToolResult(content=[types.TextContent(type="text", text="Error: nothing works")])

    return Server("low", on_list_tools=list_tools, on_call_tool=call_tool)


def test_a_lowlevel_server_is_checked():
    report = check(make_lowlevel(), has_upstream=False)

    assert report.server.startswith("low")
    assert ("flagged", "any") in outcomes(report, Outcome.FAIL)


def test_a_function_makes_a_server_for_each_connection():
    made = []

    def make():
        made.append(make_server())
        return made[-1]

    check(make, has_upstream=False)

    assert len(made) > 2


class Exits(MCPServer):
    """
    A server whose every call of a tool ends its run.
    """

    async def call_tool(self, name, arguments, *rest, **more):
        raise SystemExit(3)


def test_what_ends_a_server_does_not_end_the_test():
    server = Exits("exits")
    server.tool(name="any", annotations=READS)(lambda n: n)

    report = check(server, timeout=3, has_upstream=False)

    assert ("survives", None) in outcomes(report, Outcome.FAIL)


def test_an_event_loop_is_not_blocked():
    loop_thread = []
    checking = threading.Event()
    seen = threading.Event()

    def make():
        # Not before the loop of the test has run something meanwhile.
        checking.set()
        assert seen.wait(30)
        return make_server()

    async def run():
        async def watch():
            while not checking.is_set():
                await anyio.lowlevel.checkpoint()
            loop_thread.append(threading.get_ident())
            seen.set()

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            return await check_async(make, has_upstream=False)

    assert isinstance(anyio.run(run), Report)
    assert loop_thread == [threading.get_ident()]


def test_no_thread_is_left_behind():
    before = threading.active_count()
    check(make_server(), has_upstream=False)

    assert threading.active_count() <= before + 1


@pytest.mark.parametrize(
    ("given", "options", "error", "cure"),
    [
        (None, {}, TypeError, "check takes a server"),
        ("python server.py", {}, TypeError, "check takes a server"),
        (MCPServer, {}, TypeError, "or a function that returns one"),
        (lambda: 3, {}, TypeError, "check takes a server"),
        (make_server, {"level": 6}, ValueError, "level must be 1 to 5"),
        (make_server, {"timeout": -1}, ValueError, "timeout must be a positive"),
        (make_server, {"tools": "half"}, ValueError, "tools is a list"),
        (make_server, {"tools": ["halve"]}, ValueError, "half"),
        (make_server, {"calls": "none.toml"}, ValueError, "none.toml can't be read"),
    ],
)
def test_mistakes_get_a_cure(given, options, error, cure):
    with pytest.raises(error, match=cure):
        check(given, **options)


TEST = """
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

pytest_plugins = ["toolfault.pytest_plugin"]
server = MCPServer("shop")

@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def half(n: int) -> int:
    return n // 2

def test_level_2(check_server):
    assert check_server(server, level=2, has_upstream=False).reached_level == 2

def test_level_4(check_server):
    check_server(server, level=4, has_upstream=False)
"""


def test_the_fixture_fails_a_test_with_what_is_wrong(tmp_path):
    (tmp_path / "test_shop.py").write_text(TEST)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "test_shop.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert "1 failed, 1 passed" in ended.stdout, ended.stdout + ended.stderr
    assert "level 4 is not reached" in ended.stdout
    assert "FAIL structured half" in ended.stdout
    assert "def check_and_assert" not in ended.stdout


def test_a_server_that_declares_its_codes_reaches_level_5():
    server = MCPServer("shop")

    @server.tool(annotations=READS)
    @guarded(fails_with=["invalid_arguments"])
    def half(n: int) -> int:
        return n // 2

    install(server, Guard())

    assert_level(check(server, level=5, has_upstream=False))
