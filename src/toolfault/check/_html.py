"""
A report as one HTML page that needs nothing else: no script, no font, no request.

Rule 1: every text goes through `_text`, whoever wrote it; the page forbids itself to load anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from toolfault.check._model import CHECKS, LEVELS, Check, CheckResult, Outcome, Report, ToolSeen
from toolfault.check._summary import (
    MAX_TOOLS,
    WORDS,
    CheckView,
    LevelView,
    State,
    Trouble,
    compare,
    coverage_of,
    headline_of,
    iter_troubles,
    levels_of,
    plain,
)


#: How many results are described.
_MAX_TROUBLES: Final = 300

_STYLE: Final = """\
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#57606a;--line:#d0d7de;--card:#f6f8fa;
--pass:#1a7f37;--fail:#cf222e;--warn:#8a5a00;--none:#6e7781;
--pass-bg:#dafbe1;--fail-bg:#ffebe9;--warn-bg:#fff8c5;--none-bg:#eaeef2}
@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--dim:#9198a1;--line:#30363d;
--card:#161b22;--pass:#56d364;--fail:#ff7b72;--warn:#e3b341;--none:#9198a1;
--pass-bg:#12261e;--fail-bg:#2d1517;--warn-bg:#272115;--none-bg:#21262d}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:60rem;padding:1rem;background:var(--bg);color:var(--fg);
font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0}h2{font-size:1.15rem;margin:2rem 0 .5rem}
.chip,thead th{overflow-wrap:normal}table.flat th{overflow-wrap:anywhere}
.dim{color:var(--dim)}code{font:.875em ui-monospace,monospace}
ol.levels{list-style:none;margin:1rem 0;padding:0;display:grid;gap:.4rem}
ol.levels li{border:1px solid var(--line);border-left:.5rem solid var(--c);border-radius:.4rem;
padding:.5rem .75rem;background:var(--card)}
.pass{--c:var(--pass);--b:var(--pass-bg)}.fail{--c:var(--fail);--b:var(--fail-bg)}
.warn{--c:var(--warn);--b:var(--warn-bg)}.none{--c:var(--none);--b:var(--none-bg)}
.chip{display:inline-block;margin:.15rem .25rem .15rem 0;padding:0 .5rem;border-radius:1rem;
border:1px solid var(--c);background:var(--b);color:var(--c);font-size:.85rem}
.state{float:right;color:var(--c);font-weight:600}
.wide{overflow-x:auto;border:1px solid var(--line);border-radius:.4rem}
table{border-collapse:collapse;font-size:.85rem;width:100%}
th,td{border-bottom:1px solid var(--line);padding:.25rem .4rem;text-align:center}
th:first-child,td:first-child{text-align:left;min-width:9rem}
thead th{writing-mode:vertical-rl;transform:rotate(180deg);text-align:left;font-weight:500}
thead th:first-child{writing-mode:horizontal-tb;transform:none;vertical-align:bottom}
table.flat thead th{writing-mode:horizontal-tb;transform:none}
td.cell{background:var(--b);color:var(--c);font-weight:700}
details{border:1px solid var(--line);border-left:.5rem solid var(--c);border-radius:.4rem;
margin:.5rem 0;padding:.5rem .75rem;background:var(--card)}
summary{cursor:pointer;font-weight:600}
dl{margin:.5rem 0;display:grid;grid-template-columns:max-content 1fr;gap:.2rem .75rem}
dt{color:var(--dim)}dd{margin:0;min-width:0}
@media(max-width:40rem){dl{grid-template-columns:1fr}dd{margin-bottom:.4rem}.state{float:none;
display:block}}
"""

_HEAD: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none';style-src 'unsafe-inline';\
img-src data:">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
"""

#: By outcome: the class of the style, and what a cell shows without colours.
_CELLS: Final[dict[Outcome | None, tuple[str, str]]] = {
    Outcome.PASS: ("pass", "✓"),
    Outcome.FAIL: ("fail", "✗"),
    Outcome.WARN: ("warn", "!"),
    Outcome.NOT_PROVOKED: ("none", "-"),
    None: ("none", ""),
}

_STATES: Final = {
    State.REACHED: "pass",
    State.FAILED: "fail",
    State.NOT_PROVOKED: "none",
    State.BELOW: "none",
}

_LEGEND: Final = "✓ passed, ✗ failed, ! could be better, - not provoked"


def to_html(reports: Sequence[Report]) -> str:
    """
    Return reports as one HTML page.

    Args:
        reports: The reports; with several a table compares them.
    """
    title = f"Failures of {plain(reports[0].server, 200)}" if reports else "toolfault check"
    parts = [_HEAD.format(title=_text(title), style=_STYLE)]
    if len(reports) > 1:
        parts += _comparison(reports)
    for report in reports:
        parts += _section(report)
    return "\n".join((*parts, "</body>", "</html>", ""))


def _section(report: Report) -> Iterator[str]:
    yield "<section>"
    yield f"<h1>Failures of {_text(report.server, 200)}: {_text(headline_of(report))}</h1>"
    yield (
        f'<p class="dim"><code>{_text(report.target)}</code><br>MCP {_text(report.protocol, 100)},'
        f" {report.seconds:.0f} s, toolfault {_text(report.toolfault)},"
        f" asked for level {report.asked_level}</p>"
    )
    yield f"<p>{_counts(report)}</p>"
    yield from _levels(report)
    yield from _tools(report)
    yield from _troubles(report)
    yield from _assumptions(report)
    yield "</section>"


def _counts(report: Report) -> str:
    chips = (
        f'<span class="chip {_CELLS[outcome][0]}">{report.count(outcome)} {WORDS[outcome]}</span>'
        for outcome in Outcome
    )
    return "".join(chips)


# ---- the levels


def _levels(report: Report) -> Iterator[str]:
    yield "<h2>Levels</h2>"
    yield '<ol class="levels">'
    for level in levels_of(report):
        yield from _level(level)
    yield "</ol>"


def _level(level: LevelView) -> Iterator[str]:
    name = f"{level.number} {level.name}" if level.number in LEVELS else level.name
    style = _STATES[level.state] if level.number in LEVELS else "none"
    yield f'<li class="{style}">'
    if level.number in LEVELS:
        yield f'<span class="state">{level.state.value}</span>'
    yield f"<strong>{name}</strong><br>"
    yield "".join(_chip(view) for view in level.checks)
    yield "</li>"


def _chip(view: CheckView) -> str:
    style, mark = _CELLS[view.outcome]
    told = view.reason or view.check.title
    return (
        f'<span class="chip {style}" title="{_text(told)}">{mark or "n/a"} {view.check.id}</span>'
    )


# ---- the tools


def _tools(report: Report) -> Iterator[str]:
    """
    Yield the picture of which tools were provoked, and what came of it.
    """
    yield "<h2>Tools</h2>"
    yield f"<p>{_text(coverage_of(report))}</p>"
    by_tool = _by_tool(report.results)
    checks = [check for check in CHECKS if any(check.id in row for row in by_tool.values())]
    if not checks:
        return
    yield f'<p class="dim">{_LEGEND}</p>'
    yield '<div class="wide" tabindex="0" role="region" aria-label="Checks by tool"><table>'
    heads = "".join(f"<th>{check.id}</th>" for check in checks)
    yield f"<thead><tr><th>tool</th>{heads}</tr></thead>"
    yield "<tbody>"
    if None in by_tool:
        yield _row("(the server)", "", by_tool[None], checks)
    for tool in report.tools[:MAX_TOOLS]:
        yield _row(tool.name, _why(tool), by_tool.get(tool.name, {}), checks)
    yield "</tbody></table></div>"
    if len(report.tools) > MAX_TOOLS:
        yield f"<p>… and {len(report.tools) - MAX_TOOLS} more tools.</p>"


def _why(tool: ToolSeen) -> str:
    return "" if tool.may_run else tool.reason or "not provoked"


def _by_tool(results: Iterable[CheckResult]) -> dict[str | None, dict[str, CheckResult]]:
    found: dict[str | None, dict[str, CheckResult]] = {}
    for result in results:
        found.setdefault(result.tool, {})[result.check] = result
    return found


def _row(name: str, why: str, row: dict[str, CheckResult], checks: Sequence[Check]) -> str:
    note = f'<br><span class="dim">{_text(why, 200)}</span>' if why else ""
    cells = "".join(_cell(row.get(check.id)) for check in checks)
    return f"<tr><td><code>{_text(name, 100)}</code>{note}</td>{cells}</tr>"


def _cell(result: CheckResult | None) -> str:
    if result is None:
        return "<td></td>"
    style, mark = _CELLS[result.outcome]
    told = result.reason or f"{result.check}: {WORDS[result.outcome]}"
    return f'<td class="cell {style}" title="{_text(told, 200)}">{mark}</td>'


# ---- what is wrong


def _troubles(report: Report) -> Iterator[str]:
    troubles = list(iter_troubles(report))
    yield "<h2>Findings</h2>"
    if not troubles:
        yield "<p>Nothing that was provoked is wrong.</p>"
    for trouble in troubles[:_MAX_TROUBLES]:
        yield from _trouble(trouble)
    if len(troubles) > _MAX_TROUBLES:
        yield f"<p>… and {len(troubles) - _MAX_TROUBLES} more.</p>"


def _trouble(trouble: Trouble) -> Iterator[str]:
    style, mark = _CELLS[trouble.outcome]
    check = trouble.check
    where = f" of <code>{_text(trouble.tool)}</code>" if trouble.tool else ""
    is_open = " open" if trouble.outcome is Outcome.FAIL else ""
    yield f'<details class="{style}"{is_open}>'
    yield f"<summary>{mark} {check.id}{where}: {_text(check.title)}</summary>"
    for finding in trouble.findings:
        yield "<dl>"
        yield f"<dt>What is wrong</dt><dd>{_text(finding.fault)}</dd>"
        yield f"<dt>Provoked by</dt><dd><code>{_text(finding.provocation, 200)}</code></dd>"
        yield f"<dt>Sent</dt><dd><code>{_text(finding.sent)}</code></dd>"
        yield f"<dt>Came</dt><dd><code>{_text(finding.received) or 'nothing'}</code></dd>"
        yield "</dl>"
    if trouble.left_out:
        yield f"<p>… and {trouble.left_out} more like it.</p>"
    yield f"<dl><dt>Why it matters</dt><dd>{_text(check.why)}</dd>"
    yield f"<dt>What to change</dt><dd>{_text(check.cure)}</dd></dl>"
    yield "</details>"


def _assumptions(report: Report) -> Iterator[str]:
    if not report.assumptions:
        return
    yield "<h2>Assumed</h2>"
    yield f"<ul>{''.join(f'<li>{_text(one)}</li>' for one in report.assumptions)}</ul>"


def _comparison(reports: Sequence[Report]) -> Iterator[str]:
    yield "<h1>Side by side</h1>"
    yield f'<p class="dim">{_LEGEND}</p>'
    yield '<div class="wide" tabindex="0" role="region" aria-label="Side by side">'
    yield '<table class="flat">'
    heads = "".join(f"<th>{_text(report.target, 80)}</th>" for report in reports)
    yield f"<thead><tr><th>check</th>{heads}</tr></thead><tbody>"
    for check, outcomes in compare(reports):
        cells = "".join(
            f'<td class="cell {_CELLS[outcome][0]}">{_CELLS[outcome][1]}</td>'
            for outcome in outcomes
        )
        yield f"<tr><td>{check.id}</td>{cells}</tr>"
    reached = "".join(f"<td><strong>{report.reached_level}</strong></td>" for report in reports)
    yield f"<tr><td><strong>level</strong></td>{reached}</tr>"
    yield "</tbody></table></div>"


def _text(text: object, limit: int = 600) -> str:
    """
    Return a text on one line with all that HTML could take for markup as references.
    """
    return escape(plain(text, limit), quote=True)
