"""
The options of ``toolfault check`` in a project's files.

Rule 1: an option of a file is parsed as the same option on the command line, which replaces it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from toolfault._options import nearest
from toolfault.cli._toml import TomlError, read_table


#: The files that are looked for, and the table in each; the first that has it is read.
_PLACES: Final = (
    ("toolfault.toml", ("check",)),
    ("pyproject.toml", ("tool", "toolfault", "check")),
)

#: What a file says and the command line says in another way: the server.
_SERVER: Final = ("command", "url")

#: What only a command line may say.
_NOT_IN_FILES: Final = frozenset({"config", "help", "dry-run", "update-baseline"})


@dataclass(frozen=True, slots=True)
class Config:
    """
    What a file says.

    Attributes:
        file: Its name; "" if there is none.
        words: Its options as words of a command line.
        target: The server's command, or its URL; empty if the file does not say.
    """

    file: str = ""
    words: tuple[str, ...] = ()
    target: tuple[str, ...] = ()


def read_check_config(file: str | None, options: Mapping[str, object], folder: Path) -> Config:
    """
    Return what a project's file says.

    Args:
        file: Its name. None: the one of the folder that has a table for the checker.
        options: The options that there are, with their defaults; a list may be repeated, and False
            takes no value.
        folder: Where to look.

    Raises:
        TomlError: The file can't be read, or has an unknown key or a value of the wrong type.
    """
    found = _find(folder) if file is None else _read(file)
    if found is None:
        return Config()
    name, table = found
    known = [*_SERVER, *(option for option in options if option not in _NOT_IN_FILES)]
    for key in table:
        if key not in known:
            raise TomlError(f"{name}: unknown key {key!r}{_cure(key, known)}")
    words = [word for key, value in table.items() for word in _words(name, key, value, options)]
    return Config(name, tuple(words), _target(name, table))


def _cure(key: str, known: Collection[str]) -> str:
    if key in _NOT_IN_FILES:
        return f"; give --{key} on the command line"
    names = {name.replace("-", "_"): name for name in known}
    near = nearest(key, names)
    return (
        f"; its keys are {', '.join(known)}" if near is None else f"; did you mean {names[near]!r}?"
    )


def _find(folder: Path) -> tuple[str, dict[str, Any]] | None:
    for name, tables in _PLACES:
        path = folder / name
        if path.is_file():
            table = read_table(str(path), *tables)
            if table is not None:
                return name, table
    return None


def _read(file: str) -> tuple[str, dict[str, Any]]:
    tables = dict(_PLACES).get(Path(file).name, ("check",))
    table = read_table(file, *tables)
    if table is None:
        raise TomlError(f"{file!r} has no table [{'.'.join(tables)}]")
    return file, table


def _words(file: str, key: str, value: Any, options: Mapping[str, object]) -> Iterator[str]:
    if key in _SERVER:
        return
    default = options[key]
    if default is False:
        if not isinstance(value, bool):
            raise TomlError(f"{file}: {key} must be true or false, not {value!r}")
        if value:
            yield f"--{key}"
        return
    is_many = isinstance(default, list) and isinstance(value, list)
    entries: list[Any] = cast("list[Any]", value) if is_many else [value]
    for entry in entries:
        if isinstance(entry, bool) or not isinstance(entry, str | int | float):
            raise TomlError(f"{file}: {key} must be a text or a number, not {entry!r}")
        yield f"--{key}={entry}"


def _target(file: str, table: Mapping[str, Any]) -> tuple[str, ...]:
    command, url = table.get("command"), table.get("url")
    if command is not None and url is not None:
        raise TomlError(f"{file}: give command or url, not both")
    if url is not None:
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise TomlError(f"{file}: url must begin with http:// or https://, not {url!r}")
        return (url,)
    words = [] if command is None else cast("list[Any]", command)
    is_list = isinstance(words, list)  # pyright: ignore[reportUnnecessaryIsInstance] -- a user's value
    if not is_list or not all(isinstance(word, str) for word in words):
        raise TomlError(f'{file}: command must be an array, such as ["python", "server.py"]')
    return tuple(words)
