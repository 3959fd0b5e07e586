"""
The example server as a real process, driven by the real client over stdio; and the demo as a user runs it.
"""

from __future__ import annotations

import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import CallToolResult, TextContent
from rich.console import Console

from framework_blocks import framework_of
from toolfault import McpErrorCode, Retry, ToolFault, parse
from toolfault.integrations.mcp import retrying


ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "example_server"
KEY = "oolong-7731-kyoto-4482"

INVALID = ("invalid_arguments", "validation", False, None)
DENIED = ("permission_denied", "auth", False, None)
OUTAGE = ("internal", "transient", True, None)


def order(reference, **other):
    return {"reference": reference, "customer": 7, "sku": "SEN-100", "quantity": 2, **other}


@pytest.fixture(scope="module")
def portal():
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture(scope="module")
def client(portal, tmp_path_factory):
    """
    One session for all tests here: the process has to survive every one of them.
    """
    command = StdioServerParameters(
        command=sys.executable, args=[str(EXAMPLE / "server.py")], env={"LEAF_AND_LEDGER_KEY": KEY}
    )
    with (tmp_path_factory.mktemp("log") / "server.log").open("w") as log:
        session = Client(stdio_client(command, errlog=log), read_timeout_seconds=30)
        with portal.wrap_async_context_manager(session) as client:
            yield client


@pytest.fixture
def call(portal, client):
    """
    Call a tool of the running server, which no other test has left in a stocktaking.
    """
    portal.call(client.call_tool, "close_stocktaking", {})
    return lambda tool, arguments: portal.call(client.call_tool, tool, arguments)


WORKS = [
    ("search_catalogue", {"text": "japan", "kind": "green", "limit": 3}, "Genmaicha"),
    ("price_per_cup", {"sku": "SEN-100"}, "0.39"),
    ("place_order", order("TEST-0001"), "placed"),
    ("order_status", {"reference": "LL-2026-0001"}, "LL-2026-0001"),
    ("read_price_list", {"name": "2026-spring.csv"}, "Sencha"),
    ("export_report", {"subject": "customers", "name": "customers.csv"}, "customers.csv"),
    ("exchange_rate", {"currency": "USD"}, "1.084"),
    ("shipping_quote", {"country": "NL", "kilos": 2}, "810"),
    ("customs_duty", {"country": "DE", "euros": 80}, "0.0"),
    ("auction_prices", {"house": "colombo"}, "FBOP"),
    ("recommend", {"taste": "malty"}, "Kenya"),
    ("open_stocktaking", {}, "open"),
    ("close_stocktaking", {}, "closed"),
]


@pytest.mark.parametrize(("tool", "arguments", "expected"), WORKS, ids=[tool for tool, *_ in WORKS])
def test_a_good_call_works(call, tool, arguments, expected):
    if tool == "close_stocktaking":
        call("open_stocktaking", {})
    result = call(tool, arguments)

    assert parse(result) is None
    assert result.structured_content is not None
    assert expected in " ".join(block.text for block in result.content)


FAILS = [
    pytest.param([], "search_catalogue", {"limit": 500}, INVALID, ["limit", "50"], id="schema: too large"),
    pytest.param([], "search_catalogue", {"kind": "purple"}, INVALID, ["kind"], id="schema: no such kind"),
    pytest.param([], "place_order", {"reference": "TEST-0002"}, INVALID, ["sku"], id="schema: missing"),
    pytest.param([], "price_per_cup", {"sku": "SEN-99"}, INVALID, ["SEN-99", "SEN-2"], id="ValueError on purpose"),
    pytest.param([], "order_status", {"reference": "NONE"}, INVALID, ["NONE", "LL-"], id="LookupError on purpose"),
    pytest.param([("place_order", order("TEST-0003"))], "place_order", order("TEST-0003"), INVALID, [], id="UNIQUE"),
    pytest.param([], "place_order", order("TEST-0004", quantity=9000), INVALID, [], id="CHECK"),
    pytest.param([], "place_order", order("TEST-0005", customer=900), INVALID, [], id="FOREIGN KEY"),
    pytest.param(
        [], "read_price_list", {"name": "2031-spring.csv"}, INVALID, ["2031-spring.csv"], id="the caller's file"
    ),
    pytest.param(
        [("export_report", {"subject": "stock", "name": "twice.csv"})],
        "export_report",
        {"subject": "stock", "name": "twice.csv"},
        INVALID,
        ["twice.csv"],
        id="file exists",
    ),
    pytest.param([], "shipping_quote", {"country": "ZZ", "kilos": 1}, INVALID, [], id="HTTP 404"),
    pytest.param([], "read_price_list", {"name": "../ledger.sqlite3"}, DENIED, ["price list"], id="PermissionError"),
    pytest.param([], "shipping_quote", {"country": "AQ", "kilos": 1}, DENIED, ["403"], id="HTTP 403"),
    pytest.param([("open_stocktaking", {})], "place_order", order("TEST-0006"), OUTAGE, [], id="lock"),
    pytest.param([], "customs_duty", {"country": "US", "euros": 80}, OUTAGE, [], id="connection refused"),
    pytest.param(
        [],
        "shipping_quote",
        {"country": "NO", "kilos": 1},
        ("internal", "transient", True, 120),
        ["503"],
        id="HTTP 503",
    ),
    pytest.param(
        [],
        "track_parcel",
        {"number": "OSL-1042"},
        ("internal", "transient", True, 1),
        ["503"],
        id="HTTP 503, waking up",
    ),
    pytest.param(
        [("exchange_rate", {"currency": "JPY", "day": "2026-03-02"})],
        "exchange_rate",
        {"currency": "JPY", "day": "2026-03-02"},
        ("quota_exceeded", "transient", True, range(1, 61)),
        ["429"],
        id="HTTP 429",
    ),
    pytest.param(
        [],
        "shipping_quote",
        {"country": "PN", "kilos": 1},
        ("tool_timeout", "transient", True, None),
        [],
        id="slow upstream",
    ),
    pytest.param(
        [],
        "auction_prices",
        {"house": "mombasa"},
        ("network_blocked", "permanent", False, None),
        [],
        id="CONNECT refused",
    ),
    pytest.param([], "price_per_cup", {"sku": "SEN-2"}, ("tool_panicked", "permanent", False, None), [], id="bug"),
    pytest.param(
        [],
        "recommend",
        {"taste": "smoky"},
        ("mcp_server_unreachable", "transient", True, None),
        [],
        id="upstream MCP died",
    ),
    pytest.param(
        [], "serch_catalogue", {}, ("tool_not_found", "permanent", False, None), ["search_catalogue"], id="unknown tool"
    ),
]


def assert_nothing_leaks(result):
    """
    No key, no path, no traceback, no word of an upstream.
    """
    sent = result.model_dump_json(by_alias=True)
    paths = (str(ROOT), "/leaf-and-ledger-", "site-packages", "server.py", "shop.py")

    for secret in (KEY, "Traceback", "127.0.0.1", "contract 7731", "free plan", *paths):
        assert secret not in sent


@pytest.mark.parametrize(("before", "tool", "arguments", "expected", "words"), FAILS)
def test_a_failing_call_says_why(call, before, tool, arguments, expected, words):
    for earlier in before:
        call(*earlier)
    result = call(tool, arguments)

    fault = parse(result)
    assert fault is not None
    code, category, retryable, wait = expected
    envelope = fault.envelope
    assert (code, category, retryable) == (envelope.code, envelope.category, envelope.retryable)
    assert envelope.retry_after_seconds in (wait if isinstance(wait, range) else [wait])
    assert result.is_error
    assert fault.found_in == "structured_content"
    assert envelope.message == result.content[0].text == result.structured_content["message"]
    for word in words:
        assert word in " ".join(block.text for block in result.content)
    assert_nothing_leaks(result)


class Waits:
    """
    A retry that never sleeps, and what it did.
    """

    def __init__(self):
        self.waits = []
        self.attempts = []
        self.retry = Retry(
            attempts=4, wait_jitter=0.0, wait_initial=0.0, sleep=self.sleep, on_attempt=(self.attempts.append,)
        )

    async def sleep(self, seconds):
        self.waits.append(seconds)


def test_a_read_is_repeated_until_it_succeeds(portal, client):
    waits = Waits()
    result = portal.call(retrying(client, waits.retry).call_tool, "track_parcel", {"number": "RTM-2077"})

    assert "RTM-2077 is on the water" == result.content[0].text
    assert [1.0, 1.0] == waits.waits
    assert ["internal", "internal", None] == [attempt.fault and attempt.fault.code for attempt in waits.attempts]


def test_an_order_is_not_repeated(call, portal, client):
    waits = Waits()
    call("open_stocktaking", {})
    result = portal.call(retrying(client, waits.retry).call_tool, "place_order", order("TEST-0007"))
    call("close_stocktaking", {})

    assert parse(result).envelope.retryable
    assert [] == waits.waits
    assert ["not_safe"] == [attempt.stopped for attempt in waits.attempts]


def test_the_process_survived_and_answers(call):
    result = call("search_catalogue", {"text": "sencha", "limit": 1})

    assert not result.is_error


def test_every_failed_order_left_the_books_alone(call):
    assert parse(call("order_status", {"reference": "TEST-0004"})) is not None
    assert parse(call("order_status", {"reference": "TEST-0005"})) is not None
    assert parse(call("order_status", {"reference": "TEST-0006"})) is not None


def test_each_tool_is_documented_and_declares_whether_it_only_reads(portal, client):
    tools = portal.call(client.list_tools).tools

    assert {tool.name for tool in tools} == {tool for tool, *_ in WORKS} | {"track_parcel"}
    assert all(tool.description and tool.annotations.read_only_hint is not None for tool in tools)
    assert {tool.name for tool in tools if not tool.annotations.read_only_hint} == {
        "place_order",
        "export_report",
        "open_stocktaking",
        "close_stocktaking",
    }


def load_demo():
    spec = importlib.util.spec_from_file_location("leaf_and_ledger_demo", EXAMPLE / "demo.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def plain_environment():
    return {
        name: value
        for name, value in os.environ.items()
        if name not in {"FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"}
    }


def run_demo(folder, *options, **env):
    return subprocess.run(
        [sys.executable, str(folder / "demo.py"), *options],
        check=False,
        cwd=folder.parent,
        env={**plain_environment(), "COLUMNS": "80", **env},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_demo_fits_one_screen_in_every_terminal(encoding):
    done = run_demo(EXAMPLE, PYTHONIOENCODING=encoding, NO_COLOR="1")

    assert (0, "") == (done.returncode, done.stderr), done.stdout
    lines = done.stdout.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) == 100
    for code in McpErrorCode:
        assert re.search(rf"^.?{code}\b", done.stdout, re.MULTILINE), code
    assert "without toolfault   Error executing tool shipping_quote" in done.stdout
    assert "retryable after 120 s" in done.stdout
    assert "HAM-1042 is on the water" in done.stdout
    assert "not repeated: not safe" in done.stdout
    assert "\x1b" not in done.stdout
    assert encoding == "utf-8" or done.stdout.isascii()


def test_the_picture_of_the_demo_is_what_it_shows(tmp_path):
    """
    But for the seconds that a limit has left. Else: python example_server/demo.py --svg docs/assets/demo.svg
    """
    picture = tmp_path / "demo.svg"
    done = run_demo(EXAMPLE, "--svg", str(picture))

    assert (0, "") == (done.returncode, done.stderr), done.stdout

    def shown(path):
        return re.sub(r"\d+&#160;s\b", "N s", path.read_text(encoding="utf-8"))

    assert shown(picture) == shown(ROOT / "docs" / "assets" / "demo.svg")
    assert "font-face" not in picture.read_text(encoding="utf-8")


def test_the_demo_shows_every_failure_when_asked():
    done = run_demo(EXAMPLE, "--all", "--log")

    assert (0, "") == (done.returncode, done.stderr), done.stdout
    story, _, log = done.stdout.partition("the server's log")
    for code in McpErrorCode:
        assert re.search(rf"│ {code} +│", story), code
    assert "consent_pending" in story
    assert "HAM-1042 is on the water" in story
    assert "\x1b" not in done.stdout
    assert 100 == max(map(len, story.splitlines()))
    assert "ZeroDivisionError" in log


def test_the_demo_fails_where_the_server_does(tmp_path):
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "server.py").write_text("raise SystemExit(3)")
    done = run_demo(folder)

    assert (1, "") == (done.returncode, done.stderr)
    assert "the server is gone" in done.stdout


def test_the_demo_says_which_code_is_missing():
    page = io.StringIO()
    demo = load_demo().Demo(Console(file=page, width=200))
    demo.seen = set(McpErrorCode) - {McpErrorCode.NETWORK_BLOCKED}

    assert demo.verdict() == 1
    assert "Missing: network_blocked" in page.getvalue()


def test_the_demo_cuts_nothing_in_80_columns():
    module = load_demo()
    page = io.StringIO()
    demo = module.Demo(Console(file=page, width=80))
    fault = ToolFault.of(
        ToolFault("mcp_server_unreachable", "The upstream MCP server cannot be reached.").envelope,
        facts={"v": 1, "id": "0123456789abcdef", "origin": "upstream", "outcome": "unknown"},
    )
    result = CallToolResult(content=[TextContent(text=str(fault)), TextContent(text="Retryable.")], is_error=True)
    table = demo.table()
    table.add_row(*demo.row(module.Step("ask a server that dies of it", "recommend"), result, fault))
    demo.console.print(table)

    assert "…" not in page.getvalue()
    for whole in (
        "mcp_server_unreachable",
        "transient",
        "retryable",
        "0123456789abcdef",
        "outcome: unknown",
        "recommend",
    ):
        assert whole in page.getvalue()


def programs():
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    return re.findall(r"```python\n((?:(?!```).)*)```\n\nIt prints:\n\n```text\n(.*?)```", page, re.DOTALL)


def test_every_program_of_the_readme_is_checked():
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)

    # What imports a framework runs where that is installed.
    assert len(programs()) == len([block for block in blocks if framework_of(block) is None]) == 1


@pytest.mark.parametrize(("program", "printed"), programs(), ids=["client"])
def test_the_readme_is_true(program, printed):
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        cwd=ROOT,
        env=plain_environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.stdout == printed, done.stderr
