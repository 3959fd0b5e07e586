"""
SEP-3313, a draft: a failure as one object in a result's ``_meta``.

Rule 1: the object has a class and a code, and neither a message nor room for our facts: those stand
beside it.
Rule 2: only failures of reliability may be called retryable.
Rule 3: its moments are Unix milliseconds, ours are seconds from now; both ways round up.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from toolfault._codes import McpErrorCategory, McpErrorCode, fold_code
from toolfault._envelope import McpExecuteError
from toolfault._json import as_flag, as_mapping, as_text, is_number, is_text, try_json
from toolfault._meanings.words import meaning_of
from toolfault._names import META_KEY, TOOL_FAILURE_KEY
from toolfault._retry_after import parse_seconds
from toolfault._sanitize import (
    ID_BYTES,
    build_envelope,
    decode_envelope,
    read_facts,
    sanitize,
    sanitize_first,
)
from toolfault._text import encodable
from toolfault._wire import to_result
from toolfault.errors import ToolFault


__all__ = ["TOOL_FAILURE_KEY", "decode", "encode", "failure_in", "failure_of"]

#: The classes, and the category that each means here.
_CLASSES: Final = {
    "capability": McpErrorCategory.PERMANENT,
    "reliability": McpErrorCategory.TRANSIENT,
    "governance": McpErrorCategory.AUTH,
}
_CLASS_OF: Final = {
    **{category: name for name, category in _CLASSES.items()},
    McpErrorCategory.VALIDATION: "capability",
    McpErrorCategory.UNKNOWN: "capability",
}

#: The draft's own word for what a policy stops.
_BLOCKED: Final = "policy_blocked"


def encode(
    fault: ToolFault, *, correlation_id: str | None = None, clock: Callable[[], float] = time.time
) -> dict[str, Any]:
    """
    Return the members of a result's ``_meta`` for a fault: the draft's object and ours.

    Args:
        fault: What went wrong.
        correlation_id: What the log repeats. None: the fault's own id, or a new one.
        clock: Unix seconds.
    """
    failure = failure_of(fault, correlation_id=correlation_id, clock=clock)
    return {
        TOOL_FAILURE_KEY: failure,
        META_KEY: to_result(fault, structured=False)["_meta"][META_KEY],
    }


def decode(
    meta: object, texts: Iterable[str] = (), *, clock: Callable[[], float] = time.time
) -> ToolFault | None:
    """
    Return the fault that a result's ``_meta`` tells of. Never raises.

    Args:
        meta: The ``_meta``.
        texts: The texts of the result's content, for the message.
        clock: Unix seconds.

    Returns:
        Our envelope where the same ``_meta`` holds one with the same code, else what the draft's
        object says. None: there is no such object.
    """
    given = as_mapping(meta)
    failure = given.get(TOOL_FAILURE_KEY)
    read = failure_in(failure, texts, clock=clock)
    if read is None:
        return None
    envelope, failure_id = read
    outcome, facts = read_facts(ours := as_mapping(given.get(META_KEY)))
    whole = decode_envelope(ours.get("error"))
    if whole is None or whole.code is not envelope.code:
        whole, outcome, facts = envelope, None, {}
    if failure_id:
        facts.setdefault("id", failure_id)
    return ToolFault.of(
        whole, outcome=outcome, facts=facts, found_in="tool_failure", received=failure
    )


def failure_of(
    fault: ToolFault, *, correlation_id: str | None = None, clock: Callable[[], float] = time.time
) -> dict[str, Any]:
    """
    Return the draft's object alone; arguments as in `encode`.
    """
    envelope = fault.envelope
    blocked = envelope.code is McpErrorCode.NETWORK_BLOCKED
    kind = "governance" if blocked else _CLASS_OF[envelope.category]
    known = as_text(fault.facts.get("id")) or os.urandom(6).hex()
    failure: dict[str, Any] = {
        "class": kind,
        "code": _BLOCKED if blocked else envelope.code.value,
        "retryable": envelope.retryable and kind == "reliability",
        "correlationId": encodable(correlation_id or known),
    }
    if envelope.retry_after_seconds is not None:
        failure["retryNotBefore"] = math.ceil((clock() + envelope.retry_after_seconds) * 1000)
    if envelope.hint:
        failure["agentGuidance"] = encodable(envelope.hint)
    return failure


def failure_in(
    body: object, texts: Iterable[str], *, clock: Callable[[], float] = time.time
) -> tuple[McpExecuteError, str] | None:
    """
    Return the draft's object as envelope and correlation id; None without a class or code.

    Args:
        body: What stands under `TOOL_FAILURE_KEY`.
        texts: Texts beside it, for the message.
        clock: Unix seconds.
    """
    failure = as_mapping(body)
    word, kind = failure.get("code"), failure.get("class")
    category = _CLASSES.get(as_text(kind))
    if category is None or not is_text(word):
        return None
    code = _code(word)
    if code is McpErrorCode.INVALID_ARGUMENTS and kind == "capability":
        category = McpErrorCategory.VALIDATION
    elif code is McpErrorCode.NETWORK_BLOCKED:
        category = McpErrorCategory.PERMANENT
    said = sanitize_first(text for text in texts if try_json(text) is None)
    envelope = build_envelope(
        code,
        said or f"The tool failed with the code {sanitize(word, ID_BYTES)}.",
        category=category,
        # The draft allows it for this class alone.
        retryable=kind == "reliability" and as_flag(failure.get("retryable")) is True,
        retry_after_seconds=_seconds_until(failure, clock),
        hint=failure.get("agentGuidance"),
    )
    return envelope, sanitize(failure.get("correlationId"), ID_BYTES)


def _code(word: str) -> McpErrorCode:
    known = fold_code(word)
    meant = meaning_of(word) if known is McpErrorCode.UNKNOWN else None
    return known if meant is None else meant.code


def _seconds_until(failure: Mapping[Any, Any], clock: Callable[[], float]) -> int | None:
    """
    Return the seconds from now until a moment in Unix milliseconds, rounded up; 0 if it is past.
    """
    moment = failure.get("retryNotBefore")
    if not is_number(moment) or moment != moment:  # noqa: PLR0124 -- NaN; ints may be too large for math
        return None
    # In whole milliseconds, as `failure_of` writes them: a fraction of one would make another
    # second.
    now = math.ceil(clock() * 1000)
    return parse_seconds(moment - now if moment > now else 0, per_second=1000)
