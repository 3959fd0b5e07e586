"""
The envelope as a value, and the faults that carry it.
"""

import copy
import json
import math
import pickle
import subprocess
import sys
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfault import InvalidEnvelope, McpErrorCategory, McpErrorCode, McpExecuteError, ToolFault, parse
from toolfault._codes import DEFAULTS
from toolfault._envelope import MAX_RETRY_AFTER_SECONDS, whole_seconds
from toolfault._prose.everruns import exact
from toolfault.dialects import a2c_smcp


ENVELOPES = st.builds(
    McpExecuteError,
    code=st.sampled_from(McpErrorCode),
    message=st.text(),
    category=st.sampled_from(McpErrorCategory),
    retryable=st.booleans(),
    retry_after_seconds=st.none() | st.integers(0, MAX_RETRY_AFTER_SECONDS),
    hint=st.none() | st.text(),
    cause_chain=st.lists(st.text()).map(tuple),
)


@given(ENVELOPES)
def test_what_is_written_is_read_back(envelope):
    wire = envelope.to_wire()

    assert McpExecuteError.from_wire(wire) == envelope
    assert McpExecuteError.from_json(json.dumps(wire)) == envelope
    assert list(wire) == [name for name in McpExecuteError.model_fields if name in wire]


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_the_decoder_refuses_or_decodes(obj):
    try:
        McpExecuteError.from_wire(obj)
    except InvalidEnvelope as exc:
        assert str(exc)


@pytest.mark.parametrize(
    ("wait", "seconds"),
    [(0, 0), (1, 1), (0.1, 1), (1.0, 1), (29.000001, 30), (timedelta(milliseconds=1), 1), (timedelta(minutes=2), 120)]
    + [(MAX_RETRY_AFTER_SECONDS, MAX_RETRY_AFTER_SECONDS)],
)
def test_waits_round_up(wait, seconds):
    assert whole_seconds(wait) == seconds
    assert McpExecuteError.new("internal", "m").with_retry_after_seconds(wait).retry_after_seconds == seconds
    assert ToolFault("internal", "m", retry_after_seconds=wait).envelope.retry_after_seconds == seconds


@pytest.mark.parametrize("wait", [True, False, -1, -0.1, math.nan, math.inf, "30", 2**32, timedelta(seconds=-1)])
def test_what_is_no_wait_is_refused(wait):
    for take in (whole_seconds, McpExecuteError.new("internal", "m").with_retry_after_seconds):
        with pytest.raises(ValueError, match="retry_after_seconds"):
            take(wait)
    with pytest.raises(ValueError, match="retry_after_seconds"):
        ToolFault("internal", "m", retry_after_seconds=wait)


@pytest.mark.parametrize("code", ["quota_exeeded", "QUOTA_EXCEEDED", "", None, 3, ["internal"]])
def test_a_typo_in_a_code_is_an_error_that_names_the_codes(code):
    for make in (McpExecuteError.new, ToolFault):
        with pytest.raises(ValueError, match="quota_exceeded"):
            make(code, "m")


def test_a_typo_in_a_category_is_an_error():
    with pytest.raises(ValueError, match="transient"):
        ToolFault("internal", "m", category="transcient")
    with pytest.raises(ValueError, match="transient"):
        McpExecuteError.new("internal", "m").with_category("transcient")
    with pytest.raises(ValueError, match="retryable"):
        ToolFault("internal", "m", retryable="false")
    with pytest.raises(ValueError, match="retryable"):
        McpExecuteError.new("internal", "m").with_retryable("false")
    with pytest.raises(ValueError, match="outcome"):
        ToolFault("internal", "m", outcome="maybe")
    with pytest.raises(ValueError, match="causes"):
        ToolFault("internal", "m", causes="one text")


def test_envelopes_are_frozen_and_changed_by_copy():
    envelope = McpExecuteError.new("internal", "m")
    changed = envelope.with_hint("h").with_cause("a").with_cause("b").with_retryable(True).with_category("auth")

    assert envelope == McpExecuteError.new("internal", "m")
    assert changed.cause_chain == ("a", "b")
    assert (changed.hint, changed.retryable, changed.category) == ("h", True, McpErrorCategory.AUTH)
    with pytest.raises(ValueError, match="frozen"):
        envelope.message = "n"


def test_the_json_schema_names_the_four_required_members():
    schema = McpExecuteError.model_json_schema()

    assert schema["required"] == ["code", "message", "category", "retryable"]
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("code", McpErrorCode)
def test_a_fault_takes_its_code_s_defaults(code):
    fault = ToolFault(code, "m")

    assert (fault.envelope.category, fault.envelope.retryable) == DEFAULTS[code]
    assert fault.code is code


class OutOfStock(ToolFault):
    """
    A subclass that fixes the code.
    """

    code = McpErrorCode.INVALID_ARGUMENTS


class Article(OutOfStock):
    """
    A subclass with a constructor of its own.
    """

    def __init__(self, number):
        super().__init__(f"No more of article {number}", hint="Try another")
        self.number = number


FAULTS = [
    ToolFault(
        "quota_exceeded", "used up", retry_after_seconds=3, hint="wait", causes=["a", "b"], outcome="not_executed"
    ),
    OutOfStock("No more of article 12", hint="Try 13"),
    Article(12),
    ToolFault.of(McpExecuteError.new("internal", "m"), facts={"id": "x"}, received={"code": "new"}, found_in="text"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda fault: pickle.loads(pickle.dumps(fault))])
def test_faults_copy_and_pickle(fault, again):
    other = again(fault)

    assert type(other) is type(fault)
    assert (str(other), repr(other), other.args) == (str(fault), repr(fault), fault.args)
    assert vars(other) == vars(fault)


def test_faults_print_what_differs_from_the_defaults():
    assert str(FAULTS[0]) == "used up"
    assert repr(ToolFault("internal", "m")) == "ToolFault('internal', 'm')"
    assert repr(ToolFault("internal", "m", retryable=True)) == "ToolFault('internal', 'm', retryable=True)"
    assert repr(FAULTS[2]) == "Article('invalid_arguments', 'No more of article 12', hint='Try another')"


def test_a_class_with_a_code_takes_the_message_alone():
    with pytest.raises(TypeError, match=r"OutOfStock takes \(message\)"):
        OutOfStock("internal", "m")
    with pytest.raises(TypeError, match=r"ToolFault takes \(code, message\)"):
        ToolFault("m")


def test_a_message_that_is_no_text_is_rendered():
    assert "409" in ToolFault("internal", {"status": 409}).envelope.message


@pytest.mark.parametrize(
    "make",
    [
        "ToolFault('internal', 'Lost').envelope",
        "McpExecuteError.new('internal', 'Lost')",
        "pickle.loads(PICKLED)",
        "McpExecuteError.model_construct(code='internal', message='Lost', category='permanent', retryable=False)",
    ],
)
def test_the_first_envelope_of_a_process_is_one_for_any_serializer(make):
    code = f"""
import pickle, pydantic_core
from toolfault import McpExecuteError, ToolFault
PICKLED = {pickle.dumps(McpExecuteError.new("internal", "Lost"))!r}
print(pydantic_core.to_json({{"error": {make}}}, exclude_none=True).decode())
"""

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert '{"code":"internal","message":"Lost"' in said


def test_threads_may_make_the_first_envelopes_of_a_process_together():
    code = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from toolfault import McpExecuteError
sys.setswitchinterval(1e-6)
together = Barrier(8)
def validated(number):
    together.wait()
    said = {"code": "internal", "message": "Lost", "category": "permanent", "retryable": False}
    return McpExecuteError.new("internal", "Lost") if number % 2 else McpExecuteError.model_validate(said)
with ThreadPoolExecutor(8) as threads:
    print(len(set(threads.map(validated, range(8)))))
"""

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said == "1\n"


# ---- JSON text, and the later revision

LEAST = '"code": "internal", "message": "m", "category": "permanent", "retryable": false'


@pytest.mark.parametrize(
    "ignored",
    [
        '"x": {"a": 1, "a": 2}',
        '"x": 1, "x": 2',
        '"x": [{"code": 1, "code": 2}]',
        '"x": ' + "[" * 100_000 + "]" * 100_000,
        '"x": ' + '{"a":' * 50_000 + "1" + "}" * 50_000,
        '"x": "' + "[" * 10 + '", "y": ' + '["\\"[",' * 5000 + "1" + "]" * 5000,
    ],
    ids=["an object", "twice", "in a list", "deep arrays", "deep objects", "brackets in texts"],
)
@pytest.mark.parametrize("spell", [str, str.encode])
def test_ignored_members_may_be_anything(ignored, spell):
    envelope = McpExecuteError.from_json(spell(f"{{{LEAST}, {ignored}}}"))

    assert envelope == McpExecuteError.new("internal", "m")


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "}" * 100_000, "[" * 100_000 + "]" * 100_001])
def test_brackets_that_do_not_match_are_no_json(text):
    with pytest.raises(ValueError, match=r"closes nothing|is missing|Extra data"):
        McpExecuteError.from_json(text)


def test_a_member_of_the_contract_must_not_repeat():
    with pytest.raises(InvalidEnvelope, match="duplicate field: message"):
        McpExecuteError.from_json(f'{{{LEAST}, "x": 1, "x": 2, "message": "n"}}')


@pytest.mark.parametrize(
    ("revision", "code"), [("0.36", McpErrorCode.UNKNOWN), ("0.48", McpErrorCode.PERMISSION_DENIED)]
)
def test_the_eleventh_code_of_the_later_revision(revision, code):
    wire = {"code": "insufficient_scope", "message": "m", "category": "auth", "retryable": False}

    for envelope in (
        McpExecuteError.from_wire(wire, revision=revision),
        McpExecuteError.from_json(json.dumps(wire), revision=revision),
    ):
        assert (envelope.code, envelope.category, envelope.retryable) == (code, "auth", False)
    assert McpExecuteError.from_wire(wire).code is McpErrorCode.UNKNOWN


@pytest.mark.parametrize(
    ("text", "early", "late"),
    [
        ("insufficient_scope: repo", "internal", "permission_denied"),
        ("INSUFFICIENT_SCOPE: timed out", "tool_timeout", "permission_denied"),
        ("forbidden: insufficient_scope", "permission_denied", "permission_denied"),
        ("internal: insufficient_scope:", "internal", "internal"),
    ],
)
def test_the_prefix_of_the_later_revision(text, early, late):
    assert (exact(text), exact(text, "0.36"), exact(text, "0.48")) == (early, early, late)


def test_the_later_code_is_parsed_and_kept_as_it_came():
    wire = {"code": "insufficient_scope", "message": "m", "category": "auth", "retryable": False}

    fault = parse({"isError": True, "content": [], "structuredContent": wire})

    assert (fault.code, fault.envelope.category) == (McpErrorCode.PERMISSION_DENIED, "auth")
    assert fault.received == wire
    assert a2c_smcp.decode(a2c_smcp.encode(fault)).code is McpErrorCode.PERMISSION_DENIED


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ud83d\ude00"])
def test_a_lone_surrogate_is_written_as_json(text):
    envelope = McpExecuteError.new("internal", text).with_hint(text).with_cause(text)

    written = json.loads(envelope.model_dump_json())

    assert written["message"] == written["hint"] == written["cause_chain"][0]
    assert written["message"].encode()
    assert envelope.model_dump()["message"] == text
