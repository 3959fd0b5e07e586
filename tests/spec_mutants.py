"""
Breaks the library one rule at a time, and shows which case of the specification notices. ``make spec-mutants``

A mutant is a wrong implementation of one rule: what goes into an operation, or comes out of it, is changed. So a mutant
does not depend on how the library is written. ``--list`` prints the mutants, ``--only WORD`` runs some.
"""

# ruff: noqa: T201 -- a program that prints

from __future__ import annotations

import argparse
import contextlib
import copy
import importlib.util
import json
import logging
import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple


HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "support")]

import pytest  # noqa: E402 -- behind the path

import vector_runner  # noqa: E402
from toolfault import _bridge_record, _retry_after, _wire  # noqa: E402
from toolfault._codes import DEFAULTS, McpErrorCategory, McpErrorCode  # noqa: E402
from toolfault._envelope import InvalidEnvelope, McpExecuteError  # noqa: E402
from toolfault._prose import careful, everruns  # noqa: E402
from toolfault._read import parse as parsing  # noqa: E402
from toolfault._redact import Redactor, families  # noqa: E402
from toolfault._retry import budget, state  # noqa: E402
from toolfault._schema import widen  # noqa: E402
from toolfault.dialects import _tables, a2a, a2c_smcp  # noqa: E402
from toolfault.dialects.a2a import A2AError  # noqa: E402
from toolfault.dialects.a2a import _table as a2a_errors  # noqa: E402
from toolfault.dialects.a2a import protocol_droid as droid  # noqa: E402
from toolfault.errors import ToolFault  # noqa: E402
from toolfault.rules import grpc, http  # noqa: E402


Undo = Callable[[], None]
Apply = Callable[[], Undo]


class Mutant(NamedTuple):
    """
    One broken rule.

    Attributes:
        rules: The rules that it breaks.
        what: What it does instead.
        apply: Breaks the library, and returns what mends it.
    """

    rules: str
    what: str
    apply: Apply


# ---- how the library is broken


def everywhere(owner: Any, name: str, make: Callable[[Any], Any]) -> Apply:
    """
    Replace a function in every module that has imported it.
    """

    def apply() -> Undo:
        old = getattr(owner, name)
        new = make(old)
        places = [
            (module, attribute)
            for module in list(sys.modules.values())
            for attribute, value in list(vars(module).items() if hasattr(module, "__dict__") else ())
            if value is old
        ]
        for place in places:
            setattr(*place, new)

        def undo() -> None:
            for place in places:
                setattr(*place, old)

        return undo

    return apply


def method(owner: Any, name: str, make: Callable[[Any], Any]) -> Apply:
    """
    Replace a method of a class, or an attribute of a module.
    """

    def apply() -> Undo:
        old = vars(owner)[name]
        inner = old.__func__ if isinstance(old, classmethod) else old
        new = make(inner)
        setattr(owner, name, classmethod(new) if isinstance(old, classmethod) else new)
        return lambda: setattr(owner, name, old)

    return apply


def entry(table: dict[Any, Any], key: Any, value: Any) -> Apply:
    """
    Change an entry of a table.
    """

    def apply() -> Undo:
        old = table[key]
        table[key] = value
        return lambda: table.__setitem__(key, old)

    return apply


def both(*applies: Apply) -> Apply:
    def apply() -> Undo:
        undos = [one() for one in applies]
        return lambda: [undo() for undo in reversed(undos)] and None

    return apply


# ---- envelopes


def reading(change: Callable[[dict[str, Any]], Any]) -> Apply:
    """
    Change each object before it is decoded.
    """

    def make(old: Any) -> Any:
        def from_wire(cls: Any, obj: Any, *, revision: Any = "0.36") -> Any:
            changed = change(dict(obj)) if isinstance(obj, dict) else change({"": obj})
            return old(cls, obj if changed is None else changed, revision=revision)

        return from_wire

    return method(McpExecuteError, "from_wire", make)


def decoded(change: Callable[[Any, Any], Any]) -> Apply:
    """
    Change each envelope after it was decoded.
    """

    def make(old: Any) -> Any:
        def from_wire(cls: Any, obj: Any, *, revision: Any = "0.36") -> Any:
            envelope = old(cls, obj, revision=revision)
            return envelope.model_copy(update=change(envelope, obj) or {})

        return from_wire

    return method(McpExecuteError, "from_wire", make)


def revised(given: str) -> Apply:
    return method(
        McpExecuteError, "from_wire", lambda old: lambda cls, obj, revision="0.36": old(cls, obj, revision=given)
    )


def fill(name: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda obj: {name: value, **obj} if "" not in obj else None


def convert(name: str, test: Callable[[Any], bool], make: Callable[[Any], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda obj: {**obj, name: make(obj[name])} if name in obj and test(obj[name]) else None


def refuse_unknown_members(obj: dict[str, Any]) -> None:
    known = {"code", "message", "category", "retryable", "retry_after_seconds", "hint", "cause_chain"}
    if "" not in obj and set(obj) - known:
        raise InvalidEnvelope("wrong-type", "")


def category_defaults(envelope: Any, _obj: Any) -> dict[str, Any]:
    if envelope.code is not McpErrorCode.UNKNOWN:
        return {}
    return {"category": McpErrorCategory.PERMANENT, "retryable": False}


def as_defaults(envelope: Any, _obj: Any) -> dict[str, Any]:
    category, retryable = DEFAULTS[envelope.code]
    return {"category": category, "retryable": retryable}


def writing(change: Callable[[dict[str, Any]], Any]) -> Apply:
    """
    Change each envelope as it is written.
    """
    return method(McpExecuteError, "to_wire", lambda old: lambda self: change(old(self)))


def setter(name: str, make: Callable[[Any], Any]) -> Apply:
    """
    Change a setter, also where the runner holds it.
    """
    short = name.removeprefix("with_")

    def apply() -> Undo:
        old = vars(McpExecuteError)[name]
        held = vector_runner.SETTERS.get(short)
        new = make(old)
        setattr(McpExecuteError, name, new)
        if held is not None:
            vector_runner.SETTERS[short] = new

        def undo() -> None:
            setattr(McpExecuteError, name, old)
            if held is not None:
                vector_runner.SETTERS[short] = held

        return undo

    return apply


def lenient_flag(old: Any) -> Any:
    return lambda self, flag: old(self, flag if isinstance(flag, bool) else bool(flag))


def lenient_category(old: Any) -> Any:
    def with_category(self: Any, category: Any) -> Any:
        try:
            return old(self, category)
        except ValueError:
            return old(self, "permanent")

    return with_category


def nearest_code(old: Any) -> Any:
    def new(cls: Any, code: Any, message: str) -> Any:
        try:
            return old(cls, code, message)
        except ValueError:
            return old(cls, "internal", message)

    return new


def clamped(old: Any) -> Any:
    def with_wait(self: Any, wait: Any) -> Any:
        if isinstance(wait, int | float) and math.isfinite(wait):
            wait = min(max(wait, 0), 2**32 - 1)
        return old(self, wait)

    return with_wait


ENVELOPES = [
    Mutant("E17", "a missing category is filled in", reading(fill("category", "permanent"))),
    Mutant("E17", "a missing retry flag is false", reading(fill("retryable", False))),
    Mutant("E17", "a missing message is empty", reading(fill("message", ""))),
    Mutant("E17 E1", "a missing code is internal", reading(fill("code", "internal"))),
    Mutant("E18", "a code of null is unknown", reading(convert("code", lambda v: v is None, lambda _: "unknown"))),
    Mutant("E18", "a number is taken for a code", reading(convert("code", lambda v: type(v) is int, str))),
    Mutant("E18 E5", "a retry flag may be text", reading(convert("retryable", lambda v: v == "true", lambda _: True))),
    Mutant("E18", "a message of null is empty", reading(convert("message", lambda v: v is None, lambda _: ""))),
    Mutant("E19 E2", "codes are matched in any case", reading(convert("code", lambda v: isinstance(v, str), str.lower))),
    Mutant("E19", "an unknown code takes its defaults", decoded(category_defaults)),
    Mutant("E20 E4", "an unknown category is permanent", decoded(
        lambda e, _: {"category": McpErrorCategory.PERMANENT} if e.category == "unknown" else None)),
    Mutant("E18 E10", "category and flag follow the code", decoded(as_defaults)),
    Mutant("E21", "a hint of null is empty", reading(convert("hint", lambda v: v is None, lambda _: ""))),
    Mutant("E22", "the chain is turned round", decoded(lambda e, _: {"cause_chain": e.cause_chain[::-1]})),
    Mutant("E22", "a chain of null is empty", reading(convert("cause_chain", lambda v: v is None, lambda _: []))),
    Mutant("E22", "what is not text in a chain is left out", reading(convert(
        "cause_chain", lambda v: isinstance(v, list), lambda v: [one for one in v if isinstance(one, str)]))),
    Mutant("E23", "a wait may have a decimal point", reading(convert(
        "retry_after_seconds", lambda v: isinstance(v, float) and v.is_integer(), int))),
    Mutant("E23", "a wait may be text", reading(convert(
        "retry_after_seconds", lambda v: isinstance(v, str) and v.isdigit(), int))),
    Mutant("E23", "a wait is cut to 32 bits", reading(convert(
        "retry_after_seconds", lambda v: type(v) is int, lambda v: min(max(v, 0), 2**32 - 1)))),
    Mutant("E24", "unknown members are refused", reading(refuse_unknown_members)),
    Mutant("E25", "the last of two members wins", method(McpExecuteError, "from_json", lambda _old: lambda cls, text, revision="0.36": cls.from_wire(json.loads(text), revision=revision))),
    Mutant("E28", "the older revision is never taken", revised("0.48")),
    Mutant("E28", "the newer revision is never taken", revised("0.36")),
    *(
        Mutant("E9", f"{code} has the other retry flag", entry(DEFAULTS, code, (category, not retryable)))
        for code, (category, retryable) in DEFAULTS.items()
    ),
    Mutant("E10", "a category sets the retry flag", setter("with_category", lambda old: lambda self, c: old(self, c).model_copy(update={"retryable": c == "transient"}))),
    Mutant("E10", "a retry flag sets the category", setter("with_retryable", lambda old: lambda self, r: old(self, r).model_copy(update={"category": McpErrorCategory.TRANSIENT if r else McpErrorCategory.PERMANENT}))),
    Mutant("E12", "whatever is true is a retry flag", setter("with_retryable", lenient_flag)),
    Mutant("E12", "an unknown category is permanent", setter("with_category", lenient_category)),
    Mutant("C17", "messages lose their blanks", method(McpExecuteError, "new", lambda old: lambda cls, code, message: old(cls, code, message.strip() if isinstance(message, str) else message))),
    Mutant("E11", "nobody may make an unknown one", method(McpExecuteError, "new", lambda old: lambda cls, code, message: old(cls, "" if code == "unknown" else code, message))),
    Mutant("E12", "an unknown code is internal", method(McpExecuteError, "new", nearest_code)),
    Mutant("E12", "a wait is cut instead of refused", setter("with_retry_after_seconds", clamped)),
    Mutant("E13 C37", "waits are rounded down", setter("with_retry_after_seconds", lambda old: lambda self, w: old(self, math.floor(w) if isinstance(w, float) and math.isfinite(w) else w))),
    Mutant("E15", "absent members are written as null", writing(lambda wire: {"hint": None, **wire})),
    Mutant("E15 E7", "an empty hint is left out", writing(lambda wire: {k: v for k, v in wire.items() if v != ""})),
    Mutant("E6", "a wait of zero is left out", writing(lambda wire: {k: v for k, v in wire.items() if k != "retry_after_seconds" or v})),
    Mutant("E14", "the retry flag is left out where it is false", writing(lambda wire: {k: v for k, v in wire.items() if k != "retryable" or v})),
    Mutant("E8", "the chain begins with the newest", writing(lambda wire: {**wire, **({"cause_chain": wire["cause_chain"][::-1]} if "cause_chain" in wire else {})})),
]  # fmt: skip


# ---- results


def written(change: Callable[[dict[str, Any], Any, dict[str, Any]], Any]) -> Apply:
    """
    Change each result as it is written.
    """

    def make(old: Any) -> Any:
        def to_result(fault: Any, **options: Any) -> Any:
            result = copy.deepcopy(old(fault, **options))
            changed = change(result, fault, options)
            return result if changed is None else changed

        return to_result

    return everywhere(_wire, "to_result", make)


def in_text(old: str, new: str) -> Apply:
    def change(result: dict[str, Any], _fault: Any, _options: Any) -> None:
        for block in result["content"]:
            block["text"] = block["text"].replace(old, new)

    return written(change)


def without(*path: str) -> Apply:
    def change(result: dict[str, Any], _fault: Any, _options: Any) -> None:
        inner = result
        for name in path[:-1]:
            inner = inner.get(name, {})
        inner.pop(path[-1], None)

    return written(change)


def swap_advice(result: dict[str, Any], _fault: Any, _options: Any) -> None:
    for block in result["content"][1:]:
        block["text"] = "\n".join(reversed(block["text"].split("\n")))


def facts_always(result: dict[str, Any], _fault: Any, _options: Any) -> None:
    result.setdefault("_meta", {"io.github.toolfault/error": {"v": 1}})


def always_structured(result: dict[str, Any], _fault: Any, options: dict[str, Any]) -> None:
    if not options.get("structured", True):
        result["structuredContent"] = result["_meta"]["io.github.toolfault/error"]["error"]


def widened(change: Callable[[Any, Any], Any]) -> Apply:
    return everywhere(widen, "widen_schema", lambda old: lambda schema: change(old(schema), schema))


def loosely(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="surrogatepass").decode(errors="ignore")
    return value


KEY = "io.github.toolfault/error"

RESULTS = [
    Mutant("W1", "the flag is not set", written(lambda result, *_: {**result, "isError": False})),
    Mutant("W2", "no envelope in structuredContent", without("structuredContent")),
    Mutant("W3", "a prefix stands before the message", written(lambda result, *_: result["content"][0].update(text=f"Error: {result['content'][0]['text']}"))),
    Mutant("W6", "no advice at all", written(lambda result, *_: result["content"].__delitem__(slice(1, None)))),
    Mutant("W6", "the guidance is ignored", everywhere(_wire, "to_result", lambda old: lambda fault, guidance=None, **more: old(fault, **more))),
    Mutant("W7", "the hint stands before the wait", written(swap_advice)),
    Mutant("W7", "one second is written as many", in_text("after 1 second.", "after 1 seconds.")),
    Mutant("W7", "no wait is written as now", in_text("retried later.", "retried now.")),
    Mutant("W7", "a wait of zero is written as later", in_text("retried now.", "retried later.")),
    Mutant("W8", "the facts have no version", without("_meta", KEY, "v")),
    Mutant("W8 W11", "the outcome is left out", without("_meta", KEY, "outcome")),
    Mutant("W10", "facts are written under guidance none", written(facts_always)),
    Mutant("W12", "no schema is widened", widened(lambda _new, _schema: None)),
    Mutant("W12.1", "a widened schema is widened again", everywhere(widen, "_is_widened", lambda _old: lambda _schema: False)),
    Mutant("W12.2", "every schema is nested", everywhere(widen, "_root_required", lambda _old: lambda _schema: None)),
    Mutant("W12.3", "a schema that refers to its root is nested", everywhere(widen, "_refers_to_root", lambda _old: lambda *_: False)),
    Mutant("W13", "the envelope stands in both places", written(always_structured)),
    Mutant("W14.1", "a lone surrogate is dropped", written(lambda result, *_: json.loads(json.dumps(result).replace("\ufffd", "").replace("\\ufffd", "")))),
    Mutant("W14.2", "a number that is not finite stays", everywhere(_wire, "json_safe", lambda old: lambda value, *more: value if isinstance(value, float) else old(value, *more))),
    Mutant("W14.3", "deep facts stay as they are", everywhere(_wire, "json_safe", lambda old: lambda value, *_more: old(value, 64))),
    Mutant("W15", "a failed writer raises", everywhere(_wire, "to_result", lambda _old: lambda fault, guidance=_wire.Guidance.BLOCK, structured=True: _wire._write(fault, guidance, structured=structured))),
]  # fmt: skip


# ---- reading


def asked(change: Callable[[Any], Any]) -> Apply:
    """
    Change each answer before it is read.
    """

    def make(old: Any) -> Any:
        def parse(answer: Any, **more: Any) -> Any:
            return old(change(copy.deepcopy(answer)) if isinstance(answer, dict) else answer, **more)

        return parse

    return everywhere(parsing, "parse", make)


def found(change: Callable[[ToolFault, Any], Any]) -> Apply:
    """
    Change each failure after it was read.
    """

    def make(old: Any) -> Any:
        def parse(answer: Any, **more: Any) -> Any:
            fault = old(answer, **more)
            if fault is None:
                return None
            changed = change(fault, answer)
            return fault if changed is None else changed

        return parse

    return everywhere(parsing, "parse", make)


def envelope_with(**members: Any) -> Callable[[ToolFault, Any], Any]:
    def change(fault: ToolFault, _answer: Any) -> ToolFault:
        return ToolFault.of(
            fault.envelope.model_copy(update=members),
            outcome=fault.outcome,
            facts=fault.facts,
            received=fault.received,
            found_in=fault.found_in,
        )

    return change


def having(test: Callable[[ToolFault], bool], **members: Any) -> Callable[[ToolFault, Any], Any]:
    return lambda fault, answer: envelope_with(**members)(fault, answer) if test(fault) else None


def drop(*names: str) -> Callable[[dict[str, Any]], Any]:
    """
    Drop members wherever they stand.
    """

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: walk(inner) for name, inner in value.items() if name not in names}
        return [walk(inner) for inner in value] if isinstance(value, list) else value

    return walk


def only_true(answer: dict[str, Any]) -> Any:
    if answer.get("isError") is not True:
        answer.pop("isError", None)
    return answer


def flag_envelopes(answer: dict[str, Any]) -> Any:
    if isinstance(answer.get("structuredContent"), dict) and "code" in answer["structuredContent"]:
        answer["isError"] = True
    return answer


def flag_words(answer: dict[str, Any]) -> Any:
    if "error" in json.dumps(answer.get("content", "")).lower():
        answer["isError"] = True
    return answer


def meta_first(answer: dict[str, Any]) -> Any:
    if "error" in (answer.get("_meta") or {}).get(KEY, {}):
        answer.pop("structuredContent", None)
    return answer


def blocks(change: Callable[[list[Any]], list[Any]]) -> Callable[[dict[str, Any]], Any]:
    def walk(answer: dict[str, Any]) -> Any:
        if isinstance(answer.get("content"), list):
            answer["content"] = change(answer["content"])
        return answer

    return walk


def without_json(content: list[Any]) -> list[Any]:
    return [
        {"type": "text", "text": "It failed."} if str(block.get("text", "")).strip().startswith("{") else block
        for block in content
    ]


def without_inner_json(content: list[Any]) -> list[Any]:
    return [
        {**block, "text": block["text"].partition("{")[0]}
        if not str(block.get("text", "{")).strip().startswith("{")
        else block
        for block in content
    ]


def words_only(answer: dict[str, Any]) -> Any:
    error = answer.get("error", answer)
    if isinstance(error, dict) and isinstance(error.get("code"), int) and "message" in error:
        error["message"] = "It failed"
    return answer


def number_only(answer: dict[str, Any]) -> Any:
    error = answer.get("error", answer)
    if isinstance(error, dict) and isinstance(error.get("code"), int) and "message" in error:
        error["code"] = -32099
    return answer


def without_data(answer: dict[str, Any]) -> Any:
    error = answer.get("error", answer)
    if isinstance(error, dict) and isinstance(error.get("code"), int):
        error.pop("data", None)
    return answer


def unwrapped(answer: dict[str, Any]) -> Any:
    return {"content": []} if "jsonrpc" in answer and "result" in answer else answer


READING = [
    Mutant("W17", "a failure that can't be read is a success", found(lambda fault, _: None if fault.code != "unknown" else _Nothing)),
    Mutant("W17", "texts are shown as they came", method(Redactor, "scrub", lambda _old: lambda self, text, limit=2048, said=(): text)),
    Mutant("W18.1", "only the boolean is a flag", asked(only_true)),
    Mutant("W18.2", "an envelope without a flag is a failure", asked(flag_envelopes)),
    Mutant("W18.3", "a request for input may be a failure", asked(drop("resultType"))),
    Mutant("W18.4", "members in snake_case are ignored", asked(drop("is_error", "structured_content"))),
    Mutant("W19", "_meta is asked before structuredContent", asked(meta_first)),
    Mutant("W19.1", "structuredContent is ignored", asked(drop("structuredContent", "structured_content"))),
    Mutant("W19.2", "our key in _meta is ignored", asked(drop(KEY))),
    Mutant("W19.3", "the object of SEP-3313 is ignored", asked(drop("io.modelcontextprotocol/toolFailure"))),
    Mutant("W19.4", "JSON in a text is prose", asked(blocks(without_json))),
    Mutant("W19.5", "JSON behind words is ignored", asked(blocks(without_inner_json))),
    Mutant("W20.1", "only the first block is read", asked(blocks(lambda content: content[:1]))),
    Mutant("W20.2", "the hint is not read back", found(having(lambda f: f.found_in == "prose", hint=None))),
    Mutant("W20.2", "advice stays in the message", found(lambda fault, answer: envelope_with(message="\n".join(str(b.get("text")) for b in answer["content"]))(fault, answer) if fault.found_in == "prose" and isinstance(answer, dict) and isinstance(answer.get("content"), list) and len(answer["content"]) > 1 else None)),
    Mutant("W20.4", "silence is internal", found(having(lambda f: f.found_in == "prose" and f.code == "unknown", code=McpErrorCode.INTERNAL))),
    Mutant("W21", "words make a failure", asked(flag_words)),
    Mutant("W22", "the place is not told", found(lambda fault, _: setattr(fault, "found_in", "prose"))),
    Mutant("E27", "the object as it came is not kept", found(lambda fault, _: setattr(fault, "received", fault.envelope.to_wire()))),
    Mutant("E26", "a reader is as strict as a decoder", found(lambda fault, answer: envelope_with(code=McpErrorCode.UNKNOWN)(fault, answer) if isinstance(fault.received, dict) and "code" in fault.received and not {"category", "retryable"} <= fault.received.keys() else None)),
    Mutant("W11", "the outcome is not read", found(lambda fault, _: setattr(fault, "outcome", None))),
    Mutant("W8", "facts are not read", found(lambda fault, _: fault.facts.clear())),
    Mutant("W27", "statuses are ignored", asked(drop("status", "statusCode", "status_code"))),
    Mutant("W27", "words of other vocabularies are ignored", asked(drop("errorCode", "error_code", "type", "reason"))),
    Mutant("W27.5", "a retry flag is ignored", found(lambda fault, answer: envelope_with(retryable=DEFAULTS[fault.code][1])(fault, answer))),
    Mutant("W27.5", "a wait is ignored", found(envelope_with(retry_after_seconds=None))),
    Mutant("W28.1", "the error's data is ignored", asked(without_data)),
    Mutant("W28.2", "the words of an error are ignored", asked(words_only)),
    Mutant("W28.2", "the number of an error is ignored", asked(number_only)),
    Mutant("W29", "a response is not unwrapped", asked(unwrapped)),
    Mutant("W30", "messages are cut at 1024 bytes", found(lambda fault, answer: envelope_with(message=fault.message[:1024])(fault, answer))),
]  # fmt: skip


class _Nothing(ToolFault):
    """
    Stands for no failure; see `run_cases`.
    """


# ---- the classifiers


def row_removed(place: int) -> Apply:
    def apply() -> Undo:
        table = everruns._TABLE
        everruns._TABLE = table[:place] + table[place + 1 :]
        return lambda: setattr(everruns, "_TABLE", table)

    return apply


def reversed_rows() -> Undo:
    table = everruns._TABLE
    everruns._TABLE = table[::-1]
    return lambda: setattr(everruns, "_TABLE", table)


def exactly(change: Callable[[str], str]) -> Apply:
    return everywhere(everruns, "exact", lambda old: lambda text, *more: old(change(text), *more))


def carefully(**dropped: Any) -> Apply:
    return everywhere(careful, "careful", lambda old: lambda text, **more: old(text, **{**more, **dropped}))


#: The rule of each row of the exact classifier.
ROWS = ["C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10", "C10", "C11", "C12", "C13", "C14", "C15"]


def judged(module: Any, test: Callable[[Any], bool], **members: Any) -> Apply:
    """
    Change the verdicts on some statuses.
    """

    def make(old: Any) -> Any:
        def verdict_for(status: Any, **more: Any) -> Any:
            verdict = old(status, **more)
            return type(verdict)(**{**_members(verdict), **members}) if test(status) else verdict

        return verdict_for

    return everywhere(module, "verdict_for", make)


def _members(verdict: Any) -> dict[str, Any]:
    return {"code": verdict.code, "category": verdict.category, "retryable": verdict.retryable, "retry_after_seconds": verdict.retry_after_seconds}  # fmt: skip


def judged_without(module: Any, *names: str) -> Apply:
    return everywhere(
        module,
        "verdict_for",
        lambda old: lambda status, **more: old(status, **{k: v for k, v in more.items() if k not in names}),
    )


CLASSIFIERS = [
    *(Mutant(rule, f"row {place + 1} is missing", row_removed(place)) for place, rule in enumerate(ROWS)),
    Mutant("C1", "capital letters count", exactly(lambda text: re.sub("[A-Z]", "\0", text))),
    Mutant("C1", "letters of other alphabets are lowered", exactly(str.casefold)),
    Mutant("C1", "blanks around it are cut off", exactly(str.strip)),
    Mutant("C2", "the tests are tried from the end", reversed_rows),
    Mutant("C16", "what matches nothing is unknown", everywhere(everruns, "exact", lambda old: lambda *given: McpErrorCode.UNKNOWN if old(*given) == "internal" else old(*given))),
    Mutant("C39", "the revision is ignored", everywhere(everruns, "exact", lambda old: lambda text, *_: old(text))),
    Mutant("C22", "404 is a missing tool", judged(http, lambda status: status == 404, code=McpErrorCode.TOOL_NOT_FOUND)),
    Mutant("C23", "an outage is permanent", judged(http, lambda status: status in {500, 502, 503}, retryable=False)),
    Mutant("C24", "what is gone is internal", judged(http, lambda status: status == 410, code=McpErrorCode.INTERNAL)),
    Mutant("C25", "refused credentials are arguments", judged(http, lambda status: status == 401, code=McpErrorCode.INVALID_ARGUMENTS)),
    Mutant("C27", "a late upstream is an outage", judged(http, lambda status: status == 504, code=McpErrorCode.INTERNAL)),
    Mutant("C36", "a limit has no wait", judged(http, lambda status: status == 429, retry_after_seconds=None)),
    Mutant("C36", "a limit is permanent", judged(http, lambda status: status == 429, retryable=False)),
    Mutant("C40.1", "headers are ignored", judged_without(http, "headers")),
    Mutant("C40.4 C42", "the body is ignored", judged_without(http, "body")),
    Mutant("C41.1", "the text of a gRPC status is ignored", judged_without(grpc, "text")),
    Mutant("C41.2", "a quota failure is ignored", judged_without(grpc, "quota")),
    Mutant("C41.3", "a pushback is ignored", judged_without(grpc, "again")),
    Mutant("C41", "UNAVAILABLE is permanent", judged(grpc, lambda status: status in {"UNAVAILABLE", 14}, retryable=False)),
    Mutant("C31", "prose tells nothing", everywhere(careful, "careful", lambda _old: lambda *_a, **_k: None)),
    Mutant("C31.2", "the name that was called is ignored", carefully(tool=None)),
    Mutant("C31.4 C33", "the arguments count as evidence", carefully(arguments=None)),
    Mutant("C31.9", "where nothing tells, it guesses", everywhere(careful, "careful", lambda old: lambda *a, **k: old(*a, **k) or careful.NO_TOOL)),
]  # fmt: skip


# ---- retries and waits


def stepping(change: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Apply:
    """
    Change what the decision is made of.
    """

    def make(old: Any) -> Any:
        def next_wait(self: Any, fault: Any, tool: Any = None) -> Any:
            return old(self, *change(self, fault, tool))

        return next_wait

    return method(state.RetryState, "next_wait", make)


def stepped(change: Callable[[Any, Any], Any]) -> Apply:
    """
    Change the wait that was decided on.
    """

    def make(old: Any) -> Any:
        def next_wait(self: Any, fault: Any, tool: Any = None) -> Any:
            wait = old(self, fault, tool)
            return wait if wait is None else change(wait, fault)

        return next_wait

    return method(state.RetryState, "next_wait", make)


def faulty(**members: Any) -> Callable[[Any, Any, Any], tuple[Any, Any]]:
    def change(_state: Any, fault: Any, tool: Any) -> tuple[Any, Any]:
        return (fault if fault is None else envelope_with(**members)(fault, None)), tool

    return change


def with_outcome(outcome: Any) -> Callable[[Any, Any, Any], tuple[Any, Any]]:
    def change(_state: Any, fault: Any, tool: Any) -> tuple[Any, Any]:
        if fault is not None and fault.received is not None:
            fault.outcome = outcome
        return fault, tool

    return change


def without_word(self: Any, fault: Any, tool: Any) -> tuple[Any, Any]:
    for name in ("idempotent", "_idempotent"):
        if hasattr(self, name):
            setattr(self, name, None)
    return fault, tool


def first_again(self: Any, fault: Any, tool: Any) -> tuple[Any, Any]:
    self.number = 1
    return fault, tool


def endless(self: Any, fault: Any, tool: Any) -> tuple[Any, Any]:
    self._begun = math.inf
    return fault, tool


def capped(_state: Any, fault: Any, tool: Any) -> tuple[Any, Any]:
    if fault is not None and (fault.retry_after_seconds or 0) > 100:
        fault = envelope_with(retry_after_seconds=100)(fault, None)
    return fault, tool


def trusting(self: Any, fault: Any, tool: Any) -> tuple[Any, Any]:
    hints = tool.get("annotations", {}) if isinstance(tool, dict) else {}
    if hints.get("readOnlyHint") or (fault is not None and fault.outcome == "not_executed"):
        for name in ("idempotent", "_idempotent"):
            if hasattr(self, name) and getattr(self, name) is None:
                setattr(self, name, True)
    return fault, tool


def waits(name: str, change: Callable[[Any], Any]) -> Apply:
    return everywhere(_retry_after, name, lambda old: lambda *a, **k: change(old(*a, **k)))


def without_header(*names: str) -> Apply:
    def make(old: Any) -> Any:
        def delay_from(headers: Any, **more: Any) -> Any:
            return old({k: v for k, v in headers.items() if k.lower() not in names}, **more)

        return delay_from

    return everywhere(_retry_after, "delay_from", make)


RETRIES = [
    Mutant("R1 R5", "every failure is repeated", stepping(faulty(retryable=True))),
    Mutant("R2 R3", "what the server says of execution is ignored", stepping(with_outcome(None))),
    Mutant("R3", "unknown counts as not executed", stepping(with_outcome("not_executed"))),
    Mutant("R2.1", "the caller's word is ignored", stepping(without_word)),
    Mutant("R2.4", "hints are ignored", stepping(lambda _s, fault, _tool: (fault, None))),
    Mutant("R2.4", "every tool only reads", stepping(lambda _s, fault, _tool: (fault, {"annotations": {"readOnlyHint": True}}))),
    Mutant("R4", "a server that is not trusted is believed", stepping(trusting)),
    Mutant("R6", "the server's wait is halved", stepped(lambda wait, fault: wait / 2 if fault and fault.retry_after_seconds else wait)),
    Mutant("R6", "the server's wait is ignored", stepping(faulty(retry_after_seconds=None))),
    Mutant("R7", "a wait that is too long is shortened", stepping(capped)),
    Mutant("R8", "nobody waits", stepped(lambda _wait, _fault: 0.0)),
    Mutant("R8", "the window is twice as long", stepped(lambda wait, fault: wait * 2 if not (fault and fault.retry_after_seconds) else wait)),
    Mutant("R10 R14", "the attempts never end", stepping(first_again)),
    Mutant("R11", "there is no deadline", stepping(endless)),
    Mutant("R12", "the budget never ends", method(budget.Budget, "take", lambda _old: lambda self, cost=1.0: True)),
    Mutant("R12.1", "the budget has no upper end", method(budget.Budget, "give", lambda _old: lambda self, tokens=None: setattr(self, "_tokens", self._tokens + (tokens or self.refund)) if hasattr(self, "_tokens") else None)),
    Mutant("R12.2", "a retry after a limit costs as much", everywhere(state, "_QUOTA_COST", lambda _old: 1.0)),
    Mutant("R12.4", "a success gives nothing back", method(budget.Budget, "give", lambda _old: lambda self, tokens=None: None)),
    Mutant("R16", "the first failure is handed on", method(state.RetryState, "finish", lambda old: lambda self, outcome: _first(old(self, outcome)))),
    Mutant("R18", "headers tell no wait", waits("delay_from", lambda _: None)),
    Mutant("R18", "bodies tell no wait", waits("wait_in_json", lambda _: None)),
    Mutant("R18.6", "prose tells no wait", waits("wait_in_prose", lambda _: None)),
    Mutant("R18.2", "spellings are not read", waits("parse_seconds", lambda _: None)),
    Mutant("R18.7 E13", "a wait in a text is one second shorter", waits("parse_seconds", lambda s: None if s is None else max(0, s - 1))),
    Mutant("R18.4", "the answer's own date is ignored", without_header("date")),
    Mutant("R18.1", "milliseconds in a header are ignored", without_header("retry-after-ms", "x-ms-retry-after-ms")),
    Mutant("R18", "Retry-After is ignored", without_header("retry-after")),
    Mutant("R18", "RateLimit is ignored", without_header("ratelimit")),
    Mutant("R9 R18.5", "a negative wait is zero", everywhere(_retry_after, "parse_seconds", lambda old: lambda value, **more: 0 if str(value).startswith("-") else old(value, **more))),
]  # fmt: skip


def _first(retried: Any) -> Any:
    if len(retried.attempts) > 1 and isinstance(retried.result, int):
        retried.result = 1
    return retried


# ---- redaction


def family_removed(place: int) -> Apply:
    def apply() -> Undo:
        table = families._FAMILIES
        families._FAMILIES = table[:place] + table[place + 1 :]
        return lambda: setattr(families, "_FAMILIES", table)

    return apply


def scrubbed(change: Callable[[str], str]) -> Apply:
    return method(Redactor, "scrub", lambda old: lambda self, text, *more: change(old(self, text, *more)))


def made_without(name: str, value: Any) -> Apply:
    return method(
        Redactor,
        "__init__",
        lambda old: (
            lambda self, *given, **more: old(
                self,
                *(() if name == "registered" else given),
                **{**more, **({name: value} if name != "registered" else {})},
            )
        ),
    )


REDACTION = [
    Mutant("S1", "registered secrets stay", made_without("registered", ())),
    Mutant("S2", "secrets of the environment stay", made_without("environ", {})),
    Mutant("S15", "the server's folders are not known", made_without("roots", ())),
    *(
        Mutant("S3 to S8", f"{getattr(family[0], '__name__', place)} does nothing", family_removed(place))
        for place, family in enumerate(families._FAMILIES)
    ),
    Mutant("S9", "invisible characters stay", scrubbed(lambda text: text.replace("[redacted]", "[\u200bredacted]"))),
    Mutant("S10", "another mark stands for what was removed", scrubbed(lambda text: text.replace("[redacted]", "***"))),
    Mutant("S12", "addresses of people are removed", scrubbed(lambda text: re.sub(r"\b[\w.]+@[\w.]+\.\w+\b", "[redacted]", text))),
    Mutant("S13", "names of hosts are removed", scrubbed(lambda text: re.sub(r"\b[\w-]+(?:\.[\w-]+)*\.(?:internal|local|com|example)\b", "[redacted]", text))),
    Mutant("S14", "identifiers are removed", scrubbed(lambda text: re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{32,64}\b", "[redacted]", text))),
    Mutant("C30", "a text is cut before it is redacted", method(Redactor, "scrub", lambda old: lambda self, text, limit=2048, *more: old(self, text[: max(8, limit // 2)], limit, *more))),
]  # fmt: skip


# ---- other vocabularies


def mapped(change: Callable[[Any, tuple[Any, ...]], Any]) -> Apply:
    return everywhere(_tables, "translate", lambda old: lambda *given: change(old(*given), given))


def swapped(image: Any, given: tuple[Any, ...]) -> Any:
    return {"quota_exceeded": "internal", 4007: 500, -32602: -32603}.get(image, image) if given else image


BRIDGES = [
    Mutant("B1", "some codes have another image", mapped(swapped)),
    Mutant("B2", "the reason is ignored", everywhere(_tables, "translate", lambda old: lambda code, source, target, *_reason: old(code, source, target))),
    Mutant("B5", "a record needs no version", everywhere(_bridge_record, "read_record", lambda old: lambda text: old(re.sub(r'"v": ?(?:null|true)', '"v":1', text) if isinstance(text, str) else text))),
    Mutant("B7", "records are not read", everywhere(_bridge_record, "read_record", lambda _old: lambda _text: None)),
    Mutant("B9", "a record may have any size", everywhere(_bridge_record, "MAX_RECORD", lambda _old: 10**9)),
]  # fmt: skip


def believe(old: Any) -> Any:
    """
    Take the code of whatever stands in the place of a record.
    """

    def decode(body: Any, **more: Any) -> Any:
        fault = old(body, **more)
        with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):
            said = json.loads(body["data"][0]["metadata"]["toolfault_record"])
            return envelope_with(code=McpErrorCode(said["code"]))(fault, body)
        return fault

    return decode


def record_text(change: Callable[[str], str | None]) -> Apply:
    return everywhere(
        _bridge_record, "read_record", lambda old: lambda text: old(change(text) if isinstance(text, str) else text)
    )


def retryable_agent(old: Any) -> Any:
    def meaning(code: Any, *more: Any) -> Any:
        image, category, retryable = old(code, *more)
        return (image, McpErrorCategory.TRANSIENT, True) if code == -32006 else (image, category, retryable)

    return meaning


def tell_details(old: Any) -> Any:
    return lambda payload: f"{old(payload)} {getattr(payload, 'details', '')}"


def show_details(old: Any) -> Any:
    def decode(body: Any, **more: Any) -> Any:
        fault = old(body, **more)
        return (
            fault
            if fault is None
            else envelope_with(message=f"{fault.message} {json.dumps(body.get('details'))}")(fault, body)
        )

    return decode


def whole_code(obj: Any) -> Any:
    code = obj.get("code") if isinstance(obj, dict) else None
    return {**obj, "code": int(code)} if isinstance(code, float | bool) else obj


def without_login(body: Any) -> Any:
    meta = body.get("meta") or {}
    if len(meta) > 1:
        return {**body, "meta": {k: v for k, v in meta.items() if k != "error_code"}}
    return body


def same_major(old: Any) -> Any:
    def check(version: Any, server: Any) -> Any:
        refusal = old(version, server)
        parts = str(version).split(".")
        fits = len(parts) == 3 and parts[0] == str(server).split(".")[0] and all(map(str.isdigit, parts))
        return None if fits else refusal

    return check


def with_data(change: Callable[[list[Any]], Any]) -> Callable[[Any], Any]:
    def make(old: Any) -> Any:
        def to_jsonrpc(self: Any, *given: Any, **more: Any) -> Any:
            body = old(self, *given, **more)
            return {**body, "data": change(copy.deepcopy(body["data"]))} if body.get("data") else body

        return to_jsonrpc

    return make


def small_reasons(details: list[Any]) -> list[Any]:
    return [{**one, "reason": one["reason"].lower()} if "reason" in one else one for one in details]


def from_jsonrpc(change: Callable[[Any], Any]) -> Apply:
    return method(A2AError, "from_jsonrpc", lambda old: lambda cls, obj, **more: old(cls, change(obj), **more))


def code_of_reason(obj: Any) -> Any:
    with contextlib.suppress(KeyError, TypeError, IndexError):
        row = a2a_errors.error_type(obj["data"][0]["reason"])
        return obj if row is None else {**obj, "code": row.code}
    return obj


def data_as_metadata(obj: Any) -> Any:
    data = obj.get("data") if isinstance(obj, dict) else None
    if not isinstance(data, dict):
        return obj
    kind = "type.googleapis.com/google.rpc.ErrorInfo"
    return {**obj, "data": [{"@type": kind, "reason": "X", "domain": "a2a-protocol.org", "metadata": data}]}


def without_texts(answer: dict[str, Any]) -> Any:
    if "io.modelcontextprotocol/toolFailure" in (answer.get("_meta") or {}):
        answer["content"] = []
    return answer


def believe_class(fault: ToolFault, answer: Any) -> Any:
    if fault.found_in == "tool_failure" and isinstance(fault.received, dict):
        return envelope_with(retryable=bool(fault.received.get("retryable")))(fault, answer)
    return None


def an_ack(_old: Any) -> Any:
    return lambda _fault, **_more: {"code": 4004, "message": "m"}


BRIDGES += [
    Mutant("B3", "an agent that answers nonsense may be asked again", everywhere(_tables, "meaning", retryable_agent)),
    Mutant("B4 A21", "a failed tool leaves as an acknowledgement", everywhere(a2c_smcp, "encode", an_ack)),
    Mutant("B8 B6", "a record that does not fit is believed", everywhere(a2a, "decode", believe)),
    Mutant("B10", "a record with a handle is ignored", record_text(lambda text: None if '"handle"' in text else text)),
    Mutant("B11", "details are shown", everywhere(a2c_smcp, "decode", show_details)),
    Mutant("B12", "the wait of a record is lost", record_text(lambda text: re.sub(r'"retry_after_seconds": ?\d+, ?', "", text))),
    Mutant("A1", "a payload may stand inside another object", everywhere(a2c_smcp, "agent_error", lambda old: lambda obj: old(obj.get("error", obj) if isinstance(obj, dict) else obj))),
    Mutant("A2 A11", "details are told to the user", everywhere(a2c_smcp, "user_text", tell_details)),
    Mutant("A3", "members stand in the order of the alphabet", method(a2c_smcp.ErrorPayload, "to_wire", lambda old: lambda self: dict(sorted(old(self).items())))),
    Mutant("A4", "details of null are left out", method(a2c_smcp.ErrorPayload, "with_details", lambda old: lambda self, details: self if details is None else old(self, details))),
    Mutant("A5", "every version has the older name of a server", method(a2c_smcp.ErrorPayload, "with_server", lambda old: lambda self, name, *_: old(self, name, "0.2"))),
    Mutant("A6", "any integer is a failure", everywhere(a2c_smcp, "is_protocol_error_payload", lambda _old: lambda obj, *_: isinstance(obj, dict) and type(obj.get("code")) is int)),
    Mutant("A7", "a number with a point is a code", everywhere(a2c_smcp, "is_protocol_error_payload", lambda old: lambda obj, *more: old(whole_code(obj), *more))),
    Mutant("A8", "a missing message is empty", method(a2c_smcp.ErrorPayload, "from_wire", lambda old: lambda cls, obj, **more: old(cls, {"message": "", **obj} if isinstance(obj, dict) else obj, **more))),
    Mutant("A10", "an agent refuses odd details", everywhere(a2c_smcp, "agent_error", lambda old: lambda obj: None if isinstance(obj, dict) and not isinstance(obj.get("details", {}), dict) else old(obj))),
    Mutant("A12", "a version may have blanks and a letter", everywhere(a2c_smcp, "check_version", lambda old: lambda version, server: old(version.strip().lstrip("v+") if isinstance(version, str) else version, server))),
    Mutant("A13", "minor versions do not matter", everywhere(a2c_smcp, "check_version", same_major)),
    Mutant("A14", "a missing version is accepted", everywhere(a2c_smcp, "check_query", lambda old: lambda query, server: old(query, server) if b"a2c" in (query if isinstance(query, bytes) else query.encode()) else None)),
    Mutant("A16", "a mismatch is not seen", everywhere(a2c_smcp, "read_refusal", lambda _old: lambda _body: None)),
    Mutant("A17", "4008 closes a WebSocket as well", everywhere(a2c_smcp, "read_close", lambda old: lambda code: old(4900))),
    Mutant("A18", "markers are ignored", everywhere(a2c_smcp, "read_tool_result", lambda old: lambda body: old({**body, "meta": {}, "_meta": {}}))),
    Mutant("A19", "a login counts last", everywhere(a2c_smcp, "read_tool_result", lambda old: lambda body: old(without_login(body)))),
    Mutant("A20", "a status of 401 is a refusal", everywhere(a2c_smcp, "authorization_code", lambda old: lambda status=None, **more: old(status=403 if status == 401 else status, **more))),
    Mutant("G1", "0.3's last number is unknown", everywhere(a2a_errors, "error_type", lambda old: lambda key: old("none" if key == -32007 else key))),
    Mutant("G14", "-32000 is a task that is not found", everywhere(a2a_errors, "error_type", lambda old: lambda key: old(-32001 if key == -32000 else key))),
    Mutant("G2", "reasons are written small", method(A2AError, "to_jsonrpc", with_data(small_reasons))),
    Mutant("G4", "there is no ErrorInfo", method(A2AError, "to_jsonrpc", with_data(lambda details: details[1:]))),
    Mutant("G5", "refused fields are left out", method(A2AError, "to_jsonrpc", with_data(lambda details: details[:1]))),
    Mutant("G6 G7", "the reason decides, not the number", from_jsonrpc(code_of_reason)),
    Mutant("G8", "an object as data is metadata", from_jsonrpc(data_as_metadata)),
    Mutant("G9", "a variant has another number", method(droid.A2aError, "code", lambda old: lambda self: old(self) - 1)),
    Mutant("G10", "what a variant carries is left out", method(droid.A2aError, "to_jsonrpc", lambda old: lambda self: {k: v for k, v in old(self).items() if k != "data"})),
    Mutant("G11", "every peer has the official table", everywhere(droid, "variant_of", lambda _old: lambda _code: None)),
    Mutant("G15", "the object of SEP-3313 has another key", asked(drop("io.modelcontextprotocol/toolFailure"))),
    Mutant("G16", "every class may be retried", found(believe_class)),
    Mutant("G17", "the object of SEP-3313 has no message", asked(without_texts)),
]  # fmt: skip

MUTANTS = [*ENVELOPES, *RESULTS, *READING, *CLASSIFIERS, *RETRIES, *REDACTION, *BRIDGES]

#: Rules that cases name and no mutant breaks, and why.
UNBROKEN = {
    "E3": "what a message says is up to its author",
    "E16": "the members of an object have no order for a case",
    "S11": "cost is held by tests that count work",
    "W4": "the SDK writes the member",
    "W5": "the SDK's server answers the name",
}

#: Mutants that no case can notice, and why.
UNNOTICED: dict[tuple[str, str], str] = {
    ("C6", "row 4 is missing"): "C11 finds `forbidden` anywhere, and gives the same code.",
    (
        "S3 to S8",
        "redact_elements does nothing",
    ): "Behind the name of an element stands its value, and S3 takes it for that.",
}


# ---- running the cases


def iter_cases() -> Iterator[tuple[str, Callable[[], None]]]:
    """
    Yield each case of the suites that the library runs: its name, and what runs it.
    """
    for suite in vector_runner.load_suites():
        for case in suite["cases"] if suite["ours"] else ():
            if case["input"]["op"] != "tools-call-result":
                yield f"{suite['suite']}: {case['case']}", lambda case=case: vector_runner.run(case)
    for name in ("bridge", "a2a", "a2c_smcp"):
        module = load_module(HERE / "dialects" / f"test_{name}_vectors.py")
        suites = module.SUITES.values() if isinstance(module.SUITES, dict) else module.SUITES
        for case in (case for suite in suites if suite["ours"] for case in suite["cases"]):
            operation = module.OPERATIONS.get(case["input"]["op"])
            if operation is not None:
                yield (
                    f"{name}: {case['case']}",
                    lambda operation=operation, case=case: operation(case["input"], case["expect"]),
                )


def load_module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def find_noticing(cases: list[tuple[str, Callable[[], None]]], last: dict[str, float]) -> str | None:
    """
    Return the name of a case that fails; None if all pass. Cases that failed before are tried first.
    """
    for name, run in sorted(cases, key=lambda case: -last.get(case[0], 0)):
        try:
            run()
        except (Exception, pytest.fail.Exception):  # noqa: BLE001 -- a mutant may break anything
            last[name] = time.monotonic()
            return name
    return None


def run_mutants(mutants: list[Mutant]) -> list[tuple[Mutant, str | None]]:
    """
    Run the cases against each mutant.
    """
    logging.disable(logging.CRITICAL)
    cases = list(iter_cases())
    found: list[tuple[Mutant, str | None]] = []
    assert find_noticing(cases, {}) is None, "the cases must pass before anything is broken"
    by_suite: dict[str, float] = {}
    for mutant in mutants:
        undo = mutant.apply()
        try:
            noticed = find_noticing(cases, by_suite)
        finally:
            undo()
        found.append((mutant, noticed))
        print(f"{'noticed ' if noticed else 'SURVIVED'} {mutant.rules:10} {mutant.what:55} {noticed or ''}", flush=True)
    assert find_noticing(cases, {}) is None, "a mutant was not undone"
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n", 1)[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    mutants = [mutant for mutant in MUTANTS if given.only in f"{mutant.rules} {mutant.what}"]
    if given.list:
        print("\n".join(f"{mutant.rules:10} {mutant.what}" for mutant in mutants))
        return 0
    began = time.monotonic()
    found = run_mutants(mutants)
    survivors = [mutant for mutant, noticed in found if noticed is None]
    unexplained = [mutant for mutant in survivors if (mutant.rules, mutant.what) not in UNNOTICED]
    print("\n".join(f"not broken {rule}: {why}" for rule, why in UNBROKEN.items()))
    print(f"{len(found) - len(survivors)} of {len(found)} mutants noticed, {len(unexplained)} unexplained ({time.monotonic() - began:.0f} s)")  # fmt: skip
    return 1 if unexplained else 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
