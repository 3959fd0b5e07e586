"""
Which step of judging or reading decided, seen while it runs.

Rule 1: nothing is judged here: the steps are watched, so that what is shown is what happened.
Rule 2: a step is known by its code, so a renamed one fails at import, and others cost nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import CodeType, FrameType
from typing import Any, Final, Self, TypeAlias

from toolfault._judge import case, finder
from toolfault._judge.case import Finding
from toolfault._meanings import jsonrpc as numbers
from toolfault._meanings import words
from toolfault._prose import careful
from toolfault._read import dialects, exceptions, parse, partial
from toolfault._read import jsonrpc as rpc
from toolfault._text import clean, one_line
from toolfault._verdict import Verdict
from toolfault.errors import ToolFault
from toolfault.rules import TABLES


Locals: TypeAlias = Mapping[str, Any]
Describe: TypeAlias = Callable[[Locals, Any], "Rule | None"]

#: How much of what a peer or a caller wrote a rule quotes, in characters.
_QUOTED: Final = 80


@dataclass(frozen=True, slots=True)
class Rule:
    """
    The rule that decided.

    Attributes:
        kind: What it is, such as ``table`` or ``prose``.
        where: The part of toolfault that holds it.
        row: Which of its rows, or what of the answer it looked at.
    """

    kind: str
    where: str
    row: str

    def __str__(self) -> str:
        """
        Return the rule in words.
        """
        return f"{self.kind}: {self.row} ({self.where})"


@dataclass(frozen=True, slots=True)
class Step:
    """
    One watched function that returned something.

    Attributes:
        value: What it returned.
        rule: The rule that it stands for.
        verdict: The verdict that it made its fault of; None: it returned no fault, or had none.
    """

    value: Any
    rule: Rule
    verdict: Verdict | None


_NOTHING: Final = Rule("default", "_read", "no rule tells")


class Trace:
    """
    The watched steps of this thread, in the order in which they returned.
    """

    def __init__(self) -> None:
        """
        Make an empty trace; it begins with ``with``.
        """
        self.steps: list[Step] = []
        self.finding: Finding | None = None

    def __enter__(self) -> Self:
        """
        Begin to watch.
        """
        # What it remembers is not asked again, and could not be seen.
        careful._match_table.cache_clear()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- watched here
        self._before = sys.getprofile()
        sys.setprofile(self._look)
        return self

    def __exit__(self, *_: object) -> None:
        """
        Stop watching.
        """
        sys.setprofile(self._before)

    def _look(self, frame: FrameType, event: str, value: Any) -> None:
        if event != "return" or value is None:
            return
        if frame.f_code is _FIND:
            self.finding = value
        describe = _STEPS.get(frame.f_code)
        if describe is None:
            return
        known = dict(frame.f_locals)
        rule = _describe(describe, known, value, frame.f_code.co_qualname)
        if rule is not None:
            self.steps.append(Step(value, rule, known.get("verdict")))

    def rules_for(self, fault: ToolFault) -> tuple[Rule, ...]:
        """
        Return the form in which a peer's failure stood, and the rule that gave it a meaning.
        """
        for place, step in enumerate(self.steps):
            if step.value is fault:
                # The innermost returned first.
                meaning = self._meaning(step.verdict, self.steps[:place])
                return (step.rule,) if meaning is None else (step.rule, meaning)
        return (_NOTHING,)

    def rule_for_finding(self) -> Rule | None:
        """
        Return the rule that decided what an exception means; None without an exception.
        """
        found = self.finding
        if found is None:
            return None
        if found.author is not None:
            return Rule("envelope", "errors.py", "the envelope that the author raised")
        rule = self._meaning(found.verdict, self.steps)
        if rule is None:
            return Rule("default", "_judge", f"no rule tells: {found.reason}")
        return rule

    def _meaning(self, verdict: Verdict | None, steps: list[Step]) -> Rule | None:
        """
        Return the rule of the last step that returned a verdict, or one that was changed into it.
        """
        if verdict is None:
            return None
        made = [step for step in steps if _verdict_in(step.value) is not None]
        same = [step for step in made if _verdict_in(step.value) is verdict]
        near = [step for step in made if _code_in(step.value) is verdict.code]
        decisive = same or near
        return decisive[-1].rule if decisive else None


def _describe(describe: Describe, known: Locals, value: Any, name: str) -> Rule | None:
    """
    Return the rule of a step; what goes wrong here must not look like a fault of the answer.
    """
    try:
        return describe(known, value)
    except Exception:  # noqa: BLE001 -- it would be raised in the step that is watched
        return Rule("step", "toolfault", name)


def _verdict_in(value: Any) -> Verdict | None:
    if isinstance(value, Verdict):
        return value
    if isinstance(value, Finding):
        return value.verdict
    if isinstance(value, tuple):
        last: Any = value[-1]  # pyright: ignore[reportUnknownVariableType] -- of a name and a verdict
        return last if isinstance(last, Verdict) else None
    return None


def _code_in(value: Any) -> Any:
    verdict = _verdict_in(value)
    return None if verdict is None else verdict.code


def _quote(text: object) -> str:
    shown = one_line(clean(str(text)[: 4 * _QUOTED]))
    return repr(shown if len(shown) <= _QUOTED else f"{shown[:_QUOTED]}…")


# ---- rules about exceptions


def table_of(name: str) -> str | None:
    """
    Return the table that has a row for a class; None if no table has one.
    """
    for table in TABLES:
        if name in import_module(f"toolfault.rules.{table}").RULES:
            return f"rules/{table}.py"
    return None


def _row(_: Locals, value: Any) -> Rule | None:
    name, _verdict = value
    where = table_of(name)
    return None if where is None else Rule("table", where, name)


def _generic(_: Locals, value: Any) -> Rule:
    how, _verdict = value
    return Rule("unknown library", "_judge/unknown_library.py", f"judged because {how}")


def _own_class(_: Locals, value: Any) -> Rule:
    _verdict, how = value
    return Rule("class of the tool's author", "_judge/finder.py", how)


def _on_purpose(known: Locals, value: Any) -> Rule | None:
    """
    Describe an exception that its author raised, where no table's row holds for it.
    """
    if value.verdict is not known.get("meaning"):
        return None
    return Rule("raised on purpose", "_judge/finder.py", known["name"] or known["reason"])


# ---- rules about texts


def _pattern(known: Locals, _: Any) -> Rule:
    row, match = known["row"], known["match"]
    words = f"TABLE[{row}], which matches {_quote(match[0])}"
    return Rule("prose", "_prose/phrases.py", words)


def _missing_tool(_: Locals, value: Any) -> Rule | None:
    if value is not numbers.NO_TOOL:
        return None
    return Rule("prose", "_prose/careful.py", "a phrase for an unknown tool")


def _aws(known: Locals, _: Any) -> Rule:
    return Rule("error code of AWS", "_meanings/aws.py", _quote(known["match"][1]))


def _undefined(known: Locals, _: Any) -> Rule:
    return Rule("prose", "_prose/careful.py", f"{_quote(known['match'][1])} is not defined")


# ---- numbers and words


def _sentence(known: Locals, _: Any) -> Rule:
    number, said = known["number"], known["message"]
    about = f"{number} with the words" if number else "the words"
    return Rule("JSON-RPC error", "_meanings/jsonrpc.py", f"{about} {_quote(said)}")


def _number(known: Locals, _: Any) -> Rule:
    return Rule("JSON-RPC error", "_meanings/jsonrpc.py", f"the number {known['number']}")


def _number_alone(known: Locals, _: Any) -> Rule | None:
    if known["status"] is not None:
        return None
    return Rule("JSON-RPC error", "_read/jsonrpc.py", f"the number {known['code']} says no more")


def _word(known: Locals, _: Any) -> Rule:
    return Rule("error word", "_meanings/words.py", _quote(known["word"]))


def _own_word(known: Locals, value: Any) -> Rule | None:
    if value is not known["verdict"]:
        return None
    return Rule("code of the contract", "_codes.py", _quote(known["self"].word))


def _status(known: Locals, _: Any) -> Rule:
    return Rule("HTTP status", "rules/http.py", str(known["status"]))


# ---- forms of failures


def _envelope(place: str) -> Describe:
    def describe(known: Locals, _: Any) -> Rule:
        return Rule("envelope", "_read", f"a whole envelope in {known.get('place') or place}")

    return describe


def _claim(known: Locals, _: Any) -> Rule:
    claim = known["self"]
    members = [name for name in _CLAIMED if getattr(claim, name) not in (None, "")]
    where = f"in {known['found_in']}, with {', '.join(members)}"
    return Rule("incomplete envelope or error object", "_read/partial.py", where)


_CLAIMED: Final = ("word", "status", "number", "message", "category", "retryable", "delay", "hint")


def _dialect(known: Locals, _: Any) -> Rule | None:
    clue = known.get("clue")
    name = "a value of its package" if clue is None else clue.module.rpartition(".")[2]
    return Rule("dialect", "dialects", name)


def _sep(_: Locals, __: Any) -> Rule:
    return Rule("dialect", "dialects/tool_failure.py", "the failure object of SEP-3313")


def _constant(kind: str, where: str, row: str) -> Describe:
    rule = Rule(kind, where, row)
    return lambda _known, _value: rule


_PRIVATE: Final[tuple[tuple[Any, str, Describe], ...]] = (
    (case, "ask_rules", _row),
    (finder, "_unknown_library", _generic),
    (finder, "_own_verdict", _own_class),
    (finder, "_judge_alone", _on_purpose),
    (careful, "careful", _missing_tool),
    (careful, "_verdicts_on", _pattern),
    (careful, "_aws_error", _aws),
    (careful, "_callers_code", _undefined),
    (numbers, "meaning_with_words", _sentence),
    (numbers, "meaning_alone", _number),
    (rpc, "_meaning_of_range", _number_alone),
    (words, "meaning_of", _word),
    (partial, "verdict_for_status", _status),
    (parse, "_parse_whole", _envelope("the answer")),
    (parse, "_parse_envelope", _envelope("the answer")),
    (rpc, "_parse_data", _envelope("the error's data")),
    (exceptions, "_parse_report", _envelope("the exception's text")),
    (dialects, "parse_tool_failure", _sep),
    (dialects, "parse_dialect", _dialect),
    (parse, "_parse_prose", _constant("text", "_read/parse.py", "nothing but text")),
    (parse, "_fallback", _constant("default", "_read/parse.py", "the answer could not be read")),
    (rpc, "_parse_words", _constant("JSON-RPC error", "_read/jsonrpc.py", "number and message")),
    (exceptions, "_parse_words", _constant("exception", "_read/exceptions.py", "its text")),
    (exceptions, "_transport_fault", _constant("exception", "_read/exceptions.py", "its class")),
)


def _codes() -> dict[CodeType, Describe]:
    found: dict[CodeType, Describe] = {
        partial.Claim.to_fault.__code__: _claim,
        partial.Claim._own_verdict.__code__: _own_word,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- watched here
    }
    for module, name, describe in _PRIVATE:
        found[getattr(module, name).__code__] = describe
    return found


_STEPS: Final = _codes()
_FIND: Final = finder.find.__code__
