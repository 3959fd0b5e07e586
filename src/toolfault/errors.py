"""
The exceptions of toolfault.

* Exception
    - ToolFault
    * ValueError
        - InvalidEnvelope
        - InvalidRule

Tools raise `ToolFault`, and clients catch it. The others are mistakes: of a peer
(`InvalidEnvelope`), or in the configuration of a guard (`InvalidRule`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Final, Generic, Literal, Self, TypeAlias, TypeVar, cast, overload

from toolfault._codes import (
    DEFAULTS,
    CategoryName,
    CodeName,
    McpErrorCategory,
    McpErrorCode,
    category_named,
    code_named,
)
from toolfault._envelope import InvalidEnvelope, McpExecuteError, build_trusted, whole_seconds
from toolfault._names import public
from toolfault._options import unknown_option
from toolfault._text import MESSAGE_BYTES, cut, safe_str
from toolfault._verdict import Outcome


__all__ = ["CategoryName", "CodeName", "InvalidEnvelope", "InvalidRule", "ToolFault"]

FoundIn: TypeAlias = Literal[
    "structured_content", "meta", "tool_failure", "text", "jsonrpc_error", "exception", "prose"
]
"""
The place in an answer where a failure was found, strongest first.
"""


@public
class InvalidRule(ValueError):  # noqa: N818 -- as InvalidEnvelope
    """
    An invalid rule of a guard or a registry; the text says what is valid.
    """


T = TypeVar("T")


class _Of(Generic[T]):
    """
    A member of the fault's envelope, readable on the fault; a subclass may hide it.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, fault: None, owner: type, /) -> Self: ...

    @overload
    def __get__(self, fault: ToolFault, owner: type, /) -> T: ...

    def __get__(self, fault: ToolFault | None, owner: type, /) -> Self | T:
        return self if fault is None else cast("T", getattr(fault.envelope, self._name))


@public
class ToolFault(Exception):  # noqa: N818 -- the product's word: a fault is raised, an error travels
    """
    A failed tool call: the envelope, and the facts around it.

    Tools raise it; ``raise ToolFault(...) from exc`` fills the envelope's cause chain. Clients get
    the same class from `parse`. A subclass may fix the code, and then takes the message alone::

        class OutOfStock(ToolFault):
            code = McpErrorCode.INVALID_ARGUMENTS

        raise OutOfStock("No more of article 12", hint="Try article 13")

    Category and retryable follow from what is given: a wait alone makes the fault retryable and
    transient, and ``category="transient"`` makes it retryable. What is given explicitly stays.

    Args:
        code:
            What went wrong. Left out where the class fixes it.

        message:
            What a model reads.

        category:
            What kind of help would mend it. None: see above, else the code's default.

        retryable:
            Whether the same call is worth sending again. None: see above, else the code's default.

        retry_after_seconds:
            How long the caller should wait, in seconds or as a timedelta, rounded up.

        hint:
            What the caller could do instead.

        causes:
            Messages of the underlying failures, oldest first. Empty: taken from ``__cause__``.

        outcome:
            Whether the call happened: ``not_executed``, ``unknown`` or ``executed``. With
            ``not_executed`` a client may repeat it, whatever the tool does. None: not known.

    Attributes:
        envelope:
            The envelope as a value.

        code:
            What went wrong; as the five that follow, a member of the envelope.

        message:
            What a model reads.

        category:
            What kind of help would mend it.

        retryable:
            Whether the same call is worth sending again.

        retry_after_seconds:
            How long to wait before that, in seconds. None: not known.

        hint:
            What the caller could do instead. None: not known.

        outcome:
            As given.

        facts:
            Facts beside the envelope in ``_meta`` (``id``, ``origin``, ``upstream_status``, ...).

        received:
            The body as a peer sent it, unknown codes and members included. None for a fault made
            here.

        found_in:
            The place in the peer's answer where it was found. None for a fault made here.

    Raises:
        ValueError: An unknown code or category, or an invalid wait; the text suggests the nearest
            name and repeats the message.
        TypeError: A missing code or message, or an unknown keyword.
    """

    code: McpErrorCode
    message = _Of[str]("message")
    category = _Of[McpErrorCategory]("category")
    retryable = _Of[bool]("retryable")
    retry_after_seconds = _Of["int | None"]("retry_after_seconds")
    hint = _Of["str | None"]("hint")

    envelope: McpExecuteError
    outcome: Outcome | None
    facts: dict[str, Any]
    received: Any
    found_in: FoundIn | None

    def __init_subclass__(cls, **options: Any) -> None:
        """
        Check the code that a subclass fixes.
        """
        super().__init_subclass__(**options)
        fixed = vars(cls).get("code")
        if isinstance(fixed, str):
            cls.code = code_named(fixed)

    @overload
    def __init__(
        self,
        code: McpErrorCode | CodeName,
        message: str,
        *,
        category: McpErrorCategory | CategoryName | None = None,
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
        *,
        category: McpErrorCategory | CategoryName | None = None,
        retryable: bool | None = None,
        retry_after_seconds: float | timedelta | None = None,
        hint: str | None = None,
        causes: Iterable[str] = (),
        outcome: Outcome | None = None,
    ) -> None: ...

    def __init__(
        self,
        *args: Any,
        category: McpErrorCategory | CategoryName | None = None,
        retryable: bool | None = None,
        retry_after_seconds: float | timedelta | None = None,
        hint: str | None = None,
        causes: Iterable[str] = (),
        outcome: Outcome | None = None,
        **named: Any,
    ) -> None:
        """
        Make a fault; the class documents the arguments.
        """
        code, message = self._code_and_message(args, named)
        super().__init__(message)
        try:
            _check_outcome(outcome)
            wait = None if retry_after_seconds is None else whole_seconds(retry_after_seconds)
            named_category = None if category is None else category_named(category)
            implied = _infer_retry_fields(code, named_category, _flag(retryable), wait)
            chain = _texts(causes)
        except ValueError as exc:
            raise ValueError(f"{exc}{_quote_message(message)}") from None
        envelope = build_trusted(
            code=code,
            message=message,
            category=implied[0],
            retryable=implied[1],
            retry_after_seconds=wait,
            hint=None if hint is None else safe_str(hint),
            cause_chain=chain,
        )
        self._set(envelope, outcome=outcome)

    @classmethod
    def _code_and_message(
        cls, args: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[McpErrorCode, str]:
        fixed = getattr(cls, "code", None)
        names = ("code", "message") if fixed is None else ("message",)
        for name in named.keys() - set(names):
            if name == "code":
                raise TypeError(f"{cls.__name__} fixes its code: leave code= out")
            raise unknown_option(cls.__name__, name, (*names, *_OPTIONS))
        given = dict(zip(names, args, strict=False)) | named
        if len(args) > len(names) or len(given) < max(len(names), len(args) + len(named)):
            raise TypeError(_usage(cls, fixed, args))
        message = safe_str(given["message"])
        if fixed is not None:
            return code_named(fixed), message
        try:
            return code_named(given["code"]), message
        except ValueError as exc:
            raise ValueError(f"{exc}{_quote_message(message)}") from None

    def __getattr__(self, name: str) -> Any:
        """
        Return the attributes of a subclass that never called this class's ``__init__``.
        """
        if name not in _STATE:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        fixed = getattr(type(self), "code", McpErrorCode.INTERNAL)
        unset = ToolFault.of(McpExecuteError.new(fixed, self._unset_message()))
        for key, value in unset.__dict__.items():
            self.__dict__.setdefault(key, value)
        return self.__dict__[name]

    def _unset_message(self) -> str:
        own = self.__dict__.get("message")
        if isinstance(own, str) and own:
            return own
        texts = [safe_str(arg) for arg in self.args if isinstance(arg, str | int | float)]
        return ", ".join(filter(None, texts)) or f"The tool failed ({type(self).__name__})."

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
        self.outcome = outcome
        self.facts = dict(facts or {})
        self.received = received
        self.found_in = found_in

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
        Return the call that makes this fault, without the code's defaults.
        """
        envelope = self.envelope
        shown = [repr(envelope.code.value), repr(envelope.message)]
        category, retryable = _minimal_retry_fields(envelope)
        if category is not None:
            shown.append(f"category={category.value!r}")
        if retryable is not None:
            shown.append(f"retryable={retryable!r}")
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
        Tell whether another fault has the same class, envelope, outcome and facts.
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
        Hash the class and the envelope, which cannot change.
        """
        return hash((type(self), self.envelope))

    def __reduce__(self) -> tuple[Callable[..., ToolFault], tuple[Any, ...], dict[str, Any]]:
        """
        Pickle and copy by value, whatever a subclass's ``__init__`` takes.
        """
        return _rebuilt, (type(self),), {**self.__dict__, "args": self.args}

    def __setstate__(self, state: dict[str, Any] | None) -> None:
        """
        Restore what `__reduce__` returned.
        """
        values = dict(state or {})
        self.args = values.pop("args", ())
        self.__dict__.update(values)


def _rebuilt(cls: type[ToolFault]) -> ToolFault:
    return cls.__new__(cls)


_STATE: Final = frozenset({"code", "envelope", "outcome", "facts", "received", "found_in"})
_OPTIONS: Final = (
    "category",
    "retryable",
    "retry_after_seconds",
    "hint",
    "causes",
    "outcome",
)


def _infer_retry_fields(
    code: McpErrorCode,
    category: McpErrorCategory | None,
    retryable: bool | None,
    wait: int | None,
) -> tuple[McpErrorCategory, bool]:
    """
    Return category and retryable; None means that it follows from the rest.
    """
    default_category, default_retryable = DEFAULTS[code]
    transient = category is McpErrorCategory.TRANSIENT
    if category is None:
        transient = wait is not None and retryable is not False
        category = McpErrorCategory.TRANSIENT if transient else default_category
    if retryable is None:
        retryable = transient or default_retryable
    return category, retryable


def _minimal_retry_fields(envelope: McpExecuteError) -> tuple[McpErrorCategory | None, bool | None]:
    """
    Return category and retryable as an author must give them; None for what follows from the rest.
    """
    code, wait = envelope.code, envelope.retry_after_seconds
    category, retryable = envelope.category, envelope.retryable
    choices: tuple[tuple[McpErrorCategory | None, bool | None], ...] = (
        (None, None),
        (category, None),
        (None, retryable),
    )
    for one, other in choices:
        if _infer_retry_fields(code, one, other, wait) == (category, retryable):
            return one, other
    return category, retryable


def _flag(retryable: object) -> bool | None:
    if retryable is None or isinstance(retryable, bool):
        return retryable
    raise ValueError(f"retryable must be True, False or None, not {retryable!r}")


def _texts(causes: Iterable[str]) -> tuple[str, ...]:
    if isinstance(causes, str):
        raise ValueError(f"causes takes a list of texts, not one text: write causes=[{causes!r}]")
    return tuple(safe_str(cause) for cause in causes)


def _check_outcome(outcome: object) -> None:
    if outcome not in {None, "not_executed", "unknown", "executed"}:
        raise ValueError(
            f"outcome must be not_executed, unknown, executed or None, not {outcome!r}"
        )


def _quote_message(message: str) -> str:
    return f". The fault's message is: {cut(message, MESSAGE_BYTES)}"


def _usage(cls: type[ToolFault], fixed: object, args: tuple[Any, ...]) -> str:
    count = f"{len(args)} positional argument{'' if len(args) == 1 else 's'} were given"
    if fixed is not None:
        return f"{cls.__name__} takes (message): its class fixes the code {fixed}; {count}"
    message = repr(safe_str(args[0])) if len(args) == 1 else "'What went wrong'"
    return (
        f"{cls.__name__} takes (code, message), such as {cls.__name__}('internal', {message});"
        f" {count}"
    )
