"""
google-api-core and google-auth.

The texts of the first hold URLs, resource names and what the service wrote; those of the second
hold paths, accounts and the token endpoint's answer. So none of them is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from itertools import islice
from typing import Any, Final, cast

from toolfault._codes import McpErrorCode
from toolfault._meanings.rows import LATER, OPERATOR, bug, outage, permanent, server_auth
from toolfault._retry_after import delay_from, duration_seconds, lower_headers, parse_seconds
from toolfault._verdict import Rule, Verdict, replace
from toolfault.rules import grpc, http
from toolfault.rules._helpers import attr, first_argument, int_attr, str_attr
from toolfault.rules.stdlib import network_error


#: As the subject of a sentence, and in one.
_PEER: Final = "The Google API"
_API: Final = "the Google API"

#: How many details of an error are looked at, and how much of its text.
_MAX_DETAILS: Final = 32
_LOOK: Final = 2048


_outage: Final = partial(outage, origin="upstream")


# ---- google-api-core

#: Reasons with which a 403 of these APIs means a limit that time mends, and one that it does not.
_BUSY: Final = frozenset({"rateLimitExceeded", "userRateLimitExceeded", "concurrentLimitExceeded"})
_USED_UP: Final = frozenset({"quotaExceeded", "dailyLimitExceeded", "billingNotEnabled"})

# The request stands before what the service said of it.
_request = re.compile(r"^[A-Z]{1,16} \S{1,2000}: ").sub


def _call(exc: BaseException) -> Verdict:
    """
    Judge by the HTTP status of the answer that it holds; else by its gRPC or HTTP status.
    """
    response = attr(exc, "response")
    answered, status = int_attr(response, "status_code"), int_attr(exc, "code")
    if answered is not None:
        return _http(exc, answered if status is None else status, response)
    code = attr(exc, "grpc_status_code")
    name = grpc.status_name(code) or (code if type(code) is int else None)
    if name is not None:
        return _grpc(exc, name, response)
    return permanent(f"The call to {_API} failed") if status is None else _http(exc, status, None)


def _grpc(exc: BaseException, name: str | int, response: object) -> Verdict:
    told = _retry_details(exc)
    if told == grpc.RetryDetails():
        # Without grpcio-status the library leaves the details in the metadata.
        told = grpc.read_trailers(response)
    text = (str_attr(exc, "message") or "")[:_LOOK]
    return grpc.verdict_for(name, text=text, **told._asdict(), quote=text or None, peer=_PEER)


def _http(exc: BaseException, status: int, response: object) -> Verdict:
    told, reasons = _retry_details(exc), _reasons(exc)
    limit = status == 403 and (reasons & (_BUSY | _USED_UP))
    headers = lower_headers(attr(response, "headers"))
    if told.delay is not None and delay_from(headers) is None:
        headers["retry-after"] = str(told.delay)
    said = _request("", (str_attr(exc, "message") or "")[:_LOOK], count=1)
    verdict = http.verdict_for(
        429 if limit else status,
        headers=headers,
        url=str_attr(response, "url"),
        body="billing" if limit and not limit & _BUSY else said,
        quote=said or None,
        peer=_PEER,
    )
    if not limit:
        return verdict
    return replace(verdict, note=f"HTTP {status}", upstream_status=status)


def _list_attr(exc: BaseException, name: str) -> list[Any]:
    found: list[Any] = attr(exc, name)
    return found[:_MAX_DETAILS] if type(found) is list else []


def _retry_details(exc: BaseException) -> grpc.RetryDetails:
    """
    Return the retry details in an error: messages of google.rpc, or their JSON.
    """
    told = grpc.RetryDetails()
    for detail in _list_attr(exc, "details"):
        delay, quota = (
            _read_json(detail) if issubclass(type(detail), dict) else _read_message(detail)
        )
        told = grpc.RetryDetails(
            told.delay if delay is None else delay, f"{told.quota} {quota}".strip()[:_LOOK]
        )
    return told


def _read_json(detail: Mapping[Any, Any]) -> tuple[int | None, str]:
    kind = _text(detail.get("@type")).rpartition(".")[2]
    if kind == "RetryInfo":
        return parse_seconds(detail.get("retryDelay")), ""
    found: list[Any] = detail.get("violations") or []
    if kind != "QuotaFailure" or type(found) is not list:
        return None, ""
    violations = found[:_MAX_DETAILS]
    said = [
        cast("Mapping[Any, Any]", each).get("description")
        for each in violations
        if type(each) is dict
    ]
    return None, " ".join(_text(each)[:_LOOK] for each in said)


def _read_message(detail: object) -> tuple[int | None, str]:
    if type(detail).__name__ == "RetryInfo":
        duration = attr(detail, "retry_delay") if _has(detail, "retry_delay") else None
        return duration_seconds(int_attr(duration, "seconds"), int_attr(duration, "nanos")), ""
    if type(detail).__name__ != "QuotaFailure":
        return None, ""
    violations = islice(attr(detail, "violations"), _MAX_DETAILS)
    return None, " ".join((str_attr(each, "description") or "")[:_LOOK] for each in violations)


def _has(message: object, field: str) -> bool:
    try:
        return attr(message, "HasField")(field) is True
    except Exception:  # noqa: BLE001 -- no message of protobuf
        return False


def _reasons(exc: BaseException) -> set[str]:
    """
    Return the words with which these APIs say why, one for each of an answer's errors.
    """
    errors = (
        cast("Mapping[Any, Any]", error)
        for error in _list_attr(exc, "errors")
        if type(error) is dict
    )
    return {_text(error.get("reason")) for error in errors}


def _text(value: object) -> str:
    """
    Return a value if it is a text, else nothing.
    """
    return value if type(value) is str else ""


def _gave_up(exc: BaseException) -> Verdict:
    """
    Judge by the last attempt's exception, which is its cause; without one, time ran out.
    """
    cause = attr(exc, "cause")
    if not issubclass(type(cause), BaseException) or cause is exc:
        return _TRIED
    return replace(_TRIED, judge_instead=cause)


_TRIED: Final = Verdict(
    code=McpErrorCode.TOOL_TIMEOUT,
    sentence=f"{_PEER} did not answer in time, although the tool tried repeatedly",
    advice=LATER,
    family="timeout",
    origin="upstream",
)


_CORE: Final[dict[str, Rule]] = {
    "GoogleAPIError": permanent(f"The call to {_API} failed"),
    "GoogleAPICallError": _call,
    "RetryError": _gave_up,
    "AsyncRestUnsupportedParameterError": bug(
        "The tool set a parameter that the REST transport does not have"
    ),
    "DuplicateCredentialArgs": bug("The tool gave several credentials where one is wanted"),
    "ResumableTransferError": _outage("The transfer broke off"),
    "UnseekableStreamError": bug(
        "The transfer has to begin again, and its data can't be read a second time"
    ),
    "UploadCancelledError": permanent("The upload was cancelled"),
}


# ---- google-auth

#: Words of OAuth that say why a token was not given (RFC 6749, section 5.2, and Google's own).
_refusal = re.compile(
    r"\(?'?(invalid_grant|invalid_client|invalid_request|invalid_scope|invalid_target|unauthorized_client"
    r"|unsupported_grant_type|access_denied|deleted_client|disabled_client|rapt_required)\b"
).match


def _refresh(exc: BaseException) -> Verdict:
    """
    Judge by whether the library says that another try may work; a refusal is final.
    """
    if attr(exc, "retryable") is True:
        return _outage("The service that gives access tokens failed", family="auth")
    match = _refusal(first_argument(exc)[:_LOOK])
    note = match[1] if match is not None else ""
    return server_auth(f"The server could not get an access token for {_API}", note=note)


def _transport(exc: BaseException) -> Verdict:
    """
    Judge by the network's error below it, if there is one; else an outage.
    """
    return network_error(exc) or _outage(
        "A service that gives access tokens could not be reached, or failed"
    )


_NO_CERTIFICATE: Final = server_auth(f"The server has no usable client certificate for {_API}")

_AUTH: Final[dict[str, Rule]] = {
    "GoogleAuthError": server_auth(f"The server could not log in at {_API}"),
    "ClientCertError": _NO_CERTIFICATE,
    # And what is malformed or missing in a file of credentials: classes below it are ValueError,
    # TypeError, OSError.
    "DefaultCredentialsError": server_auth(f"The server has no usable credentials for {_API}"),
    "MutualTLSChannelError": _NO_CERTIFICATE,
    "RefreshError": _refresh,
    "ResponseError": _outage("The answer of a service that gives access tokens could not be read"),
    "TimeoutError": Verdict(
        code=McpErrorCode.TOOL_TIMEOUT,
        sentence="A service that gives access tokens did not answer in time",
        advice=LATER,
        family="timeout",
        origin="upstream",
    ),
    "TransportError": _transport,
}

_CONFIGURED: Final = permanent(f"The server is not configured rightly for {_API}", advice=OPERATOR)

RULES: Final[dict[str, Rule]] = {
    **{f"google.api_core.exceptions.{name}": rule for name, rule in _CORE.items()},
    **{f"google.auth.exceptions.{name}": rule for name, rule in _AUTH.items()},
    "google.api_core._feature_gating_helpers.FeatureGatingError": _CONFIGURED,
    "google.api_core.iam.InvalidOperationException": bug(
        "The tool changed an IAM policy in a way that it can't"
    ),
    "google.api_core.universe.EmptyUniverseError": _CONFIGURED,
    "google.api_core.universe.UniverseMismatchError": _CONFIGURED,
}

#: Control flow of polling, which never leaves it.
IGNORED: Final = frozenset(
    {
        "google.api_core.future.async_future._OperationNotComplete",
        "google.api_core.future.polling._OperationNotComplete",
    }
)
