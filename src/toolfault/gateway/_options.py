"""
The options of the gateway.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """
    The options of one gateway.

    Attributes:
        guidance: What the text for the model says besides the message.
        disclosure: How much of a failure the host may read.
        protocol_errors: ``lift`` turns JSON-RPC errors of calls into results; ``keep`` adds the
            envelope to their ``data``.
        timeout: Seconds that a call may take before the gateway answers it. None: no limit.
        max_timeout: Seconds that a call may take if it shows progress. None: no longer than others.
        max_line: The longest message, in bytes.
        restarts: The restarts of a dead server that are allowed in a row.
        retry: Whether failed calls are repeated where that is safe.
        idempotent: Tools that are safe to repeat, whatever their hints say.
        flags: By tool (``*``: any), the texts that make an unflagged result a failure.
        log: The file for one JSON line per failure. None: no file.
        listen: The host and the port to serve clients on over HTTP. None: stdio.
        allowed_hosts: Further names under which clients may address the gateway.
        otel: Whether calls are traced and measured by OpenTelemetry.
        headers: The environment variables whose values are sent as headers, by header.
    """

    guidance: Literal["block", "inline", "none"] = "block"
    disclosure: Literal["redacted", "withheld", "full"] = "redacted"
    protocol_errors: Literal["lift", "keep"] = "lift"
    timeout: float | None = 55.0
    max_timeout: float | None = None
    max_line: int = 64 * 2**20
    restarts: int = 0
    retry: bool = False
    idempotent: frozenset[str] = frozenset()
    flags: Mapping[str, tuple[re.Pattern[str], ...]] = field(
        default_factory=dict[str, tuple[re.Pattern[str], ...]]
    )
    log: str | None = None
    listen: tuple[str, int] | None = None
    allowed_hosts: frozenset[str] = frozenset()
    otel: bool = False
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
