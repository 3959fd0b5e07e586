"""
An answer takes a bounded number of calls, files and moves: speed and readability, held by counting.
"""

import importlib.util
import logging
from pathlib import Path

import anyio
import pytest


_SPEC = importlib.util.spec_from_file_location("trips", Path(__file__).with_name("trips.py"))
trips = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(trips)


#: The most calls, files and moves of each trip, with a little room: what the redactor remembers, and
#: what the environment holds, changes a few calls. What needs more says why in the commit.
MOST = {
    "a success": (16, 3, 4),
    "a ToolFault": (90, 20, 46),
    "a ValueError on purpose": (110, 21, 58),
    "a KeyError, a crash that repeats": (170, 25, 92),
    "an HTTP 429 of httpx": (170, 29, 72),
    "parse of an envelope": (80, 12, 38),
    "parse of a success": (40, 6, 10),
}


@pytest.fixture(scope="module")
def counted():
    logger = logging.getLogger("toolfault")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        recorders = anyio.run(trips.measure)
    finally:
        logger.setLevel(level)
    return {name: recorder.count()[:3] for name, recorder in recorders.items()}


def test_every_trip_has_its_limits(counted):
    assert counted.keys() == MOST.keys()


@pytest.mark.parametrize("name", MOST)
def test_a_trip_takes_no_more_than_it_did(counted, name):
    assert [have for have, most in zip(counted[name], MOST[name], strict=True) if have > most] == []
