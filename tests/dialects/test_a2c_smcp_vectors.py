"""
Every vector of A2C-SMCP, run through the dialect; the data has tests of its own.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from toolfault.dialects.a2c_smcp import (
    ErrorCode,
    ErrorPayload,
    InvalidPayload,
    VersionMismatch,
    agent_error,
    authorization_code,
    check_query,
    check_version,
    is_protocol_error_payload,
    read_close,
    read_refusal,
    read_tool_result,
    user_text,
)
from vector_match import matches


SPECS = Path(__file__).parents[2] / "specs"
FOLDER = SPECS / "vectors" / "a2c-smcp"
SCHEMA = FOLDER / "suite.schema.json"
PATHS = sorted(path for path in FOLDER.glob("*.json") if path != SCHEMA)
SUITES = [json.loads(path.read_text(encoding="utf-8")) for path in PATHS]

#: Where an expectation rests on less than a package that ran or a text that was read, the name of the test says so.
WEAK = {"changelog": " (known from a change log only)", "docs": " (known from API documentation only)"}


def given_json(given: dict[str, Any]) -> Any:
    return json.loads(given["json_text"]) if "json_text" in given else given["json"]


def written(payload: ErrorPayload, expect: dict[str, Any]) -> None:
    wire = payload.to_wire()

    assert matches(expect["json"], wire)
    assert set() == set(expect.get("absent", ())) & set(wire)


def predicate(given: dict[str, Any], expect: dict[str, Any]) -> None:
    assert is_protocol_error_payload(given_json(given), given["protocol"]) is expect["value"]


def new(given: dict[str, Any], expect: dict[str, Any]) -> None:
    payload = ErrorPayload.new(given["code"], given["message"])
    if "server" in given:
        payload = payload.with_server(given["server"], given["protocol"])
    if "capability" in given:
        payload = payload.with_capability(given["capability"])
    if "details" in given:
        payload = payload.with_details(given["details"])
    if "extra" in given:
        payload = ErrorPayload.from_wire({**payload.to_wire(), **given["extra"]})
    written(payload, expect)


def from_error_code(given: dict[str, Any], expect: dict[str, Any]) -> None:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", given["code"]).upper()
    written(ErrorPayload.from_error_code(ErrorCode[name], given["message"]), expect)


def computer_not_found(given: dict[str, Any], expect: dict[str, Any]) -> None:
    written(ErrorPayload.computer_not_found(given["name"]), expect)


def with_detail(given: dict[str, Any], expect: dict[str, Any]) -> None:
    payload = ErrorPayload.new(4017, "m")
    if given["details"] != "$absent":
        payload = payload.with_details(given["details"])
    written(payload.with_detail(given["key"], given["value"]), expect)


def with_details(given: dict[str, Any], expect: dict[str, Any]) -> None:
    payload = ErrorPayload.new(4017, "m").with_details(given["details"])

    written(payload, expect)
    assert "details" not in ErrorPayload.from_wire(payload.to_wire()).to_wire()


def decode_encode(given: dict[str, Any], expect: dict[str, Any]) -> None:
    written(ErrorPayload.from_wire(given["json"]), expect)


def decode_strict(given: dict[str, Any], expect: dict[str, Any]) -> None:
    with pytest.raises(InvalidPayload) as caught:
        ErrorPayload.from_wire(given["json"])
    assert expect["error"] == {"kind": caught.value.kind, "field": caught.value.field}


def agents_view(given: dict[str, Any], expect: dict[str, Any]) -> None:
    error = agent_error(given["json"])
    if error is None:
        assert expect["value"] is None
        return
    if "value" in expect:
        said = {"code": error.code, "message": error.message, "details": error.details, "reason": error.reason}
        assert matches(expect["value"], said)
    assert expect.get("text", str(error)) == str(error)
    assert expect.get("retry", error.retryable) is error.retryable


def render_for_user(given: dict[str, Any], expect: dict[str, Any]) -> None:
    view = agent_error(given["json"])
    assert view is not None
    payload = ErrorPayload.from_wire(given["json"])
    for text in (user_text(payload), user_text(view), str(payload), repr(payload), str(view), repr(view)):
        assert [word for word in expect["must_not_contain"] if word in text] == []
        assert given["json"]["message"] in text


def answered(refusal: Any, expect: dict[str, Any]) -> None:
    if expect.get("accepted"):
        assert refusal is None
        return
    assert refusal is not None
    headers = {name.lower(): value for name, value in refusal.headers.items()}
    assert expect["http"] == refusal.status
    if "code" in expect:
        assert refusal.payload.code == expect["code"]
    if "json" in expect:
        assert matches(expect["json"], json.loads(refusal.body))
    assert expect.get("headers", {}).items() <= headers.items()
    assert set() == set(expect.get("headers_absent", ())) & set(headers)


def handshake(given: dict[str, Any], expect: dict[str, Any]) -> None:
    answered(check_version(given["a2c_version"], given["server"]), expect.get("recommended", expect))


def handshake_query(given: dict[str, Any], expect: dict[str, Any]) -> None:
    for query in (given["query"], given["query"].encode()):
        # Where the packages differ, either will do: ours is the first.
        answered(check_query(query, given["server"]), expect.get("sdk", {}).get("python", expect))


def version_mismatch(given: dict[str, Any], expect: dict[str, Any]) -> None:
    written(ErrorPayload.version_mismatch(given["client"], given["server"]), expect)


def encode_bytes(given: dict[str, Any], expect: dict[str, Any]) -> None:
    styles = {"python-sdk": {}, "rust-sdk": {"ensure_ascii": False, "separators": (",", ":")}}
    text = json.dumps(ErrorPayload.from_wire(given["json"]).to_wire(), **styles[given["style"]])

    assert expect == {"utf8": text, "length": len(text.encode())}


def told(mismatch: VersionMismatch | None, expect: dict[str, Any]) -> None:
    if expect["raises"] == "original-error":
        assert mismatch is None
        return
    assert mismatch is not None
    assert expect["fields"] == {name: getattr(mismatch, name) for name in expect["fields"]}
    assert mismatch.reconnect == {"polling-once-at-most": "polling_once"}.get(expect.get("reconnect"), "never")


def client_handshake_failure(given: dict[str, Any], expect: dict[str, Any]) -> None:
    for body in (given["body_text"], given["body_text"].encode()):
        told(read_refusal(body), expect)


def ws_close(given: dict[str, Any], expect: dict[str, Any]) -> None:
    told(read_close(given["code"]), expect)


def classify_tool_result(given: dict[str, Any], expect: dict[str, Any]) -> None:
    failure = read_tool_result(given["json"])

    assert failure is not None
    assert expect == {"kind": failure.kind, "a2c_code": failure.code}
    assert failure.message == "m"


def upstream_failure(given: dict[str, Any], expect: dict[str, Any]) -> None:
    code = authorization_code(
        status=given.get("http"),
        trouble="refresh_failed" if given.get("refresh_failed") else None,
        about_login=given.get("auth_class", False),
    )

    assert expect == {"a2c_code": int(code)}


OPERATIONS = {
    "is_protocol_error_payload": predicate,
    "new": new,
    "from_error_code": from_error_code,
    "computer-not-found": computer_not_found,
    "with_detail": with_detail,
    "with_details": with_details,
    "decode-encode": decode_encode,
    "decode-strict": decode_strict,
    "agent-error": agents_view,
    "render-for-user": render_for_user,
    "handshake": handshake,
    "handshake-query": handshake_query,
    "version_mismatch": version_mismatch,
    "encode-bytes": encode_bytes,
    "client-handshake-failure": client_handshake_failure,
    "ws-close": ws_close,
    "classify-tool-result": classify_tool_result,
    "upstream-failure": upstream_failure,
}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["case"] + WEAK.get(case["basis"], ""))
        for suite in SUITES
        if suite["ours"]
        for case in suite["cases"]
    ],
)
def test_vector(case):
    OPERATIONS[case["input"]["op"]](case["input"], case["expect"])


@pytest.mark.parametrize(
    ("reason", "case"),
    [
        pytest.param(suite.get("reason"), case, id=case["case"])
        for suite in SUITES
        if not suite["ours"]
        for case in suite["cases"]
    ],
)
def test_a_vector_that_is_not_ours(reason, case):
    """
    It is listed with a reason, and there is no operation that could run it.
    """
    assert reason.endswith(".")
    assert case["input"]["op"] not in OPERATIONS


def test_counts():
    """
    227 cases, of which one is somebody else's; those about 0.5 rest on a change log.
    """
    cases = [case for suite in SUITES for case in suite["cases"]]

    assert len(cases) == len({case["case"] for case in cases}) == 232
    assert [suite["suite"] for suite in SUITES if not suite["ours"]] == ["older-shape"]
    assert {case["input"]["protocol"] for case in cases if case["basis"] == "changelog"} == {"0.5"}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_suites_are_well_formed(path):
    """
    A suite passes the schema, is one operation, and names rules of its page.
    """
    suite = json.loads(path.read_text(encoding="utf-8"))
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    rules = re.findall(r"^\*\*(A\d+)\.\*\* ", (SPECS / suite["spec"]).read_text(encoding="utf-8"), re.MULTILINE)

    assert [error.message for error in Draft202012Validator(schema).iter_errors(suite)] == []
    assert {path.stem} == {suite["suite"], *(case["input"]["op"] for case in suite["cases"])}
    assert set() == set(suite["rules"]) - set(rules)


def test_the_comparison_is_strict():
    """
    What differs, differs.
    """
    assert matches({"a": {"$match": "starts-with", "value": "x"}}, {"a": "xy"})
    assert not matches({"a": {"$match": "starts-with", "value": "x"}}, {"a": "y"})
    assert not matches({"a": 1}, {"a": 1, "b": 2})
    assert not matches({"a": 1}, {"a": True})
    assert not matches([1], [1, 2])
