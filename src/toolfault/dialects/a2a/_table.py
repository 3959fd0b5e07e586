"""
The official table of A2A errors, in the three versions whose statuses differ.

Rule 1: the numbers of JSON-RPC never moved; those of HTTP and gRPC did, in a patch release too.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

from toolfault._json import is_int


Version: TypeAlias = Literal["0.3", "1.0.0", "1.0.1"]
"""
The releases of the specification whose tables differ; 1.0.1 stands for all later ones.
"""

#: The release that is written.
CURRENT: Final[Version] = "1.0.1"

#: The canonical statuses of gRPC, in the order of their numbers.
GRPC_STATUSES: Final = tuple(
    """
    OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS
    PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED
    INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED
    """.split()
)

#: The longest name of an error that is looked up, in characters.
MAX_NAME: Final = 64


class Status(NamedTuple):
    """
    How an error looks outside JSON-RPC: the number of HTTP and the name of gRPC.
    """

    http: int
    grpc: str


class ErrorType(NamedTuple):
    """
    One row of the table.

    Attributes:
        name:
            As the specification calls it.

        code:
            The number of JSON-RPC; it is the same in every version.

        reason:
            What its ErrorInfo says: the name without "Error", in upper snake case.

        message:
            The standard message of the five errors that JSON-RPC defines; the others have none, and
            this is the stock Python server's. Not a contract: no reader may look at it.

        v03, v100, v101:
            HTTP and gRPC status in each version. None: the version does not have it. The text of
            0.3 has no such columns; these are the stock Python server's.
    """

    name: str
    code: int
    reason: str
    message: str
    v03: Status | None
    v100: Status
    v101: Status

    def status(self, version: Version = CURRENT) -> Status | None:
        """
        Return its statuses in a version. None: the version does not have it.
        """
        return {"0.3": self.v03, "1.0.0": self.v100}.get(version, self.v101)

    def name_in(self, version: Version = CURRENT) -> str:
        """
        Return its name in a version.
        """
        return _FORMER if version == "0.3" and self.name == _RENAMED else self.name


#: Where the rule for reasons gives no word: an adjective alone, and an abbreviation.
_REASONS: Final = {"InternalError": "INTERNAL_ERROR", "JSONParseError": "JSON_PARSE"}


def _row(  # noqa: PLR0917 -- a table has as many columns as it needs
    name: str, code: int, message: str, v03: Status | None, v100: Status, v101: Status
) -> ErrorType:
    words = "".join(
        f"_{letter}" if letter.isupper() else letter for letter in name.removesuffix("Error")
    )
    return ErrorType(name, code, _REASONS.get(name, words[1:].upper()), message, v03, v100, v101)


_ARGUMENT: Final = Status(400, "INVALID_ARGUMENT")
_STATE: Final = Status(400, "FAILED_PRECONDITION")
_NONE: Final = Status(404, "NOT_FOUND")
_UNABLE: Final = Status(501, "UNIMPLEMENTED")
_FAILED: Final = Status(500, "INTERNAL")

#: Name, number, message; the statuses of 0.3, of 1.0.0, and since 1.0.1.
_ROWS: Final = [
    _row(
        "JSONParseError",
        -32700,
        "Invalid JSON payload",
        Status(400, "INTERNAL"),
        _ARGUMENT,
        _ARGUMENT,
    ),
    _row(
        "InvalidRequestError",
        -32600,
        "Request payload validation error",
        _ARGUMENT,
        _ARGUMENT,
        _ARGUMENT,
    ),
    _row("MethodNotFoundError", -32601, "Method not found", _NONE, _NONE, _NONE),
    _row(
        "InvalidParamsError",
        -32602,
        "Invalid parameters",
        Status(422, "INVALID_ARGUMENT"),
        _ARGUMENT,
        _ARGUMENT,
    ),
    _row("InternalError", -32603, "Internal error", _FAILED, _FAILED, _FAILED),
    _row("TaskNotFoundError", -32001, "Task not found", _NONE, _NONE, _NONE),
    _row(
        "TaskNotCancelableError",
        -32002,
        "Task cannot be canceled",
        Status(409, "UNIMPLEMENTED"),
        Status(409, "FAILED_PRECONDITION"),
        _STATE,
    ),
    _row(
        "PushNotificationNotSupportedError",
        -32003,
        "Push Notification is not supported",
        _UNABLE,
        Status(400, "UNIMPLEMENTED"),
        _STATE,
    ),
    _row(
        "UnsupportedOperationError",
        -32004,
        "This operation is not supported",
        _UNABLE,
        Status(400, "UNIMPLEMENTED"),
        _STATE,
    ),
    _row(
        "ContentTypeNotSupportedError",
        -32005,
        "Incompatible content types",
        Status(415, "UNIMPLEMENTED"),
        Status(415, "INVALID_ARGUMENT"),
        _ARGUMENT,
    ),
    _row(
        "InvalidAgentResponseError",
        -32006,
        "Invalid agent response",
        Status(502, "INTERNAL"),
        Status(502, "INTERNAL"),
        _FAILED,
    ),
    _row(
        "ExtendedAgentCardNotConfiguredError",
        -32007,
        "Authenticated Extended Card is not configured",
        Status(404, "UNKNOWN"),
        _STATE,
        _STATE,
    ),
    _row(
        "ExtensionSupportRequiredError", -32008, "Extension support required", None, _STATE, _STATE
    ),
    _row(
        "VersionNotSupportedError",
        -32009,
        "Version not supported",
        None,
        Status(400, "UNIMPLEMENTED"),
        _STATE,
    ),
]

ERRORS: Final[dict[str, ErrorType]] = {row.name: row for row in _ROWS}
"""
The fourteen errors by name.
"""

#: What 0.3 called an error that has another name since.
_FORMER: Final = "AuthenticatedExtendedCardNotConfiguredError"
_RENAMED: Final = "ExtendedAgentCardNotConfiguredError"

_BY_CODE: Final = {row.code: row for row in _ROWS}
_BY_WORD: Final = {
    **{word: row for row in _ROWS for word in (row.name, row.reason)},
    _FORMER: ERRORS[_RENAMED],
    "AUTHENTICATED_EXTENDED_CARD_NOT_CONFIGURED": ERRORS[_RENAMED],
}


def error_type(which: object) -> ErrorType | None:
    """
    Return the row for a name, a reason, or a JSON-RPC number. None: no row has it.
    """
    if isinstance(which, str):
        return _BY_WORD.get(which)
    # True is an int in Python, and no number in JSON.
    return _BY_CODE.get(which) if is_int(which) else None


# ---- statuses

#: The canonical status that an HTTP status stands for (google.rpc.Code), and those of HTTP that it
#: leaves out.
CANONICAL: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    415: "INVALID_ARGUMENT",
    422: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}

#: Those statuses of HTTP that mean one thing, whatever a body says.
PLAIN: Final = frozenset({401, 403, 408, 429, 499, 503, 504})


class StatusMeaning(NamedTuple):
    """
    A status that tells what no number does.

    Attributes:
        http:
            The status of HTTP that stands for it.

        message:
            What is said where the peer says nothing.
    """

    http: int
    message: str


STATUS_MEANINGS: Final = {
    "UNAUTHENTICATED": StatusMeaning(401, "The agent does not accept the credentials."),
    "PERMISSION_DENIED": StatusMeaning(403, "The agent does not allow the request."),
    "RESOURCE_EXHAUSTED": StatusMeaning(429, "A limit of the agent is reached."),
    "DEADLINE_EXCEEDED": StatusMeaning(504, "The agent did not answer in time."),
    "UNAVAILABLE": StatusMeaning(503, "The agent cannot be reached."),
}
"""
What is -32603 over JSON-RPC, and known over HTTP and gRPC.
"""

#: The number that comes nearest to a status, where nothing tells the error by name; others are
#: -32603.
CODE_OF_STATUS: Final = {
    "INVALID_ARGUMENT": -32602,
    "OUT_OF_RANGE": -32602,
    "NOT_FOUND": -32601,
    "UNIMPLEMENTED": -32601,
}


def canonical(http: int) -> str:
    """
    Return the canonical status of gRPC that an HTTP status stands for.
    """
    return CANONICAL.get(http, "INTERNAL" if http >= 500 else "UNKNOWN")
