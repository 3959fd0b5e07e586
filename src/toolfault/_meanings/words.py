"""
The words for failures in other vocabularies.

Rule 1: numbers and sentences stand in other tables.
Rule 2: a word that only says that something failed is left out: a status or the text may say more.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._meanings.grpc import STATUS, VAGUE, read_status
from toolfault._text import pattern
from toolfault._verdict import Verdict


#: The longest word, in characters, that is looked up.
_LONGEST: Final = 128

#: An outage of what the tool talks to.
_TRANSIENT: Final = Verdict(
    code=McpErrorCode.INTERNAL, category=McpErrorCategory.TRANSIENT, retryable=True
)

#: Words of other vocabularies, in snake_case and without "error" or "exception" around them.
_WORDS: Final = {
    McpErrorCode.QUOTA_EXCEEDED: """
        limit_exceeded quota quota_exhausted rate_limit rate_limit_exceeded rate_limit_reached
        rate_limited ratelimit ratelimited request_limit_exceeded resource_exhausted slow_down
        throttled throttling too_many_requests usage_limit_exceeded
    """,
    McpErrorCode.TOOL_TIMEOUT: """
        connect_timeout deadline deadline_exceeded etimedout gateway_timeout read_timeout
        request_timed_out request_timeout timed_out timeout upstream_timeout
    """,
    McpErrorCode.PERMISSION_DENIED: """
        access_denied admin_required auth auth_required authentication authentication_failed
        authentication_required authorization authorization_failed eacces eperm expired_token
        forbidden insufficient_permissions insufficient_scope invalid_api_key invalid_auth
        invalid_credentials invalid_token missing_scope not_authorized permission read_only_mode
        restricted_resource token_expired token_revoked unauthenticated unauthorized user_rejected
    """,
    McpErrorCode.INVALID_ARGUMENTS: """
        already_exists bad_request conflict enoent entity_in_use failed_precondition
        invalid_argument invalid_argument_value invalid_file_type invalid_input invalid_name
        invalid_parameter invalid_parameters invalid_params invalid_request invalid_type
        missing_argument missing_parameter missing_required missing_required_parameter not_found
        out_of_range payload_too_large schema_validation unprocessable unprocessable_entity
        validation validation_failed
    """,
    McpErrorCode.TOOL_NOT_FOUND: "method_not_found no_such_tool unknown_tool",
    McpErrorCode.NETWORK_BLOCKED: "egress_blocked egress_denied policy_blocked",
    McpErrorCode.TOOL_PANICKED: "crash crashed panic panicked",
}
#: A limit that only money or a grant resets.
_USED_UP: Final = Verdict(
    code=McpErrorCode.QUOTA_EXCEEDED, category=McpErrorCategory.PERMANENT, retryable=False
)
_FINAL_WORDS: Final = """
    billing billing_hard_limit_reached billing_not_active credits_exhausted insufficient_balance
    insufficient_credits insufficient_funds insufficient_quota out_of_credits payment_required
"""
_TRANSIENT_WORDS: Final = """
    bad_gateway connection connection_refused connection_reset eai_again econnrefused econnreset
    fetch_failed network overloaded server_busy service_unavailable temporarily_unavailable
    temporary transient unavailable upstream_unavailable worker_offline
"""


@cache
def _table() -> dict[str, Verdict]:
    table = {
        code.value: Verdict(code=code) for code in McpErrorCode if code is not McpErrorCode.UNKNOWN
    }
    # "internal" says no more than that something failed; a status or the text may say more.
    del table[McpErrorCode.INTERNAL]
    for code, words in _WORDS.items():
        table.update(dict.fromkeys(words.split(), Verdict(code=code)))
    table.update(dict.fromkeys(_FINAL_WORDS.split(), _USED_UP))
    table.update(dict.fromkeys(_TRANSIENT_WORDS.split(), _TRANSIENT))
    return table


def list_words() -> frozenset[str]:
    """
    Return the words of the table, in snake_case.
    """
    return frozenset(_table())


_HUMP: Final = r"(?<=[a-z0-9])(?=[A-Z])"
_NO_WORD: Final = r"[^a-z0-9]+"
_AROUND: Final = r"^(?:err|error|e)_|_(?:err|error|exception|failure)$"


def meaning_of(word: str) -> Verdict | None:
    """
    Return the verdict of a word of another vocabulary, or None if the word is not known.

    ``RATE_LIMITED``, ``RateLimitError`` and ``rate-limited`` are one word.
    """
    return None if len(word) > _LONGEST else _meaning_of_short(word)


@lru_cache(maxsize=512)
def _meaning_of_short(word: str) -> Verdict | None:
    # Peers repeat themselves, and all members of an object are asked.
    if word in STATUS and word not in VAGUE:
        return read_status(word)
    snake = pattern(_NO_WORD).sub("_", pattern(_HUMP).sub("_", word).lower()).strip("_")
    meant = _table().get(snake) or _table().get(pattern(_AROUND).sub("", snake))
    # Whatever it was: "template_not_found", "channel_not_found".
    return _table()["not_found"] if meant is None and snake.endswith("_not_found") else meant
