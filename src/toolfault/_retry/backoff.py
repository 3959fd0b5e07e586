"""
How long to wait: arithmetic, without a clock and without chance of its own.

Rule 1: a server's delay is a minimum. Jitter goes on top of it, never below.
Rule 2: an own wait is at most its window; the window doubles with each attempt up to a cap.
"""

from __future__ import annotations

from typing import Final


#: Doublings after which no window grows: 2.0**1023 is the last power of two that a float holds.
_MAX_DOUBLINGS: Final = 1000


def window(number: int, *, initial: float, maximum: float) -> float:
    """
    Return the longest own wait after a failed attempt, in seconds: *initial*, doubled with each
    attempt.

    Args:
        number: Which attempt failed, counted from 1.
        initial: Seconds, for the first.
        maximum: Seconds, for all of them.
    """
    return min(maximum, initial * 2.0 ** min(number - 1, _MAX_DOUBLINGS))


def jittered(longest: float, *, jitter: float, chance: float, at_least: float = 0.0) -> float:
    """
    Return a wait in seconds. With full jitter and no minimum it lies anywhere from 0 to *longest*.

    Args:
        longest: The window, in seconds.
        jitter: Which share of the window is left to chance: 1.0 is full jitter, 0.0 none.
        chance: A random number from 0.0 to 1.0.
        at_least: What the server asked for, in seconds.
    """
    return max(at_least, longest * (1.0 - jitter)) + longest * jitter * min(1.0, max(0.0, chance))
