"""
The command ``toolfault check``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

from toolfault._options import did_you_mean
from toolfault.check._calls import CallsError, load_calls
from toolfault.check._client import NotStartedError, StdioClient
from toolfault.check._model import LEVELS, ExitCode, Outcome, Report, to_json
from toolfault.check._plan import OpenClient, OptionError, Options
from toolfault.check._run import Run, describe
from toolfault.cli.gateway import UsageError, parse_header, read_headers


if TYPE_CHECKING:
    from toolfault.check._client import Client


_HELP: Final = """\
usage: toolfault check [options] -- COMMAND [ARGUMENTS]
       toolfault check [options] URL

Provoke an MCP server's failures, and tell how much a program and a model learn from them.
No tool is called with arguments that its schema allows, unless --call says so.

options:
  --level N              the level to reach, 1 to 5 (1): answered, flagged, useful and clean,
                         machine-readable, declared
  --tool NAME            NAME only reads, although it has no readOnlyHint; may be repeated
  --allow-write NAME     provoke NAME although it writes; may be repeated
  --no-upstream          the server calls no other service, so none can be down
  --break VARIABLE       point VARIABLE of the server's environment to an upstream that is down;
                         such as API_URL or HTTPS_PROXY; may be repeated
  --call FILE            make the calls in a TOML file: [[call]] tool, arguments, code, retryable,
                         upstream; with --break, those without a code in each way to be down
  --header NAME=VARIABLE send a header whose value is in an environment variable (URL only)
  --timeout SECONDS      for each answer (10)
  --start SECONDS        for the server's start (60)
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

_SCHEMES: Final = ("http://", "https://")

#: The most that an option of time may hold, in seconds.
_DAY: Final = 86_400

#: How much of our deadline the gateway gets, so that its answer comes in time.
_SHARE: Final = 0.8


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
    parser.add_argument("--break", action="append", default=[], dest="breaks", type=_variable)
    parser.add_argument("--call")
    parser.add_argument("--header", action="append", default=[], type=_header)
    parser.add_argument("--timeout", type=_seconds, default=10.0)
    parser.add_argument("--start", type=_seconds, default=60.0)
    parser.add_argument("--total", type=_seconds, default=300.0)
    parser.add_argument("--through-gateway", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--json", action="store_true")
    return parser


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < _DAY:
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, not {text[:100]!r}")
    return value


def _variable(text: str) -> str:
    if not text.isidentifier() or not text.isascii():
        raise argparse.ArgumentTypeError(
            f"must be the name of an environment variable, not {text[:100]!r}"
        )
    return text


def _header(text: str) -> tuple[str, str]:
    try:
        return parse_header(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(f"{exc}, not {text[:100]!r}") from None


#: The names of all options.
_OPTIONS: Final = tuple(word for word in _HELP.split() if word.startswith("--") and len(word) > 2)


def main(arguments: Sequence[str]) -> int:
    """
    Check a server; return the exit code.

    Args:
        arguments: The command line behind ``toolfault check``.
    """
    parser = _make_parser()
    given, target = _parse(parser, arguments)
    if given.help or not arguments:
        (sys.stdout if given.help else sys.stderr).write(_HELP)
        return ExitCode.CLEAN if given.help else ExitCode.USAGE
    try:
        _refuse_missing(target)
        return _check(given, target)
    except (OptionError, CallsError, UsageError) as exc:
        parser.error(str(exc))
    except NotStartedError as exc:
        sys.stderr.write(f"toolfault check: {exc}\n")
        return ExitCode.NOT_STARTED


def _parse(
    parser: argparse.ArgumentParser, arguments: Sequence[str]
) -> tuple[argparse.Namespace, list[str]]:
    """
    Return the options, and the command behind the first ``--`` or the URL.
    """
    given = list(arguments)
    place = given.index("--") if "--" in given else len(given)
    options, rest = parser.parse_known_args(given[:place])
    command = given[place + 1 :]
    urls = [word for word in rest if word.startswith(_SCHEMES)]
    for word in rest:
        if word not in urls:
            parser.error(_describe_unknown(word))
    if len(urls) + bool(command) > 1:
        parser.error("give one URL, or a command behind --")
    return options, command or urls


def _describe_unknown(word: str) -> str:
    if not word.startswith("-"):
        return f"write -- before the server's command: toolfault check -- {word}"
    return f"unknown option {word}{did_you_mean(word, _OPTIONS)}"


def _refuse_missing(target: list[str]) -> None:
    if not target:
        raise UsageError(
            "the server's command is missing: toolfault check -- COMMAND, "
            "or its URL: toolfault check URL"
        )


def _check(given: argparse.Namespace, target: list[str]) -> int:
    options = Options(
        level=given.level,
        timeout=given.timeout,
        start=given.start,
        total=given.total,
        tools=frozenset(given.tool),
        writing=frozenset(given.allow_write),
        calls=load_calls(given.call) if given.call else (),
        breaks=tuple(given.breaks),
        has_upstream=not given.no_upstream,
    )
    headers = dict(given.header)
    run = _make_run(target, options, headers)
    if given.dry_run:
        return _show_plan(run)
    report = run.check()
    reports = [report]
    if given.through_gateway:
        behind = _behind_gateway(target, options, headers)
        reports.append(_make_run(behind, options, {}).check())
    if given.json:
        found: Any = [to_json(one) for one in reports] if len(reports) > 1 else to_json(report)
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        sys.stdout.write("\n".join(_describe(one) for one in reports))
    return reports[-1].exit_code


def _is_url(target: Sequence[str]) -> bool:
    return len(target) == 1 and target[0].startswith(_SCHEMES)


def _make_run(target: Sequence[str], options: Options, headers: Mapping[str, str]) -> Run:
    if _is_url(target):
        opened = _open_http(target[0], read_headers(headers, os.environ))
        return Run(target[0], opened, options, is_http=True)
    if headers:
        raise UsageError("--header is for a URL; give a command its secrets by the environment")
    return Run(shlex.join(target), partial(StdioClient, tuple(target)), options)


def _open_http(url: str, headers: Mapping[str, str]) -> OpenClient:
    from toolfault.check._http import HttpClient  # noqa: PLC0415 -- loads an HTTP client
    from toolfault.gateway._mcp_headers import Marked  # noqa: PLC0415 -- for URLs only

    marked = Marked()

    def open_client(env: Mapping[str, str], *, is_modern: bool) -> Client:
        del env
        return HttpClient(url, headers, is_modern=is_modern, marked=marked)

    return open_client


def _behind_gateway(
    target: Sequence[str], options: Options, headers: Mapping[str, str]
) -> list[str]:
    """
    Return the command of a gateway in front of a server, that answers before we give up.
    """
    words = [sys.executable, "-m", "toolfault", "gateway"]
    words += ["--timeout", f"{options.timeout * _SHARE:g}"]
    if not _is_url(target):
        return [*words, "--", *target]
    for name, variable in headers.items():
        words += ["--header", f"{name}={variable}"]
    return [*words, target[0]]


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
