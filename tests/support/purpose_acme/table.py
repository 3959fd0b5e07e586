"""
The table of situations: what happened, what is true, what the judge says.
"""

from typing import Any, NamedTuple


class Situation(NamedTuple):
    """
    One way in which an exception leaves a tool.

    Attributes:
        name:
            What happens.

        tool:
            What a server would register: called without arguments, and awaited if need be. An exception that it
            returns, instead of raising it, is judged as it is.

        truth:
            P: on purpose. A: by accident. ?: nothing can tell.

        verdict:
            What the judge says; it differs from the truth where it is known to be wrong.

        installed:
            The same where the packages lie in site-packages.

        also:
            The same with the author's other package named.

        because:
            Why a verdict is known to be wrong, or is not the obvious one.
    """

    name: str
    tool: Any
    truth: str
    verdict: str
    installed: str
    also: str
    because: str


SITUATIONS: list[Situation] = []


def situation(name, truth, verdict=None, *, installed=None, also=None, because=""):
    """
    Enter a tool in the table.
    """
    verdict = verdict or truth
    installed = installed or verdict

    def enter(tool):
        SITUATIONS.append(Situation(name, tool, truth, verdict, installed, also or installed, because))
        return tool

    return enter
