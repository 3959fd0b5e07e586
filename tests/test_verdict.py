"""
How a verdict becomes a message: from its parts, once.
"""

import httpx
import pytest

from toolfault import Guard, McpErrorCode, parse
from toolfault._judge.case import Call
from toolfault._meanings.sentences import advice_for
from toolfault._verdict import Verdict
from toolfault.rules.http import verdict_for


def verdict(**parts):
    return Verdict(code=McpErrorCode.INTERNAL, **parts)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, None),
        ({"advice": "Try again later.", "note": "HTTP 1"}, None),
        ({"sentence": "It broke"}, "It broke"),
        ({"sentence": "It broke. Really!"}, "It broke. Really!"),
        ({"sentence": "It broke", "note": "E1"}, "It broke (E1)."),
        ({"sentence": "It broke", "file": "a'b"}, 'It broke: "a\'b".'),
        ({"sentence": "It broke", "file": "a", "note": "E1", "advice": "Go."}, "It broke: 'a' (E1). Go."),
        # The wait replaces the advice, where there is any and repeating is of use.
        ({"sentence": "Busy", "advice": "Go.", "retry_after_seconds": 58}, "Busy. Retry after 58 seconds."),
        ({"sentence": "Busy", "advice": "Go.", "retry_after_seconds": 1}, "Busy. Retry after 1 second."),
        ({"sentence": "Busy", "advice": "Go.", "retry_after_seconds": 0}, "Busy. Retry now."),
        ({"sentence": "Busy", "advice": "Go.", "retry_after_seconds": 5, "retryable": False}, "Busy. Go."),
        ({"sentence": "Busy", "retry_after_seconds": 5}, "Busy"),
        # The peer: as it is at the beginning, its article in lower case inside.
        ({"sentence": "{peer} broke", "peer": "The API"}, "The API broke"),
        ({"sentence": "Locked at {peer}", "peer": "The API"}, "Locked at the API"),
        ({"sentence": "Locked at {peer}", "peer": "A service"}, "Locked at a service"),
        ({"sentence": "Locked at {peer}", "peer": "GitHub"}, "Locked at GitHub"),
        ({"sentence": "{peer} lost {peer}", "peer": "The API"}, "The API lost the API"),
        ({"sentence": "{peer} broke", "peer": "Acme Inc. API"}, "Acme Inc. API broke"),
        ({"sentence": "{peer} broke {0} {x}", "peer": "{0}"}, "{0} broke {0} {x}"),
        # Without a peer nothing in a text is a placeholder.
        ({"sentence": "Unknown tool: {peer}"}, "Unknown tool: {peer}"),
    ],
)
def test_the_message_of_its_parts(parts, message):
    """
    Each part in its place, whatever the others hold.
    """
    assert verdict(**parts).message == message


@pytest.mark.parametrize("peer", ["Acme Inc. API", "The API of St. Gallen. No. 2", "U.S. Census", "GitHub"])
@pytest.mark.parametrize(
    ("status", "options", "advice"),
    [
        (401, {"credentials": "server"}, "The credentials are the server's; its operator has to look."),
        (422, {"arguments_forwarded": False}, "The values are the server's, not the caller's."),
    ],
)
def test_a_peer_keeps_its_name_where_the_server_is_to_blame(peer, status, options, advice):
    """
    A full stop in a name ends no sentence.
    """

    class AcmeError(Exception):
        pass

    guard = Guard(expect={AcmeError: lambda exc: verdict_for(status, peer=peer)}, **options)

    message = guard.judge(AcmeError("x"), Call(tool="t")).envelope.message

    assert message.startswith(f"{peer} ")
    assert message.endswith(f"(HTTP {status}). {advice}")


REQUEST = httpx.Request("GET", "http://x/mcp")


@pytest.mark.parametrize(
    "exc",
    [
        httpx.PoolTimeout("x"),
        httpx.ReadTimeout("x"),
        httpx.ConnectTimeout("x"),
        httpx.TooManyRedirects("x"),
        httpx.RemoteProtocolError("x"),
        TimeoutError(),
        ConnectionRefusedError(111, "Connection refused"),
        ConnectionResetError(104, "Connection reset by peer"),
        *(
            httpx.HTTPStatusError("x", request=REQUEST, response=httpx.Response(status, request=REQUEST))
            for status in (400, 401, 403, 404, 409, 413, 422, 423, 429, 499, 500, 502, 503, 504, 529)
        ),
    ],
    ids=repr,
)
def test_a_client_is_told_of_the_server_and_of_no_tool(exc):
    """
    On the client's side the hop is the one to the MCP server.
    """
    message = parse(exc).envelope.message

    assert "the tool" not in message.lower()
    assert "upstream" not in message.lower()


@pytest.mark.parametrize("wait", [0, 1, 58])
def test_a_wait_is_said_once(wait):
    """
    The message says it, so the advice that follows does not.
    """
    guard = Guard(expect={KeyError: lambda exc: verdict_for(429, headers={"retry-after": str(wait)})})

    envelope = guard.judge(KeyError("x"), Call(tool="t")).envelope

    assert envelope.retry_after_seconds == wait
    assert "Retry" in envelope.message
    assert advice_for(envelope) == ""
