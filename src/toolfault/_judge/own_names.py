"""
What the name of an author's own exception class says.

Whole words of the camel-case name count, in the order of the table: an ``AuthorError`` is no
``Auth``, and a ``InvalidCredentials`` is about credentials.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._verdict import Verdict


_QUOTA: Final = Verdict(code=McpErrorCode.QUOTA_EXCEEDED, family="limit")
_CREDENTIALS: Final = Verdict(
    code=McpErrorCode.PERMISSION_DENIED, family="auth", refuses_credentials=True
)
_NOT_ALLOWED: Final = Verdict(code=McpErrorCode.PERMISSION_DENIED, family="auth")
_TIMEOUT: Final = Verdict(code=McpErrorCode.TOOL_TIMEOUT, family="timeout")
_OUTAGE: Final = Verdict(
    code=McpErrorCode.INTERNAL,
    category=McpErrorCategory.TRANSIENT,
    retryable=True,
    family="network",
)
_CONFIGURATION: Final = Verdict(code=McpErrorCode.INTERNAL)
_INVALID: Final = Verdict(code=McpErrorCode.INVALID_ARGUMENTS)

#: Words, each a run of words of the name, to what they mean; the first that is found decides.
WORDS: Final[dict[str, Verdict]] = {
    # What is wrongly configured, or named as invalid, is no occurrence of what the other words say.
    **dict.fromkeys(("config", "configuration", "setting", "settings"), _CONFIGURATION),
    **dict.fromkeys(
        ("invalid timeout", "invalid connection", "invalid network", "invalid quota"), _INVALID
    ),
    **dict.fromkeys(
        ("rate limit", "rate limited", "ratelimit", "ratelimited", "too many requests"), _QUOTA
    ),
    **dict.fromkeys(("quota", "throttle", "throttled", "throttling"), _QUOTA),
    **dict.fromkeys(("auth", "authentication", "authorization", "authorisation"), _CREDENTIALS),
    **dict.fromkeys(("unauthorized", "unauthorised", "unauthenticated"), _CREDENTIALS),
    **dict.fromkeys(("credential", "credentials", "identity"), _CREDENTIALS),
    **dict.fromkeys(
        ("forbidden", "permission", "permissions", "not allowed", "access denied", "unsafe"),
        _NOT_ALLOWED,
    ),
    **dict.fromkeys(("timeout", "time out", "timed out", "deadline exceeded"), _TIMEOUT),
    **dict.fromkeys(("network", "connection", "transient", "unavailable", "upstream"), _OUTAGE),
    **dict.fromkeys(("invalid", "input", "argument", "arguments", "validation"), _INVALID),
    **dict.fromkeys(("not found", "exists", "too large"), _INVALID),
}

_words_of = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+").findall

#: The longest name that is looked at.
_MAX_NAME: Final = 256


@lru_cache(maxsize=1024)
def verdict_for_name(name: str) -> Verdict | None:
    """
    Return the verdict on the words of a class name; None if they say nothing.
    """
    text = f" {' '.join(_words_of(name[:_MAX_NAME])).lower()} "
    return next((verdict for words, verdict in WORDS.items() if f" {words} " in text), None)
