"""
The whole check: shake hands, list the tools, provoke, judge.

Rule 1: a tool runs only with arguments that are proven not to fit, or that the author wrote.
Rule 2: each group of provocations gets a fresh connection, so that the blame is right.
Rule 3: the check ends, whatever the server does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, NamedTuple, Protocol

from toolfault._options import did_you_mean
from toolfault.check._client import Client, NotStartedError
from toolfault.check._model import Exchange, Provocation, Report, ToolSeen
from toolfault.check._provocations import iter_always, make_for_tool
from toolfault.check._verdicts import judge_all
from toolfault.check._wire import Hello, as_array, as_object, encode


#: How many tools, and how many pages of them, are read.
_MAX_TOOLS: Final = 10_000
_MAX_PAGES: Final = 200

#: How many tools are provoked.
_MAX_PROVOKED: Final = 100


class UnknownToolError(Exception):
    """
    An option names a tool that the server does not list; the text names the nearest.
    """


class OpenClient(Protocol):
    """
    What opens a new connection to the server that is checked.
    """

    def __call__(self, env: Mapping[str, str], *, is_modern: bool) -> Client:
        """
        Return a connection; `Client.connect` has still to be called.

        Args:
            env: What the environment of a process has besides ours.
            is_modern: Whether to speak the era without a handshake.
        """
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """
    What the operator decides.

    Attributes:
        level: The level that the server has to reach.
        timeout: Seconds for each answer.
        total: Seconds for the whole check.
        listen: Seconds to wait for an answer that must not come.
        tools: Tools that only read, whatever their hints say.
        writing: Tools that may be provoked although they write.
        calls: Calls of the author's own.
        has_upstream: Whether the server calls other services.
    """

    level: int = 1
    timeout: float = 10.0
    total: float = 300.0
    listen: float = 0.5
    tools: frozenset[str] = frozenset()
    writing: frozenset[str] = frozenset()
    calls: tuple[Provocation, ...] = ()
    has_upstream: bool = True


class Plan(NamedTuple):
    """
    What will be sent.

    Attributes:
        hello: What the server says of itself.
        tools: Its tools.
        provocations: What will be sent, group by group.
        modern: What will be sent in the era without a handshake, if the server speaks both.
        reasons: Why nothing is sent to a tool, by its name.
    """

    hello: Hello
    tools: tuple[ToolSeen, ...]
    provocations: tuple[Provocation, ...]
    modern: tuple[Provocation, ...]
    reasons: Mapping[str, str]


#: Called with what is being done, how many provocations were sent, and how many will be.
Progress = Callable[[str, int, int], object]


def _ignore(_what: str, _done: int, _total: int) -> None:
    return


@dataclass
class Run:
    """
    One check of one server.

    Attributes:
        target: The command or URL, for the report.
        open_client: Opens a connection.
        options: What the operator decides.
        is_http: Whether the server is reached over HTTP.
        progress: Called after each step.
    """

    target: str
    open_client: OpenClient
    options: Options = field(default_factory=Options)
    is_http: bool = False
    progress: Progress = _ignore
    _began: float = field(default_factory=time.monotonic)
    _sent: int = 0
    _planned: int = 0

    def check(self) -> Report:
        """
        Provoke the server's failures, and report on them.

        Raises:
            NotStartedError: The server did not start, or did not finish its handshake.
            UnknownToolError: An option names a tool that the server does not list.
        """
        plan = self.plan()
        exchanges = list(self.provoke(plan))
        reasons = dict(plan.reasons)
        not_applicable = self._not_applicable()
        if len(exchanges) < len(plan.provocations) + len(plan.modern):
            late = f"The check took longer than {self.options.total:g} seconds."
            reasons |= {tool.name: late for tool in plan.tools if tool.name not in reasons}
        results = judge_all(exchanges, plan.tools, is_http=self.is_http, reasons=reasons)
        spoken = dict.fromkeys([plan.hello.protocol, *(one.protocol for one in exchanges)])
        return Report(
            self.target,
            plan.hello.server,
            " and ".join(spoken),
            plan.tools,
            tuple(result for result in results if result.check not in not_applicable),
            not_applicable,
            self.options.level,
            tuple(self._assumptions()),
            time.monotonic() - self._began,
        )

    def plan(self) -> Plan:
        """
        Connect, list the tools, and decide what to send; no tool is called.

        Raises:
            NotStartedError: As for `check`.
            UnknownToolError: As for `check`.
        """
        self.progress("connecting", 0, 0)
        hello, listed, has_session = self._connect_and_list()
        self._refuse_unknown({str(tool.get("name")) for tool in listed})
        tools = tuple(self._see(tool) for tool in listed)
        reasons = {tool.name: tool.reason for tool in tools if not tool.may_run}
        provocations = list(
            iter_always(
                tools, is_modern=hello.is_modern, is_http=self.is_http, has_session=has_session
            )
        )
        may_run = [tool for tool in tools if tool.may_run]
        for tool in may_run[:_MAX_PROVOKED]:
            made = make_for_tool(tool)
            provocations += made.provocations
            if made.reason:
                reasons[tool.name] = made.reason
        for tool in may_run[_MAX_PROVOKED:]:
            reasons[tool.name] = f"Only the first {_MAX_PROVOKED} tools are provoked."
        provocations += self.options.calls
        modern: tuple[Provocation, ...] = ()
        if not hello.is_modern and self._speaks_modern():
            modern = tuple(iter_always(tools, is_modern=True, is_http=self.is_http))
        return Plan(hello, tools, tuple(provocations), modern, reasons)

    # ---- listing

    def _connect_and_list(self) -> tuple[Hello, list[dict[str, Any]], bool]:
        try:
            return self._list(is_modern=False)
        except NotStartedError as first:
            try:
                return self._list(is_modern=True)
            except NotStartedError:
                raise first from None

    def _list(self, *, is_modern: bool) -> tuple[Hello, list[dict[str, Any]], bool]:
        with closing(self.open_client({}, is_modern=is_modern)) as client:
            hello = client.connect(self.options.timeout)
            return hello, list(self._iter_listed(client)), client.has_session

    def _iter_listed(self, client: Client) -> Iterator[dict[str, Any]]:
        params: dict[str, Any] = {}
        names: set[str] = set()
        for _ in range(_MAX_PAGES):
            answer = client.ask("tools/list", params, self.options.timeout)
            result = as_object(as_object(answer).get("result"))
            for tool in as_array(result.get("tools")):
                name = as_object(tool).get("name")
                if isinstance(name, str) and name not in names and len(names) < _MAX_TOOLS:
                    names.add(name)
                    yield as_object(tool)
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str) or self._is_late() or len(names) >= _MAX_TOOLS:
                return
            params = {"cursor": cursor}

    def _speaks_modern(self) -> bool:
        try:
            with closing(self.open_client({}, is_modern=True)) as client:
                client.connect(min(self.options.timeout, 5.0))
        except NotStartedError:
            return False
        return True

    def _refuse_unknown(self, listed: set[str]) -> None:
        named = self.options.tools | self.options.writing
        called = {call.tool for call in self.options.calls if call.tool is not None}
        for name in sorted(named | called):
            if name not in listed:
                near = did_you_mean(name, sorted(listed))
                raise UnknownToolError(f"the server lists no tool {name!r}{near}")

    def _see(self, listed: dict[str, Any]) -> ToolSeen:
        name = str(listed["name"])
        hints = as_object(listed.get("annotations"))
        if name in self.options.writing or hints.get("readOnlyHint") is True:
            return ToolSeen(name, listed, may_run=True)
        if hints.get("readOnlyHint") is False or hints.get("destructiveHint") is True:
            reason = f"The tool says that it writes; --allow-write {name} provokes it all the same."
            return ToolSeen(name, listed, may_run=False, reason=reason)
        if name in self.options.tools:
            return ToolSeen(name, listed, may_run=True)
        reason = f"The tool has no readOnlyHint; --tool {name} says that it only reads."
        return ToolSeen(name, listed, may_run=False, reason=reason)

    # ---- provoking

    def provoke(self, plan: Plan) -> Iterator[Exchange]:
        """
        Send what is planned, and yield what comes; less if there is no time left.

        Args:
            plan: What to send.
        """
        self._planned = len(plan.provocations) + len(plan.modern)
        yield from self._provoke_all(plan.provocations, is_modern=plan.hello.is_modern)
        yield from self._provoke_all(plan.modern, is_modern=True)

    def _provoke_all(
        self, provocations: Sequence[Provocation], *, is_modern: bool
    ) -> Iterator[Exchange]:
        for _, group in groupby(provocations, key=lambda one: one.group):
            yield from self._provoke_group(list(group), is_modern=is_modern)

    def _provoke_group(
        self, provocations: list[Provocation], *, is_modern: bool
    ) -> Iterator[Exchange]:
        client: Client | None = None
        try:
            for provocation in provocations:
                if self._is_late():
                    return
                if client is None:
                    client = self._reconnect(is_modern=is_modern)
                if client is None:
                    return
                exchange = client.provoke(provocation, self.options.timeout, self.options.listen)
                yield exchange
                self._sent += 1
                self.progress(provocation.id, self._sent, self._planned)
                if not exchange.is_alive or not exchange.answers:
                    # What follows must not be blamed for this.
                    client.close()
                    client = None
        finally:
            if client is not None:
                client.close()

    def _reconnect(self, *, is_modern: bool) -> Client | None:
        client = self.open_client({}, is_modern=is_modern)
        try:
            client.connect(self.options.timeout)
        except NotStartedError:
            client.close()
            return None
        return client

    def _is_late(self) -> bool:
        return time.monotonic() - self._began > self.options.total

    # ---- the report

    def _not_applicable(self) -> dict[str, str]:
        found: dict[str, str] = {}
        if self.is_http:
            found["stdout-clean"] = "The server is reached over HTTP."
        else:
            found["http-status"] = "The server is reached over stdio."
        if not self.options.has_upstream:
            reason = "The operator says that the server calls no other service."
            found |= dict.fromkeys(("honest-cause", "retry-advice"), reason)
        return found

    def _assumptions(self) -> Iterator[str]:
        if not self.options.has_upstream:
            yield "The server calls no other service (--no-upstream)."
        for name in sorted(self.options.tools):
            yield f"The tool {name} only reads (--tool)."
        for name in sorted(self.options.writing):
            yield f"The tool {name} may be provoked although it writes (--allow-write)."


def describe(provocation: Provocation) -> dict[str, Any]:
    """
    Return what a provocation would send, for ``--dry-run``.

    Args:
        provocation: The provocation.
    """
    if provocation.raw is not None:
        sent = provocation.raw.decode(errors="replace")
    else:
        sent = encode({"method": provocation.method, "params": provocation.params}).decode()
    return {
        "id": provocation.id,
        "group": provocation.group,
        "kind": provocation.kind.value,
        "tool": provocation.tool,
        "sends": sent if len(sent) < 500 else f"{sent[:500]}… ({len(sent)} characters)",
    }
