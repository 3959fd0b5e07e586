"""
Tables of TOML files, for the options of commands.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, cast


class TomlError(Exception):
    """
    A file that can't be used; the text names the cure.
    """


def read_table(file: str, *names: str) -> dict[str, Any] | None:
    """
    Return a table of a TOML file; None if the file has no such table.

    Args:
        file: Its name.
        *names: The names of the tables in one another, the outermost first.

    Raises:
        TomlError: The file can't be read, or has a value in the table's place.
    """
    try:
        document = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as exc:
        raise TomlError(f"can't read {file!r}: {exc.strerror}") from None
    except (ValueError, RecursionError) as exc:
        raise TomlError(f"{file!r} is not valid TOML: {exc}") from None
    path = ""
    for name in names:
        if name not in document:
            return None
        inner: Any = document[name]
        path = f"{path}.{name}".removeprefix(".")
        if not isinstance(inner, dict):
            raise TomlError(f"{path} in {file!r} must be a table: write [{path}]")
        document = cast("dict[str, Any]", inner)
    return document
