"""
Every vector of A2A and of protocol-droid, run through the library; and that the vectors are well-formed.
"""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from toolfault.dialects.a2a import ERRORS, A2AError, error_type
from toolfault.dialects.a2a.protocol_droid import A2aError, Variant, variant_of


SPECS = Path(__file__).parents[2] / "specs"
FOLDERS = ("a2a", "protocol-droid")
SUITES = {
    path: json.loads(path.read_text(encoding="utf-8"))
    for folder in FOLDERS
    for path in sorted((SPECS / "vectors" / folder).glob("*.json"))
    if path.name != "suite.schema.json"
}

#: How an expectation is known, where it is not from the specification itself: shown in the case's name.
HEARSAY = {"docs": "published documentation only", "changelog": "a change log only"}


def cases(*, ours):
    found = []
    for path, suite in SUITES.items():
        for case in suite["cases"]:
            known_from = f" [{HEARSAY[case['basis']]}]" if case["basis"] in HEARSAY else ""
            if suite["ours"] is ours:
                found.append(pytest.param(suite, case, id=f"{path.parent.name}/{case['case']}{known_from}"))
    return found


def lookup(given, expect):
    row = error_type(given["name"])

    assert row.code == expect["code"]
    assert error_type(row.code) is row
    assert error_type(row.reason) is row
    if "reason" in expect:
        assert row.reason == expect["reason"]
    for version in ("1.0.0", "1.0.1"):
        if f"v{version}" in expect:
            assert row.status(version)._asdict() == expect[f"v{version}"]
    if "spec_message" in expect:
        assert row.message == expect["spec_message"]


def made(given):
    metadata = dict(given.get("metadata", {}))
    # The stock package takes refused fields as metadata.
    violations = [(item["field"], item["message"]) for item in metadata.pop("errors", ())]
    return A2AError.new(given["name"], metadata=metadata, violations=violations)


def encode_jsonrpc(given, expect):
    error = made(given).to_jsonrpc()

    if "json" in expect:
        wanted = expect["json"]["error"]
        if expect.get("message_is_contract") is False:
            assert error.pop("message")
            wanted = {name: value for name, value in wanted.items() if name != "message"}
        assert error == wanted
    if "data_types" in expect:
        assert [detail["@type"] for detail in error["data"]] == expect["data_types"]
        assert error["data"][1]["fieldViolations"] == expect["field_violations"]


def encode_rest(given, expect):
    assert made(given).to_http() == (expect["http"], expect["json"])


def decode_jsonrpc(given, expect):
    error = A2AError.from_jsonrpc(given["json"])

    assert (None if error.type is None else error.type.name) == expect["name"]
    for member in ("message", "metadata", "code"):
        if member in expect:
            assert getattr(error, member) == expect[member]
    if expect.get("data_kept"):
        assert error.data == given["json"]["data"]


def code(given, expect):
    assert A2aError(Variant(given["variant"])).code() == expect["code"]


def serve(given, expect):
    error = A2aError(Variant(given["variant"]), given.get("reason", given.get("message"))).to_jsonrpc()

    for member, wanted in expect["error"].items():
        if isinstance(wanted, dict):
            assert wanted["$match"] == "carries"
            assert wanted["value"] in error[member].values()
        else:
            assert error[member] == wanted


def interpret(given, expect):
    row = error_type(given["code"])

    assert (None if row is None else row.name) == expect["official"]
    assert variant_of(given["code"]) == expect["protocol_droid"]


OPERATIONS = {
    "lookup": lookup,
    "encode-jsonrpc": encode_jsonrpc,
    "encode-rest": encode_rest,
    "decode-jsonrpc": decode_jsonrpc,
    "code": code,
    "serve": serve,
    "interpret": interpret,
}


@pytest.mark.parametrize(("suite", "case"), cases(ours=True))
def test_vector(suite, case):
    OPERATIONS[suite["suite"]](case["input"], case["expect"])


@pytest.mark.parametrize(("suite", "case"), cases(ours=False))
def test_a_vector_that_is_not_ours(suite, case):
    assert suite["reason"]
    assert case["input"]["op"] not in OPERATIONS


def test_all_are_there():
    counts = dict.fromkeys(FOLDERS, 0)
    for path, suite in SUITES.items():
        counts[path.parent.name] += len(suite["cases"])

    assert counts == {"a2a": 44, "protocol-droid": 13}


@pytest.mark.parametrize("path", SUITES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_suites_pass_their_schema(path):
    schema = json.loads((path.parent / "suite.schema.json").read_text(encoding="utf-8"))

    assert list(Draft202012Validator(schema).iter_errors(SUITES[path])) == []
    assert {path.stem} == {SUITES[path]["suite"], *(case["input"]["op"] for case in SUITES[path]["cases"])}


def test_the_rules_are_there_and_numbered():
    page = (SPECS / "a2a.md").read_text(encoding="utf-8")
    rules = re.findall(r"^\*\*(G\d+)\.\*\* ", page, re.MULTILINE)

    assert rules == [f"G{number}" for number in range(1, len(rules) + 1)]
    assert {rule for suite in SUITES.values() for rule in suite["rules"]} <= set(rules)


def test_the_page_shows_the_table():
    def cell(status):
        return "none" if status is None else f"{status.http} `{status.grpc}`"

    page = (SPECS / "a2a.md").read_text(encoding="utf-8")
    for row in ERRORS.values():
        assert f"| `{row.name}` | {row.code} | {cell(row.v03)} | {cell(row.v100)} | {cell(row.v101)} |" in page
