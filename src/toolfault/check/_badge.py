"""
A badge: as SVG, and as the JSON of an endpoint badge of shields.io.
"""

from __future__ import annotations

import json
from html import escape
from typing import Final

from toolfault.check._model import LEVELS, Report


_LABEL: Final = "failures"

#: By level: the names that shields.io has for colours, and their values.
_COLOURS: Final = (
    ("red", "#c22e1f"),
    ("orange", "#b75d09"),
    ("yellow", "#8a6d00"),
    ("yellowgreen", "#5c7d0e"),
    ("green", "#3a7d1b"),
    ("brightgreen", "#22803a"),
)

#: About how wide a character is at 11 pixels, and the space beside a text.
_CHARACTER: Final = 6.4
_SPACE: Final = 10

_SVG: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img"
 aria-label="{label}: {message}">
<title>{label}: {message}</title>
<clipPath id="r"><rect width="{width}" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)">
<rect width="{left}" height="20" fill="#444"/>
<rect x="{left}" width="{right}" height="20" fill="{colour}"/>
</g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,sans-serif" font-size="11">
<text x="{left_middle}" y="14" textLength="{left_text}">{label}</text>
<text x="{right_middle}" y="14" textLength="{right_text}">{message}</text>
</g>
</svg>
"""


def _message(report: Report) -> str:
    reached = report.reached_level
    return f"level {reached}, {LEVELS[reached]}" if reached else "level 0"


def to_badge_svg(report: Report) -> str:
    """
    Return a badge that says which level a server reached, as SVG.

    Args:
        report: The report.
    """
    message = _message(report)
    left_text, right_text = round(len(_LABEL) * _CHARACTER), round(len(message) * _CHARACTER)
    left, right = left_text + _SPACE, right_text + _SPACE
    return _SVG.format(
        width=left + right,
        left=left,
        right=right,
        left_text=left_text,
        right_text=right_text,
        left_middle=left / 2,
        right_middle=left + right / 2,
        label=_LABEL,
        message=escape(message),
        colour=_COLOURS[report.reached_level][1],
    )


def to_badge_json(report: Report) -> str:
    """
    Return a badge as the JSON that an endpoint badge of shields.io asks for.

    Args:
        report: The report.
    """
    badge = {
        "schemaVersion": 1,
        "label": _LABEL,
        "message": _message(report),
        "color": _COLOURS[report.reached_level][0],
    }
    return json.dumps(badge, indent=2) + "\n"
