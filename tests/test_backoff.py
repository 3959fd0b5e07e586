"""
How long to wait is arithmetic: tables, and what holds for all numbers.
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfault._envelope import MAX_RETRY_AFTER_SECONDS
from toolfault._retry.backoff import add_jitter, window
from toolfault._retry_after import parse_seconds


SECONDS = st.floats(min_value=0, max_value=1e6)
SHARE = st.floats(min_value=0, max_value=1)


@pytest.mark.parametrize(
    ("number", "longest"),
    [
        pytest.param(1, 0.5, id="the first is the initial one"),
        pytest.param(2, 1.0, id="it doubles"),
        pytest.param(5, 8.0, id="with each attempt"),
        pytest.param(7, 20.0, id="up to the cap"),
        pytest.param(10**9, 20.0, id="whatever the number"),
    ],
)
def test_the_window_doubles_up_to_a_cap(number, longest):
    assert longest == window(number, initial=0.5, maximum=20.0)


def test_a_window_of_nothing_stays_nothing():
    assert window(10**6, initial=0.0, maximum=20.0) == 0.0


@pytest.mark.parametrize(
    ("longest", "jitter", "chance", "at_least", "wait"),
    [
        pytest.param(8, 1.0, 0.0, 0, 0.0, id="full jitter may not wait at all"),
        pytest.param(8, 1.0, 0.25, 0, 2.0, id="or a part of the window"),
        pytest.param(8, 1.0, 1.0, 0, 8.0, id="or all of it"),
        pytest.param(8, 0.0, 0.7, 0, 8.0, id="without jitter chance has no say"),
        pytest.param(8, 0.5, 0.5, 0, 6.0, id="with half of it the other half is sure"),
        pytest.param(8, 1.0, 0.0, 7, 7.0, id="the server's delay is a minimum"),
        pytest.param(8, 1.0, 0.25, 7, 9.0, id="and jitter goes on top"),
        pytest.param(8, 0.0, 0.0, 3, 8.0, id="the longer of both counts"),
        pytest.param(8, 1.0, -3.0, 7, 7.0, id="a broken source of chance waits no less"),
        pytest.param(8, 1.0, 99.0, 7, 15.0, id="nor more"),
    ],
)
def test_a_wait(longest, jitter, chance, at_least, wait):
    assert wait == add_jitter(longest, jitter=jitter, chance=chance, at_least=at_least)


@given(longest=SECONDS, jitter=SHARE, chance=st.floats(allow_nan=False), at_least=SECONDS)
def test_a_wait_is_never_under_the_servers_delay_nor_over_both_together(longest, jitter, chance, at_least):
    wait = add_jitter(longest, jitter=jitter, chance=chance, at_least=at_least)

    assert at_least <= wait
    assert wait <= max(at_least, longest) + longest or math.isclose(wait, at_least + longest)


@pytest.mark.parametrize(
    ("claim", "per_second", "seconds"),
    [
        pytest.param(30, 1, 30, id="a number"),
        pytest.param(0, 1, 0, id="none at all"),
        pytest.param(0.2, 1, 1, id="rounded up"),
        pytest.param("30", 1, 30, id="digits"),
        pytest.param(" 1.5 ", 1, 2, id="digits with a point"),
        pytest.param(1, 1000, 1, id="a millisecond is no zero"),
        pytest.param(30_000, 1000, 30, id="milliseconds"),
        pytest.param("1500", 1000, 2, id="milliseconds as digits"),
        pytest.param(MAX_RETRY_AFTER_SECONDS, 1, MAX_RETRY_AFTER_SECONDS, id="the longest"),
        pytest.param(MAX_RETRY_AFTER_SECONDS + 1, 1, None, id="too long"),
        pytest.param(-1, 1, None, id="negative"),
        pytest.param("-1", 1, None, id="negative digits"),
        pytest.param(True, 1, None, id="a bool"),
        pytest.param(math.nan, 1, None, id="no number"),
        pytest.param(math.inf, 1, None, id="infinity"),
        pytest.param("inf", 1, None, id="infinity in words"),
        pytest.param("1e3", 1, None, id="an exponent"),
        pytest.param("1_000", 1, None, id="Python's own spelling"),
        pytest.param("\u0663", 1, None, id="digits of another script"),
        pytest.param("²", 1, None, id="a superscript"),
        pytest.param("soon", 1, None, id="a word"),
        pytest.param(".", 1, None, id="a point"),
        pytest.param("", 1, None, id="nothing"),
        pytest.param("9" * 5000, 1, None, id="endless digits"),
        pytest.param([30], 1, None, id="a list"),
        pytest.param(None, 1, None, id="null"),
    ],
)
def test_a_peers_delay(claim, per_second, seconds):
    assert seconds == parse_seconds(claim, per_second=per_second, exact=True)


@given(st.integers() | st.floats() | st.text() | st.booleans() | st.none() | st.binary())
def test_any_claim_becomes_sound_seconds_or_nothing(claim):
    seconds = parse_seconds(claim)

    assert seconds is None or (type(seconds) is int and 0 <= seconds <= MAX_RETRY_AFTER_SECONDS)
