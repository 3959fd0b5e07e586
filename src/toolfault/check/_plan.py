"""
What a check will send: list the tools, choose those that may run, collect provocations.

Rule 1: a tool runs only with arguments that are proven not to fit, or that the author wrote.
Rule 2: planning calls no tool, and ends, whatever the server lists.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from toolfault._options import did_you_mean
from toolfault.check._arguments import Proof, make_for_tool
from toolfault.check._client import Client, NotStartedError
from toolfault.check._model import CheckResult, Finding, Outcome, Provocation, ToolSeen
from toolfault.check._provocations import iter_always
from toolfault.check._upstream import upstream_provocations
from toolfault.check._wire import Hello, as_array, as_object, encode


#: How many tools, and how many pages of them, are read.
_MAX_TOOLS: Final = 10_000
_MAX_PAGES: Final = 200

#: How many tools are provoked.
_MAX_PROVOKED: Final = 100

#: How much of a tool's name is shown, in characters.
_MAX_NAME: Final = 200

#: Seconds for an answer of a server that may not know what it is asked.
_PROBE: Final = 5.0

_UNPROVEN: Final = "The arguments could not be proven not to fit the tool's schema."


class OptionError(Exception):
    """
    An option does not go with the server, or with another option; the text names the cure.
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
        start: Seconds for the server's start and its handshake.
        total: Seconds for the whole check.
        listen: Seconds to wait for an answer that must not come.
        tools: Tools that only read, although they do not say so.
        writing: Tools that may be provoked although they write.
        calls: Calls of the author's own.
        breaks: Environment variables that point the server to its upstream.
        has_upstream: Whether the server calls other services.
    """

    level: int = 1
    timeout: float = 10.0
    start: float = 60.0
    total: float = 300.0
    listen: float = 0.5
    tools: frozenset[str] = frozenset()
    writing: frozenset[str] = frozenset()
    calls: tuple[Provocation, ...] = ()
    breaks: tuple[str, ...] = ()
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
        results: What the listing itself shows.
        notes: What the report says about the listing.
        skipped: The kinds of provocations that could not be made for a tool, and why, by its name.
    """

    hello: Hello
    tools: tuple[ToolSeen, ...]
    provocations: tuple[Provocation, ...]
    modern: tuple[Provocation, ...]
    reasons: Mapping[str, str]
    results: tuple[CheckResult, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: Mapping[str, Mapping[str, str]] = MappingProxyType({})


@dataclass
class _Listing:
    """
    What a server says before a tool is called.

    Attributes:
        hello: What it says of itself.
        has_session: Whether it keeps sessions.
        seconds: How long its start and its handshake took.
        tools: The tools by name, as it lists them.
        is_whole: Whether all tools were read.
        is_answered: Whether each page came.
    """

    hello: Hello
    has_session: bool
    seconds: float
    tools: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    is_whole: bool = True
    is_answered: bool = True

    def add(self, listed: Iterable[object]) -> None:
        """
        Keep the tools of a page, but for entries that are not tools.
        """
        for entry in listed:
            name = as_object(entry).get("name")
            if isinstance(name, str):
                self.tools.setdefault(name, as_object(entry))
        self.is_whole = len(self.tools) <= _MAX_TOOLS
        for name in list(self.tools)[_MAX_TOOLS:]:
            del self.tools[name]


@dataclass(frozen=True)
class Planner:
    """
    Decides what is sent to one server.

    Attributes:
        open_client: Opens a connection.
        options: What the operator decides.
        is_http: Whether the server is reached over HTTP.
        until: When the whole check has to end, by `time.monotonic`.
    """

    open_client: OpenClient
    options: Options
    is_http: bool
    until: float

    def plan(self) -> Plan:
        """
        Connect, list the tools, and decide what to send; no tool is called.

        Raises:
            NotStartedError: The server did not start, or did not finish its handshake.
            OptionError: An option names a tool that the server does not list, or does not fit.
        """
        self._refuse_options()
        listing = self._connect_and_list()
        self._refuse_unknown(listing.tools)
        tools = tuple(self._see(name, tool) for name, tool in listing.tools.items())
        reasons = {tool.name: tool.reason for tool in tools if not tool.may_run}
        skipped: dict[str, Mapping[str, str]] = {}
        hello = listing.hello
        always = iter_always(
            tools,
            is_modern=hello.is_modern,
            is_http=self.is_http,
            has_session=listing.has_session,
        )
        for_tools = self._iter_for_tools(tools, reasons, skipped)
        provocations = (*always, *for_tools, *self._iter_calls())
        modern: tuple[Provocation, ...] = ()
        if not hello.is_modern and self._speaks_modern(listing.seconds):
            modern = tuple(iter_always(tools, is_modern=True, is_http=self.is_http))
        return Plan(
            hello,
            tools,
            provocations,
            modern,
            reasons,
            tuple(self._iter_results(listing)),
            tuple(_iter_notes(listing)),
            skipped,
        )

    # ---- options

    def _refuse_options(self) -> None:
        if self.is_http and self.options.breaks:
            raise OptionError(
                "--break sets a variable of the server's process; it needs a command, not a URL"
            )
        for call in self.options.calls:
            if call.upstream and not self.options.breaks:
                raise OptionError(
                    f"a call of {call.tool} wants its upstream to be broken"
                    f" ({call.upstream}); name the variable that points there with --break"
                )

    def _refuse_unknown(self, listed: Mapping[str, Any]) -> None:
        named = self.options.tools | self.options.writing
        called = {call.tool for call in self.options.calls if call.tool is not None}
        for name in sorted(named | called):
            if name not in listed:
                near = did_you_mean(name, sorted(listed))
                raise OptionError(f"the server lists no tool {name!r}{near}")

    # ---- listing

    def _connect_and_list(self) -> _Listing:
        try:
            return self._list(self.options.start, is_modern=False)
        except NotStartedError as first:
            try:
                return self._list(min(self.options.start, _PROBE), is_modern=True)
            except NotStartedError:
                raise first from None

    def _list(self, start: float, *, is_modern: bool) -> _Listing:
        with closing(self.open_client({}, is_modern=is_modern)) as client:
            began = time.monotonic()
            hello = client.connect(start)
            listing = _Listing(hello, client.has_session, time.monotonic() - began)
            self._read_pages(client, listing)
            return listing

    def _read_pages(self, client: Client, listing: _Listing) -> None:
        params: dict[str, Any] = {}
        for _ in range(_MAX_PAGES):
            left = self.until - time.monotonic()
            answer = client.ask("tools/list", params, min(self.options.timeout, max(left, 0.0)))
            if answer is None:
                listing.is_answered = False
                return
            result = as_object(as_object(answer).get("result"))
            listing.add(as_array(result.get("tools")))
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str) or not listing.is_whole:
                return
            if cursor == params.get("cursor"):
                break
            params = {"cursor": cursor}
        listing.is_whole = False

    def _speaks_modern(self, start: float) -> bool:
        """
        Tell whether a server that shook hands also speaks the era without a handshake.

        Args:
            start: Seconds that its start took.
        """
        try:
            with closing(self.open_client({}, is_modern=True)) as client:
                client.connect(start + min(self.options.timeout, _PROBE))
        except NotStartedError:
            return False
        return True

    def _see(self, name: str, listed: dict[str, Any]) -> ToolSeen:
        shown = shlex.quote(name[:_MAX_NAME])
        hints = as_object(listed.get("annotations"))
        writes = hints.get("readOnlyHint") is False or hints.get("destructiveHint") is True
        if name in self.options.writing:
            return ToolSeen(name, listed, may_run=True)
        if writes:
            reason = (
                f"The tool says that it writes; --allow-write {shown} provokes it all the same."
            )
            return ToolSeen(name, listed, may_run=False, reason=reason)
        if name in self.options.tools or hints.get("readOnlyHint") is True:
            return ToolSeen(name, listed, may_run=True)
        reason = f"The tool has no readOnlyHint; --tool {shown} says that it only reads."
        return ToolSeen(name, listed, may_run=False, reason=reason)

    # ---- provocations

    def _iter_for_tools(
        self,
        tools: tuple[ToolSeen, ...],
        reasons: dict[str, str],
        skipped: dict[str, Mapping[str, str]],
    ) -> Iterator[Provocation]:
        may_run = [tool for tool in tools if tool.may_run]
        for tool in may_run[:_MAX_PROVOKED]:
            made = make_for_tool(tool)
            if made.reason:
                reasons[tool.name] = made.reason
            if made.skipped:
                skipped[tool.name] = made.skipped
            proven = find_proven(made.provocations, tool) if made.provocations else []
            if len(proven) < len(made.provocations):
                reasons[tool.name] = _UNPROVEN
            yield from proven
        for tool in may_run[_MAX_PROVOKED:]:
            reasons[tool.name] = f"Only the first {_MAX_PROVOKED} tools are provoked."

    def _iter_calls(self) -> Iterator[Provocation]:
        """
        Yield the author's calls; those that expect no code, in all broken surroundings.
        """
        for call in self.options.calls:
            if self.options.breaks and not call.upstream and not call.expected.codes:
                yield from upstream_provocations(call.tool or "", as_object(_arguments_of(call)))
            else:
                yield call

    # ---- what the listing shows

    def _iter_results(self, listing: _Listing) -> Iterator[CheckResult]:
        if listing.is_answered:
            return
        sent = encode({"method": "tools/list"}).decode()
        fault = f"tools/list was not answered within {self.options.timeout:g} seconds."
        finding = Finding("listing", sent, "", fault)
        yield CheckResult("answers", None, Outcome.FAIL, findings=(finding,), provoked=1)


def _iter_notes(listing: _Listing) -> Iterator[str]:
    if listing.is_answered and not listing.is_whole:
        yield (
            f"The listing of tools does not end; the first {len(listing.tools)} were read"
            f" (at most {_MAX_TOOLS} on {_MAX_PAGES} pages)."
        )


def find_proven(provocations: Sequence[Provocation], tool: ToolSeen) -> list[Provocation]:
    """
    Return the provocations whose arguments are proven not to fit their tool's schema.

    Args:
        provocations: Provocations of the tool.
        tool: The tool.
    """
    proof = Proof(tool.listed.get("inputSchema"))
    return [one for one in provocations if proof.forbids(_arguments_of(one))]


def _arguments_of(provocation: Provocation) -> Any:
    return dict(provocation.params or {}).get("arguments")
