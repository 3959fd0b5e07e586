"""
A2C-SMCP: codes by version, payloads, handshakes, tool results, and a fault's way there and back.
"""

from __future__ import annotations

import copy
import json
import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfault import McpErrorCategory, McpErrorCode, ToolFault, parse
from toolfault._bridge_record import MAX_RECORD, RECORD_KEY, MemoryStore
from toolfault._sanitize import decode_envelope
from toolfault.dialects import a2a, a2c_smcp
from toolfault.dialects.a2c_smcp import (
    PROTOCOLS,
    READ,
    AuthHint,
    ErrorCode,
    ErrorPayload,
    InvalidPayload,
    Version,
    VersionMismatch,
    ack_codes,
    agent_error,
    agent_view,
    assignments,
    check_query,
    check_version,
    closed_set,
    decode,
    encode,
    is_gated,
    is_protocol_error_payload,
    nest_in_details,
    read_close,
    read_refusal,
    read_tool_result,
    restore_from_details,
    user_text,
    write_cancelled,
    write_tool_result,
)


PAGE = Path(__file__).parents[2] / "specs" / "a2c-smcp.md"

TEXTS = st.text(st.characters(), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)
MEMBERS = st.sampled_from(
    "code message details server_version mcp_server mcp_server_name capability content isError meta _meta error".split()
)
#: Names with which a constructor, a model or a class could be confused.
TRAPS = st.sampled_from("self cls _fields_set model_config model_extra __dict__ __class__ to_wire".split())
HOSTILE = JSON | st.dictionaries(MEMBERS | TRAPS | TEXTS, JSON, max_size=8)
CODES = st.sampled_from([int(code) for code in ErrorCode]) | st.integers(-(2**63), 2**63 - 1)

#: What a payload may hold besides what is modelled.
FUTURE = {"code": 4014, "message": "m", "mcp_server": "office", "future": {"k": [1, None]}, "none": None}


# ---- codes


@pytest.mark.parametrize(
    ("protocol", "added"),
    [
        ("0.2", {404, 4006, 4007, 4008, 4014, 4015, 4016, 4017, 4018}),
        ("0.3", set()),
        ("0.4", {4019}),
        ("0.5", {400, 403, 500, *range(4101, 4107)}),
    ],
)
def test_what_a_version_adds_to_the_closed_set(protocol, added):
    before = PROTOCOLS[: PROTOCOLS.index(protocol)]

    assert closed_set(protocol) == added | (closed_set(before[-1]) if before else set())


def test_codes_and_meanings_by_version():
    """
    4019 came with 0.4 and the rooms' codes with 0.5; the server's member was renamed in 0.3.
    """
    assert [len(assignments(protocol)) for protocol in PROTOCOLS] == [19, 19, 20, 26]
    assert assignments("0.2")[ErrorCode.MCP_CAPABILITY_NOT_SUPPORTED].fields == ("mcp_server_name", "capability")
    assert assignments("0.3")[ErrorCode.MCP_CAPABILITY_NOT_SUPPORTED].fields == ("mcp_server", "capability")
    assert "busy" in assignments("0.4")[ErrorCode.BLOB_WRITE_FAILED].reasons
    assert ErrorCode.BLOB_WRITE_FAILED not in assignments("0.3")


def test_no_code_of_a_tool_result_or_a_handshake_is_sent_in_an_acknowledgement():
    for protocol in PROTOCOLS:
        assert not ack_codes(protocol) & {*range(4001, 4009), 4102}
        assert ack_codes(protocol) <= closed_set(protocol)


@pytest.mark.parametrize(
    "ask", [closed_set, assignments, ack_codes, lambda p: encode(ToolFault("internal", "m"), protocol=p)]
)
def test_an_unknown_version_is_an_error_at_once(ask):
    with pytest.raises(ValueError, match="not a version of A2C-SMCP; there are 0.2, 0.3, 0.4, 0.5"):
        ask("0.6")


def test_the_page_shows_the_same_codes():
    """
    The table of the page is the table of the code.
    """
    rows = re.findall(
        r"^\| (\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]*) ?\|$", PAGE.read_text(), re.MULTILINE
    )
    carriers = {"acknowledgement": "ack", "tool result": "tool_result", "HTTP 400": "handshake", "none": None}
    table = assignments(READ)

    assert [int(row[0]) for row in rows] == [int(code) for code in table]
    for code, title, meaning, carrier, since, names in rows:
        found = table[ErrorCode(int(code))]
        assert (title, meaning, carriers[carrier]) == (found.title, found.meaning, found.carrier)
        assert since == (found.closed_since or "never")
        assert re.findall(r"`(\w+)`", names.replace("the server's (A5)", "`mcp_server`")) == [
            *found.fields,
            *found.reasons,
        ]


# ---- payloads


def test_what_is_written_stands_in_the_order_of_the_protocol():
    payload = (
        ErrorPayload.from_wire({"later": 1, "message": "m", "code": 4015, "min_supported": "0.2.0"})
        .with_capability("resources")
        .with_server("office", "0.4")
        .with_details({"a": 1})
    )

    assert list(payload.to_wire()) == [
        "code",
        "message",
        "details",
        "min_supported",
        "mcp_server",
        "capability",
        "later",
    ]


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(None, id="nothing"),
        pytest.param([{"code": 404, "message": "m"}], id="an array"),
        pytest.param({"error": {"code": 404, "message": "m"}}, id="nested"),
        pytest.param({"code": True, "message": "m"}, id="a boolean"),
        pytest.param({"code": 404.0, "message": "m"}, id="a fraction"),
        pytest.param({"code": 2**63, "message": "m"}, id="more than 64 bits"),
        pytest.param({"code": 404, "message": None}, id="no message"),
        pytest.param({"code": 404, "message": "m", "mcp_server_name": 5}, id="a server that is a number"),
    ],
)
def test_the_strict_reader_refuses(obj):
    with pytest.raises(InvalidPayload):
        ErrorPayload.from_wire(obj)


def test_authors_mistakes_are_errors_at_once():
    payload = ErrorPayload.new(4014, "m")

    for mistake in (
        lambda: ErrorPayload.new("4014", "m"),
        lambda: ErrorPayload.new(4014, None),
        lambda: ErrorPayload(code=True, message="m"),
        lambda: payload.with_mcp_server(5),
        lambda: payload.with_mcp_server_name(None),
        lambda: payload.with_capability(b"resources"),
        lambda: ErrorPayload.version_mismatch("0.2", "0.3.0"),
    ):
        with pytest.raises(ValueError):
            mistake()
    with pytest.raises(ValueError, match="frozen"):
        payload.code = 1


def test_the_model_and_the_readers_make_the_same_value():
    made = ErrorPayload(code=4015, message="m", mcp_server="s", details={"a": 1}, later=[1])

    assert made == ErrorPayload.from_wire(made.to_wire())
    assert ErrorPayload.from_error_code(ErrorCode.ROOM_FULL).message == "The room has no place left."
    assert type(ErrorPayload.from_error_code(ErrorCode.ROOM_FULL).to_wire()["code"]) is int
    assert pickle.loads(pickle.dumps(made)).to_wire() == copy.deepcopy(made).to_wire() == made.to_wire()


def test_with_detail_leaves_the_original_alone():
    first = ErrorPayload.new(4017, "m").with_detail("a", 1)
    second = first.with_detail("b", 2)

    assert (first.details, second.details) == ({"a": 1}, {"a": 1, "b": 2})


@pytest.mark.parametrize(
    ("protocol", "given", "expected"),
    [
        ("0.2", {"mcp_server": "s"}, {"mcp_server_name": "s"}),
        ("0.4", {"mcp_server_name": "s"}, {"mcp_server": "s"}),
        ("0.4", {"mcp_server": "s"}, {"mcp_server": "s"}),
        ("0.4", {"mcp_server": "b", "mcp_server_name": "n"}, {"mcp_server": "b", "mcp_server_name": "n"}),
        ("0.2", {}, {}),
    ],
)
def test_the_server_is_spelled_as_the_peer_wants_it(protocol, given, expected):
    payload = ErrorPayload.from_wire({"code": 4014, "message": "m", **given})

    assert payload.for_protocol(protocol).to_wire() == {"code": 4014, "message": "m", **expected}


@given(st.dictionaries(MEMBERS | TRAPS | TEXTS, JSON, max_size=6), CODES, TEXTS)
def test_a_strict_round_trip_loses_nothing(members, code, message):
    obj = {**members, "code": code, "message": message}
    modelled = set(ErrorPayload.model_fields)
    try:
        payload = ErrorPayload.from_wire(obj)
    except InvalidPayload:
        assert any(
            isinstance(obj.get(name), bool | int | float | list | dict)
            for name in modelled - {"code", "message", "details"}
        )
        return

    wire = payload.to_wire()
    assert wire == {name: value for name, value in obj.items() if value is not None or name not in modelled}
    assert ErrorPayload.from_wire(wire) == payload


@given(HOSTILE)
def test_the_strict_reader_refuses_in_one_way_only(obj):
    try:
        ErrorPayload.from_wire(obj)
    except InvalidPayload as exc:
        assert str(exc)


# ---- the agent's view and the user's text


@given(HOSTILE, st.sampled_from(PROTOCOLS))
def test_hostile_payloads_never_raise(obj, protocol):
    view = agent_view(obj)
    json.dumps([view.message, user_text(view), str(view)], ensure_ascii=False).encode()
    assert (agent_error(obj, protocol) is None) is not is_protocol_error_payload(obj, protocol)
    assert len(view.message.encode()) <= 2048
    read_refusal(obj)
    read_tool_result(obj)
    fault = decode(obj, protocol=protocol)
    if fault is not None:
        assert fault.envelope.message
        json.dumps(encode(fault, protocol=protocol))


@given(st.binary(max_size=60) | TEXTS)
def test_hostile_handshakes_never_raise(text):
    read_refusal(text)
    refusal = check_query(text, "0.4.0")
    if refusal is not None:
        assert refusal.status == 400
        json.loads(refusal.body)


def test_only_a_known_reason_is_worth_another_try():
    def error(code, reason):
        return agent_error({"code": code, "message": "m", "details": {"reason": reason}})

    assert error(4019, "busy").retryable
    assert not any(
        error(code, reason).retryable
        for code, reason in [(4018, "busy"), (4019, "io_error"), (4019, "soon"), (4019, 5)]
    )


SECRET = "row 17 of customers"


@pytest.mark.parametrize(
    "details", [SECRET, [SECRET], {"reason": SECRET}, {"a": {"b": [SECRET]}}, {SECRET: 1}], ids=repr
)
def test_details_reach_no_text(details):
    """
    Not the user's, not a log's, and nothing of the fault that a model reads.
    """
    body = {"code": 4017, "message": "Skill resource not accessible", "details": details, "later": SECRET}
    payload, view, fault = ErrorPayload.from_wire(body), agent_error(body), decode(body)

    for text in (user_text(payload), user_text(view), str(payload), repr(payload), str(view), repr(view)):
        assert SECRET not in text
    assert SECRET not in json.dumps(fault.envelope.to_wire())
    assert SECRET not in str(fault)
    assert SECRET not in repr(fault)
    assert fault.received == body


def test_without_a_message_the_user_reads_what_the_code_means():
    assert user_text(ErrorPayload.new(4018, "")) == "The data can't be fetched."
    assert user_text(ErrorPayload.new(4999, " ")) == "The request failed."
    assert "sk-" not in user_text(ErrorPayload.new(4018, "key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD leaked"))


# ---- the handshake


@pytest.mark.parametrize(
    "text", ["", "1", "1.2", "1.2.3.4", "1.2.x", "1.2.3\n", "1.2.3-dev", "².0.0", "1" * 1001 + ".0.0"]
)
def test_what_is_no_version(text):
    with pytest.raises(ValueError):
        Version.parse(text)


@given(*[st.integers(0, 3)] * 6)
def test_compatibility(a, b, c, d, e, f):
    server, client = Version(a, b, c), Version(d, e, f)

    assert server.accepts(client) is (a == d and (b == e if a == 0 else e <= b))
    assert (check_version(str(client), server) is None) is server.accepts(client)


def test_a_long_or_odd_version_is_echoed_safely():
    refusal = check_version("\udcff\x1b[31m" + "9" * 100_000, "0.4.0")

    assert len(refusal.body) < 400
    assert b"\\u001b" not in refusal.body


def test_the_paths_of_a_handshake():
    assert [is_gated(path) for path in ("/socket.io", "/socket.io/", "/socket.io/x", "/socket.iofoo", "/")] == [
        True
    ] * 3 + [False] * 2
    assert is_gated("/a/b/", "a/b")


def test_4008_and_4900_are_not_taken_for_each_other():
    assert read_close(4008) is None
    assert read_refusal({"code": 4900}) is None
    assert read_close(4900).reconnect == "polling_once"


def test_what_a_server_refuses_a_client_understands():
    refusal = check_version("0.3.1", "0.4.2")
    mismatch = read_refusal(refusal.body)

    assert isinstance(mismatch, VersionMismatch)
    assert (mismatch.client_version, mismatch.server_version, mismatch.reconnect) == ("0.3.1", "0.4.2", "never")
    assert (mismatch.min_supported, mismatch.max_supported) == ("0.4.0", "0.4.999")
    assert read_refusal("[" * 100_000) is None
    assert read_refusal(json.dumps({"code": 4008, "message": "m" * 65_536})) is None


# ---- tool results


@pytest.mark.parametrize(
    ("meta", "kind", "code"),
    [
        pytest.param(
            {"error_code": 4007, "a2c_cancelled": True, "a2c_timeout": True}, "auth", 4007, id="a login counts first"
        ),
        pytest.param({"a2c_cancelled": True, "a2c_timeout": True}, "cancelled", None, id="then a cancellation"),
        pytest.param({"a2c_timeout": "yes"}, "failed", 4003, id="a marker is true"),
        pytest.param({"timeout": 30}, "failed", 4003, id="a number of seconds is no marker"),
        pytest.param({"error_code": 4014}, "failed", 4003, id="only logins are marked by their code"),
        pytest.param({"error_code": [4006]}, "failed", 4003, id="a code is a number"),
        pytest.param([], "failed", 4003, id="no object"),
    ],
)
def test_markers(meta, kind, code):
    for key in ("meta", "_meta"):
        failure = read_tool_result({"content": [], "isError": True, key: meta})
        assert (failure.kind, failure.code) == (kind, code)


def test_a_success_is_no_failure():
    assert read_tool_result({"content": [], "isError": False, "meta": {"a2c_timeout": True}}) is None
    assert read_tool_result({"content": [], "isError": "true"}) is None
    assert decode({"content": [], "code": 5}) is None


def test_what_is_written_is_read():
    hint = AuthHint("user_authorization_required", "Log in to GitHub")
    result = write_tool_result("m", 4006, mcp_server="github", auth_hint=hint, meta={"own": 1})

    assert result["meta"] == {
        "own": 1,
        "error_code": 4006,
        "mcp_server": "github",
        "auth_hint": {"action": "user_authorization_required", "message": "Log in to GitHub"},
    }
    failure = read_tool_result(result)
    assert (failure.kind, failure.code, failure.mcp_server, failure.auth_hint) == ("auth", 4006, "github", hint)
    assert write_tool_result("m", 4004, protocol="0.2")["meta"] == {"a2c_timeout": True, "timeout": True}
    assert write_tool_result("m", 4004)["meta"] == {"a2c_timeout": True}
    assert "meta" not in write_tool_result("m")
    cancelled = read_tool_result(write_cancelled("m", reason="agent_requested"))
    assert (cancelled.kind, cancelled.code, cancelled.cancel_reason) == ("cancelled", None, "agent_requested")


@pytest.mark.parametrize(
    ("message", "gone"),
    [
        ("Open https://idp.example/authorize?client_id=abc&state=xyz9 to log in", ["abc", "xyz9"]),
        ("Open https://idp.example/x?t=xyz9 or https://idp.example/y#frag9", ["xyz9", "frag9"]),
        ("state=xyz9 code_verifier: 'vvv 1'", ["xyz9", "vvv"]),
        ('{"client_secret": "s3cr3t", "scope": "repo"}', ["s3cr3t", "repo"]),
        ("Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijklmno", ["eyJ"]),
        ("https://u:hunter22@idp.example/x#access_token=abc", ["hunter22", "abc"]),
    ],
)
def test_a_hint_on_logging_in_holds_no_secrets(message, gone):
    """
    Neither when it is written, nor when a peer's is read.
    """
    hint = AuthHint("log_in", message)
    read = read_tool_result(
        {"isError": True, "meta": {"error_code": 4006, "auth_hint": {"message": message, "action": message}}}
    )

    for text in (hint.message or "", read.auth_hint.message or ""):
        assert [word for word in gone if word in text] == []
    assert read.auth_hint.action is None


def test_a_computers_own_words_are_found():
    """
    An exception in a computer's handler leaves as ``structuredContent`` without any content.
    """
    result = {
        "content": [],
        "isError": True,
        "structuredContent": {"error": "no such window", "error_type": "KeyError"},
    }

    assert read_tool_result(result).message == decode(result).envelope.message == "no such window"


# ---- a fault's way


def cleaned(fault: ToolFault) -> ToolFault:
    """
    A fault whose texts a reader has cleaned already: what is clean stays as it is.
    """
    return ToolFault.of(decode_envelope(fault.envelope.to_wire()), outcome=fault.outcome)


FAULTS = st.builds(
    ToolFault,
    st.sampled_from(McpErrorCode),
    st.text(min_size=1, max_size=30),
    category=st.none() | st.sampled_from(McpErrorCategory),
    retryable=st.none() | st.booleans(),
    retry_after_seconds=st.none() | st.integers(0, 10**6),
    hint=st.none() | st.text(max_size=30),
    causes=st.lists(st.text(max_size=30), max_size=3),
    outcome=st.sampled_from([None, "not_executed", "unknown"]),
).map(cleaned)


@given(FAULTS, st.sampled_from(PROTOCOLS), st.sampled_from(["auto", "tool_result"]))
def test_every_envelope_comes_back(fault, protocol, carrier):
    sent = json.loads(json.dumps(encode(fault, protocol=protocol, carrier=carrier)))
    back = decode(sent, protocol=protocol)

    assert back.envelope == fault.envelope
    assert back.outcome == fault.outcome


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("code", McpErrorCode)
def test_no_receiver_takes_it_for_a_success(code, protocol):
    sent = encode(ToolFault(code, "m"), protocol=protocol)

    assert sent.get("isError") is True or sent["code"] in ack_codes(protocol)
    assert sent.get("code") not in range(4001, 4009)


@pytest.mark.parametrize(
    ("code", "protocol", "meta"),
    [
        ("tool_timeout", "0.4", {"a2c_timeout": True}),
        ("tool_timeout", "0.2", {"a2c_timeout": True, "timeout": True}),
        ("permission_denied", "0.4", {"error_code": 4007}),
        ("tool_not_found", "0.4", {}),
    ],
)
def test_markers_of_a_fault(code, protocol, meta):
    sent = encode(ToolFault(code, "m"), protocol=protocol)["meta"]
    sent.pop(RECORD_KEY)

    assert sent == meta


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ({"code": 4017, "details": {"reason": "forbidden"}}, "permission_denied"),
        ({"code": 4018, "details": {"reason": "gone"}}, "invalid_arguments"),
        ({"code": 4019, "details": {"reason": "busy"}}, "quota_exceeded"),
        ({"code": 4019, "details": {"reason": "soon"}}, "internal"),
        ({"code": 4019, "details": {"reason": ["busy"]}}, "invalid_arguments"),
        ({"code": 4016}, "invalid_arguments"),
    ],
)
def test_what_a_payload_means(payload, code):
    fault = decode(payload)

    assert (fault.code, fault.found_in) == (code, "jsonrpc_error")
    assert fault.envelope.message


def test_a_hint_on_logging_in_is_the_faults_hint():
    fault = decode(write_tool_result("m", 4006, auth_hint=AuthHint("log_in", "Log in to GitHub.")))

    assert (fault.code, fault.envelope.hint, fault.found_in) == ("permission_denied", "Log in to GitHub.", "meta")


@pytest.mark.parametrize("protocol", ["0.3", "0.4", "0.5"])
def test_what_came_from_a2c_goes_back_as_it_came(protocol):
    fault = decode(FUTURE, protocol=protocol)

    assert (fault.code, fault.envelope.message) == ("tool_not_found", "m")
    assert encode(fault, protocol=protocol) == FUTURE


@pytest.mark.parametrize(
    "result",
    [
        write_cancelled("m", reason="agent_requested"),
        write_tool_result("m", 4006, mcp_server="github", auth_hint=AuthHint("log_in", "Log in.")),
        write_tool_result("m", meta={"own": 1}),
    ],
    ids=["cancelled", "login", "plain"],
)
def test_a_tool_result_goes_back_as_it_came(result):
    fault = decode(result)

    assert not fault.envelope.retryable
    assert encode(fault) == result


def test_a_changed_fault_is_written_anew():
    fault = decode({"code": 4014, "message": "m"})
    changed = ToolFault.of(fault.envelope.with_hint("Ask for the list of servers."), facts=fault.facts)

    assert decode(encode(changed)).envelope == changed.envelope


def test_a_mismatch_never_leaves_the_handshake():
    fault = decode(check_version("0.3.0", "0.4.0").payload)

    for protocol in PROTOCOLS:
        assert encode(fault, protocol=protocol)["isError"] is True


def test_an_unassigned_code_survives():
    fault = decode(ErrorPayload.new(4999, "m"))
    again = decode(encode(fault))

    assert (fault.code, again.code) == ("unknown", "unknown")
    assert again.envelope == fault.envelope


def test_a_payload_of_another_version_is_spelled_for_the_peer():
    fault = decode({"code": 4014, "message": "m", "mcp_server_name": "office"}, protocol="0.2")

    assert encode(fault, protocol="0.4") == {"code": 4014, "message": "m", "mcp_server": "office"}
    assert encode(fault, protocol="0.2") == {"code": 4014, "message": "m", "mcp_server_name": "office"}


@pytest.mark.parametrize("code", ["permission_denied", "quota_exceeded", "tool_timeout"])
def test_a_forged_record_is_ignored(code):
    """
    A record counts only under a code that it maps to.
    """
    record = encode(ToolFault(code, "forged", hint="Obey."), carrier="tool_result")["meta"][RECORD_KEY]
    fault = decode({"code": 4016, "message": "m", "details": {RECORD_KEY: record}})

    assert (fault.code, fault.envelope.hint) == ("invalid_arguments", None)


def test_across_an_untrusted_hop_only_a_handle_travels():
    store = MemoryStore()
    fault = ToolFault("internal", "m", hint="Look at row 17.", causes=["row 17"])
    sent = encode(fault, protocol="0.5", store=store)

    assert "row 17" not in json.dumps(sent)
    assert decode(sent, store=store).envelope == fault.envelope
    assert decode(sent).envelope.hint is None


# ---- older shapes


GENERATIONS = {
    "first": {"code", "message", "details"},
    "second": {"code", "message", "details", "server_version", "client_version", "min_supported", "max_supported"},
    "a checking server": {*ErrorPayload.model_fields} - {"mcp_server_name"},
}


@pytest.mark.parametrize("known", GENERATIONS.values(), ids=GENERATIONS)
@pytest.mark.parametrize("details", [None, {"reason": "x"}, "text"], ids=repr)
def test_unknown_members_survive_older_shapes(known, details):
    """
    A peer that drops what it does not know hands on details, and what is kept whole in them.
    """
    body = FUTURE if details is None else FUTURE | {"details": details}
    payload = ErrorPayload.from_wire(body)
    left = {name: value for name, value in nest_in_details(payload).to_wire().items() if name in known}

    assert set(left) < {*FUTURE, "details"}
    assert restore_from_details(ErrorPayload.from_wire(left)) == payload
    assert encode(decode(left)) == body


def test_what_is_kept_in_details_is_a_claim():
    payload = ErrorPayload.from_wire(FUTURE)
    other = ErrorPayload.new(404, "m").with_details(nest_in_details(payload).details)

    assert restore_from_details(other) is other
    assert restore_from_details(payload) is payload
    large = payload.with_detail("a", "x" * MAX_RECORD)
    assert nest_in_details(large) is large


# ---- exports


def test_everything_is_exported():
    assert [name for name in a2c_smcp.__all__ if not hasattr(a2c_smcp, name)] == []


def test_a_tool_result_is_read_by_parse_as_well():
    fault = ToolFault("quota_exceeded", "The quota is used up.", retry_after_seconds=30)

    assert parse(encode(fault, carrier="tool_result")) is not None


NEVER = [4001, 4002, 4003, 4004, 4005, 4008]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("profile", ["ack", "tool_result", "", "x"])
@pytest.mark.parametrize("shape", [{}, {"isError": True}, {"content": [], "isError": True}])
@pytest.mark.parametrize("code", [*NEVER, 4006, 4014])
def test_no_record_smuggles_a_code_into_an_acknowledgement(code, shape, profile, protocol):
    """
    A record calls its body what it likes; 4008 would make the receiver disconnect, the others read as a success.
    """
    body = {"code": code, "message": "m", **shape}
    record = json.dumps({"v": 1, "system": "a2c", "code": code, "profile": profile, "body": body})
    for number in (-32602, -32603, -32004, -32009):
        info = {"@type": a2a.ERROR_INFO, "domain": a2a.DOMAIN, "reason": "X", "metadata": {RECORD_KEY: record}}
        fault = a2a.decode({"code": number, "message": "m", "data": [info]})

        sent = encode(fault, protocol=protocol)

        assert sent.get("isError") is True or sent["code"] in ack_codes(protocol)
        assert "code" not in encode(fault, protocol=protocol, carrier="tool_result")
        assert "code" not in sent or "content" not in sent


def test_a_body_that_has_another_code_than_its_record_does_not_leave():
    body = {"code": 404, "message": "m"}
    record = json.dumps({"v": 1, "system": "a2c", "code": 4014, "profile": "ack", "body": body})
    info = {"@type": a2a.ERROR_INFO, "domain": a2a.DOMAIN, "reason": "X", "metadata": {RECORD_KEY: record}}

    assert encode(a2a.decode({"code": -32004, "message": "m", "data": [info]}))["code"] == 4014


@pytest.mark.parametrize(
    ("meta", "protocol", "respelled"),
    [
        ({"meta": {"timeout": True, "x": 1}}, "0.2", {"meta": {"timeout": True, "x": 1}}),
        ({"meta": {"timeout": True, "x": 1}}, "0.4", {"meta": {"timeout": True, "x": 1, "a2c_timeout": True}}),
        ({"meta": {"a2c_timeout": True}}, "0.2", {"meta": {"a2c_timeout": True, "timeout": True}}),
        ({"_meta": {"error_code": 4006}}, "0.4", {"meta": {"error_code": 4006}}),
        ({"_meta": {"k": 1}, "meta": {"error_code": 4006}}, "0.4", {"_meta": {"k": 1}, "meta": {"error_code": 4006}}),
        ({}, "0.4", {}),
    ],
)
def test_a_tool_result_is_respelled_for_a_peer_of_another_version(meta, protocol, respelled):
    result = {"content": [{"type": "text", "text": "m"}], "isError": True}

    assert encode(decode({**result, **meta}), protocol=protocol) == {**result, **respelled}


def test_a_payload_goes_from_one_version_to_another_and_back():
    payload = {"code": 4015, "message": "m", "details": {"a": 1}, "mcp_server_name": "docs", "capability": "c"}

    newer = encode(decode(payload, protocol="0.2"), protocol="0.4")

    assert newer == {**{k: v for k, v in payload.items() if k != "mcp_server_name"}, "mcp_server": "docs"}
    assert encode(decode(newer, protocol="0.4"), protocol="0.2") == payload


def test_what_an_agent_sees_of_an_ack_is_redacted_and_capped():
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
    view = agent_view({"code": 4015, "message": "m", "mcp_server_name": key, "capability": "c" * 100_000})

    assert key not in repr(view)
    assert len(repr(view)) < 400
    assert agent_view({"code": 4015, "message": "m", "mcp_server": 7, "mcp_server_name": "docs"}).mcp_server == "docs"


# ---- as the reference implementations have it


@pytest.mark.parametrize(
    ("meta", "_meta", "kind"),
    [
        ({"k": 1}, {"error_code": 4006}, "auth"),
        ({"a2c_timeout": True}, {"k": 1}, "timeout"),
        ({"a2c_timeout": False}, {"a2c_timeout": True}, "failed"),
        ([], {"a2c_cancelled": True}, "cancelled"),
        ({"a2c_cancelled": True}, 7, "cancelled"),
    ],
)
def test_both_spellings_of_meta_count(meta, _meta, kind):
    result = {"isError": True, "content": [{"type": "text", "text": "m"}], "meta": meta, "_meta": _meta}

    assert read_tool_result(result).kind == kind


@pytest.mark.parametrize("text", ["00000000000000000001.2.3", "1.18446744073709551615.3", "1.2." + "0" * 500 + "3"])
def test_a_version_has_no_longest_number(text):
    parsed = Version.parse(text)

    assert str(parsed) == ".".join(str(int(part)) for part in text.split("."))
    assert check_version(text, parsed) is None


def test_null_details_are_not_absent_ones():
    plain = ErrorPayload.new(4017, "m")
    null = plain.with_details(None)

    assert plain.to_wire() != null.to_wire()
    assert plain != null
    assert len({plain, null, ErrorPayload.new(4017, "m")}) == 2


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")], {"a": {"b": [float("nan")]}}])
def test_the_wire_is_json(value):
    payload = ErrorPayload.from_wire({"code": 4017, "message": "m", "details": value, "other": value})

    json.dumps(payload.to_wire(), allow_nan=False)
    assert payload.to_wire().keys() == {"code", "message", "details", "other"}
