"""
Rules: found along the MRO by name, a user's before ours.
"""

import gc
import threading
import weakref

import pytest

from toolfault import Guard, InvalidRule, McpErrorCode, McpExecuteError, Registry, Rules, ToolFault
from toolfault._verdict import Verdict


class Base(Exception):
    pass


class Mixed(Base, ValueError):
    pass


A = Verdict(code=McpErrorCode.INTERNAL)
B = Verdict(code=McpErrorCode.QUOTA_EXCEEDED)
NAME = f"{Base.__module__}.Base"


@pytest.mark.parametrize(
    ("rules", "cls", "name"),
    [
        ({"builtins.Exception": A}, Base, "builtins.Exception"),
        ({"builtins.Exception": A, NAME: B}, Base, NAME),
        ({"builtins.ValueError": A, NAME: B}, Mixed, NAME),
        ({"builtins.ValueError": A}, Mixed, "builtins.ValueError"),
        ({NAME: lambda exc: None, "builtins.ValueError": A}, Mixed, "builtins.ValueError"),
    ],
)
def test_the_nearest_rule_that_has_an_opinion_speaks(rules, cls, name):
    assert Registry(rules).verdict_on(cls("x"))[0] == name


def test_a_registry_never_changes():
    first = Registry({NAME: A})
    second = first.with_rules({Base: McpErrorCode.QUOTA_EXCEEDED})

    assert first.verdict_on(Base())[1] is A
    assert second.verdict_on(Base())[1] == B
    assert repr(second) == "<Registry (1 rules)>"
    assert list(second) == [NAME]


def test_tables_load_at_the_first_look_up():
    loads = []
    registry = Registry({NAME: B}, load=lambda: loads.append(1) or {NAME: A, "builtins.Exception": A})

    assert not loads
    assert registry.verdict_on(Base())[1] is B
    assert NAME in registry
    assert len(registry) == 2
    assert loads == [1]


@pytest.mark.parametrize(
    "meaning",
    [
        "quota_exceeded",
        McpErrorCode.QUOTA_EXCEEDED,
        McpExecuteError.new("quota_exceeded", "m"),
        ToolFault("quota_exceeded", "m"),
        B,
        lambda exc: "quota_exceeded",
        lambda exc: ToolFault("quota_exceeded", str(exc)),
    ],
)
def test_every_way_to_say_what_a_class_means(meaning):
    registry = Registry().with_rules({Base: meaning})

    assert registry.verdict_on(Base("x"))[1].code is McpErrorCode.QUOTA_EXCEEDED


@pytest.mark.parametrize(
    ("expect", "cure"),
    [
        ({Base: "quota_exeeded"}, "quota_exceeded"),
        ({Base: 3}, "a code, an envelope"),
        ({Base: ToolFault}, "a code, an envelope"),
        ({"ReadTimeout": "internal"}, "httpx.ReadTimeout"),
        ({int: "internal"}, "not an exception class"),
        ({"not a name": "internal"}, "qualified name"),
        ({Base: "internal", NAME: "internal"}, "given twice"),
        ({"builtins.ValueErorr": "internal"}, "did you mean builtins.ValueError"),
        ({Base: "unknown"}, "say 'internal'"),
        ({Base: lambda: 1}, "of the exception alone"),
        ({ToolFault: "internal"}, "speaks for itself"),
        ({KeyboardInterrupt: "internal"}, "passes unanswered"),
    ],
)
def test_a_wrong_rule_is_an_error_at_registration(expect, cure):
    with pytest.raises(InvalidRule, match=cure):
        Registry().with_rules(expect)


@pytest.mark.parametrize("answer", ["no such code", 3, object()])
def test_a_rule_that_returns_nonsense_says_so(answer):
    registry = Registry().with_rules({Base: lambda exc: answer})

    with pytest.raises(InvalidRule, match="Base"):
        registry.verdict_on(Base())


def test_a_decorator_makes_a_function_a_rule():
    rules = Rules({ValueError: "internal"})

    @rules.rule(Base, "acme.net.Unreachable")
    def acme(exc):
        return "quota_exceeded" if str(exc) == "busy" else None

    registry = Registry({"builtins.Exception": A}).with_rules(rules)
    assert registry.verdict_on(Base("busy"))[1].code == "quota_exceeded"
    assert registry.verdict_on(Base("idle"))[1] is A
    assert "acme.net.Unreachable" in registry
    assert acme(Base("busy")) == "quota_exceeded"


@pytest.mark.parametrize(
    ("classes", "cure"),
    [
        ((), "needs the exception classes"),
        ((int,), "not an exception class"),
        ((ValueError,), "has a rule already"),
        ((Base, NAME), "has a rule already"),
    ],
)
def test_a_decorator_refuses_at_once(classes, cure):
    with pytest.raises(InvalidRule, match=cure):
        Rules({ValueError: "internal"}).rule(*classes)


def test_classes_made_at_run_time_can_go():
    registry = Registry({"builtins.Exception": A})
    cls = type("Passing", (Exception,), {})
    registry.verdict_on(cls())
    gone = weakref.ref(cls)
    del cls
    gc.collect()

    assert gone() is None


def test_a_name_by_the_import_path_is_the_class_that_it_leads_to():
    import json

    registry = Registry().with_rules({"json.JSONDecodeError": "quota_exceeded"})
    try:
        json.loads("no")
    except ValueError as exc:
        assert registry.verdict_on(exc)[1].code == "quota_exceeded"


def test_a_coroutine_function_is_no_rule():
    async def rule(exc):
        return "internal"

    with pytest.raises(InvalidRule, match="plain function"):
        Registry().with_rules({Base: rule})


def test_an_import_path_is_followed_once_its_module_is_loaded(monkeypatch):
    import sys
    import types

    registry = Registry({NAME: A}).with_rules({"acme_shop.Busy": "quota_exceeded"})
    acme = types.ModuleType("acme_shop")
    acme.Busy = Base
    monkeypatch.setitem(sys.modules, "acme_shop", acme)

    assert registry.verdict_on(Base())[1].code == "quota_exceeded"


@pytest.mark.parametrize("expect", [5, [ValueError], "internal", ValueError])
def test_rules_that_are_no_mapping_are_refused(expect):
    with pytest.raises(InvalidRule, match="expect maps classes"):
        Guard(expect=expect)


def test_no_thread_meets_a_registry_without_its_rules():
    """
    A second look-up waits while the first one loads the tables.
    """
    loading, asking, found = threading.Event(), threading.Event(), []

    def load():
        loading.set()
        # The other thread asks now; it must not be answered before the rules are there.
        assert asking.wait(10)
        return {"builtins.KeyError": A}

    registry = Registry(load=load)

    def ask():
        assert loading.wait(10)
        asking.set()
        found.append(registry.rules_for(KeyError))

    threads = [threading.Thread(target=ask), threading.Thread(target=registry.rules_for, args=(KeyError,))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert found == [(("builtins.KeyError", A),)]
