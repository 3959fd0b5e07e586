"""
Attacks the library as a hostile caller, tool or peer would: ``make attack``, ``make attack ARGS=--quick``.

Each kind of attack is a program of its own beside this one; each prints what it tried and counts
defects. The run fails where one counts any.
"""

# ruff: noqa: T201 -- a program that prints

import argparse
import importlib
import sys


#: What is attacked: hostile exceptions, slow inputs, planted secrets, mutated answers.
KINDS = ("exceptions", "slow", "secrets", "readers")


def main():
    """
    Run the kinds in turn, each for its share of the time.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true", help="a minute in all, for CI")
    parser.add_argument("--minutes", type=float, default=20.0, help="how long all kinds take together (20)")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only this kind; may be repeated")
    options = parser.parse_args()
    kinds = options.kind or KINDS
    minutes = 1.0 if options.quick else options.minutes
    defects = {}
    for kind in kinds:
        print(f"==> {kind}", flush=True)
        defects[kind] = importlib.import_module(f"attack_{kind}").main(
            quick=options.quick, minutes=minutes / len(kinds)
        )
    print("defects: " + ", ".join(f"{kind} {count}" for kind, count in defects.items()))
    return 1 if any(defects.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
