"""
The command ``toolfault check``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import signal
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from toolfault._options import did_you_mean
from toolfault.check._baseline import (
    BaselineError,
    Compared,
    Known,
    compare_with,
    read_baseline,
    write_baseline,
)
from toolfault.check._calls import CallsError, load_calls
from toolfault.check._client import NotStartedError, StdioClient
from toolfault.check._formats import (
    FORMATS,
    FilesError,
    refuse_unwritable,
    to_json_text,
    write_files,
)
from toolfault.check._model import LEVELS, ExitCode, Report
from toolfault.check._plan import OpenClient, OptionError, Options
from toolfault.check._run import Run, describe
from toolfault.check._summary import plain
from toolfault.check._terminal import ProgressLine, write_report
from toolfault.cli._check_config import Config, read_check_config
from toolfault.cli._toml import TomlError
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
  --junit FILE           write JUnit XML: a case per check and tool
  --markdown FILE        write Markdown; "$GITHUB_STEP_SUMMARY" is added to
  --html FILE            write one page that needs nothing else
  --badge FILE           write an SVG; a name in .json: JSON for an endpoint badge of shields.io
  --sarif FILE           write SARIF 2.1.0
  --baseline FILE        fail on new findings only, and on entries that are no longer true
  --update-baseline      write all failures into the baseline
  --config FILE          read options from the table [check] of FILE; without it from
                         toolfault.toml, or from [tool.toolfault.check] of pyproject.toml

exit codes: 0 the level is reached, 1 findings, 2 usage, 3 the server did not start,
            4 nothing could be provoked

examples:
  toolfault check -- python server.py
  toolfault check --level 3 --tool search -- npx -y some-mcp-server
  toolfault check --json https://example.com/mcp > report.json
  toolfault check --level 2 --baseline known.json --markdown "$GITHUB_STEP_SUMMARY"
"""

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_SCHEMES: Final = ("http://", "https://")

#: The most that an option of time may hold, in seconds.
_DAY: Final = 86_400

#: How much of our deadline the gateway gets, so that its answer comes in time.
_SHARE: Final = 0.8


class _Parser(argparse.ArgumentParser):
    #: The file whose options are parsed; "" for those of the command line.
    source = ""

    def error(self, message: str) -> NoReturn:
        where = f"{self.source}: " if self.source else ""
        sys.stderr.write(f"toolfault check: {where}{message}; see toolfault check --help.\n")
        raise SystemExit(ExitCode.USAGE)


def _make_parser() -> _Parser:
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
    for name in FORMATS:
        parser.add_argument(f"--{name}")
    parser.add_argument("--baseline")
    parser.add_argument("--update-baseline", action="store_true")
    parser.add_argument("--config")
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
    said, words = _parse(parser, arguments)
    if said.help:
        sys.stdout.write(_HELP)
        return ExitCode.CLEAN
    try:
        given, config = _with_config(parser, said)
        target = words or list(config.target)
        if not arguments and not target:
            sys.stderr.write(_HELP)
            return ExitCode.USAGE
        _refuse_missing(target)
        return _check(given, target)
    except (OptionError, CallsError, UsageError, TomlError, BaselineError, FilesError) as exc:
        parser.error(str(exc))
    except NotStartedError as exc:
        sys.stderr.write(f"toolfault check: {exc}\n")
        return ExitCode.NOT_STARTED
    except _Ended as exc:
        number: int = exc.args[0]
        return 128 + number


def _parse(
    parser: argparse.ArgumentParser, arguments: Sequence[str]
) -> tuple[argparse.Namespace, list[str]]:
    """
    Return what the command line says, None for the rest, and the command or the URL.
    """
    given = list(arguments)
    place = given.index("--") if "--" in given else len(given)
    unsaid = dict.fromkeys(vars(parser.parse_args([])))
    options, rest = parser.parse_known_args(given[:place], argparse.Namespace(**unsaid))
    command = given[place + 1 :]
    urls = [word for word in rest if word.startswith(_SCHEMES)]
    for word in rest:
        if word not in urls:
            parser.error(_describe_unknown(word))
    if len(urls) + bool(command) > 1:
        parser.error("give one URL, or a command behind --")
    return options, command or urls


def _with_config(parser: _Parser, said: argparse.Namespace) -> tuple[argparse.Namespace, Config]:
    """
    Return the options, of which those of the command line replace those of a project's file.

    Raises:
        TomlError: As `read_check_config`.
    """
    defaults = vars(parser.parse_args([]))
    # "break" is a keyword.
    known = {
        name.removesuffix("s") if name == "breaks" else name.replace("_", "-"): value
        for name, value in defaults.items()
    }
    config = read_check_config(said.config, known, Path.cwd())
    parser.source = config.file
    options = vars(parser.parse_args(config.words))
    parser.source = ""
    options |= {name: value for name, value in vars(said).items() if value is not None}
    return argparse.Namespace(**options), config


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
    files = {name: getattr(given, name) for name in FORMATS if getattr(given, name)}
    refuse_unwritable(files)
    baseline = _read_baseline(given)
    runs = [run]
    if given.through_gateway:
        runs.append(_make_run(_behind_gateway(target, options, headers), options, {}))
    reports = _run_all(runs)
    if given.update_baseline:
        count = write_baseline(given.baseline, reports)
        sys.stderr.write(f"{given.baseline}: {count} known findings\n")
        baseline = read_baseline(given.baseline)
    compared = [compare_with(report, baseline) for report in reports]
    return _publish(compared, files, as_json=given.json)


def _read_baseline(given: argparse.Namespace) -> frozenset[Known]:
    if given.update_baseline:
        if not given.baseline:
            raise UsageError("--update-baseline needs --baseline FILE")
        return frozenset()
    return read_baseline(given.baseline) if given.baseline else frozenset()


def _run_all(runs: Sequence[Run]) -> list[Report]:
    line = ProgressLine(sys.stderr, os.environ)
    reports: list[Report] = []
    try:
        with _raise_on_signals():
            for run in runs:
                run.progress = line
                reports.append(run.check())
    finally:
        line.close()
    return reports


class _Ended(BaseException):
    """
    A signal ended the check; it holds the signal's number.
    """


@contextmanager
def _raise_on_signals() -> Generator[None]:
    """
    Raise where a signal would end the process, so that servers that were started end with it.
    """

    def stop(number: int, _frame: object) -> NoReturn:
        raise _Ended(number)

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _publish(compared: Sequence[Compared], files: Mapping[str, str], *, as_json: bool) -> int:
    """
    Write reports wherever they were asked for; return the exit code of the last.

    Raises:
        FilesError: A file can't be written.
    """
    reports = [one.report for one in compared]
    write_files(compared, files, os.environ.get("GITHUB_STEP_SUMMARY"))
    try:
        if as_json:
            sys.stdout.write(to_json_text(reports))
        else:
            write_report(reports, sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        # Nobody reads on, as behind "head"; the interpreter would complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    last = compared[-1]
    if last.known:
        for entry in last.new:
            sys.stderr.write(f"new: {plain(entry)}\n")
        sys.stderr.write(f"{last.known} findings are known, {len(last.new)} are new\n")
    for entry in last.stale:
        sys.stderr.write(f"the baseline has an entry that is no longer true: {plain(entry)}\n")
    return last.exit_code


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
    for name, kinds in plan.skipped.items():
        sys.stdout.write(json.dumps({"tool": name, "skipped": dict(kinds)}) + "\n")
    return ExitCode.CLEAN
