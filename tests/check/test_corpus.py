"""
The recorded failures of 46 public servers, replayed by a process: what the checker finds is pinned for each server.

``python tests/check/test_corpus.py`` writes the figures anew. The recordings are not part of the repository.
"""

import json
import sys
from collections import Counter
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from unittest import mock

import pytest

import corpus_server
from toolfault.check._client import StdioClient
from toolfault.check._model import Expected, Kind, Provocation, ToolSeen
from toolfault.check._plan import Options, Plan
from toolfault.check._run import Run
from toolfault.check._verdicts import judge_all
from toolfault.check._wire import Hello


TESTS = Path(__file__).parent.parent
SHARED = [parent / "shared" for parent in TESTS.parents if (parent / "shared").is_dir()]
CORPUS = (SHARED[0] if SHARED else TESTS) / "cases" / "wire-corpus.json"
FIGURES = TESTS / "data" / "checker_corpus.json"

BAD_ARGUMENTS = ("missing_args", "wrong_type", "extra_arg", "no_args")
UPSTREAM = ("up_", "db_", "dns", "refused")

pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason="the recordings are not here")


@cache
def load():
    return json.loads(CORPUS.read_text()) if CORPUS.exists() else []


def is_failure(record):
    return record["label"]["is_failure"] and record["label"]["confidence"] != "doubtful"


def kind_of(record):
    if record["probe"] == "unknown_tool":
        return Kind.UNKNOWN_TOOL
    if record["probe"] in BAD_ARGUMENTS and record["label"]["code"] == "invalid_arguments":
        return Kind.BAD_ARGUMENTS
    return Kind.UPSTREAM if record["probe"].startswith(UPSTREAM) else Kind.AUTHOR


def expect(label):
    codes = frozenset({label["code"], *label.get("also_ok", ())})
    return Expected(codes, is_transient=None if label.get("retryable_either") else label["retryable"])


def provoke(record):
    call = record["call"]
    kind = kind_of(record)
    return Provocation(
        record["id"],
        "replay",
        kind,
        params={"name": call["tool"], "arguments": call["arguments"], "_meta": {corpus_server.KEY: record["id"]}},
        tool=None if kind is Kind.UNKNOWN_TOOL else call["tool"],
        expected=expect(record["label"]),
    )


def see(server, records):
    """
    The tools of a server, with the arguments that any recorded call gives them.
    """
    properties = {}
    for record in [one for one in load() if one["server"] == server and kind_of(one) is not Kind.UNKNOWN_TOOL]:
        if record["call"]["tool"] is not None:
            properties.setdefault(record["call"]["tool"], {}).update(
                dict.fromkeys(record["call"]["arguments"] or {}, {})
            )
    named = {one["call"]["tool"] for one in records}
    for name in sorted(properties.keys() & named):
        schema = {"type": "object", "properties": properties[name]}
        yield ToolSeen(name, {"name": name, "inputSchema": schema}, may_run=True)


def figures_of(server, records):
    """
    How many tools of a server have each outcome, by check.
    """
    tools = tuple(see(server, records))
    command = (sys.executable, "-S", corpus_server.__file__, str(CORPUS), server)
    run = Run(server, partial(StdioClient, command), Options(timeout=0.5, start=30.0, listen=0.0, total=3600.0))
    plan = Plan(Hello(server, "2025-11-25"), tools, tuple(map(provoke, records)), (), {})
    # All recordings count, however many of them hung.
    with mock.patch("toolfault.check._run._MAX_BROKEN", len(records)):
        exchanges = [record_upstream(one) for one in run.provoke(plan)]
    counts = {}
    for result in judge_all(exchanges, tools, is_http=False):
        counts.setdefault(result.check, Counter())[result.outcome.value] += 1
    return {check: dict(sorted(count.items())) for check, count in sorted(counts.items()) if check != "hints"}


def record_upstream(exchange):
    """
    Say that the upstream was used, which was there when the answer was recorded.
    """
    if exchange.provocation.kind is not Kind.UPSTREAM:
        return exchange
    return replace(exchange, provocation=replace(exchange.provocation, upstream="recorded"), upstream_requests=1)


def by_server():
    found = {}
    for record in load():
        if is_failure(record):
            found.setdefault(record["server"], []).append(record)
    return found


@pytest.mark.parametrize("server", sorted(by_server()))
def test_the_verdicts_over_a_recorded_server_are_pinned(server):
    assert figures_of(server, by_server()[server]) == json.loads(FIGURES.read_text())[server]


def test_each_figure_is_of_a_recorded_server():
    assert json.loads(FIGURES.read_text()).keys() == by_server().keys()


if __name__ == "__main__":
    found = {server: figures_of(server, records) for server, records in sorted(by_server().items())}
    FIGURES.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
