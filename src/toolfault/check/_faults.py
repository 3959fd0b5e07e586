"""
What is wrong with one answer: one function for each check.

Rule 1: a function returns None where an answer can't tell, so that nothing passes unprovoked.
Rule 2: a fault states the fact only; why it matters and how to mend it stand in `CHECKS`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._envelope import InvalidEnvelope, McpExecuteError
from toolfault._redact import Redactor
from toolfault._redact.values import redact_member
from toolfault._schema.bounded import BoundedValidator
from toolfault.check._model import Answer, Expected, Kind
from toolfault.check._provocations import TWO_IDS
from toolfault.check._view import View, holds_piece, names_argument
from toolfault.check._wire import MODERN, as_object, encode, is_object, is_same_id
from toolfault.errors import ToolFault


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


# ---- level 1: answered


def _answers(view: View) -> Said:
    if view.is_raw or view.kind is Kind.CANCELLED:
        return None
    exchange = view.exchange
    if any(_ends_the_wait(view, answer) for answer in exchange.answers):
        return []
    if exchange.answers:
        return [Fault("No answer has the id of the request.")]
    if exchange.end is not None:
        return [Fault(f"There was no answer: the server {exchange.end}.")]
    return [Fault(f"There was no answer within {exchange.elapsed:.3g} seconds.")]


def _ends_the_wait(view: View, answer: Answer) -> bool:
    """
    Tell whether a client knows by an answer that its request has come to an end.
    """
    is_http_error = answer.status is not None and answer.status >= 400
    return is_http_error or _has_known_id(view, as_object(answer.value))


def _has_known_id(view: View, message: Mapping[str, Any]) -> bool:
    given = message.get("id")
    if given is None and "error" in message and view.kind is Kind.PROTOCOL:
        # A server need not have read the id of a request that it can't take.
        return True
    return is_same_id(given, view.exchange.request_id)


def _survives(view: View) -> Said:
    exchange = view.exchange
    if exchange.end is not None:
        return [Fault(f"The server {exchange.end}.")]
    if not exchange.is_alive:
        return [Fault("The server did not answer the next request.")]
    return []


def _one_answer(view: View) -> Said:
    if view.kind is Kind.CANCELLED:
        return _none_after_cancel(view)
    if view.exchange.provocation.id == "two-at-once":
        return _one_answer_each(view)
    answers = [as_object(one.value) for one in view.exchange.answers]
    if view.is_raw or not answers:
        return None
    return list(_iter_faults_of_answers(view, answers))


def _iter_faults_of_answers(view: View, answers: list[dict[str, Any]]) -> Iterator[Fault]:
    wrong = [one for one in answers if one and not _has_known_id(view, one)]
    if wrong:
        given = show(wrong[0].get("id"))
        yield Fault(f"An answer has the id {given}, which was not asked with.")
    known = sum(_has_known_id(view, one) for one in answers)
    if known > 1:
        yield Fault(f"There were {known} answers to one request.")
    if any({"result", "error"} <= one.keys() for one in answers):
        yield Fault("An answer has both a result and an error.")


def _one_answer_each(view: View) -> Said:
    found = [as_object(one.value).get("id") for one in view.exchange.answers]
    if any(one not in TWO_IDS for one in found):
        return [Fault("One of two calls at once was answered with an id that was not sent.")]
    if len(set(found)) < len(found):
        return [Fault("One of two calls at once was answered twice.")]
    # Of a server that is slow, the second may still be under way.
    return [] if len(found) == len(TWO_IDS) else None


_CANCELLED: Final = re.compile(r"(?i)\bcancell?ed\b")


def _none_after_cancel(view: View) -> Said:
    if not view.exchange.is_cancelled:
        # It was answered before.
        return None
    if not view.exchange.answers:
        return []
    speaks_of_it = any(_CANCELLED.search(text[:1000]) for text in view.texts)
    if speaks_of_it or view.is_from_outside:
        return [Fault("An answer followed the cancellation.")]
    # The answer may have been under way already.
    return None


def _stdout_clean(view: View) -> Said:
    if view.is_http:
        return None
    faults = [Fault("A line on standard output is not a message.")] if view.exchange.noise else []
    # A server that hands back what no server should be sent is not the first to be at fault.
    has_sent_it = b"\\ud8" in (view.exchange.provocation.raw or b"")
    for answer in view.exchange.answers:
        flaws = _flaws_of_json(answer.raw)
        faults += [Fault(text, is_warning=has_sent_it and text == _LONE) for text in flaws]
    return faults


_LONE: Final = "A message holds a lone surrogate."


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
        yield _LONE


def _http_status(view: View) -> Said:
    if not view.is_http or view.answer is None or view.answer.status is None:
        return None
    statuses = _STATUSES_MODERN if view.exchange.protocol >= MODERN else _STATUSES
    expected = statuses.get(view.exchange.provocation.id)
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
    if not view.message or view.is_raw or view.kind is Kind.CANCELLED:
        return None
    if view.is_failure:
        return []
    if view.is_misspelled:
        flag = show(view.result.get("isError"))
        return [Fault(f"isError is {flag}; only the value true flags a failure.")]
    return _flagged_success(view)


def _flagged_success(view: View) -> Said:
    """
    Judge a result that is not flagged, by what was asked for.
    """
    if view.kind is Kind.BAD_ARGUMENTS:
        if not view.is_suspect:
            return None
        return [Fault("The text says that the call failed, and the result is not flagged.")]
    if view.kind is Kind.PROTOCOL:
        # Servers may ignore cursors and versions that they do not know.
        is_listing = view.exchange.provocation.method == "tools/list"
        text = "A request that no server can take was answered with a result."
        return None if is_listing else [Fault(text)]
    if view.kind is Kind.AUTHOR and view.is_from_outside:
        return [Fault("The call was expected to fail, and its result is not flagged.")]
    if view.kind is Kind.UNKNOWN_TOOL or view.is_from_outside:
        return [Fault("The call can't have worked, and its result is not flagged.")]
    return None


def _refused(view: View) -> Said:
    if view.kind is not Kind.BAD_ARGUMENTS or not view.message:
        return None
    if view.is_failure or view.is_suspect:
        return []
    return [Fault("The tool took arguments that its schema forbids.")]


#: Since this revision bad arguments are answered with a result.
_RESULTS_SINCE: Final = "2025-11-25"


def _right_channel(view: View) -> Said:
    if not view.is_failure or view.error_code in _ASSIGNED:
        # The transport, or the protocol, refused the request before it knew of a tool.
        return None
    if view.kind is Kind.BAD_ARGUMENTS:
        is_older = view.exchange.protocol < _RESULTS_SINCE
        text = "Bad arguments were answered with a JSON-RPC error."
        return [Fault(text, is_warning=is_older)] if view.error else []
    if view.is_from_outside and view.tool is not None:
        text = "A failure inside the tool was answered with a JSON-RPC error."
        return [Fault(text)] if view.error else []
    return None


#: Numbers with a meaning: those of JSON-RPC, and those that the specification has assigned.
_STANDARD: Final = frozenset({-32700, -32600, -32601, -32602, -32603, -32002})
_ASSIGNED: Final = frozenset({-32020, -32021, -32022, -32023, -32042})


def _code_band(view: View) -> Said:
    if "error" not in view.message:
        return None
    code = view.error_code
    if code is None:
        said = show(view.error.get("code"))
        return [Fault(f"The code of the JSON-RPC error is {said}, not an integer.")]
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

#: What stands before the text of an exception.
_CLASS_BEFORE: Final = re.compile(r"^(?:[\w.]{0,80}(?:Error|Exception))\s*:\s*")
_WORD: Final = re.compile(r"[^\W_][\w'-]*")


def _says_something(view: View) -> Said:
    if not view.is_failure or not view.is_of_a_call:
        return None
    text = view.first_text
    if not text:
        return [Fault("The first text is empty.")]
    if _SAYS_NOTHING.fullmatch(text[:500]):
        return [Fault("The first text says only that something failed.")]
    if view.kind is not Kind.BAD_ARGUMENTS:
        return []
    if text.isascii() and len(_WORD.findall(_CLASS_BEFORE.sub("", text[:500]))) < 2:
        return [Fault("The first text is a single word.")]
    if not any(names_argument(text, name) for name in _arguments(view)):
        return [Fault("The first text does not name the argument at fault.")]
    return []


def _arguments(view: View) -> set[str]:
    """
    Return the names of a tool's arguments: any of them may be the one that the server looked at.
    """
    names = {view.exchange.provocation.expected.argument or ""}
    if view.tool is not None:
        schema = as_object(view.tool.listed.get("inputSchema"))
        names.update(map(str, as_object(schema.get("properties"))))
    return names


def _no_echo(view: View) -> Said:
    secret = view.exchange.provocation.expected.secret
    if secret is None or not view.exchange.answers:
        return None
    if any(holds_piece(text, secret) for _, text in view.strings):
        text = "The secret in the request came back in the answer."
        return [Fault(text, is_warning=_quotes_name(view))]
    return []


def _quotes_name(view: View) -> bool:
    """
    Tell whether what came back may be the name of a tool; the specification's example quotes it.
    """
    return view.kind is Kind.UNKNOWN_TOOL


@cache
def _redactor() -> Redactor:
    return Redactor(environ={}, roots=())


def _no_secret(view: View) -> Said:
    if not view.shows_failure:
        return None
    redact = _redactor().redact
    for name, text in view.foreign_strings:
        if redact_member(name, text, redact) != text:
            return [
                Fault("The answer holds what looks like a token, a password or a login in a URL.")
            ]
    return []


#: The beginning of a line, also where line breaks are written as escapes.
_LINE: Final = r"(?:^|\\n)"

_TRACE: Final = re.compile(
    rf"""(?x)
    Traceback\ \(most\ recent\ call\ last\)
    | {_LINE}[\ \t]{{0,40}}File\ \\?"[^"\n]{{1,500}}",\ line\ \d
    | {_LINE}\s{{1,8}}at\ [^\n(]{{0,200}}\([^\n()]{{1,300}}:\d{{1,7}}(?::\d{{1,7}})?\)
    | {_LINE}\s{{1,8}}at\ (?:async\ )?(?:file://|/|node:)[^\n]{{1,300}}:\d{{1,7}}:\d{{1,7}}
    | {_LINE}\s{{1,8}}at\ [^\n]{{1,300}}\ in\ [^\n]{{1,300}}:line\ \d
    | {_LINE}\s{{0,8}}from\ [^\n:]{{1,300}}\.rb:\d{{1,7}}:in\ [`']
    | {_LINE}\#\d{{1,3}}\ [^\n(]{{1,300}}\.php\(\d{{1,7}}\)
    | {_LINE}goroutine\ \d{{1,9}}\ \[
    | {_LINE}\s{{0,8}}\d{{1,4}}:\ +0x[0-9a-f]{{6,16}}\ -
    | stack\ backtrace:""",
    re.MULTILINE,
)


def _no_trace(view: View) -> Said:
    if not view.shows_failure:
        return None
    if any(_TRACE.search(text) for _, text in view.strings):
        return [Fault("The answer holds a traceback.")]
    return []


#: Folders that only a machine has; folders that routes of an HTTP API are named after, too, count
#: with a file of code in them.
_PATH: Final = re.compile(
    r"""(?x)
    (?<![\w/:.~-])/(?:home|Users|root|usr|opt|srv|var|tmp|private|Library|nix/store)
      /[^\s"'<>:,;()]{2,300}
    | (?<![\w/:.~-])/(?:app|data|workspace|mnt|code|build|work|src|github|dist|layers)
      /[^\s"'<>:,;()]{0,300}\.(?:py|js|mjs|cjs|ts|go|rs|rb|php|java|cs|so|json|toml|ya?ml|db|sqlite|env)\b
    | (?<!\w)[A-Za-z]:\\(?:[^\s"'<>:]{1,200}\\)+
    | \bfile:///[^\s"'<>]{3,300}"""
)


def _no_path(view: View) -> Said:
    if not view.shows_failure:
        return None
    for _, text in view.foreign_strings:
        for found in _PATH.finditer(text):
            if found[0] not in view.sent:
                return [Fault("The answer holds an absolute path of the server's machine.")]
    return []


_MARKUP: Final = re.compile(
    # A parser that quotes the beginning of a page does not send the page.
    r"(?i)<!doctype html|<html[^<>]{0,200}>\s*<(?:head|body)[\s>]|<body[\s>]|<script[\s>]"
    r"|</(?:html|head|body|title|h[1-6]|p|div|span|center|script|style)>"
)
_CONTROL: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def _no_markup(view: View) -> Said:
    if not view.shows_failure:
        return None
    text = "\n".join(view.texts)
    faults: list[Fault] = []
    if _MARKUP.search(text):
        faults.append(Fault("The text holds HTML."))
    is_name = _quotes_name(view)
    if _CONTROL.search(text):
        faults.append(Fault("The text holds control or invisible characters.", is_name))
    size = len(text.encode(errors="replace"))
    if size > _MAX_TEXT:
        faults.append(Fault(f"The text has {size} bytes; {_MAX_TEXT} should be enough.", is_name))
    return faults


def _honest_cause(view: View) -> Said:
    codes = view.exchange.provocation.expected.codes
    if not codes or not view.is_from_outside or not view.message or view.kind is Kind.CANCELLED:
        return None
    # That a failure is not flagged is another check's business.
    fault = view.suspicion if view.is_success else view.fault
    if fault is None and view.is_success:
        return [Fault("The call looks like a success.")]
    code = McpErrorCode.UNKNOWN if fault is None else fault.code
    if code in codes:
        return []
    wanted = " or ".join(sorted(codes))
    return [Fault(f"The failure reads as {code}; it was {wanted}.")]


# ---- level 4: machine-readable


def _structured(view: View) -> Said:
    if not view.is_failure or not view.is_of_a_call:
        return None
    if view.structured is not None:
        return []
    if view.error_code in _ASSIGNED:
        return None
    if view.kind is Kind.UNKNOWN_TOOL and view.error_code == -32602:
        # The specification's own way to say it.
        return None
    return [Fault("There is no envelope in structuredContent, _meta or the error's data.")]


def _envelope_valid(view: View) -> Said:
    body = view.envelope
    if body is None:
        return None
    flaw = describe_flaw(body)
    if flaw:
        return [Fault(f"The envelope is not valid: {flaw}.")]
    if view.texts and not view.first_text.startswith(str(body["message"]).strip()):
        return [Fault("The envelope's message is not the first text.")]
    return []


_CODES: Final = frozenset(code.value for code in McpErrorCode)
_CATEGORIES: Final = frozenset(category.value for category in McpErrorCategory)


def describe_flaw(body: Mapping[str, Any]) -> str:
    """
    Return what the schema or the contract refuses in an envelope; "" if there is nothing.

    Args:
        body: The envelope.
    """
    try:
        McpExecuteError.from_wire(body)
    except InvalidEnvelope as exc:
        return str(exc)[:200]
    for name, known in (("code", _CODES), ("category", _CATEGORIES)):
        if body[name] not in known:
            return f"the {name} {show(body[name])} is unknown"
    extra = sorted(body.keys() - McpExecuteError.model_fields.keys())
    if extra:
        return f"it has a member {show(extra[0])}"
    is_limit = body["code"] == McpErrorCode.QUOTA_EXCEEDED
    if body.get("retry_after_seconds") is not None and not body["retryable"] and not is_limit:
        return "it names a wait, and is not retryable"
    return ""


def _strict_client(view: View) -> Said:
    if not view.is_failure or view.error or view.tool is None:
        return None
    content = view.result.get("structuredContent")
    schema = view.tool.listed.get("outputSchema")
    if content is None or not is_object(schema):
        return []
    fits = BoundedValidator(schema, is_checked=False, is_lenient=True).fits(content)
    if fits is None:
        return None
    text = "structuredContent of the error does not match the tool's output schema."
    return [] if fits else [Fault(text)]


def _retry_advice(view: View) -> Said:
    expected = view.exchange.provocation.expected
    if expected.is_transient is None or not view.is_failure:
        return None
    # Only a failure of an upstream, or the author's word, shows that good advice is no accident.
    is_telling = view.is_from_outside and view.kind is not Kind.CANCELLED
    fault = view.structured
    if fault is None:
        return [Fault("Nothing says whether to repeat the call.")] if is_telling else None
    faults = list(_iter_wrong_advice(fault, expected))
    return faults if faults or is_telling else None


def _iter_wrong_advice(fault: ToolFault, expected: Expected) -> Iterator[Fault]:
    if fault.retryable != expected.is_transient:
        says = "retryable" if fault.retryable else "not retryable"
        is_so = "may pass" if expected.is_transient else "will not pass"
        yield Fault(f"The failure is marked {says}, and it {is_so} by itself.")
    wait = fault.retry_after_seconds
    if expected.wait is not None and (wait is None or wait < expected.wait):
        says = "names no wait" if wait is None else f"asks for {wait}"
        yield Fault(f"The upstream asked for {expected.wait} seconds; the failure {says}.")


def show(value: object) -> str:
    """
    Return a JSON value as text, shortened.
    """
    return encode(value).decode()[:100]


#: The checks of one answer, in the order of their levels.
FUNCTIONS: Final[Mapping[str, Callable[[View], Said]]] = {
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
