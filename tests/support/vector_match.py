"""
How what a vector expects is compared with what came: strictly, but for its matchers.
"""

from typing import Any


MATCHERS = {
    "non-empty-string": lambda _expected, actual: actual != "",
    "starts-with": lambda expected, actual: actual.startswith(expected["value"]),
}


def matches(expected: Any, actual: Any) -> bool:
    """
    Whether a value is the expected one, matchers included; numbers and booleans do not pass for each other.
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
