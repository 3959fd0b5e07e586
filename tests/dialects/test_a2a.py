"""
The errors of A2A: each binding and version, both profiles, and what peers may send.
"""

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfault._bridge_record import RECORD_KEY, MemoryStore, read_record
from toolfault._codes import McpErrorCode
from toolfault.dialects import a2a, a2c_smcp
from toolfault.dialects.a2a import ERRORS, A2AError, FieldViolation, protocol_droid
from toolfault.dialects.a2a.protocol_droid import A2aError, Variant
from toolfault.errors import ToolFault


BINDINGS = ("jsonrpc", "http", "grpc")
VERSIONS = ("0.3", "1.0.0", "1.0.1")
QUOTA = ToolFault("quota_exceeded", "Daily quota used up", retry_after_seconds=30, hint="Buy more")


def info(reason="TASK_NOT_FOUND", domain="a2a-protocol.org", **metadata):
    return {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "domain": domain,
        "metadata": metadata,
    }


# ---- one error as a value


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ERRORS)
def test_every_error_survives_every_binding(name, version):
    error = A2AError.new(name, "said", metadata={"task": "t"}, violations=[("parts", "one needed")])
    there = ERRORS[name].status(version)
    wanted = name if there else "InternalError"

    readings = [
        A2AError.from_jsonrpc(error.to_jsonrpc(version)),
        A2AError.from_http(*error.to_http(version)),
        A2AError.from_grpc(error.to_grpc(version)),
    ]

    for reading in readings:
        assert (reading.type.name, reading.message) == (wanted, "said")
        assert reading.violations == (FieldViolation("parts", "one needed"),)
    if version != "0.3":
        assert [reading.metadata for reading in readings] == [{"task": "t"}] * 3
    if there:
        assert error.to_http(version)[0] == there.http
        assert a2a._table.GRPC_STATUSES[error.to_grpc(version)["code"]] == there.grpc


def test_metadata_are_text_to_text():
    (detail,) = A2AError.new("InternalError", metadata={"a": 1, "b": [True], "c": "x", "d": object()}).details()

    assert detail["metadata"] | {"d": ""} == {"a": "1", "b": "[true]", "c": "x", "d": ""}
    assert detail["metadata"]["d"].startswith("<object")


def test_0_3_has_its_own_forms():
    error = A2AError.new("ExtendedAgentCardNotConfiguredError", "no card", metadata={"a": "b"})

    assert error.to_jsonrpc("0.3") == {"code": -32007, "message": "no card", "data": {"a": "b"}}
    assert "data" not in A2AError.new("TaskNotFoundError").to_jsonrpc("0.3")
    assert error.to_http("0.3") == (
        404,
        {
            "a": "b",
            "type": "https://a2a-protocol.org/errors/extended-agent-card-not-configured",
            "title": "Authenticated Extended Card is not configured",
            "status": 404,
            "detail": "no card",
        },
    )
    assert error.to_grpc("0.3")["message"] == "AuthenticatedExtendedCardNotConfiguredError: no card"


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="is not an A2A error; they are JSONParseError"):
        A2AError.new("TaskLostError")


@pytest.mark.parametrize(
    ("status", "body", "code", "message"),
    [
        (404, {"error": {"code": 404, "message": "m", "details": [info()]}}, -32001, "m"),
        # A reason counts in its own domain.
        (404, {"error": {"code": 404, "message": "m", "details": [info(domain="example.com")]}}, -32601, "m"),
        (500, {"error": {"message": "m", "details": [info(reason="OTHER")]}}, -32603, "m"),
        (404, {"type": "https://a2a-protocol.org/errors/task-not-found", "detail": "m"}, -32001, "m"),
        (422, {"message": "m"}, -32602, "m"),
        (415, None, -32602, ""),
        (501, "no", -32601, ""),
        (418, [], -32603, ""),
    ],
)
def test_http_answers_are_read(status, body, code, message):
    error = A2AError.from_http(status, body)

    assert (error.code, error.message) == (code, message)


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        ({"code": 5, "message": "m", "details": [info()]}, -32001, "m"),
        ({"code": 12, "message": "TaskNotCancelableError: m"}, -32002, "m"),
        ({"code": 3, "message": "Note: m"}, -32602, "Note: m"),
        ({"code": 13}, -32603, ""),
    ],
)
def test_grpc_statuses_are_read(status, code, message):
    error = A2AError.from_grpc(status)

    assert (error.code, error.message) == (code, message)


@pytest.mark.parametrize("no_status", [None, {}, {"code": 0}, {"code": 17}, {"code": True}, {"code": "5"}, []])
def test_what_is_no_grpc_status_is_none(no_status):
    assert A2AError.from_grpc(no_status) is None
    assert a2a.decode(no_status, binding="grpc") is None


def test_other_details_go_along():
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"}
    error = A2AError.from_jsonrpc({"code": -32001, "message": "m", "data": [info(), retry]})

    assert error.to_http()[1]["error"]["details"] == [info(), retry]


# ---- faults


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("code", McpErrorCode)
def test_a_fault_comes_back_whole(code, binding, version):
    fault = ToolFault(code, "said", retryable=True, retry_after_seconds=7, hint="do", causes=["first"])

    back = a2a.decode(a2a.encode(fault, binding=binding, version=version), binding=binding)

    assert back.envelope == fault.envelope


@pytest.mark.parametrize(
    ("code", "number", "status"),
    [
        ("tool_not_found", -32004, 400),
        ("invalid_arguments", -32602, 400),
        ("permission_denied", -32603, 403),
        ("quota_exceeded", -32603, 503),
        ("mcp_server_unreachable", -32603, 503),
        ("internal", -32603, 500),
        ("tool_timeout", -32603, 500),
    ],
)
def test_what_the_number_hides_the_status_tells(code, number, status):
    fault = ToolFault(code, "said")

    assert a2a.encode(fault)["code"] == number
    answer = a2a.encode(fault, binding="http")
    assert (answer["status"], answer["headers"]) == (status, {})
    assert answer["body"]["error"]["code"] == status


def test_a_wait_is_a_header():
    assert a2a.encode(QUOTA, binding="http")["headers"] == {"Retry-After": "30"}
    told = a2a.decode({"status": 503, "headers": {"retry-after": "12"}, "body": "busy"}, binding="http")
    assert (told.code, told.envelope.retry_after_seconds) == ("mcp_server_unreachable", 12)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "permission_denied"),
        (403, "permission_denied"),
        (429, "quota_exceeded"),
        (503, "mcp_server_unreachable"),
        (504, "tool_timeout"),
        (500, "internal"),
        (400, "invalid_arguments"),
        (404, "tool_not_found"),
    ],
)
def test_a_bare_status_is_read(status, code):
    assert a2a.decode({"status": status, "body": None}, binding="http").code == code
    assert a2a.decode({"error": {"code": status, "message": "m"}}, binding="http").code == code


def test_a_status_with_one_meaning_counts_for_more_than_the_body():
    other = {"error": {"code": 404, "status": "NOT_FOUND", "message": "m"}}

    assert a2a.decode({"status": 403, "body": other}, binding="http").code == "permission_denied"
    assert A2AError.from_http(403, other).code == -32603
    # This one stands for several.
    assert A2AError.from_http(400, {"error": {"status": "FAILED_PRECONDITION"}}).status == "FAILED_PRECONDITION"
    assert A2AError.from_http(500, {"error": {"status": "OK"}}).status == "INTERNAL"


@pytest.mark.parametrize("status", [401, 403, 429, 503, 504])
def test_a_bare_status_says_what_happened_and_goes_home_as_it_came(status):
    fault = a2a.decode({"status": status, "headers": {"Retry-After": "9"}, "body": "<html>"}, binding="http")

    there = a2a.decode(a2a.encode(fault))
    home = a2a.encode(there, binding="http")

    assert fault.envelope.message.startswith(("The agent ", "A limit of the agent "))
    assert there.envelope == fault.envelope
    assert (home["status"], home["headers"]) == (status, {"Retry-After": "9"})
    assert RECORD_KEY not in json.dumps(home)


def test_over_jsonrpc_the_number_decides_though_a_status_is_written_beside_it():
    error = {"code": -32603, "message": "m", "status": "PERMISSION_DENIED"}

    assert a2a.decode(error).code == "internal"
    assert "status" not in a2a.encode(a2a.decode({"code": 7, "message": "m"}, binding="grpc"))


def test_a_bare_status_reaches_a2c_smcp_as_what_it_means():
    fault = a2a.decode({"status": 401, "body": None}, binding="http")

    assert a2c_smcp.encode(fault)["meta"]["error_code"] == 4006


def test_violations_travel():
    fault = ToolFault("invalid_arguments", "refused")
    fault.facts["violations"] = [{"field": "days", "rule": "maximum", "message": "at most 14"}]

    error = a2a.encode(fault)

    assert error["data"][1]["fieldViolations"] == [{"field": "days", "description": "at most 14"}]
    assert a2a.decode(error).facts["violations"] == fault.facts["violations"]
    del error["data"][0]["metadata"][RECORD_KEY]
    assert a2a.decode(error).facts["violations"] == [{"field": "days", "message": "at most 14"}]


@pytest.mark.parametrize(
    "error",
    [
        {"code": -32001, "message": "no task 1", "data": [info(task="1"), {"@type": "x", "more": 1}]},
        {"code": -32001, "message": "no task 1", "data": {"taskId": "1"}},
        {"code": -32050, "message": "own", "data": [info(reason="X", domain="example.com")]},
        {"code": -32009, "message": "Version 7 is not supported"},
    ],
)
@pytest.mark.parametrize("binding", BINDINGS)
def test_an_original_goes_back_as_it_came(error, binding):
    fault = a2a.decode(error)
    version = "0.3" if isinstance(error.get("data"), dict) else "1.0.1"

    again = a2a.decode(a2a.encode(fault, binding=binding), binding=binding)

    assert again.envelope == fault.envelope
    assert a2a.encode(fault, version=version) == error
    # Without data there is nothing to lose, and the other bindings add an ErrorInfo.
    assert a2a.encode(again, version=version) == error or (binding != "jsonrpc" and "data" not in error)


def test_what_the_other_form_cannot_hold_travels_beside_it():
    error = {"code": -32001, "message": "no task 1", "data": {"taskId": "1"}}

    newer = a2a.encode(a2a.decode(error), version="1.0.1")

    assert newer["data"][0]["reason"] == "TASK_NOT_FOUND"
    assert a2a.encode(a2a.decode(newer), version="0.3") == error


def test_a_changed_fault_keeps_the_original_beside_it():
    fault = a2a.decode({"code": -32001, "message": "no task 1", "data": [info(task="1")]})
    changed = ToolFault.of(fault.envelope.with_hint("List the tasks first."), facts=fault.facts)

    error = a2a.encode(changed)

    assert error["code"] == -32001
    assert error["data"][0]["metadata"]["task"] == "1"
    assert a2a.decode(error).envelope.hint == "List the tasks first."


def test_across_an_untrusted_hop_a_handle_travels():
    store = MemoryStore()

    error = a2a.encode(QUOTA, store=store)

    assert "Buy more" not in json.dumps(error)
    assert a2a.decode(error, store=store).envelope == QUOTA.envelope
    assert a2a.decode(error).envelope.hint is None


def test_a_store_keeps_one_record_for_each_hop():
    store = MemoryStore()
    fault = a2a.decode({"code": -32001, "message": "m", "data": [info()]}, store=store)
    kept = len(store._records)

    a2a.encode(fault, store=store)
    a2a.encode(QUOTA, store=store)

    assert (kept, len(store._records)) == (1, 3)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("binding", BINDINGS)
def test_what_an_author_adds_is_json_and_capped(binding, version):
    fault = ToolFault("invalid_arguments", "\ud800")
    fault.facts["violations"] = [{"field": "\ud800", "message": "\udfff"}] * 5000
    error = A2AError.new("InternalError", metadata={"\ud800": float("nan"), "x": {"y": [float("inf"), object()]}})

    sent = [a2a.encode(fault, binding=binding, version=version)]
    sent += [error.to_jsonrpc(version), error.to_http(version), error.to_grpc(version)]

    assert len(json.dumps(sent, ensure_ascii=False, allow_nan=False).encode()) < 20_000


@pytest.mark.parametrize("code", [None, True, 4.0, [], "-32001", 2**63, 10**400])
@pytest.mark.parametrize("profile", ["official", "protocol-droid"])
def test_what_is_no_number_is_passed_on_as_an_internal_error(code, profile):
    fault = a2a.decode({"code": code, "message": "m"}, profile=profile)

    assert a2a.encode(fault, profile=profile)["code"] == -32603
    assert read_record(fault.facts.get("record", "")) is not None or "record" not in fault.facts


def test_a_body_that_has_another_code_than_its_record_does_not_leave():
    body = {"code": -32060, "message": "m", "data": [info(forged="xyzzy")]}
    record = json.dumps({"v": 1, "system": "a2a", "code": -32050, "body": body})
    fault = a2a.decode({"code": -32050, "message": "m", "data": [info(**{RECORD_KEY: record})]})

    assert fault.code == "unknown"
    sent = a2a.encode(fault)
    assert sent["code"] == -32050
    assert "forged" not in sent["data"][0]["metadata"]


def trailers(status):
    """
    The bytes of a status in trailers: percent-encoded beside the details in base64, which hold it once more.
    """
    said = len(quote(status["message"], safe="".join(map(chr, range(32, 127))).replace("%", "")))
    texts = [status["message"], *(text for detail in status["details"] for text in strings_in(detail))]
    return said + 4 * sum(len(text.encode()) + 4 for text in texts) // 3


def strings_in(value):
    if isinstance(value, str):
        return [value]
    inner = [*value, *value.values()] if isinstance(value, dict) else value
    return [text for item in inner for text in strings_in(item)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("letter", ["x", '"', "%", "漢"])
@pytest.mark.parametrize("size", [20, 700, 2048, 100_000])
def test_over_grpc_an_error_fits_into_the_trailers(letter, size, version):
    """
    A client of grpcio gets RESOURCE_EXHAUSTED in place of an error whose trailers exceed 8 KiB.
    """
    fault = ToolFault(
        "quota_exceeded", letter * (size // len(letter.encode())), hint=letter * 200, causes=["c" * 400] * 8
    )

    status = a2a.encode(fault, binding="grpc", version=version)

    assert trailers(status) < 8192 - 512
    assert a2a.decode(status, binding="grpc").code == "quota_exceeded"


def test_over_grpc_an_original_that_is_too_large_stays_behind():
    error = {"code": -32001, "message": "m", "data": [info(pad="p" * 9000)]}

    status = a2a.encode(a2a.decode(error), binding="grpc")

    assert trailers(status) < 8192 - 512
    assert a2a.decode(status, binding="grpc").received["details"][0]["reason"] == "TASK_NOT_FOUND"
    assert a2a.encode(a2a.decode(error)) == error


def test_texts_of_peers_are_scrubbed():
    fault = a2a.decode({"code": -32603, "message": "failed with Authorization: Bearer abcdefghijklmnop1234\x1b[31m"})

    assert "abcdefghijklmnop1234" not in fault.envelope.message
    assert "\x1b" not in fault.envelope.message


# ---- profiles


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        ({"code": -32001, "message": "Authentication required"}, "permission_denied", "Authentication required"),
        ({"code": -32002, "message": "no", "data": {"reason": "expired"}}, "permission_denied", "expired"),
        ({"code": -32000, "message": "no"}, "invalid_arguments", "no"),
        ({"code": -32602, "message": "Invalid params", "data": "days is missing"}, "invalid_arguments", "days is missing"),
        ({"code": -32603, "message": "boom"}, "internal", "boom"),
        ({"code": -32005, "message": "what"}, "unknown", "what"),
        # What can only be official is read so.
        ({"code": -32001, "message": "no task", "data": [info()]}, "invalid_arguments", "no task"),
    ],
)  # fmt: skip
def test_protocol_droid_is_read(error, code, message):
    fault = a2a.decode(error, profile="protocol-droid")

    assert (fault.code, fault.envelope.message) == (code, message)


@pytest.mark.parametrize("variant", Variant)
@pytest.mark.parametrize("detail", ["", "said"])
def test_a_variant_comes_back(variant, detail):
    carried = variant in {"MethodNotFound", "AuthenticationRequired"}
    if variant == "MethodNotImplemented" and not detail:
        # Nothing but the method tells it from the other -32601.
        return

    error = A2aError.from_jsonrpc(A2aError(variant, detail).to_jsonrpc())

    assert error.variant is variant
    if not carried:
        assert error.detail in {detail, error.message()}


@pytest.mark.parametrize("code", McpErrorCode)
def test_a_fault_comes_back_from_protocol_droid(code):
    fault = ToolFault(code, "said", hint="do")

    error = a2a.encode(fault, profile="protocol-droid")

    assert a2a.decode(error, profile="protocol-droid").envelope == fault.envelope
    assert error["code"] in {-32601, -32602, -32603}


@pytest.mark.parametrize(
    ("error", "profile"),
    [
        ({"code": -32001, "message": "m", "data": [info()]}, "official"),
        ({"code": -32001, "message": "m", "data": [{"@type": "any"}]}, "official"),
        ({"code": -32001, "message": "m"}, None),
        ({"code": -32000, "message": "m"}, None),
        ({"code": -32001, "message": "m", "data": []}, None),
        ({"code": -32001, "message": "m", "data": [{"reason": "TASK_NOT_FOUND"}]}, None),
        ({"code": -32602, "message": "m", "data": {"reason": "r"}}, None),
        (a2a.encode(ToolFault("tool_not_found", "m"), version="0.3"), "official"),
        (a2a.encode(ToolFault("tool_not_found", "m"), profile="protocol-droid"), "protocol-droid"),
        (a2a.encode(ToolFault("internal", "m"), profile="protocol-droid"), None),
        ("no error", None),
    ],
)
def test_only_the_payload_proves_a_profile(error, profile):
    assert a2a.profile_of(error) == profile


@pytest.mark.parametrize("binding", BINDINGS)
def test_what_can_only_be_a2a_is_recognised(binding):
    written = a2a.encode(QUOTA, binding=binding)

    assert a2a.recognise(written).envelope == QUOTA.envelope
    assert a2a.recognise(written.get("body", written)).code == QUOTA.code
    assert a2a.recognise({"jsonrpc": "2.0", "id": 1, "error": a2a.encode(QUOTA)}).envelope == QUOTA.envelope


def test_a_problem_of_0_3_is_recognised():
    answer = a2a.encode(QUOTA, binding="http", version="0.3")

    assert a2a.recognise(answer).envelope == a2a.recognise(answer["body"]).envelope == QUOTA.envelope


@pytest.mark.parametrize("profile", ["official", "protocol-droid"])
def test_records_are_recognised_in_either_profile(profile):
    fault = ToolFault("tool_not_found", "m", hint="h")
    written = a2a.encode(fault, version="0.3") if profile == "official" else a2a.encode(fault, profile=profile)

    assert a2a.recognise(written).envelope == fault.envelope


@pytest.mark.parametrize(
    "other",
    [
        *[None, {}, [], "x", {"code": -32001, "message": "m"}, {"error": {"code": 5}}],
        {"data": {RECORD_KEY: "nonsense"}},
        {"status": 503, "headers": {}, "body": "busy"},
        {"type": "https://example.com/errors/task-not-found", "status": 404},
    ],
)
def test_what_may_be_anything_is_not_recognised(other):
    assert a2a.recognise(other) is None


@pytest.mark.parametrize(
    "options",
    [
        {"binding": "soap"},
        {"profile": "klieo"},
        {"profile": "protocol-droid", "binding": "http"},
        {"version": "0.3.0"},
        {"version": "1.0"},
        {"version": "v0.3"},
    ],
)
def test_options_are_checked(options):
    with pytest.raises(ValueError, match="must be one of|binding 'jsonrpc' alone"):
        a2a.encode(QUOTA, **options)


@pytest.mark.parametrize("options", [{"binding": "soap"}, {"profile": "klieo"}])
def test_they_are_checked_on_reading_too(options):
    with pytest.raises(ValueError, match="must be one of"):
        a2a.decode({}, **options)


# ---- whatever a peer sends

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
NAMES = st.sampled_from(
    [
        "code",
        "message",
        "data",
        "error",
        "details",
        "@type",
        "metadata",
        "domain",
        "reason",
        "status",
        "body",
        "headers",
    ]
    + ["fieldViolations", "errors", "field", "description", "type", "detail", RECORD_KEY]
)
VALUES = SCALARS | st.sampled_from(
    [-32001, -32603, 5, 16, 404, 503, "a2a-protocol.org", "TASK_NOT_FOUND", "\ud800"]
    + [a2a.ERROR_INFO, a2a.BAD_REQUEST, a2a.encode(QUOTA)["data"][0]["metadata"][RECORD_KEY]]
)
HOSTILE = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6), max_leaves=20
)


@given(HOSTILE, st.sampled_from(BINDINGS), st.sampled_from(["official", "protocol-droid"]))
def test_no_payload_raises_out_of_a_reader(payload, binding, profile):
    fault = a2a.decode(payload, binding=binding, profile=profile)

    a2a.recognise(payload)
    a2a.profile_of(payload)
    protocol_droid.A2aError.from_jsonrpc(payload)
    if fault is not None:
        assert fault.envelope.message
        assert len(fault.envelope.message.encode()) <= 2048
        for again in BINDINGS:
            json.dumps(a2a.encode(fault, binding=again), allow_nan=True)


# ---- protocol-droid as its own server writes it


@pytest.mark.parametrize(
    ("error", "variant", "detail"),
    [
        ({"code": -32601, "message": "Method not found"}, Variant.METHOD_NOT_FOUND, ""),
        ({"code": -32601, "message": "Method not implemented"}, Variant.METHOD_NOT_IMPLEMENTED, ""),
        ({"code": -32601, "message": "x", "data": {"method": "m"}}, Variant.METHOD_NOT_IMPLEMENTED, "m"),
        ({"code": -32603, "message": "Internal error"}, Variant.INTERNAL_ERROR, ""),
        ({"code": -32603, "message": "disk full"}, Variant.INTERNAL_ERROR, "disk full"),
        ({"code": -32000, "message": "Content-Type not supported"}, Variant.CONTENT_TYPE_NOT_SUPPORTED, ""),
        ({"code": -32601, "message": []}, Variant.METHOD_NOT_FOUND, ""),
    ],
)
def test_a_variant_is_told_by_number_and_text(error, variant, detail):
    assert A2aError.from_jsonrpc(error) == A2aError(variant, detail)


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        (Variant.METHOD_NOT_FOUND, "Method not found"),
        (Variant.METHOD_NOT_IMPLEMENTED, "Method not implemented"),
        (Variant.INVALID_PARAMS, "Invalid params"),
        (Variant.INTERNAL_ERROR, "Internal error"),
        (Variant.CONTENT_TYPE_NOT_SUPPORTED, "Content-Type not supported"),
        (Variant.AUTHENTICATION_REQUIRED, "Authentication required"),
        (Variant.AUTHENTICATION_FAILED, "Authentication failed"),
    ],
)
def test_messages_are_the_fixed_texts_of_the_crate(variant, message):
    error = A2aError(variant, "detail")

    assert error.message() == message
    assert error.to_jsonrpc()["message"] == ("detail" if variant is Variant.INTERNAL_ERROR else message)
