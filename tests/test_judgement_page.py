"""
What docs/judgement.md says of each step, as a guarded server really answers.
"""

import asyncio
import os
import re
import socket
from pathlib import Path

import httpx
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from toolfault import Guard, ToolFault, parse
from toolfault.integrations.mcp import guarded, install


PAGE = (Path(__file__).parent.parent / "docs" / "judgement.md").read_text()


def fault_of(tool, arguments=None, guard=None, name="tool"):
    async def call():
        mcp = install(MCPServer("page"), guard)
        mcp.add_tool(tool, name="tool")
        async with Client(mcp) as client:
            return parse(await client.call_tool(name, arguments or {}))

    return asyncio.run(call())


def raising(exc):
    def tool() -> str:
        raise exc

    return tool


def over(handled, exc):
    def tool() -> str:
        try:
            raise handled
        except type(handled):
            raise exc  # noqa: B904 -- what was being handled is the context, as in most tools

    return tool


def refused_by_http(status):
    def tool() -> str:
        request = httpx.Request("GET", "https://api.example.com/")
        httpx.Response(status, request=request).raise_for_status()

    return tool


def refused_connection() -> str:
    with socket.create_connection(("127.0.0.1", 1)):
        return ""


class Upstream(httpx.ReadTimeout):
    pass


class Answered(Exception):
    status_code = 429


class Failed(Exception):
    pass


class RateLimitError(Exception):
    pass


class NoSuchCity(ValueError):
    pass


ON_PURPOSE = {
    "`ValueError`": (ValueError("No such city: Ys"), "invalid_arguments"),
    "`LookupError`": (LookupError("No such city: Ys"), "invalid_arguments"),
    "its subclasses": (KeyError("No such city: Ys"), "invalid_arguments"),
    "`FileNotFoundError`": (FileNotFoundError("No such list: spring"), "invalid_arguments"),
    "`FileExistsError`": (FileExistsError("The list spring exists"), "invalid_arguments"),
    "`PermissionError`": (PermissionError("Only the owner may do this"), "permission_denied"),
    "`ToolError`": (ToolError("The office is on strike"), "internal"),
    "`RuntimeError`": (RuntimeError("The office is on strike"), "internal"),
    "`Exception`": (Exception("The office is on strike"), "internal"),
    "by the words of the text": (ToolError("Rate limit exceeded, retry after 5 seconds"), "quota_exceeded"),
    'a bare `KeyError("x")`': (KeyError("x"), "tool_panicked"),
    "`TypeError`": (TypeError("days must be a number"), "tool_panicked"),
    "`AttributeError`": (AttributeError("days"), "tool_panicked"),
    "an `assert`": (AssertionError("days"), "tool_panicked"),
}


@pytest.mark.parametrize("words", ON_PURPOSE)
def test_what_is_raised_on_purpose(words):
    exc, code = ON_PURPOSE[words]

    assert words in PAGE
    assert fault_of(raising(exc)).code == code


OVER = {
    "a general class over a timeout": (RuntimeError("The office is slow"), "tool_timeout"),
    "a ValueError over a timeout": (ValueError("The office is slow"), "tool_timeout"),
}


@pytest.mark.parametrize("case", OVER)
def test_a_failure_that_was_being_handled_explains_it(case):
    exc, code = OVER[case]

    fault = fault_of(over(TimeoutError("no answer"), exc))

    assert (fault.code, fault.message) == (code, "The office is slow")


OWN_CLASSES = {
    "the rule of a library class": (raising(Upstream("late")), "tool_timeout"),
    "an HTTP status that it carries": (raising(Answered("no")), "quota_exceeded"),
    "a failure that was being handled": (over(TimeoutError("late"), Failed("no")), "tool_timeout"),
    "the words of its name": (raising(RateLimitError("no")), "quota_exceeded"),
    "its builtin base": (raising(NoSuchCity("Ys")), "invalid_arguments"),
    "the words of its text": (raising(Failed("Rate limit exceeded")), "quota_exceeded"),
    "nothing": (raising(Failed("no")), "internal"),
}


@pytest.mark.parametrize("how", OWN_CLASSES)
def test_a_class_of_ones_own_is_judged_in_this_order(how):
    tool, code = OWN_CLASSES[how]

    assert fault_of(tool).code == code


def test_the_steps_of_a_class_of_ones_own_are_on_the_page_in_their_order():
    step = PAGE.partition("## 5. ")[2].partition("## 6. ")[0]
    lines = re.findall(r"^\d\. (.*?)[;:.]", step, re.MULTILINE)

    assert [line.split()[1] for line in lines] == ["rule", "HTTP", "HTTP,", "words", "else", "builtin", "words"]


def converts(days: str) -> str:
    return str(int(days))


def opens(path: str) -> str:
    return Path(path).read_text()


def opens_its_own() -> str:
    return Path("/nowhere/counter.txt").read_text()


def unset() -> str:
    return os.environ["TOOLFAULT_TEST_UNSET"]


def divides() -> str:
    return str(1 // 0)


ACCIDENTS = [
    (converts, {"days": "many"}, "invalid_arguments"),
    (opens, {"path": "none.txt"}, "invalid_arguments"),
    (opens_its_own, {}, "internal"),
    (unset, {}, "internal"),
    (divides, {}, "tool_panicked"),
]


@pytest.mark.parametrize(("tool", "arguments", "code"), ACCIDENTS)
def test_what_happens_by_accident(tool, arguments, code):
    assert fault_of(tool, arguments).code == code


OPTIONS = [
    ({}, refused_by_http(401), "permission_denied"),
    ({"credentials": "server"}, refused_by_http(401), "internal"),
    ({}, refused_by_http(404), "invalid_arguments"),
    ({"arguments_forwarded": False}, refused_by_http(404), "internal"),
    ({}, refused_by_http(403), "permission_denied"),
    ({"egress_allow": ["api.example.net"]}, refused_by_http(403), "network_blocked"),
    ({}, refused_connection, "internal"),
]


@pytest.mark.parametrize(("options", "tool", "code"), OPTIONS)
def test_the_options_say_whose_it_is(options, tool, code):
    assert fault_of(tool, guard=Guard(**options)).code == code


def test_the_first_step_that_answers_decides():
    """
    A ToolFault before a rule; the phase before a rule; the tool's rule before the server's.
    """
    everything = Guard(expect={Exception: "internal"})

    @guarded(expect={ValueError: "quota_exceeded"})
    def ruled() -> str:
        raise ValueError("no")

    assert fault_of(raising(ToolFault("network_blocked", "no")), guard=everything).code == "network_blocked"
    assert fault_of(converts, {"days": 5}, guard=everything).code == "invalid_arguments"
    assert fault_of(converts, {"days": "5"}, guard=everything, name="convert").code == "tool_not_found"
    assert fault_of(raising(RateLimitError("no")), guard=everything).code == "internal"
    assert fault_of(ruled, guard=everything).code == "quota_exceeded"


OUTCOMES = [
    (converts, {}, "not_executed"),
    (divides, {}, "unknown"),
    (raising(ValueError("No such city")), {}, "unknown"),
]


@pytest.mark.parametrize(("tool", "arguments", "outcome"), OUTCOMES)
def test_what_is_known_of_the_call(tool, arguments, outcome):
    assert fault_of(tool, arguments).outcome == outcome


def test_an_unknown_name_was_not_executed():
    assert fault_of(divides, name="divide").outcome == "not_executed"
