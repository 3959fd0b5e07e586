"""
Taking secrets, and the server's layout, out of text.

Rule 1: cut to a window, then redact, then cut to size; never the other way round, or half a secret
leaves.
Rule 2: what is replaced is never looked at again, so redacting twice changes nothing more.
Rule 3: a pattern's quantifiers are bounded, or the last thing in it; no text makes it slow.
Rule 4: most texts hold no secret. A few substring tests find that out before any pattern runs.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Final, cast

from toolfault._redact.families import keep_first_letters, redact_families
from toolfault._redact.named import redact_elements
from toolfault._redact.paths import KnownPaths, folders, known_roots, without_layout
from toolfault._redact.registered import SHORTEST, secrets_in, spellings, windowed, without_known
from toolfault._redact.words import REMOVED
from toolfault._text import WINDOW, clean, cut, encodable, plain


_log = logging.getLogger("toolfault")

#: One replacement can uncover another; then the families run again, this often at most.
_ROUNDS: Final = 4

#: How many short texts a redactor remembers with what is left of them, and how long those may be.
_SEEN: Final = 256
_SHORT: Final = 256


class Redactor:
    """
    What takes secrets out of texts. Immutable, and safe to use from many threads.

    Args:
        secrets: Values that never leave, in no spelling.
        environ: Where to look for more of them, by name. None: the process's environment as it is
            now.
        roots: Folders whose layout stays private. None: those that Python and this process live in.
        extra: A user's own redaction, run last. If it fails, nothing of the text leaves.

    Raises:
        ValueError: A secret is too short to be told from ordinary text.
    """

    __slots__ = ("_exact", "_extra", "_registered", "_roots", "_seen", "_spelled_oddly", "_warned")

    def __init__(
        self,
        secrets: Iterable[str] = (),
        *,
        environ: Mapping[str, str] | None = None,
        roots: Iterable[str] | None = None,
        extra: Callable[[str], str] | None = None,
    ) -> None:
        registered: set[str] = set()
        # None comes from a variable that is not set.
        for secret in cast("Iterable[object]", secrets):
            if not isinstance(secret, str) or len(secret) < SHORTEST or not secret.strip():
                raise ValueError(
                    f"a secret must be a str of at least {SHORTEST} characters, or it would be found in ordinary "
                    "text; leave out those that are not set"
                )
            registered.update(spellings(secret))
        found = secrets_in(os.environ if environ is None else environ)
        # The longest first: one may be part of another.
        self._registered: Final = tuple(sorted(registered, key=len, reverse=True))
        self._exact: Final = tuple(sorted(registered | found, key=len, reverse=True))
        # Those that cleaning would change before they are looked for.
        self._spelled_oddly: Final = tuple(
            secret for secret in self._exact if plain(clean(secret)) != secret
        )
        self._roots: Final = known_roots() if roots is None else folders(roots)
        self._extra: Final = extra
        self._warned: Final[list[bool]] = []
        self._seen: Final[dict[tuple[str, int], str]] = {}

    def redact(self, text: str) -> str:
        """
        Return a text without secrets: the known ones, and what looks like one.
        """
        for _ in range(_ROUNDS):
            before = text
            if self._exact:
                text = without_known(self._exact, text)
            text = redact_families(text)
            if text == before:
                break
        return text

    def paths(self, text: str, known: Iterable[str] | KnownPaths = ()) -> str:
        """
        Return a text in which absolute paths below a root show no more than their last component.

        Args:
            text: Any text.
            known: What the caller itself wrote; a path, or the end of one, that stands here stays
                as it was written.
        """
        return without_layout(text, self._roots, known)

    def scrub(self, text: str, limit: int, known: Iterable[str] | KnownPaths = ()) -> str:
        """
        Return what may leave of a text, in at most *limit* bytes of UTF-8.
        """
        # Tables say the same sentences over and over; what has a path depends on the caller.
        if self._extra is not None or len(text) > _SHORT or "/" in text or "\\" in text:
            return self._scrubbed(text, limit, known)
        key = (text, limit)
        seen = self._seen.get(key)
        if seen is None:
            if len(self._seen) >= _SEEN:
                self._seen.clear()
            seen = self._seen[key] = self._scrubbed(text, limit, ())
        return seen

    def _scrubbed(self, text: str, limit: int, known: Iterable[str] | KnownPaths) -> str:
        if len(text) >= WINDOW:
            text = windowed(text, self._exact)
        if self._spelled_oddly:
            text = without_known(self._spelled_oddly, text)
        # While the tags still tell what is between them.
        text = redact_elements(clean(keep_first_letters(text)))
        text = without_layout(self.redact(plain(text)), self._roots, known)
        if self._extra is not None and text:
            text = self._by_user(self._extra, text)
        return cut(text.strip(), limit)

    def show(self, text: str, limit: int) -> str:
        """
        Return a text as it is, less the registered secrets, in at most *limit* bytes of UTF-8.
        """
        if len(text) >= WINDOW:
            text = windowed(text, self._registered)
        if self._spelled_oddly:
            text = without_known(self._registered, text)
        return cut(without_known(self._registered, clean(text)).strip(), limit)

    def _by_user(self, extra: Callable[[str], str], text: str) -> str:
        try:
            seen = cast("object", extra(text))
            if isinstance(seen, str):
                return encodable(str.__str__(seen))
            problem = f"returned {type(seen).__name__}, not str"
        except KeyboardInterrupt:
            raise
        except BaseException as exc:  # noqa: BLE001 -- a user's function; nothing leaves if it fails
            problem = f"raised {type(exc).__name__}"
        if not self._warned:
            self._warned.append(True)
            _log.warning(
                "the redactor's extra function %s; texts are replaced as a whole until it works",
                problem,
            )
        return REMOVED
