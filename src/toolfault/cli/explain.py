"""
The command ``toolfault explain``.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from toolfault._text import clean, one_line
from toolfault.cli._classes import Found, Made, UnknownClassError, find_class, is_class_name
from toolfault.cli._explanation import (
    Explanation,
    Reading,
    explain_answer,
    explain_class,
    explain_text,
    to_json,
)


_HELP: Final = """\
usage: toolfault explain [options] CLASS
       toolfault explain [options] TEXT
       toolfault explain [options] --file FILE

Tell what a failure means: its code, whether a client would repeat the call, what a model reads,
and which rule decided. CLASS is an exception class, as httpx.ConnectTimeout or ValueError. TEXT is
the text of an error, or a JSON object: a result, a JSON-RPC answer or error, or an envelope.

options:
  --file FILE            read the text or the JSON from FILE; '-' is standard input
  --text                 TEXT is a text, although it looks like a class or like JSON
  --message TEXT         construct the exception with TEXT
  --status N             give the exception an answer with this HTTP status
  --header NAME:VALUE    give that answer a header, as 'Retry-After: 30'; may be repeated
  --tool NAME            the tool that was called; its name is no evidence
  --json                 print the explanation as JSON

exit codes: 0 explained, 1 not a failure, 2 usage

examples:
  toolfault explain httpx.ConnectTimeout
  toolfault explain httpx.HTTPStatusError --status 429 --header 'Retry-After: 30'
  toolfault explain 'Rate limit reached, try again in 20 seconds'
  toolfault explain --json --file answer.json
"""

_EXPLAINED: Final = 0
_NO_FAILURE: Final = 1
_USAGE: Final = 2

#: The last line of a traceback: a class and its message.
_RAISED: Final = re.compile(r"([A-Za-z_][\w.]*): (.*)", re.DOTALL)

#: The longest file that is read, in bytes.
_MAX_FILE: Final = 64 * 2**20

_WIDTH: Final = 96


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"toolfault explain: {message}\n")
        raise SystemExit(_USAGE)


def _make_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="toolfault explain", add_help=False, allow_abbrev=False)
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("--file")
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--message")
    parser.add_argument("--status", type=_status)
    parser.add_argument("--header", action="append", type=_header, default=[])
    parser.add_argument("--tool")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("subject", nargs="*")
    return parser


def _status(text: str) -> int:
    if not re.fullmatch(r"[1-5][0-9]{2}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is not an HTTP status, such as 429")
    return int(text)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not re.fullmatch(r"[\w-]+", name.strip(), re.ASCII) or not value.isprintable():
        raise argparse.ArgumentTypeError(
            f"write NAME:VALUE, such as 'Retry-After: 30', not {text!r}"
        )
    return name.strip(), value.strip()


def main(arguments: Sequence[str]) -> int:
    """
    Explain a failure; return the exit code.

    Args:
        arguments: The command line behind ``toolfault explain``.
    """
    parser = _make_parser()
    given = parser.parse_args(arguments)
    if given.help or not (given.subject or given.file):
        (sys.stdout if given.help else sys.stderr).write(_HELP)
        return _EXPLAINED if given.help else _USAGE
    if given.subject and given.file:
        parser.error("give --file or a text, not both")
    try:
        explanation = _explain(given)
    except (UnknownClassError, TypeError, OSError) as exc:
        parser.error(_describe_error(exc))
    _write(json.dumps(to_json(explanation), indent=2) if given.json else _render(explanation))
    return _NO_FAILURE if explanation.reading is None else _EXPLAINED


def _describe_error(exc: Exception) -> str:
    if isinstance(exc, OSError):
        return f"can't read {exc.filename!r}: {exc.strerror}"
    return str(exc)


def _explain(given: argparse.Namespace) -> Explanation:
    """
    Explain what a command line asks about.

    Raises:
        UnknownClassError: There is no such class.
        TypeError: The JSON is no answer, or an option does not fit what was given.
        OSError: The file can't be read.
    """
    text = _read_file(given.file) if given.file else " ".join(given.subject)
    made = Made(given.message, given.status, tuple(given.header))
    if not given.text and not given.file:
        found = _find_class(text, made)
        if found is not None:
            return explain_class(*found)
    if made != Made():
        raise TypeError("--message, --status and --header are for an exception class")
    if not text.strip():
        raise TypeError("there is nothing to explain: the text is empty")
    value = None if given.text else _read_json(text)
    if value is None or isinstance(value, str):
        return explain_text(value or text, given.tool)
    return explain_answer(value, given.tool)


def _find_class(text: str, made: Made) -> tuple[Found, Made] | None:
    """
    Return the class that a text names, and what to construct it with; None if it is a text.
    """
    if is_class_name(text):
        return find_class(text), made
    raised = _RAISED.fullmatch(text)
    if raised is None or not is_class_name(raised[1]):
        return None
    try:
        found = find_class(raised[1])
    except UnknownClassError:
        return None
    return found, Made(made.message or raised[2], made.status, made.headers)


def _read_file(name: str) -> str:
    if name == "-":
        return sys.stdin.buffer.read(_MAX_FILE).decode("utf-8-sig", errors="replace")
    with Path(name).open("rb") as file:
        return file.read(_MAX_FILE).decode("utf-8-sig", errors="replace")


def _read_json(text: str) -> Any:
    """
    Return the JSON value in a text; None: it is not JSON, or a word or number that may be a text.
    """
    if not text.lstrip().startswith(("{", "[", '"')):
        return None
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    # An answer in a batch of one.
    return value[0] if isinstance(value, list) and len(value) == 1 else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] -- of JSON


# ---- text


def _write(text: str) -> None:
    """
    Write a text, also to terminals and files that cannot show all of its characters.
    """
    stdout: object = sys.stdout
    if isinstance(stdout, io.TextIOWrapper):
        stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write(f"{text}\n")


#: What stands before a reading elsewhere.
_WHERE: Final = {
    "author": "raised on purpose by the tool's author",
    "client": "raised in the client, on its way to the server",
}

_KINDS: Final = {"read_only": "a tool that only reads", "write": "a tool that writes"}


def _render(explanation: Explanation) -> str:
    lines = [explanation.subject]
    if explanation.reading is None:
        lines.append("Not a failure.")
    else:
        lines += _render_reading(explanation.reading)
    for other in explanation.elsewhere:
        lines += ["", f"Otherwise, if it is {_WHERE[other.where]}:", f"  {_summarize(other)}"]
        lines += [f"  decided by {rule}" for rule in other.rules]
    if explanation.notes:
        lines.append("")
    for note in explanation.notes:
        lines += textwrap.wrap(note, _WIDTH)
    return "\n".join(lines)


def _render_reading(reading: Reading) -> Iterator[str]:
    envelope = reading.fault.envelope
    wait = envelope.retry_after_seconds
    yield ""
    yield f"code         {envelope.code}"
    yield f"category     {envelope.category}"
    yield f"retryable    {_yes(envelope.retryable)}"
    yield f"wait         {'none asked for' if wait is None else f'{wait} s'}"
    for place, rule in enumerate(reading.rules):
        yield f"{'             ' if place else 'decided by   '}{rule}"
    yield ""
    yield "A model reads:"
    for line in clean(reading.model).splitlines():
        yield from textwrap.wrap(line, _WIDTH, initial_indent="  | ", subsequent_indent="  | ") or [
            "  |"
        ]
    yield ""
    yield "Would a client repeat the call?"
    for kind, one in reading.repeats.items():
        after = "" if not one.wait else f", after {one.wait:g} s"
        yield f"  {_KINDS[kind]:<24}{_yes(one.repeats)}{after}: {one.reason}"


def _summarize(reading: Reading) -> str:
    envelope = reading.fault.envelope
    retryable = "retryable" if envelope.retryable else "not retryable"
    return f"{envelope.code}, {envelope.category}, {retryable}: {one_line(clean(envelope.message))}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
