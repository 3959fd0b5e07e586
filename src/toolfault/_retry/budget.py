"""
How many retries a server may cause.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Self


class Budget:
    """
    How many retries one server may cause, shared by all calls to it. Safe to use from many threads.

    A token bucket, as in gRFC A6 and botocore: a retry takes a token, or a part of one after a
    reached limit. A retry that helps gives it back, and a call that works at once gives a little.
    An empty bucket ends attempts early.

    Args:
        retries: How many retries may fail in a row.
        refund: How much of a token a call gives back that works at once. 0.1 allows one retry per
            ten calls.

    Raises:
        ValueError: A number is negative or NaN.
    """

    __slots__ = ("_left", "_lock", "_refund", "_retries")

    def __init__(self, retries: float = 10.0, refund: float = 0.1) -> None:
        """
        Make a full budget.
        """
        for number in (retries, refund):
            if isinstance(number, bool) or not isinstance(number, int | float) or not number >= 0:  # pyright: ignore[reportUnnecessaryIsInstance] -- a user's value
                raise ValueError(
                    f"a budget's numbers must be 0 or more, not {retries!r} and {refund!r}"
                )
        self._retries = self._left = float(retries)
        self._refund = float(refund)
        self._lock = Lock()

    @property
    def left(self) -> float:
        """
        Return the tokens that are left.
        """
        return self._left

    def take(self, cost: float = 1.0) -> bool:
        """
        Take the cost of a retry; False if there is not enough, and then nothing is taken.
        """
        with self._lock:
            if self._left < cost:
                return False
            self._left -= cost
            return True

    def give(self, tokens: float | None = None) -> None:
        """
        Give tokens back; None: what a call gives that works at once.
        """
        with self._lock:
            self._left = min(
                self._retries, self._left + (self._refund if tokens is None else tokens)
            )

    def __copy__(self) -> Self:
        """
        Return this budget itself: copies of the rules that share it go on sharing it.
        """
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """
        Return this budget itself, as `__copy__` does.
        """
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[float, float]]:
        """
        Pickle as a full budget: another process has calls of its own.
        """
        return type(self), (self._retries, self._refund)

    def __repr__(self) -> str:
        """
        Show how much is left.
        """
        return f"<Budget ({self._left:g} of {self._retries:g} retries left)>"
