"""
``google.rpc.Status`` through a real gRPC server, with the packages that stock clients use.
"""

from concurrent import futures

import grpc
import pytest
from google.protobuf import json_format
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from toolfault import ToolFault
from toolfault.dialects import google_rpc


#: Loaded for their descriptors: details are packed into Any by their type.
assert error_details_pb2.DESCRIPTOR is not None

FAULTS = [
    ToolFault("quota_exceeded", "Used up", retry_after_seconds=9, hint="Ask tomorrow.", causes=["HTTP 429"]),
    ToolFault("invalid_arguments", "There is no such city: Ys"),
    ToolFault("internal", "The database is away", category="transient"),
    ToolFault("tool_panicked", "A defect \u00fc \U0001f600"),
]


@pytest.fixture
def call():
    """
    Return a function that lets a server fail with a fault, and returns the client's error.
    """
    failing = []

    def fail(_request, context):
        status = json_format.ParseDict(google_rpc.encode(failing[-1]), status_pb2.Status())
        context.abort_with_status(rpc_status.to_status(status))

    handler = grpc.method_handlers_generic_handler("s.S", {"M": grpc.unary_unary_rpc_method_handler(fail)})
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()

    def run(fault):
        failing.append(fault)
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel, pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary("/s.S/M")(b"", timeout=20)
        return caught.value

    yield run
    server.stop(None)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.code.value)
def test_a_fault_survives_a_grpc_call(call, fault):
    error = call(fault)
    received = rpc_status.from_call(error)

    assert error.code().value[0] == google_rpc.encode(fault)["code"]
    assert google_rpc.decode(json_format.MessageToDict(received)).envelope == fault.envelope


def test_a_stock_client_reads_the_wait(call):
    received = rpc_status.from_call(call(FAULTS[0]))
    info = error_details_pb2.RetryInfo()

    assert [detail.Unpack(info) for detail in received.details].count(True) == 1
    assert info.retry_delay.seconds == 9
