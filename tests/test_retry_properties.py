"""
What holds for every state of retries, whatever servers answer and however the rules are set.

A model of the world makes up failures, durations and chance; the driver's own report is held against what was seen.
"""

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolfault import Budget, McpErrorCategory, McpErrorCode, Retry, ToolFault, parse
from toolfault.hosting import to_result


WORKS = {"content": [{"type": "text", "text": "done"}]}

FAULTS = st.builds(
    ToolFault,
    st.sampled_from(list(McpErrorCode)),
    st.just("no"),
    category=st.none() | st.sampled_from(list(McpErrorCategory)),
    retryable=st.sampled_from([True, True, True, True, True, False]),
    retry_after_seconds=st.sampled_from([None, 0, 1, 7, 121]),
    outcome=st.sampled_from([None, "not_executed", "unknown", "executed"]),
)
#: What the attempts of a call come to, the last for good: a fault is returned as a result, or raised.
COMING = st.tuples(FAULTS, st.booleans())
COMINGS = st.tuples(COMING, COMING | st.none(), COMING | st.none(), COMING | st.none())

RULES = st.fixed_dictionaries(
    {
        "attempts": st.integers(2, 6),
        "timeout": st.sampled_from([None, 120.0, 20.0]),
        "wait_initial": st.floats(0, 100),
        "wait_max": st.floats(0, 100),
        "wait_jitter": st.floats(0, 1),
        "hint_max": st.sampled_from([120, 300, 5]),
        "trust_hints": st.booleans(),
    }
)
TOOLS = st.sampled_from([None, {}, {"readOnlyHint": True}, {"idempotentHint": True}, {"readOnlyHint": False}])
# Mostly what allows repeating: else most courses are over before anything can go wrong.
WORDS = st.sampled_from([True, True, True, None, None, False])
CALLS = st.lists(st.tuples(COMINGS, TOOLS, WORDS), min_size=1, max_size=5)
LASTING = st.sampled_from([0.0, 0.1, 30.0])
SEEDS = st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=5)


class World:
    """
    Makes calls come to what was drawn, and time pass by calls and by waits.
    """

    def __init__(self, rules, budget, chances, lasting):
        self.now = 1e6
        self.waits = []
        self.begun = []
        self._drawn = 0
        self._chances = chances
        self._lasting = lasting
        self.retry = Retry(
            **rules,
            budget=budget,
            sleep=self.sleep,
            sleep_sync=self.sleep_sync,
            clock=lambda: self.now,
            random=self.random,
        )

    def random(self):
        self._drawn += 1
        return self._chances[self._drawn % len(self._chances)]

    def sleep_sync(self, seconds):
        self.waits.append(seconds)
        self.now += max(0.0, seconds)

    async def sleep(self, seconds):
        self.sleep_sync(seconds)

    def come(self, comings, number):
        self.begun.append(self.now)
        self.now += self._lasting
        coming = comings[min(number, len(comings)) - 1]
        if coming is None:
            return WORKS
        fault, raised = coming
        if raised:
            raise fault
        return to_result(fault)

    def call(self, how, comings, tool, idempotent):
        """
        Return what came of a call, when its attempts began, and how long was waited between them.
        """
        self.waits, self.begun = [], []
        if how == "sync":
            retried = self.retry.run_sync(lambda number: self.come(comings, number), tool=tool, idempotent=idempotent)
        elif how == "state":
            retried = self.step(comings, tool, idempotent)
        else:

            async def attempt(number):
                return self.come(comings, number)

            async def run():
                return await self.retry.run(attempt, tool=tool, idempotent=idempotent)

            retried = stepped(run()) if how == "async" else anyio.run(run, backend=how)
        return retried.attempts, self.begun, self.waits

    def step(self, comings, tool, idempotent):
        state = self.retry.state(idempotent=idempotent)
        while True:
            try:
                fault = parse(self.come(comings, state.number))
            except ToolFault as exc:
                fault = parse(exc)
            wait = state.next_wait(fault, tool)
            if wait is None:
                return state
            self.sleep_sync(wait)


def stepped(coroutine):
    """
    Run a coroutine that waits for nothing, without an event loop.
    """
    with pytest.raises(StopIteration) as done:
        coroutine.send(None)
    return done.value.value


def told(attempts):
    """
    Return the attempts as data that can be compared: each parse makes a fault of its own.
    """
    return [
        (made.number, made.fault and (made.fault.envelope, made.fault.outcome), made.wait, made.stopped)
        for made in attempts
    ]


def is_safe(fault, rules, tool, word):
    if word is not None:
        return word
    proven = fault.outcome == "not_executed" and (rules["trust_hints"] or fault.found_in is None)
    return proven or (rules["trust_hints"] and True in (tool or {}).values())


@settings(max_examples=300)
@given(rules=RULES, comings=COMINGS, tool=TOOLS, word=WORDS, chances=SEEDS, lasting=LASTING)
def test_waits_and_repeats_stay_within_the_rules(rules, comings, tool, word, chances, lasting):
    attempts, begun, waits = World(rules, None, chances, lasting).call("sync", comings, tool, word)

    assert [made.number for made in attempts] == list(range(1, len(begun) + 1))
    assert [made.wait for made in attempts] == [*waits, None]
    assert len(begun) <= rules["attempts"]
    for made in attempts[:-1]:
        hint = made.fault.envelope.retry_after_seconds or 0
        assert hint <= rules["hint_max"]
        # Never under what the server asks for, and never by more than the own cap above it.
        assert hint <= made.wait <= hint + rules["wait_max"] + 1e-9
        assert made.fault.envelope.retryable
        assert is_safe(made.fault, rules, tool, word)
    if rules["timeout"] is not None:
        # A millionth for the sums of the clock.
        assert begun[-1] <= begun[0] + rules["timeout"] + 1e-6


@settings(max_examples=300)
@given(rules=RULES, comings=COMINGS, tool=TOOLS, word=WORDS, chances=SEEDS, lasting=LASTING)
def test_no_attempt_is_given_up_without_its_reason(rules, comings, tool, word, chances, lasting):
    world = World(rules, Budget(retries=1, refund=0), chances, lasting)
    attempts, begun, _waits = world.call("sync", comings, tool, word)

    last = attempts[-1]
    fault = last.fault
    hint = (fault and fault.envelope.retry_after_seconds) or 0
    true_of = {
        "success": lambda: fault is None,
        "not_retryable": lambda: not fault.envelope.retryable,
        "attempts": lambda: last.number == rules["attempts"],
        "not_safe": lambda: not is_safe(fault, rules, tool, word),
        "hint": lambda: hint > rules["hint_max"],
        "deadline": lambda: world.now + hint + rules["wait_max"] > begun[0] + rules["timeout"],
        "budget": lambda: world.retry.budget.left < 1,
    }
    assert true_of[last.stopped]()
    assert [made.stopped for made in attempts[:-1]] == [None] * (len(attempts) - 1)


@given(
    rules=RULES,
    calls=st.lists(st.tuples(COMINGS, TOOLS, WORDS), min_size=1, max_size=12),
    retries=st.floats(0, 6),
    refund=st.floats(0, 1),
    chances=SEEDS,
)
def test_retries_never_cost_more_than_the_budget_holds(rules, calls, retries, refund, chances):
    budget = Budget(retries, refund)
    world = World(rules, budget, chances, 0.0)
    # What it held at first and was given, less what was taken. It may hold less than that: it is never more than full.
    given = retries

    for call in calls:
        attempts, _begun, _waits = world.call("sync", *call)
        costs = [5 / 14 if made.fault.code is McpErrorCode.QUOTA_EXCEEDED else 1.0 for made in attempts[:-1]]
        given -= sum(costs)
        assert given >= -1e-9
        if attempts[-1].stopped == "success":
            given += costs[-1] if costs else refund
        assert 0 <= budget.left <= min(retries, given) + 1e-9


@given(rules=RULES, calls=CALLS, retries=st.none() | st.floats(0, 5), chances=SEEDS, lasting=LASTING)
def test_sync_async_and_single_steps_take_the_same_course(rules, calls, retries, chances, lasting):
    courses = []
    for how in ("sync", "async", "state"):
        world = World(rules, None if retries is None else Budget(retries), chances, lasting)
        made = [world.call(how, *call) for call in calls]
        courses.append([(told(attempts), begun, waits) for attempts, begun, waits in made])

    assert courses[0] == courses[1] == courses[2]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@settings(max_examples=15)
@given(rules=RULES, call=st.tuples(COMINGS, TOOLS, WORDS), chances=SEEDS)
def test_event_loops_change_nothing(backend, rules, call, chances):
    (attempts, *times), (same, *same_times) = (
        World(rules, None, chances, 1.0).call(how, *call) for how in (backend, "sync")
    )

    assert (told(attempts), times) == (told(same), same_times)
