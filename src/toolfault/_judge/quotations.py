"""
What libraries say of what they refused, less what is known to leak.

Rule 1: command lines, whole URLs, rows, statements with their values, headers and bodies are cut
out; what else a library says stays.
Rule 2: a diagnosis is what a database, a parser or a program said of what it was given, never what
an upstream answered.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any, Final

from toolfault._names import qualified_name
from toolfault._redact.paths import last_component
from toolfault._text import one_line, safe_repr, safe_str, text_of
from toolfault._verdict import Verdict
from toolfault.rules._helpers import attr, dict_attr, first_argument, int_attr, str_attr


#: How much of a text is looked at, in characters.
_MAX_TEXT: Final = 20_000

#: How much of a program's output is shown: the last lines, and characters of them.
_LAST_LINES: Final = 3
_MAX_OUTPUT: Final = 300


def quotable(exc: BaseException, verdict: Verdict, redact: Callable[[str], str]) -> str:
    """
    Return an exception's own text as an author may quote it.

    Args:
        exc: The exception that is quoted.
        verdict: What the tables say of it.
        redact: Removes secrets from a path before it is shortened: its context goes with the rest.
    """
    text = text_of(exc)[:_MAX_TEXT]
    for cls in type(exc).__mro__:
        cleaner = _QUOTABLE.get(qualified_name(cls))
        if cleaner is not None:
            return cleaner(exc, text)
    if isinstance(exc, OSError):
        return _file(exc, text, redact)
    if verdict.family == "database":
        return _database(exc, text)
    if verdict.family in {"http", "network", "timeout"}:
        return _web(exc, text)
    return text


def diagnosis(exc: BaseException, verdict: Verdict) -> str:
    """
    Return the diagnosis of a database, a parser or a program; "" if it has none.

    Args:
        exc: The exception that tells it.
        verdict: What the tables say of it.
    """
    for cls in type(exc).__mro__:
        reader = _DIAGNOSES.get(qualified_name(cls))
        if reader is not None:
            return reader(exc)
    if verdict.family == "database":
        return one_line(_database(exc, text_of(exc)[:_MAX_TEXT]))
    return ""


# ---- databases

_rows = re.compile(
    r"^(?:DETAIL|CONTEXT|QUERY|WHERE|STATEMENT|LINE [0-9]+): .*(?:\n(?!HINT:).*)*"
    r"|^\[(?:SQL|parameters|generated in).*(?:\n(?!HINT:).*)*"
    r"|^\(Background on this error.*",
    re.MULTILINE,
).sub
_values = re.compile(
    r"(?<=Duplicate entry )'.*?'(?= for key)"
    r"|(?<=Key )\([^()]{1,200}\)=\(.*?\)"
    r"|(?<=Duplicate key )\".*?\"(?= violates)"
    r"|The duplicate key value is \(.*?\)\.?"
    r"|(?<=query argument )(\$\d{1,5}: ).*"
    r"|(?<=args beginning with: ).*"
    r"|^Command # \d{1,9} \(.*?\) of pipeline caused error: "
    r"|(?<=contains )\(.*\)"
    r"|(?<=value: )['\"].*?['\"](?= for column)",
    re.DOTALL,
).sub
_literal = re.compile(r'"[^"\n]*"').sub
_connection = re.compile(
    r"connection (?:to server|failed|is bad)|could not connect|Can't connect"
).search


def _database(exc: BaseException, text: str) -> str:
    """
    Return the words of a database, without rows, statements and its address.
    """
    driver = attr(exc, "orig")
    if isinstance(driver, BaseException) and driver is not exc:
        return _database(driver, text_of(driver)[:_MAX_TEXT])
    if driver is None and attr(exc, "statement") is not None:
        return ""  # SQLAlchemy's own words, around a statement.
    for cls in type(exc).__mro__:
        reader = _DATABASES.get(qualified_name(cls))
        if reader is not None:
            return reader(exc)
    match list(exc.args):
        case [int(number), str(message), *_]:
            text = f"{message} ({number})"  # MySQL's drivers
        case _:
            pass
    words = _primary(exc) or _values("…", _rows("", text)).strip()
    if str(str_attr(exc, "sqlstate")).startswith("22"):
        words = _literal('"…"', words)
    return "" if _connection(words) else words


def _primary(exc: BaseException) -> str:
    """
    Return the parts of a PostgreSQL error that hold no rows.
    """
    holder = attr(exc, "diag") or exc
    message = str_attr(holder, "message_primary") or str_attr(exc, "message")
    if not message or str_attr(exc, "sqlstate") is None:
        return ""
    column = str_attr(holder, "column_name")
    hint = str_attr(holder, "message_hint") or str_attr(exc, "hint")
    parts = [message, f"(column {column})" if column and column not in message else ""]
    return " ".join([*filter(None, parts), *([f"HINT: {hint}"] if hint else [])])


_cut_by_mongodb = re.compile(r" dup key: .*| full error: .*", re.DOTALL).sub
_said_by_clickhouse = re.compile(r"DB::Exception: (.{1,2000}?)(?= \(version |$)", re.DOTALL).search
_file_of_duckdb = re.compile(r"(?:file|path) [\"'](?:[^\"'\n]*/)").sub


def _mongodb(exc: BaseException) -> str:
    """
    Return the words of a MongoDB server; pymongo's own texts hold hosts.
    """
    words = dict_attr(exc, "details").get("errmsg")
    return one_line(_cut_by_mongodb("", words)) if isinstance(words, str) else ""


def _clickhouse(exc: BaseException) -> str:
    """
    Return the words of a ClickHouse server; its client's own texts hold addresses.
    """
    found = _said_by_clickhouse(text_of(exc)[:_MAX_TEXT])
    return one_line(found[1]) if found else ""


def _duckdb(exc: BaseException) -> str:
    text = _values("…", _rows("", text_of(exc)[:_MAX_TEXT]))
    return one_line(_file_of_duckdb("file '", text))


#: By the class that says it: databases whose clients add hosts, rows or files to what they said.
_DATABASES: Final[dict[str, Callable[[BaseException], str]]] = {
    "_duckdb.Error": _duckdb,
    "clickhouse_connect.driver.exceptions.ClickHouseError": _clickhouse,
    "pymongo.errors.PyMongoError": _mongodb,
}


# ---- HTTP

_url = re.compile(
    r"(?:\b[a-z][a-z0-9+.-]{1,20}:)?//[^\s'\"<>]+|(?<=url: )/[^\s'\"<>]+", re.IGNORECASE
).sub
_dump = re.compile(
    r"\s*(?:HTTP response (?:headers|body)|\b(?:headers|body|response)\b\s*[:=]|[{<]).*", re.DOTALL
).sub


def _web(_exc: BaseException, text: str) -> str:
    """
    Return an HTTP library's text without URLs, headers and bodies.
    """
    return _url("[url]", _dump("", text.partition("\nFor more information")[0])).strip()


# ---- programs


#: The fewest characters by which a command line is recognised that an author cut.
_RECOGNISED: Final = 24

#: How often a command line is cut out of one text.
_MAX_CUTS: Final = 8

_COMMAND: Final = "[command]"

#: How the text begins that `subprocess` makes, which is a command line for the rest.
_SAID_BY_SUBPROCESS: Final = "Command '"


def cut_command(exc: BaseException, text: str) -> str:
    """
    Return a text without the command line of a failed program, however it is spelled.

    Args:
        exc: The exception that the program's failure raised; others have no command line.
        text: Any text, which may quote the command line, or its beginning.
    """
    for spelled in _spellings(attr(exc, "cmd")):
        text = _cut(spelled, text)
    return text


def words_over_command(exc: BaseException, text: str) -> str:
    """
    Return the words of an author's class on a failed program; "" for those of `subprocess`.
    """
    return "" if text.startswith(_SAID_BY_SUBPROCESS) else cut_command(exc, text)


def _spellings(command: Any) -> Iterator[str]:
    """
    Yield the usual ways to write a command line; a single word is none.
    """
    if isinstance(command, list | tuple):
        words = [safe_str(word) for word in command]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] -- a list of anything
        yield safe_repr(command)  # pyright: ignore[reportUnknownArgumentType] -- as above
        yield json.dumps(words)
        spelled = (shlex.join(words), " ".join(words))
    else:
        text = safe_str(command)
        spelled = (repr(text)[1:-1], text)
    yield from (text for text in spelled if " " in text.strip())


def _cut(spelled: str, text: str) -> str:
    at = 0
    for _ in range(_MAX_CUTS):
        at = text.find(spelled[:_RECOGNISED], at)
        if at < 0:
            break
        length = min(_RECOGNISED, len(spelled))
        while length < len(spelled) and text.startswith(spelled[length : length + 1], at + length):
            length += 1
        text = f"{text[:at]}{_COMMAND}{text[at + length :]}"
        at += len(_COMMAND)
    return text


def _command(exc: BaseException, text: str) -> str:
    """
    Return how a program ended, without its command line; or what an author's own class says of it.
    """
    if not text.startswith(_SAID_BY_SUBPROCESS):
        return cut_command(exc, text)
    status, seconds = int_attr(exc, "returncode"), attr(exc, "timeout")
    if status is None:
        return f"the command timed out after {seconds} seconds" if seconds else "the command failed"
    if status < 0:
        return f"the command was ended by signal {-status}"
    return f"the command returned non-zero exit status {status}"


def _output(exc: BaseException) -> str:
    """
    Return the last lines that a program wrote to its standard error, or to its output.
    """
    words = attr(exc, "stderr") or attr(exc, "output")
    if isinstance(words, bytes | bytearray):
        words = bytes(words[-_MAX_TEXT:]).decode("utf-8", "replace")
    return _last_lines(words) if isinstance(words, str) else ""


def _last_lines(words: str) -> str:
    lines = [line.strip() for line in words[-_MAX_TEXT:].splitlines() if line.strip()]
    text = " / ".join(lines[-_LAST_LINES:])
    return text if len(text) <= _MAX_OUTPUT else f"…{text[-_MAX_OUTPUT:]}"


_stderr_of_git = re.compile(r"^\s*stderr: '(.*)'\s*$", re.DOTALL).match


def _git_output(exc: BaseException) -> str:
    """
    Return the last lines of what Git wrote; GitPython keeps them with a label.
    """
    words = str_attr(exc, "stderr") or ""
    found = _stderr_of_git(words[:_MAX_TEXT])
    return _last_lines(found[1] if found else words)


# ---- parsers


def _first_argument_line(exc: BaseException) -> str:
    return one_line(first_argument(exc)[:_MAX_TEXT])


_input_value = re.compile(r", input_value=.*?, input_type=\w+(?=\]$)", re.MULTILINE).sub
_further = re.compile(r"^ +For further information visit .*\n?", re.MULTILINE).sub


def _validation(_exc: BaseException, text: str) -> str:
    return _further("", _input_value("", text)).strip()


def _first_line(_exc: BaseException, text: str) -> str:
    return text.partition("\n")[0]


def _file(exc: BaseException, text: str, redact: Callable[[str], str]) -> str:
    """
    Return an operating system's text with no more of a path than its last component.
    """
    for name in ("filename", "filename2"):
        path = attr(exc, name)
        if not isinstance(path, str) or "/" not in path.rstrip("/"):
            continue
        # The system's text holds the path as repr() spells it.
        last = last_component(redact(path))
        text = text.replace(path, last).replace(repr(path)[1:-1], repr(last)[1:-1])
    return text


def _message(name: str) -> Callable[[BaseException], str]:
    return lambda exc: str_attr(exc, name) or ""


#: By the class that says it: its text as it may be quoted.
_QUOTABLE: Final[dict[str, Callable[[BaseException, str], str]]] = {
    "subprocess.CalledProcessError": _command,
    "subprocess.TimeoutExpired": _command,
    "sqlalchemy.exc.StatementError": _database,
    "git.exc.CommandError": lambda exc, _: _git_output(exc),
    "pydantic_core._pydantic_core.ValidationError": _validation,
    "jsonschema.exceptions.ValidationError": _first_line,
    "urllib.error.HTTPError": _web,
    "builtins.ConnectionError": lambda _, text: text,
    "builtins.TimeoutError": lambda _, text: text,
}

#: By the class that says it: what a parser or a program said of what it was given.
_DIAGNOSES: Final[dict[str, Callable[[BaseException], str]]] = {
    "git.exc.CommandError": _git_output,
    "lxml.etree.LxmlSyntaxError": _first_argument_line,
    "pandas.errors.ParserError": _first_argument_line,
    "gitdb.exc.ODBError": text_of,
    "re.PatternError": _message("msg"),
    "re.error": _message("msg"),
    "subprocess.CalledProcessError": _output,
    "subprocess.TimeoutExpired": _output,
    "tomllib.TOMLDecodeError": first_argument,
    "xml.etree.ElementTree.ParseError": first_argument,
    "xml.parsers.expat.ExpatError": first_argument,
}
