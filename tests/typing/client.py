"""
The types of what bridges, adapters and telemetry take and give, as mypy and pyright see them.
"""

from typing import Any, assert_type

from mcp import Client
from mcp.server import MCPServer

from toolfault import Guard, Retry, ToolFault
from toolfault.dialects import MemoryStore, RecordStore, a2a, a2c_smcp, jsonrpc, tool_failure
from toolfault.hooks import Attempt, RetryObserver
from toolfault.hosting import RetryPerServer, RetryState, model_text, says_more
from toolfault.integrations.mcp import install, retrying
from toolfault.integrations.opentelemetry import Telemetry


fault = ToolFault("internal", "m")
store: RecordStore = MemoryStore()

# Dialects.
assert_type(a2a.encode(fault, binding="http", version="1.0.0", store=store), dict[str, Any])
assert_type(a2a.decode({}, profile="protocol-droid"), ToolFault | None)
assert_type(a2c_smcp.encode(fault, protocol="0.3", carrier="tool_result"), dict[str, Any])
assert_type(a2c_smcp.decode({}, store=store), ToolFault | None)
assert_type(a2c_smcp.ErrorPayload.new(404, "m").with_detail("a", 1).with_capability("b"), a2c_smcp.ErrorPayload)
assert_type(a2c_smcp.is_protocol_error_payload({}, "0.5"), bool)
assert_type(jsonrpc.encode(fault), dict[str, Any])
assert_type(tool_failure.decode(tool_failure.encode(fault)), ToolFault | None)

# What an adapter is made of.
servers = RetryPerServer(Retry(), ["search"])
assert_type(servers.for_server("shop"), Retry)
assert_type(servers.idempotent("search"), bool | None)
state = servers.for_server("shop").state(name="search")
assert_type(state, RetryState)
assert_type(state.attempts, tuple[Attempt, ...])
assert_type(model_text(fault, state.attempts), str)
assert_type(says_more("text", fault, "told"), bool)

# Telemetry is an observer, a hook and a middleware.
telemetry = Telemetry()
observer: RetryObserver = telemetry
Retry(observers=(telemetry,))
install(MCPServer("weather", middleware=[telemetry.middleware]), Guard(on_failure=(telemetry.on_failure,)))


async def client_side(client: Client) -> None:
    await retrying(client, Retry(observers=(telemetry,)), rewrite=True).call_tool("t", {})


# What must not type-check; an ignore that is not needed is an error.
a2a.encode(fault, version="0.3.0")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
a2c_smcp.encode(fault, protocol="0.6")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Retry(observers=(print,))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
