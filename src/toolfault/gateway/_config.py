"""
Config files of hosts: put the gateway in front of the servers in them, and take it away again.

The text is edited where it must change; comments, order and layout stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final

from toolfault.gateway._jsonc import Node, parse_jsonc


#: The members that hold servers: of Claude, Cursor and Windsurf, and of VS Code.
_SERVERS: Final = ("mcpServers", "servers")

#: How deep the servers may stand: projects in the file of Claude Code have their own.
_MAX_DEPTH: Final = 4


@dataclass(frozen=True, slots=True)
class Server:
    """
    One server of a config file.

    Attributes:
        name: The name.
        entry: The object that describes it.
        command: The value of ``command``.
        words: The command and its arguments.
    """

    name: str
    entry: Node
    command: Node
    words: list[str]

    @property
    def original(self) -> list[str] | None:
        """
        The words behind the gateway's; None if the server is not wrapped.
        """
        for place, (before, word) in enumerate(zip(self.words, self.words[1:], strict=False)):
            is_ours = PurePath(before).stem == "toolfault" and word == "gateway"
            if is_ours and "--" in self.words[place:]:
                return self.words[self.words.index("--", place) + 1 :]
        return None


@dataclass(slots=True)
class Edited:
    """
    A config file after an edit.

    Attributes:
        text: The whole text.
        changed: The names of the servers that were changed.
        unchanged: The names of the servers that were as wanted already.
        skipped: The names of the servers that have no command.
    """

    text: str
    changed: list[str] = field(default_factory=list[str])
    unchanged: list[str] = field(default_factory=list[str])
    skipped: list[str] = field(default_factory=list[str])


def wrap(text: str, gateway: Sequence[str], name: str | None = None) -> Edited:
    """
    Return a config file whose servers are started by the gateway.

    Args:
        text: The text of the file.
        gateway: The words that start the gateway, ``--`` included.
        name: The server to change. None: all of them.

    Raises:
        ValueError: The file is no JSON, or has no such server.
    """
    return _edit(text, name, gateway)


def unwrap(text: str, name: str | None = None) -> Edited:
    """
    Return a config file whose servers are started without the gateway.

    Args:
        text: The text of the file.
        name: As for `wrap`.

    Raises:
        ValueError: As for `wrap`.
    """
    return _edit(text, name, None)


def _edit(text: str, name: str | None, gateway: Sequence[str] | None) -> Edited:
    edited = Edited(text)
    found = list(_find_entries(parse_jsonc(text), 0))
    chosen = [(one, entry) for one, entry in found if name in {None, one}]
    if not chosen:
        raise ValueError(_missing(name, [one for one, _ in found]))
    # From the end, so that the places in front stay valid.
    for one, entry in sorted(chosen, key=lambda pair: pair[1].start, reverse=True):
        server = _read_server(one, entry)
        if server is None:
            edited.skipped.insert(0, one)
            continue
        changed = (
            _unwrap(edited.text, server) if gateway is None else _wrap(edited.text, server, gateway)
        )
        names = edited.unchanged if changed == edited.text else edited.changed
        names.insert(0, one)
        edited.text = changed
    return edited


def _missing(name: str | None, known: list[str]) -> str:
    if name is None:
        return "it has no servers: neither mcpServers nor servers holds any"
    return f"it has no server {name!r}; it has {', '.join(sorted(set(known))) or 'none'}"


def _find_entries(node: Node, depth: int) -> Iterator[tuple[str, Node]]:
    """
    Yield the servers with their names, wherever they stand.
    """
    for name, member in (node.members or {}).items():
        entries = (member.members or {}) if name in _SERVERS else {}
        servers = {key: entry for key, entry in entries.items() if _is_server(entry)}
        yield from servers.items()
        if not servers and depth < _MAX_DEPTH:
            yield from _find_entries(member, depth + 1)


def _is_server(entry: Node) -> bool:
    return any(
        entry.member(name) is not None for name in ("command", "url", "serverUrl", "httpUrl")
    )


def _read_server(name: str, entry: Node) -> Server | None:
    command, args = entry.member("command"), entry.member("args")
    if command is None or command.text is None:
        return None
    items = [] if args is None else args.items
    if items is None or any(item.text is None for item in items):
        return None
    return Server(name, entry, command, [command.text, *(item.text or "" for item in items)])


def _wrap(text: str, server: Server, gateway: Sequence[str]) -> str:
    if server.original is not None:
        return text
    first, *rest = gateway
    added = [json.dumps(word) for word in (*rest, server.words[0])]
    args, command = server.entry.member("args"), server.command
    changes = [(command.start, command.end, json.dumps(first))]
    if args is None:
        place = command.end
        changes.append((place, place, f', "args": [{", ".join(added)}]'))
    else:
        gap = _gap(text, args)
        is_empty = not args.items
        inserted = (
            gap + f",{gap or ' '}".join(added) + ("" if is_empty else f",{'' if gap else ' '}")
        )
        changes.append((args.start + 1, args.start + 1, inserted))
    return _replace(text, changes)


def _gap(text: str, args: Node) -> str:
    """
    Return the line break and the indentation in front of the first argument; "" if there is none.
    """
    first = args.items[0].start if args.items else args.start
    found = re.compile(r"\s*").match(text, args.start + 1)
    space = "" if found is None else found[0]
    return space if "\n" in space and args.start + 1 + len(space) == first else ""


def _unwrap(text: str, server: Server) -> str:
    original = server.original
    args = server.entry.member("args")
    if not original or args is None or not args.items:
        return text
    command = server.command
    kept = args.items[len(args.items) - len(original) + 1 :]
    cut = (args.items[0].start, kept[0].start, "") if kept else (args.start, args.end, "[]")
    return _replace(text, [(command.start, command.end, json.dumps(original[0])), cut])


def _replace(text: str, changes: list[tuple[int, int, str]]) -> str:
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text
