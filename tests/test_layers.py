"""
The house: imports point down only.
"""

import ast
from pathlib import Path

import pytest


ROOT = Path(__file__).parent.parent / "src" / "toolfault"

#: Bottom first. A room may import from lower rows only; a new room without a row fails.
LAYERS = [
    {"_codes", "_json", "_names", "_options", "_text", "_version"},
    {"_record", "_secret_words", "_paths", "_peel", "_exact", "_provenance"},
    {"_budget", "_envelope", "_delays", "_causes", "_verdict", "_known_secrets", "_secrets", "_tokens"},
    {"errors", "_backoff", "_redact", "_phrases", "_foreign"},
    {"_registry", "_prose", "_wire", "_purpose", "_schema", "_quick", "_received", "_traces"},
    {"rules", "dialects", "_case"},
    {"_findings", "_compose", "_claims", "_retold"},
    {"_classify", "_log", "_no_result"},
    {"_attempts", "_parse"},
    {"_guard", "_retry"},
    {"_servers"},
    {"", "hooks", "hosting", "testing"},
    {"integrations"},
]
HEIGHT = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}

#: What the rooms below the integrations may import at the top of a file besides the standard library.
FOREIGN = {"pydantic", "anyio"}


def room_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return "" if parts == ("__init__",) else parts[0]


def rooms_imported_by(path):
    """
    The rooms that a file imports, wherever in it, but for what only type checkers see.
    """
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names = [node.module]
            if node.module == "toolfault":
                names = [f"toolfault.{alias.name}" if alias.name in HEIGHT else "toolfault" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            head, _, rest = name.partition(".")
            if head == "toolfault":
                yield rest.split(".")[0]


def files():
    return sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_only_point_down(path):
    here = room_of(path)

    up = {there for there in rooms_imported_by(path) if HEIGHT[there] >= HEIGHT[here]}

    assert set() == up - {here}


def test_every_room_of_the_table_exists():
    rooms = {room_of(path) for path in files()}

    assert set(HEIGHT) - rooms == set()


@pytest.mark.parametrize(
    "path", [path for path in files() if room_of(path) != "integrations"], ids=lambda path: str(path.relative_to(ROOT))
)
def test_rooms_below_the_integrations_know_no_framework(path):
    import sys

    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.split(".")[0])

    assert found - set(sys.stdlib_module_names) - FOREIGN - {"toolfault"} == set()


@pytest.mark.parametrize(
    "path", [path for path in files() if room_of(path) == "rules"], ids=lambda path: str(path.relative_to(ROOT))
)
def test_rule_tables_import_no_package_that_they_speak_of(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module]
        else:
            continue
        for module in modules:
            assert module.split(".")[0] not in {"httpx", "httpx2", "pydantic", "anyio", "mcp", "fastmcp", "tenacity"}


def test_integrations_use_only_the_doors():
    doors = {"toolfault", "toolfault.hosting", "toolfault.testing", "toolfault.errors", "toolfault.hooks"}
    for path in files():
        if room_of(path) != "integrations":
            continue
        own = "toolfault.integrations." + path.relative_to(ROOT / "integrations").parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "toolfault":
                assert node.module in doors or node.module.startswith(own), f"{path.name} imports {node.module}"
