"""
What holds of the reader for anything at all: it answers, within its caps, and undoes the writer.
"""

import json
import math
from collections.abc import Mapping
from types import SimpleNamespace

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mcp.types import CallToolResult

from toolfault import McpErrorCategory, McpErrorCode, McpExecuteError, ToolFault, parse, suspect
from toolfault._codes import DEFAULTS
from toolfault._envelope import MAX_RETRY_AFTER_SECONDS
from toolfault._meanings.sentences import inert
from toolfault._meanings.words import meaning_of
from toolfault._names import META_KEY, TOOL_FAILURE_KEY
from toolfault._sanitize import MAX_CAUSES, sanitize
from toolfault._text import CAUSE_BYTES, HINT_BYTES, MESSAGE_BYTES
from toolfault._wire import Guidance, to_result
from toolfault.hooks import Attempt
from toolfault.hosting import model_text


# ---- anything


#: The members that mean something somewhere, so that chance finds the reader's branches.
NAMES = st.sampled_from(
    [
        *("code", "message", "category", "retryable", "retry_after_seconds", "hint", "cause_chain", "retry_after"),
        *("isError", "is_error", "content", "structuredContent", "structured_content", "_meta", "meta", "text", "type"),
        *("error", "errors", "result", "data", "status", "task", "taskId", "statusMessage", "details", "recovery"),
        *("error_category", "errorCategory", "isRetryable", "error_code", "http_status", "retry_after_ms", "detail"),
        *("class", "correlationId", "retryNotBefore", "agentGuidance", "outcome", "origin", "violations", "id"),
        *("tool_call_id", "toolUseId", "artifact", "outcome", "part_kind", "raw_output", "tool_name", "name"),
        *("metadata", "images", "call_id", "exception", "reason", "stack", "tool_output", META_KEY, TOOL_FAILURE_KEY),
    ]
)
WORDS = st.sampled_from(
    [
        *McpErrorCode,
        *McpErrorCategory,
        *("error", "failed", "completed", "retried", "retry-prompt", "true", "30", "-1", "RATE_LIMITED", "ValueError"),
        *("Error: timed out", "MCP error -32001: no", '{"error": {"code": "x"}}', "{", "[", "\ud800", "\x1b[31m\u202e"),
        *("meta=None content=[TextContent(text='x')] isError=True", "Error from MCP tool 'a': no", "reliability"),
    ]
)
TEXT = st.text(max_size=40) | WORDS
NUMBERS = st.integers() | st.floats() | st.sampled_from([429, -32602, -32001, 408, 10**400, -1, math.nan, math.inf])
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | TEXT, inner, max_size=8),
    max_leaves=30,
)


def within_caps(fault):
    envelope = fault.envelope
    assert McpExecuteError.from_wire(envelope.to_wire()) == envelope
    assert 0 < len(envelope.message.encode()) <= MESSAGE_BYTES
    assert envelope.hint is None or 0 < len(envelope.hint.encode()) <= HINT_BYTES
    assert len(envelope.cause_chain) <= MAX_CAUSES
    assert all(len(cause.encode()) <= CAUSE_BYTES for cause in envelope.cause_chain)
    assert envelope.retry_after_seconds is None or 0 <= envelope.retry_after_seconds <= MAX_RETRY_AFTER_SECONDS
    assert fault.outcome in {None, "not_executed", "unknown", "executed"}
    assert len(json.dumps(fault.facts)) < 256 * 1024
    assert repr(fault).encode()
    return True


@given(JSON.filter(lambda value: not isinstance(value, int | float)))
def test_anything_is_read(value):
    fault, doubt = parse(value), suspect(value)

    assert fault is None or within_caps(fault)
    assert doubt is None or within_caps(doubt)
    assert fault is None or doubt is None
    assert fault == parse(value)


@given(st.dictionaries(NAMES, JSON, max_size=10))
def test_an_object_is_read_like_a_dict(members):
    fault, doubt = parse(SimpleNamespace(**members)), suspect(SimpleNamespace(**members))

    assert fault is None or within_caps(fault)
    assert doubt is None or within_caps(doubt)


@given(st.dictionaries(NAMES, JSON, max_size=10))
def test_a_flag_is_a_failure_whatever_stands_beside_it(members):
    members = {name: value for name, value in members.items() if name not in {"is_error", "toolUseId"}}
    asked = members.get("resultType") or members.get("result_type")

    assert within_caps(parse({**members, "isError": True})) or asked == "input_required"


@given(st.text() | JSON.map(repr) | JSON.map(str))
def test_any_exception_is_a_failure(text):
    for exc in (RuntimeError(text), ExceptionGroup("g", [ValueError(text), RuntimeError(text)])):
        assert within_caps(parse(exc))


@given(st.lists(TEXT | JSON, max_size=4))
def test_any_arguments_of_an_exception_are_read(arguments):
    assert within_caps(parse(RuntimeError(*arguments)))


@given(JSON, TEXT | st.none(), st.none() | st.dictionaries(TEXT, JSON, max_size=4))
def test_what_is_known_of_the_call_never_breaks_reading(value, tool, arguments):
    answer = {"isError": True, "content": value, "structuredContent": value}

    assert within_caps(parse(answer, tool=tool, arguments=arguments))


@given(code=st.integers(), message=TEXT, data=JSON)
def test_any_jsonrpc_error_is_a_failure(code, message, data):
    error = {"code": code, "message": message, "data": data}

    assert within_caps(parse({"jsonrpc": "2.0", "id": 1, "error": error}))
    assert within_caps(parse({"taskId": "t", "status": "failed", "error": error}))


@given(st.dictionaries(NAMES, JSON, max_size=8), st.sampled_from([*McpErrorCode]))
def test_a_claim_that_makes_no_sense_is_dropped_alone(members, code):
    answer = {"isError": True, "content": [], "structuredContent": {**members, "code": code.value, "message": "plain"}}
    inner = [members.get(name) for name in ("error", "errors", "error_verdict", "result")]

    fault = parse(answer)

    # What stands inside may say it better; nothing beside it takes the code away.
    assert fault.code is code or any(isinstance(value, dict | list | str) and value for value in inner)


# ---- hostile objects


class Raises:
    """
    An object that raises, whatever it is asked.
    """

    def __init__(self, kind):
        self.kind = kind

    def _raise(self, *_):
        raise object.__getattribute__(self, "kind")("no")

    def __getattribute__(self, name):
        object.__getattribute__(self, "_raise")()

    __eq__ = __hash__ = __iter__ = __len__ = __bool__ = __str__ = __repr__ = __contains__ = __getitem__ = _raise


class Odd(Mapping):
    """
    A mapping of which each method may raise.
    """

    def __init__(self, members, broken):
        self._members, self._broken = members, broken

    def _do(self, name):
        if name in self._broken:
            raise RuntimeError(name)
        return self._members

    def __getitem__(self, key):
        return self._do("getitem")[key]

    def __iter__(self):
        return iter(self._do("iter"))

    def __len__(self):
        return len(self._do("len"))

    def get(self, key, default=None):
        return self._do("get").get(key, default)

    def keys(self):
        return self._do("keys").keys()


class Meta(type):
    def __getattr__(cls, name):
        raise RuntimeError(name)


class OddClass(metaclass=Meta):
    isError = True


KINDS = {kind.__name__: kind for kind in (RuntimeError, AttributeError, RecursionError, ZeroDivisionError)}

#: What to make; hypothesis itself could not hold it.
RECIPES = st.recursive(
    st.none() | st.booleans() | TEXT | st.binary(max_size=8) | st.tuples(st.sampled_from([*KINDS, "OddClass"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES, inner, max_size=6)
        | st.tuples(st.just("space"), st.dictionaries(NAMES, inner, max_size=6))
        | st.tuples(
            st.just("odd"),
            st.dictionaries(NAMES, inner, max_size=6),
            st.sets(st.sampled_from(["getitem", "iter", "len", "get", "keys"])),
        )
    ),
    max_leaves=15,
)


def made(recipe):
    match recipe:
        case list():
            return [made(item) for item in recipe]
        case dict():
            return {name: made(item) for name, item in recipe.items()}
        case ("OddClass",):
            return OddClass()
        case (kind,):
            return Raises(KINDS[kind])
        case ("space", members):
            return SimpleNamespace(**made(members))
        case ("odd", members, broken):
            return Odd(made(members), broken)
    return recipe


@settings(max_examples=300)
@given(RECIPES)
def test_hostile_objects_are_survived(recipe):
    value = made(recipe)
    for answer in (
        value,
        {"isError": True, "content": value, "structuredContent": value, "_meta": value},
        {"isError": True, "content": [value], "_meta": {META_KEY: value, TOOL_FAILURE_KEY: value}},
        {"error": value, "result": value},
        {"code": -32603, "message": "no", "data": value},
        {"taskId": "t", "status": "failed", "error": value, "statusMessage": value},
        RuntimeError(value),
    ):
        # A number is a mistake of the program that parses it.
        if type(answer) in {int, float, bool}:
            continue
        fault, doubt = parse(answer), suspect(answer)

        assert fault is None or within_caps(fault)
        assert doubt is None or within_caps(doubt)


# ---- there and back


def texts(limit):
    plain = st.text(min_size=1, max_size=120) | TEXT
    # As the server half writes them: safe, and cut to size.
    return plain.map(lambda text: sanitize(text, limit)).filter(bool)


FAULTS = st.builds(
    ToolFault,
    st.sampled_from([*McpErrorCode]),
    texts(MESSAGE_BYTES),
    category=st.none() | st.sampled_from([*McpErrorCategory]),
    retryable=st.none() | st.booleans(),
    retry_after_seconds=st.none() | st.integers(0, MAX_RETRY_AFTER_SECONDS),
    hint=st.none() | texts(HINT_BYTES),
    causes=st.lists(texts(CAUSE_BYTES), max_size=MAX_CAUSES),
    outcome=st.sampled_from([None, "not_executed", "unknown", "executed"]),
)


@settings(max_examples=300)
@given(
    FAULTS,
    st.sampled_from([*Guidance]),
    st.booleans(),
    st.sampled_from(
        [
            lambda result: result,
            lambda result: json.loads(json.dumps(result)),
            CallToolResult.model_validate,
            lambda result: SimpleNamespace(**result),
            lambda result: {"jsonrpc": "2.0", "id": 7, "result": result},
            lambda result: {"taskId": "t", "status": "completed", "result": result},
        ]
    ),
)
def test_what_is_written_is_read(fault, guidance, structured, sent):
    got = parse(sent(to_result(fault, guidance=guidance, structured=structured)))

    assert got.envelope == fault.envelope
    assert got.found_in == ("structured_content" if structured else "meta")
    assert got.outcome == (None if guidance is Guidance.NONE else fault.outcome)


@given(
    FAULTS, st.sampled_from(["", "Error executing tool draw_map: ", "Error calling tool 'draw_map': ", "It failed: "])
)
def test_an_envelope_that_only_a_text_carries_is_read(fault, before):
    text = before + json.dumps(fault.envelope.to_wire())
    answers = [{"isError": True, "content": [{"type": "text", "text": text}]}]
    if not before:
        answers += [text, RuntimeError(text), ExceptionGroup("g", [ValueError(text)])]

    for answer in answers:
        assert parse(answer).envelope == fault.envelope


def hint_of(fault):
    """
    The hint as a text carries it: on one line, and left out where the message says it.
    """
    hint = " ".join((fault.envelope.hint or "").split())
    return None if not hint or (" " in hint and hint in str(fault)) else hint


@given(FAULTS, st.lists(st.sampled_from([None, "not_safe", "attempts"]), max_size=3))
def test_what_a_model_is_told_is_read(fault, ends):
    """
    For a reader of the text alone: all but the category, the causes, and a wait that nobody should make.
    """
    assume(inert(str(fault)) == str(fault) and "retried" not in str(fault))
    text = model_text(
        fault, [Attempt(number=number, fault=fault, wait=1.0, stopped=end) for number, end in enumerate(ends, 1)]
    )

    for answer in (text, RuntimeError(text), {"isError": True, "content": text}):
        got = parse(answer).envelope

        assert (got.code, got.message, got.retryable) == (fault.code, str(fault), fault.envelope.retryable)
        assert got.hint == hint_of(fault)
        assert got.retry_after_seconds == (fault.envelope.retry_after_seconds if got.retryable else None)


@given(FAULTS)
def test_the_advice_behind_a_message_is_read(fault):
    """
    Of a client that kept the content and lost the rest.
    """
    assume(fault.envelope.retryable and "retried" not in str(fault) and "{" not in str(fault))
    assume(inert(str(fault)) == str(fault))

    got = parse({"isError": True, "content": to_result(fault)["content"]}).envelope

    assert (got.message, got.retryable, got.hint) == (str(fault), True, hint_of(fault))
    assert got.retry_after_seconds == fault.envelope.retry_after_seconds


@given(FAULTS, st.sampled_from([*Guidance]), st.booleans())
def test_reading_what_was_read_and_written_again_changes_nothing(fault, guidance, structured):
    once = parse(to_result(fault, guidance=guidance, structured=structured))
    twice = parse(to_result(once, guidance=guidance, structured=structured))

    assert twice == once


# ---- words


@given(st.text(max_size=200))
def test_any_word_is_looked_up(word):
    assert meaning_of(word) is None or meaning_of(word).code in DEFAULTS
