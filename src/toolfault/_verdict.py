"""
What a rule says of one exception.

Rule 1: a verdict is data. Rules make verdicts; only `_judge` makes envelopes of them.
Rule 2: a message in a verdict is composed of safe parts. Without one, the exception's own text may
be shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolfault._codes import McpErrorCategory, McpErrorCode


Family: TypeAlias = Literal[
    "auth",  # credentials or rights
    "bug",  # classes that code meets by mistake: the author did not plan it
    "data",  # text or bytes that could not be read: a failed conversion
    "database",
    "file",
    "general",  # says nothing by itself: Exception, RuntimeError, the host's ToolError
    "http",  # an answer with a status
    "limit",  # a quota or a full resource
    "network",  # no answer at all
    "process",  # a subprocess or a worker
    "timeout",
    "other",
]
"""
What an exception is about; decides whether it explains the exception that was raised while it was
handled.
"""

Origin: TypeAlias = Literal["tool", "upstream", "adapter", "gateway", "transport"]
"""
Where a failure began (standards, section 5).
"""

Outcome: TypeAlias = Literal["not_executed", "unknown", "executed"]
"""
Whether the *tool call* happened, which is not whether one step in it did.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """
    What one exception means.

    Attributes:
        code:
            What went wrong.

        category:
            None: the code's default.

        retryable:
            None: the code's default.

        retry_after_seconds:
            Seconds that an upstream asked for, rounded up.

        message:
            A sentence made of safe parts (status, errno name, SQLSTATE). None: the exception's own
            text is safe enough to be redacted and shown.

        hint:
            What the caller could do instead; from a table, never from an upstream.

        family:
            What the exception is about.

        origin:
            Where the failure began, where the class tells.

        upstream_status:
            The HTTP status that an upstream answered.

        paths:
            The files that it is about. If an argument of the call names one of them, `callers` is
            the code.

        callers:
            The code if an argument of the call names one of `paths` or `urls`; None: no difference.

        urls:
            The URLs or hosts that it is about; as `paths`.

        credentials:
            It is a refusal of credentials: ``internal`` where the guard says that they are the
            server's own.

        forwarded:
            It blames values that a thin tool forwards from its caller: ``internal`` where the guard
            says that it forwards none.

        proxied:
            It is a refusal that a proxy may have sent: ``network_blocked`` for hosts outside the
            guard's ``egress_allow``.

        outcome:
            Whether the call happened, where an author says so.

        causes:
            A cause chain that an author gave, oldest first.

        quote:
            What an upstream's answer said, as it came; shown only where the guard's owner asks for
            it.

        instead:
            Judge this exception in place of its wrapper.
    """

    code: McpErrorCode
    category: McpErrorCategory | None = None
    retryable: bool | None = None
    retry_after_seconds: int | None = None
    message: str | None = None
    hint: str | None = None
    family: Family = "other"
    origin: Origin | None = None
    upstream_status: int | None = None
    paths: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    callers: McpErrorCode | None = None
    credentials: bool = False
    forwarded: bool = False
    proxied: bool = False
    outcome: Outcome | None = None
    causes: tuple[str, ...] = ()
    quote: str | None = None
    instead: BaseException | None = None


Rule: TypeAlias = Verdict | Callable[[Any], Verdict | None]
"""
What an exception class means: always the same, or decided by looking at the exception. None: no
opinion.
"""
