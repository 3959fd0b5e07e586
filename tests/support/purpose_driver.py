"""
Runs the table of situations, here or in a process where the packages are installed.
"""

import asyncio
import importlib
import inspect
import json
import sys

from toolfault._judge.deliberate import AuthorModules, purpose_of


MODULES = ("bodies", "calls", "passing", "odd", "elsewhere", "together", "models")


def situations():
    """
    Return the whole table.
    """
    from purpose_acme.table import SITUATIONS

    for module in MODULES:
        importlib.import_module(f"purpose_acme.{module}")
    return SITUATIONS


class Everywhere(AuthorModules):
    """
    A home whose author owns every module and no class, so that only the instruction decides.
    """

    def __init__(self):
        super().__init__(None)
        self.typed_in = True

    def owns(self, space):
        return True

    def owns_class(self, cls):
        return False


async def _awaited(result):
    return await result


def caught(tool):
    """
    Return what comes out of a tool.
    """
    try:
        result = tool()
        if inspect.isawaitable(result):
            result = asyncio.run(_awaited(result))
    except KeyboardInterrupt:
        raise
    except BaseException as e:
        return e
    if isinstance(result, BaseException):
        return result
    raise LookupError(f"{tool} did not fail: {result!r}")


def verdict(exc, home):
    """
    Return P or A for an exception, taking groups apart as the classifier does.
    """
    pending = [(exc, None)]
    while pending:
        leaf, witness = pending.pop()
        if isinstance(leaf, BaseExceptionGroup) and not home.owns_class(type(leaf)):
            pending += [(e, leaf if leaf.__traceback__ is not None else witness) for e in leaf.exceptions]
        elif not purpose_of(leaf, home, witness).deliberate:
            return "A"
    return "P"


def main():
    """
    Write what the judge says to each situation, without and with the author's other package named.
    """
    told = {}
    for row in situations():
        exc = caught(row.tool)
        told[row.name] = [verdict(exc, AuthorModules(row.tool, also)) for also in ((), ("purpose_acme_core",))]
    json.dump(told, sys.stdout)
