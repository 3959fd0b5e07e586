"""
OpenTelemetry: `Telemetry` counts, measures and traces failures, on both sides of the protocol.

Names are those of the conventions for MCP where they have one (semantic-conventions-genai,
docs/gen-ai/mcp.md, status Development), and stand under ``toolfault.`` where they have none.

Rule 1: no message, argument or result becomes an attribute.
Rule 2: every attribute of a metric, and every name of a span, has few values, whatever a peer
sends: a tool's name is ``_OTHER`` until the tool is known to exist.
Rule 3: a call that succeeds after a retry has no error; a cancellation is not an error either.
Rule 4: ``error.type`` has the convention's words, ``toolfault.error.code`` our code.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

from pydantic import ValidationError


try:
    from opentelemetry import metrics, trace
    from opentelemetry.context import Context
    from opentelemetry.metrics import Histogram, MeterProvider
    from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
    from opentelemetry.util.types import AttributeValue
except ImportError as exc:
    if not (exc.name or "").startswith("opentelemetry"):
        raise
    raise ImportError(
        "toolfault.integrations.opentelemetry needs the OpenTelemetry API: "
        "pip install 'toolfault[opentelemetry]'"
    ) from exc

from toolfault import McpErrorCode, ToolFault, __version__
from toolfault.hooks import Retried
from toolfault.hosting import Call


__all__ = ["Telemetry"]

Attributes: TypeAlias = dict[str, AttributeValue]
"""
What is said of a span or a point.
"""

_METHOD: Final = "tools/call"

#: What each call says of itself.
_CALL: Final[Attributes] = {"mcp.method.name": _METHOD, "gen_ai.operation.name": "execute_tool"}

_TOOL: Final = "gen_ai.tool.name"
_ERROR: Final = "error.type"
_STATUS: Final = "rpc.response.status_code"
_CODE: Final = "toolfault.error.code"

#: The conventions' word for a value that would be one of too many.
_OTHER: Final = "_OTHER"

#: The conventions' bounds of both histograms, in seconds.
_BOUNDS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)

#: Errors that are the caller's fault, and no failure of the server (semantic-conventions-genai,
#: #404).
_CALLERS: Final = frozenset({-32700, -32600, -32601, -32602, -32002})

#: What JSON-RPC sets apart for its own errors and a server's; a peer may send any number.
_RESERVED: Final = range(-32768, -31999)

_INVALID_PARAMS: Final = -32602

#: How many names of tools are told apart, and how long they may be (SEP-986).
_MAX_TOOLS: Final = 1000
_MAX_NAME: Final = 128

#: Where a failure stood that was no result.
_NO_RESULT: Final = frozenset({"jsonrpc_error", "exception"})

_ORIGINS: Final = frozenset({"tool", "upstream", "adapter", "gateway", "transport"})

#: Correlation ids as they are made, UUIDs included; what else a peer calls one may be anything, a
#: password too.
_is_id = re.compile(r"[0-9A-Fa-f-]{8,64}").fullmatch


class _Served:
    """
    One call that a server answers, for the hook that learns how it failed.
    """

    __slots__ = ("fault",)

    def __init__(self) -> None:
        self.fault: ToolFault | None = None


_serving: Final[ContextVar[_Served | None]] = ContextVar(
    "toolfault_opentelemetry_serving", default=None
)


class Telemetry:
    """
    Spans and metrics of tool calls, for any number of servers, clients and threads.

    A server, whose spans are the SDK's own::

        telemetry = Telemetry()
        server = MCPServer("weather", middleware=[telemetry.middleware])
        install(server, Guard(on_failure=[telemetry.on_failure]))

    A client::

        retrying(session, Retry(observers=[telemetry]))

    Metrics:

    * ``mcp.server.operation.duration``: seconds of ``tools/call``, by tool and error
    * ``toolfault.server.failures``: failures by code, category, retryable and tool
    * ``mcp.client.operation.duration``: seconds of each attempt
    * ``toolfault.client.failures``: calls that stayed failed, also by why the attempts stopped
    * ``toolfault.client.retries``: attempts after the first, by tool

    Spans get ``toolfault.error.`` ``code``, ``category``, ``retryable``, ``origin`` and ``id``,
    which the server's log repeats. A client's call is a span of kind INTERNAL, with
    ``toolfault.retry.attempts`` and ``toolfault.retry.stopped``; below it stands one of kind CLIENT
    for each attempt.

    Args:
        tracer_provider: None: the global one. A server's spans are made by its SDK, with the global
            one.
        meter_provider: None: the global one.
        clock: A monotonic clock in seconds.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """
        Make the instruments.
        """
        self._clock = clock
        self._tools = _Tools()
        self._tracer = trace.get_tracer("toolfault", __version__, tracer_provider)
        meter = metrics.get_meter("toolfault", __version__, meter_provider)

        def duration(side: str, description: str) -> Histogram:
            name = f"mcp.{side}.operation.duration"
            return meter.create_histogram(
                name, "s", description, explicit_bucket_boundaries_advisory=_BOUNDS
            )

        self._served = duration(
            "server", "The duration of a request, from its receipt until its result is sent."
        )
        self._sent = duration(
            "client", "The duration of a request, from its sending until its result is received."
        )
        self._server_failures = meter.create_counter(
            "toolfault.server.failures",
            "{failure}",
            "Tool calls that a server answered with a failure.",
        )
        self._client_failures = meter.create_counter(
            "toolfault.client.failures", "{failure}", "Tool calls of a client that stayed failed."
        )
        self._retries = meter.create_counter(
            "toolfault.client.retries", "{retry}", "Attempts of tool calls after the first."
        )

    # The server half

    def on_failure(self, fault: ToolFault, _exc: BaseException, call: Call, /) -> None:
        """
        Count a failure, and say on the running span which it is: a `hooks.FailureHook`.

        A span of the SDK that is named after a tool that is not there gets a name that a caller
        can't choose.
        """
        exists = call.phase != "lookup"
        if exists:
            self._tools.learn(call.tool)
        served = _serving.get()
        if served is not None:
            served.fault = fault
        span = trace.get_current_span()
        if span.is_recording():
            span.set_attributes(_error_attributes(fault))
            # The API can't read a name, the SDK's spans can be asked.
            if not exists and getattr(span, "name", None) == f"{_METHOD} {call.tool}":
                _rename(span, _METHOD, {_TOOL: _OTHER})
        self._server_failures.add(
            1, {**_class_attributes(fault), _TOOL: self._tools.label(call.tool)}
        )

    async def middleware(self, ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        """
        Measure calls of tools: a middleware for a server of mcp 2.x. Other requests pass by.

        FastMCP wants a class: an ``on_call_tool`` that returns ``await
        telemetry.middleware(context, call_next)``.
        """
        if ctx.method != _METHOD:
            return await call_next(ctx)
        served = _Served()
        token = _serving.set(served)
        begun = self._clock()
        try:
            result = await call_next(ctx)
        except Exception as exc:
            self._end(ctx, begun, _why_raised(exc))
            raise
        finally:
            _serving.reset(token)
        self._end(ctx, begun, _why_failed(served.fault) if _is_error(result) else None)
        return result

    def _end(self, ctx: Any, begun: float, error: Attributes | None) -> None:
        took, name = self._clock() - begun, _name_in(ctx)
        if error is None:
            self._tools.learn(name)
        called = {**_CALL, _TOOL: self._tools.label(name)}
        # FastMCP's contexts have none.
        if (version := getattr(ctx, "protocol_version", None)) is not None:
            called["mcp.protocol.version"] = version
        self._served.record(took, {**called, **error} if error else called)

    # The client half

    @contextmanager
    def calling(self, name: str | None, /) -> Generator[Callable[[Retried[Any]], None]]:
        """
        Trace a call with all its attempts; see `hooks.RetryObserver`.
        """
        before = self._name_attributes(name)
        with self._span("call_tool", SpanKind.INTERNAL, before, {}) as span:

            def end_call(retried: Retried[Any]) -> None:
                fault, named = retried.fault, self._name_attributes(name)
                stopped: Attributes = {"toolfault.retry.stopped": retried.stopped}
                if fault is not None:
                    self._client_failures.add(1, {**_class_attributes(fault), **stopped, **named})
                if span.is_recording():
                    if named != before:
                        _rename(span, "call_tool", named)
                    span.set_attributes(
                        {**stopped, "toolfault.retry.attempts": len(retried.attempts)}
                    )
                    if fault is not None:
                        _fail(span, fault, {_ERROR: fault.code.value})

            yield end_call

    @contextmanager
    def attempting(
        self, name: str | None, number: int, /
    ) -> Generator[Callable[[ToolFault | None], None]]:
        """
        Trace, measure and count one attempt; see `hooks.RetryObserver`.
        """
        before = self._name_attributes(name)
        if number > 1:
            self._retries.add(1, before)
        with self._span(
            _METHOD, SpanKind.CLIENT, before, {**_CALL, "toolfault.retry.attempt": number}
        ) as span:
            begun = self._clock()

            def end_attempt(fault: ToolFault | None) -> None:
                took = self._clock() - begun
                if _proves_tool(fault):
                    self._tools.learn(name)
                named, error = (
                    self._name_attributes(name),
                    {} if fault is None else _why_no_success(fault),
                )
                self._sent.record(took, {**_CALL, **named, **error})
                if span.is_recording():
                    if named != before:
                        _rename(span, _METHOD, named)
                    if fault is not None:
                        _fail(span, fault, error)

            yield end_attempt

    # A gateway

    def record(
        self,
        name: str | None,
        seconds: float,
        fault: ToolFault | None,
        *,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        """
        Trace, measure and count a call that has ended: for a program that carries calls of others.

        The span is of kind CLIENT and ends now. Its parent is that of the call, if its ``_meta``
        has a ``traceparent``.

        Args:
            name: The name of the tool.
            seconds: How long the call took.
            fault: How it failed. None: it succeeded.
            meta: The ``_meta`` of the request.
        """
        if _proves_tool(fault):
            self._tools.learn(name)
        named = self._name_attributes(name)
        error = {} if fault is None else _why_no_success(fault)
        self._sent.record(seconds, {**_CALL, **named, **error})
        if fault is not None:
            self._client_failures.add(1, {**_class_attributes(fault), **named})
        span = self._tracer.start_span(
            _title(_METHOD, named),
            context=_parent_in(meta),
            kind=SpanKind.CLIENT,
            attributes={**_CALL, **named},
            start_time=time.time_ns() - int(seconds * 1e9),
        )
        if fault is not None and span.is_recording():
            _fail(span, fault, error)
        span.end()

    def _name_attributes(self, name: str | None) -> Attributes:
        return {} if name is None else {_TOOL: self._tools.label(name)}

    def _span(
        self, what: str, kind: SpanKind, named: Attributes, attributes: Attributes
    ) -> AbstractContextManager[Span]:
        # What leaves as an exception is a cancellation, or no failure of the tool.
        return self._tracer.start_as_current_span(
            _title(what, named),
            kind=kind,
            attributes={**attributes, **named},
            record_exception=False,
            set_status_on_exception=False,
        )


class _Tools:
    """
    The names that are known to be tools'; safe to use from many threads.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: set[str] = set()

    def learn(self, name: str | None) -> None:
        """
        Remember the name of a tool, unless there are too many, or it is too long or not printable.
        """
        if name is None or len(self._known) >= _MAX_TOOLS:
            return
        if len(name) <= _MAX_NAME and name.isprintable():
            self._known.add(name)

    def label(self, name: str | None) -> str:
        """
        Return the name as an attribute's value.
        """
        return name if name is not None and name in self._known else _OTHER


def _parent_in(meta: Mapping[str, Any] | None) -> Context:
    """
    Return the context that a request names (SEP-414); one without a span if it names none.
    """
    given = {key: (meta or {}).get(key) for key in ("traceparent", "tracestate")}
    carrier = {key: value for key, value in given.items() if isinstance(value, str)}
    return TraceContextTextMapPropagator().extract(carrier, Context())


# What failures are as attributes


def _class_attributes(fault: ToolFault) -> Attributes:
    envelope = fault.envelope
    return {
        _CODE: envelope.code.value,
        "toolfault.error.category": envelope.category.value,
        "toolfault.error.retryable": envelope.retryable,
    }


def _error_attributes(fault: ToolFault) -> Attributes:
    origin, failure_id = fault.facts.get("origin"), fault.facts.get("id")
    described = _class_attributes(fault)
    if isinstance(origin, str) and origin in _ORIGINS:
        described["toolfault.error.origin"] = origin
    if isinstance(failure_id, str) and _is_id(failure_id):
        described["toolfault.error.id"] = failure_id
    return described


def _why_failed(fault: ToolFault | None) -> Attributes:
    """
    Return what a result with ``isError`` is; None: nobody told which failure it was.
    """
    return (
        {_ERROR: "tool_error"} if fault is None else {_ERROR: "tool_error", _CODE: fault.code.value}
    )


def _why_no_success(fault: ToolFault) -> Attributes:
    """
    Return the attributes of a client's failed attempt.
    """
    if fault.found_in not in _NO_RESULT:
        return _why_failed(fault)
    code = {_CODE: fault.code.value}
    if fault.code is McpErrorCode.TOOL_TIMEOUT:
        return {_ERROR: "timeout", **code}
    if fault.found_in == "exception":
        return {_ERROR: fault.code.value, **code}
    body: Any = fault.received
    status = _status_of(body.get("code") if isinstance(fault.received, dict) else None)
    return {_ERROR: status, _STATUS: status, **code}


def _why_raised(exc: Exception) -> Attributes:
    """
    Return the attributes of an exception that left a handler: a protocol error, or a crash.
    """
    code = getattr(getattr(exc, "error", None), "code", None)
    if isinstance(exc, ValidationError):
        code = _INVALID_PARAMS
    if not isinstance(code, int):
        return {_ERROR: type(exc).__qualname__}
    status = _status_of(code)
    return {_STATUS: status} if code in _CALLERS else {_ERROR: status, _STATUS: status}


def _status_of(code: object) -> str:
    return str(code) if type(code) is int and code in _RESERVED else _OTHER


def _proves_tool(fault: ToolFault | None) -> bool:
    """
    Tell whether the end of an attempt proves that there is such a tool.
    """
    if fault is None:
        return True
    return fault.code is not McpErrorCode.TOOL_NOT_FOUND and fault.found_in not in _NO_RESULT


def _is_error(result: object) -> bool:
    """
    Tell whether a result, in wire spelling or as the SDK's model, is a failure.
    """
    if isinstance(result, Mapping):
        return result.get("isError") is True  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- a handler's result
    return getattr(result, "is_error", False) is True


def _name_in(ctx: Any) -> str | None:
    """
    Return the name in a request: the SDK's contexts have it as it came, FastMCP's as a model.
    """
    params: Mapping[str, Any] | None = getattr(ctx, "params", None)
    if params is None:
        name = getattr(getattr(ctx, "message", None), "name", None)
    else:
        name = params.get("name")
    return name if isinstance(name, str) else None


# Spans


def _title(what: str, named: Attributes) -> str:
    label = named.get(_TOOL, _OTHER)
    return what if label == _OTHER else f"{what} {label}"


def _rename(span: Span, what: str, named: Attributes) -> None:
    span.update_name(_title(what, named))
    span.set_attributes(named)


def _fail(span: Span, fault: ToolFault, error: Attributes) -> None:
    # Without a description: the message is for people and models.
    span.set_attributes({**_error_attributes(fault), **error})
    span.set_status(Status(StatusCode.ERROR))
