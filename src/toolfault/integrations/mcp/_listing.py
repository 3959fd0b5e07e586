"""
What a low-level server listed last, and whether a call fits it.

Rule 1: what fits is let through without asking again; a call is refused only by a listing that was
made for it.
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

from toolfault.hosting import Check, quick
from toolfault.integrations.mcp._compat import INPUT_SCHEMA
from toolfault.integrations.mcp._declared import declared_in


_log = logging.getLogger("toolfault")

#: How many things that are wrong with one call's arguments are looked at.
_MAX_ERRORS: Final = 100


def _anything(_arguments: object) -> bool:
    return True


class Listed:
    """
    One tool as it was listed.
    """

    __slots__ = ("fits", "input_schema", "tool", "validator")

    def __init__(self, tool: Tool, before: Listed | None = None) -> None:
        """
        Take a tool; what was made of the same schema before is kept.
        """
        self.tool = tool
        schema: dict[str, Any] = getattr(tool, INPUT_SCHEMA)
        same = before if before is not None and before.input_schema == schema else None
        # A copy: the author's own may change in its place.
        self.input_schema: dict[str, Any] = (
            copy.deepcopy(schema) if same is None else same.input_schema
        )
        # Both are made at the first call.
        self.fits: Check | None = None if same is None else same.fits
        self.validator: Any = None if same is None else same.validator

    @property
    def codes(self) -> tuple[str, ...]:
        """
        Return what the tool's own ``_meta`` declares to fail with.
        """
        return declared_in(self.tool.meta)

    def refused(self, arguments: dict[str, Any]) -> ValidationError | None:
        """
        Return what is wrong with arguments, all of it below one error. None: nothing, or nobody can
        tell.
        """
        if (self.fits or self._compiled())(arguments) or self.validator is None:
            return None
        try:
            errors: list[Any] = list(islice(self.validator.iter_errors(arguments), _MAX_ERRORS))
        except Exception:  # noqa: BLE001 -- a reference that leads nowhere shows only here
            self._unusable()
            return None
        return (
            ValidationError("the arguments do not fit the tool's inputSchema", context=errors)
            if errors
            else None
        )

    def _compiled(self) -> Check:
        try:
            cls: Any = validator_for(self.input_schema, default=Draft202012Validator)
            cls.check_schema(self.input_schema)
            # Nothing is fetched for a reference to elsewhere.
            self.validator = cls(self.input_schema, registry=EMPTY_REGISTRY)
            self.fits = quick(self.input_schema)
        except Exception:  # noqa: BLE001 -- whatever a schema holds that is none
            self._unusable()
        return self.fits or _anything

    def _unusable(self) -> None:
        self.fits, self.validator = _anything, None
        _log.warning(
            "Tool %r: its inputSchema is not valid, so arguments are not checked",
            self.tool.name[:128],
            exc_info=True,
        )


class Listing:
    """
    The tools of one listing.
    """

    __slots__ = ("tools",)

    def __init__(
        self, tools: Iterable[Tool] = (), before: Listing | None = None, *, page: bool = False
    ) -> None:
        """
        Take a listing; what did not change since the one before keeps what was made of it.

        Args:
            tools: What was listed.
            before: The listing before.
            page: Whether it is a part of a listing, to which what was listed before still belongs.
        """
        known = dict[str, Listed]() if before is None else before.tools
        fresh = {tool.name: Listed(tool, known.get(tool.name)) for tool in tools}
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
