"""
A server of which toolfault knows nothing: it is made with no SDK, and answers by a table.

``python agents_peer.py LOG`` speaks over stdio. Each call is noted in the file first, by the name of its tool, so that
the count goes on when the server is started anew.
"""

import json
import os
import sys
from pathlib import Path


READS = {"readOnlyHint": True}


def said(*texts, failed=True, **more):
    return {"isError": failed, "content": [{"type": "text", "text": text} for text in texts], **more}


LIMIT = {"code": "quota_exceeded", "message": "full", "category": "transient", "retryable": True}

#: What each tool promises, and what it answers at the n-th time; None ends the server.
TOOLS = {
    "outage": (READS, lambda n: said("503 Service Unavailable") if n < 3 else said("fine", failed=False)),
    "limit": (READS, lambda n: said(json.dumps({"code": "RATE_LIMITED", "message": "slow down", "retryAfter": 1}))),
    "silent": (READS, lambda n: said()),
    "turned_away": (
        {},
        lambda n: (
            said("full", structuredContent=LIMIT, _meta={"io.github.toolfault/error": {"v": 1, "outcome": "not_executed"}})
            if n < 3
            else said("written", failed=False)
        ),
    ),
    "dies": (READS, lambda n: None if n < 2 else said("alive", failed=False)),
    "dies_writing": ({}, lambda n: None),
}  # fmt: skip


def answer_to(method, params, log):
    if method == "initialize":
        version = min(params["protocolVersion"], "2025-11-25")
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "peer", "version": "1"},
        }
    if method == "tools/list":
        schema = {"type": "object", "properties": {}}
        return {
            "tools": [
                {"name": name, "description": "A tool.", "inputSchema": schema, "annotations": TOOLS[name][0]}
                for name in TOOLS
            ]
        }
    if method == "tools/call":
        with log.open("a") as noted:
            noted.write(params["name"] + "\n")
        answer = TOOLS[params["name"]][1](log.read_text().split().count(params["name"]))
        if answer is None:
            os._exit(3)
        return answer
    return None


def main(log):
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer_to(message["method"], message.get("params") or {}, log)
        body = {"error": {"code": -32601, "message": "Method not found"}} if result is None else {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
