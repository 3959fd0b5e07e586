"""
Imports between the package's parts point down only.
"""

import ast
import sys
from pathlib import Path

import pytest


ROOT = Path(__file__).parent.parent / "src" / "toolfault"

#: Bottom first. A part may import from lower rows only; a new part without a row fails.
LAYERS = [
    {"_json", "_logging", "_names", "_version"},
    {"_options", "_text"},
    {"_codes"},
    {"_bridge_record", "_redact", "_exception_chain", "_schema"},
    {"_tracebacks"},
    {"_envelope", "_verdict"},
    {"errors", "_meanings", "_retry_after"},
    {"_registry", "_prose", "_wire", "_sanitize"},
    {"rules", "dialects"},
    {"_judge", "_read"},
    {"_guard", "_retry"},
    {"", "hooks", "hosting"},
    {"integrations"},
    {"gateway"},
    {"check"},
    {"testing"},
    {"cli", "pytest_plugin"},
    {"__main__"},
]
HEIGHT = {part: height for height, parts in enumerate(LAYERS) for part in parts}

#: What the parts below the integrations may import besides the standard library.
FOREIGN = {"pydantic", "anyio"}

#: What a module imports inside a function: mcp installs it.
AT_FIRST_USE = {
    "_schema/bounded.py": {"jsonschema", "referencing"},
    "_schema/evaluate.py": {"jsonschema"},
    # Loaded with pydantic.
    "_schema/patterns.py": {"pydantic_core"},
    # For --listen only.
    "gateway/_listen.py": {"uvicorn"},
    # For a server that asks for a login.
    "gateway/_oauth.py": {"mcp"},
    # A server of the test's own process.
    "check/_memory.py": {"mcp"},
    "pytest_plugin.py": {"pytest"},
    # Colours, where it is installed.
    "check/_terminal.py": {"rich"},
    # For an upstream behind HTTPS_PROXY; mcp installs it.
    "check/_certificates.py": {"cryptography"},
    # For ``--otel``.
    "gateway/_telemetry.py": {"opentelemetry"},
    "dialects/_redis.py": {"redis"},
}


def part_of(path):
    names = path.relative_to(ROOT).with_suffix("").parts
    return "" if names == ("__init__",) else names[0]


def modules_imported_by(path):
    """
    The modules that a file imports, wherever in it.
    """
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def parts_imported_by(path):
    """
    The parts of the package that a file imports, wherever in it, but for what only type checkers see.
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
    here = part_of(path)

    up = {there for there in parts_imported_by(path) if HEIGHT[there] >= HEIGHT[here]}

    assert set() == up - {here}


def test_every_part_of_the_table_exists():
    parts = {part_of(path) for path in files()}

    assert set(HEIGHT) - parts == set()


@pytest.mark.parametrize(
    "path", [path for path in files() if part_of(path) != "integrations"], ids=lambda path: str(path.relative_to(ROOT))
)
def test_parts_below_the_integrations_import_no_framework(path):
    found = {module.split(".")[0] for module in modules_imported_by(path)}

    assert found - set(sys.stdlib_module_names) - FOREIGN - {"toolfault"} == AT_FIRST_USE.get(
        str(path.relative_to(ROOT)), set()
    )


@pytest.mark.parametrize(
    "path", [path for path in files() if part_of(path) == "rules"], ids=lambda path: str(path.relative_to(ROOT))
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


def test_integrations_import_only_public_modules():
    public = {"toolfault", "toolfault.hosting", "toolfault.errors", "toolfault.hooks"}
    for path in files():
        if part_of(path) != "integrations":
            continue
        own = "toolfault.integrations." + path.relative_to(ROOT / "integrations").with_suffix("").parts[0]
        for module in modules_imported_by(path):
            if module.split(".")[0] == "toolfault":
                assert module in public or f"{module}.".startswith(f"{own}."), f"{path.name} imports {module}"


#: The framework of each integration; what else it may import is what that framework itself installs.
FRAMEWORKS = {
    "agent_framework": {"agent_framework"},
    "crewai": {"crewai", "mcp"},
    "fastmcp": {"fastmcp", "mcp"},
    "google_adk": {"google"},
    "langchain": {"langchain_core", "langchain_mcp_adapters", "mcp"},
    "llama_index": {"llama_index", "mcp"},
    "mcp": {"mcp", "jsonschema"},
    "mcp_use": {"mcp", "mcp_use"},
    "openai_agents": {"agents", "mcp"},
    "opentelemetry": {"opentelemetry"},
    "pydantic_ai": {"pydantic_ai"},
    "strands": {"strands"},
}


def test_each_integration_imports_one_framework():
    found = {}
    for path in files():
        if part_of(path) == "integrations" and path != ROOT / "integrations" / "__init__.py":
            name = path.relative_to(ROOT / "integrations").with_suffix("").parts[0]
            heads = {module.split(".")[0] for module in modules_imported_by(path)}
            found.setdefault(name, set()).update(heads - set(sys.stdlib_module_names) - FOREIGN - {"toolfault"})

    assert found == FRAMEWORKS
