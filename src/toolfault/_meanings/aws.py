"""
The meanings of the codes of AWS errors, as HTTP statuses.
"""

from __future__ import annotations

from typing import Final

from toolfault._meanings.http import read_status
from toolfault._text import pattern
from toolfault._verdict import Verdict


#: Codes of the server's own credentials, or of its clock.
LOGIN_CODES: Final = frozenset(
    """
    AuthFailure ExpiredToken ExpiredTokenException IncompleteSignature
    IncompleteSignatureException InvalidAccessKeyId InvalidClientTokenId InvalidSignatureException
    InvalidToken MissingAuthenticationToken MissingAuthenticationTokenException NotSignedUp
    RequestExpired RequestTimeTooSkewed SignatureDoesNotMatch TokenRefreshRequired
    UnrecognizedClientException
    """.split()
)

#: Codes that mean what an HTTP status means, whatever status they come with. The first that fits
#: decides.
_STATUSES: Final = (
    (r"Throttl|^TooManyRequests?(?:Exception)?$|ThroughputExceeded|^SlowDown$", 429),
    # One of the SDK's own list of throttling codes, although some services mean a hard quota by
    # it.
    (r"^(?:Request|Bandwidth)LimitExceeded|^LimitExceededException$", 429),
    (
        r"AccessDenied|^AuthorizationError|^Unauthorized(?:Operation|Exception)?$|^NotAuthorized|^Forbidden",
        403,
    ),
    (r"^(?:TransactionInProgress|TransactionConflict|PriorRequestNotComplete)", 503),
    (
        r"^(?:InternalFailure|InternalError|InternalServer(?:Error|Exception)|InternalServiceError)",
        500,
    ),
    (r"^ServiceUnavailable", 503),
    (r"^RequestTimeout", 408),
    (r"^ConditionalCheckFailed|^PreconditionFailed", 412),
    (r"^NoSuch|NotFound|^NonExistent|\.NonExistent", 404),
    (r"^Validation", 422),
    (r"SizeLimitExceeded|TooLarge", 413),
)

_HARD_LIMIT: Final = r"(?:Limits?|Quota(?:PerResource)?)Exceeded"


def status_for(code: str) -> int | None:
    """
    Return the HTTP status that means what a code means, or None if the code is not known.
    """
    return next((status for form, status in _STATUSES if pattern(form).search(code)), None)


def is_hard_limit(code: str) -> bool:
    """
    Tell whether a code speaks of a quota that waiting does not reset.
    """
    if pattern(_HARD_LIMIT).search(code) is None or "SizeLimit" in code:
        return False
    return status_for(code) != 429


def read_code(code: str) -> Verdict | None:
    """
    Return the verdict on a code that a text reports, or None if the code is not known.
    """
    if code in LOGIN_CODES:
        return read_status(401)
    if is_hard_limit(code):
        return read_status(507)
    status = status_for(code)
    return None if status is None else read_status(status)
