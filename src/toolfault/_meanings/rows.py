"""
The rows of all tables: verdicts with their usual parts, and the advice that ends their messages.

Rule 1: a row is a `Verdict`. What an answer adds to it (peer, note, wait) replaces those parts.
"""

from __future__ import annotations

from typing import Final

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._verdict import Family, Origin, Verdict, replace


#: What to do, as messages end.
LATER: Final = "Try again later."
NO_USE: Final = "Repeating the same call will not help."
OPERATOR: Final = "The server's operator has to look into it."
CHECK: Final = "Check the arguments."

#: Who answers, where a table does not know more.
UPSTREAM: Final = "The upstream API"
SERVICE: Final = "A service that the tool depends on"


def outage(
    sentence: str,
    *,
    note: str = "",
    advice: str = LATER,
    family: Family = "network",
    origin: Origin | None = None,
    peer: str | None = UPSTREAM,
) -> Verdict:
    """
    Return an internal, transient failure: something that the tool depends on does not work now.
    """
    return Verdict(
        code=McpErrorCode.INTERNAL,
        category=McpErrorCategory.TRANSIENT,
        retryable=True,
        sentence=sentence,
        peer=peer,
        note=note,
        advice=advice,
        family=family,
        origin=origin,
    )


def permanent(
    sentence: str,
    *,
    note: str = "",
    advice: str = NO_USE,
    family: Family = "other",
    origin: Origin | None = None,
    peer: str | None = UPSTREAM,
) -> Verdict:
    """
    Return an internal failure that will happen again.
    """
    return Verdict(
        code=McpErrorCode.INTERNAL,
        category=McpErrorCategory.PERMANENT,
        retryable=False,
        sentence=sentence,
        peer=peer,
        note=note,
        advice=advice,
        family=family,
        origin=origin,
    )


def timeout(sentence: str, *, origin: Origin | None = None, peer: str | None = UPSTREAM) -> Verdict:
    """
    Return a timeout: something that the tool depends on did not answer in time.
    """
    return Verdict(
        code=McpErrorCode.TOOL_TIMEOUT,
        category=McpErrorCategory.TRANSIENT,
        retryable=True,
        sentence=sentence,
        peer=peer,
        advice=LATER,
        family="timeout",
        origin=origin,
    )


def server_auth(
    sentence: str, *, note: str = "", origin: Origin | None = None, peer: str | None = UPSTREAM
) -> Verdict:
    """
    Return an internal failure of the server's own credentials or rights.
    """
    return Verdict(
        code=McpErrorCode.INTERNAL,
        category=McpErrorCategory.AUTH,
        retryable=False,
        sentence=sentence,
        peer=peer,
        note=note,
        advice=OPERATOR,
        family="auth",
        origin=origin,
    )


def bug(sentence: str, *, note: str = "", advice: str = NO_USE, family: Family = "bug") -> Verdict:
    """
    Return a failure of the tool's own code.
    """
    return Verdict(
        code=McpErrorCode.TOOL_PANICKED,
        category=McpErrorCategory.PERMANENT,
        retryable=False,
        sentence=sentence,
        peer=UPSTREAM,
        note=note,
        advice=advice,
        family=family,
    )


def value_refusal(
    sentence: str,
    *,
    note: str = "",
    advice: str = CHECK,
    family: Family = "http",
    origin: Origin | None = None,
    peer: str | None = UPSTREAM,
) -> Verdict:
    """
    Return an upstream's complaint about values, which a thin tool forwards from its caller.
    """
    return Verdict(
        code=McpErrorCode.INVALID_ARGUMENTS,
        category=McpErrorCategory.VALIDATION,
        retryable=False,
        sentence=sentence,
        peer=peer,
        note=note,
        advice=advice,
        family=family,
        origin=origin,
        blames_values=True,
    )


def status_row(
    code: McpErrorCode,
    category: McpErrorCategory,
    sentence: str,
    advice: str = NO_USE,
    *,
    retryable: bool = False,
) -> Verdict:
    """
    Return the meaning of a status that an upstream answered, where no other row fits it.
    """
    return Verdict(
        code=code,
        category=category,
        retryable=retryable,
        sentence=sentence,
        peer=UPSTREAM,
        advice=advice,
        family="http",
        origin="upstream",
    )


def never_again(verdict: Verdict) -> Verdict:
    """
    Return a verdict whose upstream asks not to be called again.
    """
    if not verdict.retryable:
        return verdict
    return replace(verdict, retryable=False, retry_after_seconds=None, advice=NO_USE)
