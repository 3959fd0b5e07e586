"""
The commands ``toolfault gateway wrap`` and ``unwrap``.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolfault.cli.gateway import UsageError, parse_arguments
from toolfault.gateway._config import Edited, unwrap, wrap


_HELP: Final = """\
usage: toolfault gateway wrap CONFIG [--server NAME] [--dry-run] [gateway options]
       toolfault gateway unwrap CONFIG [--server NAME] [--dry-run]

Put the gateway in front of the MCP servers in a host's config file, or take it away again.
CONFIG is the JSON of Claude Desktop, Claude Code, Cursor, Windsurf, VS Code, Zed or Gemini CLI;
comments stay. Servers with a command and servers with a URL are wrapped.
The file as it was is kept beside it, as CONFIG.bak.

options:
  --server NAME  change this server only
  --dry-run      show what would change, and change nothing
  others         of 'toolfault gateway', for the wrapped servers (wrap only)

examples:
  toolfault gateway wrap ~/.cursor/mcp.json --dry-run
  toolfault gateway wrap .vscode/mcp.json --server github --timeout 120
  toolfault gateway unwrap ~/.cursor/mcp.json
"""


@dataclass(slots=True)
class _Request:
    """
    One command line.
    """

    command: str
    config: str | None = None
    server: str | None = None
    is_dry: bool = False
    options: list[str] = field(default_factory=list[str])


def main(arguments: Sequence[str]) -> int:
    """
    Edit a config file; return the exit code.

    Args:
        arguments: ``wrap`` or ``unwrap``, and what follows.
    """
    if {"--help", "-h"} & set(arguments):
        sys.stdout.write(_HELP)
        return 0
    try:
        return _run(_read(arguments))
    except UsageError as exc:
        sys.stderr.write(f"toolfault gateway {arguments[0]}: {exc}\n")
        return 2


def _read(arguments: Sequence[str]) -> _Request:
    request = _Request(arguments[0])
    given = list(arguments[1:])
    while given:
        word = given.pop(0)
        if word == "--dry-run":
            request.is_dry = True
        elif word == "--server":
            if not given:
                raise UsageError("--server needs a value")
            request.server = given.pop(0)
        elif request.config is None and not word.startswith("--"):
            request.config = word
        else:
            request.options.append(word)
    if request.config is None:
        raise UsageError(f"the config file is missing: toolfault gateway {request.command} CONFIG")
    if request.options and request.command == "unwrap":
        raise UsageError(f"unknown option {request.options[0]}")
    # Refuses what the gateway itself would refuse.
    parse_arguments([*request.options, "--", "server"])
    return request


def _run(request: _Request) -> int:
    # A link stays a link.
    path = Path(request.config or "").expanduser().resolve()
    try:
        before = _decode(path.read_bytes())
        edited = _edit(request, before)
        if request.is_dry:
            _show(path, before, edited.text)
        elif edited.text != before:
            backup = _write(path, edited.text)
            sys.stdout.write(f"{path} was changed; as it was, it is kept as {backup.name}.\n")
    except OSError as exc:
        raise UsageError(f"can't read or write {str(path)!r}: {exc.strerror}") from None
    except ValueError as exc:
        raise UsageError(f"can't change {str(path)!r}: {exc}") from None
    _report(request, edited)
    # Who names a server wants that one.
    return 1 if request.server is not None and edited.skipped else 0


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8; save it as UTF-8 first") from None


def _edit(request: _Request, text: str) -> Edited:
    if request.command == "unwrap":
        return unwrap(text, request.server)
    return wrap(text, [*_launcher(), "gateway", *request.options], request.server)


def _launcher() -> list[str]:
    """
    Return the words that start toolfault from a host, whatever its PATH is.
    """
    # An environment that uvx made is gone sooner or later.
    if "uv" in Path(sys.prefix).parts and shutil.which("uvx") is not None:
        return ["uvx", "toolfault"]
    return [sys.executable, "-m", "toolfault"]


def _write(path: Path, text: str) -> Path:
    """
    Write a file in one step, and return its backup.
    """
    backup = path.with_name(f"{path.name}.bak")
    number = 1
    while backup.exists():
        number += 1
        backup = path.with_name(f"{path.name}.bak{number}")
    shutil.copy2(path, backup)
    status = path.stat()
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(text.encode())
    try:
        shutil.copymode(path, file.name)
        # Only root may, and only root may have to.
        with contextlib.suppress(PermissionError):
            os.chown(file.name, status.st_uid, status.st_gid)
        Path(file.name).replace(path)
    finally:
        Path(file.name).unlink(missing_ok=True)
    return backup


def _show(path: Path, before: str, after: str) -> None:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        str(path),
        f"{path} (changed)",
        n=1,
    )
    sys.stdout.writelines(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _report(request: _Request, edited: Edited) -> None:
    done = "would be " if request.is_dry else ""
    already = "wrapped already" if request.command == "wrap" else "not wrapped"
    rows = (
        (f"{done}{request.command}ped", edited.changed),
        (already, edited.unchanged),
    )
    for what, names in rows:
        for name in names:
            sys.stdout.write(f"{name}: {what}\n")
    for name, reason in edited.skipped:
        sys.stdout.write(f"{name}: skipped: {reason}\n")
