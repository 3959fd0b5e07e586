"""
One official A2A error as a value, in each binding.

Rule 1: over JSON-RPC the number decides, over HTTP and gRPC the reason; a text never does.
Rule 2: what a peer sends is read leniently and kept as it came; nothing here is scrubbed.
Rule 3: what is written has an ErrorInfo first, since stock clients keep nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

from toolfault._json import as_mapping, is_array, is_int, is_mapping, is_text
from toolfault._text import encodable, safe_str
from toolfault._wire import json_safe
from toolfault.dialects.a2a._table import (
    CODE_OF_STATUS,
    CURRENT,
    ERRORS,
    GRPC_STATUSES,
    MAX_NAME,
    PLAIN,
    ErrorType,
    Version,
    canonical,
    error_type,
)


#: The type of the detail that says which error it is.
ERROR_INFO: Final = "type.googleapis.com/google.rpc.ErrorInfo"
#: The type of the detail that lists refused fields.
BAD_REQUEST: Final = "type.googleapis.com/google.rpc.BadRequest"
#: The domain of an ErrorInfo of A2A.
DOMAIN: Final = "a2a-protocol.org"

#: What the type of a problem+json begins with in 0.3.
_PROBLEMS: Final = f"https://{DOMAIN}/errors/"

#: How many details, and violations in them, are looked at.
_MAX_DETAILS: Final = 64
MAX_VIOLATIONS: Final = 32


class FieldViolation(NamedTuple):
    """
    One refused field of a request.
    """

    field: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class A2AError:
    """
    One official error, in whatever binding it travels.

    Attributes:
        code:
            The number of JSON-RPC, as it came. None, or a text: a peer sent that.

        message:
            The text, as it came. Shown to nobody before it is scrubbed.

        metadata:
            Of the first ErrorInfo. None: there was none.

        violations:
            Which fields were refused.

        status:
            The canonical status of gRPC, where one came.

        data:
            The details as they came, in whatever form.
    """

    code: int | str | None
    message: str
    metadata: Mapping[str, Any] | None = None
    violations: tuple[FieldViolation, ...] = ()
    status: str | None = None
    data: Any = None

    @classmethod
    def new(
        cls,
        name: str,
        message: str | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
        violations: tuple[FieldViolation, ...] = (),
    ) -> Self:
        """
        Return an error of this name.

        Args:
            name: One of `ERRORS`.
            message: None: the standard one.
            metadata: What the ErrorInfo carries, text to text; other values become JSON.
            violations: Which fields were refused.

        Raises:
            ValueError: No such error; the message lists those there are.
        """
        row = error_type(name)
        if row is None:
            raise ValueError(f"{name!r} is not an A2A error; they are {', '.join(ERRORS)}")
        return cls(
            code=row.code,
            message=row.message if message is None else message,
            metadata=metadata,
            violations=tuple(FieldViolation(*violation) for violation in violations),
        )

    @property
    def type(self) -> ErrorType | None:
        """
        Return its row. None: the number is in no table.
        """
        return error_type(self.code) if isinstance(self.code, int) else None

    # ---- writing

    def details(self) -> list[dict[str, Any]]:
        """
        Return the typed details: an ErrorInfo, a BadRequest for refused fields, and the rest.
        """
        reason = "UNKNOWN_ERROR" if self.type is None else self.type.reason
        metadata = {
            encodable(safe_str(key)): _text(value) for key, value in (self.metadata or {}).items()
        }
        details: list[dict[str, Any]] = [
            {"@type": ERROR_INFO, "reason": reason, "domain": DOMAIN, "metadata": metadata},
        ]
        if self.violations:
            fields = [
                {"field": encodable(v.field), "description": encodable(v.description)}
                for v in self.violations
            ]
            details.append({"@type": BAD_REQUEST, "fieldViolations": fields})
        return [*details, *(json_safe(item) for item in _others(self.data))]

    def to_jsonrpc(self, version: Version = CURRENT) -> dict[str, Any]:
        """
        Return the ``error`` of a JSON-RPC response; in 0.3 ``data`` is the metadata, an object.
        """
        code = self._adapt_to(version).code
        error: dict[str, Any] = {"code": code, "message": encodable(self.message)}
        if version != "0.3":
            error["data"] = self.details()
        elif self.metadata or self.violations:
            error["data"] = self._members()
        return error

    def to_http(
        self, version: Version = CURRENT, *, status: int | None = None
    ) -> tuple[int, dict[str, Any]]:
        """
        Return HTTP status and body. In 0.3 the body is an ``application/problem+json``.

        Args:
            version: Of the specification.
            status: For what only the status tells, 403 for example. None: the error's own.
        """
        row = self._row_in(version)
        own = row.status(version) or row.v101
        http, grpc = own if status is None else (status, canonical(status))
        message = encodable(self.message)
        if version == "0.3":
            kind = f"{_PROBLEMS}{row.reason.lower().replace('_', '-')}"
            problem = {"type": kind, "title": row.message, "status": http, "detail": message}
            return http, {**self._members(), **problem}
        return http, {
            "error": {
                "code": http,
                "status": grpc,
                "message": message,
                "details": self._adapt_to(version).details(),
            }
        }

    def to_grpc(self, version: Version = CURRENT, *, status: str | None = None) -> dict[str, Any]:
        """
        Return a ``google.rpc.Status`` in protobuf's JSON mapping, for ``json_format.ParseDict``.

        Args:
            version: Of the specification.
            status: For what only the status tells, PERMISSION_DENIED for example. None: the error's
                own.
        """
        row = self._row_in(version)
        grpc = status or (row.status(version) or row.v101).grpc
        message = encodable(self.message)
        if version == "0.3":
            # Its servers tell the error by this prefix alone.
            message = f"{row.name_in(version)}: {message}"
        return {
            "code": GRPC_STATUSES.index(grpc),
            "message": message,
            "details": self._adapt_to(version).details(),
        }

    def _adapt_to(self, version: Version) -> Self:
        # A number that the version's clients have no word for says less than -32603 does.
        row = self.type
        if row is None:
            return self if isinstance(self.code, int) else replace(self, code=-32603)
        return replace(self, code=-32603) if row.status(version) is None else self

    def _row_in(self, version: Version) -> ErrorType:
        return self._adapt_to(version).type or ERRORS["InternalError"]

    def _members(self) -> dict[str, Any]:
        members = {
            encodable(safe_str(key)): json_safe(value)
            for key, value in (self.metadata or {}).items()
        }
        if self.violations:
            members["errors"] = [
                {"field": encodable(v.field), "message": encodable(v.description)}
                for v in self.violations
            ]
        return members

    # ---- reading

    @classmethod
    def from_jsonrpc(cls, obj: object) -> Self | None:
        """
        Parse a JSON-RPC error or a response with one; None if it is neither. Never raises.
        """
        error = as_mapping(obj)
        if "error" in error and "code" not in error:
            error = as_mapping(error["error"])
        if "code" not in error and "message" not in error:
            return None
        code = error.get("code")
        data = error.get("data")
        return cls(
            code=code if is_int(code) or is_text(code) else None,
            message=_str_or_empty(error.get("message")),
            metadata=_metadata(data),
            violations=_violations(data),
            data=data,
        )

    @classmethod
    def from_http(cls, status: int, body: object = None) -> Self:
        """
        Parse an HTTP answer with a body of 1.0, a problem+json or any other. Never raises.
        """
        outer = as_mapping(body)
        error = as_mapping(outer.get("error"))
        details = error.get("details")
        kind = outer.get("type")
        # The last part of a problem's type is the reason in kebab case.
        metadata = _metadata(details)
        reason = None
        if isinstance(kind, str):
            reason = kind[-MAX_NAME:].rpartition("/")[2].replace("-", "_").upper()
            metadata = outer if metadata is None else metadata
        # A status line with one meaning counts for more than a body, which another hop may have
        # made.
        canonical_name = _str_or_empty(error.get("status"))
        if status in PLAIN or canonical_name not in GRPC_STATUSES[1:]:
            canonical_name = canonical(status)
        return cls(
            code=_number(details, reason, canonical_name),
            message=_str_or_empty(error.get("message"))
            or _str_or_empty(outer.get("detail"))
            or _str_or_empty(outer.get("message")),
            metadata=metadata,
            violations=_violations(details) or _violations(outer),
            status=canonical_name,
            data=details if is_array(details) else body,
        )

    @classmethod
    def from_grpc(cls, obj: object) -> Self | None:
        """
        Parse a ``google.rpc.Status`` in protobuf's JSON mapping, or return None. Never raises.
        """
        given = as_mapping(obj)
        code = given.get("code")
        if not is_int(code) or not 0 < code < len(GRPC_STATUSES):
            return None
        details, message = given.get("details"), _str_or_empty(given.get("message"))
        status = GRPC_STATUSES[code]
        name, colon, _ = message[: MAX_NAME + 2].partition(": ")
        former = error_type(name) if colon and name.endswith("Error") else None
        if former is not None:
            message = message[len(name) + 2 :]
        return cls(
            code=_number(details, None if former is None else former.reason, status),
            message=message,
            metadata=_metadata(details),
            violations=_violations(details),
            status=status,
            data=details,
        )


def is_typed(data: object) -> bool:
    """
    Tell whether the ``data`` of an error are typed details, which only official errors have.
    """
    return (
        is_array(data)
        and bool(data)
        and all(
            is_mapping(item) and isinstance(item.get("@type"), str) for item in data[:_MAX_DETAILS]
        )
    )


def _details(data: Any, kind: str) -> Iterator[Mapping[Any, Any]]:
    for item in data[:_MAX_DETAILS] if is_array(data) else ():
        if is_mapping(item) and item.get("@type") == kind:
            yield item


def _others(data: Any) -> Iterator[Mapping[Any, Any]]:
    for item in data[:_MAX_DETAILS] if is_array(data) else ():
        if is_mapping(item) and item.get("@type") not in (ERROR_INFO, BAD_REQUEST, None):
            yield item


def _metadata(data: Any) -> Mapping[str, Any] | None:
    # Of the first alone, as the stock client does: that one is the answering peer's.
    info = next(_details(data, ERROR_INFO), None)
    return None if info is None else as_mapping(info.get("metadata"))


def is_a2a(details: object) -> bool:
    """
    Tell whether the first ErrorInfo among details is one of A2A's.
    """
    return as_mapping(next(_details(details, ERROR_INFO), None)).get("domain") == DOMAIN


def is_problem(body: Mapping[Any, Any]) -> bool:
    """
    Tell whether a body is a problem+json of 0.3.
    """
    kind = body.get("type")
    return isinstance(kind, str) and kind.startswith(_PROBLEMS)


def _number(details: Any, reason: str | None, status: str) -> int:
    info = next(_details(details, ERROR_INFO), None)
    if info is not None and info.get("domain") in (DOMAIN, "", None):
        reason = _str_or_empty(info.get("reason"))
    row = error_type(reason) if reason else None
    return CODE_OF_STATUS.get(status, -32603) if row is None else row.code


def _violations(data: Any) -> tuple[FieldViolation, ...]:
    given = [item.get("fieldViolations") for item in _details(data, BAD_REQUEST)]
    # As 0.3 has it, and as the stock Python server puts it into the metadata too.
    given += [as_mapping(data).get("errors")]
    found: list[FieldViolation] = []
    for violations in given:
        for item in violations[:MAX_VIOLATIONS] if is_array(violations) else ():
            told = as_mapping(item)
            if "field" in told:
                found.append(
                    FieldViolation(
                        _str_or_empty(told["field"]),
                        _str_or_empty(told.get("description"))
                        or _str_or_empty(told.get("message")),
                    )
                )
    return tuple(found[:MAX_VIOLATIONS])


def _str_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _text(value: Any) -> str:
    # ErrorInfo's metadata is text to text.
    if isinstance(value, str):
        return encodable(value)
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return safe_str(value)
