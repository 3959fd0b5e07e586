"""
Breaks the core one place at a time and counts which breaks the tests notice: ``make mutants``.

A sample of the candidates is drawn with a fixed seed. Each mutant is applied to a clone of the
committed state, with an environment of its own, and runs the tests that cover its line; a mutant
that survives them runs the whole suite. Survivors are printed with their place, so that a missing
test can be written.

This is our own program because mutmut wraps each function, which changes the frames and the
bytecode that the library itself looks at, and because cosmic-ray runs every test for each mutant.
"""

# ruff: noqa: T201 -- a program that prints

import argparse
import ast
import copy
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

from coverage import CoverageData


ROOT = Path(__file__).parent.parent

#: Packages that are not the core, as in yardsticks.py.
OUTSIDE = {"rules", "dialects", "integrations", "cli", "gateway", "check"}

COMPARISONS = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult}

#: Seconds after which a mutant counts as noticed: it made the tests hang.
TIMEOUT = 300

#: How many selected tests are named on one command line; beyond, their whole files run.
MANY = 150


def is_constant(node, *values):
    return isinstance(node, ast.Constant) and any(node.value is value for value in values)


def with_field(node, field, value):
    changed = copy.deepcopy(node)
    setattr(changed, field, value)
    return changed


def mutate_compare(node):
    other = COMPARISONS.get(type(node.ops[0])) if len(node.ops) == 1 else None
    return with_field(node, "ops", [other()]) if other else None


def mutate_bool_op(node):
    return with_field(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())


def mutate_unary(node):
    return node.operand if isinstance(node.op, ast.Not) else None


def mutate_arithmetic(node):
    other = ARITHMETIC.get(type(node.op))
    return with_field(node, "op", other()) if other else None


def mutate_constant(node):
    if isinstance(node.value, bool):
        return ast.Constant(not node.value)
    return ast.Constant(node.value + 1) if isinstance(node.value, int) else None


def mutate_return(node):
    # False instead of None is no change that a caller sees.
    if node.value is None or is_constant(node.value, None, False):
        return None
    return ast.Return(ast.Constant(None))


def mutate_call(node):
    return ast.Pass() if isinstance(node.value, ast.Call) else None


#: How each kind of node is broken; None: not at all.
MUTATIONS = {
    ast.Compare: mutate_compare,
    ast.BoolOp: mutate_bool_op,
    ast.UnaryOp: mutate_unary,
    ast.BinOp: mutate_arithmetic,
    ast.Constant: mutate_constant,
    ast.Return: mutate_return,
    ast.IfExp: lambda node: node.orelse,
    ast.Expr: mutate_call,
}


def mutations_of(tree):
    """
    Yield (node, replacement) for every place that can be broken; annotations are left alone.
    """
    annotations = set()
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            if getattr(node, field, None) is not None:
                annotations.update(map(id, ast.walk(getattr(node, field))))
    for node in ast.walk(tree):
        mutate = MUTATIONS.get(type(node))
        replacement = None if mutate is None or id(node) in annotations else mutate(node)
        if replacement is not None:
            yield node, replacement


def replace_in(text, node, replacement):
    """
    Return a module's text with one node replaced; everything else stays as it is.
    """
    lines = text.splitlines(keepends=True)
    before = "".join(lines[: node.lineno - 1]) + lines[node.lineno - 1].encode()[: node.col_offset].decode()
    after = lines[node.end_lineno - 1].encode()[node.end_col_offset :].decode() + "".join(lines[node.end_lineno :])
    new = ast.unparse(ast.fix_missing_locations(replacement))
    if isinstance(node, ast.expr):
        new = f"({new})"
    return before + new + after


def candidates(root):
    """
    Return all mutants of the core as (path, line, what, new text).
    """
    package = root / "src" / "toolfault"
    found = []
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] in OUTSIDE:
            continue
        text = path.read_text()
        for node, replacement in mutations_of(ast.parse(text)):
            new = replace_in(text, node, replacement)
            try:
                compile(new, str(path), "exec")
            except SyntaxError:
                continue
            what = f"{ast.unparse(node)[:60]!r} -> {ast.unparse(replacement)[:60]!r}"
            found.append((path.relative_to(root), node.lineno, what, new))
    return found


class Clone:
    """
    A clone of the committed state with an environment of its own.
    """

    def __init__(self, folder):
        self.root = Path(folder)
        self.python = self.root / ".venv" / "bin" / "python"
        install = [str(self.python), "-m", "pip", "install", "-q"]
        for command in (
            ["git", "clone", "-q", str(ROOT), folder],
            [sys.executable, "-m", "venv", f"{folder}/.venv"],
            [*install, "--upgrade", "pip>=25.1"],
            [*install, "-e", folder, "--group", f"{folder}/pyproject.toml:test"],
        ):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def passes(self, tests):
        """
        Run some tests; tell whether all pass in time.
        """
        command = [str(self.python), "-m", "pytest", "-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", *tests]
        try:
            done = subprocess.run(command, cwd=self.root, capture_output=True, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode in {0, 5}


def tests_by_line(clone):
    """
    Run the suite once under coverage; return a function from (path, line) to the tests that run it.
    """
    settings = "[run]\nsource = toolfault\ndynamic_context = test_function\n"
    (clone.root / "mutants.coveragerc").write_text(settings)
    command = [str(clone.python), "-m", "coverage", "run", "--rcfile=mutants.coveragerc", "-m", "pytest", "-q"]
    # A test that tracing makes fail covers its lines all the same.
    subprocess.run([*command, "-p", "no:randomly"], cwd=clone.root, check=False, stdout=subprocess.DEVNULL)
    data = CoverageData(str(clone.root / ".coverage"))
    data.read()
    files = {path.stem: str(path.relative_to(clone.root)) for path in sorted((clone.root / "tests").rglob("test_*.py"))}

    def tests_of(path, line):
        tests = set()
        for context in data.contexts_by_lineno(str(clone.root / path)).get(line, ()):
            parts = context.split(".")
            where = next((number for number, part in enumerate(parts) if part in files), None)
            if where is not None and len(parts) > where + 1:
                tests.add(f"{files[parts[where]]}::{parts[where + 1]}")
        if len(tests) > MANY:
            return sorted({test.partition("::")[0] for test in tests})
        return sorted(tests)

    return tests_of


def is_noticed(clone, mutant, tests, *, whole):
    """
    Apply a mutant, run the tests that cover it, then the whole suite; tell whether one fails.
    """
    path, _line, _what, new = mutant
    file = clone.root / path
    old = file.read_text()
    file.write_text(new)
    try:
        if tests and not clone.passes(tests):
            return True
        # Processes that the tests start run lines that no test covers by itself.
        return (whole or not tests) and not clone.passes([])
    finally:
        file.write_text(old)


def main():
    """
    Draw the sample, run it, print the survivors and the share.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--count", type=int, default=200, help="how many mutants (200)")
    parser.add_argument("--seed", type=int, default=20261201, help="of the sample")
    parser.add_argument("--workers", type=int, default=2, help="clones that run at the same time (2)")
    parser.add_argument("--covering", action="store_true", help="run no more than the tests that cover a line")
    parser.add_argument("--under", default="", help="only files whose path below the package begins so")
    options = parser.parse_args()
    package = Path("src") / "toolfault"
    with tempfile.TemporaryDirectory(prefix="toolfault-mutants-") as folder:
        print("==> cloning, and installing into each clone", flush=True)
        clones = Queue()
        for number in range(options.workers):
            clones.put(Clone(f"{folder}/{number}"))
        first = clones.queue[0]
        everything = candidates(first.root)
        some = [mutant for mutant in everything if str(mutant[0].relative_to(package)).startswith(options.under)]
        sample = random.Random(options.seed).sample(some, min(options.count, len(some)))
        print("==> running the suite once, to learn which test covers what", flush=True)
        tests_of = tests_by_line(first)

        def judge(mutant):
            clone = clones.get()
            began = time.monotonic()
            noticed = is_noticed(clone, mutant, tests_of(mutant[0], mutant[1]), whole=not options.covering)
            clones.put(clone)
            word = "noticed " if noticed else "SURVIVED"
            print(f"{word} {mutant[0]}:{mutant[1]} {mutant[2]} ({time.monotonic() - began:.0f} s)", flush=True)
            return noticed

        with ThreadPoolExecutor(options.workers) as pool:
            results = list(pool.map(judge, sample))
    share = 100 * sum(results) / len(results)
    print(f"{sum(results)} of {len(results)} mutants noticed ({share:.1f} %), of {len(some)} candidates")
    return 0


if __name__ == "__main__":
    sys.exit(main())
