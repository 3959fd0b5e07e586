"""
What retry libraries raise when they give up; and gRPC's statuses.
"""

import concurrent.futures
import types

import pytest

from toolfault._codes import McpErrorCode
from toolfault.rules.grpc import STATUS, verdict_for


def gave_up(**attributes):
    RetryError = type("RetryError", (Exception,), {"__module__": "tenacity", "__qualname__": "RetryError"})
    exc = RetryError("x")
    vars(exc).update(attributes)
    return exc


def future(exc=None):
    made = concurrent.futures.Future()
    if exc is not None:
        made.set_exception(exc)
    return made


INNER = ConnectionError("pooler refused the login packet")


@pytest.mark.parametrize(
    ("attributes", "inner"),
    [
        pytest.param({"last_attempt": future(INNER)}, INNER, id="tenacity"),
        pytest.param({"last_attempt": types.SimpleNamespace(value=(ValueError, INNER, None))}, INNER, id="retrying"),
        pytest.param({"last_attempt": future(), "__cause__": None}, None, id="not done"),
        pytest.param({"last_attempt": types.SimpleNamespace(value=5)}, None, id="a result"),
        pytest.param({}, None, id="nothing"),
    ],
)
def test_the_last_attempt_is_judged(verdict_on, attributes, inner):
    """
    The wrapper only says that there were several.
    """
    verdict = verdict_on(gave_up(**attributes))

    assert verdict.judge_instead is inner
    assert (verdict.code, verdict.retryable) == (McpErrorCode.INTERNAL, True)


def test_the_cause_will_do(verdict_on):
    """
    Where the attempt has gone.
    """
    exc = gave_up()
    exc.__cause__ = INNER

    assert verdict_on(exc).judge_instead is INNER


def test_it_never_judges_itself(verdict_on):
    """
    A circle would have no end.
    """
    exc = gave_up()
    exc.last_attempt = future(exc)

    assert verdict_on(exc).judge_instead is None


INTERNAL = ("internal", "permanent", False)
OUTAGE = ("internal", "transient", True)
ARGUMENTS = ("invalid_arguments", "validation", False)
DENIED = ("permission_denied", "auth", False)
QUOTA = ("quota_exceeded", "transient", True)
USED_UP = ("quota_exceeded", "permanent", False)
LATE = ("tool_timeout", "transient", True)

GRPC = {
    "OK": INTERNAL, "CANCELLED": INTERNAL, "UNKNOWN": INTERNAL, "INVALID_ARGUMENT": ARGUMENTS, "DEADLINE_EXCEEDED": LATE,
    "NOT_FOUND": ARGUMENTS, "ALREADY_EXISTS": ARGUMENTS, "PERMISSION_DENIED": DENIED, "RESOURCE_EXHAUSTED": QUOTA,
    "FAILED_PRECONDITION": ARGUMENTS, "ABORTED": OUTAGE, "OUT_OF_RANGE": ARGUMENTS, "UNIMPLEMENTED": INTERNAL,
    "INTERNAL": INTERNAL, "UNAVAILABLE": OUTAGE, "DATA_LOSS": INTERNAL, "UNAUTHENTICATED": DENIED,
}  # fmt: skip


@pytest.mark.parametrize(("number", "name"), list(enumerate(GRPC)))
def test_grpc(number, name):
    """
    By name and by number.
    """
    verdict = verdict_for(name)

    assert GRPC[name] == (verdict.code, verdict.category, verdict.retryable)
    assert verdict == verdict_for(number) == verdict_for(name.lower())
    assert f"({name})" in verdict.message
    assert list(GRPC) == list(STATUS)


@pytest.mark.parametrize(
    ("status", "options", "expected", "wait"),
    [
        ("RESOURCE_EXHAUSTED", {"delay": 30}, QUOTA, 30),
        ("RESOURCE_EXHAUSTED", {"text": "Quota exceeded: requests per day"}, USED_UP, None),
        ("RESOURCE_EXHAUSTED", {"text": "Quota exceeded: requests per day", "delay": 30}, QUOTA, 30),
        ("RESOURCE_EXHAUSTED", {"text": "Received message larger than max (5 vs. 4)"}, ARGUMENTS, None),
        ("UNAVAILABLE", {"delay": 0}, OUTAGE, 0),
        ("NOT_FOUND", {"delay": 30}, ARGUMENTS, None),
        ("NOTREAL", {}, INTERNAL, None),
        (99, {}, INTERNAL, None),
        (-1, {}, INTERNAL, None),
    ],
)
def test_what_stands_beside_a_grpc_status(status, options, expected, wait):
    """
    Delays, and the two other things that an exhausted resource can be.
    """
    verdict = verdict_for(status, **options)

    assert expected == (verdict.code, verdict.category, verdict.retryable)
    assert wait == verdict.retry_after_seconds
    assert "NOTREAL" not in verdict.message


def test_grpc_names_the_peer():
    """
    At the beginning of a sentence, and in it.
    """
    assert verdict_for("RESOURCE_EXHAUSTED").message == (
        "A limit of the upstream API is reached (RESOURCE_EXHAUSTED). Try again later."
    )
    assert verdict_for("UNAVAILABLE", peer="Spanner", delay=1).message == (
        "Spanner is unavailable (UNAVAILABLE). Retry after 1 second."
    )
