"""
Each foreign status, number and word means the same by whatever way it comes.
"""

import json

import pytest

from toolfault import parse
from toolfault._codes import DEFAULTS
from toolfault._meanings import jsonrpc
from toolfault._meanings.grpc import STATUS as GRPC
from toolfault._meanings.http import row_for
from toolfault._meanings.words import list_words, meaning_of
from toolfault._prose.careful import careful
from toolfault.dialects import a2a, a2c_smcp
from toolfault.rules import grpc, http


def text(said):
    return {"isError": True, "content": [{"type": "text", "text": said}]}


def structured(body):
    return {"isError": True, "content": [], "structuredContent": body}


def facts(found):
    envelope = getattr(found, "envelope", found)
    return envelope.code, envelope.category, envelope.retryable


class Reported(Exception):
    """
    An exception of a client, which may hold a JSON-RPC error.
    """

    def __init__(self, text, error=None):
        super().__init__(text)
        self.error = error


def carried(read):
    """
    The ways of a failure that a dialect carries on, each in all its forms, by their names.
    """
    forms = {
        "A2A": a2a.encode,
        "A2A over HTTP": lambda fault: a2a.encode(fault, binding="http"),
        "A2C-SMCP": a2c_smcp.encode,
        "A2C-SMCP, as a tool result": lambda fault: a2c_smcp.encode(fault, carrier="tool_result"),
    }
    return {
        f"carried by {name}": lambda *asked, encode=encode: parse(encode(parse(read(*asked))))
        for name, encode in forms.items()
    }


# ---- HTTP


WAYS_OF_A_STATUS = {
    "an answer's status": http.verdict_for,
    "structured content": lambda status: parse(structured({"status": status})),
    "structured content, as text": lambda status: parse(structured({"statusCode": str(status)})),
    "an error object": lambda status: parse(structured({"error": {"code": status, "message": "no"}})),
    "JSON in a text": lambda status: parse(text(json.dumps({"status": status}))),
    "a JSON-RPC number": lambda status: parse({"code": status, "message": "no"}),
    "prose": lambda status: parse(text(f"HTTP {status}")),
    "prose, as axios writes it": lambda status: parse(text(f"Request failed with status code {status}")),
    "an exception's text": lambda status: parse(Reported(f"HTTP {status}")),
    "an answer of A2A over HTTP": lambda status: parse(
        {"status": status, "body": {"error": {"code": status, "message": "no"}}}
    ),
    "a problem of HTTP": lambda status: parse({"status": status, "type": "about:blank", "title": "no"}),
    **carried(lambda status: structured({"status": status})),
}


@pytest.mark.parametrize("way", WAYS_OF_A_STATUS)
def test_a_status_is_one_thing(way):
    read = WAYS_OF_A_STATUS[way]
    row = {status: facts(row_for(status)) for status in range(400, 600)}

    assert {status: facts(read(status)) for status in row} == row


def test_a_status_in_prose_keeps_its_text():
    verdict = careful("HTTP 404 from the shop")

    assert (verdict.sentence, verdict.upstream_status) == (None, 404)


# ---- gRPC


WAYS_OF_GRPC = {
    "by name": grpc.verdict_for,
    "by number": lambda name: grpc.verdict_for(list(GRPC).index(name)),
    "as the enum is written": lambda name: grpc.verdict_for(f"StatusCode.{name}"),
    "structured content": lambda name: parse(structured({"status": name, "message": "no"})),
    "structured content, with a number": lambda name: parse(
        structured({"error": {"code": list(GRPC).index(name), "status": name, "message": "no"}})
    ),
    "prose": lambda name: parse(text(f"rpc error: code = {name} desc = no")),
    "prose, as Python writes it": lambda name: parse(text(f"StatusCode.{name}: no")),
    "an exception's text": lambda name: parse(Reported(f"StatusCode.{name}: no")),
    **carried(lambda name: structured({"status": name, "message": "no"})),
}


@pytest.mark.parametrize("way", WAYS_OF_GRPC)
def test_a_grpc_status_is_one_thing(way):
    read = WAYS_OF_GRPC[way]

    assert {name: facts(read(name)) for name in GRPC} == {name: facts(row) for name, row in GRPC.items()}


# ---- JSON-RPC

UNREACHABLE = ("mcp_server_unreachable", "transient")
GONE = (*UNREACHABLE, False)
LOST = (*UNREACHABLE, True)
TIMEOUT = ("tool_timeout", "transient", True)
DENIED = ("permission_denied", "auth", False)
BROKEN = ("internal", "permanent", False)
NO_TOOL = ("tool_not_found", "permanent", False)
ARGUMENTS = ("invalid_arguments", "validation", False)
UNKNOWN = ("unknown", "permanent", False)

#: Number, message, meaning in answer to a tool call.
RPC = [
    *((number, "Session not found", GONE) for number in (-32600, -32000, -32001, 32600, -32603)),
    *((number, "Session terminated", GONE) for number in (-32600, -32000, -32001, 32600)),
    *((number, "Not Found: Session has been terminated", GONE) for number in (-32600, -32001)),
    (-32600, "Bad Request: No valid session ID provided", GONE),
    (-32000, "Bad Request: Missing session", GONE),
    (-32001, "Request timed out", TIMEOUT),
    (408, "Timed out while waiting for response", TIMEOUT),
    (408, "no", TIMEOUT),
    (-32000, "Connection closed", LOST),
    (-32000, "Server disconnected", LOST),
    (-32601, "Method not found", NO_TOOL),
    (-32601, "no", NO_TOOL),
    (-32601, "Method not found: sampling/createMessage", DENIED),
    (-32601, "Method not found: elicitation/create", DENIED),
    (-32602, "Unknown tool: draw_map", NO_TOOL),
    (-32602, "no", ARGUMENTS),
    (-32602, "Output validation error: data must be object", BROKEN),
    (-32602, "Structured content does not match the tool's output schema", BROKEN),
    (-32042, "no", DENIED),
    (-32021, "no", DENIED),
    (-32020, "no", BROKEN),
    (-32022, "no", BROKEN),
    (-32023, "no", ("quota_exceeded", "transient", True)),
    (-32603, "Too many requests", ("quota_exceeded", "transient", True)),
]
WAYS_OF_RPC = {
    "an error": lambda number, said: parse({"code": number, "message": said}),
    "an answer": lambda number, said: parse({"jsonrpc": "2.0", "id": 1, "error": {"code": number, "message": said}}),
    "prose": lambda number, said: parse(text(f"MCP error {number}: {said}")),
    "prose, as the Python SDK wraps it": lambda number, said: parse(
        text(f"Error executing tool x: MCP error {number}: {said}")
    ),
    "an exception": lambda number, said: parse(Reported(said, {"code": number, "message": said})),
    **carried(lambda number, said: {"code": number, "message": said}),
}


@pytest.mark.parametrize("way", WAYS_OF_RPC)
@pytest.mark.parametrize(("number", "said", "expected"), RPC)
def test_a_jsonrpc_number_is_one_thing(way, number, said, expected):
    assert facts(WAYS_OF_RPC[way](number, said)) == expected


@pytest.mark.parametrize("number", [*range(-32700, -32599), *range(-32100, -31999), -1, 0, 1, 32600])
def test_a_number_without_a_meaning_says_nothing(number):
    """
    A number outside JSON-RPC's own band is unknown, one inside it a failure of the server.
    """
    if any(number == known for known, said, _ in RPC if said == "no"):
        return
    expected = BROKEN if number in jsonrpc.STANDARD else UNKNOWN

    assert facts(parse({"code": number, "message": "no"})) == expected


def test_what_asks_the_client_is_assigned_by_the_specification():
    assert set(jsonrpc.ERRORS) >= jsonrpc.ASKS_CLIENT


# ---- words

WAYS_OF_A_WORD = {
    "a code": lambda word: parse(structured({"code": word, "message": "no"})),
    "a type inside": lambda word: parse(structured({"error": {"type": word, "message": "no"}})),
    "upper case": lambda word: parse(structured({"code": word.upper(), "message": "no"})),
    "a class name": lambda word: parse(structured({"type": word.title().replace("_", "") + "Error", "message": "no"})),
    "JSON in a text": lambda word: parse(text(json.dumps({"code": word, "message": "no"}))),
    "data of a JSON-RPC error": lambda word: parse({"code": -32603, "message": "no", "data": {"code": word}}),
    "an exception's text": lambda word: parse(Reported(json.dumps({"code": word, "message": "no"}))),
    **carried(lambda word: structured({"code": word, "message": "no"})),
}


@pytest.mark.parametrize("way", WAYS_OF_A_WORD)
def test_a_word_is_one_thing(way):
    read = WAYS_OF_A_WORD[way]

    def expected(word):
        meant = meaning_of(word)
        category, retryable = DEFAULTS[meant.code]
        return (meant.code, meant.category or category, retryable if meant.retryable is None else meant.retryable)

    wrong = {word: facts(read(word)) for word in list_words() if facts(read(word)) != expected(word)}

    assert wrong == {}
