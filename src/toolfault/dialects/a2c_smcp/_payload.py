"""
One `ErrorPayload`, strictly read.

Rule 1: a payload is flat. One that is nested in another object does not count and is not unwrapped.
Rule 2: what is not modelled survives as it came, null included; a modelled member that is null is
absent.
Rule 3: ``details`` are for diagnosis. Nothing that turns a payload into text looks at them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal, NoReturn, TypeGuard

from pydantic import BaseModel, ConfigDict, Field

from toolfault._json import JsonCopier, is_int, is_mapping
from toolfault._text import safe_str
from toolfault.dialects.a2c_smcp._codes import (
    READ,
    ErrorCode,
    Protocol,
    closed_set,
    meaning_of,
    server_field,
)
from toolfault.dialects.a2c_smcp._version import Version


#: The modelled members that hold a text, in the order of the wire.
_TEXTS: Final = (
    *("server_version", "client_version", "min_supported", "max_supported"),
    *("mcp_server_name", "mcp_server", "capability"),
)
_MODELLED: Final = frozenset({"code", "message", "details", *_TEXTS})

#: How deep details are written as objects; what lies deeper becomes text.
_MAX_DEPTH: Final = 100

#: Codes are 64-bit integers with a sign; what exceeds them is a number in no other language.
CODES: Final = range(-(2**63), 2**63)


class InvalidPayload(ValueError):  # noqa: N818 -- as InvalidEnvelope
    """
    An object from the wire is not an `ErrorPayload`.

    Attributes:
        kind:
            ``missing-field``, ``wrong-type`` or ``out-of-range``.

        field:
            The member at fault; empty if the object itself is.
    """

    def __init__(
        self, kind: Literal["missing-field", "wrong-type", "out-of-range"], field: str
    ) -> None:
        super().__init__(kind, field)
        self.kind = kind
        self.field = field

    def __str__(self) -> str:
        """
        Say what is wrong with which member.
        """
        return f"{self.kind.replace('-', ' ')}: {self.field or 'the payload itself'}"


class ErrorPayload(BaseModel):
    """
    A failure as A2C-SMCP puts it into an acknowledgement, or into the body of a refused handshake.

    Values are frozen; each ``with_*`` returns a changed copy. Members that are not modelled stand
    in ``model_extra``. As a text it is ``[code] message``, never its details.

    Attributes:
        code:
            Any 64-bit integer; `ErrorCode` holds the assigned ones.

        message:
            What happened.

        details:
            For diagnosis, never for end users. An object, but any JSON survives.

        server_version, client_version, min_supported, max_supported:
            Of a version mismatch (4008).

        mcp_server_name:
            The MCP server's name, in protocol 0.2.

        mcp_server:
            The MCP server's bundle id, from protocol 0.3 on.

        capability:
            What the MCP server can't do (4015).
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    code: Annotated[int, Field(strict=True, ge=CODES[0], le=CODES[-1])]
    message: str
    details: Any = None
    server_version: str | None = None
    client_version: str | None = None
    min_supported: str | None = None
    max_supported: str | None = None
    mcp_server_name: str | None = None
    mcp_server: str | None = None
    capability: str | None = None

    # ---- builders

    @classmethod
    def new(cls, code: int, message: str) -> ErrorPayload:
        """
        Return a payload with these two members.

        Raises:
            ValueError: The code is not a 64-bit integer, or the message is not a text.
        """
        return cls.from_wire({"code": code, "message": message})

    @classmethod
    def from_error_code(cls, code: ErrorCode, message: str | None = None) -> ErrorPayload:
        """
        Return a payload with an assigned code. Without a message it says what the code means.
        """
        return cls.new(int(code), meaning_of(code) if message is None else message)

    @classmethod
    def version_mismatch(cls, client: Version | str, server: Version | str) -> ErrorPayload:
        """
        Return the 4008 of a refused handshake; whether the two are compatible is not looked at.

        Raises:
            ValueError: A text is not a version.
        """
        ours, theirs = (
            Version.parse(item) if isinstance(item, str) else item for item in (server, client)
        )
        return cls.from_wire(
            {
                "code": int(ErrorCode.PROTOCOL_VERSION_MISMATCH),
                "message": "Protocol version mismatch",
                "server_version": str(ours),
                "client_version": str(theirs),
                "min_supported": f"{ours.major}.{ours.minor}.0",
                "max_supported": f"{ours.major}.{ours.minor}.999",
            }
        )

    @classmethod
    def computer_not_found(cls, name: str) -> ErrorPayload:
        """
        Return the 404 for a computer that is not there; its wording is fixed.
        """
        missing = cls.new(int(ErrorCode.NOT_FOUND), f"Computer with name '{name}' not found")
        return missing.with_detail("computer_name", name)

    def with_details(self, details: Any) -> ErrorPayload:
        """
        Return a copy with these details, any JSON; None is written as null, and read as absent.
        """
        return self.model_copy(update={"details": details})

    def with_detail(self, key: str, value: Any) -> ErrorPayload:
        """
        Return a copy with one more detail. Details that are no object are dropped first.
        """
        details: Any = self.details
        return self.with_details({**(details if is_mapping(details) else {}), key: value})

    def with_mcp_server_name(self, name: str) -> ErrorPayload:
        """
        Return a copy that names the MCP server as protocol 0.2 does.

        Raises:
            ValueError: Not a text.
        """
        return self._with_text("mcp_server_name", name)

    def with_mcp_server(self, bundle_id: str) -> ErrorPayload:
        """
        Return a copy that names the MCP server as protocol 0.3 and later do, by its bundle id.

        Raises:
            ValueError: Not a text.
        """
        return self._with_text("mcp_server", bundle_id)

    def with_server(self, server: str, protocol: Protocol) -> ErrorPayload:
        """
        Return a copy that names the MCP server in a version's spelling.

        Raises:
            ValueError: Not a text.
        """
        return self._with_text(server_field(protocol), server)

    def with_capability(self, capability: str) -> ErrorPayload:
        """
        Return a copy that names the missing capability.

        Raises:
            ValueError: Not a text.
        """
        return self._with_text("capability", capability)

    def for_protocol(self, protocol: Protocol) -> ErrorPayload:
        """
        Return the payload with the MCP server in a version's spelling, unless it has both.
        """
        wanted = server_field(protocol)
        other = "mcp_server" if wanted == "mcp_server_name" else "mcp_server_name"
        server: str | None = getattr(self, other)
        if server is None or getattr(self, wanted) is not None:
            return self
        return self.model_copy(update={other: None, wanted: server})

    def _with_text(self, name: str, value: object) -> ErrorPayload:
        if not isinstance(value, str):
            raise ValueError(f"{name} is a text, not {value!r}")
        return self.model_copy(update={name: value})

    # ---- comparing

    def __eq__(self, other: object) -> bool:
        """
        Tell whether another payload is the same on the wire: details that are null are not absent.
        """
        if not super().__eq__(other):
            return False
        return _has_details(self) == _has_details(other)

    def __hash__(self) -> int:
        """
        Return a hash of code and message, which equal payloads share.
        """
        return hash((self.code, self.message))

    # ---- the wire

    def to_wire(self) -> dict[str, Any]:
        """
        Return the object for the wire: modelled members in the protocol's order, then the others.

        They are as they came, but for numbers that no JSON has, which become null.
        """
        wire: dict[str, Any] = {"code": int(self.code), "message": self.message}
        if _has_details(self):
            wire["details"] = _as_json(self.details)
        for name in _TEXTS:
            value = getattr(self, name)
            if value is not None:
                wire[name] = value
        for name, value in (self.model_extra or {}).items():
            wire[name] = _as_json(value)
        return wire

    @classmethod
    def from_wire(cls, obj: object) -> ErrorPayload:
        """
        Return the payload that an object of the wire is, strictly.

        Raises:
            InvalidPayload: Code or message is missing, or a modelled member is of the wrong type.
        """
        if not is_mapping(obj):
            _refuse("wrong-type", "")
        _check_required(obj)
        present: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for name, value in obj.items():
            if name not in _MODELLED:
                extra[str(name)] = value
            elif value is not None:
                present[name] = value
        for name in _TEXTS:
            if not isinstance(present.get(name, ""), str):
                _refuse("wrong-type", name)
        return cls._build(present, extra)

    @classmethod
    def _build(cls, present: Mapping[str, Any], extra: dict[str, Any]) -> ErrorPayload:
        # Past pydantic, which refuses lone surrogates in a text, and whose own constructor takes
        # names for options.
        payload = cls.__new__(cls)
        _set(payload, "__dict__", {name: present.get(name) for name in cls.model_fields})
        _set(payload, "__pydantic_fields_set__", {*present, *extra})
        _set(payload, "__pydantic_extra__", extra)
        _set(payload, "__pydantic_private__", None)
        return payload

    # ---- as a text

    def __str__(self) -> str:
        """
        Return code and message.
        """
        return f"[{self.code}] {self.message}"

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """
        Return the members that ``repr`` shows: no details, and none that are not modelled.
        """
        return [("code", self.code), ("message", self.message)]


_set = object.__setattr__


def _has_details(payload: object) -> bool:
    return "details" in getattr(payload, "model_fields_set", ())


def _as_json(value: Any) -> Any:
    copier = JsonCopier(text=lambda text, _name: text, key=str, other=safe_str, depth=_MAX_DEPTH)
    return copier.copy(value)


def _check_required(obj: Mapping[Any, Any]) -> None:
    for name in ("code", "message"):
        if name not in obj:
            _refuse("missing-field", name)
    if not is_integer(obj["code"]):
        _refuse("wrong-type", "code")
    if obj["code"] not in CODES:
        _refuse("out-of-range", "code")
    if not isinstance(obj["message"], str):
        _refuse("wrong-type", "message")


def _refuse(kind: Literal["missing-field", "wrong-type", "out-of-range"], name: str) -> NoReturn:
    raise InvalidPayload(kind, name)


def is_integer(value: object) -> TypeGuard[int]:
    """
    Tell whether a value is an integer on the wire: no boolean and no 4014.0.
    """
    return is_int(value)


def is_protocol_error_payload(obj: object, protocol: Protocol = READ) -> bool:
    """
    Tell whether an acknowledgement is a failure: its ``code`` is in the closed set.

    Nothing else is looked at, but that from 0.5 on an object with ``content`` is a tool result,
    whatever its code. So what holds another code is a success to its receiver.

    Raises:
        ValueError: There is no such version.
    """
    known = closed_set(protocol)
    if not is_mapping(obj) or (protocol == "0.5" and "content" in obj):
        return False
    code = obj.get("code")
    return is_integer(code) and code in known
