"""
What may be told about a failure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from toolfault._classify import Call
from toolfault.errors import ToolFault


__all__ = ["FailureHook"]

FailureHook: TypeAlias = Callable[[ToolFault, BaseException, Call], object]
"""
Called with the fault, the exception as it was raised, and the call, after a failure was judged and logged.

It runs where the tool ran, so it must be quick, and it is no coroutine function. What it raises is logged, and
changes nothing.
"""
