"""
The errors of protocol-droid 0.4, whose numbers contradict the official table.

Rule 1: the numbers are those of its documentation. Its fixed messages are not published: these are
ours, and no
    reader may look at them.
Rule 2: what a variant carries goes into ``data``, but for `InternalError`, whose message is the
message.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple, Self

from toolfault._json import as_mapping
from toolfault._text import encodable


__all__ = ["A2aError", "Variant", "variant_of"]


class Variant(StrEnum):
    """
    What protocol-droid calls its errors.
    """

    METHOD_NOT_FOUND = "MethodNotFound"
    METHOD_NOT_IMPLEMENTED = "MethodNotImplemented"
    INVALID_PARAMS = "InvalidParams"
    INTERNAL_ERROR = "InternalError"
    CONTENT_TYPE_NOT_SUPPORTED = "ContentTypeNotSupported"
    AUTHENTICATION_REQUIRED = "AuthenticationRequired"
    AUTHENTICATION_FAILED = "AuthenticationFailed"


class _Row(NamedTuple):
    code: int
    message: str
    carries: str | None = None  # the member of ``data`` in which the detail stands


_ROWS: Final = {
    Variant.METHOD_NOT_FOUND: _Row(-32601, "Method not found"),
    Variant.METHOD_NOT_IMPLEMENTED: _Row(-32601, "Method not implemented", "method"),
    Variant.INVALID_PARAMS: _Row(-32602, "Invalid params", "reason"),
    Variant.INTERNAL_ERROR: _Row(-32603, "Internal error"),
    Variant.CONTENT_TYPE_NOT_SUPPORTED: _Row(-32000, "Content type not supported", "received"),
    Variant.AUTHENTICATION_REQUIRED: _Row(-32001, "Authentication required"),
    Variant.AUTHENTICATION_FAILED: _Row(-32002, "Authentication failed", "reason"),
}

#: The variant that a number means; of the two that share one, the other is told by its data.
_BY_CODE: Final = {row.code: variant for variant, row in reversed(_ROWS.items())}


def variant_of(code: object) -> Variant | None:
    """
    Return the variant that a number means to protocol-droid. None: it has no such number.
    """
    return _BY_CODE.get(code) if isinstance(code, int) and not isinstance(code, bool) else None


@dataclass(frozen=True, slots=True)
class A2aError:
    """
    One error of protocol-droid, under the name that it has there.

    Attributes:
        variant:
            What went wrong.

        detail:
            What the variant carries: the method, the reason, the header's value, or the internal
            error's message.
            Empty: nothing.
    """

    variant: Variant
    detail: str = ""

    def code(self) -> int:
        """
        Return the number of JSON-RPC.
        """
        return _ROWS[self.variant].code

    def message(self) -> str:
        """
        Return the message: a fixed text, but for an internal error that has a detail.
        """
        internal = self.variant is Variant.INTERNAL_ERROR and self.detail
        return encodable(self.detail) if internal else _ROWS[self.variant].message

    def data(self) -> dict[str, Any] | None:
        """
        Return what goes into ``data``. None: nothing does.
        """
        member = _ROWS[self.variant].carries
        return {member: encodable(self.detail)} if member and self.detail else None

    def to_jsonrpc(self, **beside: Any) -> dict[str, Any]:
        """
        Return the ``error`` member of a JSON-RPC response.

        Args:
            beside: Further members of ``data``.
        """
        data = {**(self.data() or {}), **beside}
        error: dict[str, Any] = {"code": self.code(), "message": self.message()}
        return {**error, "data": data} if data else error

    @classmethod
    def from_jsonrpc(cls, obj: object) -> Self | None:
        """
        Return the error that a JSON-RPC error is. None: protocol-droid has no such number. Never
        raises.
        """
        error = as_mapping(obj)
        variant = variant_of(error.get("code"))
        if variant is None:
            return None
        data = error.get("data")
        if variant is Variant.METHOD_NOT_FOUND and "method" in as_mapping(data):
            variant = Variant.METHOD_NOT_IMPLEMENTED
        row = _ROWS[variant]
        if variant is Variant.INTERNAL_ERROR:
            detail = error.get("message")
        else:
            detail = as_mapping(data).get(row.carries, data) if row.carries else None
        return cls(variant, detail if isinstance(detail, str) else "")
