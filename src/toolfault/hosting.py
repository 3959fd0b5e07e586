"""
For authors of integrations: what a host needs to put a guard around its calls, and a client to
retry them.

A host makes a `Call` with the tool's own ``function`` (without it nothing counts as raised on
purpose), catches what its handler raises, asks ``guard.passes(exc)`` whether it must leave
unanswered, and otherwise sends ``guard.to_result(guard.judge(exc, call))``.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

from toolfault._guard import Guard, GuardOptions, being_cancelled
from toolfault._judge.case import Call, Phase
from toolfault._names import ATTEMPT_KEY, META_KEY, META_VERSION
from toolfault._retry.attempts import meta_beside, model_text, says_more
from toolfault._retry.retry import Course
from toolfault._retry.servers import Servers
from toolfault._schema.fast_check import Check, quick
from toolfault._schema.widen import widen_schema
from toolfault._text import encodable
from toolfault._verdict import Verdict
from toolfault._wire import json_safe, last_resort, to_result


__all__ = [
    "ATTEMPT_KEY",
    "META_KEY",
    "META_VERSION",
    "OPTIONS",
    "Call",
    "Check",
    "Course",
    "Guard",
    "GuardOptions",
    "Phase",
    "Servers",
    "Verdict",
    "answering",
    "being_cancelled",
    "encodable",
    "json_safe",
    "last_resort",
    "meta_beside",
    "model_text",
    "quick",
    "says_more",
    "to_result",
    "widen_schema",
]

#: The attribute of a function in which a decorator leaves a tool's `GuardOptions` for the guard of
#: the whole server.
OPTIONS: Final = "__toolfault__"

#: What answers for the running call: a server's request, or a decorated function. None: nothing
#: does. Whoever finds something else here lets exceptions through: the outermost answers.
answering: Final[ContextVar[object | None]] = ContextVar("toolfault_answering", default=None)
