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

import builtins
import sys
from dataclasses import replace
from typing import Final

from toolfault._codes import McpErrorCode
from toolfault._exception_chain import any_cause_of, leaves_of
from toolfault._judge.arguments import (
    find_crashed_validator,
    judge_arguments,
    judge_output,
    judge_unknown_tool,
)
from toolfault._judge.caller_values import names_path, names_url
from toolfault._judge.case import (
    INTERNAL,
    SILENT,
    Case,
    Finding,
    adds_nothing,
    as_sentence,
    ask_rule,
    ask_rules,
    author_text,
    is_bare_key,
    is_cancelled,
    is_unexplained,
    rule_for,
    rule_with_name,
    with_defaults,
)
from toolfault._judge.deliberate import (
    AuthorModules,
    Purpose,
    from_environ,
    is_raised_by_author,
    names_environment,
    packages_in_traceback,
    purpose_of,
)
from toolfault._judge.own_names import verdict_for_name
from toolfault._judge.refused_values import Refused, find_refused, is_conversion, reason_of
from toolfault._meanings.violations import violations
from toolfault._names import class_name, qualified_name
from toolfault._prose.careful import careful
from toolfault._sanitize import read_facts
from toolfault._text import one_line, quote, safe_str, telling_lines, text_of
from toolfault._verdict import Family, Verdict
from toolfault.errors import ToolFault
from toolfault.rules.mcp import HOST_ERRORS


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

#: How much of an argument's name is shown, in characters.
_MAX_FIELD: Final = 100

#: What a database says of a statement that it does not accept.
_REFUSED_STATEMENT: Final = frozenset({McpErrorCode.TOOL_PANICKED, McpErrorCode.INVALID_ARGUMENTS})

_NOTHING_REFUSED: Final = Refused()

#: The exception classes that Python itself has.
_BUILTINS: Final = frozenset(
    value
    for value in vars(builtins).values()
    if isinstance(value, type) and issubclass(value, BaseException)
)

#: Packages that run the functions of others, as in a worker thread.
_CARRIERS: Final = frozenset({"anyio"})

#: How deep causes are judged to find the telling one.
_MAX_DEPTH: Final = 8

#: How many members of a group are judged; the rest can't change much, and cost.
_MAX_JUDGED: Final = 64


# ---- finding the exception that decides


def find(case: Case, exc: BaseException) -> Finding:
    """
    Return the meaning of an exception, and which of its members decides.
    """
    if case.call.phase == "lookup":
        return judge_unknown_tool(case, exc)
    return _find_any(case, exc, 0)


def _find_any(case: Case, exc: BaseException, depth: int) -> Finding:
    """
    Judge an exception; of a group, its members that are no cancellations.
    """
    if not issubclass(type(exc), BaseExceptionGroup):
        return _find_leaf(case, exc, exc, depth)
    leaves = [leaf for leaf in leaves_of(exc) if not is_cancelled(leaf)]
    if not leaves:
        leaves = leaves_of(exc)[:1] or [exc]
    return _choose([_find_leaf(case, leaf, exc, depth) for leaf in leaves[:_MAX_JUDGED]])


def _find_leaf(case: Case, exc: BaseException, group: BaseException, depth: int) -> Finding:
    """
    Judge one exception that is not a group.
    """
    if isinstance(exc, ToolFault):
        verdict = _verdict_of_fault(exc)
        return Finding(verdict=verdict, leaf=exc, reason="ToolFault", deliberate=True, author=exc)
    # Before any rule: a rule for ValueError is not meant for pydantic's error about an argument.
    if case.call.phase in {"arguments", "output"}:
        found = _judge_validation(case, exc)
        if found is not None:
            return found
    purpose = purpose_of(exc, case.modules, group)
    if case.policy.declared:
        declared = _ask_declared_rules(case, exc, purpose)
        if declared is not None:
            return declared
    # What is not an Exception is not for tools to raise, whoever wrote its class.
    if not isinstance(exc, Exception):
        found = _stray_cancellation(case, exc, depth)
        return found or _judge_accident(case, exc, *rule_with_name(case, exc), purpose)
    if purpose.own_class:
        return _judge_own_class(case, exc, depth)
    return _judge_by_rule(case, exc, group, purpose, depth)


def _stray_cancellation(case: Case, exc: BaseException, depth: int) -> Finding | None:
    """
    Judge a cancellation that nobody asked for by what it was raised from; None: nothing tells.
    """
    handled = any_cause_of(exc) if is_cancelled(exc) and depth < _MAX_DEPTH else None
    if handled is None:
        return None
    found = _find_handled(case, handled, depth)
    if found.verdict.code is McpErrorCode.TOOL_PANICKED:
        return None
    return replace(found, reason=f"cancelled over {class_name(handled)}: {found.reason}")


def _judge_by_rule(
    case: Case, exc: Exception, group: BaseException, purpose: Purpose, depth: int
) -> Finding:
    """
    Judge an exception of a class that is not the author's own.
    """
    name, verdict = rule_with_name(case, exc)
    if not _is_in_tables(exc, name):
        carried = _unknown_library(case, exc, name, verdict, depth)
        if carried is not None:
            name, verdict = case.rules[id(exc)] = carried
    if verdict.judge_instead is not None and depth < _MAX_DEPTH:
        return _find_leaf(case, verdict.judge_instead, group, depth + 1)
    if not purpose.deliberate:
        return _judge_accident(case, exc, name, verdict, purpose)
    if name in _GENERAL and depth < _MAX_DEPTH:
        over = _judge_over_handled(case, exc, name, depth)
        if over is not None:
            return over
    return _judge_alone(case, exc, name, verdict, purpose.reason)


def _unknown_library(
    case: Case, exc: BaseException, name: str, verdict: Verdict, depth: int
) -> tuple[str, Verdict] | None:
    """
    Judge a library's class that no table names; return how, and the verdict; None if nothing tells.

    By the HTTP status that it carries; by what it was raised from; by the words of its class.
    """
    from toolfault._judge.unknown_library import (  # noqa: PLC0415 -- read at the first failure, as the tables
        verdict_by_class,
        verdict_by_status,
    )

    handled = any_cause_of(exc) if depth < _MAX_DEPTH else None
    inner = None if handled is None else _find_handled(case, handled, depth)
    if (found := verdict_by_status(exc)) is not None:
        # The exception below may still have the headers.
        if inner is not None and inner.verdict.upstream_status == found.upstream_status:
            found = _drop_causes(inner)
        return "of the HTTP status that it carries", found
    if name and verdict.family not in SILENT:
        return None
    if inner is not None and inner.verdict.family in _TELLING:
        return f"of {class_name(inner.leaf)}, which it was raised from", _drop_causes(inner)
    if (found := verdict_by_class(type(exc))) is not None:
        return "of the words of its class", found
    return None


def _is_in_tables(exc: BaseException, name: str) -> bool:
    """
    Tell whether a table names an exception's class, or one of its bases that is not built in.
    """
    return type(exc) in _BUILTINS or (name != "" and not name.startswith("builtins."))


def _ask_declared_rules(case: Case, exc: BaseException, purpose: Purpose) -> Finding | None:
    for registry in case.policy.declared:
        if (found := ask_rules(registry, exc, case.policy.redactor)) is None:
            continue
        name, verdict = found
        text = None
        if verdict.sentence is None:
            # A code alone: the words are the author's, or the table's for what nobody wrote for
            # a caller.
            text = author_text(case, exc) if purpose.deliberate else rule_for(case, exc).message
            text = text or as_sentence(exc)
        return Finding(
            verdict=verdict, leaf=exc, reason=f"declared for {name}", deliberate=True, text=text
        )
    return None


def _judge_validation(case: Case, exc: BaseException) -> Finding | None:
    """
    Judge a validation error about arguments or a result; None for other exceptions.
    """
    found = violations(exc)
    if not found:
        return None
    if case.call.phase == "output":
        return judge_output(exc, found)
    crashed = find_crashed_validator(case, exc, found)
    if crashed is None:
        return judge_arguments(case, exc, found)
    return _judge_accident(
        case, crashed, *rule_with_name(case, crashed), purpose_of(crashed, case.modules)
    )


# ---- on purpose


def _judge_over_handled(case: Case, exc: BaseException, name: str, depth: int) -> Finding | None:
    """
    Judge a general exception by what was handled when it was raised; None if nothing was.
    """
    handled = any_cause_of(exc)
    if handled is None:
        return None
    text = author_text(case, exc)
    found = _find_handled(case, handled, depth)
    reason = f"over {class_name(handled)}: {found.reason}"
    if _explains(found):
        return _deliberate(_drop_causes(found), exc, reason, text)
    inner = text_of(handled) if found.verdict.family == "bug" else ""
    outer = text_of(exc)
    if inner and adds_nothing(outer, inner, case.call.tool):
        return replace(found, leaf=exc, reason=f"repeats {reason}", text=text)
    if _is_about_value(exc, handled, found.verdict):
        verdict, whose = _blame_for_value(case, handled, found.verdict)
        return _deliberate(verdict, exc, f"{whose}{reason}", text)
    if inner and inner in outer:
        return replace(found, leaf=exc, reason=f"repeats {reason}", text=text)
    if name not in HOST_ERRORS:
        return _deliberate(INTERNAL, exc, reason, text)
    meaning = _read_text(case, text)
    if meaning is None or _blames_wrongly(case, meaning, handled, found.verdict):
        return _deliberate(INTERNAL, exc, reason, text)
    return _deliberate(meaning, exc, f"prose, {reason}", text)


def _blame_for_value(case: Case, handled: BaseException, verdict: Verdict) -> tuple[Verdict, str]:
    """
    Return the verdict on an author's ValueError about a value, and how its reason begins.
    """
    if _find_refused_value(case, handled, verdict).is_foreign:
        return INTERNAL, "not the caller's value, "
    return _INVALID, ""


def _deliberate(verdict: Verdict, exc: BaseException, reason: str, text: str | None) -> Finding:
    return Finding(verdict=verdict, leaf=exc, reason=reason, deliberate=True, text=text)


def _read_text(case: Case, text: str) -> Verdict | None:
    """
    Return the careful classifier's verdict on a text; None if it tells nothing.
    """
    return careful(text, tool=case.call.tool, arguments=case.call.arguments)


def _explains(found: Finding) -> bool:
    """
    Tell whether a handled exception explains the general one that was raised over it.
    """
    if found.deliberate:
        return True
    verdict = found.verdict
    if verdict.code is McpErrorCode.TOOL_PANICKED:
        return False
    return verdict.family not in SILENT and verdict.family != "other"


def _is_about_value(exc: BaseException, handled: BaseException, verdict: Verdict) -> bool:
    """
    Tell whether a ValueError, and what was handled when it was raised, complain about a value.

    Failed conversions do, and databases that refuse a statement or have no such row.
    """
    if not isinstance(exc, ValueError):
        return False
    if verdict.family == "data" or isinstance(handled, _CONVERSIONS):
        return True
    return verdict.family == "database" and verdict.code is McpErrorCode.TOOL_PANICKED


def _find_handled(case: Case, handled: BaseException, depth: int) -> Finding:
    found = case.findings.get(id(handled))
    if found is not None:
        return found
    if len(case.findings) >= _MAX_JUDGED:
        return Finding(verdict=INTERNAL, leaf=handled, reason="too many exceptions to look at")
    found = case.findings[id(handled)] = _find_any(case, handled, depth + 1)
    return found


def _judge_alone(
    case: Case, exc: BaseException, name: str, verdict: Verdict, reason: str
) -> Finding:
    """
    Judge a deliberate exception by itself: its class, or the words of a host's general class.
    """
    text = author_text(case, exc)
    if name in HOST_ERRORS:
        return _classify_text(case, exc, text, reason)
    if _says_nothing(exc, text):
        return _crash(exc, verdict, reason)
    meaning = _ON_PURPOSE.get(name)
    if meaning is _INVALID and isinstance(exc, ValueError) and names_environment(exc):
        return _deliberate(INTERNAL, exc, f"configuration, {reason}", text)
    if meaning is None:
        # A class of a package with a rule keeps its code; a builtin that only code meets says
        # nothing.
        says_nothing = verdict.family in SILENT and name.startswith("builtins.")
        if says_nothing and is_unexplained(exc, name):
            return _classify_text(case, exc, text, reason)
        meaning = INTERNAL if says_nothing else verdict
    return _deliberate(meaning, exc, reason, text)


def _says_nothing(exc: BaseException, text: str) -> bool:
    """
    Tell whether an exception has no message: a bare key, or an unfinished method.
    """
    return is_bare_key(exc, text) or (isinstance(exc, NotImplementedError) and not text)


def _classify_text(case: Case, exc: BaseException, text: str, reason: str) -> Finding:
    verdict, reason = _classify(case, text, reason)
    return _deliberate(verdict, exc, reason, text)


def _classify(case: Case, text: str, reason: str) -> tuple[Verdict, str]:
    """
    Return the verdict on an author's text, `INTERNAL` if it tells nothing, and the reason.
    """
    meaning = _read_text(case, text)
    return (INTERNAL, reason) if meaning is None else (meaning, f"prose, {reason}")


def _judge_own_class(case: Case, exc: BaseException, depth: int) -> Finding:
    """
    Judge an exception of a class that the author wrote: never a crash.
    """
    text = author_text(case, exc)
    verdict, reason = _own_verdict(case, exc, text, depth)
    return _deliberate(verdict, exc, f"own class, {reason}", text)


def _own_verdict(case: Case, exc: BaseException, text: str, depth: int) -> tuple[Verdict, str]:
    from toolfault._judge.unknown_library import verdict_by_status  # noqa: PLC0415 -- as above

    if (based := _judge_library_base(case, exc)) is not None:
        return based
    if (carried := verdict_by_status(exc)) is not None:
        return carried, "by the HTTP status that it carries"
    handled = any_cause_of(exc) if depth < _MAX_DEPTH else None
    if handled is not None:
        found = _find_handled(case, handled, depth)
        if found.verdict.family in _WEIGHTY:
            return _drop_causes(found), f"over {class_name(found.leaf)}"
    if (named := _judge_own_name(case, exc)) is not None:
        return named, "by the words of its name"
    over = _own_verdict_over_handled(case, exc, depth)
    if over is not None:
        return over
    verdict, reason = _judge_builtin_base(case, exc, text)
    return _classify(case, text, reason) if verdict is INTERNAL else (verdict, reason)


def _own_verdict_over_handled(
    case: Case, exc: BaseException, depth: int
) -> tuple[Verdict, str] | None:
    if depth >= _MAX_DEPTH:
        return None
    general = "builtins.ValueError" if isinstance(exc, ValueError) else "builtins.Exception"
    over = _judge_over_handled(case, exc, general, depth)
    if over is None or over.crash or over.verdict is INTERNAL:
        return None
    return over.verdict, over.reason


def _judge_own_name(case: Case, exc: BaseException) -> Verdict | None:
    for cls in type(exc).__mro__:
        if case.modules.owns_class(cls) and (named := verdict_for_name(cls.__name__)) is not None:
            return named
    return None


def _judge_library_base(case: Case, exc: BaseException) -> tuple[Verdict, str] | None:
    for name, rule in case.policy.registry.rules_for(type(exc)):
        if name.startswith("builtins.") or name in HOST_ERRORS:
            continue
        verdict = ask_rule(name, rule, exc, case.policy.redactor)
        if verdict is not None:
            return verdict, f"by its base {name}"
    return None


def _judge_builtin_base(case: Case, exc: BaseException, text: str) -> tuple[Verdict, str]:
    for base in map(qualified_name, type(exc).__mro__):
        if base in _SAY_NOTHING:
            break
        reason = f"by its base {base}"
        if base in _ON_PURPOSE:
            verdict = _ON_PURPOSE[base]
            return INTERNAL if is_bare_key(exc, text) else verdict, reason
        if base.startswith("builtins.") and base in case.policy.registry:
            verdict = rule_for(case, exc)
            return INTERNAL if verdict.family in SILENT else verdict, reason
    return INTERNAL, "nothing tells"


# ---- by accident


def _judge_accident(
    case: Case, exc: BaseException, name: str, verdict: Verdict, purpose: Purpose
) -> Finding:
    """
    Judge an exception that nobody raised on purpose.
    """
    if isinstance(exc, KeyError) and from_environ(exc):
        return _crash(exc, _unset_variable(exc), "environment")
    if isinstance(exc, PermissionError) and not verdict.paths and purpose.traceback:
        verdict = _socket_or_disk(exc, case.modules)
    verdict = _blame_if_named(case, exc, verdict)
    found = _judge_caller_value(case, exc, verdict)
    if found is None:
        found = _judge_library_text(case, exc, name, verdict)
    if found is not None:
        return found
    if not name or verdict.family in SILENT or verdict.code is McpErrorCode.TOOL_PANICKED:
        return _crash(exc, verdict, purpose.reason)
    blamed = verdict.code is McpErrorCode.INVALID_ARGUMENTS
    crash = not blamed and verdict.family not in _EXPLAINED
    return Finding(verdict=verdict, leaf=exc, reason=f"rule {name}", crash=crash)


def _unset_variable(exc: KeyError) -> Verdict:
    variable = safe_str(exc.args[0]) if exc.args else "?"
    message = f"The server is not configured: the environment variable {variable} is not set."
    return INTERNAL._replace(sentence=message)


def _judge_library_text(
    case: Case, exc: BaseException, name: str, verdict: Verdict
) -> Finding | None:
    """
    Judge what a library raised and no table explains by its text; None: the author's code did.
    """
    is_library_class = is_unexplained(exc, name)
    in_library = name in _SAID_BY_LIBRARIES and is_raised_by_author(exc, case.modules) is False
    if not (is_library_class or in_library):
        return None
    if in_library and "toolfault" in packages_in_traceback(exc, case.modules):
        return None  # a mistake in the author's use of this library, not in the arguments
    text = telling_lines(author_text(case, exc)) or None
    meaning = _read_text(case, text_of(exc))
    if meaning is not None and not _blames_wrongly(case, meaning, exc, verdict):
        meaning = meaning._replace(sentence=None)
        return Finding(verdict=meaning, leaf=exc, reason="a library's words", text=text)
    if not is_library_class:
        return None
    return Finding(verdict=INTERNAL, leaf=exc, reason="unknown library", crash=True, text=text)


def _judge_caller_value(case: Case, exc: BaseException, verdict: Verdict) -> Finding | None:
    """
    Blame the caller for a value that a conversion or a database refused, if an argument is it.
    """
    if verdict.family == "process":
        argument, reason = _program_complaint(case, exc, verdict)
    else:
        argument, reason = _find_refused_value(case, exc, verdict).argument, None
    if argument is None:
        return None
    if reason is None:
        reason = reason_of(exc)
    # Its name is the caller's, too.
    name = one_line(argument).replace("`", "'")[:_MAX_FIELD]
    text = f"The argument `{name}` was refused: {quote(reason)}."
    return Finding(
        verdict=_INVALID, leaf=exc, reason="a value of the caller", deliberate=True, text=text
    )


def _program_complaint(
    case: Case, exc: BaseException, verdict: Verdict
) -> tuple[str | None, str | None]:
    """
    Return the argument that a program complains about, with its words; None: it names none.
    """
    from toolfault._judge.quotations import diagnosis  # noqa: PLC0415 -- read at the first failure, as the tables

    words = diagnosis(exc, verdict)
    meaning = _read_text(case, words)
    if meaning is not None and meaning.code is not McpErrorCode.INVALID_ARGUMENTS:
        return None, words
    return case.values.argument_quoted_in(words), words


def _blames_wrongly(case: Case, meaning: Verdict, exc: BaseException, verdict: Verdict) -> bool:
    """
    Tell whether words blame the caller for a value that the caller did not send.
    """
    if meaning.code is not McpErrorCode.INVALID_ARGUMENTS:
        return False
    # Of another library the whole text counts, which may speak of more than one value.
    if not packages_in_traceback(exc, case.modules) <= sys.stdlib_module_names | _CARRIERS:
        return False
    return _find_refused_value(case, exc, verdict).is_foreign


def _find_refused_value(case: Case, exc: BaseException, verdict: Verdict) -> Refused:
    refused = case.refused.get(id(exc))
    if refused is None:
        statement = verdict.family == "database" and verdict.code in _REFUSED_STATEMENT
        refused = _NOTHING_REFUSED
        if statement or is_conversion(exc, verdict):
            refused = find_refused(exc, case.modules, case.values, statement=statement)
        case.refused[id(exc)] = refused
    return refused


def _crash(exc: BaseException, verdict: Verdict, reason: str) -> Finding:
    return Finding(verdict=verdict, leaf=exc, reason=reason, crash=True)


def _blame_if_named(case: Case, exc: BaseException, verdict: Verdict) -> Verdict:
    """
    Blame the caller if an argument names the file or the URL that failed.
    """
    if verdict.code_if_caller_named is None:
        return verdict
    blamed = verdict._replace(code=verdict.code_if_caller_named, category=None, retryable=None)
    is_folder = isinstance(exc, IsADirectoryError)
    for given in case.values.texts:
        for path in verdict.paths:
            if names_path(given, path, is_folder=is_folder):
                # The caller knows the path as it wrote it.
                return blamed._replace(file=given if verdict.file else "")
        if any(names_url(given, url) for url in verdict.urls):
            return blamed
    return verdict


def _choose(findings: list[Finding]) -> Finding:
    """
    Return the finding that decides: a fault, what can't be retried, the longest wait, the first.
    """
    decisive = [finding for finding in findings if finding.author is not None]
    if not decisive:
        decisive = [finding for finding in findings if not with_defaults(finding.verdict)[2]]
    if decisive:
        return decisive[0]
    return max(findings, key=lambda finding: finding.verdict.retry_after_seconds or 0)


def _verdict_of_fault(fault: ToolFault) -> Verdict:
    envelope = fault.envelope
    # An author may write anything there; only what the fields are for is taken.
    known = {
        name: fault.facts[name] for name in ("origin", "upstream_status") if name in fault.facts
    }
    _, facts = read_facts(known)
    return Verdict(
        code=envelope.code,
        category=envelope.category,
        retryable=envelope.retryable,
        retry_after_seconds=envelope.retry_after_seconds,
        hint=envelope.hint,
        outcome=fault.outcome,
        origin=facts.get("origin"),
        upstream_status=facts.get("upstream_status"),
    )


def _drop_causes(found: Finding) -> Verdict:
    """
    Return a finding's verdict without its own cause chain, for the exception raised over it.
    """
    return found.verdict._replace(causes=()) if found.verdict.causes else found.verdict


def _socket_or_disk(exc: BaseException, modules: AuthorModules) -> Verdict:
    """
    Judge a PermissionError without a file name by where it came through.
    """
    if packages_in_traceback(exc, modules) & _SOCKETS:
        from toolfault.rules.builtins import NO_CONNECTION_ALLOWED  # noqa: PLC0415 -- tables load at the first failure

        return NO_CONNECTION_ALLOWED
    return INTERNAL._replace(
        sentence="The server is not permitted to do this on its own system.",
        family="file",
    )
