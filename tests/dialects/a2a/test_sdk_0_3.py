"""
Against a2a-sdk 0.3: what we write its clients read as the same failure, what its servers write we read, and its faults.
"""

import contextlib
import importlib.metadata
import json
import typing

import anyio
import pytest


if not importlib.metadata.version("a2a-sdk").startswith("0.3."):
    pytest.skip("another line of a2a-sdk is installed", allow_module_level=True)

from unittest.mock import AsyncMock

import grpc
import httpx
from a2a import types
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError
from a2a.client.transports.jsonrpc import JsonRpcTransport
from a2a.client.transports.rest import RestTransport
from a2a.grpc import a2a_pb2, a2a_pb2_grpc
from a2a.server.request_handlers import RequestHandler
from a2a.server.request_handlers.grpc_handler import GrpcHandler
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.utils.error_handlers import A2AErrorToHttpStatus, rest_error_handler
from a2a.utils.errors import ServerError

from toolfault import McpErrorCode, ToolFault
from toolfault.dialects import a2a
from toolfault.dialects.a2a import ERRORS, A2AError


URL = "http://agent.test/"
HERE = [name for name in ERRORS if ERRORS[name].v03]
CLASSES = {name: getattr(types, ERRORS[name].name_in("0.3")) for name in HERE}


async def raised_by(transport, status, body):
    answering = httpx.MockTransport(lambda _: httpx.Response(status, json=body))
    async with httpx.AsyncClient(transport=answering) as client:
        try:
            await transport(client, url=URL).get_task(types.TaskQueryParams(id="t1"))
        except Exception as exc:
            return exc
    raise AssertionError("no failure")


def read_jsonrpc(error):
    exc = anyio.run(raised_by, JsonRpcTransport, 200, {"jsonrpc": "2.0", "id": "1", "error": error})
    assert type(exc) is A2AClientJSONRPCError
    return exc.error


def written_jsonrpc(error):
    return build_error_response(1, error, types.GetTaskResponse).model_dump(mode="json", exclude_none=True)


def written_http(error):
    async def ask():
        @rest_error_handler
        async def endpoint():
            raise ServerError(error)

        answer = await endpoint()
        return {"status": answer.status_code, "headers": dict(answer.headers), "body": json.loads(answer.body)}

    return anyio.run(ask)


@contextlib.asynccontextmanager
async def grpc_agent(servicer):
    server = grpc.aio.server()
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield channel
    await server.stop(None)


def written_grpc(error):
    async def ask():
        agent = AsyncMock(spec=RequestHandler, on_get_task=AsyncMock(side_effect=ServerError(error)))
        async with grpc_agent(GrpcHandler(types.AgentCard.model_construct(), agent)) as channel:
            try:
                await a2a_pb2_grpc.A2AServiceStub(channel).GetTask(a2a_pb2.GetTaskRequest(name="tasks/t1"))
            except grpc.aio.AioRpcError as failed:
                return {"code": failed.code().value[0], "message": failed.details()}
        raise AssertionError("no failure")

    return anyio.run(ask)


# ---- the table


def test_the_table_is_complete():
    union = typing.get_args(types.A2AError.model_fields["root"].annotation)

    assert set(union) == set(CLASSES.values())


@pytest.mark.parametrize("name", HERE)
def test_the_table_is_the_packages(name):
    row, cls = ERRORS[name], CLASSES[name]

    assert cls.model_fields["code"].default == row.code
    assert cls.model_fields["message"].default == row.message
    assert A2AErrorToHttpStatus[cls] == row.v03.http


# ---- what we write, they read


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("metadata", [None, {"k": "v"}])
def test_they_read_our_errors(name, metadata):
    error = read_jsonrpc(A2AError.new(name, "said", metadata=metadata).to_jsonrpc("0.3"))

    typed = types.A2AError.model_validate(error.model_dump()).root
    assert (type(typed), typed.message, typed.data) == (CLASSES[name], "said", metadata)


@pytest.mark.parametrize("name", sorted(set(ERRORS) - set(HERE)))
def test_what_it_has_no_word_for_is_internal(name):
    assert read_jsonrpc(A2AError.new(name, "said").to_jsonrpc("0.3")).code == -32603


@pytest.mark.parametrize("code", McpErrorCode)
def test_a_fault_crosses_a_gateway_that_is_theirs(code):
    fault = ToolFault(code, "said", retryable=True, retry_after_seconds=7, hint="do", causes=["first"])

    error = read_jsonrpc(a2a.encode(fault, version="0.3"))

    assert a2a.decode(written_jsonrpc(error)).envelope == fault.envelope


def test_its_rest_client_keeps_nothing_but_the_status():
    sent = a2a.encode(ToolFault("permission_denied", "said"), binding="http", version="0.3")

    exc = anyio.run(raised_by, RestTransport, sent["status"], sent["body"])

    assert (type(exc), exc.status_code) == (A2AClientHTTPError, 403)
    assert "said" not in str(exc)


# ---- what they write, we read


@pytest.mark.parametrize("name", HERE)
def test_we_read_their_errors(name):
    written = CLASSES[name](message="said", data={"k": "v"})

    over_rpc = A2AError.from_jsonrpc(written_jsonrpc(written))
    over_rest = a2a.decode(written_http(written), binding="http")
    over_grpc = A2AError.from_grpc(written_grpc(written))

    assert (over_rpc.type.name, over_rpc.message, over_rpc.data) == (name, "said", {"k": "v"})
    # A fault of the package: over HTTP no more than the message and the status leaves, over gRPC a prefixed text.
    assert written_http(written)["body"] == {"message": "said"}
    assert over_rest.envelope.message == "said"
    if name == "ExtendedAgentCardNotConfiguredError":
        # Another one: its gRPC server has no word for it.
        assert (over_grpc.type.name, over_grpc.status) == ("InternalError", "UNKNOWN")
        return
    assert (over_grpc.type.name, over_grpc.message, over_grpc.status) == (name, "said", ERRORS[name].v03.grpc)
