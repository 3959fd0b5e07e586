"""
Making text safe to show and to serialize.

Rule 1: nothing here raises, whatever an object does when it is asked for its text.
Rule 2: at most `WINDOW` characters of any text are looked at; size is limited before any pattern
runs.
Rule 3: a pattern's quantifiers are bounded, or the last thing in it, so that time grows with the
text and no faster.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any, Final, cast

from toolfault._json import JsonCopier


#: The longest part of any text that is looked at, in characters.
WINDOW: Final = 8192

#: The longest message, hint and cause that leave, in bytes of UTF-8.
MESSAGE_BYTES: Final = 2048
HINT_BYTES: Final = 600
CAUSE_BYTES: Final = 400

#: How deep a container is written out, and how many of an exception's arguments are.
_DEPTH: Final = 8
_ARGUMENTS: Final = 16

#: How much of an object is written out that stands inside a container, in characters.
_OTHER: Final = 512

# Past anything that a class puts over them.
_ARGS: Final[Any] = BaseException.__dict__["args"]
_NAME: Final[Any] = type.__dict__["__name__"]


@cache
def pattern(source: str) -> re.Pattern[str]:
    """
    Return a pattern that is compiled when it is first used; most are never needed.
    """
    return re.compile(source)


#: How many tracebacks may be quoted in one another.
_NESTED: Final = 4


# ---- from objects to text


def safe_str(value: object) -> str:
    """
    Return the text of anything.

    A str comes back whole. Everything else is limited to `WINDOW` characters: dicts, lists and
    tuples become JSON, bytes are decoded, an object that can't say what it is becomes its class's
    name in angle brackets.

    Raises:
        KeyboardInterrupt: A signal arrived meanwhile. Nothing else.
    """
    # Three quarters of all calls; isinstance comes later, since it may ask the object.
    if type(value) is str:
        return value
    text = _text_or_none(value)
    return f"<{_NAME.__get__(type(value))}>" if text is None else text


def safe_repr(value: object) -> str:
    """
    Return how a value shows itself, windowed; never raises.
    """
    return _call_safely(repr, value)[:WINDOW]


def _call_safely(write: Callable[[Any], str], value: object) -> str:
    """
    Return the text that a function of a value's class writes of it, or "" if that raises.
    """
    try:
        return str.__str__(write(value))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 -- whatever a class does there
        return ""


def text_of(exc: BaseException) -> str:
    """
    Return the best text of an exception, at most `WINDOW` characters; "" if it has none.

    A KeyError shows its key without the quotes that ``str`` adds, and an exception whose only
    argument is a dict, a list or bytes shows that readably, unless the class has a ``__str__`` of
    its own.
    """
    args: tuple[object, ...] = _ARGS.__get__(exc) or ()
    text = _argument(exc, args)
    if text is None:
        text = _text_or_none(exc)
    if text is None:
        texts = map(_text_or_none, args[:_ARGUMENTS])
        text = ", ".join(text[:WINDOW] for text in texts if text)
    return "" if text.isspace() else text[:WINDOW]


def text_with_ends(exc: BaseException) -> str:
    """
    Return the best text of an exception, of a long one its two ends.
    """
    text = text_of(exc)
    if len(text) <= _SEEN:
        return text
    return ends_of(_call_safely(str, exc)) or text


def _argument(exc: BaseException, args: tuple[object, ...]) -> str | None:
    # The text of the only argument, where that says it better than str(exc).
    if len(args) != 1:
        return None
    try:
        shown_by = type(exc).__str__
    except BaseException:  # noqa: BLE001 -- a metaclass may raise anything
        return None
    if shown_by is KeyError.__str__:
        return _text_or_none(args[0])
    return _own_text(args[0]) if shown_by is BaseException.__str__ else None


def _own_text(arg: object) -> str | None:
    if type(arg) is str:
        return arg[:WINDOW]
    if arg is None:
        return ""
    is_container = issubclass(type(arg), (dict, list, tuple, bytes, bytearray))
    return _text_or_none(arg) if is_container else None


def _text_or_none(value: object) -> str | None:
    try:
        return _write(value)
    except KeyboardInterrupt:
        # They may come from a signal handler, and then have nothing to do with this object.
        raise
    except BaseException:  # noqa: BLE001 -- __str__ may raise anything; panics of Rust extensions are no Exceptions
        return None


def _write(value: object) -> str:
    kind = type(value)
    if issubclass(kind, str):
        return str.__str__(cast("str", value))
    if issubclass(kind, (bytes, bytearray)):
        return bytes(cast("bytes", value)[:WINDOW]).decode("utf-8", "replace")
    if kind is tuple or issubclass(kind, (dict, list)):
        copier = JsonCopier(text=_identity, key=safe_str, other=_short, depth=_DEPTH, room=WINDOW)
        return json.dumps(copier.copy(value), ensure_ascii=False, separators=(",", ":"))[:WINDOW]
    return str.__str__(str(value))[:WINDOW]


def _identity(text: str, _name: str) -> str:
    return text


def _short(value: object) -> str:
    # What lies too deep is left out; what is not JSON has a text.
    return "…" if issubclass(type(value), (dict, list, tuple)) else safe_str(value)[:_OTHER]


# ---- characters


def encodable(text: str) -> str:
    """
    Return a text that UTF-8 can encode: surrogate pairs joined, lone surrogates as U+FFFD.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean(text: str) -> str:
    r"""
    Return a text, in NFC, without the characters that hide, reorder or command.

    Printable ones, ``\n`` and ``\t`` stay. Escape sequences of terminals go as a whole. Emoji and
    scripts that join with U+200D lose the joining.
    """
    if text.isascii():
        if text.isprintable() or not pattern(_CONTROL).search(text):
            return text
    else:
        text = _invisible().sub("", encodable(text))
    text = pattern(_LINE_END).sub("\n", pattern(_CONTROL_SEQUENCE).sub("", text))
    return text if text.isascii() else unicodedata.normalize("NFC", text)


_CONTROL: Final = r"[\x00-\x08\x0b-\x1f\x7f]"
_LINE_END: Final = "\r\n?|[\x85\u2028\u2029]"

# No body holds an introducer, so no character is looked at twice. A sequence without an end loses
# its introducer.
_CONTROL_SEQUENCE: Final = r"""(?x)
          (?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])  # OSC DCS SOS PM APC
          [^\x07\x1b\x80-\x9f]{0,8192} (?:\x07|\x1b\\|\x9c)
        | (?:\x1b\[|\x9b) [0-?]{0,64} [\ -/]{0,16} [@-~]  # CSI
        | \x1b [\ -/]{0,16} [0-~]  # all others
        | [\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]
        """


@cache
def _invisible() -> re.Pattern[str]:
    planes = "".join(
        f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(0xF)
    )
    return re.compile(
        "["
        # Invisible ones, fillers, Mongolian selectors.
        "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
        # Zero width, direction, annotations.
        "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
        "\ufe00-\ufe0f\U000e0000-\U000e0fff"  # variation selectors, tags
        "\ue000-\uf8ff\U000f0000-\U0010ffff"  # private use
        f"\ufdd0-\ufdef{planes}"  # noncharacters
        "]+"
    )


# ---- what a program leaves in a text


def plain(text: str) -> str:
    """
    Return a text without Python tracebacks, markup, object addresses and pydantic's links.

    Of an HTML document its title stays. Angle brackets that are no markup stay: ``a < b``,
    ``List<int>``, ``<city>``.
    """
    for mark, strip in _STRIPPERS:
        if mark in text:
            text = strip(text)
    return text


def _strip_addresses(text: str) -> str:
    return pattern(_ADDRESS).sub("", pattern(_ADDRESS_IN_REPR).sub(r"\1>", text))


def _strip_links(text: str) -> str:
    return pattern(_PYDANTIC_LINK).sub("", text)


_ADDRESS_IN_REPR: Final = (
    r"(<[\w.]{1,200}(?:[ ][^\s<>]{1,200}){0,4}?) at 0x[0-9a-fA-F]{4,16}\b[^<>]{0,500}>"
)
_ADDRESS: Final = r" at 0x[0-9a-fA-F]{4,16}\b"
_PYDANTIC_LINK: Final = r"\s{0,8}For further information visit https://errors\.pydantic\.dev/\S*"
_HEADER: Final = "Traceback (most recent call last):"


def _strip_tracebacks(text: str) -> str:
    # One may be quoted in another.
    for _ in range(_NESTED):
        before, text = text, _strip_traceback(text)
        if before == text:
            break
    return text


def _strip_traceback(text: str) -> str:
    kept: list[str] = []
    inside = grouped = False
    for line in text.split("\n"):
        before, header, after = line.partition(_HEADER)
        if header:
            inside = True
            grouped = grouped or before.endswith("Exception Group ")
            kept += _text_around_header(before, after)
            continue
        # Only the lines of an ExceptionGroup have a margin; elsewhere it may be a table's.
        bare = pattern(_MARGIN).sub("", line) if grouped else line
        if inside and bare[:1] in ("", " ", "\t"):
            # A frame, its source, or an empty line between two tracebacks.
            continue
        if bare.startswith(_BETWEEN):
            inside = True
            while kept and not kept[-1]:
                kept.pop()
        elif bare or not grouped:
            # The exception's own line ends a traceback.
            inside = False
            kept.append(bare)
    return pattern(_FRAME).sub("", "\n".join(kept))


def _text_around_header(before: str, after: str) -> list[str]:
    """
    Return the texts before and after a traceback's header on the same line.
    """
    # Line ends that were spelled out ("\\n") are read as such.
    before = pattern(_MARGIN).sub("", before.removesuffix("Exception Group ")).rstrip()
    if "\\n" in after:
        after = " ".join(part for part in after.split("\\n") if part[:1] not in ("", " ", "\t"))
    return [part for part in (before, after.strip()) if part]


# Of an ExceptionGroup: "  | ", "  +-+---------------- 1 ----------------".
_MARGIN: Final = (
    r"^[ ]{0,80}[|+]"
    r"(?:[ |+-]{0,80}-{4,80}(?: (?:\d{1,4}|\.{3}) -{4,80})?|[ |+-]{0,80}?(?:(?<=[|+]) |$))"
)

# Between the tracebacks of a chain, with empty lines around.
_BETWEEN: Final = (
    "The above exception was the direct cause",
    "During handling of the above exception",
)

# One that stands without its header. The file's name may be all that is secret in it.
_FRAME: Final = (
    r'[ \t]{0,80}File \\?"[^"\n\\]{0,1024}\\?", line \d{1,9}, in [^\s"]{1,200}'
    r"(?:\n[ \t]{2,80}\S[^\n]*+)?\n?"
)


#: Elements that nobody takes for a placeholder, and those that stand inside a line.
_ELEMENT: Final = (
    "html|head|body|div|span|p|br|hr|b|i|u|em|strong|a|ul|ol|li|dl|dt|dd|h[1-6]|table|tbody|thead|tr|td|th|pre|img"
    "|script|style|meta|iframe|svg|center|font|nav|footer|noscript|blockquote|tt|sup|sub|button|small"
)
_INLINE: Final = frozenset(
    ("a", "b", "code", "em", "font", "i", "small", "span", "strong", "sub", "sup", "tt", "u")
)


def _strip_markup(text: str) -> str:
    if pattern(_MARKUP).search(text) is None:
        return text
    text = pattern(_QUOTED_START).sub(r"\1…\2", text)
    if (start := pattern(_DOCUMENT).search(text)) is not None:
        text = _title_for_document(text, start.start())
        if "<" not in text:
            return text
    text = pattern(_HIDDEN_CONTENT).sub(" ", text)
    closed = {name.lower() for name in pattern(_CLOSING).findall(text)}
    if "<" in text:
        text = pattern(_TAG).sub(lambda tag: _unless_markup(tag, closed), text)
    return pattern(_SPACES).sub(" ", text).strip()


def _title_for_document(text: str, start: int) -> str:
    """
    Return a text with the title of an HTML document in place of the document.
    """
    # What a document lacks is empty.
    document, _, rest = _partition(_DOCUMENT_END, text[start:])
    _, title, _ = _partition(_TITLE, document)
    return " ".join(filter(None, (text[:start].rstrip(), title.strip(), rest.strip())))


def _partition(source: str, text: str) -> tuple[str, str, str]:
    """
    Return what stands before a pattern, what its first group matches, and what stands after it.
    """
    found = pattern(source).search(text)
    if found is None:
        return text, "", ""
    return text[: found.start()], found[1], text[found.end() :]


def _unless_markup(tag: re.Match[str], closed: set[str]) -> str:
    """
    Return a tag if it is prose; for markup a space, or nothing for an inline element.
    """
    name = tag[1]
    if name is None:  # a comment, a declaration or a processing instruction
        return " "
    if name.lower() not in closed and not _is_markup(tag, name):
        return tag[0]
    return "" if name.lower() in _INLINE else " "


def _is_markup(tag: re.Match[str], name: str) -> bool:
    """
    Tell whether angle brackets that nothing closes are a tag, not a placeholder or ``List<int>``.
    """
    if tag[0].startswith("</") or tag[0].endswith("/>") or "=" in tag[0]:
        return True
    if len(name) == 1 and tag.string[tag.start() - 1 : tag.start()].isalnum():
        # A type parameter such as "Box<b>".
        return False
    has_more = tag[0][1 + len(name) :].strip("> ") != ""
    return not has_more and pattern(_ELEMENT).fullmatch(name.lower()) is not None


#: What is stripped, and what stands in each text that has it.
_STRIPPERS: Final = (
    ("File ", _strip_tracebacks),
    ("Traceback (", _strip_tracebacks),
    ("0x", _strip_addresses),
    ("://errors.pydantic.dev", _strip_links),
    ("<", _strip_markup),
)

_SPACES: Final = r"[ \t]{2,}"
_MARKUP: Final = r"<[A-Za-z!?/]"
_DOCUMENT: Final = r"(?i)<!doctype html|<html\b|<head\b|<body\b"
#: The first characters of a document, as parsers quote them: "Unexpected token '<', "<html>"...".
_QUOTED_START: Final = (
    r"""(?i)(\\?["'`])<(?:!doctype|html|head|body)\b[^"'`=\\]{0,24}(?:\\n[^"'`=\\]{0,16})?"""
    r"""(\\?["'`])(?:\.{3}|…)?(?=[\s,.;:)\]]|\Z)"""
)
_DOCUMENT_END: Final = r"(?i)(</html\s{0,8}>)"
_TITLE: Final = r"(?i)<title[^<>]{0,200}>([^<]{0,500})"
# To the end of the text if nothing closes it.
_HIDDEN_CONTENT: Final = (
    r"(?is)<(script|style)\b(?:(?!</\1).)*+(?:</\1\s{0,8}>?)?|<!--(?:(?!-->).)*+(?:-->)?"
)
_CLOSING: Final = r"</([A-Za-z][\w:.-]{0,60})"
_TAG: Final = r"<[?!][^<>]{0,500}>?|</?([A-Za-z][\w:.-]{0,60})(?:[\s/][^<>]{0,2000})?(?:>|\Z)"


def telling_lines(text: str) -> str:
    """
    Return the first line of a text, and what a label or a colon announces below it, on one line.
    """
    first, *others = text.strip()[:WINDOW].splitlines() or [""]
    lines = [first]
    for line in others[:_MAX_TOLD]:
        if pattern(_LABEL).match(line) or lines[-1].rstrip().endswith(":"):
            lines.append(line.strip())
    return " ".join(lines).strip()


_MAX_TOLD: Final = 50
_LABEL: Final = r"(?i)\s{0,80}(?:stderr|hint|reason|caused by|error)\s{0,80}:"


def quote(text: str) -> str:
    """
    Return a text as a quotation: on one line, between double quotes that it holds no more.
    """
    return f'"{one_line(text).replace(chr(34), chr(39))}"'


def one_line(text: str) -> str:
    """
    Return a text on one line, each run of white space a single space.
    """
    return " ".join(text.split())


#: How much of a text the redactor shows at most, and of each end of a longer one, in characters.
_SEEN: Final = WINDOW - 256
_END: Final = 3900

_WORD_END: Final = "[ \n]"
_LEFT_OUT: Final = r"\[(\d{1,18}) characters left out\]"


def ends_of(text: str) -> str:
    """
    Return a text of at most `WINDOW` characters, of a longer one its two ends, cut between words.
    """
    if len(text) <= _SEEN:
        return text
    head, tail = text[:_END], text[-_END:]
    head = head[: max(head.rfind(" "), head.rfind("\n")) + 1] or head
    found = pattern(_WORD_END).search(tail)
    tail = tail[found.start() :] if found else tail
    return f"{head}[{len(text) - len(head) - len(tail)} characters left out]{tail}"


def cut_middle(text: str, limit: int) -> str:
    """
    Return at most *limit* bytes of UTF-8 of a text: its two ends.

    Between them stands the number of characters that are left out.
    """
    if len(text) * 4 <= limit or len(text.encode("utf-8", "surrogatepass")) <= limit:
        return text
    head = cut(text, limit * 2 // 3)
    tail = text.encode("utf-8", "surrogatepass")[-(limit // 4) :].decode("utf-8", "ignore")
    tail = tail.partition("\n")[2] or tail.partition(" ")[2] or tail
    count = len(text) - len(head) - len(tail)
    if (mark := pattern(_LEFT_OUT).search(text, len(head), len(text) - len(tail))) is not None:
        count += int(mark[1]) - len(mark[0])
    return f"{head} [{count} characters left out] …{tail}"


def cut(text: str, limit: int) -> str:
    """
    Return at most *limit* bytes of UTF-8 of a text, cut between code points and marked by "…".
    """
    if len(text) * 4 <= limit:
        return text
    # A character has at least one byte, so the rest needn't be looked at.
    encoded = text[: limit + 1].encode("utf-8", "surrogatepass")
    if len(text) <= limit and len(encoded) <= limit:
        return text
    if limit < len(_MARK.encode()):
        return encoded[: max(0, limit)].decode("utf-8", "ignore").rstrip()
    return encoded[: limit - len(_MARK.encode())].decode("utf-8", "ignore").rstrip() + _MARK


#: Stands at the end of what was cut.
_MARK: Final = "…"
