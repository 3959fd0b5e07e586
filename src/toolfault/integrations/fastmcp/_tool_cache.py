"""
Cache the validators and the widened schemas of one server's tools.
"""

from __future__ import annotations

from typing import Any, Final

from fastmcp.tools.base import Tool, ToolResult

from toolfault import McpErrorCode, ToolFault
from toolfault.hosting import META_KEY, META_VERSION, BoundedValidator, log, widen_schema
from toolfault.integrations.fastmcp._call import Key, ToolInfo


#: Where ``guarded`` leaves the codes that a tool declares to fail with.
FAILS_WITH: Final = "__toolfault_fails_with__"

#: How many tools of a server are kept.
_MAX_TOOLS: Final = 4096


class ToolCache:
    """
    The cache of one server's tools, which keeps the costs of a successful call low.
    """

    __slots__ = ("checks", "listed", "ordered", "own", "undeclared")

    def __init__(self) -> None:
        self.undeclared: set[tuple[str, str]] = set()
        self.ordered = -1
        self.checks: dict[Key, Checks] = {}
        self.listed: dict[object, tuple[dict[str, Any], dict[str, Any] | None]] = {}
        self.own: dict[object, tuple[dict[str, Any], dict[str, Any] | None]] = {}

    def remember(self, key: Key, checks: Checks) -> Checks:
        """
        Keep and return the checks of a tool.
        """
        # Unknown names are not kept: callers can make up any number of them.
        if checks.known.tool is not None:
            if len(self.checks) >= _MAX_TOOLS:
                self.checks.clear()
            self.checks[key] = checks
        return checks

    def widen(
        self, key: object, schema: dict[str, Any], *, listed: bool = False
    ) -> dict[str, Any] | None:
        kept = self.listed if listed else self.own
        known = kept.get(key)
        # A replaced tool has another schema; a mounted tool has a new copy in each listing.
        if known is None or (known[0] is not schema and known[0] != schema):
            if len(kept) >= _MAX_TOOLS:
                kept.clear()
            known = kept[key] = (schema, widen_schema(schema))
            if known[1] is None:
                log.info(
                    "Tool %r: its outputSchema has no room for the envelope, which goes into _meta",
                    key,
                )
        return known[1]

    def notice(self, name: str, fault: ToolFault, declared: tuple[str, ...]) -> None:
        """
        Log a code that a tool does not declare, the first time.

        Crashes and failures that the middleware itself finds need no declaration.
        """
        code = fault.code
        if not declared or code in declared or code is McpErrorCode.TOOL_PANICKED:
            return
        if fault.facts.get("origin") == "adapter" or (name, code) in self.undeclared:
            return
        if len(self.undeclared) < _MAX_TOOLS:
            self.undeclared.add((name, code))
            log.warning(
                "Tool %r failed with %s, and declares only %s",
                name[:128],
                code.value,
                ", ".join(declared),
            )


def publish_codes(tool: Tool) -> Tool:
    """
    Return a listed tool with what its function declares to fail with in its ``_meta``.
    """
    codes: tuple[str, ...] = getattr(getattr(tool, "fn", None), FAILS_WITH, ())
    meta: dict[str, Any] = tool.meta or {}
    if not codes or META_KEY in meta:
        return tool
    return tool.model_copy(
        update={"meta": {**meta, META_KEY: {"v": META_VERSION, "fails_with": list(codes)}}}
    )


def widen_tool(tool: Tool, memory: ToolCache) -> Tool:
    if tool.output_schema is None:
        return tool
    widened = memory.widen((tool.name, tool.version), tool.output_schema, listed=True)
    return tool if widened is None else tool.model_copy(update={"output_schema": widened})


class Checks:
    """
    The output schema of a tool; FastMCP's clients reject results that do not fit it.
    """

    __slots__ = ("_validator", "_wraps", "known")

    def __init__(self, known: ToolInfo) -> None:
        """
        Take what is known of a tool.
        """
        self.known = known
        schema = None if known.tool is None else known.tool.output_schema
        self._wraps = False
        self._validator: BoundedValidator | None = None
        # The clients of a proxied server check the results of its tools themselves.
        if schema is None or known.proxied:
            return
        self._wraps = schema.get("type") != "object"
        self._validator = BoundedValidator(schema)

    def misfit(self, result: ToolResult) -> Exception | None:
        """
        Return what is wrong with a result; None if nothing is, or if that can't be decided.
        """
        if self._validator is None:
            return None
        value: Any = result.structured_content
        if self._wraps and isinstance(value, dict) and _is_wrapped(result):
            value = value.get("result")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- a tool's
        # The tool was executed: a result that can't be judged is not taken away from its caller.
        if self._validator.fits(value) is not False:
            return None
        if value is None:
            return ToolFault(
                McpErrorCode.INTERNAL,
                "The tool returned no structured value, although it declares one.",
            )
        return next(iter(self._validator.errors(value)), None)


def _is_wrapped(result: ToolResult) -> bool:
    mine: Any = (result.meta or {}).get("fastmcp")
    return isinstance(mine, dict) and mine.get("wrap_result") is True  # pyright: ignore[reportUnknownMemberType] -- a tool's
