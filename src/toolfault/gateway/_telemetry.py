"""
Spans and metrics of the calls that a gateway carries, set up as the ``OTEL_`` variables say.
"""

from __future__ import annotations

import os
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from toolfault.gateway._calls import Call, as_object


if TYPE_CHECKING:
    from toolfault.errors import ToolFault
    from toolfault.gateway._session import Observer


class TelemetryError(Exception):
    """
    OpenTelemetry that can't be set up; the text names the cure.
    """


def observe() -> Observer:
    """
    Return what measures each call that has ended.

    Raises:
        TelemetryError: A package is missing, or a variable has a value that it can't have.
    """
    try:
        from opentelemetry import trace  # noqa: PLC0415 -- only where it is wanted

        from toolfault.integrations.opentelemetry import Telemetry  # noqa: PLC0415 -- as above
    except ImportError as exc:
        cure = "pip install 'toolfault[opentelemetry]' opentelemetry-sdk"
        raise TelemetryError(f"{exc.name} is missing: {cure}") from None
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        _set_up()
    telemetry = Telemetry()

    def record(call: Call, seconds: float, fault: ToolFault | None) -> None:
        meta = as_object(call.params.get("_meta"))
        telemetry.record(call.tool, seconds, fault, meta=meta)

    return record


def _set_up() -> None:
    """
    Set the SDK up, unless a program that started us has done that.
    """
    try:
        from opentelemetry import metrics, trace  # noqa: PLC0415 -- only where it is wanted
        from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 -- as above
        from opentelemetry.sdk.metrics.export import (  # noqa: PLC0415 -- as above
            PeriodicExportingMetricReader,
        )
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 -- as above
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 -- as above
    except ImportError:
        raise TelemetryError("the SDK is missing: pip install opentelemetry-sdk") from None
    traces = TracerProvider()
    for exporter in _exporters("traces"):
        traces.add_span_processor(BatchSpanProcessor(exporter))
    readers = [PeriodicExportingMetricReader(exporter) for exporter in _exporters("metrics")]
    trace.set_tracer_provider(traces)
    metrics.set_meter_provider(MeterProvider(readers))


def _exporters(signal: str) -> list[Any]:
    """
    Return the exporters that a variable names; OTLP's if there is no such variable.

    Raises:
        TelemetryError: One of them is not installed.
    """
    variable = f"OTEL_{signal.upper()}_EXPORTER"
    names = [name.strip() for name in os.environ.get(variable, "otlp").split(",")]
    exporters: list[Any] = []
    for name in names:
        if name in {"", "none"}:
            continue
        found = entry_points(group=f"opentelemetry_{signal}_exporter", name=name)
        if not found:
            raise TelemetryError(
                f"there is no exporter {name!r}: "
                f"pip install opentelemetry-exporter-{name}, or set {variable}=none"
            )
        exporters.append(next(iter(found)).load()())
    return exporters
