"""
`ToolFault`: consistent envelopes out of less, keywords, readable members, and subclasses that forget ``__init__``.
"""

import asyncio
import copy
import pickle
from datetime import timedelta
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfault import Guard, McpErrorCategory, McpErrorCode, ToolFault, parse
from toolfault._codes import CategoryName, CodeName
from toolfault.hosting import Call


@pytest.mark.parametrize(
    ("code", "given", "category", "retryable"),
    [
        ("internal", {}, "permanent", False),
        ("internal", {"retry_after_seconds": 30}, "transient", True),
        ("internal", {"retry_after_seconds": 0}, "transient", True),
        ("internal", {"retry_after_seconds": timedelta(seconds=3)}, "transient", True),
        ("invalid_arguments", {"retry_after_seconds": 30}, "transient", True),
        ("permission_denied", {"retry_after_seconds": 30}, "transient", True),
        ("internal", {"category": "transient"}, "transient", True),
        ("network_blocked", {"category": McpErrorCategory.TRANSIENT}, "transient", True),
        ("internal", {"retryable": True}, "permanent", True),
        ("internal", {"retryable": True, "retry_after_seconds": 3}, "transient", True),
        ("internal", {"retryable": False, "retry_after_seconds": 3}, "permanent", False),
        ("internal", {"category": "permanent", "retry_after_seconds": 3}, "permanent", False),
        ("internal", {"category": "auth", "retry_after_seconds": 3}, "auth", False),
        ("internal", {"category": "transient", "retryable": False}, "transient", False),
        ("quota_exceeded", {}, "transient", True),
        ("quota_exceeded", {"category": "permanent"}, "permanent", True),
        ("quota_exceeded", {"category": "permanent", "retryable": False}, "permanent", False),
        ("quota_exceeded", {"retryable": False}, "transient", False),
        ("tool_timeout", {"retry_after_seconds": 1}, "transient", True),
    ],
)
def test_what_follows_from_what_is_given(code, given, category, retryable):
    fault = ToolFault(code, "busy", **given)

    assert (fault.category, fault.retryable) == (category, retryable)
    assert (fault.envelope.category, fault.envelope.retryable) == (category, retryable)


@given(
    st.sampled_from([*McpErrorCode]),
    st.none() | st.sampled_from([*McpErrorCategory]),
    st.none() | st.booleans(),
    st.none() | st.integers(0, 2**32 - 1),
)
def test_what_is_given_explicitly_wins_and_repr_makes_the_same_fault(code, category, retryable, wait):
    fault = ToolFault(code, "m", category=category, retryable=retryable, retry_after_seconds=wait)

    assert category in {None, fault.category}
    assert retryable in {None, fault.retryable}
    assert fault.retry_after_seconds == wait
    if category is None and retryable is None and wait is not None:
        assert (fault.category, fault.retryable) == ("transient", True)
    assert eval(repr(fault)) == fault


def test_names_of_codes_and_categories_are_those_of_the_enums():
    assert get_args(CodeName) == tuple(code.value for code in McpErrorCode)
    assert get_args(CategoryName) == tuple(category.value for category in McpErrorCategory)


class OutOfStock(ToolFault):
    code = "invalid_arguments"


@pytest.mark.parametrize(
    "fault",
    [
        ToolFault("invalid_arguments", "m", hint="h"),
        ToolFault(code="invalid_arguments", message="m", hint="h"),
        ToolFault("invalid_arguments", message="m", hint="h"),
        OutOfStock("m", hint="h"),
        OutOfStock(message="m", hint="h"),
    ],
)
def test_members_of_the_envelope_are_readable(fault):
    assert (fault.code, fault.message, fault.category) == ("invalid_arguments", "m", "validation")
    assert (fault.retryable, fault.retry_after_seconds, fault.hint) == (False, None, "h")
    assert fault.envelope.message == fault.args[0] == str(fault) == "m"
    assert isinstance(fault.code, McpErrorCode)


@pytest.mark.parametrize(
    ("args", "options", "error", "parts"),
    [
        (("quota_exeeded", "Used up"), {}, ValueError, ["did you mean 'quota_exceeded'?", "Used up"]),
        (("QuotaExceeded", "Used up"), {}, ValueError, ["did you mean 'quota_exceeded'?", "Used up"]),
        (("timeout", "Too slow"), {}, ValueError, ["did you mean 'tool_timeout'?", "Too slow"]),
        (("zzz", "Used up"), {}, ValueError, ["'zzz' is not a McpErrorCode", "tool_not_found", "Used up"]),
        ((404, "Not here"), {}, ValueError, ["404 is not a McpErrorCode", "Not here"]),
        (("internal", "m1"), {"category": "transcient"}, ValueError, ["did you mean 'transient'?", "m1"]),
        (("internal", "m1"), {"retry_after_seconds": -1}, ValueError, ["retry_after_seconds must lie", "m1"]),
        (("internal", "m1"), {"retryable": "no"}, ValueError, ["retryable must be True, False or None", "m1"]),
        (("internal", "m1"), {"outcome": "maybe"}, ValueError, ["outcome must be not_executed", "m1"]),
        (("internal", "m1"), {"causes": "x"}, ValueError, ["write causes=['x']", "m1"]),
        (("internal", "m1"), {"retry_after": 3}, TypeError, ["did you mean 'retry_after_seconds'?"]),
        (("internal", "m1"), {"wait": 3}, TypeError, ["did you mean 'retry_after_seconds'?"]),
        (("internal", "m1"), {"hints": "x"}, TypeError, ["did you mean 'hint'?"]),
        (("internal",), {"msg": "x"}, TypeError, ["did you mean 'message'?"]),
        ((), {}, TypeError, ["takes (code, message)", "ToolFault('internal', 'What went wrong')"]),
        (("Used up",), {}, TypeError, ["ToolFault('internal', 'Used up')"]),
        (("internal", "m1", 30), {}, TypeError, ["takes (code, message)", "3 positional arguments"]),
        (("internal", "m1"), {"message": "m2"}, TypeError, ["takes (code, message)"]),
    ],
)
def test_mistakes_name_the_cure_and_keep_the_message(args, options, error, parts):
    with pytest.raises(error) as caught:
        ToolFault(*args, **options)

    for part in parts:
        assert part in str(caught.value)


def test_a_class_that_fixes_its_code():
    with pytest.raises(TypeError, match="OutOfStock fixes its code: leave code= out"):
        OutOfStock("m", code="internal")
    with pytest.raises(TypeError, match=r"takes \(message\): its class fixes the code invalid_arguments"):
        OutOfStock("internal", "m")
    with pytest.raises(ValueError, match="did you mean 'quota_exceeded'"):

        class Limited(ToolFault):
            code = "quota_exeeded"


def test_a_typo_in_a_tool_still_shows_the_message():
    with pytest.raises(ValueError) as caught:
        ToolFault("quota_exeeded", "Daily quota used up")

    assert "Daily quota used up" in str(Guard().judge(caught.value, Call(tool="t")))


# Subclasses that never call the base class.


class Forgetful(ToolFault):
    def __init__(self, article):
        self.article = article


class Fixed(ToolFault):
    code = "quota_exceeded"

    def __init__(self, *, seconds):
        self.seconds = seconds


class Own(ToolFault):
    def __init__(self, message):
        self.message = message


FORGETFUL = [
    pytest.param(lambda: Forgetful("tea"), "internal", "tea", id="text"),
    pytest.param(lambda: Forgetful(12), "internal", "12", id="number"),
    pytest.param(lambda: Fixed(seconds=3), "quota_exceeded", "The tool failed (Fixed).", id="nothing"),
    pytest.param(lambda: Own("no tea"), "internal", "no tea", id="own message"),
]


@pytest.mark.parametrize(("make", "code", "message"), FORGETFUL)
def test_a_subclass_may_forget_the_base_class(make, code, message):
    fault = make()

    assert (str(fault), fault.message, fault.code) == (message, message, code)
    assert repr(fault).startswith(f"{type(fault).__name__}({code!r}, {message!r}")
    assert hash(fault) == hash(make()) and fault == make()
    assert (fault.outcome, fault.facts, fault.received, fault.found_in) == (None, {}, None, None)
    for again in (pickle.loads(pickle.dumps(make())), copy.copy(fault), copy.deepcopy(fault)):
        assert (type(again), again, str(again)) == (type(fault), fault, message)
    assert parse(make()).envelope.message == message
    judged = Guard().judge(make(), Call(tool="t"))
    assert (judged.code, judged.message) == (code, message)
    with pytest.raises(AttributeError, match="'nope'"):
        fault.nope  # noqa: B018


@pytest.mark.parametrize(("make", "code", "message"), FORGETFUL)
def test_it_leaves_an_event_loop_as_it_was_raised(make, code, message):
    async def main():
        raise make()

    for _ in range(2):
        with pytest.raises(ToolFault) as caught:
            asyncio.run(main())
        assert str(caught.value) == message


def test_members_that_a_subclass_sets_stay():
    class Mine(ToolFault):
        def __init__(self, message):
            super().__init__("internal", message)
            self.message = f"own {message}"
            self.hint = "mine"

    fault = Mine("m")

    assert (fault.message, fault.hint, str(fault), fault.envelope.hint) == ("own m", "mine", "m", None)
