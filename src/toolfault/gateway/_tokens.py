"""
Where the gateway keeps what a login gave it: one file for each server, readable by its user only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Final

from toolfault.gateway._calls import as_object


_DIRECTORY: Final = "toolfault/oauth"


class TokenFile:
    """
    The file of one server; see `read` for what it holds.

    Args:
        url: The server's URL.
        directory: Where the file is. None: ``$XDG_STATE_HOME``, or ``~/.local/state``.
    """

    def __init__(self, url: str, directory: Path | None = None) -> None:
        """
        Name the file; nothing is read or written.
        """
        self._url = url
        name = hashlib.sha256(url.encode()).hexdigest()[:32]
        self.path: Final = (directory or _state_directory()) / f"{name}.json"

    def read(self) -> dict[str, Any]:
        """
        Return what is kept; empty if there is nothing, or it can't be read.
        """
        try:
            kept = as_object(json.loads(self.path.read_bytes()))
        except (OSError, ValueError, RecursionError):
            return {}
        return kept if kept.get("url") == self._url else {}

    def update(self, **members: Any) -> None:
        """
        Change some members, in one step.

        Raises:
            OSError: The file can't be written.
        """
        kept = {**self.read(), **members, "url": self._url}
        directory = self.path.parent
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory.chmod(0o700)
        # Readable by its user only from the beginning.
        number, name = tempfile.mkstemp(dir=directory)
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                json.dump(kept, file)
            Path(name).replace(self.path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                Path(name).unlink()


def _state_directory() -> Path:
    given = os.environ.get("XDG_STATE_HOME", "")
    base = Path(given) if given.startswith("/") else Path.home() / ".local" / "state"
    return base / _DIRECTORY
