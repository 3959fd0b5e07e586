"""
Values of JSON are redacted by what they are and by their names.
"""

import json

import pytest

from toolfault import Disclosure, Guard, ToolFault
from toolfault._bridge_record import MAX_RECORD, Record, sanitize_record
from toolfault._redact import Redactor
from toolfault._redact.values import redacting_copier
from toolfault.hosting import Call


GONE = "[redacted]"

#: A value, and what is left of it.
SECRET = [
    ({"pin": 1234}, {"pin": GONE}),
    ({"cvv": 123}, {"cvv": GONE}),
    ({"otp": 123456}, {"otp": GONE}),
    ({"otp": "123456"}, {"otp": GONE}),
    ({"password": 12345678}, {"password": GONE}),
    ({"password": 123456.5}, {"password": GONE}),
    ({"card": {"pin": 1234}}, {"card": {"pin": GONE}}),
    ({"pin": [1234, 5678]}, {"pin": [GONE, GONE]}),
    ({"name": "DB_PASSWORD", "value": "hunter2x"}, {"name": "DB_PASSWORD", "value": GONE}),
    ({"value": "hunter2x", "name": "DB_PASSWORD"}, {"value": GONE, "name": "DB_PASSWORD"}),
    ({"key": "pin", "value": 1234}, {"key": "pin", "value": GONE}),
    ({"Name": "DB_PASSWORD", "Value": "hunter2x"}, {"Name": "DB_PASSWORD", "Value": GONE}),
    ([{"header": "x-api-key", "value": "abcdefgh"}], [{"header": "x-api-key", "value": GONE}]),
    ([["x-api-key", "abcdefgh"], ["a", "b"]], [["x-api-key", GONE], ["a", "b"]]),
    ([("pin", 1234)], [["pin", GONE]]),
    ({"env": [["pin", 1234]]}, {"env": [["pin", GONE]]}),
]

HARMLESS = [
    {"code": 404, "status_code": 404, "errno": 2},
    {"max_tokens": 4096, "tokens": 1200, "token_limit": 4096, "completion_tokens": 3.5},
    {"password_length": 128, "auth_attempts": 300, "secrets_found": 0, "passed": 1200},
    {"pin": 1, "api_key": 1, "secret": 0, "password": True, "token": None},
    {"sessions": 4000, "keys": 300, "author": 12345, "shipping": 3300, "zipcode": 12345},
    {"name": "size", "value": 1200},
    {"name": "token", "value": "required"},
    {"name": "DB_PASSWORD", "size": 1200},
    {"name": 7, "value": 1200},
    {"loc": ["password", "length"]},
    [["body", "password"], ["body", "length"], ["token", "expired", "today"]],
]


def copy(value, **options):
    return redacting_copier(Redactor(environ={}, roots=[]).redact, **options).copy(value)


@pytest.mark.parametrize(("value", "left"), SECRET, ids=str)
def test_a_value_is_redacted_by_its_name(value, left):
    assert copy(value) == left


@pytest.mark.parametrize("value", HARMLESS, ids=str)
def test_counts_and_words_stay(value):
    assert copy(value) == value


@pytest.mark.parametrize("depth", range(1, 4))
def test_a_pair_is_copied_no_deeper_than_any_array(depth):
    copied, levels = copy([[["x", ["y", 1]]]], depth=depth), 0
    while isinstance(copied, list):
        copied, levels = copied[-1], levels + 1

    assert levels == depth


def fault_with(value):
    fault = ToolFault("internal", "no")
    fault.facts["context"] = value
    return fault


@pytest.mark.parametrize(("value", "left"), SECRET, ids=str)
def test_facts_are_redacted_by_their_names(value, left):
    result = Guard().to_result(Guard().judge(fault_with(value), Call(tool="pay")))

    assert result["_meta"]["io.github.toolfault/error"]["context"] == left


def test_full_disclosure_shows_facts():
    guard = Guard(disclosure=Disclosure.FULL)

    assert guard.judge(fault_with({"pin": 1234}), Call(tool="pay")).facts["context"] == {"pin": 1234}


@pytest.mark.parametrize(("value", "left"), [pair for pair in SECRET if isinstance(pair[0], dict)], ids=str)
def test_records_are_redacted_by_their_names(value, left):
    record = Record(system="a2c", code=5003, body=value).to_text()
    redactor = Redactor(environ={}, roots=[])

    text = sanitize_record(record, lambda text: redactor.scrub(text, MAX_RECORD))

    assert json.loads(text)["body"] == left
