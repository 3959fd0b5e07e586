"""
Quick tests whether an object may be in a dialect, so that a dialect is loaded only where it is.

Rule 1: a clue costs a few look-ups; the dialect's own ``recognise`` decides.
Rule 2: a value of a peer is compared, never hashed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from toolfault._bridge_record import RECORD_KEY
from toolfault._json import as_mapping, is_array, is_int, is_text


class Clue(NamedTuple):
    """
    How a dialect is found without loading it.

    Attributes:
        module: The dialect's module. It exports ``recognise(obj)``, which returns a fault or None,
            and may export ``VALUES``, classes of its own whose instances are failures.
        may_be: Whether an object may be in the dialect.
    """

    module: str
    may_be: Callable[[Mapping[Any, Any]], bool]


def _may_be_a2a(obj: Mapping[Any, Any]) -> bool:
    if is_int(obj.get("status")) and ("body" in obj or is_text(obj.get("type"))):
        # An HTTP answer as `a2a.encode` writes it, or the body of one in 0.3.
        return True
    error = as_mapping(obj.get("error")) or obj
    for name in ("data", "details"):
        value = error.get(name)
        if is_array(value) or RECORD_KEY in as_mapping(value):
            return True
    return False


#: Members that no other error has beside code and message, and no other result in its ``meta``.
_A2C_MEMBERS: Final = (
    *("server_version", "client_version", "mcp_server_name", "mcp_server", "capability"),
)
_A2C_DETAILS: Final = (RECORD_KEY, "computer_name")
_A2C_MARKS: Final = (
    *("a2c_timeout", "a2c_cancelled", "a2c_cancel_reason", "auth_hint", RECORD_KEY),
)
_A2C_LOGINS: Final = (4006, 4007)


def _may_be_a2c(obj: Mapping[Any, Any]) -> bool:
    code = obj.get("code")
    if is_int(code) and is_text(obj.get("message")):
        return 4000 < code < 4200 or (code > 0 and _has_a2c_member(obj))
    for name in ("meta", "_meta"):
        meta = as_mapping(obj.get(name))
        if any(mark in meta for mark in _A2C_MARKS) or meta.get("error_code") in _A2C_LOGINS:
            return True
    return False


def _has_a2c_member(payload: Mapping[Any, Any]) -> bool:
    details = as_mapping(payload.get("details"))
    return any(name in payload for name in _A2C_MEMBERS) or any(
        name in details for name in _A2C_DETAILS
    )


def _may_be_problem(obj: Mapping[Any, Any]) -> bool:
    body = as_mapping(obj.get("body")) or obj
    return is_text(body.get("type")) and is_text(body.get("title"))


def _may_be_google_rpc(obj: Mapping[Any, Any]) -> bool:
    body = as_mapping(obj.get("body")) or obj
    error = as_mapping(body.get("error")) or body
    return is_int(error.get("code")) and is_array(error.get("details"))


CLUES: Final = (
    Clue("toolfault.dialects.a2a._codec", _may_be_a2a),
    Clue("toolfault.dialects.a2c_smcp._codec", _may_be_a2c),
    Clue("toolfault.dialects.problem_json", _may_be_problem),
    Clue("toolfault.dialects.google_rpc", _may_be_google_rpc),
)
"""
The dialects that `toolfault.parse` recognises, in the order of asking.
"""
