"""
The author's file of calls: what it gives, and what its errors say.
"""

import pytest

from toolfault.check._calls import CallsError, load_calls, parse_calls
from toolfault.check._model import Expected, Kind
from toolfault.check._upstream import WAIT


def test_each_entry_is_a_call_in_the_order_of_the_file():
    found = parse_calls(
        """
        [[call]]
        tool = "read_file"
        arguments = { path = "/nowhere", options = { lines = [1, 2.5, true] } }
        code = "invalid_arguments"
        retryable = false

        [[call]]
        tool = "search"
        arguments = {}
        upstream = "429"

        [[call]]
        tool = "search"
        arguments = {}
        """,
        "calls.toml",
    )

    assert [one.id for one in found] == ["call:1", "call:2", "call:3"]
    assert {one.kind for one in found} == {Kind.AUTHOR}
    assert [one.tool for one in found] == ["read_file", "search", "search"]
    assert found[0].params == {
        "name": "read_file",
        "arguments": {"path": "/nowhere", "options": {"lines": [1, 2.5, True]}},
    }
    assert found[0].expected == Expected(frozenset({"invalid_arguments"}), is_transient=False)
    assert (found[1].upstream, found[1].group) == ("429", "upstream 429")
    assert found[2].expected == Expected()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", Expected(frozenset({"quota_exceeded"}), is_transient=True, wait=WAIT)),
        ('code = "internal"', Expected(frozenset({"internal"}), is_transient=True, wait=WAIT)),
        ("retryable = false", Expected(frozenset({"quota_exceeded"}), is_transient=False)),
        ("retryable = true", Expected(frozenset({"quota_exceeded"}), is_transient=True, wait=WAIT)),
    ],
)
def test_what_the_author_says_outweighs_what_is_known_of_the_upstream(said, expected):
    (found,) = parse_calls(f'[[call]]\ntool = "a"\narguments = {{}}\nupstream = "429"\n{said}', "calls.toml")

    assert found.expected == expected


CALL = '[[call]]\ntool = "a"\narguments = {}\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "calls.toml has no [[call]]; write [[call]] above the tool and arguments of each"),
        ("call = []", "calls.toml has no [[call]]"),
        ('[call]\ntool = "a"', "calls.toml has no [[call]]"),
        ("[[calls]]", "unknown key 'calls'; did you mean 'call'?"),
        ("[[call]\n", "calls.toml is not valid TOML: "),
        ("call = [1]", "call 1 is not a table; write it under [[call]]"),
        ("[[call]]\narguments = {}", "call 1: tool is missing; write the tool's name as a string"),
        ('[[call]]\ntool = "a"', "call 1: arguments is missing; write a table, { } if the tool takes none"),
        ("[[call]]\ntool = 7\narguments = {}", "call 1: tool can't be 7; write the tool's name"),
        ('[[call]]\ntool = " "\narguments = {}', "call 1: tool can't be ' '"),
        ('[[call]]\ntool = "a"\narguments = []', "call 1: arguments can't be []; write a table"),
        (f"{CALL}argument = 1", "call 1: unknown key 'argument'; did you mean 'arguments'?"),
        (f"{CALL}retriable = true", "call 1: unknown key 'retriable'; did you mean 'retryable'?"),
        (f"{CALL}zzz = 1", "call 1: unknown key 'zzz'; known: tool, arguments, code, retryable, upstream"),
        (f'{CALL}code = "quota_exeeded"', "call 1: code can't be 'quota_exeeded'; did you mean 'quota_exceeded'?"),
        (f'{CALL}code = "unknown"', "call 1: code can't be 'unknown'"),
        (f"{CALL}code = [1]", "call 1: code can't be [1]; write one of tool_not_found, "),
        (f'{CALL}retryable = "yes"', "call 1: retryable can't be 'yes'; write true or false"),
        (f"{CALL}upstream = 429", "call 1: upstream can't be 429; write one of 401, 403, 429"),
        (f'{CALL}upstream = "silent"', "call 1: upstream can't be 'silent'; did you mean 'silence'?"),
        (f'{CALL}\n[[call]]\ntool = "b"', "calls.toml, call 2: arguments is missing"),
        (
            '[[call]]\ntool = "a"\narguments = { since = [2026-01-01] }',
            "call 1: arguments.since[0] is a date or time, which JSON does not have; write it as a string",
        ),
        ('[[call]]\ntool = "a"\narguments = { at = 10:00:00 }', "call 1: arguments.at is a date or time"),
        ('[[call]]\ntool = "a"\narguments = { n = inf }', "call 1: arguments.n is inf, which JSON does not have"),
        ('[[call]]\ntool = "a"\narguments = { n = nan }', "call 1: arguments.n is nan, which JSON does not have"),
        (
            f'[[call]]\ntool = "a"\narguments = {{ n = {"[" * 70}{"]" * 70} }}',
            "is nested more than 64 deep; write a flatter value",
        ),
        (f"x = {'[' * 5000}{']' * 5000}", "calls.toml is not valid TOML: "),
    ],
)
def test_a_wrong_entry_is_an_error_that_names_the_cure(text, says):
    with pytest.raises(CallsError) as raised:
        parse_calls(text, "calls.toml")

    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [(None, "can't be read: No such file or directory"), (b"\xff", "is not UTF-8; save it as UTF-8")],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, data, says):
    path = tmp_path / "calls.toml"
    if data is not None:
        path.write_bytes(data)

    with pytest.raises(CallsError) as raised:
        load_calls(path)

    assert str(raised.value) == f"{path} {says}"


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "calls.toml"
    path.write_bytes(b"\xef\xbb\xbf" + CALL.encode())

    assert len(load_calls(path)) == 1
