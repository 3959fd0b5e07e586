"""
What a check of a server is made of: the checks, what is sent, what comes back, and the report.

Rule 1: a check that was not provoked never counts as passed, and no level is reached on it.
Rule 2: all sentences about a check stand in its row of `CHECKS`; findings hold facts only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, Final

from toolfault._version import __version__


class Outcome(StrEnum):
    """
    What came of one check of one tool.
    """

    PASS = "pass"  # noqa: S105 -- not a password
    """It was provoked, and nothing was wrong."""
    FAIL = "fail"
    """It was provoked, and something was wrong."""
    WARN = "warn"
    """It was provoked, and something could be better; a level can be reached with it."""
    NOT_PROVOKED = "not_provoked"
    """Nothing was sent that could tell."""


class Basis(StrEnum):
    """
    Where a check comes from.
    """

    SPEC = "spec"
    """The MCP specification, or JSON-RPC, asks for it."""
    CONTRACT = "contract"
    """The envelope's contract in ``specs/`` asks for it."""
    PRACTICE = "practice"
    """Clients and models were seen to fail without it."""


class ExitCode(IntEnum):
    """
    The exit codes of ``toolfault check``.
    """

    CLEAN = 0
    """The server reached the level that was asked for, and no finding is new."""
    FINDINGS = 1
    """A check failed, or the level was not reached."""
    USAGE = 2
    """The command line or the configuration is wrong."""
    NOT_STARTED = 3
    """The server did not start, or did not finish its handshake."""
    NOTHING_PROVOKED = 4
    """No check could be provoked."""


#: The level of a check that only informs.
INFORMATION: Final = 0

LEVELS: Final[Mapping[int, str]] = {
    1: "answered",
    2: "flagged",
    3: "useful and clean",
    4: "machine-readable",
    5: "declared",
}


@dataclass(frozen=True, slots=True)
class Check:
    """
    One question that is asked about a server's failures.

    Attributes:
        id: The stable name.
        level: The level that it belongs to, 1 to 5; `INFORMATION`: it belongs to none.
        basis: Where it comes from.
        title: What holds if it passes, in one sentence.
        why: Who is hurt if it does not.
        cure: What to change in the server.
    """

    id: str
    level: int
    basis: Basis
    title: str
    why: str
    cure: str


_S, _C, _P = Basis.SPEC, Basis.CONTRACT, Basis.PRACTICE

#: All checks, in the order of their levels.
CHECKS: Final[tuple[Check, ...]] = (
    Check(
        "answers",
        1,
        _P,
        "Every call is answered before the deadline.",
        "A client that waits for ever blocks its agent; most hosts give up after 60 seconds and"
        " learn nothing.",
        "Give each upstream request a timeout, and answer with a timeout error when it passes.",
    ),
    Check(
        "survives",
        1,
        _P,
        "The server still answers after a failed call.",
        "One bad call ends the session of every client.",
        "Catch what the tool raises, SystemExit and cancellation included, and answer with it.",
    ),
    Check(
        "one-answer",
        1,
        _S,
        "Each request gets exactly one answer with its own id, and none after it was cancelled.",
        "A client gives the second answer to the wrong call, or closes the session.",
        "Send one response per request id, copy the id with its type, and stay silent after"
        " notifications/cancelled.",
    ),
    Check(
        "stdout-clean",
        1,
        _S,
        "Standard output carries protocol messages only, as valid JSON in UTF-8.",
        "A log line on standard output breaks clients that parse every line.",
        "Log to standard error, and write JSON without NaN, Infinity and lone surrogates.",
    ),
    Check(
        "http-status",
        1,
        _S,
        "Errors over HTTP have the status that the transport asks for, and a JSON body.",
        "Clients start a new session on 404 only; other statuses leave them in a dead one.",
        "Answer 404 for an unknown session and 400 for bad headers, with a JSON-RPC error as body.",
    ),
    Check(
        "flagged",
        2,
        _S,
        "A failed call says that it failed: isError is true, or it is a JSON-RPC error.",
        "A model takes the error text for the answer, and carries on with it.",
        "Return the result with isError: true, or raise where the SDK sets it.",
    ),
    Check(
        "refused",
        2,
        _S,
        "Arguments that do not match the tool's schema are refused.",
        "The tool runs with values that its author never thought of.",
        "Validate the arguments against the input schema before the tool runs.",
    ),
    Check(
        "right-channel",
        2,
        _S,
        "Bad arguments and failures in a tool come back as results, not as JSON-RPC errors.",
        "Hosts do not show JSON-RPC errors to the model, so that it cannot mend its call.",
        "Return a result with isError: true; for bad arguments, too (MCP 2025-11-25 and later).",
    ),
    Check(
        "code-band",
        2,
        _S,
        "JSON-RPC errors have numbers that their senders may use.",
        "Clients branch on the numbers; 0 and reserved ones mean nothing or something else.",
        "Use -32602 for bad parameters, -32601 for unknown methods, -32603 for internal errors.",
    ),
    Check(
        "says-something",
        3,
        _P,
        "The first text block says what went wrong, and names the argument at fault.",
        "Hosts show the first block only; a model that reads a class name repeats the same call.",
        "Write one sentence that names what was wrong and what to do about it.",
    ),
    Check(
        "no-echo",
        3,
        _S,
        "A secret in the arguments does not come back in the error.",
        "The error is logged, shown and sent to a model provider.",
        "Name the argument, not its value, or redact the text.",
    ),
    Check(
        "no-secret",
        3,
        _S,
        "Errors carry no token, password or connection string.",
        "Whoever reads the error can use the credential.",
        "Redact error texts before they leave, and revoke what was shown.",
    ),
    Check(
        "no-trace",
        3,
        _P,
        "Errors carry no traceback.",
        "A model cannot use it, and an attacker can (CWE-209).",
        "Log the traceback, and send its message only.",
    ),
    Check(
        "no-path",
        3,
        _P,
        "Errors carry no absolute path of the server's machine.",
        "Paths tell strangers about the machine and its users (CWE-209).",
        "Name files as the caller named them.",
    ),
    Check(
        "no-markup",
        3,
        _P,
        "Error texts are short plain text, without HTML, terminal codes and invisible characters.",
        "Markup fills the model's context, and hidden characters can carry instructions to it.",
        "Take the message out of upstream pages, and strip control characters.",
    ),
    Check(
        "honest-cause",
        3,
        _P,
        "An outage, a refused login, a limit and a timeout can be told apart.",
        "An agent that reads 'not found' during an outage reports that the data does not exist.",
        "Map the upstream's status to a code of its own, and never answer with an empty success.",
    ),
    Check(
        "structured",
        4,
        _C,
        "Failures carry an error envelope that programs can read.",
        "A client can only guess from the text whether to repeat the call.",
        "Put the envelope into structuredContent or _meta.",
    ),
    Check(
        "envelope-valid",
        4,
        _C,
        "The envelope matches its schema, and its message is the first text block.",
        "Strict readers ignore an envelope that does not match.",
        "Validate the envelope against specs/envelope.schema.json.",
    ),
    Check(
        "strict-client",
        4,
        _S,
        "structuredContent of errors matches the tool's output schema, or is absent.",
        "The TypeScript SDK drops the whole result, message included, if it does not match.",
        "Widen the output schema by the envelope, or send the envelope in _meta.",
    ),
    Check(
        "retry-advice",
        4,
        _C,
        "Transient failures are marked retryable, permanent ones are not, and waits arrive.",
        "Clients hammer a server that asked for time, or give up where a second call would do.",
        "Set retryable and retry_after_seconds from the upstream's status and Retry-After.",
    ),
    Check(
        "same-twice",
        4,
        _C,
        "The same failure has the same code each time.",
        "A program that branches on the code takes a different way at random.",
        "Decide the code from the failure, not from its text or its time.",
    ),
    Check(
        "declared",
        5,
        _C,
        "Tools declare the codes that they fail with, and send no other.",
        "A client can only prepare for failures that it knows of.",
        "Declare fails_with on each tool.",
    ),
    Check(
        "hints",
        INFORMATION,
        _S,
        "Tools say whether they only read, and whether calling them twice is safe.",
        "Without readOnlyHint or idempotentHint no client may repeat a call by itself.",
        "Set readOnlyHint, idempotentHint and destructiveHint on each tool.",
    ),
)

CHECKS_BY_ID: Final[Mapping[str, Check]] = {check.id: check for check in CHECKS}


class Kind(StrEnum):
    """
    Which failure a provocation asks for.
    """

    PROTOCOL = "protocol"
    """A message that no server takes: an unknown method, broken JSON, wrong parameters."""
    UNKNOWN_TOOL = "unknown_tool"
    """The name of a tool that does not exist."""
    BAD_ARGUMENTS = "bad_arguments"
    """Arguments that the tool's schema does not allow."""
    CANCELLED = "cancelled"
    """A call that is cancelled while it runs; no answer may follow."""
    UPSTREAM = "upstream"
    """A call while the server's upstream is broken."""
    AUTHOR = "author"
    """A call that the server's author expects to fail."""


@dataclass(frozen=True, slots=True)
class Expected:
    """
    What is known of a failure before it is provoked.

    Attributes:
        codes: The codes that would be right; empty: unknown.
        argument: The name of the argument at fault.
        secret: A made-up secret in what was sent.
        is_transient: Whether the same call may succeed later; None: unknown.
        wait: The seconds that the upstream asked for.
    """

    codes: frozenset[str] = frozenset()
    argument: str | None = None
    secret: str | None = None
    is_transient: bool | None = None
    wait: int | None = None


@dataclass(frozen=True, slots=True)
class Provocation:
    """
    One message to the server that must fail.

    Attributes:
        id: A stable name, such as ``missing-argument:path``.
        group: Provocations of one group share a process.
        kind: Which failure it asks for.
        method: The JSON-RPC method.
        params: The request's ``params``; None: it has none.
        tool: The tool that may run; None: no tool can run.
        raw: The bytes to send instead of a request that is made of `method` and `params`.
        headers: What is sent beside it over HTTP; "" leaves a header out.
        upstream: How the upstream behaves meanwhile; "" as always.
        expected: What is known of the failure.
    """

    id: str
    group: str
    kind: Kind
    method: str = "tools/call"
    params: Mapping[str, Any] | None = None
    tool: str | None = None
    raw: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    upstream: str = ""
    expected: Expected = field(default_factory=Expected)


@dataclass(frozen=True, slots=True)
class Answer:
    """
    One message that came back.

    Attributes:
        raw: Its bytes, without a line break.
        value: The JSON value; None: the bytes are not JSON.
        status: The HTTP status; None over stdio.
        headers: The HTTP headers, with names in lower case.
    """

    raw: bytes
    value: Any = None
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Exchange:
    """
    What one provocation brought.

    Attributes:
        provocation: What was asked for.
        request_id: The request's id.
        answers: The answers, in their order; more than one is a fault.
        noise: What stood on stdout and is not a message.
        elapsed: Seconds until the first answer, or until the deadline.
        is_alive: Whether the server answered a ping afterwards.
        end: How the process ended; None: it runs.
        upstream_requests: How many requests the broken upstream saw; None: there was none.
        protocol: The protocol version that the connection speaks.
        is_cancelled: Whether it was cancelled before an answer came.
    """

    provocation: Provocation
    request_id: int | str
    answers: tuple[Answer, ...] = ()
    noise: tuple[bytes, ...] = ()
    elapsed: float = 0.0
    is_alive: bool = True
    end: str | None = None
    upstream_requests: int | None = None
    protocol: str = ""
    is_cancelled: bool = False


@dataclass(frozen=True, slots=True)
class ToolSeen:
    """
    A tool as the server lists it.

    Attributes:
        name: Its name.
        listed: Its entry of ``tools/list``.
        may_run: Whether provocations may reach it: it only reads, or the operator named it.
        reason: Why they may not; "" if they may.
    """

    name: str
    listed: Mapping[str, Any]
    may_run: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """
    One thing that is wrong, or could be better.

    Attributes:
        provocation: The provocation's id.
        sent: What was sent, as JSON, shortened.
        received: What came, shortened; "" if nothing came.
        fault: What is wrong with it, in one sentence.
    """

    provocation: str
    sent: str
    received: str
    fault: str


@dataclass(frozen=True, slots=True)
class CheckResult:
    """
    The outcome of one check for one tool.

    Attributes:
        check: The check's id.
        tool: The tool; None: it concerns the server.
        outcome: The outcome.
        reason: Why it was not provoked; "" otherwise.
        findings: What is wrong; for `Outcome.FAIL` and `Outcome.WARN` at least one.
        provoked: How many answers it was judged on.
    """

    check: str
    tool: str | None
    outcome: Outcome
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    provoked: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """
    What the check of a server found.

    Attributes:
        target: The command or the URL.
        server: The server's name and version, as it gives them.
        protocol: The protocol version that was agreed on.
        tools: The tools that it lists.
        results: One entry per check and tool.
        not_applicable: The checks that do not apply to the server, and why.
        asked_level: The level that was asked for.
        assumptions: What the operator said about the server, such as that it has no upstream.
        seconds: How long the check took.
        toolfault: The version of this package.
    """

    target: str
    server: str
    protocol: str
    tools: tuple[ToolSeen, ...]
    results: tuple[CheckResult, ...]
    not_applicable: Mapping[str, str] = field(default_factory=dict[str, str])
    asked_level: int = 1
    assumptions: tuple[str, ...] = ()
    seconds: float = 0.0
    toolfault: str = __version__

    @property
    def reached_level(self) -> int:
        """
        The highest level of which, as of all below, each check was provoked and none failed; 0.
        """
        return reached_level(self.results, self.not_applicable)

    @property
    def exit_code(self) -> ExitCode:
        """
        The exit code for the level that was asked for.
        """
        if all(result.outcome is Outcome.NOT_PROVOKED for result in self.results):
            return ExitCode.NOTHING_PROVOKED
        if self.reached_level < self.asked_level or _has_failed(self.results, self.asked_level):
            return ExitCode.FINDINGS
        return ExitCode.CLEAN

    def count(self, outcome: Outcome) -> int:
        """
        Count the results with an outcome.
        """
        return sum(result.outcome is outcome for result in self.results)


def reached_level(
    results: Iterable[CheckResult], not_applicable: Collection[str] = frozenset()
) -> int:
    """
    Return the highest level that was reached, 0 to 5.

    A level is reached if the levels below are, each of its checks was provoked for at least one
    tool, and none failed.

    Args:
        results: The outcomes.
        not_applicable: The ids of the checks that do not apply to the server.
    """
    listed = tuple(results)
    reached = 0
    for level in LEVELS:
        ids = {check.id for check in CHECKS if check.level == level}
        if not all(_is_met(listed, check) for check in ids.difference(not_applicable)):
            break
        reached = level
    return reached


def _is_met(results: tuple[CheckResult, ...], check: str) -> bool:
    outcomes = {result.outcome for result in results if result.check == check}
    outcomes.discard(Outcome.NOT_PROVOKED)
    return bool(outcomes) and Outcome.FAIL not in outcomes


def _has_failed(results: tuple[CheckResult, ...], level: int) -> bool:
    return any(
        result.outcome is Outcome.FAIL and CHECKS_BY_ID[result.check].level <= level
        for result in results
    )


def merge(results: Iterable[CheckResult]) -> tuple[CheckResult, ...]:
    """
    Merge the results of several provocations into one per check and tool, in the checks' order.

    The worst outcome wins; that a check was provoked once outweighs that it was not another time.
    """
    merged: dict[tuple[str, str | None], CheckResult] = {}
    for result in results:
        key = (result.check, result.tool)
        before = merged.get(key)
        merged[key] = result if before is None else _add(before, result)
    order = {check.id: place for place, check in enumerate(CHECKS)}
    return tuple(sorted(merged.values(), key=lambda r: (order[r.check], r.tool or "")))


#: Worst first.
_RANK: Final = (Outcome.FAIL, Outcome.WARN, Outcome.PASS, Outcome.NOT_PROVOKED)


def _add(one: CheckResult, other: CheckResult) -> CheckResult:
    outcome = min(one.outcome, other.outcome, key=_RANK.index)
    reason = one.reason or other.reason
    return CheckResult(
        one.check,
        one.tool,
        outcome,
        reason if outcome is Outcome.NOT_PROVOKED else "",
        one.findings + other.findings,
        one.provoked + other.provoked,
    )


def to_json(report: Report) -> dict[str, Any]:
    """
    Return a report as a JSON value; its schema stands in ``specs/check-report.schema.json``.
    """
    return {
        "toolfault": report.toolfault,
        "target": report.target,
        "server": report.server,
        "protocol": report.protocol,
        "asked_level": report.asked_level,
        "reached_level": report.reached_level,
        "exit_code": int(report.exit_code),
        "not_applicable": dict(report.not_applicable),
        "assumptions": list(report.assumptions),
        "seconds": round(report.seconds, 1),
        "totals": {outcome.value: report.count(outcome) for outcome in Outcome},
        "tools": [
            {"name": tool.name, "may_run": tool.may_run, "reason": tool.reason}
            for tool in report.tools
        ],
        "results": [_result_to_json(result) for result in report.results],
    }


def _result_to_json(result: CheckResult) -> dict[str, Any]:
    check = CHECKS_BY_ID[result.check]
    return {
        "check": check.id,
        "level": check.level,
        "basis": check.basis.value,
        "title": check.title,
        "tool": result.tool,
        "outcome": result.outcome.value,
        "reason": result.reason,
        "provoked": result.provoked,
        "findings": [
            {
                "provocation": finding.provocation,
                "sent": finding.sent,
                "received": finding.received,
                "fault": finding.fault,
                "why": check.why,
                "cure": check.cure,
            }
            for finding in result.findings
        ],
    }
