"""
What a rule concludes about one exception.

Rule 1: a verdict is data. Rules return verdicts; only `_judge` and `_read` make envelopes of them.
Rule 2: the message is rendered once, when it leaves. Nothing searches or changes a rendered
message: replace a part of the verdict instead.
Rule 3: the parts are safe to show. A verdict without a sentence lets the exception's own text be
redacted and shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple, TypeAlias

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
What an exception is about; decides whether it explains the exception raised while it was handled.
"""

Origin: TypeAlias = Literal["tool", "upstream", "adapter", "gateway", "transport"]
"""
Where a failure began.
"""

Outcome: TypeAlias = Literal["not_executed", "unknown", "executed"]
"""
Whether the *tool call* happened, which is not whether one step in it did.
"""

#: Stands in a sentence for `Verdict.peer`.
_PEER: Final = "{peer}"

#: First words of a peer's name that are lower case inside a sentence.
_ARTICLES: Final = ("The ", "A ", "An ", "Something ")


# No dataclass: making a frozen one, or a changed copy of it, costs eight times as much.
class Verdict(NamedTuple):
    """
    What one exception means; give the attributes by their names.

    Attributes:
        code:
            What went wrong.

        category:
            None: the code's default.

        retryable:
            None: the code's default.

        retry_after_seconds:
            Seconds that an upstream asks to wait, rounded up. In the message they replace `advice`.

        sentence:
            What happened, in safe words (status, errno name, SQLSTATE), with ``{peer}`` for `peer`.
            It has no full stop if `file`, `note` or `advice` follows. None: the exception's own
            text is safe enough to be redacted and shown.

        peer:
            Who answered, as the subject of a sentence. None: the sentence is shown as it stands.

        file:
            The file that the sentence is about; quoted after it.

        note:
            Details that follow the sentence in parentheses, such as ``HTTP 429``.

        advice:
            What to do, as one sentence.

        hint:
            What the caller could do instead; from a table, never from an upstream.

        family:
            What the exception is about.

        origin:
            Where the failure began, where the class tells.

        upstream_status:
            The HTTP status that an upstream answered.

        paths:
            The files that it is about; see `code_if_caller_named`.

        urls:
            The URLs or hosts that it is about; see `code_if_caller_named`.

        code_if_caller_named:
            The code if an argument of the call names one of `paths` or `urls`; None: no difference.

        refuses_credentials:
            An upstream refuses credentials: ``internal`` where the guard says that they are the
            server's own.

        blames_values:
            An upstream blames values, which a thin tool forwards from its caller: ``internal``
            where the guard says that none are forwarded.

        maybe_proxy:
            A proxy may have sent this refusal: ``network_blocked`` for hosts outside the guard's
            ``egress_allow``.

        outcome:
            Whether the call happened, where an author says so.

        causes:
            A cause chain that an author gave, oldest first.

        quote:
            What an upstream's answer said, as it came; shown only if the guard's owner asks for it.

        judge_instead:
            Judge this exception in place of its wrapper.
    """

    code: McpErrorCode
    category: McpErrorCategory | None = None
    retryable: bool | None = None
    retry_after_seconds: int | None = None
    sentence: str | None = None
    peer: str | None = None
    file: str = ""
    note: str = ""
    advice: str = ""
    hint: str | None = None
    family: Family = "other"
    origin: Origin | None = None
    upstream_status: int | None = None
    paths: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    code_if_caller_named: McpErrorCode | None = None
    refuses_credentials: bool = False
    blames_values: bool = False
    maybe_proxy: bool = False
    outcome: Outcome | None = None
    causes: tuple[str, ...] = ()
    quote: str | None = None
    judge_instead: BaseException | None = None

    @property
    def names_peer(self) -> bool:
        """
        Whether the sentence says who answered.
        """
        return self.sentence is not None and self.peer is not None and _PEER in self.sentence

    @property
    def message(self) -> str | None:
        """
        The message as it leaves: the sentence and what follows it; None without a sentence.
        """
        text = self.sentence
        if text is None:
            return None
        if self.peer is not None:
            text = _name_peer(text, self.peer)
        advice = self._advice()
        if not (self.file or self.note or advice):
            return text
        if self.file:
            text = f"{text}: {self.file!r}"
        if self.note:
            text = f"{text} ({self.note})"
        return f"{text}. {advice}" if advice else f"{text}."

    def _advice(self) -> str:
        wait = self.retry_after_seconds
        if wait is None or not self.advice or self.retryable is False:
            return self.advice
        return f"Retry after {seconds(wait)}." if wait else "Retry now."


def seconds(count: int) -> str:
    """
    Return a number of seconds in words.
    """
    return f"{count} second" if count == 1 else f"{count} seconds"


def _name_peer(sentence: str, peer: str) -> str:
    if sentence.startswith(_PEER):
        sentence = f"{peer}{sentence[len(_PEER) :]}"
    if _PEER not in sentence:
        return sentence
    inside = f"{peer[0].lower()}{peer[1:]}" if peer.startswith(_ARTICLES) else peer
    return sentence.replace(_PEER, inside)


Rule: TypeAlias = Verdict | Callable[[Any], Verdict | None]
"""
What an exception class means: always the same, or decided by looking at the exception. None: no
opinion.
"""

#: Return a copy of a verdict with other parts, given by their names.
replace: Final = Verdict._replace
