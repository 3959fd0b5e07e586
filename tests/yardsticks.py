"""
Measures how readable the source is: ``python tests/yardsticks.py [ROOT]``.

Prints, for the whole package and for its core (everything but rules, dialects, integrations and the
programs): cyclomatic complexity by radon, its sum per line of code (decisions per line), long lines,
conditional expressions, and the share of functions that are named by a participle or a preposition. Run it on
two checkouts to compare a change. ``--names`` and ``--complex`` list what the last two figures count.
"""

# ruff: noqa: T201 -- a program that prints

import argparse
import ast
import io
import statistics
import sys
import tokenize
from pathlib import Path

from radon.complexity import cc_visit


#: Packages that are not the core.
OUTSIDE = {"rules", "dialects", "integrations", "cli", "gateway", "check"}

#: A first word that makes a name a preposition phrase, or an adverb.
PREPOSITIONS = set(
    "about above across after against along among around as at away back before behind below beneath beside between "
    "beyond by down for from in inside into like near of off on onto out outside over per since than through to toward "
    "under until up upon via with within without apart again later once together".split()
)

#: Participles that do not end in "ed".
IRREGULAR = set(
    "asked begun bent bound bought brought built caught chosen come cut dealt done drawn driven fallen fed felt fit "
    "forgiven forgotten found frozen given gone got heard held hidden hit kept known laid led left lent let lost made "
    "meant met mistaken overridden paid put read said seen sent set shown shut spelled spoken spent split spread stood "
    "stuck sunk swept taken taught thrown told torn understood undone won worn woven written retold".split()
)

#: Words that end in "ed" or stand among the irregular ones, and are verbs or nouns where they lead a name.
VERBS = {"read", "set", "put", "let", "cut", "hit", "split", "spread", "feed", "need", "seed", "embed", "shed", "fit"}

#: Names that a protocol of Python or of a host gives.
GIVEN = {"from_wire", "to_wire", "from_json", "to_json", "on_call_tool", "on_list_tools", "on_failure", "on_attempt"}

#: The converters that Python itself names so (`dict.fromkeys`, `int.from_bytes`, `float.as_integer_ratio`).
CONVERTERS = {"from", "to", "as", "with", "on"}


def count_code_lines(text):
    """
    Count the lines that hold code: no blank line, comment or docstring.
    """
    tree = ast.parse(text)
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.update(range(node.lineno, node.end_lineno + 1))
    lines = set()
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def is_participle_or_preposition(name):
    """
    Tell whether a function's name begins with a participle or a preposition instead of a verb or noun.
    """
    bare = name.strip("_")
    if not bare or name.startswith("__") or name in GIVEN:
        return False
    first, *rest = bare.split("_")
    if first in CONVERTERS and rest:
        return False
    if first in PREPOSITIONS:
        return True
    if first in VERBS:
        return False
    return first in IRREGULAR or (first.endswith("ed") and len(first) > 3)


def measure(paths):
    """
    Measure some files; return the figures by name.
    """
    complexities, names, lines, conditional, long_lines, walruses = [], [], 0, 0, 0, 0
    for path in paths:
        text = path.read_text()
        tree = ast.parse(text)
        lines += count_code_lines(text)
        long_lines += sum(len(line) > 100 for line in text.splitlines())
        for node in ast.walk(tree):
            conditional += isinstance(node, ast.IfExp)
            walruses += isinstance(node, ast.NamedExpr)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names.append((node.name, path, node.lineno))
        complexities += [
            (block.complexity, path, block.fullname) for block in cc_visit(text) if hasattr(block, "closures")
        ]
        for block in cc_visit(text):
            complexities += [
                (method.complexity, path, f"{block.name}.{method.name}") for method in getattr(block, "methods", ())
            ]
    unique = list(dict.fromkeys(complexities))
    odd = [entry for entry in names if is_participle_or_preposition(entry[0])]
    values = [value for value, _, _ in unique]
    return {
        "files": len(paths),
        "lines of code": lines,
        "functions": len(names),
        "complexity, mean": round(statistics.mean(values), 2),
        "complexity, largest": max(values),
        "functions above 12": sum(value > 12 for value in values),
        "decisions per line": round(sum(values) / lines, 3),
        "conditional expressions per 1000 lines": round(1000 * conditional / lines, 1),
        "walruses per 1000 lines": round(1000 * walruses / lines, 1),
        "lines above 100 columns": long_lines,
        "names by participle or preposition, %": round(100 * len(odd) / len(names), 1),
    }, {"names": odd, "complex": sorted(unique, key=lambda entry: -entry[0])[:25]}


def main():
    """
    Print the figures.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("root", nargs="?", default=Path(__file__).parent.parent, type=Path)
    parser.add_argument("--names", action="store_true", help="list the functions that are named so")
    parser.add_argument("--complex", action="store_true", help="list the 25 most complex functions")
    parser.add_argument("--under", default="", help="only files whose path below the package begins so")
    options = parser.parse_args()
    package = options.root / "src" / "toolfault"
    paths = [path for path in sorted(package.rglob("*.py")) if str(path.relative_to(package)).startswith(options.under)]
    core = [path for path in paths if path.relative_to(package).parts[0] not in OUTSIDE]
    for title, some in (("everything", paths), ("core", core)):
        if not some:
            continue
        figures, details = measure(some)
        print(title)
        for name, value in figures.items():
            print(f"  {name:<42} {value:>8}")
    for kind in ("names", "complex"):
        if getattr(options, kind):
            for first, path, last in details[kind]:
                print(f"  {first} {path.relative_to(package)} {last}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
