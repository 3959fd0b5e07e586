"""
MCP's own protocol errors: which number means what when, and which a bridge may put on an error.
"""

import mcp.types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfault import parse
from toolfault._codes import McpErrorCode
from toolfault.dialects import a2a, jsonrpc
from toolfault.dialects.a2a.protocol_droid import A2aError, Variant
from toolfault.errors import ToolFault


REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")

#: What the SDK calls the numbers; the last two it puts on failures of its own, in the legacy band.
SDK = {
    "PARSE_ERROR": "ParseError",
    "INVALID_REQUEST": "InvalidRequest",
    "METHOD_NOT_FOUND": "MethodNotFound",
    "INVALID_PARAMS": "InvalidParams",
    "INTERNAL_ERROR": "InternalError",
    "HEADER_MISMATCH": "HeaderMismatch",
    "MISSING_REQUIRED_CLIENT_CAPABILITY": "MissingRequiredClientCapability",
    "UNSUPPORTED_PROTOCOL_VERSION": "UnsupportedProtocolVersion",
    "URL_ELICITATION_REQUIRED": "UrlElicitationRequired",
    "CONNECTION_CLOSED": None,
    "REQUEST_TIMEOUT": None,
}


def test_the_table_has_every_number_of_the_sdk():
    numbers = {name: value for name, value in vars(mcp.types).items() if type(value) is int and value < -30000}

    assert numbers.keys() == SDK.keys()
    for name, code in numbers.items():
        row = jsonrpc.ERRORS.get(code)
        assert (None if row is None else row.name) == SDK[name]
        assert row is not None or jsonrpc.band(code) == "legacy"


@pytest.mark.parametrize(
    ("code", "first", "last"),
    [
        (-32700, 0, 4),
        (-32600, 0, 4),
        (-32601, 0, 4),
        (-32602, 0, 4),
        (-32603, 0, 4),
        (-32002, 0, 3),
        (-32042, 3, 3),
        (-32020, 4, 4),
        (-32021, 4, 4),
        (-32022, 4, 4),
    ],
)
def test_a_number_means_something_in_its_revisions(code, first, last):
    having = [revision for revision in REVISIONS if jsonrpc.meaning(code, revision)]

    assert having == list(REVISIONS[first : last + 1])
    assert [revision for revision in REVISIONS if jsonrpc.may_be_sent(code, revision)] == having


def test_the_table_has_no_other_number():
    assert len(jsonrpc.ERRORS) == 10
    assert all(code == row.code for code, row in jsonrpc.ERRORS.items())


@pytest.mark.parametrize(
    ("code", "band"),
    [
        (-32700, "standard"),
        (-32600, "standard"),
        (-32603, "standard"),
        (-32604, "reserved"),
        (-32699, "reserved"),
        (-32768, "reserved"),
        (-32100, "reserved"),
        (-32099, "specification"),
        (-32020, "specification"),
        (-32019, "legacy"),
        (-32000, "legacy"),
        (-31999, "application"),
        (-32769, "application"),
        (408, "application"),
        (0, "application"),
    ],
)
def test_bands(code, band):
    assert jsonrpc.band(code) == band


@pytest.mark.parametrize("code", [None, True, "-32602", -32602.0, [], {}])
def test_what_is_no_number_means_nothing(code):
    assert jsonrpc.meaning(code) is None
    assert jsonrpc.sendable_code(code) == -32603


@pytest.mark.parametrize("code", [2**63, -(2**63) - 1, 10**400])
def test_what_no_other_language_holds_is_not_passed_on(code):
    assert jsonrpc.sendable_code(code) == -32603


def test_no_number_of_a2a_gets_onto_an_error_of_mcp():
    own = {row.code for row in a2a.ERRORS.values()} | {A2aError(variant).code() for variant in Variant}

    crossed = {code: jsonrpc.sendable_code(code) for code in own}

    assert {code for code, bridged in crossed.items() if code == bridged} == {-32700, -32600, -32601, -32602, -32603}


@given(st.integers(), st.sampled_from(REVISIONS))
def test_what_a_bridge_sends_may_be_sent(code, revision):
    assert jsonrpc.may_be_sent(jsonrpc.sendable_code(code), revision)


@pytest.mark.parametrize("code", McpErrorCode)
def test_an_error_carries_the_envelope(code):
    fault = ToolFault(code, "said", retry_after_seconds=7, hint="do", causes=["first"], outcome="not_executed")
    fault.facts["id"] = "f1"

    error = jsonrpc.encode(fault)
    back = parse(error)

    assert error["code"] == (-32602 if code in {"tool_not_found", "invalid_arguments"} else -32603)
    assert error["message"] == "said"
    assert (back.envelope, back.outcome, back.facts["id"]) == (fault.envelope, "not_executed", "f1")


@pytest.mark.parametrize(("foreign", "sent"), [(-32001, -32603), (-32004, -32603), (-32601, -32601), (4001, 4001)])
def test_a_foreign_number_is_asked_for(foreign, sent):
    assert jsonrpc.encode(ToolFault("internal", "m"), code=foreign)["code"] == sent
