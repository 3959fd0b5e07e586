"""
Finding out what an exception means.

The first that answers wins: the author's own `ToolFault`; a rule declared for the tool; one
declared for the guard; the phase, where it decides; a class of the author's own; the default
tables; on purpose or by accident; ``internal``.

Rule 1: the code is the innermost telling exception's, the text the outermost deliberate one's.
Rule 2: arguments that were refused are the caller's; the same error inside the body is the
server's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from toolfault._causes import handled_by, is_group, leaves_of
from toolfault._codes import McpErrorCode
from toolfault._judge.caller_values import names_path, names_url
from toolfault._judge.case import (
    INTERNAL,
    SILENT,
    Call,
    Case,
    Finding,
    Policy,
    adds_nothing,
    as_sentence,
    asked,
    is_bare_key,
    is_cancelled,
    is_unexplained,
    resolved,
    safely,
)
from toolfault._judge.deliberate import (
    Home,
    Purpose,
    from_environ,
    names_environment,
    purpose_of,
    raised_by,
    through,
)
from toolfault._judge.own_names import verdict_for_name
from toolfault._judge.refused_values import Refused, is_conversion, reason_of, refused_by
from toolfault._names import class_name, qualified_name
from toolfault._prose.careful import careful
from toolfault._text import one_line, quote, safe_str, text_of
from toolfault._verdict import Family, Verdict
from toolfault.errors import ToolFault
from toolfault.rules.mcp import HOST_ERRORS
from toolfault.rules.pydantic import arguments_message, nearest, violations


_INVALID: Final = Verdict(code=McpErrorCode.INVALID_ARGUMENTS)

#: Classes that say nothing by themselves: what was being handled decides.
_GENERAL: Final = HOST_ERRORS | {
    "builtins.ValueError",
    "builtins.Exception",
    "builtins.RuntimeError",
}

#: What a builtin class means when an author raised it. Others: their rule.
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

#: Families of a handled exception that weigh more than the words of an own class's name.
_WEIGHTY: Final[frozenset[Family]] = frozenset({"http", "network", "timeout", "database", "auth"})

#: Families of what a library's own exception was raised from that explain it.
_TELLING: Final = _WEIGHTY | frozenset[Family]({"limit"})

#: Families whose failure the author need not have planned for the log to call it anticipated.
_EXPLAINED: Final[frozenset[str]] = _WEIGHTY | {"limit", "file", "process"}

#: Packages whose presence on a traceback makes a PermissionError without a file name one of a
#: socket.
_SOCKETS: Final = frozenset({"socket", "ssl", "asyncio", "anyio", "http", "urllib", "urllib3"}) | {
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "requests",
    "aiohttp",
    "trio",
}

#: How much of a tool's name is shown, in bytes.
_MAX_NAME: Final = 128

#: How many names an unknown one is compared with.
_MAX_NAMES: Final = 500

#: What failed conversions raise, besides the family "data".
_CONVERSIONS: Final = (ValueError, LookupError, TypeError, ArithmeticError)

#: Builtin classes in which libraries tell what went wrong in their own words.
_SAID_BY_LIBRARIES: Final = frozenset(
    {
        "",
        "builtins.Exception",
        "builtins.LookupError",
        "builtins.OSError",
        "builtins.RuntimeError",
        "builtins.ValueError",
    }
)

#: What a database says of a statement that it does not accept.
_REFUSED_STATEMENT: Final = frozenset({McpErrorCode.TOOL_PANICKED, McpErrorCode.INVALID_ARGUMENTS})

#: How deep causes are judged to find the telling one.
_MAX_DEPTH: Final = 8

#: How many members of a group are judged; the rest can't change much, and cost.
_MAX_JUDGED: Final = 64


class Finder(Case):
    """
    Finds out what the exceptions of one case mean.
    """

    __slots__ = ("_judged",)

    def __init__(self, call: Call, policy: Policy, home: Home) -> None:
        super().__init__(call, policy, home)
        # What hangs below several exceptions is judged once; groups in groups in groups would never
        # end.
        self._judged: dict[int, Finding] = {}

    # Finding the exception that decides

    def find(self, exc: BaseException) -> Finding:
        if self.call.phase == "lookup":
            return self._unknown_tool(exc)
        if not is_group(exc):
            return self.leaf(exc, exc)
        leaves = [leaf for leaf in leaves_of(exc) if not is_cancelled(leaf)]
        if not leaves:
            return Finding(
                verdict=self.rule(_any_leaf(exc)),
                leaf=_any_leaf(exc),
                reason="stray cancel",
                crash=True,
            )
        return _deciding([self.leaf(leaf, exc) for leaf in leaves[:_MAX_JUDGED]])

    def leaf(self, exc: BaseException, witness: BaseException, depth: int = 0) -> Finding:
        """
        Judge one exception that is no group.
        """
        if isinstance(exc, ToolFault):
            return Finding(
                verdict=_of_author(exc), leaf=exc, reason="ToolFault", deliberate=True, author=exc
            )
        # Before any rule: a rule for ValueError is not meant for pydantic's error about an
        # argument.
        if (
            self.call.phase in {"arguments", "output"}
            and (found := self._validation(exc)) is not None
        ):
            return found
        purpose = purpose_of(exc, self.home, witness)
        if (declared := self._declared(exc, purpose)) is not None:
            return declared
        name, verdict = self.named_rule(exc)
        # What is no Exception is not for tools to raise, whoever wrote its class.
        if not isinstance(exc, Exception):
            return self._by_accident(exc, name, verdict, purpose)
        if self.home.owns_class(type(exc)):
            return self._own_class(exc, depth)
        if (carried := self._unknown_library(exc, depth)) is not None:
            name, verdict = self.said[id(exc)] = carried
        if verdict.judge_instead is not None and depth < _MAX_DEPTH:
            return self.leaf(verdict.judge_instead, witness, depth + 1)
        if purpose.deliberate:
            return self._on_purpose(exc, name, verdict, depth, purpose.reason)
        return self._by_accident(exc, name, verdict, purpose)

    def _unknown_library(self, exc: BaseException, depth: int) -> tuple[str, Verdict] | None:
        """
        Judge a library's class that no table names; return how, and the verdict.

        By the HTTP status that it carries; by what it was raised from; by the words of its class.
        """
        from toolfault._judge.unknown_library import (  # noqa: PLC0415 -- read at the first failure, as the tables
            verdict_by_class,
            verdict_by_status,
        )

        name, verdict = self.named_rule(exc)
        is_named = name and not name.startswith("builtins.")
        if is_named or qualified_name(type(exc)).startswith("builtins."):
            return None
        handled = handled_by(exc) if depth < _MAX_DEPTH else None
        inner = None if handled is None else self._find_handled(handled, depth)
        if (found := verdict_by_status(exc)) is not None:
            # The exception below may still have the headers.
            if inner is not None and inner.verdict.upstream_status == found.upstream_status:
                found = _telling(inner)
            return "of the HTTP status that it carries", found
        if name and verdict.family not in SILENT:
            return None
        if inner is not None and inner.verdict.family in _TELLING:
            return f"of {class_name(inner.leaf)}, which it was raised from", _telling(inner)
        if (found := verdict_by_class(type(exc))) is not None:
            return "of the words of its class", found
        return None

    def _unknown_tool(self, exc: BaseException) -> Finding:
        import difflib  # noqa: PLC0415 -- at first use: it costs as much to load as half of ours

        tool = self._tool_name()
        names = {name.lower(): name for name in self.call.available[:_MAX_NAMES]}
        near = [
            names[name] for name in difflib.get_close_matches(tool.lower(), names, n=3, cutoff=0.6)
        ]
        hint = "Call tools/list for the names there are."
        if near:
            hint = f"Did you mean {' or '.join(map(repr, near))}? {hint}"
        verdict = Verdict(
            code=McpErrorCode.TOOL_NOT_FOUND,
            sentence=f"Unknown tool: {tool}",
            hint=hint,
            origin="adapter",
        )
        return Finding(verdict=verdict, leaf=exc, reason="no such tool", deliberate=True)

    def _tool_name(self) -> str:
        return one_line(self.policy.redactor.scrub(self.call.tool, _MAX_NAME)) or "(no name)"

    def _declared(self, exc: BaseException, purpose: Purpose) -> Finding | None:
        for registry in self.policy.declared:
            if (found := asked(registry, exc, self.policy.redactor)) is None:
                continue
            name, verdict = found
            text = None
            if verdict.sentence is None:
                # A code alone: the words are the author's, or the table's for what nobody wrote for
                # a caller.
                known = self.rule(exc)
                text = (
                    self.authored(exc)
                    if purpose.deliberate or self.home.owns_class(type(exc))
                    else known.message
                )
                text = text or as_sentence(exc)
            return Finding(
                verdict=verdict, leaf=exc, reason=f"declared for {name}", deliberate=True, text=text
            )
        return None

    # Arguments and results

    def _validation(self, exc: BaseException) -> Finding | None:
        found = violations(exc)
        if not found:
            return None
        if self.call.phase == "output":
            what = "; ".join(f"`{item['field']}`: {item['message']}" for item in found[:5])
            message = f"The tool returned a value that does not fit its declared output ({what})."
            verdict = replace(INTERNAL, sentence=message, origin="tool")
            return Finding(verdict=verdict, leaf=exc, reason="output conversion", crash=True)
        if (crashed := self._crashed_validator(exc)) is not None:
            return self._by_accident(
                crashed, *self.named_rule(crashed), purpose_of(crashed, self.home)
            )
        verdict = Verdict(
            code=McpErrorCode.INVALID_ARGUMENTS,
            sentence=arguments_message(found, self._tool_name()),
            hint=nearest(exc),
            origin="adapter",
        )
        return Finding(
            verdict=verdict,
            leaf=exc,
            reason="arguments refused",
            deliberate=True,
            violations=tuple(found),
        )

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
            original = (
                item.get("ctx", {}).get("error") if item.get("type") == "value_error" else None
            )
            if not isinstance(original, BaseException):
                continue
            if raised_by(original, self.home) and not purpose_of(original, self.home).deliberate:
                return original
        return None

    # On purpose

    def _on_purpose(
        self, exc: BaseException, name: str, verdict: Verdict, depth: int, reason: str
    ) -> Finding:
        if (
            name in _GENERAL
            and depth < _MAX_DEPTH
            and (found := self._over_handled(exc, name, depth)) is not None
        ):
            return found
        return self._nothing_handled(exc, name, verdict, reason)

    def _over_handled(self, exc: BaseException, name: str, depth: int) -> Finding | None:
        """
        Judge a general exception by what was being handled when it was raised; None: nothing was.
        """
        handled = handled_by(exc)
        if handled is None:
            return None
        text = self.authored(exc)
        found = self._find_handled(handled, depth)
        reason = f"over {class_name(handled)}: {found.reason}"
        crashed = found.verdict.code is McpErrorCode.TOOL_PANICKED
        if found.deliberate or (not crashed and found.verdict.family not in SILENT | {"other"}):
            return Finding(
                verdict=_telling(found), leaf=exc, reason=reason, deliberate=True, text=text
            )
        if found.verdict.family == "bug" and adds_nothing(
            text_of(exc), text_of(handled), self.call.tool
        ):
            return replace(found, leaf=exc, reason=f"repeats {reason}", text=text)
        # A statement that a database refuses, or a row that is not there, is to a query what these
        # are to a value.
        unfit = found.verdict.family == "data" or (crashed and found.verdict.family == "database")
        if isinstance(exc, ValueError) and (unfit or isinstance(handled, _CONVERSIONS)):
            if self._refused(handled, found.verdict).is_foreign:
                return Finding(
                    verdict=INTERNAL,
                    leaf=exc,
                    reason=f"not the caller's value, {reason}",
                    deliberate=True,
                    text=text,
                )
            return Finding(verdict=_INVALID, leaf=exc, reason=reason, deliberate=True, text=text)
        inner = text_of(handled)
        if found.verdict.family == "bug" and inner and inner in text_of(exc):
            return replace(found, leaf=exc, reason=f"repeats {reason}", text=text)
        if (
            name in HOST_ERRORS
            and (said := careful(text, tool=self.call.tool, arguments=self.call.arguments))
            and not self._blames_wrongly(said, handled, found.verdict)
        ):
            return Finding(
                verdict=said, leaf=exc, reason=f"prose, {reason}", deliberate=True, text=text
            )
        return Finding(verdict=INTERNAL, leaf=exc, reason=reason, deliberate=True, text=text)

    def _find_handled(self, handled: BaseException, depth: int) -> Finding:
        found = self._judged.get(id(handled))
        if found is None:
            found = self._judged[id(handled)] = self._find_anew(handled, depth)
        return found

    def _find_anew(self, handled: BaseException, depth: int) -> Finding:
        if len(self._judged) >= _MAX_JUDGED:
            return Finding(verdict=INTERNAL, leaf=handled, reason="too many exceptions to look at")
        if not is_group(handled):
            return self.leaf(handled, handled, depth + 1)
        leaves = [leaf for leaf in leaves_of(handled) if not is_cancelled(leaf)] or [handled]
        return _deciding([self.leaf(leaf, handled, depth + 1) for leaf in leaves[:_MAX_JUDGED]])

    def _nothing_handled(
        self, exc: BaseException, name: str, verdict: Verdict, reason: str
    ) -> Finding:
        text = self.authored(exc)
        meant = _ON_PURPOSE.get(name)
        if name in HOST_ERRORS:
            said = careful(text, tool=self.call.tool, arguments=self.call.arguments)
            meant = said or INTERNAL
            reason = f"prose, {reason}" if said else reason
        elif is_bare_key(exc, text) or (isinstance(exc, NotImplementedError) and not text):
            return self._crash(exc, verdict, reason)
        elif meant is _INVALID and isinstance(exc, ValueError) and names_environment(exc):
            meant, reason = INTERNAL, f"configuration, {reason}"
        elif meant is None:
            # A class of a package with a rule keeps its code; a builtin that only code meets says
            # nothing.
            meant = (
                INTERNAL if verdict.family in SILENT and name.startswith("builtins.") else verdict
            )
        return Finding(verdict=meant, leaf=exc, reason=reason, deliberate=True, text=text)

    def _own_class(self, exc: BaseException, depth: int) -> Finding:
        """
        Judge an exception of a class that the author wrote: never a crash.
        """
        text = self.authored(exc)
        verdict, reason = self._own_verdict(exc, text, depth)
        return Finding(
            verdict=verdict, leaf=exc, reason=f"own class, {reason}", deliberate=True, text=text
        )

    def _own_verdict(self, exc: BaseException, text: str, depth: int) -> tuple[Verdict, str]:
        if (based := self._by_library_base(exc)) is not None:
            return based
        from toolfault._judge.unknown_library import verdict_by_status  # noqa: PLC0415 -- as above

        if (carried := verdict_by_status(exc)) is not None:
            return carried, "by the HTTP status that it carries"
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
            if over is not None and not over.crash and over.verdict is not INTERNAL:
                return over.verdict, over.reason
        return self._by_builtin_base(exc, text)

    def _by_library_base(self, exc: BaseException) -> tuple[Verdict, str] | None:
        for name, rule in self.policy.registry.rules_for(type(exc)):
            if name.startswith("builtins.") or name in HOST_ERRORS:
                continue
            verdict = (
                rule if isinstance(rule, Verdict) else safely(name, rule, exc, self.policy.redactor)
            )
            if verdict is not None:
                return verdict, f"by its base {name}"
        return None

    def _by_builtin_base(self, exc: BaseException, text: str) -> tuple[Verdict, str]:
        for base in map(qualified_name, type(exc).__mro__):
            if base in _SAY_NOTHING:
                break
            if base in _ON_PURPOSE:
                return (
                    INTERNAL if is_bare_key(exc, text) else _ON_PURPOSE[base]
                ), f"by its base {base}"
            if base.startswith("builtins.") and base in self.policy.registry:
                verdict = self.rule(exc)
                return (INTERNAL if verdict.family in SILENT else verdict), f"by its base {base}"
        return INTERNAL, "nothing tells"

    # By accident

    def _by_accident(
        self, exc: BaseException, name: str, verdict: Verdict, purpose: Purpose
    ) -> Finding:
        if isinstance(exc, KeyError) and from_environ(exc):
            variable = safe_str(exc.args[0]) if exc.args else "?"
            message = (
                f"The server is not configured: the environment variable {variable} is not set."
            )
            return Finding(
                verdict=replace(INTERNAL, sentence=message),
                leaf=exc,
                reason="environment",
                crash=True,
            )
        if isinstance(exc, PermissionError) and not verdict.paths and purpose.traceback:
            verdict = _socket_or_disk(exc, self.home)
        verdict = self._caller_named(exc, verdict)
        if (found := self._callers_value(exc, verdict)) is not None:
            return found
        if (found := self._unexplained(exc, name, verdict)) is not None:
            return found
        if not name or verdict.family in SILENT or verdict.code is McpErrorCode.TOOL_PANICKED:
            return self._crash(exc, verdict, purpose.reason)
        blamed = verdict.code is McpErrorCode.INVALID_ARGUMENTS
        crash = not blamed and verdict.family not in _EXPLAINED
        return Finding(verdict=verdict, leaf=exc, reason=f"rule {name}", crash=crash)

    def _unexplained(self, exc: BaseException, name: str, verdict: Verdict) -> Finding | None:
        """
        Judge what a library raised and no table explains by its text; None: the author's code did.
        """
        is_library_class = is_unexplained(exc, name)
        in_library = name in _SAID_BY_LIBRARIES and raised_by(exc, self.home) is False
        if not (is_library_class or in_library):
            return None
        text = self.authored(exc).strip().partition("\n")[0] or None
        said = careful(text_of(exc), tool=self.call.tool, arguments=self.call.arguments)
        if said is not None and not self._blames_wrongly(said, exc, verdict):
            said = replace(said, sentence=None)
            return Finding(verdict=said, leaf=exc, reason="a library's words", text=text)
        if not is_library_class:
            return None
        return Finding(verdict=INTERNAL, leaf=exc, reason="unknown library", crash=True, text=text)

    def _callers_value(self, exc: BaseException, verdict: Verdict) -> Finding | None:
        """
        Blame the caller for a value that a conversion or a database refused, if an argument is it.
        """
        argument = self._refused(exc, verdict).argument
        if argument is None:
            return None
        text = f"The argument `{argument}` was refused: {quote(reason_of(exc))}."
        return Finding(
            verdict=_INVALID, leaf=exc, reason="a value of the caller", deliberate=True, text=text
        )

    def _blames_wrongly(self, said: Verdict, exc: BaseException, verdict: Verdict) -> bool:
        """
        Tell whether words blame the caller for a value that the caller did not send.
        """
        blamed = said.code is McpErrorCode.INVALID_ARGUMENTS
        return blamed and self._refused(exc, verdict).is_foreign

    def _refused(self, exc: BaseException, verdict: Verdict) -> Refused:
        statement = verdict.family == "database" and verdict.code in _REFUSED_STATEMENT
        if not (statement or is_conversion(exc, verdict)):
            return Refused()
        return refused_by(exc, self.home, self.values, statement=statement)

    def _crash(self, exc: BaseException, verdict: Verdict, reason: str) -> Finding:
        return Finding(verdict=verdict, leaf=exc, reason=reason, crash=True)

    def _caller_named(self, exc: BaseException, verdict: Verdict) -> Verdict:
        """
        Blame the caller if an argument names the file or the URL that failed (standards, trap 1).
        """
        if verdict.code_if_caller_named is None:
            return verdict
        blamed = replace(verdict, code=verdict.code_if_caller_named, category=None, retryable=None)
        is_folder = isinstance(exc, IsADirectoryError)
        for given in self.values.texts:
            for path in verdict.paths:
                if names_path(given, path, is_folder=is_folder):
                    # The caller knows the path as it wrote it.
                    return replace(blamed, file=given if verdict.file else "")
            if any(names_url(given, url) for url in verdict.urls):
                return blamed
        return verdict


def _deciding(findings: list[Finding]) -> Finding:
    """
    Return the one of several that speaks for all: a fault, what can't be retried, the longest
    delay, the first.
    """
    for finding in findings:
        if finding.author is not None:
            return finding
    for finding in findings:
        if not resolved(finding.verdict)[2]:
            return finding
    return max(findings, key=lambda finding: finding.verdict.retry_after_seconds or 0)


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


def _telling(found: Finding) -> Verdict:
    """
    Return what a handled exception lends to the one raised over it: everything but a chain of its
    own.
    """
    return replace(found.verdict, causes=()) if found.verdict.causes else found.verdict


def _any_leaf(exc: BaseException) -> BaseException:
    return next(iter(leaves_of(exc)), exc)


def _socket_or_disk(exc: BaseException, home: Home) -> Verdict:
    """
    Judge a PermissionError without a file name by where it came through (design 5.5).
    """
    if through(exc, home) & _SOCKETS:
        from toolfault.rules.builtins import NO_CONNECTION_ALLOWED  # noqa: PLC0415 -- tables load at the first failure

        return NO_CONNECTION_ALLOWED
    return replace(
        INTERNAL,
        sentence="The server is not permitted to do this on its own system.",
        family="file",
    )
