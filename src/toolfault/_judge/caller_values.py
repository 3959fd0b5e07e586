"""
The caller's own values: whether an argument of the call is, or holds, the value that failed.

Pure comparisons of values; nothing here looks at a disk or a network.
"""

from __future__ import annotations

import os.path
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final

from toolfault._json import is_array, is_mapping
from toolfault._redact.paths import KnownPaths


#: The longest argument that can be a path or a URL.
_MAX_PATH: Final = 4096

#: How many values among the arguments are looked at, how deep they may lie, and how many characters
#: of them are searched for a value that stands inside one.
_MAX_VALUES: Final = 1000
_MAX_DEPTH: Final = 8
_MAX_SEARCHED: Final = 200_000

#: How many arguments are looked for in the text of an exception.
_MAX_QUOTED: Final = 64

#: The shortest value, in characters, that is looked for inside a longer argument.
_MIN_INSIDE: Final = 2


class CallerValues:
    """
    The values that a caller sent, collected once for a call and within a budget.

    Args:
        arguments: The arguments as the caller sent them.
    """

    __slots__ = ("_arguments", "_collected", "_paths")

    def __init__(self, arguments: object) -> None:
        self._arguments = arguments
        self._collected: list[tuple[str, Any]] | None = None
        self._paths: KnownPaths | None = None

    @property
    def are_known(self) -> bool:
        """
        Whether the caller sent any value at all.
        """
        return bool(self._values())

    @property
    def texts(self) -> list[str]:
        """
        The texts among the arguments that can be a path or a URL.
        """
        return [
            value
            for _, value in self._values()
            if isinstance(value, str) and 0 < len(value) <= _MAX_PATH
        ]

    @property
    def paths(self) -> KnownPaths:
        """
        The texts as paths that may be shown as the caller wrote them.
        """
        if self._paths is None:
            self._paths = KnownPaths(self.texts)
        return self._paths

    def argument_with(self, value: object) -> str | None:
        """
        Return the dotted path of the argument that is a value, or holds it whole; None: none does.

        Args:
            value: A text or a number; anything else is not an argument.
        """
        wanted = _as_text(value)
        if wanted is None:
            return None
        holder = None
        searched = 0
        for field, given in self._values():
            text = _as_text(given)
            if text is None:
                continue
            if text == wanted:
                return field
            searched += len(text)
            if holder is None and searched <= _MAX_SEARCHED and _stands_in(wanted, text):
                holder = field
        return holder

    def argument_beginning_with(self, text: str) -> str | None:
        """
        Return the dotted path of the argument that begins with a text; None: none does.
        """
        for field, given in self._values():
            if isinstance(given, str) and given.startswith(text):
                return field
        return None

    def argument_quoted_in(self, text: str) -> str | None:
        """
        Return the dotted path of the argument that a text quotes whole; None: it quotes none.
        """
        for field, given in self._values()[:_MAX_QUOTED]:
            if not isinstance(given, str) or not 0 < len(given) <= _MAX_PATH:
                continue
            if f"'{given}'" in text or f'"{given}"' in text:
                return field
        return None

    def has_part(self, value: object) -> bool:
        """
        Tell whether a value, in any case of its letters, is a part of any argument.
        """
        wanted = (_as_text(value) or "").casefold()
        searched = 0
        for _, given in self._values():
            text = _as_text(given) or ""
            searched += len(text)
            if searched > _MAX_SEARCHED or wanted in text.casefold():
                return True
        return False

    def _values(self) -> list[tuple[str, Any]]:
        if self._collected is None:
            self._collected = list(_iterate_scalars(self._arguments))
        return self._collected


def _iterate_scalars(arguments: object) -> Iterator[tuple[str, Any]]:
    """
    Yield the texts and numbers with their dotted paths, those near the top first.
    """
    pending = deque([("", arguments, 0)])
    for _ in range(_MAX_VALUES):
        if not pending:
            return
        field, value, depth = pending.popleft()
        if depth < _MAX_DEPTH and len(pending) < _MAX_VALUES:
            pending.extend((path, item, depth + 1) for path, item in _members(field, value))
        if field and isinstance(value, str | int | float):
            yield field, value


def _members(field: str, value: object) -> Iterator[tuple[str, Any]]:
    pairs: Iterable[tuple[Any, Any]] = ()
    if is_mapping(value):
        pairs = value.items()
    elif is_array(value):
        pairs = enumerate(value)
    for _, (key, item) in zip(range(_MAX_VALUES), pairs, strict=False):
        yield (f"{field}.{key}" if field else str(key)), item


def _as_text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(value)
    return None


def _number(value: float) -> str | None:
    try:
        return repr(value)
    except ValueError:  # an int of more digits than Python converts
        return None


def _stands_in(value: str, text: str) -> bool:
    """
    Tell whether a value stands in a text between characters that are no part of a word.
    """
    if len(value) < _MIN_INSIDE or len(value) >= len(text):
        return False
    at = text.find(value)
    while at >= 0:
        end = at + len(value)
        before, after = text[at - 1 : at], text[end : end + 1]
        if not (_joins(value[0], before) or _joins(value[-1], after)):
            return True
        at = text.find(value, at + 1)
    return False


def _joins(edge: str, beyond: str) -> bool:
    return edge.isalnum() and beyond.isalnum()


def names_path(given: str, path: str, *, is_folder: bool = False) -> bool:
    """
    Tell whether an argument names a path.

    It does if its components, less the root, the home and the steps up that it begins with, are a
    leading or trailing run of the path's. One of steps alone (``.``, ``../``) names a folder, or a
    path that still ends in them.
    """
    if given and not given.strip("./\\"):
        steps = given.replace("\\", "/").rstrip("/")
        return is_folder or f"/{path}".replace("\\", "/").rstrip("/").endswith(f"/{steps}")
    mine, its = components(given), components(path)
    while mine and mine[0] in {"..", "~"}:
        del mine[0]
    if not mine or len(mine) > len(its):
        return False
    return its[: len(mine)] == mine or its[-len(mine) :] == mine


def components(path: str) -> list[str]:
    """
    Return the components of a path without its root; a Windows path's as a POSIX path's.
    """
    tidy = os.path.normpath(path.replace("\\", "/"))
    parts = [part for part in tidy.split("/") if part not in {"", "."}]
    return parts[1:] if parts and parts[0].endswith(":") else parts


def names_url(given: str, url: str) -> bool:
    """
    Tell whether an argument is a URL, or holds its host.
    """
    host = host_of(url)
    return given == url or (bool(host) and host in given.lower())


class Hosts:
    """
    The hosts that an operator lists: each a name, ``*.`` before one, or a URL that has it.

    Raises:
        ValueError: An entry names no host.
    """

    __slots__ = ("_names", "_suffixes")

    def __init__(self, entries: Iterable[str]) -> None:
        names = [host_of(entry.strip()) if isinstance(entry, str) else "" for entry in entries]  # pyright: ignore[reportUnnecessaryIsInstance] -- an operator's list
        if not all(names):
            raise ValueError(
                "egress_allow lists hosts, such as 'api.example.com' or '*.example.com'"
            )
        self._names = frozenset(name for name in names if not name.startswith("*."))
        self._suffixes = tuple(name[1:] for name in names if name.startswith("*."))

    def admits(self, url: str) -> bool:
        """
        Tell whether a URL's host is listed.
        """
        host = host_of(url)
        return host in self._names or host.endswith(self._suffixes)


def host_of(url: str) -> str:
    """
    Return the host of a URL, or of a bare ``host:port``; empty where there is none.
    """
    from urllib.parse import urlsplit  # noqa: PLC0415 -- only for failures with a URL

    try:
        return (urlsplit(url).hostname or "") if "//" in url else url.partition(":")[0].lower()
    except ValueError:
        return ""
