"""
Answers over HTTP: what a body holds, and whether its status says more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolfault.gateway._calls import as_object, is_object
from toolfault.gateway._lines import parse_line, write_line


def holds_answer(body: bytes) -> bool:
    """
    Tell whether a body is an answer of JSON-RPC, or an array that holds one.
    """
    try:
        parsed = parse_line(body)
    except RecursionError:
        return True
    return parsed is not None and any(map(_is_end, parsed.messages))


def error_codes(body: bytes) -> set[Any]:
    """
    Return the numbers of the JSON-RPC errors in a body.
    """
    try:
        parsed = parse_line(body)
    except RecursionError:
        return set()
    errors = [as_object(as_object(one).get("error")) for one in (parsed.messages if parsed else ())]
    return {error.get("code") for error in errors if isinstance(error.get("code"), int)}


def is_status_clearer(status: int, headers: Mapping[str, str]) -> bool:
    """
    Tell whether the status and its headers say more than an error in the body could.
    """
    return status == 429 or (status == 503 and "retry-after" in headers)


def restore_id(data: bytes, keys: Sequence[str]) -> bytes:
    """
    Return an error without an id with the one of the only request that it can answer.

    Args:
        data: The message.
        keys: The JSON texts of the ids of the requests that are open.
    """
    if len(keys) != 1 or b'"error"' not in data:
        return data
    try:
        parsed = parse_line(data)
    except RecursionError:
        return data
    message = parsed.messages[0] if parsed is not None and len(parsed.messages) == 1 else None
    if not is_object(message) or not _is_end(message) or message.get("id") is not None:
        return data
    return write_line({**message, "id": json.loads(keys[0])})


def _is_end(message: object) -> bool:
    if not is_object(message) or "method" in message or "jsonrpc" not in message:
        return False
    return "result" in message or "error" in message
