"""
redis-py: by class, and by the first word of an error reply that has no class.

Texts of these classes hold hosts, commands and their values, so none of them is shown. Some failed
logins are ``ConnectionError``s, none of the classes is a builtin one of that name, and a lock's
error is a ``ValueError``.
"""

from __future__ import annotations

import re
import ssl
from functools import partial
from typing import Final

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._meanings.rows import LATER, OPERATOR, bug, outage, permanent, server_auth
from toolfault._verdict import Rule, Verdict
from toolfault.rules._helpers import first_argument, int_attr, str_attr
from toolfault.rules.http import verdict_for


_outage: Final = partial(outage, family="database", origin="upstream")


_permanent: Final = partial(permanent, family="database", origin="upstream")


_misuse: Final = partial(bug, family="database")


_no_right: Final = partial(server_auth, origin="upstream")


_UNREACHED: Final = _outage(
    "Redis could not be reached, or the connection to it broke", family="network"
)
_CERTIFICATE: Final = _permanent(
    "The TLS certificate of Redis could not be verified", advice=OPERATOR
)
_LOGIN: Final = _no_right("Redis did not accept the server's login")
_COMMAND: Final = _misuse("The tool sent a command that Redis does not accept")
_CLUSTER: Final = _outage("The Redis cluster is not available")
_KEYS: Final = _misuse(
    "The tool used keys together that are on different nodes of the Redis cluster"
)
_MOVED: Final = _permanent(
    "The server is not configured for a Redis cluster, and the key is on another node",
    advice=OPERATOR,
)
_CHANGED: Final = _outage("A key that the tool watched was changed by somebody else")

#: First words of replies for which there is no class. Any other: the command is at fault.
_BY_WORD: Final = {
    "BUSY": _outage("Redis is busy with a script"),
    "DENIED": _no_right("Redis accepts no connection from the server"),
    "MISCONF": _permanent("Redis can't save its data, and accepts no changes", advice=OPERATOR),
    "NOREPLICAS": _outage("Redis has too few replicas to accept changes"),
    "UNKILLABLE": _outage("Redis is busy with a script"),
    "WRONGTYPE": _misuse("The tool used a key in Redis that holds another kind of value"),
}

_word = re.compile(r"[A-Z]{2,16}(?= )").match


def _reply(exc: BaseException) -> Verdict:
    # In a pipeline the command, with its values, stands before.
    text = first_argument(exc).rpartition(" of pipeline caused error: ")[2]
    word = _word(text)
    return _BY_WORD.get(word[0], _COMMAND) if word else _COMMAND


def _connection(exc: BaseException) -> Verdict:
    # What the socket raised is only in the context.
    for link in (exc.__cause__, exc.__context__):
        if issubclass(type(link), ssl.SSLCertVerificationError):
            return _CERTIFICATE
    return _UNREACHED


def _lock(exc: BaseException) -> Verdict:
    # Only one of its texts tells that somebody else has the lock; the others, that this code has
    # none.
    if first_argument(exc).startswith("Unable to acquire lock"):
        return _outage("Somebody else holds a lock that the tool needs")
    return _misuse("The tool used a lock that it does not hold")


def _http(exc: BaseException) -> Verdict:
    status = int_attr(exc, "status")
    if status is None:
        return _permanent("The API of a Redis cluster gave an answer without a status")
    return verdict_for(status, url=str_attr(exc, "url"), peer="The API of a Redis cluster")


_BY_CLASS: Final[dict[str, Rule]] = {
    "AskError": _MOVED,
    "AuthenticationError": _LOGIN,
    "AuthenticationWrongNumberOfArgsError": _LOGIN,
    "AuthorizationError": _no_right("The server's login has no right to use Redis"),
    "BusyLoadingError": _outage("Redis is still loading its data"),
    "ChildDeadlockedError": _misuse(
        "A process of the tool and its parent share a connection to Redis"
    ),
    "ClusterCrossSlotError": _KEYS,
    "ClusterDownError": _CLUSTER,
    "ClusterError": _CLUSTER,
    "ConnectionError": _connection,
    "CrossSlotTransactionError": _KEYS,
    "DataError": _misuse("The tool gave Redis a value of a kind that it can't store"),
    "ExecAbortError": _misuse(
        "Redis discarded a transaction because it had refused one of its commands"
    ),
    "ExternalAuthProviderError": _outage("The service by which Redis checks logins failed"),
    "IncorrectPolicyType": _misuse(
        "The tool sent a command that can't be routed in the Redis cluster"
    ),
    "InvalidPipelineStack": _permanent(
        "The Redis cluster gave fewer answers than there were commands"
    ),
    "InvalidResponse": _outage("Redis gave an answer that can't be read"),
    "LockError": _lock,
    "LockNotOwnedError": _outage(
        "The tool lost a lock before it was done, since that took too long"
    ),
    "MasterDownError": _outage("A replica of Redis has lost its primary"),
    "MaxConnectionsError": _outage("The server has no connection to Redis left", family="limit"),
    "ModuleError": _permanent("Redis could not load or unload a module", advice=OPERATOR),
    "NoPermissionError": _no_right("The server's login has no right to do this in Redis"),
    "NoScriptError": _misuse("The tool called a script that Redis does not have"),
    "OutOfMemoryError": Verdict(
        code=McpErrorCode.QUOTA_EXCEEDED,
        category=McpErrorCategory.PERMANENT,
        retryable=False,
        sentence="Redis has no memory left for changes",
        advice="Room has to be made first.",
        family="limit",
        origin="upstream",
    ),
    "PubSubError": _misuse("The tool used a subscription of Redis in a way that it does not allow"),
    "ReadOnlyError": _outage("Redis is a replica at the moment, and accepts no changes"),
    "RedisClusterException": _CLUSTER,
    "RedisError": _permanent("Redis failed"),
    "ResponseError": _reply,
    "TimeoutError": Verdict(
        code=McpErrorCode.TOOL_TIMEOUT,
        sentence="Redis did not answer in time, and whether the command was carried out is unknown",
        advice=LATER,
        family="timeout",
        origin="upstream",
    ),
    "TryAgainError": _outage("The Redis cluster is moving the keys that are needed"),
    "WatchError": _CHANGED,
}

RULES: Final[dict[str, Rule]] = {
    **{f"redis.exceptions.{name}": rule for name, rule in _BY_CLASS.items()},
    "redis.auth.err.InvalidTokenSchemaErr": _LOGIN,
    "redis.auth.err.RequestTokenErr": _LOGIN,
    "redis.auth.err.TokenRenewalErr": _LOGIN,
    # Of listeners that log in again with a new token.
    "redis.event.EventException": _LOGIN,
    "redis.http.http_client.HttpError": _http,
    "redis.multidb.exception.InitialHealthCheckFailedError": _UNREACHED,
    "redis.multidb.exception.NoValidDatabaseException": _UNREACHED,
    "redis.multidb.exception.TemporaryUnavailableException": _UNREACHED,
    "redis.multidb.exception.UnhealthyDatabaseException": _UNREACHED,
}

IGNORED: Final = frozenset[str]()
