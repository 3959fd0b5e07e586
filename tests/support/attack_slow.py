"""
Send slow inputs to a guarded and to a plain server, and compare how much processor time each took.

Schemas that run against their callers, large arguments, long texts, many paths, notes, causes, names and
validation errors. ``python tests/support/attack_slow.py [--quick] [--minutes N]``; see `main`.
"""

# ruff: noqa: T201 -- a program that prints

import argparse
import contextlib
import statistics
import subprocess
import sys
import time
from functools import partial

import anyio
from mcp import Client
from mcp.server import MCPServer
from pydantic import TypeAdapter, ValidationError

import hostile_schemas_server
from toolfault import Guard, parse
from toolfault.hosting import Call
from toolfault.integrations.mcp import install


#: What a guarded server may take more than the plain one, in seconds, for up to 1 MB.
LIMIT = 0.05

#: The same in a quick run, which only looks for inputs that stop a server: its clock is that of a busy machine.
QUICK_LIMIT = 1.0

#: How much more work a doubled input may take before its growth counts as a defect; n log n stays below it.
GROWTH = 3.0


#: How long one row may take, in seconds, before its process is ended.
DEADLINE = 60.0


def chain(depth):
    node = {"value": "x"}
    for _ in range(depth):
        node = {"next": node, "value": 1}
    return {"node": node}


#: Tool of the low-level server to what its arguments are, at a size.
ARGUMENTS = {
    "pay": lambda size: {"price": int("1" + "0" * min(size, 4_000)), "account": "abc"},
    "walk": lambda size: chain(min(size, 150)),
    "search": lambda size: {"text": "a" * size + "!"},
    "collect": lambda size: {"rows": [{"a": number} for number in range(size)]},
    "choose": lambda size: {"choice": "x" * size},
    "wide": lambda size: {f"p{number}": "x" for number in range(size)},
    "many": lambda size: {"numbers": ["x"] * size},
    "broken": lambda size: {"a": "x" * size},
    "elsewhere": lambda size: {"a": 1, "b": "x" * size},
    "no_such_tool": lambda size: {"x": "x" * size},
}


def raised(text="failed", notes=(), causes=0):
    error = ValueError(text)
    for note in notes:
        error.add_note(note)
    try:
        raise error
    except ValueError as exc:
        return exc


def crashed(notes=(), causes=0):
    """
    Return an AttributeError, which counts as a crash whoever raises it, so that it is logged with its traceback.
    """
    error = AttributeError("failed")
    for _ in range(causes):
        error.__cause__ = raised()
        outer = AttributeError("failed")
        outer.__cause__ = error
        error = outer
    for note in notes:
        error.add_note(note)
    try:
        raise error
    except AttributeError as exc:
        return exc


def refused(size):
    """
    Return the validation error of a model whose every item is wrong.
    """
    try:
        TypeAdapter(list[int]).validate_python(["x"] * size)
    except ValidationError as exc:
        return exc


#: What is judged, at a size, beside the arguments of the call.
FAILURES = {
    "paths in the text": lambda size: (raised(" ".join(f"/tmp/{n}" for n in range(size))), {}),
    "paths and arguments": lambda size: (
        raised(" ".join(f"/tmp/{n}" for n in range(size))),
        {f"k{n}": f"v{n}" for n in range(size)},
    ),
    "notes": lambda size: (crashed(notes=["n" * 100] * size), {}),
    "a long note": lambda size: (crashed(notes=["\n" * size * 10]), {}),
    "causes": lambda size: (crashed(causes=min(size, 2_000)), {}),
    "a long text": lambda size: (raised("password=" * size), {}),
    "a text of another alphabet": lambda size: (raised("ä" * size * 10), {}),
    "a validation error in the body": lambda size: (refused(size), {}),
    "refused arguments": lambda size: (refused(size), {"numbers": ["x"] * size}),
}


async def servers():
    """
    Return the seconds of a guarded and of a plain server for each listing and each call.
    """
    rows = []
    plain, guarded = hostile_schemas_server.make(False), hostile_schemas_server.make(True)
    async with Client(plain) as theirs, Client(guarded) as ours:
        rows.append(("tools/list", *[await seconds(client.list_tools) for client in (theirs, ours)]))
        for tool, arguments in ARGUMENTS.items():
            for size in (35, 5_000):
                given = arguments(size)
                both = [await seconds(partial(client.call_tool, tool, given)) for client in (theirs, ours)]
                rows.append((f"{tool} {size}", *both))
    return rows


async def seconds(call):
    """
    Return the processor time of the second call; the first compiles.
    """
    taken = []
    for _ in range(2):
        begin = time.process_time()
        # The plain server answers some with a protocol error.
        with contextlib.suppress(Exception):
            await call()
        taken.append(time.process_time() - begin)
    return statistics.median_low(taken)


async def names(count):
    """
    Return the seconds for an unknown name among many, guarded and plain.
    """
    taken = []
    for guard in (False, True):
        server = MCPServer("names", log_level="CRITICAL")
        for number in range(count):
            server.add_tool(raised, name=f"find_article_number_{number}")
        async with Client(install(server) if guard else server) as client:
            taken.append(await seconds(lambda c=client: c.call_tool("find_article_numbre_7", {})))
    return (f"unknown name among {count}", *taken)


def judged(name, size):
    guard = Guard()
    guard.judge(raised(), Call(tool="tool", function=raised))
    exc, arguments = FAILURES[name](size)
    phase = "arguments" if name == "refused arguments" else "body"
    call = Call(tool="tool", arguments=arguments, function=main, phase=phase)
    begin = time.process_time()
    guard.to_result(guard.judge(exc, call))
    return time.process_time() - begin


#: Results that a peer sends, at a size.
ANSWERS = {
    "received violations": lambda size: {"violations": [{"field": f"f{n}", "message": "x"} for n in range(size)]},
    "received members": lambda size: {f"member_{n}": "x" for n in range(size)},
    "a received message": lambda size: {"message": "retry after " * size},
    "received causes": lambda size: {"cause_chain": ["x"] * size},
}


def parsed(name, size):
    envelope = {"code": "internal", "message": "failed", "category": "permanent", "retryable": False}
    answer = {"content": [], "isError": True, "structuredContent": {**envelope, **ANSWERS[name](size)}}
    begin = time.process_time()
    str(parse(answer))
    return time.process_time() - begin


def timed(name, size):
    """
    Return the seconds that a row takes in a process of its own, `DEADLINE` if it does not end.
    """
    command = [sys.executable, __file__, "--row", name, "--size", str(size)]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=DEADLINE, text=True)  # noqa: S603 -- this file
    except subprocess.TimeoutExpired:
        return DEADLINE
    return float(done.stdout)


def print_seconds(name, size):
    row = judged if name in FAILURES else parsed
    print(min(row(name, size) for _ in range(3)))


def report(what, reference, ours, is_defect):
    print(f"{what:<40} {reference:>9.4f} {ours:>9.4f}  {'DEFECT' if is_defect else ''}", flush=True)
    return int(is_defect)


def main(quick: bool = False, minutes: float = 1.0) -> int:
    """
    Print a row for each input until all were sent or the time is over; return the number of defects.
    """
    end = time.monotonic() + 60 * minutes
    limit = QUICK_LIMIT if quick else LIMIT
    defects = 0
    print(f"{'input':<40} {'plain':>9} {'guarded':>9}  seconds of processor time")
    for what, plain, guarded in anyio.run(servers):
        defects += report(what, plain, guarded, guarded - plain > limit)
    for count in (100, 1_000) if quick else (100, 1_000, 3_000):
        if time.monotonic() < end:
            what, plain, guarded = anyio.run(names, count)
            defects += report(what, plain, guarded, guarded - plain > limit)
    print(f"\n{'judged or parsed':<40} {'size n':>9} {'2 n':>9}  seconds of processor time")
    for name in (*FAILURES, *ANSWERS):
        size = 1_000 if quick else 8_000
        if time.monotonic() > end:
            break
        once, twice = (timed(name, n) for n in (size, 2 * size))
        grows = twice > GROWTH * once and twice > limit / 10
        defects += report(name, once, twice, grows or twice > 4 * limit)
    print(f"{defects} defects")
    return defects


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--minutes", type=float, default=1.0)
    options.add_argument("--row", help="print the seconds of one row; used by the program itself")
    options.add_argument("--size", type=int, default=1_000)
    given = options.parse_args()
    if given.row:
        print_seconds(given.row, given.size)
        raise SystemExit
    raise SystemExit(min(main(given.quick, given.minutes), 100))
