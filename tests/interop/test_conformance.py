"""
The official conformance suite against a server with its fixtures: the gateway in front changes no result.

It needs Node 22, which npm brings.
"""

import json
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from http_client import listening


HERE = Path(__file__).parent
SUITE = HERE / "node" / "conformance"
SERVER = HERE / "everything_server.py"

#: How many scenarios the suite has, so that none is lost unnoticed.
SCENARIOS = 32


@pytest.fixture(scope="module")
def suite():
    """
    The command of the suite.
    """
    if shutil.which("npm") is None:
        pytest.skip("the conformance suite is left out: npm is not on this machine")
    modules = SUITE / "node_modules"
    if not (modules / ".bin" / "conformance").exists():
        words = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
        subprocess.run(words, cwd=SUITE, check=True, capture_output=True, timeout=600)
    # The package puts Node's program where it belongs by a script, which is not run for others.
    place = "const fs = require('fs'); require('./installArchSpecificPackage')"
    if not (modules / "node" / "bin" / "node").exists():
        subprocess.run(["node", "-e", place], cwd=modules / "node", check=True, capture_output=True, timeout=600)
    return [str(modules / "node" / "bin" / "node"), str(modules / ".bin" / "conformance"), "server", "--suite", "all"]


@contextmanager
def everything():
    with subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def results(suite, url, folder):
    """
    Return by scenario the checks and how they ended.
    """
    done = subprocess.run([*suite, "--url", url, "-o", str(folder)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    found = {}
    for path in sorted(folder.rglob("checks.json")):
        name = re.sub(r"^server-(server-)?|-\d{4}-\d\d-\d\dT.*", "", path.parent.name)
        found[name] = [(one["id"], one["status"]) for one in json.loads(path.read_text())]
    return found


def test_the_gateway_changes_no_result_of_the_conformance_suite(suite, tmp_path):
    with everything() as url, listening(url) as process:
        direct = results(suite, url, tmp_path / "direct")
        through = results(suite, f"http://localhost:{process.port}/mcp", tmp_path / "through")

    assert len(direct) == SCENARIOS
    assert through == direct
    # The stream that ends in the middle of a call is really tried.
    assert ("server-sse-disconnect-resume", "SUCCESS") in direct["sse-polling"]
