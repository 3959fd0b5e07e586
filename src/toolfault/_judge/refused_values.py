"""
Which value a failed conversion refused, and whether the caller sent it.

Rule 1: the value is what the exception carries or quotes, or what the author's own call passed to
the conversion, as its source says.
Rule 2: nothing of the author's is run to find out: names, items of plain containers and instance
dictionaries are read, properties and methods are not.
Rule 3: what can't be found out blames nobody.
"""

from __future__ import annotations

import ast
import linecache
import re
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from toolfault._judge.caller_values import CallerValues
from toolfault._judge.deliberate import AuthorModules, entries_of, owns_frame, raise_site
from toolfault._names import class_name, qualified_name
from toolfault._text import safe_str, text_of
from toolfault._verdict import Verdict


@dataclass(frozen=True, slots=True)
class Refused:
    """
    What is known of the value that a conversion refused.

    Attributes:
        argument:
            The dotted path of the argument that is the value, or holds it. None: no argument does.

        is_foreign:
            The value is known, and no part of any argument.
    """

    argument: str | None = None
    is_foreign: bool = False


#: Attributes that hold the refused value, by the class that has them.
_CARRIED: Final = {
    "json.decoder.JSONDecodeError": "doc",
    "re.error": "pattern",
    "re.PatternError": "pattern",
    "builtins.UnicodeDecodeError": "object",
    "builtins.UnicodeEncodeError": "object",
    "builtins.SyntaxError": "text",
    "sqlalchemy.exc.StatementError": "statement",
}

#: Packages that convert values: what the author passed to them is what they refused.
_CONVERTERS: Final = frozenset(
    """
    _compression _pydatetime _pydecimal _strptime ast base64 bz2 codecs configparser csv datetime
    dateutil decimal email encodings enum fractions gzip ipaddress json lzma plistlib quopri random
    re shlex string tarfile tomllib urllib uuid xml zipfile zoneinfo
    """.split()
)

#: Methods of a text that return parts or forms of it.
_TEXT_METHODS: Final = frozenset(
    """
    strip lstrip rstrip lower upper title casefold capitalize replace removeprefix removesuffix
    split rsplit splitlines partition rpartition encode decode format zfill translate expandtabs
    """.split()
)

#: Functions that return their first argument in another form.
_FORMS: Final = frozenset("str bytes bytearray repr text SQL list tuple float int Decimal".split())

#: Functions of modules that return their first argument in another form.
_MODULE_FORMS: Final = frozenset(
    """
    BytesIO StringIO Decimal SQL text b64decode urlsafe_b64decode standard_b64decode b32decode
    b16decode a2b_base64 unhexlify fromhex unquote unquote_plus unescape reader DictReader
    """.split()
)

#: Parameters of a database's cursor that take a statement.
_STATEMENT: Final = frozenset({"sql", "query", "statement", "operation", "sql_script"})

#: How much of a text is searched for values, and how many values are tried.
_MAX_TEXT: Final = 4000
_MAX_QUOTED: Final = 16

#: The longest call, in lines and characters, whose source is parsed.
_MAX_LINES: Final = 30
_MAX_SOURCE: Final = 2000

#: A long value is cut where it is quoted: then its beginning has to do.
_MIN_BEGINNING: Final = 40

_spans = re.compile(
    r"""(?P<repr>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|`(?P<tick>[^`]+)`|\[(?P<bracket>[^][]+)\]"""
).finditer
_first = re.compile(r"(\S+) is not an? (?:valid )?\S").match
_last = re.compile(r"(?:: |\bkey |\bgot:? |\bnot )(\S[^:]*)$").search
_unclosed = re.compile(r"""['"]([^'"]{40,})$""").search


#: Classes outside the builtins that conversions raise, besides every ValueError.
_CONVERSIONS: Final = frozenset(
    {
        "decimal.DecimalException",
        "pytz.exceptions.UnknownTimeZoneError",
        "zoneinfo._common.ZoneInfoNotFoundError",
    }
)

#: What a text that says nothing means.
_REASONS: Final = {
    "decimal.InvalidOperation": "not a valid decimal number",
}


def is_conversion(exc: BaseException, verdict: Verdict) -> bool:
    """
    Tell whether an exception says that a value could not be converted.
    """
    if isinstance(exc, ValueError) or verdict.family == "data":
        return True
    kind = type(exc)
    if kind is KeyError:
        site = raise_site(exc)
        return site is not None and site[0] == "enum"
    if kind.__module__ == "builtins":
        return kind in {LookupError, OverflowError, SyntaxError}
    if not issubclass(kind, LookupError | ArithmeticError):
        return False
    return any(qualified_name(cls) in _CONVERSIONS for cls in kind.__mro__)


def reason_of(exc: BaseException) -> str:
    """
    Return why a value was refused, in the words of the library that refused it.
    """
    name = qualified_name(type(exc))
    if name in _REASONS:
        return _REASONS[name]
    text = text_of(exc)
    if isinstance(exc, KeyError) and is_single_word(text):
        return f"unknown name {text!r}"
    return f"{class_name(exc)}: {text}" if is_single_word(text) else text


def is_single_word(text: str) -> bool:
    """
    Tell whether a text is a bare key.
    """
    return not any(map(str.isspace, text))


def find_refused(
    exc: BaseException, modules: AuthorModules, values: CallerValues, *, statement: bool = False
) -> Refused:
    """
    Return the value that an exception refused, as far as it is known; never raises.

    Args:
        exc: The exception of a conversion, or of a database about a statement.
        modules: The modules of the tool's author.
        values: What the caller sent.
        statement: Only the statement that was passed to a database is looked at.
    """
    try:
        return _find_refused(exc, modules, values, statement=statement)
    except Exception:  # noqa: BLE001 -- exceptions, frames and values are strangers' objects: then nobody is blamed
        return Refused()


def _find_refused(
    exc: BaseException, modules: AuthorModules, values: CallerValues, *, statement: bool
) -> Refused:
    if not values.are_known:
        return Refused()
    text = safe_str(exc)[:_MAX_TEXT]
    seen: list[object] = []
    # The source is read only where the exception does not say it.
    for found in (
        _attribute_values(exc),
        _quotations(text),
        _call_operands(exc, modules, statement=statement),
    ):
        for value in islice(found, _MAX_QUOTED):
            if (argument := values.argument_with(value)) is not None:
                return Refused(argument)
            seen.append(value)
    argument = values.argument_quoted_in(text)
    if argument is None and (beginning := _unclosed(text)):
        argument = values.argument_beginning_with(beginning[1])
    if argument is not None:
        return Refused(argument)
    known = [value for value in seen if value not in ("", None)]
    return Refused(is_foreign=bool(known) and not any(map(values.has_part, known)))


# What the exception carries and quotes


def _attribute_values(exc: BaseException) -> Iterator[object]:
    for cls in type(exc).__mro__:
        name = _CARRIED.get(qualified_name(cls))
        if name is None:
            continue
        value: object = getattr(exc, name, None)
        yield _plain(value.strip() if isinstance(value, str) and name == "text" else value)
        return


def _quotations(text: str) -> Iterator[str]:
    """
    Yield the values that a text seems to quote.
    """
    for span in _spans(text):
        if (literal := span["repr"]) is None:
            yield span["tick"] or span["bracket"]
            continue
        yield literal[1:-1]
        if "\\" in literal:
            yield from _unescape(literal)
    for match in (_first(text), _last(text)):
        if match is not None:
            yield match[1].strip("'\"`.")


def _unescape(literal: str) -> Iterator[str]:
    try:
        yield str(ast.literal_eval(literal))
    except (ValueError, SyntaxError):
        return


def _plain(value: object) -> object:
    """
    Return bytes as text, and everything else as it is.
    """
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    return value


# What the author's call passed


def _call_operands(
    exc: BaseException, modules: AuthorModules, *, statement: bool
) -> Iterator[object]:
    """
    Yield the values from which the author's own call made what was refused.
    """
    entry, below = None, set[str]()
    for tb in entries_of(exc):
        if owns_frame(modules, tb):
            entry = tb
            below.clear()
        else:
            below.add(str(tb.tb_frame.f_globals.get("__name__", "")).partition(".")[0])
    if entry is None or not (statement or below <= _CONVERTERS):
        return
    code, space = entry.tb_frame.f_code, entry.tb_frame.f_globals
    linecache.lazycache(code.co_filename, space)  # for what lies in a zip file
    local = entry.tb_frame.f_locals
    for operand in _operands(_expression(code, entry.tb_lasti), statement=statement):
        for value in _values_of(operand, local):
            yield _plain(value)


@lru_cache(maxsize=256)
def _expression(code: types.CodeType, at: int) -> ast.expr | None:
    """
    Return the expression that an instruction belongs to; None where its source is not known.
    """
    first, last, begin, end = next(
        islice(code.co_positions(), at // 2, None), (None, None, None, None)
    )
    if first is None or last is None or begin is None or end is None or last - first > _MAX_LINES:
        return None
    raw = [line.encode() for line in linecache.getlines(code.co_filename)[first - 1 : last]]
    if not raw:
        return None
    raw[-1] = raw[-1][:end]
    raw[0] = raw[0][begin:]
    source = b"".join(raw)
    if len(source) > _MAX_SOURCE:
        return None
    try:
        return ast.parse(b"(" + source + b")", mode="eval").body
    except SyntaxError:  # the file is not what was compiled
        return None


def _operands(call: ast.expr | None, *, statement: bool) -> Iterable[ast.expr]:
    if isinstance(call, ast.Subscript):
        return [call.slice]
    if not isinstance(call, ast.Call):
        return []
    if statement:
        named = [keyword.value for keyword in call.keywords if keyword.arg in _STATEMENT]
        # Of a statement that the author composed, only what the database names is refused.
        composed = (ast.JoinedStr, ast.BinOp)
        return [node for node in (*call.args[:1], *named) if not isinstance(node, composed)]
    return [*call.args, *(keyword.value for keyword in call.keywords), *_receiver(call)]


def _receiver(call: ast.Call) -> Iterator[ast.expr]:
    """
    Yield the text whose own method failed: ``name.encode("ascii")``.
    """
    if isinstance(call.func, ast.Attribute) and call.func.attr in _TEXT_METHODS:
        yield call.func.value


def _values_of(node: ast.AST, local: Any) -> Iterator[object]:
    """
    Yield the values that an expression is made from, as far as they can be read.
    """
    match node:
        case ast.Name(id=name):
            if name in local:
                yield local[name]
        case ast.Attribute(value=base, attr=name):
            yield from _attributes(_values_of(base, local), name)
        case ast.Subscript(value=base, slice=key):
            yield from _items(_values_of(base, local), list(_keys(key, local)))
        case ast.Call(func=ast.Attribute(value=base, attr=name)) if name in _TEXT_METHODS:
            yield from (
                value for value in _values_of(base, local) if isinstance(value, str | bytes)
            )
        case _:
            for part in _parts_of(node):
                yield from _values_of(part, local)


def _parts_of(node: ast.AST) -> Iterable[ast.AST]:
    """
    Return the parts of an expression whose values it holds or returns in another form.
    """
    match node:
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _FORMS:
            return [first]
        case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]) if name in _MODULE_FORMS:
            return [first]
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return elements
        case ast.JoinedStr() | ast.FormattedValue() | ast.BinOp() | ast.Starred() | ast.BoolOp():
            return ast.iter_child_nodes(node)
        case _:
            return []


def _keys(node: ast.AST, local: Any) -> Iterator[object]:
    if isinstance(node, ast.Constant):
        yield node.value
    elif isinstance(node, ast.Slice):
        yield slice(None)
    else:
        yield from _values_of(node, local)


def _items(bases: Iterable[object], keys: list[object]) -> Iterator[object]:
    for base in bases:
        if isinstance(base, str):
            yield base  # a piece of it
        elif type(base) in {dict, list, tuple} and keys and type(keys[0]) in {str, int}:
            yield base[keys[0]]  # type: ignore[index]


def _attributes(bases: Iterable[object], name: str) -> Iterator[object]:
    for base in bases:
        own: object = object.__getattribute__(base, "__dict__")
        if type(own) is dict and name in own:
            yield own[name]
