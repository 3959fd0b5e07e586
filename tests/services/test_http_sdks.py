"""
What the failures of SDKs become: each SDK for real, against a service that answers every status.
"""

import json
import sys
from pathlib import Path

import pytest

from toolfault import Guard
from toolfault.hosting import Call
from toolfault.rules.http import verdict_for


sys.path.insert(0, str(Path(__file__).parent / "support"))

from http_sdks import SDKS
from stub import SECRET, Answer, refusing_url, service


pytestmark = pytest.mark.filterwarnings("ignore")  # of the SDKs, which warn of many things

OUTAGE = ("internal", "transient", True, None)
LATE = ("tool_timeout", "transient", True, None)

#: What the service answers: status and headers.
ANSWERS = [
    (400, {}),
    (401, {}),
    (403, {}),
    (404, {}),
    (409, {}),
    (422, {}),
    (429, {"Retry-After": "7"}),
    (500, {}),
    (503, {"Retry-After": "9"}),
]

LIMIT = ("quota_exceeded", "transient", True, None)

#: SDKs whose exceptions tell less than the answer did, or more; each with the reason.
OTHERWISE = {
    # They keep neither the answer nor its headers.
    ("clickhouse-connect", 429): LIMIT,
    ("clickhouse-connect", 503): OUTAGE,
    ("opensearch-py", 429): LIMIT,
    ("opensearch-py", 503): OUTAGE,
    ("python-gitlab", 429): LIMIT,
    ("python-gitlab", 503): OUTAGE,
}


def answer_of(sdk, status, headers):
    body = sdk.body(status)
    if isinstance(body, str):
        kind = "application/xml" if body.startswith("<") else "text/plain"
        return Answer(status, headers, body.encode(), kind)
    return Answer(status, headers, json.dumps(body).encode())


def failure_of(call, url):
    try:
        call(url)
    except Exception as exc:
        return exc
    raise AssertionError("it did not fail")


def judge(call, exc):
    """
    Judge an exception; search what leaves for what the service said.
    """
    guard = Guard()
    fault = guard.judge(exc, Call(tool="t", function=call, arguments={}))
    wire = json.dumps(guard.to_result(fault))
    for hidden in (SECRET, "NOTREAL", "127.0.0.1"):
        assert hidden not in wire, wire
    envelope = fault.envelope
    return (envelope.code, envelope.category, envelope.retryable, envelope.retry_after_seconds), fault


@pytest.mark.parametrize(("status", "headers"), ANSWERS, ids=[str(status) for status, _ in ANSWERS])
@pytest.mark.parametrize("name", SDKS)
def test_a_status_means_what_it_means_everywhere(name, status, headers):
    sdk = SDKS[name]
    with service(answer_of(sdk, status, headers)) as url:
        found, fault = judge(sdk.call, failure_of(sdk.call, url))

    verdict = verdict_for(status, headers=headers)
    expected = (verdict.code, verdict.category, verdict.retryable, verdict.retry_after_seconds)
    assert found == OTHERWISE.get((name, status), expected), fault.envelope.message
    assert fault.facts["upstream_status"] == status
    if (name, status) not in OTHERWISE:
        assert f"HTTP {status}" in fault.envelope.message


@pytest.mark.parametrize("name", SDKS)
def test_a_page_of_a_gateway_is_an_outage(name):
    sdk = SDKS[name]
    with service(Answer(502, {}, b"<html><h1>NOTREAL Bad gateway</h1></html>", "text/html")) as url:
        found, fault = judge(sdk.call, failure_of(sdk.call, url))

    assert found == OTHERWISE.get((name, 502), OUTAGE), fault.envelope.message


@pytest.mark.parametrize("name", SDKS)
def test_a_refused_connection_is_an_outage(name):
    sdk = SDKS[name]
    found, fault = judge(sdk.call, failure_of(sdk.call, refusing_url()))

    assert found == OTHERWISE.get((name, "refused"), OUTAGE), fault.envelope.message


@pytest.mark.parametrize("name", SDKS)
def test_silence_is_a_timeout(name):
    sdk = SDKS[name]
    with service(None) as url:
        found, fault = judge(sdk.call, failure_of(sdk.call, url))

    assert found == OTHERWISE.get((name, "silent"), LATE), fault.envelope.message
