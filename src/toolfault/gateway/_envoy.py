"""
The gateway's judgement as an external processor of Envoy: ``envoy.service.ext_proc.v3``.

Rule 1: Envoy carries the messages, and a mistake of this service leaves them as they are; so does
its absence, with ``failure_mode_allow`` in Envoy's configuration.
"""

from __future__ import annotations

import asyncio
import importlib
import signal
import time
from collections.abc import AsyncIterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from toolfault.gateway._host import Journal
from toolfault.gateway._options import Options
from toolfault.gateway._processor import Body, Mode, Origin, Processor
from toolfault.gateway._session import Session


if TYPE_CHECKING:
    from toolfault.gateway._exchange import Exchange
    from toolfault.gateway._session import Observer


_aio: Final[Any] = importlib.import_module("grpc.aio")
_pb: Final[Any] = importlib.import_module("envoy.service.ext_proc.v3.external_processor_pb2")
_service: Final[Any] = importlib.import_module(
    "envoy.service.ext_proc.v3.external_processor_pb2_grpc"
)
_modes: Final[Any] = importlib.import_module(
    "envoy.extensions.filters.http.ext_proc.v3.processing_mode_pb2"
)
_health: Final[Any] = importlib.import_module("grpc_health.v1.health")
_health_pb: Final[Any] = importlib.import_module("grpc_health.v1.health_pb2")
_health_service: Final[Any] = importlib.import_module("grpc_health.v1.health_pb2_grpc")
_base: Final[Any] = importlib.import_module("envoy.config.core.v3.base_pb2")

#: Seconds for the last answers after a signal.
_GRACE: Final = 5.0

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

_ATTRIBUTES: Final = "envoy.filters.http.ext_proc"

_MODES: Final[dict[Mode, Any]] = {
    "none": _modes.ProcessingMode.NONE,
    "whole": _modes.ProcessingMode.BUFFERED,
    "stream": _modes.ProcessingMode.STREAMED,
}


class EnvoyService:
    """
    The gRPC service that Envoy asks.

    Args:
        options: The options; the deadline is Envoy's, and so are retries.
        observe: Called with each call of a tool that has ended.

    Raises:
        OSError: The log can't be opened.
    """

    def __init__(self, options: Options, observe: Observer | None = None) -> None:
        """
        Prepare; `run` answers.
        """
        self._options = options
        self._observe = observe
        self._journal = Journal(options.log)
        importlib.import_module("toolfault.gateway._exchange")

    @cached_property
    def _exchange(self) -> Exchange:
        from toolfault.gateway._exchange import make_exchange  # noqa: PLC0415 -- loaded late

        return make_exchange(self._options)

    def run(self, address: tuple[str, int]) -> int:
        """
        Answer Envoy until a signal ends it; return the exit code.

        Args:
            address: The host and the port to listen on.

        Raises:
            OSError: The address is not free.
        """
        return asyncio.run(self._main(address))

    async def _main(self, address: tuple[str, int]) -> int:
        host, port = address
        server = _aio.server()
        _service.add_ExternalProcessorServicer_to_server(self, server)
        health = _health.aio.HealthServicer()
        _health_service.add_HealthServicer_to_server(health, server)
        shown = f"[{host}]" if ":" in host else host
        try:
            bound = server.add_insecure_port(f"{shown}:{port}")
        except RuntimeError as exc:
            raise OSError(None, str(exc)) from None
        ended = asyncio.Event()
        code = 0

        def end(number: int) -> None:
            nonlocal code
            code = code or 128 + number
            ended.set()

        for number in _SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, end, number)
        await health.set("", _health_pb.HealthCheckResponse.SERVING)
        await server.start()
        self._journal.tell(f"processing for Envoy on {shown}:{bound}")
        await ended.wait()
        await health.enter_graceful_shutdown()
        await server.stop(_GRACE)
        return code

    async def Process(self, requests: AsyncIterator[Any], _context: Any) -> AsyncIterator[Any]:  # noqa: N802 -- the name of the service's method
        """
        Answer what Envoy tells of one HTTP request.
        """
        processor = self._open()
        async for request in requests:
            kind: str = request.WhichOneof("request")
            response = _pb.ProcessingResponse()
            getattr(response, kind).SetInParent()
            try:
                _STEPS.get(kind, _continue)(processor, request, response)
            except Exception as exc:  # noqa: BLE001 -- the message must leave all the same
                self._journal.note(f"could not judge a message, which leaves as it came: {exc!r}")
                response = _pb.ProcessingResponse()
                getattr(response, kind).SetInParent()
            yield response

    def _open(self) -> Processor:
        session = Session(
            lambda: self._exchange,
            timeout=None,
            max_line=self._options.max_line,
            report=self._journal.report,
            note=self._journal.note,
            is_flagging=bool(self._options.flags),
            observe=self._observe,
        )
        return Processor(
            session,
            self._options.max_line,
            self._journal.note,
            time.monotonic,
            keeps_errors=self._options.protocol_errors == "keep",
        )


def _continue(_processor: Processor, _request: Any, _response: Any) -> None:
    return


def _request_headers(processor: Processor, request: Any, response: Any) -> None:
    mode = processor.request_headers(_named(request.request_headers))
    response.mode_override.request_body_mode = _MODES[mode]
    response.mode_override.response_header_mode = _modes.ProcessingMode.SEND
    if mode == "none":
        response.mode_override.response_body_mode = _modes.ProcessingMode.NONE
    else:
        # What is compressed could not be read.
        response.request_headers.response.header_mutation.remove_headers.append("accept-encoding")


def _request_body(processor: Processor, request: Any, _response: Any) -> None:
    processor.request_body(request.request_body.body)


def _response_headers(processor: Processor, request: Any, response: Any) -> None:
    headers = request.response_headers
    mode = processor.response_headers(_named(headers), _origin(request))
    if headers.end_of_stream and mode != "none":
        # An empty body is never asked about.
        body = processor.response_body(b"", is_end=True)
        if body is not None:
            _answer_at_once(response, body, _named(headers))
            return
    response.mode_override.response_body_mode = _MODES[mode]


def _response_body(processor: Processor, request: Any, response: Any) -> None:
    part = request.response_body
    body = processor.response_body(part.body, is_end=part.end_of_stream)
    if body is None:
        return
    common = response.response_body.response
    common.body_mutation.body = body.data
    if body.is_json:
        for name, value in ((":status", str(body.status)), ("content-type", "application/json")):
            common.header_mutation.set_headers.append(_header(name, value))
        common.header_mutation.remove_headers.append("content-length")


def _answer_at_once(response: Any, body: Body, headers: dict[str, str]) -> None:
    made = response.immediate_response
    made.status.code = body.status
    made.body = body.data
    made.headers.set_headers.append(_header("content-type", "application/json"))
    for name in ("retry-after", "mcp-session-id"):
        if name in headers:
            made.headers.set_headers.append(_header(name, headers[name]))


_STEPS: Final = {
    "request_headers": _request_headers,
    "request_body": _request_body,
    "response_headers": _response_headers,
    "response_body": _response_body,
}


def _header(name: str, value: str) -> Any:
    option = _base.HeaderValueOption
    header = _base.HeaderValue(key=name, raw_value=value.encode("latin-1"))
    return option(header=header, append_action=option.OVERWRITE_IF_EXISTS_OR_ADD)


def _named(headers: Any) -> dict[str, str]:
    return {
        one.key.lower(): (one.raw_value.decode("latin-1") or one.value)
        for one in headers.headers.headers
    }


def _origin(request: Any) -> Origin:
    told = request.attributes.get(_ATTRIBUTES) if _ATTRIBUTES in request.attributes else None
    if told is None:
        return Origin()
    fields = told.fields
    details = fields["response.code_details"].string_value
    return Origin(details, int(fields["response.flags"].number_value))
