"""
From an exception to a fault: what it means is found out, then the fault is composed.
"""

from __future__ import annotations

from toolfault._judge.case import Call, Judgement, Policy
from toolfault._judge.compose import Composer
from toolfault._judge.deliberate import Home
from toolfault._judge.finder import Finder


def judge(exc: BaseException, call: Call, policy: Policy, home: Home, failure_id: str) -> Judgement:
    """
    Return what an exception out of a call means.

    Args:
        exc: What was raised, without the wrapper that a host put around it.
        call: The call that it ended.
        policy: What the guard's owner decided.
        home: The modules of the tool's author.
        failure_id: The id that ``_meta`` and the log share.
    """
    finder = Finder(call, policy, home)
    finding = finder.find(exc)
    fault = Composer(finder).fault(exc, finding, failure_id)
    return Judgement(fault=fault, leaf=finding.leaf, crash=finding.crash, reason=finding.reason)
