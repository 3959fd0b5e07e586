"""
What it means that a call brought no result: a JSON-RPC error, or an exception on this side.

Rule 1: an envelope in it decides; then, of an error, its words count for more than most numbers.
Rule 2: on this side the hop is the one to the MCP server: what a rule says of an upstream is said
of that server.
Rule 3: the text of a bug in the client's own code is no report of a tool.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeGuard

from toolfault._causes import causes_of, leaves_of
from toolfault._codes import DEFAULTS, McpErrorCategory, McpErrorCode
from toolfault._json import is_array, is_int, is_text
from toolfault._meanings.jsonrpc import (
    BROKEN,
    SESSION_GONE,
    STANDARD,
    UNREACHABLE,
    meaning_alone,
    meaning_with_words,
)
from toolfault._names import META_KEY, qualified_name
from toolfault._prose.careful import peel
from toolfault._read.partial import Reader, claim_in, claim_of, layers, of_status
from toolfault._record import RECORD_KEY
from toolfault._text import WINDOW, text_of
from toolfault._untrusted import (
    SILENT,
    envelope_of,
    facts_of,
    full_envelope,
    http_status,
    of_verdict,
)
from toolfault._verdict import Verdict
from toolfault._wire import as_mapping, json_in, member, texts_of
from toolfault.dialects.tool_failure import TOOL_FAILURE_KEY, failure_in
from toolfault.errors import FoundIn, ToolFault
from toolfault.rules import DEFAULT


_log = logging.getLogger("toolfault")


# ---- JSON-RPC errors


def is_rpc_error(obj: object) -> bool:
    """
    Tell whether something is a JSON-RPC error, whatever class it is of.
    """
    return is_int(member(obj, "code")) and is_text(member(obj, "message"))


def of_rpc(error: object, reader: Reader) -> ToolFault:
    """
    Return the failure that a JSON-RPC error is.
    """
    found_in: FoundIn = "jsonrpc_error"
    code: int = member(error, "code")
    message: str = member(error, "message")[:WINDOW]
    data: Any = member(error, "data")
    received = {"code": code, "message": member(error, "message")}
    if data is not None:
        received["data"] = data
    inside = as_mapping(data)
    ours = as_mapping(inside.get(META_KEY))
    outcome, facts = facts_of(ours)
    for candidate in (ours.get("error"), ours, data):
        if (full := full_envelope(candidate, lambda: (message,))) is not None:
            return ToolFault.of(
                full, found_in=found_in, received=candidate, outcome=outcome, facts=facts
            )
    if (failure := failure_in(inside.get(TOOL_FAILURE_KEY), (message,))) is not None:
        return ToolFault.of(
            failure[0],
            found_in=found_in,
            received=received,
            facts={"id": failure[1]} if failure[1] else None,
        )
    if (foreign := of_dialect(received)) is not None:
        return foreign
    verdict = _of_rpc_code(code, message, reader)
    if verdict.outcome is not None:
        outcome = verdict.outcome
    claim = claim_of(inside) if inside else None
    if (
        claim is not None
        and claim.word is not None
        and (claim.own or verdict.code is McpErrorCode.UNKNOWN)
    ):
        return replace(claim, message=message or claim.message).fault(
            found_in, reader, received=received, outcome=outcome, facts=facts
        )
    envelope = of_verdict(verdict, message)
    if claim is not None and claim.delay is not None:
        envelope = envelope.with_retry_after_seconds(claim.delay)
    if claim is not None and claim.retryable is not None:
        envelope = envelope.with_retryable(claim.retryable)
    return ToolFault.of(
        envelope, found_in=found_in, received=received, outcome=outcome, facts=facts
    )


def _of_rpc_code(code: int, message: str, reader: Reader) -> Verdict:
    """
    Return the meaning of a JSON-RPC error in answer to a tool call, by its words before its number.
    """
    if (decided := meaning_with_words(code, message)) is not None:
        return decided
    if (said := reader.prose(message)) is not None:
        return said
    if (alone := meaning_alone(code)) is not None:
        return alone
    if (status := http_status(code)) is not None:
        return of_status(status)
    return BROKEN if code in STANDARD else Verdict(code=McpErrorCode.UNKNOWN)


# ---- other vocabularies


def of_dialect(obj: Mapping[Any, Any]) -> ToolFault | None:
    """
    Return the failure that an object is in a vocabulary that only it can be in. None: it is in none
    of them.
    """
    for shows, read in _DIALECTS:
        if shows(obj) and (fault := read(obj)) is not None:
            return fault
    return None


def _shows_a2a(obj: Mapping[Any, Any]) -> bool:
    if isinstance(obj.get("status"), int) and ("body" in obj or isinstance(obj.get("type"), str)):
        # An HTTP answer as `a2a.encode` writes it, or the body of one in 0.3.
        return True
    error = as_mapping(obj.get("error")) or obj
    return any(
        is_array(error.get(name)) or RECORD_KEY in as_mapping(error.get(name))
        for name in ("data", "details")
    )


def _read_a2a(obj: Mapping[Any, Any]) -> ToolFault | None:
    from toolfault.dialects.a2a import recognised  # noqa: PLC0415 -- a vocabulary that few answers are in

    return recognised(obj)


#: The members of a payload of A2C-SMCP, beside code and message, that no other error has; and of a
#: tool result's meta.
_A2C_MEMBERS: Final = frozenset(
    {"server_version", "client_version", "mcp_server_name", "mcp_server", "capability"}
)
_A2C_MARKS: Final = frozenset(
    {"a2c_timeout", "a2c_cancelled", "a2c_cancel_reason", "auth_hint", RECORD_KEY}
)


def _shows_a2c(obj: Mapping[Any, Any]) -> bool:
    code: Any = obj.get("code")
    if type(code) is int and isinstance(obj.get("message"), str):
        details = as_mapping(obj.get("details"))
        marked = (
            any(name in obj for name in _A2C_MEMBERS)
            or RECORD_KEY in details
            or "computer_name" in details
        )
        return 4000 < code < 4200 or (code > 0 and marked)
    meta = as_mapping(obj.get("meta")) or as_mapping(obj.get("_meta"))
    return any(name in meta for name in _A2C_MARKS) or meta.get("error_code") in (4006, 4007)


def _read_a2c(obj: Mapping[Any, Any]) -> ToolFault | None:
    from toolfault.dialects.a2c_smcp import decode  # noqa: PLC0415 -- likewise

    return decode(obj)


#: What shows that an object is in a vocabulary, and who reads it.
_DIALECTS: Final[
    tuple[
        tuple[Callable[[Mapping[Any, Any]], bool], Callable[[Mapping[Any, Any]], ToolFault | None]],
        ...,
    ]
] = (
    (_shows_a2a, _read_a2a),
    (_shows_a2c, _read_a2c),
)


def of_payload(obj: object) -> ToolFault | None:
    """
    Return the failure that an `ErrorPayload` of A2C-SMCP is, as a value of our own class. None: it
    is none.
    """
    # There is one only where its room was loaded.
    room = sys.modules.get("toolfault.dialects.a2c_smcp")
    return room.decode(obj) if room is not None and isinstance(obj, room.ErrorPayload) else None


# ---- exceptions


#: Raised before anything was sent: the call did not happen. Pools are asked before a connection is.
_NOTHING_SENT: Final = frozenset(
    {
        "builtins.ConnectionRefusedError",
        "socket.gaierror",
        "anyio.ConnectionFailed",
        "anyio._core._exceptions.ConnectionFailed",
        "aiohttp.client_exceptions.ClientConnectorError",
        *(
            f"{package}.{name}"
            for package in ("httpx", "httpx2")
            for name in ("ConnectError", "ConnectTimeout", "PoolTimeout")
        ),
        *(
            f"{package}.{name}"
            for package in ("httpcore", "httpcore2")
            for name in ("ConnectError", "ConnectTimeout", "PoolTimeout")
        ),
    }
)

#: The stream under a session ended.
_STREAM_ENDED: Final = frozenset(
    {"BrokenResourceError", "ClosedResourceError", "EndOfStream", "IncompleteReadError"}
)

#: What a failure of the client's own transport is about; other classes say nothing of the call.
_OF_TRANSPORT: Final = frozenset({"auth", "http", "limit", "network", "timeout"})

#: Classes that hosts raise with a tool's own text; of others the text is about the client.
_MAY_REPORT: Final = frozenset({"general", "other"})

#: Who does not answer, on this side of the hop.
_SERVER: Final = "The MCP server"

#: The SDK's words for a success that breaks the tool's own schema; what follows reads like a
#: refused argument.
_BROKEN_SCHEMA: Final = "Invalid structured content"

_NO_FAILURE: Final = frozenset({"concurrent.futures._base.CancelledError"})


def is_exception(value: object) -> TypeGuard[BaseException]:
    """
    Tell whether a value is an exception by its class as it is, not as the object says.
    """
    return issubclass(type(value), BaseException)


def _is_fault(exc: BaseException) -> TypeGuard[ToolFault]:
    return issubclass(type(exc), ToolFault)


def of_exception(exc: BaseException, reader: Reader) -> ToolFault | None:
    """
    Return the failure that an exception on this side tells of. None: it is a cancellation or a
    signal.
    """
    if _is_fault(exc):
        return exc
    leaves = [leaf for leaf in leaves_of(exc) if _is_failure(leaf)]
    if not leaves:
        return None
    # The SDK's transports raise their one failure in groups of tasks.
    alone = len(leaves) == 1
    for leaf in leaves:
        # What was being handled when the client's own code broke is another matter.
        links = (leaf,) if _is_bug(leaf) else (leaf, *causes_of(leaf))
        for link in links:
            if (fault := _telling(link, reader, alone=alone and link is leaf)) is not None:
                return fault
        for link in links:
            if (fault := _by_words(link, reader)) is not None:
                return fault
    text = _reported(text_of(leaves[0]))
    return ToolFault.of(envelope_of(McpErrorCode.INTERNAL, text), found_in="exception")


def _is_failure(exc: BaseException) -> bool:
    # A cancellation or a signal is no Exception, but for one.
    return isinstance(exc, Exception) and qualified_name(type(exc)) not in _NO_FAILURE


def _telling(exc: BaseException, reader: Reader, *, alone: bool) -> ToolFault | None:
    """
    Return the failure that one exception tells of. None: at most its words say what happened to the
    call.
    """
    if _is_fault(exc):
        return exc
    error = member(exc, "error")
    if error is not None and is_rpc_error(error):
        return of_rpc(error, reader)
    names = [qualified_name(base) for base in type(exc).__mro__]
    text = text_of(exc)
    rule = _rule_on(exc)
    verdict = _of_transport(names, rule)
    if verdict is not None:
        envelope = of_verdict(verdict, verdict.message or text or _unsaid(verdict))
        sent = not (alone and any(name in _NOTHING_SENT for name in names))
        facts = {"upstream_status": verdict.upstream_status} if verdict.upstream_status else None
        return ToolFault.of(
            envelope, found_in="exception", outcome=None if sent else "not_executed", facts=facts
        )
    body = json_in(peel(_reported(text)))
    for candidate in layers(body):
        if (full := full_envelope(candidate)) is not None:
            return ToolFault.of(full, found_in="exception", received=candidate)
    claim = claim_of(as_mapping(body)) or claim_in(text)
    return None if claim is None else claim.fault("exception", reader, received=body or text)


def _reported(text: str) -> str:
    # The texts of content blocks, as autogen writes them; other texts as they are.
    blocks = texts_of(json_in(text)) if text.startswith("[") else ()
    return "\n".join(blocks)[:WINDOW] or text


def _by_words(exc: BaseException, reader: Reader) -> ToolFault | None:
    """
    Return the failure that the words of an exception tell of, if its class is one that hosts report
    failures with.
    """
    text = _reported(text_of(exc))
    rule = _rule_on(exc)
    reports = rule is None or rule.family in _MAY_REPORT
    if not text or not reports or _is_bug(exc) or text.startswith(_BROKEN_SCHEMA):
        return None
    said = reader.prose(text)
    return None if said is None else ToolFault.of(of_verdict(said, text), found_in="exception")


def _rule_on(exc: BaseException) -> Verdict | None:
    try:
        found = DEFAULT.verdict_on(exc)
    except Exception:  # noqa: BLE001 -- a rule looks at a stranger's object; it is logged with its traceback
        _log.exception("a rule raised; the exception is judged without it")
        return None
    return None if found is None else found[1]


def _of_transport(names: Iterable[str], rule: Verdict | None) -> Verdict | None:
    """
    Return what an exception of the client's own transport means: on this side the hop is the one to
    the MCP server.
    """
    if any(name.rpartition(".")[2] in _STREAM_ENDED for name in names):
        return UNREACHABLE
    if rule is None or rule.family not in _OF_TRANSPORT:
        return None
    category, retryable = DEFAULTS[rule.code]
    # What the rule leaves to its code's defaults must not become another code's.
    verdict = replace(
        rule,
        category=category if rule.category is None else rule.category,
        retryable=retryable if rule.retryable is None else rule.retryable,
        peer=None if rule.peer is None else _SERVER,
    )
    status = verdict.upstream_status
    if verdict.family == "network" and verdict.code is McpErrorCode.INTERNAL:
        return replace(verdict, code=McpErrorCode.MCP_SERVER_UNREACHABLE, sentence=None)
    if status in {502, 503, 504}:
        return replace(
            verdict, code=McpErrorCode.MCP_SERVER_UNREACHABLE, category=McpErrorCategory.TRANSIENT
        )
    if status == 404:
        # The endpoint is gone, or in older revisions the session.
        return replace(
            verdict,
            code=SESSION_GONE.code,
            category=SESSION_GONE.category,
            retryable=SESSION_GONE.retryable,
            hint=SESSION_GONE.hint,
        )
    return verdict


def _unsaid(verdict: Verdict) -> str:
    return {
        McpErrorCode.TOOL_TIMEOUT: "The call timed out.",
        McpErrorCode.MCP_SERVER_UNREACHABLE: "The MCP server cannot be reached.",
    }.get(verdict.code, SILENT)


def _is_bug(exc: BaseException) -> bool:
    """
    Tell whether an exception is of a class that code meets by mistake; its text is no report of a
    tool.
    """
    return isinstance(
        exc, ArithmeticError | AssertionError | AttributeError | LookupError | NameError | TypeError
    )
