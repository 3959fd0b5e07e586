"""
Writes ``specs/dialects.md``, the page that shows failures in every vocabulary, from the code that writes them.

Run it as ``python tests/write_dialects.py`` after a change to a dialect or to a table of the bridge, and with
``--check`` to see whether the page is what it would write.
"""

# ruff: noqa: T201 -- a program that prints

import json
import sys
from pathlib import Path

from toolfault import McpErrorCode, ToolFault
from toolfault._wire import to_result
from toolfault.dialects import a2a, a2c_smcp, google_rpc, problem_json, tool_failure
from toolfault.dialects._tables import _TABLES, A2A_INTERNAL, comes_back, meaning, translate


PAGE = Path(__file__).parent.parent / "specs" / "dialects.md"

TOP = """\
# Dialects

The same failures in every error vocabulary that [the bridge](bridge.md) knows, and the tables by which their codes are translated.

This page is written by a program, from the code and the tables that the library itself uses, so that it can't differ from them.
After a change to one, `python tests/write_dialects.py` writes it anew; a test compares the two.

## Codes

A code in *italics* does not come back by the tables alone; then the record tells which one it was.
"""

FAILURES_TOP = """\
## A failure in every dialect

A quota of a tool behind a gateway is used up.
No other vocabulary has a number for that, a wait, a hint or causes: what the number loses stands in the record.
"""

FAILURE = ToolFault.of(
    ToolFault(
        "quota_exceeded",
        "The daily forecast quota is used up.",
        retry_after_seconds=3600,
        hint="Ask for the stored forecast instead.",
        causes=["HTTP 429"],
    ).envelope,
    outcome="not_executed",
    facts={"id": "5f3a90c2be17", "upstream_status": 429},
)
TIMEOUT = ToolFault("tool_timeout", "The forecast took longer than 30 seconds.")
ARGUMENTS = ToolFault("invalid_arguments", "There is no city of that name.", hint="Did you mean Bern?")
DENIED = ToolFault("permission_denied", "The account may not see forecasts.")
ELSEWHERE = {"code": 4017, "message": "Skill resource not accessible", "details": {"reason": "forbidden", "rel_path": "a.md"}}  # fmt: skip

#: A heading, what is to be said of it, and what is shown.
EXAMPLES = (
    ("MCP: the result", "", lambda: to_result(FAILURE)),
    ("MCP: `_meta` as SEP-3313 drafts it", "It is lossless only together with our own key beside it.", lambda: tool_failure.encode(FAILURE, clock=lambda: 1796070000.0)),
    ("A2A over JSON-RPC", "The `error` of the response.", lambda: a2a.encode(FAILURE)),
    ("A2A over JSON-RPC, version 0.3", "", lambda: a2a.encode(FAILURE, version="0.3")),
    ("A2A over HTTP+JSON", "The status says more than the number.", lambda: a2a.encode(FAILURE, binding="http")),
    ("A2A over gRPC", "A `google.rpc.Status` in protobuf's JSON mapping.", lambda: a2a.encode(FAILURE, binding="grpc")),
    ("protocol-droid", "", lambda: a2a.encode(FAILURE, profile="protocol-droid")),
    ("problem+json (RFC 9457)", "An HTTP answer of a REST façade, with the envelope in extension members.", lambda: problem_json.encode(FAILURE)),
    ("google.rpc.Status", "In protobuf's JSON mapping.", lambda: google_rpc.encode(FAILURE)),
    ("google.rpc.Status over HTTP+JSON", "", lambda: google_rpc.encode(FAILURE, binding="http")),
    ("A2C-SMCP: the tool result", "4003 would read as a success in an acknowledgement, so the failure leaves as a tool result, in any version.", lambda: a2c_smcp.encode(FAILURE)),
)  # fmt: skip

OTHERS_TOP = """\
## Some that differ
"""

OTHERS = (
    ("A2C-SMCP: a timeout", "It has a marker, and needs the record only for what is not the default.", lambda: a2c_smcp.encode(TIMEOUT)),
    ("A2C-SMCP: a refused login", "", lambda: a2c_smcp.encode(DENIED)),
    ("A2C-SMCP: refused arguments, in an acknowledgement of version 0.5", "", lambda: a2c_smcp.encode(ARGUMENTS, protocol="0.5")),
    ("A2A over HTTP+JSON: not allowed", "There is no number for it, and a status.", lambda: a2a.encode(DENIED, binding="http")),
    ("From A2C-SMCP to MCP", f"`{json.dumps(ELSEWHERE)}` reads as `permission_denied`; its details are in no text.", lambda: to_result(a2c_smcp.decode(ELSEWHERE))),
    ("From A2C-SMCP to A2A", "", lambda: a2a.encode(a2c_smcp.decode(ELSEWHERE))),
)  # fmt: skip

TITLES = {
    "mcp": "the envelope",
    "a2a": "A2A",
    "protocol-droid": "protocol-droid",
    "a2c": "A2C-SMCP",
    "problem": "problem+json",
    "grpc": "google.rpc.Status",
}


def page():
    """
    The whole page.
    """
    return "\n".join(
        [
            TOP,
            *(codes(source) for source in TITLES),
            reasons(),
            statuses(),
            FAILURES_TOP,
            *(example(*row) for row in EXAMPLES),
            OTHERS_TOP,
            *(example(*row) for row in OTHERS),
        ]
    )


def codes(source):
    """
    Where each code of a vocabulary leads.
    """
    targets = [target for known, target in _TABLES if known == source]
    known = {code: None for target in targets for code in _TABLES[source, target].rows}
    numbers = [code.value for code in McpErrorCode] if source == "mcp" else sorted(known, key=abs)
    rows = [[f"`{code}`", *(cell(code, source, target) for target in targets)] for code in numbers]
    if source != "mcp":
        rows.append(["any other", *(mark(_TABLES[source, target].other) for target in targets)])
    return f"### From {TITLES[source]}\n\n" + table([TITLES[source], *(TITLES[target] for target in targets)], rows)


def cell(code, source, target):
    image = translate(code, source, target)
    text = mark(image, sure=comes_back(code, source, target))
    if target == "mcp":
        _, category, retryable = meaning(code, source)
        default = McpErrorCode(image)
        if (default, category, retryable) != meaning(image, "mcp"):
            text += f", {category.value}, {'' if retryable else 'not '}retryable"
    return text


def mark(code, *, sure=False):
    return f"`{code}`" if sure else f"*`{code}`*"


def reasons():
    table_of = _TABLES["a2c", "mcp"]
    (by_reason,) = {id(images): images for images in table_of.by_reason.values()}.values()
    numbers = ", ".join(f"`{code}`" for code in table_of.by_reason)
    rows = [[f"`{reason}`", mark(image)] for reason, image in by_reason.items()]
    return f"With a reason in `details`, {numbers} mean what it says:\n\n" + table(
        ["reason", "envelope"], [*rows, ["any other", mark(table_of.other_reason)]]
    )


def statuses():
    targets = [target for known, target in _TABLES if known == "a2a"]
    images = [_TABLES["a2a", target].by_reason[A2A_INTERNAL] for target in targets]
    rows = [[f"`{status}`", *(mark(image[status]) for image in images)] for status in images[0]]
    return f"With one of these statuses of HTTP or gRPC, `{A2A_INTERNAL}` means what that says:\n\n" + table(
        ["status", *(TITLES[target] for target in targets)], rows
    )


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def example(title, said, make):
    body = json.dumps(make(), indent=2, ensure_ascii=False)
    return f"### {title}\n\n" + (f"{said}\n\n" if said else "") + f"```json\n{body}\n```\n"


def main(arguments):
    if arguments == ["--check"]:
        if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page():
            return 0
        print(f"{PAGE.name} is not what the code says; write it anew with: python tests/write_dialects.py")
        return 1
    if arguments:
        print(__doc__)
        return 2
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote specs/{PAGE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
