"""
What a case expects, held against what came of it. The format is that of the cases' own ``conventions``.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from toolfault import parse


class Unmet(AssertionError):
    """
    An expectation that was not met.
    """


@dataclass
class Came:
    """
    What came of one case.
    """

    result: dict[str, Any] | None = None
    """The tools/call result in wire spelling."""
    protocol_error: dict[str, Any] | None = None
    """A JSON-RPC error object."""
    reraised: str | None = None
    """The class that left the adapter."""
    fault: Any = None
    """What the client half made of it."""
    survived: bool | None = None
    seconds: float = 0.0
    schema: dict[str, Any] | None = None
    """The outputSchema that the tool advertises."""
    calls: int = 0
    final: str = ""
    waits: list[float] = field(default_factory=list)
    of_server: bool = True


def check(expect: dict[str, Any], came: Came) -> None:
    """
    Raise `Unmet` for the first expectation that was not met; a word that is not known is an error.
    """
    if "one_of" in expect:
        problems = []
        for option in expect["one_of"]:
            try:
                check(option, came)
            except Unmet as problem:
                problems.append(str(problem))
            else:
                break
        else:
            raise Unmet(" / ".join(problems))
    if came.of_server and came.result is not None and came.result.get("isError"):
        _always(came)
    for word, wanted in expect.items():
        if word in {"one_of", "prefer", "prefer_calls"}:
            continue
        checker = CHECKS.get(word)
        if checker is None:
            raise KeyError(f"the runner does not know the expectation {word!r}; teach it in {__name__}")
        if not checker(came, wanted):
            raise Unmet(f"{word}: wanted {wanted!r}, came {_shown(came)}")


def _always(came: Came) -> None:
    text = json.dumps(came.result, ensure_ascii=False)
    text.encode()
    envelope = _envelope(came)
    if came.result["content"][0].get("text") != envelope.get("message"):
        raise Unmet(f"content[0].text is not the message: {came.result}")


def _shown(came: Came) -> str:
    return json.dumps(
        {
            "result": came.result,
            "error": came.protocol_error,
            "reraised": came.reraised,
            "fault": repr(came.fault),
            "calls": came.calls,
            "waits": came.waits,
            "final": came.final,
        }
    )[:1500]


def _envelope(came: Came) -> dict[str, Any]:
    if came.of_server and came.result is not None:
        meta = (came.result.get("_meta") or {}).get("io.github.toolfault/error") or {}
        structured = came.result.get("structuredContent")
        return structured if structured is not None else meta.get("error") or {}
    return came.fault.envelope.to_wire() if came.fault is not None else {}


def _message(came: Came) -> Any:
    return _envelope(came).get("message")


def _everything(came: Came) -> str:
    whole = [_envelope(came), came.result, came.protocol_error]
    if came.fault is not None:
        whole.append(came.fault.received)
    return json.dumps(whole, ensure_ascii=False, default=str)


def _within(bounds: dict[str, float], value: Any) -> bool:
    return value is not None and bounds.get("min", 0) <= value <= bounds.get("max", float("inf"))


def _is_error(came: Came, wanted: Any) -> bool:
    if wanted is None:
        return True
    return came.result is not None and bool(came.result.get("isError")) is wanted


def _protocol_error(came: Came, wanted: dict[str, Any]) -> bool:
    error = came.protocol_error
    return (
        error is not None
        and error["code"] == wanted.get("code", error["code"])
        and all(part in error["message"] for part in wanted.get("message_contains_all", []))
        and wanted.get("data_contains", "") in json.dumps(error.get("data"))
    )


def _strict_client_ok(came: Came, wanted: bool) -> bool:
    from jsonschema import Draft202012Validator

    content = came.result.get("structuredContent")
    return content is None or Draft202012Validator(came.schema).is_valid(content) is wanted


def _recovers(came: Came, wanted: bool) -> bool:
    fault = parse(came.result)
    return (fault is not None and fault.code.value == _envelope(came)["code"]) is wanted


def _prefix_once(came: Came, prefixes: list[str]) -> bool:
    text = " ".join(block.get("text", "") for block in came.result["content"])
    return all(text.count(prefix) <= 1 for prefix in prefixes)


def _waits(came: Came, wanted: list[dict[str, float]]) -> bool:
    return len(came.waits) == len(wanted) and all(_within(bounds, wait) for bounds, wait in zip(wanted, came.waits))


CHECKS = {
    "is_error": _is_error,
    "code": lambda came, wanted: _envelope(came).get("code") == wanted,
    "code_in": lambda came, wanted: _envelope(came).get("code") in wanted,
    "code_not_in": lambda came, wanted: _envelope(came).get("code") not in wanted,
    "category": lambda came, wanted: _envelope(came).get("category") == wanted,
    "category_in": lambda came, wanted: _envelope(came).get("category") in wanted,
    "retryable": lambda came, wanted: _envelope(came).get("retryable") is wanted,
    "retry_after_seconds": lambda came, wanted: _within(wanted, _envelope(came).get("retry_after_seconds")),
    "retry_after_seconds_if_present": lambda came, wanted: (
        _envelope(came).get("retry_after_seconds") is None or _within(wanted, _envelope(came)["retry_after_seconds"])
    ),
    "message_contains_all": lambda came, wanted: all(part in _message(came) for part in wanted),
    "message_contains_any": lambda came, wanted: any(part in _message(came) for part in wanted),
    "message_not_contains": lambda came, wanted: not any(part in _message(came) for part in wanted),
    "message_not_equal": lambda came, wanted: _message(came) not in wanted,
    "message_nonempty": lambda came, wanted: bool(_message(came)) is wanted,
    "message_is_str": lambda came, wanted: isinstance(_message(came), str) is wanted,
    "somewhere_contains_all": lambda came, wanted: all(part in _everything(came) for part in wanted),
    "somewhere_contains_any": lambda came, wanted: any(part in _everything(came) for part in wanted),
    "must_not_contain": lambda came, wanted: (
        not any(part in json.dumps(came.result, ensure_ascii=False) for part in wanted)
    ),
    "max_result_chars": lambda came, wanted: len(json.dumps(came.result)) <= wanted,
    "json_serializable": lambda came, wanted: bool(json.dumps(came.result)) is wanted,
    "utf8_encodable": lambda came, wanted: bool(json.dumps(came.result, ensure_ascii=False).encode()) is wanted,
    "text_equals_message": lambda came, wanted: (came.result["content"][0]["text"] == _message(came)) is wanted,
    "reraise": lambda came, wanted: came.reraised == wanted,
    "protocol_error": _protocol_error,
    "strict_client_ok": _strict_client_ok,
    "client_half_recovers_code": _recovers,
    "server_survives": lambda came, wanted: came.survived is wanted,
    "no_crash": lambda came, wanted: wanted,  # an exception of the library would have ended the case
    "is_failure": lambda came, wanted: (came.fault is not None) is wanted,
    "raw_preserved": lambda came, wanted: (came.fault is None or came.fault.received is not None) is wanted,
    "content_blocks": lambda came, wanted: len(came.result["content"]) == wanted,
    "first_block_is_text": lambda came, wanted: (came.result["content"][0]["type"] == "text") is wanted,
    "prefix_at_most_once": _prefix_once,
    "cause_chain_max_len": lambda came, wanted: len(_envelope(came).get("cause_chain", [])) <= wanted,
    "time_limit_seconds": lambda came, wanted: came.seconds <= wanted,
    "calls": lambda came, wanted: came.calls == wanted,
    "calls_in": lambda came, wanted: came.calls in wanted,
    "final": lambda came, wanted: came.final == wanted,
    "waits": _waits,
    "total_wait": lambda came, wanted: _within(wanted, sum(came.waits)),
    "waits_nonnegative": lambda came, wanted: all(wait >= 0 for wait in came.waits) is wanted,
}
