"""
What a fleet of clients does to a server that browns out: retries are worth something, and do no harm.
"""

import importlib.util
from pathlib import Path

import pytest


_SPEC = importlib.util.spec_from_file_location("fleet", Path(__file__).with_name("fleet.py"))
fleet = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(fleet)


@pytest.fixture(scope="module")
def outcomes():
    return {name: fleet.simulate(*how) for name, how in fleet.POLICIES.items()}


@pytest.fixture
def base(outcomes):
    return outcomes["no retries"]


RETRIES = [name for name in fleet.POLICIES if name != "no retries"]
SHARED = ["5 s, shared by the fleet", "a limit, shared"]
OURS = ["Retry() with its budget", "the same, told to wait 5 s", "the same, told of a limit", *SHARED]
ENDLESS = [name for name in RETRIES if name not in OURS]


def test_without_retries_the_server_recovers_by_itself(base):
    # So whatever keeps it down longer are the retries. What waits is drained by the fifth that it has to spare.
    assert base.recovery() <= fleet.QUEUE / (fleet.FULL - fleet.OFFERED)
    assert base.repeats == 0


@pytest.mark.parametrize("name", RETRIES)
def test_now_and_then_a_failure_is_hidden_by_any_retry(outcomes, base, name):
    assert base.share(0, fleet.BEGINS) == pytest.approx(1 - fleet.FLAKY, abs=0.01)
    # Three failures in a row: 8 of a million calls.
    assert outcomes[name].share(0, fleet.BEGINS) > 0.999


@pytest.mark.parametrize("name", ENDLESS)
def test_retries_without_a_budget_keep_the_server_down(outcomes, base, name):
    outcome = outcomes[name]

    # Three attempts for each call, more than the server can answer even when it is well.
    assert outcome.late_load() / base.late_load() == pytest.approx(3.0, abs=0.1)
    assert outcome.recovery() is None


@pytest.mark.parametrize(
    ("name", "most"),
    [
        # An empty bucket is filled by what works: by nothing, while nothing works. Who calls seldom has some left.
        ("Retry() with its budget", 1.25),
        ("the same, told to wait 5 s", 1.25),
        # A limit that is reached costs 5 / 14, so the bucket lasts nearly three times as long.
        ("the same, told of a limit", 1.35),
        ("5 s, shared by the fleet", 0.5),
        ("a limit, shared", 0.5),
    ],
)
def test_a_budget_takes_the_load_away_while_the_server_is_down(outcomes, base, name, most):
    assert outcomes[name].late_load() / base.late_load() < most


@pytest.mark.parametrize("name", OURS)
def test_with_a_budget_the_server_recovers(outcomes, base, name):
    # The last retries are answered as late as all else.
    assert outcomes[name].recovery() <= base.recovery() + fleet.PATIENCE


def test_who_is_told_to_wait_comes_later(outcomes):
    # Half a second of its own choice against five: the retries do not add to the load that made them.
    assert outcomes["the same, told to wait 5 s"].peak() < 0.75 * outcomes["Retry() with its budget"].peak()


@pytest.mark.parametrize(("alone", "shared"), list(zip(OURS[1:3], SHARED, strict=True)))
def test_a_shared_moment_takes_load_away_and_brings_the_server_back_sooner(outcomes, base, alone, shared):
    assert outcomes[shared].late_load() < 0.5 * base.late_load()
    assert outcomes[shared].peak() < 0.75 * outcomes[alone].peak()
    assert outcomes[shared].recovery() <= base.recovery() / 2
    assert outcomes[shared].share(fleet.BEGINS, fleet.ENDS) > outcomes[alone].share(fleet.BEGINS, fleet.ENDS)


@pytest.mark.parametrize("name", OURS[:2])
def test_no_bucket_gives_more_than_it_holds(outcomes, name):
    outcome = outcomes[name]

    # Ten for each client, a tenth for each call that works at once, and those that helped come back.
    works_at_once = outcome.worked.total() - outcome.rescued
    assert outcome.repeats <= 10 * fleet.CLIENTS + 0.1 * works_at_once + 2 * outcome.rescued
    # All were spent: the brown-out is long enough to show it.
    assert outcome.repeats > 0.9 * 10 * fleet.CLIENTS


def test_all_policies_meet_the_same_calls_and_the_table_shows_them(outcomes):
    assert len({tuple(sorted(outcome.calls.items())) for outcome in outcomes.values()}) == 1

    lines = list(fleet.table(outcomes))

    assert [line.split("  ")[0] for line in lines[1:]] == list(fleet.POLICIES)
    assert ["not within" in line for line in lines[1:4]] == [False, True, True]


def test_the_page_shows_the_table(outcomes):
    page = (Path(__file__).parents[1] / "docs" / "fleet.md").read_text()

    assert "\n".join(line.rstrip() for line in fleet.table(outcomes)) in page


def test_the_plot_is_current(outcomes):
    assert fleet.PLOT.read_text() == "\n".join(fleet.plot(outcomes)) + "\n"
