"""
MCP servers over stdio to try the checker on, of the standard library alone, so that a process starts at once.

``python -S checked_server.py NAME``: ``good``, ``flawed``, or one of the hostile servers in `HOSTILE`.
Each call of a tool is appended to the file that CHECKED_LOG names.
"""

import json
import os
import signal
import sys
import time
from itertools import count


SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 0}},
    "required": ["n"],
    "additionalProperties": False,
}
NUMBER = {"type": "object", "properties": {"v": {"type": "integer"}}, "required": ["v"]}
SECRET = "token=ghp_abcdefghijklmnopqrstuvwxyz0123456789 postgres://admin:hunter2@db/prod"
TRACE = 'Traceback (most recent call last):\n  File "/srv/app/secret/x.py", line 3, in run\nValueError: bad '
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"


def tool(name, *, is_read_only=True, schema=SCHEMA, **more):
    hints = {"readOnlyHint": True} if is_read_only else {}
    return {"name": name, "inputSchema": schema, "annotations": hints, **more}


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def failure(words, **more):
    return text(words, isError=True, **more)


def envelope(code, message):
    body = {"code": code, "message": message, "category": "permanent", "retryable": False}
    return failure(message, structuredContent=body)


class Server:
    """
    A server that does everything right, for others to break.
    """

    tools = (tool("validates"),)
    name = "good"
    is_modern = False

    def serve(self):
        for line in sys.stdin.buffer:
            try:
                message = json.loads(line)
            except ValueError:
                self.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})
                continue
            if isinstance(message, dict) and "method" in message and "id" in message:
                self.handle(message)

    def send(self, message):
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()

    def handle(self, message):
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            answer["result"] = self.answer(message["method"], message.get("params") or {})
        except KeyError as exc:
            answer["error"] = exc.args[0]
        self.send(answer)

    def answer(self, method, params):
        if method == "initialize":
            info = {"name": self.name, "version": "1"}
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        if method == "ping":
            return {}
        if method == "tools/list":
            return self.list(params)
        if method != "tools/call":
            raise KeyError({"code": -32601, "message": f"Method not found: {method}"})
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise KeyError({"code": -32602, "message": "name must be a string and arguments an object"})
        log = os.environ.get("CHECKED_LOG")
        if log:
            with open(log, "a") as file:
                file.write(json.dumps([name, arguments, os.getpid()]) + "\n")
        if name not in [one["name"] for one in self.tools]:
            return self.call_unknown(name)
        return self.call(name, arguments)

    def list(self, params):
        return {"tools": list(self.tools)}

    def call_unknown(self, name):
        return envelope("tool_not_found", "This server has no such tool.")

    def call(self, name, arguments):
        if not isinstance(arguments.get("n"), int) or arguments["n"] < 0 or len(arguments) > 1:
            return envelope("invalid_arguments", "n must be an integer of at least 0, and alone.")
        return text("1")


class Flawed(Server):
    """
    One flaw for each tool.
    """

    name = "flawed"
    tools = (
        tool("validates"),
        tool("success_shaped"),
        tool("leaks"),
        tool("hangs"),
        tool("protocol_error"),
        tool("silent"),
        tool("schema_clash", outputSchema=NUMBER),
        tool("dies"),
        tool("delete_everything", is_read_only=False),
    )

    def call_unknown(self, name):
        return failure("")

    def handle(self, message):
        if (message.get("params") or {}).get("name") == "hangs":
            # It still answers others.
            return
        super().handle(message)

    def call(self, name, arguments):
        if isinstance(arguments.get("n"), int) and name != "delete_everything":
            return text("1")
        if name == "success_shaped":
            return text("Error: failed to read report")
        if name == "leaks":
            return failure(f"{TRACE}{arguments!r} {SECRET}")
        if name == "protocol_error":
            raise KeyError({"code": 0, "message": "'n'"})
        if name == "schema_clash":
            return failure("n is wrong", structuredContent={"code": "x", "message": "n is wrong"})
        if name == "dies":
            os._exit(1)
        if name in ("silent", "delete_everything"):
            return text("1")
        return failure("n must be an integer of at least 0")


class Modern(Server):
    """
    A server of the era without a handshake, and no other.
    """

    name = "modern"
    handshake = ("server/discover",)

    def answer(self, method, params):
        version = (params.get("_meta") or {}).get(VERSION_KEY)
        if method in ("initialize", "ping") and method not in self.handshake:
            raise KeyError({"code": -32601, "message": f"Method not found: {method}"})
        if version is None and self.handshake == ("server/discover",):
            raise KeyError({"code": -32602, "message": "_meta says no protocol version"})
        if version not in (None, "2026-07-28"):
            data = {"supported": ["2026-07-28"], "requested": version}
            raise KeyError({"code": -32022, "message": "Unsupported protocol version", "data": data})
        if method == "server/discover":
            info = {"name": self.name, "version": "1"}
            result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "serverInfo": info}
        else:
            result = super().answer(method, params)
        return {"resultType": "complete", **result} if version else result


class BothEras(Modern):
    handshake = ("initialize", "ping", "server/discover")


# ---- hostile servers


class FloodsStderr(Server):
    def call_unknown(self, name):
        for _ in range(500):
            os.write(2, b"x" * 60_000)
        return super().call_unknown(name)


class ClosesStdout(Server):
    """
    Closes its output at the first call, and lives on.
    """

    def call_unknown(self, name):
        os.close(1)
        time.sleep(3600)


class WritesLatin1(Server):
    def call_unknown(self, name):
        sys.stdout.buffer.write(b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "\xe9"}}\n')
        return super().call_unknown(name)


class WritesWindowsLines(Server):
    """
    Line breaks that are no fault, and blank lines that are none either.
    """

    def send(self, message):
        sys.stdout.write(json.dumps(message) + "\r\n\r\n")
        sys.stdout.flush()


class OddHandshake(Server):
    def answer(self, method, params):
        if method == "initialize":
            return {"protocolVersion": 7, "serverInfo": ["x"], "capabilities": None}
        return super().answer(method, params)


class HugeListing(Server):
    """
    Thirty megabytes in one line, and names that fill a page.
    """

    tools = (tool("validates"), tool("x" * 300_000, is_read_only=False), tool("long", description="x" * 30_000_000))


class RefusesListing(Server):
    tools = ()

    def list(self, params):
        raise KeyError({"code": -32601, "message": "Method not found: tools/list"})


class HangsAtStart(Server):
    def handle(self, message):
        return


class DiesAtStart(Server):
    def serve(self):
        sys.stderr.write("CONFIG_FILE is not set\n")
        sys.exit(3)


class PrintsUsage(Server):
    def serve(self):
        sys.stdout.write("usage: server --port PORT\n")
        sys.exit(2)


class Refuses(Server):
    def answer(self, method, params):
        raise KeyError({"code": -32603, "message": "no licence"})


class HangsAtListing(Server):
    def handle(self, message):
        if message["method"] != "tools/list":
            super().handle(message)


class HangsAtCalls(Server):
    def handle(self, message):
        if message["method"] != "tools/call":
            super().handle(message)


class HangsForGood(Server):
    """
    The first call blocks everything, and no signal but SIGKILL ends the process.
    """

    def call_unknown(self, name):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(3600)


class DiesAtCalls(Server):
    def call(self, name, arguments):
        os._exit(7)

    def call_unknown(self, name):
        os._exit(7)


class Floods(Server):
    """
    Writes notifications without an end from the first call on.
    """

    def call_unknown(self, name):
        line = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 900}})
        while True:
            os.write(1, (line + "\n").encode() * 50)


class FloodsOneLine(Server):
    def call_unknown(self, name):
        while True:
            os.write(1, b"x" * 60000)


class AnswersTwice(Server):
    def send(self, message):
        super().send(message)
        super().send(message)


class AnswersLate(Server):
    """
    Answers a call after the next one has been answered.
    """

    late = None

    def send(self, message):
        late, self.late = self.late, None
        is_call = "content" in message.get("result", {})
        if is_call and late is None:
            self.late = message
            return
        super().send(message)
        if late is not None:
            super().send(late)


class ChangesIds(Server):
    def send(self, message):
        if "content" in message.get("result", {}):
            message["id"] = str(message["id"])
        super().send(message)


class MakesNoise(Server):
    def send(self, message):
        sys.stdout.write("DEBUG: about to answer\n")
        super().send(message)


class WritesNaN(Server):
    def call_unknown(self, name):
        return failure("no such tool", structuredContent={"score": float("nan")})


class NestsDeeply(Server):
    def call_unknown(self, name):
        sys.stdout.write("[" * 200_000 + "\n")
        return failure("no such tool")


class EchoesNames(Server):
    def call_unknown(self, name):
        return failure(f"Unknown tool: {name}")


class LiesAboutHints(Server):
    tools = (
        tool("delete_everything"),
        tool("both", annotations={"readOnlyHint": True, "destructiveHint": True}),
    )

    def call(self, name, arguments):
        return text("deleted")


class TenThousandTools(Server):
    tools = tuple(tool(f"t{number}", is_read_only=False) for number in range(10_500))


class EndlessCursor(Server):
    pages = count()

    def list(self, params):
        number = next(self.pages)
        return {"tools": [tool(f"t{number}", is_read_only=False)], "nextCursor": str(number)}


class SameCursor(Server):
    def list(self, params):
        return {"tools": list(self.tools), "nextCursor": "again"}


class OddListing(Server):
    """
    Entries that are not tools, beside one that is.
    """

    def list(self, params):
        odd = [None, 7, "x", [], {}, {"name": 7}, {"name": "bare"}, {"name": "null", "inputSchema": None}]
        more = [{"name": "text", "inputSchema": "x", "annotations": "y", "outputSchema": 7, "_meta": []}]
        return {"tools": [*odd, *more, *self.tools], "nextCursor": 7}


class OddSchemas(Server):
    """
    Schemas with cycles, references to elsewhere, and patterns that take for ever. CHECKED_URL is where they refer to.
    """

    url = os.environ.get("CHECKED_URL", "http://127.0.0.1:9")
    schemas = {
        "itself": {"$ref": "#"},
        "cycle": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        "nested": {"type": "object", "properties": {"n": {"$ref": "#"}}, "required": ["n"]},
        "remote": {"$ref": f"{url}/schema.json"},
        "remote_part": {"type": "object", "properties": {"n": {"$ref": f"{url}/n.json#/a"}}, "required": ["n"]},
        "remote_meta": {"$schema": f"{url}/meta.json", **SCHEMA},
        "remote_id": {"$id": f"{url}/id.json", **SCHEMA},
        "remote_dynamic": {"type": "object", "properties": {"n": {"$dynamicRef": f"{url}/d.json#x"}}},
        "file": {"type": "object", "properties": {"n": {"$ref": "file:///etc/passwd"}}, "required": ["n"]},
        "pattern": {"type": "object", "properties": {"n": {"type": "string", "pattern": "^(a+)+$"}}, "required": ["n"]},
        "true": True,
        "false": False,
        "list": [],
        "huge": {"type": "object", "properties": {f"p{number}": SCHEMA for number in range(2000)}},
        "deep": {"type": "object", "properties": {"n": {}}},
    }
    tools = tuple(tool(name, schema=schema) for name, schema in schemas.items())

    def __init__(self):
        part = self.schemas["deep"]["properties"]["n"]
        for _ in range(300):
            part["type"], part["properties"] = "object", {"n": {}}
            part = part["properties"]["n"]


class LeavesAChild(Server):
    """
    Starts a process that keeps its stdout open, and dies at the first call.
    """

    def call_unknown(self, name):
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(3600)
        os._exit(0)


class ReadsNothing(Server):
    """
    Stops to read when it is called.
    """

    def call_unknown(self, name):
        time.sleep(3600)


class Asks(Server):
    """
    Asks the client for something before it answers a call.
    """

    asked = count()

    def call_unknown(self, name):
        request_id = f"ask-{next(self.asked)}"
        self.send({"jsonrpc": "2.0", "id": request_id, "method": "sampling/createMessage", "params": {}})
        others = []
        while (message := json.loads(sys.stdin.buffer.readline())).get("id") != request_id:
            others.append(message)
        for other in others:
            self.handle(other)
        return failure(f"The client said {message['error']['code']}.")


HOSTILE = {
    one.__name__: one
    for one in (
        HangsAtStart,
        DiesAtStart,
        PrintsUsage,
        Refuses,
        HangsAtListing,
        HangsAtCalls,
        HangsForGood,
        DiesAtCalls,
        Floods,
        FloodsOneLine,
        AnswersTwice,
        AnswersLate,
        ChangesIds,
        MakesNoise,
        WritesNaN,
        NestsDeeply,
        EchoesNames,
        LiesAboutHints,
        TenThousandTools,
        EndlessCursor,
        SameCursor,
        OddListing,
        OddSchemas,
        LeavesAChild,
        ReadsNothing,
        Asks,
        FloodsStderr,
        ClosesStdout,
        WritesLatin1,
        WritesWindowsLines,
        OddHandshake,
        HugeListing,
        RefusesListing,
    )
}
SERVERS = {"good": Server, "flawed": Flawed, "Modern": Modern, "BothEras": BothEras, **HOSTILE}


if __name__ == "__main__":
    SERVERS[sys.argv[1]]().serve()
