"""
Exceptions of libraries that no table names: by status, by what they were raised from, by class name.
"""

import pytest

from toolfault import Guard
from toolfault.hosting import Call


def strange(name, *bases, **members):
    """
    Make an exception class of a library that no table knows.
    """
    return type(name, bases or (Exception,), {"__module__": "strange.lib", **members})


class Answer:
    def __init__(self, **members):
        vars(self).update(members)


class Raises:
    """
    An answer whose attributes can't be read.
    """

    def __getattr__(self, name):
        raise RuntimeError(name)


def raised(exc, cause=None):
    try:
        raise exc from cause
    except Exception as caught:
        return caught


def judged(exc):
    fault = Guard().judge(exc, Call(tool="t"))
    envelope = fault.envelope
    return (envelope.code, envelope.category, envelope.retryable, envelope.retry_after_seconds), fault


LIMIT = ("quota_exceeded", "transient", True)
ARGUMENTS = ("invalid_arguments", "validation", False, None)
DENIED = ("permission_denied", "auth", False, None)
OUTAGE = ("internal", "transient", True, None)
LATE = ("tool_timeout", "transient", True, None)
NOTHING = ("internal", "permanent", False, None)

WAIT = {"Retry-After": "7"}

CARRIED = [
    ("status_code", {"status_code": 404}, ARGUMENTS),
    ("status", {"status": 404}, ARGUMENTS),
    ("http_status", {"http_status": 401}, DENIED),
    ("response_code", {"response_code": 503}, OUTAGE),
    ("headers of its own", {"status": 429, "headers": WAIT}, (*LIMIT, 7)),
    ("an answer", {"response": Answer(status_code=429, headers=WAIT)}, (*LIMIT, 7)),
    ("the answer's headers, not the request's", {"headers": {"Accept": "*"}, "response": Answer(status=429, headers=WAIT)}, (*LIMIT, 7)),
    ("a header under two spellings", {"response": Answer(status=429, headers={**WAIT, "retry-after": "7"})}, (*LIMIT, 7)),
    ("a code beside an answer", {"code": 404, "response": Answer()}, ARGUMENTS),
    ("a code alone is a number of its own", {"code": 404}, NOTHING),
    ("an answer that is its headers", {"resp": Answer(status=503)}, OUTAGE),
    ("a body that says limit", {"status": 403, "body": '{"message": "API rate limit exceeded"}'}, (*LIMIT, None)),
    ("a success is no failure's status", {"status_code": 200}, NOTHING),
    ("an exit status", {"status": 1}, NOTHING),
    ("a text", {"status": "NOT_FOUND"}, NOTHING),
    ("True", {"status": True}, NOTHING),
    ("what can't be read", {"response": Raises()}, NOTHING),
]  # fmt: skip


@pytest.mark.parametrize(("members", "expected"), [row[1:] for row in CARRIED], ids=[row[0] for row in CARRIED])
def test_the_status_that_it_carries(members, expected):
    exc = strange("ServiceError")("said NOTREAL")
    for name, value in members.items():
        setattr(exc, name, value)

    found, fault = judged(raised(exc))

    assert expected == found, fault.envelope.message
    # With a status the text is composed: an SDK's own text quotes what the service said.
    assert ("NOTREAL" in fault.envelope.message) is (expected == NOTHING)


BELOW = [
    ("an outage", ConnectionRefusedError(111, "refused"), OUTAGE),
    ("a timeout", TimeoutError(), LATE),
    ("nothing that explains it", KeyError("x"), NOTHING),
]


@pytest.mark.parametrize(("cause", "expected"), [row[1:] for row in BELOW], ids=[row[0] for row in BELOW])
def test_what_it_was_raised_from(cause, expected):
    assert expected == judged(raised(strange("ClientError")("failed"), cause))[0]


NAMED = [
    ("RateLimitError", (*LIMIT, None)),
    ("AuthenticationFailed", DENIED),
    ("ReadTimeout", LATE),
    ("ConnectionError", OUTAGE),
    ("ServiceUnavailable", OUTAGE),
    # A library validates its own state, and reads its own settings.
    ("InvalidFrameError", NOTHING),
    ("ConfigurationError", NOTHING),
    ("SomethingElse", NOTHING),
]


@pytest.mark.parametrize(("name", "expected"), NAMED)
def test_the_words_of_its_class(name, expected):
    assert expected == judged(raised(strange(name)("failed")))[0]
    assert expected == judged(raised(strange("Other", strange(name))("failed")))[0]


def test_the_headers_of_the_exception_below_are_kept():
    inner = strange("StatusError")("inner")
    inner.response = Answer(status_code=429, headers=WAIT)
    outer = strange("ResponseError")("outer")
    outer.status_code = 429

    assert judged(raised(outer, inner))[0] == (*LIMIT, 7)


def test_an_own_class_with_a_status_keeps_its_text():
    class StoreError(Exception):
        status_code = 404

    try:
        raise StoreError("no such shelf")
    except StoreError as caught:
        fault = Guard(also=[__name__]).judge(caught, Call(tool="t", function=judged))

    assert (fault.envelope.code, fault.envelope.message) == ("invalid_arguments", "no such shelf")
