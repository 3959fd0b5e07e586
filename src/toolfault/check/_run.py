"""
The whole check: plan, provoke, judge.

Rule 1: each group of provocations gets a fresh connection, so that the blame is right.
Rule 2: the check ends, whatever the server does.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Final

from toolfault.check._client import Client, NotStartedError
from toolfault.check._model import Exchange, Kind, Provocation, Report, merge
from toolfault.check._plan import OpenClient, Options, Plan, Planner
from toolfault.check._upstream import BrokenUpstream
from toolfault.check._verdicts import judge_all
from toolfault.check._wire import encode


#: After how many requests that broke something the rest for the same tool is left out.
_MAX_BROKEN: Final = 3

#: The checks that only a failure from outside can tell about.
_FROM_OUTSIDE: Final = ("honest-cause", "retry-advice")

#: Called with what is being done, how many provocations were sent, and how many will be.
Progress = Callable[[str, int, int], object]


def _ignore(_what: str, _done: int, _total: int) -> None:
    return


@dataclass
class Run:
    """
    One check of one server; it can be made once.

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
    _reasons: dict[str, str] = field(default_factory=dict[str, str])
    _broken: Counter[str | None] = field(default_factory=Counter["str | None"])

    def check(self) -> Report:
        """
        Provoke the server's failures, and report on them.

        Raises:
            NotStartedError: The server did not start, or did not finish its handshake.
            OptionError: An option does not go with the server, or with another one.
        """
        plan = self.plan()
        exchanges = list(self.provoke(plan))
        reasons = {**self._reasons, **plan.reasons}
        judged = judge_all(exchanges, plan.tools, is_http=self.is_http, reasons=reasons)
        not_applicable = self._not_applicable()
        results = merge((*plan.results, *judged))
        spoken = dict.fromkeys([plan.hello.protocol, *(one.protocol for one in exchanges)])
        return Report(
            self.target,
            plan.hello.server,
            " and ".join(spoken),
            plan.tools,
            tuple(result for result in results if result.check not in not_applicable),
            not_applicable,
            self.options.level,
            (*self._iter_assumptions(), *plan.notes),
            time.monotonic() - self._began,
        )

    def plan(self) -> Plan:
        """
        Connect, list the tools, and decide what to send; no tool is called.

        Raises:
            NotStartedError: As for `check`.
            OptionError: As for `check`.
        """
        self._began = time.monotonic()
        self.progress("connecting", 0, 0)
        return Planner(self.open_client, self.options, self.is_http, self._until).plan()

    @property
    def _until(self) -> float:
        return self._began + self.options.total

    # ---- provoking

    def provoke(self, plan: Plan) -> Iterator[Exchange]:
        """
        Send what is planned, and yield what comes; less if there is no time left.

        Args:
            plan: What to send.
        """
        self._planned = len(plan.provocations) + len(plan.modern)
        for provocations, is_modern in (
            (plan.provocations, plan.hello.is_modern),
            (plan.modern, True),
        ):
            for _, group in groupby(provocations, key=lambda one: (one.group, one.upstream)):
                yield from self._provoke_group(list(group), is_modern=is_modern)

    def _provoke_group(
        self, provocations: Sequence[Provocation], *, is_modern: bool
    ) -> Iterator[Exchange]:
        behaviour = provocations[0].upstream
        if not behaviour:
            yield from self._provoke_with({}, provocations, is_modern=is_modern)
            return
        with closing(BrokenUpstream()) as upstream:
            env = make_env(self.options.breaks, upstream)
            for provocation in provocations:
                upstream.behave(behaviour)
                for exchange in self._provoke_with(env, [provocation], is_modern=is_modern):
                    yield replace(exchange, upstream_requests=upstream.requests)
                absence = upstream.describe_absence(" and ".join(self.options.breaks))
                if absence:
                    self._reasons |= dict.fromkeys(_FROM_OUTSIDE, absence)

    def _provoke_with(
        self, env: Mapping[str, str], provocations: Sequence[Provocation], *, is_modern: bool
    ) -> Iterator[Exchange]:
        """
        Send provocations on one connection, and on a new one after each that broke it.
        """
        client: Client | None = None
        try:
            for provocation in provocations:
                if self._broken[provocation.tool] >= _MAX_BROKEN:
                    return
                if client is None:
                    client = self._connect(env, provocation, is_modern=is_modern)
                exchange = None if client is None else self._send(client, provocation)
                if client is None or exchange is None:
                    return
                yield exchange
                if has_broken(exchange):
                    # What follows must not be blamed for this.
                    self._broken[provocation.tool] += 1
                    client.close()
                    client = None
        finally:
            if client is not None:
                client.close()

    def _send(self, client: Client, provocation: Provocation) -> Exchange | None:
        """
        Return what a provocation brings; None if the check's time ends before it can be judged.
        """
        seconds = min(self.options.timeout, self._until - time.monotonic())
        if seconds <= 0:
            self._explain(provocation, self._too_long)
            return None
        exchange = client.provoke(provocation, seconds, self.options.listen)
        if seconds < self.options.timeout and has_broken(exchange):
            # It had less time than others.
            self._explain(provocation, self._too_long)
            return None
        self._sent += 1
        self.progress(provocation.id, self._sent, self._planned)
        return exchange

    def _connect(
        self, env: Mapping[str, str], provocation: Provocation, *, is_modern: bool
    ) -> Client | None:
        """
        Return a new connection; None if there is no time left, or the server does not start.
        """
        left = self._until - time.monotonic()
        if left <= 0:
            self._explain(provocation, self._too_long)
            return None
        client = self.open_client(env, is_modern=is_modern)
        try:
            client.connect(min(self.options.start, left))
        except NotStartedError as exc:
            client.close()
            self._explain(provocation, f"The server could not be started again: {exc}")
            return None
        except BaseException:
            # A signal, for one.
            client.close()
            raise
        return client

    @property
    def _too_long(self) -> str:
        return f"The check took longer than {self.options.total:g} seconds."

    def _explain(self, provocation: Provocation, reason: str) -> None:
        if provocation.tool is not None:
            self._reasons.setdefault(provocation.tool, reason)

    # ---- the report

    def _not_applicable(self) -> dict[str, str]:
        found: dict[str, str] = {}
        if self.is_http:
            found["stdout-clean"] = "The server is reached over HTTP."
        else:
            found["http-status"] = "The server is reached over stdio."
        if not self.options.has_upstream:
            reason = "The operator says that the server calls no other service."
            found |= dict.fromkeys(_FROM_OUTSIDE, reason)
        return found

    def _iter_assumptions(self) -> Iterator[str]:
        if time.monotonic() >= self._until:
            limit = f"The check took longer than {self.options.total:g} seconds"
            yield f"{limit}; {self._sent} of {self._planned} requests were sent (--total)."
        if not self.options.has_upstream:
            yield "The server calls no other service (--no-upstream)."
        for name in sorted(self.options.tools):
            yield f"The tool {name} only reads (--tool)."
        for name in sorted(self.options.writing):
            yield f"The tool {name} may be provoked although it writes (--allow-write)."
        for name in self.options.breaks:
            yield f"The variable {name} points the server to its upstream (--break)."


def has_broken(exchange: Exchange) -> bool:
    """
    Tell whether a provocation has left the connection, or an answer, behind.
    """
    provocation = exchange.provocation
    must_answer = provocation.raw is None and provocation.kind is not Kind.CANCELLED
    return not exchange.is_alive or (must_answer and not exchange.answers)


def make_env(variables: Sequence[str], upstream: BrokenUpstream) -> dict[str, str]:
    """
    Return the environment variables that point a process to a broken upstream.

    Args:
        variables: The names that the operator gives.
        upstream: The upstream.
    """
    env = dict.fromkeys(variables, upstream.url)
    for name in variables:
        if name.upper().endswith("_PROXY"):
            # Libraries read either spelling, and skip the proxy for what NO_PROXY names.
            env |= {name.lower(): upstream.url, name.upper(): upstream.url}
            env |= {"NO_PROXY": "", "no_proxy": "", **upstream.environment}
    return env


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
        "upstream": provocation.upstream,
        "sends": sent if len(sent) < 500 else f"{sent[:500]}… ({len(sent)} characters)",
    }
