"""
From an exception to a fault: find out what it means, then compose what leaves.
"""

from __future__ import annotations

from toolfault._judge.case import Case, Finding, Judgement
from toolfault._judge.compose import compose
from toolfault._judge.finder import find
from toolfault._verdict import Verdict


def judge(case: Case, exc: BaseException, failure_id: str) -> Judgement:
    """
    Return the judgement of an exception that ended a call.

    Args:
        case: The call, and what judges it.
        exc: What was raised, without the wrapper that a host put around it.
        failure_id: The id that ``_meta`` and the log share.
    """
    return _judgement(case, exc, find(case, exc), failure_id)


def judge_returned(case: Case, verdict: Verdict, text: str, failure_id: str) -> Judgement:
    """
    Return the judgement of an error result that a handler returned.

    Args:
        case: The call, and what judges it.
        verdict: What the result means.
        text: What the result says.
        failure_id: The id that ``_meta`` and the log share.
    """
    exc = Exception(text)
    finding = Finding(verdict=verdict, leaf=exc, reason="returned", deliberate=True, text=text)
    return _judgement(case, exc, finding, failure_id)


def _judgement(case: Case, exc: BaseException, finding: Finding, failure_id: str) -> Judgement:
    fault = compose(case, exc, finding, failure_id)
    return Judgement(fault=fault, leaf=finding.leaf, crash=finding.crash, reason=finding.reason)
