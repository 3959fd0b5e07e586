"""
Calls the standard library with junk, and compares each verdict with the syntax tree.

A process of its own, since junk stays behind: in caches, in settings, in open files.
"""

import ast
import contextlib
import functools
import importlib
import inspect
import json
import os
import random
import sys
import warnings
from pathlib import Path

from purpose_driver import Everywhere
from toolfault._judge import deliberate
from toolfault._judge.deliberate import purpose_of


#: Modules whose functions may be called with anything.
WITNESSES = """
    _pydecimal argparse ast base64 bisect calendar codecs collections colorsys configparser contextlib copy csv
    dataclasses difflib email.charset email.generator email.header email.headerregistry email.message email.mime.text
    email.policy email.quoprimime email.utils encodings.idna encodings.punycode enum fnmatch fractions functools
    gettext graphlib hashlib heapq hmac html html.parser http http.cookies importlib.metadata inspect ipaddress json
    json.decoder json.encoder json.scanner mimetypes ntpath numbers operator optparse pickle pickletools plistlib
    posixpath pprint quopri random re reprlib shlex stat statistics string stringprep struct textwrap tokenize tomllib
    types typing urllib.parse uuid weakref wsgiref.headers wsgiref.util xml.dom.minidom xml.etree.ElementPath
    xml.etree.ElementTree xml.sax.saxutils zoneinfo._common
""".split()  # noqa: SIM905 -- a list of its own line each would be a page

#: Functions that ask the machine, or change what all others see.
SPARED = {"main", "setattr", "delattr", "getnode", "uuid1"}

#: What a function may get; no number that could be an open file.
JUNK = (
    *(None, 0.0, 1000, -1, 1.5, "", "x", "a b=c", "1.2.3", "{", "%", b"", b"x"),
    *([], [1, "x"], (), (1, 2), {}, {"k": "v"}, {1}, object()),
)


def functions(module, chance):
    """
    Go through a module's functions and classes, and the methods of what these make.
    """
    for name, thing in sorted(vars(module).items()):
        if name.startswith("_") or name in SPARED or getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(thing):
            yield thing
        elif inspect.isclass(thing) and not issubclass(thing, BaseException):
            yield thing
            for _ in range(12):
                with contextlib.suppress(Exception, SystemExit):
                    yield from methods(thing(*chance.choices(JUNK, k=chance.randrange(4))))


def methods(made):
    for name in sorted(vars(type(made))):
        if not name.startswith("_") and name not in SPARED and callable(getattr(made, name, None)):
            yield getattr(made, name)


def failures():
    """
    Go through what comes out of the standard library when it is called with junk.
    """
    chance = random.Random(20)
    for module in [importlib.import_module(name) for name in WITNESSES]:
        for function in functions(module, chance):
            for _ in range(30):
                junk = chance.choices(JUNK, k=chance.randrange(4))
                try:
                    function(*junk)
                except KeyboardInterrupt:
                    raise
                except BaseException as exc:
                    yield exc


@functools.cache
def statements(filename):
    """
    Return the places of the raise statements in a file that name what they raise; None where there is no file.
    """
    if not Path(filename).is_file():
        return None
    return {
        (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
        for node in ast.walk(ast.parse(Path(filename).read_bytes()))
        if isinstance(node, ast.Raise) and node.exc is not None
    }


def heard():
    """
    Return how many distinct places were seen, and the verdicts that the syntax tree contradicts.
    """
    home, places, wrong = Everywhere(), {True: set(), False: set()}, []
    for exc in failures():
        tb = deliberate._innermost(exc.__traceback__)
        code = tb.tb_frame.f_code
        known = statements(code.co_filename)
        if isinstance(exc, deliberate.BUGS) or known is None:
            continue  # decided by the class; made by C, or frozen
        if isinstance(exc, TypeError) and "TypeError" not in code.co_names:
            continue  # the interpreter's own word at a raise
        position = list(code.co_positions())[tb.tb_lasti // 2]
        stated = position in known
        places[stated].add((code.co_filename, position))
        purpose = purpose_of(exc, home)
        if stated != purpose.deliberate:
            wrong.append((code.co_filename, position, purpose.reason, type(exc).__name__))
    return {"wrong": wrong, "raises": len(places[True]), "accidents": len(places[False])}


if __name__ == "__main__":
    here = Path.cwd()  # junk may go elsewhere
    warnings.simplefilter("ignore")
    real_open = open
    with real_open(os.devnull, "r+") as nothing:
        sys.stdin = sys.stdout = nothing
        told = json.dumps(heard())
    with real_open(here / "heard.json", "w") as out:
        out.write(told)
