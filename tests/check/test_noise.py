"""
What servers write to standard output besides messages, at a real process.
"""

import sys
from contextlib import closing

import pytest

from toolfault.check._client import StdioClient
from toolfault.check._model import Kind, Outcome, Provocation
from toolfault.check._verdicts import judge


#: Writes a line at its start, or with the first call.
SERVER = """
import json, sys
moment, noise = sys.argv[1:]
def write(now):
    global moment
    if now == moment:
        print(noise, flush=True)
        moment = ""
write("start")
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        info = {"name": "server", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}}
    elif message["method"] == "ping":
        answer = {"result": {}}
    else:
        write("call")
        answer = {"error": {"code": -32602, "message": "Unknown tool"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""

CALL = Provocation("unknown-tool:plain", "names", Kind.UNKNOWN_TOOL, params={"name": "no_such_tool", "arguments": {}})


def provoke_twice(moment, noise):
    with closing(StdioClient([sys.executable, "-c", SERVER, moment, noise])) as client:
        client.connect(30.0)
        return [client.provoke(CALL, 30.0, 0.05) for _ in range(2)]


@pytest.mark.parametrize("moment", ["start", "call"])
@pytest.mark.parametrize(
    "noise", ["Server running on stdio", '{"level": 30, "msg": "listening"}', '{"jsonrpc": "2.0", "id": 1}', "[1]", "7"]
)
def test_a_line_that_is_not_a_message_is_found_once(moment, noise):
    first, second = provoke_twice(moment, noise)

    outcomes = {one.check: one.outcome for one in judge(first, None, is_http=False)}
    assert first.noise == (noise.encode(),)
    assert outcomes["stdout-clean"] is Outcome.FAIL
    assert outcomes["answers"] is Outcome.PASS
    assert second.noise == ()


@pytest.mark.parametrize("message", ['{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}', ""])
def test_a_notification_and_an_empty_line_are_no_noise(message):
    first, _ = provoke_twice("call", message)

    assert first.noise == ()
