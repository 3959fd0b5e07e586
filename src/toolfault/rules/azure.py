"""
azure-core and azure-identity: what has no HTTP answer.

With an answer, `_judge` takes the status that the exception carries. Texts of the other classes
hold hosts and addresses, so none of them is shown.
"""

from __future__ import annotations

from typing import Final

from toolfault._meanings.rows import outage, permanent, server_auth, timeout
from toolfault._verdict import Rule, Verdict
from toolfault.rules._helpers import attr
from toolfault.rules.stdlib import network_error


_NO_CONNECTION: Final = outage("No connection to {peer} could be made")
_CUT_OFF: Final = outage(
    "The connection to {peer} broke, and whether the request was carried out is unknown"
)
_LATE: Final = timeout(
    "{peer} did not answer in time, and whether the request was carried out is unknown"
)
_NO_CREDENTIALS: Final = server_auth("The server has no usable credentials for Azure")


def _connect(exc: BaseException) -> Verdict:
    inner = attr(exc, "inner_exception")
    if not isinstance(inner, BaseException):
        return _NO_CONNECTION
    return network_error(inner) or _NO_CONNECTION


RULES: Final[dict[str, Rule]] = {
    "azure.core.exceptions.DecodeError": permanent("{peer}'s answer could not be decoded"),
    "azure.core.exceptions.IncompleteReadError": _CUT_OFF,
    "azure.core.exceptions.ServiceRequestError": _connect,
    "azure.core.exceptions.ServiceRequestTimeoutError": outage(
        "No connection to {peer} could be made in time"
    ),
    "azure.core.exceptions.ServiceResponseError": _CUT_OFF,
    "azure.core.exceptions.ServiceResponseTimeoutError": _LATE,
    "azure.core.exceptions.TooManyRedirectsError": permanent("{peer} redirects in a circle"),
    "azure.identity._exceptions.CredentialUnavailableError": _NO_CREDENTIALS,
}

#: They carry an answer, or are errors of the code that uses the client.
IGNORED: Final = frozenset(
    {
        "azure.core.exceptions.AzureError",
        "azure.core.exceptions.ClientAuthenticationError",
        "azure.core.exceptions.DeserializationError",
        "azure.core.exceptions.HttpResponseError",
        "azure.core.exceptions.ODataV4Error",
        "azure.core.exceptions.ResourceExistsError",
        "azure.core.exceptions.ResourceModifiedError",
        "azure.core.exceptions.ResourceNotFoundError",
        "azure.core.exceptions.ResourceNotModifiedError",
        "azure.core.exceptions.ResponseNotReadError",
        "azure.core.exceptions.SerializationError",
        "azure.core.exceptions.StreamClosedError",
        "azure.core.exceptions.StreamConsumedError",
    }
)
