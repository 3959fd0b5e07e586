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
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn

from toolfault._json import is_array
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
the text of an error, the end of a traceback, or JSON: a result, a JSON-RPC answer or error, an
envelope, or a stream of events with one.

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

#: How a traceback begins, and the status in the message of an HTTP client's exception.
_TRACEBACK: Final = "Traceback (most recent call last):"
_STATUS: Final = re.compile(r"(?i)(?:error|status|code|http)[ :=]{1,3}['\"]?([45][0-9]{2})\b")

#: The fields of a server-sent event besides its data, and its comments.
_EVENT: Final = re.compile(r"(?:event|id|retry)?:(?!\s*\{)|\Z")

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
    if not given.text:
        found = _find_class(text.strip(), made)
        if found is not None:
            return explain_class(*found)
    if made != Made():
        raise TypeError("--message, --status and --header are for an exception class")
    if not text.strip():
        raise TypeError("there is nothing to explain: the text is empty")
    return _explain_answers([] if given.text else read_messages(text), text, given.tool)


def _explain_answers(values: list[Any], text: str, tool: str | None) -> Explanation:
    """
    Explain the first failure among some JSON values, or the text if there are none.
    """
    if not values:
        return explain_text(text, tool)
    if len(values) == 1 and isinstance(values[0], str):
        return explain_text(values[0], tool)
    found = [explain_answer(value, tool) for value in values[:_MAX_MESSAGES]]
    failed = [one for one in found if one.reading is not None]
    explanation = (failed or found)[0]
    if len(found) == 1:
        return explanation
    note = f"The first failure among {len(values)} messages." if failed else ""
    return replace(explanation, notes=(*explanation.notes, *filter(None, [note])))


#: How many messages of a stream are looked at.
_MAX_MESSAGES: Final = 1000


def _find_class(text: str, made: Made) -> tuple[Found, Made] | None:
    """
    Return the class that a text names, and what to construct it with; None if it is a text.
    """
    if is_class_name(text):
        return find_class(text), made
    if text.startswith(_TRACEBACK):
        # Its last line that is not indented names the class.
        text = [line for line in text.splitlines() if line.strip() and not line[0].isspace()][-1]
    raised = _RAISED.fullmatch(text)
    if raised is None or not is_class_name(raised[1]):
        return None
    try:
        found = find_class(raised[1])
    except UnknownClassError:
        return None
    said = _STATUS.search(raised[2])
    status = made.status or (None if said is None else int(said[1]))
    return found, Made(made.message or raised[2], status, made.headers)


def _read_file(name: str) -> str:
    if name == "-":
        return sys.stdin.buffer.read(_MAX_FILE).decode("utf-8-sig", errors="replace")
    with Path(name).open("rb") as file:
        return file.read(_MAX_FILE).decode("utf-8-sig", errors="replace")


def read_messages(text: str) -> list[Any]:
    """
    Return the JSON values in a text: one value, one a line, or those of a stream of events.

    Empty if the text is not JSON, or a word or a number that may be a text.

    Args:
        text: What was pasted, or stands in a file.
    """
    if text.lstrip().startswith(("{", "[", '"')):
        value = _parse_json(text)
        if is_array(value) and len(value) == 1:
            # An answer in a batch of one.
            return list(value)
        if value is not None:
            return [value]
    lines = (line.strip() for line in text.splitlines())
    data = [line.removeprefix("data:") for line in lines if _EVENT.match(line) is None]
    values = [_parse_json(line) for line in data]
    return values if all(isinstance(value, dict) for value in values) else []


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


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
