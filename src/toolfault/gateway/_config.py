"""
Config files of hosts: put the gateway in front of the servers in them, and take it away again.

Rule 1: the text is edited where it must change; comments, order and layout stay.
Rule 2: unwrapping restores the bytes; what the wrapped text does not show is in ``--wrapped``.
Rule 3: an entry that is not understood is left alone, with the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePath
from typing import Final, NamedTuple

from toolfault.gateway._jsonc import Node, parse_jsonc


#: The members that hold servers: of Claude, Cursor and Windsurf; of VS Code; of Zed.
_SERVERS: Final = ("mcpServers", "servers", "context_servers")

#: How deep the servers may stand: projects in the file of Claude Code have their own.
_MAX_DEPTH: Final = 4

#: Where a URL stands: for most hosts, for Windsurf and for Gemini CLI.
_URLS: Final = ("url", "serverUrl", "httpUrl")

_SCHEMES: Final = ("http://", "https://")

#: The words for streamable HTTP, in the spellings of several hosts.
_HTTP_TYPES: Final = frozenset({"http", "streamable-http", "streamableHttp", "streamable_http"})

_SSE: Final = (
    "it speaks SSE, the transport that MCP has dropped; give the URL of its streamable HTTP, "
    "which often ends in /mcp"
)

#: Members that the gateway could not honour.
_LOST: Final = {
    "headersHelper": "its headers come from a program; write them as headers",
    "oauth": "its oauth settings are for the host; remove them, and the gateway asks for a login",
    "auth": "its auth settings are for the host; remove them, and the gateway asks for a login",
    "requestInit": "its requestInit is for the host; write its headers as headers",
    **dict.fromkeys(
        ("env", "args"), "it has a URL, and env or args for a program; remove one of them"
    ),
}

#: The option that keeps what unwrapping must know; the gateway itself ignores it.
WRAPPED: Final = "--wrapped"

#: The value of `WRAPPED` for an entry without ``args``.
_NO_ARGS: Final = "no-args"

_VARIABLE: Final = "TOOLFAULT_HEADER_"

#: The program, and the package with a version or extras behind ``uvx``.
_is_toolfault: Final = re.compile(r"toolfault(?:\.exe|[@=\[<>~!].*)?").fullmatch

_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")


class UnknownFormError(Exception):
    """
    An entry that can't be wrapped; the text is the reason, as the rest of a sentence.
    """


class _Change(NamedTuple):
    """
    A piece of a text, and what replaces it.
    """

    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True)
class _Server:
    """
    One server that a host starts.

    Attributes:
        command: The value of ``command``.
        args: The value of ``args``. None: there is none.
        entry: The whole entry.
        words: The command and its arguments.
    """

    command: Node
    args: Node | None
    entry: Node
    words: list[str]

    @property
    def gateway(self) -> int | None:
        """
        The place of the word ``gateway`` among the words; None if the server is not wrapped.
        """
        for place, (before, word) in enumerate(pairwise(self.words)):
            if word == "gateway" and _is_toolfault(PurePath(before).name):
                return place + 1
        return None

    def option(self, name: str) -> str | None:
        """
        Return the value of an option of the gateway; None if it is not given.
        """
        given = self.words[(self.gateway or 0) : self.end]
        return given[given.index(name) + 1] if name in given[:-1] else None

    @property
    def end(self) -> int:
        """
        The place of the first word that is not the gateway's: behind ``--``, or a URL.
        """
        place = (self.gateway or 0) + 1
        rest = self.words[place:]
        return place + rest.index("--") + 1 if "--" in rest else len(self.words) - 1


@dataclass(slots=True)
class Edited:
    """
    A config file after an edit.

    Attributes:
        text: The whole text.
        changed: The names of the servers that were changed.
        unchanged: The names of the servers that were as wanted already.
        skipped: The names of the servers that can't be wrapped, with the reasons.
    """

    text: str
    changed: list[str] = field(default_factory=list[str])
    unchanged: list[str] = field(default_factory=list[str])
    skipped: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def wrap(text: str, gateway: Sequence[str], name: str | None = None) -> Edited:
    """
    Return a config file whose servers are reached through the gateway.

    Args:
        text: The text of the file.
        gateway: The words that start the gateway, with its options.
        name: The server to change. None: all of them.

    Raises:
        ValueError: The file is not JSON, or has no such server.
    """
    return _edit(text, name, gateway)


def unwrap(text: str, name: str | None = None) -> Edited:
    """
    Return a config file whose servers are reached without the gateway.

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
    changes: list[_Change] = []
    for one, entry in chosen:
        try:
            made = _unwrap(text, entry) if gateway is None else _wrap(text, entry, gateway)
        except UnknownFormError as exc:
            edited.skipped.append((one, str(exc)))
            continue
        names = edited.changed if made else edited.unchanged
        names.append(one)
        changes += made
    edited.text = _replace(text, changes)
    return edited


def _missing(name: str | None, known: list[str]) -> str:
    if name is None:
        return f"it has no servers: none of {', '.join(_SERVERS)} holds any"
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
    return any(entry.member(name) is not None for name in ("command", *_URLS))


def _read_server(entry: Node) -> _Server | None:
    """
    Return the server that an entry starts; None if it has no command.

    Raises:
        UnknownFormError: The command is of an unknown form.
    """
    holder, name = entry, "command"
    command = entry.member("command")
    if command is None:
        return None
    if command.members is not None:
        # Zed's older form.
        holder, name = command, "path"
        command = holder.member("path")
    if command is None or command.text is None:
        raise UnknownFormError(f"its {name} is not a text")
    args = holder.member("args")
    items = [] if args is None else args.items
    if items is None or any(item.text is None for item in items):
        raise UnknownFormError("its args are no array of texts")
    return _Server(command, args, entry, [command.text, *(item.text or "" for item in items)])


# ---- wrapping


def _wrap(text: str, entry: Node, gateway: Sequence[str]) -> list[_Change]:
    server = _read_server(entry)
    if server is None:
        return _wrap_url(text, entry, gateway)
    if server.gateway is not None:
        return []
    first, *rest = gateway
    command, args = server.command, server.args
    if args is None:
        rest += [WRAPPED, _NO_ARGS]
    added = [*map(json.dumps, (*rest, "--")), text[command.start : command.end]]
    change = _Change(command.start, command.end, json.dumps(first))
    if args is None:
        new = f', "args": [{", ".join(added)}]'
        return [change, _Change(command.end, command.end, new)]
    return [change, _Change(args.start + 1, args.start + 1, _insertion(text, args, added))]


def _insertion(text: str, args: Node, added: list[str]) -> str:
    """
    Return the words in front of the first argument, in the layout of the arguments.
    """
    if not args.items:
        return ", ".join(added)
    gap = _gap(text, args)
    if not gap:
        return ", ".join(added) + ", "
    return "".join(f"{gap}{word}," for word in added)


def _gap(text: str, args: Node) -> str:
    """
    Return the line break and the indentation in front of the first argument; "" if there is none.
    """
    found = re.compile(r"\r?\n\s*").match(text, args.start + 1)
    first = args.items[0].start if args.items else args.end
    return found[0] if found is not None and found.end() == first else ""


def _wrap_url(text: str, entry: Node, gateway: Sequence[str]) -> list[_Change]:
    kept, (name, url) = _read_url(entry)
    changes: list[_Change] = []
    options = [WRAPPED, ",".join((name, *kept))]
    kind = entry.member("type")
    if kind is not None:
        changes.append(_Change(kind.start, kind.end, '"stdio"'))
    headers = entry.member("headers")
    if headers is not None:
        renamed = _rename_headers(text, headers)
        changes.append(_Change(*headers.key, '"env"'))
        for header, variable in renamed.items():
            options += ["--header", f"{header}={variable}"]
            key = (headers.members or {})[header].key
            changes.append(_Change(*key, json.dumps(variable)))
    first, *rest = gateway
    added = [*map(json.dumps, (*rest, *options)), text[url.start : url.end]]
    colon = text[url.key[1] : url.start]
    new = f'"command"{colon}{json.dumps(first)}, "args": [{", ".join(added)}]'
    return [*changes, _Change(url.key[0], url.end, new)]


def _read_url(entry: Node) -> tuple[list[str], tuple[str, Node]]:
    """
    Return the word for its transport, if an entry says it, and its URL with the member's name.

    Raises:
        UnknownFormError: The entry can't be reached by the gateway.
    """
    given = [(name, node) for name in _URLS if (node := entry.member(name)) is not None]
    if len(given) > 1:
        raise UnknownFormError(f"it has both {given[0][0]} and {given[1][0]}; remove one")
    name, url = given[0]
    said = _read_type(entry, url)
    if url.text is None or not url.text.startswith(_SCHEMES):
        raise UnknownFormError(
            f"its {name} does not begin with http:// or https://; write it whole"
        )
    for member, reason in _LOST.items():
        if entry.member(member) is not None:
            raise UnknownFormError(reason)
    return [said] if said else [], (name, url)


def _read_type(entry: Node, url: Node) -> str | None:
    """
    Return the word for the transport; None if the entry says none.

    Raises:
        UnknownFormError: It is one that the gateway does not speak.
    """
    kind = entry.member("type")
    if kind is None:
        if (url.text or "").rstrip("/").endswith("/sse"):
            raise UnknownFormError(_SSE)
        return None
    if kind.text == "sse":
        raise UnknownFormError(_SSE)
    if kind.text not in _HTTP_TYPES:
        raise UnknownFormError("its type is not http; the gateway knows stdio and http")
    return kind.text


def _rename_headers(text: str, headers: Node) -> dict[str, str]:
    """
    Return the variable that will hold each header.

    Raises:
        UnknownFormError: The headers are of an unknown form.
    """
    renamed: dict[str, str] = {}
    if headers.members is None:
        raise UnknownFormError("its headers are no object")
    for name, value in headers.members.items():
        is_plain = text[slice(*value.key)] == json.dumps(name)
        if value.text is None or _HEADER.fullmatch(name) is None or not is_plain:
            raise UnknownFormError(f"its header {name!r} is not a valid name with a text")
        variable = _VARIABLE + re.sub(r"[^A-Z0-9]", "_", name.upper())
        while variable in renamed.values():
            variable += "_"
        renamed[name] = variable
    return renamed


# ---- unwrapping


def _unwrap(text: str, entry: Node) -> list[_Change]:
    try:
        server = _read_server(entry)
    except UnknownFormError:
        return []
    if server is None or server.gateway is None or server.args is None:
        return []
    if "--" not in server.words[server.gateway :]:
        return _unwrap_url(text, server)
    items = server.args.items or []
    original = server.end
    if original >= len(server.words):
        return []
    node = items[original - 1]
    restored = _Change(server.command.start, server.command.end, text[node.start : node.end])
    if server.option(WRAPPED) == _NO_ARGS and original == len(server.words) - 1:
        return [restored, _Change(server.command.end, server.args.end, "")]
    return [restored, _Change(server.args.start + 1, _behind(text, node), "")]


def _behind(text: str, node: Node) -> int:
    """
    Return where the text goes on behind an item, its comma, and one space.
    """
    found = re.compile(r"(?:\s*, ?)?").match(text, node.end)
    return node.end if found is None else found.end()


def _unwrap_url(text: str, server: _Server) -> list[_Change]:
    args, entry = server.args, server.entry
    command = server.command
    if args is None or not args.items or not server.words[-1].startswith(_SCHEMES):
        return []
    if text[command.end : args.key[0]].strip() != ",":
        raise UnknownFormError("its args do not follow its command; restore its url by hand")
    name, _, kind = (server.option(WRAPPED) or "url").partition(",")
    url = text[args.items[-1].start : args.items[-1].end]
    colon = text[command.key[1] : command.start]
    changes = [_Change(command.key[0], args.end, f"{json.dumps(name)}{colon}{url}")]
    said = entry.member("type")
    if said is not None and kind:
        changes.append(_Change(said.start, said.end, json.dumps(kind)))
    env = entry.member("env")
    variables = _variables(server.words)
    if env is not None and env.members is not None and set(env.members) <= set(variables):
        changes.append(_Change(*env.key, '"headers"'))
        for variable, value in env.members.items():
            changes.append(_Change(*value.key, json.dumps(variables[variable])))
    return changes


def _variables(words: list[str]) -> dict[str, str]:
    """
    Return the headers that words of the gateway set, by variable.
    """
    given = [word for before, word in pairwise(words) if before == "--header"]
    pairs = [word.partition("=") for word in given]
    return {variable: name for name, _, variable in pairs if variable.startswith(_VARIABLE)}


def _replace(text: str, changes: list[_Change]) -> str:
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text
