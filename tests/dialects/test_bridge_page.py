"""
The page of dialects is what the code says.
"""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from toolfault import McpErrorCode
from toolfault.dialects._tables import _TABLES


SCRIPT = Path(__file__).parents[1] / "write_dialects.py"


@pytest.fixture(scope="module")
def script():
    """
    The program that writes the page, as a module.
    """
    spec = importlib.util.spec_from_file_location("write_dialects", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_code_says(script):
    """
    A change to a dialect, without one to the page, turns this red; the cure is to run the program.
    """
    assert script.page() == script.PAGE.read_text(encoding="utf-8"), "run: python tests/write_dialects.py"


def test_every_code_of_every_table_has_its_row(script):
    sections = dict(re.findall(r"^### From ([^\n]+)\n\n(.*?)\n\n", script.page(), re.MULTILINE | re.DOTALL))

    for (source, _), table in _TABLES.items():
        rows = set(re.findall(r"^\| `([^`]+)` \|", sections[script.TITLES[source]], re.MULTILINE))
        assert {str(code) for code in table.rows} <= rows
    assert {code.value for code in McpErrorCode} == set(
        re.findall(r"^\| `([^`]+)` \|", sections["the envelope"], re.MULTILINE)
    )


def test_every_row_has_as_many_cells_as_its_head(script):
    for block in script.page().split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({row.count("|") for row in rows}) <= 1, rows[:1]


def test_every_example_is_json_without_a_number_that_may_not_be_sent(script):
    blocks = re.findall(r"^```json\n(.*?)^```$", script.page(), re.MULTILINE | re.DOTALL)

    assert len(blocks) == len(script.EXAMPLES) + len(script.OTHERS)
    assert [block for block in blocks if not isinstance(json.loads(block), dict)] == []
    assert not [block for block in blocks if '"code": 4008' in block or '"code": 4003' in block]


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
    page = tmp_path / "dialects.md"
    if text is not None:
        page.write_text(text)
    monkeypatch.setattr(script, "PAGE", page)

    assert script.main(arguments) == code
    assert capsys.readouterr().out
    if arguments == []:
        assert script.main(["--check"]) == 0
