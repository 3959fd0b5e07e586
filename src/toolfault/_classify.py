"""
From an exception to a fault.

The first that answers wins: the author's own `ToolFault`; a rule declared for the tool; one declared for the guard;
the phase, where it decides; a class of the author's own; the default tables; on purpose or by accident; ``internal``.

Rule 1: the code is the innermost telling exception's, the text the outermost deliberate one's.
Rule 2: what was not written for a caller to read is composed, never ``str(exc)`` of a class that leaks.
Rule 3: ``unknown`` is for readers; it never leaves here.
"""

from __future__ import annotations

import logging
import os.path
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias

from toolfault._causes import causes_of, handled_by, is_group, leaves_of
from toolfault._codes import DEFAULTS, McpErrorCategory, McpErrorCode
from toolfault._envelope import made
from toolfault._json import is_array, is_mapping
from toolfault._names import class_name, qualified_name
from toolfault._prose import careful
from toolfault._purpose import Home, Purpose, from_environ, names_environment, purpose_of, through
from toolfault._redact import Redactor
from toolfault._registry import Registry
from toolfault._text import CAUSE_BYTES, HINT_BYTES, MESSAGE_BYTES, one_line, safe_str, text_of
from toolfault._verdict import Family, Origin, Outcome, Verdict
from toolfault.errors import ToolFault
from toolfault.rules.mcp import HOST_ERRORS
from toolfault.rules.own_names import verdict_for_name
from toolfault.rules.pydantic import arguments_message, nearest, violations


_log = logging.getLogger("toolfault")

Phase: TypeAlias = Literal["lookup", "arguments", "resolver", "body", "output"]
"""
How far a call had come: finding the tool, checking its arguments, filling resolved parameters, running its body,
converting what it returned.
"""


class Disclosure(StrEnum):
    """
    How much of what failed a caller may read.
    """

    REDACTED = "redacted"
    """Texts survive without secrets, and with paths of the server cut to what the caller knows."""

    WITHHELD = "withheld"
    """What was written for callers survives, redacted; a crash shows its class and the id that the log repeats."""

    FULL = "full"
    """Everything but registered secrets, for development."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """
    What is known of one call.

    Attributes:
        tool:
            The name that the caller used.

        arguments:
            The arguments as the caller sent them.

        phase:
            How far the call had come.

        function:
            The tool's function; tells which modules are its author's. None: not known.

        available:
            The names that ``tools/list`` shows, for an unknown name.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    phase: Phase = "body"
    function: object | None = None
    available: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """
    What a guard's owner decided, as far as judging needs it.
    """

    declared: tuple[Registry, ...]
    registry: Registry
    redactor: Redactor
    disclosure: Disclosure
    own_credentials: bool
    arguments_forwarded: bool
    egress_allow: frozenset[str] | None
    upstream_text: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """
    A fault, and what the log says of it.
    """

    fault: ToolFault
    leaf: BaseException
    crash: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """
    What was found out about one exception.
    """

    verdict: Verdict
    leaf: BaseException
    reason: str
    deliberate: bool = False
    crash: bool = False
    text: str | None = None
    author: ToolFault | None = None
    violations: tuple[dict[str, Any], ...] = ()


_INTERNAL: Final = Verdict(code=McpErrorCode.INTERNAL)
_INVALID: Final = Verdict(code=McpErrorCode.INVALID_ARGUMENTS)
_PANICKED: Final = Verdict(code=McpErrorCode.TOOL_PANICKED, family="bug")

#: Classes that say nothing by themselves: what was being handled decides (on-purpose, section 5).
_GENERAL: Final = HOST_ERRORS | {"builtins.ValueError", "builtins.Exception", "builtins.RuntimeError"}

#: What a builtin class means when an author raised it (on-purpose, section 8). Others: their rule.
_ON_PURPOSE: Final[dict[str, Verdict]] = {
    **{
        f"builtins.{name}": _INVALID
        for name in (
            "ValueError",
            "LookupError",
            "KeyError",
            "IndexError",
            "FileNotFoundError",
            "FileExistsError",
            "NotADirectoryError",
            "IsADirectoryError",
        )
    },
    "builtins.PermissionError": Verdict(code=McpErrorCode.PERMISSION_DENIED, family="auth"),
}

#: Where looking for a telling base ends.
_SAY_NOTHING: Final = frozenset({"builtins.Exception", "builtins.BaseException"})

#: Families of a handled exception that say nothing about an exception raised over it.
_SILENT: Final[frozenset[Family]] = frozenset({"bug", "data", "general"})

#: Families of a handled exception that weigh more than the words of an own class's name.
_WEIGHTY: Final[frozenset[Family]] = frozenset({"http", "network", "timeout", "database", "auth"})

#: Families whose failure the author need not have planned for the log to call it anticipated.
_EXPLAINED: Final[frozenset[str]] = _WEIGHTY | {"limit", "file", "process"}

_UPSTREAM: Final[frozenset[Family]] = frozenset({"http", "network", "timeout", "database"})

#: Packages whose presence on a traceback makes a PermissionError without a file name one of a socket.
_SOCKETS: Final = frozenset({"socket", "ssl", "asyncio", "anyio", "http", "urllib", "urllib3"}) | {
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "requests",
    "aiohttp",
    "trio",
}

#: How many names an unknown one is compared with.
_MAX_NAMES: Final = 500

#: How deep causes are judged to find the telling one.
_MAX_DEPTH: Final = 8

#: How many members of a group are judged; the rest can't change much, and cost.
_MAX_JUDGED: Final = 64


def judge(exc: BaseException, call: Call, policy: Policy, home: Home, failure_id: str) -> Judgement:
    """
    Return what an exception out of a call means.

    Args:
        exc: What was raised, without the wrapper that a host put around it.
        call: The call that it ended.
        policy: What the guard's owner decided.
        home: The modules of the tool's author.
        failure_id: The id that ``_meta`` and the log share.
    """
    case = _Case(call, policy, home)
    finding = case.find(exc)
    fault = case.fault(exc, finding, failure_id)
    return Judgement(fault=fault, leaf=finding.leaf, crash=finding.crash, reason=finding.reason)


class _Case:
    """
    One call and what to judge it by.
    """

    __slots__ = ("_said", "call", "home", "policy")

    def __init__(self, call: Call, policy: Policy, home: Home) -> None:
        self.call = call
        self.policy = policy
        self.home = home
        # What the tables said of each exception: a cause is judged, and shown in the chain.
        self._said: dict[int, tuple[str, Verdict]] = {}

    # Finding the exception that decides

    def find(self, exc: BaseException) -> _Finding:
        if self.call.phase == "lookup":
            return self._unknown_tool(exc)
        if not is_group(exc):
            return self.leaf(exc, exc)
        leaves = [leaf for leaf in leaves_of(exc) if not _is_cancelled(leaf)]
        if not leaves:
            return _Finding(verdict=self._rule(_any_leaf(exc)), leaf=_any_leaf(exc), reason="stray cancel", crash=True)
        return _deciding([self.leaf(leaf, exc) for leaf in leaves[:_MAX_JUDGED]])

    def leaf(self, exc: BaseException, witness: BaseException, depth: int = 0) -> _Finding:
        """
        Judge one exception that is no group.
        """
        if isinstance(exc, ToolFault):
            return _Finding(verdict=_of_author(exc), leaf=exc, reason="ToolFault", deliberate=True, author=exc)
        if (declared := self._declared(exc)) is not None:
            return declared
        if self.call.phase in {"arguments", "output"} and (found := self._validation(exc)) is not None:
            return found
        purpose = purpose_of(exc, self.home, witness)
        name, verdict = self._named_rule(exc)
        # What is no Exception is not for tools to raise, whoever wrote its class.
        if not isinstance(exc, Exception):
            return self._by_accident(exc, name, verdict, purpose)
        if self.home.owns_class(type(exc)):
            return self._own_class(exc, depth)
        if verdict.instead is not None and depth < _MAX_DEPTH:
            return self.leaf(verdict.instead, witness, depth + 1)
        if purpose.deliberate:
            return self._on_purpose(exc, name, verdict, depth, purpose.reason)
        return self._by_accident(exc, name, verdict, purpose)

    def _unknown_tool(self, exc: BaseException) -> _Finding:
        import difflib  # noqa: PLC0415 -- at first use: it costs as much to load as half of ours

        tool = self.policy.redactor.scrub(self.call.tool, 128)
        names = {name.lower(): name for name in self.call.available[:_MAX_NAMES]}
        near = [names[name] for name in difflib.get_close_matches(tool.lower(), names, n=3, cutoff=0.6)]
        hint = "Call tools/list for the names there are."
        if near:
            hint = f"Did you mean {' or '.join(map(repr, near))}? {hint}"
        verdict = Verdict(
            code=McpErrorCode.TOOL_NOT_FOUND, message=f"Unknown tool: {tool}", hint=hint, origin="adapter"
        )
        return _Finding(verdict=verdict, leaf=exc, reason="no such tool", deliberate=True)

    def _declared(self, exc: BaseException) -> _Finding | None:
        for registry in self.policy.declared:
            if (found := _asked(registry, exc)) is not None:
                name, verdict = found
                text = None if verdict.message is not None else text_of(exc)
                return _Finding(verdict=verdict, leaf=exc, reason=f"declared for {name}", deliberate=True, text=text)
        return None

    def _rule(self, exc: BaseException) -> Verdict:
        return self._named_rule(exc)[1]

    def _named_rule(self, exc: BaseException) -> tuple[str, Verdict]:
        said = self._said.get(id(exc))
        if said is None:
            said = self._said[id(exc)] = _asked(self.policy.registry, exc) or ("", _INTERNAL)
        return said

    # Arguments and results

    def _validation(self, exc: BaseException) -> _Finding | None:
        found = violations(exc)
        if not found:
            return None
        if self.call.phase == "output":
            what = "; ".join(f"`{item['field']}`: {item['message']}" for item in found[:5])
            message = f"The tool returned a value that does not fit its declared output ({what})."
            verdict = replace(_INTERNAL, message=message, origin="tool")
            return _Finding(verdict=verdict, leaf=exc, reason="output conversion", crash=True)
        if (crashed := self._crashed_validator(exc)) is not None:
            return self._by_accident(crashed, *self._named_rule(crashed), purpose_of(crashed, self.home))
        verdict = Verdict(
            code=McpErrorCode.INVALID_ARGUMENTS,
            message=arguments_message(found, self.call.tool),
            hint=nearest(exc),
            origin="adapter",
        )
        return _Finding(verdict=verdict, leaf=exc, reason="arguments refused", deliberate=True, violations=tuple(found))

    def _crashed_validator(self, exc: BaseException) -> BaseException | None:
        """
        Return the exception of a validator of the author's own that did not raise it on purpose.
        """
        errors: Any = getattr(exc, "errors", None)
        try:
            listed = errors(include_url=False, include_input=False)
        except Exception:  # noqa: BLE001 -- then there is nothing to look into
            return None
        for item in listed:
            # pydantic keeps what a validator raised; an assert in one is its idiom for a refusal.
            original = item.get("ctx", {}).get("error") if item.get("type") == "value_error" else None
            if not isinstance(original, BaseException) or original.__traceback__ is None:
                continue
            link = original.__traceback__
            while link.tb_next is not None:
                link = link.tb_next
            if self.home.owns(link.tb_frame.f_globals) and not purpose_of(original, self.home).deliberate:
                return original
        return None

    # On purpose

    def _on_purpose(self, exc: BaseException, name: str, verdict: Verdict, depth: int, reason: str) -> _Finding:
        if name in _GENERAL and depth < _MAX_DEPTH and (found := self._over_handled(exc, name, depth)) is not None:
            return found
        return self._nothing_handled(exc, name, verdict, reason)

    def _over_handled(self, exc: BaseException, name: str, depth: int) -> _Finding | None:
        """
        Judge a general exception by what was being handled when it was raised; None: nothing was.
        """
        handled = handled_by(exc)
        if handled is None:
            return None
        text = text_of(exc)
        found = self._find_handled(handled, depth)
        reason = f"over {class_name(handled)}: {found.reason}"
        if found.deliberate or found.verdict.family not in _SILENT | {"other"}:
            return _Finding(verdict=_telling(found), leaf=exc, reason=reason, deliberate=True, text=text)
        conversion = (
            isinstance(handled, ValueError | LookupError | TypeError | ArithmeticError) or found.verdict.family == "data"
        )
        if conversion and isinstance(exc, ValueError):
            return _Finding(verdict=_INVALID, leaf=exc, reason=reason, deliberate=True, text=text)
        inner = text_of(handled)
        if found.verdict.family == "bug" and inner and inner in text:
            return replace(found, leaf=exc, reason=f"repeats {reason}", text=text)
        if name in HOST_ERRORS and (said := careful(text, tool=self.call.tool, arguments=self.call.arguments)):
            return _Finding(verdict=said, leaf=exc, reason=f"prose, {reason}", deliberate=True, text=text)
        return _Finding(verdict=_INTERNAL, leaf=exc, reason=reason, deliberate=True, text=text)

    def _find_handled(self, handled: BaseException, depth: int) -> _Finding:
        leaves = [leaf for leaf in leaves_of(handled) if not _is_cancelled(leaf)] or [handled]
        return _deciding([self.leaf(leaf, handled, depth + 1) for leaf in leaves[:_MAX_JUDGED]])

    def _nothing_handled(self, exc: BaseException, name: str, verdict: Verdict, reason: str) -> _Finding:
        text = text_of(exc)
        meant = _ON_PURPOSE.get(name)
        if name in HOST_ERRORS:
            said = careful(text, tool=self.call.tool, arguments=self.call.arguments)
            meant = said or _INTERNAL
            reason = f"prose, {reason}" if said else reason
        elif _is_bare_key(exc, text) or (isinstance(exc, NotImplementedError) and not text):
            return self._crash(exc, verdict, reason)
        elif meant is _INVALID and isinstance(exc, ValueError) and names_environment(exc):
            meant, reason = _INTERNAL, f"configuration, {reason}"
        elif meant is None:
            # A class of a package with a rule keeps its code; a builtin that only code meets says nothing.
            meant = _INTERNAL if verdict.family in _SILENT and name.startswith("builtins.") else verdict
        return _Finding(verdict=meant, leaf=exc, reason=reason, deliberate=True, text=text)

    def _own_class(self, exc: BaseException, depth: int) -> _Finding:
        """
        Judge an exception of a class that the author wrote: never a crash (on-purpose, section 8).
        """
        text = text_of(exc)
        verdict, reason = self._own_verdict(exc, text, depth)
        return _Finding(verdict=verdict, leaf=exc, reason=f"own class, {reason}", deliberate=True, text=text)

    def _own_verdict(self, exc: BaseException, text: str, depth: int) -> tuple[Verdict, str]:
        if (based := self._by_library_base(exc)) is not None:
            return based
        handled = handled_by(exc) if depth < _MAX_DEPTH else None
        found = None if handled is None else self._find_handled(handled, depth)
        if found is not None and found.verdict.family in _WEIGHTY:
            return _telling(found), f"over {class_name(found.leaf)}"
        for cls in type(exc).__mro__:
            if self.home.owns_class(cls) and (named := verdict_for_name(cls.__name__)) is not None:
                return named, "by the words of its name"
        if handled is not None:
            general = "builtins.ValueError" if isinstance(exc, ValueError) else "builtins.Exception"
            over = self._over_handled(exc, general, depth)
            if over is not None and not over.crash and over.verdict is not _INTERNAL:
                return over.verdict, over.reason
        return self._by_builtin_base(exc, text)

    def _by_library_base(self, exc: BaseException) -> tuple[Verdict, str] | None:
        for name, rule in self.policy.registry.rules_for(type(exc)):
            if name.startswith("builtins.") or name in HOST_ERRORS:
                continue
            verdict = rule if isinstance(rule, Verdict) else _safely(name, rule, exc)
            if verdict is not None:
                return verdict, f"by its base {name}"
        return None

    def _by_builtin_base(self, exc: BaseException, text: str) -> tuple[Verdict, str]:
        for base in map(qualified_name, type(exc).__mro__):
            if base in _SAY_NOTHING:
                break
            if base in _ON_PURPOSE:
                return (_INTERNAL if _is_bare_key(exc, text) else _ON_PURPOSE[base]), f"by its base {base}"
            if base.startswith("builtins.") and base in self.policy.registry:
                verdict = self._rule(exc)
                return (_INTERNAL if verdict.family in _SILENT else verdict), f"by its base {base}"
        return _INTERNAL, "nothing tells"

    # By accident

    def _by_accident(self, exc: BaseException, name: str, verdict: Verdict, purpose: Purpose) -> _Finding:
        if isinstance(exc, KeyError) and from_environ(exc):
            variable = safe_str(exc.args[0]) if exc.args else "?"
            message = f"The server is not configured: the environment variable {variable} is not set."
            return _Finding(verdict=replace(_INTERNAL, message=message), leaf=exc, reason="environment", crash=True)
        if isinstance(exc, PermissionError) and not verdict.paths and purpose.traceback:
            verdict = _socket_or_disk(exc, self.home)
        verdict = self._caller_named(verdict)
        if not name or verdict.family in _SILENT or verdict.code is McpErrorCode.TOOL_PANICKED:
            return self._crash(exc, verdict, purpose.reason)
        blamed = verdict.code is McpErrorCode.INVALID_ARGUMENTS
        crash = not blamed and verdict.family not in _EXPLAINED
        return _Finding(verdict=verdict, leaf=exc, reason=f"rule {name}", crash=crash)

    def _crash(self, exc: BaseException, verdict: Verdict, reason: str) -> _Finding:
        return _Finding(verdict=verdict, leaf=exc, reason=reason, crash=True)

    def _caller_named(self, verdict: Verdict) -> Verdict:
        """
        Blame the caller if an argument names the file or the URL that failed (standards, trap 1).
        """
        if verdict.callers is None:
            return verdict
        blamed = replace(verdict, code=verdict.callers, category=None, retryable=None)
        for given in _strings(self.call.arguments):
            for path in verdict.paths:
                if _names_path(given, path):
                    # The caller knows the path as it wrote it; the rule shows the last component alone.
                    last = repr(_components(path)[-1])
                    spelled = None if verdict.message is None else verdict.message.replace(last, repr(given), 1)
                    return replace(blamed, message=spelled)
            if any(_names_url(given, url) for url in verdict.urls):
                return blamed
        return verdict

    # From what was found to the fault

    def fault(self, exc: BaseException, finding: _Finding, failure_id: str) -> ToolFault:
        verdict = self._as_declared(finding)
        code, category, retryable = _resolved(verdict)
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
        facts: dict[str, Any] = {"id": failure_id, "origin": verdict.origin or self._origin(finding, verdict)}
        if verdict.upstream_status is not None:
            facts["upstream_status"] = verdict.upstream_status
        if finding.violations:
            facts["violations"] = list(finding.violations)
        outcome = verdict.outcome or _OUTCOMES[self.call.phase]
        if finding.author is None:
            return ToolFault.of(envelope, outcome=outcome, facts=facts)
        # The class and the facts are the author's; the values are safe now.
        return ToolFault.of(envelope, outcome=outcome, facts={**finding.author.facts, **facts})

    def _as_declared(self, finding: _Finding) -> Verdict:
        """
        Apply what the guard's owner declared about credentials, arguments and egress.
        """
        verdict = finding.verdict
        if verdict.credentials and self.policy.own_credentials:
            return replace(verdict, code=McpErrorCode.INTERNAL, category=McpErrorCategory.AUTH, retryable=False)
        if verdict.forwarded and not self.policy.arguments_forwarded:
            return replace(verdict, code=McpErrorCode.INTERNAL, category=McpErrorCategory.PERMANENT, retryable=False)
        allowed = self.policy.egress_allow
        if (
            verdict.proxied
            and allowed is not None
            and verdict.urls
            and not any(_host(url) in allowed for url in verdict.urls)
        ):
            return replace(verdict, code=McpErrorCode.NETWORK_BLOCKED, category=None, retryable=None)
        return verdict

    def _origin(self, finding: _Finding, verdict: Verdict) -> Origin:
        if verdict.code is McpErrorCode.MCP_SERVER_UNREACHABLE:
            return "transport"
        return "upstream" if verdict.family in _UPSTREAM and finding.author is None else "tool"

    def _message(self, finding: _Finding, verdict: Verdict, code: McpErrorCode, failure_id: str) -> str:
        withheld = self.policy.disclosure is Disclosure.WITHHELD
        if finding.author is not None:
            message = self._shown(finding.author.envelope.message)
        elif finding.text and (finding.deliberate or not withheld):
            message = self._shown(finding.text)
        elif verdict.message is not None and not (finding.crash and withheld and verdict.family in _SILENT):
            message = self._shown(verdict.message)
        elif finding.deliberate:
            message = ""
        else:
            message = self._composed(finding, withheld=withheld, failure_id=failure_id)
        return (message or _wordless(finding.leaf, code)) + self._quoted(verdict)

    def _quoted(self, verdict: Verdict) -> str:
        """
        Return what the upstream said, in one capped line and marked as a quotation, if the guard's owner wants it.
        """
        if not self.policy.upstream_text or not verdict.quote:
            return ""
        said = one_line(self._shown(verdict.quote, CAUSE_BYTES)).replace('"', "'")
        return f' The upstream said, in its own words: "{said}"' if said else ""

    def _composed(self, finding: _Finding, *, withheld: bool, failure_id: str) -> str:
        """
        Compose the message for an exception that nobody wrote for a caller.
        """
        exc, kind = finding.leaf, class_name(finding.leaf)
        bug = finding.verdict.code is McpErrorCode.TOOL_PANICKED
        what = "The tool failed unexpectedly" if bug else "The tool failed"
        if withheld:
            return f"{what} ({kind}). The server's log tells more under the id {failure_id}."
        text = self._shown(text_of(exc), MESSAGE_BYTES // 2)
        if isinstance(exc, KeyError) and _is_bare_key(exc, text_of(exc)):
            return f"{what}: the key {text!r} is missing (KeyError)."
        if not text:
            return f"{what} ({kind})."
        return f"{what}: {text if text.startswith(kind) else f'{kind}: {text}'}"

    def _chain(self, exc: BaseException, finding: _Finding, verdict: Verdict, message: str) -> tuple[str, ...]:
        """
        Return the messages of the underlying failures, oldest first, without what the message says already.
        """
        if finding.author is not None and finding.author.envelope.cause_chain:
            given: Iterable[str] = finding.author.envelope.cause_chain
        elif verdict.causes:
            given = verdict.causes
        elif self.policy.disclosure is Disclosure.WITHHELD or self.call.phase in {"lookup", "arguments"}:
            return ()
        else:
            below = causes_of(finding.leaf)
            if finding.leaf is not exc:
                shown = {id(finding.leaf), *(id(link) for link in below)}
                beside = [leaf for leaf in leaves_of(exc) if id(leaf) not in shown and not _is_cancelled(leaf)]
                below = [*below, *reversed(beside)] if is_group(exc) else below
            given = [self._cause(link) for link in reversed(below[:_MAX_CHAIN])]
        texts = [text for cause in list(given)[-_MAX_CHAIN:] if (text := self._shown(cause, CAUSE_BYTES))]
        return tuple(text for text in dict.fromkeys(texts) if text.partition(": ")[2] != message)

    def _cause(self, exc: BaseException) -> str:
        if isinstance(exc, ToolFault):
            return exc.envelope.message
        message = self._rule(exc).message
        text = text_of(exc) if message is None else message
        kind = class_name(exc)
        return f"{kind}: {text}" if text else kind

    def _shown(self, text: str, limit: int = MESSAGE_BYTES) -> str:
        redactor = self.policy.redactor
        if self.policy.disclosure is Disclosure.FULL:
            return redactor.show(text, limit)
        return redactor.scrub(text, limit, _strings(self.call.arguments))


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


def _deciding(findings: list[_Finding]) -> _Finding:
    """
    Return the one of several that speaks for all: a fault, what can't be retried, the longest delay, the first.
    """
    for finding in findings:
        if finding.author is not None:
            return finding
    for finding in findings:
        if not _resolved(finding.verdict)[2]:
            return finding
    return max(findings, key=lambda finding: finding.verdict.retry_after_seconds or 0)


def _resolved(verdict: Verdict) -> tuple[McpErrorCode, McpErrorCategory, bool]:
    code = McpErrorCode.INTERNAL if verdict.code is McpErrorCode.UNKNOWN else verdict.code
    category, retryable = DEFAULTS[code]
    if verdict.category not in {None, McpErrorCategory.UNKNOWN}:
        category = verdict.category or category
    return code, category, retryable if verdict.retryable is None else verdict.retryable


def _of_author(fault: ToolFault) -> Verdict:
    envelope = fault.envelope
    return Verdict(
        code=envelope.code,
        category=envelope.category,
        retryable=envelope.retryable,
        retry_after_seconds=envelope.retry_after_seconds,
        hint=envelope.hint,
        outcome=fault.outcome,
        origin=fault.facts.get("origin"),
        upstream_status=fault.facts.get("upstream_status"),
    )


def _telling(found: _Finding) -> Verdict:
    """
    Return what a handled exception lends to the one raised over it: everything but a chain of its own.
    """
    return replace(found.verdict, causes=()) if found.verdict.causes else found.verdict


def _asked(registry: Registry, exc: BaseException) -> tuple[str, Verdict] | None:
    """
    Ask the rules one by one, so that one that raises only loses its own voice.
    """
    for name, rule in registry.rules_for(type(exc)):
        verdict = rule if isinstance(rule, Verdict) else _safely(name, rule, exc)
        if verdict is not None:
            return name, verdict
    return None


def _safely(name: str, rule: Callable[[Any], Verdict | None], exc: BaseException) -> Verdict | None:
    try:
        return rule(exc)
    except Exception:  # noqa: BLE001 -- a rule is a user's code; it is logged with its traceback
        _log.exception("the rule for %s raised and is passed over", name)
        return None


def _is_cancelled(exc: BaseException) -> bool:
    return qualified_name(type(exc)) in {"asyncio.exceptions.CancelledError", "trio.Cancelled"}


def _any_leaf(exc: BaseException) -> BaseException:
    return next(iter(leaves_of(exc)), exc)


def _is_bare_key(exc: BaseException, text: str) -> bool:
    """
    Tell whether a KeyError or IndexError says no more than the key: the protocol demands that raise.
    """
    if not isinstance(exc, KeyError | IndexError):
        return False
    return not text or not isinstance(exc.args[0] if exc.args else "", str) or not any(map(str.isspace, text))


def _wordless(exc: BaseException, code: McpErrorCode) -> str:
    kind = class_name(exc)
    if code is McpErrorCode.INVALID_ARGUMENTS:
        return f"The tool refused the arguments ({kind}) and did not say why."
    return f"The tool failed ({kind}) and did not say why."


def _socket_or_disk(exc: BaseException, home: Home) -> Verdict:
    """
    Judge a PermissionError without a file name by where it came through (design 5.5).
    """
    if through(exc, home) & _SOCKETS:
        from toolfault.rules.builtins import NO_CONNECTION_ALLOWED  # noqa: PLC0415 -- tables load at the first failure

        return NO_CONNECTION_ALLOWED
    return replace(_INTERNAL, message="The server is not permitted to do this on its own system.", family="file")


def _strings(value: object, depth: int = 6) -> Iterator[str]:
    """
    Go through the texts among a call's arguments, bounded.
    """
    inner: Iterable[Any] = ()
    if isinstance(value, str):
        if 0 < len(value) <= _MAX_ARGUMENT:
            yield value
    elif is_mapping(value):
        inner = value.values()
    elif is_array(value):
        inner = value[:100]
    if depth:
        for item in inner:
            yield from _strings(item, depth - 1)


#: The longest argument that can be a path or a URL.
_MAX_ARGUMENT: Final = 4096


def _names_path(given: str, path: str) -> bool:
    """
    Tell whether an argument, its root aside, is the path or a leading or trailing run of its components.
    """
    mine, its = _components(given), _components(path)
    if not mine or len(mine) > len(its):
        return False
    return its[: len(mine)] == mine or its[-len(mine) :] == mine


def _components(path: str) -> list[str]:
    tidy = os.path.normpath(path.replace("\\", "/"))
    parts = [part for part in tidy.split("/") if part not in {"", "."}]
    return parts[1:] if parts and parts[0].endswith(":") else parts


def _names_url(given: str, url: str) -> bool:
    host = _host(url)
    return given == url or (bool(host) and host in given.lower())


def _host(url: str) -> str:
    from urllib.parse import urlsplit  # noqa: PLC0415 -- at first use, as difflib

    try:
        return (urlsplit(url).hostname or "") if "//" in url else url.partition(":")[0].lower()
    except ValueError:
        return ""
