"""
What the answer of a tool's upstream means by its status, headers and body.

The meanings of the statuses alone stand in `toolfault._meanings.http`. They are for APIs
*behind* a tool. The MCP endpoint's own statuses are the client's business.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, cast

from toolfault._meanings.http import CONTENDED, LIMIT, PROXY_ERRORS, STATUS, USED_UP, row_for
from toolfault._meanings.limits import is_used_up, names_limit, names_quota
from toolfault._meanings.rows import UPSTREAM, never_again
from toolfault._retry_after import delay_in, limit_in, lower_headers, wait_in_body
from toolfault._verdict import Verdict, replace


__all__ = ["STATUS", "beginning_of", "row_for", "verdict_for"]


#: The statuses with which an intermediary answers for itself.
_INTERMEDIARY: Final = frozenset({403, 502, 503, 504})

#: The statuses whose body may ask to wait.
_MAY_WAIT: Final = frozenset({403, 408, 409, 413, 425, 429, 500, 502, 503, 504, 529})

_proxy_error = re.compile(r"[;,]\s{0,8}error\s{0,8}=\s{0,8}([a-z_]{1,64})").search

#: How much of a body is looked at, and how long one may be to count as short.
_BODY: Final = 4096

_SHOULD_RETRY: Final = ("x-should-retry", "stripe-should-retry")


def verdict_for(
    status: int,
    *,
    headers: Mapping[str, str] | None = None,
    url: str | None = None,
    body: str | None = None,
    quote: str | None = None,
    now: float | None = None,
    peer: str = UPSTREAM,
) -> Verdict:
    """
    Return the verdict on an upstream's answer.

    Args:
        status: The HTTP status.
        headers: The answer's headers, in any case.
        url: What was asked; never shown.
        body: The beginning of the answer's body, where it is at hand; never shown.
        quote: What of the answer may be quoted to callers, if a guard's ``upstream_text`` asks for
            it.
        now: Epoch seconds, for delays that are points in time. None: this machine's clock.
        peer: Who answered, as the subject of a sentence.
    """
    known = lower_headers(headers)
    body = (body or "")[:_BODY]
    delay = delay_in(known, now=now, limited=status == 429)
    if delay is None and body and status in _MAY_WAIT:
        delay = wait_in_body(body, now=now)
    row = _row_for_answer(status, known, delay, body.lower())
    if row.retryable and _should_retry(known, "false"):
        row = never_again(row)
    return replace(
        row,
        retry_after_seconds=delay if row.retryable else None,
        peer=peer,
        note=_note(status),
        upstream_status=status if 100 <= status <= 999 else None,
        urls=(url,) if url else (),
        maybe_proxy=row is STATUS[403],
        quote=quote,
    )


def beginning_of(content: object) -> str | None:
    """
    Return the beginning of an answer's body as text, if it is at hand as bytes.
    """
    if not issubclass(type(content), bytes):
        return None
    return bytes.__getitem__(cast("bytes", content), slice(_BODY)).decode("utf-8", "replace")


def _row_for_answer(status: int, known: Mapping[str, str], delay: int | None, body: str) -> Verdict:
    if status in _INTERMEDIARY:
        named = _proxy_error(f";{known.get('proxy-status', '')}")
        row = PROXY_ERRORS.get(named[1]) if named else None
        if row is not None:
            return row
    if status == 409 and (delay is not None or _should_retry(known, "true")):
        return CONTENDED
    if status == 403 and delay is None and names_quota(body):
        # With a rate that is too high these APIs say so, or answer 429.
        return USED_UP
    if _is_limit(status, known, delay, body):
        return USED_UP if is_used_up(body, delay) else LIMIT
    return row_for(status)


def _is_limit(status: int, known: Mapping[str, str], delay: int | None, body: str) -> bool:
    if status == 403:
        return delay is not None or limit_in(known) or names_limit(body)
    return status == 429 or (status == 413 and delay is not None)


def _should_retry(known: Mapping[str, str], flag: str) -> bool:
    """
    Tell whether a vendor's header has this flag: ``true`` asks for another try.
    """
    return any(known.get(name, "").lower() == flag for name in _SHOULD_RETRY)


def _note(status: int) -> str:
    if status in STATUS:
        return f"HTTP {status}"
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"
