"""
What agent frameworks make of a failed tool call, turned back into a result.

Rule 1: a framework is known by the members of its object, or by the fixed words that it puts before
a text; it is never imported.
Rule 2: where it has a flag of its own, that flag decides. Its fixed words are a flag where it has
no other.
Rule 3: nothing here is judged or made safe; the reader of results does both.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeAlias

from toolfault._json import MAX_JSON, as_mapping, as_text, is_array, is_mapping, is_text, try_json
from toolfault._meanings.sentences import read_advice
from toolfault._read.result import member, read
from toolfault._sanitize import decode_envelope
from toolfault._text import pattern, safe_str


Result: TypeAlias = dict[str, Any]
"""
A result in wire spelling.
"""


def convert_framework_answer(answer: object) -> object:
    """
    Return the result behind an agent framework's form of it, or None for any other value.
    """
    if isinstance(answer, str):
        return _convert_text(answer)
    names = _member_names(answer)
    # Most answers are the SDKs' own results, and known at a glance.
    if "isError" in names or "structuredContent" in names:
        if "toolUseId" not in names:
            return None
    elif "structured_content" in names and "tool_output" not in names:
        return None
    for wanted, convert in _FORMS:
        if wanted <= names:
            return convert(answer)
    return None


def _member_names(answer: object) -> AbstractSet[Any]:
    try:
        return answer.keys() if is_mapping(answer) else vars(answer).keys()
    except Exception:  # noqa: BLE001 -- a stranger's object; many have no members at all
        return frozenset()


def _result(content: Any, *, failed: bool, structured: Any = None, meta: Any = None) -> Result:
    if is_mapping(content):
        content = [content]
    elif content is None:
        content = []
    elif not isinstance(content, str) and not is_array(content):
        content = safe_str(content)
    return {"isError": failed, "content": content, "structuredContent": structured, "_meta": meta}


# ---- objects


def _langchain(message: Any) -> Result:
    artifact = member(message, "artifact")
    return _result(
        member(message, "content"),
        failed=member(message, "status") == "error",
        structured=member(artifact, "structured_content", "structuredContent"),
    )


def _pydantic_ai(part: Any) -> Result:
    content = member(part, "content")
    asks_again = member(part, "part_kind") == "retry-prompt"
    failed = asks_again or member(part, "outcome") in ("failed", "retried")
    if is_mapping(content):
        return _result([], failed=failed, structured=content)
    if is_array(content):
        # What pydantic found wrong with the arguments.
        content = [member(item, "msg") or item for item in content[:_MAX_ITEMS]]
    return _result(content, failed=failed)


def _strands(result: Any) -> Result:
    return _result(
        member(result, "content"),
        # A cancellation on this side is not a failure of the tool.
        failed=member(result, "status") == "error" and member(result, "cancelled") is not True,
        structured=member(result, "structuredContent"),
        meta=member(result, "metadata"),
    )


def _llama_index(output: Any) -> object:
    raw = member(output, "raw_output")
    if isinstance(raw, BaseException) or read(raw) is not None:
        return raw
    said = member(output, "content")
    return convert_framework_answer(said) or _result(
        said, failed=member(output, "is_error") is True
    )


def _autogen(result: Any) -> Result:
    content = member(result, "result")
    if is_array(content):
        content = [member(item, "content") for item in content[:_MAX_ITEMS]]
    return _result(content, failed=member(result, "is_error") is True)


def _openai_agents(context: Any) -> Result:
    return _result(
        member(context, "tool_output"),
        failed=member(context, "is_error") is True,
        structured=member(context, "structured_content"),
        meta=member(context, "result_meta"),
    )


def _crewai(failure: Any) -> Result:
    message, details = member(failure, "message"), member(failure, "details")
    if decode_envelope(details) is None:
        reason = member(failure, "reason")
        details = {
            "code": member(failure, "code"),
            "reason": _CREWAI.get(as_text(member(reason, "value") or reason)),
            "message": message,
            # Unset, it is False like the one that was meant.
            "retryable": member(failure, "retryable") is True or None,
        }
    return _result(message, failed=True, structured=details)


def _agno(result: Any) -> Result | None:
    converted = _convert_text(member(result, "content"))
    structured = member(member(result, "metadata"), "structured_content")
    if converted is not None and structured is not None:
        converted["structuredContent"] = structured
    return converted


def _agent_framework(content: Any) -> object:
    exception = member(content, "exception")
    if exception is None:
        return None
    if isinstance(exception, BaseException):
        return exception
    return _result(member(content, "result") or exception, failed=True)


def _text_item(item: Any) -> Result | None:
    return _convert_text(member(item, "text"))


def _mcp_use(error: Any) -> Result | None:
    # The name of a client-side class, the text, a traceback of the client, and a code that is
    # mostly unset.
    said, code = member(error, "details"), member(error, "code")
    if not (is_text(said) and is_text(member(error, "error"))):
        return None
    structured = None if code == "UNKNOWN" else {"code": code, "message": said}
    return _result(said, failed=True, structured=structured)


def _google_adk(answer: Any) -> Result | None:
    said = as_text(member(answer, "error"))
    is_alone = len(_member_names(answer)) == 1
    return _result(said, failed=True) if said and is_alone else None


#: How many items of a list are looked at.
_MAX_ITEMS: Final = 64

#: The reasons of crewAI that say what went wrong, in words that are known here.
_CREWAI: Final = {
    "usage_limit": "usage_limit_exceeded",
    "unknown_tool": "unknown_tool",
    "invalid_input": "invalid_input",
}

#: The members by which each form is known, and who reads it; the first that fits.
_FORMS: Final[tuple[tuple[frozenset[str], Callable[[Any], object]], ...]] = (
    (frozenset({"raw_output", "tool_name"}), _llama_index),
    (frozenset({"status", "tool_call_id", "content"}), _langchain),
    (frozenset({"part_kind", "tool_call_id", "content"}), _pydantic_ai),
    (frozenset({"status", "toolUseId", "content"}), _strands),
    (frozenset({"is_error", "result", "name"}), _autogen),
    (frozenset({"is_error", "structured_content", "tool_output"}), _openai_agents),
    (frozenset({"message", "reason", "code", "retryable", "details"}), _crewai),
    (frozenset({"content", "metadata", "images"}), _agno),
    (frozenset({"call_id", "exception", "result"}), _agent_framework),
    (frozenset({"error", "details", "stack", "code"}), _mcp_use),
    (frozenset({"error"}), _google_adk),
    (frozenset({"type", "text"}), _text_item),
)


# ---- texts

#: What agno, openai-agents and agent-framework put before a text, or instead of it.
_WORDS: Final = (
    r"Error from MCP tool '[^'\n]{1,200}': ?"
    r"|An error occurred while running the tool\. Please try again\.(?: Error: |\Z)"
    r"|Error: Function failed\.\Z"
)


def _convert_text(text: object) -> Result | None:
    if not is_text(text) or len(text) > MAX_JSON:
        return None
    advice = read_advice(text)
    if advice is not None and advice.code is not None:
        return _result(text, failed=True)
    if text.startswith("{"):
        return _convert_object(text)
    words = pattern(_WORDS).match(text)
    if words is not None:
        rest = text[words.end() :]
        return _result(list(_find_texts(rest)) or rest or text, failed=True)
    return _convert_repr(text) if pattern(_REPR).match(text) else None


def _convert_object(text: str) -> Result | None:
    body = as_mapping(try_json(text))
    if member(body, "isError", "is_error") is True:
        return dict(body)
    return None if decode_envelope(body) is None else _result(text, failed=True)


# A result of either SDK as Python shows it; in it a string, what JSON writes in another way, and
# the flag. A string that nothing closes ends with the text, or each quotation mark in it would be
# tried anew.
_REPR: Final = r"(?:_?meta|content|result_type)="
_STRING: Final = r"'(?:[^'\\]|\\.)*+(?:'|\\?\Z)|\"(?:[^\"\\]|\\.)*+(?:\"|\\?\Z)"
_TOKEN: Final = rf"(?s){_STRING}|\b(?:True|False|None)\b"
_TEXT: Final = rf"(?s)\btext=({_STRING})"
_ESCAPE: Final = r"(?s)\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|(.))"
_FAILED: Final = r"\b(?:isError|is_error)=True\b"
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r"}
_CONSTANTS: Final = {"True": "true", "False": "false", "None": "null"}


def _convert_repr(text: str) -> Result | None:
    if pattern(_FAILED).search(pattern(f"(?s){_STRING}").sub("", text)) is None:
        return None
    converted = pattern(_TOKEN).sub(_json_token, text)
    return _result(
        list(_find_texts(text)),
        failed=True,
        structured=_find_object(r"\bstructured_?[cC]ontent=(?=\{)", converted),
        meta=_find_object(r"\b_?meta=(?=\{)", converted),
    )


def _find_texts(text: str) -> Iterator[str]:
    for found in pattern(_TEXT).finditer(text):
        yield _unquote(found[1])


def _json_token(token: re.Match[str]) -> str:
    return _CONSTANTS.get(token[0]) or json.dumps(_unquote(token[0]))


def _unquote(literal: str) -> str:
    return pattern(_ESCAPE).sub(_character, literal[1:-1])


def _character(escape: re.Match[str]) -> str:
    letter: str | None = escape[1]
    if letter is not None:
        return _LETTERS.get(letter, letter)
    number = int(escape[0].lstrip("\\xuU"), 16)
    return chr(number) if number <= sys.maxunicode else ""


def _find_object(start: str, text: str) -> Mapping[Any, Any] | None:
    if (match := pattern(start).search(text)) is None:
        return None
    try:
        return as_mapping(json.JSONDecoder().raw_decode(text, match.end())[0])
    except (ValueError, RecursionError):
        return None
