"""
The known forms of a failed answer, and the hostile values that an attack puts into each of their members.
"""

import copy
import json
import math
from functools import partial

from toolfault import ToolFault, parse, suspect
from toolfault._names import META_KEY
from toolfault._wire import to_result
from toolfault.dialects import a2a, a2c_smcp, jsonrpc, tool_failure


FAULT = ToolFault(
    "quota_exceeded", "Daily quota used up", retry_after_seconds=30, hint="Buy more", causes=["first", "second"]
)
ENVELOPE = FAULT.envelope.to_wire()
FACTS = {
    "v": 1,
    "id": "f-1",
    "origin": "upstream",
    "outcome": "unknown",
    "upstream_status": 429,
    "violations": [{"field": "a.b", "rule": "required", "message": "needed"}],
    "record": '{"v":1,"system":"a2c","code":4003}',
}
INFO = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "TASK_NOT_FOUND",
    "domain": "a2a-protocol.org",
    "metadata": {"task": "t"},
}
FIELDS = {
    "@type": "type.googleapis.com/google.rpc.BadRequest",
    "fieldViolations": [{"field": "parts", "description": "one needed"}],
}
BLOCKS = [{"type": "text", "text": "Error: timed out"}, {"type": "resource", "resource": {"text": "more"}}]


def _response(error):
    return {"jsonrpc": "2.0", "id": 1, "error": error}


#: Each form by a name. All of them are failures, and stay one whatever stands in the members that are not in KEPT.
FORMS = {
    "envelope": {"isError": True, "content": BLOCKS, "structuredContent": ENVELOPE, "_meta": {META_KEY: FACTS}},
    "snake case": {"is_error": True, "content": BLOCKS, "structured_content": ENVELOPE, "meta": {META_KEY: FACTS}},
    "our meta": {"isError": True, "content": BLOCKS, "_meta": {META_KEY: {**FACTS, "error": ENVELOPE}}},
    "JSON in a text": {"isError": True, "content": [{"type": "text", "text": json.dumps({"error": ENVELOPE})}]},
    "tool failure": {"isError": True, "content": BLOCKS, "_meta": tool_failure.encode(FAULT)},
    "partial": {
        "isError": True,
        "content": [],
        "structuredContent": {
            "error": {"code": "RATE_LIMITED", "message": "slow", "details": ["a"], "retryAfter": 3, "status": 429},
            "errors": [{"message": "no", "extensions": {"code": "FORBIDDEN"}}],
            "retryable": True,
            "hint": "wait",
            "recovery": {"hint": "wait"},
            "category": "transient",
            "cause_chain": ["a"],
        },
    },
    "response": _response({"code": -32603, "message": "no", "data": {"code": "NOT_FOUND", META_KEY: FACTS}}),
    "our error": _response(jsonrpc.encode(FAULT)),
    "bare error": {"code": -32001, "message": "Session not found", "data": {"status": 404}},
    "result in a response": {"jsonrpc": "2.0", "id": 1, "result": {"isError": True, "content": BLOCKS}},
    "task": {"taskId": "t", "status": "failed", "statusMessage": "no", "error": {"code": -32603, "message": "no"}},
    "Google error": {"code": 14, "message": "m", "status": "UNAVAILABLE", "details": [INFO, FIELDS]},
    "A2A over JSON-RPC": _response({"code": -32001, "message": "m", "data": [INFO, FIELDS]}),
    "A2A over HTTP": {"error": {"code": 404, "status": "NOT_FOUND", "message": "m", "details": [INFO, FIELDS]}},
    "A2A answer": a2a.encode(FAULT, binding="http"),
    "A2A over gRPC": a2a.encode(FAULT, binding="grpc"),
    "A2A problem": a2a.encode(FAULT, binding="http", version="0.3")["body"],
    "protocol-droid": a2a.encode(FAULT, profile="protocol-droid"),
    "A2C payload": {
        "code": 4008,
        "message": "m",
        "details": {"reason": "gone", "computer_name": "c"},
        "server_version": "0.2.0",
        "mcp_server": "s",
        "capability": "tools",
    },
    "A2C result": a2c_smcp.encode(FAULT, carrier="tool_result"),
    "A2C login": {
        "isError": True,
        "content": BLOCKS,
        "meta": {"error_code": 4006, "mcp_server": "s", "auth_hint": {"action": "log_in", "message": "m"}},
    },
    "langchain": {
        "status": "error",
        "tool_call_id": "c",
        "content": BLOCKS,
        "artifact": {"structured_content": ENVELOPE},
    },
    "strands": {"status": "error", "toolUseId": "c", "content": [{"text": "no"}], "structuredContent": ENVELOPE},
    "pydantic-ai": {"part_kind": "retry-prompt", "tool_call_id": "c", "content": [{"msg": "no"}]},
    "crewAI": {"message": "m", "reason": "usage_limit", "code": "E", "retryable": True, "details": {"a": 1}},
    "mcp-use": {"error": "E", "details": "timed out", "stack": "s", "code": "UNKNOWN"},
}

#: The members that say that a form is a failure, or by which it is known. An answer in which one of them was replaced
#: may be anything.
KEPT = {
    *("isError", "is_error", "status", "error", "code", "message", "result", "jsonrpc", "body", "content", "type"),
    *("taskId", "tool_call_id", "toolUseId", "part_kind", "reason", "retryable", "details", "stack", "data", "title"),
}


def _nested(depth):
    value = leaf = []
    for _ in range(depth):
        leaf.append([])
        leaf = leaf[0]
    return value


#: What JSON, or a reader of it in Python, can hold at its worst.
HOSTILE = (
    *([], {}, [[]], [{}], {"a": []}, {"code": {}, "message": []}, {"@type": []}, [None], [{"@type": {}}]),
    *(None, True, False, 0, -1, 404, 2**63, 2**64, 10**400, 10**5000, 0.5, -0.0, 1e308, math.nan, math.inf, -math.inf),
    *("", " ", "\ud800", "\udfff\ud800", "\x00", "\x1b[31m", "\u202e", "true", "404", "9" * 5000, "x" * 20_000),
    *("{", "[" * 2000, '{"code": NaN}', '{"isError": true}', "NaN", "-Infinity"),
    _nested(60),
)


def paths_of(value, path=()):
    """
    Every place in a form whose value can be replaced.
    """
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in members:
        yield (*path, name)
        yield from paths_of(inner, (*path, name))


def replaced(form, path, value):
    """
    A form with another value in one place.
    """
    form = copy.deepcopy(form)
    holder = form
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    return form


def stays_failure(path):
    """
    Whether a form must stay a failure with this place replaced.
    """
    # Inside of what a flag or an error covers, nothing counts.
    return path[-1] not in KEPT or len(path) > 2


def _everruns(answer):
    from toolfault import McpExecuteError  # noqa: PLC0415 -- one reader of many

    try:
        return McpExecuteError.from_wire(answer)
    except ValueError:
        return None


def _tool_failure(answer):
    meta = answer.get("_meta", answer) if isinstance(answer, dict) else answer
    return tool_failure.decode(meta, ["a text"], clock=lambda: 0.0)


#: Each reader by a name.
READERS = {
    "parse": parse,
    "suspect": suspect,
    **{f"a2a.decode {binding}": partial(a2a.decode, binding=binding) for binding in ("jsonrpc", "http", "grpc")},
    "a2a.decode protocol-droid": partial(a2a.decode, profile="protocol-droid"),
    "a2c_smcp.decode": a2c_smcp.decode,
    "a2c_smcp.read_refusal": a2c_smcp.read_refusal,
    "tool_failure.decode": _tool_failure,
    "everruns": _everruns,
}

#: Each writer of what was read, since a fault that was read is often passed on.
WRITERS = {
    "result": to_result,
    "jsonrpc": jsonrpc.encode,
    **{f"a2a {binding}": partial(a2a.encode, binding=binding) for binding in ("jsonrpc", "http", "grpc")},
    "a2c_smcp": a2c_smcp.encode,
    "tool_failure": partial(tool_failure.encode, clock=lambda: 0.0),
}


def defect_of(reader, answer, *, failure=False, few=False):
    """
    What is wrong with how a reader takes an answer, and with what is written of it; "" if nothing is.

    Args:
        reader: Its name.
        answer: What it is given.
        failure: Whether the answer must be read as a failure.
        few: Whether only results are written, which saves time.
    """
    try:
        fault = READERS[reader](answer)
    except Exception as exc:
        return f"{reader} raises {type(exc).__name__}: {str(exc)[:80]}"
    if fault is None:
        return "parse reads a failure as a success" if failure and reader == "parse" else ""
    if not isinstance(fault, ToolFault):
        return ""
    for writer in ("result",) if few else WRITERS:
        write = WRITERS[writer]
        try:
            json.dumps(write(fault), allow_nan=False, ensure_ascii=False).encode()
        except Exception as exc:
            return f"{writer} of what {reader} read raises {type(exc).__name__}: {str(exc)[:80]}"
    return ""
