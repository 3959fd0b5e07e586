"""
From what was found out to the fault that leaves.

Rule 1: what was not written for a caller to read is composed of safe parts.
Rule 2: every text that leaves went through the redactor.
Rule 3: ``unknown`` is for readers; it never leaves here.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping
from typing import Any, Final

from toolfault._bridge_record import MAX_RECORD, RECORD_FACT, sanitize_record
from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._envelope import build_trusted
from toolfault._exception_chain import cause_of, causes_of, is_group, leaves_of
from toolfault._judge.case import (
    SILENT,
    Case,
    Disclosure,
    Finding,
    Phase,
    author_text,
    is_bare_key,
    is_cancelled,
    remove_quoted_leaks,
    rule_for,
    with_defaults,
)
from toolfault._judge.deliberate import is_raised_by_author
from toolfault._meanings.rows import OPERATOR
from toolfault._names import class_name, qualified_name
from toolfault._redact.values import redacting_copier
from toolfault._text import (
    CAUSE_BYTES,
    HINT_BYTES,
    MESSAGE_BYTES,
    WINDOW,
    cut_middle,
    one_line,
    quote,
    text_of,
    text_with_ends,
)
from toolfault._verdict import Family, Origin, Outcome, Verdict, replace
from toolfault.errors import ToolFault
from toolfault.rules._helpers import attr
from toolfault.rules.mcp import HOST_ERRORS


_UPSTREAM: Final[frozenset[Family]] = frozenset({"http", "network", "timeout", "database"})

#: Names beside the envelope that only toolfault fills.
_OURS: Final = frozenset(
    {"v", "id", "origin", "outcome", "upstream_status", "violations", "error", RECORD_FACT}
)

#: How much of an author's own facts travels.
_MAX_FACTS: Final = 32
_MAX_FACT_DEPTH: Final = 4

#: Names of classes that hold no secret.
_BUILTIN_NAMES: Final = frozenset(vars(builtins))

#: How much of a class's name is shown, in bytes.
_MAX_KIND: Final = 128

#: How many causes an envelope carries.
_MAX_CHAIN: Final = 8

#: What the phase proves about whether the call happened.
_OUTCOMES: Final[dict[Phase, Outcome]] = {
    "lookup": "not_executed",
    "arguments": "not_executed",
    "resolver": "unknown",
    "body": "unknown",
    "output": "executed",
}


#: Who said what is quoted beside a table's sentence.
_SPEAKERS: Final[dict[Family, str]] = {
    "data": "The parser",
    "database": "The database",
    "process": "The program",
}


def compose(case: Case, exc: BaseException, finding: Finding, failure_id: str) -> ToolFault:
    verdict = _apply_policy(case, finding)
    code, category, retryable = with_defaults(verdict)
    message = _message(case, finding, verdict, code, failure_id)
    envelope = build_trusted(
        code=code,
        message=message,
        category=category,
        retryable=retryable,
        retry_after_seconds=verdict.retry_after_seconds,
        hint=_hint(case, finding, verdict.hint),
        cause_chain=_chain(case, exc, finding, verdict, message),
    )
    return ToolFault.of(
        envelope,
        outcome=verdict.outcome or _OUTCOMES[case.call.phase],
        facts=_facts(case, finding, verdict, failure_id),
    )


def _hint(case: Case, finding: Finding, hint: str | None) -> str | None:
    if hint is None:
        return None
    if finding.author is not None:
        hint = _strip_quoted_leaks(case, finding.author, hint)
    return _redact(case, hint, HINT_BYTES)


def _facts(case: Case, finding: Finding, verdict: Verdict, failure_id: str) -> dict[str, Any]:
    """
    Return the facts that travel with the envelope: an author's own, then ours.
    """
    facts: dict[str, Any] = {}
    if finding.author is not None and finding.author.facts:
        facts = _safe_facts(case, finding.author.facts)
    facts["id"] = failure_id
    facts["origin"] = verdict.origin or _origin(finding, verdict)
    if verdict.upstream_status is not None:
        facts["upstream_status"] = verdict.upstream_status
    if finding.violations:
        facts["violations"] = _safe_value(case, finding.violations)
    return facts


def _safe_facts(case: Case, facts: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return an author's facts without names of ours, every text redacted as the message is.
    """
    own = {key: value for key, value in facts.items() if key not in _OURS}
    safe: dict[str, Any] = _safe_value(case, own)
    # Where a failure came from in another vocabulary: whole, or of no use.
    record = sanitize_record(
        facts.get(RECORD_FACT),
        lambda text: _redact(case, text, MAX_RECORD),
        body=not _is_withheld(case),
    )
    return safe if record is None else {**safe, RECORD_FACT: record}


def _safe_value(case: Case, value: Any) -> Any:
    copier = redacting_copier(
        lambda text: _redact(case, text, HINT_BYTES), depth=_MAX_FACT_DEPTH, members=_MAX_FACTS
    )
    return copier.copy(value)


def _apply_policy(case: Case, finding: Finding) -> Verdict:
    """
    Apply what the guard's owner declared about credentials, arguments and egress.
    """
    verdict = finding.verdict
    if verdict.refuses_credentials and case.policy.own_credentials:
        return _blame_server(
            verdict,
            McpErrorCategory.AUTH,
            "The credentials are the server's; its operator has to look.",
        )
    if verdict.blames_values and not case.policy.arguments_forwarded:
        return _blame_server(
            verdict,
            McpErrorCategory.PERMANENT,
            "The values are the server's, not the caller's.",
        )
    allowed = case.policy.egress_allow
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


def _origin(finding: Finding, verdict: Verdict) -> Origin:
    if verdict.code is McpErrorCode.MCP_SERVER_UNREACHABLE:
        return "transport"
    return "upstream" if verdict.family in _UPSTREAM and finding.author is None else "tool"


def _message(
    case: Case, finding: Finding, verdict: Verdict, code: McpErrorCode, failure_id: str
) -> str:
    """
    Return the message: what its author wrote, else the table's sentence, else a composed one.
    """
    quotations = [_quote_upstream(case, verdict)]
    message = _text_by_author(case, finding)
    if message is None:
        message = _sentence(case, finding, verdict)
        if message is not None:
            quotations.insert(0, _diagnosis(case, finding.leaf))
        elif not finding.deliberate:
            message = _compose_message(case, finding, failure_id)
    message = message or _wordless(_class_name(case, finding.leaf), code)
    for words in filter(None, quotations):
        stop = "" if message[-1] in ".!?" else "."
        message = f"{message}{stop} {words}"
    return message


def _is_withheld(case: Case) -> bool:
    return case.policy.disclosure is Disclosure.WITHHELD


def _text_by_author(case: Case, finding: Finding) -> str | None:
    """
    Return the author's own text for this failure, redacted; None if none may be shown.
    """
    if finding.author is not None:
        return _redact(
            case, _strip_quoted_leaks(case, finding.author, finding.author.envelope.message)
        )
    if case.policy.disclosure is Disclosure.FULL and case.call.phase == "body":
        return _original_text(case, finding.leaf)
    if finding.text and (finding.deliberate or not _is_withheld(case)):
        return _redact(case, finding.text)
    return None


def _strip_quoted_leaks(case: Case, fault: ToolFault, text: str) -> str:
    """
    Return a text that an author gave a fault, its quotations less what is known to leak.
    """
    if case.policy.disclosure is Disclosure.FULL:
        return text
    return remove_quoted_leaks(case, fault, text)


def _sentence(case: Case, finding: Finding, verdict: Verdict) -> str | None:
    """
    Return the message of a table, redacted; None if it has none or may not tell of this crash.
    """
    message = verdict.message
    is_secret = finding.crash and verdict.family in SILENT and _is_withheld(case)
    return None if message is None or is_secret else _redact(case, message)


def _diagnosis(case: Case, exc: BaseException) -> str:
    """
    Return the words of a database, a parser or a program, quoted in one capped line.
    """
    verdict = rule_for(case, exc)
    # What passes by itself needs no diagnosis; what the operator has to mend is in the log.
    if verdict.retryable or verdict.advice == OPERATOR:
        return ""
    from toolfault._judge.quotations import diagnosis  # noqa: PLC0415 -- read at the first failure, as the tables

    words = _redact(case, diagnosis(exc, verdict), CAUSE_BYTES)
    speaker = _SPEAKERS.get(verdict.family, "The library")
    return f"{speaker} said: {quote(words)}." if words else ""


def _quote_upstream(case: Case, verdict: Verdict) -> str:
    """
    Return the upstream's words as one capped quotation; "" unless the guard's owner wants it.
    """
    if not case.policy.upstream_text or not verdict.quote:
        return ""
    words = one_line(_redact(case, verdict.quote, CAUSE_BYTES)).replace('"', "'")
    return f'The upstream said, in its own words: "{words}"' if words else ""


def _original_text(case: Case, exc: BaseException) -> str:
    """
    Return an exception's own text, with what its program wrote, for developers.
    """
    text, output = text_with_ends(exc), attr(exc, "stderr")
    if isinstance(output, bytes):
        output = output.decode("utf-8", "replace")
    written = f"\n{output}" if isinstance(output, str) else ""
    return _redact(case, f"{text}{written}")


def _compose_message(case: Case, finding: Finding, failure_id: str) -> str:
    """
    Compose the message for an exception that nobody wrote for a caller.
    """
    exc, name = finding.leaf, _class_name(case, finding.leaf)
    what = "The tool failed"
    if finding.verdict.code is McpErrorCode.TOOL_PANICKED:
        what = "The tool failed unexpectedly"
    if _is_withheld(case):
        return f"{what} ({name}). The server's log tells more under the id {failure_id}."
    text = _redact(case, author_text(case, exc), MESSAGE_BYTES // 2)
    if isinstance(exc, KeyError) and is_bare_key(exc, text_of(exc)):
        return f"{what}: the key {text!r} is missing (KeyError)."
    if not text:
        return f"{what} ({name})."
    text = _quote_if_odd(text)
    return f"{what}: {text}" if text.startswith(name) else f"{what}: {name}: {text}"


def _quote_if_odd(text: str) -> str:
    """
    Return a text as a quotation if it has several lines, or words that could pose as ours.
    """
    return quote(text) if _could_pose(text) else text


_could_pose = re.compile(r"\n|\bHint:|\bThe same call\b").search


def _chain(
    case: Case, exc: BaseException, finding: Finding, verdict: Verdict, message: str
) -> tuple[str, ...]:
    """
    Return the causes, oldest first, each once, without what the message says already.
    """
    causes = _causes(case, exc, finding, verdict)
    if not causes:
        return ()
    texts = dict.fromkeys(_redact(case, cause, CAUSE_BYTES) for cause in causes[-_MAX_CHAIN:])
    return tuple(text for text in texts if text and text.partition(": ")[2] != message)


def _causes(
    case: Case, exc: BaseException, finding: Finding, verdict: Verdict
) -> tuple[str, ...] | list[str]:
    author = finding.author
    if author is not None and author.envelope.cause_chain:
        return [_strip_quoted_leaks(case, author, text) for text in author.envelope.cause_chain]
    if verdict.causes:
        return verdict.causes
    links = _links(exc, finding.leaf)[:_MAX_CHAIN]
    if not links or _is_withheld(case) or case.call.phase in {"lookup", "arguments"}:
        return ()
    return [_describe_cause(case, link) for link in reversed(links)]


def _links(exc: BaseException, leaf: BaseException) -> list[BaseException]:
    """
    Return the causes of a failure, newest first, then the other members of its group.
    """
    links = causes_of(leaf)
    if links:
        # A timeout scope raises over the cancellation that it caused.
        links = [link for link in links if not (is_cancelled(link) or _is_wrapper(link))]
    if leaf is exc or not is_group(exc):
        return links
    shown = {id(leaf), *map(id, links)}
    others = [
        other for other in leaves_of(exc) if id(other) not in shown and not is_cancelled(other)
    ]
    return [*links, *reversed(others)]


def _is_wrapper(exc: BaseException) -> bool:
    """
    Tell whether an exception is the SDK's own around what a tool raised, which its cause tells.
    """
    if cause_of(exc) is None or not text_of(exc).startswith("Error executing tool "):
        return False
    return any(qualified_name(base) in HOST_ERRORS for base in type(exc).__mro__)


def _describe_cause(case: Case, exc: BaseException) -> str:
    if isinstance(exc, ToolFault):
        return _strip_quoted_leaks(case, exc, exc.envelope.message)
    text = rule_for(case, exc).message
    if is_group(exc):
        # Less the count of its members, which says nothing.
        text = author_text(case, exc).rpartition(" (")[0]
    elif text is None:
        # A builtin that a library met on its way quotes whatever it was about: a part of a URL,
        # a body's bytes.
        inside = (
            type(exc).__module__ == "builtins" and is_raised_by_author(exc, case.modules) is False
        )
        text = "" if inside else author_text(case, exc)
    kind = _class_name(case, exc)
    return f"{kind}: {text}" if text else kind


def _class_name(case: Case, exc: BaseException) -> str:
    """
    Return the name of a class as safe as any text: it may be made at run time, of anything.
    """
    name = class_name(exc)
    if name in _BUILTIN_NAMES:
        return name
    return one_line(_redact(case, name, _MAX_KIND)) or "an exception"


def _redact(case: Case, text: str, limit: int = MESSAGE_BYTES) -> str:
    redactor = case.policy.redactor
    if case.policy.disclosure is Disclosure.FULL:
        return redactor.show(text, limit)
    known = case.values.paths if "/" in text or "\\" in text else ()
    if limit < MESSAGE_BYTES // 2:
        return redactor.scrub(text, limit, known, secrets=case.secrets)
    shown = redactor.scrub(text, 4 * WINDOW, known, secrets=case.secrets)
    return shown if len(shown) * 4 <= limit else cut_middle(shown, limit)


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
