"""
The command ``toolfault``. Each of its commands is a module that is loaded when it is used.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Final

from toolfault._version import __version__


_COMMANDS: Final = {
    "check": "toolfault.cli.check",
    "explain": "toolfault.cli.explain",
    "gateway": "toolfault.cli.gateway",
}

_HELP: Final = """\
usage: toolfault COMMAND [options]

Make every failed MCP tool call say what went wrong.

commands:
  check      provoke an MCP server's failures, and tell how good they are
  explain    tell what one failure means, and which rule decided
  gateway    stand in front of an MCP server, and give its failures the envelope

options:
  --version  show the version
  --help     show this text; 'toolfault COMMAND --help' shows that of a command

examples:
  toolfault check -- python server.py
  toolfault explain httpx.ConnectTimeout
  toolfault gateway -- npx -y some-mcp-server
  toolfault gateway wrap ~/.cursor/mcp.json --dry-run
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run a command, and return its exit code: 2 for a wrong command line, 1 if nobody reads on.

    Args:
        arguments: The command line without the program's name. None: that of this process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    name = given[0] if given else "--help"
    if name in {"--help", "-h", "help"}:
        sys.stdout.write(_HELP)
        return 0 if given else 2
    if name in {"--version", "-V"}:
        sys.stdout.write(f"toolfault {__version__}\n")
        return 0
    module = _COMMANDS.get(name)
    if module is None:
        return _refuse(name)
    try:
        code: int = importlib.import_module(module).main(given[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # Nobody reads on, as behind "head"; the interpreter would complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _refuse(name: str) -> int:
    from toolfault._options import did_you_mean  # noqa: PLC0415 -- only mistakes need it

    near = did_you_mean(name, (*_COMMANDS, "--help", "--version"))
    sys.stderr.write(f"toolfault: unknown command {name!r}{near}; see toolfault --help.\n")
    return 2
