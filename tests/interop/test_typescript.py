"""
The specification's example in TypeScript: it passes the vectors, and it and the library understand each other.

``make interop``; it needs Node 20 and npm.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

import vector_runner
from made_up_answers import Maker
from made_up_inputs import Inputs
from toolfault import ToolFault, parse


ROOT = Path(__file__).parents[2]
SPECS = ROOT / "specs"
FOLDER = SPECS / "examples" / "typescript"
META = "io.github.toolfault/error"

#: The suites that the example does not run, each with its reason in the runner's output.
NOT_RUN = {"endpoint", "redact"}

#: What the example server answers: tool, arguments, code (None: a success).
CALLS: list[tuple[str, dict[str, Any], str | None]] = [
    ("search_catalogue", {"text": "japan"}, None),
    ("search_catalogue", {"limit": 500}, "invalid_arguments"),
    ("price_per_cup", {"sku": "SEN-99"}, "invalid_arguments"),
    ("order_status", {"reference": "NONE"}, "invalid_arguments"),
    ("read_price_list", {"name": "../ledger.sqlite3"}, "permission_denied"),
    ("exchange_rate", {"currency": "JPY", "day": "2026-03-02"}, None),
    ("exchange_rate", {"currency": "JPY", "day": "2026-03-02"}, "quota_exceeded"),
    ("shipping_quote", {"country": "NO", "kilos": 2}, "internal"),
    ("customs_duty", {"country": "US", "euros": 80}, "internal"),
    ("track_parcel", {"number": "HAM-1042"}, None),
    ("shipping_quote", {"country": "PN", "kilos": 2}, "tool_timeout"),
    ("auction_prices", {"house": "mombasa"}, "network_blocked"),
    ("price_per_cup", {"sku": "SEN-2"}, "tool_panicked"),
    ("serch_catalogue", {}, "tool_not_found"),
]


def run(*command: str, timeout: float = 120, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=FOLDER, capture_output=True, text=True, timeout=timeout, check=False, input=stdin
    )


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    """
    Install TypeScript and compile the example.
    """
    if shutil.which("npm") is None:
        pytest.skip("npm is not on this machine")
    for command in (
        ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"],
        ["npm", "run", "build"],
    ):
        done = run(*command, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr


def suites() -> dict[str, dict[str, Any]]:
    paths = sorted((SPECS / "vectors").glob("*.json"))
    loaded = [json.loads(path.read_text()) for path in paths if path.name != "suite.schema.json"]
    return {suite["suite"]: suite for suite in loaded}


# ---- the vectors


def test_every_suite_of_its_classes_passes() -> None:
    """
    Each case runs and passes, but for the suites that the example lists as not run.
    """
    done = run("node", "build/runner.js")

    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.findall(r"^(\S+): (\d+) of (\d+) passed$", done.stdout, re.MULTILINE)
    left_out = re.findall(r"^(\S+): \d+ not run\. .+\.$", done.stdout, re.MULTILINE)
    assert set(left_out) == NOT_RUN
    assert {name: (int(ran), int(of)) for name, ran, of in passed} == {
        name: (len(suite["cases"]),) * 2 for name, suite in suites().items() if name not in NOT_RUN
    }


@pytest.mark.parametrize("name", sorted(suites().keys() - NOT_RUN))
def test_a_wrong_expectation_fails(name: str, tmp_path: Path) -> None:
    """
    The runner compares: a case that expects something else fails, and is named.
    """
    shutil.copytree(SPECS, tmp_path / "specs", ignore=shutil.ignore_patterns("examples"))
    path = tmp_path / "specs" / "vectors" / f"{name}.json"
    suite = json.loads(path.read_text())
    case = suite["cases"][0]
    member = next(iter(case["expect"]))
    case["expect"][member] = "something else"
    path.write_text(json.dumps(suite))

    done = run("node", "build/runner.js", str(tmp_path / "specs"))

    assert done.returncode == 1
    assert f"FAILED {case['case']} ({case['rule']})" in done.stdout


# ---- where no case stands


def answers_to(inputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """
    What the example answers to inputs of the vectors' operations.
    """
    done = run("node", "build/answer.js", stdin="".join(f"{json.dumps(given)}\n" for given in inputs))
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(inputs)
    return lines


@pytest.mark.parametrize("op", ["wait", "http-status", "grpc-status", "write-result", "widen", "retry-decide"])
def test_both_answer_alike(op: str) -> None:
    """
    What the example answers to a thousand made-up inputs is what the library has to answer.
    """
    maker = Inputs(len(op))
    inputs = [maker.input(op) for _ in range(1000)]

    for given, answer in zip(inputs, answers_to(inputs), strict=True):
        try:
            vector_runner.OPERATIONS[op](given, answer)
        except AssertionError as error:
            raise AssertionError(f"{json.dumps(given)}: the example says {json.dumps(answer)}") from error


@pytest.mark.parametrize("seed", range(5))
def test_both_readers_agree(seed: int) -> None:
    """
    Of a thousand made-up answers, both find the same failures, in the same places and with the same facts.

    A message of a reader's own is free.
    """
    maker = Maker(seed)
    answers = [maker.answer() for _ in range(1000)]

    lines = answers_to([{"op": "extract-error", "answer": answer} for answer in answers])
    found = 0
    for answer, line in zip(answers, lines, strict=True):
        ours = read_here(answer)
        found += ours["value"] is not None
        if ours["value"] is not None and said_by_nobody(ours["value"]["message"], answer):
            line["value"]["message"] = ours["value"]["message"]
        line.pop("raw_code", None)
        assert line == ours, json.dumps(answer)
    assert found > 300


def read_here(answer: dict[str, Any]) -> dict[str, Any]:
    fault = parse(answer)
    if fault is None:
        return {"value": None, "found_in": None, "outcome": None, "facts": {}}
    facts = {name: value for name, value in fault.facts.items() if name != "outcome"}
    value = json.loads(fault.envelope.model_dump_json())
    return {"value": value, "found_in": fault.found_in, "outcome": fault.outcome, "facts": facts}


def said_by_nobody(message: str, answer: dict[str, Any]) -> bool:
    """
    Whether a message is a reader's own: its words do not stand in the answer.
    """
    return message.splitlines()[0].split(". ")[0] not in json.dumps(answer)


# ---- its client and our server


@pytest.fixture(scope="session")
def lines() -> list[dict[str, Any]]:
    """
    What the example's client read of our example server, call by call.
    """
    calls = json.dumps([{"name": name, "arguments": arguments} for name, arguments, _ in CALLS])
    server = [sys.executable, str(ROOT / "example_server" / "server.py")]
    done = run("node", "build/client.js", calls, *server)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("number", range(len(CALLS)), ids=[f"{at}-{row[0]}" for at, row in enumerate(CALLS)])
def test_its_client_reads_what_ours_reads(lines: list[dict[str, Any]], number: int) -> None:
    """
    Both readers give the same envelope, place and facts for the same answer.
    """
    line, (_, _, code) = lines[number], CALLS[number]

    ours = parse(line["answer"])

    if code is None:
        assert ours is None
        assert line["failure"] is None
        return
    assert ours is not None
    assert line["failure"] == json.loads(ours.envelope.model_dump_json())
    assert line["failure"]["code"] == code
    assert line["found_in"] == ours.found_in
    assert line["facts"] == {**ours.facts, **({"outcome": ours.outcome} if ours.outcome else {})}


def test_its_client_repeats_what_is_safe(lines: list[dict[str, Any]]) -> None:
    """
    A read-only tool that fails twice works the third time; refused arguments and long waits are not repeated.
    """
    attempts = {row[0]: line["attempts"] for row, line in zip(CALLS, lines, strict=True)}

    assert attempts["track_parcel"] == 3
    assert attempts["order_status"] == 1
    assert lines[6]["failure"]["retry_after_seconds"] > 3
    assert lines[6]["attempts"] == 1


# ---- its server and our client


SERVED: list[tuple[str, dict[str, Any], dict[str, Any] | None, str]] = [
    ("forecast", {"city": "Oslo"}, None, ""),
    ("forecast", {}, {"code": "invalid_arguments", "category": "validation"}, "structured_content"),
    (
        "quota",
        {},
        {"code": "quota_exceeded", "retry_after_seconds": 30, "hint": "Ask for the stored forecast."},
        "structured_content",
    ),
    ("no_room", {}, {"code": "internal", "message": "The ledger is closed."}, "meta"),
    ("crash", {}, {"code": "tool_panicked", "retryable": False}, "structured_content"),
    ("prose", {}, {"code": "quota_exceeded", "message": "Rate limit reached"}, "structured_content"),
    ("no_such_tool", {}, {"code": "tool_not_found", "message": "Unknown tool: no_such_tool"}, "structured_content"),
]


def read_all() -> list[ToolFault | None]:
    """
    What the library reads of the example's server, in one session of the official client.
    """

    async def ask() -> list[ToolFault | None]:
        node = shutil.which("node")
        assert node is not None
        server = StdioServerParameters(
            command=node, args=[str(FOLDER / "build" / "server.js")], env={"PATH": os.environ["PATH"]}
        )
        async with Client(server) as client:
            # A strict client checks what it is sent against the listed schemas.
            await client.list_tools()
            return [parse(await client.call_tool(name, arguments)) for name, arguments, *_ in SERVED]

    return anyio.run(ask)


def test_our_client_reads_its_server() -> None:
    """
    Each failure of the example's server arrives whole, in its place, and a success stays one.
    """
    faults = read_all()

    for (name, _, wanted, place), fault in zip(SERVED, faults, strict=True):
        if wanted is None:
            assert fault is None, name
            continue
        assert fault is not None, name
        wire = fault.envelope.to_wire()
        assert {member: wire.get(member) for member in wanted} == wanted
        assert fault.found_in == place


def test_facts_of_its_server_arrive() -> None:
    """
    So do the facts beside the envelope.
    """
    quota = read_all()[2]

    assert quota is not None
    assert dict(quota.facts) == {"id": "ts-1", "origin": "upstream", "upstream_status": 429}
