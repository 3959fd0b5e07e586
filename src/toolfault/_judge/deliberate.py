"""
On purpose or by accident: whether the author of a tool raised an exception, or it happened to them.

Rule 1: the author's exception stands, at the innermost entry of its traceback, at a raise
instruction in the author's own modules; or its class is the author's. Everything else is an
accident.
Rule 2: whatever goes wrong while judging is an accident, since a wrong "on purpose" blames the
caller for a crash.
Rule 3: an interpreter whose bytecode isn't as expected switches the look at instructions off, never
the verdict wrong.
"""

# ruff: noqa: PTH113, PTH118, PTH119, PTH120, PTH206, PTH208 -- pathlib would double the time that the
# modules take

from __future__ import annotations

import functools
import os
import re
import sys
import types
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from opcode import opmap, opname
from typing import Any, Final, NamedTuple, TypeGuard

from toolfault._names import class_name
from toolfault._text import safe_str


#: Classes that nobody uses to speak to a caller: protocols of the language, and bugs.
BUGS: Final = (
    AssertionError,
    AttributeError,
    MemoryError,
    NameError,
    RecursionError,
    StopAsyncIteration,
    StopIteration,
    SystemError,
)

#: How many entries of a traceback are walked. One object raised again and again grows two entries a
#: time; then the newest raise decides.
MAX_ENTRIES: Final = 100_000

#: How many entries, counted from the innermost, tell what an exception ran through.
MAX_THROUGH: Final = 200

#: How many wrappers a tool may have around its function.
MAX_WRAPPERS: Final = 64

#: How many modules an `AuthorModules` remembers its answer for; then it forgets them all, since
#: names can be made at run time.
MAX_KNOWN: Final = 1024

#: Characters of an exception's text that are searched for the name of an environment variable.
MAX_TEXT: Final = 10_000

#: Folders that pip and distributions install into.
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})

#: From 3.14 on a flag of the code says whether its first constant is a docstring
#: (Include/cpython/code.h).
_HAS_DOCSTRING: Final = 0x4000000 if sys.version_info >= (3, 14) else 0
_OPTIMIZED: Final = 0x1  # the code of a function, not of a module or class
_VARIABLE: Final = re.compile(r"(?<![A-Za-z0-9_])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![A-Za-z0-9_])")
_WORDS: Final = "environment variable"

# The slots themselves, since a class may hide them behind properties that raise.
_traceback = BaseException.__dict__["__traceback__"].__get__
_module_of = type.__dict__["__module__"].__get__


class Purpose(NamedTuple):
    """
    Whether an exception was raised on purpose.

    Attributes:
        deliberate:
            The author of the tool raised it.

        reason:
            What the verdict rests on. For the log, never for the wire.

        traceback:
            Whether there was a traceback to judge. Without one only the author's own classes can be
            told.

        own_class:
            The author wrote its class.
    """

    deliberate: bool
    reason: str
    traceback: bool
    own_class: bool = False


class AuthorModules:
    """
    The modules of a tool's author; made once per tool.

    A module is the author's if it is the very namespace of the tool's function, lies in the same
    regular package or one that the author named, or in the folder or zip file that holds that
    package. Where things get installed, it must belong to the same distribution instead.

    Args:
        tool: What was registered, wrapped as often as you like. None: an unknown tool, whose author
            owns nothing
            but what is named.
        also: Further packages of the author.
    """

    __slots__ = ("_folder", "_installed", "_known", "_name", "_packages", "_space_id", "typed_in")

    def __init__(self, tool: object | None, also: Iterable[str] = ()) -> None:
        """
        Find the author's modules; never fails on account of the tool.
        """
        self._known: dict[tuple[str, object], bool] = {}
        self._packages = frozenset((also,) if isinstance(also, str) else also)
        # By its id: a reference would keep a plugin that is dropped alive, with its tools.
        self._space_id: int | None = None
        self._name = ""
        self._folder: str | None = None
        #: The tool's own file, and the folder that it was installed into.
        self._installed: tuple[str, str] | None = None
        #: The tool's own code came from no file (a notebook, ``python -c``).
        self.typed_in = False
        try:
            self._settle(tool)
        except Exception:  # noqa: BLE001 -- a tool is any object, and may answer anything: then its author is unknown
            self._space_id, self._folder, self._installed = None, None, None

    def _settle(self, tool: object | None) -> None:
        body = _plain_function(tool)
        space = _namespace_of(body)
        if tool is None or space is None:
            return
        name = _module_name(space)
        file = space.get("__file__")
        file = _real(file) if isinstance(file, str) else None
        if name in sys.builtin_module_names or _is_standard_library(file):
            return  # nobody's tool was written there: json.loads, a mock
        self._space_id = id(space)
        self._name = name
        if name not in ("", "__main__"):
            self._packages |= {_regular_package(name)}
        if file is not None and not getattr(sys, "frozen", False):
            root = _root_of(name, file, is_package="__path__" in space)
            if _is_project(root):
                self._folder = os.path.join(root, "")
            else:
                self._installed = file, root
        source = getattr(getattr(body, "__code__", None), "co_filename", "")
        self.typed_in = isinstance(source, str) and source.startswith("<")

    def owns(self, space: Mapping[str, Any]) -> bool:
        """
        Tell whether the namespace of a module is the author's.
        """
        # Scripts, notebooks, exec: the same namespace, whatever it is called.
        if id(space) == self._space_id:
            return True
        try:
            name = _module_name(space)
            if name in ("", "__main__", "builtins"):
                return False
            file = space.get("__file__")
            key = (name, file)
            known = self._known.get(key)
            if known is None:
                if len(self._known) >= MAX_KNOWN:
                    self._known.clear()
                known = self._known[key] = self._holds(name) or self._holds_file(file)
        except Exception:  # noqa: BLE001 -- a namespace may be any mapping: what can't be asked is nobody's
            return False
        return known

    def owns_class(self, cls: type) -> bool:
        """
        Tell whether a class was defined in a module of the author.
        """
        name = _module_of(cls)
        if type(name) is not str or name == "builtins":
            return False
        space = _namespace_named(name)
        if space is None:
            # Loaded by path, and not entered in sys.modules: the name has to do.
            return name != "" and (name == self._name or self._holds(name))
        return self.owns(space)

    def _holds_file(self, file: object) -> bool:
        if not isinstance(file, str):
            return False
        if self._installed is None:
            return self._folder is not None and _lies_in(_real(file), self._folder)
        own, root = self._installed
        # What was installed is looked up at the first failure that needs it: that reads files.
        return _real(file) in _distribution_files(own, root)

    def _holds(self, name: str) -> bool:
        return any(name == package or name.startswith(f"{package}.") for package in self._packages)

    def __repr__(self) -> str:
        """
        Show the packages and the folder.
        """
        whose = self._name or "nobody"
        return (
            f"<AuthorModules of {whose}: packages {sorted(self._packages)}, folder {self._folder}>"
        )


def purpose_of(
    leaf: BaseException, modules: AuthorModules, witness: BaseException | None = None
) -> Purpose:
    """
    Judge one exception that is not a group, unless the group's class is the author's; never raises.

    Args:
        leaf: The exception.
        modules: The modules of the tool's author.
        witness: The group that held it. A leaf that was never raised itself stands or falls with
            that raise.
    """
    try:
        return _judge(leaf, modules, witness)
    except Exception as exc:  # noqa: BLE001 -- whatever goes wrong while judging is an accident
        return Purpose(False, f"cannot tell: {class_name(exc)} while judging", False)


def raise_site(exc: BaseException) -> tuple[str, str, int] | None:
    """
    Return module or file, function and line of the innermost traceback entry; None without one.
    """
    try:
        tb = _innermost(_traceback(exc))
        return None if tb is None else _place(tb)
    except Exception:  # noqa: BLE001 -- only for logs and rate limits: a namespace that can't be asked has no place
        return None


def is_raised_by_author(exc: BaseException, modules: AuthorModules) -> bool | None:
    """
    Tell whether an exception began in the author's own code; None: it was never raised.
    """
    try:
        tb = _innermost(_traceback(exc))
        return None if tb is None else modules.owns(tb.tb_frame.f_globals)
    except Exception:  # noqa: BLE001 -- as everywhere here
        return False


def names_environment(exc: BaseException) -> bool:
    """
    Tell whether the author named an environment variable in the text of a deliberate exception.

    The name must also stand in a string constant of the code that raised, since a text may quote
    values of the caller that look alike. The docstring doesn't count: that of a tool lists such
    values.
    """
    try:
        text = safe_str(exc)[:MAX_TEXT]
        names = set(_VARIABLE.findall(text)) if "_" in text else set[str]()
        says_so = _WORDS in text.lower()
        if not names and not says_so:
            return False
        tb = _innermost(_traceback(exc))
        return tb is not None and any(
            (says_so and _WORDS in constant.lower())
            or not names.isdisjoint(_VARIABLE.findall(constant))
            for constant in _strings(tb.tb_frame.f_code)
        )
    except Exception:  # noqa: BLE001 -- a text or a code that can't be read names nothing
        return False


def from_environ(exc: BaseException) -> bool:
    """
    Tell whether a KeyError came out of ``os.environ[...]``, which the operator configures.
    """
    tb = _innermost(_traceback(exc)) if issubclass(type(exc), KeyError) else None
    if tb is None:
        return False
    return (
        tb.tb_frame.f_code.co_qualname == "_Environ.__getitem__"
        and tb.tb_frame.f_globals is os.__dict__
    )


def packages_in_traceback(
    exc: BaseException, modules: AuthorModules | None = None
) -> frozenset[str]:
    """
    Return the top-level packages that an exception came through below the author's own code.

    What stands above it ran the tool, in an event loop or a thread, and says nothing of the
    failure. Only the innermost 200 entries of the traceback are looked at.
    """
    try:
        found: set[str] = set()
        for tb in entries_of(exc):
            space = tb.tb_frame.f_globals
            name = space.get("__name__")
            if modules is not None and modules.owns(space):
                found.clear()
            elif isinstance(name, str):
                found.add(name.partition(".")[0])
        return frozenset(found)
    except Exception:  # noqa: BLE001 -- as everywhere here
        return frozenset()


def entries_of(exc: BaseException) -> Iterable[types.TracebackType]:
    """
    Return the innermost 200 entries of the traceback, outermost first.
    """
    found: deque[types.TracebackType] = deque(maxlen=MAX_THROUGH)
    tb: types.TracebackType | None = _traceback(exc)
    for _ in repeat(None, MAX_ENTRIES):
        if tb is None:
            break
        found.append(tb)
        tb = tb.tb_next
    return found


def owns_frame(modules: AuthorModules, tb: types.TracebackType) -> bool:
    """
    Tell whether an entry of a traceback stands in the author's own code.
    """
    return modules.owns(tb.tb_frame.f_globals)


def _judge(leaf: BaseException, modules: AuthorModules, witness: BaseException | None) -> Purpose:
    cls = type(leaf)
    tb: types.TracebackType | None = _traceback(leaf)
    if tb is None and witness is not None:
        tb = _traceback(witness)
    if modules.owns_class(cls):
        # Nothing but the author's code raises it, wherever and however it arrived: process pools,
        # compiled code.
        return Purpose(True, "own class", tb is not None, own_class=True)
    if issubclass(cls, BUGS):
        return Purpose(False, f"accident: {class_name(leaf)}", tb is not None)
    if tb is None:
        return Purpose(False, "cannot tell: no traceback", False)
    innermost = _innermost(tb)
    if innermost is None:
        innermost = _newest_raise(tb, modules)
    if innermost is None:
        return Purpose(False, "cannot tell: the traceback is too long", True)
    return _judge_place(cls, innermost, modules)


def _judge_place(
    cls: type[BaseException], tb: types.TracebackType, modules: AuthorModules
) -> Purpose:
    code, at = tb.tb_frame.f_code, tb.tb_lasti
    raw = code.co_code  # not the adaptive one, which holds specialised opcodes and caches
    if not 0 <= at < len(raw) - 1:
        return Purpose(False, "cannot tell: no bytecode", True)  # compiled by Cython, Nuitka
    if _RAISE < 0:
        return Purpose(False, "cannot tell: unknown bytecode", True)
    accident = _accident_at(cls, code, raw, at)
    if not accident and code.co_filename.startswith("<") and not modules.typed_in:
        accident = f"generated code {code.co_filename}"
    if not accident and not modules.owns(tb.tb_frame.f_globals):
        accident = "raise outside the tool's modules,"
    place = "{}.{}:{}".format(*_place(tb))
    if accident:
        return Purpose(False, f"accident: {accident} at {place}", True)
    return Purpose(True, f"raise in {place}", True)


def _accident_at(cls: type[BaseException], code: types.CodeType, raw: bytes, at: int) -> str:
    """
    Return the proof that the instruction did not raise on purpose; "" if it may have.
    """
    if raw[at] != _RAISE:
        return opname[raw[at]]
    if raw[at + 1] == 0:
        return "bare raise with nothing to raise"
    if issubclass(cls, TypeError) and "TypeError" not in code.co_names:
        # raise None, raise "text", raise C where C needs arguments: the interpreter's words, at the
        # author's raise.
        return "raise of no exception"
    return ""


def _innermost(tb: types.TracebackType | None) -> types.TracebackType | None:
    if tb is None:
        return None
    for _ in repeat(None, MAX_ENTRIES):
        inner = tb.tb_next
        if inner is None:
            return tb
        tb = inner
    return None


def _newest_raise(tb: types.TracebackType, modules: AuthorModules) -> types.TracebackType | None:
    """
    Return the first entry of the author's that stands at a raise; None: none is near the beginning.
    """
    entry: types.TracebackType | None = tb
    for _ in repeat(None, MAX_THROUGH):
        if entry is None:
            break
        code, at = entry.tb_frame.f_code.co_code, entry.tb_lasti
        if 0 <= at < len(code) - 1 and code[at] == _RAISE and owns_frame(modules, entry):
            return entry
        entry = entry.tb_next
    return None


def _place(tb: types.TracebackType) -> tuple[str, str, int]:
    code = tb.tb_frame.f_code
    name = tb.tb_frame.f_globals.get("__name__")
    line: int | None = tb.tb_lineno  # None where the compiler had no line to give
    return name if isinstance(name, str) else code.co_filename, code.co_qualname, line or 0


def _strings(code: types.CodeType) -> Iterator[str]:
    pending: list[object] = list(code.co_consts)
    if (
        pending
        and code.co_flags & _OPTIMIZED
        and (not _HAS_DOCSTRING or code.co_flags & _HAS_DOCSTRING)
    ):
        del pending[0]
    while pending:
        constant = pending.pop()
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple | frozenset):
            pending += constant


def _plain_function(tool: object) -> object:
    for _ in range(MAX_WRAPPERS):
        if isinstance(tool, functools.partial):
            tool = tool.func
        elif isinstance(tool, types.MethodType):
            tool = tool.__func__
        elif (wrapped := getattr(tool, "__wrapped__", None)) is not None:
            tool = wrapped
        elif isinstance(call := getattr(type(tool), "__call__", None), types.FunctionType):  # noqa: B004 -- the function itself is wanted
            tool = call
        else:
            break
    return tool


def _namespace_of(body: object) -> Mapping[str, Any] | None:
    space: object = getattr(body, "__globals__", None)
    return space if _is_namespace(space) else _namespace_named(getattr(body, "__module__", None))


def _namespace_named(module: object) -> Mapping[str, Any] | None:
    space: object = (
        getattr(sys.modules.get(module), "__dict__", None) if isinstance(module, str) else None
    )
    return space if _is_namespace(space) else None


def _is_namespace(space: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(space, dict)


def _module_name(space: Mapping[str, Any]) -> str:
    name = space.get("__name__")
    if name == "__main__":  # python -m package.module
        name = getattr(space.get("__spec__"), "name", None) or name
    return name if isinstance(name, str) else ""


def _regular_package(name: str) -> str:
    """
    Return the outermost package that has an ``__init__``, since a namespace has many authors.
    """
    head, _, rest = name.partition(".")
    while rest and getattr(sys.modules.get(head), "__file__", None) is None:
        part, _, rest = rest.partition(".")
        head = f"{head}.{part}"
    return head


def _root_of(name: str, file: str, *, is_package: bool) -> str:
    """
    Return the folder, or the zip file, that the outermost module or package lies in.
    """
    folder = os.path.dirname(file)
    parts = name.split(".")
    for part in reversed(parts if is_package else parts[:-1]):
        if os.path.basename(folder) != os.path.normcase(part):
            break  # a module that was given a name of another place
        folder = os.path.dirname(folder)
    return folder


def _is_project(root: str) -> bool:
    """
    Tell whether a folder or a zip file holds one author's code alone: nothing gets installed there.
    """
    if root == os.path.dirname(root) or not _INSTALLED.isdisjoint(root.split(os.sep)):
        return False
    try:
        if os.path.isfile(root):
            return not any(True for _ in _distributions(root))
        return not any(entry.endswith(".dist-info") for entry in os.listdir(root))
    except OSError:
        return False


def _distributions(root: str, name: str | None = None) -> Iterable[Any]:
    from importlib.metadata import Distribution, DistributionFinder  # noqa: PLC0415 -- only where something is installed

    return Distribution.discover(context=DistributionFinder.Context(name=name, path=[root]))


@functools.lru_cache(maxsize=128)
def _distribution_files(file: str, root: str) -> frozenset[str]:
    """
    Return the Python files that one distribution installed together with a file; empty: unknown.
    """
    inside = os.path.relpath(file, root).replace(os.sep, "/")
    guess = inside.partition("/")[0].removesuffix(".py")
    for name in (guess, None):
        for distribution in _distributions(root, name):
            record = distribution.read_text("RECORD")
            if record is None or f"\n{inside}," not in f"\n{record}":
                continue
            listed = (line.partition(",")[0] for line in record.splitlines())
            return frozenset(
                os.path.normcase(os.path.join(root, entry))
                for entry in listed
                if entry.endswith(".py")
            )
    return frozenset()


def _lies_in(file: str, folder: str | None) -> bool:
    return (
        folder is not None
        and file.startswith(folder)
        and not file.startswith(_STDLIB)
        and _INSTALLED.isdisjoint(file[len(folder) :].split(os.sep))
    )


def _is_standard_library(file: str | None) -> bool:
    return (
        file is not None
        and file.startswith(_STDLIB)
        and _INSTALLED.isdisjoint(file[len(_STDLIB) :].split(os.sep))
    )


def _real(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))


def _probe() -> int:
    """
    Return the opcode of a raise with something to raise; -1 where this interpreter has another.

    From text, so that it stays true when this module itself is compiled.
    """
    raising = opmap.get("RAISE_VARARGS", -1)
    stands = [_stands_at(raising, source) for source in ("raise ValueError('x')", "int('x')")]
    return raising if stands == [True, False] else -1


def _stands_at(opcode: int, source: str) -> bool:
    try:
        exec(compile(source, "<probe>", "exec"), {})  # noqa: S102 -- two texts of our own
    except ValueError as exc:
        tb = _innermost(exc.__traceback__)
        if tb is not None:
            raw, at = tb.tb_frame.f_code.co_code, tb.tb_lasti
            return 0 <= at < len(raw) - 1 and raw[at] == opcode and raw[at + 1] == 1
    return False


_STDLIB: Final = os.path.join(os.path.dirname(_real(os.__file__)), "")
_RAISE: int = _probe()
