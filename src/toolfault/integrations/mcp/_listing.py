"""
Keep what a server listed last, and check calls against it.

Rule 1: arguments that fit are let through without another listing; a call is refused only by a
listing that was made for it.
Rule 2: a schema that is not valid is reported once. On mcp 2.x, whose low-level server checks
nothing, its tool is called unchecked; on mcp 1.x, whose server fails each such call, it fails.
Rule 3: arguments that can't be judged are refused, whatever the reason, and change nothing for the
next call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from jsonschema import ValidationError
from mcp.types import Tool

from toolfault import McpErrorCode, ToolFault
from toolfault.hosting import BoundedValidator, log
from toolfault.integrations.mcp._compat import INPUT_SCHEMA, IS_1, copy_schema
from toolfault.integrations.mcp._declared_codes import codes_in_meta


_UNDECIDED: Final = (
    "The arguments can't be checked against the tool's inputSchema. Nest them less deeply, or send"
    " less at once."
)


class _Checker:
    """
    The validator of one input schema, and whether its flaw was reported.
    """

    __slots__ = ("is_reported", "schema", "validator")

    def __init__(self, schema: dict[str, Any]) -> None:
        # A copy: the author may change the original in place.
        self.schema: dict[str, Any] = copy_schema(schema)
        self.validator: BoundedValidator | None = None
        self.is_reported = False

    def errors(self, arguments: dict[str, Any], tool: str) -> Exception | None:
        """
        Return the error in arguments, or None.
        """
        validator = self.validator
        if validator is None:
            # At the first call: most tools are never called.
            validator = self.validator = BoundedValidator(self.schema, is_lenient=True)
        fits = validator.fits(arguments)
        if validator.flaw is not None:
            return self._broken(validator.flaw, tool)
        if validator.unresolved:
            self._report("a reference in it can't be resolved", tool)
        if fits:
            return None
        errors = validator.errors(arguments)
        if not errors:
            return ToolFault(McpErrorCode.INVALID_ARGUMENTS, _UNDECIDED, outcome="not_executed")
        error: Exception = ValidationError(
            "the arguments do not fit the tool's inputSchema", context=errors
        )
        return error

    def _report(self, reason: str, tool: str) -> None:
        if not self.is_reported:
            self.is_reported = True
            log.warning("Tool %r: its inputSchema is not valid (%s)", tool[:128], reason[:256])

    def _broken(self, flaw: Exception, tool: str) -> Exception | None:
        self._report(str(flaw).split("\n", 1)[0], tool)
        if not IS_1:
            return None
        return ToolFault(
            McpErrorCode.INTERNAL,
            "The tool's inputSchema is not valid, so no call of it can be checked."
            " The server's author has to correct it.",
            outcome="not_executed",
        )


class Listed:
    """
    One tool as it was listed.
    """

    __slots__ = ("checker", "tool")

    def __init__(self, tool: Tool, before: Listed | None = None) -> None:
        """
        Take a tool, and what was compiled from the same schema before.
        """
        self.tool = tool
        schema: dict[str, Any] = getattr(tool, INPUT_SCHEMA)
        same = before is not None and before.checker.schema == schema
        self.checker: _Checker = before.checker if before and same else _Checker(schema)

    @property
    def codes(self) -> tuple[str, ...]:
        """
        Return the codes that the tool's own ``_meta`` declares.
        """
        return codes_in_meta(self.tool.meta)

    def check_arguments(self, arguments: dict[str, Any]) -> Exception | None:
        """
        Return one error whose context lists all that is wrong with arguments, or None.

        None means that nothing is, or that the schema can't be used.
        """
        return self.checker.errors(arguments, self.tool.name)


class Listing:
    """
    The tools of one listing.
    """

    __slots__ = ("tools",)

    def __init__(
        self, tools: Iterable[Tool] = (), before: Listing | None = None, *, page: bool = False
    ) -> None:
        """
        Take a listing; a schema that did not change keeps its validator.

        Args:
            tools: What was listed.
            before: The listing before.
            page: Whether it is one page; the tools that were listed before stay then.
        """
        known = dict[str, Listed]() if before is None else before.tools
        fresh = {tool.name: Listed(tool, known.get(tool.name)) for tool in tools}
        self.tools: dict[str, Listed] = {**known, **fresh} if page else fresh

    def get(self, name: str) -> Listed | None:
        """
        Return a tool; None if it was not listed.
        """
        return self.tools.get(name)

    def names(self) -> tuple[str, ...]:
        """
        Return the names of the tools in their order.
        """
        return tuple(self.tools)
