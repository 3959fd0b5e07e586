"""
What one failure means: an exception, a text or an answer, and the rule that decided.
"""

from __future__ import annotations

import logging
from asyncio import CancelledError
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final

from toolfault._guard import Guard
from toolfault._json import as_mapping, is_mapping
from toolfault._judge.case import Call
from toolfault._names import qualified_name
from toolfault._read.parse import parse, suspect
from toolfault._retry.attempts import Stopped, model_text
from toolfault._retry.retry import Retry
from toolfault.cli._classes import Found, Made, make_exception
from toolfault.cli._trace import Rule, Trace
from toolfault.errors import ToolFault


#: The tools that a client may have called, by what their hints say.
_TOOLS: Final[Mapping[str, Mapping[str, bool]]] = {
    "read_only": {"readOnlyHint": True},
    "write": {"readOnlyHint": False, "idempotentHint": False},
}

_WHY_NOT: Final[Mapping[Stopped, str]] = {
    "not_retryable": "another attempt would not help",
    "not_safe": "the tool may have acted, and nothing says that acting twice is safe",
    "hint": "the server asks for a longer wait than a client accepts",
    "deadline": "the wait is longer than a call may take",
}

#: The members of results and messages; an object without one is read as the body of a failure.
_OF_ANSWERS: Final = frozenset(
    {"content", "structuredContent", "isError", "result", "jsonrpc", "taskId", "task"}
)

#: Exceptions that end a program or a task: they are answered by nobody.
_PASSES: Final = (KeyboardInterrupt, GeneratorExit)

_BODY: Final = "Not flagged as a failure; read as the body of a result that is."
_SUCCESS: Final = "A success: no flag and no error says that the call failed."
_SUSPECT: Final = "Its text reads like a failure, and clients take it for the answer."
_CANCELLED: Final = "A cancellation that the client asked for is not answered at all."


@dataclass(frozen=True, slots=True)
class Repeat:
    """
    Whether a client repeats a failed call.

    Attributes:
        repeats: Whether it does.
        wait: The least seconds that it waits; None: it does not repeat.
        reason: Why, in words.
    """

    repeats: bool
    wait: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """
    What a failure means at one place.

    Attributes:
        where: The place: ``tool``, ``author``, ``client`` or ``answer``.
        fault: The failure.
        rules: The form in which it stood, and the rule that decided.
        model: The text that a model reads.
        repeats: Whether a client repeats the call, by kind of tool.
    """

    where: str
    fault: ToolFault
    rules: tuple[Rule, ...]
    model: str
    repeats: Mapping[str, Repeat]


@dataclass(frozen=True, slots=True)
class Explanation:
    """
    What was asked about, and what it means.

    Attributes:
        subject: What was asked about.
        reading: What it means; None: it is not a failure.
        elsewhere: What it means at other places, where that differs.
        notes: What else there is to know.
    """

    subject: str
    reading: Reading | None
    elsewhere: tuple[Reading, ...] = ()
    notes: tuple[str, ...] = ()


# ---- exceptions


def explain_class(found: Found, made: Made) -> Explanation:
    """
    Explain an exception: raised in a library that a tool calls, by its author, and in a client.

    Args:
        found: The exception's class.
        made: What to construct it with.
    """
    name = qualified_name(found.cls)
    notes = [found.note] if found.note else []
    if issubclass(found.cls, _PASSES):
        passes = f"{name} is not answered: it ends the program or the generator that it passes."
        return Explanation(name, None, notes=(*notes, passes))
    if issubclass(found.cls, CancelledError):
        notes.append(_CANCELLED)
    with _without_logs():
        tool = _judge(found, made, is_deliberate=False)
        others = [_judge(found, made, is_deliberate=True), _read_in_client(found, made)]
    differing = [one for one in others if one is not None and _differ(one.fault, tool.fault)]
    return Explanation(name, tool, tuple(differing), tuple(notes))


def _differ(one: ToolFault, other: ToolFault) -> bool:
    return _facts_of(one) != _facts_of(other)


def _facts_of(fault: ToolFault) -> tuple[object, ...]:
    envelope = fault.envelope
    return (
        envelope.code,
        envelope.category,
        envelope.retryable,
        envelope.retry_after_seconds,
    )


def _judge(found: Found, made: Made, *, is_deliberate: bool) -> Reading:
    """
    Return what a guard makes of an exception that a tool raises.
    """
    tool: dict[str, Any] = {"__name__": _TOOL}
    function = FunctionType(_answer.__code__, tool)
    library = {"__name__": found.cls.__module__}
    exc = make_exception(found.cls, made)
    raised = _catch(exc, tool if is_deliberate else library)
    guard = Guard()
    with Trace() as trace:
        fault = guard.judge(raised, Call(tool="tool", function=function))
    rule = trace.rule_for_finding()
    result = guard.to_result(fault)
    model = "\n".join(block["text"] for block in result["content"])
    rules = () if rule is None else (rule,)
    return Reading("author" if is_deliberate else "tool", fault, rules, model, _repeat(fault))


#: The module of the tool that raises; nobody's real module has this name.
_TOOL: Final = "explained_tool"


def _answer() -> None:  # stands for the tool's own function
    return None


def _raise(exc: BaseException) -> None:
    raise exc


def _catch(exc: BaseException, module: dict[str, Any]) -> BaseException:
    """
    Raise an exception in the code of a module, and return it with the traceback of that.
    """
    try:
        FunctionType(_raise.__code__, module)(exc)
    except BaseException as raised:  # noqa: BLE001 -- it was raised to be judged
        return raised
    return exc


def _read_in_client(found: Found, made: Made) -> Reading | None:
    exc = make_exception(found.cls, made)
    with Trace() as trace:
        fault = parse(exc)
    if fault is None:
        return None
    return Reading("client", fault, trace.rules_for(fault), model_text(fault), _repeat(fault))


@contextmanager
def _without_logs() -> Generator[None]:
    """
    Keep the log quiet about failures that did not happen.
    """
    logger = logging.getLogger("toolfault")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before


# ---- answers


def explain_text(text: str, tool: str | None = None) -> Explanation:
    """
    Explain the text of a failed result.

    Args:
        text: The text.
        tool: The name of the tool that was called.
    """
    result = {"isError": True, "content": [{"type": "text", "text": text}]}
    return _explain_failure("a text", result, tool)


def explain_answer(value: object, tool: str | None = None) -> Explanation:
    """
    Explain a result, a JSON-RPC answer or error, or an envelope.

    Args:
        value: The JSON value.
        tool: The name of the tool that was called.

    Raises:
        TypeError: It is neither of them.
    """
    if not is_mapping(value):
        raise TypeError("a result, a JSON-RPC answer or an error is an object: {...}")
    found = _explain_failure("an answer", value, tool)
    if found.reading is not None:
        return found
    if value and not _OF_ANSWERS & value.keys():
        body: dict[str, Any] = {"isError": True, "content": [], "structuredContent": dict(value)}
        return _explain_failure("an object", body, tool, notes=(_BODY,))
    with _without_logs():
        suspicion = suspect(_result_in(value), tool=tool)
    notes = (_SUCCESS,) if suspicion is None else (_SUCCESS, _SUSPECT)
    return Explanation("an answer", None, notes=notes)


def _result_in(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    return as_mapping(value.get("result")) or value


def _explain_failure(
    subject: str, value: object, tool: str | None, *, notes: tuple[str, ...] = ()
) -> Explanation:
    with _without_logs(), Trace() as trace:
        fault = parse(value, tool=tool)
    if fault is None:
        return Explanation(subject, None, notes=notes)
    rules = trace.rules_for(fault)
    reading = Reading("answer", fault, rules, model_text(fault), _repeat(fault))
    return Explanation(subject, reading, notes=notes)


# ---- retries


def _repeat(fault: ToolFault) -> dict[str, Repeat]:
    return {kind: _decide(fault, hints) for kind, hints in _TOOLS.items()}


def _decide(fault: ToolFault, hints: Mapping[str, bool]) -> Repeat:
    """
    Ask the client's own rules whether they repeat the call of a tool.
    """
    retry = Retry(random=lambda: 0.0)
    state = retry.state(name="tool")
    wait = state.next_wait(fault, {"annotations": dict(hints)})
    stopped = state.attempts[-1].stopped
    if stopped is not None:
        return Repeat(False, None, _WHY_NOT.get(stopped, stopped))
    if fault.outcome == "not_executed" and not hints["readOnlyHint"]:
        return Repeat(True, wait, "the call did not happen")
    reason = "the failure may pass, and the tool only reads"
    return Repeat(True, wait, reason)


# ---- JSON


def to_json(explanation: Explanation) -> dict[str, Any]:
    """
    Return an explanation as a JSON value; its schema stands in ``specs/explain.schema.json``.
    """
    reading = explanation.reading
    return {
        "subject": explanation.subject,
        "failure": None if reading is None else _reading_to_json(reading),
        "elsewhere": [_reading_to_json(one) for one in explanation.elsewhere],
        "notes": list(explanation.notes),
    }


def _reading_to_json(reading: Reading) -> dict[str, Any]:
    envelope = reading.fault.envelope
    return {
        "where": reading.where,
        "code": envelope.code.value,
        "category": envelope.category.value,
        "retryable": envelope.retryable,
        "retry_after_seconds": envelope.retry_after_seconds,
        "message": envelope.message,
        "hint": envelope.hint,
        "outcome": reading.fault.outcome,
        "model_reads": reading.model,
        "repeats": {
            kind: {"repeats": one.repeats, "wait": one.wait, "reason": one.reason}
            for kind, one in reading.repeats.items()
        },
        "decided_by": [
            {"kind": rule.kind, "where": rule.where, "row": rule.row} for rule in reading.rules
        ],
    }
