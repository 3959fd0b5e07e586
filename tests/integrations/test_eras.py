"""
Each revision of the protocol, in its own words over stdio: the envelope arrives whole in all of them.
"""

import json
import subprocess
import sys

import pytest

from transports import FAULT_SERVER


ERROR = "io.github.toolfault/error"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"

#: revision, whether a connection begins with a handshake, the members of a failed result, the keys of its _meta
#:
#: The first two revisions know neither structuredContent nor outputSchema; the SDK sends both all the same.
#: 2026-07-28 has no handshake: each request says the revision, each result its type, and who answered.
ERAS = [
    ("2024-11-05", True, {"_meta", "content", "isError", "structuredContent"}, {ERROR}),
    ("2025-03-26", True, {"_meta", "content", "isError", "structuredContent"}, {ERROR}),
    ("2025-06-18", True, {"_meta", "content", "isError", "structuredContent"}, {ERROR}),
    ("2025-11-25", True, {"_meta", "content", "isError", "structuredContent"}, {ERROR}),
    ("2026-07-28", False, {"_meta", "content", "isError", "structuredContent", "resultType"}, {ERROR, SERVER_INFO}),
]

ENVELOPES = {
    "typed_fault": {
        "code": "quota_exceeded",
        "message": "Daily quota for Ys is used up",
        "category": "transient",
        "retryable": True,
        "retry_after_seconds": 30,
        "hint": "Try Oslo.",
    },
    # By the letter of every revision an unknown tool is a protocol error; the SDK answers with a result in all of them.
    "no_such_tool": {
        "code": "tool_not_found",
        "message": "Unknown tool: no_such_tool",
        "category": "permanent",
        "retryable": False,
        "hint": "Call tools/list for the names there are.",
    },
    # By 2024-11-05 to 2025-06-18 a protocol error, since 2025-11-25 a result; likewise.
    "argument": {
        "code": "invalid_arguments",
        "message": "1 argument of 'argument' was refused: `days` is missing.",
        "category": "validation",
        "retryable": False,
    },
}


@pytest.fixture(scope="module", params=ERAS, ids=lambda era: era[0])
def era(request):
    return request.param


@pytest.fixture(scope="module")
def ask(era):
    """
    Ask in this revision, and return the whole answer.
    """
    revision, handshake, *_ = era
    client = {"name": "raw", "version": "1"}
    meta = {
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": client,
    }

    def send(**message):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()

    def ask(method, **params):
        send(id=method, method=method, params=params if handshake else {**params, "_meta": meta})
        answer = json.loads(process.stdout.readline())
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", method)
        return answer

    with subprocess.Popen(
        [sys.executable, "-W", "error", str(FAULT_SERVER), "stdio"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        if handshake:
            hello = ask("initialize", protocolVersion=revision, capabilities={}, clientInfo=client)
            assert hello["result"]["protocolVersion"] == revision
            send(method="notifications/initialized")
        yield ask
        process.stdin.close()
        assert process.wait(10) == 0


def test_the_envelope_arrives_whole(era, ask):
    _, _, members, meta = era
    for tool, envelope in ENVELOPES.items():
        result = ask("tools/call", name=tool, arguments={"city": "Ys"})["result"]

        assert result["isError"] is True
        assert result["structuredContent"] == envelope
        assert list(result["structuredContent"]) == list(envelope)
        assert result["content"][0] == {"type": "text", "text": envelope["message"]}
        assert result["_meta"][ERROR]["v"] == 1
        assert set(result) == members
        assert set(result["_meta"]) == meta


def test_a_listed_schema_has_room_for_it(ask):
    tools = {tool["name"]: tool for tool in ask("tools/list")["result"]["tools"]}

    assert tools["typed_fault"]["outputSchema"]["type"] == "object"
    assert {"required": ["code", "message", "category", "retryable"]} in tools["typed_fault"]["outputSchema"]["anyOf"]
