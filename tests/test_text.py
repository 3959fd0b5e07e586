"""
Text of anything, made safe to show.
"""

import traceback
import unicodedata
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfault._text import (
    CAUSE_BYTES,
    HINT_BYTES,
    MESSAGE_BYTES,
    WINDOW,
    clean,
    cut,
    encodable,
    one_line,
    plain,
    safe_str,
    text_of,
)


ANY = st.text(alphabet=st.characters(exclude_categories=()))


# ---- objects that do their worst


class Raises:
    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __str__


class RaisesBase:
    def __str__(self):
        raise BaseException("a panic of a Rust extension is one")


class NoStr:
    def __str__(self):
        return 42


class Endless:
    def __str__(self):
        return f"{self}"


class Huge:
    def __str__(self):
        return "x" * 1_000_000


class Liar:
    @property
    def __class__(self):
        raise RuntimeError("no")


class LoudStr(str):
    __slots__ = ()

    def __str__(self):
        raise RuntimeError("no")

    __getitem__ = __len__ = __iter__ = encode = __str__


class LoudDict(dict):
    def items(self):
        raise RuntimeError("no")

    __iter__ = __len__ = __str__ = __repr__ = keys = items


class LoudList(list):
    def __iter__(self):
        raise RuntimeError("no")

    __len__ = __str__ = __repr__ = __iter__


def hidden():
    # Made only when it is needed: pytest itself asks the classes of a module for their attributes.
    class Meta(type):
        def __getattribute__(cls, name):
            raise RuntimeError("no")

    return Meta("Hidden", (Exception,), {})


class Point(NamedTuple):
    x: int
    y: int


endless_list: list = [1]
endless_list.append(endless_list)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("as it is", "as it is", id="str"),
        pytest.param("x" * 10_000, "x" * 10_000, id="long str"),
        pytest.param(LoudStr("quiet"), "quiet", id="str subclass"),
        pytest.param({"status": 409, "detail": "x"}, '{"status":409,"detail":"x"}', id="dict"),
        pytest.param(
            {"city": "Zürich", 1: None, (1, 2): True}, '{"city":"Zürich","1":null,"[1,2]":true}', id="odd keys"
        ),
        pytest.param([1, "a", 2.5], '[1,"a",2.5]', id="list"),
        pytest.param((1, "a"), '[1,"a"]', id="tuple"),
        pytest.param(Point(1, 2), "Point(x=1, y=2)", id="named tuple"),
        pytest.param(
            {"e": ValueError("bad"), "b": b"raw", "s": {3}}, '{"e":"bad","b":"raw","s":"{3}"}', id="objects in a dict"
        ),
        pytest.param(LoudDict(a=1), '{"a":1}', id="dict subclass"),
        pytest.param(LoudList([1]), "[1]", id="list subclass"),
        pytest.param(endless_list, '[1,[1,[1,[1,[1,[1,[1,[1,"…"]]]]]]]]', id="cycle"),
        pytest.param({"a": Raises()}, '{"a":"<Raises>"}', id="raises in a dict"),
        pytest.param(b"caf\xc3\xa9 \xff", "café \ufffd", id="bytes"),
        pytest.param(bytearray(b"abc"), "abc", id="bytearray"),
        pytest.param(None, "None", id="None"),
        pytest.param(10**5000, "<int>", id="more digits than Python writes"),
        pytest.param({"n": 10**5000}, '{"n":"<int>"}', id="the same in a dict"),
        pytest.param(Raises(), "<Raises>", id="raises"),
        pytest.param(RaisesBase(), "<RaisesBase>", id="raises no Exception"),
        pytest.param(NoStr(), "<NoStr>", id="no str"),
        pytest.param(Endless(), "<Endless>", id="recursion"),
        pytest.param(Huge(), "x" * WINDOW, id="huge"),
    ],
)
def test_safe_str(value, text):
    """
    Everything has a text.
    """
    found = safe_str(value)

    assert text == found
    assert type(found) is str


@pytest.mark.parametrize("make", [Liar, lambda: hidden()("x"), hidden, object])
def test_safe_str_survives_what_lies_about_its_class(make):
    """
    Nor does it ask an object for its class.
    """
    assert isinstance(safe_str(make()), str)


def test_text_of_survives_a_metaclass_that_raises():
    """
    The arguments are still there.
    """
    assert "a" == text_of(hidden()("a"))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(["x" * 1000] * 1000, id="list"),
        pytest.param({"key": ["x" * 10_000_000]}, id="one long string"),
        pytest.param({str(n): n for n in range(100_000)}, id="dict"),
        pytest.param({"k" * 100_000: 1}, id="long key"),
        pytest.param([[[0] * 10_000] * 10], id="numbers"),
        pytest.param(b"x" * 10_000_000, id="bytes"),
    ],
)
def test_a_large_value_is_cut_to_the_window(value):
    """
    Exactly to it, so that whoever redacts sees that something was cut.
    """
    assert WINDOW == len(safe_str(value))


def test_a_signal_is_not_swallowed():
    """
    It has nothing to do with the object that is shown.
    """

    class Interrupted:
        def __str__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        safe_str(Interrupted())


class OwnStr(Exception):
    def __str__(self):
        return f"the API said {self.args[0]['detail']}"


class RaisingStr(Exception):
    def __str__(self):
        raise RuntimeError("no")


class RaisingArgs(Exception):
    @property
    def args(self):
        raise RuntimeError("no")


class NoStrError(Exception):
    def __str__(self):
        return None


class OwnKeyError(KeyError):
    def __str__(self):
        return "no such city"


@pytest.mark.parametrize(
    ("exc", "text"),
    [
        pytest.param(RuntimeError("bad"), "bad", id="text"),
        pytest.param(RuntimeError(), "", id="nothing"),
        pytest.param(RuntimeError(""), "", id="empty"),
        pytest.param(RuntimeError(" \n"), "", id="blank"),
        pytest.param(RuntimeError(None), "", id="None"),
        pytest.param(RuntimeError("a", 2), "('a', 2)", id="two arguments"),
        pytest.param(RuntimeError({"status": 409, "detail": "x"}), '{"status":409,"detail":"x"}', id="dict"),
        pytest.param(RuntimeError(["a", 1]), '["a",1]', id="list"),
        pytest.param(RuntimeError(b"raw \xff"), "raw \ufffd", id="bytes"),
        pytest.param(OwnStr({"detail": "no"}), "the API said no", id="a dict, and a __str__ of its own"),
        pytest.param(KeyError("city"), "city", id="KeyError"),
        pytest.param(KeyError(1), "1", id="KeyError of a number"),
        pytest.param(KeyError(), "", id="bare KeyError"),
        pytest.param(KeyError("a", "b"), "('a', 'b')", id="KeyError with two"),
        pytest.param(OwnKeyError("city"), "no such city", id="KeyError with a __str__ of its own"),
        pytest.param(FileNotFoundError(2, "No such file", "x.csv"), "[Errno 2] No such file: 'x.csv'", id="OSError"),
        pytest.param(RaisingStr("a", 2, Raises(), "b"), "a, 2, b", id="__str__ raises"),
        pytest.param(RaisingStr(), "", id="__str__ raises, no arguments"),
        pytest.param(NoStrError("a"), "a", id="__str__ returns None"),
        pytest.param(RaisingArgs("a"), "a", id="args raise"),
        pytest.param(RuntimeError(Raises()), "", id="the argument raises"),
        pytest.param(RuntimeError(LoudStr("quiet")), "quiet", id="the argument is a loud str"),
        pytest.param(RuntimeError("x" * 5_000_000), "x" * WINDOW, id="5 MB"),
        pytest.param(RaisingStr("x" * 5_000_000, "y"), "x" * WINDOW, id="5 MB in an argument"),
        pytest.param(RuntimeError("x", "y" * 5_000_000), "('x', '" + "y" * (WINDOW - 7), id="5 MB in a tuple"),
        pytest.param(KeyError("x" * 5_000_000), "x" * WINDOW, id="5 MB key"),
        pytest.param(KeyboardInterrupt("stop"), "stop", id="BaseException"),
    ],
)
def test_text_of(exc, text):
    """
    What an exception has to say, and never an exception.
    """
    found = text_of(exc)

    assert text == found
    assert type(found) is str


def test_text_of_changes_nothing():
    """
    An exception belongs to whoever raised it.
    """
    body = {"detail": ["x"]}
    exc = RuntimeError(body)
    text_of(exc)

    assert ({"detail": ["x"]},) == exc.args
    assert body is exc.args[0]
    assert {} == vars(exc)


# ---- characters


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain", "plain"),
        ("café 😀", "café 😀"),
        ("a\ud800b", "a\ufffdb"),
        ("a\udc00\ud800b", "a\ufffd\ufffdb"),
        ("a\ud83d\ude00b", "a😀b"),
        ("\ud83d\ud83d\ude00", "\ufffd😀"),
        ("end\ud83d", "end\ufffd"),
        ("\ufeffbom", "\ufeffbom"),
    ],
)
def test_encodable(text, safe):
    """
    Pairs of surrogates are joined, lone ones replaced.
    """
    assert safe == encodable(text)


@given(ANY)
def test_encodable_is_utf_8_and_changes_nothing_else(text):
    """
    Whatever the text.
    """
    found = encodable(text)
    found.encode()

    assert found == encodable(found)
    assert not any("\ud800" <= char <= "\udfff" for char in found)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        pytest.param("plain text, 100% ok ~", "plain text, 100% ok ~", id="plain"),
        pytest.param("two\n\tlines", "two\n\tlines", id="newline and tab stay"),
        pytest.param("a\r\nb\rc", "a\nb\nc", id="carriage returns"),
        pytest.param("a\u2028b\u2029c\x85d", "a\nb\nc\nd", id="line separators"),
        pytest.param("a\x00b\x07c\x08d\x0be\x0cf\x1fg\x7fh", "abcdefgh", id="C0 and DEL"),
        pytest.param("a\x80b\x8dc\x9fd", "abcd", id="C1"),
        pytest.param("\x1b[1;31mred\x1b[0m", "red", id="CSI"),
        pytest.param("\x1b[?25l\x1b[2J\x1b[38;5;196mx", "x", id="CSI with private markers"),
        pytest.param("\x9b31mred", "red", id="single-byte CSI"),
        pytest.param("\x1b]0;title\x07x", "x", id="OSC with BEL"),
        pytest.param("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\ x", "link x", id="OSC 8"),
        pytest.param("\x1b]52;c;aGVsbG8=\x07x", "x", id="OSC 52"),
        pytest.param("\x9d52;c;aGVsbG8=\x9cx", "x", id="single-byte OSC"),
        pytest.param("\x1bP1$r0m\x1b\\x\x1bXsos\x1b\\y\x1b^pm\x1b\\z\x1b_apc\x1b\\.", "xyz.", id="DCS SOS PM APC"),
        pytest.param("\x1b(Bx\x1b7y\x1bcz", "xyz", id="other escapes"),
        pytest.param("a\x1b", "a", id="ESC at the end"),
        pytest.param("\x1b]0;no end", "0;no end", id="a sequence without an end"),
        pytest.param("\u202eevil\u202c \u2066x\u2069\u200e\u200f\u061c", "evil x", id="bidi"),
        pytest.param("z\u200be\u200cr\u200do\u2060\u2064\ufeff\u00ad\u180e", "zero", id="zero width"),
        pytest.param("a\u3164\u115f\u1160\uffa0b", "ab", id="fillers"),
        pytest.param("a\U000e0001\U000e0041\U000e007fb", "ab", id="tags"),
        pytest.param("a\ufe0f\ufe00\U000e0100\U000e01efb", "ab", id="variation selectors"),
        pytest.param("a\ue000\uf8ff\U000f0000\U0010fffdb", "ab", id="private use"),
        pytest.param("a\ufdd0\ufffe\uffff\U0001fffeb\U0010ffff", "ab", id="noncharacters"),
        pytest.param("a\ud800b", "a\ufffdb", id="lone surrogate"),
        pytest.param("\udb40\udc41x", "x", id="a tag spelled as a pair"),
        pytest.param("e\u0301", "é", id="NFC"),
        pytest.param("ﬁ ①", "ﬁ ①", id="not NFKC"),
        pytest.param("e\u200b\u0301", "é", id="composed once the zero width is gone"),
        pytest.param("日本語 Ελληνικά 😀", "日本語 Ελληνικά 😀", id="scripts and emoji"),
    ],
)
def test_clean(text, cleaned):
    """
    What hides, reorders or commands goes; what can be read stays.
    """
    assert cleaned == clean(text)


@given(
    ANY | st.lists(st.sampled_from([*"\x1b\x9b\x9d\x07\x9c\\[]P;0m\r\n\x85\u200b\u0301eé\ud83d\ude00x"])).map("".join)
)
def test_clean_is_idempotent_and_leaves_nothing_to_clean(text):
    """
    Whatever the text.
    """
    found = clean(text)
    found.encode()

    assert found == clean(found)
    assert unicodedata.is_normalized("NFC", found)
    assert not {unicodedata.category(char) for char in found if char not in "\n\t"} & {"Cc", "Cs", "Co", "Zl", "Zp"}


# ---- what programs leave


TRACEBACK = """Traceback (most recent call last):
  File "/srv/app/main.py", line 3, in upload
    send(body)
    ~~~~^^^^^^
  File "/srv/app/send.py", line 7, in send
    raise KeyError(1)
KeyError: 1"""


def group_traceback():
    try:
        raise ExceptionGroup("two failed", [ValueError("first"), ExceptionGroup("inner", [KeyError("second")])])
    except ExceptionGroup:
        return traceback.format_exc()


def chained_traceback():
    try:
        try:
            {}["city"]
        except KeyError as exc:
            raise ValueError("no such city") from exc
    except ValueError:
        return traceback.format_exc()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param(
            f"Upload failed:\n{TRACEBACK}\nTry again.", "Upload failed:\nKeyError: 1\nTry again.", id="in the middle"
        ),
        pytest.param(TRACEBACK, "KeyError: 1", id="alone"),
        pytest.param(f"Upload failed: {TRACEBACK}", "Upload failed:\nKeyError: 1", id="on the same line"),
        pytest.param(
            f"Upload failed: {TRACEBACK!r}.", "Upload failed: '\nKeyError: 1'.", id="with its line ends spelled out"
        ),
        pytest.param(
            'Upload failed\n  File "/srv/app/main.py", line 3, in upload\n    send(body)\nKeyError: 1',
            "Upload failed\nKeyError: 1",
            id="without its header",
        ),
        pytest.param(
            'Upload failed: File \\"/srv/app/main.py\\", line 3, in upload', "Upload failed:", id="one frame, in JSON"
        ),
        pytest.param(
            'File "report.csv", line 3: a quote is missing',
            'File "report.csv", line 3: a quote is missing',
            id="an author's own words",
        ),
        pytest.param(f"x\n{chained_traceback()}y", "x\nKeyError: 'city'\nValueError: no such city\ny", id="a chain"),
        pytest.param(
            f"x\n{group_traceback()}y",
            "x\nExceptionGroup: two failed (2 sub-exceptions)\nValueError: first\nExceptionGroup: inner (1 sub-exception)\nKeyError: 'second'\ny",
            id="a group",
        ),
    ],
)
def test_plain_drops_tracebacks(text, kept):
    """
    The frames go; what was said before and after stays, and so does the exception's own line.
    """
    assert kept == plain(text).rstrip()


PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>502 Bad Gateway</title>
<style>body { color: red }</style><script>var a = "<b>";</script></head>
<body><h1>502</h1><p>nginx/1.25 at 10.0.0.7</body></html>"""


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param(PAGE, "502 Bad Gateway", id="a page"),
        pytest.param(
            f"Upstream said: {PAGE} (sorry)", "Upstream said: 502 Bad Gateway (sorry)", id="a page in a sentence"
        ),
        pytest.param(PAGE[: PAGE.index("</head>")], "502 Bad Gateway", id="half a page"),
        pytest.param("<html><body>gone</body></html>", "", id="a page without a title"),
        *(
            pytest.param(
                f"Unexpected token '<', {start} is not valid JSON",
                "Unexpected token '<', \"…\" is not valid JSON",
                id=f"a page's start as {start!r}",
            )
            for start in (
                '"<html>…"',
                '"<html>"...',
                '"<!DOCTYPE "...',
                '"<!doctype html>"',
                '"<html>\n<h"...',
                '"<html><hea"...',
            )
        ),
        pytest.param("Bad body '<html>\\n<head>' (502)", "Bad body '…' (502)", id="a page's start as a repr"),
        pytest.param(f"Bad body: '{PAGE}'", "Bad body: ' 502 Bad Gateway '", id="a whole page in quotes"),
        pytest.param("Not <b>allowed</b> here", "Not allowed here", id="tags"),
        pytest.param("Not <b>allowed</b>, <i>sorry</i>.", "Not allowed, sorry.", id="tags before punctuation"),
        pytest.param("one<br>two<br/>three", "one two three", id="breaks"),
        pytest.param('see <a href="https://example.com">this', "see this", id="an unclosed element"),
        pytest.param('see <a href="https://exa', "see", id="an unclosed tag"),
        pytest.param("a <script>alert(1)</script> b", "a b", id="script"),
        pytest.param("a <script>alert(1)", "a", id="an unclosed script"),
        pytest.param("a <STYLE type=x>b{}</STYLE > c", "a c", id="style"),
        pytest.param("a <!-- hidden <b> --> b <!-- no end", "a b", id="comments"),
        pytest.param('<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>', "NoSuchKey", id="XML"),
        pytest.param("<city> is required", "<city> is required", id="a placeholder"),
        pytest.param(
            "usage: get <address> <source> <label>",
            "usage: get <address> <source> <label>",
            id="placeholders that are elements",
        ),
        pytest.param("a < b and c > d, x<y", "a < b and c > d, x<y", id="comparisons"),
        pytest.param("if a<b and c>d then", "if a<b and c>d then", id="comparisons without spaces"),
        pytest.param("List<int>, Map<string, List<a>>", "List<int>, Map<string, List<a>>", id="generics"),
        pytest.param("<=, <>, <-, ->, <3, <<EOF", "<=, <>, <-, ->, <3, <<EOF", id="operators"),
        pytest.param("Ann <ann@example.com> wrote", "Ann <ann@example.com> wrote", id="mail"),
        pytest.param("see <https://example.com/a>", "see <https://example.com/a>", id="a link in brackets"),
        pytest.param("<class 'int'> is no str", "<class 'int'> is no str", id="a class"),
        pytest.param(
            "<Response [404]> for <Future> in <stdin>", "<Response [404]> for <Future> in <stdin>", id="reprs"
        ),
    ],
)
def test_plain_drops_markup(text, kept):
    """
    Markup goes, angle brackets of prose stay.
    """
    assert kept == one_line(plain(text))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<Future at 0x7f12ab34 state=finished raised X> was lost", "<Future> was lost"),
        ("<__main__.City object at 0x7f12ab34cd> is no str", "<__main__.City object> is no str"),
        ("<function find at 0x7f12ab34cd> failed", "<function find> failed"),
        (
            "<bound method City.find of <City object at 0x7f12ab34cd>> failed",
            "<bound method City.find of <City object>> failed",
        ),
        ("HTTPSConnection(host='a') at 0x7f12ab: refused", "HTTPSConnection(host='a'): refused"),
        ("error 0x80070005, mask 0xff", "error 0x80070005, mask 0xff"),
    ],
)
def test_plain_drops_addresses(text, kept):
    """
    Where an object lives in memory helps nobody.
    """
    assert kept == plain(text)


def test_plain_drops_the_links_of_pydantic():
    """
    They lead to documentation for the server's author.
    """
    text = (
        "1 validation error for City\nname\n  Field required [type=missing]\n"
        "    For further information visit https://errors.pydantic.dev/2.11/v/missing\nzip\n  Field required"
    )

    assert "1 validation error for City\nname\n  Field required [type=missing]\nzip\n  Field required" == plain(text)


@given(ANY)
def test_plain_takes_any_text(text):
    """
    And makes none of it longer.
    """
    assert len(text) >= len(plain(text))


def test_one_line():
    """
    Each run of white space is a space.
    """
    assert "a b c" == one_line("  a\n\n b\t\r\n\u00a0c ")


# ---- size


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("short", 5, "short"),
        ("longer", 5, "lo…"),
        ("äöü", 6, "äöü"),
        ("äöü", 5, "ä…"),
        ("😀😀", 8, "😀😀"),
        ("😀😀", 7, "😀…"),
        ("😀😀", 6, "…"),
        ("two words", 7, "two…"),
        ("abc", 3, "abc"),
        ("abcd", 3, "…"),
        ("abcd", 2, "ab"),
        ("é", 1, ""),
        ("abcd", 0, ""),
        ("", 0, ""),
    ],
)
def test_cut(text, limit, shown):
    """
    The mark counts, and no character is halved.
    """
    assert shown == cut(text, limit)


@given(ANY, st.integers(0, 300))
def test_a_cut_text_is_the_beginning_of_it_within_the_limit(text, limit):
    """
    Whatever the text.
    """
    safe = encodable(text)
    found = cut(safe, limit)

    assert limit >= len(found.encode())
    assert safe == found or safe.startswith(found.removesuffix("…"))
    assert (len(safe.encode()) <= limit) == (safe == found)


def test_the_caps_have_an_order():
    """
    A message may say more than a hint, a hint more than a cause, and all less than the window.
    """
    assert WINDOW > MESSAGE_BYTES > HINT_BYTES > CAUSE_BYTES
