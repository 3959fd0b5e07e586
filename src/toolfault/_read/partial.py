"""
Weaker forms of a failure: incomplete envelopes, and error objects of other vocabularies.

Rule 1: a member counts alone; what makes no sense is as if it were not there.
Rule 2: a word of the contract decides, then a word of another vocabulary, then a status, then the
text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from toolfault._codes import (
    McpErrorCategory,
    McpErrorCode,
    fill_defaults,
    fold_category,
    fold_code,
)
from toolfault._json import (
    as_array,
    as_flag,
    as_mapping,
    as_text,
    as_words,
    first_text,
    is_array,
    is_mapping,
    is_text,
    take_first,
    try_json,
)
from toolfault._meanings.http import CONTENDED
from toolfault._meanings.jsonrpc import FREE_WORDS, meaning_with_words
from toolfault._meanings.sentences import read_advice
from toolfault._meanings.words import meaning_of
from toolfault._prose.careful import careful
from toolfault._retry_after import (
    longest,
    member_wait,
    parse_seconds,
    wait_in_json,
    wait_in_prose,
)
from toolfault._sanitize import (
    ID_BYTES,
    MAX_CAUSES,
    build_envelope,
    http_status,
    read_facts,
    sanitize,
    sanitize_first,
)
from toolfault._text import WINDOW
from toolfault._verdict import Verdict
from toolfault.errors import FoundIn, ToolFault


#: How deep objects may stand in one another's ``error``.
_MAX_DEPTH: Final = 4

#: How many members of an object are asked for a wait.
_MAX_MEMBERS: Final = 64


@dataclass(frozen=True, slots=True)
class Reader:
    """
    What the caller knows of its call.
    """

    tool: str | None = None
    arguments: Mapping[str, Any] | None = None

    def prose(
        self, text: str, rpc_code: int | None = None, *, sessions: bool = True
    ) -> Verdict | None:
        """
        Return the meaning of a text, or None if it shows nothing.

        Args:
            text: What a peer said.
            rpc_code: The number of the JSON-RPC error that it stood in, if any.
            sessions: Whether a text that only says that a session is gone speaks of MCP's.
        """
        text = text[:WINDOW]
        gone = self._meaning_of_session(text) if sessions and rpc_code is None else None
        # As a framework hands them on: not every one looks at what a model calls a tool.
        tool = self.tool[:ID_BYTES] if is_text(self.tool) else None
        return gone or careful(text, tool=tool, arguments=self.arguments, rpc_code=rpc_code)

    def _meaning_of_session(self, text: str) -> Verdict | None:
        """
        Return the meaning of a text that only says that a session is gone, or None.

        None also if the caller named a session in its arguments: then that is what is unknown.
        """
        names = islice(as_mapping(self.arguments), _MAX_MEMBERS)
        if any(is_text(name) and "session" in name.lower() for name in names):
            return None
        return meaning_with_words(0, text)


def add_facts(fault: ToolFault, ours: Mapping[Any, Any]) -> ToolFault:
    """
    Add outcome and facts from our place in ``_meta`` to a fault, and return it.
    """
    outcome, facts = read_facts(ours)
    fault.outcome = fault.outcome or outcome
    fault.facts.update(facts)
    return fault


def iter_objects(body: Any) -> Iterator[Mapping[Any, Any]]:
    """
    Yield an object and the objects that wrappers such as ``{"error": {...}}`` hold.
    """
    if not is_mapping(body):
        return
    yield body
    for name in _WRAPPERS:
        inner: Any = body.get(name)
        if isinstance(inner, str):
            inner = try_json(inner)
        if is_mapping(inner):
            yield inner


#: Members in which the whole failure may stand; the last is errgate's.
_WRAPPERS: Final = ("error", "result", "error_verdict")


# ---- claims


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """
    What an object claims about a failure; a part that makes no sense is empty or None.
    """

    word: str = ""
    own: bool = False
    status: int | None = None
    number: int | None = None
    message: str = ""
    category: McpErrorCategory | None = None
    retryable: bool | None = None
    delay: int | None = None
    hint: str = ""
    causes: tuple[Any, ...] = ()

    @property
    def says_anything(self) -> bool:
        """
        Whether there is a part that makes it a claim.
        """
        said = (self.word, self.message, self.hint)
        numbers = (self.status, self.number, self.delay, self.retryable)
        return said != ("", "", "") or numbers != (None, None, None, None)

    def verdict(self, reader: Reader) -> Verdict:
        """
        Return the meaning of the claim: of its word, else its status, else its message.

        A message that says more than a foreign word or a status decides.
        """
        if self.own:
            return self._own_verdict(reader)
        told = reader.prose(self.message, self.number) if self.message else None
        meant = _meaning_of_word(self.word)
        if meant is not None:
            return _choose(meant, told, _MORE_THAN_WORD)
        if self.status is not None:
            return self._verdict_of_status(self.status, told)
        otherwise = McpErrorCode.UNKNOWN if self.word else McpErrorCode.INTERNAL
        numbered = meaning_of(FREE_WORDS.get(self.number or 0, ""))
        return told or numbered or Verdict(code=otherwise)

    def _own_verdict(self, reader: Reader) -> Verdict:
        verdict = Verdict(code=fold_code(self.word))
        if _is_known(self.word):
            return verdict
        # A word of the contract that this version does not know.
        return reader.prose(self.message) or verdict

    def _verdict_of_status(self, status: int, told: Verdict | None) -> Verdict:
        if status in _SESSION_STATUSES:
            told = meaning_with_words(0, self.message) or told
        if status == 409 and self.delay is not None:
            return CONTENDED._replace(sentence=None, peer=None, advice="")
        return _choose(verdict_for_status(status, self.message), told, _MORE_THAN_STATUS)

    def _wait(self, verdict: Verdict) -> int | None:
        if self.delay is not None:
            return self.delay
        if verdict.retry_after_seconds is not None:
            return verdict.retry_after_seconds
        _, retryable = fill_defaults(verdict.code, None, verdict.retryable)
        return wait_in_prose(self.message) if retryable else None

    def fill_from(self, other: Claim, *, words: bool = False) -> Claim:
        """
        Return this claim, with what it leaves open taken from another.

        Args:
            other: What the object around it claims, or one in it.
            words: Take the word as well, where this claim has none.
        """
        if not other.says_anything:
            return self
        open_parts = [name for name in _FILLED if getattr(self, name) in _UNSAID]
        taken = {name: getattr(other, name) for name in open_parts}
        if words and not self.word:
            taken |= {"word": other.word, "own": other.own}
        return replace(self, **taken)

    def to_fault(
        self,
        found_in: FoundIn,
        reader: Reader,
        *,
        texts: Iterable[str] = (),
        received: Any = None,
    ) -> ToolFault:
        """
        Build the `ToolFault` for this claim.

        Args:
            found_in: Where the object stood.
            reader: What the caller knows of its call.
            texts: Texts beside the object, for one without a message.
            received: The object as it came.
        """
        verdict = self.verdict(reader)
        message = self._text(verdict, texts)
        envelope = build_envelope(
            verdict.code,
            message,
            category=verdict.category if self.category is None else self.category,
            retryable=verdict.retryable if self.retryable is None else self.retryable,
            retry_after_seconds=self._wait(verdict),
            hint=self.hint or verdict.hint,
            causes=self.causes,
        )
        facts = {} if self.status is None else {"upstream_status": self.status}
        return ToolFault.of(envelope, found_in=found_in, received=received, facts=facts)

    def _text(self, verdict: Verdict, texts: Iterable[str]) -> str:
        beside = (text for text in texts if try_json(text) is None)
        message = self.message or sanitize_first(beside)
        if not message and self.word:
            return f"The tool failed with the code {sanitize(self.word, ID_BYTES)}."
        return message or verdict.message or ""


#: What stands in a claim where it says nothing.
_UNSAID: Final = (None, "")


def _meaning_of_word(word: str) -> Verdict | None:
    # A session's word, as ``SESSION_NOT_FOUND``, is its sentence.
    return meaning_with_words(0, word.replace("_", " ")) or meaning_of(word)


#: Statuses under which SDKs refuse a session that they do not know.
_SESSION_STATUSES: Final = (400, 404, 410)

#: What a message may say that is more than a word beside it says. Many APIs refuse with a word or
#: status for rights what is over a limit.
_MORE_THAN_WORD: Final[Mapping[McpErrorCode, frozenset[McpErrorCode]]] = {
    McpErrorCode.PERMISSION_DENIED: frozenset({McpErrorCode.QUOTA_EXCEEDED}),
    McpErrorCode.INVALID_ARGUMENTS: frozenset({McpErrorCode.TOOL_NOT_FOUND}),
}

#: And more than a status says, which often only blames the caller or the server.
_TELLING: Final = frozenset(
    {
        McpErrorCode.TOOL_TIMEOUT,
        McpErrorCode.QUOTA_EXCEEDED,
        McpErrorCode.PERMISSION_DENIED,
        McpErrorCode.TOOL_NOT_FOUND,
        McpErrorCode.NETWORK_BLOCKED,
        McpErrorCode.MCP_SERVER_UNREACHABLE,
    }
)
_MORE_THAN_STATUS: Final[Mapping[McpErrorCode, frozenset[McpErrorCode]]] = {
    McpErrorCode.PERMISSION_DENIED: frozenset({McpErrorCode.QUOTA_EXCEEDED}),
    McpErrorCode.INVALID_ARGUMENTS: _TELLING,
    McpErrorCode.INTERNAL: _TELLING,
}


def _choose(
    meant: Verdict, told: Verdict | None, more: Mapping[McpErrorCode, frozenset[McpErrorCode]]
) -> Verdict:
    """
    Return the verdict of the message beside a word or a status if it says more, else the other.
    """
    if told is not None and told.code in more.get(meant.code, ()):
        return told
    return meant


#: What one claim may take from another.
_FILLED: Final = ("status", "retryable", "delay", "hint")

_CODE_NAMES: Final = (
    *(
        "code",
        "error_code",
        "errorCode",
        "error_type",
        "errorType",
        "type",
        "kind",
        "reason",
        "name",
        "status",
    ),
    # A word may stand where a sentence would, or a category of another vocabulary be the only one.
    *("error", "error_category", "errorCategory", "category"),
)
_CATEGORY_NAMES: Final = ("category", "errorCategory", "error_category")
_STATUS_NAMES: Final = (
    *("status", "status_code", "statusCode", "http_status", "httpStatus", "code", "error_code"),
)
#: Under the first a text is what went wrong; under the second it may be anything, unless something
#: else tells.
_MESSAGE_NAMES: Final = (
    "message",
    "error",
    "error_message",
    "errorMessage",
    "detail",
    "error_description",
)
_OTHER_MESSAGE_NAMES: Final = ("details", "description", "title", "summary", "diagnostics")
_RETRYABLE_NAMES: Final = ("retryable", "is_retryable", "isRetryable")
_HINT_NAMES: Final = ("hint", "suggestion", "agentGuidance", "recovery")

#: The members of an object that says what happened: the first is that object, the second adds to
#: what it says.
_INNER_NAMES: Final = ("error", "errors")
_ADDING_NAMES: Final = ("data", "extensions")


def read_claim(obj: Mapping[Any, Any]) -> Claim | None:
    """
    Return the claim of an object about a failure; None if it says no more than its text.
    """
    claim = _read_nested(obj, _MAX_DEPTH)
    if not claim.says_anything:
        return None
    if claim.delay is not None:
        return claim
    # In a member of any other name, such as "details" or "parameters".
    return replace(claim, delay=wait_in_json(obj))


def parse_claim(
    obj: Mapping[Any, Any],
    found_in: FoundIn,
    reader: Reader,
    *,
    received: Any,
    texts: Iterable[str] = (),
) -> ToolFault | None:
    """
    Return the fault of an object that claims a failure, or None; for the rest see `Claim.to_fault`.
    """
    claim = read_claim(obj)
    if claim is None:
        return None
    return claim.to_fault(found_in, reader, texts=texts, received=received)


def _read_nested(obj: Mapping[Any, Any], depth: int) -> Claim:
    claim = _read_alone(obj)
    if not depth:
        return claim
    inner = _read_inner(obj, claim, depth)
    if inner.says_anything:
        # The inner object says what happened; the outer may add a delay or a status.
        claim = inner.fill_from(claim)
    if claim.says_anything:
        for name in _ADDING_NAMES:
            claim = claim.fill_from(_claim_in(obj.get(name), depth), words=True)
    return claim


def _read_inner(obj: Mapping[Any, Any], outer: Claim, depth: int) -> Claim:
    # Beside a message, a list of errors only repeats it in parts.
    names = _INNER_NAMES[:1] if outer.message else _INNER_NAMES
    claims = (_claim_in(obj.get(name), depth) for name in names)
    return next((claim for claim in claims if claim.says_anything), _NO_CLAIM)


def _claim_in(value: Any, depth: int) -> Claim:
    if is_array(value) and value:
        value = value[0]
    return _read_nested(value, depth - 1) if is_mapping(value) else _NO_CLAIM


_NO_CLAIM: Final = Claim()


def _read_alone(obj: Mapping[Any, Any]) -> Claim:
    """
    Return the claim of an object without those in it.
    """
    retryable = take_first(obj, _RETRYABLE_NAMES, as_flag)
    texts = (obj.get("category"), obj.get("message"))
    own_shape = retryable is not None and all(map(is_text, texts))
    word, own = _word(obj, own_shape=own_shape)
    claim = Claim(
        word=word,
        own=own,
        status=take_first(obj, _STATUS_NAMES, http_status),
        number=_free_number(obj.get("code")),
        message=_message(obj),
        category=_category(obj, own=own),
        retryable=retryable,
        delay=_delay(obj),
        hint=_hint(obj),
        causes=tuple(as_array(obj.get("cause_chain"))[-MAX_CAUSES:]),
    )
    if not claim.says_anything:
        return _NO_CLAIM
    if claim.message:
        return claim
    return replace(claim, message=first_text(obj, _OTHER_MESSAGE_NAMES))


def _category(obj: Mapping[Any, Any], *, own: bool) -> McpErrorCategory | None:
    category = take_first(obj, _CATEGORY_NAMES, _as_category)
    # A word of another vocabulary says nothing here.
    return category if own or category is not McpErrorCategory.UNKNOWN else None


def _free_number(code: object) -> int | None:
    return code if type(code) is int and -32768 <= code <= -32000 else None


def _hint(obj: Mapping[Any, Any]) -> str:
    recovery = as_mapping(obj.get("recovery"))
    return first_text(obj, _HINT_NAMES) or first_text(recovery, _HINT_NAMES)


def parse_advice(
    text: str, found_in: FoundIn, reader: Reader, *, received: Any
) -> ToolFault | None:
    """
    Return the fault of a text in our own sentences for models, or None.
    """
    told = read_advice(text)
    if told is None:
        return None
    claim = Claim(
        word=told.code or "",
        own=told.code is not None,
        message=told.message,
        retryable=told.retryable,
        delay=parse_seconds(told.wait, exact=True),
        hint=told.hint or "",
    )
    return claim.to_fault(found_in, reader, received=received)


def _is_known(word: str) -> bool:
    return fold_code(word) is not McpErrorCode.UNKNOWN or word == McpErrorCode.UNKNOWN


def _word(obj: Mapping[Any, Any], *, own_shape: bool) -> tuple[str, bool]:
    """
    Return an object's word for its failure, a known one, else the first, and whether it is ours.
    """
    code = as_text(obj.get("code"))[:WINDOW]
    if _is_known(code) or (own_shape and code):
        return code, True
    word = first_text(obj, _CODE_NAMES, _as_known_word) or first_text(obj, _ONLY_CODES, as_text)
    return word[:WINDOW], _is_known(word[:WINDOW])


def _as_known_word(value: Any) -> str:
    word = as_text(value)
    return word if word and meaning_of(word[:WINDOW]) else ""


#: What stands under these is a name for a failure and nothing else.
_ONLY_CODES: Final = ("code", "error_code", "errorCode")


def iter_messages(body: Any) -> Iterator[str]:
    """
    Yield the messages of an object and of the objects that wrappers hold.
    """
    for candidate in iter_objects(body):
        message = first_text(candidate, (*_MESSAGE_NAMES, *_OTHER_MESSAGE_NAMES))
        if message:
            yield message


def _as_category(value: Any) -> McpErrorCategory | None:
    return fold_category(value) if is_text(value) else None


def _delay(obj: Mapping[Any, Any]) -> int | None:
    """
    Return the longest wait that a member of an object asks for, in seconds, or None.
    """
    names = [name for name in islice(obj, _MAX_MEMBERS) if isinstance(name, str)]
    return longest(member_wait(name, obj[name]) for name in names)


#: Members that explain a message, where they are sentences.
_DETAIL_NAMES: Final = ("detail", "details", "error_description", "reason")


def _message(obj: Mapping[Any, Any]) -> str:
    """
    Return the message of an object with the sentence that explains it; "" if there is neither.
    """
    message = first_text(obj, _MESSAGE_NAMES)
    detail = first_text(obj, _DETAIL_NAMES, lambda value: _as_sentence(value, message))
    if detail in message:
        return message
    if " " not in message or message in detail:
        # A bare word is a name for the failure, and the sentence its message.
        return detail
    return f"{message[:WINDOW].rstrip(' .')}. {detail[:WINDOW]}"


def _as_sentence(value: Any, message: str) -> str:
    text = as_words(value)
    return text if text != message and " " in text[:WINDOW].strip() else ""


def verdict_for_status(status: int, said: str = "") -> Verdict:
    """
    Return the verdict on an HTTP status that a tool reports, with what was said beside it.
    """
    from toolfault.rules.http import verdict_for  # noqa: PLC0415 -- a table that few answers need

    return verdict_for(status, body=said)
