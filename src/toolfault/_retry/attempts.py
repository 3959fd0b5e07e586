"""
What is told of the attempts of a call, to programs and to models: each one, all of them, why there
was no further one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

from toolfault._advice import text_for_model
from toolfault._codes import McpErrorCode
from toolfault._text import one_line
from toolfault._wire import to_result
from toolfault.errors import ToolFault


T = TypeVar("T")

Stopped: TypeAlias = Literal[
    "success", "no_failure", "not_retryable", "not_safe", "attempts", "hint", "deadline", "budget"
]
"""
Why no further attempt was made: it worked; what was raised is no failure of the tool, such as a
cancellation that travels as an exception; another try would not help; it might do harm; there were
enough; the server asks for a longer wait than `Retry.hint_max`; the wait would end after the
deadline; the server's budget is empty.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """
    What came of one attempt.

    Attributes:
        number:
            Which it was, counted from 1.

        fault:
            How it failed. None: it worked, or what was raised is no failure of the tool.

        wait:
            Seconds until the next attempt. None: there is none.

        stopped:
            Why there is none. None: there is one.
    """

    number: int
    fault: ToolFault | None
    wait: float | None
    stopped: Stopped | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried(Generic[T]):
    """
    What came of a call, with all its attempts.

    Attributes:
        attempts:
            Each attempt in order; at least one.

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
        Return how the last attempt failed. None: it worked, or what it raised is no failure of the
        tool.
        """
        return self.attempts[-1].fault

    @property
    def stopped(self) -> Stopped:
        """
        Return why there was no further attempt.
        """
        return cast("Stopped", self.attempts[-1].stopped)

    @property
    def waited(self) -> float:
        """
        Return the seconds of all waits together.
        """
        return sum(made.wait or 0.0 for made in self.attempts)

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
    What stands around calls and their attempts, to measure or to trace them. What it raises is
    logged.

    Both methods return context managers, entered where the attempt runs. One that is left by an
    exception saw a cancellation, or something else that is no failure of the tool.
    """

    def calling(
        self, name: str | None, /
    ) -> AbstractContextManager[Callable[[Retried[Any]], object]]:
        """
        Stand around all attempts of a call of the tool *name*; what is entered is called with the
        end of it.
        """
        ...

    def attempting(
        self, name: str | None, number: int, /
    ) -> AbstractContextManager[Callable[[ToolFault | None], object]]:
        """
        Stand around one attempt; what is entered is called with how it failed, or with None after a
        success.
        """
        ...


# ---- what a model is told


def model_text(fault: ToolFault, attempts: Sequence[Attempt] = ()) -> str:
    """
    Return one text from which a model reads message, code, whether and when to retry, and the hint.

    For agent frameworks that hand a model nothing but a text. The envelope's message stands first,
    verbatim.

    Args:
        fault: How the call failed.
        attempts: All attempts of it, if it was tried by `Retry`.
    """
    envelope = fault.envelope
    return text_for_model(
        envelope,
        tries=len(attempts),
        unsafe=bool(attempts) and attempts[-1].stopped == "not_safe",
        cause_known=fault.found_in != "prose" or envelope.code not in _OPEN,
    )


#: What prose is read as when it does not tell the cause, so nothing of retries either.
_OPEN: Final = frozenset({McpErrorCode.INTERNAL, McpErrorCode.UNKNOWN})


def meta_beside(fault: ToolFault) -> dict[str, Any]:
    """
    Return the members for the ``_meta`` of a result whose text `model_text` replaces.

    Nobody should have to read the failure out of the new text. Empty: it stands where no text is.
    """
    kept = fault.found_in in {"structured_content", "meta"}
    return {} if kept else to_result(fault, structured=False)["_meta"]


def says_more(text: str, fault: ToolFault, told: str) -> bool:
    """
    Tell whether a text of a failed result says what `model_text` has not told yet.

    Args:
        text: One block of the result's content.
        fault: The failure that was read out of the result.
        told: What `model_text` made of it.
    """
    # A failure that was read out of prose has all of the prose as its message, cleaned and cut to
    # size.
    return fault.found_in != "prose" and one_line(text) not in one_line(told)
