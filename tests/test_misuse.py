"""
Mistakes of programmers: each is an error or a warning at once, and its text names the cure.
"""

import logging
import os

import anyio
import pytest
from mcp import Client, ClientSession
from mcp.server import MCPServer
from mcp.server.lowlevel import Server

from toolfault import (
    Budget,
    Guard,
    InvalidRule,
    McpExecuteError,
    Registry,
    Retry,
    Rules,
    ToolFault,
    parse,
    raise_for_error,
    suspect,
)
from toolfault.hosting import Call, RetryPerServer
from toolfault.integrations.mcp import GuardedMCPServer, guarded, install, retrying
from toolfault.testing import FailingTool, assert_fault, no_waits


async def coroutine(*_):
    pass


def unawaited(function):
    """
    Give a coroutine to a function, and close it.
    """

    def call():
        started = coroutine()
        try:
            return function(started)
        finally:
            started.close()

    return call


class Own(Exception):
    pass


def f():
    pass


ERRORS = [
    # ToolFault; more in test_fault.py
    (ToolFault, TypeError, "takes (code, message)"),
    (lambda: ToolFault("no quota left"), TypeError, "ToolFault('internal', 'no quota left')"),
    (lambda: ToolFault("quota_exeeded", "m"), ValueError, "did you mean 'quota_exceeded'?"),
    (lambda: ToolFault("quota", "m"), ValueError, "quota_exceeded"),
    (lambda: ToolFault("m", "internal"), ValueError, "'m' is not a McpErrorCode"),
    (lambda: ToolFault(None, "m"), ValueError, "None is not a McpErrorCode"),
    (lambda: ToolFault(429, "m"), ValueError, "429 is not a McpErrorCode"),
    (lambda: ToolFault("internal", "m", category="transcient"), ValueError, "did you mean 'transient'?"),
    (lambda: ToolFault("internal", "m", category="network"), ValueError, "transient, permanent"),
    (lambda: ToolFault("internal", "m", retryable="yes"), ValueError, "True, False or None"),
    (lambda: ToolFault("internal", "m", retryable=1), ValueError, "True, False or None"),
    (lambda: ToolFault("internal", "m", retry_after_seconds=-1), ValueError, "from 0 to"),
    (lambda: ToolFault("internal", "m", retry_after_seconds="30"), ValueError, "number of seconds or a timedelta"),
    (lambda: ToolFault("internal", "m", retry_after_seconds=True), ValueError, "number of seconds or a timedelta"),
    (lambda: ToolFault("internal", "m", retry_after_seconds=float("nan")), ValueError, "from 0 to"),
    (lambda: ToolFault("internal", "m", retry_after_seconds=2**40), ValueError, "from 0 to"),
    (lambda: ToolFault("internal", "m", causes="x"), ValueError, "causes=['x']"),
    (lambda: ToolFault("internal", "m", cause="x"), TypeError, "did you mean 'causes'?"),
    (lambda: ToolFault("internal", "m", retry_after=3), TypeError, "did you mean 'retry_after_seconds'?"),
    (lambda: ToolFault("internal", "m", delay=3), TypeError, "did you mean 'retry_after_seconds'?"),
    (lambda: ToolFault("internal", "m", retry=True), TypeError, "did you mean 'retryable'?"),
    (lambda: ToolFault("internal", "m", outcome="done"), ValueError, "not_executed, unknown, executed"),
    (lambda: ToolFault("internal", "m", data={}), TypeError, "has no option data"),
    # The envelope
    (lambda: McpExecuteError.new("intern", "m"), ValueError, "did you mean 'internal'?"),
    (lambda: McpExecuteError.new("internal", "m").with_category("perm"), ValueError, "did you mean 'permanent'?"),
    (lambda: McpExecuteError.new("internal", "m").with_retryable("no"), ValueError, "True or False"),
    (lambda: McpExecuteError.new("internal", "m").with_hint(3), ValueError, "hint is a text"),
    (lambda: McpExecuteError.new("internal", "m").with_cause(Own()), ValueError, "cause is a text"),
    (lambda: McpExecuteError.new("internal", "m").with_retry_after_seconds("3"), ValueError, "number of seconds"),
    # Guard
    (lambda: Guard(3), TypeError, "positional"),
    (lambda: Guard(timout=3), TypeError, "did you mean 'timeout'?"),
    (lambda: Guard(rules={}), TypeError, "did you mean 'expect'?"),
    (lambda: Guard(secret=["abcdef"]), TypeError, "did you mean 'secrets'?"),
    (lambda: Guard(on_error=[]), TypeError, "did you mean 'on_failure'?"),
    (lambda: Guard(mask_error_details=True), TypeError, "did you mean 'disclosure'?"),
    (lambda: Guard(xyzzy=1), TypeError, "Its options are"),
    (lambda: Guard(timeout=0), ValueError, "positive number of seconds"),
    (lambda: Guard(timeout="5"), ValueError, "positive number of seconds"),
    (lambda: Guard(disclosure="none"), ValueError, "redacted"),
    (lambda: Guard(disclosure="witheld"), ValueError, "did you mean 'withheld'?"),
    (lambda: Guard(guidance="inlin"), ValueError, "did you mean 'inline'?"),
    (lambda: Guard(credentials="servers"), ValueError, "did you mean 'server'?"),
    (lambda: Guard(output_schema="wide"), ValueError, "did you mean 'widen'?"),
    (lambda: Guard(also="acme"), ValueError, "also=['acme']"),
    (lambda: Guard(also=["acme-core"]), ValueError, "that is imported"),
    (lambda: Guard(egress_allow="api.example.com"), ValueError, "egress_allow=['api.example.com']"),
    (lambda: Guard(secrets="sk-live-abcdef123"), ValueError, "secrets is a list"),
    (lambda: Guard(secrets=[b"sk-live-abcdef123"]), ValueError, "secret"),
    (lambda: Guard(secrets=["abc"]), ValueError, "secret"),
    (lambda: Guard(on_failure=[coroutine]), ValueError, "plain functions"),
    (lambda: Guard(on_failure=print), ValueError, "is a list"),
    (lambda: Guard(redactor="x"), ValueError, "plain function"),
    (lambda: Guard(registry={}), ValueError, "must be a Registry"),
    (lambda: Guard(arguments_forwarded="no"), ValueError, "True or False"),
    (lambda: Guard(expect=[ValueError]), InvalidRule, "{ValueError: 'internal'}"),
    (lambda: Guard(expect={(KeyError, OSError): "internal"}), InvalidRule, "dict.fromkeys"),
    (lambda: Guard(expect={"KeyError": "internal"}), InvalidRule, "builtins.ValueError"),
    (lambda: Guard(expect={KeyError: "intern"}), InvalidRule, "did you mean 'internal'?"),
    (lambda: Guard(expect={KeyError: 404}), InvalidRule, "a code, an envelope"),
    (lambda: Guard(expect={KeyError: ToolFault}), InvalidRule, "a code, an envelope"),
    (lambda: Guard(expect={KeyError: coroutine}), InvalidRule, "exception alone"),
    (lambda: Guard(expect={KeyError: lambda: 1}), InvalidRule, "exception alone"),
    (lambda: Guard(expect={int: "internal"}), InvalidRule, "not an exception class"),
    (lambda: Guard(expect={KeyError(): "internal"}), InvalidRule, "not an exception class"),
    (lambda: Guard(expect={"json.JSONDecodeEror": "internal"}), InvalidRule, "did you mean json.JSONDecodeError?"),
    (lambda: Guard(expect={KeyError: "internal", "builtins.KeyError": "unknown"}), InvalidRule, "given twice"),
    (lambda: Registry().with_rules({(KeyError,): "internal"}), InvalidRule, "each class a rule"),
    (lambda: Rules().rule(), InvalidRule, "needs the exception classes"),
    (lambda: Guard().with_options(timout=3), TypeError, "did you mean 'timeout'?"),
    (lambda: Guard().with_options(secrets=["abcdef"]), TypeError, "has no option secrets"),
    # install
    (lambda: install(MCPServer("s"), {}), TypeError, "Guard(timeout=5)"),
    (lambda: install(MCPServer("s"), timeout=5), TypeError, "Guard(timeout=...)"),
    (lambda: install(MCPServer("s"), expect={}), TypeError, "Guard(expect=...)"),
    (lambda: install(MCPServer("s"), gard=Guard()), TypeError, "did you mean 'guard'?"),
    (lambda: install(MCPServer), TypeError, "install(MCPServer(...))"),
    (lambda: install(Server), TypeError, "install(Server(...))"),
    (lambda: install(None), TypeError, "FastMCP, MCPServer, Server"),
    (lambda: install(install(MCPServer("s"))), ValueError, "guarded already"),
    (lambda: install(Client(MCPServer("s"))), TypeError, "install takes one of"),
    (lambda: GuardedMCPServer("s", guard=3), TypeError, "Guard(timeout=5)"),
    # guarded
    (lambda: guarded(Guard()), TypeError, "@guarded(guard=...)"),
    (lambda: guarded(3), TypeError, "takes a callable"),
    (lambda: guarded("internal"), TypeError, "takes a callable"),
    (lambda: guarded(guard=3), TypeError, "Guard(timeout=5)"),
    (lambda: guarded(timout=3), TypeError, "did you mean 'timeout'?"),
    (lambda: guarded(retries=3), TypeError, "has no option retries"),
    (lambda: guarded(timeout=-1), ValueError, "positive number of seconds"),
    (lambda: guarded(fails_with="internal"), ValueError, "['internal']"),
    (lambda: guarded(fails_with=["intern"]), ValueError, "did you mean 'internal'?"),
    (lambda: guarded(fails_with=["unknown"]), ValueError, "no server sends it"),
    (lambda: guarded(expect={(KeyError, OSError): "internal"}), InvalidRule, "dict.fromkeys"),
    # Retry
    (lambda: Retry(3), TypeError, "positional"),
    (lambda: Retry(retries=3), TypeError, "did you mean 'attempts'?"),
    (lambda: Retry(max_attempts=3), TypeError, "did you mean 'attempts'?"),
    (lambda: Retry(attempt=3), TypeError, "did you mean 'attempts'?"),
    (lambda: Retry(backoff=1), TypeError, "did you mean 'wait_initial'?"),
    (lambda: Retry(max_delay=1), TypeError, "did you mean 'wait_max'?"),
    (lambda: Retry(jitter=0), TypeError, "did you mean 'wait_jitter'?"),
    (lambda: Retry(on_retry=print), TypeError, "did you mean 'on_attempt'?"),
    (lambda: Retry(attempts=0), ValueError, "at least 1"),
    (lambda: Retry(attempts="3"), ValueError, "at least 1"),
    (lambda: Retry(timeout=-1), ValueError, "0 or more"),
    (lambda: Retry(wait_jitter=2), ValueError, "0.0 to 1.0"),
    (lambda: Retry(trust_hints="no"), ValueError, "True or False"),
    (lambda: Retry(budget=10), ValueError, "Budget(retries=10)"),
    (lambda: Retry(on_attempt=coroutine), ValueError, "plain functions"),
    (lambda: Retry(on_attempt=[3]), ValueError, "plain functions"),
    (lambda: Retry(on_attempt="print"), ValueError, "is a list"),
    (lambda: Retry(observers=print), ValueError, "is a list"),
    (lambda: Retry(observers=[print]), ValueError, "calling and attempting"),
    (lambda: Retry(sleep=3), ValueError, "must be a function"),
    (lambda: Budget(-1), ValueError, "0 or more"),
    (lambda: Budget(retires=3), TypeError, "did you mean 'retries'?"),
    (lambda: Retry().call_sync(coroutine), ValueError, "call and run take"),
    (lambda: Retry().run_sync(lambda _: 1, tool=coroutine), ValueError, "call and run take"),
    (lambda: Retry().state(idempotent="yes"), ValueError, "True or False"),
    (lambda: RetryPerServer(3), ValueError, "Retry(attempts=5)"),
    (lambda: RetryPerServer(idempotent="search"), ValueError, "idempotent=['search']"),
    # retrying
    (lambda: retrying(MCPServer("s")), TypeError, "async with Client(server) as client"),
    (lambda: retrying(Server("s")), TypeError, "async with Client(server) as client"),
    (lambda: retrying(Client), TypeError, "make a Client first"),
    (lambda: retrying(ClientSession), TypeError, "make a ClientSession first"),
    (unawaited(retrying), TypeError, "await it first"),
    (lambda: retrying(None), TypeError, "which has call_tool"),
    (lambda: retrying("http://localhost"), TypeError, "which has call_tool"),
    (lambda: retrying(Client(MCPServer("s")), 3), TypeError, "Retry(attempts=5)"),
    (lambda: retrying(Client(MCPServer("s")), attempts=3), TypeError, "Retry(attempts=...)"),
    (lambda: retrying(Client(MCPServer("s")), idempotent=True), TypeError, "has no option idempotent"),
    (lambda: retrying(Client(MCPServer("s")), rewrites=True), TypeError, "did you mean 'rewrite'?"),
    # Readers
    (unawaited(parse), TypeError, "await"),
    (unawaited(suspect), TypeError, "await"),
    (unawaited(raise_for_error), TypeError, "await"),
    (lambda: parse(42), TypeError, "parse takes the answer"),
    (lambda: parse(MCPServer("s")), TypeError, "server"),
    (lambda: raise_for_error(42), TypeError, "takes the answer"),
    # Testing
    (lambda: no_waits(3), TypeError, "no_waits(Retry(attempts=3))"),
    (lambda: no_waits(waits=3), TypeError, "takes a list"),
    (lambda: FailingTool(TimeoutError()), TypeError, "FailingTool([TimeoutError()])"),
    (lambda: FailingTool(TimeoutError), TypeError, "write FailingTool(["),
    (lambda: FailingTool(3), TypeError, "takes a list of exceptions"),
    (lambda: FailingTool([3]), TypeError, "raises exceptions, not 3"),
    (lambda: assert_fault({"content": []}), AssertionError, "expected a failure"),
    (lambda: assert_fault(ToolFault("internal", "m"), code="intern"), ValueError, "did you mean 'internal'?"),
    (lambda: assert_fault(ToolFault("internal", "m"), code="tool_timeout"), AssertionError, "code is internal"),
]


@pytest.mark.parametrize(("misuse", "error", "cure"), ERRORS, ids=range(1, len(ERRORS) + 1))
def test_a_mistake_is_an_error_that_names_the_cure(misuse, error, cure):
    with pytest.raises(error) as caught:
        misuse()

    assert cure in str(caught.value)
    assert "abcdef123" not in str(caught.value)


def test_guarded_above_the_decorator_of_a_guarded_server_is_warned_about():
    mcp = install(MCPServer("s"))

    with pytest.warns(
        RuntimeWarning, match=r"stands above the decorator that registered 'price'.*put it below"
    ) as seen:

        @guarded(expect={KeyError: "internal"})
        @mcp.tool()
        def price() -> str:
            return ""

    assert seen[0].filename == __file__

    with pytest.warns(RuntimeWarning, match="'stock'") as seen:

        @guarded
        @mcp.tool()
        def stock() -> str:
            return ""

    assert seen[0].filename == __file__


def test_a_rule_for_a_name_that_does_not_exist_is_reported_once(tmp_path, monkeypatch, caplog):
    (tmp_path / "lateshop").mkdir()
    (tmp_path / "lateshop" / "__init__.py").write_text("class SoldOut(Exception):\n    pass\n")
    (tmp_path / "lateshop" / "sub.py").write_text("class Closed(Exception):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    rules = {"lateshop.SoldOt": "internal", "lateshop.SoldOut": "internal", "lateshop.sub.Closed": "internal"}
    guard = Guard(expect={**rules, "lateshop.gone.Away": "internal", "elsewhere.Error": "internal"})
    caplog.set_level(logging.WARNING, logger="toolfault")

    guard.judge(KeyError("k"), Call(tool="t"))
    assert [record for record in caplog.records if "never matches" in record.getMessage()] == []

    import lateshop

    for exc in (lateshop.SoldOut("a"), lateshop.SoldOut("b"), type("Other", (lateshop.SoldOut,), {})("c")):
        guard.judge(exc, Call(tool="t"))
    assert [record.getMessage() for record in caplog.records if "never matches" in record.getMessage()] == [
        "the rule for 'lateshop.SoldOt' never matches: lateshop has no SoldOt; did you mean lateshop.SoldOut?",
        "the rule for 'lateshop.gone.Away' never matches: lateshop has no gone",
    ]


def test_one_hook_or_observer_needs_no_list():
    seen, sequence = [], []
    retry = Retry(on_attempt=seen.append, attempts=1)

    retry.call_sync(lambda _: {"isError": True, "content": []})
    Retry(on_attempt=iter([sequence.append]), attempts=1).call_sync(lambda _: {"content": []})

    assert [attempt.stopped for attempt in [*seen, *sequence]] == ["not_retryable", "success"]


@pytest.mark.parametrize("several", [False, True])
def test_call_tool_takes_one_hook_or_several(several):
    seen = []
    mcp = MCPServer("s")
    mcp.tool(name="f")(f)

    async def main():
        async with Client(mcp) as client:
            hooks = [seen.append, seen.append] if several else seen.append
            await retrying(client).call_tool("f", on_attempt=hooks)

    anyio.run(main)
    assert [attempt.stopped for attempt in seen] == ["success"] * (2 if several else 1)


def test_lazy_modules_show_what_is_there():
    import subprocess
    import sys

    script = (
        "import toolfault.integrations.mcp as m, pydoc;"
        "assert sorted(m.__all__) == dir(m), dir(m);"
        "text = pydoc.render_doc(m);"
        "assert all(name in text for name in m.__all__), text"
    )
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONWARNINGS": "ignore"})
