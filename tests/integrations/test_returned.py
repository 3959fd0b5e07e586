"""
Error results that a tool returns by itself.
"""

import gc
import json
import logging
import weakref

import anyio
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.types import CallToolResult, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents

from toolfault import Guard, ToolFault, parse
from toolfault.hosting import Call
from toolfault.integrations.mcp import install


OURS = "io.github.toolfault/error"
ENVELOPE = {"code": "quota_exceeded", "message": "Used up", "category": "transient", "retryable": True}


def text(said):
    return TextContent(type="text", text=said)


def answered(result, **options):
    told = []
    server = install(
        MCPServer("returned", log_level="CRITICAL"), Guard(on_failure=[lambda *what: told.append(what)], **options)
    )

    @server.tool()
    async def tool() -> CallToolResult:
        return result

    async def run():
        async with Client(server) as client:
            return await client.call_tool("tool", {})

    return anyio.run(run), told


def test_an_envelope_is_added_and_the_text_is_its_mirror():
    result, told = answered(CallToolResult(content=[text("Rate limit reached, retry after 30 seconds")], is_error=True))
    envelope = result.structured_content

    assert (envelope["code"], envelope["retry_after_seconds"]) == ("quota_exceeded", 30)
    assert result.content[0].text == envelope["message"] == "Rate limit reached, retry after 30 seconds"
    assert len(told) == 1


def test_what_it_says_is_as_safe_as_a_message():
    said = "Failed: Authorization: Bearer abcdef1234567890 \u202e\x1b[31m" + "x" * 5_000_000
    result, _ = answered(CallToolResult(content=[text(said), text(said)], is_error=True))
    whole = result.model_dump_json(by_alias=True)

    assert len(whole) < 32_000
    for never in ("abcdef1234567890", "\u202e", "\\u001b", "\\u202e"):
        assert never not in whole
    assert result.content[0].text == result.structured_content["message"]


def test_an_envelope_of_its_own_stays_and_is_logged(caplog):
    caplog.set_level(logging.INFO, logger="toolfault")
    result, told = answered(
        CallToolResult(
            content=[text("Used up")], structured_content={**ENVELOPE, "more": 1}, is_error=True, _meta={"acme": 1}
        )
    )

    assert result.structured_content == {**ENVELOPE, "more": 1}
    assert result.meta["acme"] == 1
    assert result.meta[OURS]["id"] in caplog.text
    assert [fault.code for fault, _, _ in told] == ["quota_exceeded"]


def test_an_envelope_only_in_meta_stays():
    facts = {"v": 1, "error": ENVELOPE, "id": "theirs"}
    result, _ = answered(CallToolResult(content=[text("Used up")], is_error=True, _meta={OURS: facts}))

    assert result.meta[OURS] == facts
    assert result.structured_content is None


def test_foreign_structured_content_stays_and_the_envelope_goes_into_meta():
    result, _ = answered(
        CallToolResult(
            content=[text("quota exceeded, retry after 30 seconds")],
            structured_content={"error": "E_NOPE"},
            is_error=True,
        )
    )

    assert result.structured_content == {"error": "E_NOPE"}
    assert result.meta[OURS]["error"]["code"] == "quota_exceeded"
    assert parse(result).envelope.retry_after_seconds == 30


@pytest.mark.parametrize(
    "content",
    [
        [],
        [text("")],
        [text(" \n")],
        [ImageContent(type="image", data="AAAA", mime_type="image/png")],
        [ImageContent(type="image", data="AAAA", mime_type="image/png"), text("Rate limit reached")],
    ],
)
def test_a_result_that_does_not_begin_with_words_gets_some(content):
    result, _ = answered(CallToolResult(content=content, is_error=True))

    assert result.content[0].text == result.structured_content["message"] != ""
    assert [block.type for block in result.content[1:]] == [block.type for block in content]
    json.dumps(result.model_dump(by_alias=True))


LEAK = "postgresql://app:hunter2@db/x"
LINK = ResourceLink(type="resource_link", name="log", uri="https://app:hunter2@db.example/x", description=LEAK)
EMBEDDED = EmbeddedResource(type="resource", resource=TextResourceContents(uri="file:///x", text=LEAK))


@pytest.mark.parametrize(
    "fields",
    [
        {"structured_content": {"debug": LEAK}},
        {"structured_content": {"nested": [{"password": "hunter2secret"}]}},
        {"structured_content": {"passwords": ["hunter2secret", "hunter2other"]}},
        {"_meta": {"acme": {"dsn": LEAK}}},
        {"structured_content": {**ENVELOPE, "message": f"cannot reach {LEAK}", "hint": LEAK}},
        {"structured_content": {**ENVELOPE, "cause_chain": [LEAK]}},
    ],
    ids=lambda fields: json.dumps(fields)[:40],
)
def test_what_a_tool_returns_as_an_error_is_redacted_whole(fields):
    result, _ = answered(CallToolResult(content=[text(LEAK), LINK, EMBEDDED], is_error=True, **fields))

    assert "hunter2" not in result.model_dump_json(by_alias=True)
    assert [block.type for block in result.content] == ["text", "resource_link", "resource"]
    assert parse(result) is not None


def test_a_success_is_not_redacted():
    result, _ = answered(CallToolResult(content=[text(LEAK)], structured_content={"dsn": LEAK}))

    assert (result.content[0].text, result.structured_content) == (LEAK, {"dsn": LEAK})


@pytest.mark.parametrize("value", [10**5000, b"\xff"], ids=["int", "bytes"])
def test_a_result_that_no_parser_reads_is_a_failure_after_the_work(value):
    result, _ = answered(CallToolResult(content=[text("done")], structured_content={"value": value}))

    assert result.structured_content["code"] == "internal"
    assert result.meta[OURS]["outcome"] == "executed"


def test_facts_are_redacted_by_name_and_readable():
    fault = ToolFault("internal", "m")
    fault.facts.update(password="hunter2secret", origin=LEAK, upstream_status=10**5000, size=10**5000)
    try:
        raise fault
    except ToolFault as exc:
        judged = Guard().judge(exc, Call(tool="t"))
    wire = json.dumps(Guard().to_result(judged))

    assert "hunter2" not in wire
    assert len(wire) < 1000
    json.loads(wire)


def test_a_plugin_that_is_dropped_is_freed():
    guard = Guard()
    space = {"__name__": "plugin"}
    exec("def tool():\n    raise ValueError('x')", space)
    function = weakref.ref(space["tool"])
    try:
        space["tool"]()
    except ValueError as exc:
        guard.judge(exc, Call(tool="t", function=space["tool"]))
    del space
    gc.collect()

    assert function() is None
