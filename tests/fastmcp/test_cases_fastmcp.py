"""
Faults that people reported, run against FastMCP servers; see tests/test_cases.py for the format and where it is found.
"""

import json
import os
import textwrap
from pathlib import Path

import anyio
import pytest

from case_checks import Unmet, check
from case_server import _call_all, body_of, tool_name


HERE = Path(__file__).parent.parent
BESIDE = HERE.parent.parent / "shared" / "cases" / "cases.json"

#: Cases that are not met, each with its reason.
MISSES: dict[str, str] = {}

HOST = "fastmcp"
HOSTS = ("mcpserver", "lowlevel", "fastmcp")

HEAD = """\
import asyncio, json, logging, os, socket, subprocess, time
from email.utils import formatdate
import {hx} as hx
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from toolfault import Guard
from toolfault.integrations.fastmcp import ToolFaultMiddleware

logging.getLogger("fastmcp").setLevel(logging.CRITICAL)
server = FastMCP("cases", **{options!r})
server.add_middleware(ToolFaultMiddleware(Guard(secrets={secrets!r})))
SEEN = []


@server.tool
async def alive() -> str:
    return ",".join(SEEN)

"""


def load():
    paths = [HERE / "data" / "cases.json"]
    if given := os.environ.get("TOOLFAULT_CASES"):
        paths.append(Path(given))
    elif BESIDE.exists():
        paths.append(BESIDE)
    return [case for path in paths for case in json.loads(path.read_text())["cases"]]


CASES = [case for case in load() if case["kind"] == "server" and HOST in case.get("hosts", HOSTS)]


def source(cases, hx, options):
    secrets = [secret for case in cases for secret in case.get("configured_secrets", [])]
    parts = [HEAD.format(hx=hx, secrets=secrets, options=options)]
    for case in cases:
        if "call_tool_name" in case:
            continue
        tool = case.get("tool", {})
        body = textwrap.indent(body_of(case), "        ")
        parts.append(
            f"@server.tool(output_schema={tool.get('outputSchema')!r}, annotations={tool.get('annotations')!r})\n"
            f"async def {tool_name(case)}({case.get('signature', '')}):\n"
            f"    try:\n{body}\n"
            f"    except asyncio.CancelledError:\n        SEEN.append({case['id']!r})\n        raise\n"
        )
    parts.append("server.run('stdio', show_banner=False)\n")
    return "\n".join(parts)


@pytest.fixture(scope="module", params=["httpx", "httpx2"])
def came_of(request, tmp_path_factory):
    """
    What came of each case; one server for each set of host options.
    """
    folder = tmp_path_factory.mktemp("cases")
    by_options = {}
    for case in CASES:
        by_options.setdefault(json.dumps(case.get("host_options", {}), sort_keys=True), []).append(case)
    found = {}
    for number, (options, cases) in enumerate(by_options.items()):
        script = folder / f"cases_{number}_with_{request.param}.py"
        script.write_text(source(cases, request.param, json.loads(options)))
        found |= anyio.run(_call_all, cases, script)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_server_case(case, came_of):
    if case["id"] not in MISSES:
        check(case["expect"], came_of[case["id"]])
        return
    with pytest.raises(Unmet):
        check(case["expect"], came_of[case["id"]])


def test_every_miss_is_a_case():
    assert set(MISSES) <= {case["id"] for case in CASES}
