"""
Every code block of the README, the specs and the example's page runs, and prints what it says.
"""

import functools
import importlib.util
import json
import re
import runpy
from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

from framework_blocks import framework_of


HERE = Path(__file__).parent.parent
PAGES = [
    HERE / "README.md",
    HERE / "CHANGELOG.md",
    *sorted((HERE / "specs").glob("*.md")),
    *sorted((HERE / "docs").rglob("*.md")),
    HERE / "example_server" / "README.md",
]
#: The program of the example's page needs its server; tests/test_example.py runs it and compares what it prints.
#: What imports a framework runs where that is installed: the test_page.py of other folders.
PYTHON = [
    example
    for page in PAGES
    if page.parent.name != "example_server"
    for example in find_examples(page)
    if framework_of(example.source) is None
]
JSON = [
    pytest.param(block, id=f"{page.relative_to(HERE)}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```json\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL), 1)
]


@pytest.mark.parametrize("example", PYTHON, ids=str)
def test_python_blocks_run_and_print_what_they_say(example: CodeExample, eval_example: EvalExample):
    eval_example.set_config(line_length=120, ruff_ignore=["I001"])
    if eval_example.update_examples:
        eval_example.run_print_update(example)
    else:
        eval_example.run_print_check(example)


@pytest.mark.parametrize("block", JSON)
def test_json_blocks_parse(block):
    assert json.loads(block) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(HERE)))
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_readme_is_short_and_its_links_lead_somewhere():
    """
    They are whole addresses, so that they work on the package index as well.
    """
    page = (HERE / "README.md").read_text()
    prose = re.sub(r"```.*?```|\]\([^)]*\)", " ", page, flags=re.DOTALL)
    links = re.findall(r"\]\(([^)]+)\)", page)
    bases = tuple(f"https://{host}/toolfault/toolfault/" for host in ("github.com", "raw.githubusercontent.com"))

    assert 700 <= len(prose.split()) <= 900
    assert [link for link in links if not link.startswith(bases)] == []
    for link in links:
        assert (HERE / link.partition("/main/")[2].partition("#")[0]).exists(), link


def test_the_first_page_of_the_readme_does_what_it_says():
    """
    Its server and its client, in one session; and the wire between them as it is shown.
    """
    import anyio
    from mcp import Client

    from toolfault.integrations.mcp import retrying
    from toolfault.testing import no_waits

    page = (HERE / "README.md").read_text()
    lines = page.splitlines()
    assert lines.index("`pip install toolfault`") < 45
    server, client = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[:2]
    before, after = (
        json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[:2]
    )
    space, waits = {"__name__": "readme"}, []
    exec(server + client, space)
    space["retrying"] = functools.partial(retrying, retry=no_waits(waits=waits))

    async def run(made, ask=None):
        async with Client(made) as session:
            return await (ask(session, "Oslo") if ask else session.call_tool("forecast", {"city": "Oslo"}))

    assert anyio.run(run, space["mcp"], space["ask"]) == "{'result': 'rain in Oslo'}"
    assert waits == [2]
    exec(server, space)
    result = anyio.run(run, space["mcp"])
    wire = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert after["structuredContent"] == wire["structuredContent"]
    assert after["content"] == wire["content"]

    space = {"__name__": "readme"}
    exec(server.replace('install(MCPServer("weather"))', 'MCPServer("weather")') + client, space)
    result = anyio.run(run, space["mcp"])
    wire = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert (before["isError"], before["content"]) == (wire["isError"], wire["content"])


def test_what_tools_raise_already_becomes_what_the_readme_says(tmp_path):
    """
    Each row of its first table, as it really comes out of a guarded server.
    """
    import socket
    import sqlite3
    import sys
    from contextlib import closing

    import anyio
    import httpx
    from mcp import Client
    from mcp.server import MCPServer

    from toolfault.integrations.mcp import install

    mcp = install(MCPServer("weather", log_level="CRITICAL"))

    @mcp.tool()
    def purpose(city: str) -> str:
        raise ValueError(f"No such city: {city}")

    @mcp.tool()
    def accident() -> int:
        def deep(level):
            return deep(level - 1) if level else int("seven")

        return deep(3)

    @mcp.tool()
    def limited() -> str:
        request = httpx.Request("GET", "https://api.example.com/")
        httpx.Response(429, headers={"Retry-After": "30"}, request=request).raise_for_status()

    @mcp.tool()
    def locked() -> str:
        with (
            closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as one,
            closing(sqlite3.connect(tmp_path / "db", timeout=0)) as two,
        ):
            one.execute("BEGIN EXCLUSIVE")
            two.execute("CREATE TABLE t (x)")

    @mcp.tool()
    def refused() -> str:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port))

    @mcp.tool()
    def reads(path: str) -> str:
        with open(path):
            pass

    @mcp.tool()
    def exits() -> str:
        sys.exit(3)

    @mcp.tool()
    def forecast(days: int) -> str:
        return ""

    calls = [
        ("purpose", {"city": "Ys"}),
        ("accident", {}),
        ("limited", {}),
        ("locked", {}),
        ("refused", {}),
        ("reads", {"path": "data/none.csv"}),
        ("exits", {}),
        ("forecast", {"days": "many"}),
        ("forcast", {}),
    ]

    async def run():
        async with Client(mcp) as client:
            return [(await client.call_tool(name, arguments)).structured_content for name, arguments in calls]

    page = (HERE / "README.md").read_text()
    table = page[page.index("| in a tool | code") :].partition("\n\n")[0].splitlines()[2:]
    envelopes = anyio.run(run)
    assert len(table) == len(envelopes)
    for row, envelope in zip(table, envelopes):
        _, code, message = (cell.strip() for cell in row.strip("|").split(" | "))
        assert message == envelope["message"]
        assert code.startswith(f"`{envelope['code']}`")
        assert ("retryable" in code) is envelope["retryable"]
        assert ("after 30 s" in code) is (envelope.get("retry_after_seconds") == 30)


def test_what_a_model_reads_is_what_the_guide_says():
    """
    Its block of what a model reads of a refused connection after three attempts.
    """
    import errno

    from toolfault import Guard, Retry
    from toolfault.hosting import Call, model_text

    page = (HERE / "docs" / "guides" / "frameworks.md").read_text()
    (shown,) = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    guard = Guard()
    refused = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
    result = guard.to_result(guard.judge(refused, Call(tool="duty", arguments={})))

    retried = Retry(sleep_sync=lambda _seconds: None).run_sync(lambda _number: result, idempotent=True)

    assert model_text(retried.fault, retried.attempts) == shown.strip()


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is in the environment of make check")
def test_the_blocks_of_the_pages_have_the_types_that_they_say():
    module = runpy.run_path(str(HERE / "tests" / "typing" / "pages.py"))

    checked = module["blocks"]()
    assert {name.partition("_line_")[0] for name in checked} >= {"README", "docs_quickstart", "docs_guides_clients"}
    assert module["check"]() == (0, "")
