"""
What decides where several things speak at once: rules, causes, own classes, modules that the failure came through.
"""

import errno
import json
import logging
from pathlib import Path
from types import FunctionType

import httpx
import pytest
from mcp.server.mcpserver.exceptions import ToolError

from toolfault import Guard, McpExecuteError, ToolFault, parse
from toolfault._judge import finder
from toolfault._registry import InvalidRule, Registry
from toolfault.dialects._bridge import inbound
from toolfault.dialects.tool_failure import TOOL_FAILURE_KEY, failure_of
from toolfault.hosting import Call
from toolfault.rules.builtins import os_error
from toolfault.rules.http import verdict_for
from toolfault.testing import assert_fault


class NotFound(Exception):
    pass


class OwnHTTPError(httpx.HTTPError):
    pass


class OwnTimeout(httpx.ReadTimeout):
    pass


def judge(fail, *args, arguments=None, **options):
    guard = Guard(**options)
    with pytest.raises(BaseException) as caught:  # noqa: PT011 -- any at all
        fail(*args)
    return guard.judge(caught.value, Call(tool="tool", function=fail, arguments=arguments or {}))


def over(inner, outer, *, suppress=False):
    def fail():
        try:
            raise inner
        except BaseException as handled:
            if suppress:
                raise outer from None
            raise outer from handled

    return fail


def answered(status, **options):
    request = httpx.Request("GET", "https://api.example/x")
    response = httpx.Response(status, request=request, **options)
    return httpx.HTTPStatusError("refused", request=request, response=response)


# ---- causes


def test_an_own_class_over_a_limit_is_that_limit():
    fault = judge(over(answered(429, headers={"Retry-After": "7"}), NotFound("no such page")))

    assert (fault.code, fault.retry_after_seconds, fault.message) == ("quota_exceeded", 7, "no such page")


def test_an_own_class_over_nothing_is_what_its_name_says():
    def fail():
        raise NotFound("no such page")

    assert judge(fail).code == "invalid_arguments"


def test_a_fault_as_a_cause_is_shown_by_its_message():
    fault = judge(over(ToolFault("quota_exceeded", "The plan is used up"), RuntimeError("The report failed")))

    assert fault.message == "The report failed"
    assert fault.envelope.cause_chain == ("The plan is used up",)
    assert fault.code == "quota_exceeded"


@pytest.mark.parametrize("text", ["Rate limit exceeded", "Too many requests: try again later"])
def test_words_of_a_host_s_error_over_a_bug_are_read(text):
    assert judge(over(KeyError("page"), ToolError(text))).code == "quota_exceeded"


# ---- rules


@pytest.mark.parametrize(
    ("own", "base", "meaning", "code"),
    [
        (OwnHTTPError("x"), httpx.HTTPError, "permission_denied", "permission_denied"),
        (OwnTimeout("x"), httpx.ReadTimeout, "quota_exceeded", "quota_exceeded"),
        (OwnTimeout("x"), OwnTimeout, "invalid_arguments", "invalid_arguments"),
        (OwnTimeout("x"), KeyError, "invalid_arguments", "tool_timeout"),
    ],
)
def test_a_rule_for_a_library_s_class_holds_for_own_classes_over_it(own, base, meaning, code):
    def fail():
        raise own

    assert judge(fail, expect={base: meaning}).code == code


def test_a_rule_that_is_an_envelope():
    envelope = McpExecuteError.new("quota_exceeded", "Come back tomorrow").with_hint("Use the cache")

    def fail():
        raise KeyError("x")

    fault = judge(fail, expect={KeyError: envelope})

    assert (fault.code, fault.message, fault.hint) == ("quota_exceeded", "Come back tomorrow", "Use the cache")


def test_a_rule_that_is_a_fault_with_causes():
    def fail():
        raise KeyError("x")

    fault = judge(fail, expect={KeyError: ToolFault("internal", "The index is broken", causes=["disk 7 failed"])})

    assert fault.message == "The index is broken"
    assert fault.envelope.cause_chain == ("disk 7 failed",)


@pytest.mark.parametrize("name", ["foo bar.baz", "foo", "m.1x", "m.<lambda>", "", "."])
def test_a_text_that_is_no_qualified_name_is_refused(name):
    with pytest.raises(InvalidRule, match="not an exception class nor a qualified name"):
        Registry().with_rules({name: "internal"})


@pytest.mark.parametrize("name", ["m.f.<locals>.C", "some_library.errors.Gone"])
def test_a_qualified_name_is_taken(name):
    assert name in Registry().with_rules({name: "internal"})


def test_a_rule_for_a_class_made_in_a_function():
    class Local(Exception):
        pass

    def fail():
        raise Local("x")

    assert judge(fail, expect={Local: "quota_exceeded"}).code == "quota_exceeded"


def interrupt(*_args):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "options",
    [{"expect": {ValueError: interrupt}}, {"on_failure": [interrupt]}, {"redactor": interrupt}],
    ids=["a rule", "a hook", "a redactor"],
)
def test_an_interrupt_is_never_swallowed(options):
    def fail():
        raise ValueError("no")

    with pytest.raises(KeyboardInterrupt):
        judge(fail, **options)


# ---- errno, sockets, modules


@pytest.mark.parametrize(
    ("name", "sentence", "advice"),
    [
        ("ENOSPC", "There is no space left where the tool writes (ENOSPC)", True),
        ("EIO", "The server's storage failed (EIO)", True),
        ("EDQUOT", "The disk quota is used up (EDQUOT)", True),
        ("EHOSTUNREACH", "A host that the tool depends on can't be reached (EHOSTUNREACH)", False),
        ("EHOSTDOWN", "A host that the tool depends on is down (EHOSTDOWN)", False),
        ("ENETDOWN", "The server's network is down (ENETDOWN)", False),
        ("ENETUNREACH", "The server's network has no route to where the tool connects (ENETUNREACH)", True),
        ("EADDRINUSE", "A network address that the tool needs is in use (EADDRINUSE)", False),
        ("ECONNREFUSED", "A service that the tool depends on refused the connection (ECONNREFUSED)", False),
    ],
)
def test_the_words_of_an_errno(name, sentence, advice):
    number = getattr(errno, name)

    message = os_error(OSError(number, "x")).message

    assert message.partition(". ")[0].rstrip(".") == sentence
    assert ("operator" in message) == advice


def elsewhere(module, source="def refused():\n    raise PermissionError(13, 'Permission denied')\n"):
    """
    Return a function of somebody else's module.
    """
    space = {"__name__": module, "__file__": f"/elsewhere/{module}.py"}
    exec(compile(source, f"/elsewhere/{module}.py", "exec"), space)
    return space["refused"]


def calls(function):
    function()


@pytest.mark.parametrize("module", sorted(finder._SOCKETS))
def test_each_package_of_sockets_makes_a_refusal_one_of_the_network(module):
    guard = Guard()
    with pytest.raises(PermissionError) as caught:
        calls(elsewhere(module))

    assert guard.judge(caught.value, Call(tool="t", function=calls)).code == "network_blocked"


def test_the_packages_of_sockets():
    assert {"socket", "ssl", "asyncio", "anyio", "http", "urllib", "urllib3"} <= finder._SOCKETS
    assert {"httpcore", "httpx", "httpx2", "requests", "aiohttp", "trio"} <= finder._SOCKETS


@pytest.mark.parametrize("name", [None, 7, b"module", ["x"], object()], ids=repr)
def test_a_module_whose_name_is_no_text(name):
    space = {"__name__": name, "ValueError": ValueError}
    exec("def tool():\n    raise ValueError('No such page')\n", space)

    assert isinstance(space["tool"], FunctionType)
    assert judge(space["tool"]).message == "No such page"


def test_a_rooted_path_that_the_caller_wrote_stays():
    home = Path.cwd().resolve()
    path = f"{home}/none/of/these.csv"

    def fail():
        raise RuntimeError(f"{path} is empty")

    assert path in judge(fail, arguments={"file": path}).message
    assert path not in judge(fail, arguments={"file": "another.csv"}).message
    assert "these.csv is empty" in judge(fail, arguments={"file": "another.csv"}).message


# ---- HTTP


POLICY = ("network_blocked", "permanent", False)
LATE = ("tool_timeout", "transient", True)
BROKEN = ("internal", "permanent", False)

PROXY_WORDS = {
    "http_request_denied": POLICY,
    "destination_ip_prohibited": POLICY,
    "destination_ip_unroutable": POLICY,
    "proxy_configuration_error": POLICY,
    "http_response_timeout": LATE,
    "connection_read_timeout": LATE,
    "connection_write_timeout": LATE,
    "tls_certificate_error": BROKEN,
}


@pytest.mark.parametrize("status", [502, 503])
@pytest.mark.parametrize("word", PROXY_WORDS)
def test_each_word_of_a_proxy(word, status):
    fault = judge(over(answered(status, headers={"Proxy-Status": f"p; error={word}"}), ValueError("no")))

    assert (fault.code, fault.category, fault.retryable) == PROXY_WORDS[word]


@pytest.mark.parametrize("status", [502, 503])
def test_an_unknown_word_of_a_proxy_says_no_more_than_the_status(status):
    verdict = verdict_for(status, headers={"Proxy-Status": "p; error=whatever"})

    assert (verdict.code, verdict.retryable) == ("internal", True)


# ---- reading


@pytest.mark.parametrize(
    ("answer", "code", "retryable"),
    [
        ({"code": "X1", "errors": [{"code": "rate_limited"}]}, "quota_exceeded", True),
        ({"code": "X1", "errors": [{"message": "Rate limit exceeded"}]}, "quota_exceeded", True),
    ],
)
def test_what_stands_in_a_list_of_errors_counts_beside_an_unknown_code(answer, code, retryable):
    fault = parse({"isError": True, "content": [], "structuredContent": answer})

    assert (fault.code, fault.retryable) == (code, retryable)


@pytest.mark.parametrize(
    ("data", "code", "retryable"),
    [
        ({"retryable": True}, "internal", True),
        ({"retryable": False}, "internal", False),
        ({TOOL_FAILURE_KEY: failure_of(ToolFault("quota_exceeded", "slow down"))}, "quota_exceeded", True),
        (failure_of(ToolFault("tool_timeout", "too slow")), "tool_timeout", True),
    ],
)
def test_what_the_data_of_a_protocol_error_says_counts(data, code, retryable):
    fault = parse({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "x", "data": data}})

    assert (fault.code, fault.retryable) == (code, retryable)


def test_assert_fault_refuses_another_message():
    result = {"isError": True, "content": [{"type": "text", "text": "No such city"}]}

    assert assert_fault(result, message="No such").message == "No such city"
    with pytest.raises(AssertionError, match="the message has no 'No such page'"):
        assert_fault(result, message="No such page")


def test_a_store_that_raises_costs_no_code_and_is_logged(caplog):
    class Store:
        def put(self, _text):
            raise AssertionError("nothing to keep")

        def get(self, _handle):
            raise OSError("the store is away")

    kept = json.dumps({"v": 1, "system": "mcp", "code": "quota_exceeded", "handle": "h"})
    with caplog.at_level(logging.WARNING, logger="toolfault"):
        fault = inbound("a2a", -32603, "m", record=kept, store=Store())

    assert fault.code == "quota_exceeded"
    assert "OSError" in caplog.text
