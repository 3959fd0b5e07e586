"""
Mutated answers of every known form for every reader: ``python tests/support/attack_readers.py``.

Counts what raises, what leaves invalid JSON, failures that are read as a success, and answers that cost more
work than any answer may, by counted function calls.
"""

# ruff: noqa: T201 -- a program that prints

import logging
import random
import sys
import time
from collections import Counter

from answers import FORMS, HOSTILE, READERS, defect_of, paths_of, replaced, stays_failure
from toolfault import parse


#: How many function calls the reading of one answer may take.
MOST_CALLS = 30_000

#: How many answers a quick run reads, and how often the work is counted, which is slow.
QUICK = 6_000
COUNTED = 50


def mutated(draw):
    """
    A form with one to three members replaced, or swapped with members of other forms; and whether it stays a failure.
    """
    answer = FORMS[draw.choice(list(FORMS))]
    failure = True
    for _ in range(draw.choice((1, 1, 2, 3))):
        path = draw.choice(list(paths_of(answer)) or [None])
        if path is None:
            break
        failure = failure and stays_failure(path)
        answer = replaced(answer, path, draw.choice((_hostile, _foreign))(draw))
    return answer, failure


def _hostile(draw):
    return draw.choice(HOSTILE)


def _foreign(draw):
    value = FORMS[draw.choice(list(FORMS))]
    for name in draw.choice(list(paths_of(value))):
        value = value[name]
    return value


def calls_of(answer):
    """
    How many functions are called while an answer is parsed.
    """
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        parse(answer)
    finally:
        sys.setprofile(None)
    return calls


def main(quick: bool, minutes: float) -> int:
    """
    Read mutated answers until the time, or a quick run's number, is used up; return the number of defects.
    """
    logging.getLogger("toolfault").addHandler(logging.NullHandler())
    logging.getLogger("toolfault").propagate = False
    draw = random.Random(0)  # noqa: S311 -- an attack that can be repeated
    ends = time.monotonic() + minutes * 60
    read = 0
    worst = 0
    defects: Counter[str] = Counter()
    while time.monotonic() < ends and not (quick and read >= QUICK):
        answer, failure = mutated(draw)
        for reader in READERS:
            defect = defect_of(reader, answer, failure=failure)
            if defect:
                defects[defect] += 1
        if read % COUNTED == 0:
            calls = calls_of(answer)
            worst = max(worst, calls)
            defects["an answer that is too much work"] += calls > MOST_CALLS
        read += 1
    found = sum(defects.values())
    print(f"readers: {read} answers x {len(READERS)} readers, {found} defects, at most {worst} calls for one answer")
    for defect, count in (+defects).most_common(20):
        print(f"  {count:6}  {defect}")
    return found


if __name__ == "__main__":
    sys.exit(main(quick="--quick" in sys.argv, minutes=5.0) > 0)
