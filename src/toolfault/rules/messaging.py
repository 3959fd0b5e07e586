"""
Message brokers: aiokafka and pika.

Texts of these classes hold hosts and topics, so none of them is shown. An error that a broker
answers says itself whether it may be retried.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from toolfault._codes import McpErrorCategory, McpErrorCode
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
from toolfault.rules.stdlib import network_error


_outage: Final = partial(outage, origin="upstream")
_permanent: Final = partial(permanent, origin="upstream")
_no_right: Final = partial(server_auth, origin="upstream")

_UNREACHED: Final = _outage("The message broker could not be reached")
_CUT_OFF: Final = _outage(
    "The connection to the message broker broke, and whether the message was taken is unknown"
)
_LATE: Final = timeout(
    "The message broker did not answer in time, and whether the message was taken is unknown",
    origin="upstream",
)
_LOGIN: Final = _no_right("The message broker did not accept the server's login")
_NO_RIGHT: Final = _no_right("The server's login has no right to do this at the message broker")
_MISUSED: Final = bug("The tool uses the message broker in a way that it does not allow")
_SETTINGS: Final = _permanent(
    "The server's settings for the message broker are not valid", advice=OPERATOR
)
_TOPIC: Final = value_refusal(
    "The message broker has no such topic or queue", origin="upstream", family="other"
)
_TOO_LARGE: Final = value_refusal(
    "The message is too large for the message broker",
    advice="Send less.",
    origin="upstream",
    family="other",
)
_LIMIT: Final = Verdict(
    code=McpErrorCode.QUOTA_EXCEEDED,
    category=McpErrorCategory.TRANSIENT,
    retryable=True,
    sentence="The message broker's rate limit is reached",
    advice=LATER,
    family="limit",
    origin="upstream",
)
_FAILED: Final = _permanent("The message broker refused the request")

#: Reply codes of AMQP 0-9-1 (its specification, section "Constants").
_AMQP: Final[dict[int, Verdict]] = {
    311: _TOO_LARGE,
    320: _outage("The message broker closed the connection"),
    403: _NO_RIGHT,
    404: _TOPIC,
    405: _outage("The queue is in use by another connection"),
    406: _FAILED,
    506: _outage("The message broker has no room left", family="limit"),
    541: _outage("The message broker failed"),
}


def _broker_error(exc: BaseException) -> Verdict:
    """
    Judge an error that a Kafka broker answered.
    """
    return _UNREACHED if attr(exc, "retriable") is True else _FAILED


def _close_rule(without: Verdict) -> Rule:
    def rule(exc: BaseException) -> Verdict:
        number = int_attr(exc, "reply_code")
        return without if number is None else _AMQP.get(number, without)

    return rule


def _no_connection(exc: BaseException) -> Verdict:
    args: Any = attr(exc, "args") or ()
    for inner in args[:1]:
        # pika keeps the failed attempt in its arguments.
        nested = attr(inner, "exception")
        if isinstance(nested, BaseException):
            return network_error(nested) or _UNREACHED
    return network_error(exc) or _UNREACHED


_KAFKA: Final[dict[str, Rule]] = {
    "AuthenticationFailedError": _LOGIN,
    "AuthenticationMethodNotSupported": _SETTINGS,
    "BrokerResponseError": _broker_error,
    "ClusterAuthorizationFailedError": _NO_RIGHT,
    "GroupAuthorizationFailedError": _NO_RIGHT,
    "IllegalStateError": _MISUSED,
    "IllegalArgumentError": _MISUSED,
    "IllegalOperation": _MISUSED,
    "KafkaConfigurationError": _SETTINGS,
    "KafkaConnectionError": _UNREACHED,
    "KafkaError": _broker_error,
    "KafkaTimeoutError": _LATE,
    "KafkaUnavailableError": _UNREACHED,
    "MessageSizeTooLargeError": _TOO_LARGE,
    "NoBrokersAvailable": _UNREACHED,
    "NodeNotReadyError": _UNREACHED,
    "ProducerClosed": _MISUSED,
    "QuotaViolationError": _LIMIT,
    "RecordListTooLargeError": _TOO_LARGE,
    "RecordTooLargeError": _TOO_LARGE,
    "RequestTimedOutError": _LATE,
    "SaslAuthenticationFailed": _LOGIN,
    "TopicAuthorizationFailedError": _NO_RIGHT,
    "TransactionalIdAuthorizationFailed": _NO_RIGHT,
    "UnknownTopicOrPartitionError": _TOPIC,
    "UnsupportedSaslMechanismError": _SETTINGS,
}

_PIKA: Final[dict[str, Rule]] = {
    "AMQPChannelError": _MISUSED,
    "AMQPConnectionError": _no_connection,
    "AMQPError": _FAILED,
    "AMQPHeartbeatTimeout": _CUT_OFF,
    "AuthenticationError": _LOGIN,
    "ChannelClosed": _close_rule(_FAILED),
    "ChannelError": _MISUSED,
    "ConnectionBlockedTimeout": _outage("The message broker has no room left", family="limit"),
    "ConnectionClosed": _close_rule(_CUT_OFF),
    "ConnectionWrongStateError": _MISUSED,
    "IncompatibleProtocolError": _SETTINGS,
    "NackError": _outage("The message broker did not take the message"),
    "ProbableAccessDeniedError": _NO_RIGHT,
    "ProbableAuthenticationError": _LOGIN,
    "ProtocolSyntaxError": _outage("The message broker gave an answer that can't be read"),
    "ReentrancyError": _MISUSED,
    "ShortStringTooLong": _MISUSED,
    "StreamLostError": _CUT_OFF,
    "UnroutableError": _TOPIC,
}

RULES: Final[dict[str, Rule]] = {
    **{f"aiokafka.errors.{name}": rule for name, rule in _KAFKA.items()},
    **{f"pika.exceptions.{name}": rule for name, rule in _PIKA.items()},
}

#: Raised in a consumer that was stopped on purpose.
IGNORED: Final = frozenset({"aiokafka.errors.ConsumerStoppedError"})
