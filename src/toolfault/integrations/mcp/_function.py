"""
One function as a guarded tool.

Rule 1: the SDK sees the signature of what was decorated, with its annotations evaluated.
Rule 2: inside a guarded server, or inside another guarded function, a failure is raised on: the outermost answers.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, TypeVar, Unpack, cast, overload

import anyio
import anyio.to_thread
from mcp.types import CallToolResult

from toolfault.hosting import Call, Guard, GuardOptions
from toolfault.integrations.mcp._results import must_pass, to_call_tool_result


F = TypeVar("F", bound=Callable[..., Any])

#: Where `guarded` leaves a tool's options for `install`.
OPTIONS: Final = "__toolfault__"

#: What answers for the running call: a server's request, or a guarded function. None: nothing does.
answering: ContextVar[object | None] = ContextVar("toolfault_answering", default=None)

_WRAPPER_LIMIT: Final = 64


@overload
def guarded(fn: F, /) -> F: ...


@overload
def guarded(fn: None = None, /, *, guard: Guard | None = None, **options: Unpack[GuardOptions]) -> Callable[[F], F]: ...


def guarded(
    fn: F | None = None, /, *, guard: Guard | None = None, **options: Unpack[GuardOptions]
) -> F | Callable[[F], F]:
    """
    Make a function a tool whose every failure is answered with an envelope.

    Put it *below* ``@server.tool()``, which registers what it is given. It sees only the function itself: unknown
    names, refused arguments and output conversion need `install`, which reads the options left here.

    Args:
        fn: A function, method, classmethod, staticmethod, partial or callable object, sync or async.
        guard: The guard for where no server has one. None: a `Guard` with defaults.
        **options: What this tool decides for itself; see `GuardOptions`. With ``timeout`` a sync function runs in a
            thread of its own, is abandoned when the time is up, and the outcome is ``unknown``; the decorated
            function is then a coroutine function.

    Returns:
        A function with the name, documentation and signature of what was given.

    Raises:
        TypeError: Not a callable, or no such option.
        InvalidRule: A rule in ``expect`` is none.
        ValueError: An option has a value that it can't have.
    """
    own = (guard or _default_guard()).with_options(**options)
    if fn is None:
        return lambda function: _guarded(function, own, options)
    return _guarded(fn, own, options)


@functools.cache
def _default_guard() -> Guard:
    return Guard()


def _guarded(fn: F, guard: Guard, options: GuardOptions) -> F:
    if isinstance(fn, classmethod | staticmethod):
        inner: Any = fn.__func__  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- of any signature
        return cast("F", type(fn)(_guarded(inner, guard, options)))  # pyright: ignore[reportUnknownArgumentType] -- as above
    if not callable(fn):
        raise TypeError(f"guarded takes a callable, not {fn!r}")
    timeout = options.get("timeout")
    if is_async(fn):
        wrapper = _async_wrapper(fn, guard if timeout else guard.with_options(timeout=None))
    elif timeout:
        wrapper = _async_wrapper(_abandonable(fn), guard, fn)
    else:
        wrapper = _sync_wrapper(fn, guard)
    _dress(wrapper, fn)
    setattr(wrapper, OPTIONS, options)
    return cast("F", wrapper)


def _async_wrapper(
    fn: Callable[..., Any], guard: Guard, original: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    named = fn if original is None else original

    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        outermost = answering.get() is None
        token = answering.set(wrapper)
        try:
            return await guard.within_timeout(lambda: fn(*args, **kwargs))
        except BaseException as exc:
            if not outermost or must_pass(guard, exc):
                raise
            return _answer(guard, exc, named, kwargs)
        finally:
            answering.reset(token)

    return wrapper


def _sync_wrapper(fn: Callable[..., Any], guard: Guard) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        outermost = answering.get() is None
        token = answering.set(wrapper)
        try:
            return fn(*args, **kwargs)
        except BaseException as exc:
            if not outermost or must_pass(guard, exc):
                raise
            return _answer(guard, exc, fn, kwargs)
        finally:
            answering.reset(token)

    return wrapper


def _answer(guard: Guard, exc: BaseException, fn: Callable[..., Any], kwargs: dict[str, Any]) -> CallToolResult:
    call = Call(tool=name_of(fn), arguments=kwargs, function=fn)
    return to_call_tool_result(guard.to_result(guard.judge(exc, call)))


def _abandonable(fn: Callable[..., Any]) -> Callable[..., Any]:
    async def run(*args: Any, **kwargs: Any) -> Any:
        return await anyio.to_thread.run_sync(functools.partial(fn, *args, **kwargs), abandon_on_cancel=True)

    return run


def is_async(fn: object) -> bool:
    """
    Tell whether calling this gives an awaitable: partials are unwrapped, and a callable object's ``__call__`` asked.
    """
    while isinstance(fn, functools.partial):
        fn = fn.func
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004 -- asks what it is, not whether


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
    Give a wrapper the looks of what it wraps, with evaluated annotations (sdk-map 1.4).
    """
    inner = _innermost(fn)
    functools.update_wrapper(wrapper, inner, assigned=("__module__", "__qualname__", "__doc__"), updated=())
    wrapper.__name__ = name_of(fn)
    wrapper.__doc__ = inspect.getdoc(inner) if inner is fn else inspect.getdoc(inner) or inspect.getdoc(fn)
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
        if name not in bound  # what a partial has filled in is no argument of the tool, and may be a secret
    ]
    returns = hints.get("return", signature.return_annotation)
    wrapper.__signature__ = signature.replace(parameters=parameters, return_annotation=returns)  # type: ignore[attr-defined]  # read by inspect
    names = {parameter.name for parameter in parameters}
    wrapper.__annotations__ = {name: hint for name, hint in hints.items() if name in names or name == "return"}


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
