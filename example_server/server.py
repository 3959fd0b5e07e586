"""
Leaf & Ledger: the MCP server of a small tea trader, over stdio.

One line puts toolfault around it: `install`. The tools below are ordinary functions. They raise
what their libraries raise, and none of them makes an error answer of its own. Each docstring says
which failures the tool can show.
"""

from __future__ import annotations

import csv
import logging
import os
import secrets
import sys
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

import anyio.to_thread
import httpx
from mcp import Client, StdioServerParameters
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field
from shop import Kind, Order, Shop, Subject, Tea
from upstreams import World

from toolfault import Guard, raise_for_error
from toolfault.integrations.mcp import install


if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


#: What the office wants to see in every URL; as with many such services, it then stands in every
#: error text, too.
KEY: Final = os.environ.get("LEAF_AND_LEDGER_KEY") or secrets.token_hex(16)

#: Seconds until an upstream must have answered.
PATIENCE_SECONDS: Final = 0.5

#: Seconds until the recommender, a process that has to start first, must have answered.
RECOMMENDER_SECONDS: Final = 10.0

RECOMMENDER: Final = Path(__file__).with_name("recommender.py")

# Before `MCPServer` does it: plain lines are the better log file. httpx would log each URL, and
# with it the key.
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
logging.getLogger("httpx").setLevel(logging.WARNING)


@dataclass(frozen=True)
class Firm:
    """
    What the tools work with: books, a folder for files, the office, the customs desk, a proxy.
    """

    shop: Shop
    folder: Path
    office: httpx.AsyncClient
    customs: httpx.AsyncClient
    outside: httpx.AsyncClient


@asynccontextmanager
async def open_firm(_: MCPServer[Firm]) -> AsyncGenerator[Firm]:
    """
    Make the books and start the upstreams; when the server stops, all of it is gone.
    """
    with tempfile.TemporaryDirectory(prefix="leaf-and-ledger-") as name, World(KEY) as world:
        folder = Path(name)
        shop = await anyio.to_thread.run_sync(Shop, folder)
        await anyio.to_thread.run_sync(write_price_lists, shop, folder)
        async with (
            httpx.AsyncClient(
                base_url=world.office_url,
                params={"key": KEY},
                timeout=PATIENCE_SECONDS,
                trust_env=False,
            ) as office,
            httpx.AsyncClient(
                base_url=world.customs_url, timeout=PATIENCE_SECONDS, trust_env=False
            ) as customs,
            httpx.AsyncClient(proxy=world.proxy_url, timeout=2, trust_env=False) as outside,
        ):
            try:
                yield Firm(shop, folder, office, customs, outside)
            finally:
                shop.close_stocktaking()


def write_price_lists(shop: Shop, folder: Path) -> None:
    """
    Write a price list for each season as a CSV file.
    """
    (folder / "price_lists").mkdir()
    (folder / "reports").mkdir()
    for season, percent in {"2026-spring": 100, "2026-autumn": 104}.items():
        with (folder / "price_lists" / f"{season}.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["sku", "name", "cents"])
            rows.writerows(
                [tea.sku, tea.name, tea.price_cents * percent // 100] for tea in shop.search()
            )


server = MCPServer(
    "leaf-and-ledger",
    instructions="The books, the stock and the carriers of Leaf & Ledger, tea traders.",
    lifespan=open_firm,
)
# With --plain the line is missing, so that the demo can compare.
if "--plain" not in sys.argv:
    install(server, Guard(secrets=(KEY,)))

READS: Final = ToolAnnotations(read_only_hint=True)
REPEATS: Final = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True)
WRITES: Final = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False)

Ctx = Context[Firm, Any]
Country = Annotated[str, Field(pattern="^[A-Z]{2}$", description="Two letters, as NL")]


def firm_of(ctx: Ctx) -> Firm:
    """
    Return what the lifespan made.
    """
    return ctx.request_context.lifespan_context


# The books
# --------------------------------------------------------------------------------------------------


@server.tool(annotations=READS)
def search_catalogue(
    ctx: Ctx,
    text: str = "",
    kind: Kind | None = None,
    limit: Annotated[int, Field(ge=1, le=50)] = 5,
) -> list[Tea]:
    """
    Search the teas by name or origin, cheapest first.

    Shows `invalid_arguments`: a limit of 500, or a kind that is none, never reaches this function.
    """
    return firm_of(ctx).shop.search(text, kind, limit)


@server.tool(annotations=READS)
def price_per_cup(sku: str, ctx: Ctx) -> float:
    """
    Tell what a cup of a tea costs, in euros.

    Shows `invalid_arguments`: the shop raises a ValueError for an unknown tea, on purpose.
    Shows `tool_panicked`: a tasting sachet (`SEN-2`) holds less than one cup, and the shop divides
    by zero.
    """
    return firm_of(ctx).shop.price_per_cup_cents(sku) / 100


@server.tool(annotations=WRITES)
def place_order(
    reference: Annotated[str, Field(min_length=4, max_length=20)],
    customer: int,
    sku: str,
    quantity: Annotated[int, Field(ge=1)],
    ctx: Ctx,
) -> Order:
    """
    Order a tea for a customer, under a reference that was not used before.

    Shows `invalid_arguments`: a used reference, an unknown customer or more than is in stock breaks
    a constraint.
    Shows `internal`, transient: while a stocktaking is open, the database is locked.
    """
    return firm_of(ctx).shop.place_order(reference, customer, sku, quantity)


@server.tool(annotations=READS)
def order_status(reference: str, ctx: Ctx) -> Order:
    """
    Look up an order by its reference.

    Shows `invalid_arguments`: the shop raises a LookupError for an unknown reference, on purpose.
    """
    return firm_of(ctx).shop.order(reference)


@server.tool(annotations=REPEATS)
def open_stocktaking(ctx: Ctx) -> str:
    """
    Open a stocktaking: the books can be read, but not written, until it is closed.

    A second connection to the database holds an exclusive transaction; that is what makes
    `place_order` fail.
    """
    firm_of(ctx).shop.open_stocktaking()
    return "The stocktaking is open."


@server.tool(annotations=REPEATS)
def close_stocktaking(ctx: Ctx) -> str:
    """
    Close the stocktaking.
    """
    return (
        "The stocktaking is closed."
        if firm_of(ctx).shop.close_stocktaking()
        else "No stocktaking was open."
    )


# Files --------------------------------------------------------------------------------------------


@server.tool(annotations=READS)
def read_price_list(name: str, ctx: Ctx) -> list[str]:
    """
    Read the price list of a season, as `2026-spring.csv`.

    Shows `invalid_arguments`: the file that the caller names does not exist.
    Shows `permission_denied`: a name that leads out of the folder is refused.
    """
    folder = firm_of(ctx).folder / "price_lists"
    file = folder / name
    if file.parent.resolve() != folder.resolve():
        raise PermissionError("only files of the price list folder can be read")
    return file.read_text().splitlines()


class Report(BaseModel):
    """
    A report that was written.
    """

    file: str
    rows: int


@server.tool(annotations=WRITES)
def export_report(
    subject: Subject,
    name: Annotated[str, Field(pattern=r"^[\w-]+\.csv$", description="As stock.csv")],
    ctx: Ctx,
) -> Report:
    """
    Write a report as a new CSV file.

    Shows `invalid_arguments`: a file of this name exists, and is not overwritten.
    """
    headings, rows = firm_of(ctx).shop.report(subject)
    with (firm_of(ctx).folder / "reports" / name).open("x", newline="") as file:
        csv.writer(file).writerows([headings, *rows])
    return Report(file=name, rows=len(rows))


# Upstreams ----------------------------------------------------------------------------------------


async def ask(client: httpx.AsyncClient, url: str, **asked: object) -> dict[str, Any]:
    """
    Return the JSON object at a URL; whatever goes wrong is for the guard.
    """
    answer = await client.get(url, params={name: str(value) for name, value in asked.items()})
    return cast("dict[str, Any]", answer.raise_for_status().json())


@server.tool(annotations=READS)
async def exchange_rate(
    currency: Literal["USD", "GBP", "JPY", "INR", "CNY", "LKR"], ctx: Ctx, day: date | None = None
) -> float:
    """
    Tell what one euro buys, today or on a past day.

    Shows `quota_exceeded`: the office's plan allows one past day a minute, then it answers 429 with
    Retry-After.
    """
    found = await ask(firm_of(ctx).office, f"/rates/{day or 'latest'}", currency=currency)
    return cast("float", found["rate"])


class Quote(BaseModel):
    """
    What it costs to send a parcel, and how long it takes.
    """

    cents: int
    days: int


@server.tool(annotations=READS)
async def shipping_quote(
    country: Country, kilos: Annotated[float, Field(gt=0, le=500)], ctx: Ctx
) -> Quote:
    """
    Ask the carrier what it costs to send a parcel.

    Shows `permission_denied`: the contract does not cover AQ and KP (403).
    Shows `internal`, transient: the route to NO is closed (503 with Retry-After).
    Shows `tool_timeout`: for PN the carrier asks four ports, and that takes longer than this server
    waits.
    """
    return Quote(**await ask(firm_of(ctx).office, f"/quotes/{country}", kilos=kilos))


@server.tool(annotations=READS)
async def track_parcel(number: Annotated[str, Field(pattern=r"^[A-Z]{3}-\d{4}$")], ctx: Ctx) -> str:
    """
    Tell where a parcel is; its number begins with its depot, as `HAM-1042`.

    Shows `internal`, transient, and the way out: a depot that was not asked before answers 503
    twice while it reads
    its index, each time with `Retry-After: 1`; then it works.
    """
    found = await ask(firm_of(ctx).office, f"/parcels/{number}")
    return f"{found['number']} is {found['state']}"


@server.tool(annotations=READS)
async def customs_duty(country: Country, euros: Annotated[float, Field(gt=0)], ctx: Ctx) -> float:
    """
    Tell the customs duty for a parcel, in euros.

    Shows `internal`, transient: outside the EU the customs desk must be asked, and nobody listens
    on its port.
    """
    if country in {"NL", "DE", "FR", "IT"}:
        return 0.0
    found = await ask(firm_of(ctx).customs, "/duty", country=country, euros=euros)
    return cast("float", found["duty"])


@server.tool(annotations=READS)
async def auction_prices(house: Literal["colombo", "mombasa"], ctx: Ctx) -> dict[str, float]:
    """
    Tell what an auction house last paid, in US dollars for a kilo.

    Shows `network_blocked`: Mombasa answers over HTTPS only, and the proxy refuses every CONNECT.
    """
    firm = firm_of(ctx)
    urls = {
        "colombo": str(firm.office.base_url.join("auctions/colombo")),
        "mombasa": "https://auctions.mombasa.example/latest",
    }
    found = await ask(firm.outside, urls[house])
    return cast("dict[str, float]", found["usd_per_kilo"])


@server.tool(annotations=READS)
async def recommend(
    taste: Literal["fresh", "malty", "floral", "earthy", "smoky"], ctx: Ctx
) -> list[Tea]:
    """
    Recommend three teas for a taste; an upstream MCP server knows which kinds suit it.

    Shows `mcp_server_unreachable`: for `smoky` that server loops, and its own watchdog kills it
    during the call.
    """
    teas = await anyio.to_thread.run_sync(firm_of(ctx).shop.search)
    program = StdioServerParameters(command=sys.executable, args=[str(RECOMMENDER)])
    async with Client(program, read_timeout_seconds=RECOMMENDER_SECONDS) as upstream:
        answer = await upstream.call_tool(
            "match", {"taste": taste, "kinds": sorted({tea.kind for tea in teas})}
        )
    percent = cast("dict[str, int]", raise_for_error(answer).structured_content)
    return sorted(teas, key=lambda tea: (-percent[tea.kind], tea.grams != 100, tea.price_cents))[:3]


if __name__ == "__main__":
    server.run()
