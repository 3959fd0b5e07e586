"""
How long an upstream asks to wait, read from the headers of its answer.

Rule 1: the sources are asked in the order of `delay_from`; the first that says something sound
wins.
Rule 2: what is not sound (negative, a list, no ASCII digits, absurdly long) says nothing; nothing
here raises.
Rule 3: rounded up, never clamped: whoever sleeps decides how long is too long.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timezone
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any, Final

from toolfault._envelope import MAX_RETRY_AFTER_SECONDS


#: The longest delay that is believed, in seconds; 68 years.
MAX_DELAY_SECONDS: Final = 2**31 - 1

#: The longest header value that is looked at, and the most headers.
_MAX_LENGTH: Final = 1024
_MAX_HEADERS: Final = 1000

_MILLISECONDS: Final = ("retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after")

#: What is left of a limit, and when it starts anew, in the spellings of vendors and of older
#: drafts.
_REMAINING_AND_RESET: Final = (
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("x-rate-limit-remaining", "x-rate-limit-reset"),
    ("ratelimit-remaining", "ratelimit-reset"),
)

#: The longest spelling of a number that a peer claims.
_MAX_DIGITS: Final = 16

#: Above the first a reset is a point in time in epoch seconds, above the second one in
#: milliseconds.
_EPOCH_SECONDS: Final = 10**9
_EPOCH_MILLISECONDS: Final = 10**12

# Some servers send fractions of seconds; no list, no sign, no digit of another script fits.
_number = re.compile(r"[0-9]{1,10}(?:\.[0-9]{1,9})?").fullmatch
_reset_number = re.compile(r"[0-9]{1,13}(?:\.[0-9]{1,9})?").fullmatch
_date = re.compile(r"[A-Za-z]{3,9},? [\x20-\x7e]{8,48}").fullmatch

#: One member of a structured-field list: a name, then parameters
#: (draft-ietf-httpapi-ratelimit-headers).
_member = re.compile(
    r"""
    \s* (?: "[^"\\]{0,256}" | [A-Za-z*][\w.:/*%-]{0,256} )
    ( (?: \s*;\s* [a-z*][\w.*-]{0,64} (?: =[^;,"\s]{1,64} | ="[^"]{0,64}" )? ){0,16} )
    \s* (?: , | $ )
    """,
    re.VERBOSE,
)


def folded(headers: Any) -> dict[str, str]:
    """
    Return headers under lower-case names, repeated ones joined by commas; empty for what is no
    mapping.

    Any object with ``items()`` will do: a dict, ``httpx.Headers``, an ``email.message.Message``, a
    ``CIMultiDict``.
    """
    found: dict[str, str] = {}
    try:
        for key, value in islice(_items(headers), _MAX_HEADERS):
            name, text = _text(key).lower(), _text(value)
            found[name] = f"{found[name]}, {text}" if name in found else text
    except Exception:  # noqa: BLE001 -- a peer's object; what was read so far is all there is
        return found
    return found


def _items(headers: Any) -> Iterator[tuple[Any, Any]]:
    return iter(()) if headers is None else iter(headers.items())


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value[:_MAX_LENGTH].decode("latin-1")
    return str(value)[: _MAX_LENGTH + 1]


def delay_from(headers: Mapping[str, str] | None, *, now: float | None = None) -> int | None:
    """
    Return the seconds that an answer asks to wait, rounded up; None: it does not say.

    In this order: a header in milliseconds; ``Retry-After`` as a number, then as a date, measured
    from the answer's own ``Date``; the ``RateLimit`` field of an exhausted limit; the reset of an
    exhausted vendor limit.

    Args:
        headers: The headers, in any case.
        now: Epoch seconds, where the answer has no ``Date``. None: this machine's clock.
    """
    known = folded(headers)
    if not known:
        return None

    def clock() -> float:
        date = _epoch(known.get("date", ""))
        if date is not None:
            return date
        return time.time() if now is None else now

    sources: tuple[Callable[[], float | None], ...] = (
        lambda: _from_milliseconds(known),
        lambda: _from_retry_after(known.get("retry-after", "").strip(), clock),
        lambda: _from_ratelimit(known.get("ratelimit", "")),
        lambda: _from_reset(known, clock),
    )
    for source in sources:
        seconds = source()
        if seconds is not None and 0 <= seconds <= MAX_DELAY_SECONDS:
            return math.ceil(seconds)
    return None


def limit_is_reached(headers: Mapping[str, str] | None) -> bool:
    """
    Tell whether the headers speak of a limit of which nothing remains.
    """
    known = folded(headers)
    if any(_is_zero(known.get(remaining, "")) for remaining, _ in _REMAINING_AND_RESET):
        return True
    return any(_is_zero(member.get("r", "")) for member in _members(known.get("ratelimit", "")))


def _from_milliseconds(known: Mapping[str, str]) -> float | None:
    for name in _MILLISECONDS:
        text = known.get(name, "").strip()
        if _number(text):
            return float(text) / 1000
    return None


def _from_retry_after(text: str, clock: Callable[[], float]) -> float | None:
    if _number(text):
        return float(text)
    until = _epoch(text)
    return None if until is None else max(0.0, until - clock())


def _from_ratelimit(text: str) -> float | None:
    waits = [
        member["t"]
        for member in _members(text)
        if _is_zero(member.get("r", "")) and _number(member.get("t", ""))
    ]
    return max(map(float, waits), default=None)


def _from_reset(known: Mapping[str, str], clock: Callable[[], float]) -> float | None:
    for remaining, reset in _REMAINING_AND_RESET:
        text = known.get(reset, "").strip()
        if not _is_zero(known.get(remaining, "")) or not _reset_number(text):
            continue
        value = float(text)
        if value > _EPOCH_MILLISECONDS:
            return max(0.0, value / 1000 - clock())
        return max(0.0, value - clock()) if value > _EPOCH_SECONDS else value
    return None


def _is_zero(text: str) -> bool:
    text = text.strip()
    return _number(text) is not None and float(text) == 0


def _members(text: str) -> list[dict[str, str]]:
    """
    Return the parameters of each member of a structured-field list; empty if it is malformed
    anywhere.
    """
    found: list[dict[str, str]] = []
    at = 0
    while at < len(text):
        match = _member.match(text, at)
        if len(text) > _MAX_LENGTH or match is None:
            return []
        pairs = (part.partition("=") for part in match[1].split(";"))
        found.append({name.strip(): value.strip() for name, _, value in pairs})
        at = match.end()
    return found


def _epoch(text: str) -> float | None:
    if not _date(text):
        return None
    try:
        date = parsedate_to_datetime(text)
        # HTTP's times are GMT, also in the one form that does not say so.
        return (date if date.tzinfo is not None else date.replace(tzinfo=timezone.utc)).timestamp()  # noqa: UP017
    except Exception:  # noqa: BLE001 -- the parser has raised half a dozen kinds over the years
        return None


def claimed_seconds(claim: Any, *, per_second: int = 1) -> int | None:
    """
    Return a peer's delay as whole seconds, rounded up. None: it makes no sense, or its meaning is
    open.

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
    return (
        math.ceil(claim / per_second) if isinstance(claim, float) else -(-int(claim) // per_second)
    )
