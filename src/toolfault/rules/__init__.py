"""
What each exception class means: one table per package, as data.

A table maps the name of the place where a class is *defined* to a `toolfault._verdict.Rule`, so
nothing of the package is imported. A class that a package exports stands in its table's ``RULES``
(itself or by a base), or in its ``IGNORED``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from toolfault._registry import Registry
from toolfault._verdict import Rule
from toolfault.errors import InvalidRule


__all__ = ["DEFAULT", "TABLES", "load"]

#: The modules that hold a table; a new one must be listed here.
TABLES: Final = (
    "aiohttp",
    "anyio",
    "azure",
    "botocore",
    "builtins",
    "documents",
    "google",
    "grpc",
    "httpx",
    "jsonschema",
    "llm",
    "mcp",
    "messaging",
    "mongodb",
    "mysql",
    "postgres",
    "pydantic",
    "redis",
    "requests",
    "services",
    "sqlalchemy",
    "sqlite",
    "ssh",
    "stdlib",
    "tokens",
    "urllib3",
    "warehouse",
    "web",
    "websockets",
    "wrappers",
)


def load() -> dict[str, Rule]:
    """
    Return the rules of all tables.

    Raises:
        InvalidRule: Two tables speak for one class.
    """
    rules: dict[str, Rule] = {}
    for table in TABLES:
        own: dict[str, Rule] = import_module(f"{__name__}.{table}").RULES
        if twice := rules.keys() & own.keys():
            raise InvalidRule(
                f"{', '.join(sorted(twice))}: rules/{table} is not the first table with this rule"
            )
        rules.update(own)
    return rules


#: All rules there are; read at the first failure, not at import.
DEFAULT: Final = Registry(load=load)
