"""
The checker's page in a headless Chromium, which npm brings: it asks for nothing, and fits a phone.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from toolfault.check._html import to_html
from toolfault.check._model import CHECKS, CheckResult, Finding, Outcome, Report, ToolSeen


FOLDER = Path(__file__).parent / "node" / "page"

HOSTILE = (
    "<script>alert(1)</script><img src=http://127.0.0.1:9/x onerror=alert(2)>\"'><svg/onload=alert(3)>"
    "<style>@import 'http://127.0.0.1:9/y'</style><link rel=stylesheet href=http://127.0.0.1:9/z>\u202e\x1b[31m "
)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """
    What the browser saw of a hostile page, and of one that does all that ours must not do.
    """
    if shutil.which("npm") is None:
        pytest.skip("the page is not opened: npm is not on this machine")
    if not (FOLDER / "node_modules").is_dir():
        words = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
        subprocess.run(words, cwd=FOLDER, check=True, capture_output=True, timeout=600)
    folder = tmp_path_factory.mktemp("pages")
    hostile, bad = folder / "hostile.html", folder / "bad.html"
    hostile.write_text(to_html([make_report(HOSTILE), make_report("x" * 500)]), encoding="utf-8")
    bad.write_text(f"<body style='width:5000px'>{HOSTILE}<script>console.error(4)</script>", encoding="utf-8")
    ended = subprocess.run(
        ["node", "page.mjs", str(hostile), str(bad), "--shots", str(folder)],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    seen = json.loads(ended.stdout)
    return {"hostile": seen[:4], "bad": seen[4:]}


def make_report(text):
    finding = Finding(text, text, text, text)
    results = [
        CheckResult(check.id, text, Outcome.FAIL, findings=(finding,) * 3, provoked=3)
        for check in CHECKS
        if check.id != "http-status"
    ]
    tools = (ToolSeen(text, {}, may_run=True), ToolSeen("other", {}, may_run=False, reason=text))
    return Report(text, text, text, tools, tuple(results), {"http-status": text}, 3, (text,))


def test_the_page_asks_for_nothing_and_runs_nothing(opened):
    for seen in opened["hostile"]:
        assert (seen["requests"], seen["complaints"], seen["scripts"]) == ([], [], 0)


def test_the_page_fits_a_phone_and_a_desk(opened):
    assert [seen["overflow"] for seen in opened["hostile"]] == [0, 0, 0, 0]
    assert {seen["headings"] for seen in opened["hostile"]} == {3}
    assert min(seen["cells"] for seen in opened["hostile"]) > 2 * (len(CHECKS) - 1)


def test_the_page_is_light_or_dark_as_the_reader_wants(opened):
    by_scheme = {(seen["scheme"], seen["background"]) for seen in opened["hostile"]}

    assert by_scheme == {("light", "rgb(255, 255, 255)"), ("dark", "rgb(13, 17, 23)")}


def test_the_browser_would_have_seen_it(opened):
    for seen in opened["bad"]:
        assert seen["requests"]
        assert any("dialog" in one for one in seen["complaints"])
        assert seen["overflow"] > 0
