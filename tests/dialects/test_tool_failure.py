"""
The failure object of SEP-3313, both ways.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfault import parse
from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._names import META_KEY
from toolfault.dialects.tool_failure import TOOL_FAILURE_KEY, decode, encode, failure_in, failure_of
from toolfault.errors import ToolFault


NOW = 1_000_000.0
QUOTA = ToolFault("quota_exceeded", "Daily quota used up", retry_after_seconds=30, hint="Buy more")


def clock():
    return NOW


def alone(**failure):
    return {TOOL_FAILURE_KEY: failure}


def test_what_is_written():
    assert failure_of(QUOTA, correlation_id="c1", clock=clock) == {
        "class": "reliability",
        "code": "quota_exceeded",
        "retryable": True,
        "correlationId": "c1",
        "retryNotBefore": 1_000_030_000,
        "agentGuidance": "Buy more",
    }


@pytest.mark.parametrize(
    ("code", "category", "kind", "word"),
    [
        ("internal", "transient", "reliability", "internal"),
        ("internal", "permanent", "capability", "internal"),
        ("internal", "unknown", "capability", "internal"),
        ("invalid_arguments", "validation", "capability", "invalid_arguments"),
        ("permission_denied", "auth", "governance", "permission_denied"),
        ("network_blocked", "permanent", "governance", "policy_blocked"),
        ("network_blocked", "transient", "governance", "policy_blocked"),
    ],
)
def test_classes(code, category, kind, word):
    failure = failure_of(ToolFault(code, "m", category=category, retryable=True))

    assert (failure["class"], failure["code"]) == (kind, word)
    # The draft allows it for this class alone.
    assert failure["retryable"] is (kind == "reliability")


@pytest.mark.parametrize(
    ("given_id", "facts", "wanted"), [("c1", {"id": "f1"}, "c1"), (None, {"id": "f1"}, "f1"), (None, {"id": 3}, None)]
)
def test_the_correlation_id(given_id, facts, wanted):
    fault = ToolFault.of(QUOTA.envelope, facts=facts)

    ids = {failure_of(fault, correlation_id=given_id)["correlationId"] for _ in range(2)}

    assert ids == {wanted} or (wanted is None and len(ids) == 2 and all(map(str.isalnum, ids)))


@pytest.mark.parametrize("category", McpErrorCategory)
@pytest.mark.parametrize("code", McpErrorCode)
@pytest.mark.parametrize("retryable", [True, False])
def test_a_fault_comes_back_whole(code, category, retryable):
    fault = ToolFault(code, "m", category=category, retryable=retryable, causes=["first"], outcome="not_executed")
    fault.facts["id"] = "f1"

    back = decode(encode(fault))

    assert (back.envelope, back.outcome, back.facts["id"], back.found_in) == (
        fault.envelope,
        "not_executed",
        "f1",
        "tool_failure",
    )


@pytest.mark.parametrize("code", McpErrorCode)
def test_the_code_comes_back_from_the_object_alone(code):
    (envelope, failure_id) = failure_in(failure_of(ToolFault(code, "m"), correlation_id="c1"), ["said"])

    assert (envelope.code, envelope.message, failure_id) == (code, "said", "c1")


def test_the_envelope_beside_it_must_say_the_same():
    meta = encode(QUOTA, clock=clock)
    meta[META_KEY]["error"]["code"] = "permission_denied"

    back = decode(meta, ["said"], clock=clock)

    assert (back.code, back.envelope.message, back.envelope.retry_after_seconds) == ("quota_exceeded", "said", 30)


@pytest.mark.parametrize(
    ("not_before", "seconds"),
    [
        (1_000_030_000, 30),
        (1_000_030_001, 31),
        (1_000_000_000.5, 1),
        (1_000_000_000, 0),
        (999_000_000, 0),
        (True, None),
        ("1000030000", None),
        (None, None),
        (float("nan"), None),
        (float("inf"), None),
        (10**400, None),
        (-(10**400), 0),
    ],
)
def test_moments(not_before, seconds):
    fault = decode(alone(**{"class": "reliability", "code": "x", "retryNotBefore": not_before}), clock=clock)

    assert fault.envelope.retry_after_seconds == seconds


@pytest.mark.parametrize(
    ("failure", "code", "category", "retryable"),
    [
        ({"class": "reliability", "code": "RATE_LIMITED", "retryable": True}, "quota_exceeded", "transient", True),
        ({"class": "capability", "code": "bad_request", "retryable": True}, "invalid_arguments", "validation", False),
        ({"class": "governance", "code": "policy_blocked"}, "network_blocked", "permanent", False),
        ({"class": "governance", "code": "acme.no_seat"}, "unknown", "auth", False),
        ({"class": "capability", "code": "internal"}, "internal", "permanent", False),
        ({"class": "reliability", "code": "internal", "retryable": "true"}, "internal", "transient", True),
    ],
)
def test_words_of_others(failure, code, category, retryable):
    envelope = decode(alone(**failure)).envelope

    assert (envelope.code, envelope.category, envelope.retryable) == (code, category, retryable)


@pytest.mark.parametrize(
    "meta",
    [None, {}, [], alone(), alone(**{"class": "x", "code": "y"}), alone(code="y"), alone(**{"class": [], "code": "y"})]
    + [{TOOL_FAILURE_KEY: "x"}, {META_KEY: encode(QUOTA)[META_KEY]}],
)
def test_what_is_none(meta):
    assert decode(meta) is None


def test_a_result_with_it_is_parsed():
    meta = {**encode(QUOTA)}
    del meta[META_KEY]

    fault = parse({"isError": True, "content": [{"type": "text", "text": "said"}], "_meta": meta})

    assert (fault.code, fault.envelope.message, fault.found_in) == ("quota_exceeded", "said", "tool_failure")


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.lists(st.text(), max_size=2)
NAMES = st.sampled_from(
    ["code", "class", "retryable", "retryNotBefore", "correlationId", "agentGuidance", "error", "id"]
)
OBJECTS = st.dictionaries(NAMES, VALUES | st.sampled_from(["reliability", "governance", "capability"]), max_size=8)


@given(
    st.dictionaries(st.sampled_from([TOOL_FAILURE_KEY, META_KEY]), OBJECTS | VALUES), st.lists(st.text(), max_size=2)
)
def test_no_payload_raises_out_of_the_reader(meta, texts):
    fault = decode(meta, texts, clock=clock)

    if fault is not None:
        assert fault.envelope.message
        json.dumps(encode(fault, clock=clock), allow_nan=False)
