"""
Writes the specification's tables for people, from its tables for programs (``specs/tables/*.json``).

That is ``specs/tables.md``, and in other pages what stands between ``<!-- table: NAME -->`` and
``<!-- end of table -->``. Run it as ``python tests/write_spec_tables.py`` after a change to a data
file, and with ``--check`` to see whether the pages are what it would write.

The data decide, and a test holds the library to them. ``--accept NAME`` writes one data file anew
from the library's own table, for a change that was decided there; look at the difference.
"""

# ruff: noqa: T201 -- a program that prints

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any


sys.path.insert(0, str(Path(__file__).parent / "support"))

import spec_tables  # noqa: E402 -- of the folder above
from spec_tables import load  # noqa: E402 -- likewise


SPECS = Path(__file__).parent.parent / "specs"
PAGE = SPECS / "tables.md"

TOP = """\
# Tables

What the words and numbers of other vocabularies mean in the terms of [the envelope](envelope.md).
The same tables as data stand in [tables/](tables); this page is written from them by a program, `python tests/write_spec_tables.py`, and so are the tables of the codes in [a2a.md](a2a.md) and [a2c-smcp.md](a2c-smcp.md).

In all tables, code, category and retryable are what stands in the envelope.
Where a server declares that it forwards none of its caller's values, or that the credentials are its own, rows that blame these become `internal`.
"""

HTTP = """\
## HTTP statuses

These are the statuses of an API behind a tool, and of a report in a text; those of the MCP endpoint itself are the business of clients.
The cases of [http-status](vectors/http-status.json) show what headers and a body change.

"""

PROXY = """\
A proxy that names an error in the field `Proxy-Status`, with a status of 403, 502, 503 or 504, says more than its status:

"""

GRPC = """\
## gRPC statuses

The cases of [grpc-status](vectors/grpc-status.json) show what details of a status change.

"""

JSONRPC = """\
## JSON-RPC errors

What an error in answer to a `tools/call` means (W28).
The first row that fits by number and words decides; the patterns stand in [jsonrpc.json](tables/jsonrpc.json).

"""

ALONE = """\
Where the words tell nothing, these numbers mean something by themselves:

"""

ASSIGNED = """\
These numbers MCP and JSON-RPC assign:

"""

WORDS = """\
## Words

A word for a failure in an object of another vocabulary (W27), after humps and punctuation became underscores and capitals small letters: `RATE_LIMITED`, `RateLimitError` and `rate-limited` are one word.
*Err*, *error* and *e* in front, and *err*, *error*, *exception* and *failure* behind, do not count.
Names of gRPC statuses are words too, but `OK`, `UNKNOWN` and `INTERNAL`.
A word that ends in `_not_found` and is not in the table means the same as `not_found`.

"""

LIMITS = """\
## Limits

The numbers of W30, B9 and of the retry rules.

"""

TOKENS = """\
## Tokens

The vendors whose tokens are told by their form (S6); the forms and their published sources stand in [redaction-families.json](tables/redaction-families.json).

"""


def table(head: str, rows: Iterable[Iterable[str]]) -> str:
    """
    A table of Markdown.
    """
    columns = head.split(" | ")
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def code(value: object) -> str:
    return f"`{value}`"


def meaning(row: dict[str, Any]) -> list[str]:
    return [code(row["code"]), row["category"], "yes" if row["retryable"] else "no"]


def statuses(rows: Iterable[dict[str, Any]], name: str) -> str:
    return table(
        f"{name} | code | category | retryable | blames",
        ([str(row["status"]), *meaning(row), row.get("blames", "")] for row in rows),
    )


def page() -> str:
    """
    The whole page of tables.
    """
    http, grpc, rpc = load("http"), load("grpc"), load("jsonrpc")
    return "\n".join(
        [
            TOP,
            HTTP + statuses([*http["statuses"], *http["others"]], "status"),
            PROXY
            + table(
                "error | code | category | retryable",
                ([code(row["error"]), *meaning(row)] for row in http["proxy_errors"]),
            ),
            GRPC + statuses(grpc["statuses"], "status"),
            JSONRPC + table("numbers | words | code | category | retryable", with_words(rpc)),
            ALONE + table("number | code | category | retryable", alone(rpc)),
            ASSIGNED + table("number | name | revisions", assigned(rpc)),
            WORDS + table("words | code | category | retryable", words()),
            LIMITS + table("what | limit", limits()),
            TOKENS + "; ".join(tokens()) + ".\n",
        ]
    )


def with_words(rpc: dict[str, Any]) -> Iterator[list[str]]:
    for row in rpc["with_words"]:
        numbers = ", ".join(map(code, row["numbers"]))
        if not numbers:
            numbers = "any but " + ", ".join(map(code, row["but_not"]))
        yield [numbers, "by a pattern" if "pattern" in row else "any", *meaning(row)]


def alone(rpc: dict[str, Any]) -> Iterator[list[str]]:
    for row in rpc["alone"]:
        yield [code(row["number"]), *meaning(row)]
    band = rpc["band"]
    yield [f"{code(band['from'])} to {code(band['to'])}", *meaning(band)]
    yield ["400 to 599", "as the HTTP status", "", ""]
    yield ["any other", code("unknown"), "permanent", "no"]


def assigned(rpc: dict[str, Any]) -> Iterator[list[str]]:
    for row in rpc["assigned"]:
        until = f" to {row['until']}" if row["until"] else " on"
        yield [code(row["number"]), row["name"], f"from {row['since']}{until}"]


def words() -> Iterator[list[str]]:
    for row in load("words")["groups"]:
        yield [", ".join(map(code, row["words"])), *meaning(row)]


def limits() -> Iterator[list[str]]:
    for group, value in load("limits").items():
        if group == "about":
            continue
        entries = value.items() if isinstance(value, dict) else [("", value)]
        for name, limit in entries:
            yield [f"{group} {name}".replace("_", " ").strip(), number(limit)]


def number(limit: Any) -> str:
    return f"{limit['numerator']}/{limit['denominator']}" if isinstance(limit, dict) else f"{limit}"


def tokens() -> list[str]:
    return [row["vendor"] for row in load("redaction-families")["tokens"]]


# ---- tables in other pages


def a2a_errors() -> str:
    rows: list[list[str]] = []
    for row in load("a2a-errors")["errors"]:
        shown = [status(row[version]) for version in ("0.3", "1.0.0", "1.0.1")]
        rows.append([code(row["name"]), str(row["code"]), *shown])
    return table("error | JSON-RPC | 0.3 | 1.0.0 | from 1.0.1 on", rows)


def status(found: dict[str, Any] | None) -> str:
    return "none" if found is None else f"{found['http']} `{found['grpc']}`"


_CARRIERS = {
    None: "none",
    "ack": "acknowledgement",
    "tool_result": "tool result",
    "handshake": "HTTP 400",
}


def a2c_codes() -> str:
    head = "code | name | meaning | carrier | failure in an acknowledgement since | members, or reasons"
    rows: list[list[str]] = []
    for row in load("a2c-codes")["codes"]:
        members = ["the server's (A5)" if name == "{server}" else code(name) for name in row["members"]]
        since = row["failure_in_an_acknowledgement_since"] or "never"
        rows.append(
            [
                str(row["code"]),
                row["name"],
                row["meaning"],
                _CARRIERS[row["carrier"]],
                since,
                ", ".join(members or map(code, row["reasons"])),
            ]
        )
    return table(head, rows)


#: Name of a table in a page to what writes it.
TABLES: dict[str, Callable[[], str]] = {"a2a-errors": a2a_errors, "a2c-codes": a2c_codes}

_BLOCK = r"(<!-- table: ([a-z0-9-]+) -->\n\n).*?(\n<!-- end of table -->)"


def fill(text: str) -> str:
    """
    Return a page with its tables written anew.
    """
    return re.sub(_BLOCK, lambda found: f"{found[1]}{TABLES[found[2]]()}{found[3]}", text, flags=re.DOTALL)


def pages() -> dict[Path, str]:
    """
    Return what each page that has a table should be.
    """
    found = {PAGE: page()}
    for path in sorted(SPECS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if "<!-- table: " in text:
            found[path] = fill(text)
    return found


def accept(name: str) -> int:
    if name not in spec_tables.LIBRARY:
        print(f"there is no table {name!r}; there are {', '.join(spec_tables.LIBRARY)}")
        return 2
    path = spec_tables.FOLDER / f"{name}.json"
    path.write_text(json.dumps(spec_tables.library(name), indent=2) + "\n", encoding="utf-8")
    print(f"wrote specs/tables/{path.name} from the library's own table")
    return 0


def main(arguments: list[str]) -> int:
    match arguments:
        case ["--check"]:
            stale = [path.name for path, text in pages().items() if path.read_text() != text]
            if stale:
                print(f"{', '.join(stale)}: write them with python tests/write_spec_tables.py")
            return 1 if stale else 0
        case ["--accept", name]:
            return accept(name)
        case []:
            for path, text in pages().items():
                path.write_text(text, encoding="utf-8")
            print(f"wrote {', '.join(path.name for path in pages())}")
            return 0
        case _:
            print(__doc__)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
