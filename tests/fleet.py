"""
A fleet of a thousand clients, and a server that browns out: what retries cost the server, and what they are worth.

Run it to see the table, and with ``--plot`` to write the plot. The driver is the real one; time is a queue of events, chance is seeded, nothing sleeps.

The server answers in the order of arrival. Before the brown-out it fails now and then, as servers do; in the brown-out
it has a third of the capacity that it needs; after it, a fifth more than it needs. It goes on working for clients that
have given up: that is how retries keep a server down after the cause is gone.
"""

import contextlib
import dataclasses
import heapq
import itertools
import random
import sys
import types
from collections import Counter, deque
from pathlib import Path

from toolfault import Retry, ToolFault, parse
from toolfault.hosting import to_result


CLIENTS = 1000

#: Calls per second of the whole fleet.
OFFERED = 240

#: Seconds: when the brown-out begins, when it ends, when the last call is made.
BEGINS, ENDS, LAST = 15, 105, 140

#: Calls per second that the server can answer, in the brown-out and otherwise.
BROWN, FULL = OFFERED // 3, OFFERED * 6 // 5

#: Calls that wait at the server; more are refused.
QUEUE = 5 * FULL

#: Seconds until a client gives an attempt up.
PATIENCE = 2.0

#: Which share of the calls fails although the server is well.
FLAKY = 0.02

WORKS = {"content": [{"type": "text", "text": "done"}]}
REFUSED = to_result(ToolFault("internal", "The server is busy.", category="transient", retryable=True))
TOLD = to_result(
    ToolFault("internal", "The server is busy.", category="transient", retryable=True, retry_after_seconds=5)
)
LIMITED = to_result(ToolFault("quota_exceeded", "That is too much.", retry_after_seconds=5))
LATE = to_result(ToolFault("tool_timeout", "The time is up."))

#: What the driver reads in each. Judged once: the fleet gets half a million answers, and all are one of these.
READ = {id(result): parse(result) for result in (WORKS, REFUSED, TOLD, LIMITED, LATE)}


@types.coroutine
def sleep(seconds):
    """
    Wait in the time of the simulation.
    """
    yield seconds


class Time:
    """
    The queue of events, and the clock.
    """

    def __init__(self):
        self.now = 0.0
        self._events = []
        self._order = itertools.count()

    def at(self, when, coroutine):
        heapq.heappush(self._events, (when, next(self._order), coroutine))

    def run(self):
        while self._events:
            self.now, _, coroutine = heapq.heappop(self._events)
            with contextlib.suppress(StopIteration):
                self.at(self.now + coroutine.send(None), coroutine)


class Server:
    """
    Answers in the order of arrival, and refuses what does not fit its queue.
    """

    def __init__(self, time, refusal):
        self.time = time
        self.refusal = refusal
        self.chance = random.Random(0)
        self.load = Counter()
        self.accepted = deque([0.0])

    async def answer(self):
        now, ends = self.time.now, self.accepted
        self.load[int(now)] += 1
        while len(ends) > 1 and ends[0] <= now:
            ends.popleft()
        if len(ends) > QUEUE:
            return self.refusal
        begins = max(now, ends[-1])
        ends.append(begins + 1 / (BROWN if BEGINS <= begins < ENDS else FULL))
        wait = ends[-1] - now
        await sleep(min(wait, PATIENCE))
        if wait > PATIENCE:
            return LATE
        return REFUSED if self.chance.random() < FLAKY else WORKS


# Policies: each makes what a client does for one call, from the client's number and the simulation's time.


def plain(attempts=1, wait=0.0):
    """
    What a loop around the call does: any failure is repeated.
    """

    async def call(attempt):
        for number in range(1, attempts):
            if (result := await attempt(number)) is WORKS:
                return result
            if wait:
                await sleep(wait)
        return await attempt(attempts)

    return lambda _client, _time: call


class Moment:
    """
    One not-before for the whole fleet, as a shared store keeps it.
    """

    def __init__(self, time):
        self.time = time
        self.moment = 0.0

    def left(self):
        return self.moment - self.time.now

    def extend(self, seconds):
        self.moment = max(self.moment, self.time.now + seconds)


def driven(*, budget=True, shared=False):
    """
    What our driver does, with its defaults.
    """
    moments = {}

    def policy(client, time):
        retry = Retry(
            sleep=sleep,
            clock=lambda: time.now,
            random=random.Random(client).random,
            not_before=moments.setdefault(time, Moment(time)) if shared else None,
        )
        retry = retry.for_server() if budget else retry

        async def call(attempt):
            return await retry.call(attempt, idempotent=True, read=lambda result: READ[id(result)])

        return call

    return policy


#: Each policy, and what the server refuses with.
POLICIES = {
    "no retries": (plain(), REFUSED),
    "3 attempts at once": (plain(3), REFUSED),
    "3 attempts, 1 s apart": (plain(3, 1.0), REFUSED),
    "Retry() without a budget": (driven(budget=False), REFUSED),
    "Retry() with its budget": (driven(), REFUSED),
    "the same, told to wait 5 s": (driven(), TOLD),
    "the same, told of a limit": (driven(), LIMITED),
    "5 s, shared by the fleet": (driven(shared=True), TOLD),
    "a limit, shared": (driven(shared=True), LIMITED),
}


@dataclasses.dataclass
class Outcome:
    """
    What came of a policy.

    Attributes:
        load: How many requests reached the server, in each second.
        calls: How many calls were begun, in each second.
        worked: How many of them worked in the end.
        rescued: How many calls worked that had failed at first.
    """

    load: Counter
    calls: Counter = dataclasses.field(default_factory=Counter)
    worked: Counter = dataclasses.field(default_factory=Counter)
    rescued: int = 0

    @property
    def repeats(self):
        return self.load.total() - self.calls.total()

    def peak(self):
        """
        Return the most requests in a second of the brown-out.
        """
        return max(self.load[second] for second in range(BEGINS, ENDS))

    def late_load(self):
        """
        Return the requests per second in the last third of the brown-out.
        """
        seconds = range(ENDS - (ENDS - BEGINS) // 3, ENDS)
        return sum(self.load[second] for second in seconds) / len(seconds)

    def share(self, begin, end):
        """
        Return which share of the calls worked that were begun in a span of seconds.
        """
        calls, worked = (sum(each[second] for second in range(begin, end)) for each in (self.calls, self.worked))
        return worked / calls

    def recovery(self):
        """
        Return the seconds from the end of the brown-out until calls work for good. None: to the last they do not.
        """
        ill = [second for second in range(ENDS, LAST) if self.worked[second] < 0.95 * self.calls[second]]
        well = max(ill, default=ENDS - 1) + 1
        return None if well == LAST else well - ENDS


def simulate(policy, refusal=REFUSED):
    """
    Return what comes of a policy that all clients have. The calls are the same for each policy.
    """
    time = Time()
    server = Server(time, refusal)
    outcome = Outcome(server.load)

    async def made(call):
        second, attempts = int(time.now), []

        def attempt(number):
            attempts.append(number)
            return server.answer()

        outcome.calls[second] += 1
        with contextlib.suppress(ToolFault):  # not sent: the fleet leaves the server alone
            if await call(attempt) is WORKS:
                outcome.worked[second] += 1
                outcome.rescued += len(attempts) > 1

    chance = random.Random(0)
    for client in range(CLIENTS):
        call, when = policy(client, time), 0.0
        while (when := when + chance.expovariate(OFFERED / CLIENTS)) < LAST:
            time.at(when, made(call))
    time.run()
    return outcome


def table(outcomes):
    """
    Return the outcomes as lines; loads are relative to those of the first.
    """
    base = next(iter(outcomes.values()))
    yield f"{'':27} {'requests':>8} {'peak':>5} {'later':>5} {'worked before':>13} {'during':>6} {'after':>5}  recovers"
    for name, each in outcomes.items():
        well = each.recovery()
        yield (
            f"{name:27} {each.load.total():8} {each.peak() / base.peak():5.2f} {each.late_load() / base.late_load():5.2f}"
            f" {each.share(0, BEGINS):13.1%} {each.share(BEGINS, ENDS):6.1%} {each.share(ENDS, LAST):5.0%}"
            f"  {f'not within {LAST - ENDS} s' if well is None else f'after {well} s'}"
        )


PLOT = Path(__file__).parents[1] / "docs" / "fleet.svg"

#: What is drawn, in which color.
LINES = {
    "3 attempts at once": "#c0392b",
    "Retry() with its budget": "#e67e22",
    "no retries": "#7f8c8d",
    "5 s, shared by the fleet": "#2980b9",
}
WIDTH, HEIGHT, LEFT, TOP = 720, 300, 50, 34

STYLE = """
text { font: 12px sans-serif; fill: #333 } .axis { stroke: #888 } .grid { stroke: #888; stroke-opacity: 0.3 }
.ill { fill: #888; fill-opacity: 0.15 }
@media (prefers-color-scheme: dark) { text { fill: #ccc } }
"""


def plot(outcomes):
    """
    Return a picture of the requests per second that reach the server, as SVG.
    """
    highest = 1500

    def x(second):
        return LEFT + (WIDTH - LEFT - 20) * second / LAST

    def y(load):
        return TOP + (HEIGHT - TOP - 40) * (1 - min(load, highest) / highest)

    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    yield f"<title>Requests per second at a server in a brown-out</title><style>{STYLE}</style>"
    yield f'<rect class="ill" x="{x(BEGINS):.0f}" y="{TOP}" width="{x(ENDS) - x(BEGINS):.0f}" height="{y(0) - TOP:.0f}"/>'
    yield f'<text x="{x(BEGINS) + 6:.0f}" y="{TOP + 16}">brown-out</text>'
    for load in range(0, highest + 1, 500):
        yield f'<line class="grid" x1="{LEFT}" x2="{x(LAST):.0f}" y1="{y(load):.0f}" y2="{y(load):.0f}"/>'
        yield f'<text x="{LEFT - 6}" y="{y(load) + 4:.0f}" text-anchor="end">{load}</text>'
    for second in range(0, LAST + 1, 20):
        yield f'<text x="{x(second):.0f}" y="{HEIGHT - 22}" text-anchor="middle">{second} s</text>'
    yield f'<line class="axis" x1="{LEFT}" x2="{x(LAST):.0f}" y1="{y(0):.0f}" y2="{y(0):.0f}"/>'
    for number, (name, color) in enumerate(LINES.items()):
        points = " ".join(f"{x(second):.1f},{y(outcomes[name].load[second]):.1f}" for second in range(LAST))
        yield f'<polyline fill="none" stroke="{color}" stroke-width="2" points="{points}"/>'
        begin = LEFT + number * 168
        yield f'<line stroke="{color}" stroke-width="3" x1="{begin}" x2="{begin + 16}" y1="14" y2="14"/>'
        yield f'<text x="{begin + 20}" y="18">{name}</text>'
    yield f'<text x="{WIDTH // 2}" y="{HEIGHT - 6}" text-anchor="middle">seconds; the lines are requests per second</text>'
    yield "</svg>"


if __name__ == "__main__":
    simulated = {name: simulate(*how) for name, how in POLICIES.items()}
    if "--plot" in sys.argv[1:]:
        PLOT.parent.mkdir(exist_ok=True)
        PLOT.write_text("\n".join(plot(simulated)) + "\n")
    print(*table(simulated), sep="\n")  # noqa: T201 -- a program that prints
