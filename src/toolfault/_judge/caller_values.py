"""
Whose path, whose URL: whether an argument of the call names what failed (standards, trap 1).

Pure comparisons of texts; nothing here looks at a disk or a network.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Iterator
from typing import Any, Final

from toolfault._json import is_array, is_mapping


def strings_in(value: object, depth: int = 6) -> Iterator[str]:
    """
    Go through the texts among a call's arguments, bounded.
    """
    inner: Iterable[Any] = ()
    if isinstance(value, str):
        if 0 < len(value) <= _MAX_ARGUMENT:
            yield value
    elif is_mapping(value):
        inner = value.values()
    elif is_array(value):
        inner = value[:100]
    if depth:
        for item in inner:
            yield from strings_in(item, depth - 1)


#: The longest argument that can be a path or a URL.
_MAX_ARGUMENT: Final = 4096


def names_path(given: str, path: str) -> bool:
    """
    Tell whether an argument, its root aside, is the path or a leading or trailing run of its
    components.
    """
    mine, its = components(given), components(path)
    if not mine or len(mine) > len(its):
        return False
    return its[: len(mine)] == mine or its[-len(mine) :] == mine


def components(path: str) -> list[str]:
    tidy = os.path.normpath(path.replace("\\", "/"))
    parts = [part for part in tidy.split("/") if part not in {"", "."}]
    return parts[1:] if parts and parts[0].endswith(":") else parts


def names_url(given: str, url: str) -> bool:
    host = host_of(url)
    return given == url or (bool(host) and host in given.lower())


class Hosts:
    """
    Hosts that may be talked to, as an operator lists them: a name, ``*.`` before one, or a URL that
    has it.

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
    from urllib.parse import urlsplit  # noqa: PLC0415 -- at first use, as difflib

    try:
        return (urlsplit(url).hostname or "") if "//" in url else url.partition(":")[0].lower()
    except ValueError:
        return ""
