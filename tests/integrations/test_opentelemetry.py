"""
Spans and metrics of both halves, through the real SDK of OpenTelemetry, a real server and a real client.

Run as a program, this file is that server, over stdio, or over HTTP where the number of a listening socket follows.
"""

import concurrent.futures
import json
import socket
import sys
from collections import Counter
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client, MCPError, StdioServerParameters
from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from mcp.types import CallToolRequestParams, CallToolResult, TextContent, ToolAnnotations
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from pydantic import ValidationError

from toolfault import Guard, Retry, ToolFault, parse
from toolfault.hosting import Call, to_result
from toolfault.integrations.mcp import install, retrying
from toolfault.integrations.opentelemetry import Telemetry
from toolfault.testing import FailingTool


READS = ToolAnnotations(read_only_hint=True)
SECRET = "hunter2-correct-horse"
LIMIT = ToolFault("quota_exceeded", f"The limit of {SECRET} is reached", retry_after_seconds=7)


def make(telemetry=None):
    """
    Make a server whose tools fail; its `busy` fails twice and then works.
    """
    middleware = [telemetry.middleware] if telemetry else []
    hooks = [telemetry.on_failure] if telemetry else []
    server = install(MCPServer("weather", middleware=middleware), Guard(on_failure=hooks))
    server.add_tool(FailingTool([LIMIT, LIMIT], answer="dry"), name="busy", annotations=READS)

    @server.tool()
    async def works(city: str = "Oslo") -> str:
        return "rain"

    @server.tool(annotations=READS)
    async def limited() -> str:
        raise LIMIT

    @server.tool()
    async def crashes(city: str = "Oslo") -> str:
        return {}[f"{city} {SECRET}"]

    @server.tool(annotations=READS)
    def refused() -> str:
        raise ConnectionRefusedError(111, f"refused by {SECRET}")

    @server.tool()
    async def speaks(code: int) -> str:
        raise MCPError(code, "the tool speaks the protocol itself")

    @server.tool()
    async def hangs() -> str:
        await anyio.sleep_forever()

    @server.tool()
    async def gives_up() -> CallToolResult:
        return CallToolResult(is_error=True, content=[TextContent(type="text", text=f"{SECRET}: rate limit exceeded")])

    @server.tool()
    async def traced() -> str:
        return trace.format_trace_id(trace.get_current_span().get_span_context().trace_id)

    return server


class Seen:
    """
    What is exported, and the `Telemetry` that it comes from. Its clock says a quarter of a second later each time.
    """

    def __init__(self):
        self._exporter = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        meters = MeterProvider([self._reader], shutdown_on_exit=False)
        self.telemetry = Telemetry(self.tracers, meters, clock=count(0, 0.25).__next__)

    @property
    def spans(self):
        return self._exporter.get_finished_spans()

    @property
    def ours(self):
        return [span for span in self.spans if span.instrumentation_scope.name == "toolfault"]

    def served(self, name):
        return [span for span in self.spans if span.kind is SpanKind.SERVER and span.name == name]

    def metrics(self):
        data = self._reader.get_metrics_data()
        found = [] if data is None else [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics]
        return {metric.name: metric for metric in found}

    def points(self, name):
        metric = self.metrics().get(name)
        return [] if metric is None else [(dict(point.attributes), point) for point in metric.data.data_points]

    def counted(self, name):
        return [(attributes, point.value) for attributes, point in self.points(name)]

    def everything(self):
        data = self._reader.get_metrics_data()
        return "".join(span.to_json() for span in self.spans) + ("" if data is None else data.to_json())


@pytest.fixture
def seen(monkeypatch):
    made = Seen()
    # The SDK's tracer is the global provider's, which a process can set only once.
    monkeypatch.setattr("mcp.shared._otel._tracer", made.tracers.get_tracer("mcp-python-sdk"))
    return made


def call(server, *calls):
    """
    Make calls in one session with a server in memory, and return what came of each.
    """

    async def run():
        came = []
        async with Client(server) as client:
            for name, arguments in calls:
                try:
                    came.append(await client.call_tool(name, arguments))
                except MCPError as exc:
                    came.append(exc)
        return came

    return anyio.run(run)


def errors_of(attributes):
    return {name: value for name, value in attributes.items() if name.startswith(("toolfault.", "error.", "rpc."))}


# The server half


FAILURES = [
    # tool, arguments, code, category, retryable, origin
    ("limited", {}, "quota_exceeded", "transient", True, "tool"),
    ("crashes", {}, "tool_panicked", "permanent", False, "tool"),
    ("refused", {}, "internal", "transient", True, "upstream"),
    ("works", {"city": []}, "invalid_arguments", "validation", False, "adapter"),
    ("gives_up", {}, "quota_exceeded", "transient", True, "tool"),
]


@pytest.mark.parametrize(("tool", "arguments", "code", "category", "retryable", "origin"), FAILURES)
def test_a_failure_says_on_the_servers_span_which_it_is(seen, tool, arguments, code, category, retryable, origin):
    (result,) = call(make(seen.telemetry), (tool, arguments))

    (span,) = seen.served(f"tools/call {tool}")
    facts = parse(result).facts
    assert facts.get("origin") == origin
    wanted = {
        "error.type": "tool_error",
        "toolfault.error.code": code,
        "toolfault.error.category": category,
        "toolfault.error.retryable": retryable,
        "toolfault.error.origin": origin,
        "toolfault.error.id": facts["id"],
    }
    assert errors_of(span.attributes) == wanted
    assert span.attributes["gen_ai.tool.name"] == tool
    assert (span.status.status_code, span.status.description, span.events) == (StatusCode.ERROR, None, ())


@pytest.mark.parametrize(("tool", "arguments", "code", "category", "retryable", "origin"), FAILURES)
def test_a_failure_is_counted_and_measured_by_its_code(seen, tool, arguments, code, category, retryable, origin):
    call(make(seen.telemetry), (tool, arguments), (tool, arguments))

    classified = {
        "toolfault.error.code": code,
        "toolfault.error.category": category,
        "toolfault.error.retryable": retryable,
        "gen_ai.tool.name": tool,
    }
    assert seen.counted("toolfault.server.failures") == [(classified, 2)]
    ((attributes, point),) = seen.points("mcp.server.operation.duration")
    assert attributes == {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "mcp.protocol.version": attributes["mcp.protocol.version"],
        "error.type": "tool_error",
        "toolfault.error.code": code,
    }
    assert (point.count, point.sum) == (2, 0.5)


def test_a_success_is_measured_and_nothing_else(seen):
    call(make(seen.telemetry), *[("works", {})] * 100)

    ((attributes, point),) = seen.points("mcp.server.operation.duration")
    assert errors_of(attributes) == {}
    assert (point.count, point.sum) == (100, 25.0)
    assert tuple(point.explicit_bounds) == (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
    assert seen.metrics()["mcp.server.operation.duration"].unit == "s"
    assert set(seen.metrics()) == {"mcp.server.operation.duration"}
    assert seen.ours == []
    assert all(errors_of(span.attributes) == {} for span in seen.served("tools/call works"))


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        (-32602, {"rpc.response.status_code": "-32602"}),
        (-32601, {"rpc.response.status_code": "-32601"}),
        (-32001, {"rpc.response.status_code": "-32001", "error.type": "-32001"}),
        (-32603, {"rpc.response.status_code": "-32603", "error.type": "-32603"}),
        (1001, {"rpc.response.status_code": "_OTHER", "error.type": "_OTHER"}),
    ],
)
def test_protocol_errors_are_measured_by_the_code_unless_the_caller_is_to_blame(seen, code, wanted):
    call(make(seen.telemetry), ("speaks", {"code": code}))

    ((attributes, _),) = seen.points("mcp.server.operation.duration")
    assert errors_of(attributes) == wanted
    assert seen.counted("toolfault.server.failures") == []


@pytest.mark.parametrize("params", [{"name": 7}, {}, None])
def test_a_request_that_is_malformed_is_the_callers_fault(seen, params):
    async def call_next(ctx):
        CallToolRequestParams.model_validate(ctx.params)

    async def run():
        with pytest.raises(ValidationError):
            await seen.telemetry.middleware(SimpleNamespace(method="tools/call", params=params), call_next)

    anyio.run(run)

    ((attributes, _),) = seen.points("mcp.server.operation.duration")
    assert errors_of(attributes) == {"rpc.response.status_code": "-32602"}
    assert attributes["gen_ai.tool.name"] == "_OTHER"


def test_a_handler_that_crashes_beside_the_guard_is_measured_by_its_class(seen):
    async def handler(ctx, params):
        raise RuntimeError(SECRET)

    server = Server("weather", on_call_tool=handler)
    server.middleware.append(seen.telemetry.middleware)
    call(server, ("works", {}))

    ((attributes, _),) = seen.points("mcp.server.operation.duration")
    assert errors_of(attributes) == {"error.type": "RuntimeError"}
    assert attributes["gen_ai.tool.name"] == "_OTHER"


def test_a_request_that_is_no_call_of_a_tool_is_not_measured(seen):
    async def run():
        async with Client(make(seen.telemetry)) as client:
            await client.list_tools()

    anyio.run(run)

    assert seen.metrics() == {}


def test_names_that_callers_think_of_become_no_names_of_spans_nor_values(seen):
    names = [f"{SECRET}-{number}" for number in range(20)]
    call(make(seen.telemetry), *[(name, {}) for name in names])

    assert SECRET not in seen.everything()
    assert len(seen.served("tools/call")) == 20
    ((attributes, value),) = seen.counted("toolfault.server.failures")
    assert (attributes["gen_ai.tool.name"], attributes["toolfault.error.code"], value) == (
        "_OTHER",
        "tool_not_found",
        20,
    )
    ((attributes, point),) = seen.points("mcp.server.operation.duration")
    assert (attributes["gen_ai.tool.name"], point.count) == ("_OTHER", 20)


def test_nothing_that_fails_brings_its_text_or_its_arguments(seen):
    calls = [(tool, arguments) for tool, arguments, *_ in FAILURES]
    calls += [("crashes", {"city": SECRET}), ("works", {"city": SECRET}), ("works", {"town": SECRET})]

    async def run():
        retry = Retry(attempts=2, sleep=skip, random=lambda: 0.0, observers=[seen.telemetry])
        async with Client(make(seen.telemetry)) as client:
            for name, arguments in calls:
                await retrying(client, retry).call_tool(name, arguments)

    anyio.run(run)

    assert len(seen.spans) > 3 * len(calls)
    assert len(seen.counted("toolfault.server.failures")) == len(seen.counted("toolfault.client.failures")) > 4
    assert SECRET not in seen.everything()


def test_the_hook_alone_and_the_middleware_alone_do_their_part(seen):
    server = install(MCPServer("weather", middleware=[seen.telemetry.middleware]))
    server.add_tool(FailingTool([LIMIT]), name="limited")
    call(server, ("limited", {}))
    ((attributes, _),) = seen.points("mcp.server.operation.duration")
    assert errors_of(attributes) == {"error.type": "tool_error"}
    assert seen.counted("toolfault.server.failures") == []

    server = install(MCPServer("weather"), Guard(on_failure=[seen.telemetry.on_failure]))
    server.add_tool(FailingTool([LIMIT]), name="limited")
    call(server, ("limited", {}))
    assert [value for _, value in seen.counted("toolfault.server.failures")] == [1]
    assert [point.count for _, point in seen.points("mcp.server.operation.duration")] == [1]


def test_a_call_that_a_tool_makes_to_another_server_keeps_its_own_failure(seen):
    ctx = SimpleNamespace(method="tools/call", params={"name": "works"})

    def fail(code):
        seen.telemetry.on_failure(ToolFault(code, "no"), ValueError(), Call(tool="works"))
        return {"isError": True}

    async def inner(ctx):
        return fail("quota_exceeded")

    async def outer(ctx):
        await seen.telemetry.middleware(ctx, inner)
        return fail("internal")

    anyio.run(seen.telemetry.middleware, ctx, outer)

    measured = [attributes["toolfault.error.code"] for attributes, _ in seen.points("mcp.server.operation.duration")]
    assert measured == ["quota_exceeded", "internal"]


def test_calls_at_the_same_time_keep_their_failures_apart(seen):
    async def run():
        async with Client(make(seen.telemetry)) as client, anyio.create_task_group() as tasks:
            for name in ["limited", "crashes", "works", "refused"] * 5:
                tasks.start_soon(client.call_tool, name, {})

    anyio.run(run)

    measured = {
        (attributes["gen_ai.tool.name"], attributes.get("toolfault.error.code")): point.count
        for attributes, point in seen.points("mcp.server.operation.duration")
    }
    assert measured == {
        ("limited", "quota_exceeded"): 5,
        ("crashes", "tool_panicked"): 5,
        ("works", None): 5,
        ("refused", "internal"): 5,
    }


def test_a_server_of_fastmcp_is_measured_from_a_middleware_of_its_own(seen):
    fastmcp = pytest.importorskip("fastmcp")
    from fastmcp.server.middleware import Middleware

    from toolfault.integrations.fastmcp import ToolFaultMiddleware

    class Measured(Middleware):
        async def on_call_tool(self, context, call_next):
            return await seen.telemetry.middleware(context, call_next)

    server = fastmcp.FastMCP("weather")
    server.add_middleware(Measured())
    server.add_middleware(ToolFaultMiddleware(Guard(on_failure=[seen.telemetry.on_failure])))

    @server.tool
    async def works() -> str:
        return "rain"

    @server.tool
    async def limited() -> str:
        raise LIMIT

    async def run():
        async with fastmcp.Client(server) as client:
            for name in ("works", "limited", SECRET):
                await client.call_tool(name, {}, raise_on_error=False)

    anyio.run(run)

    measured = {
        (attributes["gen_ai.tool.name"], attributes.get("toolfault.error.code"), point.count)
        for attributes, point in seen.points("mcp.server.operation.duration")
    }
    assert measured == {("works", None, 1), ("limited", "quota_exceeded", 1), ("_OTHER", "tool_not_found", 1)}
    assert [value for _, value in seen.counted("toolfault.server.failures")] == [1, 1]


# The client half


async def skip(_seconds):
    """
    Wait for nothing.
    """


def retry_of(seen, **rules):
    return Retry(sleep=skip, random=lambda: 0.0, observers=[seen.telemetry], **rules)


@pytest.mark.parametrize("way", ["memory", "trio", "stdio"])
def test_each_attempt_is_a_span_below_that_of_the_call(seen, way):
    async def run():
        target = make()
        if way == "stdio":
            target = StdioServerParameters(command=sys.executable, args=["-W", "error", __file__])
        async with Client(target) as client:
            result = await retrying(client, retry_of(seen)).call_tool("busy", {})
            assert result.content[0].text == "dry"

    anyio.run(run, backend="trio" if way == "trio" else "asyncio")

    *attempts, whole = seen.ours
    assert [(span.name, span.kind) for span in attempts] == [("tools/call busy", SpanKind.CLIENT)] * 3
    assert (whole.name, whole.kind, whole.parent) == ("call_tool busy", SpanKind.INTERNAL, None)
    assert {span.parent.span_id for span in attempts} == {whole.context.span_id}
    assert [span.attributes["toolfault.retry.attempt"] for span in attempts] == [1, 2, 3]
    assert [span.status.status_code for span in attempts] == [StatusCode.ERROR, StatusCode.ERROR, StatusCode.UNSET]
    assert [span.attributes.get("error.type") for span in attempts] == ["tool_error", "tool_error", None]
    assert [span.attributes.get("toolfault.error.code") for span in attempts] == ["quota_exceeded"] * 2 + [None]
    assert attempts[0].attributes["toolfault.error.id"] != attempts[1].attributes["toolfault.error.id"]
    # What a retry mended is no error of the call.
    assert whole.status.status_code is StatusCode.UNSET
    assert errors_of(whole.attributes) == {"toolfault.retry.attempts": 3, "toolfault.retry.stopped": "success"}
    assert seen.counted("toolfault.client.retries") == [({"gen_ai.tool.name": "busy"}, 2)]
    assert seen.counted("toolfault.client.failures") == []
    measured = [
        (attributes.get("toolfault.error.code"), attributes["gen_ai.tool.name"], point.count, point.sum)
        for attributes, point in seen.points("mcp.client.operation.duration")
    ]
    assert measured == [("quota_exceeded", "busy", 2, 0.5), (None, "busy", 1, 0.25)]


def test_the_servers_span_stands_below_that_of_its_attempt(seen):
    async def run():
        async with Client(make(seen.telemetry)) as client:
            await retrying(client, retry_of(seen)).call_tool("busy", {})

    anyio.run(run)

    attempts = {span.context.span_id for span in seen.ours if span.kind is SpanKind.CLIENT}
    spans = {span.context.span_id: span for span in seen.spans}

    def ancestors(span):
        while span.parent is not None:
            span = spans[span.parent.span_id]
            yield span.context.span_id

    assert [len(attempts & set(ancestors(span))) for span in seen.served("tools/call busy")] == [1, 1, 1]


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_trace_reaches_a_server_in_another_process(seen, way):
    async def run(target):
        async with Client(target) as client:
            return await retrying(client, retry_of(seen)).call_tool("traced", {})

    if way == "stdio":
        result = anyio.run(run, StdioServerParameters(command=sys.executable, args=["-W", "error", __file__]))
    else:
        from transports import http_server

        with http_server(__file__) as url:
            result = anyio.run(run, url)

    assert {trace.format_trace_id(span.context.trace_id) for span in seen.ours} == {result.content[0].text}


@pytest.mark.parametrize(
    ("tool", "rules", "code", "stopped", "attempts"),
    [
        ("limited", {}, "quota_exceeded", "attempts", 3),
        ("limited", {"hint_max": 5.0}, "quota_exceeded", "hint", 1),
        ("limited", {"trust_hints": False}, "quota_exceeded", "not_safe", 1),
        ("limited", {"timeout": 6.0}, "quota_exceeded", "deadline", 1),
        ("crashes", {}, "tool_panicked", "not_retryable", 1),
        ("nosuch", {}, "tool_not_found", "not_retryable", 1),
    ],
)
def test_a_call_that_stays_failed_says_which_error_it_was_and_why_it_ended(seen, tool, rules, code, stopped, attempts):
    async def run():
        async with Client(make()) as client:
            await retrying(client, retry_of(seen, **rules)).call_tool(tool, {})

    anyio.run(run)

    *made, whole = seen.ours
    known = tool != "nosuch"
    assert len(made) == attempts
    assert whole.name == (f"call_tool {tool}" if known else "call_tool")
    assert made[-1].name == (f"tools/call {tool}" if known else "tools/call")
    assert (whole.status.status_code, whole.status.description) == (StatusCode.ERROR, None)
    said = whole.attributes
    assert (said["error.type"], said["toolfault.error.code"], made[-1].attributes["error.type"]) == (
        code,
        code,
        "tool_error",
    )
    assert (said["toolfault.retry.stopped"], said["toolfault.retry.attempts"]) == (stopped, attempts)
    ((attributes, value),) = seen.counted("toolfault.client.failures")
    assert value == 1
    assert attributes == {
        "toolfault.error.code": code,
        "toolfault.error.category": said["toolfault.error.category"],
        "toolfault.error.retryable": said["toolfault.error.retryable"],
        "toolfault.retry.stopped": stopped,
        "gen_ai.tool.name": tool if known else "_OTHER",
    }


def rpc(code, message, data=None):
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message, "data": data}}


@pytest.mark.parametrize(
    ("came", "wanted"),
    [
        (TimeoutError("too late"), {"error.type": "timeout", "toolfault.error.code": "tool_timeout"}),
        (MCPError(-32001, "Request timed out"), {"error.type": "timeout", "toolfault.error.code": "tool_timeout"}),
        (
            socket.gaierror(-2, "Name or service not known"),
            {"error.type": "mcp_server_unreachable", "toolfault.error.code": "mcp_server_unreachable"},
        ),
        (
            rpc(-32602, "days is not valid"),
            {
                "error.type": "-32602",
                "rpc.response.status_code": "-32602",
                "toolfault.error.code": "invalid_arguments",
            },
        ),
        (
            rpc(-32000, "no"),
            {"error.type": "-32000", "rpc.response.status_code": "-32000", "toolfault.error.code": "unknown"},
        ),
        (
            rpc(4711, "no"),
            {"error.type": "_OTHER", "rpc.response.status_code": "_OTHER", "toolfault.error.code": "unknown"},
        ),
        (
            rpc(-32000, "no", LIMIT.envelope.to_wire()),
            {"error.type": "_OTHER", "rpc.response.status_code": "_OTHER", "toolfault.error.code": "quota_exceeded"},
        ),
        (to_result(LIMIT), {"error.type": "tool_error", "toolfault.error.code": "quota_exceeded"}),
    ],
    ids=str,
)
def test_an_attempt_ends_with_the_conventions_word_for_its_error(seen, came, wanted):
    def attempt(_number):
        if isinstance(came, Exception):
            raise came
        return came

    retried = retry_of(seen, attempts=1).run_sync(attempt, name="forecast")

    assert retried.fault is not None
    span, whole = seen.ours
    ((attributes, _),) = seen.points("mcp.client.operation.duration")
    assert errors_of(attributes) == wanted
    assert {name: span.attributes[name] for name in wanted} == wanted
    assert whole.attributes["error.type"] == wanted["toolfault.error.code"]


@pytest.mark.parametrize("text", [SECRET, f"{SECRET} and more", "8f0c12ab\n", "8f0c12ab" * 9, "", "\ud800"])
def test_facts_that_are_none_stay_away(seen, text):
    facts = {"id": text, "origin": text}

    def attempt(_number):
        raise ToolFault.of(LIMIT.envelope, facts=facts)

    assert retry_of(seen, attempts=1).run_sync(attempt, name="forecast").fault.facts == facts
    assert all("toolfault.error.code" in span.attributes for span in seen.ours)
    assert all("toolfault.error.id" not in span.attributes for span in seen.ours)
    assert all("toolfault.error.origin" not in span.attributes for span in seen.ours)


@pytest.mark.parametrize(
    "made", ["8f0c12ab34cd", "8F0C12AB-34cd-4000-8000-0123456789ab", "0af7651916cd43dd8448eb211c80319c"]
)
def test_ids_that_others_make_are_kept(seen, made):
    fault = ToolFault.of(LIMIT.envelope, facts={"id": made})

    retry_of(seen, attempts=1).run_sync(lambda _number: to_result(fault), name="forecast")

    assert [span.attributes["toolfault.error.id"] for span in seen.ours] == [made, made]


@pytest.mark.parametrize("name", ["a\nb", "\ud800", "\u202e", "x" * 129])
def test_a_name_that_nobody_can_show_is_none(seen, name):
    for _ in range(2):
        with seen.telemetry.attempting(name, 1) as ended:
            ended(None)

    assert [span.name for span in seen.ours] == ["tools/call", "tools/call"]
    assert {attributes["gen_ai.tool.name"] for attributes, _ in seen.points("mcp.client.operation.duration")} == {
        "_OTHER"
    }


def test_what_a_success_costs_is_bounded(seen):
    """
    How often Python calls a function of ours in the tenth call of a tool that works, on both sides.
    """
    made = Counter()

    def count_ours(frame, event, _argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.stem == "opentelemetry" and path.parent.name == "integrations":
            made[frame.f_code.co_name] += 1

    async def run():
        async with Client(make(seen.telemetry)) as client:
            wrapped = retrying(client, retry_of(seen))
            for _ in range(9):
                await wrapped.call_tool("works", {})
            sys.setprofile(count_ours)
            await wrapped.call_tool("works", {})
            sys.setprofile(None)

    before = sys.getprofile()
    try:
        anyio.run(run)
    finally:
        sys.setprofile(before)

    assert made["_rename"] == 0
    assert 0 < sum(made.values()) <= 40


def test_a_call_without_a_name_has_none(seen):
    retry_of(seen).call_sync(lambda _number: to_result(LIMIT))

    assert [span.name for span in seen.ours] == ["tools/call", "call_tool"]
    assert "gen_ai.tool.name" not in seen.everything()


def test_cancellation_is_no_error_on_either_side(seen):
    async def run():
        async with Client(make(seen.telemetry)) as client:
            wrapped = retrying(client, retry_of(seen))
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(wrapped.call_tool, "hangs", {})
                    await anyio.wait_all_tasks_blocked()
                    scope.cancel()

    anyio.run(run)

    (served,) = seen.served("tools/call hangs")
    attempt, whole = seen.ours
    for span in (served, attempt, whole):
        assert (
            span.status.status_code,
            span.events,
            errors_of(span.attributes).keys() - {"toolfault.retry.attempt"},
        ) == (
            StatusCode.UNSET,
            (),
            set(),
        )
    assert seen.metrics() == {}


def test_what_is_no_failure_of_the_tool_leaves_no_error(seen):
    def attempt(_number):
        raise concurrent.futures.CancelledError(SECRET)

    with pytest.raises(concurrent.futures.CancelledError):
        retry_of(seen).call_sync(attempt, name="forecast")

    assert [(span.status.status_code, span.events) for span in seen.ours] == [(StatusCode.UNSET, ())] * 2
    assert SECRET not in seen.everything()
    assert seen.metrics() == {}


def test_a_peer_can_make_no_more_series_than_there_are_places(seen):
    for name in ["x" * 129, *(f"tool-{number}" for number in range(1100))]:
        with seen.telemetry.attempting(name, 1) as ended:
            ended(None)

    labels = [attributes["gen_ai.tool.name"] for attributes, _ in seen.points("mcp.client.operation.duration")]
    assert (len(labels), labels.count("_OTHER"), max(map(len, labels))) == (1001, 1, len("tool-1000") - 1)


WORDS = st.sampled_from(["quota_exceeded", "internal", "transient", "upstream", "8f0c12ab", "no tool of that name"])
TEXTS = WORDS | st.text("aZ9_-. \x00\n\u202e\ud800\xe9", max_size=80)
NUMBERS = st.integers(-33000, -31000) | st.integers() | st.floats()
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)  # the first text compiles
@given(
    envelope=st.fixed_dictionaries({}, optional={"code": JSON, "category": JSON, "retryable": JSON, "message": JSON}),
    facts=st.fixed_dictionaries({}, optional={"id": JSON, "origin": JSON, "outcome": JSON}),
    flag=st.booleans(),
)
def test_whatever_a_peer_answers_the_attributes_are_few_and_plain(envelope, facts, flag):
    seen = Seen()
    if flag:
        answer = {
            "isError": True,
            "content": [],
            "structuredContent": envelope,
            "_meta": {"io.github.toolfault/error": facts},
        }
    else:
        answer = {"code": envelope.get("code"), "message": "no", "data": {**envelope, **facts}}
    retry_of(seen, attempts=1).run_sync(lambda _number: answer, name="forecast")

    for attributes, _ in seen.points("mcp.client.operation.duration"):
        assert attributes.keys() <= {
            "mcp.method.name",
            "gen_ai.operation.name",
            "gen_ai.tool.name",
            "error.type",
            "rpc.response.status_code",
            "toolfault.error.code",
        }
        kind = attributes.get("error.type", "_OTHER")
        assert kind in {"tool_error", "timeout", "_OTHER"} or -32768 <= int(kind) <= -32000
    for span in seen.ours:
        assert all(isinstance(value, (str, bool, int)) and len(str(value)) <= 64 for value in span.attributes.values())
        json.dumps(dict(span.attributes)).encode()


# Around it


def test_without_a_provider_nothing_happens_and_nothing_breaks():
    telemetry = Telemetry()

    async def run():
        async with Client(make(telemetry)) as client:
            wrapped = retrying(client, Retry(sleep=skip, random=lambda: 0.0, observers=[telemetry]))
            return [await wrapped.call_tool(name, {}) for name in ("busy", "works", "crashes", "nosuch")]

    results = anyio.run(run)

    codes = [fault and fault.code.value for fault in map(parse, results)]
    assert codes == [None, None, "tool_panicked", "tool_not_found"]


def test_without_the_api_the_error_names_the_cure(monkeypatch):
    import importlib

    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "toolfault.integrations.opentelemetry")

    with pytest.raises(ImportError, match=r"pip install 'toolfault\[opentelemetry\]'"):
        importlib.import_module("toolfault.integrations.opentelemetry")


if __name__ == "__main__":
    trace.set_tracer_provider(TracerProvider())
    if sys.argv[1:]:
        uvicorn.run(make().streamable_http_app(), fd=int(sys.argv[1]), log_level="error")
    else:
        make().run("stdio")
