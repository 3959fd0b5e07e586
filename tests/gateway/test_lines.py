"""
Lines on stdio: cut in linear work, parsed leniently, written strictly.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfault.gateway._calls import key_of
from toolfault.gateway._lines import LineSplitter, find_id, parse_line, write_line


@given(st.binary(max_size=200), st.lists(st.integers(1, 40), max_size=20))
def test_lines_do_not_depend_on_the_chunks(data, sizes):
    splitter = LineSplitter(1000)
    lines, rest = [], data
    for size in sizes:
        lines += splitter.feed(rest[:size])
        rest = rest[size:]
    lines += splitter.feed(rest)
    last = splitter.rest()

    assert all(line.data.endswith(b"\n") and line.data.count(b"\n") == 1 for line in lines)
    joined = b"".join(line.data for line in lines)
    assert joined + (last.data[:-1] if last else b"") == data


def test_a_line_that_is_too_long_keeps_its_beginning_only():
    splitter = LineSplitter(10_000)
    lines = []
    for chunk in (b"a" * 9_000, b"b" * 9_000, b"c\nnext\n"):
        lines += splitter.feed(chunk)

    assert [(len(line.data), line.is_whole) for line in lines] == [(4096, False), (5, True)]


class Counted(bytes):
    """
    Bytes that count how many of them are searched.
    """

    searched = 0

    def find(self, *arguments):
        Counted.searched += len(self) - (arguments[1] if len(arguments) > 1 else 0)
        return super().find(*arguments)


def test_the_work_is_linear_in_the_bytes():
    splitter = LineSplitter(10**9)
    for _ in range(1000):
        assert list(splitter.feed(Counted(b"x" * 1000))) == []

    assert Counted.searched == 1_000_000


@pytest.mark.parametrize(
    ("data", "value", "is_repaired"),
    [
        (b'{"a":1}\n', {"a": 1}, False),
        (b'{"a":1}\r\n', {"a": 1}, False),
        (b' {"a":1e400, "a":2}\n', {"a": 2}, False),
        (b'\xef\xbb\xbf{"a":1}\n', {"a": 1}, True),
        (b'{"a":"\xe9"}\n', {"a": "\ufffd"}, True),
        (b'{"a":NaN,"b":-Infinity}\n', {"a": None, "b": None}, True),
        (b'{"a":"x\ty"}\n', {"a": "x\ty"}, True),
        (b'{"a":' + b"9" * 5000 + b"}\n", {"a": float("inf")}, True),
    ],
)
def test_a_line_is_repaired_where_strict_parsers_refuse_it(data, value, is_repaired):
    parsed = parse_line(data)

    assert (parsed.messages, parsed.is_batch, parsed.is_repaired) == ([value], False, is_repaired)


@pytest.mark.parametrize("data", [b"\n", b"Loading...\n", b"5\n", b'"x"\n', b'{"a":\n', b"\xff\n", b"null\n"])
def test_what_is_no_object_or_array_is_no_message(data):
    assert parse_line(data) is None


def test_a_batch_is_several_messages():
    parsed = parse_line(b'[{"a":1},{"b":2}]\n')

    assert (parsed.messages, parsed.is_batch) == ([{"a": 1}, {"b": 2}], True)


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{', 7),
        (b'{"jsonrpc": "2.0", "id" : "a b" , "result": {', "a b"),
        (b'{"jsonrpc":"2.0","result":{"id":7,', None),
        (b'{"jsonrpc":"2.0","id":null,"result":{', None),
        (b'{"id":"' + b"x" * 5000, None),
        (b"", None),
    ],
)
def test_the_id_of_an_unread_line_is_found_in_front_of_its_payload(head, found):
    assert find_id(head) == found


@given(
    st.recursive(
        st.none() | st.floats() | st.integers() | st.text(st.characters()),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_is_written_is_one_line_of_strict_json(value):
    line = write_line({"v": value})

    assert line.isascii()
    assert line.count(b"\n") == 1
    json.dumps(json.loads(line, parse_constant=pytest.fail), ensure_ascii=False).encode()


def test_ids_differ_by_their_json_text():
    assert len({key_of(value) for value in (1, "1", 1.0, True, "true")}) == 5
