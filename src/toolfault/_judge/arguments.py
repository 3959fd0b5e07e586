"""
Judging what never reached the tool's body, or did not fit its output: names, arguments, results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolfault._codes import McpErrorCode
from toolfault._judge.case import INTERNAL, Case, Finding
from toolfault._judge.deliberate import is_raised_by_author, purpose_of
from toolfault._meanings.violations import (
    MAX_FIELD,
    MAX_NAMED,
    MAX_VIOLATIONS,
    has_many,
    listing_of,
    violations_with_values,
)
from toolfault._text import one_line
from toolfault._verdict import Verdict, replace


#: How much of a tool's name is shown, in bytes.
_MAX_NAME: Final = 128

#: How many names an unknown one is looked for in, how many of them are compared with it letter by
#: letter, which is slow, and how many letters of each.
_MAX_AVAILABLE: Final = 5_000
_MAX_COMPARED: Final = 32
_MAX_LETTERS: Final = 64


def nearest(given: str, names: Iterable[str], *, most: int) -> list[str]:
    """
    Return the names that are like a given one, the nearest first.

    Args:
        given: What was given instead of a name.
        names: The names there are.
        most: How many are returned at most.
    """
    import difflib  # noqa: PLC0415 -- at first use: it costs as much to load as half of ours

    given = given[:_MAX_LETTERS]
    pairs = _pairs(given)
    alike = sorted(names, key=lambda name: -len(pairs & _pairs(name[:_MAX_LETTERS])))
    compared: dict[str, str] = {}
    for name in alike[:_MAX_COMPARED]:
        compared.setdefault(name[:_MAX_LETTERS], name)
    return [
        compared[name] for name in difflib.get_close_matches(given, compared, n=most, cutoff=0.6)
    ]


def _pairs(text: str) -> set[str]:
    return {text[at : at + 2] for at in range(len(text) - 1)}


def judge_unknown_tool(case: Case, exc: BaseException) -> Finding:
    """
    Return the finding for a name that no tool has, with the names nearest to it.
    """
    tool = _tool_name(case)
    names = {name.lower(): name for name in case.call.available[:_MAX_AVAILABLE]}
    near = [names[name] for name in nearest(tool.lower(), names, most=3)]
    hint = "Call tools/list for the names there are."
    if near:
        hint = f"Did you mean {' or '.join(map(repr, near))}? {hint}"
    verdict = Verdict(
        code=McpErrorCode.TOOL_NOT_FOUND,
        sentence=f"Unknown tool: {tool}",
        hint=hint,
        origin="adapter",
    )
    return Finding(verdict=verdict, leaf=exc, reason="no such tool", deliberate=True)


def _tool_name(case: Case) -> str:
    return one_line(case.policy.redactor.scrub(case.call.tool, _MAX_NAME)) or "(no name)"


def judge_arguments(case: Case, exc: BaseException, found: list[dict[str, Any]]) -> Finding:
    """
    Return the finding for arguments that do not fit the tool's schema.

    Args:
        case: The call.
        exc: The validation error.
        found: Its violations.
    """
    verdict = Verdict(
        code=McpErrorCode.INVALID_ARGUMENTS,
        sentence=arguments_message(found, _tool_name(case)),
        hint=nearest_allowed(exc),
        origin="adapter",
    )
    return Finding(
        verdict=verdict,
        leaf=exc,
        reason="arguments refused",
        deliberate=True,
        violations=tuple(found),
    )


def judge_output(exc: BaseException, found: list[dict[str, Any]]) -> Finding:
    """
    Return the finding for a result that does not fit the tool's declared output.
    """
    what = "; ".join(f"`{item['field']}`: {item['message']}" for item in found[:MAX_NAMED])
    message = f"The tool returned a value that does not fit its declared output ({what})."
    verdict = replace(INTERNAL, sentence=message, origin="tool")
    return Finding(verdict=verdict, leaf=exc, reason="output conversion", crash=True)


def find_crashed_validator(
    case: Case, exc: BaseException, found: list[dict[str, Any]]
) -> BaseException | None:
    """
    Return the exception that a validator of the author's own did not raise on purpose.

    Args:
        case: The call.
        exc: The validation error.
        found: Its violations.
    """
    is_whole = len(found) < MAX_VIOLATIONS or has_many(exc)
    if is_whole and not any(item["rule"] == "value_error" for item in found):
        return None
    errors: Any = getattr(exc, "errors", None)
    try:
        listed = errors(include_url=False, include_input=False)
    except Exception:  # noqa: BLE001 -- then there is nothing to look into
        return None
    for item in listed:
        # pydantic keeps what a validator raised; an assert in one is its idiom for a refusal.
        if item.get("type") != "value_error":
            continue
        original = item.get("ctx", {}).get("error")
        if not isinstance(original, BaseException):
            continue
        if (
            is_raised_by_author(original, case.modules)
            and not purpose_of(original, case.modules).deliberate
        ):
            return original
    return None


def arguments_message(found: Iterable[Mapping[str, Any]], tool: str) -> str:
    """
    Return the message about refused arguments.

    Args:
        found: What `violations` returned.
        tool: The tool's name.
    """
    items = list(found)
    count = len({_root(item) for item in items})
    were = f"{count} arguments of {tool!r} were" if count != 1 else f"1 argument of {tool!r} was"
    return f"{were} refused: {listing_of(items)}."


def _root(item: Mapping[str, Any]) -> str:
    return str(item.get("field") or "").partition("[")[0].partition(".")[0]


def nearest_allowed(exc: BaseException) -> str | None:
    """
    Return a hint that names the allowed values nearest to those given; None if none is near.
    """
    if has_many(exc):
        return None
    hints = [hint for item in violations_with_values(exc) if (hint := _nearest_in(item))]
    return " ".join(hints[:MAX_NAMED]) or None


def _nearest_in(item: Mapping[str, Any]) -> str:
    """
    Return the hint for one violation; "" if no allowed value is near.
    """
    given = item.get("value")
    if not isinstance(given, str) or len(given) > MAX_FIELD:
        return ""
    allowed = {
        value.casefold(): value for value in item.get("allowed", ()) if isinstance(value, str)
    }
    near = nearest(given.casefold(), allowed, most=1)
    if not near:
        return ""
    field = f" for `{item['field']}`" if item["field"] else ""
    return f"Did you mean {allowed[near[0]]!r}{field}?"
