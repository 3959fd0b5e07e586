"""
The verdict of each check on answers: a good one and a bad one beside each other.

A row is an answer, what was asked for, and the outcome of one check; None: the check can't tell.
"""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolfault.check._faults import FUNCTIONS, describe_flaw
from toolfault.check._model import CHECKS, Answer, Exchange, Expected, Kind, Outcome, Provocation, ToolSeen
from toolfault.check._provocations import PLANTED, TWO_IDS, UNKNOWN
from toolfault.check._verdicts import judge, judge_all
from toolfault.check._view import View


PASS, FAIL, WARN, NOT_PROVOKED = Outcome.PASS, Outcome.FAIL, Outcome.WARN, Outcome.NOT_PROVOKED

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 0}, "filePath": {"type": "string"}},
    "required": ["n"],
    "additionalProperties": False,
}
OUTPUT = {"type": "object", "properties": {"v": {"type": "integer"}}, "required": ["v"]}
TOOL = ToolSeen("add", {"name": "add", "inputSchema": SCHEMA, "outputSchema": OUTPUT}, may_run=True)

INVALID = Expected(frozenset({"invalid_arguments"}), "n", is_transient=False)
LIMIT = Expected(frozenset({"quota_exceeded"}), is_transient=True, wait=37)
OUTAGE = Expected(frozenset({"internal"}), is_transient=True)

ENVELOPE = {
    "code": "invalid_arguments",
    "message": "n must be an integer of at least 0.",
    "category": "validation",
    "retryable": False,
}
LIMITED = {
    "code": "quota_exceeded",
    "message": "The API's rate limit is reached. Wait 37 seconds, then call again.",
    "category": "transient",
    "retryable": True,
    "retry_after_seconds": 37,
}


def text(words, **members):
    return {"content": [{"type": "text", "text": words}], **members}


def failed(words, **members):
    return {"result": text(words, isError=True, **members)}


def typed(envelope, **members):
    return failed(envelope["message"], structuredContent=envelope, **members)


def error(code, message="Invalid params: n is required", **members):
    return {"error": {"code": code, "message": message, **members}}


def make_exchange(answer=None, kind=Kind.BAD_ARGUMENTS, **changed):
    """
    An exchange with one answer, or with the answers, raw or as JSON values, of a list.
    """
    provocation = Provocation(
        changed.pop("id", "missing-argument:n"),
        "a group",
        kind,
        changed.pop("method", "tools/call"),
        params=changed.pop("params", {"name": "add", "arguments": {}}),
        tool=changed.pop("tool", None if kind in (Kind.UNKNOWN_TOOL, Kind.PROTOCOL) else "add"),
        raw=changed.pop("raw", None),
        upstream=changed.pop("upstream", "503" if kind is Kind.UPSTREAM else ""),
        expected=changed.pop("expected", INVALID if kind is Kind.BAD_ARGUMENTS else Expected()),
    )
    if kind is Kind.UPSTREAM:
        changed.setdefault("upstream_requests", 1)
    changed.setdefault("protocol", "2025-11-25")
    changed.setdefault("is_cancelled", kind is Kind.CANCELLED)
    status, headers = changed.pop("status", None), changed.pop("headers", {})
    given_answers = answer if isinstance(answer, list) else [] if answer is None else [answer]
    answers = tuple(make_answer(one, status, headers) for one in given_answers)
    return Exchange(provocation, 7, answers, **changed)


def make_answer(answer, status, headers):
    if isinstance(answer, bytes):
        try:
            return Answer(answer, json.loads(answer), status, headers)
        except ValueError:
            return Answer(answer, None, status, headers)
    message = {"jsonrpc": "2.0", "id": 7, **answer}
    return Answer(json.dumps(message).encode(), message, status, headers)


def outcome_of(check, exchange, *, is_http=False, tool=TOOL):
    seen = tool if exchange.provocation.tool else None
    found = {result.check: result for result in judge(exchange, seen, is_http=is_http)}
    return found[check].outcome if check in found else None


def check_row(check, outcome, answer=None, *, is_http=False, tool=TOOL, **changed):
    assert outcome_of(check, make_exchange(answer, **changed), is_http=is_http, tool=tool) == outcome


def unknown(answer, **changed):
    return {"answer": answer, "kind": Kind.UNKNOWN_TOOL, **changed}


def upstream(answer, expected=OUTAGE, **changed):
    return {"answer": answer, "kind": Kind.UPSTREAM, "expected": expected, **changed}


GOOD = failed("n must be an integer of at least 0")
SECRET = Expected(frozenset({"invalid_arguments"}), "n", PLANTED, is_transient=False)


# ---- level 1


@pytest.mark.parametrize(
    ("check", "expected", "row"),
    [
        ("answers", PASS, {"answer": GOOD}),
        ("answers", PASS, {"answer": error(-32602)}),
        ("answers", FAIL, {"answer": None, "elapsed": 10.0}),
        ("answers", FAIL, {"answer": None, "end": "ended with exit code 1"}),
        ("answers", FAIL, {"answer": {**GOOD, "id": 8}}),
        ("answers", FAIL, {"answer": {**GOOD, "id": "7"}}),
        ("answers", FAIL, {"answer": {**error(-32700), "id": None}}),
        ("answers", PASS, {"answer": {**error(-32600), "id": None}, "kind": Kind.PROTOCOL}),
        ("answers", PASS, {"answer": b"<h1>Bad Gateway</h1>", "status": 502, "is_http": True}),
        ("answers", FAIL, {"answer": b"", "status": 200, "is_http": True}),
        ("answers", None, {"answer": None, "raw": b"{"}),
        ("answers", None, {"answer": None, "kind": Kind.CANCELLED}),
        ("survives", PASS, {"answer": GOOD}),
        ("survives", PASS, {"answer": None}),
        ("survives", FAIL, {"answer": GOOD, "is_alive": False}),
        ("survives", FAIL, {"answer": None, "is_alive": False, "end": "ended with exit code 1"}),
        ("survives", FAIL, {"answer": None, "raw": b"{", "is_alive": False}),
        ("one-answer", PASS, {"answer": GOOD}),
        ("one-answer", FAIL, {"answer": [GOOD, GOOD]}),
        ("one-answer", FAIL, {"answer": [GOOD, {**GOOD, "id": 8}]}),
        ("one-answer", FAIL, {"answer": {**GOOD, "id": "7"}}),
        ("one-answer", FAIL, {"answer": {**GOOD, "id": 7.0}}),
        ("one-answer", FAIL, {"answer": {**error(-32602), "id": None}}),
        ("one-answer", PASS, {"answer": {**error(-32600), "id": None}, "kind": Kind.PROTOCOL}),
        ("one-answer", FAIL, {"answer": {**GOOD, "id": None}, "kind": Kind.PROTOCOL}),
        ("one-answer", FAIL, {"answer": {**GOOD, **error(-32602)}}),
        ("one-answer", None, {"answer": None}),
        ("one-answer", None, {"answer": None, "raw": b"{"}),
        ("one-answer", PASS, {"answer": None, "kind": Kind.CANCELLED}),
        ("one-answer", None, {"answer": None, "kind": Kind.CANCELLED, "is_cancelled": False}),
        ("one-answer", None, {"answer": failed("Cancelled"), "kind": Kind.CANCELLED, "is_cancelled": False}),
        ("one-answer", FAIL, {"answer": error(0, "Request cancelled"), "kind": Kind.CANCELLED}),
        ("one-answer", FAIL, {"answer": failed("The call was canceled."), "kind": Kind.CANCELLED}),
        ("one-answer", None, {"answer": GOOD, "kind": Kind.CANCELLED}),
        (
            "one-answer",
            FAIL,
            {"answer": GOOD, "kind": Kind.CANCELLED, "upstream": "silence", "upstream_requests": 1},
        ),
        (
            "one-answer",
            None,
            {"answer": GOOD, "kind": Kind.CANCELLED, "upstream": "silence", "upstream_requests": 0},
        ),
        (
            "one-answer",
            PASS,
            {"id": "two-at-once", "raw": b"", "answer": [{**error(-32602), "id": name} for name in TWO_IDS]},
        ),
        ("one-answer", None, {"id": "two-at-once", "raw": b"", "answer": {**error(-32602), "id": TWO_IDS[0]}}),
        ("one-answer", FAIL, {"id": "two-at-once", "raw": b"", "answer": [{**error(-32602), "id": TWO_IDS[0]}] * 2}),
        ("one-answer", FAIL, {"id": "two-at-once", "raw": b"", "answer": {**error(-32602), "id": None}}),
        ("stdout-clean", PASS, {"answer": GOOD}),
        ("stdout-clean", PASS, {"answer": None}),
        ("stdout-clean", FAIL, {"answer": GOOD, "noise": (b"listening on stdio",)}),
        ("stdout-clean", FAIL, {"answer": b'{"jsonrpc":"2.0","id":7,"result":{"x":NaN}}'}),
        ("stdout-clean", FAIL, {"answer": b'{"jsonrpc":"2.0","id":7,"result":{"x":-Infinity}}'}),
        ("stdout-clean", FAIL, {"answer": b'{"jsonrpc":"2.0","id":7,"result":{"x":"\\ud800"}}'}),
        ("stdout-clean", PASS, {"answer": b'{"jsonrpc":"2.0","id":7,"result":{"x":"\\ud83d\\ude00"}}'}),
        ("stdout-clean", None, {"answer": GOOD, "noise": (b"x",), "is_http": True}),
        ("http-status", None, {"answer": GOOD}),
        ("http-status", PASS, {"answer": GOOD, "status": 200, "is_http": True}),
        ("http-status", FAIL, {"answer": b"Bad Gateway", "status": 502, "is_http": True}),
        ("http-status", PASS, {"answer": error(-32600), "status": 400, "is_http": True}),
        ("http-status", PASS, {"id": "dead-session", "answer": error(-32600), "status": 404, "is_http": True}),
        ("http-status", FAIL, {"id": "dead-session", "answer": error(-32600), "status": 400, "is_http": True}),
        ("http-status", FAIL, {"id": "dead-session", "answer": GOOD, "status": 200, "is_http": True}),
        ("http-status", FAIL, {"id": "dead-session", "answer": b"gone", "status": 404, "is_http": True}),
        ("http-status", FAIL, {"id": "not-json", "raw": b"{", "answer": b"", "status": 500, "is_http": True}),
        (
            "http-status",
            FAIL,
            {
                "id": "unknown-method",
                "answer": error(-32601),
                "status": 200,
                "is_http": True,
                "protocol": "2026-07-28",
            },
        ),
        ("http-status", PASS, {"id": "unknown-method", "answer": error(-32601), "status": 200, "is_http": True}),
    ],
)
def test_level_1_answered(check, expected, row):
    check_row(check, expected, **row)


# ---- level 2


@pytest.mark.parametrize(
    ("check", "expected", "row"),
    [
        ("flagged", PASS, {"answer": GOOD}),
        ("flagged", PASS, {"answer": error(-32602)}),
        ("flagged", FAIL, {"answer": {"result": text("Error: failed to read report")}}),
        ("flagged", FAIL, {"answer": {"result": text("Error: no such n", isError=False)}}),
        ("flagged", FAIL, {"answer": {"result": text("n is wrong", isError="true")}}),
        ("flagged", None, {"answer": {"result": text("3")}}),
        ("flagged", FAIL, unknown({"result": text("ok")})),
        ("flagged", FAIL, unknown({"result": {}})),
        ("flagged", PASS, unknown(error(-32602, "Unknown tool: x"))),
        ("flagged", FAIL, {"answer": {"result": {}}, "kind": Kind.PROTOCOL, "method": "no/such"}),
        ("flagged", None, {"answer": {"result": {"tools": []}}, "kind": Kind.PROTOCOL, "method": "tools/list"}),
        ("flagged", FAIL, upstream({"result": text("[]")})),
        ("flagged", None, upstream({"result": text("[]")}, upstream_requests=0)),
        ("flagged", FAIL, {"answer": {"result": text("[]")}, "kind": Kind.AUTHOR}),
        (
            "flagged",
            None,
            {"answer": {"result": text("[]")}, "kind": Kind.AUTHOR, "upstream": "401", "upstream_requests": 0},
        ),
        ("flagged", None, {"answer": {"result": text("[]")}, "kind": Kind.CANCELLED}),
        ("flagged", FAIL, {"answer": {"result": text("[]")}, "kind": Kind.UPSTREAM, "upstream": ""}),
        ("flagged", None, {"answer": None}),
        ("refused", PASS, {"answer": GOOD}),
        ("refused", PASS, {"answer": error(-32602)}),
        ("refused", PASS, {"answer": {"result": text("Error: failed to read report")}}),
        ("refused", PASS, {"answer": {"result": text("n is wrong", isError="true")}}),
        ("refused", FAIL, {"answer": {"result": text("1")}}),
        ("refused", FAIL, {"answer": {"result": {"content": []}}}),
        ("refused", None, {"answer": None}),
        ("refused", None, unknown({"result": text("1")})),
        ("refused", None, upstream({"result": text("1")})),
        ("right-channel", PASS, {"answer": GOOD}),
        ("right-channel", FAIL, {"answer": error(-32602)}),
        ("right-channel", WARN, {"answer": error(-32602), "protocol": "2025-06-18"}),
        ("right-channel", FAIL, {"answer": error(-32602), "protocol": "2026-07-28"}),
        ("right-channel", None, {"answer": error(-32020, "Header mismatch"), "protocol": "2026-07-28"}),
        ("right-channel", None, unknown(error(-32602, "Unknown tool: x"))),
        ("right-channel", PASS, upstream(failed("The API is down."))),
        ("right-channel", FAIL, upstream(error(-32603, "The API is down."))),
        ("right-channel", None, upstream(error(-32603, "The API is down."), upstream_requests=0)),
        ("right-channel", None, {"answer": {"result": text("1")}}),
        ("code-band", None, {"answer": GOOD}),
        ("code-band", PASS, {"answer": error(-32602)}),
        ("code-band", PASS, {"answer": error(-32700)}),
        ("code-band", PASS, {"answer": error(-32042)}),
        ("code-band", PASS, {"answer": error(-32020)}),
        ("code-band", FAIL, {"answer": error(0, "'n'")}),
        ("code-band", WARN, {"answer": error(-32000)}),
        ("code-band", WARN, {"answer": error(-32019)}),
        ("code-band", FAIL, {"answer": error(-32050)}),
        ("code-band", FAIL, {"answer": error(-32768)}),
        ("code-band", PASS, {"answer": error(-32769)}),
        ("code-band", PASS, {"answer": error(404)}),
        ("code-band", FAIL, {"answer": error("E_ARGS")}),
        ("code-band", FAIL, {"answer": error(True)}),
        ("code-band", FAIL, {"answer": {"error": {"message": "no code"}}}),
        ("code-band", FAIL, {"answer": {"error": "failed"}}),
    ],
)
def test_level_2_flagged(check, expected, row):
    check_row(check, expected, **row)


# ---- level 3


def said(outcome, words, **changed):
    return ("says-something", outcome, {"answer": failed(words), **changed})


def clean(check, outcome, words, **changed):
    return (check, outcome, {"answer": failed(words), **changed})


@pytest.mark.parametrize(
    ("check", "expected", "row"),
    [
        said(PASS, "n must be an integer of at least 0"),
        said(PASS, "Missing required argument: n"),
        said(PASS, "The file path must be absolute"),
        said(PASS, "file_path is required"),
        said(PASS, "Error executing tool add: 1 validation error\nn\n  Field required"),
        said(PASS, "n required"),
        said(PASS, "N is required", expected=Expected(argument="N")),
        said(FAIL, "N is required", expected=Expected(argument="x")),
        said(FAIL, "The number must not be negative"),
        said(FAIL, "Invalid arguments"),
        said(FAIL, "An integer must be given"),
        said(FAIL, ""),
        said(FAIL, "   \n"),
        said(FAIL, "Error"),
        said(FAIL, "KeyError"),
        said(FAIL, "KeyError: 'n'"),
        said(FAIL, "'n'"),
        said(FAIL, "builtins.KeyError: 'n'"),
        said(FAIL, "Error executing tool add"),
        said(FAIL, "[object Object]"),
        said(FAIL, "An unexpected error occurred."),
        said(PASS, "Параметр n обязателен"),
        said(PASS, "缺少参数n"),
        said(FAIL, "参数错误", expected=Expected(argument="limit")),
        ("says-something", PASS, {"answer": error(-32602, "n is required")}),
        ("says-something", FAIL, {"answer": error(-32602, "Invalid params")}),
        ("says-something", FAIL, {"answer": {"error": {"code": -32602}}}),
        ("says-something", FAIL, {"answer": {"result": {"isError": True, "content": []}}}),
        ("says-something", FAIL, {"answer": {"result": {"isError": True, "structuredContent": ENVELOPE}}}),
        ("says-something", PASS, unknown(error(-32602, "Unknown tool: x"))),
        ("says-something", FAIL, unknown(failed(""))),
        ("says-something", PASS, upstream(failed("The API is unavailable."))),
        ("says-something", FAIL, upstream(failed("Internal server error"))),
        ("says-something", None, {"answer": error(-32601, ""), "kind": Kind.PROTOCOL}),
        ("says-something", None, {"answer": {"result": text("1")}}),
        clean("no-echo", None, f"bad n {PLANTED}"),
        clean("no-echo", PASS, "n must be an integer", expected=SECRET),
        clean("no-echo", PASS, "n must not be 'ghp_…'", expected=SECRET),
        clean("no-echo", FAIL, f"n must not be {PLANTED!r}", expected=SECRET),
        clean("no-echo", FAIL, f"n must not be {PLANTED[:20]}...", expected=SECRET),
        ("no-echo", FAIL, {"answer": error(-32602, "bad n", data={"got": [PLANTED]}), "expected": SECRET}),
        ("no-echo", FAIL, {"answer": {"result": text(f"Done with {PLANTED}")}, "expected": SECRET}),
        ("no-echo", FAIL, {"answer": [GOOD, failed(PLANTED)], "expected": SECRET}),
        ("no-echo", FAIL, {"answer": f"<p>{PLANTED}</p>".encode(), "expected": SECRET, "is_http": True}),
        ("no-echo", None, {"answer": None, "expected": SECRET}),
        clean("no-secret", PASS, "n must be an integer"),
        clean("no-secret", PASS, "The token has expired"),
        clean("no-secret", FAIL, "n: token=ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
        clean("no-secret", FAIL, "n: could not connect to postgres://admin:hunter2@db/prod"),
        clean("no-secret", PASS, f"n must not be {PLANTED!r}", expected=SECRET),
        clean("no-secret", PASS, f"n must not be {PLANTED[:24]}...", expected=SECRET),
        ("no-secret", FAIL, {"answer": error(-32603, "n", data={"env": {"DB_PASSWORD": "hunter2hunter2"}})}),
        ("no-secret", FAIL, {"answer": failed("n", _meta={"headers": {"authorization": "Bearer abcdef0123456789"}})}),
        ("no-secret", FAIL, {"answer": {"result": text("Error: login postgres://admin:hunter2@db/prod failed")}}),
        ("no-secret", None, {"answer": {"result": text("postgres://admin:hunter2@db/prod")}}),
        clean("no-trace", PASS, "n must be an integer"),
        clean("no-trace", PASS, "n: see line 3 of the file"),
        clean("no-trace", PASS, "n" + "\n" * 200_000),
        clean("no-trace", PASS, "n" + "\n        at (" * 50_000),
        clean("no-path", PASS, "n" + "/srv" * 100_000),
        clean("no-markup", FAIL, "n" + "<html " * 100_000),
        clean("says-something", PASS, "n is " + "_" * 300_000),
        clean("no-trace", FAIL, 'Traceback (most recent call last):\n  File "x.py", line 3\nValueError: n'),
        clean("no-trace", FAIL, '  File "/srv/x.py", line 3, in add'),
        clean("no-trace", FAIL, "TypeError: n\n    at add (/srv/index.js:3:7)\n    at node:internal/x:1:2"),
        clean("no-trace", FAIL, "TypeError: n\n    at async file:///srv/index.js:3:7"),
        clean("no-trace", FAIL, '{"stack": "TypeError: n\\\\n    at add (index.js:3:7)"}'),
        clean("no-trace", FAIL, "java.lang.Exception: n\n\tat com.acme.Add.run(Add.java:12)"),
        clean("no-trace", FAIL, "System.Exception: n\n   at Acme.Add.Run() in C:\\src\\Add.cs:line 12"),
        clean("no-trace", FAIL, "n (ArgumentError)\n\tfrom lib/add.rb:3:in `run'"),
        clean("no-trace", FAIL, "n\n#0 /var/www/add.php(12): Add->run()"),
        clean("no-trace", FAIL, "panic: n\n\ngoroutine 1 [running]:\nmain.main()"),
        ("no-trace", FAIL, {"answer": error(-32603, "n", data={"stack": "E: n\n    at f (x.js:1:2)"})}),
        clean("no-path", PASS, "n must be an integer"),
        clean("no-path", PASS, "n: GET https://api.acme.com/home/user failed"),
        clean("no-path", PASS, "n: GET /data/2.5/weather failed"),
        clean("no-path", PASS, "n: POST /app/login failed"),
        clean("no-path", FAIL, "n: cannot open /home/ann/acme/config.yaml"),
        clean("no-path", FAIL, "n: cannot open /Users/ann/acme"),
        clean("no-path", FAIL, "n: failed in /app/server/index.js"),
        clean("no-path", FAIL, "n: cannot open C:\\Users\\ann\\acme\\config.yaml"),
        clean("no-path", FAIL, "n: file:///srv/acme/index.js"),
        clean(
            "no-path",
            PASS,
            "n: /home/ann/report does not exist",
            params={"name": "add", "arguments": {"filePath": "/home/ann/report"}},
        ),
        ("no-path", FAIL, {"answer": error(-32603, "n", data={"file": "/srv/acme/tools.py"})}),
        clean("no-markup", PASS, "n must be <int>, not <str>"),
        clean("no-markup", PASS, "n: the element <div> is unknown\n\tsecond line"),
        clean("no-markup", FAIL, "<!DOCTYPE html><html><body>Bad n</body></html>"),
        clean("no-markup", PASS, "n: Unexpected token '<', \"<html><hea\"... is not valid JSON"),
        clean("no-markup", FAIL, '<html lang="en"><head><meta charset="utf-8">'),
        clean("no-markup", FAIL, "<h1>502 Bad Gateway</h1>"),
        clean("no-markup", FAIL, "\x1b[31mn is wrong\x1b[0m"),
        clean("no-markup", FAIL, "n\u202eis wrong"),
        clean("no-markup", FAIL, "n is wrong\U000e0041"),
        clean("no-markup", PASS, "n" * 8192),
        clean("no-markup", FAIL, "n" * 8193),
        clean("no-markup", FAIL, "é" * 4097),
        ("no-markup", FAIL, upstream({"result": text("<html><body>Sign in</body></html>")})),
        ("no-markup", None, {"answer": {"result": text("<html><body>Hello</body></html>")}}),
        ("honest-cause", None, {"answer": GOOD}),
        ("honest-cause", PASS, upstream(failed("The API is unavailable (HTTP 503)."))),
        ("honest-cause", PASS, upstream(typed(LIMITED), LIMIT)),
        ("honest-cause", FAIL, upstream(failed("Not found"))),
        ("honest-cause", FAIL, upstream(failed("The API is unavailable (HTTP 503)."), LIMIT)),
        ("honest-cause", FAIL, upstream({"result": text("[]")})),
        ("honest-cause", PASS, upstream({"result": text("Error: HTTP 503 Service Unavailable")})),
        ("honest-cause", FAIL, upstream({"result": text("Error: HTTP 401 Unauthorized")})),
        ("honest-cause", None, {"kind": Kind.CANCELLED, "answer": GOOD, "upstream": "silence", "upstream_requests": 1}),
        ("honest-cause", None, upstream({"result": text("[]")}, upstream_requests=0)),
        ("honest-cause", None, upstream(None)),
        ("honest-cause", PASS, {"answer": GOOD, "kind": Kind.AUTHOR, "expected": INVALID}),
        ("honest-cause", FAIL, {"answer": failed("HTTP 503"), "kind": Kind.AUTHOR, "expected": INVALID}),
        ("honest-cause", None, {"answer": GOOD, "kind": Kind.AUTHOR, "expected": Expected()}),
    ],
)
def test_level_3_useful_and_clean(check, expected, row):
    check_row(check, expected, **row)


# ---- level 4


META = {"io.github.toolfault/error": {"v": 1, "error": ENVELOPE}}
DATA = {"io.github.toolfault/error": {"v": 1, "error": ENVELOPE}}
#: Whether a value fits is past the validator's budget.
UNDECIDED = ToolSeen(
    "add",
    {"name": "add", "outputSchema": {"allOf": [{"anyOf": [*({"const": n} for n in range(3000)), {}]}] * 2000}},
    may_run=True,
)
FREE = ToolSeen("add", {"name": "add", "inputSchema": SCHEMA}, may_run=True)


def enveloped(expected, **changed):
    envelope = {name: value for name, value in {**ENVELOPE, **changed}.items() if value != "absent"}
    words = envelope.get("message", "n must be an integer of at least 0.")
    return ("envelope-valid", expected, {"answer": failed(str(words), structuredContent=envelope)})


@pytest.mark.parametrize(
    ("check", "expected", "row"),
    [
        ("structured", PASS, {"answer": typed(ENVELOPE)}),
        ("structured", PASS, {"answer": failed(ENVELOPE["message"], _meta=META)}),
        ("structured", PASS, {"answer": error(-32602, ENVELOPE["message"], data=DATA)}),
        ("structured", FAIL, {"answer": GOOD}),
        ("structured", FAIL, {"answer": failed(json.dumps(ENVELOPE))}),
        ("structured", FAIL, {"answer": failed("n is wrong", structuredContent={"error": "n is wrong"})}),
        ("structured", FAIL, {"answer": error(-32602)}),
        ("structured", None, unknown(error(-32602, "Unknown tool: x"))),
        ("structured", FAIL, unknown(failed("Unknown tool: x"))),
        ("structured", None, {"answer": error(-32020, "Header mismatch")}),
        ("structured", None, {"answer": error(-32601), "kind": Kind.PROTOCOL}),
        ("structured", None, {"answer": {"result": text("1")}}),
        enveloped(PASS),
        enveloped(PASS, hint="Give a number.", cause_chain=["x"]),
        enveloped(PASS, hint=None, retry_after_seconds=None),
        enveloped(PASS, code="quota_exceeded", category="permanent", retry_after_seconds=60),
        enveloped(PASS, retryable=True, retry_after_seconds=60),
        enveloped(FAIL, retry_after_seconds=60),
        enveloped(FAIL, retryable=True, retry_after_seconds=1.5),
        enveloped(FAIL, retryable=True, retry_after_seconds="60"),
        enveloped(FAIL, retryable=True, retry_after_seconds=2**32),
        enveloped(FAIL, code="bad_arguments"),
        enveloped(FAIL, category="client"),
        enveloped(FAIL, category="absent"),
        enveloped(FAIL, retryable="false"),
        enveloped(FAIL, message=None),
        enveloped(FAIL, cause_chain=None),
        enveloped(FAIL, detail="x"),
        ("envelope-valid", FAIL, {"answer": failed("Something else.", structuredContent=ENVELOPE)}),
        ("envelope-valid", PASS, {"answer": failed(ENVELOPE["message"], _meta=META)}),
        ("envelope-valid", FAIL, {"answer": failed("Something else.", _meta=META)}),
        ("envelope-valid", PASS, {"answer": failed(f"{ENVELOPE['message']}\n\nHint: x", structuredContent=ENVELOPE)}),
        ("envelope-valid", None, {"answer": GOOD}),
        ("envelope-valid", None, {"answer": failed("n", structuredContent={"code": "ENOENT", "message": "n"})}),
        ("envelope-valid", None, {"answer": {"result": text("1", structuredContent=ENVELOPE)}}),
        ("strict-client", PASS, {"answer": GOOD}),
        ("strict-client", PASS, {"answer": failed("n is wrong", structuredContent={"v": 1})}),
        ("strict-client", FAIL, {"answer": typed(ENVELOPE)}),
        ("strict-client", FAIL, {"answer": failed("n", structuredContent={"code": "x", "message": "n"})}),
        ("strict-client", PASS, {"answer": typed(ENVELOPE), "tool": FREE}),
        ("strict-client", None, {"answer": error(-32602)}),
        ("strict-client", None, {"answer": typed(ENVELOPE), "tool": UNDECIDED}),
        ("strict-client", None, {"answer": {"result": text("1")}}),
        ("retry-advice", PASS, upstream(typed(LIMITED), LIMIT)),
        ("retry-advice", PASS, upstream(typed({**LIMITED, "retry_after_seconds": 60}), LIMIT)),
        ("retry-advice", FAIL, upstream(typed({**LIMITED, "retry_after_seconds": 30}), LIMIT)),
        ("retry-advice", FAIL, upstream(typed({**LIMITED, "retry_after_seconds": None}), LIMIT)),
        ("retry-advice", FAIL, upstream(typed({**LIMITED, "retryable": False}), LIMIT)),
        ("retry-advice", FAIL, upstream(failed("Too many requests; retry after 37 seconds"), LIMIT)),
        ("retry-advice", None, upstream(typed(LIMITED), LIMIT, upstream_requests=0)),
        ("retry-advice", None, {"answer": typed(ENVELOPE)}),
        ("retry-advice", FAIL, {"answer": typed({**ENVELOPE, "retryable": True})}),
        ("retry-advice", None, {"answer": GOOD}),
        ("retry-advice", None, upstream({"result": text("[]")}, LIMIT)),
    ],
)
def test_level_4_machine_readable(check, expected, row):
    row = dict(row)
    tool = row.pop("tool", TOOL) if isinstance(row.get("tool"), ToolSeen) else TOOL
    check_row(check, expected, tool=tool, **row)


# ---- what a finding says


@pytest.mark.parametrize(
    ("check", "row", "says"),
    [
        ("answers", {"answer": None, "elapsed": 10.0}, "There was no answer within 10 seconds."),
        ("answers", {"answer": None, "end": "ended with exit code 1"}, "the server ended with exit code 1."),
        ("one-answer", {"answer": {**GOOD, "id": "7"}}, 'An answer has the id "7", which was not asked with.'),
        ("one-answer", {"answer": [GOOD, GOOD, GOOD]}, "There were 3 answers to one request."),
        ("flagged", {"answer": {"result": text("n", isError="true")}}, 'isError is "true"; only the value true'),
        ("flagged", {"answer": {"result": text("[]")}, "kind": Kind.AUTHOR}, "The call was expected to fail"),
        ("code-band", {"answer": error("E_ARGS")}, 'The code of the JSON-RPC error is "E_ARGS", not an integer.'),
        ("says-something", {"answer": failed("KeyError: 'n'")}, "The first text is a single word."),
        ("no-markup", {"answer": failed("n" * 9000)}, "The text has 9000 bytes; 8192 should be enough."),
        ("honest-cause", upstream(failed("Not found")), "The failure reads as invalid_arguments; it was internal."),
        ("envelope-valid", enveloped(FAIL, detail="x")[2], 'The envelope is not valid: it has a member "detail".'),
        (
            "retry-advice",
            upstream(typed({**LIMITED, "retry_after_seconds": 30}), LIMIT),
            "The upstream asked for 37 seconds; the failure asks for 30.",
        ),
        (
            "retry-advice",
            upstream(typed({**LIMITED, "retry_after_seconds": None}), LIMIT),
            "The upstream asked for 37 seconds; the failure names no wait.",
        ),
    ],
)
def test_a_finding_states_the_fact(check, row, says):
    found = {one.check: one for one in judge(make_exchange(**row), TOOL, is_http=False)}

    assert any(says in finding.fault for finding in found[check].findings)


def test_a_finding_shows_what_was_sent_and_what_came():
    exchange = make_exchange(failed("x" * 9000), params={"name": "add", "arguments": {"n": "y" * 9000}})
    (finding,) = next(one for one in judge(exchange, TOOL, is_http=False) if one.check == "no-markup").findings

    assert finding.provocation == "missing-argument:n"
    assert finding.sent.startswith('{"method":"tools/call","params":{"name":"add","arguments":{"n":"yyy')
    assert finding.received.startswith('{"jsonrpc": "2.0", "id": 7, "result": {')
    assert max(len(finding.sent), len(finding.received)) < 700
    assert "characters)" in finding.sent


def test_a_finding_about_noise_shows_it_where_no_answer_came():
    exchange = make_exchange(None, noise=(b"listening on stdio",))
    (finding,) = next(one for one in judge(exchange, TOOL, is_http=False) if one.check == "stdout-clean").findings

    assert finding.received == "listening on stdio"


# ---- checks of several answers


def outcomes(exchanges, tools=(TOOL,), *, is_http=False, reasons=None):
    found = judge_all(exchanges, tools, is_http=is_http, reasons=reasons)
    return {(result.check, result.tool): result for result in found}


def tool_named(name, **members):
    return ToolSeen(name, {"name": name, "inputSchema": SCHEMA, **members}, may_run=True)


def calls_of(name, first, again):
    return [
        make_exchange(first, id="missing-argument:n", tool=name),
        make_exchange(again, id="missing-argument:n:again", tool=name),
    ]


@pytest.mark.parametrize(
    ("first", "again", "expected"),
    [
        (typed(ENVELOPE), typed(ENVELOPE), PASS),
        (typed(ENVELOPE), typed({**ENVELOPE, "code": "internal"}), FAIL),
        (error(-32602), error(-32602, "Invalid params: now it is different"), PASS),
        (error(-32602), error(-32603), FAIL),
        (GOOD, GOOD, PASS),
        (GOOD, failed("n must be an integer (request 123)"), PASS),
        (GOOD, failed("Too many requests"), FAIL),
        (GOOD, error(-32602, "n must be an integer"), FAIL),
        (GOOD, {"result": text("1")}, NOT_PROVOKED),
        (GOOD, None, NOT_PROVOKED),
    ],
)
def test_the_same_failure_twice_is_compared_for_each_tool(first, again, expected):
    tools = (tool_named("a"), tool_named("b"))

    found = outcomes(calls_of("a", first, again) + calls_of("b", typed(ENVELOPE), typed(ENVELOPE)), tools)

    if expected is NOT_PROVOKED:
        assert ("same-twice", "a") not in found
    else:
        assert found["same-twice", "a"].outcome is expected
    assert found["same-twice", "b"].outcome is PASS


def test_an_unknown_tool_twice_is_compared_too():
    found = outcomes(
        [
            make_exchange(**unknown(error(-32602, f"Unknown tool: {UNKNOWN}"), id="unknown-tool:plain")),
            make_exchange(**unknown(failed("Unknown tool"), id="unknown-tool:again")),
        ]
    )

    assert found["same-twice", None].outcome is FAIL


def test_each_era_may_answer_in_its_own_way():
    exchanges = [
        make_exchange(**unknown(answer, id=name, protocol=protocol))
        for protocol, answer in (("2025-11-25", failed("Unknown tool")), ("2026-07-28", error(-32602, "Unknown tool")))
        for name in ("unknown-tool:plain", "unknown-tool:again")
    ]

    assert outcomes(exchanges)["same-twice", None].outcome is PASS


@pytest.mark.parametrize(
    ("declared", "answers", "expected"),
    [
        (None, [GOOD], FAIL),
        ([], [GOOD], FAIL),
        (["quota_exceeded"], [typed(LIMITED)], PASS),
        (["quota_exceeded"], [typed(ENVELOPE)], PASS),
        (["quota_exceeded"], [typed({**ENVELOPE, "code": "internal"})], FAIL),
        (["quota_exceeded"], [typed(LIMITED), typed({**ENVELOPE, "code": "internal"})], FAIL),
        (["quota_exceeded"], [{"result": text("1")}], NOT_PROVOKED),
        (["quota_exceeded"], [], NOT_PROVOKED),
    ],
)
def test_codes_are_compared_with_those_that_the_tool_declares(declared, answers, expected):
    meta = {} if declared is None else {"_meta": {"io.github.toolfault/error": {"fails_with": declared}}}

    found = outcomes([make_exchange(answer) for answer in answers], (tool_named("add", **meta),))

    assert found["declared", "add"].outcome is expected


def test_a_tool_that_declares_nothing_is_reported_once():
    found = outcomes([make_exchange(GOOD), make_exchange(GOOD)], (tool_named("add"),))

    assert len(found["declared", "add"].findings) == 1


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        (None, WARN),
        ({}, WARN),
        ({"title": "Add"}, WARN),
        ({"readOnlyHint": True}, PASS),
        ({"readOnlyHint": False}, WARN),
        ({"readOnlyHint": False, "idempotentHint": False}, PASS),
        ("all", WARN),
    ],
)
def test_hints_are_asked_for_and_never_fail(annotations, expected):
    found = outcomes([], (tool_named("add", annotations=annotations),))

    assert found["hints", "add"].outcome is expected


# ---- what was not provoked


def test_each_check_has_a_row_and_a_reason_where_nothing_was_sent():
    tools = (ToolSeen("delete", {"name": "delete"}, may_run=False, reason="It writes."), tool_named("add"))

    found = outcomes([], tools)

    assert {check for check, _ in found} == {check.id for check in CHECKS} - {"http-status"}
    assert all(result.outcome is NOT_PROVOKED for (check, _), result in found.items() if check != "hints")
    assert all(result.reason for (check, _), result in found.items() if check != "hints")
    assert found["refused", "delete"].reason == "It writes."
    assert found["refused", "add"].reason == "Nothing that was sent to the tool could tell."
    assert found["honest-cause", "add"].reason == "No upstream was broken while the tool was called."


def test_a_tool_that_did_not_use_the_broken_upstream_is_named():
    found = outcomes([make_exchange(**upstream({"result": text("[]")}, upstream_requests=0))])

    assert found["honest-cause", "add"].reason == "The tool sent no request to the broken upstream."
    assert found["honest-cause", "add"].outcome is NOT_PROVOKED


def test_a_tool_that_was_not_called_is_not_blamed_for_another_one():
    tools = (TOOL, ToolSeen("delete", {"name": "delete"}, may_run=False, reason="It writes."), tool_named("free"))

    found = outcomes(
        [make_exchange(**upstream({"result": text("[]")}, upstream_requests=0))],
        tools,
        reasons={"honest-cause": "The server sent no request to API_URL."},
    )

    assert found["honest-cause", "add"].reason == "The server sent no request to API_URL."
    assert found["honest-cause", "delete"].reason == "It writes."
    assert found["honest-cause", "free"].reason == "No upstream was broken while the tool was called."


def test_a_reason_from_outside_wins():
    found = outcomes([], reasons={"add": "There was no time.", "no-echo": "Nothing takes a text."})

    assert found["refused", "add"].reason == "There was no time."
    assert found["no-echo", None].reason == "Nothing takes a text."


def test_the_other_transport_has_no_row():
    over_http = outcomes([], is_http=True)

    assert ("stdout-clean", None) not in over_http
    assert ("http-status", None) in over_http


def test_every_check_of_the_table_is_judged_by_one_function_or_over_all():
    assert {*FUNCTIONS, "same-twice", "declared", "hints"} == {check.id for check in CHECKS}


# ---- the flaws of a flawed server


@pytest.mark.parametrize(
    ("flaw", "check", "row"),
    [
        ("empty text", "says-something", unknown(failed(""))),
        ("success-shaped", "flagged", {"answer": {"result": text("Error: failed to read report")}}),
        (
            "leaks",
            "no-secret",
            {
                "answer": failed(
                    "bad {} token=ghp_abcdefghijklmnopqrstuvwxyz0123456789 postgres://admin:hunter2@db/prod"
                )
            },
        ),
        (
            "leaks a traceback",
            "no-trace",
            {"answer": failed('Traceback (most recent call last):\n  File "/srv/app/x.py", line 3\nValueError: bad')},
        ),
        ("leaks a path", "no-path", {"answer": failed('  File "/srv/app/secret/x.py", line 3\nValueError: bad')}),
        ("hangs", "answers", {"answer": None, "elapsed": 10.0}),
        ("protocol error", "right-channel", {"answer": error(0, "'n'")}),
        ("protocol error without a number", "code-band", {"answer": error(0, "'n'")}),
        ("silent", "refused", {"answer": {"result": text("1")}}),
        (
            "schema clash",
            "strict-client",
            {"answer": failed("n is wrong", structuredContent={"code": "x", "message": "n is wrong"})},
        ),
        ("dies", "survives", {"answer": None, "is_alive": False, "end": "ended with exit code 1"}),
    ],
)
def test_each_seeded_flaw_fails_its_check(flaw, check, row):
    check_row(check, FAIL, **row)


# ---- anything at all


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([PLANTED, "error"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "isError",
                    "content",
                    "text",
                    "type",
                    "structuredContent",
                    "_meta",
                    "code",
                    "message",
                    "data",
                    "retryable",
                ]
            )
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(
    result=JSON,
    failure=JSON,
    shape=st.sampled_from(["result", "error", "both", "neither"]),
    kind=st.sampled_from(list(Kind)),
    is_http=st.booleans(),
)
def test_no_answer_makes_a_check_raise(result, failure, shape, kind, is_http):
    message = {}
    if shape in ("result", "both"):
        message["result"] = result
    if shape in ("error", "both"):
        message["error"] = failure
    exchange = make_exchange(message, kind=kind, expected=SECRET, upstream="503", upstream_requests=1, status=200)

    found = judge_all([exchange], [TOOL], is_http=is_http)

    for one in found:
        assert (one.outcome in (FAIL, WARN)) == bool(one.findings)
        assert bool(one.reason) == (one.outcome is NOT_PROVOKED)


ENVELOPE_VALUES = {
    "code": st.sampled_from(["internal", "quota_exceeded", "unknown", "nonsense", 7, None]),
    "message": st.sampled_from(["It failed.", "", None, 7]),
    "category": st.sampled_from(["transient", "auth", "unknown", "client", None]),
    "retryable": st.sampled_from([True, False, "true", None, 1]),
    "retry_after_seconds": st.sampled_from([0, 60, -1, 2**32, 1.5, "60", True, None]),
    "hint": st.sampled_from(["Wait.", None, 7]),
    "cause_chain": st.sampled_from([[], ["x"], [7], None, "x"]),
    "extra": st.just(1),
}


@settings(deadline=None)
@given(st.fixed_dictionaries({}, optional=ENVELOPE_VALUES))
def test_an_envelope_is_valid_as_its_schema_says(envelope_schema, body):
    is_valid = Draft202012Validator(envelope_schema).is_valid(body)
    flaw = describe_flaw(body)

    if is_valid:
        # The contract asks for more: a wait goes with retryable or a limit.
        assert flaw in ("", "it names a wait, and is not retryable")
    else:
        assert flaw


@pytest.fixture(scope="session")
def envelope_schema(pytestconfig):
    return json.loads((pytestconfig.rootpath / "specs" / "envelope.schema.json").read_text())


def test_a_deep_or_long_answer_is_judged_within_a_budget():
    deep = {"a": "n"}
    for _ in range(5000):
        deep = {"a": deep}
    long = failed("n is wrong " + "x " * 200_000, _meta={"all": ["y" * 1000] * 3000})

    for answer in (deep, long):
        exchange = make_exchange(None)
        message = {"jsonrpc": "2.0", "id": 7, **(answer if "result" in answer else {"result": answer})}
        exchange = Exchange(exchange.provocation, 7, (Answer(b"{}", message),))
        assert judge_all([exchange], [TOOL], is_http=False)


@pytest.mark.parametrize("many", [["x"] * 100_000, [{"a": "x"}] * 100_000, ["y" * 1_000_000] * 10])
def test_the_number_of_texts_that_are_looked_at_is_bounded(many):
    message = {"jsonrpc": "2.0", "id": 7, **failed("n is wrong", _meta={"all": many})}
    view = View(Exchange(make_exchange(None).provocation, 7, (Answer(b"{}", message),) * 3), TOOL, is_http=False)

    assert 0 < len(view.strings) <= 20_000
    assert sum(len(text) for _, text in view.strings) <= 2_000_000


def test_a_verdict_changes_nothing_that_it_looks_at():
    exchange = make_exchange(typed(ENVELOPE))
    before = copy.deepcopy(exchange.answers[0].value)

    judge_all([exchange], [TOOL], is_http=False)

    assert exchange.answers[0].value == before
