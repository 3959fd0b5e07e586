"""
The errors of protocol-droid, whose numbers contradict the official table.

Rule 1: numbers and fixed messages are those of the crate (0.7).
Rule 2: the crate's own server sends number and message alone. What a variant carries goes into
``data`` here, and the detail of an internal error into the message.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple, Self

from toolfault._json import as_mapping, is_int
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
    Variant.CONTENT_TYPE_NOT_SUPPORTED: _Row(-32000, "Content-Type not supported", "received"),
    Variant.AUTHENTICATION_REQUIRED: _Row(-32001, "Authentication required"),
    Variant.AUTHENTICATION_FAILED: _Row(-32002, "Authentication failed", "reason"),
}

#: The variant that a number means; two share one, and their data tells them apart.
_BY_CODE: Final = {row.code: variant for variant, row in reversed(_ROWS.items())}


def variant_of(code: object) -> Variant | None:
    """
    Return the variant that a number means to protocol-droid. None: it has no such number.
    """
    return _BY_CODE.get(code) if is_int(code) else None


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
        Return the fixed message of the variant.
        """
        return _ROWS[self.variant].message

    def data(self) -> dict[str, Any] | None:
        """
        Return the ``data`` with what the variant carries, or None if it carries nothing.
        """
        member = _ROWS[self.variant].carries
        return {member: encodable(self.detail)} if member and self.detail else None

    def to_jsonrpc(self, **beside: Any) -> dict[str, Any]:
        """
        Return the ``error`` member of a JSON-RPC response.

        Args:
            beside: Further members of ``data``.
        """
        message = self.message()
        if self.variant is Variant.INTERNAL_ERROR and self.detail:
            # No member of ``data`` has it.
            message = encodable(self.detail)
        error: dict[str, Any] = {"code": self.code(), "message": message}
        data = {**(self.data() or {}), **beside}
        return {**error, "data": data} if data else error

    @classmethod
    def from_jsonrpc(cls, obj: object) -> Self | None:
        """
        Return the error of a JSON-RPC error, or None for a number that protocol-droid has not.

        Never raises.
        """
        error = as_mapping(obj)
        variant = variant_of(error.get("code"))
        if variant is None:
            return None
        message, data = error.get("message"), error.get("data")
        if variant is Variant.METHOD_NOT_FOUND and _is_not_implemented(message, data):
            variant = Variant.METHOD_NOT_IMPLEMENTED
        detail = _detail(variant, message, data)
        return cls(variant, detail if isinstance(detail, str) else "")


def _is_not_implemented(message: object, data: object) -> bool:
    # Two variants share one number. The crate's own server sends no data, so the text decides.
    row = _ROWS[Variant.METHOD_NOT_IMPLEMENTED]
    return message == row.message or row.carries in as_mapping(data)


def _detail(variant: Variant, message: object, data: object) -> object:
    row = _ROWS[variant]
    if variant is Variant.INTERNAL_ERROR:
        return None if message == row.message else message
    return as_mapping(data).get(row.carries, data) if row.carries else None
