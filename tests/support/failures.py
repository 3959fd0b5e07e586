"""
The ways in which a tool call fails, and what has to come of each; and the sessions in which they are all tried.
"""

import json

import anyio

from toolfault.testing import assert_fault
from transports import HERE, connected, http_server


WAYS = ["memory", "stdio", "http", "http-json"]
ERAS = ["auto", "legacy"]

#: tool, arguments, code, retryable, outcome, a part of the message
FAILURES = [
    ("no_such_tool", {}, "tool_not_found", False, "not_executed", "Unknown tool: no_such_tool"),
    ("typed_fault", {"city": "Ys"}, "quota_exceeded", True, "unknown", "Daily quota for Ys is used up"),
    ("chained", {}, "internal", True, "unknown", "The index is being rebuilt"),
    ("anticipated", {"city": "Ys"}, "invalid_arguments", False, "unknown", "No such city: Ys"),
    ("anticipated_sync", {"city": "Ys"}, "invalid_arguments", False, "unknown", "No such city: Ys"),
    ("host_error", {}, "internal", None, "unknown", "The ledger is locked by an import"),
    ("crash", {}, "tool_panicked", False, "unknown", "ZeroDivisionError"),
    ("crash_sync", {}, "tool_panicked", False, "unknown", "ZeroDivisionError"),
    ("argument", {"days": 99}, "invalid_arguments", False, "not_executed", "`days`"),
    ("argument", {"days": 99}, "invalid_arguments", False, "not_executed", "`city`"),
    ("validator", {"order": {"days": 13}}, "invalid_arguments", False, "not_executed", "nobody orders for 13 days"),
    ("validator", {"order": {"days": 12}}, "tool_panicked", False, "not_executed", "twelve"),
    ("resolved", {}, "invalid_arguments", False, "unknown", "no region is configured"),
    ("wrong_output", {}, "internal", False, "executed", "degrees"),
    ("stray_cancel", {}, "tool_panicked", False, "unknown", "cancelled"),
    ("exits", {}, "tool_panicked", False, "unknown", "exit code 3"),
    ("exits_sync", {}, "tool_panicked", False, "unknown", "exit code 3"),
    ("base_exception", {}, "tool_panicked", False, "unknown", "not even an Exception"),
    ("groups", {}, "internal", True, "unknown", "refused"),
    ("task_group", {}, "invalid_arguments", False, "unknown", "one of several failed"),
    ("surrogate", {}, "invalid_arguments", False, "unknown", "room"),
    ("broken_str", {}, "internal", False, "unknown", "Broken"),
    ("five_megabytes", {}, "invalid_arguments", False, "unknown", "xxx"),
    ("secret", {}, "internal", False, "unknown", "login failed"),
    ("nested_through", {}, "tool_panicked", False, "unknown", "ZeroDivisionError"),
    ("nested_unknown", {}, "internal", False, "unknown", "no_such_tool"),
    ("own_result", {}, "quota_exceeded", True, "unknown", "Rate limit reached"),
    ("own_envelope", {}, "unknown", True, None, "from afar"),
    ("slow", {}, "tool_timeout", True, "unknown", "Tool timed out after 50ms"),
    ("slow_sync", {}, "tool_timeout", True, "unknown", "Tool timed out after 50ms"),
    ("upstream_timeout", {}, "tool_timeout", True, "unknown", "time"),
    ("expected", {}, "quota_exceeded", True, "unknown", "all workers are busy"),
    ("partial", {}, "invalid_arguments", False, "unknown", "No such city: Vineta"),
]


def ids(rows):
    return [f"{row[0]}-{row[5][:12]}" for row in rows]


async def listed(client):
    """
    Return the tools of all pages.
    """
    page = await client.list_tools(cache_mode="bypass")
    tools = list(page.tools)
    while page.next_cursor:
        page = await client.list_tools(cursor=page.next_cursor, cache_mode="bypass")
        tools += page.tools
    return tools


def in_session(server, way, era, steps, **options):
    """
    Run steps with one client of one server, given by the name of its module.
    """

    async def run(url=None):
        async with connected(way, era, url, server, **options) as client:
            return await steps(client)

    if not way.startswith("http"):
        return anyio.run(run)
    with http_server(HERE / f"{server}.py", way) as url:
        return anyio.run(run, url)


def try_all(server, way, era, rows):
    """
    Return the tools by name, and what came of each row, all in one session; the call after each failure works.
    """

    async def steps(client):
        came = []
        tools = {tool.name: tool for tool in await listed(client)}
        for name, arguments, *_ in rows:
            with anyio.fail_after(20):
                came.append(await client.call_tool(name, arguments))
            with anyio.fail_after(20):
                after = await client.call_tool("ok", {})
            assert after.content[0].text == "fine", name
        return tools, came

    return in_session(server, way, era, steps)


def is_answered(row, result):
    _, _, code, retryable, outcome, part = row
    fault = assert_fault(result, code=code, retryable=retryable, message=part)
    assert result.content[0].text == fault.envelope.message
    assert fault.outcome == outcome
    assert fault.envelope.message
    json.dumps(result.model_dump(by_alias=True), ensure_ascii=False).encode()


def leaks_nothing(result):
    text = result.model_dump_json(by_alias=True)
    assert len(text) < 16_000
    for never in ("hunter2", "Traceback", "_server.py", "site-packages", "sub-exception"):
        assert never not in text


def fits(row, tools, result):
    """
    A strict client takes the result: it matches what the tool advertises.
    """
    from jsonschema import Draft202012Validator

    tool = tools.get(row[0])
    if tool is None or tool.output_schema is None or result.structured_content is None:
        return
    Draft202012Validator(tool.output_schema).validate(result.structured_content)


async def a_thousand_at_once(client):
    came = {}

    async def bounded(number):
        async with limit:
            came[number] = await client.call_tool("anticipated", {"city": f"Ys-{number}"})

    limit = anyio.CapacityLimiter(100)
    async with anyio.create_task_group() as group:
        for number in range(1000):
            group.start_soon(bounded, number)
    ids = set()
    for number, result in came.items():
        fault = assert_fault(result, code="invalid_arguments")
        assert fault.envelope.message == f"No such city: Ys-{number}"
        ids.add(fault.facts["id"])
    assert len(ids) == 1000
    assert (await client.call_tool("ok", {})).content[0].text == "fine"


async def a_cancellation_passes(client):
    async def says(word):
        # The server learns of things on its own time; each question is a round trip.
        with anyio.fail_after(10):
            while (await client.call_tool("what_happened", {})).content[0].text != word:
                pass

    async with anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "waits", {})
        await says("started")
        group.cancel_scope.cancel()
    await says("started,cancelled")


#: In JSON mode the SDK's modern endpoint does not notice that a client closed the response, guarded or not.
NEVER_TOLD = {("http-json", "auto")}
