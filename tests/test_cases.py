"""
Faults that people reported, run against real servers and sessions.

Takes any file of the format from the environment variable ``TOOLFAULT_CASES`` (a path); without it, the files beside the
checkout where there are some, and always the small one of our own.
"""

import json
import os
from pathlib import Path

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from case_checks import Came, Unmet, check
from case_server import call_all
from toolfault import Retry, parse


HERE = Path(__file__).parent
BESIDE = HERE.parent.parent / "shared" / "cases"

#: Cases that are not met, each with its reason.
MISSES: dict[str, str] = {}

#: The hosts that this environment has; FastMCP's cases run in its own.
HERE_RUN = ("mcpserver", "lowlevel")
HOSTS = ("mcpserver", "lowlevel", "fastmcp")


def load():
    paths = [HERE / "data" / "cases.json"]
    if given := os.environ.get("TOOLFAULT_CASES"):
        paths.append(Path(given))
    else:
        # Not the corpus and the secrets, which are no cases.
        paths.extend(sorted(BESIDE.glob("cases*.json")))
    return [case for path in paths for case in json.loads(path.read_text())["cases"]]


CASES = load()
SERVER = [
    (host, case) for host in HERE_RUN for case in CASES if case["kind"] == "server" and host in case.get("hosts", HOSTS)
]
CLIENT = [case for case in CASES if case["kind"] == "client"]
RETRY = [case for case in CASES if case["kind"] == "retry"]


@pytest.fixture(scope="module", params=["httpx", "httpx2"])
def came_of(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    return {
        host: call_all([case for on, case in SERVER if on == host], request.param, folder, host) for host in HERE_RUN
    }


@pytest.mark.parametrize(("host", "case"), SERVER, ids=[f"{host}-{case['id']}" for host, case in SERVER])
def test_server_case(host, case, came_of):
    hold(case, came_of[host][case["id"]])


@pytest.mark.parametrize("case", CLIENT, ids=lambda case: case["id"])
def test_client_case(case):
    answer = raised(case) if "jsonrpc_error" in case or "raise" in case else case["result"]
    hold(case, Came(result=case.get("result"), fault=parse(answer), of_server=False))


@pytest.mark.parametrize("case", RETRY, ids=lambda case: case["id"])
def test_retry_case(case):
    waits = []
    now = [0.0]

    async def sleep(seconds):
        waits.append(seconds)
        now[0] += seconds

    policy = case.get("policy", {})
    retry = Retry(
        attempts=policy.get("max_attempts", 3),
        hint_max=policy.get("max_wait_seconds", 120.0),
        sleep=sleep,
        clock=lambda: now[0],
        random=lambda: 0.5,
    )
    turns = list(case["sequence"])
    came = Came(of_server=False, waits=waits)

    async def attempt(_number):
        turn = turns[came.calls]
        came.calls += 1
        if "result" in turn:
            return turn["result"]
        raise raised(turn)

    async def run():
        return await retry.call(attempt, tool=case.get("tool", {}).get("annotations"))

    try:
        came.fault = parse(anyio.run(run))
    except Exception as exc:
        came.fault = parse(exc)
    came.final = "success" if came.fault is None else "failure"
    hold(case, came)


def raised(turn):
    if "jsonrpc_error" in turn:
        error = turn["jsonrpc_error"]
        return MCPError(error["code"], error["message"], error.get("data"))
    import httpx2

    space = {"hx": httpx2}
    try:
        exec(turn["raise"], space)
    except Exception as exc:
        return exc
    raise AssertionError(f"{turn['raise']!r} raises nothing")


def hold(case, came):
    reason = MISSES.get(case["id"])
    if reason is None:
        check(case["expect"], came)
        return
    with pytest.raises(Unmet):
        check(case["expect"], came)


def test_every_case_runs_or_names_another_host():
    run = {case["id"] for _, case in SERVER} | {case["id"] for case in CLIENT + RETRY}
    elsewhere = {case["id"] for case in CASES if case.get("hosts") and not set(HERE_RUN) & set(case["hosts"])}

    assert run | elsewhere == {case["id"] for case in CASES}
    assert len({case["id"] for case in CASES}) == len(CASES)
    assert set(MISSES) <= {case["id"] for case in CASES}
