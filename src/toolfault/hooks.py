"""
Hooks and observers of failures and retries, and the values that they get.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from toolfault._judge.case import Call
from toolfault._names import publish as _publish
from toolfault._retry.attempts import Attempt, NotBefore, Retried, RetryObserver, Stopped
from toolfault.errors import ToolFault


__all__ = [
    "Attempt",
    "AttemptHook",
    "FailureHook",
    "NotBefore",
    "Retried",
    "RetryObserver",
    "Stopped",
]

FailureHook: TypeAlias = Callable[[ToolFault, BaseException, Call], object]
"""
Called with the fault, the exception as it was raised, and the call, after a failure was logged.

It runs where the tool ran, so it must be quick and not async. What it raises is logged.
"""

AttemptHook: TypeAlias = Callable[[Attempt], object]
"""
Called with each attempt, before the wait for the next. What it raises is logged.
"""

_publish({name: globals()[name] for name in __all__}, __name__)
