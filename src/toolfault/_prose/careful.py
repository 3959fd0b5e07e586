"""
The classifier of error texts that come without an envelope.

Rule 1: `exact` is the contract's classifier; `careful` is ours.
Rule 2: `careful` returns None where the text shows nothing.
Rule 3: the caller's own words (names, values, URLs, quoted code) are no evidence.
Rule 4: only the first `WINDOW` characters are searched, quantifiers are bounded, nothing raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, Final

from toolfault._codes import McpErrorCategory, McpErrorCode, fill_defaults
from toolfault._json import as_mapping, is_mapping, try_json
from toolfault._meanings.aws import read_code
from toolfault._meanings.http import CONTENDED
from toolfault._meanings.jsonrpc import CLIENT_METHOD, NO_TOOL, meaning_alone, meaning_with_words
from toolfault._meanings.limits import is_final, names_window
from toolfault._prose.everruns import exact
from toolfault._prose.phrases import (
    ARGUMENT,
    CRASH,
    TABLE,
    expand_fragments,
)
from toolfault._prose.unwrap import (
    NAME,
    cut_caller_words,
    is_tool,
    json_to_prose,
    peel,
    strings_in,
    unwrap,
)
from toolfault._retry_after import wait_in_prose
from toolfault._text import WINDOW, pattern
from toolfault._verdict import Verdict, replace


__all__ = ["careful", "exact", "looks_failed", "peel"]

#: Characters of a clue that are searched first; no clue is shorter.
_START: Final = 3


def careful(
    text: str,
    *,
    tool: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    rpc_code: int | None = None,
) -> Verdict | None:
    """
    Return the verdict on an error text, or None if it shows nothing.

    Args:
        text: The text of the result or of the JSON-RPC error.
        tool: The name of the called tool. None: unknown; every name counts then.
        arguments: The arguments of the call.
        rpc_code: The number of the JSON-RPC error, if it was one.
    """
    body, wrapped = unwrap(text[:WINDOW], tool)
    rpc_code = wrapped if rpc_code is None else rpc_code
    if _misses_tool(body, tool):
        return NO_TOOL
    said = strings_in(arguments)
    words = cut_caller_words(json_to_prose(body), tool, said).lower()
    verdict = (
        _number_with_words(rpc_code, words)
        or _aws_error(body)
        or _callers_code(body, said)
        or _match_table(words)
        or meaning_alone(rpc_code)
    )
    return verdict and _add_wait(verdict, body, words)


def _number_with_words(rpc_code: int | None, words: str) -> Verdict | None:
    return None if rpc_code is None else meaning_with_words(rpc_code, words)


@lru_cache(maxsize=128)
def _match_table(words: str) -> Verdict | None:
    # Servers repeat themselves, and the caller's words are no part of the key.
    verdicts = _verdicts_on(words)
    first = next(verdicts, None)
    if first is None or first.upstream_status not in _VAGUE:
        return first
    return next((verdict for verdict in verdicts if verdict.code in _MORE_THAN_VAGUE), first)


def _verdicts_on(words: str) -> Iterator[Verdict]:
    """
    Yield the verdict of each row that matches a text, in the order of the table.
    """
    for row in _possible_rows(words):
        match = _pattern_of(row).search(words)
        if match is not None:
            meaning = TABLE[row][0]
            yield meaning if isinstance(meaning, Verdict) else meaning(match)


#: Statuses that many APIs give to whatever they refuse, and codes that say more than these.
_VAGUE: Final = frozenset({400, 422})
_MORE_THAN_VAGUE: Final = frozenset({McpErrorCode.PERMISSION_DENIED, McpErrorCode.QUOTA_EXCEEDED})


def _possible_rows(words: str) -> list[int]:
    # Most texts hold few of the clues' first letters, and one set finds them all.
    index = _rows_by_clue()
    rows: set[int] = set()
    for start in index.keys() & {words[at : at + _START] for at in range(len(words) - _START + 1)}:
        for clue, fitting in index[start].items():
            if clue in words:
                rows.update(fitting)
    return sorted(rows)


@cache
def _rows_by_clue() -> dict[str, dict[str, list[int]]]:
    index: dict[str, dict[str, list[int]]] = {}
    for row, (_, clues, _) in enumerate(TABLE):
        for clue in clues.split("|"):
            index.setdefault(clue[:_START], {}).setdefault(clue, []).append(row)
    return index


@cache
def _pattern_of(row: int) -> re.Pattern[str]:
    return re.compile(expand_fragments("|".join(TABLE[row][2])), re.MULTILINE)


# ---- a tool that is missing

_MISSING: Final = (
    r"not (?:be )?(?:found|exist|known|registered|available|recogni[sz]ed|defined|supported|"
    r"implemented)\b"
)

_PHRASES: Final = (
    r"\b(?:unknown|unrecogni[sz]ed|no such|undefined|nonexistent|invalid) (?:tool|method)"
    r"(?: name| requested| called)?[ :]{1,2}" + NAME,
    r"\b(?:tool|method)(?: named| with name)?:? "
    + NAME
    + r" (?:was |is |does |could |cannot |can )?"
    r"(?:" + _MISSING + "|unknown|doesn't exist|isn't)",
    r"\b(?:tool|method)(?: was| is)? not (?:found|known|registered|available)[ :]{1,2}" + NAME,
    r"\bno (?:such )?tool(?: is)?(?: named| called| with(?: the)? name| registered for)?:? " + NAME,
    r"\b(?:could not|couldn't|cannot|can't|unable to) find (?:the |a )?tool(?: named| called)?:? "
    + NAME,
    NAME + r" is (?:not a|no) (?:known |valid |registered |available )?tool\b",
)

#: Words that may stand in the place of a name.
_NO_NAMES: Final = frozenset(
    "the a an was is are for you it with in by not found name or and this that available".split()
)

_BARE = r"\W{0,3}(?:unknown tool|tool (?:was |is )?not found|no such tool)\W{0,3}"


@cache
def _phrases() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in (*_PHRASES, _BARE))


def _misses_tool(body: str, tool: str | None) -> bool:
    low = body.lower()
    if "tool" not in low and "method" not in low:
        return False
    *phrases, bare = _phrases()
    if bare.fullmatch(body[:64]) and len(body) <= 64:
        return True
    names = (match["name"].rstrip(".:") for phrase in phrases for match in phrase.finditer(body))
    return any(_names_tool(name, tool) for name in names)


def _names_tool(name: str, tool: str | None) -> bool:
    if name.lower() in _NO_NAMES or pattern(CLIENT_METHOD).fullmatch(name):
        return False
    return is_tool(name, tool)


# ---- AWS

_AWS: Final = r"(?i)\ban error occurred \((\w{1,64})\) when calling the \w{1,128} operation"


def _aws_error(body: str) -> Verdict | None:
    # The table sees lower-case text, and these codes need their case.
    match = pattern(_AWS).search(body) if "operation" in body else None
    return None if match is None else read_code(match[1])


# ---- code of the caller

_UNDEFINED = r"\b(?:name )?['\"]?([A-Za-z_$][\w$]{0,80})['\"]? is not defined\b"


def _callers_code(body: str, said: list[str]) -> Verdict | None:
    # An undefined name belongs to the caller's code if it stands there, else to the tool's.
    match = re.search(_UNDEFINED, body) if "is not defined" in body else None
    if match is None:
        return None
    name = re.compile(rf"(?<![\w$]){re.escape(match[1])}(?![\w$])")
    return ARGUMENT if any(name.search(value) for value in said) else CRASH


# ---- waits


def _add_wait(verdict: Verdict, body: str, words: str) -> Verdict:
    if verdict.code is McpErrorCode.QUOTA_EXCEEDED:
        return _add_window(verdict, wait_in_prose(body), words)
    is_conflict = verdict.upstream_status == 409
    _, retryable = fill_defaults(verdict.code, None, verdict.retryable)
    wait = wait_in_prose(body) if retryable or is_conflict else None
    if wait is None:
        return verdict
    if is_conflict:
        verdict = replace(CONTENDED, sentence=None, peer=None, advice="", upstream_status=409)
    return replace(verdict, retry_after_seconds=wait)


def _add_window(limit: Verdict, wait: int | None, words: str) -> Verdict:
    """
    Return a limit's verdict: a named window beats the words quota, plan and billing.
    """
    names_when = wait is not None or names_window(words)
    if is_final(words) or not names_when:
        return limit
    return replace(
        limit, category=McpErrorCategory.TRANSIENT, retryable=True, retry_after_seconds=wait
    )


# ---- the suspicion

_FIRST_WORDS: Final = (
    r"\W{0,4}(?:(?:[\w-]{1,30} ){0,3}error\b|errors?\b|exception\b|failed\b|failure\b|"
    r"invalid\b|unknown tool\b|fatal:|"
    r"cannot\b|could not\b|unable to\b|access denied|permission denied|"
    r"traceback \(most recent|unauthori[sz]ed\b|"
    r"forbidden\b|[\w .]{1,60}failed:)"
)


@cache
def _first_words() -> re.Pattern[str]:
    return re.compile(_FIRST_WORDS, re.IGNORECASE)


def looks_failed(text: str) -> bool:
    """
    Tell whether the text of a *success* reads like a failure.

    This is a suspicion: honest output can begin like that.
    """
    if len(text) > WINDOW:
        return False
    value = try_json(text)
    if value is None:
        return _value_failed(text)
    members = as_mapping(value)
    # As the Python SDK wraps a str or a dict that a tool returned.
    inside = members.get("result") if len(members) == 1 else None
    return _value_failed(members) or _value_failed(inside)


def _value_failed(value: object) -> bool:
    if isinstance(value, str):
        return _first_words().match(value) is not None
    return is_mapping(value) and _object_failed(value)


def _is_failing(status: object) -> bool:
    if isinstance(status, str):
        return status.lower() in ("error", "fail", "failed", "failure")
    return isinstance(status, int) and 400 <= status <= 599


_FAILURE_MEMBERS: Final[tuple[tuple[tuple[str, ...], Callable[[object], bool]], ...]] = (
    (("success", "ok"), lambda value: value is False),
    (("isError", "is_error"), lambda value: value is True),
    (("status", "statusCode", "status_code", "http_status", "code"), _is_failing),
    (("error", "error_message", "errorMessage"), bool),
)


def _object_failed(members: Mapping[str, object]) -> bool:
    if members.get("errors") and not members.get("data"):
        return True
    return any(shows(members.get(name)) for names, shows in _FAILURE_MEMBERS for name in names)
