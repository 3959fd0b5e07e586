"""
Calls that are cancelled in flight, at a real process.
"""

import sys
from contextlib import closing

import pytest

from toolfault.check._client import StdioClient
from toolfault.check._model import Kind, Outcome, Provocation, ToolSeen
from toolfault.check._verdicts import judge


#: Answers a call at once, never, or when it is cancelled.
SERVER = """
import json, sys
manner, waiting = sys.argv[1], None
failed = {"isError": True, "content": [{"type": "text", "text": "n is required"}]}
def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        info = {"name": "server", "version": "1"}
        send({"id": message["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}})
    elif method == "ping":
        send({"id": message["id"], "result": {}})
    elif method == "tools/call":
        waiting = message["id"]
        if manner == "at once":
            send({"id": waiting, "result": failed})
    elif method == "notifications/cancelled" and manner == "rude":
        assert message["params"]["requestId"] == waiting
        send({"id": waiting, "error": {"code": 0, "message": "Request cancelled"}})
"""

TOOL = ToolSeen("add", {"name": "add"}, may_run=True)


@pytest.mark.parametrize(
    ("manner", "listen", "is_cancelled", "outcome"),
    [
        ("silent", 0.05, True, Outcome.PASS),
        ("rude", 0.05, True, Outcome.FAIL),
        # It waits for an answer that comes, not for this long.
        ("at once", 30.0, False, None),
    ],
)
def test_a_call_is_cancelled_while_it_runs(manner, listen, is_cancelled, outcome):
    provocation = Provocation("cancelled", "calls", Kind.CANCELLED, params={"name": "add", "arguments": {}}, tool="add")
    with closing(StdioClient([sys.executable, "-c", SERVER, manner])) as client:
        client.connect(30.0)
        exchange = client.provoke(provocation, 30.0, listen)

    found = {result.check: result.outcome for result in judge(exchange, TOOL, is_http=False)}
    assert exchange.is_cancelled is is_cancelled
    assert found.get("one-answer") is outcome
    assert found["survives"] is Outcome.PASS
