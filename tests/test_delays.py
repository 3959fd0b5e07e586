"""
How long an upstream asks to wait.
"""

import email.message
import json
import math
from pathlib import Path

import httpx
import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolfault._retry_after import (
    MAX_DELAY_SECONDS,
    delay_from,
    duration_seconds,
    limit_is_reached,
    lower_headers,
    parse_seconds,
    wait_in_body,
    wait_in_json,
    wait_in_prose,
)


WAITS = json.loads((Path(__file__).parent / "data" / "waits.json").read_text())


#: Sunday, 6 November 1994, 08:49:37 GMT: the date of RFC 9110's examples.
NOW = 784111777.0
DATE = "Sun, 06 Nov 1994 08:49:37 GMT"


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({"retry-after": "30"}, 30, id="seconds"),
        pytest.param({"Retry-After": "0"}, 0, id="now"),
        pytest.param({"Retry-After": " 30 "}, 30, id="blanks around"),
        pytest.param({"Retry-After": "1.2"}, 2, id="a fraction, rounded up"),
        pytest.param({"Retry-After": "999999999"}, 999_999_999, id="the longest"),
        pytest.param({"Retry-After": "1000000000"}, 1_000_000_000 - int(NOW), id="from there on a point in time"),
        pytest.param({"Retry-After": "9999999999999"}, None, id="too many digits"),
        pytest.param({"Retry-After": "-1"}, None, id="negative"),
        pytest.param({"Retry-After": "+1"}, None, id="signed"),
        pytest.param({"Retry-After": "nan"}, None, id="no number"),
        pytest.param({"Retry-After": "inf"}, None, id="infinite"),
        pytest.param({"Retry-After": "1e3"}, None, id="an exponent"),
        pytest.param({"Retry-After": "0x10"}, None, id="hexadecimal"),
        pytest.param({"Retry-After": "1_0"}, None, id="as Python writes it"),
        pytest.param({"Retry-After": "٣٠"}, None, id="digits of another script"),
        pytest.param({"Retry-After": "５"}, None, id="wide digits"),
        pytest.param({"Retry-After": "5, 10"}, None, id="a list"),
        pytest.param({"Retry-After": "5 10"}, None, id="two numbers"),
        pytest.param({"Retry-After": "soon"}, None, id="a word"),
        pytest.param({"Retry-After": ""}, None, id="empty"),
        pytest.param({"Retry-After": None}, None, id="none"),
        pytest.param({"Retry-After": 30}, 30, id="a number, not text"),
        pytest.param({b"retry-after": b"30"}, 30, id="bytes"),
        pytest.param({"Retry-After": "Sun, 06 Nov 1994 08:50:07 GMT"}, 30, id="a date"),
        pytest.param({"Retry-After": "Sunday, 06-Nov-94 08:50:07 GMT"}, 30, id="a date of RFC 850"),
        pytest.param({"Retry-After": "Sun Nov  6 08:50:07 1994"}, 30, id="a date of asctime"),
        pytest.param({"Retry-After": "Sun, 06 Nov 1994 09:50:07 +0100"}, 30, id="a date with an offset"),
        pytest.param({"Retry-After": "Sun, 06 Nov 1994 08:49:07 GMT"}, 0, id="a date that has passed"),
        pytest.param({"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, None, id="a date that never comes"),
        pytest.param({"Retry-After": "Sun, 99 Nov 1994 08:50:07 GMT"}, None, id="no date"),
        pytest.param({"Retry-After": "Sun, 06 Nov 99999999999 08:50:07 GMT"}, None, id="a year beyond all"),
        pytest.param(
            {"Retry-After": "Sun, 06 Nov 1994 10:00:10 GMT", "Date": "Sun, 06 Nov 1994 10:00:00 GMT"},
            10,
            id="measured from the answer's own date",
        ),
        pytest.param(
            {"Retry-After": "Sun, 06 Nov 1994 08:50:07 GMT", "Date": "yesterday"}, 30, id="with an invalid date"
        ),
        pytest.param({"retry-after-ms": "1500"}, 2, id="milliseconds"),
        pytest.param({"x-ms-retry-after-ms": "1"}, 1, id="one millisecond"),
        pytest.param({"x-amz-retry-after": "2000"}, 2, id="milliseconds of AWS"),
        pytest.param({"retry-after-ms": "0"}, 0, id="no milliseconds"),
        pytest.param({"retry-after-ms": "1500", "Retry-After": "60"}, 2, id="milliseconds come first"),
        pytest.param({"retry-after-ms": "-1", "Retry-After": "60"}, 60, id="what is not sound lets the next speak"),
        pytest.param({"Retry-After": "soon", "RateLimit": '"a";r=0;t=7'}, 7, id="as far as the rate limit"),
        pytest.param({"RateLimit": '"default";r=0;t=30'}, 30, id="an exhausted limit"),
        pytest.param({"RateLimit": '"default";r=5;t=30'}, None, id="a limit with something left"),
        pytest.param({"RateLimit": '"burst";r=0;t=5, "daily";r=0;t=900'}, 900, id="the longest of those exhausted"),
        pytest.param({"RateLimit": '"a;r=0;t=1";r=3;t=5, "b";r=0;t=9'}, 9, id="a name that looks like parameters"),
        pytest.param({"RateLimit": '"default";r=0'}, None, id="an exhausted limit without a time"),
        pytest.param({"RateLimit": '"default";r=0;t=30, "broken'}, None, id="malformed, so not believed"),
        pytest.param({"RateLimit": '"default";r=0;t=-3'}, None, id="a negative time"),
        pytest.param({"Retry-After": "3", "RateLimit": '"a";r=0;t=30'}, 3, id="Retry-After comes before the limit"),
        pytest.param({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "45"}, 45, id="a reset in seconds"),
        pytest.param({"X-RateLimit-Remaining": "3", "X-RateLimit-Reset": "45"}, None, id="of a limit not reached"),
        pytest.param({"X-RateLimit-Reset": "45"}, None, id="of a limit that says nothing"),
        pytest.param({"RateLimit-Remaining": "0", "RateLimit-Reset": "45"}, 45, id="in the older spelling"),
        pytest.param({"X-Rate-Limit-Remaining": "0", "X-Rate-Limit-Reset": "45"}, 45, id="in yet another spelling"),
        pytest.param({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, None, id="a reset that is no number"),
    ],
)
def test_delay_from(headers, wait):
    """
    The first source that says something sound wins.
    """
    assert wait == delay_from(headers, now=NOW)


@pytest.mark.parametrize(
    ("reset", "wait"),
    [
        pytest.param("1700000060", 60, id="epoch seconds"),
        pytest.param("1700000060000", 60, id="epoch milliseconds"),
        pytest.param("1700000000001", 1, id="epoch milliseconds, rounded up"),
        pytest.param("1699999990", 0, id="the past"),
        pytest.param("99999999999999", None, id="too many digits"),
    ],
)
def test_a_reset_may_be_a_point_in_time(reset, wait):
    """
    Vendors disagree; the size of the number tells.
    """
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}

    assert wait == delay_from(headers, now=1_700_000_000.0)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"RETRY-AFTER": "30"}, id="dict"),
        pytest.param(httpx.Headers({"Retry-After": "30"}), id="httpx"),
        pytest.param(httpx2.Headers({"Retry-After": "30"}), id="httpx2"),
    ],
)
def test_any_mapping_will_do(headers):
    """
    Header objects differ in what they do about case.
    """
    assert delay_from(headers) == 30


def test_a_message_will_do_too():
    """
    What urllib's errors have; a repeated header makes a list, which is refused.
    """
    message = email.message.Message()
    message["Retry-After"] = "30"
    once = delay_from(message)
    message["Retry-After"] = "60"

    assert (once, delay_from(message)) == (30, None)


def test_without_a_date_and_without_now_the_clock_of_this_machine_counts(monkeypatch):
    """
    The default of *now*.
    """
    monkeypatch.setattr("time.time", lambda: NOW - 0.5)

    assert delay_from({"Retry-After": DATE}) == 1


class Hostile(dict):
    def items(self):
        yield "retry-after", "7"
        raise RuntimeError("no more")


class Endless:
    def items(self):
        while True:
            yield "retry-after", "7"


@pytest.mark.parametrize(
    ("headers", "wait"),
    [(None, None), (object(), None), ([("retry-after", "7")], None), ("retry-after", None), (Hostile(), 7)],
    ids=["none", "object", "list", "text", "hostile"],
)
def test_what_is_no_mapping_says_nothing(headers, wait):
    """
    Nothing raises.
    """
    assert wait == delay_from(headers)


def test_headers_without_end_are_cut():
    """
    A peer's object is read up to a bound.
    """
    assert delay_from(Endless()) is None


@pytest.mark.parametrize(
    ("headers", "reached"),
    [
        ({}, False),
        (None, False),
        ({"X-RateLimit-Remaining": "0"}, True),
        ({"x-ratelimit-remaining": "00"}, True),
        ({"x-ratelimit-remaining": "-0"}, False),
        ({"x-ratelimit-remaining": "1"}, False),
        ({"RateLimit": '"a";r=0'}, True),
        ({"RateLimit": '"a";r=1'}, False),
        ({"RateLimit": "a=b=c"}, False),
    ],
)
def test_limit_is_reached(headers, reached):
    """
    Nothing remains of some limit.
    """
    assert reached is limit_is_reached(headers)


NAMES = st.sampled_from(
    ["retry-after", "Retry-After", "retry-after-ms", "Date", "RateLimit", "x-ratelimit-reset", "x-ratelimit-remaining"]
)
VALUES = st.one_of(
    st.text(max_size=60),
    st.from_regex(r"\A[-+]?[0-9]{0,14}(\.[0-9]{0,3})?\Z"),
    st.from_regex(r'\A("[a-z]{0,3}"(;[rt]=[0-9]{0,4}){0,3},? ?){0,3}\Z'),
    st.dates().map(lambda date: f"Sun, {date:%d %b %Y} 00:00:00 GMT"),
)


@given(st.dictionaries(NAMES, VALUES), st.floats(0, 1e11) | st.none())
@example({"RateLimit": '"' * 1000}, None)
@example({"RateLimit": ";" * 1000}, None)
@example({"RateLimit": "a;" * 500 + "a"}, None)
@example({"RateLimit": "a" + (";b=c" + " " * 59) * 16 + "!"}, None)
@example({"Date": "Sun, " + "1" * 45, "Retry-After": "Mon, " + "-" * 45}, 0.0)
def test_a_delay_is_none_or_a_number_of_seconds(headers, now):
    """
    Whatever the headers hold.
    """
    wait = delay_from(headers, now=now)

    assert wait is None or (type(wait) is int and 0 <= wait <= MAX_DELAY_SECONDS)


@given(st.floats(0.001, 10_000_000).filter(lambda value: "e" not in repr(value)))
def test_rounding_never_shortens(seconds):
    """
    Nobody comes back too early.
    """
    text = f"{seconds:.6f}"

    assert delay_from({"Retry-After": text}) == math.ceil(float(text))


def test_lower_headers_joins_what_is_repeated():
    """
    As HTTP defines it.
    """
    message = email.message.Message()
    message["X-A"] = "1"
    message["x-a"] = "2"

    assert lower_headers(message) == {"x-a": "1, 2"}


@pytest.mark.parametrize("case", WAITS["cases"], ids=lambda case: f"{case['in']} {case['input']}"[:80])
def test_waits(case):
    """
    The table of waits, which other implementations can read too.
    """
    if case["in"] == "headers":
        wait = delay_from(case["input"], now=WAITS["now"], limited=case.get("limited", False))
    elif case["in"] == "json":
        wait = wait_in_json(case["input"], now=WAITS["now"])
    else:
        wait = wait_in_prose(case["input"], now=WAITS["now"])

    assert wait == case["seconds"]


@pytest.mark.parametrize(
    "case", [case for case in WAITS["cases"] if case["in"] != "headers"], ids=lambda case: str(case["input"])[:80]
)
def test_a_body_says_the_same(case):
    """
    JSON in a body is read as JSON and as prose.
    """
    body = case["input"] if case["in"] == "prose" else json.dumps(case["input"])

    assert wait_in_body(body, now=WAITS["now"]) == case["seconds"]


def test_a_body_that_was_cut_off_is_read_as_prose():
    body = '{"error": {"message": "Please retry in 44.1s.", "details": [{"retryDelay": "44s"'

    assert wait_in_body(body) == 45


@pytest.mark.parametrize(
    ("claim", "per_second", "seconds"),
    [
        (5, 1, 5),
        (5.1, 1, 6),
        ("5", 1, 5),
        (" 5.1 ", 1, 6),
        (1500, 1000, 2),
        ("1500", 1000, 2),
        (1, 1000, 1),
        (999_999_999, 1, 999_999_999),
        (-1, 1, None),
        (float("nan"), 1, None),
        (float("inf"), 1, None),
        (10**400, 1, None),
        (True, 1, None),
        ("1e3", 1, None),
        ("", 1, None),
        ([], 1, None),
        ({"seconds": 1, "nanos": 1}, 1, 2),
        ({"seconds": "1"}, 1, 1),
        ({"seconds": -1}, 1, None),
        ({"nanos": 10**9}, 1, None),
    ],
)
def test_claimed_seconds(claim, per_second, seconds):
    assert parse_seconds(claim, per_second=per_second) == seconds


@pytest.mark.parametrize(
    ("seconds", "nanos", "wait"),
    [
        (0, 0, 0),
        (5, 1, 6),
        (2**31 - 1, 0, 2**31 - 1),
        (2**31 - 1, 1, None),
        (-1, 0, None),
        (1.5, 0, None),
        (1, None, None),
    ],
)
def test_duration_seconds(seconds, nanos, wait):
    assert duration_seconds(seconds, nanos) == wait


@given(st.text(max_size=200) | st.from_regex(r"\A(retry after|try again in|wait) [0-9dhms .:TPZ-]{0,40}\Z"))
def test_a_wait_in_prose_is_none_or_a_number_of_seconds(text):
    wait = wait_in_prose(text)

    assert wait is None or (type(wait) is int and 0 <= wait <= MAX_DELAY_SECONDS)


@given(
    st.tuples(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59)),
    st.sampled_from(["{}h{}m{}s", "{} hours {} minutes {} seconds", "{}:{:02}:{:02}", "PT{}H{}M{}S"]),
)
def test_every_spelling_of_a_duration_is_the_same(parts, form):
    hours, minutes, seconds = parts

    assert wait_in_prose(f"Retry after {form.format(*parts)}.") == 3600 * hours + 60 * minutes + seconds


def test_a_duration_by_its_name_is_no_point_in_time():
    """
    The contract's own member, up to its largest value.
    """
    assert wait_in_json({"retry_after_seconds": 2**32 - 1}) == 2**32 - 1
    assert wait_in_json({"retry_after_seconds": 2**32}) is None
    assert wait_in_json({"retry_after_ms": (2**32 - 1) * 1000}) == 2**32 - 1
