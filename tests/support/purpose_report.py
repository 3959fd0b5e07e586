"""
Says in a process of its own what the judge makes of a server's tools.

The judge is imported without the library around it: these processes are many, and most of their time was pydantic's.
"""

import importlib.machinery
import json
import os
import sys
import types
from pathlib import Path


def _judge():
    if "toolfault" not in sys.modules:
        bare = sys.modules["toolfault"] = types.ModuleType("toolfault")
        bare.__path__ = [os.environ["PURPOSE_TOOLFAULT"]]
        bare.__spec__ = importlib.machinery.ModuleSpec("toolfault", None, is_package=True)
    from toolfault._judge import deliberate

    return deliberate


def report(*tools, also=()):
    """
    Write a letter for each tool, without and with the author's other modules named.
    """
    judge = _judge()
    words = []
    for named in ((), also):
        word = ""
        for tool in tools:
            home = judge.AuthorModules(tool, named)
            try:
                exc = tool()
            except Exception as e:
                exc = e
            word += "P" if judge.purpose_of(exc, home).deliberate else "A"
        words.append(word)
    Path(os.environ["PURPOSE_OUT"]).write_text(json.dumps(words), encoding="utf-8")
