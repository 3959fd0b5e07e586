"""
Which code of one vocabulary stands for which of another.

Rule 1: where two vocabularies have a table of their own, it is used; else the way leads by the
contract's ten codes.
Rule 2: a code that a table does not know has the table's fallback as its image.
Rule 3: no table leads to a number that may not be sent where it arrives: 4008 belongs to the
handshake of A2C-SMCP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from toolfault._codes import DEFAULTS, McpErrorCategory, McpErrorCode, fold_code
from toolfault._json import as_mapping
from toolfault._meanings import grpc, http
from toolfault._verdict import Verdict


Vocabulary = Literal["mcp", "a2c", "a2a", "protocol-droid", "problem", "grpc"]
"""
The codes of one system. ``a2a`` is the official table, ``protocol-droid`` what that crate sends
under the same name; ``problem`` has the statuses of HTTP, ``grpc`` the canonical statuses.
"""

Code = str | int
"""
A code as it stands on the wire: a word of MCP's contract, or a number of one of the others.
"""


@dataclass(frozen=True, slots=True)
class Table:
    """
    The images of one vocabulary's codes in another.

    Attributes:
        rows:
            A code, and its image.

        other:
            The image of all other codes.

        by_reason:
            For codes that mean too much: the image by the reason next to them (`reason_in`).

        other_reason:
            The image for a reason that is not known.
    """

    rows: Mapping[Code, Code]
    other: Code
    by_reason: Mapping[Code, Mapping[str, Code]] = field(
        default_factory=dict[Code, Mapping[str, Code]]
    )
    other_reason: Code = McpErrorCode.INTERNAL.value

    def image(self, code: Code, reason: str | None) -> Code:
        """
        Return the image of a code.
        """
        if reason is not None and (reasons := self.by_reason.get(code)) is not None:
            return reasons.get(reason, self.other_reason)
        return self.rows.get(code, self.other)


def _invert(groups: dict[Code, tuple[Code, ...]]) -> dict[Code, Code]:
    return {code: image for image, codes in groups.items() for code in codes}


_NOT_FOUND: Final = McpErrorCode.TOOL_NOT_FOUND.value
_TIMEOUT: Final = McpErrorCode.TOOL_TIMEOUT.value
_ARGUMENTS: Final = McpErrorCode.INVALID_ARGUMENTS.value
_DENIED: Final = McpErrorCode.PERMISSION_DENIED.value
_QUOTA: Final = McpErrorCode.QUOTA_EXCEEDED.value
_UNREACHABLE: Final = McpErrorCode.MCP_SERVER_UNREACHABLE.value
_INTERNAL: Final = McpErrorCode.INTERNAL.value
_UNKNOWN: Final = McpErrorCode.UNKNOWN.value

#: The two vocabularies of A2A agree on what JSON-RPC itself assigns.
_A2A_TO_MCP: Final[dict[Code, tuple[Code, ...]]] = {
    _INTERNAL: (-32700, -32600, -32603),
    _NOT_FOUND: (-32601,),
    _ARGUMENTS: (-32602,),
}
_A2A_TO_A2C: Final[dict[Code, tuple[Code, ...]]] = {
    400: (-32700, -32600, -32602),
    404: (-32601,),
    500: (-32603,),
}

#: Why a file or a blob was refused: 4017, 4018, 4019.
_REFUSED: Final[Mapping[str, Code]] = {
    **dict.fromkeys(
        ("traversal", "not_found", "too_large", "invalid_handle", "gone", "range"), _ARGUMENTS
    ),
    **dict.fromkeys(("invalid_upload", "invalid_declaration", "integrity"), _ARGUMENTS),
    "forbidden": _DENIED,
    "busy": _QUOTA,
    "io_error": _INTERNAL,
}

#: What an error of A2A means that has no number of its own, but came with a status of HTTP or gRPC.
_TOLD_TO_MCP: Final[Mapping[str, Code]] = {
    "UNAUTHENTICATED": _DENIED,
    "PERMISSION_DENIED": _DENIED,
    "RESOURCE_EXHAUSTED": _QUOTA,
    "DEADLINE_EXCEEDED": _TIMEOUT,
    "UNAVAILABLE": _UNREACHABLE,
}
_TOLD_TO_A2C: Final[Mapping[str, Code]] = {
    "UNAUTHENTICATED": 4006,
    "PERMISSION_DENIED": 4007,
    "RESOURCE_EXHAUSTED": 4003,
    "DEADLINE_EXCEEDED": 4004,
    "UNAVAILABLE": 4003,
}

#: "Internal error" of A2A, and what stands for all that has no number there.
A2A_INTERNAL: Final = -32603

_TABLES: Final[Mapping[tuple[Vocabulary, Vocabulary], Table]] = {
    ("mcp", "a2a"): Table({_NOT_FOUND: -32004, _ARGUMENTS: -32602}, other=-32603),
    # It answers -32601 for what is known and not supported. Its two codes for authentication speak
    # of credentials, not of what a known caller may do.
    ("mcp", "protocol-droid"): Table({_NOT_FOUND: -32601, _ARGUMENTS: -32602}, other=-32603),
    ("mcp", "a2c"): Table(
        {
            _NOT_FOUND: 4001,
            _TIMEOUT: 4004,
            _ARGUMENTS: 400,
            _DENIED: 4007,
            _INTERNAL: 500,
            _UNKNOWN: 500,
        },
        other=4003,
    ),
    ("a2a", "mcp"): Table(
        {
            **_invert(_A2A_TO_MCP),
            -32001: _ARGUMENTS,
            -32002: _ARGUMENTS,
            -32003: _NOT_FOUND,
            -32004: _NOT_FOUND,
            -32005: _ARGUMENTS,
            -32006: _UNREACHABLE,
            -32007: _NOT_FOUND,
            -32008: _ARGUMENTS,
            -32009: _INTERNAL,
        },
        other=_UNKNOWN,
        by_reason={A2A_INTERNAL: _TOLD_TO_MCP},
    ),
    ("a2a", "a2c"): Table(
        {
            **_invert(_A2A_TO_A2C),
            -32001: 404,
            -32002: 400,
            -32003: 4015,
            -32004: 4015,
            -32005: 400,
            -32006: 4003,
            -32007: 4015,
            -32008: 4015,
            -32009: 4003,
        },
        other=500,
        by_reason={A2A_INTERNAL: _TOLD_TO_A2C},
        other_reason=500,
    ),
    ("protocol-droid", "mcp"): Table(
        {**_invert(_A2A_TO_MCP), -32000: _ARGUMENTS, -32001: _DENIED, -32002: _DENIED},
        other=_UNKNOWN,
    ),
    ("protocol-droid", "a2c"): Table(
        {**_invert(_A2A_TO_A2C), -32000: 400, -32001: 4006, -32002: 4007}, other=500
    ),
    ("a2c", "mcp"): Table(
        _invert(
            {
                _ARGUMENTS: (400, 4016, 4017, 4018, 4019, 4101, 4102, 4103, 4105, 4106),
                _DENIED: (401, 403, 4005, 4006, 4007, 4104),
                _NOT_FOUND: (404, 4001, 4002, 4014, 4015),
                _TIMEOUT: (408, 4004),
                _INTERNAL: (500, 4003, 4008),
            }
        ),
        other=_UNKNOWN,
        by_reason=dict.fromkeys((4017, 4018, 4019), _REFUSED),
    ),
    ("mcp", "problem"): Table(
        {
            _NOT_FOUND: 404,
            _TIMEOUT: 504,
            _ARGUMENTS: 422,
            _DENIED: 403,
            _QUOTA: 429,
            _UNREACHABLE: 502,
        },
        other=500,
    ),
    ("problem", "mcp"): Table(
        {status: row.code.value for status, row in http.STATUS.items()}, other=_UNKNOWN
    ),
    ("mcp", "grpc"): Table(
        {
            _NOT_FOUND: 5,
            _TIMEOUT: 4,
            _ARGUMENTS: 3,
            _DENIED: 7,
            _QUOTA: 8,
            _UNREACHABLE: 14,
            _UNKNOWN: 2,
        },
        other=13,
    ),
    ("grpc", "mcp"): Table(
        {number: row.code.value for number, row in enumerate(grpc.STATUS.values()) if number},
        other=_UNKNOWN,
    ),
    ("a2c", "a2a"): Table(
        _invert(
            {
                -32602: (400, 404, 4016, 4017, 4018, 4019),
                -32004: (4001, 4002, 4005, 4014, 4015),
                -32009: (4008,),
            }
        ),
        other=-32603,
    ),
}

#: Codes that mean something else than the defaults of their image say.
_OVERRIDES: Final[Mapping[tuple[Vocabulary, Code], tuple[McpErrorCategory, bool]]] = {
    # The agent was reached; what it answered makes no sense, and will make none the next time.
    ("a2a", -32006): (McpErrorCategory.PERMANENT, False),
}

#: The tables whose rows say for themselves whether another attempt may help.
_ROWS: Final[Mapping[Vocabulary, Callable[[int], Verdict]]] = {
    "problem": http.row_for,
    "grpc": grpc.row_for,
}


def translate(
    code: Code, source: Vocabulary, target: Vocabulary, reason: str | None = None
) -> Code:
    """
    Return the code of another vocabulary that stands for a code.

    Args:
        code: A code of *source*, assigned or not.
        source: Whose code it is.
        target: In whose words it is wanted.
        reason: What `reason_in` finds beside it. None: nothing.
    """
    if source == target:
        return _fold(code).value if source == "mcp" else code
    if source == "mcp":
        code = _fold(code).value
    if (table := _TABLES.get((source, target))) is not None:
        return table.image(code, reason)
    return translate(translate(code, source, "mcp", reason), "mcp", target)


def _fold(code: Code) -> McpErrorCode:
    return fold_code(str(code), "0.48")


def comes_back(
    code: Code, source: Vocabulary, target: Vocabulary, reason: str | None = None
) -> bool:
    """
    Tell whether the table alone leads back to a code. False: without a record it is lost.
    """
    return translate(translate(code, source, target, reason), target, source) == code


def meaning(
    code: Code, source: Vocabulary, reason: str | None = None
) -> tuple[McpErrorCode, McpErrorCategory, bool]:
    """
    Return the meaning of a code in the contract's terms: code, category, retryable.
    """
    known = _fold(translate(code, source, "mcp", reason))
    if (rows := _ROWS.get(source)) is not None and isinstance(code, int):
        row = rows(code)
        return known, row.category or DEFAULTS[known][0], bool(row.retryable)
    category, retryable = _OVERRIDES.get((source, code), DEFAULTS[known])
    return known, category, retryable


def reason_in(body: Any, source: Vocabulary) -> str | None:
    """
    Return the reason that tells the meanings of one code apart, or None.

    In a payload of A2C-SMCP it is ``details.reason``, in an original of A2A the ``status`` that
    came with it.
    """
    holder: Any = as_mapping(body)
    if source == "a2c":
        holder = as_mapping(holder.get("details"))
    name = {"a2c": "reason", "a2a": "status"}.get(source)
    reason = holder.get(name)
    return reason if isinstance(reason, str) else None
