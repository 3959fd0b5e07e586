"""
`Budget`: the retries that one server may cause.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Self

from toolfault._json import is_number
from toolfault._names import public
from toolfault._options import explain_unknown_options


@public
@explain_unknown_options
class Budget:
    """
    The retries that one server may cause, shared by all calls to it; safe from many threads.

    A token bucket, as in gRFC A6 and botocore: a retry takes a token, or a part of one after a
    reached limit. A retry that succeeds gives it back, and a call that succeeds on its first
    attempt gives a little. An empty bucket ends the attempts.

    Args:
        retries: The retries that may fail in a row.
        refund: Tokens refunded by a call that succeeds on its first attempt. 0.1 allows one retry
            per ten calls.

    Raises:
        ValueError: A number is negative or NaN.
        TypeError: There is no such option.
    """

    __slots__ = ("_left", "_lock", "_refund", "_retries")

    def __init__(self, retries: float = 10.0, refund: float = 0.1) -> None:
        """
        Make a full budget.
        """
        for number in (retries, refund):
            if not (is_number(number) and number >= 0):
                raise ValueError(
                    f"a budget's numbers must be 0 or more, not {retries!r} and {refund!r}"
                )
        self._retries = self._left = float(retries)
        self._refund = float(refund)
        self._lock = Lock()

    @property
    def left(self) -> float:
        """
        Return the remaining tokens.
        """
        return self._left

    def take(self, cost: float = 1.0) -> bool:
        """
        Take the cost of a retry; return False, and take nothing, if there is not enough.
        """
        with self._lock:
            if self._left < cost:
                return False
            self._left -= cost
            return True

    def give(self, tokens: float | None = None) -> None:
        """
        Give tokens back. None: the refund of a call that succeeds on its first attempt.
        """
        with self._lock:
            given = self._refund if tokens is None else tokens
            self._left = min(self._retries, self._left + given)

    def __copy__(self) -> Self:
        """
        Return this budget: copies of the rules go on sharing it.
        """
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """
        Return this budget, as `__copy__` does.
        """
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[float, float]]:
        """
        Pickle as a full budget: another process makes calls of its own.
        """
        return type(self), (self._retries, self._refund)

    def __repr__(self) -> str:
        """
        Return the class with the remaining tokens.
        """
        return f"<Budget ({self._left:g} of {self._retries:g} retries left)>"
