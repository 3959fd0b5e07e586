"""
What the status of an upstream means.
"""

import contextlib
import json
import time
import urllib.error
import urllib.request

import httpx
import httpx2
import pytest

from toolfault._codes import McpErrorCode
from toolfault.rules.http import STATUS, row_for, verdict_for


#: As specs/tables/http.json says: code, category, retryable.
INTERNAL = ("internal", "permanent", False)
OUTAGE = ("internal", "transient", True)
ARGUMENTS = ("invalid_arguments", "validation", False)
DENIED = ("permission_denied", "auth", False)
QUOTA = ("quota_exceeded", "transient", True)
USED_UP = ("quota_exceeded", "permanent", False)
BLOCKED = ("network_blocked", "permanent", False)
LATE = ("tool_timeout", "transient", True)

EXPECTED = {
    300: INTERNAL, 302: INTERNAL, 304: INTERNAL, 308: INTERNAL,
    400: ARGUMENTS, 401: DENIED, 402: USED_UP, 403: DENIED, 404: ARGUMENTS, 405: INTERNAL, 406: INTERNAL, 407: BLOCKED,
    408: LATE, 409: ARGUMENTS, 410: ARGUMENTS, 411: INTERNAL, 412: ARGUMENTS, 413: ARGUMENTS, 414: ARGUMENTS,
    415: INTERNAL, 416: ARGUMENTS, 417: ARGUMENTS, 418: ARGUMENTS, 421: OUTAGE, 422: ARGUMENTS, 423: OUTAGE,
    424: ARGUMENTS, 425: OUTAGE, 426: INTERNAL, 428: ARGUMENTS, 429: QUOTA, 431: INTERNAL,
    451: ("permission_denied", "permanent", False), 499: INTERNAL, 500: OUTAGE, 501: INTERNAL, 502: OUTAGE, 503: OUTAGE,
    504: LATE, 505: INTERNAL, 506: INTERNAL, 507: USED_UP, 508: INTERNAL, 510: INTERNAL, 511: BLOCKED, 520: OUTAGE,
    521: OUTAGE, 522: OUTAGE, 523: OUTAGE, 524: LATE, 525: INTERNAL, 526: INTERNAL, 527: OUTAGE, 529: OUTAGE,
    530: OUTAGE, 599: OUTAGE,
}  # fmt: skip


# Without the proxies of the environment, and without reading all certificates of the world each time.
OPTIONS = {"trust_env": False, "verify": False}


def by_httpx(url):
    with httpx.Client(**OPTIONS) as client:
        client.get(url).raise_for_status()


def by_httpx2(url):
    with httpx2.Client(**OPTIONS) as client:
        client.get(url).raise_for_status()


async def by_httpx_async(url):
    async with httpx.AsyncClient(**OPTIONS) as client:
        (await client.get(url)).raise_for_status()


def by_httpx_unread(url):
    with httpx.Client(**OPTIONS) as client, client.stream("GET", url) as answer:
        answer.raise_for_status()


def by_urllib(url):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    opener.open(url).close()


@pytest.mark.parametrize("status", sorted(EXPECTED))
def test_a_status(status):
    """
    Code, category, retryable; and a message that says so.
    """
    verdict = verdict_for(status)

    assert EXPECTED[status] == (verdict.code, verdict.category, verdict.retryable)
    assert f"HTTP {status}" in verdict.message
    assert (verdict.family, verdict.origin, verdict.upstream_status) == ("http", "upstream", status)


@pytest.mark.parametrize(
    ("client", "status"),
    [
        (client, status)
        for client in (by_httpx, by_httpx2, by_urllib)
        for status in sorted(EXPECTED)
        if client is not by_urllib or status not in {302, 308}  # without a Location it raises another way
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_status_that_a_server_really_sends(caught, facts, verdict_on, upstream, client, status):
    """
    Three clients, one meaning.
    """
    exc = caught(lambda: client(f"{upstream}/{status}?key=NOTREAL"))
    with contextlib.closing(exc) if isinstance(exc, urllib.error.HTTPError) else contextlib.nullcontext():
        verdict = verdict_on(exc)

        assert EXPECTED[status] == facts(exc)
        assert verdict.upstream_status == status
        assert verdict.urls == (f"{upstream}/{status}?key=NOTREAL",)
        assert not any(part in verdict.message for part in ("NOTREAL", "127.0.0.1", "secret body"))


@pytest.mark.parametrize("client", [by_httpx, by_httpx_async, by_httpx_unread, by_httpx2, by_urllib])
def test_the_wait_is_read_from_the_answer(caught, verdict_on, upstream, client):
    """
    Whatever kind of headers a client has, and whether its body was read or not.
    """
    url = f"{upstream}/429?h-Retry-After=30"
    exc = caught((lambda: client(url)) if client is not by_httpx_async else _awaiting(client, url))
    with contextlib.closing(exc) if isinstance(exc, urllib.error.HTTPError) else contextlib.nullcontext():
        verdict = verdict_on(exc)

    assert (verdict.code, verdict.retry_after_seconds) == (McpErrorCode.QUOTA_EXCEEDED, 30)
    assert verdict.message == "The upstream API's rate limit is reached (HTTP 429). Retry after 30 seconds."


def _awaiting(client, url):
    async def call():
        await client(url)

    return call


PROXY = "Proxy-Status"

SIDES = [
    # 403
    (403, {"Retry-After": "30"}, None, QUOTA, 30),
    (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "60"}, None, QUOTA, 60),
    (403, {"X-RateLimit-Remaining": "0"}, None, QUOTA, None),
    (403, {"X-RateLimit-Remaining": "5", "X-RateLimit-Reset": "60"}, None, DENIED, None),
    (403, {"RateLimit": '"default";r=0;t=9'}, None, QUOTA, 9),
    (403, {}, '{"message": "You have exceeded a secondary rate limit."}', QUOTA, None),
    (403, {}, '{"message": "API rate limit exceeded for user 1"}', QUOTA, None),
    (403, {}, '{"message": "Resource not accessible by integration"}', DENIED, None),
    (403, {}, '{"message": "separate limits apply"}', DENIED, None),
    (403, {}, '{"errors": [{"reason": "quotaExceeded"}]}', USED_UP, None),
    (403, {}, '{"errors": [{"reason": "userRateLimitExceeded"}]}', QUOTA, None),
    (403, {}, '{"errors": [{"reason": "dailyLimitExceeded"}]}', USED_UP, None),
    (403, {}, '{"message": "Quota exceeded for requests per minute"}', QUOTA, None),
    (403, {}, "Please wait 5 minutes before you try again.", QUOTA, 300),
    # 429, by its body
    (429, {}, '{"parameters": {"retry_after": 35}}', QUOTA, 35),
    (429, {}, '{"details": {"retryAfterSeconds": 10}}', QUOTA, 10),
    (429, {}, "Exceeded your current quota, see plan and billing. Please retry in 44.1s.", QUOTA, 45),
    (429, {"Retry-After": "7"}, "Your billing quota per day is reached", QUOTA, 7),
    (429, {"Retry-After": "7"}, '{"error": {"code": "insufficient_quota"}}', USED_UP, None),
    (429, {}, "Quota exceeded for 'Read requests per minute'; check billing", QUOTA, None),
    (429, {"X-RateLimit-Reset-After": "1.5"}, None, QUOTA, 2),
    (503, {}, '{"retryDelay": "2.5s"}', OUTAGE, 3),
    (404, {}, '{"retry_after": 35}', ARGUMENTS, None),
    (403, {PROXY: "proxy.corp; error=http_request_denied"}, None, BLOCKED, None),
    (
        403,
        {PROXY: 'a.cdn; received-status=200, "b"; error=destination_ip_prohibited; details="x"'},
        None,
        BLOCKED,
        None,
    ),
    (403, {PROXY: "proxy.corp; received-status=403"}, None, DENIED, None),
    (403, {PROXY: "proxy.corp; error=no_such_error"}, None, DENIED, None),
    (403, {PROXY: 'proxy.corp; details="no error=x here"'}, None, DENIED, None),
    # 407 is always the proxy's
    (407, {"Retry-After": "30"}, None, BLOCKED, None),
    # 409
    (409, {"Retry-After": "2"}, None, OUTAGE, 2),
    (409, {"x-should-retry": "true"}, None, OUTAGE, None),
    (409, {"Stripe-Should-Retry": "TRUE"}, None, OUTAGE, None),
    (409, {"x-should-retry": "false"}, None, ARGUMENTS, None),
    # 413
    (413, {"Retry-After": "2"}, None, QUOTA, 2),
    # 429
    (429, {"Retry-After": "0"}, None, QUOTA, 0),
    (429, {"Retry-After": "86400"}, None, QUOTA, 86400),
    (429, {"retry-after-ms": "500"}, None, QUOTA, 1),
    (429, {}, '{"error": {"code": "insufficient_quota"}}', USED_UP, None),
    (429, {"Retry-After": "30"}, '{"error": {"code": "insufficient_quota"}}', USED_UP, None),
    (429, {}, "You exceeded your current quota, please check your plan and billing details.", USED_UP, None),
    (429, {}, "Daily limit reached", USED_UP, None),
    (429, {}, "limit: 100 requests per day", USED_UP, None),
    (429, {"Retry-After": "3600"}, "Daily limit reached", QUOTA, 3600),
    (429, {}, "limit: 100 requests per minute", QUOTA, None),
    (429, {}, "x" * 5000 + "insufficient_quota", QUOTA, None),
    (429, {"x-should-retry": "false"}, None, ("quota_exceeded", "transient", False), None),
    # outages
    (503, {"Retry-After": "120"}, None, OUTAGE, 120),
    (500, {"Retry-After": "1"}, None, OUTAGE, 1),
    (529, {"Retry-After": "5"}, None, OUTAGE, 5),
    (502, {PROXY: "p; error=tls_certificate_error"}, None, INTERNAL, None),
    (502, {PROXY: "p; error=connection_refused"}, None, OUTAGE, None),
    (503, {PROXY: "p; error=http_request_denied"}, None, BLOCKED, None),
    (504, {PROXY: "p; error=http_response_timeout"}, None, LATE, None),
    # a wait beside what no wait mends
    (404, {"Retry-After": "30"}, None, ARGUMENTS, None),
    (401, {"Retry-After": "30"}, None, DENIED, None),
    (501, {"Retry-After": "30"}, None, INTERNAL, None),
    (507, {"Retry-After": "30"}, None, USED_UP, None),
]


@pytest.mark.parametrize(("status", "headers", "body", "expected", "wait"), SIDES)
def test_what_stands_beside_a_status(status, headers, body, expected, wait):
    """
    Headers and short bodies that turn a status into something else.
    """
    verdict = verdict_for(status, headers=headers, body=body)

    assert expected == (verdict.code, verdict.category, verdict.retryable)
    assert wait == verdict.retry_after_seconds
    assert "None" not in verdict.message


def test_a_403_may_be_a_proxys():
    """
    Only a guard knows which hosts are allowed.
    """
    plain = verdict_for(403, url="https://api.example.com/x")
    limited = verdict_for(403, url="https://api.example.com/x", headers={"Retry-After": "1"})

    assert (plain.maybe_proxy, plain.urls) == (True, ("https://api.example.com/x",))
    assert (limited.maybe_proxy, verdict_for(401).maybe_proxy, verdict_for(407).maybe_proxy) == (False, False, False)


def test_whose_credentials_and_whose_values():
    """
    A guard may declare both.
    """
    assert {status for status in EXPECTED if verdict_for(status).refuses_credentials} == {401}
    assert {status for status in EXPECTED if verdict_for(status).blames_values} == {
        status for status, facts in EXPECTED.items() if facts == ARGUMENTS
    }


def test_a_404_claims_nothing():
    """
    Some APIs hide a refusal behind it.
    """
    assert (
        verdict_for(404).message
        == "The upstream API found nothing, or does not show it (HTTP 404). Check the arguments."
    )


@pytest.mark.parametrize(
    ("status", "peer", "message"),
    [
        (503, "GitHub", "GitHub is unavailable (HTTP 503). Try again later."),
        (413, "GitHub", "The request is too large for GitHub (HTTP 413). Send less."),
        (413, "The upstream API", "The request is too large for the upstream API (HTTP 413). Send less."),
        (429, "{0}", "{0}'s rate limit is reached (HTTP 429). Try again later."),
    ],
)
def test_the_peer_has_a_name(status, peer, message):
    """
    Tables of known services name them.
    """
    assert message == verdict_for(status, peer=peer).message


def test_a_status_without_a_row_of_its_own_has_its_phrase():
    """
    The standard's phrase, for what the table does not know.
    """
    assert (
        "(HTTP 418 I'm a Teapot)" in verdict_for(418).message or "(HTTP 418 I'm a teapot)" in verdict_for(418).message
    )
    assert "(HTTP 499)" in verdict_for(499).message
    assert "(HTTP 599)" in verdict_for(599).message


@pytest.mark.parametrize("status", [*STATUS, -1, 0, 7, 99, 100, 200, 204, 299, 399, 444, 600, 999, 10**30])
def test_every_number_has_a_row(status):
    """
    A sentence that needs nothing but the peer and the status.
    """
    row = row_for(status)

    assert row.sentence.replace("{peer}", "x").isprintable()
    assert "{" not in row.message
    assert f"(HTTP {status}" in verdict_for(status).message


def test_the_table_holds_no_code_that_only_readers_use():
    """
    And none that is for the MCP hop alone.
    """
    codes = {row.code for row in STATUS.values()}

    assert not codes & {McpErrorCode.UNKNOWN, McpErrorCode.MCP_SERVER_UNREACHABLE, McpErrorCode.TOOL_NOT_FOUND}


def test_a_point_in_time_is_measured_from_now():
    """
    Handed in, or this machine's clock.
    """
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time()) + 720)}
    given = verdict_for(403, headers=headers, now=time.time() + 700).retry_after_seconds
    by_clock = verdict_for(403, headers=headers).retry_after_seconds

    assert given <= 21
    assert 700 <= by_clock <= 721


@pytest.mark.parametrize("body", ["{" * 10**6, json.dumps({"a": "per day " * 10**5}), " daily" * 10**6])
def test_a_large_body_costs_nothing(body):
    """
    Only its beginning is looked at.
    """
    assert verdict_for(429, body=body).code is McpErrorCode.QUOTA_EXCEEDED
