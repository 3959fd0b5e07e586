"""
pymongo: by class, and by the number that the server answered.

The numbers are those of MongoDB's ``error_codes.yml``. Texts of these classes hold hosts and the
documents of the call, so none of them is shown.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._json import is_array, is_mapping
from toolfault._meanings.rows import (
    LATER,
    OPERATOR,
    bug,
    outage,
    permanent,
    server_auth,
    timeout,
    value_refusal,
)
from toolfault._verdict import Rule, Verdict
from toolfault.rules._helpers import attr, int_attr


_outage: Final = partial(outage, family="database", origin="upstream")
_permanent: Final = partial(permanent, family="database", origin="upstream")
_refusal: Final = partial(value_refusal, family="database", origin="upstream")
_misuse: Final = partial(bug, family="database")

_UNREACHED: Final = _outage("MongoDB could not be reached", family="network")
_CUT_OFF: Final = _outage(
    "The connection to MongoDB was lost, and whether the operation was carried out is unknown",
    family="network",
)
_PRIMARY: Final = _outage("MongoDB is electing a primary, and accepts no changes")
_LATE: Final = timeout(
    "MongoDB did not answer in time, and whether the operation was carried out is unknown",
    origin="upstream",
)
_LOGIN: Final = server_auth("MongoDB did not accept the server's login", origin="upstream")
_NO_RIGHT: Final = server_auth(
    "The server's login has no right to do this in MongoDB", origin="upstream"
)
_SETTINGS: Final = _permanent("The server's settings for MongoDB are not valid", advice=OPERATOR)
_COMMAND: Final = _misuse("The tool sent an operation that MongoDB does not accept")
_MISUSED: Final = _misuse("The tool uses MongoDB in a way that it does not allow")
_DUPLICATE: Final = _refusal("Something with the same key exists already")
_SHAPE: Final = _refusal("A rule of the database does not allow a value")
_CONFLICT: Final = _outage("Another transaction changed the same data at the same time")
_LIMIT: Final = Verdict(
    code=McpErrorCode.QUOTA_EXCEEDED,
    category=McpErrorCategory.TRANSIENT,
    retryable=True,
    sentence="The database's rate limit is reached",
    advice=LATER,
    family="limit",
    origin="upstream",
)

#: What a number means. Any other: the operation is at fault.
NUMBERS: Final[dict[int, Verdict]] = {
    **dict.fromkeys((11, 18, 8000), _LOGIN),
    **dict.fromkeys((13, 31, 33), _NO_RIGHT),
    **dict.fromkeys((11000, 11001, 12582), _DUPLICATE),
    121: _SHAPE,
    **dict.fromkeys((50, 24, 202, 262), _LATE),
    **dict.fromkeys((112, 244, 246, 251), _CONFLICT),
    **dict.fromkeys((6, 7, 89, 9001), _CUT_OFF),
    **dict.fromkeys((91, 189, 10058, 10107, 11600, 11602, 13435, 13436), _PRIMARY),
    # Azure Cosmos DB and DocumentDB answer so.
    16500: _LIMIT,
    43: _outage("MongoDB no longer keeps the position of the query"),
    46: _outage("Something in the database is locked by somebody else"),
    **dict.fromkeys((146, 39, 14031), _permanent("MongoDB has no room left", advice=OPERATOR)),
}


def _judge_number(exc: BaseException) -> Verdict:
    number = int_attr(exc, "code")
    return _COMMAND if number is None else NUMBERS.get(number, _COMMAND)


def _bulk(exc: BaseException) -> Verdict:
    details = attr(exc, "details")
    errors: Any = details.get("writeErrors") if is_mapping(details) else None
    first: Any = errors[0] if is_array(errors) and errors else None
    number = first.get("code") if is_mapping(first) else None
    return NUMBERS.get(number, _COMMAND) if type(number) is int else _COMMAND


_BY_CLASS: Final[dict[str, Rule]] = {
    "AutoReconnect": _CUT_OFF,
    "BulkWriteError": _bulk,
    "ClientBulkWriteException": _COMMAND,
    "CollectionInvalid": _COMMAND,
    "ConfigurationError": _SETTINGS,
    "ConnectionFailure": _UNREACHED,
    "DuplicateKeyError": _DUPLICATE,
    "EncryptionError": _permanent("A value could not be encrypted or decrypted", advice=OPERATOR),
    "ExecutionTimeout": _LATE,
    "InvalidName": _MISUSED,
    "InvalidOperation": _MISUSED,
    "NetworkTimeout": _LATE,
    "NotPrimaryError": _PRIMARY,
    "OperationFailure": _judge_number,
    "ProtocolError": _outage("MongoDB gave an answer that can't be read"),
    "PyMongoError": _permanent("MongoDB failed"),
    "ServerSelectionTimeoutError": _UNREACHED,
    "WTimeoutError": _LATE,
    "WaitQueueTimeoutError": _outage(
        "The tool has too many connections to MongoDB open", family="limit"
    ),
}

RULES: Final[dict[str, Rule]] = {
    **{f"pymongo.errors.{name}": rule for name, rule in _BY_CLASS.items()},
    "bson.errors.BSONError": _refusal("MongoDB can't store a value"),
    "bson.errors.InvalidId": _refusal("A value is no identifier of MongoDB"),
}

IGNORED: Final = frozenset[str]()
