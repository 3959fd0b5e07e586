"""
The guard around handlers: judges what they raise, calls the hooks, logs, and never fails itself.
"""

from __future__ import annotations

import math
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypedDict, TypeVar, Unpack
from weakref import WeakKeyDictionary

import anyio

from toolfault._codes import McpErrorCode
from toolfault._envelope import McpExecuteError
from toolfault._exception_chain import leaves_of
from toolfault._json import is_mapping
from toolfault._judge.caller_values import Hosts
from toolfault._judge.case import Call, Case, Disclosure, Finding, Policy
from toolfault._judge.compose import compose
from toolfault._judge.deliberate import AuthorModules
from toolfault._judge.finder import find
from toolfault._judge.log import LogTracebacks, Reporter
from toolfault._names import class_name, public
from toolfault._options import (
    explain_unknown_options,
    flag,
    is_plain_function,
    one_of,
    packages,
    seconds,
    several,
    unknown_option,
)
from toolfault._prose.careful import careful
from toolfault._redact import Redactor
from toolfault._redact.results import redact_result
from toolfault._redact.values import redacting_copier
from toolfault._registry import Expect, Registry
from toolfault._text import clean, one_line, safe_repr
from toolfault._tracebacks import log_exception
from toolfault._verdict import Verdict
from toolfault._wire import Guidance, to_result
from toolfault.errors import ToolFault
from toolfault.rules import DEFAULT


if TYPE_CHECKING:
    from toolfault.hooks import FailureHook


__all__ = ["Guard", "GuardOptions", "being_cancelled"]

T = TypeVar("T")

OutputSchema = Literal["widen", "meta", "keep"]
"""
What becomes of a tool's ``outputSchema``: it is widened for the envelope; or it stays, and the
envelope goes into ``_meta``; or it stays, and the envelope goes into ``structuredContent`` all the
same.
"""

#: The most that leaves of a text beside a message, in bytes.
_MAX_TEXT: Final = 8192


class OptionsBesideTimeout(TypedDict, total=False):
    """
    The options that a tool may set for itself, but for its timeout; see `Guard`.
    """

    expect: Expect
    credentials: Literal["caller", "server"]
    arguments_forwarded: bool
    egress_allow: Iterable[str] | None
    also: Iterable[str]
    disclosure: Disclosure | str
    upstream_text: bool
    guidance: Guidance | str
    on_failure: Iterable[FailureHook]


class GuardOptions(OptionsBesideTimeout, total=False):
    """
    The options that a tool may set for itself; see `Guard`.
    """

    timeout: float | None


class _Prepared(NamedTuple):
    """
    What each failure needs; a server's guard shares it with the guards of its tools.
    """

    policy: Policy
    guidance: Guidance
    reporter: Reporter
    modules_by_tool: WeakKeyDictionary[object, AuthorModules]


@public
@explain_unknown_options
@dataclass(frozen=True, kw_only=True, eq=False)
class Guard:
    """
    What a server's owner decides about failures; one guard serves any number of tools and threads.

    Attributes:
        timeout:
            Seconds that a call may take, waiting for a person included. None: no limit.

        expect:
            Rules of your own: an exception class, or its qualified name, to a code, an envelope, a
            `ToolFault`, or a function of the exception that returns one of these or None.

        registry:
            The rules for everything else.

        credentials:
            Whose they are when an upstream refuses them: ``"caller"`` makes it
            ``permission_denied``, ``"server"`` makes it ``internal`` with category ``auth``.

        arguments_forwarded:
            Whether values from the caller reach upstreams. If not, an upstream that complains about
            values is ``internal``.

        egress_allow:
            Hosts that may be talked to. An HTTP 403 from any other host is the egress proxy's.
            None: not known.

        also:
            Further packages of the tools' author, as ``("acme_core",)``: what they raise is raised
            on purpose.

        disclosure:
            How much of a failure a caller may read.

        upstream_text:
            Whether the message of an upstream's HTTP failure quotes what the upstream answered,
            capped, in one line, without tags. Off by default: it is a stranger's text, and models
            act on what errors say.

        guidance:
            What the text for the model says besides the message.

        output_schema:
            What becomes of a tool's ``outputSchema``.

        secrets:
            Values that never leave, of at least four characters each.

        redactor:
            One more engine: a function of a text that returns it without what it wants hidden.

        log_tracebacks:
            What the log record of a crash holds: ``"full"`` the exception itself as ``exc_info``,
            for error trackers, beside the redacted traceback that text formatters print;
            ``"redacted"`` only that text, for handlers that format ``exc_info`` themselves.

        on_failure:
            Called with the fault, the exception and the call of each failure, before it is logged.
            No coroutine functions.

    Raises:
        InvalidRule: A rule in `expect` is invalid; the message says what is allowed.
        ValueError: Another option has a value that it can't have.
    """

    timeout: float | None = None
    expect: Expect = field(default_factory=dict[type[BaseException] | str, Any])
    registry: Registry = DEFAULT
    credentials: Literal["caller", "server"] = "caller"
    arguments_forwarded: bool = True
    egress_allow: Iterable[str] | None = None
    also: Iterable[str] = ()
    disclosure: Disclosure | str = Disclosure.REDACTED
    upstream_text: bool = False
    guidance: Guidance | str = Guidance.BLOCK
    output_schema: OutputSchema = "widen"
    secrets: Iterable[str] = field(default=(), repr=False)
    redactor: Callable[[str], str] | None = None
    log_tracebacks: LogTracebacks = "full"
    on_failure: Iterable[FailureHook] = ()

    def __post_init__(self) -> None:
        """
        Check the options, and prepare what each failure needs.
        """
        seconds("timeout", self.timeout)
        one_of("credentials", self.credentials, ("caller", "server"))
        one_of("output_schema", self.output_schema, ("widen", "meta", "keep"))
        one_of("log_tracebacks", self.log_tracebacks, ("full", "redacted"))
        self._freeze("disclosure", one_of("disclosure", self.disclosure, Disclosure))
        self._freeze("guidance", one_of("guidance", self.guidance, Guidance))
        flag("arguments_forwarded", self.arguments_forwarded)
        flag("upstream_text", self.upstream_text)
        self._freeze("also", packages("also", self.also))
        self._freeze("secrets", several("secrets", self.secrets, secret=True))
        self._freeze("on_failure", several("on_failure", self.on_failure))
        if self.egress_allow is not None:
            self._freeze("egress_allow", several("egress_allow", self.egress_allow))
        for hook in self.on_failure:
            if not is_plain_function(hook):
                raise ValueError(
                    f"on_failure takes plain functions of (fault, exception, call), not {hook!r}"
                )
        if self.redactor is not None and not is_plain_function(self.redactor):
            raise ValueError(
                f"redactor must be a plain function from text to text, not {self.redactor!r}"
            )
        if not isinstance(self.registry, Registry):  # pyright: ignore[reportUnnecessaryIsInstance] -- a user's value
            raise ValueError(
                "registry must be a Registry, such as DEFAULT.with_rules(...), "
                f"not {self.registry!r}"
            )
        layers = (Registry().with_rules(self.expect),) if self.expect else ()
        prepared = _Prepared(
            self._policy(layers),
            Guidance(self.guidance),
            Reporter(tracebacks=self.log_tracebacks),
            WeakKeyDictionary(),
        )
        self._freeze("_prepared", prepared)

    _prepared: _Prepared = field(init=False, repr=False)

    def _freeze(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _policy(self, declared: tuple[Registry, ...], redactor: Redactor | None = None) -> Policy:
        hosts = self.egress_allow
        return Policy(
            declared=declared,
            registry=self.registry,
            redactor=redactor or Redactor(self.secrets, extra=self.redactor),
            disclosure=Disclosure(self.disclosure),
            own_credentials=self.credentials == "server",
            arguments_forwarded=self.arguments_forwarded,
            upstream_text=self.upstream_text,
            egress_allow=None if hosts is None else Hosts(hosts),
        )

    def with_options(self, **given: Unpack[GuardOptions]) -> Guard:
        """
        Return a guard for one tool: its own rules are asked first, its other options replace these.

        Raises:
            InvalidRule: As for `Guard`.
            ValueError: As for `Guard`.
            TypeError: No such option, or one that only a whole server can decide.
        """
        unknown = given.keys() - GuardOptions.__annotations__.keys()
        if unknown:
            raise unknown_option("a tool", min(unknown), sorted(GuardOptions.__annotations__))
        guard = replace(self, **given)
        guard._share(self._prepared, own_rules="expect" in given, own_modules="also" in given)  # noqa: SLF001 -- of its own class
        return guard

    def _share(self, server: _Prepared, *, own_rules: bool, own_modules: bool) -> None:
        """
        Share one memory with the server's guard: what was logged, the authors' modules, secrets.
        """
        mine = self._prepared
        layers = server.policy.declared
        if own_rules:
            layers = (*mine.policy.declared, *layers)
        modules_by_tool = mine.modules_by_tool if own_modules else server.modules_by_tool
        policy = self._policy(layers, server.policy.redactor)
        self._freeze(
            "_prepared", _Prepared(policy, mine.guidance, server.reporter, modules_by_tool)
        )

    def judge(self, exc: BaseException, call: Call) -> ToolFault:
        """
        Return the fault for an exception, after the log and the hooks got it. Never raises.

        Args:
            exc: What was raised, without the wrapper that a host put around it.
            call: The call that it ended.
        """
        return self._judge(exc, call, hooks=self.on_failure)

    def _judge(self, exc: BaseException, call: Call, hooks: Iterable[FailureHook]) -> ToolFault:
        failure_id = os.urandom(6).hex()
        try:
            case = self._case(call)
            finding = find(case, exc)
            fault = compose(case, exc, finding, failure_id)
        except KeyboardInterrupt:
            raise
        except BaseException as trouble:  # noqa: BLE001 -- attributes of an exception may raise anything
            return self._fallback_fault(exc, call, trouble, failure_id)
        self._publish(case, exc, finding, fault, hooks)
        return fault

    def _fallback_fault(
        self, exc: BaseException, call: Call, trouble: BaseException, failure_id: str
    ) -> ToolFault:
        redactor = self._prepared.policy.redactor
        kind = redactor.scrub(class_name(exc), 128)
        log_exception(
            "Tool %r failed with %s, which could not be judged [%s]",
            one_line(redactor.scrub(call.tool, 128)),
            kind,
            failure_id,
            exc=trouble,
            redactor=redactor,
        )
        message = (
            f"The tool failed ({kind}). The server's log tells more under the id {failure_id}."
        )
        return ToolFault.of(
            McpExecuteError.new(McpErrorCode.INTERNAL, message),
            outcome="unknown",
            facts={"id": failure_id},
        )

    def to_result(self, fault: ToolFault, *, structured: bool = True) -> dict[str, Any]:
        """
        Return a fault as a ``CallToolResult`` in wire spelling; never raises.

        Args:
            fault: What `judge` returned.
            structured: False puts the envelope into ``_meta`` instead of ``structuredContent``.
        """
        return to_result(fault, guidance=self._prepared.guidance, structured=structured)

    def read_prose(self, text: str, call: Call, *, more: str = "") -> ToolFault:
        """
        Return a fault for an error result without an envelope that a handler returned.

        It is logged, and the hooks are called.

        Args:
            text: What the result says first; it becomes the message.
            call: The call that it answers.
            more: What else it says; it may tell what happened.
        """
        whole = f"{text}\n{more}" if more else text
        verdict = careful(whole, tool=call.tool, arguments=call.arguments) or Verdict(
            code=McpErrorCode.INTERNAL
        )
        return self._judge_returned(verdict, text, call)

    def safe_text(self, text: str) -> str:
        """
        Return a text that is not a message for show: redacted, at most 8 KiB.
        """
        policy = self._prepared.policy
        if policy.disclosure is Disclosure.FULL:
            return policy.redactor.show(text, _MAX_TEXT)
        return policy.redactor.scrub(text, _MAX_TEXT)

    def safe_result(self, result: dict[str, Any]) -> dict[str, Any]:
        """
        Return a redacted copy of an error result that a handler returned by itself.

        Every text of it is redacted, those in ``structuredContent``, ``_meta``, embedded resources
        and links included; binary content stays. What is too large to be redacted is left out.

        Args:
            result: A ``CallToolResult`` in wire spelling.
        """
        return redact_result(result, self.safe_text, self._redact_value_text)

    def error_data(self, exc: BaseException, call: Call, data: object) -> Any:
        """
        Return the redacted ``data`` of a protocol error, with the envelope where there is room.

        The error is logged; hooks are not called, since the guard does not answer it.

        Args:
            exc: The protocol error that the tool raised.
            call: The call that it ended.
            data: Its data. An envelope is added, under our key, to an object or in place of None.
        """
        safe: Any = redacting_copier(self._redact_value_text).copy(data)
        if safe is None:
            safe = {}
        if not is_mapping(safe):
            return safe
        fault = self._judge(exc, call, hooks=())
        own: dict[str, Any] = to_result(fault, structured=False)["_meta"]
        return {**own, **safe}

    def _redact_value_text(self, text: str) -> str:
        """
        Return a text of a JSON value without secrets; markup and white space stay.
        """
        policy = self._prepared.policy
        is_long = len(text) > _MAX_TEXT
        if is_long or self.redactor is not None or policy.disclosure is Disclosure.FULL:
            return self.safe_text(text)
        # Hidden characters may stand inside a secret's name.
        if clean(text) != text:
            return self.safe_text(text)
        return policy.redactor.paths(policy.redactor.redact(text))

    def note_returned(self, fault: ToolFault, call: Call) -> str:
        """
        Log an error result with an envelope that a handler returned; return the log's id.

        The hooks are called.
        """
        verdict = Verdict(code=fault.code, sentence=fault.envelope.message)
        return str(self._judge_returned(verdict, fault.envelope.message, call).facts["id"])

    def _judge_returned(self, verdict: Verdict, text: str, call: Call) -> ToolFault:
        case, exc = self._case(call), Exception(text)
        finding = Finding(verdict=verdict, leaf=exc, reason="returned", deliberate=True, text=text)
        fault = compose(case, exc, finding, os.urandom(6).hex())
        self._publish(case, exc, finding, fault, self.on_failure)
        return fault

    def _case(self, call: Call) -> Case:
        return Case(call, self._prepared.policy, self._author_modules(call.function))

    def _publish(
        self,
        case: Case,
        exc: BaseException,
        finding: Finding,
        fault: ToolFault,
        hooks: Iterable[FailureHook],
    ) -> None:
        """
        Call the hooks, then log: what a hook tells an error tracker precedes the record.
        """
        for hook in hooks:
            # Each hook gets a copy, which it may change.
            copy = ToolFault.of(fault.envelope, outcome=fault.outcome, facts=fault.facts)
            try:
                hook(copy, exc, case.call)
            except KeyboardInterrupt:
                raise
            except BaseException as trouble:  # noqa: BLE001 -- a hook is a user's code; it is logged with its traceback
                template = "the failure hook %s raised; the answer stays as it is"
                redactor = case.policy.redactor
                log_exception(template, safe_repr(hook), exc=trouble, redactor=redactor)
        self._prepared.reporter.report(case, exc, finding, fault)

    def passes(self, exc: BaseException) -> bool:
        """
        Tell whether an exception must leave unanswered: a real cancellation or KeyboardInterrupt.

        A host that is a coroutine asks `is_closing` first: a GeneratorExit looks the same whether
        the coroutine is being closed or the tool raised it.
        """
        # Not isinstance, which a class may answer as it likes.
        kind = type(exc)
        if issubclass(kind, BaseExceptionGroup):
            return any(map(self.passes, leaves_of(exc)))
        if issubclass(kind, Exception):
            return False
        if issubclass(kind, KeyboardInterrupt):
            return True
        cancelled = _cancellation_class()
        return cancelled is not None and issubclass(kind, cancelled) and being_cancelled()

    async def within_timeout(self, body: Callable[[], Awaitable[T]]) -> T:
        """
        Await a call, at most for `timeout` seconds.

        Raises:
            ToolFault: ``tool_timeout``. Only the scope made here proves that the time was the
                server's own budget;
                any other TimeoutError is an upstream's.
        """
        if self.timeout is None:
            return await body()
        cleanup: Exception | None = None
        with anyio.move_on_after(self.timeout) as scope:
            try:
                return await body()
            except Exception as exc:
                if not scope.cancel_called:
                    raise
                # The time was up, and then the tool's own cleaning up failed.
                cleanup = exc
        fault = ToolFault(
            McpErrorCode.TOOL_TIMEOUT, f"Tool timed out after {round(self.timeout * 1000)}ms"
        )
        fault.facts["origin"] = "adapter"
        raise fault from cleanup

    def _author_modules(self, function: object) -> AuthorModules:
        if function is None:
            return _NOWHERE
        modules_by_tool = self._prepared.modules_by_tool
        try:
            modules = modules_by_tool.get(function)
            if modules is None:
                modules = modules_by_tool[function] = AuthorModules(function, self.also)
        except TypeError:
            # A callable object that has no hash, or that nobody can refer to weakly.
            return AuthorModules(function, self.also)
        return modules


_NOWHERE: Final = AuthorModules(None)


def being_cancelled() -> bool:
    """
    Tell whether the running task is really being cancelled, from outside or by a scope of its own.

    A stray CancelledError, out of a task that somebody else cancelled, looks the same but for this.
    """
    try:
        if anyio.current_effective_deadline() == -math.inf:
            return True
    except Exception:  # noqa: BLE001 -- no event loop in this thread: nothing here can be cancelled
        return False
    import asyncio  # noqa: PLC0415 -- loaded where it runs; not where trio does

    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    # trio lets nobody raise its Cancelled but itself.
    return True if task is None else task.cancelling() > 0


def _cancellation_class() -> type[BaseException] | None:
    try:
        return anyio.get_cancelled_exc_class()
    except Exception:  # noqa: BLE001 -- no event loop in this thread
        return None
