"""
The program that measures the reader of failures, and where the labelled records are at hand, what it measures.
"""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from toolfault import McpErrorCode


HERE = Path(__file__).parent

#: Labelled records are kept beside the checkout, if at all.
CORPUS = HERE.parent.parent / "shared" / "cases" / "wire-corpus.json"


def load():
    spec = importlib.util.spec_from_file_location("wire_confusion", HERE / "wire_confusion.py")
    module = sys.modules["wire_confusion"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


wire = load()


# ---- made-up records


def record(server, text, label, *, shape="isError", call=None, outcome=None, **response):
    result = {"content": [{"type": "text", "text": text}, {"type": "image", "data": ""}], "isError": shape == "isError"}
    return {
        "server": f"{server} 1.0.0",
        "shape": shape,
        "call": call or {"tool": "find", "arguments": {"q": "x"}},
        "response": None if shape == "none" else response or {"result": result},
        "outcome": outcome or "answered",
        "label": label,
    }


def label(code, *, retryable=False, confidence="sure", **more):
    return {"is_failure": True, "code": code, "retryable": retryable, "confidence": confidence, **more}


#: Names of which the hash puts one into each half.
OPEN, ASIDE = "acme", "globex"

RECORDS = [
    record(OPEN, "Unknown tool: find", label("tool_not_found")),
    record(OPEN, "fetch failed", label("internal", retryable=True)),
    record(OPEN, "went odd", label("quota_exceeded", retryable=True, also_ok=["internal"], retryable_either=True)),
    record(OPEN, "went odd", label("permission_denied", confidence="doubtful")),
    record(OPEN, "", label("tool_timeout", retryable=True), shape="none", outcome="timeout"),
    record(
        OPEN,
        "",
        label("mcp_server_unreachable", retryable=True),
        shape="none",
        outcome="died",
        call={"tool": None, "arguments": "long"},
    ),
    record(OPEN, "", label("internal"), shape="none", outcome="died"),
    record(OPEN, "Error: no such page", label("invalid_arguments"), shape="result"),
    record(OPEN, "went odd", label("internal"), shape="result"),
    record(OPEN, "Error: said the file", {"is_failure": False}, shape="result"),
    record(OPEN, "3 rows", {"is_failure": False}, shape="result"),
    record(ASIDE, "", label("invalid_arguments"), shape="jsonrpc_error", error={"code": -32602, "message": "odd"}),
    record(ASIDE, "timed out", label("internal")),
]


@pytest.fixture
def corpus(tmp_path):
    def write(records):
        path = tmp_path / "records.json"
        path.write_text(records if isinstance(records, str) else json.dumps(records))
        return path

    return write


def test_the_halves_are_split_by_the_name_alone():
    """
    Another version of a server stays in its half.
    """
    assert (True, False) == (wire.is_open(f"{OPEN} 1.0.0"), wire.is_open(f"{ASIDE} 1.0.0"))
    assert wire.is_open(f"{OPEN} 2.0.0")


def test_scores(corpus):
    """
    Sure and likely labels are scored, other honest codes are right too, and what nobody noticed is wrong.
    """
    opened, aside = (wire.score(half) for half in wire.halves(wire.read(corpus(RECORDS))))

    assert (5, 4, 4) == (opened.records, opened.right, opened.exactly)
    assert (3, 0) == (opened.decidable, opened.retryable_wrong)
    assert (2, 1, 2, 1) == (opened.failures, opened.suspected, opened.successes, opened.false_alarms)
    assert (3, 2) == (opened.unanswered, opened.unanswered_right)
    assert ("internal", "unknown") in opened.table
    assert (2, 1, 1) == (aside.records, aside.right, aside.retryable_wrong)
    assert {("invalid_arguments", "invalid_arguments"): 1, ("internal", "tool_timeout"): 1} == dict(aside.table)


@pytest.mark.parametrize(
    ("outcome", "code"), [("timeout", McpErrorCode.TOOL_TIMEOUT), ("died", McpErrorCode.MCP_SERVER_UNREACHABLE)]
)
def test_what_a_session_raises_is_read(outcome, code):
    """
    The SDK's own errors, over a real session; whether anything was executed stays open.
    """
    fault = wire.unanswered(record(OPEN, "", None, shape="none", outcome=outcome))

    assert (fault.code, fault.found_in, fault.outcome) == (code, "jsonrpc_error", None)


@pytest.mark.parametrize(
    ("shape", "is_error", "said"),
    [("isError", False, "read as a success"), ("result", True, "read as a failure")],
)
def test_a_reader_that_goes_by_words_is_found_out(shape, is_error, said):
    """
    A flag makes a failure, and nothing else does.
    """
    odd = record(OPEN, "Error: odd", label("internal"), shape=shape)
    odd["response"]["result"]["isError"] = is_error

    with pytest.raises(AssertionError, match=said):
        wire.score([odd])


@pytest.mark.parametrize("flag", [True, "true"])
def test_a_flag_in_snake_case_counts_and_is_counted(flag):
    """
    It is read as a failure, and neither stops the program nor counts as a suspicion.
    """
    spelled = record(OPEN, "Unknown tool: find", label("tool_not_found"), shape="result")
    spelled["response"]["result"] = {"is_error": flag, "content": spelled["response"]["result"]["content"]}

    scores = wire.score([spelled])

    assert (scores.respelled, scores.failures, scores.right) == (1, 0, 1)


def test_the_program_prints_both_halves(corpus, monkeypatch, capsys):
    """
    For each half: shares, the exact classifier's beside them, the suspicion, and who was taken for whom.
    """
    monkeypatch.setenv("TOOLFAULT_WIRE", str(corpus(RECORDS)))

    wire.main()

    printed = capsys.readouterr().out
    assert "open half: 5 failures" in printed
    assert "set-aside half: 2 failures" in printed
    assert "code right        80.0%   (the exact classifier: 80.0%)" in printed
    assert "retryable wrong   50.0%   (1 of 2)" in printed
    assert "suspicion         50.0%   (1 of 2 success-shaped failures)" in printed
    assert "false alarms          1   (on 2 good results)" in printed
    assert "unanswered calls      2   (right, of 3 over a session)" in printed


def test_no_text_of_the_set_aside_half_is_printed(corpus, monkeypatch, capsys):
    """
    Only numbers leave it.
    """
    monkeypatch.setenv("TOOLFAULT_WIRE", str(corpus([record(ASIDE, "zebra crossing", label("internal"))])))

    wire.main()

    assert "zebra" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (None, "TOOLFAULT_WIRE is not set"),
        ("{", "is no JSON"),
        ({"cases": []}, "holds no list"),
        ([], "holds no list"),
        ([{"server": "a 1"}], "another form (KeyError: 'shape')"),
        ([RECORDS[0], {**RECORDS[0], "label": {"is_failure": True}}], "record 1"),
        ([{**RECORDS[0], "response": {"result": {"content": 3}}}], "another form"),
    ],
)
def test_another_file_is_refused_with_the_cure(records, said, corpus, monkeypatch):
    """
    What is missing or different is named, with what to do.
    """
    monkeypatch.delenv("TOOLFAULT_WIRE", raising=False)
    if records is not None:
        monkeypatch.setenv("TOOLFAULT_WIRE", str(corpus(records)))

    with pytest.raises(SystemExit) as ended:
        wire.main()

    assert said in str(ended.value)
    assert "TOOLFAULT_WIRE must name a file of labelled records" in str(ended.value)


def test_a_missing_file_is_named(tmp_path, monkeypatch):
    """
    A path that leads nowhere is said so.
    """
    monkeypatch.setenv("TOOLFAULT_WIRE", str(tmp_path / "nowhere.json"))

    with pytest.raises(SystemExit, match=r"nowhere\.json can't be read \(No such file or directory\)"):
        wire.main()


# ---- the real ones, where they are

if CORPUS.exists():

    @pytest.fixture(scope="module")
    def measured():
        return [wire.score(half) for half in wire.halves(wire.read(CORPUS))]

    def test_the_set_aside_half(measured):
        """
        On servers that no rule was written for: 92 % of codes, 2 % wrong on whether to retry.
        """
        _, aside = measured

        assert aside.records > 200
        assert aside.code_share >= 0.92
        assert aside.retryable_wrong_share <= 0.02
        assert aside.code_share > aside.exact_share

    def test_the_suspicion(measured):
        """
        Four in five success-shaped failures are noticed, with at most three false alarms.
        """
        failures, suspected, alarms = (
            sum(getattr(scores, name) for scores in measured) for name in ("failures", "suspected", "false_alarms")
        )

        assert suspected >= 0.8 * failures
        assert alarms <= 3

    def test_no_answer_was_too_odd_to_be_read(caplog):
        """
        The reader never raises; what it could not read, it would log.
        """
        for record in wire.read(CORPUS):
            if record["shape"] != "none":
                wire.fault_of(record)

        assert caplog.text == ""

    def test_calls_without_an_answer(measured):
        """
        A timeout is one, and a server that died is unreachable.
        """
        assert all(scores.unanswered_right == scores.unanswered > 0 for scores in measured)
