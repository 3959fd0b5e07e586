"""
Hostile values in every member of every known form, for every reader: nothing raises, and a failure stays one.
"""

import logging
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import FORMS, HOSTILE, READERS, WRITERS, defect_of, paths_of, replaced, stays_failure
from toolfault import McpErrorCode, ToolFault, parse
from toolfault._read import parse as parse_module
from toolfault._text import safe_str


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_a_failure(form):
    assert parse(FORMS[form]) is not None


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("form", FORMS)
def test_hostile_values_in_each_member(form, reader, caplog):
    caplog.set_level(logging.ERROR, "toolfault")
    defects = {
        (path, safe_str(value)[:60]): defect
        for path in paths_of(FORMS[form])
        for value in HOSTILE
        if (defect := defect_of(reader, replaced(FORMS[form], path, value), failure=stays_failure(path), few=True))
    }

    assert {} == defects
    # What the readers catch of themselves they log.
    assert caplog.text == ""


# Hypothesis writes out its values, and Python no longer numbers.
NUMBERS = st.integers() | st.floats() | st.sampled_from([429, -32602, 10**400, 10**4000])
TEXTS = st.text(st.characters(), max_size=30) | st.sampled_from(["\ud800", "\x00", "Error: timed out"])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.just("@type"), inner, max_size=3),
    max_leaves=8,
)
PLACES = [(form, path) for form, answer in FORMS.items() for path in paths_of(answer)]


@given(st.sampled_from(PLACES), st.sampled_from(list(READERS)), VALUES)
def test_any_value_in_any_member(place, reader, value):
    form, path = place

    assert defect_of(reader, replaced(FORMS[form], path, value), failure=stays_failure(path)) == ""


# ---- whatever the reader trips over


class Trip(Exception):
    """
    A bug in a reader.
    """


def trip(*_args, **_kwargs):
    raise Trip


SAY_ERROR = [
    *FORMS.values(),
    {"isError": "true"},
    {"status": 503},
    {"statusCode": 404, "x": 1},
    {"error": []},
    {"jsonrpc": "2.0", "id": 1, "result": {"is_error": True}},
    '{"isError": true}',
    RuntimeError("no"),
]
SAY_NONE = [
    {"isError": False, "content": []},
    {"code": 200, "message": "ok"},
    {"status": 200},
    {"result": {"content": []}},
    {},
    None,
    "Error: said the file",
    KeyboardInterrupt(),
]


@pytest.mark.parametrize(("answers", "failure"), [(SAY_ERROR, True), (SAY_NONE, False)])
def test_what_says_error_is_a_failure_though_its_reader_breaks(answers, failure, monkeypatch, caplog):
    monkeypatch.setattr(parse_module, "_parse", trip)

    for answer in answers:
        fault = parse(answer)
        assert (fault is not None) == failure, answer
        assert fault is None or fault.code is McpErrorCode.UNKNOWN
    assert "could not be read" in caplog.text


# ---- the work that an answer costs


def work_of(read, answer):
    """
    How many functions are called while an answer is read; the same on every machine.
    """
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        read(answer)
    finally:
        sys.setprofile(None)
    return calls


def nested(depth, leaf):
    for _ in range(depth):
        leaf = [leaf] * 32
    return leaf


def violations(value):
    from toolfault._names import META_KEY  # noqa: PLC0415 -- only here

    facts = {"violations": value}
    return {"isError": True, "content": [], "_meta": {META_KEY: facts}}


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(violations(nested(3, "text" * 2000)), id="violations of violations"),
        pytest.param(violations([{"k" * 5000 + str(n): "v" for n in range(1000)}] * 1000), id="names of violations"),
        pytest.param({"isError": True, "content": nested(3, {"type": "text", "text": "no"})}, id="content"),
        pytest.param({"isError": True, "structuredContent": {"error": nested(3, {"error": "no"})}}, id="errors"),
        pytest.param({"code": -32603, "message": "m", "data": nested(3, {"@type": "t"})}, id="details"),
    ],
)
def test_the_work_does_not_depend_on_what_arrives(answer):
    parse(FORMS["envelope"])  # what is loaded once

    assert work_of(parse, answer) < 30_000


def test_a_fault_that_was_read_can_be_written_everywhere():
    fault = parse(FORMS["envelope"])

    assert all(write(fault) for write in WRITERS.values())
    assert isinstance(fault, ToolFault)
