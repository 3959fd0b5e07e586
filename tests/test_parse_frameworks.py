"""
What agent frameworks make of a failed call, read back: stand-ins with the members of the real classes.

Checked against the real ones: langchain-core 1.8, llama-index-core 0.14 (with the results of mcp 1.30 and 2.3), agno 3.1,
autogen-core 0.7, agent-framework-core 1.23, pydantic-ai-slim 2.68, openai-agents 0.24. Read in their source: crewAI 1.15,
strands-agents 1.62, google-adk 2.13, mcp-use 1.7.
"""

import json
from types import SimpleNamespace

import pytest
from mcp.types import CallToolResult, TextContent

from toolfault import McpErrorCode, parse, suspect
from toolfault._text import MESSAGE_BYTES


FULL = {
    "code": "quota_exceeded",
    "message": "No more maps",
    "category": "transient",
    "retryable": True,
    "retry_after_seconds": 9,
    "hint": 'It\'s "later" \\ than you think.\nAsk tomorrow.',
}
TEXT = json.dumps(FULL)
RESULT = CallToolResult(content=[TextContent(type="text", text="No more maps")], structured_content=FULL, is_error=True)
#: As Python shows a result of mcp 1.x; an apostrophe in a text makes the quotation marks double.
REPR_1 = (
    "meta=None content=[TextContent(type='text', text=\"It's too many requests\", annotations=None, meta=None)] "
    "structuredContent=None isError=True"
)
BLOCKS = "[TextContent(type='text', text='Too many requests', annotations=None, meta=None)]"


def is_like(**members):
    return SimpleNamespace(**members)


def tool_message(content, status="error", artifact=None):
    return is_like(content=content, status=status, artifact=artifact, tool_call_id="c1", name="draw_map", type="tool")


def tool_output(raw, content="", *, is_error=False):
    return is_like(tool_name="draw_map", raw_input={}, raw_output=raw, content=content, is_error=is_error)


def tool_return(content, outcome):
    return is_like(tool_name="draw_map", content=content, tool_call_id="c1", outcome=outcome, part_kind="tool-return")


def tool_failure(**members):
    members = {"code": None, "retryable": False, "details": {"server": "maps", "tool": "draw_map"}} | members
    return is_like(message="Too many requests", **members)


def tool_result(content, metadata=None):
    return is_like(content=content, metadata=metadata, images=None, videos=None, audios=None, files=None)


def raised(name, text):
    return type(name, (Exception,), {})(text)


@pytest.mark.parametrize(
    ("answer", "found_in"),
    [
        pytest.param(
            tool_message("No more maps", artifact={"structured_content": FULL}),
            "structured_content",
            id="langchain: an artifact",
        ),
        pytest.param(tool_message([{"type": "text", "text": TEXT}]), "text", id="langchain: blocks"),
        pytest.param(vars(tool_message(TEXT)), "text", id="langchain: dumped"),
        pytest.param(raised("ToolException", TEXT), "exception", id="langchain: raised"),
        pytest.param(raised("ModelRetry", TEXT), "exception", id="pydantic-ai: a retry"),
        pytest.param(raised("ToolFailed", TEXT), "exception", id="pydantic-ai: a failure"),
        pytest.param(tool_return(TEXT, "failed"), "text", id="pydantic-ai: a failed part"),
        pytest.param(tool_return(FULL, "retried"), "structured_content", id="pydantic-ai: a part with an object"),
        pytest.param(
            is_like(part_kind="retry-prompt", content=TEXT, tool_name="draw_map", tool_call_id="c1"),
            "text",
            id="pydantic-ai: a prompt to retry",
        ),
        pytest.param(TEXT, "text", id="openai-agents: the text"),
        pytest.param({"type": "text", "text": TEXT}, "text", id="openai-agents: the text's dict"),
        pytest.param(RESULT.model_dump_json(), "structured_content", id="a result as JSON"),
        pytest.param(RESULT.model_dump_json(by_alias=True), "structured_content", id="a result as JSON of the wire"),
        pytest.param(
            is_like(
                is_error=True,
                structured_content=FULL,
                result_meta=None,
                tool_output={"type": "text", "text": "No more maps"},
            ),
            "structured_content",
            id="openai-agents: the extractor's context",
        ),
        pytest.param(
            {
                "status": "error",
                "toolUseId": "c1",
                "content": [{"text": "No more maps"}],
                "structuredContent": FULL,
                "isError": True,
            },
            "structured_content",
            id="strands",
        ),
        pytest.param(
            {"meta": None, "content": [], "structuredContent": FULL, "isError": True},
            "structured_content",
            id="google-adk",
        ),
        pytest.param(tool_output(RESULT), "structured_content", id="llama-index"),
        pytest.param(tool_output(str(RESULT), str(RESULT)), "structured_content", id="llama-index: shown by Python"),
        pytest.param(str(RESULT), "structured_content", id="llama-index: the text alone"),
        pytest.param(
            tool_result(f"Error from MCP tool 'draw_map': {BLOCKS}", {"structured_content": FULL}),
            "structured_content",
            id="agno",
        ),
        pytest.param(
            is_like(name="draw_map", is_error=True, result=[is_like(type="TextResultContent", content=TEXT)]),
            "text",
            id="autogen",
        ),
        pytest.param(
            ExceptionGroup("g", [Exception(json.dumps([{"type": "text", "text": TEXT}]))]),
            "exception",
            id="autogen: raised",
        ),
        pytest.param(tool_failure(reason="mcp_error", details=FULL), "structured_content", id="crewai"),
        pytest.param(raised("ToolExecutionException", TEXT), "exception", id="agent-framework"),
        pytest.param(
            is_like(call_id="c1", result="Error: Function failed.", exception=raised("ToolExecutionException", TEXT)),
            "exception",
            id="agent-framework: its content",
        ),
        pytest.param(
            {"error": "RuntimeError", "details": TEXT, "stack": "Traceback ...", "code": "UNKNOWN"},
            "text",
            id="mcp-use",
        ),
    ],
)
def test_an_envelope_survives_a_framework(answer, found_in):
    fault = parse(answer)

    assert fault.envelope.to_wire() == FULL
    assert fault.found_in == found_in


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param(tool_message("Too many requests"), "quota_exceeded", id="langchain"),
        pytest.param(raised("ToolException", "Too many requests"), "quota_exceeded", id="langchain: raised"),
        pytest.param(raised("ModelRetry", "Too many requests"), "quota_exceeded", id="pydantic-ai"),
        pytest.param(
            is_like(
                part_kind="retry-prompt",
                content=[{"type": "missing", "loc": ("city",), "msg": "Field required", "input": {}}],
                tool_name="draw_map",
                tool_call_id="c1",
            ),
            "invalid_arguments",
            id="pydantic-ai: refused arguments",
        ),
        pytest.param(
            "An error occurred while running the tool. Please try again. Error: Too many requests",
            "quota_exceeded",
            id="openai-agents: before 0.24",
        ),
        pytest.param("An error occurred while running the tool. Please try again.", "internal", id="openai-agents"),
        pytest.param(
            {
                "status": "error",
                "toolUseId": "c1",
                "content": [{"text": "Tool execution failed: Too many requests"}],
            },
            "quota_exceeded",
            id="strands: a transport's failure",
        ),
        pytest.param(
            {"status": "error", "toolUseId": "c1", "content": [], "structuredContent": {"message": "Rate limit"}},
            "quota_exceeded",
            id="strands: with structured content",
        ),
        pytest.param(
            is_like(is_error=True, structured_content=None, result_meta=None, tool_output="Too many requests"),
            "quota_exceeded",
            id="openai-agents: the extractor's context with a text",
        ),
        pytest.param(
            tool_result(json.dumps({"isError": True, "content": [], "structuredContent": {"message": "Rate limit"}})),
            "quota_exceeded",
            id="agno: a result as JSON",
        ),
        pytest.param({"error": "MCP tool execution failed: Too many requests"}, "quota_exceeded", id="google-adk"),
        pytest.param(tool_output(REPR_1, REPR_1), "quota_exceeded", id="llama-index: of mcp 1"),
        pytest.param(tool_output(TimeoutError()), "tool_timeout", id="llama-index: an exception"),
        pytest.param(
            tool_output(None, "Too many requests", is_error=True), "quota_exceeded", id="llama-index: its own flag"
        ),
        pytest.param(tool_result(f"Error from MCP tool 'draw_map': {BLOCKS}"), "quota_exceeded", id="agno"),
        pytest.param(f"Error from MCP tool 'draw_map': {BLOCKS}", "quota_exceeded", id="agno: the text alone"),
        pytest.param(
            is_like(name="draw_map", is_error=True, result=[is_like(content="Too many requests")]),
            "quota_exceeded",
            id="autogen",
        ),
        pytest.param(
            Exception(json.dumps([{"type": "text", "text": "Too many requests"}])),
            "quota_exceeded",
            id="autogen: raised",
        ),
        pytest.param(tool_failure(reason="mcp_error"), "quota_exceeded", id="crewai"),
        pytest.param(
            tool_failure(reason=is_like(value="unknown_tool")), "tool_not_found", id="crewai: a reason that tells"
        ),
        pytest.param(
            tool_failure(reason="tool_reported", code="channel_not_found"), "invalid_arguments", id="crewai: a code"
        ),
        pytest.param(
            is_like(call_id="c1", result="Error: Function failed.", exception="ToolExecutionException"),
            "internal",
            id="agent-framework",
        ),
        pytest.param(
            {"error": "RuntimeError", "details": "Too many requests", "stack": "Traceback ...", "code": "UNKNOWN"},
            "quota_exceeded",
            id="mcp-use",
        ),
        pytest.param(
            {"error": "ApiError", "details": "no", "stack": "Traceback ...", "code": "FORBIDDEN"},
            "permission_denied",
            id="mcp-use: a code",
        ),
    ],
)
def test_a_frameworks_text_is_read(answer, code):
    fault = parse(answer)

    assert fault.code == code
    assert not any(strange in fault.envelope.message for strange in ("Traceback", "TextContent", "annotations", "{"))


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(tool_message("Too many requests", status="success"), id="langchain"),
        pytest.param(tool_return("Too many requests", "success"), id="pydantic-ai"),
        pytest.param(tool_return("Too many requests", "denied"), id="pydantic-ai: a person said no"),
        pytest.param(
            {"part_kind": "x", "tool_call_id": "c1", "content": [], "outcome": {"failed": 1}},
            id="nothing of pydantic-ai",
        ),
        pytest.param("Too many requests", id="a text"),
        pytest.param("{" + "x" * 100_000, id="a long text"),
        pytest.param(CallToolResult(content=[]).model_dump_json(), id="a result as JSON"),
        pytest.param({"type": "text", "text": "Too many requests"}, id="a text's dict"),
        pytest.param(
            {"status": "success", "toolUseId": "c1", "content": [{"text": "Too many requests"}]}, id="strands"
        ),
        pytest.param(
            {"status": "error", "toolUseId": "c1", "content": [{"text": "cancelled locally"}], "cancelled": True},
            id="strands: a cancellation",
        ),
        pytest.param(tool_output(CallToolResult(content=[])), id="llama-index"),
        pytest.param(str(CallToolResult(content=[TextContent(type="text", text="is_error=True")])), id="its text"),
        pytest.param(tool_result("Too many requests", {"structured_content": FULL}), id="agno"),
        pytest.param(is_like(name="draw_map", is_error=False, result=[is_like(content=TEXT)]), id="autogen"),
        pytest.param(is_like(call_id="c1", result="Too many requests", exception=None), id="agent-framework"),
        pytest.param({"error": ""}, id="google-adk: no error"),
        pytest.param({"error": "none", "rows": [1]}, id="data beside an error"),
        pytest.param(
            {"error": None, "details": "42 rows", "stack": "prod", "code": 0}, id="data with mcp-use's members"
        ),
        pytest.param(
            is_like(is_error=False, structured_content=FULL, result_meta=None, tool_output="fine"), id="openai-agents"
        ),
    ],
)
def test_a_frameworks_success_is_none(answer, caplog):
    assert parse(answer) is None
    assert caplog.text == ""


def test_what_a_framework_leaves_unmarked_may_be_suspected():
    assert suspect(tool_output(CallToolResult(content=[TextContent(type="text", text="Error: Too many requests")])))
    assert suspect(tool_message("Error: Too many requests", status="success")).code is McpErrorCode.QUOTA_EXCEEDED
    assert suspect(tool_message("Error: Too many requests")) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("meta=None isError=True content=[TextContent(text='" + "\\" * 50_000, id="backslashes"),
        pytest.param("content=[" + "'" * 60_000 + " isError=True", id="quotation marks"),
        pytest.param("meta=None isError=True content=[" + "'\\" * 32_000, id="quotation marks that nothing closes"),
        pytest.param("content=[] structuredContent={" + "{" * 50_000 + " isError=True", id="braces"),
        pytest.param("content=[] structured_content={'a': 1 is_error=True", id="half an object"),
        pytest.param("content=[] structured_content={'\\U00ffffff': '\\ud800\\x41\\q'} isError=True", id="escapes"),
        pytest.param("Error from MCP tool 'a': " + "text='" * 10_000, id="texts"),
    ],
)
def test_nonsense_that_looks_like_python_is_read(text):
    fault = parse(text)

    assert 0 < len(fault.envelope.message.encode()) <= MESSAGE_BYTES
