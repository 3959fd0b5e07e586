"""
Faults from JSON-RPC errors in answer to a tool call.

Rule 1: an envelope in the error decides, then another vocabulary in it.
Rule 2: then the words count for more than most numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from toolfault._codes import McpErrorCode
from toolfault._envelope import McpExecuteError
from toolfault._json import as_mapping, is_int, is_text
from toolfault._meanings.jsonrpc import BROKEN, STANDARD, meaning_alone, meaning_with_words
from toolfault._names import META_KEY, TOOL_FAILURE_KEY
from toolfault._read.dialects import parse_dialect, parse_tool_failure
from toolfault._read.partial import Claim, Reader, add_facts, read_claim, verdict_for_status
from toolfault._read.result import member
from toolfault._sanitize import decode_envelope, envelope_for_verdict, http_status
from toolfault._text import WINDOW
from toolfault._verdict import Verdict
from toolfault.errors import FoundIn, ToolFault


_FOUND_IN: FoundIn = "jsonrpc_error"


#: The verdicts on errors whose number and words say no more than that something failed.
_SAYS_LITTLE: Final = (BROKEN, Verdict(code=McpErrorCode.UNKNOWN))


def is_rpc_error(obj: object) -> bool:
    """
    Tell whether something is a JSON-RPC error, whatever class it is of.
    """
    return is_int(member(obj, "code")) and is_text(member(obj, "message"))


def parse_rpc_error(error: object, reader: Reader) -> ToolFault:
    """
    Return the fault of a JSON-RPC error.
    """
    code: int = member(error, "code")
    message: str = member(error, "message")[:WINDOW]
    received = {"code": code, "message": member(error, "message")}
    data: Any = member(error, "data")
    if data is not None:
        received["data"] = data
    fault = (
        _parse_data(data, message, received)
        or parse_dialect(received)
        or _parse_words(code, message, as_mapping(data), received, reader)
    )
    return add_facts(fault, as_mapping(as_mapping(data).get(META_KEY)))


def _parse_data(data: Any, message: str, received: Mapping[str, Any]) -> ToolFault | None:
    """
    Return the fault of an envelope, or of SEP-3313's object, in the data of an error, or None.
    """
    inside = as_mapping(data)
    ours = as_mapping(inside.get(META_KEY))
    texts = (message,)
    for candidate in (ours.get("error"), ours, data):
        envelope = decode_envelope(candidate, lambda: texts)
        if envelope is not None:
            return ToolFault.of(envelope, found_in=_FOUND_IN, received=candidate)
    failure = inside.get(TOOL_FAILURE_KEY)
    return parse_tool_failure(failure, texts, found_in=_FOUND_IN, received=received)


def _parse_words(
    code: int, message: str, data: Mapping[Any, Any], received: Mapping[str, Any], reader: Reader
) -> ToolFault:
    """
    Return the fault that number and message describe, with what the data claim besides.
    """
    verdict = _verdict_for_number(code, message, reader)
    claim = read_claim(data) or Claim()
    if _decides(claim, verdict):
        said = replace(claim, message=message or claim.message)
        fault = said.to_fault(_FOUND_IN, reader, received=received)
    else:
        envelope = _envelope_with(verdict, claim, message)
        fault = ToolFault.of(envelope, found_in=_FOUND_IN, received=received)
    fault.outcome = verdict.outcome
    return fault


def _envelope_with(verdict: Verdict, claim: Claim, message: str) -> McpExecuteError:
    envelope = envelope_for_verdict(verdict, message)
    if claim.delay is not None:
        envelope = envelope.with_retry_after_seconds(claim.delay)
    if claim.retryable is not None:
        envelope = envelope.with_retryable(claim.retryable)
    return envelope


def _decides(claim: Claim, verdict: Verdict) -> bool:
    # A word of the contract counts for more than the number; another word where that says nothing.
    return claim.own or (claim.word != "" and verdict in _SAYS_LITTLE)


def _verdict_for_number(code: int, message: str, reader: Reader) -> Verdict:
    """
    Return the meaning of a JSON-RPC error in answer to a tool call, by its words before its number.
    """
    return (
        meaning_with_words(code, message)
        or reader.prose(message, sessions=False)
        or meaning_alone(code)
        or _meaning_of_range(code)
    )


def _meaning_of_range(code: int) -> Verdict:
    status = http_status(code)
    if status is not None:
        return verdict_for_status(status)
    return BROKEN if code in STANDARD else Verdict(code=McpErrorCode.UNKNOWN)
