"""
The words of limits: a limit that time resets, and one that only money or a grant does.

Rule 1: a named window decides, also where the words say quota, plan or billing.
Rule 2: ``insufficient_quota`` and its like are permanent, whatever else a text says.
"""

from __future__ import annotations

from typing import Final

from toolfault._text import pattern


#: A limit that stays reached until somebody pays or grants, in lower case.
FINAL: Final = (
    r"insufficient[_ -]?(?:quota|balance|credits?|funds)|credit balance is too low|out of credits"
    r"|\bpayment required\b|storage ?quota|disk quota"
)
_MONEY: Final = r"\bbilling\b|\bpayment\b|exceeded your current quota|\byour plan\b|\bcredits?\b"
_LONG: Final = r"\b(?:daily|monthly)|\bper[_ -]?(?:day|month)\b"
_WINDOW: Final = (
    r"\bper[_ -]?(?:\d{1,4}[_ -]?)?(?:second|minute|hour)|(?:second|minute|hour)ly\b"
    r"|/ ?(?:s|sec|second|m|min|minute|h|hr|hour)\b|\b[rt]p[sm]\b"
)
_LIMIT: Final = (
    r"\brate[_ -]?limit|\bsecondary rate|too[_ ]?many[_ ]?requests|throttl|resource_?exhausted"
    r"|(?:quota|limit)[_ -]?(?:is |was |has been )?(?:exceeded|reached|exhausted)"
    r"|exceeded (?:the |your |its )?(?:\w{1,30} ){0,4}(?:quota|limit)"
)


_QUOTA: Final = r"\bquota[_ ]?exceeded|exceeded (?:the |your |its )(?:\w{1,30} ){0,4}quota"


def is_final(text: str) -> bool:
    """
    Tell whether a lower-case text says that a limit stays reached until somebody pays or grants.
    """
    return pattern(FINAL).search(text) is not None


def names_window(text: str) -> bool:
    """
    Tell whether a lower-case text names the short time that its limit counts in.
    """
    return pattern(_WINDOW).search(text) is not None


def names_limit(text: str) -> bool:
    """
    Tell whether a lower-case text gives a limit as the reason of a refusal.
    """
    return pattern(_LIMIT).search(text) is not None


def names_quota(text: str) -> bool:
    """
    Tell whether a lower-case text names a quota, and neither a rate nor a window.
    """
    if "rate" in text or names_window(text):
        return False
    return pattern(_QUOTA).search(text) is not None


def is_used_up(text: str, wait: int | None) -> bool:
    """
    Tell whether a limit that a lower-case text speaks of is reached for good, or for a day or more.

    Args:
        text: What was said of the limit.
        wait: The wait that was asked for, in seconds. None: none.
    """
    if is_final(text):
        return True
    if wait is not None or names_window(text):
        return False
    return pattern(_MONEY).search(text) is not None or pattern(_LONG).search(text) is not None
