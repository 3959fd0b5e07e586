"""
Exceptions of libraries that no table names: what they carry, and what their classes are called.

Rule 1: an HTTP status on the exception, or on the answer that it holds, decides as it does in any
other library; the text is composed, since an SDK's own text quotes what the service said.
Rule 2: without a status, the words of a class name decide where they speak of a limit, credentials,
a timeout or an outage. Words that blame a value decide nothing: a library validates its own state.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from toolfault._json import is_mapping
from toolfault._judge.own_names import verdict_for_name
from toolfault._names import qualified_name
from toolfault._verdict import Family, Verdict
from toolfault.rules._helpers import attr, int_attr
from toolfault.rules.http import beginning_of, verdict_for


#: Where SDKs keep the HTTP answer. An answer's own names come after those of the exception.
_ANSWERS: Final = ("response", "resp", "http_response", "http_resp", "meta", "_response")

#: How SDKs spell the status. ``code`` is a status only beside an answer: it is often an own number.
_STATUSES: Final = ("status_code", "http_status", "status", "response_code", "http_code")
_STATUSES_BESIDE_AN_ANSWER: Final = (*_STATUSES, "code", "_code")

#: Where the body stands, as far as it was read already.
_BODIES: Final = ("body", "json_body", "response_body", "_content", "data", "error", "info")

#: The families of a class name's words that are believed of a library.
_BELIEVED: Final[frozenset[Family]] = frozenset({"limit", "auth", "timeout", "network"})

#: How much of a body is looked at, in characters.
_BODY: Final = 4096


def verdict_by_status(exc: BaseException) -> Verdict | None:
    """
    Return the verdict on an exception that carries an HTTP status of 400 to 599; None without one.
    """
    answers = [answer for name in _ANSWERS if (answer := attr(exc, name)) is not None]
    has_answer = bool(answers) or attr(exc, "headers") is not None
    status = _status_of(exc, _STATUSES_BESIDE_AN_ANSWER if has_answer else _STATUSES)
    for answer in answers:
        status = status or _status_of(answer, _STATUSES_BESIDE_AN_ANSWER)
    if status is None:
        return None
    # An exception's own headers may be those of its request.
    holders = [*answers, exc]
    body = next((text for holder in holders if (text := _body_of(holder))), None)
    return verdict_for(status, headers=_headers_of(holders), body=body, quote=body)


def _status_of(holder: object, names: tuple[str, ...]) -> int | None:
    for name in names:
        value = int_attr(holder, name)
        if value is not None and 400 <= value <= 599:
            return value
    return None


def _headers_of(holders: list[Any]) -> Any:
    """
    Return the headers of an answer; httplib2's answer is the mapping of its headers itself.
    """
    for holder in holders:
        headers: Any = attr(holder, "headers")
        if issubclass(type(headers), dict):
            return _one_spelling(headers)
        if headers is not None:
            return headers
    return next((holder for holder in holders if isinstance(holder, Mapping)), None)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] -- of anything


def _one_spelling(headers: dict[Any, Any]) -> dict[str, Any]:
    # slack_sdk keeps Retry-After under two spellings.
    return {name.lower(): value for name, value in headers.items() if issubclass(type(name), str)}


def _body_of(holder: object) -> str | None:
    for name in _BODIES:
        value = attr(holder, name)
        if issubclass(type(value), str):
            return str.__getitem__(value, slice(_BODY))
        if is_mapping(value):
            return _to_json(value)
        if (text := beginning_of(value)) is not None:
            return text
    return None


def _to_json(value: Any) -> str | None:
    try:
        return json.dumps(value, default=lambda _: None)[:_BODY]
    except Exception:  # noqa: BLE001 -- another library's mapping, of anything
        return None


def verdict_by_class(cls: type[BaseException]) -> Verdict | None:
    """
    Return the verdict on the name of a library's exception class, or of a base, or None.
    """
    for base in cls.__mro__:
        name = qualified_name(base)
        if name.startswith("builtins."):
            continue
        verdict = _verdict_by_name(name.rpartition(".")[2])
        if verdict is not None:
            return verdict
    return None


@lru_cache(maxsize=1024)
def _verdict_by_name(name: str) -> Verdict | None:
    verdict = verdict_for_name(name)
    return verdict if verdict is not None and verdict.family in _BELIEVED else None
