"""
The demo: one failure without and with toolfault, each of the ten codes, and two retries.

With --all, every way to fail that the tools of Leaf & Ledger have, and all that arrives. Exit
status 0 means that each of the ten codes was really seen.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

import anyio
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.types import CallToolResult, TextContent
from rich import box
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from toolfault import McpErrorCode as Code
from toolfault import Retry, ToolFault, parse
from toolfault.hooks import Attempt
from toolfault.integrations.mcp import retrying


if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


HERE: Final = Path(__file__).parent

#: Seconds that the client waits for an answer; nothing here takes so long.
PATIENCE_SECONDS: Final = 30.0

#: The columns that the table wants where no terminal says how many there are.
WIDTH: Final = 100


@dataclass(frozen=True)
class Step:
    """
    One call, what it is for, and the code that it should fail with; None: it should work.
    """

    why: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    fails: Code | None = None


ORDER: Final[dict[str, Any]] = {
    "reference": "LL-2027-0001",
    "customer": 7,
    "sku": "SEN-100",
    "quantity": 2,
}
NEXT_ORDER: Final[dict[str, Any]] = {**ORDER, "reference": "LL-2027-0002"}
DAY: Final[dict[str, Any]] = {"currency": "JPY", "day": "2026-03-02"}

WORKS: Final = (
    Step("find green teas from Japan", "search_catalogue", {"text": "japan", "kind": "green"}),
    Step("what a cup of Sencha costs", "price_per_cup", {"sku": "SEN-100"}),
    Step("order two tins", "place_order", ORDER),
    Step("look the order up", "order_status", {"reference": "LL-2027-0001"}),
    Step("read this spring's prices", "read_price_list", {"name": "2026-spring.csv"}),
    Step("write a report", "export_report", {"subject": "stock", "name": "stock.csv"}),
    Step("yen for a euro, on a past day", "exchange_rate", DAY),
    Step("two kilos to the Netherlands", "shipping_quote", {"country": "NL", "kilos": 2}),
    Step("duty inside the EU", "customs_duty", {"country": "DE", "euros": 80}),
    Step("prices in Colombo", "auction_prices", {"house": "colombo"}),
    Step("a malty tea, please", "recommend", {"taste": "malty"}),
    Step("open the stocktaking", "open_stocktaking"),
)

CLOSED: Final = Step("close the stocktaking", "close_stocktaking")

FAILS: Final = (
    Step("order while stocktaking locks the books", "place_order", NEXT_ORDER, Code.INTERNAL),
    CLOSED,
    Step(
        "want more teas than the schema allows",
        "search_catalogue",
        {"limit": 500},
        Code.INVALID_ARGUMENTS,
    ),
    Step(
        "price a tea that does not exist",
        "price_per_cup",
        {"sku": "SEN-99"},
        Code.INVALID_ARGUMENTS,
    ),
    Step("use an order reference twice", "place_order", ORDER, Code.INVALID_ARGUMENTS),
    Step(
        "order more than is in stock",
        "place_order",
        {**NEXT_ORDER, "quantity": 9000},
        Code.INVALID_ARGUMENTS,
    ),
    Step(
        "order for an unknown customer",
        "place_order",
        {**NEXT_ORDER, "customer": 900},
        Code.INVALID_ARGUMENTS,
    ),
    Step(
        "read a file that was never written",
        "read_price_list",
        {"name": "2031.csv"},
        Code.INVALID_ARGUMENTS,
    ),
    Step(
        "read outside the folder",
        "read_price_list",
        {"name": "../ledger.sqlite3"},
        Code.PERMISSION_DENIED,
    ),
    Step(
        "send to where the contract ends",
        "shipping_quote",
        {"country": "AQ", "kilos": 2},
        Code.PERMISSION_DENIED,
    ),
    Step("use more than the free plan has", "exchange_rate", DAY, Code.QUOTA_EXCEEDED),
    Step(
        "ask a carrier closed for winter",
        "shipping_quote",
        {"country": "NO", "kilos": 2},
        Code.INTERNAL,
    ),
    Step(
        "ask a desk where nobody listens",
        "customs_duty",
        {"country": "US", "euros": 80},
        Code.INTERNAL,
    ),
    Step(
        "ask for a route that takes too long",
        "shipping_quote",
        {"country": "PN", "kilos": 2},
        Code.TOOL_TIMEOUT,
    ),
    Step(
        "need a tunnel that the proxy forbids",
        "auction_prices",
        {"house": "mombasa"},
        Code.NETWORK_BLOCKED,
    ),
    Step("divide by the cups in a sachet", "price_per_cup", {"sku": "SEN-2"}, Code.TOOL_PANICKED),
    Step(
        "ask an MCP server that dies of it",
        "recommend",
        {"taste": "smoky"},
        Code.MCP_SERVER_UNREACHABLE,
    ),
    Step("misspell the name of a tool", "serch_catalogue", {"text": "sencha"}, Code.TOOL_NOT_FOUND),
)

#: One failure for each code, in the order of the codes; the last is another server's.
ONE_EACH: Final = (
    Step("misspell a tool's name", "serch_catalogue", {}, Code.TOOL_NOT_FOUND),
    Step("wait too long", "shipping_quote", {"country": "PN", "kilos": 2}, Code.TOOL_TIMEOUT),
    Step("divide by zero", "price_per_cup", {"sku": "SEN-2"}, Code.TOOL_PANICKED),
    Step("no such tea", "price_per_cup", {"sku": "SEN-99"}, Code.INVALID_ARGUMENTS),
    Step("HTTP 403", "shipping_quote", {"country": "AQ", "kilos": 2}, Code.PERMISSION_DENIED),
    Step("HTTP 429", "exchange_rate", DAY, Code.QUOTA_EXCEEDED),
    Step("a proxy says no", "auction_prices", {"house": "mombasa"}, Code.NETWORK_BLOCKED),
    Step("an MCP server dies", "recommend", {"taste": "smoky"}, Code.MCP_SERVER_UNREACHABLE),
    Step("nobody listens", "customs_duty", {"country": "US", "euros": 80}, Code.INTERNAL),
)
COMPARED: Final = Step(
    "ask a closed carrier",
    "shipping_quote",
    {"country": "NO", "kilos": 2},
    Code.INTERNAL,
)
WITHIN_PLAN: Final = Step("use what the free plan has", "exchange_rate", DAY)

STILL_WORKS: Final = Step("look that order up again", "order_status", {"reference": "LL-2027-0001"})
REPEATED: Final = Step(
    "find a parcel in a depot that just woke up", "track_parcel", {"number": "HAM-1042"}
)
OPENED: Final = WORKS[-1]
UNSAFE: Final = Step("order during another stocktaking", "place_order", NEXT_ORDER, Code.INTERNAL)
FUTURE: Final = Step(
    "ask a server from the future", "harvest_forecast", {"garden": "Mokalbari"}, Code.UNKNOWN
)


def next_step(fault: ToolFault) -> str:
    """
    Decide what a program does about a failure: this is the branch that the code is for.
    """
    envelope = fault.envelope
    match fault.code:
        case Code.INVALID_ARGUMENTS:
            return "let the model mend the call"
        case Code.TOOL_NOT_FOUND:
            return "list the tools again"
        case Code.PERMISSION_DENIED:
            return "ask a person for the right"
        case Code.NETWORK_BLOCKED:
            return "ask the operator"
        case Code.TOOL_PANICKED:
            return "report the id, try another tool"
        case Code.UNKNOWN:
            return "go by `retryable` alone"
        case Code.QUOTA_EXCEEDED if envelope.retry_after_seconds is not None:
            return f"come back in {envelope.retry_after_seconds} s"
        case _ if envelope.retryable:
            return "repeat it if that is safe"
        case _:
            return "give up, report the id"


def when(fault: ToolFault) -> str:
    """
    Say whether another try is worth it, and when.
    """
    envelope = fault.envelope
    if not envelope.retryable:
        return "not retryable"
    return (
        "retryable"
        if envelope.retry_after_seconds is None
        else f"retryable after {envelope.retry_after_seconds} s"
    )


def texts(result: CallToolResult) -> list[str]:
    """
    Return what most hosts show the model: the text blocks.
    """
    return [block.text for block in result.content if isinstance(block, TextContent)]


def shown(value: Any) -> str:
    """
    Write a fact in one line.
    """
    if isinstance(value, dict):
        return ", ".join(f"{key} {shown(item)}" for key, item in value.items())  # pyright: ignore[reportUnknownVariableType] -- any JSON
    if isinstance(value, list):
        return "; ".join(shown(item) for item in value)  # pyright: ignore[reportUnknownVariableType] -- any JSON
    return str(value)


def short(text: str, most: int = 58) -> str:
    """
    Cut a text that only has to be recognised.
    """
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


class Demo:
    """
    One run: the console, what was seen, and what went otherwise than told.
    """

    def __init__(self, console: Console) -> None:
        """
        Start with nothing seen.
        """
        self.console = console
        self.seen: set[Code] = set()
        self.surprises: list[str] = []

    def rule(self, title: str = "") -> None:
        """
        Print a line across the screen.
        """
        self.console.rule(title, characters="-" if self.console.options.ascii_only else "\u2500")

    def say(self, line: str = "", style: str = "") -> None:
        """
        Print a line.
        """
        self.console.print(Text(line, style))

    async def call(self, client: Client, step: Step) -> tuple[CallToolResult, ToolFault | None]:
        """
        Make one call, and say how it went.
        """
        result = await client.call_tool(step.tool, step.arguments)
        fault = parse(result)
        if fault is None:
            self.console.print(f"  [green]ok[/]    [bold]{step.tool}[/]: {escape(step.why)}")
            self.say(f"        {short(' '.join(texts(result)))}", "dim")
        else:
            self.seen.add(fault.code)
            self.console.print(f"  [red]fails[/] [bold]{step.tool}[/]: {escape(step.why)}")
        self.check(step, fault)
        return result, fault

    def check(self, step: Step, fault: ToolFault | None) -> None:
        """
        Note a call that went otherwise than told.
        """
        code = None if fault is None else fault.code
        if code is not step.fails:
            self.surprises.append(
                f"{step.tool} ({step.why}): {code or 'it works'} "
                f"instead of {step.fails or 'working'}"
            )

    def table(self) -> Table:
        """
        Make an empty table for failures.
        """
        table = Table(show_lines=True, expand=True, header_style="bold")
        table.add_column("the call", ratio=5, overflow="fold")
        table.add_column("what a program reads", ratio=8, overflow="fold", min_width=26)
        table.add_column("what the model reads", ratio=8, overflow="fold")
        return table

    def row(
        self, step: Step, result: CallToolResult, fault: ToolFault
    ) -> tuple[Group, Group, Group]:
        """
        Return the cells for one failure.
        """
        call = Group(Text(step.tool, "bold"), Text(step.why, "dim"))
        program = Group(
            Text(fault.code, "bold red"),
            Text(fault.envelope.category),
            Text(when(fault)),
            *(
                Text(f"{name}: {shown(value)}", "dim")
                for name, value in sorted(fault.facts.items())
                if name != "v"
            ),
            Text(f"→ {next_step(fault)}", "cyan"),
        )
        model: list[Text] = []
        for block in texts(result):
            model += [Text(), Text(block, "italic")] if model else [Text(block)]
        return call, program, Group(*model)

    async def run(self, log: TextIO) -> None:
        """
        Show what matters on one screen.
        """
        self.rule("Leaf & Ledger, tea traders: an MCP server in a process of its own")
        async with connected("server.py", log, "--plain") as client:
            plain = await client.call_tool(COMPARED.tool, COMPARED.arguments)
        async with connected("server.py", log) as client:
            result = await client.call_tool(COMPARED.tool, COMPARED.arguments)
            self.compare(plain, result)
            await self.show_codes(client, log)
            self.say()
            await self.repeat(client)

    def compare(self, plain: CallToolResult, result: CallToolResult) -> None:
        """
        Show one failure without and with toolfault.
        """
        self.say("1. A carrier is closed for winter, and its API answers 503.", "bold")
        self.say(f"   without toolfault   {' '.join(texts(plain))}", "red")
        fault = parse(result)
        if fault is None:
            self.surprises.append(f"{COMPARED.tool}: it works")
            return
        self.say(f"   with toolfault      {texts(result)[0]}", "green")
        what = f"{fault.code}, {fault.envelope.category}, {when(fault)}"
        self.say(f"                       {what}", "green")
        self.say()

    async def show_codes(self, client: Client, log: TextIO) -> None:
        """
        Show one failure for each code, in one line each.
        """
        self.say("2. Ten codes: a program matches on them, and reads no prose.", "bold")
        table = Table(box=box.SIMPLE_HEAD, expand=True, header_style="bold", pad_edge=False)
        table.add_column("code", style="red", no_wrap=True)
        table.add_column("what the model reads", ratio=1, no_wrap=True, overflow="ellipsis")
        table.add_column("what a program does", style="cyan", no_wrap=True)
        await client.call_tool(WITHIN_PLAN.tool, WITHIN_PLAN.arguments)
        for step in ONE_EACH:
            await self.add_code(table, client, step)
        async with connected("newer_peer.py", log) as newer:
            await self.add_code(table, newer, FUTURE)
        self.console.print(table)

    async def add_code(self, table: Table, client: Client, step: Step) -> None:
        """
        Make one call that fails, and add its line.
        """
        result = await client.call_tool(step.tool, step.arguments)
        fault = parse(result)
        self.check(step, fault)
        if fault is not None:
            self.seen.add(fault.code)
            table.add_row(fault.code, texts(result)[0], next_step(fault))

    async def run_all(self, log: TextIO) -> None:
        """
        Do it all.
        """
        self.rule("Leaf & Ledger, tea traders")
        self.say("Starting the server as a process, and connecting over stdio ...")
        async with connected("server.py", log) as client:
            tools = (await client.list_tools()).tools
            self.say(
                f"Connected: {len(tools)} tools, MCP {client.protocol_version}. "
                "First, every tool works:"
            )
            for step in WORKS:
                await self.call(client, step)
            self.say()
            self.say("Now every way to fail, for true reasons:")
            table = self.table()
            for step in FAILS:
                result, fault = await self.call(client, step)
                if fault is not None:
                    table.add_row(*self.row(step, result, fault))
            self.say("The server took all of that, and goes on:")
            await self.call(client, STILL_WORKS)
            self.say()
            self.console.print(table)
            self.say("→ is what a program does: it matches on the code, and reads no prose.")
            self.say("  See `next_step` in demo.py.", "dim")
            self.say()
            await self.repeat(client)
        self.say()
        self.say("Last, a server that speaks a newer vocabulary than this client.")
        async with connected("newer_peer.py", log) as client:
            await self.read_the_future(client)

    async def repeat(self, client: Client) -> None:
        """
        Let the client repeat a read-only call until it succeeds.
        """
        self.say("3. The client repeats a call of a tool that only reads ...", "bold")
        retry = Retry(
            attempts=4,
            wait_initial=0.4,
            wait_jitter=0,
            on_attempt=(self.tell,),
        )
        patient = retrying(client, retry)
        await self.call(patient, REPEATED)
        self.say("   ... and not one that could order twice:", "bold")
        await client.call_tool(OPENED.tool)
        await self.call(patient, UNSAFE)
        await client.call_tool(CLOSED.tool)

    def tell(self, attempt: Attempt) -> None:
        """
        Say what came of one attempt, and how long the client waits for the next.
        """
        fault = attempt.fault
        line = f"   attempt {attempt.number}: "
        line += "works" if fault is None else f"{fault.code}, {when(fault)}"
        if attempt.wait is not None:
            line += f"; waiting {attempt.wait:.0f} s"
        elif fault is not None:
            line += f"; not repeated: {str(attempt.stopped).replace('_', ' ')}"
        self.say(line)

    async def read_the_future(self, client: Client) -> None:
        """
        Read a code that is not among the ten.
        """
        result, fault = await self.call(client, FUTURE)
        if fault is not None:
            table = self.table()
            table.add_row(*self.row(FUTURE, result, fault))
            self.console.print(table)
            self.say("It is read as `unknown`; `.received` still holds what the peer said:")
            self.say(f"  {shown(fault.received)}", "dim")

    def verdict(self) -> int:
        """
        Say whether all ten codes were seen, and return the exit status.
        """
        missing = [code for code in Code if code not in self.seen]
        self.rule()
        for surprise in self.surprises:
            self.say(f"Not as told: {surprise}", "bold red")
        if missing:
            self.say(
                f"{10 - len(missing)} of the ten codes were seen. Missing: {', '.join(missing)}",
                "bold red",
            )
            return 1
        self.say(f"All ten codes were seen: {', '.join(Code)}.", "bold green")
        return 1 if self.surprises else 0


@asynccontextmanager
async def connected(program: str, log: TextIO, *options: str) -> AsyncGenerator[Client]:
    """
    Start a program of this folder and connect to it; its stderr goes to the log.
    """
    command = StdioServerParameters(command=sys.executable, args=[str(HERE / program), *options])
    async with Client(
        stdio_client(command, errlog=log), read_timeout_seconds=PATIENCE_SECONDS
    ) as client:
        yield client


def main() -> int:
    """
    Run the demo.
    """
    options = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n")[0])
    options.add_argument("--all", action="store_true", help="show every call and all that arrives")
    options.add_argument("--log", action="store_true", help="show the server's log at the end")
    options.add_argument("--svg", metavar="FILE", help="write the screen as a picture, too")
    asked = options.parse_args()
    demo = Demo(open_console(records=asked.svg is not None))
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            anyio.run(demo.run_all if asked.all else demo.run, log)
        except* MCPError:
            demo.surprises.append("the server is gone; --log shows why")
        status = demo.verdict()
        if asked.log:
            log.seek(0)
            demo.rule("the server's log")
            demo.console.print(Text(log.read()), soft_wrap=True)
    if asked.svg is not None:
        Path(asked.svg).write_text(draw(demo.console), encoding="utf-8")
    return status


def open_console(*, records: bool) -> Console:
    """
    Return a console that any terminal, pipe or file can show.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What a terminal cannot show must not end the demo.
        sys.stdout.reconfigure(errors="replace")  # pyright: ignore[reportUnknownMemberType] -- of any buffer
    console = Console(highlight=False, record=records)
    if records or not console.is_terminal:
        width = WIDTH if records else max(WIDTH, console.width)
        console = Console(highlight=False, record=records, width=width)
    return console


def draw(console: Console) -> str:
    """
    Return what was printed as an SVG that asks no other host for its fonts.
    """
    form = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title="make demo", code_format=form, unique_id="demo")


if __name__ == "__main__":
    sys.exit(main())
