"""
Every vector of the specification, run through the library.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolfault._envelope import InvalidEnvelope, McpExecuteError
from toolfault._wire import Guidance, to_result
from toolfault.errors import ToolFault
from vector_match import matches


VECTORS = Path(__file__).parents[1] / "specs" / "vectors"
SUITES = [
    json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(VECTORS.glob("*.json"))
    if path.name != "suite.schema.json"
]

#: The setters of an envelope, as the vectors call them.
SETTERS = {
    "category": McpExecuteError.with_category,
    "retryable": McpExecuteError.with_retryable,
    "retry_after_seconds": McpExecuteError.with_retry_after_seconds,
    "hint": McpExecuteError.with_hint,
}

#: What a server of this revision and later says of itself in every result, beside what is ours.
SERVER_INFO = "io.modelcontextprotocol/serverInfo"


def decoded(envelope: McpExecuteError) -> dict[str, Any]:
    """
    Return an envelope with all seven members, as the vectors write a decoded one.
    """
    return json.loads(envelope.model_dump_json())


def new(given: dict[str, Any], expect: dict[str, Any]) -> None:
    envelope = McpExecuteError.new(given["code"], given["message"])
    for name, value in given.get("with", {}).items():
        for item in value if name == "causes" else [value]:
            envelope = SETTERS.get(name, McpExecuteError.with_cause)(envelope, item)
    wire = envelope.to_wire()

    assert matches(expect["json"], wire)
    assert set() == set(expect.get("absent", ())) & set(wire)


def decode(given: dict[str, Any], expect: dict[str, Any]) -> None:
    if given.get("mode") == "lenient":
        return decode_leniently(given["json"], expect)

    def read() -> McpExecuteError:
        if "json" in given:
            return McpExecuteError.from_wire(given["json"])
        if given.get("via") == "text-straight-into-type":
            return McpExecuteError.from_json(given["json_text"])
        return McpExecuteError.from_wire(json.loads(given["json_text"]))

    if "error" in expect:
        with pytest.raises(InvalidEnvelope) as caught:
            read()
        assert expect["error"] == {"kind": caught.value.kind, "field": caught.value.field}
        return None
    assert matches(expect["value"], decoded(read()))
    assert matches(expect["reencode"], read().to_wire())
    return None


def decode_leniently(body: dict[str, Any], expect: dict[str, Any]) -> None:
    from toolfault._read.parse import parse

    fault = parse({"isError": True, "content": [], "structuredContent": body})

    assert fault is not None
    assert matches(expect["value"], decoded(fault.envelope))
    assert body == fault.received
    assert expect.get("raw_code", body["code"]) == fault.received["code"]


def compare_json(given: dict[str, Any], expect: dict[str, Any]) -> None:
    a, b = McpExecuteError.from_wire(given["a"]), McpExecuteError.from_wire(given["b"])

    assert (a == b) is expect["equal"]
    assert (json.dumps(a.to_wire()) == json.dumps(b.to_wire())) is expect["equal"]


def classify(given: dict[str, Any], expect: dict[str, Any]) -> None:
    assert matches(expect["json"], classified(given["message"]).to_wire())


def classified(message: str) -> McpExecuteError:
    from toolfault._prose.careful import exact

    return McpExecuteError.new(exact(message), message)


def tools_call_result(given: dict[str, Any], expect: dict[str, Any]) -> None:
    """
    The result as it stands on the wire of a real server, under the revision that the vector names.

    ``resultType`` is the server's: the SDK adds it to every result of revision 2026-07-28, and drops it from results
    of older ones. So `to_result` writes none, and only the wire can show it.
    """
    if "unknown_tool" in given:
        server, name = a_real_server(), given["unknown_tool"]
    else:
        result = to_result(ToolFault.of(classified(given["failure_text"])), guidance=Guidance.NONE)
        bare = {key: value for key, value in expect["json"].items() if key != "resultType"}
        assert matches(bare, result)
        server, name = a_server_that_answers(result), "any"

    assert matches(expect["json"], anyio.run(call_raw, server, name, given["protocol"]))


def a_real_server() -> Any:
    from mcp.server import MCPServer

    from toolfault.hosting import Guard
    from toolfault.integrations.mcp import install

    return install(MCPServer("vectors"), Guard(guidance=Guidance.NONE))


def a_server_that_answers(result: dict[str, Any]) -> Any:
    from mcp.server import Server
    from mcp.types import CallToolResult

    async def call_tool(_context: Any, _params: Any) -> CallToolResult:
        return CallToolResult.model_validate(result)

    return Server("vectors", on_call_tool=call_tool)


async def call_raw(server: Any, name: str, protocol: str) -> dict[str, Any]:
    """
    Return the ``result`` object that a server sends for a call, key for key, under a revision of the protocol.
    """
    from mcp.client._memory import InMemoryTransport
    from mcp.shared.message import SessionMessage
    from mcp.types import JSONRPCNotification, JSONRPCRequest
    from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

    me = {"name": "vectors", "version": "1"}
    params: dict[str, Any] = {"name": name, "arguments": {}}

    async with InMemoryTransport(server) as (read, write):

        async def request(number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
            await write.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=params)))
            with anyio.fail_after(10):
                answer = await read.receive()
            assert isinstance(answer, SessionMessage)
            body = answer.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
            assert body["id"] == number
            return body["result"]

        if protocol in HANDSHAKE_PROTOCOL_VERSIONS:
            hello = await request(0, "initialize", {"protocolVersion": protocol, "capabilities": {}, "clientInfo": me})
            assert hello["protocolVersion"] == protocol
            await write.send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")))
        else:
            keys = {"protocolVersion": protocol, "clientCapabilities": {}, "clientInfo": me}
            params["_meta"] = {f"io.modelcontextprotocol/{key}": value for key, value in keys.items()}
        result = await request(1, "tools/call", params)

    # The server's visiting card, which is not part of the answer.
    if (meta := result.pop("_meta", {})) and set(meta) != {SERVER_INFO}:
        result["_meta"] = meta
    return result


def extract_error(given: dict[str, Any], expect: dict[str, Any]) -> None:
    from toolfault._read.parse import parse

    fault = parse(given["result"])

    assert matches(expect["value"], None if fault is None else decoded(fault.envelope))


OPERATIONS = {
    "new": new,
    "decode": decode,
    "compare-json": compare_json,
    "classify": classify,
    "tools-call-result": tools_call_result,
    "extract-error": extract_error,
}


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case["case"]) for suite in SUITES if suite["ours"] for case in suite["cases"]]
)
def test_vector(case):
    """
    The case's rule holds.
    """
    OPERATIONS[case["input"]["op"]](case["input"], case["expect"])


@pytest.mark.parametrize(
    "case",
    [pytest.param((suite, case), id=case["case"]) for suite in SUITES if not suite["ours"] for case in suite["cases"]],
)
def test_a_vector_that_is_not_ours(case):
    """
    It is listed with a reason, and there is no operation that could run it.
    """
    suite, vector = case

    assert suite["reason"]
    assert vector["input"]["op"] not in OPERATIONS


def test_the_comparison_is_strict():
    """
    What differs, differs: a comparison that passes everything would prove nothing.
    """
    assert matches({"hint": {"$match": "non-empty-string"}}, {"hint": "x"})
    assert not matches({"hint": {"$match": "non-empty-string"}}, {"hint": ""})
    assert not matches({"a": 1}, {"a": 1, "b": 2})
    assert not matches({"a": 1, "b": 2}, {"a": 1})
    assert not matches([1], [1, 2])
    assert not matches(1, True)
    assert not matches(0, False)
    assert not matches(1, 1.0)
