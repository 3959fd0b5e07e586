"""
Spans and metrics of the calls that a gateway carries.
"""

import json
import os
import subprocess
import sys

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from http_client import HttpClient, listening
from raw_client import MODERN, connected, gateway
from remote_server import serving
from toolfault import ToolFault
from toolfault.integrations.opentelemetry import Telemetry


CONSOLE = {"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "console"}
TRACE = "0af7651916cd43dd8448eb211c80319c"


def documents(text):
    """
    The JSON objects in a text with other lines.
    """
    decoder, at = json.JSONDecoder(), 0
    while (at := text.find("{\n", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            at += 1
            continue
        yield value


def test_calls_through_the_gateway_are_traced_and_measured():
    with connected(gateway("--otel"), stderr=subprocess.PIPE, **CONSOLE) as client:
        client.initialize()
        client.call("weak", _meta={"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"})
        client.call("echo")
        client.close()
        told = list(documents(client.process.stderr.read().decode()))

    spans = {one["attributes"].get("gen_ai.tool.name"): one for one in told if "attributes" in one and "name" in one}
    assert {"weak", "echo"} & spans.keys()
    failed = next(one for one in spans.values() if one["status"]["status_code"] == "ERROR")
    assert failed["name"] == "tools/call weak"
    assert failed["context"]["trace_id"] == f"0x{TRACE}"
    assert failed["attributes"]["toolfault.error.code"]
    names = {metric["name"] for one in told for metric in metrics_in(one)}
    assert {"mcp.client.operation.duration", "toolfault.client.failures"} <= names


def test_calls_over_http_are_traced():
    env = {**os.environ, **CONSOLE}
    with serving() as server, listening(server.url, "--otel", env=env, stdout=subprocess.PIPE) as process:
        HttpClient(process.port).call("iserr", _meta={**MODERN, "traceparent": f"00-{TRACE}-b7ad6b7169203331-01"})
        process.terminate()
        told = list(documents(process.stdout.read()))
        process.stdout.close()

    (span,) = [one for one in told if one.get("name") == "tools/call iserr"]
    assert span["context"]["trace_id"] == f"0x{TRACE}"
    assert span["status"]["status_code"] == "ERROR"


def metrics_in(document):
    for resource in document.get("resource_metrics", ()):
        for scope in resource["scope_metrics"]:
            yield from scope["metrics"]


def test_a_missing_exporter_names_the_cure():
    env = {**os.environ, "OTEL_TRACES_EXPORTER": "nowhere"}
    run = subprocess.run(gateway("--otel"), capture_output=True, text=True, timeout=60, env=env)

    assert run.returncode == 2
    assert "--otel: there is no exporter 'nowhere': pip install opentelemetry-exporter-nowhere, or set" in run.stderr


@pytest.mark.parametrize(("fault", "error"), [(None, None), (ToolFault("quota_exceeded", "used up"), "quota_exceeded")])
def test_a_call_is_a_span_of_its_length(fault, error):
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    traces = TracerProvider()
    traces.add_span_processor(SimpleSpanProcessor(exporter))

    Telemetry(traces, MeterProvider([reader])).record("t", 2.0, fault, meta={"traceparent": 5})

    (span,) = exporter.get_finished_spans()
    assert span.parent is None
    assert 1.9 < (span.end_time - span.start_time) / 1e9 < 60
    assert span.attributes.get("toolfault.error.code") == error


def test_nothing_of_it_is_loaded_without_the_option():
    script = "import sys, toolfault.cli.gateway, toolfault.gateway._pump; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert "opentelemetry" not in run.stdout
