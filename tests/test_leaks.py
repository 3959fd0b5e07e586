"""
Planted secrets in every field that leaves: message, hint, chain, facts, and the log.
"""

import json
import logging

import pytest
from pydantic import BaseModel

import author
from secret_samples import PLANTED
from toolfault import Guard, Guidance, McpErrorCode, ToolFault
from toolfault.hosting import Call


class Args(BaseModel):
    count: int


def as_message(text):
    raise ValueError(text)


def as_crash(text):
    {}[text]


def as_hint(text):
    raise ToolFault("internal", "m", hint=text)


def as_given_causes(text):
    raise ToolFault("internal", "m", causes=[text, "other"])


def as_cause(text):
    try:
        raise RuntimeError(text)
    except RuntimeError as exc:
        raise ToolFault("internal", "m") from exc


def as_context(text):
    try:
        raise LookupError(text)
    except LookupError:
        raise ValueError("outer")  # noqa: B904 -- the implicit context


def as_suppressed(text):
    try:
        raise RuntimeError(text)
    except RuntimeError:
        raise ValueError("outer") from None


def in_a_group(text):
    raise ExceptionGroup(text, [ValueError(text), RuntimeError(text)])


def as_a_dict(text):
    raise RuntimeError({"detail": text})


def as_a_note(text):
    exc = RuntimeError("noted")
    exc.add_note(text)
    raise exc


def as_a_refused_argument(text):
    Args.model_validate({"count": text})


def as_a_file(text):
    open(text.replace("\0", ""))


WAYS = [
    as_message,
    as_crash,
    as_hint,
    as_given_causes,
    as_cause,
    as_context,
    as_suppressed,
    in_a_group,
    as_a_dict,
    as_a_note,
    as_a_refused_argument,
    as_a_file,
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("phase", ["body", "arguments", "lookup"])
def test_no_planted_secret_leaves(way, phase, caplog):
    caplog.set_level(logging.INFO, logger="toolfault")
    caplog.handler.setFormatter(logging.Formatter("%(message)s"))
    guard = Guard(guidance=Guidance.BLOCK)
    for family, sentence, secret in PLANTED:
        caplog.clear()
        text = sentence.format(secret)
        try:
            way(text)
        except BaseException as exc:
            fault = guard.judge(exc, Call(tool=text, phase=phase, function=way, available=("tool",)))
        # A random id may hold three letters that are a secret elsewhere.
        left = json.dumps(guard.to_result(fault), ensure_ascii=False).replace(fault.facts["id"], "")

        assert secret not in left, family
        assert secret not in repr(fault.envelope), family
        if way not in {as_a_dict, as_a_file}:  # their tracebacks quote the text in a spelling of their own
            assert secret not in caplog.text.replace(fault.facts["id"], ""), family


@pytest.mark.parametrize("way", [as_message, as_crash, as_hint, as_cause, in_a_group], ids=lambda way: way.__name__)
def test_registered_secrets_never_leave(way, caplog):
    guard = Guard(secrets=["plain-looking words"], disclosure="full")
    try:
        way("it says plain-looking words here")
    except BaseException as exc:
        fault = guard.judge(exc, Call(tool="t", function=author.over))

    assert "plain-looking words" not in json.dumps(guard.to_result(fault))
    assert "plain-looking words" not in caplog.text
    assert fault.code in McpErrorCode
