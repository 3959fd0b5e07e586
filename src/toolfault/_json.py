"""
What kind of JSON value something is, told to type checkers too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """
    Tell whether a value is an object of JSON, or behaves as one.
    """
    # A dict is by far the most frequent, and the abstract class is slow to ask.
    return type(value) is dict or isinstance(value, Mapping)


def is_array(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """
    Tell whether a value is an array of JSON.
    """
    return isinstance(value, list | tuple)
