"""
tenacity and stamina: what gave up is judged as what failed last.
"""

import importlib
import sys
from pathlib import Path

import pytest
import requests
import stamina
import tenacity
import urllib3

from installed_classes import class_named
from toolfault import Guard
from toolfault._names import qualified_name
from toolfault.hosting import Call
from toolfault.rules import DEFAULT


sys.path.insert(0, str(Path(__file__).parent / "support"))
from http_peers import (
    ARGUMENTS,
    BLOCKED,
    DENIED,
    INTERNAL,
    LATE,
    MAKES,
    OUTAGE,
    QUOTA,
    SECRET,
    address,
    answering,
    facts,
    judged,
    links,
    peer,
    proxy_says,
    raised_by,
    refused,
    silent,
    survives,
    through_proxy,
    without_a_row,
    without_proxies,
)


TABLE = importlib.import_module("toolfault.rules.wrappers")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    without_proxies(monkeypatch)


def asks(url, *, timeout=5, proxy=None):
    with requests.Session() as session:
        session.trust_env = False
        proxies = {"https": proxy} if proxy else None
        with session.get(url, timeout=timeout, proxies=proxies) as response:
            response.raise_for_status()


def of_tenacity(call):
    return tenacity.Retrying(stop=tenacity.stop_after_attempt(2), wait=tenacity.wait_none())(call)


def of_tenacity_reraised(call):
    return tenacity.Retrying(stop=tenacity.stop_after_attempt(2), wait=tenacity.wait_none(), reraise=True)(call)


def of_stamina(call):
    with stamina.set_testing(True, attempts=2):
        return stamina.retry(on=Exception, attempts=2)(call)()


def answered(status, headers=None):
    def fail():
        with answering(status, headers) as url:
            asks(url)

    return fail


def not_answered():
    with peer(silent) as port:
        asks(address(port), timeout=(5, 0.03))


def not_reached():
    with refused() as port:
        asks(address(port))


def of_urllib3():
    with refused() as port, urllib3.PoolManager() as pool:
        pool.request("GET", address(port), retries=0)


FAILURES = [
    ("HTTPError", answered(400), ARGUMENTS, None),
    ("HTTPError", answered(401), DENIED, None),
    ("HTTPError", answered(429, {"Retry-After": "11"}), QUOTA, 11),
    ("HTTPError", answered(501), INTERNAL, None),
    ("HTTPError", answered(503), OUTAGE, None),
    ("ReadTimeout", not_answered, LATE, None),
    ("ConnectionError", not_reached, OUTAGE, None),
    ("ProxyError", through_proxy(asks, proxy_says(403)), BLOCKED, None),
    ("MaxRetryError", of_urllib3, OUTAGE, None),
]


@pytest.mark.parametrize("retried", [of_tenacity, of_tenacity_reraised, of_stamina])
@pytest.mark.parametrize(("name", "fail", "expected", "delay"), FAILURES)
def test_the_last_attempt_decides(retried, name, fail, expected, delay):
    """
    What is judged is the failure of the last attempt, with its delay and nothing of its secrets.
    """
    attempts = []

    def call():
        attempts.append(1)
        fail()

    exc = raised_by(lambda: retried(call))
    fault = judged(exc, call)
    alone = judged(raised_by(fail), fail)

    assert len(attempts) == 2
    assert name in {type(link).__name__ for link in links(exc)}
    assert ("RetryError" if retried is of_tenacity else name) == type(exc).__name__
    assert (*expected, delay) == (*facts(fault.envelope), fault.envelope.retry_after_seconds)
    assert fault.envelope.message == alone.envelope.message
    assert fault.facts.get("upstream_status") == alone.facts.get("upstream_status")


def test_a_result_that_was_never_right():
    """
    tenacity gives up on results as well: no attempt failed, so nothing is inside.
    """
    retrying = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(2), wait=tenacity.wait_none(), retry=tenacity.retry_if_result(lambda _: True)
    )
    exc = raised_by(lambda: retrying(lambda: SECRET))
    envelope = judged(exc).envelope

    assert type(exc) is tenacity.RetryError
    assert OUTAGE == facts(envelope)
    assert envelope.message == "The tool tried several times and gave up. Try again later."


def test_wrappers_in_wrappers():
    """
    A retry in a retry around a client that retries.
    """
    exc = raised_by(lambda: of_tenacity(lambda: of_tenacity(of_urllib3)))
    envelope = judged(exc, of_urllib3).envelope

    assert OUTAGE == facts(envelope)
    assert "refused the connection (ECONNREFUSED)" in envelope.message


def test_the_author_of_a_failure_is_heard_through_a_wrapper():
    """
    What a tool raised on purpose keeps its words.
    """

    def call():
        raise LookupError("there is no such city")

    envelope = Guard().judge(raised_by(lambda: of_tenacity(call)), Call(tool="t", function=call)).envelope

    assert ARGUMENTS == facts(envelope)
    assert envelope.message == "there is no such city"


@pytest.mark.parametrize("name", [name for name in [*TABLE.RULES, *TABLE.IGNORED] if name.startswith("tenacity.")])
def test_every_name_is_that_of_a_class(name):
    """
    A class that a package renames or drops turns this red.
    """
    assert issubclass(class_named(name), BaseException)
    assert qualified_name(class_named(name)) == name


def test_every_exported_exception_has_a_row():
    """
    stamina has none.
    """
    assert without_a_row(["tenacity", "tenacity.asyncio", "stamina"], TABLE.IGNORED) == set()


@pytest.mark.parametrize("make", MAKES)
def test_no_rule_raises(make):
    """
    Whatever the state of a wrapper.
    """
    assert "tenacity.RetryError" in DEFAULT
    survives(tenacity.RetryError, make)
