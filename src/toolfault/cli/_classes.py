"""
Exception classes by name, and instances of them without the failure that would raise them.

Rule 1: a class that is not installed is stood in for by one of its name, if a table has a row for
it, or the words of its name tell.
Rule 2: what cannot be constructed as its package would is made without its constructor.
"""

from __future__ import annotations

import builtins
import difflib
import inspect
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from email.message import Message
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, Final, cast

from toolfault._judge.unknown_library import verdict_by_class
from toolfault._names import qualified_name
from toolfault.rules import DEFAULT


#: A name that may be one of a class: dotted, or as classes of exceptions are called.
_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_BARE: Final = re.compile(
    r"[A-Za-z_]\w*?(?:Error|Exception|Timeout|Warning|Exceeded|Refused|Denied|NotFound|Failed"
    r"|Exit|Interrupt|Iteration|Fault|Group|Unavailable)"
)

#: The text of an `OSError` with its number, as a traceback shows it.
_ERRNO: Final = re.compile(r"\[Errno ([0-9]{1,6})\] (.*)", re.DOTALL)

#: A word with capitals inside, which is the name of a class if it is nearly that of one.
_HUMPS: Final = re.compile(r"(?:[A-Z][a-z0-9]+){2,8}")

#: Names that nobody mistypes into another package: how near one must be to be suggested.
_NEAR: Final = 0.84

_URL: Final = "https://upstream.example/"


class UnknownClassError(Exception):
    """
    No such exception class; the text names the cure.
    """


@dataclass(frozen=True, slots=True)
class Found:
    """
    An exception class.

    Attributes:
        cls: The class, or the one that stands in for it.
        note: What to know of it; "" if it was imported.
    """

    cls: type[BaseException]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Made:
    """
    What to construct an exception with.

    Attributes:
        message: Its text.
        status: The HTTP status that it carries. None: it carries none.
        headers: The headers of the answer that it carries, by name.
    """

    message: str | None = None
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()


def is_class_name(text: str) -> bool:
    """
    Tell whether a text is the name of a class rather than a message.
    """
    return _DOTTED.fullmatch(text) is not None or _is_bare(text)


def _is_bare(text: str) -> bool:
    if _BARE.fullmatch(text) or isinstance(getattr(builtins, text, None), type):
        return True
    return _HUMPS.fullmatch(text) is not None and _near(text, _bare_names()) is not None


def find_class(name: str) -> Found:
    """
    Return the exception class of a name.

    Args:
        name: Dotted, as it is imported or as it is defined, or the bare name of a class that is
            built in, or that one table alone has.

    Raises:
        UnknownClassError: There is none.
    """
    if "." not in name:
        return _find_bare(name)
    module, missing = _import(name)
    if module is not None and not missing:
        return Found(_check_class(name, module))
    rows = _rows_named(name)
    if rows:
        return _stand_in(rows[0], installed=module is not None)
    if module is not None:
        raise UnknownClassError(_no_such_class(name, module))
    return _find_missing(name)


def _find_bare(name: str) -> Found:
    cls = getattr(builtins, name, None)
    if isinstance(cls, type):
        return Found(_check_class(name, cls))
    rows = [row for row in DEFAULT if row.rpartition(".")[2] == name]
    if len(rows) == 1:
        return find_class(rows[0])
    if rows:
        some = ", ".join(sorted(rows)[:6])
        raise UnknownClassError(f"several packages have a {name}; write one of {some}")
    near = _near(name, _bare_names())
    cure = "; write its dotted name, such as httpx.ConnectTimeout, or --text for an error text"
    raise UnknownClassError(f"there is no exception class {name}{_suggest(near) or cure}")


def _bare_names() -> list[str]:
    return [*_exceptions_of(builtins), *map(_last, DEFAULT)]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _near(name: str, known: Iterable[str]) -> str | None:
    """
    Return the known name that is nearly the same, in whatever case; None if none is.
    """
    names = {one.lower(): one for one in known}
    near = difflib.get_close_matches(name.lower()[:200], names, n=1, cutoff=_NEAR)
    return names[near[0]] if near else None


def _suggest(near: str | None) -> str:
    return "" if near is None else f"; did you mean {near}?"


def _import(name: str) -> tuple[Any, str]:
    """
    Return what a dotted name leads to as far as it exists, and the first part that does not.

    None, and the name of the package, if that is not installed.
    """
    first, *rest = name.split(".")
    found: Any = _import_module(first)
    if found is None:
        return None, first
    path = first
    for part in rest:
        path = f"{path}.{part}"
        inner: Any = getattr(found, part, None)
        if inner is None and inspect.ismodule(found):
            inner = _import_module(path)
        if inner is None:
            return found, part
        found = inner
    return found, ""


def _import_module(name: str) -> Any:
    try:
        with warnings.catch_warnings(action="ignore"):
            return None if find_spec(name) is None else import_module(name)
    except (Exception, SystemExit):  # noqa: BLE001 -- a stranger's module may raise anything
        return None


def _check_class(name: str, found: object) -> type[BaseException]:
    # A tuple is what an except clause takes, such as dbm.error.
    cls = next(iter(cast("tuple[object, ...]", found)), None) if _is_tuple(found) else found
    if isinstance(cls, type) and issubclass(cls, BaseException):
        return cls
    inside = _exceptions_of(found)
    example = f"; it has {', '.join(inside[:4])}" if inside else ""
    raise UnknownClassError(f"{name} is not an exception class{example}")


def _is_tuple(value: object) -> bool:
    return isinstance(value, tuple)


def _exceptions_of(module: object) -> list[str]:
    found = vars(module) if inspect.ismodule(module) else {}
    return [
        name
        for name, value in found.items()
        if isinstance(value, type) and issubclass(value, BaseException)
    ]


def _no_such_class(name: str, module: Any) -> str:
    owner = getattr(module, "__name__", type(module).__name__)
    near = _near(_last(name), _exceptions_of(module))
    cure = _suggest(None if near is None else f"{owner}.{near}")
    return f"{owner} has no exception class {_last(name)}{cure}"


# ---- classes that are not installed


def _rows_named(name: str) -> list[str]:
    """
    Return the rows for a class, by the name where it is defined or where its package exports it.
    """
    if name in DEFAULT:
        return [name]
    package, last = name.partition(".")[0], _last(name)
    return [row for row in DEFAULT if row.startswith(f"{package}.") and _last(row) == last]


def _stand_in(row: str, *, installed: bool) -> Found:
    package = row.partition(".")[0]
    why = f"this version of {package} has no such class"
    if not installed:
        why = f"{package} is not installed"
    note = f"Not imported: {why}; the answer is that of the row {row}."
    return Found(_make_class(row), note)


def _make_class(name: str) -> type[BaseException]:
    module, _, last = name.rpartition(".")
    return type(last, (Exception,), {"__module__": module, "__qualname__": last})


def _find_missing(name: str) -> Found:
    """
    Return a stand-in for a class of a package that is not installed, if the words of its name tell.
    """
    package = name.partition(".")[0]
    short = [f"{row.partition('.')[0]}.{_last(row)}" for row in DEFAULT]
    near = _near(f"{package}.{_last(name)}", short)
    if near is not None:
        raise UnknownClassError(f"there is no exception class {name}{_suggest(near)}")
    cls = _make_class(name)
    if verdict_by_class(cls) is None:
        raise UnknownClassError(
            f"{package} is not installed, no table has a row for {name} itself{_rows_of(package)}, "
            "and the words of its name do not tell; install its package, or give the error's text "
            "with --text"
        )
    note = (
        f"Not imported: {package} is not installed; the answer is that of the class's name, and "
        "the rows of its bases may say more."
    )
    return Found(cls, note)


def _rows_of(package: str) -> str:
    """
    Return some rows that one of the class's bases may have, in parentheses; "" without any.
    """
    rows = [row for row in DEFAULT if row.startswith(f"{package}.")]
    return f" (there are rows for {', '.join(rows[:4])})" if rows else ""


# ---- instances

_set_args: Final[Callable[[BaseException, tuple[object, ...]], None]] = BaseException.__dict__[
    "args"
].__set__


def make_exception(cls: type[BaseException], made: Made) -> BaseException:
    """
    Return an instance of an exception class, made as its package does where that can be guessed.

    Args:
        cls: The class.
        made: What to construct it with.
    """
    message = made.message or ""
    for construct in _ways(cls, made):
        try:
            exc = construct()
        except (Exception, SystemExit):  # noqa: BLE001, S112 -- a stranger's constructor
            continue
        if issubclass(type(exc), cls):
            _carry(exc, made)
            return exc
    exc = _make_without_constructor(cls)
    # A class may refuse to set attributes.
    _set_args(exc, (message,) if message else ())
    _carry(exc, made)
    return exc


def _make_without_constructor(cls: type[BaseException]) -> BaseException:
    try:
        return cls.__new__(cls)
    except Exception:  # noqa: BLE001 -- a stranger's class; rules know it by its name as well
        stand_in = _make_class(qualified_name(cls))
        return stand_in()


def _ways(cls: type[BaseException], made: Made) -> Iterable[Callable[[], BaseException]]:
    text = (made.message,) if made.message else ()
    if issubclass(cls, BaseExceptionGroup):
        members = (made.message or "several failures", [Exception()])
        return [lambda: cast("Any", cls)(*members)]
    if issubclass(cls, OSError) and cls.__init__ is OSError.__init__:
        numbered = _ERRNO.match(made.message or "")
        given = (int(numbered[1]), numbered[2]) if numbered else text
        return [lambda: cls(*given)]
    by_name = _arguments(cls, made)
    ways: list[Callable[[], BaseException]] = []
    if made.status is not None and by_name is not None:
        ways.append(lambda: cls(*by_name.args, **by_name.kwargs))
    ways.append(lambda: cls(*text))
    if by_name is not None:
        ways.append(lambda: cls(*by_name.args, **by_name.kwargs))
    return ways


def _arguments(cls: type[BaseException], made: Made) -> inspect.BoundArguments | None:
    """
    Return the required arguments of a constructor, guessed by their names; None: not all of them.
    """
    known = _known_arguments(made)
    try:
        signature = inspect.signature(cls)
        needed = {
            name: known[name.lower()]
            for name, parameter in signature.parameters.items()
            if _is_needed(parameter, made)
        }
        return _bind(signature, needed)
    except (KeyError, TypeError, ValueError):
        return None


def _bind(signature: inspect.Signature, given: dict[str, Any]) -> inspect.BoundArguments:
    bound = inspect.BoundArguments(signature, {})  # pyright: ignore[reportArgumentType] -- filled below
    bound.arguments.update(given)
    return bound


#: Arguments that are given though they are optional, if there is a status.
_OF_STATUS: Final = frozenset({"status", "status_code", "response", "headers", "http_status"})


def _is_needed(parameter: inspect.Parameter, made: Made) -> bool:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return False
    if parameter.default is parameter.empty:
        return True
    return made.status is not None and parameter.name in _OF_STATUS


def _known_arguments(made: Made) -> dict[str, Any]:
    status = made.status or 0
    answer = _answer(made)
    texts = dict.fromkeys(("message", "msg", "detail", "reason", "error", "text", "description"))
    return {
        **dict.fromkeys(texts, made.message or ""),
        **dict.fromkeys(("status", "status_code", "code", "http_status"), status),
        **dict.fromkeys(("response", "resp", "http_resp"), answer),
        **dict.fromkeys(("headers", "hdrs"), answer.headers),
        **dict.fromkeys(("request", "request_info"), answer.request),
        **dict.fromkeys(("body", "fp", "content"), None),
        "url": _URL,
        "history": (),
    }


def _answer(made: Made) -> Any:
    """
    Return what looks like the HTTP answer of any client.
    """
    headers = Message()
    for name, value in made.headers:
        headers[name] = value
    request = SimpleNamespace(url=_URL, real_url=_URL, method="GET", headers={})
    return SimpleNamespace(
        status_code=made.status,
        status=made.status,
        headers=headers,
        request=request,
        url=_URL,
        text="",
        reason="",
    )


def _carry(exc: BaseException, made: Made) -> None:
    """
    Give an exception its status and its answer, where its constructor did not.
    """
    if made.status is None:
        return
    carried = {"status_code": made.status, "status": made.status, "response": _answer(made)}
    if qualified_name(type(exc)).startswith("urllib."):
        carried = {"code": made.status}
    for name, value in carried.items():
        try:
            if getattr(exc, name, None) is None:
                setattr(exc, name, value)
        except Exception:  # noqa: BLE001, S112 -- a stranger's property
            continue
