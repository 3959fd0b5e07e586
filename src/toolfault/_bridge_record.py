"""
The original failure, serialized, that travels with its translation.

Rule 1: in every carrier a record is one text that holds JSON, so that no carrier renormalises it.
Rule 2: a record from a peer is a claim. `read_record` refuses invalid ones; the bridge
decides whether it fits.
Rule 3: what does not fit into `MAX_RECORD` leaves without the original body, then without the
failure's own form.
Rule 4: across a hop that is not trusted a handle travels instead, and the record stays in a store.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from threading import Lock
from typing import Any, Final, Literal, Protocol, TypeGuard, get_args

from toolfault._json import JsonCopier, TooLarge, is_array, is_int, is_mapping


#: Where a record stands in the A2C ``details`` or result ``meta``, and in the metadata of an A2A
#: ErrorInfo, whose keys have no dots or slashes. In an MCP result it stands with our facts, in
#: ``_meta``.
RECORD_KEY: Final = "toolfault_record"

#: The fact under which a fault carries the record of a foreign original.
RECORD_FACT: Final = "record"

#: The size of a record, in bytes of UTF-8. An envelope whose texts all have their largest size
#: fits.
MAX_RECORD: Final = 16384

#: How many values of an original are looked at to make its texts safe, and what stands where one
#: can't be.
_MAX_VALUES: Final = 512
_MAX_DEPTH: Final = 16
_REMOVED: Final = "[redacted]"

#: The version of the format.
_VERSION: Final = 1

#: The numbers that are taken for a code: those of 64 bits.
_NUMBERS: Final = range(-(2**63), 2**63)

#: The size of a code, profile, version or handle that is a text, in characters.
_MAX_NAME: Final = 128

System = Literal["mcp", "a2c", "a2a", "problem", "grpc"]
"""
The systems whose vocabularies are bridged.
"""

_SYSTEMS: Final = frozenset(get_args(System))


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """
    What is kept of a failure for the way back.

    Attributes:
        system:
            The system that it came from.

        code:
            The code as it was received there, before anything unknown was folded.

        profile:
            The profile of that system, where it has several.

        version:
            The version of that system's protocol, where it is known.

        body:
            The original body, if the failure's own form does not say all of it. None: it does, or
            it did not fit.

        fault:
            The failure in our own form, as it stands in an MCP result's ``_meta``: facts, and the
            envelope as ``error``.

        handle:
            What a store knows the whole record by. Empty: this is all there is.
    """

    system: System
    code: str | int
    profile: str = ""
    version: str = ""
    body: Mapping[str, Any] | None = None
    fault: Mapping[str, Any] | None = None
    handle: str = ""

    def to_text(self, limit: int = MAX_RECORD) -> str | None:
        """
        Return the record as it travels: as much of it as fits.

        Args:
            limit: The size in bytes of UTF-8.

        Returns:
            JSON on one line. None: not even the code fits, or no reader would take it.
        """
        for record in (self, replace(self, body=None), replace(self, body=None, fault=None)):
            text = _serialize(record) if _fits([record.body, record.fault], limit) else None
            if text is not None and _size(text) <= limit:
                return text
        return None


def read_record(text: object) -> Record | None:
    """
    Parse a record from a peer's text; None if it is not one or is larger than `MAX_RECORD`.

    Never raises.
    """
    said = _parse(text)
    if not is_mapping(said):
        return None
    members: dict[str, Any] = {name: said.get(name, default) for name, default in _DEFAULTS.items()}
    if not all(is_valid(members[name]) for name, is_valid in _CHECKS.items()):
        return None
    if not _is_code(members["code"], members["system"]) or not _is_version(said.get("v")):
        return None
    return Record(**members)


def _parse(text: object) -> Any:
    if not isinstance(text, str) or not 0 < _size(text[: MAX_RECORD + 1]) <= MAX_RECORD:
        return None
    try:
        said: Any = json.loads(text, parse_constant=_refuse)
        # Escapes may spell what no UTF-8 can hold.
        json.dumps(said, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return said


_DEFAULTS: Final[Mapping[str, Any]] = {
    "system": None,
    "code": None,
    "profile": "",
    "version": "",
    "handle": "",
    "body": None,
    "fault": None,
}


def _is_version(value: object) -> bool:
    return is_int(value) and value == _VERSION


def sanitize_record(text: object, safe: Callable[[str], str], *, body: bool = True) -> str | None:
    """
    Return a record with every text of its original sanitized, or None if it is not one.

    The failure's own form stays behind, since the server writes the one that it has by now.

    Args:
        text: What a fault carries as its record; any value.
        safe: What makes a text safe. It also sees each text with its name, as
            ``{"password":"..."}``.
        body: Whether the original is passed on at all. Without it, and without a handle, a code may
            be lost.
    """
    record = read_record(text)
    if record is None:
        return None
    original: Any = None
    if body and record.body is not None:
        copier = JsonCopier(
            text=lambda text, name: _safe_text(name, safe(text), safe),
            number=lambda number, name: _safe_number(name, number, safe),
            key=lambda key: safe(str(key)),
            other=lambda _value: None,
            depth=_MAX_DEPTH,
            room=_MAX_VALUES * MAX_RECORD,
            cost=MAX_RECORD,
            strict=True,
        )
        try:
            original = copier.copy(record.body)
        except TooLarge:
            original = None
    profile, version = safe(record.profile), safe(record.version)
    return replace(record, profile=profile, version=version, body=original, fault=None).to_text()


def _safe_text(name: str, text: str, safe: Callable[[str], str]) -> str:
    # What is harmless by itself may not be so under its name.
    pair = json.dumps({name: text}, ensure_ascii=False, separators=(",", ":"))
    if (seen := safe(pair)) == pair:
        return text
    try:
        inside: Any = json.loads(seen)[name]
    except (ValueError, TypeError, KeyError, RecursionError):
        return _REMOVED
    return inside if isinstance(inside, str) else _REMOVED


def _safe_number(name: str, number: float, safe: Callable[[str], str]) -> float | str:
    # Of one or two digits it is a count.
    if not name or -100 < number < 100:
        return number
    pair = json.dumps({name: number}, ensure_ascii=False, separators=(",", ":"))
    return number if safe(pair) == pair else _REMOVED


def _fits(value: object, room: int) -> bool:
    """
    Tell whether a value may fit into so many characters of JSON; stops counting when it does not.
    """
    waiting = [value]
    while waiting and room >= 0:
        value = waiting.pop()
        if isinstance(value, str):
            room -= len(value)
        elif is_mapping(value) or is_array(value):
            room -= len(value) + 1
            if room >= 0:
                waiting.extend(chain(value, value.values()) if is_mapping(value) else value)
    return room >= 0


def _serialize(record: Record) -> str | None:
    if not _is_code(record.code, record.system):
        return None
    members = {
        "v": _VERSION,
        "system": record.system,
        "profile": record.profile,
        "version": record.version,
        "code": record.code,
        "handle": record.handle,
        "body": record.body,
        "fault": record.fault,
    }
    said = {name: value for name, value in members.items() if value not in ("", None)}
    try:
        text = json.dumps(said, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError):
        return None
    return text if _size(text) else None


def _size(text: str) -> int:
    # 0: no UTF-8 can hold it.
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return 0


def _is_system(value: object) -> TypeGuard[System]:
    return isinstance(value, str) and value in _SYSTEMS


def _is_code(value: object, system: System) -> bool:
    if system == "mcp":
        return _is_name(value)
    return type(value) is int and value in _NUMBERS


def _is_name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_NAME


def _is_object(value: object) -> bool:
    return value is None or is_mapping(value)


#: What the members of a record are; the code depends on its system.
_CHECKS: Final[Mapping[str, Callable[[object], bool]]] = {
    "system": _is_system,
    "profile": _is_name,
    "version": _is_name,
    "handle": _is_name,
    "body": _is_object,
    "fault": _is_object,
}


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


# ---- where records stay


class RecordStore(Protocol):
    """
    Where a bridge keeps records, while only their handles cross a hop that is not trusted.

    Who was sent a handle can send it again, in an answer to somebody else: a store serves one
    conversation.
    """

    def put(self, text: str, /) -> str:
        """
        Keep the text of a record, and return its handle: at most 128 characters, not to be guessed.
        """
        ...

    def get(self, handle: str, /) -> str | None:
        """
        Return the text that has this handle. None: there is none, or no longer.
        """
        ...


class MemoryStore:
    """
    A store in this process's memory; when it is full, the oldest records go.

    Args:
        limit: How many records are kept, each at most `MAX_RECORD` bytes.

    Raises:
        ValueError: The limit is below 1.
    """

    def __init__(self, limit: int = 1024) -> None:
        """
        Make an empty store.
        """
        if limit < 1:
            raise ValueError(f"limit is how many records are kept, at least 1, not {limit!r}")
        self._limit = limit
        self._records: dict[str, str] = {}
        self._lock = Lock()

    def put(self, text: str, /) -> str:
        """
        Keep the text of a record under a new random handle.
        """
        handle = secrets.token_hex(16)
        with self._lock:
            self._records[handle] = text
            while len(self._records) > self._limit:
                del self._records[next(iter(self._records))]
        return handle

    def get(self, handle: str, /) -> str | None:
        """
        Return the text that has this handle.
        """
        return self._records.get(handle)
