"""
Records of attempts, and the text that describes them to a model.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import (
    Any,
    Final,
    Generic,
    Literal,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    runtime_checkable,
)

from toolfault._codes import McpErrorCode
from toolfault._meanings.sentences import text_for_model
from toolfault._text import one_line
from toolfault._wire import to_result
from toolfault.errors import ToolFault


T = TypeVar("T")

Stopped: TypeAlias = Literal[
    "success",
    "no_failure",
    "not_retryable",
    "not_safe",
    "attempts",
    "hint",
    "deadline",
    "budget",
    "not_before",
]
"""
Why there was no further attempt:

* ``success``: the call succeeded.
* ``no_failure``: the exception is not a failure of the tool, such as a wrapped cancellation.
* ``not_retryable``: the failure says that another attempt would not help.
* ``not_safe``: nobody knows that repeating the call is safe; see ``idempotent=``.
* ``attempts``: `Retry.attempts` were made.
* ``hint``: the server asks for a longer wait than `Retry.hint_max`.
* ``deadline``: the wait would end after `Retry.timeout`.
* ``budget``: the server's `Budget` is empty.
* ``not_before``: no attempt was made, since the server has asked its clients to wait; see
  `NotBefore`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """
    One attempt and its end.

    Attributes:
        number:
            The attempt, counted from 1.

        fault:
            Its failure. None: it succeeded, or what it raised is not a failure of the tool.

        wait:
            Seconds until the next attempt. None: there is no next.

        stopped:
            Why there is no next attempt; see `Stopped`. None: there is one.
    """

    number: int
    fault: ToolFault | None
    wait: float | None
    stopped: Stopped | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried(Generic[T]):
    """
    The end of a call, with all its attempts.

    Attributes:
        attempts:
            Each attempt in order; at least one, also where it was not made (`not_before`).

        result:
            What the last attempt returned, a success or a failure. None: it raised.

        error:
            What the last attempt raised. None: it returned.
    """

    attempts: tuple[Attempt, ...]
    result: T | None = None
    error: Exception | None = None

    @property
    def fault(self) -> ToolFault | None:
        """
        Return the failure of the last attempt; None if it succeeded or raised no tool failure.
        """
        return self.attempts[-1].fault

    @property
    def stopped(self) -> Stopped:
        """
        Return why there was no further attempt; see `hooks.Stopped`.
        """
        return cast("Stopped", self.attempts[-1].stopped)

    @property
    def waited(self) -> float:
        """
        Return the sum of all waits, in seconds.
        """
        return sum(attempt.wait or 0.0 for attempt in self.attempts)

    def unwrap(self) -> T:
        """
        Return the result.

        Raises:
            Exception: What the last attempt raised, unchanged.
        """
        if self.error is not None:
            raise self.error
        return cast("T", self.result)


@runtime_checkable
class RetryObserver(Protocol):
    """
    Measures or traces calls and their attempts. What it raises is logged.

    Both methods return context managers, entered where the attempt runs. One that is left by an
    exception saw a cancellation, or something else that is not a failure of the tool.
    """

    def calling(
        self, name: str | None, /
    ) -> AbstractContextManager[Callable[[Retried[Any]], object]]:
        """
        Return a context manager around all attempts; its function takes the `Retried`.

        Args:
            name: The tool's name.
        """
        ...

    def attempting(
        self, name: str | None, number: int, /
    ) -> AbstractContextManager[Callable[[ToolFault | None], object]]:
        """
        Return a context manager around one attempt; its function takes the fault, or None.

        Args:
            name: The tool's name.
            number: The attempt, counted from 1.
        """
        ...


@runtime_checkable
class NotBefore(Protocol):
    """
    The moment before which several clients leave one server alone, because it named a wait.

    Both methods may be async where `Retry.call` and `Retry.run` use them. What they raise is
    logged, and delays nothing.
    """

    def left(self) -> float | Awaitable[float]:
        """
        Return the seconds until the moment; 0 or less if it is past.
        """
        ...

    def extend(self, seconds: float, /) -> object:
        """
        Move the moment to this many seconds from now, unless it is later already.
        """
        ...


# ---- for models


def model_text(fault: ToolFault, attempts: Sequence[Attempt] = ()) -> str:
    """
    Return one text with message, code, whether and when to retry, and the hint.

    For agent frameworks that hand a model nothing but a text. The message stands first, on one line
    if a line of it could pose as our advice.

    Args:
        fault: The failure.
        attempts: All attempts of the call, if `Retry` made them.
    """
    envelope = fault.envelope
    return text_for_model(
        envelope,
        tries=len(attempts),
        unsafe=bool(attempts) and attempts[-1].stopped == "not_safe",
        cause_known=fault.found_in != "prose" or envelope.code not in _OPEN,
    )


#: Codes of prose that does not tell the cause, so nothing of retries either.
_OPEN: Final = frozenset({McpErrorCode.INTERNAL, McpErrorCode.UNKNOWN})


def meta_beside(fault: ToolFault) -> dict[str, Any]:
    """
    Return members for the ``_meta`` of a result whose text `model_text` replaces.

    With them nobody has to read the failure out of the new text. Empty if the failure stands in the
    result's structure already.
    """
    kept = fault.found_in in {"structured_content", "meta"}
    return {} if kept else to_result(fault, structured=False)["_meta"]


def says_more(text: str, fault: ToolFault, told: str) -> bool:
    """
    Tell whether a text of a failed result says more than `model_text`.

    Args:
        text: One block of the result's content.
        fault: The failure in the result.
        told: The text that `model_text` returned for it.
    """
    # A failure out of prose has all of the prose as its message, cleaned and cut to size.
    return fault.found_in != "prose" and one_line(text) not in one_line(told)
