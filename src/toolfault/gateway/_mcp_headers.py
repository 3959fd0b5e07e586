"""
The HTTP headers that the protocol wants beside a message.

Until 2025-11-25 the version that was agreed on; since 2026-07-28 also the method, the name, and the
arguments that a tool's schema marks with ``x-mcp-header``.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolfault.gateway._calls import CALL, Call, as_object, is_array, is_object


#: The headers that every request has.
BASE: Final = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}

SESSION: Final = "mcp-session-id"
VERSION: Final = "mcp-protocol-version"

_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"

#: Which member of a request's parameters is its name.
_NAMES: Final = {CALL: "name", "prompts/get": "name", "resources/read": "uri"}

_ANNOTATION: Final = "x-mcp-header"

#: How many tools and marked arguments are remembered, and how deep the latter may stand.
_MAX_TOOLS: Final = 10_000
_MAX_MARKED: Final = 100
_MAX_DEPTH: Final = 20

_is_token: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}").fullmatch
_is_plain: Final = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?").fullmatch
_is_encoded: Final = re.compile(r"=\?base64\?.*\?=").fullmatch


class Marked:
    """
    The arguments that tools want as headers, learnt from their listings.
    """

    def __init__(self) -> None:
        """
        Start without any tool.
        """
        self._tools: dict[str, dict[tuple[str, ...], str]] = {}

    def learn(self, result: Mapping[str, Any]) -> None:
        """
        Read one page of ``tools/list``.
        """
        listed = result.get("tools")
        for tool in listed if is_array(listed) else ():
            name = as_object(tool).get("name")
            if not isinstance(name, str) or len(self._tools) >= _MAX_TOOLS:
                continue
            schema = as_object(as_object(tool).get("inputSchema"))
            marked = dict(list(_iter_marked(schema, (), 0))[:_MAX_MARKED])
            self._tools.pop(name, None)
            if marked:
                self._tools[name] = marked

    def headers(self, call: Call) -> dict[str, str]:
        """
        Return the headers of one call's arguments.
        """
        headers: dict[str, str] = {}
        for path, token in self._tools.get(call.tool or "", {}).items():
            text = _as_text(_value_at(call.arguments, path))
            if text is not None:
                headers[f"mcp-param-{token}"] = encode(text)
        return headers


def message_headers(
    message: Mapping[str, Any], marked: Marked, call: Call | None
) -> dict[str, str]:
    """
    Return the headers that one message of revision 2026-07-28 needs; none for earlier ones.

    Args:
        message: The message.
        marked: The arguments that tools want as headers.
        call: The message as a request. None: it is none.
    """
    params = as_object(message.get("params"))
    version, method = as_object(params.get("_meta")).get(_VERSION_KEY), message.get("method")
    if not isinstance(version, str) or not isinstance(method, str):
        return {}
    headers = {VERSION: encode(version), "mcp-method": encode(method)}
    name = params.get(_NAMES.get(method, ""))
    if isinstance(name, str):
        headers["mcp-name"] = encode(name)
    return headers if call is None else {**headers, **marked.headers(call)}


def encode(value: str) -> str:
    """
    Return a text as the value of a header; in base64 if it would not survive as it is.
    """
    if _is_plain(value) and not _is_encoded(value):
        return value
    coded = base64.b64encode(value.encode(errors="replace")).decode()
    return f"=?base64?{coded}?="


def _iter_marked(
    schema: Mapping[str, Any], path: tuple[str, ...], depth: int
) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, inner in as_object(schema.get("properties")).items():
        if not is_object(inner):
            continue
        token = inner.get(_ANNOTATION)
        if isinstance(token, str) and _is_token(token):
            yield (*path, name), token
        if depth < _MAX_DEPTH:
            yield from _iter_marked(inner, (*path, name), depth + 1)


def _value_at(arguments: Any, path: tuple[str, ...]) -> Any:
    value = arguments
    for name in path:
        value = as_object(value).get(name)
    return value


def _as_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        return None
    try:
        return str(value)
    except ValueError:
        # An integer with too many digits.
        return None
