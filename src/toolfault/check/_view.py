"""
One exchange, as the checks look at it.

Rule 1: the answer stays as it came; only its structure is read as a client would read it.
Rule 2: all texts are read within a budget, and so is a message that is nested deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from toolfault._envelope import InvalidEnvelope, McpExecuteError
from toolfault._json import as_flag
from toolfault._names import META_KEY
from toolfault._read.dialects import parse_dialect
from toolfault._read.parse import parse, suspect
from toolfault.check._model import Answer, Exchange, Kind, ToolSeen
from toolfault.check._wire import as_array, as_object, encode, is_array, is_object, is_same_id
from toolfault.errors import ToolFault


#: How many characters of an answer's texts are looked at, and what each text costs besides.
_MAX_READ: Final = 2_000_000
_COST: Final = 100

#: The places of a failure that programs read.
_PLACES: Final = frozenset({"structured_content", "meta", "tool_failure", "jsonrpc_error"})

#: How much of a secret that comes back counts as the secret.
_PIECE: Final = 16


@dataclass(frozen=True)
class View:
    """
    One exchange, with what several checks ask about it.

    Attributes:
        exchange: The exchange.
        tool: The tool that was called; None: none.
        is_http: Whether the server is reached over HTTP.
    """

    exchange: Exchange
    tool: ToolSeen | None
    is_http: bool

    @property
    def kind(self) -> Kind:
        """
        Which failure was asked for.
        """
        return self.exchange.provocation.kind

    @property
    def is_raw(self) -> bool:
        """
        Whether what was sent is not a request that must be answered.
        """
        return self.exchange.provocation.raw is not None

    @property
    def is_of_a_call(self) -> bool:
        """
        Whether a model would read the answer: it is that to a call of a tool, known or not.
        """
        return not self.is_raw and self.kind is not Kind.PROTOCOL

    # ---- the answer

    @cached_property
    def answer(self) -> Answer | None:
        """
        The first answer with the request's id; else the first at all.
        """
        answers = self.exchange.answers
        for one in answers:
            if self.is_own(one):
                return one
        return answers[0] if answers else None

    def is_own(self, answer: Answer) -> bool:
        """
        Tell whether an answer has the request's id.
        """
        return is_same_id(as_object(answer.value).get("id"), self.exchange.request_id)

    @cached_property
    def message(self) -> dict[str, Any]:
        """
        The answer as a JSON object; {} if it is not one.
        """
        return {} if self.answer is None else as_object(self.answer.value)

    @cached_property
    def result(self) -> dict[str, Any]:
        """
        The result; {} if there is none.
        """
        return as_object(self.message.get("result"))

    @cached_property
    def error(self) -> dict[str, Any]:
        """
        The JSON-RPC error; {} if there is none.
        """
        return as_object(self.message.get("error"))

    @property
    def error_code(self) -> int | None:
        """
        The number of the JSON-RPC error; None if there is none.
        """
        code = self.error.get("code")
        return code if type(code) is int else None

    @property
    def is_success(self) -> bool:
        """
        Whether the answer is a result that is not flagged as a failure.
        """
        return "result" in self.message and self.result.get("isError") is not True

    @property
    def is_failure(self) -> bool:
        """
        Whether the answer says that the call failed.
        """
        return bool(self.message) and not self.is_success

    @property
    def is_misspelled(self) -> bool:
        """
        Whether the result is flagged by another value than true, which strict clients ignore.
        """
        return self.is_success and as_flag(self.result.get("isError")) is True

    @property
    def is_suspect(self) -> bool:
        """
        Whether the result is not flagged, and says that the call failed.
        """
        return self.is_misspelled or self.suspicion is not None

    @cached_property
    def suspicion(self) -> ToolFault | None:
        """
        The failure that a result without a flag looks like; None if it looks like none.
        """
        return suspect(self.result) if self.is_success else None

    @property
    def shows_failure(self) -> bool:
        """
        Whether the answer describes a failure, flagged or not.
        """
        return self.is_failure or self.is_suspect or (self.is_success and self.is_from_outside)

    # ---- its texts

    @cached_property
    def texts(self) -> list[str]:
        """
        The texts of the answer, as a model or a person reads them.
        """
        blocks = as_array(self.result.get("content"))
        found = [as_object(block).get("text") for block in blocks]
        found.append(self.error.get("message"))
        return [text for text in found if isinstance(text, str)]

    @property
    def first_text(self) -> str:
        """
        What hosts show; "" if there is nothing.
        """
        return self.texts[0].strip() if self.texts else ""

    @cached_property
    def strings(self) -> tuple[tuple[str, str], ...]:
        """
        All texts of all answers, wherever they stand, each behind the name of its member.
        """
        found: list[tuple[str, str]] = []
        left = _MAX_READ
        for answer in self.exchange.answers:
            for name, text in _iter_strings(answer):
                found.append((name, text[:left]))
                left -= len(text) + _COST
                if left <= 0:
                    return tuple(found)
        return tuple(found)

    @cached_property
    def foreign_strings(self) -> tuple[tuple[str, str], ...]:
        """
        As `strings`, without pieces of a planted secret, which has a check of its own.
        """
        secret = self.exchange.provocation.expected.secret
        if secret is None:
            return self.strings
        return tuple((name, without_pieces(text, secret)) for name, text in self.strings)

    @property
    def sent(self) -> str:
        """
        What was sent, as JSON.
        """
        provocation = self.exchange.provocation
        if provocation.raw is not None:
            return provocation.raw.decode(errors="replace")
        return encode({"method": provocation.method, "params": provocation.params}).decode()

    # ---- what it means

    @cached_property
    def fault(self) -> ToolFault | None:
        """
        The failure as toolfault's reader finds it.
        """
        if not self.is_failure:
            return None
        return parse(self.message, tool=None if self.tool is None else self.tool.name)

    @cached_property
    def structured(self) -> ToolFault | None:
        """
        The failure, if a program can read it without reading prose.
        """
        fault = self.fault
        if fault is None or fault.found_in not in _PLACES:
            return None
        if fault.found_in == "tool_failure" or _is_envelope(fault.received):
            return fault
        return fault if parse_dialect(as_object(fault.received)) is not None else None

    @cached_property
    def envelope(self) -> dict[str, Any] | None:
        """
        What stands where an envelope stands and has more than a code of its own; it may be invalid.
        """
        if not self.is_failure:
            return None
        meta = as_object(as_object(self.result.get("_meta")).get(META_KEY))
        data = as_object(self.error.get("data"))
        places = (
            self.result.get("structuredContent"),
            meta.get("error"),
            as_object(data.get(META_KEY)).get("error"),
        )
        return next((body for body in places if _looks_like_envelope(body)), None)

    @property
    def is_from_outside(self) -> bool:
        """
        Whether the failure is that of a broken upstream that was used, or one of the author's own.
        """
        if self.exchange.provocation.upstream:
            return bool(self.exchange.upstream_requests)
        return self.kind in (Kind.UPSTREAM, Kind.AUTHOR)


def _is_envelope(body: object) -> bool:
    """
    Tell whether a body is a whole envelope, by the strict rules of readers.
    """
    try:
        McpExecuteError.from_wire(body)
    except InvalidEnvelope:
        return False
    return True


def _looks_like_envelope(body: object) -> bool:
    # A code and a message alone are an error of the server's own kind.
    return (
        is_object(body)
        and {"code", "message"} <= body.keys()
        and bool({"category", "retryable", "retry_after_seconds", "cause_chain"} & body.keys())
    )


# ---- texts


def _iter_strings(answer: Answer) -> Iterator[tuple[str, str]]:
    """
    Yield each text of an answer behind the name of its member, in no certain order.
    """
    if answer.value is None:
        yield "", answer.raw.decode(errors="replace")
        return
    open_values: list[tuple[str, Any]] = [("", answer.value)]
    while open_values:
        name, value = open_values.pop()
        if isinstance(value, str):
            yield name, value
        elif is_object(value):
            open_values += [(str(key), item) for key, item in value.items()]
        elif is_array(value):
            open_values += [(name, item) for item in value]


def holds_piece(text: str, secret: str) -> bool:
    """
    Tell whether a text holds a secret, or so much of it that it counts as the secret.
    """
    last = max(1, len(secret) - _PIECE + 1)
    return any(secret[start : start + _PIECE] in text for start in range(last))


def without_pieces(text: str, secret: str) -> str:
    """
    Return a text without a secret and pieces of it.
    """
    if not holds_piece(text, secret):
        return text
    for size in range(len(secret), _PIECE - 1, -1):
        text = text.replace(secret[:size], "").replace(secret[-size:], "")
    return text


def names_argument(text: str, name: str) -> bool:
    """
    Tell whether a text names an argument, also in other spellings: ``file path`` is ``filePath``.
    """
    if not name or not name.isascii() or not text.isascii():
        return bool(name) and name.lower() in text.lower()
    words = _WORDS_IN_NAMES.findall(name)
    if len(name) == 1 or not words:
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
    spelled = r"[\W_]{0,3}".join(map(re.escape, words))
    return re.search(rf"(?i)(?<![a-z0-9]){spelled}(?![a-z0-9])", text) is not None


#: The words of a name in snake case, camel case or with hyphens.
_WORDS_IN_NAMES: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
