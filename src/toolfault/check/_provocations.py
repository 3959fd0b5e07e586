"""
What a checker may send: messages that no server takes, and arguments that a tool's schema forbids.

Rule 1: no provocation of a tool is sent unless its arguments are proven not to fit the schema.
Rule 2: the work is bounded, whatever the schema, and nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolfault._codes import McpErrorCode
from toolfault._schema.bounded import BoundedValidator
from toolfault.check._model import Expected, Kind, Provocation, ToolSeen
from toolfault.check._wire import as_array, as_object, encode, is_object


#: A made-up credential in a form that scanners know. It opens nothing.
PLANTED: Final = "ghp_" + "Ch3ckTh1sN0tR34lT0k3nPl4nt3dByUs" + "0000"

#: A name that no server has.
UNKNOWN: Final = "toolfault_no_such_tool"

_LONG_NAME: Final = 1024 * 1024
_LONG_TEXT: Final = 64 * 1024

#: How many properties of a tool are tried, and how many references are followed to one schema.
_MAX_PROPERTIES: Final = 6
_MAX_REFERENCES: Final = 8

#: The longest text that is made to be too long for a property.
_MAX_LENGTH: Final = 100_000

_NOT_FOUND: Final = Expected(frozenset({McpErrorCode.TOOL_NOT_FOUND}), is_transient=False)


# ---- never reaches a tool


def iter_always(
    tools: tuple[ToolSeen, ...],
    *,
    is_modern: bool,
    is_http: bool = False,
    has_session: bool = False,
) -> Iterator[Provocation]:
    """
    Yield the provocations that reach no tool.

    Args:
        tools: The tools that the server lists; no name of theirs is used.
        is_modern: Whether the server speaks the era without a handshake.
        is_http: Whether the server is reached over HTTP.
        has_session: Whether it keeps sessions.
    """
    listed = {tool.name for tool in tools}
    for name, (group, called) in _UNKNOWN_NAMES.items():
        expected = _NOT_FOUND
        if PLANTED in called:
            expected = Expected(_NOT_FOUND.codes, secret=PLANTED, is_transient=False)
        if called not in listed:
            yield _call(f"unknown-tool:{name}", group, called, {}, expected)
    near = _near_miss(listed)
    if near is not None:
        yield _call("unknown-tool:near-miss", "names", near, {}, _NOT_FOUND)
    yield from _PROTOCOL
    if is_modern:
        yield from _PROTOCOL_MODERN
    if is_http:
        yield _HEADER_MISMATCH if is_modern else _BAD_VERSION
    if has_session:
        yield _DEAD_SESSION


def _call(
    name: str, group: str, tool: object, arguments: object, expected: Expected
) -> Provocation:
    params = {"name": tool, "arguments": arguments}
    return Provocation(name, group, Kind.UNKNOWN_TOOL, params=params, expected=expected)


#: The names of tools that do not exist, and the group that each is tried in.
_UNKNOWN_NAMES: Final[Mapping[str, tuple[str, str]]] = {
    "plain": ("names", UNKNOWN),
    "again": ("names", UNKNOWN),
    "secret": ("names", f"tool?key={PLANTED}"),
    "control-characters": ("odd names", "no\x00such\x1b[31m\u202etool"),
    "long": ("long name", "x" * _LONG_NAME),
}

_METHOD_NOT_FOUND: Final = Expected(is_transient=False)

_PROTOCOL: Final = (
    Provocation(
        "unknown-method",
        "protocol",
        Kind.PROTOCOL,
        method="toolfault/no_such_method",
        params={},
        expected=_METHOD_NOT_FOUND,
    ),
    Provocation("name-missing", "protocol", Kind.PROTOCOL, params={"arguments": {}}),
    Provocation("name-is-a-number", "protocol", Kind.PROTOCOL, params={"name": 7, "arguments": {}}),
    Provocation(
        "arguments-are-a-text",
        "protocol",
        Kind.PROTOCOL,
        params={"name": UNKNOWN, "arguments": "none"},
    ),
    Provocation("params-missing", "protocol", Kind.PROTOCOL, params=None),
    Provocation("not-json", "broken messages", Kind.PROTOCOL, raw=b'{"jsonrpc": "2.0", "id": 1,'),
    Provocation("not-a-message", "broken messages", Kind.PROTOCOL, raw=b'{"hello": "world"}'),
    # Not every parser takes it; the server must live, and need not answer.
    Provocation(
        "lone-surrogate",
        "broken messages",
        Kind.PROTOCOL,
        raw=encode(
            {
                "jsonrpc": "2.0",
                "id": "toolfault-lone-surrogate",
                "method": "tools/call",
                "params": {"name": "no_such_\ud800_tool", "arguments": {}},
            }
        ),
    ),
    Provocation(
        "cancel-of-nothing",
        "broken messages",
        Kind.PROTOCOL,
        raw=encode(
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": "toolfault-no-such-request"},
            }
        ),
    ),
)

_PROTOCOL_MODERN: Final = (
    Provocation(
        "version-unknown",
        "protocol",
        Kind.PROTOCOL,
        method="tools/list",
        params={
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "1999-12-31",
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        },
    ),
)


_LIST: Final[Mapping[str, Any]] = {}
_BAD_VERSION: Final = Provocation(
    "bad-version-header",
    "headers",
    Kind.PROTOCOL,
    method="tools/list",
    params=_LIST,
    headers={"mcp-protocol-version": "1999-12-31"},
)
_HEADER_MISMATCH: Final = Provocation(
    "header-mismatch",
    "headers",
    Kind.PROTOCOL,
    method="tools/list",
    params=_LIST,
    headers={"mcp-method": "tools/call"},
)
_DEAD_SESSION: Final = Provocation(
    "dead-session",
    "headers",
    Kind.PROTOCOL,
    method="tools/list",
    params=_LIST,
    headers={"mcp-session-id": "toolfault-no-such-session"},
)


def _near_miss(listed: set[str]) -> str | None:
    """
    Return a name that a caller would write by mistake; None if the server lists no tool.
    """
    for name in sorted(listed):
        near = f"{name}s"
        if near not in listed:
            return near
    return None


# ---- arguments that do not fit


@dataclass(frozen=True, slots=True)
class Made:
    """
    The provocations of one tool.

    Attributes:
        provocations: What can be sent.
        reason: Why nothing can be sent; "" if something can.
    """

    provocations: tuple[Provocation, ...]
    reason: str = ""


def make_for_tool(tool: ToolSeen) -> Made:
    """
    Return the provocations of a tool whose arguments its schema forbids.
    """
    schema = tool.listed.get("inputSchema")
    if not is_object(schema):
        return Made((), "The tool lists no input schema.")
    validator = BoundedValidator(schema, is_checked=False, is_lenient=True)
    if validator.flaw is not None:
        return Made((), "The tool's input schema can't be read.")
    made: dict[str, Provocation] = {}
    for name, arguments, argument, secret in _iter_bad_arguments(schema):
        if name in made or validator.fits(arguments) is not False:
            continue
        expected = Expected(
            frozenset({McpErrorCode.INVALID_ARGUMENTS}), argument, secret, is_transient=False
        )
        made[name] = Provocation(
            name,
            f"arguments of {tool.name}",
            Kind.BAD_ARGUMENTS,
            params={"name": tool.name, "arguments": arguments},
            tool=tool.name,
            expected=expected,
        )
    if not made:
        return Made((), "The tool's input schema forbids nothing that could be tried.")
    first = next(iter(made.values()))
    again = Provocation(
        f"{first.id}:again",
        first.group,
        first.kind,
        params=first.params,
        tool=first.tool,
        expected=first.expected,
    )
    return Made((*made.values(), again))


#: A provocation's name, its arguments, the argument at fault, and a planted secret.
_Bad = tuple[str, dict[str, Any], str | None, str | None]


def _iter_bad_arguments(schema: dict[str, Any]) -> Iterator[_Bad]:
    properties = {
        str(name): _follow(schema, part)
        for name, part in list(as_object(schema.get("properties")).items())[:_MAX_PROPERTIES]
    }
    good = {name: _sample(part) for name, part in properties.items()}
    required = [name for name in as_array(schema.get("required")) if name in good]
    for name in required:
        yield f"missing-argument:{name}", _without(good, name), name, None
    for name, part in properties.items():
        for kind, value in _iter_bad_values(part):
            yield f"{kind}:{name}", {**good, name: value}, name, None
    yield "extra-argument", {**good, "toolfault_extra": True}, "toolfault_extra", None
    yield from _iter_with_text(good, properties, required)


def _iter_with_text(
    good: dict[str, Any], properties: Mapping[str, dict[str, Any]], required: list[str]
) -> Iterator[_Bad]:
    """
    Yield arguments with a secret or a long text in them, that are wrong for another reason, too.
    """
    texts = [name for name, part in properties.items() if part.get("type") == "string"]
    for kind, text, secret in (
        ("planted-secret", PLANTED, PLANTED),
        ("long-text", "x" * _LONG_TEXT, None),
    ):
        for name in texts[:1]:
            for other in required:
                if other != name:
                    yield kind, {**_without(good, other), name: text}, other, secret
        for name in [*texts, *properties][:1]:
            yield kind, {**good, name: [text]}, name, secret


def _without(arguments: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in arguments.items() if key != name}


def _iter_bad_values(part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """
    Yield values that a property's schema may forbid, each with the name of its kind.
    """
    wrong: Any = "text" if part.get("type") == "object" else {"toolfault": "wrong type"}
    yield "wrong-type", wrong
    if "enum" in part:
        yield "outside-enum", "toolfault-not-in-enum"
    for keyword, value in _OUTSIDE.items():
        limit = part.get(keyword)
        if isinstance(limit, int | float) and not isinstance(limit, bool):
            outside = value(limit)
            if outside is not None:
                yield f"outside-{keyword}", outside
    if "pattern" in part:
        yield "outside-pattern", "\u2603 toolfault \u2603"
    if "format" in part:
        yield "outside-format", "not a toolfault format"


def _too_long(limit: float) -> str | None:
    return "x" * (int(limit) + 1) if 0 <= limit < _MAX_LENGTH else None


def _too_short(limit: float) -> str | None:
    return "" if limit >= 1 else None


#: A keyword that limits a value, and what makes a value outside it.
_OUTSIDE: Final[Mapping[str, Callable[[float], Any]]] = {
    "minimum": lambda limit: limit - 1,
    "exclusiveMinimum": lambda limit: limit,
    "maximum": lambda limit: limit + 1,
    "exclusiveMaximum": lambda limit: limit,
    "maxLength": _too_long,
    "minLength": _too_short,
}

#: A value for each type, so that the other arguments look as they should.
_SAMPLES: Final[Mapping[str, Any]] = {
    "string": "toolfault",
    "integer": 1,
    "number": 1,
    "boolean": False,
    "array": [],
    "object": {},
    "null": None,
}


def _sample(part: Mapping[str, Any]) -> Any:
    """
    Return a value that looks like a property's; the proof does not need it to fit.
    """
    values = as_array(part.get("enum"))
    if values:
        return values[0]
    if "const" in part:
        return part["const"]
    kinds = as_array(part.get("type")) or [part.get("type")]
    minimum = part.get("minimum")
    if kinds[0] in ("integer", "number") and isinstance(minimum, int | float):
        return minimum
    return _SAMPLES.get(str(kinds[0]), "toolfault")


def _follow(root: Mapping[str, Any], part: object) -> dict[str, Any]:
    """
    Return a property's schema behind references inside the same document; {} if there is none.
    """
    for _ in range(_MAX_REFERENCES):
        reference = as_object(part).get("$ref")
        if not isinstance(reference, str):
            return as_object(part)
        part = _find(root, reference)
    return {}


def _find(root: Mapping[str, Any], reference: str) -> object:
    if not reference.startswith("#/"):
        return None
    found: object = root
    for step in reference[2:].split("/"):
        found = as_object(found).get(step.replace("~1", "/").replace("~0", "~"))
    return found
