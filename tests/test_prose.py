"""
What error texts are read as, by the contract's classifier and by the careful one.

Texts are written from scratch after the forms of libraries and servers; see specs for the contract's own vectors.
"""

import json
import re
from functools import cache
from pathlib import Path
from re import _constants, _parser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolfault._codes import DEFAULTS, McpErrorCategory, McpErrorCode
from toolfault._prose.careful import _START, _match_table, _possible_rows, careful, exact, looks_failed, peel
from toolfault._prose.phrases import TABLE, expand_fragments
from toolfault._prose.unwrap import cut_caller_words, json_to_prose, unwrap
from toolfault._text import WINDOW
from toolfault._verdict import Verdict


# ---- exact

EXACT = [
    # Kinds, at position zero, in any case, with their colon.
    ("bad_request: name too long", "invalid_arguments"),
    ("unprocessable: graph has a cycle", "invalid_arguments"),
    ("Not_Found: x", "tool_not_found"),
    ("conflict: already paused", "invalid_arguments"),
    ("forbidden: over quota", "permission_denied"),
    ("INTERNAL: upstream timed out", "internal"),
    ("bad_request: invalid timeout", "invalid_arguments"),
    ("bad_request name", "internal"),
    (" bad_request: x", "internal"),
    ("create_agent: not_found: a1", "internal"),
    ("rate_limited: slow down", "internal"),
    ("rate_limited: org rate limit reached", "quota_exceeded"),
    # Words, in the contract's order.
    ("Tool timed out after 30000ms", "tool_timeout"),
    ("TIMEOUT", "tool_timeout"),
    ("Unknown tool: timeout_probe", "tool_timeout"),
    ("Missing required parameter: timeout_ms", "tool_timeout"),
    ("quota lookup timed out", "tool_timeout"),
    ("Unknown tool: foo", "tool_not_found"),
    ("error: unknown tool foo", "internal"),
    ("Missing required parameter: query", "invalid_arguments"),
    ("oops, missing required parameter: query", "internal"),
    ("Invalid arguments: forbidden value", "invalid_arguments"),
    ("Invalid parameter: q", "internal"),
    ("permission denied by egress policy", "permission_denied"),
    ("401 Unauthorized", "permission_denied"),
    ("you are not authorized", "permission_denied"),
    ("authentication required", "internal"),
    ("Quota used up", "quota_exceeded"),
    ("rate-limit reached", "internal"),
    ("EGRESS rule hit", "network_blocked"),
    ("network blocked by policy", "network_blocked"),
    ("unreachable: the mcp server at x", "mcp_server_unreachable"),
    ("unreachable", "internal"),
    ("the tool panicked", "tool_panicked"),
    ("panic in tool", "internal"),
    ("", "internal"),
    # Only ASCII letters fold: K is the Kelvin sign, I has a dot.
    ("NETWOR\u212a BLOC\u212aED", "internal"),
    ("T\u0130MEOUT", "internal"),
]


@pytest.mark.parametrize(("text", "code"), EXACT)
def test_exact(text, code):
    """
    The contract's classifier is kept to the letter.
    """
    assert code == exact(text)


# ---- careful: what is said

OUTAGE = ("internal", "transient", True)
BROKEN = ("internal", "permanent", False)
UNPAID = ("quota_exceeded", "permanent", False)
DECLINED = ("permission_denied", "permanent", False)


def of(code):
    category, retryable = DEFAULTS[McpErrorCode(code)]
    return (code, category.value, retryable)


SAID = [
    # Someone said no.
    ("User rejected this action", DECLINED),
    ("The user declined the request", DECLINED),
    ("Tool call was cancelled by the user", DECLINED),
    # What ran out is over; a login mends it.
    ("Session timed out. Log in again.", of("permission_denied")),
    ("Token expired, please sign in again", of("permission_denied")),
    # Validators' signatures.
    (
        "1 validation error for call[find]\nq\n  Missing required argument [type=missing_argument]",
        of("invalid_arguments"),
    ),
    (
        "2 validation errors for findArguments\nq\n  Field required [type=missing, input_value={}]",
        of("invalid_arguments"),
    ),
    ("Input validation error: 'q' is a required property", of("invalid_arguments")),
    ("Invalid arguments for tool find: Required at longitude", of("invalid_arguments")),
    ("Parameter validation failed: x", of("invalid_arguments")),
    ("Missing required parameter: timeout_ms", of("invalid_arguments")),
    ("1 validation error for findOutput\nresult\n  Input should be a valid string", BROKEN),
    ("Unexpected token '<', \"<html>\"... is not valid JSON", BROKEN),
    ("Unexpected token '<', \"<html>\n<h\"... is not valid JSON", BROKEN),
    ("Expecting value: line 1 column 1 (char 0)", BROKEN),
    ("extra_fields is not valid JSON: Expecting value: line 1 column 1 (char 0)", of("invalid_arguments")),
    ('[{"code": "invalid_type", "path": ["q"], "message": "Required"}]', of("invalid_arguments")),
    ('[{"code": "invalid_type", "path": [], "message": "Expected object, received string"}]', BROKEN),
    # Kinds in front. A missing thing is no missing tool.
    ("bad_request: unknown filter `stat`", of("invalid_arguments")),
    ("not_found: agent a1", of("invalid_arguments")),
    ("forbidden: lacks write", of("permission_denied")),
    ("rate_limited: slow down", of("quota_exceeded")),
    ("unavailable: store down", OUTAGE),
    ("internal: upstream timed out", BROKEN),
    # Certificates are no outage.
    ("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate", BROKEN),
    ("net::ERR_CERT_AUTHORITY_INVALID at https://x.example", BROKEN),
    # Limits.
    ("Rate limit hit, request timeout is 30s", of("quota_exceeded")),
    ("too many connections for role", of("quota_exceeded")),
    ("OOM command not allowed when used memory > 'maxmemory'.", of("quota_exceeded")),
    ("User 'u' has exceeded the 'max_questions' resource (current value: 5)", of("quota_exceeded")),
    ("Monthly usage limit reached", of("quota_exceeded")),
    ("Your credit balance is too low", UNPAID),
    ("You exceeded your current quota, please check your plan and billing details", UNPAID),
    # The MCP hop.
    ("MCP server files is unreachable", of("mcp_server_unreachable")),
    # Contention, outages, policies.
    ("canceling statement due to lock timeout", OUTAGE),
    ("connect ECONNREFUSED 127.0.0.1:443", OUTAGE),
    ("getaddrinfo EAI_AGAIN api.example.com", OUTAGE),
    ("[Errno -3] Temporary failure in name resolution", OUTAGE),
    ("HTTPSConnectionPool(host='x', port=443): Max retries exceeded with url: /a?timeout=10s", OUTAGE),
    ("fetch failed", OUTAGE),
    # A parser's token is no credential.
    ("invalid token ';' at line 3", of("invalid_arguments")),
    ("invalid token `%` near line 3", of("invalid_arguments")),
    ("Invalid token ; at position 4", of("invalid_arguments")),
    ("invalid token 'selct' on line 3", of("invalid_arguments")),
    ("invalid token <EOF>", of("invalid_arguments")),
    ("Invalid token: unexpected end of input", of("invalid_arguments")),
    ("invalid token 'abc' for user ann", of("permission_denied")),
    ("invalid token: expired", of("permission_denied")),
    ("TypeError: fetch failed", OUTAGE),
    ("The connection to the server localhost:8080 was refused", OUTAGE),
    ("Could not connect to the service at http://127.0.0.1:9", OUTAGE),
    ("Could not connect. Last error: Invalid scheme, expected one of a, b", of("invalid_arguments")),
    ("Address is not a public address", of("network_blocked")),
    ('Access to "file:" protocol is blocked.', of("network_blocked")),
    ("net::ERR_UNSAFE_PORT at http://127.0.0.1:9/", of("network_blocked")),
    ("Host could not be resolved or is not a public address", OUTAGE),
    # Time needs an event.
    ("Tool timed out after 30000ms", of("tool_timeout")),
    ("Timeout 5000ms exceeded.", of("tool_timeout")),
    ("context deadline exceeded", of("tool_timeout")),
    ("canceling statement due to statement timeout", of("tool_timeout")),
    ("HTTPSConnectionPool(host='x', port=443): Read timed out. (read timeout=6)", of("tool_timeout")),
    # Rights.
    ("EACCES: permission denied, scandir '/srv/locked'", of("permission_denied")),
    ("EROFS: read-only file system, open '/srv/new.txt'", of("permission_denied")),
    ("Path '/etc/passwd' is outside the allowed directories.", of("permission_denied")),
    ('password authentication failed for user "u"', of("permission_denied")),
    ("Invalid API key", of("permission_denied")),
    ("There is no page with the given id, or you do not have permission to see it", of("invalid_arguments")),
    # Words that mean something else there.
    ("Billing address not found", of("invalid_arguments")),
    ("rate limit must be positive", of("invalid_arguments")),
    ("rate_limit must be an integer", of("invalid_arguments")),
    ("Invalid page token", of("invalid_arguments")),
    ("Invalid token at position 3", of("invalid_arguments")),
    ("host x refused to connect", OUTAGE),
    ("unknown variant `timeout`, expected one of `a`, `b`", of("invalid_arguments")),
    # Crashes.
    ("'NoneType' object has no attribute 'get'", of("tool_panicked")),
    ("Cannot read properties of undefined (reading 'map')", of("tool_panicked")),
    ("handler is not a function", of("tool_panicked")),
    ("ReferenceError: total is not defined (billing.mjs:429:7)", of("tool_panicked")),
    # Files, databases, English.
    ("ENOENT: no such file or directory, open 'nope.txt'", of("invalid_arguments")),
    ("ENOSPC: no space left on device, write", BROKEN),
    ('relation "no_such" does not exist', of("invalid_arguments")),
    ("WRONGTYPE Operation against a key holding the wrong kind of value", of("invalid_arguments")),
    ("Internal Server Error", OUTAGE),
    ("Internal error has occurred.", BROKEN),
    ("EXAMPLE_KEY environment variable is not set", BROKEN),
    ("Session not found", of("invalid_arguments")),
    ("Either 'a' or both 'b' and 'c' must be provided.", of("invalid_arguments")),
]


def meaning(verdict):
    category, retryable = DEFAULTS[verdict.code]
    return (
        verdict.code.value,
        (category if verdict.category is None else verdict.category).value,
        retryable if verdict.retryable is None else verdict.retryable,
    )


@pytest.mark.parametrize(("text", "said"), SAID)
def test_careful(text, said):
    """
    A text means what its markers say, in the table's order.
    """
    assert said == meaning(careful(text))


TEXTS = json.loads((Path(__file__).parent / "data" / "texts.json").read_text())["texts"]


@pytest.mark.parametrize(("text", "code", "category", "retryable"), TEXTS, ids=lambda value: str(value)[:60])
def test_texts(text, code, category, retryable):
    """
    What libraries and servers write, in the languages and databases that people use.
    """
    verdict = careful(text)

    assert (verdict is None and code == "internal") or (code, category, retryable) == meaning(verdict)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "42",
        "Error executing tool find",
        "Git fetch failed",
        "Found 404 items, wrote 12",
        "the lookup of timeout_ms went on",
        "listening at port 443",
        "Something odd in billing.py, line 429",
        '{"rows": 3}',
        "[1, 2]",
        "[" * 4000,
    ],
)
def test_knows_when_it_knows_nothing(text):
    """
    A text without a marker gets no verdict.
    """
    assert careful(text, tool="find") is None


def test_a_verdict_has_no_message():
    """
    What leaves is the text itself, or a sentence of someone else: never one from here.
    """
    assert {None} == {careful(text).message for text, _ in SAID}


FAMILIES = [
    ("HTTP 503", "http"),
    ("fetch failed", "network"),
    ("Timeout 50ms exceeded", "timeout"),
    ("deadlock detected", "database"),
    ("duplicate key value", "database"),
    ("EISDIR: illegal operation on a directory", "file"),
    ("access denied", "auth"),
    ("too many requests", "limit"),
    ("'int' object is not callable", "bug"),
    ("Session not found", "other"),
]


@pytest.mark.parametrize(("text", "family"), FAMILIES)
def test_family(text, family):
    """
    A verdict says what kind of thing failed.
    """
    assert family == careful(text).family


# ---- statuses

STATUSES = [
    ("HTTP 403: Forbidden", 403, "permission_denied", False),
    ("Request failed with status code 404", 404, "invalid_arguments", False),
    ("429 Too Many Requests", 429, "quota_exceeded", True),
    ("Client error '401 Unauthorized' for url 'https://x.example/v1'", 401, "permission_denied", False),
    ("Acme API Error: 401 \nURL: http://x.example/a", 401, "permission_denied", False),
    ("API error (503): upstream down", 503, "internal", True),
    ("Error [502]", 502, "internal", True),
    ("AuthorizationException(403, 'security_exception', 'Forbidden')", 403, "permission_denied", False),
    ("Sign-in failed for the wiki's API (401). Please verify.", 401, "permission_denied", False),
    ("500 Server Error: Internal Server Error for url: https://x.example", 500, "internal", True),
    ("Upstream returned 504", 504, "tool_timeout", True),
    ("Service Unavailable (503)", 503, "internal", True),
    ("HTTP 501", 501, "internal", False),
    ("HTTP 402", 402, "quota_exceeded", False),
    ("HTTP 407", 407, "network_blocked", False),
    ("status: 418", 418, "invalid_arguments", False),
    ('{"status": 403, "object": "error", "code": "restricted_resource"}', 403, "permission_denied", False),
    ('{"error": {"statusCode": "503"}}', 503, "internal", True),
]


@pytest.mark.parametrize(("text", "status", "code", "retryable"), STATUSES)
def test_status(text, status, code, retryable):
    """
    A number beside a status word is a status, and decides.
    """
    verdict = careful(text)

    # Words about a limit come first: a limit may be told with any status.
    assert verdict.upstream_status in (status, None if status == 429 else status)
    assert (code, retryable) == (meaning(verdict)[0], meaning(verdict)[2])


@pytest.mark.parametrize(
    "text",
    [
        "Error: 404 items were skipped, expected none",
        "must not exceed 400 characters",
        "unexpected indent (x.py, line 429)",
        "connect ECONNREFUSED 10.0.0.1:443",
        "value 503.5 is out of range",
        "Room 503 not found",
        "at total (billing.mjs:429:7): x is not defined",
        "HTTP 200",
        "too long: 500 of 400",
    ],
)
def test_no_status(text):
    """
    Ports, limits, counts and line numbers are no statuses.
    """
    verdict = careful(text)

    assert verdict is None or (verdict.upstream_status, verdict.code) == (None, verdict.code)
    assert verdict is None or verdict.code is not McpErrorCode.QUOTA_EXCEEDED


# ---- wrappers

WRAPPED = [
    ("MCP error -32603: boom", "boom"),
    ("Error executing tool find: boom", "boom"),
    ("Error calling tool 'find': boom", "boom"),
    ("Error calling tool 'get_item': boom", "boom", "shop_get_item"),
    ("Tool 'find' execution failed: boom", "boom"),
    ("Failed to execute tool find: boom", "boom"),
    ("Unexpected error in find: boom", "boom"),
    ("Error: boom", "boom"),
    ("Error: Error: boom", "boom"),
    ("### Error\nboom", "boom"),
    ("# Error\nError: boom", "boom"),
    ("**Input Error**\nboom", "boom"),
    ("Caught Exception. Error: boom", "boom"),
    ("An error occurred: boom", "boom"),
    ("\N{CROSS MARK} boom", "boom"),
    ("MCP error -32603: MCP error -32603: Error calling tool find: MCP error -32001: boom", "boom"),
    # Not the called tool: that may be all that the text says.
    ("Error executing tool other: boom", "Error executing tool other: boom"),
    ("Error executing tool item: boom", "Error executing tool item: boom", "shop_getitem"),
    # Never empty.
    ("Error: ", "Error: "),
    ("Error executing tool find: ", "Error executing tool find: "),
    ("# Errors of today", "# Errors of today"),
    ("A sentence. Error: boom", "A sentence. Error: boom"),
    ("", ""),
]


@pytest.mark.parametrize("row", WRAPPED, ids=lambda row: row[0] or "empty")
def test_peel(row):
    """
    Wrappers go, as many as there are, from the start only.
    """
    text, inner, *tool = row

    assert inner == peel(text, *(tool or ["find"]))


def test_peel_without_a_tool():
    """
    Where the called tool is not known, any name is believed.
    """
    assert "boom" == peel("Error executing tool anything: boom")


def test_the_innermost_sentence_decides():
    """
    Three layers each added a prefix; the last sentence is the truth.
    """
    text = "MCP error -32603: MCP error -32603: Error calling tool zap: MCP error -32001: Request timed out"

    assert "tool_timeout" == careful(text).code


# ---- tools that are missing

MISSING = [
    ("Unknown tool: sync_ledgr", None),
    ("Unknown tool: sync_ledgr", "sync_ledgr"),
    ("Unknown tool: 'sync_ledgr'", "sync_ledgr"),
    ("unknown tool sync_ledgr", "sync_ledgr"),
    ("Tool sync_ledgr not found", None),
    ("Tool `sync_ledgr` does not exist.", "sync_ledgr"),
    ("MCP error -32602: Tool sync_ledgr not found", "sync_ledgr"),
    ("Method sync_ledgr not found", "sync_ledgr"),
    ("Tool not found: sync_ledgr", "sync_ledgr"),
    ("No tool named 'sync_ledgr'", "sync_ledgr"),
    ("could not find tool sync_ledgr", "sync_ledgr"),
    ("'sync_ledgr' is not a known tool", "sync_ledgr"),
    ("Unknown tool: sync_ledgr", "books_sync_ledgr"),
    ("Bridge error: Unknown tool: sync_ledgr (is the bridge on port 9911 up?)", None),
    ("Unknown tool: get_quota_timeout_forbidden", "get_quota_timeout_forbidden"),
    ("Unknown tool", "sync_ledgr"),
    ('{"error": "Unknown tool: sync_ledgr"}', "sync_ledgr"),
]


@pytest.mark.parametrize(("text", "tool"), MISSING)
def test_missing_tool(text, tool):
    """
    A tool is missing where its name stands beside the phrase, whatever words the name is made of.
    """
    assert of("tool_not_found") == meaning(careful(text, tool=tool))


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("file not found", "read_file"),
        ("Entity with name nope not found", "find"),
        ("tool was not found in the shed", None),
        ("No tool is available for this", None),
        ("Unknown tool: hammer", "buy"),
        ("Tool hammer not found in the shop", "buy"),
        ("404 Not Found", "find"),
        ("method GET not found here", "find"),
    ],
)
def test_missing_thing(text, tool):
    """
    Anything else that is missing is no tool.
    """
    verdict = careful(text, tool=tool)

    assert verdict is None or verdict.code is McpErrorCode.INVALID_ARGUMENTS


# ---- what the caller said

ECHOES = [
    ("Invalid timezone: 'forbidden/timeout'", None, {"zone": "forbidden/timeout"}, "invalid_arguments"),
    ("No rows for: connection refused", None, {"q": "connection refused"}, None),
    ("check_timeout: timed out waiting", "check_timeout", {}, "tool_timeout"),
    ("get_quota_timeout_forbidden went on", "get_quota_timeout_forbidden", {}, None),
    ("syntax error near SELECT 'permission denied'", None, {"sql": "SELECT 'permission denied'"}, "invalid_arguments"),
    ("Row 3 of rate limit exceeded is odd", None, {"a": {"b": ["rate limit exceeded"]}}, None),
    ("bad value [type=x, input_value='access denied', input_type=str]", None, None, None),
    ("see `permission denied` in the manual", None, None, None),
    ("went to https://x.example/?e=timed-out-too", None, None, None),
    ("wrote /var/log/forbidden", None, None, None),
    ('wrote "forbidden"', None, None, None),
    ("said line one\\ntimed out", None, {"text": "line one\ntimed out"}, None),
    # A short word, or a part of a longer one, is left.
    ("timed out", None, {"q": "out"}, "tool_timeout"),
    ("timed out", None, {"q": "time"}, "tool_timeout"),
    ("timed out, timed out", None, {"q": "timed out"}, None),
    # The caller's code is the caller's.
    ("ReferenceError: nope is not defined", None, {"code": "() => nope.x"}, "invalid_arguments"),
    ("ReferenceError: nope is not defined", None, {"code": "() => nopes.x"}, "tool_panicked"),
    ("name 'nope' is not defined", None, {"code": ("1", "nope + 1")}, "invalid_arguments"),
]


@pytest.mark.parametrize(("text", "tool", "arguments", "code"), ECHOES)
def test_echo(text, tool, arguments, code):
    """
    Names, values, URLs, paths and quoted code are no evidence.
    """
    verdict = careful(text, tool=tool, arguments=arguments)

    assert code == (verdict and verdict.code)


# ---- JSON-RPC codes

RPC = [
    ("Connection closed", -32000, "mcp_server_unreachable"),
    ("No such session here; send initialize again", -32001, "mcp_server_unreachable"),
    ("Session terminated", -32600, "mcp_server_unreachable"),
    ("Session terminated", 32600, "mcp_server_unreachable"),
    ("Timed out while waiting. Waited 5.0 seconds.", 408, "tool_timeout"),
    ("Request timed out", -32001, "tool_timeout"),
    ("Invalid arguments for tool charge_card: amount must be an integer", -32602, "invalid_arguments"),
    ("Unknown tool: sync_ledgr", -32602, "tool_not_found"),
    ("odd", -32602, "invalid_arguments"),
    ("odd", -32601, "tool_not_found"),
    ("odd", -32603, None),
    ("getaddrinfo ENOTFOUND x", -32602, "internal"),
    ("Connection closed", None, "internal"),
    ("MCP error -32000: Connection closed", None, "mcp_server_unreachable"),
]


@pytest.mark.parametrize(("text", "rpc_code", "code"), RPC)
def test_rpc_code(text, rpc_code, code):
    """
    A JSON-RPC code supports words; alone it says little, and -32603 nothing.
    """
    verdict = careful(text, rpc_code=rpc_code)

    assert code == (verdict and verdict.code)


# ---- waits

WAITS = [
    ("Too many requests, retry after 30 seconds", 30),
    ("Rate limit reached. Retry-After: 12", 12),
    ("Rate limit reached, wait 1.2 s", 2),
    ("Rate limit reached, please try again in 20s", 20),
    ("Rate limit reached, retry after 2 minutes", 120),
    ("Rate limit reached, wait for 1 hour", 3600),
    ("Rate limit reached, retry after 1500 ms", 2),
    ("Rate limit reached, wait 1500 milliseconds", 2),
    ('{"error": {"code": "RATE_LIMITED", "retry_after": 30}}', 30),
    ('{"code": "RATE_LIMITED", "retryAfterMs": 100}', 1),
    ("HTTP 503, retry after 9", 9),
    ("Rate limit reached, retry after 999999999999999999", 2**31 - 1),
    ("Rate limit reached", None),
    ("Rate limit reached after 30 seconds", None),
    ("Rate limit reached, gave up retry after 12 attempts", None),
    ("Rate limit reached, retry after Wed, 21 Oct 2026", None),
    # A wait helps only where a retry does.
    ("Invalid arguments, retry after 30 seconds", None),
]


@pytest.mark.parametrize(("text", "seconds"), WAITS)
def test_wait(text, seconds):
    """
    A delay comes from a field or from "retry after", in seconds, rounded up, bounded.
    """
    assert seconds == careful(text).retry_after_seconds


# ---- the suspicion

SUSPECT = [
    "Error: no such table",
    "Failed to load the page",
    "Invalid parameter combination.",
    "Database error: x",
    "Unexpected error in find: boom",
    "\N{CROSS MARK} Schema validation failed:\n  - root",
    '{"error": "no such page"}',
    '{"success": false}',
    '{"ok": false, "reason": "x"}',
    '{"status": 401, "object": "error"}',
    '{"status": "failed"}',
    '{"isError": true}',
    '{"errors": [{"message": "x"}]}',
    '{"result": "Error: boom"}',
    '{"result": {"error": "boom"}}',
]

HONEST = [
    "",
    "3 rows",
    "The report lists 4 errors: none of ours",
    "Echo: Error: quota exceeded",
    '{"error": null, "rows": []}',
    '{"errors": []}',
    '{"errors": [1], "data": {"a": 1}}',
    '{"success": true}',
    '{"status": 200}',
    '{"status": true}',
    '{"result": "ok"}',
    '{"result": 1}',
    '{"result": "Error: boom", "rows": 1}',
    '[{"error": "permission denied"}]',
    "Error: first line of a long document\n" + "text\n" * 4000,
]


@pytest.mark.parametrize("text", SUSPECT)
def test_looks_failed(text):
    """
    A success that begins or is marked like a failure raises the suspicion.
    """
    assert looks_failed(text) is True


@pytest.mark.parametrize("text", HONEST, ids=lambda text: text[:30] or "empty")
def test_looks_fine(text):
    """
    Honest output does not.
    """
    assert looks_failed(text) is False


# ---- whatever comes

WORDS = [word for _, _, patterns in TABLE for word in re.findall(r"[a-z]{3,}", " ".join(patterns))]
PIECES = st.one_of(
    st.sampled_from(sorted(set(WORDS))),
    st.sampled_from(
        [
            "Error: ",
            "Error executing tool f: ",
            "MCP error -32602: ",
            "{",
            "[",
            '"',
            "'",
            "`",
            "://",
            "/",
            "503",
            "429 ",
        ]
    ),
    st.text(max_size=8),
)
TEXTS = st.one_of(
    st.text(),
    st.lists(PIECES, max_size=20).map(" ".join),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(
                st.sampled_from(["error", "status", "code", "message", "path", "result", "x"]), inner, max_size=4
            ),
        ),
    ).map(json.dumps),
)
VALUES = st.recursive(
    st.one_of(st.text(), st.integers(), st.none()), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(
    text=TEXTS,
    tool=st.none() | st.text() | st.sampled_from(["f", "error", "not found"]),
    arguments=st.none() | st.dictionaries(st.text(), VALUES, max_size=3),
    rpc_code=st.none() | st.sampled_from([-32000, -32001, -32600, -32601, -32602, -32603, 408]) | st.integers(),
)
def test_any_text(text, tool, arguments, rpc_code):
    """
    Nothing raises, and a verdict never says "unknown".
    """
    verdict = careful(text, tool=tool, arguments=arguments, rpc_code=rpc_code)

    assert verdict is None or isinstance(verdict, Verdict)
    assert verdict is None or verdict.code is not McpErrorCode.UNKNOWN
    assert verdict is None or verdict.category is not McpErrorCategory.UNKNOWN
    assert verdict is None or 0 <= (verdict.retry_after_seconds or 0) < 2**31
    assert exact(text) is not McpErrorCode.UNKNOWN
    assert looks_failed(text) in (True, False)
    assert text.endswith(peel(text, tool))
    assert bool(text) == bool(peel(text, tool))


def test_lone_surrogates():
    """
    A text that no encoder takes is read all the same.
    """
    assert "tool_timeout" == careful("timed out \ud800", arguments={"q": "\udfff-and"}).code


def test_only_the_beginning_is_looked_at():
    """
    What comes after the window changes nothing.
    """
    assert careful("x " * WINDOW + "timed out") is None


# ---- the clues

ROWS = [pytest.param(row, id=f"{row}: {TABLE[row][2][0][:40]}") for row in range(len(TABLE))]


def readings(parsed):
    """
    Return the texts that a piece of a pattern can be; None if there are many.
    """
    found = {""}
    for op, arguments in parsed:
        if op is _constants.LITERAL:
            more = {chr(arguments)}
        elif op in (_constants.AT, _constants.ASSERT, _constants.ASSERT_NOT):
            more = {""}
        elif op is _constants.IN and all(kind is _constants.LITERAL for kind, _ in arguments):
            more = {chr(character) for _, character in arguments}
        elif op is _constants.SUBPATTERN:
            more = readings(arguments[-1])
        elif op is _constants.BRANCH:
            branches = [readings(branch) for branch in arguments[1]]
            more = None if None in branches else set().union(*branches)
        elif op is _constants.MAX_REPEAT and arguments[:2] == (0, 1) and (once := readings(arguments[2])) is not None:
            more = {"", *once}
        else:
            more = None
        if more is None or len(found) * len(more) > 100:
            return None
        found = {text + rest for text in found for rest in more}
    return found


def shows(parsed, clues, run=frozenset([""])):
    """
    Tell whether each text that fits a piece of a pattern holds a clue, behind one of the texts of *run*.
    """
    for op, arguments in parsed:
        if op is _constants.SUBPATTERN and shows(arguments[-1], clues, run):
            return True
        if op is _constants.BRANCH and all(shows(branch, clues, run) for branch in arguments[1]):
            return True
        if op is _constants.MAX_REPEAT and arguments[0] > 0 and shows(arguments[2], clues, run):
            return True
        more = readings([(op, arguments)])
        run = {""} if more is None else more if len(run) * len(more) > 100 else {a + b for a in run for b in more}
        if all(any(clue in text for clue in clues) for text in run):
            return True
    return False


@pytest.mark.parametrize("row", ROWS)
def test_no_text_fits_a_row_without_one_of_its_clues(row):
    """
    What fits a pattern holds a clue, whichever way the pattern is gone; so nothing is missed by looking for them first.
    """
    _, clues, patterns = TABLE[row]

    silent = [pattern for pattern in patterns if not shows(_parser.parse(expand_fragments(pattern)), clues.split("|"))]

    assert [] == silent
    assert _START <= min(map(len, clues.split("|")))


@pytest.mark.parametrize("row", ROWS)
@settings(deadline=None)  # the first text compiles
@given(data=st.data())
def test_what_fits_a_row_is_asked_about_it(row, data):
    """
    The same from the other end: texts made from the patterns.
    """
    pattern = expand_fragments(data.draw(st.sampled_from(TABLE[row][2])))
    text = data.draw(st.from_regex(re.compile(pattern, re.MULTILINE)))

    assert row in _possible_rows(text)


PAIRS = json.loads((Path(__file__).parent / "data" / "phrases.json").read_text())["pairs"]


def words_of(text):
    body, _ = unwrap(text, None)
    return cut_caller_words(json_to_prose(body), None, []).lower()


def meaning_without(words, row, number, part):
    """
    What the table says where one alternative of one of its patterns is gone.
    """
    for at, (pattern, meaning) in enumerate(whole_table()):
        left = row_without(row, number, part) if at == row else pattern
        if (match := left.search(words)) is not None:
            return meaning if isinstance(meaning, Verdict) else meaning(match)
    return None


@cache
def row_without(row, number, part):
    rest = list(TABLE[row][2])
    rest[number] = "|".join(other for other in alternatives(rest[number]) if other != part)
    return re.compile(expand_fragments("|".join(filter(None, rest))) or "(?!)", re.MULTILINE)


def alternatives(pattern):
    """
    Return the parts between the bars of a pattern that stand in no group and in no set.
    """
    parts, depth, in_set = [""], 0, False
    for piece in re.findall(r"\\.|.", pattern, re.DOTALL):
        in_set = piece == "[" or (in_set and piece != "]")
        depth += (piece == "(") - (piece == ")") if not in_set else 0
        if piece == "|" and depth == 0 and not in_set:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def shortest(parsed):
    """
    Return a short text that a pattern matches; a gap of any characters is a space.
    """
    text = ""
    for op, arguments in parsed:
        if op is _constants.LITERAL:
            text += chr(arguments)
        elif op is _constants.IN:
            _, first = arguments[0]
            first = first[0] if isinstance(first, tuple) else first
            text += SHORTEST_OF.get(str(first)) or chr(first)
        elif op is _constants.SUBPATTERN:
            text += shortest(arguments[-1])
        elif op is _constants.BRANCH:
            text += shortest(arguments[1][0])
        elif op is _constants.MAX_REPEAT:
            least, most, inside = arguments
            is_gap = most >= 20 and shortest(inside) == " "
            text += " " if is_gap else shortest(inside) * least
        elif op in (_constants.ANY, _constants.NOT_LITERAL):
            text += " "
    return text


#: By what a set of a pattern begins with: a category, or the sign that it is the opposite of a set.
SHORTEST_OF = {"CATEGORY_DIGIT": "1", "CATEGORY_WORD": "x", "CATEGORY_NOT_SPACE": "x", "None": " "}

ALTERNATIVES = [
    (row, number, part)
    for row in range(len(TABLE))
    for number, pattern in enumerate(TABLE[row][2])
    for part in alternatives(pattern)
]


def is_held(line, neighbour, row, number, part):
    """
    Tell whether a line has its meaning by one alternative alone, and its neighbour has not.
    """
    own = re.compile(expand_fragments(part), re.MULTILINE)
    meaning = by_every_row(line)
    if not own.search(line) or own.search(neighbour) or by_every_row(neighbour) == meaning:
        return False
    return meaning_without(line, row, number, part) != meaning


def pairs_from(part):
    """
    Yield the text that an alternative says in short, beside the same with one of its words replaced.
    """
    line = shortest(_parser.parse(expand_fragments(part)))
    for word in re.findall(r"\w+", line):
        yield line, line.replace(word, "harbour", 1)


@pytest.mark.parametrize(("row", "number", "part"), ALTERNATIVES, ids=str)
def test_each_alternative_alone_catches_a_line_and_not_its_neighbour(row, number, part):
    """
    What could go without a trace goes: none of them repeats another.
    """
    written = ((words_of(line), words_of(neighbour)) for line, neighbour in PAIRS)
    pairs = (*pairs_from(part), *written)

    assert any(is_held(line, neighbour, row, number, part) for line, neighbour in pairs), (
        f"tests/data/phrases.json has no pair for {part}"
    )


@cache
def whole_table():
    return [(re.compile(expand_fragments("|".join(patterns)), re.MULTILINE), meaning) for meaning, _, patterns in TABLE]


def by_every_row(words):
    for pattern, meaning in whole_table():
        if (match := pattern.search(words)) is not None:
            return meaning if isinstance(meaning, Verdict) else meaning(match)
    return None


#: What the table's patterns, its clues and this file's texts are made of.
HINTS = sorted(
    {word for _, clues, patterns in TABLE for word in re.findall(r"[a-z0-9]+", " ".join((clues, *patterns)))}
    | {clue for _, clues, _ in TABLE for clue in clues.split("|")}
    | {"404", "503", "429", "0", "x", "the", "http 500", "(401)"}
)


@settings(deadline=None)  # as above
@given(st.lists(st.sampled_from(HINTS), max_size=12), st.sampled_from([" ", "", "_", ": ", "-", "\n", " (", "."]))
def test_the_clues_change_no_verdict(words, between):
    """
    Asking only the rows with a clue finds what asking all of them does.
    """
    text = between.join(words)

    assert by_every_row(text) == _match_table(text)


def test_every_quantifier_of_the_table_is_bounded():
    """
    Time grows with the text and no faster: no ``*`` or ``+`` stands in the table.
    """
    patterns = [expand_fragments(pattern) for _, _, patterns in TABLE for pattern in patterns]

    unbounded = [pattern for pattern in patterns if re.search(r"[*+]|\{\d*,\}", re.sub(r"\\.|\[[^]]*\]", "", pattern))]

    assert [] == unbounded


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        " ",
        "\n",
        '"',
        "'",
        "`",
        "/",
        "{",
        "[",
        "Error: ",
        "error ",
        "tool a ",
        "not found ",
        "http ",
        "input_value=",
    ],
)
def test_hostile_text_of_any_length_is_read(piece):
    """
    Repetition finds no pattern that runs away: this ends, whatever the machine.
    """
    text = piece * (1_000_000 // len(piece))

    careful(text, tool="abcd", arguments={"q": text})
    looks_failed(text)

    assert text.endswith(peel(text))


def test_a_million_numbers_among_the_arguments_are_not_all_looked_at():
    class Numbers(list):
        seen = 0

        def __iter__(self):
            for number in range(1_000_000):
                Numbers.seen += 1
                yield number

    assert "tool_timeout" == careful("Error: timed out", arguments={"vector": Numbers()}).code
    assert 0 < Numbers.seen <= 10_000


def test_nothing_is_compiled_at_import():
    """
    Patterns are compiled at the first text: importing costs nothing.
    """
    import subprocess
    import sys

    code = (
        "import re, sys; n = []; c = re.compile\n"
        "def counting(*args):\n"
        "    file = sys._getframe(1).f_code.co_filename\n"
        "    if any(part in file for part in ('_prose', '_redact', '_text', '_meanings')): n.append(args)\n"
        "    return c(*args)\n"
        "re.compile = counting\n"
        "import toolfault._prose.careful, toolfault._redact; print(len(n))"
    )

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "0" == ended.stdout.strip()
