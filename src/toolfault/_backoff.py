"""
How long to wait: arithmetic, without a clock and without chance of its own.

Rule 1: a server's delay is a minimum. Jitter goes on top of it, never below.
Rule 2: an own wait is at most its window; the window doubles with each attempt up to a cap.
Rule 3: a delay that a peer claims rounds up to whole seconds; one that makes no sense is no delay.
"""

from __future__ import annotations

import math
from typing import Any, Final

from toolfault._envelope import MAX_RETRY_AFTER_SECONDS


#: The longest spelling of a number that is read.
_MAX_DIGITS: Final = 16

#: Doublings after which no window grows: 2.0**1023 is the last power of two that a float holds.
_MAX_DOUBLINGS: Final = 1000


def window(number: int, *, initial: float, maximum: float) -> float:
    """
    Return the longest own wait after a failed attempt, in seconds: *initial*, doubled with each attempt.

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


def claimed_seconds(claim: Any, *, per_second: int = 1) -> int | None:
    """
    Return a peer's delay as whole seconds, rounded up. None: it makes no sense, or its meaning is open.

    Args:
        claim: What stands on the wire: a number, or its digits as a text.
        per_second: The unit of the claim; 1000 for milliseconds.
    """
    if isinstance(claim, str):
        text = claim.strip() if len(claim) <= _MAX_DIGITS else ""
        if not text.isascii() or not text.replace(".", "", 1).isdigit():
            return None
        claim = float(text) if "." in text else int(text)
    # True is an int in Python, and no number in JSON.
    if isinstance(claim, bool) or not isinstance(claim, int | float):
        return None
    if not 0 <= claim <= MAX_RETRY_AFTER_SECONDS * per_second:
        return None
    return math.ceil(claim / per_second) if isinstance(claim, float) else -(-int(claim) // per_second)
