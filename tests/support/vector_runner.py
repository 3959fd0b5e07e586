"""
The operations of the root suites, run through the library: each raises AssertionError on a case that fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

import toolfault._prose.careful as careful_module
import toolfault._read.parse as parse_module
import toolfault._retry_after as delays
import toolfault._schema.widen as widen_module
from toolfault import _wire
from toolfault._codes import DEFAULTS
from toolfault._envelope import InvalidEnvelope, McpExecuteError
from toolfault._prose import everruns
from toolfault._redact import Redactor
from toolfault._retry.budget import Budget
from toolfault._retry.retry import Retry
from toolfault._wire import Guidance, to_result
from toolfault.errors import ToolFault
from toolfault.rules import grpc, http
from vector_match import is_near, matches, resolve


VECTORS = Path(__file__).parents[2] / "specs" / "vectors"


def load_suites(folder: str = "") -> list[dict[str, Any]]:
    """
    The suites of one folder.
    """
    paths = sorted((VECTORS / folder).glob("*.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.name != "suite.schema.json"]


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
    if expect.get("refused"):
        with pytest.raises(ValueError, match="."):
            made(given)
        return
    wire = made(given).to_wire()

    assert matches(expect["json"], wire)
    assert set() == set(expect.get("absent", ())) & set(wire)


def made(given: dict[str, Any]) -> McpExecuteError:
    """
    The envelope of a code and a message, with what is set afterwards.
    """
    envelope = McpExecuteError.new(given["code"], given["message"])
    for name, value in given.get("with", {}).items():
        for item in value if name == "causes" else [value]:
            envelope = SETTERS.get(name, McpExecuteError.with_cause)(envelope, item)
    return envelope


def decode(given: dict[str, Any], expect: dict[str, Any]) -> None:
    if given.get("mode") == "lenient":
        return decode_leniently(given["json"], expect)

    revision = given.get("revision", "0.36")

    def read() -> McpExecuteError:
        if "json" in given:
            return McpExecuteError.from_wire(given["json"], revision=revision)
        if given.get("via") == "text-straight-into-type":
            return McpExecuteError.from_json(given["json_text"], revision=revision)
        return McpExecuteError.from_wire(json.loads(given["json_text"]), revision=revision)

    if "error" in expect:
        with pytest.raises(InvalidEnvelope) as caught:
            read()
        assert expect["error"] == {"kind": caught.value.kind, "field": caught.value.field}
        return None
    assert matches(expect["value"], decoded(read()))
    assert matches(expect["reencode"], read().to_wire())
    return None


def decode_leniently(body: dict[str, Any], expect: dict[str, Any]) -> None:
    fault = parse_module.parse({"isError": True, "content": [], "structuredContent": body})

    assert fault is not None
    assert matches(expect["value"], decoded(fault.envelope))
    assert body == fault.received
    assert expect.get("raw_code", body["code"]) == fault.received["code"]


def compare_json(given: dict[str, Any], expect: dict[str, Any]) -> None:
    a, b = McpExecuteError.from_wire(given["a"]), McpExecuteError.from_wire(given["b"])

    assert (a == b) is expect["equal"]
    assert (json.dumps(a.to_wire()) == json.dumps(b.to_wire())) is expect["equal"]


def classify(given: dict[str, Any], expect: dict[str, Any]) -> None:
    envelope = classified(given["message"], given.get("revision", "0.36"))

    assert matches(expect["json"], envelope.to_wire())


def classified(message: str, revision: Any = "0.36") -> McpExecuteError:
    return McpExecuteError.new(everruns.exact(message, revision), message)


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
    answer = given["result"] if "result" in given else given["answer"]

    fault = parse_module.parse(answer)

    if fault is None:
        assert expect["value"] is None
        return
    assert matches(expect["value"], decoded(fault.envelope))
    assert expect.get("found_in", fault.found_in) == fault.found_in
    assert expect.get("outcome", fault.outcome) == fault.outcome
    facts = {name: value for name, value in fault.facts.items() if name != "outcome"}
    assert matches(expect.get("facts", facts), facts)
    if "raw_code" in expect:
        assert fault.received["code"] == expect["raw_code"]


# ---- results


def fault_of(given: dict[str, Any]) -> ToolFault:
    """
    The fault of an envelope that may hold anything in its texts, with its facts.
    """
    envelope = McpExecuteError.model_construct(**decoded(McpExecuteError.new("internal", "m")))
    if given["envelope"] is not None:
        members = {**given["envelope"]}
        envelope = McpExecuteError.new(members["code"], members["message"])
        envelope = envelope.with_category(members["category"])
        envelope = envelope.with_retryable(members["retryable"])
        for name in ("retry_after_seconds", "hint"):
            if name in members:
                envelope = SETTERS[name](envelope, members[name])
        for cause in members.get("cause_chain", ()):
            envelope = envelope.with_cause(cause)
    return ToolFault.of(envelope, outcome=given.get("outcome"), facts=given.get("facts"))


def write_result(given: dict[str, Any], expect: dict[str, Any]) -> None:
    guidance = Guidance(given.get("guidance", "block"))
    structured = given.get("structured", True)

    result = _wire.to_result(fault_of(given), guidance=guidance, structured=structured)

    sent = json.loads(json.dumps(result, allow_nan=False).encode())
    assert matches(expect["json"], sent)


def widen(given: dict[str, Any], expect: dict[str, Any]) -> None:
    assert matches(expect["json"], widen_module.widen_schema(given["schema"]))


# ---- retries


def retry_fault(failure: dict[str, Any] | None) -> ToolFault | None:
    """
    The failure of an attempt, as a client reads it from its server or knows it by itself.
    """
    if failure is None:
        return None
    envelope = McpExecuteError.new(failure["code"], "m").with_retryable(failure["retryable"])
    wait = failure.get("retry_after_seconds")
    if wait is not None:
        envelope = envelope.with_retry_after_seconds(wait)
    if failure.get("never_sent"):
        return ToolFault.of(envelope, outcome="not_executed")
    return ToolFault.of(envelope, outcome=failure.get("outcome"), received={}, found_in="structured_content")


def retry_rules(given: dict[str, Any], **options: Any) -> Retry:
    options |= {
        name: given[name] for name in ("attempts", "timeout", "hint_max", "trust_hints", "wait_jitter") if name in given
    }
    return Retry(random=lambda: given.get("random", 0.0), **options)


def budget_of(tokens: float) -> Budget:
    budget = Budget()
    assert budget.take(budget.left - tokens)
    return budget


def retry_decide(given: dict[str, Any], expect: dict[str, Any]) -> None:
    budget = budget_of(given.get("tokens", 10))
    now = iter([0.0, given.get("elapsed", 0.0)])
    state = retry_rules(given, budget=budget, clock=lambda: next(now)).state(idempotent=given.get("idempotent"))
    state.number = given["attempt"]

    wait = state.next_wait(retry_fault(given["failure"]), given.get("tool"))

    assert (wait is not None) is expect["again"]
    assert is_near(expect["wait"], wait)
    assert state.attempts[-1].stopped == expect["reason"]
    if "tokens" in expect:
        assert is_near(expect["tokens"], budget.left)


def retry_call(given: dict[str, Any], expect: dict[str, Any]) -> None:
    now = [0.0]
    budget = budget_of(given.get("tokens", 10))
    answers = [retry_fault(failure) for failure in given["answers"]]

    def attempt(number: int) -> int:
        now[0] += given.get("each_takes", 0.0)
        return number

    def sleep(seconds: float) -> None:
        now[0] += seconds

    rules = retry_rules(given, budget=budget, clock=lambda: now[0], sleep_sync=sleep)
    retried = rules.run_sync(
        attempt,
        idempotent=given.get("idempotent"),
        tool=given.get("tool"),
        read=lambda number: answers[number - 1],  # type: ignore[index, operator]
    )

    assert len(retried.attempts) == len(expect["attempts"])
    for expected, actual in zip(expect["attempts"], retried.attempts, strict=True):
        assert is_near(expected["wait"], actual.wait)
        assert actual.stopped == expected["reason"]
    assert retried.result == expect["result"]
    assert is_near(expect["tokens"], budget.left)


# ---- waits, statuses, prose


def wait(given: dict[str, Any], expect: dict[str, Any]) -> None:
    now = given.get("now", NOW)
    if "headers" in given:
        found = delays.delay_from(given["headers"], now=now, limited=given.get("limited", False))
    elif "json" in given:
        found = delays.wait_in_json(given["json"], now=now)
    elif "prose" in given:
        found = delays.wait_in_prose(given["prose"], now=now)
    else:
        found = delays.parse_seconds(given["value"], now=now)

    assert found == expect["seconds"]


#: The clock of the waits: 2026-12-01T00:00:00Z.
NOW = 1796083200


def judged(verdict: Any) -> dict[str, Any]:
    """
    What of a verdict stands in the envelope, defaults filled in.
    """
    category, retryable = DEFAULTS[verdict.code]
    return {
        "code": verdict.code.value,
        "category": (verdict.category or category).value,
        "retryable": retryable if verdict.retryable is None else verdict.retryable,
        "retry_after_seconds": verdict.retry_after_seconds,
    }


def http_status(given: dict[str, Any], expect: dict[str, Any]) -> None:
    verdict = http.verdict_for(given["status"], headers=given.get("headers"), body=given.get("body"), now=NOW)

    assert judged(verdict) == {"retry_after_seconds": None, **expect}


def grpc_status(given: dict[str, Any], expect: dict[str, Any]) -> None:
    names = {"text": "text", "wait": "delay", "quota": "quota", "again": "again"}
    options: dict[str, Any] = {names[name]: given[name] for name in names if name in given}

    assert judged(grpc.verdict_for(given["status"], **options)) == {
        "retry_after_seconds": None,
        **expect,
    }


def read_prose(given: dict[str, Any], expect: dict[str, Any]) -> None:
    verdict = careful_module.careful(given["text"], tool=given.get("tool"), arguments=given.get("arguments"))

    if verdict is None:
        assert expect["code"] is None
        return
    actual = judged(verdict)
    assert actual == {**actual, **expect}


def redact(given: dict[str, Any], expect: dict[str, Any]) -> None:
    redactor = Redactor(given.get("secrets", ()), environ=given.get("environment", {}), roots=given.get("roots", ()))

    left = redactor.scrub(given["text"], given.get("bytes", 2048), given.get("said", ()))

    assert expect.get("text", left) == left
    assert [part for part in expect.get("gone", ()) if part in left] == []
    assert [part for part in expect.get("stays", ()) if part not in left] == []
    assert redactor.scrub(left, given.get("bytes", 2048), given.get("said", ())) == left


OPERATIONS: dict[str, Callable[[dict[str, Any], dict[str, Any]], None]] = {
    "new": new,
    "decode": decode,
    "compare-json": compare_json,
    "classify": classify,
    "tools-call-result": tools_call_result,
    "extract-error": extract_error,
    "write-result": write_result,
    "widen": widen,
    "retry-decide": retry_decide,
    "retry-call": retry_call,
    "wait": wait,
    "http-status": http_status,
    "grpc-status": grpc_status,
    "read-prose": read_prose,
    "redact": redact,
}


def run(case: dict[str, Any]) -> None:
    """
    Run one case.

    Raises:
        AssertionError: It fails.
    """
    given = resolve(case["input"])
    OPERATIONS[given["op"]](given, resolve(case["expect"]))
