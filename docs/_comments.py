"""
Extension of griffe: the comment that begins with ``#:`` above a constant documents it.
"""

from __future__ import annotations

from typing import Any, Final

import griffe


_MARK: Final = "#:"


class Comments(griffe.Extension):
    """
    Reads comments as docstrings, where a constant has no docstring of its own.
    """

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_kwargs: Any) -> None:
        """
        Give a constant the comment that stands above it.
        """
        path = attr.filepath
        if attr.docstring is not None or attr.lineno is None or isinstance(path, list):
            return
        lines = attr.lines_collection[path][: attr.lineno - 1]
        comment: list[str] = []
        while lines and lines[-1].startswith(_MARK):
            comment.insert(0, lines.pop().removeprefix(_MARK).strip())
        if comment:
            attr.docstring = griffe.Docstring("\n".join(comment), parent=attr)
