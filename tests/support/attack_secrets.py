"""
Plants secrets in everything that a failing tool can send, and looks for them in everything that leaves.

Random secrets of every family stand in messages, causes, notes, paths, echoed arguments, facts,
returned results, protocol errors and log records of real guarded servers: in one process, and over
stdio. A leak is a secret that the client or the log shows.
"""

# ruff: noqa: T201, S311, EM101, EM102, TRY301 -- a program that prints, plays dice and raises

import base64
import json
import logging
import random
import re
import string
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.server import MCPServer
from mcp.types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents

from secret_samples import SHAPES, TOKEN_SHAPES
from toolfault import Guard, ToolFault
from toolfault._redact.tokens import VENDORS
from toolfault.integrations.mcp import install


REGISTERED = "registered correct horse / battery"
QUICK_CALLS = 150

#: The tool's arguments are seen by whoever sent them, so a secret is handed over spelled otherwise.
PLANT = "plant"


def decoded(planted):
    return base64.b64decode(planted).decode("utf-8", "surrogatepass")


def raise_message(text):
    raise RuntimeError(text)


def raise_on_purpose(text):
    raise ToolFault("internal", f"It failed: {text}")


def raise_value_error(text):
    raise ValueError(f"cannot use {text}")


def raise_cause(text):
    try:
        raise OSError(text)
    except OSError as exc:
        raise RuntimeError("the upstream failed") from exc


def raise_context(text):
    try:
        raise KeyError(text)
    except KeyError:
        raise LookupError("nothing was found")  # noqa: B904 -- the context is what is tried


def raise_note(text):
    exc = RuntimeError("it failed")
    exc.add_note(text)
    raise exc


def raise_group(text):
    raise ExceptionGroup("several failed", [ValueError(text), OSError(text)])


def raise_path(text):
    # As the name of a file, which has no slash; of a path no more than the last component leaves.
    if "/" in text:
        raise_message(text)
    raise FileNotFoundError(2, "No such file or directory", f"/srv/app/{text}")


def raise_hint(text):
    raise ToolFault("internal", "It failed.", hint=f"Use {text}")


def raise_facts(text):
    raise ToolFault("internal", "It failed.", facts={"detail": text, "more": [{"deep": text}]})


def raise_protocol_error(text):
    raise MCPError(code=-32000, message=text, data={"detail": text})


def return_text(text):
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def return_structured(text):
    block = TextContent(type="text", text="It failed.")
    return CallToolResult(content=[block], structured_content={"detail": text}, is_error=True)


def return_meta(text):
    block = TextContent(type="text", text="It failed.")
    return CallToolResult(content=[block], is_error=True, _meta={"example.com/detail": text})


def return_resource(text):
    inner = TextResourceContents(uri="file:///x.txt", text=text)
    return CallToolResult(content=[EmbeddedResource(type="resource", resource=inner)], is_error=True)


def return_envelope(text):
    envelope = {"code": "internal", "message": text, "category": "permanent", "retryable": False, "hint": text}
    block = TextContent(type="text", text=text)
    return CallToolResult(content=[block], structured_content=envelope, is_error=True)


CHANNELS = {
    name: channel
    for name, channel in dict(globals()).items()
    if name.startswith(("raise_", "return_")) and callable(channel)
}


def make():
    """
    A guarded server with a tool for each channel.
    """
    server = MCPServer("secrets", log_level="CRITICAL")
    for name, channel in CHANNELS.items():
        server.add_tool(tool_for(channel), name=name)
    return install(server, Guard(secrets=[REGISTERED]))


def tool_for(channel):
    async def tool(planted: str) -> CallToolResult:
        return channel(decoded(planted))

    return tool


# ---- what is planted


def letters_and_digits(dice, count):
    return "".join(dice.choice(string.ascii_letters + string.digits) for _ in range(count))


def password(dice):
    """
    A password as generators make them: three runs with two signs between.
    """
    sign = dice.choice("!#$%*+~")
    return f"{letters_and_digits(dice, 5)}7{sign}{letters_and_digits(dice, 4)}{sign}9{letters_and_digits(dice, 3)}"


def of_vendor(dice):
    """
    A token with the marker of a vendor whose form is a prefix and letters.
    """
    rest = "1a" + letters_and_digits(dice, 38)
    simple = [
        vendor for vendor in VENDORS if re.fullmatch(vendor.form, vendor.marker + rest) and not vendor.marker.isalpha()
    ]
    return dice.choice(simple).marker + rest


def plant(dice):
    """
    A family, a text that holds a secret, and what of it may not leave.
    """
    kind = dice.randrange(5)
    if kind == 0:
        family, shape = dice.choice(TOKEN_SHAPES)
        secret = letters_and_digits(dice, 38) + "4x"
        return family, shape.format(secret), secret
    if kind == 1:
        secret = of_vendor(dice)
        return "vendor", f"the key {secret} is wrong", secret[-38:]
    if kind == 2:
        secret = dice.choice([REGISTERED, json.dumps(REGISTERED)[1:-1], REGISTERED.encode().hex()])
        return "registered", f"it said {secret} twice: {secret}", secret
    family, shape = dice.choice(SHAPES)
    secret = password(dice)
    return family, shape.format(secret), secret


# ---- the attack


class Records(logging.Handler):
    """
    What the library's logger wrote, formatted as any handler would, tracebacks apart.

    Tracebacks are the operator's: a log keeps the original unless it is asked for redacted ones.
    """

    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        extra = {key: value for key, value in vars(record).items() if key not in {"exc_info", "exc_text"}}
        self.texts.append(record.getMessage() + repr(extra))


@asynccontextmanager
async def connected(way):
    """
    A client of the server in this process, or of one in a process of its own.
    """
    here = Path(__file__)
    target = (
        make()
        if way == "memory"
        else StdioServerParameters(command=sys.executable, args=[str(here), "--serve"], cwd=str(here.parent))
    )
    async with Client(target) as client:
        yield client


async def attack(way, dice, ends, most, counts):
    records = Records()
    logger = logging.getLogger("toolfault")
    logger.addHandler(records)
    try:
        async with connected(way) as client:
            while counts["calls"] < most and time.monotonic() < ends:
                records.texts.clear()
                await attack_once(client, way, dice, records, counts)
    finally:
        logger.removeHandler(records)


async def attack_once(client, way, dice, records, counts):
    name = dice.choice(sorted(CHANNELS))
    family, text, secret = plant(dice)
    arguments = {"planted": base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()}
    try:
        answer = (await client.call_tool(name, arguments)).model_dump_json()
    except MCPError as exc:
        answer = json.dumps([exc.error.message, exc.error.data], default=str)
    counts["calls"] += 1
    for where, shown in (("answer", answer), ("log", "\n".join(records.texts))):
        if any(spelled in shown for spelled in (secret, json.dumps(secret)[1:-1], repr(secret)[1:-1])):
            counts["leaks"] += 1
            print(f"LEAK {way} {name} {where} {family}: {text[:160]!r}")


def main(quick: bool = False, minutes: float = 5.0) -> int:
    """
    Attack for so many minutes, or with a few hundred calls; return the number of leaks.
    """
    seed = 20_261_201 if quick else random.SystemRandom().randrange(2**32)
    dice = random.Random(seed)
    total = {"calls": 0, "leaks": 0}
    ends = time.monotonic() + minutes * 60
    for way, share in (("memory", 0.6), ("stdio", 1.0)):
        counts = {"calls": 0, "leaks": 0}
        until = time.monotonic() + (ends - time.monotonic()) * share
        anyio.run(attack, way, dice, until, QUICK_CALLS if quick else 10**9, counts)
        print(f"{way}: {counts['calls']} calls, {counts['leaks']} leaks")
        total = {key: total[key] + counts[key] for key in total}
    print(f"secrets: {total['calls']} planted in {len(CHANNELS)} channels, {total['leaks']} leaks (seed {seed})")
    return total["leaks"]


if __name__ == "__main__":
    if "--serve" in sys.argv:
        make().run()
    else:
        sys.exit(main(quick="--quick" in sys.argv) > 0)
