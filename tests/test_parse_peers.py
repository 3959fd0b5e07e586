"""
The weaker envelopes of other servers and libraries, one row each: what they send, and what is read out of it.

Written by the packages themselves, or after their source: mcp-error-codes 1.0, errgate-gateway 0.1, mcpfleet-obs 0.4,
adam-mcp-py 0.3, mcp-worker-protocol 1.1, mcp-ts-core 0.10. After descriptions: the others.
"""

import json

import pytest

from toolfault import parse, suspect


def result(*texts, **members):
    return {"content": [{"type": "text", "text": text} for text in texts], "isError": True, **members}


ROWS = [
    # what it is, what is sent, code, category, retryable, seconds, hint, message
    pytest.param(
        result(
            "Tile 8 not found",
            structuredContent={
                "success": False,
                "error": "Tile 8 not found",
                "code": "TEMPLATE_NOT_FOUND",
                "category": "domain",
                "details": {"suggestion": "List the tiles."},
            },
        ),
        ("invalid_arguments", "validation", False, None, None, "Tile 8 not found"),
        id="mcp-error-codes",
    ),
    pytest.param(
        result(
            "2 errors",
            structuredContent={
                "success": False,
                "error": "2 errors: too large; no name",
                "code": "VALIDATION_ERROR",
                "error_count": 2,
                "errors": [{"message": "too large", "code": "PAYLOAD_TOO_LARGE", "details": {}}],
            },
        ),
        ("invalid_arguments", "validation", False, None, None, "2 errors: too large; no name"),
        id="mcp-error-codes: a bag",
    ),
    pytest.param(
        {
            "code": -32000,
            "message": "Slow down",
            "data": {"code": "RATE_LIMIT_EXCEEDED", "category": "infrastructure", "details": {"n": 1}},
        },
        ("quota_exceeded", "transient", True, None, None, "Slow down"),
        id="mcp-error-codes: JSON-RPC",
    ),
    pytest.param(
        result(
            'ERROR_VERDICT {"category": "RATE_LIMIT"}',
            structuredContent={
                "error_verdict": {
                    "category": "RATE_LIMIT",
                    "retryable": True,
                    "retry_after_s": 2.0,
                    "repair_target": None,
                    "replay_safe": True,
                    "action": "RETRY_DELAYED",
                    "source": "rules",
                }
            },
        ),
        ("quota_exceeded", "transient", True, 2, None, 'ERROR_VERDICT {"category": "RATE_LIMIT"}'),
        id="errgate",
    ),
    pytest.param(
        result(
            json.dumps(
                {
                    "error_category": "auth_required",
                    "is_retryable": False,
                    "attempted": "draw_map",
                    "description": "Access denied (401).",
                }
            )
        ),
        ("permission_denied", "auth", False, None, None, "Access denied (401)."),
        id="mcpfleet-obs",
    ),
    pytest.param(
        result(
            "Error calling tool 'draw_map': "
            + json.dumps(
                {
                    "error_category": "transient",
                    "is_retryable": True,
                    "attempted": "draw_map",
                    "description": "Upstream returned 503.",
                }
            )
        ),
        ("internal", "transient", True, None, None, "Upstream returned 503."),
        id="mcpfleet-obs: behind a host's words",
    ),
    pytest.param(
        result(
            "Error executing tool draw_map: "
            + json.dumps({"code": "ambiguous_id", "message": "Two {maps} fit", "hint": "Take one.", "retryable": False})
        ),
        ("unknown", "permanent", False, None, "Take one.", "Two {maps} fit"),
        id="finos-mcp-core",
    ),
    pytest.param(
        result(
            "Error: Too big\n\nRecovery: Ask for a smaller map.",
            structuredContent={
                "error": {
                    "code": -32007,
                    "message": "Too big",
                    "data": {"reason": "map_too_large", "recovery": {"hint": "Ask for a smaller map."}},
                }
            },
        ),
        ("invalid_arguments", "validation", False, None, "Ask for a smaller map.", "Too big"),
        id="mcp-ts-core",
    ),
    pytest.param(
        result(
            "Error: No",
            structuredContent={
                "error": {"code": -32003, "message": "No", "data": {"retryable": True, "retryAfter": "30"}}
            },
        ),
        ("quota_exceeded", "transient", True, 30, None, "No"),
        id="mcp-ts-core: a number that only it gives a meaning",
    ),
    pytest.param(
        result(
            "Error: Request timed out",
            structuredContent={"error": {"code": -32001, "message": "Request timed out"}},
        ),
        ("tool_timeout", "transient", True, None, None, "Request timed out"),
        id="an SDK's number, where the words tell",
    ),
    pytest.param(
        result(
            structuredContent={"ok": False, "error": "No such map", "error_code": "MAP_MISSING", "suggestion": "Look."}
        ),
        ("invalid_arguments", "validation", False, None, "Look.", "No such map"),
        id="iil-mcp-governance",
    ),
    pytest.param(
        result(
            structuredContent={
                "type": "timeout",
                "title": "Too late",
                "detail": "The tiles took 31 s",
                "isRetryable": True,
                "isExpected": True,
                "requestId": "r1",
            }
        ),
        ("tool_timeout", "transient", True, None, None, "The tiles took 31 s"),
        id="mcp-error-formatter",
    ),
    pytest.param(
        result(json.dumps({"error": "RATE_LIMITED", "retryable": True, "message": "Wait a bit"})),
        ("quota_exceeded", "transient", True, None, None, "Wait a bit"),
        id="invoice-intake: a word as the error",
    ),
    pytest.param(
        result(structuredContent={"verdict": "error", "summary": "Permission denied", "data": None, "warnings": []}),
        ("permission_denied", "auth", False, None, None, "Permission denied"),
        id="boardex-core",
    ),
    pytest.param(
        result(structuredContent={"code": "WORKER_OFFLINE", "message": "gone", "detail": {"original_code": "X"}}),
        ("internal", "transient", True, None, None, "gone"),
        id="mcp-worker-protocol",
    ),
    pytest.param(
        result(structuredContent={"errorCategory": "transient", "isRetryable": True, "message": "busy"}),
        ("internal", "transient", True, None, None, "busy"),
        id="the spelling that is taught",
    ),
    pytest.param(
        result(
            structuredContent={
                "kind": "rate_limit",
                "retryable": "yes",
                "message": "m",
                "code": "E42",
                "http_status": 429,
                "chain": ["a"],
            }
        ),
        ("quota_exceeded", "transient", True, None, None, "m"),
        id="rig-core",
    ),
    pytest.param(
        result("ERROR [NOT_FOUND]: the third map", structuredContent={"code": "NOT_FOUND", "message": "the third map"}),
        ("invalid_arguments", "validation", False, None, None, "the third map"),
        id="memstead",
    ),
    pytest.param(
        result("ERROR [RATE_LIMITED]: once more tomorrow"),
        ("quota_exceeded", "transient", True, None, None, "ERROR [RATE_LIMITED]: once more tomorrow"),
        id="memstead: the text alone",
    ),
    pytest.param(
        result("[PERMISSION_DENIED] the map is not yours"),
        ("permission_denied", "auth", False, None, None, "[PERMISSION_DENIED] the map is not yours"),
        id="a code in brackets",
    ),
    pytest.param(
        result(structuredContent={"error_code": "rate_limited", "message": "m", "retry_after_ms": 1500}),
        ("quota_exceeded", "transient", True, 2, None, "m"),
        id="vtcode",
    ),
    pytest.param(
        result("no", structuredContent={"status_code": 503}),
        ("internal", "transient", True, None, None, "no"),
        id="cpex: a status alone",
    ),
    pytest.param(
        result(
            json.dumps(
                {
                    "type": "https://maps.test/problems/credit",
                    "title": "Out of credit",
                    "status": 402,
                    "detail": "Your credit is 3 maps",
                }
            )
        ),
        ("quota_exceeded", "permanent", False, None, None, "Your credit is 3 maps"),
        id="RFC 9457",
    ),
    pytest.param(
        result(json.dumps({"error": {"code": 8, "message": "m", "status": "RESOURCE_EXHAUSTED", "details": []}})),
        ("quota_exceeded", "transient", True, None, None, "m"),
        id="google.rpc.Status",
    ),
    pytest.param(
        result(json.dumps({"data": None, "errors": [{"message": "m", "extensions": {"code": "UNAUTHENTICATED"}}]})),
        ("permission_denied", "auth", False, None, None, "m"),
        id="GraphQL",
    ),
    pytest.param(
        result(json.dumps({"code": "unavailable", "message": "m"})),
        ("internal", "transient", True, None, None, "m"),
        id="Connect",
    ),
]


@pytest.mark.parametrize(("answer", "expected"), ROWS)
def test_a_peers_envelope(answer, expected):
    fault = parse(answer)

    envelope = fault.envelope
    assert (
        envelope.code,
        envelope.category,
        envelope.retryable,
        envelope.retry_after_seconds,
        envelope.hint,
        envelope.message,
    ) == expected
    assert fault.received is not None


@pytest.mark.parametrize(
    ("body", "code", "message", "hint"),
    [
        pytest.param(
            {
                "envelope_version": 1,
                "status": "FAIL",
                "value": None,
                "diagnostics": ["Too many requests"],
                "hint": "Wait.",
            },
            "quota_exceeded",
            "Too many requests",
            "Wait.",
            id="adam-mcp-py",
        ),
        pytest.param(
            {"success": False, "error_code": "SQL_ERROR", "error": "no table orders_2"},
            "unknown",
            "no table orders_2",
            None,
            id="a fleet that never sets the flag",
        ),
    ],
)
def test_a_peer_that_sets_no_flag_is_suspected(body, code, message, hint):
    answer = {"content": [{"type": "text", "text": json.dumps(body)}], "structuredContent": body}

    assert parse(answer) is None
    fault = suspect(answer)
    assert (fault.code, fault.envelope.message, fault.envelope.hint) == (code, message, hint)
