"""
What toolfault costs, as ratios measured side by side in one run.

Each line times two things in turn, batch by batch, and prints the median of the ratios. Beside it stands the spread
between two *identical* runs, measured the same way: a ratio within it is noise. Nothing here asserts; machines differ.

``python tests/bench/run.py [--quick] [--million]``
"""

from __future__ import annotations

import argparse
import gc
import io
import json
import logging
import os
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from toolfault import Guard, McpExecuteError
from toolfault._redact import Redactor
from toolfault.hosting import Call
from toolfault.integrations.mcp import install


Timed = Callable[[], float]


def ratio(ours: Timed, theirs: Timed, rounds: int) -> tuple[float, float]:
    """
    Return the median ratio, and the relative spread between two identical runs of *theirs*.
    """
    ours()
    theirs()
    ratios: list[float] = []
    same: list[float] = []
    gc.collect()
    for turn in range(rounds):
        first, second = (ours, theirs) if turn % 2 else (theirs, ours)
        a, b, c = first(), second(), theirs()
        mine, reference = (a, b) if turn % 2 else (b, a)
        ratios.append(mine / reference)
        same.append(c / reference)
    return statistics.median(ratios), statistics.median(abs(value - 1) for value in same)


def line(what: str, value: str, holds: str, after: str, spread: str = "") -> None:
    """
    Print one row.
    """
    print(f"{what:<58} {value:>10}  {holds:>8} {after:>8}  {spread}")


def timed(function: Callable[[], object], times: int) -> Timed:
    """
    Return a function that runs another some times and returns the seconds that one run took.
    """

    def run() -> float:
        begin = time.perf_counter()
        for _ in range(times):
            function()
        return (time.perf_counter() - begin) / times

    return run


def server(guard: Guard | None) -> MCPServer[Any]:
    """
    Make a server, with a guard or without.
    """
    made: MCPServer[Any] = MCPServer("bench", log_level="CRITICAL")
    if guard is not None:
        install(made, guard)

    @made.tool()
    async def ok(number: int) -> int:  # pyright: ignore[reportUnusedFunction] -- registered
        return number

    @made.tool()
    async def anticipated(number: int) -> int:  # pyright: ignore[reportUnusedFunction] -- registered
        raise ToolError(f"no article {number}")

    @made.tool()
    async def crash(number: int) -> int:  # pyright: ignore[reportUnusedFunction] -- registered
        try:
            return {}[number]  # type: ignore[index]
        except KeyError as exc:
            raise AttributeError("lost") from exc

    return made


async def calls(client: Client, tool: str, times: int) -> float:
    """
    Return the seconds that one call took.
    """
    begin = time.perf_counter()
    for number in range(times):
        await client.call_tool(tool, {"number": number})
    return (time.perf_counter() - begin) / times


async def paired(
    ours: Callable[[], Awaitable[float]], theirs: Callable[[], Awaitable[float]], rounds: int
) -> tuple[float, float]:
    """
    Do as `ratio` does, for coroutines.
    """
    await ours()
    await theirs()
    ratios: list[float] = []
    same: list[float] = []
    for turn in range(rounds):
        if turn % 2:
            mine, reference = await ours(), await theirs()
        else:
            reference, mine = await theirs(), await ours()
        ratios.append(mine / reference)
        same.append(await theirs() / reference)
    return statistics.median(ratios), statistics.median(abs(value - 1) for value in same)


async def round_trips(rounds: int, times: int) -> None:
    """
    Time whole calls in memory.
    """
    log = logging.getLogger("toolfault")
    sdk = logging.getLogger("mcp")
    for logger in (log, sdk):
        logger.setLevel(logging.INFO)
        logger.propagate = False
        logger.handlers = [logging.StreamHandler(io.StringIO())]
    plain, guarded, hurried = server(None), server(Guard()), server(Guard(timeout=60))
    async with Client(plain) as theirs, Client(guarded) as ours, Client(hurried) as timed_out:
        rows: list[tuple[str, Client, str, str, str]] = [
            ("a call that succeeds", ours, "ok", "1.05", "1.02"),
            ("a call that succeeds, with timeout", timed_out, "ok", "1.12", "1.01"),
            ("an anticipated failure against the SDK's ToolError", ours, "anticipated", "1.35", "1.20"),
            ("a crash again against the SDK's crash", ours, "crash", "0.5", "0.4"),
        ]
        for what, client, tool, holds, after in rows:
            value, spread = await paired(
                lambda client=client, tool=tool: calls(client, tool, times),  # type: ignore[misc]
                lambda tool=tool: calls(theirs, tool, times),  # type: ignore[misc]
                rounds,
            )
            line(what, f"{value:.3f}", holds, after, f"± {spread:.3f}")

    # A new guard for each crash: nothing was logged before.
    async def first_crashes() -> float:
        total = 0.0
        for _ in range(20):
            async with Client(server(Guard())) as client:
                total += await calls(client, "crash", 1)
        return total / 20

    async def sdk_crashes() -> float:
        total = 0.0
        for _ in range(20):
            async with Client(server(None)) as client:
                total += await calls(client, "crash", 1)
        return total / 20

    value, spread = await paired(first_crashes, sdk_crashes, max(3, rounds // 2))
    line("a crash for the first time against the SDK's crash", f"{value:.3f}", "1.15", "1.0", f"± {spread:.3f}")


async def listings(rounds: int) -> None:
    """
    Time a listing of 1,000 typed tools, in memory.
    """

    def typed(guard: Guard | None) -> MCPServer[Any]:
        made = server(guard)
        for number in range(1_000):

            def find(article: int, unit: str = "piece") -> dict[str, int]:
                return {unit: article}

            made.add_tool(find, name=f"find_{number}")
        return made

    async def listed(client: Client) -> float:
        # Else a collection of the other server's garbage falls into this one's time.
        gc.collect()
        begin = time.process_time()
        await client.list_tools()
        return time.process_time() - begin

    async with Client(typed(None)) as theirs, Client(typed(Guard())) as ours:
        value, spread = await paired(lambda: listed(ours), lambda: listed(theirs), max(21, rounds))
    line("tools/list of 1,000 typed tools", f"{value:.3f}", "1.15", "1.05", f"± {spread:.3f}")


def raised() -> BaseException:
    """
    Return an exception with two causes, as it comes out of a tool.
    """
    try:
        try:
            try:
                raise ConnectionResetError(104, "Connection reset by peer")
            except ConnectionResetError as exc:
                raise LookupError("stock index is stale") from exc
        except LookupError as exc:
            raise ValueError("article 4711 is not in stock") from exc
    except ValueError as exc:
        return exc


def in_process(rounds: int) -> None:
    """
    Time the parts without a server.
    """
    log = logging.getLogger("toolfault")
    log.setLevel(logging.CRITICAL)
    guard = Guard()
    call = Call(tool="stock", arguments={"article": 4711}, function=raised)

    def build(exc: BaseException) -> bytes:
        return json.dumps(guard.to_result(guard.judge(exc, call))).encode()

    alone = raised()
    alone.__cause__ = alone.__context__ = None
    rows = [
        ("one exception to result bytes against json.dumps", alone, "4", "3"),
        ("a chain of three to result bytes against json.dumps", raised(), "8", "5"),
    ]
    for what, exc, holds, after in rows:
        result = guard.to_result(guard.judge(exc, call))
        value, spread = ratio(
            timed(lambda exc=exc: build(exc), 200),  # type: ignore[misc]
            timed(lambda result=result: json.dumps(result).encode(), 200),  # type: ignore[misc]
            rounds,
        )
        line(what, f"{value:.2f}", holds, after, f"± {spread:.3f}")
    body = json.dumps(guard.to_result(guard.judge(alone, call))["structuredContent"]).encode()
    value, spread = ratio(
        timed(lambda: McpExecuteError.from_wire(json.loads(body)), 500),
        timed(lambda: json.loads(body)["code"], 500),
        rounds,
    )
    line("bytes to envelope against json.loads and a look-up", f"{value:.2f}", "2.0", "1.5", f"± {spread:.3f}")
    five = "x" * 5_000_000
    redactor = Redactor(environ={})
    milliseconds = statistics.median(timed(lambda: redactor.scrub(five, 2048), 3)() for _ in range(rounds)) * 1000
    line("a 5 MB message, milliseconds", f"{milliseconds:.3f}", "1", "0.3")
    worst, of = 0.0, ""
    hostile = [
        "a",
        "=",
        "'",
        "--password ",
        "https://",
        "Bearer ",
        "eyJ",
        "-----BEGIN ",
        "key=",
        "\\",
        "a.b.",
        "<a ",
        ": ",
    ]
    for piece in hostile:
        # With a sign in front, or one of the two may end at the test for plain prose.
        once, twice = (f"= {piece * (size // len(piece))}" for size in (20_000, 40_000))
        value, _ = ratio(
            timed(lambda twice=twice: redactor.redact(twice), 3),  # type: ignore[misc]
            timed(lambda once=once: redactor.redact(once), 3),  # type: ignore[misc]
            max(3, rounds // 3),
        )
        if value > worst:
            worst, of = value, piece
    line("the redactor on 20 kB of hostile text, doubled", f"{worst:.2f}", "2.2", "2.0", f"worst: {of!r}")


BARE = """
import anyio
from pydantic import BaseModel
class Envelope(BaseModel, frozen=True):
    code: str; message: str; category: str; retryable: bool
    retry_after_seconds: int | None = None; hint: str | None = None; cause_chain: tuple[str, ...] = ()
"""


def imports(rounds: int) -> None:
    """
    Time what importing costs, in fresh processes with compiled modules.
    """
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def process(code: str) -> Timed:
        def run() -> float:
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, env=env)  # noqa: S603 -- our own interpreter and code
            return time.perf_counter() - begin

        return run

    for what, code, holds, after in (
        ("import toolfault", "import toolfault", "1.15", "1.05"),
        ("from toolfault import ToolFault", "from toolfault import ToolFault", "1.15", "1.05"),
        ("all of toolfault", "from toolfault import *", "1.30", "1.15"),
    ):
        value, spread = ratio(process(code), process(BARE), rounds)
        line(f"{what} against the bare model and anyio", f"{value:.3f}", holds, after, f"± {spread:.3f}")


def memory(failures: int) -> None:
    """
    Print how much stays behind after many failures, each in a place or under a name of its own.
    """
    logging.getLogger("toolfault").setLevel(logging.CRITICAL)
    guard = Guard()

    def fail(number: int) -> None:
        space: dict[str, Any] = {"__name__": f"place_{number}"}
        try:
            exec(f"\n\nraise KeyError('k{number}')", space)  # noqa: S102 -- a place of its own
        except KeyError as exc:
            guard.judge(exc, Call(tool=f"tool_{number}", function=fail))
        guard.judge(LookupError("none"), Call(tool=f"no_tool_{number}", phase="lookup", available=("tool",)))

    for number in range(2_000):
        fail(number)
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(2_000, 2_000 + failures // 2):
        fail(number)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    line(f"{failures:,} failures in distinct places: bytes left each", f"{(after - before) / failures:.2f}", "flat", "")


def main() -> None:
    """
    Print every row.
    """
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="fewer rounds")
    options.add_argument("--million", action="store_true", help="a million failures for the memory row")
    given = options.parse_args()
    rounds = 5 if given.quick else 21
    print(f"{'':<58} {'measured':>10}  {'holds':>8} {'after':>8}  between identical runs")
    anyio.run(round_trips, rounds, 60 if given.quick else 200)
    anyio.run(listings, rounds)
    in_process(rounds)
    imports(5 if given.quick else 15)
    memory(1_000_000 if given.million else 20_000)


if __name__ == "__main__":
    main()
