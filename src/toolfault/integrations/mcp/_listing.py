"""
What a low-level server listed last, and whether a call fits it.

Rule 1: what fits is let through without asking again; a call is refused only by a listing that was made for it.
Rule 2: a schema that can't be used checks nothing.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import validator_for
from mcp.types import Tool
from referencing.jsonschema import EMPTY_REGISTRY

from toolfault.integrations.mcp._declared import declared_in
from toolfault.integrations.mcp._majors import INPUT_SCHEMA


_log = logging.getLogger("toolfault")

#: How many things that are wrong with one call's arguments are looked at.
_MAX_ERRORS: Final = 100

#: Schemas that anything fits.
_ANYTHING: Final[tuple[dict[str, Any], ...]] = ({}, {"type": "object"}, {"type": "object", "properties": {}})


class Listed:
    """
    One tool as it was listed.
    """

    __slots__ = ("_compiled", "_validator", "input_schema", "tool")

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        # A copy: the author's own may change in its place.
        self.input_schema: dict[str, Any] = copy.deepcopy(getattr(tool, INPUT_SCHEMA))
        self._compiled = self.input_schema in _ANYTHING
        self._validator: Any = None

    def with_validator_of(self, known: Listed) -> Listed:
        """
        Return this tool, with the validator that was made for the same schema.
        """
        if known.input_schema == self.input_schema:
            self._compiled, self._validator = known._compiled, known._validator
        return self

    @property
    def codes(self) -> tuple[str, ...]:
        """
        Return what the tool's own ``_meta`` declares to fail with.
        """
        return declared_in(self.tool.meta)

    def refused(self, arguments: dict[str, Any]) -> ValidationError | None:
        """
        Return what is wrong with arguments, all of it below one error. None: nothing, or nobody can tell.
        """
        if not self._compiled:
            self._compile()
        if self._validator is None:
            return None
        try:
            errors: list[Any] = list(islice(self._validator.iter_errors(arguments), _MAX_ERRORS))
        except Exception:  # noqa: BLE001 -- a reference that leads nowhere shows only here
            self._unusable()
            return None
        return ValidationError("the arguments do not fit the tool's inputSchema", context=errors) if errors else None

    def _compile(self) -> None:
        self._compiled = True
        try:
            cls: Any = validator_for(self.input_schema, default=Draft202012Validator)
            cls.check_schema(self.input_schema)
            # Nothing is fetched for a reference to elsewhere.
            self._validator = cls(self.input_schema, registry=EMPTY_REGISTRY)
        except Exception:  # noqa: BLE001 -- whatever a schema holds that is none
            self._unusable()

    def _unusable(self) -> None:
        self._validator = None
        _log.warning(
            "Tool %r: its inputSchema is not valid, so arguments are not checked", self.tool.name[:128], exc_info=True
        )


class Listing:
    """
    The tools of one listing.
    """

    __slots__ = ("tools",)

    def __init__(self, tools: Iterable[Tool] = (), before: Listing | None = None, *, page: bool = False) -> None:
        """
        Take a listing; what did not change since the one before keeps what was made of it.

        Args:
            tools: What was listed.
            before: The listing before.
            page: Whether it is a part of a listing, to which what was listed before still belongs.
        """
        known = dict[str, Listed]() if before is None else before.tools
        fresh = {tool.name: _kept(tool, known.get(tool.name)) for tool in tools}
        self.tools: dict[str, Listed] = {**known, **fresh} if page else fresh

    def get(self, name: str) -> Listed | None:
        """
        Return a tool. None: it was not listed.
        """
        return self.tools.get(name)

    def names(self) -> tuple[str, ...]:
        """
        Return the tools' names, in their order.
        """
        return tuple(self.tools)


def _kept(tool: Tool, known: Listed | None) -> Listed:
    made = Listed(tool)
    return made if known is None else made.with_validator_of(known)
