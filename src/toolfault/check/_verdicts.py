"""
What the answers to provocations say about a server: one function for each check.

Rule 1: a function returns None where an answer can't tell, so that nothing passes unprovoked.
Rule 2: the answer is judged as it came; only its structure is read as a client would read it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final, NamedTuple

from toolfault._codes import McpErrorCode
from toolfault._envelope import InvalidEnvelope, McpExecuteError
from toolfault._names import META_KEY
from toolfault._read.dialects import parse_dialect
from toolfault._read.parse import parse, suspect
from toolfault._redact import Redactor
from toolfault._schema.bounded import BoundedValidator
from toolfault.check._model import (
    CHECKS,
    Answer,
    CheckResult,
    Exchange,
    Finding,
    Kind,
    Outcome,
    ToolSeen,
    merge,
)
from toolfault.check._wire import MODERN, as_array, as_object, encode, is_object, is_same_id
from toolfault.errors import ToolFault


#: How much of what was sent and received a finding shows, in characters.
_SHOWN: Final = 600

#: The longest error text that is not too long, in bytes.
_MAX_TEXT: Final = 8192


class Fault(NamedTuple):
    """
    What is wrong with an answer.

    Attributes:
        text: What is wrong, in one sentence.
        is_warning: Whether it could only be better.
    """

    text: str
    is_warning: bool = False


#: What a check says about one exchange: what is wrong, or None if it can't tell.
Said = list[Fault] | None


@dataclass(frozen=True)
class View:
    """
    One exchange, with what several checks ask about it.

    Attributes:
        exchange: The exchange.
        tool: The tool that was called; None: none.
        is_http: Whether the server is reached over HTTP.
    """

    exchange: Exchange
    tool: ToolSeen | None
    is_http: bool

    @property
    def kind(self) -> Kind:
        """
        Which failure was asked for.
        """
        return self.exchange.provocation.kind

    @property
    def is_raw(self) -> bool:
        """
        Whether what was sent is not a request that must be answered.
        """
        return self.exchange.provocation.raw is not None

    @cached_property
    def answer(self) -> Answer | None:
        """
        The first answer with the request's id; else the first at all.
        """
        answers = self.exchange.answers
        for one in answers:
            if is_same_id(as_object(one.value).get("id"), self.exchange.request_id):
                return one
        return answers[0] if answers else None

    @cached_property
    def message(self) -> dict[str, Any]:
        """
        The answer as a JSON object; {} if it is not one.
        """
        return {} if self.answer is None else as_object(self.answer.value)

    @cached_property
    def result(self) -> dict[str, Any]:
        """
        The result; {} if there is none.
        """
        return as_object(self.message.get("result"))

    @cached_property
    def error(self) -> dict[str, Any]:
        """
        The JSON-RPC error; {} if there is none.
        """
        return as_object(self.message.get("error"))

    @property
    def is_success(self) -> bool:
        """
        Whether the answer is a result that is not flagged as a failure.
        """
        return "result" in self.message and self.result.get("isError") is not True

    @property
    def is_failure(self) -> bool:
        """
        Whether the answer says that the call failed.
        """
        return bool(self.message) and not self.is_success

    @cached_property
    def texts(self) -> list[str]:
        """
        The texts of the answer, as a model or a person reads them.
        """
        blocks = as_array(self.result.get("content"))
        found = [as_object(block).get("text") for block in blocks]
        found.append(self.error.get("message"))
        return [text for text in found if isinstance(text, str)]

    @property
    def first_text(self) -> str:
        """
        What hosts show; "" if there is nothing.
        """
        return self.texts[0].strip() if self.texts else ""

    @cached_property
    def everything(self) -> str:
        """
        All that came, with its escapes resolved.
        """
        if not self.message:
            return "\n".join(one.raw.decode(errors="replace") for one in self.exchange.answers)
        return json.dumps({"result": self.result, "error": self.error}, ensure_ascii=False)

    @cached_property
    def fault(self) -> ToolFault | None:
        """
        The failure as toolfault's reader finds it.
        """
        if not self.is_failure:
            return None
        return parse(self.message, tool=None if self.tool is None else self.tool.name)

    @cached_property
    def structured(self) -> ToolFault | None:
        """
        The failure, if a program can read it without reading prose.
        """
        fault = self.fault
        if fault is None or fault.found_in not in _PLACES:
            return None
        if fault.found_in == "tool_failure" or is_envelope(fault.received):
            return fault
        return fault if parse_dialect(as_object(fault.received)) is not None else None

    @property
    def is_provoked_upstream(self) -> bool:
        """
        Whether the failure was asked for by a broken upstream that was used, or by the author.
        """
        if self.kind is Kind.UPSTREAM:
            return self.exchange.upstream_requests != 0
        return self.kind is Kind.AUTHOR


_PLACES: Final = frozenset({"structured_content", "meta", "tool_failure", "jsonrpc_error"})


def is_envelope(body: object) -> bool:
    """
    Tell whether a body is a whole envelope, by the strict rules of readers.
    """
    try:
        McpExecuteError.from_wire(body)
    except InvalidEnvelope:
        return False
    return True


# ---- level 1: answered


def _answers(view: View) -> Said:
    if view.is_raw or view.kind is Kind.CANCELLED:
        return None
    exchange = view.exchange
    if exchange.answers:
        return []
    if exchange.end is not None:
        return [Fault(f"There was no answer: the server {exchange.end}.")]
    return [Fault(f"There was no answer within {exchange.elapsed:.3g} seconds.")]


def _survives(view: View) -> Said:
    exchange = view.exchange
    if exchange.end is not None:
        return [Fault(f"The server {exchange.end}.")]
    if not exchange.is_alive:
        return [Fault("The server did not answer the next request.")]
    return []


def _one_answer(view: View) -> Said:
    answers = view.exchange.answers
    if view.kind is Kind.CANCELLED:
        return [Fault("An answer followed the cancellation.", is_warning=True)] if answers else []
    if view.is_raw or not answers:
        return None
    faults: list[Fault] = []
    ids = [as_object(one.value).get("id") for one in answers]
    allowed: list[object] = [view.exchange.request_id]
    if view.kind is Kind.PROTOCOL:
        # A server need not have read the id of a request that it can't take.
        allowed.append(None)
    wrong = [one for one in ids if not any(is_same_id(one, given) for given in allowed)]
    if wrong:
        faults.append(Fault(f"An answer has the id {_show(wrong[0])}, which was not asked with."))
    if len(ids) - len(wrong) > 1:
        faults.append(Fault(f"There were {len(ids) - len(wrong)} answers to one request."))
    return faults


def _show(value: object) -> str:
    return encode(value).decode()[:100]


def _stdout_clean(view: View) -> Said:
    if view.is_http:
        return None
    faults = [Fault("A line on standard output is not a message.")] if view.exchange.noise else []
    for answer in view.exchange.answers:
        faults += [Fault(text) for text in _flaws_of_json(answer.raw)]
    return faults


def _flaws_of_json(raw: bytes) -> Iterator[str]:
    """
    Yield what strict parsers refuse in a message.
    """
    constants: list[str] = []
    try:
        value = json.loads(raw.decode(), parse_constant=constants.append)
    except UnicodeDecodeError:
        yield "A message is not UTF-8."
        return
    except (ValueError, RecursionError):
        return
    if constants:
        yield f"A message holds {constants[0]}, which JSON does not have."
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        yield "A message holds a lone surrogate."


def _http_status(view: View) -> Said:
    if not view.is_http or view.answer is None or view.answer.status is None:
        return None
    name = view.exchange.provocation.id
    statuses = _STATUSES_MODERN if view.exchange.protocol >= MODERN else _STATUSES
    expected = statuses.get(name)
    status = view.answer.status
    if expected is not None and status not in expected:
        wanted = " or ".join(map(str, sorted(expected)))
        return [Fault(f"The status is {status}; the transport asks for {wanted}.")]
    if status >= 400 and not view.message:
        return [Fault(f"HTTP {status} came without a JSON-RPC error as its body.")]
    return []


#: The statuses that the transport allows in answer to a provocation.
_STATUSES: Final[Mapping[str, frozenset[int]]] = {
    "dead-session": frozenset({404}),
    "bad-version-header": frozenset({400}),
    "not-json": frozenset({400}),
}
_STATUSES_MODERN: Final[Mapping[str, frozenset[int]]] = {
    "header-mismatch": frozenset({400}),
    "not-json": frozenset({400}),
    "unknown-method": frozenset({404}),
    "version-unknown": frozenset({400}),
}


# ---- level 2: flagged


def _flagged(view: View) -> Said:
    if not view.message or view.is_raw:
        return None
    if view.is_failure:
        return []
    if view.kind is Kind.PROTOCOL:
        return _flagged_protocol(view)
    if view.kind is Kind.BAD_ARGUMENTS:
        if suspect(view.result) is None:
            return None
        return [Fault("The text says that the call failed, and the result is not flagged.")]
    if view.kind is Kind.UPSTREAM and not view.is_provoked_upstream:
        return None
    return [Fault("The call can't have worked, and its result is not flagged.")]


def _flagged_protocol(view: View) -> Said:
    if view.exchange.provocation.method == "tools/list":
        return None
    return [Fault("A request that no server can take was answered with a result.")]


def _refused(view: View) -> Said:
    if view.kind is not Kind.BAD_ARGUMENTS or not view.message:
        return None
    if view.is_failure or suspect(view.result) is not None:
        return []
    return [Fault("The tool took arguments that its schema forbids.")]


def _right_channel(view: View) -> Said:
    if view.kind is not Kind.BAD_ARGUMENTS or not view.is_failure:
        return None
    if not view.error:
        return []
    is_older = view.exchange.protocol < "2025-11-25"
    return [Fault("Bad arguments were answered with a JSON-RPC error.", is_warning=is_older)]


#: Numbers with a meaning: those of JSON-RPC, and those that the specification has assigned.
_STANDARD: Final = frozenset({-32700, -32600, -32601, -32602, -32603, -32002, -32042})
_ASSIGNED: Final = frozenset({-32020, -32021, -32022, -32023})


def _code_band(view: View) -> Said:
    if "error" not in view.message:
        return None
    code = view.error.get("code")
    if not isinstance(code, int) or isinstance(code, bool):
        return [Fault(f"The code of the JSON-RPC error is {_show(code)}, not an integer.")]
    if code in _STANDARD or code in _ASSIGNED:
        return []
    if code == 0:
        return [Fault("The code of the JSON-RPC error is 0, which says nothing.")]
    if -32019 <= code <= -32000:
        text = f"The code {code} has no agreed meaning; new servers should not use it."
        return [Fault(text, is_warning=True)]
    if -32768 <= code <= -32000:
        return [Fault(f"The code {code} is reserved, and not assigned.")]
    return []


# ---- level 3: useful and clean

#: Texts that say only that something failed.
_SAYS_NOTHING: Final = re.compile(
    r"""(?ix)
    (?: error | failed | failure | unknown\ error | internal(?:\ server)?\ error | server\ error
      | an\ (?:unexpected\ |internal\ |unknown\ )?error\ (?:has\ )?occurred
      | something\ went\ wrong | null | none | undefined | \[object\ object\] | \{\} | \[\]
      | error\ (?:executing|calling|running)\ tool\ \S{1,200}
      | [a-z_.]{1,80}(?:error|exception) | tool\ (?:call\ |execution\ )?(?:failed|error)
    )[\s.:!]*"""
)


def _says_something(view: View) -> Said:
    if not view.is_failure or view.is_raw or view.kind is Kind.PROTOCOL:
        return None
    text = view.first_text
    if not text:
        return [Fault("The first text is empty.")]
    if _SAYS_NOTHING.fullmatch(text[:500]):
        return [Fault("The first text says only that something failed.")]
    if view.kind is Kind.BAD_ARGUMENTS and not _names_argument(view):
        return [Fault("The first text does not name the argument at fault.")]
    return []


def _names_argument(view: View) -> bool:
    names = {view.exchange.provocation.expected.argument}
    if view.tool is not None:
        names.update(as_object(as_object(view.tool.listed.get("inputSchema")).get("properties")))
    text = view.first_text
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names if name)


def _no_echo(view: View) -> Said:
    secret = view.exchange.provocation.expected.secret
    if secret is None or not view.exchange.answers:
        return None
    if secret in view.everything:
        return [Fault("The secret in the request came back in the answer.")]
    return []


@cache
def _redactor() -> Redactor:
    return Redactor(environ={}, roots=())


def _no_secret(view: View) -> Said:
    if not view.is_failure:
        return None
    text = _without_sent(view)
    if _redactor().redact(text) != text:
        return [Fault("The answer holds what looks like a token, a password or a login in a URL.")]
    return []


def _without_sent(view: View) -> str:
    """
    Return all texts of the answer, without a planted secret, which has a check of its own.
    """
    secret = view.exchange.provocation.expected.secret
    text = "\n".join(view.texts)
    return text.replace(secret, "") if secret else text


_TRACE: Final = re.compile(
    r"""(?x)
    Traceback\ \(most\ recent\ call\ last\)
    | ^\s*File\ "[^"\n]{1,500}",\ line\ \d
    | ^\s{1,8}at\ [^\n(]{0,200}\([^\n()]{1,300}:\d{1,7}(?::\d{1,7})?\)
    | ^\s{1,8}at\ (?:file://|/|node:)[^\n]{1,300}:\d{1,7}:\d{1,7}
    | ^goroutine\ \d{1,9}\ \[
    | ^\s{0,8}\d{1,4}:\ +0x[0-9a-f]{6,16}\ -
    | stack\ backtrace:""",
    re.MULTILINE,
)


def _no_trace(view: View) -> Said:
    if not view.is_failure:
        return None
    if _TRACE.search("\n".join(view.texts)):
        return [Fault("The text holds a traceback.")]
    return []


_PATH: Final = re.compile(
    r"(?<![\w/:.~-])/(?:home|Users|root|usr|opt|srv|var|app|tmp|private|Library|workspace|mnt|data)"
    r"/[^\s\"'<>:,;()]{2,300}"
    r"|(?<![\w])[A-Za-z]:\\(?:[^\s\"'<>:]{1,200}\\)+"
    r"|\bfile:///[^\s\"'<>]{3,300}"
)


def _no_path(view: View) -> Said:
    if not view.is_failure:
        return None
    sent = _show_sent(view)
    for found in _PATH.finditer(_without_sent(view)):
        if found[0] not in sent:
            return [Fault("The text holds an absolute path of the server's machine.")]
    return []


_MARKUP: Final = re.compile(r"(?i)<!doctype html|<html[\s>]|<head[\s>]|<body[\s>]|<script[\s>]")
_CONTROL: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069]"
)


def _no_markup(view: View) -> Said:
    if not view.is_failure:
        return None
    text = "\n".join(view.texts)
    faults: list[Fault] = []
    if _MARKUP.search(text):
        faults.append(Fault("The text holds an HTML page."))
    if _CONTROL.search(text):
        faults.append(Fault("The text holds control or invisible characters."))
    size = len(text.encode(errors="replace"))
    if size > _MAX_TEXT:
        faults.append(Fault(f"The text has {size} bytes; more than {_MAX_TEXT} fill a context."))
    return faults


def _honest_cause(view: View) -> Said:
    codes = view.exchange.provocation.expected.codes
    if not codes or not view.is_provoked_upstream or not view.message:
        return None
    if view.is_success:
        return [Fault("The call looks like a success.")]
    code = McpErrorCode.UNKNOWN if view.fault is None else view.fault.code
    if code in codes:
        return []
    wanted = " or ".join(sorted(codes))
    return [Fault(f"The failure reads as {code}; it was {wanted}.")]


# ---- level 4: machine-readable


def _structured(view: View) -> Said:
    if not view.is_failure or view.is_raw or view.kind is Kind.PROTOCOL:
        return None
    if view.structured is not None:
        return []
    if view.error.get("code") in _ASSIGNED:
        # The transport refused the request before it knew of a tool.
        return None
    if view.kind is Kind.UNKNOWN_TOOL and view.error.get("code") == -32602:
        # The specification's own way to say it.
        return None
    return [Fault("There is no envelope in structuredContent, _meta or the error's data.")]


def _envelope_valid(view: View) -> Said:
    body = _find_envelope(view)
    if body is None:
        return None
    faults: list[Fault] = []
    try:
        envelope = McpExecuteError.from_wire(body)
    except InvalidEnvelope as exc:
        return [Fault(f"The envelope is not valid: {str(exc)[:200]}")]
    if view.texts and not view.first_text.startswith(envelope.message.strip()):
        faults.append(Fault("The envelope's message is not the first text."))
    return faults


def _find_envelope(view: View) -> dict[str, Any] | None:
    """
    Return what stands where an envelope stands, whether it is valid or not.
    """
    meta = as_object(as_object(view.result.get("_meta")).get(META_KEY))
    data = as_object(view.error.get("data"))
    for body in (
        view.result.get("structuredContent"),
        meta.get("error"),
        as_object(data.get(META_KEY)).get("error"),
    ):
        if is_object(body) and {"code", "message"} <= body.keys() and view.is_failure:
            return body
    return None


def _strict_client(view: View) -> Said:
    if not view.is_failure or view.error or view.tool is None:
        return None
    content = view.result.get("structuredContent")
    schema = view.tool.listed.get("outputSchema")
    if content is None or not is_object(schema):
        return []
    if BoundedValidator(schema, is_checked=False, is_lenient=True).fits(content) is False:
        return [Fault("structuredContent of the error does not match the tool's output schema.")]
    return []


def _retry_advice(view: View) -> Said:
    expected = view.exchange.provocation.expected
    if expected.is_transient is None or not view.is_failure:
        return None
    fault = view.structured
    if fault is None:
        return [Fault("Nothing says whether to repeat the call.")] if _must_advise(view) else None
    faults: list[Fault] = []
    if fault.retryable != expected.is_transient:
        says = "retryable" if fault.retryable else "not retryable"
        faults.append(Fault(f"The failure is marked {says}, and it is not."))
    if expected.wait is not None and fault.retry_after_seconds != expected.wait:
        faults.append(
            Fault(
                f"The upstream asked for {expected.wait} seconds, and the failure does not say so."
            )
        )
    return faults if faults or _must_advise(view) else None


def _must_advise(view: View) -> bool:
    # Only a failure that may pass shows whether the advice is right.
    return view.is_provoked_upstream


# ---- the table

_CHECKS: Final[Mapping[str, Callable[[View], Said]]] = {
    "answers": _answers,
    "survives": _survives,
    "one-answer": _one_answer,
    "stdout-clean": _stdout_clean,
    "http-status": _http_status,
    "flagged": _flagged,
    "refused": _refused,
    "right-channel": _right_channel,
    "code-band": _code_band,
    "says-something": _says_something,
    "no-echo": _no_echo,
    "no-secret": _no_secret,
    "no-trace": _no_trace,
    "no-path": _no_path,
    "no-markup": _no_markup,
    "honest-cause": _honest_cause,
    "structured": _structured,
    "envelope-valid": _envelope_valid,
    "strict-client": _strict_client,
    "retry-advice": _retry_advice,
}

#: Checks about more than one answer.
_OVER_ALL: Final = frozenset({"same-twice", "declared", "hints"})


def judge(exchange: Exchange, tool: ToolSeen | None, *, is_http: bool) -> tuple[CheckResult, ...]:
    """
    Return what one exchange says about each check that it can tell about.

    Args:
        exchange: The exchange.
        tool: The tool that was called.
        is_http: Whether the server is reached over HTTP.
    """
    view = View(exchange, tool, is_http)
    return tuple(_iter_results(view))


def _iter_results(view: View) -> Iterator[CheckResult]:
    name = None if view.tool is None else view.tool.name
    for check, look in _CHECKS.items():
        said = look(view)
        if said is not None:
            yield _make_result(check, name, view, said)


def _make_result(check: str, tool: str | None, view: View, said: Sequence[Fault]) -> CheckResult:
    outcome = Outcome.PASS
    if said:
        is_warning = all(fault.is_warning for fault in said)
        outcome = Outcome.WARN if is_warning else Outcome.FAIL
    findings = tuple(_make_finding(view, fault) for fault in said)
    return CheckResult(check, tool, outcome, findings=findings, provoked=1)


def _make_finding(view: View, fault: Fault) -> Finding:
    answer = view.answer
    received = "" if answer is None else answer.raw.decode(errors="replace")
    if view.exchange.noise and answer is None:
        received = view.exchange.noise[0].decode(errors="replace")
    return Finding(
        view.exchange.provocation.id, _shorten(_show_sent(view)), _shorten(received), fault.text
    )


def _show_sent(view: View) -> str:
    provocation = view.exchange.provocation
    if provocation.raw is not None:
        return provocation.raw.decode(errors="replace")
    sent = {"method": provocation.method, "params": provocation.params}
    return encode(sent).decode()


def _shorten(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]}… ({len(text)} characters)"


# ---- checks over several answers


def judge_all(
    exchanges: Iterable[Exchange],
    tools: Sequence[ToolSeen],
    *,
    is_http: bool,
    reasons: Mapping[str, str] | None = None,
) -> tuple[CheckResult, ...]:
    """
    Return one result per check and tool, those that were not provoked included.

    Args:
        exchanges: All exchanges.
        tools: The tools that the server lists.
        is_http: Whether the server is reached over HTTP.
        reasons: Why a tool, by name, or a check, by id, was not provoked.
    """
    by_name = {tool.name: tool for tool in tools}
    listed = tuple(exchanges)
    found: list[CheckResult] = []
    views: list[View] = []
    for exchange in listed:
        tool = by_name.get(exchange.provocation.tool or "")
        view = View(exchange, tool, is_http)
        views.append(view)
        found += _iter_results(view)
    found += _iter_same_twice(views)
    found += _iter_declared(views, tools)
    found += _iter_hints(tools)
    return merge((*found, *_iter_not_provoked(found, tools, reasons or {}, is_http=is_http)))


def _iter_same_twice(views: Sequence[View]) -> Iterator[CheckResult]:
    firsts = {view.exchange.provocation.id: view for view in views if view.message}
    for view in views:
        name, _, again = view.exchange.provocation.id.rpartition(":")
        first = firsts.get(_first_of(name)) if again == "again" else None
        if first is None or not first.is_failure or not view.is_failure:
            continue
        if first.exchange.provocation.tool != view.exchange.provocation.tool:
            continue
        said: list[Fault] = []
        if _identify(first) != _identify(view):
            said.append(Fault("The same call failed with another code the second time."))
        yield _make_result("same-twice", None if view.tool is None else view.tool.name, view, said)


def _first_of(name: str) -> str:
    return "unknown-tool:plain" if name == "unknown-tool" else name


def _identify(view: View) -> object:
    """
    Return what a program would branch on.
    """
    if view.structured is not None:
        return view.structured.code
    return view.error.get("code", view.first_text)


def _iter_declared(views: Sequence[View], tools: Sequence[ToolSeen]) -> Iterator[CheckResult]:
    for tool in tools:
        of_tool = [view for view in views if view.tool is tool and view.is_failure]
        declared = declared_codes(tool)
        if not of_tool:
            continue
        view = of_tool[0]
        if not declared:
            fault = Fault("The tool does not declare the codes that it fails with.")
            yield _make_result("declared", tool.name, view, [fault])
            continue
        for view in of_tool:
            code = None if view.structured is None else view.structured.code
            said: list[Fault] = []
            if code is not None and code not in declared | _OF_EVERY_TOOL:
                said.append(Fault(f"The tool failed with {code}, which it does not declare."))
            yield _make_result("declared", tool.name, view, said)


#: Codes that the server answers with before a tool runs.
_OF_EVERY_TOOL: Final = frozenset({McpErrorCode.INVALID_ARGUMENTS, McpErrorCode.TOOL_NOT_FOUND})


def declared_codes(tool: ToolSeen) -> frozenset[str]:
    """
    Return the codes that a listed tool declares.
    """
    ours = as_object(as_object(tool.listed.get("_meta")).get(META_KEY))
    return frozenset(code for code in as_array(ours.get("fails_with")) if isinstance(code, str))


def _iter_hints(tools: Sequence[ToolSeen]) -> Iterator[CheckResult]:
    for tool in tools:
        hints = as_object(tool.listed.get("annotations"))
        missing = [name for name in ("readOnlyHint", "idempotentHint") if name not in hints]
        if hints.get("readOnlyHint") is True or not missing:
            yield CheckResult("hints", tool.name, Outcome.PASS, provoked=1)
            continue
        fault = f"The tool has no {' and no '.join(missing)}."
        sent = encode({"method": "tools/list"}).decode()
        finding = Finding("listing", sent, _shorten(_show(hints or None)), fault)
        yield CheckResult("hints", tool.name, Outcome.WARN, findings=(finding,), provoked=1)


#: Checks that a provocation of a tool can tell about, and those of the whole server.
_OF_TOOLS: Final = frozenset(
    {"refused", "right-channel", "strict-client", "honest-cause", "retry-advice", "declared"}
)


def _iter_not_provoked(
    found: Sequence[CheckResult],
    tools: Sequence[ToolSeen],
    reasons: Mapping[str, str],
    *,
    is_http: bool,
) -> Iterator[CheckResult]:
    """
    Yield a row for each tool that was not called, and for each check that nothing told about.
    """
    provoked = {result.check for result in found}
    seen = {(result.check, result.tool) for result in found}
    for check in CHECKS:
        if check.id == ("stdout-clean" if is_http else "http-status"):
            continue
        if check.id in _OF_TOOLS:
            for tool in tools:
                if (check.id, tool.name) not in seen:
                    reason = reasons.get(check.id) or reasons.get(tool.name) or tool.reason
                    yield CheckResult(
                        check.id, tool.name, Outcome.NOT_PROVOKED, reason or _NOTHING_SENT
                    )
        if check.id not in provoked and (check.id not in _OF_TOOLS or not tools):
            reason = reasons.get(check.id) or _NOTHING_TOLD
            yield CheckResult(check.id, None, Outcome.NOT_PROVOKED, reason)


_NOTHING_SENT: Final = "Nothing that was sent to the tool could tell."
_NOTHING_TOLD: Final = "No answer could tell."
