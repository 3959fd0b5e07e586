"""
Writes what the checker's own table says into the pages of ``docs/checks``.

Run it as ``python tests/write_checks.py`` after a change to `CHECKS`, and with ``--check`` to see whether the pages say
what it would write. The examples and the advice below them are written by hand.
"""

# ruff: noqa: T201 -- a program that prints

import sys
from pathlib import Path

from toolfault.check._model import CHECKS, INFORMATION, LEVELS


FOLDER = Path(__file__).parent.parent / "docs" / "checks"

BEGIN = "<!-- From the checker's table, by tests/write_checks.py. -->"
END = "<!-- By hand from here. -->"

BASES = {
    "spec": "the MCP specification or JSON-RPC",
    "contract": "the contract of the error envelope",
    "practice": "what clients and models were seen to fail on",
}

INDEX_TOP = """\
# What `toolfault check` asks

Each check has a stable id, a level and a basis.
A level is reached if each check of it, and of the levels below, was provoked and did not fail.
A check that was not provoked counts as neither passed nor failed; the report says why nothing could tell.

Each page has examples that fail and examples that pass, and a test judges them.
An example is an exchange as JSON: `kind` says which failure was asked for (as `--dry-run` prints it), `sent` what was sent,
`answers` what came, and `expected` what the checker knew before, such as the argument at fault.
Below an example that fails stands what the report says about it.
"""


def write_frame(check):
    """
    The part of a check's page that its row in the table gives.
    """
    return "\n".join(
        [
            f"# `{check.id}`",
            "",
            BEGIN,
            "",
            f"{check.title}",
            "",
            f"* **Level:** {name_level(check.level)}",
            f"* **Basis:** {BASES[check.basis.value]}",
            f"* **Why:** {check.why}",
            f"* **Cure:** {check.cure}",
            "",
            END,
            "",
        ]
    )


def name_level(level):
    """
    A level with its name.
    """
    return "none; it informs" if level == INFORMATION else f"{level}, {LEVELS[level]}"


def write_page(check, before):
    """
    A check's page with a frame that is up to date.
    """
    by_hand = before.partition(f"{END}\n")[2]
    return write_frame(check) + by_hand


def write_index():
    """
    The page that lists all checks.
    """
    lines = [INDEX_TOP, "| level | check | what holds if it passes | basis |", "| --- | --- | --- | --- |"]
    for check in CHECKS:
        level = "" if check.level == INFORMATION else check.level
        lines.append(f"| {level} | [`{check.id}`]({check.id}.md) | {check.title} | {check.basis.value} |")
    return "\n".join([*lines, ""])


def pages():
    """
    Each page, and what it should say.
    """
    yield FOLDER / "index.md", write_index()
    for check in CHECKS:
        path = FOLDER / f"{check.id}.md"
        yield path, write_page(check, path.read_text(encoding="utf-8") if path.exists() else "")


def main():
    """
    Write the pages; with ``--check``, only compare them.
    """
    stale = [path for path, text in pages() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path, text in pages():
        if path in stale and "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{path.name} {'is stale' if '--check' in sys.argv else 'is written'}")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
