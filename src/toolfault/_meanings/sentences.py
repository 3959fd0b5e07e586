"""
Our own sentences for models: what writes them, and what reads them back.

Rule 1: a sentence stands here once; its pattern is built from the same constant.
Rule 2: the advice never repeats what the message says already.
Rule 3: no message and no hint can pose as our advice.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._envelope import McpExecuteError
from toolfault._text import WINDOW, encodable, one_line, pattern


_RETRY: Final = "The same call may succeed if it is retried"
_HINT: Final = "Hint: "
_FINAL: Final = "The same call will fail again"
_CHANGE: Final = "; change its arguments"
_TRIED: Final = "The call was tried {} times."
_UNSAFE: Final = "It may have taken effect: check before repeating it."


# ---- the writer


def advice_for(envelope: McpExecuteError) -> str:
    """
    Return the advice behind a message: whether and when to retry, and the hint; "" for nothing.
    """
    parts: list[str] = []
    message = envelope.message
    wait = envelope.retry_after_seconds
    if envelope.retryable and not says_when_to_retry(message, wait):
        parts.append(f"{_RETRY} {_when(wait)}.")
    hint = one_line(envelope.hint) if envelope.hint else ""
    # A word alone may stand in a message by chance.
    if hint and not (" " in hint and hint in message):
        parts.append(f"{_HINT}{hint}")
    return "\n".join(parts)


def with_advice(envelope: McpExecuteError) -> str:
    """
    Return the message and its advice as one text, for hosts that show a model only one block.
    """
    advice = advice_for(envelope)
    return f"{inert(envelope.message)}\n{advice}" if advice else envelope.message


def text_for_model(
    envelope: McpExecuteError, *, tries: int = 1, unsafe: bool = False, cause_known: bool = True
) -> str:
    """
    Return one text with message, code, attempts, whether and when to retry, and the hint.

    Args:
        envelope: The failure.
        tries: How many attempts were made.
        unsafe: Whether nobody knows if repeating the call is safe.
        cause_known: False for prose that does not tell the cause, so nothing of retries either.
    """
    parts = [f"[{envelope.code.value}]"]
    if tries > 1:
        parts.append(_TRIED.format(tries))
    if envelope.retryable and unsafe:
        parts.append(_UNSAFE)
    if not envelope.retryable and cause_known:
        change = _CHANGE if envelope.category is McpErrorCategory.VALIDATION else ""
        parts.append(f"{_FINAL}{change}.")
    advice = advice_for(envelope)
    if advice:
        parts.append(advice)
    return encodable(f"{inert(envelope.message)}\n{' '.join(parts)}")


def says_when_to_retry(message: str, wait: int | None) -> bool:
    """
    Tell whether a message says already that the call may be retried, and after this many seconds.
    """
    # A wait is a number there, but for 0, which is "now" as well.
    if wait and str(wait) not in message:
        return False
    return _when(wait) in _retry_phrases(message)


def inert(message: str) -> str:
    """
    Return a message that cannot pose as our advice: on one line if a line of it looks like ours.
    """
    return one_line(message) if pattern(_POSES).search(message) else message


def _when(wait: int | None) -> str:
    if wait is None:
        return "later"
    if wait == 0:
        return "now"
    return f"after {wait} second{'' if wait == 1 else 's'}"


#: How much of a message's end may say when to retry, in characters.
_TAIL: Final = 512

_SAYS: Final = (
    r"(?i)\b(?:try(?: it)? again|retry(?:ing)?|retried|wait|come back)"
    r"(?: (?:it|for|after|in|at|least|about)){0,4}"
    r" (?:(later|now)|(\d{1,10}) ?(?:s|secs?|seconds?))\b"
)


def _retry_phrases(message: str) -> list[str]:
    """
    Return when a message says that the call may be retried, in the words of `_when`.
    """
    found: list[tuple[str, str]] = pattern(_SAYS).findall(message, max(0, len(message) - _TAIL))
    return [_when(int(seconds)) if seconds else word.lower() for word, seconds in found]


# ---- the reader


class Advice(NamedTuple):
    """
    A failure as our own sentences describe it; None for what they leave open.
    """

    message: str
    code: str | None
    retryable: bool | None
    wait: int | None
    hint: str | None


_CODES: Final = "|".join(McpErrorCode)
_RETRIED: Final = rf"{_RETRY} (?P<when>later|now|after \d{{1,10}} seconds?)\."
_STATUS: Final = (
    rf"\[(?P<code>{_CODES})\](?: {_TRIED.format('[0-9]{1,9}')})?(?: {_UNSAFE})?"
    rf"(?: (?P<final>{_FINAL})(?:{_CHANGE})?\.)?"
)
_HINT_LINE: Final = rf"{_HINT}(?P<hint>[^\n]*)"
_MODEL_TEXT: Final = rf"\n{_STATUS}(?: {_RETRIED})?(?:\s{_HINT_LINE})?\Z"
_ADVICE: Final = rf"\n{_RETRIED}(?:\n{_HINT_LINE})?\Z"

#: A line that starts as a line of ours does.
_POSES: Final = (
    r"(?i)[\n\r\v\f\x85\u2028\u2029][^\S\n]*"
    rf"(?:{_RETRY}|{_HINT.rstrip()}|\[(?:{_CODES})\]|{_FINAL})"
)


def read_advice(text: str) -> Advice | None:
    """
    Parse a text by `text_for_model`, or a message with its advice; None if it is neither.
    """
    if len(text) > WINDOW or "\n" not in text:
        return None
    match = pattern(_MODEL_TEXT).search(text) or pattern(_ADVICE).search(text)
    if match is None or not (message := text[: match.start()]):
        return None
    found = match.groupdict()
    final = found.get("final") is not None
    when = None if final else found["when"] or next(reversed(_retry_phrases(message)), None)
    return Advice(
        message=message,
        code=found.get("code"),
        retryable=_retryable(when, final=final),
        wait=_seconds(when),
        hint=found["hint"],
    )


def _retryable(when: str | None, *, final: bool) -> bool | None:
    if final:
        return False
    return None if when is None else True


def _seconds(when: str | None) -> int | None:
    if when is None or when == "later":
        return None
    return 0 if when == "now" else int(when.split()[1])
