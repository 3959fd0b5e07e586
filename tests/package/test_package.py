"""
The package as a user gets it: built, looked into, and installed into empty environments. ``make test-package``
"""

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml


ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
UV = Path(sys.executable).parent / "uv"

#: What an extra is for: a module that imports only with it.
MODULES = {
    "agent-framework": "toolfault.integrations.agent_framework",
    "check": "rich",
    "crewai": "toolfault.integrations.crewai",
    "envoy": "toolfault.gateway._envoy",
    "fastmcp": "toolfault.integrations.fastmcp",
    "gateway": "toolfault.gateway._listen",
    "google-adk": "toolfault.integrations.google_adk",
    "langchain": "toolfault.integrations.langchain",
    "llama-index": "toolfault.integrations.llama_index",
    "mcp-use": "toolfault.integrations.mcp_use",
    "openai-agents": "toolfault.integrations.openai_agents",
    "opentelemetry": "toolfault.integrations.opentelemetry",
    "pydantic-ai": "toolfault.integrations.pydantic_ai",
    "redis": "toolfault.dialects",
    "strands": "toolfault.integrations.strands",
}

#: Prints the major version of mcp.
WHICH_MCP = "import importlib.metadata as m; print(m.version('mcp').split('.')[0])"


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=900, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run(UV, "build", "--quiet", "--out-dir", folder, ROOT)
    return folder


@pytest.fixture(scope="session")
def wheel(built):
    (path,) = built.glob("*.whl")
    return path


def installed(folder, what):
    """
    Install into an empty environment, and return its Python.
    """
    run(UV, "venv", "--quiet", "--python", sys.executable, folder)
    python = folder / "bin" / "python"
    run(UV, "pip", "install", "--quiet", "--python", python, what)
    return python


def test_the_wheel_holds_the_library_alone(wheel):
    names = zipfile.ZipFile(wheel).namelist()

    assert {name.partition("/")[0] for name in names} == {"toolfault", f"toolfault-{version()}.dist-info"}
    assert "toolfault/py.typed" in names


def test_the_sdist_holds_what_it_takes_to_build_and_test(built):
    (path,) = built.glob("*.tar.gz")
    names = {name.partition("/")[2] for name in tarfile.open(path).getnames()}
    tracked = set(run("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines())

    assert {"README.md", "LICENSE", "Makefile", "src/toolfault/py.typed", "tests/test_docs.py"} <= names
    assert [name for name in names if name.startswith((".ci", ".github", ".pre-commit"))] == []
    assert names - tracked == {"PKG-INFO"}


def test_the_forms_for_issues_are_valid():
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text())
        assert form.keys() >= {"name", "description", "body"} or "contact_links" in form


def version():
    return re.search(r'__version__ = "(.+)"', (ROOT / "src/toolfault/_version.py").read_text())[1]


def test_version_and_changelog_agree():
    released = re.findall(
        r"^## \[([0-9.]+)\] - 20\d\d-[01]\d-[0-3]\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )

    assert released[0] == version()


def test_the_metadata_lead_to_the_project(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        text = archive.read(name).decode()

    urls = dict(line.removeprefix("Project-URL: ").split(", ") for line in text.splitlines() if "Project-URL" in line)
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= urls.keys()
    assert all(url.startswith("https://") for url in urls.values())


def test_the_package_alone_imports_and_has_a_command(wheel, tmp_path):
    python = installed(tmp_path / "env", wheel)

    assert run(python.parent / "toolfault", "--version").strip() == f"toolfault {version()}"
    assert run(python, "-m", "toolfault", "--version").strip() == f"toolfault {version()}"
    assert "ToolFault" in run(python, "-c", "import toolfault; print(dir(toolfault))")
    run(python, "-c", "from toolfault.integrations.mcp import install, retrying")
    answer = run(python, "-m", "toolfault", "explain", "--json", "TimeoutError")
    assert json.loads(answer)["failure"]["code"] == "tool_timeout"


def test_each_extra_is_tested():
    assert MODULES.keys() == PROJECT["optional-dependencies"].keys()


@pytest.mark.parametrize("extra", MODULES)
def test_an_extra_resolves_and_imports_and_brings_the_mcp_that_the_readme_says(extra, wheel, tmp_path):
    python = installed(tmp_path / "env", f"toolfault[{extra}] @ {wheel.as_uri()}")

    run(python, "-c", f"import warnings; warnings.simplefilter('ignore'); import {MODULES[extra]}")
    major = run(python, "-c", WHICH_MCP).strip()
    page = (ROOT / "README.md").read_text()
    (line,) = [line for line in page.splitlines() if line.startswith("|") and f"`toolfault[{extra}]`" in line]
    assert line.split("|")[3].strip() == f"mcp {major}", line
