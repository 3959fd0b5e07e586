"""
What all kinds of servers share: one guard, options of tools, schemas that admit an envelope.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from mcp.types import CallToolResult, Tool

from toolfault.hosting import (
    Call,
    Guard,
    GuardOptions,
    last_resort,
    log,
    log_exception,
    widen_schema,
)
from toolfault.integrations.mcp._compat import IS_1, OUTPUT_SCHEMA, copy_schema
from toolfault.integrations.mcp._declared_codes import Watch, code_of, publish_codes
from toolfault.integrations.mcp._guarded import options_of
from toolfault.integrations.mcp._results import protocol_error_for, to_call_tool_result
from toolfault.integrations.mcp._returned_results import adopt_error_result


#: How many tools' widened schemas are kept; a server whose tools change their names all the time
#: starts anew.
_MAX_SCHEMAS: Final = 4096

#: Where a function keeps the guards that its options make, by the guard of the server.
_GUARDS: Final = "__toolfault_guards__"

#: How much of a tool's name is logged, in characters.
_MAX_NAME: Final = 128


class ToolInfo(NamedTuple):
    """
    What answers need to know of a tool.
    """

    structured: bool
    """Whether its envelope may stand in ``structuredContent``."""
    codes: tuple[str, ...]
    """What it declares to fail with; empty if nothing."""


class Host:
    """
    One server's guard, and what it remembers of the server's tools.
    """

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self._watch = Watch()
        self._schemas: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {}

    def guard_for(self, function: object) -> Guard:
        """
        Return the guard with the options that a function brings; made once, and kept there.
        """
        options = options_of(function)
        if not options:
            return self.guard
        # On the function itself: its rules may hold it, and a table of ours would keep it alive.
        guards: WeakKeyDictionary[Guard, tuple[GuardOptions, Guard]] | None
        guards = getattr(function, _GUARDS, None)
        if guards is None:
            guards = WeakKeyDictionary()
            try:
                setattr(function, _GUARDS, guards)
            except Exception:  # noqa: BLE001 -- any object may be a tool
                return self.guard.with_options(**options)
        # A wrapper copies what stands on the function that it wraps.
        made_of, guard = guards.get(self.guard, (None, self.guard))
        if made_of != options:
            guard = self.guard.with_options(**options)
            guards[self.guard] = options, guard
        return guard

    # Failures

    def answer(
        self, exc: BaseException, guard: Guard, call: Call, tool: ToolInfo
    ) -> CallToolResult:
        """
        Return the answer to what a tool raised.

        Args:
            exc: What was raised.
            guard: The tool's.
            call: The call that it ended.
            tool: What the server knows of the tool.
        """
        try:
            fault = guard.judge(exc, call)
            self._watch.notice(
                call.tool, fault.code, tool.codes, adapter=fault.facts.get("origin") == "adapter"
            )
            return to_call_tool_result(guard.to_result(fault, structured=tool.structured))
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 -- a failure while reporting a failure ends in a constant
            return answer_unreportable(guard, call)

    def adopt(
        self, result: CallToolResult, guard: Guard, call: Call, tool: ToolInfo
    ) -> CallToolResult:
        """
        Return an error result that a tool returned by itself, with an envelope; see `answer`.
        """
        made = adopt_error_result(result, guard, call, structured=tool.structured)
        self._watch.notice(call.tool, code_of(made), tool.codes)
        return made

    # Schemas

    def describe_tool(self, tool: Tool, codes: tuple[str, ...]) -> Tool:
        """
        Return a tool as ``tools/list`` shows it: with a widened schema and its declared codes.
        """
        tool = publish_codes(tool, codes)
        schema: dict[str, Any] | None = getattr(tool, OUTPUT_SCHEMA)
        if schema is None or self.guard.output_schema != "widen":
            return tool
        widened = self._widen(tool.name, schema)
        return tool if widened is None else tool.model_copy(update={OUTPUT_SCHEMA: widened})

    def is_structured(self, name: str, schema: dict[str, Any] | None) -> bool:
        """
        Tell whether a tool's envelope may stand in ``structuredContent``.
        """
        if schema is None or self.guard.output_schema == "keep":
            return True
        return self.guard.output_schema == "widen" and self._widen(name, schema) is not None

    def _widen(self, name: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        known = self._schemas.get(name)
        # By their values: a handler may make its schemas anew for each listing, or change one in
        # its place.
        if known is not None and schema in known:
            return known[1]
        widened = widen_schema(schema)
        if widened is None:
            log.info(
                "Tool %r: its outputSchema has no room for the envelope, which goes into _meta",
                name[:_MAX_NAME],
            )
        if len(self._schemas) >= _MAX_SCHEMAS:
            self._schemas.clear()
        self._schemas[name] = (copy_schema(schema), widened)
        return widened


def answer_unreportable(guard: Guard, call: Call) -> CallToolResult:
    """
    Log that a failure could not be reported, and return the constant result that leaves for it.
    """
    log_exception(
        "a failure of tool %r could not be reported; the constant envelope leaves",
        guard.safe_text(call.tool[:_MAX_NAME]),
    )
    return to_call_tool_result(last_resort())


def raise_if_it_must_pass(
    exc: BaseException, guard: Guard, call: Call, *, as_results: bool = IS_1
) -> None:
    """
    Raise what must leave without a result; see `protocol_error_for`.

    Raises:
        BaseException: The exception itself if it is a cancellation; a protocol error for one that
            the tool raised.
    """
    if guard.passes(exc):
        raise exc
    if (leaving := protocol_error_for(exc, guard, call, as_results=as_results)) is not None:
        raise leaving from None
