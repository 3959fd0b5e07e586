"""
Writes ``docs/tables.md``, the page of all rule tables, from the tables themselves.

Run it as ``python tests/write_tables.py`` after a change to a table, and with ``--check`` to see whether the page is
what it would write. None of the packages that the tables speak of is needed.
"""

# ruff: noqa: T201 -- a program that prints

import builtins
import importlib
import inspect
import re
import sys
from pathlib import Path

from toolfault._codes import DEFAULTS
from toolfault._verdict import Verdict
from toolfault.rules import TABLES, grpc, http


PAGE = Path(__file__).parent.parent / "docs" / "tables.md"

TOP = """\
# The rule tables

What a failure of something that a tool depends on means: by HTTP status, by gRPC status, and by Python class.
What other implementations need of it stands in the specification, [specs/tables.md](../specs/tables.md), and as data beside it.

This page is written by a program, from the tables that the library itself uses, so that it can't differ from them.
After a change to a table, `python tests/write_tables.py` writes it anew; a test compares the two.

In all tables, code, category and retryable are what stands in the envelope.
Where a server declares that it forwards none of its caller's values, or that the credentials are its own, rows that are marked so become `internal`.

* *values*: the other side blames values of the request, which a thin tool forwards from its caller.
* *credentials*: the other side refuses credentials.
* *by an argument*: the caller is to blame if an argument of the call names the file, URL or host that failed.
"""

HTTP_TOP = """\
## HTTP statuses

They are those of an API behind a tool; those of the MCP endpoint itself are the business of clients.
A status that is not listed means what its class means: any other 4xx blames values, any other 5xx is an outage.
"""

GRPC_TOP = """\
## gRPC statuses
"""

BESIDE = """\
What comes with the status can change that:
"""

CLASSES_TOP = """\
## Python classes

A class is listed under the name of the place where it is defined, and its rule holds for the classes below it that have none of their own.
A package's own row is asked before one of a class that is built in, wherever that stands among the bases.

Where the last column says by what a rule decides, the columns before it hold what becomes of an exception that tells nothing.
"""

#: Answers whose status is not all that counts: what to say of them, and what they are.
HTTP_BESIDE = (
    ("403 with a wait, or with nothing left of a limit", 403, {"headers": {"retry-after": "30"}}),
    ("403 whose body names a rate limit", 403, {"body": "You have exceeded a secondary rate limit"}),
    ("403, 502, 503 or 504 in which a proxy says that it denied the request", 403, {"headers": {"proxy-status": "p; error=http_request_denied"}}),
    ("409 with a wait, or with the advice to retry", 409, {"headers": {"retry-after": "30"}}),
    ("413 with a wait", 413, {"headers": {"retry-after": "30"}}),
    ("429 whose body speaks of money", 429, {"body": "insufficient_quota"}),
    ("429 without a wait, whose body speaks of a day or a month", 429, {"body": "Daily limit reached"}),
    ("any status with the advice not to retry, here 503", 503, {"headers": {"x-should-retry": "false"}}),
    ("418, as any other 4xx", 418, {}),
    ("599, as any other 5xx", 599, {}),
    ("302, as any redirect that was not followed", 302, {}),
)  # fmt: skip

GRPC_BESIDE = (
    ("RESOURCE_EXHAUSTED because a message is too large", "RESOURCE_EXHAUSTED", {"text": "Received message larger than max (5 vs. 4)"}),
    ("RESOURCE_EXHAUSTED without a wait, whose details speak of a day or a month", "RESOURCE_EXHAUSTED", {"text": "Quota exceeded: requests per day"}),
    ("RESOURCE_EXHAUSTED without a wait, with a QuotaFailure that speaks of no shorter time", "RESOURCE_EXHAUSTED", {"quota": "Queries"}),
    ("any status with a pushback that forbids another try, here UNAVAILABLE", "UNAVAILABLE", {"again": False}),
    ("a status that is not in the table", "NOT_IN_THE_TABLE", {}),
)  # fmt: skip


def page():
    """
    The whole page.
    """
    parts = [
        TOP,
        HTTP_TOP,
        table("status | code | category | retryable | what is said | marks", map(http_row, http.STATUS)),
        BESIDE,
        table("answer | code | category | retryable", (beside(http.verdict_for, *case) for case in HTTP_BESIDE)),
        GRPC_TOP,
        table("status | code | category | retryable | what is said | marks", map(grpc_row, grpc.STATUS)),
        BESIDE,
        table("answer | code | category | retryable", (beside(grpc.verdict_for, *case) for case in GRPC_BESIDE)),
        CLASSES_TOP,
        *(part for name in TABLES for part in classes(importlib.import_module(f"toolfault.rules.{name}"), name)),
    ]
    return "\n".join(parts)


def table(head, rows):
    columns = head.split(" | ")
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def http_row(status):
    row = http.STATUS[status]
    return [str(status), *facts(row), row.message, marks(row)]


def grpc_row(status):
    row = grpc.STATUS[status]
    return [status, *facts(row), row.message, marks(row)]


def beside(verdict_for, text, status, options):
    return [text, *facts(verdict_for(status, **options))]


def facts(row):
    """
    Code, category and retryable of a row or a verdict, defaults resolved.
    """
    category, retryable = DEFAULTS[row.code]
    category = category if row.category is None else row.category
    retryable = retryable if row.retryable is None else row.retryable
    return [f"`{row.code}`", category.value, "yes" if retryable else "no"]


def marks(row):
    names = {
        "values": row.blames_values,
        "credentials": row.refuses_credentials,
        "by an argument": row.code_if_caller_named,
    }
    return ", ".join(name for name, there in names.items() if there)


def classes(module, name):
    """
    The section of one table of classes.
    """
    yield f"### {name}\n"
    head = "class | code | category | retryable | marks | decided by"
    yield table(head, (class_row(*item) for item in sorted(module.RULES.items())))
    if module.IGNORED:
        yield f"Left without a rule on purpose: {', '.join(f'`{each}`' for each in sorted(module.IGNORED))}.\n"


def class_row(name, rule):
    if isinstance(rule, Verdict):
        return [f"`{name}`", *facts(rule), marks(rule), ""]
    verdict = rule(that_tells_nothing(name))
    shown = ["", "", "", ""] if verdict is None else [*facts(verdict), marks(verdict)]
    return [f"`{name}`", *shown, decided_by(rule)]


def that_tells_nothing(name):
    """
    An exception of a class that is built in, else of any, without arguments and attributes.
    """
    module, _, short = name.rpartition(".")
    cls = getattr(builtins, short) if module == "builtins" else Exception
    return cls.__new__(cls)


def decided_by(rule):
    """
    The first words of a rule's docstring; else that it looks at the exception.
    """
    text = inspect.getdoc(rule) if inspect.isfunction(rule) else None
    if text is None:
        return "what it holds"
    first = " ".join(re.split(r"\.\s*(?:\n\n|$)", text, maxsplit=1)[0].split())
    return re.sub(r"^Judge (?:by )?", "", first)


def main(arguments):
    if arguments == ["--check"]:
        if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page():
            return 0
        print(f"{PAGE.name} is not what the tables say; write it anew with: python tests/write_tables.py")
        return 1
    if arguments:
        print(__doc__)
        return 2
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote docs/{PAGE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
