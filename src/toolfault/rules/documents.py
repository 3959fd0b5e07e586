"""
Files and repositories that tools read: pandas, lxml, Pillow, GitPython.

A file that can't be read is not the caller's fault by itself; that it came from the caller is what
`_judge` finds out.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from toolfault._codes import McpErrorCode
from toolfault._meanings.rows import bug, permanent, value_refusal
from toolfault._redact.paths import last_component
from toolfault._verdict import Rule, Verdict, replace
from toolfault.rules._helpers import first_argument, int_attr


_data: Final = partial(permanent, family="data")

_XML: Final = _data("The data that the tool read is not valid XML")
_REFERENCE: Final = value_refusal(
    "The Git repository has no such object or reference", family="other"
)


def _git(exc: BaseException) -> Verdict:
    status = int_attr(exc, "status")
    note = "" if status is None else f"exit status {status}"
    return permanent("Git refused or failed", note=note, family="process")


def _no_repository(exc: BaseException) -> Verdict:
    """
    Judge by the path, which is the caller's if an argument names it.
    """
    path = first_argument(exc)
    return replace(
        permanent("There is no Git repository here", family="file"),
        paths=(path,) if path else (),
        file=last_component(path),
        code_if_caller_named=McpErrorCode.INVALID_ARGUMENTS,
    )


RULES: Final[dict[str, Rule]] = {
    "PIL.Image.DecompressionBombError": _data("The image has too many pixels"),
    "PIL.UnidentifiedImageError": _data("The data that the tool read is no image that it knows"),
    "git.exc.CommandError": _git,
    "git.exc.GitCommandNotFound": permanent(
        "The server has no program named git", family="process"
    ),
    "git.exc.GitError": permanent("The Git repository could not be used", family="process"),
    "git.exc.InvalidGitRepositoryError": _no_repository,
    "git.exc.NoSuchPathError": _no_repository,
    "gitdb.exc.BadName": _REFERENCE,
    "gitdb.exc.BadObject": _REFERENCE,
    "gitdb.exc.ODBError": permanent("The Git repository could not be read", family="file"),
    "lxml.etree.DocumentInvalid": _data("The XML does not fit its schema"),
    "lxml.etree.LxmlSyntaxError": _XML,
    "lxml.etree.ParserError": _XML,
    "lxml.etree.XPathError": bug("An XPath expression is not valid", family="data"),
    "pandas.errors.OutOfBoundsDatetime": _data("A date is out of range"),
    "pandas.errors.EmptyDataError": _data("The data that the tool read is empty"),
    "pandas.errors.MergeError": bug("The tool can't join these tables"),
    "pandas.errors.ParserError": _data("The data that the tool read is no valid table"),
}

IGNORED: Final = frozenset[str]()
