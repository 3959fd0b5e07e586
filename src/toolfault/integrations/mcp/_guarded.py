"""
One function as a guarded tool.

Rule 1: the SDK sees the signature of what was decorated, with its annotations evaluated.
Rule 2: inside a guarded server, or inside another guarded function, a failure is raised on: the
outermost answers.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import typing
import warnings
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final, ParamSpec, Protocol, TypeVar, Unpack, cast, overload
from weakref import WeakSet

import anyio
import anyio.to_thread
from mcp.types import CallToolRequestParams, CallToolResult

from toolfault import McpErrorCode, hosting
from toolfault.errors import CodeName
from toolfault.hosting import Call, Guard, GuardOptions, OptionsBesideTimeout, is_closing, log
from toolfault.integrations.mcp._compat import IS_1, checks_errors
from toolfault.integrations.mcp._declared_codes import FAILS_WITH, Watch, codes_of
from toolfault.integrations.mcp._results import protocol_error_for, to_call_tool_result


F = TypeVar("F", bound=Callable[..., Any])
D = TypeVar("D", bound="classmethod[Any, Any, Any]")
P = ParamSpec("P")
R = TypeVar("R")

#: Where `guarded` leaves a tool's options for `install`.
OPTIONS: Final = hosting.OPTIONS

#: What answers for the running call: a server's request, or a guarded function. None: nothing does.
answering: Final = hosting.answering

_WRAPPER_LIMIT: Final = 64

#: Functions that guarded servers have registered, to tell a decorator in the wrong order.
REGISTERED: Final[WeakSet[Any]] = WeakSet()


class Dispatch:
    """
    Answers for one request to a server that has one handler for all tools.

    Attributes:
        context:
            The request's, which no other request has.

        function:
            The outermost guarded function below the handler that a failure came through: it is the
            tool. None: there was none.

        known:
            The tool as it was listed when the call began. None: it was not.

        listing:
            What was listed for this request. None: nothing was.
    """

    __slots__ = ("context", "function", "known", "listing")

    def __init__(self, context: Any) -> None:
        """
        Begin to answer.
        """
        self.context: Any = context
        self.function: Callable[..., Any] | None = None
        self.known: Any = None
        self.listing: Any = None


class _WithTimeout(Protocol):
    """
    The decorator `guarded` with a timeout: the decorated function is a coroutine function.
    """

    @overload
    def __call__(
        self, fn: Callable[P, Coroutine[Any, Any, R]], /
    ) -> Callable[P, Coroutine[Any, Any, R]]: ...

    @overload
    def __call__(self, fn: Callable[P, R], /) -> Callable[P, Coroutine[Any, Any, R]]: ...

    @overload
    def __call__(self, fn: D, /) -> D: ...


@overload
def guarded(fn: F, /) -> F: ...


@overload
def guarded(
    fn: None = None,
    /,
    *,
    timeout: float,
    guard: Guard | None = None,
    fails_with: Iterable[McpErrorCode | CodeName] = (),
    **options: Unpack[OptionsBesideTimeout],
) -> _WithTimeout: ...


@overload
def guarded(
    fn: None = None,
    /,
    *,
    timeout: None = None,
    guard: Guard | None = None,
    fails_with: Iterable[McpErrorCode | CodeName] = (),
    **options: Unpack[OptionsBesideTimeout],
) -> Callable[[F], F]: ...


def guarded(
    fn: Any = None,
    /,
    *,
    guard: Guard | None = None,
    fails_with: Iterable[McpErrorCode | CodeName] = (),
    **options: Any,
) -> Any:
    """
    Make a function a tool whose every failure is answered with an envelope.

    Put it *below* ``@server.tool()``, which registers what it is given. It sees only the function
    itself: unknown names, refused arguments and output conversion need `install`, which reads the
    options left here. On a FastMCP of mcp 1.x so does the envelope of a tool that has an output
    schema: the SDK holds errors against it, so without `install` the message alone leaves.

    Args:
        fn: A function, method, classmethod, staticmethod, partial or callable object, sync or
            async.
        guard: The guard for where no server has one. None: a `Guard` with defaults.
        fails_with: The codes that it may fail with. A guarded server publishes them in the tool's
            ``_meta``; without `install` nothing does. Another code is logged once, and leaves all
            the same. Unknown names, refused arguments, the guard's timeout and crashes need no
            declaration. Empty: nothing is declared.
        **options: What this tool decides for itself; see `GuardOptions`. With ``timeout`` a sync
            function runs in a thread of its own, is abandoned when the time is up, and the outcome
            is ``unknown``; the decorated function is then a coroutine function.

    Returns:
        A function with the name, documentation and signature of what was given.

    Raises:
        TypeError: Not a callable, or no such option.
        InvalidRule: A rule in ``expect`` is invalid.
        ValueError: An option has a value that it can't have, or ``fails_with`` lists no code.
    """
    if isinstance(fn, Guard):
        raise TypeError("guarded takes its guard by name: write @guarded(guard=...)")
    if guard is not None and not isinstance(guard, Guard):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be untyped
        raise TypeError(f"guard= takes a Guard, such as Guard(timeout=5), not {guard!r}")
    given = cast("GuardOptions", options)
    own = (guard or _default_guard()).with_options(**given)
    codes = codes_of(fails_with)
    if fn is None:

        def decorate(function: F) -> F:
            return _guard_function(function, own, given, codes)

        return decorate
    return _guard_function(fn, own, given, codes)


@functools.cache
def _default_guard() -> Guard:
    return Guard()


def _guard_function(fn: F, guard: Guard, options: GuardOptions, codes: tuple[str, ...]) -> F:
    if isinstance(fn, classmethod | staticmethod):
        inner: Any = fn.__func__  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- of any signature
        return cast("F", type(fn)(_guard_function(inner, guard, options, codes)))  # pyright: ignore[reportUnknownArgumentType] -- as above
    if not callable(fn):
        raise TypeError(f"guarded takes a callable, not {fn!r}")
    if _is_registered(fn):
        warnings.warn(
            f"@guarded stands above the decorator that registered {name_of(fn)!r}, so it changes"
            " nothing there: put it below, next to the function",
            RuntimeWarning,
            stacklevel=3,
        )
    timeout = options.get("timeout")
    answer = _answerer(fn, guard, codes)
    if is_async(fn):
        wrapper = _async_wrapper(fn, guard if timeout else guard.with_options(timeout=None), answer)
    elif timeout:
        wrapper = _async_wrapper(_abandonable(fn), guard, answer)
    else:
        wrapper = _sync_wrapper(fn, guard, answer)
    _dress(wrapper, fn)
    setattr(wrapper, OPTIONS, options)
    setattr(wrapper, FAILS_WITH, codes)
    return cast("F", wrapper)


Answer = Callable[[BaseException, tuple[Any, ...], dict[str, Any]], CallToolResult]
"""
What answers an exception out of a call with these arguments.
"""


def _async_wrapper(fn: Callable[..., Any], guard: Guard, answer: Answer) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        outer = answering.get()
        token = answering.set(wrapper)
        try:
            return await guard.within_timeout(lambda: fn(*args, **kwargs))
        except BaseException as exc:
            if outer is not None or is_closing(wrapper) or guard.passes(exc):
                _came_through(wrapper, outer)
                raise
            return answer(exc, args, kwargs)
        finally:
            if not is_closing(wrapper):
                answering.reset(token)

    return wrapper


def _sync_wrapper(fn: Callable[..., Any], guard: Guard, answer: Answer) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        outer = answering.get()
        token = answering.set(wrapper)
        try:
            return fn(*args, **kwargs)
        except BaseException as exc:
            if outer is not None or guard.passes(exc):
                _came_through(wrapper, outer)
                raise
            return answer(exc, args, kwargs)
        finally:
            answering.reset(token)

    return wrapper


def _came_through(wrapper: Callable[..., Any], outer: object) -> None:
    if isinstance(outer, Dispatch):
        outer.function = wrapper


def _answerer(fn: Callable[..., Any], guard: Guard, codes: tuple[str, ...]) -> Answer:
    watch = Watch()

    def answer(exc: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CallToolResult:
        call = _call_of(fn, args, kwargs)
        if (leaving := protocol_error_for(exc, guard, call)) is not None:
            raise leaving from None
        fault = guard.judge(exc, call)
        watch.notice(
            call.tool, fault.code.value, codes, adapter=fault.facts.get("origin") == "adapter"
        )
        if IS_1 and checks_errors():
            # The envelope would be refused, and the message would be lost with it.
            log.warning(
                "mcp 1.x validates errors of tool %r against its output schema: only the message"
                " leaves; install() a guard on the server for the envelope",
                call.tool[:128],
            )
            raise fault from exc
        return to_call_tool_result(guard.to_result(fault))

    return answer


def _call_of(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """
    Return the call of a function; the handler of a low-level server reads it from its parameters.
    """
    for value in (*args, *kwargs.values()):
        if isinstance(value, CallToolRequestParams):
            return Call(tool=value.name, arguments=value.arguments or {}, function=fn)
    return Call(tool=name_of(fn), arguments=kwargs, function=fn)


def options_of(function: object) -> GuardOptions:
    """
    Return the options that `guarded` left on a function for a server's guard.
    """
    options: GuardOptions = getattr(function, OPTIONS, None) or GuardOptions()
    # The function keeps its own time; in the server it would run out twice.
    return {**options, "timeout": None} if "timeout" in options else options


class Contained(Exception):  # noqa: N818 -- carries a GeneratorExit
    """
    Carries a GeneratorExit out of the worker thread of a sync function, as its cause.

    As itself it would be thrown into the outermost coroutine of the task, which closes all others
    without asking them for a result.
    """


def contain(fn: Callable[..., Any]) -> Callable[..., Any]:
    """
    Return a sync function that raises `Contained` in place of a GeneratorExit.
    """

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except GeneratorExit as exc:
            raise Contained from exc

    return run


def _abandonable(fn: Callable[..., Any]) -> Callable[..., Any]:
    async def run(*args: Any, **kwargs: Any) -> Any:
        return await anyio.to_thread.run_sync(
            functools.partial(fn, *args, **kwargs), abandon_on_cancel=True
        )

    return run


def remember_registered(fn: object) -> None:
    """
    Remember a function that a guarded server registered, to warn of `guarded` above the decorator.
    """
    with contextlib.suppress(TypeError):  # without weak references or a hash
        REGISTERED.add(getattr(fn, "__func__", fn))


def _is_registered(fn: object) -> bool:
    try:
        return getattr(fn, "__func__", fn) in REGISTERED
    except TypeError:
        return False


def is_async(fn: object) -> bool:
    """
    Tell whether calling this returns an awaitable, below partials and through ``__call__``.
    """
    while isinstance(fn, functools.partial):
        fn = fn.func
    if inspect.iscoroutinefunction(fn):
        return True
    return inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004 -- asks what it is, not whether


def name_of(fn: object) -> str:
    """
    Return the name that a callable goes by: its own, its function's, or its class's.
    """
    for _ in range(_WRAPPER_LIMIT):
        name = getattr(fn, "__name__", None)
        if isinstance(name, str):
            return name
        if not isinstance(fn, functools.partial):
            break
        fn = fn.func
    return type(fn).__name__


def _dress(wrapper: Callable[..., Any], fn: Callable[..., Any]) -> None:
    """
    Give a wrapper the looks of what it wraps, with evaluated annotations.
    """
    inner = _innermost(fn)
    functools.update_wrapper(
        wrapper, inner, assigned=("__module__", "__qualname__", "__doc__"), updated=()
    )
    wrapper.__name__ = name_of(fn)
    wrapper.__doc__ = (
        inspect.getdoc(inner) if inner is fn else inspect.getdoc(inner) or inspect.getdoc(fn)
    )
    wrapper.__wrapped__ = fn  # type: ignore[attr-defined]  # as functools.wraps does, for the whole chain
    signature = inspect.signature(fn)
    bound: dict[str, Any] = fn.keywords if isinstance(fn, functools.partial) else {}
    try:
        hints = typing.get_type_hints(inner, include_extras=True)
    except Exception:  # noqa: BLE001 -- names that exist only for type checkers: the SDK says so in its own words
        hints = dict(getattr(inner, "__annotations__", {}))
    parameters = [
        parameter.replace(annotation=hints.get(name, parameter.annotation))
        for name, parameter in signature.parameters.items()
        if name
        not in bound  # what a partial has filled in is no argument of the tool, and may be a secret
    ]
    returns = hints.get("return", signature.return_annotation)
    wrapper.__signature__ = signature.replace(parameters=parameters, return_annotation=returns)  # type: ignore[attr-defined]  # read by inspect
    names = {parameter.name for parameter in parameters}
    wrapper.__annotations__ = {
        name: hint for name, hint in hints.items() if name in names or name == "return"
    }


def _innermost(fn: Any) -> Any:
    """
    Return the plain function below partials, bound methods and callable objects.
    """
    for _ in range(_WRAPPER_LIMIT):
        if isinstance(fn, functools.partial):
            fn = fn.func
        elif inspect.ismethod(fn):
            fn = fn.__func__
        elif not inspect.isroutine(fn) and not inspect.isclass(fn):
            fn = type(fn).__call__
        else:
            break
    return fn
