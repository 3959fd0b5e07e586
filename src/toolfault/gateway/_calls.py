"""
Requests as the gateway remembers them, and the keys that tell their ids apart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard


CALL: Final = "tools/call"
LISTING: Final = "tools/list"
TASK_RESULT: Final = "tasks/result"
TASK: Final = "tasks/get"

#: The methods whose answers the gateway may replace.
REPLACED: Final = frozenset({CALL, LISTING, TASK_RESULT, TASK})

#: The member of ``_meta`` that each request of revision 2026-07-28 has.
_VERSION: Final = "io.modelcontextprotocol/protocolVersion"


@dataclass(frozen=True, slots=True)
class Call:
    """
    One request of the host.

    Attributes:
        id: The id as the host wrote it.
        method: The method.
        params: The parameters; empty if there are none.
        is_modern: Whether the request is of revision 2026-07-28 or later.
    """

    id: Any
    method: str
    params: Mapping[str, Any]
    is_modern: bool

    @property
    def tool(self) -> str | None:
        """
        The name of the called tool; None if the request calls none.
        """
        name = self.params.get("name")
        return name if self.method == CALL and isinstance(name, str) else None

    @property
    def arguments(self) -> Mapping[str, Any] | None:
        """
        The arguments of the call; None if there are none.
        """
        arguments = self.params.get("arguments")
        return arguments if is_object(arguments) else None

    @property
    def is_limited(self) -> bool:
        """
        Whether the deadline applies: a task answers at once and works later.
        """
        return self.method == CALL and "task" not in self.params


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """
    Tell whether a parsed value is a JSON object.
    """
    return isinstance(value, dict)


def as_object(value: object) -> dict[str, Any]:
    """
    Return a parsed value if it is a JSON object, else an empty one.
    """
    return value if is_object(value) else {}


def is_array(value: object) -> TypeGuard[list[Any]]:
    """
    Tell whether a parsed value is a JSON array.
    """
    return isinstance(value, list)


def read_call(message: Mapping[str, Any]) -> Call | None:
    """
    Return the request that a message is; None for an answer or a notification.
    """
    method, request_id = message.get("method"), message.get("id")
    if not isinstance(method, str) or not is_id(request_id):
        return None
    params = as_object(message.get("params"))
    is_modern = _VERSION in as_object(params.get("_meta"))
    return Call(request_id, method, params, is_modern)


def is_answer(message: Mapping[str, Any]) -> bool:
    """
    Tell whether a message answers a request.
    """
    return "method" not in message and is_id(message.get("id"))


def is_id(value: object) -> bool:
    """
    Tell whether a parsed value may be the id of a request: a number or a text.
    """
    return isinstance(value, str | int | float)


def key_of(request_id: object) -> str:
    """
    Return the JSON text of an id, so that ``1``, ``"1"`` and ``1.0`` differ; "" for no id.
    """
    return json.dumps(request_id) if is_id(request_id) else ""


def must_judge(call: Call, message: Mapping[str, Any]) -> bool:
    """
    Tell whether an answer may have to be replaced; most successes leave without a closer look.
    """
    if call.method not in REPLACED:
        return False
    if call.method != CALL:
        return True
    result = message.get("result")
    if not is_object(result) or "error" in message:
        return True
    return bool(result.get("isError")) or "is_error" in result or "task" in result
