"""
The command ``toolfault gateway``.
"""

from __future__ import annotations

import importlib
import math
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolfault.gateway._calls import is_array
from toolfault.gateway._options import Options


if TYPE_CHECKING:
    from toolfault.gateway._session import Observer


class UsageError(Exception):
    """
    A mistake on the command line or in the options file; the text names the cure.
    """


_HELP: Final = """\
usage: toolfault gateway [options] -- COMMAND [ARGUMENTS]
       toolfault gateway [options] [--listen HOST:PORT] URL
       toolfault gateway wrap CONFIG [--server NAME] [--dry-run]
       toolfault gateway unwrap CONFIG [--server NAME] [--dry-run]
       toolfault gateway envoy --listen HOST:PORT [options]

Start an MCP server, or connect to one at a URL, and give its failures the envelope. The host is
served over stdio, or with --listen over HTTP. What is not a failure passes as the bytes that came.

options:
  --timeout SECONDS        answer a call after so long (55; 'none': never)
  --max-timeout SECONDS    let progress extend that deadline, to so long in all (off)
  --guidance HOW           advice for the model: block, inline or none (block)
  --disclosure HOW         text of failures: redacted, withheld or full (redacted)
  --protocol-errors HOW    JSON-RPC errors of calls: lift them into results, or keep (lift)
  --flag TOOL:REGEX        an unflagged result of TOOL ('*': any) with such text has failed
  --retry                  repeat failed calls where that is safe
  --idempotent TOOL        TOOL is safe to repeat, whatever its hints say
  --restart N              restart a dead server, N times in a row (0); one more each minute
  --max-line BYTES         the longest message (67108864)
  --log FILE               append one JSON line per failure
  --listen HOST:PORT       serve clients over HTTP: a reverse proxy (URL only)
  --allow-host NAME        a further name in Host and Origin that clients may use (--listen only)
  --otel                   trace and measure calls by OpenTelemetry (OTEL_* variables)
  --header NAME=VARIABLE   send a header whose value is in an environment variable (URL only)
  --config FILE            read options from the table [gateway] of a TOML file

examples:
  toolfault gateway -- npx -y @modelcontextprotocol/server-filesystem /data
  toolfault gateway --timeout 120 --restart 3 --log failures.jsonl -- python server.py
  toolfault gateway --flag 'search:^Error:' --retry -- uvx some-server
  toolfault gateway --header Authorization=API_TOKEN https://example.com/mcp
  toolfault gateway --listen 127.0.0.1:8021 http://127.0.0.1:8000/mcp
"""


#: The module of each command of the gateway.
_COMMANDS: Final = {
    "wrap": "toolfault.cli.wrap",
    "unwrap": "toolfault.cli.wrap",
    "envoy": "toolfault.cli.envoy",
}


def main(arguments: Sequence[str]) -> int:
    """
    Run the gateway, or one of its commands for config files; return the exit code.

    Args:
        arguments: The command line behind ``toolfault gateway``.
    """
    module = _COMMANDS.get(arguments[0]) if arguments else None
    if module is not None:
        code: int = importlib.import_module(module).main(arguments)
        return code
    try:
        parsed = parse_arguments(arguments)
    except UsageError as exc:
        return _refuse(exc)
    if parsed is None:
        sys.stdout.write(_HELP)
        return 0
    return _run(*parsed)


def _run(options: Options, target: list[str] | str) -> int:
    if isinstance(target, str):
        return _connect(options, target)
    from toolfault.gateway._pump import Pump  # noqa: PLC0415 -- not for --help

    try:
        return Pump(options, target, observe_calls(options)).run()
    except UsageError as exc:
        return _refuse(exc)
    except OSError as exc:
        named = exc.filename or target[0]
        sys.stderr.write(f"toolfault gateway: can't start or open {named!r}: {exc.strerror}\n")
        return 127


def _refuse(exc: UsageError) -> int:
    sys.stderr.write(f"toolfault gateway: {exc}\n")
    return 2


def observe_calls(options: Options) -> Observer | None:
    """
    Return what is called with each call that has ended; None if nobody asked.
    """
    if not options.otel:
        return None
    from toolfault.gateway._telemetry import TelemetryError, observe  # noqa: PLC0415 -- as above

    try:
        return observe()
    except TelemetryError as exc:
        raise UsageError(f"--otel: {exc}") from None


def _connect(options: Options, url: str) -> int:
    try:
        headers = read_headers(options.headers, os.environ)
        if options.listen is not None:
            return _listen(options, options.listen, url, headers)
        from toolfault.gateway._bridge import Bridge  # noqa: PLC0415 -- loads an HTTP client

        return Bridge(options, url, headers, observe_calls(options)).run()
    except UsageError as exc:
        return _refuse(exc)
    except OSError as exc:
        sys.stderr.write(f"toolfault gateway: can't open {exc.filename!r}: {exc.strerror}\n")
        return 127


def _listen(
    options: Options, address: tuple[str, int], url: str, headers: Mapping[str, str]
) -> int:
    try:
        from toolfault.gateway._listen import Listener  # noqa: PLC0415 -- loads an HTTP server
    except ImportError as exc:
        cure = "pip install 'toolfault[gateway]'"
        raise UsageError(f"--listen needs uvicorn and httpx ({exc}): {cure}") from None
    try:
        listener = Listener(options, address, url, headers, observe_calls(options))
    except OSError as exc:
        if exc.filename is not None:
            raise
        host, port = address
        raise UsageError(f"can't listen on {host}:{port}: {exc.strerror}") from None
    return listener.run()


def read_headers(wanted: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """
    Return headers with their values, which no message and no log ever shows.

    Args:
        wanted: The environment variable of each header.
        environment: The environment variables.

    Raises:
        UsageError: A variable is unset, or holds what no header may hold.
    """
    headers: dict[str, str] = {}
    for name, variable in wanted.items():
        value = environment.get(variable, "").strip()
        if not value:
            raise UsageError(f"--header {name}: set the environment variable {variable}")
        if not value.isascii() or not value.isprintable():
            raise UsageError(f"--header {name}: {variable} must hold one line of ASCII")
        headers[name] = value
    return headers


# ---- the command line


class _Option(NamedTuple):
    """
    One option: how its text is parsed, and whether it takes a value and may be repeated.
    """

    parse: Callable[[str], Any]
    takes_value: bool = True
    is_list: bool = False


def _choice(*names: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(f"must be {', '.join(names[:-1])} or {names[-1]}")
        return text

    return parse


def _seconds(text: str) -> float | None:
    if text == "none":
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ValueError("must be a positive number of seconds, or none")
    return seconds


def _count(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or not text.isascii() or len(text) > 18 or int(text) < least:
            raise ValueError(f"must be a whole number, at least {least}")
        return int(text)

    return parse


def _flag(text: str) -> tuple[str, re.Pattern[str]]:
    tool, colon, pattern = text.partition(":")
    if not tool or not colon or not pattern:
        raise ValueError("must be TOOL:REGEX, such as 'search:^Error'")
    try:
        return tool, re.compile(pattern)
    except re.error as exc:
        raise ValueError(f"has a regular expression that is not valid ({exc})") from None


def parse_header(text: str) -> tuple[str, str]:
    """
    Return a header's name, and the environment variable that holds its value.

    Raises:
        ValueError: It is not ``NAME=VARIABLE``; the text says what it must be.
    """
    name, equals, variable = text.partition("=")
    if not equals or not _is_header(name) or not _is_variable(variable):
        raise ValueError("must be NAME=VARIABLE, such as Authorization=API_TOKEN")
    if name.lower() in _OWN_HEADERS:
        raise ValueError("must not name a header of the transport")
    return name, variable


_is_header: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}").fullmatch
_is_variable: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch

#: Headers that say how a message is framed, or that the protocol sets for each message.
_OWN_HEADERS: Final = frozenset(
    "host connection content-length content-type content-encoding transfer-encoding accept"
    " accept-encoding upgrade te trailer expect keep-alive last-event-id mcp-session-id"
    " mcp-protocol-version mcp-method mcp-name".split()
)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    is_port = port.isdecimal() and port.isascii() and len(port) < 6 and int(port) < 2**16
    if not host or not is_port:
        raise ValueError("must be HOST:PORT, such as 127.0.0.1:8021")
    return host, int(port)


def _name(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


def _switch(text: str) -> bool:
    if text not in {"true", "false"}:
        raise ValueError("must be true or false")
    return text == "true"


_OPTIONS: Final[Mapping[str, _Option]] = {
    "timeout": _Option(_seconds),
    "max-timeout": _Option(_seconds),
    "guidance": _Option(_choice("block", "inline", "none")),
    "disclosure": _Option(_choice("redacted", "withheld", "full")),
    "protocol-errors": _Option(_choice("lift", "keep")),
    "flag": _Option(_flag, is_list=True),
    "retry": _Option(_switch, takes_value=False),
    "idempotent": _Option(_name, is_list=True),
    "restart": _Option(_count(0)),
    "max-line": _Option(_count(1024)),
    "log": _Option(_name),
    "listen": _Option(_address),
    "allow-host": _Option(_name, is_list=True),
    "otel": _Option(_switch, takes_value=False),
    "header": _Option(parse_header, is_list=True),
    "config": _Option(_name),
    # What `unwrap` restores; no option of the gateway.
    "wrapped": _Option(_name),
}

#: The field of `Options` of an option whose name differs.
_FIELDS: Final = {
    "flag": "flags",
    "restart": "restarts",
    "header": "headers",
    "allow-host": "allowed_hosts",
}

#: The options that mean something for a server at a URL only, and why, by field of `Options`.
_FOR_URLS: Final = {
    "headers": "--header is for a URL; give a command its secrets by the environment",
    "listen": "--listen is for a URL: toolfault gateway --listen HOST:PORT URL",
}

_SCHEMES: Final = ("http://", "https://")


def parse_arguments(arguments: Sequence[str]) -> tuple[Options, list[str] | str] | None:
    """
    Return the options, and the server's command or URL; None for a call for help.

    Raises:
        UsageError: The command line or the options file is wrong.
    """
    given = list(arguments)
    values: dict[str, list[Any]] = {}
    while given and given[0] != "--" and not given[0].startswith(_SCHEMES):
        word = given.pop(0)
        if word in {"--help", "-h"}:
            return None
        if not word.startswith("--"):
            raise UsageError(f"write -- before the server's command: toolfault gateway -- {word}")
        name, equals, text = word.removeprefix("--").partition("=")
        option = _find(name, "--")
        if not equals:
            text = _take_value(name, given) if option.takes_value else "true"
        values.setdefault(name, []).append(_parse(f"--{name}", option, text))
    target = _target(given)
    file = values.pop("config", [None])[-1]
    values.pop("wrapped", None)
    if file is not None:
        values = {**read_config(file), **values}
    options = _options(values)
    _check(options, target)
    return options, target


def _check(options: Options, target: list[str] | str) -> None:
    for field, reason in _FOR_URLS.items():
        if getattr(options, field) and not isinstance(target, str):
            raise UsageError(reason)
    if options.allowed_hosts and options.listen is None:
        raise UsageError("--allow-host is for --listen")


def _target(given: list[str]) -> list[str] | str:
    """
    Return the server's command or URL: what stands behind the options.
    """
    if not given or given == ["--"]:
        raise UsageError(
            "the server's command is missing: toolfault gateway -- COMMAND, "
            "or its URL: toolfault gateway URL"
        )
    if given[0] == "--":
        return given[1:]
    if len(given) > 1:
        raise UsageError(f"write options before the URL: {given[1]} comes behind it")
    if not _is_url(given[0]):
        raise UsageError(f"{given[0][:200]!r} is not a valid URL; write https://HOST/PATH")
    return given[0]


def _is_url(text: str) -> bool:
    from urllib.parse import urlsplit  # noqa: PLC0415 -- not for a command

    try:
        parts = urlsplit(text)
        # An invalid port raises.
        return bool(parts.hostname) and parts.port != 0 and text.isprintable() and " " not in text
    except ValueError:
        return False


def _take_value(name: str, given: list[str]) -> str:
    if not given or given[0] == "--":
        raise UsageError(f"--{name} needs a value")
    return given.pop(0)


def _find(name: str, prefix: str) -> _Option:
    option = _OPTIONS.get(name)
    if option is None:
        from toolfault._options import nearest  # noqa: PLC0415 -- only mistakes need it

        known = {key.replace("-", "_"): key for key in _OPTIONS if key != "wrapped"}
        near = nearest(name, known)
        cure = "" if near is None else f"; did you mean {prefix}{known[near]}?"
        raise UsageError(f"unknown option {prefix}{name}{cure}")
    return option


def _parse(shown: str, option: _Option, text: str) -> Any:
    try:
        return option.parse(text)
    except ValueError as exc:
        raise UsageError(f"{shown} {exc}, not {text[:100]!r}") from None


def _options(values: Mapping[str, list[Any]]) -> Options:
    fields: dict[str, Any] = {}
    for name, given in values.items():
        field = _FIELDS.get(name, name.replace("-", "_"))
        fields[field] = given if _OPTIONS[name].is_list else given[-1]
    for field in ("idempotent", "allowed_hosts"):
        if field in fields:
            fields[field] = frozenset(fields[field])
    if "flags" in fields:
        by_tool: dict[str, tuple[re.Pattern[str], ...]] = {}
        for tool, pattern in fields["flags"]:
            by_tool[tool] = (*by_tool.get(tool, ()), pattern)
        fields["flags"] = by_tool
    if "headers" in fields:
        fields["headers"] = dict(fields["headers"])
    return Options(**fields)


# ---- the options file


def read_config(file: str) -> dict[str, list[Any]]:
    """
    Return the options of the table ``[gateway]`` in a TOML file, by name.

    Raises:
        UsageError: The file can't be read, or holds an unknown option.
    """
    from toolfault.cli._toml import TomlError, read_table  # noqa: PLC0415 -- only where there is such a file

    try:
        named = read_table(file, "gateway") or {}
    except TomlError as exc:
        raise UsageError(str(exc)) from None
    return {name: _config_values(name, value) for name, value in named.items()}


def _config_values(name: str, value: Any) -> list[Any]:
    option = _find(name, "")
    if name in {"config", "wrapped"}:
        raise UsageError(f"{name} can't stand in an options file")
    if option.takes_value:
        entries = value if option.is_list and is_array(value) else [value]
        return [_parse(name, option, _text(name, entry)) for entry in entries]
    if not isinstance(value, bool):
        raise UsageError(f"{name} must be true or false, not {value!r}")
    return [value]


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str | int | float):
        raise UsageError(f"{name} must be a text or a number, not {value!r}")
    return str(value)
