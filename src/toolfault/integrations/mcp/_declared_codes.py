"""
Publish the codes that a tool declares, and compare them with its failures.

Codes are declared on the tool's function and published in its ``_meta``.

Rule 1: codes in a tool's own ``_meta`` take precedence.
Rule 2: a failure with another code is sent unchanged, and logged once for each tool and code.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Final

from mcp.types import CallToolResult

from toolfault import McpErrorCode, McpExecuteError
from toolfault.hosting import MEANINGS, META_KEY, META_VERSION, log
from toolfault.integrations.mcp._compat import STRUCTURED


#: Where `guarded` leaves a tool's codes for `install`.
FAILS_WITH: Final = "__toolfault_fails_with__"

#: How many tools and codes are remembered as logged; declared tools are few.
_MAX_SEEN: Final = 4096


def codes_of(fails_with: Iterable[McpErrorCode | str]) -> tuple[str, ...]:
    """
    Return the codes that an author listed, as texts of the wire, without duplicates.

    Raises:
        ValueError: A code is not valid, or is ``unknown``, which no server sends.
    """
    if isinstance(fails_with, str):
        raise ValueError(f"fails_with is a list; write [{str(fails_with)!r}]")
    # The envelope knows its codes, and says which there are.
    codes = [McpExecuteError.new(code, "-").code for code in fails_with]
    if McpErrorCode.UNKNOWN in codes:
        raise ValueError(
            "fails_with can't list 'unknown': it is a reader's word, and no server sends it"
        )
    return tuple(dict.fromkeys(code.value for code in codes))


def codes_of_function(function: object) -> tuple[str, ...]:
    """
    Return the codes that a function declares; empty if there are none.
    """
    return getattr(function, FAILS_WITH, ())


def codes_in_meta(meta: Any) -> tuple[str, ...]:
    """
    Return the codes that a tool's ``_meta`` declares; empty if there are none.
    """
    ours: Any = meta.get(META_KEY) if isinstance(meta, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- anybody's
    codes: Any = ours.get("fails_with") if isinstance(ours, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- anybody's
    return tuple(map(str, codes)) if isinstance(codes, list | tuple) else ()  # pyright: ignore[reportUnknownArgumentType] -- anybody's


def publish_codes(tool: Any, codes: tuple[str, ...]) -> Any:
    """
    Return a listed tool with the codes of its function in its ``_meta``.

    The same tool is returned if there are no codes, or if its ``_meta`` has some already.
    """
    meta: Any = getattr(tool, "meta", None)
    if not codes or codes_in_meta(meta):
        return tool
    known: dict[str, Any] = dict(meta or {})
    ours: Any = known.get(META_KEY)
    known[META_KEY] = {
        **(ours if isinstance(ours, dict) else {}),
        "v": META_VERSION,
        "fails_with": list(codes),
    }
    return tool.model_copy(update={"meta": known})


class Watch:
    """
    The failures of one server that were not declared.
    """

    def __init__(self) -> None:
        self._seen: set[tuple[str, str]] = set()

    def notice(
        self, tool: str, code: str, codes: tuple[str, ...], *, adapter: bool = False
    ) -> None:
        """
        Log a code that the tool does not declare, the first time.

        Args:
            tool: The tool that failed.
            code: What it failed with.
            codes: What it declares; empty if nothing.
            adapter: Whether the guard itself found the failure: an unknown name, refused arguments
                or its own timeout. These need no declaration, and neither do crashes.
        """
        if not codes or adapter or not code or code in codes or code == McpErrorCode.TOOL_PANICKED:
            return
        if (tool, code) in self._seen or len(self._seen) >= _MAX_SEEN:
            return
        self._seen.add((tool, code))
        log.warning(
            "Tool %r failed with %s, and declares only %s", tool[:128], code[:128], ", ".join(codes)
        )


def code_of(result: CallToolResult) -> str:
    """
    Return the code of an error result that carries an envelope; empty if there is none.
    """
    for envelope in (
        getattr(result, STRUCTURED),
        _member((result.meta or {}).get(META_KEY), "error"),
    ):
        code = _member(envelope, "code")
        if isinstance(code, str):
            return code
    return ""


async def describe_codes(source: Any) -> str:
    """
    Return a Markdown table of the codes that the tools of a server declare.

    Category and retryable are the codes' defaults; a single failure may differ in either.

    Args:
        source: A guarded `MCPServer`, a guarded low-level `Server` (its lifespan runs, since its
            tools are listed over a session), or a list of tools as a client gets it.

    Raises:
        TypeError: It is none of these.
    """
    rows = [
        _row(str(_member(tool, "name")), envelope)
        for tool in await _tools_of(source)
        for envelope in _envelopes(codes_in_meta(_member(tool, "meta", "_meta")))
    ]
    if not rows:
        return "No tool declares what it fails with.\n"
    head = ["| tool | code | meaning | category | retryable |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *rows, ""])


def _row(tool: str, envelope: McpExecuteError) -> str:
    again = "yes" if envelope.retryable else "no"
    cells = [
        f"`{tool.replace('|', '&#124;')}`",
        f"`{envelope.code.value}`",
        MEANINGS[envelope.code],
    ]
    return f"| {' | '.join([*cells, envelope.category.value, again])} |"


def _envelopes(codes: tuple[str, ...]) -> Iterable[McpExecuteError]:
    for code in codes:
        # What another server declares in its own words has no meaning here.
        if code in MEANINGS and code != McpErrorCode.UNKNOWN:
            yield McpExecuteError.new(code, "-")


async def _tools_of(source: Any) -> Iterable[Any]:
    if isinstance(source, Iterable):
        return source  # pyright: ignore[reportUnknownVariableType] -- anybody's
    if not hasattr(source, "get_request_handler"):
        listing = source.list_tools()
        if not inspect.isawaitable(listing):
            raise TypeError(
                "declared takes a guarded server or a list of tools, not"
                f" {type(source).__qualname__}"
            )
        tools: list[Any] = await listing
        return tools
    from mcp import Client  # noqa: PLC0415 -- mcp 1.x has none

    found: list[Any] = []
    async with Client(source) as client:
        page = await client.list_tools()
        found += page.tools
        while page.next_cursor:
            page = await client.list_tools(cursor=page.next_cursor)
            found += page.tools
    return found


def _member(tool: Any, *names: str) -> Any:
    for name in names:
        value = tool.get(name) if isinstance(tool, Mapping) else getattr(tool, name, None)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- anybody's
        if value is not None:
            return value  # pyright: ignore[reportUnknownVariableType] -- anybody's
    return None
