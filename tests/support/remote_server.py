"""
An MCP server over HTTP whose every byte is written by hand: each tool answers, fails or breaks in one way.

It runs in a thread; `requests` holds what came.
"""

import asyncio
import json
import threading
from contextlib import contextmanager


VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
HTML = "<html><head><title>502 Bad Gateway</title></head><body><h1>cloudflare error</h1></body></html>"

#: Tool to status, content type, body and further headers.
STATUSES = {
    "s400": (400, "text/plain", "bad", []),
    "s401": (401, "application/json", '{"error": "invalid_token"}', ['www-authenticate: Bearer error="invalid_token"']),
    "s403": (403, "application/json", '{"error": "nope"}', []),
    "s404html": (404, "text/html", HTML, []),
    "s429": (429, "text/plain", "slow down", ["retry-after: 7"]),
    "s500": (500, "application/json", '{"detail": "boom"}', []),
    "s502html": (502, "text/html", HTML, []),
    "s503": (503, "text/plain", "", ["retry-after: 3"]),
    "s504": (504, "text/html", HTML, []),
    "html200": (200, "text/html", "<html>Please sign in to the guest network</html>", []),
    "empty200": (200, "application/json", "", []),
    "j202": (202, "application/json", "", []),
    "redir_cross": (307, "text/plain", "", ["location: http://127.0.0.2:1/mcp"]),
    "redir_loop": (307, "text/plain", "", ["location: /mcp"]),
}

#: Tools that are listed, for clients that call no others.
LISTED = ("ok", "iserr", "sse_error", "rpc_error", "s429", "s502html", "html200", "sse_cut", "close")

GOOD = {"content": [{"type": "text", "text": "fine"}]}
BAD = {"isError": True, "content": [{"type": "text", "text": "HTTP 503 from warehouse"}]}
HEADED = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
    },
}
TYPED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


class RemoteServer:
    """
    One server. Its attributes may be changed while it runs.
    """

    def __init__(self):
        self.requests = []
        self.sessions = set()
        self.made = 0
        self.port = None
        #: What ``GET`` answers: None for 405, else lists of events, one for each connection.
        self.streams = None
        self.refuses_sessions_with = 404
        self.tokens = None
        self.challenge = "Bearer"
        self.changed = threading.Condition()
        self.answer_later = {}
        self.dead_calls = 0
        #: What the tool ``raw`` answers: content type, body, headers; and ``asks``: status and code.
        self.raw = None
        self.asks = None
        self.flaky_calls = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/mcp"

    def record(self, *row):
        with self.changed:
            self.requests.append(row)
            self.changed.notify_all()

    def wait_for(self, wanted, patience=20):
        """
        Wait until a request came that *wanted* accepts; return it.
        """
        with self.changed:
            assert self.changed.wait_for(lambda: any(map(wanted, self.requests)), patience), self.requests
            return next(filter(wanted, self.requests))

    def called(self, method):
        return [row for row in self.requests if row[1] == method]

    # ---- HTTP

    async def serve(self, reader, writer):
        writer.peer = reader
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                verb, path, _ = head[0].split(" ")
                headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in head[1:])}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                if not await self.answer(verb, path, headers, body, writer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self.record("closed", None, {}, None, None)

    async def answer(self, verb, path, headers, body, writer):
        message = json.loads(body) if body else {}
        alone = message[0] if isinstance(message, list) else message
        self.record(verb, alone.get("method"), headers, message, path)
        if self.tokens is not None and headers.get("authorization", "")[7:] not in self.tokens:
            return await self.reply(writer, 401, "application/json", "{}", [f"www-authenticate: {self.challenge}"])
        if verb == "DELETE":
            return await self.reply(writer, 200)
        if verb == "GET":
            return await self.get(headers, writer)
        return await self.post(message, alone, path, headers, writer)

    async def reply(self, writer, status, kind="application/json", body="", headers=()):
        data = body if isinstance(body, bytes) else body.encode()
        lines = [f"HTTP/1.1 {status} Whatever", f"content-type: {kind}", f"content-length: {len(data)}", *headers]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + data)
        await writer.drain()
        return True

    async def begin_stream(self, writer, *headers):
        lines = ["HTTP/1.1 200 OK", "content-type: text/event-stream", "connection: close", *headers]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        await writer.drain()

    async def get(self, headers, writer):
        resumed = self.answer_later.pop(headers.get("last-event-id"), None)
        if resumed is not None:
            await self.begin_stream(writer)
            writer.write(resumed)
            await writer.drain()
            return False
        if not self.streams:
            return await self.reply(writer, 405, "text/plain")
        await self.begin_stream(writer)
        writer.write(self.streams.pop(0))
        await writer.drain()
        if not self.streams:
            await asyncio.sleep(3600)
        return False

    # ---- MCP

    async def post(self, message, alone, path, headers, writer):
        method, params, request_id = alone.get("method"), alone.get("params") or {}, alone.get("id")
        is_modern = VERSION_KEY in (params.get("_meta") or {})
        base = {"jsonrpc": "2.0", "id": request_id}
        if method is None or request_id is None:
            return await self.reply(writer, 202)
        if method == "initialize":
            self.made += 1
            session = f"s-{self.made}"
            self.sessions.add(session)
            result = {
                "protocolVersion": params.get("protocolVersion"),
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "remote", "version": "1"},
            }
            return await self.json(writer, {**base, "result": result}, [f"mcp-session-id: {session}"])
        if not is_modern and headers.get("mcp-session-id") not in self.sessions:
            status = self.refuses_sessions_with
            if status is None:
                return await self.reply(writer, 404, "text/plain", "no such session")
            error = {"code": -32001 if status == 404 else -32600, "message": "Session not found"}
            return await self.json(writer, {**base, "id": None, "error": error}, status=status)
        extra = {"resultType": "complete"} if is_modern else {}
        caching = {"ttlMs": 1, "cacheScope": "private"} if is_modern else {}
        if isinstance(message, list):
            answers = [{"jsonrpc": "2.0", "id": one["id"], "result": GOOD} for one in message if "id" in one]
            return await self.json(writer, answers)
        if method == "tools/list":
            tools = [
                {"name": "headed", "inputSchema": HEADED},
                {"name": "typed", "inputSchema": {"type": "object"}, "outputSchema": TYPED},
                {"name": "safe", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
                *({"name": name, "inputSchema": {"type": "object"}} for name in LISTED),
            ]
            return await self.json(writer, {**base, "result": {**extra, **caching, "tools": tools}})
        if method != "tools/call":
            error = {"code": -32601, "message": "Method not found"}
            return await self.json(writer, {**base, "error": error}, status=404 if is_modern else 200)
        return await self.call(params["name"], base, {**extra, **GOOD}, path, headers, writer)

    async def json(self, writer, message, headers=(), status=200):
        return await self.reply(writer, status, "application/json", json.dumps(message), headers)

    async def call(self, tool, base, result, path, headers, writer):
        good = {**base, "result": result}
        if tool in STATUSES:
            status, kind, body, more = STATUSES[tool]
            return await self.reply(writer, status, kind, body, more)
        if tool.startswith("sse"):
            return await self.stream(tool, good, writer)
        if tool == "redir_same" and path == "/mcp":
            return await self.reply(writer, 307, "text/plain", "", ["location: /mcp2"])
        if tool in {"session_once", "session_always"}:
            self.dead_calls += 1
            if tool == "session_always" or self.dead_calls == 1:
                self.sessions.discard(headers["mcp-session-id"])
                error = {"code": -32001, "message": "Session not found"}
                return await self.json(writer, {"jsonrpc": "2.0", "id": None, "error": error}, status=404)
        if tool == "hang":
            await writer.peer.read()
        if tool in {"hang", "close"}:
            return False
        if tool in {"raw", "asks", "s500_error"} or (tool == "flaky" and not self.flaky_calls):
            return await self.call_special(tool, base, writer)
        if tool == "truncated":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{")
            await writer.drain()
            return False
        answers = {
            "iserr": {**base, "result": {**result, **BAD}},
            "null_id": {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "lost the id"}},
            "wrong_id": {**good, "id": "other"},
            "rpc_error": {**base, "error": {"code": -32603, "message": "warehouse is down", "data": {"x": 1}}},
            "mirror": {**base, "result": {**result, "content": [{"type": "text", "text": json.dumps(headers)}]}},
        }
        if tool == "busy_error":
            error = {"code": -32603, "message": "Internal error"}
            return await self.json(writer, {**base, "error": error}, ["retry-after: 9"], status=503)
        if tool == "pretty":
            return await self.reply(writer, 200, "application/json", json.dumps(good, indent=2))
        if tool == "huge":
            return await self.reply(writer, 200, "application/json", json.dumps({**good, "x": "x" * 100_000}))
        return await self.json(writer, answers.get(tool, good))

    async def call_special(self, tool, base, writer):
        if tool == "raw":
            kind, body, more = self.raw
            return await self.reply(writer, 200, kind, body, more)
        if tool == "asks":
            status, code = self.asks
            return await self.json(writer, {**base, "error": {"code": code, "message": "?"}}, status=status)
        if tool == "s500_error":
            error = {"code": -32603, "message": "Internal error"}
            return await self.json(writer, {**base, "error": error}, status=500)
        self.flaky_calls += 1
        return await self.reply(writer, 503, "text/plain", "")

    async def stream(self, tool, good, writer):
        await self.begin_stream(writer)
        event = b"event: message\ndata: " + json.dumps(good).encode() + b"\n\n"
        lines = json.dumps(good, indent=2).split("\n")
        failed = {**good, "result": {**good["result"], **BAD}}
        events = {
            "sse_cut_id": b"id: ev-1\nretry: 10\ndata: \n\n",
            "sse_cut_for_ever": b"id: ev-0\nretry: 1\ndata: \n\n",
            "sse_cut": b": hi\n\n",
            "sse_garbage": b"event: message\ndata: {not json\n\n",
            "sse_null_id": b'data: {"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "lost"}}\n\n',
            "sse_wrong_id": b"data: " + json.dumps({**good, "id": "other"}).encode() + b"\n\n",
            "sse_multiline": b"\xef\xbb\xbf" + "".join(f"data: {one}\r\n" for one in lines).encode() + b"\r\n",
            "sse_other_event": b"event: ping\ndata: {}\n\n" + event,
            "sse_error": b"data: " + json.dumps(failed).encode() + b"\n\n",
        }
        if tool == "sse_cut_id":
            self.answer_later["ev-1"] = b"id: ev-2\n" + event
        if tool == "sse_ask":
            await self.ask(writer)
        for _ in range(20 if tool == "sse_progress" else 0):
            params = {"progressToken": 1, "progress": 1}
            progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
            writer.write(b"data: " + json.dumps(progress).encode() + b"\n\n")
            await writer.drain()
            await asyncio.sleep(0.05)
        while tool == "sse_silent":
            writer.write(b": ping\n\n")
            await writer.drain()
            await asyncio.sleep(0.02)
        writer.write(events.get(tool, event))
        await writer.drain()
        if tool == "sse_open_after":
            await asyncio.sleep(3600)
        return False

    async def ask(self, writer):
        question = {"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": {"message": "?"}}
        progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1}}
        for one in (progress, question):
            writer.write(b"data: " + json.dumps(one).encode() + b"\n\n")
        await writer.drain()
        await asyncio.to_thread(self.wait_for, lambda row: isinstance(row[3], dict) and row[3].get("id") == "q1")


@contextmanager
def serving(server=None, port=0):
    """
    Run a server in a thread.
    """
    server = server or RemoteServer()
    ready, loop = threading.Event(), asyncio.new_event_loop()

    async def main():
        listening = await asyncio.start_server(server.serve, "127.0.0.1", port, limit=1 << 22)
        server.port = listening.sockets[0].getsockname()[1]
        ready.set()
        await server.stop.wait()
        listening.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Transports close in the turns after that.
        for _ in range(3):
            await asyncio.sleep(0)

    server.stop = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(main(),))
    thread.start()
    assert ready.wait(20)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(server.stop.set)
        thread.join(20)
        loop.close()
