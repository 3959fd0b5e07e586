"""
JSON with comments and trailing commas, parsed with the place of each value.

So a text can be edited without touching the rest.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final


#: How deep values may be nested.
_MAX_DEPTH: Final = 100

_SPACE: Final = re.compile(r"(?:\s+|//[^\n]*|/\*(?s:.*?)\*/|\ufeff)*")
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SCALAR: Final = re.compile(r"[-+.\w]+")


@dataclass(slots=True)
class Node:
    """
    One value with its place.

    Attributes:
        start, end: Where it stands in the text.
        key: Where its name stands, if it is a member of an object.
        text: The value of a string; None for all others.
        members: The members of an object by name; None for all others.
        items: The items of an array; None for all others.
    """

    start: int
    end: int = 0
    key: tuple[int, int] = (0, 0)
    text: str | None = None
    members: dict[str, Node] | None = None
    items: list[Node] | None = field(default=None)

    def member(self, name: str) -> Node | None:
        """
        Return a member of an object; None if there is none.
        """
        return None if self.members is None else self.members.get(name)


def parse_jsonc(text: str) -> Node:
    """
    Return the value of a text.

    Raises:
        ValueError: It is not JSON; the message names the line.
    """
    parser = _Parser(text)
    node = parser.value(0)
    parser.skip()
    if parser.place != len(text):
        raise parser.error("expected the end of the file")
    return node


class _Parser:
    """
    A parser at one place of a text.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def skip(self) -> None:
        """
        Move behind white space and comments.
        """
        found = _SPACE.match(self.text, self.place)
        if found is not None:
            self.place = found.end()

    def error(self, what: str) -> ValueError:
        line = self.text.count("\n", 0, self.place) + 1
        return ValueError(f"line {line}: {what}")

    def value(self, depth: int) -> Node:
        """
        Return the next value, and move behind it.
        """
        self.skip()
        if depth > _MAX_DEPTH:
            raise self.error("the values are nested too deeply")
        node = Node(self.place)
        first = self.text[self.place : self.place + 1]
        if first == "{":
            node.members = self._members(depth)
        elif first == "[":
            node.items = self._items(depth)
        elif first == '"':
            node.text = self._string()
        else:
            self._match(_SCALAR, "a value")
        node.end = self.place
        return node

    def _members(self, depth: int) -> dict[str, Node]:
        members: dict[str, Node] = {}
        while self._goes_on("}"):
            start = self.place
            name = self._string()
            key = start, self.place
            self.skip()
            if self.text[self.place : self.place + 1] != ":":
                raise self.error("expected a colon")
            self.place += 1
            members[name] = self.value(depth + 1)
            members[name].key = key
        return members

    def _items(self, depth: int) -> list[Node]:
        items: list[Node] = []
        while self._goes_on("]"):
            items.append(self.value(depth + 1))
        return items

    def _goes_on(self, closing: str) -> bool:
        """
        Move behind an opening bracket, a comma or the closing bracket; False for the latter.
        """
        self.skip()
        mark = self.text[self.place : self.place + 1]
        if mark not in {"{", "[", ",", closing} or not mark:
            raise self.error(f"expected a comma or {closing}")
        self.place += 1
        if mark == closing:
            return False
        self.skip()
        if self.text[self.place : self.place + 1] == closing:
            self.place += 1
            return False
        return True

    def _string(self) -> str:
        try:
            value: str = json.loads(self._match(_STRING, "a text in double quotes"), strict=False)
        except ValueError:
            raise self.error("expected a valid text") from None
        return value

    def _match(self, pattern: re.Pattern[str], what: str) -> str:
        found = pattern.match(self.text, self.place)
        if found is None:
            raise self.error(f"expected {what}")
        self.place = found.end()
        return found[0]
