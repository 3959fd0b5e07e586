"""
toolfault: every failed MCP tool call says what went wrong.

A tool raises `ToolFault`, or anything else; a `Guard` turns it into an envelope. A client reads the
envelope with `parse`, and `Retry` repeats calls that are retryable and safe to repeat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolfault._version import __version__ as __version__


if TYPE_CHECKING:
    from toolfault._codes import McpErrorCategory, McpErrorCode
    from toolfault._envelope import InvalidEnvelope, McpExecuteError
    from toolfault._guard import Guard
    from toolfault._judge.case import Disclosure
    from toolfault._read.parse import parse, raise_for_error, suspect
    from toolfault._registry import Registry, Rules
    from toolfault._retry.budget import Budget
    from toolfault._retry.retry import Retry
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

#: Where each name is defined. It is loaded at its first use, so that programs start quickly.
_MODULES: Final = {
    "Budget": "_retry.budget",
    "Disclosure": "_judge.case",
    "Guard": "_guard",
    "Guidance": "_wire",
    "InvalidEnvelope": "_envelope",
    "InvalidRule": "errors",
    "McpErrorCategory": "_codes",
    "McpErrorCode": "_codes",
    "McpExecuteError": "_envelope",
    "Registry": "_registry",
    "Retry": "_retry.retry",
    "Rules": "_registry",
    "ToolFault": "errors",
    "parse": "_read.parse",
    "raise_for_error": "_read.parse",
    "suspect": "_read.parse",
}

#: Modules that are attributes without an import of their own.
_PUBLIC_MODULES: Final = frozenset({"dialects", "errors", "hooks", "hosting", "rules"})


if not TYPE_CHECKING:  # A type checker must still find misspelt names.

    def __getattr__(name: str) -> Any:
        from importlib import import_module  # noqa: PLC0415 -- not needed again

        if name in _PUBLIC_MODULES:
            return import_module(f"toolfault.{name}")
        if name not in _MODULES:
            raise AttributeError(f"module 'toolfault' has no attribute {name!r}")
        return getattr(import_module(f"toolfault.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PUBLIC_MODULES})
