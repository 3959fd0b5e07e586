"""
Taking secrets, and the server's layout, out of text.

Rule 1: cut to a window, then redact, then cut to size; never the other way round, or half a secret leaves.
Rule 2: what is replaced is never looked at again, so redacting twice changes nothing more.
Rule 3: a pattern's quantifiers are bounded, or the last thing in it; no text makes it slow.
Rule 4: most texts hold no secret. A few substring tests find that out before any pattern runs.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Final
from urllib.parse import quote, quote_plus

from toolfault._text import WINDOW, clean, cut, encodable, plain


_log = logging.getLogger("toolfault")

#: What a reader sees in place of a secret.
REMOVED: Final = "[redacted]"

#: The shortest secret that may be registered, and the shortest that is looked for in other spellings, or taken from
#: the environment. Below, words of ordinary text would go.
_SHORTEST: Final = 4
_SHORTEST_SPELLED: Final = 8

#: How far back from a cut an unfinished word is dropped.
_UNFINISHED: Final = 256

#: One replacement can uncover another; then the families run again, this often at most.
_ROUNDS: Final = 4


class Redactor:
    """
    What takes secrets out of texts. Immutable, and safe to use from many threads.

    Args:
        secrets: Values that never leave, in no spelling.
        environ: Where to look for more of them, by name. None: the process's environment as it is now.
        roots: Folders whose layout stays private. None: those that Python and this process live in.
        extra: A user's own redaction, run last. If it fails, nothing of the text leaves.

    Raises:
        ValueError: A secret is too short to be told from ordinary text.
    """

    __slots__ = ("_always", "_exact", "_extra", "_registered", "_roots", "_spelled_oddly", "_warned")

    def __init__(
        self,
        secrets: Iterable[str] = (),
        *,
        environ: Mapping[str, str] | None = None,
        roots: Iterable[str] | None = None,
        extra: Callable[[str], str] | None = None,
    ) -> None:
        registered: set[str] = set()
        for secret in secrets:
            if not isinstance(secret, str) or len(secret) < _SHORTEST or not secret.strip():  # pyright: ignore[reportUnnecessaryIsInstance] -- None comes from an environment variable that is not set
                raise ValueError(
                    f"a secret must be a str of at least {_SHORTEST} characters, or it would be found in ordinary "
                    "text; leave out those that are not set"
                )
            registered.update(_spellings(secret))
        found = _secrets_in(os.environ if environ is None else environ)
        # The longest first: one may be part of another.
        self._registered: Final = tuple(sorted(registered, key=len, reverse=True))
        self._exact: Final = tuple(sorted(registered | found, key=len, reverse=True))
        # Those that cleaning would change before they are looked for.
        self._spelled_oddly: Final = tuple(secret for secret in self._exact if plain(clean(secret)) != secret)
        self._roots: Final = _known_roots() if roots is None else _folders(roots)
        self._extra: Final = extra
        self._warned: Final[list[bool]] = []

    def redact(self, text: str) -> str:
        """
        Return a text without secrets: the known ones, and what looks like one.
        """
        for _ in range(_ROUNDS):
            before = text
            if self._exact:
                text = _without(self._exact, text)
            text = _without_families(text)
            if text == before:
                break
        return text

    def paths(self, text: str, known: Iterable[str] = ()) -> str:
        """
        Return a text in which absolute paths below a root show no more than their last component.

        Args:
            text: Any text.
            known: What the caller itself wrote; a path, or the end of one, that stands here stays as it was written.
        """
        if "/" not in text and "\\" not in text:
            return text
        found = [root for root in self._roots if root in text]
        if not found:
            return text
        return text

    def scrub(self, text: str, limit: int, known: Iterable[str] = ()) -> str:
        """
        Return what may leave of a text, in at most *limit* bytes of UTF-8.
        """
        if len(text) >= WINDOW:
            text = _windowed(text, self._exact)
        if self._spelled_oddly:
            text = _without(self._spelled_oddly, text)
        text = self.paths(self.redact(plain(clean(text))), known)
        if self._extra is not None and text:
            text = self._by_user(text)
        return cut(text.strip(), limit)

    def show(self, text: str, limit: int) -> str:
        """
        Return a text as it is, less the registered secrets, in at most *limit* bytes of UTF-8.
        """
        if len(text) >= WINDOW:
            text = _windowed(text, self._registered)
        if self._spelled_oddly:
            text = _without(self._registered, text)
        return cut(_without(self._registered, clean(text)).strip(), limit)

    def _by_user(self, text: str) -> str:
        return text
