"""
A2C-SMCP against its published Python packages, one line of them at a time: what we write they read, and back.

What the packages do wrong is pinned as such, so that a release that mends it is noticed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest


pytest.importorskip("a2c_smcp", reason="needs an environment with one line of a2c-smcp")

import socketio
import uvicorn
from a2c_smcp import PROTOCOL_VERSION, smcp
from a2c_smcp.agent.auth import DefaultAgentAuthProvider
from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.agent.errors import SMCPProtocolError, raise_for_error_payload
from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.socketio import client as computer_client
from a2c_smcp.exceptions import ProtocolVersionError
from a2c_smcp.server import A2CProtocolVersionASGIMiddleware, SMCPNamespace
from a2c_smcp.server.auth import AuthenticationProvider
from a2c_smcp.server.middleware import check_a2c_version
from a2c_smcp.utils.handshake import build_protocol_version_error, extract_4008_payload
from a2c_smcp.version import ProtocolVersion
from mcp.types import CallToolResult
from pydantic import TypeAdapter, ValidationError

from toolfault import McpErrorCode, ToolFault
from toolfault._bridge_record import RECORD_KEY
from toolfault.dialects.a2c_smcp import (
    WS_CLOSE_REFUSED,
    AuthHint,
    ErrorCode,
    ErrorPayload,
    agent_error,
    assignments,
    check_query,
    closed_set,
    decode,
    encode,
    is_protocol_error_payload,
    nest_in_details,
    read_close,
    read_refusal,
    read_tool_result,
    restore_from_details,
    server_field,
    write_cancelled,
    write_tool_result,
)


LINE: Any = ".".join(version("a2c-smcp").split(".")[:2])
VECTORS = Path(__file__).parents[3] / "specs" / "vectors" / "a2c-smcp"

#: What the server does with a failure in an acknowledgement that it passes on.
RELAYED = TypeAdapter(smcp.ErrorPayload)

FAULT = ToolFault(
    "quota_exceeded", "The quota is used up.", retry_after_seconds=30, hint="Ask for less.", causes=["HTTP 429"]
)


def cases(suite: str, line: str | None = None) -> list[Any]:
    """
    Return the cases of a suite; those of one protocol only, where a line is named.
    """
    found = json.loads((VECTORS / f"{suite}.json").read_text(encoding="utf-8"))["cases"]
    return [
        pytest.param(case["input"], case["expect"], id=case["case"])
        for case in found
        if line is None or case["input"]["protocol"] == line
    ]


def given_json(given: dict[str, Any]) -> Any:
    return json.loads(given["json_text"]) if "json_text" in given else given["json"]


def over_the_wire(value: Any) -> Any:
    return json.loads(json.dumps(value))


def test_the_line_is_one_that_is_known():
    assert LINE in {"0.2", "0.3", "0.4"}
    assert PROTOCOL_VERSION.startswith(f"{LINE}.")


# ---- codes and predicate


def test_codes_have_the_packages_names():
    """
    The package knows the codes of its closed set, by the names that we use; the others it refuses.
    """
    theirs = {code.name: int(code) for code in smcp.ErrorCode}

    assert set(theirs.values()) == closed_set(LINE)
    assert theirs == {code.name: int(code) for code in ErrorCode if code in closed_set(LINE)}
    assert smcp.WS_VERSION_HANDSHAKE_REJECTED_CLOSE_CODE == WS_CLOSE_REFUSED
    with pytest.raises(ValueError):
        smcp.ErrorCode(4999)


def test_members_have_the_packages_names():
    modelled = set(ErrorPayload.model_fields) - {"mcp_server", "mcp_server_name"} | {server_field(LINE)}

    assert modelled == set(smcp.ErrorPayload.__annotations__)
    assert assignments(LINE)[ErrorCode.MCP_SERVER_NOT_FOUND].fields == (server_field(LINE),)


@pytest.mark.parametrize(("given", "expect"), cases("is_protocol_error_payload", LINE))
def test_the_predicate(given, expect):
    """
    The same answer, but for the faults that the vectors name: 4014.0 passes, and an array or object as code raises.
    """
    value = given_json(given)
    theirs = expect.get("sdk", {}).get("python", expect["value"])

    if theirs == "raises TypeError":
        with pytest.raises(TypeError):
            smcp.is_protocol_error_payload(value)
    else:
        assert smcp.is_protocol_error_payload(value) is theirs
    assert is_protocol_error_payload(value, LINE) is expect["value"]


# ---- an agent's errors


def caught(ack: Any) -> SMCPProtocolError | None:
    try:
        raise_for_error_payload(ack)
    except SMCPProtocolError as exc:
        return exc
    return None


#: What the package makes of these, where it is not what the case expects.
AGENT_FAULTS = {
    "agent-error/details-string": ValueError,
    "agent-error/details-array-of-pairs": {"details": {"reason": "x"}, "reason": "x"},
    "agent-error/message-number": {"message": "5"},
}


@pytest.mark.parametrize(("given", "expect"), cases("agent-error"))
def test_the_agents_view(given, expect, request):
    fault = AGENT_FAULTS.get(request.node.callspec.id, {})
    assert ("sdk" in expect) is bool(fault)
    if fault is ValueError:
        with pytest.raises(ValueError):
            caught(given["json"])
        return
    theirs, ours = caught(given["json"]), agent_error(given["json"], LINE)
    assert (theirs is None) is (ours is None)
    if theirs is None or ours is None:
        return
    said = {"code": theirs.code, "message": theirs.error_message, "details": theirs.details, "reason": theirs.reason}

    assert said == {"code": ours.code, "message": ours.message, "details": ours.details, "reason": ours.reason} | fault
    assert str(theirs) == str(ours) or fault


@pytest.mark.parametrize("code", sorted(closed_set(LINE)))
def test_an_agent_reads_our_payloads(code):
    """
    Each code of the set, with its members, is the same failure to the package's agent, also behind its server.
    """
    row = assignments(LINE)[ErrorCode(code)]
    payload = ErrorPayload.from_error_code(ErrorCode(code)).with_detail("k", [1, None])
    for reason in row.reasons[:1]:
        payload = payload.with_detail("reason", reason)
    if server_field(LINE) in row.fields:
        payload = payload.with_server("office", LINE)
    if "capability" in row.fields:
        payload = payload.with_capability("resources")
    wire = over_the_wire(payload.to_wire())

    assert RELAYED.validate_python(wire) == wire
    theirs, ours = caught(wire), agent_error(wire, LINE)
    assert (theirs.code, theirs.error_message, theirs.details) == (ours.code, ours.message, ours.details)
    assert (theirs.reason, theirs.capability) == (ours.reason, ours.capability)
    assert getattr(theirs, server_field(LINE)) == ours.mcp_server
    assert decode(theirs.payload, protocol=LINE).envelope == decode(payload, protocol=LINE).envelope


def their_payloads():
    from a2c_smcp.computer.skills.sandbox import SkillSandboxError

    made = {
        "computer": smcp.build_computer_not_found_error("lab"),
        "skill name": computer_client._skill_name_invalid("bad name!!"),
        "skill": computer_client._skill_not_found("a:b"),
        "skill file": computer_client._skill_resource_error(
            SkillSandboxError("too_large", rel_path="a", total_size=99)
        ),
        "blob": computer_client._blob_error(reason="gone"),
    }
    if LINE == "0.4":
        from a2c_smcp.computer.blob.upload import _blob_write_error

        made["upload"] = _blob_write_error(reason="busy", message="too many concurrent uploads")
    return [pytest.param(payload, id=name) for name, payload in made.items()]


MEANINGS = {404: "tool_not_found", 4014: "tool_not_found", 4016: "invalid_arguments", 4017: "invalid_arguments"}
MEANINGS |= {4018: "invalid_arguments", 4019: "quota_exceeded"}


@pytest.mark.parametrize("payload", their_payloads())
def test_we_read_the_packages_payloads(payload):
    wire = over_the_wire(payload)
    fault = decode(wire, protocol=LINE)

    assert ErrorPayload.from_wire(wire).to_wire() == wire
    assert (fault.code.value, fault.envelope.message) == (MEANINGS[wire["code"]], wire["message"])
    assert encode(fault, protocol=LINE) == wire


def test_the_payload_of_a_missing_computer_is_the_packages():
    assert ErrorPayload.computer_not_found("lab").to_wire() == smcp.build_computer_not_found_error("lab")


def test_fault_the_server_drops_members_that_it_does_not_know():
    """
    It checks what it passes on, and loses what is not modelled; what is kept in details survives.
    """
    payload = ErrorPayload.from_wire({"code": 4014, "message": "m", "future": {"k": 1}})

    assert RELAYED.validate_python(payload.to_wire()) == {"code": 4014, "message": "m"}
    passed = RELAYED.validate_python(over_the_wire(nest_in_details(payload).to_wire()))
    assert "future" not in passed
    assert restore_from_details(ErrorPayload.from_wire(passed)) == payload
    assert encode(decode(passed, protocol=LINE), protocol=LINE) == payload.to_wire()


def test_fault_the_server_fails_on_details_that_are_no_object():
    with pytest.raises(ValidationError):
        RELAYED.validate_python(ErrorPayload.new(4017, "m").with_details("text").to_wire())


# ---- tool results


def through_the_package(result: dict[str, Any]) -> dict[str, Any]:
    """
    A tool result as an agent of the package gets it, and as a computer of the package sends it on.
    """
    got = CallToolResult.model_validate(over_the_wire(result), by_name=True)
    return over_the_wire(got.model_dump(mode="json"))


@pytest.mark.parametrize("code", McpErrorCode)
def test_every_fault_survives_as_a_tool_result(code):
    fault = ToolFault(code, "m", hint="h", retry_after_seconds=3, causes=["c"])
    sent = encode(fault, protocol=LINE, carrier="tool_result")
    got = CallToolResult.model_validate(over_the_wire(sent), by_name=True)

    assert got.isError
    assert got.content[0].text == "m"
    assert got.meta == sent["meta"]
    assert decode(through_the_package(sent), protocol=LINE).envelope == fault.envelope


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(write_tool_result("m", 4004, protocol=LINE), id="timeout"),
        pytest.param(write_cancelled("m", reason="agent_requested"), id="cancelled"),
        pytest.param(write_tool_result("m", 4006, mcp_server="s", auth_hint=AuthHint("log_in", "Log in.")), id="login"),
        pytest.param(write_tool_result("m"), id="plain"),
    ],
)
def test_markers_survive(result):
    assert read_tool_result(through_the_package(result)) == read_tool_result(result)


def an_agent() -> AsyncSMCPAgentClient:
    return AsyncSMCPAgentClient(auth_provider=DefaultAgentAuthProvider(agent_id="agent", office_id="office"))


def test_the_agents_timeout():
    """
    Pinned: the package of 0.2 marks a timeout in no way, so it reads as a plain failure.
    """

    async def main() -> CallToolResult:
        return an_agent().handle_tool_call_timeout("r1")

    fault = decode(over_the_wire(asyncio.run(main()).model_dump(mode="json")), protocol=LINE)

    assert fault.code == ("internal" if LINE == "0.2" else "tool_timeout")


def test_the_computers_cancellation():
    """
    A real call that a real computer cancels. Pinned: the package of 0.2 marks it in no way.
    """

    async def main() -> CallToolResult:
        started = asyncio.Event()

        class Manager:
            async def acall_tool(self, *_: Any) -> CallToolResult:
                started.set()
                await asyncio.Event().wait()
                raise AssertionError

        computer = Computer(name="lab")
        computer.mcp_manager = Manager()
        call = asyncio.ensure_future(computer._acall_tool_cancellable("r1", "s", "t", {}, 5))
        await started.wait()
        await computer.acancel_tool("r1")
        return await call

    failure = read_tool_result(over_the_wire(asyncio.run(main()).model_dump(mode="json")))

    expected = ("failed", 4003, None) if LINE == "0.2" else ("cancelled", None, "agent_requested")
    assert (failure.kind, failure.code, failure.cancel_reason) == expected


# ---- the handshake


def outcome(refusal: tuple[int, dict[str, Any]] | None) -> dict[str, Any]:
    return {"accepted": True} if refusal is None else {"http": refusal[0], "json": refusal[1]}


@pytest.mark.parametrize(("given", "expect"), [*cases("handshake"), *cases("handshake-query")])
def test_the_servers_answer(given, expect):
    """
    The same answer, but for versions that the package's parser takes and ours does not.
    """
    from urllib.parse import urlencode

    query = given.get("query", urlencode({"a2c_version": given.get("a2c_version", "")}))
    theirs = outcome(check_a2c_version(query, ProtocolVersion.parse(given["server"])))
    ours = check_query(query, given["server"])
    if "recommended" in expect:
        assert theirs == expect["sdk"]["python"]
        assert ours.payload.code == 400
        return
    said = outcome(None if ours is None else (ours.status, ours.payload.to_wire()))
    assert theirs == said
    if ours is not None:
        assert ours.body == json.dumps(theirs["json"]).encode()


@pytest.mark.parametrize(("given", "expect"), cases("client-handshake-failure"))
def test_the_clients_reading(given, expect):
    payload = extract_4008_payload(Exception(given["body_text"]))

    assert (payload is None) is (expect["raises"] == "original-error")
    if payload is not None:
        theirs, ours = build_protocol_version_error(payload), read_refusal(given["body_text"])
        assert isinstance(theirs, ProtocolVersionError)
        assert expect["fields"] == {name: getattr(theirs, name) for name in expect["fields"]}
        assert theirs.message == str(ours)


# ---- real connections


class EveryoneMayIn(AuthenticationProvider):
    async def authenticate(self, *_: Any) -> bool:
        return True


class Announcing(uvicorn.Server):
    """
    A server that says when it listens.
    """

    def __init__(self, app: Any) -> None:
        super().__init__(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none", lifespan="off"))
        self.listening = asyncio.Event()

    async def startup(self, *args: Any, **kwargs: Any) -> None:
        await super().startup(*args, **kwargs)
        self.listening.set()


@contextlib.asynccontextmanager
async def serving(app: Any):
    """
    Serve an ASGI application on a free port of this machine, and yield its address.
    """
    server = Announcing(app)
    running = asyncio.ensure_future(server.serve())
    try:
        await server.listening.wait()
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = server.force_exit = True
        await running


def a_server() -> Any:
    sio = socketio.AsyncServer(async_mode="asgi")
    sio.eio.start_service_task = False
    sio.register_namespace(SMCPNamespace(auth_provider=EveryoneMayIn()))
    return A2CProtocolVersionASGIMiddleware(socketio.ASGIApp(sio))


async def answers(handlers: dict[str, Any], ask: Any) -> Any:
    """
    Return what the package's agent gets, through the package's server, from a computer that answers as we do.
    """
    async with serving(a_server()) as url:
        computer, agent = socketio.AsyncClient(), an_agent()
        for event, answer in handlers.items():
            computer.on(event, handler=lambda _data, answer=answer: answer, namespace=smcp.SMCP_NAMESPACE)
        try:
            await computer.connect(
                f"{url}?a2c_version={PROTOCOL_VERSION}", namespaces=[smcp.SMCP_NAMESPACE], transports=["polling"]
            )
            await agent.connect_to_server(url, namespace=smcp.SMCP_NAMESPACE, transports=["polling"])
            for client, role, name in [(computer, "computer", "lab"), (agent, "agent", "agent")]:
                join = {"office_id": "office", "role": role, "name": name}
                await client.call(smcp.JOIN_OFFICE_EVENT, join, namespace=smcp.SMCP_NAMESPACE)
            return await ask(agent)
        finally:
            # Without waiting for the answer to the last poll, which takes as long as the server keeps a poll open.
            for client in (agent, computer):
                await client.eio.disconnect(abort=True)


def test_a_tool_call_that_fails():
    async def ask(agent: AsyncSMCPAgentClient) -> CallToolResult:
        return await agent.emit_tool_call("lab", "t", {}, 5)

    sent = encode(FAULT, protocol=LINE)
    result = asyncio.run(answers({smcp.TOOL_CALL_EVENT: sent}, ask))

    assert result.isError
    assert RECORD_KEY in result.meta
    assert decode(result.model_dump(mode="json"), protocol=LINE).envelope == FAULT.envelope


def test_an_acknowledgement_that_is_a_failure():
    payload = ErrorPayload.new(4014, "MCP Server not registered").with_server("docs", LINE)

    async def ask(agent: AsyncSMCPAgentClient) -> SMCPProtocolError:
        with pytest.raises(SMCPProtocolError) as found:
            await agent.get_resources("lab", "docs")
        return found.value

    error = asyncio.run(answers({smcp.GET_RESOURCES_EVENT: payload.to_wire()}, ask))

    assert error.payload == payload.to_wire()
    assert encode(decode(error.payload, protocol=LINE), protocol=LINE) == payload.to_wire()


def test_fault_a_failure_in_the_acknowledgement_of_a_tool_call_becomes_a_text():
    """
    The agent keeps code and message only as text, which is why failed tools leave as tool results.
    """

    async def ask(agent: AsyncSMCPAgentClient) -> CallToolResult:
        return await agent.emit_tool_call("nobody", "t", {}, 5)

    result = asyncio.run(answers({}, ask))

    assert result.isError
    assert result.meta is None
    assert "[404] Computer with name 'nobody' not found" in result.content[0].text


def test_a_client_of_the_package_understands_our_refusal():
    async def app(scope: Any, receive: Any, send: Any) -> None:
        refusal = check_query(scope["query_string"], "9.8.7")
        headers = [(name.lower().encode(), value.encode()) for name, value in refusal.headers.items()]
        headers.append((b"content-length", str(len(refusal.body)).encode()))
        await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await send({"type": "http.response.body", "body": refusal.body})

    async def main() -> ProtocolVersionError:
        async with serving(app) as url:
            with pytest.raises(ProtocolVersionError) as found:
                await an_agent().connect_to_server(url)
            return found.value

    error = asyncio.run(main())

    assert (error.server_version, error.client_version) == ("9.8.7", PROTOCOL_VERSION)
    assert (error.min_supported, error.max_supported) == ("9.8.0", "9.8.999")


def test_we_understand_a_server_of_the_package():
    import httpx

    async def main() -> httpx.Response:
        async with serving(a_server()) as url, httpx.AsyncClient(trust_env=False) as http:
            return await http.get(f"{url}/socket.io/?a2c_version=0.1.5")

    response = asyncio.run(main())
    mismatch = read_refusal(response.content)

    assert (response.status_code, response.headers["X-A2C-Error-Code"]) == (400, "4008")
    assert (mismatch.server_version, mismatch.client_version) == (PROTOCOL_VERSION, "0.1.5")


@pytest.mark.parametrize("extensions", [{}, {"websocket.http.response": {}}], ids=["close", "denial"])
def test_a_refused_websocket(extensions):
    """
    The package closes it with 4900, or answers with the body where its server can.
    """
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/socket.io/", "query_string": b"a2c_version=0.1.5", "extensions": extensions}
    asyncio.run(a_server()(scope, receive, send))

    mismatch = read_refusal(sent[-1]["body"]) if extensions else read_close(sent[-1]["code"])
    assert mismatch.client_version == ("0.1.5" if extensions else None)
    assert mismatch.reconnect == ("never" if extensions else "polling_once")
