"""
What toolfault raises.

* Exception
    - ToolFault
    * ValueError
        - InvalidEnvelope
        - InvalidRule

`ToolFault` is the one exception for a tool's author to raise, and for a client to catch. The others
are mistakes: of a peer (`InvalidEnvelope`), or of whoever configures a guard (`InvalidRule`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Literal, Self, TypeAlias, overload

from toolfault._codes import DEFAULTS, McpErrorCategory, McpErrorCode, category_named, code_named
from toolfault._envelope import InvalidEnvelope, McpExecuteError, made, whole_seconds
from toolfault._text import safe_str
from toolfault._verdict import Outcome


__all__ = ["InvalidEnvelope", "InvalidRule", "ToolFault"]

FoundIn: TypeAlias = Literal[
    "structured_content", "meta", "tool_failure", "text", "jsonrpc_error", "exception", "prose"
]
"""
Where a reader found a failure, strongest place first.
"""


class InvalidRule(ValueError):  # noqa: N818 -- as InvalidEnvelope
    """
    A rule that a guard or a registry can't take; the text says what would do.
    """


class ToolFault(Exception):  # noqa: N818 -- the product's word: a fault is raised, an error travels
    """
    A failed tool call: the envelope, and the facts around it.

    A tool raises it; ``raise ToolFault(...) from exc`` fills the envelope's cause chain. The client
    half returns or raises the same class. A subclass may fix the code, and then takes the message
    first::

        class OutOfStock(ToolFault):
            code = McpErrorCode.INVALID_ARGUMENTS

        raise OutOfStock("No more of article 12", hint="Try article 13")

    Args:
        code:
            What went wrong. Left out where the class fixes it.

        message:
            What a model reads.

        category:
            None: the code's default.

        retryable:
            Whether the same call is worth sending again. None: the code's default.

        retry_after_seconds:
            How long the caller should wait, in seconds or as a timedelta, rounded up.

        hint:
            What the caller could do instead.

        causes:
            Messages of the underlying failures, oldest first. Empty: taken from ``__cause__``.

        outcome:
            Whether the call happened: ``not_executed``, ``unknown`` or ``executed``. None: nothing
            is known.

    Attributes:
        code:
            What went wrong.

        envelope:
            The envelope as a value.

        outcome:
            As given.

        facts:
            What travels beside the envelope in ``_meta`` (``id``, ``origin``, ``upstream_status``,
            ...).

        received:
            The body as it came from a peer, unknown codes and members included. None for a fault
            made here.

        found_in:
            Where in the peer's answer it was found. None for a fault made here.

    Raises:
        ValueError: There is no such code or category, or the wait is no wait; the message names the
            choices.
        TypeError: Code and message do not fit the class.
    """

    code: McpErrorCode

    @overload
    def __init__(
        self,
        code: McpErrorCode | str,
        message: str,
        /,
        *,
        category: McpErrorCategory | str | None = None,
        retryable: bool | None = None,
        retry_after_seconds: float | timedelta | None = None,
        hint: str | None = None,
        causes: Iterable[str] = (),
        outcome: Outcome | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        message: str,
        /,
        *,
        category: McpErrorCategory | str | None = None,
        retryable: bool | None = None,
        retry_after_seconds: float | timedelta | None = None,
        hint: str | None = None,
        causes: Iterable[str] = (),
        outcome: Outcome | None = None,
    ) -> None: ...

    def __init__(
        self,
        *args: Any,
        category: McpErrorCategory | str | None = None,
        retryable: bool | None = None,
        retry_after_seconds: float | timedelta | None = None,
        hint: str | None = None,
        causes: Iterable[str] = (),
        outcome: Outcome | None = None,
    ) -> None:
        """
        Make a fault; the class docstring tells the arguments.
        """
        code, message = self._code_and_message(args)
        super().__init__(message)
        default_category, default_retryable = DEFAULTS[code]
        if retryable is not None and not isinstance(retryable, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"retryable must be True, False or None, not {retryable!r}")
        if outcome not in {None, "not_executed", "unknown", "executed"}:
            raise ValueError(
                f"outcome must be not_executed, unknown, executed or None, not {outcome!r}"
            )
        if isinstance(causes, str):
            raise ValueError("causes is a list of texts, not one text")
        self._set(
            made(
                code=code,
                message=message,
                category=default_category if category is None else category_named(category),
                retryable=default_retryable if retryable is None else retryable,
                retry_after_seconds=None
                if retry_after_seconds is None
                else whole_seconds(retry_after_seconds),
                hint=None if hint is None else safe_str(hint),
                cause_chain=tuple(safe_str(cause) for cause in causes),
            ),
            outcome=outcome,
        )

    @classmethod
    def _code_and_message(cls, args: tuple[Any, ...]) -> tuple[McpErrorCode, str]:
        fixed = getattr(cls, "code", None)
        if fixed is not None and len(args) == 1:
            return code_named(fixed), safe_str(args[0])
        if fixed is None and len(args) == 2:
            return code_named(args[0]), safe_str(args[1])
        wanted = (
            "(code, message)"
            if fixed is None
            else f"(message): its class fixes the code {code_named(fixed)}"
        )
        raise TypeError(
            f"{cls.__name__} takes {wanted}; {len(args)} positional arguments were given"
        )

    def _set(
        self,
        envelope: McpExecuteError,
        *,
        outcome: Outcome | None = None,
        facts: Mapping[str, Any] | None = None,
        received: Any = None,
        found_in: FoundIn | None = None,
    ) -> None:
        self.code = envelope.code
        self.envelope = envelope
        self.outcome: Outcome | None = outcome
        self.facts: dict[str, Any] = dict(facts or {})
        self.received = received
        self.found_in: FoundIn | None = found_in

    @classmethod
    def of(
        cls,
        envelope: McpExecuteError,
        *,
        outcome: Outcome | None = None,
        facts: Mapping[str, Any] | None = None,
        received: Any = None,
        found_in: FoundIn | None = None,
    ) -> Self:
        """
        Return an unraised fault that carries this envelope.
        """
        fault = cls.__new__(cls)
        Exception.__init__(fault, envelope.message)
        fault._set(  # noqa: SLF001 -- of its own class
            envelope, outcome=outcome, facts=facts, received=received, found_in=found_in
        )
        return fault

    def __str__(self) -> str:
        """
        Return the message.
        """
        return self.envelope.message

    def __repr__(self) -> str:
        """
        Show what differs from the code's defaults.
        """
        envelope = self.envelope
        shown = [repr(envelope.code.value), repr(envelope.message)]
        default_category, default_retryable = DEFAULTS[envelope.code]
        if envelope.category is not default_category:
            shown.append(f"category={envelope.category.value!r}")
        if envelope.retryable is not default_retryable:
            shown.append(f"retryable={envelope.retryable!r}")
        if envelope.retry_after_seconds is not None:
            shown.append(f"retry_after_seconds={envelope.retry_after_seconds!r}")
        if envelope.hint is not None:
            shown.append(f"hint={envelope.hint!r}")
        if envelope.cause_chain:
            shown.append(f"causes={list(envelope.cause_chain)!r}")
        if self.outcome is not None:
            shown.append(f"outcome={self.outcome!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        """
        Tell whether another fault of the same class says the same; where and as what each was found
        is not compared.
        """
        if not isinstance(other, ToolFault) or type(self) is not type(other):
            return NotImplemented
        mine, yours = (
            (self.envelope, self.outcome, self.facts),
            (other.envelope, other.outcome, other.facts),
        )
        return self is other or mine == yours

    def __hash__(self) -> int:
        """
        Hash what can't change: faults that are equal have the same class and envelope.
        """
        return hash((type(self), self.envelope))

    def __reduce__(self) -> tuple[Callable[..., ToolFault], tuple[Any, ...], dict[str, Any]]:
        """
        Pickle and copy by value, whatever a subclass's ``__init__`` takes.
        """
        return _rebuilt, (type(self),), {**self.__dict__, "args": self.args}

    def __setstate__(self, state: dict[str, Any] | None) -> None:
        """
        Take over what `__reduce__` gave.
        """
        values = dict(state or {})
        self.args = values.pop("args", ())
        self.__dict__.update(values)


def _rebuilt(cls: type[ToolFault]) -> ToolFault:
    return cls.__new__(cls)
