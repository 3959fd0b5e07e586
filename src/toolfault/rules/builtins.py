"""
The interpreter's own exceptions: bugs, and what the operating system refuses.

An ``OSError`` is judged by its errno, whatever its class: libraries raise the base with a number as
well.
"""

from __future__ import annotations

import errno
import os
import re
from functools import cache
from typing import Any, Final, NamedTuple

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._verdict import Family, Rule, Verdict
from toolfault.rules._helpers import (
    LATER,
    NO_USE,
    OPERATOR,
    attr,
    below,
    first_argument,
    short,
    whole,
    words,
)


class _Row(NamedTuple):
    """
    What one errno means.
    """

    code: McpErrorCode
    category: McpErrorCategory
    retryable: bool
    family: Family
    sentence: str
    advice: str
    callers: McpErrorCode | None = None


def _file(
    sentence: str, callers: McpErrorCode | None = McpErrorCode.INVALID_ARGUMENTS, advice: str = ""
) -> _Row:
    return _Row(
        McpErrorCode.INTERNAL, McpErrorCategory.PERMANENT, False, "file", sentence, advice, callers
    )


def _outage(sentence: str, family: Family = "network") -> _Row:
    return _Row(McpErrorCode.INTERNAL, McpErrorCategory.TRANSIENT, True, family, sentence, LATER)


def _final(sentence: str, family: Family, advice: str = OPERATOR) -> _Row:
    return _Row(McpErrorCode.INTERNAL, McpErrorCategory.PERMANENT, False, family, sentence, advice)


_DENIED: Final = _file(
    "The server is not permitted to use this file", McpErrorCode.PERMISSION_DENIED
)
_NO_FILES: Final = _outage("The server has too many files open", "limit")
_BUSY: Final = _outage("Something that the tool needs is in use", "other")
_CLOSED: Final = _outage(
    "The connection was closed by the other side, and whether the work was done is unknown"
)
_LATE: Final = _Row(
    McpErrorCode.TOOL_TIMEOUT,
    McpErrorCategory.TRANSIENT,
    True,
    "timeout",
    "Something that the tool depends on did not answer in time",
    LATER,
)
_UNREACHED: Final = _outage("No connection to a service that the tool depends on could be made")
_NO_ROOM: Final = _final("There is no space left where the tool writes", "limit")

#: errno by name (not every system has all) to what it means. Others: `_refused`.
_BY_ERRNO: Final[dict[str, _Row]] = {
    "ENOENT": _file("There is no such file or directory"),
    "ENOTDIR": _file("Part of a path is not a directory"),
    "EISDIR": _file("This is a directory, not a file"),
    "EEXIST": _file("The file or directory exists already"),
    "ENOTEMPTY": _file("The directory is not empty"),
    "ENAMETOOLONG": _file("The file name is too long"),
    "ELOOP": _file("The path has too many symbolic links"),
    "EFBIG": _file("The file is too large", None),
    "EROFS": _file("The file system is read-only", McpErrorCode.PERMISSION_DENIED),
    "EACCES": _DENIED,
    "EPERM": _DENIED,
    "EIO": _final("The server's storage failed", "file"),
    "ENOSPC": _NO_ROOM,
    "EDQUOT": _NO_ROOM._replace(
        code=McpErrorCode.QUOTA_EXCEEDED, sentence="The disk quota is used up"
    ),
    "EMFILE": _NO_FILES,
    "ENFILE": _NO_FILES,
    "ENOMEM": _outage("The server has no memory left for this", "limit"),
    "ENOBUFS": _outage("The server has no buffers left for this", "limit"),
    "EAGAIN": _BUSY,
    "EWOULDBLOCK": _BUSY,
    "EINTR": _outage("A call to the operating system was interrupted", "other"),
    "EBUSY": _BUSY,
    "EDEADLK": _BUSY,
    "ENOLCK": _BUSY,
    "ETXTBSY": _BUSY,
    "ESTALE": _outage("A file on a network file system has gone stale", "file"),
    "ECONNREFUSED": _outage("A service that the tool depends on refused the connection"),
    "ECONNRESET": _CLOSED,
    "ECONNABORTED": _CLOSED,
    "EPIPE": _CLOSED,
    "ESHUTDOWN": _CLOSED,
    "ENETRESET": _CLOSED,
    "ENOTCONN": _CLOSED,
    "EHOSTUNREACH": _outage("A host that the tool depends on can't be reached"),
    "EHOSTDOWN": _outage("A host that the tool depends on is down"),
    "ENETDOWN": _outage("The server's network is down"),
    "EADDRNOTAVAIL": _outage("The server has no network address left for this"),
    "EADDRINUSE": _outage("A network address that the tool needs is in use"),
    "ENETUNREACH": _Row(
        McpErrorCode.NETWORK_BLOCKED,
        McpErrorCategory.PERMANENT,
        False,
        "network",
        "The server's network has no route to where the tool connects",
        OPERATOR,
    ),
    "ETIMEDOUT": _LATE,
}

_NUMBERED: Final = {
    number: (name, _BY_ERRNO[name]) for name in _BY_ERRNO if (number := getattr(errno, name, None))
}

#: What the text of asyncio holds where several addresses were tried.
_several = re.compile(r"Multiple exceptions: \[Errno (\d{1,5})\]").match

#: Texts of the standard library that tell an address, or nothing at all.
_no_text = re.compile(
    r"(?:Connect call failed|error while attempting to bind|Can't connect|Multiple exceptions:"
    r"|(?:The (?:read|write|handshake|connect) operation )?timed out\.?$)",
    re.IGNORECASE,
).match


def os_error(exc: BaseException) -> Verdict:
    """
    Judge any OSError by its errno.
    """
    number, text = whole(exc, "errno"), words(exc, "strerror") or first_argument(exc)
    if number is None and (several := _several(text)) is not None:
        number = int(several[1])
    if number is None:
        return _without_errno(exc, text)
    name, row = _NUMBERED.get(number) or (errno.errorcode.get(number, f"errno {number}"), None)
    paths = _paths(exc)
    if row is None:
        return _refused(name, number, paths)
    if row is _DENIED and not paths:
        # A socket, or a disk: the traceback tells. What an author wrote into it survives.
        message = f"Permission denied ({name})." if not text or _no_text(text) else None
        return Verdict(code=McpErrorCode.PERMISSION_DENIED, message=message, family="auth")
    return _of_row(name, paths) if paths else _of_number(number)


def _of_row(name: str, paths: tuple[str, ...] = ()) -> Verdict:
    row = _BY_ERRNO[name]
    which = _last_component(paths[0]) if paths and row.family == "file" else ""
    return Verdict(
        code=row.code,
        category=row.category,
        retryable=row.retryable,
        message=f"{row.sentence}{which} ({name}). {row.advice}".strip(),
        family=row.family,
        paths=paths,
        callers=row.callers if paths else None,
    )


@cache
def _of_number(number: int) -> Verdict:
    # Without a path, an errno means the same each time; only those of the table come here.
    return _of_row(_NUMBERED[number][0])


#: What the environment's policy does to a socket.
NO_CONNECTION_ALLOWED: Final = Verdict(
    code=McpErrorCode.NETWORK_BLOCKED,
    message=f"The server's environment does not permit this network connection. {OPERATOR}",
    family="network",
)

#: anyio's words over its attempts, which hang below.
_ATTEMPTS: Final = "All connection attempts failed"


def _of_attempts(exc: BaseException) -> Verdict:
    for link in below(exc):
        if isinstance(link, PermissionError):
            return NO_CONNECTION_ALLOWED
        if isinstance(link, OSError) and whole(link, "errno") is not None:
            return os_error(link)
    return _said(_UNREACHED, _UNREACHED.sentence)


def _said(row: _Row, sentence: str) -> Verdict:
    return Verdict(
        code=row.code,
        category=row.category,
        retryable=row.retryable,
        message=f"{sentence}. {row.advice}" if sentence else None,
        family=row.family,
    )


def _without_errno(exc: BaseException, text: str) -> Verdict:
    """
    Judge an OSError that some library or author made of a text, by its class.
    """
    if text == _ATTEMPTS:
        return _of_attempts(exc)
    if isinstance(exc, TimeoutError):
        row = _LATE
    elif isinstance(exc, ConnectionRefusedError):
        row = _BY_ERRNO["ECONNREFUSED"]
    elif isinstance(exc, ConnectionError):
        row = (
            _CLOSED
            if type(exc) is not ConnectionError
            else _outage("The connection to a service failed")
        )
    elif isinstance(exc, PermissionError):
        return Verdict(code=McpErrorCode.PERMISSION_DENIED, family="auth")
    elif isinstance(exc, BlockingIOError | InterruptedError):
        row = _BUSY
    else:
        about_file = isinstance(
            exc, FileNotFoundError | FileExistsError | NotADirectoryError | IsADirectoryError
        )
        return Verdict(code=McpErrorCode.INTERNAL, family="file" if about_file else "other")
    # Its own text stays, if it has one that may be shown.
    return _said(row, "" if text and not _no_text(text) else row.sentence)


def _refused(name: str, number: int, paths: tuple[str, ...]) -> Verdict:
    try:
        why = short(os.strerror(number))
    except (ValueError, OverflowError):
        why = ""
    return Verdict(
        code=McpErrorCode.INTERNAL,
        message=f"The operating system refused what the tool wanted ({f'{name}: {why}' if why else name}). {NO_USE}",
        family="file" if paths else "other",
        paths=paths,
        callers=McpErrorCode.INVALID_ARGUMENTS if paths else None,
    )


def _paths(exc: BaseException) -> tuple[str, ...]:
    return tuple(path for name in ("filename", "filename2") if (path := _path(attr(exc, name))))


def _path(value: Any) -> str:
    """
    Return a file name as text; empty for a file descriptor, and for what is none.
    """
    try:
        return "" if value is None or isinstance(value, int) else os.fsdecode(value)
    except Exception:  # noqa: BLE001 -- a path-like object may raise anything
        return ""


def _last_component(path: str) -> str:
    # As much of a path as the redactor leaves of one that the caller does not know.
    name = short(path.replace("\\", "/").rstrip("/").rpartition("/")[2])
    return f": {name!r}" if name else ""


def _exit(exc: BaseException) -> Verdict:
    code = whole(exc, "code")
    why = words(exc, "code")
    text = "The tool tried to end the server process"
    message = f"{text}: {why}" if why else f"{text} (exit code {0 if code is None else code})."
    return Verdict(code=McpErrorCode.TOOL_PANICKED, message=message, family="bug")


def _end_of_file(exc: BaseException) -> Verdict:
    if first_argument(exc).startswith("Compressed file ended"):
        return Verdict(
            code=McpErrorCode.INTERNAL,
            message=f"The compressed data that the tool read is cut off. {NO_USE}",
            family="data",
        )
    return _BUG


def unicode_error(exc: BaseException) -> Verdict:
    """
    Judge bytes that are no text, or text that is none in the wanted encoding; its content stays
    unseen.
    """
    encoding, start = short(words(exc, "encoding"), 32), whole(exc, "start")
    where = f" at position {start}" if start is not None else ""
    wanted = f"valid {encoding}" if encoding else "valid in its encoding"
    what = (
        "The text that the tool writes"
        if isinstance(exc, UnicodeEncodeError)
        else "The data that the tool read"
    )
    return Verdict(
        code=McpErrorCode.INTERNAL,
        message=f"{what} is not {wanted}{where}. {NO_USE}",
        family="data",
    )


_BUG: Final = Verdict(code=McpErrorCode.TOOL_PANICKED, family="bug")

#: Classes that code meets by mistake.
_BUGS: Final = (
    "ArithmeticError",
    "AssertionError",
    "AttributeError",
    "BufferError",
    "FloatingPointError",
    "ImportError",
    "IndentationError",
    "IndexError",
    "KeyError",
    "LookupError",
    "ModuleNotFoundError",
    "NameError",
    "NotImplementedError",
    "OverflowError",
    "ReferenceError",
    "StopAsyncIteration",
    "StopIteration",
    "SyntaxError",
    "SystemError",
    "TabError",
    "TypeError",
    "UnboundLocalError",
    "ValueError",
    "Warning",  # raised where warnings are errors
    "ZeroDivisionError",
)

#: Classes of the operating system's refusals; one function judges them all.
_OS_ERRORS: Final = (
    "BlockingIOError",
    "BrokenPipeError",
    "ChildProcessError",
    "ConnectionAbortedError",
    "ConnectionError",
    "ConnectionRefusedError",
    "ConnectionResetError",
    "FileExistsError",
    "FileNotFoundError",
    "InterruptedError",
    "IsADirectoryError",
    "NotADirectoryError",
    "OSError",
    "PermissionError",
    "ProcessLookupError",
    "TimeoutError",
)

RULES: Final[dict[str, Rule]] = {
    **{f"builtins.{name}": _BUG for name in _BUGS},
    **{f"builtins.{name}": os_error for name in _OS_ERRORS},
    **{
        f"builtins.{name}": unicode_error
        for name in (
            "UnicodeError",
            "UnicodeDecodeError",
            "UnicodeEncodeError",
            "UnicodeTranslateError",
        )
    },
    "builtins.EOFError": _end_of_file,
    "builtins.MemoryError": Verdict(
        code=McpErrorCode.TOOL_PANICKED,
        message="The tool ran out of memory. Ask for less at a time.",
        family="bug",
    ),
    "builtins.RecursionError": Verdict(
        code=McpErrorCode.TOOL_PANICKED,
        message="The tool went too deep (RecursionError). Input that is nested less may help.",
        family="bug",
    ),
    "builtins.RuntimeError": Verdict(code=McpErrorCode.TOOL_PANICKED, family="general"),
    "builtins.Exception": Verdict(code=McpErrorCode.INTERNAL, family="general"),
    "builtins.SystemExit": _exit,
    "builtins.BaseException": Verdict(code=McpErrorCode.TOOL_PANICKED, family="bug"),
    "asyncio.exceptions.CancelledError": Verdict(
        code=McpErrorCode.TOOL_PANICKED,
        message="A task that the tool waited for was cancelled.",
        family="bug",
    ),
}

#: Left without a rule on purpose: these two pass through a guard, groups are taken apart before
#: anything is judged.
IGNORED: Final = frozenset(
    {
        "builtins.BaseExceptionGroup",
        "builtins.ExceptionGroup",
        "builtins.GeneratorExit",
        "builtins.KeyboardInterrupt",
    }
)
