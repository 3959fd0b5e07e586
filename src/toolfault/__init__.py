"""
toolfault: every failed MCP tool call says what went wrong.

A tool raises `ToolFault`, or anything else; a `Guard` turns it into an envelope. A client reads the
envelope with `parse`, and `Retry` repeats calls that are retryable and safe to repeat.
"""

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._envelope import InvalidEnvelope, McpExecuteError
from toolfault._guard import Guard
from toolfault._judge.case import Disclosure
from toolfault._names import publish as _publish
from toolfault._read.parse import parse, raise_for_error, suspect
from toolfault._registry import Registry, Rules
from toolfault._retry.budget import Budget
from toolfault._retry.retry import Retry
from toolfault._version import __version__ as __version__
from toolfault._wire import Guidance
from toolfault.errors import InvalidRule, ToolFault


__all__ = [
    "Budget",
    "Disclosure",
    "Guard",
    "Guidance",
    "InvalidEnvelope",
    "InvalidRule",
    "McpErrorCategory",
    "McpErrorCode",
    "McpExecuteError",
    "Registry",
    "Retry",
    "Rules",
    "ToolFault",
    "parse",
    "raise_for_error",
    "suspect",
]

# Defined in `toolfault.errors`, which is public too, but users import it from here.
ToolFault.__module__ = InvalidRule.__module__ = __name__
_publish({name: globals()[name] for name in __all__}, __name__)
