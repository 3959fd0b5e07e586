"""
Search texts for the patterns of foreign schemas without a pattern that runs for ever.

A short text meets Python's own engine, as in jsonschema, where the worst case of the pattern is
known to be small. Everything else is searched by the linear engine of pydantic. A pattern that
neither can take (a look-ahead on a long text) constrains nothing.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from pydantic_core import SchemaError, SchemaValidator, core_schema


#: How many steps Python's engine may take for one text; a step takes about 10 ns.
_MAX_STEPS: Final = 100_000

#: How many characters of a pattern are compiled, and how often one may repeat a counted part.
_MAX_PATTERN: Final = 2_000
_MAX_COUNT: Final = 256

_one_character = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_group_with_count = re.compile(r"\)(?:[*+]|\{)")
_optional_group = re.compile(r"\)\?")
_repeat = re.compile(r"[*+]|\{\d*,\d*\}|(?<![*+?}(])\?")
_backreference = re.compile(r"\\[1-9]|\(\?(?:P=|\()")
_count = re.compile(r"\{(\d*),?(\d*)\}")


def python_steps(pattern: str, length: int) -> float:
    """
    Return a bound for the steps of Python's engine; infinite where none is known.

    Args:
        pattern: What is searched for.
        length: How many characters the text has.
    """
    if len(pattern) > _MAX_PATTERN or _backreference.search(pattern):
        return float("inf")
    plain = _one_character.sub("x", pattern)
    if _group_with_count.search(plain):
        return float("inf")
    repeats = len(_repeat.findall(plain))
    choices = len(_optional_group.findall(plain)) + plain.count("|")
    starts = 0 if plain.startswith("^") else 1
    if repeats + starts + choices > 40:
        return float("inf")
    return len(pattern) * float(length + 1) ** (repeats + starts) * 2.0**choices


@lru_cache(maxsize=1024)
def searcher(pattern: str) -> Callable[[str], bool]:
    """
    Return a function that tells whether a text contains a pattern, in bounded time.

    Raises:
        re.error: Python does not accept the pattern.
    """
    with warnings.catch_warnings():
        # A foreign pattern is no reason to warn the operator of a server.
        warnings.simplefilter("ignore")
        python = re.compile(pattern).search if len(pattern) <= _MAX_PATTERN else None

    def search(text: str) -> bool:
        if python is not None and python_steps(pattern, len(text)) <= _MAX_STEPS:
            return python(text) is not None
        linear = _linear_searcher(pattern)
        return True if linear is None else linear(text)

    return search


@lru_cache(maxsize=1024)
def _linear_searcher(pattern: str) -> Callable[[str], bool] | None:
    """
    Return a search by the linear engine. None: it does not take the pattern.
    """
    if len(pattern) > _MAX_PATTERN or _largest_count(pattern) > _MAX_COUNT:
        return None
    try:
        validator = SchemaValidator(
            core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")
        )
    except SchemaError:
        return None
    return validator.isinstance_python


def _largest_count(pattern: str) -> int:
    """
    Return the product of all counts, since counted parts may stand inside each other.
    """
    total = 1
    for low, high in _count.findall(pattern):
        total *= max(1, int(low[:6] or 0), int(high[:6] or 0))
    return total
