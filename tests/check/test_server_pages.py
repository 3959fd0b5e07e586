"""
The pages on public servers are what the script writes, and do not contradict themselves.
"""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from toolfault.check._model import CHECKS, CHECKS_BY_ID, LEVELS


SCRIPT = Path(__file__).parent.parent / "checked" / "write_pages.py"


def load():
    spec = importlib.util.spec_from_file_location("write_pages", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look themselves up.
    sys.modules["write_pages"] = module
    spec.loader.exec_module(module)
    return module


pages = load()
SECTIONS = ["## What passes", "## What could be better", "## What was not provoked"]

every_server = pytest.mark.parametrize("server", pages.SERVERS, ids=lambda server: server.package)


def section(text, title):
    return text.partition(f"\n{title}\n")[2].partition("\n## ")[0]


def checks_in(text):
    return set(re.findall(r"\]\(\.\./checks/([a-z-]+)\.md\)", text))


def failed_in(text):
    return {check for check, _ in re.findall(r"\[`([a-z-]+)`\]\(\S+\), (?:level \d|for information), (fails)", text)}


def test_there_are_servers_of_both_registries():
    assert len(pages.SERVERS) >= 5
    assert {server.registry for server in pages.SERVERS} == {"PyPI", "npm"}


def test_each_page_is_of_a_server():
    assert {file.name for file in pages.PAGES.glob("*.md")} == {"index.md", *(one.page.name for one in pages.SERVERS)}


def test_the_index_is_made_of_the_pages():
    written = pages.write_index({server: server.page.read_text() for server in pages.SERVERS})

    assert (pages.PAGES / "index.md").read_text() == written


@every_server
def test_a_page_says_what_was_checked_and_when(server):
    text = server.page.read_text()
    facts = pages.read_facts(text)

    assert text.startswith(f"# {server.package}\n\n{pages.MADE}\n")
    assert facts["package"].startswith(f"[`{server.package}`]({server.url}) ")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d, with toolfault \d+\.\d+\.\d+\S*", facts["checked"])
    assert [line for line in text.splitlines() if line.startswith("## ")] == SECTIONS
    assert server.why in text


@every_server
def test_a_page_speaks_of_each_check_once(server):
    text = server.page.read_text()
    parts = [checks_in(section(text, title)) for title in SECTIONS]

    assert set.union(*parts) == set(CHECKS_BY_ID)
    assert sum(map(len, parts)) == len(CHECKS)


@every_server
def test_the_level_is_that_of_the_checks(server):
    text = server.page.read_text()
    shown = int(pages.read_facts(text)["level"].partition(" ")[0])
    not_met = failed_in(text)
    for line in section(text, SECTIONS[2]).splitlines():
        if "The operator says" not in line and "is reached over" not in line:
            not_met |= checks_in(line)

    reached = [
        level for level in LEVELS if not any(CHECKS_BY_ID[check].level in range(1, level + 1) for check in not_met)
    ]

    assert shown == max(reached, default=0)


@every_server
def test_no_secret_and_no_folder_of_ours_is_shown(server):
    text = server.page.read_text()

    assert "ghp_" not in text
    assert not re.search(r"/(?:tmp|home|root|work)/", text)
    assert set(text) <= {"\n", "…", *map(chr, range(32, 127))}
