"""
What a checker may send to every server: messages that reach no tool.

Rule 1: no message names a tool that the server lists, or has arguments that one would take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolfault._codes import McpErrorCode
from toolfault.check._model import Expected, Kind, Provocation, ToolSeen
from toolfault.check._wire import encode


#: A made-up credential in a form that scanners know. It opens nothing.
PLANTED: Final = "ghp_" + "Ch3ckTh1sN0tR34lT0k3nPl4nt3dByUs" + "0000"

#: A name that no server has.
UNKNOWN: Final = "toolfault_no_such_tool"

_LONG_NAME: Final = 1024 * 1024

_NOT_FOUND: Final = Expected(frozenset({McpErrorCode.TOOL_NOT_FOUND}), is_transient=False)


def iter_always(
    tools: tuple[ToolSeen, ...],
    *,
    is_modern: bool,
    is_http: bool = False,
    has_session: bool = False,
) -> Iterator[Provocation]:
    """
    Yield the provocations that reach no tool.

    Args:
        tools: The tools that the server lists; no name of theirs is called.
        is_modern: Whether the server speaks the era without a handshake.
        is_http: Whether the server is reached over HTTP.
        has_session: Whether it keeps sessions.
    """
    yield from _iter_unknown_tools(tools)
    if is_modern:
        yield from _PROTOCOL_MODERN
    yield from _PROTOCOL
    if is_http:
        yield _HEADER_MISMATCH if is_modern else _BAD_VERSION
    else:
        yield _TWO_AT_ONCE
    if has_session:
        yield _DEAD_SESSION


def _iter_unknown_tools(tools: tuple[ToolSeen, ...]) -> Iterator[Provocation]:
    listed = {tool.name for tool in tools}
    near = _near_miss(tools, listed)
    if near is not None:
        yield _call("near-miss", near, _NOT_FOUND)
    for name, called in _UNKNOWN_NAMES.items():
        expected = _NOT_FOUND
        if PLANTED in called:
            expected = Expected(_NOT_FOUND.codes, secret=PLANTED, is_transient=False)
        if called not in listed:
            yield _call(name, called, expected)


def _call(name: str, tool: str, expected: Expected) -> Provocation:
    params: dict[str, Any] = {"name": tool, "arguments": {}}
    return Provocation(
        f"unknown-tool:{name}", "names", Kind.UNKNOWN_TOOL, params=params, expected=expected
    )


def _near_miss(tools: tuple[ToolSeen, ...], listed: set[str]) -> str | None:
    """
    Return a name that a caller would write by mistake; None if the server lists no tool.

    A tool that only reads comes first: a server might guess which tool was meant.
    """
    for tool in sorted(tools, key=lambda tool: (not tool.may_run, tool.name)):
        near = f"{tool.name}s"
        if near not in listed:
            return near
    return None


#: The names of tools that do not exist.
_UNKNOWN_NAMES: Final[Mapping[str, str]] = {
    "plain": UNKNOWN,
    "again": UNKNOWN,
    "secret": f"tool?key={PLANTED}",
    "control-characters": "no\x00such\x1b[31m\u202etool",
    "long": "x" * _LONG_NAME,
}

_PROTOCOL: Final = (
    Provocation(
        "unknown-method",
        "protocol",
        Kind.PROTOCOL,
        method="toolfault/no_such_method",
        params={},
        expected=Expected(is_transient=False),
    ),
    Provocation("name-missing", "protocol", Kind.PROTOCOL, params={"arguments": {}}),
    Provocation("name-is-a-number", "protocol", Kind.PROTOCOL, params={"name": 7, "arguments": {}}),
    Provocation(
        "arguments-are-a-text",
        "protocol",
        Kind.PROTOCOL,
        params={"name": UNKNOWN, "arguments": "none"},
    ),
    Provocation("params-missing", "protocol", Kind.PROTOCOL, params=None),
    Provocation(
        "bad-cursor",
        "protocol",
        Kind.PROTOCOL,
        method="tools/list",
        params={"cursor": "toolfault-no-such-cursor"},
    ),
    Provocation("not-json", "protocol", Kind.PROTOCOL, raw=b'{"jsonrpc": "2.0", "id": 1,'),
    Provocation("not-a-message", "protocol", Kind.PROTOCOL, raw=b'{"hello": "world"}'),
    # Not every parser takes it; the server must live, and need not answer.
    Provocation(
        "lone-surrogate",
        "protocol",
        Kind.PROTOCOL,
        raw=encode(
            {
                "jsonrpc": "2.0",
                "id": "toolfault-lone-surrogate",
                "method": "tools/call",
                "params": {"name": "no_such_\ud800_tool", "arguments": {}},
            }
        ),
    ),
    Provocation(
        "cancel-of-nothing",
        "protocol",
        Kind.PROTOCOL,
        raw=encode(
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": "toolfault-no-such-request"},
            }
        ),
    ),
)

_PROTOCOL_MODERN: Final = (
    # The members that each request must have in its _meta.
    Provocation(
        "meta-empty",
        "protocol",
        Kind.PROTOCOL,
        params={"name": UNKNOWN, "arguments": {}, "_meta": {}},
    ),
    Provocation(
        "version-unknown",
        "protocol",
        Kind.PROTOCOL,
        method="tools/list",
        params={
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "1999-12-31",
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        },
    ),
)


_LIST: Final[Mapping[str, Any]] = {}
_BAD_VERSION: Final = Provocation(
    "bad-version-header",
    "headers",
    Kind.PROTOCOL,
    method="tools/list",
    params=_LIST,
    headers={"mcp-protocol-version": "1999-12-31"},
)
_HEADER_MISMATCH: Final = Provocation(
    "header-mismatch",
    "headers",
    Kind.PROTOCOL,
    method="tools/list",
    params=_LIST,
    headers={"mcp-method": "tools/call"},
)
_DEAD_SESSION: Final = Provocation(
    "dead-session",
    "headers",
    Kind.PROTOCOL,
    method="tools/list",
    params=_LIST,
    headers={"mcp-session-id": "toolfault-no-such-session"},
)

#: The ids of two calls that are sent at once.
TWO_IDS: Final = ("toolfault-first", "toolfault-second")

_TWO_AT_ONCE: Final = Provocation(
    "two-at-once",
    "protocol",
    Kind.PROTOCOL,
    raw=b"\n".join(
        encode(
            {
                "jsonrpc": "2.0",
                "id": request_id,
                "method": "tools/call",
                "params": {"name": UNKNOWN, "arguments": {}},
            }
        )
        for request_id in TWO_IDS
    ),
)
