"""
On purpose or by accident: the table of situations, and what must never be taken for a raise.
"""

import collections
import functools
import json
import os
import shutil
import subprocess
import sys
import types
import unittest.mock
import xml.parsers.expat
from pathlib import Path

import pytest

from toolfault._judge import deliberate
from toolfault._judge.deliberate import (
    AuthorModules,
    Purpose,
    from_environ,
    names_environment,
    packages_in_traceback,
    purpose_of,
    raise_site,
)


SUPPORT = Path(__file__).parent / "support"
STRANGERS = SUPPORT / "purpose_strangers" / "site-packages"

# For good, since verdicts look the classes of the strangers up.
sys.path.append(str(STRANGERS))

import purpose_hostile  # noqa: E402 -- as below
from purpose_acme.errors import AcmeError, NoSuchColumn  # noqa: E402 -- needs the strangers
from purpose_driver import Everywhere, caught, situations, verdict  # noqa: E402 -- as above


TABLE = situations()


# The table.


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_in_a_source_folder(row):
    """
    The judge says of each situation what the table says.
    """
    assert row.verdict == verdict(caught(row.tool), AuthorModules(row.tool))


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """
    What the judge says where all the packages lie in one site-packages folder.
    """
    site = tmp_path_factory.mktemp("installed") / "site-packages"
    shutil.copytree(STRANGERS, site)
    for package in ("purpose_acme", "purpose_acme_core", "purpose_ns"):
        shutil.copytree(SUPPORT / package, site / package, dirs_exist_ok=True)
    shutil.copy(SUPPORT / "purpose_driver.py", site)
    # Not by its path: a script's folder is its author's.
    start = f"import sys; sys.path.insert(0, {str(site)!r}); from purpose_driver import main; main()"
    done = subprocess.run([sys.executable, "-I", "-c", start], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_installed(installed, row):
    """
    So it does where the packages are installed, without and with the author's other package named.
    """
    assert [row.installed, row.also] == installed[row.name]


def test_the_table_is_large_and_nothing_stands_twice():
    """
    Each situation has a name of its own.
    """
    names = collections.Counter(row.name for row in TABLE)

    assert [] == [name for name, count in names.items() if count > 1]
    assert len(names) > 250


def test_wrong_verdicts_are_known_and_explained():
    """
    The judge errs on the safe side, nearly always, and each error has its reason.
    """
    wrong = [row for row in TABLE if row.truth not in ("?", row.verdict)]

    assert all(row.because for row in wrong)
    assert {
        "an accident raised anew without its traceback",
        "an accident raised anew after unpickling",
        "an accident wrapped by a decorator of the other distribution",
        "code of the caller raises under a file's name",
        "raise None in code that names TypeError",
    } == {row.name for row in wrong if row.verdict == "P"}
    assert {
        "raise New().with_traceback(old)",
        "throw into a generator, in a lambda",
        "raise a TypeError in code that does not name it",
        "raise in an argparse type",
        "raise under a decorator without wraps",
    } == {row.name for row in wrong if row.verdict == "A"}


# The reason.


def raises():
    raise ValueError("no")


def crashes():
    return int("x")


def line_of(function):
    return function.__code__.co_firstlineno + 1


HERE = f"{__name__}"


def test_reasons():
    """
    A verdict says what it rests on, and whether there was a traceback.
    """
    home = AuthorModules(raises)

    assert Purpose(True, f"raise in {HERE}.raises:{line_of(raises)}", True) == purpose_of(caught(raises), home)
    assert purpose_of(caught(crashes), home).reason.startswith("accident: ")
    assert purpose_of(caught(crashes), home).reason.endswith(f" at {HERE}.crashes:{line_of(crashes)}")
    assert Purpose(False, "cannot tell: no traceback", False) == purpose_of(ValueError("no"), home)
    assert Purpose(False, "accident: AssertionError", False) == purpose_of(AssertionError("no"), home)
    assert Purpose(True, "own class", False, own_class=True) == purpose_of(
        AcmeError("no"), AuthorModules(caught, also=["purpose_acme"])
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("bare raise with nothing to raise", "accident: bare raise with nothing to raise at purpose_acme.odd.bare:"),
        ("raise None", "accident: raise of no exception at purpose_acme.odd.raise_none:"),
        (
            "code of the caller raises, in the author's namespace",
            "accident: generated code <sent> at purpose_acme.odd.",
        ),
        (
            "a library refuses with ValueError",
            "accident: raise outside the tool's modules, at purpose_lib.refuse_value:",
        ),
    ],
)
def test_reasons_of_raises_that_do_not_count(name, reason):
    """
    A raise that isn't the author's says why.
    """
    (row,) = (row for row in TABLE if row.name == name)

    assert purpose_of(caught(row.tool), AuthorModules(row.tool)).reason.startswith(reason)


# Bytecode.


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(3, id="no function"),
        pytest.param(lambda: None, id="too many arguments"),
        pytest.param(len, id="a builtin that refuses"),
    ],
)
def test_an_accident_in_a_frame_made_by_c(handler):
    """
    The stub that C code makes for a traceback is a raise instruction, and isn't taken for one.
    """
    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler = handler
    exc = caught(lambda: parser.Parse("<a/>"))
    tb = deliberate._innermost(exc.__traceback__)

    assert tb.tb_frame.f_code.co_filename.endswith("pyexpat.c")
    assert deliberate._RAISE in tb.tb_frame.f_code.co_code[::2]
    assert not purpose_of(exc, Everywhere()).deliberate
    assert not purpose_of(exc.with_traceback(tb), Everywhere()).deliberate


@pytest.mark.parametrize(("fails", "deliberate"), [(raises, True), (crashes, False)])
def test_a_callback_of_c(fails, deliberate):
    """
    What a callback raises is the author's, through any frames of C.
    """
    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: fails()
    exc = caught(lambda: parser.Parse("<a/>"))

    assert deliberate == purpose_of(exc, AuthorModules(fails)).deliberate


@pytest.mark.parametrize("at", [-1, -2, 10_000])
def test_a_frame_without_an_instruction(at):
    """
    Compiled frames give no place in the bytecode, and bytes are not indexed from their end.
    """
    tb = caught(raises).__traceback__
    exc = ValueError("no").with_traceback(types.TracebackType(None, tb.tb_frame, at, 1))

    assert Purpose(False, "cannot tell: no bytecode", True) == purpose_of(exc, Everywhere())


def test_probe_off(monkeypatch):
    """
    Without a look at instructions own classes are still deliberate, and everything else is an accident.
    """
    monkeypatch.setattr(deliberate, "_RAISE", -1)
    own = {row.name for row in TABLE if "own class" in row.name or "own error" in row.name or "_class" in row.name}
    told = {row.name: purpose_of(caught(row.tool), AuthorModules(row.tool)) for row in TABLE if "group" not in row.name}

    assert Purpose(False, "cannot tell: unknown bytecode", True) == purpose_of(caught(raises), AuthorModules(raises))
    assert {"own class"} == {purpose.reason for purpose in told.values() if purpose.deliberate}
    assert {"P"} == {row.verdict for row in TABLE if row.name in told and told[row.name].deliberate}
    assert own


def test_the_probe_holds_here():
    """
    This interpreter's bytecode is as expected.
    """
    assert deliberate._RAISE > 0
    assert deliberate._RAISE == deliberate._probe()


@pytest.mark.parametrize(
    ("name", "opcode"),
    [
        pytest.param("RAISE_VARARGS", None, id="no such instruction"),
        pytest.param("RAISE_VARARGS", 0, id="another instruction"),
    ],
)
def test_the_probe_fails(monkeypatch, name, opcode):
    """
    Where a raise doesn't stand where it is expected, the probe says so.
    """
    monkeypatch.setattr(deliberate, "opmap", {} if opcode is None else {name: opcode})

    assert -1 == deliberate._probe()


def test_the_probe_fails_where_everything_looks_like_a_raise(monkeypatch):
    """
    Neither does it help if accidents look like raises.
    """
    monkeypatch.setattr(deliberate, "_stands_at", lambda opcode, source: True)

    assert -1 == deliberate._probe()


def test_warm_code():
    """
    Specialised instructions move no verdict.
    """
    for _ in range(300):
        assert purpose_of(caught(raises), AuthorModules(raises)).deliberate
        assert not purpose_of(caught(crashes), AuthorModules(crashes)).deliberate


# The standard library as a witness: the instruction against the syntax tree.


def test_the_instruction_agrees_with_the_syntax_tree(tmp_path):
    """
    Wherever an exception began in the standard library, a raise instruction is a raise statement, and the reverse.
    """
    path = os.pathsep.join([str(SUPPORT), str(STRANGERS)])
    done = subprocess.run(
        [sys.executable, "-m", "purpose_witness"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    heard = json.loads((tmp_path / "heard.json").read_text(encoding="utf-8")) if done.returncode == 0 else done.stderr

    assert [] == heard["wrong"]
    assert heard["raises"] > 150
    assert heard["accidents"] > 150


# Hostile exceptions, namespaces and tools.


def raised(cls):
    def tool():
        raise cls("no")

    return tool


@pytest.mark.parametrize("name", ["HidesTraceback", "HidesClass", "HidesModule", "HidesAll", "OtherModule"])
def test_hostile_classes(name):
    """
    What a class does to its attributes changes no verdict: the author raised it, a stranger didn't.
    """
    exc = caught(raised(vars(purpose_hostile)[name]))

    assert purpose_of(exc, AuthorModules(raises)).deliberate
    assert not purpose_of(exc, AuthorModules(None)).deliberate
    assert (HERE, "raised.<locals>.tool", line_of(raised) + 1) == raise_site(exc)
    assert HERE.partition(".")[0] in packages_in_traceback(exc)
    assert not names_environment(exc)
    assert not from_environ(exc)


def test_hostile_text():
    """
    A text that can't be had names nothing.
    """

    class Mute(ValueError):
        def __str__(self):
            raise RuntimeError("API_KEY")

    assert not names_environment(caught(lambda: (_ for _ in ()).throw(Mute())))


@pytest.mark.parametrize(
    "space",
    [
        {},
        {"__name__": None},
        {"__name__": 3},
        {"__name__": purpose_hostile.Evil("x")},
        {"__name__": "x", "__file__": 3},
        {"__name__": "x", "__file__": []},
        {"__name__": "x", "__file__": "\0"},
        {"__name__": "__main__", "__spec__": 3},
        {"__name__": "builtins"},
    ],
    ids=repr,
)
def test_hostile_namespaces(space):
    """
    A namespace that can't be asked is nobody's, and what was raised in it is no tool author's.
    """
    home = AuthorModules(raises)
    function = types.FunctionType(raises.__code__, {"ValueError": ValueError, **space})
    exc = caught(function)

    assert not home.owns(space)
    assert not purpose_of(exc, home).deliberate
    assert raise_site(exc) is None or raise_site(exc)[2] == line_of(raises)
    assert isinstance(packages_in_traceback(exc), frozenset)


def wrapped_by_itself():
    raise ValueError("no")


wrapped_by_itself.__wrapped__ = wrapped_by_itself


#: Made when they are wanted, since pytest looks closely at what it is given.
TOOLS = {
    "None": lambda: None,
    "a builtin": lambda: len,
    "a method of a builtin class": lambda: dict.get,
    "a number": lambda: 3,
    "a text": lambda: "text",
    "a function of the standard library": lambda: json.loads,
    "an object without attributes": purpose_hostile.Hostile,
    "a mock": unittest.mock.Mock,
    "a magic mock": unittest.mock.MagicMock,
    "a partial of a builtin": lambda: functools.partial(len),
    "a wrapper of a hostile object": lambda: types.SimpleNamespace(__wrapped__=purpose_hostile.Hostile()),
    "a module that is a number": lambda: types.SimpleNamespace(__module__=3),
    "globals that are a number": lambda: types.SimpleNamespace(__globals__=3),
}


@pytest.mark.parametrize("name", TOOLS)
def test_hostile_tools(name):
    """
    A tool may be anything; if nobody wrote it, nobody's modules are its author's.
    """
    home = AuthorModules(TOOLS[name]())

    assert not purpose_of(caught(raises), home).deliberate
    assert not purpose_of(caught(lambda: json.loads("{")), home).deliberate
    assert not home.owns_class(AcmeError)
    assert not home.owns(vars(json))
    assert "nobody" in repr(home) or "toolfault" not in repr(home)


def test_a_tool_that_answers_to_every_name():
    """
    An object that seems to be wrapped without end is its class's.
    """
    assert AuthorModules(purpose_hostile.Endless()).owns(vars(purpose_hostile))


def test_a_tool_wrapped_by_itself():
    """
    Wrappers that go round in a circle are peeled a bounded number of times.
    """
    assert purpose_of(caught(wrapped_by_itself), AuthorModules(wrapped_by_itself)).deliberate


def test_an_unknown_tool_owns_what_is_named():
    """
    The author may name packages without a tool, as one name too.
    """
    for also in (["purpose_acme"], "purpose_acme", iter(["purpose_acme"])):
        assert AuthorModules(None, also).owns_class(AcmeError)
        assert not AuthorModules(None, also).owns_class(ValueError)


def test_a_name_is_no_prefix():
    """
    purpose_ac does not hold purpose_acme.
    """
    home = AuthorModules(None, also=["purpose_ac"])

    assert not home.owns_class(AcmeError)
    assert not home.owns({"__name__": "purpose_acme"})
    assert home.owns({"__name__": "purpose_ac.me"})


def test_whatever_goes_wrong_is_an_accident():
    """
    A judge that breaks calls nothing deliberate.
    """

    class Broken(AuthorModules):
        def owns_class(self, cls):
            raise RuntimeError

    assert Purpose(False, "cannot tell: RuntimeError while judging", False) == purpose_of(caught(raises), Broken(None))


def test_a_class_that_no_module_holds_any_more():
    """
    Where its module was loaded by path, a class is known by the name of it.
    """
    space = {"__name__": "purpose_unlisted"}
    exec("class Own(Exception): pass\ndef tool(): pass", space)

    assert AuthorModules(space["tool"]).owns_class(space["Own"])
    assert not AuthorModules(raises).owns_class(space["Own"])


@pytest.mark.parametrize(
    ("entries", "is_walked"),
    [(900, True), (20_000, True), (deliberate.MAX_ENTRIES, True), (deliberate.MAX_ENTRIES + 1, False)],
)
def test_a_long_traceback(entries, is_walked):
    """
    A traceback is walked to its end, which may be far, and not for ever; then its newest raise decides.
    """
    inner = caught(raises).__traceback__.tb_next
    tb = inner
    for _ in range(entries - 1):
        tb = types.TracebackType(tb, inner.tb_frame, inner.tb_lasti, inner.tb_lineno)
    exc = ValueError("no").with_traceback(tb)

    assert purpose_of(exc, AuthorModules(raises)).deliberate
    assert ((HERE, "raises", line_of(raises)) if is_walked else None) == raise_site(exc)
    assert frozenset({HERE.partition(".")[0]}) == packages_in_traceback(exc)


def test_a_home_forgets():
    """
    Names made at run time don't fill the memory.
    """
    home = AuthorModules(raises)
    for n in range(deliberate.MAX_KNOWN * 3):
        home.owns({"__name__": f"made_{n}"})

    assert len(home._known) <= deliberate.MAX_KNOWN


def test_groups_of_the_author_and_witnesses():
    """
    A leaf that nobody raised stands or falls with the raise of its group.
    """
    home = AuthorModules(raises)

    assert purpose_of(ValueError("no"), home, caught(raises)).deliberate
    assert not purpose_of(ValueError("no"), home, caught(crashes)).deliberate
    assert not purpose_of(ValueError("no"), home, ValueError("nor this")).deliberate
    assert not purpose_of(caught(crashes), home, caught(raises)).deliberate
    assert not purpose_of(AttributeError("no"), home, caught(raises)).deliberate
    assert purpose_of(NoSuchColumn("no"), AuthorModules(None, also="purpose_acme")).deliberate


# Where it was raised.


def test_raised_at():
    """
    The innermost place has a module, a function and a line; without a traceback there is none.
    """
    assert (HERE, "crashes", line_of(crashes)) == raise_site(caught(crashes))
    assert "json.decoder" == raise_site(caught(lambda: json.loads("{")))[0]
    assert raise_site(ValueError("no")) is None


def test_raised_at_in_no_module():
    """
    Code without a module is known by its file.
    """
    space = {}
    exec(compile("def tool():\n    raise ValueError", "made_up.py", "exec"), space)

    assert ("made_up.py", "tool", 2) == raise_site(caught(space["tool"]))


def test_through():
    """
    The packages that an exception came through are known, from the innermost entries.
    """
    exc = caught(lambda: json.loads("{"))

    assert {"json", "purpose_driver", HERE.partition(".")[0]} == packages_in_traceback(exc)
    assert frozenset() == packages_in_traceback(ValueError("no"))


def test_through_looks_at_the_last_entries_only():
    """
    What lies further out is not looked at.
    """
    tb = caught(lambda: json.loads("{")).__traceback__
    inner = deliberate._innermost(tb)
    chain = None
    for _ in range(deliberate.MAX_THROUGH):
        chain = types.TracebackType(chain, inner.tb_frame, inner.tb_lasti, inner.tb_lineno)
    exc = ValueError("no").with_traceback(types.TracebackType(chain, tb.tb_frame, tb.tb_lasti, tb.tb_lineno))

    assert frozenset({"json"}) == packages_in_traceback(exc)


# Environment variables.


def literal():
    raise ValueError("Set GITHUB_TOKEN to use this tool")


def words():
    raise ValueError("an Environment Variable is missing")


def words_of_the_caller(text="this environment variable"):
    raise ValueError(f"no {text}")


def in_f_string(name="server"):
    raise ValueError(f"{name}: set MY_API_KEY first ({name})")


def in_tuple():
    names = ("MY_API_KEY", "MY_OTHER_KEY")
    raise ValueError(f"missing: {names}")


def in_set(name="MY_API_KEY"):
    if name in {"MY_API_KEY", "MY_OTHER_KEY"}:
        raise ValueError(f"missing: {name}")


def looked_up(name="MY_API_KEY"):
    if os.environ.get("MY_API_KEY") is None:
        raise ValueError(f"missing: {name}")


def values_of_the_caller(allowed=("NORMAL_TEXT", "HEADING_1")):
    raise ValueError(f"style must be one of {allowed}")


def values_in_the_docstring(allowed=("NORMAL_TEXT", "HEADING_1")):
    """
    Set a style: NORMAL_TEXT or HEADING_1.
    """
    raise ValueError(f"style must be one of {allowed}")


def part_of_a_name(name="MY_NORMAL_TEXT"):
    raise ValueError(f"TEXT_STYLE or NORMAL, not {name.removeprefix('X')}_TEXT"[20:])


def capitals():
    raise ValueError("ASCII letters only, NOT numbers")


def lower_case():
    raise ValueError("github_token is missing")


def far_down():
    raise ValueError("x" * 20_000 + " MY_API_KEY")


def no_text():
    raise ValueError


@pytest.mark.parametrize(
    ("tool", "names"),
    [
        (literal, True),
        (words, True),
        (in_f_string, True),
        (in_tuple, True),
        (in_set, True),
        (looked_up, True),
        (words_of_the_caller, False),
        (values_of_the_caller, False),
        (values_in_the_docstring, False),
        (part_of_a_name, False),
        (capitals, False),
        (lower_case, False),
        (far_down, False),
        (no_text, False),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_names_environment(tool, names):
    """
    A text names an environment variable if the author's own words do.
    """
    assert names == names_environment(caught(tool))


def test_names_environment_without_a_traceback():
    """
    Without the code that raised it there are no words of the author.
    """
    assert not names_environment(ValueError("Set GITHUB_TOKEN"))


def environ_item():
    os.environ["PURPOSE_NO_SUCH_VARIABLE"]


def environ_in_a_helper():
    environ_item()


def dict_item():
    {}["PURPOSE_NO_SUCH_VARIABLE"]


def key_error():
    raise KeyError("PURPOSE_NO_SUCH_VARIABLE")


@pytest.mark.parametrize(
    ("tool", "answer"),
    [
        (environ_item, True),
        (environ_in_a_helper, True),
        (lambda: os.environ.pop("PURPOSE_NO_SUCH_VARIABLE"), True),
        (dict_item, False),
        (key_error, False),
        (raises, False),
        (lambda: KeyError("never raised"), False),
        (lambda: os.environ[3], False),
    ],
)
def test_from_environ(tool, answer):
    """
    A key that is missing in the environment differs from any other.
    """
    assert answer == from_environ(caught(tool))
