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
from typing import Any, Final

from toolfault._codes import McpErrorCategory, McpErrorCode
from toolfault._meanings.rows import NO_USE, OPERATOR, SERVICE, outage, permanent, timeout
from toolfault._redact.paths import last_component
from toolfault._verdict import Family, Rule, Verdict, replace
from toolfault.rules._helpers import (
    attr,
    first_argument,
    int_attr,
    short_line,
    str_attr,
    walk_causes,
)


def _file(
    sentence: str,
    code_if_caller_named: McpErrorCode | None = McpErrorCode.INVALID_ARGUMENTS,
) -> Verdict:
    row = permanent(sentence, advice="", family="file")
    return replace(row, code_if_caller_named=code_if_caller_named)


def _outage(sentence: str, family: Family = "network", peer: str = SERVICE) -> Verdict:
    return outage(sentence, family=family, peer=peer)


def _permanent(sentence: str, family: Family) -> Verdict:
    return permanent(sentence, family=family, advice=OPERATOR)


#: Who is at a network address.
_HOST: Final = "A host that the tool depends on"

_DENIED: Final = _file(
    "The server is not permitted to use this file", McpErrorCode.PERMISSION_DENIED
)
_NO_FILES: Final = _outage("The server has too many files open", "limit")
_BUSY: Final = _outage("Something that the tool needs is in use", "other")
_CLOSED: Final = _outage(
    "The connection was closed by the other side, and whether the work was done is unknown"
)
_LATE: Final = timeout("{peer} did not answer in time", peer="Something that the tool depends on")
_FAILED: Final = _outage("The connection to {peer} failed", peer="A service")
_UNREACHED: Final = _outage("No connection to {peer} could be made")
_NO_ROOM: Final = _permanent("There is no space left where the tool writes", "limit")

#: errno by name (not every system has all) to what it means. Others: `_refusal`.
_BY_ERRNO: Final[dict[str, Verdict]] = {
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
    "EIO": _permanent("The server's storage failed", "file"),
    "ENOSPC": _NO_ROOM,
    "EDQUOT": Verdict(
        code=McpErrorCode.QUOTA_EXCEEDED,
        category=McpErrorCategory.PERMANENT,
        retryable=False,
        sentence="The disk quota is used up",
        advice=OPERATOR,
        family="limit",
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
    "ECONNREFUSED": _outage("{peer} refused the connection"),
    "ECONNRESET": _CLOSED,
    "ECONNABORTED": _CLOSED,
    "EPIPE": _CLOSED,
    "ESHUTDOWN": _CLOSED,
    "ENETRESET": _CLOSED,
    "ENOTCONN": _CLOSED,
    "EHOSTUNREACH": _outage("{peer} can't be reached", peer=_HOST),
    "EHOSTDOWN": _outage("{peer} is down", peer=_HOST),
    "ENETDOWN": _outage("The server's network is down"),
    "EADDRNOTAVAIL": _outage("The server has no network address left for this"),
    "EADDRINUSE": _outage("A network address that the tool needs is in use"),
    "ENETUNREACH": Verdict(
        code=McpErrorCode.NETWORK_BLOCKED,
        category=McpErrorCategory.PERMANENT,
        retryable=False,
        sentence="The server's network has no route to where the tool connects",
        advice=OPERATOR,
        family="network",
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
    number, text = int_attr(exc, "errno"), str_attr(exc, "strerror") or first_argument(exc)
    if number is None and (several := _several(text)) is not None:
        number = int(several[1])
    if number is None:
        return _judge_by_class(exc, text)
    name, row = _NUMBERED.get(number) or (errno.errorcode.get(number, f"errno {number}"), None)
    paths = _paths(exc)
    if row is None:
        return _refusal(name, number, paths)
    if row is _DENIED and not paths:
        return _permission_error(name, text)
    return _add_files(name, row, paths) if paths else _verdict_for_errno(number)


def _permission_error(name: str, text: str) -> Verdict:
    # A socket, or a disk: the traceback tells. What an author wrote into it survives.
    if text and not _no_text(text):
        return Verdict(code=McpErrorCode.PERMISSION_DENIED, family="auth")
    return Verdict(
        code=McpErrorCode.PERMISSION_DENIED, sentence="Permission denied", note=name, family="auth"
    )


def _add_files(name: str, row: Verdict, paths: tuple[str, ...]) -> Verdict:
    file = _last_component(paths[0]) if row.family == "file" else ""
    return replace(row, note=name, paths=paths, file=file)


@cache
def _verdict_for_errno(number: int) -> Verdict:
    # Without a path, an errno means the same each time; only those of the table come here.
    name, row = _NUMBERED[number]
    return replace(row, note=name, code_if_caller_named=None)


#: What the environment's policy does to a socket.
NO_CONNECTION_ALLOWED: Final = Verdict(
    code=McpErrorCode.NETWORK_BLOCKED,
    sentence="The server's environment does not permit this network connection",
    advice=OPERATOR,
    family="network",
)

#: anyio's words over its attempts, which hang below.
_ATTEMPTS: Final = "All connection attempts failed"


def _judge_attempts(exc: BaseException) -> Verdict:
    for link in walk_causes(exc):
        if isinstance(link, PermissionError):
            return NO_CONNECTION_ALLOWED
        if isinstance(link, OSError) and int_attr(link, "errno") is not None:
            return os_error(link)
    return _UNREACHED


_ABOUT_FILE: Final = Verdict(code=McpErrorCode.INTERNAL, family="file")
_UNKNOWN: Final = Verdict(code=McpErrorCode.INTERNAL, family="other")


def _judge_by_class(exc: BaseException, text: str) -> Verdict:
    """
    Judge an OSError that some library or author made of a text, by its class.
    """
    if text == _ATTEMPTS:
        return _judge_attempts(exc)
    row = _FAILED if type(exc) is ConnectionError else _row_for_class(exc)
    if text and not _no_text(text):
        # Its own text stays, if it has one that may be shown.
        return replace(row, sentence=None)
    return row


#: What an OSError without an errno means; the first class that fits decides.
_BY_CLASS: Final = (
    (TimeoutError, _LATE),
    (ConnectionRefusedError, _BY_ERRNO["ECONNREFUSED"]),
    (ConnectionError, _CLOSED),
    (PermissionError, Verdict(code=McpErrorCode.PERMISSION_DENIED, family="auth")),
    (BlockingIOError, _BUSY),
    (InterruptedError, _BUSY),
    (FileNotFoundError, _ABOUT_FILE),
    (FileExistsError, _ABOUT_FILE),
    (NotADirectoryError, _ABOUT_FILE),
    (IsADirectoryError, _ABOUT_FILE),
)


def _row_for_class(exc: BaseException) -> Verdict:
    return next((row for cls, row in _BY_CLASS if isinstance(exc, cls)), _UNKNOWN)


def _refusal(name: str, number: int, paths: tuple[str, ...]) -> Verdict:
    try:
        why = short_line(os.strerror(number))
    except (ValueError, OverflowError):
        why = ""
    return Verdict(
        code=McpErrorCode.INTERNAL,
        sentence="The operating system refused what the tool wanted",
        note=f"{name}: {why}" if why else name,
        advice=NO_USE,
        family="file" if paths else "other",
        paths=paths,
        code_if_caller_named=McpErrorCode.INVALID_ARGUMENTS if paths else None,
    )


def _paths(exc: BaseException) -> tuple[str, ...]:
    return tuple(path for name in ("filename", "filename2") if (path := _path(attr(exc, name))))


def _path(value: Any) -> str:
    """
    Return a file name as text; "" for a file descriptor and for anything else.
    """
    try:
        return "" if value is None or isinstance(value, int) else os.fsdecode(value)
    except Exception:  # noqa: BLE001 -- a path-like object may raise anything
        return ""


def _last_component(path: str) -> str:
    # As much of a path as the redactor leaves of one that the caller does not know.
    return short_line(last_component(path))


def _exit(exc: BaseException) -> Verdict:
    code = int_attr(exc, "code")
    why = str_attr(exc, "code")
    text = "The tool tried to end the server process"
    if why:
        return replace(_BUG, sentence=f"{text}: {why}")
    return replace(_BUG, sentence=text, note=f"exit code {0 if code is None else code}")


def _end_of_file(exc: BaseException) -> Verdict:
    if first_argument(exc).startswith("Compressed file ended"):
        return permanent("The compressed data that the tool read is cut off", family="data")
    return _BUG


def unicode_error(exc: BaseException) -> Verdict:
    """
    Judge bytes that can't be decoded, or text that can't be encoded; its content stays unseen.
    """
    encoding, start = short_line(str_attr(exc, "encoding"), 32), int_attr(exc, "start")
    where = f" at position {start}" if start is not None else ""
    wanted = f"valid {encoding}" if encoding else "valid in its encoding"
    what = "The data that the tool read"
    if isinstance(exc, UnicodeEncodeError):
        what = "The text that the tool writes"
    return permanent(f"{what} is not {wanted}{where}", family="data")


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
        sentence="The tool ran out of memory",
        advice="Ask for less at a time.",
        family="bug",
    ),
    "builtins.RecursionError": Verdict(
        code=McpErrorCode.TOOL_PANICKED,
        sentence="The tool went too deep (RecursionError)",
        advice="Input that is nested less may help.",
        family="bug",
    ),
    "builtins.RuntimeError": Verdict(code=McpErrorCode.TOOL_PANICKED, family="general"),
    "builtins.Exception": Verdict(code=McpErrorCode.INTERNAL, family="general"),
    "builtins.SystemExit": _exit,
    "builtins.BaseException": Verdict(code=McpErrorCode.TOOL_PANICKED, family="bug"),
    "asyncio.exceptions.CancelledError": Verdict(
        code=McpErrorCode.TOOL_PANICKED,
        sentence="A task that the tool waited for was cancelled.",
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
