"""
The command ``toolfault gateway envoy``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from toolfault.cli.gateway import UsageError, observe_calls, parse_arguments


_HELP: Final = """\
usage: toolfault gateway envoy --listen HOST:PORT [options]

Judge the answers of MCP servers behind Envoy, as its external processor (ext_proc) over gRPC.

options:
  --listen HOST:PORT       where Envoy finds this process
  --guidance HOW           advice for the model: block, inline or none (block)
  --disclosure HOW         text of failures: redacted, withheld or full (redacted)
  --protocol-errors HOW    JSON-RPC errors of calls: lift them into results, or keep (lift)
  --flag TOOL:REGEX        an unflagged result of TOOL ('*': any) with such text has failed
  --max-line BYTES         the longest event (67108864)
  --log FILE               append one JSON line per failure
  --otel                   trace and measure calls with OpenTelemetry, set up by OTEL_ variables
  --config FILE            read options from the table [gateway] of a TOML file

Deadlines and retries are Envoy's.
"""

#: Stands for the servers, which Envoy knows.
_SERVERS: Final = "http://envoy/"

#: The options that Envoy has itself, by field.
_OF_ENVOY: Final = {
    "retry": "--retry",
    "headers": "--header",
    "restarts": "--restart",
}


def main(arguments: Sequence[str]) -> int:
    """
    Answer Envoy; return the exit code.

    Args:
        arguments: The command line behind ``toolfault gateway``.
    """
    try:
        return _run(arguments[1:])
    except UsageError as exc:
        sys.stderr.write(f"toolfault gateway envoy: {exc}\n")
        return 2


def _run(arguments: Sequence[str]) -> int:
    parsed = parse_arguments([*arguments, _SERVERS])
    if parsed is None:
        sys.stdout.write(_HELP)
        return 0
    options, _ = parsed
    if options.listen is None:
        raise UsageError("--listen HOST:PORT is missing")
    for field, name in _OF_ENVOY.items():
        if getattr(options, field):
            raise UsageError(f"{name} is for other gateways; set that in Envoy")
    try:
        from toolfault.gateway._envoy import EnvoyService  # noqa: PLC0415 -- loads gRPC
    except ImportError as exc:
        cure = "pip install 'toolfault[envoy]'"
        raise UsageError(f"it needs grpcio and xds-protos ({exc}): {cure}") from None
    try:
        return EnvoyService(options, observe_calls(options)).run(options.listen)
    except OSError as exc:
        raise UsageError(f"can't open {exc.filename or options.listen}: {exc.strerror}") from None
