"""
HTTP errors of an endpoint, through the SDK's own client: a real server process that refuses.
"""

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from toolfault import Retry, parse
from toolfault.integrations.mcp import keep_http_errors, retrying
from toolfault.testing import no_waits
from transports import HERE, http_server


#: How the endpoint refuses; code, retryable and wait with the hook.
REFUSALS = [
    ("401", ("permission_denied", False, None), "401"),
    ("403", ("permission_denied", False, None), "403"),
    ("429", ("quota_exceeded", True, None), "429"),
    ("429 retry-after=7", ("quota_exceeded", True, 7), "429"),
    ("500", ("internal", True, None), "500"),
    ("502", ("mcp_server_unreachable", True, None), "502"),
    ("503 retry-after=3", ("mcp_server_unreachable", True, 3), "503"),
    ("413", ("invalid_arguments", False, None), "413"),
    ("400 rpc=1", ("tool_not_found", False, None), "Unknown tool: x"),
]


@pytest.fixture(scope="module")
def url():
    with http_server(HERE / "refusing_endpoint.py") as address:
        yield address


async def call(url, name, http_client, **options):
    async with (
        http_client,
        Client(streamable_http_client(url, http_client=http_client), mode="legacy") as session,
    ):
        try:
            return await (retrying(session, **options) if options else session).call_tool(name, {})
        except Exception as exc:
            return exc


@pytest.mark.parametrize(("refusal", "read", "words"), REFUSALS, ids=[row[0] for row in REFUSALS])
def test_the_hook_keeps_status_and_wait(url, refusal, read, words):
    answer = anyio.run(call, url, refusal, keep_http_errors(create_mcp_http_client()))

    fault = parse(answer)
    assert (fault.code, fault.retryable, fault.retry_after_seconds) == read
    assert words in fault.message


def test_without_the_hook_the_failure_is_unknown_and_names_it(url):
    fault = parse(anyio.run(call, url, "429 retry-after=7", create_mcp_http_client()))

    assert (fault.code, fault.category, fault.retryable) == ("unknown", "unknown", False)
    assert "toolfault.integrations.mcp.keep_http_errors" in fault.hint


def test_retrying_waits_as_long_as_the_endpoint_asks(url):
    waits = []
    retry = no_waits(Retry(attempts=3), waits)

    async def run():
        http_client = keep_http_errors(create_mcp_http_client())
        transport = streamable_http_client(url, http_client=http_client)
        async with http_client, Client(transport, mode="legacy") as session:
            with pytest.raises(Exception) as caught:
                await retrying(session, retry).call_tool("429 retry-after=7", {}, idempotent=True)
            return parse(caught.value)

    fault = anyio.run(run)

    assert waits == [7, 7]
    assert fault.retry_after_seconds == 7


@pytest.mark.parametrize("client", [None, 3, "http://localhost"])
def test_what_is_no_client_is_refused(client):
    with pytest.raises(TypeError, match=r"takes an httpx.AsyncClient or httpx2.AsyncClient"):
        keep_http_errors(client)


def test_a_function_that_makes_clients_makes_such_clients():
    made = keep_http_errors(create_mcp_http_client)(headers={"x": "y"})

    assert isinstance(made, httpx2.AsyncClient)
    assert made.headers["x"] == "y"
    once = made.send
    assert keep_http_errors(made).send.wrapped is once.wrapped


@pytest.mark.parametrize(
    ("method", "content", "status"),
    [
        ("GET", b"", 429),
        ("POST", b"", 429),
        ("POST", b"[]", 429),
        ("POST", b"not json", 429),
        ("POST", b'{"jsonrpc": "2.0", "method": "notifications/x"}', 429),
        ("POST", b'{"jsonrpc": "2.0", "id": 1, "result": {}}', 429),
        ("POST", b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}', 404),
        ("POST", b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}', 202),
    ],
)
def test_everything_else_stays_as_it_is(method, content, status):
    async def run():
        transport = httpx2.MockTransport(lambda request: httpx2.Response(status, text="as it is"))
        async with keep_http_errors(httpx2.AsyncClient(transport=transport)) as client:
            return await client.request(method, "http://x/mcp", content=content)

    response = anyio.run(run)

    assert (response.status_code, response.text) == (status, "as it is")
