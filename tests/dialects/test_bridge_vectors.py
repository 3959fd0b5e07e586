"""
Every vector of the bridge, run through the library; and that the vectors are well-formed.
"""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from toolfault import Guidance, ToolFault, parse
from toolfault._bridge_record import RECORD_KEY, read_record
from toolfault._codes import McpErrorCode
from toolfault._wire import to_result
from toolfault.dialects import a2a, a2c_smcp
from toolfault.dialects._bridge import original
from toolfault.dialects._tables import comes_back, meaning, translate
from vector_match import resolve


SPECS = Path(__file__).parents[2] / "specs"
VECTORS = SPECS / "vectors" / "bridge"
SUITES = {
    path: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(VECTORS.glob("*.json"))
    if path.name != "suite.schema.json"
}
CASES = [case for suite in SUITES.values() for case in suite["cases"]]

#: How a failure leaves a system's server and reaches its client.
WRITE = {
    "mcp": lambda fault: to_result(fault, guidance=Guidance.BLOCK),
    "a2a": a2a.encode,
    "a2c": a2c_smcp.encode,
}
READ = {"mcp": parse, "a2a": a2a.decode, "a2c": a2c_smcp.decode}

#: An error of each system, around the bare body that a vector gives.
AROUND = {
    "mcp": lambda body: {"content": [{"type": "text", "text": body["message"]}], "isError": True, "structuredContent": body},
    "a2a": lambda body: body,
    "a2c": lambda body: body,
}  # fmt: skip


def map_code(given, expect):
    source = given.get("profile", given["from"])
    reason = given.get("reason")

    image = translate(given["code"], source, given["to"], reason)

    assert image == expect["code"]
    assert type(image) is type(expect["code"])
    assert comes_back(given["code"], source, given["to"], reason) is not expect["code_lossy"]


def map_envelope(given, expect):
    if "json" in expect:
        code, category, retryable = meaning(given["code"], given["from"])
        assert {"code": code.value, "category": category.value, "retryable": retryable} == expect["json"]
        fault = READ[given["from"]]({"code": given["code"], "message": "m"})
        assert fault.envelope.to_wire() == {**expect["json"], "message": "m"}
        return
    result = to_result(READ[given["from"]](given["json"]))
    shown = {**result["structuredContent"], "content": result["content"]}
    for field in expect["visible_fields"]:
        for word in expect["must_not_contain"]:
            assert word not in json.dumps(shown.get(field))


def without_record(value):
    if isinstance(value, dict):
        return {name: without_record(item) for name, item in value.items() if name != RECORD_KEY}
    return [without_record(item) for item in value] if isinstance(value, list) else value


def round_trip(given, expect):
    first, *rest = given["path"]
    body = AROUND[first](given["json"])
    here = first
    for system in rest:
        fault = READ[here](body)
        body = WRITE[system](fault)
        body = without_record(body) if given.get("drop_origin") else body
        here = system
    if here == "mcp":
        # A gateway forwards what it was given at the beginning, if that was an envelope.
        record = original(fault)
        body = (record.system == "mcp" and record.body) or body["structuredContent"]
    assert body == expect["json"]


def receive(given, expect):
    origin = resolve(given["origin"])
    record = origin if isinstance(origin, str) else json.dumps({"v": 1, **origin})
    body = a2a.encode(ToolFault("internal", "m"))
    assert RECORD_KEY in json.dumps(body)
    info = body["data"][0]
    body = {**body, "code": given["code"], "data": [{**info, "metadata": {RECORD_KEY: record}}]}

    fault = a2a.decode(body)

    assert fault.code == expect["code"]
    # A failure that began in MCP needs no record there.
    kept = read_record(fault.facts.get("record"))
    assert (kept is None or (kept.system, kept.code) != ("a2a", given["code"])) is expect["origin_used"]
    if "json" in expect:
        assert fault.envelope.to_wire() == expect["json"]


def emit_ack(given, expect):
    code = McpErrorCode(translate(given["a2c_code"], "a2c", "mcp"))

    sent = a2c_smcp.encode(ToolFault(code, "m"))

    assert expect["carrier"] == "tool-result"
    assert sent["isError"] is True
    assert "code" not in sent
    assert expect["meta"].items() <= sent["meta"].items()


OPERATIONS = {
    "map": map_code,
    "map-envelope": map_envelope,
    "round-trip": round_trip,
    "receive": receive,
    "emit-ack": emit_ack,
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['case']}-{case['basis']}")
def test_vector(case):
    OPERATIONS[case["input"]["op"]](case["input"], case["expect"])


def test_all_are_there():
    assert len({case["case"] for case in CASES}) == 148


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_suites_pass_their_schema(path):
    schema = json.loads((VECTORS / "suite.schema.json").read_text(encoding="utf-8"))
    suite = SUITES[path]

    assert [error.message for error in Draft202012Validator(schema).iter_errors(suite)] == []
    assert {path.stem} == {suite["suite"], *(case["input"]["op"] for case in suite["cases"])}


def test_rules_are_numbered_and_those_that_cases_name_exist():
    rules = re.findall(r"^\*\*(B\d+)\.\*\* ", (SPECS / "bridge.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert rules == [f"B{number}" for number in range(1, len(rules) + 1)]
    assert {case["rule"] for case in CASES} <= set(rules)


def test_the_schema_refuses():
    schema = json.loads((VECTORS / "suite.schema.json").read_text(encoding="utf-8"))
    suite = json.loads((VECTORS / "map.json").read_text(encoding="utf-8"))
    suite["cases"][0]["input"]["cod"] = 1

    assert list(Draft202012Validator(schema).iter_errors(suite))
