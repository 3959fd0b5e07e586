"""
pydantic: its validation errors in the body of a tool, and the errors of models.

Texts of validation errors hold the value, so they are composed from path and rule.
"""

from __future__ import annotations

from typing import Final

from toolfault._meanings.rows import bug, permanent
from toolfault._meanings.violations import (
    PYDANTIC,
    PYDANTIC_1,
    is_our_phrase,
    listing_of,
    violations,
)
from toolfault._verdict import Rule, Verdict


def misfit(exc: BaseException) -> Verdict:
    """
    Judge a validation error in the body of a tool: what it got, or made, is not what it expects.
    """
    # What an author's validator says may quote the value, and nobody wrote it for the caller of
    # this tool.
    items = [
        item if is_our_phrase(item["message"]) else {**item, "message": "is not valid"}
        for item in violations(exc)
    ]
    what = "Data that the tool received or made does not have the form that it expects"
    return permanent(what, note=listing_of(items), family="data")


_MODEL: Final = bug("A model of the tool is not valid")
_SETTINGS: Final = permanent(
    "The server is not configured: its settings can't be read",
    advice="Its operator has to look into it.",
)

RULES: Final[dict[str, Rule]] = {
    PYDANTIC: misfit,
    PYDANTIC_1: misfit,
    "pydantic_core._pydantic_core.PydanticSerializationError": bug(
        "The tool made a value that can't be serialized"
    ),
    "pydantic_core._pydantic_core.PydanticSerializationUnexpectedValue": bug(
        "The tool made a value that its model does not allow"
    ),
    "pydantic_core._pydantic_core.SchemaError": _MODEL,
    "pydantic.errors.PydanticImportError": _MODEL,
    "pydantic.errors.PydanticUndefinedAnnotation": _MODEL,
    "pydantic.errors.PydanticUserError": _MODEL,
    "pydantic_settings.exceptions.SettingsError": _SETTINGS,
    "pydantic_settings.sources.SettingsError": _SETTINGS,
}

#: Left without a rule on purpose: control flow inside a validator.
IGNORED: Final = frozenset(
    {
        "pydantic_core._pydantic_core.PydanticOmit",
        "pydantic_core._pydantic_core.PydanticUseDefault",
    }
)
