"""
Sanitized values of a peer: texts, facts and envelopes.

Rule 1: what a peer sends is a claim. A claim that makes no sense is dropped alone.
Rule 2: no text of a peer goes on but through `sanitize`: redacted, and cut to size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final, get_args

from toolfault._bridge_record import RECORD_FACT, read_record
from toolfault._codes import McpErrorCategory, McpErrorCode, fill_defaults
from toolfault._envelope import InvalidEnvelope, McpExecuteError, build_trusted
from toolfault._json import JsonCopier, is_array, is_text
from toolfault._redact import Redactor
from toolfault._text import CAUSE_BYTES, HINT_BYTES, MESSAGE_BYTES, pattern, safe_str
from toolfault._verdict import Origin, Outcome, Verdict


#: How many causes are kept, the newest; the server half writes no more.
MAX_CAUSES: Final = 8

#: The size of an id, or of a foreign code, in bytes; and how many violations are kept.
ID_BYTES: Final = 128
_MAX_VIOLATIONS: Final = 32

#: How much of them is sanitized in all, in characters, and how many a value counts for at least.
_VIOLATIONS_ROOM: Final = 16384
_VALUE_COST: Final = 32

_ORIGINS: Final = frozenset(get_args(Origin))
_OUTCOMES: Final = frozenset(get_args(Outcome))

SILENT: Final = "The tool failed without saying why."


# ---- texts


@cache
def _redactor() -> Redactor:
    # Paths stay: the server chose to send its own.
    return Redactor(roots=())


def sanitize(text: Any, limit: int) -> str:
    """
    Sanitize a peer's text to at most *limit* bytes of UTF-8; "" if it is not a str.
    """
    return _redactor().scrub(text, limit) if isinstance(text, str) and text else ""


def sanitize_first(texts: Iterable[str]) -> str:
    """
    Return the first text that is not empty once sanitized, as a message; "" if there is none.
    """
    return next(filter(None, (sanitize(text, MESSAGE_BYTES) for text in texts)), "")


def _sanitize_causes(causes: Iterable[Any]) -> tuple[str, ...]:
    return tuple(filter(None, (sanitize(cause, CAUSE_BYTES) for cause in causes)))


# ---- envelopes


def build_envelope(
    code: McpErrorCode,
    message: str,
    *,
    category: McpErrorCategory | None = None,
    retryable: bool | None = None,
    retry_after_seconds: int | None = None,
    hint: Any = None,
    causes: Iterable[Any] = (),
) -> McpExecuteError:
    """
    Return an envelope with sanitized texts; None for a member takes the code's default.
    """
    category, retryable = fill_defaults(code, category, retryable)
    return build_trusted(
        code=code,
        message=sanitize(message, MESSAGE_BYTES) or SILENT,
        category=category,
        retryable=retryable,
        retry_after_seconds=retry_after_seconds,
        hint=sanitize(hint, HINT_BYTES) or None,
        cause_chain=_sanitize_causes(causes),
    )


def envelope_for_verdict(verdict: Verdict, text: str) -> McpExecuteError:
    """
    Return the envelope of a verdict, with a text as its message.
    """
    return build_envelope(
        verdict.code,
        text,
        category=verdict.category,
        retryable=verdict.retryable,
        retry_after_seconds=verdict.retry_after_seconds,
        hint=verdict.hint,
    )


def decode_envelope(
    body: Any, texts: Callable[[], Iterable[str]] = tuple
) -> McpExecuteError | None:
    """
    Decode *body* strictly (E17 to E25) and sanitize its texts; None if it is not an envelope.

    Args:
        body: Any object.
        texts: Asked for texts beside the object, if its message is empty.
    """
    try:
        envelope = McpExecuteError.from_wire(body, revision="0.48")
    except InvalidEnvelope:
        return None
    message = sanitize(envelope.message, MESSAGE_BYTES) or sanitize_first(texts()) or SILENT
    hint = sanitize(envelope.hint, HINT_BYTES) or None
    # Oldest first, so the newest stand at the end.
    causes = _sanitize_causes(envelope.cause_chain[-MAX_CAUSES:])
    if message == envelope.message and hint == envelope.hint and causes == envelope.cause_chain:
        return envelope
    return envelope.model_copy(update={"message": message, "hint": hint, "cause_chain": causes})


# ---- facts


def read_facts(ours: Mapping[Any, Any]) -> tuple[Outcome | None, dict[str, Any]]:
    """
    Return the outcome, and those facts that make sense, from our place in ``_meta``.
    """
    # Most results have none.
    read = {name: reader(ours[name]) for name, reader in _FACTS.items() if name in ours}
    facts: dict[str, Any] = {name: value for name, value in read.items() if value is not None}
    return facts.get("outcome"), facts


def _one_of(words: frozenset[str]) -> Callable[[Any], str | None]:
    return lambda value: value if isinstance(value, str) and value in words else None


def _record(value: Any) -> Any:
    # Carried as it came: the dialects check it before anything of it counts, or is shown.
    return None if read_record(value) is None else value


def _tidy(violations: object) -> Any:
    """
    Return a peer's violations of refused arguments, sanitized and bounded.
    """
    copier = JsonCopier(
        text=lambda text, _name: sanitize(text, CAUSE_BYTES),
        key=lambda key: sanitize(safe_str(key), ID_BYTES),
        other=_nothing,
        depth=4,
        members=_MAX_VIOLATIONS,
        room=_VIOLATIONS_ROOM,
        cost=_VALUE_COST,
    )
    return copier.copy(violations)


def _nothing(_value: object) -> None:
    return None


def http_status(value: Any) -> int | None:
    """
    Return a failed HTTP status from a number or its three digits, or None.
    """
    if is_text(value) and pattern(_STATUS).fullmatch(value):
        value = int(value)
    return value if type(value) is int and 400 <= value <= 599 else None


_STATUS: Final = "[45][0-9]{2}"


#: The facts, and what reads each; None is a fact that makes no sense.
_FACTS: Final[dict[str, Callable[[Any], Any]]] = {
    "id": lambda value: sanitize(value, ID_BYTES) or None,
    "origin": _one_of(_ORIGINS),
    "outcome": _one_of(_OUTCOMES),
    "upstream_status": http_status,
    "violations": lambda value: _tidy(value) if is_array(value) else None,
    RECORD_FACT: _record,
}
