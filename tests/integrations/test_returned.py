"""
Error results that a tool returns by itself.
"""

import json
import logging

import anyio
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.types import CallToolResult, ImageContent, TextContent

from toolfault import Guard, parse
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
