"""
What the dialects share: the tables, the record, one hop out and in.
"""

import json
from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolfault import McpErrorCategory, McpErrorCode, McpExecuteError, ToolFault
from toolfault._bridge_record import MAX_RECORD, RECORD_FACT, Record, read_record, sanitize_record
from toolfault._text import CAUSE_BYTES, HINT_BYTES, MESSAGE_BYTES
from toolfault.dialects import MemoryStore
from toolfault.dialects._bridge import fits, inbound, original, outbound
from toolfault.dialects._tables import _TABLES, comes_back, meaning, reason_in, translate


QUOTA = ToolFault(
    "quota_exceeded",
    "No more maps today",
    category="permanent",
    retryable=False,
    retry_after_seconds=30,
    hint="Ask tomorrow.",
    causes=["429"],
    outcome="not_executed",
)
PAYLOAD = {"code": 4014, "message": "no such server", "mcp_server": "docs", "details": {"path": "/etc/passwd"}}
FOREIGN = ["a2a", "a2c", "protocol-droid"]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


def hop(fault, vocabulary, **options):
    """
    Out into a vocabulary, and in again, as any dialect does it.
    """
    out = outbound(fault, vocabulary, **options)
    store = options.get("store")
    return inbound(vocabulary, out.code, out.message, record=out.record, store=store)


def said(fault):
    return fault.envelope, fault.outcome


# ---- tables


def test_every_code_of_the_contract_has_an_image():
    for (source, target), table in _TABLES.items():
        if source == "mcp":
            assert {translate(code.value, source, target) for code in McpErrorCode} >= {*table.rows.values()}
        if target == "mcp":
            assert {*table.rows.values(), table.other} <= {code.value for code in McpErrorCode}


def test_no_table_leads_to_a_number_that_may_not_be_sent():
    for (_, target), table in _TABLES.items():
        if target == "a2c":
            assert 4008 not in {*table.rows.values(), table.other}
        if target in {"a2a", "protocol-droid"}:
            assert all(code in {-32602, -32603, -32601, -32004, -32009} for code in (*table.rows.values(), table.other))


@pytest.mark.parametrize(
    ("code", "source", "target", "image"),
    [
        ("future_code", "mcp", "a2a", -32603),
        ("future_code", "mcp", "mcp", "unknown"),
        (-32099, "a2a", "a2a", -32099),
        (-32001, "a2a", "protocol-droid", -32602),
        (-32001, "protocol-droid", "a2a", -32603),
        (-32001, "protocol-droid", "protocol-droid", -32001),
        (4006, "a2c", "protocol-droid", -32603),
        ("tool_not_found", "mcp", "protocol-droid", -32601),
    ],
)
def test_ways_without_a_table_of_their_own(code, source, target, image):
    assert translate(code, source, target) == image


def test_a_code_comes_back_or_does_not():
    assert comes_back("internal", "mcp", "a2a")
    assert not comes_back("quota_exceeded", "mcp", "a2a")


def test_the_one_code_that_is_worse_than_its_image():
    assert meaning(-32006, "a2a") == (McpErrorCode.MCP_SERVER_UNREACHABLE, McpErrorCategory.PERMANENT, False)
    assert meaning(-32006, "protocol-droid")[0] is McpErrorCode.UNKNOWN


@pytest.mark.parametrize("body", [None, 3, {}, {"details": "busy"}, {"details": {"reason": ["busy"]}}])
def test_no_reason(body):
    assert reason_in(body, "a2c") is None


# ---- hops


@pytest.mark.parametrize("vocabulary", FOREIGN)
def test_nothing_is_lost_that_the_envelope_or_the_outcome_says(vocabulary):
    assert said(hop(QUOTA, vocabulary)) == said(QUOTA)


@pytest.mark.parametrize("vocabulary", FOREIGN)
def test_facts_travel_too(vocabulary):
    facts = {"id": "f-77", "origin": "upstream", "upstream_status": 429, "violations": [{"field": "city"}]}

    assert hop(ToolFault.of(QUOTA.envelope, facts=facts), vocabulary).facts == facts


@pytest.mark.parametrize("vocabulary", FOREIGN)
def test_an_unknown_code_travels_as_it_came(vocabulary):
    body = {"code": "future", "message": "m", "category": "weird", "retryable": True, "since": 2031}
    fault = ToolFault.of(McpExecuteError.from_wire(body), received=body)

    again = hop(hop(fault, vocabulary), "a2c")

    assert again.received == body
    assert again.envelope == fault.envelope


def test_texts_that_were_cleaned_stay_clean_in_the_body():
    body = {"code": "future", "message": "dirty", "category": "auth", "retryable": True, "hint": "dirty"}
    envelope = McpExecuteError.from_wire(body).model_copy(update={"message": "clean", "hint": None})

    record = original(ToolFault.of(envelope, received=body))

    assert record.body == {"code": "future", "message": "clean", "category": "auth", "retryable": True}


@pytest.mark.parametrize("received", [None, "text", {"code": "quota_exceeded"}, {"code": -32603, "message": "m"}])
def test_a_body_that_is_no_envelope_of_this_fault_does_not_travel(received):
    assert original(ToolFault.of(QUOTA.envelope, received=received)).body is None


def test_a_foreign_body_comes_home():
    fault = inbound("a2c", 4014, "no such server", body=PAYLOAD, profile="ack", version="0.4")

    home = outbound(hop(hop(fault, "a2a"), "protocol-droid"), "a2c")

    assert (home.code, home.body, home.version) == (4014, PAYLOAD, "0.4")


def test_records_do_not_nest():
    fault = inbound("a2c", 4014, "no such server", body=PAYLOAD)

    once, twice = (read_record(outbound(hopped, "a2a").record) for hopped in (fault, hop(hop(fault, "a2a"), "a2a")))

    assert once == twice
    assert set(once.fault) == {"v", "error"}


def test_direct_tables_go_by_the_original_code():
    # By way of the contract's codes it would be -32004.
    assert outbound(inbound("a2c", 404, "gone"), "a2a").code == -32602


def test_a_changed_code_is_the_failures_own():
    fault = inbound("a2c", 4014, "m", body=PAYLOAD)
    changed = ToolFault.of(McpExecuteError.new("internal", "m"), facts=fault.facts)

    out = outbound(changed, "a2c")

    assert (out.code, out.body) == (500, None)


def test_a_wait_that_the_carrier_told_goes_on_in_the_record():
    fault = inbound("a2a", -32603, "m", body={"code": -32603, "message": "m"}, retry_after_seconds=7)

    assert hop(fault, "a2c").envelope.retry_after_seconds == 7


def test_members_of_the_dialect_count_where_no_record_does():
    plain = inbound("a2c", 4006, "m", hint="Log in.", outcome="not_executed")
    restored = inbound("a2a", -32603, "m", record=outbound(QUOTA, "a2a").record, hint="no", retry_after_seconds=1)

    assert (plain.envelope.hint, plain.outcome) == ("Log in.", "not_executed")
    assert said(restored) == said(QUOTA)


def test_details_reach_no_text():
    fault = inbound("a2c", 4014, "no such server", body=PAYLOAD)

    assert "passwd" not in json.dumps(fault.envelope.to_wire())


# ---- forged, malformed, too large


def text(**members):
    return json.dumps({"v": 1, "system": "mcp", "code": "internal", **members})


@pytest.mark.parametrize(
    "record",
    [
        text(code="permission_denied"),
        text(code="invalid_arguments", fault={"error": McpExecuteError.new("quota_exceeded", "x").to_wire()}),
        text(system="a2a", code=-32001),
        text(system="a2c", code=4007),
    ],
)
def test_a_record_that_does_not_fit_is_ignored(record):
    """
    All are well-formed records; none is of a failure that -32602 stands for, and that it describes.
    """
    fault = inbound("a2a", -32602, "m", record=record)

    assert read_record(record) is not None
    assert fault.envelope == McpExecuteError.new("invalid_arguments", "m")
    assert read_record(fault.facts[RECORD_FACT]) == Record(system="a2a", code=-32602)


@pytest.mark.parametrize(
    "record",
    [
        None,
        7,
        "",
        "not json",
        "[]",
        "[" * 20000,
        "[" * 5000,
        text(v=2),
        text(system="soap"),
        text(system=["mcp"]),
        text(code=7),
        text(code=None),
        text(code="x" * 200),
        text(system="a2a", code="internal"),
        text(system="a2a", code=True),
        text(system="a2a", code=10**40),
        text(system="a2a", code=-32603.0),
        text(profile=3),
        text(handle=[]),
        text(body=[]),
        text(fault="x"),
        text(body={"x": float("nan")}),
        text(body={"x": "\ud800"}),
        text()[:-1] + ',"body":{"n":' + "9" * 5000 + "}}",
        text(body={"x": "x" * MAX_RECORD}),
        text(body={"x": "ü" * (MAX_RECORD // 2)}).replace("\\u00fc", "ü"),
        "\ud800",
    ],
    ids=lambda record: repr(record)[:40],
)
def test_what_is_no_record_is_ignored(record):
    fault = inbound("a2a", -32603, "m", record=record)

    assert read_record(record) is None
    assert fault.envelope == McpExecuteError.new("internal", "m")
    assert read_record(fault.facts[RECORD_FACT]) == Record(system="a2a", code=-32603)


def test_a_record_without_the_failures_form_restores_the_code():
    assert inbound("a2a", -32603, "m", record=text(code="quota_exceeded")).envelope == McpExecuteError.new(
        "quota_exceeded", "m"
    )


def test_the_envelope_in_a_record_is_cleaned():
    wire = McpExecuteError.new("internal", "key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789\x1b[31m").to_wire()

    message = inbound("a2a", -32603, "m", record=text(fault={"error": wire})).envelope.message

    assert "sk-proj-abc" not in message
    assert "\x1b" not in message


def test_a_record_in_a_record_is_nobodys_claim():
    inner = text(system="a2c", code=500, body={"code": 500, "message": "forged"})
    wire = McpExecuteError.new("internal", "m").to_wire()

    fault = inbound("a2a", -32603, "m", record=text(fault={"error": wire, "record": inner}))

    assert RECORD_FACT not in fault.facts


@pytest.mark.parametrize("code", ["x" * 129, 7])
def test_no_record_is_written_that_no_reader_takes(code):
    assert Record(system="mcp", code=code).to_text() is None


@pytest.mark.parametrize("code", ["-32001", 2**63, True])
def test_nor_one_of_a_number_that_is_none(code):
    assert Record(system="a2a", code=code).to_text() is None


@given(code=JSON, message=JSON, record=JSON | st.text(), body=JSON)
@example(code=2**63 - 1, message=None, record="", body=None)
@example(code=-(2**63), message=None, record="", body=None)
def test_nothing_a_peer_sends_raises(code, message, record, body):
    for vocabulary in FOREIGN:
        number = code if type(code) is int and -(2**63) <= code < 2**63 else 0
        fault = inbound(vocabulary, number, message, record=record, body=body if isinstance(body, dict) else None)
        out = outbound(fault, vocabulary)

        assert out.code == number
        json.dumps([out.message, out.record], ensure_ascii=False).encode()


@given(st.dictionaries(st.sampled_from(["v", "system", "code", "profile", "body", "fault", "handle"]), JSON))
def test_nothing_in_a_record_raises(members):
    record = json.dumps({"v": 1, "system": "mcp", "code": "internal", **members})

    assert inbound("a2a", -32603, "m", record=record).envelope.code in {McpErrorCode.INTERNAL, McpErrorCode.UNKNOWN}


@pytest.mark.parametrize("letter", ["x", '"', "ü", "😀"])
def test_the_largest_envelope_fits(letter):
    def full(size):
        return letter * (size // len(letter.encode()))

    fault = ToolFault(
        "tool_panicked", full(MESSAGE_BYTES), hint=full(HINT_BYTES), causes=[full(CAUSE_BYTES)] * 8, retryable=True
    )

    assert said(hop(fault, "a2a")) == said(fault)


def test_what_does_not_fit_is_left_out_body_first():
    body = {"code": 4014, "message": "m", "blob": "b" * MAX_RECORD}
    fault = inbound("a2c", 4014, "m", body=body, hint="h")
    whole = Record(system="a2c", code=4014, body={"x": "x" * 300}, fault={"error": {"y": "y" * 300}})

    assert outbound(fault, "a2c").body is None
    assert hop(fault, "a2a").envelope == fault.envelope
    assert [read_record(whole.to_text(limit)) for limit in (1000, 500, 100)] == [
        whole,
        Record(system="a2c", code=4014, fault=whole.fault),
        Record(system="a2c", code=4014),
    ]
    assert whole.to_text(10) is None
    assert outbound(fault, "a2a", limit=10).record is None


def deep(levels):
    body = {}
    for _ in range(levels):
        body = {"x": body}
    return body


@pytest.mark.parametrize("body", [{"x": float("nan")}, {"x": object()}, {"x": "\udcff"}, deep(100_000)])
def test_a_body_that_json_cannot_hold_is_left_out(body):
    fault = inbound("a2c", 4014, "m", body=body)

    assert read_record(fault.facts[RECORD_FACT]) == Record(system="a2c", code=4014)


# ---- passed on by a server


def quiet(said):
    return said.replace("xyzzy", "-").replace('"password":"opensesame"', '"password":"-"')


def test_what_is_passed_on_has_safe_texts_and_no_form_of_its_own():
    body = {"code": 4017, "message": "xyzzy", "details": {"xyzzy": [1, None, "a xyzzy b"], "password": "opensesame"}}
    given_record = Record(
        system="a2c", code=4017, profile="ack", version="xyzzy", body=body, fault={"error": {}}, handle="h"
    )

    passed = read_record(sanitize_record(given_record.to_text(), quiet))

    safe = {"code": 4017, "message": "-", "details": {"-": [1, None, "a - b"], "password": "-"}}
    assert passed == Record(system="a2c", code=4017, profile="ack", version="-", body=safe, handle="h")
    assert read_record(sanitize_record(given_record.to_text(), quiet, body=False)) == Record(
        system="a2c", code=4017, profile="ack", version="-", handle="h"
    )


def test_a_text_that_its_name_gives_away_and_that_cannot_be_mended_is_removed():
    passed = sanitize_record(
        Record(system="a2a", code=1, body={"pin": "1234"}).to_text(), lambda said: said.replace(":", "")
    )

    assert read_record(passed).body == {"pin": "[redacted]"}


@pytest.mark.parametrize("body", [{"many": ["x"] * 600}, {"deep": [[[[[[[[[[[[[[[[[["x"]]]]]]]]]]]]]]]]]]}])
def test_what_cannot_be_looked_through_stays_behind(body):
    passed = sanitize_record(Record(system="a2a", code=-32001, body=body).to_text(), quiet)

    assert read_record(passed) == Record(system="a2a", code=-32001)


@pytest.mark.parametrize("no_record", [None, "", "xyzzy", {"v": 1}, text(v=2)])
def test_what_is_no_record_is_not_passed_on(no_record):
    assert sanitize_record(no_record, quiet) is None


# ---- handles


def test_across_an_untrusted_hop_only_a_handle_travels():
    store = MemoryStore()
    fault = inbound("a2c", 4014, "m", body=PAYLOAD, store=store)
    out = outbound(fault, "a2a", store=store)

    assert "passwd" not in fault.facts[RECORD_FACT] + out.record
    assert set(json.loads(out.record)) == {"v", "system", "code", "handle"}
    home = outbound(inbound("a2a", out.code, out.message, record=out.record, store=store), "a2c", store=store)
    assert home.body == PAYLOAD
    assert hop(QUOTA, "a2a", store=store).envelope == QUOTA.envelope


def test_without_the_store_a_handle_is_passed_on():
    store = MemoryStore()
    out = outbound(inbound("a2c", 4014, "m", body=PAYLOAD, store=store), "a2a", store=store)

    stranger = inbound("a2a", out.code, out.message, record=out.record)
    again = outbound(stranger, "a2a")

    assert outbound(stranger, "a2c").body is None
    assert (
        outbound(inbound("a2a", again.code, "m", record=again.record, store=store), "a2c", store=store).body == PAYLOAD
    )


def test_a_handle_of_another_failure_is_no_proof():
    store = MemoryStore()
    handle = store.put(Record(system="mcp", code="permission_denied").to_text())

    fault = inbound("a2a", -32603, "m", record=text(handle=handle), store=store)

    assert fault.envelope == McpExecuteError.new("internal", "m")


@pytest.mark.parametrize("kept", [None, "not json", text(code="unknown")])
def test_a_handle_that_leads_nowhere_leaves_the_code(kept):
    class Store:
        def put(self, _text):
            raise AssertionError("nothing to keep")

        def get(self, _handle):
            return kept

    fault = inbound("a2a", -32603, "m", record=text(code="quota_exceeded", handle="h"), store=Store())

    assert fault.code is McpErrorCode.QUOTA_EXCEEDED


def test_a_store_out_of_order_loses_the_record_and_no_more(caplog):
    class Store:
        def put(self, _text):
            raise ConnectionError("the store is down")

        get = put

    fault = hop(QUOTA, "a2a", store=Store())

    assert fault.envelope == McpExecuteError.new("quota_exceeded", QUOTA.envelope.message)
    assert {record.levelname for record in caplog.records} == {"ERROR"}


def test_the_store_in_memory_keeps_the_newest():
    store = MemoryStore(limit=2)
    handles = [store.put(str(number)) for number in range(3)]

    assert [store.get(handle) for handle in handles] == [None, "1", "2"]
    assert len(set(handles)) == 3
    with pytest.raises(ValueError, match="at least 1"):
        MemoryStore(limit=0)


def test_fits_is_about_codes():
    record = Record(system="mcp", code="quota_exceeded")

    assert fits(record, "a2a", [-32603])
    assert not fits(record, "a2a", [-32602])
    assert fits(record, "a2c", [4001, 4003])
    assert fits(Record(system="a2c", code=4017, body={"details": {"reason": "forbidden"}}), "a2a", [-32602])
    assert not fits(Record(system="a2a", code=-32001, profile="protocol-droid"), "a2c", [404])
    assert fits(Record(system="a2a", code=-32001), "a2c", [404])


class Endless(Mapping):
    """
    An object with more members than anybody should look at.
    """

    def __len__(self):
        return 10**9

    def __getitem__(self, key):
        raise AssertionError("somebody looked")

    def __iter__(self):
        raise AssertionError("somebody looked")


def test_a_body_that_cannot_fit_is_not_written_to_find_out():
    text = Record(system="a2a", code=-32603, body={"data": Endless()}, fault={"v": 1}).to_text()

    assert json.loads(text) == {"v": 1, "system": "a2a", "code": -32603, "fault": {"v": 1}}
