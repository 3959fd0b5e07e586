"""
The command ``toolfault check``.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

from toolfault.check._model import LEVELS, ExitCode, Outcome, Report, to_json
from toolfault.check._run import OpenClient, Options, Run, UnknownToolError, describe


if TYPE_CHECKING:
    from toolfault.check._client import Client


_HELP: Final = """\
usage: toolfault check [options] -- COMMAND [ARGUMENTS]
       toolfault check [options] URL

Provoke an MCP server's failures, and tell how much a program and a model learn from them.
No tool is called with arguments that its schema allows, unless --calls says so.

options:
  --level N              the level to reach, 1 to 5 (1): answered, flagged, useful and clean,
                         machine-readable, declared
  --tool NAME            NAME only reads, although it has no readOnlyHint; may be repeated
  --allow-write NAME     provoke NAME although it writes; may be repeated
  --no-upstream          the server calls no other service, so none can be down
  --timeout SECONDS      for each answer (10)
  --total SECONDS        for the whole check (300)
  --through-gateway      check the server alone and behind 'toolfault gateway', side by side
  --dry-run              show what would be sent, and call no tool
  --json                 print the report as JSON

exit codes: 0 the level is reached, 1 findings, 2 usage, 3 the server did not start,
            4 nothing could be provoked

examples:
  toolfault check -- python server.py
  toolfault check --level 3 --tool search -- npx -y some-mcp-server
  toolfault check --json https://example.com/mcp > report.json
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"toolfault check: {message}; see toolfault check --help.\n")
        raise SystemExit(ExitCode.USAGE)


def _make_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="toolfault check", add_help=False, allow_abbrev=False)
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("--level", type=int, choices=tuple(LEVELS), default=1)
    parser.add_argument("--tool", action="append", default=[])
    parser.add_argument("--allow-write", action="append", default=[])
    parser.add_argument("--no-upstream", action="store_true")
    parser.add_argument("--timeout", type=_seconds, default=10.0)
    parser.add_argument("--total", type=_seconds, default=300.0)
    parser.add_argument("--through-gateway", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("target", nargs="*")
    return parser


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


def main(arguments: Sequence[str]) -> int:
    """
    Check a server; return the exit code.

    Args:
        arguments: The command line behind ``toolfault check``.
    """
    from toolfault.check._client import NotStartedError  # noqa: PLC0415 -- not for --help

    parser = _make_parser()
    given = parser.parse_args(arguments)
    if given.help or not given.target:
        (sys.stdout if given.help else sys.stderr).write(_HELP)
        return ExitCode.CLEAN if given.help else ExitCode.USAGE
    try:
        return _check(given)
    except UnknownToolError as exc:
        parser.error(str(exc))
    except NotStartedError as exc:
        sys.stderr.write(f"toolfault check: {exc}\n")
        return ExitCode.NOT_STARTED


def _check(given: argparse.Namespace) -> int:
    options = Options(
        level=given.level,
        timeout=given.timeout,
        total=given.total,
        tools=frozenset(given.tool),
        writing=frozenset(given.allow_write),
        has_upstream=not given.no_upstream,
    )
    run = _make_run(given.target, options)
    if given.dry_run:
        return _show_plan(run)
    report = run.check()
    reports = [report]
    if given.through_gateway:
        reports.append(_make_run(_behind_gateway(given.target), options).check())
    if given.json:
        found: Any = [to_json(one) for one in reports] if len(reports) > 1 else to_json(report)
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        sys.stdout.write("\n".join(_describe(one) for one in reports))
    return reports[-1].exit_code


def _make_run(target: Sequence[str], options: Options) -> Run:
    if len(target) == 1 and target[0].startswith(("http://", "https://")):
        return Run(target[0], _open_http(target[0]), options, is_http=True)
    return Run(shlex.join(target), partial(_open_stdio, tuple(target)), options)


def _open_stdio(command: Sequence[str], env: Mapping[str, str], *, is_modern: bool) -> Client:
    from toolfault.check._client import StdioClient  # noqa: PLC0415 -- not for --help

    return StdioClient(command, env, is_modern=is_modern)


def _open_http(url: str) -> OpenClient:
    from toolfault.check._http import HttpClient  # noqa: PLC0415 -- loads an HTTP client

    def open_client(env: Mapping[str, str], *, is_modern: bool) -> Client:
        del env
        return HttpClient(url, is_modern=is_modern)

    return open_client


def _behind_gateway(target: Sequence[str]) -> list[str]:
    words = [sys.executable, "-m", "toolfault", "gateway"]
    if len(target) == 1 and target[0].startswith(("http://", "https://")):
        return [*words, target[0]]
    return [*words, "--", *target]


def _show_plan(run: Run) -> int:
    plan = run.plan()
    for provocation in (*plan.provocations, *plan.modern):
        sys.stdout.write(json.dumps(describe(provocation)) + "\n")
    for name, reason in plan.reasons.items():
        sys.stdout.write(json.dumps({"tool": name, "not_provoked": reason}) + "\n")
    return ExitCode.CLEAN


def _describe(report: Report) -> str:
    """
    Return a report as plain text.
    """
    reached = report.reached_level
    lines = [f"{report.server} ({report.protocol}): level {reached}{_name_of(reached)}"]
    for result in report.results:
        if result.outcome in (Outcome.PASS, Outcome.NOT_PROVOKED):
            continue
        where = f" {result.tool}" if result.tool else ""
        lines.append(f"{result.outcome.value.upper()} {result.check}{where}")
        lines += [f"    {finding.provocation}: {finding.fault}" for finding in result.findings[:3]]
    counts = ", ".join(f"{report.count(outcome)} {outcome.value}" for outcome in Outcome)
    return "\n".join([*lines, counts, ""])


def _name_of(level: int) -> str:
    return f" ({LEVELS[level]})" if level else ""
