"""
Faults from exceptions on the client's side of a call.

Rule 1: an envelope or a JSON-RPC error in the exception decides, then its class, then its words.
Rule 2: on this side the hop is the one to the MCP server: a rule about an upstream is about that
server.
Rule 3: the text of a bug in the client's own code is no report of a tool.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, Final, TypeGuard

from toolfault._codes import McpErrorCategory, McpErrorCode, fill_defaults
from toolfault._exception_chain import causes_of, leaves_of
from toolfault._json import as_mapping, first, try_json
from toolfault._meanings.jsonrpc import SESSION_GONE, UNREACHABLE
from toolfault._names import qualified_name
from toolfault._prose.careful import peel
from toolfault._read.jsonrpc import is_rpc_error, parse_rpc_error
from toolfault._read.partial import Reader, iter_objects, parse_advice, parse_claim
from toolfault._read.result import member, texts_of
from toolfault._sanitize import SILENT, build_envelope, decode_envelope, envelope_for_verdict
from toolfault._text import WINDOW, text_of
from toolfault._tracebacks import log_exception
from toolfault._verdict import Verdict, replace
from toolfault.errors import ToolFault
from toolfault.rules import DEFAULT


#: Raised before anything was sent: the call did not happen. Pools are asked before a connection is.
_UNSENT_BY_HTTP: Final = ("ConnectError", "ConnectTimeout", "PoolTimeout")
_NOTHING_SENT: Final = frozenset(
    {
        "builtins.ConnectionRefusedError",
        "socket.gaierror",
        "anyio.ConnectionFailed",
        "anyio._core._exceptions.ConnectionFailed",
        "aiohttp.client_exceptions.ClientConnectorError",
        *(f"httpx.{name}" for name in _UNSENT_BY_HTTP),
        *(f"httpx2.{name}" for name in _UNSENT_BY_HTTP),
        *(f"httpcore.{name}" for name in _UNSENT_BY_HTTP),
        *(f"httpcore2.{name}" for name in _UNSENT_BY_HTTP),
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

#: Classes that code meets by mistake; their text is no report of a tool.
_BUGS: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    TypeError,
)

#: The sentences for exceptions without a text.
_WITHOUT_TEXT: Final = {
    McpErrorCode.TOOL_TIMEOUT: "The call timed out.",
    McpErrorCode.MCP_SERVER_UNREACHABLE: "The MCP server cannot be reached.",
}


def is_exception(value: object) -> TypeGuard[BaseException]:
    """
    Tell whether a value is an exception by its real class; an object may lie about it.
    """
    return issubclass(type(value), BaseException)


def parse_exception(exc: BaseException, reader: Reader) -> ToolFault | None:
    """
    Return the fault of an exception on this side; None for a cancellation or a signal.
    """
    if _is_fault(exc):
        return exc
    leaves = [leaf for leaf in leaves_of(exc) if _is_failure(leaf)]
    if not leaves:
        return None
    # The SDK's transports raise their one failure in groups of tasks.
    alone = len(leaves) == 1
    fault = first(_parse_chain(leaf, reader, alone=alone) for leaf in leaves)
    if fault is not None:
        return fault
    text = _report_in(text_of(leaves[0]))
    return ToolFault.of(build_envelope(McpErrorCode.INTERNAL, text), found_in="exception")


def _parse_chain(exc: BaseException, reader: Reader, *, alone: bool) -> ToolFault | None:
    """
    Return the fault of an exception and its causes, or None: by what they are, then by their words.
    """
    # What was being handled when the client's own code broke is another matter.
    links = (exc,) if isinstance(exc, _BUGS) else (exc, *causes_of(exc))
    structured = (_parse_link(link, reader, alone=alone and link is exc) for link in links)
    words = (_parse_words(link, reader) for link in links)
    return first(chain(structured, words))


def _is_fault(exc: BaseException) -> TypeGuard[ToolFault]:
    return issubclass(type(exc), ToolFault)


def _is_failure(exc: BaseException) -> bool:
    # A cancellation or a signal is not an Exception, but for one.
    return isinstance(exc, Exception) and qualified_name(type(exc)) not in _NO_FAILURE


def _parse_link(exc: BaseException, reader: Reader, *, alone: bool) -> ToolFault | None:
    """
    Return the fault of one exception of a chain, or None if at most its words tell of the call.
    """
    if _is_fault(exc):
        return exc
    error = member(exc, "error")
    if is_rpc_error(error):
        return parse_rpc_error(error, reader)
    names = [qualified_name(base) for base in type(exc).__mro__]
    verdict = _verdict_of_transport(names, _rule_on(exc))
    if verdict is not None:
        unsent = alone and any(name in _NOTHING_SENT for name in names)
        return _transport_fault(verdict, text_of(exc), unsent=unsent)
    return _parse_report(text_of(exc), reader)


def _parse_report(text: str, reader: Reader) -> ToolFault | None:
    """
    Return the fault that stands as JSON, or as our advice, in an exception's text, or None.
    """
    body = try_json(peel(_report_in(text)))
    for candidate in iter_objects(body):
        envelope = decode_envelope(candidate)
        if envelope is not None:
            return ToolFault.of(envelope, found_in="exception", received=candidate)
    received = body or text
    return parse_claim(as_mapping(body), "exception", reader, received=received) or parse_advice(
        text, "exception", reader, received=received
    )


def _transport_fault(verdict: Verdict, text: str, *, unsent: bool) -> ToolFault:
    message = verdict.message or text or _WITHOUT_TEXT.get(verdict.code, SILENT)
    status = verdict.upstream_status
    return ToolFault.of(
        envelope_for_verdict(verdict, message),
        found_in="exception",
        outcome="not_executed" if unsent else None,
        facts={"upstream_status": status} if status else None,
    )


def _report_in(text: str) -> str:
    # The texts of content blocks, as autogen writes them; other texts as they are.
    blocks = texts_of(try_json(text)) if text.startswith("[") else ()
    return "\n".join(blocks)[:WINDOW] or text


def _parse_words(exc: BaseException, reader: Reader) -> ToolFault | None:
    """
    Return the fault that an exception's words tell of, if hosts report failures with its class.
    """
    if not _may_report(exc):
        return None
    text = _report_in(text_of(exc))
    verdict = None if text.startswith(_BROKEN_SCHEMA) else reader.prose(text)
    if verdict is None:
        return None
    return ToolFault.of(envelope_for_verdict(verdict, text), found_in="exception")


def _may_report(exc: BaseException) -> bool:
    if isinstance(exc, _BUGS):
        return False
    rule = _rule_on(exc)
    return rule is None or rule.family in _MAY_REPORT


def _rule_on(exc: BaseException) -> Verdict | None:
    try:
        found = DEFAULT.verdict_on(exc)
    except Exception:  # noqa: BLE001 -- a rule looks at a stranger's object; it is logged with its traceback
        log_exception("a rule raised; the exception is judged without it")
        return None
    return None if found is None else found[1]


def _verdict_of_transport(names: Iterable[str], rule: Verdict | None) -> Verdict | None:
    """
    Return the meaning of an exception of the client's own transport to the MCP server, or None.
    """
    if any(name.rpartition(".")[2] in _STREAM_ENDED for name in names):
        return UNREACHABLE
    if rule is None or rule.family not in _OF_TRANSPORT:
        return None
    verdict = _verdict_on_server(rule)
    if verdict.family == "network" and verdict.code is McpErrorCode.INTERNAL:
        return replace(verdict, code=McpErrorCode.MCP_SERVER_UNREACHABLE, sentence=None)
    return replace(verdict, **_OF_ENDPOINT.get(verdict.upstream_status or 0, {}))


def _verdict_on_server(rule: Verdict) -> Verdict:
    """
    Return the verdict of a rule about an upstream, said of the MCP server.
    """
    # What the rule leaves to its code's defaults must not become another code's.
    category, retryable = fill_defaults(rule.code, rule.category, rule.retryable)
    return replace(
        rule,
        category=category,
        retryable=retryable,
        peer=rule.peer and _SERVER,
        # A row that names no peer speaks of the tool and its machine; here it would be this one.
        sentence=rule.sentence if rule.names_peer else None,
    )


_BEHIND_GATEWAY: Final = {
    "code": McpErrorCode.MCP_SERVER_UNREACHABLE,
    "category": McpErrorCategory.TRANSIENT,
}
#: What a status of the endpoint itself changes in the verdict on that status.
_OF_ENDPOINT: Final[dict[int, dict[str, Any]]] = {
    # The endpoint is gone, or in older revisions the session.
    404: {
        "code": SESSION_GONE.code,
        "category": SESSION_GONE.category,
        "retryable": SESSION_GONE.retryable,
        "hint": SESSION_GONE.hint,
    },
    **dict.fromkeys((502, 503, 504), _BEHIND_GATEWAY),
}
