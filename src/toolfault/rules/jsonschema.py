"""
jsonschema, with which hosts check arguments against a tool's schema.

Its texts hold the value and the schema around it, so they are composed from path and keyword.
"""

from __future__ import annotations

from typing import Final

from toolfault._meanings.rows import permanent
from toolfault._verdict import Rule
from toolfault.rules.pydantic import misfit


_SCHEMA: Final = permanent("The tool uses a JSON Schema that is not valid", family="data")

RULES: Final[dict[str, Rule]] = {
    "jsonschema.exceptions._Error": misfit,
    "jsonschema.exceptions.SchemaError": _SCHEMA,
    "jsonschema.exceptions.ValidationError": misfit,
    **{
        f"{module}.{name}": _SCHEMA
        for module, names in {
            "jsonschema.exceptions": (
                "_RefResolutionError",
                "FormatError",
                "UndefinedTypeCheck",
                "UnknownType",
            ),
            "referencing.exceptions": (
                "CannotDetermineSpecification",
                "NoInternalID",
                "NoSuchResource",
                "Unresolvable",
                "Unretrievable",
            ),
        }.items()
        for name in names
    },
}

IGNORED: Final = frozenset[str]()
