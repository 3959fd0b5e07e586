"""
Cutting bytes into server-sent events.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfault.gateway._sse import Event, EventSplitter


def split(data, size=None, limit=1000):
    splitter = EventSplitter(limit)
    step = size or len(data) or 1
    events = [event for at in range(0, len(data), step) for event in splitter.feed(data[at : at + step])]
    return events, splitter.rest()


CASES = [
    (b"data: a\n\n", [(b"a", "message", None, None)]),
    (b"data:a\n\n", [(b"a", "message", None, None)]),
    (b"data:  a\n\n", [(b" a", "message", None, None)]),
    (b"data: a\r\n\r\n", [(b"a", "message", None, None)]),
    (b"data: a\r\rdata: b\r\r", [(b"a", "message", None, None), (b"b", "message", None, None)]),
    (b"\xef\xbb\xbfdata: a\n\n", [(b"a", "message", None, None)]),
    (b"data: a\ndata: b\n\n", [(b"a\nb", "message", None, None)]),
    (b"data\n\n", [(b"", "message", None, None)]),
    (b"id: 7\nretry: 200\ndata: \n\n", [(b"", "message", "7", 200)]),
    (b"event: ping\ndata: {}\n\n", [(b"{}", "ping", None, None)]),
    (b": keepalive\n\n", [(None, "message", None, None)]),
    (b"id: a\0b\nretry: soon\nretry: -1\nunknown: x\n\n", [(None, "message", None, None)]),
    (b"data: \xff\n\n", [(b"\xff", "message", None, None)]),
    (b"data: a", []),
    (b"data: a\n", []),
    (b"", []),
]


@pytest.mark.parametrize("size", [None, 1, 2, 3])
@pytest.mark.parametrize(("data", "expected"), CASES)
def test_a_stream_is_cut_into_events(data, expected, size):
    events, rest = split(data, size)

    assert [(event.data, event.name, event.id, event.retry) for event in events] == expected
    assert b"".join(event.raw for event in events) + rest == data


PIECES = st.sampled_from(
    [b"data: x", b"data:", b"\n", b"\r", b"\r\n", b"id: 1", b": c", b"event: e", b"\xef\xbb\xbf", b"retry: 5", b"z"]
)


@given(st.lists(PIECES, max_size=30).map(b"".join), st.integers(1, 7))
def test_any_chunking_gives_the_same_events(data, size):
    whole, _ = split(data)
    parts, rest = split(data, size)

    assert [(e.data, e.name, e.id, e.retry) for e in parts] == [(e.data, e.name, e.id, e.retry) for e in whole]
    assert b"".join(event.raw for event in parts) + rest == data


@given(st.binary(max_size=200), st.integers(1, 9))
def test_any_bytes_are_cut(data, size):
    events, rest = split(data, size)

    assert b"".join(event.raw for event in events) + rest == data


@pytest.mark.parametrize("size", [None, 1, 7])
def test_an_event_that_is_too_long_is_only_begun(size):
    events, _ = split(b"data: " + b"x" * 2000 + b"\n\ndata: a\n\n", size)

    assert [event.is_whole for event in events] == [False, True]
    assert len(events[0].raw) <= 4096
    assert events[1] == Event(b"data: a\n\n", b"a")


def test_an_event_ends_with_its_last_byte_whatever_the_line_break():
    for data in (b"data: a\n\n", b"data: a\r\n\r\n", b"data: a\r\r"):
        assert len(list(EventSplitter(100).feed(data))) == 1
        splitter = EventSplitter(100)
        assert [len(list(splitter.feed(data[at : at + 1]))) for at in range(len(data))].count(1) == 1


def test_the_memory_for_an_endless_line_is_bounded():
    splitter = EventSplitter(1000)
    for _ in range(1000):
        assert list(splitter.feed(b"x" * 1000)) == []

    assert len(splitter.rest()) <= 4096


@pytest.mark.parametrize(
    "stream", [b"data: x\r\n\r\n", b"data: x\r\r", b"data: x\n\n", b"id: 7\r\n\r\ndata: x\r\n\r\n"]
)
def test_a_whole_stream_stays_the_same_bytes_wherever_it_is_cut(stream):
    for cut in range(len(stream) + 1):
        splitter = EventSplitter(1000)
        events = [*splitter.feed(stream[:cut]), *splitter.feed(stream[cut:]), *splitter.end()]

        assert b"".join(event.raw for event in events) == stream, cut
        assert [event.data for event in events if event.data is not None] == [b"x"]


def test_an_event_that_a_server_does_not_end_is_one():
    splitter = EventSplitter(1000)

    assert [event.data for event in (*splitter.feed(b"data: x"), *splitter.end())] == [b"x"]
