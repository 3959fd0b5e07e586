"""
The calls that a server's author expects to fail, in a TOML file.

Rule 1: an unknown key is an error that suggests the nearest one.
Rule 2: an error names the file, the entry and the cure.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, time
from pathlib import Path
from typing import Any, Final, TypeGuard

from toolfault._codes import McpErrorCode
from toolfault._json import is_array, is_mapping
from toolfault._options import did_you_mean
from toolfault.check._model import Expected, Kind, Provocation
from toolfault.check._upstream import BEHAVIOURS


#: The codes that a server may send.
_CODES: Final = tuple(code.value for code in McpErrorCode if code is not McpErrorCode.UNKNOWN)

#: How deep arguments may be nested.
_MAX_DEPTH: Final = 64


class CallsError(ValueError):
    """
    A file of calls that can't be used; the text names the place and the cure.
    """


def load_calls(path: str | Path) -> tuple[Provocation, ...]:
    """
    Return the provocations in a file.

    Args:
        path: The file.

    Raises:
        CallsError: The file can't be read, or an entry is wrong.
    """
    try:
        text = Path(path).read_text("utf-8-sig")
    except OSError as exc:
        raise CallsError(f"{path} can't be read: {exc.strerror or exc}") from None
    except UnicodeDecodeError:
        raise CallsError(f"{path} is not UTF-8; save it as UTF-8") from None
    return parse_calls(text, str(path))


def parse_calls(text: str, name: str) -> tuple[Provocation, ...]:
    """
    Return the provocations in a TOML text.

    Args:
        text: The TOML.
        name: What errors call it.

    Raises:
        CallsError: It is not TOML, or an entry is wrong.
    """
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise CallsError(f"{name} is not valid TOML: {exc}") from None
    _refuse_unknown(document, ("call",), name)
    entries = document.get("call")
    if not is_array(entries) or not entries:
        raise CallsError(
            f"{name} has no [[call]]; write [[call]] above the tool and arguments of each"
        )
    return tuple(
        _read_call(entry, f"{name}, call {number}") for number, entry in enumerate(entries, 1)
    )


def _refuse_unknown(table: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    for key in table:
        if key not in known:
            near = did_you_mean(key, known)
            raise CallsError(f"{place}: unknown key {key!r}{near or _list(known)}")


def _list(known: tuple[str, ...]) -> str:
    return f"; known: {', '.join(known)}"


def _read_call(entry: object, place: str) -> Provocation:
    if not _is_table(entry):
        raise CallsError(f"{place} is not a table; write it under [[call]]")
    _refuse_unknown(entry, tuple(_KEYS), place)
    for key in ("tool", "arguments"):
        if key not in entry:
            raise CallsError(f"{place}: {key} is missing; {_CURES[key]}")
    for key, is_valid in _KEYS.items():
        if key in entry and not is_valid(entry[key]):
            raise CallsError(_describe_value(key, entry[key], place))
    tool, upstream = entry["tool"], entry.get("upstream", "")
    flaw = _flaw_of(entry["arguments"], "arguments")
    if flaw:
        raise CallsError(f"{place}: {flaw}")
    return Provocation(
        f"call:{place.rpartition(' ')[2]}",
        f"upstream {upstream}" if upstream else f"calls of {tool}",
        Kind.AUTHOR,
        params={"name": tool, "arguments": entry["arguments"]},
        tool=tool,
        upstream=upstream,
        expected=_expect(entry, upstream),
    )


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _expect(entry: Mapping[str, Any], upstream: str) -> Expected:
    """
    Return what the author says; what he does not say is known of a broken upstream.
    """
    expected = BEHAVIOURS[upstream].expected if upstream else Expected()
    if "code" in entry:
        expected = replace(expected, codes=frozenset({entry["code"]}))
    if "retryable" in entry:
        wait = expected.wait if entry["retryable"] else None
        expected = replace(expected, is_transient=entry["retryable"], wait=wait)
    return expected


# ---- values


#: The keys of an entry, and what tells whether a value is valid.
_KEYS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "tool": lambda value: isinstance(value, str) and bool(value.strip()),
    "arguments": _is_table,
    "code": lambda value: value in _CODES,
    "retryable": lambda value: isinstance(value, bool),
    "upstream": lambda value: isinstance(value, str) and value in BEHAVIOURS,
}

#: What to write for each key.
_CURES: Final[Mapping[str, str]] = {
    "tool": "write the tool's name as a string",
    "arguments": "write a table, { } if the tool takes none",
    "code": f"write one of {', '.join(_CODES)}",
    "retryable": "write true or false",
    "upstream": f"write one of {', '.join(BEHAVIOURS)} as a string",
}

#: The keys whose values are words of a list.
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {"code": _CODES, "upstream": tuple(BEHAVIOURS)}


def _describe_value(key: str, value: object, place: str) -> str:
    shown = repr(value)[:60]
    near = did_you_mean(value, _WORDS.get(key, ()))
    return f"{place}: {key} can't be {shown}{near or f'; {_CURES[key]}'}"


def _flaw_of(value: object, path: str, depth: int = 0) -> str:
    """
    Return what JSON can't hold in a value, with its place and the cure; "" if there is nothing.
    """
    if depth > _MAX_DEPTH:
        return f"{path[:40]}… is nested more than {_MAX_DEPTH} deep; write a flatter value"
    if isinstance(value, date | time):
        return f"{path} is a date or time, which JSON does not have; write it as a string"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{path} is {value}, which JSON does not have; write a number or a string"
    if is_mapping(value):
        children = [(f"{path}.{key}", item) for key, item in value.items()]
    elif is_array(value):
        children = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    else:
        return ""
    flaws = (_flaw_of(item, place, depth + 1) for place, item in children)
    return next(filter(None, flaws), "")
