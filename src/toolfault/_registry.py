"""
Which rule speaks for an exception.

Rule 1: a registry never changes; ``with_rules`` returns another.
Rule 2: rules are keyed by the name of the class where it is defined, and found along the MRO:
nothing is imported.
Rule 3: a package's own class is asked before any builtin, wherever it stands in the MRO.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any, Final, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from toolfault._codes import McpErrorCode, code_named
from toolfault._envelope import McpExecuteError
from toolfault._json import is_mapping
from toolfault._logging import log
from toolfault._names import public, qualified_name
from toolfault._options import is_plain_function, nearest, takes_one
from toolfault._verdict import Rule, Verdict
from toolfault.errors import InvalidRule, ToolFault


Meaning: TypeAlias = (
    "McpErrorCode | str | McpExecuteError | ToolFault | Verdict | Callable[[Any], Any]"
)
"""
What a user may say that an exception means: a code, an envelope, a fault, or a function of the
exception that returns one of these or None for "no opinion".
"""

Expect: TypeAlias = "Mapping[type[BaseException] | str, Meaning]"
"""
A user's rules: an exception class, or its qualified name, to its meaning.
"""


_F = TypeVar("_F", bound=Callable[..., Any])


@public
class Rules(dict[type[BaseException] | str, Any]):
    """
    A dict of your own rules for ``expect=``, with a decorator for functions.

    As in::

        rules = Rules({SoldOut: McpErrorCode.INVALID_ARGUMENTS})

        @rules.rule(AcmeError, "acme.net.Unreachable")
        def acme(exc):
            return "quota_exceeded" if exc.status == 429 else None

        guard = Guard(expect=rules)
    """

    def rule(self, *classes: type[BaseException] | str) -> Callable[[_F], _F]:
        """
        Return a decorator that makes a function the rule for these classes and leaves it as it is.

        Args:
            *classes: Exception classes, or their qualified names.

        Raises:
            InvalidRule: No class is given, one is not an exception class nor a qualified name, or
                has a rule already.
        """
        if not classes:
            raise InvalidRule("rule() needs the exception classes that the function is for")
        taken = {_name_of(key) for key in self}
        for key in classes:
            name = _name_of(key)
            if name in taken:
                raise InvalidRule(f"{name} has a rule already; keep one")
            taken.add(name)

        def decorate(function: _F) -> _F:
            self.update(dict.fromkeys(classes, function))
            return function

        return decorate


@public
class Registry:
    """
    All rules that a guard knows, immutable.

    Args:
        rules: Qualified class names to what they mean.
        load: Called once, at the first look-up, for more rules; so that importing tables costs
            nothing before.
    """

    __slots__ = ("_found", "_load", "_loading", "_paths", "_reported", "_rules")

    def __init__(
        self,
        rules: Mapping[str, Rule] | None = None,
        *,
        load: Callable[[], Mapping[str, Rule]] | None = None,
    ) -> None:
        """
        Make a registry; see the class.
        """
        self._rules: dict[str, Rule] = dict(rules or {})
        self._load = load
        self._loading = threading.RLock()
        #: Names of classes whose modules were not loaded yet: they may be import paths.
        self._paths: frozenset[str] = frozenset()
        self._reported: set[str] = set()
        # Weak keys: classes made at run time may go.
        self._found: WeakKeyDictionary[type, tuple[tuple[str, Rule], ...]] = WeakKeyDictionary()

    def with_rules(self, expect: Expect) -> Registry:
        """
        Return a registry in which these rules win over the present ones.

        Raises:
            InvalidRule: A key is not an exception class nor a qualified name, a class is given
                twice, or a meaning is not one that `Meaning` lists.
        """
        rules = rules_of(expect)
        registry = Registry({**self._all(), **rules})
        registry._paths = self._paths | {
            name for name in rules if name.rpartition(".")[0] not in sys.modules
        }
        return registry

    def rules_for(self, cls: type[BaseException]) -> tuple[tuple[str, Rule], ...]:
        """
        Return the rules along the MRO of a class, nearest first, builtins last, each with its name.
        """
        found = self._found.get(cls)
        if found is None:
            rules = self._all()
            names = [qualified_name(base) for base in cls.__mro__]
            self._report_missing({name.partition(".")[0] for name in names})
            if self._paths:
                rules = {**rules, **self._rules_by_path(set(names))}
            names.sort(key=lambda name: name.startswith("builtins."))
            found = self._found[cls] = tuple((name, rules[name]) for name in names if name in rules)
        return found

    def _report_missing(self, packages: set[str]) -> None:
        """
        Log each rule for a name that these packages turn out not to have, once.
        """
        for path in sorted(self._paths - self._reported):
            if path.partition(".")[0] in packages and (missing := _missing_part(path)):
                self._reported.add(path)
                log.warning("the rule for %r never matches: %s", path, missing)

    def _rules_by_path(self, wanted: set[str]) -> dict[str, Rule]:
        """
        Return a user's rules for import paths whose classes are loaded now, by defined name.
        """
        found = {
            name: getattr(sys.modules.get(name.rpartition(".")[0]), name.rpartition(".")[2], None)
            for name in self._paths
        }
        defined = {
            qualified_name(cls): self._rules[name]
            for name, cls in found.items()
            if isinstance(cls, type)
        }
        return {
            name: rule
            for name, rule in defined.items()
            if name in wanted and name not in self._paths
        }

    def verdict_on(self, exc: BaseException) -> tuple[str, Verdict] | None:
        """
        Return the first opinion on an exception, with the name of the class whose rule gave it.

        Raises:
            Exception: Whatever a rule raises.
        """
        for name, rule in self.rules_for(type(exc)):
            verdict = rule if isinstance(rule, Verdict) else rule(exc)
            if verdict is not None:
                return name, verdict
        return None

    def _all(self) -> dict[str, Rule]:
        if self._load is not None:
            with self._loading:
                load = self._load
                if load is not None:
                    # The rules first: another thread reads them as soon as the flag is gone.
                    self._rules = {**load(), **self._rules}
                    self._load = None
        return self._rules

    def __contains__(self, name: object) -> bool:
        """
        Tell whether a qualified class name has a rule of its own.
        """
        return name in self._all()

    def __iter__(self) -> Iterator[str]:
        """
        Iterate over the qualified class names.
        """
        return iter(self._all())

    def __len__(self) -> int:
        """
        Count the rules.
        """
        return len(self._all())

    def __repr__(self) -> str:
        """
        Show how many rules there are.
        """
        return f"<Registry ({len(self)} rules)>"


def rules_of(expect: Expect) -> dict[str, Rule]:
    """
    Return a user's rules under the qualified names of their classes.

    Raises:
        InvalidRule: As `Registry.with_rules`.
    """
    if not is_mapping(expect):
        raise InvalidRule(
            "expect maps classes to what they mean, such as {ValueError: 'internal'},"
            f" not {expect!r}"
        )
    rules: dict[str, Rule] = {}
    for key, meaning in expect.items():
        name = _name_of(key)
        if name in rules:
            raise InvalidRule(f"{name} is given twice, as a class and as a name; keep one")
        rules[name] = _rule_of(name, meaning)
    return rules


#: What no rule is asked about: a fault speaks for itself, and what ends the interpreter passes.
_NEVER_ASKED: Final = (ToolFault, KeyboardInterrupt, GeneratorExit)


def _name_of(key: object) -> str:
    if isinstance(key, tuple):
        raise InvalidRule(
            f"one rule cannot have several classes as its key, as {key!r}: give each class a rule,"
            " as in expect={**dict.fromkeys((KeyError, OSError), 'internal')}"
        )
    if isinstance(key, str) and "." in key:
        key = _find_class(key)
    if isinstance(key, type) and issubclass(key, BaseException):
        if issubclass(key, _NEVER_ASKED):
            raise InvalidRule(
                f"no rule is asked about {key.__name__}: it speaks for itself, or passes unanswered"
            )
        return qualified_name(key)
    if isinstance(key, str) and _is_qualified_name(key):
        return key
    raise InvalidRule(
        f"{key!r} is not an exception class nor a qualified name like 'httpx.ReadTimeout' or"
        " 'builtins.ValueError'"
    )


def _is_qualified_name(text: str) -> bool:
    parts = text.split(".")
    return len(parts) > 1 and all(part.isidentifier() or part == "<locals>" for part in parts)


def _find_class(name: str) -> object:
    """
    Return the class that a name leads to, or the name while its module is not loaded.

    Rules know classes by where they are defined.

    Raises:
        InvalidRule: The module is loaded, and has no such class.
    """
    module, _, attribute = name.rpartition(".")
    loaded = sys.modules.get(module)
    if loaded is None or "<locals>" in name:
        return name
    found = getattr(loaded, attribute, None)
    if found is None:
        raise InvalidRule(_no_such_class(module, attribute))
    return found


def _missing_part(path: str) -> str:
    """
    Return the missing part of a class's path in the loaded modules; "" if all are there.
    """
    module, _, attribute = path.rpartition(".")
    while module and module not in sys.modules:
        module, _, attribute = module.rpartition(".")
    if not module or "<locals>" in path or hasattr(sys.modules[module], attribute):
        return ""
    try:
        if find_spec(f"{module}.{attribute}") is not None:
            return ""
    except Exception:  # noqa: BLE001, S110 -- a loaded module without a spec, or no package: it has no parts
        pass
    return _no_such_class(module, attribute)


def _no_such_class(module: str, attribute: str) -> str:
    near = nearest(attribute, dir(sys.modules[module]))
    hint = "" if near is None else f"; did you mean {module}.{near}?"
    return f"{module} has no {attribute}{hint}"


def _rule_of(name: str, meaning: object) -> Rule:
    is_value = isinstance(meaning, str | McpExecuteError | ToolFault | Verdict)
    if isinstance(meaning, type) or not (is_value or callable(meaning)):
        choices = "a code, an envelope, a ToolFault or a function of the exception"
        raise InvalidRule(f"the rule for {name} must be {choices}, not {meaning!r}")
    if callable(meaning):
        if not is_plain_function(meaning) or not takes_one(meaning):
            raise InvalidRule(
                f"the rule for {name} must be a plain function of the exception alone,"
                f" not {meaning!r}"
            )
        return _Function(name, meaning)
    try:
        return verdict_from(meaning)
    except ValueError as exc:
        raise InvalidRule(f"the rule for {name}: {exc}") from None


class _Function:
    """
    A user's function of the exception, as a rule.
    """

    __slots__ = ("_function", "name")

    def __init__(self, name: str, function: Callable[[Any], Any]) -> None:
        self.name = name
        self._function = function

    def __call__(self, exc: BaseException) -> Verdict | None:
        answer = self._function(exc)
        if answer is None:
            return None
        try:
            return verdict_from(answer)
        except (TypeError, ValueError) as cause:
            raise InvalidRule(
                f"the rule for {self.name} returned {answer!r}, which has no meaning: {cause}"
            ) from None


def verdict_from(meaning: object) -> Verdict:
    """
    Return a meaning as a verdict.

    Raises:
        ValueError: A text that names no code.
        TypeError: None of the meanings.
    """
    if isinstance(meaning, Verdict):
        return meaning
    outcome = meaning.outcome if isinstance(meaning, ToolFault) else None
    if isinstance(meaning, ToolFault):
        meaning = meaning.envelope
    if isinstance(meaning, McpExecuteError):
        return Verdict(
            code=meaning.code,
            category=meaning.category,
            retryable=meaning.retryable,
            retry_after_seconds=meaning.retry_after_seconds,
            sentence=meaning.message,
            hint=meaning.hint,
            outcome=outcome,
            causes=meaning.cause_chain,
        )
    if isinstance(meaning, str):
        code = code_named(meaning)
        if code is McpErrorCode.UNKNOWN:
            raise ValueError("'unknown' is a reader's word, which no server sends; say 'internal'")
        return Verdict(code=code)
    raise TypeError("it must be a code, an envelope, a ToolFault, or None")
