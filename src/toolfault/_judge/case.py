"""
A call that failed: what is known of it, what the guard's owner decided, and what was found out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias

from toolfault._codes import DEFAULTS, McpErrorCategory, McpErrorCode
from toolfault._exception_chain import any_cause_of
from toolfault._judge.caller_values import CallerValues, Hosts
from toolfault._judge.deliberate import AuthorModules
from toolfault._judge.refused_values import Refused
from toolfault._logging import log
from toolfault._names import class_name, public, qualified_name
from toolfault._redact import Redactor
from toolfault._redact.paths import last_component
from toolfault._redact.registered import KnownSecrets
from toolfault._registry import Registry
from toolfault._text import safe_repr, safe_str, text_of, text_with_ends
from toolfault._tracebacks import redact_traceback
from toolfault._verdict import Family, Rule, Verdict, replace
from toolfault.errors import ToolFault
from toolfault.rules._helpers import attr


Phase: TypeAlias = Literal["lookup", "arguments", "resolver", "body", "output"]
"""
How far a call had come: finding the tool, checking its arguments, filling resolved parameters,
running its body, converting what it returned.
"""


@public
class Disclosure(StrEnum):
    """
    How much of what failed a caller may read.
    """

    REDACTED = "redacted"
    """
    Texts survive without secrets, and with paths of the server cut to what the caller knows.
    """

    WITHHELD = "withheld"
    """
    What was written for callers survives, redacted; a crash shows its class and the id in the log.
    """

    FULL = "full"
    """
    Everything but registered secrets, for development.
    """


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
    egress_allow: Hosts | None
    upstream_text: bool


@dataclass(slots=True, kw_only=True)
class Finding:
    """
    What was found out about one exception.

    Attributes:
        verdict:
            What it means.

        leaf:
            The exception that decides.

        reason:
            What the verdict rests on; for the log.

        deliberate:
            The author raised it on purpose, so its text is for callers.

        crash:
            Nobody foresaw it.

        text:
            What its author wrote.

        author:
            The fault that its author raised.

        violations:
            The arguments that were refused, and why.
    """

    verdict: Verdict
    leaf: BaseException
    reason: str
    deliberate: bool = False
    crash: bool = False
    text: str | None = None
    author: ToolFault | None = None
    violations: tuple[dict[str, Any], ...] = ()


#: How many exceptions below one are looked for as quotations in its text, and how long these are.
_MAX_QUOTED: Final = 8
_SHORTEST_QUOTE: Final = 4
_LONGEST_QUOTE: Final = 400

#: How the names of classes begin whose exceptions hold a command line.
_PROGRAMS: Final = "subprocess."

#: What nothing explains.
INTERNAL: Final = Verdict(code=McpErrorCode.INTERNAL)

#: Families whose exceptions say nothing about what was raised while they were handled.
SILENT: Final[frozenset[Family]] = frozenset({"bug", "data", "general"})


class Case:
    """
    One call that failed, what judges it, and what was found out so far.

    Args:
        call: What is known of the call.
        policy: What the guard's owner decided.
        modules: The modules of the tool's author.

    Attributes:
        rules:
            What the tables say of each exception, by its id: a cause is judged, and shown in the
            chain.

        findings:
            What was found out about each handled exception, by its id: groups in groups in groups
            would never end.

        texts:
            What an author wrote into each exception, by its id.

        refused:
            What is known of the value that each exception refused, by its id.
    """

    __slots__ = (
        "_secrets",
        "_values",
        "call",
        "findings",
        "modules",
        "policy",
        "refused",
        "rules",
        "texts",
    )

    def __init__(self, call: Call, policy: Policy, modules: AuthorModules) -> None:
        self.call = call
        self.policy = policy
        self.modules = modules
        self.rules: dict[int, tuple[str, Verdict]] = {}
        self.findings: dict[int, Finding] = {}
        self.texts: dict[int, str] = {}
        self.refused: dict[int, Refused] = {}
        self._values: CallerValues | None = None
        self._secrets: KnownSecrets | None = None

    @property
    def values(self) -> CallerValues:
        """
        The caller's own values.
        """
        if self._values is None:
            self._values = CallerValues(self.call.arguments)
        return self._values

    @property
    def secrets(self) -> KnownSecrets:
        """
        The secrets that are known; the environment is read once for all texts of a failure.
        """
        if self._secrets is None:
            self._secrets = self.policy.redactor.known_secrets()
        return self._secrets


# ---- rules


def rule_for(case: Case, exc: BaseException) -> Verdict:
    """
    Return the verdict of the tables on an exception; `INTERNAL` if they have none.
    """
    return rule_with_name(case, exc)[1]


def rule_with_name(case: Case, exc: BaseException) -> tuple[str, Verdict]:
    """
    Return the class whose rule holds for an exception, and its verdict; "" and `INTERNAL` if none.
    """
    found = case.rules.get(id(exc))
    if found is None:
        found = ask_rules(case.policy.registry, exc, case.policy.redactor) or ("", INTERNAL)
        case.rules[id(exc)] = found
    return found


def ask_rules(
    registry: Registry, exc: BaseException, redactor: Redactor
) -> tuple[str, Verdict] | None:
    """
    Return the first rule's class and verdict; None if no rule has an opinion.
    """
    for name, rule in registry.rules_for(type(exc)):
        verdict = ask_rule(name, rule, exc, redactor)
        if verdict is not None:
            return name, verdict
    return None


def ask_rule(name: str, rule: Rule, exc: BaseException, redactor: Redactor) -> Verdict | None:
    """
    Return one rule's verdict; None if it has no opinion or raises, which is logged.
    """
    if isinstance(rule, Verdict):
        return rule
    try:
        verdict = rule(exc)
    except KeyboardInterrupt:
        raise
    except BaseException as trouble:  # noqa: BLE001 -- a rule is a user's code; it is logged with its traceback
        traceback = redact_traceback(trouble, redactor)
        log.error("the rule for %s raised and is passed over\n%s", name, traceback)
        return None
    return _redact_file(verdict, redactor)


def _redact_file(verdict: Verdict | None, redactor: Redactor) -> Verdict | None:
    """
    Return a verdict whose file name was redacted before it was shortened, if secrets are in it.
    """
    if verdict is None or not (verdict.file and verdict.paths):
        return verdict
    path = verdict.paths[0]
    redacted = redactor.redact(path)
    return verdict if redacted == path else replace(verdict, file=last_component(redacted))


def with_defaults(verdict: Verdict) -> tuple[McpErrorCode, McpErrorCategory, bool]:
    """
    Return a verdict's code, category and retryability, with the code's defaults for what is unset.
    """
    code = McpErrorCode.INTERNAL if verdict.code is McpErrorCode.UNKNOWN else verdict.code
    category, retryable = DEFAULTS[code]
    if verdict.category is not None and verdict.category is not McpErrorCategory.UNKNOWN:
        category = verdict.category
    return code, category, retryable if verdict.retryable is None else verdict.retryable


# ---- texts


def author_text(case: Case, exc: BaseException) -> str:
    """
    Return an author's text, with the known leaks cut out of quoted exceptions.
    """
    text = case.texts.get(id(exc))
    if text is None:
        text = case.texts[id(exc)] = _remove_leaks(case, exc)
    return text


def _remove_leaks(case: Case, exc: BaseException) -> str:
    text = text_with_ends(exc)
    name, verdict = rule_with_name(case, exc)
    if name.startswith(_PROGRAMS):
        from toolfault._judge.quotations import words_over_command  # noqa: PLC0415 -- read at the first failure, as the tables

        text = words_over_command(exc, text)
    elif isinstance(exc, OSError) or name.startswith("of "):
        from toolfault._judge.quotations import quotable  # noqa: PLC0415 -- read at the first failure, as the tables

        text = quotable(exc, verdict, case.policy.redactor.redact)
    return remove_quoted_leaks(case, exc, text)


def remove_quoted_leaks(case: Case, exc: BaseException, text: str) -> str:
    """
    Return a text of an exception less what is known to leak out of those that it was raised over.
    """
    link = any_cause_of(exc)
    for _ in range(_MAX_QUOTED):
        if link is None or not text:
            break
        if not isinstance(link, ToolFault):
            text = _remove_leaks_of(case, link, text)
        link = any_cause_of(link)
    return text


def _remove_leaks_of(case: Case, link: BaseException, text: str) -> str:
    for spelled in (safe_repr(link), text_of(link)):
        # Most texts quote nothing, and then the rules need not be asked.
        if len(spelled) >= _SHORTEST_QUOTE and spelled[:_LONGEST_QUOTE] in text:
            text = _replace_quotation(case, link, text, spelled)
    if attr(link, "cmd") is not None and rule_with_name(case, link)[0].startswith(_PROGRAMS):
        from toolfault._judge.quotations import cut_command  # noqa: PLC0415 -- as above

        text = cut_command(link, text)
    return text


def _replace_quotation(case: Case, link: BaseException, text: str, spelled: str) -> str:
    from toolfault._judge.quotations import quotable  # noqa: PLC0415 -- as above

    shown = quotable(link, rule_for(case, link), case.policy.redactor.redact)
    if shown == spelled:
        return text
    at = text.index(spelled[:_LONGEST_QUOTE])
    # An author may have cut what is quoted.
    end = at + len(spelled) if text.startswith(spelled, at) else len(text)
    return f"{text[:at]}{shown}{text[end:]}"


def is_unexplained(exc: BaseException, name: str) -> bool:
    """
    Tell whether the class is one of a library that no table names, nor a base of it.

    Args:
        exc: The exception.
        name: The class whose rule was found; empty if none was.
    """
    module = safe_str(type(exc).__module__).partition(".")[0]
    if not isinstance(exc, Exception) or module in sys.stdlib_module_names:
        return False
    return not name or name.startswith("builtins.")


def as_sentence(exc: BaseException) -> str:
    """
    Return an exception's own text as a sentence: a KeyError's text is only the key.
    """
    text = text_of(exc)
    if not is_bare_key(exc, text):
        return text
    if text and isinstance(exc, KeyError):
        return f"The key {text!r} is missing ({class_name(exc)})."
    return text


def adds_nothing(text: str, inner: str, tool: str) -> bool:
    """
    Tell whether a text only repeats another, with words around it that every catch-all has.
    """
    if not inner or inner not in text:
        return False
    rest = {word for word in _words(text.replace(inner, " ").lower()) if word not in _EMPTY_WORDS}
    return not rest - set(_words(tool.lower().replace("_", " ")))


_words = re.compile(r"[a-z]+").findall

#: What a catch-all says about any failure at all.
_EMPTY_WORDS: Final = frozenset(
    """
    a an the error errors exception failed failure fail failing fault unexpected unhandled
    internal occurred happened something went wrong could not cannot can unable to in on at
    by of for from with while during due because reason execute executing execution run
    running call calling process processing complete completing handle handling tool
    function operation request action task message details got caught raised was is it sorry
    """.split()
)


def is_cancelled(exc: BaseException) -> bool:
    """
    Tell whether an exception is a cancellation of asyncio's or trio's.
    """
    # None of them is an Exception, which most others are.
    if issubclass(type(exc), Exception):
        return False
    return qualified_name(type(exc)) in {"asyncio.exceptions.CancelledError", "trio.Cancelled"}


def is_bare_key(exc: BaseException, text: str) -> bool:
    """
    Tell whether a KeyError or IndexError says no more than the key, as mappings raise it.
    """
    if not isinstance(exc, KeyError | IndexError):
        return False
    return (
        not text
        or not isinstance(exc.args[0] if exc.args else "", str)
        or not any(map(str.isspace, text))
    )
