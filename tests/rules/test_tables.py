"""
The tables stay true to the packages that they speak of.
"""

import importlib
import importlib.util
import subprocess
import sys
import warnings

import pytest

from installed_classes import class_named, exceptions_of
from toolfault import rules
from toolfault._names import qualified_name
from toolfault._verdict import Verdict
from toolfault.errors import InvalidRule
from toolfault.rules import DEFAULT, TABLES, load


#: Names of packages that the tests are not run with.
ELSEWHERE = {
    "_dbm.error": "a Python built with it",
    "_gdbm.error": "a Python built with it",
    "fastmcp.exceptions": "FastMCP",
    "mcp.server.fastmcp.exceptions": "mcp 1.x",
    "mcp.shared.exceptions.McpError": "mcp 1.x",
    "pydantic_settings": "pydantic-settings",
    "retrying": "retrying",
    "tenacity": "tenacity",
}

#: Names that came into the standard library, or left it.
SINCE = {
    "_zstd.ZstdError": (3, 14),
    "asyncio.queues.QueueShutDown": (3, 13),
    "compression.zstd.ZstdError": (3, 14),
    "concurrent.futures.interpreter.ExecutionFailed": (3, 14),
    "queue.ShutDown": (3, 13),
    "re.PatternError": (3, 13),
}
UNTIL = {"re.error": (3, 12), "tokenize.StopTokenizing": (3, 12)}

#: Aliases: the C accelerator defines the class, or anyio has it under two names.
ALIASES = {"queue.Empty": "_queue.Empty", "_zstd.ZstdError": "compression.zstd.ZstdError"}

#: The modules whose exceptions must all be known.
STDLIB = """
    argparse asyncio asyncio.exceptions asyncio.queues binascii bz2 concurrent.futures concurrent.futures.process
    concurrent.futures.thread configparser contextlib copy csv ctypes curses dataclasses datetime dbm dbm.dumb decimal
    email.errors enum fractions ftplib functools getopt glob graphlib gzip hashlib hmac html http http.client
    http.cookiejar http.cookies imaplib importlib.metadata inspect io ipaddress json json.decoder locale logging lzma
    mailbox mmap multiprocessing multiprocessing.context multiprocessing.pool netrc numbers optparse os pathlib pickle
    plistlib poplib pty queue random re resource runpy sched secrets select selectors shelve shlex shutil signal smtplib
    socket sqlite3 ssl statistics string struct subprocess tarfile tempfile termios textwrap threading tomllib traceback
    types typing unicodedata unittest urllib.error urllib.parse urllib.request uuid wave weakref webbrowser xml.dom
    xml.etree.ElementTree xml.parsers.expat xml.sax xmlrpc.client zipfile zipimport zlib zoneinfo
""".split()

PACKAGES = """
    anyio anyio._core._exceptions anyio.abc anyio.to_process
    httpx httpx2 httpcore httpcore2
    jsonschema jsonschema.exceptions referencing.exceptions
    mcp mcp.client mcp.client.auth mcp.client.auth.exceptions mcp.client.session mcp.client.sse mcp.client.stdio
    mcp.client.streamable_http mcp.server mcp.server.auth.provider mcp.server.mcpserver.exceptions
    mcp.shared.auth mcp.shared.exceptions mcp.types
    pydantic pydantic.errors pydantic_core
    trio
""".split()

#: The tables of what is always there; the others have tests of their own, in environments with their packages.
OURS = ("anyio", "builtins", "httpx", "jsonschema", "mcp", "pydantic", "sqlite", "stdlib", "wrappers")

_MODULES = [importlib.import_module(f"toolfault.rules.{table}") for table in OURS]
RULES = {name: rule for module in _MODULES for name, rule in module.RULES.items()}
IGNORED = frozenset().union(*(module.IGNORED for module in _MODULES))


def is_elsewhere(name):
    return any(name == head or name.startswith(f"{head}.") for head in ELSEWHERE)


def is_of_another_python(name):
    here = sys.version_info[:2]
    return here < SINCE.get(name, here) or here > UNTIL.get(name, here)


ALL = sorted({*RULES, *IGNORED})
HERE = [name for name in ALL if not is_elsewhere(name) and not is_of_another_python(name)]


@pytest.mark.parametrize("name", HERE)
def test_every_name_is_that_of_a_class(name):
    """
    A class that a package renames or drops turns this red.
    """
    cls = class_named(name)

    assert issubclass(cls, BaseException)
    # anyio's classes move when they are first taken from the package.
    assert qualified_name(cls) == ALIASES.get(name, name) or (
        name.startswith("anyio.") and qualified_name(cls).rpartition(".")[2] == name.rpartition(".")[2]
    )


@pytest.mark.parametrize("head", sorted(ELSEWHERE))
def test_what_is_said_to_be_elsewhere_is_in_a_table(head):
    """
    The list of packages that are not installed has no stale entry.
    """
    assert [name for name in ALL if name == head or name.startswith(f"{head}.")]


def test_where_a_package_of_the_list_is_installed_its_names_are_right():
    """
    In an environment with FastMCP, mcp 1.x, tenacity or the like, their names are checked too.
    """
    installed = [name for name in ALL if is_elsewhere(name) and importlib.util.find_spec(name.partition(".")[0])]
    wrong = []
    for name in installed:
        try:
            class_named(name)
        except (ImportError, AttributeError):
            wrong.append(name)

    # The other major of mcp has its exceptions elsewhere; a version without one of them is no fault of the table.
    assert {name for name in wrong if not name.startswith(("mcp.", "fastmcp.", "pydantic_settings.", "_"))} == set()


@pytest.mark.parametrize("module", [*STDLIB, *PACKAGES])
def test_every_exception_of_a_module_has_a_rule(module):
    """
    A class that a package adds turns this red, until it is mapped, or ignored on purpose.
    """
    without = set()
    for cls in exceptions_of(module):
        telling = {name for name, _ in DEFAULT.rules_for(cls)} - {"builtins.Exception", "builtins.BaseException"}
        if not telling:
            without.add(qualified_name(cls))

    assert without - IGNORED - {"builtins.Exception", "builtins.BaseException"} == set()


def test_nothing_is_ignored_and_mapped():
    """
    A name stands in one of the two.
    """
    assert IGNORED & load().keys() == set()
    assert set(OURS) <= set(TABLES)


def test_every_rule_is_a_verdict_or_a_function():
    """
    What the tables hold is what a registry takes.
    """
    assert [name for name, rule in load().items() if not (isinstance(rule, Verdict) or callable(rule))] == []


def test_tables_are_read_at_the_first_failure():
    """
    Importing the package reads no table but those that judging itself needs.
    """
    program = (
        "import sys\n"
        "loaded = set(sys.modules)  # by a tracer, say\n"
        "import toolfault.rules\n"
        "at_once = {'_helpers', 'http', 'mcp'}\n"
        "names = {name.rpartition('.')[2] for name in sys.modules if name.startswith('toolfault.rules.')}\n"
        "before = sorted(names - at_once)\n"
        "len(toolfault.rules.DEFAULT)\n"
        "print(before, 'toolfault.rules.stdlib' in sys.modules)\n"
        "foreign = {'httpx', 'httpx2', 'mcp', 'trio', 'sqlite3', 'jsonschema'} - loaded\n"
        "print([name for name in sys.modules if name in foreign])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[] True\n[]\n"


def test_two_tables_cannot_speak_for_one_class(monkeypatch):
    """
    A second row is refused at once, with both in the text.
    """
    monkeypatch.setattr(rules, "TABLES", ("sqlite", "sqlite"))

    with pytest.raises(InvalidRule, match=r"sqlite3\.Error.*rules/sqlite"):
        load()


# ---- half-built and hostile exceptions


#: What ``__new__`` of a class needs, where it needs anything.
NEEDS = {
    "PydanticSerializationError": ("x",),
    "SchemaError": ("x",),
    "ValidationError": ("x", []),
}

#: Packages whose classes can't be subclassed.
SEALED = ("pydantic_core.", "referencing.")


def half_built(cls):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if issubclass(cls, BaseExceptionGroup):
            return cls.__new__(cls, "x", [ValueError()])
        if cls.__module__.startswith("pydantic_core"):
            make = getattr(cls, "from_exception_data", cls)
            return make(*NEEDS.get(cls.__name__, ()))
        return cls.__new__(cls)


def hostile(cls):
    """
    An instance whose every attribute that a rule may read raises.
    """

    def refuse(self, name):
        if name in HARMLESS:
            return super(evil, self).__getattribute__(name)
        raise RuntimeError(f"no {name} for you")

    evil = type(f"Evil{cls.__name__}", (cls,), {"__getattribute__": refuse, "__str__": lambda self: 1 / 0})
    return half_built(evil)


#: What Python itself needs to pass an exception around.
HARMLESS = {"__class__", "__dict__", "__cause__", "__context__", "__traceback__", "__suppress_context__"}


class Strange:
    """
    Says that it is whatever one asks for, and raises when it is used.
    """

    __class__ = property(lambda self: 1 / 0)
    __str__ = __index__ = __iter__ = __len__ = __bool__ = __eq__ = __fspath__ = lambda self, *_: 1 / 0
    __hash__ = object.__hash__

    def __getattr__(self, name):
        raise KeyError(name)


def strange(cls):
    """
    An instance whose every attribute that a rule may read is of no kind that it can be.
    """

    def give(self, name):
        return super(odd, self).__getattribute__(name) if name in HARMLESS else Strange()

    odd = type(f"Odd{cls.__name__}", (cls,), {"__getattribute__": give})
    return half_built(odd)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        pytest.param(name, make, id=f"{name}-{make.__name__}")
        for name in HERE
        if name in RULES
        for make in ([half_built] if name.startswith(SEALED) else [half_built, hostile, strange])
    ],
)
def test_no_rule_raises(name, make):
    """
    Whatever the state of an exception, its rule has an opinion or none.
    """
    exc = make(class_named(name))

    for _, rule in DEFAULT.rules_for(type(exc)):
        verdict = rule if isinstance(rule, Verdict) else rule(exc)

        assert verdict is None or isinstance(verdict, Verdict)
        assert verdict is None or verdict.message is None or (type(verdict.message) is str and verdict.message)


@pytest.mark.parametrize("name", [name for name in ALL if is_elsewhere(name) and name in RULES])
def test_no_rule_of_a_package_elsewhere_raises(name):
    """
    The rule alone, given an exception that has nothing it expects.
    """
    rule = RULES[name]

    assert isinstance(rule if isinstance(rule, Verdict) else rule(Exception()), Verdict)
