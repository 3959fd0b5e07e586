"""
For authors of integrations: the parts of a guarded host, and of a client that retries.

A host makes a `Call` with the tool's own ``function`` (without it nothing counts as raised on
purpose), catches what its handler raises, raises it again if ``guard.passes(exc)``, and otherwise
sends ``guard.to_result(guard.judge(exc, call))``. A host that is a coroutine sets `answering`, and
raises again whatever it catches while `is_closing`.

A client's adapter keeps one `RetryPerServer`, runs each call with its ``for_server(...).run(...)``,
or asks a `RetryState` after each attempt that the framework makes itself. It gives the model
`model_text`, keeps the blocks that say more (`says_more`), and puts `meta_beside` into ``_meta``.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

from toolfault._codes import MEANINGS
from toolfault._guard import Guard, GuardOptions, OptionsBesideTimeout, being_cancelled
from toolfault._judge.case import Call, Phase
from toolfault._logging import log
from toolfault._meanings.jsonrpc import ASKS_CLIENT
from toolfault._names import ATTEMPT_KEY, META_KEY, META_VERSION
from toolfault._names import publish as _publish
from toolfault._options import check_keywords
from toolfault._retry.attempts import meta_beside, model_text, says_more
from toolfault._retry.servers import RetryPerServer
from toolfault._retry.state import RetryState
from toolfault._schema.bounded import BoundedValidator
from toolfault._schema.widen import widen_schema
from toolfault._text import encodable, text_of
from toolfault._tracebacks import log_exception
from toolfault._verdict import Verdict
from toolfault._wire import json_safe, last_resort, to_result


__all__ = [
    "ASKS_CLIENT",
    "ATTEMPT_KEY",
    "MEANINGS",
    "META_KEY",
    "META_VERSION",
    "OPTIONS",
    "BoundedValidator",
    "Call",
    "Guard",
    "GuardOptions",
    "OptionsBesideTimeout",
    "Phase",
    "RetryPerServer",
    "RetryState",
    "Verdict",
    "answering",
    "being_cancelled",
    "check_keywords",
    "encodable",
    "is_closing",
    "json_safe",
    "last_resort",
    "log",
    "log_exception",
    "meta_beside",
    "model_text",
    "says_more",
    "text_of",
    "to_result",
    "widen_schema",
]

#: The attribute of a function with a tool's `GuardOptions`, for the guard of the whole server.
OPTIONS: Final = "__toolfault__"

#: The server's request or the decorated function that answers the running call; None if nothing
#: does. Inner ones let exceptions through: the outermost answers.
answering: Final[ContextVar[object | None]] = ContextVar("toolfault_answering", default=None)


def is_closing(mine: object) -> bool:
    """
    Tell whether the coroutine that set `answering` to *mine* is being closed.

    Then a GeneratorExit was thrown into it from another context, where `answering` is not its own.
    A tool that raises GeneratorExit does so in the coroutine's own context.
    """
    return answering.get() is not mine


_publish({name: globals()[name] for name in __all__}, __name__)
