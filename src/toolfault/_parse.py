"""
Reading a failure out of whatever a peer, or its SDK, answered.

Rule 1: a flag makes a failure, words don't: what is not flagged is a success, and `suspect` tells a suspicion apart.
Rule 2: a full envelope in any place beats a weaker form in any place; prose comes last.
Rule 3: what a peer sends is a claim. A claim that makes no sense is dropped alone, and every text is made safe.
Rule 4: nothing here raises, whatever a peer sends.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any, Final, TypeVar, get_args

from toolfault._backoff import claimed_seconds
from toolfault._causes import causes_of, leaves_of
from toolfault._codes import DEFAULTS, McpErrorCategory, McpErrorCode, fold_category, fold_code
from toolfault._envelope import InvalidEnvelope, McpExecuteError
from toolfault._json import is_array, is_mapping
from toolfault._names import META_KEY, qualified_name
from toolfault._prose import careful, looks_failed, peel
from toolfault._redact import Redactor
from toolfault._text import CAUSE_BYTES, HINT_BYTES, MESSAGE_BYTES, WINDOW, safe_str, text_of
from toolfault._verdict import Origin, Outcome, Verdict
from toolfault._wire import TOOL_FAILURE_KEY, Reading, as_flag, as_mapping, json_in, member, read
from toolfault.errors import FoundIn, ToolFault
from toolfault.rules import DEFAULT


_log = logging.getLogger("toolfault")

T = TypeVar("T")

#: How deep results, tasks and JSON-RPC answers may be wrapped in one another.
_MAX_DEPTH: Final = 4

#: How many causes are kept, the newest; the server half writes no more.
_MAX_CAUSES: Final = 8

#: The size of an id, or of a foreign code, in bytes; and how many violations are kept.
_ID_BYTES: Final = 128
_MAX_VIOLATIONS: Final = 32

_ORIGINS: Final = frozenset(get_args(Origin))
_OUTCOMES: Final = frozenset(get_args(Outcome))

_SILENT: Final = "The tool failed without saying why."
_UNREADABLE: Final = "The tool failed, and its answer could not be read."


def parse(anything: object, *, tool: str | None = None, arguments: Mapping[str, Any] | None = None) -> ToolFault | None:
    """
    Return the failure that an answer is, as an unraised `ToolFault`; None for a success. Never raises.

    Args:
        anything: A result of any SDK version or as a dict, a JSON-RPC answer or error, a task, or an exception.
            A cancellation is no failure of the tool.
        tool: The name that was called, for reading prose: a tool called ``get_quota`` has not run out of one.
        arguments: What it was called with, likewise.
    """
    try:
        return _parsed(anything, _Reader(tool, arguments), _MAX_DEPTH)
    except Exception:  # noqa: BLE001 -- whatever a peer sends; it is logged with its traceback
        _log.exception("an answer could not be read; it counts as a failure if it says so itself")
        return _fallback(anything)


def suspect(result: object, *, tool: str | None = None, arguments: Mapping[str, Any] | None = None) -> ToolFault | None:
    """
    Return the failure that a result looks like although it is not flagged as one; None where nothing says so.

    It is a suspicion, wrong for tools that read or echo text: never retry on it. Never raises.

    Args:
        result: As for `parse`.
        tool: The name that was called.
        arguments: What it was called with.
    """
    try:
        reading = read(result)
        if reading is None or reading.is_error:
            return None
        return _suspected(reading, _Reader(tool, arguments))
    except Exception:  # noqa: BLE001 -- as `parse`
        _log.exception("a result could not be read; it stays a success")
        return None


def raise_for_error(result: T) -> T:
    """
    Return a result that is a success.

    Raises:
        ToolFault: It is a failure.
    """
    fault = parse(result)
    if fault is None:
        return result
    if isinstance(result, BaseException) and result is not fault:
        raise fault from result
    raise fault


# ---- from any form to the few that there are


@dataclass(frozen=True, slots=True)
class _Reader:
    """
    What the caller knows of its call.
    """

    tool: str | None = None
    arguments: Mapping[str, Any] | None = None

    def prose(self, text: str, rpc_code: int | None = None) -> Verdict | None:
        return careful(text[:WINDOW], tool=self.tool, arguments=self.arguments, rpc_code=rpc_code)


def _parsed(anything: object, reader: _Reader, depth: int) -> ToolFault | None:
    if isinstance(anything, BaseException):
        return _of_exception(anything, reader)
    reading = read(anything)
    if reading is not None:
        return _of_result(reading, reader) if reading.is_error else None
    if depth == 0 or anything is None or isinstance(anything, str | bytes | int | float | list | tuple):
        return None
    if _is_rpc_error(anything):
        return _of_rpc(anything, reader)
    status = member(anything, "status")
    if isinstance(status, str) and member(anything, "taskId", "task_id") is not None:
        return _of_task(anything, status, reader, depth)
    error = member(anything, "error")
    if error is not None and _is_rpc_error(error):
        return _of_rpc(error, reader)
    if error is not None and is_mapping(error) and (claim := _claim_of(error)):
        return claim.fault("jsonrpc_error", reader, received=error)
    if (inner := member(anything, "result")) is not None:
        return _parsed(inner, reader, depth - 1)
    envelope = _full(anything)
    return None if envelope is None else _fault(envelope, found_in="structured_content", received=anything)


def _of_task(task: object, status: str, reader: _Reader, depth: int) -> ToolFault | None:
    # A completed task may hold a failed result; a failed one holds the error that ended it, in one of two places.
    if (inner := member(task, "result")) is not None:
        return _parsed(inner, reader, depth - 1)
    if status != "failed":
        return None
    error = member(task, "error")
    if error is not None and _is_rpc_error(error):
        return _of_rpc(error, reader)
    said = member(task, "statusMessage", "status_message")
    return _of_prose([said] if isinstance(said, str) else [], reader, McpErrorCode.INTERNAL, received=task)


def _of_result(reading: Reading, reader: _Reader) -> ToolFault:
    outcome, facts = _facts(reading.ours)
    weaker: list[tuple[FoundIn, Any]] = []
    behind: Iterator[tuple[FoundIn, Any]] = (("text", body) for body in _behind_prefixes(reading.texts))
    for place, body in chain(reading.bodies(), behind):
        if place == "tool_failure":
            if (failure := _tool_failure(body, reading.texts)) is not None:
                envelope, correlation = failure
                facts = {"id": correlation, **facts} if correlation else facts
                return _fault(envelope, found_in=place, received=body, outcome=outcome, facts=facts)
            continue
        for candidate in _layers(body):
            if (full := _full(candidate, lambda: reading.texts)) is not None:
                return _fault(full, found_in=place, received=candidate, outcome=outcome, facts=facts)
        weaker.append((place, body))
    for place, body in weaker:
        for candidate in _layers(body):
            if (claim := _claim_of(candidate)) is not None:
                return claim.fault(place, reader, texts=reading.texts, received=candidate, outcome=outcome, facts=facts)
    silent = McpErrorCode.UNKNOWN if reading.blank else McpErrorCode.INTERNAL
    return _of_prose(reading.texts, reader, silent, outcome=outcome, facts=facts)


def _layers(body: Any) -> Iterator[Mapping[Any, Any]]:
    """
    Go through an object and what wrappers put into it: ``{"error": {...}}``, and the SDKs' ``{"result": ...}``.
    """
    if not is_mapping(body):
        return
    yield body
    for name in ("error", "result"):
        inner: Any = body.get(name)
        if isinstance(inner, str):
            inner = json_in(inner)
        if is_mapping(inner):
            yield inner


def _behind_prefixes(texts: Iterable[str]) -> Iterator[Any]:
    """
    Go through the JSON that stands in texts behind words which an SDK put before it.
    """
    for text in texts:
        if "{" in text[:WINDOW] and not text.startswith("{") and (body := json_in(peel(text))) is not None:
            yield body


def _suspected(reading: Reading, reader: _Reader) -> ToolFault | None:
    texts = [text for text in reading.texts if looks_failed(text)]
    if not texts and not reading.texts and reading.structured is not None:
        # The SDKs write structured content into a text as well; this server did not.
        texts = [text for text in (safe_str(reading.structured),) if looks_failed(text)]
    for text in texts:
        for candidate in _layers(json_in(text)):
            if (claim := _claim_of(candidate)) is not None:
                return claim.fault("text", reader, texts=texts, received=candidate)
    return _of_prose(texts, reader, McpErrorCode.INTERNAL) if texts else None


def _fallback(anything: object) -> ToolFault | None:
    # The class as it is, not as the object says.
    if not issubclass(type(anything), Exception) and member(anything, "isError", "is_error") is not True:
        return None
    return ToolFault.of(McpExecuteError.new(McpErrorCode.UNKNOWN, _UNREADABLE), found_in="exception")


# ---- making safe values of claims


@cache
def _redactor() -> Redactor:
    # Paths stay: they are the server's own, and what it told is told.
    return Redactor(roots=())


def _shown(text: Any, limit: int) -> str:
    return _redactor().scrub(text, limit) if isinstance(text, str) and text else ""


def _envelope(
    code: McpErrorCode,
    message: str,
    *,
    category: McpErrorCategory | None = None,
    retryable: bool | None = None,
    retry_after_seconds: int | None = None,
    hint: Any = None,
    causes: Iterable[Any] = (),
) -> McpExecuteError:
    default_category, default_retryable = DEFAULTS[code]
    return McpExecuteError.model_construct(
        code=code,
        message=_shown(message, MESSAGE_BYTES) or _SILENT,
        category=default_category if category is None else category,
        retryable=default_retryable if retryable is None else retryable,
        retry_after_seconds=retry_after_seconds,
        hint=_shown(hint, HINT_BYTES) or None,
        cause_chain=tuple(text for cause in causes if (text := _shown(cause, CAUSE_BYTES))),
    )


def _fault(
    envelope: McpExecuteError,
    *,
    found_in: FoundIn,
    received: Any = None,
    outcome: Outcome | None = None,
    facts: Mapping[str, Any] | None = None,
) -> ToolFault:
    return ToolFault.of(envelope, outcome=outcome, facts=facts, received=received, found_in=found_in)


def _facts(ours: Mapping[Any, Any]) -> tuple[Outcome | None, dict[str, Any]]:
    """
    Return the outcome, and those facts from our place in ``_meta`` that make sense.
    """
    facts: dict[str, Any] = {}
    if not ours:
        return None, facts
    if failure_id := _shown(ours.get("id"), _ID_BYTES):
        facts["id"] = failure_id
    origin, outcome = ours.get("origin"), ours.get("outcome")
    if isinstance(origin, str) and origin in _ORIGINS:
        facts["origin"] = origin
    if isinstance(outcome, str) and outcome in _OUTCOMES:
        facts["outcome"] = outcome
    if (status := _http_status(ours.get("upstream_status"))) is not None:
        facts["upstream_status"] = status
    violations: Any = ours.get("violations")
    if is_array(violations):
        facts["violations"] = [_tidy(item, 3) for item in violations[:_MAX_VIOLATIONS]]
    return facts.get("outcome"), facts


def _tidy(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _shown(value, CAUSE_BYTES)
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    if depth and is_mapping(value):
        pairs = list(value.items())[:_MAX_VIOLATIONS]
        return {_shown(safe_str(key), _ID_BYTES): _tidy(item, depth - 1) for key, item in pairs}
    if depth and is_array(value):
        return [_tidy(item, depth - 1) for item in value[:_MAX_VIOLATIONS]]
    return None


# ---- full envelopes


def _full(body: Any, texts: Callable[[], Iterable[str]] = tuple) -> McpExecuteError | None:
    """
    Return the envelope that an object is by the contract's strict decoder, made safe. None: it is none.

    Args:
        body: Any object.
        texts: Asked for texts beside the object, if its message is empty.
    """
    try:
        envelope = McpExecuteError.from_wire(body)
    except InvalidEnvelope:
        return None
    message = _shown(envelope.message, MESSAGE_BYTES) or _first_shown(texts()) or _SILENT
    hint = _shown(envelope.hint, HINT_BYTES) or None
    # Oldest first, so the newest stand at the end.
    newest = envelope.cause_chain[-_MAX_CAUSES:]
    causes = tuple(text for cause in newest if (text := _shown(cause, CAUSE_BYTES)))
    if message == envelope.message and hint == envelope.hint and causes == envelope.cause_chain:
        return envelope
    return envelope.model_copy(update={"message": message, "hint": hint, "cause_chain": causes})


def _first_shown(texts: Iterable[str]) -> str:
    return next((shown for text in texts if (shown := _shown(text, MESSAGE_BYTES))), "")


#: The classes of SEP-3313, and the category that each means here.
_CLASSES: Final = {
    "capability": McpErrorCategory.PERMANENT,
    "reliability": McpErrorCategory.TRANSIENT,
    "governance": McpErrorCategory.AUTH,
}


def _tool_failure(body: Any, texts: Iterable[str]) -> tuple[McpExecuteError, str] | None:
    """
    Return the envelope and the correlation id of a SEP-3313 object. None: it lacks its class or its code.
    """
    failure = as_mapping(body)
    word, kind = failure.get("code"), failure.get("class")
    category = _CLASSES.get(kind) if isinstance(kind, str) else None
    if category is None or not isinstance(word, str):
        return None
    meant = _foreign(word)
    code = McpErrorCode.UNKNOWN if meant is None else meant.code
    if code is McpErrorCode.INVALID_ARGUMENTS and kind == "capability":
        category = McpErrorCategory.VALIDATION
    elif code is McpErrorCode.NETWORK_BLOCKED:
        category = McpErrorCategory.PERMANENT
    said = _first_shown(text for text in texts if json_in(text) is None)
    envelope = _envelope(
        code,
        said or f"The tool failed with the code {_shown(word, _ID_BYTES)}.",
        category=category,
        # The draft allows it for this class alone.
        retryable=kind == "reliability" and as_flag(failure.get("retryable")) is True,
        retry_after_seconds=_seconds_until(failure.get("retryNotBefore")),
        hint=failure.get("agentGuidance"),
    )
    return envelope, _shown(failure.get("correlationId"), _ID_BYTES)


def _seconds_until(moment: Any) -> int | None:
    """
    Return the seconds from now until a moment in Unix milliseconds, rounded up; 0 if it is past.
    """
    if isinstance(moment, bool) or not isinstance(moment, int | float):
        return None
    return claimed_seconds(max(0, moment - time.time() * 1000), per_second=1000) if moment == moment else None  # noqa: PLR0124 -- NaN


# ---- weaker forms: an envelope with members missing, and other people's


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """
    What an object claims about a failure; None where it claims nothing that makes sense.
    """

    word: str | None
    own: bool
    status: int | None
    message: str | None
    category: McpErrorCategory | None
    retryable: bool | None
    delay: int | None
    hint: str | None
    causes: tuple[Any, ...]

    def verdict(self, reader: _Reader) -> Verdict:
        if self.own:
            return Verdict(code=fold_code(self.word or ""))
        if self.word is not None and (meant := _foreign(self.word)) is not None:
            return meant
        if self.status is not None:
            return _of_status(self.status)
        if self.message and (meant := reader.prose(self.message)) is not None:
            return meant
        return Verdict(code=McpErrorCode.INTERNAL if self.word is None else McpErrorCode.UNKNOWN)

    def fault(
        self,
        found_in: FoundIn,
        reader: _Reader,
        *,
        texts: Iterable[str] = (),
        received: Any = None,
        outcome: Outcome | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> ToolFault:
        verdict = self.verdict(reader)
        said = self.message or _first_shown(text for text in texts if json_in(text) is None)
        if not said and self.word:
            said = f"The tool failed with the code {_shown(self.word, _ID_BYTES)}."
        said = said or verdict.message or ""
        facts = dict(facts or {})
        if self.status is not None:
            facts.setdefault("upstream_status", self.status)
        envelope = _envelope(
            verdict.code,
            said,
            category=verdict.category if self.category is None else self.category,
            retryable=verdict.retryable if self.retryable is None else self.retryable,
            retry_after_seconds=verdict.retry_after_seconds if self.delay is None else self.delay,
            hint=self.hint,
            causes=self.causes,
        )
        return _fault(envelope, found_in=found_in, received=received, outcome=outcome, facts=facts)


_CODE_NAMES: Final = ("code", "error_code", "errorCode", "error_type", "errorType", "type", "kind", "reason", "name")
_STATUS_NAMES: Final = ("status", "status_code", "statusCode", "http_status", "httpStatus", "code", "error_code")
#: Under the first a text is what went wrong; under the second it may be anything, unless something else tells.
_MESSAGE_NAMES: Final = ("message", "error", "error_message", "errorMessage", "detail", "error_description")
_OTHER_MESSAGE_NAMES: Final = ("details", "description", "title")
_RETRYABLE_NAMES: Final = ("retryable", "is_retryable", "isRetryable")
_SECONDS_NAMES: Final = ("retry_after_seconds", "retryAfterSeconds", "retry_after", "retryAfter", "Retry-After")
_MILLISECONDS_NAMES: Final = ("retry_after_ms", "retryAfterMs")
_HINT_NAMES: Final = ("hint", "suggestion", "agentGuidance")


def _claim_of(obj: Mapping[Any, Any], depth: int = _MAX_DEPTH) -> _Claim | None:
    """
    Return what an object claims about a failure. None: nothing that tells more than its text would.
    """
    nested: Any = obj.get("error")
    if is_mapping(nested) and depth:
        # The inner object says what happened; the outer may add a delay or a status.
        inner = _claim_of(nested, depth - 1)
        outer = _claim_of({name: value for name, value in obj.items() if name != "error"})
        if inner is None or outer is None:
            return inner or outer
        return replace(
            inner,
            status=outer.status if inner.status is None else inner.status,
            retryable=outer.retryable if inner.retryable is None else inner.retryable,
            delay=outer.delay if inner.delay is None else inner.delay,
            hint=outer.hint if inner.hint is None else inner.hint,
        )
    category, retryable, delay = _category(obj.get("category")), _flag(obj), _delay(obj)
    word = _word(obj, own_shape=category is not None and retryable is not None)
    own = word is not None and (_is_known(word) or (category is not None and retryable is not None))
    if category is McpErrorCategory.UNKNOWN and not own:
        # A word of another vocabulary says nothing here.
        category = None
    causes: Any = obj.get("cause_chain")
    claim = _Claim(
        word=word,
        own=own,
        status=next((status for name in _STATUS_NAMES if (status := _http_status(obj.get(name))) is not None), None),
        message=_first_text(obj, _MESSAGE_NAMES),
        category=category,
        retryable=retryable,
        delay=delay,
        hint=_first_text(obj, _HINT_NAMES),
        causes=tuple(causes[-_MAX_CAUSES:]) if is_array(causes) else (),
    )
    if not (claim.word or claim.message or claim.status is not None or delay is not None or retryable is not None):
        return None
    return claim if claim.message else replace(claim, message=_first_text(obj, _OTHER_MESSAGE_NAMES))


def _is_known(word: str) -> bool:
    return fold_code(word) is not McpErrorCode.UNKNOWN or word == McpErrorCode.UNKNOWN


def _word(obj: Mapping[Any, Any], *, own_shape: bool) -> str | None:
    """
    Return the word by which an object names its failure: one that means something here, else the first.
    """
    code: Any = obj.get("code")
    if isinstance(code, str) and code and (own_shape or _is_known(code)):
        return code[:WINDOW]
    words = [word[:WINDOW] for name in _CODE_NAMES if isinstance(word := obj.get(name), str) and word]
    # Only these two are a name for a failure and nothing else.
    return next((word for word in words if _foreign(word)), None) or next(
        (
            word[:WINDOW]
            for name in ("code", "error_code", "errorCode")
            if isinstance(word := obj.get(name), str) and word
        ),
        None,
    )


def _category(value: Any) -> McpErrorCategory | None:
    return fold_category(value) if isinstance(value, str) else None


def _flag(obj: Mapping[Any, Any]) -> bool | None:
    return next((flag for name in _RETRYABLE_NAMES if (flag := as_flag(obj.get(name))) is not None), None)


def _delay(obj: Mapping[Any, Any]) -> int | None:
    for names, per_second in ((_SECONDS_NAMES, 1), (_MILLISECONDS_NAMES, 1000)):
        for name in names:
            if (seconds := claimed_seconds(obj.get(name), per_second=per_second)) is not None:
                return seconds
    return None


def _first_text(obj: Mapping[Any, Any], names: Iterable[str]) -> str | None:
    for name in names:
        value: Any = obj.get(name)
        if isinstance(value, str) and value and not value.isspace():
            return value
    return None


def _http_status(value: Any) -> int | None:
    if isinstance(value, str) and len(value) == 3 and value.isascii() and value.isdigit():
        value = int(value)
    return value if type(value) is int and 400 <= value <= 599 else None


_TRANSIENT: Final = Verdict(code=McpErrorCode.INTERNAL, category=McpErrorCategory.TRANSIENT, retryable=True)


def _of_status(status: int) -> Verdict:
    """
    Return what an HTTP status means of which a tool tells.
    """
    from toolfault.rules.http import verdict_for  # noqa: PLC0415 -- a table that few answers need

    return verdict_for(status)


#: Words of other vocabularies, in snake_case and without "error" or "exception" around them.
_FOREIGN_WORDS: Final = {
    McpErrorCode.QUOTA_EXCEEDED: """
        insufficient_quota limit_exceeded quota quota_exhausted rate_limit rate_limit_exceeded rate_limit_reached
        rate_limited ratelimit ratelimited request_limit_exceeded resource_exhausted slow_down throttled throttling
        too_many_requests usage_limit_exceeded
    """,
    McpErrorCode.TOOL_TIMEOUT: """
        connect_timeout deadline deadline_exceeded etimedout gateway_timeout read_timeout request_timed_out
        request_timeout timed_out timeout upstream_timeout
    """,
    McpErrorCode.PERMISSION_DENIED: """
        access_denied auth authentication authentication_failed authentication_required authorization
        authorization_failed eacces eperm expired_token forbidden insufficient_permissions insufficient_scope
        invalid_api_key invalid_auth invalid_credentials invalid_token missing_scope not_authorized permission
        restricted_resource token_expired token_revoked unauthenticated unauthorized user_rejected
    """,
    McpErrorCode.INVALID_ARGUMENTS: """
        already_exists bad_request conflict enoent failed_precondition invalid_argument invalid_argument_value
        invalid_input invalid_parameter invalid_parameters invalid_params invalid_request invalid_type missing_argument
        missing_parameter missing_required_parameter not_found object_not_found out_of_range resource_not_found
        schema_validation unprocessable unprocessable_entity validation validation_failed
    """,
    McpErrorCode.TOOL_NOT_FOUND: "no_such_tool unknown_tool",
    McpErrorCode.NETWORK_BLOCKED: "egress_blocked egress_denied policy_blocked",
    McpErrorCode.TOOL_PANICKED: "crash crashed panic panicked",
}
_FOREIGN_TRANSIENT: Final = """
    bad_gateway connection connection_refused connection_reset econnrefused econnreset eai_again fetch_failed network
    overloaded server_busy service_unavailable temporarily_unavailable unavailable upstream_unavailable
"""


@cache
def _foreign_table() -> dict[str, Verdict]:
    table = {code.value: Verdict(code=code) for code in McpErrorCode if code is not McpErrorCode.UNKNOWN}
    # "internal" says no more than that something failed; a status or the text may say more.
    del table[McpErrorCode.INTERNAL]
    for code, words in _FOREIGN_WORDS.items():
        table.update(dict.fromkeys(words.split(), Verdict(code=code)))
    table.update(dict.fromkeys(_FOREIGN_TRANSIENT.split(), _TRANSIENT))
    return table


_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NO_WORD: Final = re.compile(r"[^a-z0-9]+")
_AROUND: Final = re.compile(r"^(?:err|error|e)_|_(?:err|error|exception|failure)$")


def _foreign(word: str) -> Verdict | None:
    """
    Return what a word of another vocabulary means: ``RATE_LIMITED``, ``RateLimitError``, ``rate-limited``.
    """
    if len(word) > _ID_BYTES:
        return None
    snake = _NO_WORD.sub("_", _HUMP.sub("_", word).lower()).strip("_")
    return _foreign_table().get(snake) or _foreign_table().get(_AROUND.sub("", snake))


# ---- prose


def _of_prose(
    texts: Iterable[str],
    reader: _Reader,
    otherwise: McpErrorCode,
    *,
    received: Any = None,
    outcome: Outcome | None = None,
    facts: Mapping[str, Any] | None = None,
) -> ToolFault:
    said = [text for text in texts if text and not text[:WINDOW].isspace()]
    # Each gets its share, or a long first block would push out the error in the last.
    share = max(1, len(said))
    text = "\n".join(text[: WINDOW // share] for text in said)
    verdict = (reader.prose(text) if text else None) or Verdict(code=otherwise)
    if verdict.upstream_status is not None:
        facts = {"upstream_status": verdict.upstream_status, **(facts or {})}
    # Redacted one by one before they are cut to size.
    shown = said[0] if share == 1 and said else "\n".join(_shown(text, MESSAGE_BYTES // share) for text in said)
    if received is None:
        received = said[0] if len(said) == 1 else said
    return _fault(_of_verdict(verdict, shown), found_in="prose", received=received, outcome=outcome, facts=facts)


def _of_verdict(verdict: Verdict, text: str) -> McpExecuteError:
    return _envelope(
        verdict.code,
        text,
        category=verdict.category,
        retryable=verdict.retryable,
        retry_after_seconds=verdict.retry_after_seconds,
        hint=verdict.hint,
    )


# ---- JSON-RPC errors


_UNREACHABLE: Final = Verdict(code=McpErrorCode.MCP_SERVER_UNREACHABLE)
_SESSION_GONE: Final = Verdict(
    code=McpErrorCode.MCP_SERVER_UNREACHABLE,
    # In the same session it will not work either.
    retryable=False,
    hint="Open a new session and try again there.",
)
_TIMED_OUT: Final = Verdict(code=McpErrorCode.TOOL_TIMEOUT)

_UNKNOWN_TOOL: Final = re.compile(
    r"\b(?:unknown|unrecogni[sz]ed|no such) tool\b"
    r"|\b(?:tool|method)\b.{0,200}?\b(?:not found|does not exist|doesn't exist|not registered)\b",
    re.IGNORECASE | re.DOTALL,
)
_TIME_WORDS: Final = re.compile(r"\btim(?:ed?|ing) ?out\b|\btimeout\b|\bdeadline exceeded\b", re.IGNORECASE)
_SESSION_WORDS: Final = re.compile(r"\bsession\b", re.IGNORECASE)
_CLOSED_WORDS: Final = re.compile(
    r"\bconnection (?:was )?(?:closed|lost|reset|refused|terminated|aborted)\b"
    r"|\b(?:server|transport) (?:closed|disconnected)\b",
    re.IGNORECASE,
)


def _is_rpc_error(obj: object) -> bool:
    code = member(obj, "code")
    return isinstance(code, int) and not isinstance(code, bool) and isinstance(member(obj, "message"), str)


def _of_rpc(error: object, reader: _Reader) -> ToolFault:
    found_in: FoundIn = "jsonrpc_error"
    code: int = member(error, "code")
    message: str = member(error, "message")[:WINDOW]
    data: Any = member(error, "data")
    received = {"code": code, "message": member(error, "message")}
    if data is not None:
        received["data"] = data
    inside = as_mapping(data)
    ours = as_mapping(inside.get(META_KEY))
    outcome, facts = _facts(ours)
    for candidate in (ours.get("error"), ours, data):
        if (full := _full(candidate, lambda: (message,))) is not None:
            return _fault(full, found_in=found_in, received=candidate, outcome=outcome, facts=facts)
    if (failure := _tool_failure(inside.get(TOOL_FAILURE_KEY), (message,))) is not None:
        return _fault(
            failure[0], found_in=found_in, received=received, facts={"id": failure[1]} if failure[1] else None
        )
    verdict = _of_rpc_code(code, message, reader)
    if verdict.outcome is not None:
        outcome = verdict.outcome
    claim = _claim_of(inside) if inside else None
    if claim is not None and claim.word is not None and (claim.own or verdict.code is McpErrorCode.UNKNOWN):
        return replace(claim, message=message or claim.message).fault(
            found_in, reader, received=received, outcome=outcome, facts=facts
        )
    envelope = _of_verdict(verdict, message)
    if claim is not None and claim.delay is not None:
        envelope = envelope.with_retry_after_seconds(claim.delay)
    if claim is not None and claim.retryable is not None:
        envelope = envelope.with_retryable(claim.retryable)
    return _fault(envelope, found_in=found_in, received=received, outcome=outcome, facts=facts)


def _of_rpc_code(code: int, message: str, reader: _Reader) -> Verdict:
    """
    Return what a JSON-RPC error in answer to a tool call means; the words count for more than most numbers.
    """
    if code in {-32602, -32601} and _UNKNOWN_TOOL.search(message):
        return Verdict(code=McpErrorCode.TOOL_NOT_FOUND)
    if code == -32602:
        return Verdict(code=McpErrorCode.INVALID_ARGUMENTS)
    # The band has no agreed meanings: -32001 is a timeout of two SDKs, and an unknown session of others.
    if code in {408, -32001} and _TIME_WORDS.search(message):
        return _TIMED_OUT
    if code in {-32000, -32001} and _SESSION_WORDS.search(message):
        return _SESSION_GONE
    if code == -32000 and _CLOSED_WORDS.search(message):
        return _UNREACHABLE
    if code == -32023:
        # SEP-3304, a draft: the server's own limiter, asked before the tool.
        return Verdict(code=McpErrorCode.QUOTA_EXCEEDED, outcome="not_executed")
    if (verdict := reader.prose(message, code)) is not None:
        return verdict
    if code == -32601:
        return Verdict(code=McpErrorCode.TOOL_NOT_FOUND)
    if (status := _http_status(code)) is not None:
        return _of_status(status)
    return Verdict(code=McpErrorCode.INTERNAL if -32700 <= code <= -32600 else McpErrorCode.UNKNOWN)


# ---- exceptions


#: Raised before anything was sent: the call did not happen. Pools are asked before a connection is.
_NOTHING_SENT: Final = frozenset(
    {
        "builtins.ConnectionRefusedError",
        "socket.gaierror",
        "anyio.ConnectionFailed",
        "anyio._core._exceptions.ConnectionFailed",
        "aiohttp.client_exceptions.ClientConnectorError",
        *(
            f"{package}.{name}"
            for package in ("httpx", "httpx2")
            for name in ("ConnectError", "ConnectTimeout", "PoolTimeout")
        ),
        *(
            f"{package}.{name}"
            for package in ("httpcore", "httpcore2")
            for name in ("ConnectError", "ConnectTimeout", "PoolTimeout")
        ),
    }
)

#: The stream under a session ended.
_STREAM_ENDED: Final = frozenset({"BrokenResourceError", "ClosedResourceError", "EndOfStream", "IncompleteReadError"})

#: What a failure of the client's own transport is about; other classes say nothing of the call.
_OF_TRANSPORT: Final = frozenset({"auth", "http", "limit", "network", "timeout"})

#: Classes that hosts raise with a tool's own text; of others the text is about the client.
_MAY_REPORT: Final = frozenset({"general", "other"})

#: The SDK's words for a success that breaks the tool's own schema; what follows reads like a refused argument.
_BROKEN_SCHEMA: Final = "Invalid structured content"

_NO_FAILURE: Final = frozenset({"concurrent.futures._base.CancelledError"})


def _of_exception(exc: BaseException, reader: _Reader) -> ToolFault | None:
    if isinstance(exc, ToolFault):
        return exc
    leaves = [leaf for leaf in leaves_of(exc) if _is_failure(leaf)]
    if not leaves:
        return None
    alone = not isinstance(exc, BaseExceptionGroup)
    for leaf in leaves:
        # What was being handled when the client's own code broke is another matter.
        for link in (leaf,) if _is_bug(leaf) else (leaf, *causes_of(leaf)):
            if (fault := _telling(link, reader, alone=alone and link is exc)) is not None:
                return fault
    text = text_of(leaves[0])
    return _fault(_envelope(McpErrorCode.INTERNAL, text), found_in="exception")


def _is_failure(exc: BaseException) -> bool:
    # A cancellation or a signal is no Exception, but for one.
    return isinstance(exc, Exception) and qualified_name(type(exc)) not in _NO_FAILURE


def _telling(exc: BaseException, reader: _Reader, *, alone: bool) -> ToolFault | None:
    """
    Return the failure that one exception tells of. None: it says nothing of what happened to the call.
    """
    if isinstance(exc, ToolFault):
        return exc
    error = member(exc, "error")
    if error is not None and _is_rpc_error(error):
        return _of_rpc(error, reader)
    names = [qualified_name(base) for base in type(exc).__mro__]
    text = text_of(exc)
    rule = _rule_on(exc)
    verdict = _of_transport(names, rule)
    if verdict is not None:
        envelope = _of_verdict(verdict, verdict.message or text or _unsaid(verdict))
        sent = not (alone and any(name in _NOTHING_SENT for name in names))
        facts = {"upstream_status": verdict.upstream_status} if verdict.upstream_status else None
        return _fault(envelope, found_in="exception", outcome=None if sent else "not_executed", facts=facts)
    body = json_in(peel(text))
    for candidate in _layers(body):
        if (full := _full(candidate)) is not None:
            return _fault(full, found_in="exception", received=candidate)
    if (claim := _claim_of(as_mapping(body))) is not None:
        return claim.fault("exception", reader, received=body)
    reports = rule is None or rule.family in _MAY_REPORT
    if not text or not reports or _is_bug(exc) or text.startswith(_BROKEN_SCHEMA):
        return None
    said = reader.prose(text)
    return None if said is None else _fault(_of_verdict(said, text), found_in="exception")


def _rule_on(exc: BaseException) -> Verdict | None:
    try:
        found = DEFAULT.verdict_on(exc)
    except Exception:  # noqa: BLE001 -- a rule looks at a stranger's object; it is logged with its traceback
        _log.exception("a rule raised; the exception is judged without it")
        return None
    return None if found is None else found[1]


def _of_transport(names: Iterable[str], rule: Verdict | None) -> Verdict | None:
    """
    Return what an exception of the client's own transport means: on this side the hop is the one to the MCP server.
    """
    if any(name.rpartition(".")[2] in _STREAM_ENDED for name in names):
        return _UNREACHABLE
    if rule is None or rule.family not in _OF_TRANSPORT:
        return None
    category, retryable = DEFAULTS[rule.code]
    # What the rule leaves to its code's defaults must not become another code's.
    verdict = replace(
        rule,
        category=category if rule.category is None else rule.category,
        retryable=retryable if rule.retryable is None else rule.retryable,
    )
    status = verdict.upstream_status
    if verdict.family == "network" and verdict.code is McpErrorCode.INTERNAL:
        return replace(verdict, code=McpErrorCode.MCP_SERVER_UNREACHABLE, message=None)
    if status in {502, 503, 504}:
        return replace(verdict, code=McpErrorCode.MCP_SERVER_UNREACHABLE, category=McpErrorCategory.TRANSIENT)
    if status == 404:
        # The endpoint is gone, or in older revisions the session.
        return replace(_SESSION_GONE, upstream_status=status, message=verdict.message)
    return verdict


def _unsaid(verdict: Verdict) -> str:
    return {
        McpErrorCode.TOOL_TIMEOUT: "The call timed out.",
        McpErrorCode.MCP_SERVER_UNREACHABLE: "The MCP server cannot be reached.",
    }.get(verdict.code, _SILENT)


def _is_bug(exc: BaseException) -> bool:
    """
    Tell whether an exception is of a class that code meets by mistake; its text is no report of a tool.
    """
    return isinstance(exc, ArithmeticError | AssertionError | AttributeError | LookupError | NameError | TypeError)
