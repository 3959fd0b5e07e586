"""
The page of all rule tables is what the tables say.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from toolfault.rules import TABLES, load


SCRIPT = Path(__file__).parent / "write_tables.py"


@pytest.fixture(scope="module")
def script():
    """
    The program that writes the page, as a module.
    """
    spec = importlib.util.spec_from_file_location("write_tables", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_tables_say(script):
    """
    A change to a table, without one to the page, turns this red; the cure is to run the program.
    """
    assert script.page() == script.PAGE.read_text(encoding="utf-8"), "run: python tests/write_tables.py"


def test_the_page_has_every_class_once(script):
    """
    Each rule has its row, each table its section.
    """
    lines = script.page().splitlines()

    assert dict.fromkeys(load(), 1) == {
        name: sum(line.startswith(f"| `{name}` |") for line in lines) for name in load()
    }
    assert list(TABLES) == [line[4:] for line in lines if line.startswith("### ")]


def test_every_row_has_as_many_cells_as_its_head(script):
    """
    No cell breaks its table.
    """
    for block in script.page().split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({row.replace("\\|", "").count("|") for row in rows}) <= 1, rows[:1]


def test_where_a_rule_decides_by_looking_the_page_says_so(script):
    """
    A constant has an empty last cell, a function has its docstring's words or none of its own.
    """

    def documented(exc):
        """
        Judge by its status: the table above.

        More.
        """

    assert script.decided_by(documented) == "its status: the table above"
    assert script.decided_by(lambda exc: None) == "what it holds"
    assert script.class_row("a.B", documented) == ["`a.B`", "", "", "", "", "its status: the table above"]


@pytest.mark.parametrize(
    ("text", "arguments", "code"),
    [
        pytest.param(None, ["--check"], 1, id="none"),
        pytest.param("stale", ["--check"], 1, id="stale"),
        pytest.param("stale", [], 0, id="written"),
        pytest.param("stale", ["--nonsense"], 2, id="wrong option"),
    ],
)
def test_the_program_writes_and_compares(script, monkeypatch, tmp_path, capsys, text, arguments, code):
    """
    Its exit code is what CI looks at.
    """
    page = tmp_path / "tables.md"
    if text is not None:
        page.write_text(text)
    monkeypatch.setattr(script, "PAGE", page)

    assert script.main(arguments) == code
    assert capsys.readouterr().out
    if arguments == []:
        assert script.main(["--check"]) == 0


def test_the_program_needs_no_package_of_the_tables():
    """
    Anyone with a checkout can run it.
    """
    program = (
        "import runpy, sys\n"
        f"page = runpy.run_path({str(SCRIPT)!r})['page']()\n"
        "wanted = {'httpx', 'grpc', 'google', 'botocore', 'requests', 'aiohttp', 'sqlalchemy', 'openai', 'mcp'}\n"
        "print(len(page) > 10_000, sorted(wanted & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "True []\n"
