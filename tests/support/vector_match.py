"""
How what a vector expects is compared with what came: strictly, but for its matchers.

The special values of an input are resolved here as well.
"""

from typing import Any


def _carries(expected: Any, actual: str) -> bool:
    return expected["value"] in actual


MATCHERS = {
    "non-empty-string": lambda _expected, actual: actual != "",
    "starts-with": lambda expected, actual: actual.startswith(expected["value"]),
    "carries": _carries,
    "at-most-bytes": lambda expected, actual: 0 < len(actual.encode()) <= expected["value"],
}

#: What JSON has no number for.
_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}

_SPECIAL = {
    "$repeat": lambda value: value[0] * value[1],
    "$join": lambda value: "".join(resolve(value)),
    "$number": lambda value: _NUMBERS[value],
}


def resolve(value: Any) -> Any:
    """
    Return a value of an input with its special values written out.
    """
    if isinstance(value, list):
        return [resolve(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and (name := next(iter(value))) in _SPECIAL:
        return _SPECIAL[name](value[name])
    return {key: resolve(item) for key, item in value.items()}


def matches(expected: Any, actual: Any) -> bool:
    """
    Whether a value is the expected one, matchers included.

    Numbers and booleans do not pass for each other.
    """
    if isinstance(expected, dict) and "$match" in expected:
        return isinstance(actual, str) and MATCHERS[expected["$match"]](expected, actual)
    if isinstance(expected, dict):
        return (
            isinstance(actual, dict)
            and expected.keys() == actual.keys()
            and all(matches(value, actual[key]) for key, value in expected.items())
        )
    if isinstance(expected, list):
        return isinstance(actual, list) and len(expected) == len(actual) and all(map(matches, expected, actual))
    return type(expected) is type(actual) and expected == actual


def is_near(expected: float | None, actual: float | None) -> bool:
    """
    Whether a computed number is the expected one, up to the rounding of its arithmetic.
    """
    if expected is None or actual is None:
        return expected is actual
    return abs(expected - actual) < 1e-9
