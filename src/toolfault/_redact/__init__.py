"""
Taking secrets, and the server's layout, out of text.

Rule 1: cut to a window, then redact, then cut to size; never the other way round, or half a secret
leaves.
Rule 2: what is replaced is never looked at again, so redacting twice changes nothing more.
Rule 3: a pattern's quantifiers are bounded, or the last thing in it; no text makes it slow.
Rule 4: most texts hold no secret. A few substring tests find that out before any pattern runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

from toolfault._logging import log
from toolfault._redact.families import keep_first_letters, redact_families
from toolfault._redact.named import redact_elements
from toolfault._redact.paths import KnownPaths, cut_paths, find_roots, folders
from toolfault._redact.registered import SHORTEST, KnownSecrets, secrets_in
from toolfault._redact.words import REMOVED
from toolfault._text import WINDOW, clean, cut, encodable, plain


#: One replacement can uncover another; then the families run again, this often at most.
_ROUNDS: Final = 4

#: How many short texts a redactor remembers with what is left of them, and how long those may be.
_MAX_SEEN: Final = 256
_SHORT: Final = 256

#: How many secrets that an environment once had are still looked for.
_MAX_PAST: Final = 1000


class _Environment:
    """
    The secrets of an environment, read again when it has changed. Safe to use from many threads.

    Args:
        registered: Secrets that are looked for as well.
        environ: The environment; None: the one of this process, whenever it is asked.
    """

    __slots__ = ("_found", "_registered", "_snapshot", "known")

    def __init__(self, registered: Iterable[str], environ: Mapping[str, str] | None) -> None:
        self._registered: Final = frozenset(registered)
        self._snapshot: dict[object, object] | None = None if environ is not None else {}
        self._found: frozenset[str] = frozenset(secrets_in(environ or {}))
        self.known = KnownSecrets(self._registered | self._found)
        self.read()

    def read(self) -> bool:
        """
        Read the environment if it has changed; tell whether its secrets have.
        """
        snapshot = self._snapshot
        if snapshot is None:
            return False
        # As os.environ keeps them, without a copy.
        now: Any = getattr(os.environ, "_data", None)
        if type(now) is not dict:
            now = dict(os.environ)
        # Equal entries are the same objects, so that this costs about a microsecond.
        if now == snapshot:
            return False
        try:
            found = secrets_in(os.environ.copy())
            copied: dict[object, object] = dict(cast("Any", now))
        except RuntimeError:  # it is being changed by another thread; the next call reads it
            return False
        self._snapshot = copied
        if found <= self._found:
            return False
        # One that is gone may still stand in texts.
        past = self._found if len(self._found) < _MAX_PAST else frozenset[str]()
        self._found = past | found
        self.known = KnownSecrets(self._registered | self._found)
        return True


def _redact_with(known: KnownSecrets, text: str) -> str:
    """
    Return a text without known secrets and without families of secrets.
    """
    for _ in range(_ROUNDS):
        before = text
        text = redact_families(known.redact(text))
        if text == before:
            break
    return text


class Redactor:
    """
    What takes secrets out of texts. Immutable, and safe to use from many threads.

    Args:
        secrets: Values that never leave, in no spelling.
        environ: Where to look for more of them, by name. None: the process's environment, read
            again when it has changed.
        roots: Folders whose layout stays private. None: those that Python and this process live in.
        extra: A user's own redaction, run last. If it fails, nothing of the text leaves.

    Raises:
        ValueError: A secret is too short to be told from ordinary text.
    """

    __slots__ = ("_environment", "_extra", "_registered", "_roots", "_seen", "_warned")

    def __init__(
        self,
        secrets: Iterable[str] = (),
        *,
        environ: Mapping[str, str] | None = None,
        roots: Iterable[str] | None = None,
        extra: Callable[[str], str] | None = None,
    ) -> None:
        registered = frozenset(_check_secret(secret) for secret in secrets)
        self._registered: Final = KnownSecrets(registered)
        self._environment: Final = _Environment(registered, environ)
        self._roots: Final = find_roots() if roots is None else folders(roots)
        self._extra: Final = extra
        self._warned: Final[list[bool]] = []
        self._seen: Final[dict[tuple[str, int, KnownSecrets], str]] = {}

    def redact(self, text: str) -> str:
        """
        Return a text without secrets: the known ones, and what looks like one.
        """
        return _redact_with(self.known_secrets(), text)

    def known_secrets(self) -> KnownSecrets:
        """
        Return the registered secrets and those of the environment, read again if it has changed.
        """
        if self._environment.read():
            self._seen.clear()
        return self._environment.known

    def paths(self, text: str, known: Iterable[str] | KnownPaths = ()) -> str:
        """
        Return a text in which absolute paths below a root show no more than their last component.

        Args:
            text: Any text.
            known: What the caller itself wrote; a path, or the end of one, that stands here stays
                as it was written.
        """
        return cut_paths(text, self._roots, known)

    def scrub(
        self,
        text: str,
        limit: int,
        known: Iterable[str] | KnownPaths = (),
        *,
        secrets: KnownSecrets | None = None,
    ) -> str:
        """
        Return a text without secrets and server paths, in at most *limit* bytes of UTF-8.

        Args:
            text: Any text.
            limit: The most bytes that leave.
            known: What the caller itself wrote, as for `paths`.
            secrets: What `known_secrets` returned, for callers with several texts.
        """
        if secrets is None:
            secrets = self.known_secrets()
        # Tables say the same sentences over and over; how a path is cut depends on the caller.
        if known or self._extra is not None or len(text) > _SHORT:
            return self._scrub(text, limit, known, secrets)
        key = (text, limit, secrets)
        seen = self._seen.get(key)
        if seen is None:
            if len(self._seen) >= _MAX_SEEN:
                self._seen.clear()
            seen = self._seen[key] = self._scrub(text, limit, (), secrets)
        return seen

    def _scrub(
        self, text: str, limit: int, known: Iterable[str] | KnownPaths, secrets: KnownSecrets
    ) -> str:
        if len(text) >= WINDOW:
            text = secrets.window(text)
        text = secrets.redact_odd(text)
        # While the tags still tell what is between them.
        text = redact_elements(clean(keep_first_letters(text)))
        text = cut_paths(_redact_with(secrets, plain(text)), self._roots, known)
        if self._extra is not None and text:
            text = self._run_extra(self._extra, text)
        return cut(text.strip(), limit)

    def show(self, text: str, limit: int) -> str:
        """
        Return a text as it is, less the registered secrets, in at most *limit* bytes of UTF-8.
        """
        if len(text) >= WINDOW:
            text = self._registered.window(text)
        text = self._registered.redact(clean(self._registered.redact_odd(text)))
        return cut(text.strip(), limit)

    def _run_extra(self, extra: Callable[[str], str], text: str) -> str:
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
            log.warning(
                "the redactor's extra function %s; texts are replaced as a whole until it works",
                problem,
            )
        return REMOVED


def _check_secret(secret: object) -> str:
    # None comes from a variable that is not set.
    if not isinstance(secret, str) or len(secret) < SHORTEST or not secret.strip():
        raise ValueError(
            f"a secret must be a str of at least {SHORTEST} characters, or it would be found in "
            "ordinary text; leave out those that are not set"
        )
    return secret
