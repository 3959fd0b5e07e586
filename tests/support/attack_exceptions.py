"""
Hostile exceptions against real servers over stdio: each must be answered with an envelope.
"""

# ruff: noqa: T201 -- a program that prints

import collections
import json
import random
import select
import subprocess
import sys
import time
from pathlib import Path

from hostile_exceptions import ATTACKS, ATTRIBUTES, BASES, RAISES


#: The hosts of this environment.
HOSTS = ("mcp_server", "lowlevel")

#: How long one answer may take, in seconds, on a busy machine.
PATIENCE = 20


class Peer:
    """
    A server in a process, started anew when it has ended.
    """

    def __init__(self, kind, *plain):
        self.command = [sys.executable, str(Path(__file__).with_name("hostile_host.py")), kind, *plain]
        self.process = None
        self.number = 0

    def start(self):
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        self.request("initialize", client)
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, params):
        """
        Return the answer to a request. None: the server ended or did not answer.
        """
        self.number += 1
        try:
            self.send({"id": self.number, "method": method, "params": params})
            while select.select([self.process.stdout], [], [], PATIENCE)[0]:
                line = self.process.stdout.readline()
                if not line:
                    return None
                answer = json.loads(line)
                if answer.get("id") == self.number:
                    return answer
        except OSError:
            pass
        return None

    def outcome(self, place, name):
        """
        Return how an attack ended: ``enveloped``, ``raised nothing``, ``bare``, ``unanswered`` or ``dead``.
        """
        if self.process is None:
            self.start()
        call = {"name": "attack", "arguments": {"place": place, "name": name}}
        if place == "sync":
            call = {"name": "attack_sync", "arguments": {"name": name}}
        answer = self.request("tools/call", call)
        alive = self.request("ping", {}) is not None
        if not alive:
            self.close()
            return "dead"
        if answer is None:
            return "unanswered"
        result = answer.get("result", {})
        if "result" in answer and not result.get("isError"):
            # asyncio asks an exception for its class, and loses one that raises then.
            return "raised nothing"
        structured = result.get("structuredContent") or {}
        return "enveloped" if result.get("isError") and "code" in structured else "bare"

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None


def attack_host(kind, attacks, deadline=None):
    """
    Run attacks on a guarded host.

    Returns:
        The counts of outcomes, and the attacks that ended otherwise than enveloped.
    """
    counts, missed = collections.Counter(), []
    peer = Peer(kind)
    try:
        for attack in attacks:
            if deadline is not None and time.monotonic() > deadline:
                break
            outcome = peer.outcome(*attack)
            counts[outcome] += 1
            if outcome not in {"enveloped", "raised nothing"}:
                missed.append((*attack, outcome))
    finally:
        peer.close()
    return counts, missed


def random_attacks(seed):
    """
    Yield attacks for ever.
    """
    choice = random.Random(seed).choice
    while True:
        attribute, place = choice(ATTRIBUTES), choice(("in_body", "in_a_thread", "in_a_task", "as_a_cause"))
        raised = choice([name for name in RAISES if name != "exit" or place != "in_a_task"])
        yield place, f"{choice(list(BASES))}.{attribute}.{raised}"


def lost_by_plain_too(kind, missed):
    """
    Return the missed attacks that the host itself, without a guard, answers no better.

    asyncio hands exceptions from threads and tasks on by asking for their class; one that raises
    then never comes out, or ends the loop, before any handler sees it.
    """
    peer = Peer(kind, "plain")
    try:
        return [attack for attack in missed if peer.outcome(*attack[:2]) == attack[2] != "bare"]
    finally:
        peer.close()


def main(*, quick: bool, minutes: float) -> int:
    """
    Attack each host, print a table, and return the number of attacks that only the guarded host misses.
    """
    began, defects = time.monotonic(), 0
    ends = ("enveloped", "raised nothing", "bare", "unanswered", "dead")
    print(f"{'host':12} {'tried':>6} " + " ".join(f"{end:>14}" for end in ends) + "  plain too")
    for index, kind in enumerate(HOSTS):
        deadline = began + minutes * 60 * (index + 1) / len(HOSTS)
        counts, missed = attack_host(kind, ATTACKS[:: 5 if quick else 1], deadline)
        if not quick:
            more, more_missed = attack_host(kind, random_attacks(index), deadline)
            counts, missed = counts + more, missed + more_missed
        lost = lost_by_plain_too(kind, missed)
        print(f"{kind:12} {counts.total():>6} " + " ".join(f"{counts[end]:>14}" for end in ends) + f"  {len(lost)}")
        ours = [attack for attack in missed if attack not in lost]
        for place, name, outcome in ours[:20]:
            print(f"    {outcome}: {name} {place}")
        defects += len(ours)
    return defects
