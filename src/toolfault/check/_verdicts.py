"""
What all answers together say about a server: one result for each check and tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from toolfault._codes import McpErrorCode
from toolfault._names import META_KEY
from toolfault.check._faults import FUNCTIONS, Fault, show
from toolfault.check._model import (
    CHECKS,
    CheckResult,
    Exchange,
    Finding,
    Outcome,
    ToolSeen,
    merge,
)
from toolfault.check._view import View
from toolfault.check._wire import as_array, as_object, encode


#: How much of what was sent and received a finding shows, in characters.
_SHOWN: Final = 600


def judge(exchange: Exchange, tool: ToolSeen | None, *, is_http: bool) -> tuple[CheckResult, ...]:
    """
    Return what one exchange says about each check that it can tell about.

    Args:
        exchange: The exchange.
        tool: The tool that was called.
        is_http: Whether the server is reached over HTTP.
    """
    return tuple(_iter_results(View(exchange, tool, is_http)))


def judge_all(
    exchanges: Iterable[Exchange],
    tools: Sequence[ToolSeen],
    *,
    is_http: bool,
    reasons: Mapping[str, str] | None = None,
) -> tuple[CheckResult, ...]:
    """
    Return one result per check and tool, those that were not provoked included.

    Args:
        exchanges: All exchanges.
        tools: The tools that the server lists.
        is_http: Whether the server is reached over HTTP.
        reasons: Why a tool, by name, or a check, by id, was not provoked.
    """
    by_name = {tool.name: tool for tool in tools}
    views = [
        View(exchange, by_name.get(exchange.provocation.tool or ""), is_http)
        for exchange in exchanges
    ]
    found = [result for view in views for result in _iter_results(view)]
    found += _iter_same_twice(views)
    found += _iter_declared(views, tools)
    found += _iter_hints(tools)
    rest = _Rest(found, tools, reasons or {}, _unused_upstreams(views))
    return merge((*found, *rest.iter_results(is_http=is_http)))


def _iter_results(view: View) -> Iterator[CheckResult]:
    for check, find_faults in FUNCTIONS.items():
        faults = find_faults(view)
        if faults is not None:
            yield _make_result(check, view, faults)


def _make_result(check: str, view: View, faults: Sequence[Fault]) -> CheckResult:
    outcome = Outcome.PASS
    if faults:
        is_warning = all(fault.is_warning for fault in faults)
        outcome = Outcome.WARN if is_warning else Outcome.FAIL
    findings = tuple(_make_finding(view, fault) for fault in faults)
    tool = None if view.tool is None else view.tool.name
    return CheckResult(check, tool, outcome, findings=findings, provoked=1)


def _make_finding(view: View, fault: Fault) -> Finding:
    received = b"" if view.answer is None else view.answer.raw
    if view.exchange.noise and not received:
        received = view.exchange.noise[0]
    return Finding(
        view.exchange.provocation.id,
        _shorten(view.sent),
        _shorten(received.decode(errors="replace")),
        fault.text,
    )


def _shorten(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]}… ({len(text)} characters)"


# ---- checks over several answers


def _iter_same_twice(views: Sequence[View]) -> Iterator[CheckResult]:
    firsts = {_key_of(view, view.exchange.provocation.id): view for view in views}
    for view in views:
        name, _, again = view.exchange.provocation.id.rpartition(":")
        first = firsts.get(_key_of(view, _first_of(name)))
        if again != "again" or first is None or not first.is_failure or not view.is_failure:
            continue
        faults: list[Fault] = []
        if _identify(first) != _identify(view):
            faults.append(Fault("The same call failed with another code the second time."))
        yield _make_result("same-twice", view, faults)


def _key_of(view: View, provocation: str) -> tuple[str | None, str, str]:
    # A server may answer the same call differently in each era.
    return view.exchange.provocation.tool, provocation, view.exchange.protocol


def _first_of(name: str) -> str:
    return "unknown-tool:plain" if name == "unknown-tool" else name


def _identify(view: View) -> object:
    """
    Return what a program would branch on; of a text, what it is read as.
    """
    code = None if view.fault is None else view.fault.code
    return code, view.structured is not None, view.error_code


def _iter_declared(views: Sequence[View], tools: Sequence[ToolSeen]) -> Iterator[CheckResult]:
    codes_of = {tool.name: declared_codes(tool) for tool in tools}
    for view in views:
        if view.tool is None or not view.is_failure:
            continue
        declared = codes_of[view.tool.name]
        faults: list[Fault] = []
        code = None if view.structured is None else view.structured.code
        if not declared:
            faults.append(Fault("The tool does not declare the codes that it fails with."))
        elif code is not None and code not in declared | _OF_EVERY_TOOL:
            faults.append(Fault(f"The tool failed with {code}, which it does not declare."))
        yield _make_result("declared", view, faults)
        if not declared:
            # Once is enough.
            codes_of[view.tool.name] = _OF_EVERY_TOOL | set(McpErrorCode)


#: Codes that the server answers with before a tool runs.
_OF_EVERY_TOOL: Final = frozenset({McpErrorCode.INVALID_ARGUMENTS, McpErrorCode.TOOL_NOT_FOUND})


def declared_codes(tool: ToolSeen) -> frozenset[str]:
    """
    Return the codes that a listed tool declares.
    """
    ours = as_object(as_object(tool.listed.get("_meta")).get(META_KEY))
    return frozenset(code for code in as_array(ours.get("fails_with")) if isinstance(code, str))


def _iter_hints(tools: Sequence[ToolSeen]) -> Iterator[CheckResult]:
    for tool in tools:
        hints = as_object(tool.listed.get("annotations"))
        missing = [name for name in ("readOnlyHint", "idempotentHint") if name not in hints]
        if hints.get("readOnlyHint") is True or not missing:
            yield CheckResult("hints", tool.name, Outcome.PASS, provoked=1)
            continue
        fault = f"The tool has no {' and no '.join(missing)}."
        sent = encode({"method": "tools/list"}).decode()
        finding = Finding("listing", sent, _shorten(show(hints or None)), fault)
        yield CheckResult("hints", tool.name, Outcome.WARN, findings=(finding,), provoked=1)


# ---- what was not provoked


def _unused_upstreams(views: Sequence[View]) -> frozenset[str]:
    """
    Return the names of the tools that did not use the upstream while it was broken.
    """
    broken = [view for view in views if view.tool and view.exchange.provocation.upstream]
    used = {view.tool.name for view in broken if view.tool and view.is_from_outside}
    return frozenset(view.tool.name for view in broken if view.tool) - used


#: Checks that only a provocation of a tool can tell about.
_OF_TOOLS: Final = frozenset(
    {"refused", "right-channel", "strict-client", "honest-cause", "retry-advice", "declared"}
)

#: Checks that only a broken upstream, or the author, can provoke.
_OF_UPSTREAMS: Final = frozenset({"honest-cause", "retry-advice"})

_NOTHING_SENT: Final = "Nothing that was sent to the tool could tell."
_NOTHING_TOLD: Final = "No answer could tell."
_NOTHING_BROKEN: Final = "No upstream was broken while the tool was called."
_NOT_USED: Final = "The tool sent no request to the broken upstream."


class _Rest:
    """
    The checks and tools that nothing was provoked of, each with a reason.
    """

    def __init__(
        self,
        found: Sequence[CheckResult],
        tools: Sequence[ToolSeen],
        reasons: Mapping[str, str],
        unused: frozenset[str],
    ) -> None:
        self._checks = {result.check for result in found}
        self._pairs = {(result.check, result.tool) for result in found}
        self._tools = tools
        self._reasons = reasons
        self._unused = unused

    def iter_results(self, *, is_http: bool) -> Iterator[CheckResult]:
        """
        Yield a row for each tool that was not called, and for each check that nothing told about.
        """
        other_transport = "stdout-clean" if is_http else "http-status"
        for check in (one.id for one in CHECKS if one.id != other_transport):
            if check in _OF_TOOLS and self._tools:
                yield from self._iter_tools(check)
            elif check not in self._checks:
                reason = self._reasons.get(check, _NOTHING_TOLD)
                yield CheckResult(check, None, Outcome.NOT_PROVOKED, reason)

    def _iter_tools(self, check: str) -> Iterator[CheckResult]:
        for tool in self._tools:
            if (check, tool.name) not in self._pairs:
                reason = self._find_reason(check, tool)
                yield CheckResult(check, tool.name, Outcome.NOT_PROVOKED, reason)

    def _find_reason(self, check: str, tool: ToolSeen) -> str:
        if check in _OF_UPSTREAMS:
            if tool.name in self._unused:
                return self._reasons.get(check, _NOT_USED)
            return self._reasons.get(tool.name) or tool.reason or _NOTHING_BROKEN
        return (
            self._reasons.get(check) or self._reasons.get(tool.name) or tool.reason or _NOTHING_SENT
        )
