"""
An MCP server over stdio whose every byte is written by hand: each tool answers, fails or breaks in one way.
"""

import json
import os
import signal
import sys
import threading
import time


LOCK = threading.Lock()
WAITING = {}
OUTPUT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


def write(line):
    data = line if isinstance(line, bytes) else line.encode()
    with LOCK:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def send(message):
    write(json.dumps(message) + "\n")


def answer(call, **result):
    send({"jsonrpc": "2.0", "id": call["id"], "result": result})


def text(words):
    return [{"type": "text", "text": words}]


def answer_raw(call, body):
    """
    Answer with bytes: ``%s`` in them is the call's id.
    """
    write(body.replace(b"%s", json.dumps(call["id"]).encode()) + b"\n")


def ask(call):
    question = {"mode": "form", "message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}
    WAITING["ask-1"] = call
    send({"jsonrpc": "2.0", "id": "ask-1", "method": "elicitation/create", "params": question})


def twice(call):
    answer(call, content=text("first"))
    answer(call, content=text("second"))


def noise(call):
    write("Loading the model...\n")
    write('{"jsonrpc": "2.0", "id": \n')
    answer(call, content=text("after the noise"))


def progress(call):
    token = call["params"].get("_meta", {}).get("progressToken")
    for number in range(3):
        params = {"progressToken": token, "progress": number, "x-more": number}
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    answer(call, content=text("done"))


def report_environment(call):
    answer(call, content=text(json.dumps([os.environ.get("GATEWAY_TEST"), os.getpid(), os.getpgrp()])))


TRIES = {}


def flaky(call):
    name = call["params"]["name"]
    TRIES[name] = TRIES.get(name, 0) + 1
    if TRIES[name] == 1:
        answer(call, content=text("HTTP 503 Service Unavailable"), isError=True)
        return
    answer(call, content=text(f"try {TRIES[name]} as {call['id']}"))


def fork(call):
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    answer(call, content=text(str(child)))


TOOLS = {
    "ok": lambda call: answer(call, content=text("fine"), **{"x-unknown": 1}),
    "weak": lambda call: answer(
        call,
        content=[{"type": "text", "text": "HTTP 429 Too Many Requests, retry after 30 seconds", "x-block": 2}],
        isError=True,
        _meta={"com.example/keep": 1},
        **{"x-result": {"z": 1}},
    ),
    "typed": lambda call: answer(
        call,
        content=text("Seat taken"),
        isError=True,
        structuredContent={"code": "seat_taken", "message": "Seat taken", "category": "permanent", "retryable": False},
    ),
    "rpc_error": lambda call: send(
        {"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32603, "message": "db refused"}, "x-top": 1}
    ),
    "url_needed": lambda call: send(
        {"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32042, "message": "open a page", "data": {"u": 1}}}
    ),
    "secret": lambda call: answer(call, content=text("401 for token ghp_" + "a1B2" * 9), isError=True),
    "empty": lambda call: answer(call, isError=True),
    "no_result": lambda call: send({"jsonrpc": "2.0", "id": call["id"], "result": None}),
    "soft": lambda call: answer(call, content=text("Error: no such page")),
    "surrogate": lambda call: answer_raw(
        call,
        rb'{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"bad \ud83d end"}],"isError":true}}',
    ),
    "bad_utf8": lambda call: answer_raw(
        call, b'{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"caf\xe9"}]}}'
    ),
    "nan": lambda call: answer_raw(
        call, b'{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"v":NaN}}}'
    ),
    "control": lambda call: answer_raw(
        call, b'{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"a\tb"}]}}'
    ),
    "bom": lambda call: answer_raw(call, b'\xef\xbb\xbf{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}'),
    "numbers": lambda call: answer_raw(
        call,
        rb'{"jsonrpc":"2.0", "id":%s,"result":{"content":[],"structuredContent":{"a":1.0,"b":1e2,"c":12345678901234567890123,"e":-0.0,"k":"\u00e9\/","d":1,"d":2}}}',
    ),
    "crlf": lambda call: answer_raw(call, b'{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}\r'),
    "deep": lambda call: answer_raw(
        call, b'{"jsonrpc":"2.0","id":%s,"result":{"content":[],"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
    ),
    "long": lambda call: answer(call, content=text("x" * 3_000_000)),
    "hang": lambda call: None,
    "null_id": lambda call: send({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "lost"}}),
    "wrong_id": lambda call: send({"jsonrpc": "2.0", "id": "nobody", "result": {"content": []}}),
    "twice": twice,
    "noise": noise,
    "ask": ask,
    "progress": progress,
    "environment": report_environment,
    "flaky": flaky,
    "flaky_write": flaky,
    "fork": fork,
    "exit": lambda call: os._exit(3),
    "kill": lambda call: os.kill(os.getpid(), signal.SIGKILL),
    "half": lambda call: (write('{"jsonrpc": "2.0", "id": '), os._exit(0)),
    "unterminated": lambda call: (
        write(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": {"content": []}})),
        os._exit(0),
    ),
}


def describe(name):
    hints = {"readOnlyHint": name != "flaky_write", "x-hint": 1}
    tool = {"name": name, "inputSchema": {"type": "object"}, "annotations": hints, "x-vendor": 1}
    if name == "typed":
        tool["outputSchema"] = OUTPUT
    if name == "empty":
        tool["outputSchema"] = {
            "type": "object",
            "properties": {"child": {"$ref": "#"}},
            "anyOf": [{"required": ["n"]}],
        }
    return tool


def list_tools(message):
    start = int(message.get("params", {}).get("cursor", 0))
    page = list(TOOLS)[start : start + 15]
    more = {"nextCursor": str(start + 15)} if start + 15 < len(TOOLS) else {}
    answer(message, tools=[describe(name) for name in page], **more, **{"x-page": 1})


def initialize(message):
    version = message["params"]["protocolVersion"]
    server = {"name": f"raw {os.getpid()}", "version": "1", "x-server": 1}
    answer(message, protocolVersion=version, serverInfo=server, capabilities={"tools": {}, "x-capability": {}})


METHODS = {
    "initialize": initialize,
    "tools/list": list_tools,
    "tasks/result": lambda message: answer(message, content=text("disk full"), isError=True),
    "tasks/get": lambda message: answer(
        message, taskId="t", status="completed", result={"content": text("disk full"), "isError": True}
    ),
    "com.example/echo": lambda message: answer(message, echo=message["params"]),
}


def handle(message):
    method = message.get("method")
    if method == "tools/call":
        TOOLS[message["params"]["name"]](message)
    elif method in METHODS:
        METHODS[method](message)
    elif method is None:
        call = WAITING.pop(message.get("id"), None)
        if call is not None:
            answer(call, content=text(json.dumps(message.get("result"))))
    elif message.get("id") is None:
        if os.environ.get("RAW_LOG"):
            with open(os.environ["RAW_LOG"], "a") as log:
                log.write(json.dumps(message) + "\n")
    else:
        error = {"code": -32601, "message": f"Method not found: {method}"}
        send({"jsonrpc": "2.0", "id": message["id"], "error": error})


def handle_line(line):
    try:
        parsed = json.loads(line)
    except ValueError:
        send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})
        return
    for message in parsed if isinstance(parsed, list) else [parsed]:
        handle(message)


if __name__ == "__main__":
    for arrived in sys.stdin.buffer:
        handle_line(arrived)
