"""
The formats of a report, by the name of the option that asks for each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from toolfault.check._badge import to_badge_json, to_badge_svg
from toolfault.check._baseline import Compared
from toolfault.check._html import to_html
from toolfault.check._junit import to_junit
from toolfault.check._markdown import to_markdown
from toolfault.check._model import Report, to_json
from toolfault.check._sarif import to_sarif


class FilesError(Exception):
    """
    A file that can't be written; the text names it.
    """


Writer = Callable[[Sequence[Report]], str]


def to_json_text(reports: Sequence[Report]) -> str:
    """
    Return reports as JSON: one object for one report, else an array.

    Args:
        reports: The reports.
    """
    values = [to_json(report) for report in reports]
    return json.dumps(values[0] if len(values) == 1 else values, indent=2) + "\n"


def _to_badge_svg(reports: Sequence[Report]) -> str:
    return to_badge_svg(reports[-1])


def _to_badge_json(reports: Sequence[Report]) -> str:
    return to_badge_json(reports[-1])


FORMATS: Final[Mapping[str, Writer]] = {
    "junit": to_junit,
    "markdown": to_markdown,
    "html": to_html,
    "badge": _to_badge_svg,
    "sarif": to_sarif,
}


def refuse_unwritable(files: Mapping[str, str]) -> None:
    """
    Raise an error for a file that could not be written, before the check takes its time.

    Args:
        files: The name of the file for each format.

    Raises:
        FilesError: Its folder does not exist.
    """
    for name in files.values():
        folder = Path(name).parent
        if not folder.is_dir():
            raise FilesError(f"can't write {name!r}: there is no folder {str(folder)!r}")


#: Formats that others take for what passes or fails a build: known findings do not count there.
_GATES: Final = frozenset({"junit", "sarif"})


def write_files(
    compared: Sequence[Compared], files: Mapping[str, str], summary: str | None = None
) -> None:
    """
    Write reports into files.

    Args:
        compared: The reports, and what of them is new.
        files: The name of the file for each format; a badge whose name ends in ``.json`` is one
            for an endpoint.
        summary: The step summary of GitHub Actions, which may have a text already.

    Raises:
        FilesError: A file can't be written.
    """
    for name, file in files.items():
        writer = FORMATS[name]
        if name == "badge" and file.endswith(".json"):
            writer = _to_badge_json
        reports = [one.rest if name in _GATES else one.report for one in compared]
        mode = "a" if file == summary else "w"
        try:
            with Path(file).open(mode, encoding="utf-8", newline="\n") as stream:
                stream.write(writer(reports))
        except OSError as exc:
            raise FilesError(f"can't write {file!r}: {exc.strerror}") from None
