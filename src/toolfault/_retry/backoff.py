"""
Waits between attempts: arithmetic, without a clock and without randomness of its own.

Rule 1: a server's wait is a minimum. Jitter goes on top of it, never below.
Rule 2: an own wait is at most its window; the window doubles with each attempt up to a cap.
"""

from __future__ import annotations

from typing import Final


#: Doublings after which no window grows: 2.0**1023 is the last power of two that a float holds.
_MAX_DOUBLINGS: Final = 1000


def window(number: int, *, initial: float, maximum: float) -> float:
    """
    Return the longest own wait after a failed attempt, in seconds: doubled with each attempt.

    Args:
        number: The attempt that failed, counted from 1.
        initial: The window of the first attempt, in seconds.
        maximum: The longest window, in seconds.
    """
    return min(maximum, initial * 2.0 ** min(number - 1, _MAX_DOUBLINGS))


def add_jitter(longest: float, *, jitter: float, chance: float, at_least: float = 0.0) -> float:
    """
    Return a wait in seconds; with full jitter and no minimum it lies from 0 to *longest*.

    Args:
        longest: The window, in seconds.
        jitter: The random share of the window: 1.0 is full jitter, 0.0 none.
        chance: A random number from 0.0 to 1.0.
        at_least: The wait that the server asked for, in seconds.
    """
    return max(at_least, longest * (1.0 - jitter)) + longest * jitter * min(1.0, max(0.0, chance))
