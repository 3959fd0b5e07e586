"""
The site of documentation is complete: every page, every public module, every code.

`make docs` builds it, and tests/site looks at what was built.
"""

import json
import re
import typing
from pathlib import Path

import pytest

from toolfault import Disclosure, Guidance, McpErrorCategory, McpErrorCode
from toolfault._verdict import Origin, Outcome
from toolfault.hooks import Stopped


ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CODES = json.loads((ROOT / "specs" / "codes.json").read_text())

#: Modules that are not public although their name has no underscore: programs and their parts.
PROGRAMS = {"cli", "gateway", "check", "__main__", "rules", "integrations"}


def public_modules():
    """
    The modules whose names have no underscore, and which say what they export.
    """
    source = ROOT / "src" / "toolfault"
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        name = ".".join(("toolfault", *(part for part in parts if part != "__init__")))
        private = any(part.startswith("_") and part != "__init__" for part in parts)
        exports = re.search(r"^__all__ = \[", path.read_text(), re.MULTILINE)
        if exports and not private and not PROGRAMS & {parts[0]} - {"rules", "integrations"}:
            yield name


def test_the_reference_shows_every_public_module():
    pages = "".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    shown = re.findall(r"^::: (\S+)$", pages, re.MULTILINE)

    assert sorted(shown) == sorted(public_modules())


def test_the_navigation_leads_to_every_page():
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    listed = re.findall(r"(\S+\.md)$", navigation, re.MULTILINE)
    patterns = [name for name in listed if "*" in name]

    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    specs = {page.relative_to(ROOT).as_posix() for page in (ROOT / "specs").glob("*.md")}
    assert len(listed) == len(set(listed))
    matched = {page.relative_to(DOCS).as_posix() for pattern in patterns for page in DOCS.glob(pattern)}
    assert (pages | specs) - set(listed) - matched == set()


def test_each_code_has_a_page():
    pages = {page.stem for page in (DOCS / "codes").glob("*.md")} - {"index"}

    assert pages == {code.value for code in McpErrorCode} == {row["code"] for row in CODES["codes"]}


@pytest.mark.parametrize("row", CODES["codes"], ids=lambda row: row["code"])
def test_the_page_of_a_code_says_what_the_specification_says(row):
    page = (DOCS / "codes" / f"{row['code']}.md").read_text()
    retryable = "yes" if row["retryable"] else "no"

    heading = (
        f"# `{row['code']}`\n\n{row['meaning']}\n\n"
        f"| category | retryable |\n| --- | --- |\n| {row['category']} | {retryable} |\n\n"
    )
    assert page.startswith(heading)


@pytest.mark.parametrize("code", list(McpErrorCode), ids=str)
def test_the_page_of_a_code_tells_everybody_what_to_do(code):
    page = (DOCS / "codes" / f"{code}.md").read_text()

    assert re.findall(r"^\*\*(A model|A client|An operator):\*\* \w", page, re.MULTILINE) == [
        "A model",
        "A client",
        "An operator",
    ]
    # Its example ran (tests/test_docs.py), and printed an envelope with the code.
    assert re.search(rf'^ *"code": "{code}",$', page.partition("## Example")[2], re.MULTILINE)


def test_the_page_of_all_codes_has_their_tables():
    page = (DOCS / "codes" / "index.md").read_text()

    for row in CODES["codes"]:
        retryable = "yes" if row["retryable"] else "no"
        link = f"[`{row['code']}`]({row['code']}.md)"
        assert f"| {link} | {row['meaning']} | {row['category']} | {retryable} |\n" in page
    assert {row["category"] for row in CODES["categories"]} == {category.value for category in McpErrorCategory}
    for row in CODES["categories"]:
        assert f"| `{row['category']}` | {row['meaning']} |\n" in page


@pytest.mark.parametrize(
    ("page", "heading", "values"),
    [
        ("guides/clients.md", "Why the attempts ended", typing.get_args(Stopped)),
        ("guides/security.md", "Disclosure", [f"Disclosure.{value.name}" for value in Disclosure]),
        ("guides/servers.md", "What the model reads", [f"Guidance.{value.name}" for value in Guidance]),
        ("codes/index.md", "Categories", [category.value for category in McpErrorCategory]),
        ("codes/index.md", "Retryable is not safe", typing.get_args(Outcome)),
    ],
)
def test_a_table_of_values_is_complete(page, heading, values):
    section = (DOCS / page).read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    first_cells = re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)

    assert set(values) <= set(first_cells)


@pytest.mark.parametrize("values", [typing.get_args(Origin), typing.get_args(Outcome)], ids=str)
def test_the_table_of_facts_names_each_value(values):
    page = (DOCS / "guides" / "servers.md").read_text()

    assert [value for value in values if f"`{value}`" not in page] == []
