"""
Names that are like a given one, among many and among long ones.
"""

import sys

import pytest

from toolfault._judge.arguments import nearest


@pytest.mark.parametrize(
    ("given", "names", "found"),
    [
        ("get_wether", ["get_weather", "get_time"], ["get_weather"]),
        ("find_7", [f"find_{number}" for number in range(5_000)], ["find_7"]),
        ("gte_article", [*(f"tool_{number}" for number in range(4_000)), "get_article"], ["get_article"]),
        ("x", ["get_weather"], []),
        ("", ["a", ""], [""]),
        ("a", [], []),
    ],
)
def test_the_nearest_name(given, names, found):
    assert nearest(given, names, most=3)[:1] == found


def test_long_names_cost_no_more():
    def work(length):
        calls = 0

        def count(_frame, event, _argument):
            nonlocal calls
            calls += event in {"call", "c_call"}

        names = [("ab" * length)[number:] for number in range(300)]
        sys.setprofile(count)
        try:
            nearest("ba" * length, names, most=3)
        finally:
            sys.setprofile(None)
        return calls

    work(10)
    assert work(20_000) < 1.2 * work(2_000)
