"""
The clients of model vendors: openai, anthropic.

Texts of these classes hold the vendor's answer, which may quote the prompt, so none of them is
shown. A refusal of credentials is always the server's: no caller has a key of its own there. A
failure in the middle of a stream comes with the status 200 or none, and says its kind in words.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._meanings.rows import LATER, OPERATOR, bug, outage, permanent, server_auth
from toolfault._names import qualified_name
from toolfault._retry_after import delay_from, lower_headers
from toolfault._verdict import Rule, Verdict, replace
from toolfault.rules._helpers import attr, first_argument, int_attr, str_attr
from toolfault.rules.http import beginning_of, verdict_for
from toolfault.rules.httpx import RULES as HTTPX
from toolfault.rules.stdlib import network_error


_PEER: Final = "The model API"

#: The longest kind of a failure that is looked up.
_MAX_KIND: Final = 64

#: Kinds of failure, as vendors name them where there is no status, and the status that each has
#: where there is one.
_KINDS: Final[dict[str, int]] = {
    "api_error": 500,
    "authentication_error": 401,
    "billing_error": 402,
    "conflict_error": 409,
    "context_length_exceeded": 400,
    "invalid_api_key": 401,
    "invalid_prompt": 400,
    "invalid_request_error": 400,
    "model_not_found": 404,
    "not_found_error": 404,
    "overloaded_error": 529,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "request_too_large": 413,
    "requests": 429,
    "server_error": 500,
    "server_is_overloaded": 503,
    "slow_down": 503,
    "timeout_error": 504,
    "tokens": 429,
}

#: Kinds that say that money or room is missing, not time, whatever the status.
_USED_UP: Final = frozenset(
    {
        "billing_hard_limit_reached",
        "billing_not_active",
        "contract_spend_limit_reached",
        "enforced_spend_limit_reached",
        "insufficient_quota",
        "storage_quota_exceeded",
    }
)

#: An older form of the same, in prose alone.
_no_money = re.compile(r"credit balance is too low|insufficient[ _]balance").search

#: What the text of a client without a key says.
_no_key = re.compile(
    r"^Token exchange\b|\b(?:api_key|credentials?|access token|bearer)\b", re.IGNORECASE
).search

_token_status = re.compile(r"Token exchange failed with status ([1-5][0-9]{2})\b").match


_outage: Final = partial(outage, origin="upstream")


_LATE: Final = Verdict(
    code=McpErrorCode.TOOL_TIMEOUT,
    sentence="{peer} did not answer in time, and whether the request was carried out is unknown",
    peer=_PEER,
    advice=LATER,
    family="timeout",
    origin="upstream",
)
_NO_CONNECTION: Final = _outage("No connection to the model API could be made")
_NO_ADDRESS: Final = permanent(
    "The server's address for the model API can't be used", family="network", advice=OPERATOR
)
_NO_KEY: Final = server_auth("The server has no usable credentials for the model API")
_CLIENT: Final = permanent(
    "The client of the model API could not do what the tool asked", family="other", advice=OPERATOR
)


# ---- answers


def _status(exc: BaseException) -> Verdict:
    response, kinds = attr(exc, "response"), _kinds(exc)
    status = int_attr(exc, "status_code") or int_attr(response, "status_code")
    if status is None or status < 400:
        # In the middle of a stream that began well.
        return _kind(exc) or _outage(
            "The model API failed in the middle of its answer", family="http"
        )
    headers, prose = lower_headers(attr(response, "headers")), _prose(response)
    if kinds & _USED_UP or (status in {400, 402, 429} and _no_money(prose)):
        return replace(_quota_exhausted(f"HTTP {status}"), upstream_status=status)
    # The vendor's prose about a rate limit tells how to pay for a higher one, which is no sign of
    # missing money.
    said = " ".join(kinds) or prose
    quote = beginning_of(attr(response, "content"))
    verdict = verdict_for(
        status, headers=headers, url=_url(exc), body=said, quote=quote, peer=_PEER
    )
    return _as_servers(_as_told(verdict, status, headers))


def _url(exc: BaseException) -> str | None:
    try:
        url = attr(attr(exc, "request"), "url")
        return None if url is None else str(url)
    except Exception:  # noqa: BLE001 -- the request is another library's object
        return None


def _kinds(exc: BaseException) -> frozenset[str]:
    """
    Return the machine-readable kinds of a failure.
    """
    found = (str_attr(exc, name) for name in ("code", "type", "error_code"))
    return frozenset(kind for kind in found if kind and len(kind) <= _MAX_KIND)


def _kind(exc: BaseException) -> Verdict | None:
    """
    Return the verdict on a failure without a status, by its kind; None if the kind is unknown.
    """
    kinds = _kinds(exc)
    if used_up := kinds & _USED_UP:
        return _quota_exhausted(min(used_up))
    # What is special stands in the code, what is general in the type.
    for kind in (str_attr(exc, "error_code"), str_attr(exc, "code"), str_attr(exc, "type")):
        status = _KINDS.get(kind or "")
        if status is not None:
            verdict = verdict_for(status, peer=_PEER)
            return _as_servers(replace(verdict, upstream_status=None, note=kind or ""))
    return None


def _prose(response: object) -> str:
    # One that was not read, and may be a stream without end, has no content yet.
    return (beginning_of(attr(response, "content")) or "").lower()


def _quota_exhausted(why: str) -> Verdict:
    return Verdict(
        code=McpErrorCode.QUOTA_EXCEEDED,
        category=McpErrorCategory.PERMANENT,
        retryable=False,
        sentence="The model API's quota is used up",
        note=why,
        advice="More has to be bought or granted.",
        family="http",
        origin="upstream",
    )


def _as_servers(verdict: Verdict) -> Verdict:
    """
    Return a refusal of credentials as one of the server's own; any other verdict as it is.
    """
    if (
        verdict.code is not McpErrorCode.PERMISSION_DENIED
        or verdict.category is not McpErrorCategory.AUTH
    ):
        return verdict
    sentence = verdict.sentence
    if verdict.refuses_credentials:
        sentence = "{peer} did not accept the credentials of the server"
    return replace(
        verdict,
        code=McpErrorCode.INTERNAL,
        sentence=sentence,
        advice=OPERATOR,
        refuses_credentials=False,
        retryable=False,
    )


def _as_told(verdict: Verdict, status: int, headers: dict[str, str]) -> Verdict:
    """
    Return a retryable verdict if the answer asks to be retried, else the verdict as it is.
    """
    told = headers.get("x-should-retry", "").lower() == "true"
    if not told or verdict.retryable or status in {401, 402, 403, 407}:
        return verdict
    return replace(
        verdict,
        code=McpErrorCode.INTERNAL,
        category=McpErrorCategory.TRANSIENT,
        retryable=True,
        retry_after_seconds=delay_from(headers),
        sentence="{peer} did not carry out the request this time",
        advice=LATER,
        blames_values=False,
    )


def _stream_error(exc: BaseException) -> Verdict:
    return _kind(exc) or _outage("The request to the model API failed", family="http")


def _sandbox(exc: BaseException) -> Verdict:
    status = int_attr(exc, "status_code")
    return Verdict(
        code=McpErrorCode.NETWORK_BLOCKED,
        sentence="The server's environment may not talk to the model API",
        note=f"HTTP {status or 403}",
        advice=OPERATOR,
        family="http",
        origin="upstream",
        upstream_status=status,
    )


# ---- no answer


def _connect(exc: BaseException) -> Verdict:
    """
    Judge by what the HTTP client raised; a URL that it names is the server's configuration.
    """
    cause = exc.__cause__
    if cause is None:
        return _NO_CONNECTION
    verdict = _client_error(cause) or network_error(cause) or _NO_CONNECTION
    if verdict.code is McpErrorCode.TOOL_PANICKED:
        return _NO_ADDRESS
    return replace(verdict, peer=_PEER, code_if_caller_named=None, urls=(), origin="upstream")


def _client_error(cause: BaseException) -> Verdict | None:
    for cls in type(cause).__mro__:
        rule = HTTPX.get(qualified_name(cls))
        if rule is not None:
            return rule if isinstance(rule, Verdict) else rule(cause)
    return None


def _login(exc: BaseException) -> Verdict:
    """
    Judge what kept a client from getting its token: for now if who issues it failed, else for good.
    """
    status = int_attr(exc, "status_code") or int_attr(attr(exc, "response"), "status_code")
    if status is not None and (outage := _no_token(status)) is not None:
        return outage
    cause = exc.__cause__
    verdict = None if cause is None else _client_error(cause) or network_error(cause)
    if verdict is not None and verdict.retryable:
        return _outage(
            "The service that gives out credentials for the model API could not be reached"
        )
    return _NO_KEY


def _no_token(status: int) -> Verdict | None:
    if status < 500 and status != 429:
        return None
    return _outage(
        "The service that gives out credentials for the model API failed", note=f"HTTP {status}"
    )


def _base(exc: BaseException) -> Verdict:
    """
    Judge the class that says how a client was made: mostly without a key.
    """
    text = first_argument(exc)[:1024]
    if (match := _token_status(text)) is not None:
        return _no_token(int(match[1])) or _NO_KEY
    return _NO_KEY if _no_key(text) else _CLIENT


_BOTH: Final[dict[str, Rule]] = {
    "_response.MissingStreamClassError": bug(
        "The tool asked for a stream, and did not say of what"
    ),
    "_response.StreamAlreadyConsumed": bug(
        "The tool read an answer of the model API again that can be read once"
    ),
    "APIConnectionError": _connect,
    "APIError": _stream_error,
    "APIResponseValidationError": permanent(
        "The model API's answer is not of the form that its client knows", family="data"
    ),
    "APIStatusError": _status,
    "APITimeoutError": _LATE,
}

_SIGNATURE: Final = permanent(
    "The signature of a message from the model API is not valid", family="auth", advice=OPERATOR
)

RULES: Final[dict[str, Rule]] = {
    **{
        f"{package}.{name}": rule
        for package in ("openai", "anthropic")
        for name, rule in _BOTH.items()
    },
    "openai.ContentFilterFinishReasonError": permanent(
        "The model API's content filter stopped the answer"
    ),
    "openai.InvalidWebhookSignatureError": _SIGNATURE,
    "openai.LengthFinishReasonError": permanent(
        "The model's answer was cut off at the limit of its length"
    ),
    "openai.OAuthError": _login,
    "openai.OpenAIError": _base,
    "openai.WebSocketConnectionClosedError": _outage(
        "The connection to the model API broke before all was sent"
    ),
    "openai.WebSocketQueueFullError": _outage(
        "More is waiting to be sent to the model API than it takes", family="limit"
    ),
    "openai._exceptions.SubjectTokenProviderError": _login,
    "anthropic.APIWebhookValidationError": _SIGNATURE,
    "anthropic.AnthropicError": _base,
    "anthropic.CredentialsError": _login,
    "anthropic.RetryableError": _outage("The request to the model API failed"),
    "anthropic.SandboxEgressRestrictedError": _sandbox,
    "anthropic.lib.credentials._workload.WorkloadIdentityError": _login,
}

#: Left without a rule on purpose: what the author of a tool for these clients' own runners raises,
#: for the model.
IGNORED: Final = frozenset({"anthropic.lib.tools._beta_functions.ToolError"})
