"""
What is public: complete, documented, light to import, and drawn as it is.
"""

import ast
import importlib
import inspect
import pickle
import pickletools
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import toolfault
from toolfault import errors, hooks, hosting, testing


MODULES = [
    "toolfault",
    "toolfault.errors",
    "toolfault.hooks",
    "toolfault.hosting",
    "toolfault.pytest_plugin",
    "toolfault.testing",
    "toolfault.dialects",
    "toolfault.dialects.a2a",
    "toolfault.dialects.a2a.protocol_droid",
    "toolfault.dialects.a2c_smcp",
    "toolfault.dialects.google_rpc",
    "toolfault.dialects.jsonrpc",
    "toolfault.dialects.problem_json",
    "toolfault.dialects.tool_failure",
    "toolfault.integrations.mcp",
    "toolfault.integrations.opentelemetry",
    "toolfault.rules",
    "toolfault.rules.http",
]

ROOT = Path(toolfault.__file__).parent


def public():
    for path in MODULES:
        module = importlib.import_module(path)
        for name in module.__all__:
            yield pytest.param(path, name, id=f"{path}.{name}")


@pytest.mark.parametrize("path", MODULES)
def test_exported_names_are_sorted_and_exist(path):
    module = importlib.import_module(path)

    # Constants, classes, functions; each by name.
    assert sorted(module.__all__, key=lambda name: (not name.isupper(), name[0].islower(), name)) == list(
        module.__all__
    )
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize(("path", "name"), list(public()))
def test_everything_public_is_documented(path, name):
    thing = getattr(importlib.import_module(path), name)
    if not inspect.isclass(thing) and not inspect.isroutine(thing):
        return
    assert inspect.getdoc(thing)
    if inspect.isclass(thing) and thing.__module__.startswith("toolfault"):
        for attribute, member in vars(thing).items():
            if not attribute.startswith("_") and inspect.isroutine(getattr(thing, attribute)) and callable(member):
                assert inspect.getdoc(member), f"{name}.{attribute}"


@pytest.mark.parametrize(("path", "name"), list(public()))
def test_public_functions_are_typed(path, name):
    thing = getattr(importlib.import_module(path), name)
    functions = [thing] if inspect.isfunction(thing) else []
    if inspect.isclass(thing) and thing.__module__.startswith("toolfault"):
        functions = [
            member for key, member in vars(thing).items() if inspect.isfunction(member) and not key.startswith("_")
        ]
    for function in functions:
        for parameter in inspect.signature(function).parameters.values():
            assert parameter.name == "self" or parameter.annotation is not parameter.empty, parameter
        assert "return" in function.__annotations__


def test_the_typing_marker_is_shipped():
    assert (ROOT / "py.typed").exists()


def test_importing_loads_nothing_but_pydantic_anyio_and_the_standard_library():
    """
    Compared before and after in a fresh interpreter, since site hooks load things at start-up.
    """
    script = (
        "import sys; before = set(sys.modules); from toolfault import *; "
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )

    loaded = set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )

    allowed = {"toolfault", "pydantic", "pydantic_core", "anyio"}
    # What pydantic and anyio bring themselves, once they are used.
    script = (
        "import sys; before = set(sys.modules); import anyio, pydantic; from typing import Annotated; "
        "exec('class M(pydantic.BaseModel): n: Annotated[int, pydantic.Field(ge=0)]'); anyio.sleep; "
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    brought = set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )
    assert loaded - allowed - brought - set(sys.stdlib_module_names) == set()


def run_script(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()


def test_importing_the_package_alone_loads_none_of_its_parts():
    script = "import sys, toolfault; print(*(name for name in sys.modules if name.split('.')[0] in {names}))"

    loaded = run_script(script.replace("{names}", "{'toolfault', 'pydantic', 'anyio'}"))
    assert sorted(loaded) == ["toolfault", "toolfault._version"]


@pytest.mark.parametrize("name", toolfault.__all__)
def test_each_name_is_an_attribute_from_the_start(name):
    script = f"import toolfault; print('{name}' in dir(toolfault), toolfault.{name}.__module__)"

    assert run_script(script) == ["True", "toolfault"]


@pytest.mark.parametrize("name", ["dialects", "errors", "hooks", "hosting", "rules"])
def test_each_public_module_is_an_attribute_from_the_start(name):
    script = f"import toolfault; print('{name}' in dir(toolfault), toolfault.{name}.__name__)"

    assert run_script(script) == ["True", f"toolfault.{name}"]


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'toolfault' has no attribute 'Toolfault'"):
        toolfault.Toolfault  # noqa: B018 -- the access is what raises


def test_threads_may_use_the_package_for_the_first_time_at_once():
    script = """
import threading, toolfault
start, got = threading.Barrier(len(toolfault.__all__)), {}
def use(name):
    start.wait()
    got[name] = getattr(toolfault, name)
threads = [threading.Thread(target=use, args=(name,)) for name in toolfault.__all__]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(all(got[name] is getattr(toolfault, name) for name in toolfault.__all__), len(got))
"""

    assert run_script(script) == ["True", str(len(toolfault.__all__))]


def test_a_pickle_names_the_package_however_the_class_came_to_be_loaded():
    script = (
        "import pickle; from toolfault.errors import ToolFault; "
        "print(b'toolfault\\nToolFault' in pickle.dumps(ToolFault('internal', 'm'), 2))"
    )

    assert run_script(script) == ["True"]


def tree(cls, depth=0):
    yield depth, cls.__name__
    for sub in cls.__subclasses__():
        if sub.__module__.startswith("toolfault"):
            yield from tree(sub, depth + 1)


def test_the_tree_of_exceptions_is_drawn_as_it_is():
    drawn = [
        ((len(pad) - 0) // 4, name, mark == "-")
        for pad, mark, name in re.findall(r"^( *)([-*]) (\w+)$", errors.__doc__, re.MULTILINE)
    ]

    ours = [name for _, name, own in drawn if own]
    real = [cls for cls in vars(errors).values() if inspect.isclass(cls) and issubclass(cls, BaseException)]
    assert sorted(ours) == sorted(cls.__name__ for cls in real if cls.__module__.startswith("toolfault"))
    parents = {}
    stack = []
    for depth, name, _ in drawn:
        stack = [*stack[:depth], name]
        parents[name] = stack[depth - 1] if depth else None
    for cls in real:
        if cls.__module__.startswith("toolfault"):
            assert cls.__bases__[0].__name__ == parents[cls.__name__]
    assert sorted(errors.__all__) == sorted([*ours, "CategoryName", "CodeName"])


def test_each_code_and_category_has_its_sentence():
    source = ast.parse((ROOT / "_codes.py").read_text())
    for node in source.body:
        if isinstance(node, ast.ClassDef):
            members = [item for item in node.body if isinstance(item, ast.Assign)]
            sentences = [item for item in node.body if isinstance(item, ast.Expr)][1:]
            assert len(members) == len(sentences) == len(getattr(toolfault, node.name))
            for sentence in sentences:
                assert sentence.value.value.strip().endswith(".")


def test_public_exceptions_pickle():
    for fault in (
        toolfault.ToolFault("quota_exceeded", "used up", retry_after_seconds=3, hint="wait", causes=["a"]),
        toolfault.InvalidEnvelope("missing-field", "code"),
        toolfault.InvalidRule("no"),
    ):
        again = pickle.loads(pickle.dumps(fault))
        assert (type(again), str(again), repr(again)) == (type(fault), str(fault), repr(fault))


def faults_of_all_kinds():
    class_of_its_own = toolfault.ToolFault("internal", "m", retry_after_seconds=3, causes=["a"], outcome="unknown")
    read = toolfault.parse({"isError": True, "content": [{"type": "text", "text": "rate limit reached"}]})
    return [class_of_its_own, read, class_of_its_own.envelope]


@pytest.mark.parametrize(
    "value",
    [
        *faults_of_all_kinds(),
        toolfault.Retry(attempts=5),
        toolfault.Retry(budget=toolfault.Budget(3), on_attempt=print),
        toolfault.Budget(3),
        hooks.Attempt(number=1, fault=faults_of_all_kinds()[0], wait=None, stopped="attempts"),
        hooks.Retried(attempts=(), result="x", error=None),
        hosting.RetryPerServer(toolfault.Retry(attempts=5), ["search"]),
        hosting.Call(tool="t"),
        toolfault.InvalidEnvelope("missing-field", "code"),
        toolfault.InvalidRule("no"),
        *toolfault.McpErrorCode,
        *toolfault.McpErrorCategory,
        *toolfault.Disclosure,
        *toolfault.Guidance,
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_pickle_names_no_private_module(value):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps(value, protocol)
        texts = [argument for _, argument, _ in pickletools.genops(data) if isinstance(argument, str)]
        assert [text for text in texts if "toolfault._" in text] == []
        again = pickle.loads(data)
        assert (type(again), repr(again)) == (type(value), repr(value))


@pytest.mark.parametrize("module", [toolfault, hooks, hosting, errors, testing], ids=lambda module: module.__name__)
def test_what_a_public_module_exports_says_that_it_is_public(module):
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert "._" not in value.__module__
            assert getattr(importlib.import_module(value.__module__), value.__qualname__) is value


@pytest.mark.parametrize("cls", [toolfault.Retry, hooks.Attempt, hooks.Retried, toolfault.McpExecuteError])
def test_annotations_can_be_evaluated(cls):
    assert typing.get_type_hints(cls)
