"""
The tables of the specification are data: the library's own are held to them, and the pages are
written from them.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import spec_tables


SCRIPT = Path(__file__).parent / "write_spec_tables.py"
SPECS = SCRIPT.parent.parent / "specs"


@pytest.fixture(scope="module")
def script():
    """
    The program that writes the pages, as a module.
    """
    spec = importlib.util.spec_from_file_location("write_spec_tables", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def differences(expected, actual, path=""):
    """
    Yield where two JSON values differ, with both.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in expected.keys() | actual.keys():
            yield from differences(expected.get(name), actual.get(name), f"{path}.{name}")
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            yield f"{path}: the data have {len(expected)} rows, the library has {len(actual)}"
        for number, pair in enumerate(zip(expected, actual, strict=False)):
            yield from differences(*pair, f"{path}[{number}]")
    elif expected != actual:
        yield f"{path}: the data say {json.dumps(expected)}, the library says {json.dumps(actual)}"


@pytest.mark.parametrize("name", spec_tables.LIBRARY)
def test_the_library_says_what_the_data_say(name):
    """
    A change to one alone turns this red, and shows the row.
    """
    found = list(differences(spec_tables.load(name), spec_tables.library(name)))

    assert found == [], f"decide which is right, then: python tests/write_spec_tables.py --accept {name}"


def test_every_data_file_is_held():
    """
    No table stands beside the library without a test.
    """
    assert {path.stem for path in spec_tables.FOLDER.glob("*.json")} == set(spec_tables.LIBRARY)


def test_the_pages_are_what_the_data_say(script):
    """
    The cure is to run the program.
    """
    stale = [path.name for path, text in script.pages().items() if path.read_text() != text]

    assert stale == [], "run: python tests/write_spec_tables.py"


def test_every_table_stands_in_a_page(script):
    """
    Each table that the program knows has its place, once.
    """
    text = "".join(path.read_text() for path in SPECS.glob("*.md"))

    assert sorted(re.findall(r"<!-- table: ([a-z0-9-]+) -->", text)) == sorted(script.TABLES)
    assert text.count("<!-- end of table -->") == len(script.TABLES)


def test_a_table_that_was_changed_is_written_anew(script):
    """
    What stands between the marks is replaced, and nothing around it.
    """
    page = "before\n<!-- table: a2a-errors -->\n\n| stale |\n\n<!-- end of table -->\nafter\n"

    text = script.fill(page)

    assert text.startswith("before\n<!-- table: a2a-errors -->\n\n| error |")
    assert text.endswith("|\n\n<!-- end of table -->\nafter\n")
    assert "stale" not in text
    assert script.fill(text) == text


def test_patterns_are_those_of_ecma():
    """
    A pattern of the data compiles without Python's own syntax.
    """
    rows = spec_tables.load("jsonrpc")["with_words"]
    tokens = spec_tables.load("redaction-families")["tokens"]
    waits = spec_tables.load("waits")
    patterns = [row["pattern"] for row in rows if "pattern" in row]
    patterns += [row["form"] for row in tokens]
    patterns += [row["pattern"] for row in waits["headers"] if "pattern" in row]
    patterns.append(waits["member"]["pattern"])

    assert len(patterns) > 100
    for pattern in patterns:
        re.compile(pattern)
        assert not re.search(r"\(\?[a-zP#>(]|\\[AZ]", pattern), pattern


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["--check"], 0, id="check"),
        pytest.param(["--accept", "nonsense"], 2, id="no such table"),
        pytest.param(["--nonsense"], 2, id="no such option"),
    ],
)
def test_the_program(arguments, code):
    """
    Its exit code is what CI looks at.
    """
    command = [sys.executable, str(SCRIPT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == code, done.stderr
    assert (done.stdout == "") is (code == 0)


def test_a_table_is_accepted_into_its_file(script, monkeypatch, tmp_path, capsys):
    """
    The library's own table becomes the data where somebody asks for it.
    """
    monkeypatch.setattr(script.spec_tables, "FOLDER", tmp_path)

    assert script.main(["--accept", "grpc"]) == 0
    assert json.loads((tmp_path / "grpc.json").read_text()) == spec_tables.library("grpc")
    assert "grpc.json" in capsys.readouterr().out
