"""
The command ``toolfault explain``: what a failure means, and which rule decided.
"""

import builtins
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolfault._codes import McpErrorCode
from toolfault._names import qualified_name
from toolfault._read.parse import parse
from toolfault.cli import main
from toolfault.cli._classes import Found, Made, UnknownClassError, find_class, make_exception
from toolfault.cli._explanation import explain_answer, explain_class, explain_text, to_json
from toolfault.cli._trace import Trace, table_of
from toolfault.rules import DEFAULT


SPECS = Path(__file__).parents[1] / "specs"
SCHEMA = Draft202012Validator(json.loads((SPECS / "explain.schema.json").read_text(encoding="utf-8")))


def explain(capsys, *words):
    """
    Return what the command says as JSON, after its schema was asked.
    """
    code = main(["explain", "--json", *words])
    value = json.loads(capsys.readouterr().out)

    assert list(SCHEMA.iter_errors(value)) == []
    assert code == (1 if value["failure"] is None else 0)
    # A step that was renamed or changed, so that nothing can be told of it.
    assert '"kind": "step"' not in json.dumps(value)

    return value


def facts(reading):
    rule = reading["decided_by"][-1]
    return (
        reading["code"],
        reading["retryable"],
        reading["retry_after_seconds"],
        rule["kind"],
        rule["where"],
        rule["row"],
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("ValueError", ("tool_panicked", False, None, "table", "rules/builtins.py", "builtins.ValueError")),
        ("builtins.KeyError", ("tool_panicked", False, None, "table", "rules/builtins.py", "builtins.KeyError")),
        ("TimeoutError", ("tool_timeout", True, None, "table", "rules/builtins.py", "builtins.TimeoutError")),
        (
            "ConnectionRefusedError",
            ("internal", True, None, "table", "rules/builtins.py", "builtins.ConnectionRefusedError"),
        ),
        ("httpx.ConnectTimeout", ("internal", True, None, "table", "rules/httpx.py", "httpx.ConnectTimeout")),
        ("httpx2.ReadTimeout", ("tool_timeout", True, None, "table", "rules/httpx.py", "httpx2.TimeoutException")),
        (
            "httpx.HTTPStatusError --status 429 --header Retry-After:30",
            ("quota_exceeded", True, 30, "table", "rules/httpx.py", "httpx.HTTPStatusError"),
        ),
        (
            "urllib.error.HTTPError --status 403",
            ("permission_denied", False, None, "table", "rules/stdlib.py", "urllib.error.HTTPError"),
        ),
        (
            "asyncio.TimeoutError",
            ("tool_timeout", True, None, "table", "rules/builtins.py", "builtins.TimeoutError"),
        ),
        (
            "json.JSONDecodeError",
            ("internal", False, None, "table", "rules/stdlib.py", "json.decoder.JSONDecodeError"),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_classes_are_answered_by_the_row_that_decides(capsys, words, expected):
    found = explain(capsys, *words.split())

    assert facts(found["failure"]) == expected
    assert found["failure"]["where"] == "tool"


TEXT = "text"


def result(text=None, **members):
    content = [] if text is None else [{"type": "text", "text": text}]
    return {"isError": True, "content": content, **members}


ENVELOPE = {"code": "quota_exceeded", "message": "Full.", "category": "transient", "retryable": True}


@pytest.mark.parametrize(
    ("given", "code", "kinds"),
    [
        ("Rate limit reached, try again in 20 seconds", "quota_exceeded", ["text", "prose"]),
        ("Unknown tool: nothing", "tool_not_found", ["text", "prose"]),
        ("name 'x' is not defined", "tool_panicked", ["text", "prose"]),
        (
            "An error occurred (ThrottlingException) when calling the ListKeys operation: Rate exceeded",
            "quota_exceeded",
            ["text", "error code of AWS"],
        ),
        ("Session not found", "mcp_server_unreachable", ["text", "JSON-RPC error"]),
        ("It is what it is.", "internal", ["text"]),
        (result("Not found: customer 12"), "invalid_arguments", ["text", "prose"]),
        (result(structuredContent=ENVELOPE), "quota_exceeded", ["envelope"]),
        (result(json.dumps(ENVELOPE)), "quota_exceeded", ["envelope"]),
        (ENVELOPE, "quota_exceeded", ["envelope"]),
        ({"error": {"code": -32602, "message": "Unknown tool: foo"}}, "tool_not_found", ["JSON-RPC error"] * 2),
        ({"code": -32603, "message": "Boom"}, "internal", ["JSON-RPC error"] * 2),
        ({"error": {"code": 429, "message": "Slow"}}, "quota_exceeded", ["JSON-RPC error", "HTTP status"]),
        (
            {"error": {"code": -32000, "message": "Full.", "data": ENVELOPE}},
            "quota_exceeded",
            ["envelope"],
        ),
        (
            {"code": "RATE_LIMITED", "message": "slow down"},
            "quota_exceeded",
            ["incomplete envelope or error object", "error word"],
        ),
        (
            {"code": "tool_timeout", "message": "late"},
            "tool_timeout",
            ["incomplete envelope or error object", "code of the contract"],
        ),
        (
            result(structuredContent={"status": 503, "message": "x"}),
            "internal",
            ["incomplete envelope or error object", "HTTP status"],
        ),
        (
            {"type": "https://example.com/full", "title": "Full", "status": 429, "detail": "No room."},
            "quota_exceeded",
            ["dialect"],
        ),
    ],
    ids=str,
)
def test_answers_and_texts_are_answered_as_clients_read_them(capsys, given, code, kinds):
    text = given if isinstance(given, str) else json.dumps(given)

    found = explain(capsys, text)["failure"]

    assert found["code"] == code
    assert [rule["kind"] for rule in found["decided_by"]][: len(kinds)] == kinds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("upstream said: too many requests", "too many requests"),
        ("503 Service Unavailable", "503 service unavailable"),
        ("permission denied for table users", "permission denied"),
    ],
)
def test_prose_names_the_row_and_the_words_that_matched(capsys, text, words):
    rule = explain(capsys, text)["failure"]["decided_by"][-1]

    assert rule["where"] == "_prose/phrases.py"
    assert words in rule["row"].lower()


def test_a_success_is_not_a_failure(capsys):
    plain = explain(capsys, json.dumps({"content": [{"type": "text", "text": "12 degrees"}]}))
    strange = explain(capsys, json.dumps({"result": {"content": [{"type": "text", "text": "Error: no"}]}}))

    assert [len(found["notes"]) for found in (plain, strange)] == [1, 2]


@pytest.mark.parametrize(
    ("words", "read_only", "write"),
    [
        ("httpx.ReadTimeout", True, False),
        ("ValueError", False, False),
        ("{}", False, False),
        (json.dumps(ENVELOPE | {"retry_after_seconds": 30}), True, False),
        (json.dumps(ENVELOPE | {"retry_after_seconds": 9999}), False, False),
        (
            json.dumps(
                result(
                    structuredContent=ENVELOPE,
                    _meta={"io.github.toolfault/error": {"v": 1, "id": "1", "outcome": "not_executed"}},
                )
            ),
            True,
            True,
        ),
    ],
)
def test_whether_a_client_repeats_depends_on_the_tool(capsys, words, read_only, write):
    if words == "{}":
        words = json.dumps(result("no"))
    repeats = explain(capsys, words)["failure"]["repeats"]

    assert (repeats["read_only"]["repeats"], repeats["write"]["repeats"]) == (read_only, write)
    assert all(one["reason"] not in ("not_safe", "hint") for one in repeats.values())


def test_a_class_means_something_else_on_purpose_and_in_a_client(capsys):
    found = explain(capsys, "ValueError", "--message", "days must be positive")

    assert found["failure"]["code"] == "tool_panicked"
    assert {one["where"]: one["code"] for one in found["elsewhere"]} == {
        "author": "invalid_arguments",
        "client": "internal",
    }
    timeout = explain(capsys, "httpx.ConnectError")
    assert [(one["where"], one["code"]) for one in timeout["elsewhere"]] == [("client", "mcp_server_unreachable")]


def test_the_last_line_of_a_traceback_is_a_class_with_its_message(capsys):
    found = explain(capsys, "httpx.ReadTimeout: timed out")
    other = explain(capsys, "acme.nothing: this is a text")

    assert (found["subject"], found["failure"]["where"]) == ("httpx.ReadTimeout", "tool")
    assert other["subject"] == "a text"


TRACEBACK = """Traceback (most recent call last):
  File "server.py", line 3, in <module>
    connect()
httpx.ConnectTimeout: timed out

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "server.py", line 5, in <module>
    raise
"""


@pytest.mark.parametrize(
    ("text", "code", "row"),
    [
        (TRACEBACK + "TimeoutError: late", "tool_timeout", "builtins.TimeoutError"),
        ("OSError: [Errno 28] No space left on device", "internal", "builtins.OSError"),
        ("OSError: [Errno 111] Connection refused", "internal", "builtins.ConnectionRefusedError"),
        (
            "httpx.HTTPStatusError: Client error '429 Too Many Requests' for url 'https://x.example/'",
            "quota_exceeded",
            "httpx.HTTPStatusError",
        ),
        ("urllib.error.HTTPError: HTTP Error 403: Forbidden", "permission_denied", "urllib.error.HTTPError"),
    ],
)
def test_what_a_traceback_says_of_an_exception_is_taken_over(capsys, tmp_path, text, code, row):
    (tmp_path / "pasted.txt").write_text(text)
    pasted, read = explain(capsys, text), explain(capsys, "--file", str(tmp_path / "pasted.txt"))

    assert pasted == read
    assert (pasted["failure"]["code"], pasted["failure"]["decided_by"][-1]["row"]) == (code, row)


SUCCESS = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result("no")}).replace("true", "false")
FAILURE = json.dumps({"jsonrpc": "2.0", "id": 2, "result": result("HTTP 429: slow down")})


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        (f"{SUCCESS}\n{FAILURE}\n", 1),
        (f"event: message\r\nid: 7\r\ndata: {FAILURE}\r\n\r\n", 0),
        (f": ping\n\ndata:{SUCCESS}\n\nretry: 10\ndata: {FAILURE}\n\n", 1),
        (f"[{FAILURE}]", 0),
    ],
)
def test_streams_are_searched_for_a_failure(capsys, text, notes):
    found = explain(capsys, text)

    assert found["failure"]["code"] == "quota_exceeded"
    assert len(found["notes"]) == notes


@pytest.mark.parametrize("name", ["asyncpg.exceptions.NotThere", "acme_missing.RateLimitError"])
def test_a_class_that_is_not_installed_is_not_imported(capsys, name):
    if name == "asyncpg.exceptions.NotThere":
        name = next(row for row in DEFAULT if row.startswith("snowflake."))
    found = explain(capsys, name)

    assert found["subject"] == name
    assert found["notes"][0].startswith("Not imported: ")


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("httpx.ConectTimeout", "did you mean httpx.ConnectTimeout?"),
        ("htpx.ConnectTimeout", "did you mean httpx.ConnectTimeout?"),
        ("TimeoutEror", "did you mean TimeoutError?"),
        ("ValueErorr", "did you mean ValueError?"),
        ("builtins.ValueErorr", "did you mean builtins.ValueError?"),
        ("ConnectTimeout", "several packages have a ConnectTimeout; write one of httpcore.ConnectTimeout"),
        ("acme_missing.Strange", "install its package"),
        ("snowflake.connector.errors.NobodyKnows", "there are rows for snowflake."),
        ("json.JSONEncoder", "json.JSONEncoder is not an exception class"),
        ("NothingLikeThisError", "write its dotted name"),
    ],
)
def test_unknown_names_get_a_cure(capsys, name, cure):
    with pytest.raises(SystemExit) as stopped:
        main(["explain", name])

    assert stopped.value.code == 2
    assert cure in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        (["[1, 2]"], "is an object"),
        (["some text", "--status", "429"], "are for an exception class"),
        (["ValueError", "--status", "9"], "'9' is not an HTTP status, such as 429"),
        (["ValueError", "--header", "nothing"], "write NAME:VALUE"),
        (["--file", "/nowhere/at/all"], "can't read '/nowhere/at/all'"),
        (["--file", "x", "text"], "not both"),
        ([" "], "the text is empty"),
    ],
)
def test_mistakes_get_a_cure(capsys, words, cure):
    with pytest.raises(SystemExit) as stopped:
        main(["explain", *words])

    assert stopped.value.code == 2
    assert cure in capsys.readouterr().err


def test_without_words_it_shows_how_it_is_used(capsys):
    assert main(["explain"]) == 2
    assert "usage: toolfault explain" in capsys.readouterr().err
    assert main(["explain", "--help"]) == 0
    assert "usage: toolfault explain" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["KeyboardInterrupt", "GeneratorExit"])
def test_what_ends_a_program_is_not_answered(capsys, name):
    found = explain(capsys, name)

    assert found["failure"] is None
    assert "is not answered" in found["notes"][-1]


def test_a_fault_is_its_own_rule_and_a_cancellation_has_a_note(capsys):
    fault, cancelled = explain(capsys, "toolfault.ToolFault"), explain(capsys, "asyncio.CancelledError")

    assert facts(fault["failure"])[3:] == ("envelope", "errors.py", "the envelope that the author raised")
    assert cancelled["notes"] == ["A cancellation that the client asked for is not answered at all."]
    assert explain(capsys, "SystemExit")["notes"] == []


def test_every_builtin_exception_is_explained():
    classes = [
        value for value in vars(builtins).values() if isinstance(value, type) and issubclass(value, BaseException)
    ]

    values = [to_json(explain_class(Found(cls), Made())) for cls in classes]

    assert [error.message for value in values for error in SCHEMA.iter_errors(value)] == []


def test_every_row_of_every_table_is_explained_or_names_its_package():
    unexplained = []
    for row in DEFAULT:
        try:
            value = to_json(explain_class(find_class(row), Made(status=500)))
        except UnknownClassError as exc:
            unexplained.append((row, str(exc)))
            continue
        assert list(SCHEMA.iter_errors(value)) == []

    assert unexplained == []


@given(st.text(min_size=1, max_size=200))
def test_a_text_is_read_as_parse_reads_it(text):
    explained = explain_text(text).reading
    fault = parse({"isError": True, "content": [{"type": "text", "text": text}]})

    assert explained.fault.envelope == fault.envelope
    assert explained.rules


VECTORS = [
    case["input"]
    for name in ("extract-error", "read-prose")
    for case in json.loads((SPECS / "vectors" / f"{name}.json").read_text(encoding="utf-8"))["cases"]
]


def test_each_answer_of_the_specification_is_explained_as_it_is_read():
    explained = 0
    for vector in VECTORS:
        answer = vector.get("result") or vector.get("answer")
        if answer is None:
            answer = result(vector["text"])
        fault = parse(answer)
        if not isinstance(answer, dict) or fault is None:
            continue
        reading = explain_answer(answer).reading
        explained += 1
        assert reading.fault.envelope == fault.envelope
        assert reading.rules
        assert {rule.kind for rule in reading.rules}.isdisjoint({"step"})

    assert explained > 150


def test_no_failure_that_is_made_up_is_logged(caplog):
    with caplog.at_level(logging.DEBUG):
        explain_class(find_class("ValueError"), Made("a secret: hunter2"))

    assert caplog.records == []


def test_a_trace_restores_what_watched_before():
    seen = []

    def watch(_frame, event, _value):
        seen.append(event)

    sys.setprofile(watch)
    try:
        with Trace():
            pass
        restored = sys.getprofile()
    finally:
        sys.setprofile(None)

    assert restored is watch


def test_instances_carry_what_they_were_given():
    import httpx  # noqa: PLC0415 -- a package of the tests

    exc = make_exception(httpx.HTTPStatusError, Made("late", 503, (("Retry-After", "9"),)))

    assert (str(exc), exc.response.status_code, exc.response.headers.get("retry-after")) == ("late", 503, "9")


def test_each_row_has_a_table():
    assert {row for row in DEFAULT if table_of(row) is None} == set()
    assert qualified_name(ValueError) in DEFAULT


# ---- a real process


def run(*words, data=b"", **environment):
    return subprocess.run(
        [sys.executable, "-m", "toolfault", "explain", *words],
        input=data,
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )


def test_a_process_explains_a_class_in_plain_text():
    ended = run("httpx.ConnectTimeout")

    assert (ended.returncode, ended.stderr) == (0, b"")
    lines = ended.stdout.decode().splitlines()
    assert "code         internal" in lines
    assert "decided by   table: httpx.ConnectTimeout (rules/httpx.py)" in lines


def test_a_process_reads_standard_input_and_files(tmp_path):
    answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result("HTTP 429: slow down")}).encode()
    file = tmp_path / "answer.json"
    file.write_bytes(b"\xef\xbb\xbf" + answer)

    piped, read = run("--json", "--file", "-", data=answer), run("--json", "--file", str(file))

    assert piped.returncode == read.returncode == 0
    assert piped.stdout == read.stdout
    assert json.loads(read.stdout)["failure"]["code"] == McpErrorCode.QUOTA_EXCEEDED


def test_a_terminal_without_unicode_gets_escapes():
    ended = run("Größe zu groß: 限制 \x1b[31mred \u202e", PYTHONIOENCODING="ascii", PYTHONUTF8="0")

    assert ended.returncode == 0
    assert ended.stdout.isascii()
    assert b"\x1b" not in ended.stdout


def test_the_trace_costs_other_commands_nothing():
    code = "import sys, toolfault.cli; toolfault.cli.main(['--version']); print('toolfault._read' in sys.modules)"

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert ended.stdout.splitlines()[-1] == "False"
