"""
How long somebody asks to wait: the one parser of waits, for headers, JSON, protobuf and prose.

Rule 1: the sources are asked in a fixed order; the first that says something sound wins.
Rule 2: what is unsound (negative, a list, other digits, too long) says nothing; nothing raises.
Rule 3: a wait is rounded up and never shortened; whoever sleeps decides how long is too long.
Rule 4: a number from 10^9 on is a point in time; a date, a port or a year is never a wait.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any, Final, TypeVar

from toolfault._envelope import MAX_RETRY_AFTER_SECONDS
from toolfault._json import is_array, is_int, is_mapping, is_number, is_text, take_first
from toolfault._text import pattern


#: The longest delay that is believed, in seconds; 68 years.
MAX_DELAY_SECONDS: Final = 2**31 - 1

#: The longest header value that is parsed, and the most headers.
_MAX_LENGTH: Final = 1024
_MAX_HEADERS: Final = 1000

#: How much of a text is searched, how deep JSON is, and how many of its values are visited.
_MAX_TEXT: Final = 8192
_MAX_DEPTH: Final = 6
_MAX_VALUES: Final = 1000

#: From here on a number is a point in time: epoch seconds, epoch milliseconds.
_EPOCH_SECONDS: Final = 10**9
_EPOCH_MILLISECONDS: Final = 10**12

N = TypeVar("N", int, float)

#: Returns epoch seconds.
Clock = Callable[[], float]


# ---- one value

#: The longest spelling of one wait, in characters.
_MAX_SPELLING: Final = 64

# No sign, no exponent, no list, no digit of another script fits.
_NUMBER: Final = r"[0-9]{1,18}(?:\.[0-9]{1,9})?"

_UNIT_NAMES: Final = (
    r"ms|msecs?|millis|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?"
)
_UNIT_SECONDS: Final = (
    ("ms", 0.001),
    ("mil", 0.001),
    ("s", 1),
    ("m", 60),
    ("h", 3600),
    ("d", 86400),
    ("w", 604800),
)
#: "an hour" is one hour.
_ONE: Final = r"(?:an?|one)(?= )"

_PART: Final = rf"(?:({_NUMBER})|{_ONE}) ?({_UNIT_NAMES})(?![a-z])"
#: "1 hour, 5 minutes and 3 seconds", "2m59.56s".
_PARTS: Final = (
    rf"(?i)(?:(?:{_NUMBER}|{_ONE}) ?(?:{_UNIT_NAMES})(?![a-z])(?:,? (?:and )?(?=[0-9]))?){{1,6}}"
)
_CLOCK: Final = r"([0-9]{1,3}):([0-5][0-9]):([0-5][0-9](?:\.[0-9]{1,9})?)"
_ISO_DURATION: Final = (
    r"P(?=[0-9T])(?:([0-9]{1,9})W)?(?:([0-9]{1,9})D)?"
    r"(?:T(?=[0-9])(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,12}(?:\.[0-9]{1,9})?)S)?)?"
)
_ISO_DATE: Final = (
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(\.[0-9]{1,9})?"
    r"(?: ?(Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})\b)?)?"
)
#: RFC 9110's three forms, and offsets instead of GMT.
_HTTP_DATE: Final = (
    r"[A-Z][a-z]{2,8},? (?:[0-9]{1,2}[ -][A-Z][a-z]{2}[ -][0-9]{2,4} [0-9:]{5,8}"
    r"(?: (?:[A-Z]{1,5}|[+-][0-9]{4}))?"
    r"|[A-Z][a-z]{2} {1,2}[0-9]{1,2} [0-9:]{5,8} [0-9]{4})"
)
_FACTORS: Final = (604800, 86400, 3600, 60, 1)


def _seconds(text: str, clock: Clock, unit: float = 1) -> float | None:
    """
    Return the seconds that one spelling of a wait asks for, or None.

    Args:
        text: The whole spelling.
        clock: Asked where the spelling is a point in time.
        unit: Seconds per unit of a bare number.
    """
    text = text.strip()
    if len(text) > _MAX_SPELLING:
        return None
    if pattern(_NUMBER).fullmatch(text):
        return _number_to_seconds(float(text), clock, unit)
    for source, read in _DURATIONS:
        match = pattern(source).fullmatch(text)
        if match is not None:
            return read(match)
    moment = _moment(text)
    return None if moment is None else _until(moment, clock)


def _until(moment: float, clock: Clock) -> float:
    return max(0.0, moment - clock())


def _number_to_seconds(value: float, clock: Clock, unit: float = 1) -> float:
    if value >= _EPOCH_MILLISECONDS:
        return _until(value / 1000, clock)
    if value >= _EPOCH_SECONDS and unit == 1:
        return _until(value, clock)
    return value * unit


def _read_parts(match: re.Match[str]) -> float:
    parts = pattern(f"(?i){_PART}").findall(match[0])
    return sum(float(number or 1) * _unit_seconds(unit) for number, unit in parts)


def _read_clock(match: re.Match[str]) -> float:
    return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3])


def _read_iso_duration(match: re.Match[str]) -> float:
    numbers = (float(number or 0) for number in match.groups())
    return sum(number * factor for number, factor in zip(numbers, _FACTORS, strict=True))


def _unit_seconds(unit: str) -> float:
    low = unit.lower()
    return next(factor for start, factor in _UNIT_SECONDS if low.startswith(start))


#: The spellings of a duration, and what reads each.
_DURATIONS: Final[tuple[tuple[str, Callable[[re.Match[str]], float]], ...]] = (
    (_PARTS, _read_parts),
    (_CLOCK, _read_clock),
    (_ISO_DURATION, _read_iso_duration),
)


def _moment(text: str) -> float | None:
    """
    Return the epoch seconds of an ISO 8601 or HTTP date; without a zone it is UTC. None: no date.
    """
    for source, read in _DATES:
        match = pattern(source).fullmatch(text)
        if match is not None:
            try:
                return read(match)
            except Exception:  # noqa: BLE001 -- the parsers have raised half a dozen kinds over the years
                return None
    return None


def _read_iso_date(match: re.Match[str]) -> float:
    day, hours, fraction, zone = match.groups(default="")
    offset = zone if zone[:1] in ("+", "-") else "+00:00"
    return datetime.fromisoformat(f"{day}T{hours or '00:00'}{offset}").timestamp() + float(
        fraction or 0
    )


def _read_http_date(match: re.Match[str]) -> float:
    date = parsedate_to_datetime(match[0])
    # HTTP's times are GMT, also in the one form that does not say so.
    return (date if date.tzinfo else date.replace(tzinfo=timezone.utc)).timestamp()  # noqa: UP017


#: The spellings of a point in time, and what returns its epoch seconds.
_DATES: Final[tuple[tuple[str, Callable[[re.Match[str]], float]], ...]] = (
    (_ISO_DATE, _read_iso_date),
    (_HTTP_DATE, _read_http_date),
)


def _sound(seconds: float | None) -> int | None:
    if seconds is None or not 0 <= seconds <= MAX_DELAY_SECONDS:
        return None
    return math.ceil(seconds)


def _clock_of(now: float | None) -> Clock:
    return time.time if now is None else lambda: now


def parse_seconds(
    claim: Any, *, per_second: int = 1, now: float | None = None, exact: bool = False
) -> int | None:
    """
    Return a peer's wait in whole seconds, rounded up, or None if it is unsound.

    Args:
        claim: A JSON value: a number, a spelling of a wait, or a protobuf Duration as an object.
        per_second: How many units of a bare number make a second; 1000 for milliseconds.
        now: Epoch seconds, for points in time. None: this machine's clock.
        exact: The name of the member says that its number is a duration, so it is no point in time.
    """
    if is_mapping(claim):
        return duration_seconds(claim.get("seconds", 0), claim.get("nanos", 0)) if claim else None
    if is_text(claim) and pattern(r"[0-9]{1,18}").fullmatch(claim):
        claim = int(claim)
    if is_text(claim):
        return _sound(_seconds(claim, _clock_of(now), 1 / per_second))
    return _parse_number(claim, per_second, now, exact=exact) if is_number(claim) else None


def _parse_number(number: float, per_second: int, now: float | None, *, exact: bool) -> int | None:
    units = per_second if exact else 1000
    if not 0 <= number <= MAX_RETRY_AFTER_SECONDS * units:
        return None
    if number >= _EPOCH_SECONDS * per_second and not exact:
        return _sound(_number_to_seconds(float(number), _clock_of(now)))
    return math.ceil(number / per_second)


def duration_seconds(seconds: object, nanos: object) -> int | None:
    """
    Return a protobuf Duration in whole seconds, rounded up, or None if it is unsound.
    """
    if is_text(seconds) and pattern(r"[0-9]+").fullmatch(seconds):
        # Protobuf's JSON writes 64-bit numbers as text.
        seconds = int(seconds[:_MAX_SPELLING])
    if not (is_int(seconds) and is_int(nanos)) or not 0 <= nanos < 10**9:
        return None
    return _sound(seconds + (nanos > 0))


def longest(waits: Iterable[N | None]) -> N | None:
    """
    Return the longest of the waits that were found, or None if none was.
    """
    return max((wait for wait in waits if wait is not None), default=None)


# ---- headers

#: Headers whose bare numbers are milliseconds.
_MILLISECONDS: Final = ("retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after")

#: A reset's name: a vendor's prefix, what the limit is about on either side, and how it is counted.
_RESET_NAME: Final = (
    r"((?:[a-z0-9]{1,20}-){0,3}rate-?limit(?:-[a-z0-9]{1,20}){0,3})-reset((?:-[a-z0-9]{1,20}){0,3}?)"
    r"(?:-?(after|time|at|ms|seconds))?"
)
_RETRY_NAME: Final = r"(?:[a-z0-9.]{1,60}-){1,8}retry-after(?:-seconds)?"

#: One member of a structured-field list: a name, then parameters
#: (draft-ietf-httpapi-ratelimit-headers-08 and later).
_MEMBER: Final = r"""(?x)
    \s* (?: "[^"\\]{0,256}" | [A-Za-z*][\w.:/*%-]{0,256} )
    ( (?: \s*;\s* [a-z*][\w.*-]{0,64} (?: =[^;,"\s]{1,64} | ="[^"]{0,64}" )? ){0,16} )
    \s* (?: , | $ )
    """
#: The dictionary of draft 7: ``limit=100, remaining=0, reset=5``.
_ENTRY: Final = r"\s*(limit|remaining|reset)\s*=\s*([0-9]{1,16})\s*(?:;[^,]{0,64})?(?:,|$)"


def lower_headers(headers: Any) -> dict[str, str]:
    """
    Return headers under lower-case names, repeated ones joined by commas; empty for other objects.

    Any object with ``items()`` will do: a dict, ``httpx.Headers``, an ``email.message.Message``, a
    ``CIMultiDict``.
    """
    found: dict[str, str] = {}
    try:
        for key, value in islice(_items(headers), _MAX_HEADERS):
            # Nearly all are short texts, and a call for each would cost as much as the rest.
            short = type(key) is str and type(value) is str and len(value) <= _MAX_LENGTH
            name = key.lower() if short else _text(key).lower()
            text = value if short else _text(value)
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


def delay_from(
    headers: Mapping[str, str] | None, *, now: float | None = None, limited: bool = False
) -> int | None:
    """
    Return the seconds that an answer's headers ask to wait, rounded up; None: they do not say.

    In this order: a header in milliseconds; ``Retry-After``; a vendor's ``...-retry-after``; the
    ``RateLimit`` field of an exhausted limit; the reset of an exhausted vendor limit.

    Args:
        headers: The headers, in any case.
        now: Epoch seconds, where the answer has no ``Date``. None: this machine's clock.
        limited: The answer says that a limit is reached, so a reset counts without a count beside
            it of what remains.
    """
    return delay_in(lower_headers(headers), now=now, limited=limited)


def delay_in(
    known: Mapping[str, str], *, now: float | None = None, limited: bool = False
) -> int | None:
    """
    Return the same as `delay_from`, for headers that `lower_headers` returned.
    """
    if not known:
        return None

    def clock() -> float:
        date = _moment(known.get("date", "").strip())
        if date is not None:
            return date
        return time.time() if now is None else now

    sources: tuple[Callable[[], float | None], ...] = (
        lambda: _milliseconds_wait(known, clock),
        lambda: _seconds(known.get("retry-after", ""), clock),
        lambda: _vendor_wait(known, clock),
        lambda: _ratelimit_wait(known.get("ratelimit", "")),
        lambda: _reset_wait(known, clock, limited=limited),
    )
    for source in sources:
        if (seconds := _sound(source())) is not None:
            return seconds
    return None


def limit_is_reached(headers: Mapping[str, str] | None) -> bool:
    """
    Tell whether the headers speak of a limit of which nothing remains.
    """
    return limit_in(lower_headers(headers))


def limit_in(known: Mapping[str, str]) -> bool:
    """
    Return the same as `limit_is_reached`, for headers that `lower_headers` returned.
    """
    for name, value in known.items():
        if "limit" in name and "remaining" in name and _is_zero(value):
            return True
    return any(_is_zero(remaining) for remaining, _ in _limits(known.get("ratelimit", "")))


def _milliseconds_wait(known: Mapping[str, str], clock: Clock) -> float | None:
    return take_first(known, _MILLISECONDS, lambda value: _seconds(value or "", clock, 0.001))


def _vendor_wait(known: Mapping[str, str], clock: Clock) -> float | None:
    names = [name for name in known if pattern(_RETRY_NAME).fullmatch(name)]
    return longest(_seconds(known[name], clock) for name in names if name not in _MILLISECONDS)


def _ratelimit_wait(text: str) -> float | None:
    resets = [reset for remaining, reset in _limits(text) if _is_zero(remaining)]
    return longest(float(reset) for reset in resets if pattern(_NUMBER).fullmatch(reset))


def _reset_wait(known: Mapping[str, str], clock: Clock, *, limited: bool) -> float | None:
    found = (pattern(_RESET_NAME).fullmatch(name) for name in known if "reset" in name)
    return longest(
        _seconds(known[name[0]], clock, 0.001 if name[3] == "ms" else 1)
        for name in filter(None, found)
        if _is_exhausted(known, name, limited=limited)
    )


def _is_exhausted(known: Mapping[str, str], reset: re.Match[str], *, limited: bool) -> bool:
    left = known.get(f"{reset[1]}-remaining{reset[2]}")
    return limited if left is None else _is_zero(left)


def _is_zero(text: str) -> bool:
    text = text.strip()
    return pattern(_NUMBER).fullmatch(text) is not None and float(text) == 0


def _limits(text: str) -> list[tuple[str, str]]:
    """
    Return the rest of each limit of a ``RateLimit`` field, and its reset; [] if malformed.
    """
    if not text or len(text) > _MAX_LENGTH:
        return []
    entries = _matches(_ENTRY, text)
    if entries:
        members = {match[1]: match[2] for match in entries}
        return [(members.get("remaining", ""), members.get("reset", ""))]
    return [_remaining_and_reset(match[1]) for match in _matches(_MEMBER, text)]


def _matches(source: str, text: str) -> list[re.Match[str]]:
    # Matches that cover the text; none if anything between them is malformed.
    found: list[re.Match[str]] = []
    at = 0
    while at < len(text):
        match = pattern(source).match(text, at)
        if match is None:
            return []
        found.append(match)
        at = match.end()
    return found


def _remaining_and_reset(parameters: str) -> tuple[str, str]:
    pairs = (part.partition("=") for part in parameters.split(";"))
    values = {name.strip(): value.strip() for name, _, value in pairs}
    return values.get("r", ""), values.get("t", "")


# ---- JSON

#: Names of members, without case and punctuation, whose value is a wait; and the unit of a number.
_WAIT_NAME: Final = (
    r"(?:retry(?:after|in|delay|at)|tryagain(?:in|after|at)|resets?(?:after|in|at|time)|backoff|waittime|wait(?=[a-z])"
    r"|cooldown|(?:ratelimit|quota)resets?(?:after|in|at|time)?)(?:in|for)?(ms|millis|milliseconds|s|secs?|seconds)?"
)
#: The value of these names is a point in time.
_MOMENT_NAMES: Final = ("at", "resettime", "resetstime")


def member_wait(name: str, value: Any, *, now: float | None = None) -> int | None:
    """
    Return the wait that a member of a JSON object asks for, in whole seconds, or None.

    Args:
        name: The member's name in any spelling, such as ``retry_after_ms`` or ``retryDelay``.
        value: Its value.
        now: Epoch seconds, for points in time. None: this machine's clock.
    """
    if len(name) > _MAX_SPELLING:
        return None
    bare = pattern(r"[\W_]").sub("", name).lower()
    match = pattern(_WAIT_NAME).fullmatch(bare)
    if match is None:
        return None
    per_second = 1000 if (match[1] or "").startswith("m") else 1
    if bare.endswith(_MOMENT_NAMES) and is_number(value) and value < _EPOCH_SECONDS:
        # No point in time that anybody counts from.
        return None
    exact = bare.startswith("retryafter") and match[1] is not None
    return parse_seconds(value, per_second=per_second, now=now, exact=exact)


def wait_in_json(body: Any, *, now: float | None = None) -> int | None:
    """
    Return the longest wait that a JSON value asks for at any usual depth, in seconds, or None.
    """
    members = islice(_members(body, _MAX_DEPTH), _MAX_VALUES)
    return longest(member_wait(name, value, now=now) for name, value in members)


def _members(value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if is_mapping(value):
        for name, member in value.items():
            if isinstance(name, str):
                yield name, member
            if depth:
                yield from _members(member, depth - 1)
    elif is_array(value) and depth:
        for item in value:
            yield from _members(item, depth - 1)


def wait_in_body(body: str, *, now: float | None = None) -> int | None:
    """
    Return the wait that the body of an answer asks for, as JSON or as prose, in seconds, or None.
    """
    body = body[:_MAX_TEXT]
    waits = [wait_in_prose(body, now=now)]
    if body.lstrip()[:1] in {"{", "["}:
        # Of one that was cut off the words are all there is.
        with suppress(ValueError, RecursionError):
            waits.append(wait_in_json(json.loads(body), now=now))
    return longest(waits)


# ---- prose

#: What stands in front of a wait. After the first alternative a bare number counts as seconds.
#: "Waiting" alone, or after "after", is what has passed: "timed out after waiting 2000 ms".
_LEAD: Final = rf"""(?xi)
    \b(?: (?P<named> retry[-_ ]?(?:after|delay) (?:[-_ ]?(?P<unit>{_UNIT_NAMES}))? )
        | (?: re-?try | try | come\ back | again | available | reset(?:s|ting)?
            | refresh(?:es)? | lifted | unlock(?:s|ed)? )
          (?: \ (?:again|it|this|your\ request|the\ request|the\ call) )?
          \ (?: after | in | at | on | until )
        | next \ (?: request | call | attempt ) \ (?: is \ )? (?: allowed | possible )
          \ (?: after | in | at )
        | (?<!after\ )(?<!after\ a\ )(?<!while\ )
          (?: wait | (?:try|consider|suggest|recommend|by|need|require|worth)s?\ waiting
            | back(?:ing)?[ -]?off | cool(?:ing)?[ -]?down | blocked | limited )
          (?: \ (?:for|until|time|of) ){{0,2}}
      )
    ["']? (?P<link> [ :=]{{1,3}} ) ["']?
    (?: (?:a\ )? (?:wait(?:ing)?|back(?:ing)?[ -]?off|pause) \ (?:(?:for|of)\ )? )?
    (?: (?:at\ least|about|another|approximately|around|up\ to|roughly|is) \  | ~ )?
    """
#: The number of a count, or the beginning of a date or a time of day.
_NO_WAIT: Final = (
    r"(?![\d.,:/-]*\d|[\d.]*%"
    r"| ?(?:more )?(?:attempts?|tries|retries|times|failed|failures|requests?|calls?)\b)"
)
_YEARS: Final = range(1900, 2101)


def wait_in_prose(text: str, *, now: float | None = None) -> int | None:
    """
    Return the first wait that a text asks for, in whole seconds, rounded up and bounded, or None.
    """
    text = text[:_MAX_TEXT]
    clock = _clock_of(now)
    waits = (_parse_after(lead, text, clock) for lead in pattern(_LEAD).finditer(text))
    seconds = next((wait for wait in waits if wait is not None), None)
    return None if seconds is None else min(math.ceil(seconds), MAX_DELAY_SECONDS)


def _parse_after(lead: re.Match[str], text: str, clock: Clock) -> float | None:
    for source in (_ISO_DATE, _HTTP_DATE, _CLOCK, _ISO_DURATION + r"\b", _PARTS):
        match = pattern(source).match(text, lead.end())
        if match is not None:
            return _seconds(match[0].rstrip(" ,"), clock)
    match = pattern(_NUMBER + _NO_WAIT).match(text, lead.end())
    if match is None:
        return None
    value = float(match[0])
    unit = _unit_seconds(lead["unit"]) if lead["unit"] else 1
    if value >= _EPOCH_SECONDS:
        return _number_to_seconds(value, clock, unit)
    is_year = lead["link"] == " " and value in _YEARS
    return None if lead["named"] is None or is_year else value * unit
