"""
Strip wrappers, JSON and the caller's own words off an error text before it is classified.

Rule 1: the prefixes of hosts and handlers go first, then the form of JSON, then the caller's words.
Rule 2: the caller's words (names, values, URLs, quoted code) go as whole words and leave a gap.
Rule 3: quantifiers are bounded, and nothing raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Final

from toolfault._json import as_mapping, is_array, is_mapping, is_text, try_json
from toolfault._text import WINDOW, pattern


#: Arguments that are this short are left in the text: they are words like "id" or "all".
_SHORT: Final = 3

#: Strings of the arguments that are cut, values that are visited for them, and depth.
_MAX_STRINGS: Final = 64
_MAX_VALUES: Final = 10_000
_MAX_DEPTH: Final = 4

#: Prefixes that are stripped.
_MAX_WRAPPERS: Final = 32

#: Replaces what was cut.
_GAP: Final = "\N{HORIZONTAL ELLIPSIS}"


# ---- wrappers

#: The name of a tool in a text.
NAME: Final = r"['\"`]?(?P<name>[\w./:-]{1,128})['\"`]?"

_WRAPPERS: Final = (
    r"(?:mcp ?error|jsonrpc error|json-rpc error)[ :]{1,2}(?P<code>-?\d{1,6}): ?",
    r"(?:error|unexpected error|exception|failure|failed) (?:executing|calling|running|"
    r"invoking|in|while executing)"
    r" (?:the )?(?:tool )?" + NAME + r"(?: tool)?: ?",
    r"tool " + NAME + r" (?:execution )?(?:failed|error)(?: with(?: an)? (?:error|exception))?: ?",
    r"failed to (?:execute|call|run|invoke) (?:the )?tool " + NAME + r": ?",
    (
        r"(?:tool execution (?:failed|error)|caught exception[.:]|mcperror:|toolerror:|"
        r"(?:unexpected )?error:)\s{0,20}"
    ),
    r"(?:exception:|(?:an (?:unexpected )?)?error occurred:|\w{1,40}\.calltool:)\s{0,20}",
    r"(?:#{1,4} ?error\b|\*\*[\w ]{0,20}error\*\*):?\s{0,20}",
    r"[\N{CROSS MARK}\N{WARNING SIGN}\N{HEAVY BALLOT X}\N{BALLOT X}]\ufe0f?\s{0,20}",
)


@cache
def _wrapper() -> re.Pattern[str]:
    # A name of a group can stand only once in a pattern.
    alternatives = [
        source.replace("?P<name>", f"?P<name{number}>") for number, source in enumerate(_WRAPPERS)
    ]
    return re.compile(r"\s{0,20}(?:" + "|".join(alternatives) + ")", re.IGNORECASE)


def peel(text: str, tool: str | None = None) -> str:
    """
    Return a text without the prefixes of hosts and handlers; "" only for an empty text.

    A prefix that names a tool goes only if it names this one, or if none is given.
    """
    return unwrap(text, tool)[0]


def unwrap(text: str, tool: str | None) -> tuple[str, int | None]:
    """
    Return a text as `peel` does, and the JSON-RPC code of the innermost prefix.
    """
    code: int | None = None
    start = 0
    for _ in range(_MAX_WRAPPERS):
        match = _wrapper().match(text, start)
        if match is None:
            break
        number, *names = match.groups()
        name = next(filter(None, names), tool)
        rest = text[match.end() : match.end() + WINDOW]
        if not rest.strip() or not is_tool(name, tool):
            break
        code = code if number is None else int(number)
        start = match.end()
    return text[start:], code


def is_tool(name: str | None, tool: str | None) -> bool:
    """
    Tell whether a name is that of the called tool, also without a gateway's prefix.

    Every name is, if the tool is unknown.
    """
    if tool is None or name is None:
        return True
    name, tool = name.strip(".:").lower(), tool.lower()
    prefix = tool.removesuffix(name)
    return not prefix or (len(prefix) < len(tool) and not prefix[-1].isalnum())


# ---- JSON in a text

_STATUS_KEYS: Final = frozenset(
    {"status", "statuscode", "httpstatus", "httpstatuscode", "code", "httpcode", "errorcode"}
)
_CODE_KEYS: Final = frozenset(
    {"code", "type", "errortype", "errorcode", "reason", "name", "status", "kind"}
)
_TEXT_KEYS: Final = frozenset(
    (
        *("message", "msg", "error", "errors", "detail", "details", "title", "cause"),
        *("errordescription", "errormessage", "result", "data"),
    )
)


def json_to_prose(body: str) -> str:
    """
    Return JSON as lines of prose, and other text unchanged.
    """
    value = try_json(body)
    if value is None:
        return body
    if is_array(value):
        return _issues_to_prose([item for item in value if is_mapping(item)]) or body
    return "\n".join(_lines(as_mapping(value), _MAX_DEPTH)) or body


def _issues_to_prose(issues: Sequence[Mapping[str, object]]) -> str | None:
    # A validator's list (zod). One whose paths are all empty did not look at arguments.
    if not all("path" in issue for issue in issues):
        return None
    paths = [issue["path"] for issue in issues]
    if any(paths):
        return "invalid arguments"
    return "unexpected response" if paths else None


def _lines(value: object, depth: int) -> Iterator[str]:
    if is_text(value):
        yield peel(value)
    elif depth and is_array(value):
        for item in value[:_MAX_STRINGS]:
            yield from _lines(item, depth - 1)
    elif depth:
        for key, member in as_mapping(value).items():
            yield from _member_lines(re.sub(r"[\W_]", "", key).lower(), member, depth - 1)


def _member_lines(name: str, member: object, depth: int) -> Iterator[str]:
    if name in _STATUS_KEYS and re.fullmatch(r"[45]\d\d", str(member)):
        yield f"http status {member}"
    elif name in _CODE_KEYS and isinstance(member, str):
        yield _split_name(member)
    elif name in _TEXT_KEYS:
        yield from _lines(member, depth)


def _split_name(name: str) -> str:
    # RateLimitError and RATE_LIMIT as they would be said.
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_-]+", " ", name[:WINDOW])


# ---- what the caller said


def strings_in(arguments: Mapping[str, object] | None) -> list[str]:
    """
    Return the strings among the arguments of a call, each cut to the window.
    """
    texts = filter(is_text, islice(_values(arguments, _MAX_DEPTH), _MAX_VALUES))
    return [text[:WINDOW] for text in islice(texts, _MAX_STRINGS)]


def _values(value: object, depth: int) -> Iterator[object]:
    yield value
    # Most arguments are these, and the classes of abstract types are slow to ask.
    if depth and type(value) is not str and type(value) is not int:
        for member in value if is_array(value) else as_mapping(value).values():
            yield from _values(member, depth - 1)


_NO_EVIDENCE: Final = (
    r"input_value=[^\n]{0,500}?(?=, input_type=|\n|$)",
    r"[a-z][a-z0-9+.-]{1,15}://[^\s'\"<>`]{0,2000}",
    r"```[^`]{0,4000}```",
    r"`[^`\n]{1,400}`",
    # Quoted names; what is said in several words is left, and so is a member of JSON.
    r"(?<!\":)(?<!\": )(?<!\w)(?:'[^\s']{1,200}'|\"[^\s\"]{1,200}\")(?!\w)",
    # And the title of a thing.
    (
        r"(?:(?<=\btitle )|(?<=\btitled )|(?<=\bcalled )|(?<=\bnamed ))(?:'[^'\n]{1,200}'|"
        r"\"[^\"\n]{1,200}\")"
    ),
    r"(?<![\w/.])(?:[a-z]:\\|\.{0,2}/)[^\s'\",;()]{1,1000}",
)

_MARKS: Final = r"[=/\\`'\"]"


@cache
def _no_evidence() -> re.Pattern[str]:
    return re.compile("|".join(_NO_EVIDENCE), re.IGNORECASE)


def cut_caller_words(text: str, tool: str | None, said: Iterable[str]) -> str:
    """
    Return a text without the names and values of the call, and without quotations.
    """
    values = {value.strip() for value in said if len(value) > _SHORT}
    if tool is not None and len(tool) > _SHORT:
        values.add(tool)
    # As they are, and as a repr writes them.
    values |= {repr(value)[1:-1] for value in values}
    for value in sorted(values, key=len, reverse=True):
        if len(value) > _SHORT:
            text = _cut(text, value)
    # One of these characters is in all that would go.
    return _no_evidence().sub(_GAP, text) if pattern(_MARKS).search(text) else text


def _cut(text: str, value: str) -> str:
    # Whole words only: an argument "time" says nothing about "timeout".
    parts: list[str] = []
    start = at = 0
    while (at := text.find(value, at)) >= 0:
        end = at + len(value)
        if _joins(text[at - 1 : at], value[0]) or _joins(text[end : end + 1], value[-1]):
            at += 1
            continue
        parts += text[start:at], _GAP
        start = at = end
    return "".join((*parts, text[start:]))


def _joins(one: str, other: str) -> bool:
    # Of nothing, and of what is neither a letter, a digit nor "_", there is no word.
    return pattern(r"\w\w").fullmatch(one + other) is not None
