"""
Cutting the server's layout out of paths.

Rule 1: of a path below a root no more than the last component stays, or what the caller itself
wrote of it.
Rule 2: folders that every machine has say nothing, and stay.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from toolfault._json import first
from toolfault._text import pattern


#: The longest path, in characters, that is recognised as one.
_LONGEST_PATH: Final = 1024

#: Folders that every machine has say nothing.
_EVERYWHERE: Final = frozenset(
    (
        "/usr",
        "/usr/local",
        "/bin",
        "/lib",
        "/opt",
        "/etc",
        "/var",
        "/home",
        "/Users",
        "/mnt",
        "/srv",
        "/private",
    )
)


class KnownPaths:
    """
    The paths that a caller wrote, normalised once, so that each look-up costs the same.

    Args:
        words: What the caller wrote; each may be a path, or the end of one.
    """

    __slots__ = ("_words", "_written")

    def __init__(self, words: Iterable[str]) -> None:
        self._words = words
        self._written: dict[str, str] | None = None

    def find(self, path: str, root: str) -> str | None:
        """
        Return the part of a path below a root that may be shown, or None.

        Args:
            path: The path, as `_normal` returns it.
            root: The root that it begins with.
        """
        written = self._normalise_all()
        ends = (len(root), *_slashes(path, len(root) + 1), len(path))
        if any(path[:end] in written for end in ends):
            # The caller named this folder in full, or the path itself.
            return path
        return first(written.get(path[at + 1 :]) for at in _slashes(path))

    def _normalise_all(self) -> dict[str, str]:
        if self._written is None:
            short = [word for word in self._words if len(word) <= _LONGEST_PATH]
            written: dict[str, str] = {"": ""}
            for word in sorted(short, key=len):
                written[_normal(word)] = word
            del written[""]
            self._written = written
        return self._written


def _slashes(path: str, start: int = 0) -> Iterator[int]:
    return (found.start() for found in pattern("/").finditer(path, start))


def cut_paths(text: str, roots: tuple[str, ...], known: Iterable[str] | KnownPaths = ()) -> str:
    """
    Return a text in which absolute paths below a root show no more than their last component.

    Args:
        text: Any text.
        roots: The folders, as `folders` or `find_roots` returns them.
        known: What the caller itself wrote; a path, or the end of one, that stands here stays as it
            was written.
    """
    if "/" not in text and "\\" not in text:
        return text
    # A Windows path has too many spellings for a substring test.
    if not any(root in text or "\\" in root for root in roots):
        return text
    paths = known if isinstance(known, KnownPaths) else KnownPaths(known)
    return _path_pattern(roots).sub(lambda path: _shorten(path, paths), text)


def last_component(path: str) -> str:
    """
    Return the last component of a path of either kind of system.
    """
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def folders(roots: Iterable[str]) -> tuple[str, ...]:
    """
    Return the folders whose layout is worth hiding, the longest first.
    """
    found = {root.rstrip("/\\") for root in roots}
    return tuple(
        sorted(
            (root for root in found if len(root) > 2 and root not in _EVERYWHERE),
            key=len,
            reverse=True,
        )
    )


def find_roots() -> tuple[str, ...]:
    """
    Return the folders that Python and this process live in.
    """
    try:
        here = os.getcwd()  # noqa: PTH109 -- pathlib costs more, and no path is made of it
    except OSError:
        here = ""
    return _find_roots(here, os.path.expanduser("~"))  # noqa: PTH111 -- as above


@lru_cache(maxsize=16)
def _find_roots(here: str, home: str) -> tuple[str, ...]:
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    roots = [here, home, sys.prefix, sys.base_prefix, os.path.dirname(os.__file__)]  # noqa: PTH120 -- as above
    roots += [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    roots += [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]
    roots += ["/tmp", "/var/tmp"]  # noqa: S108 -- names, nothing is written there
    if main:
        roots.append(os.path.dirname(os.path.abspath(main)))  # noqa: PTH100, PTH120 -- as above
    return folders(root for root in roots if os.path.isabs(root))  # noqa: PTH117 -- as above


@lru_cache(maxsize=64)
def _path_pattern(roots: tuple[str, ...]) -> re.Pattern[str]:
    spelled: list[str] = []
    for root in roots:
        parts = r"(?:/|\\{1,2})".join(re.escape(part) for part in re.split(r"[/\\]", root))
        # Windows looks at no case.
        spelled.append(f"(?i:{parts})" if "\\" in root else parts)
    anywhere = "|".join(spelled)
    # Between quotes a path may hold spaces.
    return re.compile(
        rf"""(?:(?<=(["'`]))|(?<=://)|(?<![\w.~/\\-]))({anywhere})(?:"""
        rf"""(?(1)[/\\](?:(?!\1|[ ][/\\])[^\n<>|*?:]){{0,{_LONGEST_PATH}}}(?=\1)|(?!))"""
        rf"""|[/\\][^\s"'`<>|*?:]{{0,{_LONGEST_PATH}}}|(?![\w.-]))"""
    )


def _shorten(found: re.Match[str], known: KnownPaths) -> str:
    path = found[0].rstrip(".,;)]}")
    rest = found[0][len(path) :]
    normal = _normal(path)
    shown = known.find(normal, _normal(found[2]))
    if shown == normal:
        return found[0]
    return (shown or normal.rpartition("/")[2]) + rest


def _normal(path: str) -> str:
    return re.sub(r"[/\\]+", "/", path).removeprefix("./").rstrip("/")
