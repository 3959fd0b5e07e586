"""
What error trackers and structured loggers make of the records, and what broken handlers can do.
"""

import io
import json
import logging
import sys

import anyio
import pytest
import sentry_sdk
import structlog
from mcp import Client
from mcp.server import MCPServer
from pythonjsonlogger.json import JsonFormatter
from sentry_sdk.transport import Transport

from toolfault import Guard
from toolfault.integrations.mcp import install


LOGGER = logging.getLogger("toolfault")
SECRET = "password=hunter2secret"


def call_all(guard, *names):
    server = install(MCPServer("logs", log_level="CRITICAL"), guard)

    @server.tool()
    async def key() -> str:
        return {}["city"]

    @server.tool()
    async def divide() -> str:
        return str(1 / 0)

    @server.tool()
    async def leak() -> str:
        raise RuntimeError(SECRET)

    @server.tool()
    async def refuse() -> str:
        raise ValueError("no such city")

    async def run():
        async with Client(server) as client:
            return [await client.call_tool(name, {}) for name in names]

    return anyio.run(run)


def id_of(result):
    return result.meta["io.github.toolfault/error"]["id"]


@pytest.fixture
def events():
    class Memory(Transport):
        def capture_envelope(self, envelope):
            event = envelope.get_event()
            if event is not None:
                seen.append(event)

    seen = []
    # Sentry's integration of mcp would stay in the SDK's classes, for all tests that follow.
    quiet = {"default_integrations": True, "auto_enabling_integrations": False}
    sentry_sdk.init(dsn="https://key@sentry.invalid/1", transport=Memory, **quiet)
    yield seen
    sentry_sdk.init(**quiet)


def tag_failure(fault, exc, call):
    scope = sentry_sdk.get_current_scope()
    scope.set_tag("toolfault.id", fault.facts["id"])
    scope.set_tag("toolfault.code", fault.code)


def test_sentry_gets_one_event_for_each_crash_grouped_by_exception(events):
    results = call_all(Guard(on_failure=[tag_failure]), "key", "divide", "refuse", "key")

    crashed = [results[0], results[1], results[3]]
    assert [event["exception"]["values"][-1]["type"] for event in events] == [
        "KeyError",
        "ZeroDivisionError",
        "KeyError",
    ]
    assert all(event["exception"]["values"][-1]["stacktrace"]["frames"] for event in events)
    assert [event["tags"]["toolfault.id"] for event in events] == [id_of(result) for result in crashed]
    assert [event["extra"]["id"] for event in events] == [id_of(result) for result in crashed]


@pytest.fixture
def stream():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    LOGGER.addHandler(handler)
    yield stream, handler
    LOGGER.removeHandler(handler)


def test_json_lines_have_the_fields_and_the_exception(stream):
    text, handler = stream
    handler.setFormatter(JsonFormatter("%(levelname)s %(message)s"))
    (result,) = call_all(Guard(), "key")

    (line,) = map(json.loads, text.getvalue().splitlines())
    assert (line["tool"], line["code"], line["id"], line["origin"]) == ("key", "tool_panicked", id_of(result), "tool")
    assert "KeyError: 'city'" in line["exc_info"]


def test_redacted_tracebacks_stay_redacted_in_json(stream):
    text, handler = stream
    handler.setFormatter(JsonFormatter("%(levelname)s %(message)s"))
    call_all(Guard(log_tracebacks="redacted", expect={RuntimeError: "tool_panicked"}), "leak", "key")

    assert "Traceback" in text.getvalue()
    assert "hunter2secret" not in text.getvalue()


def test_structlog_renders_the_exception(stream):
    text, handler = stream
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.ExtraAdder()],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.dict_tracebacks,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    (result,) = call_all(Guard(), "divide")

    (line,) = map(json.loads, text.getvalue().splitlines())
    assert (line["tool"], line["id"]) == ("divide", id_of(result))
    assert line["exception"][0]["exc_type"] == "ZeroDivisionError"


class _Raises(logging.Handler):
    def __init__(self, raised):
        super().__init__()
        self.raised = raised

    def emit(self, record):
        raise self.raised


@pytest.mark.parametrize(
    "raised",
    [RuntimeError(SECRET), SystemExit(3), GeneratorExit(), RecursionError(), anyio.EndOfStream()],
    ids=lambda raised: type(raised).__name__,
)
@pytest.mark.parametrize("place", ["filter", "handler", "logger filter"])
def test_logging_that_raises_costs_no_envelope(place, raised):
    handler = _Raises(raised)

    class Filter(logging.Filter):
        def filter(self, record):
            raise raised

    broken = Filter()
    if place == "filter":
        handler.addFilter(broken)
    target = LOGGER if place == "logger filter" else None
    if target is not None:
        target.addFilter(broken)
    LOGGER.addHandler(handler)
    try:
        results = call_all(Guard(), "key", "leak", "refuse", "key")
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.removeFilter(broken)

    assert ["code" in result.structured_content for result in results] == [True] * 4
    assert "hunter2secret" not in str(results)


def test_a_closed_stream_costs_no_envelope(monkeypatch):
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    LOGGER.addHandler(handler)
    stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    try:
        (result,) = call_all(Guard(), "key")
    finally:
        LOGGER.removeHandler(handler)

    assert result.structured_content["code"] == "tool_panicked"
