"""
Each place that a new rule table, framework adapter or dialect needs, as CONTRIBUTING.md lists them.

A failure names the place that was forgotten.
"""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from toolfault import rules


ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "toolfault"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def text_of(*parts):
    return ROOT.joinpath(*parts).read_text()


def missing(places):
    """
    Return the places, each a sentence, whose condition does not hold.
    """
    return [place for place, holds in places.items() if not holds]


def modules_in(folder):
    """
    The modules and packages of a folder that are public.
    """
    names = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    return sorted(name for name in names if not name.startswith("_"))


def constant(path, name):
    """
    The value of a constant of a test file, which is not imported: its packages may be elsewhere.
    """
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == name for target in node.targets):
            return ast.literal_eval(node.value)
    raise AssertionError(f"{path.name} has no {name}")


HERE = constant(ROOT / "tests" / "rules" / "test_tables.py", "OURS")
IN_SERVICES = constant(ROOT / "tests" / "services" / "test_tables.py", "TABLES")
COVERAGE = PROJECT["tool"]["coverage"]["report"]["omit"]

#: Modules of rules/ that hold no classes of a package.
NO_TABLES = {"http", "sqlstate"}


@pytest.mark.parametrize("table", sorted({*rules.TABLES, *modules_in(SOURCE / "rules")} - NO_TABLES))
def test_a_rule_table_is_complete(table):
    packages = "".join(path.read_text() for path in (ROOT / "tests" / "packages").glob("test_*.py"))
    tested_elsewhere = re.search(rf"\b{table}\b", packages) is not None

    assert [] == missing(
        {
            "list it in TABLES of rules/__init__.py": table in rules.TABLES,
            "write docs/tables.md anew: python tests/write_tables.py": f"`{table}`" in text_of("docs", "tables.md")
            or table in text_of("docs", "tables.md").lower(),
            "test it: OURS in tests/rules/test_tables.py, TABLES in tests/services/test_tables.py, or tests/packages": (
                table in HERE or table in IN_SERVICES or tested_elsewhere
            ),
            "leave it out of the coverage where its package is not installed: pyproject.toml": (
                table in HERE or f"*/rules/{table}.py" in COVERAGE
            ),
        }
    )


#: Integrations that belong to the SDK itself, or to telemetry.
NO_FRAMEWORK = {"mcp", "opentelemetry"}


@pytest.mark.parametrize("name", modules_in(SOURCE / "integrations"))
def test_an_adapter_is_complete(name):
    extra = name.replace("_", "-")
    single = (SOURCE / "integrations" / f"{name}.py").exists() and name not in NO_FRAMEWORK
    settings = "".join(path.read_text() for path in (ROOT / "tests").glob("*/pyrightconfig.json"))
    tests = [path.name for path in (ROOT / "tests").rglob("test_*.py")]

    assert [] == missing(
        {
            "name its extra in pyproject.toml": name == "mcp" or extra in PROJECT["project"]["optional-dependencies"],
            "name its framework in FRAMEWORKS of tests/test_layers.py": f'"{name}": {{'
            in text_of("tests/test_layers.py"),
            "test it: tests/*/test_<name>.py, or a folder of that name": (
                f"test_{name}.py" in tests or (ROOT / "tests" / name).is_dir() or name == "mcp"
            ),
            "type-check it in its environment: tests/*/pyrightconfig.json": not single or f"/{name}.py" in settings,
            "leave it out of mypy and pyright here: pyproject.toml": not single
            or (name in PROJECT["tool"]["mypy"]["exclude"][0] and f"{name}.py" in str(PROJECT["tool"]["pyright"])),
            "leave it out of the coverage here: pyproject.toml": not single or f"*/integrations/{name}.py" in COVERAGE,
            "say it in docs/guides/frameworks.md": single is False
            or f"integrations.{name}" in text_of("docs", "guides", "frameworks.md"),
            "name its extra in the README": name == "mcp" or f"toolfault[{extra}]" in text_of("README.md"),
        }
    )


#: How the pages spell a dialect that is not named as its module.
SPELLED = {"tool_failure": "SEP-3313", "problem_json": "problem+json", "google_rpc": "google.rpc.Status"}


@pytest.mark.parametrize("name", modules_in(SOURCE / "dialects"))
def test_a_dialect_is_complete(name):
    tests = [path.name for path in (ROOT / "tests" / "dialects").rglob("test_*.py")]
    recognised = text_of("src/toolfault/dialects/_clues.py") + text_of("src/toolfault/_read/dialects.py")
    spelled = SPELLED.get(name, name.replace("_", "-"))
    pages = "".join(path.read_text() for path in (ROOT / "specs").glob("*.md"))

    assert [] == missing(
        {
            "say how it is recognised: dialects/_clues.py": name == "jsonrpc" or name in recognised,
            "test it: tests/dialects/test_<name>.py": f"test_{name}.py" in tests,
            "describe it in specs/": spelled in pages,
            "list it among the public modules of tests/test_public_api.py": f"toolfault.dialects.{name}"
            in text_of("tests/test_public_api.py"),
            "say it in docs/guides/protocols.md": name in text_of("docs", "guides", "protocols.md")
            or spelled in text_of("docs", "guides", "protocols.md"),
        }
    )
