"""
The formats of a report, with hostile texts in every field.
"""

import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolfault.check._baseline import compare_with
from toolfault.check._formats import FORMATS, FilesError, refuse_unwritable, to_json_text, write_files
from toolfault.check._html import to_html
from toolfault.check._junit import to_junit
from toolfault.check._markdown import to_markdown
from toolfault.check._model import CHECKS, LEVELS, CheckResult, Finding, Outcome, Report, ToolSeen, to_json
from toolfault.check._sarif import to_sarif
from toolfault.check._summary import SHOWN, State, levels_of, plain
from toolfault.check._terminal import ProgressLine, iter_lines, write_report


PASS, FAIL, WARN, NOT_PROVOKED = Outcome.PASS, Outcome.FAIL, Outcome.WARN, Outcome.NOT_PROVOKED

SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).parents[2] / "specs" / "check-report.schema.json").read_text(encoding="utf-8"))
)

HOSTILE = [
    "<script>alert(1)</script><img src=http://evil.example/x onerror=alert(1)>",
    "\"'><svg/onload=alert(1)>",
    "]]><failure/>&lol; <!ENTITY x SYSTEM 'file:///etc/passwd'>",
    "| a | b |\n## heading\n![x](http://evil.example) [y](javascript:z) @everyone `code` <!-- ",
    "\x1b[31mred\x1b]0;title\x07 \x00\x08\x0b\x7f\x9b \u202eabc\u2066 \ufeff",
    "lone \ud800 surrogate \udfff, \uffff \ufffe",
    "```\n</code></details>\n```",
    "a" * 1_000_000,
    "\u202e" * 100_000,
    "{peer} %s {0} \\",
]


def make_report(text="text", **changed):
    """
    A report with something of every kind, and one text in all fields that a server or a caller fills.
    """
    finding = Finding(f"missing-argument:{text}", text, text, f"It is wrong: {text}")
    results = [CheckResult(check.id, None, PASS, provoked=1) for check in CHECKS if check.id != "http-status"]
    results[1] = CheckResult("survives", text, FAIL, findings=(finding,) * 5, provoked=5)
    results += [
        CheckResult("refused", text, WARN, findings=(replace(finding, received=""),), provoked=1),
        CheckResult("refused", "other", NOT_PROVOKED, reason=f"Nobody said so: {text}"),
    ]
    tools = (ToolSeen(text, {}, may_run=True), ToolSeen("other", {}, may_run=False, reason=text))
    report = Report(
        text,
        text,
        text,
        tools,
        tuple(results),
        {"http-status": f"Over stdio. {text}"},
        3,
        (f"Assumed: {text}",),
        1.25,
    )
    return replace(report, **changed)


def written(reports, **environment):
    stream = io.StringIO()
    write_report(reports, stream, environment)
    return stream.getvalue()


# ---- what each format must be


class Page(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data):
        self.texts.append(data)


def check_html(page):
    found = Page(page)
    assert set(found.tags) == set(Page(to_html([make_report()])).tags)
    names = {name for _, name, _ in found.attributes}
    assert names <= {
        *("charset", "class", "content", "http-equiv", "lang", "name", "open", "rel", "href", "role", "tabindex"),
        *("title", "aria-label"),
    }
    assert [value for _, name, value in found.attributes if name == "href"] == ["data:,"]
    assert not re.search(r"url\(|@import|src=", page.partition("<style>")[2].partition("</style>")[0])
    return page


def check_junit(text):
    root = ET.fromstring(text)  # noqa: S314 -- our own
    assert {element.tag for element in root.iter()} <= {
        *("testsuites", "testsuite", "testcase", "properties", "property", "failure", "skipped", "system-out"),
    }
    return text


def check_markdown(text):
    outside = re.sub(r"<code>[A-Za-z0-9 ,&#;]*</code>", "", text)
    assert not re.search(r"evil|javascript|everyone|script|heading", outside)
    assert set(re.findall(r"</?(\w+)", outside)) <= {"details", "summary"}
    return text


def check_sarif(text):
    log = json.loads(text)
    assert log["version"] == "2.1.0"
    for run in log["runs"]:
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        for result in run["results"]:
            assert rules[result["ruleIndex"]] == result["ruleId"]
            assert result["level"] in {"none", "note", "warning", "error"}
            assert result["kind"] in {"pass", "fail", "notApplicable"}
            assert result["level"] == "none" or result["kind"] == "fail"
            assert result["message"]["text"]
    return text


def check_badge(text):
    root = ET.fromstring(text)  # noqa: S314 -- our own
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return text


LOOKS = {
    "html": check_html,
    "junit": check_junit,
    "markdown": check_markdown,
    "sarif": check_sarif,
    "badge": check_badge,
}


def test_each_format_is_looked_at():
    assert LOOKS.keys() == FORMATS.keys()


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_leave_each_format_whole_and_small(name, text):
    shown = LOOKS[name](FORMATS[name]([make_report(text), make_report()]))

    shown.encode("utf-8")
    assert len(shown) < 200_000
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]", shown)


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=60))
def test_any_text_leaves_each_format_whole(text):
    for name, look in LOOKS.items():
        look(FORMATS[name]([make_report(text)])).encode("utf-8")


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("columns", ["20", "72", "400", "nonsense"])
def test_hostile_texts_leave_the_terminal_alone(text, columns):
    shown = written([make_report(text)], COLUMNS=columns)

    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]", shown)
    assert max(map(len, shown.splitlines())) <= 100
    assert len(shown) < 50_000


# ---- what they say


def test_the_report_is_what_its_schema_says():
    for text in HOSTILE[:7]:
        assert list(SCHEMA.iter_errors(to_json(make_report(text)))) == []
    assert list(SCHEMA.iter_errors(json.loads(to_json_text([make_report(), make_report()])))) == []
    assert list(SCHEMA.iter_errors({**to_json(make_report()), "score": 100}))


def test_junit_counts_failures_and_skips_what_was_not_provoked():
    suite = ET.fromstring(to_junit([make_report()]))[0]  # noqa: S314 -- our own
    cases = suite.findall("testcase")

    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (str(len(cases)), "1", "1")
    assert [case.get("name") for case in cases if case.find("failure") is not None] == ["survives [text]"]
    assert [case.get("name") for case in cases if case.find("skipped") is not None] == ["refused [other]"]
    assert {case.get("classname") for case in cases} == {f"toolfault.level{n}" for n in range(6)}


@pytest.mark.parametrize("write", [to_markdown, to_html, written])
def test_each_finding_says_what_was_sent_what_came_why_and_how_to_mend(write):
    finding = Finding("wrong-type:n", "SENT-IT", "CAME-BACK", "It-is-wrong.")
    report = make_report(results=(CheckResult("no-trace", "reads", FAIL, findings=(finding,), provoked=1),))
    check = next(check for check in CHECKS if check.id == "no-trace")

    shown = " ".join(write([report]).replace("&#45;", "-").replace("&#46;", ".").replace("&#58;", ":").split())

    for part in ("SENT-IT", "CAME-BACK", "It-is-wrong.", "wrong-type:n", "reads", check.cure):
        assert " ".join(part.split()) in shown


def test_sarif_has_a_result_for_each_finding():
    results = json.loads(to_sarif([make_report()]))["runs"][0]["results"]

    assert [one["level"] for one in results if one["ruleId"] == "survives"] == ["error"] * 5
    assert len({one["partialFingerprints"]["toolfault/v1"] for one in results if one["ruleId"] == "refused"}) == 3


@pytest.mark.parametrize("level", range(6))
def test_the_badge_says_the_level(level):
    results = tuple(
        CheckResult(check.id, None, PASS if 0 < check.level <= level else NOT_PROVOKED, "", provoked=1)
        for check in CHECKS
    )
    report = make_report(results=results, not_applicable={})

    assert f"level {level}" in FORMATS["badge"]([report])
    assert LEVELS.get(level, "level 0") in FORMATS["badge"]([report])


def test_levels_tell_failed_not_provoked_and_below_apart():
    results = {check.id: CheckResult(check.id, None, PASS, provoked=1) for check in CHECKS}
    results["refused"] = CheckResult("refused", None, FAIL, findings=(Finding("a", "b", "c", "d"),))
    results["honest-cause"] = CheckResult("honest-cause", None, NOT_PROVOKED, "no --break")
    report = make_report(results=tuple(results.values()), not_applicable={})

    assert [level.state for level in levels_of(report)][:5] == [
        State.REACHED,
        State.FAILED,
        State.NOT_PROVOKED,
        State.BELOW,
        State.BELOW,
    ]


def test_each_check_links_to_a_page_that_there_is():
    pages = {page.stem for page in (Path(__file__).parents[2] / "docs" / "checks").glob("*.md")}
    linked = re.findall(r"\]\(https://toolfault.github.io/checks/([a-z-]+)\.html\)", to_markdown([make_report()]))

    assert len(linked) == len(CHECKS) - 1
    assert set(linked) <= pages


def test_two_reports_are_compared():
    better = make_report(
        target="behind the gateway",
        results=tuple(CheckResult(check.id, None, PASS, provoked=1) for check in CHECKS),
    )
    for shown in (to_markdown([make_report(), better]), to_html([make_report(), better])):
        assert "Side by side" in shown
    assert "survives         FAIL   pass" in written([make_report(), better])


@pytest.mark.parametrize(("given", "shown"), [("a\nb\tc", "a b c"), ("x" * 5000, "x" * SHOWN + "…"), ("", "")])
def test_texts_are_cut_and_on_one_line(given, shown):
    assert plain(given) == shown


def test_ten_thousand_tools_leave_the_page_small():
    tools = tuple(ToolSeen(f"tool{n}", {}, may_run=False, reason="It writes.") for n in range(10_000))
    results = tuple(CheckResult("refused", tool.name, NOT_PROVOKED, "It writes.") for tool in tools)
    page = to_html([make_report(tools=tools, results=results)])

    assert "and 9800 more tools" in page
    assert len(page) < 100_000


# ---- streams


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "has_colours"),
    [
        (Terminal, {"TERM": "xterm"}, True),
        (Terminal, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (Terminal, {"TERM": "dumb"}, False),
        (io.StringIO, {"TERM": "xterm"}, False),
    ],
)
def test_colours_are_for_terminals_alone(monkeypatch, stream, environment, has_colours):
    for name in ("NO_COLOR", "TERM", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    shown = stream()
    write_report([make_report()], shown)

    assert ("\x1b[" in shown.getvalue()) is has_colours


def test_the_text_is_the_same_with_and_without_colours(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured, bare = Terminal(), io.StringIO()
    for stream in (coloured, bare):
        write_report([make_report("[bold]:smile:[/bold] 12 http://x")], stream)

    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured.getvalue()) == bare.getvalue()


def test_an_ascii_stream_gets_escapes():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    write_report([make_report("Größe 限制")], stream)
    stream.flush()

    assert b"Gr\\xf6\\xdfe" in raw.getvalue()


def test_progress_is_shown_on_a_terminal_and_silent_in_ci():
    shown = {}
    for name, stream, environment in (
        ("terminal", Terminal(), {"COLUMNS": "40"}),
        ("ci", Terminal(), {"CI": "true"}),
        ("pipe", io.StringIO(), {}),
    ):
        line = ProgressLine(stream, environment)
        line("missing-argument:\x1b[31mü" + "x" * 100, 3, 12)
        line.close()
        shown[name] = stream.getvalue()

    assert shown["ci"] == shown["pipe"] == ""
    assert shown["terminal"].startswith("\r[3/12] missing-argument:")
    assert max(map(len, shown["terminal"].split("\r"))) == 39
    assert shown["terminal"].isascii()


def test_every_line_has_a_text_or_is_empty():
    lines = list(iter_lines([make_report()]))

    assert any(line.head == "  mend: " for line in lines)
    assert all("\n" not in line.text for line in lines)


# ---- files


def test_files_are_written_and_a_step_summary_is_added_to(tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    files = {name: str(tmp_path / f"report.{name}") for name in FORMATS}
    files |= {"markdown": str(summary), "badge": str(tmp_path / "badge.json")}

    write_files([compare_with(make_report(), frozenset())], files, str(summary))

    assert summary.read_text(encoding="utf-8").startswith("before\n## Failures of")
    assert json.loads((tmp_path / "badge.json").read_text()) == {
        "schemaVersion": 1,
        "label": "failures",
        "message": "level 0",
        "color": "red",
    }
    assert {path.name for path in tmp_path.iterdir()} == {
        *("summary.md", "badge.json", "report.html", "report.junit", "report.sarif")
    }


def test_a_missing_folder_is_named_before_the_check(tmp_path):
    with pytest.raises(FilesError, match="there is no folder"):
        refuse_unwritable({"html": str(tmp_path / "none" / "x.html")})
    with pytest.raises(FilesError, match="can't write"):
        write_files([compare_with(make_report(), frozenset())], {"html": str(tmp_path)})
