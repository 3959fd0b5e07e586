"""
botocore, and so boto3: what AWS, and what speaks as AWS does, answers.

Texts of these classes hold endpoints, ARNs, account numbers, bucket names and the values of
parameters, so none is shown; the code of an error is, since it is one of a service's fixed words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, cast

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._meanings.aws import LOGIN_CODES, is_hard_limit, status_for
from toolfault._meanings.rows import (
    LATER,
    OPERATOR,
    bug,
    outage,
    permanent,
    server_auth,
    value_refusal,
)
from toolfault._retry_after import delay_from, lower_headers
from toolfault._verdict import Rule, Verdict, replace
from toolfault.rules._helpers import attr
from toolfault.rules.http import verdict_for
from toolfault.rules.stdlib import network_error


#: As the subject of a sentence, and in one.
_PEER: Final = "The AWS API"
_API: Final = "the AWS API"


_outage: Final = partial(outage, origin="upstream")


_arguments: Final = value_refusal


# ---- answers

_code = re.compile(r"[A-Za-z][A-Za-z0-9]{1,63}(?:\.[A-Za-z][A-Za-z0-9]{1,63}){0,3}").fullmatch

#: Names under which an answer says how many seconds to wait.
_WAITS: Final = ("retryAfterSeconds", "RetryAfterSeconds")


def _answer(exc: BaseException) -> Verdict:
    """
    Judge by the code of the error, else by the HTTP status of the answer.
    """
    return _judge_response(attr(exc, "response"))


def verdict_for_code(code: str) -> Verdict:
    """
    Return the meaning of an error code of AWS, for texts that quote one.
    """
    return _judge_response({"Error": {"Code": code}})


_USED_UP: Final = Verdict(
    code=McpErrorCode.QUOTA_EXCEEDED,
    category=McpErrorCategory.PERMANENT,
    retryable=False,
    sentence="A quota of the AWS account is used up",
    advice="More has to be granted, or something freed.",
    family="limit",
)
_NO_LOGIN: Final = server_auth(f"{_PEER} did not accept the server's credentials")
_REFUSED: Final = permanent(f"{_PEER} refused the call", family="http")


def _judge_response(response: object) -> Verdict:
    code, status = _code_and_status(response)
    meant = status_for(code) or status
    if code in LOGIN_CODES:
        verdict = _NO_LOGIN
    elif is_hard_limit(code) and (status or 400) < 500:
        verdict = _USED_UP
    elif meant is None:
        verdict = _REFUSED
    else:
        verdict = _judge_status(meant, response, has_code=code != "")
    text = _part(response, "Error").get("Message")
    return replace(
        verdict,
        # The code tells more than the status that stands for it.
        note=_note(code, status),
        origin="upstream",
        upstream_status=status,
        quote=text if type(text) is str else None,
    )


def _code_and_status(response: object) -> tuple[str, int | None]:
    """
    Return the error code of a response, "" without a valid one, and its HTTP status.
    """
    code = _part(response, "Error").get("Code")
    status = _part(response, "ResponseMetadata").get("HTTPStatusCode")
    status = status if type(status) is int else None
    if type(code) is not str:
        return "", status
    if status is None and re.fullmatch("[1-5][0-9]{2}", code):
        # An answer without a body, as to a HEAD, has its status for a code.
        return "", int(code)
    return (code if _code(code) else ""), status


def _judge_status(status: int, response: object, *, has_code: bool) -> Verdict:
    if status == 403:
        verdict = verdict_for(status, peer=_PEER)
        # A proxy sends no code of AWS.
        maybe_proxy = verdict.maybe_proxy and not has_code
        return replace(verdict, refuses_credentials=True, maybe_proxy=maybe_proxy)
    return verdict_for(status, headers=_headers(response), peer=_PEER)


def _note(code: str, status: int | None) -> str:
    if not status:
        return code
    return f"{code}, HTTP {status}" if code else f"HTTP {status}"


def _part(response: object, name: str) -> Mapping[Any, Any]:
    found = cast("Mapping[Any, Any]", response).get(name) if type(response) is dict else None
    return cast("Mapping[Any, Any]", found) if type(found) is dict else {}


def _headers(response: object) -> dict[str, str]:
    """
    Return the answer's headers, with a wait that stands in its body as one of them.
    """
    headers = lower_headers(_part(response, "ResponseMetadata").get("HTTPHeaders"))
    if delay_from(headers) is None:
        fields = cast("Mapping[Any, Any]", response)
        found = [place.get(name) for place in (fields, _part(response, "Error")) for name in _WAITS]
        waits = [str(wait) for wait in found if type(wait) in {int, str}]
        headers.update(("retry-after", wait) for wait in waits[:1])
    return headers


def _waiter_error(exc: BaseException) -> Verdict:
    """
    Judge by whether it waited too long, else by the last answer if that was an error.
    """
    if _message_part(exc, "reason").startswith("Max attempts exceeded"):
        return Verdict(
            code=McpErrorCode.TOOL_TIMEOUT,
            sentence="What the tool waited for at AWS did not happen in time",
            advice=LATER,
            family="timeout",
            origin="upstream",
        )
    last = attr(exc, "last_response")
    if _part(last, "Error"):
        return _judge_response(last)
    return permanent("What the tool waited for at AWS can't happen any more")


def _message_part(exc: BaseException, name: str) -> str:
    """
    Return a text of which the message was made.
    """
    fields = attr(exc, "kwargs")
    found = cast("Mapping[Any, Any]", fields).get(name) if type(fields) is dict else None
    return found if type(found) is str else ""


# ---- parameters

_missing = re.compile(
    r'^Missing required parameter in [^\n"]{1,256}: "([A-Za-z]\w{0,63})"$', re.MULTILINE
)
_invalid = re.compile(
    r"^Invalid (?:type|value|length) for parameter ([A-Za-z]\w{0,63})\b", re.MULTILINE
)

#: How much of a report is looked at, and how many parameters are named.
_REPORT: Final = 8192
_MAX_NAMED: Final = 5


def _parameters(exc: BaseException) -> Verdict:
    """
    Judge as the caller's, and name the parameters that lack or do not fit; never what was given.
    """
    text = _message_part(exc, "report")[:_REPORT]
    parts = [
        f"{what}: {', '.join(names)}"
        for what, pattern in (("missing", _missing), ("not fitting", _invalid))
        if (names := list(dict.fromkeys(match[1] for match in pattern.finditer(text)))[:_MAX_NAMED])
    ]
    named = f" ({'; '.join(parts)})" if parts else ""
    return _arguments(f"The parameters of the call to AWS are not valid{named}")


# ---- no answer


def _connection_error(exc: BaseException) -> Verdict:
    """
    Judge by the network's error below it, if there is one; else an outage.
    """
    return network_error(exc) or _outage(f"No connection to {_API} could be made")


def _tls(exc: BaseException) -> Verdict:
    """
    Judge by the TLS error below it: a connection that was cut off is an outage, all else is final.
    """
    return network_error(exc) or permanent(
        f"No TLS connection to {_API} could be made", advice=OPERATOR, family="network"
    )


def _proxy(exc: BaseException) -> Verdict:
    """
    Judge by the network's error below it; a refusal if there is none.
    """
    return network_error(exc) or Verdict(
        code=McpErrorCode.NETWORK_BLOCKED,
        sentence=f"A proxy does not let the connection to {_API} through",
        advice=OPERATOR,
        family="network",
    )


_CUT_OFF: Final = _outage(
    f"The connection to {_API} broke, and whether the request was carried out is unknown"
)

_NETWORK: Final[dict[str, Rule]] = {
    "ConnectTimeoutError": _outage(f"No connection to {_API} could be made in time"),
    "ConnectionClosedError": _CUT_OFF,
    "ConnectionError": _connection_error,
    "EndpointConnectionError": _connection_error,
    "HTTPClientError": _connection_error,
    "IncompleteReadError": _CUT_OFF,
    "ProxyConnectionError": _proxy,
    "ReadTimeoutError": Verdict(
        code=McpErrorCode.TOOL_TIMEOUT,
        sentence=(
            "{peer} did not answer in time, and whether the request was carried out is unknown"
        ),
        peer=_PEER,
        advice=LATER,
        family="timeout",
        origin="upstream",
    ),
    "ResponseStreamingError": _CUT_OFF,
    "SSLError": _tls,
}


# ---- credentials, configuration, the rest

_NO_CREDENTIALS: Final = server_auth("The server has no usable AWS credentials")
_NO_TOKEN: Final = server_auth("The server could not renew its AWS credentials")
_CONFIGURED: Final = permanent("The server is not configured rightly for AWS", advice=OPERATOR)
_MISUSED: Final = bug("The tool used the AWS client in a way that it does not allow")
_STUBBED: Final = bug("A stubbed AWS client has no answer for this call")
_NAMED: Final = _arguments("A bucket, region, ARN or host that the call to AWS names is not valid")

_REST: Final[dict[str, Rule]] = {
    "BotoCoreError": permanent("The call to AWS failed"),
    **dict.fromkeys(
        ("NoAuthTokenError", "NoCredentialsError", "PartialCredentialsError"), _NO_CREDENTIALS
    ),
    **dict.fromkeys(
        (
            "CredentialRetrievalError",
            "LoginError",
            "MetadataRetrievalError",
            "RefreshWithMFAUnsupportedError",
            "SSOError",
            "TokenRetrievalError",
        ),
        _NO_TOKEN,
    ),
    **dict.fromkeys(
        (
            "BaseEndpointResolverError",
            "ConfigNotFound",
            "ConfigParseError",
            "EndpointProviderError",
            "InvalidChecksumConfigError",
            "InvalidConfigError",
            "InvalidDefaultsMode",
            "InvalidEndpointConfigurationError",
            "InvalidEndpointDiscoveryConfigurationError",
            "InvalidIMDSEndpointError",
            "InvalidIMDSEndpointModeError",
            "InvalidProxiesConfigError",
            "InvalidRetryConfigurationError",
            "InvalidS3AddressingStyleError",
            "InvalidS3UsEast1RegionalEndpointConfigError",
            "InvalidSTSRegionalEndpointsConfigError",
            "MD5UnavailableError",
            "MissingDependencyException",
            "ProfileNotFound",
            "ServiceNotInRegionError",
            "UnknownCredentialError",
            "UnknownRegionError",
            "UnknownTokenProviderError",
            "UnsupportedS3AccesspointConfigurationError",
            "UnsupportedS3ConfigurationError",
            "UnsupportedS3ControlConfigurationError",
        ),
        _CONFIGURED,
    ),
    **dict.fromkeys(
        (
            "ApiVersionNotFoundError",
            "AwsChunkedWrapperError",
            "DataNotFoundError",
            "InvalidExpressionError",
            "OperationNotPageableError",
            "UndefinedModelAttributeError",
            "UnknownClientMethodError",
            "UnknownServiceStyle",
            "UnknownSignatureVersionError",
            "UnseekableStreamError",
            "UnsupportedServiceProtocolsError",
            "UnsupportedSignatureVersionError",
            "WaiterConfigError",
        ),
        _MISUSED,
    ),
    **dict.fromkeys(
        (
            "InvalidDNSNameError",
            "InvalidHostLabelError",
            "UnsupportedOutpostResourceError",
            "UnsupportedS3ArnError",
            "UnsupportedS3ControlArnError",
        ),
        _NAMED,
    ),
    "CapacityNotAvailableError": Verdict(
        code=McpErrorCode.QUOTA_EXCEEDED,
        sentence="The tool calls AWS more often than its client permits",
        advice=LATER,
        family="limit",
    ),
    "ChecksumError": _outage("What AWS sent arrived damaged"),
    "ClientError": _answer,
    "FlexibleChecksumError": permanent("What AWS sent has another checksum than it says"),
    "MissingParametersError": _arguments("Parameters of the call to AWS are missing"),
    "PaginationError": permanent("The pages of AWS's answer do not follow each other"),
    "ParamValidationError": _parameters,
    "StubResponseError": _STUBBED,
    "ValidationError": _arguments("A parameter of the call to AWS is not valid"),
    "WaiterError": _waiter_error,
}

RULES: Final[dict[str, Rule]] = {
    **{f"botocore.exceptions.{name}": rule for name, rule in {**_NETWORK, **_REST}.items()},
    "botocore.discovery.EndpointDiscoveryRefreshFailed": _outage(
        "An endpoint of AWS could not be found out"
    ),
    "botocore.discovery.EndpointDiscoveryRequired": _CONFIGURED,
    "botocore.eventstream.ParserError": _outage("A stream of events from AWS arrived damaged"),
    "botocore.model.InvalidShapeError": _MISUSED,
    "botocore.model.InvalidShapeReferenceError": _MISUSED,
    "botocore.model.NoShapeFoundError": _MISUSED,
    "botocore.model.OperationNotFoundError": _MISUSED,
    "botocore.parsers.ResponseParserError": _outage(f"{_PEER} gave an answer that can't be read"),
    "botocore.utils.InvalidArnException": _NAMED,
}

#: Warnings, and the control flow of the look-ups of metadata, which never leaves them.
IGNORED: Final = frozenset(
    {
        "botocore.exceptions.ImminentRemovalWarning",
        "botocore.exceptions.UnsupportedTLSVersionWarning",
        "botocore.utils.BadIMDSRequestError",
        "botocore.utils._RetriesExceededError",
    }
)
