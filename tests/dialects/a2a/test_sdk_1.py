"""
Against a2a-sdk 1.x: what we write its clients read as the same failure, what its servers write we read, and the faults
of the package that our bridges work around.
"""

import contextlib
import importlib.metadata
import json

import anyio
import pytest


if not importlib.metadata.version("a2a-sdk").startswith("1."):
    pytest.skip("another line of a2a-sdk is installed", allow_module_level=True)

from unittest.mock import AsyncMock

import grpc
import httpx
from a2a.client.errors import A2AClientError
from a2a.client.transports.grpc import GrpcTransport
from a2a.client.transports.jsonrpc import JsonRpcTransport
from a2a.client.transports.rest import RestTransport
from a2a.server.request_handlers import RequestHandler
from a2a.server.request_handlers.grpc_handler import GrpcHandler
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.types import a2a_pb2, a2a_pb2_grpc
from a2a.utils import errors as sdk
from a2a.utils.grpc_status import status_to_grpc
from google.protobuf import json_format
from google.rpc import error_details_pb2, status_pb2
from pydantic import ValidationError
from starlette.applications import Starlette

from toolfault import McpErrorCode, ToolFault
from toolfault._bridge_record import RECORD_KEY
from toolfault.dialects import a2a
from toolfault.dialects.a2a import ERRORS, A2AError
from toolfault.dialects.a2a.protocol_droid import A2aError, Variant


assert error_details_pb2  # its types must be known before a status can be read from JSON

URL = "http://agent.test/"
ASK = a2a_pb2.GetTaskRequest(id="t1")
VERSION = {"A2A-Version": "1.0"}
CLASSES = {name: getattr(sdk, name) for name in ERRORS}
VIOLATIONS = [{"field": "parts", "message": "one needed"}]


# ---- their clients, and an agent that answers what it is told


async def raised_by(transport):
    try:
        await transport.get_task(ASK)
    except Exception as exc:
        return exc
    raise AssertionError("no failure")


async def over_http(transport, status, body):
    answering = httpx.MockTransport(lambda _: httpx.Response(status, json=body))
    async with httpx.AsyncClient(transport=answering) as client:
        return await raised_by(transport(client, a2a_pb2.AgentCard(), URL))


def read_jsonrpc(error):
    return anyio.run(over_http, JsonRpcTransport, 200, {"jsonrpc": "2.0", "id": "1", "error": error})


def read_http(status, body):
    return anyio.run(over_http, RestTransport, status, body)


@contextlib.asynccontextmanager
async def grpc_agent(servicer):
    server = grpc.aio.server()
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield channel
    await server.stop(None)


def read_grpc(status):
    class Agent(a2a_pb2_grpc.A2AServiceServicer):
        async def GetTask(self, request, context):
            answer = status_to_grpc(json_format.ParseDict(status, status_pb2.Status()))
            context.set_trailing_metadata(answer.trailing_metadata)
            await context.abort(answer.code, answer.details)

    async def ask():
        async with grpc_agent(Agent()) as channel:
            return await raised_by(GrpcTransport(channel, None))

    return anyio.run(ask)


# ---- their servers, whose handler raises what it is told


def handler(exc):
    return AsyncMock(spec=RequestHandler, on_get_task=AsyncMock(side_effect=exc))


async def answer_of(routes, method, path, **request):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(Starlette(routes=routes)), base_url=URL) as client:
        return await client.request(method, path, headers=VERSION, **request)


def written_jsonrpc(exc, body=None):
    body = body or json.dumps({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "t1"}})
    answer = anyio.run(lambda: answer_of(create_jsonrpc_routes(handler(exc), "/"), "POST", "/", content=body))
    return answer.status_code, answer.json()


def written_http(exc):
    answer = anyio.run(lambda: answer_of(create_rest_routes(handler(exc)), "GET", "/tasks/t1"))
    return {"status": answer.status_code, "headers": dict(answer.headers), "body": answer.json()}


def written_grpc(exc):
    async def ask():
        async with grpc_agent(GrpcHandler(handler(exc))) as channel:
            try:
                await a2a_pb2_grpc.A2AServiceStub(channel).GetTask(ASK)
            except grpc.aio.AioRpcError as failed:
                details = dict(failed.trailing_metadata()).get("grpc-status-details-bin")
                assert details is not None
                return json_format.MessageToDict(status_pb2.Status.FromString(details))
        raise AssertionError("no failure")

    return anyio.run(ask)


# ---- the table


@pytest.mark.parametrize("name", ERRORS)
def test_the_table_is_the_packages(name):
    row, cls = ERRORS[name], CLASSES[name]

    assert sdk.JSON_RPC_ERROR_CODE_MAP[cls] == row.code
    if name == "JSONParseError":
        # It has no reason and no statuses there.
        assert cls not in sdk.A2A_ERROR_MAPPING
        return
    http, status, reason = sdk.A2A_ERROR_MAPPING[cls]
    assert (http, status, reason) == (*row.v101, row.reason)
    if row.code > -32100:
        assert cls.message == row.message


def test_the_table_is_complete():
    assert set(sdk.JSON_RPC_ERROR_CODE_MAP) == set(CLASSES.values())


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32700, "Parse error"),
        (-32600, "Invalid Request"),
        (-32601, "Method not found"),
        (-32602, "Invalid params"),
        (-32603, "Internal error"),
    ],
)
def test_its_own_words_for_the_standard_errors(code, message):
    from a2a.server import jsonrpc_models

    (cls,) = [
        cls
        for cls in vars(jsonrpc_models).values()
        if isinstance(cls, type) and "code" in getattr(cls, "model_fields", {}) and cls.model_fields["code"].default == code
    ]  # fmt: skip
    assert cls().message == message


# ---- what we write, they read


@pytest.mark.parametrize("name", ERRORS)
def test_they_read_our_errors(name):
    error = A2AError.new(name, "said", metadata={"k": "v"})

    for read in (read_jsonrpc(error.to_jsonrpc()), read_http(*error.to_http()), read_grpc(error.to_grpc())):
        if name == "JSONParseError" and type(read) is A2AClientError:
            # By a reason it can't be found there.
            continue
        assert (type(read), read.message) == (CLASSES[name], "said")


def test_our_metadata_arrive_but_over_grpc():
    error = A2AError.new("TaskNotFoundError", metadata={"k": "v"}, violations=[("f", "d")])

    assert read_jsonrpc(error.to_jsonrpc()).data == {"k": "v"}
    assert read_http(*error.to_http()).data == {"k": "v"}
    # A fault of the package: its gRPC client drops the metadata, and its others drop refused fields.
    assert read_grpc(error.to_grpc()).data == {"errors": [{"field": "f", "message": "d"}]}


@pytest.mark.parametrize("code", McpErrorCode)
def test_a_fault_crosses_a_gateway_that_is_theirs(code):
    """
    Their client raises, their server answers with what was raised: our record goes through unharmed.
    """
    fault = ToolFault(code, "said", retryable=True, retry_after_seconds=7, hint="do", causes=["first"])

    over_rpc = read_jsonrpc(a2a.encode(fault))
    sent = a2a.encode(fault, binding="http")
    over_rest = read_http(sent["status"], sent["body"])

    for exc in (over_rpc, over_rest):
        assert type(exc) is CLASSES[a2a.error_type(a2a.encode(fault)["code"]).name]
        assert a2a.decode(written_jsonrpc(exc)[1]).envelope == fault.envelope
        assert a2a.decode(written_http(exc), binding="http").envelope == fault.envelope


# ---- what they write, we read


@pytest.mark.parametrize("name", [name for name in ERRORS if name != "JSONParseError"])
def test_we_read_their_errors(name):
    exc = CLASSES[name]("said", {"k": "v"})

    over_rpc = A2AError.from_jsonrpc(written_jsonrpc(exc)[1])
    answer = written_http(exc)
    over_rest = A2AError.from_http(answer["status"], answer["body"])
    over_grpc = A2AError.from_grpc(written_grpc(exc))

    for error in (over_rpc, over_rest, over_grpc):
        assert (error.type.name, error.message) == (name, "said")
    assert over_rpc.metadata == over_rest.metadata == {"k": "v"}
    # A fault of the package: its gRPC server leaves the metadata out.
    assert over_grpc.metadata == {}


def test_we_read_their_refused_fields():
    exc = sdk.InvalidParamsError("said", {"errors": VIOLATIONS})

    over_rpc = A2AError.from_jsonrpc(written_jsonrpc(exc)[1])

    assert over_rpc.violations == A2AError.from_grpc(written_grpc(exc)).violations == (("parts", "one needed"),)
    # Metadata are text to text by their definition; the package sends them unaltered.
    assert over_rpc.metadata == {"errors": VIOLATIONS}
    assert a2a.decode(written_jsonrpc(exc)[1]).facts["violations"] == VIOLATIONS


# ---- known faults of the package


def test_a_subclass_degrades():
    class MyTaskNotFoundError(sdk.TaskNotFoundError):
        pass

    _, body = written_jsonrpc(MyTaskNotFoundError())

    assert (body["error"]["code"], body["error"]["message"]) == (-32603, "Task not found")
    assert body["error"]["data"][0]["reason"] == "UNKNOWN_ERROR"


def test_an_unknown_code_loses_code_and_data():
    read = read_jsonrpc({"code": -32050, "message": "m", "data": a2a.encode(ToolFault("internal", "m"))["data"]})

    assert (type(read), str(read)) == (A2AClientError, "JSON-RPC Error -32050: m")
    assert read.data is None


def test_object_data_are_ignored():
    assert read_jsonrpc({"code": -32001, "message": "m", "data": {"taskId": "1"}}).data is None


def test_the_code_decides_and_no_reason():
    data = [{"@type": a2a.ERROR_INFO, "reason": "OTHER", "domain": "example.com", "metadata": {"a": "b"}}]

    read = read_jsonrpc({"code": -32001, "message": "m", "data": data})

    assert (type(read), read.data) == (sdk.TaskNotFoundError, {"a": "b"})


@pytest.mark.parametrize(
    ("body", "code"), [('{"jsonrpc":"2.0","id":1,"method":"Nope"}', -32601), ("{bad", -32700)]
)  # fmt: skip
def test_what_the_dispatcher_answers_has_no_data(body, code):
    status, answer = written_jsonrpc(None, body)

    assert (status, answer["error"]["code"], "data" in answer["error"]) == (200, code, False)
    assert answer["error"]["message"]
    assert a2a.decode(answer).envelope.message == answer["error"]["message"]


def test_its_parse_error_crashes_its_builder():
    with pytest.raises(ValidationError):
        build_error_response(1, sdk.JSONParseError())


@pytest.mark.parametrize(
    ("variant", "cls"),
    [
        (Variant.AUTHENTICATION_REQUIRED, sdk.TaskNotFoundError),
        (Variant.AUTHENTICATION_FAILED, sdk.TaskNotCancelableError),
        (Variant.CONTENT_TYPE_NOT_SUPPORTED, A2AClientError),
    ],
)
def test_it_takes_protocol_droid_for_something_else(variant, cls):
    error = A2aError(variant).to_jsonrpc()

    assert type(read_jsonrpc(error)) is cls
    assert a2a.decode(error, profile="protocol-droid").code in {"permission_denied", "invalid_arguments"}


# ---- its server for clients of 0.3


@pytest.mark.parametrize("name", [name for name in ERRORS if name != "JSONParseError"])
def test_0_3_is_written_as_its_server_does(name):
    from a2a.compat.v0_3.jsonrpc_adapter import _to_v03_jsonrpc_error

    theirs = _to_v03_jsonrpc_error(CLASSES[name]("said", {"k": "v"})).model_dump()

    assert A2AError.new(name, "said", metadata={"k": "v"}).to_jsonrpc("0.3") == theirs


def test_records_are_texts():
    (info,) = a2a.encode(ToolFault("internal", "m"))["data"]

    assert isinstance(info["metadata"][RECORD_KEY], str)
