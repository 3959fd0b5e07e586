"""
Every vector of the specification, run through the library.
"""

from __future__ import annotations

import pytest

from vector_match import is_near, matches, resolve
from vector_runner import OPERATIONS, load_suites, run


SUITES = load_suites()
OURS = [suite for suite in SUITES if suite["ours"]]
NOT_OURS = [suite for suite in SUITES if not suite["ours"]]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["case"]) for suite in OURS for case in suite["cases"]])
def test_vector(case):
    """
    The case's rule holds.
    """
    run(case)


@pytest.mark.parametrize(
    "case",
    [pytest.param((suite, case), id=case["case"]) for suite in NOT_OURS for case in suite["cases"]],
)
def test_a_vector_that_is_not_ours(case):
    """
    It is listed with a reason, and there is no operation that could run it.
    """
    suite, vector = case

    assert suite["reason"]
    assert vector["input"]["op"] not in OPERATIONS


def test_the_comparison_is_strict():
    """
    What differs, differs: a comparison that passes everything would prove nothing.
    """
    assert matches({"hint": {"$match": "non-empty-string"}}, {"hint": "x"})
    assert not matches({"hint": {"$match": "non-empty-string"}}, {"hint": ""})
    assert matches({"$match": "carries", "value": "b"}, "abc")
    assert not matches({"$match": "carries", "value": "d"}, "abc")
    assert not matches({"$match": "starts-with", "value": "b"}, "abc")
    assert not matches({"$match": "at-most-bytes", "value": 1}, "\u00e9")
    assert not matches({"$match": "at-most-bytes", "value": 1}, "")
    assert not matches({"a": 1}, {"a": 1, "b": 2})
    assert not matches({"a": 1, "b": 2}, {"a": 1})
    assert not matches([1], [1, 2])
    assert not matches(1, True)
    assert not matches(0, False)
    assert not matches(1, 1.0)
    assert is_near(0.5, 0.5 + 1e-12)
    assert not is_near(0.5, 0.501)
    assert not is_near(None, 0.0)


def test_special_values_are_written_out():
    """
    What JSON cannot hold, or would hold at length, is written out before the operation sees it.
    """
    assert resolve({"a": [{"$repeat": ["x", 3]}, {"$join": ["b", "c"]}]}) == {"a": ["xxx", "bc"]}
    assert str(resolve({"$number": "NaN"})) == "nan"
    assert resolve({"$match": "carries", "value": "x"}) == {"$match": "carries", "value": "x"}
