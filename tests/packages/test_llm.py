"""
openai and anthropic: what their exceptions mean, shown with exceptions that they raised.
"""

import asyncio
import importlib
import json
import sys
from pathlib import Path
from urllib.parse import urlsplit

import anthropic
import anthropic.lib.credentials
import httpx2
import openai
import openai._send_queue
import openai.auth._workload
import pydantic
import pytest

from installed_classes import class_named
from toolfault import Guard
from toolfault._names import qualified_name


sys.path.insert(0, str(Path(__file__).parent / "support"))
from http_peers import (
    ANSWERS,
    ARGUMENTS,
    BLOCKED,
    CUT_SHORT,
    DENIED,
    INTERNAL,
    LATE,
    LOGIN,
    MAKES,
    NO_HTTP,
    NO_SUCH_HOST,
    OUTAGE,
    PANICKED,
    QUOTA,
    SECRET,
    STALLED,
    USED_UP,
    Case,
    at,
    check,
    facts,
    hangs_up,
    judged,
    proxy_says,
    raised_by,
    refused,
    rows_of,
    shows_its_certificate,
    silent,
    speaks_no_tls,
    survives,
    through,
    through_proxy,
    told,
    traps,
    unreachable,
    without_a_row,
    without_proxies,
)


TABLE = importlib.import_module("toolfault.rules.llm")


@pytest.fixture(autouse=True)
def _nothing_of_the_environment(monkeypatch):
    without_proxies(monkeypatch)
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)


# ---- the clients


def root(url):
    """
    The part of a test's URL that a client takes as its base; the rest stands in the request's query.
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/{SECRET}"


OPTIONS = {"max_retries": 0, "default_query": {"api_key": SECRET}, "default_headers": {"X-Secret": SECRET}}
ASKED = [{"role": "user", "content": SECRET}]


def http(url, timeout, proxy):
    # Reading all certificates of the world each time is slow.
    return httpx2.Client(trust_env=False, proxy=proxy, timeout=timeout, verify=url.startswith("https"))


def by_openai(url, *, timeout=5, proxy=None, use=None, base=None, **options):
    def ask(client):
        return client.chat.completions.create(model="m", messages=ASKED)

    with (
        http(url, timeout, proxy) as under,
        openai.OpenAI(
            api_key=f"sk-{SECRET}", base_url=base or root(url), timeout=timeout, http_client=under, **OPTIONS, **options
        ) as client,
    ):
        (use or ask)(client)


def by_anthropic(url, *, timeout=5, proxy=None, use=None, base=None, **options):
    def ask(client):
        return client.messages.create(model="m", max_tokens=5, messages=ASKED)

    with (
        http(url, timeout, proxy) as under,
        anthropic.Anthropic(
            api_key=f"sk-ant-{SECRET}",
            base_url=base or root(url),
            timeout=timeout,
            http_client=under,
            **OPTIONS,
            **options,
        ) as client,
    ):
        (use or ask)(client)


def by_openai_async(url, *, timeout=5):
    async def ask():
        under = httpx2.AsyncClient(trust_env=False, verify=False, timeout=timeout)
        async with openai.AsyncOpenAI(
            api_key=f"sk-{SECRET}", base_url=root(url), timeout=timeout, http_client=under, **OPTIONS
        ) as client:
            await client.chat.completions.create(model="m", messages=ASKED)

    asyncio.run(ask())


def by_anthropic_async(url, *, timeout=5):
    async def ask():
        under = httpx2.AsyncClient(trust_env=False, verify=False, timeout=timeout)
        async with anthropic.AsyncAnthropic(
            api_key=f"sk-ant-{SECRET}", base_url=root(url), timeout=timeout, http_client=under, **OPTIONS
        ) as client:
            await client.messages.create(model="m", max_tokens=5, messages=ASKED)

    asyncio.run(ask())


# ---- answers in a stream, and of odd kinds

STREAM = {"Content-Type": "text/event-stream"}


def streams_openai(client):
    for _ in client.chat.completions.create(model="m", messages=ASKED, stream=True):
        pass


def streams_anthropic(client):
    for _ in client.messages.create(model="m", max_tokens=5, messages=ASKED, stream=True):
        pass


def openai_stream(**error):
    body = f"data: {json.dumps({'error': {'message': SECRET, **error}})}\n\n".encode()
    return told(by_openai, 200, STREAM, body, use=streams_openai)


def anthropic_stream(kind, **error):
    data = json.dumps({"type": "error", "error": {"type": kind, "message": SECRET, **error}})
    return told(by_anthropic, 200, STREAM, f"event: error\ndata: {data}\n\n".encode(), use=streams_anthropic)


def openai_says(status, headers=None, **error):
    return told(by_openai, status, headers, json.dumps({"error": {"message": SECRET, **error}}).encode())


def anthropic_says(status, kind, headers=None, code=None, message=SECRET):
    error = {"type": kind, "message": message, **({"details": {"error_code": code}} if code else {})}
    return told(by_anthropic, status, headers, json.dumps({"type": "error", "error": error}).encode())


class Answer(pydantic.BaseModel):
    city: str


def parses(client):
    client.chat.completions.parse(model="m", messages=ASKED, response_format=Answer)


def finished(reason):
    message = {"role": "assistant", "content": SECRET}
    choice = {"index": 0, "finish_reason": reason, "message": message}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return told(by_openai, 200, {}, json.dumps(body).encode(), use=parses)


def reads_raw_twice(client):
    with client.chat.completions.with_streaming_response.create(model="m", messages=ASKED) as response:
        list(response.iter_bytes())
        response.read()


def reads_messages_raw_twice(client):
    with client.messages.with_streaming_response.create(model="m", max_tokens=5, messages=ASKED) as response:
        list(response.iter_bytes())
        response.read()


def verifies_a_message(client):
    headers = {"webhook-id": "x", "webhook-timestamp": "1", "webhook-signature": SECRET}
    client.webhooks.verify_signature(SECRET, headers, secret=f"whsec_{SECRET}")


def without_a_connection(use):
    return lambda: by_openai("http://127.0.0.1:9/", use=use)


def without_a_key():
    openai.OpenAI(base_url="http://127.0.0.1:9").models.list()


def without_a_token_file():
    openai.auth._workload.k8s_service_account_token_provider(f"/{SECRET}/token")["get_token"]()


def without_a_profile():
    anthropic.lib.credentials.CredentialsFile(profile="nosuch")()


def without_an_identity():
    anthropic.lib.credentials.IdentityTokenFile(f"/{SECRET}/token")()


def exchanges(url):
    identity = {
        "identity_provider_id": "x",
        "service_account_id": "y",
        "provider": {"token_type": "jwt", "get_token": lambda: SECRET},
    }
    openai.auth._workload.WorkloadIdentityAuth(workload_identity=identity, token_exchange_url=url).get_token()


def exchanges_for_anthropic(url):
    with httpx2.Client(trust_env=False, verify=False) as under:
        credentials = anthropic.lib.credentials.WorkloadIdentityCredentials(
            identity_token_provider=lambda: SECRET,
            federation_rule_id="x",
            organization_id="y",
            http_client=under,
        )
        credentials.bind_base_url(root(url))
        credentials()


def queue_is_full():
    openai._send_queue.SendQueue(max_bytes=1).enqueue(SECRET)


def socket_closes_early():
    receipt = openai._send_queue.SendReceipt()
    receipt.unsent = [SECRET]
    receipt.raise_if_unsent()


def gives_up(request, call_next):
    raise anthropic.RetryableError(SECRET)


PAY = "Rate limit reached. Add a payment method to your account at https://NOTREAL.invalid/account/billing to go on."

OA, A = "openai.", "anthropic."
OPENAI = [
    Case(OA + "BadRequestError", told(by_openai, 400), ARGUMENTS),
    Case(OA + "AuthenticationError", told(by_openai, 401), LOGIN),
    Case(OA + "PermissionDeniedError", told(by_openai, 403), LOGIN),
    Case(OA + "NotFoundError", openai_says(404, code="model_not_found"), ARGUMENTS),
    Case(OA + "ConflictError", told(by_openai, 409, {"x-should-retry": "true"}), OUTAGE),
    Case(OA + "UnprocessableEntityError", told(by_openai, 422), ARGUMENTS),
    Case(
        OA + "RateLimitError",
        openai_says(429, {"Retry-After": "8"}, code="rate_limit_exceeded", type="tokens"),
        QUOTA,
        8,
    ),
    Case(OA + "RateLimitError", openai_says(429, code="insufficient_quota", type="insufficient_quota"), USED_UP),
    # The vendor's prose names money and days where only time is missing.
    Case(OA + "RateLimitError", openai_says(429, code="rate_limit_exceeded", message=PAY), QUOTA),
    Case(OA + "RateLimitError", openai_says(429, code="rate_limit_exceeded", message="tokens per day (TPD)"), QUOTA),
    Case(OA + "RateLimitError", openai_says(429, message="Insufficient balance"), USED_UP),
    Case(OA + "BadRequestError", openai_says(400, code="billing_hard_limit_reached"), USED_UP),
    Case(OA + "APIStatusError", told(by_openai, 402), USED_UP),
    Case(OA + "InternalServerError", told(by_openai, 500), OUTAGE),
    Case(
        OA + "InternalServerError", told(by_openai, 500, {"x-should-retry": "false"}), ("internal", "transient", False)
    ),
    Case(OA + "BadRequestError", told(by_openai, 400, {"x-should-retry": "true", "Retry-After": "3"}), OUTAGE, 3),
    Case(OA + "AuthenticationError", told(by_openai, 401, {"x-should-retry": "true"}), LOGIN),
    Case(OA + "RateLimitError", openai_says(429, {"x-should-retry": "true"}, code="insufficient_quota"), USED_UP),
    Case(OA + "PermissionDeniedError", told(by_openai, 403, {"Retry-After": "9"}), QUOTA, 9),
    Case(OA + "APIError", openai_stream(type="server_error"), OUTAGE),
    Case(OA + "APIError", openai_stream(code="rate_limit_exceeded", type="tokens"), QUOTA),
    Case(OA + "APIError", openai_stream(code="insufficient_quota"), USED_UP),
    Case(OA + "APIError", openai_stream(code="context_length_exceeded", type="invalid_request_error"), ARGUMENTS),
    Case(OA + "APIError", openai_stream(code="invalid_api_key"), LOGIN),
    Case(OA + "APIError", openai_stream(), OUTAGE),
    Case(OA + "APIConnectionError", at(refused, by_openai), OUTAGE),
    Case(OA + "APIConnectionError", through(by_openai, hangs_up), OUTAGE),
    Case(OA + "APIConnectionError", through(by_openai, CUT_SHORT), OUTAGE),
    Case(OA + "APIConnectionError", through(by_openai, NO_HTTP), OUTAGE),
    Case(OA + "APIConnectionError", through(by_openai, shows_its_certificate, "https"), INTERNAL),
    Case(OA + "APIConnectionError", through(by_openai, speaks_no_tls, "https"), INTERNAL),
    Case(OA + "APIConnectionError", through_proxy(by_openai, proxy_says(403)), BLOCKED),
    Case(OA + "APIConnectionError", through_proxy(by_openai, proxy_says(502)), OUTAGE),
    Case(OA + "APIConnectionError", lambda: by_openai("http://x", base=f"{SECRET}:80/v1"), INTERNAL),
    Case(OA + "APIConnectionError", at(refused, by_openai_async), OUTAGE),
    Case(OA + "APITimeoutError", through(by_openai, silent, timeout=0.03), LATE),
    Case(OA + "APITimeoutError", through(by_openai, STALLED, timeout=0.03), LATE),
    Case(OA + "APITimeoutError", at(unreachable, by_openai, timeout=0.03), LATE),
    Case(OA + "APITimeoutError", through(by_openai_async, silent, timeout=0.03), LATE),
    Case(
        OA + "APIResponseValidationError",
        told(by_openai, 200, body=b'{"choices": "NOTREAL"}', _strict_response_validation=True),
        INTERNAL,
    ),
    Case(OA + "LengthFinishReasonError", finished("length"), INTERNAL),
    Case(OA + "ContentFilterFinishReasonError", finished("content_filter"), INTERNAL),
    Case(OA + "InvalidWebhookSignatureError", without_a_connection(verifies_a_message), INTERNAL),
    Case(OA + "OpenAIError", without_a_key, LOGIN),
    Case(OA + "OpenAIError", told(exchanges, 503), OUTAGE),
    Case(OA + "OpenAIError", told(exchanges, 418), LOGIN),
    Case(OA + "OpenAIError", told(exchanges, 200, body=b"[]"), LOGIN),
    Case(OA + "OAuthError", told(exchanges, 400), LOGIN),
    Case(
        OA + "_exceptions.SubjectTokenProviderError",
        without_a_token_file,
        LOGIN,
    ),
    Case(OA + "_response.StreamAlreadyConsumed", told(by_openai, 200, use=reads_raw_twice), PANICKED),
    Case(OA + "WebSocketQueueFullError", queue_is_full, OUTAGE),
    Case(OA + "WebSocketConnectionClosedError", socket_closes_early, OUTAGE),
]

ANTHROPIC = [
    Case(A + "BadRequestError", anthropic_says(400, "invalid_request_error"), ARGUMENTS),
    Case(A + "AuthenticationError", anthropic_says(401, "authentication_error"), LOGIN),
    Case(A + "PermissionDeniedError", anthropic_says(403, "permission_error"), LOGIN),
    Case(
        A + "SandboxEgressRestrictedError",
        anthropic_says(403, "permission_error", code="sandbox_egress_restricted"),
        BLOCKED,
    ),
    Case(A + "PaymentRequiredError", anthropic_says(402, "billing_error"), USED_UP),
    Case(A + "NotFoundError", anthropic_says(404, "not_found_error"), ARGUMENTS),
    Case(A + "ContentTooLargeError", anthropic_says(413, "request_too_large"), ARGUMENTS),
    Case(A + "RateLimitError", anthropic_says(429, "rate_limit_error", {"retry-after": "6"}), QUOTA, 6),
    Case(
        A + "EnforcedSpendLimitReachedError",
        anthropic_says(429, "rate_limit_error", {"retry-after": "6"}, code="enforced_spend_limit_reached"),
        USED_UP,
    ),
    Case(
        A + "ContractSpendLimitReachedError",
        anthropic_says(429, "rate_limit_error", code="contract_spend_limit_reached"),
        USED_UP,
    ),
    Case(
        A + "RampLimitExceededError",
        anthropic_says(429, "rate_limit_error", {"retry-after": "5"}, code="ramp_limit_exceeded"),
        QUOTA,
        5,
    ),
    Case(
        A + "BadRequestError",
        anthropic_says(400, "invalid_request_error", message="Your credit balance is too low, NOTREAL"),
        USED_UP,
    ),
    Case(
        A + "types.storage_quota_exceeded_error.StorageQuotaExceededError",
        anthropic_says(400, "invalid_request_error", code="storage_quota_exceeded"),
        USED_UP,
    ),
    Case(A + "InternalServerError", anthropic_says(500, "api_error"), OUTAGE),
    Case(A + "CMEKKeyUnreachableError", anthropic_says(503, "api_error", code="cmek_key_unreachable"), OUTAGE),
    Case(A + "GatewayTimeoutError", anthropic_says(504, "timeout_error"), LATE),
    Case(A + "OverloadedError", anthropic_says(529, "overloaded_error", {"retry-after-ms": "2500"}), OUTAGE, 3),
    Case(A + "APIStatusError", anthropic_stream("overloaded_error"), OUTAGE),
    Case(A + "APIStatusError", anthropic_stream("rate_limit_error"), QUOTA),
    Case(A + "APIStatusError", anthropic_stream("invalid_request_error"), ARGUMENTS),
    Case(A + "APIStatusError", anthropic_stream("authentication_error"), LOGIN),
    Case(A + "APIStatusError", anthropic_stream("timeout_error"), LATE),
    Case(A + "APIStatusError", anthropic_stream("billing_error"), USED_UP),
    Case(A + "APIStatusError", anthropic_stream(SECRET), OUTAGE),
    Case(
        A + "APIStatusError",
        anthropic_stream("rate_limit_error", details={"error_code": "enforced_spend_limit_reached"}),
        USED_UP,
    ),
    Case(A + "APIConnectionError", at(refused, by_anthropic), OUTAGE),
    Case(A + "APIConnectionError", through(by_anthropic, hangs_up), OUTAGE),
    Case(A + "APIConnectionError", through(by_anthropic, shows_its_certificate, "https"), INTERNAL),
    Case(A + "APIConnectionError", through_proxy(by_anthropic, proxy_says(407)), BLOCKED),
    Case(A + "APIConnectionError", at(refused, by_anthropic_async), OUTAGE),
    Case(A + "APITimeoutError", through(by_anthropic, silent, timeout=0.03), LATE),
    Case(A + "APITimeoutError", through(by_anthropic_async, silent, timeout=0.03), LATE),
    Case(
        A + "APIResponseValidationError",
        told(by_anthropic, 200, body=b'{"content": "NOTREAL"}', _strict_response_validation=True),
        INTERNAL,
    ),
    Case(A + "CredentialsError", without_a_profile, LOGIN),
    Case(A + "IdentityTokenFileError", without_an_identity, LOGIN),
    Case(A + "lib.credentials._workload.WorkloadIdentityError", told(exchanges_for_anthropic, 400), LOGIN),
    Case(A + "lib.credentials._workload.WorkloadIdentityError", told(exchanges_for_anthropic, 503), OUTAGE),
    Case(A + "lib.credentials._workload.WorkloadIdentityError", at(refused, exchanges_for_anthropic), OUTAGE),
    Case(
        A + "AnthropicError",
        lambda: by_anthropic("http://127.0.0.1:9", use=lambda client: client.beta.webhooks.unwrap("x", headers={})),
        INTERNAL,
    ),
    Case(A + "_response.StreamAlreadyConsumed", told(by_anthropic, 200, use=reads_messages_raw_twice), PANICKED),
    Case(A + "RetryableError", told(by_anthropic, 200, middleware=[gives_up]), OUTAGE),
]

ALL = [*OPENAI, *ANTHROPIC]

#: Rows that no exception of the installed versions made speak here, and why.
NOT_RAISED = {
    "anthropic.APIError": "a base: anthropic raises its subclasses",
    "anthropic.APIWebhookValidationError": "anthropic exports it, and raises it nowhere",
    "anthropic._response.MissingStreamClassError": "each client has a class of its own to fall back on",
    "openai._response.MissingStreamClassError": "each client has a class of its own to fall back on",
}

MODULES = """
    openai openai._exceptions openai._response openai._base_client openai._client
    anthropic anthropic._exceptions anthropic._error_classes anthropic._response anthropic._base_client
    anthropic._client anthropic.lib.credentials anthropic.lib.tools
""".split()


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_raised(case):
    """
    A failure that really happened has the right code, category, retryability and delay, and tells no secret.
    """
    _, envelope = check(case)

    assert "upstream API" not in envelope.message


def test_every_row_is_raised_or_listed():
    """
    A row without a failure that shows it is no row.
    """
    assert TABLE.RULES.keys() - rows_of(ALL) == NOT_RAISED.keys()


@pytest.mark.parametrize("name", [*TABLE.RULES, *TABLE.IGNORED])
def test_every_name_is_that_of_a_class(name):
    """
    A class that a package renames or drops turns this red.
    """
    assert issubclass(class_named(name), BaseException)
    assert qualified_name(class_named(name)) == name


def test_every_exported_exception_has_a_row():
    """
    A class that a package adds turns this red, until it is mapped, or ignored on purpose.
    """
    assert without_a_row(MODULES, TABLE.IGNORED) == set()


# ---- statuses


@pytest.mark.parametrize("client", [by_openai, by_anthropic], ids=["openai", "anthropic"])
@pytest.mark.parametrize(("status", "headers", "expected", "delay"), ANSWERS)
def test_answers(client, status, headers, expected, delay):
    """
    Each status that a real server answered; a refusal of credentials is of the server's own.
    """
    fail = told(client, status, headers)
    fault = judged(raised_by(fail), fail)

    assert (*(LOGIN if expected == DENIED else expected), delay) == (
        *facts(fault.envelope),
        fault.envelope.retry_after_seconds,
    )
    assert fault.facts["upstream_status"] == status
    assert f"HTTP {status}" in fault.envelope.message
    assert (
        "The model API" in fault.envelope.message
        or "the model API" in fault.envelope.message
        or status in {403, 407, 511}
    )


@pytest.mark.parametrize("credentials", ["server", "caller"])
@pytest.mark.parametrize("client", [by_openai, by_anthropic])
def test_the_key_is_always_the_servers(client, credentials):
    """
    Whatever a guard declares of the credentials for other upstreams.
    """
    envelope = judged(raised_by(told(client, 401)), guard=Guard(credentials=credentials)).envelope

    assert LOGIN == facts(envelope)
    assert envelope.message == (
        "The model API did not accept the credentials of the server (HTTP 401). "
        "The server's operator has to look into it."
    )


def test_a_proxy_outside_the_list():
    """
    A 403 from a host that the guard does not list is the egress proxy's.
    """
    exc = raised_by(told(by_openai, 403))

    assert BLOCKED == facts(judged(exc, guard=Guard(egress_allow=["api.example.com"])).envelope)


def test_the_message_of_a_stream_names_the_kind():
    """
    There was no status but 200.
    """
    fault = judged(raised_by(anthropic_stream("overloaded_error")))

    assert fault.envelope.message == "The model API is overloaded (overloaded_error). Try again later."
    assert "upstream_status" not in fault.facts


@pytest.mark.parametrize("client", [by_openai, by_anthropic])
def test_the_address_is_the_servers(client):
    """
    A host that does not exist is never the caller's, though an argument may name it.
    """
    exc = raised_by(lambda: client("http://x", base=f"http://{NO_SUCH_HOST}/v1"))
    envelope = judged(exc, url=f"see {NO_SUCH_HOST.lower()}").envelope

    assert envelope.code.value == "internal"


# ---- half-built exceptions


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("name", TABLE.RULES)
def test_no_rule_raises(name, make):
    """
    Whatever the state of an exception, its rule has an opinion, and a guard an answer.
    """
    survives(class_named(name), make)


# ---- traps

#: Classes that a ladder of ``isinstance`` over the builtins would judge otherwise.
TRAPS = ["openai.InvalidWebhookSignatureError"]


def test_traps():
    """
    Each row that says something else than a builtin base of its class.
    """
    assert TRAPS == traps(ALL)
    assert len(TRAPS) == 1


def test_a_timeout_is_asked_before_a_connection():
    """
    The one is a subclass of the other.
    """
    assert issubclass(openai.APITimeoutError, openai.APIConnectionError)
    assert issubclass(anthropic.APITimeoutError, anthropic.APIConnectionError)


if __name__ == "__main__":
    print(f"{len(TRAPS)} class of openai and anthropic is not what its builtin base says")  # noqa: T201
