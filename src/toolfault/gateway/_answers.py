"""
Answers over HTTP: what a body holds, whether its status says more, and which a client must see.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from toolfault._meanings.jsonrpc import ASKS_CLIENT, METHOD_NOT_FOUND
from toolfault.gateway._calls import CALL, as_object, is_object
from toolfault.gateway._lines import Line, parse_line, write_line
from toolfault.gateway._reply import rewrite_event, write_event
from toolfault.gateway._session import Open, Session
from toolfault.gateway._sse import Event


if TYPE_CHECKING:
    from toolfault.gateway._exchange import Exchange, Replace


#: The errors that leave with the status that they came with.
_WITH_STATUS: Final = ASKS_CLIENT | {METHOD_NOT_FOUND}


def holds_answer(body: bytes) -> bool:
    """
    Tell whether a body is an answer of JSON-RPC, or an array that holds one.
    """
    try:
        parsed = parse_line(body)
    except RecursionError:
        return True
    return parsed is not None and any(map(_is_end, parsed.messages))


def keeps_status(body: bytes) -> bool:
    """
    Tell whether a body with a bad status is an error that must leave with that status.
    """
    try:
        parsed = parse_line(body)
    except RecursionError:
        return False
    errors = [as_object(as_object(one).get("error")) for one in (parsed.messages if parsed else ())]
    codes = [error.get("code") for error in errors]
    return any(isinstance(code, int) and code in _WITH_STATUS for code in codes)


def is_status_clearer(status: int, headers: Mapping[str, str]) -> bool:
    """
    Tell whether the status and its headers say more than an error in the body could.
    """
    return status == 429 or (status == 503 and "retry-after" in headers)


def says_most(status: int, headers: Mapping[str, str], body: bytes) -> bool:
    """
    Tell whether a body is a message that says more than the status.
    """
    return not is_status_clearer(status, headers) and holds_answer(body)


def asks_login(status: int, headers: Mapping[str, str]) -> bool:
    """
    Tell whether an answer asks the client for a login.
    """
    return status == 401 or (status == 403 and "www-authenticate" in headers)


def is_session_gone(status: int, kind: str) -> bool:
    """
    Tell whether an answer within a session says that the session is gone.
    """
    return status == 404 and kind != "text/html"


def must_pass(status: int, opened: Sequence[Open]) -> bool:
    """
    Tell whether the client must see a status: a redirection, or a failure of no call of a tool.
    """
    return 300 <= status < 400 or (status >= 400 and not has_call(opened))


def has_call(opened: Iterable[Open]) -> bool:
    """
    Tell whether a tool is called among requests.
    """
    return any(one.call.method == CALL for one in opened)


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


def read_message(
    session: Session, data: bytes, now: float, note: Callable[[str], object]
) -> bytes | None:
    """
    Return what a message becomes: the same bytes if it does not change, None if it is dropped.

    Args:
        session: The state of the requests.
        data: The message.
        now: The time.
        note: Called with a sentence for the log of the operator.
    """
    try:
        return session.from_server(Line(data), now)
    except Exception as exc:  # noqa: BLE001 -- a mistake of ours must not end the connection
        note(f"could not judge a message, which leaves as it came: {type(exc).__name__}")
        return data


def take_event(session: Session, event: Event, now: float, note: Callable[[str], object]) -> bytes:
    """
    Return what an event becomes; the same bytes if it does not change.

    Args:
        session: The state of the requests.
        event: The event.
        now: The time.
        note: Called with a sentence for the log of the operator.
    """
    if not event.is_whole:
        written = session.from_server(Line(event.raw, is_whole=False), now)
        return b"" if written is None else write_event(written.strip())
    if event.name != "message" or not (event.data and event.data.strip()):
        return event.raw
    data = restore_id(event.data, [one.key for one in session.iter_open()])
    written = read_message(session, data, now, note)
    return event.raw if written is event.data else rewrite_event(event, written)


def decide_all(
    session: Session, decide: Callable[[Exchange, Open], Replace], now: float
) -> list[bytes]:
    """
    Return the gateway's own answers to all requests that are open; none to those that are repeated.

    Args:
        session: The state of the requests.
        decide: Returns the answer to one request.
        now: The time.
    """
    lines: list[bytes] = []
    for one in list(session.iter_open()):
        lines += session.judge(one, partial(_decide_one, decide, one), now)
    return lines


def _decide_one(
    decide: Callable[[Exchange, Open], Replace], one: Open, exchange: Exchange
) -> Replace:
    return decide(exchange, one)


def _is_end(message: object) -> bool:
    if not is_object(message) or "method" in message or "jsonrpc" not in message:
        return False
    return "result" in message or "error" in message
