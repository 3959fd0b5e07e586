"""
The error envelope as a value: one `McpExecuteError`.

Rule 1: exactly the seven members of the contract, in its order. What is no field here is not in the
envelope.
Rule 2: an author's mistake is an error at once; a peer's unknown word folds, and only there.
Rule 3: no I/O, no framework.
"""

import json
import math
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Final, Literal, NoReturn, Self, TypeAlias

from pydantic import VERSION, BaseModel, ConfigDict, Field, PlainSerializer

from toolfault._codes import (
    DEFAULTS,
    McpErrorCategory,
    McpErrorCode,
    Revision,
    category_named,
    code_named,
    fold_category,
    fold_code,
)
from toolfault._json import is_array, is_mapping
from toolfault._names import public
from toolfault._text import encodable


#: The longest wait that the wire can carry: an unsigned 32-bit integer.
MAX_RETRY_AFTER_SECONDS: Final = 2**32 - 1


Kind = Literal["missing-field", "wrong-type", "out-of-range", "duplicate-field"]
"""
What can be wrong with a member.
"""


@public
class InvalidEnvelope(ValueError):  # noqa: N818 -- named for what was met, as ValueError's kin in pydantic and httpx are
    """
    An object from the wire is not a `McpExecuteError`.

    Attributes:
        kind:
            ``missing-field``, ``wrong-type``, ``out-of-range`` or ``duplicate-field``.

        field:
            The member at fault; empty if the object itself is.
    """

    def __init__(self, kind: Kind, field: str) -> None:
        super().__init__(kind, field)
        self.kind = kind
        self.field = field

    def __str__(self) -> str:
        """
        Say what is wrong with which member.
        """
        return f"{self.kind.replace('-', ' ')}: {self.field or 'the envelope itself'}"


def whole_seconds(wait: float | timedelta) -> int:
    """
    Return a wait as whole seconds, rounded up so that nobody comes back too early.

    Args:
        wait: Seconds, or a timedelta.

    Raises:
        ValueError: A bool, a negative, NaN or infinite wait, or one above 2**32 - 1 seconds.
    """
    seconds: Any = wait.total_seconds() if isinstance(wait, timedelta) else wait
    # True is an int in Python, and no number of seconds.
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise ValueError(
            f"retry_after_seconds must be a number of seconds or a timedelta, not {wait!r}"
        )
    if not math.isfinite(seconds) or not 0 <= seconds <= MAX_RETRY_AFTER_SECONDS:
        raise ValueError(
            f"retry_after_seconds must lie from 0 to {MAX_RETRY_AFTER_SECONDS}, not {wait!r}"
        )
    return math.ceil(seconds)


#: Building the validator loads most of pydantic, and costs as much as all of ours. Before 2.14,
#: threads that do it at the same time may find it half built.
_DEFERRED: Final = tuple(map(int, VERSION.split(".")[:2])) >= (2, 14)


#: A lone surrogate is not UTF-8, so JSON text has U+FFFD in its place.
_Text: TypeAlias = Annotated[str, PlainSerializer(encodable, return_type=str, when_used="json")]


@public
class McpExecuteError(BaseModel):
    """
    What one failed tool call tells its caller.

    The contract is Everruns' ``McpExecuteError``. Values are frozen; each ``with_*`` returns a
    changed copy.

    Attributes:
        code:
            What went wrong.

        message:
            What a model reads. It stands alone, since many hosts show nothing else.

        category:
            What kind of help would mend it.

        retryable:
            Whether the same call is worth sending again. Says nothing about whether repeating it is
            *safe*.

        retry_after_seconds:
            Whole seconds to wait before the next attempt, 0 to 2**32 - 1. None: the server does not
            know.

        hint:
            What the caller could do instead.

        cause_chain:
            Messages of the underlying failures, oldest first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=_DEFERRED)

    code: McpErrorCode
    message: _Text
    category: McpErrorCategory
    retryable: Annotated[bool, Field(strict=True)]
    retry_after_seconds: (
        Annotated[int, Field(strict=True, ge=0, le=MAX_RETRY_AFTER_SECONDS)] | None
    ) = None
    hint: _Text | None = None
    cause_chain: tuple[_Text, ...] = ()

    def __new__(cls, *_args: object, **_values: object) -> Self:
        """
        Build the class at its first instance, since serializers of other models look into it.
        """
        if not cls.__pydantic_complete__:
            cls.model_rebuild()
        return super().__new__(cls)

    @classmethod
    def new(cls, code: McpErrorCode | str, message: str) -> "McpExecuteError":
        """
        Return an envelope with the code's default category and retryability.

        Raises:
            ValueError: There is no such code.
        """
        known = code_named(code)
        category, retryable = DEFAULTS[known]
        return cls(code=known, message=message, category=category, retryable=retryable)

    def with_category(self, category: McpErrorCategory | str) -> "McpExecuteError":
        """
        Return a copy with this category; retryable stays.

        Raises:
            ValueError: There is no such category.
        """
        return self.model_copy(update={"category": category_named(category)})

    def with_retryable(self, retryable: bool) -> "McpExecuteError":
        """
        Return a copy with this retryability; the category stays.

        Raises:
            ValueError: Not a bool.
        """
        if not isinstance(retryable, bool):  # pyright: ignore[reportUnnecessaryIsInstance] -- "false" is true in Python
            raise ValueError(f"retryable must be True or False, not {retryable!r}")
        return self.model_copy(update={"retryable": retryable})

    def with_retry_after_seconds(self, wait: float | timedelta) -> "McpExecuteError":
        """
        Return a copy that asks for this wait, rounded up to whole seconds.

        Raises:
            ValueError: A bool, a negative, NaN or infinite wait, or one above 2**32 - 1 seconds.
        """
        return self.model_copy(update={"retry_after_seconds": whole_seconds(wait)})

    def with_hint(self, hint: str) -> "McpExecuteError":
        """
        Return a copy with this hint.

        Raises:
            ValueError: Not a text.
        """
        _must_be_text("hint", hint)
        return self.model_copy(update={"hint": hint})

    def with_cause(self, cause: str) -> "McpExecuteError":
        """
        Return a copy whose chain ends with one more cause, the newest.

        Raises:
            ValueError: Not a text.
        """
        _must_be_text("cause", cause)
        return self.model_copy(update={"cause_chain": (*self.cause_chain, cause)})

    def to_wire(self) -> dict[str, Any]:
        """
        Return the object for the wire, in the contract's order and without absent members.
        """
        # `_value_`, since until Python 3.12 `value` is two calls.
        wire: dict[str, Any] = {
            "code": self.code._value_,
            "message": self.message,
            "category": self.category._value_,
            "retryable": self.retryable,
        }
        if self.retry_after_seconds is not None:
            wire["retry_after_seconds"] = self.retry_after_seconds
        if self.hint is not None:
            wire["hint"] = self.hint
        if self.cause_chain:
            wire["cause_chain"] = list(self.cause_chain)
        return wire

    @classmethod
    def from_wire(cls, obj: object, *, revision: Revision = "0.36") -> "McpExecuteError":
        """
        Decode an object of the wire strictly (E17 to E25).

        An unknown code or category folds to ``unknown``; unknown members are ignored. Keep the
        object itself where it is to be forwarded.

        Args:
            obj: Any object.
            revision: The revision of Everruns whose codes are known. From 0.48 on there is
                ``insufficient_scope``, which reads as ``permission_denied``.

        Raises:
            InvalidEnvelope: A member is missing, of the wrong type, or out of range.
        """
        if not is_mapping(obj):
            _refuse("wrong-type", "")
        code = _member(obj, "code", str)
        message = _member(obj, "message", str)
        category = _member(obj, "category", str)
        retryable = _member(obj, "retryable", bool)
        wait = obj.get("retry_after_seconds")
        if wait is not None:
            if type(wait) is not int:
                _refuse("wrong-type", "retry_after_seconds")
            if not 0 <= wait <= MAX_RETRY_AFTER_SECONDS:
                _refuse("out-of-range", "retry_after_seconds")
        hint = obj.get("hint")
        if hint is not None and not isinstance(hint, str):
            _refuse("wrong-type", "hint")
        chain: Any = obj.get("cause_chain", ())
        # null is refused here, unlike in the other optional members.
        if not is_array(chain):
            _refuse("wrong-type", "cause_chain")
        for cause in chain:
            if not isinstance(cause, str):
                _refuse("wrong-type", "cause_chain")
        return build_trusted(
            code=fold_code(code, revision),
            message=message,
            category=fold_category(category),
            retryable=retryable,
            retry_after_seconds=wait,
            hint=hint,
            cause_chain=tuple(chain),
        )

    @classmethod
    def from_json(cls, text: str | bytes, *, revision: Revision = "0.36") -> "McpExecuteError":
        """
        Parse an envelope from JSON; stricter than `from_wire`: a repeated member is an error.

        Args:
            text: The JSON.
            revision: Whose codes are known, as for `from_wire`.

        Raises:
            InvalidEnvelope: A member is missing, repeated, of the wrong type, or out of range.
            ValueError: The text is not JSON.
        """
        obj = _parse_json(text)
        if isinstance(obj, _JsonObject) and obj.repeated in cls.model_fields:
            _refuse("duplicate-field", obj.repeated)
        return cls.from_wire(obj, revision=revision)


def build_trusted(
    *,
    code: McpErrorCode,
    message: str,
    category: McpErrorCategory,
    retryable: bool,
    retry_after_seconds: int | None = None,
    hint: str | None = None,
    cause_chain: tuple[str, ...] = (),
) -> McpExecuteError:
    """
    Return an envelope of values that were checked before; far cheaper than `model_construct`.
    """
    if not McpExecuteError.__pydantic_complete__:
        McpExecuteError.model_rebuild()
    envelope = _new(McpExecuteError)
    values = {
        "code": code,
        "message": message,
        "category": category,
        "retryable": retryable,
        "retry_after_seconds": retry_after_seconds,
        "hint": hint,
        "cause_chain": cause_chain,
    }
    _set(envelope, "__dict__", values)
    _set(envelope, "__pydantic_fields_set__", set(values))
    _set(envelope, "__pydantic_extra__", None)
    _set(envelope, "__pydantic_private__", None)
    return envelope


def _must_be_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise ValueError(f"a {name} is a text, not {value!r}")


_set = object.__setattr__
_new = object.__new__


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _member(obj: Mapping[Any, Any], name: str, kind: type) -> Any:
    value = obj.get(name)
    if not isinstance(value, kind):
        _refuse("wrong-type" if name in obj else "missing-field", name)
    return value


def _refuse(kind: Kind, field: str) -> NoReturn:
    raise InvalidEnvelope(kind, field)


# ---- JSON text


class _JsonObject(dict[str, Any]):
    """
    An object with the name of a member that it repeats; "" if it repeats none.
    """

    repeated: str = ""


def _pairs(pairs: list[tuple[str, Any]]) -> _JsonObject:
    obj = _JsonObject(pairs)
    if len(obj) < len(pairs):
        names = [name for name, _ in pairs]
        obj.repeated = next((n for n in McpExecuteError.model_fields if names.count(n) > 1), "")
    return obj


def _parse_json(text: str | bytes) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_pairs, parse_constant=_refuse_constant)
    except RecursionError:
        pass
    # Members that are ignored may lie as deep as they want.
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text))
    shallow = _prune_depth(text)
    return json.loads(shallow, object_pairs_hook=_pairs, parse_constant=_refuse_constant)


#: How deep the members of a text are parsed; no member of the contract lies deeper than three.
_MAX_DEPTH: Final = 100

_TOKENS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_CLOSING: Final = {"[": "]", "{": "}"}


def _prune_depth(text: str) -> str:
    """
    Return a JSON text whose arrays and objects are empty below `_MAX_DEPTH` levels.

    Raises:
        ValueError: A bracket is not closed, or closed by another.
    """
    kept: list[str] = []
    expected: list[str] = []
    start = 0
    for match in _TOKENS.finditer(text):
        token = match[0]
        if token in _CLOSING:
            expected.append(_CLOSING[token])
            if len(expected) == _MAX_DEPTH:
                kept.append(text[start : match.end()])
        elif token in ("]", "}"):
            if not expected or expected.pop() != token:
                raise ValueError(f"{token} closes nothing")
            if len(expected) == _MAX_DEPTH - 1:
                start = match.start()
    if expected:
        raise ValueError(f"{expected[-1]} is missing")
    return "".join((*kept, text[start:]))
