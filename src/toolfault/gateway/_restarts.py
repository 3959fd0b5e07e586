"""
The budget for restarts of a dead server.
"""

from __future__ import annotations

from typing import Final


#: Seconds after which one restart is allowed again.
_REFILL: Final = 60.0


class Restarts:
    """
    A budget that refills: so many restarts in a row, and one more each minute.

    Args:
        limit: The restarts in a row; 0 allows none.
    """

    def __init__(self, limit: int) -> None:
        """
        Start with a full budget.
        """
        self._limit = limit
        self._left = float(limit)
        self._since: float | None = None

    def is_allowed(self, now: float) -> bool:
        """
        Tell whether a restart is allowed.

        Args:
            now: The time in seconds of any monotonic clock.
        """
        self._refill(now)
        return self._left >= 1.0

    def take(self, now: float) -> bool:
        """
        Use one restart, and tell whether it was allowed.

        Args:
            now: As for `is_allowed`.
        """
        if not self.is_allowed(now):
            return False
        self._left -= 1.0
        return True

    def _refill(self, now: float) -> None:
        if self._since is not None:
            self._left = min(float(self._limit), self._left + (now - self._since) / _REFILL)
        self._since = now
