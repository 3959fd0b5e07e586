"""
A server whose tools do what no tool should, run as a process.
"""

from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent

from toolfault.integrations.mcp import install


class Wicked(BaseException):
    """
    Raised where nobody expects anything to be raised.
    """


class ExitsInStr(Exception):
    def __str__(self):
        raise SystemExit(3)


def wicked(name):
    def fail(*_):
        raise Wicked(name)

    return type("E", (OSError,), {name: property(fail), "__module__": "strange.lib"})


ATTRIBUTES = ["errno", "strerror", "filename", "args", "__traceback__", "__cause__", "__class__", "__dict__"]
TEXT = TextContent(type="text", text="m")
ENVELOPE = {"code": "internal", "message": "\ud800", "category": "permanent", "retryable": False}
RESULTS = {
    "in_structured": {"structured_content": {"a": "\ud800"}},
    "in_a_key": {"structured_content": {"\ud800": 1}},
    "in_meta": {"_meta": {"a": "\ud800"}},
    "in_an_envelope": {"structured_content": ENVELOPE, "is_error": True},
}

server = install(MCPServer("hostile", log_level="CRITICAL"))


@server.tool()
async def ok() -> str:
    return "fine"


def raising(name):
    async def tool():
        kind = wicked(name)
        raise kind

    return tool


def returning(fields):
    async def tool() -> CallToolResult:
        return CallToolResult(content=[TEXT], **fields)

    return tool


async def exits_in_str():
    raise ExitsInStr


for attribute in ATTRIBUTES:
    server.add_tool(raising(attribute), name=f"raises_{attribute.strip('_')}")
for where, fields in RESULTS.items():
    server.add_tool(returning(fields), name=f"surrogate_{where}")
server.add_tool(exits_in_str)

if __name__ == "__main__":
    server.run()
