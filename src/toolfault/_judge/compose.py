"""
From what was found out to the fault that leaves.

Rule 1: what was not written for a caller to read is composed of safe parts.
Rule 2: every text that leaves went through the redactor.
Rule 3: ``unknown`` is for readers; it never leaves here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from toolfault._causes import causes_of, is_group, leaves_of
from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._envelope import made
from toolfault._json import JsonCopier
from toolfault._judge.case import (
    SILENT,
    Case,
    Disclosure,
    Finding,
    Phase,
    is_bare_key,
    is_cancelled,
    resolved,
)
from toolfault._judge.deliberate import raised_by
from toolfault._names import class_name
from toolfault._record import MAX_RECORD, RECORD_FACT, passed_on
from toolfault._text import (
    CAUSE_BYTES,
    HINT_BYTES,
    MESSAGE_BYTES,
    one_line,
    quote,
    safe_str,
    text_of,
)
from toolfault._verdict import Family, Origin, Outcome, Verdict
from toolfault.errors import ToolFault
from toolfault.rules._helpers import attr


_UPSTREAM: Final[frozenset[Family]] = frozenset({"http", "network", "timeout", "database"})

#: Names beside the envelope that only toolfault fills.
_OURS: Final = frozenset(
    {"v", "id", "origin", "outcome", "upstream_status", "violations", "error", RECORD_FACT}
)

#: How much of an author's own facts travels.
_MAX_FACTS: Final = 32
_MAX_FACT_DEPTH: Final = 4

#: How much of a class's name is shown, in bytes.
_MAX_KIND: Final = 128

#: How many causes an envelope carries.
_MAX_CHAIN: Final = 8

#: What the phase proves about whether the call happened (design: outcome speaks of the tool call).
_OUTCOMES: Final[dict[Phase, Outcome]] = {
    "lookup": "not_executed",
    "arguments": "not_executed",
    "resolver": "unknown",
    "body": "unknown",
    "output": "executed",
}


#: Who said what is quoted beside a table's sentence.
_SPEAKERS: Final[dict[Family, str]] = {"database": "The database", "process": "The program"}


class Composer:
    """
    Makes the fault of one case.
    """

    __slots__ = ("_case",)

    def __init__(self, case: Case) -> None:
        self._case = case

    def fault(self, exc: BaseException, finding: Finding, failure_id: str) -> ToolFault:
        verdict = self._as_declared(finding)
        code, category, retryable = resolved(verdict)
        message = self._message(finding, verdict, code, failure_id)
        envelope = made(
            code=code,
            message=message,
            category=category,
            retryable=retryable,
            retry_after_seconds=verdict.retry_after_seconds,
            hint=None if verdict.hint is None else self._shown(verdict.hint, HINT_BYTES),
            cause_chain=self._chain(exc, finding, verdict, message),
        )
        facts: dict[str, Any] = {
            "id": failure_id,
            "origin": verdict.origin or self._origin(finding, verdict),
        }
        if verdict.upstream_status is not None:
            facts["upstream_status"] = verdict.upstream_status
        if finding.violations:
            facts["violations"] = self._safe_value(finding.violations)
        outcome = verdict.outcome or _OUTCOMES[self._case.call.phase]
        if finding.author is None or not finding.author.facts:
            return ToolFault.of(envelope, outcome=outcome, facts=facts)
        return ToolFault.of(
            envelope, outcome=outcome, facts={**self._safe(finding.author.facts), **facts}
        )

    def _safe(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """
        Return an author's own facts: none under a name that is ours, every text as safe as the
        message.
        """
        own = {key: value for key, value in facts.items() if key not in _OURS}
        safe: dict[str, Any] = self._safe_value(own)
        # Where a failure came from in another vocabulary: whole, or of no use.
        withheld = self._case.policy.disclosure is Disclosure.WITHHELD
        record = passed_on(
            facts.get(RECORD_FACT), lambda text: self._shown(text, MAX_RECORD), body=not withheld
        )
        return safe if record is None else {**safe, RECORD_FACT: record}

    def _safe_value(self, value: Any) -> Any:
        copier = JsonCopier(
            text=lambda text, _name: self._shown(text, HINT_BYTES),
            key=lambda key: self._shown(safe_str(key), HINT_BYTES),
            other=lambda item: self._shown(safe_str(item), HINT_BYTES),
            depth=_MAX_FACT_DEPTH,
            members=_MAX_FACTS,
        )
        return copier.copy(value)

    def _as_declared(self, finding: Finding) -> Verdict:
        """
        Apply what the guard's owner declared about credentials, arguments and egress.
        """
        verdict = finding.verdict
        if verdict.refuses_credentials and self._case.policy.own_credentials:
            return _blame_server(
                verdict,
                McpErrorCategory.AUTH,
                "The credentials are the server's; its operator has to look.",
            )
        if verdict.blames_values and not self._case.policy.arguments_forwarded:
            return _blame_server(
                verdict,
                McpErrorCategory.PERMANENT,
                "The values are the server's, not the caller's.",
            )
        allowed = self._case.policy.egress_allow
        if (
            verdict.maybe_proxy
            and allowed is not None
            and verdict.urls
            and not any(map(allowed.admits, verdict.urls))
        ):
            status = verdict.upstream_status
            return replace(
                verdict,
                code=McpErrorCode.NETWORK_BLOCKED,
                category=None,
                retryable=None,
                sentence="A proxy does not let the server talk to this host",
                note="" if status is None else f"HTTP {status}",
                advice="Its operator can allow it.",
            )
        return verdict

    def _origin(self, finding: Finding, verdict: Verdict) -> Origin:
        if verdict.code is McpErrorCode.MCP_SERVER_UNREACHABLE:
            return "transport"
        return "upstream" if verdict.family in _UPSTREAM and finding.author is None else "tool"

    def _message(
        self, finding: Finding, verdict: Verdict, code: McpErrorCode, failure_id: str
    ) -> str:
        withheld = self._case.policy.disclosure is Disclosure.WITHHELD
        if finding.author is not None:
            message = self._shown(finding.author.envelope.message)
        elif self._case.policy.disclosure is Disclosure.FULL and self._case.call.phase == "body":
            message = self._original(finding.leaf)
        elif finding.text and (finding.deliberate or not withheld):
            message = self._shown(finding.text)
        elif verdict.message is not None and not (
            finding.crash and withheld and verdict.family in SILENT
        ):
            message = self._shown(verdict.message)
        elif finding.deliberate:
            message = ""
        else:
            message = self._composed(finding, withheld=withheld, failure_id=failure_id)
        message = message or _wordless(self._kind(finding.leaf), code)
        told = verdict.message is not None and message == self._shown(verdict.message)
        for said in (self._diagnosis(finding.leaf) if told else "", self._quoted(verdict)):
            if said:
                message = f"{message if message[-1] in '.!?' else f'{message}.'} {said}"
        return message

    def _diagnosis(self, exc: BaseException) -> str:
        """
        Return what a database, a parser or a program said, in one capped line and quoted.
        """
        from toolfault._judge.quotations import diagnosis  # noqa: PLC0415 -- read at the first failure, as the tables

        verdict = self._case.rule(exc)
        said = self._shown(diagnosis(exc, verdict), CAUSE_BYTES)
        speaker = _SPEAKERS.get(verdict.family, "The parser")
        return f"{speaker} said: {quote(said)}." if said else ""

    def _quoted(self, verdict: Verdict) -> str:
        """
        Return what the upstream said, in one capped line and marked as a quotation, if the guard's
        owner wants it.
        """
        if not self._case.policy.upstream_text or not verdict.quote:
            return ""
        said = one_line(self._shown(verdict.quote, CAUSE_BYTES)).replace('"', "'")
        return f'The upstream said, in its own words: "{said}"' if said else ""

    def _original(self, exc: BaseException) -> str:
        """
        Return an exception's own text, with what its program wrote, for developers.
        """
        text, output = text_of(exc), attr(exc, "stderr")
        if isinstance(output, bytes):
            output = output.decode("utf-8", "replace")
        written = f"\n{output}" if isinstance(output, str) else ""
        return self._shown(f"{text}{written}")

    def _composed(self, finding: Finding, *, withheld: bool, failure_id: str) -> str:
        """
        Compose the message for an exception that nobody wrote for a caller.
        """
        exc, kind = finding.leaf, self._kind(finding.leaf)
        bug = finding.verdict.code is McpErrorCode.TOOL_PANICKED
        what = "The tool failed unexpectedly" if bug else "The tool failed"
        if withheld:
            return f"{what} ({kind}). The server's log tells more under the id {failure_id}."
        text = self._shown(text_of(exc), MESSAGE_BYTES // 2)
        if isinstance(exc, KeyError) and is_bare_key(exc, text_of(exc)):
            return f"{what}: the key {text!r} is missing (KeyError)."
        if not text:
            return f"{what} ({kind})."
        return f"{what}: {text if text.startswith(kind) else f'{kind}: {text}'}"

    def _chain(
        self, exc: BaseException, finding: Finding, verdict: Verdict, message: str
    ) -> tuple[str, ...]:
        """
        Return the messages of the underlying failures, oldest first, without what the message says
        already.
        """
        if finding.author is not None and finding.author.envelope.cause_chain:
            given: Iterable[str] = finding.author.envelope.cause_chain
        elif verdict.causes:
            given = verdict.causes
        elif self._case.policy.disclosure is Disclosure.WITHHELD or self._case.call.phase in {
            "lookup",
            "arguments",
        }:
            return ()
        else:
            # A timeout scope raises over the cancellation that it caused.
            below = [link for link in causes_of(finding.leaf) if not is_cancelled(link)]
            if finding.leaf is exc:
                if not below:
                    return ()
            else:
                shown = {id(finding.leaf), *(id(link) for link in below)}
                beside = [
                    leaf
                    for leaf in leaves_of(exc)
                    if id(leaf) not in shown and not is_cancelled(leaf)
                ]
                below = [*below, *reversed(beside)] if is_group(exc) else below
            given = [self._cause(link) for link in reversed(below[:_MAX_CHAIN])]
        texts = [
            text for cause in list(given)[-_MAX_CHAIN:] if (text := self._shown(cause, CAUSE_BYTES))
        ]
        return tuple(text for text in dict.fromkeys(texts) if text.partition(": ")[2] != message)

    def _cause(self, exc: BaseException) -> str:
        if isinstance(exc, ToolFault):
            return exc.envelope.message
        text = self._case.rule(exc).message
        if is_group(exc):
            # Less the count of its members, which says nothing.
            text = text_of(exc).rpartition(" (")[0]
        elif text is None:
            # A builtin that a library met on its way quotes whatever it was about: a part of a URL,
            # a body's bytes.
            inside = type(exc).__module__ == "builtins" and raised_by(exc, self._case.home) is False
            text = "" if inside else self._case.authored(exc)
        kind = self._kind(exc)
        return f"{kind}: {text}" if text else kind

    def _kind(self, exc: BaseException) -> str:
        """
        Return the name of a class as safe as any text: it may be made at run time, of anything.
        """
        return one_line(self._shown(class_name(exc), _MAX_KIND)) or "an exception"

    def _shown(self, text: str, limit: int = MESSAGE_BYTES) -> str:
        redactor = self._case.policy.redactor
        if self._case.policy.disclosure is Disclosure.FULL:
            return redactor.show(text, limit)
        return redactor.scrub(text, limit, self._case.values.paths)


def _blame_server(verdict: Verdict, category: McpErrorCategory, advice: str) -> Verdict:
    """
    Return a verdict that no longer blames the caller, with advice that does not either.
    """
    return replace(
        verdict, code=McpErrorCode.INTERNAL, category=category, retryable=False, advice=advice
    )


def _wordless(kind: str, code: McpErrorCode) -> str:
    if kind == "Exception":
        return "The tool reported a failure and did not say which."
    if code is McpErrorCode.INVALID_ARGUMENTS:
        return f"The tool refused the arguments ({kind}) and did not say why."
    return f"The tool failed ({kind}) and did not say why."
